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
# Measured (SPIN 6.5.2, gcc 12, two shared cores, exhaustive, no compaction): all without
# errors.  quick took 46 s and mutants 90 s in all; the searches of full add up to 609 s.
#
#   model  configuration                               states depth seconds    MB
#   pure   -DN=3                                        50100    35    0.14    17
#   pure   -DN=4                                      2054374    43     7.5   209
#   pure   -DN=3 -DJOIN                                 89274    37     0.2    20
#   pure   -DN=3 -DJOIN -DVIEWS=3                      595344    41    1.63    87
#   pure   -DN=4 -DJOIN                               2981678    44    14.6   383
#   pure   -DN=4 -DVIEWS=3                           13470278    47    58.6  1367
#   pure   -DN=4 -DVIEWS=3 -DJOIN                    58381526    50     305  5865
#   once   -DN=3 -DK=1 -DVIEWS=2                        55700    35    0.13    18
#   once   -DN=3 -DK=2 -DVIEWS=2                        85726    38    0.24    21
#   once   -DN=3 -DK=3 -DVIEWS=2                       146210    39    0.35    26
#   once   -DN=4 -DK=3 -DVIEWS=1                       141634    41    0.45    26
#   once   -DN=3 -DK=2 -DVIEWS=3 -DJOIN               1612736    47    9.47   305
#   once   -DN=3 -DK=3 -DVIEWS=3 -DJOIN               2090318    48    6.97   356
#   once   -DN=4 -DK=1 -DVIEWS=2                      1428256    42    6.17   274
#   once   -DN=4 -DK=2 -DVIEWS=2                      2084640    46    8.03   340
#   once   -DN=4 -DK=3 -DVIEWS=2                      5046084    48    21.1   634
#   once   -DN=4 -DK=3 -DVIEWS=2 -DPEERSDOWN          5118758    48      25   641
#   once   -DN=4 -DK=3 -DVIEWS=2 -DJOIN               9010154    52    36.7  1027
#   lease  -DN=3 -DX=1 -DDEATHS=1                       17513    52    0.01    14
#   lease  -DN=4 -DX=2                                 204383    71    0.37    25
#   lease  -DN=4 -DX=0                                 219354    73    0.33   146
#   lease  -DN=4 -DX=2 -DDEATHS=2                     2840417    72    4.55   306
#   lease  -DN=5 -DX=2                               10657262    97    26.7   783
#   view   -DN=2 -DBALLOTS=3                            12566    28    0.01    14
#   view   -DN=3 -DBALLOTS=2                            65996    34    0.11    17
#   view   -DN=4 -DBALLOTS=2 -DFIXED -DDEATHS=2        241704    41    0.62    33
#   view   -DN=3 -DBALLOTS=3                          1939706    41    5.29   281
#   view   -DN=4 -DBALLOTS=2                          4505308    46    14.8   511
#   view   -DN=4 -DBALLOTS=3 -DFIXED -DDEATHS=2       4695310    48    17.5   563
#   yield  -DR=2 -DT=2                                  15355    41    0.02    13
#   yield  -DR=3 -DT=2 -DAGREE                          16423    43    0.03    14
#   yield  -DR=2 -DT=3 -DAGREE                          29257    43    0.03    14
#   yield  -DR=3 -DT=3 -DAGREE                        1072957    56    2.41   198
#   yield  -DR=3 -DT=2                                1216888    55    2.09   198
#   yield  -DR=2 -DT=3                                4806251    63    7.63   390
#   quiet  -DN=2                                        15887    32    0.01    14
#   quiet  -DN=3 -DMESSAGES=2                          432370    37     0.6    36
#   quiet  -DN=3 -DMESSAGES=1 -DOLDRESULT              530168    40    0.87    41
#   quiet  -DN=3 -DMESSAGES=3                         2914468    40    5.87   288
#   quiet  -DN=3 -DMESSAGES=2 -DGOSSIP=2              5501163    43    8.33   427
#   quiet  -DN=3 -DMESSAGES=2 -DOLDRESULT             5536121    43     8.8   428
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
quick|view |-DN=2 -DBALLOTS=3|20
quick|view |-DN=3 -DBALLOTS=2|20
quick|view |-DN=4 -DBALLOTS=2 -DFIXED -DDEATHS=2|20
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
full |view |-DN=3 -DBALLOTS=3|24
full |view |-DN=4 -DBALLOTS=2|24
full |view |-DN=4 -DBALLOTS=3 -DFIXED -DDEATHS=2|24
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
view |HALF          |-DN=2 -DBALLOTS=2
view |MAJLIVE       |-DN=3 -DBALLOTS=2
view |NOPH1         |-DN=2 -DBALLOTS=2
view |CERTDROP      |-DN=2 -DBALLOTS=2
view |NOMERGE       |-DN=4 -DBALLOTS=2 -DFIXED -DDEATHS=2
view |LEARNEDVOTES  |-DN=2 -DBALLOTS=2
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
