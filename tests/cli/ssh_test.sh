#!/bin/sh
# ssh_test.sh - jobs on three hosts that `moot run --launcher ssh` starts: they end right,
# with a host killed whole, and with links cut and mended; what is wrong beforehand is told
# in one line; nothing stays on any host.
#
# tests/cli/fleet.sh (make fleet) has many moments, cuts and programs; fleet_jobs.sh says how
# a case is judged.  Skips where there are no hosts of namespaces.  Finds the programs in
# $BUILD; run from the top of the tree.
set -u

# shellcheck source=tests/cli/fleet_jobs.sh
. tests/cli/fleet_jobs.sh
jobs_enter "$@"

# --- Well -------------------------------------------------------------------------------
# shellcheck disable=SC2086 # words are meant to split
for by in tcp $wire; do
    run $three --transport $by $tsp
    well "tsp by $by"
    check "tsp by $by" "the ranks are not two on a host" says '1 by rings, 4 by the wire'
    clean "tsp by $by"
done
# shellcheck disable=SC2016 # for a shell there to expand
run --label --hosts a:1,b:2 sh -c 'echo "on $(hostname)"; exit 3'
check "a program that fails" "its status is $got, not 3" [ "$got" -eq 3 ]
check "a program that fails" "a line has not its rank, or is of another host" \
    [ "$(grep -E '^[0-2]: on ' "$evidence" | sort | tr '\n' ' ')" = "0: on a 1: on b 2: on b " ]

run $three --transport $wire "$build/tests/mpi/random_programs" --seeds 1..3
check "diverging programs" "not all ended right" says '^random_programs.*3 passed, 0 failed'

# shellcheck disable=SC2086 # words are meant to split
run $three --max 7 malleable
check "ranks that join" "its status is $got" [ "$got" -eq 0 ]
check "ranks that join" "none has" says '^moot: 7 ranks \(6 \+ 1 joined\), '
check "ranks that join" "it is in no session" says 'WORLD: processes \[a_0, .*, b_0\], ranks \[0, .*, 6\]'
clean "ranks that join"

# --- Hosts that die, links that are cut -------------------------------------------------
# Two jobs at once: what the one loses is not the other's.
# shellcheck disable=SC2086 # words are meant to split
{
    killed 0.6 $tsp + random 5
    cut_off 1 from $tsp + random 8
    check "a cut of 1 s" "a rank was lost" no says 'was (removed|lost|silent)|died'
}
# A cut that is longer than silence may be, in a job that does not end before: the ranks
# behind it are voted out, and the others end well though they hear them again.
cut="a cut that outlasts a silence"
rm -f "$scratch/enough"
knobs=MOOT_SUSPECT=2s
begin '' "$build/tests/mpi/steady" 100000000 until "$scratch/enough"
told 'steady: rank 2 is past its open' # before that all have to come
befall link_cut b
told 'ranks 0-1,4-5 go on in view'
link_mend b
sleep 0.5
: >"$scratch/enough"
end_with well "$cut"
for rank in 2 3; do
    check "$cut" "rank $rank, which was left out, is not named" says "rank $rank was "
done
clean "$cut"
knobs=''

# --- Signals ----------------------------------------------------------------------------
lasting='timeout --foreground 20 tail -f /dev/null' # a program that is still there when it is to be
interrupted() { check "$1" "its status is $got, not 130" [ "$got" -eq 130 ]; }
# shellcheck disable=SC2086 # words are meant to split
begin '' $lasting
kill -INT "$(pgrep -P "$job")"
end_with interrupted SIGINT
clean SIGINT
# shellcheck disable=SC2086 # words are meant to split
begin '' $lasting
kill -KILL "$(pgrep -P "$job")"
end_with true
clean "SIGKILL of moot run"

