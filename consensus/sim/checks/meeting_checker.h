/* meeting_checker.h - what must be true of meetings, whatever happens to ranks.
 *
 * A watcher of ranks that come to meetings, and leave them (I20); beside checker.h's
 * with fixed membership, and beside chaos_checker.h's while views change.  Its checks,
 * by the names that failures carry:
 *
 *   all came     who came to a meeting and is told that it is over has been in a view
 *                all of whose members had come to it or ended their programs; so had
 *                all who are said to have come; and who came later is told of none that
 *                is not over
 *   one outcome  all members of the newest view who know a meeting's outcome know the
 *                same code and the same ranks; it is an error if these came for
 *                different purposes, or if their words are too long, and no other; who
 *                began with the moot is told who came
 *   words        they are told the words of each who came, once, and the same (I33)
 *   let in       where newcomers are let in at meetings alone, each member of a small
 * view that lives is at one, or has ended its program, when the first rank enters a
 * view with somebody new (I37)
 *
 * That a meeting ends at all is the quiescence of sim.c.
 */
#ifndef CONSENSUS_SIM_CHECKS_MEETING_CHECKER_H
#define CONSENSUS_SIM_CHECKS_MEETING_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct meeting_checker;

struct meeting_checker *meeting_checker_new(const struct program *program,
                                            const struct storm *storm); /* or NULL */
void meeting_checker_free(struct meeting_checker *checker);             /* or NULL */
struct sim_watcher meeting_checker_watcher(struct meeting_checker *checker);

#endif
