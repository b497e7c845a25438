/* stall.c - see stall.h. */
#include "node/explain/stall.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/members/members.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAITED_MAX = 128,
    LINES_MAX = 24,
    GROUPS_MAX = 24,
    RANKS_TEXT_BYTES = 256,
    FEW_TEXT_BYTES = 64
};
#define AGE_NOW_NS UINT64_C(20000000) /* an answer that is no older is new */

/* --- Parts of lines --------------------------------------------------------------- */

void stall_add_ranks(struct text *text, const struct rankset *ranks)
{
    char list[RANKS_TEXT_BYTES];
    rankset_format(ranks, list, sizeof(list));
    text_add(text, "rank%s %s", rankset_count(ranks) == 1 ? "" : "s", list);
}

void stall_add_few_ranks(struct text *text, const struct rankset *ranks)
{
    char list[FEW_TEXT_BYTES];
    rankset_format(ranks, list, sizeof(list));
    uint32_t count = rankset_count(ranks), more = 0;
    char *cut = strstr(list, ",...");
    if (cut != NULL) { /* behind the last rank that is told */
        char *last = cut;
        while (last > list && last[-1] >= '0' && last[-1] <= '9') {
            last--;
        }
        more = count - rankset_below(ranks, (uint32_t)strtoul(last, NULL, 10) + 1);
        *cut = '\0';
    }
    text_add(text, "rank%s %s", count == 1 ? "" : "s", list);
    if (more > 0) {
        text_add(text, " and %u more", more);
    }
}

static bool same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Whoever has spawned it knows its kernel and its line. */
static const Moot__Account__Task *best_told(const struct picture *picture,
                                            const moot_hash *hash)
{
    const Moot__Account__Task *best = NULL;
    struct said said = picture_said(picture, hash);
    while (picture_next(&said)) {
        if (best == NULL || best->kernel.len + best->site.len == 0) {
            best = said.task;
        }
    }
    return best;
}

void stall_add_task(struct text *text, const struct picture *picture,
                    const moot_hash *hash)
{
    char digits[MOOT_HASH_TEXT_BYTES];
    const Moot__Account__Task *task = best_told(picture, hash);
    text_add(text, hash_has(hash, MOOT_HASH_ARRAY) ? "array %.8s" : "task %.8s",
             hash_format(hash, digits));
    if (task != NULL && task->kernel.len > 0) {
        text_add(text, " of kernel '");
        text_add_told(text, task->kernel.data, task->kernel.len);
        text_add(text, "'");
    }
    if (task != NULL && task->label.len > 0) {
        text_add(text, " '");
        text_add_told(text, task->label.data, task->label.len);
        text_add(text, "'");
    }
    if (task != NULL && task->site.len > 0) {
        text_add(text, " (");
        text_add_told(text, task->site.data, task->site.len);
        text_add(text, ")");
    }
}

static void add_lane(struct text *text, const Moot__Account__Lane *lane)
{
    static const char *const states[] = {
        [CORE_LANE_RUNNING] = "in the program's own code",
        [CORE_LANE_BLOCKED] = "in a wait",
        [CORE_LANE_TIMED] = "in a wait with a timeout, or polling",
        [CORE_LANE_PARKED] = "parked",
        [CORE_LANE_ENDED] = "ended",
    };
    bool here = lane->state == CORE_LANE_RUNNING;
    text_add(text, "lane %u ", lane->number);
    text_add(text, "%s", here && lane->kernel ? "in a kernel" : states[lane->state]);
    if (lane->state != CORE_LANE_ENDED) {
        text_add(text, " for ");
        text_add_duration(text, lane->since_ns);
    }
    if ((here || lane->state == CORE_LANE_PARKED) && lane->site.len > 0) {
        text_add(text, ", last spawn at ");
        text_add_told(text, lane->site.data, lane->site.len);
    }
}

void stall_add_program(struct text *text, const Moot__Account *account)
{
    if (account->closing_ns != 0) {
        text_add(text, "in moot_close() for ");
        text_add_duration(text, account->closing_ns);
        return;
    }
    if (account->reload_ns != 0) {
        text_add(text, "in moot_checkpoint_reload() for ");
        text_add_duration(text, account->reload_ns);
        text_add(text, "%s", account->drains ? ", while a kernel runs" : "");
        return;
    }
    if (account->meeting_ns != 0) {
        text_add(text, "where all ranks meet (number %llu) for ",
                 (unsigned long long)account->meetings);
        text_add_duration(text, account->meeting_ns);
        return;
    }
    for (size_t i = 0; i < account->n_lanes; i++) {
        text_add(text, "%s", i > 0 ? "; " : "");
        add_lane(text, account->lanes[i]);
    }
    if (account->running > account->stopped) {
        text_add(text, "%swhile a kernel runs", account->n_lanes > 0 ? ", " : "");
    } else if (account->n_lanes == 0) {
        text_add(text, "no lane yet: its program has spawned nothing and waits for "
                       "nothing");
    }
}

