/* signatures.c - ranks sign a state that they have in common; a byte of one is flipped.
 *
 *     signatures [STEPS [RANK STEP]] [--each MS]
 *
 * The state is 1000 numbers, which each step changes, alike on all ranks; each rank
 * signs it after each step.  On RANK one bit of its memory is flipped before STEP, and
 * so all that follows from it is another.  With --each a step takes so long, in which
 * heartbeats go out.  Rank r says "rank r: WHY" of each rank that is told to differ,
 * and "rank r: N signed, CODE" at the end.
 */
#include "node/api/moot.h"
#include "node/api/moot_fingerprint.h"
#include "node/api/moot_watch.h"
#include "tests/mpi/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 1000 };

struct job {
    uint64_t steps, flip_step;
    int flip_rank;
    useconds_t each_us;
    uint64_t state[WIDTH];
};

static void tell(void *user, const moot_event *event)
{
    fprintf(stderr, "rank %d: event: rank %d: %s\n", *(const int *)user, event->rank,
            event->why);
}

/* Each number follows from its neighbours: what is wrong in one spreads. */
static void advance(uint64_t state[WIDTH], uint64_t step)
{
    for (size_t i = 0; i < WIDTH; i++) {
        state[i] = state[i] * 31 + state[(i + 1) % WIDTH] + step;
    }
}

static int sign(moot *m, const uint64_t state[WIDTH], uint64_t step)
{
    const uint64_t shape[1] = {WIDTH};
    moot_hash hash;
    const moot_ndarray array = {
        .type = MOOT_TYPE_UINT64, .dimensions = 1, .shape = shape, .data = state};
    must(m, moot_fingerprint_array(&array, &hash), "fingerprint");
    return moot_state_signature(m, &hash, step);
}

static void read_arguments(int argc, char **argv, struct job *job)
{
    if (argc > 3 && strcmp(argv[argc - 2], "--each") == 0) {
        job->each_us = (useconds_t)(strtoul(argv[argc - 1], NULL, 10) * 1000);
        argc -= 2;
    }
    job->steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
    job->flip_rank = argc > 3 ? (int)strtol(argv[2], NULL, 10) : -1;
    job->flip_step = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
}

static int run_steps(moot *m, struct job *job, uint64_t *signed_steps)
{
    int code = MOOT_OK;
    for (uint64_t step = 1; step <= job->steps && code == MOOT_OK; step++) {
        if (moot_rank(m) == job->flip_rank && step == job->flip_step) {
            ((unsigned char *)job->state)[WIDTH / 2] ^= 4;
        }
        advance(job->state, step);
        code = sign(m, job->state, step);
        *signed_steps += code == MOOT_OK;
        usleep(job->each_us);
    }
    return code;
}

int main(int argc, char **argv)
{
    static struct job job;
    moot *m = NULL;
    moot_watch_id watch;
    uint64_t signed_steps = 0;
    read_arguments(argc, argv, &job);
    must(NULL, moot_open(NULL, &m), "open");
    int rank = moot_rank(m);
    must(m,
         moot_watch_add(m,
                        &(moot_watch){.kinds = (uint32_t)MOOT_EVENT_RANK_DIFFERS,
                                      .fn = tell,
                                      .user = &rank},
                        &watch),
         "watch");
    const int code = run_steps(m, &job, &signed_steps);
    const int end = moot_close(m);
    fprintf(stderr, "rank %d: %llu signed, %s, closed with %s\n", rank,
            (unsigned long long)signed_steps, moot_err_name(code), moot_err_name(end));
    return 0;
}
