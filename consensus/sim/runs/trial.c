/* trial.c - see trial.h. */
#include "consensus/sim/runs/trial.h"
#include "consensus/faultplan/plan_words.h"
#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/checker.h"
#include "consensus/sim/programs/random.h"
#include "consensus/sim/runs/transcript.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECONDS(n) (UINT64_C(1000) * (n))
#define SECONDS(n) (UINT64_C(1000000000) * (n))
#define RATE_MOST UINT64_C(1000000000000000) /* bytes a second */
enum { SUSPECT_HEARTBEATS = 6, LEASE_HEARTBEATS = 2, STEP_HEARTBEATS = 100 };
enum { STREAM_MODE = 502, STRICT_PER_MILLE = 100 };
enum { STREAM_NEWCOMERS = 503, NEWCOMERS_PER_MILLE = 200, NEWCOMERS_DRAWN_MAX = 3 };
enum { STREAM_POISONED = 501, POISON_RANKS_MIN = 3, POISONED_PER_MILLE = 125 };
enum { STREAM_DISKS = 504, DISKS_PER_MILLE = 150, NEWCOMERS_MAX = 8 };

/* --- Settings --------------------------------------------------------------------- */

static const struct setting {
    const char *name, *what;
    size_t offset;
    enum { IS_TIME, IS_COUNT, IS_RATE, IS_MODE } kind;
    bool never;
    uint32_t adapt;
} settings[] = {
#define X(name, text, field, kind, never, adapt, what)                                 \
    {text, what, offsetof(struct sim_weather, field), kind, never, adapt},
    TRIAL_SETTINGS(X)
#undef X
};

const char *trial_setting_name(enum trial_setting setting)
{
    return setting < TRIAL_SETTING_END ? settings[setting].name : "?";
}

/* Beyond these a run is heartbeats and little else. */
static uint64_t time_least_ns(enum trial_setting setting)
{
    return setting == TRIAL_SUSPECT     ? MICROSECONDS(1000)
           : setting == TRIAL_HEARTBEAT ? MICROSECONDS(100)
                                        : 0;
}

static uint64_t time_most_ns(enum trial_setting setting)
{
    return setting == TRIAL_VOTE_TIMEOUT ? CORE_NEVER
           : setting == TRIAL_ASK_DELAY  ? SECONDS(1)
                                         : SECONDS(10);
}

static bool check_time(struct lexer *lexer, enum trial_setting setting, uint64_t ns)
{
    uint64_t least_ns = time_least_ns(setting), most_ns = time_most_ns(setting);
    char bound[32];
    if (settings[setting].kind != IS_TIME || (ns >= least_ns && ns <= most_ns)) {
        return true;
    }
    trial_setting_format(setting, ns < least_ns ? least_ns : most_ns, bound,
                         sizeof(bound));
    return lex_wrong(lexer, 0, lexer->end, "", "at %s %s",
                     ns < least_ns ? "least" : "most", bound);
}

/* Bytes a second; the units of what is sold by bytes, and by bits. */
static const struct {
    const char *name;
    uint64_t rate_times_8;
} rate_units[] = {
    {"GB", UINT64_C(8000000000)}, {"MB", 8000000},   {"kB", 8000},   {"B", 8},
    {"Gbit", 1000000000},         {"Mbit", 1000000}, {"kbit", 1000},
};
enum { RATE_UNITS = sizeof(rate_units) / sizeof(*rate_units) };

bool trial_rate_parse(const char *word, uint64_t *out, struct plan_error *error)
{
    static const char allowed[] = "none, or B, kB, MB, GB, kbit, Mbit, Gbit a second, "
                                  "as in 1GB and 10Gbit";
    struct lexer lexer = {.text = word, .end = strlen(word), .error = error};
    uint64_t value;
    size_t unit = 0;
    if (strcmp(word, "none") == 0) {
        *out = 0;
        return true;
    }
    if (!lex_integer(&lexer, &value)) {
        return false;
    }
    while (unit < RATE_UNITS && strcmp(word + lexer.at, rate_units[unit].name) != 0) {
        unit++;
    }
    if (unit == RATE_UNITS) {
        return lex_wrong(&lexer, lexer.at, lexer.end - lexer.at, allowed,
                         "\"%s\" is no number of bytes a second", word);
    }
    if (value == 0 || value > RATE_MOST / (rate_units[unit].rate_times_8 / 8)) {
        return lex_wrong(&lexer, 0, lexer.end, allowed, "it is 1B to 1000000GB");
    }
    *out = value * rate_units[unit].rate_times_8 / 8;
    return true;
}

