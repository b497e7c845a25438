/* tune_test.c - what `moot tune` makes of a recorded run, on runs made by hand. */
#include "consensus/sim/engine/sim.h"
#include "consensus/sim/programs/program.h"
#include "node/tools/tune.h"
#include "proto/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIND(name) MOOT__RECORD__KIND__##name
#define MS(n) (INT64_C(1000000) * (n))

/* --- Samples ---------------------------------------------------------------------- */

static void samples_are_counted_from_above(void **state)
{
    (void)state;
    struct samples samples = {0};
    assert_int_equal(samples_at(&samples, 9900), 0);
    assert_int_equal(samples_beyond(&samples, 0), 0);
    for (int64_t i = 1000; i > 0; i--) {
        samples_add(&samples, i);
    }
    samples_sort(&samples);
    assert_int_equal(samples_at(&samples, 5000), 500);
    assert_int_equal(samples_at(&samples, 9990), 999);
    assert_int_equal(samples_at(&samples, 0), 1);
    assert_int_equal(samples_most(&samples), 1000);
    assert_int_equal(samples_beyond(&samples, 0), 1000);
    assert_int_equal(samples_beyond(&samples, 999), 1);
    assert_int_equal(samples_beyond(&samples, 1000), 0);
    samples_free(&samples);
}

static void a_share_is_bounded_by_what_the_sample_supports(void **state)
{
    (void)state;
    static const struct {
        size_t events, trials;
        double least, most;
    } rows[] = {
        {0, 0, 1, 1},           /* nothing was seen: anything may be */
        {0, 2, 1, 1},           /* three in two */
        {0, 300, 0.0099, 0.01}, /* the rule of three */
        {1, 300, 0.01, 0.02},   {30, 300, 0.12, 0.14}, /* 0.131 by the exact binomial */
        {300, 300, 0.99, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        double share = tune_share_most(rows[i].events, rows[i].trials);
        assert_true(share >= rows[i].least && share <= rows[i].most + 1e-12);
    }
}

/* --- A run by hand ---------------------------------------------------------------- */

enum { RANKS = 3, TASKS = 4, EVENTS_MAX = 32 };

/* 0 and 1 are spawned by all, and 1 takes 0; rank 2 waits for 1.  Task 2 is rank 0's
 * and 1's alone; task 3 was never spawned. */
static struct run {
    struct trace_job trace;
    struct trace_rank ranks[RANKS];
    struct trace_task tasks[TASKS];
    struct trace_run runs[TASKS];
    struct trace_event events[RANKS][EVENTS_MAX];
    uint32_t inputs[1];
} run;

static void happen(uint32_t rank, int64_t at_ns, Moot__Record__Kind kind, uint32_t task,
                   uint32_t lane)
{
    struct trace_rank *r = &run.ranks[rank];
    assert_true(r->event_count < EVENTS_MAX);
    r->events[r->event_count++] = (struct trace_event){
        .at_ns = at_ns, .kind = kind, .task = task, .parent = TRACE_NONE, .lane = lane};
    if (kind == KIND(SPAWN) && at_ns < run.tasks[task].spawned_ns) {
        run.tasks[task].spawned_ns = at_ns;
    }
}

static void spawn(uint32_t rank, int64_t at_ns, uint32_t task)
{
    happen(rank, at_ns, KIND(SPAWN), task, 1);
    assert_true(rankset_add(&run.tasks[task].spawners, rank));
}

static void run_open(void)
{
    memset(&run, 0, sizeof(run));
    for (uint32_t r = 0; r < RANKS; r++) {
        run.ranks[r] = (struct trace_rank){.present = true,
                                           .ready_ns = MS(1),
                                           .close_ns = MS(1000),
                                           .events = run.events[r]};
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        run.tasks[t] = (struct trace_task){.kernel = "mix",
                                           .site = "",
                                           .label = "",
                                           .parent = TRACE_NONE,
                                           .spawned_ns = TRACE_NEVER,
                                           .voted_ns = TRACE_NEVER,
                                           .run = t};
        memset(run.tasks[t].hash.bytes, (int)t + 1, MOOT_HASH_BYTES - 1);
        run.runs[t] = (struct trace_run){
            .task = t, .rank = 0, .start_ns = MS(5), .end_ns = MS(8)};
    }
    run.inputs[0] = 0;
    run.tasks[1].inputs = run.inputs;
    run.tasks[1].input_count = 1;
    run.trace = (struct trace_job){.ranks = run.ranks,
                                   .rank_count = RANKS,
                                   .present_count = RANKS,
                                   .tasks = run.tasks,
                                   .task_count = TASKS,
                                   .runs = run.runs,
                                   .run_count = TASKS,
                                   .makespan_ns = MS(20)};
    for (uint32_t r = 0; r < RANKS; r++) {
        spawn(r, MS(2 + r), 0);
        spawn(r, MS(4 + r), 1);
    }
    happen(2, MS(7), KIND(WAIT), 1, 1);
    happen(2, MS(12), KIND(WAITED), 1, 1);
    spawn(0, MS(6), 2);
    spawn(1, MS(9), 2);
}

static void run_close(void)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        rankset_release(&run.tasks[t].spawners);
    }
}

