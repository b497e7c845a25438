#!/bin/sh
# digests_test.sh [--write] - the simulator's runs are those of tests/sim/digests.txt.
#
# A line there is a digest and the options of `moot sim` that it belongs to.  With
# --write the file is written anew, from the moot in $BUILD.
set -u

moot=${BUILD:?}/moot
list=tests/sim/digests.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# digest OPTION...: of all runs, or nothing if a run failed
digest() {
    "$moot" sim "$@" >"$scratch/out" 2>&1 || return 0
    sed -n 's/.*digest of all \([0-9a-f]*\)$/\1/p' "$scratch/out"
}

wrong=0
while read -r expected options; do
    case $expected in
    '#')
        echo "$expected $options" >>"$scratch/list"
        continue
        ;;
    esac
    # shellcheck disable=SC2086 # options are words
    found=$(digest $options)
    echo "$found $options" >>"$scratch/list"
    if [ "$found" != "$expected" ]; then
        wrong=$((wrong + 1))
        echo "moot sim $options: digest ${found:-none, as a run failed}, not $expected"
    fi
done <"$list"

if [ "${1-}" = --write ]; then
    cp "$scratch/list" "$list"
    exit 0
fi
[ "$wrong" -eq 0 ]
