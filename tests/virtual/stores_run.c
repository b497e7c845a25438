/* stores_run.c - see stores_run.h: what is drawn for each life, and how it ends.
 *
 * Canaries: `unsynced`, the disk says that it has synced and has not; `deaf`, it does
 * not find one record in four; `forgetful`, nor one key in four when it is walked
 * through.
 */
#include "tests/virtual/stores_run.h"
#include "tests/virtual/stores_private.h"

#include "node/api/context_open.h"
#include "tests/virtual/disk.h"
#include "tests/virtual/stores.h"
#include "tests/virtual/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MILLISECONDS(n) (UINT64_C(1000000) * (n))
#define SECONDS(n) (UINT64_C(1000000000) * (n))

enum { KNOBS_MAX = 16, KNOB_BYTES = 128, REPORT_BYTES = 16 << 10 };
/* A rank that has so few files open stores some, and the next finds no descriptor. */
enum { FILES_LEAST = 3, FILES_MORE = 5 };

enum ending { ENDS_WELL, ENDS_KILLED, ENDS_DARK, ENDINGS };

static struct job {
    const struct run_options *options;
    struct stores_ledger ledger;
    struct disk_options disk;
    struct wire *wire;
    char knobs[KNOBS_MAX][KNOB_BYTES];
    const char *knob_list[KNOBS_MAX + 1];
    uint32_t knob_count;
    uint64_t random;
    bool sync, harmed, wrong;
    struct seat {
        uint32_t rank;
        size_t reported;
        char report[REPORT_BYTES];
    } seats[STORES_RANKS];
} job;

static uint64_t draw(uint64_t below)
{
    job.random = medley_mix(job.random);
    return (job.random >> 8) % below;
}

static bool chance(uint32_t per_cent) { return draw(100) < per_cent; }

__attribute__((format(printf, 1, 2))) static void add_knob(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(job.knobs[job.knob_count], KNOB_BYTES, format, args);
    va_end(args);
    job.knob_list[job.knob_count] = job.knobs[job.knob_count];
    job.knob_list[++job.knob_count] = NULL;
}

static bool has_canary(const char *name)
{
    return job.options->canary != NULL && strcmp(job.options->canary, name) == 0;
}

/* --- What is drawn ---------------------------------------------------------------- */

static void draw_knobs(bool calm)
{
    static const char *const threads[] = {"0", "0", "1", "2"};
    static const char *const progress[] = {"auto", "thread", "caller"};
    static const char *const when[] = {"finish", "finish", "1ms", "call"};
    static const char *const harms[] = {"disk.flip:0.1",
                                        "disk.full:0.1",
                                        "disk.slow:0.2:500us",
                                        "disk.full:0.3/r1",
                                        "kill:r1@checkpoint.write#2",
                                        "kill:r0@checkpoint.commit",
                                        "kill:r1@checkpoint.cut"};
    static const char *const reload_harms[] = {"kill:r0@checkpoint.reload",
                                               "kill:r1@checkpoint.reload",
                                               "kill:r0@checkpoint.reload#2"};
    job.knob_count = 0;
    add_knob("MOOT_STATE=off");
    add_knob("MOOT_STALL=20s");
    add_knob("MOOT_THREADS=%s", threads[draw(4)]);
    add_knob("MOOT_PROGRESS=%s", progress[draw(3)]);
    add_knob("MOOT_HEARTBEAT=100ms");
    add_knob("MOOT_CHECKPOINT=%s/store", DISK_FOLDER);
    add_knob("MOOT_CHECKPOINT_LEAST=0");
    add_knob("MOOT_CHECKPOINT_SYNC=%u", (unsigned)job.sync);
    add_knob("MOOT_CHECKPOINT_WHEN=%s", when[draw(4)]);
    const char *harm = harms[draw(sizeof(harms) / sizeof(*harms))];
    if (job.ledger.back_count > 0 && chance(50)) {
        harm = reload_harms[draw(sizeof(reload_harms) / sizeof(*reload_harms))];
    }
    if (!calm && chance(35) && job.options->faults == NULL) {
        add_knob("MOOT_FAULTS=%s", harm);
        job.ledger.lost = job.ledger.lost || strstr(harm, "full") != NULL;
        job.ledger.flipped = job.ledger.flipped || strstr(harm, "flip") != NULL;
    }
}

/* Harm that came later is drawn from words of its own: seeds that are known stay what
 * they are. */
