/* disk_prune.c - see disk_prune.h.
 *
 * One pass reads and verifies everything and lists what there is.  The list is sorted
 * by key, the newest first, and marked.  A second pass writes what is kept, and makes
 * each record anew, because its data get another place: a file of their own is linked,
 * and what stood in a pack is copied into a new one.
 */
#include "node/diskstore/disk_prune.h"
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"
#include "node/diskstore/disk_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH_RECORDS = 4096, BATCH_BYTES = 32 << 20 };

/* A good record of the folder. */
struct prune_entry {
    struct disk_key key;
    bool kept, named, counts; /* by a snapshot; after the last reload */
    bool stays; /* whatever its age: it is named, or says that a once task began, or how
                   it ended */
    uint32_t env, generation;
    uint32_t layer; /* of those with its key that are kept */
    uint64_t made_ns, bytes;
    unsigned char digest[DISK_DIGEST_BYTES];
};

struct prune {
    const char *folder;
    const struct disk_prune_options *options;
    struct disk_prune_counts *counts;
    struct disk_env_name *envs;
    size_t env_count;
    struct prune_entry *entries;
    size_t count, room;
    uint32_t env;    /* that is read */
    uint32_t layers; /* environments to be made */
    struct disk_snapshot *snapshots;
    size_t snapshot_count;
    struct disk_mark mark;
    struct disk_set named, back; /* by snapshots; by that of the mark */
    bool no_memory;
    int unread; /* why data could not be read that may be good; 0: all could */
    const char *why;
};

static void env_path(const struct prune *prune, size_t env, char path[DISK_PATH_BYTES])
{
    snprintf(path, DISK_PATH_BYTES, "%s/%s", prune->folder, prune->envs[env].name);
}

/* --- Reading ---------------------------------------------------------------------- */

static void note_env(void *context, const struct disk_scan_env *env)
{
    (void)context;
    (void)env;
}

static void note_damage(void *context, const struct disk_scan_env *env,
                        const struct disk_key *key)
{
    struct prune *prune = context;
    (void)env;
    if (key != NULL && !disk_large_is_damage(errno)) {
        prune->unread = errno;
    }
    prune->counts->damaged++;
    prune->counts->doubtful +=
        key == NULL || key->bytes[MOOT_HASH_BYTES] == DISKSTORE_ACCEPTED;
}

static void note_record(void *context, const struct disk_scan_env *env,
                        const struct diskstore_found *found)
{
    struct prune *prune = context;
    (void)env;
    if (prune->count == prune->room) {
        const size_t room = prune->room != 0 ? 2 * prune->room : 1024;
        struct prune_entry *more = realloc(prune->entries, room * sizeof(*more));
        if (more == NULL) {
            prune->no_memory = true;
            return;
        }
        prune->entries = more;
        prune->room = room;
    }
    prune->entries[prune->count++] =
        (struct prune_entry){.key = disk_key(&found->hash, found->kind),
                             .env = prune->env,
                             .generation = found->generation,
                             .made_ns = found->made_ns,
                             .bytes = found->size};
    memcpy(prune->entries[prune->count - 1].digest, found->digest, DISK_DIGEST_BYTES);
}

static void read_all(struct prune *prune)
{
    const struct disk_scan_visitor visitor = {
        .context = prune,
        .data = true,
        .env = note_env,
        .record = note_record,
        .damaged = note_damage,
    };
    for (prune->env = 0; prune->env < prune->env_count; prune->env++) {
        char path[DISK_PATH_BYTES];
        const struct disk_env_name *name = &prune->envs[prune->env];
        env_path(prune, prune->env, path);
        const struct disk_scan_env env = {
            .name = name->name, .path = path, .readable = name->readable};
        if (name->readable) {
            disk_scan_one(&env, &visitor);
        }
        prune->counts->environments += name->readable;
        prune->counts->foreign += !name->readable;
    }
}

/* --- Choosing -------------------------------------------------------------------- */

/* By task, then kind (a result is the first), the newest first. */
static int compare_entries(const void *left, const void *right)
{
    const struct prune_entry *a = left, *b = right;
    const int order = memcmp(a->key.bytes, b->key.bytes, sizeof(a->key.bytes));
    return order != 0 ? order : (a->made_ns < b->made_ns) - (a->made_ns > b->made_ns);
}

