#!/bin/sh
# moot_test.sh - the moot command, as a shell sees it: what it prints, where, and what it
# returns.  Ranks are shell scripts that leave the sheets a rank would, so that the cases
# need no working library.  BUILD says where the command is (build).
set -u

moot=$(cd "${BUILD:-build}" && pwd)/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence="$scratch/out $scratch/err"
# Nothing of the caller's configuration.
unset MOOT_CONFIG MOOT_VOTERS MOOT_STALL MOOT_SUMMARY MOOT_DIVERGENCE MOOT_THREADS
export XDG_CONFIG_HOME="$scratch/config" TMPDIR="$scratch/tmp"
mkdir -p "$scratch/tmp" "$scratch/config/moot"

# expect NAME STATUS COMMAND...: runs it; out and err are in $scratch.
expect() {
    name=$1 status=$2
    shift 2
    (cd "$scratch" && timeout 60 "$@") >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ "$got" -eq "$status" ]
    note $? "exit $got, not $status"
}
# says FILE TEXT: what expect ran said so.
says() {
    grep -qF -e "$2" "$scratch/$1"
    note $? "std$1 lacks: $2"
}
silent() {
    [ ! -s "$scratch/$1" ]
    note $? "std$1 is not empty"
}

# --- Words ---

expect no_verb 2 "$moot"
says err "usage: moot"
silent out
expect unknown_verb 2 "$moot" rnu
says err "there is no verb 'rnu'; did you mean 'run'?"
says err "fingerprints"
expect version 0 "$moot" --version
grep -qxE 'moot [0-9]+\.[0-9]+\.[0-9]+' "$scratch/out"
note $? "not a version"
for words in "help" "--help" "-h"; do
    expect "help_by_$words" 0 "$moot" "$words"
    says out "run "
done
for verb in run info hash; do
    expect "help_$verb" 0 "$moot" help "$verb"
    says out "usage: moot $verb"
    expect "${verb}_help" 0 "$moot" "$verb" --help
    says out "usage: moot $verb"
done
expect help_behind_an_option 2 "$moot" run -n 2 --help
says err "help comes before all other words"
expect an_option_of_one_letter 2 "$moot" run -x
grep -q "did you mean" "$scratch/err"
[ $? -eq 1 ]
note $? "and offers something"
expect help_of_nothing 2 "$moot" help nothing
says err "there is no verb 'nothing'"
grep -q "did you mean" "$scratch/err"
[ $? -eq 1 ]
note $? "and offers something"
while IFS='|' read -r words wrong meant; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "misspelt: $words" 2 "$moot" $words
    says err "there is no option $wrong; did you mean $meant?"
done <<'END'
run --falts=drop:0.1 -n 2 true|--falts=drop:0.1|--faults
run --no-progres -n 2 true|--no-progres|--no-progress
run --hepl|--hepl|--help
sim --rank 3|--rank|--ranks
sim --ranks 3 --vote-timout 1ms|--vote-timout|--vote-timeout
tune --run 1 -n 2 true|--run|--runs
info --jsno|--jsno|--json
state --wacth|--wacth|--watch
trace export t --fromat csv|--fromat|--format
run -np 4 true|-np|-n
run -np4 true|-np4|-n
run -n=4 true|-n=4|-n
run -no-progress -n 4 true|-no-progress|--no-progress
run --ranks=4 true|--ranks=4|-n
tune --np 4 true|--np|-n
tune -np4 true|-np4|-n
faults explain -np4 drop|-np4|-n
faults explain --np=4 drop|--np=4|-n
sim -n 3|-n|--ranks
END
while IFS='|' read -r words told; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "two values: $words" 2 "$moot" $words
    says err "$told are not the same: give one of them"
