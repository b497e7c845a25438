/* stalls.c - programs that stand still for a while, each for a reason of its own.
 *
 *     stalls CASE          a rank of the job; the cases stand in the table below
 *     stalls CASE FILE     stands still until there is such a file
 *
 * tests/cli/stalls_test.sh runs each with a short MOOT_STALL and reads the report: it
 * must name the reason.  Here is only that what waits ends as it should once the reason
 * is gone; and `none`, without an argument, is ranks that wait for nothing long, so
 * that nothing may be reported.
 */
#include "node/api/moot_checkpoint.h"
#include "node/api/moot_session.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STILL_MS = 2600, FILE_MS_MAX = 50000, NOBODY = 99, MANY = 400 };

struct work {
    uint64_t number;
    uint32_t slow_rank, ms; /* only there does it take so long */
};

struct scene {
    moot *m;
    moot_kernel_id work, once, parent, frail;
    int rank, size;
    const char *until; /* the file, or NULL */
    bool has_failed;
};

static void sleep_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Until there is the file; where none was named, for so long. */
static void stand_still_for(const struct scene *scene, unsigned ms_else)
{
    if (scene->until == NULL) {
        sleep_ms(ms_else);
        return;
    }
    for (int ms = 0; ms < FILE_MS_MAX && access(scene->until, F_OK) != 0; ms += 10) {
        sleep_ms(10);
    }
}

static void stand_still(const struct scene *scene) { stand_still_for(scene, STILL_MS); }

static int do_work(moot_call *call, void *user)
{
    const struct scene *scene = user;
    struct work work;
    size_t size = 0;
    memcpy(&work, moot_call_args(call, &size), sizeof(work));
    if ((int)work.slow_rank == scene->rank && work.ms > 0) {
        stand_still_for(scene, work.ms);
    }
    void *output = moot_call_output(call, sizeof(work.number));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &work.number, sizeof(work.number));
    return MOOT_OK;
}

