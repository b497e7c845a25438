/* disk.c - a disk for each rank, and programs that ask for snapshots.
 *
 * A rank stores the results that it makes, in their order, before its core is told that
 * the task has ended: so nobody else has learnt of them.  Of a cut it notes how far
 * that goes.  Some time later the part is durable, or the disk fails; likewise the
 * commit.  What a disk holds is for watchers: a process that dies leaves it as it is.
 *
 * A plan may have a disk full, slow, or flip bits.  Of a result that finds no room, or
 * whose bit flips, there is no record; the program goes on without it.  What a slow
 * disk writes later holds up all that is given to it after that.
 *
 * Where snapshots are drawn, a lane asks for one before some of its steps, and waits;
 * so it does where its program says so.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>
#include <string.h>

enum { STREAM_DISK = 131, NAMES = 3 };

#define MICROSECONDS(n) (UINT64_C(1000) * (n))

void sim_disk_draw(uint64_t seed, struct sim_weather *weather)
{
    struct random random = random_stream(seed, STREAM_DISK);
    weather->disks = true;
    weather->snapshots_per_mille = (uint32_t)random_between(&random, 20, 200);
    weather->disk_ns = MICROSECONDS(random_between(&random, 1, 2000));
    weather->disk_fails_per_mille =
        random_chance(&random, 300) ? (uint32_t)random_between(&random, 20, 300) : 0;
}

/* --- What is stored --------------------------------------------------------------- */

static uint64_t ready_ns(const struct host *host)
{
    return host->disk.busy_ns > host->sim->now_ns ? host->disk.busy_ns
                                                  : host->sim->now_ns;
}

bool disk_store(struct host *host, uint32_t task)
{
    uint64_t more_ns = 0, unused_ns = 0;
    if (!host->sim->weather.disks) {
        return false;
    }
    struct sight sight = host_sight(host, SIGHT_STORE, task);
    if (strike_disk(host, PLAN_DISK_SLOW, &more_ns)) {
        host->disk.busy_ns = ready_ns(host) + more_ns;
    }
    if (strike_disk(host, PLAN_DISK_FULL, &unused_ns)) {
        sight.code = MOOT_ERR_FILE;
    } else if (strike_disk(host, PLAN_DISK_FLIP, &unused_ns)) {
        sight.code = MOOT_ERR_FINGERPRINT;
    }
    host->disk.stored += sight.code == MOOT_OK;
    sim_see(host->sim, &sight);
    return sight.code == MOOT_OK;
}

static void see_disk(struct host *host, enum sight_type type, const moot_hash *id,
                     uint64_t epoch, uint32_t number)
{
    struct sight sight = host_sight(host, type, host->sim->program->task_count);
    sight.id = id;
    sight.epoch = epoch;
    sight.meeting = number;
    if (type == SIGHT_PART) {
        sight.parts = &host->disk.part;
        sight.part_count = 1;
    } else if (type == SIGHT_COMMIT) {
        sight.parts = host->disk.parts;
        sight.part_count = host->disk.part_count;
    }
    sim_see(host->sim, &sight);
}

void disk_write_later(struct host *host, enum disk_write what, uint64_t ticket)
{
    struct sim *sim = host->sim;
    heap_push(sim, &(struct event){
                       .time_ns = ready_ns(host) +
                                  random_below(&sim->writing, sim->weather.disk_ns + 1),
                       .kind = EVENT_DISK,
                       .rank = host->rank,
                       .index = what,
                       .ticket = ticket});
}

static void make_cut(struct host *host, const struct core_output *output)
{
    struct sim_disk *disk = &host->disk;
    const uint32_t number = output->u.cut.number;
    disk->cut_epoch = output->u.cut.epoch;
    disk->cut_number = number;
    disk->cut_id = output->hash;
    disk->part = (struct core_part){.rank = host->rank, .records = disk->stored};
    memcpy(disk->part.digest, &output->hash, sizeof(output->hash));
    disk->part.digest[sizeof(output->hash)] = (unsigned char)(host->rank + 1);
    see_disk(host, SIGHT_CUT, &output->hash, output->u.cut.epoch, number);
    disk_write_later(host, DISK_PART, output->u.cut.epoch << 32 | number);
    go_back_note_cut(host->sim, &output->hash);
}

static void begin_commit(struct host *host, const struct core_output *output)
{
    struct sim_disk *disk = &host->disk;
    const uint32_t count = output->u.commit.part_count;
    free(disk->parts);
    disk->parts = sim_alloc(count, sizeof(*disk->parts));
    if (count > 0) {
        memcpy(disk->parts, output->u.commit.parts, count * sizeof(*disk->parts));
    }
    disk->part_count = count;
    disk->commit_id = output->hash;
    disk->commit_epoch = output->u.commit.epoch;
    disk->commit_number = output->u.commit.number;
    disk_write_later(host, DISK_COMMIT,
                     output->u.commit.epoch << 32 | output->u.commit.number);
}

