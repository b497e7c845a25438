/* registering_test.c - what the core takes of a task, and what is left if it takes
 * nothing; and which specs that a motion brings are taken.
 *
 * The program is linked with --wrap=engine_step: of the registrations some are refused
 * for want of memory, and all are counted.
 */
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/placement.h"
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "node/spawn/early_motions.h"
#include "node/spawn/spawn.h"
#include "node/tasks/kernel.h"
#include "tests/conformance/kernels.h"

enum { PORTABLE = RELAY + 1, CLASHING, CARRIED, CARRIED_ONCE, LATE };

static atomic_int refusals_left, registered; /* by the program itself */

int __real_engine_step(struct moot *m, const struct core_event *event);
int __wrap_engine_step(struct moot *m, const struct core_event *event);

int __wrap_engine_step(struct moot *m, const struct core_event *event)
{
    if (event->type == CORE_EV_REGISTER &&
        (event->u.reg->flags & CORE_TASK_ADOPTED) == 0) {
        registered++;
        if (refusals_left > 0) {
            refusals_left--;
            return MOOT_ERR_NO_MEMORY;
        }
    }
    return __real_engine_step(m, event);
}

static void portable_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, PORTABLE, "portable", square, MOOT_KERNEL_PORTABLE);
    add_kernel(seat, CLASHING, "clashing", square, MOOT_KERNEL_PORTABLE);
    add_kernel(seat, CARRIED, "carried", sum, MOOT_KERNEL_PORTABLE);
    add_kernel(seat, CARRIED_ONCE, "carried once", sum,
               MOOT_KERNEL_PORTABLE | MOOT_KERNEL_ONCE);
}

static moot_task_spec spec_of(struct seat *seat, int kernel, const uint64_t *x)
{
    return (moot_task_spec){
        .kernel = seat->kernels[kernel], .args = x, .args_size = sizeof(*x)};
}

static void await_square(struct seat *seat, moot_task task, uint64_t x)
{
    const void *data = NULL;
    size_t size;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_MILLISECONDS(5000), &data, &size),
           MOOT_OK);
    CHECK(seat, data != NULL && *(const uint64_t *)data == x * x);
}

/* Though the program has a handle of it, which a queue gave before. */
static void what_the_core_refuses_can_be_spawned_again(struct seat *seat)
{
    const uint64_t x = 5;
    moot_task_spec spec = spec_of(seat, PORTABLE, &x);
    moot_task task;
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    refusals_left = 1;
    EXPECT(seat, moot_queue_close(seat->m), MOOT_ERR_NO_MEMORY);
    refusals_left = 1;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_NO_MEMORY);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    CHECK(seat, registered == 3);
    await_square(seat, task, x);
}

/* As if a motion had brought it: the kernel of that name with argument x, said to be
 * `hash`.  A pure task's chair is the only rank. */
static void adopt(struct seat *seat, const char *kernel, const uint64_t *x,
                  const moot_hash *hash)
{
    const struct message_spec spec = {
        .kernel_name = kernel, .kernel_version = 1, .args = x, .args_size = sizeof(*x)};
    struct message motion = {.type = MESSAGE_MOTION, .hash = *hash};
    motion.u.motion.spec = &spec;
    engine_lock(seat->m);
    spawn_adopt(seat->m, &motion);
    engine_unlock(seat->m);
}

static bool is_adopted(struct seat *seat, const moot_hash *hash)
{
    engine_lock(seat->m);
    const struct task *task = core_user(seat->m->core, hash);
    bool adopted = task != NULL && task->held && task->adopted;
    engine_unlock(seat->m);
    return adopted;
}

