#!/bin/sh
# wires.sh BUILD ROUNDS - half round trips by rings, by tcp and by ucx, sealed and not, beside
# sockets, UCX's active messages, and Open MPI's shared memory and TCP alone.
#
# Each way is a pair of processes (wires.c, wires_ucx.c); they take turns, ROUNDS times, and
# a figure is the median over the rounds of each round's median.  A ratio is the median of
# the rounds' ratios.  Prints rows as run.sh wants them.
set -eu
BUILD=${1:?usage: wires.sh BUILD ROUNDS}
rounds=${2:-9}
programs=$BUILD/tests/bench
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
figures='^[0-9]+ [0-9.]+$'
unset MOOT_TRANSPORT MOOT_SEAL MOOT_RINGS

mpi() {
    launcher="mpirun -n 2 --bind-to core"
    [ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
    [ "$(nproc)" -ge 2 ] || launcher="$launcher --oversubscribe"
    $launcher --mca btl "$1,self" "$programs/wires" mpi
}
# Words that are no figure, such as the summary of `moot run`, says why where there are none.
local_run() {
    "$BUILD/moot" run -n 2 --launcher local "$@" >"$scratch/said" 2>&1 || true
    grep -vE "$figures" "$scratch/said" >&2 || true
    grep -E "$figures" "$scratch/said"
}
way() {
    case $1 in
    rings) local_run "$programs/wires" carrier tcp ;;
    tcp-sealed) local_run "$programs/wires" carrier tcp wire ;;
    tcp-open) local_run "$programs/wires" carrier tcp wire open ;;
    ucx-sealed) local_run "$programs/wires" carrier ucx wire ;;
    ucx-open) local_run "$programs/wires" carrier ucx wire open ;;
    tcp-alone) "$programs/wires" sockets ;;
    ucx-alone) local_run "$programs/wires_ucx" ;;
    mpi-vader) mpi vader ;;
    mpi-tcp) mpi tcp ;;
    cipher) "$programs/wires" cipher ;;
    esac
}

ways="rings mpi-vader tcp-sealed tcp-open tcp-alone cipher mpi-tcp"
if [ -x "$programs/wires_ucx" ] && [ -f "$BUILD/wires/ucx.so" ]; then
    ways="rings mpi-vader tcp-sealed tcp-open tcp-alone ucx-sealed ucx-open ucx-alone cipher mpi-tcp"
else
    echo "# without ucx"
fi
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    for name in $ways; do
        way "$name" >"$scratch/out" 2>"$scratch/err" || true
        [ -s "$scratch/out" ] || {
            cat "$scratch/err" >&2
            echo "wires.sh: $name gave no figures" >&2
            exit 2
        }
        sed "s/^/$round $name /" "$scratch/out" >>"$scratch/all"
    done
done

awk '
function median(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
    }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function size_name(size) {
    return size >= 1048576 ? size / 1048576 "MiB" : size >= 1024 ? size / 1024 "KiB" : size "B"
}
# Medians of the rounds: us of one way, and ratios or differences of several.
function us(way, size,    i, n, list) {
    n = 0
    for (i = 1; i <= rounds; i++) if ((i, way, size) in took) list[++n] = took[i, way, size]
    return n ? median(list, n) : 0
}
function ratio(way, other, size,    i, n, list) {
    n = 0
    for (i = 1; i <= rounds; i++) list[++n] = took[i, way, size] / took[i, other, size]
    return median(list, n)
}
function less(way, other, size,    i, n, list) {
    n = 0
    for (i = 1; i <= rounds; i++) list[++n] = took[i, way, size] - took[i, other, size]
    return median(list, n)
}
function adds(way, other, size,    i, n, list) {
    n = 0
    for (i = 1; i <= rounds; i++) {
        list[++n] = (took[i, way, size] - took[i, other, size]) / took[i, "cipher", size]
    }
    return median(list, n)
}
function speed(size, time) { return sprintf("%.0f MB/s", size / time) }
function row(name, value, target, remark) {
    printf "%s %.4g %s # %s\n", name, value, target, remark
}
{
    took[$1, $2, $3] = $4
    if ($1 > rounds) rounds = $1
    if (!($2 in known)) { known[$2] = 1; ways[++way_count] = $2 }
    if (!($3 in sized)) { sized[$3] = 1; sizes[++size_count] = $3 }
}
END {
    for (w = 1; w <= way_count; w++) {
        if (ways[w] == "cipher") continue
        for (s = 1; s <= size_count; s++) {
            time = us(ways[w], sizes[s])
            row("way-" ways[w] "-" size_name(sizes[s]) "-us", time, "-",
                sizes[s] >= 1048576 ? speed(sizes[s], time) : "half a round trip")
        }
    }
    row("rings-to-mpi-8B", ratio("rings", "mpi-vader", 8), 1.3, "beside shared memory of Open MPI")
    row("rings-to-mpi-1MiB", ratio("rings", "mpi-vader", 1048576), "-", "")
    row("tcp-open-to-mpi-8B", ratio("tcp-open", "mpi-tcp", 8), "-", "beside TCP of Open MPI")
    row("tcp-open-to-mpi-1MiB", ratio("tcp-open", "mpi-tcp", 1048576), "-", "")
    row("tcp-open-to-alone-8B", ratio("tcp-open", "tcp-alone", 8), "-", "beside two sockets alone")
    row("tcp-open-to-alone-1MiB", ratio("tcp-open", "tcp-alone", 1048576), "-", "")
    row("tcp-sealed-to-alone-1MiB", ratio("tcp-sealed", "tcp-alone", 1048576), "-", "")
    row("tcp-seal-adds-to-64B-us", less("tcp-sealed", "tcp-open", 64), 1, \
        "the cipher alone takes " sprintf("%.2f us", us("cipher", 64)))
    row("tcp-seal-adds-to-1MiB-by-cipher", adds("tcp-sealed", "tcp-open", 1048576), 1.25, \
        "what sealing adds, to sealing and opening alone, " speed(1048576, us("cipher", 1048576)))
    if (!("ucx-sealed" in known)) exit
    row("ucx-open-to-alone-8B", ratio("ucx-open", "ucx-alone", 8), "-", "beside active messages of UCX")
    row("ucx-open-to-alone-1MiB", ratio("ucx-open", "ucx-alone", 1048576), "-", "")
    row("ucx-seal-adds-to-64B-us", less("ucx-sealed", "ucx-open", 64), 1, "")
    row("ucx-seal-adds-to-1MiB-by-cipher", adds("ucx-sealed", "ucx-open", 1048576), 1.25, "")
}' "$scratch/all"
