#!/bin/sh
# array_onces_test.sh - arrays of once kernels where ranks are killed in the midst of them: no
# element starts twice, one array or two may have run, and all later ones end well.  (Ranks
# that die at once may be a quorum of a stretch's voters: then more may have run.)
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/said"
says() { grep -qE -e "$1" "$evidence"; }

# killed SURVIVORS WORD...: the job ends well, for all who are left alike
killed() {
    name="$*" survivors=$1
    shift
    rm -f "$scratch/starts"
    timeout -k 5 60 "$build/moot" run "$@" "$build/tests/mpi/array_onces" "$scratch/starts" 18 \
        >"$evidence" 2>&1 </dev/null
    note $? "it ends otherwise"
    check "$name" "not all who are left came to the end" \
        [ "$(grep -c '^array_onces: rank .* may have run$' "$evidence")" -ge "$survivors" ]
    cat "$evidence" >>"$scratch/all"
}
for moment in 60 110 160 210; do
    killed 3 --launcher local -n 4 --faults "kill:r1@${moment}ms"
    killed 3 --launcher local -n 4 --faults "kill:r0@${moment}ms"
    killed 4 --launcher mpirun -n 6 --faults "kill:r2@${moment}ms,kill:r4@$((moment + 400))ms"
done
evidence="$scratch/all"
check "the dead" "none of them had begun anything" says ' [1-9][0-9]* of [0-9]* arrays may'

# Later jobs of the same checkpoint start nothing again, on another number of ranks either.
rm -f "$scratch/starts"
evidence="$scratch/said"
for ranks in 3 3 2; do
    rounds=$((${rounds:-2} + 2)) name="a job of $ranks ranks, $rounds rounds"
    timeout -k 5 60 "$build/moot" run --launcher local -n "$ranks" --checkpoint "$scratch/store" \
        "$build/tests/mpi/array_onces" "$scratch/starts" "$rounds" again >"$evidence" 2>&1 </dev/null
    note $? "it ends otherwise"
done
check "the last job" "it found nothing of those before" says ' [1-9] of 8 arrays may'
check_end
