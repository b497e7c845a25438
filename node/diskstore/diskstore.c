/* diskstore.c - opens stores and takes records (diskstore.h).
 *
 * The stores of the process stand in a list, by the real path of their folder: LMDB
 * must not have an environment open twice in one process, and two moots of a process
 * are to see each other's records.
 */
#include "node/diskstore/diskstore.h"
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_learn.h"
#include "node/diskstore/disk_private.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LARGE_DEFAULT = 256 << 10, LARGE_MAX = 16 << 20, QUEUE_DEFAULT = 64 << 20 };
/* How long, and how often, processes of another job may take to end. */
enum { OTHER_JOB_LOOK_NS = 50000000, OTHER_JOB_LOOKS = 60 };

struct disk_stores disk_stores = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t disk_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t disk_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void disk_tell(struct diskstore *store, enum disk_trouble trouble, const char *format,
               ...)
{
    pthread_mutex_lock(&store->lock);
    const bool told = (store->told & (unsigned)trouble) != 0;
    store->told |= (unsigned)trouble;
    if (!told) {
        va_list args;
        va_start(args, format);
        text_add_args(&store->lines, format, args);
        va_end(args);
        text_add(&store->lines, "\n");
    }
    pthread_mutex_unlock(&store->lock);
}

void disk_tell_unwritten(struct diskstore *store, enum disk_trouble trouble,
                         const char *cause, const char *advice)
{
    pthread_mutex_lock(&store->lock);
    text_clear(&store->why);
    text_add(&store->why, "%s", cause);
    pthread_mutex_unlock(&store->lock);
    if (disk_tells_lack(cause)) {
        disk_tell(store, DISK_TROUBLE_FILES,
                  "%s: results are not stored: %s; a later job runs again what is not, "
                  "and takes a once task that began for one that may have run",
                  store->folder, cause);
    } else {
        disk_tell(store, trouble, "%s: results are not stored: %s; %s", store->folder,
                  cause, advice);
    }
}

size_t diskstore_told(struct diskstore *store, size_t from, struct text *out)
{
    pthread_mutex_lock(&store->lock);
    const size_t length = store->lines.length;
    if (from < length) {
        text_add(out, "%s", text_get(&store->lines) + from);
    }
    pthread_mutex_unlock(&store->lock);
    return length;
}

void diskstore_why(struct diskstore *store, struct text *out)
{
    pthread_mutex_lock(&store->lock);
    text_add(out, "%s", text_get(&store->why));
    pthread_mutex_unlock(&store->lock);
}

/* --- Environments that are read --------------------------------------------------- */

static bool is_open(struct diskstore *store, const char *name)
{
    for (const struct disk_finished *each = atomic_load(&store->finished); each != NULL;
         each = each->next) {
        if (strcmp(each->name, name) == 0) {
            return true;
        }
    }
    return false;
}

struct disk_finished *disk_finished_new(const struct diskstore *store, const char *name)
{
    const size_t size = strlen(store->folder) + 1 + strlen(name) + 1;
    struct disk_finished *finished = calloc(1, sizeof(*finished) + size);
    if (finished != NULL) {
        snprintf(finished->path, size, "%s/%s", store->folder, name);
        snprintf(finished->name, sizeof(finished->name), "%s", name);
    }
    return finished;
}

static bool open_finished(struct diskstore *store, const struct disk_env_name *name)
{
    struct disk_finished *finished = disk_finished_new(store, name->name);
    const char *why = strerror(ENOMEM);
    if (finished != NULL) {
        finished->env = store->table->open_reader(finished->path, &why);
    }
    if (finished == NULL || finished->env == NULL) {
        const bool lack = disk_tells_lack(why);
        atomic_store(&store->blind, true);
        store->lacks_files |= lack;
        disk_tell(store, lack ? DISK_TROUBLE_FILES : DISK_TROUBLE_OPEN,
                  "%s/%s: its results are not read: %s%s", store->folder, name->name,
                  why, lack ? "" : "; `moot checkpoint verify` looks at all");
        pthread_mutex_lock(&store->lock);
        store->counts.damaged++;
        pthread_mutex_unlock(&store->lock);
        free(finished);
        return false;
    }
    const uint64_t records = store->table->entries(finished->env);
    finished->next = atomic_load(&store->finished);
    atomic_store(&store->finished, finished);
    pthread_mutex_lock(&store->lock);
    store->counts.environments++;
    store->counts.records += records;
    pthread_mutex_unlock(&store->lock);
    return true;
}