static bool is_old(const struct prune *prune, const struct prune_entry *entry,
                   uint64_t now)
{
    const uint64_t most = prune->options->age_max_ns;
    return most != 0 && entry->made_ns < now && now - entry->made_ns > most;
}

static int compare_age(const void *left, const void *right)
{
    const struct prune_entry *const *a = left, *const *b = right;
    return ((*a)->made_ns < (*b)->made_ns) - ((*a)->made_ns > (*b)->made_ns);
}

/* --- Snapshots ------------------------------------------------------------------- */

/* Whether it is one that is to go. */
static bool is_to_go(const struct prune *prune, const struct disk_snapshot *snapshot)
{
    char id[MOOT_HASH_TEXT_BYTES];
    const char *word = prune->options->snapshot;
    return word != NULL && (strcmp(snapshot->name, word) == 0 ||
                            strcmp(hash_format(&snapshot->id, id), word) == 0);
}

static bool add_named(struct prune *prune, const struct disk_snapshot *snapshot,
                      struct disk_set *set)
{
    struct disk_snapshot again;
    const bool good = disk_snapshot_read(prune->folder, &snapshot->id, &again, set) &&
                      disk_snapshot_is_whole(&again);
    disk_snapshot_release(&again);
    return good;
}

static int refuse_prune(const struct prune *prune, struct text *why, const char *cause)
{
    text_add(why, "%s is as it was: %s", prune->folder, cause);
    return MOOT_ERR_FILE;
}

/* Lists what snapshots name. */
static int read_snapshots(struct prune *prune, struct text *why)
{
    bool has_word = prune->options->snapshot == NULL;
    if (!disk_mark_read(prune->folder, &prune->mark)) {
        return refuse_prune(
            prune, why, "the mark of its last reload is damaged, or not to be read");
    }
    bool has_mark = prune->mark.generation == 0;
    prune->snapshots = disk_snapshot_list(prune->folder, true, &prune->snapshot_count);
    for (size_t i = 0; i < prune->snapshot_count; i++) {
        const struct disk_snapshot *each = &prune->snapshots[i];
        const bool goes = is_to_go(prune, each);
        has_word = has_word || goes;
        if (goes && each->reloaded_to) {
            return refuse_prune(prune, why,
                                "the last reload went back to that snapshot, so the "
                                "folder's results are its");
        }
        if (each->reloaded_to) {
            has_mark = add_named(prune, each, &prune->back);
        }
        if (!goes && disk_snapshot_is_whole(each)) {
            prune->counts->snapshots++;
            add_named(prune, each, &prune->named);
        }
    }
    return !has_word ? refuse_prune(prune, why, "there is no such snapshot")
           : !has_mark
               ? refuse_prune(prune, why,
                              "the snapshot that its last reload went back to is "
                              "damaged; `moot checkpoint verify` says where")
               : MOOT_OK;
}

static void sweep_snapshots(const struct prune *prune)
{
    for (size_t i = 0; i < prune->snapshot_count; i++) {
        if (is_to_go(prune, &prune->snapshots[i])) {
            disk_snapshot_remove(prune->folder, &prune->snapshots[i].id);
        }
    }
    disk_snapshot_sweep(prune->folder);
    disk_mark_sweep(prune->folder);
}

static bool is_same_task(const struct prune_entry *a, const struct prune_entry *b)
{
    return memcmp(a->key.bytes, b->key.bytes, MOOT_HASH_BYTES) == 0;
}

/* Whether a record of the same task, which follows, is an acceptance. */
static bool was_accepted(const struct prune *prune, size_t i)
{
    for (size_t j = i + 1;
         j < prune->count && is_same_task(&prune->entries[i], &prune->entries[j]);
         j++) {
        if (prune->entries[j].key.bytes[MOOT_HASH_BYTES] == DISKSTORE_ACCEPTED) {
            return true;
        }
    }
    return false;
}

/* Fills in what snapshots and the mark say of the record (disk_snapshot.h). */
static void mark_named(struct prune *prune, size_t i)
{
    struct prune_entry *entry = &prune->entries[i];
    const int kind = entry->key.bytes[MOOT_HASH_BYTES];
    moot_hash hash;
    memcpy(hash.bytes, entry->key.bytes, MOOT_HASH_BYTES);
    const bool result = kind == DISKSTORE_RESULT;
    const bool once = kind == DISKSTORE_ACCEPTED || (result && was_accepted(prune, i));
    entry->named = result && disk_set_has(&prune->named, &hash, entry->digest);
    entry->stays = once || entry->named;
    entry->counts = once || entry->generation >= prune->mark.generation ||
                    (result && disk_set_has(&prune->back, &hash, entry->digest));
}

