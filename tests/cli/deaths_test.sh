#!/bin/sh
# deaths_test.sh [full] - ranks die under mpirun, and the others end right.
#
# A row is a plan, a number of ranks and a program with its own oracle: every survivor
# compares its answer with a serial one, and exits 0 only if they agree.  `survivors`
# also has the runs of its kernels counted, the dead included.  A row passes if `moot
# run` says that all went well, in time; a row whose plan never struck (status 3) has
# tested nothing and is counted apart.
#
# Without an argument about 80 deaths, in a minute or two on two cores; every second row is started
# by the launcher local, which takes a third of the time.  `full` is the matrix of all programs,
# points and ranks, all by mpirun, for make soak.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

how=${1-}
build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MOOT_STALL=8s OMPI_MCA_mpi_yield_when_idle=1
passed=0 failed=0 idle=0 rows=0

# program NAME SEED: what is run, as $command
program() {
    case $1 in
    tsp) command="tsp deploy/examples/burma14.tsp" ;;
    tree) command="tree $2 128" ;;
    cholesky)
        case $(($2 % 3)) in
        0) command="cholesky 4 32" ;;
        1) command="cholesky --data 4 32" ;;
        *) command="cholesky --arrays 4 32" ;;
        esac
        ;;
    steady) command="$build/tests/mpi/steady" ;;
    released) command="$build/tests/mpi/steady 100000 released" ;;
    survivors) command="$build/tests/mpi/survivors $scratch/ledger $2" ;;
    cancel) command="$build/tests/mpi/cancel $scratch/ledger $2" ;;
    heavy) command="$build/tests/mpi/heavy" ;;
    again) command="$build/tests/mpi/again" ;;
    meet) command="$build/tests/mpi/meet 60" ;;
    gone) command="$build/tests/mpi/verdicts gone" ;;
    verdicts) command="$build/tests/mpi/verdicts" ;;
    verify) command="$build/tests/mpi/verify died" ;;
    forgiving) command="$scratch/forgiving $scratch/ledger $2" ;;
    esac
}

# row STATUS RANKS PLAN PROGRAM SEED [SETTINGS]
row() {
    status=$1 ranks=$2 plan=$3 name=$4 seed=$5 local=''
    shift 5
    rows=$((rows + 1))
    [ "$how" = full ] || [ $((rows % 2)) -eq 0 ] || local='--launcher local'
    program "$name" "$seed"
    rm -f "$scratch/ledger"
    # shellcheck disable=SC2086 # a command's words are meant to split
    timeout -k 5 60 "$build/moot" run -n "$ranks" $local --faults "$plan" "$@" $command \
        >"$scratch/out" 2>&1 </dev/null
    code=$?
    said="moot run -n $ranks $local --faults $plan $* $command"
    if [ $code -eq 3 ] && [ "$status" -eq 0 ]; then
        idle=$((idle + 1))
        return
    fi
    case $name in
    survivors | cancel) checked=$status ;;
    *) checked=none ;;
    esac
    if [ "$checked" = 0 ] && [ $code -eq 0 ]; then
        "$build/tests/mpi/$name" --check "$scratch/ledger" "$seed" \
            >>"$scratch/out" 2>&1 || code=check
    fi
    if [ "$code" = "$status" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $code, not $status: $said"
        sed 's/^/     /' "$scratch/out"
    fi
}

# says PATTERN: the last row printed it
says() {
    grep -qE -e "$1" "$scratch/out" && return
    failed=$((failed + 1))
    echo "FAIL: $said: does not say /$1/:"
    sed 's/^/     /' "$scratch/out"
}

# points RANK OTHER: one plan a line; the last ones have a second death in the recovery
points() {
    cat <<END
kill:r$1@spawn
kill:r$1@claim#2
kill:r$1@task.start#2
kill:r$1@task.end#2
slow:60ms/r$1,kill:r$1@40ms
kill:r$1@result.sent#2
kill:r$1@vote.cast
kill:r$1@motion.sent
kill:r$1@motion.recv
kill:r$1@decision.recv
kill:r$1@close
kill:r$1@task.start#2,kill:r$2@view.enter
kill:r$1@task.start#2,kill:r$2@view.propose
kill:r$1@task.start#2,kill:r$2@report.sent
END
}

# matrix RANKS VICTIMS PROGRAMS EVERY: each EVERY-th cell
matrix() {
    cell=0
    for victim in $2; do
        points "$victim" $(((victim + 1) % $1)) >"$scratch/points"
        for each in $3; do
            while read -r plan; do
                cell=$((cell + 1))
                [ $((cell % $4)) -eq 0 ] || continue
                row 0 "$1" "$plan" "$each" $((cell + victim)) \
                    "MOOT_THREADS=$((cell / $4 % 2))"
            done <"$scratch/points"
        done
    done
}

