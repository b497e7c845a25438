#!/bin/sh
# newcomers_test.sh - programs whose ranks come, leave and die while they run: the four tables
# of malleable.c; a diverging program that runs each task once; an iterative solver that has
# the same bits; newcomers that come at the end, or die as they come; and what is refused.
#
# growing.c has what must be true of each rank.  Finds the programs in $BUILD; run from the top
# of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MOOT_CONFIG MOOT_TRANSPORT MOOT_ROUTE
export TMPDIR="$scratch"
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
ledger=$scratch/ledger
growing=$build/tests/mpi/growing

# run STATUS WORD...: moot run with these words, to its end
run() {
    wanted=$1
    shift
    : >"$ledger"
    timeout -k 5 120 "$build/moot" run --launcher local "$@" >"$evidence" 2>&1 </dev/null
    code=$?
    check "$name" "its status is $code, not $wanted" [ $code = "$wanted" ]
}
# tasks COUNT: so many have run, each once
tasks() {
    lines=$(wc -l <"$ledger")
    check "$name" "kernels ran: $lines, not $1" [ "$lines" = "$1" ]
    check "$name" "a task has run twice" [ -z "$(awk '{ print $1 }' "$ledger" | sort | uniq -d)" ]
}
# joined COUNT: so many have come, and each has run something
joined() {
    check "$name" "the summary does not have them" says "^moot: .* ranks \([0-9]+ \+ $1 joined\)"
    others=$(awk '{ print $2 }' "$ledger" | sort -u | grep -vc '^a_')
    check "$name" "newcomers that have run something: $others, not $1" [ "$others" = "$1" ]
}
same() { [ "$(cat "$1")" = "$(cat "$2")" ]; }

# --- The tables ---------------------------------------------------------------------------
cat >"$scratch/golden" <<'END'
session A
  0 mpi://WORLD: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_6, a_7], ranks [0, 1, 2, 3, 4, 5, 6, 7], valid
  1 mpi://SELF: processes [a_0], ranks [0], valid
  2 moot://all_1: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_6, a_7], ranks [0, 1, 2, 3, 4, 5, 6, 7], valid
session B, without a_6
  0 mpi://WORLD: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7], ranks [0, 1, 2, 3, 4, 5, 6], valid
  1 mpi://SELF: processes [a_0], ranks [0], valid
  2 moot://all_1: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_6, a_7], ranks [0, 1, 2, 3, 4, 5, 6, 7], invalid
  3 moot://all_2: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7], ranks [0, 1, 2, 3, 4, 5, 6], valid
session B, b_0 has come
  0 mpi://WORLD: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7], ranks [0, 1, 2, 3, 4, 5, 6], valid
  1 mpi://SELF: processes [a_0], ranks [0], valid
  2 moot://all_1: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_6, a_7], ranks [0, 1, 2, 3, 4, 5, 6, 7], invalid
  3 moot://all_2: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7], ranks [0, 1, 2, 3, 4, 5, 6], valid
  4 moot://all_3: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7, b_0], ranks [0, 1, 2, 3, 4, 5, 6, 7], valid
session C
  0 mpi://WORLD: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7, b_0], ranks [0, 1, 2, 3, 4, 5, 6, 7], valid
  1 mpi://SELF: processes [a_0], ranks [0], valid
  2 moot://all_1: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_6, a_7], ranks [0, 1, 2, 3, 4, 5, 6, 7], invalid
  3 moot://all_2: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7], ranks [0, 1, 2, 3, 4, 5, 6], valid
  4 moot://all_3: processes [a_0, a_1, a_2, a_3, a_4, a_5, a_7, b_0], ranks [0, 1, 2, 3, 4, 5, 6, 7], valid
END
name="the tables"
run 0 -n 8 --max 8 "$build/examples/malleable"
grep -E '^session|^  [0-9] ' "$evidence" >"$scratch/tables"
check "$name" "they are others: $(diff "$scratch/golden" "$scratch/tables" | head -n 3)" \
    same "$scratch/golden" "$scratch/tables"
check "$name" "who left and who came is not said" \
    [ "$(grep -cE '^moot: 9 ranks \(8 \+ 1 joined\)|^  left +1 rank: 6$' "$evidence")" = 2 ]

