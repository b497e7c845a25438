/* disk_calls.c - what a store asks of the system for its files, in a virtual world.
 *
 * The linker puts these in the place of the system's (--wrap).  Paths below
 * DISK_FOLDER, and what is open there, are the virtual disk's (disk.h); all else is the
 * system's. Each call costs its thread some time, and a sync as much as the disk is
 * slow.
 */
#include "tests/virtual/disk_private.h"
#include "tests/virtual/world.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "node/diskstore/disk_private.h"

enum { TMPFS = 0x01021994 };

/* X(type, name, (parameters)) */
#define WRAPPED(X)                                                                     \
    X(int, open, (const char *path, int flags, ...))                                   \
    X(int, close, (int fd))                                                            \
    X(ssize_t, read, (int fd, void *bytes, size_t size))                               \
    X(ssize_t, write, (int fd, const void *bytes, size_t size))                        \
    X(off64_t, lseek, (int fd, off64_t at, int whence))                                \
    X(int, fsync, (int fd))                                                            \
    X(int, fdatasync, (int fd))                                                        \
    X(int, fstat, (int fd, struct stat *out))                                          \
    X(int, lstat, (const char *path, struct stat *out))                                \
    X(int, mkdir, (const char *path, mode_t mode))                                     \
    X(int, rmdir, (const char *path))                                                  \
    X(int, unlink, (const char *path))                                                 \
    X(int, rename, (const char *from, const char *to))                                 \
    X(int, link, (const char *from, const char *to))                                   \
    X(DIR *, opendir, (const char *path))                                              \
    X(DIR *, fdopendir, (int fd))                                                      \
    X(struct dirent *, readdir, (DIR * folder))                                        \
    X(int, closedir, (DIR * folder))                                                   \
    X(int, fcntl, (int fd, int what, ...))                                             \
    X(char *, realpath, (const char *path, char *out))                                 \
    X(int, statfs, (const char *path, struct statfs *out))                             \
    X(int, mkostemp, (char *path, int flags))                                          \
    X(int, fchmod, (int fd, mode_t mode))                                              \
    X(int, sync_file_range, (int fd, off64_t from, off64_t size, unsigned flags))      \
    X(int, gethostname, (char *name, size_t size))                                     \
    X(uint32_t, randombytes_random, (void))                                            \
    X(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old))             \
    X(int, nice, (int more))                                                           \
    X(int, diskstore_open,                                                             \
      (const char *folder, const struct diskstore_options *options, struct text *why,  \
       struct diskstore **out))

#define X(type, name, parameters)                                                      \
    type __real_##name parameters;                                                     \
    type __wrap_##name parameters;
WRAPPED(X)
#undef X

/* --- Files ------------------------------------------------------------------------ */

int __wrap_open(const char *path, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(values, unsigned) : 0;
    va_end(values);
    if (!disk_has(path)) {
        return __real_open(path, flags, mode);
    }
    world_spend();
    return disk_open_file(path, flags);
}

int __wrap_close(int fd)
{
    return disk_is_open(fd) ? disk_close_file(fd) : __real_close(fd);
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    return disk_is_open(fd) ? disk_read_file(fd, bytes, size)
                            : __real_read(fd, bytes, size);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (!disk_is_open(fd)) {
        return __real_write(fd, bytes, size);
    }
    world_spend();
    return disk_write_file(fd, bytes, size);
}

off64_t __wrap_lseek(int fd, off64_t at, int whence)
{
    return disk_is_open(fd) ? disk_seek_file(fd, at) : __real_lseek(fd, at, whence);
}

/* A rank may die over it. */
int __wrap_fsync(int fd)
{
    if (!disk_is_open(fd)) {
        return __real_fsync(fd);
    }
    world_spend_ns(disk_draw(disk_has_options()->slow_ns + 1));
    return disk_sync_file(fd);
}

int __wrap_fdatasync(int fd)
{
    return disk_is_open(fd) ? __wrap_fsync(fd) : __real_fdatasync(fd);
}