/* Waits for a child, which takes long. */
static int do_parent(moot_call *call, void *user)
{
    const struct scene *scene = user;
    struct work work = {.number = 1, .slow_rank = 1, .ms = STILL_MS};
    moot_task child;
    int error = moot_call_spawn(call,
                                &(moot_task_spec){.kernel = scene->work,
                                                  .args = &work,
                                                  .args_size = sizeof(work),
                                                  .label = "child"},
                                &child);
    if (error == MOOT_OK) {
        error = moot_call_wait(call, child, NULL, NULL);
    }
    if (error != MOOT_OK) {
        return error;
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Fails the first time. */
static int do_frail(moot_call *call, void *user)
{
    struct scene *scene = user;
    if (!scene->has_failed) {
        scene->has_failed = true;
        return moot_call_fail(call, MOOT_ERR_TASK_FAILED, "the first time");
    }
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void must(const struct scene *scene, int code, int wanted, const char *what)
{
    if (code == wanted) {
        return;
    }
    (void)fprintf(stderr, "rank %d: %s gave %s: %s\n", scene->rank, what,
                  moot_err_name(code), moot_last_error(scene->m));
    exit(1);
}

#define MUST(call, code) must(scene, (call), (code), #call)

/* --- Tasks ------------------------------------------------------------------------ */

/* Changes the number until the task's chair is that rank. */
static void give_chair(struct scene *scene, struct work *work, moot_kernel_id kernel,
                       int chair, moot_hash *hash)
{
    moot_task_info info = {.chair = -1};
    while (info.chair != chair) {
        moot_task task;
        work->number += 1000;
        MUST(moot_spec_hash(scene->m,
                            &(moot_task_spec){.kernel = kernel,
                                              .args = work,
                                              .args_size = sizeof(*work),
                                              .key = "k",
                                              .key_size = 1},
                            hash),
             MOOT_OK);
        MUST(moot_task_find(scene->m, hash, &task), MOOT_OK);
        MUST(moot_task_info(scene->m, task, &info), MOOT_OK);
        MUST(moot_task_release(scene->m, task), MOOT_OK);
    }
}

static moot_task spawn(struct scene *scene, moot_kernel_id kernel,
                       const struct work *work, const char *label,
                       const moot_task *input)
{
    moot_task task;
    MUST(moot_task_spawn(scene->m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = work,
                                           .args_size = sizeof(*work),
                                           .inputs = input,
                                           .input_count = input != NULL,
                                           .key = "k",
                                           .key_size = 1,
                                           .label = label},
                         &task),
         MOOT_OK);
    return task;
}

static void wait_for(struct scene *scene, moot_task task, int code)
{
    MUST(moot_task_wait(scene->m, task, MOOT_FOREVER), code);
}

/* --- Cases ------------------------------------------------------------------------ */

static void none(struct scene *scene)
{
    struct work work = {.slow_rank = NOBODY};
    for (work.number = 0; work.number < 200; work.number++) {
        wait_for(scene, spawn(scene, scene->work, &work, "quick", NULL), MOOT_OK);
    }
}

/* Ranks 0 and 1 declare two tasks in opposite order. */
static void circle(struct scene *scene)
{
    struct work first = {.number = 1, .slow_rank = NOBODY}, second = {.number = 2};
    moot_task_spec a = {.kernel = scene->work,
                        .args = &first,
                        .args_size = sizeof(first),
                        .owner = MOOT_ON(0),
                        .label = "first"};
    moot_task_spec b = {.kernel = scene->work,
                        .args = &second,
                        .args_size = sizeof(second),
                        .owner = MOOT_ON(1),
                        .label = "second"};
    moot_task tasks[2];
    second.slow_rank = NOBODY;
    if (scene->rank == 0) {
        MUST(moot_task_spawn(scene->m, &b, &tasks[1]), MOOT_OK);
        a.after = &tasks[1];
        a.after_count = 1;
        MUST(moot_task_spawn(scene->m, &a, &tasks[0]), MOOT_OK);
    } else {
        MUST(moot_task_spawn(scene->m, &a, &tasks[0]), MOOT_OK);
        b.after = &tasks[0];
        b.after_count = 1;
        MUST(moot_task_spawn(scene->m, &b, &tasks[1]), MOOT_OK);
    }
    int code = moot_task_wait(scene->m, tasks[scene->rank], MOOT_FOREVER);
    if (code != MOOT_ERR_CYCLE && code != MOOT_ERR_TASK_FAILED && code != MOOT_OK) {
        must(scene, code, MOOT_ERR_CYCLE, "the wait");
    }
}

/* The moot would end the circle at once if rank 2 did not go on. */
static void cycle(struct scene *scene)
{
    if (scene->rank < 2) {
        circle(scene);
    } else {
        stand_still(scene);
    }
}

/* The chair is busy with something else; the others hold the task. */
static void undecided(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY}, other = work;
    moot_hash hash;
    other.number = 7;
    give_chair(scene, &other, scene->work, 1, &hash);
    (void)spawn(scene, scene->work, &other, "before", NULL);
    give_chair(scene, &work, scene->work, 2, &hash);
    if (scene->rank == 2) {
        stand_still(scene);
    } else {
        wait_for(scene, spawn(scene, scene->work, &work, "wanted", NULL), MOOT_OK);
    }
}

/* The same of more tasks than a rank tells of. */
static void many(struct scene *scene)
{
    struct work work = {.slow_rank = NOBODY};
    moot_task tasks[MANY];
    if (scene->rank == 2) {
        stand_still(scene);
        return;
    }
    for (work.number = 0; work.number < MANY; work.number++) {
        tasks[work.number] = spawn(scene, scene->work, &work, "of many", NULL);
    }
    MUST(moot_task_wait_all(scene->m, tasks, MANY, MOOT_FOREVER), MOOT_OK);
}

/* Rank 1 owns the task; the test kills it, and stops rank 2, without which there is no
 * majority. */
static void dead(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = 1, .ms = 20000};
    moot_hash hash;
    give_chair(scene, &work, scene->work, 1, &hash);
    wait_for(scene, spawn(scene, scene->work, &work, "orphan", NULL), MOOT_OK);
}

