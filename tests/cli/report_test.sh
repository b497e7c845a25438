#!/bin/sh
# report_test.sh - what ranks record, and what moot report and moot trace export make of
# it: held against moot run's own summary, against other programs' parsers where they are
# installed, and, if there is a Chromium, against a browser.  BUILD says where the command
# is.
set -u

build=$(cd "${BUILD:-build}" && pwd)
moot=$build/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/err"
unset MOOT_CONFIG MOOT_TRACE MOOT_METRICS MOOT_SUMMARY
export XDG_CONFIG_HOME="$scratch/none" OMPI_MCA_mpi_yield_when_idle=1

# expect NAME STATUS COMMAND...: runs it; out and err are in $scratch.
expect() {
    name=$1 status=$2
    shift 2
    timeout -k 5 60 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ "$got" -eq "$status" ]
    note $? "exit $got, not $status: $*"
}
says() {
    grep -qF -e "$2" "$scratch/$1"
    note $? "std$1 lacks: $2"
}
equal() { # WHAT A B
    [ "$2" = "$3" ]
    note $? "$1: '$2' is not '$3'"
}
# figure NAME FILE: a number of the page's verdict
figure() {
    sed -n '/id="data"/,/<\/script>/s/.*"verdict":{[^}]*"'"$1"'":\([0-9.]*\).*/\1/p' "$2"
}

