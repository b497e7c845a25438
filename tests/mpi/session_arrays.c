/* session_arrays.c - task arrays in sessions between which ranks come and go.
 *
 *     session_arrays SESSIONS [+COUNT@SESSION | -PROCESS@SESSION]...
 *
 * At the end of that session so many newcomers are asked for, or that process leaves.
 * In each session all ranks spawn an array that takes nothing, and one that takes from
 * that of the session before, which newcomers have not; both have 24 elements for each
 * rank of the session, and a third one half of these for candidates.  A rank prints how
 * many elements of each it has run.
 *
 * These must be true: each wait ends well, and elements are what they are to be.  How
 * they are shared is for who started this: each rank runs 24 of the first.
 */
#include "node/api/moot_array.h"
#include "node/api/moot_session.h"
#include "tests/mpi/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE = 24, RANKS_MAX = 64 };

#define MUST(m, call) must((m), (call), #call)

static unsigned ran[3];

/* The array's number, and the session's. */
struct args {
    uint64_t which, session;
};

static uint64_t value_of(const struct args *args, uint64_t index)
{
    return args->which * 1000000 + args->session * 1000 + index;
}

static int run(moot_call *call, void *user)
{
    struct args args;
    (void)user;
    memcpy(&args, moot_call_args(call, NULL), sizeof(args));
    uint64_t value = value_of(&args, moot_call_index(call)), taken = 0;
    if (moot_call_input_count(call) > 0) {
        memcpy(&taken, moot_call_input(call, 0, NULL), sizeof(taken));
    }
    value += taken;
    ran[args.which]++;
    void *out = moot_call_output(call, sizeof(value));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(out, &value, sizeof(value));
    return MOOT_OK;
}

static void read_one(moot *m, moot_array array, uint64_t index, uint64_t wanted)
{
    uint64_t value = 0;
    moot_task task;
    MUST(m, moot_array_at(m, array, index, &task));
    MUST(m,
         moot_task_fetch_into(m, task, MOOT_SECONDS(60), &value, sizeof(value), NULL));
    if (value != wanted) {
        fprintf(stderr, "WRONG: element %llu is %llu, not %llu\n",
                (unsigned long long)index, (unsigned long long)value,
                (unsigned long long)wanted);
        exit(1);
    }
    MUST(m, moot_task_release(m, task));
}

static moot_array spawn(moot *m, moot_kernel_id kernel, uint64_t count,
                        const struct args *args, const moot_array_input *input)
{
    int ranks[RANKS_MAX];
    moot_array array;
    moot_array_spec spec = {.size = sizeof(spec),
                            .kernel = kernel,
                            .count = count,
                            .args = args,
                            .args_size = sizeof(*args),
                            .inputs = input,
                            .input_count = input != NULL};
    for (int rank = 0; args->which == 2 && rank < moot_size(m); rank += 2) {
        ranks[spec.candidates.count++] = rank;
        spec.candidates.ranks = ranks;
    }
    MUST(m, moot_array_spawn(m, &spec, &array));
    return array;
}

/* Waits before it reads: who reads before others have spawned makes them give up. */
static moot_array play(moot *m, moot_kernel_id kernel, const moot_session_info *session,
                       moot_array before)
{
    struct args args = {.session = (uint64_t)session->number};
    const uint64_t count = SHARE * (uint64_t)session->size;
    const uint64_t last = SHARE - 1;
    const moot_array_input input = {.array = before, .map = MOOT_MAP_WINDOW};
    memset(ran, 0, sizeof(ran));
    moot_array first = spawn(m, kernel, count, &args, NULL), second = {0};
    args.which = 2;
    moot_array third = spawn(m, kernel, count, &args, NULL);
    MUST(m, moot_array_wait(m, first, MOOT_SECONDS(60)));
    MUST(m, moot_array_wait(m, third, MOOT_SECONDS(60)));
    printf("session %d rank %d of %d: %u %u\n", (int)session->number, session->rank,
           session->size, ran[0], ran[2]);
    read_one(m, third, count - 1, value_of(&args, count - 1));
    if (before.id != 0) {
        const moot_map_window same = {0, 0, MOOT_EDGE_CUT};
        moot_array_input windowed = input;
        windowed.map_args = &same;
        windowed.map_args_size = sizeof(same);
        args.which = 1;
        second = spawn(m, kernel, SHARE, &args, &windowed);
        MUST(m, moot_array_wait(m, second, MOOT_SECONDS(60)));
        const struct args of = {.session = args.session - 1};
        read_one(m, second, last, value_of(&args, last) + value_of(&of, last));
        MUST(m, moot_array_release(m, second));
        MUST(m, moot_array_release(m, before));
    }
    MUST(m, moot_array_release(m, third));
    return first;
}

/* Whether this rank goes; and how many are asked for. */
static moot_session_options plan(int argc, char **argv,
                                 const moot_session_info *session)
{
    moot_session_options options = {.size = sizeof(options)};
    for (int i = 2; i < argc; i++) {
        const char *at = strchr(argv[i], '@');
        if (at == NULL || strtoull(at + 1, NULL, 10) != session->number) {
            continue;
        }
        const size_t length = (size_t)(at - argv[i]) - 1;
        if (argv[i][0] == '+') {
            options.grow = strtoull(argv[i] + 1, NULL, 10);
        } else {
            options.leave |= strlen(session->process) == length &&
                             strncmp(argv[i] + 1, session->process, length) == 0;
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    moot *m;
    moot_kernel_id kernel;
    moot_session_info session;
    const uint64_t sessions = argc > 1 ? strtoull(argv[1], NULL, 10) : 2;
    MUST(NULL, moot_open(NULL, &m));
    MUST(m, moot_kernel_register(m, &(moot_kernel){.name = "run", .fn = run}, &kernel));
    MUST(m, moot_session_info_get(m, &session));
    moot_array before = {0};
    bool here = true;
    while (here) { /* who has just come may lag, and would give its share up */
        MUST(m, moot_barrier(m));
        before = play(m, kernel, &session, before);
        const moot_session_options options = plan(argc, argv, &session);
        here = session.number < sessions;
        if (here) {
            MUST(m, moot_session_next(m, &options, &session));
            here = !options.leave;
        }
    }
    MUST(NULL, moot_close(m));
    return 0;
}
