#!/usr/bin/env python3
"""changing.py BUILD ROUNDS - what coming and going costs.

grow, shrink    from the wish, or the leaver's call, to the last rank that has the view; ranks wait
                meanwhile.  A newcomer's part is from its main() on, without the process's start.
                Beside them MPI_Comm_spawn and MPI_Intercomm_merge of one process among as many.
                Jobs take turns.
boundary        moot_session_next, from its last call to its last return: nobody comes or goes, the
                highest rank goes, one begins that has joined before
others          kernels of a millisecond; the share of the time that ranks who were there already
                spend in them in the second before a change, divided by that in the second after:
                of one rank whose kernels compute while another comes and goes, and of eight whose
                kernels sleep
sim             messages of the membership, and virtual time to the last rank that has the view, of
                a join and a leave in an even network; ROUNDS=0: these alone

SIZES names the numbers of ranks, 4,8,16,32,64 by itself, and SIM those of the simulator.  Prints rows as
run.sh wants them.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

TYPES = "JOIN LEAVE HANDOVER PREPARE PROMISE PROPOSE VOTED REJECT VIEW REPORT SETTLED TALLY RELEASED".split()
SHARE = 1 / 0.95
EACH = 1 if "WAYS_QUICK" in os.environ else 2  # changes in a job


def run(words):
    """The output of a command; the end if it fails."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        sys.exit(f"changing.py: exit {done.returncode}: {' '.join(words)}")
    return done.stdout


def told(text):
    """(word, rank, round, time) of each line that says something."""
    lines = re.findall(r"^(wish|main|open|joined|left|leave|gone|at|next) (\d+) (-?\d+) ([\d.]+)$", text, re.M)
    return sorted(((w, int(r), int(n), float(t)) for w, r, n, t in lines), key=lambda line: line[3])


def moot(build, ranks, rounds, mode, *more):
    """Silence means nothing where many ranks share few processors: it is waited for long."""
    return run([f"{build}/moot", "run", "--launcher", "local", "-n", str(ranks), "--max", str(ranks + 2),
                "MOOT_HEARTBEAT=2s", "MOOT_SUSPECT=100s",
                f"{build}/tests/bench/changing", mode, str(rounds), *more])


def mpi(build, ranks, rounds):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return run(["mpirun", *root, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks),
                f"{build}/tests/bench/changing_mpi", str(rounds)])


def row(name, values, target, unit, remark=""):
    least, most = min(values), max(values)
    print(f"{name} {statistics.median(values):.4g} {target} # {len(values)} times, "
          f"{least:.3g} to {most:.3g}{unit}{remark}", flush=True)


def changes(lines, ranks):
    """Each change: what it was, when it was wished for, when a newcomer's main() ran, and when the
    last of the others had the view, in seconds."""
    begins = [line for line in lines if line[0] in ("wish", "leave")]
    ends = [line[3] for line in begins[1:]] + [float("inf")]
    for (word, _, _, wished), end in zip(begins, ends):
        within = [line for line in lines if wished <= line[3] < end]
        views = [t for w, r, _, t in within if w == ("joined" if word == "wish" else "left") and r < ranks]
        views += [t for w, _, _, t in within if w == "open"]
        main = [t for w, _, _, t in within if w == "main"]
        if views:
            yield word, wished, main[0] if main else wished, max(views)


def grow(build, ranks, rounds):
    took = {"grow": [], "newcomer": [], "shrink": [], "mpi-grow": [], "mpi-newcomer": []}
    for _ in range(rounds):
        for word, wished, main, view in changes(told(moot(build, ranks, EACH, "grow")), ranks):
            took["grow" if word == "wish" else "shrink"].append(1e3 * (view - wished))
            if word == "wish":
                took["newcomer"].append(1e3 * (view - main))
        for _, wished, main, view in changes(told(mpi(build, ranks, EACH)), ranks):
            took["mpi-grow"].append(1e3 * (view - wished))
            took["mpi-newcomer"].append(1e3 * (view - main))
    for name, values in took.items():
        row(f"changing-{name}-{ranks}-ms", values, "-", " ms")
    row(f"changing-grow-{ranks}-beside-mpi", [statistics.median(took["grow"]) / statistics.median(took["mpi-grow"])],
        1, "")


