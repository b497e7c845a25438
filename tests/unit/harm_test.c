/* harm_test.c - each kind of rule does in the simulator what plan_explain() says.
 *
 * One program for all: a chain of tasks whose chairs take turns, which every rank
 * spawns and whose end it fetches.  It ends right under every plan here; a witness
 * looks at what the ranks do meanwhile.
 */
#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/checker.h"
#include "tests/unit/plan_parsed.h"

enum { US = 1000, MS = 1000 * US, LINKS = 31, RANKS_MAX = 12 };

/* What the witness saw, by rank. */
struct seen {
    uint64_t sent, received;                 /* messages, but heartbeats and grants */
    uint64_t beats, beats_heard, beats_late; /* late: an older one than before */
    uint64_t newest_beat;
    uint64_t first_ns, last_ns; /* of its sights */
    uint64_t started_ns, ended_ns, longest_ns;
    uint64_t died_ns, last_sent_ns, clock_ns;
    uint64_t silence_from_ns, silence_until_ns; /* the longest without a sight */
    uint64_t turn_ns, longest_turn_ns;          /* between two that hear something */
    enum core_point point;                      /* passed last */
    uint64_t point_ns;
    int role;
};

static struct scene {
    struct plan *plan;
    struct program *program;
    struct sim_report report;
    struct seen seen[RANKS_MAX];
    /* Of messages received across ranks 0 and 1: the first, the last */
    uint64_t crossed_first_ns;
    bool good;
} scene;

static bool is_a_beat(const struct message *message)
{
    return message->type == MESSAGE_HEARTBEAT || message->type == MESSAGE_GRANT;
}

static void note_beat(struct seen *seen, const struct message *message)
{
    if (message->type != MESSAGE_HEARTBEAT) {
        return;
    }
    seen->beats_heard++;
    seen->beats_late += message->u.heartbeat.token < seen->newest_beat;
    if (message->u.heartbeat.token > seen->newest_beat) {
        seen->newest_beat = message->u.heartbeat.token;
    }
}

static void note_messages(struct seen *seen, const struct sight *sight)
{
    if (sight->type == SIGHT_SEND) {
        seen->last_sent_ns = sight->time_ns;
        seen->sent += !is_a_beat(sight->message);
        seen->beats += sight->message->type == MESSAGE_HEARTBEAT;
    } else if (sight->type == SIGHT_RECEIVE) {
        seen->received += !is_a_beat(sight->message);
        uint64_t turn_ns = sight->time_ns - seen->turn_ns;
        if (seen->turn_ns != 0 && turn_ns > seen->longest_turn_ns) {
            seen->longest_turn_ns = turn_ns;
        }
        seen->turn_ns = sight->time_ns;
        if (sight->rank < 2 && sight->peer < 2 && scene.crossed_first_ns == 0) {
            scene.crossed_first_ns = sight->time_ns;
        }
        note_beat(seen, sight->message);
    }
}

static void witness(void *context, struct sim *sim, const struct sight *sight)
{
    (void)context;
    if (sight->type == SIGHT_FAULT) {
        return; /* done to the rank, not by it */
    }
    assert_true(sight->rank < RANKS_MAX);
    struct seen *seen = &scene.seen[sight->rank];
    note_messages(seen, sight);
    uint64_t silence_ns = sight->time_ns - seen->last_ns;
    if (silence_ns > seen->silence_until_ns - seen->silence_from_ns) {
        seen->silence_from_ns = seen->last_ns;
        seen->silence_until_ns = sight->time_ns;
    }
    seen->last_ns = sight->time_ns;
    seen->clock_ns = sim_clock_ns(sim, sight->rank);
    seen->role = (int)sim_role(sim, sight->rank);
    if (sight->type == SIGHT_CRASH) {
        seen->died_ns = sight->time_ns;
    }
    if (sight->type == SIGHT_NOTE) {
        seen->point = sight->point;
        seen->point_ns = sight->time_ns;
    }
    if (sight->type == SIGHT_START) {
        seen->started_ns = sight->time_ns;
    }
    if (sight->type == SIGHT_END &&
        sight->time_ns - seen->started_ns > seen->longest_ns) {
        seen->longest_ns = sight->time_ns - seen->started_ns;
    }
}

