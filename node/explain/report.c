/* report.c - see report.h; what a stall report says stands in stall.c. */
#include "node/explain/report.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/config/ending.h"
#include "node/engine/engine.h"
#include "node/explain/divergence.h"
#include "node/explain/holdup.h"
#include "node/explain/overrun.h"
#include "node/explain/snapshot_query.h"
#include "node/explain/stall.h"
#include "node/explain/usr1.h"
#include "node/members/members.h"
#include "node/record/trace.h"
#include "node/schedule/wait.h"
#include "node/tasks/task.h"

#include <stdlib.h>

enum { OVERRUN_LOOKS = 4 }; /* at kernels, per MOOT_STALL */

void report_open(struct moot *m)
{
    m->explain.stall_due_ns = CORE_NEVER;
    m->explain.signals_seen = usr1_count();
}

/* --- Divergence ----------------------------------------------------------------- */

static struct divergence_spawn spawn_of(const struct moot *m, const moot_hash *hash,
                                        const char *site)
{
    struct divergence_spawn spawn = {.hash = *hash, .site = site};
    const struct task *task = core_user(m->core, hash);
    if (task != NULL) {
        spawn.kernel = task->kernel != NULL ? task->kernel->name : NULL;
        spawn.label = task_label(task);
        spawn.count = core_array_count(task_entry(task));
    }
    return spawn;
}

/* What this rank spawned before the difference, as far as it has come. */
static void add_before(struct divergence *divergence, const struct moot *m)
{
    uint64_t position = divergence->position > DIVERGENCE_BEFORE_MAX
                            ? divergence->position - DIVERGENCE_BEFORE_MAX
                            : 1;
    for (; position < divergence->position; position++) {
        moot_hash hash;
        const char *site;
        if (!core_spawned(m->core, divergence->lane, position, &hash, &site)) {
            return;
        }
        divergence->before[divergence->before_count++] = spawn_of(m, &hash, site);
    }
}

static uint32_t lowest_member(const struct moot *m)
{
    uint32_t rank = 0;
    while (rank < m->group.rank && !members_is_here(m, rank)) {
        rank++;
    }
    return rank;
}

void report_carry_divergence(struct moot *m, const struct core_output *output)
{
    const struct message_diverged *diverged = &output->u.diverged;
    static const moot_hash nothing = {{0}};
    struct divergence divergence = {.lane = diverged->lane,
                                    .position = diverged->position,
                                    .witness = m->group.rank,
                                    .side_count = diverged->sides};
    for (uint32_t i = 0; i < diverged->sides; i++) {
        const struct message_side *side = &diverged->side[i];
        divergence.side[i].ranks = side->ranks;
        divergence.side[i].spawn = hash_is_zero(&side->hash)
                                       ? (struct divergence_spawn){.hash = nothing}
                                       : spawn_of(m, &side->hash, side->site);
    }
    add_before(&divergence, m);
    struct text line = {0};
    divergence_summarise(&line, &divergence);
    engine_fail(m, MOOT_ERR_DIVERGED, "%s", text_get(&line));
    /* A program's hook gets every rank's; standard error is most often one for all. */
    uint32_t lowest = lowest_member(m);
    if (m->engine.report != report_to_stderr || m->group.rank == lowest) {
        struct text text = {0};
        divergence_compose(&text, &divergence);
        report_add_text(m, text);
    } else if (divergence_is_told_by(&divergence, m->group.rank, lowest)) {
        report_add(m, "moot: rank %u: %s\n", m->group.rank, text_get(&line));
    }
    text_release(&line);
}

/* --- Kernels that may never return ------------------------------------------------ */

/* The first such kernel is told of at once, and then as long as any is. */
static void look_at_kernels(struct moot *m, uint64_t now_ns)
{
    if (m->knobs.stall_ns == KNOB_NEVER || now_ns < m->explain.overrun_look_ns) {
        return;
    }
    m->explain.overrun_look_ns = now_ns + (uint64_t)m->knobs.stall_ns / OVERRUN_LOOKS;
    bool found = overrun_find(m) != NULL;
    if (found && !m->explain.overruns) {
        m->explain.stall_pause_ns = (uint64_t)m->knobs.stall_ns;
        m->explain.stall_due_ns = now_ns;
    }
    m->explain.overruns = found;
}

/* --- Stalls --------------------------------------------------------------------- */

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

uint64_t report_stalled_since(const struct moot *m, uint64_t now_ns)
{
    if ((m->schedule.waits == NULL && !m->engine.closing) || m->engine.adjourned) {
        return CORE_NEVER;
    }
    if (m->schedule.running > m->schedule.kernel_waits && !m->explain.overruns) {
        return now_ns; /* a kernel is at work here */
    }
    uint64_t oldest = m->engine.closing ? m->engine.closing_ns : CORE_NEVER;
    for (const struct wait *wait = m->schedule.waits; wait != NULL; wait = wait->next) {
        oldest = wait->since_ns < oldest ? wait->since_ns : oldest;
    }
    return later_of(oldest, m->schedule.ended_ns);
}

