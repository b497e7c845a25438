#!/usr/bin/env python3
"""layers.py BUILD [--write] - the walls between the rooms of the product.

tests/tidy/rooms.txt lists the rooms, lowest first, and what each may use.  The checks
read text, or ask nm of the objects in BUILD; run from the top of the tree.

    include   A quoted include is a path from the top of the tree, and leads to a room
              that the includer's may use.
    call      An object needs no symbol, of a function or of data, that a room defines
              which its own may not use.  This sees what declarations by hand hide from
              the check before.  Objects may hold LTO's code beside their own.
    private   NAME_private.h is included inside its room alone.  So is any header that
              the room's contract does not offer: the contract of room x in FOLDER is
              FOLDER/x.h, and offers itself and those of its room that it includes, or
              that these include.  A room without one offers all that is not private.
    state     Only files of room x change core->x or m->x: by =, op=, ++ or --, of any
              part of it down to the first pointer; and only they point to a part of it
              by a pointer that is not const, but for the records that rooms share
              (SHARED).  An address that is handed to a function is not seen.
    twice     No tag of a struct, union or enum is defined twice, and no two files have
              the same name.
    named     A file that a comment names is there.
    mpi       <mpi.h> is included by node/api/moot_mpi.h alone, and that by one file.
    pure      The core includes no header of clocks, I/O or threads, and its objects need
              nothing of libc but the short list below.
    export    libmoot.so exports moot_* and nothing else.

A violation is a line "CHECK FROM>TO FILE NAME": FROM is the room of FILE, TO that of NAME,
which is a header, symbol, field or tag.  tests/tidy/upcalls.txt lists the known ones, with
a reason behind # where one is worth saying.  It may only shrink: a violation that it does
not list is an error, and so is a line that is no violation any more.  --write brings it up
to date and keeps the reasons.  tests/tidy/layers_test.py sees each check fail.
"""
import collections
import fnmatch
import os
import re
import subprocess
import sys

ROOMS = "tests/tidy/rooms.txt"
KNOWN = "tests/tidy/upcalls.txt"
PRODUCT = ("hashing", "proto", "consensus", "node")

# GENERATED: sources in BUILD/gen, by the file that they are made of.
GENERATED = {"proto/moot.proto": "gen/moot.pb-c", "node/cli/report.html": "gen/report_page"}

# OWNERS: how a struct is called whose fields are rooms, by the folder of these rooms.
OWNERS = {"consensus": "core", "node": "m"}

# SHARED: records that several rooms write, each its own fields of it (ARCHITECTURE.md).
SHARED = ("lane_record",)

MPI_HEADER, MPI_SOURCE = "node/api/moot_mpi.h", "node/transport/mpi/mpi.c"

# IMPURE: folders in consensus/ that are not linked to a core's steps.
IMPURE = ("consensus/sim/", "consensus/faultplan/", "consensus/route/")
PURE_HEADERS = set("""assert.h inttypes.h limits.h stdalign.h stdarg.h stdbool.h stddef.h
    stdint.h stdlib.h string.h""".split())
PURE_SYMBOLS = set("""malloc calloc realloc free memcpy memmove memset memcmp memchr
    strlen strnlen strcmp strncmp strcpy strncpy strchr strrchr strstr bsearch qsort
    __assert_fail __stack_chk_fail _GLOBAL_OFFSET_TABLE_""".split())
# INSTRUMENTS: what compilers and sanitizers add.
INSTRUMENTS = re.compile(r"__(asan|ubsan|tsan|sanitizer|lsan|gcov|llvm)")

COMMENT_OR_STRING = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.S | re.X)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
TAG = re.compile(r"\b(struct|union|enum)\s+(?:_?[Aa]lign\w*\s*\([^)]*\)\s*)?(\w+)\s*\{")
POINTER = r"\b(const\s+)?struct\s+(\w+)\s*\*\s*(?:const\s+)?\w+\s*=\s*&\s*"
FILE_NAME = re.compile(r"\b[a-z]\w*\.[ch]\b")
STEP = re.compile(r"\s*\.\s*(\w+)")
CHANGE = re.compile(r"[\s)]*(=(?!=)|[-+*/%&|^]=|<<=|>>=|\+\+|--)")


