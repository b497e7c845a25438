#!/bin/sh
# local_wires_test.sh - moots without MPI: ranks that `moot run --launcher local` starts, over
# the transport tcp, and over ucx where the library was built with it.  Programs end right, also when ranks are killed by a plan or from
# outside, and the exit status is that of the table of moot-run(1), row by row.
#
# Finds the programs in $BUILD; run from
# the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
unset MOOT_CONFIG MOOT_TRANSPORT
# Under a name of this test's own: others may run that program, too, and processes are found by
# their names.
steady=$scratch/steady
ln -s "$build/tests/mpi/steady" "$steady"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
wires=tcp
[ ! -f "$build/wires/ucx.so" ] || wires="tcp ucx"

evidence="$scratch/said"
count=0
# run STATUS RANKS WORD...: with what is said in $evidence
run() {
    status=$1 ranks=$2
    shift 2
    count=$((count + 1))
    evidence="$scratch/said-$count"
    timeout -k 5 300 "$build/moot" run -n "$ranks" --launcher local "$@" >"$evidence" 2>&1 \
        </dev/null
    got=$?
    check "$*" "its status is $got, not $status" [ "$got" = "$status" ]
}
tsp="tsp deploy/examples/burma14.tsp"

# --- Well -------------------------------------------------------------------------------
for ranks in 1 2 4 7; do
    # shellcheck disable=SC2086 # words are meant to split
    run 0 $ranks $tsp
    check "tsp on $ranks" "it is not the optimum" says '^optimum 3323 '
done
[ "$wires" = tcp ] || run 0 4 --transport "$build/wires/ucx.so" tree 5 64
run 0 3 cholesky 4 32
run 0 3 cholesky --data 4 32
run 0 3 cholesky --arrays 4 32
run 0 3 --transport tcp:listen=127.0.0.1,ports=1024-65535 MOOT_RINGS=off cholesky 4 32

for wire in $wires; do
    # All by it, though memory could be shared; sealed, and not.
    for seal in auto off; do
        # shellcheck disable=SC2086 # words are meant to split
        run 0 3 --transport $wire MOOT_RINGS=off MOOT_SEAL=$seal $tsp
        check "by $wire, $seal" "it went by rings" says '0 by rings, 2 by the wire'
    done
    # The suite of all transports, of rings and it, and of it alone.
    for plain in "" plain; do
        # shellcheck disable=SC2086 # words are meant to split
        run 1 3 "$build/tests/conformance/transport_test" carrier $wire $plain # opens no moot
        check "the suite, $wire $plain" "it has another end" \
            says '^transport, 3 ranks: [1-9][0-9]* passed, 0 failed'
    done
    # Deaths by a plan, where no memory is shared.
    for plan in kill:r2@task.start#2 "kill:r1@task.end#4,kill:r3@task.start#2"; do
        # shellcheck disable=SC2086 # words are meant to split
        run 0 4 --transport $wire --faults "$plan" MOOT_RINGS=off $tsp
        check "$plan over $wire" "it is not the optimum" says '^optimum 3323 '
    done
done

# A mistake in its words: a line of the transport's, on whichever rank comes first.
run 1 3 --transport "tcp:ports=$((30000 + $$ % 10000))" tree 3 64
check "one port for three" "it is not said" says 'port .* of 127.0.0.1 is in use; name others'
check "one port for three" "the summary has no reason" \
    says "^moot: each of ranks 0-2 never opened a moot: .*port .* of 127.0.0.1 is in use; name others .*ss -ltnp 'sport = :[0-9]+', on "
check "one port for three" "the summary says it more than once" \
    [ "$(grep -c '^moot: .*never opened a moot' "$evidence")" -eq 1 ]

# victim_find PROGRAM: the process of rank 2 that runs it, in $victim
victim_find() {
    tries=0 victim=''
    while [ -z "$victim" ] && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
        for process in $(pgrep -f "^$1"); do
            ! grep -qsz '^MOOTRUN_RANK=2$' "/proc/$process/environ" || victim=$process
        done
    done
}

# --- Deaths -----------------------------------------------------------------------------
# shellcheck disable=SC2086 # words are meant to split
for plan in kill:r2@task.start#2 kill:r0@task.start#3 "kill:r1@task.end#4,kill:r3@task.start#2"; do
    run 0 4 --faults "$plan" $tsp
    check "$plan" "it is not the optimum" says '^optimum 3323 '
    check "$plan" "no death is told" says 'rank [0-3] died'
