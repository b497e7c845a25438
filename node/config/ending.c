/* ending.c - see ending.h. */
#include "node/config/ending.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the process, not of a moot: it ends once. */
static char lives_path[PATH_MAX], opens_path[PATH_MAX], finalizes_path[PATH_MAX];
static pid_t marked; /* a forked child passes exit(), too; 0: there is no mark */

static void pass_exit(void)
{
    if (marked == getpid()) {
        unlink(lives_path);
    }
}

static bool mark(const char *folder, const char *name, char path[PATH_MAX])
{
    const int length =
        snprintf(path, PATH_MAX, "%s/%s-%ld", folder, name, (long)getpid());
    const int fd = length < PATH_MAX
                       ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                       : -1;
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

void ending_opens(void)
{
    const char *folder = getenv(ENDING_FOLDER);
    if (folder != NULL && marked == getpid()) {
        mark(folder, ENDING_OPENS, opens_path);
    }
}

void ending_opened(void)
{
    const char *folder = getenv(ENDING_FOLDER);
    if (opens_path[0] != '\0') {
        unlink(opens_path);
        opens_path[0] = '\0';
    }
    if (folder != NULL && marked != getpid() && atexit(pass_exit) == 0 &&
        mark(folder, ENDING_LIVES, lives_path)) {
        marked = getpid();
    }
}

void ending_finalizes(void)
{
    const char *folder = getenv(ENDING_FOLDER);
    if (folder != NULL && marked == getpid()) {
        mark(folder, ENDING_FINALIZES, finalizes_path);
    }
}
