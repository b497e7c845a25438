/* gossip_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_GOSSIP_GOSSIP_PRIVATE_H
#define CONSENSUS_GOSSIP_GOSSIP_PRIVATE_H

#include "consensus/gossip/gossip.h"

/* --- disseminate.c ---------------------------------------------------------------- */

void disseminate_learn(struct core *core, struct lane_record *lane, struct chunk *chunk,
                       uint32_t from, uint32_t before);
void disseminate_learn_part(struct core *core, struct lane_record *lane, uint32_t from,
                            const struct announced *what);
/* Tells what there is of the last chunk. */
void disseminate_tell_part(struct core *core, struct lane_record *lane);
void disseminate_news(struct core *core);
void disseminate_forget(struct lane_record *lane);

/* --- roll.c ----------------------------------------------------------------------- */

/* Gossip has taught what this rank has. */
static inline void roll_learn_of(struct core *core, uint32_t rank)
{
    core->gossip.knowledge_wide |=
        core->gossip.knowledge_grew && core->gossip.knowledge_of != rank;
    core->gossip.knowledge_of = rank;
    core->gossip.knowledge_grew = true;
}
void roll_ask_hashes(struct core *core, uint32_t from, struct announced *what);
/* Up to which position a peer's lane is known to equal ours. */
uint64_t roll_agreed(const struct core *core, const struct lane_record *lane,
                     uint32_t rank);

/* --- segments.c ------------------------------------------------------------------- */

void roll_index_last(struct core *core, uint32_t lane); /* its last chunk is new */

/* --- strict.c --------------------------------------------------------------------- */

/* In strict mode a sum covers positions too, so that another order is a difference. */
void strict_salt(moot_hash *hash, uint64_t position);
void strict_on_hashes(struct core *core, uint32_t from,
                      const struct message_hashes *hashes);

#endif
