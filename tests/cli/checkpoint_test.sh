#!/bin/sh
# checkpoint_test.sh - `moot checkpoint`: a folder of records is listed, shown, verified,
# exported and pruned, and what is wrong with it is said.
#
# Finds the build in $BUILD; run from the top of the tree.
set -u

build=$(cd "${BUILD:?}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/cli/check.sh
. tests/cli/check.sh
evidence=$scratch/said
folder=$scratch/c

# run STATUS WORDS...: `moot checkpoint WORDS` ends so; it is said in the evidence
run() {
    wanted=$1
    shift
    "$build/moot" checkpoint "$@" >"$evidence" 2>&1
    status=$?
    check "$*" "status $status, not $wanted" [ $status -eq "$wanted" ]
}
lines() { [ "$(grep -cE -e "$2" "$evidence")" -eq "$1" ]; }

"$build/tests/unit/disk_prune_test" --make "$folder" || exit 1

# --- What there is ------------------------------------------------------------------------
run 0 ls "$folder"
check ls "not 102 records" lines 102 '^[0-9a-f]{32}  (result|accepted)  '
check ls "not one acceptance" lines 1 '^[0-9a-f]{32}  accepted  +OK +0 '
check ls "no failed result" says ' result +KERNEL_CODE .* potrf  '
hash=$(sed -n 's/^\([0-9a-f]*\)  result  *OK .*gemm.*/\1/p' "$evidence" | head -1)
run 0 show "$folder"
check show "not four processes" says ': 102 records of [0-9]+ bytes, left by 4 processes$'
check show "no sum of a kernel" says '^  potrf  50 results, [0-9]+ bytes, took '
run 0 show "$folder" "$(echo "$hash" | cut -c 1-12)"
check "show HASH" "not that hash" says "^hash         $hash\$"
check "show HASH" "no kernel" says '^kernel       gemm, version [0-9]+$'
check "show HASH" "no build" says '^build        (-|[0-9a-f]{40})$'
run 1 show "$folder" ffffffffffffffffffffffffffffffff
check "show HASH" "it is not said that there is none" says "no record has a hash that begins with 'f"
run 0 verify "$folder"
check verify "not all are good" says ': 102 records of [0-9]+ bytes are good, 0 damaged$'
run 0 export "$folder"
cp "$evidence" "$scratch/lines"
check export "not lines of JSON" python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) == 102 and all(len(row["hash"]) == 32 for row in rows)
assert not any("data" in row for row in rows)' "$scratch/lines"
"$build/moot" checkpoint export --data "$folder" >"$scratch/lines"
check "export --data" "not its bytes" python3 -c '
import base64, json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    assert len(base64.b64decode(row["data"], validate=True)) == row["size"]' "$scratch/lines"

# --- Damage ---------------------------------------------------------------------------------
large=$(find "$folder" -path '*/large/*' ! -name '*.pack' | sort | head -1)
truncate -s 5 "$large"
run 1 verify "$folder"
check verify "the damaged record is not named" lines 1 ': damaged: [0-9a-f]{32} result$'
check verify "it is not counted" says ' 1 damaged$'

# --- Prune -----------------------------------------------------------------------------------
run 0 prune --dry-run "$folder"
check "prune --dry-run" "not said what stays" says ': 100 records of [0-9]+ bytes would stay$'
check "prune --dry-run" "environments are gone" [ "$(find "$folder" -name owner | wc -l)" -eq 4 ]
run 0 prune "$folder"
check prune "no damage is told" says '^  1 damaged$'
check prune "not what was twice" says '^  1 there twice$'
check prune "not one environment" [ "$(find "$folder" -name owner | wc -l)" -eq 1 ]
run 0 verify "$folder"
check verify "damage is left" says ': 100 records of [0-9]+ bytes are good, 0 damaged$'
run 0 show "$folder"
check show "not one process" says ', left by 1 process$'
run 0 prune --bytes 100K "$folder"
check "prune --bytes" "no bound" says 'over the size$'
run 0 prune --older 1s "$folder"
check "prune --older" "old ones stay" says 'too old$'

