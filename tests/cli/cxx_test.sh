#!/bin/sh
# cxx_test.sh - programs in C++ include the headers without a warning, fill structs as the
# manual says, and run, task arrays and their maps among them; and what they write is C,
# too.
set -u

# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=tests/cli/cxx/squares.cc
# shellcheck disable=SC2034 # check.sh shows it
evidence=$scratch/out

# compile COMPILER STANDARD NAME OPTIONS...
compile() {
    compiler=$1 standard=$2 to=$3
    shift 3
    # shellcheck disable=SC2046 # flags are meant to split
    "$compiler" -std="$standard" -Wall -Wextra -Wpedantic -Werror "$@" -I"$BUILD/include" \
        $(mpicxx --showme:compile) "$program" -o "$scratch/$to" -L"$BUILD" -lmoot \
        -Wl,-rpath,"$(realpath "$BUILD")" $(mpicxx --showme:link) -lm \
        ${SANITIZE:+-fsanitize=$SANITIZE} >"$scratch/out" 2>&1
}
# sum RANKS NAME SUM
sum() {
    timeout 60 "$BUILD/moot" run -n "$1" "$scratch/$2" >"$scratch/out" 2>&1 &&
        [ "$(grep -c "the sum is $3\$" "$scratch/out")" -eq "$1" ]
}
squares=$program
arrays=tests/cli/cxx/sums.cc

for standard in c++11 c++17 c++20; do
    for compiler in g++ clang++; do
        program=$arrays
        check "$compiler $standard, moot_array.h" "it has warnings" \
            compile "$compiler" "$standard" "arrays-$compiler"
        program=$squares
        check "$compiler $standard" "it has warnings" \
            compile "$compiler" "$standard" "plain-$compiler"
        check "$compiler $standard, moot_mpi.h" "it has warnings" \
            compile "$compiler" "$standard" "mpi-$compiler" -DWITH_MPI
    done
done
check "3 ranks" "not every rank has the sum" sum 3 plain-g++ 140
check "2 ranks, moot_open_comm" "not every rank has the sum" sum 2 mpi-g++ 140
check "2 ranks, arrays" "not every rank has the sum" sum 2 arrays-g++ 594

# As other programs include headers of C; and the idiom in C itself.
cat >"$scratch/linkage.cc" <<'END'
extern "C" {
#include <moot.h>
}
static const moot_kernel kernel = MOOT_INIT(moot_kernel);
int main() { return kernel.size == sizeof(moot_kernel) && kernel.name == nullptr ? 0 : 1; }
END
cat >"$scratch/idiom.c" <<'END'
#include <moot.h>
int main(void)
{
    moot_kernel kernel = MOOT_INIT(moot_kernel);
    kernel.name = "square";
    return kernel.size == sizeof(moot_kernel) && kernel.fn == NULL ? 0 : 1;
}
END
program=$scratch/linkage.cc
check "in extern C" "it does not compile" compile g++ c++11 linkage
check "in extern C" "it is not filled" "$scratch/linkage"
program=$scratch/idiom.c
check "the idiom in C" "it does not compile" compile gcc c11 idiom
check "the idiom in C" "it is not filled" "$scratch/idiom"

# Each header by itself.
for header in "$BUILD"/include/*.h; do
    echo "#include <$(basename "$header")>" >"$scratch/header.cc"
    program=$scratch/header.cc
    check "$(basename "$header")" "C++ does not take it" compile g++ c++11 header -fsyntax-only
done
check_end