/* --- Choosing what stays ---------------------------------------------------------- */

/* Drops the oldest of those that are kept until the others have `bytes_max`. */
static void bound_bytes(struct prune *prune)
{
    struct disk_prune_counts *counts = prune->counts;
    const uint64_t most = prune->options->bytes_max;
    if (most == 0 || counts->kept_bytes <= most) {
        return;
    }
    struct prune_entry **order = calloc(prune->count + 1, sizeof(struct prune_entry *));
    size_t kept = 0;
    if (order == NULL) {
        prune->no_memory = true;
        return;
    }
    for (size_t i = 0; i < prune->count; i++) {
        const struct prune_entry *entry = &prune->entries[i];
        if (entry->kept && !entry->stays) {
            order[kept++] = &prune->entries[i];
        }
    }
    qsort(order, kept, sizeof(struct prune_entry *), compare_age);
    while (kept > 0 && counts->kept_bytes > most) {
        order[--kept]->kept = false;
        counts->kept_bytes -= order[kept]->bytes;
        counts->kept--;
        counts->over++;
    }
    free(order);
}

/* The place that marking has come to: the first records of this key, and of this task.
 */
struct marking {
    const struct prune_entry *current; /* that counts, of the key */
    const struct prune_entry *result;  /* of the task */
    const struct prune_entry *before;
    uint32_t kept; /* of the key */
    uint64_t now;
};

/* The newest that counts stays, and what a snapshot names. */
static void mark_entry(struct prune *prune, struct prune_entry *entry,
                       struct marking *marking)
{
    struct disk_prune_counts *counts = prune->counts;
    const int kind = entry->key.bytes[MOOT_HASH_BYTES];
    if (marking->before == NULL ||
        memcmp(&marking->before->key, &entry->key, sizeof(entry->key)) != 0) {
        marking->current = NULL;
        marking->kept = 0;
    }
    marking->before = entry;
    const bool twice = marking->current != NULL;
    if (!twice && entry->counts) {
        marking->current = entry;
        marking->result = kind == DISKSTORE_RESULT ? entry : marking->result;
    }
    const bool ended = kind == DISKSTORE_PROGRESS && marking->result != NULL &&
                       is_same_task(marking->result, entry);
    const bool old = !entry->stays && is_old(prune, entry, marking->now);
    entry->kept = entry->named || (entry->counts && !twice && !ended && !old);
    if (entry->kept) {
        counts->kept++;
        counts->kept_bytes += entry->bytes;
        entry->layer = marking->kept++;
        prune->layers = prune->layers > marking->kept ? prune->layers : marking->kept;
    } else if (!entry->counts) {
        counts->undone++;
    } else {
        counts->twice += twice;
        counts->ended += !twice && ended;
        counts->old += !twice && !ended;
    }
}

static void mark_kept(struct prune *prune)
{
    struct marking marking = {.now = disk_now_ns()};
    if (prune->count > 0) {
        qsort(prune->entries, prune->count, sizeof(*prune->entries), compare_entries);
    }
    for (size_t i = 0; i < prune->count; i++) {
        mark_named(prune, i);
        mark_entry(prune, &prune->entries[i], &marking);
    }
    bound_bytes(prune);
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
        target->prune->why = strerror(errno);
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
    env_path(prune, entry->env, from);
    errno = EBADMSG;
    bool good =
        disk_lmdb.get(target->sources[entry->env], &entry->key, &value) == DISK_OK;
    if (good &&
        !disk_record_read(&entry->key, value.bytes, value.size, &found, &place)) {
        free(value.bytes);
        good = false;
    }
    if (!good || !disk_take_data(from, &value, &place, &found)) {
        if (good && !disk_large_is_damage(errno)) {
            prune->why = disk_error(errno);
            return false;
        }
        prune->counts->damaged++;
        prune->counts->kept--;
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
        prune->why = strerror(errno);
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
            env_path(prune, entry->env, path);
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
        prune->why = strerror(errno);
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
        prune->why = strerror(errno);
        good = false;
    }
    if (!good) {
        disk_folder_remove(target.path);
    }
    close(lock);
    return good;
}

