#!/bin/sh
# openings_test.sh - ranks die before they have a moot, and between and in several: `moot
# run` ends the job where no moot misses them, and only there.
#
# All cases run at once, as they spend their time waiting.  Finds the programs in $BUILD;
# run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

# begin CASE ARGUMENTS...: `moot run` with them, in the background, and with a TMPDIR of its own,
# in which no other mpirun makes and removes Open MPI's directory
begin() {
    case=$1
    shift
    mkdir "$scratch/$case.tmp"
    {
        export TMPDIR="$scratch/$case.tmp"
        timeout -k 5 120 "$build/moot" run "$@" >"$scratch/$case" 2>&1 </dev/null
        echo $? >"$scratch/$case.status"
    } &
}
# ended CASE STATUS: and takes it for what says() looks at
ended() {
    evidence="$scratch/$1"
    check "$1" "its status is $(cat "$scratch/$1.status"), not $2" \
        [ "$(cat "$scratch/$1.status")" = "$2" ]
}

# A rank in a shell's hands that ends in the middle of it all, with a status of its own.
cat >"$scratch/quitter" <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != 2 ] || exit 5
exec "$@"
END
chmod +x "$scratch/quitter"

openings="$build/tests/mpi/openings"
begin both -n 3 --trace "$scratch/traces" "$openings"
begin start -n 3 "$openings" start
begin init -n 3 "$openings" init
begin quits -n 3 "$scratch/quitter" "$openings"
begin first -n 3 "$openings" first
begin second -n 3 "$openings" second
wait

# Each moot is told of: 27 tasks twice in each, the second's traces beside the first's.
ended both 0
check both "the moots are not added up" says '^moot: 3 ranks, up to 2 moots each, added up'
check both "tasks of a moot are left out" says '^  tasks run      108,'
for trace in "$scratch/traces" "$scratch/traces/moot-2"; do
    check both "a moot has no traces" [ -s "$trace/rank-2.trace" ]
    check both "its traces cannot be read" "$build/moot" report "$trace" \
        -o "$scratch/page" >/dev/null
done

ended start 137
check start "it is not said who died, and when" \
    says '^moot: rank 1 died of signal 9 \(Killed\) before it opened a moot: ending the job$'
check start "it is said of others" no says 'rank [02] '
ended init 137
check init "it is not said who died, and when" \
    says '^moot: rank 1 died of signal 9 \(Killed\) before it opened a moot: ending the job$'
ended quits 5
check quits "it is not said who ended, and how" \
    says '^moot: rank 2 ended with status 5 before it opened a moot: ending the job$'

# The moot that it was in goes on without it, though it had closed one before.
ended second 0
check second "it is not said that it died" says 'rank 1 died after .* of signal 9'
check second "the job was ended for it" no says 'ending the job'

# There is no other moot without it, and nobody waits for one.
ended first 1
check first "nobody says why there is no second moot" \
    says 'FAIL moot_open: MOOT_ERR_TRANSPORT: .* a rank was lost in an earlier moot'

check_end