/* The last opened is asked first, so the oldest is opened first. */
size_t diskstore_look_again(struct diskstore *store)
{
    size_t count, opened = 0;
    pthread_mutex_lock(&store->opening);
    store->lacks_files = false;
    const char *own = strrchr(store->own_path, '/');
    struct disk_env_name *all;
    if (!disk_env_list(store->folder, own != NULL ? own + 1 : NULL, &all, &count)) {
        const int cause = errno;
        atomic_store(&store->blind, true);
        store->lacks_files |= disk_lacks_files(cause);
        disk_tell(store,
                  disk_lacks_files(cause) ? DISK_TROUBLE_FILES : DISK_TROUBLE_OTHER,
                  "%s: its results are not read, as the folder cannot be: %s",
                  store->folder, disk_error(cause));
    }
    for (size_t i = count; i-- > 0;) {
        if (!all[i].readable) {
            atomic_store(&store->blind, true);
            disk_tell(store, DISK_TROUBLE_OTHER,
                      "%s/%s: its results are not read: another version of moot wrote "
                      "them, or it "
                      "cannot be looked into, or is a link",
                      store->folder, all[i].name);
        } else if (!all[i].alive && !is_open(store, all[i].name)) {
            opened += open_finished(store, &all[i]);
        }
    }
    free(all);
    pthread_mutex_unlock(&store->opening);
    return opened;
}

static uint64_t folder_bytes(const struct diskstore *store)
{
    char path[DISK_PATH_BYTES];
    size_t count;
    uint64_t bytes = 0;
    struct disk_env_name *all;
    (void)disk_env_list(store->folder, NULL, &all, &count); /* told before */
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", store->folder, all[i].name);
        bytes += disk_folder_bytes(path);
    }
    free(all);
    return bytes;
}

/* --- Opening ---------------------------------------------------------------------- */

static int refuse_open(struct text *why, const char *folder, const char *cause)
{
    text_add(why, "checkpoints cannot be kept in %s: %s", folder, cause);
    return MOOT_ERR_FILE;
}

/* The folder's real path, malloc'ed; NULL, and why.  Its name is synced whoever made
 * it: that may have been killed before it had done so. */
static char *make_folder(const char *folder, struct text *why)
{
    const bool made = mkdir(folder, 0755) == 0, there = made || errno == EEXIST;
    char *path = there ? realpath(folder, NULL) : NULL;
    if (path != NULL && !disk_sync_parent(path) && made) {
        free(path);
        path = NULL;
    }
    if (path == NULL) {
        refuse_open(why, folder, disk_error(errno));
        return NULL;
    }
    const char *system = disk_folder_refused(path);
    if (strlen(path) + 2 * DISK_NAME_BYTES > DISK_PATH_BYTES) {
        refuse_open(why, folder, "its path is too long");
    } else if (system != NULL) {
        text_add(
            why,
            "checkpoints cannot be kept in %s: it lies on %s, whose locks and memory "
            "maps are not to be trusted; name a folder on a disk of each host, and "
            "copy it where it is to be kept when the job has ended",
            folder, system);
    } else {
        return path;
    }
    free(path);
    return NULL;
}

static void take_options(struct diskstore *store,
                         const struct diskstore_options *options)
{
    if (options != NULL) {
        store->options = *options;
    }
    if (store->options.large_bytes == 0) {
        store->options.large_bytes = LARGE_DEFAULT;
    }
    if (store->options.large_bytes > LARGE_MAX) {
        store->options.large_bytes = LARGE_MAX;
    }
    if (store->options.queue_bytes == 0) {
        store->options.queue_bytes = QUEUE_DEFAULT;
    }
}

