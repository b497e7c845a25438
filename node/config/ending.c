/* ending.c - see ending.h. */
#include "node/config/ending.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process has one, and not each moot: it ends once.  Moots of several threads write
 * them under the lock; pass_exit, which takes none, reads what was there before
 * `marked` was set. */
static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;
static char lives_path[PATH_MAX], opens_path[PATH_MAX], finalizes_path[PATH_MAX],
    stalled_path[PATH_MAX], awaits_path[PATH_MAX];
/* 0: there is no mark.  A forked child passes exit(), too. */
static _Atomic pid_t marked;

static void (*_Atomic see_exit)(void); /* each moot that opens sets it */

static void pass_exit(void)
{
    if (marked == getpid()) {
        void (*const see)(void) = see_exit;
        if (see != NULL) {
            see();
        }
        unlink(lives_path);
    }
}

void ending_when_exits(void (*see)(void)) { see_exit = see; }

static bool mark_number(const char *folder, const char *name, long number,
                        char path[PATH_MAX])
{
    const int length = snprintf(path, PATH_MAX, "%s/%s-%ld", folder, name, number);
    const int fd = length < PATH_MAX
                       ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                       : -1;
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static bool mark(const char *folder, const char *name, char path[PATH_MAX])
{
    return mark_number(folder, name, (long)getpid(), path);
}

/* Leaves a mark, if the process has had a moot. */
static void mark_live(const char *name, char path[PATH_MAX])
{
    const char *folder = getenv(ENDING_FOLDER);
    if (folder != NULL && marked == getpid()) {
        pthread_mutex_lock(&marks_lock);
        mark(folder, name, path);
        pthread_mutex_unlock(&marks_lock);
    }
}

static void mark_drop(char path[PATH_MAX])
{
    if (path[0] != '\0') {
        unlink(path);
        path[0] = '\0';
    }
}

void ending_opens(void) { mark_live(ENDING_OPENS, opens_path); }

void ending_awaits(uint32_t rank)
{
    const char *folder = getenv(ENDING_FOLDER);
    if (folder != NULL) {
        pthread_mutex_lock(&marks_lock);
        mark_number(folder, ENDING_AWAITS, (long)rank, awaits_path);
        pthread_mutex_unlock(&marks_lock);
    }
}

void ending_opened(void)
{
    const char *folder = getenv(ENDING_FOLDER);
    pthread_mutex_lock(&marks_lock);
    mark_drop(opens_path);
    mark_drop(awaits_path);
    if (folder != NULL && marked != getpid() && atexit(pass_exit) == 0 &&
        mark(folder, ENDING_LIVES, lives_path)) {
        marked = getpid();
    }
    pthread_mutex_unlock(&marks_lock);
}

void ending_finalizes(void) { mark_live(ENDING_FINALIZES, finalizes_path); }

void ending_stalled(void) { mark_live(ENDING_STALLED, stalled_path); }

/* True if the path fits. */
static bool refusal_path(const char *folder, long pid, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/" ENDING_REFUSED "-%ld", folder, pid) <
           PATH_MAX;
}

void ending_refused(const char *story)
{
    const char *folder = getenv(ENDING_FOLDER);
    char path[PATH_MAX];
    const int fd =
        folder != NULL && refusal_path(folder, getpid(), path)
            ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
            : -1;
    if (fd >= 0) {
        const ssize_t written = write(fd, story, strlen(story));
        (void)written; /* without it the program's own words are all there is */
        close(fd);
    }
}

bool ending_take_refusal(const char *folder, long pid, char story[ENDING_STORY_BYTES])
{
    char path[PATH_MAX];
    const int fd = refusal_path(folder, pid, path)
                       ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
                       : -1;
    if (fd < 0) {
        return false;
    }
    const ssize_t length = read(fd, story, ENDING_STORY_BYTES - 1);
    close(fd);
    unlink(path);
    story[length > 0 ? length : 0] = '\0';
    for (char *at = story; *at != '\0'; at++) {
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    }
    return length > 0;
}

bool ending_take(const char *folder, const char *mark_name, long pid)
{
    char path[PATH_MAX];
    const int length =
        snprintf(path, sizeof(path), "%s/%s-%ld", folder, mark_name, pid);
    return length < (int)sizeof(path) && unlink(path) == 0;
}

void ending_leave(const char *folder, long pid, const struct ending *ending)
{
    char path[PATH_MAX], line[64];
    const int length = snprintf(path, sizeof(path), "%s/ended-%ld", folder, pid);
    const int fd =
        length < (int)sizeof(path)
            ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
            : -1;
    const int size = snprintf(line, sizeof(line), "%d %d %d %d\n", ending->signal,
                              ending->status, ending->aborted, ending->out_of_memory);
    if (fd >= 0) {
        const ssize_t written = write(fd, line, (size_t)size);
        (void)written; /* without it nobody is told, as if nobody had waited */
        close(fd);
    }
}

enum { ENDING_LINE_BYTES = 64 };

/* Numbers, `count` of them, with blanks between them, and the line's end. */
static bool words_read(const char *line, int *words, int count)
{
    char *end = NULL;
    for (int i = 0; i < count; i++, line = end) {
        words[i] = (int)strtol(line, &end, 10);
        if (end == line) {
            return false;
        }
    }
    return strcmp(line, "\n") == 0;
}

bool ending_find(const char *folder, long pid, struct ending *out)
{
    char path[PATH_MAX];
    int words[4] = {0};
    const int length = snprintf(path, sizeof(path), "%s/ended-%ld", folder, pid);
    FILE *file = length < (int)sizeof(path) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return false;
    }
    char line[ENDING_LINE_BYTES] = "";
    const bool whole =
        fgets(line, sizeof(line), file) != NULL && words_read(line, words, 4);
    fclose(file);
    if (!whole) {
        return false;
    }
    *out = (struct ending){words[0], words[1], words[2] != 0, words[3] != 0};
    return true;
}

bool ending_is_own_fault(const struct ending *ending)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                              SIGABRT, SIGSYS, SIGTRAP};
    bool found = ending->signal == 0 || ending->out_of_memory;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        found |= own[i] == ending->signal;
    }
    return found;
}

uint64_t ending_by_job_clock(uint64_t at_ns)
{
    const char *off = getenv(ENDING_CLOCK);
    return at_ns != 0 && off != NULL ? at_ns + (uint64_t)strtoll(off, NULL, 10) : at_ns;
}
