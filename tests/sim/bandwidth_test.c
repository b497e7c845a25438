/* bandwidth_test.c - bytes take time where a wire carries only so many a second.
 *
 * Each case has ranks that make results, and ranks that fetch them.  The time of the
 * run follows from the bytes that pass the narrowest place: the port of who sends, that
 * of who gets, or the way between two.  A last case asks for little while much is under
 * way: frames wait for a slice of bulk, and not for all of it.  And what many ranks
 * need leaves its owner a few times.
 */
#include "consensus/sim/checks/checker.h"
#include <inttypes.h>
#include <stdlib.h>

#define MS(n) (UINT64_C(1000000) * (n))
#define MB(n) (UINT64_C(1000000) * (n))

enum { RANKS_MAX = 5, SMALL_BYTES = 8000 };
#define MARGIN 1.025

struct row {
    const char *name;
    uint32_t makers, takers; /* the first ranks, and the next */
    uint32_t count, bytes;   /* results for each maker and taker */
    uint64_t bandwidth, link_bandwidth;
    uint64_t takes_ns;
};

static const struct row rows[] = {
    {"nothing is bound", 1, 1, 40, MB(1), 0, 0, 0},
    {"one rank sends to one", 1, 1, 40, MB(1), MB(10), 0, MS(4000)},
    {"one rank sends to four", 1, 4, 10, MB(1), MB(10), 0, MS(4000)},
    {"one rank gets from four", 4, 1, 10, MB(1), MB(10), 0, MS(4000)},
    {"two send to two", 2, 2, 20, MB(1) / 2, MB(10), 0, MS(2000)},
    {"the way is the narrowest", 1, 1, 40, MB(1), MB(10), MB(5), MS(8000)},
    {"two ways beside one another", 1, 2, 20, MB(1), MB(10), MB(5), MS(4000)},
    {"only ways are bound", 1, 4, 10, MB(1), 0, MB(10), MS(1000)},
    {"frames without bulk", 1, 1, 5000, SMALL_BYTES, MB(10), 0, MS(4000)},
};

static const struct sim_weather idle = {
    .latency_ns = 2000,
    .step_ns = 1,
    .workers = 4,
    .ask_delay_ns = 1000,
    .gossip_period_ns = 2000000,
    .vote_timeout_ns = CORE_NEVER,
    .voters = 3,
    .crashes = SIM_CRASHES,
};

/* Each taker fetches what is for it, of every maker in turn. */
static struct program *write_program(const struct row *row)
{
    uint32_t ranks = row->makers + row->takers, all = 0, chairs[20000];
    struct program *p = program_blank(1, ranks, 1);
    for (uint32_t i = 0; i < row->count; i++) {
        for (uint32_t pair = 0; pair < row->makers * row->takers; pair++) {
            uint32_t maker = pair % row->makers;
            uint32_t task = program_add_task(p, "result", PROGRAM_NONE);
            p->tasks[task].result_bytes = row->bytes;
            p->tasks[task].work_us = 1;
            chairs[all++] = maker;
            program_add_step(p, maker, 0, PROGRAM_SPAWN, task);
            program_add_step(p, row->makers + pair / row->makers, 0, PROGRAM_FETCH,
                             task);
        }
    }
    sim_seat(p, chairs);
    program_finish(p);
    return p;
}

static bool run(const struct program *program, const struct sim_weather *weather,
                struct sim_report *report)
{
    const struct sim_options options = {
        .program = program, .seed = 1, .weather = weather};
    bool good = checker_run(&options, report);
    if (!good) {
        printf("FAILED %s: %s\n%s", report->check, report->why,
               report->dump != NULL ? report->dump : "");
    }
    free(report->dump);
    return good;
}

static bool row_is_good(const struct row *row)
{
    static struct sim_report report;
    struct sim_weather weather = idle;
    weather.bandwidth = row->bandwidth;
    weather.link_bandwidth = row->link_bandwidth;
    struct program *program = write_program(row);
    bool good = run(program, &weather, &report);
    program_free(program);
    const double took = (double)report.end_ns, least = (double)row->takes_ns;
    const bool fits = row->takes_ns == 0
                          ? report.end_ns < MS(500) && report.wire.out_bytes == 0
                          : took >= least && took <= least * MARGIN + (double)MS(50);
    if (good && !fits) {
        printf("%s: it takes %.3f s, and the bytes %.3f s\n", row->name, took / 1e9,
               least / 1e9);
    }
    return good && fits;
}

