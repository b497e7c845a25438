#!/bin/sh
# sim_test.sh - moot sim, as a shell sees it: wrong options say what is allowed, a seed is
# one run, a failure prints a line that repeats it, and small answers come out right.
# BUILD says where the command is.
set -u

moot=${BUILD:-build}/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

# expect NAME STATUS ARGUMENTS...: runs moot sim; out and err are in $scratch.
expect() {
    name=$1 status=$2
    shift 2
    timeout 120 "$moot" sim "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ "$got" -eq "$status" ]
    note $? "exit $got, not $status: $(tail -n 3 "$scratch/err")"
}
# says FILE PATTERN: a line of std$FILE is like that.
says() {
    grep -q -e "$2" "$scratch/$1"
    note $? "std$1 has no \"$2\": $(head -c 600 "$scratch/$1")"
}
digest() { sed -n 's/.*digest[a-z ]* \([0-9a-f]\{32\}\).*/\1/p' "$scratch/out"; }

# --- Wrong command lines ------------------------------------------------------------

while IFS='|' read -r arguments wanted; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "wrong: $arguments" 2 $arguments
    says err "$wanted"
    [ ! -s "$scratch/out" ]
    note $? "it prints on standard output"
    ! grep -q "^Try " "$scratch/err" || tail -n 1 "$scratch/err" | grep -q "^Try "
    note $? "something stands behind where help is"
