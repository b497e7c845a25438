#!/usr/bin/env python3
"""snippets.py BUILD FILE.md... - runs the commands and compiles the code of documents.

  ```c, ```cpp        compiles, as a user would.  A whole program is linked and runs on 1
                      and 3 ranks.  Of a fragment, functions go to the top and the rest
                      into a function; moot *m and the like need no declaration.
  ```console, ```     lines that begin with "$ " run, and what follows each must be among
                      the lines that it prints: in any order; numbers may differ, and
                      of an indented row a part; "..." stands for anything.  A block without "$ " is
                      left alone.
  ```sh, ```bash      runs, as a whole if no line begins with "$ ".
  indented            likewise, if it begins with "$ " or with a word such as make or
                      moot; what stands behind two spaces then explains the command.
  `moot VERB --x`     in a sentence: there is such a verb, and such an option
  `make GOAL`         in a sentence: there is such a goal

A comment before a block says what is otherwise; several words with a ; between them:

  <!-- snippet: skip WHY -->          it cannot be run here
  <!-- snippet: exit N -->            the block's commands end with N
  <!-- snippet: exact -->             its numbers count
  <!-- snippet: varies WHY -->        no run prints what another does: status alone
  <!-- snippet: with DECLARATIONS --> what a fragment of C takes for granted
  <!-- snippet: file PATH -->         these lines stand in that file of the tree, in this
                                      order, "..." between them for what is left out
  <!-- snippet: save NAME -->         the block is a file for later commands
  <!-- snippet: output of COMMAND --> runs that, and compares

Blocks between <!-- run: ... --> and <!-- end --> are left to deploy/doc/rerun.py.
Commands run in a copy of the tree, in which build/ and build-developer/ are BUILD; moot is found,
$HOME is empty, prog.c is an example.  `make` alone, run, install and uninstall run; of
other goals only what they would do is looked at.  What is installed without a PREFIX
goes into a folder, and so with sudo.  Each document has a folder and a shell of its own.
Exits 1 if something is wrong, and says the line.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

SECONDS = 240
COMMANDS = ("make moot build/moot mpicc mpirun cc gcc git sudo cd export cp cat ls python3 "
            "pkg-config apt-get podman docker sbatch srun ./prog").split()
NAMES = {  # what fragments call things, and what these then are
    "m": "moot *m", "options": "moot_options options", "k": "moot_kernel_id k",
    "kernel": "moot_kernel_id kernel", "task": "moot_task task", "t": "moot_task t",
    "child": "moot_task child", "tasks": "moot_task tasks[64]",
    "spec": "moot_task_spec spec", "info": "moot_task_info info",
    "hash": "moot_hash hash", "data": "const void *data", "size": "size_t size",
    "data_size": "size_t data_size", "call": "moot_call *call", "user": "void *user",
    "sum": "long sum", "i": "int i", "n": "int n", "rank": "int rank", "x": "long x",
    "count": "size_t count", "error": "int error", "code": "int code",
    "comm": "MPI_Comm comm", "request": "MPI_Request request",
    "status": "MPI_Status status",
}
HEAD = """#include <moot.h>
#include <moot_array.h>
#include <moot_mpi.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef CHECK
#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(NULL)))
#endif
"""


class Block:
    """A piece of code in a document: its language, lines, and what a comment says."""

    def __init__(self, line, language, marks):
        self.line, self.language, self.marks = line, language, marks
        self.lines = []

    def text(self):
        return "\n".join(self.lines) + "\n"

    def mark(self, word):
        """What stands behind this word, or None."""
        for mark in self.marks:
            if mark == word or mark.startswith(word + " "):
                return mark[len(word):].strip()
        return None


def read_blocks(path):
    """The blocks of a document, and its sentences with their lines."""
    blocks, prose, marks, block, fence, before = [], [], [], None, None, ""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    number, others = 0, False
    while number < len(lines):
        line = lines[number]
        number += 1
        if re.match("<!-- (run( quick)?:|end -->)", line):
            others = line.startswith("<!-- run")
            before = ""
            continue
        if others:
            continue
        opened = re.match(r"( *)(```+|~~~+)\s*([\w+-]*)", line)
        if fence:
            if line.strip() == fence[1]:
                block, fence, line = None, None, ""
            else:
                block.lines.append(line[fence[0]:] if not line[:fence[0]].strip() else line)
        elif opened:
            fence = len(opened[1]), opened[2]
            block = Block(number, opened[3].lower(), marks)
            blocks.append(block)
            marks = []
        elif line.startswith("<!-- snippet:"):
            while "-->" not in line and number < len(lines):
                line += " " + lines[number].strip()
                number += 1
            said = line[len("<!-- snippet:"):line.index("-->")]
            marks = [said.strip()] if said.strip().startswith("with ") else \
                [mark.strip() for mark in said.split(";") if mark.strip()]
            line = ""
        elif line.startswith("    ") and (block or not before.strip()):
            if not block:
                block = Block(number, "indented", marks)
                blocks.append(block)
                marks = []
            block.lines.append(line[4:])
        else:
            if line.strip():
                block, marks = None, []
            elif block:
                block.lines.append("")
            prose.append((number, line))
        before = line
    # A list's second paragraph is indented, too: code begins with a command.
    return [b for b in blocks if b.language != "indented" or commands_of(b)], prose


# --- Code -------------------------------------------------------------------------

FUNCTION = re.compile(r"(?!(if|for|while|switch|else|do|return)\b)[A-Za-z_][\w\s*]*\(")


def split_fragment(block):
    """Numbered lines for the top of a file, and those for a function's body."""
    top, body, into, depth = [], [], None, 0
    for offset, line in enumerate(block.lines):
        numbered = (block.line + offset + 1, line)
        if re.fullmatch(r"\s*(\.\.\.|…|/\* ?\.\.\. ?\*/)\s*", line):
            continue
        if into is None or depth == 0:
            code = line.split("/*")[0].strip()
            after = block.lines[offset + 1].strip() if offset + 1 < len(block.lines) else ""
            is_top = code.startswith("#") or re.match(r"(typedef|struct \w+ \{|enum( \w+)? \{)", code) or (
                FUNCTION.match(line) and "=" not in code and not code.endswith(";")
                and (code.endswith("{") or after == "{"))
            if depth == 0 and not (into is top and line.startswith("{")):
                into = top if is_top else body
        into.append(numbered)
        depth += line.count("{") - line.count("}")
    return top, body


