/* stall_cause.c - one cause of a stall, in words: what it is, whom it keeps waiting, by
 * which chain, and what to do next (stall.h).
 */
#include "node/explain/stall.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/explain/overrun.h"
#include "node/members/members.h"

/* --- Sentences -------------------------------------------------------------------- */

static const Moot__Account *account_of(const struct picture *picture, uint32_t rank)
{
    return rank < picture->size ? picture->seats[rank].account : NULL;
}

/* Whether a rank has told of a part of its waits. */
static bool is_cut(const struct picture *picture)
{
    bool cut = false;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = account_of(picture, rank);
        cut |= account != NULL && account->waits_untold > 0;
    }
    return cut;
}

/* "task 1a2b3c4d (file:line)", "... and at least 62 others" */
static void add_end(struct text *text, const struct picture *picture,
                    const struct finding *finding)
{
    stall_add_task(text, picture, &finding->chain[finding->chain_count - 1].hash);
    if (finding->tasks > 1) {
        text_add(text, " and %s%u other%s", is_cut(picture) ? "at least " : "",
                 finding->tasks - 1, finding->tasks == 2 ? "" : "s");
    }
}

/* The words that go with one task, or with several. */
static const char *either(const struct finding *finding, const char *one,
                          const char *several)
{
    return finding->tasks > 1 ? several : one;
}

/* The members that are left of a view which takes a majority, and are none
 * (PROTOCOL.md, V1); empty: they go on, or only the silent keep them from it.  Returns
 * the number of members. */
static uint32_t find_minority(const struct picture *picture, struct rankset *left)
{
    const Moot__Account *account = account_of(picture, picture->rank);
    struct rankset members = {0};
    if (account == NULL || !account->majorities ||
        !account_ranks(&account->members, &members)) {
        return 0;
    }
    const uint32_t count = rankset_count(&members), lowest = rankset_next(&members, 0);
    for (uint32_t rank = lowest; rank != PLACEMENT_NOBODY;
         rank = rankset_next(&members, rank + 1)) {
        if (!picture_is_gone(picture, rank)) {
            (void)rankset_add(left, rank);
        }
    }
    if (2 * rankset_count(left) + rankset_has(left, lowest) > count) {
        rankset_release(left);
        *left = (struct rankset){0};
    }
    rankset_release(&members);
    return count;
}

static void say_minority(struct text *text, const struct rankset *left, uint32_t count)
{
    text_add(text, ", and ");
    stall_add_ranks(text, left);
    text_add(text,
             " %s left of %u members: that is no majority, which a view takes where "
             "ranks may join at any moment\n"
             "      next: start the job again: waits end with MOOT_ERR_NO_QUORUM, and "
             "nothing else comes; of three ranks two survive a death, and without "
             "--max, or with --joins session, survivors go on however few they are\n",
             rankset_count(left) == 1 ? "is" : "are", count);
}

static void say_dead(struct text *text, const struct picture *picture,
                     const struct finding *finding)
{
    const Moot__Account__Peer *peer = picture_peer(picture, finding->culprit);
    struct rankset silent = {0}, left = {0};
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        if (rank != finding->culprit && picture_is_silent(picture, rank) &&
            !picture_is_gone(picture, rank)) { /* of whom no view needs a word */
            (void)rankset_add(&silent, rank);
        }
    }
    text_add(text, "rank %u, which is to act, has died", finding->culprit);
    if (peer != NULL && peer->ended_ns > 0) {
        text_add(text, " (its end was seen ");
        text_add_duration(text, peer->ended_ns);
        text_add(text, " ago)");
    }
    const uint32_t count = find_minority(picture, &left);
    if (!rankset_empty(&left)) {
        say_minority(text, &left, count);
        rankset_release(&left);
        rankset_release(&silent);
        return;
    }
    text_add(text, "; the others have not agreed on a view without it");
    if (!rankset_empty(&silent)) {
        text_add(text, ", because ");
        stall_add_ranks(text, &silent);
        text_add(text,
                 rankset_count(&silent) == 1 ? " gives no answer" : " give no answer");
    }
    text_add(text, "\n      next: ");
    if (rankset_empty(&silent)) {
        text_add(text, "wait: they agree by themselves\n");
    } else {
        text_add(text, "see what stopped ");
        stall_add_ranks(text, &silent);
        text_add(text, ": without a majority nobody may go on\n");
    }
    rankset_release(&silent);
}