static struct program *chain(uint32_t ranks)
{
    struct program *program = program_blank(1, ranks, 1);
    for (uint32_t i = 0; i < LINKS; i++) {
        char name[PROGRAM_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "t%u", (unsigned)i);
        uint32_t task = program_add_task(program, name, PROGRAM_NONE);
        program->tasks[task].work_us = 100;
        if (i > 0) {
            program_list_add(&program->tasks[task].inputs, i - 1);
        }
        while (sim_chair_of(program, task) != i % ranks) {
            program->tasks[task].salt++;
        }
        for (uint32_t rank = 0; rank < ranks; rank++) {
            program_add_step(program, rank, 0, PROGRAM_SPAWN, task);
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        program_add_step(program, rank, 0, PROGRAM_FETCH, LINKS - 1);
    }
    program_finish(program);
    return program;
}

/* Runs the chain, or `program`, under the plan; with views if `storms`. */
static void run(const char *plan, uint32_t ranks, bool storms, struct program *program)
{
    struct sim_weather weather = {.latency_ns = 20 * US,
                                  .step_ns = 1 * US,
                                  .workers = 1,
                                  .ask_delay_ns = 200 * US,
                                  .gossip_period_ns = 1 * MS,
                                  .vote_timeout_ns = CORE_NEVER,
                                  .voters = 3};
    memset(&scene, 0, sizeof(scene));
    scene.plan = parse(plan);
    assert_int_equal(plan_check_ranks(scene.plan, ranks, NULL), MOOT_OK);
    scene.program = program != NULL ? program : chain(ranks);
    const struct storm_request request = {.ranks = ranks, .given = scene.plan};
    struct storm storm;
    storm_default(&request, &weather, &storm);
    const struct sim_watcher watcher = {witness, NULL};
    const struct sim_options options = {.program = scene.program,
                                        .seed = 7,
                                        .weather = &weather,
                                        .plan = scene.plan,
                                        .storm = storms ? &storm : NULL,
                                        .notes = true,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    scene.good = storms ? storm_checker_run(&options, &scene.report)
                        : checker_run(&options, &scene.report);
    if (!scene.good) {
        print_message("under %s: %s: %s\n%s", plan, scene.report.check,
                      scene.report.why,
                      scene.report.dump != NULL ? scene.report.dump : "");
    }
    storm_release(&storm);
}

static uint64_t fired(uint32_t rule) { return scene.report.hits.fired[rule]; }

static void done(void)
{
    free(scene.report.dump);
    program_free(scene.program);
    plan_free(scene.plan);
}

static void runs_well(const char *plan, uint32_t ranks, bool storms)
{
    run(plan, ranks, storms, NULL);
    assert_true(scene.good);
    assert_int_equal(plan_unfired(scene.plan, &scene.report.hits), 0);
}

/* Messages sent and received by all. */
static void count_messages(uint64_t *sent, uint64_t *received)
{
    *sent = *received = 0;
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        *sent += scene.seen[rank].sent;
        *received += scene.seen[rank].received;
    }
}

/* --- Frames ----------------------------------------------------------------------- */

static void without_a_plan_the_wire_is_bare(void **state)
{
    (void)state;
    runs_well("none", 2, false);
    assert_int_equal(scene.report.counts.acks, 0);
    uint64_t sent, received;
    count_messages(&sent, &received);
    assert_int_equal(sent, scene.report.counts.frames);
    assert_int_equal(sent, received);
    done();
}

/* Whatever happens to frames, each message arrives once. */
static void links_put_right_what_a_plan_harms(void **state)
{
    (void)state;
    static const char *const plans[] = {
        "drop:0.5",
        "drop:0.9/RESULT",
        "drop:0.5/r0-to-r1",
        "dup:x5",
        "dup:0.5:x2,drop:0.3",
        "reorder:0.5:x3",
        "reorder",
        "delay:0.5:1ms+-1ms",
        "delay:exp:300us",
        "delay:0.3:pareto:100us:1.5",
        "part:0/1@1ms+3ms",
        "drop:0.2,dup:0.2,reorder:0.2:x2,delay:0.2:exp:200us",
    };
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        runs_well(plans[i], 2, false);
        uint64_t sent, received;
        count_messages(&sent, &received);
        assert_true(fired(0) > 0);
        assert_int_equal(sent, received);
        done();
    }
}

static void what_is_lost_is_sent_again(void **state)
{
    (void)state;
    runs_well("drop:0.5", 2, false);
    assert_true(scene.report.counts.resent > fired(0) / 4);
    done();
    runs_well("drop/RESULT#1", 2, false);
    assert_int_equal(fired(0), 2); /* the first of each rank */
    assert_true(scene.report.counts.resent >= 2);
    done();
}

static void a_repeated_frame_goes_onto_the_wire_once(void **state)
{
    (void)state;
    runs_well("dup:x4/HEARTBEAT", 2, true); /* which go past the links */
    assert_true(scene.seen[1].beats_heard > 3 * scene.seen[0].beats);
    done();
    runs_well("dup:x4", 2, false);
    assert_int_equal(fired(0), scene.report.counts.frames);
    done();
}

static void a_delay_delays(void **state)
{
    (void)state;
    runs_well("none", 2, false);
    uint64_t end_ns = scene.report.end_ns;
    done();
    runs_well("delay:1ms/RESULT", 2, false);
    assert_true(scene.report.end_ns > end_ns + (LINKS - 2) * 1ull * MS);
    done();
}

