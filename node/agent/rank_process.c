/* rank_process.c - see rank_process.h. */
#include "node/agent/rank_process.h"
#include "node/transport/host/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files are small, and written at once: a reader finds all of it, or nothing. */
enum { LINE_BYTES = 256 };

static bool write_line(const char *folder, const char *name, size_t rank,
                       const char *line)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof(path), "%s/%s-%zu", folder, name, rank);
    const int fd = length < (int)sizeof(path)
                       ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                       : -1;
    if (fd < 0) {
        return false;
    }
    const size_t size = strlen(line);
    const bool written = write(fd, line, size) == (ssize_t)size;
    close(fd);
    return written;
}

static bool read_line(const char *folder, const char *name, size_t rank,
                      char line[LINE_BYTES])
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof(path), "%s/%s-%zu", folder, name, rank);
    const int fd =
        length < (int)sizeof(path) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    const ssize_t got = read(fd, line, LINE_BYTES - 1);
    close(fd);
    line[got > 0 ? got : 0] = '\0';
    return got > 0;
}

void rank_process_leave(const char *folder, long rank)
{
    const struct process_name self = process_self();
    char line[LINE_BYTES], host[RANK_HOST_BYTES] = "";
    if (rank < 0 || gethostname(host, sizeof(host) - 1) != 0) {
        return;
    }
    snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %" PRIx64 " %s\n", self.pid,
             self.start_ticks, self.space, host);
    (void)write_line(folder, RANK_PROCESS, (size_t)rank, line); /* or it is not told */
}

/* False if nobody has said. */
static bool read_process(const char *folder, size_t rank, struct process_name *name,
                         char host[RANK_HOST_BYTES])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-";
    char line[LINE_BYTES], *at = line;
    host[0] = '\0';
    if (!read_line(folder, RANK_PROCESS, rank, line)) {
        return false;
    }
    name->pid = strtoull(at, &at, 10);
    name->start_ticks = strtoull(at, &at, 10);
    name->space = strtoull(at, &at, 16);
    at += *at == ' ';
    snprintf(host, RANK_HOST_BYTES, "%.*s", (int)strspn(at, letters), at);
    return name->pid != 0;
}

/* The process that is waited for, of one that is near. */
static enum rank_does look_at(struct process_name *name)
{
    *name = process_last_of(name);
    switch (process_state(name)) {
    case 'T':
    case 't':
        return RANK_STOPPED;
    case 'D':
        return RANK_IN_WAIT;
    default:
        return RANK_RUNS;
    }
}

void rank_process_find(const char *folder, size_t rank, struct rank_process *out)
{
    struct process_name name = {0};
    char line[LINE_BYTES];
    *out = (struct rank_process){.pid = 0};
    if (!read_process(folder, rank, &name, out->host)) {
        return;
    }
    if (process_is_near(&name)) {
        out->does = look_at(&name);
    } else if (read_line(folder, RANK_STILL, rank, line)) {
        char *at = line;
        const unsigned long does = strtoul(at, &at, 10);
        name.pid = strtoull(at, &at, 10);
        out->does = does == RANK_STOPPED || does == RANK_IN_WAIT ? (enum rank_does)does
                                                                 : RANK_RUNS;
    }
    out->pid = name.pid;
}

static void leave_still(const char *folder, size_t rank, enum rank_does does,
                        uint64_t pid)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof(line), "%d %" PRIu64 "\n", (int)does, pid);
    (void)write_line(folder, RANK_STILL, rank, line);
}

void rank_process_look(const char *folder, size_t first, size_t count,
                       enum rank_does does[])
{
    for (size_t i = 0; i < count; i++) {
        struct process_name name = {0};
        char host[RANK_HOST_BYTES];
        if (!read_process(folder, first + i, &name, host) || !process_is_near(&name)) {
            continue;
        }
        const enum rank_does now = look_at(&name);
        if (now != does[i]) {
            does[i] = now;
            leave_still(folder, first + i, now, name.pid);
        }
    }
}
