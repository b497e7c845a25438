/* diagnosis.c - see diagnosis.h. */
#include "node/explain/diagnosis_private.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/explain/overrun.h"
#include "node/members/members.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_NS UINT64_C(1000000000)

const char *cause_name(enum cause cause)
{
    static const char *const names[] = {
#define X(name, text) [CAUSE_##name] = text,
        CAUSES(X)
#undef X
    };
    return (unsigned)cause < CAUSE_END ? names[cause] : "?";
}

/* --- One wait, followed ----------------------------------------------------------- */

void conclude(struct finding *finding, enum cause cause, uint32_t culprit)
{
    finding->cause = cause;
    finding->culprit = culprit;
}

void conclude_silent(const struct picture *picture, struct finding *finding,
                     uint32_t rank)
{
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    bool stopped = peer != NULL && peer->process == 'T';
    if (picture_is_dead(picture, rank)) {
        conclude(finding, CAUSE_DEAD, rank);
    } else if (!stopped && picture_loses(picture, picture->rank, rank)) {
        conclude(finding, CAUSE_LOST, rank);
        finding->from = picture->rank;
    } else {
        conclude(finding, CAUSE_SILENT, rank);
    }
}

void conclude_lost(struct finding *finding, uint32_t from, uint32_t to)
{
    conclude(finding, CAUSE_LOST, to);
    finding->from = from;
}

/* A kernel that runs there, and does not wait for a child; NULL: none is told of. */
static const Moot__Account__Task *kernel_at_work(const Moot__Account *account)
{
    moot_hash child;
    for (size_t i = 0; i < account->n_tasks; i++) {
        const Moot__Account__Task *task = account->tasks[i];
        moot_hash hash = account_hash(&task->hash);
        if (task->stage == TASK_RUNNING && !account_child(account, &hash, &child)) {
            return task;
        }
    }
    return NULL;
}

void conclude_running(struct finding *finding, const Moot__Account *account,
                      uint32_t owner, const Moot__Account__Task *kernel)
{
    uint64_t slow_ns = account->stall_ns / 10;
    slow_ns = slow_ns < SLOW_NS ? slow_ns : SLOW_NS;
    conclude(finding, kernel->runs_ns < slow_ns ? CAUSE_MOVING : CAUSE_SLOW, owner);
    finding->root = account_hash(&kernel->hash);
}

void conclude_ready(struct finding *finding, const Moot__Account *account,
                    uint32_t owner)
{
    const Moot__Account__Task *kernel = kernel_at_work(account);
    bool busy = account->running > account->stopped;
    if (busy && kernel != NULL) {
        conclude_running(finding, account, owner, kernel);
    } else {
        conclude(finding, busy ? CAUSE_SLOW : CAUSE_AWAY, owner);
    }
}

/* The owner is known and has spoken.  True: go on with *hash. */
static bool follow_owner(const struct picture *picture, struct finding *finding,
                         uint32_t asker, uint32_t owner, moot_hash *hash)
{
    const Moot__Account *account = picture->seats[owner].account;
    const Moot__Account__Task *task = account_task(account, hash);
    uint32_t chair = picture_chair(picture, hash);
    if (task == NULL || task->own == CORE_OWN_NONE) { /* a decision is under way */
        if (picture_loses(picture, chair, owner)) {
            conclude_lost(finding, chair, owner);
        } else {
            conclude(finding, CAUSE_MOVING, owner);
        }
        return false;
    }
    if (task->own == CORE_OWN_DONE) {
        if (picture_loses(picture, owner, asker)) {
            conclude_lost(finding, owner, asker);
        } else if (picture_loses(picture, asker, owner)) {
            conclude_lost(finding, asker, owner);
        } else {
            conclude(finding, CAUSE_MOVING, owner);
        }
        return false;
    }
    if (task->input.len > 0) {
        *hash = account_hash(&task->input);
        return true;
    }
    if (task->stage == TASK_RUNNING) {
        if (account_child(account, hash, hash)) {
            return true;
        }
        conclude_running(finding, account, owner, task);
    } else if (task->stage == TASK_RESTING) {
        conclude(finding, CAUSE_SLOW, owner);
    } else if (task->stage == TASK_READY) {
        conclude_ready(finding, account, owner);
    } else {
        conclude(finding, task->once && !account->lease ? CAUSE_LEASE : CAUSE_MOVING,
                 owner);
    }
    return false;
}

