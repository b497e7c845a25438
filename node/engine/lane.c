/* lane.c - see lane.h. */
#include "node/engine/lane.h"

#include "consensus/core_entry.h"
#include "hashing/base/hot.h"
#include "node/context/context.h"
#include "node/engine/dispatch.h"
#include "node/engine/engine.h"
#include "node/engine/lane_scope.h"
#include "node/tasks/board.h"

#include <stdlib.h>
#include <string.h>

/* What a thread has: its lanes in all contexts, and the error of its last moot_open. */
struct thread {
    struct lane *lanes;
    struct text error;
};

static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static bool thread_key_made;

/* The lane that this thread used last: most threads have one, and each call needs it.
 * A kernel may go on on another thread, so no function that lets go of the lock may
 * keep the place of this in a register: lane_of_thread() is never inlined.  Eight bytes
 * of what the loader sets aside for libraries that come late: no call finds them. */
static _Thread_local struct lane *latest __attribute__((tls_model("initial-exec")));

/* --- Bonds ---------------------------------------------------------------------- */

struct bond *bond_new(struct moot *m)
{
    struct bond *bond = calloc(1, sizeof(*bond));
    if (bond == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&bond->lock, NULL) != 0) {
        free(bond);
        return NULL;
    }
    bond->m = m;
    bond->references = 1;
    return bond;
}

void bond_drop(struct bond *bond)
{
    if (bond != NULL &&
        __atomic_sub_fetch(&bond->references, 1, __ATOMIC_ACQ_REL) == 0) {
        pthread_mutex_destroy(&bond->lock);
        free(bond);
    }
}

/* --- Threads -------------------------------------------------------------------- */

static void lane_unlink(struct moot *m, struct lane *lane)
{
    if (lane->prev != NULL) {
        lane->prev->next = lane->next;
    } else {
        m->engine.lanes = lane->next;
    }
    if (lane->next != NULL) {
        lane->next->prev = lane->prev;
    }
    lane->prev = lane->next = NULL;
}

static void call_all(const engine_lane_fn hooks[ENGINE_LANES_MAX], struct moot *m,
                     struct lane *lane)
{
    for (uint32_t i = 0; i < ENGINE_LANES_MAX && hooks[i] != NULL; i++) {
        hooks[i](m, lane);
    }
}

/* The thread ends while the context goes on. */
static void lane_end(struct moot *m, struct lane *lane)
{
    engine_end_batches(m);
    call_all(m->engine.hooks->lane_ends, m, lane);
    scope_close_all(m, lane);
    if (lane->number != LANE_NO_NUMBER) {
        lane_set_state(m, lane, CORE_LANE_ENDED);
        m->engine.lane_numbers[lane->number] = 0;
    }
    call_all(m->engine.hooks->lane_ended, m, lane);
    lane_unlink(m, lane);
}

/* By its own thread. */
static void lane_free(struct lane *lane)
{
    latest = latest == lane ? NULL : latest;
    struct bond *bond = lane->bond;
    pthread_mutex_lock(&bond->lock);
    if (bond->m != NULL) {
        struct moot *m = bond->m;
        __atomic_add_fetch(&m->engine.callers, 1, __ATOMIC_ACQ_REL);
        lane_end(m, lane);
        engine_leave(m);
    } else {
        pthread_mutex_unlock(&bond->lock);
    }
    bond_drop(bond);
    text_release(&lane->error);
    free(lane->hashes);
    free(lane->inputs);
    free(lane->entries);
    free(lane);
}

static void thread_end(void *argument)
{
    struct thread *thread = argument;
    while (thread->lanes != NULL) {
        struct lane *next = thread->lanes->next_of_thread;
        lane_free(thread->lanes);
        thread->lanes = next;
    }
    text_release(&thread->error);
    free(thread);
}

static void make_key(void)
{
    thread_key_made = pthread_key_create(&thread_key, thread_end) == 0;
}

/* NULL without memory, or if `make` is false and there is none. */
static struct thread *this_thread(bool make)
{
    pthread_once(&thread_key_once, make_key);
    if (!thread_key_made) {
        return NULL;
    }
    struct thread *thread = pthread_getspecific(thread_key);
    if (thread == NULL && make) {
        thread = calloc(1, sizeof(*thread));
        if (thread != NULL && pthread_setspecific(thread_key, thread) != 0) {
            free(thread);
            thread = NULL;
        }
    }
    return thread;
}

/* Lanes of contexts that have closed go when the thread opens or joins another. */
static void forget_closed(struct thread *thread)
{
    for (struct lane **link = &thread->lanes; *link != NULL;) {
        struct lane *lane = *link;
        pthread_mutex_lock(&lane->bond->lock);
        bool closed = lane->bond->m == NULL;
        pthread_mutex_unlock(&lane->bond->lock);
        if (closed) {
            *link = lane->next_of_thread;
            lane_free(lane);
        } else {
            link = &lane->next_of_thread;
        }
    }
}

void lane_forget_closed(void)
{
    struct thread *thread = this_thread(false);
    if (thread != NULL) {
        forget_closed(thread);
    }
}

static struct lane *lane_make(struct thread *thread, struct bond *bond)
{
    struct lane *lane = calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return NULL;
    }
    forget_closed(thread);
    lane->bond = bond;
    lane->of = bond->m;
    lane->number = LANE_NO_NUMBER;
    lane->state = CORE_LANE_RUNNING;
    lane->next_of_thread = thread->lanes;
    thread->lanes = lane;
    __atomic_add_fetch(&bond->references, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&bond->lock);
    lane->next = bond->m->engine.lanes;
    if (lane->next != NULL) {
        lane->next->prev = lane;
    }
    bond->m->engine.lanes = lane;
    pthread_mutex_unlock(&bond->lock);
    return lane;
}

