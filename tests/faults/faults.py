#!/usr/bin/env python3
"""faults.py - one-line faults of the kinds that programmers make, and what sees each.

    faults.py weave DIR              writes the core's sources with all faults in them
    faults.py run BUILD [NAME...]    all of them, or those named, must be seen
    faults.py search BUILD NAME...   finds what sees a fault, and prints the line for the table

The table is faults.txt.  A row names a fault, the file and the function that it is in, and
what goes wrong; then stand the lines before ("- ") and after ("+ "), and what sees it:

    [votes-of-before] consensus/membership/view_paxos.c start_ballot
    Voices for an older ballot count for this one.
    - rankset_release(&paxos->voices);
    + (void)0;
    seen by explore --quick ballots-3

The text before is an expression, or a statement that ends in ";", and stands once in the
function; spaces and ends of lines are all one, and a "@" before and behind it sets it off
from what stands around it.  One that stands there no more fails the run.
Instead of "seen by" a row may have "alike" and why the fault changes nothing that is promised.

No source of the product knows of this.  `make mutants` compiles copies, in which each place
asks which fault is on (fault_on); $MOOT_FAULT names it.  So one build serves all, and any
test can be run with a fault by hand.  The rules that have a name are mutants instead
(consensus/mutant.h): those are the protocol's, these are its code's.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
TABLE = os.path.join(HERE, "faults.txt")
SECONDS_MAX = 60  # of a processor, for one test: one that hangs is killed, and that counts
ROOMS = ("state", "signature", "gossip", "ownership", "elements", "reclaim", "termination", "meeting",
         "snapshot", "membership", "step", "link", "route", "shape")


class Fault:
    """A row of the table; `number` is its place, from 1."""

    def __init__(self, number, line, name, path, function):
        self.number, self.line = number, line
        self.name, self.path, self.function = name, path, function
        self.breaks, self.before, self.after = "", "", ""
        self.seen_by, self.alike = [], ""


def fail(text):
    sys.exit("faults: " + text)


def read_table():
    """Rows stand apart by empty lines; a line that is indented goes on with the one before."""
    faults, fault, part = [], None, ""
    for number, line in enumerate(open(TABLE, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        head = re.fullmatch(r"\[([a-z0-9-]+)\] (\S+) (\w+)", line)
        if head:
            fault, part = Fault(len(faults) + 1, number, *head.groups()), "breaks"
            faults.append(fault)
        elif not line or (line.startswith("#") and fault is None):
            part = ""
        elif line.startswith("- "):
            fault.before, part = line[2:], "before"
        elif line.startswith("+ "):
            fault.after, part = line[2:], "after"
        elif line.startswith("seen by "):
            fault.seen_by.append(line[8:].split())
            part = "seen"
        elif line.startswith("alike "):
            fault.alike, part = line[6:], "alike"
        elif part in ("breaks", "before", "after", "alike"):
            setattr(fault, part, (getattr(fault, part) + " " + line.strip()).strip())
        else:
            fail(f"faults.txt:{number}: no part of a row")
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1:
            fail(f"two rows are named {name}")
    return faults


# --- Weaving --------------------------------------------------------------------------


def place_of(fault, text):
    """Where the text before stands in its function, as a pair of offsets."""
    where = f"faults.txt:{fault.line}: {fault.name}"
    start = re.search(rf"^[A-Za-z_][^;{{}}=]*?\b{fault.function}\([^;{{}}]*\)\s*\{{", text, re.M)
    if not start:
        fail(f"{where}: {fault.path} has no function {fault.function}")
    end = re.compile(r"^\}|\}$", re.M).search(text, start.end())
    if "\n" in text[start.end():end.start()]:
        end = re.compile(r"^\}", re.M).search(text, start.end())
    context = fault.before if "@" in fault.before else f"@{fault.before}@"
    pattern = r"\s+".join(re.escape(word) for word in context.split())
    pattern = pattern.replace("@", "(?P<it>", 1).replace("@", ")", 1)
    found = list(re.compile(pattern).finditer(text, start.end(), end.start()))
    if len(found) != 1:
        fail(f"{where}: {fault.before!r} stands {len(found)} times in {fault.function} of "
             f"{fault.path}, and not once")
    return found[0].span("it")


def woven(fault, before):
    """On one line, and then as many empty ones as the text before had ends."""
    line = " ".join(before.split())
    ends = "\n" * before.count("\n")
    on = f"fault_on == {fault.number}"
    if before.endswith(";"):
        return f"if ({on}) {{ {fault.after} }} else {{ {line} }}{ends}"
    return f"({on} ? ({fault.after}) : ({line})){ends}"


def weave_file(path, faults):
    text = open(os.path.join(TREE, path), encoding="utf-8").read()
    places = sorted(((place_of(fault, text), fault) for fault in faults), key=lambda x: x[0])
    for (one, a), (other, b) in zip(places, places[1:]):
        if one[1] > other[0]:
            fail(f"{a.name} and {b.name} are in one place")
    for (first, last), fault in reversed(places):
        text = text[:first] + woven(fault, text[first:last]) + text[last:]
    return f"extern int fault_on;\n#line 1 \"{path}\"\n{text}"


def write_if_new(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        open(path, "w", encoding="utf-8").write(text)


FAULT_ON = """/* Which fault is on: that which $MOOT_FAULT names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consensus/mutant.h"

extern int fault_on;
int fault_on;

/* Of a test that breaks no rule. */
__attribute__((weak)) enum mutant mutant_on;

