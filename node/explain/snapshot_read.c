/* snapshot_read.c - accounts of other ranks: whether they are sound, and what stands in
 * them (rank_snapshot.h).
 *
 * protobuf-c sees to it that the bytes have the shape of an Account; here is what the
 * shape does not say, so that who reads one need not look twice.
 */
#include "node/explain/rank_snapshot.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "hashing/some_elements.h"
#include "node/members/members.h"

#include <string.h>

static bool good_hash(const ProtobufCBinaryData *bytes, bool needed)
{
    return bytes->len == sizeof(moot_hash) || (bytes->len == 0 && !needed);
}

/* Whole words, and no rank in them that is none of the job's. */
static bool good_ranks(const Moot__Account *account, const ProtobufCBinaryData *bytes)
{
    bool good = bytes->len % sizeof(uint64_t) == 0 && bytes->len <= LIMIT_RANKS / 8;
    for (size_t i = account->size / 8; good && i < bytes->len; i++) {
        unsigned beyond = i == account->size / 8 ? 0xffu << account->size % 8 : 0xffu;
        good = (bytes->data[i] & beyond) == 0;
    }
    return good;
}

/* A rank or nobody. */
static bool good_rank(const Moot__Account *account, uint32_t rank)
{
    return rank < account->size || rank == PLACEMENT_NOBODY;
}

/* Lists of ranges, and a hash. */
static bool good_lists(const Moot__Account__Elements *elements)
{
    return elements->n_own_at <= (size_t)2 * SOME_RANGES &&
           elements->n_own_at % 2 == 0 &&
           elements->n_unspawned_at <= (size_t)2 * SOME_RANGES &&
           elements->n_unspawned_at % 2 == 0 &&
           elements->n_unclaimed_at <= (size_t)2 * SOME_RANGES &&
           elements->n_unclaimed_at % 2 == 0 &&
           (elements->input.len == 0 || elements->input.len == sizeof(moot_hash));
}

static bool good_elements(const Moot__Account *account,
                          const Moot__Account__Elements *elements)
{
    return elements == NULL ||
           (good_lists(elements) && good_ranks(account, &elements->lacking) &&
            good_ranks(account, &elements->homes) &&
            good_ranks(account, &elements->partial));
}

static bool good_task(const Moot__Account *account, const Moot__Account__Task *task)
{
    return good_hash(&task->hash, true) && good_hash(&task->input, false) &&
           good_rank(account, task->chair) && good_rank(account, task->owner) &&
           task->evidence < EVIDENCE_END && task->own <= CORE_OWN_DONE &&
           task->have <= CORE_HAVE_DATA && task->stage <= TASK_ENDED &&
           task->lack < CORE_LACK_END && good_ranks(account, &task->holders) &&
           good_ranks(account, &task->asked_by) &&
           good_ranks(account, &task->awaited) &&
           good_ranks(account, &task->candidates) &&
           good_elements(account, task->elements);
}

static bool good_spawns(const Moot__Account__Spawns *spawns)
{
    bool good = spawns->n_args <= LIMIT_ACCOUNT_SAMPLES;
    for (size_t i = 0; good && i < spawns->n_args; i++) {
        good = spawns->args[i].len <= LIMIT_ACCOUNT_SAMPLE_BYTES;
    }
    return good;
}

static bool good_session(const Moot__Account *account)
{
    const Moot__Account__Session *session = account->session;
    if (session == NULL) {
        return true;
    }
    bool good = session->n_sets <= LIMIT_ACCOUNT_SETS &&
                session->n_changes <= LIMIT_ACCOUNT_CHANGES &&
                good_ranks(account, &session->members);
    for (size_t i = 0; good && i < session->n_sets; i++) {
        good = good_ranks(account, &session->sets[i]->members) &&
               good_rank(account, session->sets[i]->gone);
    }
    for (size_t i = 0; good && i < session->n_changes; i++) {
        good = session->changes[i]->rank < account->size &&
               session->changes[i]->what < ACCOUNT_CHANGE_END;
    }
    return good;
}

