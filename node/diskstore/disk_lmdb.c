/* disk_lmdb.c - environments as LMDB keeps them (disk_table.h).
 *
 * A writer's environment is LMDB's own: batches are its transactions, and reads of what
 * was committed its read transactions, none of which outlives a call.  A reader's,
 * whose writer is gone, is read by disk_pages.c, which needs no locks and survives
 * damage.
 *
 * Without `sync` LMDB leaves writing to the kernel: pages reach its cache in order, so
 * that a killed process leaves a whole file.
 */
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_pages.h"

#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* Address space that an environment asks for, and what it takes where that is bounded.
 */
static const size_t map_bytes_max = (size_t)1 << 38, map_bytes_min = (size_t)1 << 26;

struct disk_env {
    MDB_env *env; /* a writer's; or NULL, and: */
    struct disk_pages *pages;
    MDB_dbi records;
    MDB_txn *batch;
};

static MDB_val key_value(const struct disk_key *key)
{
    union {
        const void *from;
        void *to;
    } bytes = {.from = key->bytes}; /* LMDB's type is not const, its use is */
    return (MDB_val){sizeof(key->bytes), bytes.to};
}

/* --- Opening ---------------------------------------------------------------------- */

static int open_records(struct disk_env *env)
{
    MDB_txn *txn;
    int code = mdb_txn_begin(env->env, NULL, 0, &txn);
    if (code == 0) {
        code = mdb_dbi_open(txn, NULL, 0, &env->records);
        if (code == 0) {
            code = mdb_txn_commit(txn);
        } else {
            mdb_txn_abort(txn);
        }
    }
    return code;
}

static int open_mapped(struct disk_env *env, const char *folder, bool sync,
                       size_t map_bytes)
{
    int code = mdb_env_create(&env->env);
    if (code != 0) {
        env->env = NULL;
        return code;
    }
    code = mdb_env_set_mapsize(env->env, map_bytes);
    if (code == 0) {
        code =
            mdb_env_open(env->env, folder, MDB_NOTLS | (sync ? 0 : MDB_NOSYNC), 0644);
    }
    if (code == 0) {
        code = open_records(env);
    }
    if (code != 0) {
        mdb_env_close(env->env);
        env->env = NULL;
    }
    return code;
}

static struct disk_env *lmdb_open_writer(const char *folder, bool sync,
                                         const char **why)
{
    struct disk_env *env = calloc(1, sizeof(*env));
    int code = ENOMEM;
    if (env == NULL) {
        *why = strerror(ENOMEM);
        return NULL;
    }
    for (size_t bytes = map_bytes_max; code == ENOMEM && bytes >= map_bytes_min;
         bytes /= 4) {
        code = open_mapped(env, folder, sync, bytes);
    }
    if (code != 0) {
        *why = disk_lacks_files(code) ? disk_error(code) : mdb_strerror(code);
        free(env);
        return NULL;
    }
    return env;
}

static struct disk_env *lmdb_open_reader(const char *folder, const char **why)
{
    char path[PATH_BYTES];
    struct disk_env *env = calloc(1, sizeof(*env));
    if (env == NULL) {
        *why = strerror(ENOMEM);
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/data.mdb", folder);
    env->pages = disk_pages_open(path, why);
    if (env->pages == NULL) {
        free(env);
        return NULL;
    }
    return env;
}

static void lmdb_close(struct disk_env *env)
{
    if (env->env != NULL) {
        mdb_env_close(env->env);
    } else {
        disk_pages_close(env->pages);
    }
    free(env);
}

/* --- Reading ---------------------------------------------------------------------- */

static uint64_t lmdb_entries(struct disk_env *env)
{
    MDB_stat stat;
    if (env->env == NULL) {
        return disk_pages_entries(env->pages);
    }
    return mdb_env_stat(env->env, &stat) == 0 ? stat.ms_entries : 0;
}

/* FAILED leaves errno: LMDB's own codes, of which errno knows none, are negative. */
static enum disk_end read_end(int code)
{
    const enum disk_end end = code == 0              ? DISK_OK
                              : code == MDB_NOTFOUND ? DISK_NONE
                              : code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND
                                  ? DISK_DAMAGED
                                  : DISK_FAILED;
    if (end == DISK_FAILED) {
        errno = code > 0 ? code : EAGAIN;
    }
    return end;
}

static enum disk_end lmdb_get(struct disk_env *env, const struct disk_key *key,
                              struct disk_value *value)
{
    MDB_txn *txn;
    MDB_val name = key_value(key), data;
    if (env->env == NULL) {
        return disk_pages_get(env->pages, key, value);
    }
    int code = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);
    if (code != 0) {
        return read_end(code);
    }
    code = mdb_get(txn, env->records, &name, &data);
    if (code == 0 && value != NULL) {
        value->size = data.mv_size;
        value->bytes = malloc(data.mv_size + 1);
        if (value->bytes != NULL) {
            memcpy(value->bytes, data.mv_data, data.mv_size);
        } else {
            code = ENOMEM;
        }
    }
    mdb_txn_abort(txn);
    return read_end(code);
}

