# fleet_jobs.sh - jobs by ssh on three hosts of fleet_hosts.sh, what befalls them, and how
# they must end.  Tests read it first of all, from the top of the tree, with their words:
#
#   . tests/cli/fleet_jobs.sh
#   jobs_enter "$@"        makes hosts a, b and c, or skips the test
#
# Then a case is one call, which notes what is wrong (check.sh):
#
#   killed MOMENT PROGRAM...         host c goes whole at that moment
#   cut_off SECONDS HOW PROGRAM...   b is cut off for so long; HOW: both, from, to
#   back PROGRAM...                  b is voted out, comes back, and then does a new job
#   stopped SECONDS WHOM             `run` or `ssh` stands still for so long
#   routed ROUTE PROGRAM...          by a route, where a wall stands between b and c
#   relay_killed                     a passes on for b and c: its first rank dies, then a whole
#
# A PROGRAM of `random SEED` is one of everything that users have, which diverges, with an
# oracle that judges each end (tests/mpi/hostile/chaos.h).  Several are several jobs at
# once, with a `+` between them.
# shellcheck shell=sh

jobs_enter() {
    : "${BUILD:?names the folder of the build}"
    # shellcheck source=tests/cli/fleet_hosts.sh
    . tests/cli/fleet_hosts.sh
    hosts_enter "$@"
    # shellcheck source=tests/cli/check.sh
    . tests/cli/check.sh
    build=$(cd "${BUILD:?}" && pwd)
    moot=$build/moot
    chaos=$build/tests/mpi/chaos
    scratch=$(mktemp -d)
    trap 'hosts_end; rm -rf "$scratch"' EXIT
    trap 'exit 1' INT TERM
    unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
    hosts_make "$scratch/hosts" a b c || {
        echo "no hosts here: $(tail -n 1 "$scratch/hosts/why")"
        exit 77
    }
    export TMPDIR="$scratch/tmp"
    mkdir "$TMPDIR"
    launcher="--launcher ssh:config=$scratch/hosts/ssh_config"
    three="--hosts a:2,b:2,c:2"
    # shellcheck disable=SC2034 # for the tests
    tsp="tsp deploy/examples/burma14.tsp"
    wire=tcp
    [ ! -f "$build/wires/ucx.so" ] || wire=ucx
    evidence="$scratch/said" drawn=""
    lines="$scratch/said" # of the job that goes on
}

# told WORDS: the job says so, within some seconds
told() {
    told_tries=0
    until says "$1" || [ $told_tries -gt 300 ]; do
        told_tries=$((told_tries + 1))
        sleep 0.1
    done
}

# clean CASE: nothing of a job is left on any host, or here, after some seconds.  The
# processes of all hosts are to be seen from here.
# shellcheck disable=SC2009 # pgrep has no room for so many names
clean() {
    clean_tries=0
    until ps -eo comm=,args= |
        grep -E '^(ssh|moot|tsp|tree|cholesky|chaos|steady|one|tail|restarted|snapshots) ' >"$scratch/left"
        [ ! -s "$scratch/left" ] || [ $clean_tries -gt 120 ]; do
        clean_tries=$((clean_tries + 1))
        sleep 0.1
    done
    [ ! -s "$scratch/left" ]
    name=$1 note $? "this is left: $(cat "$scratch/left")"
}