static size_t format_rate(uint64_t rate, char *text, size_t size)
{
    size_t unit = 0;
    while (rate_units[unit].rate_times_8 > 8 &&
           rate % (rate_units[unit].rate_times_8 / 8) != 0) {
        unit++;
    }
    return rate == 0 ? (size_t)snprintf(text, size, "none")
                     : (size_t)snprintf(text, size, "%" PRIu64 "%s",
                                        rate / (rate_units[unit].rate_times_8 / 8),
                                        rate_units[unit].name);
}

static const char *const mode_names[] = {
    [CORE_REPAIR] = "repair", [CORE_STRICT] = "strict", [CORE_TRUST] = "trust"};

static bool parse_mode(struct lexer *lexer, uint64_t *out)
{
    size_t mode;
    if (!lex_name(lexer, "mode", mode_names, sizeof(mode_names) / sizeof(*mode_names),
                  &mode)) {
        return false;
    }
    *out = mode;
    return true;
}

bool trial_setting_parse(enum trial_setting setting, const char *word, uint64_t *out,
                         struct plan_error *error)
{
    static const char *const of_thousand[TRIAL_SETTING_END] = {
        [TRIAL_GAPS] = "turns",
        [TRIAL_SNAPSHOTS] = "steps",
        [TRIAL_RELOADS] = "meetings"};
    struct lexer lexer = {.text = word, .end = strlen(word), .error = error};
    uint64_t value = CORE_NEVER;
    if (settings[setting].kind == IS_RATE) {
        return trial_rate_parse(word, out, error);
    }
    if (settings[setting].kind == IS_MODE) {
        return parse_mode(&lexer, out);
    }
    if (settings[setting].never && strcmp(word, "never") == 0) {
        *out = value;
        return true;
    }
    if (settings[setting].adapt != 0 && strcmp(word, "auto") == 0) {
        *out = TRIAL_AUTO;
        return true;
    }
    bool count = settings[setting].kind == IS_COUNT;
    if (count ? !lex_integer(&lexer, &value) : !lex_time(&lexer, &value)) {
        return false;
    }
    if (lexer.at < lexer.end) {
        return lex_wrong(&lexer, 0, lexer.end, "", "\"%s\" is no %s", word,
                         count ? "number" : "time");
    }
    if (!check_time(&lexer, setting, value)) {
        return false;
    }
    if (setting == TRIAL_VOTERS && (value < 1 || value > LIMIT_VOTERS)) {
        return lex_wrong(&lexer, 0, lexer.end, "", "there are 1 to %u voters",
                         LIMIT_VOTERS);
    }
    if (setting == TRIAL_WORKERS && value > 64) {
        return lex_wrong(&lexer, 0, lexer.end, "", "there are 0 to 64 workers");
    }
    if (of_thousand[setting] != NULL && value > 1000) {
        return lex_wrong(&lexer, 0, lexer.end, "", "of a thousand %s, at most 1000",
                         of_thousand[setting]);
    }
    *out = value;
    return true;
}

size_t trial_setting_format(enum trial_setting setting, uint64_t value, char *text,
                            size_t size)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    int unit = 0;
    if (settings[setting].kind == IS_RATE) {
        return format_rate(value, text, size);
    }
    if (settings[setting].kind == IS_MODE) {
        return (size_t)snprintf(text, size, "%s", mode_names[value]);
    }
    if (value == CORE_NEVER && settings[setting].never) {
        return (size_t)snprintf(text, size, "never");
    }
    if (value == TRIAL_AUTO && settings[setting].adapt != 0) {
        return (size_t)snprintf(text, size, "auto");
    }
    if (settings[setting].kind == IS_COUNT) {
        return (size_t)snprintf(text, size, "%" PRIu64, value);
    }
    while (unit < 3 && value % units[unit].ns != 0) {
        unit++;
    }
    return (size_t)snprintf(text, size, "%" PRIu64 "%s", value / units[unit].ns,
                            units[unit].name);
}

