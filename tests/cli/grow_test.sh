#!/bin/sh
# grow_test.sh - `moot grow`: which ranks a running job starts for it, what it may not have, and
# what is said of a command line that makes no sense.
#
# Numbers and names themselves are joining_test.sh's.  Finds the programs in $BUILD; run from the
# top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE MOOT_GRACE
export TMPDIR="$scratch"
export MOOT_STATE="$scratch/doors"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said

# begin NAME WORD...: moot run with these words, until two ranks are past their first phase
begin() {
    name=$1
    shift
    : >"$evidence"
    timeout -k 5 120 "$build/moot" run "$@" "$build/tests/mpi/asked" "$phases" 0 \
        >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    until [ "$(grep -c 'past phase 0' "$evidence")" -ge 2 ] || [ $tries -gt 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    number=$(find "$scratch/doors" -name '*-0-*' | sed 's|.*/||; s/-.*//')
}
# end STATUS: it ends with that
end() {
    wait "$job"
    code=$?
    job=
    check "$name" "its status is $code, not $1" [ $code = "$1" ]
}
# grow STATUS PATTERN WORD...: moot grow, and what it says
grow() {
    wanted=$1 pattern=$2
    shift 2
    timeout -k 5 40 "$build/moot" grow "$@" >"$scratch/told" 2>&1
    code=$?
    check "$name" "moot grow $*: status $code: $(cat "$scratch/told")" [ $code = "$wanted" ]
    check "$name" "moot grow $*: $(cat "$scratch/told")" grep -qE -e "$pattern" "$scratch/told"
}

# A wish for which there is no room is held for some seconds.
phases=500
# --- Jobs -------------------------------------------------------------------------------
begin room -n 2 --max 4 --launcher local
grow 0 '^started: b_0 as rank 2$' 1
grow 0 '^started: c_0 as rank 3$' "$number" 1
grow 1 '^moot grow: [234] ranks and 4 more are over the 4 ' "$number" 4
grow 1 '^moot grow: a job takes in 1 to 64 ranks more' "$number" 65
end 0

begin "fewer than --min" -n 3 --min 2 --launcher local
timeout -k 5 40 "$build/moot" shrink 2 >"$scratch/told" 2>&1
check "$name" "it is not refused: $(cat "$scratch/told")" \
    grep -q '^moot shrink: 1 rank would stay, and the job is to have 2 (--min)$' "$scratch/told"
timeout -k 5 40 "$build/moot" shrink 1 >"$scratch/told" 2>&1
check "$name" "one cannot leave: $(cat "$scratch/told")" grep -q '^asked to leave: ' "$scratch/told"
end 0

phases=100
begin "without --max" -n 2 --launcher local
grow 1 '^moot grow: no rank.* join' 1
end 0

begin mpirun -n 2
grow 1 "^moot grow: no ranks join this job: its launcher is none of moot's own" 1
end 0

# --- No jobs ----------------------------------------------------------------------------
name=nothing
grow 1 'no job of yours runs on this host' 1
grow 1 'no rank of job 0123abcd answers on this host' 0123abcd 1
grow 2 'how many ranks more' 0123abcd
grow 2 'how many ranks more'
grow 2 '0 ranks are none to start' 0
grow 2 "'two' is no number of ranks" two
grow 2 "'3' is one word too many" 2 3
grow 2 'no option.*--more|--more' --more

check_end
