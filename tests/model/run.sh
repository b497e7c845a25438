#!/bin/bash
# run.sh - check the protocol's models with SPIN.
#
#   run.sh quick [MODEL]     what `make check` can afford
#   run.sh full [MODEL]      every configuration; up to 6 GB
#   run.sh mutants [MODEL]   break one rule at a time; each must give a counterexample
#
# Each model is a .pml file beside this script and opens with what it says.  A search that
# did not finish (memory, depth) has failed.  The last line is `N passed, N failed`, and the
# exit status is 0 iff nothing failed.  Needs spin and a C compiler (CC, gcc by default).
#
# README.md beside this file has the figures of both sets and of the mutants.
set -u
cd "$(dirname "$0")" || exit 2

CC=${CC:-gcc}
MEMORY_MB=6000
DEPTH_MAX=100000

# when | model | its configuration | hash table 2^w
CONFIGURATIONS='
quick|pure |-DN=3|20
quick|pure |-DN=4|22
quick|pure |-DN=3 -DJOIN|20
quick|pure |-DN=3 -DJOIN -DVIEWS=3|22
quick|once |-DN=3 -DK=1 -DVIEWS=2|20
quick|once |-DN=3 -DK=2 -DVIEWS=2|20
quick|once |-DN=3 -DK=3 -DVIEWS=2|20
quick|once |-DN=4 -DK=3 -DVIEWS=1|20
quick|once |-DN=3 -DK=3 -DVIEWS=2 -DSTAYSOWN|20
quick|lease|-DN=3 -DX=1 -DDEATHS=1|20
quick|lease|-DN=4 -DX=2|20
quick|committee|-DX=2|22
quick|view |-DN=2 -DBALLOTS=3|20
quick|view |-DN=3 -DBALLOTS=2|20
quick|view |-DN=4 -DBALLOTS=2 -DFIXED -DDEATHS=2|20
quick|cancel|-DN=3|20
quick|cancel|-DN=4|22
quick|crash|-DN=3|20
quick|crash|-DN=4|20
quick|crash|-DN=5 -DHOSTS=2|22
quick|verdict|-DN=3|20
quick|verdict|-DN=3 -DDEATHS=2|20
quick|lots|-DN=3|22
quick|session|-DN=3|20
quick|session|-DN=3 -DDEATHS=2|22
quick|session|-DN=3 -DCLOSERS=1|22
quick|session|-DN=2 -DJ=1|22
quick|session|-DN=2 -DJ=1 -DBOUNDARY|22
quick|snapshot|-DN=3|20
quick|snapshot|-DN=2 -DREMOVED|20
full |snapshot|-DN=3 -DDEATHS=2|24
full |snapshot|-DN=3 -DREMOVED|24
full |snapshot|-DN=4|24
quick|reload|-DN=2|20
quick|reload|-DN=3 -DRUNNERS=1|22
full |reload|-DN=3 -DRUNNERS=1 -DREMOVED -DRESTARTS=0|24
quick|yield|-DR=2 -DT=2|20
quick|yield|-DR=3 -DT=2 -DAGREE|20
quick|yield|-DR=2 -DT=3 -DAGREE|20
quick|quiet|-DN=2|20
quick|quiet|-DN=3 -DMESSAGES=2|20
quick|quiet|-DN=3 -DMESSAGES=1 -DOLDRESULT|20
full |pure |-DN=4 -DJOIN|24
full |once |-DN=3 -DK=2 -DVIEWS=3 -DJOIN|24
full |once |-DN=3 -DK=3 -DVIEWS=3 -DJOIN|24
full |once |-DN=4 -DK=1 -DVIEWS=2|24
full |once |-DN=4 -DK=2 -DVIEWS=2|24
full |once |-DN=4 -DK=3 -DVIEWS=2|24
full |once |-DN=4 -DK=3 -DVIEWS=2 -DPEERSDOWN|24
full |once |-DN=4 -DK=3 -DVIEWS=2 -DJOIN|24
full |once |-DN=3 -DK=3 -DVIEWS=3 -DJOIN -DSTAYSOWN|24
full |once |-DN=4 -DK=3 -DVIEWS=2 -DJOIN -DSTAYSOWN|24
full |lease|-DN=4 -DX=0|24
full |lease|-DN=4 -DX=2 -DDEATHS=2|24
full |lease|-DN=5 -DX=2|24
full |committee|-DX=4 -DMAXT=5|24
full |committee|-DX=2 -DMAXT=7|24
full |view |-DN=3 -DBALLOTS=3|24
full |view |-DN=4 -DBALLOTS=2|24
full |view |-DN=4 -DBALLOTS=3 -DFIXED -DDEATHS=2|24
full |verdict|-DN=4 -DDEATHS=2|24
full |yield|-DR=3 -DT=3 -DAGREE|24
full |yield|-DR=3 -DT=2|24
full |yield|-DR=2 -DT=3|24
full |quiet|-DN=3 -DMESSAGES=3|24
full |quiet|-DN=3 -DMESSAGES=2 -DGOSSIP=2|24
full |quiet|-DN=3 -DMESSAGES=2 -DOLDRESULT|24
full |pure |-DN=4 -DVIEWS=3|24
full |pure |-DN=4 -DVIEWS=3 -DJOIN|26
'

