/* cases.h - the protocol's main cases as small written programs, told in sentences.
 *
 * Each scene runs on a wire without jitter, under the checkers.  What it tells is a
 * golden transcript in tests/golden/, to be read in the order of PROTOCOL.md's rules.
 */
#ifndef CONSENSUS_SIM_RUNS_CASES_H
#define CONSENSUS_SIM_RUNS_CASES_H

#include "consensus/sim/engine/sim.h"

size_t scene_count(void);
const char *scene_name(size_t index); /* NULL beyond the last */

/* Runs the scene and writes its transcript; false if a check failed.  The caller frees
 * report->dump. */
bool scene_tell(size_t index, FILE *to, struct sim_report *report);

#endif
