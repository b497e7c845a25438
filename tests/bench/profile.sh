#!/bin/sh
# profile.sh BUILD [WORK...] - where the instructions and the cache misses of a task go.
#
# WORK is step-2 or step-8 (a step of stencil_1d of that width on two ranks, whose kernels
# do not compute), spawn (for another rank) or local (an empty task, all of its life); all
# of them by default.  Rank 0 of tests/bench/profiled.c runs under callgrind with the sizes
# of this processor's caches, the shared library that users link, and a clock that goes as
# slowly as the program does (slow_clock.c), so that what is done by time comes as often
# as in a real run.  Waiting counts, too: on a busy machine there is more of it.
#
# A row is `name value target` as of run.sh, and behind it what else there is of a piece:
# misses of the first caches, by instructions and by data, and of the second, by data;
# mispredicted branches; and an estimate of the cycles that all of it takes.  Then, by
# these cycles, the functions: what each did itself, with what is inlined into it.
# TOP=N lists so many of them (12).  callgrind's own files are in BUILD/profile/.
set -eu
BUILD=${1:?usage: profile.sh BUILD [step-8|step-2|spawn|local]...}
shift
[ $# -gt 0 ] || set -- step-8 step-2 spawn local
for work in "$@"; do
    width=${work#step-}
    case $work in
    spawn | local | step-[1-9] | step-[1-9][0-9] | step-[12][0-9][0-9]) [ "$width" = "$work" ] || [ "$width" -le 256 ] ;;
    *) false ;;
    esac || {
        echo "profile.sh: unknown work \"$work\": step-WIDTH (1 to 256), spawn or local" >&2
        exit 2
    }
done
top=${TOP:-12}
case $top in
*[!0-9]* | ???????*)
    echo "profile.sh: TOP=$top is no number of functions: 0 to 999999" >&2
    exit 2
    ;;
esac
folder=$BUILD/profile
mkdir -p "$folder"
export OMPI_MCA_btl_base_warn_component_unused=0
launcher=mpirun
[ "$(id -u)" -ne 0 ] || launcher="mpirun --allow-run-as-root"
command -v valgrind >/dev/null || {
    echo "profile.sh: there is no valgrind" >&2
    exit 2
}

# known VARIABLE: what getconf says, or 0 where it says "undefined" or nothing
known() {
    getconf "$1" 2>/dev/null | grep -x '[0-9][0-9]*' || echo 0
}

# cache NAME BYTES LEVEL: an option; size and ways are the processor's, 8 ways where it
# tells none.  callgrind wants a power of two of sets: where they are none, these bytes.
cache() {
    size=$(known "$3_SIZE") ways=$(known "$3_ASSOC")
    [ "$ways" -gt 0 ] || ways=8
    sets=$((size / ways / 64))
    if [ "$sets" -eq 0 ] || [ $((sets & (sets - 1))) -ne 0 ]; then
        size=$2 ways=8
    fi
    echo "--$1=$size,$ways,64"
}
slowly="env LD_PRELOAD=$(cd "$BUILD" && pwd)/tests/bench/slow_clock.so"
callgrind="valgrind --tool=callgrind"
caches="--cache-sim=yes --branch-sim=yes $(cache I1 32768 LEVEL1_ICACHE)
    $(cache D1 32768 LEVEL1_DCACHE) $(cache LL 524288 LEVEL2_CACHE)"

# collect NAME RANKS "FUNCTION..." PROGRAM ARGUMENTS...: of these functions and all that
# they call, on rank 0.  The other is as slow, unless rank 0 does not wait for it.
collect() {
    name=$1 ranks=$2 toggles=
    for function in $3; do
        toggles="$toggles --toggle-collect=$function"
    done
    shift 3
    other="$callgrind --callgrind-out-file=/dev/null"
    [ "$name" != spawn ] || other=
    [ "$ranks" -eq 1 ] || other=": -n 1 $slowly $other $*"
    [ "$ranks" -eq 2 ] || other=
    # shellcheck disable=SC2086 # words are meant to split
    $launcher -n 1 $slowly $callgrind $caches $toggles \
        --callgrind-out-file="$folder/$name.out" "$@" $other >"$folder/$name.log" 2>&1 || {
        cat "$folder/$name.log" >&2
        exit 2
    }
}

# show NAME COUNT: what was collected, by so many pieces
show() {
    callgrind_annotate --auto=no --threshold=100 --show-percs=no \
        --show=Ir,I1mr,D1mr,D1mw,DLmr,DLmw,Bcm,Bim "$folder/$1.out" >"$folder/$1.txt"
    tr -d , <"$folder/$1.txt" | awk -v name="$1" -v count="$2" '
        $1 !~ /^[0-9]+$/ { next }
        {
            for (i = 1; i <= 8; i++) value[i] = ($i == "." ? 0 : $i) / count
            data = value[3] + value[4]
            far = value[5] + value[6]
            mispredicted = value[7] + value[8]
            cycles = 0.3 * value[1] + 8 * value[2] + 4 * data + 15 * mispredicted
            cycles += 40 * value[5] + 10 * value[6]
        }
        /PROGRAM TOTALS/ {
            printf "profile-%s-instructions %.0f - # misses: ", name, value[1]
            printf "%.1f I1, %.1f D1, %.1f L2; ", value[2], data, far
            printf "%.1f mispredicted; %.0f cycles\n", mispredicted, cycles
            next
        }
        { # callgrind has a row for each file of which something is inlined into it
            $1 = $2 = $3 = $4 = $5 = $6 = $7 = $8 = ""
            sub(/^ *[^ ]*:/, "")
            if ($0 !~ /^0x/) sub(/ \[.*/, "") # a nameless one has its library
            instructions[$0] += value[1]
            near[$0] += value[2]
            nearby[$0] += data
            away[$0] += far
            wrong[$0] += mispredicted
            all[$0] += cycles
        }
        END {
            for (who in all) {
                printf "%7.0f %6.1f %6.1f ", instructions[who], near[who], nearby[who]
                printf "%6.1f %6.1f %7.0f ", away[who], wrong[who], all[who]
                print who
            }
        }' >"$folder/$1.rows"
    sed -n 1p "$folder/$1.rows"
    echo "#   Ir     I1     D1     L2 mispr.  cycles"
    sed 1d "$folder/$1.rows" | sort -k6,6nr | head -n "$top" | sed 's/^/#/'
}

for work in "$@"; do
    case $work in
    step-*)
        count=2000
        collect "$work" 2 by_moot_run "$BUILD/tests/bench/profiled" --work step \
            --width "${work#step-}" --count $count
        ;;
    spawn)
        count=40000
        collect spawn 2 moot_task_spawn_at "$BUILD/tests/bench/profiled" --work spawn \
            --count $count
        ;;
    local)
        count=40000
        collect local 1 "moot_task_spawn_at moot_task_wait_all moot_task_release" \
            "$BUILD/tests/bench/profiled" --work local --count $count
        ;;
    esac
    show "$work" "$count"
done
