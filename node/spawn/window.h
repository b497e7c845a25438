/* window.h - how far a program may spawn ahead.
 *
 * A loop that spawns a hundred million tasks before it waits would keep them all in
 * memory, and touch each of them twice, once when it is spawned and once, long out of
 * every cache, when it runs.  So a top-level spawn that finds more than a 256th of
 * MOOT_WINDOW unfinished on this rank runs what is ready.
 *
 * MOOT_WINDOW is how many tasks a rank remembers.  From an eighth of it on the core
 * drops what all ranks have released (consensus/reclaim/reclaim.c): what is dropped
 * late can be made again after a death.  Where no rank outlives another, none has
 * anything of that, and it drops from 1,024 tasks on: their memory is used again while
 * it is in a cache. A program that spawns faster than its tasks end, or than the other
 * ranks spawn, stays in its spawn while the rank remembers a whole window: it moves
 * messages and runs tasks, as a wait does, until an eighth of the window is free.
 *
 * While large results that the program has let go of take more than
 * WINDOW_RESULT_BYTES on one rank, what all ranks have released is dropped from the
 * first task on, and the roll is cut for that into pieces of some WINDOW_PIECE_BYTES
 * (consensus/reclaim/split.c): a chunk of 256 tasks may have any number of bytes. These
 * are few, so that the results of a stream come from memory that the caches still have.
 * What the program holds does not count.  Where nothing goes although it was pressed
 * for that for WINDOW_PRESS_NS (who takes it has not run, or another rank holds it), it
 * is not pressed again before some has gone, or as much has come to it: the small
 * pieces would cost every other task.
 *
 * The bound is exceeded, so that a program never hangs in a spawn, when waiting would
 * not help:
 *   - more than half of what is remembered is in use by the program (handles), or
 *   - nothing is dropped and no kernel begins here, and the other ranks do not go on
 *     either (backpressure.h).  They are asked by an INQUIRY of number 0, about no
 * task, whose answer is what fits into a few words.  A kernel that runs is waited for,
 *     here or elsewhere, but not for ever: this program may be who is to cancel it.
 * Then the bound grows, and falls back when there is room.  Spawns by running tasks do
 * not wait.
 *
 * To the core such a spawn is the program's own code, not a wait: its end is near
 * whatever the peers do.  Were it rest, ranks that wait for what it is about to spawn
 * would find that all is quiet, and vote although they agree.
 */
#ifndef NODE_SPAWN_WINDOW_H
#define NODE_SPAWN_WINDOW_H

#include "node/context/context.h"

#define WINDOW_RESULT_BYTES ((size_t)8 << 20)
#define WINDOW_PRESS_NS UINT64_C(100000000)
#define WINDOW_PIECE_BYTES ((size_t)2 << 20)

/* The core's drop_above with such a window; 0: nothing is dropped.  `survives`: the job
 * does not end with the first rank that dies. */
uint64_t window_drop_above(uint64_t window, bool survives);

/* The core's lot_after and pass_after; 0: as drop_above. */
uint64_t window_lot_after(uint64_t window);
uint64_t window_pass_after(uint64_t window);

/* The core's chunk_mask: a window has room for WINDOW_CHUNKS chunks of the usual
 * length, or what is not dropped because its chunk is not whole would fill it. */
uint8_t window_chunk_mask(uint64_t window);

/* The window of the knobs. */
void window_open(struct moot *m);

/* For core_press(): how many tasks of the roll are to be dropped together at most, if
 * large results stand as close everywhere as they do on average; 0: it is not to press.
 */
uint32_t window_press(struct moot *m);

/* Under the engine lock, which it releases around kernels and while there is nothing to
 * do. */
void window_make_room(struct moot *m, struct lane *lane);

/* ACCOUNT (dispatch.h): what a spawn has asked, or an inquiry. */
bool window_take_account(struct moot *m, uint32_t from, const struct message *message);

/* If the ranks have agreed that all have released the task, or an input of it, and are
 * about to drop that, and the program is to name it: waits until they have, for a few
 * messages, with nothing of this thread in between.  Other threads may release inputs
 * meanwhile: those in the lane's scratch are to be looked up by their hashes then. */
void window_wait_while_leaving(struct moot *m, struct lane *lane, const moot_hash *hash,
                               const struct task_facts *facts);

#endif
