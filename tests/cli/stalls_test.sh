#!/bin/sh
# stalls_test.sh - ranks stand still, and the report names the reason.
#
# A row is a case of tests/mpi/stalls.c, or of tests/mpi/array_stalls.c (array-...), the number of ranks, what `moot run` is given
# (a fault plan, knobs), and what the first report must say, each pattern on a line of
# its own.  The cause stands in brackets: the row fails if another one is named, too,
# that the row does not.  What waited must have ended well when the reason was gone.
#
#   stalls_test.sh [CASE...]     all of them, or the rows of those cases
#   stalls_test.sh full          all of them, by mpirun: else every second is started by the launcher
#                                local
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
export TMPDIR="$scratch"
passed=0 failed=0 turn=0 all=''
[ "${1-}" != full ] || {
    all=1
    shift
}
only=" $* "

complain() {
    bad=1
    echo "FAIL $case: $*"
}

# row CASE RANKS STATUS CAUSES OPTIONS <PATTERNS
row() {
    case=$1 ranks=$2 status=$3 causes=$4 bad=0
    shift 4
    cat >"$scratch/patterns"
    case $only in "  " | *" $case "*) ;; *) return ;; esac
    turn=$((turn + 1)) local=''
    [ -n "$all" ] || [ $((turn % 2)) -eq 0 ] || local='--launcher local'
    program=stalls
    case $case in array-*) program=array_stalls ;; esac
    # Options, and then settings, and then the program: words are meant to split.
    # shellcheck disable=SC2048,SC2086
    MOOT_STALL=900ms timeout -k 5 60 "$build/moot" run -n "$ranks" $local $* \
        "$build/tests/mpi/$program" "$case" >"$scratch/out" 2>&1 </dev/null
    code=$?
    [ "$code" -eq "$status" ] || complain "exit $code, not $status"
    # A rank that ends because of that may look as if it had died.
    ! grep -E '^rank [0-9]+: .* gave ' "$scratch/out" || complain "a rank did not end well"
    # The first report: from its head to the next line that is not part of it.
    awk '/^moot: .*report after/ { if (seen++) exit; on = 1; print; next }
         on && /^  / { print; next }
         on { exit }' "$scratch/out" >"$scratch/report"
    # And what ranks that wait for nothing say of themselves.
    awk '/^moot: rank [0-9]+ of [0-9]+( keeps others| has been parked|: task)/ { on = 1; print; next }
         on && /^  / { print; next }
         { on = 0 }' "$scratch/out" >>"$scratch/report"
    while IFS= read -r pattern; do
        grep -qE -e "$pattern" "$scratch/report" || complain "no line with /$pattern/"
    done <"$scratch/patterns"
    named=$(sed -n 's/^  cause [0-9]* of [0-9]* \[\([a-z]*\)\].*/\1/p' "$scratch/report" |
        tr '\n' ' ' | sed 's/ $//')
    [ "$named" = "$causes" ] || complain "the causes are '$named', not '$causes'"
    if [ "$bad" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        sed 's/^/     /' "$scratch/out"
    fi
}

# A cycle of waits, which the moot cannot end while rank 2 is in its own code.
row cycle 3 0 cycle <<'END'
\[cycle\]: a cycle of waits: 2 tasks wait for each other
chain: task [0-9a-f]{8} of kernel 'work' 'first' \(.*stalls\.c:[0-9]+\) on rank 0
waits for task [0-9a-f]{8} of kernel 'work' 'second' \(.*stalls\.c:[0-9]+\) on rank 1
MOOT_ERR_CYCLE once all ranks rest; rank 2 does not
keeps ranks 0-1 waiting
END

# An undecided vote, and what it lacks.
row undecided 3 0 undecided <<'END'
\[undecided\]: nobody owns task [0-9a-f]{8} of kernel 'work' 'wanted' .*, and the vote lacks evidence that its chair, rank 2, will not spawn it
rank 2.*in the program's own code for .*last spawn at .*stalls\.c:[0-9]+
next: .*moot_park\(\)
ranks 0-1 wait for task [0-9a-f]{8} of kernel 'work' 'wanted' .*in 2 waits
END

# The same of many tasks is one cause and one line, and what is left out is counted.
row many 3 0 undecided <<'END'
cause 1 of 1 \[undecided\]: nobody owns task [0-9a-f]{8} of kernel 'work' 'of many' .* and at least 63 others, and the vote lacks evidence that their chair, rank 2, will not spawn them
keeps ranks 0-1 waiting, .*, in 128 waits
ranks 0-1 wait for task [0-9a-f]{8} of kernel 'work' 'of many' .* and 63 others like it, .*, in 128 waits
\.\.\. and [0-9]+ more waits of ranks 0-1, not looked into: a rank tells of 64 tasks
END

