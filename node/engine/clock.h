/* clock.h - what time it is.
 *
 * The time is looked at some three times a task, and reading the clock takes a
 * twentieth of an empty one.  Between readings it is reckoned from the processor's
 * counter of ticks, which takes a third of that.  How long a tick lasts is learnt from
 * pairs of readings, and no reckoning goes far from the last of them: a length that is
 * wrong by a thousandth is wrong by some nanoseconds there.
 *
 * Only a counter that goes evenly whatever the processor does is used, and only beside
 * readings that took no longer than such a processor needs for one: who was interrupted
 * meanwhile learns nothing, nor does who has a kernel that distrusts the counter, and
 * reads another one by a system call.  Then the clock is read each time.
 */
#ifndef NODE_ENGINE_CLOCK_H
#define NODE_ENGINE_CLOCK_H

#include "node/context/context.h"

uint64_t clock_ns(void);     /* CLOCK_MONOTONIC */
int64_t clock_wall_ns(void); /* CLOCK_REALTIME */

void clock_begin(struct clock *clock);

/* The time, but not before `last_ns`, which is what was returned last. */
uint64_t clock_look(struct clock *clock, uint64_t last_ns);

/* Its parts: a reading of `ns` between two looks at the counter; and the time at so
 * many ticks, if the last reading tells it. */
void clock_learn(struct clock *clock, uint64_t before, uint64_t ns, uint64_t after);
bool clock_reckon(const struct clock *clock, uint64_t ticks, uint64_t *ns);

#endif
