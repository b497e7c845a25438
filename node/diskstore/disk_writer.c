/* disk_writer.c - the thread that writes what was put, behind the program's back.
 *
 * It takes all that waits and commits it as one batch, because a commit costs much more
 * than a record.  For the same reason it lets records gather for a moment, unless a
 * caller waits for them.  A record that fails does not take others with it, except
 * where the environment itself cannot commit; then the whole batch has failed.  The
 * next batch is tried anew: a full disk may have room by then.
 */
#include "node/api/moot.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    GATHER_NS = 50000000,   /* how long records gather, */
    GATHER_BYTES = 4 << 20, /* and up to how many of their bytes */
    BATCH_BYTES = 32 << 20,
    BATCH_RECORDS = 8192,
    OVERHEAD_BYTES = 256, /* of a record beside its data, about */
    VALUE_BYTES = 512,    /* larger results stand in packs */
    SHALLOW = 8,          /* a queue of less than this part of what may wait */
    SLOW_NS = 20000000    /* a disk that takes longer for a piece is slow */
};

/* Says once that nothing is stored, why, and what to do. */
static void tell_failed(struct diskstore *store, const char *cause)
{
    char advice[256];
    const char *remedy = disk_remedy(cause);
    snprintf(advice, sizeof(advice),
             "a later job runs again what is not, and takes a once task that began for "
             "one that may have run; %s, or name another folder by MOOT_CHECKPOINT",
             remedy != NULL ? remedy : "see that it is there and has room");
    disk_tell_unwritten(store, DISK_TROUBLE_WRITE, cause, advice);
}

/* The new environment is made at the first record, so that a process that stores
 * nothing leaves nothing. */
static struct disk_env *make_own_env(struct diskstore *store)
{
    const char *why = NULL;
    store->own_lock = disk_env_make(store->folder, store->own_path);
    if (store->own_lock < 0) {
        tell_failed(store, disk_error(errno));
        return NULL;
    }
    struct disk_env *env =
        store->table->open_writer(store->own_path, store->options.sync, &why);
    if (env == NULL ||
        !disk_env_show(store->folder, store->options.sync, store->own_path)) {
        tell_failed(store, env == NULL ? why : disk_error(errno));
        if (env != NULL) {
            store->table->close(env);
        }
        disk_folder_remove(store->own_path);
        close(store->own_lock);
        store->own_lock = -1;
        store->own_path[0] = '\0';
        return NULL;
    }
    return env;
}

static struct disk_finished *make_own(struct diskstore *store)
{
    struct disk_env *env = make_own_env(store);
    if (env == NULL) {
        return NULL;
    }
    struct disk_finished *own =
        disk_finished_new(store, strrchr(store->own_path, '/') + 1);
    if (own == NULL) {
        store->table->close(env); /* it stays, and is read by others later */
        close(store->own_lock);
        store->own_lock = -1;
        store->own_path[0] = '\0';
        return NULL;
    }
    own->env = env;
    return own;
}

static struct disk_env *own_env(struct diskstore *store)
{
    struct disk_finished *own = atomic_load_explicit(&store->own, memory_order_acquire);
    if (own == NULL) {
        pthread_mutex_lock(&store->opening);
        own = make_own(store);
        pthread_mutex_unlock(&store->opening);
        atomic_store_explicit(&store->own, own, memory_order_release);
    }
    return own != NULL ? own->env : NULL;
}

/* Another object for the environment, as others read it: of one descriptor, where a
 * writer's has three.  NULL: none could be opened. */
static struct disk_finished *open_as_reader(const struct diskstore *store,
                                            const struct disk_finished *own)
{
    const char *why;
    struct disk_finished *reader = disk_finished_new(store, own->name);
    if (reader != NULL) {
        reader->env = store->table->open_reader(reader->path, &why);
    }
    if (reader != NULL && reader->env == NULL) {
        free(reader);
        return NULL;
    }
    return reader;
}

