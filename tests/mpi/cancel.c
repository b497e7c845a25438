/* cancel.c - cancels at every moment of a task's life, on ranks that may die of it.
 *
 *     cancel FILE SEED            a rank of the job; ranks share FILE, on one host
 *     cancel --check FILE SEED    afterwards: whether what it holds may be
 *
 * Each victim is cancelled by one rank, its chair or the one behind that, at the moment
 * that its number says: before that rank spawns it, while it waits, while its chair has
 * yet to yield it, while its kernel runs, when it has ended and others wait for it, and
 * when all is over.  Every rank waits for every victim and for a task that takes its
 * result.  In the file, which outlives whoever is killed, stand the starts of kernels
 * and how each wait ended.  Then, for all ranks that finished:
 *
 *   - every victim ended the same at all of them, well or cancelled;
 *   - what ended cancelled was started by none of them, or gave up itself;
 *   - a dependent ended well where its victim did, and failed where it did not;
 *   - what was cancelled when all was over had ended well.
 *
 * Without arguments it runs seed 1 over a file of its own, and the last rank checks it.
 */
#include "node/api/moot.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { VICTIMS = 48, RANKS_MAX = 16, EXIT_REMOVED = 9, PATIENCE_MS = 100 };

enum moment { UNSPAWNED, WAITING, VOTED, RUNNING, IN_FLIGHT, OVER, MOMENTS };
static const char *const moment_names[MOMENTS] = {
    "unspawned", "waiting", "being voted", "running", "in flight", "over"};

/* How a wait ended, as the file has it. */
enum end { END_NONE, END_WELL, END_CANCELLED, END_FAILED, END_OTHER };

struct ledger {
    atomic_uint starts[VICTIMS][RANKS_MAX], ended[VICTIMS];
    atomic_uint victim_ends[VICTIMS][RANKS_MAX], dependent_ends[VICTIMS][RANKS_MAX];
    atomic_uint finished[RANKS_MAX], finished_count;
    atomic_uint size;
};

struct play {
    moot *m;
    int rank, size;
    uint64_t seed;
    moot_kernel_id victim, dependent;
};

struct args {
    uint64_t seed;
    uint32_t victim, moment;
};

static struct ledger *ledger;

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* --- Kernels -------------------------------------------------------------------- */

static int victim_kernel(moot_call *call, void *user)
{
    size_t size;
    const struct args *args = moot_call_args(call, &size);
    struct play *play = user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL || size != sizeof(*args)) {
        return moot_call_fail(call, 1, "wrong arguments");
    }
    ledger->starts[args->victim][play->rank]++;
    for (int ms = 0; args->moment == RUNNING && ms < PATIENCE_MS; ms++) {
        if (moot_call_cancelled(call)) {
            return MOOT_ERR_CANCELLED;
        }
        nap_ms(1);
    }
    *out = args->victim;
    ledger->ended[args->victim]++;
    return MOOT_OK;
}

static int dependent_kernel(moot_call *call, void *user)
{
    (void)user;
    size_t size;
    const uint64_t *in = moot_call_input(call, 0, &size);
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL || (moot_call_input_count(call) > 0 && in == NULL)) {
        return moot_call_fail(call, 2, "no input");
    }
    nap_ms(in == NULL ? 3 : 0); /* what others come after */
    *out = in != NULL ? 2 * *in : 0;
    return MOOT_OK;
}

/* --- A victim -------------------------------------------------------------------- */

static moot_task spawn(struct play *play, const moot_task_spec *spec)
{
    moot_task task = {0};
    int code = moot_task_spawn(play->m, spec, &task);
    if (code != MOOT_OK) {
        fprintf(stderr, "cancel: rank %d: spawn: %s\n", play->rank,
                moot_last_error(play->m));
        exit(code == MOOT_ERR_FENCED ? EXIT_REMOVED : 1);
    }
    return task;
}