# --- Each task once -----------------------------------------------------------------------
# Each round is of 42 tasks.
for wire in rings tcp; do
    name="two waves, over $wire"
    case $wire in
    rings) run 0 -n 3 --max 6 "$growing" "$ledger" 30 a_0+1@4 a_1+2@8 a_0~3@20 ;;
    tcp) MOOT_RINGS=off run 0 -n 3 --max 6 "$growing" "$ledger" 30 a_0+1@4 a_1+2@8 a_0~3@20 ;;
    esac
    tasks 1260
    joined 3
done
name="all that began leave"
run 0 -n 3 --max 6 "$growing" "$ledger" 40 a_0+3@3 a_0~3@19 a_0-@20 a_1-@21 a_2-@22
tasks 1680
joined 3
check "$name" "the summary does not say who left" says '^  left +3 ranks: 0, 1, 2$'
name="each of eight is replaced in turn"
run 0 -n 8 --max 9 "$growing" "$ledger" 90 a_0+1@3 a_0~1@7 a_0-@8 b_0+1@14 a_1~2@19 a_1-@20 \
    a_2+1@24 a_2~3@29 a_2-@30 b_0+1@34 a_3~4@39 a_3-@40 b_0+1@44 a_4~5@49 a_4-@50 \
    b_0+1@54 a_5~6@59 a_5-@60 b_0+1@64 a_6~7@69 a_6-@70 b_0+1@74 a_7~8@79 a_7-@80
tasks 3780
joined 8
name="frames are lost, doubled and late"
MOOT_FAULTS='seed:3,drop:0.02,dup:0.02,delay:2ms+-2ms' \
    run 0 -n 3 --max 5 "$growing" "$ledger" 20 a_0+1@3 a_1+1@6 a_0~2@15
tasks 840

# Neither shares a processor with the other, where there are two.
name="one comes to one"
run 0 -n 1 --max 2 "$growing" "$ledger" 12 a_0+1@3 a_0~1@6
check "$name" "it has not come" says '^moot: rank 1 \(b_0\) joins in view 2$'

# --- At the end ---------------------------------------------------------------------------
for round in 1 2 3 4; do
    name="they come at the end, $round"
    run 0 -n 3 --max 6 "$growing" "$ledger" 8 a_0+2@8 a_1+1@7
    tasks 336
    check "$name" "they have neither come nor been told that all is over" \
        [ "$(grep -cE 'joins in view|ended before they had let|there will be no|to join have gone' "$evidence")" -ge 3 ]
done

# --- Sets ---------------------------------------------------------------------------------
# All ranks of a session have the same list, newcomers as well.
for how in live session; do
    for count in 1 2; do
        name="sets of $count who come, $how"
        run 0 -n 3 --max 6 "$build/tests/mpi/joined_sets" "$how" "$count"
        check "$name" "not all ranks have said theirs" \
            [ "$(grep -c '^sets of ' "$evidence")" = $((3 + count)) ]
        check "$name" "the lists are others: $(sed -n 's/^sets of//p' "$evidence")" \
            [ "$(sed -n 's/^sets of [^:]*//p' "$evidence" | sort -u | grep -c .)" = 1 ]
        check "$name" "the last set is not of all" says \
            "^sets of a_0: .* moot://all_$([ $how = live ] && echo $((1 + count)) || echo 2)=[ab_0-9,]* [0-9]* moot://host/[^ ]*=[ab_0-9,]*\$"
    done
done

# Founders that have closed look at nothing any more, and live on.  A newcomer that comes
# after that is told at once, and not when they end.
name="founders that have closed"
run 0 -n 2 --max 3 "$build/tests/mpi/closed_early" 6
check "$name" "no rank was started" says '^grow: no error'
check "$name" "the newcomer is not told why" says '^open: .*(too late|closed or ended before they had let)'
check "$name" "it is told when they have ended" \
    [ "$(grep -E '^open: .*too late|^a founder ends' "$evidence" | sed -n '2,$p' | grep -c 'too late')" = 0 ]
# Nothing that it says to them arrives.
name="founders that close as a newcomer waits for them"
MOOT_FAULTS='part:0-1/2@0s+60s' run 0 -n 2 --max 3 "$build/tests/mpi/closed_early" 8 2
check "$name" "the newcomer is not told why" \
    says '^open: .*all other ranks closed or ended before they had let rank 2 in'
check "$name" "it is told when they have ended" \
    [ "$(grep -E '^open: |^a founder ends' "$evidence" | head -n 1 | cut -c 1-4)" = open ]