static void slow(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = 1, .ms = STILL_MS};
    moot_hash hash;
    give_chair(scene, &work, scene->work, 1, &hash);
    wait_for(scene, spawn(scene, scene->work, &work, "long", NULL), MOOT_OK);
}

/* Each rank is in a kernel that does not return for long, after one that did. */
static void endless(struct scene *scene)
{
    struct work work = {.ms = STILL_MS};
    moot_task_spec spec = {
        .kernel = scene->work, .args = &work, .args_size = sizeof(work)};
    for (int round = 0; round < 2; round++) {
        moot_task tasks[8];
        spec.label = round == 0 ? "quick" : "endless";
        for (int rank = 0; rank < scene->size; rank++) {
            work.number = (uint64_t)rank;
            work.slow_rank = round == 0 ? NOBODY : (uint32_t)rank;
            spec.owner = MOOT_ON(rank);
            MUST(moot_task_spawn(scene->m, &spec, &tasks[rank]), MOOT_OK);
        }
        MUST(moot_task_wait_all(scene->m, tasks, (size_t)scene->size, MOOT_FOREVER),
             MOOT_OK);
    }
}

/* Rank 1 owns both, and runs the one that nobody else waits for. */
static void behind(struct scene *scene)
{
    struct work first = {.number = 1, .slow_rank = 1, .ms = STILL_MS}, second = first;
    moot_hash hash;
    second.number = 9;
    second.ms = 1;
    give_chair(scene, &first, scene->work, 1, &hash);
    give_chair(scene, &second, scene->work, 1, &hash);
    (void)spawn(scene, scene->work, &first, "before", NULL);
    wait_for(scene, spawn(scene, scene->work, &second, "behind", NULL), MOOT_OK);
}

/* The kernel at rank 1 waits for its child there. */
static void nested(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    give_chair(scene, &work, scene->parent, 1, &hash);
    wait_for(scene, spawn(scene, scene->parent, &work, "parent", NULL), MOOT_OK);
}

/* It has failed at rank 1, and is tried again after a rest. */
static void resting(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    give_chair(scene, &work, scene->frail, 1, &hash);
    wait_for(scene, spawn(scene, scene->frail, &work, "frail", NULL), MOOT_OK);
}

/* Rank 1, the chair, does not hold it, and what rank 0 asks is lost. */
static void motion(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY}, other = work;
    moot_hash hash;
    other.number = 7;
    (void)spawn(scene, scene->work, &other, "before", NULL);
    give_chair(scene, &work, scene->work, 1, &hash);
    if (scene->rank == 1) {
        stand_still(scene);
    } else {
        wait_for(scene, spawn(scene, scene->work, &work, "unasked", NULL), MOOT_OK);
    }
}

/* Rank 1 has the result, and what it says to rank 0 is lost. */
static void lost(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    give_chair(scene, &work, scene->work, 1, &hash);
    wait_for(scene, spawn(scene, scene->work, &work, "posted", NULL), MOOT_OK);
}

/* The program of rank 1 is elsewhere, and nobody there moves messages: with
 * MOOT_PROGRESS=caller, or stopped by the test. */
static void silent(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    give_chair(scene, &work, scene->work, 1, &hash);
    moot_task task = spawn(scene, scene->work, &work, "unheard", NULL);
    if (scene->rank == 1) {
        stand_still(scene);
    }
    wait_for(scene, task, MOOT_OK);
}

