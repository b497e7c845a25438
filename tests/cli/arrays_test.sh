#!/bin/sh
# arrays_test.sh [SEEDS] - random programs of task arrays, in which a rank kills itself.
#
# Seeds 1 to SEEDS (16) run tests/mpi/random_arrays on 3 to 7 ranks, every fourth under
# mpirun and the others under moot's own launcher.  Those that go on compare what they
# read with what they compute themselves.  A program whose rank did not come to the
# drawn point has lost nobody: of all, a third must have.
#
# Then tests/mpi/array_chain: a chain of arrays of which one rank dies, early or late.  The
# last, of many steps, has an ask delay of half a second: it is over in time only if what
# others run now is sent without being asked for.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
seeds=${1:-16}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MOOT_STALL=8s OMPI_MCA_mpi_yield_when_idle=1
passed=0 failed=0 deaths=0

seed=1
while [ "$seed" -le "$seeds" ]; do
    launcher=local
    [ $((seed % 4)) -ne 0 ] || launcher=mpirun
    set -- run --launcher "$launcher" --no-progress -n $((3 + seed % 5)) \
        "$build/tests/mpi/random_arrays" --death "$seed"
    timeout -k 5 90 "$build/moot" "$@" >"$scratch/out" 2>&1 </dev/null
    code=$?
    if [ $code -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $code: moot $*"
        sed 's/^/     /' "$scratch/out"
    fi
    ! grep -q 'died' "$scratch/out" || deaths=$((deaths + 1))
    seed=$((seed + 1))
done
if [ $((3 * deaths)) -lt "$seeds" ]; then
    failed=$((failed + 1))
    echo "FAIL: $deaths of $seeds programs lost a rank"
fi

for death in '1 1' '1 40' '2 150' '0 77' '3 170' '1 40 400 400'; do
    delay=
    [ "$death" != '1 40 400 400' ] || delay=MOOT_ASK_DELAY=500ms
    # shellcheck disable=SC2086 # two arguments or four, and a setting or none
    set -- run --launcher local --no-progress -n 4 $delay "$build/tests/mpi/array_chain" $death
    timeout -k 5 180 "$build/moot" "$@" >"$scratch/out" 2>&1 </dev/null
    code=$?
    if [ $code -eq 0 ] && grep -q 'died' "$scratch/out" &&
        grep -q ' [1-9][0-9]* elements* of shares that were lost or given up$' "$scratch/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $code: moot $*"
        sed 's/^/     /' "$scratch/out"
    fi
done

# A rule that waits for a task to start never strikes a rank that runs elements alone.
timeout -k 5 90 "$build/moot" run --launcher local --no-progress -n 3 \
    --faults 'kill:r2@task.start#100000' "$build/tests/mpi/array_chain" 9 9 \
    >"$scratch/out" 2>&1 </dev/null
if grep -q 'pass no point of tasks: give a time, as in kill:r2@300ms$' "$scratch/out"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAIL: a rule at task.start says nothing of elements"
    sed 's/^/     /' "$scratch/out"
fi

# Ranks that agree: what moot spawns for itself is said to be among what only some have.
timeout -k 5 90 "$build/moot" run --launcher local --no-progress -n 3 "$build/examples/heat" 8 50 \
    >"$scratch/out" 2>&1 </dev/null
if grep -q "^  spawned  .* by some, with moot's own for arrays$" "$scratch/out"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAIL: the summary does not say what is spawned for arrays"
    sed 's/^/     /' "$scratch/out"
fi
echo "$passed passed, $failed failed, $deaths lost a rank"
[ $failed -eq 0 ]
