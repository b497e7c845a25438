/* threads_test.c - threads of one rank that use each other's handles, and that end or
 * are called back while another closes the context.
 */
#include "consensus/core_view.h"
#include "node/api/moot_watch.h"
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "node/explain/report.h"
#include "tests/conformance/kernels.h"

/* --- A handle that is released while another thread waits with it ----------------- */

struct waiter {
    struct seat *seat;
    moot_task tasks[2];
    int code;
    pthread_t thread;
};

static void *wait_for_both(void *argument)
{
    struct waiter *waiter = argument;
    waiter->code = moot_task_wait_all(waiter->seat->m, waiter->tasks, 2, MOOT_FOREVER);
    return NULL;
}

static void until_waited_for(struct seat *seat)
{
    for (bool waits = false; !waits; nap_ms(1)) {
        engine_lock(seat->m);
        waits = seat->m->schedule.program_waits > 0;
        engine_unlock(seat->m);
    }
}

static void until_forgotten(struct seat *seat, moot_hash hash)
{
    for (bool gone = false; !gone; nap_ms(1)) {
        engine_lock(seat->m);
        gone = core_forgotten(seat->m->core, &hash);
        engine_unlock(seat->m);
    }
}

/* The second of two has failed before the wait began, and is forgotten before the first
 * has ended: with the last handle of a scope that is closed. */
