/* disk_folder.c - see disk_folder.h. */
#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_large.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char owner_mark[] = "moot checkpoint 1\n";

/* --- File systems ----------------------------------------------------------------- */

static const struct {
    unsigned type;
    const char *name;
} refused[] = {
    {0x00006969, "NFS"},    {0x0000517B, "SMB"},      {0xFE534D42, "SMB"},
    {0xFF534D42, "CIFS"},   {0x0BD00BD0, "Lustre"},   {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"}, {0x65735546, "FUSE"},     {0x00C36400, "Ceph"},
    {0xAAD7AAEA, "PanFS"},  {0x5346414F, "AFS"},      {0x6B414653, "AFS"},
    {0x73757245, "Coda"},   {0x01021997, "9P"},       {0x7461636F, "OCFS2"},
    {0x01161970, "GFS2"},   {0x20030528, "OrangeFS"}, {0x786F4256, "VirtualBox"},
};

const char *disk_file_system_refused(long type)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        if (refused[i].type == (unsigned)type) {
            return refused[i].name;
        }
    }
    return NULL;
}

const char *disk_folder_refused(const char *folder)
{
    struct statfs system;
    return statfs(folder, &system) == 0 ? disk_file_system_refused((long)system.f_type)
                                        : NULL;
}

/* --- Locks ------------------------------------------------------------------------ */

static bool take_lock(int fd, bool write, pid_t *holder)
{
    struct flock lock = {.l_type = write ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &lock) == 0) {
        return true;
    }
    const int cause = errno == EACCES ? EAGAIN : errno;
    if (cause == EAGAIN && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
        *holder = lock.l_pid > 0 ? lock.l_pid : 0;
    }
    errno = cause;
    return false;
}

