#!/bin/sh
# install_test.sh - what `make install` puts down works there, and uninstall takes it up.
#
# Installs BUILD under a DESTDIR, compiles a program with nothing but moot.pc, runs the
# installed command, reads the manual pages, and wants an empty tree after uninstall.
set -eu

: "${BUILD:?}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
prefix=/opt/moot
at=$root$prefix
quietly="make -s --no-print-directory BUILD=$BUILD DESTDIR=$root PREFIX=$prefix"

$quietly install

for file in bin/moot lib/libmoot.a include/moot.h include/moot_queue.h share/man/man3/moot_task_fetch.3 \
    share/bash-completion/completions/moot share/zsh/site-functions/_moot \
    share/doc/moot/examples/burma14.tsp libexec/moot/examples/tsp; do
    [ -s "$at/$file" ] || {
        echo "not installed: $file"
        exit 1
    }
done
[ "$(readlink "$at/lib/libmoot.so.0")" = libmoot.so.0.1.0 ]
for page in "$at"/share/man/man*/*; do
    mandoc -T lint -W error "$page" >/dev/null
done

export PKG_CONFIG_PATH="$at/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
[ "$(pkg-config --modversion moot)" = 0.1.0 ]
# shellcheck disable=SC2046 # flags are meant to split
gcc -std=c11 "$at/share/doc/moot/examples/conditional.c" -o "$root/conditional" \
    $(pkg-config --cflags --libs moot) -Wl,-rpath,"$at/lib" ${SANITIZE:+-fsanitize=$SANITIZE}
timeout 60 "$at/bin/moot" run -n 2 "$root/conditional" | grep -q 'the sum is 140'
timeout 60 "$at/bin/moot" run -n 2 tsp "$at/share/doc/moot/examples/burma14.tsp" |
    grep -q '^optimum 3323'

rm "$root/conditional"
$quietly uninstall
left=$(find "$root" ! -type d)
[ -z "$left" ] || {
    echo "left behind: $left"
    exit 1
}
