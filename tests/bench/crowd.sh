#!/bin/sh
# crowd.sh BUILD FEW MANY - what a rank needs among MANY processes of this machine, beside
# what it needs among FEW: connections, descriptors and memory, and messages to close.
#
# Whole moots over tcp, and over ucx where that is built, without rings: each rank takes
# results of its six neighbours (crowd.c).  A figure is that of the median rank; behind it
# stands the most of all ranks but seven, as many as the committee has, which hears all
# others, and that of the rank that has most.  Prints rows as run.sh wants them.
set -eu
BUILD=${1:?usage: crowd.sh BUILD FEW MANY}
few=${2:-64} many=${3:-256}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_SEAL MOOT_ROUTE
# shellcheck disable=SC3045 # dash and bash know it
ulimit -n "$(ulimit -Hn)"

# Silence means nothing where hundreds share few processors: it is waited for long.
# crowd WIRE RANKS: lines of the ranks into $scratch/ranks, behind these two words
crowd() {
    nice -n 10 timeout -k 5 900 "$BUILD/moot" run -n "$2" --launcher local --transport "$1" \
        MOOT_RINGS=off MOOT_HEARTBEAT=2s MOOT_SUSPECT=100s "$BUILD/tests/bench/crowd" "${ROWS:-4}" \
        >"$scratch/out" 2>"$scratch/err" </dev/null || {
        grep -v '^crowd\|^close\|did not close' "$scratch/out" "$scratch/err" | head -n 20 >&2
        echo "crowd.sh: $2 ranks over $1 failed" >&2
        exit 2
    }
    sed -n "s/^\(crowd\|close\) /$1 $2 &/p" "$scratch/out" >>"$scratch/ranks"
    sed -n "s/^  messages  *\([0-9]*\) .*/$1 $2 sum \1/p" "$scratch/out" "$scratch/err" \
        >>"$scratch/ranks"
}
wires=tcp
[ ! -f "$BUILD/wires/ucx.so" ] || wires="tcp ucx"
for wire in $wires; do
    crowd "$wire" "$few"
    crowd "$wire" "$many"
done

awk -v few="$few" -v many="$many" '
function sort(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
    }
}
# Sorted figures of the ranks of a job, in `sorted`.
function take(wire, ranks, what,    i, n) {
    n = count[wire, ranks, what]
    for (i = 1; i <= n; i++) sorted[i] = figure[wire, ranks, what, i]
    sort(sorted, n)
    return n
}
function median(wire, ranks, what,    n) {
    n = take(wire, ranks, what)
    return sorted[int((n + 1) / 2)]
}
function story(wire, ranks, what, unit,    n) {
    n = take(wire, ranks, what)
    return sprintf("%d ranks: %.4g%s, at most %.4g, %.4g in the committee", ranks, \
        sorted[int((n + 1) / 2)], unit, sorted[n > 7 ? n - 7 : n], sorted[n])
}
function compare(wire, what, unit, target) {
    printf "crowd-%s-%s %.4g %s # %s; %s\n", wire, what, \
        median(wire, many, what) / median(wire, few, what), target, \
        story(wire, few, what, unit), story(wire, many, what, unit)
}
# Messages after the ranks had printed their figures, of each.
function closing(wire, ranks,    i, left) {
    left = sum[wire, ranks]
    for (i = 1; i <= count[wire, ranks, "messages"]; i++) left -= figure[wire, ranks, "messages", i]
    return left / ranks
}
function keep(what, value) { figure[$1, $2, what, ++count[$1, $2, what]] = value }
{ if (!($1 in known)) { known[$1] = 1; wires[++wire_count] = $1 } }
$3 == "crowd" {
    keep("connections", $5); keep("descriptors", $6); keep("memory", $7); keep("messages", $8)
    keep("open", $9)
}
$3 == "close" { keep("close", $5) }
$3 == "sum" { sum[$1, $2] = $4 }
END {
    for (w = 1; w <= wire_count; w++) {
        wire = wires[w]
        compare(wire, "connections", "", 1.25)
        compare(wire, "descriptors", "", 1.25)
        compare(wire, "memory", " kB", 1.25)
        printf "crowd-%s-messages-to-close %.4g - # %d ranks: %.4g a rank; %d ranks: %.4g\n", wire, \
            closing(wire, many) / closing(wire, few), few, closing(wire, few), many, closing(wire, many)
        printf "crowd-%s-open %.4g - # %d ranks: %.4g ms; %d ranks: %.4g ms, on %s cores\n", wire, \
            median(wire, many, "open") / median(wire, few, "open"), \
            few, median(wire, few, "open"), many, median(wire, many, "open"), "'"$(nproc)"'"
        printf "crowd-%s-close %.4g - # %d ranks: %.4g ms; %d ranks: %.4g ms\n", wire, \
            median(wire, many, "close") / median(wire, few, "close"), \
            few, median(wire, few, "close"), many, median(wire, many, "close")
    }
}' "$scratch/ranks"
