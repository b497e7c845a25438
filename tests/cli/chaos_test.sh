#!/bin/sh
# chaos_test.sh [FIRST LAST | --for TIME [FIRST]] - random programs under random faults: every
# error is legitimate.
#
# Without arguments 20 seeds, and some that have shown something, in half a minute.  With
# --for new seeds for so long (90, 90s, 10m, 2h): `make chaos T=10m`.
#
# Each seed is a program of all kinds of tasks and a plan that kills or stops one rank or two:
# at points of the protocol, in close, in large transfers (tests/mpi/chaos.c).  A run passes if
# it ends in time, no byte is wrong, and each error that a wait ended with is one that
# tests/mpi/hostile/errors.txt allows.  A failing run prints the line that repeats it.
#
# The document that is made from that table must be up to date, too.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MOOT_STALL=8s OMPI_MCA_mpi_yield_when_idle=1
deadline=''
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
seeds=$(seq "${1:-1}" "${2:-20}")
# A rank that stood still while the others ended well went on alone when it woke up: 64, 167.
# A rank that ran a task for another counted as past what stands before it: 2059.
[ $# -gt 0 ] || seeds="$seeds 64 167 2059"
passed=0 failed=0 seen=0
# A table that allows nothing that happens: by it the judge must find something.
echo 'CYCLE | fails | never' >"$scratch/strict"
: >"$scratch/ends"
chaos=$build/tests/mpi/chaos

fail() {
    failed=$((failed + 1))
    echo "FAIL $1; seed $seed, to repeat: BUILD=$BUILD sh tests/cli/chaos_test.sh $seed $seed"
    echo "     moot run $words $chaos LEDGER $seed"
    sed 's/^/     /' "$scratch/judged" "$scratch/out"
}

for seed in $seeds; do
    [ -z "$deadline" ] || [ "$(date +%s)" -lt "$deadline" ] || break
    ranks=$((3 + seed % 4))
    words=$("$chaos" --command "$seed" $ranks)
    rm -f "$scratch/ledger" "$scratch/judged"
    : >"$scratch/judged"
    # shellcheck disable=SC2086 # words are meant to split
    timeout -k 5 90 "$build/moot" run $words "$chaos" "$scratch/ledger" "$seed" \
        >"$scratch/out" 2>&1 </dev/null
    code=$?
    case $code in
    0 | 1 | 3) # 1: a rank that was removed ended so; 3: a fault found no occasion
        if "$chaos" --check "$scratch/ledger" "$seed" $ranks >"$scratch/judged" 2>&1; then
            passed=$((passed + 1))
            cat "$scratch/judged" >>"$scratch/ends"
            "$chaos" --check "$scratch/ledger" "$seed" $ranks "$scratch/strict" \
                >"$scratch/judged" 2>&1 || seen=$((seen + 1))
        else
            fail "what the ranks saw"
        fi
        ;;
    *) fail "exit status $code" ;;
    esac
done
if [ "$passed" -ge 10 ] && [ "$seen" -eq 0 ]; then
    failed=$((failed + 1))
    echo "FAIL: no run has an error, so the table was never asked"
fi
awk '{ n[$NF] += $1 } END { for (end in n) print n[end], "ends with", end }' \
    "$scratch/ends" | sort -rn
if [ $# -eq 0 ] &&
    ! python3 deploy/doc/rerun.py --check "$BUILD" deploy/doc/FAILURES.md >"$scratch/out" 2>&1; then
    failed=$((failed + 1))
    echo "FAIL: the table in deploy/doc/FAILURES.md; deploy/doc/rerun.py --quick writes it anew"
    sed 's/^/     /' "$scratch/out"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