static void say_silent(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    const Moot__Account__Peer *peer = picture_peer(picture, finding->culprit);
    uint32_t letter = peer != NULL ? peer->process : 0;
    unsigned long long pid = peer != NULL ? peer->pid : 0;
    if (picture_is_gone(picture, finding->culprit)) { /* and is not asked any more */
        text_add(text,
                 "rank %u, which is to act, was voted out\n      next: wait: others "
                 "take its tasks over; if it lasts, this is an error of moot\n",
                 finding->culprit);
        return;
    }
    text_add(text, "rank %u does not drive progress: it was asked ", finding->culprit);
    text_add_duration(text, picture->seats[finding->culprit].asked_ns);
    text_add(text, " ago and gives no answer");
    if (peer != NULL && peer->spoke) {
        text_add(text, ", and was last heard of ");
        text_add_duration(text, peer->silent_ns);
        text_add(text, " ago");
    }
    if (letter == 'T' || letter == 't') {
        text_add(text,
                 "; its process %llu is stopped\n      next: kill -CONT %llu, or see "
                 "who stopped it (a debugger, a batch system)\n",
                 pid, pid);
        return;
    }
    if (letter != 0) {
        text_add(text, "; its process %llu %s", pid,
                 letter == 'R' ? "computes" : "sleeps in code that moot cannot see");
    }
    text_add(text,
             "\n      next: look at it there%s; a helper thread would answer for "
             "it (MPI_THREAD_MULTIPLE, and MOOT_PROGRESS not `caller`), and so would "
             "moot_mpi_wait() in the place of a call of MPI that blocks, moot_park() "
             "or not\n",
             letter != 0 ? " (gdb -p, or perf top -p, that process)" : "");
}

static void say_lost(struct text *text, const struct picture *picture,
                     const struct finding *finding)
{
    const Moot__Account *account = account_of(picture, finding->from);
    const Moot__Account__Peer *peer =
        account != NULL ? account_peer(account, finding->culprit) : NULL;
    text_add(text, "messages from rank %u to rank %u are lost", finding->from,
             finding->culprit);
    if (peer != NULL) {
        text_add(text, ": %llu frame%s not acknowledged, sent again %llu times",
                 (unsigned long long)peer->backlog, peer->backlog == 1 ? "" : "s",
                 (unsigned long long)peer->resent);
    }
    if (account != NULL && account->plan.len > 0) {
        text_add(text, "; the fault plan ");
        text_add_told(text, account->plan.data, account->plan.len);
        text_add(text, " has struck there %llu times",
                 (unsigned long long)account->faults_fired);
    }
    text_add(text, "\n      next: the plan does what it says (moot faults explain); "
                   "without it this does not happen\n");
}

/* All that goes on of its program is parked. */
static bool is_parked(const Moot__Account *account)
{
    bool parked = false, other = account == NULL || account->running > account->stopped;
    for (size_t i = 0; account != NULL && i < account->n_lanes; i++) {
        uint32_t state = account->lanes[i]->state;
        parked |= state == CORE_LANE_PARKED;
        other |= state == CORE_LANE_RUNNING || state == CORE_LANE_TIMED;
    }
    return parked && !other;
}

void stall_say_busy(struct text *text, const struct picture *picture,
                    const struct finding *finding, const char *advice, const char *code)
{
    uint32_t first = rankset_next(&finding->busy, 0);
    const Moot__Account *own = account_of(picture, picture->rank);
    text_add(text, "\n      next: %s; ", advice);
    if (own != NULL && own->mode == CORE_TRUST) {
        text_add(text, "in trust mode the moot ends no such wait\n");
        return;
    }
    if (first == PLACEMENT_NOBODY) {
        text_add(text, "the moot will find this and end a wait with %s\n", code);
        return;
    }
    text_add(text, "the moot ends such a wait with %s once all ranks rest; ", code);
    bool one = rankset_count(&finding->busy) == 1;
    stall_add_ranks(text, &finding->busy);
    text_add(text, one ? " does not" : " do not");
    const Moot__Account *account = account_of(picture, first);
    if (account != NULL) {
        text_add(text, " (");
        if (!one) {
            text_add(text, "rank %u: ", first);
        }
        stall_add_program(text, account);
        text_add(text, ")");
    } else if (one) {
        text_add(text, " (it gives no answer)");
    }
    if (is_parked(account)) {
        text_add(
            text,
            ", since a parked program may go on and act: where this very wait keeps "
            "it parked neither ends; moot_barrier() in the place of MPI_Barrier "
            "rests, and a wait with a timeout ends\n");
    } else {
        text_add(text, "; a program that waits in the moot rests, so moot_barrier() "
                       "does, and MPI_Barrier does not\n");
    }
}