# --- Jobs -------------------------------------------------------------------------------
# run WORD...: a job to its end; its status is $got, how long it took $took
run() {
    began=$(date +%s)
    # shellcheck disable=SC2086 # words are meant to split
    timeout -k 5 120 "$moot" run $launcher "$@" >"$lines" 2>&1 </dev/null
    got=$?
    took=$(($(date +%s) - began))
}
# words_of SLOT CASE PROGRAM...: into $words, behind `moot run`, and $process, of whom there
# are $each for each rank.  The case of a random program is $drawn, else that is empty.
words_of() {
    slot=$1 struck=$2 drawn='' process=$3 each=1
    shift 2
    words=$*
    if [ "$1" = random ]; then
        drawn="$2:ranks=6:no-fault:no-memory:no-shm:no-outside$struck" process=chaos each=2 # it has a child that sends signals
        rm -f "$scratch/ledger-$slot"
        words="$("$chaos" --command "$drawn" | sed 's/^-n 6//')"
        words="$words $chaos $scratch/ledger-$slot $drawn"
    fi
    process=${process##*/}
}
# begin_one SLOT CASE PROGRAM...: it goes on, and its ranks are there
begin_one() {
    words_of "$@"
    lines="$scratch/said-$slot" evidence="$scratch/said-$slot"
    # shellcheck disable=SC2086 # words are meant to split
    env --default-signal=INT timeout -k 5 150 "$moot" run $launcher ${hosts-$three} \
        --transport $wire ${knobs-} $words >"$lines" 2>&1 </dev/null &
    job=$!
    eval "job_$slot=$job drawn_$slot=$drawn"
    began=$(date +%s)
    begin_tries=0
    until [ "$(pgrep -c -x "$process")" -ge $((${ranks-6} * each)) ] || [ $begin_tries -gt 200 ]; do
        sleep 0.05
        begin_tries=$((begin_tries + 1))
    done
}
# begin CASE PROGRAM... [+ PROGRAM...]: the jobs of a case, which is for the random ones
begin() {
    begin_case=$1
    shift
    begin_rest="$* +" slots=''
    while [ -n "$begin_rest" ]; do
        slots="$slots $((${slots##* } + 1))"
        # shellcheck disable=SC2086 # words are meant to split
        begin_one "${slots##* }" "$begin_case" ${begin_rest%%+*}
        begin_rest=${begin_rest#*+}
    done
    # Which of them are not through yet when something befalls them.
    late=''
}
# befall COMMAND...: now, and which jobs are not through is kept
befall() {
    for slot in $slots; do
        eval "job=\$job_$slot"
        ! kill -0 "$job" 2>/dev/null || late="$late $slot "
    done
    "$@"
}
# end_with JUDGE CASE: each job ends, and is judged
end_with() {
    for slot in $slots; do
        eval "job=\$job_$slot drawn=\$drawn_$slot"
        lines="$scratch/said-$slot" evidence="$scratch/said-$slot"
        wait "$job"
        got=$? took=$(($(date +%s) - began))
        "$@"
    done
}
# well CASE: it ended well, with the program's own word for that
well() {
    if [ -n "$drawn" ]; then
        check "$1" "its status is $got, not 0" [ "$got" -le 1 ]
        "$chaos" --check "$scratch/ledger-$slot" "$drawn" >"$scratch/judged" 2>&1
        judged=$?
        evidence="$lines $scratch/judged"
        name=$1 note $judged "an end that nothing explains"
        evidence=$lines
        return
    fi
    check "$1" "its status is $got, not 0" [ "$got" -eq 0 ]
    check "$1" "the result is not right" says \
        '^optimum 3323 |the serial walk agrees|^the norm |residual|grew by|^ok'
}

# --- What befalls them ------------------------------------------------------------------
# judge_killed CASE: how the job ended whose host c is gone
judge_killed() {
    name=$1
    note "$((took > 60))" "it took $took s"
    if ! says 'host c is lost before all ranks|could not open|never opened|host c: no agent'; then
        well "$1"
    fi
    # The job may have been through in that moment: then all ranks have left their figures.
    case $late in *" $slot "*)
        says 'by rank: [0-9 ]*$' || check "$1" "the lost host is not named" says 'host c'
        ;;
    esac
}
killed() {
    moment=$1
    shift
    begin :struck=4-5 "$@"
    sleep "$moment"
    befall host_kill c
    end_with judge_killed "$* with host c killed after $moment s"
    check "$*" "no host comes back here: $(tail -n 1 "$scratch/hosts/c.log")" host_again c
    clean "$* with host c killed after $moment s"
}
judge_cut() {
    name=$1
    note "$((took > seconds + 60))" "it took $took s"
    if says 'never opened'; then # all have to come to that
        check "$1" "the host that was cut off is not named" says 'host b'
        return
    fi
    well "$1"
}
cut_off() {
    seconds=$1 how=$2
    shift 2
    begin :struck=2-3:away=2-3 "$@"
    sleep 0.5
    case $how in
    both) befall link_cut b ;;
    *) befall one_way_cut b "$how" ;;
    esac
    sleep "$seconds"
    link_mend b
    end_with judge_cut "$* with the link of b cut ($how) for $seconds s"
    clean "$* with the link of b cut ($how) for $seconds s"
}
judge_away() {
    case $late in *" $slot "*)
        check "$1" "the ranks that were left out are not named" says 'rank [23] was|host b'
        ;;
    esac
    well "$1"
}
judge_whole() {
    well "$1"
    check "$1" "a rank was lost" no says 'was (removed|lost|silent)|died'
}
back() {
    begin :struck=2-3:away=2-3 "$@"
    sleep 0.5
    befall link_cut b
    end_with judge_away "$* with b cut off until it is voted out"
    link_mend b
    clean "$* with b cut off until it is voted out"
    begin '' "$@"
    end_with judge_whole "$* on a host that was voted out before"
    clean "$* on a host that was voted out before"
}
stopped() {
    rm -f "$scratch/enough"
    begin '' "$build/tests/mpi/steady" 100000000 until "$scratch/enough"
    case $2 in
    run) still=$(pgrep -P "$job") ;;
    ssh) still=$(pgrep -f 'ssh -F.* b ' | head -n 1) ;;
    esac
    sleep 0.3
    kill -STOP "$still"
    sleep "$1"
    kill -CONT "$still"
    sleep 0.3
    check "$2 still for $1 s" "the job did not go on" kill -0 "$job"
    : >"$scratch/enough"
    end_with judge_whole "$2 still for $1 s"
    clean "$2 still for $1 s"
}