/* A condition whose waits are timed by a clock that nobody sets: records would gather
 * for as long as the host's clock is set back. */
static void make_timed(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static struct diskstore *new_store(const struct disk_table *table, char *path,
                                   const struct diskstore_options *options)
{
    struct diskstore *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return NULL;
    }
    store->table = table;
    store->folder = path;
    store->openers = 1;
    store->last = &store->first;
    store->own_lock = -1;
    store->record_ns = 20000;
    store->byte_ns = 1;
    take_options(store, options);
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->opening, NULL);
    pthread_mutex_init(&store->harming, NULL);
    make_timed(&store->work);
    pthread_cond_init(&store->room, NULL);
    pthread_cond_init(&store->written, NULL);
    pthread_cond_init(&store->to_learn, NULL);
    return store;
}

static void close_each(const struct diskstore *store, struct disk_finished *list)
{
    for (struct disk_finished *each = list, *next; each != NULL; each = next) {
        next = each->next;
        store->table->close(each->env);
        free(atomic_load(&each->filter));
        free(each);
    }
}

static void free_store(struct diskstore *store)
{
    disk_learn_end(store);
    struct disk_finished *own = atomic_load(&store->own);
    for (struct disk_back *each = atomic_load(&store->back), *next; each != NULL;
         each = next) {
        next = each->next;
        disk_set_release(&each->set);
        free(each);
    }
    close_each(store, atomic_load(&store->finished));
    if (own != NULL) {
        store->table->close(own->env);
        free(own);
    }
    if (store->own_lock >= 0) {
        close(store->own_lock);
    }
    if (store->folder_lock >= 0) {
        close(store->folder_lock);
    }
    pthread_cond_destroy(&store->to_learn);
    disk_reserve_release(&store->reserve);
    pthread_cond_destroy(&store->written);
    pthread_cond_destroy(&store->room);
    pthread_cond_destroy(&store->work);
    pthread_mutex_destroy(&store->harming);
    pthread_mutex_destroy(&store->opening);
    pthread_mutex_destroy(&store->lock);
    text_release(&store->lines);
    text_release(&store->why);
    disk_names_release(&store->cut_names);
    disk_pack_close(&store->pack);
    free(store->batch);
    free(store->folder);
    free(store);
}

/* Joins the job; gives processes of another one some time to end.  False: FILE, and
 * why. */
static bool join_job(const struct diskstore *store, struct text *why)
{
    const struct timespec pause = {.tv_nsec = OTHER_JOB_LOOK_NS};
    pid_t holder = 0;
    bool joined = store->options.job == 0;
    for (int look = 0; !joined && look < OTHER_JOB_LOOKS; look++) {
        if (look > 0) {
            nanosleep(&pause, NULL);
        }
        joined = disk_folder_join(store->folder_lock, store->options.job, &holder);
        if (!joined && errno != EAGAIN) {
            refuse_open(why, store->folder, disk_error(errno));
            return false;
        }
    }
    if (!joined) {
        text_add(why, "checkpoints cannot be kept in %s: ", store->folder);
        if (holder != 0) {
            text_add(why, "process %ld", (long)holder);
        } else {
            text_add(why, "a process of another container");
        }
        text_add(why, ", of another job, uses it, and once tasks that it has started "
                      "would start again; wait until it ends, or end it");
        if (holder != 0) {
            text_add(why, " (kill %ld)", (long)holder);
        }
        text_add(why, ", or name another folder");
    }
    return joined;
}