static bool add_silent(const struct picture *picture, const struct rankset *among,
                       struct rankset *out)
{
    bool good = true;
    for (uint32_t rank = rankset_next(among, 0); good && rank < picture->size;
         rank = rankset_next(among, rank + 1)) {
        if (picture_is_silent(picture, rank)) {
            good = rankset_add(out, rank);
        }
    }
    return good;
}

/* Of those whom the vote waits for, one that cannot speak is the cause. */
static void blame_awaited(const struct picture *picture, struct finding *finding,
                          uint32_t chair)
{
    struct rankset silent = {0};
    (void)add_silent(picture, &finding->awaited, &silent);
    uint32_t rank = rankset_next(&silent, 0);
    if (rank < picture->size) {
        conclude_silent(picture, finding, rank);
    } else {
        for (rank = rankset_next(&finding->awaited, 0); rank < picture->size;
             rank = rankset_next(&finding->awaited, rank + 1)) {
            if (picture_loses(picture, chair, rank)) {
                conclude_lost(finding, chair, rank);
                break;
            }
            if (picture_loses(picture, rank, chair)) {
                conclude_lost(finding, rank, chair);
                break;
            }
        }
    }
    rankset_release(&silent);
}

/* Whom the chair knows to hold the task, and who have not refused it: its chair lacks a
 * holder all the same, so these are no candidates. */
static void find_barred(const Moot__Account__Task *task, struct rankset *out)
{
    struct rankset known = {0}, willing = {0};
    (void)account_ranks(&task->holders, &known);
    (void)account_ranks(&task->awaited, &willing);
    for (uint32_t rank = rankset_next(&known, 0); rank != PLACEMENT_NOBODY;
         rank = rankset_next(&known, rank + 1)) {
        if (rankset_has(&willing, rank)) {
            (void)rankset_add(out, rank);
        }
    }
    rankset_release(&known);
    rankset_release(&willing);
}

/* The chair looks for a holder who may own it. */
static void follow_search(const struct picture *picture, struct finding *finding,
                          uint32_t chair, const Moot__Account__Task *task,
                          const moot_hash *hash)
{
    struct rankset holders = {0};
    (void)picture_holders(picture, hash, &holders);
    (void)picture_candidates(picture, hash, &finding->candidates);
    (void)account_ranks(&task->awaited, &finding->awaited);
    if (finding->lack == CORE_LACK_HOLDER) {
        find_barred(task, &finding->barred);
    }
    if (rankset_empty(&holders)) {
        conclude(finding, CAUSE_NOBODY, PLACEMENT_NOBODY);
    } else if (rankset_equal(&holders, &finding->barred)) {
        conclude(finding, CAUSE_NOBODY, chair);
    } else {
        uint32_t holder = rankset_next(&holders, 0);
        if (picture_loses(picture, holder, chair)) {
            conclude_lost(finding, holder, chair);
        }
    }
    rankset_release(&holders);
}

