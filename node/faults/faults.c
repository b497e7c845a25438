/* faults.c - see faults.h. */
#include "node/faults/faults.h"

#include "node/config/ending.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/faults/faulty_wire.h"
#include "node/faults/stand_still.h"
#include "node/record/figures.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Opening ---------------------------------------------------------------------- */

static int parse(const char *text, struct plan **out, char *story, size_t story_size)
{
    struct plan_error error;
    char shown[1024];
    int code = plan_parse(text, out, &error);
    if (code == MOOT_ERR_CONFIG) {
        plan_error_format(text, &error, shown, sizeof(shown));
        snprintf(story, story_size, "MOOT_FAULTS:\n%s", shown);
    }
    return code;
}

static int check_means(const struct plan *plan, char *story, size_t story_size)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        enum plan_fault fault = plan->rules[i].fault;
        if (fault == PLAN_CLOCK || fault == PLAN_RESTART) {
            snprintf(story, story_size,
                     "MOOT_FAULTS: %s is for `moot sim`: a real rank's clock cannot be "
                     "turned, and one that died does not come back",
                     plan_fault_name(fault));
            return MOOT_ERR_CONFIG;
        }
        if (fault == PLAN_LEAVE) {
            snprintf(story, story_size,
                     "MOOT_FAULTS: %s is for `moot sim`: a real rank leaves by "
                     "moot_leave, or by `moot shrink`",
                     plan_fault_name(fault));
            return MOOT_ERR_CONFIG;
        }
        if (fault == PLAN_JOIN) {
            snprintf(story, story_size,
                     "MOOT_FAULTS: %s is for `moot sim`: real ranks join by moot_grow, "
                     "or by `moot grow`",
                     plan_fault_name(fault));
            return MOOT_ERR_CONFIG;
        }
        if (fault == PLAN_PAUSE && plan->rules[i].ranks.of_hosts &&
            plan->rules[i].when == PLAN_AT_POINT) {
            snprintf(story, story_size,
                     "MOOT_FAULTS: a host that pauses at a point is for `moot sim`: "
                     "name a time, or ranks");
            return MOOT_ERR_CONFIG;
        }
    }
    return MOOT_OK;
}

int faults_check(const char *text, char *story, size_t story_size)
{
    struct plan *plan = NULL;
    int code = text[0] != '\0' ? parse(text, &plan, story, story_size) : MOOT_OK;
    if (code == MOOT_OK && plan != NULL) {
        code = check_means(plan, story, story_size);
    }
    plan_free(plan);
    return code;
}

int faults_open(struct moot *m, char *story, size_t story_size)
{
    struct faults *f = &m->faults;
    struct plan_error error;
    const char *text = m->knobs.faults;
    if (text[0] == '\0') {
        return MOOT_OK;
    }
    int code = parse(text, &f->plan, story, story_size);
    if (code == MOOT_OK) {
        plan_place(f->plan, m->group.places,
                   m->group.places != NULL ? m->group.size : 0);
        code = plan_check_ranks(f->plan, m->group.size, &error);
        if (code == MOOT_ERR_CONFIG) {
            char shown[1024];
            plan_error_format(text, &error, shown, sizeof(shown));
            snprintf(story, story_size, "MOOT_FAULTS:\n%s", shown);
        }
    }
    if (code == MOOT_OK && plan_harms_wire(f->plan)) {
        f->alone = FAULTY_WIRE_PAST;
        code = faulty_wire_wrap(m);
    }
    if (code == MOOT_OK) {
        f->random = f->plan->seed * UINT64_C(0x9e3779b97f4a7c15) + m->group.rank + 1;
    }
    return code;
}

void faults_begin(struct moot *m)
{
    if (m->faults.plan != NULL) {
        m->faults.began_ns = clock_ns();
    }
}

void faults_release(struct moot *m)
{
    plan_free(m->faults.plan);
    m->faults.plan = NULL;
}

/* --- Whether a rule fires -------------------------------------------------------- */

static bool is_on(const struct moot *m) { return m->faults.began_ns != 0; }

static uint64_t since_open_ns(const struct moot *m)
{
    return clock_ns() - m->faults.began_ns;
}

