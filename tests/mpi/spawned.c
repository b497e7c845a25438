/* spawned.c - ranks that join over MPI where a session ends.
 *
 *     spawned SESSIONS [WHO+COUNT@SESSION | WHO-@SESSION | WHO!@SESSION |
 * WHO~@SESSION]...
 *
 * Each session has 40 tasks and one that adds up; each rank leaves out one spawn of
 * ten, another one than its neighbours.  A large result goes from the highest to all.
 * WHO is a process: at the end of that session it wishes so many more, leaves, is
 * killed, or is killed as soon as it has come there with the others.  A process that
 * comes later begins in the next one.  SPAWNED_DIES=MOMENT: a newcomer is
 * killed before MPI_Init (`early`) or before it opens a moot (`late`); `never`: it
 * opens none, and sleeps; `single`: MPI is initialised with MPI_THREAD_SINGLE.
 *
 * These must be true: every sum is right, on every rank; all ranks of a session have
 * the same size of it; a set of all has a communicator with them.
 */
#include "node/api/moot_mpi.h"
#include "node/api/moot_session.h"
#include "tests/mpi/support/must.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 40, SKIPPED_OF = 10, EACH = 1000, LARGE = 1 << 20 };

static int add_up(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    uint64_t sum = 0, word;
    memcpy(&sum, moot_call_args(call, &size), sizeof(sum));
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        memcpy(&word, moot_call_input(call, i, &size), sizeof(word));
        sum = sum * 31 + word;
    }
    usleep(300);
    void *output = moot_call_output(call, sizeof(sum));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &sum, sizeof(sum));
    return MOOT_OK;
}

static int fill(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    const unsigned char *seed = moot_call_args(call, &size);
    void *output = moot_call_output(call, LARGE);
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(output, seed[0], LARGE);
    return MOOT_OK;
}

static moot_task spawn(moot *m, moot_kernel_id kernel, uint64_t number,
                       const moot_task *inputs, size_t count)
{
    const moot_task_spec spec = {.kernel = kernel,
                                 .args = &number,
                                 .args_size = sizeof(number),
                                 .inputs = inputs,
                                 .input_count = count};
    moot_task task = {0};
    must(m, moot_task_spawn(m, &spec, &task), "spawn");
    return task;
}

static void fail(moot *m, const char *what)
{
    fprintf(stderr, "spawned: rank %d: %s\n", moot_rank(m), what);
    exit(1);
}

/* Bytes of the highest rank, on all. */
static void pass_large(moot *m, moot_kernel_id kernel, uint64_t number)
{
    const void *bytes = NULL;
    size_t size = 0;
    moot_task task = {0};
    const moot_task_spec spec = {.kernel = kernel,
                                 .args = &number,
                                 .args_size = sizeof(number),
                                 .owner = MOOT_ON(moot_size(m) - 1)};
    int code = moot_task_spawn(m, &spec, &task);
    code =
        code == MOOT_OK ? moot_task_fetch(m, task, MOOT_FOREVER, &bytes, &size) : code;
    if (code == MOOT_ERR_NO_CANDIDATE) {
        return; /* it has died */
    }
    must(m, code, "a large result");
    const unsigned char *at = bytes;
    if (size != LARGE || at[0] != (unsigned char)number ||
        at[LARGE - 1] != (unsigned char)number) {
        fail(m, "a large result is wrong");
    }
    must(m, moot_task_release(m, task), "release");
}

static void run_session(moot *m, const moot_kernel_id kernels[2], uint64_t session)
{
    moot_task tasks[WIDTH], shared[WIDTH];
    size_t count = 0, shared_count = 0;
    uint64_t sum = session * EACH + WIDTH, word = 0;
    const uint64_t rank = (uint64_t)moot_rank(m);
    for (uint64_t i = 0; i < WIDTH; i++) {
        const uint64_t number = session * EACH + i;
        const bool partial = i % SKIPPED_OF == 0;
        if (partial && (i / SKIPPED_OF + rank) % 4 == 0) {
            continue;
        }
        tasks[count] = spawn(m, kernels[0], number, NULL, 0);
        if (!partial) {
            shared[shared_count++] = tasks[count];
            sum = sum * 31 + number;
        }
        count++;
    }
    const moot_task total =
        spawn(m, kernels[0], session * EACH + WIDTH, shared, shared_count);
    must(m, moot_task_fetch_into(m, total, MOOT_FOREVER, &word, sizeof(word), NULL),
         "fetch");
    if (word != sum) {
        fail(m, "a sum is wrong");
    }
    must(m, moot_task_release(m, total), "release");
    must(m, moot_task_wait_all(m, tasks, count, MOOT_FOREVER), "wait");
    for (size_t i = 0; i < count; i++) {
        must(m, moot_task_release(m, tasks[i]), "release");
    }
}

