/* disk_prune.c - see disk_prune.h.
 *
 * One pass reads and verifies everything and lists what there is.  The list is sorted
 * by key, the newest first, and marked.  A second pass writes what is kept, and makes
 * each record anew, because its data get another place: a file of their own is linked,
 * and what stood in a pack is copied into a new one.
 */
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"
#include "node/diskstore/disk_prune_private.h"
#include "node/diskstore/disk_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void prune_env_path(const struct prune *prune, size_t env, char path[DISK_PATH_BYTES])
{
    snprintf(path, DISK_PATH_BYTES, "%s/%s", prune->folder, prune->envs[env].name);
}

/* --- Reading ---------------------------------------------------------------------- */

/* An environment that cannot be opened now is no damaged one. */
static void note_env(void *context, const struct disk_scan_env *env)
{
    struct prune *prune = context;
    char path[DISK_PATH_BYTES];
    if (env->why == NULL ||
        snprintf(path, sizeof(path), "%s/data.mdb", env->path) >= (int)sizeof(path)) {
        return;
    }
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int cause = fd < 0                                    ? errno
                      : strcmp(env->why, strerror(ENOMEM)) == 0 ? ENOMEM
                                                                : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (cause != 0 && !disk_large_is_damage(cause)) {
        prune->unread = cause;
        snprintf(prune->where, sizeof(prune->where), "%s", path);
    }
}

static void note_damage(void *context, const struct disk_scan_env *env,
                        const struct disk_key *key)
{
    struct prune *prune = context;
    if (key != NULL && !disk_large_is_damage(errno)) {
        prune->unread = errno;
        snprintf(prune->where, sizeof(prune->where), "%s", env->path);
    }
    prune->counts->damaged++;
    prune->counts->doubtful +=
        key == NULL || key->bytes[MOOT_HASH_BYTES] == DISKSTORE_ACCEPTED;
}

