/* pruned.c - tasks that this rank neither runs nor feeds, whatever a program does then.
 *
 *     pruned            a rank of the job, of any size
 *
 * Such tasks take no record until something is done with them (consensus/state/stub.c),
 * which a program must not notice.  All ranks do the same; most of what a scene spawns
 * is kept as a stub on all ranks but its owner, if its result has not come before, and
 * looked at through one call.
 */
#include "consensus/core_view.h"
#include "node/context/context.h"
#include "tests/mpi/support/harness.h"

#include <string.h>

enum { WIDTH = 16, PHASES = 200, LARGE_BYTES = 700 };

static moot *m;
static int size;
static moot_kernel_id kernel;
static int64_t next_number;

/* The first eight bytes of its arguments, and what its inputs are. */
static int add_up(moot_call *call, void *user)
{
    (void)user;
    size_t bytes;
    int64_t sum, word;
    memcpy(&sum, moot_call_args(call, &bytes), sizeof(sum));
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        memcpy(&word, moot_call_input(call, i, &bytes), sizeof(word));
        sum += word;
    }
    void *out = moot_call_output(call, sizeof(sum));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(out, &sum, sizeof(sum));
    return MOOT_OK;
}

struct number {
    int64_t value;
    char more[LARGE_BYTES]; /* as many of these as are wanted */
};

static moot_task_spec spec_of(struct number *args, size_t more, int owner,
                              const moot_task *inputs, size_t count)
{
    *args = (struct number){.value = next_number++};
    return (moot_task_spec){.kernel = kernel,
                            .args = args,
                            .args_size = sizeof(args->value) + more,
                            .inputs = inputs,
                            .input_count = count,
                            .owner = MOOT_ON(owner % size)};
}

static moot_task spawn(int owner, const moot_task *inputs, size_t count)
{
    struct number args;
    moot_task_spec spec = spec_of(&args, 0, owner, inputs, count);
    moot_task task;
    CHECK_OK(moot_task_spawn(m, &spec, &task));
    return task;
}

static void gives(moot_task task, int64_t value)
{
    const void *data;
    size_t bytes;
    int64_t got;
    if (!CHECK_OK(moot_task_fetch(m, task, MOOT_FOREVER, &data, &bytes))) {
        return;
    }
    memcpy(&got, data, sizeof(got));
    CHECK(bytes == sizeof(got) && got == value, "%lld instead of %lld", (long long)got,
          (long long)value);
}

static void release(moot_task task) { CHECK_OK(moot_task_release(m, task)); }

/* --- Scenes ---------------------------------------------------------------------- */

static void fetched(void)
{
    for (int owner = 0; owner < size; owner++) {
        int64_t value = next_number;
        moot_task task = spawn(owner, NULL, 0);
        gives(task, value);
        release(task);
    }
}

static void waited_for(void)
{
    moot_task tasks[WIDTH];
    size_t which;
    for (int i = 0; i < WIDTH; i++) {
        tasks[i] = spawn(i, NULL, 0);
    }
    CHECK_OK(moot_task_wait_any(m, tasks, WIDTH, MOOT_FOREVER, &which));
    CHECK(which < WIDTH, "task %zu", which);
    CHECK_OK(moot_task_wait_all(m, tasks, WIDTH, MOOT_FOREVER));
    for (int i = 0; i < WIDTH; i++) {
        release(tasks[i]);
    }
}

/* Each rank has a task that takes others' results, one of them twice. */
static void taken(void)
{
    moot_task first[WIDTH], second[WIDTH];
    int64_t value = next_number;
    for (int i = 0; i < WIDTH; i++) {
        first[i] = spawn(i, NULL, 0);
    }
    for (int i = 0; i < WIDTH; i++) {
        const moot_task inputs[] = {first[i], first[(i + 1) % WIDTH], first[i]};
        second[i] = spawn(i + 1, inputs, 3);
    }
    for (int i = 0; i < WIDTH; i++) {
        release(first[i]);
    }
    for (int i = 0; i < WIDTH; i++) {
        gives(second[i], value + WIDTH + i + 2 * (value + i) + value + (i + 1) % WIDTH);
        release(second[i]);
    }
}

