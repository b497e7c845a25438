/* disk_prune_write.c - see disk_prune_private.h. */
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_pack.h"
#include "node/diskstore/disk_private.h"
#include "node/diskstore/disk_prune_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BATCH_RECORDS = 4096, BATCH_BYTES = 32 << 20 };

/* --- What can be told before ------------------------------------------------------ */

/* Takes the path as the one that is in the way. */
static bool may_write(struct prune *prune, const char *path)
{
    if (access(path, W_OK | X_OK) == 0) {
        return true;
    }
    prune->why = disk_error(errno);
    snprintf(prune->where, sizeof(prune->where), "%s", path);
    return false;
}

bool prune_may_change(struct prune *prune)
{
    char path[DISK_PATH_BYTES];
    bool good = may_write(prune, prune->folder);
    for (size_t i = 0; good && i < prune->env_count; i++) {
        prune_env_path(prune, i, path);
        good = !prune->envs[i].readable || may_write(prune, path);
    }
    return good;
}

/* Bytes that are written at least, and in one file. */
struct prune_needs {
    uint64_t bytes, in_file;
    size_t files; /* that are open at one moment */
};

/* Data that have a file are linked, which takes no room. */
static struct prune_needs count_needs(const struct prune *prune)
{
    enum { OWNER_AND_LMDB = 4, PACKS = 2 };
    uint64_t values = 0, packed = 0;
    bool *is_source = calloc(prune->env_count + 1, sizeof(*is_source));
    struct prune_needs needs = {.files = OWNER_AND_LMDB};
    for (size_t i = 0; i < prune->count; i++) {
        const struct prune_entry *entry = &prune->entries[i];
        if (entry->kept) {
            values += entry->home == DISK_IN_VALUE ? entry->bytes : 0;
            packed += entry->home == DISK_IN_PACK ? entry->bytes : 0;
            needs.files += is_source != NULL && !is_source[entry->env];
            if (is_source != NULL) {
                is_source[entry->env] = true;
            }
        }
    }
    free(is_source);
    const uint64_t in_pack = packed < BATCH_BYTES ? packed : BATCH_BYTES;
    needs.bytes = values + packed;
    needs.in_file = (values > in_pack ? values : in_pack) / (prune->layers + 1);
    needs.files += packed > 0 ? PACKS : 0;
    return needs;
}

bool prune_has_room(struct prune *prune)
{
    const struct prune_needs needs = count_needs(prune);
    struct statvfs system;
    struct rlimit limit;
    int cause = 0;
    if (statvfs(prune->folder, &system) == 0 && system.f_blocks > 0) {
        const uint64_t free_blocks = geteuid() == 0 ? system.f_bfree : system.f_bavail;
        cause = needs.bytes / system.f_frsize > free_blocks ? ENOSPC : 0;
    }
    if (cause == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0) {
        cause = limit.rlim_cur != RLIM_INFINITY && needs.in_file > limit.rlim_cur
                    ? EFBIG
                    : 0;
    }
    if (cause == 0 && !disk_can_open(needs.files)) {
        cause = errno;
    }
    prune->why = cause != 0 ? disk_error(cause) : NULL;
    return cause == 0;
}

/* --- Writing it ------------------------------------------------------------------- */

struct prune_target {
    struct prune *prune;
    struct disk_env *env, **sources;
    uint32_t layer;
    char path[DISK_PATH_BYTES];
    uint64_t large; /* the last file's number */
    struct disk_pack pack;
    struct disk_spot files[BATCH_RECORDS]; /* of the batch */
    size_t file_count, records, bytes;
};

/* Gives data that stand in a file another place in the new environment: by a second
 * name, or by a copy where the file system has no such, or they share it with others.
 */
static bool take_data(struct prune_target *target, const char *from,
                      const struct disk_spot *spot, const struct diskstore_found *found,
                      struct disk_spot *out)
{
    bool good = true;
    *out = (struct disk_spot){.home = spot->home};
    if (spot->home == DISK_IN_PACK) {
        good =
            disk_pack_add(&target->pack, &target->large, found->data, found->size, out);
    } else if (spot->home == DISK_IN_FILE) {
        out->number = ++target->large;
        target->files[target->file_count++] = *out;
        good =
            disk_large_link(from, spot->number, target->path, out->number) ||
            disk_large_write(target->path, out->number, found->data, found->size, true);
    }
    return good;
}

/* Writes the record as it was, but for the place of its data. */
static bool put_again(struct prune_target *target, const char *from,
                      const struct disk_place *place,
                      const struct diskstore_found *found)
{
    struct disk_image image;
    const struct diskstore_record record = {.hash = found->hash,
                                            .kind = found->kind,
                                            .status = found->status,
                                            .kernel = found->kernel,
                                            .label = found->label,
                                            .build = found->build,
                                            .build_size = found->build_size,
                                            .version = found->version,
                                            .generation = found->generation,
                                            .inputs = found->inputs,
                                            .made_ns = found->made_ns,
                                            .took_ns = found->took_ns,
                                            .data = found->data,
                                            .size = found->size};
    const struct disk_key key = disk_key(&found->hash, found->kind);
    struct disk_spot spot;
    if (!take_data(target, from, &place->spot, found, &spot)) {
        target->prune->why = disk_error(errno);
        return false;
    }
    disk_record_write_as(&record, &spot, found->library, place->format, &image);
    return disk_lmdb.put(target->env, &key, &image, &target->prune->why) == DISK_OK;
}

