#!/bin/sh
# poison_test.sh [COUNT [SEED]] - tasks that kill whoever runs them, on real ranks.
#
# Random programs with poison tasks on 3 to 6 ranks: each poison task ends as it should on
# all ranks that are left, its story names the crash, everything else is right, no more
# than two ranks died for each (three, where several kernels run at once), and the job has
# failed.  And as many programs of long
# tasks with ranks killed from outside at random moments, in which nothing ends CRASHED.  Every
# second one is started by the launcher local, the others by mpirun.
#
# Finds the programs in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
count=${1-8} first=${2-1}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_opal_signal=
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

good_ranks() { grep -cE '^rank [0-9]+ is good$' "$evidence"; }
# Deaths that count for no task: ranks wait a tenth of a second for the word of what another died
# of, and who is to say it may get no core for so long.  One rank more may die for each.
untold() { grep -cE '^moot: rank [0-9]+ died in kernel' "$evidence"; }
least_left() { [ $(($(good_ranks) + $(untold))) -ge "$1" ]; }
left() { [ "$(good_ranks)" -le "$1" ] && least_left "$1"; }
# run RANKS ARGUMENTS...
local='' # or --launcher local
run() {
    ranks=$1
    shift
    # shellcheck disable=SC2086 # no launcher is no word
    timeout -k 5 60 "$build/moot" run -n "$ranks" $local "$build/tests/mpi/poison" "$@" \
        >"$evidence" 2>&1 </dev/null
    status=$?
}
# every_second SEED: these by the launcher local
every_second() {
    local=''
    [ $(($1 / 4 % 2)) -eq 0 ] || local='--launcher local'
}

# The bar: two ranks or more are left, and the error names line and kernel.
evidence="$scratch/bar"
run 4 null
check "a null pointer" "the status is $status, not 139" [ "$status" -eq 139 ]
check "a null pointer" "$(good_ranks) ranks are left, not 2" left 2
check "a null pointer" "nobody says what died at once" \
    says "^moot: rank [0-3] died of signal 11 .* in kernel 'square', task .*poison.c:[0-9]*"
check "a null pointer" "the summary does not" \
    says "^  rank [0-3] died after .* of signal 11 .* in kernel 'square', task .*poison.c:"
check "a watch" "it is not told what a rank died of" \
    says "^rank [0-3] has ended: died of signal 11 .* in kernel 'square', task "
check "a watch" "it is not told what died that is removed" \
    says "^rank [0-3] is out: died of signal 11 .* in kernel 'square', task "
died="of signal 11 (Segmentation fault) in kernel 'square', task "
tells() { grep -qF -e "$died" "$scratch/told" && grep -qF 'poison.c:' "$scratch/told"; }
MOOT_TRACE="$scratch/trace" run 4 null
"$build/moot" trace export "$scratch/trace" -o "$scratch/told" >/dev/null 2>&1
check "the trace" "it does not tell of a death" tells
check "the summary" "it does not count the task" says "^  tasks crashed  1,"
"$build/moot" trace export --format csv "$scratch/trace" -o "$scratch/told" >/dev/null 2>&1
check "the trace" "the task's row has no code" \
    [ "$(grep -c '^[0-9a-f]*,"square",.*,-34,' "$scratch/told")" -eq 1 ]
"$build/moot" trace export --format prometheus "$scratch/trace" -o "$scratch/told" >/dev/null 2>&1
check "the figures" "they do not count the task" \
    [ "$(grep -c '^moot_tasks_crashed_total{.*} 1$' "$scratch/told")" -eq 1 ]
"$build/moot" report "$scratch/trace" -o "$scratch/told" >/dev/null 2>&1
check "the page" "it does not tell of a death" tells
# An element of an array counts as a task does, and a close runs it no more.
array() {
    timeout -k 5 60 "$build/moot" run -n 5 "$build/tests/mpi/array_poison" "$@" \
        >"$evidence" 2>&1 </dev/null
    status=$?
}
evidence="$scratch/array"
for how in plain again bound; do
    array "$how"
    check "an array ($how)" "the status is $status, not 139" [ "$status" -eq 139 ]
    check "an array ($how)" "$(good_ranks) ranks are left, not 3" left 3
    check "an array ($how)" "a death's story lacks the element" \
        says "rank [0-4] died of signal 11 .* in kernel 'deadly', element 13 of array .* 'grid'"