/* --- What is waited for ---------------------------------------------------------- */

struct waited {
    moot_hash hash;
    struct rankset ranks;
    uint64_t since_ns;
    uint32_t waits, others;    /* tasks of which the same is to be said */
    struct rankset chairs;     /* theirs; empty: not known */
    bool chair_holds;          /* each its own, as far as is known */
    struct rankset candidates; /* theirs; empty: all ranks are, as far as is known */
    struct text where;         /* who owns it, what it does there, and who holds it */
};

static struct waited *waited_find(struct waited *list, uint32_t *count,
                                  const moot_hash *hash)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (hash_equal(&list[i].hash, hash)) {
            return &list[i];
        }
    }
    if (*count == WAITED_MAX) {
        return NULL;
    }
    list[*count] = (struct waited){.hash = *hash};
    return &list[(*count)++];
}

static void add_state_at_owner(struct text *text, const struct picture *picture,
                               uint32_t owner, const moot_hash *hash)
{
    const Moot__Account__Task *task = picture_task(picture, owner, hash);
    if (picture->seats[owner].account == NULL) {
        text_add(text, ", which gives no answer");
    } else if (task == NULL || task->own == CORE_OWN_NONE) {
        text_add(text, ", which does not know of it");
    } else if (task->own == CORE_OWN_DONE) {
        text_add(text, ", where it is done");
    } else if (task->missing > 0 && hash_has(hash, MOOT_HASH_ARRAY)) {
        text_add(text, ", where not all of its elements are known to have ended");
    } else if (task->missing > 0) {
        text_add(text, ", where it waits for %u input%s", task->missing,
                 task->missing == 1 ? "" : "s");
    } else if (task->stage == TASK_RUNNING) {
        text_add(text, ", where it has run for ");
        text_add_duration(text, task->runs_ns);
    } else if (task->stage == TASK_RESTING) {
        text_add(text, ", where it has failed, and will be tried again");
    } else {
        text_add(text, ", where it is ready to run");
    }
}

static bool share_a_rank(const struct rankset *a, const struct rankset *b)
{
    uint32_t rank = rankset_next(a, 0);
    while (rank != PLACEMENT_NOBODY && !rankset_has(b, rank)) {
        rank = rankset_next(a, rank + 1);
    }
    return rank != PLACEMENT_NOBODY;
}

static void add_holders(struct text *text, const struct waited *waited,
                        const struct rankset *holders)
{
    text_add(text, "; held by: ");
    if (rankset_empty(holders)) {
        text_add(text, "nobody");
        return;
    }
    stall_add_ranks(text, holders);
    if (!rankset_empty(&waited->candidates) &&
        !share_a_rank(holders, &waited->candidates)) {
        text_add(text, rankset_count(holders) == 1 ? ", which is no candidate"
                                                   : ", which are no candidates");
    }
}

/* Fills in what is to be said of the task. */
static void waited_look(const struct picture *picture, struct waited *waited)
{
    struct text *text = &waited->where;
    struct rankset holders = {0};
    uint32_t owner = picture_owner(picture, &waited->hash);
    uint32_t chair = picture_chair(picture, &waited->hash);
    (void)picture_holders(picture, &waited->hash, &holders);
    (void)picture_candidates(picture, &waited->hash, &waited->candidates);
    if (chair != PLACEMENT_NOBODY) {
        (void)rankset_add(&waited->chairs, chair);
        waited->chair_holds = rankset_has(&holders, chair);
    }
    if (owner != PLACEMENT_NOBODY) {
        text_add(text, "owner: rank %u", owner);
        add_state_at_owner(text, picture, owner, &waited->hash);
    } else {
        text_add(text, "owner: none is known");
    }
    add_holders(text, waited, &holders);
    rankset_release(&holders);
}

static void add_chairs(struct text *text, const struct waited *waited)
{
    if (rankset_empty(&waited->chairs)) {
        text_add(text, "chair: not known");
        return;
    }
    bool one = rankset_count(&waited->chairs) == 1;
    text_add(text, one ? "chair: " : "chairs: ");
    stall_add_ranks(text, &waited->chairs);
    if (one) {
        text_add(text, ", which %s it",
                 waited->chair_holds ? "holds" : "is not known to hold");
    } else {
        text_add(text, ", which %s theirs",
                 waited->chair_holds ? "hold" : "are not known to hold");
    }
}

