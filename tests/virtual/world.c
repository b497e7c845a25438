/* world.c - see world.h. */
#include "tests/virtual/world.h"

#include "node/schedule/fiber.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 64, TLS_BYTES_MAX = 4096, HELD_MAX = 16, OWN_BYTES_MAX = 256 };

enum thread_state {
    THREAD_READY,
    THREAD_YIELDS,
    THREAD_WAITS,
    THREAD_ENDED,
    THREAD_DEAD
};

struct thread {
    struct strand *strand;
    uint32_t number, rank;
    enum thread_state state;
    uint64_t clock_ns;    /* READY: when it goes on; WAITS: when it gives up */
    const void *place;    /* WAITS: what it waits for */
    uint64_t waits_since; /* a number: who waited first is woken first */
    bool woken;
    void *(*run)(void *);
    void *argument;
    void *specifics[KEYS_MAX];
    const void *held[HELD_MAX]; /* locks */
    uint32_t held_count;
    int saved_errno;
    unsigned char tls[TLS_BYTES_MAX];
};

static struct {
    struct world_options options;
    uint64_t random;
    struct thread *threads[WORLD_THREADS_MAX];
    uint32_t thread_count;
    struct thread *current;
    uint64_t horizon_ns; /* the least clock of another thread */
    uint64_t waits, switches, digest, interrupts;
    uint64_t kill_ns[WORLD_RANKS_MAX], died_ns[WORLD_RANKS_MAX],
        paused_ns[WORLD_RANKS_MAX], released_ns[WORLD_RANKS_MAX];
    bool dead[WORLD_RANKS_MAX];
    unsigned char *tls; /* of this thread of the process */
    size_t tls_size;
    unsigned char tls_outside[TLS_BYTES_MAX];
} world;

static void (*destroys[KEYS_MAX])(void *); /* a key is made once for all worlds */

/* Memory of the process that each rank has for itself, or whose it is off the world. */
static struct {
    unsigned char *memory;
    size_t size;
    uint32_t owner;
    unsigned char first[OWN_BYTES_MAX], of_rank[WORLD_RANKS_MAX][OWN_BYTES_MAX];
} own = {.owner = WORLD_NO_RANK};

/* --- Drawing ---------------------------------------------------------------------- */

