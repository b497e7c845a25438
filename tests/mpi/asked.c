/* asked.c - ranks that are asked to leave, and whose program knows nothing of it.
 *
 *     asked [PHASES STATUS [watch|ignore|sessions|once|early]]      a rank of the job
 *
 * Each phase, of five by itself, has 40 tasks, which take a millisecond each; every
 * rank leaves out one spawn of ten, another one than its neighbours.  Each phase's last
 * task takes all that all ranks spawn alike, and is fetched and checked.  A rank whose
 * calls return CLOSED closes, and ends with STATUS.  With `watch` it is told that it
 * was asked, and goes at the end of that phase; with `ignore` it is told, and stays;
 * with `sessions` each phase is a session of its own; with `once` tasks are once tasks;
 * with `early` the last rank has one phase.
 * Once the first phase has ended a rank says so.  ASKED_UNTIL, a file's name in its
 * environment: behind its sixth phase it waits until there is that file, or it is
 * asked.
 *
 * What must be true: every sum is right, on whatever rank it is fetched; and together
 * ranks have run as many kernels as there were tasks: nothing is lost, or runs twice.
 */
#include "node/api/moot_session.h"
#include "node/api/moot_watch.h"
#include "tests/mpi/support/must.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PHASES = 5, WIDTH = 40, SKIPPED_OF = 10 };

static atomic_bool asked;
static bool once;

/* 31 times the sum so far, and the next: of its argument and its inputs. */
static int add_up_slowly(moot_call *call, void *user)
{
    size_t size = 0;
    uint64_t sum = 0, word;
    (void)user;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    memcpy(&sum, moot_call_args(call, &size), sizeof(sum));
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        memcpy(&word, moot_call_input(call, i, &size), sizeof(word));
        sum = sum * 31 + word;
    }
    void *output = moot_call_output(call, sizeof(sum));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &sum, sizeof(sum));
    return MOOT_OK;
}

static void on_asked(void *user, const moot_event *event)
{
    printf("asked: rank %d is told: %s\n", event->rank, event->why);
    atomic_store(&asked, strcmp(user, "watch") == 0);
}

static void show(moot *m, const char *how)
{
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    printf("asked: rank %d ran %llu, lost %llu, %s\n", moot_rank(m),
           (unsigned long long)stats.tasks_run, (unsigned long long)stats.ranks_lost,
           how);
}

/* A call's end: false if this rank has gone. */
static bool goes_on(moot *m, int code, const char *what)
{
    if (code == MOOT_ERR_CLOSED) {
        printf("asked: rank %d: %s\n", moot_rank(m), moot_last_error(m));
        return false;
    }
    must(m, code, what);
    return true;
}

static bool spawn_one(moot *m, moot_kernel_id kernel, uint64_t number,
                      const moot_task *inputs, size_t count, moot_task *out)
{
    const moot_task_spec spec = {.kernel = kernel,
                                 .args = &number,
                                 .args_size = sizeof(number),
                                 .inputs = inputs,
                                 .input_count = count,
                                 .key = once ? &number : NULL,
                                 .key_size = once ? sizeof(number) : 0};
    return goes_on(m, moot_task_spawn(m, &spec, out), "spawn");
}

static void check_sum(moot *m, const void *data, size_t bytes, uint64_t sum)
{
    if (bytes != sizeof(sum) || memcmp(data, &sum, bytes) != 0) {
        fprintf(stderr, "asked: rank %d: a phase is wrong\n", moot_rank(m));
        exit(1);
    }
}

/* False: this rank has gone. */
static bool run_phase(moot *m, moot_kernel_id kernel, uint64_t phase, moot_task *all)
{
    moot_task tasks[WIDTH], shared[WIDTH];
    size_t count = 0, shared_count = 0, bytes = 0;
    uint64_t sum = phase;
    const void *data = NULL;
    const uint64_t rank = (uint64_t)moot_rank(m), size = (uint64_t)moot_size(m);
    for (uint64_t i = 0; i < WIDTH; i++) {
        const uint64_t number = phase * WIDTH + i;
        const bool partial = i % SKIPPED_OF == 0;
        if (partial && size > 1 && i / SKIPPED_OF % size == rank) {
            continue;
        }
        if (!spawn_one(m, kernel, number, NULL, 0, &tasks[count])) {
            return false;
        }
        if (!partial) {
            shared[shared_count++] = tasks[count];
            sum = sum * 31 + number;
        }
        count++;
    }
    if (!spawn_one(m, kernel, phase, shared, shared_count, all) ||
        !goes_on(m, moot_task_fetch(m, *all, MOOT_FOREVER, &data, &bytes), "fetch")) {
        return false;
    }
    check_sum(m, data, bytes, sum);
    return goes_on(m, moot_task_wait_all(m, tasks, count, MOOT_FOREVER), "wait");
}

/* The moot goes on in waits, though there is nothing left to wait for.  False: this
 * rank has gone. */
static bool stand_by(moot *m, moot_task last)
{
    const char *until = getenv("ASKED_UNTIL");
    bool here = true;
    while (here && until != NULL && !atomic_load(&asked) && access(until, F_OK) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        here = goes_on(m, moot_task_wait(m, last, MOOT_FOREVER), "wait");
    }
    return here;
}

/* Where it has gone that shows. */
static bool begin_session(moot *m, int phase)
{
    moot_session_info session;
    const bool here = goes_on(m, moot_session_next(m, NULL, &session), "next");
    if (!here) {
        must(m, moot_session_info_get(m, &session), "session");
    }
    if (here ? session.number != (uint64_t)phase + 2 || session.rank != moot_rank(m)
             : session.rank != -1) {
        fprintf(stderr, "asked: rank %d: it is not in session %d\n", moot_rank(m),
                phase + 2);
        exit(1);
    }
    return here;
}

static bool run(moot *m, moot_kernel_id kernel, int phases, bool sessions)
{
    for (int phase = 0; phase < phases; phase++) {
        moot_task last;
        if (!run_phase(m, kernel, (uint64_t)phase, &last)) {
            return false;
        }
        if (phase == 0 || phase == 5) {
            printf("asked: rank %d is past phase %d\n", moot_rank(m), phase);
            fflush(stdout);
        }
        if (phase == 5 && !stand_by(m, last)) {
            return false;
        }
        if (sessions && !begin_session(m, phase)) {
            return false;
        }
        if (atomic_load(&asked)) {
            must(m, moot_leave(m), "leave");
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    moot_watch_id watch;
    const int phases = argc > 1 ? (int)strtol(argv[1], NULL, 10) : PHASES;
    const int status = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    const char *mode = argc > 3 ? argv[3] : "";
    once = strcmp(mode, "once") == 0;
    const moot_kernel add_up = {
        .name = "add-up", .fn = add_up_slowly, .flags = once ? MOOT_KERNEL_ONCE : 0};
    must(m, moot_kernel_register(m, &add_up, &kernel), "kernel");
    if (strcmp(mode, "watch") == 0 || strcmp(mode, "ignore") == 0) {
        must(m,
             moot_watch_add(m,
                            &(moot_watch){.kinds = MOOT_EVENT_RANK_ASKED,
                                          .fn = on_asked,
                                          .user = argv[3]},
                            &watch),
             "watch");
    }
    const bool early = strcmp(mode, "early") == 0 && moot_rank(m) == moot_size(m) - 1;
    const bool stays =
        run(m, kernel, early ? 1 : phases, strcmp(mode, "sessions") == 0);
    show(m, stays ? "stays" : "goes");
    fflush(stdout);
    const int code = moot_close(m);
    return code != MOOT_OK ? 1 : stays ? 0 : status;
}