done <<'END'
info --level basic --level all|moot info: --level basic and --level all
report t -o one -o two|moot report: -o one and -o two
report t -o report.html -o two|moot report: -o report.html and -o two
trace export t --format csv --format dot|moot trace: --format csv and --format dot
trace export t -o one -o two|moot trace: -o one and -o two
END
while IFS='|' read -r words told; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "out of place: $words" 2 "$moot" $words
    says err "$told"
done <<'END'
trace export t csv|moot trace: unknown argument csv; did you mean --format csv?
trace export csv t|moot trace: unknown argument t; did you mean --format csv?
trace export t t.json|moot trace: unknown argument t.json; did you mean -o t.json?
report t run.html|moot report: unknown argument run.html; did you mean -o run.html?
faults explain drop:0.1 -n 4|moot faults: -n stands behind drop:0.1: options come before plans
faults explain drop:0.1 -n4|moot faults: -n4 stands behind drop:0.1: options come before plans
faults explain drop:0.1 dup:0.1|moot faults: a plan is one word
run --hosts a:2,b:2 tsp|moot run: --hosts wants a launcher that starts ranks on hosts: add --launcher ssh
check-launcher local|moot check-launcher: local is no table that could be checked: ssh, slurm and files of your own are
tune tsp -n 4|moot tune: how many ranks?  -n N is missing before tsp
END
expect a_value_in_the_same_word 0 "$moot" info --level=basic --json
! grep -q MOOT_LEASE "$scratch/out"
note $? "it is not basic"
while IFS='|' read -r words told; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "a wrong value in the same word: $words" 2 "$moot" $words
    says err "$told"
done <<'END'
info --level=most|--level is basic or all, not 'most'
info --level --json|--level is basic or all, not '--json'
trace export t --format=xml|no format 'xml': chrome, dot, paje, csv or prometheus
trace export t --format=|--format lacks its value
sim --ranks=none|--ranks takes a number of ranks, 1 to 16384, not "none"
sim --ranks=3 --vote-timeout=5|--vote-timeout 5: a time needs a unit
sim --ranks=3 --tasks=5 --tasks 6|--tasks 5 and --tasks 6 are not the same
sim --steady=1|there is no option --steady=1; did you mean --steady?
END
expect one_value_twice 0 "$moot" info --level all --json --level all
expect nothing_like_an_option 2 "$moot" report t --colour
grep -qx "moot report: there is no option --colour" "$scratch/err"
note $? "it offers something, or nothing at all"

# --- hash: vectors from RFC 7693's reference code ---

: >"$scratch/empty"
printf abc >"$scratch/abc"
expect hash 0 "$moot" hash empty abc
printf '%s\n' "cae66941d9efbd404e4d88758ea67670  empty" \
    "cf4ab791c62b8d2b2109c90275287816  abc" | cmp -s - "$scratch/out"
note $? "other fingerprints"
expect hash_of_standard_input 0 sh -c "\"$moot\" hash <abc && \"$moot\" hash - <abc"
[ "$(sort -u "$scratch/out")" = "cf4ab791c62b8d2b2109c90275287816  -" ]
note $? "other fingerprints"
head -c 200000 /dev/zero >"$scratch/zeros" # more than a pipe holds
expect hash_of_a_pipe_and_of_a_file_agree 0 \
    sh -c "cat zeros | \"$moot\" hash; \"$moot\" hash zeros"
[ "$(cut -c1-32 "$scratch/out" | uniq | wc -l)" -eq 1 ]
note $? "they differ"
truncate -s 3G "$scratch/shrinks"
expect hash_of_what_becomes_shorter 0 sh -c "\"$moot\" hash shrinks & sleep 0.2; truncate -s 9 shrinks; wait \$!"
rm "$scratch/shrinks"
expect hash_of_what_is_not_there 1 "$moot" hash absent abc
says err "absent: No such file"
says out "  abc"
expect hash_of_a_folder 1 "$moot" hash .
expect hash_option 2 "$moot" hash -x
expect hash_of_a_dashed_name 1 "$moot" hash -- -x
says err "-x: No such file"

# --- info ---