int disk_folder_lock(const char *folder, enum disk_lock way, pid_t *holder)
{
    char path[DISK_PATH_BYTES];
    const bool write = way == DISK_LOCK_WRITE;
    snprintf(path, sizeof(path), "%s/lock", folder);
    *holder = 0;
    const int fd = way == DISK_LOCK_LOOK
                       ? open(path, O_RDONLY | O_CLOEXEC)
                       : open(path, O_RDWR | (write ? 0 : O_CREAT) | O_CLOEXEC, 0644);
    if (fd >= 0 && !take_lock(fd, write, holder)) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

/* --- Making one ------------------------------------------------------------------- */

static bool sync_path(const char *path, bool sync)
{
    if (!sync) {
        return true;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

/* ".HOST-PID-RANDOM"; the host's name is cut where a path or a shell would read it. */
static void make_name(char name[DISK_NAME_BYTES])
{
    char host[64] = "";
    gethostname(host, sizeof(host) - 1);
    host[strspn(host,
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] =
        '\0';
    snprintf(name, DISK_NAME_BYTES, ".%s-%ld-%08x", host[0] != '\0' ? host : "host",
             (long)getpid(), randombytes_random());
}

int disk_env_make(const char *folder, bool sync, char path[DISK_PATH_BYTES])
{
    char name[DISK_NAME_BYTES], owner[DISK_PATH_BYTES];
    pid_t holder;
    make_name(name);
    snprintf(path, DISK_PATH_BYTES, "%s/%s", folder, name);
    snprintf(owner, sizeof(owner), "%s/owner", path);
    if (mkdir(path, 0755) != 0) {
        return -1;
    }
    const ssize_t size = sizeof(owner_mark) - 1;
    const int fd = open(owner, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0 && take_lock(fd, true, &holder) &&
        write(fd, owner_mark, (size_t)size) == size && (!sync || fsync(fd) == 0)) {
        return fd;
    }
    const int cause = errno;
    if (fd >= 0) {
        close(fd);
    }
    disk_folder_remove(path);
    errno = cause;
    return -1;
}

bool disk_env_show(const char *folder, bool sync, char path[DISK_PATH_BYTES])
{
    char shown[DISK_PATH_BYTES];
    const char *name = strrchr(path, '/') + 1;
    snprintf(shown, sizeof(shown), "%s/%s", folder, name + (name[0] == '.'));
    if (!sync_path(path, sync) || rename(path, shown) != 0 ||
        !sync_path(folder, sync)) {
        return false;
    }
    memcpy(path, shown, strlen(shown) + 1);
    return true;
}

/* --- All of them ------------------------------------------------------------------ */

struct found_folder {
    struct disk_env_name env;
    struct timespec changed;
};

/* Whether the name is that of an environment, HOST-PID-RANDOM. */
static bool is_env_name(const char *name)
{
    static const char digits[] = "0123456789";
    const char *random = strrchr(name, '-');
    const char *pid = random;
    if (random == NULL) {
        return false;
    }
    while (pid > name && strchr(digits, pid[-1]) != NULL) {
        pid--;
    }
    return pid < random && pid > name + 1 && pid[-1] == '-' &&
           strspn(random + 1, "0123456789abcdef") == 8 && random[9] == '\0';
}

/* Fills in what the owner's file says; false: the folder is none of ours.  One that may
 * be, and cannot be looked into or lies elsewhere, is not readable. */
static bool look_at_owner(const char *folder, struct found_folder *out)
{
    char path[DISK_PATH_BYTES], mark[sizeof(owner_mark)] = "";
    struct stat stat;
    snprintf(path, sizeof(path), "%s/%s", folder, out->env.name);
    const bool elsewhere = lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode);
    snprintf(path, sizeof(path), "%s/%s/owner", folder, out->env.name);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return (errno != ENOENT && errno != ENOTDIR) || is_env_name(out->env.name);
    }
    if (elsewhere) {
        close(fd);
        return true;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    out->env.readable = read(fd, mark, sizeof(mark) - 1) == sizeof(mark) - 1 &&
                        strcmp(mark, owner_mark) == 0;
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
        out->env.alive = true;
        out->env.writer = lock.l_pid > 0 ? lock.l_pid : 0;
    }
    close(fd);
    snprintf(path, sizeof(path), "%s/%s/data.mdb", folder, out->env.name);
    if (lstat(path, &stat) == 0) {
        out->changed = stat.st_mtim;
    }
    return true;
}

static int compare_changed(const void *left, const void *right)
{
    const struct found_folder *a = left, *b = right;
    if (a->changed.tv_sec != b->changed.tv_sec) {
        return a->changed.tv_sec > b->changed.tv_sec ? -1 : 1;
    }
    if (a->changed.tv_nsec != b->changed.tv_nsec) {
        return a->changed.tv_nsec > b->changed.tv_nsec ? -1 : 1;
    }
    return strcmp(a->env.name, b->env.name);
}

/* Appends what the entry stands for, if that is an environment. */
static struct found_folder *append_entry(const char *folder, const char *own,
                                         const char *name, struct found_folder *all,
                                         size_t *count)
{
    struct found_folder one = {0};
    if (name[0] == '.' || strlen(name) >= sizeof(one.env.name) ||
        (own != NULL && strcmp(own, name) == 0)) {
        return all;
    }
    memcpy(one.env.name, name, strlen(name) + 1);
    if (!look_at_owner(folder, &one)) {
        return all;
    }
    struct found_folder *more = realloc(all, (*count + 1) * sizeof(*all));
    if (more == NULL) {
        return all;
    }
    more[(*count)++] = one;
    return more;
}

struct disk_env_name *disk_env_list(const char *folder, const char *own, size_t *count)
{
    struct found_folder *all = NULL;
    struct disk_env_name *names = NULL;
    DIR *files = opendir(folder);
    *count = 0;
    if (files == NULL) {
        return NULL;
    }
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        all = append_entry(folder, own, entry->d_name, all, count);
    }
    closedir(files);
    if (*count > 0) {
        qsort(all, *count, sizeof(*all), compare_changed);
        names = calloc(*count, sizeof(*names));
    }
    for (size_t i = 0; names != NULL && i < *count; i++) {
        names[i] = all[i].env;
    }
    *count = names != NULL ? *count : 0;
    free(all);
    return names;
}

void disk_env_remove(const char *folder, const char *name)
{
    char path[DISK_PATH_BYTES], hidden[DISK_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(hidden, sizeof(hidden), "%s/.%s", folder, name);
    if (rename(path, hidden) == 0) {
        disk_folder_remove(hidden);
    }
}

void disk_folder_sweep(const char *folder)
{
    char path[DISK_PATH_BYTES];
    DIR *files = opendir(folder);
    if (files == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (entry->d_name[0] == '.' && is_env_name(entry->d_name + 1)) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            disk_folder_remove(path);
        }
    }
    closedir(files);
}
