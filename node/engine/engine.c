/* engine.c - see engine.h. */
#include "node/engine/engine.h"

#include "hashing/base/hot.h"
#include "node/engine/dispatch.h"
#include "node/engine/inbox.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void engine_open(struct moot *m, const struct engine_hooks *hooks)
{
    for (uint32_t type = 0; type < ENGINE_OUTPUTS; type++) {
        assert(hooks->outputs[type] != NULL);
    }
    m->engine.hooks = hooks;
    clock_begin(&m->engine.clock);
    m->opened_ns = engine_look_at_clock(m);
}

bool engine_join(struct moot *m)
{
    m->engine.outbox = outbox_new(m->group.size);
    m->engine.inbox = inbox_new(&m->group);
    return m->engine.outbox != NULL && m->engine.inbox != NULL;
}

void engine_begin_closing(struct moot *m)
{
    m->engine.closing = true;
    m->engine.closing_ns = engine_look_at_clock(m);
}

void engine_end(struct moot *m) { m->engine.ended = true; }

const char *engine_closed_why(const struct moot *m)
{
    if (m->engine.ended) { /* and the context is there still */
        return "this rank has left the moot";
    }
    return m->service.asked_ns != 0 ? "this rank leaves, as it was asked to"
                                    : "this context is closing";
}

/* --- The lock ------------------------------------------------------------------- */

uint64_t engine_look_at_clock(struct moot *m)
{
    return m->now_ns = clock_look(&m->engine.clock, m->now_ns);
}

void engine_lock(struct moot *m)
{
    pthread_mutex_lock(&m->bond->lock);
    engine_look_at_clock(m);
    engine_settle(m);
}

static void tell_watches(struct moot *m)
{
    if (m->record.observe != NULL) {
        m->engine.hooks->tell_watches(m);
    }
}

bool engine_must_tell(const struct moot *m)
{
    return reports_any(m) ||
           (m->record.observe != NULL && m->engine.hooks->watch_is_due(m));
}

void engine_unlock(struct moot *m)
{
    tell_watches(m);
    if (reports_any(m)) {
        reports_unlock(m);
    } else {
        pthread_mutex_unlock(&m->bond->lock);
    }
}

HOT struct lane *engine_enter_untimed(struct moot *m)
{
    __atomic_add_fetch(&m->engine.callers, 1, __ATOMIC_ACQ_REL);
    struct lane *lane = lane_of_thread(m->bond);
    if (lane == NULL) {
        __atomic_sub_fetch(&m->engine.callers, 1, __ATOMIC_ACQ_REL);
        return NULL;
    }
    pthread_mutex_lock(&m->bond->lock);
    return lane;
}

HOT struct lane *engine_enter_unsettled(struct moot *m)
{
    struct lane *lane = engine_enter_untimed(m);
    if (lane != NULL) {
        lane->seen_ns = engine_look_at_clock(m);
    }
    return lane;
}

struct lane *engine_enter(struct moot *m)
{
    struct lane *lane = engine_enter_unsettled(m);
    if (lane != NULL) {
        engine_end_batches_for_call(m);
        if (m->service.goes) {
            m->engine.hooks->leaves(m, lane);
        }
    }
    return lane;
}

/* The program's functions are called while this thread counts as a caller: what they
 * were given may be gone once the context is closed. */
COLD static void tell_as_caller(struct moot *m)
{
    tell_watches(m);
    while (reports_any(m)) {
        reports_unlock(m);
        pthread_mutex_lock(&m->bond->lock);
    }
}

void engine_leave(struct moot *m)
{
    if (m->record.observe != NULL || reports_any(m)) {
        tell_as_caller(m);
    }
    /* Under the lock: who closes frees `m` once it sees no callers, and looks under it.
     */
    __atomic_sub_fetch(&m->engine.callers, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&m->bond->lock);
}

/* --- Steps ---------------------------------------------------------------------- */

void engine_carry_end(struct moot *m, const struct core_output *output)
{
    (void)output;
    m->engine.adjourned = true;
    progress_wake(m);
}

void engine_carry_unasked(struct moot *m, const struct core_output *output)
{
    (void)m;
    (void)output;
}

static inline void carry_one(struct moot *m, const struct core_output *output)
{
    assert((size_t)output->type < ENGINE_OUTPUTS);
    m->engine.hooks->outputs[output->type](m, output);
}

