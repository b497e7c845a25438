/* progress.c - see progress.h. */
#include "node/engine/progress.h"

#include "hashing/base/hot.h"
#include "node/engine/dispatch.h"
#include "node/engine/engine.h"
#include "node/engine/inbox.h"
#include "node/engine/outbox.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

enum {
    BUSY_NS = 4000, /* between tasks the wire is looked at this often */
    LOOK_NS = CORE_USUAL_NS,
    CHORES_NS = 20000,
    SPIN_ROUNDS = 2,     /* what is waited for may be made on this very processor */
    YIELD_ROUNDS = 1500, /* about a millisecond: a large result's way is no reason to
                            sleep, from which the system wakes late */
    SPIN_ALONE_ROUNDS = 9000, /* as long: without the system they are shorter */
    SLEEP_NS_MIN = 50000,
    SLEEP_NS_MAX = 1000000,
    SLEEPS_PER_DOUBLING = 8,
    LOOKS_PER_SLEEP = 2, /* a wire may take in at one what it shows at the next */
    SLEEPER_NS_MAX = 20000000,
    HELPER_LATE_NS = 2000000,
    HELPER_SOON_NS = 400000,
    HELPER_PARKED_NS = 100000, /* the processor would do nothing else */
    WAY_NS = 10000,
    WAY_NS_MAX = 100000000,
    WAY_DEAR_NS = 1000000 /* ranks are back sooner: they wait for each other */
};

/* When the core wants a turn.  Steps change it, most of them by no more than it takes
 * to come round to it, and now and then what the host tells the core beside them. */
static bool turn_is_due(struct moot *m, uint64_t now_ns)
{
    if (m->engine.hurried || now_ns - m->engine.looked_ns >= LOOK_NS) {
        m->engine.hurried = false;
        m->engine.looked_ns = now_ns;
        core_press(m->core, m->engine.hooks->press(m));
        m->engine.turn_ns = core_deadline(m->core);
    }
    return m->engine.turn_ns <= now_ns;
}

/* Sends what there is to send. */
static void say(struct moot *m)
{
    if (!outbox_empty(m)) {
        outbox_flush(m);
    }
}

/* Lets the core do what is due, and sends what there is to send then. */
HOT static void act(struct moot *m, uint64_t now_ns)
{
    if (turn_is_due(m, now_ns)) {
        engine_step(m, &(struct core_event){.type = CORE_EV_TICK});
    }
    say(m);
}

/* What nobody waits for to the microsecond. */
static void do_chores(struct moot *m, uint64_t now_ns)
{
    if (now_ns < m->engine.chores_due_ns) {
        return;
    }
    m->engine.chores_due_ns = now_ns + CHORES_NS;
    const engine_chore_fn *chores = m->engine.hooks->chores;
    for (uint32_t i = 0; i < ENGINE_CHORES_MAX && chores[i] != NULL; i++) {
        chores[i](m, now_ns);
    }
    large_look(&m->store.payloads.large, now_ns);
}

/* What was queued since the last turn goes out before the wire is looked at.  What
 * arrived is answered before the clock is asked what else is due; and that is left to
 * the next turn if something can run now, or has ended, and who drives sees to it and
 * comes back. */
HOT static bool drive(struct moot *m, bool comes_back)
{
    uint64_t now_ns = engine_look_at_clock(m);
    uint64_t before_ns =
        atomic_load_explicit(&m->engine.driven_ns, memory_order_relaxed);
    atomic_store_explicit(&m->engine.driven_ns, now_ns, memory_order_relaxed);
    const bool seen = m->faults.plan != NULL || m->record.trace != NULL;
    if (seen && !m->engine.hooks->turn_begins(m, now_ns, before_ns)) {
        return false;
    }
    uint64_t ends = m->engine.end_count;
    act(m, now_ns);
    bool arrived = inbox_poll(m);
    if (arrived) {
        say(m);
    }
    do_chores(m, now_ns); /* after it: what the dead had said goes first */
    bool goes_on = (m->schedule.ready.live > 0 || m->schedule.elements != NULL) ||
                   m->engine.end_count != ends;
    if (arrived && !(comes_back && goes_on)) {
        act(m, now_ns);
    }
    if (seen) {
        m->engine.hooks->turn_ends(m, now_ns);
    }
    bool moved = m->engine.stirs != m->engine.stirs_seen || outbox_is_due(m);
    m->engine.stirs_seen = m->engine.stirs;
    return moved;
}