/* Under the lock of the list.  Takes the path. */
static int open_new(const struct disk_table *table, char *path,
                    const struct diskstore_options *options, struct text *why,
                    struct diskstore **out)
{
    pid_t holder;
    struct diskstore *store = new_store(table, path, options);
    if (store == NULL) {
        free(path);
        return MOOT_ERR_NO_MEMORY;
    }
    disk_reserve_init(&store->reserve, path);
    store->folder_lock = disk_folder_lock(path, DISK_LOCK_READ, &holder);
    if (store->folder_lock < 0) {
        if (errno == EAGAIN) {
            text_add(why, "checkpoints cannot be kept in %s: process %ld prunes it",
                     path, (long)holder);
        } else {
            refuse_open(why, path, disk_error(errno));
        }
        free_store(store);
        return MOOT_ERR_FILE;
    }
    if (!join_job(store, why) || !disk_read_back(store, why)) {
        free_store(store);
        return MOOT_ERR_FILE;
    }
    diskstore_look_again(store);
    store->counts.bytes = store->options.bytes_max != 0 ? folder_bytes(store) : 0;
    store->batch = disk_batch_new();
    if (store->batch == NULL ||
        pthread_create(&store->thread, NULL, disk_writer_run, store) != 0) {
        text_add(why, "the store of checkpoints got no thread");
        free_store(store);
        return MOOT_ERR_NO_MEMORY;
    }
    store->next = disk_stores.first;
    disk_stores.first = store;
    *out = store;
    return MOOT_OK;
}

int disk_open_on(const struct disk_table *table, const char *folder,
                 const struct diskstore_options *options, struct text *why,
                 struct diskstore **out)
{
    if (!hashing_init()) {
        text_add(why, "libsodium does not start");
        return MOOT_ERR_NO_MEMORY;
    }
    char *path = make_folder(folder, why);
    if (path == NULL) {
        return MOOT_ERR_FILE;
    }
    int end = MOOT_OK;
    pthread_mutex_lock(&disk_stores.lock);
    struct diskstore *store = disk_stores.first;
    while (store != NULL && strcmp(store->folder, path) != 0) {
        store = store->next;
    }
    if (store != NULL) {
        store->openers++;
        *out = store;
        free(path);
    } else {
        end = open_new(table, path, options, why, out);
    }
    pthread_mutex_unlock(&disk_stores.lock);
    return end;
}

int diskstore_open(const char *folder, const struct diskstore_options *options,
                   struct text *why, struct diskstore **out)
{
    return disk_open_on(&disk_lmdb, folder, options, why, out);
}

static void unlist(struct diskstore *store)
{
    struct diskstore **at = &disk_stores.first;
    while (*at != store) {
        at = &(*at)->next;
    }
    *at = store->next;
}

/* The list stays locked until all is closed: whoever opens the folder at that moment
 * finds the environment finished. */
void diskstore_close(struct diskstore *store)
{
    if (store == NULL) {
        return;
    }
    diskstore_flush(store);
    pthread_mutex_lock(&disk_stores.lock);
    assert(store->openers > 0);
    if (--store->openers == 0) {
        unlist(store);
        pthread_mutex_lock(&store->lock);
        store->ending = true;
        pthread_cond_signal(&store->work);
        pthread_mutex_unlock(&store->lock);
        pthread_join(store->thread, NULL);
        free_store(store);
    }
    pthread_mutex_unlock(&disk_stores.lock);
}

/* --- Putting ---------------------------------------------------------------------- */

static void *copy_behind(unsigned char **at, const void *bytes, size_t size)
{
    void *copy = *at;
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    *at += size;
    return copy;
}

/* The record with its names and build id, and its data unless `keep`, in one block. */
static struct disk_waiting *copy_record(const struct diskstore_record *record,
                                        bool keep)
{
    const char *kernel = record->kernel != NULL ? record->kernel : "";
    const char *label = record->label != NULL ? record->label : "";
    const size_t kernel_size = strnlen(kernel, DISKSTORE_NAME_BYTES - 1);
    const size_t label_size = strnlen(label, DISKSTORE_NAME_BYTES - 1);
    const size_t build_size = record->build != NULL ? record->build_size : 0;
    const size_t data_size = keep ? 0 : record->size;
    struct disk_waiting *waiting = malloc(sizeof(*waiting) + kernel_size + label_size +
                                          2 + build_size + data_size);
    if (waiting == NULL) {
        return NULL;
    }
    unsigned char *at = (unsigned char *)(waiting + 1);
    *waiting = (struct disk_waiting){.record = *record};
    if (!keep) {
        waiting->record.data = copy_behind(&at, record->data, data_size);
    }
    waiting->record.build = copy_behind(&at, record->build, build_size);
    waiting->record.build_size = build_size;
    waiting->record.kernel = copy_behind(&at, kernel, kernel_size);
    *at++ = '\0';
    waiting->record.label = copy_behind(&at, label, label_size);
    *at = '\0';
    if (record->made_ns == 0) {
        waiting->record.made_ns = disk_now_ns();
    }
    return waiting;
}

