/* run.c - see run.h. */
#include "tests/virtual/run.h"

#include "node/api/context_open.h"
#include "node/diskstore/disk_private.h"
#include "tests/virtual/disk.h"
#include "tests/virtual/sessions.h"
#include "tests/virtual/steady.h"
#include "tests/virtual/stores_run.h"
#include "tests/virtual/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MILLISECONDS(n) (UINT64_C(1000000) * (n))
#define SECONDS(n) (UINT64_C(1000000000) * (n))

enum { KNOBS_MAX = 20, KNOB_BYTES = 288, REPORT_BYTES = 64 << 10 };

struct job {
    const struct run_options *options;
    struct medley medley;
    struct medley_ledger ledger;
    struct sessions_ledger sessions;
    struct wire *wire;
    char knobs[KNOBS_MAX][KNOB_BYTES];
    const char *knob_list[KNOBS_MAX + 1];
    uint32_t knob_count;
    uint64_t random;
    uint32_t hosts[WORLD_RANKS_MAX];
    bool wrong;
    struct seat {
        struct job *job;
        uint32_t rank;
        struct medley_player player;
        char report[REPORT_BYTES];
        size_t reported;
        void *kept; /* a canary */
    } seats[WORLD_RANKS_MAX];
};

static struct job job;
static uint64_t job_runs; /* a canary's */

/* --- Drawing ---------------------------------------------------------------------- */

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

static void draw_knobs(const struct run_result *is)
{
    static const char *const threads[] = {"0", "0", "0", "1", "2"};
    static const char *const progress[] = {"auto", "auto", "thread", "caller"};
    uint32_t hosts = chance(60) ? 1 : 2;
    for (uint32_t rank = 0; rank < is->ranks; rank++) {
        job.hosts[rank] = (uint32_t)draw(hosts);
    }
    job.knob_count = 0;
    add_knob("MOOT_STATE=off");
    add_knob("MOOT_STALL=20s");
    add_knob("MOOT_THREADS=%s", threads[draw(5)]);
    const char *how = progress[draw(4)];
    add_knob("MOOT_PROGRESS=%s", how);
    if (is->faults[0] != '\0') {
        add_knob("MOOT_FAULTS=%s", is->faults);
    }
    bool must_guess = hosts > 1 && strcmp(how, "caller") == 0;
    bool stops = strstr(is->faults, "pause") != NULL;
    if (stops) {
        add_knob("MOOT_SUSPECT=1s");
    }
    if (chance(50) || must_guess) {
        add_knob("MOOT_HEARTBEAT=%s", stops ? "150ms" : "100ms");
    }
    if (job.options->steady) {
        add_knob("MOOT_WINDOW=%s", chance(50) ? "64" : "100");
    } else if (job.medley.base.lets_go) {
        add_knob("MOOT_WINDOW=%s", chance(50) ? "8" : "2");
    }
    if (chance(30)) {
        add_knob("MOOT_VOTE_TIMEOUT=%s", chance(50) ? "auto" : "3ms");
    }
    if (chance(20)) {
        add_knob("MOOT_ASK_DELAY=%s", chance(50) ? "1us" : "10ms");
    }
    if (chance(20)) {
        add_knob("MOOT_VOTERS=%s", chance(50) ? "1" : "5");
    }
    /* As among thousands.  There only heartbeats show that those who decide about views
     * have died, and nothing is forgotten before its scope has ended. */
    if (strcmp(how, "thread") == 0 && chance(60) && !job.options->steady) {
        add_knob("MOOT_DIRECT_MAX=%s", chance(50) ? "1" : "3");
    }
}

/* One program in five has a checkpoint, in an empty folder; what ranks store those find
 * who go on when they have died.  Drawn apart from all else. */
static bool has_store(void)
{
    return !job.options->steady && medley_mix(job.options->seed * 13 + 1) % 5 == 0;
}

