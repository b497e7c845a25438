/* swarm.c - see swarm.h. */
#include "consensus/sim/runs/swarm.h"
#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/checker.h"
#include "consensus/sim/programs/random.h"
#include "consensus/sim/runs/layout.h"
#include "consensus/sim/runs/transcript.h"
#include <inttypes.h>
#include <stdlib.h>

#define CALM_ASK_NS UINT64_C(1000000000)

enum { FLIP_STREAM = 0x666c6970 }; /* of a seed's random numbers: "flip" */

/* A barrier of foreign code does not survive a death, and a storm is not about it.  In
 * strict mode nobody yields to who waits in one. */
static uint32_t features_of(const struct swarm_job *job)
{
    uint32_t features = job->features != 0 ? job->features : PROGRAM_ALL;
    if (job->cancels) {
        features |= PROGRAM_LATE_CANCELS;
    }
    if (job->poison) {
        features |= PROGRAM_POISON;
    }
    if (job->arrays) {
        features |= PROGRAM_ARRAYS;
    }
    if (job->parks) {
        features |= PROGRAM_PARKS;
    }
    if (job->sessions && job->mode != CORE_STRICT) {
        features |= PROGRAM_SESSIONS;
    }
    if (job->reloads) {
        features |= PROGRAM_GATHERS;
    }
    if (job->boundary && job->mode == CORE_STRICT) {
        features &= ~(uint32_t)PROGRAM_LANES; /* they would not stand still with one */
    }
    bool none = job->storm || job->mode == CORE_STRICT;
    return none ? features & ~(uint32_t)PROGRAM_BARRIERS : features;
}

static struct program *make_program(const struct swarm_job *job, uint64_t seed)
{
    return program_new(&(struct program_options){.seed = seed,
                                                 .ranks = job->ranks,
                                                 .tasks = job->tasks,
                                                 .features = features_of(job),
                                                 .agree = job->agree});
}

static bool is_calm(const struct swarm_job *job, const struct program *program)
{
    return job->calm && program->waits_alike && !job->storm;
}

/* Nobody had to ask: every result that anybody needed was pushed.  (Once tasks are
 * told to their chair, pushed or not.) */
static bool check_calm(const struct program *program, struct sim_report *report)
{
    bool told = false;
    for (uint32_t i = 0; i < program->task_count; i++) {
        told |= program->tasks[i].once;
    }
    if (report->end_ns < CALM_ASK_NS &&
        (told || report->counts.sent[MESSAGE_MOTION] == 0)) {
        return true;
    }
    report->failed = true;
    (void)snprintf(report->check, sizeof(report->check), "critical path");
    (void)snprintf(report->why, sizeof(report->why), "it takes a motion to go on");
    return false;
}

/* With presses there is room for all tasks, on ranks that do not say otherwise. */
static void set_limits(const struct swarm_job *job, uint64_t seed,
                       struct sim_weather *weather)
{
    if (job->sparing) {
        sim_memory_draw(seed, weather);
    }
    if (job->narrow) {
        sim_bandwidth_draw(seed, weather);
    }
    if (job->snapshots) {
        sim_disk_draw(seed, weather);
    }
    if (job->reloads) {
        sim_reload_draw(seed, weather);
    }
    if (job->drops || job->presses) {
        weather->drop_above = job->presses ? UINT32_MAX : 1;
        weather->presses = job->presses;
    }
    if (job->lots) {
        weather->drop_above = 1;
        weather->lot_after = 1 + seed % SIM_LOT_AFTER_MAX;
    }
}

/* The hosts of the ranks that are there from the start; true if there are any, and then
 * the caller releases them. */
static bool draw_hosts(const struct swarm_job *job, uint64_t seed,
                       struct sim_weather *weather, struct sim_cluster *cluster)
{
    struct layout layout;
    if (job->hosts) {
        layout_draw(seed, job->ranks - job->newcomers, &layout);
        layout_cluster(&layout, weather, cluster);
    }
    return job->hosts;
}

/* A rank whose state differs from one of its first signatures on; in one seed of four
 * none does. */
static void draw_flip(const struct swarm_job *job, uint64_t seed, struct plan *plan)
{
    struct random random = random_stream(seed, FLIP_STREAM);
    if (!job->signs || random_chance(&random, 250) ||
        plan->rule_count == PLAN_RULES_MAX) {
        return;
    }
    struct plan_rule *rule = &plan->rules[plan->rule_count++];
    const uint32_t rank = (uint32_t)random_below(&random, job->ranks);
    *rule = (struct plan_rule){.fault = PLAN_FLIP,
                               .chance_ppb = PLAN_CERTAIN_PPB,
                               .when = PLAN_AT_POINT,
                               .point = CORE_POINT_SIGN,
                               .lasts_ns = PLAN_FOREVER};
    rule->nth_first = rule->nth_last = 1 + random_below(&random, 4);
    rule->ranks.count = 1;
    rule->ranks.span[0].first = rule->ranks.span[0].last = rank;
}

static void draw_storm(const struct swarm_job *job, uint64_t seed,
                       const struct sim_cluster *cluster, struct sim_weather *weather,
                       struct plan *plan, struct storm *storm)
{
    const struct storm_request request = {.ranks = job->ranks,
                                          .cluster = job->hosts ? cluster : NULL,
                                          .newcomers = job->newcomers,
                                          .calm = job->calm,
                                          .given = job->plan,
                                          .aims = job->aims,
                                          .solo = job->solo,
                                          .leaves =
                                              job->leaves && job->mode != CORE_STRICT,
                                          .boundary = job->boundary,
                                          .poison = job->poison};
    storm_draw(seed, &request, weather, plan, storm);
    if (job->plan == NULL) {
        draw_flip(job, seed, plan);
    }
    if (job->hosts) {
        plan_place(plan, storm->hosts, job->ranks);
    }
}

