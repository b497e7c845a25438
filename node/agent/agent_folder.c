/* agent_folder.c - see agent_folder.h. */
#include "node/agent/agent_folder.h"
#include "node/transport/transport.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "moot-%s-%" PRIx64 "-%" PRIu64 "-%" PRIu64 "-"

const char *agent_folder_place(void)
{
    const char *temporary = getenv("TMPDIR");
    return temporary && *temporary ? temporary : "/tmp";
}

static void files_remove(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
    rmdir(path);
}

void agent_folder_remove(const char *path)
{
    char inner[PATH_MAX + 16];
    if (*path) {
        snprintf(inner, sizeof(inner), "%s/trace", path);
        files_remove(inner);
        files_remove(path);
    }
}

/* The number at *at, which a hyphen ends, and the place behind that; false: none. */
static bool number_read(const char **at, int base, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(*at, &end, base);
    const bool good = isxdigit((unsigned char)**at) && errno == 0 && *end == '-';
    *at = good ? end + 1 : *at;
    return good;
}

static bool owner_read(const char *kind, const char *name, struct process_name *owner)
{
    char prefix[32];
    const size_t size = (size_t)snprintf(prefix, sizeof(prefix), "moot-%s-", kind);
    const char *at = name + size;
    return strncmp(name, prefix, size) == 0 && number_read(&at, 16, &owner->space) &&
           number_read(&at, 10, &owner->pid) &&
           number_read(&at, 10, &owner->start_ticks);
}

/* Whether that is one of this user's whose process has ended. */
static bool is_left(const char *kind, int place, const char *name)
{
    struct process_name owner = {0};
    struct stat about;
    return owner_read(kind, name, &owner) && process_is_near(&owner) &&
           !process_lives(&owner) &&
           fstatat(place, name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(about.st_mode) && about.st_uid == geteuid();
}

void agent_folder_clear(const char *kind, const char *place)
{
    DIR *dir = opendir(place);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (is_left(kind, dirfd(dir), entry->d_name) &&
            snprintf(path, sizeof(path), "%s/%s", place, entry->d_name) < PATH_MAX) {
            agent_folder_remove(path);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

bool agent_folder_make(const char *kind, const char *place, char *path, size_t size)
{
    const struct process_name self = process_self();
    const int used = snprintf(path, size, "%s/" NAME "XXXXXX", place, kind, self.space,
                              self.pid, self.start_ticks);
    if (used > 0 && (size_t)used < size && mkdtemp(path)) {
        return true;
    }
    errno = used > 0 && (size_t)used >= size ? ENAMETOOLONG : errno;
    *path = '\0'; /* what is cut may name another folder: not to be emptied */
    return false;
}
