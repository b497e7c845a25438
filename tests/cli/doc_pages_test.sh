#!/bin/sh
# doc_pages_test.sh - `make doc` makes pages of all documents, which lead to each other.
#
# Skipped without pandoc and mandoc, which `make doc` installs.  Run from the top of the tree.
set -u
for tool in pandoc mandoc; do
    command -v "$tool" >/dev/null || {
        echo "there is no $tool: make doc installs it"
        exit 77
    }
done
. tests/cli/check.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
evidence=$scratch/out

# pages TOP OUT: of the tree at TOP
pages() { python3 deploy/doc/doc.py --top "$1" html "$2" >"$scratch/out" 2>&1; }
# leads PAGE ADDRESS
leads() { grep -qF "href=\"$2\"" "$scratch/doc/$1"; }
check pages_are_made "no pages" pages . "$scratch/doc"
check a_document_is_linked "it is not" leads CONTRIBUTING.html deploy/doc/TESTING.html
check a_heading_is_linked "it is not" leads deploy/doc/PERFORMANCE.html '#how-to-measure'
check a_source_is_linked "it is not" leads deploy/doc/TESTING.html ../../tests/soak.txt.html
check a_source_is_shown "it is not" test -s "$scratch/doc/tests/soak.txt.html"
check a_page_is_linked "it is not" leads deploy/man/moot.3.html moot_open.3.html
check the_index_leads_to_documents "it does not" leads index.html deploy/doc/ARCHITECTURE.html
check the_manual_leads_to_pages "it does not" leads deploy/man/index.html moot_open.3.html

# A tree of three files.
tree=$scratch/tree
mkdir -p "$tree/deploy/man"
cp deploy/man/moot_open.3 "$tree/deploy/man"
sed -i '/^\.Xr/d' "$tree/deploy/man/moot_open.3"
rm -rf "$scratch/doc"
# shellcheck disable=SC2016 # Markdown has backquotes
printf '# Title\n\nSee **moot_open(3)**, `moot_open(3)`.\n\n    not moot_open(3)\n' >"$tree/README.md"
check a_small_tree_has_pages "no pages" pages "$tree" "$scratch/doc"
name=a_name_of_the_manual_becomes_a_link
[ "$(grep -o 'href="deploy/man/moot_open.3.html"' "$scratch/doc/README.html" | wc -l)" -eq 2 ]
note $? "it does not, or does in a program"
echo 'See [this](none.md).' >>"$tree/README.md"
name=a_dead_link_makes_no_pages
! pages "$tree" "$scratch/none" && [ ! -e "$scratch/none" ] &&
    grep -qF 'README.md:6: there is no none.md' "$scratch/out"
note $? "it does, or is not named"
check_end
