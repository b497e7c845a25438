/* go_back.c - ranks go back to a snapshot, and their programs begin anew.
 *
 * PROTOCOL.md, *Reload*.  Which meetings are to go back, and to which snapshot, is
 * drawn when the first rank comes to one: a snapshot that exists, or one that is being
 * made. Now and then a rank comes for another, or to a plain meeting.  A mark of a
 * snapshot that does not exist when it is written cannot be written.
 *
 * As in node/, all meet twice.  The first meeting is for the snapshot, and lanes that
 * wait there run tasks.  From the second on, the core's reload, a rank starts no
 * kernel.
 *
 * All that a rank had to do with tasks before is forgotten in one go: its kernels are
 * gone, and its lanes, wherever they stood, are at the beginning of their scripts.  A
 * program that has ended stays so.  Disks note that a once task starts, for good, in a
 * folder that all ranks share: one whose start they had noted when a rank went back
 * ends there with the result that they had, or with MAYBE_RAN.
 *
 * A newcomer is of the generation of those who let it in, and its script begins where
 * theirs stand (session_boundary.c).  A rank that is cut off from a reload does nothing
 * more but end its script, as a context of the library would.
 *
 * A rank may die whenever it takes a step of this: before it comes, before the mark is
 * written and behind that, and before its program begins anew.
 */
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include "hashing/identity.h"
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_RELOAD = 132,
    STREAM_GOING_BACK,
    RELOADS_MAX = 3, /* generations that a run begins, */
    BEGUN_MAX = 32,  /* with numbers below this, */
    DRAWN_MAX = 8,   /* and meetings for one */
    PURPOSES_FROM = 1 << 30
};

/* Notes of disks about a once task, by when a rank goes back. */
struct noted {
    bool starts;
    uint32_t generation; /* of the rank that started it */
    uint64_t started_ns, ended_ns;
    void *bytes; /* of its result; NULL: it has not ended well */
    size_t size;
};

struct going_back {
    struct random random;
    moot_hash *snapshots; /* that exist, in their order */
    size_t snapshot_count, snapshot_room;
    moot_hash made; /* the one whose first cut was made last */
    struct drawn_meeting {
        bool is_drawn, reloads;
        moot_hash snapshot;
    } *meetings; /* by number */
    size_t meeting_room;
    uint32_t drawn_count, newest;
    struct noted *noted; /* per task */
    struct programs_begun {
        bool is_begun;
        uint64_t sessions; /* before the one in which its programs began */
    } begun[BEGUN_MAX];    /* by generation */
};

void sim_reload_draw(uint64_t seed, struct sim_weather *weather)
{
    struct random random = random_stream(seed, STREAM_RELOAD);
    weather->reloads_per_mille = (uint32_t)random_between(&random, 200, 900);
}

/* Newcomers that come at any moment would have nowhere to go back to (R4). */
void go_back_open(struct sim *sim)
{
    const struct storm *storm = sim->options.storm;
    if (storm == NULL || (storm->joinable && !storm->boundary) || !sim->weather.disks) {
        return;
    }
    struct going_back *back = sim_alloc(1, sizeof(*back));
    back->random = random_stream(sim->options.seed, STREAM_GOING_BACK);
    back->noted = sim_alloc(sim->program->task_count, sizeof(*back->noted));
    sim->going_back = back;
}

void go_back_close(struct sim *sim)
{
    struct going_back *back = sim->going_back;
    if (back == NULL) {
        return;
    }
    for (uint32_t task = 0; task < sim->program->task_count; task++) {
        free(back->noted[task].bytes);
    }
    free(back->noted);
    free(back->snapshots);
    free(back->meetings);
    free(back);
}

static void *grown(void *items, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room) {
        return items;
    }
    const size_t more = 2 * needed;
    items = realloc(items, more * size);
    if (items == NULL) {
        abort();
    }
    memset((char *)items + *room * size, 0, (more - *room) * size);
    *room = more;
    return items;
}

