#!/bin/sh
# slurm_test.sh - jobs that `moot run --launcher slurm` starts within an allocation of a
# real Slurm, on three hosts: they end right, also with a rank or an agent killed; the
# recipe for sbatch works; scancel and salloc's end leave nothing on any host.
#
# Skips where there are no hosts of namespaces, or no Slurm.  Finds the programs in $BUILD;
# run from the top of the tree.
set -u

# shellcheck source=tests/cli/fleet_hosts.sh
. tests/cli/fleet_hosts.sh
hosts_enter "$@"
# shellcheck source=tests/cli/fleet_slurm.sh
. tests/cli/fleet_slurm.sh
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
slurm_enter
build=$(cd "${BUILD:?}" && pwd)
moot=$build/moot
scratch=$(mktemp -d)
slurm_control=
trap 'hosts_end; slurm_end; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
unset MOOT_CONFIG MOOT_TRANSPORT
hosts_make "$scratch/hosts" a b c || {
    echo "no hosts here: $(tail -n 1 "$scratch/hosts/why")"
    exit 77
}
slurm_make 2 || {
    echo "no Slurm here: $(tail -n 1 "$scratch/hosts/why")"
    exit 77
}
export TMPDIR="$scratch/tmp"
mkdir "$TMPDIR"
tsp="tsp deploy/examples/burma14.tsp"
wire=tcp
[ ! -f "$build/wires/ucx.so" ] || wire=ucx
evidence="$scratch/said"

# shellcheck disable=SC2009 # pgrep has no room for so many names
clean() {
    clean_tries=0
    until ps -eo comm=,args= | grep -E '^(srun|moot|tsp|tree) ' >"$scratch/left"
        [ ! -s "$scratch/left" ] || [ $clean_tries -gt 80 ]; do
        clean_tries=$((clean_tries + 1))
        sleep 0.25
    done
    [ ! -s "$scratch/left" ]
    name=$1 note $? "this is left: $(cat "$scratch/left")"
}
# run WORD... : in an allocation of all hosts, with two tasks each
run() {
    timeout -k 5 120 salloc -Q -N 3 -n 6 "$moot" run --launcher slurm "$@" \
        >"$evidence" 2>&1 </dev/null
    got=$?
}
# await PROGRAM: six ranks of it are there
await() {
    await_tries=0
    until [ "$(pgrep -c -x "$1")" -ge 6 ] || [ $await_tries -gt 200 ]; do
        sleep 0.05
        await_tries=$((await_tries + 1))
    done
}

# shellcheck disable=SC2086 # words are meant to split
for by in tcp $wire; do
    run --transport $by $tsp
    check "tsp by $by" "its status is $got" [ "$got" -eq 0 ]
    check "tsp by $by" "it is not the optimum" says '^optimum 3323 '
    check "tsp by $by" "the ranks are not two on a host" says '1 by rings, 4 by the wire'
    clean "tsp by $by"
done
# shellcheck disable=SC2086 # words are meant to split
run --transport $wire --faults kill:r2@task.start#2 $tsp
check "a rank is killed" "its status is $got" [ "$got" -eq 0 ]
check "a rank is killed" "it is not the optimum" says '^optimum 3323 '
check "a rank is killed" "no death is told" says 'rank 2 died'
# shellcheck disable=SC2086 # words are meant to split
run --hosts c:1,a:2 --transport $wire --label sh -c 'hostname'
check "--hosts" "not the hosts that were named" \
    [ "$(grep -E '^[0-2]: [abc]$' "$evidence" | sort | tr '\n' ' ')" = "0: c 1: a 2: a " ]

# --- A host is killed -------------------------------------------------------------------
# shellcheck disable=SC2086 # words are meant to split
run --transport $wire $tsp &
await tsp
sleep 0.5
host_kill c
wait $!
check "host c is killed" "it is not the optimum" says '^optimum 3323 '
check "host c is killed" "the host is not named" says 'host c is lost'
host_again c
on c sh -c "$fleet_munge" "$hosts_dir" >/dev/null 2>&1
on c slurmd -N c >/dev/null 2>&1
scontrol update NodeName=c State=DOWN Reason=test
scontrol update NodeName=c State=RESUME
clean "host c is killed"

# --- sbatch, and scancel ----------------------------------------------------------------
await_idle() {
    idle_tries=0
    until [ "$(sinfo -h -t idle -o %D)" = "$1" ] || [ $idle_tries -gt 150 ]; do
        sleep 0.2
        idle_tries=$((idle_tries + 1))
    done
}
await_idle 3
export PATH="$build:$PATH"
# shellcheck disable=SC2086 # words are meant to split
sbatch -Q -W -N 2 --ntasks-per-node=2 --cpus-per-task=1 -o "$evidence" \
    deploy/slurm/moot.sbatch $tsp >"$scratch/out" 2>&1