static void apply_settings(const struct trial *trial, struct sim_weather *weather)
{
    for (int i = 0; i < TRIAL_SETTING_END; i++) {
        char *field = (char *)weather + settings[i].offset;
        if (!trial->set[i] || settings[i].kind == IS_MODE) {
            continue; /* the mode is mode_of()'s */
        }
        if (settings[i].adapt != 0 && trial->settings[i] == TRIAL_AUTO) {
            weather->adapt |= settings[i].adapt;
            if (i == TRIAL_SUSPECT) { /* as on real ranks */
                weather->suspect_ns = SUSPECT_HEARTBEATS * weather->heartbeat_ns;
            }
            continue;
        }
        if (settings[i].kind == IS_COUNT) {
            *(uint32_t *)(void *)field = (uint32_t)trial->settings[i];
        } else {
            *(uint64_t *)(void *)field = trial->settings[i];
        }
    }
}

static void raise_to(uint64_t *value_ns, uint64_t least_ns)
{
    *value_ns = *value_ns < least_ns ? least_ns : *value_ns;
}

/* What is not given fits what is: nobody is suspected between two of its heartbeats,
 * and a program that takes its time is not drowned in them. */
static void fit_settings(const struct trial *trial, struct sim_weather *weather)
{
    const bool *set = trial->set;
    if (!set[TRIAL_HEARTBEAT]) {
        raise_to(&weather->heartbeat_ns, weather->step_ns / STEP_HEARTBEATS);
        uint64_t most_ns = weather->suspect_ns / SUSPECT_HEARTBEATS + 1;
        if (set[TRIAL_SUSPECT] && weather->heartbeat_ns > most_ns) {
            weather->heartbeat_ns = most_ns;
        }
    }
    if (!set[TRIAL_SUSPECT]) {
        raise_to(&weather->suspect_ns, SUSPECT_HEARTBEATS * weather->heartbeat_ns);
    }
    if (!set[TRIAL_LEASE]) {
        raise_to(&weather->lease_ns, LEASE_HEARTBEATS * weather->heartbeat_ns);
    }
    if (!set[TRIAL_QUORUM_WAIT]) {
        raise_to(&weather->quorum_wait_ns,
                 2 * (weather->suspect_ns + weather->lease_ns));
    }
}

/* --- What is not the program ----------------------------------------------------- */

/* A fast interconnect without mishaps, and the release's own delays. */
static void set_steady(struct sim_weather *out)
{
    *out = (struct sim_weather){.latency_ns = MICROSECONDS(2),
                                .jitter_ns = 200,
                                .bulk_ns = MICROSECONDS(20),
                                .poll_ns = 500,
                                .step_ns = 500,
                                .workers = 1,
                                .ask_delay_ns = MICROSECONDS(1000),
                                .gossip_period_ns = MICROSECONDS(2000),
                                .vote_timeout_ns = CORE_NEVER,
                                .voters = 3,
                                .crashes = SIM_CRASHES,
                                .tree_fanout = CORE_TREE_FANOUT};
}

/* Programs of scripts say for each rank what it does: none comes that they do not know.
 */
static uint32_t draw_newcomers(const struct trial *trial, uint64_t seed)
{
    struct random random = random_stream(seed, STREAM_NEWCOMERS);
    const uint32_t most =
        trial->workload.kind == WORKLOAD_RANDOM ? PROGRAM_RANKS_MAX : LIMIT_RANKS;
    const bool some = random_chance(&random, NEWCOMERS_PER_MILLE);
    const uint32_t count = 1 + (uint32_t)random_below(&random, NEWCOMERS_DRAWN_MAX);
    return some && trial->workload.kind != WORKLOAD_SCRIPT &&
                   trial->ranks + count <= most
               ? count
               : 0;
}

static uint32_t newcomers_of(const struct trial *trial, uint64_t seed)
{
    return trial->faults == TRIAL_NONE    ? 0
           : trial->faults == TRIAL_DRAWN ? draw_newcomers(trial, seed)
                                          : plan_newcomers(trial->plan);
}

