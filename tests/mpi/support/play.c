/* play.c - see play.h. */
#include "tests/mpi/support/play_regions.h"

#include "hashing/identity.h"
#include "node/api/moot_watch.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct lane_play {
    struct play *play;
    uint32_t lane;
    moot_task *handles; /* per task; 0: not known to this lane */
    uint32_t meetings;  /* that it has come to */
    struct regions regions;
    pthread_t thread;
};

/* --- The kernel: what program.h says that kernels do ------------------------------ */

static int spawn_children(moot_call *call, const struct play *play, uint32_t index,
                          moot_task *handles)
{
    const struct program_task *task = task_of(play, index);
    for (uint32_t i = 0; i < task->children.count; i++) {
        uint32_t child = task->children.items[i];
        struct spec_parts parts;
        moot_task_spec spec = play_spec(play, child, &parts);
        play_spec_inputs(play, child, handles, &parts, &spec);
        int code = moot_call_spawn(call, &spec, &handles[child]);
        play_spec_drop(&parts);
        if (code != MOOT_OK) {
            CHECK(false, "spawning %s inside %s gave %s", task_of(play, child)->name,
                  task->name, moot_err_name(code));
            return moot_call_fail(call, code, "a child was refused");
        }
        play_check_hash(play, child, handles[child]);
    }
    return MOOT_OK;
}

/* The bytes of a result that a kernel sees. */
static void check_part(const struct play *play, uint32_t index, uint32_t part,
                       const struct program_bytes *bytes)
{
    size_t size = 0;
    const uint8_t *wanted = program_result(play->program, part, &size);
    CHECK(bytes->size == size && (size == 0 || memcmp(bytes->data, wanted, size) == 0),
          "%s sees other bytes of %s (%zu of %zu)", task_of(play, index)->name,
          task_of(play, part)->name, bytes->size, size);
}

static int gather_parts(moot_call *call, const struct play *play, uint32_t index,
                        const moot_task *handles, struct program_bytes *parts,
                        size_t *count)
{
    const struct program_task *task = task_of(play, index);
    size_t inputs = moot_call_input_count(call);
    CHECK(inputs == task->inputs.count, "%s has %zu inputs", task->name, inputs);
    for (*count = 0; *count < inputs; (*count)++) {
        parts[*count].data = moot_call_input(call, *count, &parts[*count].size);
        check_part(play, index, task->inputs.items[*count], &parts[*count]);
    }
    int failed = MOOT_OK;
    for (uint32_t i = 0; i < task->children.count; i++) {
        uint32_t child = task->children.items[i];
        if (!task_of(play, child)->awaited) {
            continue;
        }
        int code = moot_call_wait(call, handles[child], &parts[*count].data,
                                  &parts[*count].size);
        CHECK((code != MOOT_OK) == program_fails(play->program, child),
              "%s inside %s ended with %s", task_of(play, child)->name, task->name,
              moot_err_name(code));
        if (code == MOOT_OK) {
            check_part(play, index, child, &parts[*count]);
        }
        (*count)++;
        failed = failed != MOOT_OK ? failed : code;
    }
    return failed;
}