static uint64_t mix(uint64_t word) /* Vigna's splitmix64 */
{
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

uint64_t world_draw(uint64_t below)
{
    world.random += UINT64_C(0x9e3779b97f4a7c15);
    return below > 0 ? (mix(world.random) >> 8) % below : 0;
}

void world_note(uint64_t what, uint64_t a, uint64_t b)
{
    uint64_t now_ns = world.current != NULL ? world.current->clock_ns : 0;
    uint64_t rank = world.current != NULL ? world.current->rank : 0;
    world.digest =
        mix(world.digest ^ mix(what ^ mix(a ^ mix(b ^ mix(now_ns * 16 + rank)))));
}

uint64_t world_digest(void) { return world.digest; }
uint64_t world_switches(void) { return world.switches; }

/* --- Thread-local memory ---------------------------------------------------------- */

static int find_tls(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_tls_data != NULL) {
            world.tls = info->dlpi_tls_data;
            world.tls_size = info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1; /* the program is the first of all */
}

static void swap_tls(unsigned char *out, const unsigned char *in)
{
    if (world.tls_size > 0) {
        memcpy(out, world.tls, world.tls_size);
        memcpy(world.tls, in, world.tls_size);
    }
}

/* --- Memory that ranks do not share ----------------------------------------------- */

void world_own(void *memory, size_t size)
{
    if (size > OWN_BYTES_MAX) {
        fprintf(stderr, "virtual: more memory of the process than there is room for\n");
        exit(2);
    }
    own.memory = memory;
    own.size = size;
    memcpy(own.first, memory, size);
}

static void forget_own(void)
{
    for (uint32_t rank = 0; rank < WORLD_RANKS_MAX; rank++) {
        memcpy(own.of_rank[rank], own.first, own.size);
    }
    own.owner = WORLD_NO_RANK;
}

static void swap_own(uint32_t rank)
{
    if (own.memory == NULL || own.owner == rank) {
        return;
    }
    if (own.owner != WORLD_NO_RANK) {
        memcpy(own.of_rank[own.owner], own.memory, own.size);
    }
    memcpy(own.memory, own.of_rank[rank], own.size);
    own.owner = rank;
}

/* --- Beginning -------------------------------------------------------------------- */

void world_begin(const struct world_options *options)
{
    memset(&world, 0, sizeof(world));
    world.options = *options;
    world.random = mix(options->seed * UINT64_C(0x9e3779b97f4a7c15) + 1);
    dl_iterate_phdr(find_tls, NULL);
    if (world.tls_size > TLS_BYTES_MAX) {
        fprintf(stderr, "virtual: more thread-local memory than there is room for\n");
        exit(2);
    }
    for (uint32_t rank = 0; rank < WORLD_RANKS_MAX; rank++) {
        world.kill_ns[rank] = WORLD_NEVER;
    }
    forget_own();
    account_begin();
}

static void thread_main(void *argument)
{
    struct thread *thread = argument;
    thread->run(thread->argument);
    for (int round = 0; round < 4; round++) {
        for (uint32_t key = 0; key < KEYS_MAX; key++) {
            void *value = thread->specifics[key];
            thread->specifics[key] = NULL;
            if (value != NULL && destroys[key] != NULL) {
                destroys[key](value);
            }
        }
    }
}

static uint32_t add_thread(uint32_t rank, uint64_t clock_ns, void *(*run)(void *),
                           void *argument)
{
    if (world.thread_count == WORLD_THREADS_MAX) {
        return WORLD_THREADS_MAX;
    }
    account_own_begin();
    struct thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL || (thread->strand = strand_new()) == NULL) {
        fprintf(stderr, "virtual: no memory for a thread\n");
        exit(2);
    }
    account_own_end();
    thread->number = world.thread_count;
    thread->rank = rank;
    thread->clock_ns = clock_ns;
    thread->run = run;
    thread->argument = argument;
    strand_begin(thread->strand, thread_main, thread);
    world.threads[world.thread_count++] = thread;
    world.horizon_ns = clock_ns < world.horizon_ns ? clock_ns : world.horizon_ns;
    return thread->number;
}

struct program {
    void (*run)(void *);
    void *argument;
};
static struct program programs[WORLD_RANKS_MAX];

static void *program_main(void *argument)
{
    const struct program *program = argument;
    program->run(program->argument);
    return NULL;
}

void world_add_rank(uint32_t rank, void (*program)(void *), void *argument)
{
    programs[rank] = (struct program){program, argument};
    add_thread(rank, WORLD_BEGIN_NS + world_draw(1000), program_main, &programs[rank]);
}

void world_kill_at(uint32_t rank, uint64_t at_ns)
{
    world.kill_ns[rank] = WORLD_BEGIN_NS + at_ns;
}

/* --- Who goes on ------------------------------------------------------------------ */

static bool may_go_on(const struct thread *thread)
{
    return thread->state == THREAD_READY || thread->state == THREAD_YIELDS ||
           (thread->state == THREAD_WAITS && thread->clock_ns != WORLD_NEVER);
}

/* The thread with the least clock; the horizon is that of the next one. */
static struct thread *next_thread(void)
{
    struct thread *next = NULL;
    uint64_t after_ns = WORLD_NEVER;
    for (uint32_t i = 0; i < world.thread_count; i++) {
        struct thread *thread = world.threads[i];
        if (!may_go_on(thread)) {
            continue;
        }
        if (thread->clock_ns < world.paused_ns[thread->rank]) {
            thread->clock_ns = world.paused_ns[thread->rank];
        }
        if (next == NULL || thread->clock_ns < next->clock_ns) {
            after_ns = next != NULL ? next->clock_ns : WORLD_NEVER;
            next = thread;
        } else if (thread->clock_ns < after_ns) {
            after_ns = thread->clock_ns;
        }
    }
    world.horizon_ns = after_ns;
    return next;
}

/* A lock that ranks share as they share this process, and would not as processes. */
static bool is_of_process(const void *lock)
{
    extern char __data_start[], _end[];
    const unsigned char *at = lock;
    if (own.memory != NULL && at >= own.memory && at < own.memory + own.size) {
        return false;
    }
    return (const char *)lock >= __data_start && (const char *)lock < _end;
}

