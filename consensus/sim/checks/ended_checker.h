/* ended_checker.h - a wait ends well only for what has ended well.
 *
 * A watcher of ends and of waits (I68), beside checker.h's with fixed membership, and
 * beside chaos_checker.h's while views change.  A wait may hear of an end from a word
 * about many tasks (PROTOCOL.md, T12), and then nothing else says that it is true.  Its
 * check, by the name that failures carry:
 *
 *   all ended   when a wait ends with MOOT_OK some rank has run the task to a good end
 *
 * That a wait for many ends when all have ended is the quiescence of sim.c, and its
 * bound.
 */
#ifndef CONSENSUS_SIM_CHECKS_ENDED_CHECKER_H
#define CONSENSUS_SIM_CHECKS_ENDED_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct ended_checker;

struct ended_checker *ended_checker_new(const struct program *program);
void ended_checker_free(struct ended_checker *checker); /* accepts NULL */
struct sim_watcher ended_checker_watcher(struct ended_checker *checker);

#endif
