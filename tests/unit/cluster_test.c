/* cluster_test.c - hosts in the simulator: what is near, shared, relayed, and told.
 *
 * One program for all: a chain of tasks whose chairs take turns, which every rank
 * spawns and whose end it fetches, on three hosts of two ranks.  A witness notes who
 * was told of a death by another host's agent, and when.
 */
#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/checker.h"
#include "consensus/sim/runs/chaos_plan.h"
#include "consensus/sim/runs/layout.h"
#include "tests/unit/plan_parsed.h"

enum {
    US = 1000,
    MS = 1000 * US,
    CHAIN = 31,
    HOSTS = 3,
    EACH = 2,
    RANKS = HOSTS * EACH
};

static struct scene {
    struct plan *plan;
    struct program *program;
    struct sim_cluster cluster;
    struct storm storm;
    struct sim_weather weather;
    struct sim_report report;
    uint64_t told_ns[RANKS]; /* of rank 2's death; 0: never */
    uint64_t removed_ns;     /* when a view without rank 2 was entered first */
    uint64_t lost;
    bool good;
} scene;

static void witness(void *context, struct sim *sim, const struct sight *sight)
{
    (void)context;
    (void)sim;
    if (sight->type == SIGHT_TOLD && sight->peer == 2 &&
        scene.told_ns[sight->rank] == 0) {
        scene.told_ns[sight->rank] = sight->time_ns;
    }
    if (sight->type == SIGHT_VIEW && !rankset_has(sight->members, 2) &&
        scene.removed_ns == 0) {
        scene.removed_ns = sight->time_ns;
    }
    scene.lost += sight->type == SIGHT_LOST;
}

static struct program *chain(uint32_t first, uint32_t makers, uint32_t bytes)
{
    struct program *program = program_blank(1, RANKS, 1);
    for (uint32_t i = 0; i < CHAIN; i++) {
        char name[PROGRAM_NAME_BYTES];
        (void)snprintf(name, sizeof(name), "t%u", (unsigned)i);
        uint32_t task = program_add_task(program, name, PROGRAM_NONE);
        program->tasks[task].work_us = 100;
        program->tasks[task].result_bytes = bytes;
        if (i > 0 && bytes == 0) {
            program_list_add(&program->tasks[task].inputs, i - 1);
        }
        while (sim_chair_of(program, task) != first + i % makers) {
            program->tasks[task].salt++;
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            program_add_step(program, rank, 0, PROGRAM_SPAWN, task);
        }
    }
    return program;
}

static void open_scene(const char *route)
{
    memset(&scene, 0, sizeof(scene));
    scene.weather = (struct sim_weather){.latency_ns = 20 * US,
                                         .local_ns = 1 * US,
                                         .step_ns = 1 * US,
                                         .workers = 1,
                                         .ask_delay_ns = 200 * US,
                                         .gossip_period_ns = 1 * MS,
                                         .vote_timeout_ns = CORE_NEVER,
                                         .voters = 3};
    struct layout layout = {.hosts = HOSTS, .host_ranks = EACH};
    (void)snprintf(layout.route, sizeof(layout.route), "%s", route);
    layout_cluster(&layout, &scene.weather, &scene.cluster);
}

/* Runs the chain on a route, under a plan and with views, or with neither if it is
 * NULL. */
