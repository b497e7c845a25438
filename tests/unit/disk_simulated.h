/* disk_simulated.h - a disk for the store that tears, forgets and flips bits.
 *
 * It stands where LMDB does (disk_table.h) and keeps records in memory, by the name of
 * the environment's folder, so that they outlive a store.  sim_lose_power() then does
 * to them what a loss of power may: batches that were not synced are lost, or some of
 * their records are; values are torn, and bits of values flip.  With SIM_ALONE one
 * thread has it all, and there is no lock.
 */
#ifndef TESTS_UNIT_DISK_SIMULATED_H
#define TESTS_UNIT_DISK_SIMULATED_H

#include "node/diskstore/disk_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIM_ENVS_MAX = 64 };

struct sim_record {
    struct disk_key key;
    struct disk_value value;
    bool synced, gone;
};

struct disk_env {
    char name[DISK_NAME_BYTES];
    struct sim_record *records;
    size_t count, room, batch; /* from `batch` on they are not committed */
    bool sync;
};

static struct {
    struct disk_env envs[SIM_ENVS_MAX];
    size_t count;
    uint64_t full_after; /* so many records; then the disk is full.  0: never */
    uint64_t written;
    pthread_mutex_t lock;
} sim_disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void sim_lock(void)
{
#ifndef SIM_ALONE
    pthread_mutex_lock(&sim_disk.lock);
#endif
}

static void sim_unlock(void)
{
#ifndef SIM_ALONE
    pthread_mutex_unlock(&sim_disk.lock);
#endif
}

static void *sim_have(void *block)
{
    if (block == NULL) {
        abort();
    }
    return block;
}

/* The step of splitmix64. */
static uint64_t sim_draw(uint64_t *seed, uint64_t below)
{
    uint64_t word = *seed + 0x9E3779B97F4A7C15U;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9U;
    word = (word ^ word >> 27) * 0x94D049BB133111EBU;
    *seed = word ^ word >> 31;
    return *seed % below;
}

/* A hidden environment is the one that it will be. */
static struct disk_env *sim_open(const char *folder, const char **why)
{
    const char *name = strrchr(folder, '/') + 1;
    name += name[0] == '.';
    for (size_t i = 0; i < sim_disk.count; i++) {
        if (strcmp(sim_disk.envs[i].name, name) == 0) {
            return &sim_disk.envs[i];
        }
    }
    *why = "too many";
    if (sim_disk.count == SIM_ENVS_MAX) {
        return NULL;
    }
    struct disk_env *env = &sim_disk.envs[sim_disk.count++];
    snprintf(env->name, sizeof(env->name), "%.100s", name);
    return env;
}

static struct disk_env *sim_open_writer(const char *folder, bool sync, const char **why)
{
    struct disk_env *env = sim_open(folder, why);
    if (env != NULL) {
        env->sync = sync;
    }
    return env;
}

static struct disk_env *sim_open_reader(const char *folder, const char **why)
{
    return sim_open(folder, why);
}

static void sim_close(struct disk_env *env) { (void)env; }

static uint64_t sim_entries(struct disk_env *env) { return env->count; }

/* The newest record of the key, of the first `count`. */
static struct sim_record *sim_find(const struct disk_env *env,
                                   const struct disk_key *key, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (memcmp(&env->records[i].key, key, sizeof(*key)) == 0) {
            return env->records[i].gone ? NULL : &env->records[i];
        }
    }
    return NULL;
}

static enum disk_end sim_get(struct disk_env *env, const struct disk_key *key,
                             struct disk_value *value)
{
    sim_lock();
    const struct sim_record *record = sim_find(env, key, env->batch);
    if (record != NULL && value != NULL) {
        value->size = record->value.size;
        value->bytes = sim_have(malloc(value->size + 1));
        memcpy(value->bytes, record->value.bytes, value->size);
    }
    sim_unlock();
    return record != NULL ? DISK_OK : DISK_NONE;
}

static enum disk_end sim_begin(struct disk_env *env, const char **why)
{
    (void)env;
    (void)why;
    return DISK_OK;
}

static struct sim_record *sim_append(struct disk_env *env, const struct disk_key *key)
{
    if (env->count == env->room) {
        env->room = env->room != 0 ? 2 * env->room : 64;
        env->records =
            sim_have(realloc(env->records, env->room * sizeof(*env->records)));
    }
    struct sim_record *record = &env->records[env->count++];
    *record = (struct sim_record){.key = *key};
    return record;
}

static enum disk_end sim_put(struct disk_env *env, const struct disk_key *key,
                             const struct disk_image *image, const char **why)
{
    *why = "the disk is full";
    if (sim_disk.full_after != 0 && sim_disk.written >= sim_disk.full_after) {
        return DISK_FAILED;
    }
    sim_disk.written++;
    sim_lock();
    struct disk_value *value = &sim_append(env, key)->value;
    value->size = image->head_size + image->tail_size;
    value->bytes = sim_have(malloc(value->size + 1));
    memcpy(value->bytes, image->head, image->head_size);
    if (image->tail_size > 0) {
        memcpy(value->bytes + image->head_size, image->tail, image->tail_size);
    }
    sim_unlock();
    return DISK_OK;
}