# A dead holder, without whom the others have no majority as long as rank 2 is stopped.
row dead 3 0 dead --faults kill:r1@400ms,pause:r2@300ms+2600ms <<'END'
\[dead\]: rank 1, which is to act, has died \(its end was seen .* ago\).*because rank 2 gives no answer
rank 1: has died of signal 9 .* in kernel .work.*; last heard of .* ago: .*waiting for task [0-9a-f]{8} of kernel 'work' 'orphan'
rank 2: no answer for .*is stopped
END

# A slow holder.
row slow 3 0 slow <<'END'
\[slow\]: task [0-9a-f]{8} of kernel 'work' 'long' \(.*stalls\.c:[0-9]+\) runs on rank 1, for
keeps ranks 0-2 waiting
END

# Kernels that do not return on all ranks, each of which computes: after six times MOOT_STALL.
row endless 3 0 'slow slow slow' MOOT_STALL=200ms <<'END'
\[slow\]: task [0-9a-f]{8} of kernel 'work' 'endless' \(.*stalls\.c:[0-9]+\) runs on rank 0, for [12]\.[0-9]+ s; the longest run of its kernel that has ended there took
\[slow\]: task [0-9a-f]{8} of kernel 'work' 'endless' \(.*stalls\.c:[0-9]+\) runs on rank 2, for [12]\.
next: it may never return: look at its kernel \(gdb -p [0-9]+ there\)
keeps ranks 0-2 waiting
END

# A lost message: the result is there, and does not arrive.
row lost 2 0 lost --faults drop:1/result/r1-r0@0s+2600ms <<'END'
\[lost\]: messages from rank 1 to rank 0 are lost: [0-9]+ frames? not acknowledged, sent again [0-9]+ times; the fault plan drop:1/result/r1-r0@0s\+2600ms has struck there [0-9]+ times
owner: rank 1, where it is done
keeps rank 0 waiting
END

# A rank that does not drive progress: without a helper thread, and stopped.
row silent 2 0 silent MOOT_PROGRESS=caller <<'END'
\[silent\]: rank 1 does not drive progress: .*gives no answer.*process [0-9]+ sleeps in code that moot cannot see
next: .*MOOT_PROGRESS
END
# Slow in other ways: behind another kernel, in a child's, and resting after a failure.
row behind 2 0 slow <<'END'
\[slow\]: task [0-9a-f]{8} of kernel 'work' 'behind' .* is ready on rank 1, behind a kernel that runs there: task [0-9a-f]{8} of kernel 'work' 'before'
END
row nested 2 0 slow <<'END'
\[slow\]: task [0-9a-f]{8} of kernel 'work' 'child' .* runs on rank 1, for
chain: task [0-9a-f]{8} of kernel 'parent' 'parent' \(.*stalls\.c:[0-9]+\) on rank 1
END
row resting 2 0 slow <<'END'
\[slow\]: task [0-9a-f]{8} of kernel 'frail' 'frail' .* has failed on rank 1, and will be tried again
next: see \.retries and \.retry_backoff of its kernel
END

# A motion is lost: its chair has never been asked.
row motion 2 0 lost --faults drop:1/MOTION/r0-r1@0s+2600ms <<'END'
\[lost\]: messages from rank 0 to rank 1 are lost
keeps rank 0 waiting
END

row slow 2 0 silent --faults pause:r1@300ms+2600ms <<'END'
\[silent\]: rank 1 does not drive progress: .*last heard of .* ago; its process [0-9]+ is stopped
next: kill -CONT [0-9]+
END

# A task that nobody holds, named by its hash on one rank and by its spec on another.
row nobody 3 0 nobody <<'END'
\[nobody\]: no rank holds task [0-9a-f]{8} of kernel 'work' 'wanted': .*rank 2 may yet spawn it
MOOT_ERR_NOT_HELD once all ranks rest; rank 2 does not
held by: nobody
keeps ranks 0-1 waiting
END

# The same beside a parked rank, which says so itself, too; the advice is for one that is parked.
row parked 2 0 nobody <<'END'
\[nobody\]: no rank holds task [0-9a-f]{8}: .*rank 0 may yet spawn it
MOOT_ERR_NOT_HELD once all ranks rest; rank 0 does not \(lane 0 parked for .*\), since a parked program may go on.*moot_barrier\(\)
^moot: rank 0 of 2 keeps others waiting: lane 0 parked for
^  cause \[nobody\]: no rank holds
END