static void report_picture(struct moot *m, const struct picture *picture)
{
    struct text text = {0};
    struct diagnosis *diagnosis = diagnosis_new(picture);
    if (diagnosis != NULL) {
        stall_compose(&text, picture, diagnosis);
        trace_stall(m, text_get(&text));
        report_add_text(m, text);
    }
    diagnosis_free(diagnosis);
}

void report_wait_begins(struct moot *m, uint64_t now_ns)
{
    if (m->knobs.stall_ns != KNOB_NEVER && m->explain.stall_due_ns == CORE_NEVER) {
        m->explain.stall_pause_ns = (uint64_t)m->knobs.stall_ns;
        m->explain.stall_due_ns = now_ns + m->explain.stall_pause_ns;
    }
}

/* Puts the next look off if something happened, or nothing is waited for any more. */
static bool is_stalled(struct moot *m, uint64_t now_ns)
{
    uint64_t since_ns = report_stalled_since(m, now_ns);
    uint64_t first_ns = (uint64_t)m->knobs.stall_ns;
    if (m->explain.overruns) {
        return true;
    }
    if (since_ns == CORE_NEVER) {
        m->explain.stall_due_ns = CORE_NEVER;
        return false;
    }
    if (now_ns - since_ns < first_ns) {
        m->explain.stall_pause_ns = first_ns;
        m->explain.stall_due_ns = since_ns + first_ns;
        return false;
    }
    return true;
}

/* A lower rank that has stalled as well, or will have by then, tells the same. */
static bool another_tells(const struct moot *m, const struct picture *picture)
{
    for (uint32_t rank = 0; rank < m->group.rank; rank++) {
        const Moot__Account *account = picture->seats[rank].account;
        if (account == NULL) {
            continue;
        }
        if (account->stalled_ns >= account->stall_ns / 4 * 3 &&
            account->stalled_ns > 0 &&
            (account->n_waits > 0 || account->meeting_ns > 0 ||
             account->reload_ns > 0 || m->schedule.waits == NULL)) {
            return true;
        }
        if (overrun_any_near(account, account->stall_ns)) {
            return true;
        }
    }
    return false;
}

static void tell_stall(struct moot *m, const struct picture *picture, uint64_t now_ns)
{
    if (another_tells(m, picture)) {
        m->explain.stall_due_ns = now_ns + (uint64_t)m->knobs.stall_ns / 2;
        return;
    }
    m->counts.stalls++;
    report_picture(m, picture);
    m->explain.stall_pause_ns *= 2;
    m->explain.stall_due_ns = now_ns + m->explain.stall_pause_ns / 2;
    bool waits = m->schedule.waits != NULL || m->engine.closing;
    if (m->knobs.stall_abort && waits && !m->explain.overruns) {
        ending_stalled();
        engine_fail_all(
            m, MOOT_ERR_STALLED,
            "rank %u stalled for longer than MOOT_STALL, and MOOT_STALL_ABORT "
            "ends the job; its report says who waits for what",
            m->group.rank);
    }
}

static void tell(struct moot *m, unsigned for_whom, uint64_t now_ns)
{
    struct picture picture;
    if (inquiry_picture(m, now_ns, &picture)) {
        if (for_whom & INQUIRY_FOR_SIGNAL) {
            report_picture(m, &picture);
        } else if ((for_whom & INQUIRY_FOR_STALL) != 0 && m->engine.fatal == 0 &&
                   is_stalled(m, now_ns)) {
            tell_stall(m, &picture, now_ns);
        } else if (for_whom & INQUIRY_FOR_HOLDUP) {
            holdup_tell(m, &picture);
        }
    }
    free(picture.seats);
}

void report_look(struct moot *m, uint64_t now_ns)
{
    const unsigned answered = m->explain.answered = inquiry_look(m, now_ns);
    look_at_kernels(m, now_ns);
    if (now_ns >= m->explain.stall_due_ns && m->engine.fatal == 0 &&
        is_stalled(m, now_ns)) {
        m->explain.stall_due_ns =
            now_ns + m->explain.stall_pause_ns; /* if there is no answer */
        inquiry_want(m, INQUIRY_FOR_STALL);
    }
    if (usr1_count() != m->explain.signals_seen) {
        m->explain.signals_seen = usr1_count();
        inquiry_want(m, INQUIRY_FOR_SIGNAL);
    }
    holdup_look(m, now_ns);
    if (answered & (INQUIRY_FOR_STALL | INQUIRY_FOR_SIGNAL | INQUIRY_FOR_HOLDUP)) {
        tell(m, answered, now_ns);
    }
}