static void run(const char *route, const char *plan)
{
    open_scene(route);
    scene.plan = parse(plan != NULL ? plan : "none");
    const struct storm_request request = {
        .ranks = RANKS, .given = scene.plan, .cluster = &scene.cluster};
    storm_default(&request, &scene.weather, &scene.storm);
    plan_place(scene.plan, scene.storm.hosts, RANKS);
    assert_int_equal(plan_check_ranks(scene.plan, RANKS, NULL), MOOT_OK);
    scene.program = chain(0, RANKS, 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        program_add_step(scene.program, rank, 0, PROGRAM_FETCH, CHAIN - 1);
    }
    program_finish(scene.program);
    const struct sim_watcher watcher = {witness, NULL};
    const struct sim_options options = {.program = scene.program,
                                        .seed = 7,
                                        .weather = &scene.weather,
                                        .plan = plan != NULL ? scene.plan : NULL,
                                        .storm = plan != NULL ? &scene.storm : NULL,
                                        .cluster = &scene.cluster,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    scene.good = plan != NULL ? storm_checker_run(&options, &scene.report)
                              : checker_run(&options, &scene.report);
    if (!scene.good) {
        print_message("%s: %s\n", scene.report.check, scene.report.why);
    }
    assert_true(scene.good);
}

static void done(void)
{
    free(scene.report.dump);
    program_free(scene.program);
    storm_release(&scene.storm);
    layout_release(&scene.cluster);
    plan_free(scene.plan);
}

/* --- Frames ----------------------------------------------------------------------- */

/* The chain's chairs are on one host each time, or never on the one before. */
static void who_is_near_is_near(void **state)
{
    (void)state;
    uint64_t took_ns[2];
    for (uint32_t makers = 0; makers < 2; makers++) {
        open_scene("mesh");
        scene.program = chain(0, makers == 0 ? EACH : RANKS, 0);
        program_add_step(scene.program, 0, 0, PROGRAM_FETCH, CHAIN - 1);
        program_finish(scene.program);
        const struct sim_options options = {.program = scene.program,
                                            .seed = 7,
                                            .weather = &scene.weather,
                                            .cluster = &scene.cluster};
        assert_true(checker_run(&options, &scene.report));
        assert_int_equal(scene.report.links.relayed, 0);
        took_ns[makers] = scene.report.end_ns;
        done();
    }
    /* Every second step of six chairs in turn is to another host. */
    assert_true(took_ns[1] - took_ns[0] > CHAIN / 2 * 15 * US);
}

static void relays_send_on_what_is_for_others(void **state)
{
    (void)state;
    run("mesh", NULL);
    const uint64_t straight_ns = scene.report.end_ns;
    done();
    run("star:0", NULL);
    const struct sim_links links = scene.report.links;
    assert_true(links.relayed > 0 && links.relayed < links.frames / 2);
    assert_true(scene.report.end_ns > straight_ns);
    assert_int_equal(links.lost, 0);
    /* No frame goes by a link that is not there: the busiest is the star's. */
    assert_true(links.busiest_from == 0 || links.busiest_to == 0);
    done();
}

static void another_rank_of_the_host_relays_for_one_that_dies(void **state)
{
    (void)state;
    static const char *const plans[] = {"kill:r0@1ms", "kill:r1@1ms"};
    uint64_t lost = 0;
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        run("star:0", plans[i]);
        assert_int_equal(scene.report.counts.crashes, 1);
        assert_int_equal(scene.report.counts.fenced, 0);
        assert_int_equal(scene.report.counts.no_quorum, 0);
        assert_true(scene.report.links.relayed > 0);
        /* Frames that it held, and what is sent until it is known that it has ended. */
        lost += scene.report.links.lost;
        assert_true(scene.report.links.lost < 10);
        done();
    }
    assert_true(lost > 0);
}

static void a_cut_link_of_a_table_is_gone_round(void **state)
{
    (void)state;
    run("links:0-1,1-2,0-2", "part:h0/h2@1ms");
    assert_true(scene.lost > 0 && scene.report.links.relayed > 0);
    assert_int_equal(scene.report.counts.views, 0);
    assert_int_equal(scene.report.counts.no_quorum, 0);
    done();
    run("mesh", "part:h0/h2@1ms"); /* where nobody relays */
    assert_true(scene.report.counts.no_quorum > 0 || scene.report.counts.views > 0);
    done();
}

/* Two ranks of host 0 make 31 results of 1 MB, and one rank of host 1 gets each: the
 * pairs have 20 MB/s between them, not each. */
static void ranks_of_a_host_share_its_link(void **state)
{
    (void)state;
    open_scene("mesh");
    scene.weather.link_bandwidth = 20 * MS; /* bytes a second */
    scene.program = chain(0, EACH, 1000000);
    for (uint32_t task = 0; task < CHAIN; task++) {
        program_add_step(scene.program, EACH + task % EACH, 0, PROGRAM_FETCH, task);
    }
    program_finish(scene.program);
    const struct sim_options options = {.program = scene.program,
                                        .seed = 7,
                                        .weather = &scene.weather,
                                        .cluster = &scene.cluster};
    assert_true(checker_run(&options, &scene.report));
    assert_true(scene.report.end_ns > UINT64_C(1550) * MS);
    assert_true(scene.report.end_ns < UINT64_C(1650) * MS);
    assert_true(scene.report.links.busiest_bytes > UINT64_C(31000000));
    assert_int_equal(scene.report.links.busiest_from, 0);
    assert_int_equal(scene.report.links.busiest_to, 1);
    done();
}