static uint64_t draw(struct moot *m) /* Vigna's splitmix64 */
{
    uint64_t word = m->faults.random += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

/* Counts it if it does. */
static bool fires(struct moot *m, plan_rules rules, uint32_t index)
{
    struct faults *f = &m->faults;
    if (!(rules & PLAN_RULE(index)) || !plan_chance(&f->plan->rules[index], draw(m))) {
        return false;
    }
    f->hits.fired[index]++;
    trace_fault(m, index);
    return true;
}

/* --- Strikes --------------------------------------------------------------------- */

/* For the job's summary: what its plan did, and when it struck. */
static void write_struck(FILE *file, const struct moot *m, int unused)
{
    (void)unused;
    fprintf(file, "rank %u\n", m->group.rank);
    fprintf(file, "struck_ns %llu\n",
            (unsigned long long)ending_by_job_clock(clock_ns()));
    figures_write_hits(file, m);
}

/* The same while the rank lives on, which may end without a close. */
static void write_fired(FILE *file, const struct moot *m, int unused)
{
    (void)unused;
    fprintf(file, "rank %u\n", m->group.rank);
    figures_write_hits(file, m);
}

enum { FALL_NS = 2 * 1000 * 1000 * 1000 };

/* The agent kills this rank with all others of the host; one that stands still does
 * not, and then the rank dies alone. */
static bool fell_with_agent(void)
{
    const char *agent = getenv(ENDING_AGENT);
    if (agent == NULL || kill((pid_t)strtol(agent, NULL, 10), ENDING_FALL) != 0) {
        return false;
    }
    sleep_on(FALL_NS);
    return true;
}

/* The whole host: its agent does that.  Where there is none, the other ranks go from
 * here, if their processes can be told from others. */
static void kill_host(const struct moot *m, bool at_point)
{
    if (fell_with_agent() || !at_point) {
        return;
    }
    const struct transport_group *group = &m->group;
    for (uint32_t rank = 0; group->processes != NULL && rank < group->size; rank++) {
        const struct process_name *process = &group->processes[rank];
        if (rank != group->rank && group->places[rank] == group->places[group->rank] &&
            process_is_near(process) && process_lives(process)) {
            kill((pid_t)process->pid, SIGKILL);
        }
    }
}

static void die(struct moot *m, bool with_host, bool at_point)
{
    outbox_flush(m);
    if (m->knobs.summary[0] != '\0') {
        figures_write_file(m, "struck", write_struck, 0);
    }
    trace_out(m);
    if (with_host) {
        kill_host(m, at_point);
    }
    kill(getpid(), SIGKILL);
    for (;;) {
        pause(); /* until it arrives */
    }
}

static void strike(struct moot *m, plan_rules rules)
{
    for (uint32_t i = 0; i < PLAN_RULES_MAX && rules >> i != 0; i++) {
        if (!fires(m, rules, i)) {
            continue;
        }
        const struct plan_rule *rule = &m->faults.plan->rules[i];
        if (rule->fault == PLAN_FLIP) {
            m->faults.flipped = true;
            continue;
        }
        if (rule->fault == PLAN_KILL) {
            die(m, rule->ranks.of_hosts, rule->when == PLAN_AT_POINT);
        }
        outbox_flush(m);
        if (m->knobs.summary[0] != '\0') {
            figures_write_file(m, "struck", write_fired, 0);
        }
        stand_still(rule->lasts_ns);
    }
}

void faults_at_point(struct moot *m, enum core_point point)
{
    if (is_on(m)) {
        strike(m, plan_pass(m->faults.plan, &m->faults.lived, m->group.rank, point,
                            since_open_ns(m)));
    }
}

void faults_carry_note(struct moot *m, const struct core_output *output)
{
    trace_note(m, output);
    observe_note(m, output);
    faults_at_point(m, output->u.note.point);
}

bool faults_begin_turn(struct moot *m, uint64_t now_ns, uint64_t before_ns)
{
    struct faults *f = &m->faults;
    trace_gap(m, before_ns);
    if (!is_on(m) || now_ns < f->began_ns) {
        return true;
    }
    uint64_t from_ns = f->struck_until_ns;
    f->struck_until_ns = now_ns - f->began_ns;
    strike(m, plan_strikes(f->plan, m->group.rank, from_ns, f->struck_until_ns));
    return now_ns >= f->deaf_until_ns;
}

void faults_sign(struct moot *m, moot_hash *hash)
{
    faults_at_point(m, CORE_POINT_SIGN);
    if (m->faults.flipped) {
        hash->bytes[0] ^= 1;
        hash->bytes[1] ^= (uint8_t)m->group.rank;
    }
}

/* --- Slowness -------------------------------------------------------------------- */

void faults_end_turn(struct moot *m, uint64_t now_ns)
{
    struct faults *f = &m->faults;
    plan_rules rules = is_on(m) ? plan_state(f->plan, &f->lived, m->group.rank,
                                             PLAN_GAP, since_open_ns(m))
                                : 0;
    for (uint32_t i = 0; i < PLAN_RULES_MAX && rules >> i != 0; i++) {
        if (fires(m, rules, i)) {
            f->deaf_until_ns =
                now_ns + plan_spread_ns(&f->plan->rules[i].spread, draw(m));
        }
    }
}

void faults_after_kernel(struct moot *m, uint64_t took_ns)
{
    struct faults *f = &m->faults;
    uint64_t more_ns = 0;
    engine_lock(m);
    plan_rules rules = is_on(m) ? plan_state(f->plan, &f->lived, m->group.rank,
                                             PLAN_SLOW, since_open_ns(m))
                                : 0;
    for (uint32_t i = 0; i < PLAN_RULES_MAX && rules >> i != 0; i++) {
        if (fires(m, rules, i)) {
            more_ns += plan_slow_ns(&f->plan->rules[i], took_ns, draw(m));
        }
    }
    engine_unlock(m);
    if (more_ns > 0) {
        sleep_on(more_ns);
    }
}

/* --- Disks ----------------------------------------------------------------------- */

/* Under the lock.  Whether a rule of the kind fires; what its spreads draw is added. */
static bool strikes_disk(struct moot *m, enum plan_fault fault, uint64_t *more_ns)
{
    struct faults *f = &m->faults;
    bool fired = false;
    plan_rules rules = is_on(m) ? plan_state(f->plan, &f->lived, m->group.rank, fault,
                                             since_open_ns(m))
                                : 0;
    for (uint32_t i = 0; i < PLAN_RULES_MAX && rules >> i != 0; i++) {
        if (fires(m, rules, i)) {
            fired = true;
            *more_ns += plan_spread_ns(&f->plan->rules[i].spread, draw(m));
        }
    }
    return fired;
}

bool faults_of_disk_batch(struct moot *m)
{
    uint64_t more_ns = 0;
    engine_lock(m);
    (void)strikes_disk(m, PLAN_DISK_SLOW, &more_ns);
    const bool full = strikes_disk(m, PLAN_DISK_FULL, &more_ns);
    engine_unlock(m);
    if (more_ns > 0) {
        sleep_on(more_ns);
    }
    return full;
}

bool faults_flip_record(struct moot *m, uint64_t *word)
{
    uint64_t unused_ns = 0;
    engine_lock(m);
    const bool flips = strikes_disk(m, PLAN_DISK_FLIP, &unused_ns);
    *word = flips ? draw(m) : 0;
    engine_unlock(m);
    return flips;
}

/* --- Messages -------------------------------------------------------------------- */

struct fate faults_fate(struct moot *m, uint64_t types, uint32_t to)
{
    struct faults *f = &m->faults;
    struct fate fate = {.copies = 1};
    const struct plan_message message = {types, m->group.rank, to, false};
    plan_rules rules =
        is_on(m) ? plan_message(f->plan, &f->lived, &message, since_open_ns(m)) : 0;
    for (uint32_t i = 0; i < PLAN_RULES_MAX && rules >> i != 0 && !fate.lost; i++) {
        const struct plan_rule *rule = &f->plan->rules[i];
        if (!fires(m, rules, i)) {
            continue;
        }
        if (rule->fault == PLAN_DUP) {
            fate.copies += rule->times - 1;
        } else if (rule->fault == PLAN_REORDER) {
            fate.waits_for = rule->times;
        } else if (rule->fault == PLAN_DELAY) {
            fate.delay_ns += plan_spread_ns(&rule->spread, draw(m));
        } else {
            fate.lost = true;
        }
    }
    return fate;
}

bool faults_loses_arriving(struct moot *m, uint64_t types, uint32_t from)
{
    struct faults *f = &m->faults;
    const struct plan_message message = {types, from, m->group.rank, true};
    plan_rules rules =
        is_on(m) ? plan_message(f->plan, &f->lived, &message, since_open_ns(m)) : 0;
    for (uint32_t i = 0; i < PLAN_RULES_MAX && rules >> i != 0; i++) {
        if (fires(m, rules, i)) {
            return true;
        }
    }
    return false;
}
