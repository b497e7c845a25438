#!/bin/sh
# hosts_test.sh - a job on two hosts, and `moot state` on each of them.
#
# The hosts are made of namespaces: each has its own network, host name, processes and
# folder of sockets, so that nothing of one is to be seen on the other but what goes over
# the wire between them.  Open MPI starts the ranks of the second by an agent in the place
# of ssh.  Skips where the system does not allow it.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

# Who is not root is root of a user namespace.
if [ "$(id -u)" -ne 0 ] && [ -z "${HOSTS_TEST_INSIDE-}" ]; then
    HOSTS_TEST_INSIDE=1 exec unshare -Urnm sh "$0"
fi

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
keepers='' job=''
trap 'end' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/out"

# The keepers' ends end what runs on their hosts.
end() {
    # shellcheck disable=SC2086 # process numbers
    [ -z "$job$keepers" ] || kill -KILL $job $keepers 2>/dev/null
    wait 2>/dev/null
    rm -rf "$scratch"
}
skip() {
    echo "$*"
    exit 77
}
says() { grep -qE -e "$1" "$scratch/out"; }

# What becomes a host: NAME SCRATCH
cat >"$scratch/become" <<'END'
hostname "$1" && mount -t tmpfs none "$2/state" && chmod 700 "$2/state" &&
    ip link set lo up && : >"$2/$1.up" && exec sleep 300
END
# host NAME COMMAND...: makes one by unshare, under that command
host() {
    name=$1
    shift
    "$@" unshare -n -u -m -p -f --kill-child --mount-proc sh "$scratch/become" "$name" "$scratch" \
        >/dev/null 2>"$scratch/out" &
    keepers="$keepers $!"
    tries=0
    while [ ! -e "$scratch/$name.up" ] && [ "$tries" -lt 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    [ -e "$scratch/$name.up" ]
}
# on NAME COMMAND...: there.  Host two is within host one, as a process can enter only a
# space of processes that is within its own; no rank sees that of another host.
on() {
    case $1 in
    one) shift && nsenter -t "$one" -n -u -m -p "$@" ;;
    two) shift && on one nsenter -t "$two" -n -u -m -p "$@" ;;
    esac
}
# wire: between them, as 10.77.0.1 and 10.77.0.2
wire() {
    on one ip link add moot0 type veth peer name moot1 &&
        on one ip link set moot1 netns "$two" &&
        on one ip addr add 10.77.0.1/24 dev moot0 && on one ip link set moot0 up &&
        on two ip addr add 10.77.0.2/24 dev moot1 && on two ip link set moot1 up
}

mkdir "$scratch/state"
for tool in unshare nsenter ip pgrep hostname; do
    command -v "$tool" >/dev/null || skip "there is no $tool here"
done
host one env || skip "no namespaces here: $(cat "$scratch/out")"
one=$(pgrep -P "${keepers##* }")
host two on one || skip "no namespaces in namespaces: $(cat "$scratch/out")"
two=$(on one pgrep -x sleep | grep -vx 1)
wire 2>"$scratch/out" || skip "no wire between namespaces: $(cat "$scratch/out")"

cat >"$scratch/agent" <<END
#!/bin/sh
# What stands for ssh: HOST COMMAND...
shift
exec nsenter -t $two -n -u -m -p sh -c "\$*"
END
chmod +x "$scratch/agent"
printf '10.77.0.1 slots=2\n10.77.0.2 slots=2\n' >"$scratch/hosts"
export OMPI_MCA_plm_rsh_agent="$scratch/agent" OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_orte_default_hostfile="$scratch/hosts"
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 OMPI_MCA_pml=ob1
export MOOT_STATE="$scratch/state" TMPDIR="$scratch"
unset MOOT_CONFIG

# What the ranks say is the same wherever it is asked: all of them, by their own words.
sockets() { on "$1" find "$scratch/state" -type s | wc -l; }
on one timeout 90 "$build/moot" run -n 4 "$build/tests/mpi/stalls" two "$scratch/enough" \
    >"$scratch/job.out" 2>&1 </dev/null &
job=$!
tries=0
while [ "$(sockets one)$(sockets two)" != 22 ] && [ "$tries" -lt 200 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
# Until all have come to where they stand still.
until tries=$((tries + 1)) && on one timeout 20 "$build/moot" state >"$scratch/out" 2>&1 &&
    says '\[cycle\]' && says '\[slow\]' || [ "$tries" -gt 220 ]; do
    sleep 0.05
done
for name in one two; do
    check "$name" "not its own two sockets alone" [ "$(sockets "$name")" -eq 2 ]
    on "$name" timeout 20 "$build/moot" state --json >"$scratch/out" 2>&1
    check "$name" "it fails" [ $? -eq 0 ]
    check "$name" "not all ranks' accounts" python3 - "$scratch/out" <<'END'
import json, sys
told = json.load(open(sys.argv[1]))
accounts = {seat["rank"]: seat["account"] for seat in told["seats"]}
assert sorted(accounts) == [0, 1, 2, 3] and None not in accounts.values(), accounts
hosts = [accounts[rank]["host_name"] for rank in range(4)]
assert hosts == ["one", "one", "two", "two"], hosts
near = {peer["rank"] for peer in accounts[told["rank"]]["peers"] if peer["process"]}
assert near | {told["rank"]} in ({0, 1}, {2, 3}), near
END
    on "$name" timeout 20 "$build/moot" state >"$scratch/out" 2>&1
    check "$name" "the text fails" [ $? -eq 0 ]
    check "$name" "the cycle is not told" says '\[cycle\].*2 tasks wait for each other'
    check "$name" "the slow kernel is not told" says '\[slow\].* runs on rank 3, for'
    check "$name" "the wire is not told" says '^  wire of rank 2: 1 peer by rings, 2 by the wire$'
done
: >"$scratch/enough"
wait "$job"
check job "it did not end well" [ $? -eq 0 ]
check job "the wire is not told" \
    grep -q '^  wire  *to the peers of a rank: 1 by rings, 2 by the wire$' "$scratch/job.out"
[ "$failed" -eq 0 ] || cat "$scratch/job.out"
job=

check_end