bool progress_drive(struct moot *m) { return drive(m, false); }

bool progress_drive_free(struct moot *m)
{
    return !m->engine.driven && drive(m, false);
}

bool progress_is_due(const struct moot *m)
{
    uint64_t driven_ns =
        atomic_load_explicit(&m->engine.driven_ns, memory_order_relaxed);
    return m->now_ns - driven_ns >= BUSY_NS;
}

HOT bool progress_drive_between(struct moot *m)
{
    bool busy = (m->schedule.ready.live > 0 || m->schedule.elements != NULL) &&
                !progress_is_due(m);
    return !busy && !m->engine.driven && drive(m, true);
}

void progress_send_free(struct moot *m)
{
    if (!m->engine.driven && m->faults.plan == NULL && !outbox_empty(m)) {
        outbox_flush(m);
    }
}

void progress_wake(struct moot *m)
{
    if (m->engine.sleepers > 0) {
        pthread_cond_broadcast(&m->engine.changed);
    }
}

/* The helper has to look after the driver again, if it did not. */
static void rouse(struct moot *m)
{
    if (m->engine.dozing) {
        __atomic_store_n(&m->engine.dozing, false, __ATOMIC_RELAXED);
        pthread_cond_signal(&m->engine.roused);
    }
}

void progress_hand_over(struct moot *m)
{
    rouse(m);
    if (m->engine.sleepers > 0 && !m->engine.driven) {
        pthread_cond_signal(&m->engine.changed);
    }
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

static uint64_t sooner(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void sleep_until(struct moot *m, uint64_t until_ns)
{
    struct timespec until = time_of(until_ns);
    m->engine.sleepers++;
    pthread_cond_timedwait(&m->engine.changed, &m->bond->lock, &until);
    engine_look_at_clock(m);
    m->engine.sleepers--;
}

/* `looks`: since it began to sleep. */
static uint64_t sleep_ns(uint32_t looks)
{
    uint32_t doublings = looks / LOOKS_PER_SLEEP / SLEEPS_PER_DOUBLING;
    uint64_t ns = doublings > 8 ? SLEEP_NS_MAX : (uint64_t)SLEEP_NS_MIN << doublings;
    return sooner(ns, SLEEP_NS_MAX);
}

/* Lets others have the processor.  Where what runs beside this rank computes, that
 * costs a slice of some milliseconds, and it is not tried again for longer each time.
 */
static void yield(struct moot *m)
{
    uint64_t begun_ns = clock_ns();
    engine_unlock(m);
    sched_yield();
    engine_lock(m);
    uint64_t back_ns = engine_look_at_clock(m);
    bool dear = back_ns - begun_ns >= WAY_DEAR_NS;
    m->engine.way_ns = dear ? sooner(2 * m->engine.way_ns + WAY_DEAR_NS, WAY_NS_MAX)
                            : later(m->engine.way_ns / 2, WAY_NS);
    m->engine.way_due_ns = back_ns + m->engine.way_ns;
}

/* Yields are dear where others compute: who yields is put behind them, and who sleeps
 * before them when it wakes. */
static bool yields_are_dear(const struct moot *m)
{
    return m->engine.way_ns > WAY_NS && clock_ns() < m->engine.way_due_ns;
}

static void breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* A yield gives what runs beside this rank, be it only for a moment, a whole slice of
 * some milliseconds, once in each wait: who has a processor to itself, and no other
 * threads that may compute, goes on spinning.  A newcomer that is being let in has no
 * lane yet. */
static bool is_alone(const struct moot *m)
{
    const struct lane *lanes = m->engine.lanes;
    return !m->group.oversubscribed && (lanes == NULL || lanes->next == NULL);
}

void progress_give_way(struct moot *m)
{
    if (!m->group.oversubscribed || m->engine.driven) {
        return;
    }
    if (engine_look_at_clock(m) < m->engine.way_due_ns) {
        return;
    }
    m->engine.driven = true;
    rouse(m);
    yield(m);
    m->engine.driven = false;
}

/* The driver's pause. */
static void drive_later(struct moot *m, struct idle *idle, uint64_t until_ns)
{
    bool alone = is_alone(m);
    uint32_t spins = alone ? SPIN_ALONE_ROUNDS : SPIN_ROUNDS;
    uint32_t awake = alone ? spins : spins + YIELD_ROUNDS;
    m->engine.driven = true;
    if (!alone && idle->rounds >= spins && idle->rounds < awake && yields_are_dear(m)) {
        idle->rounds = awake;
    }
    if (idle->rounds < awake) {
        rouse(m);
    }
    if (idle->rounds < spins) {
        engine_unlock(m);
        breathe();
        pthread_mutex_lock(&m->bond->lock); /* the turn that follows takes the time */
    } else if (idle->rounds < awake) {
        yield(m);
    } else if (idle->rounds % LOOKS_PER_SLEEP == 0) {
        if (engine_must_tell(m)) { /* they are called without the lock */
            rouse(m);
            engine_unlock(m);
            engine_lock(m);
        }
        __atomic_store_n(&m->engine.dozing, true, __ATOMIC_RELAXED);
        uint64_t now_ns = clock_ns();
        uint64_t wake_ns = sooner(now_ns + sleep_ns(idle->rounds - awake), until_ns);
        sleep_until(m, sooner(wake_ns, core_deadline(m->core)));
    }
    m->engine.driven = false;
}

void progress_idle(struct moot *m, struct idle *idle, uint64_t until_ns)
{
    if (m->engine.driven) {
        sleep_until(m, sooner(clock_ns() + SLEEPER_NS_MAX, until_ns));
        return;
    }
    drive_later(m, idle, until_ns);
    if (idle->rounds < UINT32_MAX) {
        idle->rounds++;
    }
}

/* --- The helper ----------------------------------------------------------------- */

/* Signals from outside go to threads of the program; those of a fault of its own come
 * to the thread that has it, and the program's handler for them is called. */
bool progress_start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                              SIGABRT, SIGSYS, SIGTRAP};
    sigset_t outside, before;
    sigfillset(&outside);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        sigdelset(&outside, own[i]);
    }
    pthread_sigmask(SIG_SETMASK, &outside, &before);
    bool started = pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* How long the helper lets the loop be, and when it drove it itself. */
