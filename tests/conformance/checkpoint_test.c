/* checkpoint_test.c - one job after another over one folder of results: what is found
 * does not run, what must not be found runs, and once tasks start once.
 *
 * A case is some jobs, each with ranks of its own, and a folder that they share.
 */
#include "node/config/text.h"
#include "node/diskstore/diskstore.h"
#include "tests/conformance/checkpoint_jobs.h"

enum { TASKS = 12, BIG_BYTES = 700000 };

static atomic_int resumed; /* steps that a kernel found done */

/* Does a step more than the run before, and fails until there are three. */
static int steps(moot_call *call, void *user)
{
    (void)user;
    uint64_t done = 0;
    size_t size = 0;
    const void *before = moot_call_resume(call, &size);
    if (before != NULL && size == sizeof(done)) {
        memcpy(&done, before, sizeof(done));
    }
    resumed = (int)done;
    done++;
    runs++;
    if (moot_call_checkpoint(call, &done, sizeof(done)) != MOOT_OK || done < 3) {
        return moot_call_fail(call, 8, "not yet");
    }
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = done;
    return MOOT_OK;
}

/* --- Cases ------------------------------------------------------------------------ */

static void counts(struct seat *seat)
{
    moot_task tasks[TASKS];
    for (uint64_t i = 0; i < TASKS; i++) {
        tasks[i] = spawn_u64(seat, COUNTED, i);
    }
    for (uint64_t i = 0; i < TASKS; i++) {
        CHECK(seat, fetch_u64(seat, tasks[i]) == i + 1);
    }
    add_up(seat);
}

static void results_are_found_by_other_ranks(void)
{
    for (int size = 1; size <= 4; size++) {
        begin_case(__func__);
        job(counts, size, NULL);
        MUST(runs == TASKS && found == 0);
        job(counts, 5 - size, NULL);
        MUST(runs == TASKS && found == TASKS);
    }
}

/* A result of no bytes, and one that has a file of its own. */
static void gives_no_and_many_bytes(struct seat *seat)
{
    const void *data = NULL;
    size_t size = 1;
    EXPECT(
        seat,
        moot_task_fetch(seat->m, spawn_u64(seat, EMPTY, 1), MOOT_FOREVER, &data, &size),
        MOOT_OK);
    CHECK(seat, size == 0);
    EXPECT(seat,
           moot_task_fetch(seat->m, spawn_u64(seat, BIG, BIG_BYTES), MOOT_FOREVER,
                           &data, &size),
           MOOT_OK);
    CHECK(seat, size == BIG_BYTES);
    for (uint64_t i = 0; i < size; i++) {
        CHECK(seat,
              ((const unsigned char *)data)[i] == (unsigned char)(i * 31 + i / 251));
    }
    add_up(seat);
}

static void results_of_all_sizes_are_found(void)
{
    begin_case(__func__);
    job(gives_no_and_many_bytes, 2, NULL);
    job(gives_no_and_many_bytes, 3, NULL);
    MUST(found == 2);
}

static void fails(struct seat *seat)
{
    EXPECT(seat, moot_task_wait(seat->m, spawn_u64(seat, FAILING, 1), MOOT_FOREVER),
           MOOT_ERR_TASK_FAILED);
    add_up(seat);
}

static void failures_run_again(void)
{
    begin_case(__func__);
    job(fails, 2, NULL);
    job(fails, 2, NULL);
    MUST(runs == 2 && found == 0);
}

static void fails_once(struct seat *seat)
{
    EXPECT(seat, moot_task_wait(seat->m, spawn_keyed(seat, ONCE_FAILING), MOOT_FOREVER),
           MOOT_ERR_TASK_FAILED);
    CHECK(seat, told(seat, "the pump is dry"));
    add_up(seat);
}

static void a_once_task_that_failed_has_failed(void)
{
    begin_case(__func__);
    job(fails_once, 3, NULL);
    job(fails_once, 2, NULL);
    MUST(runs == 1 && found == 1);
}

static void is_parent_once(struct seat *seat)
{
    EXPECT(seat, moot_task_wait(seat->m, spawn_keyed(seat, ONCE_PARENT), MOOT_FOREVER),
           MOOT_OK);
    add_up(seat);
}

