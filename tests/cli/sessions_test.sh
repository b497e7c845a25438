#!/bin/sh
# sessions_test.sh - sessions of a program between which ranks go (moot_session_next): over
# the wires of one host and between hosts, the lowest, several at once, all but one, and one
# that is killed at the boundary.
#
# In each session ranks are 0 to size - 1 and have the same process sets, which stand below;
# nothing is lost and nothing runs twice.  Finds the programs in $BUILD; run from the top of
# the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
export TMPDIR="$scratch"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
sessions=$build/tests/mpi/sessions

# run STATUS WORD...: moot run with these words, to its end
run() {
    wanted=$1
    shift
    timeout -k 5 120 "$build/moot" run "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code, not $wanted" [ $code = "$wanted" ]
}
ran() { awk '$1 == "sessions:" && $7 == "ran" { sum += $8 } END { print sum + 0 }' "$evidence"; }
# sets SESSION: what its ranks have printed of their sets, without their names
sets() { sed -n "s/^set $1 [^ ]* //p" "$evidence" | grep -v -e '^mpi://SELF' -e '^moot://host/' | sort | uniq -c; }
# alike SESSION RANKS: all of them have printed the same
alike() { ! sets "$1" | awk -v ranks="$2" '$1 != ranks { bad = 1 } END { exit !bad }'; }
same() { [ "$(cat "$1")" = "$(cat "$2")" ]; }

# --- The tables ---------------------------------------------------------------------------
cat >"$scratch/golden" <<'END'
moot://all_1 a_0=0 a_1=1 a_2=2 a_3=3 a_4=4 a_5=5 a_6=6 a_7=7 valid
mpi://WORLD a_0=0 a_1=1 a_2=2 a_3=3 a_4=4 a_5=5 a_6=6 a_7=7 valid
moot://all_1 a_0=0 a_1=1 a_2=2 a_3=3 a_4=4 a_5=5 a_6=6 a_7=7 invalid
moot://all_2 a_0=0 a_1=1 a_2=2 a_3=3 a_4=4 a_5=5 a_7=6 valid
mpi://WORLD a_0=0 a_1=1 a_2=2 a_3=3 a_4=4 a_5=5 a_7=6 valid
END
name="eight, one goes"
run 0 -n 8 --launcher local "$sessions" 2 6@1
{ sets 1 && sets 2; } | sed 's/^ *[0-9]* //' >"$scratch/tables"
check "$name" "the sets are others" same "$scratch/golden" "$scratch/tables"
check "$name" "session 1 is not the same everywhere" alike 1 8
check "$name" "session 2 is not the same everywhere" alike 2 7
check "$name" "not each process has itself" \
    [ "$(grep -c '^set 2 \(a_[0-9]\): mpi://SELF \1=[0-6] valid$' "$evidence")" = 7 ]

# --- In good order ------------------------------------------------------------------------
# go NAME TASKS LEFT WORD... -- COUNT WHO@WHEN...: of 4 ranks
go() {
    name=$1 tasks=$2 left=$3
    shift 3
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # a word is a word
    run 0 -n 4 $words "$sessions" "$@"
    check "$name" "kernels ran: $(ran), not $tasks" [ "$(ran)" = "$tasks" ]
    check "$name" "the summary does not say who left" says "^  left +$left\$"
    check "$name" "a rank is said to be lost" no says 'died|removed|out of reach|lost [1-9]'
}
# Each session has 61 tasks and one for each of its ranks; each that goes has one; and there
# are two more.
for launcher in local mpirun; do
    go "one, $launcher" 196 '1 rank: 2' --launcher $launcher -- 3 2@1
    go "the lowest, $launcher" 196 '1 rank: 0' --launcher $launcher -- 3 0@1
done
go "one after the other" 196 '2 ranks: 0, 3' --launcher local -- 3 0@1 3@2
go "all but one" 132 '3 ranks: 0, 1, 3' --launcher local -- 2 0@1 1@1 3@1
go "by tcp" 196 '1 rank: 1' --launcher local --transport tcp -- 3 1@1
go "between hosts" 132 '2 ranks: 0, 3' --launcher "$build/examples/launcher_exec.so" \
    --hosts a:2,b:2 -- 2 0@1 3@1
MOOT_THREADS=2 go "beside workers" 196 '1 rank: 2' --launcher local -- 3 2@1
MOOT_DIRECT_MAX=2 go "along trees" 196 '1 rank: 1' --launcher local -- 3 1@1

# --- Killed at the boundary ---------------------------------------------------------------
# Process 2 is killed: where it would go, and where it would stay.  The others end well, and
# in their last session are ranks 0 and up.
for point in task.start#20 view.propose#1 report.sent#1 result.sent#30; do
    for goes in 0@1 2@1; do
        name="killed at $point, $goes"
        timeout -k 5 120 "$build/moot" run -n 4 --launcher local --faults "kill:r2@$point" \
            "$sessions" 3 $goes >"$evidence" 2>&1 </dev/null
        check "$name" "something is wrong" no says 'MOOT_ERR|is wrong|is none|another rank'
        check "$name" "1 and 3 have not stayed" \
            [ "$(grep -c '^sessions: a_[13] rank .* stays$' "$evidence")" = 2 ]
    done
done

# --- What cannot be, and what is odd ------------------------------------------------------
odd() {
    name=$1
    shift
    timeout -k 5 60 "$build/moot" run -n 3 --launcher local "$@" >"$evidence" 2>&1 </dev/null
}
odd strict MOOT_DIVERGENCE=strict "$build/tests/mpi/boundaries" leave
check strict "no session follows" [ "$(grep -c 'session 2 of 3: unchanged$' "$evidence")" = 3 ]
check strict "it is not refused" says 'moot_session_next: with MOOT_DIVERGENCE=strict every rank'
odd "at a barrier" "$build/tests/mpi/boundaries" barrier
check "$name" "not all three are told" \
    [ "$(grep -c 'MOOT_ERR_STATE moot_.*not all by the same call' "$evidence")" = 3 ]
odd "in a kernel" "$build/tests/mpi/boundaries" kernel
check "$name" "it is not refused" says 'in a kernel: MOOT_ERR_STATE moot_session_next inside'
odd "closed before" "$build/tests/mpi/boundaries" closed
check "$name" "the others have not gone on" [ "$(grep -c 'session 2 of 2: left$' "$evidence")" = 2 ]
for how in cut cut-leave; do
    odd "closed in the call, $how" "$build/tests/mpi/boundaries" $how
    check "$name" "its call is not cut" says 'boundaries: cut: MOOT_ERR_CLOSED'
    check "$name" "the others have not gone on" [ "$(grep -c 'session 2 of 2: left$' "$evidence")" = 2 ]
done
odd absent MOOT_STALL=1s "$build/tests/mpi/boundaries" absent
check "$name" "the stall report does not name it" \
    says 'rank 1 has not come to .*moot_session_next\(\) .*number 1'
check "$name" "the others have not gone on" \
    [ "$(grep -c 'session 2 of 3: unchanged$' "$evidence")" = 3 ]
odd "wrong calls" "$build/tests/mpi/boundaries" wrong
check "$name" "not all are refused" [ "$(grep -c 'MOOT_ERR_INVALID' "$evidence")" = 18 ]
check "$name" "no session follows" [ "$(grep -c 'session 2 of 3: unchanged, 4 sets' "$evidence")" = 3 ]
check_end