# --- Rooms ------------------------------------------------------------------------------

class Room:
    """A line of rooms.txt."""

    def __init__(self, line, before):
        head, *rest = line.split("|")
        self.name, _, paths = head.partition(":")
        self.name, self.paths = self.name.strip(), paths.split()
        self.field = self.name.split(".")[-1]
        self.place = len(before)
        self.offers, self.uses = [], {room.name for room in before}
        for part in rest:
            key, *words = part.split()
            if key == "uses":
                self.uses = {room.name for room in before for word in words
                             if f"{room.name}.".startswith(f"{word}.")}
                unknown = [word for word in words
                           if not any(f"{name}.".startswith(f"{word}.") for name in self.uses)]
                if unknown:
                    sys.exit(f"{ROOMS}: {self.name} uses {unknown[0]}, no room before it")
            elif key == "offers":
                self.offers = words
            elif key == "field":
                self.field, = words
            else:
                sys.exit(f"{ROOMS}: {self.name}: what is '{key}'?")
        self.uses.add(self.name)

    def match(self, file):
        """The length of the path that leads to the file; 0: none does."""
        return max((len(path) for path in self.paths
                    if file.startswith(path + "/") or is_like(file, path)), default=0)


# Front: rooms from its place on see of the rooms that it hides what is said in its headers,
# whose rooms are its homes.
Front = collections.namedtuple("Front", "place hides said homes")


class House:
    """The rooms, their fronts, and the text of their files without comments."""

    def __init__(self):
        self.rooms, self.fronts = [], []
        self.texts, self.includes, self.comments = {}, {}, {}
        for file in sources():
            with open(file, encoding="utf-8") as lines:
                text = lines.read()
            self.texts[file] = COMMENT_OR_STRING.sub(blank, text)
            self.comments[file] = "\n".join(
                match[0] for match in COMMENT_OR_STRING.finditer(text) if match[0][0] == "/")
            self.includes[file] = INCLUDE.findall(COMMENT_OR_STRING.sub(blank_comment, text))
        with open(ROOMS, encoding="utf-8") as lines:
            for line in lines:
                line = line.partition("#")[0].strip()
                if line.startswith("front "):
                    self.read_front(line)
                elif line:
                    self.rooms.append(Room(line, self.rooms))
                    for front in self.fronts:
                        self.rooms[-1].uses -= front.hides
        made = [file for file in GENERATED if os.path.exists(file)]
        self.home = {file: self.find_room(file) for file in [*self.texts, *made]}
        for room in self.rooms:
            if room not in self.home.values():
                sys.exit(f"{ROOMS}: {room.name} has no files")

    def read_front(self, line):
        headers, _, rooms = line.removeprefix("front ").partition(":")
        files = [file for file in self.texts
                 if any(is_like(file, header) for header in headers.split())]
        said = {word for file in files for word in re.findall(r"\w+", self.texts[file])}
        if not files or not set(rooms.split()) <= {room.name for room in self.rooms}:
            sys.exit(f"{ROOMS}: no such headers, or no such rooms before: {line}")
        self.fronts.append(Front(len(self.rooms), set(rooms.split()), said,
                                 {self.find_room(file).name for file in files}))

    def find_room(self, file):
        room = max(self.rooms, key=lambda each: each.match(file))
        if room.match(file) == 0:
            sys.exit(f"{ROOMS}: {file} is in no room")
        return room

    def may_call(self, room, symbol, other):
        """Whether the room may use the other's symbol: by itself, or through a front."""
        return other.name in room.uses or any(
            front.place <= room.place and front.homes <= room.uses
            and other.name in front.hides and symbol in front.said for front in self.fronts)


def sources():
    found = []
    for top in PRODUCT:
        for folder, _, names in os.walk(top):
            found += [f"{folder}/{name}" for name in names if name.endswith((".c", ".h"))]
    return sorted(found)


def is_like(file, pattern):
    """Whether a shell's pattern stands for the file; its * ends at a slash."""
    return file.count("/") == pattern.count("/") and fnmatch.fnmatch(file, pattern)