static void released_while_it_is_waited_for(struct seat *seat)
{
    enum { OTHERS = 8 };
    struct waiter waiter = {.seat = seat};
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    moot_task failed = spawn_u64(seat, FAIL, 1);
    moot_hash hash = hash_u64(seat, FAIL, 1);
    EXPECT(seat, moot_task_wait(seat->m, failed, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    gate_open = false;
    const moot_task_spec gate_spec = {.kernel = seat->kernels[GATE]};
    EXPECT(seat, moot_task_spawn(seat->m, &gate_spec, &waiter.tasks[0]), MOOT_OK);
    while (gates_standing == 0) { /* the worker has it */
        nap_ms(1);
    }
    waiter.tasks[1] = failed;
    pthread_create(&waiter.thread, NULL, wait_for_both, &waiter);
    until_waited_for(seat);
    EXPECT(seat, moot_task_release(seat->m, failed), MOOT_OK);
    until_forgotten(seat, hash);
    for (uint64_t i = 0; i < OTHERS; i++) { /* whose records could be its own */
        CHECK(seat, fetch_u64(seat, spawn_u64(seat, SQUARE, i)) == i * i);
    }
    gate_open = true;
    pthread_join(waiter.thread, NULL);
    CHECK(seat, waiter.code == MOOT_ERR_TASK_FAILED);
}

/* --- What is called back while the context closes --------------------------------- */

static atomic_bool called, returned;
static pthread_t caller;

static void take_long(void)
{
    called = true;
    nap_ms(300);
    returned = true;
}

static void until_called(void)
{
    while (!called) {
        nap_ms(1);
    }
}

static void has_returned(struct seat *seat)
{
    CHECK(seat, returned); /* before moot_close did */
    pthread_join(caller, NULL);
    closes_well(seat);
}

static void tell_slowly(void *user, const moot_event *event)
{
    (void)user, (void)event;
    take_long();
}

static void *leave_a_queue_open(void *argument)
{
    struct seat *seat = argument;
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    spawn_u64(seat, SQUARE, 5);
    return NULL;
}

/* The end of a thread spawns what its queue had, and tells that. */
static void a_thread_ends_while_the_context_closes(struct seat *seat)
{
    const moot_watch watch = {.kinds = MOOT_EVENT_SPAWNED, .fn = tell_slowly};
    moot_watch_id id;
    called = returned = false;
    EXPECT(seat, moot_watch_add(seat->m, &watch, &id), MOOT_OK);
    pthread_create(&caller, NULL, leave_a_queue_open, seat);
    until_called();
}

static void report_slowly(void *user, const char *text)
{
    (void)user, (void)text;
    take_long();
}

static void *leave_a_report(void *argument)
{
    struct seat *seat = argument;
    CHECK(seat, engine_enter(seat->m) != NULL);
    report_add(seat->m, "moot: what this call has found\n");
    engine_leave(seat->m);
    return NULL;
}

static void a_call_reports_while_the_context_closes(struct seat *seat)
{
    called = returned = false;
    engine_lock(seat->m);
    seat->m->engine.report = report_slowly;
    engine_unlock(seat->m);
    pthread_create(&caller, NULL, leave_a_report, seat);
    until_called();
}

/* --- A queue's function that comes back on another thread --------------------------
 */

enum { PATIENT = RELAY + 1 };

struct delay {
    moot_call *call;
    moot_task child;
};

static atomic_bool patient_is_over;

static int keep(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                void *state)
{
    (void)queue, (void)tickets, (void)count, (void)state;
    return MOOT_OK;
}

static int wait_and_fail(moot_queue *queue, void *state)
{
    struct delay *delay = state;
    (void)queue;
    int error = moot_call_wait(delay->call, delay->child, NULL, NULL);
    return error == MOOT_OK ? 77 : error;
}

/* Its wait begins when that of the thread which runs it is over, so that another lets
 * it go on. */
static int patient(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const pid_t self = gettid();
    struct delay delay = {.call = call};
    moot_queue_custom custom = {
        .name = "patient", .submit = keep, .close = wait_and_fail, .user = &delay};
    uint64_t x = 9;
    const moot_task_spec past = {.kernel = seat->kernels[SQUARE],
                                 .args = &x,
                                 .args_size = sizeof(x),
                                 .flags = MOOT_TASK_NO_QUEUE};
    const moot_task_spec kept = {.kernel = seat->kernels[EMPTY]};
    moot_task child;
    int error = moot_queue_open_custom(seat->m, &custom);
    if (error == MOOT_OK) {
        error = moot_call_spawn(call, &past, &delay.child);
    }
    if (error == MOOT_OK) {
        error = moot_call_spawn(call, &kept, &child);
    }
    nap_ms(100);
    if (error == MOOT_OK) {
        error = moot_queue_close(seat->m);
    }
    bool *results = moot_call_output(call, 3 * sizeof(*results));
    results[0] = error == MOOT_ERR_KERNEL_CODE;
    results[1] = strstr(moot_last_error(seat->m), "'patient'") != NULL;
    results[2] = gettid() != self;
    patient_is_over = true;
    return moot_call_wait(call, child, NULL, NULL);
}

static void a_queue_comes_back_on_another_thread(struct seat *seat)
{
    const moot_kernel kernel = {.name = "patient", .fn = patient, .user = seat};
    const moot_task_spec gate_spec = {.kernel = seat->kernels[GATE]};
    moot_task gate, task;
    const void *data = NULL;
    gate_open = patient_is_over = false;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[PATIENT]),
           MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &gate_spec, &gate), MOOT_OK);
    while (gates_standing == 0) { /* the worker has it */
        nap_ms(1);
    }
    const moot_task_spec spec = {.kernel = seat->kernels[PATIENT]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_MILLISECONDS(20)),
           MOOT_ERR_TIMEOUT);
    gate_open = true;
    while (!patient_is_over) {
        nap_ms(1);
    }
    CHECK(seat, told(seat, "timeout")); /* this thread's last error is its own */
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL), MOOT_OK);
    for (int i = 0; data != NULL && i < 3; i++) {
        CHECK(seat, ((const bool *)data)[i]);
    }
}

/* --- All at once ------------------------------------------------------------------ */

enum { MATES = 4, SLOTS = 24, STEPS = 600 };

struct mate {
    struct seat *seat;
    uint64_t random;
    pthread_t thread;
};

/* Handles that all threads of a rank use, released or not. */
static atomic_uint_fast64_t slots[SEATS_MAX][SLOTS];
static struct mate mates[SEATS_MAX][MATES];
static atomic_int at_the_end[SEATS_MAX];

