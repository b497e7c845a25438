#!/usr/bin/env python3
"""layers_test.py - each check of layers.py is seen to fail.

A small tree that is in order is built of TREE; a case changes a few of its files and says
which lines layers.py then prints.  The compiler is $CC, or else cc.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

LAYERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.py")
KNOWN = "tests/tidy/upcalls.txt"

TREE = {
    "tests/tidy/rooms.txt": """# lowest first
base: hashing/base
hashing: hashing
core: consensus/*.h
gossip: consensus/gossip
step: consensus/step
front consensus/core*.h: gossip step
config: node/config
public: node/api/moot*.h
store: node/store
mpi: node/transport/mpi
engine: node/engine
api: node/api
launch: node/launch | uses config
""",
    KNOWN: "# known\n",
    "hashing/base/list.c": "int list_end;\n",
    "hashing/hash.c": "extern int list_end;\nint hash(void) { return list_end; }\n",
    "consensus/core.h": "struct core;\nint core_step(struct core *core);\n",
    "consensus/gossip/gossip.h": "#include \"consensus/gossip/roll.h\"\nint gossip_say(void);\n",
    "consensus/gossip/roll.h": "struct roll { int length, pages[4]; struct roll *next; };\n",
    "consensus/gossip/gossip_private.h": "int gossip_hear(void);\n",
    "consensus/gossip/gossip.c": "#include <string.h>\n#include \"consensus/gossip/gossip.h\"\n"
                                 "#include \"consensus/gossip/gossip_private.h\"\n"
                                 "int gossip_say(void) { return 0; }\n",
    "consensus/step/state.h": "#include \"consensus/gossip/gossip.h\"\n"
                              "struct core { struct roll gossip; int step; };\n",
    "consensus/step/step.c": "#include \"consensus/core.h\"\n#include \"consensus/step/state.h\"\n"
                             "int core_step(struct core *core)\n"
                             "{ return gossip_say() + (core->gossip.length == 1); }\n",
    "node/config/config.h": "extern int config_level;\n",
    "node/config/config.c": "int config_level = 1;\n",
    "node/api/moot.h": "int moot_open(void);\n",
    "node/api/moot_mpi.h": "\n",
    "node/api/api.c": "#include \"node/api/moot.h\"\nint engine_run(void);\n"
                      "int moot_open(void) { return engine_run(); }\n",
    "node/store/store.c": "#include \"node/config/config.h\"\nint store_level = 2;\n"
                          "int store_of(void) { return config_level; }\n",
    "node/transport/mpi/mpi.c": "#include \"node/api/moot_mpi.h\"\nint mpi_end;\n",
    "node/engine/engine.h": "struct part { int count, seats[4]; struct part *next; };\n"
                            "struct moot { struct part engine; int *store; };\n",
    "node/engine/engine.c": "#include \"consensus/core.h\"\n#include \"node/engine/engine.h\"\n"
                            "int engine_run(void) { return core_step(0); }\n"
                            "void engine_count(struct moot *m) { m->engine.count++; }\n",
    "node/launch/launch.c": "#include \"node/config/config.h\"\nint launched;\n",
}

ENGINE = "#include \"node/engine/engine.h\"\n"


def change_api(line):
    """api.c with a line that changes, or does not change, the engine's part."""
    return {"node/api/api.c": ENGINE + "void moot_go(struct moot *m) { %s }\n" % line}


# CASES: name, files that are changed, lines that layers.py prints without their ends.
CASES = [
    ("a tree in order", {}, []),
    ("a room above is included",
     {"node/store/store.c": "#include \"node/engine/engine.h\"\n"},
     ["include store>engine node/store/store.c node/engine/engine.h"]),
    ("an include is no path from the top",
     {"node/engine/engine.c": "#include \"engine.h\"\nint engine_run(void) { return 0; }\n"},
     ["include engine>- node/engine/engine.c engine.h"]),
    ("a room behind the front is included",
     {"node/store/store.c": "#include \"consensus/gossip/gossip.h\"\n"},
     ["include store>gossip node/store/store.c consensus/gossip/gossip.h"]),
    ("launch includes what it may not use",
     {"node/launch/launch.c": "#include \"node/engine/engine.h\"\n"},
     ["include launch>engine node/launch/launch.c node/engine/engine.h"]),
    ("a comment includes nothing",
     {"node/store/store.c": "/*\n#include \"node/engine/engine.h\"\n*/\nint store_level;\n"}, []),
    ("a function above is called",
     {"node/store/store.c": "int engine_run(void);\nint store_of(void) { return engine_run(); }\n"},
     ["call store>engine node/store/store.c engine_run"]),
    ("data above is read",
     {"hashing/base/list.c": "extern int config_level;\n"
                             "int list_end;\nint list(void) { return config_level; }\n"},
     ["call base>config hashing/base/list.c config_level"]),
    ("a room behind the front is called beside it",
     {"node/store/store.c": "int gossip_say(void);\nint store_of(void) { return gossip_say(); }\n"},
     ["call store>gossip node/store/store.c gossip_say"]),
    ("a room of the core calls up, to what the front says",
     {"consensus/gossip/gossip.c": "int core_step(void *);\n"
                                   "int gossip_say(void) { return core_step(0); }\n"},
     ["call gossip>step consensus/gossip/gossip.c core_step"]),
    ("a private header is included from outside",
     {"consensus/step/step.c": "#include \"consensus/gossip/gossip_private.h\"\n"
                               "int core_step(void) { return 0; }\n"},
     ["private step>gossip consensus/step/step.c consensus/gossip/gossip_private.h"]),
    ("a header that the contract does not offer is included from outside",
     {"consensus/gossip/gossip.h": "int gossip_say(void);\n",
      "consensus/step/state.h": "#include \"consensus/gossip/roll.h\"\n"
                                "struct core { struct roll gossip; };\n",
      "consensus/step/step.c": "int core_step(void) { return 0; }\n"},
     ["private step>gossip consensus/step/state.h consensus/gossip/roll.h"]),
    ("a room without a contract offers its headers",
     {"consensus/gossip/gossip.h": None, "consensus/gossip/gossip.c": "int gossip_say(void);\n",
      "consensus/step/state.h": "#include \"consensus/gossip/roll.h\"\n"
                                "struct core { struct roll gossip; };\n",
      "consensus/step/step.c": "int core_step(void) { return 0; }\n"}, []),
    ("another room's state is assigned", change_api("m->engine.count = 1;"),
     ["state api>engine node/api/api.c engine.count"]),
    ("... added to", change_api("m->engine.count += 1;"),
     ["state api>engine node/api/api.c engine.count"]),
    ("... shifted", change_api("m->engine.count <<= 1;"),
     ["state api>engine node/api/api.c engine.count"]),
    ("... counted up behind", change_api("m->engine.seats[m->engine.seats[0]]++;"),
     ["state api>engine node/api/api.c engine.seats"]),
    ("... counted down before", change_api("--m->engine.count;"),
     ["state api>engine node/api/api.c engine.count"]),
    ("... as a whole", change_api("if (m->engine.count) { m->engine = (struct part){0}; }"),
     ["state api>engine node/api/api.c engine"]),
    ("... and the core's",
     {"consensus/step/step.c": "#include \"consensus/step/state.h\"\n"
                               "int core_step(struct core *core)\n"
                               "{ return core->gossip.length = 1; }\n"},
     ["state step>gossip consensus/step/step.c gossip.length"]),
    ("another room's state is pointed to", change_api("int *p = 0; struct part *at = &m->engine;"),
     ["state api>engine node/api/api.c engine"]),
    ("another room's state is pointed to by const", change_api(
        "const struct part *at = &m->engine; (void)at;"), []),
    ("another room's state is compared", change_api(
        "if (m->engine.count == 1 || m->engine.count <= 2 || m->engine.count != 3) return;"), []),
    ("what it points to is changed", change_api("m->engine.next->count = 1;"), []),
    ("a pointer is no part of a room", change_api("m->store = 0;"), []),
    ("a tag is defined twice", {"node/store/store.h": "struct roll { int x; };\n"},
     ["twice store>gossip node/store/store.h struct:roll"]),
    ("a comment names a file that is not there",
     {"node/store/store.h": "/* as storage.c has it; config.c and <string.h> are there */\n"},
     ["named store>- node/store/store.h storage.c"]),
    ("a tag is used twice", {"node/store/store.h": "struct roll;\nstruct roll *roll(void);\n"}, []),
    ("a file's name is taken", {"node/config/store.c": "int config_store;\n"},
     ["twice store>config node/store/store.c store.c"]),
    ("<mpi.h> is included", {"node/store/store.h": "#include <mpi.h>\n"},
     ["mpi store>- node/store/store.h mpi.h"]),
    ("moot_mpi.h is included", {"node/store/store.h": "#include \"node/api/moot_mpi.h\"\n"},
     ["mpi store>- node/store/store.h node/api/moot_mpi.h"]),
    ("the core includes I/O", {"consensus/step/state.h": "#include <stdio.h>\nstruct core { int x; };\n",
                               "consensus/step/step.c": "int core_step(void) { return 0; }\n"},
     ["pure step>- consensus/step/state.h stdio.h"]),
    ("the core asks for the time",
     {"consensus/step/step.c": "long time(long *);\nint core_step(void) { return (int)time(0); }\n"},
     ["pure step>- consensus/step/step.c time"]),
    ("the library exports a name of its own", {"node/store/store.c": "int store_level;\n"
      "__attribute__((visibility(\"default\"))) int store_of(void) { return 1; }\n"},
     ["export ->- libmoot.so store_of"]),
    ("a known violation",
     {"node/store/store.c": "#include \"node/engine/engine.h\"\n",
      KNOWN: "include store>engine node/store/store.c node/engine/engine.h  # for now\n"}, []),
    ("a known violation that is none",
     {KNOWN: "include store>engine node/store/store.c node/engine/engine.h  # for now\n"},
     ["include store>engine node/store/store.c node/engine/engine.h"]),
    ("a file in no room", {"node/other/other.c": "int other;\n"},
     ["tests/tidy/rooms.txt: node/other/other.c is in no room"]),
    ("a room without files", {"node/launch/launch.c": None},
     ["tests/tidy/rooms.txt: launch has no files"]),
    ("a room uses one that stands behind it",
     {"tests/tidy/rooms.txt": TREE["tests/tidy/rooms.txt"].replace("node/store", "node/store | uses api")},
     ["tests/tidy/rooms.txt: store uses api, no room before it"]),
]


