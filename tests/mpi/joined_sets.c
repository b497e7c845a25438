/* joined_sets.c - process sets where ranks join: each rank says which it has.
 *
 *   moot run -n 3 --max 6 --launcher local joined_sets live|session COUNT
 *
 * Rank 0 asks for so many more, in the first session or for the second; each newcomer
 * comes a good while after the one before, so that they are in views of their own.  In
 * the second session each rank prints all sets but mpi://SELF.  Without arguments
 * nobody is asked for.
 */
#include "node/api/moot.h"
#include "node/api/moot_session.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 20000, LATER_MS = 300 };

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

static void sets_print(moot *m, const char *process)
{
    char text[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < moot_pset_count(m) && used < sizeof(text); i++) {
        moot_pset_info set = {.name = NULL};
        if (i == 1 || moot_pset_info(m, i, &set) != MOOT_OK) {
            continue;
        }
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, " %zu %s", i, set.name);
        for (size_t k = 0; k < set.size && used < sizeof(text); k++) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%s",
                                     k == 0 ? '=' : ',', set.processes[k]);
        }
    }
    printf("sets of %s:%s\n", process, text);
}

/* Until so many sets of all ranks more are there. */
static void sets_wait(moot *m, int count)
{
    char name[32];
    snprintf(name, sizeof(name), "moot://all_%d", count + 1);
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        for (size_t i = 0; i < moot_pset_count(m); i++) {
            moot_pset_info set = {.name = NULL};
            if (moot_pset_info(m, i, &set) == MOOT_OK && strcmp(set.name, name) == 0) {
                return;
            }
        }
        pause_ms(1);
    }
}

int main(int argc, char **argv)
{
    const int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    const bool live = argc > 1 && strcmp(argv[1], "live") == 0;
    const char *number = getenv("MOOTRUN_RANK");
    moot *m = NULL;
    moot_session_info info = {.rank = 0};
    if (number != NULL && strtol(number, NULL, 10) > 3) {
        pause_ms(LATER_MS * (strtol(number, NULL, 10) - 3));
    }
    int error = moot_open(NULL, &m);
    error = error == MOOT_OK ? moot_session_info_get(m, &info) : error;
    const bool founds = error == MOOT_OK && info.process[0] == 'a';
    if (founds && live && count > 0) {
        error = info.rank == 0 ? moot_grow(m, count, NULL) : MOOT_OK;
        sets_wait(m, count);
    }
    if (error == MOOT_OK && (founds || info.rank >= info.size)) {
        const uint64_t more = !live && founds && info.rank == 0 ? (uint64_t)count : 0;
        error = moot_session_next(
            m,
            &(moot_session_options){.size = sizeof(moot_session_options), .grow = more},
            &info);
    }
    if (error != MOOT_OK) {
        printf("error: %s: %s\n", moot_strerror(error), moot_last_error(m));
        return 1;
    }
    sets_print(m, info.process);
    return moot_close(m) == MOOT_OK ? 0 : 1;
}
