/* refusal_test.c - bad input, kernels that fail and calls out of place: a clear error
 * each, and nothing lost.
 */
#include "node/api/moot_checkpoint.h"
#include "node/api/moot_data.h"
#include "node/api/moot_reference.h"
#include "node/api/moot_watch.h"
#include "tests/conformance/kernels.h"

#include <errno.h>

/* Allocations of at least this much fail; 0: none does.  Payloads are what moot takes
 * from posix_memalign; the sanitizers bring their own, so there nothing fails. */
static atomic_size_t too_much;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ALLOCATIONS_CAN_FAIL = 0 };
#else
enum { ALLOCATIONS_CAN_FAIL = 1 };
int posix_memalign(void **out, size_t align, size_t size)
{
    if (too_much != 0 && size >= too_much) {
        return ENOMEM;
    }
    *out = aligned_alloc(align, (size + align - 1) / align * align);
    return *out != NULL ? 0 : ENOMEM;
}
#endif

static void not_a_child(struct seat *seat)
{
    moot_task other = spawn_u64(seat, SQUARE, 2);
    meet(seat);
    if (seat->rank == 0) {
        foreign_child = other;
    }
    meet(seat);
    moot_task task;
    int key = 1;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[FORGER],
                                             .key = &key,
                                             .key_size = sizeof(key),
                                             .owner = MOOT_ON(0)},
                           &task),
           MOOT_OK);
    const void *data = NULL;
    size_t size;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    CHECK(seat, data != NULL && *(const int *)data == MOOT_ERR_NOT_CHILD);
}

static int misuser(moot_call *call, void *user)
{
    struct seat *seat = user;
    moot_task task = {1};
    moot_task_spec spec = {.kernel = seat->kernels[SQUARE]};
    EXPECT(seat, moot_close(seat->m), MOOT_ERR_STATE);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_ERR_STATE);
    EXPECT(seat, moot_task_wait(seat->m, task, 0), MOOT_ERR_STATE);
    EXPECT(seat, moot_park(seat->m), MOOT_ERR_INVALID);
    EXPECT(seat, moot_scope_open(seat->m, "x"), MOOT_ERR_STATE);
    size_t size = 1;
    CHECK(seat, moot_call_input(call, 3, &size) == NULL && size == 0);
    CHECK(seat, moot_call_context(call) == seat->m);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void misuse_inside(struct seat *seat)
{
    moot_kernel kernel = {.name = "misuser", .fn = misuser, .user = seat};
    moot_kernel_id id;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &id), MOOT_OK);
    for (int rank = 0; rank < seat->size; rank++) {
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = id, .owner = MOOT_ON(rank)},
                               &task),
               MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    }
}

/* --- Errors --------------------------------------------------------------------- */

