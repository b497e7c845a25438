#!/bin/sh
# ports_test.sh - strangers at the doors of a job.
#
# At its ports: a thousand connections that say nothing, and as many that say nonsense.  The
# job goes on, no rank is lost, and what they made a rank keep is gone with them.  And as
# another user of its host, if this test is root's: its memory, its environment and its
# status socket are not to be had.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch" MOOT_RINGS=off
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_SEAL
# Under a name of this test's own: others may run that program, too, and processes are found by
# their names.
steady=$scratch/steady
ln -s "$build/tests/mpi/steady" "$steady"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
# shellcheck disable=SC3045 # dash and bash know it
[ "$(ulimit -n)" -ge 4096 ] || ulimit -n 4096 || {
    echo "no 4096 descriptors here"
    exit 77
}

# Connects COUNT times to what the processes listen on; says how many descriptors the
# busiest had before, with the strangers, and two seconds after they have left.
cat >"$scratch/strangers.py" <<'END'
import os, random, socket, sys, time
how, count, pids = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
def held():
    return max(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
inodes = set()
for pid in pids:
    for fd in os.listdir(f"/proc/{pid}/fd"):
        name = os.readlink(f"/proc/{pid}/fd/{fd}")
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
doors = []
for line in open("/proc/net/tcp"):
    words = line.split()
    if len(words) > 9 and words[3] == "0A" and words[9] in inodes:
        host, port = words[1].split(":")
        host = socket.inet_ntoa(int(host, 16).to_bytes(4, sys.byteorder))
        doors.append(("127.0.0.1" if host == "0.0.0.0" else host, int(port, 16)))
if not doors:
    sys.exit("nobody listens")
random.seed(1)
before, guests = held(), []
for i in range(count):
    guest = socket.socket()
    guest.settimeout(5)
    guest.connect(doors[i % len(doors)])
    if how == "nonsense":
        try:
            guest.send(random.randbytes(1 + i % 300))
        except OSError:
            pass  # it was told to go
    guests.append(guest)
time.sleep(1)
during = held()
for guest in guests:
    guest.close()
time.sleep(2)
print(len(doors), "doors;", before, during, held(), "descriptors")
END

# visit TRANSPORT HOW
visit() {
    # shellcheck disable=SC2034 # check.sh shows them
    evidence="$scratch/job $scratch/strangers"
    rm -f "$scratch/enough"
    "$build/moot" run -n 3 --launcher local --transport "$1" \
        "$steady" 100000000 until "$scratch/enough" >"$scratch/job" 2>&1 &
    job=$!
    ranks='' tries=0
    while [ "$(echo "$ranks" | wc -w)" -ne 3 ] && [ $tries -lt 50 ]; do
        sleep 0.1
        tries=$((tries + 1))
        ranks=$(pgrep -f "^$steady ")
    done
    sleep 0.5
    # shellcheck disable=SC2086 # a process is a word
    python3 "$scratch/strangers.py" "$2" 1000 $ranks >"$scratch/strangers" 2>&1
    check "$1, $2" "the strangers could not come" [ $? = 0 ]
    touch "$scratch/enough"
    wait $job
    check "$1, $2" "the job's status is not 0" [ $? = 0 ]
    case $1 in
    tcp*) check "$1, $2" "it is not told" grep -qE '^  streams +[1-9][0-9]* refused' "$scratch/job" ;;
    esac
    check "$1, $2" "a rank was lost" sh -c "! grep -q 'died\|removed' '$scratch/job'"
    read -r doors _ before during after _ <"$scratch/strangers"
    check "$1, $2" "what strangers made a rank keep is not gone: $doors doors, $before, $during, $after" \
        [ "$after" -le $((before + 4)) ]
}

# --- Another user -----------------------------------------------------------------------
cat >"$scratch/user.py" <<'END'
import glob, os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
folder, pids = sys.argv[1], sys.argv[2:]
tried = 0
for pid in pids:
    for what in ("environ", "mem", "maps", "fd"):
        tried += 1
        path = f"/proc/{pid}/{what}"
        try:
            data = os.listdir(path) if what == "fd" else open(path, "rb").read(1)
            print("another user reads", path)
        except OSError:
            pass
for path in glob.glob(folder + "/*"):
    door = socket.socket(socket.AF_UNIX)
    door.settimeout(5)
    tried += 1
    try:
        door.connect(path)
        door.send(b"self\n")
        if door.recv(16):
            print("another user is answered at", path)
    except OSError:
        pass
print("tried", tried)
END
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$scratch"
    for word in off on; do
        rm -f "$scratch/enough"
        # shellcheck disable=SC2034 # check.sh shows them
        evidence="$scratch/job $scratch/told"
        MOOT_RINGS=$word "$build/moot" run -n 3 --launcher local \
            "$steady" 100000000 until "$scratch/enough" >"$scratch/job" 2>&1 &
        job=$!
        doors='' tries=0
        while [ "$(echo "$doors" | wc -w)" -ne 3 ] && [ $tries -lt 50 ]; do
            sleep 0.1
            tries=$((tries + 1))
            doors=$(find "$scratch" -type s)
        done
        folder=$(dirname "$(echo "$doors" | head -n 1)")
        # shellcheck disable=SC2046 # a process is a word
        set -- $(pgrep -f "^$steady ")
        : >"$scratch/told"
        # Closed by its folder; and if that is open, by who comes.
        for mode in 700 755; do
            chmod $mode "$folder"
            find "$folder" -type s -exec chmod 777 {} +
            python3 "$scratch/user.py" "$folder" "$@" >>"$scratch/told" 2>&1
        done
        check "another user, MOOT_RINGS=$word" "it was not tried: $*" [ $# -eq 3 ]
        check "another user, MOOT_RINGS=$word" "it was not tried" grep -qx 'tried 15' "$scratch/told"
        check "another user, MOOT_RINGS=$word" "the other user gets something" \
            sh -c "! grep -q 'another user\|Error' '$scratch/told'"
        touch "$scratch/enough"
        wait $job
        check "another user, MOOT_RINGS=$word" "the job's status is not 0" [ $? = 0 ]
    done
fi

# --- The network ------------------------------------------------------------------------
for transport in tcp ucx; do
    [ "$transport" = tcp ] || [ -f "$build/wires/$transport.so" ] || continue
    visit "$transport" silence
    visit "$transport" nonsense
done
check_end