# Links and pipes are no environments: those stay as they are, and nothing waits for these.
mkdir "$scratch/precious" && : >"$scratch/precious/thesis"
env=$(basename "$(dirname "$(find "$folder" -name owner)")")
ln -s "$scratch/precious" "$folder/$env-linked"
mkdir "$folder/vm-9-00000000" && cp "$folder/$env/owner" "$folder/vm-9-00000000"
ln -s "$scratch/precious" "$folder/vm-9-00000000/large"
mkdir "$folder/vm-9-00000001" && mkfifo "$folder/vm-9-00000001/owner"
run 1 verify "$folder"
run 0 prune --damaged "$folder"
check "prune of links" "it went through them" [ -e "$scratch/precious/thesis" ]
check "prune of links" "they are not said" says 'cannot be read'
rm -r "$folder/vm-9-"*
: >"$(find "$folder" -name data.mdb)"
run 1 verify "$folder"
check "an empty environment" "it is not said" says 'it is empty'
run 1 prune "$folder"
truncate -s 9000 "$(find "$folder" -name data.mdb)"
run 1 prune "$folder"
check "prune of damage" "not said what may be hidden" says 'once tasks.* start a second time'
check "prune of damage" "it was pruned" [ "$(stat -c %s "$(find "$folder" -name data.mdb)")" -eq 9000 ]
run 0 prune --damaged "$folder"
run 0 verify "$folder"
run 2 ls --damaged "$folder"

# --- Snapshots -----------------------------------------------------------------------------
named=$scratch/s
"$build/tests/unit/disk_snapshot_test" --make "$named" || exit 1
run 0 ls "$named"
check "ls of snapshots" "not two of them" lines 2 '^[0-9a-f]{32}  snapshot  (20|30) records .*  whole  (morning|evening)$'
run 0 show "$named" morning
check "show SNAPSHOT" "no parts" says '^part +of rank 0: 20 records of [0-9]+ bytes$'
run 0 show "$named" "$(sed -n 's/^id  *//p' "$evidence")"
check "show ID" "not that snapshot" says '^snapshot     morning$'
run 1 show "$named" noon
run 0 ls "$named"
digit=$(sed -n 's/^\(.\).*  result .*/\1/p' "$evidence" | head -1)
"$build/tests/unit/disk_snapshot_test" --make "$scratch/hex" "$digit" || exit 1
run 0 show "$scratch/hex" "$digit"
check "show SNAPSHOT" "not that named by a digit" says "^snapshot     $digit\$"
check "show SNAPSHOT" "records whose hash begins so" no says '^hash '
run 0 verify "$named"
check "verify of snapshots" "not two whole" lines 2 '^snapshot [0-9a-f]{32} (morning|evening): whole$'
run 0 prune --bytes 1K "$named"
check "prune of snapshots" "they do not stay" says '2 snapshots, with what they name, stay$'
run 0 verify "$named"
check "verify after prune" "records are gone" says ': 30 records of [0-9]+ bytes are good, 0 damaged$'
run 0 prune --snapshot evening --bytes 1K "$named"
run 0 verify "$named"
check "prune --snapshot" "more than the other names is left" says ': 20 records of [0-9]+ bytes are good, 0 damaged$'
run 1 prune --snapshot evening "$named"
check "no such snapshot" "what there is, is not said" says "there is no snapshot 'evening'; the whole ones are 'morning'; "
run 1 show "$named" noon
check "show of none" "what there is, is not said" says "no snapshot that name or id; the whole ones are 'morning'; "
run 2 ls --snapshot morning "$named"
truncate -s 60 "$(find "$named" -path '*/large/*' ! -name '*.pack' | sort | head -1)"
run 1 verify "$named"
check "a damaged record of a snapshot" "it is not told as such" says 'morning: whole, but 1 of its records is damaged$'
check "a damaged record of a snapshot" "it counts as missing" says ': 19 records of [0-9]+ bytes are good, 1 damaged$'
run 0 prune "$named"
run 1 verify "$named"
check "a missing record of a snapshot" "it is not told as such" says 'morning: whole, but 1 of its records is missing$'
check "a missing record of a snapshot" "it counts as damage" \
    says ': 19 records of [0-9]+ bytes are good, 0 damaged, 1 missing from snapshots$'
