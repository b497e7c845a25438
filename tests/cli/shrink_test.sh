#!/bin/sh
# shrink_test.sh - ranks that are asked to leave from outside, by `moot shrink` and by
# SIGTERM, while the others go on: over the wires of one host and between hosts, the lowest,
# several, one that is killed while it goes, twice, and all.
#
# Nothing is lost and nothing runs twice: the kernels that ranks have run are as many as there
# were tasks.  Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE MOOT_GRACE
export TMPDIR="$scratch"
export MOOT_STATE="$scratch/doors" ASKED_UNTIL="$scratch/enough"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
phases=60 # of 41 tasks; those are fewer that only ranks spawn which are gone

# begin WORD...: moot run with these words, until all ranks are past their first phase; they
# wait behind their sixth
begin() {
    : >"$evidence"
    rm -f "$ASKED_UNTIL"
    timeout -k 5 120 "$build/moot" run "$@" >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    until [ "$(grep -c 'past phase 0' "$evidence")" -ge 4 ] || [ $tries -gt 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}
# end STATUS [OR_STATUS]: nobody is asked any more, and it ends with that
end() {
    : >"$ASKED_UNTIL"
    wait "$job"
    code=$?
    job=
    case " $* " in *" $code "*) meant=true ;; *) meant=false ;; esac
    check "$name" "its status is $code, not $*" $meant
}
# As the summary has them: by all ranks, by some, and once they have gone, in tasks.
tasks() {
    sed -n 's/^  spawned  *//p' "$evidence" | awk '{ for (i = 1; i < NF; i += 1) if ($(i) ~ /^[0-9]+$/) sum += $(i) } END { print sum + 0 }'
}
ran() { awk '$2 == "rank" && $4 == "ran" { sum += $5 } END { print sum + 0 }' "$evidence"; }
# whole LEFT: nothing is lost, nothing ran twice, and those left
whole() {
    check "$name" "kernels ran: $(ran), not $(tasks)" [ "$(ran)" = "$(tasks)" ]
    check "$name" "tasks are missing: $(tasks)" [ "$(tasks)" -ge $((40 * phases)) ]
    check "$name" "the summary does not say who left" says "^  left +$1\$"
    check "$name" "a rank is said to be lost" no says 'died|removed|out of reach|lost [1-9]'
}
# shrink STATUS WORD...: moot shrink; what it says is in $scratch/told
shrink() {
    wanted=$1
    shift
    timeout -k 5 20 "$build/moot" shrink "$@" >"$scratch/told" 2>&1
    code=$?
    check "$name" "moot shrink $*: status $code: $(cat "$scratch/told")" [ $code = "$wanted" ]
}
told() { grep -qE -e "$1" "$scratch/told"; }
# pid RANK: of its process, as its socket is called
pid() { find "$scratch/doors" -name "*-$1-*" | sed 's/.*-//'; }

# --- By the command -----------------------------------------------------------------------
# go NAME LEFT WORD... -- RANK...: of 4 ranks
go() {
    name=$1 left=$2
    shift 2
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # a word is a word
    begin $words "$build/tests/mpi/asked" $phases 3
    shrink 0 "$@"
    end 0
    whole "$left"
}
for launcher in local mpirun; do
    go "one, $launcher" '1 rank: 2 \(asked\)' -n 4 --launcher $launcher -- r2
    go "the lowest, $launcher" '1 rank: 0 \(asked\)' -n 4 --launcher $launcher -- r0
    go "the highest two, $launcher" '2 ranks: 2 \(asked\), 3 \(asked\)' \
        -n 4 --launcher $launcher -- 2
done
go "all but one" '3 ranks: 0 \(asked\), 2 \(asked\), 3 \(asked\)' -n 4 --launcher local -- r3 r0 r2
go "by tcp" '1 rank: 1 \(asked\)' -n 4 --launcher local --transport tcp -- r1
[ ! -f "$build/wires/ucx.so" ] ||
    go "by ucx" '2 ranks: 0 \(asked\), 3 \(asked\)' -n 4 --launcher local --transport ucx \
        MOOT_RINGS=off -- r3 r0
