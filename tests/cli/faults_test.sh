#!/bin/sh
# faults_test.sh - moot faults explain, as a shell sees it: plans pass unquoted, English
# on standard output, mistakes on standard error.  BUILD says where the command is.
set -u

moot=${BUILD:-build}/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

# expect NAME STATUS COMMAND...: runs it; out and err are in $scratch.
expect() {
    name=$1 status=$2
    shift 2
    timeout 60 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ "$got" -eq "$status" ]
    note $? "exit $got, not $status"
}
# same FILE: it is what stands on our standard input.
same() {
    cat >"$scratch/expected"
    diff "$scratch/expected" "$scratch/$1" >"$scratch/diff"
    note $? "std$1: $(cat "$scratch/diff")"
}

expect a_plan_passes_without_quotes 0 "$moot" faults explain \
    seed:42,drop:0.1/vote,delay:5ms+-2ms/r0-r1,pause:r1@2s+500ms,kill:r2@vote.cast#3
same out <<'TEXT'
This plan has 4 rules and seed 42.  Times and counts begin when moot_open ends.
1. Each vote message is lost with a probability of 0.1.
2. Each message between rank 0 and rank 1 arrives later by 3 ms to 7 ms, evenly spread.
3. Rank 1 is paused for 500 ms at 2 s.
4. Rank 2 is killed the 3rd time that it casts a vote.
TEXT
same err </dev/null

expect a_point_of_kernels 0 "$moot" faults explain kill:r1@task.start#3
same out <<'TEXT'
This plan has 1 rule.  Times and counts begin when moot_open ends.
1. Rank 1 is killed the 3rd time that it starts a task.
Elements of task arrays pass no point of tasks: where ranks run these, give a time, as in kill:r2@300ms.
TEXT

expect a_mistake_has_its_caret 2 "$moot" faults explain drop:0.1/vote,dup:2
same out </dev/null
same err <<'TEXT'
drop:0.1/vote,dup:2
                  ^
a probability is between 0 and 1
allowed: 0 to 1, as in 0.1, or 0% to 100%, as in 10%
TEXT

expect ranks_of_the_job_are_checked 2 "$moot" faults explain -n 4 drop,kill:r4@1s
same out </dev/null
same err <<'TEXT'
drop,kill:r4@1s
           ^
there is no rank 4: the job has 4 ranks
allowed: ranks 0 to 3
TEXT
expect a_rank_of_the_job 0 "$moot" faults explain -n 5 drop,kill:r4@1s
expect the_number_in_one_word 2 "$moot" faults explain -n4 drop,kill:r4@1s
same out </dev/null
expect the_number_in_one_word_fits 0 "$moot" faults explain -n5 drop,kill:r4@1s
expect two_numbers 2 "$moot" faults explain -n4 -n 5 drop,kill:r4@1s
same err <<'TEXT'
moot faults: -n 4 and -n 5 are not the same: give one of them
Try `moot help faults`.
TEXT
expect a_plan_behind_the_options 2 "$moot" faults explain -n 4 -- drop,kill:r4@1s
expect a_plan_that_fits_behind_them 0 "$moot" faults explain -n 5 -- drop,kill:r4@1s
for words in "MOOT_VOTERS=3 drop" "MOOT_VOTERS=3 -- drop" "-- MOOT_VOTERS=3 drop" \
    "drop MOOT_VOTERS=3" MOOT_VOTERS=3; do
    # shellcheck disable=SC2086 # words are meant to split
    expect "a_knob: $words" 2 "$moot" faults explain -n 4 $words
    same err <<'TEXT'
moot faults: MOOT_VOTERS=3 sets a knob, and nothing runs here that has it: give the plan alone
Try `moot help faults`.
TEXT
done
expect a_launchers_option 2 "$moot" faults explain -np 4 drop
same err <<'TEXT'
moot faults: there is no option -np; did you mean -n?
Try `moot help faults`.
TEXT

expect a_file 0 sh -c "echo kill:r0@3s | \"$moot\" faults explain -"
same out <<'TEXT'
This plan has 1 rule.  Times and counts begin when moot_open ends.
1. Rank 0 is killed at 3 s.
TEXT

expect what_cannot_be_read 1 sh -c "\"$moot\" faults explain - </"
same out </dev/null
same err <<'TEXT'
moot faults: standard input: Is a directory
TEXT
expect no_text 2 sh -c "printf 'kill:r0@3s\\0garbage' | \"$moot\" faults explain -"
same out </dev/null
same err <<'TEXT'
moot faults: a byte of 0 stands in it: this is no plan
Try `moot help faults`.
TEXT

expect no_subject 2 "$moot" faults
expect no_plan 2 "$moot" faults explain
expect two_plans 2 "$moot" faults explain drop dup
expect another_verb 2 "$moot" faults cause drop
expect an_unknown_option 2 "$moot" faults explain -x drop
expect no_number 2 "$moot" faults explain -n four drop
expect no_number_there 2 "$moot" faults explain -n
same err <<'TEXT'
moot faults: -n lacks the number of ranks, 1 to 16384
Try `moot help faults`.
TEXT
expect no_ranks 2 "$moot" faults explain -n 0 drop
expect help_is_there 0 "$moot" help faults

# A rank that is removed during its pause, and ends without a close, is still counted.
cholesky=${BUILD:-build}/examples/cholesky
OMPI_MCA_mpi_yield_when_idle=1 expect a_pause_of_a_removed_rank 0 "$moot" run -n 3 \
    --no-progress --faults pause:r1@task.start#2+6s "$cholesky" 8 16
grep -q '  fault          pause:r1@task.start#2+6s: fired once' "$scratch/err"
note $? "the pause is not counted: $(grep fault "$scratch/err")"

check_end
