#!/bin/sh
# run.sh [-q] [-j N] BUILD KIND... - runs the test programs of the given kinds and counts them.
#
#   layers lint man            the scripts in tests/tidy/
#   unit conformance sim       each tests/KIND/*_test.c, built as BUILD/tests/KIND/NAME
#   mpi                        tests/mpi/plan.txt; what it does not name, on 4 ranks
#   cli                        each tests/cli/*_test.sh; they find BUILD in $BUILD
#   explore                    the small scenes of tests/explore/, each whole
#   virtual                    tests/virtual/virtual, some hundred seeds, and its canaries
#   fuzz                       each tests/fuzz/*_fuzz.c for $FUZZ_SECONDS (default 3)
#   mutants                    the core with its rules broken one by one (make mutants)
#   lint-fast seeds cli-fast   a part of lint, of sim and of cli that takes seconds
#   soak                       tests/soak.txt: longer seeds
#
# A program passes if it exits 0 in time; exit 77 skips it.  Its output goes to
# BUILD/logs/ and is shown if it fails.  -q prints failures only.  The last line is
# "N passed, N failed"; the exit status is 1 if one failed or none ran.  Without -q
# the ten programs that took most seconds of a core stand before it; BUILD/logs/costs has all,
# and the seconds that passed.
#
# A program that starts processes and looks at the clock (unit, conformance, mpi, cli) can
# fail because other work had the cores.  Where up to 3 of these fail they run once more at
# the end, alone; one that passes then counts, and the count of those is told with the log
# of the first time, which is to be read: it may be a race.
#
# What computes and does not look at the clock (lint, sim, explore, virtual, mutants, seeds,
# and of cli what CALM names) runs beside all the rest, at the lowest priority: most other
# tests wait most of their time.  The rest run one by one, since they have more ranks than
# cores and look at it; -j N runs N at a time.  Beside them run those of few processes (layers,
# man, unit, conformance), also one by one; and, three at a time, those of cli that wait most
# of their time, for silences and leases, and the documents: WAITING, whose longest stand
# first, so that none of them is alone at the end.  A test belongs there if BUILD/logs/costs
# gives it less than half of a core.  Programs that measure for so many seconds (train, bench)
# are not calm: at the lowest priority their ranks, which spin for each other, take ten times
# as long.
# Fuzzers, which are given seconds, come last, one for each core at a time.
#
# A line of a plan: ranks (a comma list; - for no mpirun), seconds, program, arguments.
# A program without a slash is BUILD/tests/mpi/ of that name; others are from the top of
# the tree, with $BUILD expanded.
set -u

quiet=
[ "${1-}" != -q ] || {
    quiet=1
    shift
}
at_a_time=1
[ "${1-}" != -j ] || {
    at_a_time=${2:?usage: run.sh -j N BUILD KIND...}
    shift 2
}
BUILD=${1:?usage: run.sh [-q] [-j N] BUILD KIND...}
shift
export BUILD
logs=$BUILD/logs
mkdir -p "$logs"
scratch=$(mktemp -d)
AGAIN_MAX=3
results=$scratch/results
costs=$logs/costs
: >"$results"
: >"$costs"
cores=$(nproc 2>/dev/null || echo 2)
CALM="digests doc examples install cxx"
WAITING="deaths snapshots wires ssh documents stalls line agents routes shrink newcomers late"
WAITING="$WAITING poison slurm tune grow restart endings local ports late_hosts launchers_hosts"
WAITING="$WAITING moot launchers reload routes_hosts joining report signatures doctor sessions"
WAITING="$WAITING state openings disk_faults hash leave joining_hosts faults rows builds links"
WAITING="$WAITING hosts onces checkpoint checkpoint_hosts"
WAITING_MAX=3
PATIENT=3600 # seconds at least for what may come to no core while others have them

# Open MPI leaks at exit; what is ours must not.  Ranks outnumber cores here, so waiting
# ranks must yield the core.
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_base_warn_component_unused=0
# Open MPI would choose it after a look at all others, which takes as long as the rest of a start.
export OMPI_MCA_pml=ob1
# Where python3 is a script that looks for one (pyenv), each start would take half a second.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null || :)
if [ -n "$python" ] && [ "$python" != "$(command -v python3)" ]; then
    ln -s "$python" "$scratch/python3"
    PATH=$scratch:$PATH
fi