static bool rank_may_die(uint32_t rank)
{
    for (uint32_t i = 0; i < world.thread_count; i++) {
        const struct thread *thread = world.threads[i];
        for (uint32_t k = 0; thread->rank == rank && k < thread->held_count; k++) {
            if (is_of_process(thread->held[k])) {
                return false;
            }
        }
    }
    return true;
}

static void bury_rank(uint32_t rank, uint64_t now_ns)
{
    world.dead[rank] = true;
    world.died_ns[rank] = now_ns;
    for (uint32_t i = 0; i < world.thread_count; i++) {
        if (world.threads[i]->rank == rank && world.threads[i]->state != THREAD_ENDED) {
            world.threads[i]->state = THREAD_DEAD;
        }
    }
}

static void run_thread(struct thread *thread)
{
    world.current = thread;
    thread->state = THREAD_READY;
    swap_own(thread->rank);
    swap_tls(world.tls_outside, thread->tls);
    errno = thread->saved_errno;
    bool ended = strand_run(thread->strand);
    thread->saved_errno = errno;
    swap_tls(thread->tls, world.tls_outside);
    if (ended) {
        thread->state = THREAD_ENDED;
        world_wake(thread, true);
    }
    world.current = NULL;
}

static bool all_ended(void)
{
    for (uint32_t i = 0; i < world.thread_count; i++) {
        if (world.threads[i]->state < THREAD_ENDED) {
            return false;
        }
    }
    return true;
}

enum world_end world_run(void)
{
    struct thread *thread;
    while ((thread = next_thread()) != NULL) {
        uint32_t rank = thread->rank;
        if (thread->clock_ns >= world.kill_ns[rank] && rank_may_die(rank)) {
            bury_rank(rank, thread->clock_ns);
            continue;
        }
        if (thread->clock_ns - WORLD_BEGIN_NS > world.options.deadline_ns) {
            return WORLD_LATE;
        }
        if (++world.switches > world.options.switches_max) {
            return WORLD_BUSY;
        }
        run_thread(thread);
    }
    return all_ended() ? WORLD_DONE : WORLD_STUCK;
}

void world_finish(void)
{
    for (uint32_t i = 0; i < world.thread_count; i++) {
        account_own_begin();
        strand_free(world.threads[i]->strand);
        free(world.threads[i]);
        account_own_end();
    }
    world.thread_count = 0;
    account_finish();
}

/* --- A thread's calls ------------------------------------------------------------- */

bool world_is_on(void) { return world.current != NULL; }
uint32_t world_rank(void)
{
    return world.current != NULL ? world.current->rank : WORLD_NO_RANK;
}
uint64_t world_now_ns(void)
{
    return world.current != NULL ? world.current->clock_ns : WORLD_BEGIN_NS;
}

bool world_is_dead(uint32_t rank, uint64_t *died_ns)
{
    if (world.dead[rank] && died_ns != NULL) {
        *died_ns = world.died_ns[rank];
    }
    return world.dead[rank];
}

/* The ranks' programs are the first threads, in their order. */
bool world_has_ended(uint32_t rank)
{
    return world.threads[rank]->state >= THREAD_ENDED;
}

static void leave(enum thread_state state)
{
    struct thread *thread = world.current;
    thread->state = state;
    strand_suspend(thread->strand);
}

static void let_others(void)
{
    if (world.current->clock_ns > world.horizon_ns &&
        world.current->clock_ns - world.horizon_ns > world.options.slack_ns) {
        leave(THREAD_READY);
    }
}

void world_spend_ns(uint64_t ns)
{
    world.current->clock_ns += ns;
    let_others();
}

void world_spend(void)
{
    uint64_t word = world_draw(UINT64_C(1) << 40);
    uint64_t ns = 1 + word % world.options.call_ns;
    if ((word >> 12) % 1000000 < world.options.interrupts) {
        ns += world_draw(world.options.interrupted_ns);
    }
    world_spend_ns(ns);
}

void world_sleep_until(uint64_t ns)
{
    if (ns > world.current->clock_ns) {
        world.current->clock_ns = ns;
    }
    leave(THREAD_READY);
}

void world_yield(void)
{
    world.current->clock_ns += 100 + world_draw(world.options.yield_ns);
    leave(THREAD_YIELDS);
}

