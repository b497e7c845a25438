#!/usr/bin/env python3
"""layers.py BUILD [--write] - the walls between the rooms of the product.

tests/tidy/rooms.txt lists the rooms, lowest first. Checked are:

  includes  A quoted include is a path from the top of the tree, to the includer's room or
            to one below; node/ sees of the core's rooms only faultplan/ and link/, beside
            consensus/*.h. <mpi.h> is for node/api/moot_mpi.h, and that for mpi.c alone.
  calls     An undefined symbol of an object in BUILD is defined in the same room or below;
            of the core's rooms others call core_* alone.
  private   A NAME_private.h, and a header that its room's contract (FOLDER/ROOM.h, if
            there is one) does not lead to, is included inside the room alone.
  state     Only a room assigns to its part of struct core or struct moot.
  twice     No struct, union or enum has another's tag, and no file another's name.
  pure      The core includes and calls nothing of clocks, I/O, threads or chance.
  exports   libmoot.so in BUILD exports moot_* and nothing else.

Known violations stand in tests/tidy/upcalls.txt, "CHECK FILE NAME" and behind # the reason;
the list may only shrink: a line that is not needed any more fails, too. --write brings it
up to date and keeps the reasons. Prints each violation and exits 1; run from the top.
"""
import collections
import os
import re
import subprocess
import sys

ROOMS = "tests/tidy/rooms.txt"
KNOWN = "tests/tidy/upcalls.txt"
PRODUCT = ("hashing", "proto", "consensus", "node")
CORE = ("state", "gossip", "ownership", "reclaim", "termination", "membership", "step", "link")
CORE_HEADERS = set("assert inttypes limits stdalign stdarg stdbool stddef stdint stdlib string".split())
CORE_CALLS = set("""malloc calloc realloc free memcpy memmove memset memcmp memchr strlen strnlen strcmp
    strncmp strcpy strncpy strchr strrchr strstr bsearch qsort __assert_fail __stack_chk_fail
    _GLOBAL_OFFSET_TABLE_""".split())