static void add_waited(struct text *text, const struct picture *picture,
                       const struct waited *waited)
{
    text_add(text, "    ");
    stall_add_ranks(text, &waited->ranks);
    text_add(text, rankset_count(&waited->ranks) == 1 ? " waits for " : " wait for ");
    stall_add_task(text, picture, &waited->hash);
    if (waited->others > 0) {
        text_add(text, " and %u other%s like it", waited->others,
                 waited->others == 1 ? "" : "s");
    }
    text_add(text, ", for ");
    text_add_duration(text, waited->since_ns);
    if (waited->waits > 1) {
        text_add(text, ", in %u waits", waited->waits);
    }
    text_add(text, "\n        ");
    add_chairs(text, waited);
    text_add(text, "; %s", text_get(&waited->where));
    if (!rankset_empty(&waited->candidates)) {
        text_add(text, rankset_count(&waited->candidates) == 1 ? "; candidate: "
                                                               : "; candidates: ");
        stall_add_few_ranks(text, &waited->candidates);
    }
    text_add(text, "\n");
    stall_add_progress(text, picture, &waited->hash);
}

/* Spawned at the same line, waited for by the same ranks, and as far; chairs and
 * candidates may differ, but not in whether these hold their tasks. */
static bool waited_alike(const struct picture *picture, const struct waited *a,
                         const struct waited *b)
{
    const Moot__Account__Task *x = best_told(picture, &a->hash);
    const Moot__Account__Task *y = best_told(picture, &b->hash);
    bool same_line =
        x == y || (x != NULL && y != NULL && same_bytes(&x->kernel, &y->kernel) &&
                   same_bytes(&x->site, &y->site));
    return same_line && rankset_equal(&a->ranks, &b->ranks) &&
           rankset_empty(&a->chairs) == rankset_empty(&b->chairs) &&
           a->chair_holds == b->chair_holds &&
           rankset_empty(&a->candidates) == rankset_empty(&b->candidates) &&
           strcmp(text_get(&a->where), text_get(&b->where)) == 0;
}

static void waited_release(struct waited *waited)
{
    rankset_release(&waited->ranks);
    rankset_release(&waited->chairs);
    rankset_release(&waited->candidates);
    text_release(&waited->where);
}

static void waited_merge(struct waited *into, struct waited *from)
{
    into->waits += from->waits;
    into->others++;
    into->since_ns = from->since_ns > into->since_ns ? from->since_ns : into->since_ns;
    (void)rankset_merge(&into->chairs, &from->chairs);
    (void)rankset_merge(&into->candidates, &from->candidates);
    waited_release(from);
}

/* Alike ones become one; how many are left. */
static uint32_t waited_group(const struct picture *picture, struct waited *list,
                             uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t like = 0;
        waited_look(picture, &list[i]);
        while (like < left && !waited_alike(picture, &list[like], &list[i])) {
            like++;
        }
        if (like < left) {
            waited_merge(&list[like], &list[i]);
        } else {
            list[left++] = list[i];
        }
    }
    return left;
}

/* Fills the list; how many waits found no room. */
static uint32_t waited_gather(const struct picture *picture, struct waited *list,
                              uint32_t *count)
{
    uint32_t untold = 0;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        for (size_t i = 0; account != NULL && i < account->n_waits; i++) {
            const Moot__Account__Wait *wait = account->waits[i];
            moot_hash hash = account_hash(&wait->hash);
            struct waited *waited = waited_find(list, count, &hash);
            if (waited == NULL) {
                untold += wait->count;
                continue;
            }
            (void)rankset_add(&waited->ranks, rank);
            waited->waits += wait->count;
            if (wait->since_ns > waited->since_ns) {
                waited->since_ns = wait->since_ns;
            }
        }
    }
    return untold;
}

/* Of many waits an account tells of the first. */
static void add_untold_waits(struct text *text, const struct picture *picture)
{
    struct rankset ranks = {0};
    uint64_t waits = 0;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        if (account != NULL && account->waits_untold > 0) {
            waits += account->waits_untold;
            (void)rankset_add(&ranks, rank);
        }
    }
    if (waits > 0) {
        text_add(text, "    ... and %llu more waits of ", (unsigned long long)waits);
        stall_add_ranks(text, &ranks);
        text_add(text,
                 ", not looked into: a rank tells of %u tasks that it waits for\n",
                 LIMIT_ACCOUNT_WAITS);
    }
    rankset_release(&ranks);
}