expect info 0 "$moot" info
says out "MOOT_STALL = 10s"
says out "from: default"
silent err
expect info_from_environment 0 env MOOT_STALL=3s MOOT_VOTRES=2 "$moot" info
says out "MOOT_STALL = 3s"
says out "from: environment"
says err "in the environment: unknown knob MOOT_VOTRES (did you mean MOOT_VOTERS?)"
echo "MOOT_VOTERS = 5" >"$scratch/config/moot/moot.conf"
expect info_from_a_file 0 "$moot" info
says out "moot/moot.conf:1"
expect info_json 0 env MOOT_VOTRES=2 MOOT_SUMMARY='a"\b' "$moot" info --json
says out '"value": "5"'
python3 -c 'import json, sys
values = {k["name"]: k["value"] for k in json.load(open(sys.argv[1]))["knobs"]}
sys.exit(values["MOOT_SUMMARY"] != "a\"\\b")' "$scratch/out"
note $? "a value is not what it was"
says out '"strangers": ["MOOT_VOTRES"]'
python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
sys.exit(told["transports"]["tcp"] != "part of moot" or "ssh" not in told["launchers"])' "$scratch/out"
note $? "not JSON, or without its transports and launchers"
stray=$(printf 'MOOT_STR\377Y=1')
expect info_json_of_what_is_no_text 0 env MOOT_SUMMARY="$(printf '/a\377')" "$stray" "$moot" info --json
python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$scratch/out"
note $? "not JSON"
echo "MOOT_VOTERS = many" >"$scratch/config/moot/moot.conf"
expect info_of_a_mistake 2 "$moot" info
says err "moot.conf:1: MOOT_VOTERS is 'many', but may be 1 to 15"
rm "$scratch/config/moot/moot.conf"
expect info_argument 2 "$moot" info now
expect info_of_knobs_that_contradict 2 env MOOT_SUSPECT=1s MOOT_LEASE=3s "$moot" info
says out "MOOT_LEASE = 3s"
says err "MOOT_SUSPECT is 1s (environment), but must be at least the lease: MOOT_LEASE is 3s (env"
expect state_with_a_bad_knob 2 env MOOT_VOTERS=0 "$moot" state
says err "MOOT_VOTERS is '0', but may be 1 to 15"

# --- run: the command line ---

for bad in "" "-n" "-n 0" "-n -1" "-n 3x" "-n 99999999" "-n 2" "-x" "--faultsx -n 2"; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "run '$bad'" 2 "$moot" run $bad
    says err "moot help run"
done
expect run_without_the_number 2 "$moot" run -n
says err "-n lacks the number of ranks, 1 to"
expect run_without_count 2 "$moot" run true -n 2
says err "-n N is missing before true"
expect run_without_the_plan 2 "$moot" run -n 2 --faults
says err "--faults lacks its plan"
expect run_of_a_folder_for_records 2 "$moot" run -n 2 --trace true
says err "which program?  true is the folder of --trace"
expect run_of_nothing 127 "$moot" run -n 2 no-such-program
says err "there is no program no-such-program"
mkdir "$scratch/here"
printf '#!/bin/sh\n' >"$scratch/here/mine"
chmod +x "$scratch/here/mine"
printf '#!/bin/sh\ncd %s/here && exec %s run "$@"\n' "$scratch" "$moot" >"$scratch/run_here"
chmod +x "$scratch/run_here"
expect run_of_what_is_in_this_folder 127 "$scratch/run_here" -n 2 mine
says err "there is no program mine in PATH or among the examples; the one in this folder is ./mine"
expect run_of_a_folder 127 "$scratch/run_here" -n 2 .
says err ". is a folder, and no program"
expect run_of_a_setting_of_another 127 "$moot" run -n 2 FOO=1 true
says err "there is no program FOO=1; settings begin with MOOT_"
expect run_with_a_trace_onto_a_file 1 "$scratch/run_here" -n 2 --trace mine ./mine
says err "mine: Not a directory"
expect run_with_a_bad_knob 2 "$moot" run -n 2 MOOT_VOTERS=0 true
says err "1 to 15"
expect run_with_a_wrong_plan 2 "$moot" run -n 2 --faults kill:r1@tsk.start true
says err "^"
expect run_with_a_plan_for_more_ranks 2 "$moot" run -n 2 --faults=kill:r2@1s true
says err "^"
expect run_with_a_plan_for_the_simulator 2 "$moot" run -n 2 --faults restart:r1@1s+1s true
says err "MOOT_FAULTS: restart is for \`moot sim\`"
! grep -q "the plan is" "$scratch/err"
note $? "and says where"
echo "MOOT_FAULTS = kill:r2@1s" >"$scratch/plan.conf"
for plan in kill:r1@tsk.start kill:r2@1s restart:r1@1s+1s; do
    expect "run_with_a_wrong_plan_in_the_environment: $plan" 2 \
        env MOOT_FAULTS=$plan "$moot" run -n 2 true
    says err "moot run: the plan is MOOT_FAULTS (environment):"
