#!/bin/sh
# bench_test.sh - the benchmarks run, check what they run, and judge by their targets.
#
# Each program at its smallest: it must end well and print the rows that it is for.  No
# figure is looked at, since a machine that runs tests is busy.  Then run.sh is given
# programs that only print rows: it must fail where, and only where, one misses its
# target, and say how the library was compiled.  write_page.py must write all of a page's
# tables or none, and profile.sh must refuse what it cannot do.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_base_warn_component_unused=0
launcher="mpirun --oversubscribe"
[ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
failed=0

fail() {
    echo "FAIL  $1"
    failed=1
}

# rows RANKS "ROW..." PROGRAM ARGUMENTS...
rows() {
    ranks=$1 wanted=$2 program=$3
    shift 3
    # shellcheck disable=SC2086 # a launcher's words are meant to split
    timeout -k 5 400 $launcher -n "$ranks" "$build/tests/bench/$program" "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null || {
        fail "$program on $ranks ranks: exit $?"
        tail -n 5 "$scratch/err"
    }
    for row in $wanted; do
        grep -qE "^$row +[0-9a-z.+-]+ +[0-9.-]+( |\$)" "$scratch/out" ||
            fail "$program on $ranks ranks: no row $row"
    done
    case $program in metg | arrays | large | waiting | trust) cat "$scratch/out" >>"$scratch/quick" ;; esac
    echo "ok    $program on $ranks ranks: $(wc -l <"$scratch/out") rows"
}

patterns="trivial no_comm stencil_1d stencil_1d_periodic dom tree fft all_to_all nearest
    spread random_nearest"
metg=$(for p in $patterns; do echo "metg-$p-3ranks-width7"; done)
rows 3 "$metg metg-most-us-3ranks-width7" metg --pattern all --width 7 --steps 12 --rounds 1 \
    --seconds 0.01 --most-us 1000
# The highest of moot's, of the rows that have found a grain: most of these have not.
awk '$1 ~ /^metg-most-us/ { row = $2 == "nan" ? "nan" : $2 + 0; next }
    $2 != "nan" && $7 == "moot" && !(most >= $8 + 0) { most = $8 + 0 }
    END { near = row - most; if (near < 0) near = -near
          exit !(most == "" ? row == "nan" : row != "nan" && near <= 0.01 + most / 1000) }' \
    "$scratch/out" || {
    fail "metg: another row counts as the highest"
    cat "$scratch/out"
}
arrays=$(for p in $patterns; do
    case $p in dom | tree | random_nearest) ;; *) echo "arrays-$p-3ranks-width7 single-$p-3ranks-width7" ;; esac
done)
rows 3 "$arrays" arrays --pattern all --width 7 --steps 12 --rounds 1 --seconds 0.01
# refuses WORDS PROGRAM ARGUMENTS...: the program says so, and measures nothing
refuses() {
    words=$1 program=$2
    shift 2
    # shellcheck disable=SC2086 # a launcher's words are meant to split
    ! timeout -k 5 60 $launcher -n 1 "$build/tests/bench/$program" "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null || fail "$program $*: exit 0"
    grep -qxF -e "$words" "$scratch/err" || fail "$program $*: no word of $words"
    [ ! -s "$scratch/out" ] || fail "$program $*: measures"
}
for number in nan inf -1 4x ""; do
    refuses "--seconds wants a number from 0 to 86400" metg --seconds "$number"
done
refuses "--most-us wants a number from 0 to 1e+06" metg --most-us nan
rows 2 "repair-trust-fft-2ranks-width8" trust --steps 12 --pairs 1
rows 3 "skip-10%-tree-3ranks-width5 shuffle-10%-fft-3ranks-width5" \
    diverge --width 5 --steps 20 --repeat 1
rows 1 "empty-local-task-ns" spawning --tasks 2000
rows 2 "spawn-remote-task-ns memory-per-remote-task-bytes" spawning --tasks 2000
rows 1 "large-block-none-16384ranks-us large-cyclic-window-16384ranks-bytes
    large-block-all-window-16384ranks-us large-cyclic-none-2ranks-us" large --arrays 10 --repeat 1
for ranks in 1 3; do
    "$build/tests/bench/scaling" --ranks $ranks --steps 40 >"$scratch/out" 2>&1 || fail "scaling: exit $?"
    grep -qE "^pieces $((40 * ranks)) frames [0-9.]+\$" "$scratch/out" ||
        fail "scaling on $ranks ranks counts other pieces: $(cat "$scratch/out")"