/* Nobody owns it, and the chair has spoken. */
static void follow_chair(const struct picture *picture, struct finding *finding,
                         uint32_t asker, uint32_t chair, const moot_hash *hash)
{
    const Moot__Account__Task *task = picture_task(picture, chair, hash);
    const Moot__Account__Task *asks = picture_task(picture, asker, hash);
    finding->lack = task != NULL ? (enum core_lack)task->lack : CORE_LACK_MOTION;
    conclude(finding, CAUSE_UNDECIDED, chair);
    if (finding->lack == CORE_LACK_MOTION && asker != chair) {
        conclude(finding, CAUSE_MOVING, chair);
        if (asks != NULL && asks->asked && picture_loses(picture, asker, chair)) {
            conclude_lost(finding, asker, chair);
        }
    } else if (finding->lack == CORE_LACK_NOTHING) {
        conclude(finding, CAUSE_MOVING, chair);
    } else if (finding->lack == CORE_LACK_VOTERS ||
               finding->lack == CORE_LACK_REPORTS) {
        (void)account_ranks(&task->awaited, &finding->awaited);
        blame_awaited(picture, finding, chair);
    } else if (finding->lack == CORE_LACK_HOLDER ||
               finding->lack == CORE_LACK_CANDIDATES) {
        follow_search(picture, finding, chair, task, hash);
    }
}

/* Accounts are some milliseconds apart, and tell of what is open: a task that has just
 * ended, or begun, may be in none of them. */
static bool is_told(const struct picture *picture, const moot_hash *hash)
{
    struct said said = picture_said(picture, hash);
    return picture_next(&said);
}

/* What the task hangs on.  True: go on with *hash. */
static bool follow(const struct picture *picture, struct finding *finding,
                   uint32_t *asker, moot_hash *hash)
{
    uint32_t owner = picture_owner(picture, hash);
    uint32_t who = owner != PLACEMENT_NOBODY ? owner : picture_chair(picture, hash);
    finding->chain[finding->chain_count - 1].rank = who;
    if (who == PLACEMENT_NOBODY && !is_told(picture, hash)) {
        conclude(finding, CAUSE_MOVING, PLACEMENT_NOBODY);
        return false;
    }
    if (who == PLACEMENT_NOBODY) {
        finding->lack = CORE_LACK_HOLDER;
        conclude(finding, CAUSE_NOBODY, PLACEMENT_NOBODY);
        return false;
    }
    if (picture->seats[who].account == NULL) {
        if (picture_is_silent(picture, who)) {
            conclude_silent(picture, finding, who);
        } else {
            conclude(finding, CAUSE_MOVING, who);
        }
        return false;
    }
    const enum elements_way way = follow_elements(picture, finding, asker, hash);
    if (way != ELEMENTS_WAY_NONE) {
        return way == ELEMENTS_WAY_ON;
    }
    if (owner == PLACEMENT_NOBODY) {
        follow_chair(picture, finding, *asker, who, hash);
        return false;
    }
    bool on = follow_owner(picture, finding, *asker, owner, hash);
    *asker = owner;
    return on;
}

static bool closes_circle(struct finding *finding, const moot_hash *hash)
{
    for (uint32_t i = 0; i < finding->chain_count; i++) {
        if (hash_equal(&finding->chain[i].hash, hash)) {
            conclude(finding, CAUSE_CYCLE, PLACEMENT_NOBODY);
            finding->cycle_begin = i;
            return true;
        }
    }
    return false;
}

static void follow_wait(const struct picture *picture, struct finding *finding,
                        uint32_t asker, moot_hash hash)
{
    conclude(finding, CAUSE_MOVING, PLACEMENT_NOBODY);
    do {
        if (closes_circle(finding, &hash)) {
            return;
        }
        if (finding->chain_count == CHAIN_MAX) {
            finding->cut = true;
            return;
        }
        finding->chain[finding->chain_count++] =
            (struct link_of_chain){.hash = hash, .rank = PLACEMENT_NOBODY};
    } while (follow(picture, finding, &asker, &hash));
}

/* --- Findings ------------------------------------------------------------------- */

static bool in_chain(const struct finding *finding, const moot_hash *hash)
{
    for (uint32_t i = finding->cycle_begin; i < finding->chain_count; i++) {
        if (hash_equal(&finding->chain[i].hash, hash)) {
            return true;
        }
    }
    return false;
}

