/* disk_snapshot_bench.h - what tests of snapshots share: to cut, to commit, to go back.
 *
 * All is asked of the thread that writes, and waited for.
 */
#ifndef TESTS_UNIT_DISK_SNAPSHOT_BENCH_H
#define TESTS_UNIT_DISK_SNAPSHOT_BENCH_H

#include "disk_bench.h"

#include "node/diskstore/disk_snapshot.h"

#include <pthread.h>

/* How a job ended, and the thread that waits for it. */
struct waited {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool ended, good;
    struct diskstore_part part;
    char why[512];
};

static inline void note_end(void *context, const struct diskstore_end *end)
{
    struct waited *waited = context;
    pthread_mutex_lock(&waited->lock);
    waited->ended = true;
    waited->good = end->good;
    waited->part = end->part;
    snprintf(waited->why, sizeof(waited->why), "%s", end->why);
    pthread_cond_signal(&waited->over);
    pthread_mutex_unlock(&waited->lock);
}

static inline void begin_wait(struct waited *waited)
{
    *waited = (struct waited){.ended = false};
    pthread_mutex_init(&waited->lock, NULL);
    pthread_cond_init(&waited->over, NULL);
}

static inline void end_wait(struct waited *waited)
{
    pthread_mutex_lock(&waited->lock);
    while (!waited->ended) {
        pthread_cond_wait(&waited->over, &waited->lock);
    }
    pthread_mutex_unlock(&waited->lock);
}

static inline void put_from(struct folder_bench *bench, struct diskstore *store,
                            uint64_t from, uint64_t to, uint32_t generation)
{
    for (uint64_t number = from; number < to; number++) {
        struct diskstore_record record = bench_record(bench, number);
        record.generation = generation;
        record.status = MOOT_OK;
        while (!diskstore_put(store, &record, NULL, NULL)) {
            diskstore_wait_room(store, record.size);
        }
    }
}

static inline bool finds(struct diskstore *store, uint64_t number)
{
    const moot_hash hash = bench_hash(number);
    struct diskstore_found found;
    const bool has = diskstore_find(store, &hash, DISKSTORE_RESULT, &found);
    if (has) {
        free(found.data);
    }
    return has;
}

static inline struct diskstore_part cut(struct diskstore *store, const moot_hash *id,
                                        uint32_t rank)
{
    struct waited waited;
    begin_wait(&waited);
    assert_true(diskstore_cut(store, id, rank, note_end, &waited));
    end_wait(&waited);
    if (!waited.good) {
        fail_msg("%s", waited.why);
    }
    return waited.part;
}

static inline bool commit(struct diskstore *store, const moot_hash *id,
                          const char *name, const struct diskstore_part *parts,
                          size_t count, struct waited *waited)
{
    const struct diskstore_commit commit = {
        .id = *id, .name = name, .parts = parts, .part_count = count};
    begin_wait(waited);
    assert_true(diskstore_commit(store, &commit, note_end, waited));
    end_wait(waited);
    return waited->good;
}

static inline moot_hash snapshot(struct diskstore *store, uint64_t number,
                                 const char *name)
{
    struct waited waited;
    const moot_hash id = bench_hash(1000000 + number);
    const struct diskstore_part part = cut(store, &id, 0);
    if (!commit(store, &id, name, &part, 1, &waited)) {
        fail_msg("%s", waited.why);
    }
    return id;
}

static inline void go_back(struct diskstore *store, uint32_t generation,
                           const moot_hash *id)
{
    struct waited waited;
    struct text why = {0};
    begin_wait(&waited);
    diskstore_freeze(store);
    assert_true(diskstore_mark(store, generation, id, note_end, &waited));
    end_wait(&waited);
    assert_true(waited.good);
    if (!diskstore_go_back(store, generation, id, &why)) {
        fail_msg("%s", text_get(&why));
    }
    assert_int_equal(diskstore_generation(store), generation);
    text_release(&why);
}

static inline bool is_there(struct diskstore *store, const char *name,
                            struct diskstore_snapshot *out)
{
    struct text why = {0};
    const bool there = diskstore_snapshot_find(store, name, NULL, out, &why);
    assert_int_equal(there, text_get(&why)[0] == '\0');
    text_release(&why);
    return there;
}

#endif
