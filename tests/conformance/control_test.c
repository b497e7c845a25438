/* control_test.c - cancelling at every moment of a task's life; priorities; retries.
 *
 * A row of `moments` says what the victim is doing when somebody cancels it; each is
 * played with its owner as the one who cancels and with another rank.  The victim's
 * owner is rank 0, which stands in a gate (a kernel that waits) wherever the victim
 * must not begin by itself; another rank opens it when it has seen the end.  So nothing
 * here depends on time, except how long a broken runtime is waited for.
 */
#include "tests/conformance/kernels.h"

enum { VICTIM = RELAY + 1, PATIENT, STUBBORN, ALARM_S = 20, SALTS_MAX = 4096 };
#define SOON MOOT_SECONDS(ALARM_S)

static atomic_int victim_runs, kernels_begun;
static atomic_bool seen, told_kernel;
static atomic_uint round_number; /* victims of each round are other tasks */

static int victim(moot_call *call, void *user)
{
    (void)user;
    victim_runs++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void await_cancel(moot_call *call)
{
    kernels_begun++;
    for (int ms = 0; !moot_call_cancelled(call) && ms < ALARM_S * 1000; ms++) {
        nap_ms(1);
    }
    told_kernel = moot_call_cancelled(call);
}

static int patient(moot_call *call, void *user)
{
    (void)user;
    await_cancel(call);
    return MOOT_ERR_CANCELLED;
}

static int stubborn(moot_call *call, void *user)
{
    (void)user;
    await_cancel(call);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void control_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, VICTIM, "victim", victim, 0);
    add_kernel(seat, PATIENT, "patient", patient, 0);
    add_kernel(seat, STUBBORN, "stubborn", stubborn, 0);
}

/* --- Saying what there is -------------------------------------------------------- */

static moot_task spawn_spec(struct seat *seat, const moot_task_spec *spec)
{
    moot_task task = {0};
    EXPECT(seat, moot_task_spawn(seat->m, spec, &task), MOOT_OK);
    return task;
}

static moot_task_spec spec_of(struct seat *seat, int kernel, const uint64_t *salt)
{
    return (moot_task_spec){.kernel = seat->kernels[kernel],
                            .args = salt,
                            .args_size = sizeof(*salt),
                            .label = "victim"};
}

static moot_task find(struct seat *seat, const moot_task_spec *spec)
{
    moot_hash hash = {0};
    moot_task task = {0};
    EXPECT(seat, moot_spec_hash(seat->m, spec, &hash), MOOT_OK);
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    return task;
}

static moot_task_info info_of(struct seat *seat, moot_task task)
{
    moot_task_info info = {.owner = -1};
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    return info;
}

/* A salt with which rank 0 chairs the victim. */
static uint64_t salt_for_0(struct seat *seat, int kernel)
{
    uint64_t salt = (uint64_t)round_number * SALTS_MAX;
    for (int i = 0; i < SALTS_MAX; i++, salt++) {
        moot_task_spec spec = spec_of(seat, kernel, &salt);
        moot_task task = find(seat, &spec);
        int chair = info_of(seat, task).chair;
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        if (chair == 0) {
            return salt;
        }
    }
    CHECK(seat, !"some task must be chaired by rank 0");
    return salt;
}

static moot_task gates[SEATS_MAX][2]; /* of the round, by rank; 0: none */

/* No gate is closed again before who stood in it has left. */
static void end_round(struct seat *seat)
{
    meet(seat);
    gate_open = true;
    for (int i = 0; i < 2 && gates[seat->rank][i].id != 0; i++) {
        (void)moot_task_wait(seat->m, gates[seat->rank][i], SOON); /* or cancelled */
        gates[seat->rank][i].id = 0;
    }
}

static void begin_round(struct seat *seat)
{
    meet(seat);
    if (seat->rank == 0) {
        victim_runs = kernels_begun = 0;
        seen = told_kernel = false;
        gate_open = false;
        round_number++;
    }
    meet(seat);
}

/* Rank 0 stands in kernels, with both of its threads, until another opens the gate. */
static moot_task spawn_gate(struct seat *seat)
{
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t salt = 2 * (uint64_t)round_number + i;
        moot_task_spec spec = spec_of(seat, GATE, &salt);
        spec.owner = MOOT_ON(0);
        spec.label = "gate";
        gates[seat->rank][i] = spawn_spec(seat, &spec);
    }
    return gates[seat->rank][0];
}