got=$?
check "moot.sbatch" "its status is $got" [ "$got" -eq 0 ]
check "moot.sbatch" "it is not the optimum" says '^optimum 3323 '
check "moot.sbatch" "it has not four ranks" says '^moot: 4 ranks'
number=$(sbatch --parsable -N 3 --ntasks-per-node=2 --cpus-per-task=1 -o "$evidence" \
    deploy/slurm/moot.sbatch sleep 300)
idle_tries=0
until [ "$(pgrep -c -f 'sleep 300$')" -ge 6 ] || [ $idle_tries -gt 100 ]; do
    sleep 0.1
    idle_tries=$((idle_tries + 1))
done
check "scancel" "its ranks do not come" [ "$idle_tries" -le 100 ]
scancel "$number"
clean "scancel"
[ "$(pgrep -c -f 'sleep 300$')" -eq 0 ]
name=scancel note $? "ranks are left: $(pgrep -a -f 'sleep 300$')"

# --- Ranks that are asked to leave ------------------------------------------------------
# A step is an agent and its ranks; Slurm sends SIGTERM to all of them, as it does for
# --signal and before it takes a job's place (GraceTime).  (This scancel signals a step and says that
# there is none.)
await_idle 3
# begin PHASES: in an allocation of all hosts, until all ranks are past their first phase
begin() {
    : >"$evidence"
    run --transport tcp "$build/tests/mpi/asked" "$1" 3 &
    job=$!
    begin_tries=0
    until [ "$(grep -c 'past phase 0' "$evidence")" -ge 6 ] || [ $begin_tries -gt 400 ]; do
        begin_tries=$((begin_tries + 1))
        sleep 0.05
    done
}
# step HOST: its number
step() { squeue -s -h -o '%i %N' | awk -v host="$1" '$2 == host { print $1 }'; }
name="a step is signalled"
begin 200
scancel --signal=TERM "$(step c)" 2>/dev/null
wait $job
check "$name" "its ranks have not left" says '^  left +2 ranks: 4 \(asked\), 5 \(asked\)$'
check "$name" "the others have not stayed" [ "$(grep -c 'ran .*, stays$' "$evidence")" = 4 ]
check "$name" "a rank is said to be lost" no says 'died|removed|out of reach|lost [1-9]'
clean "$name"
name="all steps are signalled"
begin 2000
for host in a b c; do
    scancel --signal=TERM "$(step $host)" 2>/dev/null
done
wait $job
check "$name" "it is not said how the job ended" says 'left as it was asked to, and no other'
clean "$name"

# --- Ranks that join ---------------------------------------------------------------------
# One comes to each host, the host with the fewest ranks first; its agent runs as a job step,
# and what Slurm sends to the step is for the newcomer, too.
await_idle 3
export MOOT_STATE="$scratch/doors"
name="ranks that join"
: >"$evidence"
run --transport tcp --max 9 "$build/tests/mpi/asked" 2000 0 &
job=$!
past() {
    past_tries=0
    until [ "$(grep -c 'past phase 0' "$evidence")" -ge "$1" ] || [ $past_tries -gt 800 ]; do
        past_tries=$((past_tries + 1))
        sleep 0.05
    done
}
past 6
timeout -k 5 40 "$build/moot" grow 3 >"$scratch/told" 2>&1
check "$name" "moot grow: $(cat "$scratch/told")" \
    grep -q '^started: b_0, b_1, b_2 as ranks 6, 7, 8$' "$scratch/told"
past 9
scancel --signal=TERM "$(step c)" 2>/dev/null
past_tries=0
until [ "$(grep -c 'rank .: .*this rank \(leaves\|has left\)' "$evidence")" -ge 3 ] || [ $past_tries -gt 200 ]; do
    past_tries=$((past_tries + 1))
    sleep 0.05
done
check "$name" "host c's ranks have not left, founders and newcomer" \
    [ "$(sed -n 's/^asked: rank \(.\): .*this rank \(leaves\|has left\).*/\1/p' "$evidence" | sort | tr -d '\n')" = 458 ]
for host in a b; do
    scancel --signal=TERM "$(step $host)" 2>/dev/null
done
wait $job
check "$name" "they have not joined" says '^moot: .* ranks \(6 \+ 3 joined\)'
check "$name" "it is not said how the job ended" says 'left as it was asked to, and no other'
check "$name" "a rank is said to be lost" no says 'died|removed|out of reach|lost [1-9]'
clean "$name"

# The batch system takes the job's place while a newcomer is there, as by preemption.
await_idle 3
name="salloc is told to end with newcomers"
: >"$evidence"
run --transport tcp --max 7 "$build/tests/mpi/asked" 2000 0 &
job=$!
past 6
timeout -k 5 40 "$build/moot" grow 1 >"$scratch/told" 2>&1
past 7
scancel "$(squeue -h -o %i)"
wait $job
clean "$name"

check_end