go "between hosts" '2 ranks: 0 \(asked\), 3 \(asked\)' --launcher "$build/examples/launcher_exec.so" \
    --hosts a:2,b:2 -- r3 r0
MOOT_THREADS=2 go "beside workers" '1 rank: 2 \(asked\)' -n 4 --launcher local -- r2
MOOT_DIRECT_MAX=2 go "along trees" '1 rank: 1 \(asked\)' -n 4 --launcher local -- r1
MOOT_PROGRESS=caller go "without a helper" '1 rank: 1 \(asked\)' -n 4 --launcher local -- r1

# --- A program that watches ---------------------------------------------------------------
name="a program that watches"
begin -n 4 --launcher local "$build/tests/mpi/asked" $phases 0 watch
shrink 0 r1
end 0
whole '1 rank: 1 \(asked\)'
check "$name" "it is not told" says 'rank 1 is told: by moot shrink'
check "$name" "the library has left for it" no says 'this rank (leaves|has left)'

# --- In traces ----------------------------------------------------------------------------
MOOT_TRACE="$scratch/trace" go "traced" '1 rank: 2 \(asked\)' -n 4 --launcher local -- r2
timeout -k 5 60 "$build/moot" trace export "$scratch/trace" -o "$scratch/chrome" >/dev/null 2>&1
for what in 'is asked to leave.*"pid":2,.*by moot shrink' 'has left.*"pid":2,'; do
    check "$name" "the trace does not tell: $what" grep -q "\"name\":\"$what" "$scratch/chrome"
done

# --- Sessions -----------------------------------------------------------------------------
name="sessions"
begin -n 4 --launcher local "$build/tests/mpi/asked" $phases 3 sessions
shrink 0 r1
shrink 0 r3
end 0
whole '2 ranks: 1 \(asked\), 3 \(asked\)'

# --- By SIGTERM ---------------------------------------------------------------------------
for launcher in local mpirun; do
    name="SIGTERM, $launcher"
    begin -n 4 --launcher $launcher "$build/tests/mpi/asked" $phases 3
    kill -TERM "$(pid 2)"
    end 0
    whole '1 rank: 2 \(asked\)'
done
name="SIGTERM without a grace"
begin -n 4 --launcher local MOOT_GRACE=0s "$build/tests/mpi/asked" $phases 3
kill -TERM "$(pid 2)"
end 0
check "$name" "it has not died" says 'rank 2 died .*signal 15'

# --- By SIGTERM to an agent ---------------------------------------------------------------
# agent RANK: of its host
agent() { tr '\0' '\n' <"/proc/$(pid "$1")/environ" | sed -n 's/^MOOTRUN_AGENT=//p'; }
hosts="--launcher $build/examples/launcher_exec.so --hosts a:2,b:2"
name="SIGTERM to an agent"
# shellcheck disable=SC2086 # a word is a word
begin $hosts "$build/tests/mpi/asked" $phases 3
kill -TERM "$(agent 2)"
end 0
whole '2 ranks: 2 \(asked\), 3 \(asked\)'
# As it is on hosts that nobody has a use for: what does not go is ended.
name="SIGTERM to an agent, twice"
# shellcheck disable=SC2086
begin $hosts MOOT_GRACE=1h "$build/tests/mpi/asked" $((5 * phases)) 3 ignore
second=$(agent 2)
kill -TERM "$second"
sleep 1.5
kill -TERM "$second"
end 0
check "$name" "rank 2 was not asked first" says 'rank 2 is told: by SIGTERM'
for rank in 2 3; do
    check "$name" "rank $rank has not died of the second" says "rank $rank died"
done

# --- By SIGTERM to all --------------------------------------------------------------------
# Nobody is left who could end the job: it has not come to its end.
name="SIGTERM to all"
begin -n 4 --launcher local MOOT_GRACE=5s "$build/tests/mpi/asked" $phases 3
for rank in 0 1 2 3; do
    kill -TERM "$(pid $rank)"
done
end 143
# The launcher's own SIGTERM ends the job at once, long before its ranks' grace is over.
name="SIGTERM to the launcher"
begin -n 4 --launcher local MOOT_GRACE=1h "$build/tests/mpi/asked" 100000 3
pkill -TERM -P "$job" -x moot
end 143
check "$name" "a rank has left" no says 'as it was asked'