/* Nobody else would; but what it cancels itself has ended at once. */
static void open_if_alone(struct seat *seat)
{
    if (seat->size == 1) {
        gate_open = true;
    }
}

/* All see the task end as `code`; whoever is no owner first. */
static void all_see(struct seat *seat, moot_task task, int code)
{
    open_if_alone(seat);
    if (seat->rank == seat->size - 1) {
        EXPECT(seat, moot_task_wait(seat->m, task, SOON), code);
        gate_open = true;
    }
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), code);
    if (code == MOOT_ERR_CANCELLED) {
        CHECK(seat, told(seat, "cancelled by rank"));
    }
}

/* --- Moments --------------------------------------------------------------------- */

static void cancel_if(struct seat *seat, int canceller, moot_task task)
{
    if (seat->rank == canceller) {
        EXPECT(seat, moot_task_cancel(seat->m, task), MOOT_OK);
    }
}

/* Nobody has spawned it yet; pinned: who lacks it cannot even know its chair. */
static void unspawned(struct seat *seat, int canceller, bool pinned)
{
    uint64_t salt = salt_for_0(seat, VICTIM);
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    if (pinned) {
        spec.owner = MOOT_ON(0);
    }
    (void)spawn_gate(seat);
    moot_task early = find(seat, &spec);
    cancel_if(seat, canceller, early);
    for (int ms = 0; seat->rank == 0 && !pinned && ms < ALARM_S * 1000; ms++) {
        if (info_of(seat, early).cancelled_by >= 0) {
            break;
        }
        nap_ms(1);
    }
    meet(seat);
    moot_task task = spawn_spec(seat, &spec);
    all_see(seat, task, MOOT_ERR_CANCELLED);
    CHECK(seat, victim_runs == 0);
}

static void unspawned_anywhere(struct seat *seat, int canceller)
{
    unspawned(seat, canceller, false);
}

static void unspawned_and_pinned(struct seat *seat, int canceller)
{
    unspawned(seat, canceller, true);
}

/* Rank 0 chairs it and never spawns it; who does asks for it before rank 0 blocks. */
static void being_voted(struct seat *seat, int canceller)
{
    if (seat->size == 1) {
        return;
    }
    uint64_t salt = salt_for_0(seat, VICTIM);
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    moot_task task = seat->rank != 0 ? spawn_spec(seat, &spec) : find(seat, &spec);
    cancel_if(seat, canceller, task);
    while (seat->rank == 0 && info_of(seat, task).cancelled_by < 0) {
        nap_ms(1);
    }
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_ERR_CANCELLED);
    meet(seat);
    CHECK(seat, victim_runs == 0);
}

static void waiting(struct seat *seat, int canceller)
{
    uint64_t salt = salt_for_0(seat, VICTIM);
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    moot_task blocker = spawn_gate(seat);
    spec.after = &blocker;
    spec.after_count = 1;
    moot_task task = spawn_spec(seat, &spec);
    cancel_if(seat, canceller, task);
    all_see(seat, task, MOOT_ERR_CANCELLED);
    CHECK(seat, victim_runs == 0);
}

static void ready(struct seat *seat, int canceller)
{
    uint64_t salt = salt_for_0(seat, VICTIM);
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    (void)spawn_gate(seat);
    moot_task task = spawn_spec(seat, &spec);
    meet(seat);
    cancel_if(seat, canceller, task);
    all_see(seat, task, MOOT_ERR_CANCELLED);
    CHECK(seat, victim_runs == 0);
}

/* Its kernel runs, on a worker of rank 0 (the knobs see to that). */
static void running(struct seat *seat, int canceller, int kernel, int code)
{
    uint64_t salt = salt_for_0(seat, kernel);
    moot_task_spec spec = spec_of(seat, kernel, &salt);
    moot_task task = spawn_spec(seat, &spec);
    for (int ms = 0; kernels_begun == 0 && ms < ALARM_S * 1000; ms++) {
        nap_ms(1);
    }
    cancel_if(seat, canceller, task);
    all_see(seat, task, code);
    CHECK(seat, told_kernel);
    if (code != MOOT_OK) {
        CHECK(seat, told(seat, "gave up"));
    }
}

static void running_and_gives_up(struct seat *seat, int canceller)
{
    running(seat, canceller, PATIENT, MOOT_ERR_CANCELLED);
}

static void running_and_goes_on(struct seat *seat, int canceller)
{
    running(seat, canceller, STUBBORN, MOOT_OK);
}