static void say_cycle(struct text *text, const struct picture *picture,
                      const struct finding *finding)
{
    uint32_t tasks = finding->chain_count - finding->cycle_begin;
    text_add(text, "a cycle of waits: %u task%s for %s", tasks,
             tasks == 1 ? " waits" : "s wait", tasks == 1 ? "itself" : "each other");
    text_add(text, "; ranks declare their order differently where they spawn them");
    stall_say_busy(text, picture, finding, "let every rank declare the same order",
                   "MOOT_ERR_CYCLE");
}

/* Of what all have released and dropped no rank knows any more. */
static void say_forgotten(struct text *text, const struct picture *picture,
                          const struct finding *finding)
{
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = account_of(picture, rank);
        uint64_t count =
            account != NULL ? account_figure(account, "tasks_forgotten") : 0;
        most = count > most ? count : most;
    }
    if (most > 0) {
        text_add(text,
                 ", or %s of %llu tasks that had ended, were released by every "
                 "rank, and forgotten (MOOT_WINDOW)",
                 either(finding, "it is one", "they are"), (unsigned long long)most);
    }
}

/* What they alone held is held by nobody. */
static void say_gone(struct text *text, const struct picture *picture,
                     const struct finding *finding)
{
    struct rankset gone = {0};
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        if (picture_is_gone(picture, rank)) {
            (void)rankset_add(&gone, rank);
        }
    }
    if (!rankset_empty(&gone)) {
        text_add(text, ", or ");
        stall_add_ranks(text, &gone);
        text_add(text, ", which died or were voted out, held %s",
                 either(finding, "it", "them"));
    }
    rankset_release(&gone);
}

static void say_candidates(struct text *text, const struct finding *finding)
{
    if (!rankset_empty(&finding->candidates)) {
        text_add(text, "; only ");
        stall_add_few_ranks(text, &finding->candidates);
        text_add(text, " may own %s", either(finding, "it", "them"));
    }
}

/* It was spawned, but not by anyone who may own it. */
static void say_barred(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    bool one = rankset_count(&finding->barred) == 1;
    text_add(text, "no candidate of ");
    add_end(text, picture, finding);
    text_add(text, " has spawned %s: ", either(finding, "it", "them"));
    stall_add_ranks(text, &finding->barred);
    text_add(text, ", which hold%s %s, %s, and %s chair, rank %u, lacks %s",
             one ? "s" : "", either(finding, "it", "them"),
             one ? "is none" : "are none", either(finding, "its", "their"),
             finding->culprit, either(finding, "it", "them"));
    say_candidates(text, finding);
    stall_say_busy(
        text, picture, finding,
        either(finding,
               "spawn it on a candidate, name the rank that spawns it as one (.owner, "
               ".candidates), or make its kernel portable",
               "spawn them on a candidate, name the ranks that spawn them as such "
               "(.owner, .candidates), or make their kernels portable"),
        "MOOT_ERR_NOT_HELD");
}

static void say_nobody(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    if (!rankset_empty(&finding->barred)) {
        say_barred(text, picture, finding);
        return;
    }
    text_add(text, "no rank holds ");
    add_end(text, picture, finding);
    text_add(text, ": a condition may have kept %s from happening",
             either(finding, "its spawn", "their spawns"));
    if (!rankset_empty(&finding->busy)) {
        text_add(text, ", or ");
        stall_add_ranks(text, &finding->busy);
        text_add(text, " may yet spawn %s", either(finding, "it", "them"));
    }
    say_gone(text, picture, finding);
    say_forgotten(text, picture, finding);
    say_candidates(text, finding);
    stall_say_busy(
        text, picture, finding,
        either(finding, "spawn it on some rank, or do not wait where that is skipped",
               "spawn them on some rank, or do not wait where that is skipped"),
        "MOOT_ERR_NOT_HELD");
}

