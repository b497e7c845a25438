/* sessions.c - a program whose ranks are numbered anew between its sessions, as some
 * go.
 *
 *     sessions COUNT [PROCESS@SESSION...]     a rank of the job
 *
 * COUNT sessions of 60 tasks.  A PROCESS, by its number, goes at the end of the SESSION
 * that stands behind it.  In each session every rank has tasks of its own, by its rank
 * then; leaves out one spawn of ten, another one than its neighbours; and names the
 * same once task, which the first session made.  One that goes has a task in an open
 * queue.  A result of the first session is held through all of them and fetched in the
 * last.
 *
 * These must be true: ranks are 0 to size - 1, in the order of the processes; every sum
 * is right; each task runs on the rank that it was spawned for; the kernels that all
 * ranks have run are as many as there were tasks.  Each rank prints its sets, and how
 * many kernels it has run.
 */
#include "node/api/moot_session.h"
#include "tests/mpi/support/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 60, SKIPPED_OF = 10, HELD = 5 };

static void fail(const moot_session_info *session, const char *what)
{
    fprintf(stderr, "sessions: %s in session %llu: %s\n", session->process,
            (unsigned long long)session->number, what);
    exit(1);
}

static bool goes(int argc, char **argv, const moot_session_info *session)
{
    for (int i = 2; i < argc; i++) {
        int who = -1;
        unsigned long long when = 0;
        if (sscanf(argv[i], "%d@%llu", &who, &when) == 2 && when == session->number &&
            who == (int)strtol(session->process + 2, NULL, 10)) {
            return true;
        }
    }
    return false;
}

/* As that document prints them: the set's name, its processes, whether it is valid. */
static void print_sets(moot *m, const moot_session_info *session)
{
    char line[1024];
    for (size_t i = 0; i < moot_pset_count(m); i++) {
        moot_pset_info set;
        must(m, moot_pset_info(m, i, &set), "pset");
        size_t at = (size_t)snprintf(line, sizeof(line), "set %llu %s: %s",
                                     (unsigned long long)session->number,
                                     session->process, set.name);
        for (size_t k = 0; k < set.size && at < sizeof(line); k++) {
            at += (size_t)snprintf(line + at, sizeof(line) - at, " %s=%d",
                                   set.processes[k], set.ranks[k]);
        }
        printf("%s %s\n", line, set.valid ? "valid" : "invalid");
    }
}

static uint64_t fetch(moot *m, moot_task task)
{
    uint64_t word = 0;
    size_t size = 0;
    must(m, moot_task_fetch_into(m, task, MOOT_FOREVER, &word, sizeof(word), &size),
         "fetch");
    return word;
}

/* The task ran there with this result; or that rank has died. */
static void check_own(moot *m, moot_task task, const moot_session_info *session,
                      int rank, uint64_t number)
{
    uint64_t word = 0;
    moot_task_info info;
    const int code =
        moot_task_fetch_into(m, task, MOOT_FOREVER, &word, sizeof(word), NULL);
    if (code == MOOT_ERR_NO_CANDIDATE && !moot_present(m, rank)) {
        return;
    }
    must(m, code, "own");
    must(m, moot_task_info(m, task, &info), "info");
    if (word != number || info.owner != rank) {
        fail(session, "a rank's own task is wrong, or ran on another rank");
    }
}

/* A task for each rank of the session. */
static void run_own(moot *m, moot_kernel_id kernel, const moot_session_info *session)
{
    for (int rank = 0; rank < session->size; rank++) {
        const uint64_t number = 1000000 * session->number + (uint64_t)rank;
        const moot_task_spec spec = {.kernel = kernel,
                                     .args = &number,
                                     .args_size = sizeof(number),
                                     .owner = MOOT_ON(rank)};
        moot_task task;
        const int code = moot_task_spawn(m, &spec, &task);
        if (code == MOOT_ERR_NO_CANDIDATE && !moot_present(m, rank)) {
            continue;
        }
        must(m, code, "own");
        check_own(m, task, session, rank, number);
        must(m, moot_task_release(m, task), "release");
    }
}

static void run_shared(moot *m, moot_kernel_id kernel, const moot_session_info *session)
{
    moot_task tasks[WIDTH], shared[WIDTH];
    size_t count = 0, shared_count = 0;
    const uint64_t rank = (uint64_t)session->rank, size = (uint64_t)session->size;
    uint64_t sum = session->number;
    for (uint64_t i = 0; i < WIDTH; i++) {
        const uint64_t number = session->number * WIDTH + i;
        const bool partial = i % SKIPPED_OF == 0;
        if (partial && size > 1 && i / SKIPPED_OF % size == rank) {
            continue;
        }
        tasks[count] = spawn(m, kernel, number, NULL, 0);
        if (!partial) {
            shared[shared_count++] = tasks[count];
            sum = sum * 31 + number;
        }
        count++;
    }
    if (fetch(m, spawn(m, kernel, session->number, shared, shared_count)) != sum) {
        fail(session, "the sum is wrong");
    }
    must(m, moot_task_wait_all(m, tasks, count, MOOT_FOREVER), "wait");
}

/* Alike in every session, so it is one task. */
static moot_task spawn_once(moot *m, moot_kernel_id kernel)
{
    const uint64_t number = 7;
    moot_task task = {0};
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &number,
                                           .args_size = sizeof(number),
                                           .key = "once",
                                           .key_size = 4},
                         &task),
         "once");
    return task;
}

/* False: this rank has gone. */
static bool run_session(moot *m, moot_kernel_id kernel, moot_kernel_id once,
                        moot_session_info *session, bool last, bool leaves)
{
    if (session->rank != moot_rank(m) || session->size != moot_size(m) ||
        session->rank < 0 || session->rank >= session->size) {
        fail(session, "its rank is none");
    }
    print_sets(m, session);
    run_own(m, kernel, session);
    run_shared(m, kernel, session);
    if (fetch(m, spawn_once(m, once)) != 7) {
        fail(session, "the once task is wrong");
    }
    if (leaves) { /* one more task, which a queue still has when this rank goes */
        must(m, moot_queue_open(m, MOOT_QUEUE_BULK), "queue");
        (void)spawn(m, kernel, 2000000 + (uint64_t)session->rank, NULL, 0);
    }
    if (!last) {
        must(m, moot_session_next(m, &(moot_session_options){.leave = leaves}, session),
             "next");
    }
    return !leaves;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel = {0}, once = {0};
    moot_session_info session;
    bool here = true;
    const uint64_t sessions = argc > 1 ? strtoull(argv[1], NULL, 10) : 3;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "add-up", .fn = add_up},
                              &kernel),
         "kernel");
    must(m,
         moot_kernel_register(
             m, &(moot_kernel){.name = "once", .fn = add_up, .flags = MOOT_KERNEL_ONCE},
             &once),
         "kernel");
    const moot_task held = spawn(m, kernel, HELD, NULL, 0);
    must(m, moot_session_info_get(m, &session), "session");
    while (here && session.number <= sessions) {
        const bool last = session.number == sessions;
        here = run_session(m, kernel, once, &session, last,
                           !last && goes(argc, argv, &session));
        if (last) {
            break;
        }
    }
    if (here && fetch(m, held) != HELD) {
        fail(&session, "what was held is wrong");
    }
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    printf("sessions: %s rank %d of %d ran %llu, lost %llu, %s, %s\n", session.process,
           session.rank, session.size, (unsigned long long)stats.tasks_run,
           (unsigned long long)stats.ranks_lost, session.why, here ? "stays" : "goes");
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