# prometheus FILE: the rules of the exposition format that a scrape would refuse
prometheus() {
    awk '
        /^# HELP / { if ($3 in help) bad = "HELP twice"; help[$3]; next }
        /^# TYPE / {
            if ($3 in type) bad = "TYPE twice"
            if ($4 != "counter" && $4 != "gauge") bad = "no such type"
            type[$3] = $4; now = $3; next
        }
        !/^[a-zA-Z_:][a-zA-Z0-9_:]*{([a-z_]+="[^"\\]*",?)*} [0-9]+(\.[0-9]+)?$/ { bad = "form" }
        {
            metric = $0; sub(/{.*/, "", metric)
            sample = $0; sub(/ [^ ]*$/, "", sample)
            if (metric != now) bad = "a sample outside of its metric"
            if (sample in seen) bad = "a sample twice"
            if ((metric ~ /_total$/) != (type[metric] == "counter")) bad = "a counter is _total"
            seen[sample]; n++
        }
        bad { print "line " FNR ": " bad ": " $0; exit }
        END { exit bad != "" || n == 0 }' "$1"
    note $? "no Prometheus text"
}

# drawn FILE: a browser draws all of the page and complains of nothing
drawn() {
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
    [ -n "$browser" ] || return 0
    timeout -k 5 90 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$scratch/browser" --enable-logging=stderr --v=0 --dump-dom \
        "file://$1" >"$scratch/dom" 2>"$scratch/browser.err" </dev/null
    grep -q 'data-drawn="yes"' "$scratch/dom"
    note $? "the page's script did not come to its end"
    ! grep 'CONSOLE' "$scratch/browser.err"
    note $? "the browser's console is not silent"
    for mark in '<b>.*task' 'timeline-chart.*<rect' 'id="totals"><table' 'ready-chart.*<path' \
        'path-table.*<table' 'graph-chart.*class="node' 'settings-told.*MOOT_TRACE'; do
        tr '\n' ' ' <"$scratch/dom" | grep -q "$mark"
        note $? "not drawn: $mark"
    done
}

# --- A run that agrees in the end: tsp ---

trace=$scratch/t page=$scratch/run.html
began=$(date +%s.%N)
expect run 0 "$moot" run -n 4 --trace "$trace" tsp deploy/examples/burma14.tsp
ended=$(date +%s.%N)
ran=$(sed -n 's/^ *tasks run *\([0-9]*\),.*/\1/p' "$scratch/err")
votes=$(sed -n 's/^ *votes *\([0-9]*\).*/\1/p' "$scratch/err")
motions=$(sed -n 's/.*(\([0-9]*\) motions\{0,1\}).*/\1/p' "$scratch/err")
wall_s=$(sed -n 's/^moot: 4 ranks, \([0-9.]*\) s.*/\1/p' "$scratch/err")
equal "files of records" "$(find "$trace" -name 'rank-[0-3].trace' | wc -l)" 4

expect report 0 "$moot" report "$trace" -o "$page"
equal "what was written" "$(cat "$scratch/out")" \
    "$page is written, $(wc -c <"$page" | awk '{ printf "%.1f", $1 / 1e3 }') kB"
equal "what it says beside" "$(cat "$scratch/err")" ""
equal "tasks run" "$(figure runs "$page")" "$ran"
equal "votes" "$(figure votes "$page")" "$votes"
equal "motions" "$(figure motions "$page")" "$motions"
equal "deaths" "$(figure dead "$page")" 0
equal "ranks with a trace" "$(figure whole "$page")" 4
# The summary has that of one rank; on a busy machine they open one after the other.
awk -v us="$(figure makespan "$page")" -v s="$wall_s" -v began="$began" -v ended="$ended" \
    'BEGIN { exit !(us / 1e6 > 0.9 * s && us / 1e6 < ended - began) }'
note $? "the makespan is $(figure makespan "$page") us, and the summary has $wall_s s"
sections=$(sed -n 's/^<section id="\([a-z]*\)".*/\1/p' "$page" | tr '\n' ' ')
equal "sections" "$sections" "timeline failures waits ready path graph votes faults checkpoint sessions settings "
! grep -nE '@[A-Z]+@|<(script|img|iframe|link)[^>]*(src|href)="[^d]|@import|url\(|fetch\(' "$page"
note $? "the page is not whole, or loads something"
sed -n '/id="data"/,/<\/script>/p' "$page" | sed '1d; s,</script>.*,,' |
    python3 -m json.tool >/dev/null
note $? "the page's data are no JSON"
drawn "$page"
grep -qE '"compiler": ?"(gcc|.*[cC]lang) ' "$page"
note $? "the compiler has no name"

# --- Exports ---

expect chrome 0 "$moot" trace export "$trace" --format chrome -o "$scratch/chrome.json"
says out "$scratch/chrome.json is written, "
expect to_standard_output 0 "$moot" report "$trace" -o -
cmp -s "$scratch/out" "$page"
note $? "standard output is not the page alone"
equal "slices of tasks" "$(grep -c '"cat":"task"' "$scratch/chrome.json")" "$ran"
equal "votes begun" "$(grep -c '"ph":"b","cat":"vote"' "$scratch/chrome.json")" "$votes"
equal "flows" "$(grep -c '"ph":"s"' "$scratch/chrome.json")" \
    "$(grep -c '"ph":"f"' "$scratch/chrome.json")"
python3 -m json.tool "$scratch/chrome.json" >/dev/null
note $? "no JSON"
expect dot 0 "$moot" trace export "$trace" --format dot
if command -v dot >/dev/null; then
    timeout 60 dot -Tsvg "$scratch/out" -o "$scratch/graph.svg" 2>"$scratch/err"
    note $? "graphviz refuses it"
fi
expect csv 0 "$moot" trace export "$trace" --format csv
equal "lines" "$(tail -n +2 "$scratch/out" | wc -l)" "$ran"
equal "kinds of lines" "$(awk -F, '{ print NF }' "$scratch/out" | sort -u | wc -l)" 1
expect paje 0 "$moot" trace export "$trace" --format paje
awk '/^5 / { if ($2 < last) exit 1; last = $2; n++ } END { exit n == 0 }' "$scratch/out"
note $? "states are not in the order of time"
expect prometheus 0 "$moot" trace export "$trace" --format prometheus
prometheus "$scratch/out"
equal "tasks" "$(awk '/^moot_tasks_run_total/ { n += $2 } END { print n }' "$scratch/out")" "$ran"

# --- Torn, absent, wrong ---

truncate -s -5 "$trace/rank-2.trace"
expect torn 0 "$moot" report "$trace" -o "$page"
says err "the trace of rank 2 is torn"
equal "tasks run" "$(figure runs "$page")" "$ran"
rm "$trace/rank-0.trace"
expect absent 0 "$moot" report "$trace" -o "$page"
says err "rank 0 left no trace here"
expect nothing 1 "$moot" report "$scratch/absent" -o "$page"
says err "there is no trace in"
expect no_folder 2 "$moot" report
expect no_format 2 "$moot" trace export "$trace" --format xml
says err "no format 'xml'"
expect no_place 1 "$moot" report "$trace" -o "$scratch/absent/page.html"
for words in report "trace export"; do # as a full disk has it
    expect "no_room: $words" 1 sh -c "trap '' XFSZ; ulimit -f 4; \"$moot\" $words \"$trace\" -o \"$scratch/half\""
    says err "$scratch/half: File too large"
    [ ! -e "$scratch/half" ]
    note $? "half of a file is left"
done
expect no_trace_folder 1 "$moot" run -n 1 --trace "$scratch/absent/t" tsp
expect trace_of_nothing 2 "$moot" run -n 1 --trace= tsp

# --- Another run in the same folder, of fewer ranks ---

expect fewer 0 "$moot" run -n 2 --trace "$trace" conditional
ran=$(sed -n 's/^ *tasks run *\([0-9]*\),.*/\1/p' "$scratch/err")
expect report_of_fewer 0 "$moot" report "$trace" -o "$page"
says err "the trace of ranks 2-3 is not of this run, which has fewer ranks, and is left out"
equal "tasks run" "$(figure runs "$page")" "$ran"
expect fewer_again 0 "$moot" run -n 1 --trace "$trace" conditional
expect report_of_one 0 "$moot" report "$trace" -o "$page"
says err "the trace of ranks 1-3 is not of this run, which has fewer ranks, and is left out"

# --- Two deaths ---

expect deaths 0 "$moot" run -n 4 --trace "$scratch/d" \
    --faults kill:r1@task.start#3,kill:r2@task.end#5 tree 7 128
died=$(grep -c 'died after' "$scratch/err")
expect report_of_deaths 0 "$moot" report "$scratch/d" -o "$page"
equal "deaths" "$(figure dead "$page")" "$died"
equal "faults" "$(figure faults "$page")" 2
says err "the trace of rank 1 breaks off at"
grep -q '"kill:r1@task.start#3",1' "$page"
note $? "the rules that fired are not in the page"
drawn "$page"
expect chrome_of_deaths 0 "$moot" trace export "$scratch/d" -o "$scratch/chrome.json"
for name in "fault of rule 1" "sees the end of rank 1" "goes on without rank 1" "enters view 2"; do
    grep -q "\"ph\":\"i\".*\"name\":\"$name\"" "$scratch/chrome.json"
    note $? "no instant '$name'"
done

# --- Sessions, sets, one who comes and one who goes ---

expect sessions 0 "$moot" run -n 3 --trace "$scratch/s" --launcher "$build/examples/launcher_exec.so" \
    --hosts a:2,b:1 --max 6 "$build/tests/mpi/psets" grow
expect report_of_sessions 0 "$moot" report "$scratch/s" -o "$page"
equal "what it says beside" "$(cat "$scratch/err")" ""
equal "ranks with a trace" "$(figure whole "$page")" 4
sed -n '/id="data"/,/<\/script>/p' "$page" | sed '1d; s,</script>.*,,' >"$scratch/data.json"
python3 - "$scratch/data.json" <<'END'
import json, sys
data = json.load(open(sys.argv[1]))
sessions = [row[1:] for row in data["sessions"]]
assert sessions == [[1, "opened", [0, 1, 2]], [2, "joined", [0, 1, 2, 3]], [3, "left", [1, 2, 3]]], sessions
assert [row[0] for row in data["sessions"]] == sorted(row[0] for row in data["sessions"])
changes = sorted(row[1:] for row in data["changes"])
assert changes == [[0, "left", ""], [3, "joined", "b_0"]], changes
sets = [row[1:4] + row[4][1:] for row in data["sets"]]
gone = ["left", 0]
assert sets == [[2, "moot://all_1", [0, 1, 2]] + gone, [3, "moot://host/a_1", [0, 1]] + gone,
    [4, "moot://host/b_1", [2]], [5, "moot://all_2", [0, 1, 2, 3]] + gone,
    [6, "moot://host/a_2", [0, 1, 3]] + gone, [7, "moot://all_3", [1, 2, 3]],
    [8, "moot://host/a_3", [1, 3]]], sets
END
note $? "the page's sessions and sets are others"
drawn_sessions() {
    [ -e "$scratch/browser" ] || return 0
    timeout -k 5 90 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$scratch/browser" --dump-dom "file://$page" >"$scratch/dom" 2>/dev/null </dev/null
    for mark in '3 sessions, 2 came or went, 7 process sets' 'moot://host/a_3' 'rank 0 left' 'b_0'; do
        grep -q "$mark" "$scratch/dom"
        note $? "not drawn: $mark"
    done
}
drawn_sessions
expect chrome_of_sessions 0 "$moot" trace export "$scratch/s" -o "$scratch/chrome.json"
python3 - "$scratch/chrome.json" <<'END'
import json, sys
said = [(event["pid"], event["name"]) for event in json.load(open(sys.argv[1]))["traceEvents"]
    if event["name"].startswith("is in session")]
assert len(said) > 6 and len(set(said)) == len(said), said
END
note $? "a rank is told twice in which session it is"
for name in "sees the coming of rank 3" "sees the going of rank 0" "is in session 3" \
    "has set moot://host/b_1"; do
    grep -q "\"ph\":\"i\".*\"name\":\"$name\"" "$scratch/chrome.json"
    note $? "no instant '$name'"
done

# --- A checkpoint -----------------------------------------------------------------------------

for job in first second; do # the second one finds what the first one has stored
    expect "checkpoint_$job" 0 "$moot" run -n 2 --trace "$scratch/c" --checkpoint "$scratch/kept" \
        MOOT_CHECKPOINT_LEAST=0 "$build/tests/mpi/snapshots" 6
done
made=$(sed -n 's/^  snapshots  *\([0-9]*\) made .*/\1/p' "$scratch/err")
found=$(sed -n 's/^  checkpoint  *\([0-9]*\) found .*/\1/p' "$scratch/err")
expect report_of_snapshots 0 "$moot" report "$scratch/c" -o "$page"
equal "tasks found" "$(figure found "$page")" "$found"
equal "snapshots" "$(sed -n 's/.*"snapshot_count":\([0-9]*\).*/\1/p' "$page")" "$made"
[ "${found:-0}" -gt 0 ] && [ "${made:-0}" -gt 0 ]
note $? "nothing was found, or no snapshot made"
drawn "$page"
if [ -s "$scratch/dom" ]; then
    tr '\n' ' ' <"$scratch/dom" |
        grep -q "id=\"checkpoint-told\"><p>$found tasks not run: found in the checkpoint.</p><p>$made snapshot"
    note $? "not drawn: what was found, and snapshots"
    equal "snapshots drawn" "$(grep -o '<td>made</td></tr>' "$scratch/dom" | wc -l)" "$made"
fi

# --- Of tasks that a rank neither runs nor feeds it tells no less than who runs them ---

expect pruned 0 "$moot" run -n 2 --trace "$scratch/pruned" "$build/tests/mpi/pruned"
# Each of its moots has a folder: the longest run is the one in which all spawn the same.
# shellcheck disable=SC2012 # these names are ours
longest=$(dirname "$(ls -S "$scratch"/pruned/moot-*/rank-0.trace | head -n 1)")
for rank in 0 1; do
    mkdir "$scratch/alone-$rank"
    cp "$longest/rank-$rank.trace" "$scratch/alone-$rank"
    expect "pruned_$rank" 0 "$moot" trace export "$scratch/alone-$rank" --format csv
    awk -F, '{ print $1, $2, $3, $4, $NF }' "$scratch/out" | sort >"$scratch/graph-$rank"
done
cmp -s "$scratch/graph-0" "$scratch/graph-1" && [ "$(wc -l <"$scratch/graph-0")" -gt 1000 ]
note $? "the two ranks do not tell the same graph"

# --- Task arrays: elements are slices, on the ranks that run them ---

arrays=$scratch/arrays
expect run_arrays 0 "$moot" run -n 3 --trace "$arrays" blocks 100
says err "  elements run   100, of task arrays, by rank: 3"
equal "elements in the metrics" "$("$moot" trace export "$arrays" --format prometheus |
    awk '/^moot_elements_run_total/ { n += $2 } END { print n }')" 100