static int compute(moot_call *call, const struct play *play, uint32_t index,
                   moot_task *handles, struct program_bytes *parts)
{
    const struct program_task *task = task_of(play, index);
    size_t count = 0;
    int code = spawn_children(call, play, index, handles);
    if (code == MOOT_OK) {
        code = gather_parts(call, play, index, handles, parts, &count);
    }
    if (code != MOOT_OK) {
        return moot_call_fail(call, code, "a child failed");
    }
    void *out = moot_call_output(call, task->result_bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (task->result_bytes > 0) {
        program_compute(play->program, index, parts, count, out);
    }
    return MOOT_OK;
}

static int mix(moot_call *call, void *user)
{
    struct play *play = user;
    size_t size = 0;
    const void *args = moot_call_args(call, &size);
    uint32_t index = program_args_task(play->program, args, size);
    if (index >= play->program->task_count) {
        CHECK(false, "a kernel runs on arguments that are not this program's");
        return moot_call_fail(call, 1, "not this program's arguments");
    }
    const struct program_task *task = task_of(play, index);
    play->runs[index]++;
    CHECK(hash_equal(moot_call_hash(call), &play->hashes[index]),
          "%s runs under another hash", task->name);
    if (task->fails) {
        return moot_call_fail(call, 7, "the program says so");
    }
    if (task->work_us >= 50) {
        harness_sleep_us(task->work_us);
    }
    moot_task *handles = harness_alloc(play->program->task_count, sizeof(*handles));
    struct program_bytes *parts = harness_alloc(
        (size_t)task->inputs.count + task->children.count, sizeof(*parts));
    int code = compute(call, play, index, handles, parts);
    free(parts);
    free(handles);
    return code;
}

/* --- Steps ------------------------------------------------------------------------ */

static moot_task handle_of(struct lane_play *lane, uint32_t task)
{
    const struct play *play = lane->play;
    if (lane->handles[task].id == 0) {
        CHECK_OK(moot_task_find(play->m, &play->hashes[task], &lane->handles[task]));
        play_check_hash(play, task, lane->handles[task]);
    }
    return lane->handles[task];
}

static void spawn(struct lane_play *lane, uint32_t index)
{
    const struct play *play = lane->play;
    const struct program_task *task = task_of(play, index);
    struct spec_parts parts;
    moot_task_spec spec = play_spec(play, index, &parts);
    play_spec_inputs(play, index, lane->handles, &parts, &spec);
    for (uint32_t i = 0; i < task->after.count; i++) {
        parts.after[spec.after_count++] = handle_of(lane, task->after.items[i]);
    }
    moot_task handle;
    if (CHECK_OK(moot_task_spawn(play->m, &spec, &handle))) {
        lane->handles[index] = handle;
        if (play->regions) {
            regions_spawned(&lane->regions, index);
        }
        play_check_hash(play, index, handle);
        if (task->cancellers >> play->rank & 1) {
            CHECK_OK(moot_task_cancel(play->m, handle));
        }
    }
    play_spec_drop(&parts);
}

/* The end of a wait for the task must be what the oracle says. */
static bool check_end(const struct play *play, uint32_t task, int code)
{
    if (task_of(play, task)->cancellers != 0 &&
        (code == MOOT_OK || code == MOOT_ERR_CANCELLED)) {
        play->ends[task] |= code == MOOT_OK ? PLAY_SAW_RESULT : PLAY_SAW_CANCELLED;
        if (code == MOOT_ERR_CANCELLED) {
            return true;
        }
    }
    bool right = (code != MOOT_OK) == program_fails(play->program, task);
    if (program_ghost(play->program, task)) {
        right = code == MOOT_ERR_NOT_HELD;
    } else if (code != MOOT_OK) {
        right = right &&
                (code == MOOT_ERR_TASK_FAILED ||
                 (play->program->outcomes[task].ghostly && code == MOOT_ERR_NOT_HELD));
    }
    CHECK(right, "the wait for %s ended with %s%s%s", task_of(play, task)->name,
          moot_err_name(code), code != MOOT_OK ? ": " : "",
          code != MOOT_OK ? moot_last_error(play->m) : "");
    return right;
}

static void fetch(struct lane_play *lane, uint32_t task)
{
    const struct play *play = lane->play;
    const void *data = NULL;
    size_t size = 0, wanted_size = 0;
    int code =
        moot_task_fetch(play->m, handle_of(lane, task), MOOT_FOREVER, &data, &size);
    if (!check_end(play, task, code) || code != MOOT_OK) {
        return;
    }
    const uint8_t *wanted = program_result(play->program, task, &wanted_size);
    CHECK(data != NULL && size == wanted_size &&
              (size == 0 || memcmp(data, wanted, size) == 0),
          "%s gave other bytes (%zu of %zu)", task_of(play, task)->name, size,
          wanted_size);
}

static bool was_cancelled(const struct play *play, uint32_t task)
{
    moot_task handle;
    CHECK_OK(moot_task_find(play->m, &play->hashes[task], &handle));
    bool cancelled = moot_task_wait(play->m, handle, 0) == MOOT_ERR_CANCELLED;
    CHECK_OK(moot_task_release(play->m, handle));
    return cancelled;
}

static void wait_all(struct lane_play *lane, const struct program_list *list)
{
    const struct play *play = lane->play;
    moot_task *handles = harness_alloc(list->count, sizeof(*handles));
    for (uint32_t i = 0; i < list->count; i++) {
        handles[i] = handle_of(lane, list->items[i]);
    }
    int code = moot_task_wait_all(play->m, handles, list->count, MOOT_FOREVER);
    uint32_t first = 0;
    while (first + 1 < list->count &&
           !program_fails(play->program, list->items[first]) &&
           !(code == MOOT_ERR_CANCELLED && was_cancelled(play, list->items[first]))) {
        first++;
    }
    (void)check_end(play, list->items[first], code);
    free(handles);
}

static void wait_any(struct lane_play *lane, const struct program_list *list)
{
    const struct play *play = lane->play;
    moot_task *handles = harness_alloc(list->count, sizeof(*handles));
    for (uint32_t i = 0; i < list->count; i++) {
        handles[i] = handle_of(lane, list->items[i]);
    }
    size_t which = list->count;
    int code = moot_task_wait_any(play->m, handles, list->count, MOOT_FOREVER, &which);
    CHECK(which < list->count, "wait_any says that number %zu of %u ended", which,
          list->count);
    if (which < list->count) {
        (void)check_end(play, list->items[which], code);
    }
    free(handles);
}

/* Whether all ranks that come to the meeting, numbered from 0, come for one purpose. */
static bool meets_alike(const struct program *program, uint32_t meeting)
{
    bool any = false, alike = true;
    uint32_t purpose = 0;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        const struct program_script *script = program_script(program, rank, 0);
        uint32_t left = meeting;
        for (uint32_t i = 0; i < script->count; i++) {
            const struct program_step *step = &script->steps[i];
            if (step->op != PROGRAM_MEET || left-- > 0) {
                continue;
            }
            alike &= !any || step->purpose == purpose;
            purpose = step->purpose;
            any = true;
            break;
        }
    }
    return alike;
}

