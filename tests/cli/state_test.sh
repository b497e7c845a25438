#!/bin/sh
# state_test.sh - `moot state` of a running job: it finds it, says what it waits for, as
# text and as JSON, and leaves nothing behind.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
job=
# The launcher ends its ranks when it is ended.
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
export TMPDIR="$scratch"
export MOOT_STATE="$scratch/doors"
unset MOOT_CONFIG
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

state() { timeout 30 "$build/moot" state "$@" >"$scratch/out" 2>&1; }
status_is() {
    wanted=$1
    shift
    "$@"
    [ $? -eq "$wanted" ]
}
says() { grep -qE -e "$1" "$scratch/out"; }
# within_20s COMMAND...: it succeeds by then.
within_20s() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 400 ] || return 1
        sleep 0.05
    done
}
listening() { [ "$(find "$scratch/doors" -type s 2>/dev/null | wc -l)" -ge "$1" ]; }
# start CASE RANKS OPTIONS: the job, once all its ranks listen.  Ranks that stand still
# do so until `end`.
start() {
    case=$1 ranks=$2
    shift 2
    rm -f "$scratch/end"
    timeout 60 "$build/moot" run -n "$ranks" "$@" "$build/tests/mpi/stalls" "$case" \
        "$scratch/end" >"$scratch/job" 2>&1 </dev/null &
    job=$!
    within_20s listening "$ranks"
}
end() { : >"$scratch/end"; }
waits() { status_is 0 state && says 'ranks 0-1 wait for task'; }
pictures() { [ "$(grep -c '^job ' "$scratch/pictures")" -ge "$1" ]; }