/* Without descriptors the writer's own object goes on reading it. */
void disk_finish_own(struct diskstore *store)
{
    pthread_mutex_lock(&store->opening);
    struct disk_finished *own = atomic_load(&store->own);
    if (own != NULL) {
        struct disk_finished *reader = open_as_reader(store, own);
        struct disk_finished *listed = reader != NULL ? reader : own;
        listed->next = atomic_load(&store->finished);
        atomic_store(&store->finished, listed);
        atomic_store(&store->own, NULL);
        if (reader != NULL) {
            disk_own_retire(store, own);
        }
        close(store->own_lock);
        store->own_lock = -1;
        disk_pack_close(&store->pack);
        store->own_path[0] = '\0';
        store->has_cut = store->has_files = store->has_progress = false;
        store->large_node = store->gone = 0;
    }
    pthread_mutex_unlock(&store->opening);
}

/* --- One batch -------------------------------------------------------------------- */

/* Files that have the data of one record each. */
struct batch_files {
    struct disk_spot spots[2 * BATCH_RECORDS];
    size_t count;
};

struct disk_batch {
    struct disk_env *env;
    struct disk_waiting *first;
    struct batch_files made; /* to be removed if the batch fails */
    struct batch_files left; /* named by no record once it is committed */
    const char *why;         /* it failed as a whole */
    uint64_t bytes, large_bytes, records;
    uint64_t taken;     /* of `bytes_max` */
    bool has_data;      /* some of them in files */
    uint64_t around_ns; /* of the pack, when it began */
};

struct disk_batch *disk_batch_new(void) { return calloc(1, sizeof(struct disk_batch)); }

static void note_file(struct batch_files *files, uint64_t number)
{
    assert(files->count < sizeof(files->spots) / sizeof(*files->spots));
    if (number != 0) {
        files->spots[files->count++] =
            (struct disk_spot){.home = DISK_IN_FILE, .number = number};
    }
}

static void remove_files(const struct diskstore *store, const struct batch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        disk_large_remove(store->own_path, files->spots[i].number);
    }
}

/* Writes data that are too large for the value, and says where.  A file that cannot be
 * written is its record's trouble alone. */
static enum disk_end write_data(struct diskstore *store, struct disk_batch *batch,
                                const struct diskstore_record *record,
                                struct disk_spot *out)
{
    *out = (struct disk_spot){.home = DISK_IN_VALUE};
    if (record->kind == DISKSTORE_RESULT && record->size > VALUE_BYTES &&
        record->size <= store->options.large_bytes) {
        return disk_pack_add(&store->pack, &store->last_large, record->data,
                             record->size, out)
                   ? DISK_OK
                   : DISK_FAILED;
    }
    if (record->size <= store->options.large_bytes) {
        return DISK_OK;
    }
    out->home = DISK_IN_FILE;
    out->number = ++store->last_large;
    if (!disk_large_write(store->own_path, out->number, record->data, record->size,
                          store->options.sync)) {
        tell_failed(store, disk_error(errno));
        return DISK_NONE;
    }
    note_file(&batch->made, out->number);
    store->has_files = true;
    batch->large_bytes += record->size;
    return DISK_OK;
}

/* The file of its own that a record has, which is to go; 0: none.  Only an environment
 * that has such files, or half-done states, is asked. */
static void leave_file(struct diskstore *store, struct disk_batch *batch,
                       const struct disk_key *key)
{
    if (store->has_files) {
        note_file(&batch->left, store->table->large(batch->env, key));
    }
}

/* A result ends its task's half-done state. */
static void erase_progress(struct diskstore *store, struct disk_batch *batch,
                           const struct diskstore_record *record)
{
    if (record->kind == DISKSTORE_RESULT && store->has_progress) {
        const struct disk_key key = disk_key(&record->hash, DISKSTORE_PROGRESS);
        leave_file(store, batch, &key);
        store->table->erase(batch->env, &key);
    }
}

static bool harms_batch(struct diskstore *store)
{
    pthread_mutex_lock(&store->harming);
    const bool full =
        store->harm.batch != NULL && store->harm.batch(store->harm.context);
    pthread_mutex_unlock(&store->harming);
    return full;
}

/* Flips a bit of what stands before the data, which are not this room's to change; the
 * digest is over both. */