done <<'TABLE'
--seed 1|say how many ranks: --ranks N
--ranks 0|--ranks takes a number of ranks, 1 to 16384, not "0"
--ranks 3x|--ranks takes a number of ranks, 1 to 16384, not "3x"
--ranks|--ranks takes a value
--ranks 3 --colour red|there is no option --colour
--ranks 3 --seed one|--seed takes a whole number, not "one"
--ranks 3 --seeds 5..1|--seeds takes a range such as 1..1000, not "5..1"
--ranks 3 --seeds 5|--seeds takes a range such as 1..1000, not "5"
--ranks 3 --seeds 1..18446744073709551615|--seeds takes numbers up to 18446744073709551614
--ranks 3 --seeds 1..99999999999999999999|--seeds takes numbers up to 18446744073709551614
--ranks 3 --seed 4 --seeds 1..9|--seed is one run and --seeds are many
--ranks 3 --seeds 1..9 --seed 4|--seed is one run and --seeds are many
--ranks 3 --ranks 4|--ranks 3 and --ranks 4 are not the same: give one of them
--ranks 3 --seed 4 --seed 5|--seed 4 and --seed 5 are not the same
--ranks 3 --seeds 1..2 --seeds 1..3|--seeds 1..2 and --seeds 1..3 are not the same
--ranks 3 --tasks 5 --tasks 6|--tasks 5 and --tasks 6 are not the same
--ranks 3 --jobs 1 --jobs 2|--jobs 1 and --jobs 2 are not the same
--ranks 3 --faults none --faults drop:0.1|--faults none and --faults drop:0.1 are not the same
--ranks 3 --lateness 1ms --lateness 2ms|--lateness 1ms and --lateness 2ms are not the same
--ranks 3 --workload agree --workload skip|--workload agree and --workload skip are not the same
--ranks 3 --canary run-twice --canary late|--canary run-twice and --canary late are not the same
--ranks 3 --sweep voters=1,2 --sweep voters=3|--sweep voters=1,2 and --sweep voters=3 are not the same
--ranks 3 --voters 1 --voters 3|--voters 1 and --voters 3 are not the same
--ranks 3 --vote-timeout never --vote-timeout 5ms|--vote-timeout never and --vote-timeout 5ms are not the same
--ranks 3 --gaps 1001|of a thousand turns, at most 1000
--ranks 3 --heartbeat 1h|--heartbeat 1h: at most 10s
--ranks 3 --suspect 10us|--suspect 10us: at least 1ms
--ranks 3 --ask-delay 10s|--ask-delay 10s: at most 1s
--ranks 3 --heartbeat 10ms --suspect 15ms|--suspect 15ms is less than 2 times --heartbeat 10ms
--ranks 3 --lease 15ms --heartbeat 10ms|--lease 15ms is less than 2 times --heartbeat 10ms
--ranks 3 --heartbeat auto|a time, such as 5ms, should stand here
--ranks 3 --workload skip:|a probability, such as 0.1, is missing here$
--ranks 3 --jobs 0|--jobs takes a number of processes, 1 to 256, not "0"
--ranks 3 --tasks many|--tasks takes a number of tasks, 1 to 1000000, not "many"
--ranks 3 --workload skpi|unknown workload "skpi"; did you mean "skip"
--ranks 3 --workload skip:3|a probability is between 0 and 1; allowed: 0 to 1, as in 0.1
--ranks 3 --workload such|takes a name (random, agree, skip, .*) or a script
--ranks 3 --workload deploy/examples/refine.moot --tasks 5|--tasks has no effect with a script
--ranks 3 --workload no/such.moot|--workload no/such.moot: No such file or directory$
--ranks 3 --workload /tmp|--workload /tmp: Is a directory$
--ranks 3 --lateness soon|--lateness takes none, 1ms, 2ms+-1ms, exp:1ms or pareto:1ms:1.5
--ranks 3 --bandwidth 10Gb|allowed: none, or B, kB, MB, GB, kbit, Mbit, Gbit a second
--ranks 16 --bandwidth 10MB --heartbeat 1ms|--heartbeat 1ms: the heartbeats of 16 ranks and what else they say do not pass
--ranks 4 --bandwidth 1MB --suspect 100ms|--suspect 100ms: the heartbeats of 4 ranks and what else .*; at least [0-9]*us$
--ranks 3 --faults none --divergence stric|unknown mode "stric"; did you mean "strict"
--ranks 3 --divergence trust|--divergence trust goes with --faults none
--ranks 3 --divergence strict --faults leave:r1@1ms|--divergence strict lets no rank leave: no leave in the plan
--ranks 3 --faults join:x9@1ms|the plan has 9 newcomers; at most 8 may join
--ranks 62 --faults join:x3@1ms|62 ranks and 3 newcomers are more than 64
--ranks 3 --faults leave:r3@1ms|there is no rank 3
--ranks 3 --lateness 1ms|--lateness goes with workloads that have phases
--ranks 3 --faults dorp|unknown fault "dorp"; did you mean "drop"
--ranks 3 --faults kill:r3@1ms|the plan does not fit 3 ranks: there is no rank 3
--ranks 3 --vote-timeout 5|--vote-timeout 5: a time needs a unit; allowed: ns, us, ms, .* as in 1.5s, or auto, or never
--ranks 3 --vote-timeout soon|should stand here, not "soon"; allowed: a time such as 5ms, or auto, or never
--ranks 3 --sweep ask-delay=soon|should stand here, not "soon"; allowed: a time such as 5ms, or auto$
--ranks 3 --latency never|--latency never: a time, such as 5ms, should stand here
--ranks 3 --voters 16|--voters 16: there are 1 to 15 voters
--ranks 3 --sweep colour=1|--sweep takes SETTING=VALUE,VALUE,.* such as vote-timeout
--ranks 3 --sweep voters=|--sweep voters=: a value is missing
--ranks 3 --sweep voters=1,,3|--sweep voters=1,,3: a value is missing
--ranks 3 agree|unknown argument agree: a workload stands behind --workload, a plan behind --faults
--ranks 3 --sweep voters=1,x|--sweep x: a whole number should stand here
--ranks 3 --canary parrot|there is no canary "parrot"; there are:
--ranks 65|random programs have at most 64 ranks
--ranks 65 --faults none|random programs have at most 64 ranks
--ranks 3 --drawn-storm|--drawn-storm belongs to --faults PLAN
--ranks 3 --trace --seeds 1..2|--trace tells one run: give --seed, not --seeds
--ranks 3 --hosts 2|"x" and how many ranks are on each is missing here
--hosts 0x4|--hosts takes hosts and ranks on each, as in 8x4, or drawn, not "0x4"
--hosts drawn|say how many ranks: --ranks N, or --hosts 8x4
--ranks 7 --hosts 3x2|3 hosts of 2 ranks hold 5 to 6, not 7
--ranks 3 --route star:0|--route goes with --hosts such as 8x4: it is between hosts
--ranks 6 --hosts drawn --route star:0|--route goes with --hosts such as 8x4: drawn hosts have a drawn route
--hosts 3x2 --route star:3|--route star:3: there is no host '3'; the hosts of this job are 0, 1, 2
--hosts 3x2 --route links:0-1|--route links:0-1: there is no route from host 0 to host 2: add a link
--ranks 3 --faults kill:h1@1s|the plan names hosts: say which there are, --hosts 4x2
--hosts 3x1 --faults kill:h3@1s|the plan does not fit 3 ranks: there is no host 3: the job has 3 hosts
--ranks 3 --shrink --sweep voters=1|--sweep goes with neither --trace, --shrink nor --coverage
TABLE

