/* strict_checker.h - in strict mode, whether ranks are told where programs differ.
 *
 * The scripts say what each rank spawns in each lane, in its order, so the checker
 * knows without a core where they differ.  It checks
 *
 *   strict   that a difference that a rank is told is one: what each rank is said to
 *            have spawned at that place of that lane it spawns there; that whoever is
 *            told hears of the same place; and, at the end of a run without deaths,
 * that all ranks were told of one, if there is one, and nobody if there is none.
 *            Outside strict mode nobody is
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
/* After a run that was good so far, without deaths; false if the check fails. */
bool strict_checker_finish(const struct strict_checker *checker,
                           struct sim_report *report);

#endif