static void a_reordered_frame_is_passed_by_others(void **state)
{
    (void)state;
    runs_well("reorder:x8/HEARTBEAT/r0-to-r1#3", 2, true);
    assert_int_equal(fired(0), 1);
    assert_int_equal(scene.seen[1].beats_late, 1);
    done();
}

static void nothing_passes_between_the_sides_of_a_part(void **state)
{
    (void)state;
    runs_well("part:0/1@0s+20ms", 2, false);
    assert_true(scene.crossed_first_ns >= 20 * MS);
    done();
    runs_well("part:0-to-1@0s+20ms", 2, false);
    assert_true(scene.crossed_first_ns < 20 * MS);
    done();
    /* Only rank 0 ends 16 tasks: a point opens it there, for what comes and goes. */
    runs_well("part:0/1@task.end#16+2ms", 2, true);
    assert_true(scene.seen[0].longest_turn_ns > 19 * MS / 10);
    assert_true(scene.seen[1].longest_turn_ns > 19 * MS / 10);
    done();
}

/* --- Ranks ------------------------------------------------------------------------ */

static void a_paused_rank_does_nothing(void **state)
{
    (void)state;
    runs_well("pause:r1@1ms+2ms", 3, true);
    const struct seen *seen = &scene.seen[1];
    assert_true(seen->silence_from_ns <= 1 * MS && seen->silence_until_ns >= 3 * MS);
    assert_int_equal(fired(0), 1);
    done();
}

static void a_killed_rank_is_gone_and_the_others_go_on(void **state)
{
    (void)state;
    runs_well("kill:r1@1ms", 4, true);
    assert_int_equal(scene.report.counts.crashes, 1);
    assert_int_equal(scene.report.counts.views, 1);
    assert_int_equal(scene.seen[1].died_ns, 1 * MS);
    assert_int_equal(scene.seen[1].last_ns, 1 * MS);
    done();
}

/* The rank dies at the very point: it says nothing more. */
static void a_kill_strikes_at_every_point(void **state)
{
    (void)state;
    bool struck[CORE_POINT_HOSTS] = {false};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        for (unsigned point = 0; point < CORE_POINT_HOSTS; point++) {
            char plan[64];
            (void)snprintf(plan, sizeof(plan), "kill:r1@%s,kill:r3@1ms",
                           core_point_name((enum core_point)point));
            if (struck[point]) {
                continue;
            }
            run(plan, 5, true,
                program_new(&(struct program_options){
                    .seed = seed, .ranks = 5, .tasks = 60, .features = PROGRAM_PLAIN}));
            assert_true(scene.good);
            const struct seen *seen = &scene.seen[1];
            struck[point] = fired(0) == 1;
            if (struck[point] && point != CORE_POINT_TASK_START) {
                assert_int_equal(seen->point, point);
                assert_int_equal(seen->point_ns, seen->died_ns);
            }
            if (struck[point]) {
                assert_true(seen->last_sent_ns <= seen->died_ns);
            }
            done();
        }
    }
    for (unsigned point = 0; point < CORE_POINT_HOSTS; point++) {
        if (!struck[point]) {
            fail_msg("no kill at %s", core_point_name((enum core_point)point));
        }
    }
}

static void a_restarted_rank_comes_back_under_a_new_number(void **state)
{
    (void)state;
    runs_well("restart:r1@1ms+500us", 4, true);
    assert_int_equal(scene.report.counts.crashes, 1);
    assert_int_equal(scene.report.counts.joined, 1);
    assert_int_equal(scene.seen[4].role, 1);
    assert_true(scene.seen[4].received > 0);
    done();
    /* The rule follows who plays the part. */
    runs_well("restart:r1@1ms+500us,kill:r1@8ms", 4, true);
    assert_int_equal(scene.seen[4].died_ns, 8 * MS);
    done();
}

static void a_skewed_clock_runs_at_its_rate(void **state)
{
    (void)state;
    runs_well("clock:x1.001/r1,clock:x0.999/r2", 3, true);
    const struct seen *seen = scene.seen;
    assert_int_equal(seen[0].clock_ns, seen[0].last_ns);
    assert_int_equal(seen[1].clock_ns, seen[1].last_ns + seen[1].last_ns / 1000);
    assert_true(seen[2].clock_ns + 1 >= seen[2].last_ns - seen[2].last_ns / 1000);
    assert_true(seen[2].clock_ns <= seen[2].last_ns - seen[2].last_ns / 1000);
    assert_int_equal(fired(0), 1);
    done();
    runs_well("clock:x2/r1", 2, true);
    assert_true(scene.seen[1].beats * 10 > scene.seen[0].beats * 17);
    done();
}

