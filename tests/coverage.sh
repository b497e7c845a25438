#!/bin/sh
# coverage.sh BUILD [quick | full] - what the simulator, its storms and the explorer reach.
#
# BUILD counts (make COVERAGE=1).  Each line of work is done from nothing counted but what
# the lines before it have: behind it stands how many arms of consensus/ are reached by
# then.  First come programs that users could have written, on networks that there could
# be.  Behind them the bench, whose tests say to a core what no peer of its own version
# says at that moment, and stories, in which a peer says anything.  At the end come the
# pairs of messages and receivers' states, and the arms that nothing has reached, by kind.
set -eu

build=${1:?usage: coverage.sh BUILD [quick | full]}
seeds=200 states=--quick hungry=1000 told=2000
[ "${2-quick}" != full ] || seeds=10000 states='' hungry=15000 told=40000
jobs=$(nproc 2>/dev/null || echo 2)
arms=tests/tidy/arms.py

# after WHAT COMMAND...
after() {
    what=$1
    shift
    "$@" >/dev/null
    echo "$(python3 $arms "$build" | tail -n 1)  after $what"
}
swarm() { "$build/tests/sim/swarm_test" --seeds "1..$seeds" "$@"; }
storm() { "$build/tests/sim/storm_test" --seeds "1..$seeds" "$@"; }

# The pairs of these runs are added up.
pairs() {
    for run in "--ranks 5" "--ranks 5 --newcomers 1" "--ranks 8 --direct-max 3 --newcomers 2" \
        "--ranks 5 --direct-max 1 --faults none" "--ranks 5 --workload once --newcomers 1" \
        "--ranks 4 --divergence strict --faults none" \
        "--ranks 6 --divergence strict --faults none --direct-max 1" \
        "--ranks 5 --divergence strict --newcomers 1"; do
        # shellcheck disable=SC2086 # several words
        "$build/moot" sim $run --seeds "1..$seeds" --jobs "$jobs" --coverage
    done
}

bench() {
    for name in asking cancel core core_memory crash deserted drop drop_round drop_view keeper \
        leave link lost lot meeting quiet rare rare_asks refusal scope silence spread strict stub timers verdict \
        view view_rules; do
        "$build/tests/unit/${name}_test" 2>&1
    done
}

find "$build" -name '*.gcda' -delete
after "swarms" swarm --ranks 4
after "swarms, strict" swarm --ranks 4 --strict
after "swarms, strict, of large moots" swarm --ranks 6 --strict --direct-max 1
after "large moots" swarm --ranks 6 --direct-max 1
after "what is dropped" swarm --ranks 4 --drops --lots --sparing
after "little memory, narrow wires" swarm --ranks 4 --presses --narrow
after "storms" storm --ranks 5 --newcomers 1 --leaves
after "storms, strict" storm --ranks 5 --newcomers 1 --strict
after "storms of large moots" storm --ranks 7 --direct-max 3
after "storms of large moots that some leave" storm --ranks 8 --direct-max 3 --newcomers 2 --leaves --cancels
after "storms with poison and drops" storm --ranks 4 --poison --drops --cancels
after "storms with poison, of six" storm --ranks 6 --poison --sparing --leaves --newcomers 1
after "storms where ranks differ for long" storm --ranks 5 --lots --leaves --newcomers 1
after "storms with little memory" storm --ranks 4 --presses --sparing
after "storms aimed at ballots" storm --ranks 5 --aims --leaves --newcomers 1
after "storms aimed at ballots of large moots" storm --ranks 7 --aims --direct-max 3
after "splits, each side of which goes on" storm --ranks 5 --solo
after "memory that runs out" "$build/tests/sim/starve_test" --seeds "1..$hungry"
after "virtual ranks" "$build/tests/virtual/virtual" --seeds "1..$seeds"
# shellcheck disable=SC2086 # none, or one word
after "the explorer" "$build/tests/explore/explore" $states
tables=$(mktemp)
trap 'rm -f "$tables"' EXIT
pairs >"$tables"
after "moot sim" true
python3 $arms "$build"
echo
after "the bench" bench
after "stories, in which peers lie" "$build/tests/fuzz/stories" --seeds "1..$told" tests/fuzz/events_fuzz.corpus/*
echo
python3 $arms --pairs <"$tables"
echo
python3 $arms --missing "$build"