# --- Walls ------------------------------------------------------------------------------
routed() {
    knobs="MOOT_ROUTE=$1"
    shift
    begin '' "$@"
    end_with judge_whole "$* by $knobs"
    clean "$* by $knobs"
    knobs=''
}
# Hosts b and c do not hear each other once a is gone, and c has most of the ranks.
judge_relay() {
    name=$1
    note "$((took > 60))" "it took $took s"
    check "$1" "its status is $got, not 0" [ "$got" -eq 0 ]
    check "$1" "the second rank of a did not pass on for the first" \
        says 'rank 0 died.*ranks 1-6 go on in view 2'
    check "$1" "those out of reach are not voted out alone" \
        says 'rank 1 was .*, rank 2 was .*; ranks 3-6 go on in view 3'
    check "$1" "the cut off rank has no word of it" says 'rank 2: .* cut off'
    check "$1" "the lost host is not named" says 'host a is lost, with ranks 0 to 1'
    check "$1" "not all of c came to the end" \
        [ "$(grep -c 'rank [3-6] grew by' "$lines")" -eq 4 ]
}
relay_killed() {
    rm -f "$scratch/enough"
    hosts='--hosts a:2,b:1,c:4' ranks=7
    knobs='--faults kill:r0@500ms MOOT_ROUTE=star:a MOOT_SUSPECT=1s'
    begin '' "$build/tests/mpi/steady" 100000000 until "$scratch/enough"
    told 'go on in view 2'
    befall host_kill a
    told 'go on in view 3'
    told 'rank 2: .* cut off'
    : >"$scratch/enough"
    end_with judge_relay "a star whose middle dies"
    check "a star" "no host comes back here: $(tail -n 1 "$scratch/hosts/a.log")" host_again a
    clean "a star whose middle dies"
    unset hosts ranks
    knobs=''
}