# Whoever dies while tasks are cancelled at every moment, all see one end (cancel.c).
# cancels VICTIMS: each at each point; one after the other, if they stand in one word
cancels() {
    for victims in $1; do
        turn=$victims
        for point in claim#2 task.start#5 task.end#7 result.sent#6 vote.cast \
            decision.recv motion.recv motion.sent#3; do
            victim=${turn%%,*}
            row 0 4 "kill:r$victim@$point" cancel "$((victim + 41))"
            turn=${turn#*,},$victim
        done
    done
    row 0 4 drop:0.05,delay:0.2:2ms+-1ms cancel 51
    row 0 4 drop:0.1/notice,kill:r2@task.end#9 cancel 52
}

# A result that is made again, of other bytes, is told.
verifies() {
    row 0 4 kill:r0@2s verify 61
    says 'MOOT_ERR_NONDETERMINISTIC.* than on rank 0'
}

# f of 2f+1, at once and one after the other
several() {
    for each in $1; do
        row 0 5 kill:r1@task.start,kill:r3@task.start "$each" 5
        row 0 5 kill:r0@60ms,kill:r4@200ms "$each" 6
        row 0 8 kill:r0@task.start,kill:r2@task.start,kill:r7@task.start "$each" 7
        row 0 8 kill:r1@50ms,kill:r2@150ms,kill:r3@250ms "$each" 8
    done
}

# Stopped ranks: shorter than MOOT_SUSPECT they are waited for, longer and they are out.
stopped() {
    for lasts in 100ms 1s; do
        row 0 4 "pause:r1@task.start#2+$lasts" survivors 11
        says 'tasks run'
        ! grep -qE 'removed|go on' "$scratch/out" || says 'nobody removed'
    done
    row 0 4 pause:r2@task.start#2+3s survivors 12 MOOT_SUSPECT=1s
    says 'rank 2 was removed alive'
    row 0 4 pause:r0@task.start#2+3s survivors 13 MOOT_SUSPECT=1s
    says 'rank 0 was removed alive'
    # What its process says of itself counts as little: it may well end with 0.
    printf '#!/bin/sh\n"%s" "$@" || :\n' "$build/tests/mpi/survivors" >"$scratch/forgiving"
    chmod +x "$scratch/forgiving"
    row 0 4 pause:r2@task.start#2+3s forgiving 16 MOOT_SUSPECT=1s
    says 'rank 2 was removed alive'
}

# Whoever dies early, the others' memory stays as it is then (steady.c).
memory() {
    for victim in 0 1 3; do
        row 0 4 "kill:r$victim@task.start#600" steady 1
        says 'grew by'
        row 0 4 "kill:r$victim@task.start#600" released 1 MOOT_WINDOW=4096
        says 'grew by'
        row 0 4 "kill:r$victim@task.end#9" heavy 1
        ! grep -q 'tasks failed' "$scratch/out" || says 'no task failed'
    done
    # A rank let go of the sum that the other's tasks had yet to be made from again.
    row 0 2 seed:525,kill:r1@motion.sent#3 steady 1 MOOT_SPLIT=solo MOOT_THREADS=2
    says 'grew by'
}

# A once task that may be run again is, also where its new chair has not spawned it (again.c).
again() {
    for point in task.start#1 task.end#1 claim#2; do
        row 0 4 "kill:r0@$point" again 1
    done
    row 0 5 kill:r0@task.start#1,kill:r1@view.enter again 1
}

# Whoever dies before, at or after a meeting, the others are shown the same (meet.c).
meetings() {
    for victim in 0 1 3; do
        row 0 4 "kill:r$victim@task.end#$((20 + victim * 7))" meet 1
        row 0 4 "kill:r$victim@motion.recv#$((30 + victim * 11))" meet 1
    done
    row 0 4 kill:r2@result.recv#40,kill:r0@motion.sent#60 meet 1
    row 0 2 kill:r1@task.start#50 meet 1 MOOT_SPLIT=solo
}

# Two ranks: a death that is seen is survived by either; a silence by rank 0 alone.
pairs() {
    row 0 2 kill:r0@task.start#2 survivors 21
    row 0 2 kill:r1@task.start#2 survivors 22
    row 0 2 pause:r1@task.start#2+3s survivors 23 MOOT_SUSPECT=1s
    says 'rank 1 was removed alive'
    row 0 2 pause:r0@task.start#2+3s survivors 24 MOOT_SUSPECT=1s
    ! grep -q 'removed' "$scratch/out" || says 'nobody removed'
    row 0 2 pause:r0@task.start#2+3s tsp 25 MOOT_SUSPECT=1s MOOT_SPLIT=solo
    says 'rank 0 was removed alive'
}

# Lost, repeated, delayed and reordered messages change nothing; a cut has two sides.
wires() {
    row 0 4 seed:1,drop:0.05,dup:0.05,delay:0.1:2ms+-1ms,reorder:0.05 survivors 31
    row 0 4 seed:2,drop:0.2/vote,kill:r1@task.start#2 survivors 32
    row 0 4 part:0-1/2-3@50ms+300ms survivors 33
    row 0 4 part:0-1/2-3@50ms survivors 34 MOOT_SUSPECT=600ms
    says 'NO_QUORUM'
    says 'ranks 0-1 go on in view [23]'
}

# What only the dead held fails first, and no verdict takes long on a wire that loses.
verdicts() {
    row 0 3 kill:r1@task.start#1 gone 35
    row 0 4 seed:3,drop:0.3 verdicts 36
}

case $how in
full)
    matrix 4 "0 1 2 3" "tsp tree cholesky survivors" 1
    matrix 8 "0 3 7" "tsp tree cholesky survivors" 1
    several "tsp tree cholesky survivors"
    row 0 4 pause:r1@task.start#2+5s survivors 14
    row 0 4 pause:r1@task.start#2+30s survivors 15
    cancels "0 1 2 3"
    verifies
    stopped
    memory
    again
    meetings
    pairs
    wires
    verdicts
    ;;
*)
    matrix 4 "0 1 2 3" "tsp tree cholesky survivors" 11
    matrix 8 "0 5" "tsp tree survivors" 15
    several survivors
    cancels 0,2
    verifies
    stopped
    memory
    again
    meetings
    pairs
    wires
    verdicts
    ;;
esac
echo "$passed passed, $failed failed, $idle whose fault found no occasion"
[ "$failed" -eq 0 ] && [ "$passed" -ge 40 ]
