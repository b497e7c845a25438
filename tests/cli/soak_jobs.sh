#!/bin/sh
# soak_jobs.sh [TIME [MINUTE]] - one job after another, for so long (90, 90s, 10m, 2h; 30m if not
# given): nothing grows, and nothing is left behind.
#
# A job has six ranks that play one diverging program after another (tests/mpi/soak.c).  Each
# MINUTE (60 s) one of them is killed; when two are left, in the fifth, the job ends, and a new
# one takes its place.
#
# What must be true: what each survivor has is level (soak.c says of what), and after each job
# /dev/shm, the launcher's folder and the list of processes are as they were before.  Where mounts
# of one's own are possible, /dev/shm is one.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
case ${1-30m} in
*h) seconds=$((${1%h} * 3600)) ;;
*m) seconds=${1-30m} seconds=$((${seconds%m} * 60)) ;;
*) seconds=${1%s} ;;
esac
minute=${2-60}
if [ -z "${SOAK_APART-}" ] && unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell expands it
    SOAK_APART=1 exec unshare -m sh -c \
        'mount -t tmpfs -o size=2g tmpfs /dev/shm && exec sh "$@"' sh "$0" "$seconds" "$minute"
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1 MOOT_STALL=20s MOOT_WINDOW=256
mkdir "$scratch/tmp"

# What is left: files in /dev/shm, in the launcher's folder, processes of ranks.
count_left() {
    echo "$(find /dev/shm -type f | wc -l) $(TMPDIR='' find "$scratch/tmp" -type f | wc -l)" \
        "$(pgrep -fc "^$build/tests/mpi/soak ")"
}

# mean COLUMN FROM TO: of what surviving ranks told from one second to another, in `out`
mean() {
    sed -n 's/^soak: rank \([0-9]*\), \([0-9]*\) s, round [0-9]*: \([0-9]*\) resident bytes, \([0-9]*\) files, \([0-9]*\) threads, \([0-9]*\) mappings of shared memory, \([0-9]*\) tasks.*/\1 \2 \3 \4 \5 \6 \7/p' \
        "$scratch/out" | awk -v c="$1" -v from="$2" -v to="$3" -v last="$4" '
            $2 >= from && $2 < to && index(last, " " $1 " ") { sum += $c; n++ }
            END { printf "%.1f", n ? (c == 3 ? sum / n / 1e6 : sum / n) : 0 }'
}

before=$(count_left)
began=$(date +%s) job=0 failed=0 kills=0
echo "before: files in /dev/shm, in the launcher's folder, processes: $before"
while [ $(($(date +%s) - began + minute)) -le "$seconds" ]; do
    job=$((job + 1))
    left=$((seconds - ($(date +%s) - began)))
    span=$((5 * minute))
    [ "$span" -le "$left" ] || span=$left
    plan=$(awk -v job="$job" -v minute="$minute" -v span="$span" 'BEGIN {
        for (i = 0; i < 4 && (i + 1) * minute < span; i++)
            printf "%skill:r%d@%ds", i ? "," : "", (job * 5 + i * 5) % 6, (i + 1) * minute }')
    kills=$((kills + $(echo "$plan" | tr ',' '\n' | grep -c kill)))
    TMPDIR=$scratch/tmp timeout -k 5 $((span + 120)) "$build/moot" run -n 6 \
        ${plan:+--faults "$plan"} "$build/tests/mpi/soak" "$span" "$job" "$scratch/end-$job" \
        >"$scratch/out" 2>&1 </dev/null
    code=$?
    after=$(count_left)
    last=" $(sed -n 's/^soak: rank \([0-9]*\) ends after.*/\1/p' "$scratch/out" | tr '\n' ' ')"
    echo "job $job, $span s, ${plan:-no kill}: exit status $code," \
        "$(sed -n 's/.*ends after \([0-9]*\) rounds.*/\1/p' "$scratch/out" | sort -n | tail -n 1) rounds"
    for level in "3 MB" "4 files" "5 threads" "6 mappings of shared memory" "7 tasks known"; do
        printf '    %s of a survivor, by fifths of the time:' "${level#* }"
        for part in 0 1 2 3 4; do
            printf ' %s' "$(mean "${level%% *}" $((part * span / 5)) $(((part + 1) * span / 5)) "$last")"
        done
        echo
    done
    echo "    left behind: $after"
    if [ "$code" -ne 0 ] || [ "$after" != "$before" ]; then
        failed=$((failed + 1))
        echo "FAIL"
        grep -v '^soak: rank [0-9]*, ' "$scratch/out" | tail -n 60 | sed 's/^/     /'
    fi
done
echo "$job jobs, $kills kills, $failed failed"
[ "$failed" -eq 0 ] && [ "$job" -gt 0 ]