static const moot_hash *end_of(const struct finding *finding)
{
    return &finding->chain[finding->chain_count - 1].hash;
}

static bool same_finding(const struct finding *a, const struct finding *b)
{
    if (a->cause == CAUSE_MOVING && b->cause == CAUSE_MOVING) {
        return true; /* nothing is amiss: not worth a cause for each */
    }
    if (a->cause != b->cause || a->culprit != b->culprit ||
        a->elements != b->elements || (a->chain_count == 0) != (b->chain_count == 0)) {
        return false;
    }
    switch (a->cause) {
    case CAUSE_LOST:
        return a->from == b->from;
    case CAUSE_CYCLE:
        return in_chain(a, &b->chain[b->cycle_begin].hash);
    case CAUSE_UNDECIDED:
        return a->lack == b->lack;
    case CAUSE_SLOW:
        return hash_equal(&a->root, &b->root);
    case CAUSE_NOBODY:
        return rankset_equal(&a->barred, &b->barred);
    case CAUSE_DEAD:
    case CAUSE_SILENT:
    case CAUSE_AWAY:
    case CAUSE_LEASE:
    case CAUSE_ABSENT:
    case CAUSE_OPEN:
    case CAUSE_MOVING:
    case CAUSE_END:
        break;
    }
    return true; /* whatever it is that they want of that rank, or of all */
}

static void add_end(struct finding *finding, const moot_hash *end)
{
    if (finding->end_count == finding->end_room) {
        size_t room = finding->end_room > 0 ? finding->end_room * 2 : 16;
        moot_hash *grown = realloc(finding->ends, room * sizeof(*grown));
        if (grown == NULL) {
            return;
        }
        finding->ends = grown;
        finding->end_room = room;
    }
    finding->ends[finding->end_count++] = *end;
}

static int compare_ends(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(moot_hash));
}

static void count_ends(struct finding *finding)
{
    if (finding->end_count > 0) {
        qsort(finding->ends, finding->end_count, sizeof(*finding->ends), compare_ends);
    }
    for (size_t i = 0; i < finding->end_count; i++) {
        finding->tasks +=
            i == 0 || !hash_equal(&finding->ends[i - 1], &finding->ends[i]);
    }
}

static void release_finding(struct finding *finding)
{
    rankset_release(&finding->waiting);
    rankset_release(&finding->awaited);
    rankset_release(&finding->busy);
    rankset_release(&finding->barred);
    rankset_release(&finding->candidates);
    free(finding->ends);
}

/* Tells by the chain that leads to the kernel which runs, not to one behind it. */
static void merge_chain(struct finding *into, const struct finding *found)
{
    if (found->cause == CAUSE_SLOW && hash_equal(end_of(found), &found->root) &&
        !hash_equal(end_of(into), &into->root)) {
        memcpy(into->chain, found->chain, sizeof(into->chain));
        into->chain_count = found->chain_count;
    }
}

/* Those of any task; none if one of the tasks has none. */
static void merge_candidates(struct finding *into, const struct finding *found)
{
    if (rankset_empty(&found->candidates)) {
        rankset_release(&into->candidates);
    } else if (!rankset_empty(&into->candidates)) {
        (void)rankset_merge(&into->candidates, &found->candidates);
    }
}

static void merge_finding(struct finding *into, const struct finding *found)
{
    (void)rankset_merge(&into->waiting, &found->waiting);
    (void)rankset_merge(&into->awaited, &found->awaited);
    merge_candidates(into, found);
    into->waits += found->waits;
    if (found->since_ns > into->since_ns) {
        into->since_ns = found->since_ns;
    }
    if (found->chain_count > 0) {
        add_end(into, end_of(found));
        merge_chain(into, found);
    }
}

