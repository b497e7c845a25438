/* query_targets.c - see query_targets.h: what is told and what is wanted is sorted by
 * hash, and then gone through side by side.
 */
#include "node/explain/query_targets.h"

#include "hashing/identity.h"

#include <stdlib.h>

/* What one rank says of a task. */
struct query_told {
    moot_hash hash;
    uint32_t rank;
    const Moot__Account__Task *task;
};

struct wanted {
    moot_hash hash;
    uint32_t order;   /* in which they are met in the accounts */
    uint32_t speaker; /* PLACEMENT_NOBODY: whoever is asked, or nobody */
    bool fresh;
};

struct questions {
    bool all;
    struct wanted *wanted;
    struct query_told *told;
    size_t wanted_count, told_count;
};

/* --- Sorting --------------------------------------------------------------------- */

static int by_hash_and_rank(const void *left, const void *right)
{
    const struct query_told *a = left, *b = right;
    int order = hash_compare(&a->hash, &b->hash);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_hash_and_order(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    int order = hash_compare(&a->hash, &b->hash);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static int by_speaker_and_order(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    return a->speaker != b->speaker ? (a->speaker > b->speaker ? 1 : -1)
                                    : (a->order > b->order) - (a->order < b->order);
}

/* --- What the accounts say -------------------------------------------------------- */

static bool make_room(struct questions *questions, const struct picture *picture)
{
    size_t wanted = 1, told = 1; /* calloc() of nothing may give NULL */
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        wanted += account != NULL ? account->n_waits + 2 * account->n_tasks : 0;
        told += account != NULL ? account->n_tasks : 0;
    }
    questions->wanted = calloc(wanted, sizeof(*questions->wanted));
    questions->told = calloc(told, sizeof(*questions->told));
    return questions->wanted != NULL && questions->told != NULL;
}

static void want(struct questions *questions, const ProtobufCBinaryData *hash)
{
    struct wanted *wanted = &questions->wanted[questions->wanted_count];
    wanted->hash = account_hash(hash);
    wanted->order = (uint32_t)questions->wanted_count++;
    wanted->speaker = PLACEMENT_NOBODY;
}

static void take_account(struct questions *questions, uint32_t rank,
                         const Moot__Account *account)
{
    for (size_t i = 0; i < account->n_waits; i++) {
        want(questions, &account->waits[i]->hash);
    }
    for (size_t i = 0; i < account->n_tasks; i++) {
        const Moot__Account__Task *task = account->tasks[i];
        questions->told[questions->told_count++] = (struct query_told){
            .hash = account_hash(&task->hash), .rank = rank, .task = task};
        if (task->input.len > 0) {
            want(questions, &task->input);
        }
        if (task->elements != NULL && task->elements->input.len > 0) {
            want(questions, &task->elements->input);
        }
    }
}

/* Each once, where it was met first. */
static void drop_repeated(struct questions *questions)
{
    struct wanted *all = questions->wanted;
    size_t kept = 0;
    qsort(all, questions->wanted_count, sizeof(*all), by_hash_and_order);
    for (size_t i = 0; i < questions->wanted_count; i++) {
        if (kept == 0 || !hash_equal(&all[kept - 1].hash, &all[i].hash)) {
            all[kept++] = all[i];
        }
    }
    questions->wanted_count = kept;
}

/* --- Who is to speak ---------------------------------------------------------------
 */

static void find_speaker(const struct picture *picture, struct wanted *wanted,
                         const struct query_told *told, size_t count)
{
    struct picture_word word = PICTURE_NO_WORD;
    for (size_t i = 0; i < count; i++) {
        picture_hear(picture, told[i].rank, told[i].task, &word);
    }
    wanted->speaker = word.owner != PLACEMENT_NOBODY ? word.owner : word.chair;
    wanted->fresh = true;
    for (size_t i = 0; i < count; i++) {
        wanted->fresh &= told[i].rank != wanted->speaker;
    }
}

/* Both are sorted by hash. */
static void find_speakers(struct questions *questions, const struct picture *picture)
{
    const struct query_told *told = questions->told,
                            *end = told + questions->told_count;
    for (size_t i = 0; i < questions->wanted_count; i++) {
        struct wanted *wanted = &questions->wanted[i];
        while (told < end && hash_compare(&told->hash, &wanted->hash) < 0) {
            told++;
        }
        const struct query_told *first = told;
        while (told < end && hash_equal(&told->hash, &wanted->hash)) {
            told++;
        }
        find_speaker(picture, wanted, first, (size_t)(told - first));
    }
}

struct questions *questions_new(const struct picture *picture, bool all)
{
    struct questions *questions = calloc(1, sizeof(*questions));
    if (questions == NULL || !make_room(questions, picture)) {
        questions_free(questions);
        return NULL;
    }
    questions->all = all;
    for (uint32_t rank = 0; rank < picture->size; rank++) {
        if (picture->seats[rank].account != NULL) {
            take_account(questions, rank, picture->seats[rank].account);
        }
    }
    drop_repeated(questions);
    if (!all) {
        qsort(questions->told, questions->told_count, sizeof(*questions->told),
              by_hash_and_rank);
        find_speakers(questions, picture);
    }
    qsort(questions->wanted, questions->wanted_count, sizeof(*questions->wanted),
          by_speaker_and_order);
    return questions;
}

/* --- One rank's --------------------------------------------------------------------
 */

/* Of those who are to speak the first that is not below. */
static size_t first_of(const struct questions *questions, uint32_t speaker)
{
    size_t low = 0, high = questions->wanted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (questions->wanted[middle].speaker < speaker) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void questions_put(const struct questions *questions, uint32_t rank,
                   struct question *out)
{
    uint32_t speaker = questions->all ? PLACEMENT_NOBODY : rank;
    out->count = 0;
    out->fresh = false;
    for (size_t i = first_of(questions, speaker);
         i < questions->wanted_count && questions->wanted[i].speaker == speaker; i++) {
        out->fresh |= questions->wanted[i].fresh;
        if (out->count < LIMIT_INQUIRY_HASHES) {
            out->hashes[out->count++] = questions->wanted[i].hash;
        }
    }
}

void questions_free(struct questions *questions)
{
    if (questions != NULL) {
        free(questions->wanted);
        free(questions->told);
        free(questions);
    }
}
