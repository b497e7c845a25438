/* checker.h - what must be true of every run, checked from outside.
 *
 * The checker sees what ranks do and say, never what a core believes, and shares no
 * code with it.  Its checks, by the names that failures carry:
 *
 *   ran once     every kernel that the oracle runs starts exactly once in the job; no
 *                other starts; no task is given to two ranks
 *   oracle       every result, where it is made and wherever it is kept or fetched, is
 *                the oracle's, or an error where the oracle has one
 *   one owner    all ranks that keep a result name the rank that made it as its owner,
 *                and no rank keeps a foreign result for a task of its own (I1, I6)
 *   quorum       a once task starts only after a quorum of its voters said so (I9)
 *   wait code    a wait ends well, or with the error that the program asks for
 *   not held     "nobody holds it" is said only when nobody does (I15)
 *   no votes     agreeing programs: no vote for a top-level task, no search (I13)
 *   no quiet     plain programs: no vote but on evidence, none by QUIET (I14)
 *   one result   agreeing programs: at most one result with data per task and rank, and
 *                one more for each time that rank asked (a motion may cross a push), or
 *                gave the bytes up
 *   only copy    bytes are given up by ranks that took them, and not of errors
 *   forgotten    what is forgotten has ended; without a scope, all had let it go
 *
 * "quiescence" (every wait ends, everyone adjourns) and "contract" are sim.c's and
 * host.c's.
 */
#ifndef CONSENSUS_SIM_CHECKS_CHECKER_H
#define CONSENSUS_SIM_CHECKS_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct checker;

struct checker *checker_new(const struct program *program);
void checker_free(struct checker *checker); /* accepts NULL */

/* To be given to sim_run. */
struct sim_watcher checker_watcher(struct checker *checker);

/* After a run that did not fail: the checks that need the whole of it.  A failure goes
 * into the report.  True if there is none. */
bool checker_finish(struct checker *checker, struct sim_report *report);

/* The scenario wants the task to fail, and waits for it to end with this error. */
enum { CHECKER_ANY_ERROR = 1 };
void checker_expect(struct checker *checker, uint32_t task, int32_t code);

/* Runs the program under the checker; true if nothing failed.  The caller frees
 * report->dump. */
bool checker_run(const struct sim_options *options, struct sim_report *report);

#endif