/* Takes the finding over. */
static void add_finding(struct diagnosis *diagnosis, struct finding *found)
{
    for (uint32_t i = 0; i < diagnosis->finding_count; i++) {
        struct finding *other = &diagnosis->findings[i];
        if (same_finding(other, found)) {
            merge_finding(other, found);
            release_finding(found);
            return;
        }
    }
    if (diagnosis->finding_count == FINDINGS_MAX) {
        diagnosis->more += found->waits;
        release_finding(found);
        return;
    }
    uint32_t at = diagnosis->finding_count++;
    for (; at > 0 && diagnosis->findings[at - 1].cause > found->cause; at--) {
        diagnosis->findings[at] = diagnosis->findings[at - 1];
    }
    diagnosis->findings[at] = *found;
    if (found->chain_count > 0) {
        add_end(&diagnosis->findings[at], end_of(found));
    }
}

/* Programs that are neither in a wait nor at their end: while there are such, the moot
 * is not quiet, and what only quiet can decide stays open. */
static void find_busy(const struct picture *picture, struct finding *finding)
{
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        bool busy = account != NULL && (account->running > account->stopped ||
                                        (account->n_lanes == 0 && !account->closed));
        for (size_t i = 0; account != NULL && i < account->n_lanes; i++) {
            uint32_t state = account->lanes[i]->state;
            busy |= state != CORE_LANE_BLOCKED && state != CORE_LANE_ENDED;
        }
        bool silent = picture_is_silent(picture, rank);
        if (busy || (silent && !picture_is_gone(picture, rank))) {
            (void)rankset_add(&finding->busy, rank);
        }
    }
}

static void diagnose_wait(const struct picture *picture, struct diagnosis *diagnosis,
                          uint32_t rank, const Moot__Account__Wait *wait)
{
    /* A kernel's wait is most often one that others' lead to. */
    struct finding found = {.waits = wait->waiter.len > 0 ? 0 : wait->count,
                            .since_ns = wait->since_ns,
                            .from = PLACEMENT_NOBODY};
    (void)rankset_add(&found.waiting, rank);
    follow_wait(picture, &found, rank, account_hash(&wait->hash));
    if (found.cause == CAUSE_NOBODY || found.cause == CAUSE_CYCLE) {
        find_busy(picture, &found);
    }
    add_finding(diagnosis, &found);
}

/* A close waits until every rank has closed: for those that have not, and wait for
 * nothing that is found to be amiss. */
static void diagnose_close(const struct picture *picture, struct diagnosis *diagnosis,
                           uint32_t rank)
{
    const Moot__Account *closing = picture->seats[rank].account;
    for (uint32_t other = 0; other < picture->size; other++) {
        const Moot__Account *account = picture->seats[other].account;
        const Moot__Account__Peer *peer = picture_peer(picture, other);
        struct finding found = {
            .waits = 1, .since_ns = closing->closing_ns, .from = PLACEMENT_NOBODY};
        bool left = peer != NULL && (peer->left || peer->state != MEMBER_HERE);
        if (account == NULL ? left || !picture_is_silent(picture, other)
                            : account->closing_ns != 0 || account->n_waits > 0 ||
                                  account->meeting_ns != 0) {
            continue;
        }
        (void)rankset_add(&found.waiting, rank);
        if (account == NULL) {
            conclude_silent(picture, &found, other);
        } else {
            conclude(&found, CAUSE_OPEN, other);
        }
        add_finding(diagnosis, &found);
    }
}

/* The kernel of that rank's which has run for longest; NULL: none is told of. */
static const Moot__Account__Task *longest_run(const Moot__Account *account)
{
    const Moot__Account__Task *longest = NULL;
    for (size_t i = 0; i < account->n_tasks; i++) {
        const Moot__Account__Task *task = account->tasks[i];
        if (task->stage == TASK_RUNNING &&
            (longest == NULL || task->runs_ns > longest->runs_ns)) {
            longest = task;
        }
    }
    return longest;
}

/* A rank at a meeting waits for those that have come to fewer, and wait for nothing
 * that is found to be amiss.  Behind the one at which all have come to a reload it
 * waits for kernels that still run, its own perhaps, and for who has gone no further.
 */
