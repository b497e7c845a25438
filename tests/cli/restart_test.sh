#!/bin/sh
# restart_test.sh [KILLS] - programs that are killed whole, and started again with a
# checkpoint until they end: right, and nothing that was stored runs again.
#
# A row is a program, started again and again with one folder, on other numbers of ranks.
# At a drawn moment all ranks get SIGKILL from outside, or half of them; the last start is
# left alone.  `restarted` writes into a ledger what runs: before each start the folder is
# asked of which tasks it has results, and none of these may be in that start's ledger;
# no once task may be in two.  Of what ran in a start whose ranks were all killed, the folder
# lacks no more than ran in that moment and was on its way to the disk, which `restarted`
# bounds by a number of results; be it that results are stored as they finish, or by
# intervals.  The other programs have oracles of their own; of what they
# stored nothing may be there twice after all their ranks were killed.  After each kill all
# that the folder has must be whole.
#
# Without an argument about 12 kills, at other moments each time, which a failure says;
# `restart_test.sh 200` has as many as that.  What was struck, and done again, is told.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
kills=${1:-12}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MOOT_STALL=20s OMPI_MCA_mpi_yield_when_idle=1
restarted=$build/tests/mpi/restarted store=$scratch/store
struck=0 redone=0 records=0 lost=0 most=0
export RESTARTED_BEHIND=8 # of `restarted`
behind=$RESTARTED_BEHIND
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/out

random=$$
# draw N: a number below N, as $drawn
draw() {
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 65536 % $1))
}

# leaves PID: the processes at the ends of its tree
leaves() {
    below=$(pgrep -P "$1")
    [ -n "$below" ] || echo "$1"
    for child in $below; do
        leaves "$child"
    done
}

# start RANKS [SETTING] COMMAND: a job with the folder, to its end; its status is $code
start() {
    ranks=$1
    shift
    # shellcheck disable=SC2048,SC2086 # a command's words are meant to split
    timeout -k 5 120 "$build/moot" run -n "$ranks" --checkpoint "$store" \
        MOOT_CHECKPOINT_LEAST=0 $* >"$scratch/out" 2>&1 </dev/null
    code=$?
    return $code
}

# kill_ranks JOB EVERY: each EVERY-th rank
kill_ranks() {
    number=0 hit=0
    for rank in $(leaves "$1"); do
        number=$((number + 1))
        if [ "$rank" != "$1" ] && [ $((number % $2)) -eq 0 ]; then
            kill -9 "$rank" 2>/dev/null && hit=1
        fi
    done
    struck=$((struck + hit))
}

# start_and_kill MS EVERY RANKS COMMAND: a job of which ranks are killed after so long
start_and_kill() {
    after=$1 every=$2
    shift 2
    start "$@" &
    job=$!
    sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
    kill_ranks $job "$every"
    wait $job
    code=$?
}

# draw_start: how the next job is, as $ranks, $moment, $every
draw_start() {
    draw 4
    ranks=$((drawn + 1))
    draw 900
    moment=$((drawn + 300))
    draw 3
    every=1
    [ "$drawn" -gt 0 ] || [ "$ranks" -eq 1 ] || every=2
}

# Whether all that the folder has is whole; how much that is, as $whole.
is_whole() {
    [ -e "$store/lock" ] || return 0
    "$build/moot" checkpoint verify "$store" >"$scratch/out" 2>&1 || return 1
    whole=$(sed -n 's/.*: \([0-9]*\) records of .* are good, 0 damaged$/\1/p' "$scratch/out")
}
# Whether nothing was stored again that was there.
none_twice() {
    [ -e "$store/lock" ] || return 0
    "$build/moot" checkpoint prune --dry-run "$store" >"$scratch/out" 2>&1 &&
        ! grep -q 'there twice' "$scratch/out"
}
ended_well() { [ "$code" -eq 0 ]; }
once_each() { [ -z "$(sed -n 's/^once //p' "$scratch/ledgers" | sort | uniq -d)" ]; }
# Records that the folder had before the start are not in its ledger.
nothing_twice() {
    sed -n 's/^run //p' "$scratch/ledger" | sort >"$scratch/ran"
    sort "$scratch/stored" | comm -12 - "$scratch/ran" >"$scratch/twice"
    [ ! -s "$scratch/twice" ]
}

