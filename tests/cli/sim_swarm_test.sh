#!/bin/sh
# sim_swarm_test.sh - two thousand seeds, each with faults of its own, under all checks.
set -u
exec "${BUILD:-build}/moot" sim --ranks 5 --seeds 1..2000
