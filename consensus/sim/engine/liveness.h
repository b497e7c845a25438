/* liveness.h - how long a program may stand still once nothing goes wrong any more.
 *
 * A run *stands still* while some rank has not ended and no rank's own code or kernel
 * runs: all that may happen next is up to the protocol.  A wait lasts as long as own
 * code and kernels run in it, which is the program's affair, and as the standstills in
 * it.  The end of each of these is a step of the program, of which it has finitely
 * many: so to bound standstills is to bound every wait.  They count from the last fault
 * of the plan, when whatever it held back has arrived (*healed*).
 *
 * PROTOCOL.md's bound, in the durations of the weather.  W is the longest that a
 * message takes, a deaf host included and all hops of a route, and R = 2 W; in a large
 * view it is taken once for each level of the tree.  In one standstill there may be
 *
 *   detection   T_hb + T_susp + T' + W, where T' = T_lease (1 + rho) / (1 - rho)
 *   views       one for each rank f that died, left, was removed or joined, and one
 *               more: T_batch + T_st (failed proposers + 2) + 3 R to agree, R for
 *               reports, R for once tasks, 2 R until the waiter has its result
 *   no quorum   instead of views, T_lease + T_q
 *   asking      one delay for each task of the longest chain of inputs, 20 T_ask + R,
 *               and one of a busy rank, 100 T_ask + 1 ms
 *   quiet       26 T_gossip, one for each level of the tree, and 2 polls of 2 R; then
 *               4 T_gossip, as rounds that fail are repeated at growing distances
 *   arrays      where there are some, quiet twice more: homes give elements up, and who
 *               has spawned those that nobody has is asked for
 *   resending   2 T_rto at its longest, on a wire that loses frames
 *   strict      6 T_gossip to ask for hashes and to collect, 3 R, quiet once more, and
 * in a large view 16 T_gossip log2 N
 *
 * all of it as the slowest clock counts.  What waits for its turn on a wire that
 * carries only so many bytes a second (bandwidth.c) is a fault until it has arrived.
 * "bound" is the check that a longer one trips, at the first look behind the bound: by
 * how much it is passed says nothing of how long the program would have stood still.
 */
#ifndef CONSENSUS_SIM_ENGINE_LIVENESS_H
#define CONSENSUS_SIM_ENGINE_LIVENESS_H

#include <stdint.h>

struct sim;
struct sim_weather;

void liveness_open(struct sim *sim); /* once, before any of the others */
/* The bound, now that so many ranks have died, left, been removed or joined. */
uint64_t liveness_bound_ns(const struct sim *sim);
/* W: what a message takes at most on a wire that is idle. */
uint64_t liveness_way_ns(const struct sim_weather *weather);
/* Before each event that is not the program's own: measures a standstill, and fails the
 * run if it is too long. */
void liveness_watch(struct sim *sim, uint64_t time_ns);
/* A fault has struck, whose effect lasts until then. */
void liveness_harmed(struct sim *sim, uint64_t until_ns);

#endif