/* --- Undecided -------------------------------------------------------------------- */

static void say_evidence(struct text *text, const struct picture *picture,
                         const struct finding *finding)
{
    const Moot__Account *account = account_of(picture, finding->culprit);
    text_add(text,
             "evidence that %s chair, rank %u, will not spawn %s: the chair has "
             "neither spawned %s nor blocked",
             either(finding, "its", "their"), finding->culprit,
             either(finding, "it", "them"), either(finding, "it", "them"));
    if (account != NULL) {
        text_add(text, " (");
        stall_add_program(text, account);
        text_add(text, ")");
    }
    text_add(text,
             "\n      next: if it sits in code that moot cannot see (MPI, a lock, "
             "pthread_join), put moot_park() around that code or set "
             "MOOT_VOTE_TIMEOUT; if it takes another branch, moot_decline() there "
             "or MOOT_TASK_CONDITIONAL where it is spawned\n");
}

static void say_demand(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    const Moot__Account *account = account_of(picture, finding->culprit);
    bool parked = is_parked(account);
    text_add(text,
             "evidence that %s chair, rank %u, will not spawn %s: the chair "
             "%s, with %llu tasks on its roll, and the rank that asks is "
             "further along",
             either(finding, "its", "their"), finding->culprit,
             either(finding, "it", "them"), parked ? "is parked" : "waits itself",
             account != NULL ? (unsigned long long)account->len : 0ull);
    if (parked) {
        text_add(text, " (");
        stall_add_program(text, account);
        text_add(text,
                 ")\n      next: if it takes another branch, moot_decline() before "
                 "it parks, or MOOT_TASK_CONDITIONAL where the task is spawned\n");
        return;
    }
    text_add(text, "\n      next: see what rank %u waits for\n", finding->culprit);
}

static void say_awaited(struct text *text, const struct finding *finding,
                        const char *what)
{
    text_add(text, "%s of ", what);
    stall_add_ranks(text, &finding->awaited);
    text_add(text,
             ", which answer%s, but not to that\n      next: wait; if it lasts, "
             "this is an error of moot\n",
             rankset_count(&finding->awaited) == 1 ? "s" : "");
}

/* A mode in which ranks do not vote. */
static void say_mode(struct text *text, const struct finding *finding)
{
    text_add(text,
             ": the ranks diverged, %s chair (default owner), rank %u, has not spawned "
             "%s, and outside of repair mode nobody votes\n"
             "      next: MOOT_DIVERGENCE=repair would vote for another owner; "
             "MOOT_DIVERGENCE=strict would name the first difference\n",
             either(finding, "its", "their"), finding->culprit,
             either(finding, "it", "them"));
}

static void say_undecided(struct text *text, const struct picture *picture,
                          const struct finding *finding)
{
    text_add(text, "nobody owns ");
    add_end(text, picture, finding);
    if (finding->lack == CORE_LACK_MODE) {
        say_mode(text, finding);
        return;
    }
    text_add(text, ", and the vote lacks ");
    switch (finding->lack) {
    case CORE_LACK_EVIDENCE:
        say_evidence(text, picture, finding);
        return;
    case CORE_LACK_DEMAND:
        say_demand(text, picture, finding);
        return;
    case CORE_LACK_VOTERS:
        say_awaited(text, finding, "the acceptance");
        return;
    case CORE_LACK_REPORTS:
        say_awaited(text, finding, "the reports about the last view");
        return;
    case CORE_LACK_QUORUM:
        text_add(text, "a majority: rank %u is cut off from it\n", finding->culprit);
        return;
    case CORE_LACK_MODE:
    case CORE_LACK_NOTHING:
    case CORE_LACK_CANDIDATES:
    case CORE_LACK_HOLDER:
    case CORE_LACK_MOTION:
    case CORE_LACK_END:
        break;
    }
    text_add(text,
             "a holder that %s chair, rank %u, knows of; it has asked for one\n"
             "      next: wait: the answer is under way\n",
             either(finding, "its", "their"), finding->culprit);
}

/* --- At the owner ---------------------------------------------------------------- */