def blank(match):
    """As many lines, and nothing on them."""
    return re.sub(r"[^\n]", " ", match[0])


def blank_comment(match):
    return blank(match) if match[0][0] == "/" else match[0]


# --- Checks by text ---------------------------------------------------------------------
# Each yields violations: check, file, the room of what is named or None, name.

def check_include(house):
    for file, includes in house.includes.items():
        for mark, name in includes:
            if mark == "<" or name == "moot.pb-c.h":
                continue
            if name not in house.texts:
                yield "include", file, None, name
            elif house.home[name].name not in house.home[file].uses:
                yield "include", file, house.home[name], name


def check_private(house):
    offered = {room: find_offers(house, room) for room in house.rooms}
    for file, includes in house.includes.items():
        for mark, name in includes:
            home = house.home.get(name) if mark == '"' else None
            if home not in (None, house.home[file]) and name not in offered[home]:
                yield "private", file, home, name


def find_offers(house, room):
    """The headers of a room that others may include."""
    own = {file for file in house.texts if file.endswith(".h") and house.home[file] is room}
    contract = next((f"{path}/{path.split('/')[-1]}.h" for path in room.paths
                     if f"{path}/{path.split('/')[-1]}.h" in own), None)
    offered, queue = set(), [contract]
    if contract is None:
        queue = [file for file in own if not file.endswith("_private.h")]
    queue += [file for file in own for header in room.offers if is_like(file, header)]
    while queue:
        header = queue.pop()
        if header in own and header not in offered and not header.endswith("_private.h"):
            offered.add(header)
            queue += [name for _, name in house.includes[header]]
    return offered


def check_state(house):
    for room in house.rooms:
        variable = OWNERS.get(room.paths[0].split("/")[0])
        if variable is None:
            continue
        part = re.compile(rf"\b{variable}\s*->\s*{room.field}\b")
        places = [(file, text, found) for file, text in house.texts.items()
                  if file.split("/")[0] == room.paths[0].split("/")[0]
                  for found in part.finditer(text)]
        # A field of that name which is a pointer, or a number, is no part.
        if any(STEP.match(text, found.end()) for _, text, found in places):
            for file, text, found in places:
                if house.home[file] is not room and (is_changed(text, found)
                                                     or is_pointed_to(text, found)):
                    member = STEP.match(text, found.end())
                    yield "state", file, room, room.field + (f".{member[1]}" if member else "")


def is_changed(text, found):
    """Whether the place that begins so is assigned to, counted up or counted down."""
    end = found.end()
    while True:
        step = STEP.match(text, end)
        if step:
            end = step.end()
        elif text[end:].lstrip()[:1] == "[":
            end = end_of_bracket(text, text.index("[", end))
        else:
            break
    return (CHANGE.match(text, end) is not None
            or re.search(r"(\+\+|--)[\s(]*$", text[max(0, found.start() - 20):found.start()])
            is not None)


def is_pointed_to(text, found):
    """Whether a pointer through which it may be changed begins with its address."""
    pointer = re.search(POINTER + "$", text[max(0, found.start() - 120):found.start()])
    return pointer is not None and pointer[1] is None and pointer[2] not in SHARED


def end_of_bracket(text, start):
    depth = 0
    for at in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def check_twice(house):
    places = collections.defaultdict(list)
    for file, text in house.texts.items():
        places[os.path.basename(file)].append(file)
        for kind, tag in TAG.findall(text):
            places[f"{kind}:{tag}"].append(file)
    for name, files in places.items():
        for file in files[1:]:
            yield "twice", file, house.home[files[0]], name


def check_named(house):
    there = {name for _, _, names in os.walk(".") for name in names}
    there |= {name.split("/")[-1] for includes in house.includes.values()
              for _, name in includes}
    for file, comments in house.comments.items():
        for name in set(FILE_NAME.findall(comments)) - there:
            yield "named", file, None, name