static void draw_weather(const struct swarm_job *job, uint64_t seed,
                         struct sim_weather *weather)
{
    sim_weather_draw(seed, job->ranks, weather);
    weather->direct_max = job->direct_max;
    weather->mode = job->mode;
    weather->signs = job->signs ? 1 + (uint32_t)(seed % 3) : 0;
    set_limits(job, seed, weather);
}

void swarm_plan(const struct swarm_job *job, uint64_t seed, struct plan *out)
{
    struct sim_weather weather;
    struct sim_cluster cluster;
    struct storm storm;
    draw_weather(job, seed, &weather);
    const bool clustered = draw_hosts(job, seed, &weather, &cluster);
    draw_storm(job, seed, &cluster, &weather, out, &storm);
    plan_place(out, NULL, 0);
    storm_release(&storm);
    if (clustered) {
        layout_release(&cluster);
    }
}

bool swarm_run(const struct swarm_job *job, uint64_t seed, FILE *story,
               struct sim_report *report)
{
    struct sim_weather weather;
    struct sim_cluster cluster;
    struct storm storm = {0};
    struct plan plan = {.rule_count = 0};
    draw_weather(job, seed, &weather);
    const bool clustered = draw_hosts(job, seed, &weather, &cluster);
    if (!job->storm) {
        draw_flip(job, seed, &plan);
    } else {
        draw_storm(job, seed, &cluster, &weather, &plan, &storm);
    }
    struct program *program = make_program(job, seed);
    if (program == NULL) {
        abort();
    }
    if (storm.boundary && program->sessions == 0) {
        weather.drop_above = 0; /* a newcomer runs the program from its beginning */
    }
    struct narrator *narrator = NULL;
    struct sim_watcher watchers[2];
    struct sim_options options = {.program = program,
                                  .seed = seed,
                                  .canary = job->canary,
                                  .starves = job->starves,
                                  .cluster = clustered ? &cluster : NULL,
                                  .watchers = watchers,
                                  .notes = job->witness != NULL || story != NULL};
    if (job->witness != NULL) {
        watchers[options.watcher_count++] = *job->witness;
    }
    if (story != NULL) {
        program_print(program, story);
        narrator = narrator_new(program, story, NARRATOR_EVERYTHING);
        watchers[options.watcher_count++] = narrator_watcher(narrator);
    }
    options.weather = &weather;
    if (is_calm(job, program)) {
        weather.ask_delay_ns = CALM_ASK_NS;
        weather.spare_per_mille = 0;
    }
    if (job->storm) {
        options.storm = &storm;
    }
    if (job->storm || plan.rule_count > 0) {
        options.plan = &plan;
    }
    bool good = job->solo ? sim_run(&options, report)
                : job->storm
                    ? storm_checker_run(&options, report)
                    : checker_run(&options, report) &&
                          (!is_calm(job, program) || check_calm(program, report));
    storm_release(&storm);
    if (clustered) {
        layout_release(&cluster);
    }
    narrator_free(narrator);
    program_free(program);
    return good;
}

static void print_flags(const struct swarm_job *job, FILE *to)
{
    const struct {
        bool is_set;
        const char *name;
    } flags[] = {{job->agree, "agree"},         {job->calm, "calm"},
                 {job->drops, "drops"},         {job->presses, "presses"},
                 {job->lots, "lots"},           {job->sparing, "sparing"},
                 {job->narrow, "narrow"},       {job->cancels, "cancels"},
                 {job->boundary, "boundary"},   {job->aims, "aims"},
                 {job->solo, "solo"},           {job->hosts, "hosts"},
                 {job->poison, "poison"},       {job->parks, "parks"},
                 {job->signs, "signs"},         {job->sessions, "sessions"},
                 {job->snapshots, "snapshots"}, {job->reloads, "reloads"},
                 {job->arrays, "arrays"}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (flags[i].is_set) {
            fprintf(to, " --%s", flags[i].name);
        }
    }
}

void swarm_print_replay(const struct swarm_job *job, uint64_t seed, FILE *to)
{
    fprintf(to, "%s --ranks %" PRIu32 " --seed %" PRIu64 " --tasks %" PRIu32,
            job->storm ? "storm_test" : "swarm_test", job->ranks, seed, job->tasks);
    if (job->features != 0) {
        fprintf(to, " --features %" PRIu32, job->features);
    }
    if (job->direct_max != 0) {
        fprintf(to, " --direct-max %" PRIu32, job->direct_max);
    }
    if (job->mode != CORE_REPAIR) {
        fprintf(to, job->mode == CORE_STRICT ? " --strict" : " --trust");
    }
    print_flags(job, to);
    if (job->canary != SIM_CANARY_NONE) {
        fprintf(to, " --canary %s", sim_canary_name(job->canary));
    }
    if (job->storm) {
        struct plan plan;
        static char text[PLAN_TEXT_BYTES_MAX];
        swarm_plan(job, seed, &plan);
        plan_format(&plan, text, sizeof(text));
        fprintf(to, " --faults %s", text);
    }
    fprintf(to, "\n");
}