# --- Killed while it goes -----------------------------------------------------------------
# Then it is a death as any other: what it had runs again, and the others end well.
# Where all go, one that is away before it is killed gives the job its status: that of SIGTERM.
# killed "STATUS [OR_STATUS]" RANK...
killed() {
    wanted=$1
    shift
    name="killed while they go: $*"
    begin -n 4 --launcher local "$build/tests/mpi/asked" $phases 3
    victims=
    for rank in "$@"; do
        victims="$victims $(pid "$rank")"
    done
    # shellcheck disable=SC2086 # a word is a word
    kill -TERM $victims
    sleep 0.002
    # shellcheck disable=SC2086
    kill -KILL $victims
    # shellcheck disable=SC2086
    end $wanted
    check "$name" "the others have not stayed" \
        [ "$(grep -c 'rank [0-3] ran .*, stays$' "$evidence")" = $((4 - $#)) ]
}
killed 0 2
killed 0 0
killed 0 1 3
killed "137 143" 0 1 2 3

# --- In the close -------------------------------------------------------------------------
# A rank that has no more to do is not asked, and SIGTERM gives it the time that it has.
name="in the close"
begin -n 4 --launcher local "$build/tests/mpi/asked" $phases 3 early
shrink 1 r3
check "$name" "it is not said why not" told 'rank 3 is at its end already, and waits for the others'
kill -TERM "$(pid 3)"
end 0
check "$name" "not all have stayed" [ "$(grep -c 'rank [0-3] ran .*, stays$' "$evidence")" = 4 ]
check "$name" "a rank is said to have left" no says '^  left '

# --- What cannot be -----------------------------------------------------------------------
name="refusals"
begin -n 4 --launcher local MOOT_HEARTBEAT=never "$build/tests/mpi/asked" 100000 3 ignore
shrink 1 0badf00d r1
check "$name" "not of a job that is none" told 'no rank of job 0badf00d answers on this host'
shrink 1 r7
check "$name" "not of a rank that is none" told 'there is no rank 7: the job has ranks 0 to 3'
shrink 1 4
check "$name" "not of all" told 'one rank at least has to stay'
shrink 1 r0 r1 r2 r3
check "$name" "not of all by name" told 'one rank at least has to stay'
shrink 1 r1 r1
check "$name" "not of one twice" told 'rank 1 is named twice'
shrink 2 r1 2
check "$name" "not of a number beside a name" \
    told "'2' stands beside other words: name all ranks that are to leave, as r3, or say only how many"
shrink 2 0
shrink 2 three
shrink 2
shrink 2 --all
shrink 0 r1
check "$name" "it does not say who was asked" told '^asked to leave: rank 1$'
shrink 1 r1
check "$name" "not of one that was asked" told 'rank 1 was asked to leave already'
shrink 1 3
check "$name" "not of all that are left" told 'one rank at least has to stay'
"$build/moot" state >"$scratch/told" 2>&1
check "$name" "moot state does not say so" told '^  rank 1 was asked to leave .* ago$'
kill -STOP "$(pid 3)" # it does not come to leave before it is asked again
shrink 1 r3
check "$name" "not of one that stands still" told 'rank 3 was asked, and has not said so yet'
kill -CONT "$(pid 3)"
pkill -TERM -P "$job" -x moot
wait "$job"
job=
check "$name" "the library has left for a program that watches" no says 'this rank (leaves|has left)'
name="a rank of an example goes"
timeout -k 5 120 "$build/moot" run -n 4 --launcher local "$build/examples/cholesky" 24 96 \
    >"$evidence" 2>&1 </dev/null &
job=$!
tries=0
until [ -n "$(pid 3)" ] || [ $tries -gt 1200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
shrink 0 1
end 0
check "$name" "its votes, or its end, count as wrong" no says '^cholesky: '
check "$name" "nothing was computed" says ' residual '
check "$name" "nobody has left" says '^  left +1 rank'
name=nobody
shrink 1 1
check "$name" "not without a job" told 'no job of yours runs on this host'
check_end