/* It has ended where it ran, and nobody else has its result yet. */
static void result_in_flight(struct seat *seat, int canceller)
{
    uint64_t salt = salt_for_0(seat, VICTIM);
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    moot_task task = spawn_spec(seat, &spec);
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_OK);
    }
    meet(seat);
    cancel_if(seat, canceller, task);
    all_see(seat, task, MOOT_OK);
    CHECK(seat, victim_runs == 1);
}

static void done(struct seat *seat, int canceller)
{
    uint64_t salt = salt_for_0(seat, VICTIM);
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    moot_task task = spawn_spec(seat, &spec);
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_OK);
    cancel_if(seat, canceller, task);
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_OK);
    meet(seat);
    CHECK(seat, victim_runs == 1);
}

static void (*const moments[])(struct seat *seat, int canceller) = {
    unspawned_anywhere,   unspawned_and_pinned, being_voted,      waiting, ready,
    running_and_gives_up, running_and_goes_on,  result_in_flight, done};

static void at_every_moment(struct seat *seat)
{
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        for (int other = 0; other < 2; other++) {
            begin_round(seat);
            moments[i](seat, other ? seat->size - 1 : 0);
            end_round(seat);
        }
    }
}

/* --- Many at a time, and what depends on them ------------------------------------ */

static moot_task spawn_labelled(struct seat *seat, uint64_t salt, const char *label,
                                const moot_task *after)
{
    moot_task_spec spec = spec_of(seat, VICTIM, &salt);
    spec.label = label;
    spec.after = after;
    spec.after_count = after != NULL;
    return spawn_spec(seat, &spec);
}

static void sets_and_labels(struct seat *seat)
{
    begin_round(seat);
    moot_task gate_task = spawn_gate(seat);
    moot_task set[3], step[2], other;
    for (uint64_t i = 0; i < 3; i++) {
        set[i] = spawn_labelled(seat, 100 + i, NULL, &gate_task);
    }
    step[0] = spawn_labelled(seat, 200, "step/1", &gate_task);
    step[1] = spawn_labelled(seat, 201, "step/2", &gate_task);
    other = spawn_labelled(seat, 300, "stem", &gate_task);
    if (seat->rank == seat->size - 1) {
        moot_task wrong[] = {set[0], {.id = set[0].id ^ UINT64_C(1) << 63}};
        EXPECT(seat, moot_task_cancel_all(seat->m, wrong, 2), MOOT_ERR_FOREIGN);
        EXPECT(seat, moot_task_cancel_all(seat->m, NULL, 1), MOOT_ERR_INVALID);
        EXPECT(seat, moot_task_cancel_label(seat->m, NULL), MOOT_ERR_INVALID);
        EXPECT(seat, moot_task_cancel_all(seat->m, set, 3), MOOT_OK);
        EXPECT(seat, moot_task_cancel_label(seat->m, "step/"), MOOT_OK);
        open_if_alone(seat);
        for (int i = 0; i < 3; i++) {
            EXPECT(seat, moot_task_wait(seat->m, set[i], SOON), MOOT_ERR_CANCELLED);
        }
        for (int i = 0; i < 2; i++) {
            EXPECT(seat, moot_task_wait(seat->m, step[i], SOON), MOOT_ERR_CANCELLED);
        }
        gate_open = true;
    }
    EXPECT(seat, moot_task_wait_all(seat->m, set, 3, SOON), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_wait_all(seat->m, step, 2, SOON), MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_wait(seat->m, other, SOON), MOOT_OK);
    end_round(seat);
    CHECK(seat, victim_runs == 1);
}

static void everything(struct seat *seat)
{
    begin_round(seat);
    uint64_t base = 1000 * (uint64_t)round_number;
    moot_task gate_task = spawn_gate(seat), tasks[20];

    for (uint64_t i = 0; i < 20; i++) {
        tasks[i] = spawn_labelled(seat, base + i, i % 2 ? "odd" : NULL, &gate_task);
        if (i % 3 == 0) {
            EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
        }
    }
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_cancel_label(seat->m, ""), MOOT_OK);
    }
    open_if_alone(seat);
    for (uint64_t i = 0; i < 20; i++) {
        if (i % 3 != 0) {
            EXPECT(seat, moot_task_wait(seat->m, tasks[i], SOON), MOOT_ERR_CANCELLED);
        }
    }
    end_round(seat);
    CHECK(seat, victim_runs == 0);
}