# --- One run ------------------------------------------------------------------------

expect a_seed_is_one_run 0 --ranks 5 --seed 17
says out '^good: 5 ranks, [0-9]* tasks, seed 17$'
says out '^  events  .* of virtual time; digest '
says out '^  messages  .*; per rank .*; most '
first=$(digest)
expect again 0 --ranks 5 --seed 17
[ -n "$first" ] && [ "$(digest)" = "$first" ]
note $? "the digest is another"
expect another_seed 0 --ranks 5 --seed 18
[ "$(digest)" != "$first" ]
note $? "the digest is the same"

# A rank is cut off where a session ends, and closes; the quorum comes back.
expect nobody_waits_for_who_has_closed 0 --ranks 6 --seed 100842

# The tour shows a run as the command prints it, digest and all.
tour=deploy/doc/SIMULATOR.md
# shellcheck disable=SC2046 # words are meant to split
expect the_sample_of_the_tour 0 $(sed -n 's/^\$ moot sim //p' "$tour" | head -n 1)
awk '/^```$/ && on { exit } on { print } /^\$ moot sim / { on = 1 }' "$tour" >"$scratch/shown"
shown=$(sed -n 's/.*; digest \([0-9a-f]\{32\}\)$/\1/p' "$scratch/shown")
[ -n "$shown" ] && [ "$(digest)" = "$shown" ]
note $? "the tour's digest is \"$shown\", not $(digest)"
cmp -s "$scratch/shown" "$scratch/out"
note $? "$(diff "$scratch/shown" "$scratch/out" | head -n 4)"

# Settings that are far from each other, or from the weather's, are no violations.
for setting in heartbeat suspect lease quorum-wait gossip-period latency step gap; do
    expect "extreme: $setting" 0 --ranks 5 --seeds 1..2 --jobs 1 --$setting 10s
done
expect extreme_asks 0 --ranks 5 --seed 1 --ask-delay 1s
expect extreme_suspicion 0 --ranks 5 --seeds 1..20 --jobs 1 --suspect 1ms --latency 5ms

expect help_is_there_behind_options 0 --ranks 5 --help
says out '^usage: moot sim '

# Who was told of a once task amid a change of views, and is not its chair, judges nothing.
expect only_chairs_judge 0 --ranks 5 --seed 113681

# A task was returned, by a rank that leaves, before the chair had all reports, and was
# given back to it by these: it stood there for ever.
for seed in 17468 92300; do
    expect "returns do not cross reports: $seed" 0 --ranks 5 --seed $seed
done

# Rank 0 found itself without a quorum and, in the same step, alone: it adjourned, and what
# it had not claimed for want of the quorum was not run.
expect who_has_no_quorum_does_not_adjourn 0 --ranks 5 --seed 80336

# Made again after a death, a task that had ended well failed: its input had no candidate.
expect who_ended_well_does_not_fail 0 --ranks 5 --seed 33556

expect ranks_that_agree_never_vote 0 --ranks 8 --workload agree --tasks 2000 \
    --faults none --steady
says out '^  votes        0$'
says out '^  gossip .* 0\.[0-9]* bytes per task and peer$'

cat >"$scratch/poison.moot" <<'SCRIPT'
task a[6] work 100us
task b work 100us poison
on all
    spawn a b
    wait b
SCRIPT
expect a_poisoned_script_kills_two 0 --ranks 5 --workload "$scratch/poison.moot" --faults seed:0
says out "2 deaths"
says out "MOOT_ERR_CRASHED"
expect poison_wants_faults 2 --ranks 5 --workload "$scratch/poison.moot" --faults none

expect skipped_spawns_cost_votes 0 --ranks 8 --workload skip:10% --tasks 400 \
    --faults none --steady
says out '^  votes        [1-9]'
says out '^  per vote  .* messages, .* for .* who ask'
says out '^  vote latency p50 .* p90 .* p99 .* most '

expect a_trace_is_told 0 --ranks 3 --workload chain --tasks 12 --faults none --trace
says out '^t1 <- t0 '
says out ' ms  rank [0-2] '

# --- Faults -------------------------------------------------------------------------

expect a_plan_is_carried_out 0 --ranks 5 --workload skip --tasks 60 --steady \
    --faults drop:0.1/vote,kill:r2@100us
