/* picture.c - see picture.h. */
#include "picture.h"

#include "node/members.h"

/* Sent again so often, a frame is lost and not late. */
enum { RESENT_LOST = 3 };

const Moot__Account__Task *picture_task(const struct picture *picture, uint32_t by,
                                        const moot_hash *hash)
{
    const Moot__Account *account =
        by < picture->size ? picture->seats[by].account : NULL;
    return account != NULL ? account_task(account, hash) : NULL;
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
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account__Task *task = picture_task(picture, rank, hash);
        if (task != NULL) {
            picture_hear(picture, rank, task, &word);
        }
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
    for (uint32_t rank = 0; good && rank < picture->size; rank++) {
        const Moot__Account__Task *task = picture_task(picture, rank, hash);
        if (task != NULL) {
            good = account_ranks(&task->holders, out) &&
                   (!task->held || rankset_add(out, rank));
        }
    }
    return good;
}

bool picture_candidates(const struct picture *picture, const moot_hash *hash,
                        struct rankset *out)
{
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account__Task *task = picture_task(picture, rank, hash);
        if (task != NULL && task->candidates.len > 0) {
            return account_ranks(&task->candidates, out);
        }
    }
    return true;
}

bool picture_is_dead(const struct picture *picture, uint32_t rank)
{
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    return peer != NULL && (peer->state == MEMBER_DEAD || peer->process == 'X' ||
                            peer->process == 'Z' || peer->ended_ns != 0);
}

bool picture_is_gone(const struct picture *picture, uint32_t rank)
{
    const Moot__Account__Peer *peer = picture_peer(picture, rank);
    return picture_is_dead(picture, rank) ||
           (peer != NULL && peer->state == MEMBER_REMOVED);
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
