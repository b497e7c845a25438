#!/usr/bin/env python3
"""doc.py [--top DIR] check | html OUT - the documents of the tree: their links, and HTML.

  check      finds links that lead nowhere in every .md and manual page: files, images,
             headings (#...), and pages of the manual, `moot_open(3)` in running text
             and .Xr in pages.  Needs nothing but Python.
  html OUT   the same, then writes all of them as HTML into OUT (by pandoc and mandoc),
             linked with each other, with an index; files of the tree that a document
             links to are shown there, too.  Then follows every link of what it wrote.

Prints each dead link as file:line: why (check) or page: why (html); exit status 1 if
there is one.  Addresses on the web are not tried.
"""

import html
import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

# The index: what it shows first, and how it groups the rest, by the beginning of the path.
GROUPS = [
    ("Begin", ["README.md", "deploy/doc/TUTORIAL.md", "deploy/doc/GLOSSARY.md"]),
    ("Use", ["deploy/doc/FAILURES.md", "deploy/doc/STALLS.md", "deploy/doc/USING.md", "deploy/doc/CHECKPOINTS.md", "deploy/doc/SECURITY.md",
             "deploy/doc/COMPARISON.md", "CHANGELOG.md"]),
    ("Measure, test and change",
     ["CONTRIBUTING.md", "deploy/doc/ARCHITECTURE.md", "consensus/PROTOCOL.md",
      "deploy/doc/TESTING.md", "deploy/doc/STYLE.md", "deploy/doc/PERFORMANCE.md",
      "deploy/doc/SCALING.md", "tests/model/README.md"]),
]
DECISIONS = "deploy/doc/decisions/"
MAN = "deploy/man/"
SECTIONS = {"1": "Commands", "3": "Calls", "7": "Concepts and files"}
# A page of the manual in running text; names of others' pages are not looked at.
REFERENCE = re.compile(r"\b(moot[A-Za-z0-9_-]*)\(([1-9])\)")

dead = []


def complain(where, why):
    dead.append(f"{where}: {why}")


# --- What there is ----------------------------------------------------------------------