/* Shows the transaction's records; a key of another size is none of ours. */
static int walk_records(MDB_txn *txn, MDB_dbi records,
                        bool (*visit)(void *context, const struct disk_key *key,
                                      const struct disk_value *value),
                        void *context)
{
    MDB_cursor *cursor;
    MDB_val name, data;
    struct disk_key key;
    bool goes_on = true;
    int code = mdb_cursor_open(txn, records, &cursor);
    if (code != 0) {
        return code;
    }
    while (goes_on && (code = mdb_cursor_get(cursor, &name, &data, MDB_NEXT)) == 0) {
        if (name.mv_size == sizeof(key.bytes)) {
            const struct disk_value value = {data.mv_data, data.mv_size};
            memcpy(key.bytes, name.mv_data, sizeof(key.bytes));
            goes_on = visit(context, &key, &value);
        }
    }
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

static enum disk_end lmdb_each(struct disk_env *env,
                               bool (*visit)(void *context, const struct disk_key *key,
                                             const struct disk_value *value),
                               void *context)
{
    MDB_txn *txn;
    if (env->env == NULL) {
        return disk_pages_each(env->pages, visit, context);
    }
    int code = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);
    if (code == 0) {
        code = walk_records(txn, env->records, visit, context);
        mdb_txn_abort(txn);
    }
    return code == 0 ? DISK_OK : DISK_DAMAGED;
}

/* A writer's may change under the walk. */
static enum disk_end lmdb_keys(struct disk_env *env,
                               bool (*visit)(void *context, const struct disk_key *key),
                               void *context)
{
    return env->env == NULL ? disk_pages_keys(env->pages, visit, context) : DISK_FAILED;
}

/* --- Batches ---------------------------------------------------------------------- */

static enum disk_end batch_end(int code, const char **why)
{
    if (code == 0) {
        return DISK_OK;
    }
    /* LMDB says EIO where less was written than it asked for. */
    *why = code == EIO ? "the disk failed, or is full" : mdb_strerror(code);
    return DISK_FAILED;
}

static enum disk_end lmdb_begin(struct disk_env *env, const char **why)
{
    return batch_end(mdb_txn_begin(env->env, NULL, 0, &env->batch), why);
}

static enum disk_end lmdb_put(struct disk_env *env, const struct disk_key *key,
                              const struct disk_image *image, const char **why)
{
    MDB_val name = key_value(key), data = {image->head_size + image->tail_size, NULL};
    const int code = mdb_put(env->batch, env->records, &name, &data, MDB_RESERVE);
    if (code == 0) {
        memcpy(data.mv_data, image->head, image->head_size);
        if (image->tail_size > 0) {
            memcpy((unsigned char *)data.mv_data + image->head_size, image->tail,
                   image->tail_size);
        }
    }
    return batch_end(code, why);
}

static enum disk_end lmdb_erase(struct disk_env *env, const struct disk_key *key)
{
    MDB_val name = key_value(key);
    return read_end(mdb_del(env->batch, env->records, &name, NULL));
}

static uint64_t lmdb_large(struct disk_env *env, const struct disk_key *key)
{
    MDB_val name = key_value(key), data;
    return mdb_get(env->batch, env->records, &name, &data) == 0
               ? disk_record_large(key, data.mv_data, data.mv_size)
               : 0;
}

static enum disk_end lmdb_commit(struct disk_env *env, const char **why)
{
    MDB_txn *batch = env->batch;
    env->batch = NULL;
    return batch_end(mdb_txn_commit(batch), why);
}

static void lmdb_abort(struct disk_env *env)
{
    if (env->batch != NULL) {
        mdb_txn_abort(env->batch);
        env->batch = NULL;
    }
}

static enum disk_end lmdb_sync(struct disk_env *env, const char **why)
{
    return env->env != NULL              ? batch_end(mdb_env_sync(env->env, 1), why)
           : disk_pages_sync(env->pages) ? DISK_OK
                                         : batch_end(errno, why);
}

const struct disk_table disk_lmdb = {
    .open_writer = lmdb_open_writer,
    .open_reader = lmdb_open_reader,
    .close = lmdb_close,
    .entries = lmdb_entries,
    .get = lmdb_get,
    .each = lmdb_each,
    .keys = lmdb_keys,
    .begin = lmdb_begin,
    .put = lmdb_put,
    .erase = lmdb_erase,
    .large = lmdb_large,
    .commit = lmdb_commit,
    .abort = lmdb_abort,
    .sync = lmdb_sync,
};