static void nobody(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    moot_task task;
    give_chair(scene, &work, scene->work, 1, &hash);
    if (scene->rank == 2) {
        stand_still(scene);
        return;
    }
    if (scene->rank == 0) {
        MUST(moot_task_find(scene->m, &hash, &task), MOOT_OK);
    } else {
        MUST(moot_task_name(scene->m,
                            &(moot_task_spec){.kernel = scene->work,
                                              .args = &work,
                                              .args_size = sizeof(work),
                                              .key = "k",
                                              .key_size = 1,
                                              .label = "wanted"},
                            &task),
             MOOT_OK);
    }
    wait_for(scene, task, MOOT_ERR_NOT_HELD);
}

/* The same where the other rank is parked, in a place from which it may come back. */
static void parked(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    moot_task task;
    give_chair(scene, &work, scene->work, 1, &hash);
    if (scene->rank == 0) {
        MUST(moot_park(scene->m), MOOT_OK);
        stand_still(scene);
        MUST(moot_unpark(scene->m), MOOT_OK);
        return;
    }
    MUST(moot_task_find(scene->m, &hash, &task), MOOT_OK);
    wait_for(scene, task, MOOT_ERR_NOT_HELD);
}

/* Rank 1 is its only candidate, and the others alone have spawned it. */
static void barred(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_task task;
    if (scene->rank == 1) {
        stand_still(scene);
        return;
    }
    MUST(moot_task_spawn(scene->m,
                         &(moot_task_spec){.kernel = scene->work,
                                           .args = &work,
                                           .args_size = sizeof(work),
                                           .owner = MOOT_ON(1),
                                           .label = "of rank 1"},
                         &task),
         MOOT_OK);
    wait_for(scene, task, MOOT_ERR_NOT_HELD);
}

/* Rank 1 alone has spawned it; the test kills it, and nobody is left to run it. */
static void orphaned(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = 1, .ms = 20000};
    moot_hash hash;
    moot_task task;
    give_chair(scene, &work, scene->work, 0, &hash);
    if (scene->rank == 2) {
        stand_still(scene);
        return;
    }
    if (scene->rank == 1) {
        (void)spawn(scene, scene->work, &work, "orphan", NULL);
    }
    MUST(moot_task_find(scene->m, &hash, &task), MOOT_OK);
    wait_for(scene, task, MOOT_ERR_NOT_HELD);
    if (strstr(moot_last_error(scene->m), "; rank 1, which died, may have held it") ==
        NULL) {
        must(scene, MOOT_ERR_NOT_HELD, MOOT_OK, "a story without the dead");
    }
}

/* Rank 1 owns a task that is ready, and its program comes back late to run it. */
static void away(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    give_chair(scene, &work, scene->work, 1, &hash);
    moot_task task = spawn(scene, scene->work, &work, "ready", NULL);
    if (scene->rank == 1) {
        stand_still(scene);
    }
    wait_for(scene, task, MOOT_OK);
}

/* One rank comes late to the end. */
static void late_close(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    wait_for(scene, spawn(scene, scene->work, &work, "all", NULL), MOOT_OK);
    if (scene->rank == 1) {
        stand_still(scene);
    }
}

/* One rank comes late to where all meet. */
struct awaited {
    const struct scene *scene;
    moot_task task;
};

/* Runs the kernel, which has ended when it hears that it is cancelled, or is. */
static void *run_it(void *context)
{
    const struct awaited *awaited = context;
    (void)moot_task_wait(awaited->scene->m, awaited->task, MOOT_FOREVER);
    return NULL;
}