static void it_is_measured_who_was_late(void **state)
{
    (void)state;
    struct tune_measures measures = {0};
    run_open();
    happen(1, MS(3), KIND(MOTION_RECEIVED), 2, 0);  /* chair 1 spawns it 6 ms later */
    happen(2, MS(10), KIND(MOTION_RECEIVED), 3, 0); /* chair 2 never does, */
    happen(2, MS(14), KIND(VOTE), 3, 0);            /* and gives it away after 4 */
    happen(0, MS(1), KIND(MOTION_RECEIVED), 0, 0);
    happen(0, MS(1), KIND(VOTE), 0, 0);             /* given away, and spawned then */
    happen(0, MS(30), KIND(MOTION_RECEIVED), 1, 0); /* that was spawned long ago */
    assert_true(tune_measure(&run.trace, &measures));
    tune_measures_sort(&measures);
    assert_int_equal(measures.late.count, 1);
    assert_int_equal(measures.late.items[0], MS(6));
    assert_int_equal(measures.decided.count, 2);
    assert_int_equal(measures.decided.items[0], 0);
    assert_int_equal(measures.decided.items[1], MS(4));
    assert_int_equal(tune_early_asks(&measures), 3);
    assert_int_equal(measures.votes, 2);
    assert_int_equal(measures.needless, 1);
    assert_int_equal(samples_most(&measures.spawns), MS(3)); /* task 2, by rank 1 */
    tune_measures_release(&measures);
    run_close();
}

static void the_longest_is_told_with_its_place(void **state)
{
    (void)state;
    struct tune_measures measures = {0};
    run_open();
    static const int64_t trips[] = {MS(1), MS(9), MS(2)};
    for (uint32_t r = 0; r < RANKS; r++) {
        happen(r, MS(10 + r), KIND(ROUND_TRIP), TRACE_NONE, 0);
        run.events[r][run.ranks[r].event_count - 1].peer = (r + 1) % RANKS;
        run.events[r][run.ranks[r].event_count - 1].value = (uint64_t)trips[r];
    }
    happen(0, MS(9), KIND(GAP), TRACE_NONE, 0); /* while its kernels ran, 5 to 8 ms */
    run.events[0][run.ranks[0].event_count - 1].value = MS(3);
    assert_true(tune_measure(&run.trace, &measures));
    assert_int_equal(measures.trip_from, 1);
    assert_int_equal(measures.trip_to, 2);
    assert_int_equal(measures.gap_rank, 0);
    assert_string_equal(measures.gap_kernel, "mix");
    tune_measures_release(&measures);
    run_close();
}

/* --- Its replay ------------------------------------------------------------------- */

/* How long the rank's own code takes before its step with the task. */
static uint64_t own_us_before(const struct program *program, uint32_t rank,
                              enum program_op op, uint32_t task)
{
    const struct program_script *script = program_script(program, rank, 0);
    uint64_t us = 0;
    for (uint32_t i = 0; i < script->count; i++) {
        const struct program_step *step = &script->steps[i];
        if (step->op == op && step->tasks.items[0] == task) {
            return us;
        }
        us += step->op == PROGRAM_COMPUTE ? step->pause_us : 0;
    }
    return UINT64_MAX;
}