# Somebody listens where jobs are without MOOT_STATE: nothing to us.
usual=$scratch/moot-$(id -u)
mkdir -m 700 "$usual"
(unset XDG_RUNTIME_DIR && cd "$usual" && exec timeout 20 python3 -c '
import socket, time
door = socket.socket(socket.AF_UNIX)
door.bind("0badf00d-0-1")
door.listen(8)
time.sleep(20)') &
decoy=$!
while [ ! -S "$usual/0badf00d-0-1" ]; do sleep 0.05; done
check none "a job where none runs" status_is 1 state
kill "$decoy"
wait "$decoy" 2>/dev/null
rm -r "$usual"
check none "it does not say so" says 'no job of yours runs on this host'
check usage "an unknown option passes" status_is 2 state --nonsense

# A job that waits, but has not stalled.
start undecided 3
check folder "others may enter it" [ "$(stat -c %a "$scratch/doors")" = 700 ]
check text "it does not wait" within_20s waits
check text "it fails" status_is 0 state
check text "no cause" says '\[undecided\]: nobody owns task [0-9a-f]{8} of kernel .work. .wanted'
check text "no ranks" says 'ranks 0-1 wait for task'
check text "no wire" says '^  wire of rank 1: 2 peers by rings, 0 by the wire$'
check text "no timers" says 'timers of rank 2:.* ask_delay .*suspect '
check json "it fails" status_is 0 state --json
check json "no JSON" python3 - "$scratch/out" <<'END'
import json, sys
told = json.load(open(sys.argv[1]))
assert told["size"] == 3 and len(told["seats"]) == 3, told
accounts = {seat["rank"]: seat["account"] for seat in told["seats"]}
assert sorted(accounts) == [0, 1, 2]
waits = [accounts[rank]["waits"] for rank in range(3)]
assert len(waits[0]) == len(waits[1]) == 1 and not waits[2], waits
assert waits[0][0]["hash"] == waits[1][0]["hash"] and len(waits[0][0]["hash"]) == 32
assert accounts[0]["members"] == [0, 1, 2]
names = {timer["name"] for timer in accounts[1]["timers"]}
assert accounts[0]["mode"] == "repair", accounts[0]["mode"]
assert [lane["state"] for lane in accounts[0]["lanes"]] == ["blocked"]
assert [lane["state"] for lane in accounts[2]["lanes"]] in ([], ["running"])
task = next(t for t in accounts[2]["tasks"] if t["hash"] == waits[0][0]["hash"])
assert task["owner"] is None and task["lack"] == "evidence" and task["stage"] == "idle", task
assert {peer["state"] for peer in accounts[0]["peers"]} == {"here"}
timers = {timer["name"]: timer["value"] for timer in accounts[1]["timers"]}
assert timers["vote_timeout"] is None and timers["suspect"] > 0, timers
assert {"ask_delay", "vote_timeout", "heartbeat", "lease", "suspect"} <= names, names
END
number=$(find "$scratch/doors" -type s -name '*-0-*' -printf '%f' | cut -d- -f1)
check job "by its number it fails" status_is 0 state "$number"
check job "another number passes" status_is 1 state 0badf00d
timeout 50 "$build/moot" state --watch >"$scratch/pictures" 2>&1 &
watch=$!
check watch "one picture alone" within_20s pictures 2
end
check watch "it does not end with the job" wait "$watch"
check job "the job did not end well" wait "$job"
job=
check removed "sockets are left" [ "$(find "$scratch/doors" -type s | wc -l)" -eq 0 ]

# Two jobs: which is which.
start undecided 3
timeout 60 "$build/moot" run -n 2 "$build/tests/mpi/stalls" away "$scratch/end" >/dev/null \
    2>&1 </dev/null &
other=$!
within_20s listening 5
check jobs "one of two is chosen" status_is 1 state
check jobs "the larger is not told" says '^  moot state [0-9a-f]{8}  # stalls, 3 ranks, for [0-9]'
check jobs "the smaller is not told" says '^  moot state [0-9a-f]{8}  # stalls, 2 ranks, for [0-9]'
end
wait "$job" "$other"
job=

# Sessions: who is in it, who came and went, and its sets.
rm -f "$scratch/end"
timeout 60 "$build/moot" run --launcher local -n 3 --max 6 "$build/tests/mpi/psets" grow \
    "$scratch/end" >"$scratch/job" 2>&1 </dev/null &
job=$!
third() { status_is 0 state && says '^  session 3, for .*, of ranks 1-3 \(left\)$'; }
check sessions "it is not told which" within_20s third
check sessions "it is not told who came" says '^    rank 3 \(b_0\) joined [0-9.]+ m?s ago$'
check sessions "it is not told who left" says '^    rank 0 \(a_0\) left [0-9.]+ m?s ago$'
check sessions "a set is otherwise" says '^    set 2 moot://all_1: ranks 0-2, invalid: rank 0 is gone$'
check sessions "a host's set is otherwise" says '^    set 7 moot://host/.*_3: ranks 1-3, valid$'
check sessions "it fails" status_is 0 state --json
check sessions "the JSON is otherwise" python3 - "$scratch/out" <<'END'
import json, sys
told = json.load(open(sys.argv[1]))
for seat in told["seats"]:
    if seat["account"] is None:
        continue
    session = seat["account"]["session"]
    assert session["number"] == 3 and session["why"] == "left", session
    assert session["members"] == [1, 2, 3] and session["age_ns"] > 0, session
    assert session["process"] == ["a_0", "a_1", "a_2", "b_0"][seat["rank"]], session
    sets = {each["name"]: each for each in session["sets"]}
    assert [each["index"] for each in session["sets"]] == list(range(8)), session
    assert sets["mpi://WORLD"]["members"] == [1, 2, 3], sets
    assert sets["moot://all_2"]["members"] == [0, 1, 2, 3], sets
    assert sets["moot://all_2"]["gone"] == 0 and sets["moot://all_3"]["gone"] is None, sets
    assert session["sets_untold"] == 0, session
    changes = {(each["rank"], each["process"], each["what"]) for each in session["changes"]}
    if seat["rank"] != 3:
        assert changes == {(3, "b_0", "joined"), (0, "a_0", "left")}, changes
END
end
check sessions "the job did not end well" wait "$job"
job=

# A rank that was killed leaves its socket, which `moot run` removes at its end;
start dead 3 --faults kill:r1@100ms
wait "$job"
job=
check killed "its socket is left" [ "$(find "$scratch/doors" -type s | wc -l)" -eq 0 ]
# where no `moot run` could, `moot state` does that when it finds it.
mkdir -p "$scratch/doors" && chmod 700 "$scratch/doors"
python3 - "$scratch/doors" <<'END'
import os, socket, sys
socket.socket(socket.AF_UNIX).bind(f"{sys.argv[1]}/0badf00d-0-{os.getpid()}")
END
check dead "there is none" [ "$(find "$scratch/doors" -type s | wc -l)" -eq 1 ]
check dead "a dead job is found" status_is 1 state
check dead "its socket stays" [ "$(find "$scratch/doors" -type s | wc -l)" -eq 0 ]

# What else lies in the folder that MOOT_STATE names is somebody's: connecting to it is
# refused as at a dead rank's socket, and it stays.
mkdir -p "$scratch/doors" && chmod 700 "$scratch/doors"
echo text >"$scratch/doors/my-notes.txt"
mkfifo "$scratch/doors/0badcafe-0-1"
check others "a job is found among files" status_is 1 state
check others "a file is removed" [ -s "$scratch/doors/my-notes.txt" ]
check others "a pipe is removed" [ -p "$scratch/doors/0badcafe-0-1" ]
rm -f "$scratch/doors/my-notes.txt" "$scratch/doors/0badcafe-0-1"

# A socket that sends on, byte by byte, and never comes to an end.
python3 - "$scratch/doors/0badcafe-0-1" <<'END' &
import os, socket, struct, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(4)
server.settimeout(20)
guest, _ = server.accept()
guest.sendall(b"MOOTDOOR" + struct.pack("<Q", 1000))
try:
    while True:
        guest.sendall(b"\x08")
        time.sleep(0.2)
except OSError:
    os.unlink(sys.argv[1])
END
liar=$!
while [ ! -S "$scratch/doors/0badcafe-0-1" ]; do sleep 0.05; done
check trickle "it is taken for an answer" status_is 1 state 0badcafe
check trickle "the asker did not go away" wait "$liar"

# Sockets that announce more than a rank can say, or whose bytes would take a thousand
# times their size: little memory is spent on them, and the complaint names them.
liar() { # JOB BYTES: answers each line with a head that announces them, and with them
    python3 - "$scratch/doors/$1-0-1" "$2" <<'END' &
import os, socket, struct, sys
size = int(sys.argv[2]) # empty seats, each a struct of its own
answer = b"MOOTDOOR" + struct.pack("<Q", size) + b"\x22\x00" * (size // 2)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(4)
server.settimeout(20)
guest, _ = server.accept()
try:
    guest.sendall(answer)
    guest.recv(1)
    guest.recv(1)
except OSError:
    pass
os.unlink(sys.argv[1])
END
    liar=$!
    while [ ! -S "$scratch/doors/$1-0-1" ]; do sleep 0.05; done
}
for job_bytes in 0badbeef:60000000 0badfeed:260000; do
    liar "${job_bytes%:*}" "${job_bytes#*:}"
    check liar "it is taken for an answer, or costs 200 MB" python3 - \
        "$build/moot" "${job_bytes%:*}" "$scratch/out" <<'END'
import resource, subprocess, sys
with open(sys.argv[3], "w") as out:
    code = subprocess.run([sys.argv[1], "state", sys.argv[2]], stdout=out, stderr=out).returncode
sys.exit(code != 1 or resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 200000)
END
    evidence="$scratch/out"
    check liar "it is not named" grep -q \
        "answers on this host: .*doors/${job_bytes%:*}-0-1 answers with ${job_bytes#*:} bytes" \
        "$scratch/out"
    wait "$liar"
done

# `off` is no socket: the job cannot be found while it runs.
MOOT_STATE=off
timeout 60 "$build/moot" run -n 2 "$build/tests/mpi/stalls" away >"$scratch/job" 2>&1 \
    </dev/null &
job=$!
sleep 1.5
check off "a job without a socket is found" status_is 1 state
check off "there is a socket" [ "$(find "$scratch" -type s -path '*/moot*' | wc -l)" -eq 0 ]
check off "the job did not end well" wait "$job"
job=

check_end