done
expect run_with_a_wrong_plan_in_a_file 2 env MOOT_CONFIG=plan.conf "$moot" run -n 2 true
says err "moot run: the plan is MOOT_FAULTS (plan.conf:1):"
says err "^"
expect run_with_an_unknown_knob 2 "$moot" run -n 2 MOOT_VOTRES=3 true
says err "did you mean MOOT_VOTERS?"
# What stands in the environment, and is no knob, is no better.
expect run_with_an_unknown_variable 2 env MOOT_DIVERGENZE=strict "$moot" run -n 2 true
says err "environment: unknown knob MOOT_DIVERGENZE (did you mean MOOT_DIVERGENCE?); names with MOOT_ are moot's: unset it"
expect run_with_a_variable_of_the_tests 0 env MOOT_TEST_SHOW=1 "$moot" run -n 1 conditional
expect a_program_with_an_unknown_variable 0 env MOOT_DIVERGENZE=strict "${moot%/*}/examples/conditional"
says err "moot: environment: unknown knob MOOT_DIVERGENZE (did you mean MOOT_DIVERGENCE?): IT HAS NO EFFECT"
expect run_with_knobs_that_contradict 2 "$moot" run -n 2 MOOT_LEASE=100ms true
says err "MOOT_LEASE is 100ms (options), but must be at least two heartbeats: MOOT_HEARTBEAT is auto"
expect run_without_the_file_of_knobs 2 env MOOT_CONFIG=nope "$moot" run -n 2 true
says err "moot run: MOOT_CONFIG=nope: No such file or directory"
printf '# own\nMOOT_TRACE = two\nMOOT_LEASE = 100ms\n' >"$scratch/own.conf"
expect run_with_a_file_of_knobs_that_contradict 2 "$moot" run -n 2 MOOT_CONFIG=own.conf true
says err "MOOT_LEASE is 100ms (own.conf:3), but must be at least two heartbeats"
expect run_with_two_traces 2 "$moot" run -n 2 --trace one MOOT_TRACE=two true
says err "--trace one and MOOT_TRACE=two are not the same: give one of them"
[ ! -e "$scratch/one" ]
note $? "makes a folder"
expect run_with_two_plans 2 "$moot" run -n 2 --faults drop:0.1 MOOT_FAULTS=drop:0.2 true
says err "--faults drop:0.1 and MOOT_FAULTS=drop:0.2 are not the same: give one of them"
while IFS='|' read -r words told; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "run_with_two_of_one: $words" 2 "$moot" run -n 2 $words true
    says err "moot run: $told are not the same: give one of them"