/* All have come, and rank 1's kernel runs; or rank 1 has not come. */
static void reload_behind(struct scene *scene, bool late)
{
    struct work work = {.number = 1, .slow_rank = 1, .ms = STILL_MS};
    const bool runs = scene->rank == 1 && !late;
    struct awaited awaited = {.scene = scene};
    pthread_t thread;
    moot_hash id;
    MUST(moot_checkpoint(scene->m, &(moot_checkpoint_options){.name = "here"}, &id),
         MOOT_OK);
    MUST(moot_barrier(scene->m), MOOT_OK);
    MUST(moot_checkpoint_find(scene->m, "here", &id), MOOT_OK);
    MUST(moot_barrier(scene->m), MOOT_OK);
    if (scene->rank == 1 && late) {
        stand_still(scene);
    } else if (runs) {
        moot_hash hash;
        give_chair(scene, &work, scene->work, 1, &hash);
        awaited.task = spawn(scene, scene->work, &work, "long", NULL);
        if (pthread_create(&thread, NULL, run_it, &awaited) != 0) {
            exit(1);
        }
        sleep_ms(300);
    }
    MUST(moot_checkpoint_reload(scene->m, &id), MOOT_OK);
    if (runs) {
        (void)pthread_join(thread, NULL);
        MUST(moot_task_release(scene->m, awaited.task), MOOT_OK);
    }
}

static void reload_kernel(struct scene *scene) { reload_behind(scene, false); }
static void reload_late(struct scene *scene) { reload_behind(scene, true); }

static void late_meeting(struct scene *scene)
{
    if (scene->rank == 1) {
        stand_still(scene);
    }
    MUST(moot_barrier(scene->m), MOOT_OK);
}

/* One rank comes late to the end of the session. */
static void late_session(struct scene *scene)
{
    if (scene->rank == 1) {
        stand_still(scene);
    }
    MUST(moot_session_next(scene->m, NULL, NULL), MOOT_OK);
}

/* Three tasks in a row, at three ranks; the first is undecided. */
static void chain(struct scene *scene)
{
    struct work work[3];
    moot_hash hashes[3];
    for (int i = 0; i < 3; i++) {
        work[i] = (struct work){.number = (uint64_t)i, .slow_rank = NOBODY};
        give_chair(scene, &work[i], scene->work, 3 - i, &hashes[i]);
    }
    if (scene->rank == 3) {
        stand_still(scene);
        return;
    }
    moot_task first = spawn(scene, scene->work, &work[0], "one", NULL);
    moot_task second = spawn(scene, scene->work, &work[1], "two", &first);
    wait_for(scene, spawn(scene, scene->work, &work[2], "three", &second), MOOT_OK);
}

/* Ranks 0 and 1 go in a circle, and rank 2 waits for a slow kernel of rank 3. */
static void two_causes(struct scene *scene)
{
    struct work work = {.number = 5, .slow_rank = 3, .ms = STILL_MS};
    moot_hash hash;
    if (scene->rank < 2) {
        circle(scene);
        return;
    }
    give_chair(scene, &work, scene->work, 3, &hash);
    wait_for(scene, spawn(scene, scene->work, &work, "long", NULL), MOOT_OK);
}

/* Rank 0 waits for rank 1, which the test stops, and the others for a kernel. */
static void stopped_and_slow(struct scene *scene)
{
    struct work work = {.number = 5, .slow_rank = 3, .ms = STILL_MS};
    moot_hash hash;
    if (scene->rank < 2) {
        silent(scene);
        return;
    }
    give_chair(scene, &work, scene->work, 3, &hash);
    wait_for(scene, spawn(scene, scene->work, &work, "long", NULL), MOOT_OK);
}

/* A once task whose voters are stopped by the test, but for its chair. */
static void voters(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    sleep_ms(400);
    give_chair(scene, &work, scene->once, 0, &hash);
    wait_for(scene, spawn(scene, scene->once, &work, "sworn", NULL), MOOT_OK);
}

/* A once task whose owner is heard by all, and hears no grant of the lease that it
 * needs: the test loses them. */
static void lease(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    sleep_ms(1500);
    give_chair(scene, &work, scene->once, 0, &hash);
    wait_for(scene, spawn(scene, scene->once, &work, "sworn", NULL), MOOT_OK);
}

