#!/bin/sh
# signatures_test.sh - ranks that sign their state, of which one has a flipped byte.
#
# A byte of a real rank's memory is flipped at a step.  Each rank is told which rank
# differs and from which step on: by heartbeats, or when they close; of two ranks each is
# told of the other.  With MOOT_SIGNATURE=fail the rank that is named ends, and the others
# go on.  A fault plan (flip) does the same to the signatures alone.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_SIGNATURE
export TMPDIR="$scratch" OMPI_MCA_mpi_yield_when_idle=1
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
program=$build/tests/mpi/signatures

# job NAME RANKS OPTION... -- ARGUMENT...
job() {
    name=$1 ranks=$2 options=
    shift 2
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # Options are meant to split.
    # shellcheck disable=SC2086
    timeout -k 5 120 "$build/moot" run -n "$ranks" $options "$program" "$@" \
        >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code" [ $code = 0 ]
}
count() { grep -cE -e "$1" "$evidence"; }
# all PATTERN COUNT: so many ranks say so
all() { check "$name" "not $2 times: $1" [ "$(count "$1")" = "$2" ]; }

job "no difference" 3 -- 300
all 'state at step|states differ' 0
all '^rank [0-2]: 300 signed, MOOT_OK, closed with MOOT_OK' 3
all '^  states agree +at step [0-9]+, ' 1
all '^  first differs' 0

job "told at the close" 3 -- 20 1 7
all '^moot: rank [0-2]: rank 1 \([^)]+\) has another state at step 7: .* most ranks' 3
all '^rank [0-2]: event: rank 1: .* at step 7' 3
all '^  states differ  found 3 times by signatures, 0 times' 1
all '^  states agree +at step 6, ' 1
all '^  first differs +rank 1, at step 7$' 1

job "two ranks" 2 -- 20 1 7
all '^moot: rank 0: rank 1 \([^)]+\) has another state at step 7: .* no majority' 1
all '^moot: rank 1: rank 0 \([^)]+\) has another state at step 7: .* no majority' 1

job "told by heartbeats" 3 -- 30 0 3 --each 100
all '^moot: rank [0-2]: rank 0 \([^)]+\) has another state at step 3: .* most ranks' 3

job "fail" 3 MOOT_SIGNATURE=fail -- 60 2 7 --each 100
all '^rank 2: [0-9]+ signed, MOOT_ERR_SIGNATURE, closed with MOOT_ERR_SIGNATURE' 1
all '^rank [01]: 60 signed, MOOT_OK, closed with MOOT_OK' 2
all '^moot: rank 2 ended because its state is another' 1

job "a plan" 3 --faults flip:r1@sign#5 -- 20
all '^moot: rank [0-2]: rank 1 \([^)]+\) has another state at step 5: .* most ranks' 3
all 'flip:r1@sign#5: fired once' 1

job "over the local launcher" 3 --launcher local --transport tcp -- 20 2 4
all '^moot: rank [0-2]: rank 2 \([^)]+\) has another state at step 4: .* most ranks' 3

check_end