static int pass_over(void *user, const moot_task_info *info)
{
    (void)user;
    (void)info;
    return MOOT_OK;
}

/* By another call for another purpose. */
static void meet(struct lane_play *lane, const struct program_step *step)
{
    moot *m = lane->play->m;
    bool alike = meets_alike(lane->play->program, lane->meetings++);
    int code = step->purpose == 0 ? moot_barrier(m)
                                  : moot_scope_tasks(m, NULL, pass_over, NULL);
    CHECK(code == (alike ? MOOT_OK : MOOT_ERR_STATE), "meeting %u ends with %d",
          (unsigned)lane->meetings, code);
}

static void take_step(struct lane_play *lane, const struct program_step *step)
{
    moot *m = lane->play->m;
    uint32_t first = step->tasks.count > 0 ? step->tasks.items[0] : 0;
    int code = MOOT_OK;
    switch (step->op) {
    case PROGRAM_SPAWN:
        spawn(lane, first);
        break;
    case PROGRAM_GROW: /* of arrays, which these programs have none of */
        break;
    case PROGRAM_DECLINE:
        CHECK_OK(moot_decline(m, &lane->play->hashes[first]));
        break;
    case PROGRAM_CANCEL:
        CHECK_OK(moot_task_cancel(m, handle_of(lane, first)));
        break;
    case PROGRAM_WAIT_ALL:
        wait_all(lane, &step->tasks);
        break;
    case PROGRAM_WAIT_ANY:
        wait_any(lane, &step->tasks);
        break;
    case PROGRAM_FETCH:
        fetch(lane, first);
        break;
    case PROGRAM_POLL:
        code = moot_task_wait(m, handle_of(lane, first),
                              (moot_duration)step->pause_us * 1000);
        /* It may stand anywhere, also before somebody spawns the task. */
        if (code != MOOT_ERR_TIMEOUT && code != MOOT_ERR_NOT_HELD) {
            (void)check_end(lane->play, first, code);
        }
        break;
    case PROGRAM_COMPUTE:
        harness_sleep_us(step->pause_us);
        break;
    case PROGRAM_SNAPSHOT:
    case PROGRAM_RELOAD:
        break; /* of no program that is drawn */
    case PROGRAM_PARK:
        CHECK_OK(moot_park(m));
        harness_sleep_us(step->pause_us);
        CHECK_OK(moot_unpark(m));
        break;
    case PROGRAM_BARRIER:
        CHECK_OK(moot_park(m));
        harness_barrier();
        CHECK_OK(moot_unpark(m));
        break;
    case PROGRAM_MEET:
        meet(lane, step);
        break;
    case PROGRAM_SESSION: /* of programs for the simulator */
        break;
    }
}

