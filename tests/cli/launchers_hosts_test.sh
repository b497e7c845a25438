#!/bin/sh
# launchers_hosts_test.sh - the launchers ssh and slurm against their contract, on three
# hosts with an sshd each, and with a Slurm; and what they say of hosts that do not answer
# as they should.  Skips where there are no such hosts.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

# shellcheck source=tests/cli/fleet_hosts.sh
. tests/cli/fleet_hosts.sh
hosts_enter "$@"
# shellcheck source=tests/cli/fleet_slurm.sh
. tests/cli/fleet_slurm.sh
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
moot=$(cd "${BUILD:?}" && pwd)/moot
scratch=$(mktemp -d)
trap 'hosts_end; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
unset MOOT_CONFIG SLURM_JOB_ID SLURM_JOB_NODELIST
hosts_make "$scratch/hosts" a b c || {
    echo "no hosts here: $(tail -n 1 "$scratch/hosts/why")"
    exit 77
}
config=$scratch/hosts/ssh_config
evidence="$scratch/out"

# --- ssh ---

"$moot" check-launcher "ssh:config=$config" --hosts a:2,b,root@c >"$scratch/out" 2>&1
check "check-launcher ssh" "a check fails" grep -qx "16 ok, 0 failed" "$scratch/out"
check "ssh" "the agent's words are not passed on behind the host's name" \
    grep -q '^a: ' "$scratch/out"

# unstarted WHY WORD...: the stream's check alone, told so within ten seconds
unstarted() {
    told=$1
    shift
    began=$(date +%s)
    "$moot" check-launcher --first "$@" >"$scratch/out" 2>&1
    took=$(($(date +%s) - began))
    name="check-launcher $*"
    note "$((took > 20))" "it took $took s"
    check "$name" "it is not told as: $told" \
        grep -qE "^FAILED +a stream of all .*UNREACHABLE with status 255.*$told" "$scratch/out"
}
hosts='ssh:config='$config
unstarted "Could not resolve hostname no-such-host" "$hosts" --hosts no-such-host
unstarted "Connection refused" "$hosts:o=Port=2" --hosts b
unstarted "[Pp]ermission denied" "$hosts:o=IdentityFile=/dev/null" --hosts nobody@b
cp "$config" "$scratch/config"
echo "b,10.77.0.2 $(cut -d' ' -f1,2 "$scratch/hosts/key.pub")" >"$scratch/other-known"
unstarted "Host key verification failed" \
    "$hosts:o=UserKnownHostsFile=$scratch/other-known" --hosts b
link_cut b
unstarted "[Cc]onnection timed out" "$hosts" --hosts b
link_mend b
[ "$(pgrep -c -x ssh)" -eq 0 ]
name=ssh note $? "an ssh is left here: $(pgrep -a -x ssh)"
for host in a b c; do
    [ "$(on $host pgrep -c -x 'cat|head')" -eq 0 ]
    name=ssh note $? "a command is left on $host"
done

# --- Slurm ---

slurm_enter_soft() { (slurm_enter) >"$scratch/why" 2>&1; }
if slurm_enter_soft && slurm_make 2; then
    salloc -Q -N 3 "$moot" check-launcher slurm >"$scratch/out" 2>&1
    check "check-launcher slurm" "a check fails" grep -qx "16 ok, 0 failed" "$scratch/out"
    salloc -Q -N 2 "$moot" check-launcher --first slurm --hosts c >"$scratch/out" 2>&1
    check "slurm" "a host outside the allocation is not refused" \
        grep -q "'c' is no host of this allocation, which has a,b" "$scratch/out"
    salloc -Q -N 1 "$moot" check-launcher --first slurm:x >"$scratch/out" 2>&1
    check "slurm" "an option is not refused" \
        grep -q "'x': this launcher has no options" "$scratch/out"
    salloc -Q -N 3 "$moot" doctor --launcher slurm >"$scratch/out" 2>&1
    check "doctor by slurm" "its status is $?, not 0" [ $? -eq 0 ]
    check "doctor by slurm" "no host is told of" grep -q "c: " "$scratch/out"
    check "doctor by slurm" "Slurm's own words of the end are told" \
        no grep -qE "CANCELLED|srun:|slurmstepd:" "$scratch/out"
    slurm_end
else
    echo "without Slurm: $(tail -n 1 "$scratch/why" "$scratch/hosts/why" | tail -n 1)"
fi

check_end
