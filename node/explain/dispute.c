/* dispute.c - ranks that say different things of one task (diagnosis.h). */
#include "node/explain/diagnosis_private.h"

#include "hashing/identity.h"

static bool says_other(const struct picture *picture, const Moot__Account__Task *task,
                       const Moot__Account__Task *there)
{
    return there != NULL && there->owner < picture->size && there->owner != task->owner;
}

/* The first rank that says other than this one; PLACEMENT_NOBODY: none does. */
static uint32_t find_opponent(const struct picture *picture, uint32_t rank,
                              const Moot__Account__Task *task, const moot_hash *hash)
{
    const Moot__Account__Task *there = picture_task(picture, task->owner, hash);
    bool says_no = picture->seats[task->owner].account != NULL &&
                   (there == NULL || there->own == CORE_OWN_NONE);
    uint32_t first = says_no && task->owner != rank ? task->owner : PLACEMENT_NOBODY;
    struct said said = picture_said(picture, hash);
    while (picture_next(&said) && said.rank < first) {
        if (said.rank != rank && says_other(picture, task, said.task)) {
            return said.rank;
        }
    }
    return first;
}

static void find_dispute(const struct picture *picture, struct diagnosis *diagnosis,
                         uint32_t rank, const Moot__Account__Task *task)
{
    moot_hash hash = account_hash(&task->hash);
    for (uint32_t i = 0; i < diagnosis->dispute_count; i++) {
        if (hash_equal(&diagnosis->disputes[i].hash, &hash)) {
            return;
        }
    }
    uint32_t other = diagnosis->dispute_count < DISPUTES_MAX
                         ? find_opponent(picture, rank, task, &hash)
                         : PLACEMENT_NOBODY;
    if (other == PLACEMENT_NOBODY) {
        return;
    }
    const Moot__Account__Task *there = picture_task(picture, other, &hash);
    diagnosis->disputes[diagnosis->dispute_count++] = (struct dispute){
        .hash = hash,
        .rank = rank,
        .other = other,
        .owner = task->owner,
        .other_owner =
            says_other(picture, task, there) ? there->owner : PLACEMENT_NOBODY};
}

void diagnosis_find_disputes(const struct picture *picture, struct diagnosis *diagnosis)
{
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        for (size_t i = 0; account != NULL && i < account->n_tasks; i++) {
            const Moot__Account__Task *task = account->tasks[i];
            if (task->owner < picture->size && task->have == CORE_HAVE_NOTHING) {
                find_dispute(picture, diagnosis, rank, task);
            }
        }
    }
}