static void harm_record(struct diskstore *store, struct disk_image *image)
{
    uint64_t word;
    pthread_mutex_lock(&store->harming);
    if (store->harm.record != NULL && store->harm.record(store->harm.context, &word)) {
        const uint64_t bit = word % (8 * (uint64_t)image->head_size);
        image->head[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    pthread_mutex_unlock(&store->harming);
}

/* Whether the record must not take the place of the one that is there: a snapshot may
 * name that, and another would not be the same to the last byte. */
static bool must_stay(struct diskstore *store, const struct disk_key *key)
{
    struct disk_value value;
    struct disk_place place;
    struct diskstore_found found;
    if (!store->has_cut || key->bytes[MOOT_HASH_BYTES] != DISKSTORE_RESULT ||
        store->table->get(store->batch->env, key, &value) != DISK_OK) {
        return false;
    }
    const bool good = disk_record_read(key, value.bytes, value.size, &found, &place) &&
                      found.status == MOOT_OK;
    free(value.bytes);
    return good;
}

/* The bytes of `bytes_max` that the record takes. */
static uint64_t room_of(const struct diskstore_record *record)
{
    return record->size + OVERHEAD_BYTES;
}

/* Puts the record into the batch; false: the batch is to be given up. */
static bool put_record(struct diskstore *store, struct disk_batch *batch,
                       struct disk_waiting *waiting)
{
    const struct diskstore_record *record = &waiting->record;
    const struct disk_key key = disk_key(&record->hash, record->kind);
    if (record->generation < diskstore_generation(store)) {
        return true;
    }
    if (must_stay(store, &key)) {
        waiting->end = DISK_STORED;
        return true;
    }
    struct disk_image image;
    struct disk_spot spot;
    const enum disk_end written = write_data(store, batch, record, &spot);
    if (written != DISK_OK) {
        batch->why = disk_error(errno);
        return written == DISK_NONE;
    }
    disk_record_write(record, &spot, &image);
    harm_record(store, &image);
    leave_file(store, batch, &key);
    if (store->table->put(batch->env, &key, &image, &batch->why) != DISK_OK) {
        return false;
    }
    batch->has_data |= spot.home != DISK_IN_VALUE;
    store->has_progress |= record->kind == DISKSTORE_PROGRESS;
    erase_progress(store, batch, record);
    waiting->end = DISK_STORED;
    batch->records++;
    batch->bytes += record->size;
    batch->taken += room_of(record);
    return true;
}

/* The bytes of the folder, with those of the batch. */
static uint64_t bytes_with(struct diskstore *store, const struct disk_batch *batch)
{
    pthread_mutex_lock(&store->lock);
    const uint64_t bytes = store->counts.bytes + batch->taken;
    pthread_mutex_unlock(&store->lock);
    return bytes;
}

static void tell_over(struct diskstore *store, const struct disk_batch *batch,
                      uint64_t room)
{
    char cause[128];
    const uint64_t most = store->options.bytes_max;
    if (room > most) {
        snprintf(cause, sizeof(cause),
                 "one takes %" PRIu64 " bytes, and the folder may have %" PRIu64, room,
                 most);
        disk_tell_unwritten(store, DISK_TROUBLE_LARGE, cause,
                            "MOOT_CHECKPOINT_MIB says how many it may have");
        return;
    }
    snprintf(cause, sizeof(cause),
             "the folder has %" PRIu64 " of the %" PRIu64 " bytes that it may have",
             bytes_with(store, batch), most);
    disk_tell_unwritten(store, DISK_TROUBLE_FULL, cause,
                        "`moot checkpoint prune` drops what is there twice or old, "
                        "and MOOT_CHECKPOINT_MIB says how many it may have");
}

/* Whether the folder has room for the record by `bytes_max`; if not, that is its end.
 */
static bool fits(struct diskstore *store, const struct disk_batch *batch,
                 struct disk_waiting *waiting)
{
    const uint64_t most = store->options.bytes_max, room = room_of(&waiting->record);
    const uint64_t bytes = most != 0 ? bytes_with(store, batch) : 0;
    const bool good = most == 0 || (bytes <= most && room <= most - bytes);
    if (!good) {
        waiting->end = DISK_OVER;
        tell_over(store, batch, room);
    }
    return good;
}

/* Whether any record of the batch fits: where none does there is no environment to be
 * made. */
static bool any_fits(struct diskstore *store, const struct disk_batch *batch)
{
    bool any = false;
    for (struct disk_waiting *each = batch->first; each != NULL && !any;
         each = each->next) {
        any = fits(store, batch, each);
    }
    return any;
}

static bool sync_data(struct diskstore *store, struct disk_batch *batch)
{
    const bool good =
        disk_pack_write(&store->pack) &&
        (!store->options.sync ||
         disk_large_sync(store->own_path, batch->made.spots, batch->made.count));
    if (!good) {
        batch->why = disk_error(errno);
    }
    return good;
}

static bool put_records(struct diskstore *store, struct disk_batch *batch)
{
    store->pack.folder = store->own_path;
    store->pack.sync = store->options.sync;
    bool good = store->table->begin(batch->env, &batch->why) == DISK_OK;
    for (struct disk_waiting *each = batch->first; good && each != NULL;
         each = each->next) {
        if (fits(store, batch, each)) {
            good = put_record(store, batch, each);
        }
    }
    if (!good || !sync_data(store, batch)) {
        store->table->abort(batch->env);
        return false;
    }
    return store->table->commit(batch->env, &batch->why) == DISK_OK;
}

static bool write_records(struct diskstore *store, struct disk_batch *batch)
{
    if (harms_batch(store)) {
        batch->why = strerror(ENOSPC);
        return false;
    }
    if (!disk_env_is_gone(store->own_lock)) {
        disk_gone_look(store, batch->env);
    }
    const bool good = put_records(store, batch);
    if (good) {
        disk_pack_keep(&store->pack);
    }
    if (disk_env_is_gone(store->own_lock)) {
        batch->why = "the folder was removed while it was in use";
        return false;
    }
    if (good && store->large_node == 0 && batch->has_data) {
        store->large_node = disk_large_node(store->own_path);
    }
    return good;
}

static void lose_batch(struct diskstore *store, struct disk_batch *batch)
{
    for (struct disk_waiting *each = batch->first; each != NULL; each = each->next) {
        each->end = each->end == DISK_OVER ? DISK_OVER : DISK_LOST;
    }
    batch->taken = 0;
    if (batch->env != NULL) {
        disk_pack_drop(&store->pack);
        remove_files(store, &batch->made);
        tell_failed(store, batch->why);
    }
}

/* `ns` is without writes around the kernel's cache: those keep the disk busy, and no
 * processor. */
static void learn_cost(struct diskstore *store, const struct disk_batch *batch,
                       uint64_t ns)
{
    if (batch->large_bytes > 0) {
        store->byte_ns +=
            ((double)ns / (double)batch->large_bytes - store->byte_ns) / 8;
    } else if (batch->records > 0) {
        store->record_ns +=
            ((double)ns / (double)batch->records - store->record_ns) / 8;
    }
}

/* Tells its maker how the record ended. */
static void tell_maker(const struct disk_waiting *waiting)
{
    const bool stored = waiting->end == DISK_STORED;
    if (waiting->done != NULL) {
        waiting->done(waiting->context, stored);
    }
    if (waiting->stored != NULL) {
        *waiting->stored = stored;
    }
}

/* Counts, tells makers, frees. */
static void finish_batch(struct diskstore *store, const struct disk_batch *batch,
                         uint64_t start)
{
    uint64_t ends[DISK_ENDS] = {0}, bytes = 0;
    for (struct disk_waiting *each = batch->first, *next; each != NULL; each = next) {
        next = each->next;
        ends[each->end]++;
        bytes += each->record.size;
        tell_maker(each);
        free(each);
    }
    const uint64_t ns = disk_clock_ns() - start;
    const uint64_t finished =
        ends[DISK_STORED] + ends[DISK_LOST] + ends[DISK_OVER] + ends[DISK_DONE];
    pthread_mutex_lock(&store->lock);
    store->counts.waiting -= finished;
    store->counts.waiting_bytes -= bytes;
    store->counts.stored += ends[DISK_STORED];
    store->counts.failed += ends[DISK_LOST];
    store->counts.over += ends[DISK_OVER];
    store->counts.write_ns += ns;
    store->counts.bytes += batch->taken;
    if (ends[DISK_STORED] > 0) {
        store->counts.stored_bytes += batch->bytes;
        learn_cost(store, batch, ns - (store->pack.around_ns - batch->around_ns));
    }
    store->done_number += finished;
    pthread_cond_broadcast(&store->room);
    pthread_cond_broadcast(&store->written);
    pthread_mutex_unlock(&store->lock);
}

static void write_batch(struct diskstore *store, struct disk_waiting *first)
{
    const uint64_t start = disk_clock_ns();
    struct disk_batch *batch = store->batch;
    batch->first = first;
    batch->made.count = batch->left.count = 0;
    batch->bytes = batch->large_bytes = batch->records = batch->taken = 0;
    batch->has_data = false;
    batch->around_ns = store->pack.around_ns;
    if (first->job != NULL) {
        disk_job_run(store, first->job);
        first->end = DISK_DONE;
        finish_batch(store, batch, start);
        return;
    }
    batch->env = any_fits(store, batch) ? own_env(store) : NULL;
    if (batch->env != NULL && write_records(store, batch)) {
        remove_files(store, &batch->left);
    } else {
        lose_batch(store, batch);
    }
    finish_batch(store, batch, start);
}

/* --- The thread ------------------------------------------------------------------- */

bool disk_has_gathered(const struct diskstore *store)
{
    return store->jobs > 0 || store->counts.waiting_bytes >= GATHER_BYTES ||
           store->counts.waiting >= BATCH_RECORDS;
}

/* Lets records gather until there are enough, a caller or a job waits, or a moment has
 * passed.  Under the lock. */
static void let_gather(struct diskstore *store)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until); /* as `work` does */
    until.tv_nsec += GATHER_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int end = 0;
    while (end == 0 && store->hurried == 0 && !store->ending &&
           !disk_has_gathered(store)) {
        end = pthread_cond_timedwait(&store->work, &store->lock, &until);
    }
}

