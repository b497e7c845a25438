#!/bin/sh
# agents_test.sh - `moot run` and the agents of its hosts: what passes between them, and
# what is left when one of them goes or makes no sense.
#
# The hosts are names for this machine, by the example launcher_exec, so that it needs no
# rights and no sshd; on hosts of their own the same is tried by ssh_test.sh.  Programs are
# shell scripts that open no moot, but for one.  Finds the programs in $BUILD; run from the
# top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch/tmp"

# own_agents: those of the job that goes on; the one before may have some that are ending
own_agents() { pgrep -P "$job" -f "$build/moot agent"; }
mkdir "$TMPDIR"
unset MOOT_CONFIG MOOT_TRANSPORT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

evidence="$scratch/said"
launcher="$build/examples/launcher_exec.so"
# Whether no process of this test's programs is left, within some seconds.
gone() {
    tries=0
    while pgrep -f "$scratch/program" >/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}
up() {
    tries=0
    while [ "$(find "$scratch" -name 'up-*' | wc -l)" -lt "$1" ] && [ $tries -lt 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}
# program: on standard input
program() {
    {
        # shellcheck disable=SC2016 # for the program to expand
        printf '#!/bin/sh\nhere=%s\nrank=$MOOTRUN_RANK\n' "$scratch"
        cat
    } >"$scratch/program"
    chmod +x "$scratch/program"
}
# run [OPTION...]: four ranks on two hosts; its status is $got
run() {
    timeout -k 5 60 "$build/moot" run --launcher "$launcher" --hosts a:2,b:2 "$@" \
        "$scratch/program" a 'b  c' >"$scratch/said" 2>&1 </dev/null
    got=$?
}
begin() {
    rm -f "$scratch"/up-*
    env --default-signal=INT "$build/moot" run --launcher "$launcher" --hosts a:2,b:2 \
        "$scratch/program" >"$scratch/said" 2>&1 </dev/null &
    job=$!
    up 4
}

# --- What passes ----------------------------------------------------------------------

program <<'END_OF_PROGRAM'
echo "rank $rank in $PWD has $# words, the last '$2', and ${MOOTRUN_RANK-none}"
echo "complaint of $rank" >&2
[ "$rank" != 0 ] || { cat; echo "and its end"; }
[ -z "${HERE-}" ] || echo "HERE is $HERE"
exit $((rank == 2 ? 7 : 0))
END_OF_PROGRAM
HERE=told run --label
check words "its status is $got, not 1, where no moot was opened" [ "$got" = 1 ]
for rank in 0 1 2 3; do
    check words "rank $rank's output is not whole" \
        says "^$rank: rank $rank in $PWD has 2 words, the last 'b  c', and $rank\$"
    check words "rank $rank's error is not there" says "^$rank: complaint of $rank\$"
    check words "rank $rank has not the environment" says "^$rank: HERE is told\$"
done
check words "rank 2's status is not told" says 'rank 2 .*status is 7'

head -c 30000000 /dev/urandom | base64 >"$scratch/large"
program <<'END_OF_PROGRAM'
[ "$rank" != 0 ] || exec cat
END_OF_PROGRAM
"$build/moot" run --launcher "$launcher" --hosts a:2,b:2 "$scratch/program" \
    <"$scratch/large" >"$scratch/back" 2>"$scratch/said"
check input "40 MB through rank 0 are not the same" cmp -s "$scratch/back" "$scratch/large"

program <<'END_OF_PROGRAM'
head -c 1000000 "$here/large"
END_OF_PROGRAM
count=$("$build/moot" run --launcher "$launcher" --hosts a:2,b:2 "$scratch/program" \
    2>/dev/null </dev/null | { sleep 1; wc -c; })
check slow "$count bytes of output came, not 4000000" [ "$count" = 4000000 ]

program <<'END_OF_PROGRAM'
exit 0
END_OF_PROGRAM
timeout 20 "$build/moot" run --launcher "$launcher" --hosts a:2,b:2 "$scratch/program" \
    <"$scratch/large" >"$scratch/said" 2>&1
check unread "input that nobody reads holds the job up" [ $? -ne 124 ]

# Streams that are closed are nothing else.
program <<'END_OF_PROGRAM'
echo said
echo complained >&2
END_OF_PROGRAM
for launched in "--launcher local -n 2" "--launcher $launcher --hosts a:2,b:2"; do
    # shellcheck disable=SC2086 # words
    timeout -k 2 20 "$build/moot" run $launched "$scratch/program" >&- 2>"$scratch/said" <&-
    check closed "without an output its status is not 1, with $launched" [ $? = 1 ]
    check closed "without an output errors do not come, with $launched" says '^complained$'
    # shellcheck disable=SC2086 # words
    timeout -k 2 20 "$build/moot" run $launched "$scratch/program" 2>&- >"$scratch/said"
    check closed "without an error output does not come, with $launched" says '^said$'
done

# A trace comes back, from the folder of its host.
timeout 60 "$build/moot" run --launcher "$launcher" --hosts a:2,b:2 --trace "$scratch/traces" \
    tsp deploy/examples/burma14.tsp >"$scratch/said" 2>&1
check tsp "its status is not 0" [ $? = 0 ]
check tsp "the optimum is not found" says 'optimum 3323'
check tsp "the summary is not there" says '^moot: 4 ranks'
check tsp "the records are not there" [ "$(find "$scratch/traces" -name 'rank-*.trace' | wc -l)" = 4 ]
check tsp "a folder is left" [ -z "$(ls "$TMPDIR")" ]

# Ranks tell times by the clock of moot run: what a host's is off by is an agent's affair.
program <<'END_OF_PROGRAM'
echo "off by ${MOOTRUN_CLOCK-nothing that is told}"
END_OF_PROGRAM
run
check clock "a clock of the same host is off by much" says '^off by -?[0-9]{1,9}$'

# Each host has a folder of its own for what its ranks leave, whatever rank 0 was told.
program <<END_OF_PROGRAM
"$build/examples/tsp" deploy/examples/burma14.tsp
[ -e "\$MOOT_SUMMARY/rank-\$rank" ] || echo "the sheet of \$rank is elsewhere"
[ -e "\$MOOT_TRACE/rank-\$rank.trace" ] || echo "the records of \$rank are elsewhere"
END_OF_PROGRAM
run --trace "$scratch/traces"
check folders "its status is $got" [ "$got" = 0 ]
check folders "a rank leaves its figures on another host" no says 'is elsewhere$'
check folders "a rank leaves its records on another host" no says 'are elsewhere$'

# A file that has no room here is not there; this limit on files is a disk that is full.
cat >"$scratch/agent" <<END
#!/bin/sh
ulimit -S -f unlimited
exec "$build/moot" "\$@"
END
chmod +x "$scratch/agent"
program <<'END_OF_PROGRAM'
head -c "$((1 << (18 + rank * 2)))" /dev/zero >"$MOOT_TRACE/size-$rank"
END_OF_PROGRAM
(
    trap '' XFSZ
    # shellcheck disable=SC3045 # the shells that this runs in have it
    ulimit -S -f 4000 # of 512 bytes
    run --agent "$scratch/agent" --trace "$scratch/full"
)
check full "a file that has room is not there" \
    [ "$(wc -c <"$scratch/full/size-1")" = $((1 << 20)) ]
check full "a part of a file is taken for all of it" no [ -e "$scratch/full/size-3" ]
check full "a part of a file is left" no [ -e "$scratch/full/size-3.part" ]

# --- Ends -----------------------------------------------------------------------------

program <<'END_OF_PROGRAM'
: >"$here/up-$rank"
sleep 300 &
wait
END_OF_PROGRAM
begin
kill -INT "$job"
wait "$job"
got=$?
check interrupted "its status is $got, not 130" [ "$got" = 130 ]
check interrupted "a rank is left" gone

begin
kill -KILL "$job"
wait "$job" 2>/dev/null
check killed "a rank is left" gone

begin
kill -KILL "$(own_agents | head -n 1)"
tries=0
until says 'moot: host . is lost, with ranks' || [ $tries -gt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
check agent "the loss of its host is not told" says 'moot: host . is lost, with ranks'
# Two ranks and what waits for them, and the command.
check agent "its ranks go on" [ "$(pgrep -cf "$scratch/program")" -le 5 ]
kill -INT "$job"
wait "$job"
check agent "a rank is left" gone

# The folder of an agent that was killed goes with the next.
check agent "its folder is not there" [ "$(find "$TMPDIR" -name 'moot-agent-*' | wc -l)" -ge 1 ]
program <<'END_OF_PROGRAM'
exit 0
END_OF_PROGRAM
run
check agent "its folder is left" [ "$(find "$TMPDIR" -name 'moot-agent-*' | wc -l)" = 0 ]

# A line without an end comes, also where something holds the output.
program <<'END_OF_PROGRAM'
sleep 4 &
printf 'no end of %s' "$rank"
END_OF_PROGRAM
run --label
check unended "the last words of rank 1 are lost" says '1: no end of 1'
check unended "the last words of rank 2 are lost" says '2: no end of 2'

# The process that waits for a rank there is killed.
program <<'END_OF_PROGRAM'
[ "$rank" != 1 ] || kill -KILL "$PPID"
END_OF_PROGRAM
run
check waiter "the death of rank 1 is not told" says 'rank 1 .*it died of signal 9'

# Ranks that do not heed the signal are killed after 5 s, by their agents.
program <<'END_OF_PROGRAM'
trap '' TERM
: >"$here/up-$rank"
sleep 100
END_OF_PROGRAM
begin
kill -TERM "$job"
wait "$job"
got=$?
check deaf "its status is $got, not 143" [ "$got" = 143 ]
check deaf "a host is let go" no says 'is lost'
check deaf "a rank is left" gone

# All agents are stopped, as if this host had lost its links: nobody has ended.
program <<'END_OF_PROGRAM'
: >"$here/up-$rank"
sleep 14
echo "end of $rank"
END_OF_PROGRAM
begin
agents=$(own_agents)
# shellcheck disable=SC2086 # several
kill -STOP $agents
sleep 11.5
# shellcheck disable=SC2086 # several
kill -CONT $agents
wait "$job"
check silence "it is not told" says 'host . has not been heard of for 10 s'
check silence "hosts are given up" no says 'is lost'
check silence "output is lost" [ "$(grep -c '^end of' "$scratch/said")" = 4 ]

# --- What makes no sense --------------------------------------------------------------

# Mistakes that can be known before are said once, and nothing is started.  asked WHAT OPTION...
asked() {
    what=$1
    shift
    run "$@"
    check "$*" "its status is $got, not 2" [ "$got" = 2 ]
    check "$*" "it is not said why in a line" \
        [ "$(grep -cE -e "^moot run: $what" "$scratch/said")-$(wc -l <"$scratch/said")" = 1-1 ]
    check "$*" "it was started" no [ -e "$scratch/started" ]
}
program <<'END_OF_PROGRAM'
touch "$here/started"
END_OF_PROGRAM
asked "MOOT_ROUTE=star:c: there is no host 'c'; the hosts of this job are a, b$" MOOT_ROUTE=star:c
asked 'MOOT_ROUTE=links:a-c: .* are a, b$' MOOT_ROUTE=links:a-c
asked 'MOOT_ROUTE=tree:0: K is' MOOT_ROUTE=tree:0
asked "--transport nosuch: there is no transport 'nosuch'" --transport nosuch
asked "'MOOT_STALLS=3s': unknown knob" MOOT_STALLS=3s
run --faults kill:h2@1s
check plan "it is not refused" [ "$got" = 2 ]
check plan "it is not said why" says 'there is no host 2: the job has 2 hosts'
run --faults pause:h1@task.start+1s
check plan "a pause at a point is not refused" says 'a host that pauses at a point is for .moot sim'

# --- Hosts in fault plans --------------------------------------------------------------

# struck PLAN HOSTS PROGRAM...: its status is $got.
struck() {
    plan=$1 hosts=$2
    shift 2
    timeout -k 5 60 "$build/moot" run --launcher "$launcher" --hosts "$hosts" --faults "$plan" "$@" \
        >"$scratch/said" 2>&1 </dev/null
    got=$?
}
{ sleep 2 && touch "$scratch/enough"; } &
struck kill:h1@1s a:3,b:2 "$build/tests/mpi/steady" 4000000 until "$scratch/enough"
check "$plan" "its status is $got, not 0" [ "$got" = 0 ]
check "$plan" "it is not told how often it struck" says 'kill:h1@1s: fired (once|2 times)$'
check "$plan" "its agent lives" says 'host b is lost, with ranks 3 to 4'
check "$plan" "the others do not go on" says 'ranks 0-2 go on in view'
# One of ranks 1 and 2 runs a task; the other is killed with it.
struck kill:h1@task.start a:1,b:2 "$build/tests/mpi/stalls" undecided
check "$plan" "it does not strike once" says 'kill:h1@task.start: fired once$'
check "$plan" "its agent lives at a point" says 'host b is lost, with ranks 1 to 2'
check "$plan" "its other rank lives" says 'rank 1 died.*rank 2 died.*; rank 0 goes on in view 2'
rm "$scratch/enough"
{ sleep 2 && touch "$scratch/enough"; } &
struck part:h0/h1@500ms+300ms a:3,b:2 "$build/tests/mpi/steady" 4000000 until "$scratch/enough"
check "$plan" "its status is $got, not 0" [ "$got" = 0 ]
check "$plan" "nothing is cut" says 'part:h0/h1@500ms\+300ms: fired [1-9][0-9]* times$'
check "$plan" "a rank is voted out" no says 'go on in view'

program <<'END_OF_PROGRAM'
echo started
END_OF_PROGRAM
"$build/moot" agent </dev/null >"$scratch/greeting"
# agent: a shell script in its place, on standard input
agent() {
    {
        echo '#!/bin/sh'
        cat
    } >"$scratch/agent"
    chmod +x "$scratch/agent"
}
# refused NAME WHAT: it is said in one line, within 15 s, and nothing is left
refused() {
    began=$(date +%s)
    run --agent "$scratch/agent"
    check "$1" "its status is $got, not 1" [ "$got" = 1 ]
    check "$1" "it is not said why" says "^moot run: host .: $2"
    check "$1" "it is said in more than a line" [ "$(grep -c '^moot' "$scratch/said")" = 1 ]
    check "$1" "it took long" [ $(($(date +%s) - began)) -le 15 ]
    check "$1" "an agent is left" no pgrep -f "$scratch/agent"
}
agent <<END
echo Welcome to this host
cat <<FORTUNE
$(head -c 3000 "$scratch/large")
FORTUNE
exec "$build/moot" "\$@"
END
run --agent "$scratch/agent"
check talking "a shell that talks first is in the way" says '^started$'
agent <<'END'
exec sleep 60
END
refused silent "no agent answers there after 10 s"
agent <<'END'
exec yes
END
refused endless "it says other things than moot's agent does"
agent <<'END'
echo "moot agent 1 0.0.1-wire3"
sleep 60
END
refused older "moot there is of release 0.0.1-wire3, and here of"
agent <<END
cat "$scratch/greeting"
head -c 4000 /dev/zero
sleep 60
END
refused zeros "it says what makes no sense"
agent <<END
cat "$scratch/greeting"
head -c 4000 /dev/zero | tr '\\000' '\\377'
sleep 60
END
refused huge "it says what makes no sense"
agent <<END
cat "$scratch/greeting"
exec sleep 60
END
refused begun "the agent there has not begun after 10 s"
# Words of rank 0 for whom none asked, while nobody reads.
printf '\006\0\0\0\0\0\0\0\0\0\0\0\060\0\0\0%047d\n' 0 >"$scratch/words"
while [ "$(wc -c <"$scratch/words")" -lt 2000000 ]; do
    cat "$scratch/words" "$scratch/words" >"$scratch/more"
    mv "$scratch/more" "$scratch/words"
done
agent <<END
cat "$scratch/greeting" "$scratch/words"
exec sleep 60
END
# shellcheck disable=SC2216 # nobody is to read it
timeout -k 2 20 "$build/moot" run --launcher "$launcher" --hosts a:2,b:2 --agent "$scratch/agent" \
    "$scratch/program" 2>"$scratch/said" </dev/null | sleep 3
check flood "words without an end are kept" says '^moot run: host a: it says more than was asked for'
# Words, deaths and files that are not of its host, or no names: what of them is sound
# comes, once.  frame: kind, value, flag, bytes
frame() {
    # shellcheck disable=SC2059 # bytes
    printf "$(printf '\\%03o\\0\\0\\0' "$1" "$2" "$3" "$(printf "$4" | wc -c)")"
    # shellcheck disable=SC2059
    printf "$4"
}
{
    frame 4 0 0 ''
    for rank in 0 1 2 3 4 200; do
        frame 6 $rank 0 "words of $rank\n"
        frame 9 $rank 9 ''
    done
    for name in sound .hidden ../outside sub/inside; do
        frame 7 2 1 "$name\0bytes"
    done
    frame 7 2 1 'noend'
    frame 7 9 1 'nofolder\0bytes'
    frame 8 2 0 'sub/kept\0'
    frame 12 255 0 ''
    frame 10 0 1 ''
} >"$scratch/frames"
agent <<END
cat "$scratch/greeting"
sleep 1
cat "$scratch/frames"
exec sleep 60
END
mkdir -p "$scratch/odd/sub"
: >"$scratch/odd/sub/kept"
run --agent "$scratch/agent" --trace "$scratch/odd"
check odd "its status is $got, not 137" [ "$got" = 137 ]
for rank in 0 1 2 3; do
    check odd "words of rank $rank come $(grep -c "^words of $rank\$" "$scratch/said") times" \
        [ "$(grep -c "^words of $rank\$" "$scratch/said")" = 1 ]
    check odd "the death of rank $rank is not told" says "(rank $rank |ranks [0-9]).*died of signal 9"
done
check odd "words come of ranks that there are not" no says 'words of (4|200)'
check odd "files are not as they should be" \
    [ "$(cd "$scratch" && find odd outside -type f 2>/dev/null | sort | tr '\n' ' ')" = "odd/sound odd/sub/kept " ]
# A byte that a terminal would obey is a question mark.
{
    frame 5 0 0 '\033[31mred\007, \302\233mtoo'
} >"$scratch/frames"
agent <<END
cat "$scratch/greeting"
sleep 1
cat "$scratch/frames"
exec sleep 60
END
refused escapes '\?\[31mred\?, \?mtoo$'
# A limit of the system's is named.
agent <<END
exec unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$build/moot" "\$@"' agent "\$@"
END
if unshare -U -r true 2>/dev/null; then
    refused limit 'cannot watch what ranks leave: .*: raise there .sysctl. fs.inotify.max_user_instances'
fi
agent <<'END'
echo a complaint >&2
exit 3
END
refused ended "the agent there ended before it had begun"
check ended "what it complained of is not told" says '^a complaint$'

check_end