/* By its handle, and by its hash. */
static void taken_twice(void)
{
    for (int owner = 0; owner < size; owner++) {
        struct number args;
        moot_task_spec spec = spec_of(&args, 0, 1, NULL, 0);
        int64_t value = args.value;
        moot_hash hash;
        moot_task task, taker;
        CHECK_OK(moot_spec_hash(m, &spec, &hash));
        CHECK_OK(moot_task_spawn(m, &spec, &task));
        spec = spec_of(&args, 0, owner, &task, 1);
        spec.input_hashes = &hash;
        spec.input_hash_count = 1;
        CHECK_OK(moot_task_spawn(m, &spec, &taker));
        release(task);
        gives(taker, args.value + 2 * value);
        release(taker);
    }
}

/* Far from what is fetched, and let go since. */
static void taken_from_afar(void)
{
    int64_t value = next_number, sum = value;
    moot_task last = spawn(1, NULL, 0);
    for (int i = 1; i < PHASES; i++) {
        moot_task task = spawn(1, &last, 1);
        release(last);
        last = task;
        sum += value + i;
    }
    gives(last, sum);
    release(last);
}

static void spawned_again(void)
{
    struct number args;
    moot_task_spec spec = spec_of(&args, 0, 1, NULL, 0);
    moot_task one, other;
    CHECK_OK(moot_task_spawn(m, &spec, &one));
    CHECK_OK(moot_task_spawn(m, &spec, &other));
    CHECK(one.id != other.id, "one handle for both");
    release(one);
    CHECK_CODE(moot_task_wait(m, one, MOOT_FOREVER), MOOT_ERR_STALE);
    gives(other, args.value);
    release(other);
    CHECK_OK(moot_task_spawn(m, &spec, &one));
    gives(one, args.value);
    release(one);
}

static void let_go_at_once(void)
{
    moot_task task = spawn(1, NULL, 0);
    release(task);
    CHECK_CODE(moot_task_release(m, task), MOOT_ERR_STALE);
    CHECK_CODE(moot_task_wait(m, task, MOOT_FOREVER), MOOT_ERR_STALE);
    struct number args;
    moot_task_spec spec = spec_of(&args, 0, 0, &task, 1);
    CHECK_CODE(moot_task_spawn(m, &spec, &task), MOOT_ERR_STALE);
}

static void found_by_its_hash(void)
{
    struct number args;
    moot_task_spec spec = spec_of(&args, 0, 1, NULL, 0);
    moot_hash hash;
    moot_task task, same;
    CHECK_OK(moot_spec_hash(m, &spec, &hash));
    CHECK_OK(moot_task_spawn(m, &spec, &task));
    CHECK_OK(moot_task_find(m, &hash, &same));
    gives(same, args.value);
    release(same);
    gives(task, args.value);
    release(task);
    CHECK_CODE(moot_decline(m, &hash), MOOT_ERR_STATE);
}

static void described(void)
{
    moot_task input = spawn(1, NULL, 0), task = spawn(1, &input, 1);
    moot_task_info info;
    CHECK_OK(moot_task_info(m, task, &info));
    CHECK(info.chair == 1 % size, "chair %d", info.chair);
    CHECK(strcmp(info.kernel, "add up") == 0, "kernel %s", info.kernel);
    CHECK(strstr(info.site, "pruned.c:") != NULL, "site %s", info.site);
    CHECK_OK(moot_task_wait(m, task, MOOT_FOREVER));
    release(input);
    release(task);
}

static void cancelled(void)
{
    moot_task tasks[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
        tasks[i] = spawn(i, NULL, 0);
    }
    if (harness_rank() == 0) {
        CHECK_OK(moot_task_cancel_all(m, tasks, WIDTH));
    }
    for (int i = 0; i < WIDTH; i++) {
        int code = moot_task_wait(m, tasks[i], MOOT_FOREVER);
        CHECK(code == MOOT_OK || code == MOOT_ERR_CANCELLED, "%d", code);
        release(tasks[i]);
    }
}

/* Order only, and arguments of all sizes. */
static void come_after(void)
{
    struct number args;
    for (size_t more = 0; more <= sizeof(args.more); more += 50) {
        moot_task before = spawn(1, NULL, 0), task;
        moot_task_spec spec = spec_of(&args, more, 1, NULL, 0);
        spec.after = &before;
        spec.after_count = 1;
        CHECK_OK(moot_task_spawn(m, &spec, &task));
        release(before);
        gives(task, args.value);
        release(task);
    }
}

