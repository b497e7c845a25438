#!/bin/sh
# hostile_test.sh - jobs over a wire with an attacker in it (wires_hostile.c), who replays,
# reorders, cuts, flips, doubles, sends astray, and adds frames of strangers and of members
# that announce 2^60 bytes: all ends right, and what was dropped is told.  Without seals the
# same attacker ends ranks; so the seals are what keeps him off.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch" MOOT_RINGS=off
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_SEAL
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
wire=$scratch/hostile.so
chaos=$build/tests/mpi/chaos
evidence=$scratch/said
${CC:-gcc} -D_GNU_SOURCE -w -O2 -shared -fPIC -I"$build/include" tests/cli/wires_hostile.c \
    -o "$wire" || exit 1

# over OPTIONS RANKS WORD...: with what is said in $evidence
over() {
    options=$1 ranks=$2
    shift 2
    timeout -k 5 90 "$build/moot" run -n "$ranks" --launcher local \
        --transport "$wire:$options" "$@" >"$evidence" 2>&1 </dev/null
}
# well WHAT OPTIONS RANKS WORD...
well() {
    what=$1
    shift
    over "$@"
    code=$?
    check "$what" "the status is $code" [ $code = 0 ]
    sed -n 's/^  frames dropped //p' "$evidence" >>"$scratch/dropped"
}

# --- The suite of all transports --------------------------------------------------------
# Each of its groups is a wire of the same processes under new uids.
over "seed=1:about=$scratch/about" 3 "$build/tests/conformance/transport_test" carrier \
    "$wire:seed=1:about=$scratch/about" plain # it opens no moot, so the status says nothing
check "the suite" "it has another end" says '^transport, 3 ranks: [1-9][0-9]* passed, 0 failed'
for attack in twice late cut flipped strangers "2.60 bytes" replayed astray renamed \
    "old incarnations"; do
    check "the attacker" "made no attack '$attack'" grep -q "^[1-9][0-9]* $attack\$" "$scratch/about"
done

# --- Programs ---------------------------------------------------------------------------
for seed in 1 2 3; do
    well "tsp, seed $seed" "seed=$seed:one-in=5" 4 tsp deploy/examples/burma14.tsp
    check "tsp, seed $seed" "it is not the optimum" says '^optimum 3323 '
    check "tsp, seed $seed" "nothing is told of it" says '^  frames dropped '
done
well "cholesky" "seed=4:one-in=5" 3 cholesky 4 64
well "a flood" "one-in=0:flood=4" 3 tree 4 64
check "a flood" "nothing is told of it" says 'frames dropped [1-9][0-9]+ of strangers'
well "no attack" "one-in=0" 3 tree 4 64
check "no attack" "something was dropped" sh -c "! grep -q 'frames dropped' '$evidence'"
# Random programs that diverge, whose ends are judged by the table of legitimate errors.
for seed in 1 2 3 4 5 6; do
    case=$seed:ranks=3:no-fault:no-memory:no-shm:no-outside
    rm -f "$scratch/ledger"
    well "program $seed" "seed=$seed:one-in=5" 3 "$chaos" "$scratch/ledger" "$case"
    check "program $seed" "its ends are not what they may be" \
        "$chaos" --check "$scratch/ledger" "$case" >"$scratch/judged" 2>&1
done
evidence=$scratch/dropped
for why in "of strangers" "forged or changed" "that had come before"; do
    check "all" "none was dropped $why" grep -q "[1-9][0-9]* $why" "$scratch/dropped"
done
evidence=$scratch/said

# --- What is told elsewhere -------------------------------------------------------------
well "metrics" "seed=9:one-in=5" 3 MOOT_METRICS="$scratch/run.prom" tree 4 64
evidence=$scratch/run-1.prom
check "metrics" "no frames are told of" \
    says '^moot_frames_dropped_total.*why="stranger".* [0-9]+$'
evidence=$scratch/job
"$build/moot" run -n 3 --launcher local --transport "$wire:seed=9:one-in=3" \
    "$build/tests/mpi/steady" 300000 >"$evidence" 2>&1 &
job=$!
evidence=$scratch/state
: >"$evidence"
tries=0
while [ $tries -lt 50 ] && ! says 'dropped by rank [0-2]: '; do
    tries=$((tries + 1))
    sleep 0.1
    "$build/moot" state >"$evidence" 2>&1
done
check "moot state" "it does not tell of frames that were dropped" \
    says '^  dropped by rank [0-2]: [0-9]+ frames of strangers, [0-9]+ forged or changed, '
kill -TERM $job
wait $job

# --- Without seals ----------------------------------------------------------------------
evidence=$scratch/said
ended=0
for seed in 1 2 3 4 5 6; do
    over "seed=$seed:one-in=5" 3 MOOT_SEAL=off tsp deploy/examples/burma14.tsp
    code=$?
    [ $code = 0 ] && ! says 'the transport failed|malformed' || ended=$((ended + 1))
    check "not sealed, seed $seed" "it hangs" [ $code != 124 ]
done
check "not sealed" "the attacker does no harm, so this test shows nothing" [ $ended -gt 0 ]
# A wire that promises to be private to a host is sealed where there are several.
${CC:-gcc} -D_GNU_SOURCE -DPROMISES=MOOT_TRANSPORT_PRIVATE -w -O2 -shared -fPIC -I"$build/include" \
    tests/cli/wires_hostile.c -o "$scratch/private.so" || exit 1
for seed in 1 2 3; do
    timeout -k 5 90 "$build/moot" run --launcher "$build/examples/launcher_exec.so" --hosts a:2,b:2 \
        --transport "$scratch/private.so:seed=$seed:one-in=5" tsp deploy/examples/burma14.tsp \
        >"$evidence" 2>&1 </dev/null
    code=$?
    check "private on hosts, seed $seed" "the status is $code" [ $code = 0 ]
    check "private on hosts, seed $seed" "nothing is dropped" says '^  frames dropped '
done
check_end
