/* snapshots.c - see snapshots.h. */
#include "node/checkpoint/snapshots.h"

#include "node/checkpoint/checkpoint.h"
#include "node/checkpoint/kept.h"
#include "node/diskstore/diskstore_snapshot.h"
#include "node/engine/clock.h"
#include "node/engine/engine.h"
#include "node/faults/faults.h"
#include "node/record/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Work of the store for the core, and then its outcome. */
struct snapshot_job {
    struct snapshot_job *next;
    struct moot *m;
    enum core_event_type type; /* PREPARED, COMMITTED, MARKED */
    uint64_t epoch;
    uint32_t number; /* MARKED: the generation */
    moot_hash id;    /* PREPARED: the snapshot's */
    int32_t status;
    uint64_t began_ns, ended_ns;
    struct diskstore_part part;
    char name[DISKSTORE_SNAPSHOT_NAME_BYTES]; /* COMMITTED */
    char why[512];
};

/* --- Asking ----------------------------------------------------------------------- */

int snapshots_ask(struct moot *m, struct snapshot_ask *ask)
{
    struct core_event event = {.type = CORE_EV_SNAPSHOT};
    event.u.snapshot.name = ask->name;
    event.u.snapshot.name_size = strlen(ask->name);
    ask->over = false;
    ask->next = m->checkpoint.asks;
    m->checkpoint.asks = ask;
    const int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        snapshots_withdraw(m, ask);
    }
    return error;
}

void snapshots_withdraw(struct moot *m, struct snapshot_ask *ask)
{
    struct snapshot_ask **at = &m->checkpoint.asks;
    while (*at != NULL && *at != ask) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = ask->next;
    }
}

bool snapshots_find(struct moot *m, const char *name, moot_hash *id, struct text *why)
{
    struct diskstore_snapshot found;
    engine_unlock(m);
    const bool has =
        diskstore_snapshot_find(m->checkpoint.store, name, NULL, &found, why);
    engine_lock(m);
    if (has) {
        *id = found.id;
    }
    return has;
}

void snapshots_carry_done(struct moot *m, const struct core_output *output)
{
    const size_t size = output->u.snapshot_done.name_size;
    struct snapshot_ask *rest = NULL;
    for (struct snapshot_ask *ask = m->checkpoint.asks, *next; ask != NULL;
         ask = next) {
        next = ask->next;
        if (strlen(ask->name) == size &&
            memcmp(ask->name, output->u.snapshot_done.name, size) == 0) {
            ask->over = true;
            ask->status = output->u.snapshot_done.status;
            ask->rank = output->u.snapshot_done.rank;
            ask->id = output->hash;
        } else {
            ask->next = rest;
            rest = ask;
        }
    }
    m->checkpoint.asks = rest;
    progress_ended(m);
    progress_wake(m);
}

/* --- What the store does ---------------------------------------------------------- */

static void end_job(struct snapshot_job *job)
{
    struct moot_checkpoint *checkpoint = &job->m->checkpoint;
    job->ended_ns = clock_ns();
    pthread_mutex_lock(&checkpoint->lock);
    job->next = checkpoint->ended;
    checkpoint->ended = job;
    pthread_mutex_unlock(&checkpoint->lock);
}

/* By the thread that writes. */
static void on_end(void *context, const struct diskstore_end *end)
{
    struct snapshot_job *job = context;
    job->status = end->good ? MOOT_OK : MOOT_ERR_FILE;
    job->part = end->part;
    snprintf(job->why, sizeof(job->why), "%s", end->why);
    end_job(job);
}

static struct snapshot_job *begin_job(struct moot *m, enum core_event_type type,
                                      uint64_t epoch, uint32_t number)
{
    struct snapshot_job *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        engine_starve(m, "no memory for a snapshot");
        return NULL;
    }
    job->m = m;
    job->type = type;
    job->epoch = epoch;
    job->number = number;
    job->began_ns = clock_ns();
    return job;
}

static void refuse_job(struct snapshot_job *job, int32_t status, const char *why)
{
    job->status = status;
    snprintf(job->why, sizeof(job->why), "%s", why);
    end_job(job);
}

static void begin_cut(struct moot *m, struct snapshot_job *job)
{
    kept_write_some(m);
    if (!diskstore_cut(m->checkpoint.store, &job->id, m->group.rank, on_end, job)) {
        refuse_job(job, MOOT_ERR_NO_MEMORY, "no memory");
    }
}

void snapshots_go_back(struct moot *m) { m->checkpoint.goes_back = true; }

/* A rank that hears that a reload has failed may ask at once, too: then all stay as
 * they are, and the cut that was put aside is as good as any. */
void snapshots_went_back(struct moot *m, bool goes_on)
{
    struct snapshot_job *job = m->checkpoint.cut;
    m->checkpoint.goes_back = false;
    if (goes_on && job != NULL) {
        m->checkpoint.cut = NULL;
        begin_cut(m, job);
    }
}

static void drop_cut(struct moot *m)
{
    free(m->checkpoint.cut);
    m->checkpoint.cut = NULL;
}

/* One who has gone back may ask for a snapshot before this rank's store has: a cut made
 * then would name what is void, and not what that was made from. */
void snapshots_carry_cut(struct moot *m, const struct core_output *output)
{
    if (!checkpoint_is_on(m)) {
        return; /* the coordinator asks in vain; all ranks have the same knobs */
    }
    struct snapshot_job *job =
        begin_job(m, CORE_EV_PREPARED, output->u.cut.epoch, output->u.cut.number);
    if (job == NULL) {
        return;
    }
    faults_at_point(m, CORE_POINT_CHECKPOINT_CUT);
    job->id = output->hash;
    if (!m->checkpoint.goes_back ||
        m->schedule.reload.generation <= diskstore_generation(m->checkpoint.store)) {
        begin_cut(m, job);
        return;
    }
    drop_cut(m); /* its coordinator has given it up */
    m->checkpoint.cut = job;
}