# model | mutant | configuration that kills it
MUTANTS='
pure |STALEDEC      |-DN=3
pure |STALERES      |-DN=3
pure |ADOPTSTALE    |-DN=3
pure |PARTIAL       |-DN=3
pure |NOHIST        |-DN=3
pure |AMNESIA       |-DN=3
pure |NOFREEZEDEAD  |-DN=3
pure |NOOWNREP      |-DN=3
pure |FWDNOTDEC     |-DN=3
pure |NOSTICKY      |-DN=3
pure |JOINNOWAIT    |-DN=3 -DJOIN
pure |HISTANY       |-DN=3 -DJOIN -DVIEWS=3
once |NOCONCL       |-DN=3 -DK=3 -DVIEWS=1
once |STALEACC      |-DN=3 -DK=3 -DVIEWS=1
once |NOBALLOT      |-DN=3 -DK=3 -DVIEWS=1
once |SMALLQ        |-DN=3 -DK=3 -DVIEWS=1
once |NOREACC       |-DN=3 -DK=3 -DVIEWS=2
once |DROPREACC     |-DN=4 -DK=3 -DVIEWS=2
once |FREEDEAD      |-DN=3 -DK=3 -DVIEWS=1
once |NOOWNREP      |-DN=3 -DK=3 -DVIEWS=1
once |PARTIAL       |-DN=3 -DK=3 -DVIEWS=1
once |NOHIST        |-DN=4 -DK=3 -DVIEWS=2
once |STALEDEC      |-DN=3 -DK=3 -DVIEWS=1
once |MASKED        |-DN=4 -DK=3 -DVIEWS=2
once |HISTANY       |-DN=3 -DK=2 -DVIEWS=3 -DJOIN
lease|NOPEND        |-DN=3 -DX=1
lease|GRANTAFTERVOTE|-DN=3 -DX=1
lease|NOOWNWAIT     |-DN=3 -DX=1
lease|NOWAIT        |-DN=3 -DX=1
lease|NOSKEW        |-DN=3 -DX=1
committee|NOPEND        |-DX=4
committee|NOENTRY       |-DX=4
committee|GRANTAFTERVOTE|-DX=4
committee|SMALLQ        |-DX=4
committee|DEADQUORUM    |-DX=4
view |HALF          |-DN=2 -DBALLOTS=2
view |MAJLIVE       |-DN=3 -DBALLOTS=2
view |NOPH1         |-DN=2 -DBALLOTS=2
view |CERTDROP      |-DN=2 -DBALLOTS=2
view |NOMERGE       |-DN=4 -DBALLOTS=2 -DFIXED -DDEATHS=2
view |LEARNEDVOTES  |-DN=2 -DBALLOTS=2
cancel|UNSEEN       |-DN=3
cancel|CANCELALONE  |-DN=3
cancel|SEENALONE    |-DN=3
crash|CRASHMUTE    |-DN=4
crash|CRASHTWICE   |-DN=4
crash|CRASHKILLED  |-DN=4
crash|CRASHGIVEN   |-DN=4 -DHOSTS=2
crash|CERTIFIEDFIRST|-DN=4
crash|VERDICTMUTE  |-DN=5 -DHOSTS=2
verdict|VERDICTALONE |-DN=3
verdict|VERDICTMUTE  |-DN=3
verdict|VERDICTRUNS  |-DN=3
lots |LOTPASSED    |-DN=3
lots |LOTHELD      |-DN=3
lots |LOTFLYING    |-DN=3
lots |LOTEARLY     |-DN=3
session|MEETEARLY    |-DN=3
session|MEETSTALE    |-DN=3
session|MEETFORGOT   |-DN=3
session|MEETUNTOLD   |-DN=3
session|MEETKEPT     |-DN=4 -DLEAVERS=0
session|VIEWLIST     |-DN=3
session|ENDLIST      |-DN=3
session|BESIDE       |-DN=3
session|CLOSEDKEPT   |-DN=3 -DCLOSERS=1 -DLEAVERS=0
session|GOERCLOSES   |-DN=3 -DCLOSERS=1
session|BOUNDARYCUT  |-DN=3
session|MUTE         |-DN=2 -DJ=1
session|NEWONLY      |-DN=2 -DJ=1
session|MEETNEWUNTOLD|-DN=2 -DJ=1
session|BOUNDARYANY  |-DN=2 -DJ=1 -DBOUNDARY -DLEAVERS=0
snapshot|CUTCOLOUR    |-DN=3 -DDEATHS=0
snapshot|CUTLATE      |-DN=3 -DDEATHS=0
snapshot|CUTPREPARED  |-DN=3 -DDEATHS=0
snapshot|COMMITPART   |-DN=3 -DDEATHS=0
snapshot|SNAPVIEW     |-DN=3
snapshot|SNAPTOLD     |-DN=3 -DDEATHS=0
snapshot|DEADLEFT     |-DN=3
snapshot|AFTERTOLD    |-DN=3 -DDEATHS=0
reload|MARKEARLY    |-DN=2 -DDEATHS=0
reload|MARKTRIED    |-DN=2 -DDEATHS=0 -DRESTARTS=0
reload|MARKANY      |-DN=2 -DDEATHS=0 -DRESTARTS=0
reload|MARKONCE     |-DN=2 -DFAILS=0 -DRESTARTS=0
reload|RELOADOLD    |-DN=2 -DDEATHS=0 -DRESTARTS=0
reload|RUNLATE      |-DN=2 -DDEATHS=0 -DRESTARTS=0
reload|UNMARKED     |-DN=2 -DDEATHS=0
reload|RELOADUNSAID |-DN=2 -DDEATHS=0 -DRESTARTS=0
yield|BLOCKEDONLY   |-DR=2 -DT=2 -DAGREE
yield|NOBOUND       |-DR=2 -DT=2
yield|NOLACK        |-DR=2 -DT=2
quiet|ONEPOLL       |-DN=2
quiet|FLAGSONLY     |-DN=2
quiet|GOSSIPUNCOUNTED|-DN=2
quiet|LATEGOSSIP    |-DN=2
quiet|COUNTOLD      |-DN=3 -DMESSAGES=1 -DOLDRESULT
quiet|NOREASK       |-DN=3 -DMESSAGES=1 -DOLDRESULT
'

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
only=${2:-} # a model's name