/* --- Snapshots -------------------------------------------------------------------- */

void go_back_note_cut(const struct sim *sim, const moot_hash *id)
{
    if (sim->going_back != NULL) {
        sim->going_back->made = *id;
    }
}

void go_back_note_commit(struct sim *sim, const moot_hash *id)
{
    struct going_back *back = sim->going_back;
    if (back != NULL) {
        back->snapshots = grown(back->snapshots, &back->snapshot_room,
                                back->snapshot_count + 1, sizeof(*back->snapshots));
        back->snapshots[back->snapshot_count++] = *id;
    }
}

static bool exists(const struct going_back *back, const moot_hash *id)
{
    for (size_t i = 0; i < back->snapshot_count; i++) {
        if (hash_equal(&back->snapshots[i], id)) {
            return true;
        }
    }
    return false;
}

/* --- Coming to it ----------------------------------------------------------------- */

static moot_hash any_snapshot(struct going_back *back)
{
    if (back->snapshot_count == 0) {
        return back->made;
    }
    return back->snapshots[random_below(&back->random, back->snapshot_count)];
}

/* The latest in most cases. */
static moot_hash draw_snapshot(struct going_back *back)
{
    const bool is_made = !hash_is_zero(&back->made);
    if (back->snapshot_count == 0 || (is_made && random_chance(&back->random, 150))) {
        return back->made;
    }
    return random_chance(&back->random, 600) ? back->snapshots[back->snapshot_count - 1]
                                             : any_snapshot(back);
}

static const struct drawn_meeting *meeting_of(const struct sim *sim, uint64_t number)
{
    struct going_back *back = sim->going_back;
    back->meetings =
        grown(back->meetings, &back->meeting_room, number + 1, sizeof(*back->meetings));
    struct drawn_meeting *meeting = &back->meetings[number];
    if (!meeting->is_drawn) {
        meeting->is_drawn = true;
        meeting->reloads =
            random_chance(&back->random, sim->weather.reloads_per_mille) &&
            back->newest < RELOADS_MAX && back->drawn_count < DRAWN_MAX &&
            (back->snapshot_count > 0 || !hash_is_zero(&back->made));
    }
    if (meeting->reloads && hash_is_zero(&meeting->snapshot)) {
        meeting->snapshot = draw_snapshot(back);
        back->drawn_count++;
    }
    return meeting;
}

bool go_back_is_due(const struct host *host, moot_hash *snapshot)
{
    struct going_back *back = host->sim->going_back;
    if (back == NULL || host->sim->weather.reloads_per_mille == 0) {
        return false;
    }
    const struct drawn_meeting *meeting = meeting_of(host->sim, host->meetings + 1);
    *snapshot = meeting->snapshot;
    if (!meeting->reloads || !random_chance(&back->random, 60)) {
        return meeting->reloads;
    }
    *snapshot = any_snapshot(back);
    return random_chance(&back->random, 500);
}

bool go_back_is_written(const struct host *host, moot_hash *snapshot)
{
    const struct going_back *back = host->sim->going_back;
    if (back == NULL || back->snapshot_count == 0 || host->life > 0) {
        return false;
    }
    *snapshot = back->snapshots[back->snapshot_count - 1];
    return true;
}

static struct sight reload_sight(const struct host *host, enum sight_type type,
                                 const moot_hash *snapshot, uint32_t generation)
{
    struct sight sight = host_sight(host, type, host->sim->program->task_count);
    sight.id = snapshot;
    sight.step = generation;
    return sight;
}

uint32_t go_back_purpose(const moot_hash *snapshot)
{
    uint32_t word;
    memcpy(&word, snapshot, sizeof(word));
    return PURPOSES_FROM + word % PURPOSES_FROM;
}