struct standby {
    uint64_t ns, drove_ns;
};

/* Sleeps until the loop may be driven too late; true if it is. */
static bool is_late(struct moot *m, struct standby *standby)
{
    uint64_t driven_ns =
        atomic_load_explicit(&m->engine.driven_ns, memory_order_relaxed);
    if (driven_ns != standby->drove_ns) {
        standby->ns = HELPER_LATE_NS;
    }
    uint64_t now_ns = clock_ns(), late_ns = driven_ns + standby->ns;
    if (now_ns >= late_ns) {
        return true;
    }
    struct timespec rest = time_of(late_ns - now_ns);
    nanosleep(&rest, NULL);
    return false;
}

/* A peer that has asked for one thing asks for the next when it has it. */
static void help(struct moot *m, struct standby *standby)
{
    bool idles = m->schedule.running == 0 && lanes_any_parked(m);
    if (progress_drive(m)) {
        standby->ns = idles ? HELPER_PARKED_NS : HELPER_SOON_NS;
    } else {
        standby->ns = sooner(2 * standby->ns, HELPER_LATE_NS);
    }
    standby->drove_ns =
        atomic_load_explicit(&m->engine.driven_ns, memory_order_relaxed);
    m->engine.hooks->helped(m);
}

static void *helper_main(void *argument)
{
    struct moot *m = argument;
    struct standby standby = {.ns = HELPER_LATE_NS};
    bool stop = false;
    while (!stop) {
        bool late = is_late(m, &standby);
        if (!late && !__atomic_load_n(&m->engine.dozing, __ATOMIC_RELAXED) &&
            !__atomic_load_n(&m->engine.stop, __ATOMIC_RELAXED)) {
            continue;
        }
        engine_lock(m);
        stop = m->engine.stop;
        if (m->engine.dozing && !stop) {
            pthread_cond_wait(&m->engine.roused, &m->bond->lock);
        } else if (late && !stop) {
            help(m, &standby);
        }
        engine_unlock(m);
    }
    return NULL;
}

bool progress_start_helper(struct moot *m)
{
    m->engine.helping = progress_start_thread(&m->engine.helper, helper_main, m);
    return m->engine.helping;
}

void progress_join_helper(struct moot *m)
{
    if (m->engine.helping) {
        pthread_mutex_lock(&m->bond->lock);
        rouse(m);
        pthread_mutex_unlock(&m->bond->lock);
        pthread_join(m->engine.helper, NULL);
        m->engine.helping = false;
    }
}