says out '^  rules        drop:0.1/vote fired [1-9][0-9]* times$'
says out '^               kill:r2@100us fired 1 time$'
says out '^  membership   1 view, 1 death, '

expect a_rule_that_never_fires_is_an_error 3 --ranks 3 --workload agree --tasks 12 \
    --steady --faults kill:r2@vote.cast#50
says err 'rule 1, kill:r2@vote.cast#50, never fired in the [0-9.]* [mu]s that the run took'
says out '^untested: 3 ranks, 12 tasks, seed 1$'
expect in_many_runs_too 3 --ranks 3 --workload agree --tasks 12 --steady \
    --faults kill:r2@vote.cast#50 --seeds 1..4
says err 'in 4 runs a rule that had to fire never did'
says out '^4 seeds: 0 good, 4 untested, 0 violations, in '
expect in_a_sweep_too 3 --ranks 3 --workload agree --tasks 12 --steady --lateness none \
    --faults kill:r2@1000s --seeds 1..2 --sweep voters=1
says err 'in 2 runs a rule that had to fire never did'

expect a_wait_that_faults_never_let_end_is_told 1 --ranks 3 --workload agree --tasks 12 \
    --steady --faults drop:1/result
says out '^FAILED quiescence: the program got nowhere for '

# --- Many runs ----------------------------------------------------------------------

expect many_seeds 0 --ranks 4 --seeds 1..40 --jobs 2
says out '^40 seeds: 40 good, 0 violations, in '
says out '^  faults  .* runs)'
all=$(digest)
expect on_one_process 0 --ranks 4 --seeds 1..40 --jobs 1
[ -n "$all" ] && [ "$(digest)" = "$all" ]
note $? "the digest of all depends on the number of processes"

# What a dead process held, or a seed beyond the last, must not keep the others waiting.
expect the_last_seeds 0 --ranks 3 --jobs 2 \
    --seeds 18446744073709551610..18446744073709551614
says out '^5 seeds: 5 good, 0 violations, in '

name=who_reads_may_leave
# shellcheck disable=SC2016 # for that shell to expand
timeout 60 sh -c '"$1" sim --ranks 3 --seeds 1..100000 --jobs 2 --canary run-twice |
    head -n 1' sh "$moot" >"$scratch/out"
note $? "the command goes on without a reader"

name=a_process_may_be_killed
timeout 60 "$moot" sim --ranks 5 --seeds 1..600 --jobs 1 >"$scratch/out" 2>&1 &
job=$!
worker=''
while kill -0 "$job" 2>/dev/null; do # `timeout` has a child, and that has one
    command=$(pgrep -n -P "$job") && worker=$(pgrep -n -P "$command") &&
        kill -KILL "$worker" && break
    sleep 0.02
done
wait "$job"
got=$?
[ -n "$worker" ] && [ "$got" -eq 1 ]
note $? "exit $got, worker '$worker'"
says out '^FAILED crash: the run ended its process (signal 9)$'
says out '^600 seeds: 599 good, 1 violation, in '

# --- Failures -----------------------------------------------------------------------

expect a_canary_is_seen 1 --ranks 5 --seed 3 --canary corrupt-result
says out '^FAILED oracle: t[0-9]* at rank [0-4] '
says out '^  replay: moot sim --ranks 5 --seed 3 --canary corrupt-result$'
before=$(digest)
replay=$(sed -n 's/^  replay: moot //p' "$scratch/out")
name=a_replay_line_repeats_it
# The line is for a shell.
eval "timeout 60 '$moot' $replay" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && [ -n "$before" ] && [ "$(digest)" = "$before" ]
note $? "the replay is another run"

expect a_canary_that_nothing_happened_to 3 --ranks 3 --workload agree --faults none \
    --canary other-view
says out '^untested: 3 ranks, '
says err 'no check saw the canary other-view: '
expect in_many_runs_as_well 3 --ranks 3 --workload agree --faults none \
    --canary other-view --seeds 1..3
says out '^3 seeds: 0 good, 3 untested, 0 violations, in '
says err 'in 3 runs no check saw the canary other-view: '

expect many_runs_tell_their_failures 1 --ranks 4 --seeds 1..12 --canary corrupt-result
says out '^FAILED oracle: '
says out '^  replay: moot sim --ranks 4 --seed [0-9]* --canary corrupt-result$'
says out '^12 seeds: '