void go_back_come(struct host *host, uint32_t lane)
{
    struct going_back *back = host->sim->going_back;
    strike_at_point(host, CORE_POINT_CHECKPOINT_RELOAD);
    if (host->dead) {
        return;
    }
    const moot_hash *snapshot = &host->back_to;
    if (random_chance(&back->random, 30)) {
        host->back_to = any_snapshot(back);
    }
    host->drains = true;
    host->meets = true;
    host->meetings++;
    struct sight sight =
        reload_sight(host, SIGHT_RELOAD, snapshot, host->disk.generation);
    sight.lane = lane;
    sight.meeting = host->meetings;
    sim_see(host->sim, &sight);
    struct core_event event = {.type = CORE_EV_RELOAD, .hash = *snapshot};
    event.u.reload.generation = host->disk.generation;
    host_step(host, &event);
}

/* --- The mark --------------------------------------------------------------------- */

static void write_mark(struct host *host, const struct core_output *output)
{
    if (output->u.mark.generation <= host->generation) {
        sim_fail(host->sim, "contract",
                 "rank %u is to mark generation %u, and is in %u", (unsigned)host->rank,
                 (unsigned)output->u.mark.generation, (unsigned)host->generation);
        return;
    }
    host->disk.mark_generation = output->u.mark.generation;
    host->disk.mark_id = output->hash;
    strike_at_point(host, CORE_POINT_CHECKPOINT_RELOAD);
    if (!host->dead) {
        disk_write_later(host, DISK_MARK, output->u.mark.generation);
    }
}

void go_back_marked(struct host *host, uint32_t generation, bool good)
{
    struct sim_disk *disk = &host->disk;
    if (generation != disk->mark_generation) {
        return;
    }
    good = good && exists(host->sim->going_back, &disk->mark_id);
    struct sight sight = reload_sight(host, SIGHT_MARK, &disk->mark_id, generation);
    sight.code = good ? MOOT_OK : MOOT_ERR_FILE;
    if (!good || !sim_canary(host->sim, SIM_CANARY_UNMARKED)) {
        sim_see(host->sim, &sight);
    }
    if (good && generation > disk->generation) {
        disk->generation = generation;
    }
    strike_at_point(host, CORE_POINT_CHECKPOINT_RELOAD);
    struct core_event event = {.type = CORE_EV_MARKED};
    event.u.marked.generation = generation;
    event.u.marked.status = sight.code;
    host_step(host, &event);
}

/* --- Going back ------------------------------------------------------------------- */

static void note_generation(struct sim *sim, uint32_t generation)
{
    if (generation > sim->going_back->newest) {
        sim->going_back->newest = generation;
        sim->report->counts.reloads++;
    }
}

static void take_word(struct host *host, const struct core_output *output)
{
    const uint32_t generation = output->u.reloaded.generation;
    const bool reloads = output->u.reloaded.status == MOOT_OK;
    const bool has_come = host->meets && (!host->met || reloads);
    if (host->sim->going_back == NULL || host->undone ||
        !(has_come || (reloads && host->closed))) {
        sim_fail(host->sim, "contract",
                 "rank %u is told of a reload to which it has not come",
                 (unsigned)host->rank);
        return;
    }
    struct sight sight = reload_sight(host, SIGHT_RELOADED, &output->hash, generation);
    sight.code = output->u.reloaded.status;
    sight.meeting = host->meets && !host->closed ? host->meetings : 0;
    sim_see(host->sim, &sight);
    if (!reloads) {
        host->met = host->woken = true;
        rankset_release(&host->came);
        return;
    }
    note_generation(host->sim, generation);
    host->undone = true;
    host->disk.stored = 0;
    host->generation = generation;
    if (generation > host->disk.generation) {
        host->disk.generation = generation;
    }
}

void go_back_carry(struct host *host, const struct core_output *output)
{
    if (output->type == CORE_OUT_MARK) {
        write_mark(host, output);
    } else {
        take_word(host, output);
    }
}

