#!/bin/sh
# run.sh BUILD [PART] - what moot costs, beside what is written by hand.
#
#   quick   METG rows, by arrays, too, natural waits beside tuned ones, and repair against
#           trust; under four minutes
#   costs   one cost each: spawns, messages, votes, being idle, a long run
#   wires   half round trips by rings, tcp and ucx, sealed and not, beside UCX and MPI alone
#   hosts   a broadcast to three hosts of namespaces beside MPI_Bcast; needs root
#   attack  a job of honest ranks while strangers send frames and connect; needs root
#   crowd   what a rank needs among 256 processes, beside 64; minutes
#   changing  what it costs that ranks come and go, beside MPI_Comm_spawn; minutes
#   storing   what checkpoints cost: to open, to find, to make durable, and a job; minutes
#   micro   the parts: a hash, a frame, a registration; time and instructions
#   long    a hundred million tasks on one rank, and on two: whether memory grows; minutes
#   others  METG beside StarPU's, in one process with a worker for each core
#   all     quick, costs, wires and micro, at more sizes, and what divergence costs; METG as
#           CSV too, in BUILD/bench.csv, divergence in BUILD/bench-diverge.csv, and a plot of
#           both if gnuplot is there (BUILD/bench.svg)
#
# A row is `name value target`, less is better, and what is behind a # is for people.
# What was measured stands before them: the machine, and how the library was compiled.
# With DOC=1 the tables of deploy/doc/PERFORMANCE.md are written anew (write_page.py), unless
# others had the machine's cores meanwhile.
# A row misses its target if its value does, or, of one whose remark begins with `quartile`, if
# that does: the lower one of its rounds.
# Exit status 1 if a row misses its target, or is missing; 2 if a program fails.
set -eu
BUILD=${1:?usage: run.sh BUILD [PART]}
what=${2:-quick}
rows=$BUILD/bench.rows
about=$BUILD/bench.about
csv=$BUILD/bench.csv
diverge_csv=$BUILD/bench-diverge.csv
export OMPI_MCA_btl_base_warn_component_unused=0
: >"$rows"

