#!/usr/bin/env python3
"""rerun.py [--check | --quick] BUILD PAGE - runs the commands of a page, and writes what they say.

What a command says stands in the page between two lines,

    <!-- run: COMMAND -->
    <!-- end -->

and is written anew, behind the command: a table as it is, all else as text.  `moot` is
BUILD's, and so are programs of tests/.  `run quick` instead of `run` marks one that takes
a few seconds and says the same every time: --quick writes these alone, and --check writes
nothing, and fails with exit status 1 where the page has something else.
"""

import difflib
import os
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"(<!-- run( quick)?: (.*?) -->\n)(.*?)(<!-- end -->)", re.S)
# How long a run took says nothing of the protocol.
TOOK = re.compile(r", in [0-9.]+ s$", re.M)


def said(build, command):
    words = shlex.split(command.replace("\\\n", " "))
    if words[0] == "moot" or words[0].startswith("tests/"):
        words[0] = os.path.join(build, words[0])
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"rerun.py: exit status {done.returncode}: {command}\n{done.stdout}")
    shown = "<!-- snippet: skip rerun.py runs it -->\n"
    shown += "".join("    " + line + "\n" for line in command.split("\n")) + "\n"
    table = [line for line in done.stdout.split("\n") if line.startswith("|")]
    if table:
        return shown + "\n".join(table) + "\n"
    return shown + "```\n" + TOOK.sub("", done.stdout).strip("\n") + "\n```\n"


def main(words):
    check, quick = words[:1] == ["--check"], words[:1] == ["--quick"]
    words = words[1:] if check or quick else words
    if len(words) != 2:
        sys.exit("usage: rerun.py [--check | --quick] BUILD PAGE")
    build, path = words
    with open(path, encoding="utf-8") as file:
        page = file.read()
    ran = 0

    def rerun(block):
        nonlocal ran
        if (check or quick) and not block.group(2):
            return block.group()
        ran += 1
        if not check:
            print(f"rerun.py: {block.group(3)}", flush=True)
        return block.group(1) + said(build, block.group(3)) + block.group(5)

    new = BLOCK.sub(rerun, page)
    if ran == 0:
        sys.exit(f"rerun.py: {path} has no command to run")
    if check:
        sys.stdout.writelines(difflib.unified_diff(
            page.splitlines(True), new.splitlines(True), path, "what the commands say now"))
        return 1 if new != page else 0
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
