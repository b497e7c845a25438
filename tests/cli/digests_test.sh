#!/bin/sh
# digests_test.sh [--whole | --write] - the simulator's runs are those of tests/sim/digests.txt.
#
# A line there is a digest and the options of `moot sim` that it belongs to.  Those behind the
# line `# whole: ...`, seven in ten of all seeds, are looked at with --whole alone (make soak).
# With --write the file is written anew, all of it, from the moot in $BUILD.
set -u

moot=${BUILD:?}/moot
list=tests/sim/digests.txt
how=${1-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# digest OPTION...: of all runs, or nothing if a run failed
digest() {
    "$moot" sim "$@" >"$scratch/out" 2>&1 || return 0
    sed -n 's/.*digest of all \([0-9a-f]*\)$/\1/p' "$scratch/out"
}

wrong=0 rows=0
while read -r expected options; do
    case $expected in
    '#')
        echo "$expected $options" >>"$scratch/list"
        case $options in whole:*) [ -n "$how" ] || break ;; esac
        continue
        ;;
    esac
    rows=$((rows + 1))
    # shellcheck disable=SC2086 # options are words
    found=$(digest $options)
    echo "$found $options" >>"$scratch/list"
    if [ "$found" != "$expected" ]; then
        wrong=$((wrong + 1))
        echo "moot sim $options: digest ${found:-none, as a run failed}, not $expected"
    fi
done <"$list"

if [ "$how" = --write ]; then
    cp "$scratch/list" "$list"
    exit 0
fi
echo "$((rows - wrong)) of $rows digests are as they were"
[ "$wrong" -eq 0 ] && [ "$rows" -gt 0 ]