static void draw_disk(bool calm)
{
    job.disk.slow_ns = draw(2) * (UINT64_C(1) << (10 + draw(12)));
    job.disk.full_per_mille = !calm && chance(15) && job.options->faults == NULL
                                  ? 1 + (uint32_t)draw(100)
                                  : 0;
    job.disk.unread_per_mille = chance(20) ? 300 : 0;
    const uint64_t vanish = stores_word(&job.ledger, 81, job.ledger.life);
    job.disk.vanish_per_mille =
        !calm && vanish % 10 == 0 ? 1 + (uint32_t)(vanish / 10 % 100) : 0;
    job.ledger.flipped = job.ledger.flipped || job.disk.vanish_per_mille > 0;
    const uint64_t files = stores_word(&job.ledger, 82, job.ledger.life);
    job.disk.files_max =
        !calm && files % 7 == 0 ? FILES_LEAST + (uint32_t)(files / 7 % FILES_MORE) : 0;
    disk_life_faults(&job.disk);
}

static struct world_options draw_world(uint32_t ranks)
{
    static const uint32_t interrupts[] = {0, 20, 200};
    return (struct world_options){.seed = job.options->seed * 16 + job.ledger.life,
                                  .ranks = ranks,
                                  .call_ns = UINT64_C(20) << draw(5),
                                  .slack_ns = draw(3) * 2000,
                                  .interrupts = interrupts[draw(3)],
                                  .interrupted_ns = MILLISECONDS(1),
                                  .yield_ns = UINT64_C(5000) << draw(4),
                                  .deadline_ns = SECONDS(200),
                                  .switches_max = UINT64_C(20000000)};
}

static struct wire_options draw_wire(uint32_t ranks)
{
    struct wire_options wire = {.ranks = ranks,
                                .latency_ns = UINT64_C(500) << draw(6),
                                .bytes_per_us = UINT64_C(500) << draw(6),
                                .places = chance(50),
                                .lends = chance(50)};
    wire.jitter_ns = wire.latency_ns * draw(4);
    return wire;
}

/* --- A rank ----------------------------------------------------------------------- */

static void keep_report(void *user, const char *text)
{
    struct seat *seat = user;
    if (job.options->shows) {
        fprintf(stderr, "[life %u, %u %.6f] %s", (unsigned)job.ledger.life,
                (unsigned)seat->rank, (double)(world_now_ns() - WORLD_BEGIN_NS) * 1e-9,
                text);
    }
    const int length = snprintf(seat->report + seat->reported,
                                sizeof(seat->report) - seat->reported, "%s", text);
    seat->reported += length > 0 ? (size_t)length : 0;
    if (seat->reported >= sizeof(seat->report)) {
        seat->reported = sizeof(seat->report) - 1;
    }
}

static void play_rank(void *argument)
{
    struct seat *seat = argument;
    struct wire_end_options end = {job.wire, seat->rank};
    const moot_options options = {
        .report = keep_report, .report_user = seat, .knobs = job.knob_list};
    moot *m = NULL;
    if (seat->rank == 0) {
        stores_check_snapshots(&job.ledger);
    }
    if (moot_open_transport(&options, wire_open, &end, &m) == MOOT_OK) {
        stores_play(&job.ledger, seat->rank, m);
    } else if (job.ledger.calm &&
               !(job.ledger.flipped && job.ledger.reloads > 0)) { /* a damaged mark */
        job.wrong = true;
        printf("WRONG: rank %u does not open: %s\n", (unsigned)seat->rank,
               moot_last_error(NULL));
    }
}

/* --- A life ----------------------------------------------------------------------- */

static void say_hang(enum world_end end)
{
    static const char *const words[] = {"", "is not over by the deadline",
                                        "waits for ever", "makes no end of turns"};
    job.wrong = true;
    if (job.options->quiet) {
        return;
    }
    printf("WRONG: life %u %s\n", (unsigned)job.ledger.life, words[end]);
    world_tell();
    for (uint32_t rank = 0; rank < job.ledger.ranks; rank++) {
        printf("--- rank %u reported\n%s", (unsigned)rank, job.seats[rank].report);
    }
}

static void check_memory(void)
{
    for (uint32_t rank = 0; rank < job.ledger.ranks; rank++) {
        size_t bytes;
        uint64_t first;
        const size_t blocks = account_of(rank, &bytes, &first);
        if (!world_is_dead(rank, NULL) && blocks > 0) {
            job.wrong = true;
            printf(
                "WRONG: life %u: rank %u has closed and holds %zu blocks, %zu bytes; "
                "the first is its %lluth\n",
                (unsigned)job.ledger.life, (unsigned)rank, blocks, bytes,
                (unsigned long long)first);
        }
    }
}