/* A record that can no longer be read as it was a moment ago is dropped as damaged. */
static bool copy_entry(struct prune_target *target, const struct prune_entry *entry)
{
    struct prune *prune = target->prune;
    char from[DISK_PATH_BYTES];
    struct disk_value value;
    struct disk_place place;
    struct diskstore_found found;
    prune_env_path(prune, entry->env, from);
    errno = EBADMSG;
    bool good =
        disk_lmdb.get(target->sources[entry->env], &entry->key, &value) == DISK_OK;
    if (good &&
        !disk_record_read(&entry->key, value.bytes, value.size, &found, &place)) {
        free(value.bytes);
        good = false;
    }
    if (!good || !disk_take_data(NULL, from, &value, &place, &found)) {
        if (good && !disk_large_is_damage(errno)) {
            prune->why = disk_error(errno);
            return false;
        }
        prune->counts->damaged++;
        prune->counts->kept--;
        prune->counts->kept_bytes -= entry->bytes;
        return true;
    }
    good = put_again(target, from, &place, &found);
    target->bytes += found.size;
    target->records++;
    free(found.data);
    return good;
}

static bool commit_batch(struct prune_target *target)
{
    struct prune *prune = target->prune;
    bool good = disk_pack_write(&target->pack) &&
                disk_large_sync(target->path, target->files, target->file_count);
    if (!good) {
        prune->why = disk_error(errno);
        disk_lmdb.abort(target->env);
    }
    target->file_count = target->records = target->bytes = 0;
    good = good && disk_lmdb.commit(target->env, &prune->why) == DISK_OK;
    if (good) {
        disk_pack_keep(&target->pack);
    }
    return good;
}

static bool copy_entries(struct prune_target *target)
{
    struct prune *prune = target->prune;
    bool good = disk_lmdb.begin(target->env, &prune->why) == DISK_OK;
    for (size_t i = 0; good && i < prune->count; i++) {
        const struct prune_entry *entry = &prune->entries[i];
        good =
            !entry->kept || entry->layer != target->layer || copy_entry(target, entry);
        if (good && (target->records == BATCH_RECORDS || target->bytes > BATCH_BYTES)) {
            good = commit_batch(target) &&
                   disk_lmdb.begin(target->env, &prune->why) == DISK_OK;
        }
    }
    if (!good) {
        disk_lmdb.abort(target->env);
        return false;
    }
    return commit_batch(target);
}

static bool open_sources(struct prune_target *target)
{
    struct prune *prune = target->prune;
    bool good = true;
    target->sources = calloc(prune->env_count + 1, sizeof(struct disk_env *));
    prune->no_memory = target->sources == NULL;
    for (size_t i = 0; target->sources != NULL && i < prune->count && good; i++) {
        const struct prune_entry *entry = &prune->entries[i];
        if (entry->kept && target->sources[entry->env] == NULL) {
            char path[DISK_PATH_BYTES];
            prune_env_path(prune, entry->env, path);
            target->sources[entry->env] = disk_lmdb.open_reader(path, &prune->why);
            good = target->sources[entry->env] != NULL;
        }
    }
    return good && !prune->no_memory;
}

static void close_target(struct prune_target *target)
{
    for (size_t i = 0; target->sources != NULL && i < target->prune->env_count; i++) {
        if (target->sources[i] != NULL) {
            disk_lmdb.close(target->sources[i]);
        }
    }
    free(target->sources);
    disk_pack_close(&target->pack);
    if (target->env != NULL) {
        disk_lmdb.close(target->env);
    }
}

/* Makes the new environment; false, and why: nothing is lost. */
static bool write_layer(struct prune *prune, uint32_t layer)
{
    struct prune_target target = {.prune = prune, .layer = layer}; /* some 40 kB */
    const int lock = disk_env_make(prune->folder, target.path);
    bool good = lock >= 0;
    if (!good) {
        prune->why = disk_error(errno);
        return false;
    }
    good = open_sources(&target);
    if (good) {
        target.pack = (struct disk_pack){.folder = target.path, .sync = true};
        target.env = disk_lmdb.open_writer(target.path, true, &prune->why);
        good = target.env != NULL && copy_entries(&target);
    }
    close_target(&target);
    if (good && !disk_env_show(prune->folder, true, target.path)) {
        prune->why = disk_error(errno);
        good = false;
    }
    if (!good) {
        disk_folder_remove(target.path);
    }
    close(lock);
    return good;
}

/* Records that count are written last: the newest environment is asked first. */
bool prune_write(struct prune *prune)
{
    bool good = true;
    for (uint32_t layer = prune->layers; good && layer-- > 0;) {
        good = write_layer(prune, layer);
    }
    return good;
}
