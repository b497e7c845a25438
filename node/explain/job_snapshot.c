/* job_snapshot.c - see job_snapshot.h. */
#include "node/explain/job_snapshot.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/members/members.h"

#include <stdlib.h>

/* Sent again so often, a frame is lost and not late. */
enum { RESENT_LOST = 3 };

/* What one rank says of a task. */
struct told {
    moot_hash hash;
    uint32_t rank, order; /* in its account */
    const Moot__Account__Task *task;
};

static int compare_told(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    int order = hash_compare(&a->hash, &b->hash);
    if (order == 0) {
        order = (a->rank > b->rank) - (a->rank < b->rank);
    }
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

void picture_sort(struct picture *picture)
{
    size_t count = 0;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        count += account != NULL ? account->n_tasks : 0;
    }
    picture->told_count = 0;
    picture->told = calloc(count + 1, sizeof(*picture->told));
    for (uint32_t rank = 0; picture->told != NULL && rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        for (uint32_t i = 0; account != NULL && i < account->n_tasks; i++) {
            picture->told[picture->told_count++] =
                (struct told){.hash = account_hash(&account->tasks[i]->hash),
                              .rank = rank,
                              .order = i,
                              .task = account->tasks[i]};
        }
    }
    if (picture->told_count > 0) {
        qsort(picture->told, picture->told_count, sizeof(*picture->told), compare_told);
    }
}

void picture_unsort(struct picture *picture)
{
    free(picture->told);
    picture->told = NULL;
    picture->told_count = 0;
}

static const Moot__Account__Task *said_by(const struct picture *picture, uint32_t rank,
                                          const moot_hash *hash)
{
    const Moot__Account *account = picture->seats[rank].account;
    return account != NULL ? account_task(account, hash) : NULL;
}

/* The first that comes not before. */
static size_t first_told(const struct picture *picture, const moot_hash *hash,
                         uint32_t rank)
{
    const struct told wanted = {.hash = *hash, .rank = rank};
    size_t low = 0, high = picture->told_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_told(&picture->told[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct said picture_said(const struct picture *picture, const moot_hash *hash)
{
    return (struct said){.picture = picture,
                         .hash = hash,
                         .at =
                             picture->told != NULL ? first_told(picture, hash, 0) : 0};
}

bool picture_next(struct said *said)
{
    const struct picture *picture = said->picture;
    while (picture->told == NULL && said->at < picture->size) {
        said->rank = (uint32_t)said->at++;
        said->task = said_by(picture, said->rank, said->hash);
        if (said->task != NULL) {
            return true;
        }
    }
    for (; picture->told != NULL && said->at < picture->told_count; said->at++) {
        const struct told *told = &picture->told[said->at];
        if (!hash_equal(&told->hash, said->hash)) {
            return false;
        }
        if (said->task == NULL || told->rank != said->rank) { /* or it says it twice */
            said->rank = told->rank;
            said->task = told->task;
            said->at++;
            return true;
        }
    }
    return false;
}

const Moot__Account__Task *picture_task(const struct picture *picture, uint32_t by,
                                        const moot_hash *hash)
{
    if (by >= picture->size || picture->told == NULL) {
        return by < picture->size ? said_by(picture, by, hash) : NULL;
    }
    size_t at = first_told(picture, hash, by);
    bool found = at < picture->told_count && picture->told[at].rank == by &&
                 hash_equal(&picture->told[at].hash, hash);
    return found ? picture->told[at].task : NULL;
}

const Moot__Account__Peer *picture_peer(const struct picture *picture, uint32_t rank)
{
    const Moot__Account *own = picture->seats[picture->rank].account;
    return own != NULL ? account_peer(own, rank) : NULL;
}

void picture_hear(const struct picture *picture, uint32_t by,
                  const Moot__Account__Task *task, struct picture_word *word)
{
    if (task->chair < picture->size &&
        (word->chair == PLACEMENT_NOBODY || by == picture->rank)) {
        word->chair = task->chair;
    }
    if (word->owns) {
        return;
    }
    word->owns = task->own != CORE_OWN_NONE;
    /* The chair's word counts before that of those who have it from hearsay. */
    if (word->owns) {
        word->owner = by;
    } else if (task->owner < picture->size &&
               (word->owner == PLACEMENT_NOBODY || task->chair == by)) {
        word->owner = task->owner;
    }
}

static struct picture_word all_say(const struct picture *picture, const moot_hash *hash)
{
    struct picture_word word = PICTURE_NO_WORD;
    struct said said = picture_said(picture, hash);
    while (picture_next(&said)) {
        picture_hear(picture, said.rank, said.task, &word);
    }
    return word;
}

uint32_t picture_owner(const struct picture *picture, const moot_hash *hash)
{
    return all_say(picture, hash).owner;
}

uint32_t picture_chair(const struct picture *picture, const moot_hash *hash)
{
    return all_say(picture, hash).chair;
}

bool picture_holders(const struct picture *picture, const moot_hash *hash,
                     struct rankset *out)
{
    bool good = true;
    struct said said = picture_said(picture, hash);
    while (good && picture_next(&said)) {
        const Moot__Account__Task *task = said.task;
        good = account_ranks(&task->holders, out) &&
               (!task->held || rankset_add(out, said.rank));
    }
    return good;
}

bool picture_candidates(const struct picture *picture, const moot_hash *hash,
                        struct rankset *out)
{
    struct said said = picture_said(picture, hash);
    while (picture_next(&said)) {
        const Moot__Account__Task *task = said.task;
        if (task->candidates.len > 0) {
            return account_ranks(&task->candidates, out);
        }
    }
    return true;
}

bool picture_is_dead(const struct picture *picture, uint32_t rank)
{
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    return peer != NULL && peer->state != MEMBER_LEFT &&
           (peer->state == MEMBER_DEAD || peer->process == 'X' ||
            peer->process == 'Z' || peer->ended_ns != 0);
}

bool picture_is_gone(const struct picture *picture, uint32_t rank)
{
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    return picture_is_dead(picture, rank) ||
           (peer != NULL &&
            (peer->state == MEMBER_REMOVED || peer->state == MEMBER_LEFT));
}

bool picture_is_silent(const struct picture *picture, uint32_t rank)
{
    const struct seat *seat = &picture->seats[rank];
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    return seat->account == NULL &&
           (seat->asked_ns != 0 || (peer != NULL && peer->state != MEMBER_HERE));
}

bool picture_loses(const struct picture *picture, uint32_t from, uint32_t to)
{
    const Moot__Account *account =
        from < picture->size ? picture->seats[from].account : NULL;
    const Moot__Account__Peer *peer =
        account != NULL ? account_peer(account, to) : NULL;
    return peer != NULL && peer->backlog > 0 && peer->resent >= RESENT_LOST;
}
