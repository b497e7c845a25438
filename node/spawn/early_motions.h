/* early_motions.h - motions whose portable kernel this rank has yet to register, or of
 * whose element it has yet to spawn the array.
 *
 * A chair that registers its kernels later than its peers may be sent a spec that it
 * cannot take yet.  The core has heard the motion and goes on without; a copy is kept
 * here, and with the kernel the spec is taken as if the motion had come then.  Under
 * the engine lock.
 */
#ifndef NODE_SPAWN_EARLY_MOTIONS_H
#define NODE_SPAWN_EARLY_MOTIONS_H

#include "consensus/core.h"

struct moot;
struct kernel;

/* MOTION (dispatch.h): the spec of a task that it may carry is adopted if the core
 * wants it, at once if this rank knows the kernel. */
bool early_take_motion(struct moot *m, uint32_t from, const struct message *motion);
enum { EARLY_MOTIONS_MAX = 1 << 16 };
/* Keeps a motion that the core would adopt.  Whenever they have doubled those go that
 * the core would adopt no longer: decided, or of an older view.  Of EARLY_MOTIONS_MAX
 * that stay, or without memory, none is kept: the task is yielded when this rank rests,
 * as one that is not portable. */
void early_keep(struct moot *m, uint32_t from, const struct message *motion);
/* The kernel is registered, or takes more than before: takes what was kept for it, of
 * as many as that; those behind them come first the next time. */
void early_take(struct moot *m, const struct kernel *kernel, uint32_t most);
void early_release(struct moot *m);

#endif
