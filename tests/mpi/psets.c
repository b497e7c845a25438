/* psets.c - a program with process sets of its own, in three sessions of 4 ranks or
 * more.
 *
 *     psets [go | wrong | grow [FILE]]        a rank of the job
 *
 * In the first session all define app://even alike, rank 1 alone app://one, rank 3 a
 * set that it deletes again, and ranks 0 and 2 app://both in different ways.  In the
 * second tasks have app://even for candidates, rank 2 deletes app://one, and process
 * a_2 goes if told so.  In the third app://even is invalid then, and a task for it runs
 * on a process that is left.
 *
 * With `grow` the second session has a rank more, and in the third a_0 is gone; it
 * lasts until there is a file of that name, if one is given.
 *
 * Each rank prints its sets in each session, and the events of sets that it was told
 * of.
 */
#include "node/api/moot_session.h"
#include "node/api/moot_watch.h"
#include "tests/mpi/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TASKS = 12, RANKS_MAX = 64 };

static moot_session_info session;

/* A kernel: its argument. */
static int repeat(moot_call *call, void *user)
{
    size_t size = 0;
    const void *word = moot_call_args(call, &size);
    void *output = moot_call_output(call, size);
    (void)user;
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, word, size);
    return MOOT_OK;
}

static void fail(const char *what)
{
    fprintf(stderr, "psets: %s in session %llu: %s\n", session.process,
            (unsigned long long)session.number, what);
    exit(1);
}

static void print_sets(moot *m)
{
    for (size_t i = 2; i < moot_pset_count(m); i++) {
        moot_pset_info set;
        must(m, moot_pset_info(m, i, &set), "pset");
        printf("set %llu %s: %zu %s", (unsigned long long)session.number,
               session.process, i, set.name);
        for (size_t k = 0; k < set.size; k++) {
            printf(" %s=%d", set.processes[k], set.ranks[k]);
        }
        printf(" %s\n", set.valid ? "valid" : "invalid");
    }
}

static void on_event(void *user, const moot_event *event)
{
    const char *kind = event->kind == MOOT_EVENT_PSET_DEFINED   ? "defined"
                       : event->kind == MOOT_EVENT_PSET_DELETED ? "deleted"
                       : event->kind == MOOT_EVENT_PSET_INVALID ? "invalid"
                                                                : "refused";
    printf("event %s: %s %s %s\n", (const char *)user, kind, event->label, event->why);
}

static void define(moot *m, const char *name, const int *ranks, size_t count)
{
    must(m, moot_pset_define(m, name, &(moot_ranks){.ranks = ranks, .count = count}),
         "define");
}

static void define_all(moot *m)
{
    int even[RANKS_MAX];
    size_t count = 0;
    for (int rank = 0; rank < session.size && count < RANKS_MAX; rank += 2) {
        even[count++] = rank;
    }
    define(m, "app://even", even, count);
    define(m, "app://even", even, count);
    if (session.rank == 1) {
        define(m, "app://one", &session.rank, 1);
    }
    if (session.rank == 0 || session.rank == 2) {
        define(m, "app://both", (const int[]){session.rank, 1, 1}, 3);
    }
    if (session.rank == 3) {
        define(m, "app://never", &session.rank, 1);
        must(m, moot_pset_delete(m, "app://never"), "delete");
    }
}

/* By the set's name and by the ranks that it has it is the same task. */
static moot_task spawn_for(moot *m, moot_kernel_id kernel, uint64_t number,
                           bool by_name, const moot_pset_info *set)
{
    int ranks[RANKS_MAX];
    size_t count = 0;
    for (size_t k = 0; k < set->size; k++) {
        if (session.number == 2 && count < RANKS_MAX) {
            ranks[count++] = set->ranks[k];
        }
    }
    moot_task_spec spec = {.size = sizeof(spec),
                           .kernel = kernel,
                           .args = &number,
                           .args_size = sizeof(number)};
    if (by_name) {
        spec.pset = "app://even";
    } else {
        spec.candidates = (moot_ranks){.ranks = ranks, .count = count};
    }
    moot_task task = {0};
    must(m, moot_task_spawn(m, &spec, &task), "spawn");
    return task;
}

static void run_tasks(moot *m, moot_kernel_id kernel, const moot_pset_info *set)
{
    for (uint64_t i = 0; i < TASKS; i++) {
        const uint64_t number = 100 * session.number + i;
        const moot_task task = spawn_for(m, kernel, number, true, set);
        uint64_t word = 0;
        must(m, moot_task_fetch_into(m, task, MOOT_FOREVER, &word, sizeof(word), NULL),
             "fetch");
        moot_task_info info, other;
        must(m, moot_task_info(m, task, &info), "info");
        if (word != number) {
            fail("a result is wrong");
        }
        bool may = false;
        for (size_t k = 0; k < set->size; k++) {
            may |= strtol(set->processes[k] + 2, NULL, 10) % 2 == 0 && info.owner >= 0;
        }
        if (!may || (session.number == 2 && info.owner % 2 != 0)) {
            fail("a task ran outside of its set");
        }
        if (session.number == 2) {
            must(m, moot_task_info(m, spawn_for(m, kernel, number, false, set), &other),
                 "info");
            if (memcmp(&other.hash, &info.hash, sizeof(info.hash)) != 0) {
                fail("a set's name is in the hash");
            }
        }
    }
}

