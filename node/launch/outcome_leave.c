/* outcome_leave.c - how a rank's process ended, as `moot rank` leaves it:
 * outcome_leave() of outcome.h.
 */
#include "node/config/ending.h"
#include "node/launch/outcome.h"
#include "node/launch/outcome_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_BYTES = 8192, LOG_RECORDS_MAX = 1 << 16 }; /* of /dev/kmsg */
enum { PATH_BYTES = 4096 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the system's log says that it killed that process for want of memory.  It is
 * not shown to everyone. */
static bool is_out_of_memory(long pid)
{
    static const char killed[] = "Killed process ";
    char record[LOG_BYTES];
    bool found = false;
    const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    for (int i = 0; fd >= 0 && !found && i < LOG_RECORDS_MAX; i++) {
        const ssize_t length = read(fd, record, sizeof(record) - 1);
        if (length < 0 && errno != EPIPE) { /* EPIPE: overwritten; the next is there */
            break;
        }
        record[length > 0 ? length : 0] = '\0';
        const char *at = strstr(record, killed);
        found = at != NULL && strtol(at + sizeof(killed) - 1, NULL, 10) == pid;
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

void outcome_leave(const char *directory, long rank, long pid, int status, int signal)
{
    char path[PATH_BYTES], unfinished[PATH_BYTES + 16];
    const uint64_t ended_ns = ending_by_job_clock(now_ns());
    const struct ending ending = {
        .signal = signal,
        .status = status,
        .aborted = ending_take(directory, ENDING_LIVES, pid) && signal == 0,
        .out_of_memory = signal == SIGKILL && is_out_of_memory(pid)};
    const bool stalled = ending_take(directory, ENDING_STALLED, pid);
    char refused[ENDING_STORY_BYTES] = "";
    const bool is_refused = ending_take_refusal(directory, pid, refused);
    ending_leave(directory, pid, &ending);
    ending_take(directory, ENDING_OPENS, pid);
    ending_take(directory, ENDING_FINALIZES, pid);
    if (rank < 0) {
        return;
    }
    snprintf(path, sizeof(path), "%s/end-%ld", directory, rank);
    snprintf(unfinished, sizeof(unfinished), "%s.unfinished", path);
    FILE *file = fopen(unfinished, "we");
    if (!file) {
        return;
    }
    fprintf(file,
            "status %d\nsignal %d\naborted %d\nstalled %d\nended_ns %" PRIu64 "\n",
            status, signal, ending.aborted, stalled, ended_ns);
    if (is_refused) {
        fprintf(file, REFUSED " %s\n", refused);
    }
    if (fclose(file) == 0) {
        rename(unfinished, path);
    }
}
