/* meeting.h - the room where all members meet: a barrier with an outcome that all
 * agree on (PROTOCOL.md, *Meetings*).
 *
 * Writes core->meeting.  Called within a step, on its thread; calls state/ alone.
 */
#ifndef CONSENSUS_MEETING_MEETING_H
#define CONSENSUS_MEETING_MEETING_H

#include "consensus/state/state.h"

/* This rank's program has come to its next meeting, for this purpose, with so many
 * bytes of words, which are copied.  STATE: it waits for the outcome of the last, or
 * has closed; LIMIT: the words are too long. */
int meeting_arrive(struct core *core, const moot_hash *purpose, const void *words,
                   size_t words_size);
/* Likewise to reload this snapshot, and begin a generation beyond this one.  The
 * outcome that is MOOT_OK is the view's that begins it. */
int meeting_come_to_reload(struct core *core, const moot_hash *snapshot,
                           uint32_t generation);
/* The disk has written the mark of that generation, or could not. */
int meeting_marked(struct core *core, uint32_t generation, int32_t status);
/* All have agreed to reload, and no view has begun it: the next one does. */
bool meeting_reload_is_due(const struct core *core);
/* This view has: the program hears of it. */
void meeting_reload(struct core *core);
/* A newcomer's first view says by which reload the others' tasks began. */
void meeting_reload_before(struct core *core);
/* This rank has closed, and comes to no meeting any more. */
void meeting_close(struct core *core);
/* The lowest member of a new view is told how far this one is. */
void meeting_enter_view(struct core *core);
/* A newcomer says, in the view in which it has come to know, from where it counts. */
void meeting_turn(struct core *core);
void meeting_on_meet(struct core *core, uint32_t from, const struct message *message);
void meeting_end(struct core *core); /* of a core that is freed */

/* Newcomers at boundaries (V4).  This rank has come to one, or has closed: it may vote
 * to let somebody in. */
bool meeting_stands(const struct core *core);
/* As far as this rank knows all stand: it may propose that. */
bool meeting_admits(const struct core *core);
/* Strict: the newcomer's roll begins behind the places at which this rank's lanes stood
 * when it came to the boundary (V5).  They are this room's memory. */
void meeting_name_places(const struct core *core, struct message_newcomer *newcomer);

/* --- meeting_hold.c --------------------------------------------------------------- */

/* As state_hold() and its parts. */
void meeting_hold(const struct core *core);

#endif