name="a second moot, when the first is closed"
run 0 -n 2 --max 3 "$build/tests/mpi/closed_early" 1 again
check "$name" "the reason is not told" \
    says '^grow: moot_grow: newcomers run the program from its beginning'
check "$name" "a rank was started" no says '^open: '

# --- Deaths -------------------------------------------------------------------------------
# dies NAME WHO WORD...: 24 rounds are right, and nothing that is once runs twice
dies() {
    name=$1 who=$2
    shift 2
    run 0 "$@"
    check "$name" "a once task has run twice" \
        [ -z "$(awk '$1 % 1000 == 41 { print $1 }' "$ledger" | sort | uniq -d)" ]
    check "$name" "$who has not been killed" says 'of signal 9|was killed'
}
dies "a newcomer dies" b_0 -n 3 --max 6 "$growing" "$ledger" 24 a_0+2@4 'b_0!@6'
dies "the lowest dies when one has come" a_0 -n 3 --max 6 "$growing" "$ledger" 24 a_1+1@3 'a_0!@9'
dies "one dies as others come" a_2 -n 4 --max 6 "$growing" "$ledger" 24 a_1+2@5 'a_2!@5'
GROWING_DIES=3 dies "one dies before it is let in" 3 -n 3 --max 6 "$growing" "$ledger" 24 a_0+2@4
check "$name" "the other one has not come" says '^moot: rank 4 \(b_1\) joins'

# Two ranks that others may join at any moment survive no death of the lowest.
name="of two the lowest dies"
run 137 -n 2 --max 3 --faults 'kill:r0@task.start#20' MOOT_STALL=1s MOOT_SUSPECT=400ms "$growing" "$ledger" 8
check "$name" "it is told to wait for nothing" no says 'next: wait'
check "$name" "the reason is not told" says \
    'rank 0, which is to act, has died .*, and rank 1 is left of 2 members: that is no majority'
check "$name" "it is not said what comes" says 'waits end with MOOT_ERR_NO_QUORUM'

# --- A solver, by sessions ------------------------------------------------------------------
jacobi=$build/examples/jacobi
# solves NAME WORD...: all ranks have the same bits as the plain loop
solves() {
    name=$1
    shift
    run 0 "$@"
    check "$name" "a rank has other bits" no says WRONG
    check "$name" "no rank has compared" says ': right$'
}
solves "grows and shrinks by sessions" -n 2 --max 6 "$jacobi" 240 40 +4@1 -a_1@2 -b_0@3 -b_2@3
check "$name" "the sessions are others: $(grep '^session' "$evidence" | tr '\n' ' ')" \
    [ "$(grep '^session' "$evidence" | tr '\n' ' ')" = "session 2: 6 ranks (joined) \
session 3: 5 ranks (left) session 4: 3 ranks (left) session 5: 3 ranks (unchanged) \
session 6: 3 ranks (unchanged) " ]
solves "one comes for one that goes" -n 3 --max 3 "$jacobi" 120 40 -a_1@1 +1@2
check "$name" "the last session is another" says '^session 3: 3 ranks \(joined\)$'

# --- What is refused ------------------------------------------------------------------------
name="past --max"
run 0 -n 2 --max 3 "$growing" "$ledger" 6 a_0+2@3
check "$name" "it is not said" says 'growing: a_0: moot_grow: 2 ranks and 2 more are over the 3'
name="without --max"
run 0 -n 2 "$growing" "$ledger" 6 a_0+1@3
check "$name" "it is not said" says 'growing: a_0: moot_grow: no ranks join this job: it was started'
name="MOOT_MAX"
MOOT_MAX=3 run 0 -n 2 "$growing" "$ledger" 2
check "$name" "it is not said that it means nothing" \
    says '^moot: MOOT_MAX=3 has no effect: it is for ranks that join over MPI'
name="a communicator without MPI"
SPAWNED_MEETS=1 run 1 -n 2 "$build/tests/mpi/spawned" 2
check "$name" "what carries the moot is not said" \
    says 'moot_pset_comm: the transport tcp carries this moot, not mpi'
name="on mpi"
timeout -k 5 60 "$build/moot" run -n 2 --transport mpi "$growing" "$ledger" 6 a_0+1@3 \
    >"$evidence" 2>&1 </dev/null
check "$name" "it is not said" says 'growing: a_0: moot_grow: no ranks join by the transport mpi'

check_end
