/* schedule_cache.h - schedules that are kept for the next array of their shape.
 *
 * An iterative program spawns arrays of few shapes over and over.  The schedules of the
 * latest SCHEDULES_MAX shapes are kept, and a shape for which there can be no schedule
 * is remembered, too.  With a view all go.  A schedule that is in use stays until its
 * users have let it go, whatever becomes of the cache.
 */
#ifndef CONSENSUS_SHAPE_SCHEDULE_CACHE_H
#define CONSENSUS_SHAPE_SCHEDULE_CACHE_H

#include "consensus/shape/array_schedule.h"

enum { SCHEDULES_MAX = 64, SCHEDULE_ARGS_BYTES_MAX = 256 };

struct schedule_cache;

struct schedule_cache *schedule_cache_new(void);        /* NULL without memory */
void schedule_cache_free(struct schedule_cache *cache); /* accepts NULL */

/* The schedule of a shape, whose members and rank are those of the present view.  One
 * use of it is the caller's, who lets it go.  Errors are array_schedule_new()'s.  A map
 * is known by its address, its arguments by their bytes; a shape with longer arguments
 * than SCHEDULE_ARGS_BYTES_MAX is worked out each time. */
int schedule_cache_take(struct schedule_cache *cache, const struct array_shape *shape,
                        const struct array_schedule **out);
void schedule_let_go(const struct array_schedule *schedule); /* accepts NULL */

/* Another view begins. */
void schedule_cache_clear(struct schedule_cache *cache);
/* How many are kept; `made`: how many were worked out so far. */
uint32_t schedule_cache_count(const struct schedule_cache *cache, uint64_t *made);

#endif