rm -r "$(dirname "$(find "$named" -name owner)")"
run 1 verify "$named"
check "missing records" "they are not told as such" says 'morning: whole, but 20 of its records are missing$'
truncate -s 60 "$(find "$named/snapshots" -name rank-0)"
run 1 verify "$named"
check "a damaged part" "it is not named" says 'morning: its part rank-0 is missing or damaged$'

# --- What cannot be pruned ----------------------------------------------------------------
# refuses WORDS...: the prune ends with 1, so does a dry run, and both say the same; with that
# before it in $before (a command that runs its arguments)
refuses() {
    # shellcheck disable=SC2086 # words are meant to split
    $before "$build/moot" checkpoint prune --dry-run "$@" 2>&1 | cat >"$evidence.dry"
    # shellcheck disable=SC2086
    { $before "$build/moot" checkpoint prune "$@" 2>&1; echo "status $?"; } | cat >"$evidence"
    check "prune of $before $*" "no status 1" says '^status 1$'
    check "dry run of $before $*" "another word" \
        [ "$(cat "$evidence.dry")" = "$(grep -v '^status' "$evidence")" ]
    check "prune of $before $*" "environments are gone" [ "$(find "$refused" -name owner | wc -l)" -eq 4 ]
}
refused=$scratch/refused
"$build/tests/unit/disk_prune_test" --make "$refused" || exit 1
before='prlimit --fsize=1000'
refuses "$refused"
check "a limit of sizes" "not what helps" says ' is as it was: File too large; raise .ulimit -f.$'
before='prlimit --nofile=7'
refuses "$refused"
check "a limit of files" "not what helps" says ' is as it was: .*; raise .ulimit -n.$'
before=''
python3 - "$refused/lock" <<'EOF' &
import fcntl, sys, time
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_SH, 1)
open(sys.argv[1] + "ed", "w")
time.sleep(60)
EOF
holder=$!
while [ ! -e "$refused/locked" ]; do sleep 0.05; done
refuses "$refused"
check "a folder in use" "not by whom" says " is used by process $holder; prune it when that has ended\$"
kill $holder
wait $holder 2>/dev/null
rm "$refused/locked"
# A file system of its own: without room, and then to be read only.
if unshare -rm true 2>/dev/null; then
    mkdir "$scratch/small"
    before="unshare -rm sh $scratch/small.sh"
    cat >"$scratch/small.sh" <<'EOF'
mount -t tmpfs -o size=2m tmpfs "$SMALL" && cp -a "$REFUSED" "$SMALL/c" && shift 0
dd if=/dev/zero of="$SMALL/rubbish" bs=1k 2>/dev/null
[ -z "$READ_ONLY" ] || mount -o remount,ro "$SMALL" || exit 9
"$@"
EOF
    export SMALL="$scratch/small" REFUSED="$refused" READ_ONLY=''
    refuses "$SMALL/c"
    check "no room" "not what helps" \
        says 'No space left on device; what stays is written there anew .* [0-9]+ bytes: free as many, or keep less'
    READ_ONLY=1
    refuses "$SMALL/c"
    check "a read-only file system" "not what helps" says 'Read-only file system; its file system is to be remounted'
    check "a read-only file system" "room is to be freed" no says 'free as many'