static void draw_store(void)
{
    static const char *const when[] = {"finish", "1ms", "call", "finish"};
    const uint64_t word = medley_mix(job.options->seed * 17 + 3) >> 8;
    const struct disk_options disk = {.seed = job.options->seed,
                                      .slow_ns = word % 3 == 0 ? word % 100000 : 0};
    if (!has_store()) {
        return;
    }
    disk_begin(&disk);
    add_knob("MOOT_CHECKPOINT=%s/store", DISK_FOLDER);
    add_knob("MOOT_CHECKPOINT_LEAST=0");
    add_knob("MOOT_CHECKPOINT_SYNC=%u", (unsigned)(word >> 20) % 2);
    add_knob("MOOT_CHECKPOINT_WHEN=%s", when[(word >> 24) % 4]);
}

static void draw_wire_faults(struct run_result *is)
{
    static const char *const harms[] = {
        "drop:0.05",           "delay:2ms+-2ms", "dup:0.05",       "reorder:0.05",
        "part:0/1@10ms+100ms", "slow:x3/r0",     "gap:2ms+-1ms/r1"};
    for (uint32_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
        size_t at = strlen(is->faults);
        if (chance(30)) {
            (void)snprintf(is->faults + at, sizeof(is->faults) - at, "%s%s",
                           at > 0 ? "," : "", harms[i]);
        }
    }
}

/* Half of the runs have no death; what is drawn is drawn, whatever is named. */
static void draw_faults(struct run_result *is)
{
    struct medley_base *base = &job.medley.base;
    bool strikes = chance(40), killed = chance(20), harmed = chance(20);
    is->kill_rank = (uint32_t)draw(is->ranks);
    is->kill_ns = MILLISECONDS(1) + draw(MILLISECONDS(100));
    (void)snprintf(is->faults, sizeof(is->faults), "%s", strikes ? base->plan : "");
    if (!strikes) {
        base->killed = base->paused = 0;
    }
    if (harmed) {
        draw_wire_faults(is);
    }
    if (!killed) {
        is->kill_rank = WORLD_NO_RANK;
    }
    if (job.options->sessions) {
        is->faults[0] = '\0';
        base->killed = base->paused = 0;
    }
    if (job.options->steady) {
        is->faults[0] = '\0';
        is->kill_rank = WORLD_NO_RANK;
        base->killed = base->paused = 0;
    }
    if (job.options->faults != NULL) {
        bool none = strcmp(job.options->faults, "none") == 0;
        (void)snprintf(is->faults, sizeof(is->faults), "%s",
                       none ? "" : job.options->faults);
    }
    if (job.options->kill_named) {
        is->kill_rank = job.options->kill_rank;
        is->kill_ns = job.options->kill_ns;
    }
    if (is->kill_rank != WORLD_NO_RANK) {
        base->killed |= UINT64_C(1) << is->kill_rank;
    }
}

static void draw_program(struct run_result *is)
{
    const struct run_options *options = job.options;
    uint32_t ranks = 2 + (uint32_t)draw(4), features = MEDLEY_ALL;
    if (chance(70)) {
        features &= (uint32_t)draw(MEDLEY_ALL + UINT64_C(1));
    }
    if (!chance(15)) {
        features &= ~(1u << MEDLEY_LARGE_BIT);
    }
    is->ranks = options->ranks != 0 ? options->ranks : ranks;
    is->features = options->features_named ? options->features : features;
    medley_draw(&job.medley, options->seed, is->ranks, is->features);
    if (options->arrays) {
        medley_draw_arrays(&job.medley);
    }
    draw_faults(is);
    draw_knobs(is);
    draw_store();
}

static struct world_options draw_world(const struct run_result *is)
{
    static const uint32_t interrupts[] = {0, 20, 200, 1000};
    uint64_t other = has_canary("time") ? ++job_runs : 0;
    return (struct world_options){.seed = job.options->seed ^ other << 32,
                                  .ranks = is->ranks,
                                  .call_ns = UINT64_C(20) << draw(5),
                                  .slack_ns = draw(3) * 2000,
                                  .interrupts = interrupts[draw(4)],
                                  .interrupted_ns = MILLISECONDS(1) << draw(2),
                                  .yield_ns = UINT64_C(5000) << draw(5),
                                  .deadline_ns = SECONDS(200),
                                  .switches_max = UINT64_C(20000000)};
}