def write_tree(top, files):
    for name, text in files.items():
        path = os.path.join(top, name)
        if text is None:
            os.remove(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def build(top, files):
    """Objects of the .c files of these, and the library of all objects, if there are any."""
    if not any(name.endswith(".c") and text is not None for name, text in files.items()):
        return
    compiler = [*shlex.split(os.environ.get("CC", "cc")), "-I.", "-fPIC", "-w"]
    for name, text in files.items():
        if name.endswith(".c") and text is not None:
            target = f"b/{name[:-2]}.o"
            os.makedirs(os.path.dirname(os.path.join(top, target)), exist_ok=True)
            hidden = "default" if name == "node/api/api.c" else "hidden"
            subprocess.run([*compiler, f"-fvisibility={hidden}", "-c", name, "-o", target],
                           cwd=top, check=True)
    objects = [f"b/{name[:-2]}.o" for name in TREE if name.endswith(".c")]
    subprocess.run([*compiler, "-shared", "-o", "b/libmoot.so", *objects], cwd=top, check=True)


def check(top, *options):
    done = subprocess.run([sys.executable, LAYERS, "b", *options], cwd=top, text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.splitlines()


def run_case(top, name, files, expected):
    """Whether layers.py prints these lines and no others."""
    write_tree(top, files)
    build(top, files)
    code, lines = check(top)
    said = [line.partition(": no")[0] if not line.startswith("tests/") else line for line in lines]
    if said == expected and code == (1 if expected else 0):
        return True
    print(f"{name}: exit {code}", *(f"    {line}" for line in lines), "  instead of",
          *(f"    {line}" for line in expected), sep="\n")
    return False


def run_write(top):
    """--write adds what is new, takes out what is no more, and keeps reasons."""
    known = "include store>engine node/store/store.c node/engine/engine.h  # for now\n"
    files = {KNOWN: "# known\n" + known + "call a>b c d\n",
             "node/store/store.c": ENGINE, "node/store/store.h": "#include <mpi.h>\n"}
    write_tree(top, files)
    build(top, files)
    check(top, "--write")
    with open(os.path.join(top, KNOWN), encoding="utf-8") as file:
        text = file.read()
    if text == "# known\n" + known + "mpi store>- node/store/store.h mpi.h\n" and check(top)[0] == 0:
        return True
    print(f"--write: {KNOWN} is\n{text}")
    return False


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        good = os.path.join(scratch, "good")
        write_tree(good, TREE)
        build(good, TREE)
        for case in CASES + [None]:
            top = os.path.join(scratch, "case")
            shutil.copytree(good, top)
            failed += not (run_case(top, *case) if case else run_write(top))
            shutil.rmtree(top)
    print(f"{len(CASES) + 1 - failed} cases as they should be, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
