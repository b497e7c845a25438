#!/bin/sh
# tidy.sh - the house rules that compilers, clang-format and clang-tidy do not see.
#
#   length      a source file has at most 700 lines (over 500: a remark), a function of
#               the product at most 70, of a test 150
#   readme      README.md has at most 200 lines: what is longer goes to deploy/doc
#   subject     no sentence of README.md, deploy/doc or the manual has a clause for its
#               subject ("Who needs a result asks ..."); questions may
#   opening     a source file opens with a comment that names it
#   characters  no tabs in C, no space at a line's end, a newline at the file's end
#   banned      calls that have a bounded or a pure sister
#   later       no marks of work that is still to be done
#   place       no absolute path of somebody's machine
#   layout      nothing at the top of the tree beyond a list
#
# Looks at the files that git knows, or, in an export without git, at all there are.
# Prints each finding as file:line: why, and exits 1 if there is one.
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard
else
    find . -type f -not -path './build*' | sed 's,^\./,,'
fi | while read -r file; do
    [ ! -f "$file" ] || echo "$file"
done >"$scratch/files"

grep -E '\.[ch]$' "$scratch/files" >"$scratch/c"
grep -E '\.(c|h|sh|md|proto|tsp|txt|[137]|in)$|Makefile$|^\.ci/run$' \
    "$scratch/files" >"$scratch/text"

grep -E '^(README\.md|deploy/doc/.*\.md|deploy/man/.*\.[137])$' "$scratch/files" >"$scratch/told"

# each LIST COMMAND...: the command over the files of the list; finding none is no error.
each() {
    list=$1
    shift
    xargs -a "$scratch/$list" -d '\n' -r "$@" || :
}

# shellcheck disable=SC2016 # awk programs
{
    each c awk '
        FNR == 1 {
            n = split(FILENAME, part, "/")
            if (index($0, "/* " part[n]) != 1)
                print FILENAME ":1: should open with \"/* " part[n] " - what it is\""
            function_at = 0
            lines_max = FILENAME ~ /^tests\// ? 150 : 70
        }
        /\t/ { print FILENAME ":" FNR ": tab" }
        /^{/ { function_at = FNR }
        /^}/ && function_at {
            if (FNR - function_at - 1 > lines_max)
                print FILENAME ":" function_at ": a function of " \
                    FNR - function_at - 1 " lines; at most " lines_max
            function_at = 0
        }
        FNR == 701 { print FILENAME ":701: a file of over 700 lines" }
    '
    each told grep -nHE '(^|[.;] )(Who|What)(ever|se)? [^?]*$' |
        grep -vE '^[^:]*:[0-9]*:(#|\|)' | sed 's/$/ : a clause for a subject/'
    awk 'FNR == 201 { print FILENAME ":201: over 200 lines; deploy/doc has room" }' README.md
    each text grep -nHE '[[:space:]]+$' | sed 's/:\([0-9]*\):.*/:\1: space at the end/'
    each c grep -nHE \
        '(^|[^A-Za-z0-9_.>])(strcpy|strcat|sprintf|vsprintf|gets|strtok|rand|srand|random|system|alloca|atoi|atol|atof|tmpnam|mktemp)\(' |
        grep -vE '^[^:]*:[0-9]+: *(\*|/\*|//)' | sed 's/$/ : banned/'
    grep -vE '^tests/tidy/' "$scratch/text" >"$scratch/prose" || :
    each prose grep -nHwE 'TODO|FIXME|XXX|HACK' | sed 's/$/ : do it or leave it out/'
    each prose grep -nHE '(^|[^A-Za-z0-9_$}.])/(home|root|work|Users|tmp/b-)/?[A-Za-z0-9_-]+/' |
        sed 's/$/ : a path of one machine/'
    each text python3 -c 'import sys
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            print(name + ": no newline at the end")'
    cut -d/ -f1 "$scratch/files" | sort -u |
        grep -vxE 'hashing|proto|consensus|node|tests|deploy|Makefile|README\.md|LICENSE|CONTRIBUTING\.md|CHANGELOG\.md|CITATION\.cff|\..*' |
        sed 's/$/: not a part of the layout/'
} >"$scratch/findings"

each c awk 'FNR == 501 { print "remark: " FILENAME " has over 500 lines" }'
if [ -s "$scratch/findings" ]; then
    cat "$scratch/findings"
    exit 1
fi
