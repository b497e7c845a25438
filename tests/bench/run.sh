#!/bin/sh
# run.sh BUILD [quick|all] - how moot's smallest useful task compares with hand-written MPI.
#
#   quick   four rows and repair against trust, a line each: name, ratio, target
#   all     every pattern at three sizes, as CSV in BUILD/bench.csv, and a plot of it if
#           gnuplot is there (BUILD/bench.svg)
#
# Exit status 1 if quick finds a ratio above its target.
set -eu
BUILD=${1:?usage: run.sh BUILD [quick|all]}
what=${2:-quick}
launcher="mpirun --bind-to core"
[ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
many="mpirun --oversubscribe"
[ "$(id -u)" -ne 0 ] || many="$many --allow-run-as-root"
export OMPI_MCA_btl_base_warn_component_unused=0
missed=0

# row NAME TARGET COMMAND...: the ratio is the last field of the CSV's last line.
row() {
    name=$1 target=$2
    shift 2
    ratio=$("$@" --csv | tail -n 1 | awk -F, '{ print $NF }')
    echo "$name $ratio $target"
    awk -v r="$ratio" -v t="$target" 'BEGIN { exit !(r != "" && r + 0 > 0 && r <= t) }' ||
        missed=1
}

quick() {
    metg="$BUILD/tests/bench/metg --steps 1000 --repeat 3 --pattern"
    # shellcheck disable=SC2086
    {
        row stencil_1d-2ranks-width2 2.0 $launcher -n 2 $metg stencil_1d --width 2
        row stencil_1d-2ranks-width8 3.0 $launcher -n 2 $metg stencil_1d --width 8
        row fft-2ranks-width8 4.0 $launcher -n 2 $metg fft --width 8
        row stencil_1d-4ranks-width16 2.5 env OMPI_MCA_mpi_yield_when_idle=1 \
            $many -n 4 $metg stencil_1d --width 16
        row repair-against-trust 1.03 $launcher -n 2 $metg stencil_1d --width 8 --trust
    }
}

all() {
    csv=$BUILD/bench.csv
    : >"$csv"
    for size in "2 2" "2 8" "4 16"; do
        # shellcheck disable=SC2086
        set -- $size
        with=$launcher
        [ "$1" -le 2 ] || with="env OMPI_MCA_mpi_yield_when_idle=1 $many"
        # shellcheck disable=SC2086
        $with -n "$1" "$BUILD/tests/bench/metg" --pattern all --width "$2" --steps 1000 \
            --repeat 3 --csv | tee -a "$csv"
    done
    command -v gnuplot >/dev/null || return 0
    gnuplot -e "csv='$csv'; out='$BUILD/bench.svg'" tests/bench/plot.gp
    echo "plot: $BUILD/bench.svg"
}

case $what in
quick) quick ;;
all) all ;;
*)
    echo "run.sh: unknown part \"$what\": quick or all" >&2
    exit 2
    ;;
esac
exit $missed
