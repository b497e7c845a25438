#!/bin/sh
# endings_test.sh - the exit status of `moot run` for each way in which one rank may end
# while the others end well: the table of moot-run(1), row by row.
#
# All cases run at once, as they spend their time waiting.  Finds the programs in $BUILD;
# run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1
export TMPDIR="$scratch"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

# begin CASE [--deaths=WHICH | NAME=VALUE ...] WHERE HOW
begin() {
    case=$1 deaths=''
    shift
    while case $1 in --deaths=* | *=*) ;; *) false ;; esac do
        deaths="$deaths $1"
        shift
    done
    {
        mkdir "$scratch/of-$case" # two launchers that begin at once must not share one
        # shellcheck disable=SC2086 # no option is no word
        TMPDIR="$scratch/of-$case" timeout -k 5 60 "$build/moot" run -n 3 $deaths \
            "$build/tests/mpi/endings" "$@" >"$scratch/$case" 2>&1 </dev/null
        echo $? >"$scratch/$case.status"
    } &
}

# Rows: STATUS, whether the others come past their last close, WHAT is said, the case.
cat >"$scratch/rows" <<'END'
139 on  rank.1.died.after.*signal.11                    inside null
134 on  rank.1.died.after.*signal.6                     inside abort
136 on  rank.1.died.after.*signal.8                     inside fpe
135 on  rank.1.died.after.*signal.7                     inside bus
132 on  rank.1.died.after.*signal.4                     inside ill
159 on  rank.1.died.after.*signal.31                    inside sys
0   on  rank.1.died.after.*signal.9                     inside kill
0   on  rank.1.died.after.*signal.15                    inside term
7   on  rank.1.did.not.close.its.moot                   inside exit
1   on  rank.1.did.not.close.its.moot                   inside exit0
7   off rank.1.ended.*by.MPI_Abort.*ending.the.job      inside mpi_abort
7   off rank.1.ended.*by.MPI_Abort.*ending.the.job      inside _exit
137 on  rank.1.died.after.*signal.9                     --deaths=fail inside kill
139 on  rank.1.died.after.*signal.11                    --deaths=fail inside null
0   on  rank.1.died.after.*signal.11                    --deaths=any inside null
7   on  rank.1.did.not.close.its.moot                   --deaths=any inside exit
0   on  rank.1.died.*after.it.had.closed.*others.go.on  after kill
139 on  rank.1.died.*after.it.had.closed.*others.go.on  after null
7   on  rank.1.ended.*after.it.had.closed.*others.go.on after exit
7   off rank.1.ended.*by.MPI_Abort.*ending.the.job      after mpi_abort
137 off rank.1.died.*others.open.another:.ending        between kill
1   off stall.*MOOT_STALL_ABORT.*not.ended:.ending.them MOOT_STALL=900ms MOOT_STALL_ABORT=1 inside stall
END
count=0
while read -r status others said words; do
    count=$((count + 1))
    # shellcheck disable=SC2086 # a case's words are meant to split
    begin $count $words
    # A few at a time.
    [ $((count % 6)) -ne 0 ] || wait
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

# A rank without memory, and the others that go on.
for how in refused ended; do
    timeout -k 5 60 "$build/moot" run -n 3 "$build/tests/mpi/starved" $how \
        >"$scratch/$how" 2>&1 </dev/null
    echo $? >"$scratch/$how.status"
    evidence="$scratch/$how"
    check "starved $how" "the spawn is not refused" says 'cannot spawn .*MOOT_ERR_NO_MEMORY'
done
check starved "its status is not 0" [ "$(cat "$scratch/refused.status")" = 0 ]
check starved "the rank that ended is not told" says 'rank 1 ended for want of memory$'
check starved "its status is not 1" [ "$(cat "$scratch/ended.status")" = 1 ]
check starved "others are wrong" no says 'starved: (task|a rank)'

begin wrong --deaths=often inside null
wait
evidence="$scratch/wrong"
check wrong "it is not refused" [ "$(cat "$evidence.status")" = 2 ]
check wrong "it is not said what it may be" says 'may be fail, tolerate or any'
check_end
