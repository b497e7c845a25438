#!/bin/sh
# leave_test.sh - ranks that go in good order (moot_leave) while the others go on: over the
# wires of one host and between hosts, one or all but one of them, at the beginning and in the
# middle, two at once, and one that is killed while it goes.
#
# Nothing is lost and nothing runs twice: the kernels that ranks have run are as many as there
# were tasks.  Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
export TMPDIR="$scratch"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
tasks=4020 # of tests/mpi/leaving: 20 phases of 200, and their sums

# run NAME WORD...: moot run with these words, to its end
run() {
    name=$1
    shift
    timeout -k 5 120 "$build/moot" run "$@" >"$evidence" 2>&1 </dev/null
    check "$name" "its status is not 0" [ $? = 0 ]
}
ran() { awk '$2 == "rank" && $4 == "ran" { sum += $5 } END { print sum + 0 }' "$evidence"; }

# leave NAME LEFT WORD... -- WHO@WHEN...: of 4 ranks
leave() {
    name=$1 left=$2
    shift 2
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # a word is a word
    run "$name" $words "$build/tests/mpi/leaving" "$@"
    check "$name" "kernels ran: $(ran), not $tasks" [ "$(ran)" = $tasks ]
    check "$name" "the summary does not say who left" says "^  left +$left\$"
    check "$name" "a rank is said to be lost" no says 'died|removed|out of reach|lost [1-9]'
}

# --- In good order ------------------------------------------------------------------------
for launcher in local mpirun; do
    leave "one, $launcher" '1 rank: 2' -n 4 --launcher $launcher -- 2@5
    leave "the lowest, $launcher" '1 rank: 0' -n 4 --launcher $launcher -- 0@3
    leave "two at once, $launcher" '2 ranks: 1, 3' -n 4 --launcher $launcher -- 1@7 3@7
done
leave "at the beginning" '1 rank: 1' -n 4 --launcher local -- 1@0
leave "one after the other" '2 ranks: 0, 3' -n 4 --launcher local -- 0@2 3@4
leave "by tcp" '1 rank: 2' -n 4 --launcher local --transport tcp -- 2@5
leave "between hosts" '2 ranks: 0, 3' --launcher "$build/examples/launcher_exec.so" \
    --hosts a:2,b:2 -- 3@4 0@9
MOOT_THREADS=2 leave "beside workers" '1 rank: 2' -n 4 --launcher local -- 2@5

# Its queue is full: the other gets that, and it goes at once.
run "a full queue" -n 2 --launcher local "$build/tests/mpi/leaving" full
check "a full queue" "kernels ran: $(ran), not 302" [ "$(ran)" = 302 ]
check "a full queue" "who goes worked it off" \
    [ "$(awk '$3 == 1 && $4 == "ran" { print $5 + 0 }' "$evidence")" -lt 100 ]

# --- Killed while it goes -----------------------------------------------------------------
# Then it is a death as any other: what it had runs again, and the others end well.
for point in result.sent#200 report.sent#1 view.propose#1; do
    name="killed at $point"
    timeout -k 5 120 "$build/moot" run -n 4 --launcher local --faults "kill:r2@$point" \
        "$build/tests/mpi/leaving" 0@6 2@5 >"$evidence" 2>&1 </dev/null
    check "$name" "a sum is wrong, or a rank has not ended" no says 'wrong|MOOT_ERR'
    check "$name" "ranks 1 and 3 have not stayed" \
        [ "$(grep -c 'rank [13] ran .*, stays$' "$evidence")" = 2 ]
done

# --- What cannot be -----------------------------------------------------------------------
MOOT_DIVERGENCE=strict timeout -k 5 60 "$build/moot" run -n 3 --launcher local \
    "$build/tests/mpi/leaving" 1@0 >"$evidence" 2>&1 </dev/null
check strict "it is not refused" says 'moot_leave: with MOOT_DIVERGENCE=strict every rank'
check_end