def tracked(top):
    """The files of the tree: those that git knows, or, in an export, all."""
    if os.path.exists(os.path.join(top, ".git")):
        listed = subprocess.run(
            ["git", "-C", top, "ls-files", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout.split("\n")
        return sorted(p for p in listed if p and os.path.isfile(os.path.join(top, p)))
    found = []
    for folder, folders, files in os.walk(top, followlinks=True):
        folders[:] = [f for f in folders if not f.startswith(("build", "."))]
        found += [os.path.relpath(os.path.join(folder, f), top) for f in files]
    return sorted(found)


class Tree:
    def __init__(self, top):
        self.top = top
        self.files = set(tracked(top))
        self.folders = {""}
        for path in self.files:
            while path := os.path.dirname(path):
                self.folders.add(path)
        self.markdown = sorted(p for p in self.files if p.endswith(".md"))
        self.man = sorted(p for p in self.files if re.fullmatch(MAN + r".*\.[1-9]", p))
        self.pages = {}  # (name, section): the page that describes it
        self.about = {}  # page: what it says of itself in a line
        for path in self.man:
            self.name_page(path)

    def read(self, path):
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            return file.read()

    def name_page(self, path):
        name, section = os.path.basename(path).rsplit(".", 1)
        self.pages[name, section] = path
        within = False
        for line in self.read(path).split("\n"):
            words = line.split()
            if words[:1] == [".Sh"]:
                within = words[1:2] == ["NAME"]
            elif within and words[:1] == [".Nm"]:
                self.pages[words[1], section] = path
            elif within and words[:1] == [".Nd"]:
                self.about[path] = " ".join(words[1:])


# --- Links in what is written -----------------------------------------------------------


def blank(match):
    """As many lines, without words."""
    return "\n" * match.group().count("\n")


def prose(text):
    """Markdown without fenced blocks and comments, its lines where they were."""
    text = re.sub(r"^(```|~~~)[^\n]*\n.*?^\1[ ]*$", blank, text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    return re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.M)


def anchors(text):
    """The names of a document's headings, as GitHub and pandoc make them."""
    names = set()
    for heading in re.findall(r"^#{1,6} +(.*?)(?: +#+)?$", prose(text), flags=re.M):
        heading = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
        heading = re.sub(r"[`*]", "", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        first, n = name, 0
        while name in names:
            n += 1
            name = f"{first}-{n}"
        names.add(name)
    return names


def check_target(tree, path, where, target):
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return
    target, _, anchor = target.partition("#")
    target = urllib.parse.unquote(target)
    there = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
    if there not in tree.files and there not in tree.folders | {"."}:
        complain(where, f"there is no {there}")
    elif anchor and (not there.endswith(".md") or anchor not in anchors(tree.read(there))):
        complain(where, f"{there} has no heading #{anchor}")


def check_markdown(tree, path):
    text = prose(tree.read(path))
    without_code = re.sub(r"`[^`]*`", lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for match in re.finditer(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^]]+\]:\s+(\S+)",
                             without_code, flags=re.M):
        line = without_code.count("\n", 0, match.start()) + 1
        check_target(tree, path, f"{path}:{line}", match.group(1) or match.group(2))
    for match in REFERENCE.finditer(text):
        if match.groups() not in tree.pages:
            line = text.count("\n", 0, match.start()) + 1
            complain(f"{path}:{line}", f"the manual has no {match.group()}")


def check_man(tree, path):
    for number, line in enumerate(tree.read(path).split("\n"), 1):
        for name, section in re.findall(r"\bXr (moot\S*) ([1-9])", line):
            if (name, section) not in tree.pages:
                complain(f"{path}:{number}", f"the manual has no {name}({section})")


def check(tree):
    for path in tree.markdown:
        check_markdown(tree, path)
    for path in tree.man:
        check_man(tree, path)


# --- HTML -------------------------------------------------------------------------------


def page_of(tree, path):
    """Where a file or a folder of the tree stands among the pages."""
    if path.endswith(".md"):
        return path[:-3] + ".html"
    if path in tree.folders or path == ".":
        return os.path.normpath(os.path.join(path, "index.html"))
    if path.endswith((".png", ".svg", ".css")):
        return path
    return path + ".html"


def relative(target, page):
    return os.path.relpath(target, os.path.dirname(page) or ".")


class Rewriter(html.parser.HTMLParser):
    """Links of a page: from files of the tree to pages, and from names of the manual."""

    def __init__(self, tree, path, wanted):
        super().__init__(convert_charrefs=False)
        self.tree, self.path, self.wanted = tree, path, wanted
        self.page = page_of(tree, path)
        self.out, self.inside = [], []

    def link(self, address):
        if re.match(r"[a-z][a-z0-9+.-]*:", address) or address.startswith("#"):
            return address
        target, _, anchor = address.partition("#")
        manual = re.fullmatch(r"(\S+)\.([1-9])\.xr", target)
        if manual:
            if manual.groups() not in self.tree.pages:
                return None  # somebody else's manual
            target = page_of(self.tree, self.tree.pages[manual.groups()])
            return relative(target, self.page)
        there = os.path.normpath(
            os.path.join(os.path.dirname(self.path), urllib.parse.unquote(target)))
        self.wanted.add(there)
        return relative(page_of(self.tree, there), self.page) + ("#" + anchor if anchor else "")

    def handle_starttag(self, tag, attributes):
        changed = []
        for name, value in attributes:
            if name in ("href", "src"):
                value = self.link(value or "")
            if value is not None:
                changed.append((name, value))
        text = "".join(f' {n}="{html.escape(v)}"' for n, v in changed)
        self.out.append(f"<{tag}{text}>")
        if tag not in ("img", "br", "hr", "meta", "link", "col", "input"):
            self.inside.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()
            self.out.append(f"</{tag}>")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass
        self.out.append(f"</{tag}>")

    def handle_data(self, data):
        if "a" not in self.inside and "pre" not in self.inside:
            data = REFERENCE.sub(self.reference, data)
        self.out.append(data)

    def reference(self, match):
        if match.groups() not in self.tree.pages:
            return match.group()
        target = page_of(self.tree, self.tree.pages[match.groups()])
        return f'<a href="{relative(target, self.page)}">{match.group()}</a>'

    def handle_entityref(self, name):
        self.out.append(f"&{name};")

    def handle_charref(self, name):
        self.out.append(f"&#{name};")


def write_page(out, page, title, body):
    path = os.path.join(out, page)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    style, index = relative("doc.css", page), relative("index.html", page)
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "<!DOCTYPE html>\n"
            f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<link rel="stylesheet" href="{style}"></head>\n'
            f'<body><nav><a href="{index}">moot: all documents</a></nav>\n'
            f"<main>\n{body}\n</main></body></html>\n")


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        complain(command[0], done.stderr.strip())
    return done.stdout


def title_of(tree, path):
    found = re.search(r"^# +(.*)$", tree.read(path), flags=re.M)
    return re.sub(r"`", "", found.group(1)) if found else path


