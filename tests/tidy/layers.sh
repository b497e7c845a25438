#!/bin/sh
# layers.sh BUILD - includes go one way, and the core is pure.
#
#   1. hashing <- proto <- consensus <- node <- tests: a quoted include may name a file
#      of its own layer or of one below.
#   2. <mpi.h> is included by node/api/moot_mpi.h alone, and that by one source file.
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

# grep prints file:line:#include "name"
grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' \
    hashing proto consensus node >"$scratch/includes" || :
while IFS=: read -r file line text; do
    name=$(expr "$text" : '[^"]*"\([^"]*\)"')
    [ "$name" != moot.pb-c.h ] || name=proto/moot.proto
    if [ ! -f "$name" ]; then
        echo "$file:$line: \"$name\" is no path from the top of the tree"
    elif [ "$(layer_number "$name")" -gt "$(layer_number "$file")" ]; then
        echo "$file:$line: \"$name\" is of a layer above"
    fi
done <"$scratch/includes" >>"$violations"

grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<mpi\.h>' --include='*.[ch]' \
    hashing proto consensus node | grep -v '^node/api/moot_mpi\.h:' |
    sed 's/$/ : only node\/api\/moot_mpi.h may/' >>"$violations" || :
grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]*/)?moot_mpi\.h[>"]' \
    --include='*.[ch]' hashing proto consensus node | grep -v '^node/transport/mpi/mpi\.c:' |
    sed 's/$/ : only node\/transport\/mpi\/mpi.c may/' >>"$violations" || :

# Fault plans are text, read and written; they are not linked to a core's steps.
core_files=$(find consensus -name '*.[ch]' -not -path 'consensus/sim/*' -not -path 'consensus/faultplan/*')
# shellcheck disable=SC2086 # paths of the tree have no spaces
grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' $core_files |
    grep -vE '<(assert|inttypes|limits|stdalign|stdarg|stdbool|stddef|stdint|stdlib|string)\.h>' |
    sed 's/$/ : not a header for the core/' >>"$violations" || :

# What the core may call of libc, and what compilers and sanitizers add.
cat >"$scratch/allowed" <<'LIST'
malloc calloc realloc free
memcpy memmove memset memcmp memchr
strlen strnlen strcmp strncmp strcpy strncpy strchr strrchr strstr
bsearch qsort __assert_fail __stack_chk_fail _GLOBAL_OFFSET_TABLE_
LIST
core=$(find consensus -name '*.c' -not -path 'consensus/sim/*' -not -path 'consensus/faultplan/*')
below=$(find hashing proto -name '*.c')
objects() {
    for source in "$@"; do
        echo "$build/${source%.c}.o"
    done
}
for source in $core $below; do
    [ -f "$build/${source%.c}.o" ] || {
        echo "layers.sh: $build has no object of $source; build first" >&2
        exit 2
    }
done
# shellcheck disable=SC2046,SC2086 # paths of the tree have no spaces
nm -A -g --defined-only $(objects $core $below) "$build/gen/moot.pb-c.o" |
    awk '{ print $NF }' >"$scratch/own"
# shellcheck disable=SC2046,SC2086
nm -A -u $(objects $core) |
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