done <<'END'
-n 3|-n 2 and -n 3
--trace one --trace=two|--trace one and --trace two
--faults drop:0.1 --faults drop:0.2|--faults drop:0.1 and --faults drop:0.2
MOOT_VOTERS=1 MOOT_STALL=1s MOOT_VOTERS=2|MOOT_VOTERS=1 and MOOT_VOTERS=2
MOOT_CONFIG=one MOOT_CONFIG=two|MOOT_CONFIG=one and MOOT_CONFIG=two
END
[ ! -e "$scratch/one" ] && [ ! -e "$scratch/two" ]
note $? "makes a folder"
for late in --no-progress -n --; do
    expect "run_with_$late behind a setting" 2 "$moot" run -n 2 MOOT_VOTERS=3 "$late" true
    says err "$late stands behind MOOT_VOTERS=3: options come before settings"
done
expect run_with_two_ends_of_the_options 2 "$moot" run -n 2 -- MOOT_VOTERS=3 -- true
says err "moot run: -- stands behind MOOT_VOTERS=3: options come before settings"
expect run_of_a_dashed_program 127 "$moot" run -n 2 -- MOOT_VOTERS=3 --no-progress
says err "there is no program --no-progress"

# --- run: the job ---

mkdir -p "$scratch/bin"
cat >"$scratch/bin/rank" <<'END'
#!/bin/sh
# A rank that leaves a sheet as the library does.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-1}}
[ "${SAY-}" != arguments ] || printf '<%s>' "$@"
[ "${SAY-}" != trace ] || echo "trace ${MOOT_TRACE-}"
[ "${SAY-}" != voters ] || echo "voters ${MOOT_VOTERS-}"
[ "${ABSENT-}" != "$rank" ] || exit 0
[ "$rank" != 0 ] || sleep "${LASTS-0}"
sheet=$MOOT_SUMMARY/rank-$rank
exec >"$sheet.unfinished"
printf '%s\n' "rank $rank" "size $size" "wall_ns 1500000000" "tasks_run $((10 + rank))" \
    "tasks_spawned 18" "tasks_common 5" "tasks_partial 3" "votes 3" \
    "votes_blocked 2" "votes_closed 1" "bytes_sent 2500000" "some_later_key 7" \
    "peers_by_ring $rank" "peers_by_wire 4"
[ "${FAILS-}" != "$rank" ] && echo "close_code 0" || echo "close_code ${CODE--17}"
[ -z "${RETRIED-}" ] || echo "tasks_retried $RETRIED"
[ "$rank" != 0 ] || [ -z "${LOSS-}" ] || echo "lost_$LOSS"
[ "${TORN-}" = "$rank" ] || mv "$sheet.unfinished" "$sheet"
[ "${EXITS-}" != "$rank" ] || exit 7
END
printf 'this is no program\n' >"$scratch/bin/data"
chmod +x "$scratch/bin/rank"
PATH=$scratch/bin:$PATH

expect a_job_that_went_well 0 "$moot" run -n 3 rank
says err "moot: 3 ranks, 1.500 s"
says err "tasks run      33, by rank: 10 11 12"
says err "spawned        15 by all ranks, 9 by some, 9 inside tasks"
says err "votes          9: 3 closed, 6 blocked"
says err "7.5 MB"
says err "wire           to the peers of a rank: 0 to 2 by rings, 4 by the wire"
silent out
grep -q stall "$scratch/err"
[ $? -eq 1 ]
note $? "speaks of stalls that were not"
[ -z "$(find "$scratch/tmp" -name "moot-run*")" ]
note $? "leaves files behind"
expect a_run_that_is_made_again_is_of_no_other_task 0 env RETRIED=2 "$moot" run -n 3 rank
says err "spawned        15 by all ranks, 9 by some, 3 inside tasks"
says err "tried again    6 runs that failed"
expect one_rank 0 "$moot" run -n1 rank
says err "moot: 1 rank,"
expect arguments_pass_untouched 0 env SAY=arguments "$moot" run -n 1 -- rank "a b" absent -n ""
says out "<a b><absent><-n><>"
expect settings_reach_the_ranks 0 env SAY=voters "$moot" run -n 2 MOOT_VOTERS=7 rank
[ "$(grep -c '^voters 7$' "$scratch/out")" -eq 2 ]
note $? "not 7 on both ranks"
expect the_same_may_be_said_twice 0 env SAY=voters "$moot" run -n 1 -n 1 \
    MOOT_VOTERS=7 MOOT_VOTERS=7 rank
