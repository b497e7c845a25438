/* meeting_private.h - what meeting.c and meeting_tree.c share. */
#ifndef CONSENSUS_MEETING_MEETING_PRIVATE_H
#define CONSENSUS_MEETING_MEETING_PRIVATE_H

#include "consensus/meeting/meeting.h"

bool meeting_is_passing(const struct core *core);

/* A meeting for this is one at which newcomers are let in (V4). */
bool meeting_is_boundary(const struct core *core, const moot_hash *purpose);
/* The meeting to which all have come is of a reload, whose mark is to be durable before
 * it is over: the disk is told so, if it has not been. */
bool meeting_marks(struct core *core);
/* And somebody waits for that. */
bool meeting_waits_for_newcomers(const struct core *core, const moot_hash *purpose);

/* The outcome of a meeting that is over: the last one's is known, of those before
 * nobody needs it but a newcomer, which runs the program from its beginning. */
void meeting_say_outcome(struct core *core, uint32_t to, uint64_t number);

/* --- meeting_words.c ---------------------------------------------------------------
 */

/* Adds what a rank says.  Of more than a meeting's limit nothing is kept. */
void words_say(struct core *core, struct meeting_words *to, const void *bytes,
               size_t size);
/* Adds what others have said, in their frames. */
void words_add(struct core *core, struct meeting_words *to, const void *bytes,
               size_t size);
/* There are more than that. */
void words_overflow(struct meeting_words *words);
void words_release(struct meeting_words *words);
/* The outcome of a meeting with these words, if nothing else is wrong: LIMIT or OK. */
int32_t words_code(const struct meeting_words *words);
/* Into a message or an output of this step. */
void words_tell(struct core *core, const struct meeting_words *words,
                struct message_meet *meet);

/* --- meeting_tree.c: where members are many (M4) -----------------------------------
 */

bool meeting_goes_by_tree(const struct core *core);
void meeting_tree_enter_view(struct core *core);
/* The program has come to a meeting, or is over. */
void meeting_tree_look(struct core *core);
/* ARRIVED and CLOSED of a child. */
void meeting_tree_on_below(struct core *core, uint32_t from,
                           const struct message *message);
/* This rank has taken the outcome that came from there, maybe itself. */
void meeting_tree_pass_on(struct core *core, uint32_t from,
                          const struct message_meet *meet);
bool meeting_tree_is_neighbour(const struct core *core, uint32_t rank);
void meeting_tree_end(struct core *core);

#endif