static void only_what_it_says_it_is_is_adopted(struct seat *seat)
{
    static const struct {
        const char *name;  /* that the spec says */
        int kernel;        /* in the hash */
        uint64_t says, is; /* the argument, and that in the hash */
        bool adopted;
    } rows[] = {
        {"portable", PORTABLE, 3, 3, true},  {"portable", PORTABLE, 4, 5, false},
        {"portable", CLASHING, 6, 6, false}, {"clashing", CLASHING, 7, 7, false},
        {"square", SQUARE, 8, 8, false},     {"none", PORTABLE, 9, 9, false}};
    struct kernel *clashing = kernel_find(&seat->m->tasks.kernels, "clashing");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        moot_task_spec spec = spec_of(seat, rows[i].kernel, &rows[i].is);
        moot_hash hash, said;
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
        spec.args = &rows[i].says;
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &said), MOOT_OK);
        clashing->conflict = true; /* as if a peer had another of that name */
        adopt(seat, rows[i].name, &rows[i].says, &hash);
        clashing->conflict = false;
        CHECK(seat, is_adopted(seat, &hash) == rows[i].adopted);
        CHECK(seat, is_adopted(seat, &said) == rows[i].adopted);
    }
}

static void what_was_adopted_is_put_on_the_roll_once_the_core_can(struct seat *seat)
{
    const uint64_t x = 10;
    moot_task_spec spec = spec_of(seat, PORTABLE, &x);
    moot_task task;
    moot_hash hash;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    adopt(seat, "portable", &x, &hash);
    CHECK(seat, is_adopted(seat, &hash));
    refusals_left = 1;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_NO_MEMORY);
    CHECK(seat, is_adopted(seat, &hash));
    int before = registered;
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    CHECK(seat, registered == before + 1 && !is_adopted(seat, &hash));
    await_square(seat, task, x);
}

/* The program has not spawned it, and may not know of it. */
static void what_was_adopted_is_not_cancelled_by_its_label(struct seat *seat)
{
    const uint64_t x = 14;
    moot_task_spec spec = spec_of(seat, PORTABLE, &x);
    moot_task task;
    moot_hash hash;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    adopt(seat, "portable", &x, &hash);
    CHECK(seat, is_adopted(seat, &hash));
    EXPECT(seat, moot_task_cancel_label(seat->m, ""), MOOT_OK);
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    await_square(seat, task, x);
}

/* It has its place in the order of its queue. */
static void what_a_queue_keeps_is_not_adopted(struct seat *seat)
{
    const uint64_t x = 11;
    moot_task_spec spec = spec_of(seat, PORTABLE, &x);
    moot_task task;
    moot_hash hash;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_BULK), MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    adopt(seat, "portable", &x, &hash);
    CHECK(seat, !is_adopted(seat, &hash));
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    await_square(seat, task, x);
}

static int keep_all(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                    void *state)
{
    (void)queue;
    *(moot_ticket **)state = count == 1 ? tickets[0] : NULL;
    return MOOT_OK;
}

/* Whether a peer was faster decides nothing: the program's own spawn goes the way of
 * its queue, as what is kept there with it may be what it takes. */
static void what_was_adopted_goes_through_its_queue(struct seat *seat)
{
    const uint64_t x = 12;
    moot_ticket *kept = NULL;
    const moot_queue_custom custom = {
        .name = "keeper", .submit = keep_all, .user = &kept};
    moot_task_spec spec = spec_of(seat, PORTABLE, &x);
    moot_task task;
    moot_hash hash;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    adopt(seat, "portable", &x, &hash);
    EXPECT(seat, moot_queue_open(seat->m, MOOT_QUEUE_SEQUENTIAL), MOOT_OK);
    const uint64_t before = 13;
    moot_task_spec first = spec_of(seat, PORTABLE, &before);
    EXPECT(seat, moot_task_spawn(seat->m, &first, &task), MOOT_OK);
    EXPECT(seat, moot_queue_open_custom(seat->m, &custom), MOOT_OK);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    CHECK(seat, kept != NULL && is_adopted(seat, &hash));
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_STATE);
    const int count = registered;
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    CHECK(seat, registered == count + 1 && !is_adopted(seat, &hash));
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
    await_square(seat, task, x);
}

