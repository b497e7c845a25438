/* growing.c - a diverging program of which ranks come, leave and die while it runs.
 *
 *     growing LEDGER ROUNDS
 *         [WHO+COUNT@ROUND | WHO~COUNT@ROUND | WHO-@ROUND | WHO!@ROUND]...
 *
 * ROUNDS rounds of 40 tasks and one that adds up.  Each rank leaves out one spawn of
 * ten, another one than its neighbours, and every round has a once task.  WHO is a
 * process: when it has begun that round it asks for so many more, waits until so many
 * have joined, leaves, or is killed.
 * Each kernel adds a line to the LEDGER: which task, on which process.  A process that
 * comes later runs all rounds from the first one on.
 *
 * These must be true: every sum is right, on every rank, and a once task is the right
 * one or may have run.  The ledger is for who started this: without a death each task
 * stands there once.
 */
#include "node/api/moot_session.h"
#include "tests/mpi/support/joined.h"
#include "tests/mpi/support/must.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 40, SKIPPED_OF = 10, ONCE = 1000 };

static const char *process = "?";
static int ledger = -1;
static moot_task kept; /* of the round before */

static void write_line(uint64_t number)
{
    char line[64];
    const int length =
        snprintf(line, sizeof(line), "%llu %s\n", (unsigned long long)number, process);
    if (write(ledger, line, (size_t)length) != length) {
        abort();
    }
}

static int add_up(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    uint64_t number = 0, word;
    memcpy(&number, moot_call_args(call, &size), sizeof(number));
    write_line(number);
    uint64_t sum = number;
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

static moot_task spawn(moot *m, moot_kernel_id kernel, uint64_t number,
                       const moot_task *inputs, size_t count, const char *key)
{
    const moot_task_spec spec = {.kernel = kernel,
                                 .args = &number,
                                 .args_size = sizeof(number),
                                 .key = key,
                                 .key_size = strlen(key),
                                 .inputs = inputs,
                                 .input_count = count};
    moot_task task = {0};
    must(m, moot_task_spawn(m, &spec, &task), "spawn");
    return task;
}

static void check(moot *m, moot_task task, uint64_t wanted, bool once)
{
    uint64_t word = 0;
    const int code =
        moot_task_fetch_into(m, task, MOOT_FOREVER, &word, sizeof(word), NULL);
    if (once && code == MOOT_ERR_MAYBE_RAN) {
        return;
    }
    must(m, code, "fetch");
    if (word != wanted) {
        fprintf(stderr, "growing: %s: a result is wrong\n", process);
        exit(1);
    }
    must(m, moot_task_release(m, task), "release");
}

static void run_round(moot *m, const moot_kernel_id kernels[2], uint64_t round)
{
    moot_task tasks[WIDTH], shared[WIDTH];
    size_t count = 0, shared_count = 0;
    uint64_t sum = round * ONCE + WIDTH;
    const uint64_t rank = (uint64_t)moot_rank(m);
    for (uint64_t i = 0; i < WIDTH; i++) {
        const uint64_t number = round * ONCE + i;
        const bool partial = i % SKIPPED_OF == 0;
        if (partial && (i / SKIPPED_OF + rank) % 4 == 0) {
            continue;
        }
        tasks[count] = spawn(m, kernels[0], number, NULL, 0, "");
        if (!partial) {
            shared[shared_count++] = tasks[count];
            sum = sum * 31 + number;
        }
        count++;
    }
    check(m, spawn(m, kernels[0], round * ONCE + WIDTH, shared, shared_count, ""), sum,
          false);
    check(m, spawn(m, kernels[1], round * ONCE + WIDTH + 1, NULL, 0, "once"),
          round * ONCE + WIDTH + 1, true);
    must(m, moot_task_wait_all(m, tasks, count, MOOT_FOREVER), "wait");
    if (round > 1) {
        must(m, moot_task_release(m, kept), "release");
    }
    kept = tasks[0];
    for (size_t i = 1; i < count; i++) {
        must(m, moot_task_release(m, tasks[i]), "release");
    }
}

/* Does what the plan has for this process in that round; false: it has left. */
static bool act(moot *m, char **plan, uint64_t round)
{
    for (; *plan != NULL; plan++) {
        char who[16], what;
        unsigned long long when = 0;
        int count = 0;
        if (sscanf(*plan, "%15[a-z0-9_]%c%d@%llu", who, &what, &count, &when) != 4 &&
            sscanf(*plan, "%15[a-z0-9_]%c@%llu", who, &what, &when) != 3) {
            fprintf(stderr, "growing: %s is no plan\n", *plan);
            exit(2);
        }
        if (strcmp(who, process) != 0 || when != round) {
            continue;
        }
        if (what == '+' && moot_grow(m, count, NULL) != MOOT_OK) {
            fprintf(stderr, "growing: %s: %s\n", process, moot_last_error(m));
        } else if (what == '~') {
            joined_await(m, kept, count);
        } else if (what == '!') {
            raise(SIGKILL);
        } else if (what == '-') {
            must(m, moot_leave(m), "leave");
            return false;
        }
    }
    return true;
}

/* GROWING_DIES is the number of a rank that is killed before it opens a moot. */
static void die_early(void)
{
    const char *who = getenv("GROWING_DIES"), *self = getenv("MOOTRUN_RANK");
    if (who != NULL && self != NULL && strcmp(who, self) == 0) {
        raise(SIGKILL);
    }
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernels[2];
    moot_session_info session;
    bool here = true;
    if (argc < 3) {
        return 0; /* a launcher of moot's own starts it with words */
    }
    die_early();
    ledger = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (ledger < 0 || moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "growing: %s\n", moot_last_error(NULL));
        return 1;
    }
    must(m, moot_session_info_get(m, &session), "session");
    process = session.process;
    const moot_kernel kernel[2] = {
        {.name = "add-up", .fn = add_up},
        {.name = "once", .fn = add_up, .flags = MOOT_KERNEL_ONCE}};
    must(m, moot_kernel_register(m, &kernel[0], &kernels[0]), "kernel");
    must(m, moot_kernel_register(m, &kernel[1], &kernels[1]), "kernel");
    joined_watch(m);
    const uint64_t rounds = strtoull(argv[2], NULL, 10);
    for (uint64_t round = 1; here && round <= rounds; round++) {
        here = act(m, argv + 3, round);
        if (here) {
            run_round(m, kernels, round);
        }
    }
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    printf("growing: %s rank %d of %d ran %llu\n", process, moot_rank(m), moot_size(m),
           (unsigned long long)stats.tasks_run);
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
