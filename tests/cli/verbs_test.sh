#!/bin/sh
# verbs_test.sh - the command's verbs tell the same everywhere: in their help, in their
# manual pages, and in what shells complete.  BUILD says where the command is (build).
set -u

moot=$(cd "${BUILD:-build}" && pwd)/moot
man=$(pwd)/deploy/man
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

words() { tr -s ' \n' '  ' | sed 's/^ //; s/ $//'; }
# A verb's help up to the first empty line, and a page's SYNOPSIS, in plain text.
help_synopsis() { "$moot" help "$1" | sed -n '1s/^usage: //; /^$/q; p' | words; }
page_synopsis() {
    mandoc -T ascii -O width=200 "$man/moot-$1.1" | sed 's/.\x08//g' |
        sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' | sed '1d;$d' | words
}
page_text() { mandoc -T ascii -O width=200 "$1" | sed 's/.\x08//g'; }

"$moot" help >"$scratch/help"
verbs=$(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$scratch/help" | grep -vx help)
check verbs "there are too few: $verbs" [ "$(echo "$verbs" | wc -l)" -ge 8 ]

# --- Manual pages ---

page_text "$man/moot.1" >"$scratch/moot.1"
for verb in $verbs; do
    check "moot(1) has $verb" "it does not" grep -qE "^     $verb( |\$)" "$scratch/moot.1"
    if [ ! -f "$man/moot-$verb.1" ]; then
        check "$verb" "has no manual page" false
        continue
    fi
    told=$(help_synopsis "$verb") page=$(page_synopsis "$verb")
    check "$verb" "the help says    $told
    and its page     $page" [ "$told" = "$page" ]
    page_text "$man/moot-$verb.1" >"$scratch/page"
    "$moot" help "$verb" | grep -oE '(^|[ [])--?[a-z][a-z-]*' | tr -d ' [' | sort -u |
        while read -r option; do
            grep -qE -e "(^|[^a-z-])$option([^a-z-]|\$)" "$scratch/page" ||
                echo "$option"
        done >"$scratch/missing"
    check "$verb" "its page has no $(words <"$scratch/missing")" [ ! -s "$scratch/missing" ]
done
for page in "$man"/moot-*.1; do
    verb=${page##*/moot-}
    check "$page" "there is no such verb" "$moot" help "${verb%.1}" >"$scratch/out"
done

# Each setting that `moot sim --sweep` knows is an option that the help tells of.
"$moot" sim --ranks 2 --sweep nothing=1 2>&1 | sed -n 2p | tr ',' '\n' |
    grep -oE '[a-z][a-z-]+' | while read -r setting; do
    "$moot" help sim | grep -qE -e "--$setting([^a-z-]|\$)" || echo "$setting"
done >"$scratch/missing"
check "sim's settings" "its help lacks $(words <"$scratch/missing")" [ ! -s "$scratch/missing" ]

# --- Completion ---

"$moot" completion bash >"$scratch/moot.bash"
"$moot" completion zsh >"$scratch/_moot"
# completes WANTED WORDS...: the last of the words is completed to those, by bash.
completes() {
    wanted=$1
    shift
    got=$(bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _moot
        echo "${COMPREPLY[*]}"' "$scratch/moot.bash" "$@" 2>/dev/null)
    check "bash: $*" "completes to '$got', not '$wanted'" [ "$got" = "$wanted" ]
}
completes "report" moot rep
completes "trace tune" moot t
completes "run" moot ru
completes "--version" moot --v
completes "--faults" moot run --f
completes "--workload --workers" moot sim --w
completes "--seed --seeds" moot sim --seed
completes "export" moot trace ""
completes "bash zsh" moot completion ""
completes "report" moot help rep
completes "" moot run -n 4 prog
completes "MOOT_VOTE_TIMEOUT= MOOT_VOTERS=" moot run -n 4 MOOT_VOTE
completes "chrome csv" moot trace export t --format c
completes "basic all" moot info --level ""
completes "repair strict trust" moot run -n 4 MOOT_DIVERGENCE =
completes "strict" moot run -n 4 MOOT_DIVERGENCE = s
completes "MOOT_SPLIT=solo" moot run -n 4 MOOT_SPLIT=so
completes "auto never" moot tune -n 4 MOOT_VOTE_TIMEOUT = ""
completes "" moot run -n 4 MOOT_VOTERS = ""
if command -v zsh >/dev/null; then
    check zsh "cannot read it" zsh -n "$scratch/_moot"
fi
check "another shell" "is refused with $?" [ "$("$moot" completion fish >/dev/null 2>&1 || echo $?)" = 2 ]

# --- info, by level ---

"$moot" info >"$scratch/all"
"$moot" info --level basic >"$scratch/basic"
check "all knobs" "an advanced one is missing" grep -q '^  MOOT_LEASE = ' "$scratch/all"
check "basic knobs" "a basic one is missing" grep -q '^  MOOT_STALL = ' "$scratch/basic"
check "basic knobs" "there is an advanced one" [ "$(grep -c MOOT_LEASE "$scratch/basic")" -eq 0 ]
check "features" "are missing" grep -q '^  transports ' "$scratch/basic"
for arguments in "--json" "--json --level basic"; do
    # shellcheck disable=SC2086 # words are meant to split
    "$moot" info $arguments >"$scratch/json"
    check "info $arguments" "no features" grep -q '"features": {' "$scratch/json"
    check "info $arguments" "not JSON" python3 -m json.tool "$scratch/json" "$scratch/out"
done
check "a level" "is taken that is none" [ "$("$moot" info --level most 2>/dev/null || echo $?)" = 2 ]

check_end
