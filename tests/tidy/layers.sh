#!/bin/sh
# layers.sh BUILD - includes go one way, and the core is pure.
#
#   1. hashing <- proto <- consensus <- node <- tests: a quoted include may name a file
#      of its own layer or of one below.
#   2. <mpi.h> is included by node/moot_mpi.h alone, and that by one source file.
#   3. consensus/ includes no header of clocks, I/O or threads.
#   4. The objects of consensus/ in BUILD need no symbol beyond those of hashing/,
#      proto/ and the short list below (nm -u).
#   5. libmoot.so in BUILD exports moot_* and nothing else.
#
# Prints each violation as file:line and exits 1; run from the top of the tree.
set -eu

build=${1:?usage: layers.sh BUILD}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
violations=$scratch/violations
: >"$violations"

layer_number() {
    case $1 in
    hashing/*) echo 1 ;;
    proto/*) echo 2 ;;
    consensus/*) echo 3 ;;
    node/*) echo 4 ;;
    *) echo 5 ;;
    esac
}

# The file that a quoted include names: beside the includer, from the top, or one of the
# headers that the build's -I makes reachable by bare name.
resolve() {
    for place in "${1%/*}" . hashing proto node; do
        if [ -f "$place/$2" ]; then
            echo "$place/$2" | sed 's,^\./,,'
            return
        fi
    done
    [ "$2" != moot.pb-c.h ] || echo proto/moot.pb-c.h
}

# grep prints file:line:#include "name"
grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' \
    hashing proto consensus node >"$scratch/includes" || :
while IFS=: read -r file line text; do
    name=$(expr "$text" : '[^"]*"\([^"]*\)"')
    target=$(resolve "$file" "$name")
    if [ -z "$target" ]; then
        echo "$file:$line: \"$name\" is no file of the tree"
    elif [ "$(layer_number "$target")" -gt "$(layer_number "$file")" ]; then
        echo "$file:$line: \"$name\" is $target, a layer above"
    fi
done <"$scratch/includes" >>"$violations"

grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<mpi\.h>' --include='*.[ch]' \
    hashing proto consensus node | grep -v '^node/moot_mpi\.h:' |
    sed 's/$/ : only node\/moot_mpi.h may/' >>"$violations" || :
grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]*/)?moot_mpi\.h[>"]' \
    --include='*.[ch]' hashing proto consensus node | grep -v '^node/transport/mpi\.c:' |
    sed 's/$/ : only node\/transport\/mpi.c may/' >>"$violations" || :

grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' consensus/*.[ch] |
    grep -vE '<(assert|inttypes|limits|stdalign|stdarg|stdbool|stddef|stdint|stdlib|string)\.h>' |
    sed 's/$/ : not a header for the core/' >>"$violations" || :

# What the core may call of libc, and what compilers and sanitizers add.
cat >"$scratch/allowed" <<'LIST'
malloc calloc realloc free
memcpy memmove memset memcmp memchr
strlen strnlen strcmp strncmp strcpy strncpy strchr strrchr strstr
bsearch qsort __assert_fail __stack_chk_fail _GLOBAL_OFFSET_TABLE_
LIST
for source in hashing/*.c proto/*.c consensus/*.c; do
    [ -f "$build/${source%.c}.o" ] || {
        echo "layers.sh: $build has no object of $source; build first" >&2
        exit 2
    }
done
nm -A -g --defined-only "$build"/hashing/*.o "$build"/proto/*.o "$build"/consensus/*.o |
    awk '{ print $NF }' >"$scratch/own"
nm -A -u "$build"/consensus/*.o |
    awk -v own="$scratch/own" -v allowed="$scratch/allowed" '
        BEGIN {
            while ((getline line < own) > 0) good[line] = 1
            while ((getline line < allowed) > 0) {
                n = split(line, word, " ")
                for (i = 1; i <= n; i++) good[word[i]] = 1
            }
        }
        $NF ~ /^__(asan|ubsan|tsan|sanitizer|lsan|gcov|llvm)/ { next }
        !($NF in good) { print $1 " needs " $NF ", which the core may not call" }
    ' >>"$violations"

nm -D --defined-only "$build/libmoot.so" |
    awk '$NF !~ /^moot_/ { print "libmoot.so exports " $NF }' >>"$violations"

if [ -s "$violations" ]; then
    cat "$violations"
    exit 1
fi
