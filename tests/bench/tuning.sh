#!/bin/sh
# tuning.sh BUILD [cholesky] [tsp] - does what `moot tune` advises hold where it was measured?
#
# For a program whose ranks agree and one whose ranks diverge, on 4 ranks: asks `moot tune`,
# and runs the program ten times with the advised vote timeout, with half and with double
# of it.  A row says how many votes there were, how many of them because of the timeout
# alone, and how long a run took.  Fails if the advice is not on the frontier of its table,
# if it takes more than 60 s, or if ranks that agree cast a vote with the advised value.
# What was measured on an idle machine holds on one as idle: run it on such.
set -u

build=$(cd "${1:?usage: tuning.sh BUILD [cholesky] [tsp]}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
unset MOOT_CONFIG MOOT_VOTE_TIMEOUT
runs=10 failed=0
shift
only=" $* "

complain() {
    failed=1
    echo "FAIL $*"
}

# row LABEL TIMEOUT PROGRAM...: ten runs
row() {
    label=$1 timeout=$2 votes=0 late=0
    shift 2
    began=$(date +%s%N)
    for run in $(seq $runs); do
        MOOT_VOTE_TIMEOUT=$timeout timeout 60 "$build/moot" run -n 4 "$@" \
            >"$scratch/out" 2>&1 </dev/null || complain "$1: run $run ends with $?"
        sed -n 's/^ *votes *\([0-9]*\).*/\1/p' "$scratch/out" >"$scratch/n"
        votes=$((votes + $(cat "$scratch/n")))
        late=$((late + $(sed -n 's/^ *votes .* \([0-9]*\) timeout.*/\1/p' "$scratch/out" |
            grep . || echo 0)))
    done
    mean_ms=$((($(date +%s%N) - began) / runs / 1000000))
    printf '  %-8s %8s  %6d votes, %4d by the timeout, %5d ms a run\n' \
        "$label" "$timeout" "$votes" "$late" "$mean_ms"
}

# advice AGREES PROGRAM...: `yes` if its ranks agree
advice() {
    agrees=$1
    shift
    case $only in "  " | *" $1 "*) ;; *) return ;; esac
    echo "$*"
    began=$(date +%s)
    timeout 90 "$build/moot" tune -n 4 -o "$scratch/conf" -- "$@" >"$scratch/tune" 2>&1 ||
        complain "moot tune $1: $?"
    took=$(($(date +%s) - began))
    [ "$took" -le 60 ] || complain "moot tune $1 took $took s"
    grep -qE '^>\*' "$scratch/tune" || complain "$1: the advice is not on the frontier"
    advised=$(sed -n 's/^MOOT_VOTE_TIMEOUT *= *\([0-9]*\)ms.*/\1/p' "$scratch/conf")
    [ -n "$advised" ] || {
        complain "$1: no timeout in milliseconds is advised"
        return
    }
    echo "  advised in $took s: ${advised}ms"
    row half "$((advised / 2))ms" "$@"
    row advised "${advised}ms" "$@"
    [ "$agrees" != yes ] || [ "$votes" -eq 0 ] || complain "$1: an agreeing run voted"
    row double "$((advised * 2))ms" "$@"
}

advice yes cholesky 12 48
advice no tsp deploy/examples/burma14.tsp
exit $failed