/* The chain of causes ends with who did it. */
static void dependents_fail(struct seat *seat)
{
    begin_round(seat);
    uint64_t base = 1000 * (uint64_t)round_number;
    moot_task gate_task = spawn_gate(seat);
    moot_task first = spawn_labelled(seat, base, "first", &gate_task);
    moot_task second = spawn_labelled(seat, base + 1, "second", &first);
    moot_task third = spawn_sum(seat, &second, 1, base);
    cancel_if(seat, seat->size - 1, first);
    all_see(seat, first, MOOT_ERR_CANCELLED);
    EXPECT(seat, moot_task_wait(seat->m, third, SOON), MOOT_ERR_TASK_FAILED);
    char by[64];
    snprintf(by, sizeof(by), "it was cancelled by rank %d", seat->size - 1);
    CHECK(seat, told(seat, by) && told(seat, "'first'") && told(seat, "'second'"));
    CHECK(seat, victim_runs == 0);
    end_round(seat);
}

/* --- Priorities ------------------------------------------------------------------ */

enum { ROUTINES = 6 };
static atomic_int starts_count, start_of[ROUTINES + 1];

/* args: which of them. */
static int racer(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *args = moot_call_args(call, NULL);
    start_of[args[0]] = starts_count++;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = args[0];
    nap_ms(2);
    return MOOT_OK;
}

static void race_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, VICTIM, "racer", racer, 0);
}

/* Rank 0 stands in gates; behind them wait some routine tasks, and the one. */
static moot_task spawn_race(struct seat *seat)
{
    moot_task last = {0};
    begin_round(seat);
    if (seat->rank == 0) {
        starts_count = 0;
    }
    (void)spawn_gate(seat);
    for (uint64_t i = 0; i <= ROUTINES; i++) {
        const uint64_t args[2] = {i, round_number};
        last = spawn_spec(seat, &(moot_task_spec){.kernel = seat->kernels[VICTIM],
                                                  .args = args,
                                                  .args_size = sizeof(args),
                                                  .owner = MOOT_ON(0)});
    }
    return last;
}

static void end_race(struct seat *seat, moot_task consumer)
{
    meet(seat);
    gate_open = true;
    EXPECT(seat, moot_task_wait(seat->m, consumer, SOON), MOOT_OK);
    end_round(seat);
    CHECK(seat, start_of[ROUTINES] <= 1); /* rank 0 has two threads */
}

/* Its consumer, on another rank, is spawned when it stands in the queue already. */
static void inputs_inherit_priority(struct seat *seat)
{
    moot_task one = spawn_race(seat);
    meet(seat);
    uint64_t more = 0;
    moot_task middle = spawn_spec(seat, &(moot_task_spec){.kernel = seat->kernels[SUM],
                                                          .args = &more,
                                                          .args_size = sizeof(more),
                                                          .inputs = &one,
                                                          .input_count = 1});
    more = round_number;
    moot_task urgent =
        spawn_spec(seat, &(moot_task_spec){.kernel = seat->kernels[SUM],
                                           .args = &more,
                                           .args_size = sizeof(more),
                                           .inputs = &middle,
                                           .input_count = 1,
                                           .owner = MOOT_ON(seat->size - 1),
                                           .priority = 5});
    end_race(seat, urgent);
}

/* Rank 0 never spawns what takes it: it hears how urgent that is with the motion, when
 * its only thread that runs kernels stands at the gate. */
static void a_motion_brings_the_priority(struct seat *seat)
{
    if (seat->size == 1) {
        return;
    }
    moot_task one = spawn_race(seat);
    if (seat->rank == seat->size - 1) {
        while (gates_standing == 0) {
            nap_ms(1);
        }
        uint64_t more = round_number;
        one = spawn_spec(seat, &(moot_task_spec){.kernel = seat->kernels[SUM],
                                                 .args = &more,
                                                 .args_size = sizeof(more),
                                                 .inputs = &one,
                                                 .input_count = 1,
                                                 .owner = MOOT_ON(seat->size - 1),
                                                 .priority = 5});
        EXPECT(seat, moot_task_wait(seat->m, one, MOOT_MILLISECONDS(300)),
               MOOT_ERR_TIMEOUT);
    }
    end_race(seat, one);
}

/* --- Retries --------------------------------------------------------------------- */

enum { FLAKY = RELAY + 1, STEADFAST, SLEEPER };
static atomic_int flaky_runs;