expect report_arrays 0 "$moot" report "$arrays" -o "$scratch/arrays.html"
equal "runs of elements" "$(figure elements "$scratch/arrays.html")" 100
expect chrome_arrays 0 "$moot" trace export "$arrays" -o "$scratch/arrays.json"
equal "slices of elements" "$(grep -c '"args":{"task":"element [0-9]* of .*"element":[0-9]*,' "$scratch/arrays.json")" 100
equal "each of them once" "$(grep -o '"element":[0-9]*' "$scratch/arrays.json" | sort -u | wc -l)" 100
for rank in 0 1 2; do # a rank writes of its own share alone
    share=$(grep -c '"pid":'"$rank"',.*"element":' "$scratch/arrays.json")
    [ "$share" -ge 33 ] && [ "$share" -le 34 ]
    note $? "rank $rank has recorded $share elements"
done
python3 -m json.tool "$scratch/arrays.json" >/dev/null
note $? "no JSON of arrays"

# One element fails, and with it the array.
cat >"$scratch/failing.c" <<'END'
#include <moot.h>
#include <moot_array.h>
#include <time.h>
static int point(moot_call *call, void *user)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    (void)user;
    return moot_call_index(call) == 17 ? MOOT_ERR_TASK_FAILED
           : moot_call_output(call, 8) ? MOOT_OK
                                       : MOOT_ERR_NO_MEMORY;
}
int main(void)
{
    moot *m;
    moot_kernel_id k;
    moot_array a;
    if (moot_open(NULL, &m) != MOOT_OK)
        return 1;
    moot_kernel_register(m, &(moot_kernel){.name = "point", .fn = point}, &k);
    moot_array_spawn(m, &(moot_array_spec){.kernel = k, .count = 30, .label = "lots"}, &a);
    if (moot_array_wait(m, a, MOOT_FOREVER) != MOOT_ERR_TASK_FAILED)
        return 1;
    moot_array_release(m, a);
    return moot_close(m);
}
END
# shellcheck disable=SC2046 # flags are meant to split
gcc -std=gnu11 -I"$BUILD/include" $(mpicc --showme:compile) "$scratch/failing.c" \
    -o "$scratch/failing" -L"$BUILD" -lmoot -Wl,-rpath,"$(realpath "$BUILD")" \
    $(mpicc --showme:link) ${SANITIZE:+-fsanitize=$SANITIZE}