/* It is named before anybody spawns it; its chair is as far as this rank knows. */
static moot_task find(struct play *play, const moot_task_spec *spec, int *chair)
{
    moot_hash hash;
    moot_task task;
    moot_task_info info;
    if (moot_spec_hash(play->m, spec, &hash) != MOOT_OK ||
        moot_task_find(play->m, &hash, &task) != MOOT_OK ||
        moot_task_info(play->m, task, &info) != MOOT_OK) {
        exit(1);
    }
    *chair = info.chair;
    return task;
}

/* Until it has happened, or for so long that it seems that it will not. */
static void await(const atomic_uint *counts, int many)
{
    unsigned sum = 0;
    for (int ms = 0; sum == 0 && ms < PATIENCE_MS; ms++, nap_ms(1)) {
        for (int i = 0; i < many; i++) {
            sum += counts[i];
        }
    }
}

static void cancel(struct play *play, moot_task task)
{
    if (moot_task_cancel(play->m, task) != MOOT_OK) {
        exit(1);
    }
}

static enum end wait_end(struct play *play, moot_task task)
{
    switch (moot_task_wait(play->m, task, MOOT_FOREVER)) {
    case MOOT_OK:
        return END_WELL;
    case MOOT_ERR_CANCELLED:
        return END_CANCELLED;
    case MOOT_ERR_TASK_FAILED:
        return END_FAILED;
    case MOOT_ERR_FENCED:
        exit(EXIT_REMOVED);
    default:
        fprintf(stderr, "cancel: rank %d: %s\n", play->rank, moot_last_error(play->m));
        return END_OTHER;
    }
}

static void play_victim(struct play *play, uint32_t number)
{
    const struct args args = {play->seed, number, number % MOMENTS};
    const uint64_t blocker_args[2] = {play->seed, number};
    moot_task_spec blocker_spec = {.kernel = play->dependent,
                                   .args = blocker_args,
                                   .args_size = sizeof(blocker_args)};
    moot_task_spec spec = {
        .kernel = play->victim, .args = &args, .args_size = sizeof(args)};
    int chair;
    moot_task task = find(play, &spec, &chair);
    bool mine = play->rank == (chair + (int)(number / MOMENTS % 2)) % play->size;
    bool holds = args.moment != VOTED || play->rank != chair || play->size < 3;
    moot_task blocker = spawn(play, &blocker_spec);
    if (args.moment == WAITING) {
        spec.after = &blocker;
        spec.after_count = 1;
    }
    if (mine && args.moment == UNSPAWNED) {
        cancel(play, task);
    }
    if (holds) {
        task = spawn(play, &spec);
    }
    if (mine && (args.moment == WAITING || args.moment == VOTED)) {
        cancel(play, task);
    }
    moot_task dependent = spawn(play, &(moot_task_spec){.kernel = play->dependent,
                                                        .args = &args,
                                                        .args_size = sizeof(args),
                                                        .inputs = &task,
                                                        .input_count = 1});
    if (mine && args.moment == RUNNING) {
        await(ledger->starts[number], RANKS_MAX);
    }
    if (mine && args.moment == IN_FLIGHT) {
        await(&ledger->ended[number], 1);
    }
    if (mine && args.moment == OVER) {
        (void)wait_end(play, task);
    }
    if (mine && args.moment >= RUNNING) {
        cancel(play, task);
    }
    ledger->victim_ends[number][play->rank] = wait_end(play, task);
    ledger->dependent_ends[number][play->rank] = wait_end(play, dependent);
}

/* --- Checking --------------------------------------------------------------------- */

static int complain(uint32_t number, const char *what)
{
    printf("victim %u (%s): %s:", number, moment_names[number % MOMENTS], what);
    for (unsigned rank = 0; rank < ledger->size; rank++) {
        printf(" rank %u%s: starts %u, end %u, dependent %u;", rank,
               ledger->finished[rank] ? "" : " (dead)", ledger->starts[number][rank],
               ledger->victim_ends[number][rank], ledger->dependent_ends[number][rank]);
    }
    printf("\n");
    return 1;
}

