/* transcript.h - a run told as plain sentences, one per line, with virtual times.
 *
 *     0.003 ms  rank 2 asks chair 1 for "b" (it holds it; the waiter is at position 2)
 *
 * The golden transcripts are written by it, and so is `--verbose`.
 */
#ifndef CONSENSUS_SIM_RUNS_TRANSCRIPT_H
#define CONSENSUS_SIM_RUNS_TRANSCRIPT_H

#include "consensus/sim/engine/sim.h"

enum narrator_detail {
    NARRATOR_STORY,     /* what matters to a reader: no gossip, no polls, no arrivals */
    NARRATOR_EVERYTHING /* every sight */
};

struct narrator;

struct narrator *narrator_new(const struct program *program, FILE *to,
                              enum narrator_detail detail);
void narrator_free(struct narrator *narrator); /* accepts NULL */
struct sim_watcher narrator_watcher(struct narrator *narrator);

#endif
