#!/bin/sh
# man_examples.sh BUILD - the programs in the manual pages compile and run.
#
# Takes each literal block of each section-3 page's EXAMPLES, compiles it as a user would,
# with warnings as errors, against the public headers and BUILD/libmoot.so, and runs it
# on one rank and on three; by mpirun, or by the launcher local where it opens a moot and does not speak of MPI.  A page without an example fails, and so does a call of a public header
# that no page names, or a knob that moot-knobs(7) leaves out, or tells without its range or
# default.
set -eu

build=${1:?usage: man_examples.sh BUILD}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
launcher="mpirun --oversubscribe"
[ "$(id -u)" -ne 0 ] || launcher="$launcher --allow-run-as-root"
failed=0

complain() {
    echo "$*"
    failed=1
}

# example PAGE NUMBER FILE: it compiles and runs
example() {
    # shellcheck disable=SC2046,SC2086 # flags are meant to split
    if ! gcc -std=c11 -Wall -Wextra -Werror ${MAN_CFLAGS-} -I"$build/include" \
        $(mpicc --showme:compile) "$3" -o "${3%.c}" \
        -L"$build" -lmoot -Wl,-rpath,"$(realpath "$build")" $(mpicc --showme:link); then
        complain "$1: example $2 does not compile"
        return
    fi
    for ranks in 1 3; do
        start="$launcher -n $ranks"
        grep -q MPI_ "$3" || ! grep -q moot_open "$3" || start="$build/moot run --launcher local -n $ranks"
        # shellcheck disable=SC2086
        timeout 30 $start "${3%.c}" >"$scratch/out" 2>&1 || {
            complain "$1: example $2 exits $? on $ranks ranks:"
            cat "$scratch/out"
        }
    done
}

for page in deploy/man/*.3; do
    name=$(basename "$page" .3)
    awk -v path="$scratch/$name" '
        /^\.Sh/ { examples = $2 == "EXAMPLES" }
        /^\.Ed/ { code = 0 }
        code { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print >file }
        examples && /^\.Bd -literal/ { code = 1; file = path "-" ++number ".c" }
    ' "$page"
    number=1
    [ -s "$scratch/$name-1.c" ] || complain "$page: no example"
    while [ -s "$scratch/$name-$number.c" ]; do
        example "$page" "$number" "$scratch/$name-$number.c"
        number=$((number + 1))
    done
done

awk '$1 == ".Sh" { names = $2 == "NAME" } names && $1 == ".Nm" { print $2 }' \
    deploy/man/*.3 | sort -u >"$scratch/named"
nm -D --defined-only "$build/libmoot.so" |
    awk '$NF ~ /^moot_/ { sub(/_(at|get|sized)$/, "", $NF); print $NF }' | sort -u |
    while read -r call; do
        grep -qxE "$call(_get)?" "$scratch/named" || echo "$call: no page names it"
    done >"$scratch/missing"
if [ -s "$scratch/missing" ]; then
    cat "$scratch/missing"
    failed=1
fi

# Each knob, its range, and a word of its default.
"$build/moot" info --json 2>/dev/null |
    sed -n 's/^ *{"name": "\(MOOT_[A-Z_]*\)".*/\1/p; s/^ *"allowed": "\([^"]*\)".*/\1/p' |
    paste -d ' ' - - >"$scratch/allowed"
[ "$(wc -l <"$scratch/allowed")" -ge 20 ] || failed=1
while read -r knob allowed; do
    awk -v knob="$knob" '/^\.(It Ev|El)/ { on = $3 == knob } on' deploy/man/moot-knobs.7 |
        tr '\n' ' ' | sed 's/ | / to /g' >"$scratch/item"
    range=$(echo "$allowed" | grep -oE '[0-9]+[a-z]* to [0-9]+[a-z]*') || range=
    grep -qF "$range" "$scratch/item" && grep -q default "$scratch/item" ||
        echo "$knob: moot-knobs(7) lacks it, its default or its range: $range"
done <"$scratch/allowed" >"$scratch/knobs"
if [ -s "$scratch/knobs" ]; then
    cat "$scratch/knobs"
    failed=1
fi
exit "$failed"
