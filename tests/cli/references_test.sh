#!/bin/sh
# references_test.sh - data by reference when ranks die: whoever else has the data gives them
# out, and where nobody has, waits end with an error and not never.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
export TMPDIR="$scratch"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said

# run NAME WORD...: the program with these words, on as many ranks as the first says
run() {
    name=$1
    shift
    timeout -k 5 120 "$build/moot" run --launcher local -n "$1" \
        "$build/tests/mpi/references" "$2" >"$evidence" 2>&1 </dev/null
}
# said COUNT PATTERN: so many lines are like that
said() { [ "$(grep -cE -e "$2" "$evidence")" = "$1" ]; }

for threads in 0 1; do
    export MOOT_THREADS=$threads
    run "giver, $threads" 4 giver
    check "giver, $threads workers" "not all survivors have the bytes" said 3 '^rank [0-3]: whole$'
    run "reader, $threads" 3 reader
    check "reader, $threads workers" "a wait did not end as lost" said 2 \
        '^rank [01]: MOOT_ERR_(NOT_HELD|RESULT_LOST)$'
done
check_end
