#!/bin/sh
# hosts.sh BUILD ROUNDS - a broadcast of 8 MiB to 6 ranks on three hosts, whose links carry
# 1 Gbit/s each way, by moot and by MPI_Bcast: its time, and the bytes of the busiest link.
#
# Hosts are namespaces with an sshd each (tests/cli/fleet_hosts.sh), so it needs root; exit
# status 77, with the reason, where there are none.  Each host keeps to one processor, so
# that two ranks know that they share it: six ranks that each believed to have one for
# themselves would take turns by the system's time slices.
#
# A job of each way takes its turn, ROUNDS times.  A job has seven broadcasts; its figure is
# the median of the time from when the first rank began until the last rank had the bytes.
# moot goes by its default wire, sealed or `open`, and by rings inside a host; Open MPI by
# its TCP, and by its shared memory (vader) inside a host, with the algorithm that it picks
# by itself.  All start by ssh.  Prints rows as run.sh wants them.  With WAYS_QUICK in the
# environment a job has one broadcast.
set -eu
# shellcheck source=tests/cli/fleet_hosts.sh
. tests/cli/fleet_hosts.sh
hosts_enter "$@"
BUILD=$(cd "${1:?usage: hosts.sh BUILD ROUNDS}" && pwd)
turns=${2:-5}
mib=8 broadcasts=7
[ -z "${WAYS_QUICK-}" ] || broadcasts=1
program=$BUILD/tests/bench/hosts
scratch=$(mktemp -d)
trap 'hosts_end; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_SEAL MOOT_RINGS MOOT_ROUTE MOOT_TREE_FANOUT
hosts_make "$scratch/hosts" a b c || {
    echo "no hosts here: $(tail -n 1 "$scratch/hosts/why")"
    exit 77
}
number=0
for host in a b c; do
    link_shape $host 1gbit 2>"$scratch/why" || {
        echo "no links of a rate here: $(tail -n 1 "$scratch/why")"
        exit 77
    }
    host_pin $host $((number % $(nproc)))
    number=$((number + 1))
done
printf '10.77.0.%d slots=2\n' 1 2 3 >"$scratch/hostfile"
export TMPDIR="$scratch/tmp"
mkdir "$TMPDIR"

moot() {
    timeout -k 5 120 "$BUILD/moot" run --launcher "ssh:config=$scratch/hosts/ssh_config" \
        --hosts a:2,b:2,c:2 "$@" "$program" moot moot0 $mib $broadcasts
}
mpi() {
    timeout -k 5 120 mpirun --allow-run-as-root --hostfile "$scratch/hostfile" -n 6 \
        --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca plm_rsh_agent "ssh -F $scratch/hosts/ssh_config" --mca pml ob1 \
        --mca btl tcp,vader,self --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 "$program" mpi moot0 $mib $broadcasts
}
way() {
    case $1 in
    moot) moot ;;
    moot-open) moot MOOT_SEAL=off ;;
    mpi) mpi ;;
    esac
}
turn=0
while [ $turn -lt "$turns" ]; do
    turn=$((turn + 1))
    for name in moot mpi moot-open; do
        way $name >"$scratch/out" 2>"$scratch/err" </dev/null || {
            cat "$scratch/out" "$scratch/err" >&2
            echo "hosts.sh: $name failed" >&2
            exit 2
        }
        grep -E '^(time|link|rank) ' "$scratch/out" | sed "s/^/$turn $name /" >>"$scratch/all"
    done
done

awk -v turns="$turns" -v broadcasts=$broadcasts -v bytes=$((mib << 20)) '
function median(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
    }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function row(name, value, target, remark) {
    printf "%s %.4g %s # %s\n", name, value, target, remark
}
# The median broadcast of a turn.
function took_ms(turn, way,    i, list) {
    for (i = 1; i <= broadcasts; i++) list[i] = (last[turn, way, i] - first[turn, way, i]) / 1e3
    return median(list, broadcasts)
}
function of_turns(what, way,    i, list) {
    for (i = 1; i <= turns; i++) list[i] = what == "ms" ? took_ms(i, way) : most[i, way, what]
    return median(list, turns)
}
function ratio(what, way, other,    i, list) {
    for (i = 1; i <= turns; i++) {
        list[i] = what == "ms" ? took_ms(i, way) / took_ms(i, other) \
                               : most[i, way, what] / most[i, other, what]
    }
    return median(list, turns)
}
function more(key, value) { if (!(key in most) || value > most[key]) most[key] = value }
{ turn = $1; way = $2; ways[way] = 1 }
$3 == "time" {
    key = turn SUBSEP way SUBSEP $4
    if (!(key in first) || $6 < first[key]) first[key] = $6
    if (!(key in last) || $7 > last[key]) last[key] = $7
}
$3 == "link" { more(turn SUBSEP way SUBSEP "link", $5 > $6 ? $5 : $6) }
$3 == "rank" { more(turn SUBSEP way SUBSEP "rank", $5) }
END {
    wire_ms = bytes * 8 / 1e6
    n = split("moot moot-open mpi", order, " ")
    for (w = 1; w <= n; w++) {
        ms = of_turns("ms", order[w])
        row("hosts-" order[w] "-ms", ms, "-", sprintf("the bytes go over a link in %.0f ms", wire_ms))
    }
    for (w = 1; w <= n; w++) {
        row("hosts-" order[w] "-busiest-link-MB", of_turns("link", order[w]) / 1e6, "-", \
            sprintf("a way; the result has %.1f MB", bytes / 1e6))
    }
    row("hosts-moot-busiest-rank-MB", of_turns("rank", "moot") / 1e6, "-", \
        "that it sent, by rings and by the wire")
    row("hosts-moot-to-mpi-time", ratio("ms", "moot", "mpi"), 1.5, "MPI_Bcast as Open MPI sets it")
    row("hosts-moot-to-mpi-link", ratio("link", "moot", "mpi"), 1.5, "bytes of the busiest link")
}' "$scratch/all"