/* Records that count are written last: the newest environment is asked first. */
static bool write_kept(struct prune *prune)
{
    bool good = true;
    for (uint32_t layer = prune->layers; good && layer-- > 0;) {
        good = write_layer(prune, layer);
    }
    return good;
}

static void remove_old(const struct prune *prune)
{
    for (size_t i = 0; i < prune->env_count; i++) {
        if (prune->envs[i].readable) {
            disk_env_remove(prune->folder, prune->envs[i].name);
        }
    }
}

/* Whether anything is gained: one environment of good records stays as it is. */
static bool is_worth_it(const struct prune *prune)
{
    const struct disk_prune_counts *counts = prune->counts;
    return counts->environments > (prune->layers > 0 ? prune->layers : 1) ||
           counts->damaged + counts->old + counts->over > 0 ||
           counts->twice + counts->ended + counts->undone > 0 ||
           (counts->environments > 0 && counts->kept == 0);
}

static int prune_locked(struct prune *prune, struct text *why)
{
    const int code = read_snapshots(prune, why);
    if (code != MOOT_OK) {
        return code;
    }
    read_all(prune);
    if (prune->unread != 0) {
        return refuse_prune(prune, why, disk_error(prune->unread));
    }
    if (prune->counts->doubtful > 0 && !prune->options->damaged &&
        !prune->options->dry) {
        text_add(why,
                 "%s is as it was: it is damaged where once tasks may be noted, and "
                 "these would start a second time; --damaged prunes all the same",
                 prune->folder);
        return MOOT_ERR_FILE;
    }
    mark_kept(prune);
    bool good = !prune->no_memory;
    if (good && !prune->options->dry) {
        disk_folder_sweep(prune->folder);
        if (is_worth_it(prune)) {
            good = prune->counts->kept == 0 || write_kept(prune);
            if (good) {
                remove_old(prune);
            }
        }
        if (good) {
            sweep_snapshots(prune);
        }
    }
    if (!good && prune->no_memory) {
        text_add(why, "%s is as it was: %s", prune->folder, strerror(ENOMEM));
    } else if (!good) {
        text_add(why,
                 "%s is as it was: %s; what stays is written there anew before the old "
                 "goes, up to %llu bytes: free as many, or keep less by --older or "
                 "--bytes",
                 prune->folder, prune->why,
                 (unsigned long long)prune->counts->kept_bytes);
    }
    return good ? MOOT_OK : prune->no_memory ? MOOT_ERR_NO_MEMORY : MOOT_ERR_FILE;
}

/* The environments, of which none may be alive: the lock of one that is can be missed,
 * where its file was removed and made again. */
static int list_envs(struct prune *prune, struct text *why)
{
    if (!disk_env_list(prune->folder, NULL, &prune->envs, &prune->env_count)) {
        text_add(why, "%s: %s", prune->folder, strerror(errno));
        return errno == ENOMEM ? MOOT_ERR_NO_MEMORY : MOOT_ERR_FILE;
    }
    for (size_t i = 0; i < prune->env_count; i++) {
        if (prune->envs[i].alive) {
            text_add(why,
                     "%s: process %ld writes %s; prune the folder when that has ended",
                     prune->folder, (long)prune->envs[i].writer, prune->envs[i].name);
            return MOOT_ERR_FILE;
        }
    }
    return MOOT_OK;
}

int disk_prune(const char *folder, const struct disk_prune_options *options,
               struct disk_prune_counts *counts, struct text *why)
{
    pid_t holder;
    struct prune prune = {.folder = folder, .options = options, .counts = counts};
    *counts = (struct disk_prune_counts){0};
    const int lock = disk_folder_lock(folder, DISK_LOCK_WRITE, &holder);
    if (lock < 0 && errno == EAGAIN) {
        text_add(why, "%s is used by process %ld; prune it when that has ended", folder,
                 (long)holder);
        return MOOT_ERR_FILE;
    }
    if (lock < 0) {
        text_add(why, "%s: %s", folder,
                 errno == ENOENT ? "there is no such folder of checkpoints"
                                 : strerror(errno));
        return MOOT_ERR_FILE;
    }
    int code = list_envs(&prune, why);
    if (code == MOOT_OK) {
        code = prune_locked(&prune, why);
    }
    disk_snapshot_list_free(prune.snapshots, prune.snapshot_count);
    disk_set_release(&prune.named);
    disk_set_release(&prune.back);
    free(prune.entries);
    free(prune.envs);
    close(lock);
    return code;
}
