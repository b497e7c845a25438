#!/bin/sh
# joining_test.sh - ranks that `moot run --launcher local` starts beside those that a job began
# with: their numbers and names, what the job may have, how they end, and what is told of it.
#
# The ranks know each other by the channel alone (tests/mpi/joining.c).  Finds the programs in
# $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
ln -s "$build/tests/mpi/joining" "$scratch/joining"
evidence="$scratch/said"

# run [OPTION...] NEWCOMER [WORD...]: the status is $got, what was said $evidence
run() {
    options=''
    while [ "${1#-}" != "$1" ]; do
        options="$options $1 $2"
        shift 2
    done
    # shellcheck disable=SC2086 # words
    timeout -k 5 60 "$build/moot" run --launcher local $options "$scratch/joining" "$@" \
        >"$evidence" 2>&1 </dev/null
    got=$?
}
ended() { [ "$got" = "$1" ]; }
none_left() {
    tries=0
    while pgrep -f "$scratch/joining" >/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}

# --- Numbers and names ------------------------------------------------------------------
run -n 3 --max 6 well grow:2 met:2 grow:1 met:3
check well "its status is $got" ended 0
check well "a wave is not named" says '^grow 2: MOOT_OK, b_0, b_1 as ranks 3, 4$'
check well "nor the next" says '^grow 1: MOOT_OK, c_0 as rank 5$'
check well "founders have other cards" says '^rank 2 is a_2: MOOT_OK, 3 cards$'
check well "a newcomer has other cards" says '^rank 5 is c_0: MOOT_OK, 6 cards$'
check well "the summary is another" says '^moot: 6 ranks \(3 \+ 3 joined\), '

# A number is given once, also where its rank has gone.
run -n 2 --max 3 dies grow:1 dead:2 grow:1 dead:3
check numbers "its status is $got" ended 0
check numbers "they are others" says '^grow 1: MOOT_OK, c_0 as rank 3$'
check numbers "a death is not told" says '^  rank 3 died after .* of signal 9'

# --- What a job may have ----------------------------------------------------------------
run -n 2 --max 3 well grow:2 grow:1 met:1 grow:1
check max "its status is $got" ended 0
check max "more than --max come" says '^grow 2: MOOT_ERR_LIMIT, 2 ranks and 2 more are over the 3 '
check max "so many do not" says '^grow 1: MOOT_OK, b_0 as rank 2$'
check max "one is not counted" says '^grow 1: MOOT_ERR_LIMIT, 3 ranks and 1 more are over the 3 '
run -n 2 well grow:1
check fixed "its status is $got" ended 0
check fixed "it is not said" says '^grow 1: MOOT_ERR_UNSUPPORTED, .*--max'
check fixed "somebody has joined" no says joined,
run -n 2 --max 2 well grow:1
check full "its status is $got" ended 0
check full "it is not said" says '^grow 1: MOOT_ERR_LIMIT, 2 ranks and 1 more are over the 2 '

# --- Those that do not join -------------------------------------------------------------
# Longer than a job is given that waits for such a rank.
run -n 2 --max 4 leaves grow:1 dead:2 pause:7000
check leaves "its status is $got" ended 0
check leaves "the others do not go on" says \
    '^moot: rank 2 ended with status 5 before it joined; the others go on$'
check leaves "it is not told" says '^  rank 2 did not join: it ended with status 5$'
check leaves "it is counted" says '^moot: 2 ranks, '
run -n 2 --max 4 killed grow:1 dead:2
check killed "its status is $got" ended 0
check killed "it is not told" says '^  rank 2 did not join: it died of signal 9 '
run -n 2 --max 4 crashes grow:1 dead:2
check crashes "its status is $got" ended 139
check crashes "it is not told" says '^  rank 2 died .*of signal 11 '
check crashes "it is counted" says '^moot: 2 ranks, '
run -n 2 --max 4 late grow:2
check late "its status is $got" ended 0
check late "one has joined" says '^rank 2 is b_0: MOOT_ERR_TRANSPORT, 0 cards: .*gone'
check late "it is not told" says '^  rank 3 did not join: it ended with status 1$'

# --- Signals ----------------------------------------------------------------------------
for signal in TERM KILL; do
    env --default-signal=INT "$build/moot" run -n 2 --max 4 --launcher local \
        "$scratch/joining" well grow:2 met:2 pause:20000 >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    until says '^rank 3 is b_1: MOOT_OK' || [ $tries -gt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill "-$signal" "$job"
    wait "$job"
    check "signal $signal" "no rank had joined" [ $tries -le 100 ]
    check "signal $signal" "processes are left" none_left
done

# --- The command line -------------------------------------------------------------------
# refused PATTERN WORD...
refused() {
    pattern=$1
    shift
    timeout 60 "$build/moot" run "$@" "$scratch/joining" >"$evidence" 2>&1 </dev/null
    got=$?
    check "refused $*" "its status is $got, not 2" ended 2
    check "refused $*" "the reason is not told" says "$pattern"
}
refused 'max 1 is less than the 2' -n 2 --max 1 --launcher local
refused 'min 3 is more than the 2' -n 2 --min 3 --launcher local
refused "max is '4x'" -n 2 --max 4x --launcher local
refused "min is '0'" -n 2 --min 0 --launcher local
refused 'max 67: a job takes in 64 ranks' -n 2 --max 67 --launcher local
refused 'max 3: over MPI .*MOOT_MAX' -n 2 --max 3
refused 'max 3: over MPI .*MOOT_MAX' -n 2 --max 3 --transport mpi
refused 'MOOT_MAX=3 is for ranks that join over MPI; with --launcher local it is --max 3' \
    -n 2 --launcher local MOOT_MAX=3
refused 'max 3: routes' -n 2 --max 3 --launcher local MOOT_ROUTE=tree:2
refused 'max 3 and --max 4' -n 2 --max 3 --max 4 --launcher local

check_end