static void a_once_task_that_waited_for_its_children_is_found(void)
{
    begin_case(__func__);
    job(is_parent_once, 2, NULL);
    MUST(runs == 2);
    job(is_parent_once, 3, NULL);
    MUST(runs == 2 && found == 1 && told_run == 0);
}

static int wanted;
static void leaves_once(struct seat *seat)
{
    EXPECT(seat, moot_task_wait(seat->m, spawn_keyed(seat, ONCE_LEAVER), MOOT_FOREVER),
           wanted);
    CHECK(seat, wanted == MOOT_OK ||
                    told(seat, "spawn it by another key to run it once more"));
    add_up(seat);
}

static void a_once_task_without_a_result_may_have_run(void)
{
    begin_case(__func__);
    wanted = MOOT_OK;
    job(leaves_once, 2, NULL);
    const int before = runs;
    wanted = MOOT_ERR_MAYBE_RAN;
    job(leaves_once, 3, NULL);
    MUST(runs == before && found == 0 && told_run == 0);
    wanted = MOOT_OK;
    job(leaves_once, 2, "MOOT_CHECKPOINT_ONCE=0");
    MUST(runs > before);
}

static atomic_ullong varied;
static void varies_once(struct seat *seat)
{
    varied = fetch_u64(seat, spawn_u64(seat, VARYING, 1));
    add_up(seat);
}

static void what_varies_is_stored_however_short(void)
{
    begin_case(__func__);
    job(varies_once, 2, "MOOT_CHECKPOINT_LEAST=1h");
    job(varies_once, 3, "MOOT_CHECKPOINT_LEAST=1h");
    MUST(runs == 1 && found == 1 && varied == 1);
}

static void short_tasks_are_not_stored(void)
{
    begin_case(__func__);
    job(counts, 2, "MOOT_CHECKPOINT_LEAST=1h");
    job(counts, 2, "MOOT_CHECKPOINT_LEAST=1h");
    MUST(runs == 2 * TASKS && found == 0);
}

static void labels(struct seat *seat)
{
    static const char *const names[] = {"keep-1", "keep-2", "kept", NULL};
    for (uint64_t i = 0; i < 4; i++) {
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[COUNTED],
                                                 .args = &i,
                                                 .args_size = sizeof(i),
                                                 .label = names[i]},
                               &task),
               MOOT_OK);
        CHECK(seat, fetch_u64(seat, task) == i + 1);
    }
    add_up(seat);
}

static void labels_say_what_is_stored(void)
{
    begin_case(__func__);
    job(labels, 2, "MOOT_CHECKPOINT_WHEN=label:keep-");
    job(labels, 2, "MOOT_CHECKPOINT_WHEN=label:keep-");
    MUST(runs == 6 && found == 2);
}

/* Results of this rank are stored when it calls, and not before. */
static void calls(struct seat *seat)
{
    counts(seat);
    CHECK(seat, stats_of(seat).results_stored == 0);
    EXPECT(seat, moot_checkpoint_flush(seat->m), MOOT_OK);
    CHECK(seat, stats_of(seat).results_stored == stats_of(seat).tasks_run);
    EXPECT(seat, moot_checkpoint_flush(NULL), MOOT_ERR_INVALID);
    meet(seat);
}

static void the_program_says_when(void)
{
    begin_case(__func__);
    job(calls, 3, "MOOT_CHECKPOINT_WHEN=call");
    job(counts, 2, NULL);
    MUST(runs == TASKS && found == TASKS);
}

