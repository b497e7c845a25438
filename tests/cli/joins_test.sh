#!/bin/sh
# joins_test.sh - jobs whose ranks are let in between sessions alone (moot run --joins session):
# a solver has the same bits as when they come at once, certificates of death count and tasks
# are forgotten as in a job that nobody joins, and newcomers that die as they wait, or wait in
# vain, harm nobody.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE MOOT_JOINS
export TMPDIR="$scratch"
export MOOT_STATE="$scratch/doors"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
jacobi=$build/examples/jacobi
growing=$build/tests/mpi/growing
# Under a name of this test's own: others may run that program, too, and processes are found by
# their names.
asked=$scratch/asked
ln -s "$build/tests/mpi/asked" "$asked"

# run NAME STATUS WORD...: moot run with these words, to its end
run() {
    name=$1 wanted=$2
    shift 2
    timeout -k 5 120 "$build/moot" run --launcher local "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code, not $wanted" [ $code = "$wanted" ]
}
# solved SESSIONS: all have the same bits as the plain loop, and these are the sessions
solved() {
    check "$name" "a rank has other bits" no says WRONG
    check "$name" "no rank has compared" says ': right$'
    check "$name" "the sessions are others: $(grep '^session' "$evidence" | tr '\n' ' ')" \
        [ "$(grep '^session' "$evidence" | tr '\n' ' ')" = "$1" ]
}
# figure NAME COLUMN: of the summary
figure() { awk -v name="$1" -v column="$2" '$1 == name { print $column + 0 }' "$evidence"; }

# --- A solver -----------------------------------------------------------------------------
grows='session 2: 6 ranks (joined) session 3: 5 ranks (left) session 4: 3 ranks (left) session 5: 3 ranks (unchanged) session 6: 3 ranks (unchanged) '
run "grows and shrinks" 0 -n 2 --max 6 --joins session "$jacobi" 240 40 +4@1 -a_1@2 -b_0@3 -b_2@3
solved "$grows"
check "$name" "they have not come together" \
    [ "$(sed -n 's/.* joins in view //p' "$evidence" | sort | uniq -c | awk '{ print $1 }')" = 4 ]
MOOT_RINGS=off run "grows and shrinks by the knob, over tcp" 0 -n 2 --max 6 MOOT_JOINS=session \
    "$jacobi" 240 40 +4@1 -a_1@2 -b_0@3 -b_2@3
solved "$grows"
MOOT_DIRECT_MAX=2 run "among many" 0 -n 3 --max 6 --joins session "$jacobi" 120 40 +2@1
check "$name" "a rank has other bits" no says WRONG
run "one comes for one that goes" 0 -n 3 --max 3 --joins session "$jacobi" 120 40 -a_1@1 +1@2
solved 'session 2: 2 ranks (left) session 3: 3 ranks (joined) '
MOOT_FAULTS='seed:3,drop:0.02,dup:0.02,delay:2ms+-2ms' run "frames are lost, doubled and late" 0 \
    -n 3 --max 5 --joins session "$jacobi" 120 40 +2@1
check "$name" "a rank has other bits" no says WRONG

# --- What a job that nobody joins has, too ------------------------------------------------
run "of two the lowest dies" 0 -n 2 --max 4 --joins session --faults 'kill:r0@task.start#20' \
    "$growing" "$scratch/ledger" 8
check "$name" "it has not died" says '^  rank 0 died'
run "tasks are forgotten" 0 -n 2 --max 3 --joins session MOOT_WINDOW=256 "$jacobi" 600 200 +1@1
check "$name" "a rank has other bits" no says WRONG
check "$name" "what a newcomer spawns again was all there still: $(figure tasks 3) ran" \
    [ "$(figure tasks 3)" -gt 7212 ]

# --- Deaths -------------------------------------------------------------------------------
# The newcomers are 2 and 3.  Who is killed where all meet is let in or not, and the others
# begin the next session.
for rule in kill:r0@view.propose#1 kill:r1@view.enter#1 kill:r0@view.enter#1 kill:r2@task.start#1 \
    kill:r3@result.sent#1; do
    run "killed by $rule" 0 -n 2 --max 4 --joins session --faults "$rule" "$jacobi" 120 40 +2@1
    check "$name" "it has not died" says '^  rank [0-3] died'
    check "$name" "a rank has other bits" no says WRONG
    check "$name" "no third session" says '^session 3: '
done

