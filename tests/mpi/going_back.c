/* going_back.c - a chain of results that vary, a snapshot of its first half, and back
 * to that when it is whole.
 *
 *     going_back [ROUNDS [again | TIMES | grows]]
 *
 * Each result has the value of the one before and a number that no other run has, so a
 * chain that is put together from two runs is seen.  All ranks make the chain, name a
 * snapshot "half" on the way, and when they have all of it they go back: the first half
 * must be as it was, and the second another; that TIMES times.  With `again`, or
 * without a checkpoint, the chain is made, or found, and checked, and nobody goes back.
 * With `grows` a process comes that is there before they go back, and is let in when
 * they have: it finds the same chain, and adds a link that it alone spawns.
 *
 * Each rank prints "end VALUE".  Exit status: 0 right, 1 wrong.
 */
#include "node/api/moot.h"
#include "node/api/moot_checkpoint.h"
#include "node/api/moot_session.h"
#include "tests/mpi/support/must.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 256 };

struct link {
    uint64_t before, value;
};

static int make_link(moot_call *call, void *user)
{
    (void)user;
    struct timespec now;
    struct link *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const struct link *before =
        moot_call_input_count(call) > 0 ? moot_call_input(call, 0, NULL) : NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    out->before = before != NULL ? before->value : 0;
    out->value =
        ((uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec) * 31 + (uint64_t)getpid();
    nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    return MOOT_OK;
}

static void note_drop(moot *m, void *user)
{
    (void)m;
    *(int *)user += 1;
}

/* A rank that asks when one is over already makes another: the last counts for all. */
static void make_snapshot(moot *m, moot_hash *id)
{
    must(m, moot_checkpoint(m, &(moot_checkpoint_options){.name = "half"}, id),
         "snapshot");
    must(m, moot_barrier(m), "barrier");
    must(m, moot_checkpoint_find(m, "half", id), "find");
    must(m, moot_barrier(m), "barrier");
}

/* Makes or finds the chain, with a snapshot in the middle if `half` is not NULL. */
static void make_chain(moot *m, moot_kernel_id kernel, uint64_t rounds,
                       struct link *chain, moot_hash *half)
{
    moot_task tasks[ROUNDS_MAX];
    for (uint64_t i = 0; i < rounds; i++) {
        must(m,
             moot_task_spawn(m,
                             &(moot_task_spec){.kernel = kernel,
                                               .args = &i,
                                               .args_size = sizeof(i),
                                               .inputs = i > 0 ? &tasks[i - 1] : NULL,
                                               .input_count = i > 0},
                             &tasks[i]),
             "spawn");
        if (half != NULL && i == rounds / 2) {
            must(m, moot_task_wait(m, tasks[i], MOOT_FOREVER), "wait");
            must(m, moot_barrier(m), "barrier");
            make_snapshot(m, half);
        }
    }
    for (uint64_t i = 0; i < rounds; i++) {
        const void *bytes;
        must(m, moot_task_fetch(m, tasks[i], MOOT_FOREVER, &bytes, NULL), "fetch");
        memcpy(&chain[i], bytes, sizeof(chain[i]));
    }
    must(m, moot_task_release_all(m, tasks, rounds), "release");
}

static bool is_whole(const struct link *chain, uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        if (chain[i].before != (i > 0 ? chain[i - 1].value : 0)) {
            fprintf(stderr, "going_back: result %" PRIu64 " is of another run\n", i);
            return false;
        }
    }
    return true;
}

/* The first half is as it was, and nothing of the second. */
static bool went_back(const struct link *old, const struct link *chain, uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        if ((old[i].value == chain[i].value) != (i <= rounds / 2)) {
            fprintf(stderr, "going_back: result %" PRIu64 " is %s\n", i,
                    i <= rounds / 2 ? "not the snapshot's" : "of before");
            return false;
        }
    }
    return true;
}

static bool goes_back(moot *m, moot_kernel_id kernel, uint64_t rounds,
                      struct link *chain, int times)
{
    static struct link old[ROUNDS_MAX];
    bool good = true;
    moot_hash half;
    int drops = 0;
    must(m, moot_checkpoint_on_reload(m, note_drop, &drops), "callback");
    make_chain(m, kernel, rounds, chain, &half);
    for (int time = 1; good && time <= times; time++) {
        memcpy(old, chain, sizeof(old));
        must(m, moot_checkpoint_reload(m, &half), "reload");
        make_chain(m, kernel, rounds, chain, NULL);
        good = is_whole(old, rounds) && drops == time && went_back(old, chain, rounds);
    }
    return good;
}

/* Its result is found by a later job only if its store is where the others' are. */
static void add_link(moot *m, moot_kernel_id kernel)
{
    const uint64_t number = ROUNDS_MAX;
    moot_task task;
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &number,
                                           .args_size = sizeof(number)},
                         &task),
         "spawn");
    must(m, moot_task_wait(m, task, MOOT_FOREVER), "wait");
    must(m, moot_task_release(m, task), "release");
}

/* In the first session all go back, and a second one begins with the newcomer. */
static bool grows(moot *m, moot_kernel_id kernel, uint64_t rounds, struct link *chain)
{
    static struct link old[ROUNDS_MAX];
    moot_session_info session;
    must(m, moot_session_info_get(m, &session), "session");
    if (session.number == 1) {
        moot_hash half;
        make_chain(m, kernel, rounds, old, &half);
        if (moot_rank(m) == 0) {
            must(m, moot_grow(m, 1, NULL), "grow");
        }
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL); /* it opens its store */
        must(m, moot_checkpoint_reload(m, &half), "reload");
        make_chain(m, kernel, rounds, chain, NULL);
        const bool good = went_back(old, chain, rounds);
        must(m, moot_session_next(m, NULL, NULL), "next");
        return good;
    }
    make_chain(m, kernel, rounds, chain, NULL);
    add_link(m, kernel);
    return true;
}

/* `times` 0: again; below: with a newcomer. */
static int run(uint64_t rounds, int times)
{
    static struct link chain[ROUNDS_MAX];
    moot *m;
    moot_kernel_id kernel;
    bool good = true;
    if (moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "going_back: moot_open: %s\n", moot_last_error(NULL));
        return 1;
    }
    must(m,
         moot_kernel_register(m,
                              &(moot_kernel){.name = "link",
                                             .fn = make_link,
                                             .flags = MOOT_KERNEL_NONDETERMINISTIC},
                              &kernel),
         "kernel");
    if (times == 0) {
        make_chain(m, kernel, rounds, chain, NULL);
    } else if (times < 0) {
        good = grows(m, kernel, rounds, chain);
    } else {
        good = goes_back(m, kernel, rounds, chain, times);
    }
    good = good && is_whole(chain, rounds);
    printf("end %016" PRIx64 "\n", chain[rounds - 1].value);
    fflush(stdout);
    return moot_close(m) == MOOT_OK && good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 8;
    const char *folder = getenv("MOOT_CHECKPOINT");
    const bool again = folder == NULL || *folder == '\0' ||
                       (argc > 2 && strcmp(argv[2], "again") == 0);
    const bool newcomer = argc > 2 && strcmp(argv[2], "grows") == 0;
    const int times = again      ? 0
                      : newcomer ? -1
                      : argc > 2 ? (int)strtol(argv[2], NULL, 10)
                                 : 1;
    if (rounds < 2 || rounds > ROUNDS_MAX) {
        fprintf(stderr,
                "usage: going_back [ROUNDS of 2 to %d [again | TIMES | grows]]\n",
                ROUNDS_MAX);
        return 2;
    }
    return run(rounds, times);
}