/* --- Little passes much ----------------------------------------------------------- */

struct passing {
    uint64_t asked_ns, small_ns, large_ns;
};

static void see_waits(void *context, struct sim *sim, const struct sight *sight)
{
    (void)sim;
    struct passing *passing = context;
    if (sight->type == SIGHT_WAIT && sight->task == 1) {
        passing->asked_ns = sight->time_ns;
    } else if (sight->type == SIGHT_WAITED && sight->task == 1) {
        passing->small_ns = sight->time_ns;
    } else if (sight->type == SIGHT_WAITED && sight->task == 0) {
        passing->large_ns = sight->time_ns;
    }
}

/* A port of 10 MB/s has 1 s of bulk to send; the slice that is under way takes 6.6 ms.
 */
static bool little_passes_much(void)
{
    static struct sim_report report;
    struct passing passing = {0};
    const struct sim_watcher watcher = {see_waits, &passing};
    struct program *p = program_blank(1, 3, 1);
    const uint32_t chairs[] = {0, 0};
    for (uint32_t task = 0; task < 2; task++) {
        program_add_task(p, task == 0 ? "large" : "small", PROGRAM_NONE);
        p->tasks[task].result_bytes = task == 0 ? (uint32_t)MB(10) : 100;
        p->tasks[task].work_us = 1;
        program_add_step(p, 0, 0, PROGRAM_SPAWN, task);
    }
    program_add_step(p, 1, 0, PROGRAM_FETCH, 0);
    program_add_step(p, 2, 0, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us = 100000;
    program_add_step(p, 2, 0, PROGRAM_FETCH, 1);
    sim_seat(p, chairs);
    program_finish(p);
    struct sim_weather weather = idle;
    weather.bandwidth = MB(10);
    const struct sim_options options = {.program = p,
                                        .seed = 1,
                                        .weather = &weather,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    bool good = checker_run(&options, &report);
    free(report.dump);
    program_free(p);
    good = good && passing.large_ns > MS(1000) && passing.small_ns < MS(500) &&
           passing.small_ns - passing.asked_ns < MS(20) &&
           passing.small_ns - passing.asked_ns > MS(3);
    if (!good) {
        printf("little passes much: asked for after %" PRIu64
               " ns, there after %" PRIu64 " ns, and the large one after %" PRIu64
               " ns\n",
               passing.asked_ns, passing.small_ns, passing.large_ns);
    }
    return good;
}

/* --- One result to all ------------------------------------------------------------ */

enum { CROWD = 100, ROOM_PERCENT = 5 };

/* The most bytes that one of them sends. */
static uint64_t send_to_all(uint32_t fanout)
{
    static struct sim_report report;
    struct program *p = program_blank(1, CROWD, 1);
    const uint32_t task = program_add_task(p, "result", PROGRAM_NONE);
    p->tasks[task].result_bytes = (uint32_t)MB(1);
    p->tasks[task].work_us = 1;
    for (uint32_t rank = 0; rank < CROWD; rank++) {
        program_add_step(p, rank, 0, PROGRAM_SPAWN, task);
        program_add_step(p, rank, 0, PROGRAM_FETCH, task);
    }
    program_finish(p);
    struct sim_weather weather = idle;
    weather.bandwidth = MB(1000);
    weather.tree_fanout = fanout;
    const bool good = run(p, &weather, &report);
    program_free(p);
    return good ? report.wire.out_bytes : UINT64_MAX;
}

static bool is_about(uint64_t bytes, uint64_t copies)
{
    return bytes >= MB(copies) && bytes <= MB(copies) * (100 + ROOM_PERCENT) / 100;
}

static bool trees_spread_the_load(void)
{
    const uint64_t alone = send_to_all(0), with_four = send_to_all(4);
    const bool good = is_about(alone, CROWD - 1) && is_about(with_four, 4);
    if (!good) {
        printf("one result to %d ranks: %" PRIu64
               " bytes leave the busiest, and %" PRIu64 " with trees\n",
               CROWD, alone, with_four);
    }
    return good;
}

int main(void)
{
    uint32_t failed = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        failed += !row_is_good(&rows[i]);
    }
    failed += !little_passes_much();
    failed += !trees_spread_the_load();
    if (failed == 0) {
        printf("%zu cases take as long as their bytes do\n",
               sizeof(rows) / sizeof(*rows) + 2);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