def write_document(tree, out, path):
    """A .md or a page of the manual; returns the files of the tree that it links to."""
    if path.endswith(".md"):
        body = run(["pandoc", "-f", "gfm", "-t", "html5", "--wrap=preserve"], tree.read(path))
        title = title_of(tree, path)
    else:
        body = run(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.xr"], tree.read(path))
        name, section = os.path.basename(path).rsplit(".", 1)
        title = f"{name}({section})"
    wanted = set()
    rewriter = Rewriter(tree, path, wanted)
    rewriter.feed(body)
    rewriter.close()
    write_page(out, rewriter.page, title, "".join(rewriter.out))
    return wanted


def write_wanted(tree, out, path):
    """What a document links to that is none itself: shown as it is."""
    page = page_of(tree, path)
    if path in tree.folders:
        names = sorted(p for p in tree.files if os.path.dirname(p) == path)
        body = "".join(f"<li>{html.escape(os.path.basename(n))}</li>" for n in names)
        write_page(out, page, path, f"<h1>{path}</h1><ul>{body}</ul>")
    elif page == path:
        os.makedirs(os.path.dirname(os.path.join(out, page)), exist_ok=True)
        shutil.copyfile(os.path.join(tree.top, path), os.path.join(out, page))
    else:
        write_page(out, page, path, f"<h1>{path}</h1><pre>{html.escape(tree.read(path))}</pre>")


def list_of(items):
    lines = []
    for page, title, about in items:
        rest = f" - {html.escape(about)}" if about else ""
        lines.append(f'<li><a href="{page}">{html.escape(title)}</a>{rest}</li>')
    return "<ul>\n" + "\n".join(lines) + "\n</ul>\n"


def write_manual(tree, out):
    body = "<h1>The manual</h1>\n"
    for section, name in SECTIONS.items():
        pages = [p for p in tree.man if p.endswith("." + section)]
        body += f'<h2 id="{section}">{name} ({section})</h2>\n' + list_of(
            (relative(page_of(tree, p), MAN + "index.html"),
             os.path.basename(p)[:-2], tree.about.get(p)) for p in pages)
    write_page(out, MAN + "index.html", "The manual of moot", body)


def write_index(tree, out):
    body, shown = "<h1>moot: all documents</h1>\n", set()

    def group(name, paths):
        shown.update(paths)
        return f"<h2>{name}</h2>\n" + list_of(
            (page_of(tree, p), title_of(tree, p), None) for p in paths)

    for name, paths in GROUPS:
        body += group(name, [p for p in paths if p in tree.files])
    body += "<h2>The manual</h2>\n" + list_of(
        (f"{MAN}index.html#{s}", f"{name} ({s})", None) for s, name in SECTIONS.items())
    body += group("Decisions", [p for p in tree.markdown if p.startswith(DECISIONS)])
    rest = [p for p in tree.markdown if p not in shown and not p.startswith(".")]
    if rest:
        body += group("Others", rest)
    write_page(out, "index.html", "moot: all documents", body)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.addresses = set(), []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value is not None:
                self.addresses.append(value)


def follow(out):
    """Every link of every page leads to a file, and to a place in it."""
    pages = {}
    for folder, _, files in os.walk(out):
        for name in files:
            path = os.path.normpath(os.path.join(folder, name))
            pages[path] = Links()
            if name.endswith(".html"):
                with open(path, encoding="utf-8") as file:
                    pages[path].feed(file.read())
    links = 0
    for path, page in pages.items():
        for address in page.addresses:
            if re.match(r"[a-z][a-z0-9+.-]*:", address):
                continue
            links += 1
            target, _, anchor = address.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path),
                                                  urllib.parse.unquote(target))) if target else path
            if there not in pages:
                complain(os.path.relpath(path, out), f"leads to {address}, which is not there")
            elif anchor and urllib.parse.unquote(anchor) not in pages[there].ids:
                complain(os.path.relpath(path, out), f"leads to {address}: no such place")
    return len(pages), links


def write_html(tree, out):
    shutil.rmtree(out, ignore_errors=True)
    documents = tree.markdown + tree.man
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wanted = set().union(*pool.map(lambda p: write_document(tree, out, p), documents))
    write_manual(tree, out)
    for path in wanted - set(documents) - {MAN.rstrip("/"), "."}:
        if path in tree.files or path in tree.folders:
            write_wanted(tree, out, path)
    write_index(tree, out)
    shutil.copyfile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "doc.css"),
                    os.path.join(out, "doc.css"))
    count, links = follow(out)
    print(f"{out}/index.html: {count} pages, {links} links")


def main(words):
    top = "."
    if words[:1] == ["--top"] and len(words) > 1:
        top, words = words[1], words[2:]
    if words != ["check"] and not (len(words) == 2 and words[0] == "html"):
        sys.exit("usage: doc.py [--top DIR] check | html OUT")
    tree = Tree(top)
    check(tree)
    if words[0] == "html" and not dead:
        write_html(tree, words[1])
    for line in dead:
        print(line, file=sys.stderr)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
