#!/bin/sh
# onces_test.sh - once tasks where a launcher tells of deaths: a rank that is killed in the midst
# of them takes along what it owned, and nothing starts twice.
#
# By `local`, and by the agents of two hosts, which are names for this machine
# (launcher_exec).  Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/said"
says() { grep -qE -e "$1" "$evidence"; }

# killed MOMENT WORD...: rank 1 of four dies then, which its launcher has reaped
killed() {
    name="rank 1 killed at $1 by $3" moment=$1
    shift
    rm -f "$scratch/starts"
    timeout -k 5 60 "$build/moot" run "$@" --faults "kill:r1@$moment" \
        "$build/tests/mpi/onces" "$scratch/starts" 300 >"$evidence" 2>&1 </dev/null
    note $? "it ends otherwise"
    check "$name" "nothing of the dead was left undone" says '[1-9][0-9]* may have run'
    check "$name" "the survivors did not count alike" \
        [ "$(sed -n 's/^onces: rank [0-9]*: //p' "$evidence" | sort -u | wc -l)" -eq 1 ]
    cat "$evidence" >>"$scratch/all"
}
for moment in 60ms 120ms 200ms; do
    killed "$moment" --launcher local -n 4
    killed "$moment" --launcher "$build/examples/launcher_exec.so" --hosts a:2,b:2
done
evidence="$scratch/all"
check "the dead" "none of their tasks had started" says 'of which [1-9][0-9]* started'
check_end