done
array once
check "an array (once)" "$(good_ranks) ranks are left, not 4" left 4
run 4 kill
check "a kill" "the status is 0" [ "$status" -ne 0 ]
check "a kill" "it counts" no says 'MOOT_ERR_CRASHED'
# Nobody outlives the last rank; what helps then is said, and does help.
row='^moot: nobody was left to say in which kernel rank [01] died: run it on'
evidence="$scratch/one"
run 1 null
check "on one rank" "it is not said what helps" says "$row two ranks\$"
evidence="$scratch/pair"
run 2 null
check "on two ranks" "it is not said what helps" says "$row one rank more, or with MOOT_CRASHES=1; "
check "on two ranks" "the first death is not told" says "^moot: rank [01] died .* in kernel 'square'"
evidence="$scratch/pair-1"
MOOT_CRASHES=1 run 2 null
check "on two ranks, MOOT_CRASHES=1" "the last rank is not good" [ "$(good_ranks)" -eq 1 ]
check "on two ranks, MOOT_CRASHES=1" "nobody was left" no says "$row"
# That each other rank is good says that its stories name the crash.
evidence="$scratch/alone"
run 4 alone null
check "spawned by one rank alone" "the status is $status, not 139" [ "$status" -eq 139 ]
check "spawned by one rank alone" "$(good_ranks) ranks are good, not 3" left 3
evidence="$scratch/effects"
run 3 effects null
check "a death among once tasks" "$(good_ranks) ranks are good, not 2" left 2
evidence="$scratch/two"
run 4 two null
check "two moots at once" "$(good_ranks) ranks are good, not 2" left 2
check "two moots at once" "the summary does not name the kernel" \
    [ "$(grep -c "^  rank [0-3] died after .* in kernel 'square'" "$evidence")" -eq 2 ]
check "two moots at once" "the other is said to know of all kernels" \
    says "^moot: rank [0-3] died of signal 11 .* outside of this moot's kernels, on host"
check "two moots at once" "the other is said to know of all kernels" \
    no says "outside of kernels"
evidence="$scratch/none"
run 4 none
check "no poison" "the status is $status" [ "$status" -eq 0 ]

export MOOT_KERNEL_LIMIT=300ms
run 4 patient
check "waits of a kernel" "the status is $status, not 0" [ "$status" -eq 0 ]
run 4 forever
unset MOOT_KERNEL_LIMIT
check "a kernel for ever" "the status is $status, not 134" [ "$status" -eq 134 ]
check "a kernel for ever" "$(good_ranks) ranks are left, not 2" left 2
check "a kernel for ever" "nobody says why" \
    says "ends itself: task .* of kernel 'square' .* for longer than MOOT_KERNEL_LIMIT"

# Under plain mpirun nobody says what a rank died of, and the first to tell says that.
evidence="$scratch/plain"
timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe --enable-recovery -n 3 \
    "$build/tests/mpi/poison" kill >"$evidence" 2>&1 </dev/null
check "plain mpirun" "it does not name what ran" \
    says "^moot: rank [0-2] died in kernel 'square', task .*poison.c:"
check "plain mpirun" "it does not say once who knows more" \
    [ "$(grep -c '^moot: what it died of only .moot run. can see' "$evidence")" -eq 1 ]

