#!/bin/sh
# build.sh BUILD MAKE... - runs a make that builds, and says every few seconds how far it is.
#
# Silent if there is nothing to build.  How many files are to be compiled, and how many
# are, is seen from outside: by what the make would do, and by the objects in BUILD.
# What the make itself prints are warnings and errors.
set -eu
build=${1:?usage: build.sh BUILD MAKE...}
shift

to_do=$("$@" -s -n 2>/dev/null) || to_do='it fails, and will say why'
[ -n "$to_do" ] || exit 0
files=$(printf '%s\n' "$to_do" | grep -c -e ' -MMD -MP -MT .* -c ') || :
if [ "$files" -gt 100 ]; then
    echo "building in $build/: $files files, which takes about a minute on two cores"
else
    echo "building in $build/: $files files"
fi

began=$(date +%s)
mark=$(mktemp)
ticker=
finish() {
    rm -f "$mark"
    [ -z "$ticker" ] || kill "$ticker" 2>/dev/null || :
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

seconds() { echo $(($(date +%s) - began)); }
say() {
    made=$(find "$build" -name '*.o' -newer "$mark" 2>/dev/null | wc -l)
    if [ "$made" -lt "$files" ]; then
        echo "  after $(seconds) s: $made of $files files are compiled"
    else
        echo "  after $(seconds) s: putting the library and the programs together"
    fi
}
# The sleep holds nothing open that a reader of the output waits for.
while sleep 4 >/dev/null 2>&1; do
    say
done &
ticker=$!

"$@" -s
echo "built in $(seconds) s"
