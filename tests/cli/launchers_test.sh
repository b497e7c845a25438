#!/bin/sh
# launchers_test.sh - launchers that are loaded: `moot check-launcher` passes the example
# that is written from the header alone, and finds each of the defects that
# launchers_broken.c can have; what is no launcher, and lists of hosts that are none, are
# refused in one line.
# BUILD says where the command is (build).
set -u

BUILD=$(cd "${BUILD:-build}" && pwd)
moot=$BUILD/moot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
cc=${CC:-gcc}
unset MOOT_CONFIG SLURM_JOB_ID SLURM_JOB_NODELIST

# --- The suite ---

# judge DEFECT: builds it and checks it, in the background.
judge() {
    $cc -D_GNU_SOURCE -w -shared -fPIC -I"$BUILD/include" -I. -DDEFECT="$1" \
        tests/cli/launchers_broken.c -o "$scratch/$1.so" || return
    "$moot" check-launcher --first "$scratch/$1.so" --hosts a:2,b,c \
        >"$scratch/$1" 2>"$scratch/$1.error"
    echo "status $?" >>"$scratch/$1"
}
# found DEFECT CHECK WHY: that check has failed, for that reason.  On a busy machine another,
# which looks at the clock, can fail before it: then it is judged once more, alone.
found() {
    evidence=$scratch/$1
    grep -qE "^FAILED +($2).*$3" "$scratch/$1" || judge "$1"
    check "$1" "is not found by '$2', or not as '$3'" \
        grep -qE "^FAILED +($2).*$3" "$scratch/$1"
    check "$1" "the status is not 1" grep -qx "status 1" "$scratch/$1"
}

judge NONE
evidence=$scratch/NONE
check "the example" "a check fails" grep -qx "16 ok, 0 failed" "$scratch/NONE"
check "the example" "the status is not 0" grep -qx "status 0" "$scratch/NONE"

# The example carries a job.
"$moot" run --launcher "$BUILD/examples/launcher_exec.so:env %h=1" --hosts a:2,b:1 \
    tsp deploy/examples/burma14.tsp >"$scratch/out" 2>&1
status=$?
evidence=$scratch/out
check "tsp by the example" "the status is $status" [ "$status" -eq 0 ]
check "tsp by the example" "it is not the optimum" grep -q '^optimum 3323 ' "$scratch/out"

judged=0
for defect in TELLS_UP_TWICE TELLS_NO_UP TELLS_END_TWICE TELLS_NO_END TELLS_IN_LAUNCH \
    STATUS_OF_WAIT HIDES_SIGNALS LOSES_A_BYTE TRANSLATES_LINES DROPS_AT_THE_END SPLITS_WORDS \
    DROPS_EMPTY_WORDS BLOCKS_IN_POLL BLOCKS_IN_LAUNCH FINALISES_SLOWLY LEAVES_PROCESSES \
    LEAVES_FILES KILLS_NOTHING INTERRUPTS_NOTHING ONE_HOST_AT_A_TIME TAKES_ANY_HOSTS \
    SAYS_NOT_WHY DESCRIBES_ANY_HOST HAS_NO_NAMES STARTS_AGAIN NEVER_WAKES \
    ERROR_IN_THE_STREAM CRASHES; do
    judge $defect &
    judged=$((judged + 1))
    [ $((judged % 28)) -ne 0 ] || wait
done
wait
found TELLS_UP_TWICE "a stream of all bytes" "up\(\) of host 2 came twice"
found TELLS_NO_UP "a stream of all bytes" "up\(\) did not come"
found TELLS_END_TWICE "a stream of all bytes" "ended\(\) of host 2 after its ended"
found TELLS_NO_END "a stream of all bytes" "ended\(\) did not come"
found TELLS_IN_LAUNCH "how commands end" "outside poll\(\)"
found STATUS_OF_WAIT "a reader after the end" "status 1280, not REAPED with 5"
found HIDES_SIGNALS "a reader after the end|how commands end" "not REAPED with"
found LOSES_A_BYTE "a stream of all bytes" "4194303 came back"
found TRANSLATES_LINES "a stream of all bytes" "came back"
found DROPS_AT_THE_END "a slow reader|a reader after the end" "to a slow reader|and not the last words"
found SPLITS_WORDS "a slow reader|words of the command|a stream" ""
found DROPS_EMPTY_WORDS "words of the command" "the command got <two words>"
found BLOCKS_IN_POLL "a slow reader" "poll\(\) took 3"
found BLOCKS_IN_LAUNCH "a stream of all bytes" "launch\(\) took 3"
found FINALISES_SLOWLY "opens and finalises" "finalise\(\) took 7"
found LEAVES_PROCESSES "finalise " "left"
found LEAVES_FILES "opens and finalises" "left 3 descriptors open"
found KILLS_NOTHING "kill, with a child" "ended\(\) did not come"
found INTERRUPTS_NOTHING "interrupt" "ended\(\) did not come"
found ONE_HOST_AT_A_TIME "how commands end" "one at a time"
found TAKES_ANY_HOSTS "hosts with a mistake" "took the hosts 'a:x'"
found SAYS_NOT_WHY "hosts with a mistake" "without a line of why"
found DESCRIBES_ANY_HOST "opens and finalises" "is described"
found HAS_NO_NAMES "opens and finalises" "has no name"
found STARTS_AGAIN "what is refused" "a second launch\(\) is not refused"
found NEVER_WAKES "the descriptor" "was not readable"
found ERROR_IN_THE_STREAM "standard error" "comes out neither|is in its stream"
found CRASHES "how commands end" "died of signal 6"

# --- What is no launcher, and no list of hosts ---

# refuses WHY STATUS WORD...: in one line
refuses() {
    told=$1 due=$2
    shift 2
    "$moot" check-launcher --first "$@" >"$scratch/out" 2>&1
    status=$?
    evidence=$scratch/out
    check "check-launcher $*" "the status is $status, not $due" [ "$status" -eq "$due" ]
    check "check-launcher $*" "it is not told as: $told" grep -qE -e "$told" "$scratch/out"
    check "check-launcher $*" "it takes more than some lines" [ "$(wc -l <"$scratch/out")" -le 3 ]
}
refuses "there is no launcher 'no-such'.* mpirun, local, ssh and slurm" 2 no-such
refuses "No such file" 2 ./no-such-file.so
refuses "cannot be loaded" 2 ./Makefile
refuses "no symbol moot_launcher_table" 2 "$BUILD/libmoot.so"
refuses "on which hosts" 1 ssh
refuses "'a:x': behind the colon stand slots" 1 ssh --hosts b:1,a:x
refuses "'a' stands there twice" 1 ssh --hosts a:1,a:1
refuses "'-oProxyCommand=touch': this is no name" 1 ssh --hosts a,-oProxyCommand=touch
refuses "'port=2' is no option" 1 ssh:port=2 --hosts a
refuses "[Cc]an't open user config file .*no-such-config" 1 \
    "ssh:config=$scratch/no-such-config" --hosts a
refuses "[Bb]ad configuration option" 1 ssh:o=NoSuchOption=1 --hosts a
refuses "salloc .* sbatch" 1 slurm

"$moot" info >"$scratch/out" 2>&1
evidence=$scratch/out
check "moot info" "it does not tell of ssh" grep -qE '^launcher ssh: (/|not here)' "$scratch/out"
check "moot info" "it does not tell of slurm" grep -qE '^launcher slurm: (/|not here)' "$scratch/out"

check_end