static struct wire_options draw_wire(const struct run_result *is)
{
    struct wire_options wire = {.ranks = is->ranks,
                                .latency_ns = UINT64_C(500) << draw(8),
                                .slow_ones = chance(30) ? (uint32_t)draw(100) : 0,
                                .bytes_per_us = UINT64_C(500) << draw(6),
                                .frame_ns = chance(25) ? draw(100000) : 0,
                                .places = chance(50),
                                .lends = chance(50),
                                .cuts_bulk = has_canary("bytes"),
                                .swaps = has_canary("order")};
    wire.jitter_ns = wire.latency_ns * draw(4);
    memcpy(wire.hosts, job.hosts, sizeof(wire.hosts));
    return wire;
}

/* --- A rank ----------------------------------------------------------------------- */

static void keep_report(void *user, const char *text)
{
    struct seat *seat = user;
    if (job.options->shows) {
        fprintf(stderr, "[%u %.6f] %s", (unsigned)seat->rank,
                (double)(world_now_ns() - WORLD_BEGIN_NS) * 1e-9, text);
    }
    int length = snprintf(seat->report + seat->reported,
                          sizeof(seat->report) - seat->reported, "%s", text);
    seat->reported += length > 0 ? (size_t)length : 0;
    if (seat->reported >= sizeof(seat->report)) {
        seat->reported = sizeof(seat->report) - 1;
    }
}

static void play_rank(void *argument)
{
    struct seat *seat = argument;
    struct wire_end_options end = {seat->job->wire, seat->rank};
    const moot_options options = {
        .report = keep_report, .report_user = seat, .knobs = seat->job->knob_list};
    struct medley_player *player = &seat->player;
    *player = (struct medley_player){.medley = &seat->job->medley,
                                     .ledger = &seat->job->ledger,
                                     .rank = (int)seat->rank};
    int code = moot_open_transport(&options, wire_open, &end, &player->m);
    if (code != MOOT_OK) {
        printf("WRONG: rank %u does not open: %s\n", (unsigned)seat->rank,
               moot_last_error(NULL));
        seat->job->wrong = true;
        return;
    }
    if (has_canary("leak") && seat->rank == 0) {
        seat->kept = malloc(100);
    }
    if (has_canary("hang") && seat->rank == 0) {
        world_wait(seat, WORLD_NEVER);
    }
    if (job.options->steady) {
        const struct steady steady = {job.options->seed, job.medley.base.ranks,
                                      has_canary("hoard")};
        seat->job->wrong |= steady_play(&steady, player->m) > 0;
        return;
    }
    if (job.options->sessions) {
        sessions_play(&job.sessions, player->m);
        return;
    }
    code = medley_play(player);
    world_note(4, (uint64_t)(int64_t)code, 0);
}

