/* checkpoint_inputs_test.c - what was made of a result that varies is found beside that
 * result, and not beside another one.
 *
 * A case is some jobs over one folder.  Between them an environment goes, as where a
 * host is gone that had stored there.
 */
#include "node/config/text.h"
#include "node/diskstore/disk_folder.h"
#include "tests/conformance/checkpoint_jobs.h"

enum { NAMES_MAX = 8 };

static char kept[NAMES_MAX][DISK_NAME_BYTES];
static size_t kept_count;

/* Notes the environments that there are now. */
static void note_folder(void)
{
    struct disk_env_name *all = NULL;
    MUST(disk_env_list(folder, NULL, &all, &kept_count) && kept_count <= NAMES_MAX);
    for (size_t i = 0; i < kept_count && i < NAMES_MAX; i++) {
        memcpy(kept[i], all[i].name, sizeof(kept[i]));
    }
    free(all);
}

static void lose_noted(void)
{
    for (size_t i = 0; i < kept_count; i++) {
        disk_env_remove(folder, kept[i]);
    }
}

/* --- Results ---------------------------------------------------------------------- */

static bool is_told;

/* A task that varies, too, and takes an input. */
static moot_task spawn_varying(struct seat *seat, const moot_task *input)
{
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[VARYING],
                                             .inputs = input,
                                             .input_count = 1},
                           &task),
           MOOT_OK);
    return task;
}

/* A value, what is made of it alone, and what is made of that and of one more. */
static void adds_to_what_varies(struct seat *seat)
{
    moot_task inputs[2] = {spawn_u64(seat, VARYING, 1), spawn_u64(seat, COUNTED, 6)};
    const moot_task more = spawn_sum(seat, inputs, 1, 100);
    const uint64_t value = fetch_u64(seat, inputs[0]);
    CHECK(seat, fetch_u64(seat, more) == value + 100);
    CHECK(seat, fetch_u64(seat, spawn_varying(seat, &more)) > value);
    inputs[0] = more;
    CHECK(seat, fetch_u64(seat, spawn_sum(seat, inputs, 2, 1000)) == value + 1107);
    meet(seat);
    if (reported(seat, "inputs with other bytes")) {
        is_told = true;
    }
    add_up(seat);
}

static void finds_what_varies(struct seat *seat)
{
    (void)fetch_u64(seat, spawn_u64(seat, VARYING, 1));
    add_up(seat);
}

static void a_result_of_other_inputs_is_made_anew(void)
{
    for (int ranks = 1; ranks <= 3; ranks++) {
        begin_case(__func__);
        job(finds_what_varies, ranks, NULL);
        note_folder();
        is_told = false;
        job(adds_to_what_varies, 4 - ranks, NULL);
        MUST(found == 1 && told_run == 4);
        job(adds_to_what_varies, ranks, NULL);
        MUST(found == 5 && told_run == 0 && !is_told);
        lose_noted();
        job(adds_to_what_varies, ranks, NULL);
        MUST(found == 1 && told_run == 4 && is_told);
        is_told = false;
        job(adds_to_what_varies, 2, NULL);
        MUST(found == 5 && told_run == 0 && !is_told);
    }
}

/* --- Half-done state -------------------------------------------------------------- */

static bool state_is_there;

/* Stores its input as its state, and fails. */
static int stores_input(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *input = moot_call_input(call, 0, NULL);
    const uint64_t *before = moot_call_resume(call, NULL);
    state_is_there = before != NULL;
    if (before != NULL && *before != *input) {
        return moot_call_fail(call, 9, "it is another's");
    }
    return moot_call_checkpoint(call, input, sizeof(*input)) == MOOT_OK
               ? moot_call_fail(call, 8, "not yet")
               : MOOT_ERR_NO_MEMORY;
}

static void fails_half_done(struct seat *seat)
{
    add_kernel(seat, STEPS, "stores-input", stores_input, 0);
    const moot_task input = spawn_u64(seat, VARYING, 1);
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[STEPS],
                                             .inputs = &input,
                                             .input_count = 1},
                           &task),
           MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "not yet"));
    add_up(seat);
}

static void half_done_state_of_other_inputs_is_not_found(void)
{
    begin_case(__func__);
    job(finds_what_varies, 1, NULL);
    note_folder();
    job(fails_half_done, 2, NULL);
    MUST(!state_is_there);
    job(fails_half_done, 2, NULL);
    MUST(state_is_there);
    lose_noted();
    job(fails_half_done, 2, NULL);
    MUST(!state_is_there);
}

/* --- Once tasks ------------------------------------------------------------------- */

static int once_adds(moot_call *call, void *user)
{
    runs++;
    return sum(call, user);
}

static uint64_t once_value;

static void adds_once(struct seat *seat)
{
    add_kernel(seat, STEPS, "once-adds", once_adds, MOOT_KERNEL_ONCE);
    const moot_task input = spawn_u64(seat, VARYING, 1);
    moot_task task;
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[STEPS],
                                             .inputs = &input,
                                             .input_count = 1,
                                             .key = "k",
                                             .key_size = 1},
                           &task),
           MOOT_OK);
    once_value = fetch_u64(seat, task);
    add_up(seat);
}

static void a_once_task_has_run_whatever_its_inputs_are_now(void)
{
    begin_case(__func__);
    job(finds_what_varies, 1, NULL);
    note_folder();
    job(adds_once, 1, NULL);
    const uint64_t value = once_value;
    const int before = runs;
    lose_noted();
    job(adds_once, 1, NULL);
    MUST(once_value == value && found == 1);
    MUST(runs == before + 1); /* what varies */
}

int main(void)
{
    static void (*const cases[])(void) = {
        a_result_of_other_inputs_is_made_anew,
        half_done_state_of_other_inputs_is_not_found,
        a_once_task_has_run_whatever_its_inputs_are_now,
    };
    return run_cases("checkpoint-inputs-test", cases, sizeof(cases) / sizeof(cases[0]));
}
