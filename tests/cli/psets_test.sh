#!/bin/sh
# psets_test.sh - process sets that programs define and delete (moot_pset_define): alike on
# all ranks of a session, over every launcher and wire, along trees, with deaths; events of
# them, by host, too; tasks whose candidates are a set; and what is refused.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
export TMPDIR="$scratch"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
psets=$build/tests/mpi/psets

run() {
    timeout -k 5 120 "$build/moot" run "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code" [ $code = 0 ]
}
# sets SESSION: what its ranks have printed, without their names, and how many of them
sets() { sed -n "s/^set $1 [^ ]* //p" "$evidence" | sort | uniq -c | sed 's/^ *//'; }
# events PROCESS: those that it was told of, in their order
events() { sed -n "s/^event $1: //p" "$evidence" | sed 's/ $//'; }
same() { [ "$(cat "$1")" = "$(cat "$2")" ]; }

# here HOST: the sets and events of four ranks of one host; apart: of two, a and b
here() {
    cat >"$scratch/2" <<END
4 2 moot://all_1 a_0=0 a_1=1 a_2=2 a_3=3 valid
4 3 moot://host/$1_1 a_0=0 a_1=1 a_2=2 a_3=3 valid
4 4 app://even a_0=0 a_2=2 valid
4 5 app://one a_1=1 valid
4 6 app://both a_0=0 a_1=1 valid
END
    cat >"$scratch/3" <<END
3 2 moot://all_1 a_0=0 a_1=1 a_2=2 a_3=3 invalid
3 3 moot://host/$1_1 a_0=0 a_1=1 a_2=2 a_3=3 invalid
3 4 app://even a_0=0 a_2=2 invalid
3 5 app://one a_1=1 invalid
3 6 app://both a_0=0 a_1=1 valid
3 7 moot://all_2 a_0=0 a_1=1 a_3=2 valid
3 8 moot://host/$1_2 a_0=0 a_1=1 a_3=2 valid
END
    cat >"$scratch/told" <<END
defined app://even
defined app://one
defined app://both
invalid moot://all_1 a_2 is gone
invalid moot://host/$1_1 a_2 is gone
invalid app://even a_2 is gone
defined moot://all_2
defined moot://host/$1_2
deleted app://one
END
}
apart() {
    cat >"$scratch/2" <<'END'
4 2 moot://all_1 a_0=0 a_1=1 a_2=2 a_3=3 valid
4 3 moot://host/a_1 a_0=0 a_1=1 valid
4 4 moot://host/b_1 a_2=2 a_3=3 valid
4 5 app://even a_0=0 a_2=2 valid
4 6 app://one a_1=1 valid
4 7 app://both a_0=0 a_1=1 valid
END
    cat >"$scratch/3" <<'END'
3 2 moot://all_1 a_0=0 a_1=1 a_2=2 a_3=3 invalid
3 3 moot://host/a_1 a_0=0 a_1=1 valid
3 4 moot://host/b_1 a_2=2 a_3=3 invalid
3 5 app://even a_0=0 a_2=2 invalid
3 6 app://one a_1=1 invalid
3 7 app://both a_0=0 a_1=1 valid
3 8 moot://all_2 a_0=0 a_1=1 a_3=2 valid
3 9 moot://host/b_2 a_3=2 valid
END
    cat >"$scratch/told" <<'END'
defined app://even
defined app://one
defined app://both
invalid moot://all_1 a_2 is gone
invalid moot://host/b_1 a_2 is gone
invalid app://even a_2 is gone
defined moot://all_2
defined moot://host/b_2
deleted app://one
END
}
# four NAME WORD...: four ranks, of which one goes
four() {
    name=$1
    shift
    run -n 4 "$@" "$psets" go
    for session in 2 3; do
        sets $session >"$scratch/now"
        check "$name" "the sets of session $session are others" same "$scratch/$session" "$scratch/now"
    done
    for process in a_0 a_1 a_3; do
        events $process >"$scratch/now"
        check "$name" "$process is told otherwise" same "$scratch/told" "$scratch/now"
    done
    check "$name" "the one whose definition lost is not told" \
        [ "$(grep -c 'refused app://both another rank' "$evidence")" = 1 ]
    check "$name" "it is not a_2" says '^event a_2: refused app://both'
}
here "$(uname -n)"
four local --launcher local
four mpirun --launcher mpirun
four tcp --launcher local --transport tcp
MOOT_DIRECT_MAX=2 four "along trees" --launcher local
MOOT_THREADS=2 four "beside workers" --launcher local
apart
four "between hosts" --launcher "$build/examples/launcher_exec.so" --hosts a:2,b:2

