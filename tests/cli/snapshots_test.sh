#!/bin/sh
# snapshots_test.sh [KILLS] - named snapshots of all ranks: each that exists is whole and
# consistent, whoever dies and when.
#
# Ranks die at the points checkpoint.cut and checkpoint.commit, the coordinator among
# them; then all die, KILLS times (3), at moments that are drawn.  Ranks leave and join
# while others make snapshots, and the process of one that has left lives on.  `snapshots
# --check` reads each folder.  Finds the build in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
kills=${1:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
store=$scratch/c
program=$build/tests/mpi/snapshots

# start WHAT FAULTS ROUNDS: a job of four ranks with the folder; its status is $code
start() {
    set -- "$@" ${2:+--faults "$2"}
    rounds=$3
    shift 3
    timeout -k 5 120 "$build/moot" run -n 4 --checkpoint "$store" "$@" \
        MOOT_CHECKPOINT_LEAST=0 "$program" "$rounds" "$scratch/ledger" \
        >"$evidence" 2>&1 </dev/null
    code=$?
}
begin() { rm -rf "$store" "$scratch/ledger"; }

# look WHAT LEAST: at least so many snapshots are there, and none is wrong
look() {
    check "$1" "a snapshot is wrong" "$program" --check "$store" "$scratch/ledger" \
        >"$scratch/checked"
    whole=$(sed -n 's/ whole, .*//p' "$scratch/checked")
    cp "$scratch/checked" "$evidence"
    check "$1" "${whole:-no} whole snapshots, not $2 or more" [ "${whole:-0}" -ge "$2" ]
}

begin
start "no death" "" 15
check "no death" "status $code" [ $code -eq 0 ]
check "no death" "the summary does not tell of them" says '^  snapshots +[0-9]+ made \([0-9.]+ ms each\)$'
look "no death" 5
"$build/moot" checkpoint verify "$store" >"$evidence" 2>&1
check verify "status $?" [ $? -eq 0 ]
check verify "a snapshot is not named" says '^snapshot [0-9a-f]{32} round-14: whole$'
"$build/moot" checkpoint prune "$store" >"$evidence" 2>&1
check prune "snapshots do not stay" says 'snapshots, with what they name, stay$'
look prune 5
"$build/moot" checkpoint verify "$store" >"$evidence" 2>&1
check "verify after prune" "records are missing" says ' 0 damaged$'

# Damaged records are in no snapshot, and it says so.
begin
start "flips" "disk.flip:0.2" 15
check "flips" "nobody tells what is left out" \
    says 'a snapshot is made without [0-9]+ stored results?, '
"$build/moot" checkpoint ls "$store" >"$evidence" 2>/dev/null
check "flips" "ls does not tell" says '  whole, without [0-9]+ that could not be read  round-'

for plan in 'kill:r1@checkpoint.cut#2' 'kill:r0@checkpoint.cut#2' 'kill:r0@checkpoint.commit' \
    'kill:r3@checkpoint.cut,kill:r0@checkpoint.commit#2'; do
    begin
    start "$plan" "$plan" 15
    check "$plan" "the rule never struck" says 'fired once'
    check "$plan" "survivors do not go on" says ' (go|goes) on in view '
    check "$plan" "they do not end well: status $code" says '^moot: 4 ranks, '
    look "$plan" 3
done

# --- Kills of all, at any moment -----------------------------------------------------------
number=0
begin
while [ $number -lt "$kills" ]; do
    number=$((number + 1))
    start "kill $number" "seed:$number,kill:all@$((50 + number * 7919 % 400))ms" 15
    look "kill $number" 0
    [ $((number % 5)) -ne 0 ] || begin
done
start "after all kills" "" 15
check "after all kills" "status $code" [ $code -eq 0 ]
look "after all kills" 5

# --- Ranks that leave and join -------------------------------------------------------------
# changing WHAT WORDS PLAN...: a job of four ranks that change so; then one of two finds all.
# The processes of those who have left live until all results are there.
changing() {
    what=$1 words=$2
    shift 2
    begin
    rm -f "$scratch/enough"
    : >"$scratch/ledger"
    # shellcheck disable=SC2086 # words are meant to split
    SNAPSHOTS_ENOUGH="$scratch/enough" timeout -k 5 120 "$build/moot" run -n 4 \
        --launcher local $words --checkpoint "$store" MOOT_CHECKPOINT_LEAST=0 "$program" 15 \
        "$scratch/ledger" "$@" >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    until [ "$(wc -l <"$scratch/ledger")" -ge 74 ] || [ $tries -gt 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    sleep 0.3
    : >"$scratch/enough"
    wait $job
    code=$?
    check "$what" "status $code" [ $code -eq 0 ]
    check "$what" "nobody has left" says '^  left +[12] rank'
    check "$what" "a record is taken for damaged" no says damaged
    [ -z "$words" ] || check "$what" "none has joined" says ' joins in view '
    look "$what" 3
    "$build/moot" run -n 2 --checkpoint "$store" MOOT_CHECKPOINT_LEAST=0 "$program" 15 \
        >"$evidence" 2>&1 </dev/null
    check "$what, and again" "not all is found" says '^  checkpoint +75 found .*, 0 stored'
}
changing "ranks that leave" "" a_3-@4 a_0-@9
changing "who makes the snapshots leaves" "" a_0-@2 a_1-@4
changing "ranks that join, and leave" "--max 6" a_1+2@2 a_1~2@6 a_0-@4 b_0-@9

# --- Containers ----------------------------------------------------------------------------
# Each rank is process 1 of a container of one name.  The first process of a container
# outlives a SIGKILL of its own: others remove rank 2, which still has its results, and
# the job does not end before it is ended.
if unshare -p -f --mount-proc true 2>/dev/null; then
    begin
    timeout -k 5 120 "$build/moot" run --launcher "$build/examples/launcher_exec.so" \
        --hosts a:1,b:1,c:1 --checkpoint "$store" --faults 'kill:r2@checkpoint.cut#2' \
        MOOT_CHECKPOINT_LEAST=0 unshare -p -f --mount-proc --kill-child "$program" 15 \
        "$scratch/ledger" >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    until says 'another container writes there' || ! kill -0 $job 2>/dev/null ||
        [ $tries -gt 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -TERM $job 2>/dev/null
    wait $job
    check containers "the rule never struck" says "view 2|another container writes there"
    look containers 1
fi

check_end