/* args: how often it fails, and a salt. */
static int flaky(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *args = moot_call_args(call, NULL);
    int run = ++flaky_runs;
    if ((uint64_t)run <= args[0]) {
        return moot_call_fail(call, 7, "the pump is dry");
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void add_flaky(struct seat *seat, int index, const char *name, uint32_t retries,
                      moot_duration backoff)
{
    const moot_kernel kernel = {
        .name = name, .fn = flaky, .retries = retries, .retry_backoff = backoff};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[index]),
           MOOT_OK);
}

static void retry_kernels(struct seat *seat)
{
    kernels(seat);
    add_flaky(seat, FLAKY, "flaky", 3, MOOT_MILLISECONDS(1));
    add_flaky(seat, STEADFAST, "steadfast", 2, 0);
    add_flaky(seat, SLEEPER, "sleeper", 1, MOOT_SECONDS(3600));
}

static moot_task spawn_flaky(struct seat *seat, int kernel, uint64_t times)
{
    meet(seat);
    if (seat->rank == 0) {
        flaky_runs = 0;
        round_number++;
    }
    meet(seat);
    const uint64_t args[2] = {times, round_number};
    return spawn_spec(seat, &(moot_task_spec){.kernel = seat->kernels[kernel],
                                              .args = args,
                                              .args_size = sizeof(args)});
}

static void failures_are_retried(struct seat *seat)
{
    static atomic_int retried;
    if (seat->rank == 0) {
        retried = 0;
    }
    for (int kernel = FLAKY; kernel <= STEADFAST; kernel++) {
        moot_task task = spawn_flaky(seat, kernel, 2);
        EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_OK);
        meet(seat);
        CHECK(seat, flaky_runs == 3);
    }
    moot_task task = spawn_flaky(seat, FLAKY, 100);
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "failed 4 times, last: kernel 'flaky' failed with code 7: "
                           "the pump is dry"));
    retried += (int)stats_of(seat).tasks_retried;
    meet(seat);
    CHECK(seat, flaky_runs == 4 && retried == 2 + 2 + 3);
}

static void what_rests_can_be_cancelled(struct seat *seat)
{
    moot_task task = spawn_flaky(seat, SLEEPER, 1);
    for (int ms = 0; flaky_runs == 0 && ms < ALARM_S * 1000; ms++) {
        (void)moot_task_wait(seat->m, task, MOOT_MILLISECONDS(1));
    }
    meet(seat);
    if (seat->rank == seat->size - 1) {
        EXPECT(seat, moot_task_cancel(seat->m, task), MOOT_OK);
    }
    EXPECT(seat, moot_task_wait(seat->m, task, SOON), MOOT_ERR_CANCELLED);
    meet(seat);
    CHECK(seat, flaky_runs == 1);
}

static void wrong_retries_are_refused(struct seat *seat)
{
    moot_kernel kernel = {.name = "once with retries",
                          .fn = flaky,
                          .flags = MOOT_KERNEL_ONCE,
                          .retries = 1};
    moot_kernel_id id;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &id), MOOT_ERR_INVALID);
    kernel.flags = 0;
    kernel.retry_backoff = -1;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &id), MOOT_ERR_INVALID);
    kernel.retry_backoff = 0;
    kernel.retries = 1001;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &id), MOOT_ERR_INVALID);
    kernel.retries = 1000;
    kernel.flags = MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &id), MOOT_OK);
}

#define CONTROL_SCENE(fn, kernels_of)                                                  \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = kernels_of,                    \
        .after = closes_well, .knobs = knobs                                           \
    }

int main(int argc, char **argv)
{
    static const char *const knobs[] = {"MOOT_THREADS=1", NULL};
    const struct scene scenes[] = {
        CONTROL_SCENE(at_every_moment, control_kernels),
        CONTROL_SCENE(sets_and_labels, control_kernels),
        CONTROL_SCENE(everything, control_kernels),
        CONTROL_SCENE(dependents_fail, control_kernels),
        CONTROL_SCENE(inputs_inherit_priority, race_kernels),
        CONTROL_SCENE(a_motion_brings_the_priority, race_kernels),
        CONTROL_SCENE(failures_are_retried, retry_kernels),
        CONTROL_SCENE(what_rests_can_be_cancelled, retry_kernels),
        CONTROL_SCENE(wrong_retries_are_refused, retry_kernels),
    };
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