# An agent, and a connection, that are killed take the ranks of their host along; the others
# go on to their end.
named() {
    name=$1
    note "$((took > 60))" "it took $took s"
    check "$1" "the host is not named" says 'host [abc] is lost|host [abc]:'
}
for victim in 'moot agent' 'ssh -F.* b '; do
    # shellcheck disable=SC2086 # words are meant to split
    begin '' $lasting
    pgrep -f "$victim" >"$scratch/victims"
    kill -KILL "$(head -n 1 "$scratch/victims")"
    tries=0
    until [ "$(pgrep -c -x tail)" -le 4 ] || [ $tries -gt 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    pgrep -x tail | xargs kill -TERM
    end_with named "SIGKILL of $victim"
    clean "SIGKILL of $victim"
done

# SIGTERM to an agent asks the ranks of its host to leave.
judge_asked() {
    name=$1
    check "$1" "its status is $got, not 0" [ "$got" -eq 0 ]
    check "$1" "the ranks of a host have not left" says '^  left +2 ranks: [024] \(asked\), [135] \(asked\)$'
    check "$1" "a rank is said to be lost" no says 'died|removed|out of reach|host [abc] is lost'
}
begin '' "$build/tests/mpi/asked" 300 3
told 'past phase 0'
kill -TERM "$(pgrep -f '^[^ ]*moot agent' | head -n 1)"
end_with judge_asked "SIGTERM to an agent"
clean "SIGTERM to an agent"

# A fault plan kills a host with its agent: nobody vouches for the deaths.
judge_planned() {
    name=$1
    note "$((took > 60))" "it took $took s"
    check "$1" "its status is $got, not 0" [ "$got" -eq 0 ]
    check "$1" "its agent lives" says 'host c is lost, with ranks 4 to 5'
    check "$1" "it is not told how often it struck" says 'kill:h2@1s: fired (once|2 times)$'
    check "$1" "somebody vouches for a death" no says 'rank [45] died'
    check "$1" "the others do not go on" says 'ranks 0-3 go on in view'
}
rm -f "$scratch/enough"
knobs='--faults kill:h2@1s MOOT_SUSPECT=1s'
begin '' "$build/tests/mpi/steady" 100000000 until "$scratch/enough"
told 'ranks 0-3 go on in view'
: >"$scratch/enough"
end_with judge_planned "a host that its plan kills"
clean "a host that its plan kills"
knobs=''

# --- What is wrong ----------------------------------------------------------------------
# wrong WHY WORD...: in $most lines, within ten seconds, and nothing is left
most=6
wrong() {
    told=$1
    shift
    run "$@"
    name="moot run $*"
    note "$((took > 10))" "it took $took s"
    check "$name" "its status is $got" [ $((got == 0 || got == 124)) -eq 0 ]
    check "$name" "it is not told as: $told" says "$told"
    check "$name" "it takes $(wc -l <"$lines") lines" [ "$(wc -l <"$lines")" -le "$most" ]
    clean "$name"
}
mkdir "$scratch/here"
ln -s "$build/examples/tree" "$scratch/here/one"
on b mount -t tmpfs none "$scratch/here"
cat >"$scratch/older" <<END
#!/bin/sh
[ "\$(hostname)" != b ] || { printf '\\nmoot agent 1 0.0.1-wire3\\n' && exec sleep 60; }
exec "$moot" "\$@"
END
chmod +x "$scratch/older"
# shellcheck disable=SC2086 # words are meant to split
{
    wrong "no-such-host.*Could not resolve.*: name it as ssh knows it" --hosts a:2,no-such-host:2 $tsp
    wrong "'b:x'.*slots" --hosts a:2,b:x $tsp
    wrong "7 ranks.*slots" -n 7 $three $tsp
    wrong "b.*$scratch/here/one" $three "$scratch/here/one"
    wrong "host .: there is no command /no/such/moot.*--agent" $three --agent /no/such/moot $tsp
    wrong "host b: moot there is of release 0.0.1-wire3, and here of .*: install the same" \
        $three --agent "$scratch/older" $tsp
    wrong "nobody@b.*[Pp]ermission denied.*let you in by a key" --hosts a:2,nobody@b:2 $tsp
    printf 'a:2\nb 2\n' >"$scratch/hostfile"
    wrong "--hostfile $scratch/hostfile, line 2: 'b 2'" --hostfile "$scratch/hostfile" $tsp
    printf 'a:2\n\nb # the second\na:1\n' >"$scratch/hostfile"
    wrong "--hostfile $scratch/hostfile: 'a' stands there twice" --hostfile "$scratch/hostfile" $tsp
    echo '# a:2' >"$scratch/hostfile"
    wrong "--hostfile $scratch/hostfile names no hosts" --hostfile "$scratch/hostfile" $tsp
    wrong "--hostfile $scratch: Is a directory" --hostfile "$scratch" $tsp
    wrong "No such file" --hostfile "$scratch/no-such-file" $tsp
    ip route add unreachable 10.77.0.3/32
    wrong "host c: .*No route to host: is it up" $three $tsp
    ip route del unreachable 10.77.0.3/32
}
# settings LINE: those of ssh, with that one for host b
settings() {
    { printf 'Host b\n%s\nHost *\n' "$1" && cat "$scratch/hosts/ssh_config"; } \
        >"$scratch/settings"
    launcher="--launcher ssh:config=$scratch/settings"
}
# shellcheck disable=SC2086 # words are meant to split
{
    settings 'UserKnownHostsFile /dev/null'
    wrong "host b: .*Host key verification failed.*: log in there once" $three $tsp
    settings 'Port 2222'
    wrong "host b: .*port 2222: Connection refused: is there an sshd" $three $tsp
    settings ''
    sed -i 's,^IdentityFile .*,IdentityFile /no/such/key,' "$scratch/settings"
    wrong "host [abc]: root@[abc]: Permission denied.*: it must let you in by a key" $three $tsp
}
launcher="--launcher ssh:config=$scratch/hosts/ssh_config"
on b python3 -c '
import os, socket, sys, time
kept = [socket.create_server(("", port)) for port in (7000, 7001)]
print("kept", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)' "$scratch/ports-free" >"$scratch/ports" &
ports=$!
tries=0
until [ -s "$scratch/ports" ] || [ $tries -gt 100 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
# shellcheck disable=SC2086 # words are meant to split
most=13 wrong "rank 2: tcp: all 2 ports from 7000 to 7001 .* are in use; .*tcp:ports=" \
    $three --transport tcp:ports=7000-7001 $tsp
: >"$scratch/ports-free"
wait $ports
check_end