static enum disk_end sim_erase(struct disk_env *env, const struct disk_key *key)
{
    sim_lock();
    const bool there = sim_find(env, key, env->count) != NULL;
    if (there) {
        sim_append(env, key)->gone = true;
    }
    sim_unlock();
    return there ? DISK_OK : DISK_NONE;
}

static uint64_t sim_large(struct disk_env *env, const struct disk_key *key)
{
    sim_lock();
    const struct sim_record *record = sim_find(env, key, env->count);
    const uint64_t large =
        record != NULL ? disk_record_large(key, record->value.bytes, record->value.size)
                       : 0;
    sim_unlock();
    return large;
}

static enum disk_end sim_commit(struct disk_env *env, const char **why)
{
    (void)why;
    sim_lock();
    for (size_t i = env->batch; i < env->count; i++) {
        env->records[i].synced = env->sync;
    }
    env->batch = env->count;
    sim_unlock();
    return DISK_OK;
}

static void sim_abort(struct disk_env *env)
{
    sim_lock();
    while (env->count > env->batch) {
        free(env->records[--env->count].value.bytes);
    }
    sim_unlock();
}

static enum disk_end sim_each(struct disk_env *env,
                              bool (*visit)(void *context, const struct disk_key *key,
                                            const struct disk_value *value),
                              void *context)
{
    bool goes_on = true;
    for (size_t i = 0; i < env->batch && goes_on; i++) {
        const struct sim_record *record = &env->records[i];
        if (sim_find(env, &record->key, env->batch) == record) {
            goes_on = visit(context, &record->key, &record->value);
        }
    }
    return DISK_OK;
}

static enum disk_end sim_keys(struct disk_env *env,
                              bool (*visit)(void *context, const struct disk_key *key),
                              void *context)
{
    bool goes_on = true;
    for (size_t i = 0; i < env->batch && goes_on; i++) {
        goes_on = visit(context, &env->records[i].key);
    }
    return DISK_OK;
}

static enum disk_end sim_sync(struct disk_env *env, const char **why)
{
    (void)why;
    for (size_t i = 0; i < env->batch; i++) {
        env->records[i].synced = true;
    }
    return DISK_OK;
}

static const struct disk_table sim_table = {
    .open_writer = sim_open_writer,
    .open_reader = sim_open_reader,
    .close = sim_close,
    .entries = sim_entries,
    .get = sim_get,
    .each = sim_each,
    .keys = sim_keys,
    .begin = sim_begin,
    .put = sim_put,
    .erase = sim_erase,
    .large = sim_large,
    .commit = sim_commit,
    .abort = sim_abort,
    .sync = sim_sync,
};

/* Every record that was not synced is lost, torn, or stays, as drawn. */
static inline void sim_lose_power(uint64_t *seed)
{
    for (size_t i = 0; i < sim_disk.count; i++) {
        struct disk_env *env = &sim_disk.envs[i];
        for (size_t j = 0; j < env->count; j++) {
            struct sim_record *record = &env->records[j];
            const uint64_t drawn = record->synced ? 3 : sim_draw(seed, 4);
            if (drawn == 0) {
                record->gone = true;
            } else if (drawn == 1 && record->value.size > 0) {
                record->value.size = (size_t)sim_draw(seed, record->value.size);
            } else if (drawn == 2 && record->value.size > 0) {
                const size_t from = (size_t)sim_draw(seed, record->value.size);
                memset(record->value.bytes + from, 0, record->value.size - from);
            }
        }
    }
}

/* One bit in so many records flips. */
static inline void sim_flip_bits(uint64_t *seed, uint64_t one_in)
{
    for (size_t i = 0; i < sim_disk.count; i++) {
        struct disk_env *env = &sim_disk.envs[i];
        for (size_t j = 0; j < env->count; j++) {
            struct disk_value *value = &env->records[j].value;
            if (sim_draw(seed, one_in) == 0 && value->size > 0) {
                const uint64_t bit = sim_draw(seed, 8 * (uint64_t)value->size);
                value->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            }
        }
    }
}

static void sim_forget(void)
{
    for (size_t i = 0; i < sim_disk.count; i++) {
        for (size_t j = 0; j < sim_disk.envs[i].count; j++) {
            free(sim_disk.envs[i].records[j].value.bytes);
        }
        free(sim_disk.envs[i].records);
    }
    memset(sim_disk.envs, 0, sizeof(sim_disk.envs));
    sim_disk.count = 0;
    sim_disk.full_after = sim_disk.written = 0;
}

#endif