/* The first of its kind that rank 0 is to run. */
static moot_task spawn_for_0(struct seat *seat, moot_task_spec spec,
                             moot_task_info *info)
{
    moot_task task = {0};
    uint64_t value = 0;
    for (info->chair = -1; info->chair != 0 && value < 1000; value++) {
        spec.args = &value;
        spec.args_size = sizeof(value);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        EXPECT(seat, moot_task_info(seat->m, task, info), MOOT_OK);
    }
    CHECK(seat, fetch_u64(seat, task) == 12 * 12 + value - 1);
    EXPECT(seat, moot_task_info(seat->m, task, info), MOOT_OK);
    return task;
}

/* Rank 1 alone spawns it: the motion brings rank 0, which has registered the kernel,
 * all that it is to know. */
static void all_of_a_spec_goes_with_it(struct seat *seat)
{
    static moot_hash hashes[2];
    meet(seat);
    moot_task inputs[2] = {spawn_u64(seat, SQUARE, 12), spawn_u64(seat, SQUARE, 13)};
    for (int i = 0; i < 2; i++) {
        moot_task_info info = {.size = 0};
        if (seat->rank == 1) {
            moot_task_spec spec = {.kernel = seat->kernels[CARRIED + i],
                                   .inputs = &inputs[0],
                                   .input_count = 1,
                                   .after = &inputs[1],
                                   .after_count = 1,
                                   .key = "key",
                                   .key_size = 3,
                                   .label = "as it says"};
            (void)spawn_for_0(seat, spec, &info);
            CHECK(seat, info.chair == 0 && info.owner == 0);
            hashes[i] = info.hash;
        }
        meet(seat);
        moot_task task;
        EXPECT(seat, moot_task_find(seat->m, &hashes[i], &task), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
        CHECK(seat, strcmp(info.label, "as it says") == 0);
        CHECK(seat, strstr(info.site, "registering_test.c") != NULL);
    }
    meet(seat);
}

static bool was_asked(struct seat *seat)
{
    engine_lock(seat->m);
    bool asked = core_stats(seat->m->core)->received[MESSAGE_MOTION] > 0;
    engine_unlock(seat->m);
    return asked;
}

static void late_at_0(struct seat *seat)
{
    kernels(seat);
    while (seat->rank == 0 && !was_asked(seat)) {
        nap_ms(1);
    }
    add_kernel(seat, CARRIED, "carried", sum, MOOT_KERNEL_PORTABLE);
}

/* Rank 0 registers the kernel when rank 1 has asked, and blocks in its own code. */
static void a_spec_may_come_before_its_kernel(struct seat *seat)
{
    if (seat->rank == 1) {
        moot_task_info info = {.size = 0};
        const uint64_t x = 12;
        moot_task_spec spec = spec_of(seat, SQUARE, &x);
        moot_task input;
        spec.owner = MOOT_ON(1);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &input), MOOT_OK);
        spec = (moot_task_spec){
            .kernel = seat->kernels[CARRIED], .inputs = &input, .input_count = 1};
        (void)spawn_for_0(seat, spec, &info);
        CHECK(seat, info.chair == 0 && info.owner == 0);
    }
    meet(seat);
}

/* --- Of too many specs that come before their kernel ----------------------------- */

enum { KEPT_MOST = 256, OF_A_KIND = KEPT_MOST + 1, ALL_EARLY = 2 * OF_A_KIND + 4 };

static struct {
    uint64_t x;
    moot_hash hash;
} of_rank_1[ALL_EARLY]; /* chairs these */

static void find_those_of_rank_1(struct seat *seat)
{
    struct rankset both = {.low = 3};
    uint64_t x = 0;
    for (size_t i = 0; i < ALL_EARLY; x++) {
        moot_task_spec spec = spec_of(seat, LATE, &x);
        of_rank_1[i].x = x;
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &of_rank_1[i].hash), MOOT_OK);
        i += placement_chair(&of_rank_1[i].hash, &both, NULL) == 1;
    }
}