static void note_spot(void *context, const struct disk_spot *spot)
{
    struct prune *prune = context;
    prune->home = spot->home;
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
                             .home = prune->home,
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
        .spot = note_spot,
        .record = note_record,
        .damaged = note_damage,
    };
    for (prune->env = 0; prune->env < prune->env_count; prune->env++) {
        char path[DISK_PATH_BYTES];
        const struct disk_env_name *name = &prune->envs[prune->env];
        prune_env_path(prune, prune->env, path);
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
    if (!has_word) {
        text_add(why, "%s is as it was: there is no snapshot '%s'", prune->folder,
                 prune->options->snapshot);
        disk_snapshot_tell_names(prune->folder, why);
        return MOOT_ERR_FILE;
    }
    return has_mark ? MOOT_OK
                    : refuse_prune(prune, why,
                                   "the snapshot that its last reload went back to is "
                                   "damaged; `moot checkpoint verify` says where");
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

/* --- Failures --------------------------------------------------------------------- */

/* Adds what helps against the cause. */
static void add_advice(const struct prune *prune, struct text *why)
{
    const char *remedy = disk_remedy(prune->why);
    if (remedy != NULL) {
        text_add(why, "; %s", remedy);
    } else if (!disk_tells_lack(prune->why)) {
        text_add(
            why,
            "; what stays is written there anew before the old goes, up to %" PRIu64
            " bytes: free as many, or keep less by --older or --bytes",
            prune->counts->kept_bytes);
    }
}

static int tell_failure(const struct prune *prune, struct text *why)
{
    if (prune->no_memory) {
        text_add(why, "%s is as it was: %s", prune->folder, strerror(ENOMEM));
        return MOOT_ERR_NO_MEMORY;
    }
    text_add(why, "%s is as it was: %s%s%s", prune->folder, prune->where,
             prune->where[0] != '\0' ? ": " : "", prune->why);
    add_advice(prune, why);
    return MOOT_ERR_FILE;
}

/* --- Doing it --------------------------------------------------------------------- */

static void remove_old(const struct prune *prune)
{
    for (size_t i = 0; i < prune->env_count; i++) {
        if (prune->envs[i].readable) {
            disk_env_remove(prune->folder, prune->envs[i].name);
        }
    }
}

/* Counts the bytes of files and packs that belong to no good record. */
static void count_rubbish(struct prune *prune)
{
    char path[DISK_PATH_BYTES];
    uint64_t there = 0, named = 0;
    for (size_t i = 0; i < prune->env_count; i++) {
        prune_env_path(prune, i, path);
        there += prune->envs[i].readable ? disk_large_bytes(path) : 0;
    }
    for (size_t i = 0; i < prune->count; i++) {
        const struct prune_entry *entry = &prune->entries[i];
        named += entry->home != DISK_IN_VALUE ? entry->bytes : 0;
    }
    prune->counts->unnamed_bytes = there > named ? there - named : 0;
    prune->is_mostly_rubbish = prune->counts->unnamed_bytes > named;
}

/* Whether anything is gained: one environment of good records, most of whose bytes are
 * theirs, stays as it is. */
static bool is_worth_it(const struct prune *prune)
{
    const struct disk_prune_counts *counts = prune->counts;
    return counts->environments > (prune->layers > 0 ? prune->layers : 1) ||
           counts->damaged + counts->old + counts->over > 0 ||
           counts->twice + counts->ended + counts->undone > 0 ||
           (counts->environments > 0 && counts->kept == 0) || prune->is_mostly_rubbish;
}

/* Whether the folder can be changed.  A lack of room shows when it is written; a dry
 * run looks for it. */
static bool is_possible(struct prune *prune)
{
    const bool writes = prune->options->dry && prune->counts->kept > 0;
    return prune_may_change(prune) && (!writes || prune_has_room(prune));
}

static bool change_folder(struct prune *prune, bool worth_it)
{
    disk_folder_sweep(prune->folder);
    if (worth_it) {
        if (prune->counts->kept > 0 && !prune_write(prune)) {
            return false;
        }
        remove_old(prune);
    }
    sweep_snapshots(prune);
    return true;
}

static int prune_locked(struct prune *prune, struct text *why)
{
    const int code = read_snapshots(prune, why);
    if (code != MOOT_OK) {
        return code;
    }
    read_all(prune);
    if (prune->unread != 0) {
        prune->why = disk_error(prune->unread);
        return tell_failure(prune, why);
    }
    if (prune->counts->doubtful > 0 && !prune->options->damaged) {
        return refuse_prune(prune, why,
                            "it is damaged where once tasks may be noted, and these "
                            "would start a second time; --damaged prunes all the same");
    }
    mark_kept(prune);
    count_rubbish(prune);
    const bool worth_it = is_worth_it(prune);
    if (!worth_it) {
        prune->counts->unnamed_bytes = 0;
    }
    bool good = !prune->no_memory && (!worth_it || is_possible(prune));
    if (good && !prune->options->dry) {
        good = change_folder(prune, worth_it);
    }
    return good ? MOOT_OK : tell_failure(prune, why);
}

/* The environments, of which none may be alive: the lock of one that is can be missed,
 * where its file was removed and made again. */
static int list_envs(struct prune *prune, struct text *why)
{
    if (!disk_env_list(prune->folder, NULL, &prune->envs, &prune->env_count)) {
        prune->no_memory = errno == ENOMEM;
        prune->why = disk_error(errno);
        return tell_failure(prune, why);
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

/* Says, by errno, why the folder's lock was not to be had. */
static int tell_no_lock(struct prune *prune, pid_t holder, struct text *why)
{
    const int cause = errno;
    if (cause == EAGAIN && holder == 0) {
        text_add(why,
                 "%s is used by a process of another container; prune it when that "
                 "has ended",
                 prune->folder);
    } else if (cause == EAGAIN) {
        text_add(why, "%s is used by process %ld; prune it when that has ended",
                 prune->folder, (long)holder);
    } else if (cause == ENOENT || cause == ENOTDIR) {
        disk_folder_tell_none(prune->folder, why);
    } else {
        prune->why = disk_error(cause);
        return tell_failure(prune, why);
    }
    return MOOT_ERR_FILE;
}

int disk_prune(const char *folder, const struct disk_prune_options *options,
               struct disk_prune_counts *counts, struct text *why)
{
    pid_t holder;
    struct prune prune = {.folder = folder, .options = options, .counts = counts};
    *counts = (struct disk_prune_counts){0};
    const int lock = disk_folder_lock(folder, DISK_LOCK_WRITE, &holder);
    if (lock < 0) {
        return tell_no_lock(&prune, holder, why);
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
