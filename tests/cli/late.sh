# late.sh - a rank that stands still, for late_test.sh and late_hosts_test.sh; read from the
# top of the tree, behind check.sh.
#
# $build and $scratch are set, and MOOT_STALL is a second.
# shellcheck shell=sh disable=SC2154

# shellcheck disable=SC2016 # for the program to expand
{
    printf '#!/bin/sh\n[ "${MOOTRUN_RANK-$OMPI_COMM_WORLD_RANK}" -ne 2 ] || %s\nexec %s %s\n' \
        "sh -c 'kill -STOP \$\$; exec true'" "$build/examples/tsp" deploy/examples/burma14.tsp
} >"$scratch/stopped"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho $$ >%s/process-"${MOOTRUN_RANK-$OMPI_COMM_WORLD_RANK}"\nexec %s\n' \
    "$scratch" "$build/tests/mpi/steady 100000000 until $scratch/enough" >"$scratch/lasting"
sed 's/sh -c.*/sleep 3/' "$scratch/stopped" >"$scratch/slow"
chmod +x "$scratch/stopped" "$scratch/lasting" "$scratch/slow"

# go_on COMMAND...: as a job of three ranks, whose output is the evidence, as process $job
go_on() {
    evidence="$scratch/out"
    : >"$evidence"
    timeout -k 5 90 "$build/moot" run -n 3 "$@" >"$evidence" 2>&1 </dev/null &
    job=$!
}
# await PATTERN: the evidence has such a line, within half a minute
await() {
    tries=0
    until says "$1" || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    says "$1"
}
# advised: what the row of the rank advises, on HOST or here
advised() {
    pid=$(sed -n 's/.*kill -CONT \([0-9]*\) lets it go on$/\1/p' "$evidence" | head -n 1)
    [ -n "$pid" ] && $at_host kill -CONT "$pid"
}
at_host=''

# told_twice: that a rank has not opened its moot, and again later; after one second and two, or
# later on a busy host
told_twice() {
    sed -n 's/^moot: rank 2 has not opened its moot for \([0-9]*\) s; the others wait.*/\1/p' "$evidence" |
        awk 'NR == 1 { first = $1 } NR == 2 { second = $1 } END { exit !(second > first && first > 0) }'
}

# opening NAME OPTION...: told, told again later, and over when it goes on
opening() {
    told="an opening, $1"
    shift
    go_on "$@" "$scratch/stopped"
    tries=0
    until told_twice || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    check "$told" "it is not told, and told again" told_twice
    await 'lets it go on$' # it may have begun after the first words, on a busy host
    check "$told" "its process is not told" \
        says '^  rank 2: process [0-9]+ on host .* is stopped; kill -CONT [0-9]+ lets it go on$'
    check "$told" "what is advised does not work" advised
    wait "$job"
    check "$told" "the status is not 0" [ $? -eq 0 ]
    check "$told" "it is not the optimum" says '^optimum 3323 '
}

# outlived NAME OPTION...: it is ended, and the job's status is that of the others
outlived() {
    told="outlived, $1"
    shift
    go_on "$@" --faults 'pause:r2@20ms+600s' MOOT_SUSPECT=1s "$build/tests/mpi/steady" 20000
    wait "$job"
    got=$?
    check "$told" "the status is $got, not 0" [ $got -eq 0 ]
    check "$told" "it is not told" \
        says '^moot: rank 2 was removed by the others, who have ended, and still runs: it is ended in 5 s$'
    check "$told" "it is not told that it is stopped" \
        says '^  rank 2: process [0-9]+ on host .* is stopped; '
    check "$told" "the summary does not have it" \
        says 'rank 2 was removed alive \(and ended by moot run, after the others\) by view 2$'
    check "$told" "the launcher's own words are told" no says 'PMIX ERROR'
}

# recovered NAME OPTION...: one that goes on in the time that it is given ends by itself
recovered() {
    told="recovered, $1"
    shift
    rm -f "$scratch/enough"
    go_on "$@" MOOT_SUSPECT=1s MOOT_STALL=60s "$scratch/lasting"
    await '^steady: rank 2 is past its open'
    $at_host kill -STOP "$(cat "$scratch/process-2")"
    await 'go on in view 2$'
    touch "$scratch/enough"
    await 'lets it go on$'
    check "$told" "the time is not MOOT_STALL" says 'still runs: it is ended in 60 s$'
    check "$told" "what is advised does not work" advised
    wait "$job"
    got=$?
    check "$told" "the status is $got, not 0" [ $got -eq 0 ]
    check "$told" "it was ended" says 'rank 2 was removed alive by view 2$'
}
