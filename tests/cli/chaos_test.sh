#!/bin/sh
# chaos_test.sh [FIRST LAST | --for TIME [FIRST] | CASE] - random programs under random faults:
# every error is legitimate.
#
# Without arguments 12 seeds, in half a minute.
# With --for new seeds for so long (90, 90s, 10m, 2h): `make chaos T=10m`.
#
# Each seed is a program of everything that users have, on 3 to 8 ranks, and a plan that kills or
# stops one rank or two: at points of the protocol, in close, in large transfers; or a rank without
# memory, a full /dev/shm, a signal from outside, a checkpoint whose disk is harmed
# (tests/mpi/hostile/chaos.h).  A run passes if it ends in time, no byte is wrong, and each error
# that a wait ended with is one that tests/mpi/hostile/errors.txt allows.  What fails is made as
# small as it gets (tests/cli/chaos_case.sh), and the line that repeats it printed.
#
# The document that is made from that table must be up to date, too.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

: "${BUILD:?}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case=tests/cli/chaos_case.sh
chaos=$BUILD/tests/mpi/chaos
deadline='' whole=''
[ $# -gt 0 ] || whole=1
if [ "${1-}" = --for ]; then
    case $2 in
    *h) seconds=$((${2%h} * 3600)) ;;
    *m) seconds=$((${2%m} * 60)) ;;
    *) seconds=${2%s} ;;
    esac
    now=$(date +%s)
    deadline=$((now + seconds))
    set -- "${3:-$now}" "$((${3:-$now} + seconds))" # a seed takes more than a second
    echo "seeds from $1 on, for $seconds s"
fi
cases=${1-}
[ $# -eq 1 ] || cases=$(seq "${1:-1}" "${2:-12}")
passed=0 failed=0 skipped=0 seen=0
# A table that allows nothing that happens: by it the judge must find something.
echo 'CYCLE | fails | never' >"$scratch/strict"
: >"$scratch/ends"

for word in $cases; do
    [ -z "$deadline" ] || [ "$(date +%s)" -lt "$deadline" ] || break
    sh $case run "$word" "$scratch" >"$scratch/out" 2>&1
    case $? in
    0)
        passed=$((passed + 1))
        cat "$scratch/judged" >>"$scratch/ends"
        "$chaos" --check "$scratch/ledger" "$word" "$scratch/strict" >/dev/null 2>&1 ||
            seen=$((seen + 1))
        ;;
    77)
        skipped=$((skipped + 1))
        cat "$scratch/out"
        ;;
    *)
        failed=$((failed + 1))
        cat "$scratch/out"
        sh $case shrink "$word" "${SHRINK_SECONDS:-60}"
        ;;
    esac
done
if [ "$passed" -ge 10 ] && [ "$seen" -eq 0 ]; then
    failed=$((failed + 1))
    echo "FAIL: no run has an error, so the table was never asked"
fi
awk '{ n[$NF] += $1 } END { for (end in n) print n[end], "ends with", end }' \
    "$scratch/ends" | sort -rn
if [ -n "$whole" ] &&
    ! python3 deploy/doc/rerun.py --check "$BUILD" deploy/doc/FAILURES.md >"$scratch/out" 2>&1; then
    failed=$((failed + 1))
    echo "FAIL: the table in deploy/doc/FAILURES.md; deploy/doc/rerun.py --quick writes it anew"
    sed 's/^/     /' "$scratch/out"
fi
# A program that is said to be wrong wherever it has groups: as small as it gets, that is all it has.
if [ -n "$whole" ]; then
    small=$(CHAOS_PLANT=groups sh $case shrink 13 60 | sed -n 's/^smallest: //p')
    [ "$small" = 13:ranks=3:tasks=5:only=groups ] || {
        failed=$((failed + 1))
        echo "FAIL: a case that fails wherever it has groups was made no smaller than '$small'"
    }
fi
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