# Without a helper thread nobody serves where a program is parked.
row parked 2 0 nobody MOOT_PROGRESS=caller <<'END'
^moot: rank 0 of 2 has been parked for .*, and nobody here serves other ranks meanwhile
next: moot_mpi_wait\(\) serves them
END
row endless 2 0 '' MOOT_STALL=200ms MOOT_PROGRESS=caller <<'END'
^moot: rank [01] of 2: task [0-9a-f]{8} of kernel 'work' 'endless' \(.*stalls\.c:[0-9]+\) has run for [12]\.[0-9]+ s, and nobody here serves
next: it may never return
END

# One that only ranks hold that may not own it.
row barred 3 0 nobody <<'END'
\[nobody\]: no candidate of task [0-9a-f]{8} of kernel 'work' 'of rank 1' \(.*stalls\.c:[0-9]+\) has spawned it: ranks 0,2, which hold it, are none, and its chair, rank 1, lacks it; only rank 1 may own it$
held by: ranks 0,2, which are no candidates; candidate: rank 1$
next: spawn it on a candidate, .*MOOT_ERR_NOT_HELD once all ranks rest; rank 1 does not
keeps ranks 0,2 waiting
END

# What a rank that died alone held; its survivors' error names it, too.
row orphaned 3 0 nobody --faults kill:r1@400ms <<'END'
\[nobody\]: no rank holds task [0-9a-f]{8}: .*, or rank 2 may yet spawn it, or rank 1, which died or were voted out, held it
MOOT_ERR_NOT_HELD once all ranks rest; rank 2 does not
keeps rank 0 waiting
END

# Combinations: a chain over ranks to a vote, two causes at once, voters that are stopped.
row chain 4 0 undecided <<'END'
the vote lacks evidence that its chair, rank 3, will not spawn it
chain: task [0-9a-f]{8} of kernel 'work' 'three' \(.*stalls\.c:[0-9]+\) on rank [0-2]
waits for task [0-9a-f]{8} of kernel 'work' 'two' \(.*stalls\.c:[0-9]+\) on rank [0-2]
waits for task [0-9a-f]{8} of kernel 'work' 'one' \(.*stalls\.c:[0-9]+\) on rank 3
keeps ranks 0-2 waiting
END
row two 4 0 'cycle slow' <<'END'
cause 1 of 2 \[cycle\]: a cycle of waits: 2 tasks
cause 2 of 2 \[slow\]: task [0-9a-f]{8} of kernel 'work' 'long' .* runs on rank 3
keeps ranks 0-1 waiting
keeps ranks 2-3 waiting
END
row both 4 0 'silent slow' --faults pause:r1@300ms+2600ms <<'END'
cause 1 of 2 \[silent\]: rank 1 does not drive progress: .*process [0-9]+ is stopped
cause 2 of 2 \[slow\]: task [0-9a-f]{8} of kernel 'work' 'long' .* runs on rank 3
keeps rank 0 waiting
keeps ranks 2-3 waiting
END
row voters 3 0 silent --faults pause:r1-2@200ms+2600ms <<'END'
\[silent\]: rank 1 does not drive progress
the vote lacks the acceptance of ranks 1-2
END

# A once task may not start without a lease, and the grants of it are lost.
row lease 3 0 lease --faults drop:1/GRANT/r1-2-to-r0@0s+4s <<'END'
\[lease\]: task [0-9a-f]{8} of kernel 'oath' 'sworn' .* is a once task, and its owner, rank 0, has no lease
END