static int check_victim(uint32_t number, unsigned ends[MOMENTS][2])
{
    unsigned end = END_NONE, starts = 0;
    for (unsigned rank = 0; rank < ledger->size; rank++) {
        if (!ledger->finished[rank]) {
            continue;
        }
        unsigned here = ledger->victim_ends[number][rank];
        unsigned dependent = ledger->dependent_ends[number][rank];
        starts += ledger->starts[number][rank];
        if (here != END_WELL && here != END_CANCELLED) {
            return complain(number, "it has neither end");
        }
        if (end != END_NONE && here != end) {
            return complain(number, "ranks see different ends");
        }
        if ((here == END_WELL) != (dependent == END_WELL)) {
            return complain(number, "the dependent does not follow");
        }
        end = here;
    }
    if (end == END_CANCELLED && starts > 0 && number % MOMENTS != RUNNING) {
        return complain(number, "it ran, and is cancelled");
    }
    if (end == END_CANCELLED && number % MOMENTS == OVER &&
        ledger->finished_count == ledger->size) {
        return complain(number, "it had ended before");
    }
    ends[number % MOMENTS][end == END_CANCELLED]++;
    return 0;
}

static int check(void)
{
    unsigned ends[MOMENTS][2] = {{0}};
    int status = 0;
    for (uint32_t number = 0; number < VICTIMS; number++) {
        status |= check_victim(number, ends);
    }
    for (int moment = 0; moment < MOMENTS && status == 0; moment++) {
        printf("%-12s %u cancelled, %u too late\n", moment_names[moment],
               ends[moment][1], ends[moment][0]);
    }
    return status;
}

/* --- The whole run ---------------------------------------------------------------- */

static int run(uint64_t seed)
{
    static const char *const knobs[] = {"MOOT_THREADS=1", NULL};
    const moot_options options = {.knobs = knobs};
    struct play play = {.seed = seed};
    if (moot_open(&options, &play.m) != MOOT_OK) {
        return 1;
    }
    play.rank = moot_rank(play.m);
    play.size = moot_size(play.m);
    ledger->size = (unsigned)play.size;
    if (moot_kernel_register(
            play.m,
            &(moot_kernel){.name = "victim", .fn = victim_kernel, .user = &play},
            &play.victim) != MOOT_OK ||
        moot_kernel_register(
            play.m, &(moot_kernel){.name = "dependent", .fn = dependent_kernel},
            &play.dependent) != MOOT_OK) {
        return 1;
    }
    for (uint32_t number = 0; number < VICTIMS; number++) {
        play_victim(&play, number);
    }
    int code = moot_close(play.m);
    if (code == MOOT_OK) {
        ledger->finished[play.rank] = 1;
    }
    return code == MOOT_OK ? 0 : code == MOOT_ERR_FENCED ? EXIT_REMOVED : 1;
}

static bool ledger_open(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(*ledger)) != 0) {
        return false;
    }
    ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return ledger != MAP_FAILED;
}

int main(int argc, char **argv)
{
    bool checks = argc == 4 && strcmp(argv[1], "--check") == 0;
    const char *path = checks ? argv[2] : argc == 3 ? argv[1] : NULL;
    char own[64];
    if (argc == 1) { /* the launcher's process, which all ranks have in common */
        snprintf(own, sizeof(own), "/tmp/cancel-%d", (int)getppid());
        path = own;
    }
    if (path == NULL || !ledger_open(path)) {
        fprintf(stderr, "usage: cancel [--check] FILE SEED\n");
        return 2;
    }
    if (checks) {
        return check();
    }
    int status = run(argc == 3 ? strtoull(argv[2], NULL, 10) : 1);
    bool last = ++ledger->finished_count == ledger->size;
    if (argc == 1 && last && status == 0) {
        status = check();
    }
    if (argc == 1 && last) {
        unlink(path);
    }
    return status;
}
