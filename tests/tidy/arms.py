#!/usr/bin/env python3
"""arms.py [--missing] BUILD - which arms of consensus/ the programs of BUILD have reached.

An arm is one way that a condition goes, as gcc counts them: BUILD is made with COVERAGE=1,
and whatever has run there since its counts were removed has counted.  Prints a line for
each room and one for all; with --missing instead the arms that nothing has reached, by line.

`make coverage` runs what is to count first (deploy/doc/TESTING.md).  The simulator and the
plans of faults are no part of it.
"""

import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

LEFT_OUT = ("consensus/sim/", "consensus/faultplan/")


def notes(build):
    """The files in which gcc has written what there is to be reached."""
    return [
        path
        for path in sorted((build / "consensus").rglob("*.gcno"))
        if not str(path.relative_to(build)).startswith(LEFT_OUT)
    ]


def counted(build):
    """{(file, line, which): count}, the most of all objects that have the line."""
    arms = collections.defaultdict(int)
    with tempfile.TemporaryDirectory() as scratch:
        command = ["gcov", "--json-format", "--branch-probabilities", "--preserve-paths"]
        subprocess.run(
            command + [str(path.resolve()) for path in notes(build)],
            cwd=scratch,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for path in pathlib.Path(scratch).glob("*.json.gz"):
            with gzip.open(path) as opened:
                told = json.load(opened)
            for file in told["files"]:
                name = file["file"]
                if not name.startswith("consensus/") or name.startswith(LEFT_OUT):
                    continue
                for line in file["lines"]:
                    for which, branch in enumerate(line["branches"]):
                        arm = (name, line["line_number"], which)
                        arms[arm] = max(arms[arm], branch["count"])
    return arms


def print_rooms(arms):
    rooms = collections.defaultdict(lambda: [0, 0])
    for (name, _, _), count in sorted(arms.items()):
        for room in (name.rsplit("/", 1)[0], "all"):
            rooms[room][0] += count > 0
            rooms[room][1] += 1
    rooms["all"] = rooms.pop("all")  # behind the others
    for room, (reached, there) in rooms.items():
        print(f"{room:24} {reached:6} of {there:6} arms")


def print_missing(arms):
    missing = collections.defaultdict(list)
    for (name, line, which), count in sorted(arms.items()):
        if count == 0:
            missing[name, line].append(str(which))
    for (name, line), whiches in missing.items():
        source = pathlib.Path(name).read_text(encoding="utf-8").splitlines()
        print(f"{name}:{line}: {','.join(whiches)}  {source[line - 1].strip()}")


def main():
    build = pathlib.Path(sys.argv[-1])
    if not notes(build):
        sys.exit(f"arms.py: {build} does not count: make coverage")
    arms = counted(build)
    if "--missing" in sys.argv:
        print_missing(arms)
    else:
        print_rooms(arms)


main()
