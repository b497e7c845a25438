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

uint32_t picture_owner(const struct picture *picture, const moot_hash *hash)
{
    uint32_t owner = PLACEMENT_NOBODY;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account__Task *task = picture_task(picture, rank, hash);
        if (task != NULL && task->own != CORE_OWN_NONE) {
            return rank;
        }
        /* The chair's word counts before that of those who have it from hearsay. */
        if (task != NULL && task->owner < picture->size &&
            (owner == PLACEMENT_NOBODY || task->chair == rank)) {
            owner = task->owner;
        }
    }
    return owner;
}

uint32_t picture_chair(const struct picture *picture, const moot_hash *hash)
{
    uint32_t chair = PLACEMENT_NOBODY;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account__Task *task = picture_task(picture, rank, hash);
        if (task != NULL && task->chair < picture->size &&
            (chair == PLACEMENT_NOBODY || rank == picture->rank)) {
            chair = task->chair;
        }
    }
    return chair;
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