launcher="mpirun --oversubscribe"
[ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"

# Several shells go through the same kinds; each program is run by the first that comes
# to it.
list=0 place=0 priority='' helpers='' patient='' child='' looks_at_clock='' again=''

# of_cores: the seconds of cores that this shell's programs had taken by `times`.
of_cores() {
    tail -n 1 "$clock" | awk -F '[ms ]+' '{ print 60 * ($1 + $3) + $2 + $4 }'
}

log_of() { echo "$logs/$(echo "$1" | tr -c 'A-Za-z0-9._\n-' _).log"; }

# run_one NAME SECONDS COMMAND...
run_one() {
    place=$((place + 1))
    mkdir "$scratch/$list-$place" 2>/dev/null || return 0
    name=$1 seconds=$2
    shift 2
    [ -z "$priority" ] || [ "$seconds" -gt "$PATIENT" ] || seconds=$PATIENT
    log=$(log_of "$name")
    clock=$scratch/$list-$place/clock
    began=$(date +%s.%N)
    times >"$clock"
    cores_before=$(of_cores)
    # shellcheck disable=SC2086 # no priority is no word
    timeout -k 10 "$seconds" $priority "$@" >"$log" 2>&1 </dev/null &
    child=$!
    wait "$child"
    code=$?
    took=$(echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    times >"$clock"
    used=$(echo "$cores_before $(of_cores)" | awk '{ printf "%.1f", $2 - $1 }')
    printf '%s\t%s\t%s\n' "$used" "$took" "$name" >>"$costs"
    case $code in
    0)
        echo passed >>"$results"
        [ -z "$again" ] || echo "again    $name: $log.first" >>"$results"
        [ -n "$quiet" ] || echo "ok    $name  ${took}s"
        ;;
    77)
        echo skipped >>"$results"
        echo "skip  $name  $(tail -n 1 "$log")"
        ;;
    *)
        if [ -n "$looks_at_clock" ] && [ -z "$again" ]; then
            printf '%s\t%s\t%s\n' "$name" "$seconds" "$*" >>"$scratch/again"
            cp "$log" "$log.first"
        else
            echo "failed   $name: $log" >>"$results"
        fi
        why="exit $code"
        [ "$code" -ne 124 ] && [ "$code" -ne 137 ] || why="not done in ${seconds}s"
        # The end of the output, after what it says further up of things that failed.
        printf '%s\n' "FAIL  $name  ${took}s  $why:  $*
$(head -n -30 "$log" | grep -m 3 -A 8 'FAIL' | cut -c 1-300 | sed 's/^/      /')
$(tail -n 30 "$log" | sed 's/^/      /')"
        ;;
    esac
}
count() { grep -c "^$1" "$results"; }

# begin SHELLS KIND...: so many shells take what is to be run for these kinds, in order
begin() {
    shells=$1
    shift
    list=$((list + 1))
    while [ "$shells" -gt 0 ]; do
        (
            trap 'kill "$child" 2>/dev/null; exit 1' TERM
            for kind in "$@"; do
                run_kind "$kind"
            done
            exit 0
        ) &
        helpers="$helpers $!"
        shells=$((shells - 1))
    done
}
# finish: waits for them; one that is ended has not run all that it took
finish() {
    for helper in $helpers; do
        wait "$helper" || echo "failed   a shell that runs tests: status $?" >>"$results"
    done
    helpers=''
}
stop() {
    # shellcheck disable=SC2086 # words are meant to split
    kill $helpers $patient 2>/dev/null
    wait
    exit 1
}
# Each mpirun makes this directory if it is not there, and removes it if nothing is left in it;
# another that begins just then fails.  So something is always in it.
sessions=${TMPDIR:-/tmp}/ompi.$(uname -n | cut -d . -f 1).$(id -u)
mkdir -p "$sessions/$$"
trap 'rm -rf "$scratch" "$sessions/$$"' EXIT
trap stop INT TERM HUP

# programs KIND SECONDS: every tests/KIND/*_test.c
programs() {
    for source in "tests/$1"/*_test.c; do
        [ -f "$source" ] || continue
        name=$(basename "$source" .c)
        run_one "$1/$name" "$2" "$BUILD/tests/$1/$name"
    done
}

# plan FILE: its lines, for each rank count
plan() {
    [ -f "$1" ] || return 0
    while read -r ranks seconds program arguments; do
        case $ranks in '' | '#'*) continue ;; esac
        path=$(echo "$program" | sed "s,\\\$BUILD,$BUILD,")
        case $program in */*) ;; *) path=$BUILD/tests/mpi/$program ;; esac
        arguments=$(echo "$arguments" | sed "s,\\\$BUILD,$BUILD,g")
        for count in $(echo "$ranks" | tr , ' '); do
            start="$launcher -n $count"
            [ "$count" != - ] || start=
            # shellcheck disable=SC2086 # words are meant to split
            run_one "$(basename "$program")${arguments:+ $arguments} n=$count" \
                "$seconds" $start "$path" $arguments
        done
    done <"$1"
}

