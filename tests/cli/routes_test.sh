#!/bin/sh
# routes_test.sh - MOOT_ROUTE where hosts do not all reach each other: the suite of transports
# and programs over stars, lines and tables, with relays killed, whole hosts killed, and
# lines cut, also one way and for a while; what is no route is refused on all ranks alike.
#
# Hosts are what tests/mpi/hosted tells ranks of this machine, and the walls between them
# those of the transport tests/cli/wires_walled.c.  Finds the programs in $BUILD; run from the
# top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
export MOOT_RINGS=off
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh

for promise in 0 MOOT_TRANSPORT_RELIABLE; do
    ${CC:-gcc} -D_GNU_SOURCE -w -shared -fPIC -I"$build/include" -DPROMISES="$promise" \
        tests/cli/wires_walled.c -o "$scratch/$promise.so" || exit 1
done
wire=$scratch/0.so
hosted=$build/tests/mpi/hosted
suite=$build/tests/conformance/transport_test
steady="$build/tests/mpi/steady 40000"

# run CASE ROUTE WIRE WORD...: hosted with these words, to its end
run() {
    name=$1 route=$2 over=$3
    shift 3
    evidence="$scratch/said-$name"
    MOOT_ROUTE=$route MOOT_TRANSPORT=$over timeout -k 5 300 "$hosted" "$@" \
        >"$evidence" 2>&1 </dev/null
    check "$name" "its status is not $wanted" [ $? = $wanted ]
}
wanted=0
# cut CASE ROUTE SECONDS LINES WORD...: likewise, over a wire whose LINES are cut after half a
# second, for so long; 0: for good
cut() {
    name=$1 route=$2 for_s=$3 lines=$4
    shift 4
    rm -f "$scratch/cuts"
    {
        sleep 0.5
        # shellcheck disable=SC2086 # a line a word
        printf '%s\n' $lines >"$scratch/cuts-$name"
        mv "$scratch/cuts-$name" "$scratch/cuts"
        [ "$for_s" = 0 ] || { sleep "$for_s" && rm -f "$scratch/cuts"; }
    } &
    run "$name" "$route" "$wire:;$scratch/cuts" "$@"
    wait
}

# --- Well -------------------------------------------------------------------------------
suite_of() {
    name=$1
    MOOT_TEST_SMALL=1 run "$@" "$suite" carrier "$3" plain
    check "$name" "a case failed" says '^transport, [0-9]+ ranks: [1-9][0-9]* passed, 0 failed'
}
suite_of suite-star star:b "$wire:a-b,b-c" a:1,b:1,c:1
suite_of suite-line tree:1 "$wire:a-b,b-c" a:1,b:1,c:1
suite_of suite-tcp star:b tcp a:1,b:1,c:1
suite_of suite-reliable star:a "$scratch/MOOT_TRANSPORT_RELIABLE.so:a-b,a-c" a:2,b:1,c:1
printf '# who reaches whom\na b\nb c\nc-d # far\n' >"$scratch/table"
run table "@$scratch/table" "$wire:a-b,b-c,c-d" a:1,b:1,c:1,d:1 \
    "$build/examples/tsp" deploy/examples/burma14.tsp
check table "it is not the optimum" says '^optimum 3323 '
# Hosts are named as the launcher names them for people, or by their addresses.
for middle in b 9; do
    run "named-$middle" "star:$middle" "$wire:8-9,9-10" a=8:1,b=9:1,c=10:1 \
        "$build/examples/tsp" deploy/examples/burma14.tsp
    check "named-$middle" "it is not the optimum" says '^optimum 3323 '
done
MOOT_SEAL=off run open star:a "$wire:a-b,a-c" a:2,b:2,c:2 \
    "$build/examples/tsp" deploy/examples/burma14.tsp
check open "it is not the optimum" says '^optimum 3323 '

