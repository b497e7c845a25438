/* holdup.c - see holdup.h. */
#include "node/explain/holdup.h"
#include "node/schedule/call_frame.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/engine/report_queue.h"
#include "node/explain/overrun.h"
#include "node/explain/snapshot_query.h"
#include "node/explain/stall.h"
#include "node/record/trace.h"
#include "node/tasks/task.h"

#include <time.h>
#include <unistd.h>

/* Being asked counts for so many MOOT_STALL. */
enum { ASKED_STALLS = 2 };

/* --- What this rank is asked about ------------------------------------------------ */

/* Since when some thread of the program has been parked or in its own code, which it is
 * from the beginning if none has called; CORE_NEVER: none is. */
static uint64_t away_since(const struct moot *m, bool parked_only)
{
    uint64_t since_ns = CORE_NEVER;
    bool any = false;
    for (const struct lane *lane = m->engine.lanes; lane != NULL; lane = lane->next) {
        bool parked = lane->state == CORE_LANE_PARKED && lane->parked;
        bool runs = lane->state == CORE_LANE_RUNNING && lane->call == NULL;
        bool counts = lane->number != LANE_NO_NUMBER;
        any |= counts;
        if (counts && (parked || (runs && !parked_only)) && lane->seen_ns < since_ns) {
            since_ns = lane->seen_ns;
        }
    }
    return any || parked_only ? since_ns : m->opened_ns;
}

void holdup_look(struct moot *m, uint64_t now_ns)
{
    struct moot_explain *explain = &m->explain;
    if (explain->asked_ns == 0 || now_ns < explain->holdup_due_ns) {
        return;
    }
    uint64_t stall_ns = (uint64_t)m->knobs.stall_ns;
    uint64_t since_ns = away_since(m, false);
    if (m->knobs.stall_ns == KNOB_NEVER || m->engine.closing ||
        now_ns - explain->asked_ns > ASKED_STALLS * stall_ns) {
        explain->asked_ns = 0;
        return;
    }
    if (since_ns == CORE_NEVER || now_ns - since_ns < stall_ns) {
        explain->holdup_due_ns = now_ns + stall_ns / 4;
        return;
    }
    explain->asked_ns = 0;
    inquiry_want(m, INQUIRY_FOR_HOLDUP);
}

/* --- What it says ----------------------------------------------------------------- */

/* This rank is to act, or is the first of those that keep the moot from being quiet. */
static bool is_ours(const struct finding *finding, uint32_t rank)
{
    switch (finding->cause) {
    case CAUSE_NOBODY:
    case CAUSE_CYCLE:
        return rankset_next(&finding->busy, 0) == rank;
    case CAUSE_UNDECIDED:
    case CAUSE_AWAY:
    case CAUSE_OPEN:
    case CAUSE_ABSENT:
        return finding->culprit == rank;
    case CAUSE_DEAD:
    case CAUSE_SILENT:
    case CAUSE_LOST:
    case CAUSE_LEASE:
    case CAUSE_SLOW:
    case CAUSE_MOVING:
    case CAUSE_END:
        break;
    }
    return false;
}

static void add_holdup(struct text *text, const struct picture *picture,
                       const struct diagnosis *diagnosis)
{
    const Moot__Account *own = picture->seats[picture->rank].account;
    for (uint32_t i = 0; i < diagnosis->finding_count; i++) {
        const struct finding *finding = &diagnosis->findings[i];
        if (!is_ours(finding, picture->rank)) {
            continue;
        }
        if (text->length == 0) {
            text_add(text, "moot: rank %u of %u keeps others waiting: ", own->rank,
                     own->size);
            stall_add_program(text, own);
            text_add(text, "\n");
        }
        text_add(text, "  cause");
        stall_add_finding(text, picture, finding);
    }
}

void holdup_tell(struct moot *m, const struct picture *picture)
{
    struct text text = {0};
    struct diagnosis *diagnosis = diagnosis_new(picture);
    if (diagnosis != NULL) {
        add_holdup(&text, picture, diagnosis);
    }
    diagnosis_free(diagnosis);
    if (text.length > 0) {
        trace_stall(m, text_get(&text));
        report_add_text(m, text);
    }
    uint64_t stall_ns = (uint64_t)m->knobs.stall_ns;
    m->explain.holdup_pause_ns =
        m->explain.holdup_pause_ns > 0 ? 2 * m->explain.holdup_pause_ns : stall_ns;
    m->explain.holdup_due_ns = m->now_ns + m->explain.holdup_pause_ns;
}

/* --- The lookout ------------------------------------------------------------------ */

