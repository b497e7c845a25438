/* array_refusal_test.c - a call of task arrays that is refused says which call it was,
 * what is wrong, and what to do: one message for each mistake.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { ONES = RELAY + 1, DEEDS, PARENTS };

static int make_one(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* The message is this, to its end. */
#define CHECK_TOLD(seat, call, code, words)                                            \
    do {                                                                               \
        EXPECT(seat, call, code);                                                      \
        if (strcmp(moot_last_error((seat)->m), words) != 0) {                          \
            fprintf(stderr, "%s\n", moot_last_error((seat)->m));                       \
        }                                                                              \
        CHECK(seat, strcmp(moot_last_error((seat)->m), words) == 0);                   \
    } while (0)

static const char not_registered[] = "moot_call_array_spawn: .kernel is zero: the "
                                     "kernel is not registered on this rank: "
                                     "moot_kernel_register() it on every rank first";

/* The calls of a program are not those of a kernel. */
static int parent(moot_call *call, void *user)
{
    struct seat *seat = user;
    const moot_task_spec combine = {.kernel = seat->kernels[ONES]};
    moot_array array = {0};
    moot_task task;
    CHECK_TOLD(seat, moot_array_reduce(seat->m, array, &combine, &task), MOOT_ERR_STATE,
               "moot_array_reduce: not inside a kernel: there is no such call for "
               "children: spawn arrays of them whose inputs are by MOOT_MAP_BLOCKS "
               "(moot_call_array_spawn), or let the program reduce");
    CHECK_TOLD(seat,
               moot_call_array_spawn(call, &(moot_array_spec){.count = 3}, &array),
               MOOT_ERR_UNKNOWN_KERNEL, not_registered);
    CHECK_TOLD(seat, moot_call_array_wait(call, array), MOOT_ERR_STALE,
               "moot_call_array_wait: the handle was released or never valid");
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void refusal_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, ONES, "ones", make_one, 0);
    add_kernel(seat, DEEDS, "deeds", make_one, MOOT_KERNEL_ONCE);
    const moot_kernel kernel = {.name = "parents", .fn = parent, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[PARENTS]),
           MOOT_OK);
}