static void say_away(struct text *text, const struct picture *picture,
                     const struct finding *finding)
{
    const Moot__Account *account = account_of(picture, finding->culprit);
    add_end(text, picture, finding);
    text_add(text, " %s ready on rank %u, where no thread runs tasks (%u workers",
             either(finding, "is", "are"), finding->culprit,
             account != NULL ? account->workers : 0);
    if (account != NULL) {
        text_add(text, "; ");
        stall_add_program(text, account);
    }
    text_add(text,
             ")\n      next: MOOT_THREADS=1 gives the rank a worker; a wait there "
             "would run %s, too, and so does moot_mpi_wait()%s\n",
             either(finding, "it", "them"),
             is_parked(account)
                 ? ""
                 : "; moot_park() around code that blocks lets another thread do so");
}

static void say_resting(struct text *text, const struct picture *picture,
                        const struct finding *finding)
{
    add_end(text, picture, finding);
    text_add(text,
             " %s failed on rank %u, and will be tried again\n"
             "      next: see .retries and .retry_backoff of %s\n",
             either(finding, "has", "have"), finding->culprit,
             either(finding, "its kernel", "their kernels"));
}

/* "; none of its kernel's runs there has ended yet" */
static void add_longest(struct text *text, const Moot__Account__Task *kernel)
{
    if (kernel->longest_ns == 0) {
        text_add(text, "; no run of its kernel has ended there yet");
        return;
    }
    text_add(text, "; the longest run of its kernel that has ended there took ");
    text_add_duration(text, kernel->longest_ns);
}

/* The kernel that runs, and what is ready behind it. */
static void say_slow(struct text *text, const struct picture *picture,
                     const struct finding *finding)
{
    const moot_hash *hash = &finding->chain[finding->chain_count - 1].hash;
    const Moot__Account__Task *task = picture_task(picture, finding->culprit, hash);
    const Moot__Account__Task *kernel =
        picture_task(picture, finding->culprit, &finding->root);
    const Moot__Account *account = account_of(picture, finding->culprit);
    if (task != NULL && task->stage == TASK_RESTING) {
        say_resting(text, picture, finding);
        return;
    }
    if (hash_equal(hash, &finding->root)) {
        stall_add_task(text, picture, hash);
        text_add(text, " runs on rank %u, for ", finding->culprit);
        text_add_duration(text, task != NULL ? task->runs_ns : 0);
        if (finding->tasks > 1) {
            text_add(text, ", and %u other%s ready behind it", finding->tasks - 1,
                     finding->tasks == 2 ? " is" : "s are");
        }
    } else {
        add_end(text, picture, finding);
        text_add(text, " %s ready on rank %u, behind a kernel that runs there",
                 either(finding, "is", "are"), finding->culprit);
        if (kernel != NULL) {
            text_add(text, ": ");
            stall_add_task(text, picture, &finding->root);
            text_add(text, ", for ");
            text_add_duration(text, kernel->runs_ns);
        }
    }
    if (account != NULL && account->drains) {
        text_add(text, ", and moot_checkpoint_reload() waits for it; it has been told "
                       "so (moot_call_cancelled)");
    }
    bool overruns =
        account != NULL && kernel != NULL && overrun_is_near(account, kernel, 0);
    if (overruns) {
        add_longest(text, kernel);
    }
    text_add(text, "\n      next: %s: look at its kernel (gdb -p %llu there)\n",
             overruns ? "it may never return" : "the holder is slow, not stuck in moot",
             account != NULL ? (unsigned long long)account->pid : 0ull);
}

static void say_lease(struct text *text, const struct picture *picture,
                      const struct finding *finding)
{
    add_end(text, picture, finding);
    text_add(text,
             " %s, and %s owner, rank %u, has no lease: it does not hear "
             "from a majority\n      next: see which ranks are silent\n",
             either(finding, "is a once task", "are once tasks"),
             either(finding, "its", "their"), finding->culprit);
}