# One comes to host a, and one of host a goes: b's set stays, and is the same for who came.
name="hosts, as ranks come and go"
cat >"$scratch/1" <<'END'
3 2 moot://all_1 a_0=0 a_1=1 a_2=2 valid
3 3 moot://host/a_1 a_0=0 a_1=1 valid
3 4 moot://host/b_1 a_2=2 valid
END
cat >"$scratch/2" <<'END'
4 2 moot://all_1 a_0=0 a_1=1 a_2=2 valid
4 3 moot://host/a_1 a_0=0 a_1=1 valid
4 4 moot://host/b_1 a_2=2 valid
4 5 moot://all_2 a_0=0 a_1=1 a_2=2 b_0=3 valid
4 6 moot://host/a_2 a_0=0 a_1=1 b_0=3 valid
END
cat >"$scratch/3" <<'END'
3 2 moot://all_1 a_0=0 a_1=1 a_2=2 invalid
3 3 moot://host/a_1 a_0=0 a_1=1 invalid
3 4 moot://host/b_1 a_2=2 valid
3 5 moot://all_2 a_0=0 a_1=1 a_2=2 b_0=3 invalid
3 6 moot://host/a_2 a_0=0 a_1=1 b_0=3 invalid
3 7 moot://all_3 a_1=0 a_2=1 b_0=2 valid
3 8 moot://host/a_3 a_1=0 b_0=2 valid
END
run --launcher "$build/examples/launcher_exec.so" --hosts a:2,b:1 --max 6 "$psets" grow
for session in 1 2 3; do
    sets $session >"$scratch/now"
    check "$name" "the sets of session $session are others" same "$scratch/$session" "$scratch/now"
done

# A word for a host may be any: it is not cut to what a set's name may have by others.
name="odd names of hosts"
run -n 1 --launcher "$build/examples/launcher_exec.so" --hosts "rack/1_2" "$psets" grow
check "$name" "they are otherwise: $(grep -o 'moot://host[^ ]*' "$evidence" | sort -u | tr '\n' ' ')" \
    says '^set 1 a_0: 3 moot://host/rack_1_2_1 a_0=0 valid$'

# A rank that is killed at the boundary takes its sets with it, or all have them.
for point in view.propose#1 task.start#3 result.sent#8; do
    name="killed at $point"
    timeout -k 5 120 "$build/moot" run -n 5 --launcher local --faults "kill:r1@$point" \
        "$psets" go >"$evidence" 2>&1 </dev/null
    for session in 2 3; do
        sets $session | cut -d ' ' -f 2- | sort | uniq -d >"$scratch/twice"
        check "$name" "ranks of session $session differ" \
            [ "$(sets $session | awk '{ n[$2]++ } END { for (i in n) if (n[i] > 1) print i }')" = '' ]
    done
    check "$name" "something is wrong" no says 'psets: a_'
done

name="wrong calls"
run -n 2 --launcher local "$psets" wrong
check "$name" "not each is refused" [ "$(grep -c '^wrong: .*MOOT_ERR_INVALID' "$evidence")" = 44 ]
check "$name" "it is not said that there is no such set" \
    says 'no process set "app://x" in this session'
check_end
