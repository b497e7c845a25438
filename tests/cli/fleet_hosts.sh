# fleet_hosts.sh - hosts to run a fleet on, made of namespaces: each has its own network
# and address, host name, processes, an sshd, and the mark of a boot of its own, by which
# UCX and moot tell hosts apart.  Tests read it from the top of the tree.
#
# The test itself is moved into a network of its own, a bridge to which all hosts are
# linked; it is 10.77.0.100 there, and its hosts 10.77.0.1, 10.77.0.2, ...  They have
# names in /etc/hosts, as they see it.  Needs root, for sshd.
#
#   hosts_enter "$@"       first of all, and once: moves the test, or skips it (exit 77)
#   hosts_make DIR NAME... makes hosts, in a folder of the test's; false, with why in
#                          DIR/why; ssh's settings for them are in DIR/ssh_config
#   on NAME COMMAND...     runs a command there, without ssh
#   host_kill NAME         cuts its link, and kills all its processes: nobody hears of it
#   host_again NAME        makes a host of that name and address anew
#   link_cut NAME          cuts its link
#   one_way_cut NAME from|to   cuts the frames that come from it, or go to it
#   link_mend NAME
#   wall_build NAME NAME   these two do not reach each other; wall_raze NAME NAME
#   link_shape NAME RATE   its link carries so much each way, as `tc` writes it (1gbit)
#   host_pin NAME PROCESSOR   its processes, and all that it starts, run there alone
#   hosts_end              all hosts go
# shellcheck shell=sh

hosts_dir='' hosts_names=''

hosts_enter() {
    if [ -n "${FLEET_INSIDE-}" ]; then
        mount --make-rprivate / 2>/dev/null
        return 0
    fi
    for fleet_tool in unshare nsenter ip nft ssh ssh-keygen /usr/sbin/sshd; do
        command -v "$fleet_tool" >/dev/null || {
            echo "there is no $fleet_tool here"
            exit 77
        }
    done
    [ "$(id -u)" -eq 0 ] || {
        echo "hosts with an sshd need root"
        exit 77
    }
    unshare -n -m true 2>/dev/null || {
        echo "no namespaces here"
        exit 77
    }
    FLEET_INSIDE=1 exec unshare -n -m --kill-child -p -f --mount-proc sh "$0" "$@"
}

# host_start NAME NUMBER: its first process, in its namespaces, and its link
host_start() {
    rm -f "$hosts_dir/$1.up"
    unshare -n -u -m -p -f --kill-child --mount-proc \
        sh "$hosts_dir/become" "$1" "$2" "$hosts_dir" >"$hosts_dir/$1.log" 2>&1 &
    echo $! >"$hosts_dir/$1.keeper"
    fleet_tries=0
    until [ -s "$hosts_dir/$1.in" ] || [ $fleet_tries -gt 100 ]; do
        sleep 0.05
        fleet_tries=$((fleet_tries + 1))
    done
    pgrep -P "$(cat "$hosts_dir/$1.keeper")" >"$hosts_dir/$1.pid" || return 1
    fleet_pid=$(cat "$hosts_dir/$1.pid")
    {
        ip link del "v-$1" 2>/dev/null
        # The others remember the address of its device.
        ip link add "v-$1" type veth peer name moot0 address "02:77:00:00:00:0$2" \
            netns "$fleet_pid" &&
            ip link set "v-$1" master moot-bridge && ip link set "v-$1" up
    } >>"$hosts_dir/$1.log" 2>&1 || return 1
    : >"$hosts_dir/$1.linked"
    until [ -e "$hosts_dir/$1.up" ] || [ $fleet_tries -gt 200 ]; do
        sleep 0.05
        fleet_tries=$((fleet_tries + 1))
    done
    [ -e "$hosts_dir/$1.up" ]
}

hosts_make() {
    hosts_dir=$1
    shift
    hosts_names=$*
    mkdir -p "$hosts_dir/run" "$hosts_dir/state"
    chmod 755 "$hosts_dir"
    hosts_write "$@"
    {
        ip link set lo up && ip link add moot-bridge type bridge &&
            ip addr add 10.77.0.100/24 dev moot-bridge && ip link set moot-bridge up &&
            mount --bind "$hosts_dir/hosts" /etc/hosts &&
            nft -f "$hosts_dir/filter"
    } >"$hosts_dir/why" 2>&1 || return 1
    fleet_number=0
    for fleet_name in "$@"; do
        fleet_number=$((fleet_number + 1))
        host_start "$fleet_name" "$fleet_number" || {
            cat "$hosts_dir/$fleet_name.log" >"$hosts_dir/why"
            return 1
        }
    done
    for fleet_name in "$@"; do
        host_reach "$fleet_name" || return 1
    done
}

# host_reach NAME: it answers; sshd goes into the background before it listens
host_reach() {
    fleet_tries=0
    until ssh -F "$hosts_dir/ssh_config" -o BatchMode=yes -o ConnectTimeout=2 "$1" true \
        >"$hosts_dir/why" 2>&1; do
        fleet_tries=$((fleet_tries + 1))
        [ $fleet_tries -lt 20 ] || return 1
        sleep 0.1
    done
}

