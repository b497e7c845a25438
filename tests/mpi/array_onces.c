/* array_onces.c - elements of once arrays start at most once, whoever dies.
 *
 *     array_onces [FILE [ROUNDS [again]]]     a rank of the job; ranks share FILE, on
 * one file system
 *
 * In each round all ranks spawn one array, of another spread each time, and wait for
 * it.  Every third round rank 0 spawns it alone, so that it runs the homes of all. Each
 * element counts its start in FILE before all else, and then takes a while, so a rank
 * that is killed is in one.  What must be true: no element has started twice; of an
 * array that ends well all have started; another ends with MAYBE_RAN, and a death
 * explains it: each of one array, or of two, as ranks may be a round apart.  With
 * "again" an earlier job has begun elements, as its checkpoint knows.
 *
 * Without arguments: over a file of the launcher's process.
 */
#include "node/api/moot_array.h"
#include "tests/mpi/support/must.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 64, COUNT = 50, KERNEL_US = 1500, ALONE = 3 };

static atomic_uint *starts; /* of each element, in the job */
static bool again;

static int count_start(moot_call *call, void *user)
{
    (void)user;
    const struct timespec span = {.tv_nsec = KERNEL_US * 1000L};
    const uint64_t *round = moot_call_args(call, &(size_t){0});
    atomic_fetch_add(&starts[*round * COUNT + moot_call_index(call)], 1);
    nanosleep(&span, NULL);
    return moot_call_output(call, 1) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static bool open_starts(const char *path)
{
    const size_t bytes = ROUNDS_MAX * COUNT * sizeof(*starts);
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        return false;
    }
    starts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return starts != MAP_FAILED;
}

static uint32_t ranks_lost(moot *m)
{
    moot_stats stats;
    must(m, moot_stats_get(m, &stats), "stats");
    return (uint32_t)stats.ranks_lost;
}

static int complain(moot *m, uint64_t round, const char *what, int code)
{
    fprintf(stderr, "array_onces: WRONG: rank %d: array %d %s: %s: %s\n", moot_rank(m),
            (int)round, what, moot_err_name(code), moot_last_error(m));
    return 1;
}

/* The story says which elements they are, or whose. */
static bool names_them(const moot *m)
{
    const char *story = moot_last_error(m);
    const char *found = strstr(story, ": element");
    return found != NULL && (strstr(found, " may have run: a rank that is gone") ||
                             strstr(found, " others of the share of rank "));
}

static int judge(moot *m, uint64_t round, int code, uint32_t maybe)
{
    if (code != MOOT_OK && code != MOOT_ERR_MAYBE_RAN) {
        return complain(m, round, "ends otherwise", code);
    }
    if (!again && maybe > 2 * ranks_lost(m)) {
        return complain(m, round, "may have run, and no death explains it", code);
    }
    if (code == MOOT_ERR_MAYBE_RAN && !again && !names_them(m)) {
        return complain(m, round, "does not say which may have run", code);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        const unsigned count = starts[round * COUNT + i];
        if (count > 1 || (code == MOOT_OK && count != 1)) {
            return complain(m, round, "has an element that did not start once", code);
        }
    }
    return 0;
}

/* One array; counts those that may have run. */
static int play(moot *m, moot_kernel_id kernel, uint64_t round, uint32_t *maybe)
{
    const bool alone = round % ALONE == ALONE - 1;
    int bad = 0;
    if (!alone || moot_rank(m) == 0) {
        moot_array array;
        const moot_array_spec spec = {
            .kernel = kernel,
            .count = COUNT,
            .args = &round,
            .args_size = sizeof(round),
            .key = &round,
            .key_size = sizeof(round),
            .spread = {(enum moot_spread_kind)(round % 4 % 3), 0}};
        must(m, moot_array_spawn(m, &spec, &array), "spawn");
        const int code = moot_array_wait(m, array, MOOT_FOREVER);
        *maybe += code == MOOT_ERR_MAYBE_RAN;
        bad = judge(m, round, code, *maybe);
        must(m, moot_array_release(m, array), "release");
    }
    return bad;
}

int main(int argc, char **argv)
{
    char own[64];
    (void)snprintf(own, sizeof(own), "/tmp/array-onces-%d", (int)getppid());
    const uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 6;
    uint32_t maybe = 0;
    int bad = 0;
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    again = argc > 3;
    if (rounds > ROUNDS_MAX || !open_starts(argc > 1 ? argv[1] : own) ||
        moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "array_onces: %s\n", moot_last_error(NULL));
        return 1;
    }
    must(m,
         moot_kernel_register(m,
                              &(moot_kernel){.name = "count-start",
                                             .fn = count_start,
                                             .flags = MOOT_KERNEL_ONCE},
                              &kernel),
         "kernel");
    for (uint64_t round = 0; round < rounds; round++) {
        bad |= play(m, kernel, round, &maybe);
    }
    printf("array_onces: rank %d: %u of %d arrays may have run\n", moot_rank(m), maybe,
           (int)rounds);
    if (moot_close(m) != MOOT_OK) {
        bad = 1;
    }
    if (argc < 2) {
        unlink(own);
    }
    return bad;
}
