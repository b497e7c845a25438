#!/bin/sh
# fleet.sh [CASE] - jobs by ssh on three hosts, of which one dies whole at twenty moments, is cut
# off for 1 to 30 s, both ways and one way, or is voted out and comes back; what starts them
# stands still; two of the hosts do not reach each other.
#
# A CASE is one of fleet_jobs.sh, and is then all that is done; a failure prints the line that
# does it again:
#
#   BUILD=build-developer sh tests/cli/fleet.sh killed 0.734 tree + cholesky 16 64
#
# Skips where there are no hosts of namespaces.  Finds the programs in $BUILD; run from the top
# of the tree.
set -u

# A wrong call is told before there are any hosts.
case ${1-}:$# in
:0 | no_answer:1 | no_opening:1 | relay_killed:1 | stopped:3) ;;
killed:[12] | cut_off:[123] | back:1 | routed:[12]) wrong=1 ;;
killed:* | cut_off:* | back:* | routed:*) ;;
*) wrong=1 ;;
esac
if [ -n "${wrong-}" ]; then
    echo "fleet.sh: '$*' is no case; give one, with all its words: no_answer, no_opening," \
        "stopped SECONDS run|ssh, killed MOMENT PROGRAM..., cut_off SECONDS both|from|to" \
        "PROGRAM..., back PROGRAM..., routed ROUTE PROGRAM..., relay_killed" >&2
    exit 2
fi

# shellcheck source=tests/cli/fleet_jobs.sh
. tests/cli/fleet_jobs.sh
jobs_enter "$@"

# try CASE: told as it goes
try() {
    failed_before=$failed
    "$@"
    if [ "$failed" -eq "$failed_before" ]; then
        echo "ok   $*"
    else
        echo "     to repeat: BUILD=$BUILD sh tests/cli/fleet.sh $*"
    fi
}
# no_answer: a host from which nothing comes is given up within ten seconds
no_answer() {
    link_cut c
    # shellcheck disable=SC2086 # words are meant to split
    run $three $tsp
    link_mend c
    note "$((took > 10))" "it took $took s"
    check "no answer" "it is not told" says 'host c: .*[Cc]onnection timed out'
    clean "no answer"
}

# no_opening: a host dies before its ranks open the moot, for which the others wait, and no
# vote is
judge_opening() {
    name=$1
    note "$((took > 50))" "it took $took s"
    check "$1" "its status is 0" [ "$got" -ne 0 ]
    check "$1" "it is not told why" says 'host c is lost.*wait for its ranks to open'
    check "$1" "not each rank says why" \
        [ "$(grep -c 'moot_open: rank 4 is on a host that is not reached' "$lines")" -eq 4 ]
}
no_opening() {
    cat >"$scratch/late" <<END
#!/bin/sh
[ "\$(hostname)" != c ] || exec tail -f /dev/null
exec "$build/examples/tsp" deploy/examples/burma14.tsp
END
    chmod +x "$scratch/late"
    ranks=1 begin '' "$scratch/late"
    sleep 2
    befall host_kill c
    end_with judge_opening "no opening"
    check "no opening" "no host comes back here: $(tail -n 1 "$scratch/hosts/c.log")" host_again c
    clean "no opening"
}

if [ $# -gt 0 ]; then
    case $1 in
    routed | relay_killed) wall_build b c ;;
    esac
    try "$@"
    check_end
    exit
fi
try no_answer
try no_opening
try stopped 15 run
try stopped 15 ssh
turn=0
# shellcheck disable=SC2086 # words are meant to split
while [ $turn -lt 20 ]; do
    turn=$((turn + 1))
    moment=$(awk "BEGIN { srand($turn); print rand() * 1.5 }")
    try killed "$moment" $tsp + random "$turn"
    try killed "$moment" tree + cholesky 16 64
done
# shellcheck disable=SC2086 # words are meant to split
for seconds in 1 2 5 10 20 30; do
    for how in both from to; do
        turn=$((turn + 1))
        case $((turn % 2)) in
        0) try cut_off "$seconds" "$how" $tsp + random "$turn" ;;
        1) try cut_off "$seconds" "$how" tree + cholesky 16 64 ;;
        esac
    done
done
# shellcheck disable=SC2086 # words are meant to split
try back $tsp + random 101
try back tree + random 102
wall_build b c
# shellcheck disable=SC2086 # words are meant to split
try routed tree:2 $tsp + random 103
printf 'a b\na-c # b and c do not reach each other\n' >"$scratch/table"
try routed "@$scratch/table" tree + cholesky 16 64
try relay_killed
check_end
