/* order_checker.h - what ranks may say, and when, while views change.
 *
 * A second watcher beside chaos_checker.h's, about messages and their epochs alone. Its
 * checks, by the names that failures carry:
 *
 *   rule e        nothing is kept or run because of a message of an older epoch, but a
 *                 result that its own owner sends (I10)
 *   one view      all messages of one epoch carry the same view id (I12)
 *   one report    the reports of one epoch name one owner of a task, whoever runs it or
 *                 has its result (I7)
 *   settled first who chairs a key that it did not chair in the view before, a newcomer
 *                 above all, decides nothing about it before it has SETTLED (I8, I18);
 *                 in a large view: before all members have entered it and every report
 *                 to that chair has arrived
 *   past          the past of a view starts at one that all its members had settled,
 *                 or at the first (I19)
 *   how often     per view, one report's end and one SETTLED to each member, and per
 *                 task and chair one SEEK and one ACCEPT to each (I17)
 *   told ahead    who knows the candidates of a once task tells nobody of its owner who
 *                 has not held it, and whom it has not told these in this view (I32)
 *   candidates    a chair that a holder has told the candidates seeks among these (I31)
 */
#ifndef CONSENSUS_SIM_CHECKS_ORDER_CHECKER_H
#define CONSENSUS_SIM_CHECKS_ORDER_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct order_checker;

struct order_checker *order_checker_new(const struct program *program,
                                        const struct storm *storm);
void order_checker_free(struct order_checker *checker); /* accepts NULL */
struct sim_watcher order_checker_watcher(struct order_checker *checker);

#endif