done
rows 2 "wait-group-trivial-2ranks-width5 wait-all-trivial-2ranks-width5" waiting \
    --pattern trivial --width 5 --steps 20 --pairs 1
rows 2 "consumer-after-producer-us wait-for-others-task-us result-of-1MiB-time-to-raw
    result-of-64MiB-time-to-raw" wire --rounds 1
WAYS_QUICK=1 timeout 120 tests/bench/wires.sh "$build" 1 >"$scratch/out" 2>"$scratch/err" || {
    fail "wires.sh: exit $?"
    tail -n 5 "$scratch/err"
}
for row in way-rings-8B-us way-mpi-vader-16MiB-us rings-to-mpi-8B tcp-seal-adds-to-64B-us \
    $([ ! -f "$build/wires/ucx.so" ] || echo way-ucx-sealed-1MiB-us ucx-seal-adds-to-64B-us); do
    grep -qE "^$row +[0-9a-z.+-]+ +[0-9.-]+ " "$scratch/out" || fail "wires.sh: no row $row"
done
# script NAME "ROW...": one that skips itself where it cannot be run
script() {
    WAYS_QUICK=1 TASKS=20000 SIZES=2 SIM=16 RECORDS=2000 MIB=4 TILES=4 timeout 120 \
        "tests/bench/$1" "$build" 1 >"$scratch/out" 2>"$scratch/err"
    code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || fail "$1: exit $code: $(tail -n 5 "$scratch/err")"
    for row in $([ "$code" -ne 0 ] || echo "$2"); do
        grep -qE "^$row +[0-9.e+]+ +[0-9.-]+ " "$scratch/out" || fail "$1: no row $row"
    done
}
script hosts.sh "hosts-moot-ms hosts-moot-to-mpi-time hosts-moot-to-mpi-link"
script attack.py "attack-frames-time attack-connections-processor"
script changing.py "changing-grow-2-ms changing-boundary-one-comes-2-ms changing-others-grow-sleep-8 changing-sim-leave-16-ms"
script storing.sh "storing-open-1-ms storing-first-8-us storing-find-8-us storing-miss-8-us storing-find-64-us storing-large-beside-dd storing-job"
rows 3 "vote-pure-us vote-once-us vote-parked-us branch-of-10000-alone-to-agreed" voting
rows 3 "array-bound-to-own" bound --elements 1000 --pairs 2
rows 2 "idle-core-share-after-1s idle-wake-up-us" idling --rounds 1
rows 2 "cholesky-access-modes-to-inputs cholesky-beside-to-not-time cholesky-beside-to-not-bytes" \
    access --tiles 4 --pairs 2
rows 2 "words-beside-to-not-time words-beside-to-not-bytes" words --rounds 1
rows 2 "" profiled --work step --count 20
rows 2 "" profiled --work spawn
rows 1 "" profiled --work local --count 2000
rows 2 "long-run-growth-bytes-per-task" longrun --tasks 20000
rows 2 "skip-growth-bytes-per-task skip-processor-time-grows" differ --tasks 100000 --skip 10000
rows 1 "micro-hash-ns micro-push-ns micro-spawn-remote-release-ns" \
    micro --count 200 --repeat 1

