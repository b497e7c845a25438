#!/bin/sh
# tune_test.sh - moot tune, as a user meets it: on programs that differ, that agree, that
# fail, and that say too little; and what becomes of its advice.
#
# Real ranks, more than there are cores for.  BUILD says where the command is (build).
set -u

build=$(cd "${BUILD:-build}" && pwd)
moot=$build/moot
examples=$(pwd)/deploy/examples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/out $scratch/err"
unset MOOT_CONFIG MOOT_VOTE_TIMEOUT MOOT_SUSPECT MOOT_HEARTBEAT MOOT_TRACE MOOT_FAULTS
export XDG_CONFIG_HOME="$scratch/config" TMPDIR="$scratch/tmp"
mkdir -p "$scratch/tmp"

# expect NAME STATUS SECONDS COMMAND...: runs it; out and err are in $scratch.
expect() {
    name=$1 status=$2 seconds=$3
    shift 3
    (cd "$scratch" && timeout "$seconds" "$@") >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ "$got" -eq "$status" ]
    note $? "exit $got, not $status"
}
says() {
    grep -qE -e "$2" "$scratch/$1"
    note $? "std$1 lacks: $2"
}

# A tune that is killed leaves its folder, and the next takes it away.
"$moot" tune -n 2 tree 12 4096 >/dev/null 2>&1 &
victim=$!
tries=0
until [ -n "$(find "$TMPDIR" -name 'moot-tune-*')" ] || [ $tries -gt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -KILL "$victim"
tries=0
while pgrep -f "$TMPDIR/moot-tune-" >/dev/null && [ $tries -le 200 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
[ $tries -lt 200 ]
name=killed note $? "its run goes on"
[ -n "$(find "$TMPDIR" -name 'moot-tune-*')" ]
name=killed note $? "it made no folder"
expect "after a killed one" 0 60 "$moot" tune -n 2 --runs 1 tree 3 64
[ -z "$(find "$TMPDIR" -name 'moot-tune-*')" ]
name=killed note $? "a folder is left"

# --- The command line ---

for bad in "" "-n 1 tsp" "-n 4" "-n 4 --runs 0 tsp" "-n 4 --runs" "-n 4 -x tsp" "-n1 tsp" \
    "-n4 --runs=0 tsp" "-n 4 --runs= tsp" "-n 2 -n 4 tsp" "-n 4 --bandwidth fast tsp"; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "tune '$bad'" 2 10 "$moot" tune $bad
    says err "moot help tune"
done

expect a_knob_that_is_none 2 10 "$moot" tune -n 2 MOOT_VOTERS=0 tsp
says err "MOOT_VOTERS is '0', but may be 1 to 15"
expect knobs_that_contradict 2 10 "$moot" tune -n 2 MOOT_SUSPECT=1s tsp
says err "MOOT_SUSPECT is 1s .*: MOOT_LEASE is 5s .*; unless it is told otherwise here, tune sets .*MOOT_LEASE=5s"

expect two_of_one_knob 2 10 "$moot" tune -n 2 MOOT_VOTERS=1 MOOT_VOTERS=2 tsp
says err "moot tune: MOOT_VOTERS=1 and MOOT_VOTERS=2 are not the same: give one of them"

while IFS='|' read -r words told; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "two_of_one_option: $words" 2 10 "$moot" tune -n 2 $words tsp
    says err "moot tune: $told are not the same: give one of them"
done <<'END'
-o one -o two|-o one and -o two
-o moot.conf -o two|-o moot.conf and -o two
--runs 1 --runs=2|--runs 1 and --runs 2
--bandwidth 1GB --bandwidth=2GB|--bandwidth 1GB and --bandwidth 2GB
--link-bandwidth 1GB --link-bandwidth none|--link-bandwidth 1GB and --link-bandwidth none
END

for option in --bandwidth --link-bandwidth; do
    expect "a_rate_that_is_none: $option" 2 10 "$moot" tune -n 2 $option 10Gb tsp
    says err "^moot tune: $option 10Gb: .*; allowed: none, or B, kB, MB, GB, kbit, Mbit, Gbit a second"
done

for late in --runs -n --; do
    expect "tune_with_$late behind a setting" 2 10 "$moot" tune -n 2 MOOT_VOTERS=1 "$late" tsp
    says err "moot tune: $late stands behind MOOT_VOTERS=1: options come before settings"
done
expect two_ends_of_the_options 2 10 "$moot" tune -n 2 -- MOOT_VOTERS=1 -- tsp
says err "moot tune: -- stands behind MOOT_VOTERS=1: options come before settings"

expect a_trace_of_another 2 10 "$moot" tune -n 2 MOOT_TRACE=mine tsp
says err "MOOT_TRACE=mine: tune keeps traces of its own"

# --- Programs that cannot be measured ---

expect a_program_that_fails 1 60 "$moot" tune -n 2 -o failed.conf -- false
says err "run 1 of the program failed"
[ ! -e "$scratch/failed.conf" ]
note $? "writes a file all the same"
expect a_program_without_a_moot 1 60 "$moot" tune -n 2 true
expect a_file_that_cannot_be 1 60 "$moot" tune -n 2 --runs 1 -o /no/such/folder/f conditional
says err "/no/such/folder/f: No such file"
[ ! -s "$scratch/out" ]
note $? "the program ran for nothing"
echo "# mine" >"$scratch/mine.conf"
ln -s elsewhere.conf "$scratch/link.conf"
expect a_link_that_stays 1 60 "$moot" tune -n 2 -o link.conf -- false
[ -L "$scratch/link.conf" ]
note $? "the link is gone"
expect a_file_that_stays 1 60 "$moot" tune -n 2 -o mine.conf -- false
[ "$(cat "$scratch/mine.conf")" = "# mine" ]
note $? "what was in the file is gone"
expect too_few_waits 0 60 env MOOT_TRACE=mine "$moot" tune -n2 --runs=1 -o few.conf conditional
says out "advised: MOOT_VOTE_TIMEOUT=never, the default: .* asked"
[ "$(grep -c MOOT_TRACE "$scratch/err")" -eq 1 ] && [ ! -e "$scratch/mine" ]
note $? "there is another trace, or another word of it"
says err "^moot tune: MOOT_TRACE=mine \(environment\) is not used: tune keeps traces of its own$"
grep -qx 'MOOT_VOTE_TIMEOUT = never' "$scratch/few.conf"
note $? "another timeout in the file"
grep -q '^# By moot tune .* of 1 run of$' "$scratch/few.conf"
note $? "the file does not say of which runs"
says out '^few.conf: MOOT_CONFIG=few.conf has it used$'
echo "MOOT_TRACE = mine" >"$scratch/mine.conf"
for where in "env MOOT_CONFIG=mine.conf $moot tune" "$moot tune"; do
    knob=MOOT_CONFIG=mine.conf
    [ "$where" = "$moot tune" ] || knob=MOOT_STALL=20s
    # shellcheck disable=SC2086 # words are meant to split
    expect "a_trace_of_a_file: $where" 0 60 $where -n 2 --runs 1 -o - -- $knob conditional
    says err "^moot tune: MOOT_TRACE=mine \(mine.conf:1\) is not used: tune keeps traces of its own$"
    [ "$(grep -c MOOT_TRACE "$scratch/err")" -eq 1 ] && [ ! -e "$scratch/mine" ]
    note $? "there is another trace, or another word of it"
done
expect a_knob_that_tune_sets_itself 0 60 "$moot" tune -n 2 --runs 1 -o - -- MOOT_LEASE=4s conditional
says out "^MOOT_VOTE_TIMEOUT = never"
echo "# mine" >"$scratch/mine.conf"
for kept in 1 2; do
    expect "what_was_there_stays $kept" 0 60 "$moot" tune -n 2 --runs 1 -o mine.conf conditional
    says out "/mine\.conf\.~$kept~: the older content of mine.conf\$"
done
[ "$(cat "$scratch/mine.conf.~1~")" = "# mine" ]
note $? "what was in the file is not kept"
grep -q '^# By moot tune ' "$scratch/mine.conf" && grep -q '^# By moot tune ' "$scratch/mine.conf.~2~"
note $? "a file is not tune's"

# --- A program whose ranks differ: within a minute, a file that can be used ---

expect tsp 0 60 "$moot" tune -n 4 -o tsp.conf -- tsp "$examples/burma14.tsp"
says out "^measured: [0-9]+ runs of 4 ranks on 1 host"
says out "^  round trips +[0-9]+ +p50 .* p99 .* p99.9 .* most .*, from rank [0-3] to [0-3] and back"
says out "^  progress gaps +[0-9]+ +p50 .* most .*, on rank [0-3] "
says out "^  advised .* 3 s "
for preset in local lan wan; do
    says out "^  $preset +[0-9]"
done
# What is advised is on the frontier of the table, and without a needless vote.
says out "^>\* +[0-9a-z. ]+\| +0 +0 +0 +\|"
# A replay casts about as many votes as the run that it repeats: within a tenth.
sed -n 's/^(recorded runs cast \([0-9.]*\) votes .* \([0-9.]*\))$/\1 \2/p' "$scratch/out" |
    awk '$1 > 50 && $2 > 0.9 * $1 && $2 < 1.1 * $1 { good = 1 } END { exit !good }'
note $? "the replay is another"
says out "^\(bandwidth: none was given, so bytes take no time in replays\)\$"
says out "tsp.conf: MOOT_CONFIG=tsp.conf has it used"
expect the_file_is_taken 0 10 env MOOT_CONFIG=tsp.conf "$moot" info
says out "from: tsp.conf:"
expect tsp_with_it 0 60 env MOOT_CONFIG="$scratch/tsp.conf" "$moot" run -n 4 tsp \
    "$examples/burma14.tsp"
says out "^optimum 3323"

# --- A program whose ranks agree: four runs with its advice, and no vote ---

expect cholesky 0 300 "$moot" tune -n 4 --link-bandwidth 10Gbit -o - -- cholesky
cp "$scratch/out" "$scratch/cholesky.conf" # and nothing else is on standard output
cp "$scratch/err" "$scratch/bound"
says err "^>\* +[0-9a-z. ]+\| +0 +0 +0 +\|"
for run in 1 2 3 4; do
    expect "agreeing run $run" 0 60 env MOOT_CONFIG="$scratch/cholesky.conf" \
        "$moot" run -n 4 cholesky
    says err "^  votes +0$"
done

grep -q "^(bandwidth: none a second of each rank, and 1250MB of each pair" "$scratch/bound"
note $? "the bandwidth is not said"

# --- A signal ends the run, and tune with it; it ends the replay, too ---

printf '#!/bin/sh\necho started\nexec sleep 50\n' >"$scratch/sleeper"
chmod +x "$scratch/sleeper"
# ended_by SIGNAL STATUS MARK ARGUMENTS...: tune, once it has said MARK
ended_by() {
    signal=$1 status=$2 mark=$3
    shift 3
    : >"$scratch/out"
    (cd "$scratch" && exec "$moot" tune -n 2 "$@") >"$scratch/out" 2>&1 &
    job=$!
    tries=0
    while ! grep -q "$mark" "$scratch/out" && [ $tries -lt 600 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    began=$(date +%s)
    kill "-$signal" $job
    wait $job
    got=$?
    [ $got -eq "$status" ] && [ $(($(date +%s) - began)) -lt 30 ]
    note $? "it went on, to exit $got"
}
for ending in TERM:143 HUP:129; do
    name=a_signal_ends_its_run
    ended_by "${ending%:*}" "${ending#*:}" started ./sleeper
    name=a_signal_ends_its_replay
    ended_by "${ending%:*}" "${ending#*:}" "^measured" --runs 3 -o - -- \
        tsp "$examples/burma14.tsp"
done

name=nothing_is_left_behind
[ -z "$(find "$scratch/tmp" -mindepth 1)" ]
note $? "files in TMPDIR"

check_end