int __wrap_fstat(int fd, struct stat *out)
{
    return disk_is_open(fd) ? disk_stat_file(fd, out) : __real_fstat(fd, out);
}

int __wrap_lstat(const char *path, struct stat *out)
{
    return disk_has(path) ? disk_stat_path(path, out) : __real_lstat(path, out);
}

int __wrap_mkostemp(char *path, int flags)
{
    return disk_has(path) ? disk_make_temporary(path) : __real_mkostemp(path, flags);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    return disk_is_open(fd) ? 0 : __real_fchmod(fd, mode);
}

int __wrap_sync_file_range(int fd, off64_t from, off64_t size, unsigned flags)
{
    return disk_is_open(fd) ? 0 : __real_sync_file_range(fd, from, size, flags);
}

int __wrap_fcntl(int fd, int what, ...)
{
    va_list values;
    va_start(values, what);
    void *argument = va_arg(values, void *);
    va_end(values);
    if (!disk_is_open(fd)) {
        return __real_fcntl(fd, what, argument);
    }
    return what == F_SETFL ? 0 : disk_lock_file(fd, what == F_GETLK, argument);
}

/* --- Names ------------------------------------------------------------------------ */

int __wrap_mkdir(const char *path, mode_t mode)
{
    if (!disk_has(path)) {
        return __real_mkdir(path, mode);
    }
    world_spend();
    return disk_make_folder(path);
}

int __wrap_rmdir(const char *path)
{
    return disk_has(path) ? disk_remove(path, true) : __real_rmdir(path);
}

int __wrap_unlink(const char *path)
{
    return disk_has(path) ? disk_remove(path, false) : __real_unlink(path);
}

int __wrap_rename(const char *from, const char *to)
{
    if (!disk_has(from)) {
        return __real_rename(from, to);
    }
    world_spend();
    return disk_rename(from, to);
}

int __wrap_link(const char *from, const char *to)
{
    return disk_has(from) ? disk_link(from, to) : __real_link(from, to);
}

DIR *__wrap_opendir(const char *path)
{
    return disk_has(path) ? disk_open_folder(path, -1) : __real_opendir(path);
}

DIR *__wrap_fdopendir(int fd)
{
    return disk_is_open(fd) ? disk_open_folder(NULL, fd) : __real_fdopendir(fd);
}

struct dirent *__wrap_readdir(DIR *folder)
{
    return disk_is_folder(folder) ? disk_read_folder(folder) : __real_readdir(folder);
}

int __wrap_closedir(DIR *folder)
{
    return disk_is_folder(folder) ? disk_close_folder(folder) : __real_closedir(folder);
}

char *__wrap_realpath(const char *path, char *out)
{
    return disk_has(path) ? strdup(path) : __real_realpath(path, out);
}

int __wrap_statfs(const char *path, struct statfs *out)
{
    if (!disk_has(path)) {
        return __real_statfs(path, out);
    }
    *out = (struct statfs){.f_type = TMPFS};
    return 0;
}

/* --- What names are made of, and threads ------------------------------------------ */

int __wrap_gethostname(char *name, size_t size)
{
    if (!world_is_on()) {
        return __real_gethostname(name, size);
    }
    snprintf(name, size, "virtual");
    return 0;
}

uint32_t __wrap_randombytes_random(void)
{
    return world_is_on() ? (uint32_t)disk_draw(UINT64_C(1) << 32)
                         : __real_randombytes_random();
}

/* The signals of the process, and its priority, are the test's. */
int __wrap_nice(int more) { return world_is_on() ? 0 : __real_nice(more); }

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return world_is_on() ? 0 : __real_pthread_sigmask(how, set, old);
}

int __wrap_diskstore_open(const char *folder, const struct diskstore_options *options,
                          struct text *why, struct diskstore **out)
{
    return disk_has(folder) ? disk_open_on(&disk_virtual, folder, options, why, out)
                            : __real_diskstore_open(folder, options, why, out);
}
