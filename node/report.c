/* report.c - see report.h; what a stall report says stands in stall.c. */
#include "report.h"

#include "hashing/identity.h"
#include "node/engine.h"
#include "node/stall.h"
#include "node/trace.h"
#include "node/usr1.h"
#include "node/wait.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void queue(struct moot *m, struct text text)
{
    if (m->report_count == m->report_room) {
        uint32_t room = m->report_room ? m->report_room * 2 : 4;
        struct text *grown = realloc(m->reports, room * sizeof(*grown));
        if (grown == NULL) {
            text_release(&text);
            return;
        }
        m->reports = grown;
        m->report_room = room;
    }
    m->reports[m->report_count++] = text;
}

void report_add(struct moot *m, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_add_args(&text, format, args);
    va_end(args);
    queue(m, text);
}

void report_to_stderr(void *user, const char *text)
{
    (void)user;
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, text, left);
        if (written <= 0) {
            return;
        }
        text += written;
        left -= (size_t)written;
    }
}

/* --- Divergence ----------------------------------------------------------------- */

static void add_side(struct text *text, const struct moot *m,
                     const struct message_side *side)
{
    static const struct rankset nobody;
    const struct rankset *set = side->ranks != NULL ? side->ranks : &nobody;
    char ranks[256];
    rankset_format(set, ranks, sizeof(ranks));
    text_add(text, "  rank%s %s: ", rankset_count(set) == 1 ? "" : "s", ranks);
    if (hash_is_zero(&side->hash)) {
        text_add(text, "spawned nothing more\n");
        return;
    }
    const struct task *task = core_user(m->core, &side->hash);
    task_describe_hash(text, &side->hash);
    if (task != NULL && task->kernel != NULL) {
        text_add(text, " of kernel '%s'", task->kernel->name);
    }
    if (task != NULL && task->label != NULL) {
        text_add(text, " '%s'", task->label);
    }
    text_add(text, " spawned at %s\n",
             side->site != NULL ? side->site : "an unknown place");
}

void report_divergence(struct moot *m, const struct message_diverged *diverged)
{
    struct text text = {0};
    text_add(&text,
             "moot: the ranks diverged (MOOT_DIVERGENCE=strict).  The first difference "
             "is spawn number %llu of lane %u:\n",
             (unsigned long long)diverged->position, diverged->lane);
    for (uint32_t i = 0; i < diverged->sides; i++) {
        add_side(&text, m, &diverged->side[i]);
    }
    engine_fail(m, MOOT_ERR_DIVERGED, "%s", text_get(&text));
    queue(m, text);
}

/* --- Stalls --------------------------------------------------------------------- */

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Since when the oldest wait has seen nothing happen; CORE_NEVER if none has. */
static uint64_t stalled_since(const struct moot *m, uint64_t now_ns)
{
    if ((m->waits == NULL && !m->closing) || m->adjourned) {
        return CORE_NEVER;
    }
    if (m->running > m->kernel_waits) {
        return now_ns; /* a kernel is at work here */
    }
    uint64_t oldest = m->closing ? m->closing_ns : CORE_NEVER;
    for (const struct wait *wait = m->waits; wait != NULL; wait = wait->next) {
        oldest = wait->since_ns < oldest ? wait->since_ns : oldest;
    }
    return later_of(oldest, m->ended_ns);
}

static void report_stall(struct moot *m, uint64_t now_ns)
{
    struct text text = {0};
    stall_compose(&text, m, now_ns);
    trace_stall(m, text_get(&text));
    queue(m, text);
}

void report_wait_begins(struct moot *m, uint64_t now_ns)
{
    if (m->knobs.stall_ns != KNOB_NEVER && m->stall_due_ns == CORE_NEVER) {
        m->stall_pause_ns = (uint64_t)m->knobs.stall_ns;
        m->stall_due_ns = now_ns + m->stall_pause_ns;
    }
}

static void look_at_stall(struct moot *m, uint64_t now_ns)
{
    uint64_t since_ns = stalled_since(m, now_ns);
    if (since_ns == CORE_NEVER) {
        m->stall_due_ns = CORE_NEVER;
        return;
    }
    uint64_t first_ns = (uint64_t)m->knobs.stall_ns;
    if (now_ns - since_ns < first_ns) { /* something happened meanwhile */
        m->stall_pause_ns = first_ns;
        m->stall_due_ns = since_ns + first_ns;
        return;
    }
    m->counts.stalls++;
    report_stall(m, now_ns);
    m->stall_pause_ns *= 2;
    m->stall_due_ns = now_ns + m->stall_pause_ns / 2;
    if (m->knobs.stall_abort && m->waits != NULL) {
        engine_fail_all(
            m, MOOT_ERR_STALLED,
            "rank %u stalled for longer than MOOT_STALL, and MOOT_STALL_ABORT "
            "ends the job; its report says who waits for what",
            m->group.rank);
    }
}

void report_look(struct moot *m, uint64_t now_ns)
{
    if (now_ns >= m->stall_due_ns && m->fatal == 0) {
        look_at_stall(m, now_ns);
    }
    if (usr1_count() != m->signals_seen) {
        m->signals_seen = usr1_count();
        report_stall(m, now_ns);
    }
}