/* --- Lanes ------------------------------------------------------------------------ */

static void *play_lane(void *argument)
{
    struct lane_play *lane = argument;
    struct play *play = lane->play;
    if (play->lanes_ready != NULL) {
        /* A thread that is not a lane yet could not keep the moot from concluding that
         * nobody will ever spawn what it is about to. */
        CHECK_OK(moot_park(play->m));
        CHECK_OK(moot_unpark(play->m));
        (void)pthread_barrier_wait(play->lanes_ready);
    }
    lane->handles = harness_alloc(play->program->task_count, sizeof(*lane->handles));
    const struct program_script *script =
        program_script(play->program, play->rank, lane->lane);
    if (play->regions) {
        regions_begin(&lane->regions, play, lane->lane, lane->handles);
    }
    for (uint32_t i = 0; i < script->count; i++) {
        if (play->regions) {
            regions_before(&lane->regions, i);
        }
        take_step(lane, &script->steps[i]);
    }
    if (play->regions) {
        regions_end(&lane->regions);
    }
    for (uint32_t i = 0; i < play->program->task_count; i += 2) {
        if (lane->handles[i].id != 0) {
            CHECK_OK(moot_task_release(play->m, lane->handles[i]));
        }
    }
    free(lane->handles);
    return NULL;
}

