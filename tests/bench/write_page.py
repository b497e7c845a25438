#!/usr/bin/env python3
"""write_page.py PART ROWS ABOUT PAGE - writes what was measured into the tables of a page.

run.sh calls it (DOC=1): PART is what it ran, ROWS has its rows, ABOUT has lines
`name: value` of what was measured.  In PAGE a table stands between two lines,

    <!-- bench PART: PATTERN... -->
    <!-- end -->

and what is between them is written anew, from the rows that a pattern names, if PART was
run; `all` runs all parts but those of BY_THEMSELVES.  Nothing is written if a row has no
table, if there is no row for one, or if others had more than 5 % of the cores meanwhile
(`others: PERCENT` in ABOUT): then the exit status is 1, and standard error says why.
"""

import fnmatch
import re
import sys

OTHERS_PERCENT_MAX = 5
BY_THEMSELVES = ("hosts", "attack", "crowd", "changing", "storing", "long", "others")
BLOCK = re.compile(r"(<!-- bench (\w+): ([^>]*?) -->\n).*?(<!-- end -->)", re.S)


def refuse(why):
    sys.exit(f"write_page.py: {why}: the page stays as it is")


def read_rows(path):
    """(name, value, target, remark) of each."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            row, _, remark = line.partition("#")
            words = row.split()
            if len(words) == 3:
                rows.append((*words, remark.strip()))
    return rows


def read_about(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.strip().split(": ", 1) for line in file if ": " in line]
    return [(n, v) for n, v in lines if n != "others"], [float(v) for n, v in lines if n == "others"]


def command(part):
    return "make bench" if part == "all" else f"make bench-{part}"


def table(part, about, rows):
    lines = [f"`{command(part)}`. " + ". ".join(f"{n[0].upper()}{n[1:]}: {v}" for n, v in about) + ".",
             "", "| row | value | target | |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {value} | {target} | {remark} |" for name, value, target, remark in rows]
    return "\n".join(lines) + "\n"


def main(part, rows_path, about_path, page_path):
    rows = read_rows(rows_path)
    about, others = read_about(about_path)
    if max(others, default=0) > OTHERS_PERCENT_MAX:
        refuse(f"others had up to {max(others):.0f} % of the cores")
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    placed = set()

    def rewrite(block):
        of, patterns = block.group(2), block.group(3).split()
        if of != part and (part != "all" or of in BY_THEMSELVES):
            return block.group()
        chosen = [r for r in rows if any(fnmatch.fnmatchcase(r[0], p) for p in patterns)]
        if not chosen:
            refuse(f"no row for the table of {' '.join(patterns)}")
        placed.update(r[0] for r in chosen)
        return block.group(1) + table(part, about, chosen) + block.group(4)

    page = BLOCK.sub(rewrite, page)
    left = [r[0] for r in rows if r[0] not in placed]
    if left:
        refuse(f"no table has a place for {' '.join(left)}")
    with open(page_path, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: write_page.py PART ROWS ABOUT PAGE")
    main(*sys.argv[1:])