/* No more than who packs one tells (rank_snapshot.c). */
static bool good_counts(const Moot__Account *account)
{
    return account->n_lanes <= LIMIT_ACCOUNT_LANES &&
           account->n_waits <= LIMIT_ACCOUNT_WAITS &&
           account->n_tasks <= LIMIT_ACCOUNT_TASKS &&
           account->n_peers <= LIMIT_ACCOUNT_PEERS &&
           account->n_figures <= LIMIT_ACCOUNT_NUMBERS &&
           account->n_timers <= LIMIT_ACCOUNT_NUMBERS &&
           account->n_spawns <= LIMIT_ACCOUNT_SPAWNS;
}

bool account_check(const Moot__Account *account)
{
    bool good = account->size > 0 && account->size <= LIMIT_RANKS &&
                account->rank < account->size && good_counts(account) &&
                good_session(account) && good_ranks(account, &account->members) &&
                good_ranks(account, &account->differing) && account->mode <= CORE_TRUST;
    for (size_t i = 0; good && i < account->n_lanes; i++) {
        good = account->lanes[i]->state <= CORE_LANE_ENDED;
    }
    for (size_t i = 0; good && i < account->n_waits; i++) {
        good = good_hash(&account->waits[i]->hash, true) &&
               good_hash(&account->waits[i]->waiter, false);
    }
    for (size_t i = 0; good && i < account->n_tasks; i++) {
        good = good_task(account, account->tasks[i]);
    }
    for (size_t i = 0; good && i < account->n_spawns; i++) {
        good = good_spawns(account->spawns[i]);
    }
    for (size_t i = 0; good && i < account->n_peers; i++) {
        const Moot__Account__Peer *peer = account->peers[i];
        good = peer->rank < account->size && peer->state <= MEMBER_LEFT &&
               good_hash(&peer->waits_for, false);
    }
    return good;
}

Moot__Account *account_read(const uint8_t *bytes, size_t size)
{
    Moot__Account *account = moot__account__unpack(NULL, size, bytes);
    if (account != NULL && !account_check(account)) {
        account_free(account);
        account = NULL;
    }
    return account;
}

void account_free(Moot__Account *account)
{
    if (account != NULL) {
        moot__account__free_unpacked(account, NULL);
    }
}

moot_hash account_hash(const ProtobufCBinaryData *bytes)
{
    moot_hash hash = {{0}};
    if (bytes->len == sizeof(hash)) {
        memcpy(&hash, bytes->data, sizeof(hash));
    }
    return hash;
}

bool account_ranks(const ProtobufCBinaryData *bytes, struct rankset *out)
{
    bool good = true;
    for (size_t i = 0; good && i < bytes->len * 8; i++) {
        if (bytes->data[i / 8] >> (i % 8) & 1) {
            good = rankset_add(out, (uint32_t)i);
        }
    }
    return good;
}

const Moot__Account__Task *account_task(const Moot__Account *account,
                                        const moot_hash *hash)
{
    for (size_t i = 0; i < account->n_tasks; i++) {
        const Moot__Account__Task *task = account->tasks[i];
        if (memcmp(task->hash.data, hash, sizeof(*hash)) == 0) {
            return task;
        }
    }
    return NULL;
}

bool account_child(const Moot__Account *account, const moot_hash *task,
                   moot_hash *child)
{
    for (size_t i = 0; i < account->n_waits; i++) {
        moot_hash waiter = account_hash(&account->waits[i]->waiter);
        if (hash_equal(&waiter, task)) {
            *child = account_hash(&account->waits[i]->hash);
            return true;
        }
    }
    return false;
}

const Moot__Account__Peer *account_peer(const Moot__Account *account, uint32_t rank)
{
    for (size_t i = 0; i < account->n_peers; i++) {
        if (account->peers[i]->rank == rank) {
            return account->peers[i];
        }
    }
    return NULL;
}

static const Moot__Account__Number *find(Moot__Account__Number *const *numbers,
                                         size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        const ProtobufCBinaryData *key = &numbers[i]->name;
        if (key->len == strlen(name) && memcmp(key->data, name, key->len) == 0) {
            return numbers[i];
        }
    }
    return NULL;
}

uint64_t account_figure(const Moot__Account *account, const char *key)
{
    const Moot__Account__Number *number =
        find(account->figures, account->n_figures, key);
    return number != NULL ? number->value : 0;
}