void world_frame_at(uint32_t rank, uint64_t at_ns)
{
    for (uint32_t i = 0; i < world.thread_count; i++) {
        struct thread *thread = world.threads[i];
        if (thread->rank == rank && thread->state == THREAD_YIELDS &&
            thread->clock_ns > at_ns) {
            thread->clock_ns = at_ns;
            world.horizon_ns = at_ns < world.horizon_ns ? at_ns : world.horizon_ns;
        }
    }
}

void world_pause_rank(uint64_t ns)
{
    world.paused_ns[world.current->rank] = world.current->clock_ns + ns;
    leave(THREAD_READY);
}

_Noreturn void world_die(void)
{
    bury_rank(world.current->rank, world.current->clock_ns);
    for (;;) {
        leave(THREAD_DEAD);
    }
}

uint32_t world_thread_begin(void *(*run)(void *), void *argument)
{
    uint64_t clock_ns = world.current->clock_ns + 5000 + world_draw(50000);
    return add_thread(world.current->rank, clock_ns, run, argument);
}

void world_thread_join(uint32_t number)
{
    while (world.threads[number]->state != THREAD_ENDED) {
        (void)world_wait(world.threads[number], WORLD_NEVER);
    }
}

bool world_wait(const void *place, uint64_t until_ns)
{
    struct thread *thread = world.current;
    uint64_t now_ns = thread->clock_ns;
    thread->place = place;
    thread->woken = false;
    thread->waits_since = ++world.waits;
    thread->clock_ns = until_ns > now_ns ? until_ns : now_ns;
    leave(THREAD_WAITS);
    thread->place = NULL;
    return thread->woken;
}

static struct thread *first_waiter(const void *place)
{
    struct thread *first = NULL;
    for (uint32_t i = 0; i < world.thread_count; i++) {
        struct thread *thread = world.threads[i];
        if (thread->state == THREAD_WAITS && thread->place == place &&
            (first == NULL || thread->waits_since < first->waits_since)) {
            first = thread;
        }
    }
    return first;
}

/* A wake takes as long as the system needs to bring a thread back. */
void world_wake(const void *place, bool all)
{
    struct thread *thread;
    while ((thread = first_waiter(place)) != NULL) {
        uint64_t now_ns =
            world.current->clock_ns + 500 + world_draw(world.options.yield_ns);
        thread->woken = true;
        thread->state = THREAD_READY;
        thread->clock_ns = now_ns < thread->clock_ns ? now_ns : thread->clock_ns;
        if (thread->clock_ns < world.horizon_ns) {
            world.horizon_ns = thread->clock_ns;
        }
        if (!all) {
            return;
        }
    }
}

void **world_specific(uint32_t key) { return &world.current->specifics[key]; }

void world_key(uint32_t key, void (*destroy)(void *))
{
    if (key >= KEYS_MAX) {
        fprintf(stderr, "virtual: more keys than there is room for\n");
        exit(2);
    }
    destroys[key] = destroy;
}

void world_holds(const void *lock, int change)
{
    struct thread *thread = world.current;
    uint64_t *released_ns = &world.released_ns[thread->rank];
    if (change < 0 && *released_ns < thread->clock_ns) {
        *released_ns = thread->clock_ns;
    } else if (change > 0 && *released_ns > thread->clock_ns) {
        thread->clock_ns = *released_ns;
    }
    if (change > 0 && thread->held_count < HELD_MAX) {
        thread->held[thread->held_count++] = lock;
    }
    /* A kernel may give back on one thread what it took on another. */
    for (uint32_t i = 0; change < 0 && i < thread->held_count; i++) {
        if (thread->held[i] == lock) {
            thread->held[i] = thread->held[--thread->held_count];
            return;
        }
    }
}

void world_tell(void)
{
    static const char *const states[] = {"goes on", "has yielded", "waits", "ended",
                                         "dead"};
    for (uint32_t i = 0; i < world.thread_count; i++) {
        const struct thread *thread = world.threads[i];
        fprintf(stderr, "  thread %u of rank %u %s, %.6f s, locks held: %u\n",
                (unsigned)thread->number, (unsigned)thread->rank, states[thread->state],
                thread->clock_ns == WORLD_NEVER
                    ? -1.0
                    : (double)(thread->clock_ns - WORLD_BEGIN_NS) * 1e-9,
                (unsigned)thread->held_count);
    }
}