# Results of this start that are not stored: no more than each rank had on its way, and ran.
little_lost() {
    sed -n 's/^run //p' "$scratch/ledger" | sort -u >"$scratch/ran"
    {
        sed -n 's/^parent //p' "$scratch/ledger" # whose results are not stored
        "$restarted" --stored "$store" <"$scratch/ran"
    } | sort -u >"$scratch/safe"
    comm -23 "$scratch/ran" "$scratch/safe" >"$scratch/lost"
    lost=$(wc -l <"$scratch/lost")
    most=$((lost > most ? lost : most))
    [ "$lost" -le $((ranks * (behind + 1))) ]
}

# ask_store: of which tasks that ran it has results
ask_store() {
    : >"$scratch/stored"
    [ ! -d "$store" ] || sed -n 's/^run //p' "$scratch/ledgers" | sort -u |
        "$restarted" --stored "$store" >"$scratch/stored"
}

# restart SEED TIMES [SETTING]: `restarted`, killed so often
restart() {
    command="${3-} $restarted $1 $scratch/ledger"
    rm -rf "$store"
    : >"$scratch/ledgers"
    time=0
    while [ "$time" -le "$2" ]; do
        : >"$scratch/ledger"
        ask_store
        draw_start
        # One rank alone looks at the interval between its kernels, which wait here.
        [ -z "${3-}" ] || [ "$ranks" -gt 1 ] || ranks=2
        name="restarted $1, start $time, $ranks ranks"
        if [ "$time" -lt "$2" ]; then
            name="$name, each $every killed after $moment ms"
            start_and_kill "$moment" $every "$ranks" "$command"
        else
            start "$ranks" "$command"
        fi
        check "$name" "a value is wrong" no says WRONG
        check "$name" "what was stored ran again" nothing_twice
        if [ "$time" -lt "$2" ] && [ "$every" -eq 1 ] && [ -e "$store/lock" ]; then
            check "$name" "too many results were lost" little_lost
        fi
        check "$name" "a record is damaged" is_whole
        cat "$scratch/ledger" >>"$scratch/ledgers"
        time=$((time + 1))
    done
    check "$name" "it does not end well" ended_well
    check "$name" "a once task started twice" once_each
    sed -n 's/^run //p' "$scratch/ledgers" | sort >"$scratch/ran"
    records=$((records + whole))
    redone=$((redone + $(wc -l <"$scratch/ran") - $(sort -u "$scratch/ran" | wc -l)))
}

# example COMMAND SLOW TIMES: a program with an oracle of its own, whose kernels take longer
# by so much in jobs that are killed
example() {
    rm -rf "$store"
    time=0 halves=0
    while [ "$time" -lt "$3" ]; do
        draw_start
        [ $every -eq 1 ] || halves=1
        name="$1, start $time, $ranks ranks, each $every killed after $moment ms"
        start_and_kill "$moment" $every "$ranks" "MOOT_FAULTS=slow:$2 $1"
        check "$name" "it does not begin" [ "$code" -ne 2 ]
        check "$name" "a record is damaged" is_whole
        [ $halves -eq 1 ] || check "$name" "what was stored ran again" none_twice
        time=$((time + 1))
        if [ "$code" -eq 0 ] || [ "$code" -eq 3 ]; then # it has ended: all of it once more
            records=$((records + whole))
            rm -rf "$store"
            halves=0
        fi
    done
    name="$1, after $3 kills, $ranks ranks"
    start "$ranks" "$1"
    check "$name" "it does not end well" ended_well
}

# --- What is said --------------------------------------------------------------------