# Which of several kernels it was is not known: each runs alone next, so that one rank
# more dies.  exit() is said by the kernel that calls it.
ran() { grep -c "^poison ran $1" "$evidence"; }
many() { grep -cE '^moot: rank [0-9] died .*, or kernel' "$evidence"; }
# company HOW RANKS-LEFT TIMES-ALONE
company() {
    evidence="$scratch/beside-$1"
    MOOT_THREADS=2 run 5 beside "$1"
    check "beside others, by $1" "a rank is wrong" no says '^FAIL'
    check "beside others, by $1" "too few ranks are left" least_left "$2"
    check "beside others, by $1" "it took too long" [ $status -ne 124 ]
    [ "$(many)" -eq 0 ] ||
        check "beside others, by $1" "a suspect ran beside others" [ "$(ran alone)" -ge "$3" ]
}
company null 2 2
company abort 2 2
company exit 3 0
check "beside others, by exit" "it is not known which called it" [ "$(many)" -eq 0 ]
rows_after() { sed -n '/^moot: rank [0-9] did not close/,$p' "$evidence" | grep -c '^  '; }
check "beside others, by exit" "a failure stands inside the summary" [ "$(rows_after)" -eq 0 ]
company fpe 2 2
check "beside others, by fpe" "the signal of a worker is another" no says 'died of signal 11'
evidence="$scratch/outside"
MOOT_THREADS=1 run 5 outside null
check "beside its program" "a rank is wrong" no says '^FAIL'
check "beside its program" "$(good_ranks) ranks are left, not 2" left 2
# While it goes on, whoever asks is told of the death.
export MOOT_STATE="$scratch/doors"
state_tells() {
    timeout 30 "$build/moot" state >"$scratch/state" 2>&1
    grep -qE "^    rank [0-9]: has died of signal 11 .* in kernel 'square', task .*poison.c:.*, on host" \
        "$scratch/state"
}
MOOT_THREADS=1 run 5 outside null &
tries=0
until state_tells || [ $tries -eq 100 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
evidence="$scratch/outside $scratch/state"
check "moot state" "it does not tell of a death" [ $tries -lt 100 ]
wait
unset MOOT_STATE
export MOOT_KERNEL_LIMIT=300ms
evidence="$scratch/limit"
MOOT_THREADS=2 run 5 beside forever
unset MOOT_KERNEL_LIMIT
check "for ever beside others" "a rank is wrong" no says '^FAIL'
check "for ever beside others" "$(good_ranks) ranks are left, not 3" left 3

seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    ranks=$((3 + seed % 4)) threads=0
    deaths=$((ranks > 4 ? 4 : 2))
    if [ $ranks -eq 4 ]; then
        threads=2 deaths=3
    fi
    evidence="$scratch/random"
    every_second "$seed"
    MOOT_THREADS=$threads MOOT_SUSPECT=30s run $ranks random "$seed"
    name="MOOT_THREADS=$threads MOOT_SUSPECT=30s moot run -n $ranks $local poison random $seed"
    check "$name" "a rank is wrong" no says '^FAIL'
    sed -n 's/^effect \([0-9]*\) has begun$/\1/p' "$evidence" >"$scratch/begun"
    while read -r task; do
        check "$name" "who knew that task $task had begun says nothing of it" \
            no says "^effect $task was never begun\$"
    done <"$scratch/begun"
    check "$name" "too few ranks are left" least_left $((ranks - deaths))
    check "$name" "its status is $status" [ $status -ne 0 ] # a death of its own fault
    check "$name" "it took too long" [ $status -ne 124 ]
    seed=$((seed + 1))
done

# kill_some RANKS SEED: one or two, when they have left their numbers
kill_some() {
    sleep "0.$((30 + $2 * 37 % 60))"
    for victim in $(($2 % $1)) $((($2 * 7 + 1) % $1)); do
        [ ! -s "$scratch/pids/pid-$victim" ] ||
            kill -9 "$(cat "$scratch/pids/pid-$victim")" 2>/dev/null
        sleep 0.05
    done
}
seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    ranks=$((3 + seed % 4))
    evidence="$scratch/long"
    rm -rf "$scratch/pids"
    mkdir "$scratch/pids"
    kill_some $ranks "$seed" &
    every_second "$seed"
    run $ranks long "$scratch/pids"
    wait
    name="moot run -n $ranks $local poison long, killed from outside ($seed)"
    check "$name" "something ends CRASHED" no says 'MOOT_ERR_CRASHED'
    check "$name" "a rank is wrong" no says '^FAIL'
    seed=$((seed + 1))
done
check_end
