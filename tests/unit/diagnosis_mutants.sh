#!/bin/sh
# diagnosis_mutants.sh BUILD [--ranks] [NAME...] - breaks the rules by which a stall's
# cause is found, one by one; tests/unit/diagnosis_test.c must see each.
#
# A mutant is a line of the table: its name, the file of node/explain/, a sed command that breaks
# one rule there, and the row of tests/cli/stalls_test.sh that shows the rule on real
# ranks, if there is one.  With --ranks that row must fail, too; takes 3 s for each.  A
# command that changes nothing is a failure: the code has moved on, and the line has not.
#
# Compiles the file alone and links it before the library of BUILD, which `make tests` has
# made.  The unbroken code, made in the same way, must pass first.  Prints what saw each,
# and "N passed, N failed".
set -u

build=$(cd "${1:?usage: diagnosis_mutants.sh BUILD [--ranks] [NAME...]}" && pwd)
shift
ranks=
[ "${1-}" != --ranks ] || {
    ranks=1
    shift
}
only=" $* "
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0
# compile FILE
compile() {
    # shellcheck disable=SC2086 # the compiler may be several words
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O0 -w -I. \
        -I"$build/gen" -c "$1" -o "$scratch/broken.o"
}
# link PROGRAM: with the broken object in the place of the library's
link() {
    mkdir -p "$scratch/$(dirname "$1")"
    mpicc -pthread -Wl,-S -o "$scratch/$1" "$build/$1.o" "$scratch/broken.o" \
        "$build/libmoot.a" -lcmocka -lprotobuf-c -lsodium -llmdb -lxxhash -ljansson -lzip -lm
}
test_passes() {
    : >"$scratch/out" # one file, twice to be appended to
    timeout 60 "$scratch/tests/unit/diagnosis_test" >>"$scratch/out" 2>&1
}
# show WORDS: a mutant that does not do as it should
show() {
    failed=$((failed + 1))
    echo "FAIL  $name: $*"
}

# mutant NAME FILE ROW COMMAND
mutant() {
    name=$1 row=$3
    case $only in "  " | *" $name "*) ;; *) return ;; esac
    sed -e "$4" "node/explain/$2" >"$scratch/$2"
    if cmp -s "node/explain/$2" "$scratch/$2"; then
        show "the command changes nothing in node/explain/$2"
    elif ! compile "$scratch/$2" || ! link tests/unit/diagnosis_test; then
        show "it does not compile"
    elif test_passes; then
        show "tests/unit/diagnosis_test does not see it"
    elif [ -n "$ranks" ] && [ "$row" != - ] && ! rank_sees; then
        show "row $row of stalls_test.sh does not see it"
    else
        passed=$((passed + 1))
        echo "ok    $name: $(sed -n "s/^\([a-z, ]*\): '.*/\1/p" "$scratch/out" | paste -sd';')${ranks:+ ranks: $row}"
    fi
}
rank_sees() {
    mkdir -p "$scratch/ranks/tests/mpi"
    for program in stalls array_stalls; do
        link tests/mpi/$program || return 1
        ln -sf "$scratch/tests/mpi/$program" "$scratch/ranks/tests/mpi/$program"
    done
    ln -sf "$build/moot" "$scratch/ranks/moot"
    ! BUILD="$scratch/ranks" sh tests/cli/stalls_test.sh "$row" >"$scratch/rows" 2>&1 &&
        grep -q "^FAIL $row:" "$scratch/rows"
}

if ! compile node/explain/diagnosis.c || ! link tests/unit/diagnosis_test || ! test_passes; then
    echo "diagnosis_mutants.sh: the unbroken code does not pass"
    exit 1
fi

a=array_cause.c d=diagnosis.c o=overrun.c p=job_snapshot.c c=stall_cause.c s=stall.c

# Who is silent, and why.
mutant DEADISSILENT $d dead 's/if (picture_is_dead(picture, rank)) {/if (false) {/'
mutant ENDUNSEEN $p - 's/ || peer->ended_ns != 0);/);/'
mutant PROCUNSEEN $p - "s/peer->process == 'X' ||/false ||/; s/peer->process == 'Z' ||/false ||/"
mutant STOPPEDISLOST $d - 's/if (!stopped && picture_loses/if (picture_loses/'
mutant CUTOFFISSILENT $d - 's/if (!stopped && picture_loses/if (false \&\& picture_loses/'
mutant SILENTISMOVING $d silent 's/if (picture_is_silent(picture, who)) {/if (false) {/'
mutant REMOVEDISASKED $p - 's/(seat->asked_ns != 0 ||.*/seat->asked_ns != 0;/'