/* --- Checks ----------------------------------------------------------------------- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list args;
    job.wrong = true;
    if (!job.options->quiet) {
        va_start(args, format);
        printf("WRONG: ");
        vprintf(format, args);
        va_end(args);
    }
}

static void check_end(enum world_end end)
{
    static const char *const words[] = {"", "is not over by the deadline",
                                        "waits for ever", "makes no end of turns"};
    if (end == WORLD_DONE) {
        return;
    }
    say("the run %s\n", words[end]);
    if (!job.options->quiet) {
        world_tell();
        for (uint32_t rank = 0; rank < job.medley.base.ranks; rank++) {
            printf("--- rank %u reported\n%s", (unsigned)rank, job.seats[rank].report);
        }
    }
}

static void check_memory(void)
{
    for (uint32_t rank = 0; rank < job.medley.base.ranks; rank++) {
        size_t bytes;
        uint64_t first;
        size_t blocks = account_of(rank, &bytes, &first);
        if (!world_is_dead(rank, NULL) && blocks > 0) {
            say("rank %u has closed and holds %zu blocks, %zu bytes; the first is its "
                "%lluth\n",
                (unsigned)rank, blocks, bytes, (unsigned long long)first);
        }
    }
    if (wire_left(job.wire) > 0) {
        say("transfers were left that one side has named, and the other has not\n");
    }
}

static void check_program(void)
{
    if (job.options->sessions) {
        bool died[WORLD_RANKS_MAX];
        for (uint32_t rank = 0; rank < job.medley.base.ranks; rank++) {
            died[rank] = world_is_dead(rank, NULL);
        }
        job.wrong |= sessions_judge(&job.sessions, died) > 0;
        return;
    }
    FILE *to = job.options->quiet ? NULL : stdout;
    job.wrong |= medley_judge(&job.medley, &job.ledger, to) != 0;
}

static void count(struct run_result *is)
{
    for (uint32_t rank = 0; rank < is->ranks; rank++) {
        is->deaths += world_is_dead(rank, NULL);
        for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
            const struct medley_end *end = &job.ledger.ledger.ends[task][rank];
            is->well += end->seen && end->code == MOOT_OK;
            is->ill += end->seen && end->code != MOOT_OK;
            world_note(5, end->seen ? (uint64_t)(int64_t)end->code : 1, end->nonce);
        }
    }
    is->digest = world_digest();
    is->switches = world_switches();
}

bool run(const struct run_options *options, struct run_result *result)
{
    if (options->stores) {
        return stores_run(options, result);
    }
    memset(&job, 0, sizeof(job));
    *result = (struct run_result){0};
    job.options = options;
    job.random = medley_mix(options->seed * 7 + 5);
    draw_program(result);
    job.sessions.seed = options->seed;
    job.sessions.ranks = result->ranks;
    job.sessions.forgets = job.medley.base.lets_go;
    const struct world_options world = draw_world(result);
    const struct wire_options wire = draw_wire(result);
    world_begin(&world);
    job.wire = wire_new(&wire);
    for (uint32_t rank = 0; rank < result->ranks; rank++) {
        job.seats[rank].job = &job;
        job.seats[rank].rank = rank;
        world_add_rank(rank, play_rank, &job.seats[rank]);
    }
    if (result->kill_rank != WORLD_NO_RANK) {
        world_kill_at(result->kill_rank, result->kill_ns);
    }
    enum world_end end = world_run();
    check_end(end);
    if (end == WORLD_DONE) {
        check_memory();
        if (!options->steady) {
            check_program();
        }
    }
    count(result);
    wire_free(job.wire);
    world_finish();
    if (has_store()) {
        disk_life_ends();
        disk_end();
    }
    return !job.wrong;
}

/* --- All runs --------------------------------------------------------------------- */

/* Nothing from outside may decide anything. */
bool run_setup(void)
{
    extern char **environ;
    char **from = environ, **to = environ;
    for (; *from != NULL; from++) {
        if (strncmp(*from, "MOOT_", 5) != 0) {
            *to++ = *from;
        }
    }
    *to = NULL;
    world_own(&disk_stores, sizeof(disk_stores));
    return setenv("HOME", "/nonexistent", 1) == 0 && unsetenv("XDG_CONFIG_HOME") == 0;
}

void run_total(struct run_totals *totals, const struct run_result *is)
{
    totals->runs++;
    totals->deaths += is->deaths;
    totals->well += is->well;
    totals->ill += is->ill;
    totals->switches += is->switches;
    totals->digest = medley_mix(totals->digest ^ is->digest);
}

void run_print_totals(const struct run_totals *totals)
{
    printf("%llu ranks died; %llu ends with a result, %llu with an error; %llu turns; "
           "digest %016llx\n",
           (unsigned long long)totals->deaths, (unsigned long long)totals->well,
           (unsigned long long)totals->ill, (unsigned long long)totals->switches,
           (unsigned long long)totals->digest);
}