def check_mpi(house):
    for file, includes in house.includes.items():
        for _, name in includes:
            if name.split("/")[-1] == "mpi.h" and "/" not in name and file != MPI_HEADER:
                yield "mpi", file, None, name
            if name.split("/")[-1] == "moot_mpi.h" and file != MPI_SOURCE:
                yield "mpi", file, None, name


def is_pure(file):
    return file.startswith("consensus/") and not file.startswith(IMPURE)


def check_pure_headers(house):
    for file, includes in house.includes.items():
        for mark, name in includes:
            if is_pure(file) and mark == "<" and name not in PURE_HEADERS:
                yield "pure", file, None, name


# --- Checks by symbols ------------------------------------------------------------------

def read_symbols(house, build):
    """Files that define a symbol, by symbol; and all (file, symbol) that are needed."""
    objects = {f"{build}/{file[:-2]}.o": file for file in house.texts if file.endswith(".c")}
    # A transport is not built where the library that it is made of is not installed.
    objects = {path: file for path, file in objects.items()
               if os.path.exists(path) or not file.startswith("node/wires/")}
    objects.update({f"{build}/{made}.o": file for file, made in GENERATED.items()
                    if file in house.home})
    for path, file in objects.items():
        if not os.path.exists(path):
            print(f"layers.py: {build} has no object of {file}; build first", file=sys.stderr)
            sys.exit(2)
    defined, needed = collections.defaultdict(list), []
    for row in ask_nm("-A", "-g", *objects):
        path, _, rest = row.partition(":")
        kind, symbol = rest.split()[-2:]
        if kind in "Uvw":
            needed.append((objects[path], symbol))
        else:
            defined[symbol].append(objects[path])
    return defined, needed


def ask_nm(*words):
    return subprocess.run(["nm", *words], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def check_call(house, defined, needed):
    for file, symbol in needed:
        homes = [house.home[place] for place in defined.get(symbol, ())]
        if homes and not any(house.may_call(house.home[file], symbol, home) for home in homes):
            yield "call", file, homes[0], symbol


def check_pure_symbols(defined, needed):
    for file, symbol in needed:
        if (is_pure(file) and symbol not in defined and symbol not in PURE_SYMBOLS
                and not INSTRUMENTS.match(symbol)):
            yield "pure", file, None, symbol


def check_export(build):
    for row in ask_nm("-D", "--defined-only", f"{build}/libmoot.so"):
        if not row.split()[-1].startswith("moot_"):
            yield "export", "libmoot.so", None, row.split()[-1]


# --- The list of known violations -------------------------------------------------------

def find_violations(build):
    house = House()
    defined, needed = read_symbols(house, build)
    found = set()
    for violations in (check_include(house), check_private(house), check_state(house),
                       check_twice(house), check_named(house), check_mpi(house),
                       check_pure_headers(house),
                       check_call(house, defined, needed), check_pure_symbols(defined, needed),
                       check_export(build)):
        for check, file, home, name in violations:
            here = house.home[file].name if file in house.home else "-"
            found.add(f"{check} {here}>{home.name if home else '-'} {file} {name}")
    return found


def read_known():
    """The head of the list, and the reason of each line, by violation."""
    head, known = [], {}
    if os.path.exists(KNOWN):
        with open(KNOWN, encoding="utf-8") as lines:
            for line in lines:
                violation, _, reason = line.partition("#")
                if violation.strip():
                    known[" ".join(violation.split())] = reason.strip()
                elif not known:
                    head.append(line)
    return head, known


def write_known(found, head, known):
    with open(KNOWN, "w", encoding="utf-8") as file:
        file.writelines(head)
        for violation in sorted(found):
            reason = known.get(violation)
            file.write(violation + (f"  # {reason}" if reason else "") + "\n")


def main(build, write):
    found = find_violations(build)
    head, known = read_known()
    if write:
        write_known(found, head, known)
        return 0
    for violation in sorted(found - known.keys()):
        print(f"{violation}: not allowed (tests/tidy/layers.py says why)")
    for violation in sorted(known.keys() - found):
        print(f"{violation}: no more; take this line out of {KNOWN}")
    return 0 if found == known.keys() else 1


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:] == ["--write"]))