uint32_t trial_rank_count(const struct trial *trial, uint64_t seed)
{
    return trial->ranks + newcomers_of(trial, seed);
}

/* Whether some of its tasks kill who runs them: of random programs in a storm that the
 * seed draws, one in so many. */
static bool has_poison(const struct trial *trial, uint64_t seed)
{
    bool drawn = trial->faults == TRIAL_DRAWN || trial->faults == TRIAL_STORM;
    struct random random = random_stream(seed, STREAM_POISONED);
    return trial->workload.kind == WORKLOAD_POISON ||
           (trial->workload.kind == WORKLOAD_SCRIPT &&
            script_has_poison(trial->workload.script)) ||
           (trial->workload.kind == WORKLOAD_RANDOM && drawn &&
            trial_rank_count(trial, seed) >= POISON_RANKS_MIN &&
            random_chance(&random, POISONED_PER_MILLE));
}

/* Random programs without faults are strict in one seed of ten. */
static enum core_mode mode_of(const struct trial *trial, uint64_t seed)
{
    if (trial->set[TRIAL_DIVERGENCE]) {
        return (enum core_mode)trial->settings[TRIAL_DIVERGENCE];
    }
    struct random random = random_stream(seed, STREAM_MODE);
    bool strict = random_chance(&random, STRICT_PER_MILLE);
    return trial->workload.kind == WORKLOAD_RANDOM && trial->faults == TRIAL_NONE &&
                   strict && !trial->steady
               ? CORE_STRICT
               : CORE_REPAIR;
}

/* The surroundings of a program.  `cluster` is one if the trial has hosts. */
struct surroundings {
    struct sim_weather weather;
    bool stormy, clustered;
    struct storm storm;
    struct sim_cluster cluster;
};

static void release_surroundings(struct surroundings *around)
{
    if (around->stormy) {
        storm_release(&around->storm);
    }
    if (around->clustered) {
        layout_release(&around->cluster);
    }
}

/* Ranks store, and programs ask for snapshots: if that is said, or the plan is about
 * disks; else random programs, in one seed of so many. */
static bool has_disks(const struct trial *trial, uint64_t seed)
{
    struct random random = random_stream(seed, STREAM_DISKS);
    const bool drawn = random_chance(&random, DISKS_PER_MILLE);
    return trial->set[TRIAL_SNAPSHOTS]
               ? trial->settings[TRIAL_SNAPSHOTS] > 0
               : trial->workload.kind == WORKLOAD_RANDOM && !trial->steady &&
                     (drawn || (trial->plan != NULL && plan_harms_disk(trial->plan)));
}

static void set_weather(const struct trial *trial, uint64_t seed,
                        struct sim_weather *weather)
{
    if (trial->steady) {
        set_steady(weather);
    } else {
        sim_weather_draw(seed, trial_rank_count(trial, seed), weather);
    }
    if (!trial->steady && (trial->workload.kind == WORKLOAD_RANDOM ||
                           trial->workload.kind == WORKLOAD_POISON)) {
        sim_memory_draw(seed, weather);
        sim_bandwidth_draw(seed, weather);
    }
    if (has_disks(trial, seed)) {
        sim_disk_draw(seed, weather);
        weather->disk_fails_per_mille *= !trial->steady && trial->faults != TRIAL_NONE;
    }
    apply_settings(trial, weather);
    weather->mode = mode_of(trial, seed);
}

