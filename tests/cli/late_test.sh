#!/bin/sh
# late_test.sh - ranks that stand still, and of which no rank can tell: before they open
# their moot, and after the others have voted them out.  `moot run` says so, and ends what the
# others outlived.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch" MOOT_STALL=1s
unset MOOT_CONFIG MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
# shellcheck source=tests/cli/late.sh
. tests/cli/late.sh

launchers=local
! command -v mpirun >/dev/null || launchers='local mpirun'
for launcher in $launchers; do
    opening "$launcher" --launcher "$launcher"
    outlived "$launcher" --launcher "$launcher"
    recovered "$launcher" --launcher "$launcher"
done

# The others could not open their moot without it, and it is named.
sed "s/^\\[ /[ \"\${MOOTRUN_RANK-\$OMPI_COMM_WORLD_RANK}\" -ne 1 ] || kill -KILL \$\$\\n&/" "$scratch/stopped" \
    >"$scratch/killed"
chmod +x "$scratch/killed"
for launcher in $launchers; do
    go_on --launcher "$launcher" "$scratch/killed"
    wait "$job"
    got=$?
    check "killed, $launcher" "the status is $got, not 137" [ $got -eq 137 ]
    check "killed, $launcher" "it is not named" \
        says '^moot: rank 1 died of signal 9 \(Killed\) before it opened a moot: ending the job$'
done

# Ranks that come late, but before MOOT_STALL, are nobody's news.
evidence="$scratch/out"
"$build/moot" run -n 3 --launcher local MOOT_STALL=20s "$scratch/slow" >"$evidence" 2>&1
check "a slow rank" "the status is not 0" [ $? -eq 0 ]
check "a slow rank" "it is told of" no says 'has not opened'

check_end