struct lane *lane_look(const struct bond *bond)
{
    const struct thread *thread = this_thread(false);
    struct lane *lane = thread != NULL ? thread->lanes : NULL;
    while (lane != NULL && lane->bond != bond) {
        lane = lane->next_of_thread;
    }
    return lane;
}

const struct lane *lane_in_kernel(void)
{
    const struct thread *thread = this_thread(false);
    const struct lane *lane = thread != NULL ? thread->lanes : NULL;
    while (lane != NULL && lane->call == NULL) {
        lane = lane->next_of_thread;
    }
    return lane;
}

const char *lane_error(const struct moot *m)
{
    const struct thread *thread = this_thread(false);
    const struct lane *lane = thread != NULL ? thread->lanes : NULL; /* newest first */
    while (lane != NULL && lane->of != m) {
        lane = lane->next_of_thread;
    }
    return lane != NULL ? text_get(&lane->error) : "";
}

struct lane *lane_now(const struct moot *m, struct lane *lane)
{
    struct lane *now = lane_look(m->bond);
    return now != NULL ? now : lane;
}

HOT __attribute__((noinline)) struct lane *lane_of_thread(struct bond *bond)
{
    if (latest != NULL && latest->bond == bond) {
        return latest;
    }
    struct lane *lane = lane_look(bond);
    if (lane == NULL) {
        struct thread *thread = this_thread(true);
        lane = thread != NULL ? lane_make(thread, bond) : NULL;
    }
    latest = lane;
    return lane;
}

void lanes_leave(struct moot *m)
{
    while (m->engine.lanes != NULL) {
        call_all(m->engine.hooks->lane_left, m, m->engine.lanes);
        lane_unlink(m, m->engine.lanes);
    }
}

/* --- What the core hears -------------------------------------------------------- */

bool lanes_any_parked(const struct moot *m)
{
    const struct lane *lane = m->engine.lanes;
    while (lane != NULL && !lane->parked) {
        lane = lane->next;
    }
    return lane != NULL;
}

static uint32_t free_number(const struct moot *m)
{
    uint32_t number = 0;
    while (number < LIMIT_LANES && m->engine.lane_numbers[number] != 0) {
        number++;
    }
    return number;
}

int lane_enrol(struct moot *m, struct lane *lane)
{
    if (lane->number != LANE_NO_NUMBER) {
        return MOOT_OK;
    }
    uint32_t number = free_number(m);
    if (number == LIMIT_LANES) {
        return MOOT_ERR_LIMIT;
    }
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.lane = number;
    event.u.lane.state = CORE_LANE_RUNNING;
    int error = engine_step(m, &event);
    if (error == MOOT_OK) {
        lane->number = number;
        lane->state = CORE_LANE_RUNNING;
        m->engine.lane_numbers[number] = 1;
        board_add_outside(m, !lane->here);
    }
    return error != MOOT_OK && m->engine.fatal != 0 ? m->engine.fatal : error;
}

void lane_set_state(struct moot *m, struct lane *lane, enum core_lane_state state)
{
    if (lane->number == LANE_NO_NUMBER || lane->state == state) {
        return;
    }
    lane->state = state;
    lane->seen_ns = m->now_ns;
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.lane = lane->number;
    event.u.lane.state = state;
    engine_step(m, &event);
}

void lane_forget_stubs(struct lane *lane, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (lane->inputs[i] != NULL && core_is_stub(lane->inputs[i])) {
            lane->inputs[i] = NULL;
        }
    }
}

void lane_forget_inputs(struct lane *lane, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lane->inputs[i] = NULL;
    }
}

moot_hash lane_scope(const struct lane *lane)
{
    return lane->scope_depth > 0 ? lane->scopes[lane->scope_depth - 1] : (moot_hash){0};
}

/* --- Errors --------------------------------------------------------------------- */

int lane_fail(struct lane *lane, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_clear(&lane->error);
    text_add_args(&lane->error, format, args);
    va_end(args);
    return code;
}

void lane_name_call(struct lane *lane, const char *call)
{
    static const char begin[] = "moot_";
    const char *said = text_get(&lane->error);
    if (strncmp(said, begin, sizeof(begin) - 1) != 0) {
        struct text rest = {0};
        text_add(&rest, "%s", said);
        text_clear(&lane->error); /* in its place: a program may have it already */
        text_add(&lane->error, "%s: %s", call, text_get(&rest));
        text_release(&rest);
    }
}

int thread_fail(int code, const char *format, ...)
{
    struct thread *thread = this_thread(true);
    if (thread != NULL) {
        va_list args;
        va_start(args, format);
        text_clear(&thread->error);
        text_add_args(&thread->error, format, args);
        va_end(args);
    }
    return code;
}

int lane_refuse(const struct moot *m, int code, const char *call, const char *why)
{
    struct lane *lane = m != NULL ? lane_of_thread(m->bond) : NULL;
    return lane != NULL ? lane_fail(lane, code, "%s: %s", call, why)
                        : thread_fail(code, "%s: %s", call, why);
}

int lane_invalid(const struct moot *m, const char *call, const char *what)
{
    return lane_refuse(m, MOOT_ERR_INVALID, call,
                       m != NULL ? what : "the moot is NULL");
}

const char *thread_error(void)
{
    const struct thread *thread = this_thread(false);
    return thread != NULL ? text_get(&thread->error) : "";
}