static void a_run_becomes_a_program(void **state)
{
    (void)state;
    bool whole = false;
    run_open();
    run.tasks[2].voted_ns = MS(9); /* by its chair, which the hash does not tell */
    run.tasks[2].chair = 2;
    run.tasks[1].flags = MOOT__RECORD__FLAG__ADOPTED; /* by a chair, from a motion */
    struct program *program = tune_program(&run.trace, false, &whole);
    assert_non_null(program);
    assert_true(whole);
    assert_int_equal(program->task_count, 3); /* nobody spawned the fourth */
    assert_int_equal(program->tasks[1].inputs.count, 1);
    assert_true(program->tasks[1].portable && !program->tasks[0].portable);
    assert_int_equal(program->tasks[0].work_us, 4000); /* 2 to 4 ms: 3 in the mean */
    assert_true(rankset_has(&program->tasks[2].holders, 0));
    assert_false(rankset_has(&program->tasks[2].holders, 2));
    for (uint32_t i = 0; i < program->task_count; i++) {
        assert_int_equal(sim_chair_of(program, i), tune_chair(&run.trace, i));
    }
    assert_int_equal(sim_chair_of(program, 2), 2);
    for (uint32_t r = 0; r < RANKS; r++) { /* as late as it was, from 1 ms on */
        assert_int_equal(own_us_before(program, r, PROGRAM_SPAWN, 0), 1000 * (1 + r));
        assert_int_equal(own_us_before(program, r, PROGRAM_SPAWN, 1), 1000 * (3 + r));
    }
    assert_int_equal(own_us_before(program, 2, PROGRAM_WAIT_ALL, 1), 6000);
    program_free(program);
    run_close();
}

static void a_replay_waits_as_long_as_the_run_did(void **state)
{
    (void)state;
    bool whole;
    struct candidate candidate = {.timers = {.name = "",
                                             .vote_timeout_ns = CORE_NEVER,
                                             .suspect_ns = (uint64_t)MS(3000)}};
    struct tune_measures measures = {.runs = 1, .makespan_ns = MS(20)};
    run_open();
    struct program *program = tune_program(&run.trace, false, &whole);
    const struct tune_input input = {
        .programs = &program, .program_count = 1, .measures = &measures, .seeds = 3};
    tune_replay_waits(&input, &candidate);
    for (int rate = 0; rate < TUNE_RATES; rate++) {
        assert_int_equal(candidate.at[rate].runs, 3);
        assert_int_equal(candidate.at[rate].broken, 0);
        assert_int_equal(candidate.at[rate].waits, 3);
    }
    /* It begins after 6 ms.  The kernels take 2 to 4 ms each, one after the other; the
     * first begins after 3 ms, or when rank 1's own code is over, after 8. */
    assert_true(candidate.at[0].wait_mean_ns > 1e6);
    assert_true(candidate.at[0].wait_mean_ns < 11e6);
    program_free(program);
    run_close();
}

static const struct program_step *step_with(const struct program *program,
                                            uint32_t rank, enum program_op op,
                                            uint32_t task)
{
    const struct program_script *script = program_script(program, rank, 0);
    for (uint32_t i = 0; i < script->count; i++) {
        const struct program_step *step = &script->steps[i];
        if (step->op == op && step->tasks.count == 1 && step->tasks.items[0] == task) {
            return step;
        }
    }
    return NULL;
}

/* Task 0 takes 2 by its hash, before anybody has spawned that; rank 2 waits for 2,
 * which it never spawns; and all wait for 3, which nobody does. */
static void found(uint32_t inputs[1])
{
    run_open();
    inputs[0] = 2;
    run.tasks[0].inputs = inputs;
    run.tasks[0].input_count = 1;
    run.tasks[3].run = TRACE_NONE;
    happen(2, MS(13), KIND(WAIT), 2, 1);
    happen(2, MS(14), KIND(WAITED), 2, 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        happen(r, MS(15), KIND(WAIT), 3, 1);
        happen(r, MS(20), KIND(WAITED), 3, 1);
        run.events[r][run.ranks[r].event_count - 1].code = MOOT_ERR_NOT_HELD;
    }
}