/* --- Agents ----------------------------------------------------------------------- */

static void agents_tell_what_they_have_reaped(void **state)
{
    (void)state;
    run("mesh", "kill:r2@1ms");
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const bool elsewhere = rank / EACH != 1;
        assert_true((scene.told_ns[rank] != 0) == elsewhere);
        assert_true(scene.told_ns[rank] <= 2 * MS);
    }
    assert_true(scene.removed_ns > 0);
    done();
}

static void their_news_wait_for_a_link(void **state)
{
    (void)state;
    run("mesh", "kill:r2@1ms,part:h0-to-h1@500us+2500us");
    assert_true(scene.told_ns[0] >= 3 * MS && scene.told_ns[1] >= 3 * MS);
    assert_true(scene.told_ns[4] > 0 && scene.told_ns[4] <= 2 * MS);
    done();
}

static void nobody_vouches_for_a_host_that_is_gone(void **state)
{
    (void)state;
    static const char *const plans[] = {"kill:h1@1ms", "kill:r2@1ms,kill:h1@1001us",
                                        "restart:h1@1ms+1us", "part:h1@1ms"};
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        run("mesh", plans[i]);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            assert_int_equal(scene.told_ns[rank], 0);
        }
        assert_true(scene.removed_ns == 0 ||
                    scene.removed_ns > 1 * MS + scene.weather.suspect_ns);
        done();
    }
}

/* --- What is drawn ---------------------------------------------------------------- */

static void what_befalls_hosts_can_be_written_down(void **state)
{
    (void)state;
    static char text[PLAN_TEXT_BYTES_MAX];
    uint32_t kinds = 0, links = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        const uint32_t ranks = 2 + (uint32_t)(seed % 9);
        struct layout layout;
        struct sim_weather weather;
        struct sim_cluster cluster;
        struct storm storm;
        struct plan plan;
        struct plan_error error;
        layout_draw(seed, ranks, &layout);
        assert_true(layout_check(&layout, ranks, &error));
        sim_weather_draw(seed, ranks, &weather);
        layout_cluster(&layout, &weather, &cluster);
        const struct storm_request request = {.ranks = ranks, .cluster = &cluster};
        storm_draw(seed, &request, &weather, &plan, &storm);
        plan_place(&plan, storm.hosts, ranks);
        plan_format(&plan, text, sizeof(text));
        struct plan *again = parse(text);
        if (!plan_equal(&plan, again)) {
            fail_msg("seed %u draws what %s does not say", (unsigned)seed, text);
        }
        assert_int_equal(plan_check_ranks(&plan, ranks, NULL), MOOT_OK);
        for (uint32_t i = 0; i < plan.rule_count; i++) {
            if (plan.rules[i].ranks.of_hosts) {
                kinds |= 1u << plan.rules[i].fault;
                links |= 1u << plan.rules[i].link;
            }
        }
        plan_free(again);
        storm_release(&storm);
        layout_release(&cluster);
    }
    assert_int_equal(kinds, 1u << PLAN_DROP | 1u << PLAN_DELAY | 1u << PLAN_PART |
                                1u << PLAN_KILL | 1u << PLAN_RESTART |
                                1u << PLAN_PAUSE);
    assert_int_equal(links, (1u << (PLAN_LINK_BOUNDARY + 1)) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_near_is_near),
        cmocka_unit_test(relays_send_on_what_is_for_others),
        cmocka_unit_test(another_rank_of_the_host_relays_for_one_that_dies),
        cmocka_unit_test(a_cut_link_of_a_table_is_gone_round),
        cmocka_unit_test(ranks_of_a_host_share_its_link),
        cmocka_unit_test(agents_tell_what_they_have_reaped),
        cmocka_unit_test(their_news_wait_for_a_link),
        cmocka_unit_test(nobody_vouches_for_a_host_that_is_gone),
        cmocka_unit_test(what_befalls_hosts_can_be_written_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
