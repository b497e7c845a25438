#!/bin/sh
# examples_test.sh [full] - the examples give right answers at every rank count, refuse bad
# input with its line, and stall with a report where ranks are trusted to agree.
#
# Without `full`, which `make soak` has, each runs on 1, 3 and 8 ranks.
#
# Finds the programs in $BUILD/examples; run from the top of the tree.
set -u

examples=${BUILD:?}/examples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
launcher="mpirun --oversubscribe"
[ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
export OMPI_MCA_mpi_yield_when_idle=1
failed=0

# ranks N EXIT PATTERN PROGRAM ARGUMENTS...: its exit status, and a line of its output
ranks() {
    count=$1 status=$2 pattern=$3 program=$4
    shift 4
    # shellcheck disable=SC2086 # the launcher's words are meant to split
    timeout -k 5 60 $launcher -n "$count" "$examples/$program" "$@" \
        >"$scratch/out" 2>&1 </dev/null
    code=$?
    if [ "$code" -eq "$status" ] && grep -qE -e "$pattern" "$scratch/out"; then
        echo "ok   $program $* n=$count"
    else
        echo "FAIL $program $* n=$count: exit $code, not $status with /$pattern/:"
        sed 's/^/     /' "$scratch/out"
        failed=1
    fi
}

data=deploy/examples
counts='1 3 8'
[ "${1-}" != full ] || counts='1 2 3 4 8'
for count in $counts; do
    ranks "$count" 0 '^rank 0: the sum is 140$' conditional
    if [ "$(grep -c 'the sum is 140$' "$scratch/out")" -ne "$count" ]; then
        echo "FAIL conditional n=$count: not every rank has the sum"
        failed=1
    fi
    ranks "$count" 0 '^rank 0: 78498 primes below 1000000$' blocks
    ranks "$count" 0 '^rank 0: heat 903[.]128230 after 200 steps, as computed alone$' heat
    ranks "$count" 0 '^optimum 3323 ' tsp $data/burma14.tsp
    ranks "$count" 0 '^optimum 1600 ' tsp $data/grid16.tsp
    ranks "$count" 0 '^nodes 15829, leaves 12121, depth 61 ' tree
    ranks "$count" 0 'residual .*, 0 votes$' cholesky 4 32
    grep '^n ' "$scratch/out" >"$scratch/by_hand"
    ranks "$count" 0 'residual .*, 0 votes$' cholesky --data 4 32
    if ! grep '^n ' "$scratch/out" | cmp -s - "$scratch/by_hand"; then
        echo "FAIL cholesky n=$count: --data gives another factor, or other tasks:"
        cat "$scratch/by_hand" "$scratch/out"
        failed=1
    fi
done
ranks 4 0 '^n 512, ' cholesky
ranks 3 0 '^nodes ' tree 7 1024
for count in 1 2 4; do
    ranks "$count" 0 '^as declared: 28 tasks' queues
done
ranks 3 0 '^as declared: 196 tasks' queues 48 5

# The tutorial's, on any number of ranks; the primes are those below 100 for each rank.
# everywhere COUNT WORDS PROGRAM: each rank says so
everywhere() {
    ranks "$1" 0 "^rank 0: $2\$" "$3"
    if [ "$(grep -c "^rank [0-9]*: $2\$" "$scratch/out")" -ne "$1" ]; then
        echo "FAIL $3 n=$1: not every rank says: $2"
        failed=1
    fi
}
for count in 1 3 4; do
    ranks "$count" 0 '^7 squared is 49: rank [0-3] ran it$' 1-hello
    everywhere "$count" "the sum is 615" 2-some
    everywhere "$count" "the sum is 85344" 4-reduce
done
everywhere 1 "25 primes, squared 65796" 3-found
everywhere 4 "78 primes, squared 3579761" 3-found
everywhere 4 "after 40 steps the state is 344978448" 5-survive

# wrong EDIT PATTERN: burma14 with an edit is refused, and says why
wrong() {
    sed "$1" $data/burma14.tsp >"$scratch/wrong.tsp"
    ranks 1 2 "$2" tsp "$scratch/wrong.tsp"
}
wrong 's/GEO/EXPLICIT/' 'wrong.tsp:5: EDGE_WEIGHT_TYPE EXPLICIT; allowed are EUC_2D and GEO'
wrong 's/DIMENSION: 14/DIMENSION: 140/' 'wrong.tsp:4: 140 cities; allowed are 3 to 64'
wrong 's/DIMENSION: 14/DIMENSION: many/' 'wrong.tsp:4: DIMENSION wants a number'
wrong 's/TYPE: TSP/TYPE: ATSP/' 'wrong.tsp:2: TYPE ATSP; allowed is TSP'
wrong '/^7 /d' '13 of 14 cities have coordinates'
wrong 's/^7 /8 /' 'wrong.tsp:14: city 8 stands here a second time'
wrong 's/^7 20.47/7 x/' 'wrong.tsp:13: .* should be: city x y'
wrong 's/^7 20.47/7 20.47e16/' 'wrong.tsp:13: the coordinate 2.047e.17; allowed are -90 to 90'
wrong 's/GEO/EUC_2D/; s/ 97.13/ 97.13e16/' 'the coordinate 9.713e.17; allowed are -1e.12 to 1e.12'
wrong 's/COMMENT/CMMENT/' 'wrong.tsp:3: unknown keyword'
wrong '/DIMENSION/d' 'NODE_COORD_SECTION before DIMENSION'
ranks 2 2 'nowhere.tsp: No such file' tsp nowhere.tsp
ranks 2 2 '^usage: tsp FILE.tsp$' tsp
ranks 1 2 '^usage: tree ' tree 1 0
ranks 1 2 '^usage: cholesky ' cholesky 65
ranks 1 2 '^usage: heat ' heat 65
ranks 1 2 '^usage: queues ' queues 6 0

# Strict mode shows the difference once in columns; each rank's own error is a line.
timeout -k 5 60 "${BUILD:-build}/moot" run -n 4 MOOT_DIVERGENCE=strict conditional \
    >"$scratch/out" 2>&1 </dev/null
if [ "$(grep -c '^The first difference is spawn number ' "$scratch/out")" -ne 1 ] ||
    ! grep -qE 'conditional: the ranks diverged .* on rank' "$scratch/out"; then
    echo "FAIL conditional, strict: not once in columns, or not in a line:"
    cat "$scratch/out"
    failed=1
fi

export MOOT_DIVERGENCE=trust MOOT_STALL=1s MOOT_STALL_ABORT=1
for count in 2 4; do
    ranks "$count" 1 'stall' tsp $data/burma14.tsp
done
ranks 4 0 '0 votes$' cholesky 4 32

exit "$failed"