# And three that are none of these.
row away 2 0 away <<'END'
\[away\]: task [0-9a-f]{8} of kernel 'work' 'ready' .* is ready on rank 1, where no thread runs tasks \(0 workers
next: MOOT_THREADS=1
END
row close 3 0 open <<'END'
\[open\]: rank 1 has not closed the moot \(.*in the program's own code
keeps ranks 0,2 waiting
END
row meeting 3 0 absent <<'END'
\[absent\]: rank 1 has not come to moot_barrier\(\), moot_scope_tasks\(\), moot_session_next\(\) or moot_checkpoint_reload\(\) number 1
keeps ranks 0,2 waiting
where all ranks meet \(number 1\)
END
# In a reload: for a kernel of rank 1, and for rank 1, which has not come.
row reload-kernel 3 0 slow --checkpoint "$scratch/c1" <<'END'
\[slow\]: task [0-9a-f]{8} of kernel 'work' 'long' .* runs on rank 1, for [0-9.]+ m?s, and moot_checkpoint_reload\(\) waits for it; it has been told so \(moot_call_cancelled\)
keeps ranks 0-2 waiting
in moot_checkpoint_reload\(\) for [0-9.]+ m?s, while a kernel runs
END
row reload-late 3 0 absent --checkpoint "$scratch/c2" <<'END'
\[absent\]: rank 1 has not come to moot_checkpoint_reload\(\) number [0-9]+ \(
keeps ranks 0,2 waiting
END
row session 3 0 absent <<'END'
\[absent\]: rank 1 has not come to .*moot_session_next\(\) .*number 1
keeps ranks 0,2 waiting
END
row trust 3 1 undecided MOOT_DIVERGENCE=trust MOOT_STALL_ABORT=1 <<'END'
\[undecided\]: .*its chair \(default owner\), rank 0, has not spawned it, and outside of repair mode nobody votes
MOOT_DIVERGENCE=repair would vote
END

# Task arrays: elements that nobody has spawned, a share that its rank does not spawn, one
# whose kernel is slow, and arrays that take a task or an array that is not there.
row array-unspawned 3 0 nobody <<'END'
\[nobody\]: no rank has spawned elements 40-59 of array [0-9a-f]{8} of kernel 'work' 'grid' \(.*array_stalls\.c:[0-9]+\): each rank has spawned a part of it, or nothing, and rank 2 may yet spawn more
next: let a rank spawn them \(moot_array_spawn_some\), .*MOOT_ERR_NOT_HELD once all ranks rest; rank 2 does not \(lane 0 in the program's own code
elements: [0-9]+ of 100 are known to have ended; no rank has spawned elements 40-59$
keeps ranks 0-1 waiting
END
row array-away 3 0 undecided <<'END'
\[undecided\]: elements 34-66 of array [0-9a-f]{8} of kernel 'work' 'grid' .* are for rank 1 to run, which is not known to have spawned them; rank 1 has neither spawned its share nor given it up \(
next: spawn them there; if it takes another branch, moot_decline\(\)
elements: 67 of 100 are known to have ended; elements 34-66 are for rank 1 to run, or to give up$
^moot: rank 1 of 3 keeps others waiting: no lane yet
keeps ranks 0,2 waiting
END
row array-trust 3 1 undecided MOOT_DIVERGENCE=trust MOOT_STALL_ABORT=1 <<'END'
\[undecided\]: elements 34-66 of array [0-9a-f]{8} .* are for rank 1 to run, which is not known to have spawned them; outside of repair mode nobody runs them instead
MOOT_DIVERGENCE=repair would have others run them
END
row array-slow 3 0 slow <<'END'
\[slow\]: element 70 of array [0-9a-f]{8} of kernel 'work' 'grid' .* runs on rank 2, for .*, and 29 more of it are to run there
elements: 67 of 100 are known to have ended$
rank 2 is to run elements 70-99; element 70 has run for
keeps ranks 0-2 waiting
END
row array-task 3 0 nobody <<'END'
\[nobody\]: no rank holds task [0-9a-f]{8} of kernel 'work' 'seed': .*rank 2 may yet spawn it
chain: array [0-9a-f]{8} of kernel 'work' 'grid' \(.*array_stalls\.c:[0-9]+\) on rank 0
waits for task [0-9a-f]{8} of kernel 'work' 'seed'
rank 1 is to run elements 34-66; 33 lack what they take$
END
row array-chain 3 0 undecided <<'END'
\[undecided\]: elements 34-66 of array [0-9a-f]{8} of kernel 'work' 'grid' .* are for rank 1 to run
chain: array [0-9a-f]{8} of kernel 'work' 'next' \(.*array_stalls\.c:[0-9]+\) on rank [0-2]
waits for array [0-9a-f]{8} of kernel 'work' 'grid' \(.*array_stalls\.c:[0-9]+\) on rank [0-2]
END

# Nothing stands still, and nothing is said.
case=none bad=0
[ -z "$*" ] || {
    echo "$passed passed, $failed failed"
    exit $((failed > 0))
}
MOOT_STALL=900ms timeout 60 "$build/moot" run -n 3 "$build/tests/mpi/stalls" none \
    >"$scratch/out" 2>&1 </dev/null || complain "exit $?"
! grep -q 'report after' "$scratch/out" || complain "a report of nothing"
if [ "$bad" -eq 0 ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