static uint64_t draw(struct mate *mate, uint64_t below)
{
    mate->random ^= mate->random << 13; /* xorshift64 (Marsaglia, 2003) */
    mate->random ^= mate->random >> 7;
    mate->random ^= mate->random << 17;
    return (mate->random >> 20) % below;
}

static moot_task any_task(struct mate *mate)
{
    return (moot_task){slots[mate->seat->rank][draw(mate, SLOTS)]};
}

/* Others may have released a handle, or cancelled its task, and nobody else need have
 * spawned that. */
static void check_code(struct seat *seat, int code)
{
    static const int fine[] = {MOOT_OK,
                               MOOT_ERR_STALE,
                               MOOT_ERR_TIMEOUT,
                               MOOT_ERR_CANCELLED,
                               MOOT_ERR_TASK_FAILED,
                               MOOT_ERR_SCOPE_CLOSED,
                               MOOT_ERR_NOT_HELD};
    size_t i = 0;
    while (i < sizeof(fine) / sizeof(*fine) && fine[i] != code) {
        i++;
    }
    if (i == sizeof(fine) / sizeof(*fine)) {
        EXPECT(seat, code, MOOT_OK);
    }
}

static void put(struct mate *mate, moot_task task)
{
    struct seat *seat = mate->seat;
    uint64_t id = atomic_exchange(&slots[seat->rank][draw(mate, SLOTS)], task.id);
    check_code(seat, moot_task_release(seat->m, (moot_task){id}));
}

static void spawn_one(struct mate *mate)
{
    static const int kinds[] = {SQUARE, SUM, SUM, BIG, SLOW, FAIL, TREE};
    struct seat *seat = mate->seat;
    int kind = kinds[draw(mate, sizeof(kinds) / sizeof(*kinds))];
    moot_task inputs[2] = {any_task(mate), any_task(mate)}, task;
    uint64_t value = draw(mate, kind == BIG ? 100000 : kind == SQUARE ? 64 : 3);
    const moot_task_spec spec = {.kernel = seat->kernels[kind],
                                 .args = &value,
                                 .args_size = sizeof(value),
                                 .inputs = inputs,
                                 .input_count = kind == SUM ? draw(mate, 3) : 0};
    int code = moot_task_spawn(seat->m, &spec, &task);
    check_code(seat, code);
    if (code == MOOT_OK) {
        put(mate, task);
    }
}

static void wait_for_some(struct mate *mate)
{
    struct seat *seat = mate->seat;
    moot_task tasks[3] = {any_task(mate), any_task(mate), any_task(mate)};
    moot_duration timeout = MOOT_MILLISECONDS((moot_duration)draw(mate, 3));
    size_t which, indices[3], done, size;
    const void *data;
    switch (draw(mate, 5)) {
    case 0:
        check_code(seat, moot_task_wait(seat->m, tasks[0], timeout));
        break;
    case 1:
        check_code(seat, moot_task_wait_all(seat->m, tasks, 3, timeout));
        break;
    case 2:
        check_code(seat, moot_task_wait_any(seat->m, tasks, 3, timeout, &which));
        break;
    case 3:
        check_code(seat,
                   moot_task_wait_some(seat->m, tasks, 3, timeout, indices, &done));
        break;
    default: /* another thread may release it: the data are not looked at */
        check_code(seat, moot_task_fetch(seat->m, tasks[0], timeout, &data, &size));
    }
}

static void spawn_in_region(struct mate *mate)
{
    struct seat *seat = mate->seat;
    char name[32];
    snprintf(name, sizeof(name), "%016llx", (unsigned long long)mate->random);
    uint64_t kind = draw(mate, 3);
    EXPECT(seat,
           kind == 0   ? moot_scope_open(seat->m, name)
           : kind == 1 ? moot_group_open(seat->m)
                       : moot_queue_open(seat->m, MOOT_QUEUE_BULK),
           MOOT_OK);
    for (uint64_t i = draw(mate, 6); i > 0; i--) {
        spawn_one(mate);
    }
    int code = kind == 0   ? moot_scope_close(seat->m)
               : kind == 1 ? moot_group_close(seat->m, MOOT_MILLISECONDS(1))
                           : moot_queue_close(seat->m);
    check_code(seat, code);
    if (kind == 1 && code == MOOT_ERR_TIMEOUT) {
        check_code(seat, moot_group_close(seat->m, MOOT_FOREVER));
    }
}

