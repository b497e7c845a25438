#!/bin/sh
# wires_test.sh - transports that are loaded: `moot check-transport` passes those that
# keep their contract (tcp, ucx, one over Unix sockets, one that loses frames) and finds each of the defects that
# wires_broken.c can have; what is no transport is refused in one line.
# BUILD says where the command is (build).
set -u

BUILD=$(cd "${BUILD:-build}" && pwd)
moot=$BUILD/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
cc=${CC:-gcc}

# judge DEFECT: builds it and checks it, in the background.
judge() {
    $cc -D_GNU_SOURCE -w -shared -fPIC -I"$BUILD/include" -DDEFECT="$1" \
        tests/cli/wires_broken.c -o "$scratch/$1.so" || return
    "$moot" check-transport --first "$scratch/$1.so" >"$scratch/$1" 2>&1
    echo "status $?" >>"$scratch/$1"
}
# found DEFECT CHECK WHY: that check has failed, for that reason.  On a busy machine another,
# which looks at the clock, can fail before it: then it is judged once more, alone.
found() {
    evidence=$scratch/$1
    grep -qE "^FAILED +$2 .*$3" "$scratch/$1" || judge "$1"
    check "$1" "is not found by '$2', or not as '$3'" \
        grep -qE "^FAILED +$2 .*$3" "$scratch/$1"
    check "$1" "the status is not 1" grep -qx "status 1" "$scratch/$1"
}

judge NONE
evidence=$scratch/NONE
check "a transport over Unix sockets" "a check fails" grep -qx "12 ok, 0 failed" "$scratch/NONE"
check "a transport over Unix sockets" "the status is not 0" grep -qx "status 0" "$scratch/NONE"

judged=0
for defect in LOSES DOUBLES SWAPS CHANGES CUTS BLOCKS_IN_SEND BLOCKS_IN_POLL CLOSES_SLOWLY \
    DROPS_STRANGERS FAILS_FOR_THE_DEAD KEEPS_FORGOTTEN IS_NEVER_FLUSHED HAS_A_FEW_PEERS \
    KEEPS_NO_COPY SAYS_ANOTHER_UID NEVER_FULL CRASHES; do
    judge $defect &
    judged=$((judged + 1))
    [ $((judged % 6)) -ne 0 ] || wait
done
wait
found LOSES "many frames among 4" "RELIABLE is not kept"
found DOUBLES "many frames among 4" "RELIABLE is not kept"
found SWAPS "many frames among 4" "RELIABLE is not kept"
found CHANGES "many frames among 4" "was changed on the way"
found CUTS "frames of all sizes" "with 4096 bytes"
found BLOCKS_IN_SEND "many frames among 4" "send\(\)"
found BLOCKS_IN_POLL "opens and closes" "poll\(\)"
found CLOSES_SLOWLY "opens and closes" "close\(\) took 3"
found DROPS_STRANGERS "frames of who was not introduced" ""
found FAILS_FOR_THE_DEAD "a peer is killed" "the peer is gone"
found KEEPS_FORGOTTEN "an unknown uid" "was forgotten"
found IS_NEVER_FLUSHED "frames of all sizes" "flushed\(\)"
found HAS_A_FEW_PEERS "1000 peers that never answer" "too many peers|limit"
found KEEPS_NO_COPY "frames of all sizes" ""
found SAYS_ANOTHER_UID "frames of all sizes" "which nobody has"
# The machine says which of them fills it first.
found NEVER_FULL "(frames of all sizes|many frames among 4)" "RELIABLE is not kept"
found CRASHES "frames of all sizes" "died of signal 6"

# Datagrams, of which some are lost, and more where a peer gets no turn.
evidence=$scratch/lossy
$cc -D_GNU_SOURCE -w -shared -fPIC -I"$BUILD/include" tests/cli/wires_lossy.c -o "$scratch/lossy.so"
"$moot" check-transport "$scratch/lossy.so:room=16384" >"$scratch/lossy" 2>&1
check "a transport that loses frames" "a check fails" grep -qx "12 ok, 0 failed" "$scratch/lossy"
"$moot" run -n 4 --launcher local --transport "$scratch/lossy.so" MOOT_RINGS=off \
    tsp deploy/examples/burma14.tsp >"$scratch/lossy" 2>&1