# --- Relays that die --------------------------------------------------------------------
# They kill themselves, so many milliseconds after they have opened the moot: where a rank is
# killed earlier, as may be on a busy machine, no job begins.
for at_ms in 300 700 1100; do
    # shellcheck disable=SC2086 # words are meant to split
    MOOT_FAULTS=kill:r1@${at_ms}ms run "relay-$at_ms" star:a "$wire:a-b,a-c" a:2,b:2,c:2 $steady
    check "relay-$at_ms" "another was voted out" no says 'rank [02345] (died|was silent)'
done
# shellcheck disable=SC2086 # words are meant to split
MOOT_FAULTS=kill:r0@500ms run middle star:a "$wire" a:1,b:2,c:2 $steady
check middle "the others were voted out" says 'ranks 1-4 go on in view 2'
# shellcheck disable=SC2086 # words are meant to split
MOOT_FAULTS=kill:r1@500ms run inner tree:2 "$wire" a:1,b:1,c:1,d:1,e:1 $steady
check inner "the others were voted out" says 'ranks 0,2-4 go on in view 2'

# --- Lines that are cut -----------------------------------------------------------------
# By the third host; and by another rank's word, since the one end hears nothing of it.
# shellcheck disable=SC2086 # words are meant to split
for line in 'a-b' 'a-b>' 'b-a>'; do
    cut "table-$line" links:a-b,b-c,c-a 0 "$line" a:1,b:2,c:1 $steady
    check "table-$line" "a rank was voted out" no says 'silent for too long'
done
# Too short for a vote.
# shellcheck disable=SC2086 # words are meant to split
cut heals star:a 1.5 'a-b' a:1,b:2,c:2 $steady
check heals "a rank was voted out" no says 'silent for too long'
# Nobody reaches the star's middle, which lives: the others speak past it.
wanted=1 # rank 0 is cut off for good, and says so
# shellcheck disable=SC2086 # words are meant to split
cut gone star:a 0 'a-b a-c' a:1,b:2,c:2 $steady
check gone "it was not voted out alone" says 'rank 0 was silent.*ranks 1-4 go on in view 2'
wanted=0

# --- Told -------------------------------------------------------------------------------
# asked: moot state has an answer that names the hosts
asked() {
    timeout 30 "$build/moot" state >"$scratch/state" 2>&1 &&
        grep -q '^  hosts: a has rank 0; b has ranks 1-2$' "$scratch/state"
}
export MOOT_STATE="$scratch/doors"
run told star:a "$wire" a:1,b:2 kill:a@6000 kill:b@6000 "$build/tests/mpi/steady" 4000000 &
tries=0
until asked || [ $tries -ge 20 ]; do
    tries=$((tries + 1))
    sleep 0.2
done
wait
evidence="$scratch/state"
check told "moot state does not name the hosts" [ $tries -lt 20 ]
unset MOOT_STATE

# --- Refused ----------------------------------------------------------------------------
# refused ROUTE WHAT: in one line of each of three ranks, at once
refused() {
    evidence="$scratch/refused"
    began=$(date +%s)
    MOOT_ROUTE=$1 MOOT_TRANSPORT=$wire timeout -k 5 60 "$hosted" a:1,b:1,c:1 \
        "$build/examples/tsp" deploy/examples/burma14.tsp >"$evidence" 2>&1 </dev/null
    check "refused $1" "its status is 0" [ $? != 0 ]
    check "refused $1" "not all ranks say why" [ "$(grep -cE -e "$2" "$evidence")" = 3 ]
    check "refused $1" "it took over 10 s" [ $(($(date +%s) - began)) -le 10 ]
}
refused ring 'MOOT_ROUTE=ring: may be mesh, star:HOST, tree:K, links:A-B,B-C or @FILE$'
refused star:d "MOOT_ROUTE=star:d: there is no host 'd'; the hosts of this job are a, b, c\$"
refused tree:0 "MOOT_ROUTE=tree:0: K is '0', but .* may be 1 to 1024\$"
refused links:a-b 'MOOT_ROUTE=links:a-b: there is no route from host a to host c: add a link$'
refused links:a-x,b-c "'a-x' is no link between two hosts; the hosts of this job are a, b, c\$"
refused "@$scratch/no" "MOOT_ROUTE=@$scratch/no: No such file or directory\$"
check_end