static void meet_by_mpi(moot *m)
{
    MPI_Comm comm;
    int rank = -1, size = -1, sum = 0;
    must(m, moot_pset_comm(m, "mpi://WORLD", &comm), "communicator");
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (rank != moot_rank(m) || size != moot_size(m) || sum != size * (size - 1) / 2) {
        fail(m, "the set's communicator is another");
    }
    MPI_Comm_free(&comm);
}

/* The plan's items for this process at the end of that session. */
static moot_session_options plan_for(char **plan, const char *process, uint64_t session,
                                     bool *dies)
{
    moot_session_options options = {.size = sizeof(options)};
    for (; *plan != NULL; plan++) {
        char who[16], what;
        unsigned long long when = 0;
        int count = 0;
        if ((sscanf(*plan, "%15[a-z0-9_]%c%d@%llu", who, &what, &count, &when) != 4 &&
             sscanf(*plan, "%15[a-z0-9_]%c@%llu", who, &what, &when) != 3) ||
            strcmp(who, process) != 0 || when != session) {
            continue;
        }
        options.grow = what == '+' ? (uint64_t)count : options.grow;
        options.leave = what == '-';
        *dies = what == '~';
        if (what == '!') {
            raise(SIGKILL);
        }
    }
    return options;
}

static void *die_soon(void *unused)
{
    (void)unused;
    usleep(30000);
    raise(SIGKILL);
    return NULL;
}

/* False: it has left. */
static bool go_on(moot *m, char **plan, moot_session_info *info)
{
    bool dies = false;
    pthread_t thread;
    const moot_session_options options =
        plan_for(plan, info->process, info->number, &dies);
    if (dies && pthread_create(&thread, NULL, die_soon, NULL) != 0) {
        abort();
    }
    must(m, moot_session_next(m, &options, info), "the next session");
    return options.leave == 0;
}

static void obey_the_environment(void)
{
    const char *moment = getenv("SPAWNED_DIES");
    int level;
    if (moment == NULL) {
        return;
    }
    if (strcmp(moment, "single") == 0) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &level);
    }
    if (getenv("MOOTRUN_JOINS") == NULL) {
        return;
    }
    if (strcmp(moment, "early") == 0) {
        raise(SIGKILL);
    } else if (strcmp(moment, "late") == 0 || strcmp(moment, "never") == 0) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        if (*moment == 'l') {
            raise(SIGKILL);
        }
        sleep(1000);
    }
}

static void run_all(moot *m, const moot_kernel_id kernels[2], uint64_t sessions,
                    char **plan)
{
    moot_session_info info;
    must(m, moot_session_info_get(m, &info), "session");
    for (bool here = true; here && info.number <= sessions;) {
        if (info.rank < info.size) { /* it is in the session, and not before it yet */
            run_session(m, kernels, info.number);
            pass_large(m, kernels[1], info.number);
            printf("spawned: session %llu: %s is rank %d of %d, %s\n",
                   (unsigned long long)info.number, info.process, info.rank, info.size,
                   info.why);
            if (info.number == sessions) {
                break;
            }
        }
        here = go_on(m, plan, &info);
    }
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    if (info.rank >= 0 && stats.ranks_lost == 0 && getenv("SPAWNED_MEETS") != NULL) {
        meet_by_mpi(m);
    }
    printf("spawned: %s ends, ran %llu\n", info.process,
           (unsigned long long)stats.tasks_run);
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernels[2];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2) {
        return 0; /* spawned_test.sh starts it with words */
    }
    obey_the_environment();
    if (moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "spawned: %s\n", moot_last_error(NULL));
        return 1;
    }
    const char *how = getenv("SPAWNED_DIES");
    const bool drifts = how != NULL && strcmp(how, "drifts") == 0;
    const moot_kernel adds = {.name = "add-up",
                              .version =
                                  drifts && getenv("MOOTRUN_JOINS") != NULL ? 2 : 1,
                              .fn = add_up};
    const moot_kernel fills = {.name = "fill", .fn = fill};
    must(m, moot_kernel_register(m, &adds, &kernels[0]), "kernel");
    must(m, moot_kernel_register(m, &fills, &kernels[1]), "kernel");
    run_all(m, kernels, strtoull(argv[1], NULL, 10), argv + 2);
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
