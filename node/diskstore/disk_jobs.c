/* disk_jobs.c - see diskstore_snapshot.h: what the thread that writes does beside
 * records, and what counts after a reload.
 *
 * A job stands in the line of the records, so what was put before it has been written,
 * and nothing that was put behind.
 */
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long, and how often, one who is no rank of the view may take to end. */
enum { OTHER_WRITER_LOOK_NS = 20000000, OTHER_WRITER_LOOKS = 150 };

/* Files that are open at one moment to read a snapshot, and those that a reload takes
 * beside the environments of others: a new environment with its pack, and one at
 * work. */
enum { FILES_TO_READ = 2, FILES_OF_RELOAD = 8 };

enum disk_job_kind { JOB_CUT, JOB_COMMIT, JOB_MARK, JOB_FREEZE };

struct disk_job {
    enum disk_job_kind kind;
    diskstore_done *done;
    void *context;
    uint32_t number; /* CUT: the rank; MARK: the generation */
    int looks;       /* COMMIT: so often somebody else wrote there */
    bool waits;      /* likewise: it is to be tried again */
    struct disk_snapshot snapshot;
    struct disk_names names; /* CUT: what the folder has */
    struct text why;
    struct diskstore_part part;
};

static bool fail_job(struct disk_job *job, const struct diskstore *store,
                     const char *cause)
{
    text_clear(&job->why);
    text_add(&job->why, "%s: %s", store->folder, cause);
    return false;
}

/* --- The results of an environment ------------------------------------------------ */

struct env_listing {
    struct diskstore *store;
    const char *path; /* the environment's */
    struct disk_set *set;
    struct disk_spot *large; /* files that have data; NULL: none yet */
    size_t large_count, large_room;
    uint64_t seen; /* records of any kind */
    bool no_memory;
};

static bool note_large(struct env_listing *listing, const struct disk_spot *spot)
{
    if (listing->large_count == listing->large_room) {
        const size_t room = 2 * listing->large_room + 64;
        struct disk_spot *more = realloc(listing->large, room * sizeof(*more));
        if (more == NULL) {
            return false;
        }
        listing->large = more;
        listing->large_room = room;
    }
    listing->large[listing->large_count++] = *spot;
    return true;
}

/* A result without its data is left out, and counted as such. */
static void list_result(struct env_listing *listing,
                        const struct diskstore_found *found,
                        const struct disk_spot *spot)
{
    const bool elsewhere = spot->home != DISK_IN_VALUE;
    if (elsewhere && !disk_large_is_there(listing->path, spot, found->size)) {
        listing->set->left_out++;
        return;
    }
    listing->no_memory =
        !disk_set_add(listing->set, found) || (elsewhere && !note_large(listing, spot));
}

static bool list_record(void *context, const struct disk_key *key,
                        const struct disk_value *value)
{
    struct env_listing *listing = context;
    struct diskstore_found found;
    struct disk_place place;
    listing->seen++;
    if (key->bytes[MOOT_HASH_BYTES] != DISKSTORE_RESULT) {
        return true;
    }
    if (!disk_record_read(key, value->bytes, value->size, &found, &place)) {
        listing->set->left_out++;
    } else if (disk_counts_by_mark(listing->store, &found)) {
        list_result(listing, &found, &place.spot);
    }
    return !listing->no_memory;
}

