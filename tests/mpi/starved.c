/* starved.c - a rank whose memory runs out, among others that go on.
 *
 *     starved refused    rank 1 spawns until it is refused for want of memory, gives
 * some of its own back, spawns again, and closes starved ended      it lets nothing be
 * left, so that it ends starved            the first
 *
 * Rank 1 has address space for little more than it has at the beginning, and spawns
 * what nobody else does.  The others count the tasks that all spawn, of which rank 1
 * has spawned the first ones, and each has its result whoever made it.  What rank 1 is
 * told must be NO_MEMORY, from a spawn; closing ends with that only if it ended.
 *
 * Run with `moot run`: under a launcher that ends the job with a rank, `ended` ends
 * all.
 */
#include "node/api/moot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    TASKS = 60,
    OWN_BYTES = 256 << 20,
    ROOM_MB = 24,
    SPAWNS_MAX = 20000000,
    STARVING = 1
};

static bool has_word(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* The size of this process, in bytes. */
static rlim_t address_space(void)
{
    char line[256];
    unsigned long kb = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        if (has_word(line, "VmSize:")) {
            kb = strtoul(line + sizeof("VmSize:") - 1, NULL, 10);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return (rlim_t)kb << 10;
}

static void limit_memory(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space() + ((rlim_t)ROOM_MB << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        perror("setrlimit");
        exit(1);
    }
}

/* All that malloc() has, down to the smallest; none of it is given back. */
static void take_the_rest(void)
{
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        while (malloc(size) != NULL) {
        }
    }
}

static int square(moot_call *call, void *user)
{
    (void)user;
    size_t size;
    uint64_t number;
    memcpy(&number, moot_call_args(call, &size), sizeof(number));
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = number * number;
    return MOOT_OK;
}

static int spawn(moot *m, moot_kernel_id kernel, uint64_t number, moot_task *out)
{
    return moot_task_spawn(m,
                           &(moot_task_spec){.kernel = kernel,
                                             .args = &number,
                                             .args_size = sizeof(number)},
                           out);
}

static int starve(moot *m, moot_kernel_id kernel, bool ends)
{
    moot_task task;
    int code = MOOT_OK;
    for (uint64_t number = 0; number < TASKS / 2 && code == MOOT_OK; number++) {
        code = spawn(m, kernel, number, &task);
    }
    void *own = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    limit_memory();
    for (uint64_t more = 0; more < SPAWNS_MAX && code == MOOT_OK; more++) {
        code = spawn(m, kernel, UINT64_C(1000000) + more, &task);
    }
    fprintf(stderr, "starved: rank %d: %s: %s\n", moot_rank(m), moot_err_name(code),
            moot_last_error(m));
    if (code != MOOT_ERR_NO_MEMORY) {
        return 1;
    }
    if (!ends) {
        munmap(own, OWN_BYTES);
    }
    for (int i = 0; !ends && code != MOOT_OK && i < 1000; i++) {
        code = spawn(m, kernel, UINT64_C(1000000000) + (uint64_t)i, &task);
        (void)moot_task_wait(m, task, 1000000);
    }
    for (int i = 0; ends && i < 1000; i++) {
        take_the_rest();
        code = spawn(m, kernel, UINT64_C(1000000000) + (uint64_t)i, &task);
        (void)moot_task_wait(m, task, 1000000);
    }
    int closed = moot_close(m);
    fprintf(stderr, "starved: closed with %s: %s\n", moot_err_name(closed),
            moot_last_error(NULL));
    return ends ? closed != MOOT_ERR_NO_MEMORY : closed != MOOT_OK || code != MOOT_OK;
}

static int count(moot *m, moot_kernel_id kernel)
{
    moot_task tasks[TASKS];
    int wrong = 0;
    for (uint64_t number = 0; number < TASKS; number++) {
        wrong += spawn(m, kernel, number, &tasks[number]) != MOOT_OK;
    }
    for (uint64_t number = 0; number < TASKS; number++) {
        const void *data;
        uint64_t got = 0;
        size_t size;
        int code = moot_task_fetch(m, tasks[number], MOOT_FOREVER, &data, &size);
        if (code == MOOT_OK) {
            memcpy(&got, data, sizeof(got));
        }
        if (code != MOOT_OK || got != number * number) {
            fprintf(stderr, "starved: task %d: %s\n", (int)number, moot_last_error(m));
            wrong++;
        }
    }
    int closed = moot_close(m);
    if (closed != MOOT_OK) {
        fprintf(stderr, "starved: a rank closed with %s\n", moot_err_name(closed));
    }
    return wrong + (closed != MOOT_OK);
}

int main(int argc, char **argv)
{
    moot *m;
    moot_kernel_id kernel;
    const bool ends = argc > 1 && strcmp(argv[1], "ended") == 0;
    if (moot_open(NULL, &m) != MOOT_OK ||
        moot_kernel_register(m, &(moot_kernel){.name = "square", .fn = square},
                             &kernel) != MOOT_OK) {
        fprintf(stderr, "starved: %s\n", moot_last_error(NULL));
        return 1;
    }
    return moot_rank(m) == STARVING ? starve(m, kernel, ends) : count(m, kernel);
}