expect what_met_whom_is_told 0 --ranks 4 --seeds 1..40 --coverage
says out '^MOTION  .* [1-9][0-9k]*$'
says out '^PROMISE .* \.$'
says out '^[0-9]* of 409 possible pairs of a message and its receiver.s state$'
says out '^arms are counted by a build for that: make coverage$'

expect a_failure_is_made_small 1 --ranks 5 --seed 3 --canary corrupt-result --shrink
says out '^shrunk in [0-9]* tries (check "oracle"):$'
replay=$(sed -n 's/^  moot //p' "$scratch/out")
name=what_is_left_still_fails
eval "timeout 60 '$moot' $replay" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ]
note $? "it does not"
says out '^FAILED oracle: '
says out '^bad: 2 ranks, [1-9] tasks, seed 3$'

# --- Scripts ------------------------------------------------------------------------

# A newcomer knows who was lost before its time: what never ran runs (losses.c).
printf 'task a[64] once\non all\n    compute 150ms\n    spawn a\n    wait a\n' >"$scratch/late"
for seed in 1 2 3; do
    expect "a newcomer after a death, seed $seed" 0 --ranks 4 --workload "$scratch/late" \
        --steady --seed "$seed" --faults restart:r2@1ms+100ms
    says out "1 death, 0 removed alive, 1 joined"
    ! grep -q "wait errors" "$scratch/out"
    note $? "waits fail: $(grep "wait errors" "$scratch/out")"
done

expect a_script_runs 0 --ranks 6 --workload deploy/examples/refine.moot --faults none
says out '^good: 6 ranks, 145 tasks, seed 1$'
expect a_script_under_faults 0 --ranks 6 --workload deploy/examples/refine.moot \
    --seeds 1..20
expect a_script_of_a_large_array 0 --ranks 20 --workload deploy/examples/million.moot
says out '^good: 20 ranks, 1 task, seed 1$'
says out 'ELEMENTS [0-9]'
expect elements_are_counted 0 --ranks 20 --workload deploy/examples/million.moot --faults none
says out '^  tasks        0 run, 20 spawns$'
says out '^  elements     1000000 ended, of task arrays$'
printf 'task tile[4]\non all\n  spawn tiel\n' >"$scratch/wrong.moot"
expect a_script_is_refused 2 --ranks 2 --workload "$scratch/wrong.moot"
says err 'wrong.moot:3:9: unknown task "tiel"; did you mean "tile"?$'
says err '^          ^~~~$'
printf 'task a\ntask b <- a\non all\n  spawn a\non 0\n  fetch b\n' >"$scratch/nobody.moot"
expect a_wait_that_ends_in_an_error_is_told 0 --ranks 3 --workload "$scratch/nobody.moot" \
    --faults none
says out '^  wait errors  1 MOOT_ERR_NOT_HELD$'
{ printf 'task a\non all\n  spawn a\n'; yes '# more' | head -c 16777216; echo nonsense; } \
    >"$scratch/long.moot"
expect a_script_that_is_too_long 2 --ranks 2 --workload "$scratch/long.moot"
says err 'long.moot: File too large$'
rm "$scratch/long.moot"
printf 'task a\non 0-3\n  spawn a\n' >"$scratch/wide.moot"
expect a_script_that_does_not_fit 2 --ranks 2 --workload "$scratch/wide.moot"
says err 'wide.moot:2:4: there is no rank 3: the run has 2, 0 to 1$'
printf 'task a\non all\n  spawn a\n  barrier\n' >"$scratch/barrier.moot"
expect barriers_do_without_faults 0 --ranks 3 --workload "$scratch/barrier.moot" \
    --faults none
expect barriers_do_not_survive_faults 2 --ranks 3 --workload "$scratch/barrier.moot"
says err 'a barrier does not survive faults: --faults none'
expect poison_takes_faults 2 --ranks 5 --workload poison --faults none
says err 'somebody has to notice: not with --faults none'
expect poison_takes_three_ranks 2 --ranks 2 --workload poison
says err 'of 2 ranks poison leaves nobody'
expect poison_ends_crashed 0 --ranks 5 --workload poison --seeds 1..40
says out '[0-9] MOOT_ERR_CRASHED'

# --- Sweeps -------------------------------------------------------------------------

expect a_sweep_is_a_table 0 --ranks 4 --workload skip --tasks 60 --steady --seeds 1..4 \
    --sweep vote_timeout=never,1ms,5ms