INSTRUMENTS = re.compile(r"^__(asan|ubsan|tsan|sanitizer|lsan|gcov|llvm)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)', re.M)
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
TAG = re.compile(r"\b(struct|union|enum)\s+(\w+)\s*\{")
CHANGE = r"(?:=(?!=)|[-+*/|&^]=|<<=|>>=|\+\+|--)"


class Room:
    def __init__(self, line, place):
        words = line.split()
        self.name, self.folder, self.place = words[0], words[1], place
        self.prefix = self.folder[:-1] if self.folder.endswith("*") else self.folder + "/"
        self.owns, self.barred = None, set()
        if "owns" in words:
            at = words.index("owns")
            self.owns = (words[at + 3], words[at + 1])
        if "not" in words:
            self.barred = set(words[words.index("not") + 1:])
        contract = "%s/%s.h" % (self.folder, self.folder.rstrip("*").split("/")[-1])
        self.contract = contract if os.path.exists(contract) else None

    def may_use(self, other):
        return other.place <= self.place and other.name not in self.barred


def read_rooms():
    with open(ROOMS) as lines:
        rooms = [line for line in lines if line.strip() and not line.startswith("#")]
    rooms = [Room(line, place) for place, line in enumerate(rooms)]
    lowest_of_node = next(room.place for room in rooms if room.folder.startswith("node/"))
    for room in rooms:
        if room.place >= lowest_of_node:
            room.barred |= set(CORE) - {"link"}
    return rooms


def room_of(rooms, path):
    return max((room for room in rooms if path.startswith(room.prefix)),
               key=lambda room: len(room.prefix), default=None)


def sources():
    found = []
    for top in PRODUCT:
        for folder, _, names in os.walk(top):
            found += [os.path.join(folder, name) for name in names if name.endswith((".c", ".h"))]
    return sorted(found)


def blank_comments(text):
    """The text without comments and strings, on the same lines."""
    return COMMENT.sub(lambda m: m.group(0) if m.group(0)[0] == '"' and "include" in
                       text[text.rfind("\n", 0, m.start()):m.start()]
                       else re.sub(r"[^\n]", " ", m.group(0)), text)


def includes_of(text):
    return [m.groups() for m in INCLUDE.finditer(text)]


def check_includes(rooms, texts):
    for path, text in texts.items():
        for mark, name in includes_of(text):
            if mark == "<" and name == "mpi.h" and path != "node/api/moot_mpi.h":
                yield "includes", path, name
            if mark == "<" or name == "moot.pb-c.h":
                continue
            if name == "node/api/moot_mpi.h" and path != "node/transport/mpi/mpi.c":
                yield "includes", path, name
            if name not in texts or not room_of(rooms, path).may_use(room_of(rooms, name)):
                yield "includes", path, name


def offered_by(room, texts):
    """The contract, the headers of the room that it includes, and those that they do."""
    found, waiting = set(), [room.contract]
    while waiting:
        header = waiting.pop()
        found.add(header)
        waiting += [name for _, name in includes_of(texts[header])
                    if name in texts and name.startswith(room.prefix) and name not in found]
    return found


def check_private(rooms, texts):
    offered = {}
    for room in rooms:
        if room.contract:
            offered[room.name] = offered_by(room, texts)
    for path, text in texts.items():
        for mark, name in includes_of(text):
            home = room_of(rooms, name) if mark == '"' and name in texts else None
            if home is None or home is room_of(rooms, path):
                continue
            if name.endswith("_private.h") or name not in offered.get(home.name, {name}):
                yield "private", path, name


def check_state(rooms, texts):
    variables = {"core": "core", "moot": "m"}
    for room in rooms:
        if room.owns is None:
            continue
        struct, field = room.owns
        part = r"\b%s\)?->%s\." % (variables[struct], field)
        place = part + r"(\w+)(?:\.\w+|->\w+|\[[^\]\n]*\])*"
        change = re.compile(r"(?:\+\+|--)\(?%s(\w+)|%s\s*%s" % (part, place, CHANGE))
        for path, text in texts.items():
            if room_of(rooms, path) is not room:
                for found in change.finditer(text):
                    yield "state", path, "%s.%s" % (field, found.group(1) or found.group(2))


def check_twice(texts):
    places = collections.defaultdict(set)
    for path, text in texts.items():
        places[os.path.basename(path)].add(path)
        for kind, tag in TAG.findall(text):
            places["%s %s" % (kind, tag)].add(path)
    for name, paths in places.items():
        for path in sorted(paths)[1:]:
            yield "twice", path, name.replace(" ", ":")


def symbols_of(build, texts):
    """Of each source file with an object: what it defines for others, and what it needs."""
    defined, needed = {}, []
    for path in (path for path in texts if path.endswith(".c")):
        found = "%s/%s.o" % (build, path[:-2])
        if not os.path.exists(found):
            sys.exit("layers.py: %s has no object of %s; build first" % (build, path))
        for line in subprocess.check_output(["nm", "-g", found], text=True).splitlines():
            kind, name = line.split()[-2:]
            if kind in "Uvw":
                needed.append((path, name))
            else:
                defined[name] = path
    return defined, needed


def check_calls(rooms, defined, needed):
    for path, name in needed:
        if name not in defined:
            continue
        caller, called = room_of(rooms, path), room_of(rooms, defined[name])
        interface = name.startswith("core_") and called.place <= caller.place
        if not interface and not caller.may_use(called):
            yield "calls", path, name


def check_pure(rooms, texts, defined, needed):
    of_core = [path for path in texts if room_of(rooms, path).name in CORE + ("core",)]
    for path in of_core:
        for mark, name in includes_of(texts[path]):
            if mark == "<" and name[:-2] not in CORE_HEADERS:
                yield "pure", path, name
    for path, name in needed:
        if path in of_core and name not in defined and name not in CORE_CALLS:
            if not INSTRUMENTS.match(name):
                yield "pure", path, name


def check_exports(build):
    shown = subprocess.check_output(["nm", "-D", "--defined-only", build + "/libmoot.so"], text=True)
    for line in shown.splitlines():
        if not line.split()[-1].startswith("moot_"):
            yield "exports", "libmoot.so", line.split()[-1]


def find_violations(build):
    rooms = read_rooms()
    texts = {}
    for path in sources():
        with open(path) as file:
            texts[path] = blank_comments(file.read())
    defined, needed = symbols_of(build, texts)
    found = set()
    for check in (check_includes(rooms, texts), check_private(rooms, texts), check_state(rooms, texts),
                  check_twice(texts), check_calls(rooms, defined, needed),
                  check_pure(rooms, texts, defined, needed), check_exports(build)):
        found |= {" ".join(violation) for violation in check}
    return found


def read_known():
    """The head of the list, and the reason of each violation in it."""
    head, known = [], {}
    with open(KNOWN) as lines:
        for line in lines:
            if line.startswith("#"):
                head.append(line)
            elif line.strip():
                violation, _, reason = line.partition("#")
                known[" ".join(violation.split())] = reason.strip()
    return head, known


def main(build, write):
    found = find_violations(build)
    head, known = read_known()
    if write:
        with open(KNOWN, "w") as file:
            file.writelines(head)
            for violation in sorted(found):
                reason = known.get(violation)
                file.write(violation + ("  # " + reason if reason else "") + "\n")
        return 0
    new, old = sorted(found - known.keys()), sorted(known.keys() - found)
    for violation in new:
        print("%s: not allowed, see tests/tidy/layers.py" % violation)
    for violation in old:
        print("%s: is so no more; take it out of %s" % (violation, KNOWN))
    return 1 if new or old else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], len(sys.argv) == 3))