static void grouped(void)
{
    moot_task before = spawn(1, NULL, 0), tasks[WIDTH];
    CHECK_OK(moot_group_open(m));
    for (int i = 0; i < WIDTH; i++) {
        tasks[i] = spawn(i, &before, 1);
    }
    CHECK_OK(moot_group_close(m, MOOT_FOREVER));
    release(before);
    for (int i = 0; i < WIDTH; i++) {
        release(tasks[i]);
    }
}

static void in_a_scope(void)
{
    moot_task outside = spawn(1, NULL, 0);
    CHECK_OK(moot_scope_open(m, "pruned"));
    int64_t value = next_number;
    moot_task inside = spawn(1, &outside, 1), next = spawn(2, &inside, 1);
    gives(next, value - 1 + value + value + 1);
    release(inside);
    release(next);
    CHECK_OK(moot_scope_close(m));
    release(outside);
}

/* By their hashes they are others' to run, which never spawn them. */
static void voted_about(void)
{
    moot_task tasks[WIDTH];
    int64_t sum = 0;
    for (int i = 0; i < WIDTH && harness_rank() == 0; i++) {
        struct number args;
        moot_task_spec spec = spec_of(&args, 50, 0, tasks, (size_t)i);
        spec.owner = (moot_place){0};
        CHECK_OK(moot_task_spawn(m, &spec, &tasks[i]));
    }
    for (int i = 0; i < WIDTH && harness_rank() == 0; i++) {
        int64_t value = i + 1 + sum;
        gives(tasks[i], value);
        release(tasks[i]);
        sum += value;
    }
}

/* Rows that take from the row before, in a window that holds a fraction of them. */
static void dropped(void)
{
    moot_task rows[2][WIDTH], end;
    int64_t first = next_number, sums[WIDTH];
    for (int phase = 0; phase < PHASES; phase++) {
        moot_task *now = rows[phase % 2], *before = rows[1 - phase % 2];
        for (int i = 0; i < WIDTH; i++) {
            now[i] = spawn(i * size / WIDTH, phase > 0 ? &before[i] : NULL, phase > 0);
        }
        for (int i = 0; i < WIDTH && phase > 0; i++) {
            release(before[i]);
        }
    }
    for (int i = 0; i < WIDTH; i++) {
        sums[i] = 0;
        for (int64_t phase = 0; phase < PHASES; phase++) {
            sums[i] += first + phase * WIDTH + i;
        }
        gives(rows[(PHASES - 1) % 2][i], sums[i]);
    }
    end = spawn(0, rows[(PHASES - 1) % 2], WIDTH);
    CHECK_OK(moot_task_wait(m, end, MOOT_FOREVER));
    release(end);
    for (int i = 0; i < WIDTH; i++) {
        release(rows[(PHASES - 1) % 2][i]);
    }
}

struct scene {
    const char *name;
    void (*run)(void);
};

static uint64_t play(const struct scene *scene)
{
    static const char *const knobs[] = {"MOOT_WINDOW=512", NULL};
    const moot_options options = {.knobs = knobs};
    const moot_kernel add = {.name = "add up", .fn = add_up};
    uint64_t pruned = 0;
    next_number = 1;
    harness_case_begin(scene->name, 60);
    if (CHECK_OK(moot_open_comm(&options, MPI_COMM_WORLD, &m)) &&
        CHECK_OK(moot_kernel_register(m, &add, &kernel))) {
        harness_explain_with(m);
        scene->run();
        pruned = core_stats(m->core)->pruned;
        harness_explain_with(NULL);
        CHECK_OK(moot_close(m));
    }
    harness_case_end();
    return pruned;
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {{"fetched", fetched},
                                          {"waited for", waited_for},
                                          {"taken", taken},
                                          {"taken twice", taken_twice},
                                          {"taken from afar", taken_from_afar},
                                          {"spawned again", spawned_again},
                                          {"let go at once", let_go_at_once},
                                          {"found by its hash", found_by_its_hash},
                                          {"described", described},
                                          {"cancelled", cancelled},
                                          {"coming after others", come_after},
                                          {"in a group", grouped},
                                          {"in a scope", in_a_scope},
                                          {"voted about", voted_about},
                                          {"dropped", dropped}};
    uint64_t pruned = 0;
    harness_open(&argc, &argv, "pruned");
    size = harness_size();
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        pruned += play(&scenes[i]);
    }
    harness_case_begin("there were some", 60);
    CHECK(size == 1 || pruned >= PHASES, "%llu tasks", (unsigned long long)pruned);
    harness_case_end();
    return harness_close();
}
