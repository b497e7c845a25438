#!/bin/sh
# canaries.sh - each check of tests/virtual/virtual sees what it is there for.
#
# Needs $BUILD.  A canary breaks one thing on purpose; of some seeds one must be told as
# wrong, in the words that belong to it.
set -u

virtual=${BUILD:?}/tests/virtual/virtual
failed=0

# dies CANARY WORDS OPTION...
dies() {
    canary=$1 words=$2
    shift 2
    told=$("$virtual" --canary "$canary" --no-shrink "$@" 2>&1)
    code=$?
    [ $code -ne 77 ] || exit 77
    if [ $code -eq 0 ]; then
        echo "canary $canary: nothing was seen"
        failed=1
    elif ! printf '%s\n' "$told" | grep -q "$words"; then
        echo "canary $canary: seen, but not as '$words':"
        printf '%s\n' "$told" | head -n 20
        failed=1
    fi
}

dies bytes "has other bytes" --seeds 1..10 --features large --faults none --kill none
# Few frames do harm when they come in another order: about one program in a hundred of six
# ranks sees it.  The first that does ends the search.
dies order "WRONG" --seeds 1..1200 --ranks 6 --features data,large --faults none --kill none
dies leak "has closed and holds 1 blocks, 100 bytes" --seed 1 --faults none --kill none
dies hoard "of a long program has" --steady --seed 2
dies hang "is not over by the deadline" --seed 1 --faults none --kill none
dies unsynced "has started 2 times" --stores --seeds 14..26
dies deaf "runs, and its result is on the disk" --stores --seeds 2..20
dies forgetful "WRONG" --stores --seeds 1..60
dies time "a second run differs" --seed 1 --digest --faults none --kill none
exit $failed