static void what_is_found_by_hash_is_replayed(void **state)
{
    (void)state;
    enum { FOUND, TAKES, LATER, NOBODYS, ALL }; /* in the order of the replay */
    uint32_t inputs[1];
    bool whole;
    struct candidate candidate = {.timers = {.name = "",
                                             .vote_timeout_ns = CORE_NEVER,
                                             .suspect_ns = (uint64_t)MS(3000)}};
    struct tune_measures measures = {.runs = 1, .makespan_ns = MS(20)};
    found(inputs);
    struct program *program = tune_program(&run.trace, false, &whole);
    assert_int_equal(program->task_count, ALL);
    assert_int_equal(program->tasks[TAKES].inputs.count, 1);
    assert_int_equal(program->tasks[TAKES].inputs.items[0], FOUND);
    assert_int_equal(program->tasks[LATER].inputs.items[0], TAKES);
    assert_false(rankset_has(&program->tasks[FOUND].holders, 2));
    assert_non_null(step_with(program, 2, PROGRAM_WAIT_ALL, FOUND));
    assert_true(program_ghost(program, NOBODYS));
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_non_null(step_with(program, r, PROGRAM_WAIT_ALL, NOBODYS));
    }
    const struct tune_input input = {
        .programs = &program, .program_count = 1, .measures = &measures, .seeds = 3};
    tune_replay_waits(&input, &candidate);
    for (int rate = 0; rate < TUNE_RATES; rate++) {
        assert_int_equal(candidate.at[rate].broken, 0);
        assert_int_equal(candidate.at[rate].waits, 3 * (2 + RANKS));
    }
    program_free(program);
    run_close();
}

/* Rank 2 waits for 0, and for 2 and 3, which it has not spawned; 3 fails the wait. */
static void a_wait_is_for_all_that_was_found(void **state)
{
    (void)state;
    uint32_t others[] = {2, 3};
    bool whole;
    run_open();
    happen(2, MS(13), KIND(WAIT), 0, 1);
    run.events[2][run.ranks[2].event_count - 1].found = others;
    run.events[2][run.ranks[2].event_count - 1].found_count = 2;
    happen(2, MS(14), KIND(WAITED), TRACE_NONE, 1);
    run.events[2][run.ranks[2].event_count - 1].code = MOOT_ERR_NOT_HELD;
    struct program *program = tune_program(&run.trace, false, &whole);
    assert_true(program_ghost(program, 3));
    const struct program_script *script = program_script(program, 2, 0);
    const struct program_step *last = &script->steps[script->count - 1];
    assert_int_equal(last->op, PROGRAM_WAIT_ALL);
    assert_int_equal(last->tasks.count, 3);
    assert_int_equal(last->tasks.items[0], 0);
    program_free(program);
    run_close();
}

/* Rank 0 sends four megabytes, for which it takes 20 ms, to rank 2, which runs what
 * takes them, and waits for that. */
static void large_results_take_their_time(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20 };
    struct trace_message sent = {
        .kind = KIND(RESULT_SENT), .task = 0, .from = 0, .to = 2, .bytes = LARGE};
    double mean_ns[2];
    run_open();
    for (uint32_t t = 0; t < 2; t++) {
        run.tasks[t].voted_ns = MS(5);
        run.tasks[t].chair = 2 * t;
    }
    run.trace.messages = &sent;
    run.trace.message_count = 1;
    for (int bound = 0; bound < 2; bound++) {
        bool whole;
        struct candidate candidate = {.timers = {.name = "",
                                                 .vote_timeout_ns = CORE_NEVER,
                                                 .suspect_ns = (uint64_t)MS(3000)}};
        struct tune_measures measures = {.runs = 1, .makespan_ns = MS(20)};
        struct program *program = tune_program(&run.trace, bound > 0, &whole);
        assert_int_equal(program->tasks[0].result_bytes, bound > 0 ? LARGE : 8);
        const struct tune_input input = {
            .programs = &program,
            .program_count = 1,
            .measures = &measures,
            .wire = {.bandwidth = bound > 0 ? UINT64_C(50) * LARGE : 0},
            .seeds = 3};
        tune_replay_waits(&input, &candidate);
        assert_int_equal(candidate.at[0].broken, 0);
        mean_ns[bound] = candidate.at[0].wait_mean_ns;
        program_free(program);
    }
    assert_true(mean_ns[1] > mean_ns[0] + 15e6);
    run_close();
}

