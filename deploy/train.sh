#!/bin/sh
# train.sh BUILD - has a library that counts what it does (PROFILE=count) do its work.
#
# Counted are graphs of small tasks on ranks that agree, empty tasks, a branch of
# thousands that one rank alone spawns, and the examples: ranks that diverge, regions,
# accesses, task arrays, tasks that spawn tasks.  All on two ranks, since a machine of any size has
# these.  The counts stay beside BUILD's objects, and the Makefile compiles the library
# proper by them.
#
# A part of them would mislead: where a program fails (no launcher, a machine that may
# not run what it builds) or nothing was counted, all counts are removed, and the library
# is compiled as without them.  Standard error says so in a line; the exit status is 0.
# TRAIN_GRAPHS are the graphs' options, where they are to be few.
set -eu
build=${1:?usage: train.sh BUILD}
examples=$(cd "$(dirname "$0")/examples" && pwd)
log=$build/train.log
# The caller's knobs are for the caller's programs, and so is an installed library.
for knob in $(env | sed -n 's/^\(MOOT_[A-Z_]*\)=.*/\1/p'); do
    unset "$knob"
done
export XDG_CONFIG_HOME=/nonexistent
library=$(cd "$build" && pwd)
export LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# In this group of processes, to be interrupted with it; and `moot run` alone is told
# that time is up: a launcher told twice leaves its ranks behind.
run() {
    echo "+ $*"
    timeout --foreground 600 "$build/moot" run -n 2 --no-progress "$@" </dev/null
}

train() {
    # shellcheck disable=SC2086 # words are meant to split
    run "$build/tests/bench/trust" --pattern some ${TRAIN_GRAPHS:---pairs 3 --seconds 2} &&
        run "$build/tests/bench/spawning" &&
        run "$build/tests/bench/voting" &&
        run "$build/examples/cholesky" 32 2 &&
        run "$build/examples/cholesky" --data 20 2 &&
        run "$build/examples/cholesky" --arrays 20 2 &&
        run "$build/examples/heat" 8 2000 &&
        run "$build/examples/tree" &&
        run "$build/examples/queues" 64 &&
        run "$build/examples/conditional" &&
        run "$build/examples/tsp" "$examples/burma14.tsp"
}

is_counted() {
    [ -n "$(find "$build" -name '*.gcda')" ] || { echo "nothing is counted in $build" && false; }
}
forget() {
    find "$build" -name '*.gcda' -exec rm -f {} +
}

forget
if ! { train && is_counted; } >"$log" 2>&1; then
    forget
    echo "moot is compiled without counts, since to count failed: see $log" >&2
fi