static void tell_life(uint32_t ranks, enum ending ending, uint64_t dark_ns)
{
    static const char *const words[ENDINGS] = {"ends well", "all are killed",
                                               "power is lost"};
    if (!job.options->shows) {
        return;
    }
    fprintf(stderr, "life %u: %u ranks, %s", (unsigned)job.ledger.life, (unsigned)ranks,
            words[ending]);
    if (ending != ENDS_WELL) {
        fprintf(stderr, " at %.6f", (double)dark_ns * 1e-9);
    }
    for (uint32_t i = 0; i < job.knob_count; i++) {
        fprintf(stderr, " %s", job.knobs[i]);
    }
    fprintf(stderr, "%s%s", job.disk.full_per_mille > 0 ? ", a disk that is full" : "",
            job.disk.vanish_per_mille > 0 ? ", packs that vanish" : "");
    if (job.disk.files_max > 0) {
        fprintf(stderr, ", %u files", (unsigned)job.disk.files_max);
    }
    fprintf(stderr, "\n");
}

static void run_life(uint32_t ranks, bool calm, enum ending ending,
                     struct run_result *result)
{
    bool died[WORLD_RANKS_MAX];
    draw_disk(calm); /* what vanishes is not there for sure */
    stores_begin_life(&job.ledger, ranks, calm);
    job.ledger.lost = job.ledger.lost || job.disk.full_per_mille > 0;
    job.ledger.unstored = job.disk.files_max > 0;
    draw_knobs(calm);
    const struct world_options world = draw_world(ranks);
    const struct wire_options wire = draw_wire(ranks);
    world_begin(&world);
    job.wire = wire_new(&wire);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        job.seats[rank] = (struct seat){.rank = rank};
        world_add_rank(rank, play_rank, &job.seats[rank]);
    }
    const uint64_t dark_ns = draw(MILLISECONDS(12)) >> draw(3);
    tell_life(ranks, ending, dark_ns);
    for (uint32_t rank = 0; rank < ranks && ending != ENDS_WELL; rank++) {
        world_kill_at(rank, dark_ns);
    }
    if (ending == ENDS_WELL && !calm && chance(40)) {
        world_kill_at((uint32_t)draw(ranks), draw(MILLISECONDS(12)));
    }
    const enum world_end end = world_run();
    if (end != WORLD_DONE) {
        say_hang(end);
    } else {
        check_memory();
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        died[rank] = world_is_dead(rank, NULL);
        result->deaths += died[rank];
    }
    job.wrong = stores_judge(&job.ledger, died) > 0 || job.wrong;
    result->digest = medley_mix(result->digest ^ world_digest());
    result->switches += world_switches();
    wire_free(job.wire);
    world_finish();
}

/* Between two lives. */
static void harm_disk(enum ending ending)
{
    disk_life_ends();
    job.ledger.lost = job.ledger.lost || job.disk.files_max > 0; /* what was not put */
    if (ending == ENDS_DARK) {
        disk_lose_power();
        job.ledger.lost = job.ledger.lost || !job.sync;
        job.ledger.forgot = job.ledger.forgot || !job.sync;
    }
    if (chance(15)) {
        disk_flip_bits(4 + draw(20));
        job.ledger.flipped = true;
    }
}

static void count_ends(struct run_result *result)
{
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        const struct stores_task *task = &job.ledger.tasks[i];
        for (uint32_t rank = 0; rank < job.ledger.ranks; rank++) {
            result->well += task->seen[rank] && task->codes[rank] == MOOT_OK;
            result->ill += task->seen[rank] && task->codes[rank] != MOOT_OK;
        }
    }
}

bool stores_run(const struct run_options *options, struct run_result *result)
{
    memset(&job, 0, sizeof(job));
    *result = (struct run_result){.kill_rank = WORLD_NO_RANK};
    job.options = options;
    job.random = medley_mix(options->seed * 11 + 3);
    job.sync = chance(50);
    job.disk = (struct disk_options){.seed = options->seed,
                                     .lies = has_canary("unsynced"),
                                     .deaf = has_canary("deaf"),
                                     .forgetful = has_canary("forgetful")};
    stores_draw(&job.ledger, options->seed);
    job.ledger.quiet = options->quiet;
    disk_begin(&job.disk);
    const uint32_t lives = 2 + (uint32_t)draw(STORES_LIVES_MAX - 1);
    for (; job.ledger.life < lives && !job.wrong; job.ledger.life++) {
        const bool calm = job.ledger.life + 1 == lives;
        const enum ending ending = calm ? ENDS_WELL : (enum ending)draw(ENDINGS);
        result->ranks = options->ranks != 0 ? options->ranks : 2 + (uint32_t)draw(4);
        run_life(result->ranks, calm, ending, result);
        harm_disk(ending);
    }
    count_ends(result);
    result->messages = job.ledger.checked;
    result->taken_over = job.ledger.found;
    disk_end();
    return !job.wrong;
}
