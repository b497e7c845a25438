/* state_find.c - the sockets of running ranks: which there are, and what they say. */
#include "node/tools/state_sockets.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A rank that moves messages answers for itself at once; for all, in some rounds. */
enum { SELF_S = 1, SLOW_S = 5, ALL_S = 10, GROW_S = 25 };

static const char all_line[] = "all\n";

/* Who connects is refused by any file but a socket, and by one that is about to listen:
 * only a rank's socket whose process is no more is nobody's. */
static bool is_left(const char *path)
{
    struct stat status;
    const char *number = strrchr(path, '-');
    const long pid = number ? strtol(number + 1, NULL, 10) : 0;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) && pid > 0 &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static int socket_open(const char *path, int patience_s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = patience_s};
    const size_t length = strlen(path);
    if (length >= sizeof(address.sun_path)) {
        return -1;
    }
    memcpy(address.sun_path, path, length + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
        return fd;
    }
    if (errno == ECONNREFUSED && is_left(path)) {
        (void)unlink(path);
    }
    close(fd);
    return -1;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* All of them by then: a trickle is no answer. */
static bool bytes_read(int fd, uint8_t *bytes, size_t size, int64_t until_ms)
{
    while (size > 0) {
        struct pollfd answer = {.fd = fd, .events = POLLIN};
        const int64_t left_ms = until_ms - now_ms();
        if (left_ms <= 0 || poll(&answer, 1, (int)left_ms) <= 0) {
            return false;
        }
        const ssize_t got = recv(fd, bytes, size, MSG_DONTWAIT);
        if (got <= 0) {
            return false;
        }
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

uint64_t state_head_read(const uint8_t *head)
{
    uint64_t size = 0;
    for (int i = 7; i >= 0; i--) {
        size = size << 8 | head[8 + i];
    }
    return memcmp(head, DOOR_MAGIC, 8) == 0 ? size : 0;
}

/* An answer that is on its way. */
struct asking {
    const char *path; /* of the socket */
    size_t bytes_max;
    int64_t until_ms;
    struct text *refused; /* NULL: nobody wants to know */
};

static Moot__Picture *refuse_answer(const struct asking *asking, const char *why,
                                    uint64_t size)
{
    if (asking->refused) {
        text_release(asking->refused);
        text_add(asking->refused, "%s answers with %llu bytes, %s", asking->path,
                 (unsigned long long)size, why);
    }
    return NULL;
}

static Moot__Picture *picture_read(int fd, const struct asking *asking)
{
    uint8_t head[STATE_HEAD_BYTES];
    const uint64_t size = bytes_read(fd, head, sizeof(head), asking->until_ms)
                              ? state_head_read(head)
                              : 0;
    if (size > asking->bytes_max) {
        return refuse_answer(asking, "more than any rank has to say", size);
    }
    uint8_t *bytes = size > 0 ? malloc((size_t)size) : NULL;
    Moot__Picture *picture = NULL;
    if (bytes && bytes_read(fd, bytes, (size_t)size, asking->until_ms)) {
        picture = state_picture_read(bytes, (size_t)size);
        if (!picture) {
            refuse_answer(asking, "which no rank would", size);
        }
    }
    free(bytes);
    return picture;
}

static Moot__Picture *ask(const char *path, const char *line, int patience_s,
                          struct text *refused)
{
    struct asking asking = {.path = path,
                            .bytes_max = strcmp(line, all_line) == 0 ? STATE_ALL_BYTES
                                                                     : STATE_SELF_BYTES,
                            .refused = refused};
    const int fd = socket_open(path, patience_s);
    Moot__Picture *picture = NULL;
    if (fd < 0) {
        return NULL;
    }
    const size_t length = strlen(line);
    if (send(fd, line, length, MSG_NOSIGNAL) == (ssize_t)length) {
        asking.until_ms = now_ms() + INT64_C(1000) * patience_s;
        picture = picture_read(fd, &asking);
    }
    close(fd);
    return picture;
}

/* --- Folders ---------------------------------------------------------------------- */

/* Calls `see` for each socket of a job, or of any, until it returns true. */
static void each_socket(const char *setting, const char *job,
                        bool (*see)(void *context, const char *path, const char *name),
                        void *context)
{
    char folder[DOOR_PATH_BYTES], path[2 * DOOR_PATH_BYTES];
    bool over = false;
    for (unsigned n = 0; !over && door_place(setting, n, folder); n++) {
        DIR *stream = door_is_safe(folder) ? opendir(folder) : NULL;
        const struct dirent *entry;
        while (stream && !over && (entry = readdir(stream))) {
            const size_t length = strcspn(entry->d_name, "-");
            if (entry->d_name[0] == '.' || entry->d_name[length] == '\0' ||
                (job &&
                 (strlen(job) != length || strncmp(job, entry->d_name, length) != 0))) {
                continue;
            }
            if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
                DOOR_PATH_BYTES) {
                over = see(context, path, entry->d_name);
            }
        }
        if (stream) {
            closedir(stream);
        }
    }
}

static bool job_see(void *context, const char *path, const char *name)
{
    struct state_jobs *jobs = context;
    const size_t length = strcspn(name, "-");
    if (length >= STATE_JOB_BYTES) {
        return false;
    }
    for (int i = 0; i < jobs->count; i++) {
        if (strlen(jobs->names[i]) == length &&
            strncmp(jobs->names[i], name, length) == 0) {
            return false;
        }
    }
    const int fd = socket_open(path, SELF_S);
    if (fd >= 0) {
        close(fd);
        memcpy(jobs->names[jobs->count], name, length);
        jobs->names[jobs->count++][length] = '\0';
    }
    return jobs->count == STATE_JOBS_MAX;
}

void state_jobs_find(const char *setting, struct state_jobs *out)
{
    out->count = 0;
    each_socket(setting, NULL, job_see, out);
}

static bool left_remove(void *context, const char *path, const char *name)
{
    const int fd = is_left(path) ? socket_open(path, SELF_S) : -1;
    (void)context, (void)name;
    if (fd >= 0) {
        close(fd); /* it is somebody's: of another pid namespace */
    }
    return false;
}

void state_sweep(const char *setting)
{
    char folder[DOOR_PATH_BYTES];
    each_socket(setting, NULL, left_remove, NULL);
    for (unsigned n = 0; *setting == '\0' && door_place(setting, n, folder); n++) {
        if (door_is_safe(folder)) {
            (void)rmdir(folder); /* of the library's own, if it is empty */
        }
    }
}

struct state_seen {
    Moot__Picture *picture;
    struct text *refused;
};

/* A rank that does not answer for itself would not for all. */
static bool rank_ask(void *context, const char *path, const char *name)
{
    struct state_seen *asked = context;
    (void)name;
    Moot__Picture *self = ask(path, "self\n", SELF_S, asked->refused);
    if (self) {
        moot__picture__free_unpacked(self, NULL);
        asked->picture = ask(path, all_line, ALL_S, asked->refused);
    }
    return asked->picture != NULL;
}

static bool rank_ask_brief(void *context, const char *path, const char *name)
{
    Moot__Picture **picture = context;
    (void)name;
    *picture = ask(path, "brief\n", SELF_S, NULL);
    return *picture != NULL;
}

Moot__Picture *state_ask_one(const char *setting, const char *job)
{
    Moot__Picture *picture = NULL;
    each_socket(setting, job, rank_ask_brief, &picture);
    return picture;
}

struct state_leaving {
    char line[32];
    int patience_s;
    bool passed_on;
};

static bool rank_ask_to_leave(void *context, const char *path, const char *name)
{
    struct state_leaving *leaving = context;
    (void)name;
    Moot__Picture *self = ask(path, leaving->line, leaving->patience_s, NULL);
    leaving->passed_on = self != NULL;
    if (self) {
        moot__picture__free_unpacked(self, NULL);
    }
    return leaving->passed_on;
}

bool state_ask_to_leave(const char *setting, const char *job, uint32_t rank)
{
    struct state_leaving leaving = {.patience_s = SELF_S};
    snprintf(leaving.line, sizeof(leaving.line), "leave %u\n", rank);
    each_socket(setting, job, rank_ask_to_leave, &leaving);
    if (!leaving.passed_on) { /* a host may be that busy; to be asked twice is well */
        leaving.patience_s = SLOW_S;
        each_socket(setting, job, rank_ask_to_leave, &leaving);
    }
    return leaving.passed_on;
}

struct state_growing {
    char line[32];
    Moot__Picture *picture;
};

/* No second rank is asked: the first may have passed the wish on. */
static bool rank_ask_to_grow(void *context, const char *path, const char *name)
{
    struct state_growing *growing = context;
    (void)name;
    Moot__Picture *self = ask(path, "brief\n", SELF_S, NULL);
    if (!self) {
        return false;
    }
    moot__picture__free_unpacked(self, NULL);
    growing->picture = ask(path, growing->line, GROW_S, NULL);
    return true;
}

bool state_ask_to_grow(const char *setting, const char *job, uint32_t count, int *code,
                       struct text *story)
{
    struct state_growing growing = {.picture = NULL};
    snprintf(growing.line, sizeof(growing.line), "grow %u\n", count);
    each_socket(setting, job, rank_ask_to_grow, &growing);
    const Moot__Picture__Grown *grown = growing.picture ? growing.picture->grown : NULL;
    if (grown) {
        *code = grown->code;
        text_add_told(story, grown->story.data, grown->story.len);
    }
    if (growing.picture) {
        moot__picture__free_unpacked(growing.picture, NULL);
    }
    return grown != NULL;
}

Moot__Picture *state_ask(const char *setting, const char *job, struct text *refused)
{
    struct state_seen asked = {.refused = refused};
    each_socket(setting, job, rank_ask, &asked);
    return asked.picture;
}
