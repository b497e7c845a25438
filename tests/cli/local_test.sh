#!/bin/sh
# local_test.sh - ranks that `moot run --launcher local` starts by itself: how they end, what
# signals do, and that nothing of a job is left, whoever is killed.
#
# The programs of this test are shell scripts that open no moot; what they say stands in
# files.  Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
unset MOOT_CONFIG MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

in_time() { [ "$1" -ge 4 ] && [ "$1" -le 9 ]; }
# Whether so many processes of a case are there, within some seconds.
there() {
    tries=0
    while [ "$(pgrep -cf "$scratch/$1/")" -ne "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}

# program CASE: a program of that case, which is on standard input; snooze N sleeps there.
program() {
    mkdir -p "$scratch/$1"
    ln -sf "$(command -v sleep)" "$scratch/$1/snooze"
    {
        # shellcheck disable=SC2016 # for the program to expand
        printf '#!/bin/sh\nhere=%s\nrank=$MOOTRUN_RANK\n' "$scratch/$1"
        cat
    } >"$scratch/$1/program"
    chmod +x "$scratch/$1/program"
}
# run CASE RANKS [OPTION...]: its status is $got, what it said $evidence
run() {
    case=$1 ranks=$2
    shift 2
    evidence="$scratch/$case/said"
    timeout -k 5 60 "$build/moot" run -n "$ranks" --launcher local "$@" \
        "$scratch/$case/program" a 'b c' >"$evidence" 2>&1 </dev/null
    got=$?
}
# begin CASE RANKS: it goes on, as process $job, with a mark of each rank in the folder
begin() {
    evidence="$scratch/$1/said"
    # A shell has its children in the background ignore SIGINT.
    env --default-signal=INT "$build/moot" run -n "$2" --launcher local \
        "$scratch/$1/program" >"$evidence" 2>&1 </dev/null &
    job=$!
    tries=0
    while [ "$(find "$scratch/$1" -name 'up-*' | wc -l)" -lt "$2" ] && [ $tries -lt 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}
end() {
    wait "$job" 2>/dev/null
    got=$?
}

# --- Starting and ending ----------------------------------------------------------------
program plain <<'END_OF_PROGRAM'
echo "rank $rank has $# words, the second is $2"
echo "$MOOT_TRANSPORT" >"$here/transport"
[ "$rank" -ne 2 ] || exit 5
[ "$rank" -ne 1 ] || kill -SEGV $$
exit 0
END_OF_PROGRAM
run plain 4
check plain "its status is $got, not that of the first rank that failed" [ "$got" = 1 ]
for rank in 0 1 2 3; do
    check plain "rank $rank did not get its words" says "^rank $rank has 2 words, the second is b c\$"
done
check plain "rank 1's signal is not told" says 'rank 1 .*signal 11'
check plain "rank 2's status is not told" says 'rank 2 .*status is 5'
check plain "the transport is not tcp" [ "$(cat "$scratch/plain/transport")" = tcp ]

program many <<'END_OF_PROGRAM'
[ -z "${MOOTRUN_PARENT-}" ] || exit 1
ps -o pgid= -p $$ >"$here/group-$rank"
exit 0
END_OF_PROGRAM
run many 64
check many "not all ranks ended with 0" \
    says '^moot: each of ranks 0-63 never opened a moot; its exit status is 0$'
check many "ranks share a process group" \
    [ "$(cat "$scratch"/many/group-* | sort -u | wc -l)" = 64 ]

program input <<'END_OF_PROGRAM'
cat >"$here/input-$rank"
END_OF_PROGRAM
echo words | "$build/moot" run -n 2 --launcher local "$scratch/input/program" >/dev/null 2>&1
evidence="$scratch/input/input-0"
check input "rank 0 has not the input" says '^words$'
check input "rank 1 has an input" [ ! -s "$scratch/input/input-1" ]

# Lines are written by a library that would keep them back for a file, and end with a kill.
program output <<'END_OF_PROGRAM'
exec python3 -c "
import os, signal
for i in range(20000):
    print('rank $rank says line', i, 'which is to come whole')
os.kill(os.getpid(), signal.SIGKILL)"
END_OF_PROGRAM
evidence="$scratch/output/said"
"$build/moot" run -n 4 --launcher local "$scratch/output/program" 2>"$evidence" |
    { sleep 1 && grep -cE '^rank [0-3] says line [0-9]+ which is to come whole$'; } \
        >"$scratch/output/lines"
check output "lines are lost or cut: $(cat "$scratch/output/lines")" \
    [ "$(cat "$scratch/output/lines")" = 80000 ]
program prompt <<'END_OF_PROGRAM'
printf 'is it so? '
printf 'and here? ' >&2
while [ ! -e "$here/seen" ]; do "$here/snooze" 0.1; done
END_OF_PROGRAM
evidence="$scratch/prompt/said"
"$build/moot" run -n 1 --launcher local "$scratch/prompt/program" >"$evidence" 2>&1 &
tries=0
while ! { says 'is it so\?' && says 'and here\?'; } && [ $tries -lt 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
check prompt "a line without an end does not come" [ $tries -lt 50 ]
touch "$scratch/prompt/seen"
wait

program failing <<'END_OF_PROGRAM'
[ "$rank" -ne 1 ] || exit 3
exec "$here/snooze" 50
END_OF_PROGRAM
run failing 3
check failing "its status is $got, not 3" [ "$got" = 3 ]
check failing "it is not said why it ends" \
    says 'rank 1 ended with status 3 before it opened a moot: ending the job'
check failing "ranks are left" there failing 0

program limited <<'END_OF_PROGRAM'
exec "$here/snooze" 50
END_OF_PROGRAM
evidence="$scratch/limited/said"
(
    # shellcheck disable=SC3045 # shells that are a /bin/sh have it
    ulimit -n 24
    timeout 20 "$build/moot" run -n 64 --launcher local "$scratch/limited/program"
) >"$evidence" 2>&1
got=$?
check limited "its status is $got, not 1" [ "$got" = 1 ]
check limited "it is not said why" says 'cannot start 64 ranks here: Too many open files; raise .*ulimit -n'
check limited "ranks are left" there limited 0

# A user with few processes, if this one may be another: each end says which limit it was.
other="setpriv --reuid 54321 --regid 54321 --clear-groups"
if [ "$(id -u)" -eq 0 ] && $other test -x "$build/examples/tsp" 2>/dev/null; then
    evidence="$scratch/few"
    for most in 1 2 4 6; do
        # shellcheck disable=SC2016,SC2086 # for the shell there, words are meant to split
        HOME=/tmp TMPDIR=/tmp timeout 20 $other bash -c 'ulimit -u "$1" && shift && exec "$@"' - $most \
            "$build/moot" run -n 3 --launcher local --transport tcp "$build/examples/tsp" \
            deploy/examples/burma14.tsp >"$evidence" 2>&1 </dev/null
        got=$?
        check "$most processes" "its status is $got" [ "$got" = 1 ]
        check "$most processes" "it is not said which limit to raise" says 'raise .*ulimit -u'
    done
fi

# --- Signals ----------------------------------------------------------------------------
program told <<'END_OF_PROGRAM'
for signal in INT TERM HUP; do
    trap "echo $signal >'$here/got-$rank'; exit 9" $signal
done
"$here/snooze" 50 &
touch "$here/up-$rank"
wait
END_OF_PROGRAM
for row in HUP:129 INT:130 TERM:143; do
    rm -f "$scratch"/told/up-* "$scratch"/told/got-*
    begin told 3
    kill "-${row%:*}" "$job"
    end
    check "told ${row%:*}" "its status is $got, not ${row#*:}" [ "$got" = "${row#*:}" ]
    check "told ${row%:*}" "it is not said" says "ended by signal $((${row#*:} - 128)) "
    check "told ${row%:*}" "not all ranks were told" \
        [ "$(cat "$scratch"/told/got-[012])" = "$(printf '%s\n' "${row%:*}" "${row%:*}" "${row%:*}")" ]
    check "told ${row%:*}" "processes are left" there told 0
done

program deaf <<'END_OF_PROGRAM'
trap '' INT TERM
touch "$here/up-$rank"
exec "$here/snooze" 50
END_OF_PROGRAM
begin deaf 2
began=$(date +%s)
kill -TERM "$job"
end
check deaf "its status is $got, not 143" [ "$got" = 143 ]
took=$(($(date +%s) - began))
check deaf "ranks that ignore it ended after $took s, not five" in_time "$took"
rm -f "$scratch"/deaf/up-*
begin deaf 2
began=$(date +%s)
kill -TERM "$job"
sleep 0.2
kill -TERM "$job"
end
check deaf "the second signal did not end them at once" [ "$(($(date +%s) - began))" -le 3 ]
check deaf "processes are left" there deaf 0

# A rank that has ended well has left processes: one that is told, and one that does not heed it.
program leaver <<'END_OF_PROGRAM'
if [ "$rank" -eq 0 ]; then
    "$here/snooze" 50 &
    (trap '' INT TERM && exec "$here/snooze" 50) &
    touch "$here/up-$rank"
    exit 0
fi
sleep 0.3
touch "$here/up-$rank"
exec "$here/snooze" 50
END_OF_PROGRAM
begin leaver 2
kill -TERM "$job"
end
check leaver "its status is $got, not 143" [ "$got" = 143 ]
check leaver "what a rank left before the signal goes on" there leaver 0

# Its reader reads no more: a signal ends it all the same, and a job whose ranks have all ended.
program unread <<'END_OF_PROGRAM'
touch "$here/up-$rank"
yes "a line" | head -c 1000000
END_OF_PROGRAM
for label in '' --label; do
    rm -f "$scratch"/unread/up-*
    mkfifo "$scratch/unread/fifo"
    tail -f /dev/null >"$scratch/unread/fifo" &
    writer=$!
    exec 9<"$scratch/unread/fifo"
    # shellcheck disable=SC2086 # no label is no word
    env --default-signal=INT "$build/moot" run -n 2 --launcher local $label \
        "$scratch/unread/program" >"$scratch/unread/fifo" 2>&1 </dev/null &
    job=$!
    sleep 1
    began=$(date +%s)
    kill -TERM "$job"
    ( sleep 20 && kill -KILL "$job" ) 2>/dev/null &
    watchdog=$!
    end
    kill "$watchdog" "$writer" 2>/dev/null
    check "unread $label" "its status is $got, not 143" [ "$got" = 143 ]
    check "unread $label" "it waits for its reader" [ "$(($(date +%s) - began))" -le 8 ]
    check "unread $label" "processes are left" there unread 0
    exec 9<&-
    rm "$scratch/unread/fifo"
done

# --- Deaths -----------------------------------------------------------------------------
program orphan <<'END_OF_PROGRAM'
"$here/snooze" 50 &
touch "$here/up-$rank"
"$here/snooze" 50
END_OF_PROGRAM
begin orphan 4
kill -KILL "$job"
end
check orphan "processes are left of a moot run that was killed" there orphan 0
check orphan "its folder is not there" [ "$(find "$TMPDIR" -name 'moot-run-*' | wc -l)" = 1 ]
run many 2
check orphan "its folder is there after the next run" \
    [ "$(find "$TMPDIR" -name 'moot-run-*' | wc -l)" = 0 ]

rm -f "$scratch"/orphan/up-*
begin orphan 2
kill -KILL "$(pgrep -f "moot rank .*/orphan/program" -P "$job" | tail -n 1)"
end
check waiter "its status is $got, not 137" [ "$got" = 137 ]
check waiter "the rank's death is not told" says 'rank [01] died of signal 9'
check waiter "processes are left" there orphan 0

# Ranks that know each other by the channel: how many hear of rank 1's death.
heard() {
    [ "$(grep -c 'knows that rank 1 is dead; rank 1 has' "$evidence")" = "$1" ]
}
ln -s "$build/tests/mpi/channelled" "$scratch/channelled"
evidence="$scratch/said"
timeout 60 "$build/moot" run -n 8 --launcher local "$scratch/channelled" many >"$evidence" 2>&1
check channelled "gatherings fail" says '^a gathering takes '
timeout 60 "$build/moot" run -n 2 --launcher local "$scratch/channelled" secret >"$evidence" 2>&1
check channelled "the key stands where others see it" says '^the key is in none of [0-9]+ files'
timeout 60 "$build/moot" run -n 4 --launcher local "$scratch/channelled" death >"$evidence" 2>&1
check channelled "not all hear of a death" heard 3
# Its parent is killed, or the program itself.
for who in 'rank .*' ''; do
    "$build/moot" run -n 3 --launcher local "$scratch/channelled" wait >"$evidence" 2>&1 &
    job=$!
    tries=0 victim=''
    while [ -z "$victim" ] && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
        for process in $(pgrep -f "$who$scratch/channelled wait"); do
            if grep -qz '^MOOTRUN_RANK=1$' "/proc/$process/environ" &&
                { [ -n "$who" ] || [ "$(readlink "/proc/$process/exe")" != "$build/moot" ]; }; then
                victim=$process
            fi
        done
    done
    kill -KILL "$victim"
    end
    check "channelled kill $who" "not all hear of it" heard 2
    check "channelled kill $who" "it is not told" says 'rank 1 .*died of signal 9'
done

# A rank that the others have voted out, and that dies after that: of its own fault.
evidence="$scratch/said"
MOOT_SUSPECT=500ms "$build/moot" run -n 3 --launcher local "$build/examples/5-survive" \
    >"$evidence" 2>&1 </dev/null &
job=$!
sleep 1
victim=$(pgrep -f '5-survive$' -P "$(pgrep -P "$job" | tail -n 1)")
kill -STOP "$victim"
tries=0
until says 'silent.*go on in view 2' || [ $tries -gt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -ABRT "$victim"
kill -CONT "$victim"
end
check outvoted "its status is $got, not 0" [ "$got" = 0 ]
check outvoted "it is not told" says 'was removed alive, before it died of signal 6 .*, by view 2$'

# --- Refused ----------------------------------------------------------------------------
program refused <<'END_OF_PROGRAM'
touch "$here/started"
END_OF_PROGRAM
evidence="$scratch/refused/said"
# refused WHAT OPTION...
refused() {
    what=$1
    shift
    "$build/moot" run -n 2 "$@" "$scratch/refused/program" >"$evidence" 2>&1 </dev/null
    got=$?
    check "refused $*" "its status is $got, not 2" [ "$got" = 2 ]
    check "refused $*" "it is not said why" says "$what"
    check "refused $*" "it was started" [ ! -f "$scratch/refused/started" ]
}
refused "there are mpirun, local, ssh and slurm" --launcher rsh
refused "add --launcher ssh" --launcher local --hosts a
refused "cannot carry --transport mpi" --launcher local --transport mpi
refused "add --launcher local" --transport ucx
refused "add --launcher local" --launcher mpirun --transport ./mine.so
refused "no/such.so: No such file" --launcher local --transport ./no/such.so
refused "names no transport" --launcher local --transport=
refused "MOOT_TRANSPORT=ucx wants ranks" MOOT_TRANSPORT=ucx
refused "carry MOOT_TRANSPORT=mpi" --launcher local MOOT_TRANSPORT=mpi
refused "not the same: give one" --launcher local --transport ucx MOOT_TRANSPORT=./other.so
refused "there is no transport 'nosuch'" --launcher local --transport nosuch
refused "README.md: .*invalid ELF" --launcher local --transport ./README.md
refused "tcp: 'nosuch0' is no address" --launcher local --transport tcp:listen=nosuch0
refused 'MOOT_ROUTE=ring: may be mesh' --launcher local MOOT_ROUTE=ring
refused 'MOOT_ROUTE=star:b: .* the launcher has named no hosts' --launcher local MOOT_ROUTE=star:b
refused 'MOOT_ROUTE=star:b: routes are for another launcher' MOOT_ROUTE=star:b
refused 'MOOT_ROUTE=@no/such: No such file' --launcher local MOOT_ROUTE=@no/such
mkdir "$scratch/bin"
PATH="$scratch/bin" "$build/moot" run -n 2 "$scratch/refused/program" >"$evidence" 2>&1
check "no mpirun" "its status is not 127" [ $? = 127 ]
check "no mpirun" "it is not said what helps" says 'moot run --launcher local'
check_end