# hosts_write NAME...: keys, settings, and what becomes a host
hosts_write() {
    ssh-keygen -q -t ed25519 -N '' -f "$hosts_dir/key"
    printf '127.0.0.1 localhost\n10.77.0.100 hub %s\n' "$(hostname)" >"$hosts_dir/hosts"
    : >"$hosts_dir/known"
    # A plain shell, and a home of the test's: what root has set up for itself is not run
    # there, and not killed in its midst.
    mkdir "$hosts_dir/home"
    sed "s,^root:.*,root:x:0:0:root:$hosts_dir/home:/bin/sh," /etc/passwd >"$hosts_dir/passwd"
    fleet_number=0
    for fleet_name in "$@"; do
        fleet_number=$((fleet_number + 1))
        ssh-keygen -q -t ed25519 -N '' -f "$hosts_dir/key-$fleet_name"
        echo "10.77.0.$fleet_number $fleet_name" >>"$hosts_dir/hosts"
        echo "$fleet_name,10.77.0.$fleet_number $(cut -d' ' -f1,2 "$hosts_dir/key-$fleet_name.pub")" \
            >>"$hosts_dir/known"
    done
    cat >"$hosts_dir/ssh_config" <<END
User root
IdentityFile $hosts_dir/key
IdentitiesOnly yes
UserKnownHostsFile $hosts_dir/known
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
END
    cat >"$hosts_dir/sshd_config" <<END
ListenAddress 0.0.0.0
AuthorizedKeysFile $hosts_dir/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
MaxStartups 100
UseDNS no
END
    # A frame of or to a host whose name is in a set is dropped on the bridge, or between two.
    cat >"$hosts_dir/filter" <<'END'
table bridge moot {
    set mute { type ifname; }
    set deaf { type ifname; }
    set walls { type ifname . ifname; }
    chain incoming { type filter hook prerouting priority 0; iifname @mute drop; }
    chain between { type filter hook forward priority 0; iifname . oifname @walls drop; }
    chain outgoing { type filter hook postrouting priority 0; oifname @deaf drop; }
}
END
    # Its words: NAME NUMBER DIR.  The network comes once the link is there.
    cat >"$hosts_dir/become" <<'END'
trap '' INT
mkdir -p "$3/cgroup" && mount --rbind /sys/fs/cgroup "$3/cgroup" && mount -t sysfs none /sys &&
    mount --rbind "$3/cgroup" /sys/fs/cgroup && umount -l "$3/cgroup" || exit 1
mount --bind "$3/passwd" /etc/passwd || exit 1
hostname "$1" && mount -t tmpfs -o mode=755 none /run && mkdir -m 755 /run/sshd &&
    mount -t tmpfs -o mode=1777 none /dev/shm && mount -t tmpfs -o mode=1777 none "$3/state" &&
    mount -t tmpfs -o mode=700 none "$3/run" && ip link set lo up || exit 1
cat /proc/sys/kernel/random/uuid >"$3/$1.boot"
mount --bind "$3/$1.boot" /proc/sys/kernel/random/boot_id || exit 1
echo here >"$3/$1.in"
tries=0
until [ -e "$3/$1.linked" ] || [ $tries -gt 200 ]; do sleep 0.02; tries=$((tries + 1)); done
ip addr add "10.77.0.$2/24" dev moot0 && ip link set moot0 up || exit 1
/usr/sbin/sshd -f "$3/sshd_config" -h "$3/key-$1" -E "$3/$1.sshd" || exit 1
: >"$3/$1.up"
while :; do sleep 1000 & wait; done
END
}

on() {
    fleet_pid=$(cat "$hosts_dir/$1.pid")
    shift
    nsenter -t "$fleet_pid" -n -u -m -p "$@"
}
host_number() {
    fleet_number=0
    for fleet_name in $hosts_names; do
        fleet_number=$((fleet_number + 1))
        [ "$fleet_name" != "$1" ] || echo $fleet_number
    done
}
host_kill() {
    link_cut "$1"
    kill -KILL "$(cat "$hosts_dir/$1.pid")" 2>/dev/null
    while kill -0 "$(cat "$hosts_dir/$1.keeper")" 2>/dev/null; do
        sleep 0.02
    done
    rm -f "$hosts_dir/$1.in" "$hosts_dir/$1.linked" "$hosts_dir/$1.up"
}
host_again() {
    link_mend "$1"
    host_start "$1" "$(host_number "$1")" && host_reach "$1"
}
link_cut() {
    nft add element bridge moot mute "{ v-$1 }"
    nft add element bridge moot deaf "{ v-$1 }"
}
one_way_cut() {
    case $2 in
    from) nft add element bridge moot mute "{ v-$1 }" ;;
    to) nft add element bridge moot deaf "{ v-$1 }" ;;
    esac
}
link_mend() {
    nft delete element bridge moot mute "{ v-$1 }" 2>/dev/null
    nft delete element bridge moot deaf "{ v-$1 }" 2>/dev/null
    return 0
}
wall_build() {
    nft add element bridge moot walls "{ v-$1 . v-$2, v-$2 . v-$1 }"
}
wall_raze() {
    nft delete element bridge moot walls "{ v-$1 . v-$2, v-$2 . v-$1 }"
}
host_pin() {
    fleet_pid=$(cat "$hosts_dir/$1.pid")
    for fleet_pid in "$fleet_pid" $(pgrep -P "$fleet_pid"); do
        taskset -pc "$2" "$fleet_pid" >/dev/null || return 1
    done
}
# A packet of the kernel's own, of 64 KiB, must fit into the burst.
link_shape() {
    tc qdisc replace dev "v-$1" root tbf rate "$2" burst 128kb latency 50ms &&
        on "$1" tc qdisc replace dev moot0 root tbf rate "$2" burst 128kb latency 50ms
}
hosts_end() {
    for fleet_name in $hosts_names; do
        kill -KILL "$(cat "$hosts_dir/$fleet_name.pid" 2>/dev/null)" 2>/dev/null
    done
    hosts_names=''
}
