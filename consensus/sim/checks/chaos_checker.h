/* chaos_checker.h - what must be true of a run while ranks die, stall and are cut off.
 *
 * Like checker.h, it sees what ranks do and say, never what a core believes.  A rank
 * is *live* if it has not crashed, been fenced or left, and *counts* if it is besides
 * a member of the newest view that any rank has entered.  (What may be said when is
 * order_checker.h's, and of meetings meeting_checker.h's; which invariant is whose
 * stands in PROTOCOL.md.)  The checks, by the names that failures carry:
 *
 *   once once    a once task starts on one rank, ever, the dead and the removed
 *                included, unless it is idempotent (I3)
 *   ran once     among those who count at most one starts a task; none starts
 *                one that the oracle does not run, or is no candidate for (I2)
 *   one owner    those who count have consumed a task's bytes from one owner (I1)
 *   quorum       a once task starts after a quorum of its voters in some view
 *                accepted its rank (I9)
 *   oracle       a result is the oracle's, or a failure that a verdict allows
 *   not held     NOT_HELD: no live candidate in the receiver's view holds it (I15)
 *   one verdict  no two who count, and remember it, have one seen a task end well and
 *                the other been told NOT_HELD of it (I21)
 *   verdict      MAYBE_RAN: of a once task that may not be run again, and that no
 *                live member runs or has, after somebody was removed, if an owner was
 *                proposed, or of some view its chair and a quorum of its voters are
 *                gone, or half of the members; NO_CANDIDATE: none is a member, and
 *                none that is has its bytes; no other
 *   crashed      CRASHED: of a pure task that is poison, of which enough distinct ranks
 *                died by a fault of their own, and that nobody who counts is running;
 *                nobody who counts has been told NOT_HELD of it; and no MAYBE_RAN
 *                of an idempotent task before as many died of it (I23)
 *   crash limit  nobody who has been told CRASHED starts it; no chair that was told of
 *                enough deaths claims it, or gives it away, or deals its elements
 *   crash bound  where all see the deaths, and nothing else befalls anybody but death,
 *                no task starts again of which enough have died, and no more ranks die
 *                of poison than that allows
 *   wait code    a wait ends in a result or in an error that the faults allow
 *   quorum lost  a rank finds no quorum only without a majority of its view that is
 *                live, undisturbed and was never cut off, from it or from each other
 *   one view     what two ranks enter under one number is the same (I12)
 *   fair view    who is removed is dead, gone or was disturbed, or those who removed
 *                it were; without a fault there is no view; when others see the end,
 *                a member of their view was fenced only if half of it voted it out
 *   lease        when a view exists, whom it removed holds no lease (I11); no once
 *                task is run without one (V3)
 *   only copy    bytes are given up by who took them of one who is a member, and did
 * not take them over from a member that leaves; and not of errors forgotten    without
 * a scope, what is forgotten all members' programs had let go ran at all   in the end
 * every pure task that a rank which saw the end holds, and that the oracle runs, was
 * run
 */
#ifndef CONSENSUS_SIM_CHECKS_CHAOS_CHECKER_H
#define CONSENSUS_SIM_CHECKS_CHAOS_CHECKER_H

#include "consensus/sim/engine/sim.h"

/* Runs the program in the storm of the options under this checker. */
bool storm_checker_run(const struct sim_options *options, struct sim_report *report);

#endif