/* Somebody waits for all ranks, and so for no task. */
static bool is_met(const struct picture *picture)
{
    bool met = false;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        met |= account != NULL && (account->meeting_ns != 0 || account->reload_ns != 0);
    }
    return met;
}

static void add_waits(struct text *text, const struct picture *picture)
{
    struct waited list[WAITED_MAX];
    uint32_t count = 0, untold = waited_gather(picture, list, &count);
    if (count > 0 || !is_met(picture)) {
        text_add(text, count > 0 ? "  what is waited for:\n" : "  no wait is open\n");
    }
    count = waited_group(picture, list, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i < LINES_MAX) {
            add_waited(text, picture, &list[i]);
        } else {
            untold += list[i].waits;
        }
        waited_release(&list[i]);
    }
    if (untold > 0) {
        text_add(text, "    ... and %u more wait%s\n", untold, untold == 1 ? "" : "s");
    }
    add_untold_waits(text, picture);
}

/* --- What each rank says --------------------------------------------------------- */

static void add_said(struct text *text, const Moot__Account *account)
{
    stall_add_program(text, account);
    text_add(text, "; %llu task%s on the roll, %u ready, %u running",
             (unsigned long long)account->len, account->len == 1 ? "" : "s",
             account->ready, account->running);
    if (account->stopped > 0) {
        text_add(text, ", %u of them waiting for children", account->stopped);
    }
    if (!account->helper && account->size > 1) {
        text_add(text, "; no helper thread");
    }
}

static bool near(uint64_t a, uint64_t b)
{
    uint64_t difference = a > b ? a - b : b - a;
    return difference < 50000000u || difference * 10 < (a > b ? a : b);
}

static bool say_alike(const Moot__Account *a, const Moot__Account *b)
{
    bool alike = a->n_lanes == b->n_lanes && a->len == b->len && a->ready == b->ready &&
                 a->running == b->running && a->stopped == b->stopped &&
                 a->helper == b->helper && near(a->closing_ns, b->closing_ns) &&
                 (a->closing_ns == 0) == (b->closing_ns == 0) &&
                 (a->meeting_ns == 0) == (b->meeting_ns == 0) &&
                 (a->reload_ns == 0) == (b->reload_ns == 0) && a->drains == b->drains &&
                 a->meetings == b->meetings;
    for (size_t i = 0; alike && i < a->n_lanes; i++) {
        const Moot__Account__Lane *x = a->lanes[i], *y = b->lanes[i];
        alike = x->state == y->state && x->kernel == y->kernel &&
                near(x->since_ns, y->since_ns) && same_bytes(&x->site, &y->site);
    }
    return alike;
}

static void add_death(struct text *text, const Moot__Account__Peer *peer)
{
    if (peer->death.len > 0) {
        text_add(text, " ");
        text_add_told(text, peer->death.data, peer->death.len);
    }
}

/* A rank that gave no answer: what the one who asked can see of it. */
static void add_silent(struct text *text, const struct picture *picture, uint32_t rank)
{
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    text_add(text, "    rank %u: ", rank);
    if (picture_is_dead(picture, rank)) {
        text_add(text, "has died");
        add_death(text, peer);
    } else if (peer != NULL && peer->state == MEMBER_REMOVED) {
        text_add(text, "was removed");
    } else if (peer != NULL && (peer->left || peer->state == MEMBER_LEFT)) {
        text_add(text, "has left");
    } else if (picture->seats[rank].asked_ns != 0) {
        text_add(text, "no answer for ");
        text_add_duration(text, picture->seats[rank].asked_ns);
    } else {
        text_add(text, "was not asked");
    }
    if (peer != NULL && peer->process == 'T') {
        text_add(text, "; its process %llu is stopped", (unsigned long long)peer->pid);
    }
    if (peer != NULL && peer->spoke) {
        text_add(text, "; last heard of ");
        text_add_duration(text, peer->silent_ns);
        text_add(text, " ago");
        const bool gone = picture_is_gone(picture, rank); /* a view has cleared more */
        if (!gone || peer->len > 0) {
            text_add(text, ": %s%llu task%s on the roll",
                     gone            ? ""
                     : peer->closed  ? "closed, "
                     : peer->blocked ? "blocked, "
                                     : "running, ",
                     (unsigned long long)peer->len, peer->len == 1 ? "" : "s");
        }
    }
    if (peer != NULL && peer->waits_for.len > 0) {
        moot_hash hash = account_hash(&peer->waits_for);
        text_add(text, ", waiting for ");
        stall_add_task(text, picture, &hash);
    }
    text_add(text, "\n");
}