def boundary(build, ranks, rounds):
    took = ([], [], [])
    each = min(3, ranks - 1)
    for _ in range(rounds):
        lines = told(moot(build, ranks, each, "sessions"))
        for number in range(3 * each):
            calls = [line for line in lines if line[2] == number]
            at = max(t for w, _, _, t in calls if w == "at")
            took[number // each].append(1e3 * (max(t for w, _, _, t in calls if w == "next") - at))
    for name, values in zip(("same", "one-goes", "one-comes"), took):
        row(f"changing-boundary-{name}-{ranks}-ms", values, "-", " ms")


def share(kernels, ranks, begin, end):
    """The share of their time that these ranks have spent in kernels."""
    inside = sum(min(at + took, end) - max(at, begin)
                 for rank in range(ranks) for at, took in kernels[rank] if at < end and at + took > begin)
    return inside / (ranks * (end - begin))


def others(build, ranks, rounds, how):
    before, ratios = {"wish": [], "leave": []}, {"wish": [], "leave": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            lines = told(moot(build, ranks, EACH, "busy", how, f"{folder}/kernels"))
            kernels = []
            for rank in range(ranks):
                with open(f"{folder}/kernels.{rank}", encoding="ascii") as file:
                    kernels.append([tuple(map(float, line.split())) for line in file])
        for word, wished, _, _ in changes(lines, ranks):
            first = share(kernels, ranks, wished - 1, wished)
            before[word].append(first)
            ratios[word].append(first / share(kernels, ranks, wished, wished + 1))
    for word, name in (("wish", "grow"), ("leave", "shrink")):
        row(f"changing-others-{name}-{how}-{ranks}", ratios[word], f"{SHARE:.3f}", "",
            f"; the second before: {statistics.median(before[word]):.3f} in kernels")


def simulate(build, ranks):
    """A join, and a leave, of a program that agrees."""
    for name, change, begin in (("join", "join@5us", r"asks to be let in"),
                                ("leave", f"leave:r{ranks // 3}@5us", "ends its program early, to leave")):
        text = run([f"{build}/moot", "sim", "--seed", "1", "--ranks", str(ranks), "--workload", "agree", "--tasks", "16",
                    "--steady", "--faults", change, "--trace"])
        begun = re.search(rf"^ *([\d.]+) ms .*(?:{begin})", text, re.M)
        views = re.findall(r"^ *([\d.]+) ms  rank \d+ enters view 2 ", text, re.M)
        counts = dict(re.findall(r"([A-Z]+) (\d+)", re.search(r"^  by type .*$", text, re.M).group()))
        if begun is None or not views:
            sys.exit(f"changing.py: no view among {ranks} virtual ranks")
        messages = sum(int(counts.get(word, 0)) for word in TYPES)
        print(f"changing-sim-{name}-{ranks}-ms {float(views[-1]) - float(begun.group(1)):.4g} - # "
              f"{messages} messages, {messages / ranks:.3g} for each rank: "
              + ", ".join(f"{counts[word]} {word}" for word in TYPES if word in counts), flush=True)


def numbers(name, default):
    return [int(word) for word in os.environ.get(name, default).split(",") if word]


def main(build, rounds):
    print(f"changing-load {os.getloadavg()[0]:.3g} - # processes that want to run when this begins, on "
          f"{os.cpu_count()} cores; where they are more, others are measured, too", flush=True)
    if rounds > 0:
        for ranks in numbers("SIZES", "4,8,16,32,64"):
            grow(build, ranks, rounds)
        for ranks in numbers("SIZES", "4,16"):
            boundary(build, ranks, rounds)
        others(build, 1, rounds, "spin")
        others(build, 8, rounds, "sleep")
    for ranks in numbers("SIM", "4,64,1024,4096"):
        simulate(build, ranks)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} BUILD ROUNDS")
    main(sys.argv[1], int(sys.argv[2]))
