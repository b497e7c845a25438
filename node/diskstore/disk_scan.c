/* disk_scan.c - see disk_scan.h. */
#include "node/diskstore/disk_scan.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *disk_kind_name(enum diskstore_kind kind)
{
    switch (kind) {
    case DISKSTORE_RESULT:
        return "result";
    case DISKSTORE_ACCEPTED:
        return "accepted";
    case DISKSTORE_PROGRESS:
        return "progress";
    }
    return "unknown";
}

struct scan_step {
    const struct disk_scan_env *env;
    const struct disk_scan_visitor *visitor;
};

static void tell_damage(const struct scan_step *step, const struct disk_key *key)
{
    if (!step->env->alive) {
        step->visitor->damaged(step->visitor->context, step->env, key);
    }
}

/* Verifies the record; its data are given where they stand in the value, or are read.
 */
static bool show_record(void *context, const struct disk_key *key,
                        const struct disk_value *value)
{
    const struct scan_step *step = context;
    struct diskstore_found found;
    struct disk_place place;
    if (!disk_record_read(key, value->bytes, value->size, &found, &place)) {
        errno = EBADMSG;
        tell_damage(step, key);
        return true;
    }
    const bool large = place.spot.home != DISK_IN_VALUE;
    found.data = large ? NULL : value->bytes + place.at;
    if (large && step->visitor->data) {
        found.data = disk_large_read(NULL, step->env->path, &place, found.size);
        if (found.data == NULL) {
            tell_damage(step, key);
            return true;
        }
    }
    if (step->visitor->spot != NULL) {
        step->visitor->spot(step->visitor->context, &place.spot);
    }
    step->visitor->record(step->visitor->context, step->env, &found);
    if (large) {
        free(found.data);
    }
    return true;
}

void disk_scan_one(const struct disk_scan_env *env,
                   const struct disk_scan_visitor *visitor)
{
    struct disk_scan_env shown = *env;
    struct scan_step step = {&shown, visitor};
    struct disk_env *open = NULL;
    shown.why = "another version of moot wrote it";
    if (shown.readable) {
        open = disk_lmdb.open_reader(shown.path, &shown.why);
    }
    if (open == NULL) {
        visitor->env(visitor->context, &shown);
        if (shown.readable) {
            tell_damage(&step, NULL);
        }
        return;
    }
    shown.why = NULL;
    visitor->env(visitor->context, &shown);
    if (disk_lmdb.each(open, show_record, &step) == DISK_DAMAGED) {
        errno = EBADMSG;
        tell_damage(&step, NULL);
    }
    disk_lmdb.close(open);
}

/* Locks the folder; -1, and the end in *code. */
static int lock_to_look(const char *folder, struct text *why, int *code)
{
    pid_t holder;
    const int lock = disk_folder_lock(folder, DISK_LOCK_LOOK, &holder);
    *code = lock >= 0 ? MOOT_OK : MOOT_ERR_FILE;
    if (lock < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        disk_folder_tell_none(folder, why);
    } else if (lock < 0 && errno == EAGAIN) {
        text_add(why, "%s: process %ld prunes it; look when that has ended", folder,
                 (long)holder);
    } else if (lock < 0) {
        text_add(why, "%s: %s", folder, disk_error(errno));
    }
    return lock;
}

int disk_scan(const char *folder, const struct disk_scan_visitor *visitor,
              struct text *why)
{
    char path[DISK_PATH_BYTES];
    size_t count;
    int code;
    const int lock = lock_to_look(folder, why, &code);
    if (lock < 0) {
        return code;
    }
    struct disk_env_name *all;
    if (!disk_env_list(folder, NULL, &all, &count)) {
        text_add(why, "%s: %s", folder, disk_error(errno));
        code = errno == ENOMEM ? MOOT_ERR_NO_MEMORY : MOOT_ERR_FILE;
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, all[i].name);
        const struct disk_scan_env env = {.name = all[i].name,
                                          .path = path,
                                          .readable = all[i].readable,
                                          .alive = all[i].alive,
                                          .writer = all[i].writer,
                                          .bytes = disk_folder_bytes(path)};
        disk_scan_one(&env, visitor);
    }
    free(all);
    close(lock);
    return code;
}

/* --- After a reload --------------------------------------------------------------- */

static void pass_env(void *context, const struct disk_scan_env *env)
{
    (void)context;
    (void)env;
}

static void pass_damage(void *context, const struct disk_scan_env *env,
                        const struct disk_key *key)
{
    (void)context;
    (void)env;
    (void)key;
}

/* A set has it by its task alone. */
static struct diskstore_found start_of(const struct diskstore_found *found)
{
    return (struct diskstore_found){.hash = found->hash};
}

static void note_start(void *context, const struct disk_scan_env *env,
                       const struct diskstore_found *found)
{
    struct disk_undone *undone = context;
    const struct diskstore_found start = start_of(found);
    (void)env;
    if (found->kind == DISKSTORE_ACCEPTED) {
        (void)disk_set_add(&undone->accepted, &start);
    }
}

void disk_undone_read(const char *folder, struct disk_undone *out)
{
    const struct disk_scan_visitor visitor = {
        .context = out, .env = pass_env, .record = note_start, .damaged = pass_damage};
    struct disk_snapshot snapshot;
    struct text why = {0};
    *out = (struct disk_undone){.mark = {0}};
    if (!disk_mark_read(folder, &out->mark) || out->mark.generation == 0) {
        out->mark.generation = 0;
        return;
    }
    disk_snapshot_read(folder, &out->mark.id, &snapshot, &out->named);
    if (!disk_snapshot_is_whole(&snapshot) ||
        disk_scan(folder, &visitor, &why) != MOOT_OK) {
        out->mark.generation = 0;
    }
    disk_set_sort(&out->accepted);
    disk_snapshot_release(&snapshot);
    text_release(&why);
}

bool disk_undone_has(const struct disk_undone *undone,
                     const struct diskstore_found *found)
{
    const struct diskstore_found start = start_of(found);
    if (found->generation >= undone->mark.generation ||
        found->kind == DISKSTORE_ACCEPTED) {
        return false;
    }
    return found->kind != DISKSTORE_RESULT ||
           (!disk_set_has(&undone->named, &found->hash, found->digest) &&
            !disk_set_has(&undone->accepted, &start.hash, start.digest));
}

void disk_undone_release(struct disk_undone *undone)
{
    disk_set_release(&undone->named);
    disk_set_release(&undone->accepted);
}
