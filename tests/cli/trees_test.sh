#!/bin/sh
# trees_test.sh [full] - a large result of one rank goes down a tree of those who take it: how
# often it leaves its owner, on real ranks, and what comes of the death of a rank that
# others have it from.
#
# Without `full`, which `make soak` has, the rows take turns between mpirun and the launcher local.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

how=${1-} turn=0
build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
unset MOOT_CONFIG MOOT_TREE_FANOUT MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

# Under a name of this test's own: others may run that program, too, and processes are found by
# their names.
broadcast=$scratch/broadcast
ln -s "$build/tests/mpi/broadcast" "$broadcast"
ranks=7 rounds=3 seconds=90
launchers=mpirun
[ ! -f "$build/wires/ucx.so" ] || launchers="$launchers local"

# run NAME WORD...: it ends well, with what is said in $evidence
run() {
    what=$1
    shift
    evidence="$scratch/$(echo "$what" | tr -c 'a-z0-9\n' -)"
    timeout -k 5 $seconds "$build/moot" run -n $ranks "$@" "$broadcast" 2048 $rounds >"$evidence" 2>&1 \
        </dev/null
    check "$what" "its status is not 0" [ $? = 0 ]
}
# mine: with `full`, each row is for each launcher; else they take turns
mine() {
    turn=$((turn + 1))
    [ "$how" = full ] || [ "$launchers" = mpirun ] || [ $((turn % 2)) -eq $((other % 2)) ]
}
# copies RANK: results that it sent in all rounds
copies() { sed -n "s/^rank $1 sent \([0-9]*\)\.[0-9]* results.*/\1/p" "$evidence"; }

# --- Copies -----------------------------------------------------------------------------
other=0
for launcher in $launchers; do
    turn=0 other=$((other + 1))
    for fanout in 1 2 4; do
        mine || continue
        run "$launcher, $fanout" --launcher "$launcher" MOOT_TREE_FANOUT=$fanout
        for rank in 0 1 2 3 4 5 6; do
            check "$launcher, $fanout" "rank $rank sends more copies than $((fanout * rounds))" \
                [ "$(copies $rank)" -le $((fanout * rounds)) ]
        done
    done
    mine || continue
    run "$launcher, none" --launcher "$launcher" MOOT_TREE_FANOUT=0
    check "$launcher, none" "rank 0 does not send all" \
        [ "$(copies 0)" = $(((ranks - 1) * rounds)) ]
done

# --- Deaths -----------------------------------------------------------------------------
# The death of a rank amid passing it on, with the bytes and without.
other=0
for launcher in $launchers; do
    turn=0 other=$((other + 1))
    for plan in kill:r1@result.sent#1 kill:r2@result.recv#2 \
        "kill:r4@result.recv#1,kill:r5@result.recv#2"; do
        mine || continue
        run "$launcher, $plan" --launcher "$launcher" --faults "$plan" MOOT_TREE_FANOUT=1
        check "$launcher, $plan" "no death is told" says 'rank [0-6] died'
    done
done

# --- Among many, on few ranks -----------------------------------------------------------
# The end goes along the tree, in which 1 has 5 and 6 below it.  A farewell that does not
# come is waited for for 20 s.
seconds=15 launcher=${launchers##* }
run "$launcher, many" --launcher "$launcher" MOOT_DIRECT_MAX=1
for rank in 0 1 5; do
    run "$launcher, many, $rank dies" --launcher "$launcher" --faults kill:r$rank@close MOOT_DIRECT_MAX=1
    check "$launcher, many, $rank dies" "no death is told" says "rank $rank died"
done

# Ranks that hear of each other's kernels by others only: rows of it have one rank differ.
evidence="$scratch/kernels"
MOOT_DIRECT_MAX=1 timeout -k 5 120 "$build/moot" run -n 8 "$build/tests/mpi/bad_input" >"$evidence" 2>&1 </dev/null
check "kernels of many" "$(grep FAILED "$evidence" | head -n 1)" [ $? = 0 ]

# From outside, at whatever moment.
killed=0 moments='0.1 0.6'
[ "$how" != full ] || moments='0.1 0.3 0.6 1'
for moment in $moments; do
    evidence="$scratch/killed-$moment"
    MOOT_TREE_FANOUT=1 timeout -k 5 90 "$build/moot" run -n $ranks "$broadcast" 16384 12 \
        >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0 victim=''
    while [ -z "$victim" ] && [ $tries -lt 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
        says '^rank 3 is here' || continue
        for process in $(pgrep -f "^$broadcast 16384"); do
            ! grep -qsz '^OMPI_COMM_WORLD_RANK=3$' "/proc/$process/environ" || victim=$process
        done
    done
    sleep "$moment"
    kill -KILL "$victim" 2>/dev/null && killed=$((killed + 1))
    wait "$job"
    check "kill -9 after $moment s" "the status is not 0" [ $? = 0 ]
done
check "kill -9" "nobody was killed in time" [ $killed -gt 0 ]

check_end