static void say_parked(struct moot *m, uint64_t since_ns)
{
    struct text text = {0};
    text_add(&text, "moot: rank %u of %u has been parked for ", m->group.rank,
             transport_group_ever(&m->group));
    text_add_duration(&text, m->now_ns - since_ns);
    text_add(&text,
             ", and nobody here serves other ranks meanwhile, since there is no helper "
             "thread (MOOT_PROGRESS): whoever needs something of this rank waits\n"
             "      next: moot_mpi_wait() serves them while it waits for a request of "
             "MPI, and moot_barrier() in the place of MPI_Barrier; or initialise MPI "
             "with MPI_THREAD_MULTIPLE, and leave MOOT_PROGRESS at `auto`\n");
    trace_stall(m, text_get(&text));
    report_add_text(m, text);
}

static void say_endless(struct moot *m, const struct moot_call *call)
{
    char digits[MOOT_HASH_TEXT_BYTES];
    const struct task *task = call->task;
    const char *label = task_label(task), *site = task_site(task);
    struct text text = {0};
    text_add(
        &text, "moot: rank %u of %u: task %.8s of kernel '%s'%s%s%s%s%s%s has run ",
        m->group.rank, transport_group_ever(&m->group),
        hash_format(&task->hash, digits), task->kernel->name, label != NULL ? " '" : "",
        label != NULL ? label : "", label != NULL ? "'" : "", site != NULL ? " (" : "",
        site != NULL ? site : "", site != NULL ? ")" : "");
    text_add(&text, "for ");
    text_add_duration(&text, call_ran_ns(call, m->now_ns));
    text_add(&text,
             ", and nobody here serves other ranks meanwhile, since there is no "
             "helper thread (MOOT_PROGRESS)\n      next: it may never return: "
             "look at its kernel (gdb -p %llu there)\n",
             (unsigned long long)getpid());
    trace_stall(m, text_get(&text));
    report_add_text(m, text);
}

/* The loop has not been driven for MOOT_STALL. */
static void look_out(struct moot *m)
{
    uint64_t stall_ns = (uint64_t)m->knobs.stall_ns, now_ns = engine_look_at_clock(m);
    uint64_t driven_ns =
        atomic_load_explicit(&m->engine.driven_ns, memory_order_relaxed);
    if (now_ns < driven_ns + stall_ns) {
        m->explain.holdup_pause_ns = 0;
        m->explain.holdup_due_ns = 0;
        return;
    }
    if (now_ns < m->explain.holdup_due_ns) {
        return;
    }
    uint64_t since_ns = away_since(m, true);
    const struct moot_call *endless = overrun_find(m);
    if (endless != NULL) {
        say_endless(m, endless);
    } else if (m->group.size > 1 && since_ns != CORE_NEVER &&
               now_ns - since_ns >= stall_ns) {
        say_parked(m, since_ns);
    } else {
        return;
    }
    m->explain.holdup_pause_ns =
        m->explain.holdup_pause_ns > 0 ? 2 * m->explain.holdup_pause_ns : stall_ns;
    m->explain.holdup_due_ns = now_ns + m->explain.holdup_pause_ns;
}

#define LOOKS_NS_MIN UINT64_C(50000000)
enum { LOOKS = 4 }; /* per MOOT_STALL */

/* Not engine_lock(), which may settle tasks, and so send: this thread touches no wire.
 */
static void *lookout_main(void *argument)
{
    struct moot *m = argument;
    uint64_t pause_ns = (uint64_t)m->knobs.stall_ns / LOOKS;
    pause_ns = pause_ns > LOOKS_NS_MIN ? pause_ns : LOOKS_NS_MIN;
    pthread_mutex_lock(&m->bond->lock);
    while (!m->engine.stop) {
        uint64_t until_ns = clock_ns() + pause_ns;
        struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                                 .tv_nsec = (long)(until_ns % 1000000000u)};
        pthread_cond_timedwait(&m->engine.roused, &m->bond->lock, &until);
        if (!m->engine.stop) {
            look_out(m);
        }
        if (reports_any(m)) {
            reports_unlock(m);
            pthread_mutex_lock(&m->bond->lock);
        }
    }
    pthread_mutex_unlock(&m->bond->lock);
    return NULL;
}

void lookout_start(struct moot *m)
{
    if (m->knobs.stall_ns != KNOB_NEVER) {
        m->explain.looking_out =
            progress_start_thread(&m->explain.lookout, lookout_main, m);
    }
}

void lookout_join(struct moot *m)
{
    if (m->explain.looking_out) {
        pthread_mutex_lock(&m->bond->lock);
        pthread_cond_broadcast(&m->engine.roused);
        pthread_mutex_unlock(&m->bond->lock);
        pthread_join(m->explain.lookout, NULL);
        m->explain.looking_out = false;
    }
}
