#!/bin/sh
# chaos_case.sh run CASE DIR | shrink CASE [SECONDS] - a random program under random faults, once,
# or made as small as it still fails.
#
# run: exits 0 if each error is legitimate, 77 if this machine cannot bring the fault, else 1, and
# tells of it.  DIR gets the ledger and what was found in it.
#
# shrink: takes one feature away after another, ranks and tasks too, and keeps what still fails.
# Real ranks never do the same twice, so a smaller case has three runs to fail in, and the last
# word is how often the smallest fails in five.
#
# Finds the programs in $BUILD; run from the top of the tree (tests/cli/chaos_test.sh).
set -u

build=$(cd "${BUILD:?}" && pwd)
chaos=$build/tests/mpi/chaos
export MOOT_STALL=8s OMPI_MCA_mpi_yield_when_idle=1

# run_case CASE DIR
run_case() {
    rm -f "$2/ledger"
    : >"$2/judged"
    words=$("$chaos" --command "$1") || return 2
    shm='' short=''
    case $words in memory\ *) short=1 words=${words#* } ;; esac
    case $words in shm=*) shm=${words%% *} words=${words#* } ;; esac
    rm -rf "$2/store"
    case $words in
    store\ *) words="--checkpoint $2/store ${words#* } MOOT_CHECKPOINT_LEAST=0" ;;
    esac
    if [ -n "$shm" ] && ! unshare -m true 2>/dev/null; then
        echo "skip $1: no mounts of one's own here, so /dev/shm cannot be made small"
        return 77
    fi
    if [ -n "$shm" ]; then
        # shellcheck disable=SC2086,SC2016 # words are meant to split; the inner shell expands its own
        CHAOS_SHM=1 timeout -k 5 90 unshare -m sh -c '
            mount -t tmpfs -o size="$1"m tmpfs /dev/shm && shift && exec "$@"' sh "${shm#shm=}" \
            "$build/moot" run $words "$chaos" "$2/ledger" "$1" >"$2/log" 2>&1 </dev/null
    else
        # shellcheck disable=SC2086 # words are meant to split
        timeout -k 5 90 "$build/moot" run $words "$chaos" "$2/ledger" "$1" \
            >"$2/log" 2>&1 </dev/null
    fi
    code=$?
    why=''
    case $code in
    # 1: a rank that was removed ended so; 3: a fault found no occasion
    0 | 1 | 3) ;;
    # A rank without memory, or one that touches a page that is not there, dies of that.  Where all
    # the ranks are dead, the status is the first one's, which may be the one that the plan kills.
    134 | 135 | 137 | 139) [ -n "$shm$short" ] || why="exit status $code" ;;
    *) why="exit status $code" ;;
    esac
    "$chaos" --check "$2/ledger" "$1" >"$2/judged" 2>&1 || why=${why:-what the ranks saw}
    [ -n "$why" ] || return 0
    echo "FAIL $why; to repeat: BUILD=$BUILD sh tests/cli/chaos_test.sh $1"
    echo "     moot run $words $chaos LEDGER $1${shm:+   with /dev/shm of ${shm#shm=} MiB}"
    sed 's/^/     /' "$2/judged" "$2/log"
    return 1
}

# fails CASE TIMES: in one run of so many
fails() {
    turn=0
    while [ "$turn" -lt "$2" ]; do
        turn=$((turn + 1))
        [ "$(date +%s)" -lt "$deadline" ] || return 1
        run_case "$1" "$scratch" >"$scratch/last"
        [ $? -ne 1 ] || {
            mv "$scratch/last" "$scratch/told"
            return 0
        }
    done
    return 1
}

# try WORD: the case with that word as well, if it still fails
try() {
    fails "$small:$1" 3 || return 1
    small=$small:$1
}

# drop FEATURE...: all that it fails without
drop() {
    without=''
    for feature in "$@"; do
        without=$without${without:+:}no-$feature
    done
    [ $# -gt 0 ] && ! try "$without" && [ $# -gt 1 ] || return 0
    half=$(($# / 2)) first='' rest=''
    for feature in "$@"; do
        [ "$half" -gt 0 ] && first="$first $feature" || rest="$rest $feature"
        half=$((half - 1))
    done
    set -- "$first" "$rest"
    # shellcheck disable=SC2086 # words are meant to split
    drop $1
    # shellcheck disable=SC2086
    drop $2
}

shrink() {
    small=$1
    deadline=$(($(date +%s) + $2))
    : >"$scratch/told"
    for ranks in 3 4 5 6; do
        try "ranks=$ranks" && break
    done
    for tasks in 5 10 20 30; do
        try "tasks=$tasks" && break
    done
    # shellcheck disable=SC2046 # words are meant to split
    drop $("$chaos" --features)
    kept='' dropped=''
    for feature in $("$chaos" --features); do
        case $small: in *:no-$feature:*) dropped=1 ;; *) kept=$kept${kept:+,}$feature ;; esac
    done
    [ -z "$dropped" ] || small=$(echo "$small" | sed 's/:no-[^:]*//g'):only=$kept
    deadline=$(($(date +%s) + 60)) again=0
    for turn in 1 2 3 4 5; do
        fails "$small" 1 && again=$((again + 1))
    done
    cat "$scratch/told"
    echo "smallest: $small"
    echo "     fails in $again of 5 runs; BUILD=$BUILD sh tests/cli/chaos_test.sh $small"
}

case ${1-} in
run) run_case "$2" "$3" ;;
shrink)
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    shrink "$2" "${3:-60}"
    ;;
*)
    echo "usage: chaos_case.sh run CASE DIR | shrink CASE [SECONDS]" >&2
    exit 2
    ;;
esac