# verdict STATUS ROW: of a bench-quick in which one program prints this row, and another
# one's instructions are counted
verdict() {
    mkdir -p "$scratch/b/tests/bench"
    printf '#!/bin/sh\necho "good 1 1 # as wanted"\n' >"$scratch/b/tests/bench/trust"
    printf '#!/bin/sh\necho "row %s"\n' "$2" >"$scratch/b/tests/bench/metg"
    printf '#!/bin/sh\necho "arrays 1 1"\n' >"$scratch/b/tests/bench/arrays"
    printf '#!/bin/sh\necho "waiting 1 1"\n' >"$scratch/b/tests/bench/waiting"
    printf '#!/bin/sh\necho "large 1 1"\n' >"$scratch/b/tests/bench/large"
    mkdir -p "$scratch/bin"
    printf '#!/bin/sh\necho "pieces 1 frames 1"\necho "Collected : 7"\n' >"$scratch/bin/valgrind"
    chmod +x "$scratch"/b/tests/bench/* "$scratch/bin/valgrind"
    PATH=$scratch/bin:$PATH tests/bench/run.sh "$scratch/b" quick >"$scratch/out" 2>&1
    code=$?
    [ "$code" -eq "$1" ] || fail "run.sh: exit $code, not $1, for a row of $2"
    grep -q "^scaling-step-64ranks-to-2 1.000 1.15 " "$scratch/out" || fail "run.sh: no row of 64 ranks"
}

# How the library was compiled stands before the rows.
built() {
    grep -qxF "# library compiled: $1" "$scratch/out" || {
        fail "run.sh does not say \"$1\""
        sed -n '/^# /p' "$scratch/out"
    }
}
verdict 0 "2.5 2.5"
built "in a way that is not known"
echo "gcc -O2" >"$scratch/b/flags"
verdict 0 "2.5 2.5"
built "each file by itself (a developer's build)"
echo "gcc -O2 -flto=auto" >"$scratch/b/flags"
verdict 0 "2.5 2.5"
built "plainly (make)"
echo "gcc -O2 -flto=auto -fprofile-use" >"$scratch/b/flags"
verdict 0 "2.5 2.5"
built "plainly (make)" # counting has failed: there are no counts
mkdir "$scratch/b/counted"
: >"$scratch/b/counted/engine.gcda"
verdict 0 "2.5 2.5"
built "by counts of its work (make PROFILE=1)"
verdict 1 "2.51 2.5"
verdict 0 "2.51 2.5 # quartile 2.4, moot"
verdict 1 "2.61 2.5 # quartile 2.6, moot"
verdict 1 "nan 2.5 # quartile 2.4, moot"
verdict 1 "nan 2.5"
verdict 1 "0 2.5"

# A page's tables are written anew, all or none.
page=$scratch/page.md rows=$scratch/rows about=$scratch/about
fresh() {
    printf '%s\n' before '<!-- bench quick: metg-* -->' old '<!-- end -->' \
        '<!-- bench long: long-* -->' older '<!-- end -->' after >"$page"
    cp "$page" "$page.was"
    printf 'metg-fft   2.25  4  # in words\n' >"$rows"
    printf 'machine: a loom\nlibrary compiled: plainly (make)\n' >"$about"
}
write() { python3 tests/bench/write_page.py quick "$rows" "$about" "$page" 2>"$scratch/err"; }
# unwritten WORDS: the page stays as it is
unwritten() {
    ! write || fail "write_page.py writes in spite of: $1"
    grep -qF "$1" "$scratch/err" || fail "write_page.py does not say: $1"
    cmp -s "$page" "$page.was" || fail "write_page.py changed the page in spite of: $1"
}
fresh
write || fail "write_page.py: $(cat "$scratch/err")"
# shellcheck disable=SC2016 # Markdown has backquotes
printf '%s\n' before '<!-- bench quick: metg-* -->' \
    '`make bench-quick`. Machine: a loom. Library compiled: plainly (make).' '' \
    '| row | value | target | |' '|---|---|---|---|' '| `metg-fft` | 2.25 | 4 | in words |' \
    '<!-- end -->' '<!-- bench long: long-* -->' older '<!-- end -->' after |
    cmp -s - "$page" || {
    fail "write_page.py writes another page"
    cat "$page"
}
fresh
echo "others: 6" >>"$about"
unwritten "others had up to 6 % of the cores"
fresh
echo "new-row 1 2" >>"$rows"
unwritten "no table has a place for new-row"
fresh
echo "other 1 2" >"$rows"
unwritten "no row for the table of metg-*"
fresh # the page of this tree has a place for all that quick measures
cp deploy/doc/PERFORMANCE.md "$page"
echo "scaling-step-2ranks-instructions 1 -" | cat "$scratch/quick" - >"$rows"
write || fail "write_page.py: $(cat "$scratch/err")"

# refused WORDS COMMAND...: profile.sh says what is wrong before it measures anything
refused() {
    words=$1
    shift
    timeout 10 "$@" >"$scratch/out" 2>&1
    code=$?
    if [ "$code" -ne 2 ] || [ "$(cat "$scratch/out")" != "profile.sh: $words" ]; then
        fail "profile.sh: exit $code, not 2 with \"$words\": $(cat "$scratch/out")"
    fi
}
for top in abc -1 1e3 10000000; do
    refused "TOP=$top is no number of functions: 0 to 999999" \
        env TOP=$top tests/bench/profile.sh "$scratch/b" local
done
refused 'unknown work "leap": step-WIDTH (1 to 256), spawn or local' \
    tests/bench/profile.sh "$scratch/b" leap
[ "$failed" -eq 0 ] && echo "ok    run.sh fails where, and only where, a target is missed"
exit "$failed"
