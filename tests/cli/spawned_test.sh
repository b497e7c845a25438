#!/bin/sh
# spawned_test.sh [full] - ranks that join over MPI where a session ends: by a plain mpirun and by
# `moot run`, after others have left, with ranks that die as they come; and what is refused,
# with the reason.  `full`, for make soak, has a case that takes a minute.
#
# spawned.c has what must be true of each rank.  Open MPI's BTL over TCP may say a few lines of
# its own about a rank that has died.  Skips without mpirun.  Finds the programs in $BUILD; run
# from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
command -v mpirun >/dev/null || {
    echo "there is no mpirun here"
    exit 77
}
mpirun --version | grep -q 'Open MPI' || {
    echo "this mpirun is none of Open MPI's"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
unset OMPI_MCA_rmaps_base_oversubscribe # one case is that there is no slot
export TMPDIR="$scratch" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
spawned=$build/tests/mpi/spawned

# run STATUS COMMAND...: to its end
run() {
    wanted=$1
    shift
    timeout -k 5 100 "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code, not $wanted" [ $code = "$wanted" ]
}
moot_run() {
    wanted=$1
    shift
    run "$wanted" "$build/moot" run --launcher mpirun "$@"
}
# sizes SESSION SIZE WHY: all of that session say so
sizes() {
    check "$name" "session $1 has not $2 ranks" \
        [ "$(grep -c "^spawned: session $1: .* of $2, $3\$" "$evidence")" = "$2" ]
}
# summed FOUNDERS JOINED: the summary has the figures of all
summed() {
    check "$name" "the summary counts others" \
        says "^moot: $(($1 + $2)) ranks \\($1 \\+ $2 joined\\), "
    check "$name" "a rank's figures are not in it" \
        [ "$(sed -n 's/^  tasks run .*by rank://p' "$evidence" | grep -v '[?]' | wc -w)" = $(($1 + $2)) ]
    check "$name" "a rank could not write its own" no says 'cannot write its summary'
}
nothing_lost() { check "$name" "a rank is lost" no says 'died|out of reach|removed'; }

# --- They come ----------------------------------------------------------------------------
export MOOT_MAX=6
name="a plain mpirun"
SPAWNED_MEETS=1 run 0 mpirun --oversubscribe -n 2 "$spawned" 4 a_0+1@1 a_1+2@2
sizes 1 2 opened
sizes 2 3 joined
sizes 3 5 joined
sizes 4 5 unchanged
nothing_lost

name="by the wire alone"
MOOT_RINGS=off run 0 mpirun --oversubscribe -n 2 "$spawned" 3 a_0+2@1
sizes 3 4 unchanged

name="others leave"
moot_run 0 -n 3 "$spawned" 5 a_0+1@1 a_1-@2 a_0+1@3 a_0-@4
sizes 3 3 left
sizes 4 4 joined
sizes 5 3 left
summed 3 2
nothing_lost

# There may be no more slots than founders.
name="two to two, by moot run"
moot_run 0 -n 2 "$spawned" 3 a_0+2@1
sizes 2 4 joined
summed 2 2

name="one comes where as many may be as have begun"
moot_run 0 -n 3 MOOT_MAX=3 "$spawned" 4 a_2-@1 a_0+1@2
sizes 3 3 joined
name="one comes as another leaves"
moot_run 0 -n 3 "$spawned" 3 a_0+1@1 a_2-@1
sizes 2 3 '.*joined'

# --- Deaths -------------------------------------------------------------------------------
name="a rank dies, and nobody joins after that"
moot_run 0 -n 3 "$spawned" 4 a_0+1@1 'a_2!@2' a_0+1@3
check "$name" "the reason is not said" says 'does not grow by 1: a rank has died'
check "$name" "session 4 has not three ranks" says '^spawned: session 4: b_0 is rank 2 of 3'
name="the lowest of two dies, where ranks may join"
moot_run 0 -n 2 --faults 'kill:r0@task.start#20' "$spawned" 3
check "$name" "the other does not go on" says '^spawned: session 3: a_1 is rank 0 of 1'
name="a newcomer dies"
moot_run 0 -n 3 "$spawned" 3 a_0+1@1 'b_0!@2'
check "$name" "the founders do not go on" says '^spawned: session 3: a_0 is rank 0 of 3'
check "$name" "its death is not in the summary" says '^  rank 3 died after .* of signal 9'
check "$name" "it is not counted" says '^moot: 4 ranks \(3 \+ 1 joined\), '
# Which of them it hits first is chance: the newcomers come, or do not.
for who in a_0 a_1; do
    name="$who dies as newcomers come"
    moot_run 0 -n 3 "$spawned" 3 a_0+1@1 "$who~@1"
    check "$name" "the others do not go on" says '^spawned: a_2 ends'
done
name="a newcomer has another version of a kernel"
SPAWNED_DIES=drifts timeout -k 5 100 "$build/moot" run --launcher mpirun -n 3 "$spawned" 3 a_0+1@1 \
    >"$evidence" 2>&1 </dev/null
check "$name" "the newcomer is not told why" \
    says "^spawned: rank 3: .*'add-up' is registered differently: rank 3 has version 2.* has version 1"
check "$name" "the founders do not go on" \
    [ "$(grep -c '^spawned: session 3: a_.* of 3, lost$' "$evidence")" = 3 ]

# For a minute it is not known that it does not come, and MPI's ranks use their cores meanwhile.
if [ "${1-}" = full ]; then
    name="a newcomer dies before it has come"
    SPAWNED_DIES=late timeout -k 5 100 "$build/moot" run --launcher mpirun -n 3 "$spawned" 2 a_0+1@1 \
        >"$evidence" 2>&1 </dev/null
    check "$name" "the founders do not go on" \
        [ "$(grep -c '^spawned: session 2: a_.* of 3, unchanged$' "$evidence")" = 3 ]
    check "$name" "the summary does not say so" says '^  rank 3 did not join: it died of signal 9'
    check "$name" "it is counted" says '^moot: 3 ranks, '
fi

# --- Refused ------------------------------------------------------------------------------
# refused REASON: it grows by none, which is said, and goes on
refused() {
    check "$name" "the reason is not said" says "^moot: rank 0: the next session does not grow by .*$1"
    sizes 2 2 unchanged
}
name="more than MOOT_MAX"
run 0 mpirun --oversubscribe -n 2 "$spawned" 2 a_0+5@1
refused '2 ranks and 5 more are over the 6 that the moot may have .MOOT_MAX.'
name="no slots"
run 0 mpirun --host localhost:2 -n 2 "$spawned" 2 a_0+1@1
refused 'mpirun has 2 slots, and 2 ranks of this moot run'
name="MPI_THREAD_SINGLE"
SPAWNED_DIES=single MOOT_PROGRESS=caller timeout -k 5 100 mpirun --oversubscribe -n 2 "$spawned" 2 \
    a_0+1@1 >"$evidence" 2>&1 </dev/null
refused 'without MPI_THREAD_MULTIPLE on some rank'
unset MOOT_MAX
name="without MOOT_MAX"
run 0 mpirun --oversubscribe -n 2 "$spawned" 2 a_0+1@1
refused 'no room for more ranks over MPI: MOOT_MAX says'
name="less MOOT_MAX than ranks"
MOOT_MAX=1 run 0 mpirun --oversubscribe -n 2 "$spawned" 1
check "$name" "it is not said" says '^moot: MOOT_MAX=1 has no effect: it is less than the 2 ranks'
run 2 "$build/moot" run -n 2 MOOT_MAX=1 "$spawned" 1
check "$name" "moot run does not refuse it" \
    says '^moot run: MOOT_MAX=1 is less than the 2 ranks that the job begins with$'

check_end