/* The caller releases it.  The plan is placed among its hosts. */
static void set_surroundings(const struct trial *trial, uint64_t seed,
                             struct surroundings *around, struct plan *plan)
{
    struct sim_weather *weather = &around->weather;
    *around = (struct surroundings){.stormy = trial->faults != TRIAL_NONE,
                                    .clustered = layout_is_there(&trial->layout)};
    *plan = (struct plan){.rule_count = 0};
    set_weather(trial, seed, weather);
    if (around->clustered) {
        struct layout layout;
        layout_settle(&trial->layout, seed, trial->ranks, &layout);
        layout_cluster(&layout, weather, &around->cluster);
    }
    const struct storm_request request = {
        .ranks = trial_rank_count(trial, seed),
        .newcomers = newcomers_of(trial, seed),
        .boundary = weather->reloads_per_mille > 0 && newcomers_of(trial, seed) > 0 &&
                    weather->mode != CORE_STRICT, /* there lanes would have to wait */
        .leaves = mode_of(trial, seed) != CORE_STRICT,
        .poison = has_poison(trial, seed),
        .cluster = around->clustered ? &around->cluster : NULL,
        .given = trial->faults == TRIAL_PLAN || trial->faults == TRIAL_STORM
                     ? trial->plan
                     : NULL};
    if (!around->stormy) {
        return;
    }
    if (trial->faults == TRIAL_PLAN) {
        *plan = *trial->plan;
        storm_default(&request, weather, &around->storm);
    } else {
        storm_draw(seed, &request, weather, plan, &around->storm);
    }
    apply_settings(trial, weather);
    fit_settings(trial, weather);
    if (around->clustered) {
        plan_place(plan, around->storm.hosts, trial_rank_count(trial, seed));
    }
}

uint32_t trial_task_count(const struct trial *trial, uint64_t seed)
{
    return workload_task_count(seed, trial->tasks);
}

void trial_settle_layout(struct trial *trial, uint64_t seed)
{
    const struct layout given = trial->layout;
    layout_settle(&given, seed, trial->ranks, &trial->layout);
}

void trial_draw_plan(const struct trial *trial, uint64_t seed, struct plan *out)
{
    struct surroundings around;
    struct trial drawn = *trial;
    drawn.faults = TRIAL_DRAWN;
    set_surroundings(&drawn, seed, &around, out);
    plan_place(out, NULL, 0);
    release_surroundings(&around);
}

/* --- The program ----------------------------------------------------------------- */

/* A barrier of foreign code does not survive a death; and in strict mode nobody yields
 * to who is parked in it. */
static struct program *make_program(const struct trial *trial, uint64_t seed,
                                    struct script_error *error)
{
    bool barriers = trial->faults == TRIAL_NONE && mode_of(trial, seed) != CORE_STRICT;
    if (trial->workload.kind != WORKLOAD_RANDOM || barriers) {
        return workload_program(&trial->workload, seed, trial_rank_count(trial, seed),
                                trial->tasks, error);
    }
    uint32_t more = has_poison(trial, seed) ? (uint32_t)PROGRAM_POISON : 0;
    more |= trial->set[TRIAL_RELOADS] ? (uint32_t)PROGRAM_GATHERS : 0;
    if (trial->faults != TRIAL_NONE && mode_of(trial, seed) != CORE_STRICT) {
        more |= PROGRAM_SESSIONS;
    }
    return workload_survivable(seed, trial_rank_count(trial, seed), trial->tasks, more,
                               error);
}

/* That it cannot be, whatever the script says. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct script_error *error,
                                                         const char *format, ...)
{
    *error = (struct script_error){0};
    va_list values;
    va_start(values, format);
    (void)vsnprintf(error->wrong, sizeof(error->wrong), format, values);
    va_end(values);
    return false;
}

/* A rank that is suspected between two of its heartbeats cannot stay. */
static bool check_detection(const struct trial *trial, struct script_error *error)
{
    static const enum trial_setting longer[] = {TRIAL_SUSPECT, TRIAL_LEASE};
    uint64_t heartbeat_ns = trial->settings[TRIAL_HEARTBEAT];
    for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++) {
        char beats[32], value[32];
        uint64_t ns = trial->settings[longer[i]];
        if (!trial->set[TRIAL_HEARTBEAT] || !trial->set[longer[i]] ||
            ns >= LEASE_HEARTBEATS * heartbeat_ns) {
            continue;
        }
        trial_setting_format(TRIAL_HEARTBEAT, heartbeat_ns, beats, sizeof(beats));
        trial_setting_format(longer[i], ns, value, sizeof(value));
        return refuse(error, "--%s %s is less than %d times --heartbeat %s",
                      trial_setting_name(longer[i]), value, LEASE_HEARTBEATS, beats);
    }
    return true;
}

static uint64_t setting_of(const struct trial *trial, enum trial_setting setting)
{
    return trial->set[setting] ? trial->settings[setting] : 0;
}