# What does not get through.
mutant LATEISLOST $p - 's/RESENT_LOST = 3/RESENT_LOST = 1/'
mutant NEVERLOST $p lost 's/return peer != NULL && peer->backlog > 0.*/return false;/'
mutant ACKEDISLOST $p - 's/peer->backlog > 0 && //'
mutant RESULTMOVES $d lost 's/if (picture_loses(picture, owner, asker)) {/if (false) {/'
mutant ASKINGMOVES $d - 's/} else if (picture_loses(picture, asker, owner)) {/} else if (false) {/'
mutant DECISIONMOVES $d - 's/if (picture_loses(picture, chair, owner)) {/if (false) {/'
mutant MOTIONMOVES $d motion 's/if (asks != NULL && asks->asked && pict.*/if (false) {/'
mutant UNASKEDISLOST $d - 's/if (asks != NULL && asks->asked &&/if (asks != NULL \&\&/'
mutant ACCEPTMOVES $d - 's/if (picture_loses(picture, chair, rank)) {/if (false) {/'
mutant REPORTMOVES $d - 's/if (picture_loses(picture, rank, chair)) {/if (false) {/'
mutant HOLDERMOVES $d - 's/if (picture_loses(picture, holder, chair)) {/if (false) {/'

# What the owner does.
mutant NOINPUTS $d chain 's/if (task->input.len > 0) {/if (false) {/'
mutant NOCHILDREN $d nested 's/if (account_child(account, hash, hash)) {/if (false) {/'
mutant SLOWISMOVING $d slow 's/kernel->runs_ns < slow_ns ? CAUSE_MOVING : CAUSE_SLOW/CAUSE_MOVING/'
mutant SLOWATONCE $d - 's/kernel->runs_ns < slow_ns ? CAUSE_MOVING :/false ? CAUSE_MOVING :/'
mutant SLOWATASECOND $d slow 's|uint64_t slow_ns = account->stall_ns / 10;|uint64_t slow_ns = SLOW_NS;|'
mutant SLOWLATE $d - 's/slow_ns = slow_ns < SLOW_NS ? slow_ns : SLOW_NS;//'
mutant NEVERRETURNS $d endless 's/^            diagnose_kernels(picture, diagnosis, rank);//'
mutant NOSTALLS $o - 's/return stalls_ns > runs_ns ? stalls_ns : runs_ns;/return runs_ns;/'
mutant NORUNS $o - 's/return stalls_ns > runs_ns ? stalls_ns : runs_ns;/return stalls_ns;/'
mutant WAITISNORUN $o - 's/task->stage == TASK_RUNNING && !account_child(account, &hash, &child) &&/task->stage == TASK_RUNNING \&\&/'
mutant RESTISMOVING $d resting 's/} else if (task->stage == TASK_RESTING) {/} else if (false) {/'
mutant BUSYISAWAY $d behind 's/bool busy = account->running > account->stopped;/bool busy = false;/'
mutant AWAYISBUSY $d away 's/bool busy = account->running > account->stopped;/bool busy = true;/'
mutant STOPPEDISBUSY $d - 's/bool busy = account->running > account->stopped;/bool busy = account->running > 0;/'
mutant NOLEASE $d lease 's/task->once && !account->lease ? CAUSE_LEASE/false ? CAUSE_LEASE/'
mutant PURELEASE $d - 's/task->once && !account->lease/!account->lease/'

