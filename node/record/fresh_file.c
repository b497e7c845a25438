/* fresh_file.c - see fresh_file.h. */
#include "node/record/fresh_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int fresh_file_open(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) {
        return -1;
    }
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

FILE *fresh_file_stream(const char *path)
{
    const int fd = fresh_file_open(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        const int why = errno;
        close(fd);
        errno = why;
    }
    return file;
}

bool fresh_file_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0755) == 0) {
        return true;
    }
    if (errno != EEXIST || lstat(path, &status) != 0) {
        return false;
    }
    if (S_ISLNK(status.st_mode) && status.st_uid != geteuid() && status.st_uid != 0) {
        errno = EPERM;
        return false;
    }
    return true;
}
