#!/bin/sh
# train_test.sh [whole] - with PROFILE=1 the library is compiled by counts of its work, or says
# that it is not; without it is compiled once.
#
# With programs that only pretend: what deploy/train.sh runs and leaves, how it fails.
# With a compiler that only pretends: what the Makefile counts, and when it does so anew,
# as it makes all anew if the flags have changed.
# Then, with the compiler that is there, whether a file is compiled by its counts, static
# functions included: they are looked up by a path, and a wrong one loses them without a
# word.
set -eu
: "${BUILD:?}"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/node/schedule"

# The launcher: counts, and fails or hangs where it is to.
cat >"$root/moot" <<'END'
#!/bin/sh
build=${0%/moot}
env | grep -e '^MOOT_' -e '^XDG_CONFIG_HOME=/home' >>"$build/knobs" || :
[ "${LD_LIBRARY_PATH%%:*}" = "$build" ] || echo "$LD_LIBRARY_PATH" >>"$build/knobs"
[ ! -f "$build/done" ] || echo "believed done" >>"$build/knobs"
[ -z "$(cat)" ] || echo "what it reads" >>"$build/knobs"
echo "$*" >>"$build/runs"
cut -d ' ' -f 5 /proc/$$/stat >>"$build/groups"
[ "$(cat "$build/fails")" = /counting ] || touch "$build/node/schedule/wait.gcda"
[ ! -d "$build/gen" ] || touch "$build/gen/moot.pb-c.gcda"
case "$*" in *"$(cat "$build/fails")"*) exit 1 ;; esac
END
chmod +x "$root/moot"

# train FAILS: with a launcher that fails for what has FAILS in its line
train() {
    rm -f "$root/knobs" "$root/runs" "$root/groups"
    echo "$1" >"$root/fails"
    echo read | MOOT_VOTERS=1 LD_LIBRARY_PATH=/opt XDG_CONFIG_HOME=/home/.config \
        deploy/train.sh "$root" >"$root/out" 2>"$root/err"
}
silent() { [ ! -s "$root/out" ] && [ ! -s "$root/err" ]; }
ran() { [ "$(grep -c -- "$2" "$root/runs")" -eq "$1" ]; }

evidence="$root/err $root/runs $root/knobs"
touch "$root/node/earlier.gcda"
check succeeds "train.sh fails" train nowhere
check earlier "counts of an earlier library are left" test ! -f "$root/node/earlier.gcda"
check quiet "it speaks where all went well" silent
check counts "the counts are gone" test -f "$root/node/schedule/wait.gcda"
check all "not all programs ran" ran 11 .
check ranks "a program ran on other than two ranks" ran 11 "^run -n 2 "
check knobs "the caller's knobs reached the programs" test ! -s "$root/knobs"
mine=$(cut -d ' ' -f 5 /proc/$$/stat)
check group "what interrupts it does not reach its programs" test "$(sort -u "$root/groups")" = "$mine"
for fails in trust voting tsp counting; do
    check "$fails-status" "train.sh fails where $fails does" train "/$fails"
    check "$fails-counts" "counts of a part are left" test ! -f "$root/node/schedule/wait.gcda"
    check "$fails-says" "it does not say why" \
        grep -q "^moot is compiled without counts, .*: see $root/train.log$" "$root/err"
done

# The compiler: says what it was told, and makes empty files, and that launcher.
cat >"$root/cc" <<END
#!/bin/sh
for word; do
    [ "\$before" != -o ] || out=\$word
    before=\$word
done
echo "\$*" >>"$root/told"
case \$out in
/dev/null) ;;
*/moot)
    cp "$root/moot" "\$out"
    cp "$root/fails" "\${out%/moot}"
    ;;
*) : >"\$out" ;;
esac
END
chmod +x "$root/cc"
built=$root/built

# pretend BUILD ARGUMENT...: two of the library's files are made
pretend() {
    : >"$root/told"
    at=$1
    shift
    env -u MAKEFLAGS make -s BUILD="$at" LTO= CC="$root/cc" ${profile+"PROFILE=$profile"} "$@" \
        "$at/node/schedule/wait.o" "$at/gen/moot.pb-c.o" >"$root/out" 2>&1
}
# Whether it was told so of the first.
told() { grep -- " -o ${2:-$built}/node/schedule/wait.o" "$root/told" | grep -q -- "$1"; }
made() { grep -qv -- " -o /dev/null " "$root/told"; }

evidence="$root/out"
once() { [ "$(grep -c -- '/node/schedule/wait.o$' "$root/told")" -eq 1 ] && told -fPIC "$root/once"; }
unset profile
pretend "$root/once" LTO=yes
check once "a plain make compiles a file twice" once
uncounted() { ! grep -q -- -fprofile "$root/told"; }
check uncounted "a plain make counts" uncounted
profile=1
echo nowhere >"$root/fails"
check pretends "nothing can be built" pretend "$built"
check beside "it does not find its counts" told "-fprofile-use .*-dumpdir $built/counted/node/schedule/ "
check generated "generated code does not find its counts" \
    grep -q -- "-fprofile-use .*-dumpdir $built/counted/gen/ .* -o $built/gen/moot.pb-c.o" "$root/told"
