#!/bin/sh
# checkpoint_hosts_test.sh - checkpoints of jobs on two hosts: with a folder on each host's
# own disk, killed whole, and started again on the same hosts, on one less, with the folders
# put together; and with one folder that both hosts see.
#
# Must be true: values are right, whatever is found; where a folder has all that was
# stored, on whichever host, none of that runs again, and no once task starts twice; no
# record is lost; a living rank of the other host is taken for no dead one.
#
# Skips where there are no hosts of namespaces.  Finds the programs in $BUILD; run from the
# top of the tree.
set -u

# shellcheck source=tests/cli/fleet_jobs.sh
. tests/cli/fleet_jobs.sh
jobs_enter "$@"
store=$scratch/store # the same path on each host
restarted=$build/tests/mpi/restarted
MOOT_STALL=20s
export MOOT_STALL

# disks: each host has its own behind that path, which outlives the host
disks() {
    mkdir -p "$store"
    for host in a b c; do
        mkdir -p "$scratch/disk-$host"
        on $host mountpoint -q "$store" || on $host mount --bind "$scratch/disk-$host" "$store"
    done
}
# start CASE HOSTS WORD...: a job to its end, with what it ran in $scratch/ledger-CASE
start() {
    name=$1 at=$2
    shift 2
    run --hosts "$at" --checkpoint "$store" MOOT_CHECKPOINT_LEAST=0 "$@"
}
again() {
    start "$1" "$2" "$restarted" 5 "$scratch/ledger-$1"
    check "$1" "its status is $got, not 0" [ "$got" -eq 0 ]
    check "$1" "a value is wrong" no says WRONG
    found=$(sed -n 's/^  checkpoint  *\([0-9]*\) found.*/\1/p' "$lines")
}
# records DISK...: the results there, each once
records() {
    for disk in "$@"; do
        "$moot" checkpoint ls "$disk" 2>/dev/null
    done | sed -n 's/^\([0-9a-f]*\)  result .*/\1/p' | sort -u
}
whole() { "$moot" checkpoint verify "$1" >"$scratch/verified" 2>&1; }
# ran CASE: the tasks that ran in it
ran() { sed -n 's/^run //p' "$scratch/ledger-$1" | sort -u; }
onces() { cat "$scratch"/ledger-* | sed -n 's/^once //p' | sort | uniq -d; }
# begin_job CASE WORD...: two ranks on each of a and b, until some results are stored
begin_job() {
    name=$1
    shift
    : >"$scratch/ledger-$name"
    # shellcheck disable=SC2086 # words are meant to split
    timeout -k 5 100 "$moot" run $launcher --hosts a:2,b:2 --checkpoint "$store" \
        MOOT_CHECKPOINT_LEAST=0 "$@" "$restarted" 5 "$scratch/ledger-$name" $lasting \
        >"$lines" 2>&1 </dev/null &
    job=$!
    tries=0
    until [ "$(wc -l <"$scratch/ledger-$name")" -gt 60 ] || [ $tries -gt 1000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
}
# killed_whole CASE: all its ranks die
lasting=''
killed_whole() {
    lasting=lasting
    begin_job "$1"
    lasting=''
    # All processes of this name that are to be seen from here are of the test's own hosts.
    pgrep -x restarted | xargs kill -KILL
    wait $job
    check "$1" "no rank was killed" says 'signal 9|never opened|is lost'
}

# --- A folder on each host ----------------------------------------------------------------
disks
killed_whole killed
for host in a b; do
    check killed "a record on $host is damaged" whole "$scratch/disk-$host"
done
records "$scratch/disk-a" "$scratch/disk-b" >"$scratch/before"
check killed "nothing is stored" [ -s "$scratch/before" ]
cp -a "$scratch/disk-a" "$scratch/saved-a"
cp -a "$scratch/disk-b" "$scratch/saved-b"

again both a:2,b:2
check both "nothing is found" [ "$found" -gt 0 ]

# Results that only b has are made anew on a, and with those that vary all that was made of them.
again fewer a:2
check fewer "nothing is found" [ "$found" -gt 0 ]
check fewer "nothing of b runs again" [ -n "$(ran fewer | comm -12 - "$scratch/before")" ]

# --- Folders that are put together --------------------------------------------------------
rm -rf "$scratch/disk-a"/* "$scratch/disk-b"/* "$scratch"/ledger-fewer
cp -a "$scratch/saved-a"/. "$scratch/saved-b"/. "$scratch/disk-c"
check together "a record is damaged" whole "$scratch/disk-c"
records "$scratch/disk-c" >"$scratch/together"
check together "a record is lost" cmp -s "$scratch/before" "$scratch/together"
rm "$scratch/ledger-both"
again together c:3
check together "what was stored ran again" [ -z "$(ran together | comm -12 - "$scratch/before")" ]
check together "a once task started twice" [ -z "$(onces)" ]
"$moot" checkpoint prune "$scratch/disk-c" >"$scratch/pruned" 2>&1
check together "it is not pruned" [ $? -eq 0 ]
cp -a "$scratch/disk-c"/. "$scratch/disk-a"
cp -a "$scratch/disk-c"/. "$scratch/disk-b"
again spread b:1,a:2
check spread "$(ran spread | wc -l) tasks ran that were stored" \
    [ -z "$(ran spread | comm -12 - "$scratch/together")" ]
check spread "a once task started twice" [ -z "$(onces)" ]

# --- Snapshots ------------------------------------------------------------------------------
start snapshot a:1,b:1 "$build/tests/mpi/snapshots" 6
check snapshot "folders of two hosts make one snapshot" says 'all ranks need one folder'

# --- One folder ---------------------------------------------------------------------------
for host in a b c; do
    on $host umount "$store"
done
rm -f "$scratch"/ledger-*
killed_whole shared-killed
records "$store" >"$scratch/before"
check shared-killed "a record is damaged" whole "$store"
again shared b:3,a:1
check shared "what was stored ran again" [ -z "$(ran shared | comm -12 - "$scratch/before")" ]
check shared "a once task started twice" [ -z "$(onces)" ]

# A host goes while the other lives: what it has stored is found by those who go on.  None of
# its ranks has closed by then, be they slow or not.
rm -rf "$store" "$scratch"/ledger-*
lasting=$scratch/gone
begin_job survived MOOT_SUSPECT=1s
lasting=''
host_kill b
: >"$scratch/gone"
records "$store" >"$scratch/before"
wait $job
got=$?
check survived "its status is $got, not 0" [ "$got" -eq 0 ]
check survived "a value is wrong" no says WRONG
check survived "the lost host is not named" says 'host b'
check survived "what b had stored ran again" \
    [ -z "$(sed -n 's/^run //p' "$scratch/ledger-survived" | sort | uniq -d | comm -12 - "$scratch/before")" ]
check survived "a once task started twice" [ -z "$(onces)" ]
check survived "no host comes back here: $(tail -n 1 "$scratch/hosts/b.log")" host_again b

rm -rf "$store"
mkdir "$store"
start snapshots-shared a:2,b:2 "$build/tests/mpi/snapshots" 15 "$scratch/ledger"
check snapshots-shared "its status is $got, not 0" [ "$got" -eq 0 ]
check snapshots-shared "a snapshot is wrong" \
    "$build/tests/mpi/snapshots" --check "$store" "$scratch/ledger" >"$scratch/checked"
check snapshots-shared "there are none" grep -qE '^[1-9][0-9]* whole, 0 wrong$' "$scratch/checked"

# A job that begins beside another one, on another host, is refused.
rm -f "$scratch/enough"
knobs="--checkpoint $store" hosts='--hosts a:1,b:1' ranks=2
begin '' "$build/tests/mpi/steady" 100000000 until "$scratch/enough"
lines=$scratch/beside evidence=$scratch/beside
# shellcheck disable=SC2086 # words are meant to split
start beside c:1 $tsp
check beside "it is not refused" says 'a process of another container, of another job, uses it'
: >"$scratch/enough"
end_with judge_whole "the job beside which another one begins"

clean hosts
check_end