static struct diskstore_part part_of(const struct core_part *part)
{
    struct diskstore_part own = {
        .rank = part->rank, .records = part->records, .bytes = part->bytes};
    _Static_assert(sizeof(own.digest) == sizeof(part->digest), "one digest");
    memcpy(own.digest, part->digest, sizeof(own.digest));
    return own;
}

void snapshots_carry_commit(struct moot *m, const struct core_output *output)
{
    const uint32_t count = output->u.commit.part_count;
    struct snapshot_job *job = begin_job(m, CORE_EV_COMMITTED, output->u.commit.epoch,
                                         output->u.commit.number);
    if (job == NULL) {
        return;
    }
    faults_at_point(m, CORE_POINT_CHECKPOINT_COMMIT);
    struct diskstore_part *parts = calloc(count + 1, sizeof(*parts));
    for (uint32_t i = 0; parts != NULL && i < count; i++) {
        parts[i] = part_of(&output->u.commit.parts[i]);
    }
    snprintf(job->name, sizeof(job->name), "%.*s", (int)output->u.commit.name_size,
             output->u.commit.name);
    const struct diskstore_commit commit = {
        .id = output->hash, .name = job->name, .parts = parts, .part_count = count};
    if (parts == NULL || !diskstore_commit(m->checkpoint.store, &commit, on_end, job)) {
        refuse_job(job, MOOT_ERR_NO_MEMORY, "no memory");
    }
    free(parts);
}

void snapshots_carry_mark(struct moot *m, const struct core_output *output)
{
    const uint32_t generation = output->u.mark.generation;
    struct snapshot_job *job = begin_job(m, CORE_EV_MARKED, 0, generation);
    if (job == NULL) {
        return;
    }
    faults_at_point(m, CORE_POINT_CHECKPOINT_RELOAD);
    if (!diskstore_mark(m->checkpoint.store, generation, &output->hash, on_end, job)) {
        refuse_job(job, MOOT_ERR_NO_MEMORY, "no memory");
    }
}

/* --- What it has done ------------------------------------------------------------- */

static struct snapshot_job *take_ended(struct moot *m)
{
    struct moot_checkpoint *checkpoint = &m->checkpoint;
    pthread_mutex_lock(&checkpoint->lock);
    struct snapshot_job *job = checkpoint->ended;
    checkpoint->ended = NULL;
    pthread_mutex_unlock(&checkpoint->lock);
    return job;
}

/* The rank that writes the commit counts a snapshot, and one that cannot write what it
 * is to counts a failure.  A snapshot's time is that from this rank's cut on: who
 * writes the commit has cut, too. */
static void count_job(struct moot *m, const struct snapshot_job *job)
{
    struct moot_checkpoint *checkpoint = &m->checkpoint;
    if (job->type == CORE_EV_MARKED) {
        return; /* a reload's */
    }
    if (job->status != MOOT_OK) {
        checkpoint->snapshots_failed++;
        trace_snapshot(m, job->status, job->ended_ns - job->began_ns, job->why);
    } else if (job->type == CORE_EV_PREPARED) {
        checkpoint->cut_ns = job->began_ns;
    } else {
        const uint64_t took_ns = job->ended_ns - checkpoint->cut_ns;
        checkpoint->snapshots++;
        checkpoint->snapshots_ns += took_ns;
        trace_snapshot(m, MOOT_OK, took_ns, job->name);
    }
}

static void tell_core(struct moot *m, const struct snapshot_job *job)
{
    struct core_event event = {.type = job->type};
    if (job->type == CORE_EV_PREPARED) {
        struct core_part *part = &event.u.prepared.part;
        event.u.prepared.epoch = job->epoch;
        event.u.prepared.number = job->number;
        event.u.prepared.status = job->status;
        memcpy(part->digest, job->part.digest, sizeof(part->digest));
        part->records = job->part.records;
        part->bytes = job->part.bytes;
    } else if (job->type == CORE_EV_MARKED) {
        event.u.marked.generation = job->number;
        event.u.marked.status = job->status;
    } else {
        event.u.committed.epoch = job->epoch;
        event.u.committed.number = job->number;
        event.u.committed.status = job->status;
    }
    count_job(m, job);
    if (job->status != MOOT_OK) {
        report_add(m,
                   "moot: rank %u: a snapshot, or going back to one, fails here: %s\n",
                   m->group.rank, job->why);
    }
    if (job->status == MOOT_OK && job->part.left_out > 0) {
        report_add(m,
                   "moot: rank %u: checkpoint %s: a snapshot is made without %" PRIu64
                   " stored results, which are damaged, or whose data are gone; `moot "
                   "checkpoint verify` names them\n",
                   m->group.rank, m->knobs.checkpoint, job->part.left_out);
    }
    (void)engine_step(m, &event);
}

void snapshots_look(struct moot *m)
{
    for (struct snapshot_job *job = take_ended(m), *next; job != NULL; job = next) {
        next = job->next;
        tell_core(m, job);
        free(job);
    }
}

void snapshots_release(struct moot *m)
{
    drop_cut(m);
    for (struct snapshot_job *job = take_ended(m), *next; job != NULL; job = next) {
        next = job->next;
        free(job);
    }
}
