/* crowd.c - what a rank needs among many: connections, memory, descriptors, and time to
 * open and to close.
 *
 *     moot run -n 64 --launcher local --transport tcp MOOT_RINGS=off crowd [ROWS]
 *
 * Rows of WIDTH tasks, however many ranks there are; a task takes the results of seven
 * tasks of the row before, from its own rank and from three on each side.  When all
 * rows are done each rank prints what it uses then, and once it has closed, how long
 * that took:
 *
 *     crowd RANK CONNECTIONS DESCRIPTORS MEMORY_KB MESSAGES OPEN_MS
 *     close RANK CLOSE_MS
 *
 * Connections are sockets.  Memory is what a process has to itself, and what it had
 * before moot_open taken off.  tests/bench/crowd.sh compares 64 processes with 256.
 */
#include "tests/bench/ways.h"

#include "node/api/moot.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 256, REACH = 3, INPUTS = 2 * REACH + 1 };

static void check_call(moot *m, int code)
{
    if (code != MOOT_OK) {
        fprintf(stderr, "crowd: %s\n", moot_last_error(m));
        exit(1);
    }
}

static int add(moot_call *call, void *user)
{
    (void)user;
    uint64_t sum = 1;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        uint64_t value;
        size_t size = 0;
        const void *bytes = moot_call_input(call, i, &size);
        if (size != sizeof(value)) {
            return MOOT_ERR_INVALID;
        }
        memcpy(&value, bytes, sizeof(value));
        sum += value;
    }
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = sum;
    return MOOT_OK;
}

static void spawn_row(moot *m, moot_kernel_id kernel, int row, moot_task *now,
                      const moot_task *before)
{
    for (int i = 0; i < WIDTH; i++) {
        const int args[2] = {row, i};
        moot_task inputs[INPUTS];
        for (int k = 0; k < INPUTS && row > 0; k++) {
            inputs[k] = before[(i + k - REACH + WIDTH) % WIDTH];
        }
        const moot_task_spec spec = {.size = sizeof(spec),
                                     .kernel = kernel,
                                     .args = args,
                                     .args_size = sizeof(args),
                                     .inputs = inputs,
                                     .input_count = row > 0 ? INPUTS : 0,
                                     .owner = MOOT_ON(i % moot_size(m))};
        check_call(m, moot_task_spawn(m, &spec, &now[i]));
    }
    for (int i = 0; i < WIDTH && row > 0; i++) {
        check_call(m, moot_task_release(m, before[i]));
    }
}

static void run_rows(moot *m, int rows)
{
    static moot_task tasks[2][WIDTH];
    moot_kernel_id kernel;
    const moot_kernel adds = {.size = sizeof(adds), .name = "add", .fn = add};
    check_call(m, moot_kernel_register(m, &adds, &kernel));
    for (int row = 0; row < rows; row++) {
        spawn_row(m, kernel, row, tasks[row % 2], tasks[1 - row % 2]);
    }
    const moot_task *last = tasks[(rows - 1) % 2];
    const void *data;
    size_t size;
    /* A neighbour's: what its owner waits for itself is sent to all (T3a). */
    check_call(m, moot_task_fetch(m, last[(moot_rank(m) + 1) % moot_size(m)],
                                  MOOT_FOREVER, &data, &size));
    for (int i = 0; i < WIDTH; i++) {
        check_call(m, moot_task_release(m, last[i]));
    }
    check_call(m, moot_barrier(m));
}

/* --- What a process uses ---------------------------------------------------------- */

static long own_memory_kb(void)
{
    static const char name[] = "Private_Dirty:";
    long kb = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, sizeof(name) - 1) == 0) {
            kb = strtol(line + sizeof(name) - 1, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb;
}

static void count_descriptors(int *all, int *sockets)
{
    static const char socket[] = "socket:";
    DIR *folder = opendir("/proc/self/fd");
    *all = *sockets = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char where[sizeof("/proc/self/fd/") + sizeof(entry->d_name)], what[64];
        (void)snprintf(where, sizeof(where), "/proc/self/fd/%s", entry->d_name);
        const ssize_t size = readlink(where, what, sizeof(what));
        *all += size > 0;
        *sockets += size > (ssize_t)sizeof(socket) &&
                    memcmp(what, socket, sizeof(socket) - 1) == 0;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    *all -= 1; /* the folder's own */
}

int main(int argc, char **argv)
{
    const int rows = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40;
    if (rows < 1) {
        fprintf(stderr, "usage: crowd [ROWS]\n");
        return 2;
    }
    moot *m = NULL;
    const long before_kb = own_memory_kb();
    const double opening_us = ways_now_us();
    check_call(NULL, moot_open(NULL, &m));
    const double open_us = ways_now_us() - opening_us;
    const int rank = moot_rank(m);
    run_rows(m, rows);
    moot_stats stats;
    int descriptors, sockets;
    check_call(m, moot_stats_get(m, &stats));
    count_descriptors(&descriptors, &sockets);
    printf("crowd %d %d %d %ld %llu %.1f\n", rank, sockets, descriptors,
           own_memory_kb() - before_kb, (unsigned long long)stats.messages_sent,
           open_us / 1e3);
    (void)fflush(stdout);
    const double closing_us = ways_now_us();
    check_call(NULL, moot_close(m));
    printf("close %d %.1f\n", rank, (ways_now_us() - closing_us) / 1e3);
    return 0;
}