def with_lines(numbered, path):
    return "".join(f'#line {n} "{path}"\n{text}\n' for n, text in numbered)


class Compiler:
    def __init__(self, build, scratch):
        mpi = subprocess.run(["mpicc", "--showme:compile"], capture_output=True, text=True)
        link = subprocess.run(["mpicc", "--showme:link"], capture_output=True, text=True)
        self.flags = ["-I" + build + "/include"] + mpi.stdout.split()
        # A sanitizer's library is linked by programs that have it, too.
        if os.environ.get("SANITIZE"):
            self.flags.append("-fsanitize=" + os.environ["SANITIZE"])
        self.link = ["-L" + build, "-lmoot", "-Wl,-rpath," + build] + link.stdout.split()
        self.scratch, self.build = scratch, build

    def run(self, block, source, arguments):
        cpp = block.language != "c"
        command = (["g++", "-std=c++11"] if cpp else ["gcc", "-std=c11"]) + ["-D_GNU_SOURCE"]
        file = os.path.join(self.scratch, "snippet.cpp" if cpp else "snippet.c")
        with open(file, "w", encoding="utf-8") as out:
            out.write(source)
        done = subprocess.run(command + self.flags + ["-Wall", "-Werror"] + arguments(file),
                              capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"})
        return done.stderr if done.returncode else None

    def fragment(self, block, path, declared):
        """None, or what the compiler says of it."""
        syntax = lambda file: ["-Wno-unused", "-Wno-uninitialized", "-fsyntax-only", file]
        names = {}
        top, body = split_fragment(block)
        for _ in range(1 + len(NAMES)):
            said = HEAD + declared + "\n" + "".join(f"static {NAMES[n]};\n" for n in names)
            if not body:
                source = said + with_lines(top, path)
            else:
                source = said + with_lines(top, path) + "int snippet(void);\nint snippet(void)\n{\n" + \
                    with_lines(body, path) + "return 0;\n}\n"
            complaint = self.run(block, source, syntax)
            missing = set(re.findall(r"'(\w+)' (?:undeclared|was not declared)", complaint or ""))
            missing &= set(NAMES) - set(names)
            if not missing:
                return complaint
            names.update(dict.fromkeys(missing))
        return complaint

    def program(self, block, path):
        out = os.path.join(self.scratch, "snippet")
        source = f'#line {block.line + 1} "{path}"\n' + block.text()
        complaint = self.run(block, source, lambda file: ["-Wextra", file, "-o", out] + self.link)
        if complaint:
            return complaint
        for ranks in ("1", "3"):
            root = ["--allow-run-as-root"] if os.getuid() == 0 else []
            done = subprocess.run(["timeout", "60", "mpirun", "--oversubscribe"] + root + ["-n", ranks, out],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                return f"on {ranks} ranks it exits {done.returncode}:\n{done.stdout}"
        return None


def differs_from_file(block, path):
    """None, or the first line that the file does not have where it should."""
    with open(path, encoding="utf-8") as file:
        there = [line.rstrip() for line in file]
    at, free = 0, True
    for line in block.lines:
        line = line.rstrip()
        if line.strip() in ("...", "/* ... */"):
            free = True
        elif free and line in there[at:]:
            at = there.index(line, at) + 1
            free = not line
        elif not free and at < len(there) and there[at] == line:
            at += 1
        else:
            return f"{path} does not have this line here: {line}"
    return None


# --- Commands -----------------------------------------------------------------------


def commands_of(block):
    """Pairs of a command and the lines that are shown below it."""
    found, shell = [], block.language in ("sh", "bash", "shell")
    lines = list(block.lines)
    while lines and not lines[-1]:
        lines.pop()
    dollars = any(line.startswith("$ ") for line in lines)
    if shell and not dollars:
        return [("\n".join(lines), [])]
    if block.language == "indented" and not dollars:
        first = lines[0].split()[0] if lines and lines[0].split() else ""
        if first not in COMMANDS and not re.match(r"[A-Z_]+=", first):
            return []
    going_on = False
    for line in lines:
        if going_on:
            found[-1] = (found[-1][0] + "\n" + re.sub("^> ", "", line), [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif block.language == "indented" and not dollars:
            command = re.split(r"\s{2,}(?=\S)", line.rstrip())[0] if not line.startswith(" ") else ""
            if command:
                found.append((command, []))
            elif not (found and line.startswith(" ")) and line:
                return []
        elif found and block.language != "sh":
            found[-1][1].append(line)
        elif found:
            found[-1][1].append(line)
        going_on = bool(found) and line.endswith("\\")
    return found


NUMBER = re.compile(r"\b(?:[0-9a-f]{6,}|\d(?:[\d.,:]*\d)?(?:e[+-]\d+)?) ?(?:[numµ]?s|[kKMG]?i?B|%)?(?![a-zA-Z])")


def skeleton(line):
    """The line without its numbers."""
    line = NUMBER.sub("#", " ".join(line.split()))
    return re.sub(r"#(?:\s*[-,.]*\s*#)+", "#", line)


def is_among(line, printed, exact):
    """Whether a line that is shown is among those printed."""
    if not line.strip() or line.strip() in ("...", "…"):
        return True
    seen = (lambda text: " ".join(text.split())) if exact else skeleton
    shown = seen(line)
    pattern = r"\s*.*\s*".join(re.escape(part.strip()) for part in re.split(r"\.\.\.|…", shown))
    for other in map(seen, printed):
        if re.fullmatch(pattern, other):
            return True
        if not exact and line[0] == " " and other.split()[:1] == shown.split()[:1] and \
                difflib.SequenceMatcher(None, other, shown, autojunk=False).ratio() >= 0.6:
            return True
    return False


MAKE_SHIM = """#!/bin/sh
# As make, in a tree that is built: what goals are they?  A linker has a makefile of its own.
for word; do
    case $word in
    -f) exec {make} "$@" ;;
    *PREFIX=*) prefix=given ;;
    install | uninstall) installs=yes ;;
    all | run | deps | -* | *=*) ;;
    *) dry=-n ;;
    esac
done
if [ "$installs" ] && [ ! "$prefix" ]; then
    set -- "$@" "PREFIX=$SNIPPET_PREFIX"
fi
exec {make} --no-print-directory $dry "$@"
"""


class Shell:
    """A document's: a folder and what its commands have set.  The tree is copied for the first."""

    def __init__(self, build, scratch, name):
        self.build, self.folder = build, os.path.join(scratch, name)
        self.place = os.path.join(self.folder, "moot")
        self.state = os.path.join(self.folder, "state")
        os.makedirs(self.folder)

    def furnish(self):
        if os.path.exists(self.place):
            return
        build, shims = self.build, os.path.join(self.folder, "bin")
        os.makedirs(shims)
        os.makedirs(os.path.join(self.folder, "home"))
        shutil.copytree(".", self.place, symlinks=True,
                        ignore=shutil.ignore_patterns(".git", "build", "build-*"))
        for entry in ("build", "build-developer"):
            os.symlink(build, os.path.join(self.place, entry))
        with open("deploy/examples/conditional.c", encoding="utf-8") as example:
            self.save("prog.c", example.read())
        make = subprocess.run(["sh", "-c", "command -v make"], capture_output=True, text=True)
        for shim, text in (("make", MAKE_SHIM.replace("{make}", make.stdout.strip())),
                           ("sudo", '#!/bin/sh\nexec "$@"\n')):
            with open(os.path.join(shims, shim), "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(os.path.join(shims, shim), 0o755)
        prefix = os.path.join(self.folder, "usr")
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith("MOOT_") and name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DEVELOPER", "LTO")}
        if os.getuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # These run beside others, at the lowest priority: a rank that waits for a core for
        # some seconds is not to be voted out.
        self.environment.update(MOOT_SUSPECT="60s")
        self.environment.update(
            HOME=os.path.join(self.folder, "home"), BUILD="build", AS_IT_IS="1", TERM="dumb",
            LC_ALL="C.UTF-8", SNIPPET_PREFIX=prefix, XDG_CONFIG_HOME="/nonexistent",
            PATH=":".join([shims, build, os.path.join(prefix, "bin"), os.environ["PATH"]]),
            PKG_CONFIG_PATH=os.path.join(prefix, "lib/pkgconfig"))

    def save(self, name, text):
        self.furnish()
        with open(os.path.join(self.place, name), "w", encoding="utf-8") as out:
            out.write(text)

    def run(self, command):
        """Its status and what it prints, in the state that the last one has left."""
        self.furnish()
        with open(self.folder + "/command", "w", encoding="utf-8") as out:
            out.write(f'set -a\n[ ! -f {self.state} ] || . {self.state}\n'
                      f'trap \'{{ export -p; echo "cd \\"$PWD\\""; }} >{self.state}\' EXIT\n'
                      f'{command}\n')
        done = subprocess.run(["timeout", "-k", "5", str(SECONDS), "bash", self.folder + "/command"],
                              cwd=self.place, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
        return done.returncode, done.stdout


# --- Sentences ------------------------------------------------------------------------


class Sentences:
    """Which verbs, options and goals there are; asked once for all documents."""

    def __init__(self, build):
        self.moot, self.helps, self.goals = build + "/moot", {}, None

    def help_of(self, verb):
        if verb not in self.helps:
            done = subprocess.run([self.moot, verb, "--help"], capture_output=True, text=True)
            self.helps[verb] = done.stdout if done.returncode == 0 else None
        return self.helps[verb]

    def has_goal(self, goal):
        if self.goals is None:
            rules = subprocess.run(["make", "-pq", "clean"], capture_output=True, text=True).stdout
            self.goals = set(re.findall(r"^(?<!# Not a target:\n)([a-z][a-z-]*):(?!=)", rules, re.M))
        return goal in self.goals

    def wrong_with(self, code):
        words = code.split()
        if len(words) < 2:
            return None
        if words[0] in ("moot", "build/moot") and re.fullmatch("[a-z]+", words[1]):
            text = self.help_of(words[1])
            if text is None:
                return f"there is no moot {words[1]}"
            before = "-"
            for word in words[2:]:
                bare = not word.startswith("-") and "=" not in word and not before.startswith("-")
                if word == "--" or (words[1] == "run" and bare):
                    break
                option = re.match(r"--[a-z-]+", word)
                if option and not re.search(re.escape(option[0]) + r"(?![a-z-])", text):
                    return f"moot {words[1]} has no option {option[0]}"
                before = word
        if words[0] == "make":
            for word in words[1:]:
                if re.fullmatch("[a-z][a-z-]*", word) and not self.has_goal(word):
                    return f"there is no goal {word}"
        return None


# --- Documents ------------------------------------------------------------------------


class Document:
    def __init__(self, path, build, scratch, sentences):
        self.path, self.failed, self.count = path, 0, 0
        self.blocks, self.prose = read_blocks(path)
        name = re.sub(r"\W", "_", path)
        self.shell = Shell(build, scratch, name)
        self.compiler = Compiler(build, self.shell.folder)
        self.sentences = sentences

    def note(self, line, what, complaint):
        self.count += 1
        if complaint is not None:
            self.failed += 1
            print(f"{self.path}:{line}: {what}\n    " + complaint.strip().replace("\n", "\n    "))

    def check_command(self, block, command, shown):
        wanted = int(block.mark("exit") or 0)
        status, printed = self.shell.run(command)
        lines = printed.splitlines()
        if status != wanted:
            return f"exits {status}, not {wanted}:\n" + "\n".join(lines[-30:])
        if block.mark("varies") is not None:
            return None
        missing = [line for line in shown if not is_among(line, lines, block.mark("exact") is not None)]
        return None if not missing else "prints no such line: " + missing[0] + "\nbut:\n" + "\n".join(lines[-40:])

    def check_code(self, block):
        if "int main(" in block.text():
            return self.compiler.program(block, self.path)
        return self.compiler.fragment(block, self.path, block.mark("with") or "")

    def check_block(self, block):
        if block.mark("skip") is not None:
            if not block.mark("skip"):
                self.note(block.line, "skip", "does not say why")
            return
        if block.mark("save"):
            self.shell.save(block.mark("save"), block.text())
        if block.mark("file"):
            self.note(block.line, "file", differs_from_file(block, block.mark("file")))
        elif block.mark("output"):
            command = block.mark("output").removeprefix("of ").strip("`")
            self.note(block.line, "$ " + command, self.check_command(block, command, block.lines))
        elif block.language in ("c", "cpp", "c++"):
            self.note(block.line, "code", self.check_code(block))
        elif block.language in ("", "console", "text", "sh", "bash", "shell", "indented"):
            for command, shown in commands_of(block):
                self.note(block.line, "$ " + command, self.check_command(block, command, shown))

    def check(self):
        for block in self.blocks:
            self.check_block(block)
        text = "\n".join(line for _, line in self.prose)
        for found in re.finditer(r"`([^`]+)`", text):
            at = self.prose[text.count("\n", 0, found.start())][0]
            wrong = self.sentences.wrong_with(found[1])
            if wrong or re.match("(build/)?moot |make ", found[1]):
                self.note(at, f"`{found[1]}`", wrong)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: snippets.py BUILD FILE.md...")
    build = os.path.abspath(sys.argv[1])
    failed, sentences = 0, Sentences(build)
    with tempfile.TemporaryDirectory() as scratch:
        for path in sys.argv[2:]:
            document = Document(path, build, scratch, sentences)
            document.check()
            print(f"{path}: {document.count} snippets, {document.failed} wrong")
            failed += document.failed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