/* A ring of hashes has no order; there is a replay all the same. */
static void a_ring_of_inputs_is_a_program(void **state)
{
    (void)state;
    uint32_t inputs[2][1] = {{1}, {0}};
    bool whole;
    run_open();
    for (uint32_t i = 0; i < 2; i++) {
        run.tasks[i].inputs = inputs[i];
        run.tasks[i].input_count = 1;
    }
    struct program *program = tune_program(&run.trace, false, &whole);
    assert_int_equal(program->task_count, 3);
    assert_int_equal(program->tasks[0].inputs.count + program->tasks[1].inputs.count,
                     1);
    program_free(program);
    run_close();
}

/* A number would switch off what follows ranks whose heartbeats come late. */
static void a_suspicion_that_auto_has_is_left_to_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t suspect_ns;
        const char *line;
    } rows[] = {{(uint64_t)MS(3000), "\nMOOT_SUSPECT = auto\n"},
                {(uint64_t)MS(10000), "\nMOOT_SUSPECT = 10s\n"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = NULL;
        size_t size;
        const struct tune_measures measures = {.runs = 1, .hosts = 1};
        const struct tune_advice advice = {
            .timers = {.vote_timeout_ns = CORE_NEVER,
                       .suspect_ns = rows[i].suspect_ns}};
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        tune_write_config(&measures, &advice, "prog", file);
        fclose(file);
        assert_non_null(strstr(text, rows[i].line));
        free(text);
    }
}

static void what_was_never_seen_has_no_latest(void **state)
{
    (void)state;
    int64_t late_ns[] = {MS(2), MS(3)};
    static const char *const chairs[] = {
        "\n# No late chair was seen.\n", "\n# 1 late chair, the latest by 2.000 ms.\n",
        "\n# 2 late chairs, the latest by 3.000 ms.\n"};
    static const char *const beats[] = {"\n# No heartbeat was seen.  auto is 3s,",
                                        "\n# 1 heartbeat, the latest by 2.000 ms.  ",
                                        "\n# 2 heartbeats, the latest by 3.000 ms.  "};
    static const char *const reasons[] = {" late chair (none was seen).\n",
                                          " late chair (2 ms, of 1).\n",
                                          " late chair (3 ms, of 2).\n"};
    for (size_t i = 0; i < sizeof(chairs) / sizeof(*chairs); i++) {
        char *text = NULL;
        size_t size;
        const struct tune_measures measures = {
            .runs = 1,
            .hosts = 1,
            .late = {.items = late_ns, .count = i},
            .silences = {.items = late_ns, .count = i}};
        const struct tune_advice advice = {
            .timers = {.vote_timeout_ns = (uint64_t)MS(8),
                       .suspect_ns = (uint64_t)MS(3000)},
            .enough = true};
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        tune_write_config(&measures, &advice, "prog", file);
        tune_print_advice(&measures, &advice, file);
        fclose(file);
        assert_non_null(strstr(text, chairs[i]));
        assert_non_null(strstr(text, beats[i]));
        assert_non_null(strstr(text, reasons[i]));
        free(text);
    }
}

static void what_was_seen_once_is_not_several_times(void **state)
{
    (void)state;
    static const char *const words[] = {"\n0 times, and", "\n1 time, and",
                                        "\n2 times, and"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        char *text = NULL;
        size_t size;
        const struct tune_measures measures = {
            .runs = 1, .hosts = 1, .decided = {.count = i}};
        const struct tune_advice advice = {.enough = false};
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        tune_print_advice(&measures, &advice, file);
        fclose(file);
        assert_non_null(strstr(text, words[i]));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_suspicion_that_auto_has_is_left_to_it),
        cmocka_unit_test(what_was_never_seen_has_no_latest),
        cmocka_unit_test(what_was_seen_once_is_not_several_times),
        cmocka_unit_test(samples_are_counted_from_above),
        cmocka_unit_test(a_share_is_bounded_by_what_the_sample_supports),
        cmocka_unit_test(it_is_measured_who_was_late),
        cmocka_unit_test(the_longest_is_told_with_its_place),
        cmocka_unit_test(a_run_becomes_a_program),
        cmocka_unit_test(a_replay_waits_as_long_as_the_run_did),
        cmocka_unit_test(what_is_found_by_hash_is_replayed),
        cmocka_unit_test(a_wait_is_for_all_that_was_found),
        cmocka_unit_test(large_results_take_their_time),
        cmocka_unit_test(a_ring_of_inputs_is_a_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
