/* alone.h - ranks of a moot in one process, on one thread, beside others that are
 * silent.
 *
 * A transport of ours has a *wire* of so many ranks.  Those that are opened here hear
 * each other at their next poll, in the order in which they were sent to, and a poll
 * costs the same among however many.  Frames to the others are dropped.  So one process
 * measures what a rank of a large moot does by itself, in the library as it is.
 *
 * Nobody waits for the rest of a moot, which may not be there, so the moots cannot be
 * closed: the process ends.  No result may be so large that it does not go in frames.
 */
#ifndef TESTS_BENCH_ALONE_H
#define TESTS_BENCH_ALONE_H

#include "node/api/moot.h"
#include <stdint.h>

struct alone_wire;
struct alone_wire *alone_wire_new(uint32_t ranks);

/* That rank, with this knob, and what silence needs: no helper thread, no heartbeats,
 * and a long delay before others are asked for what they do not send.  Ends the process
 * if the moot cannot be opened. */
moot *alone_open(struct alone_wire *wire, uint32_t rank, const char *knob);
/* Something was sent to the rank, and it has not heard it yet. */
bool alone_is_sent(const struct alone_wire *wire, uint32_t rank);
/* Frames sent so far, to whomever. */
uint64_t alone_frames(const struct alone_wire *wire);

#endif