# Test programs over MPI that no plan line names.
unplanned() {
    for source in tests/mpi/*.c; do
        [ -f "$source" ] || continue
        name=$(basename "$source" .c)
        grep -qsE "^[0-9,-]+[[:space:]]+[0-9]+[[:space:]]+$name([[:space:]]|\$)" \
            tests/mpi/plan.txt && continue
        # shellcheck disable=SC2086 # words are meant to split
        run_one "$name n=4" 120 $launcher -n 4 "$BUILD/tests/mpi/$name"
    done
}

# scripts NAME...: tests/cli/NAME_test.sh
scripts() {
    for name in "$@"; do
        script=tests/cli/${name}_test.sh
        [ -f "$script" ] || continue
        run_one "cli/$(basename "$script" .sh)" 900 sh "$script"
    done
}

fuzzers() {
    for source in tests/fuzz/*_fuzz.c; do
        [ -f "$source" ] || continue
        name=$(basename "$source" .c)
        corpus=
        [ ! -d "tests/fuzz/$name.corpus" ] || corpus=tests/fuzz/$name.corpus
        mkdir -p "$BUILD/fuzz/$name.found"
        # shellcheck disable=SC2086 # an empty corpus is no argument
        run_one "fuzz/$name" $((${FUZZ_SECONDS:-3} + 60)) "$BUILD/fuzz/$name" \
            -max_total_time="${FUZZ_SECONDS:-3}" -artifact_prefix="$BUILD/fuzz/$name-" \
            -error_exitcode=1 \
            "$BUILD/fuzz/$name.found" $corpus
    done
}

run_kind() {
    looks_at_clock=
    case $1 in unit | conformance | mpi | cli*) looks_at_clock=1 ;; esac
    case $1 in
    layers)
        run_one layers 60 python3 tests/tidy/layers.py "$BUILD"
        run_one layers_test 300 python3 tests/tidy/layers_test.py
        ;;
    lint) run_one lint 1800 make --no-print-directory -j"$cores" lint LINT_NODES=4000 BUILD="$BUILD" PROFILE= AS_IT_IS=1 ;;
    man)
        run_one man_errors 60 python3 tests/tidy/errors.py
        run_one man 600 sh tests/tidy/man_examples.sh "$BUILD"
        ;;
    unit | conformance) programs "$1" 120 ;;
    sim) programs sim 1200 ;;
    mpi)
        plan tests/mpi/plan.txt
        unplanned
        ;;
    cli)
        for script in tests/cli/*_test.sh; do
            name=$(basename "$script" _test.sh)
            case " $CALM $WAITING " in *" $name "*) ;; *) scripts "$name" ;; esac
        done
        ;;
    cli-calm)
        # shellcheck disable=SC2086 # words are meant to split
        scripts $CALM
        ;;
    cli-waiting)
        # shellcheck disable=SC2086 # words are meant to split
        scripts $WAITING
        ;;
    lint-fast) run_one lint-fast 300 make --no-print-directory -j"$cores" lint-text lint-format lint-scripts lint-man ;;
    seeds) run_one "200 seeds of moot sim" 300 "$BUILD/moot" sim --ranks 5 --seeds 1..200 --jobs 1 ;;
    cli-fast) scripts verbs faults ;;
    fuzz) fuzzers ;;
    explore) run_one explore 900 "$BUILD/tests/explore/explore" --quick ;;
    virtual)
        run_one "virtual, 500 seeds" 600 "$BUILD/tests/virtual/virtual" --seeds 1..500
        run_one "virtual, seed 1515: an heir dies" 600 "$BUILD/tests/virtual/virtual" --seed 1515
        run_one "virtual, seed 2360: likewise" 600 "$BUILD/tests/virtual/virtual" --seed 2360
        run_one "virtual, 60 seeds twice" 600 "$BUILD/tests/virtual/virtual" --seeds 501..560 --digest
        run_one "virtual, 300 programs of sessions" 600 "$BUILD/tests/virtual/virtual" --sessions --seeds 1..300
        run_one "virtual, 40 of them twice" 600 "$BUILD/tests/virtual/virtual" --sessions --seeds 301..340 --digest
        run_one "virtual, 350 programs with a checkpoint" 600 "$BUILD/tests/virtual/virtual" --stores --seeds 1..350
        # A worker asked for what a dead rank had stored before another one had opened it.
        run_one "virtual, seed 882 of these" 600 "$BUILD/tests/virtual/virtual" --stores --seed 882
        run_one "virtual, 40 of them twice" 600 "$BUILD/tests/virtual/virtual" --stores --seeds 701..740 --digest
        run_one "virtual, 150 programs with arrays" 600 "$BUILD/tests/virtual/virtual" --arrays --seeds 1..150
        run_one "virtual, seed 387 of these: another owns an array's end" 600 "$BUILD/tests/virtual/virtual" --arrays --seed 387
        for seed in 1209928 1213527 1212637; do # after a death or two, and beside a leave
            run_one "virtual, seed $seed: no close hangs" 600 "$BUILD/tests/virtual/virtual" --arrays --seed $seed
        done
        run_one "virtual, seed 677: who leaves has a large result" 600 "$BUILD/tests/virtual/virtual" --arrays --seed 677
        run_one "virtual, seed 20458: inputs are asked for one after the other" 600 "$BUILD/tests/virtual/virtual" --arrays --seed 20458
        run_one "virtual, seed 101022: a rank dies that a read has asked" 600 "$BUILD/tests/virtual/virtual" --arrays --seed 101022
        run_one "virtual, seed 1431: a read waits for a dead rank" 600 "$BUILD/tests/virtual/virtual" --arrays --seed 1431
        run_one "virtual, seed 660039: arrays wait for each other's gates" 600 "$BUILD/tests/virtual/virtual" --arrays --seed 660039
        run_one "virtual, 20 of them twice" 600 "$BUILD/tests/virtual/virtual" --arrays --seeds 151..170 --digest
        run_one "virtual, 12 long programs" 600 "$BUILD/tests/virtual/virtual" --steady --seeds 1..12
        run_one "virtual, its canaries" 600 sh tests/virtual/canaries.sh
        ;;
    mutants) run_one mutants 1800 make --no-print-directory -s mutants BUILD="$BUILD" PROFILE= AS_IT_IS=1 ;;
    soak) plan tests/soak.txt ;;
    esac
}

beside='' single='' alone='' waiting='' timed=''
for kind in "$@"; do
    case $kind in
    lint | lint-fast | sim | seeds | explore | virtual | mutants) beside="$beside $kind" ;;
    cli) beside="$beside cli-calm" alone="$alone cli" waiting="$waiting cli-waiting" ;;
    layers | man | unit | conformance) single="$single $kind" ;;
    mpi | cli-fast | soak) alone="$alone $kind" ;;
    fuzz) timed="$timed $kind" ;;
    *)
        echo "run.sh: no such kind of test: $kind" >&2
        exit 2
        ;;
    esac
done

# shellcheck disable=SC2086 # words are meant to split
{
    priority="nice -n 19"
    begin "$cores" $beside
    patient=$helpers priority='' helpers=''
    if [ "$at_a_time" -gt 1 ]; then
        begin "$at_a_time" $single $alone
    else
        begin 1 $single
        begin 1 $alone
    fi
    begin $WAITING_MAX $waiting
    finish
    helpers=$patient patient=''
    finish
    begin "$cores" $timed
    finish
}

# What looks at the clock and failed, once more; of many failures none is put down to load.
if [ -f "$scratch/again" ]; then
    if [ "$(wc -l <"$scratch/again")" -le $AGAIN_MAX ]; then
        again=1 looks_at_clock='' priority='' list=again
    fi
    while IFS="$(printf '\t')" read -r name seconds command; do
        if [ -n "$again" ]; then
            echo "once more, alone: $name"
            # shellcheck disable=SC2086 # words are meant to split
            run_one "$name" "$seconds" $command
        else
            echo "failed   $name: $(log_of "$name")" >>"$results"
        fi
    done <"$scratch/again"
fi

[ -n "$quiet" ] || echo "the ten that took most seconds of a core, of $(awk '{ all += $1 } END { printf "%.0f", all }' "$costs"):
$(sort -rn "$costs" | head -n 10 | awk -F '\t' '{ printf "  %7.1fs  %s\n", $1, $3 }')"
passed=$(count passed) failed=$(count failed) skipped=$(count skipped)
[ "$failed" -eq 0 ] || echo "failed, with the whole output in:
$(sed -n 's/^failed //p' "$results")"
[ "$(count again)" -eq 0 ] || echo "$(count again) passed only when run again alone; the first time's output:
$(sed -n 's/^again //p' "$results")"
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