/* As if rank 0 had sent it now, or so many views ago. */
static void keep_early(struct seat *seat, size_t which, uint64_t views_ago)
{
    const struct message_spec spec = {.kernel_name = "late",
                                      .kernel_version = 1,
                                      .args = &of_rank_1[which].x,
                                      .args_size = sizeof(of_rank_1[which].x)};
    struct message motion = {.type = MESSAGE_MOTION, .hash = of_rank_1[which].hash};
    motion.u.motion.spec = &spec;
    engine_lock(seat->m);
    core_view(seat->m->core, &motion.epoch, &motion.view_id);
    motion.epoch -= views_ago;
    early_keep(seat->m, 0, &motion);
    engine_unlock(seat->m);
}

/* What is repeated, decided or of an older view leaves room for what is not. */
static void specs_before_their_kernel_take_no_place_in_vain(struct seat *seat)
{
    enum { AGAIN, FIRST, SECOND, THIRD, DECLINED, OLD = DECLINED + OF_A_KIND };
    if (seat->rank == 0) {
        find_those_of_rank_1(seat);
    }
    meet(seat);
    if (seat->rank == 1) {
        for (size_t i = 0; i < OF_A_KIND; i++) {
            keep_early(seat, AGAIN, i == 0);
        }
        keep_early(seat, FIRST, 0);
        for (size_t i = DECLINED; i < DECLINED + OF_A_KIND; i++) {
            keep_early(seat, i, 0);
        }
        for (size_t i = DECLINED; i < DECLINED + OF_A_KIND; i++) {
            EXPECT(seat, moot_decline(seat->m, &of_rank_1[i].hash), MOOT_OK);
        }
        keep_early(seat, SECOND, 0);
        for (size_t i = OLD; i < OLD + OF_A_KIND; i++) {
            keep_early(seat, i, 1);
        }
        keep_early(seat, THIRD, 0);
        add_kernel(seat, LATE, "late", square, MOOT_KERNEL_PORTABLE);
        for (size_t i = 0; i < ALL_EARLY; i++) {
            CHECK(seat, is_adopted(seat, &of_rank_1[i].hash) == (i < DECLINED));
        }
    }
    meet(seat);
}

static void late_at_1(struct seat *seat)
{
    kernels(seat);
    if (seat->rank == 0) {
        add_kernel(seat, LATE, "late", square, MOOT_KERNEL_PORTABLE);
    }
}

static const char *const with_a_worker[] = {"MOOT_THREADS=1", NULL};

#define ALONE(name)                                                                    \
    {                                                                                  \
#name, name, portable_kernels, NULL, closes_well,                              \
        {                                                                              \
            1                                                                          \
        }                                                                              \
    }

int main(int argc, char **argv)
{
    const struct scene scenes[] = {
        ALONE(what_the_core_refuses_can_be_spawned_again),
        ALONE(only_what_it_says_it_is_is_adopted),
        ALONE(what_was_adopted_is_put_on_the_roll_once_the_core_can),
        ALONE(what_was_adopted_is_not_cancelled_by_its_label),
        ALONE(what_a_queue_keeps_is_not_adopted),
        ALONE(what_was_adopted_goes_through_its_queue),
        {"all_of_a_spec_goes_with_it",
         all_of_a_spec_goes_with_it,
         portable_kernels,
         with_a_worker,
         closes_well,
         {2}},
        {"a_spec_may_come_before_its_kernel",
         a_spec_may_come_before_its_kernel,
         late_at_0,
         with_a_worker,
         closes_well,
         {2}},
        {"specs_before_their_kernel_take_no_place_in_vain",
         specs_before_their_kernel_take_no_place_in_vain,
         late_at_1,
         NULL,
         closes_well,
         {2}},
    };
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