says out "voters 7"
expect a_rank_that_failed 1 env FAILS=1 "$moot" run -n 2 rank
says err "rank 1 failed: no rank holds the task, and none will (MOOT_ERR_NOT_HELD)"
expect a_rank_that_left_nothing 1 env ABSENT=0 "$moot" run -n 2 rank
says err "rank 0 never opened a moot"
expect a_torn_sheet 1 env TORN=1 "$moot" run -n 2 rank
says err "rank 1 did not close its moot"
says err "by rank: 10 ?"
expect the_launchers_status 7 env EXITS=1 "$moot" run -n 2 rank
# Rank 1 gave up, as the others saw; or they went on without it, and then it did.
expect a_rank_that_left 7 env TORN=1 EXITS=1 LOSS="1 4 9000000000000000000 2" \
    "$moot" run -n 2 rank
says err "moot: rank 1 did not close its moot; its exit status is 7"
expect a_rank_that_was_left 0 env TORN=1 EXITS=1 LOSS="1 0 4 2" "$moot" run -n 2 rank
says err "  rank 1 was removed alive by view 2"
expect a_rank_that_was_told 0 env FAILS=1 EXITS=1 LOSS="1 0 9000000000000000000 2" \
    "$moot" run -n 2 rank
says err "  rank 1 was removed alive by view 2"
for code in -28 -29; do # no majority, removed: for longer than a job is left to itself
    expect "the_others_go_on: $code" 0 env FAILS=1 CODE=$code EXITS=1 LASTS=7 \
        LOSS="1 0 9000000000000000000 2" "$moot" run -n 2 rank
    says err "  rank 1 was removed alive by view 2"
done
expect a_program_without_a_moot 1 "$moot" run -n 2 true
says err "moot: no rank closed a moot"
says err "each of ranks 0-1 never opened a moot; its exit status is 0"
expect a_program_that_says_why 9 "$moot" run -n 1 sh -c 'exit 9'
says err "rank 0 never opened a moot; its exit status is 9"
# shellcheck disable=SC2016 # for that shell to expand
expect a_program_that_dies 134 "$moot" run -n 1 sh -c 'kill -ABRT $$'
says err "rank 0 never opened a moot; it died of signal 6 (Aborted)"
expect no_launcher 127 env PATH="$scratch/bin" "$moot" run -n 2 rank
says err "no mpirun"
expect not_a_program 127 "$moot" run -n 2 data
expect an_option_is_stronger 0 env SAY=trace MOOT_TRACE=two "$moot" run -n 1 --trace one rank
says out "trace $scratch/one"
says err "moot: --trace one is used, not MOOT_TRACE=two (environment)"
expect an_option_is_stronger_than_a_file 0 env SAY=trace "$moot" run -n 1 --trace one \
    MOOT_CONFIG=own.conf MOOT_LEASE=auto rank
