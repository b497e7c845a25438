/* world_disk.c - a host's disk: what the core has it write, and what is there. */
#include "tests/explore/world_private.h"

bool disk_is_busy(const struct host *host)
{
    return host->disk.parts || host->disk.commits || host->disk.marks;
}

/* --- What it is told -------------------------------------------------------------- */

static bool is_committed(const struct world *world, const moot_hash *id)
{
    for (uint32_t i = 0; i < world->commit_count; i++) {
        if (hash_equal(&world->commits[i], id)) {
            return true;
        }
    }
    return false;
}

static void carry_commit(struct host *host, const struct core_output *output)
{
    struct disk *disk = &host->disk;
    disk->commits = true;
    disk->commit_epoch = output->u.commit.epoch;
    disk->commit_number = output->u.commit.number;
    disk->commit_id = output->hash;
    disk->members = host->members;
    disk->named = 0;
    for (uint32_t i = 0; i < output->u.commit.part_count; i++) {
        disk->named |= UINT64_C(1) << output->u.commit.parts[i].rank;
    }
}

/* Earlier events are of no account to the program, and to this host. */
static void carry_reloaded(struct world *world, uint32_t rank,
                           const struct core_output *output)
{
    struct host *host = &world->hosts[rank];
    host->meets = false;
    if (output->u.reloaded.status != MOOT_OK) {
        return;
    }
    if (output->u.reloaded.generation > world->marked) {
        world_fault(world, "I47: a reload begins whose mark is not durable");
    }
    memset(host->tasks, 0, sizeof(host->tasks));
    memset(host->running, 0, sizeof(host->running));
    host->running_count = 0;
}

void disk_carry(struct world *world, uint32_t rank, const struct core_output *output)
{
    struct host *host = &world->hosts[rank];
    struct disk *disk = &host->disk;
    if (output->type == CORE_OUT_CUT) {
        disk->parts = true;
        disk->epoch = output->u.cut.epoch;
        disk->number = output->u.cut.number;
        disk->id = output->hash;
    } else if (output->type == CORE_OUT_COMMIT) {
        carry_commit(host, output);
    } else if (output->type == CORE_OUT_MARK) {
        disk->marks = true;
        disk->generation = output->u.mark.generation;
    } else if (output->type == CORE_OUT_RELOADED) {
        carry_reloaded(world, rank, output);
    } else {
        host->snaps = false;
        if (output->u.snapshot_done.status != MOOT_OK ||
            !is_committed(world, &output->hash)) {
            world_fault(world, "I45: a rank is told of a snapshot without a commit");
        }
    }
}

/* --- What it has written ---------------------------------------------------------- */

static void check_commit(struct world *world, const struct disk *disk)
{
    for (uint32_t i = 0; i < world->scene->ranks; i++) {
        const bool there = hash_equal(&world->hosts[i].disk.durable, &disk->commit_id);
        if ((disk->members >> i & 1) != 0 && (!(disk->named >> i & 1) || !there)) {
            world_fault(world, "I45: a snapshot is committed without a member's part");
        }
    }
}

static void write_commit(struct world *world, uint32_t rank)
{
    struct disk *disk = &world->hosts[rank].disk;
    struct core_event event = {.type = CORE_EV_COMMITTED};
    disk->commits = false;
    check_commit(world, disk);
    assert(world->commit_count < WORLD_COMMITS);
    world->commits[world->commit_count++] = disk->commit_id;
    event.u.committed.epoch = disk->commit_epoch;
    event.u.committed.number = disk->commit_number;
    require(world, host_step(world, rank, &event) == MOOT_OK);
}

void disk_write(struct world *world, uint32_t rank)
{
    struct disk *disk = &world->hosts[rank].disk;
    struct core_event event = {.type = CORE_EV_PREPARED};
    if (disk->commits) {
        write_commit(world, rank);
        return;
    }
    if (disk->parts) {
        disk->parts = false;
        disk->durable = disk->id;
        event.u.prepared.epoch = disk->epoch;
        event.u.prepared.number = disk->number;
    } else {
        assert(disk->marks);
        disk->marks = false;
        event.type = CORE_EV_MARKED;
        event.u.marked.generation = disk->generation;
        world->marked =
            disk->generation > world->marked ? disk->generation : world->marked;
    }
    require(world, host_step(world, rank, &event) == MOOT_OK);
}
