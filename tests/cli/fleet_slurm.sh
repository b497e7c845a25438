# fleet_slurm.sh - a real Slurm on the hosts of fleet_hosts.sh: slurmctld beside the test,
# munged and slurmd on each host.  Tests read it behind that file.
#
#   slurm_enter            skips the test (exit 77) where Slurm is not installed
#   slurm_make SLOTS       starts it on all hosts, each with so many processors; false,
#                          with why in $hosts_dir/why
#   slurm_end              ends it
#
# From then on srun, salloc, sbatch and scancel are of this Slurm.
# shellcheck shell=sh disable=SC2154 # hosts_dir and hosts_names are of fleet_hosts.sh

slurm_enter() {
    for fleet_tool in slurmctld slurmd munged srun salloc sbatch scontrol scancel; do
        command -v "$fleet_tool" >/dev/null || {
            echo "there is no $fleet_tool here"
            exit 77
        }
    done
}

# In a host's place, or beside the test: its own folder of sockets.
# shellcheck disable=SC2016 # for a shell there to expand
fleet_munge='mkdir -p -m 755 /run/munge && munged --force --key-file="$0/munge.key" \
    --socket=/run/munge/munge.socket.2 --pid-file=/run/munge/pid --log-file=/run/munge/log \
    --seed-file=/run/munge/seed'

slurm_make() {
    dd if=/dev/urandom of="$hosts_dir/munge.key" bs=128 count=1 2>/dev/null
    chmod 600 "$hosts_dir/munge.key"
    mkdir -p "$hosts_dir/slurm"
    {
        cat <<END
ClusterName=moot
SlurmctldHost=$(hostname -s)(10.77.0.100)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation=$hosts_dir/slurm
SlurmdSpoolDir=$hosts_dir/slurm/spool-%n
SlurmctldPidFile=$hosts_dir/slurm/slurmctld.pid
SlurmdPidFile=$hosts_dir/slurm/slurmd-%n.pid
SlurmctldLogFile=$hosts_dir/slurm/slurmctld.log
SlurmdLogFile=$hosts_dir/slurm/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
SlurmdTimeout=600
SlurmctldTimeout=300
InactiveLimit=0
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
END
        for fleet_name in $hosts_names; do
            echo "NodeName=$fleet_name NodeAddr=$fleet_name CPUs=$1 State=UNKNOWN"
        done
        echo "PartitionName=all Nodes=$(echo "$hosts_names" | tr ' ' ,) Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO"
    } >"$hosts_dir/slurm.conf"
    export SLURM_CONF="$hosts_dir/slurm.conf"
    {
        mount -t tmpfs -o mode=755 none /run && sh -c "$fleet_munge" "$hosts_dir"
    } >"$hosts_dir/why" 2>&1 || return 1
    slurmctld -D >>"$hosts_dir/why" 2>&1 &
    slurm_control=$!
    for fleet_name in $hosts_names; do
        {
            on "$fleet_name" sh -c "$fleet_munge" "$hosts_dir" &&
                on "$fleet_name" slurmd -N "$fleet_name"
        } >>"$hosts_dir/why" 2>&1 || {
            cat "$hosts_dir/slurm/slurmd-$fleet_name.log" >>"$hosts_dir/why"
            return 1
        }
    done
    fleet_tries=0
    until [ "$(sinfo -h -t idle -o %D 2>>"$hosts_dir/why")" = "$(echo "$hosts_names" | wc -w)" ]; do
        fleet_tries=$((fleet_tries + 1))
        [ $fleet_tries -lt 100 ] || {
            cat "$hosts_dir"/slurm/*.log >>"$hosts_dir/why"
            return 1
        }
        sleep 0.1
    done
}

slurm_end() { kill -KILL "$slurm_control" 2>/dev/null; }
