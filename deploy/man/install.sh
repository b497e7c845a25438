#!/bin/sh
# install.sh [-u] MANDIR PAGE... - installs (-u: removes) manual pages.
#
# A page of section 3 describes a group of calls; each name that stands as .Nm in its
# NAME section becomes a link to it.
set -eu

remove=
[ "$1" != -u ] || {
    remove=1
    shift
}
mandir=$1
shift
for page in "$@"; do
    file=${page##*/}
    section=${file##*.}
    if [ -n "$remove" ]; then
        rm -f "$mandir/man$section/$file"
    else
        install -m 644 "$page" "$mandir/man$section/$file"
    fi
    awk '$1 == ".Sh" { names = $2 == "NAME" } names && $1 == ".Nm" { print $2 }' "$page" |
        while read -r name; do
            link=$mandir/man$section/$name.$section
            [ "$name.$section" != "$file" ] || continue
            if [ -n "$remove" ]; then
                rm -f "$link"
            else
                ln -sf "$file" "$link"
            fi
        done
done
