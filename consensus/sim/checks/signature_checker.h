/* signature_checker.h - what must be true of signatures that ranks give of their state.
 *
 * A watcher of what programs sign and of what ranks are told of it (I48, I49); beside
 * the other checkers.  Its checks, by the names that failures carry:
 *
 *   differs       who is said to differ at a step has given that signature there, and
 * the rank that is told has given the other one; nobody is told twice contradicted  of
 * two signatures of a step the one that others gave was given by two ranks or more, and
 * the one of who is named by fewer announced     nobody is told that a rank announced
 * otherwise than it says told          if one rank differs, all that hear of it while
 * membership is fixed are told so before they leave
 */
#ifndef CONSENSUS_SIM_CHECKS_SIGNATURE_CHECKER_H
#define CONSENSUS_SIM_CHECKS_SIGNATURE_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct signature_checker;

/* `limit`: ranks there may be. */
struct signature_checker *signature_checker_new(uint32_t limit);
void signature_checker_free(struct signature_checker *checker); /* accepts NULL */
struct sim_watcher signature_checker_watcher(struct signature_checker *checker);

#endif