# search MODEL CONFIGURATION HASH: leaves pan's report in $work/report.
search() {
    local model=$1 configuration=$2 hash=$3
    local -a defines
    read -ra defines <<<"$configuration"
    rm -f "$work"/pan* "$work"/*.trail
    cp "$model.pml" "$work/" && : >"$work/report" || return 1
    (
        cd "$work" || exit 1
        spin -a "${defines[@]}" "$model.pml" >spin.out 2>&1 || { cat spin.out; exit 1; }
        "$CC" -O1 -w -DSAFETY -DNOREDUCE "-DMEMLIM=$MEMORY_MB" -o pan pan.c || exit 1
        nice -n 19 ./pan "-m$DEPTH_MAX" "-w$hash"
    ) >"$work/report" 2>&1
}

# field PATTERN: the first group of PATTERN's first match in the report.
field() {
    sed -nE "s/^(.*[^0-9.e+])?$1.*/\\2/p" "$work/report" | head -n 1
}

# The name that the violated assertion begins with.
violated() {
    field 'assertion violated \(*([A-Z0-9_]+)'
}

complete() {
    grep -q 'errors: ' "$work/report" &&
        ! grep -qE 'Search not completed|max search depth|MEMLIM|out of memory|aborted' \
            "$work/report"
}

run_configurations() {
    local mode=$1 when model configuration hash result
    printf '%-6s %-34s %12s %6s %8s %8s  %s\n' \
        model configuration states depth seconds MB errors
    while IFS='|' read -r when model configuration hash; do
        [ -n "$when" ] || continue
        when=${when// /} model=${model// /}
        [ "$mode" = full ] || [ "$when" = quick ] || continue
        [ -z "$only" ] || [ "$only" = "$model" ] || continue
        search "$model" "$configuration" "$hash"
        result=$(field 'errors: ([0-9]+)')
        if complete && [ "$result" = 0 ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            if complete || [ -n "$(violated)" ]; then
                result="${result:-?} $(violated) FAILED"
            else
                result="not complete: FAILED"
            fi
        fi
        printf '%-6s %-34s %12s %6s %8s %8s  %s\n' "$model" "$configuration" \
            "$(field '([0-9.e+]+) states, stored')" "$(field 'depth reached ([0-9]+)')" \
            "$(field 'elapsed time ([0-9.e+]+)')" \
            "$(field '([0-9.]+)[[:space:]]total actual memory')" "$result"
        [ "${result##* }" != FAILED ] || grep -E 'rror|violated|aborted|MEMLIM' "$work/report"
    done <<<"$CONFIGURATIONS"
}

run_mutants() {
    local model mutant configuration killed=0 total=0
    printf '%-6s %-15s %-36s %s\n' model mutant configuration 'caught by'
    while IFS='|' read -r model mutant configuration; do
        [ -n "$model" ] || continue
        model=${model// /} mutant=${mutant// /}
        [ -z "$only" ] || [ "$only" = "$model" ] || continue
        total=$((total + 1))
        search "$model" "$configuration -D$mutant" 22
        if [ -n "$(violated)" ]; then
            killed=$((killed + 1)) passed=$((passed + 1))
            printf '%-6s %-15s %-36s %s\n' "$model" "$mutant" "$configuration" "$(violated)"
        else
            failed=$((failed + 1))
            printf '%-6s %-15s %-36s %s\n' "$model" "$mutant" "$configuration" 'SURVIVED'
        fi
    done <<<"$MUTANTS"
    echo "killed $killed of $total"
}

for tool in spin "$CC"; do
    if ! command -v "$tool" >/dev/null; then
        echo "run.sh: $tool is not installed (apt-get install spin gcc)" >&2
        exit 2
    fi
done
case ${1:-} in
quick | full) run_configurations "$1" ;;
mutants) run_mutants ;;
*)
    echo "usage: run.sh quick | full | mutants [MODEL]" >&2
    exit 2
    ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