/* In trust mode nobody votes. */
static void trust(struct scene *scene)
{
    struct work work = {.number = 1, .slow_rank = NOBODY};
    moot_hash hash;
    moot_task task;
    give_chair(scene, &work, scene->work, 0, &hash);
    if (scene->rank == 0) {
        MUST(moot_task_find(scene->m, &hash, &task), MOOT_OK);
        wait_for(scene, task, MOOT_ERR_STALLED);
    } else {
        task = spawn(scene, scene->work, &work, "apart", NULL);
        wait_for(scene, task, MOOT_ERR_STALLED);
    }
}

static const struct {
    const char *name;
    void (*run)(struct scene *scene);
    int close_code;
} cases[] = {
    {"none", none, MOOT_OK},
    {"cycle", cycle, MOOT_OK},
    {"undecided", undecided, MOOT_OK},
    {"dead", dead, MOOT_OK},
    {"slow", slow, MOOT_OK},
    {"lost", lost, MOOT_OK},
    {"silent", silent, MOOT_OK},
    {"nobody", nobody, MOOT_OK},
    {"parked", parked, MOOT_OK},
    {"away", away, MOOT_OK},
    {"close", late_close, MOOT_OK},
    {"meeting", late_meeting, MOOT_OK},
    {"reload-kernel", reload_kernel, MOOT_OK},
    {"reload-late", reload_late, MOOT_OK},
    {"session", late_session, MOOT_OK},
    {"chain", chain, MOOT_OK},
    {"two", two_causes, MOOT_OK},
    {"voters", voters, MOOT_OK},
    {"trust", trust, MOOT_ERR_STALLED},
    {"endless", endless, MOOT_OK},
    {"behind", behind, MOOT_OK},
    {"nested", nested, MOOT_OK},
    {"resting", resting, MOOT_OK},
    {"motion", motion, MOOT_OK},
    {"lease", lease, MOOT_OK},
    {"both", stopped_and_slow, MOOT_OK},
    {"many", many, MOOT_OK},
    {"orphaned", orphaned, MOOT_OK},
    {"barred", barred, MOOT_OK},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void kernel_add(struct scene *scene, const moot_kernel *kernel,
                       moot_kernel_id *out)
{
    moot_kernel of_scene = *kernel;
    of_scene.user = scene;
    MUST(moot_kernel_register(scene->m, &of_scene, out), MOOT_OK);
}

int main(int argc, char **argv)
{
    struct scene all = {0}, *scene = &all;
    const char *name = argc > 1 ? argv[1] : "none";
    int at = 0;
    while (at < CASES && strcmp(cases[at].name, name) != 0) {
        at++;
    }
    if (at == CASES) {
        (void)fprintf(stderr, "stalls: there is no case %s\n", name);
        return 2;
    }
    scene->until = argc > 2 ? argv[2] : NULL;
    MUST(moot_open(NULL, &scene->m), MOOT_OK);
    scene->rank = moot_rank(scene->m);
    scene->size = moot_size(scene->m);
    kernel_add(scene, &(moot_kernel){.name = "work", .fn = do_work}, &scene->work);
    kernel_add(scene,
               &(moot_kernel){.name = "oath", .fn = do_work, .flags = MOOT_KERNEL_ONCE},
               &scene->once);
    kernel_add(scene, &(moot_kernel){.name = "parent", .fn = do_parent},
               &scene->parent);
    kernel_add(scene,
               &(moot_kernel){.name = "frail",
                              .fn = do_frail,
                              .retries = 1,
                              .retry_backoff = STILL_MS * INT64_C(1000000)},
               &scene->frail);
    cases[at].run(scene);
    moot_stats stats;
    MUST(moot_stats_get(scene->m, &stats), MOOT_OK);
    if (strcmp(name, "none") == 0 && stats.stalls > 0) {
        must(scene, MOOT_ERR_STALLED, MOOT_OK, "nothing");
    }
    must(scene, moot_close(scene->m), cases[at].close_code, "moot_close");
    return 0;
}
