/* faults.h - a fault plan (consensus/faultplan/faultplan.h) carried out on a real rank.
 *
 * Strikes are real: a kill is SIGKILL, a pause is SIGSTOP until a child of the process
 * sends SIGCONT.  They happen at points that the protocol passes and at times, always
 * under the engine lock and outside the transport: a process that is killed inside an
 * MPI call may leave its peers' shared memory in a state that no plan asked for.  What
 * was said before the point is on the wire by then, what comes after it is not.
 *
 * A host's ranks (h2) are known where a launcher of moot's has placed them.  A host is
 * killed by its agent, which goes with it (agent.h), so that nobody vouches for the
 * deaths.  Without an agent each of its ranks strikes itself at a time; a kill at a
 * point strikes those first that the system lets it.  A part between hosts (h0/h1)
 * loses what their ranks send each other, by whatever way it would go.
 *
 * What happens to messages is faulty_wire.h's; a slow kernel sleeps after its work, and
 * a gap holds back the progress loop.  Clocks and ranks that come back are the
 * simulator's alone.
 *
 * Hits are counted here, and told by exit_report.c; a rank that kills itself leaves its
 * count behind first.
 *
 * Under the engine lock, but for faults_after_kernel.
 */
#ifndef NODE_FAULTS_FAULTS_H
#define NODE_FAULTS_FAULTS_H

#include "node/context/context.h"

/* Whether the word is a plan that real ranks can carry out; "" is none.
 * MOOT_ERR_CONFIG, and the story shows the mistake. */
int faults_check(const char *text, char *story, size_t story_size);

/* The plan of the knobs, checked against the size of the group; wraps the transport if
 * the plan harms messages.  CONFIG, NO_MEMORY; the story as above. */
int faults_open(struct moot *m, char *story, size_t story_size);
/* Open has ended: time 0. */
void faults_begin(struct moot *m);
void faults_release(struct moot *m); /* after the transport */

/* CORE_OUT_NOTE: a point was passed.  Before a strike it is recorded. */
void faults_carry_note(struct moot *m, const struct core_output *output);
/* The program signs its state: a bit of which may be flipped. */
void faults_sign(struct moot *m, moot_hash *hash);
/* This rank passes a point. */
void faults_at_point(struct moot *m, enum core_point point);
/* A turn of the loop begins: records that the last was long ago, and does strikes that
 * are due by the clock; false while a gap holds back the loop. */
bool faults_begin_turn(struct moot *m, uint64_t now_ns, uint64_t before_ns);
/* After a turn of the loop. */
void faults_end_turn(struct moot *m, uint64_t now_ns);
/* A kernel ended that took so long, its waits left out.  Without the lock; may sleep.
 */
void faults_after_kernel(struct moot *m, uint64_t took_ns);

/* The plan's harm to the checkpoint's disk.  Without the lock.  A batch of results
 * is about to be written: may sleep; true: it finds the disk full.  A record: true: a
 * bit of it flips, as the word is drawn. */
bool faults_of_disk_batch(struct moot *m);
bool faults_flip_record(struct moot *m, uint64_t *word);

/* What the plan does to a frame with messages of these types (PLAN_TYPE bits) that
 * leaves for rank `to`. */
struct fate {
    bool lost;
    uint32_t copies, waits_for;
    uint64_t delay_ns;
};
struct fate faults_fate(struct moot *m, uint64_t types, uint32_t to);
bool faults_loses_arriving(struct moot *m, uint64_t types, uint32_t from);

/* Headers of this room that other rooms use, too: */
#include "node/faults/faulty_wire.h"

#endif