static moot_array spawn_ones(struct seat *seat, uint64_t count)
{
    moot_array array = {0};
    const moot_array_spec spec = {.kernel = seat->kernels[ONES], .count = count};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static moot_task spawn_one(struct seat *seat)
{
    moot_task task = {0};
    const moot_task_spec spec = {.kernel = seat->kernels[ONES]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

static void each_mistake_in_a_spec_is_named(struct seat *seat)
{
    const moot_kernel_id ones = seat->kernels[ONES];
    static const int far[] = {99};
    char pset[] = "moot://nope";
    const moot_array_input none = {.map_args = NULL};
    moot_array_input many[17] = {{.map_args = NULL}};
    char twice[300];
    const struct {
        moot_array_spec spec;
        int code;
        const char *words;
    } rows[] = {
        {{.count = 1},
         MOOT_ERR_UNKNOWN_KERNEL,
         ".kernel is zero: the kernel is not registered on this rank: "
         "moot_kernel_register() it on every rank first"},
        {{.kernel = {ones.id + 1000}, .count = 1},
         MOOT_ERR_UNKNOWN_KERNEL,
         ".kernel is no kernel's handle: the kernel is not registered on this rank: "
         "moot_kernel_register() it on every rank first"},
        {{.kernel = {ones.id ^ 1ull << 50}, .count = 1},
         MOOT_ERR_FOREIGN,
         ".kernel belongs to another context"},
        {{.kernel = ones, .count = 1, .args_size = 8},
         MOOT_ERR_INVALID,
         ".args is NULL, and its size or count is not 0"},
        {{.kernel = ones, .count = 1, .key = twice, .key_size = sizeof(twice)},
         MOOT_ERR_LIMIT,
         ".key_size is 300, above 256"},
        {{.kernel = ones, .count = 1, .candidates = {far, 1}}, MOOT_ERR_INVALID, NULL},
        {{.kernel = ones, .count = 1, .pset = pset},
         MOOT_ERR_INVALID,
         ".pset: there is no process set \"moot://nope\" in this session"},
        {{.kernel = seat->kernels[DEEDS], .count = 1},
         MOOT_ERR_NO_KEY,
         "kernel 'deeds' is once: each of its tasks needs a .key"},
        {{.size = 3, .kernel = ones, .count = 1},
         MOOT_ERR_INVALID,
         "no release has a moot_array_spec of this .size, or it sets a field that this "
         "library lacks: set .size to sizeof(moot_array_spec) or 0"},
        {{.kernel = ones, .count = 1, .input_count = 1},
         MOOT_ERR_INVALID,
         ".inputs is NULL, and .input_count is 1"},
        {{.kernel = ones, .count = 1, .inputs = many, .input_count = 17},
         MOOT_ERR_INVALID,
         ".input_count is 17, above MOOT_ARRAY_INPUTS_MAX (16): take by one map what "
         "several take of one array, or combine arrays first"},
        {{.kernel = ones, .count = 1, .inputs = &none, .input_count = 1},
         MOOT_ERR_STALE,
         ".inputs[0] has neither .array nor .task: give one of them"},
        {{.kernel = ones, .count = 1, .spread = {.block = 4}},
         MOOT_ERR_INVALID,
         ".spread.block is 4, and is for MOOT_SPREAD_CYCLIC: give 0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char words[400];
        moot_array array = {77};
        snprintf(words, sizeof(words), "moot_array_spawn: %s", rows[i].words);
        if (rows[i].words == NULL) {
            snprintf(words, sizeof(words),
                     "moot_array_spawn: .candidates: rank 99 is not one of 0..%d",
                     seat->size - 1);
        }
        CHECK_TOLD(seat, moot_array_spawn(seat->m, &rows[i].spec, &array), rows[i].code,
                   words);
        CHECK(seat, array.id == 77);
    }
}

static void what_is_missing_is_named(struct seat *seat)
{
    moot *m = seat->m;
    const moot_array_spec spec = {.kernel = seat->kernels[ONES], .count = 1};
    const moot_task_spec task = {.kernel = seat->kernels[ONES]};
    moot_array array = {0};
    moot_task out;
    moot_hash hash;
    CHECK_TOLD(seat, moot_array_spawn(m, NULL, &array), MOOT_ERR_INVALID,
               "moot_array_spawn: the spec is NULL");
    CHECK_TOLD(seat, moot_array_spawn(m, &spec, NULL), MOOT_ERR_INVALID,
               "moot_array_spawn: the output is NULL");
    CHECK_TOLD(seat, moot_array_spawn_some(m, &spec, NULL, 0, NULL), MOOT_ERR_INVALID,
               "moot_array_spawn_some: the output is NULL");
    CHECK_TOLD(seat, moot_array_at(m, array, 0, NULL), MOOT_ERR_INVALID,
               "moot_array_at: the output is NULL");
    CHECK_TOLD(seat, moot_array_hash(m, array, NULL), MOOT_ERR_INVALID,
               "moot_array_hash: the output is NULL");
    CHECK_TOLD(seat, moot_array_find(m, NULL, 0, &out), MOOT_ERR_INVALID,
               "moot_array_find: the hash is NULL");
    CHECK_TOLD(seat, moot_array_reduce(m, array, NULL, &out), MOOT_ERR_INVALID,
               "moot_array_reduce: combine is NULL");
    CHECK_TOLD(seat, moot_map_register(m, NULL, NULL), MOOT_ERR_INVALID,
               "moot_map_register: the map is NULL");
    CHECK_TOLD(seat, moot_task_spawn(m, NULL, &out), MOOT_ERR_INVALID,
               "moot_task_spawn: the spec is NULL");
    CHECK_TOLD(seat, moot_spec_hash(m, &task, NULL), MOOT_ERR_INVALID,
               "moot_spec_hash: the output is NULL");
    CHECK_TOLD(seat, moot_spec_hash(m, NULL, &hash), MOOT_ERR_INVALID,
               "moot_spec_hash: the spec is NULL");
}

static void a_handle_of_the_wrong_kind_is_named(struct seat *seat)
{
    moot *m = seat->m;
    moot_array array = spawn_ones(seat, 12), released = spawn_ones(seat, 13);
    moot_task task = spawn_one(seat), out;
    const moot_array_input by_task = {.array = {task.id}};
    const moot_array_spec takes = {.kernel = seat->kernels[ONES],
                                   .count = 1,
                                   .inputs = &by_task,
                                   .input_count = 1};
    const moot_task end = {array.id};
    const moot_task_spec after = {
        .kernel = seat->kernels[ONES], .after = &end, .after_count = 1};
    const moot_task_spec with_data = {
        .kernel = seat->kernels[ONES], .inputs = &end, .input_count = 1};
    CHECK_TOLD(seat, moot_array_spawn(m, &takes, &released), MOOT_ERR_INVALID,
               "moot_array_spawn: .inputs[0].array is a task's handle: give it as "
               ".task");
    CHECK_TOLD(seat, moot_task_spawn(m, &with_data, &out), MOOT_ERR_INVALID,
               "moot_task_spawn: .inputs[0] is an array's handle, and an array has no "
               "data of its own: take its elements by moot_array_at(), combine them by "
               "moot_array_reduce(), spawn an array with an input, or, for the order "
               "alone, name it in .after");
    EXPECT(seat, moot_task_spawn(m, &after, &out), MOOT_OK);
    EXPECT(seat, moot_task_wait(m, out, MOOT_FOREVER), MOOT_OK);
    CHECK_TOLD(seat, moot_array_wait(m, (moot_array){task.id}, 0), MOOT_ERR_INVALID,
               "moot_array_wait: this is a task's handle, and no array's: call "
               "moot_task_wait");
    CHECK_TOLD(seat, moot_array_cancel(m, (moot_array){task.id}), MOOT_ERR_INVALID,
               "moot_array_cancel: this is a task's handle, and no array's: call "
               "moot_task_cancel");
    CHECK_TOLD(seat, moot_array_release(m, (moot_array){task.id}), MOOT_ERR_INVALID,
               "moot_array_release: this is a task's handle, and no array's");
    CHECK_TOLD(seat, moot_array_at(m, (moot_array){task.id}, 0, &out), MOOT_ERR_INVALID,
               "moot_array_at: this is a task's handle, and no array's");
    EXPECT(seat, moot_task_release(m, task), MOOT_OK);
    EXPECT(seat, moot_task_release(m, out), MOOT_OK);
    EXPECT(seat, moot_array_release(m, released), MOOT_OK);
    CHECK_TOLD(seat, moot_array_release(m, released), MOOT_ERR_STALE,
               "moot_array_release: the array's handle was released or never valid");
    CHECK_TOLD(seat, moot_array_wait(m, released, 0), MOOT_ERR_STALE,
               "moot_array_wait: the handle was released or never valid");
    CHECK_TOLD(seat, moot_array_cancel(m, released), MOOT_ERR_STALE,
               "moot_array_cancel: the handle was released or never valid");
    EXPECT(seat, moot_array_release(m, array), MOOT_OK);
}

/* A part of it is enough: none of the others is spawned, nor waited for. */
static void an_array_too_large_to_be_combined_is_told_as_such(struct seat *seat)
{
    char words[300];
    moot_array array;
    moot_task sum;
    const moot_range first = {0, 1};
    const moot_array_spec spec = {.kernel = seat->kernels[ONES],
                                  .count = UINT64_C(1) << 32};
    const moot_task_spec combine = {.kernel = seat->kernels[ONES]};
    EXPECT(seat, moot_array_spawn_some(seat->m, &spec, &first, 1, &array), MOOT_OK);
    snprintf(words, sizeof(words),
             "moot_array_reduce: the array has 4294967296 elements on %d ranks, and "
             "each of these may combine 1048576 at most: share the array among more "
             "ranks, or give an element more to do",
             seat->size);
    CHECK_TOLD(seat, moot_array_reduce(seat->m, array, &combine, &sum), MOOT_ERR_LIMIT,
               words);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void a_kernel_is_told_what_to_call(struct seat *seat)
{
    moot_task task;
    const moot_task_spec spec = {.kernel = seat->kernels[PARENTS]};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

/* A rank that spawns what was missing when the wait has ended is told the same. */
static void an_array_that_has_ended_without_some_says_so(struct seat *seat)
{
    const moot_range some[] = {{0, 20}, {20, 20}};
    const moot_array_spec spec = {.kernel = seat->kernels[ONES], .count = 40};
    moot_array array, rest;
    EXPECT(seat, moot_array_spawn_some(seat->m, &spec, &some[0], 1, &array), MOOT_OK);
    for (int i = 0; i < 2; i++) {
        EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
        CHECK(seat,
              told(seat, ": element 20, and perhaps others, no rank had spawned, and "
                         "none could go on to: the array has ended without them; take "
                         "another .key, and spawn all of it before the wait "
                         "(moot_array_spawn_some)"));
        meet(seat);
        EXPECT(seat, moot_array_spawn_some(seat->m, &spec, &some[1], 1, &rest),
               MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, rest), MOOT_OK);
    }
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

#define REFUSAL_SCENE(fn)                                                              \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = refusal_kernels,               \
        .after = closes_well                                                           \
    }

static const struct scene scenes[] = {
    REFUSAL_SCENE(each_mistake_in_a_spec_is_named),
    REFUSAL_SCENE(what_is_missing_is_named),
    REFUSAL_SCENE(a_handle_of_the_wrong_kind_is_named),
    REFUSAL_SCENE(an_array_too_large_to_be_combined_is_told_as_such),
    REFUSAL_SCENE(a_kernel_is_told_what_to_call),
    REFUSAL_SCENE(an_array_that_has_ended_without_some_says_so),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