note $? "failing.c does not compile"
expect run_failing 0 "$moot" run -n 2 --trace "$scratch/failing.t" "$scratch/failing"
expect csv_failing 0 "$moot" trace export "$scratch/failing.t" --format csv
# hash, kernel, label, site, by, spawned, rank, ready, start, end, code
awk -F, '$3 == "\"lots\"" && $7 ~ /^[01]$/ && $9 == "" && $10 > 0 && $11 < 0 { good++ } END { exit good != 1 }' \
    "$scratch/out"
note $? "no line of the array with a rank, an end and a code: $(grep lots "$scratch/out")"
expect report_failing 0 "$moot" report "$scratch/failing.t" -o "$scratch/failing.html"
equal "failures" "$(figure failed "$scratch/failing.html")" 1
grep -q '"failures":\[\["element 17 of point .lots. [0-9a-f]*",1,[0-9.]*,"MOOT_ERR_TASK_FAILED"\],$' \
    "$scratch/failing.html"
note $? "the page does not list the element that failed"
grep -q '^\["point .lots. [0-9a-f]*",[01],[0-9.]*,"MOOT_ERR_TASK_FAILED"\]\],"failure_count":2' \
    "$scratch/failing.html"
note $? "the page does not list the array that failed"
sed -n '/id="data"/,/<\/script>/p' "$scratch/failing.html" | sed '1d; s,</script>.*,,' | python3 -c '
import json, sys
ranks = json.load(sys.stdin)["timeline"]
bars = [(r[i + 2], r[i + 4]) for r in ranks for i in range(0, len(r), 5)]
sys.exit(sorted(n for state, n in bars if state == 0) != list(range(1, 31)) or
         any(n for state, n in bars if state != 0))'