done

# From outside, and at once for those who wait: by the certificate, not by silence.
"$build/moot" run -n 4 --launcher local "$steady" 700000 >"$scratch/killed" 2>&1 &
job=$!
evidence="$scratch/killed"
victim_find "$steady "
sleep 0.5
kill -KILL "$victim"
wait "$job"
check "kill -9" "the status is not 0" [ $? = 0 ]
check "kill -9" "the death is not told" says 'rank 2 died after .*signal 9'

# From outside, in a pid namespace of its own, as on another host: no rank can look at that
# process, and its parent's word for its end is what counts.  Silence would take a minute.
cat >"$scratch/apart" <<'END_OF_PROGRAM'
#!/bin/sh
[ "$MOOTRUN_RANK" -ne 2 ] || exec unshare --pid --fork --mount-proc "$@"
exec "$@"
END_OF_PROGRAM
chmod +x "$scratch/apart"
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    evidence="$scratch/apart-said"
    "$build/moot" run -n 4 --launcher local MOOT_SUSPECT=60s MOOT_LEASE=20s "$scratch/apart" \
        "$steady" 400000 >"$evidence" 2>&1 &
    job=$!
    victim_find "$steady "
    sleep 0.5
    began=$(date +%s)
    kill -KILL "$victim"
    wait "$job"
    check "kill -9 apart" "the status is not that of unshare" [ $? = 1 ]
    check "kill -9 apart" "the death is not told" says 'rank 2 died .agreed on'
    check "kill -9 apart" "the others waited for silence" [ $(($(date +%s) - began)) -lt 40 ]
fi

env --default-signal=INT "$build/moot" run -n 4 --launcher local "$steady" 700000 \
    >"$scratch/struck" 2>&1 &
job=$!
evidence="$scratch/struck"
sleep 1
kill -INT "$job"
wait "$job"
check "^C" "the status is not 130" [ $? = 130 ]
check "^C" "it is not said" says 'ended by signal 2'
check "^C" "ranks are left" no pgrep -f "^$steady "

# --- Endings: as in endings_test.sh -----------------------------------------------------
# But an open that waits for a rank that has ended fails, so the others are not ended for it.
cat >"$scratch/rows" <<'END_OF_ROWS'
139 on  rank.1.died.after.*signal.11                    inside null
0   on  rank.1.died.after.*signal.9                     inside kill
7   on  rank.1.did.not.close.its.moot                   inside exit
1   on  rank.1.did.not.close.its.moot                   inside exit0
7   off rank.1.ended.*ending.the.job                    inside _exit
137 on  rank.1.died.after.*signal.9                     --deaths=fail inside kill
0   on  rank.1.died.after.*signal.11                    --deaths=any inside null
0   on  rank.1.died.*after.it.had.closed.*others.go.on  after kill
139 on  rank.1.died.*after.it.had.closed.*others.go.on  after null
7   on  rank.1.ended.*after.it.had.closed.*others.go.on after exit
1   on  rank.1.died.*after.it.had.closed.*others.go.on  between kill
END_OF_ROWS
# begin N [--deaths=WHICH] WHERE HOW
begin() {
    case=$1 deaths=''
    shift
    while case $1 in --deaths=*) ;; *) false ;; esac do
        deaths=$1
        shift
    done
    {
        # shellcheck disable=SC2086 # no option is no word
        timeout -k 5 60 "$build/moot" run -n 3 --launcher local $deaths \
            "$build/tests/mpi/endings" "$@" >"$scratch/$case" 2>&1 </dev/null
        echo $? >"$scratch/$case.status"
    } &
}
count=0
while read -r status others said words; do
    count=$((count + 1))
    # shellcheck disable=SC2086 # a case's words are meant to split
    begin $count $words
    [ $((count % 4)) -ne 0 ] || wait
done <"$scratch/rows"
wait
count=0
while read -r status others said words; do
    count=$((count + 1))
    evidence="$scratch/$count"
    got=$(cat "$evidence.status")
    check "$words" "its status is $got, not $status" [ "$got" = "$status" ]
    check "$words" "it is not said how the rank ended" says "$said"
    if [ "$others" = on ]; then
        check "$words" "the others did not go on" says '^rank 2 is past its close$'
    else
        check "$words" "the others went on" no says '^rank [02] is past its close$'
    fi
done <"$scratch/rows"
check_end