/* Heartbeats that fill the wire make ranks take each other for dead, and so does a
 * suspicion that comes before they can have passed it. */
static bool check_bandwidth(const struct trial *trial, uint64_t seed,
                            struct script_error *error)
{
    const struct sim_weather weather = {
        .bandwidth = setting_of(trial, TRIAL_BANDWIDTH),
        .link_bandwidth = setting_of(trial, TRIAL_LINK_BANDWIDTH),
        .sharers = trial->layout.hosts > 0 ? layout_sharers(&trial->layout) : 0};
    const uint64_t least[TRIAL_SETTING_END] = {
        [TRIAL_HEARTBEAT] =
            sim_bandwidth_heartbeat_ns(&weather, trial_rank_count(trial, seed)) / 2,
        [TRIAL_SUSPECT] =
            sim_bandwidth_wait_ns(&weather, trial_rank_count(trial, seed))};
    for (int i = 0; i < TRIAL_SETTING_END && trial->faults != TRIAL_NONE; i++) {
        char value[32], bound[32];
        if (!trial->set[i] || trial->settings[i] >= least[i]) {
            continue;
        }
        trial_setting_format((enum trial_setting)i, trial->settings[i], value,
                             sizeof(value));
        (void)snprintf(bound, sizeof(bound), "%" PRIu64 "us", least[i] / 1000 + 1);
        return refuse(
            error,
            "--%s %s: the heartbeats of %u ranks and what else they say do not "
            "pass so small a bandwidth in that time; at least %s",
            settings[i].name, value, (unsigned)trial_rank_count(trial, seed), bound);
    }
    return true;
}

/* The ranks fill the hosts, and those that the plan names are there. */
static bool check_places(const struct trial *trial, uint64_t seed,
                         struct script_error *error)
{
    const struct layout *layout = &trial->layout;
    const uint32_t ranks = trial_rank_count(trial, seed);
    struct plan_error wrong;
    if (layout_is_there(layout) && !layout_check(layout, trial->ranks, &wrong)) {
        return refuse(error, "%s", wrong.wrong);
    }
    if (trial->plan == NULL) {
        return true;
    }
    struct plan *plan = malloc(sizeof(*plan));
    uint32_t *hosts = calloc(ranks, sizeof(*hosts));
    if (plan == NULL || hosts == NULL) {
        abort();
    }
    *plan = *trial->plan;
    if (layout->hosts > 0) {
        const struct sim_cluster cluster = {.hosts = layout->hosts,
                                            .host_ranks = layout->host_ranks};
        for (uint32_t part = 0; part < ranks; part++) {
            hosts[part] = sim_cluster_host(&cluster, part);
        }
        plan_place(plan, hosts, ranks);
    }
    bool good = plan_check_ranks(plan, ranks, &wrong) == MOOT_OK;
    const struct plan_rule *disk = good ? plan_harms_disk(plan) : NULL;
    if (!good && plan_names_hosts(plan) && layout->hosts == 0) {
        (void)refuse(error, "the plan names hosts: say which there are, --hosts 4x2");
    } else if (!good) {
        (void)refuse(error, "the plan does not fit %u ranks: %s", (unsigned)ranks,
                     wrong.wrong);
    } else if (disk != NULL && !has_disks(trial, seed)) {
        good = refuse(error,
                      "%s harms a store, and there is none: --snapshots N gives ranks "
                      "disks, and has N of a thousand steps ask for a snapshot",
                      plan_fault_name(disk->fault));
    }
    free(hosts);
    free(plan);
    return good;
}

static bool has_leave(const struct plan *plan)
{
    bool found = false;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        found |= plan->rules[i].fault == PLAN_LEAVE;
    }
    return found;
}

/* Each newcomer has a part of the program. */
static bool check_newcomers(const struct trial *trial, struct script_error *error)
{
    const uint32_t count = trial->plan != NULL ? plan_newcomers(trial->plan) : 0;
    const uint32_t room =
        trial->workload.kind == WORKLOAD_RANDOM ? PROGRAM_RANKS_MAX : LIMIT_RANKS;
    if (count > NEWCOMERS_MAX) {
        return refuse(error, "the plan has %u newcomers; at most %d may join",
                      (unsigned)count, NEWCOMERS_MAX);
    }
    return (count == 0 || trial->ranks + count <= room) ||
           refuse(error, "%u ranks and %u newcomers are more than %u",
                  (unsigned)trial->ranks, (unsigned)count, (unsigned)room);
}