start 2 cholesky 6 64
check "cholesky" "it does not end well" ended_well
check "cholesky" "it does not say what it stored" says '^  checkpoint     0 found, [1-9][0-9]* stored'
start 3 cholesky 6 64
check "cholesky again" "it does not end well" ended_well
check "cholesky again" "it does not say what it found" says '^  checkpoint     [1-9][0-9]* found \('
start 2 MOOT_CHECKPOINT_WHEN=never cholesky 6 64
check "a wrong policy" "it is not refused" says 'MOOT_CHECKPOINT_WHEN is .never., but may be'
check "a wrong policy" "ranks were started" [ "$code" -eq 2 ]
"$build/moot" run -n 2 MOOT_CHECKPOINT_WHEN=5s cholesky 2 8 >"$scratch/out" 2>&1
check "a policy without a folder" "it is not said" says 'MOOT_CHECKPOINT_WHEN=5s has no effect'

# A process of an earlier job lives on: the next one does not begin beside it.
"$build/moot" run -n 1 --checkpoint "$store" --faults slow:30s MOOT_CHECKPOINT_LEAST=0 \
    cholesky 2 8 >"$scratch/out" 2>&1 &
job=$!
for _ in $(seq 200); do
    rank=$(leaves $job)
    [ "$rank" = $job ] || [ ! -e "/proc/$rank/fd" ] ||
        ! find "/proc/$rank/fd" -lname "$store/lock" 2>/dev/null | grep -q . || break
    sleep 0.1
done
start 1 cholesky 2 8
check "beside an earlier job" "it is not refused" [ "$code" -ne 0 ]
check "beside an earlier job" "its process is not named" says "process $rank, of another job.*kill $rank"
kill -9 "$rank"
wait $job
start 1 cholesky 2 8
check "after an earlier job" "it does not end well" ended_well

: >"$scratch/file"
"$build/moot" run -n 1 --checkpoint "$scratch/file" cholesky 2 8 >"$scratch/out" 2>&1
check "a file" "it is taken for a folder" says 'MOOT_CHECKPOINT=.*Not a directory; name another'
"$build/moot" run -n 1 --checkpoint "$scratch/no/folder" cholesky 2 8 >"$scratch/out" 2>&1
check "a folder in none" "not what helps" \
    says 'MOOT_CHECKPOINT=.*/no/folder: No such file or directory; make the folder above it'

# Rank 1 dies as it is about to store its 20th result; the others find what it has stored.
# Its kernels take long enough for the disk to keep up.
rm -rf "$store"
timeout -k 5 120 "$build/moot" run -n 3 --faults 'slow:20ms/r1,kill:r1@checkpoint.write#20' \
    --checkpoint "$store" MOOT_CHECKPOINT_LEAST=0 cholesky 10 64 >"$scratch/out" 2>&1
code=$?
check "a death at checkpoint.write" "it does not end well" ended_well
check "a death at checkpoint.write" "the rule never struck" says 'fired once'
check "a death at checkpoint.write" "what it had stored is not found" \
    says '^  checkpoint     [1-9][0-9]* found'

# The report says what did not run.
"$build/moot" run -n 2 --checkpoint "$store" --trace "$scratch/trace" MOOT_CHECKPOINT_LEAST=0 \
    cholesky 10 64 >"$scratch/out" 2>&1
"$build/moot" report "$scratch/trace" -o "$scratch/page" >"$scratch/out" 2>&1
check "the report" "it counts nothing as found" grep -q '"found":[1-9]' "$scratch/page"

# --- Kills ---------------------------------------------------------------------------

each=$((kills / 5))
restart 1 $each
restart $((random % 1000 + 2)) $each MOOT_CHECKPOINT_WHEN=20ms
example "cholesky 10 160" 20ms $each
example "tsp deploy/examples/burma14.tsp" 10ms $each
example "tree 7 256" 20ms $each
echo "$struck kills struck a running job; of \`restarted\` $redone runs were done again, $most" \
    "at most after one kill, and $records records in all were whole"

check_end
