#!/bin/sh
# doc_test.sh - the documents lead where they say, and show what commands say.
#
# A copy of the tree has a link to each kind of thing that is not there, one at a time:
# doc.py must name the line.  What a page shows of a command must be what the command says
# (rerun.py).
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u
. tests/cli/check.sh

BUILD=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy=$scratch/tree
evidence=$scratch/out

# The tree, by links but for what is changed below.
mkdir -p "$copy/deploy/man"
for entry in *; do
    case $entry in build* | deploy) ;; *) ln -s "$PWD/$entry" "$copy/$entry" ;; esac
done
for entry in deploy/*; do
    [ "$entry" = deploy/man ] || ln -s "$PWD/$entry" "$copy/$entry"
done
cp deploy/man/* "$copy/deploy/man"
rm "$copy/CONTRIBUTING.md"

# with TEXT WHERE: the copy's CONTRIBUTING.md and a page of the manual, with a line more.
with() {
    cp CONTRIBUTING.md "$copy/CONTRIBUTING.md"
    cp deploy/man/moot.3 "$copy/deploy/man/moot.3"
    printf '%s\n' "$1" >>"$copy/$2"
}
links() { python3 deploy/doc/doc.py --top "$copy" check >"$scratch/out" 2>&1; }
# dead NAME TEXT WHERE WHY
dead() {
    with "$2" "$3"
    links
    status=$?
    [ "$status" -eq 1 ] && grep -qF "$3:$(wc -l <"$copy/$3"): $4" "$scratch/out"
    good=$?
    name=$1
    note "$good" "status $status; not named: $4"
}

# shellcheck disable=SC2016 # a Markdown document has backquotes
live='See [tests](tests/run.sh), [style](#a-heading), moot_open(3) and `[no](link)`.'
live="$live

## A \`heading\`"
here() { python3 deploy/doc/doc.py check >"$scratch/out" 2>&1; }
check links_lead_somewhere "a link leads nowhere" here
with "$live" CONTRIBUTING.md
check live_links_pass "a link that leads somewhere is refused" links
dead a_file_is_missing 'See [this](tests/none.c).' CONTRIBUTING.md "there is no tests/none.c"
dead an_image_is_missing '![this](deploy/images/none.png)' CONTRIBUTING.md \
    "there is no deploy/images/none.png"
dead a_heading_is_missing 'See [this](README.md#no-such-place).' CONTRIBUTING.md \
    "README.md has no heading #no-such-place"
dead a_heading_here_is_missing 'See [this](#no-such-place).' CONTRIBUTING.md \
    "CONTRIBUTING.md has no heading #no-such-place"
dead a_page_is_missing 'See **moot_fly(3)**.' CONTRIBUTING.md "the manual has no moot_fly(3)"
dead a_page_has_another_section 'See moot_open(1).' CONTRIBUTING.md \
    "the manual has no moot_open(1)"
dead a_page_of_a_page_is_missing '.Xr moot_fly 3' deploy/man/moot.3 \
    "the manual has no moot_fly(3)"

# What a page shows of a command is what the command says.
shown=$scratch/shown.md
printf '%s\n' before '<!-- run quick: moot sim --ranks 2 --tasks 3 --faults none -->' \
    '<!-- end -->' '<!-- run: moot none -->' old '<!-- end -->' after >"$shown"
again() { python3 deploy/doc/rerun.py --check "$BUILD" "$1" >"$scratch/out" 2>&1; }
name=what_is_not_shown_is_seen
! again "$shown" && grep -q '^+good: 2 ranks, 3 tasks' "$scratch/out"
note $? "it is not"
name=a_failing_command_writes_nothing
cp "$shown" "$shown.was"
rewrite() { python3 deploy/doc/rerun.py "$BUILD" "$shown" >"$scratch/out" 2>&1; }
! rewrite && cmp -s "$shown" "$shown.was"
note $? "it writes"
sed -i 's/moot none/moot info --json/' "$shown"
check what_is_said_is_written "it is not" rewrite
sed -i 's/good: 2 ranks/good: 3 ranks/; s/"knobs"/"other"/' "$shown"
name=the_quick_are_written_alone
python3 deploy/doc/rerun.py --quick "$BUILD" "$shown" >"$scratch/out" 2>&1 &&
    grep -q 'good: 2 ranks' "$shown" && grep -q '"other"' "$shown"
note $? "it is not so"
check what_is_written_is_said "it is not" again "$shown"
sed -i 's/good: 2 ranks/good: 3 ranks/' "$shown"
name=what_is_shown_wrongly_is_seen
! again "$shown"
note $? "it is not"
check the_simulated_figures_are_so "SCALING.md shows others (rerun.py --quick mends it)" again deploy/doc/SCALING.md
check_end