bool trial_check(const struct trial *trial, uint64_t seed, struct script_error *error)
{
    if (!check_detection(trial, error) || !check_newcomers(trial, error) ||
        !check_places(trial, seed, error) || !check_bandwidth(trial, seed, error)) {
        return false;
    }
    uint64_t mode = trial->set[TRIAL_DIVERGENCE] ? trial->settings[TRIAL_DIVERGENCE]
                                                 : (uint64_t)CORE_REPAIR;
    if (mode == CORE_TRUST && trial->faults != TRIAL_NONE) {
        return refuse(error, "--divergence %s goes with --faults none",
                      mode_names[mode]);
    }
    if (mode == CORE_STRICT && trial->plan != NULL && has_leave(trial->plan)) {
        return refuse(error, "--divergence %s lets no rank leave: no leave in the plan",
                      mode_names[mode]);
    }
    const bool always = trial->workload.kind != WORKLOAD_RANDOM; /* then, not drawn */
    if (always && has_poison(trial, seed) && trial->faults == TRIAL_NONE) {
        return refuse(error, "where ranks die somebody has to notice: not with "
                             "--faults none");
    }
    if (always && has_poison(trial, seed) &&
        trial_rank_count(trial, seed) < POISON_RANKS_MIN) {
        return refuse(error, "of %u ranks poison leaves nobody; it takes %d or more",
                      (unsigned)trial_rank_count(trial, seed), POISON_RANKS_MIN);
    }
    struct program *program = make_program(trial, seed, error);
    if (program == NULL) {
        return false;
    }
    bool good =
        trial->faults == TRIAL_NONE || !program_has_step(program, PROGRAM_BARRIER);
    program_free(program);
    return good || refuse(error, "a barrier does not survive faults: --faults none");
}

/* --- The run --------------------------------------------------------------------- */

static plan_rules find_unfired(const struct trial *trial, const struct plan *plan,
                               const struct sim_report *report)
{
    return trial->faults == TRIAL_PLAN ? plan_unfired(plan, &report->hits) : 0;
}

bool trial_run(const struct trial *trial, uint64_t seed, FILE *story,
               struct tally *tally, struct trial_result *out)
{
    struct script_error error;
    struct surroundings around;
    struct sim_watcher watchers[2];
    struct program *program = make_program(trial, seed, &error);
    if (program == NULL) {
        abort();
    }
    memset(out, 0, sizeof(*out));
    out->task_count = program->task_count;
    set_surroundings(trial, seed, &around, &out->plan);
    const bool stormy = around.stormy;
    /* A chair that may yield because time has passed may do so needlessly. */
    program->agree = program->agree && around.weather.vote_timeout_ns == CORE_NEVER;
    struct sim_options options = {.program = program,
                                  .seed = seed,
                                  .weather = &around.weather,
                                  .plan = stormy ? &out->plan : NULL,
                                  .storm = stormy ? &around.storm : NULL,
                                  .cluster = around.clustered ? &around.cluster : NULL,
                                  .canary = trial->canary,
                                  .notes = true,
                                  .watchers = watchers};
    struct tally_watch *watch = tally_watch_new(program);
    struct narrator *narrator = NULL;
    watchers[options.watcher_count++] = tally_watcher(watch);
    if (story != NULL) {
        program_print(program, story);
        narrator = narrator_new(program, story, NARRATOR_STORY);
        watchers[options.watcher_count++] = narrator_watcher(narrator);
    }
    bool good = stormy ? storm_checker_run(&options, &out->report)
                       : checker_run(&options, &out->report);
    tally_watch_end(watch, &out->report, stormy ? &out->plan : NULL, tally);
    out->unfired = good ? find_unfired(trial, &out->plan, &out->report) : 0;
    narrator_free(narrator);
    program_free(program);
    plan_place(&out->plan, NULL, 0);
    release_surroundings(&around);
    return good;
}