/* All ask for one, and each for one of its own; all see the same. */
static void makes_snapshots(struct seat *seat)
{
    char own[32];
    moot_hash id, again, other;
    counts(seat);
    EXPECT(seat,
           moot_checkpoint(seat->m, &(moot_checkpoint_options){.name = "noon"}, &id),
           MOOT_OK);
    meet(seat);
    EXPECT(seat, moot_checkpoint_find(seat->m, "noon", &again), MOOT_OK);
    snprintf(own, sizeof(own), "of-%d", moot_rank(seat->m));
    EXPECT(seat,
           moot_checkpoint(seat->m, &(moot_checkpoint_options){.name = own}, &other),
           MOOT_OK);
    CHECK(seat, memcmp(&other, &id, sizeof(id)) != 0);
    EXPECT(seat, moot_checkpoint_find(seat->m, own, &again), MOOT_OK);
    CHECK(seat, memcmp(&other, &again, sizeof(id)) == 0);
    EXPECT(seat, moot_checkpoint_find(seat->m, "never", &again), MOOT_ERR_FILE);
    CHECK(seat, strstr(moot_last_error(seat->m), "no whole snapshot 'never'") != NULL);
    CHECK(seat, strstr(moot_last_error(seat->m), "'noon'") != NULL);
    EXPECT(seat, moot_checkpoint(seat->m, NULL, NULL), MOOT_OK);
    EXPECT(seat, moot_checkpoint(seat->m, &(moot_checkpoint_options){.name = ""}, &id),
           MOOT_ERR_INVALID);
    EXPECT(seat, moot_checkpoint(NULL, NULL, NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_checkpoint(seat->m, &(moot_checkpoint_options){.size = 8}, &id),
           MOOT_ERR_INVALID);
    meet(seat);
}

static void finds_snapshots(struct seat *seat)
{
    moot_hash id;
    EXPECT(seat, moot_checkpoint_find(seat->m, "noon", &id), MOOT_OK);
    EXPECT(seat, moot_checkpoint_find(seat->m, "of-2", &id), MOOT_OK);
    EXPECT(seat, moot_checkpoint_find(seat->m, "snapshot", &id), MOOT_OK);
    meet(seat);
}

static void ranks_agree_on_snapshots(void)
{
    begin_case(__func__);
    job(makes_snapshots, 3, NULL);
    job(finds_snapshots, 2, NULL);
    begin_case(__func__);
    job(makes_snapshots, 4, "MOOT_CHECKPOINT_WHEN=call");
    job(finds_snapshots, 1, NULL);
}

/* Written within the interval, not at the close alone. */
static void waits_for_the_interval(struct seat *seat)
{
    counts(seat);
    while (stats_of(seat).results_stored < stats_of(seat).tasks_run) {
        EXPECT(seat, moot_task_wait(seat->m, spawn_u64(seat, SLOW, 5), MOOT_FOREVER),
               MOOT_OK);
        nap_ms(5);
    }
    meet(seat);
}

static void results_are_stored_by_intervals(void)
{
    begin_case(__func__);
    job(waits_for_the_interval, 2, "MOOT_CHECKPOINT_WHEN=20ms");
    job(counts, 2, NULL);
    MUST(found == TASKS);
}

static void does_a_step(struct seat *seat)
{
    add_kernel(seat, STEPS, "steps", steps, 0);
    EXPECT(seat, moot_task_wait(seat->m, spawn_u64(seat, STEPS, 1), MOOT_FOREVER),
           wanted);
    add_up(seat);
}

static void a_kernel_finds_its_own_state(void)
{
    begin_case(__func__);
    for (int i = 0; i < 3; i++) {
        wanted = i < 2 ? MOOT_ERR_TASK_FAILED : MOOT_OK;
        job(does_a_step, 1 + i, NULL);
        MUST(resumed == i && runs == i + 1);
    }
    job(does_a_step, 2, NULL);
    MUST(runs == 3 && found == 1);
}

static const char *wanted_words;
static void is_big_once(struct seat *seat)
{
    EXPECT(seat, moot_task_wait(seat->m, spawn_keyed(seat, ONCE_BIG), MOOT_FOREVER),
           wanted);
    CHECK(seat, wanted == MOOT_OK || told(seat, wanted_words));
    add_up(seat);
}

static const char *changed_name;
static void (*change_file)(const char *path);
static int change_if_named(const char *path, const struct stat *about, int type,
                           struct FTW *where)
{
    const bool named = changed_name != NULL
                           ? strcmp(path + where->base, changed_name) == 0
                           : strstr(path, "/large/") != NULL;
    if (S_ISREG(about->st_mode) && type == FTW_F && named) {
        change_file(path);
    }
    return 0;
}

/* Changes the files of that name; NULL: all that have data. */
static void change_files(const char *name, void (*change)(const char *path))
{
    changed_name = name;
    change_file = change;
    MUST(nftw(folder, change_if_named, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static char hidden_path[256], hidden_as[256];

/* A link to itself is no damage, and cannot be read by anybody. */
static void hide_behind_link(const char *path)
{
    snprintf(hidden_path, sizeof(hidden_path), "%s", path);
    snprintf(hidden_as, sizeof(hidden_as), "%s/hidden", folder);
    MUST(rename(path, hidden_as) == 0 && symlink(path, path) == 0);
}

static void a_once_task_whose_end_cannot_be_read_has_ended(void)
{
    begin_case(__func__);
    wanted = MOOT_OK;
    job(is_big_once, 2, NULL);
    change_files(NULL, hide_behind_link);
    wanted = MOOT_ERR_FILE;
    wanted_words = "whose end is stored in the checkpoint";
    job(is_big_once, 2, NULL);
    MUST(found == 0 && told_run == 0);
    MUST(rename(hidden_as, hidden_path) == 0);
    wanted = MOOT_OK;
    job(is_big_once, 3, NULL);
    MUST(found == 1 && told_run == 0);
}

static void cut_to_nothing(const char *path) { MUST(truncate(path, 100) == 0); }

static void a_once_task_is_not_said_to_have_begun_where_nobody_can_tell(void)
{
    begin_case(__func__);
    job(counts, 1, NULL);
    change_files("data.mdb", cut_to_nothing);
    wanted = MOOT_ERR_MAYBE_RAN;
    wanted_words = "nobody can tell whether it began before";
    job(is_big_once, 2, NULL);
    MUST(found == 0 && told_run == 0);
}

static bool put_older(const moot_hash *hash, enum diskstore_kind kind)
{
    static const uint64_t value = 8;
    struct diskstore *store = NULL;
    const struct diskstore_options options = {0};
    struct text why = {0};
    const struct diskstore_record record = {.hash = *hash,
                                            .kind = kind,
                                            .kernel = "counted",
                                            .build = "older",
                                            .build_size = 5,
                                            .version = 1,
                                            .data = &value,
                                            .size = sizeof(value)};
    bool put = diskstore_open(folder, &options, &why, &store) == MOOT_OK &&
               diskstore_put_now(store, &record);
    diskstore_close(store);
    text_release(&why);
    return put;
}

static moot_hash older;
static void asks_for_hash(struct seat *seat) { older = hash_u64(seat, COUNTED, 7); }

static bool takes_older;
static void may_take_older(struct seat *seat)
{
    CHECK(seat, fetch_u64(seat, spawn_u64(seat, COUNTED, 7)) == 8);
    add_up(seat);
    CHECK(seat, reported(seat, "another build") ==
                    (takes_older && stats_of(seat).tasks_found > 0));
}

static void results_of_older_code_are_told_or_not_found(void)
{
    begin_case(__func__);
    job(asks_for_hash, 1, NULL);
    MUST(put_older(&older, DISKSTORE_RESULT));
    takes_older = true;
    job(may_take_older, 2, NULL);
    MUST(runs == 0 && found == 1);
    takes_older = false;
    job(may_take_older, 2, "MOOT_KERNEL_BY_BUILD=1");
    MUST(runs == 1 && found == 0);
}

int main(void)
{
    static void (*const cases[])(void) = {
        results_are_found_by_other_ranks,
        results_of_all_sizes_are_found,
        failures_run_again,
        a_once_task_that_failed_has_failed,
        a_once_task_that_waited_for_its_children_is_found,
        a_once_task_without_a_result_may_have_run,
        a_once_task_whose_end_cannot_be_read_has_ended,
        a_once_task_is_not_said_to_have_begun_where_nobody_can_tell,
        what_varies_is_stored_however_short,
        short_tasks_are_not_stored,
        labels_say_what_is_stored,
        the_program_says_when,
        ranks_agree_on_snapshots,
        results_are_stored_by_intervals,
        a_kernel_finds_its_own_state,
        results_of_older_code_are_told_or_not_found,
    };
    return run_cases("checkpoint-test", cases, sizeof(cases) / sizeof(cases[0]));
}
