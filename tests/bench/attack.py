#!/usr/bin/env python3
"""attack.py BUILD ROUNDS - how much longer a job of honest ranks takes while it is attacked.

frames       20,000 frames a second to each rank: half are a stranger's, half name the other
             rank and are not sealed by it.  The wire has an attacker in it who tells where
             ranks are (tests/cli/wires_hostile.c).
connections  to the ports of ranks over tcp: a thousand that stay and say nothing, and
             five hundred a second that say nonsense.

Two ranks keep to one processor, and the attacker to another, if there are two.  The attacker is
there in each job, since a processor that has something to do changes how the system shares the
others; beside a job that is left alone it attacks itself.  Both kinds of job take turns, ROUNDS pairs; a row is the median of the ratios of their
times, or of the processor's time that the ranks took, which others on the machine disturb
less.  Prints rows as run.sh wants them.  Needs root, for a network of its own in which ten
datagrams do not fill a socket; exit status 77, with the reason, otherwise.
"""

import ctypes
import os
import random
import re
import resource
import shlex
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

CLONE_NEWNET = 0x40000000
SILENT, A_SECOND, BYTES, FRAMES_A_SECOND = 1000, 500, 200, 20000
TARGET = 1.2


def doors(program):
    """Addresses at which processes of this program listen."""
    inodes, found = set(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == program:
                names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                inodes.update(name[8:-1] for name in names if name.startswith("socket:["))
        except OSError:
            pass  # it has ended
    with open("/proc/net/tcp", encoding="ascii") as file:
        for words in map(str.split, file):
            if len(words) > 9 and words[3] == "0A" and words[9] in inodes:
                host, port = words[1].split(":")
                host = socket.inet_ntoa(int(host, 16).to_bytes(4, sys.byteorder))
                found.append(("127.0.0.1" if host == "0.0.0.0" else host, int(port, 16)))
    return found


def connect(door):
    guest = socket.socket()
    guest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    guest.settimeout(1)
    try:
        guest.connect(door)
    except OSError:
        pass  # the job has ended
    return guest


def say(out, words):
    out.seek(0)
    out.write(words)
    out.flush()


def disturb(out, find_doors, serve):
    """Connects until it is killed; serve() has what listens look at it."""
    found = []
    while len(found) < 2:
        time.sleep(0.02)
        found = find_doors()
    silent = []
    for i in range(SILENT):
        silent.append(connect(found[i % 2]))
        serve()
    begun, said = time.monotonic(), 0
    while silent:
        time.sleep(max(0, said / A_SECOND - (time.monotonic() - begun)))
        try:
            guest = connect(found[said % 2])
            guest.send(random.randbytes(BYTES))
            guest.close()
        except OSError:
            pass  # it was told to go, or the job has ended
        serve()
        said += 1
        say(out, f"{said} said nonsense beside {SILENT} who said nothing")


def disturb_ranks(build, out):
    disturb(out, lambda: doors(f"{build}/tests/mpi/steady"), lambda: None)


def disturb_itself(out):
    listening = [socket.create_server(("127.0.0.1", 0), backlog=100) for _ in range(2)]
    guests = []

    def serve():
        for at in listening:
            at.setblocking(False)
            try:
                guests.append(at.accept()[0])
            except OSError:
                pass  # nobody is there
        while len(guests) > SILENT + 1:
            guests.pop().close()

    disturb(out, lambda: [at.getsockname() for at in listening], serve)


def flood(out, addresses, uids, serve):
    """Sends frames until it is killed; serve() has who gets them look at them."""
    guest = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    guest.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
    guest.setblocking(False)
    frames = [[uids[1 - to] + random.randbytes(BYTES), random.randbytes(8 + BYTES)] for to in range(2)]
    begun, sent, full = time.monotonic(), 0, 0
    while True:
        time.sleep(0.0005)
        due = int(2 * FRAMES_A_SECOND * (time.monotonic() - begun))
        for at in range(sent, due):
            to = at % 2
            try:
                guest.sendto(frames[to][at // 2 % 2], addresses[to])
            except BlockingIOError:
                full += 1
            except OSError:
                pass  # the job has ended
            serve(to)
        sent = due
        say(out, f"{sent} frames sent, {full} to a full socket")


def flood_ranks(told, out):
    """Ranks have told of themselves in a file."""
    ranks = []
    while len(ranks) < 2:
        time.sleep(0.02)
        if os.path.exists(told):
            with open(told, encoding="ascii") as file:
                ranks = [line.split() for line in file if line.endswith("\n")]
    flood(out, [bytes.fromhex(address) for _, address in ranks],
          [struct.pack("=Q", int(uid)) for uid, _ in ranks], lambda to: None)


def flood_itself(out):
    ends = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    for end in ends:
        end.bind("")
    flood(out, [end.getsockname() for end in ends], [b"8 bytes."] * 2, lambda to: ends[to].recv(4096))


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_job(build, tasks, transport):
    """Its time, the processor's time, and what it said."""
    command = ["taskset", "-c", "0", f"{build}/moot", "run", "-n", "2", "--launcher", "local",
               "--transport", transport, "MOOT_RINGS=off", f"{build}/tests/mpi/steady", str(tasks)]
    begun, before = time.monotonic(), processor_s()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    took = time.monotonic() - begun
    if done.returncode != 0:
        sys.exit(f"{done.stdout}attack.py: the job failed: {shlex.join(command)}")
    return took, processor_s() - before, done.stdout


def attack(build, tasks, transport, scratch, attacker):
    """A job while attacker(file) runs, which says in the file what it has done."""
    with open(f"{scratch}/said", "w+", encoding="ascii") as out:
        child = os.fork()
        if child == 0:
            try:
                os.sched_setaffinity(0, {os.cpu_count() - 1})
                attacker(out)
            finally:
                os._exit(1)
        try:
            took, used, said = run_job(build, tasks, transport)
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
        out.seek(0)
        dropped = re.search(r"frames dropped *(.*)", said)
        return took, used, (out.read() or "nobody came") + (", dropped " + dropped.group(1) if dropped else "")


def print_rows(name, alone, attacked):
    """Each a list of (time, the processor's time, remark)."""
    for at, what in enumerate(("time", "processor")):
        ratios = sorted(b[at] / a[at] for a, b in zip(alone, attacked))
        print(f"attack-{name}-{what} {statistics.median(ratios):.4g} {TARGET} # {len(ratios)} pairs, "
              f"{ratios[0]:.3g} to {ratios[-1]:.3g}; left alone {statistics.median(a[at] for a in alone):.1f} s; "
              f"the last: {attacked[-1][2]}", flush=True)


def main(build, rounds, tasks):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        wire = f"{scratch}/hostile.so"
        subprocess.run([*shlex.split(os.environ.get("CC", "gcc")), "-D_GNU_SOURCE", "-w", "-O2", "-shared",
                        "-fPIC", f"-I{build}/include", "tests/cli/wires_hostile.c", "-o", wire], check=True)
        results = {"frames": ([], []), "connections": ([], [])}
        told = f"{scratch}/told"
        hostile = f"{wire}:one-in=0:tell={told}"
        for _ in range(rounds):
            for place, transport, attackers in (
                    ("frames", hostile, (flood_itself, lambda out: flood_ranks(told, out))),
                    ("connections", "tcp", (disturb_itself, lambda out: disturb_ranks(build, out)))):
                for way, attacker in enumerate(attackers):
                    results[place][way].append(attack(build, tasks, transport, scratch, attacker))
                    if os.path.exists(told):
                        os.remove(told)
        for name, (alone, attacked) in results.items():
            print_rows(name, alone, attacked)


def enter_network():
    """Goes on in a network of its own."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        print("a network of its own needs root, and namespaces")
        sys.exit(77)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with open("/proc/sys/net/unix/max_dgram_qlen", "w", encoding="ascii") as file:
        file.write("4096")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: attack.py BUILD ROUNDS")
    enter_network()
    for knob in [k for k in os.environ if k.startswith("MOOT_")]:
        del os.environ[knob]
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(os.environ.get("TASKS", "500000")))
