/* agent_mirror.c - see agent_mirror.h. */
#include "node/agent/agent_mirror.h"
#include "node/agent/agent_folder.h"
#include "node/agent/rank_process.h"
#include "node/config/ending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENT_BYTES = 16 * 1024, WAITING_MAX = 1 << 20 };

struct agent_mirror {
    char ends[PATH_MAX], trace[PATH_MAX];
    int events;
};

/* --- The folders ------------------------------------------------------------------ */

static bool folders_make(struct agent_mirror *mirror, bool trace)
{
    const char *temporary = agent_folder_place();
    agent_folder_clear(AGENT_FOLDER, temporary);
    if (!agent_folder_make(AGENT_FOLDER, temporary, mirror->ends,
                           sizeof(mirror->ends) - strlen("/trace"))) {
        return false;
    }
    if (trace) {
        memcpy(mirror->trace, mirror->ends, strlen(mirror->ends) + 1);
        memcpy(mirror->trace + strlen(mirror->ends), "/trace", sizeof("/trace"));
    }
    return !trace || mkdir(mirror->trace, 0700) == 0;
}

/* False with the limit that is in the way, if one is, or "". */
static bool events_open(struct agent_mirror *mirror, const char **limit)
{
    mirror->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    *limit = mirror->events < 0 && errno == EMFILE
                 ? "fs.inotify.max_user_instances, of which each agent of a user takes "
                   "one"
                 : "";
    if (mirror->events >= 0 && inotify_add_watch(mirror->events, mirror->ends,
                                                 IN_CLOSE_WRITE | IN_MOVED_TO |
                                                     IN_MOVED_FROM | IN_DELETE) >= 0) {
        return true;
    }
    *limit = errno == ENOSPC ? "fs.inotify.max_user_watches" : *limit;
    return false;
}

struct agent_mirror *agent_mirror_new(bool trace, char *story, size_t story_size)
{
    struct agent_mirror *mirror = calloc(1, sizeof(*mirror));
    const char *limit = "";
    if (!mirror) {
        snprintf(story, story_size, "out of memory");
        return NULL;
    }
    mirror->events = -1;
    if (!folders_make(mirror, trace)) {
        snprintf(story, story_size, "no folder for what ranks leave: %s",
                 strerror(errno));
    } else if (!events_open(mirror, &limit)) {
        snprintf(story, story_size, "cannot watch what ranks leave: %s%s%s",
                 strerror(errno), *limit ? ": raise there (sysctl) " : "", limit);
    } else {
        return mirror;
    }
    agent_mirror_free(mirror);
    return NULL;
}

void agent_mirror_free(struct agent_mirror *mirror)
{
    if (mirror) {
        agent_folder_remove(mirror->ends);
        if (mirror->events >= 0) {
            close(mirror->events);
        }
        free(mirror);
    }
}

const char *agent_mirror_ends(const struct agent_mirror *mirror)
{
    return mirror->ends;
}

const char *agent_mirror_trace(const struct agent_mirror *mirror)
{
    return mirror->trace;
}

int agent_mirror_descriptor(const struct agent_mirror *mirror)
{
    return mirror->events;
}

/* --- Files ------------------------------------------------------------------------ */

/* Where `moot run` has files of such a name; AGENT_FOLDERS: it has no use for it. */
static enum agent_folder folder_of(const char *name)
{
    static const struct {
        const char *begins;
        enum agent_folder folder;
    } known[] = {{"rank-", AGENT_SHEETS},
                 {"struck-", AGENT_SHEETS},
                 {"end-", AGENT_ENDS},
                 {ENDING_OPENS "-", AGENT_ENDS},
                 {ENDING_FINALIZES "-", AGENT_ENDS},
                 {ENDING_STALLED "-", AGENT_ENDS},
                 {ENDING_AWAITS "-", AGENT_ENDS},
                 {RANK_PROCESS "-", AGENT_ENDS},
                 {RANK_STILL "-", AGENT_ENDS}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(name, known[i].begins, strlen(known[i].begins)) == 0) {
            return known[i].folder;
        }
    }
    return AGENT_FOLDERS;
}

/* Sends a file in pieces; one that is not there any more is none. */
static void file_say(struct agent_stream *stream, enum agent_folder folder,
                     const char *path, const char *name, void (*wait)(void *context),
                     void *context)
{
    char piece[NAME_MAX + 1 + AGENT_PIECE];
    const size_t head = strlen(name) + 1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool last = fd < 0;
    memcpy(piece, name, head);
    while (!last && !agent_stream_is_over(stream)) {
        const ssize_t got = read(fd, piece + head, AGENT_PIECE);
        last = got <= 0;
        agent_stream_say(stream, AGENT_FILE, (uint32_t)folder, last, piece,
                         head + (got > 0 ? (size_t)got : 0));
        while (wait && agent_stream_waiting(stream) > WAITING_MAX &&
               !agent_stream_is_over(stream)) {
            wait(context);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void change_say(const struct agent_mirror *mirror, struct agent_stream *stream,
                       const struct inotify_event *event)
{
    char path[PATH_MAX + NAME_MAX + 2];
    const enum agent_folder folder =
        event->len > 0 ? folder_of(event->name) : AGENT_FOLDERS;
    if (folder == AGENT_FOLDERS) {
        return;
    }
    if (event->mask & (IN_DELETE | IN_MOVED_FROM)) {
        agent_stream_say(stream, AGENT_GONE, (uint32_t)folder, 0, event->name,
                         strlen(event->name) + 1);
        return;
    }
    snprintf(path, sizeof(path), "%s/%s", mirror->ends, event->name);
    file_say(stream, folder, path, event->name, NULL, NULL);
}

void agent_mirror_pass(struct agent_mirror *mirror, struct agent_stream *stream)
{
    union {
        struct inotify_event event;
        char bytes[EVENT_BYTES];
    } buffer;
    ssize_t got;
    while ((got = read(mirror->events, buffer.bytes, sizeof(buffer.bytes))) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(buffer.bytes + at);
            change_say(mirror, stream, event);
            at += (ssize_t)(sizeof(*event) + event->len);
        }
    }
}

static void folder_say(const char *folder, bool trace, struct agent_stream *stream,
                       void (*wait)(void *context), void *context)
{
    DIR *dir = *folder ? opendir(folder) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[PATH_MAX + NAME_MAX + 2];
        const enum agent_folder kind = trace ? AGENT_TRACE : folder_of(entry->d_name);
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (kind != AGENT_FOLDERS && entry->d_name[0] != '.') {
            file_say(stream, kind, path, entry->d_name, wait, context);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

void agent_mirror_end(struct agent_mirror *mirror, struct agent_stream *stream,
                      void (*wait)(void *context), void *context)
{
    agent_mirror_pass(mirror, stream);
    folder_say(mirror->ends, false, stream, wait, context);
    folder_say(mirror->trace, true, stream, wait, context);
}