check "a transport that loses frames" "it is not the optimum" grep -q '^optimum 3323 ' "$scratch/lossy"
resent='^  sent again     [0-9]+ frames beside [0-9]+ \([1-9][0-9]* %\): the wire loses or delays frames$'
check "a transport that loses frames" "it is not told" grep -qE "$resent" "$scratch/lossy"
"$moot" run -n 2 --launcher local --transport tcp MOOT_RINGS=off \
    tsp deploy/examples/burma14.tsp >"$scratch/lossy" 2>&1
check "a transport that loses nothing" "it is told to lose" no grep -q 'sent again' "$scratch/lossy"

# --- What is no transport ---

# refuses WORD WHY: in one line, by status 2.
refuses() {
    "$moot" check-transport "$1" >"$scratch/out" 2>&1
    status=$?
    evidence=$scratch/out
    check "check-transport $1" "the status is $status, not 2" [ "$status" -eq 2 ]
    check "check-transport $1" "it is not told as: $2" grep -q "$2" "$scratch/out"
    check "check-transport $1" "it takes more than a line" [ "$(wc -l <"$scratch/out")" -eq 1 ]
}
refuses no-such-transport "there is no transport 'no-such-transport'"
refuses ./no-such-file.so "No such file"
refuses ./Makefile "cannot be loaded"
echo 'int moot_stream_poll(void); int here(void) { return moot_stream_poll(); }' >"$scratch/unlinked.c"
$cc -shared -fPIC "$scratch/unlinked.c" -o "$scratch/unlinked.so" -Wl,-z,now
refuses "$scratch/unlinked.so" "undefined symbol: moot_stream_poll; link it with "
refuses "$BUILD/libmoot.so" "no symbol moot_transport_table"

MOOT_TRANSPORT=$scratch/NONE.so "$moot" info >"$scratch/info"
check "moot info" "it does not tell of a transport of the user's own" \
    grep -q "^transport .*/NONE.so: 'unix', version 1, frames of up to " "$scratch/info"
MOOT_TRANSPORT=$BUILD/libmoot.so "$moot" info >"$scratch/info"
check "moot info" "it does not refuse what is no transport" \
    grep -q "^transport .*/libmoot.so: refused: .*no symbol moot_transport_table" "$scratch/info"

# --- tcp ---

evidence=$scratch/tcp
"$moot" check-transport tcp >"$scratch/tcp" 2>&1
check tcp "a check fails" grep -qx "12 ok, 0 failed" "$scratch/tcp"
check "moot info" "it does not tell of tcp" sh -c "'$moot' info | grep -q '^transport tcp: part of moot'"
# unheard OPTIONS CHECK WHY: told by that check, which is the last then.
unheard() {
    "$moot" check-transport --first "tcp:$1" >"$scratch/out" 2>&1
    evidence=$scratch/out
    check "tcp:$1" "is not refused as: $3" grep -qE "FAILED +$2 .*$3" "$scratch/out"
}
port=$((20000 + $$ % 10000))
unheard port=7 "opens and closes" "'port=7' is no option"
unheard ports=0-7 "opens and closes" "'0-7' is no port or range"
unheard ports=9-7 "opens and closes" "'9-7' is no port or range"
unheard ports=7-70000 "opens and closes" "'7-70000' is no port or range"
unheard ports=7x "opens and closes" "'7x' is no port or range"
unheard listen=nosuch0 "opens and closes" "'nosuch0' is no address, and no interface .*has: .*lo"
unheard listen=203.0.113.9 "opens and closes" "203.0.113.9 is no address of this host"
unheard "ports=$port" "frames of all sizes" "port $port of 127.0.0.1 is in use; name others"
unheard "ports=$port-$((port + 2))" "many frames among 4" "all 3 ports .* are in use; each rank"

# A host without IPv4, where one can be made.
if unshare -rn ip link set lo up 2>/dev/null; then
    unshare -rn sh -c 'ip link set lo up && ip addr del 127.0.0.1/8 dev lo &&
        exec "$@"' - "$moot" check-transport --first tcp >"$scratch/out" 2>&1
    evidence=$scratch/out
    check "tcp without IPv4" "a check fails" grep -qx "12 ok, 0 failed" "$scratch/out"
