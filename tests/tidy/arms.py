#!/usr/bin/env python3
"""arms.py [--missing] BUILD - which arms of consensus/ the programs of BUILD have reached.
   arms.py --pairs         - adds up the tables of `moot sim --coverage` that it reads.

An arm is one way that a condition goes, as gcc counts them: BUILD is made with COVERAGE=1,
and whatever has run there since its counts were removed has counted.  Prints a line for
each room and one for all; with --missing instead the arms that nothing has reached, by
line and kind.  The kinds follow from the text of a line and of a few before it (KINDS), so
that a reader can check them.

`make coverage` runs what is to count first (deploy/doc/TESTING.md).  The simulator and the
plans of faults are no part of it.
"""

import collections
import gzip
import json
import pathlib
import re
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


# Functions that give false or NULL for want of memory alone.
TAKES = (
    r"\b(?:rankset_(?:add|copy|merge)|core_(?:alloc|grow|resize|make_room)|memory_(?:take|take_raw|grow)|"
    r"out_(?:add|send|borrow|copy_set)|agenda_send|table_(?:enter|widen|relieve|open|add_inputs)|"
    r"task_ext_get|requests_(?:of|asker)|message_copy|malloc|calloc|realloc|block_(?:add|take)|"
    r"view_(?:from_message|to_message|present|add_\w+|change_take_newcomers)|note_sent|committee_(?:of|take)|"
    r"detector_certify|reserve_outgoing|room_for_one|reopen|choose_(?:told|staying|round)|"
    r"task_learn_candidates|link_inputs|index_widen|begin_(?:members|rooms)|take_over_inputs|"
    r"take_(?:from|view)|grow_peers|make_(?:record|proposal))\("
)
LOOK_BACK = 8  # lines in which a variable was given its value


def wants_memory(source, line):
    """A condition asks whether something that takes memory has failed, or the core has."""
    text = source[line - 1]
    if re.search(TAKES, text) and re.search(r"!|\bgood\b|\breturn\b|&&|[?:] ", text):
        return True
    if re.search(r"->broken|memory_is_short|\bgood &&", text):
        return True
    before = "\n".join(source[max(0, line - LOOK_BACK) : line])
    names = set(re.findall(r"(\w+) [!=]= NULL", text))
    if re.match(r"\s*: NULL;", text):
        names |= set(re.findall(r"(\w+) [!=]= NULL", before))
    return any(re.search(rf"\b{name}\s*=[^=][^;]*?{TAKES}", before) for name in names)


# Numbers that a type, or the library, does not hold.
LIMIT = re.compile(r"\b(?:CORE|LINK)_NEVER|UINT(?:8|16|32|64)_MAX|LIMIT_[A-Z]+|_MAX\b")


KINDS = (
    ("a lack of memory", lambda name, source, line: wants_memory(source, line)),
    ("limits", lambda name, source, line: LIMIT.search(source[line - 1])),
    (
        "what is asserted, or told to reports",
        lambda name, source, line: name.endswith("_hold.c") or name.endswith("/inspect.c"),
    ),
    ("other", lambda name, source, line: True),
)


def print_missing(arms):
    missing = collections.defaultdict(list)
    for (name, line, which), count in sorted(arms.items()):
        if count == 0:
            missing[name, line].append(str(which))
    kinds = collections.defaultdict(list)
    for (name, line), whiches in missing.items():
        source = pathlib.Path(name).read_text(encoding="utf-8").splitlines()
        kind = next(kind for kind, is_it in KINDS if is_it(name, source, line))
        said = f"{name}:{line}: {','.join(whiches)}  {source[line - 1].strip()}"
        kinds[kind].append((len(whiches), said))
    for kind, _ in KINDS:
        print(f"{sum(count for count, _ in kinds[kind])} arms not reached: {kind}")
    for kind, _ in KINDS:
        print(f"\n{kind}:")
        for _, said in kinds[kind]:
            print(f"  {said}")


# --- Pairs ------------------------------------------------------------------------------

UNITS = {unit: 1000**power for power, unit in enumerate("kMGTPE", 1)}


def number_of(cell):
    if cell in ".-":
        return 0
    return int(cell.rstrip("kMGTPE")) * UNITS.get(cell[-1], 1)


def print_pairs(lines):
    """How often, cut off to a figure or three; then the pairs that no run had."""
    met = collections.defaultdict(int)
    possible, states = set(), []
    for line in lines:
        words = line.split()
        if words[:1] == ["joins"]:
            states = re.split(r"\s{1,}(?!off)", line.strip())
        elif len(words) == len(states) + 1 and re.fullmatch(r"[A-Z]+", words[0]):
            for state, cell in zip(states, words[1:]):
                met[words[0], state] += number_of(cell)
                if cell != "-":
                    possible.add((words[0], state))
    rows = collections.defaultdict(list)
    for (message, state), count in met.items():
        if count == 0 and (message, state) in possible:
            rows[message].append(state)
    reached = sum(met[pair] > 0 for pair in possible)
    print(f"{reached} of {len(possible)} possible pairs of a message and its receiver's state; not:")
    for message, absent in rows.items():
        print(f"  {message:10} {', '.join(absent)}")


def main():
    if sys.argv[-1] == "--pairs":
        print_pairs(sys.stdin)
        return
    build = pathlib.Path(sys.argv[-1])
    if not notes(build):
        sys.exit(f"arms.py: {build} does not count: make coverage")
    arms = counted(build)
    if "--missing" in sys.argv:
        print_missing(arms)
    else:
        print_rooms(arms)


main()