fi
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
    chmod 755 "$scratch"
    before='setpriv --reuid 65534 --clear-groups'
    refuses "$refused"
    check "no permission" "not what helps" says 'Permission denied; a user is needed who may read and write all in it$'
    chmod -R a+rw "$refused" && chmod a+x "$refused" "$refused"/*/ "$refused"/*/large
    chmod go-w "$(dirname "$(find "$refused" -name owner | head -1)")"
    refuses "$refused"
    check "no permission" "not where" says ' is as it was: .*/c?[^/]*/[^/]*: Permission denied; a user is needed'
    chmod a+w "$(dirname "$(find "$refused" -name owner | head -1)")"
    chmod go-r "$(find "$refused" -name data.mdb | head -1)"
    refuses --damaged "$refused"
    check "records that may not be read" "they count as damage" says '/data.mdb: Permission denied; a user is needed'
fi

# --- A file for what is printed -----------------------------------------------------------
(
    prlimit --fsize=100 "$build/moot" checkpoint export "$refused" >"$scratch/short" 2>"$evidence"
    echo "status $?" >"$scratch/status"
)
check "export to a limit" "no status 1" grep -q '^status 1$' "$scratch/status"
check "export to a limit" "its cause is not said" says 'output could not be written: File too large$'

# --- Folders put together ------------------------------------------------------------------
# Both have gone back once, so each has a mark of its own; the later one counts.
for first in 100 200; do
    "$build/tests/unit/disk_mark_test" --make "$scratch/host$first" $first || exit 1
done
later=$("$build/moot" checkpoint ls "$scratch/host200" | sed -n 's/^\([0-9a-f]*\)  snapshot .*/\1/p')
for order in '100 200' '200 100'; do
    both=$scratch/both
    mkdir "$both"
    for first in $order; do
        cp -a "$scratch/host$first/." "$both/"
    done
    run 0 verify "$both"
    check "verify of $order" "the marks are not told apart" \
        says "^reloads: the last one went back to snapshot $later: whole\$"
    check "verify of $order" "not two whole snapshots" lines 2 '^snapshot [0-9a-f]{32} all: whole$'
    run 0 prune "$both"
    check "prune of $order" "not what both reloads have undone" says '^  20 undone by a reload$'
    run 0 verify "$both"
    check "verify of $order after a prune" "another mark counts" \
        says "^reloads: the last one went back to snapshot $later: whole\$"
    rm -r "$both"
done

# --- Mistakes ----------------------------------------------------------------------------------
run 1 ls "$scratch"
check "no store" "it is not said" says 'is no folder of checkpoints: no job has had it'
check "no store" "a trace is left" [ ! -e "$scratch/lock" ]
run 1 prune "$scratch/nowhere"
run 2 ls
run 2 look "$folder"
check "no subverb" "they are not named" says "ls, show, verify, prune or export, not 'look'"
run 2 prun "$folder"
check "prun" "prune is not meant" says "did you mean 'prune'"
run 2 prune --older "$folder"
check "no age" "it is not said" says "^moot checkpoint: --older '.*' is no age"
run 2 prune --snapshot '' "$folder"
check "no name" "it is not said" says 'snapshot needs a name'
run 2 ls ''
check "no folder" "it is not said" says 'which folder'
run 1 ls "$scratch/nowhere/c"
check "nowhere" "it is not said" says '/nowhere/c: there is no such folder$'
run 1 verify "$folder/lock"
check "a file" "it is not said" says '/lock is no folder; name the one'
run 1 show "$(dirname "$(find "$refused" -name owner | head -1)")"
check "an environment" "it is not said" says 'of one process; name the folder that it is in$'
run 2 prune --older 7 "$folder"
run 2 prune --older 7w "$folder"
run 2 prune --bytes -1 "$folder"
run 2 prune --bytes 99999999999G "$folder"
run 2 ls --bytes 1G "$folder"
run 2 prune --data "$folder"
run 2 ls "$folder" more
run 2 show "$folder" ''
check "an empty hash" "it is taken for all" says 'is no hash'
run 1 show "$folder" potrf
run 2 ls --al "$folder"

check_end
