#!/bin/sh
# builds_test.sh - programs of one job that have other builds of a kernel.
#
# Another build is the same program with another build id in it, so that a task does the
# same everywhere.  Both sides say so once, the summary counts it, and with
# MOOT_KERNEL_BY_BUILD=1 both refuse; a program without a build id is not compared, and
# nothing is said of programs with different kernels.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_KERNEL_BY_BUILD
export TMPDIR="$scratch" OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
one=$build/tests/mpi/builds other=$scratch/other none=$scratch/none
note=.note.gnu.build-id

objcopy --dump-section $note="$scratch/note" "$one" "$scratch/copy"
{
    head -c 16 "$scratch/note"
    printf '\001\002\003\004\005\006\007\010'
    tail -c +25 "$scratch/note"
} >"$scratch/note.other"
objcopy --update-section $note="$scratch/note.other" "$one" "$other"
objcopy --remove-section $note "$one" "$none"

# mpmd PROGRAM [NAME] [: PROGRAM [NAME]]...: one rank each
mpmd() {
    timeout -k 5 120 mpirun -n 1 "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code" [ $code = 0 ]
}
count() { grep -cE -e "$1" "$evidence"; }

name="the same program twice"
mpmd "$one" : -n 1 "$one"
check "$name" "a build was told of" [ "$(count 'of build|[1-9] rebuilt')" = 0 ]

name="two builds"
mpmd "$one" : -n 1 "$other" : -n 1 "$one"
check "$name" "rank 1 is not told" \
    says "rank 1 .*: kernel 'shared' here is of build 01020304\.\.\., and on rank [02] \([^)]+\) of"
check "$name" "rank 0 is not told" says 'rank 0 .* on rank 1 \([^)]+\) of build 01020304'
check "$name" "rank 2 is not told" says 'rank 2 .* on rank 1 \([^)]+\) of build 01020304'
check "$name" "it is not said once" [ "$(count 'here is of build')" = 3 ]
check "$name" "figures" [ "$(count ': 1 rebuilt, MOOT_OK')" = 3 ]

name="two builds that count"
export MOOT_KERNEL_BY_BUILD=1
mpmd "$one" : -n 1 "$other"
check "$name" "they go on" [ "$(count ': 1 rebuilt, MOOT_ERR_KERNEL_MISMATCH')" = 2 ]
check "$name" "the builds are not named" says 'flags none, build 01020304'
unset MOOT_KERNEL_BY_BUILD

name="no build id"
mpmd "$one" : -n 1 "$none"
check "$name" "a build was told of" [ "$(count 'of build|[1-9] rebuilt')" = 0 ]

# A kernel that the others lack is run by the rank that has it, so each is used alone.
name="different kernels"
mpmd "$one" first : -n 1 "$other" first : -n 1 "$one" second
check "$name" "the kernel in one of them was told of" \
    [ "$(count "kernel 'second' here")" = 0 ]

# A build is that of the object that has the kernel: of a library that two programs load
# there is one, and of two libraries there are two, whichever program loads them.
cat >"$scratch/through.c" <<'END'
typedef int kernel(void *call, void *user);
int through(void *call, void *user) { return (*(kernel *const *)user)(call, 0); }
END
${CC:-cc} -shared -fPIC -Wl,--build-id "$scratch/through.c" -o "$scratch/through.so"
${CC:-cc} -shared -fPIC -Wl,--build-id -DOTHER=1 -g "$scratch/through.c" -o "$scratch/again.so"
name="one library in two programs"
mpmd "$one" lib "$scratch/through.so" : -n 1 "$other" lib "$scratch/through.so"
check "$name" "a build was told of" [ "$(count 'of build|[1-9] rebuilt')" = 0 ]
check "$name" "it did not run" [ "$(count ': 0 rebuilt, MOOT_OK')" = 2 ]
name="two libraries in one program"
mpmd "$one" lib "$scratch/through.so" : -n 1 "$one" lib "$scratch/again.so"
check "$name" "figures" [ "$(count ': 1 rebuilt, MOOT_OK')" = 2 ]

name="the summary"
cat >"$scratch/either" <<END
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" != 1 ] || exec "$other"
exec "$one"
END
chmod +x "$scratch/either"
timeout -k 5 120 "$build/moot" run -n 2 "$scratch/either" >"$evidence" 2>&1 </dev/null
check "$name" "it has no line of them" says '^  other builds   2 kernels'

check_end