# What the chair lacks.
mutant NOBLAME $d voters 's/^        blame_awaited(picture, finding, chair);//'
mutant HOLDERSUNSEEN $d - 's/if (rankset_empty(&holders)) {/if (true) {/'
mutant NOBODYISUNDECIDED $d nobody 's/conclude(finding, CAUSE_NOBODY, PLACEMENT_NOBODY);/(void)0;/'
mutant HEARSAYUNHEARD $p - 's/good = account_ranks(&task->holders, out) &&/good = true \&\&/'
mutant UNDECIDEDMOVES $d undecided 's/conclude(finding, CAUSE_UNDECIDED, chair);/conclude(finding, CAUSE_MOVING, chair);/'
mutant NOBAR $d barred 's/} else if (rankset_equal(&holders, &finding->barred)) {/} else if (false) {/'
mutant BARSOTHERS $d - 's/rankset_equal(&holders, &finding->barred)/!rankset_empty(\&finding->barred)/'
mutant BARSREFUSED $d - 's/if (rankset_has(&willing, rank)) {/if (true) {/'
mutant BARREDISNOBODY $d - 's/return rankset_equal(&a->barred, &b->barred);/return true;/'
mutant NOCANDIDATES $p barred 's|if (task->candidates.len > 0) {|if (false) {|'
mutant CANDIDATESFIRST $d - 's/(void)rankset_merge(&into->candidates, &found->candidates);//'
mutant CANDIDATESOFONE $d - 's/^        rankset_release(&into->candidates);//'
mutant NOTHINGISLACK $d - 's/} else if (finding->lack == CORE_LACK_NOTHING) {/} else if (false) {/'

# Whose word counts.
mutant OWNERUNHEARD $p - 's/word->owns = task->own != CORE_OWN_NONE;/word->owns = false;/'
mutant NOOWNER $p slow 's/word->owner = task->owner;/(void)0;/; s/task->own != CORE_OWN_NONE/false/'

# Circles, and what keeps them from being found.
mutant NOCIRCLE $d cycle 's/if (closes_circle(finding, &hash)) {/if (false) {/'
mutant CIRCLESDIFFER $d cycle 's/return in_chain(a, &b->chain\[b->cycle_begin\].hash);/return false;/'
mutant NEVERPARKED $c parked 's/^    return parked && !other;/    return false;/'
mutant ALWAYSPARKED $c - 's/^    return parked && !other;/    return parked;/'
mutant NOTBUSY $d cycle 's/^        find_busy(picture, &found);//'
mutant GONEISBUSY $d orphaned 's/(silent && !picture_is_gone(picture, rank))/silent/'
mutant NOTGONE $c orphaned 's/^    say_gone(text, picture, finding);//'
mutant REMOVEDISHERE $p - 's/ (peer->state == MEMBER_REMOVED || peer->state == MEMBER_LEFT));/ false);/'
mutant NOTBUSYALONE $d nobody 's/found.cause == CAUSE_NOBODY ||//'

# Who has just ended is in no account.
mutant UNTOLDISNOBODY $d - 's/ && !is_told(picture, hash)) {/ \&\& false) {/'

# Findings: which are one, and which comes first.
mutant NOMERGE $d undecided 's/if (same_finding(other, found)) {/if (false) {/'
mutant ALLONE $d two 's/if (same_finding(other, found)) {/if (true) {/'
mutant SILENTTWICE $d - 's/^    return true; \/\* whatever.*/    return a->chain_count == 0 || hash_equal(end_of(a), end_of(b));/'
mutant MOVINGEACH $d - 's/if (a->cause == CAUSE_MOVING && b->cause == CAUSE_MOVING) {/if (false) {/'
mutant NOORDER $d - 's/diagnosis->findings\[at - 1\].cause > found->cause/false/'
mutant NOWAITING $d slow 's/(void)rankset_merge(&into->waiting, &found->waiting);//'
mutant LACKSONE $d - 's/return a->lack == b->lack;/return true;/'
mutant LACKSEACH $d many 's/return a->lack == b->lack;/return hash_equal(end_of(a), end_of(b));/'
mutant BEHINDEACH $d - 's/return hash_equal(&a->root, &b->root);/return hash_equal(end_of(a), end_of(b));/'
mutant CHILDWORKS $d - 's/ && !account_child(account, &hash, &child)) {/) {/'
mutant BEHINDFIRST $d - 's/^        merge_chain(into, found);//'
mutant ENDSTWICE $d many 's/i == 0 || !hash_equal(&finding->ends\[i - 1\], &finding->ends\[i\])/1/'
mutant AWAITEDFIRST $d - 's/(void)rankset_merge(&into->awaited, &found->awaited);//'
mutant YOUNGEST $d - 's/if (found->since_ns > into->since_ns) {/if (false) {/'