# asks PATTERN COUNT WORD...: a job that has said so often where it is, with one more that waits
asks() {
    pattern=$1 count=$2
    shift 2
    timeout -k 5 120 "$build/moot" run --launcher local -n 2 --max 4 --joins session \
        "$@" >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    until [ "$(grep -c "$pattern" "$evidence")" -ge "$count" ] || [ $tries -gt 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    timeout -k 5 40 "$build/moot" grow 1 >"$scratch/told" 2>&1
    check "$name" "moot grow: $(cat "$scratch/told")" \
        grep -q '^started: b_0 as rank 2; let in when all ranks end their session$' "$scratch/told"
}
# ends STATUS
ends() {
    wait "$job"
    code=$?
    job=
    check "$name" "its status is $code, not $1" [ $code = "$1" ]
}
name="asked for from outside, between sessions"
asks 'session 2' 1 "$jacobi" 20000 200
ends 0
check "$name" "a rank has other bits" no says WRONG
check "$name" "it has not come" says '^moot: rank 2 \(b_0\) joins in view 2$'
name="asked for from outside, and there is no next session"
asks 'past phase 0' 2 "$asked" 100 0
ends 0
check "$name" "it has come" no says ' joins in view'
check "$name" "it is not told that all is over" \
    says '^  rank 2 did not join: all other ranks closed or ended before they had let rank 2 in$'
# Each that waits learns that nobody comes any more by the ends of the others, which have to be
# quick: they took two seconds each.
begun=$(date +%s)
run "many wait as all end" 0 -n 2 --max 22 --joins session "$growing" "$scratch/many" 8 a_0+20@1
check "$name" "not all 20 are told that all is over" \
    [ "$(grep -c '^  rank [0-9]* did not join: all other ranks closed or ended' "$evidence")" = 20 ]
check "$name" "they wait for each other" [ $(($(date +%s) - begun)) -lt 30 ]
name="killed as it waits"
asks 'past phase 0' 2 "$asked" 100 0
tries=0
until newcomer=$(pgrep -n -f "^$asked 100 0") && [ $tries -gt 10 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
kill -9 "$newcomer"
ends 0
check "$name" "a row does not say so" says '^  rank 2 did not join'

# --- What is refused ----------------------------------------------------------------------
refuse() {
    pattern=$2
    run "$1" 2 "$3" "$4" "$5" "$6" "$7" "$jacobi" 40
    check "$name" "it is not said" says "$pattern"
}
refuse "no such way" "^moot run: --joins is 'never', but may be live or session" \
    -n 2 --max 4 --joins=never
refuse "without --max" '^moot run: --joins session says when ranks join: it takes --max' \
    -n 2 --verbose --label --joins=session
refuse "two words" '^moot run: --joins session and MOOT_JOINS=live are not the same' \
    -n 2 --max=4 --joins=session MOOT_JOINS=live
refuse "strict, and at once" '^moot run: --max 4: with MOOT_DIVERGENCE=strict .*: add --joins session$' \
    -n 2 --max=4 --joins=live MOOT_DIVERGENCE=strict

# --- Strict mode ----------------------------------------------------------------------------
# In each session all spawn the same: so nobody differs from who has come for it, but where it
# does.
alike=$build/tests/mpi/alike
strict() {
    name=$1 wanted=$2
    shift 2
    run "$name" "$wanted" -n 3 --max 6 --joins session "$@"
    check "$name" "a sum is wrong" no says WRONG
}
strict "strict, and all are alike" 0 MOOT_DIVERGENCE=strict "$alike" 4 2
check "$name" "they have not come, or did not go on" \
    [ "$(grep -c 'session 4 of 5 ranks: right$' "$evidence")" = 5 ]
MOOT_DIRECT_MAX=2 strict "strict, among many" 0 MOOT_DIVERGENCE=strict "$alike" 4 2
check "$name" "they have not come, or did not go on" \
    [ "$(grep -c 'session 4 of 5 ranks: right$' "$evidence")" = 5 ]
strict "strict, and one differs" 1 MOOT_DIVERGENCE=strict "$alike" 4 2 differs
check "$name" "it is not shown where" says '^The first difference is spawn number 81 of lane 0'
check "$name" "it is not said who" says '^  ranks 0-2 *| rank.* [34]'
check "$name" "a rank ends well" \
    [ "$(grep -cE '^moot: rank [0-4] (failed: |did not close its moot; )' "$evidence")" = 5 ]
# Results of rank 1 for the session before are made again, also where a newcomer is its chair.
for rule in kill:r1@view.enter#1 kill:r1@task.start#20; do
    strict "strict, and $rule" 0 --faults "$rule" MOOT_DIVERGENCE=strict "$alike" 4 3
    check "$name" "it has not died" says '^  rank 1 died'
    check "$name" "the others do not go on" \
        [ "$(grep -c 'session 4 of [56] ranks: right$' "$evidence")" = 5 ]
done
check_end
