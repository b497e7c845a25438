/* members.h - who belongs to the moot, as far as this process is concerned.
 *
 * The core agrees on views; this is what a view means to the rest of a rank.  A peer is
 *
 *     HERE      a member of the present view
 *     REMOVED   voted out, and perhaps alive: it is told so when it speaks, no more
 *     DEAD      its process has certainly ended; the wire has forgotten it
 *     LEFT      it went in good order, by moot_leave; what its process does is its own
 *     YET_TO_COME   nobody has this number yet, or its process is not let in yet
 *
 * and besides may have said farewell (`left`): it said that all have closed and that it
 * has nothing more to say (farewell.h).  A farewell is the ADJOURN of the protocol,
 * which otherwise only the rank that counted everyone in would say: should it die amid
 * telling them, any other's farewell says the same.
 *
 * What a death cost is written down here for the summary: when it was found, when the
 * view without it came, how many of its tasks were run by this rank.
 *
 * Under the engine lock.
 */
#ifndef NODE_MEMBERS_MEMBERS_H
#define NODE_MEMBERS_MEMBERS_H

#include "node/context/context.h"

/* Sets T_hb and the others of V2 from the knobs: `auto` keeps their proportions.  Story
 * as in open; MOOT_ERR_CONFIG if they do not fit together. */
int members_options(const struct moot *m, struct core_options *options, char *story,
                    size_t story_size);

bool members_open(struct moot *m); /* false without memory */
/* Takes in what the transport has learned of ranks that come later. */
void members_take_newcomers(struct moot *m);
/* The name of its process, which it keeps: "a_3".  Returns text. */
enum { MEMBERS_NAME_BYTES = 24 };
char *members_process(const struct moot *m, uint32_t rank,
                      char text[MEMBERS_NAME_BYTES]);
void members_release(struct moot *m);

/* Tells the core of peers that have died.  Never from within a step. */
void members_look(struct moot *m, uint64_t now_ns);

/* CORE_OUT_SEND: drops what may not go to that rank any more. */
void members_carry_send(struct moot *m, const struct core_output *output);
/* CORE_OUT_VIEW, _LEFT, _QUORUM and _FENCED. */
void members_carry_view(struct moot *m, const struct core_output *output);
void members_carry_left(struct moot *m, const struct core_output *output);
void members_carry_quorum(struct moot *m, const struct core_output *output);
void members_carry_fenced(struct moot *m, const struct core_output *output);
/* CORE_OUT_REFUSE: a process that asks to be let in is told that it is not. */
void members_carry_refuse(struct moot *m, const struct core_output *output);
/* CORE_OUT_RUN: true, and counted, if it is run here because its first chair was lost.
 */
bool members_take_over(struct moot *m, const struct task *task);

/* ADJOURN: a farewell, or the end for everyone; or of the sender alone, that has no
 * memory. */
bool members_take_adjourn(struct moot *m, uint32_t from, const struct message *message);
/* All is flushed: this rank has nothing more to say. */
void members_say_goodbye(struct moot *m);
/* Why this rank cannot leave the others, ever; NULL: it can. */
const char *members_stays(const struct moot *m);
/* Nobody is left to wait for. */
bool members_all_left(struct moot *m);

#endif