/* The core has given all entries back.  What it says behind that is of new tasks. */
void go_back_forget(struct host *host)
{
    const struct program *program = host->sim->program;
    for (uint32_t task = 0; task < program->task_count; task++) {
        struct record *record = &host->records[task];
        if (record->entry != NULL) {
            sim_fail(host->sim, "void", "rank %u has gone back, and still knows %s",
                     (unsigned)host->rank, program->tasks[task].name);
        }
        free(record->bytes);
        free(record->partial);
        free(record->taken);
        *record = (struct record){.task = task};
    }
    host->ready_count = host->slots_used = host->parents_waiting = 0;
    host->piece_count = 0;
    host->runs_alone = host->diverged = false;
    host->meets = host->met = host->goes_back = host->drains = false;
    host->signs_from = 0;
}

uint64_t go_back_sessions(const struct host *host)
{
    const struct going_back *back = host->sim->going_back;
    return back != NULL ? back->begun[host->generation % BEGUN_MAX].sessions : 0;
}

void go_back_join(struct host *host)
{
    moot_hash snapshot;
    host->generation = core_generation(host->core, &snapshot);
    host->went_back_ns = host->sim->now_ns;
    if (host->generation > host->disk.generation) {
        host->disk.generation = host->generation;
    }
}

/* All but those who closed before are in one session. */
static void begin_programs(struct host *host)
{
    struct programs_begun *begun =
        &host->sim->going_back->begun[host->generation % BEGUN_MAX];
    if (!begun->is_begun && host->session.number > 0) {
        *begun = (struct programs_begun){true, host->session.number - 1};
    }
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        struct sim_thread *thread = &host->lanes[lane];
        *thread = (struct sim_thread){.state = LANE_RUNS, .ticket = thread->ticket};
    }
    lane_start(host);
    for (uint32_t lane = 0; lane < host->sim->program->lane_count; lane++) {
        if (host->lost != MOOT_OK && host_goes_on(host)) {
            lane_skip(host, lane, UINT32_MAX);
        }
    }
}

void go_back_restart(struct host *host)
{
    host->undone = false;
    host->life++;
    host->went_back_ns = host->sim->now_ns;
    host->fill_due = host->woken = false;
    sim_moved(host->sim);
    worker_fill(host);
    strike_at_point(host, CORE_POINT_CHECKPOINT_RELOAD);
    if (host->closed || host_is_over(host)) {
        return;
    }
    begin_programs(host);
}

/* --- Once tasks ------------------------------------------------------------------- */

static struct noted *noted_of(const struct host *host, uint32_t task)
{
    const struct program_task *spec = &host->sim->program->tasks[task];
    return host->sim->going_back != NULL && spec->once && !spec->idempotent
               ? &host->sim->going_back->noted[task]
               : NULL;
}

void go_back_note_start(const struct host *host, uint32_t task)
{
    struct noted *noted = noted_of(host, task);
    if (noted != NULL && !noted->starts) {
        noted->starts = true;
        noted->generation = host->generation;
        noted->started_ns = host->sim->now_ns;
    }
}

void go_back_note_end(const struct host *host, uint32_t task)
{
    struct noted *noted = noted_of(host, task);
    const struct record *record = &host->records[task];
    if (noted == NULL || noted->bytes != NULL) {
        return;
    }
    noted->ended_ns = host->sim->now_ns;
    noted->size = record->size;
    noted->bytes = sim_alloc(1, record->size);
    if (record->size > 0) {
        memcpy(noted->bytes, record->bytes, record->size);
    }
}

bool go_back_finds(const struct host *host, uint32_t task, struct program_bytes *found)
{
    const struct noted *noted = noted_of(host, task);
    if (noted == NULL || !noted->starts || noted->generation >= host->generation ||
        noted->started_ns > host->went_back_ns) {
        return false;
    }
    const bool ended = noted->bytes != NULL && noted->ended_ns <= host->went_back_ns;
    *found = (struct program_bytes){.data = ended ? noted->bytes : NULL,
                                    .size = ended ? noted->size : 0};
    return true;
}