/* The cut that a part is of may have been superseded, and a view may have ended it. */
static void write_part(struct host *host, uint64_t epoch, uint32_t number, bool good)
{
    const struct sim_disk *disk = &host->disk;
    if (epoch != disk->cut_epoch || number != disk->cut_number) {
        return;
    }
    if (good) {
        see_disk(host, SIGHT_PART, &disk->cut_id, epoch, number);
    }
    struct core_event event = {.type = CORE_EV_PREPARED};
    event.u.prepared.epoch = epoch;
    event.u.prepared.number = number;
    event.u.prepared.status = good ? MOOT_OK : MOOT_ERR_FILE;
    event.u.prepared.part = disk->part;
    host_step(host, &event);
}

/* So may a commit: by that of a later view. */
static void write_commit(struct host *host, uint64_t epoch, uint32_t number, bool good)
{
    const struct sim_disk *disk = &host->disk;
    if (epoch != disk->commit_epoch || number != disk->commit_number) {
        return;
    }
    if (good) {
        see_disk(host, SIGHT_COMMIT, &disk->commit_id, epoch, number);
        go_back_note_commit(host->sim, &disk->commit_id);
    }
    struct core_event event = {.type = CORE_EV_COMMITTED};
    event.u.committed.epoch = epoch;
    event.u.committed.number = number;
    event.u.committed.status = good ? MOOT_OK : MOOT_ERR_FILE;
    host_step(host, &event);
}

void disk_go_on(struct host *host, uint32_t what, uint64_t ticket)
{
    struct sim *sim = host->sim;
    const bool good = !random_chance(&sim->writing, sim->weather.disk_fails_per_mille);
    const uint64_t epoch = ticket >> 32;
    const uint32_t number = (uint32_t)ticket;
    sim_moved(sim);
    if (what == DISK_PART) {
        write_part(host, epoch, number, good);
    } else if (what == DISK_MARK) {
        go_back_marked(host, number, good);
    } else {
        write_commit(host, epoch, number, good);
    }
}

/* --- Who asks --------------------------------------------------------------------- */

/* A lane that waits for a disk is not blocked: it goes on by itself. */
static void begin_wait(struct host *host, uint32_t lane)
{
    struct sim_thread *state = &host->lanes[lane];
    state->state = LANE_WAITS;
    state->cut = lane_cut_code(host);
    host->woken |= state->cut != MOOT_OK || state->snapped;
    lane_stands(host, lane, CORE_LANE_TIMED);
    worker_fill(host);
}

void disk_end_wait(struct host *host, uint32_t lane)
{
    struct sim_thread *state = &host->lanes[lane];
    state->state = LANE_RUNS;
    state->snaps = 0;
    sim_moved(host->sim);
    lane_skip(host, lane, state->pc + state->snap_step);
}

void disk_ask(struct host *host, uint32_t lane, char name, bool step)
{
    struct sim *sim = host->sim;
    struct sim_thread *state = &host->lanes[lane];
    state->snaps = name;
    state->snap_step = step;
    state->snapped = false;
    struct sight sight = host_sight(host, SIGHT_ASK, sim->program->task_count);
    sight.lane = lane;
    sight.data = &state->snaps;
    sight.size = 1;
    sim_see(sim, &sight);
    struct core_event event = {.type = CORE_EV_SNAPSHOT};
    event.u.snapshot.name = &state->snaps;
    event.u.snapshot.name_size = 1;
    host_step(host, &event);
    begin_wait(host, lane);
}

bool disk_asks(struct host *host, uint32_t lane)
{
    struct sim *sim = host->sim;
    const uint32_t per_mille = sim->weather.snapshots_per_mille;
    if (per_mille == 0 || host->closed || lane_cut_code(host) != MOOT_OK ||
        !random_chance(&sim->writing, per_mille)) {
        return false;
    }
    disk_ask(host, lane, (char)('a' + random_below(&sim->writing, NAMES)), false);
    return true;
}

static void tell_lanes(struct host *host, const struct core_output *output)
{
    struct sim *sim = host->sim;
    struct sight sight = host_sight(host, SIGHT_SNAPSHOT, sim->program->task_count);
    sight.id = &output->hash;
    sight.code = output->u.snapshot_done.status;
    sight.data = output->u.snapshot_done.name;
    sight.size = output->u.snapshot_done.name_size;
    sim_see(sim, &sight);
    sim->report->counts.snapshots += output->u.snapshot_done.status == MOOT_OK;
    for (uint32_t lane = 0; lane < sim->program->lane_count; lane++) {
        struct sim_thread *state = &host->lanes[lane];
        if (state->snaps != 0 && state->snaps == output->u.snapshot_done.name[0]) {
            state->snapped = true;
            host->woken = true;
        }
    }
}

void disk_carry(struct host *host, const struct core_output *output)
{
    if (output->type == CORE_OUT_CUT) {
        make_cut(host, output);
    } else if (output->type == CORE_OUT_COMMIT) {
        begin_commit(host, output);
    } else if (output->type == CORE_OUT_MARK || output->type == CORE_OUT_RELOADED) {
        go_back_carry(host, output);
    } else {
        tell_lanes(host, output);
    }
}

void disk_close(struct host *host) { free(host->disk.parts); }
