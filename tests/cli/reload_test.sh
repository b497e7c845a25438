#!/bin/sh
# reload_test.sh [KILLS] - all ranks go back to a snapshot, whoever dies on the way; and
# what a job finds that is started after.
#
# Ranks die at each step of it (checkpoint.reload), who writes the mark among them; one
# comes when the others have gone back; then all die, KILLS times (3), at moments that are
# drawn.  `going_back` sees results that are
# put together from two runs.  Finds the build in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
kills=${1:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
store=$scratch/c
rounds=24
more= # words for moot run

# start RANKS FAULTS [again | TIMES | grows]: a job with the folder; its status is $code
start() {
    ranks=$1
    faults=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    timeout -k 5 120 "$build/moot" run -n "$ranks" $more --checkpoint "$store" \
        ${faults:+--faults "$faults"} MOOT_CHECKPOINT_LEAST=0 \
        "$build/tests/mpi/going_back" "$rounds" "$@" >"$evidence" 2>&1 </dev/null
    code=$?
}
begin() { rm -rf "$store"; }

# ends WHAT COUNT: so many ranks end, with one value, which is $value
ends() {
    value=$(sed -n 's/^end //p' "$evidence" | sort -u)
    check "$1" "not $2 ranks end" [ "$(grep -c '^end ' "$evidence")" -eq "$2" ]
    check "$1" "they end with several values" [ "$(echo "$value" | wc -l)" -eq 1 ]
}

# start_again WHAT [VALUE]: a job of two ranks finds all, and has the value
start_again() {
    start 2 "" again
    check "$1, and again" "status $code" [ $code -eq 0 ]
    ends "$1, and again" 2
    check "$1, and again" "the value is another, $value" [ "$value" = "${2:-$value}" ]
    check "$1, and again" "tasks ran again" says "^ *checkpoint +$rounds found "
}

begin
start 4 ""
check "no death" "status $code" [ $code -eq 0 ]
ends "no death" 4
start_again "no death" "$value"
# The first run's chain is undone behind the snapshot.
undone=$((rounds - rounds / 2 - 1))
"$build/moot" checkpoint ls "$store" >"$evidence"
check "ls" "not $undone records are undone" \
    [ "$(grep -c '  result    OK, undone  ' "$evidence")" -eq $undone ]
"$build/moot" checkpoint export "$store" >"$evidence"
check "export" "not $undone records are undone" \
    [ "$(grep -c '"undone": true' "$evidence")" -eq $undone ]
"$build/moot" checkpoint show "$store" >"$evidence"
check "show" "not $undone records are undone" says "; $undone of them are undone by a reload\$"
"$build/moot" checkpoint ls "$store" | sed -n 's/  .*OK, undone.*//p' | head -n 1 >"$scratch/hash"
"$build/moot" checkpoint show "$store" "$(cat "$scratch/hash")" >"$evidence"
check "show HASH" "it is not told as undone" says '^status +OK, undone by a reload$'
check "show HASH" "the one that counts is told as undone" says '^status +OK$'
# refuses WHAT: a job does not begin from the folder, and verify says why
refuses() {
    "$build/moot" checkpoint verify "$store" >"$evidence" 2>&1
    code=$?
    check "$1, verify" "status $code" [ $code -eq 1 ]
    check "$1, verify" "it does not name the reload" says '^reloads: the '
    start 2 "" again
    check "$1" "a job begins all the same" [ $code -ne 0 ]
    check "$1" "it does not say why" says 'last reload'
}

"$build/moot" checkpoint verify "$store" >"$evidence" 2>&1
check "verify" "the reload is not told" says '^reloads: .* went back to snapshot .*: whole$'
mkdir "$scratch/away"
mv "$store"/*-*-* "$scratch/away"
"$build/moot" checkpoint verify "$store" >"$evidence" 2>&1
check "verify without records" "they are not missed" \
    says '^reloads: .*: whole, but [0-9]+ of its records are missing$'
mv "$scratch/away"/* "$store"
mark=$(echo "$store"/reloads/*)
cp "$mark" "$scratch/mark"
: >"$mark"
refuses "an empty mark"
rm -r "$store/reloads"
: >"$store/reloads"
refuses "no folder of marks"
rm "$store/reloads"
mkdir "$store/reloads"
cp "$scratch/mark" "$mark"
rm -r "$store/snapshots"
refuses "no snapshot"

for plan in 'kill:r1@checkpoint.reload' 'kill:r0@checkpoint.reload' \
    'kill:r0@checkpoint.reload#2' 'kill:r0@checkpoint.reload#3' \
    'kill:r3@checkpoint.reload#2' 'kill:r0@checkpoint.reload#2,kill:r1@checkpoint.reload#2'; do
    begin
    start 4 "$plan"
    check "$plan" "the rule never struck" says 'fired once'
    check "$plan" "the death is told as another" says 'in moot_checkpoint_reload, on host'
    dead=$(echo "$plan" | tr ',' '\n' | wc -l)
    ends "$plan" $((4 - dead))
    kept=$value
    start 2 "" again
    check "$plan, and again" "status $code" [ $code -eq 0 ]
    ends "$plan, and again" 2
    check "$plan, and again" "the value is another, $value" [ "$value" = "$kept" ]
done

# All of the next job stand on the same side of the mark, whoever has it by then.
for plan in 'kill:all@checkpoint.reload' 'kill:all@checkpoint.reload#2'; do
    begin
    start 4 "$plan"
    check "$plan" "the rule never struck" says 'fired'
    start 3 "" again
    check "$plan, and again" "status $code" [ $code -eq 0 ]
    ends "$plan, and again" 3
    start_again "$plan, a third time" "$value"
done

# --- A newcomer -----------------------------------------------------------------------------
# The newcomer has opened the folder when the others go back, and is let in behind that: what it stores
# counts as theirs does.
begin
more="--launcher local --joins session --max 3"
start 2 "" grows
more=
check "a newcomer" "status $code" [ $code -eq 0 ]
ends "a newcomer" 3
check "a newcomer" "its task did not run there" says '^ *tasks run .*, by rank: .* 1$'
"$build/moot" checkpoint ls "$store" >"$evidence"
check "a newcomer" "not $undone records are undone" \
    [ "$(grep -c '  result    OK, undone  ' "$evidence")" -eq $undone ]

# --- No descriptors -------------------------------------------------------------------------
# A rank that may open no more files says so, and what was stored is there.
begin
# shellcheck disable=SC3045 # dash and bash have it
files=$(ulimit -S -n) && ulimit -S -n 64
start 2 "" 60
# shellcheck disable=SC3045
ulimit -S -n "$files"
check "no descriptors" "status $code" [ $code -ne 0 ]
check "no descriptors" "it hangs" [ $code -ne 124 ]
check "no descriptors" "the cause is not told" \
    says "reload: .*: this process has too many files open; raise .ulimit -n."
start_again "no descriptors"

# --- Kills of all, at any moment -----------------------------------------------------------
number=0
begin
while [ $number -lt "$kills" ]; do
    number=$((number + 1))
    start 4 "seed:$number,kill:all@$((20 + number * 7919 % 200))ms"
    start 3 "" again
    check "kill $number, and again" "status $code" [ $code -eq 0 ]
    ends "kill $number, and again" 3
    [ $((number % 4)) -ne 0 ] || begin
done

check_end