static void error_chain(struct seat *seat)
{
    moot_task bad = spawn_u64(seat, FAIL, 1);
    moot_task good = spawn_u64(seat, SQUARE, 1);
    moot_task inputs[] = {good, bad};
    moot_task middle = spawn_sum(seat, inputs, 2, 0);
    moot_task last = spawn_sum(seat, &middle, 1, 0);
    EXPECT(seat, moot_task_wait(seat->m, last, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    CHECK(seat, told(seat, "failed with code 7"));
    CHECK(seat, told(seat, "input 1 failed"));
    CHECK(seat, told(seat, "kernels.h:"));
    const void *data;
    EXPECT(seat, moot_task_fetch(seat->m, middle, MOOT_FOREVER, &data, NULL),
           MOOT_ERR_TASK_FAILED);
    EXPECT(seat, moot_task_wait(seat->m, good, MOOT_FOREVER), MOOT_OK);
    moot_task_info info;
    EXPECT(seat, moot_task_info(seat->m, last, &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_FAILED);
    CHECK(seat, strstr(info.story, "the pump is dry") != NULL);
    moot_task all[] = {good, last, bad};
    EXPECT(seat, moot_task_wait_all(seat->m, all, 3, MOOT_FOREVER),
           MOOT_ERR_TASK_FAILED);
}

static void odd_kernels(struct seat *seat)
{
    const void *data = NULL;
    size_t size = 9;
    moot_task task = spawn_u64(seat, EMPTY, 1);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    CHECK(seat, data != NULL && size == 0);
    task = spawn_u64(seat, SILENT, 1);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "MOOT_ERR_NO_OUTPUT"));
}

static moot_task_info info_of(struct seat *seat, moot_task task)
{
    moot_task_info info = {.code = 77, .code_rank = 77};
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    return info;
}

/* args: what it returns. */
static int coded(moot_call *call, void *user)
{
    (void)user;
    return (int)*(const uint64_t *)moot_call_args(call, NULL);
}

/* Its own code, though its child failed with another. */
static int translator(moot_call *call, void *user)
{
    const struct seat *seat = user;
    moot_task child;
    int error =
        moot_call_spawn(call, &(moot_task_spec){.kernel = seat->kernels[FAIL]}, &child);
    if (error == MOOT_OK) {
        error = moot_call_wait(call, child, NULL, NULL);
    }
    return error == MOOT_ERR_TASK_FAILED ? 33 : error;
}

/* On every rank, down a chain of inputs, and down to a child whose parent only passed
 * its error on. */
static void a_failure_has_the_code_of_its_root(struct seat *seat)
{
    enum { CODED = 16, TRANSLATOR };
    moot_kernel own = {.name = "translator", .fn = translator, .user = seat};
    add_kernel(seat, CODED, "coded", coded, 0);
    EXPECT(seat, moot_kernel_register(seat->m, &own, &seat->kernels[TRANSLATOR]),
           MOOT_OK);
    moot_task bad = spawn_u64(seat, FAIL, 1), middle = spawn_sum(seat, &bad, 1, 0),
              last = spawn_sum(seat, &middle, 1, 0);
    const struct {
        moot_task task;
        int code;
    } rows[] = {{spawn_u64(seat, SQUARE, 1), 0},
                {bad, 7},
                {middle, 7},
                {last, 7},
                {spawn_u64(seat, LOSER, 3), 7},
                {spawn_u64(seat, TRANSLATOR, 3), 33},
                {spawn_u64(seat, CODED, 12345), 12345},
                {spawn_u64(seat, CODED, (uint64_t)INT64_C(-4)), -4},
                {spawn_u64(seat, SILENT, 1), MOOT_ERR_NO_OUTPUT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int wanted = rows[i].code == 0 ? MOOT_OK : MOOT_ERR_TASK_FAILED;
        EXPECT(seat, moot_task_wait(seat->m, rows[i].task, MOOT_FOREVER), wanted);
        moot_task_info info = info_of(seat, rows[i].task);
        CHECK(seat, info.code == rows[i].code && info.status == wanted);
        CHECK(seat, info.code != 0 ? info.code_rank >= 0 : info.code_rank == -1);
        CHECK(seat, strlen(info.story) == 0 || info.story[0] == 't');
    }
    CHECK(seat, info_of(seat, last).code_rank == info_of(seat, bad).owner);
}

/* A field without its bytes is named. */
static void missing_fields(struct seat *seat)
{
    const moot_kernel_id kernel = seat->kernels[SQUARE];
    const struct {
        moot_task_spec spec;
        const char *told;
    } rows[] = {
        {{.kernel = kernel, .args_size = 1}, "moot_task_spawn: .args is NULL"},
        {{.kernel = kernel, .key_size = 1}, ".key is NULL"},
        {{.kernel = kernel, .input_count = 1}, ".inputs is NULL"},
        {{.kernel = kernel, .after_count = 1}, ".after is NULL"},
        {{.kernel = kernel, .input_hash_count = 1}, ".input_hashes is NULL"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        moot_task out;
        EXPECT(seat, moot_task_spawn(seat->m, &rows[i].spec, &out), MOOT_ERR_INVALID);
        CHECK(seat, told(seat, rows[i].told));
    }
}

static void bad_input(struct seat *seat)
{
    moot *m = seat->m;
    moot_kernel_id square_id = seat->kernels[SQUARE], id = {0};
    moot_task good = spawn_u64(seat, SQUARE, 5), out = {42}, stale = {0};
    moot_task foreign = {good.id ^ 1ull << 50}, kernel_as_task = {square_id.id};
    static char args[(1 << 20) + 1], key[257];
    int far[] = {0, 4096}, none[1] = {0};
    moot_task many[1] = {good};
    const struct {
        moot_task_spec spec;
        int code;
    } rows[] = {
        {{.kernel = {0}}, MOOT_ERR_UNKNOWN_KERNEL},
        {{.kernel = {square_id.id + 1000}}, MOOT_ERR_UNKNOWN_KERNEL},
        {{.kernel = {good.id}}, MOOT_ERR_UNKNOWN_KERNEL},
        {{.kernel = {square_id.id ^ 1ull << 50}}, MOOT_ERR_FOREIGN},
        {{.kernel = square_id, .args = args, .args_size = sizeof(args)},
         MOOT_ERR_LIMIT},
        {{.kernel = square_id, .key = key, .key_size = sizeof(key)}, MOOT_ERR_LIMIT},
        {{.kernel = square_id, .inputs = &stale, .input_count = 1}, MOOT_ERR_STALE},
        {{.kernel = square_id, .inputs = &foreign, .input_count = 1}, MOOT_ERR_FOREIGN},
        {{.kernel = square_id, .after = &foreign, .after_count = 1}, MOOT_ERR_FOREIGN},
        {{.kernel = square_id, .inputs = &kernel_as_task, .input_count = 1},
         MOOT_ERR_STALE},
        {{.kernel = square_id, .inputs = many, .input_count = 4097}, MOOT_ERR_LIMIT},
        {{.kernel = square_id, .owner = MOOT_ON(seat->size)}, MOOT_ERR_INVALID},
        {{.kernel = square_id, .owner = MOOT_ON(-7)}, MOOT_ERR_INVALID},
        {{.kernel = square_id, .candidates = {far, 2}}, MOOT_ERR_INVALID},
        {{.kernel = square_id, .candidates = {none, 0}}, MOOT_ERR_INVALID},
        {{.kernel = square_id, .candidates = {NULL, 1}}, MOOT_ERR_INVALID},
        {{.kernel = square_id, .candidates = {none, 1}, .owner = MOOT_ON(0)},
         MOOT_ERR_INVALID},
        {{.kernel = square_id, .flags = 64}, MOOT_ERR_INVALID},
        {{.kernel = seat->kernels[ONCE]}, MOOT_ERR_NO_KEY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int code = moot_task_spawn(m, &rows[i].spec, &out);
        if (code != rows[i].code) {
            fprintf(stderr, "row %zu: %s: %s\n", i, moot_err_name(code),
                    moot_last_error(m));
        }
        CHECK(seat, code == rows[i].code);
        CHECK(seat, out.id == 42 && moot_last_error(m)[0] != '\0');
    }
    EXPECT(seat, moot_task_spawn(NULL, &rows[0].spec, &out), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_spawn(m, NULL, &out), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_spawn(m, &rows[0].spec, NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_task_wait(m, stale, 0), MOOT_ERR_STALE);
    EXPECT(seat, moot_task_wait(m, foreign, 0), MOOT_ERR_FOREIGN);
    EXPECT(seat, moot_task_wait(m, good, -1), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "the timeout is negative"));
    EXPECT(seat, moot_task_release(m, stale), MOOT_ERR_STALE);
    CHECK(seat, told(seat, "moot_task_release: the handle was released"));
    EXPECT(seat, moot_task_fetch_all(m, NULL, 1, 0, NULL, NULL), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_task_fetch_all: the array of tasks is NULL"));
    EXPECT(seat, moot_tasks_each(m, NULL, NULL, NULL), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_tasks_each: the function is NULL"));
    EXPECT(seat, moot_task_info(m, good, NULL), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_task_info: the output is NULL"));
    EXPECT(seat, moot_task_cancel_label(m, NULL), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_task_cancel_label: the prefix is NULL"));
    EXPECT(seat, moot_data_release(NULL, (moot_data){0}), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(NULL), "the moot is NULL") != NULL);
    EXPECT(seat, moot_task_cancel(m, foreign), MOOT_ERR_FOREIGN);
    size_t which = 7;
    EXPECT(seat, moot_task_wait_any(m, &good, 0, 0, &which), MOOT_ERR_INVALID);
    CHECK(seat, which == 7);
    EXPECT(seat, moot_close(NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_unpark(m), MOOT_ERR_STATE);
    EXPECT(seat, moot_scope_close(m), MOOT_ERR_STATE);
    static char name[200];
    memset(name, 'n', sizeof(name) - 1);
    const struct {
        moot_kernel kernel;
        int code;
    } kernel_rows[] = {
        {{.fn = square}, MOOT_ERR_INVALID},
        {{.name = "", .fn = square}, MOOT_ERR_INVALID},
        {{.name = "k"}, MOOT_ERR_INVALID},
        {{.name = name, .fn = square}, MOOT_ERR_LIMIT},
        {{.name = "k", .fn = square, .flags = 1024}, MOOT_ERR_INVALID},
        {{.name = "square", .fn = square}, MOOT_ERR_KERNEL_EXISTS},
    };
    for (size_t i = 0; i < sizeof(kernel_rows) / sizeof(kernel_rows[0]); i++) {
        EXPECT(seat, moot_kernel_register(m, &kernel_rows[i].kernel, &id),
               kernel_rows[i].code);
    }
    CHECK(seat, fetch_u64(seat, good) == 25); /* nothing was lost */
}

/* The story of a refused call is the moot's, where there is one. */
static void the_moot_has_the_story(struct seat *seat)
{
    moot *m = seat->m;
    const moot_checkpoint_options unsized = {.size = 1};
    moot_hash hash = {{0}};
    moot_task task;
    EXPECT(seat, moot_checkpoint(m, &unsized, &hash), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_checkpoint: "));
    EXPECT(seat, moot_checkpoint_find(m, NULL, &hash), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_checkpoint_find: the name is NULL"));
    EXPECT(seat, moot_state_signature(m, NULL, 1), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_state_signature: the hash is NULL"));
    EXPECT(seat, moot_data_put(m, NULL, &task), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_data_put: "));
    EXPECT(seat, moot_ticket_task(NULL, &task), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(NULL), "moot_ticket_task: the ticket is NULL") !=
                    NULL);
    EXPECT(seat, moot_checkpoint_flush(NULL), MOOT_ERR_INVALID);
    CHECK(seat, strstr(moot_last_error(NULL),
                       "moot_checkpoint_flush: the moot is NULL") != NULL);
}

/* A result that does not fit here ends the wait, and later ones still come. */
static void no_memory(struct seat *seat)
{
    uint64_t bytes = 3000000;
    moot_task task;
    const void *data = NULL;
    size_t size = 0;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[BIG],
                                             .args = &bytes,
                                             .args_size = sizeof(bytes),
                                             .owner = MOOT_ON(0)},
                           &task),
           MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    meet(seat);
    if (seat->rank == 0) {
        too_much = ALLOCATIONS_CAN_FAIL ? 1000000 : 0;
    }
    meet(seat);
    bool fails = seat->rank != 0 && ALLOCATIONS_CAN_FAIL;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size),
           fails ? MOOT_ERR_NO_MEMORY : MOOT_OK);
    meet(seat);
    too_much = 0;
    meet(seat);
    task = spawn_u64(seat, BIG, bytes + 1);
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    CHECK(seat, size == bytes + 1);
}

static void mismatched_kernel(struct seat *seat)
{
    moot_kernel kernel = {
        .name = "odd", .version = 1 + (seat->rank == 1), .fn = square};
    moot_kernel_id id;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &id), MOOT_OK);
    uint64_t x = 3;
    moot_task task;
    moot_task_spec spec = {.kernel = id, .args = &x, .args_size = sizeof(x)};
    int code = MOOT_OK;
    double begin = now_s();
    while (code == MOOT_OK && now_s() - begin < 20) { /* until each has heard */
        x++;
        code = moot_task_spawn(seat->m, &spec, &task);
        if (code == MOOT_OK) {
            code = moot_task_wait(seat->m, task, MOOT_FOREVER);
        }
    }
    bool odd_one_out = seat->rank == 1 || seat->rank == 0;
    if (odd_one_out || code != MOOT_OK) {
        CHECK(seat, code == MOOT_ERR_KERNEL_MISMATCH);
        CHECK(seat, told(seat, "rank 1 has version 2"));
        CHECK(seat, told(seat, "has version 1"));
    }
}

/* Rank 1 is the task's owner, and registers another kernel of that name when rank 0
 * waits already. */
static void a_conflict_ends_waits(struct seat *seat)
{
    moot_kernel kernel = {
        .name = "late", .version = 1 + (seat->rank == 1), .fn = square};
    moot_task task;
    moot_task_spec spec = {.owner = MOOT_ON(1)};
    if (seat->rank == 0) {
        EXPECT(seat, moot_kernel_register(seat->m, &kernel, &spec.kernel), MOOT_OK);
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_MILLISECONDS(100)),
               MOOT_ERR_TIMEOUT);
    }
    meet(seat);
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_MILLISECONDS(20000)),
               MOOT_ERR_KERNEL_MISMATCH);
        CHECK(seat, told(seat, "rank 1 has version 2"));
    } else {
        nap_ms(50);
        EXPECT(seat, moot_kernel_register(seat->m, &kernel, &spec.kernel), MOOT_OK);
    }
    meet(seat);
}

/* --- All of them ---------------------------------------------------------------- */

static const struct scene scenes[] = {
    SCENE(not_a_child, .knobs = NULL),
    SCENE(misuse_inside, .knobs = NULL),
    SCENE(error_chain, .knobs = NULL),
    SCENE(odd_kernels, .knobs = NULL),
    SCENE(a_failure_has_the_code_of_its_root, .knobs = NULL),
    SCENE(missing_fields, .knobs = NULL),
    SCENE(bad_input, .knobs = NULL),
    SCENE(the_moot_has_the_story, .knobs = NULL),
    SCENE(no_memory, .knobs = NULL),
    SCENE(mismatched_kernel, .sizes = {2, 3}),
    SCENE(a_conflict_ends_waits, .sizes = {2}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
