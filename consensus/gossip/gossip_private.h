/* gossip_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_GOSSIP_GOSSIP_PRIVATE_H
#define CONSENSUS_GOSSIP_GOSSIP_PRIVATE_H

#include "consensus/gossip/gossip.h"

/* --- beginning.c ------------------------------------------------------------------ */

/* Both rolls may have what stands behind this, and nothing else is compared. */
uint64_t roll_compared_behind(const struct core *core, uint32_t lane, uint32_t rank);
/* Announcements to `to` begin where its roll does; false: nothing is left. */
bool roll_begins_within(const struct core *core, uint32_t to,
                        struct message_roll *what);

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
/* Ends the last chunk, of which there is something. */
void roll_cut(struct core *core, struct lane_record *lane, uint32_t number);

/* --- segments.c ------------------------------------------------------------------- */

void roll_index_last(struct core *core, uint32_t lane); /* its last chunk is new */
/* Up to which position a peer's lane is known to equal ours. */
uint64_t roll_agreed(const struct core *core, const struct lane_record *lane,
                     uint32_t rank);

/* --- strict.c --------------------------------------------------------------------- */

/* In strict mode a sum covers positions too, so that another order is a difference. */
void strict_salt(moot_hash *hash, uint64_t position);
void strict_on_hashes(struct core *core, uint32_t from,
                      const struct message_hashes *hashes);

#endif
