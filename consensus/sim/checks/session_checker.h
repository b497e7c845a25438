/* session_checker.h - what must be true of the sessions of a moot, whatever happens to
 * ranks (PROTOCOL.md, M7).
 *
 * A watcher beside meeting_checker.h's, under a storm.  Its checks, by the names that
 * failures carry:
 *
 *   one session  a list is the outcome of the second meeting as it is; members of
 *                the newest view that have begun a session by its list have the same
 *                list; a rank begins them one after the other
 *   gone first   when a rank begins a session, none that came to the end of the last
 *                one and did not stay is a member of its view, but who had said
 *                there that it stays, and has closed or leaves
 *   not again    a rank that was in a list, and not in the one after it, is in no
 *                list any more
 *   told         a rank is told of no session that nobody has begun, nor of one
 *                before its own: the host's own work, with which the core has nothing
 *                to do, so a canary trips it, and no mutant
 *
 * That each rank of a list has come to the meeting is meeting_checker.h's: *all came*.
 */
#ifndef CONSENSUS_SIM_CHECKS_SESSION_CHECKER_H
#define CONSENSUS_SIM_CHECKS_SESSION_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct session_checker;

struct session_checker *session_checker_new(const struct program *program,
                                            const struct storm *storm);
void session_checker_free(struct session_checker *checker); /* or NULL */
struct sim_watcher session_checker_watcher(struct session_checker *checker);

#endif
