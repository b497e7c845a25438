#!/bin/sh
# joining_hosts_test.sh - ranks that agents start beside those that a job on several hosts began
# with: where they go, how they end, and what is told where their host goes.
#
# The hosts are names for this machine, by the example launcher_exec; the ranks know each other
# by the channel alone (tests/mpi/joining.c), and each host by its agent's process.  Finds the
# programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
ln -s "$build/tests/mpi/joining" "$scratch/joining"
evidence="$scratch/said"
cat >"$scratch/where" <<'END_OF_PROGRAM'
#!/bin/sh
echo "where: rank $MOOTRUN_RANK is below $MOOTRUN_AGENT"
exec "$(dirname "$0")/joining" "$@"
END_OF_PROGRAM
chmod +x "$scratch/where"

# begin HOSTS MAX NEWCOMER [WORD...]; end: the status is $got
begin() {
    hosts=$1 most=$2
    shift 2
    timeout -k 5 60 "$build/moot" run --launcher "$build/examples/launcher_exec.so" \
        --hosts "$hosts" --max "$most" "$scratch/where" "$@" >"$evidence" 2>&1 </dev/null &
    job=$!
}
end() {
    wait $job
    got=$?
}
ended() { [ "$got" = "$1" ]; }
agent_of() { sed -n "s/.*where: rank $1 is below //p" "$evidence"; }
together() { [ -n "$(agent_of "$1")" ] && [ "$(agent_of "$1")" = "$(agent_of "$2")" ]; }
none_left() {
    tries=0
    while pgrep -f "$scratch/joining" >/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}

# Host a has one slot and rank 0, host b three slots and ranks 1 to 3.
begin a:1,b:3 8 well grow:4 met:4
end
check places "its status is $got" ended 0
check places "they are not named" says '^grow 4: MOOT_OK, b_0, b_1, b_2, b_3 as ranks 4, 5, 6, 7$'
check places "the first is not where there are the fewest" together 4 0
for rank in 5 6 7; do
    check places "rank $rank is not where there are the fewest for a slot" together $rank 1
    check places "rank $rank has not joined" says "^rank $rank is b_.: MOOT_OK"
done
check places "the summary is another" says '^moot: 8 ranks \(4 \+ 4 joined\), '

begin a:1,b:1 3 dies grow:1 dead:2 grow:1 dead:3 grow:2
end
check deaths "its status is $got" ended 0
check deaths "a number is given twice" says '^grow 1: MOOT_OK, c_0 as rank 3$'
check deaths "a death is not told" says '^  rank 3 died after .* of signal 9'
check deaths "more than --max come" says '^grow 2: MOOT_ERR_LIMIT'

begin a:1,b:1 4 late grow:1
end
check late "its status is $got" ended 0
check late "it has joined" says '^rank 2 is b_0: MOOT_ERR_TRANSPORT, 0 cards: .*gone'
check late "it is not told" says '^  rank 2 did not join: it ended with status 1$'

# The agent of host b is killed, with ranks 1 and 3.
begin a:1,b:1 4 well grow:2 met:2 pause:3000
tries=0
until says '^rank 3 is b_1: MOOT_OK' || [ $tries -gt 200 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -KILL "$(agent_of 3)"
end
check "a host that goes" "rank 3 is on another" together 1 3
check "a host that goes" "its founder is not named" says '^moot: host b is lost, with rank 1'
check "a host that goes" "who joined there is not named" says '^moot: host b is lost, with rank 3'
check "a host that goes" "ranks of another are" no says 'is lost, with rank [02]'
check "a host that goes" "ranks are left" none_left

check_end
