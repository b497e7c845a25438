#!/bin/sh
# snapshot_mutants.sh BUILD [NAME...] - breaks rules of snapshots that the core leaves to
# disks (PROTOCOL.md, S4); the test that stands beside each must see it.
#
# A mutant is a line of the table: its name, a file, the test, and a sed command that breaks
# one rule in the file.  A command that changes nothing is a failure: the code has moved on,
# and the line has not.  The unbroken file, compiled in the same way, must pass first.
#
# Compiles the file alone and links it before the libraries of BUILD, which `make tests` has
# made.  Prints what saw each, and "N passed, N failed".
set -u

build=$(cd "${1:?usage: snapshot_mutants.sh BUILD [NAME...]}" && pwd)
shift
only=" $* "
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# passes FILE TEST: 0 the test passes with it, 1 it does not, 2 it cannot be made
passes() {
    # shellcheck disable=SC2086 # the compiler may be several words
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O0 -w -I. -I"$build/gen" -c "$1" \
        -o "$scratch/broken.o" &&
        mpicc -pthread -Wl,-S -o "$scratch/test" "$build/tests/unit/$2.o" "$scratch/broken.o" \
            "$build/libmoottools.a" "$build/libmootsim.a" "$build/libmoot.a" -lcmocka \
            -lprotobuf-c -lsodium -llmdb -lxxhash -lm || return 2
    timeout 60 "$scratch/test" >"$scratch/out" 2>&1 && return 0
    return 1
}
# show WORDS: a mutant that does not do as it should
show() {
    failed=$((failed + 1))
    echo "FAIL  $name: $*"
}
# mutant NAME FILE TEST COMMAND
mutant() {
    name=$1
    case $only in "  " | *" $name "*) ;; *) return ;; esac
    sed -e "$4" "$2" >"$scratch/broken.c"
    if cmp -s "$2" "$scratch/broken.c"; then
        show "the command changes nothing in $2"
        return
    elif ! passes "$2" "$3"; then
        show "$3 does not pass with $2 as it is"
        return
    fi
    passes "$scratch/broken.c" "$3"
    case $? in
    0) show "$3 does not see it" ;;
    1)
        passed=$((passed + 1))
        echo "ok    $name: $3: $(sed -n 's/^\[  FAILED  \] \([a-z_]*\)$/\1/p' "$scratch/out" | sort -u | paste -sd' ')"
        ;;
    *) show "it does not compile" ;;
    esac
}

# A commit takes in who began to store after the coordinator's cut: where disks write it, and
# where the checker of storms says what they hold.
mutant COMMITREST node/diskstore/disk_jobs.c disk_snapshot_test \
    's/!disk_names_has(&store->cut_names, each->name)/false/'
mutant COMMITRESTSEEN consensus/sim/checks/snapshot_checker.c snapshot_checker_test \
    's/rankset_has(&first->writers, rank)/true/'
# The commit takes in nothing of those who are no members.
mutant COMMITALONE node/diskstore/disk_jobs.c disk_snapshot_test \
    's/good = is_members(members, each->name) ||/good = true ||/'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