static void slow_kernels_take_longer(void **state)
{
    (void)state;
    runs_well("slow:x10/r1", 2, false);
    assert_int_equal(fired(0), LINKS / 2);
    assert_true(scene.seen[0].longest_ns <= 100 * US);
    assert_true(scene.seen[1].longest_ns >= 500 * US);
    done();
    runs_well("slow:1ms/r1#2", 2, false);
    assert_int_equal(fired(0), 1);
    assert_true(scene.seen[1].longest_ns >= 1 * MS);
    done();
}

static void between_turns_lies_a_gap(void **state)
{
    (void)state;
    runs_well("gap:2ms/r1", 2, false);
    assert_true(fired(0) > 2);
    assert_true(scene.seen[0].longest_turn_ns >= 2 * MS);
    assert_true(scene.seen[1].longest_turn_ns >= 2 * MS);
    done();
}

/* --- Counts and chance ------------------------------------------------------------ */

static void what_never_fired_is_told(void **state)
{
    (void)state;
    run("kill:r1@view.propose#9,drop:0.0001/VERDICT,pause:r0@1h+1s", 2, true, NULL);
    assert_true(scene.good);
    assert_int_equal(plan_unfired(scene.plan, &scene.report.hits),
                     PLAN_RULE(0) | PLAN_RULE(2));
    done();
}

static void chance_is_the_seed_s(void **state)
{
    (void)state;
    static const char *const plans[] = {"drop:0.3", "drop:0.3", "seed:1,drop:0.3",
                                        "seed:1,drop:0.3", "seed:2,drop:0.3"};
    uint8_t digests[5][SIM_DIGEST_BYTES];
    for (size_t i = 0; i < 5; i++) {
        runs_well(plans[i], 3, true);
        memcpy(digests[i], scene.report.digest, SIM_DIGEST_BYTES);
        done();
    }
    assert_memory_equal(digests[0], digests[1], SIM_DIGEST_BYTES);
    assert_memory_equal(digests[2], digests[3], SIM_DIGEST_BYTES);
    assert_memory_not_equal(digests[1], digests[2], SIM_DIGEST_BYTES);
    assert_memory_not_equal(digests[3], digests[4], SIM_DIGEST_BYTES);
}

/* A drawn plan says all of itself in a word, fits its job and demands nothing. */
static void a_drawn_plan_can_be_written_down(void **state)
{
    (void)state;
    static char text[PLAN_TEXT_BYTES_MAX];
    uint32_t kinds = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        const struct storm_request request = {.ranks = 2 + (uint32_t)(seed % 9),
                                              .newcomers = (uint32_t)(seed % 2),
                                              .leaves = true};
        struct sim_weather weather;
        struct storm storm;
        struct plan plan;
        sim_weather_draw(seed, request.ranks, &weather);
        storm_draw(seed, &request, &weather, &plan, &storm);
        assert_true(plan_format(&plan, text, sizeof(text)) < sizeof(text));
        struct plan *again = parse(text);
        if (!plan_equal(&plan, again)) {
            fail_msg("seed %u draws what %s does not say", (unsigned)seed, text);
        }
        assert_int_equal(plan_check_ranks(&plan, request.ranks, NULL), MOOT_OK);
        for (uint32_t i = 0; i < plan.rule_count; i++) {
            kinds |= 1u << plan.rules[i].fault;
        }
        plan_free(again);
        storm_release(&storm);
    }
    /* FLIP is drawn by itself; simulated ranks have no disk. */
    assert_int_equal(kinds, (1u << PLAN_FLIP) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_plan_the_wire_is_bare),
        cmocka_unit_test(links_put_right_what_a_plan_harms),
        cmocka_unit_test(what_is_lost_is_sent_again),
        cmocka_unit_test(a_repeated_frame_goes_onto_the_wire_once),
        cmocka_unit_test(a_delay_delays),
        cmocka_unit_test(a_reordered_frame_is_passed_by_others),
        cmocka_unit_test(nothing_passes_between_the_sides_of_a_part),
        cmocka_unit_test(a_paused_rank_does_nothing),
        cmocka_unit_test(a_killed_rank_is_gone_and_the_others_go_on),
        cmocka_unit_test(a_kill_strikes_at_every_point),
        cmocka_unit_test(a_restarted_rank_comes_back_under_a_new_number),
        cmocka_unit_test(a_skewed_clock_runs_at_its_rate),
        cmocka_unit_test(slow_kernels_take_longer),
        cmocka_unit_test(between_turns_lies_a_gap),
        cmocka_unit_test(what_never_fired_is_told),
        cmocka_unit_test(chance_is_the_seed_s),
        cmocka_unit_test(a_drawn_plan_can_be_written_down),
    };
    return cmocka_run_group_tests_name("harm", tests, NULL, NULL);
}
