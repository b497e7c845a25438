/* standing_scenes.h - more scenes for diagnosis_test.c: ranks that compute, or are
 * parked, as if for ever.
 */
#ifndef TESTS_UNIT_STANDING_SCENES_H
#define TESTS_UNIT_STANDING_SCENES_H

#include "tests/unit/diagnosis_scenes.h"

/* --- In kernels ------------------------------------------------------------------- */

/* Kernels of ranks 1 and 2, for which nobody waits yet: six stalls, and ten times as
 * long as before. */
static void kernels_that_may_never_return(struct kit *kit)
{
    kit_own(kit, 1, A, CORE_OWN_RUNNING, TASK_RUNNING)->runs_ns = 60000000000;
    kit_own(kit, 2, B, CORE_OWN_RUNNING, TASK_RUNNING)->runs_ns = 70000000000;
    kit_task(kit, 2, B)->longest_ns = 7000000000;
}

/* As long, and one of them has taken a little longer than a tenth of that before. */
static void kernels_that_may_yet_return(struct kit *kit)
{
    kernels_that_may_never_return(kit);
    kit_task(kit, 1, A)->runs_ns--;
    kit_task(kit, 2, B)->longest_ns++;
}

/* One that somebody waits for, too. */
static void awaited_kernel_that_may_never_return(struct kit *kit)
{
    running_for(kit, 60000000000, 10000000000);
}

/* Its kernel waits for a child, and is at rest however long that takes. */
static void kernel_that_waits_for_long(struct kit *kit)
{
    kit_own(kit, 1, A, CORE_OWN_RUNNING, TASK_RUNNING)->runs_ns = 60000000000;
    kit_own(kit, 2, B, CORE_OWN_RUNNING, TASK_RUNNING);
    kit_wait(kit, 1, B)->waiter = kit_hash(kit, A);
}

/* --- Parked ----------------------------------------------------------------------- */

/* Nobody holds what rank 0 waits for, and rank 3 is parked. */
static void nobody_holds_it_beside_a_parked_rank(struct kit *kit)
{
    nobody_holds_it(kit);
    kit->ranks[3].lane.state = CORE_LANE_PARKED;
}

/* The parked rank's workers compute. */
static void nobody_holds_it_beside_a_parked_rank_at_work(struct kit *kit)
{
    nobody_holds_it_beside_a_parked_rank(kit);
    kit->ranks[3].account.running = 1;
}

/* One rank is parked, another goes on. */
static void nobody_holds_it_beside_two(struct kit *kit)
{
    nobody_holds_it_beside_a_parked_rank(kit);
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
}

/* Its chair, which has come less far, is parked. */
static void demand_of_a_parked_chair(struct kit *kit)
{
    demand(kit);
    kit->ranks[1].lane.state = CORE_LANE_PARKED;
}

/* The task is ready at a rank that is parked. */
static void ready_at_a_parked_rank(struct kit *kit)
{
    ready_and_nobody_runs_it(kit);
    kit->ranks[1].lane.state = CORE_LANE_PARKED;
}

#endif
