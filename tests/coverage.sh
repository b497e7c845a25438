#!/bin/sh
# coverage.sh BUILD [quick | full] - what the simulator, its storms and the explorer reach.
#
# BUILD counts (make COVERAGE=1).  Each line of work is done from nothing counted but what
# the lines before it have: behind it stands how many arms of consensus/ are reached by
# then.  At the end come the pairs of messages and receivers' states, and the arms that
# nothing has reached.
set -eu

build=${1:?usage: coverage.sh BUILD [quick | full]}
seeds=400 states=--quick
[ "${2-quick}" != full ] || seeds=10000 states=
jobs=$(nproc 2>/dev/null || echo 2)
arms=tests/tidy/arms.py

# after WHAT COMMAND...
after() {
    what=$1
    shift
    "$@" >/dev/null
    echo "$(python3 $arms "$build" | tail -n 1)  after $what"
}

find "$build" -name '*.gcda' -delete
after "swarms" "$build/tests/sim/swarm_test" --ranks 4 --seeds "1..$seeds"
after "large moots" "$build/tests/sim/swarm_test" --ranks 6 --direct-max 1 --seeds "1..$seeds"
after "what is dropped" "$build/tests/sim/swarm_test" --ranks 4 --drops --lots --sparing --seeds "1..$seeds"
after "storms" "$build/tests/sim/storm_test" --ranks 5 --newcomers 1 --leaves --seeds "1..$seeds"
after "storms of large moots" "$build/tests/sim/storm_test" --ranks 7 --direct-max 3 --seeds "1..$seeds"
after "storms with poison and drops" "$build/tests/sim/storm_test" --ranks 4 --poison --drops --cancels --seeds "1..$seeds"
after "the explorer" "$build/tests/explore/explore" $states
"$build/moot" sim --ranks 5 --newcomers 1 --seeds "1..$seeds" --jobs "$jobs" --coverage |
    sed '1,/^  gossip/d'
python3 $arms --missing "$build"
