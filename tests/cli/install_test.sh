#!/bin/sh
# install_test.sh - what `make install` puts down works there, and uninstall takes it up.
#
# Installs BUILD under a DESTDIR, compiles a program with nothing but moot.pc, runs the
# installed command, reads the manual pages, does so at home without a DESTDIR, and wants
# an empty tree after uninstall.  Before that: `make run` and `make check` say that they
# build.
set -eu

: "${BUILD:?}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
prefix=/opt/moot
at=$root$prefix
quietly="make -s --no-print-directory BUILD=$BUILD PROFILE= DESTDIR=$root PREFIX=$prefix"

# Both say what keeps them from running at once; there is no such compiler.
for goal in run check; do
    first=$(make --no-print-directory $goal BUILD="$root/none" CC=false JOBS=1 TESTS=unit 2>&1 |
        head -n 1)
    case $first in
    "building in $root/none/"*) rm -rf "$root/none" ;;
    *)
        echo "make $goal begins with: $first"
        exit 1
        ;;
    esac
done

made=$(stat -c %y "$BUILD/libmoot.so.0")
$quietly install CFLAGS=-DOTHER
[ "$(stat -c %y "$BUILD/libmoot.so.0")" = "$made" ] || {
    echo "make install builds what is there anew"
    exit 1
}

for file in bin/moot lib/libmoot.a include/moot.h include/moot_queue.h include/moot_stream.h include/moot_transport.h share/man/man3/moot_task_fetch.3 \
    share/bash-completion/completions/moot share/zsh/site-functions/_moot \
    share/doc/moot/examples/burma14.tsp share/doc/moot/examples/moot.sbatch libexec/moot/examples/tsp; do
    [ -s "$at/$file" ] || {
        echo "not installed: $file"
        exit 1
    }
done
if [ -f "$BUILD/wires/ucx.so" ]; then
    "$at/bin/moot" info | grep -q '^transport ucx: UCX ' || {
        echo "the installed command does not find the installed ucx.so"
        exit 1
    }
fi
[ "$(readlink "$at/lib/libmoot.so.0")" = libmoot.so.0.1.0 ]
for page in "$at"/share/man/man*/*; do
    mandoc -T lint -W error "$page" >/dev/null
done

documents=$(grep -rh -B1 '^in the documentation folder' "$at/share/man" | sed -n 's/^\.Pa //p')
[ -n "$documents" ]
for document in $documents; do
    [ -s "$at/share/doc/moot/$document" ] || {
        echo "a manual page tells of $document, which is not installed"
        exit 1
    }
done

export PKG_CONFIG_PATH="$at/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
[ "$(pkg-config --modversion moot)" = 0.1.0 ]
# shellcheck disable=SC2046 # flags are meant to split
gcc -std=c11 "$at/share/doc/moot/examples/conditional.c" -o "$root/conditional" \
    $(pkg-config --cflags --libs moot) -Wl,-rpath,"$at/lib" ${SANITIZE:+-fsanitize=$SANITIZE}
timeout 60 "$at/bin/moot" run -n 2 "$root/conditional" | grep -q 'the sum is 140'
# C++ takes the header as it stands.
# shellcheck disable=SC2046 # flags are meant to split
clang++ -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++ - \
    $(pkg-config --cflags moot) <<'END'
#include <moot.h>
int run(moot *m, moot_kernel_id kernel, int rank)
{
    moot_task_spec spec = {};
    moot_task task;
    moot_task_info info;
    spec.kernel = kernel;
    spec.owner = MOOT_ON(rank);
    const int code = moot_task_spawn(m, &spec, &task);
    return code == MOOT_OK ? moot_task_info(m, task, &info) : code;
}
END
timeout 60 "$at/bin/moot" run -n 2 tsp "$at/share/doc/moot/examples/burma14.tsp" |
    grep -q '^optimum 3323'

rm "$root/conditional"
$quietly uninstall

# Without root, somewhere at home: what is built as the README says runs as it is.
home="make -s --no-print-directory BUILD=$BUILD PROFILE= PREFIX=$root/home"
$home install
unset PKG_CONFIG_SYSROOT_DIR
export PKG_CONFIG_PATH="$root/home/lib/pkgconfig"
# shellcheck disable=SC2046 # flags are meant to split
mpicc "$root/home/share/doc/moot/examples/conditional.c" $(pkg-config --cflags --libs moot) \
    -o "$root/conditional" ${SANITIZE:+-fsanitize=$SANITIZE}
env -u LD_LIBRARY_PATH timeout 60 "$root/home/bin/moot" run -n 2 "$root/conditional" |
    grep -q 'the sum is 140'
# A launcher of one's own, of the installed header alone.
# shellcheck disable=SC2046 # flags are meant to split
${CC:-gcc} -shared -fPIC "$root/home/share/doc/moot/examples/launcher_exec.c" \
    $(pkg-config --cflags moot) -o "$root/own.so"
env -u LD_LIBRARY_PATH "$root/home/bin/moot" check-launcher "$root/own.so" --hosts a,b |
    grep -qx '16 ok, 0 failed'
rm "$root/conditional" "$root/own.so"
$home uninstall
make -s --no-print-directory BUILD="$BUILD" PROFILE= DESTDIR="$root" PREFIX=/usr install
if grep rpath "$root/usr/lib/pkgconfig/moot.pc"; then
    echo "a program need not say where the loader looks anyway"
    exit 1
fi
make -s --no-print-directory BUILD="$BUILD" PROFILE= DESTDIR="$root" PREFIX=/usr uninstall

left=$(find "$root" ! -type d)
[ -z "$left" ] || {
    echo "left behind: $left"
    exit 1
}
