#!/bin/sh
# zmq_test.sh - a transport that is written from the public headers alone: ZeroMQ, as a star
# through a broker (deploy/examples/transport_zmq.c).  Built against what `make install` puts
# down, it keeps its contract and carries programs; a broker that dies, is not there, or was
# started by hand hangs nothing, and none is left behind.
#
# Skips where ZeroMQ is not installed.  Finds the build in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
unset MOOT_CONFIG MOOT_TRANSPORT
export MOOT_RINGS=off
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
[ -f "$build/examples/transport_zmq.so" ] || {
    echo "ZeroMQ (libzmq3-dev) is not installed"
    exit 77
}

# --- Built by a user ----------------------------------------------------------------------
make -s --no-print-directory BUILD="$build" PROFILE= DESTDIR="$scratch" PREFIX=/moot install
export PKG_CONFIG_PATH="$scratch/moot/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$scratch"
examples=$scratch/moot/share/doc/moot/examples moot=$scratch/moot/bin/moot
evidence=$scratch/built
# shellcheck disable=SC2046 # flags are meant to split
check "the transport" "does not compile" gcc -Wall -Wextra -Werror -shared -fPIC \
    "$examples/transport_zmq.c" -o "$scratch/transport_zmq.so" -lzmq \
    $(pkg-config --cflags --libs moot) -Wl,-rpath,"$scratch/moot/lib" \
    ${SANITIZE:+-fsanitize=$SANITIZE}
check "the broker" "does not compile" gcc -Wall -Wextra -Werror "$examples/zmq_broker.c" \
    -o "$scratch/zmq_broker" -lzmq

# Where its words go, a .so of a user stands in the way of no other test.
cd "$scratch" || exit 1
evidence=$scratch/checked
"$moot" check-transport ./transport_zmq.so >"$evidence" 2>&1
check "its contract" "a check fails" says '^12 ok, 0 failed$'

# --- Programs ------------------------------------------------------------------------------
# run STATUS WORD...: on 4 ranks that share no memory, with what is said in $evidence
run() {
    status=$1
    shift
    evidence=$scratch/said
    timeout -k 5 90 "$moot" run -n 4 --launcher local "$@" >"$evidence" 2>&1 \
        </dev/null
    got=$?
    check "$*" "its status is $got, not $status" [ "$got" = "$status" ]
}
run 0 --transport ./transport_zmq.so tsp "$examples/burma14.tsp"
check tsp "it is not the optimum" says '^optimum 3323 '
check tsp "it went by rings" says '0 by rings, 3 by the wire'
run 0 --transport ./transport_zmq.so --faults kill:r2@task.start#2 tsp "$examples/burma14.tsp"
check "tsp with a death" "it is not the optimum" says '^optimum 3323 '

# The broker, killed three times.
evidence=$scratch/struck
timeout -k 5 120 "$moot" run -n 4 --launcher local --transport ./transport_zmq.so \
    "$build/tests/mpi/steady" 60000 >"$evidence" 2>&1 </dev/null &
job=$!
killed=0 tries=0
while [ $killed -lt 3 ] && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    sleep 0.2
    broker=$(pgrep -f "^$scratch/zmq_broker --job|^\./zmq_broker --job" | head -n 1)
    [ -z "$broker" ] || ! kill -KILL "$broker" || killed=$((killed + 1))
done
wait "$job"
check "the broker's deaths" "the job's status is not 0" [ $? = 0 ]
check "the broker's deaths" "there were $killed" [ $killed = 3 ]

# --- A broker that is named ------------------------------------------------------------------
port=$((20000 + $$ % 10000))
run 1 --transport "./transport_zmq.so:tcp://127.0.0.1:$port" tsp "$examples/burma14.tsp"
check "no broker" "it is not said" says "zmq: no broker at tcp://127.0.0.1:$port; start one there"
run 1 --transport ./transport_zmq.so:nonsense tsp "$examples/burma14.tsp"
check "no endpoint" "it is not said" says 'zmq: nonsense: '
./zmq_broker "tcp://127.0.0.1:$port" &
broker=$!
run 0 --transport "./transport_zmq.so:tcp://127.0.0.1:$port" tsp "$examples/burma14.tsp"
check "a broker by hand" "it is not the optimum" says '^optimum 3323 '
kill "$broker"
wait "$broker" 2>/dev/null

sleep 1
evidence=''
check "the end" "a broker is left" [ -z "$(pgrep -f "zmq_broker --job ipc://@moot-zmq" | while read -r each; do
    case $(readlink "/proc/$each/exe") in "$scratch"/*) echo "$each" ;; esac
done)" ]
check_end
