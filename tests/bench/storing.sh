#!/bin/sh
# storing.sh BUILD ROUNDS - what checkpoints cost: the store by itself (storing.c), and a job.
#
# The job is the example cholesky on two ranks with tiles that take about a millisecond. It is
# run without a checkpoint and with an empty one, by turns, in five times ROUNDS, as one run
# differs from the next by a tenth; the time that `moot run` says the ranks took counts.
# RECORDS, MIB and TILES make it smaller.
set -eu
BUILD=${1:?usage: storing.sh BUILD ROUNDS}
ROUNDS=${2:?usage: storing.sh BUILD ROUNDS}
scratch=$(mktemp -d "$BUILD/storing.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
launcher="mpirun -n 1"
[ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
$launcher "$BUILD/tests/bench/storing" --folder "$scratch/store" --rounds "$ROUNDS" \
    --records "${RECORDS:-10000000}" --mib "${MIB:-512}"

# took OPTIONS...: the seconds of a run
took() {
    "$BUILD/moot" run -n 2 "$@" "$BUILD/examples/cholesky" "${TILES:-24}" 90 2>&1 >/dev/null |
        sed -n 's/^moot: 2 ranks, \([0-9.]*\) s$/\1/p'
}

for _ in $(seq $((5 * ROUNDS))); do
    without=$(took)
    with=$(took --checkpoint "$scratch/checkpoint")
    rm -rf "$scratch/checkpoint"
    echo "$with $without"
done >"$scratch/seconds"
awk '{ print $1 / $2 }' "$scratch/seconds" | sort -n | awk '
    { ratio[NR] = $1 }
    END {
        printf "storing-job %.4g 1.03 # %d times; half of them %.3g to %.3g\n", \
            ratio[int((NR + 1) / 2)], NR, ratio[int((NR + 3) / 4)], ratio[int((3 * NR + 1) / 4)]
    }'