static const char *const names[] = {%s};

__attribute__((constructor)) static void choose_fault(void)
{
    const char *wanted = getenv("MOOT_FAULT");
    if (wanted == NULL || *wanted == '\\0') {
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], wanted) == 0) {
            fault_on = (int)i + 1;
            return;
        }
    }
    fprintf(stderr, "no fault is named %%s\\n", wanted);
    _Exit(127);
}
"""


def sources():
    for room in ROOMS:
        folder = os.path.join(TREE, "consensus", room)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".c"):
                yield f"consensus/{room}/{name}"


def weave(out):
    faults = read_table()
    paths = list(sources())
    for fault in faults:
        if fault.path not in paths:
            fail(f"faults.txt:{fault.line}: {fault.path} is no source of the core")
    for path in paths:
        here = [fault for fault in faults if fault.path == path]
        write_if_new(os.path.join(out, path), weave_file(path, here))
    names = ", ".join(f'"{fault.name}"' for fault in faults)
    write_if_new(os.path.join(out, "fault_on.c"), FAULT_ON % names)


# --- Running --------------------------------------------------------------------------


# The limits are set by a shell: between fork and exec a process of threads may run no Python.
LIMITED = ["sh", "-c", f'ulimit -t {SECONDS_MAX}; ulimit -c 0; exec "$@"', "sh"]


def run_test(build, command, fault):
    """Its exit status, and what it said; the first test that fails ends a program of them."""
    program = os.path.join(build, "tests", command[0])
    if not os.access(program, os.X_OK):
        fail(f"there is no {program}")
    environment = dict(os.environ, MOOT_FAULT=fault or "", CMOCKA_TEST_ABORT="1")
    done = subprocess.run(LIMITED + [program] + command[1:], env=environment, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode == 127:
        fail(f"cannot run {program} {' '.join(command[1:])}")
    return done.returncode, done.stdout.decode(errors="replace")


def fails(build, command, fault):
    """Does it fail with this fault, or with None?  Whatever ends it otherwise is a failure."""
    return run_test(build, command, fault)[0] != 0


def chosen(names):
    faults = read_table()
    for name in names:
        if name not in [fault.name for fault in faults]:
            fail(f"no fault is named {name}")
    return [fault for fault in faults if not names or fault.name in names]


def run(build, names):
    """As many at once as there are cores; they are told in the table's order."""
    faults, lives, sound = chosen(names), 0, {}
    changing = [fault for fault in faults if not fault.alike]
    pool = ThreadPoolExecutor(os.cpu_count())

    def hunt(fault):
        return next((one for one in fault.seen_by if fails(build, one, fault.name)), None)

    for fault, by in zip(changing, pool.map(hunt, changing)):
        lives += by is None
        if by is None:
            print(f"{fault.name} SURVIVES: {fault.breaks}", flush=True)
        else:
            sound[tuple(by)] = fault.name
            print(f"{fault.name} seen by MOOT_FAULT={fault.name} tests/{' '.join(by)}", flush=True)
    fail_alone = pool.map(lambda by: fails(build, list(by), None), sound)
    broken = [by for by, fails_alone in zip(sound, fail_alone) if fails_alone]
    for by in broken:
        print(f"FAILED {' '.join(by)}: without a fault, too")
    print(f"{len(changing) - lives} of {len(changing)} faults are seen; "
          f"{len(faults) - len(changing)} more change nothing that is promised")
    print(f"{len(changing) - lives} passed, {lives + len(broken)} failed")
    sys.exit(1 if lives or broken else 0)


def candidates(build):
    """The quick tests first; mutants --seeds ends with the line that repeats what failed."""
    bench = sorted(os.listdir(os.path.join(build, "tests", "unit")))
    scenes = run_test(build, ["explore/explore", "--list"], None)[1]
    yield from ([f"unit/{name}"] for name in bench if name.endswith("_test"))
    yield from (["explore/explore", "--quick", line.split()[0]] for line in scenes.splitlines())
    yield ["sim/mutants", "--seeds", "200"]


def search(build, names):
    for fault in chosen(names):
        for command in candidates(build):
            code, said = run_test(build, command, fault.name)
            if code != 0:
                last = said.strip().splitlines()[-1] if command[0] == "sim/mutants" else ""
                print(f"{fault.name}: seen by {'sim/' + last if last else ' '.join(command)}")
                break
        else:
            print(f"{fault.name}: nothing sees it")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "weave":
        weave(sys.argv[2])
    elif len(sys.argv) > 2 and sys.argv[1] == "run":
        run(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) > 3 and sys.argv[1] == "search":
        search(sys.argv[2], sys.argv[3:])
    else:
        fail("usage: faults.py weave DIR | run BUILD [NAME...] | search BUILD NAME...")


if __name__ == "__main__":
    main()