note $? "the bars of kernels are not those of elements 0 to 29"

# --- Metrics ---

expect metrics 0 env MOOT_METRICS="$scratch/m.prom" "$moot" run -n 2 cholesky 4 16
for rank in 0 1; do
    prometheus "$scratch/m-$rank.prom"
done
equal "tasks" "$(cat "$scratch"/m-?.prom | awk '/^moot_tasks_run/ { n += $2 } END { print n }')" \
    "$(sed -n 's/^ *tasks run *\([0-9]*\),.*/\1/p' "$scratch/err")"

# What is no file is written to and stays what it is; what fails leaves nothing.
mkfifo "$scratch/pipe.prom"
cat "$scratch/pipe.prom" >"$scratch/piped" &
reader=$!
expect metrics_to_a_pipe 0 env MOOT_METRICS="$scratch/pipe.prom" "$moot" run -n 1 cholesky 2 16
[ -p "$scratch/pipe.prom" ]
note $? "a file took the pipe's place"
[ -p "$scratch/pipe.prom" ] || kill $reader
wait $reader
prometheus "$scratch/piped"
mkdir "$scratch/folder.prom"
expect metrics_to_a_folder 0 env MOOT_METRICS="$scratch/folder.prom" "$moot" run -n 1 cholesky 2 16
says err "cannot write its metrics to $scratch/folder.prom: Is a directory"
[ -z "$(find "$scratch" -name '*.unfinished')" ]
note $? "half of a file is left"

command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
    command -v google-chrome >/dev/null || echo "no Chromium here: no page was drawn"
check_end