static void play_lanes(struct play *play)
{
    uint32_t count = play->program->lane_count;
    struct lane_play lanes[PROGRAM_LANES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        lanes[i] = (struct lane_play){.play = play, .lane = i};
    }
    if (count == 1) {
        (void)play_lane(&lanes[0]);
        return;
    }
    pthread_barrier_t ready;
    (void)pthread_barrier_init(&ready, NULL, count);
    play->lanes_ready = &ready;
    for (uint32_t i = 0; i < count; i++) {
        if (pthread_create(&lanes[i].thread, NULL, play_lane, &lanes[i]) != 0) {
            harness_abort(2);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(lanes[i].thread, NULL);
    }
    (void)pthread_barrier_destroy(&ready);
}

/* --- The whole -------------------------------------------------------------------- */

static void add_up_stats(struct play *play)
{
    uint64_t words[sizeof(play->stats) / sizeof(uint64_t)];
    static_assert(sizeof(words) == sizeof(play->stats), "stats are words");
    memcpy(words, &play->stats, sizeof(words));
    harness_sum(words, sizeof(words) / sizeof(words[0]));
    memcpy(&play->stats, words, sizeof(words));
}

static void check_run(const struct play *play, uint32_t index, uint64_t runs,
                      uint64_t saw_result, uint64_t saw_cancelled)
{
    const struct program_task *task = task_of(play, index);
    uint64_t wanted = program_runs(play->program, index) ? 1 : 0;
    CHECK(saw_result == 0 || saw_cancelled == 0,
          "some saw the result of %s, and some saw it cancelled", task->name);
    if (saw_cancelled > 0 || (task->cancellers != 0 && saw_result == 0 && runs == 0)) {
        wanted = 0;
    }
    CHECK(runs == wanted, "%s ran %llu times in the job, not %llu", task->name,
          (unsigned long long)runs, (unsigned long long)wanted);
}

static void check_runs(const struct play *play)
{
    uint32_t count = play->program->task_count;
    uint64_t *seen = harness_alloc((size_t)count * 3, sizeof(*seen));
    for (uint32_t i = 0; i < count; i++) {
        seen[3 * i] = play->runs[i];
        seen[3 * i + 1] = (play->ends[i] & PLAY_SAW_RESULT) != 0;
        seen[3 * i + 2] = (play->ends[i] & PLAY_SAW_CANCELLED) != 0;
    }
    harness_sum(seen, (size_t)count * 3);
    for (uint32_t i = 0; i < count && play->rank == 0; i++) {
        check_run(play, i, seen[3 * i], seen[3 * i + 1], seen[3 * i + 2]);
    }
    free(seen);
}

static void open_moot(struct play *play, const char *const *knobs)
{
    int code = harness_moot_open(&(moot_options){.knobs = knobs}, &play->m);
    if (code != MOOT_OK) {
        CHECK(false, "no moot: %s", moot_last_error(NULL));
        harness_abort(1);
    }
    harness_explain_with(play->m);
    for (uint32_t i = 0; i < PROGRAM_KERNELS; i++) {
        uint32_t flags =
            ((i & PROGRAM_KERNEL_ONCE) ? MOOT_KERNEL_ONCE : 0u) |
            ((i & PROGRAM_KERNEL_PORTABLE) ? MOOT_KERNEL_PORTABLE : 0u) |
            ((i & PROGRAM_KERNEL_IDEMPOTENT) ? MOOT_KERNEL_IDEMPOTENT : 0u);
        CHECK_OK(moot_kernel_register(play->m,
                                      &(moot_kernel){.name = program_kernel_name(i),
                                                     .version = 1,
                                                     .fn = mix,
                                                     .user = play,
                                                     .flags = flags},
                                      &play->kernels[i]));
    }
}

static void settle_and_look(struct play *play, bool settle, play_look_fn look)
{
    if (settle) {
        CHECK_OK(moot_park(play->m));
        harness_barrier();
        CHECK_OK(moot_unpark(play->m));
    }
    CHECK_OK(moot_stats_get(play->m, &play->stats));
    CHECK(play->stats.stalls == 0, "a wait stalled");
    CHECK(play->stats.violations == 0, "%llu invariants were broken",
          (unsigned long long)play->stats.violations);
    if (settle) {
        add_up_stats(play);
    }
    if (look != NULL) {
        look(play);
    }
}

static void play_it(const struct program *program, const char *const *knobs,
                    bool settle, bool regions, play_look_fn look)
{
    struct play play = {.program = program,
                        .regions = regions,
                        .rank = (uint32_t)harness_rank(),
                        .begun_ns = harness_now_ns()};
    play.hashes = harness_alloc(program->task_count, sizeof(*play.hashes));
    play.runs = harness_alloc(program->task_count, sizeof(*play.runs));
    play.ends = harness_alloc(program->task_count, sizeof(*play.ends));
    open_moot(&play, knobs);
    for (uint32_t i = 0; i < program->task_count; i++) {
        play_identify(&play, i);
    }
    play_lanes(&play);
    settle_and_look(&play, settle, look);
    CHECK_OK(moot_close(play.m));
    harness_explain_with(NULL);
    check_runs(&play);
    free(play.hashes);
    free(play.runs);
    free(play.ends);
}

void play_program(const struct program *program, const char *const *knobs, bool settle,
                  play_look_fn look)
{
    play_it(program, knobs, settle, false, look);
}

void play_program_in_regions(const struct program *program, const char *const *knobs)
{
    play_it(program, knobs, false, true, NULL);
}