static void say_absent(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    const Moot__Account *account = account_of(picture, finding->culprit);
    uint32_t one = rankset_next(&finding->waiting, 0);
    const Moot__Account *waiting = account_of(picture, one);
    const bool reloads = waiting != NULL && waiting->reload_ns != 0;
    text_add(
        text, "rank %u has not come to %smoot_checkpoint_reload() ", finding->culprit,
        reloads ? "" : "moot_barrier(), moot_scope_tasks(), moot_session_next() or ");
    if (account != NULL && waiting != NULL) {
        text_add(text, "number %llu (", (unsigned long long)waiting->meetings);
        stall_add_program(text, account);
        text_add(text, ")");
    }
    text_add(text,
             "\n      next: see what its program does: every rank calls %s, "
             "equally often, or closes its moot\n",
             reloads ? "it" : "them");
}

static void say_open(struct text *text, const struct picture *picture,
                     const struct finding *finding)
{
    const Moot__Account *account = account_of(picture, finding->culprit);
    text_add(text, "rank %u has not closed the moot", finding->culprit);
    if (account != NULL) {
        text_add(text, " (");
        stall_add_program(text, account);
        text_add(text, ")");
    }
    text_add(text, "\n      next: moot_close() waits for every rank: see what its "
                   "program does\n");
}

static void say_moving(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    if (finding->waits > 1) {
        text_add(text, "what %u waits are for is on its way", finding->waits);
    } else {
        add_end(text, picture, finding);
        text_add(text, " is on its way");
    }
    text_add(text, ", as far as can be seen");
    text_add(text, "\n      next: look again: SIGUSR1 asks for a report\n");
}

/* --- All of a finding ------------------------------------------------------------ */

enum { CHAIN_ENDS = 3, CHAIN_SHOWN = 8 };

static void add_chain(struct text *text, const struct picture *picture,
                      const struct finding *finding)
{
    bool cycle = finding->cause == CAUSE_CYCLE;
    uint32_t count = finding->chain_count;
    for (uint32_t i = 0; (count > 1 || cycle) && i < count; i++) {
        if (i == CHAIN_ENDS && count > CHAIN_SHOWN && !cycle) {
            i = count - CHAIN_ENDS;
            text_add(text, "             ... %u tasks more\n", i - CHAIN_ENDS);
        }
        text_add(text, "      %s", i == 0 ? "chain: " : "       waits for ");
        stall_add_task(text, picture, &finding->chain[i].hash);
        if (finding->chain[i].rank != PLACEMENT_NOBODY) {
            text_add(text, " on rank %u", finding->chain[i].rank);
        }
        text_add(text, "\n");
    }
    if (cycle) {
        text_add(text, "             waits for ");
        stall_add_task(text, picture, &finding->chain[finding->cycle_begin].hash);
        text_add(text, ", again\n");
    } else if (finding->cut) {
        text_add(text, "             ... and so on\n");
    }
}

void stall_add_finding(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    static void (*const say[])(struct text *, const struct picture *,
                               const struct finding *) = {
        [CAUSE_DEAD] = say_dead,     [CAUSE_SILENT] = say_silent,
        [CAUSE_LOST] = say_lost,     [CAUSE_CYCLE] = say_cycle,
        [CAUSE_NOBODY] = say_nobody, [CAUSE_UNDECIDED] = say_undecided,
        [CAUSE_AWAY] = say_away,     [CAUSE_LEASE] = say_lease,
        [CAUSE_SLOW] = say_slow,     [CAUSE_OPEN] = say_open,
        [CAUSE_ABSENT] = say_absent, [CAUSE_MOVING] = say_moving,
    };
    text_add(text, " [%s]: ", cause_name(finding->cause));
    if (!stall_say_elements(text, picture, finding)) {
        say[finding->cause](text, picture, finding);
    }
    if (rankset_empty(&finding->waiting)) {
        text_add(text, "      keeps nobody waiting yet\n");
        return;
    }
    text_add(text, "      keeps ");
    stall_add_ranks(text, &finding->waiting);
    text_add(text, " waiting, for ");
    text_add_duration(text, finding->since_ns);
    if (finding->waits > 1) {
        text_add(text, ", in %u waits", finding->waits);
    }
    text_add(text, "\n");
    if (!rankset_empty(&finding->awaited) && finding->cause < CAUSE_CYCLE) {
        text_add(text, "      the vote lacks %s of ",
                 finding->lack == CORE_LACK_VOTERS ? "the acceptance" : "an answer");
        stall_add_ranks(text, &finding->awaited);
        text_add(text, "\n");
    }
    add_chain(text, picture, finding);
}
