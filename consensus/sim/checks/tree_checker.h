/* tree_checker.h - what must be true of results that go down trees.
 *
 * A watcher of results of more than LIMIT_EAGER_BYTES, and of what asks for them (I27);
 * beside checker.h's with fixed membership, and beside chaos_checker.h's while views
 * change.  Its checks, by the names that failures carry:
 *
 *   copies    in one view an owner sends a result's bytes to as many ranks as the
 *             fan-out says, and refers as many to each; whoever gets bytes from it
 *             again has asked it again
 *   referral  an owner refers a rank once in a view, to one that it has answered in
 *             that view before; who asks another than the owner was referred to it in
 *             that view; and "away" is the answer to such a rank
 *
 * That whoever waits for bytes gets them is the quiescence of sim.c.
 */
#ifndef CONSENSUS_SIM_CHECKS_TREE_CHECKER_H
#define CONSENSUS_SIM_CHECKS_TREE_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct tree_checker;

struct tree_checker *tree_checker_new(const struct program *program);
void tree_checker_free(struct tree_checker *checker); /* accepts NULL */
struct sim_watcher tree_checker_watcher(struct tree_checker *checker);

#endif