[ "$(grep -c '^ranks spawn late by ' "$scratch/out")" -eq 5 ]
note $? "there are not five distributions"
says out '^ranks spawn late by exp:1ms$'
says out '^  vote-timeout  *votes  *needless  *asks |'
[ "$(grep -c '^  never ' "$scratch/out")" -eq 5 ] &&
    [ "$(grep -c '^  5ms ' "$scratch/out")" -eq 5 ]
note $? "a value has no row"

expect timers_are_learnt 0 --ranks 4 --workload skip --tasks 200 --steady --seeds 1..4 \
    --faults seed:0 --heartbeat 500us --lease 2ms --suspect 3ms --quorum-wait 30ms \
    --lateness none --sweep ask-delay=20ms,auto
says out '^  ask-delay .* wait mean .* removed$'
# What waits for 20 ms takes that; what learns takes less.
says out '^  20ms .* ms *[0-9.]* ms |'
says out '^  auto .* us *[0-9.]* [mu]s |'
expect a_plan_of_nothing 2 --ranks 3 --faults ''
says err '^moot sim: --faults takes none, or a plan, not nothing$'

# A rank that may be held up for a minute, and heartbeats as rare as that allows.
began=$(date +%s)
expect a_minute_is_not_all_heartbeats 0 --ranks 3 --faults slow:60s --tasks 12
[ $(($(date +%s) - began)) -lt 4 ]
note $? "it takes $(($(date +%s) - began)) s"

# Heartbeats are as rare as a small bandwidth wants; each of these seeds failed, as they were not.
expect a_small_bandwidth_is_no_fault 0 --ranks 16 --bandwidth 10MB --seed 22
expect a_smaller_bandwidth_is_none 0 --ranks 4 --bandwidth 1MB --seeds 1..100
says out '^100 seeds: 100 good'

# --- Hosts ----------------------------------------------------------------------------

expect a_host_dies_with_its_ranks 0 --hosts 3x2 --route star:0 --faults kill:h2@1ms
says out 'kill:h2@1ms fired 2 times$'
says out ' 2 deaths, 0 removed alive, .* 0 times without a quorum$'
says out ' between hosts, [1-9][0-9]* of them relayed; '
says out '^  busiest link host [0-2] to host [0-2], '
says out '^  busiest of   host 0: rank [01] sends '
expect another_rank_relays 0 --hosts 3x2 --route star:0 --faults kill:r0@1ms
says out ' 1 death, 0 removed alive, .* 0 times without a quorum$'
expect a_star_closes_the_gap 0 --hosts 3x2 --route star:0 --faults kill:h0@1ms
says out ' 2 deaths, 0 removed alive, .* 0 times without a quorum$'
expect a_table_does_not 0 --hosts 3x2 --route links:0-1,1-2 --faults kill:h1@1ms
says out ' 2 deaths, 0 removed alive, .* 4 times without a quorum$'
expect a_cut_that_a_third_goes_round 0 --hosts 3x2 --route links:0-1,1-2,0-2 \
    --faults part:h0/h2@1ms
says out 'part:h0/h2@1ms fired [1-9][0-9]* times$'
! grep -q '^  membership ' "$scratch/out"
note $? "there is a view"
expect an_agent_does_not_vouch_for_silence 1 --hosts 3x1 --faults part:h0/h1@1ms \
    --canary false-witness
says out '^FAILED certificate: rank [01] is told that rank [01] is dead, which it is not$'
says out 'replay: moot sim --ranks 3 --seed 1 --hosts 3x1 --faults part:h0/h1@1ms --canary'
expect seeds_draw_hosts 0 --ranks 6 --hosts drawn --seeds 1..300
says out '^300 seeds: 300 good, 0 violations'
expect what_fails_has_fewer_hosts 1 --ranks 8 --hosts drawn --seed 7 --canary run-twice --shrink
says out '^  moot sim --ranks [1-4] --seed 7 --tasks [0-9]* --hosts [1-4]x[1-4] '

# --- Standard output that takes nothing ------------------------------------------------

for arguments in "--seed 1" "--seeds 1..3" "--trace"; do
    name="no room for $arguments"
    # shellcheck disable=SC2086 # words are meant to split
    timeout 60 "$moot" sim --ranks 3 $arguments >/dev/full 2>"$scratch/err"
    got=$?
    [ "$got" -eq 1 ]
    note $? "exit $got, not 1"
    says err '^moot: standard output could not be written'
done

check_end
