/* disk_bytes.c - see disk_bytes.h. */
#include "node/diskstore/disk_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool disk_write_all(int fd, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    for (size_t done = 0; done < size;) {
        const ssize_t more = write(fd, from + done, size - done);
        if (more < 0 && errno != EINTR) {
            return false;
        }
        done += more > 0 ? (size_t)more : 0;
    }
    return true;
}

bool disk_read_all(int fd, void *bytes, size_t size)
{
    unsigned char *to = bytes;
    for (size_t done = 0; done < size;) {
        const ssize_t more = read(fd, to + done, size - done);
        if (more == 0 || (more < 0 && errno != EINTR)) {
            return false;
        }
        done += more > 0 ? (size_t)more : 0;
    }
    return true;
}

bool disk_sync_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

bool disk_sync_parent(const char *path)
{
    char parent[PATH_MAX];
    const char *end = strrchr(path, '/');
    const int length = end != NULL && end > path ? (int)(end - path) : 1;
    snprintf(parent, sizeof(parent), "%.*s", length, path);
    return disk_sync_folder(parent);
}

bool disk_lacks_files(int cause) { return cause == EMFILE || cause == ENFILE; }

const char *disk_error(int cause)
{
    return cause == EMFILE ? "this process has too many files open; raise `ulimit -n`"
           : cause == ENFILE
               ? "this machine has too many files open; raise its fs.file-max"
               : strerror(cause);
}

bool disk_tells_lack(const char *text)
{
    return strcmp(text, disk_error(EMFILE)) == 0 ||
           strcmp(text, disk_error(ENFILE)) == 0;
}

const char *disk_remedy(const char *text)
{
    static const char user[] = "a user is needed who may read and write all in it";
    static const struct {
        int cause;
        const char *remedy;
    } rows[] = {
        {EACCES, user},
        {EPERM, user},
        {EROFS, "its file system is to be remounted to be written"},
        {EFBIG, "raise `ulimit -f`"},
        {EIO, "the disk fails: copy what can be read, and look at the kernel's log"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strcmp(text, disk_error(rows[i].cause)) == 0) {
            return rows[i].remedy;
        }
    }
    return NULL;
}

bool disk_can_open(size_t count)
{
    int *fds = malloc((count + 1) * sizeof(*fds));
    size_t opened = 0;
    bool good = fds != NULL;
    while (good && opened < count) {
        fds[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        good = fds[opened] >= 0;
        opened += good;
    }
    const int cause = errno;
    while (opened > 0) {
        close(fds[--opened]);
    }
    free(fds);
    errno = cause;
    return good;
}