/* Under the lock. */
static bool has_room(const struct diskstore *store, uint64_t size)
{
    return store->counts.waiting == 0 ||
           (store->counts.waiting_bytes <= store->options.queue_bytes &&
            size <= store->options.queue_bytes - store->counts.waiting_bytes);
}

/* Under the lock. */
static void append_waiting(struct diskstore *store, struct disk_waiting *waiting)
{
    *store->last = waiting;
    store->last = &waiting->next;
    store->counts.waiting++;
    store->counts.waiting_bytes += waiting->record.size;
    store->put_number++;
    if (store->counts.waiting == 1 || disk_has_gathered(store)) {
        pthread_cond_signal(&store->work);
    }
}

bool diskstore_put(struct diskstore *store, const struct diskstore_record *record,
                   void (*done)(void *context, bool stored), void *context)
{
    struct disk_waiting *waiting = copy_record(record, done != NULL);
    if (waiting == NULL) {
        return false;
    }
    waiting->done = done;
    waiting->context = context;
    pthread_mutex_lock(&store->lock);
    const bool room = has_room(store, record->size);
    if (room) {
        append_waiting(store, waiting);
    }
    pthread_mutex_unlock(&store->lock);
    if (!room) {
        free(waiting);
    }
    return room;
}

void diskstore_wait_room(struct diskstore *store, uint64_t size)
{
    pthread_mutex_lock(&store->lock);
    while (!has_room(store, size)) {
        pthread_cond_wait(&store->room, &store->lock);
    }
    pthread_mutex_unlock(&store->lock);
}

/* Waits until all that was put so far is finished with.  Under the lock. */
static void wait_written(struct diskstore *store)
{
    const uint64_t number = store->put_number;
    store->hurried++;
    pthread_cond_signal(&store->work);
    while (store->done_number < number) {
        pthread_cond_wait(&store->written, &store->lock);
    }
    store->hurried--;
}

bool disk_job_queue(struct diskstore *store, struct disk_job *job)
{
    const struct diskstore_record none = {.made_ns = 1};
    struct disk_waiting *waiting = copy_record(&none, true);
    if (waiting == NULL) {
        return false;
    }
    waiting->job = job;
    pthread_mutex_lock(&store->lock);
    store->jobs++;
    append_waiting(store, waiting);
    pthread_mutex_unlock(&store->lock);
    return true;
}

bool diskstore_put_now(struct diskstore *store, const struct diskstore_record *record)
{
    bool stored = false;
    struct disk_waiting *waiting = copy_record(record, true);
    if (waiting == NULL) {
        return false;
    }
    waiting->stored = &stored;
    pthread_mutex_lock(&store->lock);
    append_waiting(store, waiting);
    wait_written(store);
    pthread_mutex_unlock(&store->lock);
    return stored;
}

void diskstore_flush(struct diskstore *store)
{
    pthread_mutex_lock(&store->lock);
    wait_written(store);
    pthread_mutex_unlock(&store->lock);
}

/* --- Figures ---------------------------------------------------------------------- */

uint64_t diskstore_cost_ns(struct diskstore *store, uint64_t size)
{
    pthread_mutex_lock(&store->lock);
    const double ns = size > store->options.large_bytes
                          ? store->record_ns + store->byte_ns * (double)size
                          : store->record_ns;
    pthread_mutex_unlock(&store->lock);
    return (uint64_t)ns;
}

void diskstore_counts(struct diskstore *store, struct diskstore_counts *out)
{
    pthread_mutex_lock(&store->lock);
    *out = store->counts;
    pthread_mutex_unlock(&store->lock);
}
