#!/bin/sh
# session_arrays_test.sh - task arrays in sessions between which ranks leave and join: their
# homes are the ranks of the session, and those of an array with candidates are these.
#
# tests/mpi/session_arrays has what must be true of each rank.  Finds the programs in $BUILD;
# run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said

# run WORD... -- PLAN...: to its end
run() {
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    timeout -k 5 120 "$build/moot" run --launcher local --no-progress $words \
        "$build/tests/mpi/session_arrays" "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code" [ $code = 0 ]
}
# sizes: of the sessions, as their ranks have printed them
sizes() { sed -n 's/^session \([0-9]*\) rank [0-9]* of \([0-9]*\):.*/\1:\2/p' "$evidence" | sort -u | tr '\n' ' '; }
# shares: each rank has 24 elements of an array without candidates, and every second one, from
# rank 0 on, as many as the next of one that has these for candidates
shares() {
    awk '$1 == "session" { n = $6 + 0; c = int((n + 1) / 2)
             bad += $7 != 24 || $8 != ($4 % 2 == 0 ? 24 * n / c : 0); ranks++ }
         END { exit bad > 0 || ranks == 0 }' "$evidence"
}

name="ranks leave"
run -n 4 -- 4 -a_1@1 -a_0@2
check "$name" "its sessions are $(sizes)" [ "$(sizes)" = "1:4 2:3 3:2 4:2 " ]
check "$name" "shares are others" shares

name="ranks join and one leaves"
run -n 2 --max 4 --joins session -- 4 +2@1 -a_1@2
check "$name" "its sessions are $(sizes)" [ "$(sizes)" = "1:2 2:4 3:3 4:3 " ]
check "$name" "shares are others" shares

name="all founders but one leave"
run -n 3 --max 5 --joins session -- 3 +2@1 -a_0@2 -a_1@2
check "$name" "its sessions are $(sizes)" [ "$(sizes)" = "1:3 2:5 3:3 " ]
check "$name" "shares are others" shares

check_end