# Closes.
mutant NOCLOSE $d close 's/^            diagnose_close(picture, diagnosis, rank);//'
mutant LEFTISSILENT $d - 's/account == NULL ? left ||/account == NULL ? false ||/'
mutant ABSENTUNSEEN $d meeting 's/account->meetings < waiting->meetings/false/'
mutant ABSENTISLATE $d - 's/                      account->closing_ns == 0 && account->n_waits == 0;/                      account->n_waits == 0;/'
mutant DRAINSUNSEEN $d reload-kernel 's/behind && account != NULL && account->drains ? longest_run(account) : NULL/NULL/'
mutant RELOADISMEETING $c reload-late 's/waiting != NULL && waiting->reload_ns != 0;/false;/'
mutant CLOSEDISOPEN $d - 's/: account->closing_ns != 0 ||/: false ||/'

# Disputes.
mutant NODISPUTE $d - 's/^        diagnosis_find_disputes(picture, diagnosis);//'

# Elements of arrays.  A row of stalls_test.sh for each that has one there.
mutant NOELEMENTS $d array-unspawned 's/if (way != ELEMENTS_WAY_NONE) {/if (false) {/'
mutant UNSPAWNEDUNSEEN $a array-unspawned 's/if (elements->unspawned > 0) {/if (false) {/'
mutant HOMEUNHEARD $a - 's/picture_is_silent(picture, rank)) {/false) {/'
mutant HOMELOST $a - 's/} else if (picture_loses(picture, rank, chair)) {/} else if (false) {/'
mutant UNCLAIMEDUNSEEN $a array-away 's/blame_unclaimed(picture, finding, chair, hash)) {/false) {/'
mutant RESTINGHOME $a - 's/!goes_on(picture->seats\[rank\].account))) {/false)) {/'
mutant BUSYKEEPER $a - 's/(trusts || goes_on(account))) {/trusts) {/'
mutant ALLVOTE $a - 's/trusts = account->mode != CORE_REPAIR;/trusts = false;/'
mutant HELDUNHEARD $a array-task 's/if (there == NULL || !there->held ||/if (true ||/'
mutant PARTISALL $a - 's/^            rankset_has(&known, rank)) {/            false) {/'
mutant NORUNNER $a - 's/if (runner < picture->size) {/if (false) {/'
mutant RUNSSHORT $a - 's/said.task->runs_ns > longest->runs_ns)) {/false)) {/'
mutant LACKSUNSEEN $a - 's/if (lacks < picture->size) {/if (false) {/'
mutant FASTENDS $a - 's/if (finding->cause == CAUSE_SLOW || lacks == PLACEMENT_NOBODY) {/if (true) {/'
mutant READYUNSEEN $a - 's/if (ready < picture->size) {/if (false) {/'

# What is said of it.
mutant NOVOTE $c voters 's/if (!rankset_empty(&finding->awaited) && find.*/if (false) {/'
mutant NOMAJORITY $c dead 's/if (rank != finding->culprit && picture_is_silent/if (false \&\& picture_is_silent/'
mutant REMOVEDISMISSED $c - 's/!picture_is_gone(picture, rank)) {/!picture_is_dead(picture, rank)) {/'
mutant VOTEDOUTISASKED $c - 's/if (picture_is_gone(picture, finding->culprit)) {/if (false) {/'
mutant RANKTWICE $c - 's/^        if (!one) {/        if (true) {/'
mutant RANKUNNAMED $c - 's/^        if (!one) {/        if (false) {/'
mutant CHAIRSEACH $s - 's/^           a->chair_holds == b->chair_holds &&/rankset_equal(\&a->chairs, \&b->chairs) \&\&/'
mutant CHAIRSHOLD $s - 's/^           a->chair_holds == b->chair_holds &&//'
mutant CHAIRUNKNOWN $s - 's/rankset_empty(&a->chairs) == rankset_empty(&b->chairs) &&//'
mutant ALLMAYORONE $s - 's/rankset_empty(&a->candidates) == rankset_empty(&b->candidates) &&//'
mutant CANDIDATEFIRST $s - 's/(void)rankset_merge(&into->candidates, &from->candidates);//'
mutant HOLDERMAYNOT $s - 's/^        !share_a_rank(holders, &waited->candidates)) {/        true) {/'
mutant HOLDERMAY $s barred 's/^        !share_a_rank(holders, &waited->candidates)) {/        false) {/'
mutant CANDIDATESUNTOLD $c barred 's/^    say_candidates(text, finding);//'
mutant CHAIRFIRST $s - 's/(void)rankset_merge(&into->chairs, &from->chairs);//'
mutant NORESTTOLD $c resting 's/if (task != NULL && task->stage == TASK_RESTING) {/if (false) {/'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