static void add_age(struct text *text, uint64_t age_ns)
{
    if (age_ns < AGE_NOW_NS) {
        text_add(text, "just now");
        return;
    }
    text_add_duration(text, age_ns);
    text_add(text, " ago");
}

static void add_group(struct text *text, const struct picture *picture, uint32_t rank,
                      struct rankset *told)
{
    const struct seat *seat = &picture->seats[rank];
    assert(seat->account != NULL);
    struct rankset alike = {0};
    for (uint32_t other = rank; other < picture->size; other++) {
        const Moot__Account *account = picture->seats[other].account;
        if (account != NULL && say_alike(seat->account, account)) {
            (void)rankset_add(&alike, other);
        }
    }
    text_add(text, "    ");
    stall_add_ranks(text, &alike);
    if (rank != picture->rank || rankset_count(&alike) > 1) {
        text_add(text, ", ");
        add_age(text, seat->age_ns);
    }
    text_add(text, ": ");
    add_said(text, seat->account);
    text_add(text, "\n");
    (void)rankset_merge(told, &alike);
    rankset_release(&alike);
}

static void add_ranks(struct text *text, const struct picture *picture)
{
    struct rankset told = {0};
    uint32_t groups = 0, unasked = 0;
    text_add(text, "  what each rank says:\n");
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        bool silent = picture->seats[rank].account == NULL;
        if (rankset_has(&told, rank)) {
            continue;
        }
        if (silent && !picture_is_silent(picture, rank)) {
            unasked++;
        } else if (groups++ >= GROUPS_MAX) {
            text_add(text, "    ... and others\n");
            break;
        } else if (silent) {
            add_silent(text, picture, rank);
        } else {
            add_group(text, picture, rank, &told);
        }
    }
    if (unasked > 0) {
        text_add(text, "    %u rank%s, on which nothing here hangs, %s not asked\n",
                 unasked, unasked == 1 ? "" : "s", unasked == 1 ? "was" : "were");
    }
    rankset_release(&told);
}

/* --- All of it ------------------------------------------------------------------- */

static void add_disputes(struct text *text, const struct picture *picture,
                         const struct diagnosis *diagnosis)
{
    for (uint32_t i = 0; i < diagnosis->dispute_count; i++) {
        const struct dispute *dispute = &diagnosis->disputes[i];
        text_add(text, "%s    of ", i == 0 ? "  where ranks disagree:\n" : "");
        stall_add_task(text, picture, &dispute->hash);
        text_add(text, ": rank %u says that rank %u owns it; rank %u says ",
                 dispute->rank, dispute->owner, dispute->other);
        if (dispute->other_owner != PLACEMENT_NOBODY) {
            text_add(text, "that rank %u does\n", dispute->other_owner);
        } else {
            text_add(text, "that it does not\n");
        }
    }
}

static void add_views(struct text *text, const struct picture *picture)
{
    const Moot__Account *own = picture->seats[picture->rank].account;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        if (account != NULL && account->epoch != own->epoch) {
            text_add(text, "  rank %u is in view %llu, rank %u in view %llu\n",
                     picture->rank, (unsigned long long)own->epoch, rank,
                     (unsigned long long)account->epoch);
        }
    }
}

void stall_compose(struct text *text, const struct picture *given,
                   const struct diagnosis *diagnosis)
{
    struct picture sorted = *given, *picture = &sorted;
    picture_sort(picture);
    const Moot__Account *own = picture->seats[picture->rank].account;
    text_add(text, "moot: rank %u of %u, report after ", own->rank, own->size);
    text_add_duration(text, own->open_ns);
    if (own->stalled_ns > 0) {
        text_add(text, "; nothing has ended here for ");
        text_add_duration(text, own->stalled_ns);
    }
    text_add(text, ":\n");
    for (uint32_t i = 0; i < diagnosis->finding_count; i++) {
        text_add(text, "  cause %u of %u", i + 1, diagnosis->finding_count);
        stall_add_finding(text, picture, &diagnosis->findings[i]);
    }
    if (diagnosis->more > 0) {
        text_add(text, "  ... and others, of %u wait%s\n", diagnosis->more,
                 diagnosis->more == 1 ? "" : "s");
    }
    add_waits(text, picture);
    add_ranks(text, picture);
    stall_add_hosts(text, picture);
    add_views(text, picture);
    add_disputes(text, picture, diagnosis);
    picture_unsort(picture);
}