static void diagnose_meeting(const struct picture *picture, struct diagnosis *diagnosis,
                             uint32_t rank)
{
    const Moot__Account *waiting = picture->seats[rank].account;
    const bool behind = waiting->meeting_ns == 0;
    for (uint32_t other = 0; other < picture->size; other++) {
        const Moot__Account *account = picture->seats[other].account;
        struct finding found = {.waits = 1,
                                .since_ns =
                                    behind ? waiting->reload_ns : waiting->meeting_ns,
                                .from = PLACEMENT_NOBODY};
        bool silent = account == NULL && picture_is_silent(picture, other) &&
                      !picture_is_gone(picture, other);
        const Moot__Account__Task *task =
            behind && account != NULL && account->drains ? longest_run(account) : NULL;
        bool absent = account != NULL &&
                      (behind ? account->reload_ns == 0
                              : account->meetings < waiting->meetings) &&
                      account->closing_ns == 0 && account->n_waits == 0;
        if (!silent && !absent && task == NULL) {
            continue;
        }
        (void)rankset_add(&found.waiting, rank);
        if (silent) {
            conclude_silent(picture, &found, other);
        } else if (task != NULL) {
            conclude(&found, CAUSE_SLOW, other);
            found.root = account_hash(&task->hash);
            found.chain[found.chain_count++] =
                (struct link_of_chain){found.root, other};
        } else {
            conclude(&found, CAUSE_ABSENT, other);
        }
        add_finding(diagnosis, &found);
    }
}

/* Kernels that may never return are told of though nobody waits for them yet; where
 * somebody does it is one finding. */
static void diagnose_kernels(const struct picture *picture, struct diagnosis *diagnosis,
                             uint32_t rank)
{
    const Moot__Account *account = picture->seats[rank].account;
    for (size_t i = 0; i < account->n_tasks; i++) {
        const Moot__Account__Task *task = account->tasks[i];
        if (!overrun_is_near(account, task, 0)) {
            continue;
        }
        struct finding found = {.from = PLACEMENT_NOBODY};
        conclude(&found, CAUSE_SLOW, rank);
        found.root = account_hash(&task->hash);
        found.chain[found.chain_count++] = (struct link_of_chain){found.root, rank};
        add_finding(diagnosis, &found);
    }
}

/* --- All of them ------------------------------------------------------------------ */

struct diagnosis *diagnosis_new(const struct picture *given)
{
    struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
    struct picture sorted = *given, *picture = &sorted;
    picture_sort(picture);
    for (uint32_t rank = 0; diagnosis != NULL && rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        for (size_t i = 0; account != NULL && i < account->n_waits; i++) {
            diagnose_wait(picture, diagnosis, rank, account->waits[i]);
        }
        if (account != NULL && (account->meeting_ns != 0 || account->reload_ns != 0)) {
            diagnose_meeting(picture, diagnosis, rank);
        }
        if (account != NULL && account->closing_ns != 0 && account->n_waits == 0) {
            diagnose_close(picture, diagnosis, rank);
        }
    }
    for (uint32_t rank = 0; diagnosis != NULL && rank < picture->size; rank++) {
        if (picture->seats[rank].account != NULL) {
            diagnose_kernels(picture, diagnosis, rank);
        }
    }
    for (uint32_t i = 0; diagnosis != NULL && i < diagnosis->finding_count; i++) {
        count_ends(&diagnosis->findings[i]);
    }
    if (diagnosis != NULL) {
        diagnosis_find_disputes(picture, diagnosis);
    }
    picture_unsort(picture);
    return diagnosis;
}

void diagnosis_free(struct diagnosis *diagnosis)
{
    for (uint32_t i = 0; diagnosis != NULL && i < diagnosis->finding_count; i++) {
        release_finding(&diagnosis->findings[i]);
    }
    free(diagnosis);
}
