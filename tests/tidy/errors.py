#!/usr/bin/env python3
"""errors.py - the manual names each error that a call is known to return.

The tests are what is known: an EXPECT, REFUSED or CHECK_CODE of a call and of an error
shows that the call returns it.  The page of that call must have the error in its section
ERRORS, or anywhere if it has none, or send the reader from there to a page that has it.

    python3 tests/tidy/errors.py
"""
import glob
import re
import sys

# "the call (its own arguments in brackets), the error"
SEEN = re.compile(r"(?:EXPECT|REFUSED)\(\s*\w+,\s*(moot_\w+)\((?:[^;]*?)\)\s*,\s*"
                  r"(MOOT_ERR_\w+)\s*\);", re.S)
# "and those of", "as of", on a line of its own or at its end, before the reference
REFERS = re.compile(r"\b(?:of|as|As)\n\.(?:Xr|Fn) (moot_\w+)")
AT = {"moot_task_spawn_at": "moot_task_spawn", "moot_call_spawn_at": "moot_call_spawn",
      "moot_task_then_at": "moot_task_then"}


def pages():
    """The page of each call, and the text of its ERRORS."""
    found = {}
    for path in glob.glob("deploy/man/*.3"):
        text = open(path, encoding="utf-8").read()
        head = text.split(".Sh LIBRARY")[0]
        errors = text.split(".Sh ERRORS")[1].split(".Sh ")[0] if ".Sh ERRORS" in text else text
        for name in re.findall(r"\b(moot_\w+)", head):
            found[name] = (path, errors)
    return found


def listed(name, known, seen=()):
    """The errors in its section, and in those that it refers to."""
    if name not in known or name in seen:
        return set()
    errors = known[name][1]
    out = set(re.findall(r"MOOT_ERR_\w+", errors))
    for other in REFERS.findall(errors):
        if known.get(other, ("", ""))[0] != known[name][0]:
            out |= listed(other, known, (*seen, name))
    return out


def main():
    known, bad = pages(), 0
    wanted = {}
    for path in glob.glob("tests/conformance/*.[ch]") + glob.glob("tests/mpi/**/*.[ch]", recursive=True):
        text = open(path, encoding="utf-8").read()
        for match in SEEN.finditer(text):
            name = AT.get(match.group(1), match.group(1))
            line = text.count("\n", 0, match.start()) + 1
            wanted.setdefault((name, match.group(2)), f"{path}:{line}")
    for (name, error), where in sorted(wanted.items()):
        if name in known and error not in listed(name, known):
            print(f"{known[name][0]}: {name} returns {error} ({where})")
            bad += 1
    if not wanted:
        bad += 1
        print("errors.py: no test says what a call returns")
    sys.exit(bad != 0)


main()