static int compare_spots(const void *left, const void *right)
{
    const struct disk_spot *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* Syncs each file once, however many records have their data there. */
static bool sync_large(struct env_listing *listing)
{
    size_t count = 0;
    if (listing->large_count > 0) {
        qsort(listing->large, listing->large_count, sizeof(*listing->large),
              compare_spots);
    }
    for (size_t i = 0; i < listing->large_count; i++) {
        if (count == 0 ||
            listing->large[count - 1].number != listing->large[i].number) {
            listing->large[count++] = listing->large[i];
        }
    }
    return disk_large_sync(listing->path, listing->large, count);
}

/* Adds the environment's results that count to the set, and makes them outlive a loss
 * of power. */
static bool list_env(struct diskstore *store, struct disk_job *job,
                     const struct disk_finished *env, struct disk_set *set)
{
    struct env_listing listing = {.store = store, .path = env->path, .set = set};
    const char *cause = NULL;
    if (store->table->each(env->env, list_record, &listing) == DISK_DAMAGED) {
        const uint64_t all = store->table->entries(env->env);
        set->left_out += all > listing.seen ? all - listing.seen : 1;
    }
    if (listing.no_memory) {
        cause = strerror(ENOMEM);
    } else if (!sync_large(&listing)) {
        cause = disk_error(errno);
    } else if (store->table->sync(env->env, &cause) == DISK_OK) {
        cause = disk_env_sync(env->path) ? NULL : disk_error(errno);
    }
    free(listing.large);
    return cause == NULL || fail_job(job, store, cause);
}

static bool is_of_process(const char *name, const char *process)
{
    return process[0] != '\0' && strncmp(name, process, strlen(process)) == 0;
}

/* --- A part ----------------------------------------------------------------------- */

/* All that this process has written, also before it froze. */
static bool run_cut(struct diskstore *store, struct disk_job *job)
{
    struct disk_set set = {0};
    char process[DISK_NAME_BYTES];
    const struct disk_finished *own = atomic_load(&store->own);
    disk_env_process(process);
    bool good = own == NULL || list_env(store, job, own, &set);
    for (const struct disk_finished *each = atomic_load(&store->finished);
         good && each != NULL; each = each->next) {
        good = !is_of_process(each->name, process) || list_env(store, job, each, &set);
    }
    job->part.rank = job->number;
    disk_names_release(&store->cut_names);
    store->cut_names = job->names;
    store->cut_id = job->snapshot.id;
    job->names = (struct disk_names){0};
    if (good &&
        !disk_part_write(store->folder, &job->snapshot.id, process, &set, &job->part)) {
        good = fail_job(job, store, disk_error(errno));
    }
    store->has_cut = true;
    disk_set_release(&set);
    return good;
}

/* --- A commit --------------------------------------------------------------------- */

/* The processes of the parts, each DISK_NAME_BYTES. */
struct part_writers {
    char (*process)[DISK_NAME_BYTES];
    size_t count;
};

static bool is_members(const struct part_writers *members, const char *name)
{
    for (size_t i = 0; i < members->count; i++) {
        if (is_of_process(name, members->process[i])) {
            return true;
        }
    }
    return false;
}

/* Whether all parts stand in this folder. */
static bool read_members(struct diskstore *store, struct disk_job *job,
                         struct part_writers *members)
{
    struct disk_snapshot *snapshot = &job->snapshot;
    members->process = calloc(snapshot->part_count + 1, sizeof(*members->process));
    if (members->process == NULL) {
        return fail_job(job, store, strerror(ENOMEM));
    }
    for (; members->count < snapshot->part_count; members->count++) {
        struct diskstore_part *part = &snapshot->parts[members->count];
        if (!disk_part_read(store->folder, &snapshot->id, part, NULL,
                            members->process[members->count])) {
            text_add(&job->why,
                     "%s: the part that rank %" PRIu32
                     " has written is not there (%s); all ranks need one folder, and "
                     "a folder of its own on each host is none",
                     store->folder, part->rank, disk_error(errno));
            return false;
        }
    }
    return true;
}

/* Whether nobody writes there but members.  A rank that has just left, or was removed,
 * may be about to end: then the job waits. */
static bool only_members_write(struct diskstore *store, struct disk_job *job,
                               const struct part_writers *members)
{
    size_t count;
    struct disk_env_name *all;
    const char *own = strrchr(store->own_path, '/');
    if (!disk_env_list(store->folder, own != NULL ? own + 1 : NULL, &all, &count)) {
        return fail_job(job, store, disk_error(errno));
    }
    for (size_t i = 0; i < count; i++) {
        if (all[i].alive && !is_members(members, all[i].name)) {
            text_add(&job->why, "%s: ", store->folder);
            if (all[i].writer != 0) {
                text_add(&job->why, "process %ld", (long)all[i].writer);
            } else {
                text_add(&job->why, "a process of another container");
            }
            text_add(&job->why, " writes there and is no rank of this view; ask again "
                                "when it has ended");
            job->waits = job->looks++ < OTHER_WRITER_LOOKS;
            break;
        }
    }
    free(all);
    return text_get(&job->why)[0] == '\0';
}

/* The part of those who write no more, and had begun when this rank made its cut; into
 * the snapshot's last place. */
static bool write_rest(struct diskstore *store, struct disk_job *job,
                       const struct part_writers *members)
{
    struct disk_set set = {0};
    struct diskstore_part *rest = &job->snapshot.parts[job->snapshot.part_count];
    bool good = true;
    for (const struct disk_finished *each = atomic_load(&store->finished);
         good && each != NULL; each = each->next) {
        good = is_members(members, each->name) ||
               !disk_names_has(&store->cut_names, each->name) ||
               list_env(store, job, each, &set);
    }
    rest->rank = DISK_PART_REST;
    if (good && !disk_part_write(store->folder, &job->snapshot.id, "", &set, rest)) {
        good = fail_job(job, store, disk_error(errno));
    }
    job->snapshot.part_count += good;
    job->part.left_out = rest->left_out;
    disk_set_release(&set);
    return good;
}

static bool run_commit(struct diskstore *store, struct disk_job *job)
{
    struct part_writers members = {0};
    text_clear(&job->why);
    bool good = hash_equal(&store->cut_id, &job->snapshot.id) ||
                fail_job(job, store, "another cut has followed that of the snapshot");
    good = good && read_members(store, job, &members) &&
           only_members_write(store, job, &members);
    if (good) {
        diskstore_look_again(store);
        good = write_rest(store, job, &members);
    }
    job->snapshot.made_ns = disk_now_ns();
    if (good && !disk_commit_write(store->folder, &job->snapshot)) {
        good = fail_job(job, store, disk_error(errno));
    }
    free(members.process);
    return good;
}

/* --- Jobs ------------------------------------------------------------------------- */

static bool run_mark(struct diskstore *store, struct disk_job *job)
{
    const struct disk_mark mark = {job->number, job->snapshot.id};
    return disk_mark_write(store->folder, &mark) ||
           fail_job(job, store, disk_error(errno));
}

static void free_job(struct disk_job *job)
{
    disk_snapshot_release(&job->snapshot);
    disk_names_release(&job->names);
    text_release(&job->why);
    free(job);
}

/* Puts the job behind what waits now, which is written first. */
static bool try_later(struct diskstore *store, struct disk_job *job)
{
    const struct timespec pause = {.tv_nsec = OTHER_WRITER_LOOK_NS};
    if (!job->waits) {
        return false;
    }
    job->waits = false;
    nanosleep(&pause, NULL);
    return disk_job_queue(store, job);
}

void disk_job_run(struct diskstore *store, struct disk_job *job)
{
    struct diskstore_end end = {.good = true};
    switch (job->kind) {
    case JOB_CUT:
        end.good = run_cut(store, job);
        break;
    case JOB_COMMIT:
        end.good = run_commit(store, job);
        if (try_later(store, job)) {
            return;
        }
        break;
    case JOB_MARK:
        end.good = run_mark(store, job);
        break;
    case JOB_FREEZE:
        disk_finish_own(store);
        break;
    }
    end.part = job->part;
    end.why = text_get(&job->why);
    if (job->done != NULL) {
        job->done(job->context, &end);
    }
    free_job(job);
}

static struct disk_job *new_job(enum disk_job_kind kind, const moot_hash *id,
                                diskstore_done *done, void *context)
{
    struct disk_job *job = calloc(1, sizeof(*job));
    if (job != NULL) {
        job->kind = kind;
        job->done = done;
        job->context = context;
        if (id != NULL) {
            job->snapshot.id = *id;
        }
    }
    return job;
}

static bool queue_job(struct diskstore *store, struct disk_job *job)
{
    const bool queued = job != NULL && disk_job_queue(store, job);
    if (!queued && job != NULL) {
        free_job(job);
    }
    return queued;
}

bool diskstore_cut(struct diskstore *store, const moot_hash *id, uint32_t rank,
                   diskstore_done *done, void *context)
{
    struct disk_job *job = new_job(JOB_CUT, id, done, context);
    if (job != NULL) {
        job->number = rank;
        (void)disk_names_read(store->folder, &job->names); /* of some: less is in */
    }
    return queue_job(store, job);
}

bool diskstore_commit(struct diskstore *store, const struct diskstore_commit *commit,
                      diskstore_done *done, void *context)
{
    struct disk_job *job = new_job(JOB_COMMIT, &commit->id, done, context);
    if (job == NULL) {
        return false;
    }
    struct disk_snapshot *snapshot = &job->snapshot;
    snprintf(snapshot->name, sizeof(snapshot->name), "%s", commit->name);
    snapshot->parts = calloc(commit->part_count + 1, sizeof(*snapshot->parts));
    if (snapshot->parts == NULL) {
        free_job(job);
        return false;
    }
    memcpy(snapshot->parts, commit->parts,
           commit->part_count * sizeof(*snapshot->parts));
    snapshot->part_count = commit->part_count;
    return queue_job(store, job);
}

bool diskstore_mark(struct diskstore *store, uint32_t generation, const moot_hash *id,
                    diskstore_done *done, void *context)
{
    struct disk_job *job = new_job(JOB_MARK, id, done, context);
    if (job != NULL) {
        job->number = generation;
    }
    return queue_job(store, job);
}

void diskstore_freeze(struct diskstore *store)
{
    if (queue_job(store, new_job(JOB_FREEZE, NULL, NULL, NULL))) {
        diskstore_flush(store);
    }
}

/* --- What counts after a reload --------------------------------------------------- */

uint32_t diskstore_generation(struct diskstore *store)
{
    const struct disk_back *back = atomic_load(&store->back);
    return back != NULL ? back->mark.generation : 0;
}

bool disk_is_named(struct diskstore *store, const struct diskstore_found *found)
{
    const struct disk_back *back = atomic_load(&store->back);
    return back != NULL && disk_set_has(&back->set, &found->hash, found->digest);
}

/* Once is once, also after a reload: what was noted to have started keeps its end. */
bool disk_counts_by_mark(struct diskstore *store, const struct diskstore_found *found)
{
    if (found->generation >= diskstore_generation(store) ||
        found->kind == DISKSTORE_ACCEPTED || disk_is_named(store, found)) {
        return true;
    }
    const struct disk_key accepted = disk_key(&found->hash, DISKSTORE_ACCEPTED);
    return found->kind == DISKSTORE_RESULT && disk_has_key(store, &accepted);
}

/* Whether the process may open so many more files; false, and why not. */
static bool tells_room(const struct diskstore *store, size_t count, struct text *why)
{
    const bool good = disk_can_open(count);
    if (!good) {
        text_add(why, "%s: %s", store->folder, disk_error(errno));
    }
    return good;
}

bool diskstore_may_go_back(struct diskstore *store, size_t ranks, struct text *why)
{
    return tells_room(store, FILES_OF_RELOAD + ranks, why);
}

static struct disk_back *read_set(const struct diskstore *store,
                                  const struct disk_mark *mark, struct text *why)
{
    struct disk_snapshot snapshot;
    char state[64], text[MOOT_HASH_TEXT_BYTES];
    if (!tells_room(store, FILES_TO_READ, why)) {
        return NULL;
    }
    struct disk_back *back = calloc(1, sizeof(*back));
    if (back == NULL) {
        text_add(why, "%s", strerror(ENOMEM));
        return NULL;
    }
    back->mark = *mark;
    disk_snapshot_read(store->folder, &mark->id, &snapshot, &back->set);
    const bool whole = disk_snapshot_is_whole(&snapshot);
    if (!whole) {
        text_add(why, "%s: snapshot %s cannot be gone back to: %s", store->folder,
                 hash_format(&mark->id, text),
                 disk_snapshot_state(&snapshot, state, sizeof(state)));
        disk_set_release(&back->set);
        free(back);
        back = NULL;
    }
    disk_snapshot_release(&snapshot);
    return back;
}

bool disk_read_back(struct diskstore *store, struct text *why)
{
    struct disk_mark mark;
    if (!disk_mark_read(store->folder, &mark)) {
        text_add(why,
                 "%s: the mark of its last reload is not to be read: %s; put the "
                 "folder's reloads in order, or use another folder",
                 store->folder, errno == EBADMSG ? "it is damaged" : disk_error(errno));
        return false;
    }
    if (mark.generation == 0) {
        return true;
    }
    struct disk_back *back = read_set(store, &mark, why);
    if (back == NULL) {
        text_add(why, ", as its last reload says; put its files back, or use another "
                      "folder");
        return false;
    }
    atomic_store(&store->back, back);
    return true;
}

bool diskstore_go_back(struct diskstore *store, uint32_t generation,
                       const moot_hash *id, struct text *why)
{
    const struct disk_mark mark = {generation, *id};
    bool good = true;
    if (diskstore_generation(store) < generation) {
        struct disk_back *back = read_set(store, &mark, why);
        good = back != NULL;
        if (good) {
            pthread_mutex_lock(&store->opening);
            back->next = atomic_load(&store->back);
            atomic_store(&store->back, back);
            pthread_mutex_unlock(&store->opening);
        }
    }
    diskstore_look_again(store);
    pthread_mutex_lock(&store->opening);
    if (good && store->lacks_files) {
        text_add(why, "%s: results of other ranks are not read: %s", store->folder,
                 disk_error(EMFILE));
        good = false;
    }
    pthread_mutex_unlock(&store->opening);
    return good;
}

/* --- What there is ---------------------------------------------------------------- */

bool diskstore_snapshot_find(struct diskstore *store, const char *name,
                             const moot_hash *id, struct diskstore_snapshot *out,
                             struct text *why)
{
    size_t count, at = 0;
    if (!tells_room(store, FILES_TO_READ, why)) {
        return false;
    }
    struct disk_snapshot *all = disk_snapshot_list(store->folder, false, &count);
    while (at < count && (!disk_snapshot_is_whole(&all[at]) ||
                          (name != NULL ? strcmp(all[at].name, name) != 0
                                        : !hash_equal(&all[at].id, id)))) {
        at++;
    }
    const bool found = at < count;
    if (found) {
        out->id = all[at].id;
        memcpy(out->name, all[at].name, sizeof(out->name));
        out->made_ns = all[at].made_ns;
        out->records = all[at].records;
        out->bytes = all[at].bytes;
    } else {
        char text[MOOT_HASH_TEXT_BYTES];
        text_add(why, "%s: there is no whole snapshot '%s'", store->folder,
                 name != NULL ? name : hash_format(id, text));
        disk_snapshot_tell_names(store->folder, why);
    }
    disk_snapshot_list_free(all, count);
    return found;
}
