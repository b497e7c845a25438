/* alike.c - ranks that spawn alike in each session, whoever has come for it.
 *
 *     alike [SESSIONS [GROW [differs]]]     a rank of the job
 *
 * In each session, of three by itself, a rank spawns a chain of tasks and one task
 * more, fetches the chain's last, and ends the session; the one task it fetches in the
 * next session, if it was there.  At the end of the first session it asks for GROW more
 * ranks, of none by itself.  With `differs` who has come for a session spawns another
 * task in it, the last of the chain.
 *
 * What must be true: every sum is right, and with MOOT_DIVERGENCE=strict nobody is told
 * that ranks differ, but where one does.
 */
#include "node/api/moot_session.h"
#include "tests/mpi/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 3, LENGTH = 40 };

/* 31 times what it takes, and its argument. */
static int add_up(moot_call *call, void *user)
{
    size_t size = 0;
    uint64_t sum = 0, word;
    (void)user;
    memcpy(&word, moot_call_args(call, &size), sizeof(word));
    if (moot_call_input_count(call) > 0) {
        memcpy(&sum, moot_call_input(call, 0, &size), sizeof(sum));
    }
    sum = sum * 31 + word;
    void *output = moot_call_output(call, sizeof(sum));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &sum, sizeof(sum));
    return MOOT_OK;
}

static moot_task spawn(moot *m, moot_kernel_id kernel, uint64_t word,
                       const moot_task *before)
{
    moot_task task;
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &word,
                                           .args_size = sizeof(word),
                                           .inputs = before,
                                           .input_count = before != NULL},
                         &task),
         "spawn");
    return task;
}

static void check_sum(moot *m, moot_task task, uint64_t wanted)
{
    size_t size;
    const void *data;
    uint64_t sum;
    must(m, moot_task_fetch(m, task, MOOT_FOREVER, &data, &size), "fetch");
    memcpy(&sum, data, sizeof(sum));
    if (size != sizeof(sum) || sum != wanted) {
        printf("alike: rank %d: WRONG\n", moot_rank(m));
        exit(1);
    }
}

/* The session's chain; with another last task, where this rank differs. */
static void run_chain(moot *m, moot_kernel_id kernel, uint64_t session, bool differs)
{
    uint64_t sum = 0;
    moot_task last = {0};
    for (uint64_t i = 0; i < LENGTH; i++) {
        const bool odd = differs && i == LENGTH - 1;
        const uint64_t word = session * 1000 + i + (odd ? LENGTH : 0);
        last = spawn(m, kernel, word, i > 0 ? &last : NULL);
        sum = sum * 31 + word;
    }
    check_sum(m, last, sum);
}

int main(int argc, char **argv)
{
    const unsigned long sessions =
        argc > 1 ? strtoul(argv[1], NULL, 10) : (unsigned long)SESSIONS;
    const unsigned long grow = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const bool differs = argc > 3 && strcmp(argv[3], "differs") == 0;
    moot *m = NULL;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    moot_kernel_id kernel;
    moot_session_info session;
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "add_up", .fn = add_up},
                              &kernel),
         "kernel");
    must(m, moot_session_info_get(m, &session), "session");
    const uint64_t first = session.number;
    moot_task more = {0};
    for (uint64_t number = first; number <= sessions; number++) {
        run_chain(m, kernel, number, differs && number == first && first > 1);
        if (number > first) {
            check_sum(m, more, number - 1);
        }
        more = spawn(m, kernel, number, NULL);
        printf("alike: rank %d: session %llu of %d ranks: right\n", moot_rank(m),
               (unsigned long long)number, session.size);
        must(m,
             moot_session_next(
                 m,
                 &(moot_session_options){.size = sizeof(moot_session_options),
                                         .grow = number == 1 ? grow : 0},
                 &session),
             "next");
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
