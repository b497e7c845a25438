/* poison.c - a program some of whose tasks end whatever rank runs them.
 *
 *   moot run -n 4 poison [HOW [TASKS]]
 *
 * Task TASKS / 2 of the kernel `square` ends its rank by HOW: `none` (not at all, the
 * default), `null` (a null pointer), `abort`, `exit`, `wait` (a null pointer in a child
 * for which it waits), or `kill`, which is no fault of its own.  Ranks that are left
 * print the sum of the rest, and the error of that one.
 */
#include "node/api/moot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 40, TASKS_MAX = 1000 };

static struct program {
    const char *how;
    int tasks, poison;
    moot_kernel_id child;
} program = {.how = "none", .tasks = TASKS};

static void die(const char *how)
{
    if (strcmp(how, "abort") == 0) {
        abort();
    }
    if (strcmp(how, "exit") == 0) {
        exit(0);
    }
    if (strcmp(how, "kill") == 0) {
        (void)raise(SIGKILL);
    }
    volatile int *volatile nothing = NULL;
    *nothing = 1;
}

static int put(moot_call *call, long value)
{
    long *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = value;
    return MOOT_OK;
}

static int run_child(moot_call *call, void *user)
{
    (void)user;
    die("null");
    return put(call, 0);
}

static int run_square(moot_call *call, void *user)
{
    int number = 0;
    (void)user;
    memcpy(&number, moot_call_args(call, NULL), sizeof(number));
    if (number == program.poison && strcmp(program.how, "wait") == 0) {
        moot_task child;
        const moot_task_spec spec = {.kernel = program.child, .label = "child"};
        const int code = moot_call_spawn(call, &spec, &child);
        return code != MOOT_OK ? code : moot_call_wait(call, child, NULL, NULL);
    }
    if (number == program.poison && strcmp(program.how, "none") != 0) {
        die(program.how);
    }
    return put(call, (long)number * number);
}

static int square_all(moot *m)
{
    static moot_task tasks[TASKS_MAX];
    const moot_kernel square = {.name = "square", .fn = run_square},
                      child = {.name = "child", .fn = run_child};
    moot_task_spec spec = {.label = "squares"};
    long sum = 0;
    int errors = 0;
    if (moot_kernel_register(m, &square, &spec.kernel) != MOOT_OK ||
        moot_kernel_register(m, &child, &program.child) != MOOT_OK) {
        return 1;
    }
    for (int i = 0; i < program.tasks; i++) {
        spec.args = &i;
        spec.args_size = sizeof(i);
        if (moot_task_spawn(m, &spec, &tasks[i]) != MOOT_OK) {
            return 1;
        }
    }
    for (int i = 0; i < program.tasks; i++) {
        const void *data = NULL;
        const int code = moot_task_fetch(m, tasks[i], MOOT_FOREVER, &data, NULL);
        if (code == MOOT_OK) {
            sum += *(const long *)data;
        } else {
            errors++;
            printf("task %d: %s: %s\n", i, moot_err_name(code), moot_last_error(m));
        }
    }
    printf("rank %d: sum %ld, %d errors\n", moot_rank(m), sum, errors);
    (void)fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    program.how = argc > 1 ? argv[1] : program.how;
    program.tasks = argc > 2 ? (int)strtol(argv[2], NULL, 10) : program.tasks;
    program.poison = program.tasks / 2;
    if (program.tasks > TASKS_MAX || moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    const int failed = square_all(m);
    return moot_close(m) != MOOT_OK || failed != 0;
}
