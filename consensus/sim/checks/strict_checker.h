/* strict_checker.h - in strict mode, whether ranks are told where programs differ.
 *
 * The scripts say whether programs differ, and sights what each rank has spawned in
 * each lane, so the checker knows without a core where they do.  It checks
 *
 *   strict   that nobody is told of a difference if programs are alike, or outside
 *            strict mode; that a difference that a rank is told is one: each rank that
 *            is said to have spawned something at that place has, and one that is said
 *            to spawn nothing there spawns nothing there in this view before it is told
 *            itself; that all who are told in one view are told of one place; and, at
 *            the end, of the members of the last view that saw it, that all or none
 *            were told, and all if what they have spawned differs
 */
#ifndef CONSENSUS_SIM_CHECKS_STRICT_CHECKER_H
#define CONSENSUS_SIM_CHECKS_STRICT_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct strict_checker;

/* Do two ranks spawn other tasks in a lane, or in another order? */
bool strict_checker_differs(const struct program *program);
/* For a run with these options, whose program has to outlive the checker. */
struct strict_checker *strict_checker_new(const struct sim_options *options);
void strict_checker_free(struct strict_checker *checker);
struct sim_watcher strict_checker_watcher(struct strict_checker *checker);
/* The rank has been told; anybody has; somebody may be, as programs differ. */
bool strict_checker_told(const struct strict_checker *checker, uint32_t rank);
bool strict_checker_told_any(const struct strict_checker *checker);
/* Adds those of some ranks whose rolls do not begin behind a place at which somebody
 * has spawned the task. */
void strict_checker_come_to(const struct strict_checker *checker, uint32_t task,
                            const struct rankset *ranks, struct rankset *out);
bool strict_checker_may(const struct strict_checker *checker);
/* After a run that was good so far; false if the check fails. */
bool strict_checker_finish(const struct strict_checker *checker,
                           struct sim_report *report);

#endif
