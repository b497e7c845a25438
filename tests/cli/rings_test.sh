#!/bin/sh
# rings_test.sh - what carries frames between the ranks of a host is what was asked for,
# and `moot run` says so: however many ranks there are, and whatever one of them was told.
# (Two hosts: hosts_test.sh.)
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
export TMPDIR="$scratch"
unset MOOT_RINGS MOOT_CONFIG
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/out"

# says NAME TEXT: the row about the wire, alike for all ranks
says() {
    check "$1" "it does not say: $2" \
        grep -qxF "  wire           to the peers of a rank: $2" "$scratch/out"
}
# runs NAME RANKS PROGRAM...: and ends well
runs() {
    name=$1 ranks=$2
    shift 2
    timeout -k 5 120 "$build/moot" run -n "$ranks" "$@" >"$scratch/out" 2>&1 </dev/null
    check "$name" "it fails" [ $? -eq 0 ]
}

# One rank's environment alone: rank 0's is everyone's, another's counts for nothing.
cat >"$scratch/off-on" <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || export MOOT_RINGS=off
shift
exec "$@"
END
chmod +x "$scratch/off-on"
openings="$build/tests/mpi/openings"

runs on 3 "$openings"
says on "2 by rings, 0 by the wire"
runs off 3 MOOT_RINGS=off "$openings"
says off "0 by rings, 2 by the wire"
runs off-on-rank-0 3 "$scratch/off-on" 0 "$openings"
says off-on-rank-0 "0 by rings, 2 by the wire"
runs off-on-rank-1 3 "$scratch/off-on" 1 "$openings"
says off-on-rank-1 "2 by rings, 0 by the wire"
runs many 17 "$openings"
says many "16 by rings, 0 by the wire"
runs alone 1 "$openings"
check alone "it speaks of a wire" sh -c "! grep -q '  wire ' '$scratch/out'"

check_end