HOT static int step_one(struct moot *m, const struct core_event *event)
{
    struct core_outputs outputs;
    if (m->engine.silent) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = core_step(m->core, event, m->now_ns, &outputs);
    m->engine.hurried |= error != MOOT_OK || outputs.hurried;
    bool spawns = event->type == CORE_EV_REGISTER || event->type == CORE_EV_PRUNED;
    if (error == MOOT_ERR_NO_MEMORY && !spawns) {
        engine_starve(m, "no memory for the protocol's state");
    }
    for (size_t i = 0; error == MOOT_OK && i < outputs.count; i++) {
        carry_one(m, &outputs.items[i]);
    }
    return error;
}

HOT static void step_later(struct moot *m, const struct later *later)
{
    struct core_event event; /* the rest of it is of others */
    event.type = later->type;
    event.hash = later->hash;
    event.entry = later->entry;
    if (later->type == CORE_EV_DONE) {
        event.u.done.status = later->status;
        event.u.done.size = later->size;
        event.u.done.leaves = later->leaves;
    } else if (later->type == CORE_EV_UNNEED) {
        event.u.need.want = later->want;
        event.u.need.lane = later->lane;
        event.u.need.by_task = false;
    } else if (later->type == CORE_EV_LANE) {
        event.u.lane.lane = later->lane;
        event.u.lane.state = later->state;
    } else if (later->type == CORE_EV_ELEMENTS) {
        event.u.elements.places = later->places;
        event.u.elements.status = later->status;
    } else if (later->type == CORE_EV_ELEMENTS_WAIT) {
        event.u.elements_wait.count = later->size;
        event.u.elements_wait.reads = later->reads;
    } else { /* a TASK_WAIT that comes later is the end of one */
        event.u.task_wait.waiting = false;
    }
    int error = step_one(m, &event);
    assert(error == MOOT_OK || error == MOOT_ERR_NO_MEMORY);
    (void)error;
}

HOT static void step_laters(struct moot *m)
{
    while (m->engine.later_first < m->engine.later_count) {
        struct later later = m->engine.laters[m->engine.later_first++];
        step_later(m, &later);
    }
    m->engine.later_first = m->engine.later_count = 0;
}

int engine_step(struct moot *m, const struct core_event *event)
{
    assert(!m->engine.stepping);
    if (event->type != CORE_EV_REGISTER && event->type != CORE_EV_PRUNED) {
        engine_settle(m);
    }
    m->engine.stepping = true;
    int error = step_one(m, event);
    step_laters(m);
    m->engine.stepping = false;
    return error;
}

HOT void engine_later(struct moot *m, const struct later *later)
{
    if (!m->engine.stepping) {
        engine_settle(m);
        m->engine.stepping = true;
        step_later(m, later);
        step_laters(m);
        m->engine.stepping = false;
        return;
    }
    if (m->engine.later_count == m->engine.later_room) {
        size_t room = m->engine.later_room ? m->engine.later_room * 2 : 64;
        struct later *grown = realloc(m->engine.laters, room * sizeof(*grown));
        if (grown == NULL) {
            engine_starve(m, "no memory for an event");
            return;
        }
        m->engine.laters = grown;
        m->engine.later_room = room;
    }
    m->engine.laters[m->engine.later_count++] = *later;
}

void engine_drop_laters(struct moot *m)
{
    size_t kept = m->engine.later_first;
    for (size_t i = m->engine.later_first; i < m->engine.later_count; i++) {
        if (m->engine.laters[i].type == CORE_EV_LANE) {
            m->engine.laters[kept++] = m->engine.laters[i];
        }
    }
    m->engine.later_count = kept;
}

__attribute__((format(printf, 3, 0))) static void fail(struct moot *m, int code,
                                                       const char *format, va_list args)
{
    m->engine.fatal = code;
    m->engine.end_count++;
    text_add_args(&m->engine.fatal_story, format, args);
    m->engine.hooks->fails(m);
    progress_wake(m);
}

void engine_fail(struct moot *m, int code, const char *format, ...)
{
    if (m->engine.fatal == 0) {
        va_list args;
        va_start(args, format);
        fail(m, code, format, args);
        va_end(args);
    }
}

void engine_fail_all(struct moot *m, int code, const char *format, ...)
{
    if (m->engine.fatal == 0) {
        va_list args;
        va_start(args, format);
        fail(m, code, format, args);
        va_end(args);
        outbox_tell_end(m, code);
    }
}

void engine_end_alone(struct moot *m, int code, const char *format, ...)
{
    if (m->engine.fatal == 0) {
        va_list args;
        va_start(args, format);
        fail(m, code, format, args);
        va_end(args);
        outbox_tell_end(m, code);
        m->engine.silent = true;
        if (m->group.survives) {
            m->transport->ops->go_alone(m->transport);
        }
    }
}