static void one_step(struct mate *mate)
{
    struct seat *seat = mate->seat;
    moot_task_info info;
    switch (draw(mate, 10)) {
    case 0:
        put(mate, (moot_task){0});
        break;
    case 1: /* others go on with it */
        check_code(seat, moot_task_release(seat->m, any_task(mate)));
        break;
    case 2:
        check_code(seat, moot_task_cancel(seat->m, any_task(mate)));
        break;
    case 3:
        check_code(seat, moot_task_info(seat->m, any_task(mate), &info));
        break;
    case 4:
        spawn_in_region(mate);
        break;
    case 5:
    case 6:
        wait_for_some(mate);
        break;
    default:
        spawn_one(mate);
    }
}

/* The context closes while it waits. */
static void *use_all(void *argument)
{
    struct mate *mate = argument;
    struct seat *seat = mate->seat;
    moot_hash nobodys = hash_u64(seat, SQUARE, 1000);
    moot_task never;
    for (int i = 0; i < STEPS; i++) {
        one_step(mate);
    }
    EXPECT(seat, moot_task_find(seat->m, &nobodys, &never), MOOT_OK);
    at_the_end[seat->rank]++;
    int code = moot_task_wait(seat->m, never, MOOT_FOREVER);
    if (code != MOOT_ERR_NOT_HELD) {
        EXPECT(seat, code, MOOT_ERR_CLOSED);
    }
    return NULL;
}

/* Every rank for itself: they agree about little. */
static void handles_are_shared(struct seat *seat)
{
    const char *seed = getenv("MOOT_TEST_SEED");
    struct mate *own = mates[seat->rank];
    at_the_end[seat->rank] = 0;
    for (int i = 0; i < SLOTS; i++) {
        slots[seat->rank][i] = 0;
    }
    for (int i = 0; i < MATES; i++) {
        uint64_t number = (uint64_t)(seat->rank * MATES + i + 1) +
                          (seed != NULL ? (uint64_t)atoll(seed) * 1000 : 0);
        own[i] = (struct mate){.seat = seat, .random = number * 0x9e3779b97f4a7c15u};
        pthread_create(&own[i].thread, NULL, use_all, &own[i]);
    }
    while (at_the_end[seat->rank] < MATES) {
        nap_ms(1);
    }
    nap_ms(20);
}

static void all_have_ended(struct seat *seat)
{
    for (int i = 0; i < MATES; i++) {
        pthread_join(mates[seat->rank][i].thread, NULL);
    }
    closes_well(seat);
}

/* --- All of them ------------------------------------------------------------------ */

static const char *const with_a_worker[] = {"MOOT_THREADS=1", NULL};
static const char *const small_window[] = {"MOOT_THREADS=1", "MOOT_WINDOW=32", NULL};

static const struct scene scenes[] = {
    SCENE(released_while_it_is_waited_for, .sizes = {1}, .knobs = with_a_worker),
    SCENE(a_queue_comes_back_on_another_thread, .sizes = {1}, .knobs = with_a_worker),
    {.name = "a_thread_ends_while_the_context_closes",
     .program = a_thread_ends_while_the_context_closes,
     .register_kernels = kernels,
     .after = has_returned,
     .sizes = {1}},
    {.name = "a_call_reports_while_the_context_closes",
     .program = a_call_reports_while_the_context_closes,
     .register_kernels = kernels,
     .after = has_returned,
     .sizes = {1}},
    {.name = "handles_are_shared",
     .program = handles_are_shared,
     .register_kernels = kernels,
     .after = all_have_ended,
     .knobs = small_window,
     .sizes = {1, 2}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