# on RANKS PROGRAM ARGUMENTS...: pinned to a core each ($bound) if there are as many; waiting
# ranks must yield where there are not, those written by hand too.  0: without MPI.
bound=core
on() {
    ranks=$1 program=$2
    shift 2
    launcher="mpirun -n $ranks"
    [ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
    if [ "$ranks" -eq 0 ]; then
        launcher=
    elif [ "$ranks" -le "$(nproc)" ]; then
        launcher="$launcher --bind-to $bound"
    else
        launcher="env OMPI_MCA_mpi_yield_when_idle=1 $launcher --oversubscribe"
    fi
    # shellcheck disable=SC2086 # words are meant to split
    $launcher "$BUILD/tests/bench/$program" "$@" >"$rows.part" 2>"$rows.said" || {
        cat "$rows.said" >&2
        echo "run.sh: $program failed: $launcher $program $*" >&2
        exit 2
    }
    cat "$rows.said" >&2
    sed -n 's/.*others had \([0-9]*\) % of this machine.*/others: \1/p' "$rows.said" >>"$about"
    tee -a "$rows" <"$rows.part"
}

metg() {
    on 2 metg --pattern stencil_1d --width 2 --target 2.0 "$@"
    on 2 metg --pattern stencil_1d --width 8 --target 3.0 "$@"
    on 2 metg --pattern others --width 8 --target 4.0 --most-us 6 "$@"
    on 4 metg --pattern stencil_1d --width 16 --target 2.5 "$@"
}

# Rows of task arrays, each step one, and of the same steps by single tasks.
arrays() {
    on 2 arrays --pattern stencil_1d --width 8 --target 2.0 --single-target 3.0 "$@"
    on 2 arrays --pattern stencil_1d --width 2 --target 1.7 --single-target 2.0 "$@"
    on 2 arrays --pattern others --width 8 --target 2.5 --single-target 4.0 "$@"
    on 4 arrays --pattern stencil_1d --width 16 --target 2.0 --single-target 2.5 "$@"
}

quick() {
    arrays --rounds 9 --seconds 8
    metg --rounds 7 --seconds 8
    on 0 large --repeat 1
    scaling 2 64
    on 2 waiting --seconds 5 --target 1.2
    on 2 trust --pattern some --pairs 15 --seconds 7 --target 1.03
}

# Of one operation, under callgrind; nothing without it.
instructions() {
    command -v valgrind >/dev/null || return 0
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect=micro_loop "$BUILD/tests/bench/micro" --only "$1" \
        --count 2000 --repeat 1 2>&1 >/dev/null |
        awk '/Collected/ { printf "; %.0f instructions", $NF / 2000 }'
}

# scaling RANKS...: instructions of a step and rank, and the ratio of the last to those of 2,
# which come first; nothing without callgrind.
scaling() {
    command -v valgrind >/dev/null || return 0
    : >"$rows.sizes"
    for ranks in "$@"; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=count_steps \
            "$BUILD/tests/bench/scaling" --ranks "$ranks" --steps 100 >"$rows.part" 2>&1 || {
            cat "$rows.part" >&2
            echo "run.sh: scaling failed on $ranks ranks" >&2
            exit 2
        }
        awk -v ranks="$ranks" '/^pieces/ { pieces = $2; frames = $4 } /Collected/ { count = $NF }
            END { printf "scaling-step-%dranks-instructions %.0f - # %s frames sent\n", ranks,
                         count / pieces, frames }' "$rows.part" >>"$rows.sizes"
    done
    awk -v last="$ranks" 'NR == 1 { first = $2 } { now = $2; print }
        END { printf "scaling-step-%dranks-to-2 %.3f 1.15 # aim 1.02\n", last, now / first }' \
        "$rows.sizes" | tee -a "$rows"
}

# What the parts cost: a row is a time, and behind it instructions.
micro() {
    for name in $("$BUILD/tests/bench/micro" --list); do
        echo "$("$BUILD/tests/bench/micro" --only "$name")$(instructions "$name")"
    done | tee -a "$rows"
    scaling 2 4 8 16 32 64
}

# One cost each.
costs() {
    voters=$(nproc)
    [ "$voters" -lt 3 ] || voters=3
    [ "$voters" -gt 1 ] || voters=2
    on 1 spawning
    on 2 spawning
    on 1 submitting
    on 2 submitting
    on 2 wire
    on 2 waiting --seconds 5 --target 1.2
    on 4 waiting --seconds 5 --target 1.2
    on "$voters" voting
    on 4 bound --target 1.2
    on 2 idling
    on 2 access --target 1.1
    on 2 words
    on 2 tracing --steps 3000 --pairs 61 --seconds 40 --target 1.03
    on 1 longrun --tasks 10000000
    on 2 longrun --tasks 10000000
    on 4 differ --tasks 10000000 --skip 10000
    on 4 differ --tasks 10000000 --shuffle 1000
}

long() {
    on 1 longrun --tasks 100000000
    on 2 longrun --tasks 100000000
}

# StarPU pins its workers itself, and is as it comes but for this: what it learns of the
# machine stays in BUILD.
others() {
    for name in $(env | sed -n 's/^\(STARPU_[A-Z_]*\)=.*/\1/p'); do
        unset "$name"
    done
    export STARPU_HOME="$BUILD" STARPU_SILENT=1
    bound=none
    on 2 starpu --pattern all --width 8 --rounds 7 --seconds 8 --target 1
}

all() {
    rm -f "$csv"
    arrays --rounds 15
    metg --rounds 15 --csv "$csv"
    on 2 metg --pattern others --width 2 --csv "$csv"
    on 4 metg --pattern others --width 16 --csv "$csv"
    on 0 large
    on 2 trust --pattern all --pairs 31 --target 1.03
    costs
    wires
    micro
    on 2 diverge --pattern some --csv "$diverge_csv"
    command -v gnuplot >/dev/null || return 0
    gnuplot -e "csv='$csv'; diverge_csv='$diverge_csv'; out='$BUILD/bench.svg'" \
        tests/bench/plot.gp
    echo "# plot: $BUILD/bench.svg"
}

# take_rows COMMAND...: where it cannot be run it says why, with status 77, and has none.
take_rows() {
    status=0
    "$@" >"$rows.part" || status=$?
    if [ $status -eq 77 ]; then
        echo "# skipped: $(cat "$rows.part")"
        exit 0
    fi
    [ $status -eq 0 ] || exit 2
    cat "$rows.part"
    cat "$rows.part" >>"$rows"
}
# Half round trips over what carries frames: the ways take turns, a process pair each.
wires() { take_rows tests/bench/wires.sh "$BUILD" "${ROUNDS:-9}"; }
hosts() { take_rows tests/bench/hosts.sh "$BUILD" "${ROUNDS:-5}"; }
attack() { take_rows tests/bench/attack.py "$BUILD" "${ROUNDS:-5}"; }
storing() { take_rows tests/bench/storing.sh "$BUILD" "${ROUNDS:-5}"; }
changing() { take_rows tests/bench/changing.py "$BUILD" "${ROUNDS:-3}"; }
crowd() { take_rows tests/bench/crowd.sh "$BUILD" 64 256; }

# By what the library was compiled: the flags that BUILD was made with, and, since counting may
# have failed, the counts that are there.
compiled() {
    if [ ! -f "$BUILD/flags" ]; then
        echo "in a way that is not known"
    elif grep -q -e -fprofile-use "$BUILD/flags" &&
        [ -n "$(find "$BUILD/counted" -name '*.gcda' 2>/dev/null | head -n 1)" ]; then
        echo "by counts of its work (make PROFILE=1)"
    elif grep -q -e -flto "$BUILD/flags"; then
        echo "plainly (make)"
    else
        echo "each file by itself (a developer's build)"
    fi
}

compiler=$(sed "s,^[^ ]*ccache ,,; s, .*,,; q" "$BUILD/flags" 2>/dev/null) || compiler=
{
    echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
    echo "MPI: $(mpirun --version 2>/dev/null | head -n 1)"
    echo "compiler: $("${compiler:-cc}" --version 2>/dev/null | head -n 1)"
    echo "library compiled: $(compiled)"
} >"$about"
sed 's/^/# /' "$about"
echo "# load: $(cut -d' ' -f1 /proc/loadavg)"
case $what in
quick | costs | wires | hosts | attack | crowd | changing | storing | micro | long | others | all) "$what" ;;
*)
    echo "run.sh: unknown part \"$what\": quick, costs, wires, hosts, attack, crowd, changing, storing, micro, long, others or all" >&2
    exit 2
    ;;
esac

[ -z "${DOC-}" ] || python3 tests/bench/write_page.py "$what" "$rows" "$about" deploy/doc/PERFORMANCE.md

awk '{ judged = $5 == "quartile" ? $6 + 0 : $2 }
    $3 != "-" { n++ } $3 != "-" && !($2 + 0 > 0 && judged <= $3) { missed++ }
    END {
        if (n > 0) print "# " n - missed " of " n " targets reached"
        exit missed > 0 || NR == 0
    }' \
    "$rows"