fi

# Strangers by the thousand, who say something, nothing, or half of a greeting.
cat >"$scratch/strangers.py" <<'END'
import os, random, socket, sys, time
first, seconds = int(sys.argv[1]), float(sys.argv[2])
said = [b"", b"", os.urandom(300), b"GET / HTTP/1.1\r\n\r\n", b"mootline\1\0\0\0\0\0\0\0",
        b"mootline\1\0\0\0\0\0\0\0" + os.urandom(32)]
held, made, end = [], 0, time.time() + seconds
while time.time() < end:
    try:
        stranger = socket.socket()
        stranger.setblocking(False)
        stranger.connect_ex(("127.0.0.1", first + random.randrange(4)))
        held.append(stranger)
        made += 1
        held[random.randrange(len(held))].send(random.choice(said))
    except OSError:
        pass
    if len(held) > 600:
        held.pop(0).close()
    if made % 20 == 0:
        time.sleep(0.005)
print(made)
END
python3 "$scratch/strangers.py" "$port" 12 >"$scratch/made" &
evidence=$scratch/flooded
"$moot" check-transport "tcp:ports=$port-$((port + 3))" >"$scratch/flooded" 2>&1
check "tcp among strangers" "a check fails" grep -qx "12 ok, 0 failed" "$scratch/flooded"
wait
check "tcp among strangers" "there were few" [ "$(cat "$scratch/made")" -gt 2000 ]

# Many processes, of which some are killed and some stopped; also while they connect.
evidence=$scratch/out
$cc -D_GNU_SOURCE -w -I. -I"$BUILD/include" -DTABLE=tcp_transport tests/cli/wires_crowd.c \
    node/wires/stream/*.c node/wires/tcp/*.c -lsodium -o "$scratch/crowd-tcp"
for crowd in "6 6 2 1 4" "16 6 3 4 8" "16 6 2 5 -8" "48 6 2 6 -16"; do
    # shellcheck disable=SC2086 # words are meant to split
    check "a crowd over tcp: $crowd" "somebody got stuck" \
        "$scratch/crowd-tcp" - $crowd >"$scratch/out" 2>&1
done

# --- ucx ---

evidence=$scratch/ucx
"$moot" info >"$scratch/info" 2>&1
if [ -f "$BUILD/wires/ucx.so" ]; then
    UCX_UNKNOWN_VARIABLE=1 "$moot" check-transport ucx >"$scratch/ucx" 2>&1
    check ucx "a check fails" grep -qx "12 ok, 0 failed" "$scratch/ucx"
    check ucx "UCX says something of its own" [ "$(wc -l <"$scratch/ucx")" -eq 14 ]
    evidence=$scratch/info
    check "moot info" "it does not tell of ucx" grep -q "^transport ucx: UCX " "$scratch/info"
    # unopened OPTIONS WHY: told by the first check, which is the last then.
    unopened() {
        "$moot" check-transport "ucx:$1" >"$scratch/out" 2>&1
        evidence=$scratch/out
        check "ucx:$1" "is not refused as: $2" grep -qE "opens and closes .*$2" "$scratch/out"
        check "ucx:$1" "more is tried" [ "$(wc -l <"$scratch/out")" -eq 3 ]
    }
    unopened NET_DEVICES "is no option"
    unopened NET_DEVICE=lo "knows no setting NET_DEVICE=lo"
    unopened TX_SEG_SIZE=much "knows no setting TX_SEG_SIZE=much"
    unopened NET_DEVICES=nosuch0 "'nosuch0'.* not available"
    # Many processes, of which some are killed and some stopped.
    $cc -D_GNU_SOURCE -w -I"$BUILD/include" tests/cli/wires_crowd.c -o "$scratch/crowd"
    evidence=$scratch/out
    for crowd in "6 6 2 1 4" "16 6 3 4 8"; do
        # shellcheck disable=SC2086 # words are meant to split
        check "a crowd over ucx: $crowd" "somebody got stuck" \
            "$scratch/crowd" "$BUILD/wires/ucx.so" $crowd >"$scratch/out" 2>&1
    done
else
    evidence=$scratch/info
    check "moot info" "it does not tell of ucx" grep -q "^transport ucx: not " "$scratch/info"
fi

check_end
