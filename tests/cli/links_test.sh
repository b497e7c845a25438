#!/bin/sh
# links_test.sh - a folder that somebody else may write to: no rank writes through a link
# that was put there, and links of the user's own go on working.  A pipe where a file of
# knobs should be is refused, and not waited for.
#
# Finds the command and the examples in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
moot=$build/moot cholesky=$build/examples/cholesky
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
unset MOOT_CONFIG MOOT_TRACE MOOT_METRICS MOOT_SUMMARY
export XDG_CONFIG_HOME="$scratch/none" OMPI_MCA_mpi_yield_when_idle=1
evidence="$scratch/err"

# expect NAME STATUS COMMAND...: runs it; out and err are in $scratch.
expect() {
    name=$1 status=$2
    shift 2
    timeout -k 5 60 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ "$got" -eq "$status" ]
    note $? "exit $got, not $status: $*"
}
# planted PATH: a link to a file of this user stands there.
planted() {
    echo precious >"$scratch/victim"
    mkdir -p "$(dirname "$1")"
    ln -sf "$scratch/victim" "$1"
}
whole() {
    [ "$(cat "$scratch/victim")" = precious ]
    note $? "a rank wrote through the link"
}
# left WHY PATH: a file that is no link, and has something in it.
left() {
    [ -s "$2" ] && [ ! -L "$2" ]
    note $? "$1"
}

planted "$scratch/trace/rank-0.trace"
expect trace 0 "$moot" run -n 1 --trace "$scratch/trace" "$cholesky" 2 16
whole
left "there is no trace" "$scratch/trace/rank-0.trace"

planted "$scratch/metrics/m.prom.unfinished"
expect metrics 0 env MOOT_METRICS="$scratch/metrics/m.prom" "$moot" run -n 1 "$cholesky" 2 16
whole
left "there are no metrics" "$scratch/metrics/m.prom"

planted "$scratch/summary/rank-0.unfinished"
expect summary 0 env MOOT_SUMMARY="$scratch/summary" mpirun --allow-run-as-root -n 1 \
    "$cholesky" 2 16
whole
left "there is no summary" "$scratch/summary/rank-0"

mkdir "$scratch/large"
ln -s "$scratch/large" "$scratch/own"
expect own_folder 0 env MOOT_METRICS="$scratch/own/m.prom" "$moot" run -n 1 \
    --trace "$scratch/own" "$cholesky" 2 16
left "a link to a folder of one's own leads nowhere" "$scratch/large/rank-0.trace"
left "a link to a folder of one's own leads nowhere" "$scratch/large/m.prom"

expect a_device 0 env MOOT_METRICS=/dev/stdout "$moot" run -n 1 "$cholesky" 2 16
grep -q "^moot_tasks_run" "$scratch/out"
note $? "a device that is named by a link is not written to"

# Only root can make a link that is another user's.
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$scratch/mine"
    ln -s "$scratch/mine" "$scratch/theirs"
    chown -h nobody "$scratch/theirs"
    expect their_folder 0 env MOOT_TRACE="$scratch/theirs" mpirun --allow-run-as-root -n 1 \
        "$cholesky" 2 16
    [ ! -e "$scratch/mine/rank-0.trace" ]
    note $? "somebody else's link was followed"
    grep -q "cannot record to .*theirs.*Operation not permitted" "$scratch/err"
    note $? "nobody says why there is no trace"
fi

mkfifo "$scratch/pipe"
expect pipe 2 env MOOT_CONFIG="$scratch/pipe" "$moot" info
grep -q "$scratch/pipe: it is a pipe" "$scratch/err"
note $? "it is not said that it is a pipe"
expect nothing 0 env MOOT_CONFIG=/dev/null "$moot" info

check_end
