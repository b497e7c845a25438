#!/bin/sh
# disk_faults_test.sh - fault plans about the disk of a checkpoint: whatever it does the
# job is right, says what it lost, and a later one makes it again.
#
# Finds the build in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MOOT_STALL=20s OMPI_MCA_mpi_yield_when_idle=1
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/out
store=$scratch/store
ended_well() { [ "$code" -eq 0 ]; }

# job RANKS PLAN: cholesky, which checks its result; with the folder
job() {
    timeout -k 5 120 "$build/moot" run -n "$1" --checkpoint "$store" ${2:+--faults "$2"} \
        MOOT_CHECKPOINT_LEAST=0 cholesky 6 64 >"$evidence" 2>&1 </dev/null
    code=$?
}
count() { sed -n "s/$1/\\1/p" "$evidence"; }

# --- Flipped bits ------------------------------------------------------------------------
job 2 seed:7,disk.flip:0.3
check "flips" "the job does not end well" ended_well
check "flips" "the rule did not fire" says 'disk.flip:0.3: fired [1-9]'
flips=$(count '.*disk.flip:0.3: fired \([0-9]*\) times.*')
"$build/moot" checkpoint verify "$store" >"$evidence" 2>&1
check "flips" "not $flips records are damaged" says " ${flips:-x} damaged\$"
job 3
check "after flips" "the job does not end well" ended_well
check "after flips" "no damage is told" says 'a damaged record was dropped'
check "after flips" "damage is not counted" says '^  records lost   [1-9]'
check "after flips" "nothing whole is found" says '^  checkpoint     [1-9][0-9]* found'
check "after flips" "what was damaged is not made again" says " found .*, [1-9][0-9]* stored"
job 2
check "once more" "the job does not end well" ended_well
check "once more" "something is made again" says " found .*, 0 stored"

# --- A full disk -------------------------------------------------------------------------
rm -rf "$store"
job 2 disk.full
check "full" "the job does not end well" ended_well
check "full" "its cause is not told" says 'rank 0: checkpoint .*not stored: No space left on device; .*see that it is there and has room'
check "full" "its cause is told often" [ "$(grep -c 'rank 0: checkpoint' "$evidence")" -eq 1 ]
check "full" "the losses are not counted" says '^  records lost   [1-9]'
check "full" "something is stored" says ', 0 stored'
job 2 disk.full/r1
check "one full disk" "the job does not end well" ended_well
check "one full disk" "rank 0 stores nothing" says ', [1-9][0-9]* stored'

# --- A folder that another user has made -------------------------------------------------
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
    chmod 755 "$scratch"
    HOME=$scratch setpriv --reuid 65534 --clear-groups "$build/moot" run -n 1 --launcher local \
        --checkpoint "$store" MOOT_CHECKPOINT_LEAST=0 cholesky 6 32 >"$evidence" 2>&1 </dev/null
    code=$?
    check "another user" "the job does not end well" ended_well
    check "another user" "not what helps" \
        says 'not stored: Permission denied; .* a user is needed who may .*, or name another folder'
    check "another user" "room is to be freed" no says 'room'
    HOME=$scratch setpriv --reuid 65534 --clear-groups "$build/moot" run -n 1 --launcher local \
        --checkpoint "$scratch/new" cholesky 6 32 >"$evidence" 2>&1 </dev/null
    check "another user" "not which folder cannot be made" \
        says "MOOT_CHECKPOINT=$scratch/new: Permission denied; name a folder that this user may make"
fi

# --- A slow disk -------------------------------------------------------------------------
rm -rf "$store"
job 2 disk.slow:20ms
check "slow" "the job does not end well" ended_well
check "slow" "the rule did not fire" says 'disk.slow:20ms: fired'
check "slow" "records are lost" no says 'records lost'

# --- Where there is no disk --------------------------------------------------------------
timeout -k 5 60 "$build/moot" run -n 2 --faults disk.full cholesky 2 8 >"$evidence" 2>&1
code=$?
check "no checkpoint" "it is taken for a test" [ "$code" -ne 0 ]
check "no checkpoint" "the cause is not told" says 'MOOT_FAULTS: disk.full harms a checkpoint, and there is none'
"$build/moot" sim --ranks 2 --faults disk.full --workload agree >"$evidence" 2>&1
check "simulated ranks" "they have a store" says 'disk.full harms a store, and there is none: --snapshots N'

# --- Simulated disks -----------------------------------------------------------------------
# simulated OPTION...: some seeds
simulated() {
    "$build/moot" sim --ranks 3 --seeds 1..40 "$@" >"$evidence" 2>&1 </dev/null
    code=$?
}
simulated --faults disk.full:0.2,disk.slow:0.2:1ms,disk.flip:0.1
check "simulated harm" "a check fails" ended_well
check "simulated harm" "no snapshot is told" says 'snapshots  *[1-9][0-9]* askers'
simulated --workload agree --snapshots 50 --faults disk.full
check "simulated disks" "a check fails, or the rule did not fire" ended_well

check_end