/* Data go around the kernel's cache while the disk keeps up: a queue that grows needs
 * the cache's speed more than the job does the processor's time.  Under the lock. */
static void choose_way(struct diskstore *store)
{
    const bool shallow =
        store->counts.waiting_bytes < store->options.queue_bytes / SHALLOW;
    store->pack.around_max_ns = shallow ? SLOW_NS : 0;
}

/* Takes as much of the queue as one batch may have; a job stands alone.  Under the
 * lock. */
static struct disk_waiting *take_batch(struct diskstore *store)
{
    struct disk_waiting *first = store->first, **end = &store->first;
    uint64_t bytes = 0;
    for (size_t count = 0; *end != NULL && count < BATCH_RECORDS && bytes < BATCH_BYTES;
         count++) {
        if (count > 0 && ((*end)->job != NULL || first->job != NULL)) {
            break;
        }
        bytes += (*end)->record.size;
        end = &(*end)->next;
    }
    store->first = *end;
    *end = NULL;
    store->jobs -= first->job != NULL;
    if (store->first == NULL) {
        store->last = &store->first;
    }
    return first;
}

void *disk_writer_run(void *context)
{
    struct diskstore *store = context;
    sigset_t all;
    sigfillset(&all); /* SIGXFSZ among them: then the write says EFBIG */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_mutex_lock(&store->lock);
    for (;;) {
        while (store->first == NULL && !store->ending) {
            pthread_cond_wait(&store->work, &store->lock);
        }
        if (store->first == NULL) {
            break;
        }
        let_gather(store);
        choose_way(store);
        struct disk_waiting *batch = take_batch(store);
        pthread_mutex_unlock(&store->lock);
        write_batch(store, batch);
        pthread_mutex_lock(&store->lock);
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}