check counted "nothing was counted" told -fprofile-generate "$built/counted"
check early "done before all was counted" test ! -s "$built/counted/knobs"
check began "what changes meanwhile is not counted" test "$built/counted/libmoot.a" -nt "$built/counted/done"
pretend "$built"
check once "it is built again though nothing has changed" eval '! made'
pretend "$built" -W node/schedule/wait.h -n
check header "a header's change does not count" grep -q "^deploy/train.sh " "$root/out"
relative=$(realpath --relative-to=. "$root")/built
pretend "./$relative" -W node/schedule/wait.c -n
check dot "./ before BUILD loses the counts" grep -q -- "-dumpdir ./$relative/counted/node/schedule/ " "$root/out"
mv "$built" "$root/moved"
pretend "$root/moved" -W deploy/train.sh
check moved "what has moved counts elsewhere" told -fprofile-generate "$root/moved/counted"
echo tsp >"$root/fails"
rm -r "$root/moved"
pretend "$built"
plain() { told -fPIC && ! told -fprofile; }
check plain "it is compiled by counts that are none" plain

# Flags: after others both files are made, and no others then make none.
both() { told . && grep -q -- " -o $built/gen/moot.pb-c.o" "$root/told"; }
for flags in PROFILE= LTO=yes "CFLAGS=-DWORDS='a  b' -DTEXT=\"c\"" LDFLAGS=-Wl,-z,now DEVELOPER=1 SANITIZE=address; do
    pretend "$built" PROFILE= "$flags"
    check "$flags" "what is there stays" both
    pretend "$built" PROFILE= "$flags"
    check "$flags-again" "it is made again though nothing has changed" eval '! made'
done
pretend "$built" PROFILE= AS_IT_IS=1
check as-is "it does not stay as it is" eval '! made'
pretend "$built" PROFILE= -n
pretend "$built" PROFILE=
check dry "what would be made counts as made" both

# A build gives the same bytes each time, wherever BUILD lies.
for at in one other; do
    env -u MAKEFLAGS make -s BUILD="$root/$at" LTO= SANITIZE= CFLAGS= CC=gcc \
        "$root/$at/gen/moot.pb-c.o" "$root/$at/node/store/pool.o" >"$root/out" 2>&1 || :
done
for object in gen/moot.pb-c.o node/store/pool.o; do
    check "$object" "it differs from build to build" cmp "$root/one/$object" "$root/other/$object"
done

# The real one: a library that counts, the programs of train.sh, and one file by what they have
# shown.  Of that library the file's room alone is compiled to count, and the rest is taken from
# BUILD, and its graphs are few; with `whole`, all of it, which takes two minutes of
# a core (make soak).  Another compiler
# than gcc has no counts, and a sanitizer's build is not for speed.
evidence="$root/err $root/out $root/real/counted/train.log"
room=node/engine
# borrow: what BUILD has made of all other rooms is as made for the library that counts
borrow() {
    mkdir -p "$root/real/counted"
    realpath "$root/real/counted" >"$root/real/counted/begun"
    (cd "$BUILD" && find consensus hashing node proto tests/bench gen -path "$room/*" -prune -o \
        \( -name '*.o' -o -name '*.pb-c.[ch]' \) -print0) >"$root/borrowed"
    tar -C "$BUILD" --null -T "$root/borrowed" -cf - | tar -C "$root/real/counted" -xf -
}
if [ -z "${SANITIZE-}" ] && gcc --version | grep -q 'Free Software Foundation'; then
    source=$room/engine
    [ "${1-}" = whole ] || {
        borrow
        export TRAIN_GRAPHS='--pairs 1 --steps 12'
    }
    # BUILD's objects may hold what a linker optimises, too: their code is wanted.
    real() {
        env -u MAKEFLAGS make --no-print-directory BUILD="$root/real" PROFILE=1 LTO= DEVELOPER= SANITIZE= \
            CFLAGS= LDFLAGS=-fno-lto CC=gcc AS_IT_IS=1 "$@" "$root/real/$source.o"
    }
    real -s -j"$(nproc)" >"$root/out" 2>&1 || :
    check trained "the programs failed, or did not count" test -s "$root/real/counted/$source.gcda"
    compile=$(real -n -W "$source.c" -o "$root/real/counted/done" |
        grep -- "-c $source.c" | sed -e 's/ -w / /' -e 's/ -MMD.*//')
    # shellcheck disable=SC2086 # words are meant to split
    LC_ALL=C $compile -Wmissing-profile -c $source.c -o "$root/engine.o" 2>"$root/err" || :
    check compiles "$source.c is not compiled" test -s "$root/engine.o"
    missing() { ! grep -q -e 'file not found' -e "function '$1' not found" "$root/err"; }
    check used "$source.c was compiled without its counts" missing engine_step
    check static "static functions do not find their counts" missing step_one
else
    echo "not gcc, or a sanitizer's build: that counts are used is not checked"
fi
check_end