static void find_even(moot *m, moot_pset_info *out)
{
    for (size_t i = 0; i < moot_pset_count(m); i++) {
        must(m, moot_pset_info(m, i, out), "pset");
        if (strcmp(out->name, "app://even") == 0) {
            return;
        }
    }
    fail("there is no app://even");
}

static void go_wrong(moot *m, moot_kernel_id kernel)
{
    static char long_name[66];
    memset(long_name, 'x', 65);
    static const char *const names[] = {"",     "mpi://x", "moot://x", "a b",
                                        "a\tb", long_name, NULL};
    const int self = session.rank, beyond = session.size;
    const moot_ranks good = {.ranks = &self, .count = 1};
    for (int i = 0; i < 7; i++) {
        printf("wrong: define: %s\n",
               moot_err_name(moot_pset_define(m, names[i], &good)));
        printf("wrong: delete: %s\n", moot_err_name(moot_pset_delete(m, names[i])));
    }
    printf("wrong: nobody: %s\n",
           moot_err_name(moot_pset_define(m, "app://x", &(moot_ranks){0})));
    printf("wrong: no ranks: %s\n",
           moot_err_name(moot_pset_define(m, "app://x", NULL)));
    printf("wrong: beyond: %s\n",
           moot_err_name(moot_pset_define(
               m, "app://x", &(moot_ranks){.ranks = &beyond, .count = 1})));
    printf("wrong: unknown: %s\n", moot_err_name(moot_pset_delete(m, "app://y")));
    printf("wrong: NULL: %s\n",
           moot_err_name(moot_pset_define(NULL, "app://x", &good)));
    must(m, moot_pset_define(m, "app://x", &good), "define");
    printf("wrong: again: %s\n",
           moot_err_name(moot_pset_define(
               m, "app://x", &(moot_ranks){.ranks = (int[]){0, 1}, .count = 2})));
    moot_task task;
    moot_task_spec spec = {.size = sizeof(spec), .kernel = kernel, .pset = "app://x"};
    const int code = moot_task_spawn(m, &spec, &task);
    printf("wrong: no set yet: %s %s\n", moot_err_name(code), moot_last_error(m));
    spec.candidates = good;
    spec.pset = "mpi://WORLD";
    printf("wrong: both: %s\n", moot_err_name(moot_task_spawn(m, &spec, &task)));
}

static void await_file(const char *path)
{
    while (path != NULL && access(path, F_OK) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static void grow(moot *m, const char *until)
{
    while (session.number < 3) {
        const bool began = session.rank < session.size;
        const moot_session_options options = {
            .size = sizeof(options),
            .grow = began && session.number == 1 ? 1 : 0,
            .leave = session.number == 2 && strcmp(session.process, "a_0") == 0};
        if (began) {
            print_sets(m);
        }
        must(m, moot_session_next(m, &options, &session), "next");
        if (options.leave) {
            return;
        }
    }
    print_sets(m);
    await_file(until);
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    moot_watch_id watch;
    moot_pset_info even;
    char process[16];
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "repeat", .fn = repeat},
                              &kernel),
         "kernel");
    must(m, moot_session_info_get(m, &session), "session");
    snprintf(process, sizeof(process), "%s", session.process);
    if (argc > 1 && strcmp(argv[1], "wrong") == 0) {
        go_wrong(m, kernel);
        return moot_close(m) == MOOT_OK ? 0 : 1;
    }
    if (argc > 1 && strcmp(argv[1], "grow") == 0) {
        grow(m, argc > 2 ? argv[2] : NULL);
        return moot_close(m) == MOOT_OK ? 0 : 1;
    }
    must(m,
         moot_watch_add(m,
                        &(moot_watch){.kinds = MOOT_EVENTS_OF_PSETS,
                                      .fn = on_event,
                                      .user = process},
                        &watch),
         "watch");
    print_sets(m);
    define_all(m);
    must(m, moot_session_next(m, NULL, &session), "next");
    print_sets(m);
    find_even(m, &even);
    run_tasks(m, kernel, &even);
    if (session.rank == 2) {
        must(m, moot_pset_delete(m, "app://one"), "delete");
    }
    const bool goes = session.rank == 2 && argc > 1 && strcmp(argv[1], "go") == 0;
    must(m, moot_session_next(m, &(moot_session_options){.leave = goes}, &session),
         "next");
    if (!goes) {
        print_sets(m);
        find_even(m, &even);
        run_tasks(m, kernel, &even);
    }
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
