/* closed_early.c - founders that close their moot as a newcomer is on its way, and
 * compute on.
 *
 *   moot run -n 2 --max 3 --launcher local closed_early SECONDS [BEFORE | again]
 *
 * Rank 0 asks for one more, and all close, so many seconds (0) after that.  The
 * founders then look at nothing of moot's for SECONDS; a newcomer that comes too late,
 * or is not let in, says so.  Or rank 0 asks in a second moot (`again`).  Without
 * arguments nobody is asked for.
 */
#include "node/api/moot.h"
#include "node/api/moot_session.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void ask_for_one(moot *m)
{
    const int code = moot_grow(m, 1, NULL);
    printf("grow: %s\n", code == MOOT_OK ? moot_strerror(code) : moot_last_error(m));
}

/* False: it cannot be opened, which is said. */
static bool open_moot(moot **m)
{
    if (moot_open(NULL, m) == MOOT_OK) {
        return true;
    }
    printf("open: %s\n", moot_last_error(NULL));
    return false;
}

int main(int argc, char **argv)
{
    const int seconds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    const struct timespec pause = {.tv_sec = seconds},
                          before = {.tv_sec = argc > 2 ? strtol(argv[2], NULL, 10) : 0};
    moot *m = NULL;
    if (!open_moot(&m)) {
        return 0;
    }
    if (argc > 2 && strcmp(argv[2], "again") == 0 &&
        (moot_close(m) != MOOT_OK || !open_moot(&m))) {
        return 1;
    }
    moot_session_info info = {.rank = 0};
    (void)moot_session_info_get(m, &info);
    const bool founds = strncmp(info.process, "a_", 2) == 0;
    if (founds && info.rank == 0 && seconds > 0) {
        ask_for_one(m);
    }
    if (founds) {
        (void)nanosleep(&before, NULL);
    }
    if (moot_close(m) != MOOT_OK) {
        return 1;
    }
    if (founds && nanosleep(&pause, NULL) == 0) {
        printf("a founder ends\n");
    }
    return 0;
}