says out "trace $scratch/one"
says err "moot: --trace one is used, not MOOT_TRACE=two (own.conf:2)"
expect an_option_may_be_said_twice 0 env SAY=trace "$moot" run -n 1 --trace one MOOT_TRACE=one rank
says out "trace $scratch/one"
for script in "gone:/no/such/python -u:for /no/such/python, which is not there" \
    "crlf:/bin/sh\r:whose first line ends with a carriage return" \
    "folder:/tmp:for /tmp, which is no program"; do
    name=${script%%:*} line=${script#*:}
    printf '#! %b\necho here\n' "${line%%:*}" >"$scratch/bin/$name"
    chmod +x "$scratch/bin/$name"
    expect "a_script_that_no_system_starts: $name" 127 "$moot" run -n 2 "$name"
    says err "cannot be started: it is a script ${line#*:}"
done
# A first line, as printf has it, and what is said of it.
spaces=$(printf '%260s' '')
while IFS='|' read -r line told; do
    # shellcheck disable=SC2059 # that is what it is
    printf "$line" >"$scratch/bin/odd"
    chmod +x "$scratch/bin/odd"
    expect "an_odd_first_line: $line" 127 "$moot" run -n 2 odd
    says err "moot run: $scratch/bin/odd cannot be started: it is a script $told"
    [ "$(wc -l <"$scratch/err")" -eq 1 ]
    note $? "and says more"
done <<END
#!\n|that names no program: behind #! stands a path, as in #!/bin/sh
#!|that names no program: behind #! stands a path, as in #!/bin/sh
#! \t \nexit 0\n|that names no program: behind #! stands a path, as in #!/bin/sh
#!python3\n|for python3, which is not there: behind #! stands a path, as in #!/usr/bin/env python3, which looks in PATH
#!python3 -u|for python3, which is not there: behind #! stands a path, as in #!/usr/bin/env python3, which looks in PATH
#!/no/such/python|for /no/such/python, which is not there
#!/bin/sh\r|whose first line ends with a carriage return
#!$spaces/bin/sh\n|whose first line is too long: the program must stand in the first 255 bytes
#!$spaces|whose first line is too long: the program must stand in the first 255 bytes
END
ln -s /bin/true "$scratch/near"
for line in "#!/bin/true" "#! /bin/true \t" "#!near\n" "#!/bin/true $spaces\n"; do
    # shellcheck disable=SC2059 # that is what it is
    printf "$line" >"$scratch/bin/odd"
    expect "a_first_line_that_is_enough: $line" 1 "$moot" run -n 1 odd
    says err "rank 0 never opened a moot; its exit status is 0"
done
for no_program in "text:it is a text that does not begin with #!" "empty:it is empty"; do
    [ "${no_program%%:*}" = empty ] || echo "not for a shell" >"$scratch/bin/text"
    [ "${no_program%%:*}" = text ] || : >"$scratch/bin/empty"
    chmod +x "$scratch/bin/${no_program%%:*}"
    expect "a_program_that_no_system_starts: $no_program" 127 "$moot" run -n 2 "${no_program%%:*}"
    says err "/bin/${no_program%%:*} cannot be started: ${no_program#*:}"
    [ "$(wc -l <"$scratch/err")" -eq 1 ]
    note $? "and says more"
done
printf '\177ELF of another kind' >"$scratch/bin/foreign"
chmod +x "$scratch/bin/foreign"
expect a_program_of_another_system 127 "$moot" run -n 1 foreign
says err "moot run: rank 0 cannot start $scratch/bin/foreign: Exec format error"

# A launcher that fails by itself: STATUS, or a signal to itself.
mkdir "$scratch/launcher"
cat >"$scratch/launcher/mpirun" <<'END'
#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4" && exit 0; }
[ -z "${RANKS-}" ] || PATH=${PATH#*:} mpirun "$@"
[ "$STATUS" != KILL ] || kill -KILL $$
exit "$STATUS"
END
chmod +x "$scratch/launcher/mpirun"
while IFS='|' read -r ranks status wanted exit; do
    expect "a_launcher_that_fails: $status" "$exit" env RANKS="$ranks" STATUS="$status" \
        PATH="$scratch/launcher:$PATH" "$moot" run -n 2 rank
    says err "$wanted"
done <<'END'
|9|moot: no rank closed a moot; the launcher's status is 9|1
|KILL|moot: no rank closed a moot; the launcher's status is 137 (signal 9, Killed)|1
|127|moot: no rank closed a moot; the launcher's status is 127|127
yes|9|moot: no rank complains; the launcher's status is 9|9
END
mkdir "$scratch/sheets"
expect a_folder_of_the_users_own 0 env MOOT_SUMMARY="$scratch/sheets" "$moot" run -n 2 rank
[ "$(find "$scratch/sheets" -type f | wc -l)" -eq 2 ]
note $? "sheets are gone"
# What is there of an earlier job is not told of this one.
touch "$scratch/sheets/rank-notes"
expect of_fewer_ranks 0 env MOOT_SUMMARY="$scratch/sheets" "$moot" run -n 1 rank
says err "moot: 1 rank, "
expect of_none 1 env MOOT_SUMMARY="$scratch/sheets" "$moot" run -n 1 true
says err "moot: no rank closed a moot"
says err "rank 0 never opened a moot"
[ "$(find "$scratch/sheets" -type f)" = "$scratch/sheets/rank-notes" ]
note $? "another file than a rank's is gone"

expect no_folder_of_the_users_own 1 env MOOT_SUMMARY="$scratch/absent" "$moot" run -n 1 rank
says err "moot run: MOOT_SUMMARY=$scratch/absent: No such file or directory"
[ "$(wc -l <"$scratch/err")" -eq 1 ]
note $? "ranks were started"

# --- run: names that are too long ---

deep=$scratch/deep
while [ ${#deep} -lt 505 ]; do deep=$deep/12345; done
while [ ${#deep} -lt 511 ]; do deep=${deep}x; done
mkdir -p "$deep"
touch "$deep/precious"
expect no_room_for_a_folder 1 env TMPDIR="$deep" "$moot" run -n 1 rank
says err ": File name too long; TMPDIR names another place"
[ -f "$deep/precious" ]
note $? "the temporary folder was emptied"
expect a_trace_too_deep 1 "$moot" run -n 1 --trace "$deep/t" rank
says err "/t: File name too long"
plan=seed:1
while [ ${#plan} -lt 512 ]; do plan=$plan,delay:0.1:5ms; done
expect a_plan_too_long 2 "$moot" run -n 1 --faults "$plan" rank
says err "the plan has ${#plan} bytes, and ranks take up to 511"

# --- run: what other hosts are handed ---

mkdir "$scratch/teller"
cat >"$scratch/teller/mpirun" <<'END'
#!/bin/sh
[ "$1" != --version ] || echo 'mpirun (Open MPI) 4.1.4'
echo "$@"
END
chmod +x "$scratch/teller/mpirun"
strangers=$(seq -f 'MOOT_TEST_OTHER_%g=1' 40)
# shellcheck disable=SC2086 # words are meant to split
expect variables_of_others 1 env $strangers PATH="$scratch/teller:$PATH" "$moot" run -n 1 rank
says out "-x MOOT_SUMMARY"

# --- run: signals ---

printf '#!/bin/sh\necho started\nexec sleep 50.%s\n' $$ >"$scratch/bin/sleeper"
chmod +x "$scratch/bin/sleeper"
for signal in TERM:143 HUP:129 INT:130; do
    status=${signal#*:} signal=${signal%:*}
    name=a_signal_ends_the_job
    : >"$scratch/out"
    "$moot" run -n 1 sleeper >"$scratch/out" 2>"$scratch/err" &
    job=$!
    tries=0
    while [ ! -s "$scratch/out" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    began=$(date +%s)
    kill -"$signal" $job
    wait $job
    code=$?
    [ $code -eq "$status" ]
    note $? "SIG$signal: exit status $code"
    says err "moot: ended by signal $((status - 128)) ("
    [ $(($(date +%s) - began)) -lt 30 ] && ! pgrep -f "^sleep 50.$$\$" >"$scratch/left"
    note $? "the job went on"
    [ -z "$(find "$scratch/tmp" -name "moot-run*")" ]
    note $? "leaves files behind"
done
name=nobody_reads_the_summary
"$moot" run -n 2 rank 2>&1 | true
[ -z "$(find "$scratch/tmp" -name "moot-run*")" ]
note $? "leaves files behind"

check_end
