/* disk_folder.c - see disk_folder.h. */
#include "node/diskstore/disk_folder.h"
#include "node/config/text.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* This version's, and the one before, which knew no reloads; both are read. */
static const char owner_mark[] = "moot checkpoint 2\n";
static const char first_mark[] = "moot checkpoint 1\n";

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

/* The bytes of a file that a lock is on; a length of 0: to its end, however far. */
struct lock_bytes {
    off_t first, length;
};
static const struct lock_bytes all_bytes = {0, 0}, store_byte = {0, 1};

static bool take_lock(int fd, bool write, struct lock_bytes bytes, pid_t *holder)
{
    struct flock lock = {.l_type = write ? F_WRLCK : F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = bytes.first,
                         .l_len = bytes.length};
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

/* Whether another process has any lock on these bytes. */
static bool is_locked(int fd, struct lock_bytes bytes, pid_t *holder)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = bytes.first,
                         .l_len = bytes.length};
    if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
        return false;
    }
    *holder = lock.l_pid > 0 ? lock.l_pid : 0;
    return true;
}

/* A folder that may only be read has the file already. */
static int open_lock(const char *path, enum disk_lock way)
{
    const int flags = way == DISK_LOCK_LOOK   ? O_RDONLY
                      : way == DISK_LOCK_READ ? O_RDWR | O_CREAT
                                              : O_RDWR;
    const int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd < 0 && way == DISK_LOCK_READ && (errno == EACCES || errno == EROFS)) {
        const int cause = errno, again = open(path, O_RDONLY | O_CLOEXEC);
        errno = cause;
        return again;
    }
    return fd;
}

int disk_folder_lock(const char *folder, enum disk_lock way, pid_t *holder)
{
    char path[DISK_PATH_BYTES];
    const bool write = way == DISK_LOCK_WRITE;
    snprintf(path, sizeof(path), "%s/lock", folder);
    *holder = 0;
    const int fd = open_lock(path, way);
    if (fd >= 0 && !take_lock(fd, write, write ? all_bytes : store_byte, holder)) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

void disk_folder_tell_none(const char *folder, struct text *out)
{
    char owner[DISK_PATH_BYTES];
    struct stat stat;
    snprintf(owner, sizeof(owner), "%s/owner", folder);
    if (lstat(folder, &stat) != 0) {
        text_add(out, "%s: there is no such folder", folder);
    } else if (!S_ISDIR(stat.st_mode) && !S_ISLNK(stat.st_mode)) {
        text_add(out, "%s is no folder; name the one that `moot run --checkpoint` had",
                 folder);
    } else if (lstat(owner, &stat) == 0) {
        text_add(out,
                 "%s is the environment of one process; name the folder that it is in",
                 folder);
    } else {
        text_add(out,
                 "%s is no folder of checkpoints: no job has had it as "
                 "`moot run --checkpoint`",
                 folder);
    }
}

/* The job's byte is locked before others are looked for, so that two jobs cannot both
 * find themselves alone. */
bool disk_folder_join(int lock, uint64_t job, pid_t *holder)
{
    const off_t own = (off_t)(1 + (job & INT64_MAX) / 2);
    const struct lock_bytes before = {1, own - 1}, behind = {own + 1, 0};
    *holder = 0;
    if (!take_lock(lock, false, (struct lock_bytes){own, 1}, holder)) {
        return false;
    }
    if ((own > 1 && is_locked(lock, before, holder)) ||
        is_locked(lock, behind, holder)) {
        errno = EAGAIN;
        return false;
    }
    return true;
}

/* --- Making one ------------------------------------------------------------------- */

/* A number that is drawn once in a process, and is not 0.  Hosts may have one name, and
 * processes of two containers, or of two jobs, one process id; who took one for the
 * other would leave its results out of a snapshot. */
static uint32_t process_number(void)
{
    static _Atomic uint32_t number;
    uint32_t drawn = randombytes_random() | 1, none = 0;
    return atomic_compare_exchange_strong(&number, &none, drawn) ? drawn : none;
}

/* The host's name is cut where a path or a shell would read it. */
void disk_env_process(char process[DISK_NAME_BYTES])
{
    char host[64] = "";
    gethostname(host, sizeof(host) - 1);
    host[strspn(host,
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] =
        '\0';
    snprintf(process, DISK_NAME_BYTES, "%s-%08x-%ld-", host[0] != '\0' ? host : "host",
             process_number(), (long)getpid());
}

/* ".HOST-NUMBER-PID-RANDOM" */
static void make_name(char name[DISK_NAME_BYTES])
{
    char process[DISK_NAME_BYTES];
    disk_env_process(process);
    snprintf(name, DISK_NAME_BYTES, ".%.110s%08x", process, randombytes_random());
}

int disk_env_make(const char *folder, char path[DISK_PATH_BYTES])
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
    if (fd >= 0 && take_lock(fd, true, all_bytes, &holder) &&
        write(fd, owner_mark, (size_t)size) == size && fsync(fd) == 0) {
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

bool disk_env_is_gone(int owner_lock)
{
    struct stat stat;
    return fstat(owner_lock, &stat) == 0 && stat.st_nlink == 0;
}

bool disk_env_show(const char *folder, bool sync, char path[DISK_PATH_BYTES])
{
    char shown[DISK_PATH_BYTES];
    const char *name = strrchr(path, '/') + 1;
    snprintf(shown, sizeof(shown), "%s/%s", folder, name + (name[0] == '.'));
    if ((sync && !disk_sync_folder(path)) || rename(path, shown) != 0 ||
        (sync && !disk_sync_folder(folder))) {
        return false;
    }
    memcpy(path, shown, strlen(shown) + 1);
    return true;
}

/* The names of its files, and its own.  The owner's file was synced when it was made:
 * to open and close it here would end its lock. */
bool disk_env_sync(const char *path)
{
    return disk_sync_folder(path) && disk_sync_parent(path);
}

/* --- All of them ------------------------------------------------------------------ */

struct found_folder {
    struct disk_env_name env;
    struct timespec changed;
};

/* Whether the name is that of an environment: HOST-NUMBER-PID-RANDOM, or without
 * NUMBER, of an earlier release. */
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

/* Fills in what the owner's file says; false: the folder is none of ours, or there are
 * no descriptors (errno).  One that may be, and cannot be looked into or lies
 * elsewhere, is not readable. */
static bool look_at_owner(const char *folder, struct found_folder *out)
{
    char path[DISK_PATH_BYTES], mark[sizeof(owner_mark)] = "";
    struct stat stat;
    snprintf(path, sizeof(path), "%s/%s", folder, out->env.name);
    const bool elsewhere = lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode);
    snprintf(path, sizeof(path), "%s/%s/owner", folder, out->env.name);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return !disk_lacks_files(errno) &&
               ((errno != ENOENT && errno != ENOTDIR) || is_env_name(out->env.name));
    }
    if (elsewhere) {
        close(fd);
        return true;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    out->env.readable =
        read(fd, mark, sizeof(mark) - 1) == sizeof(mark) - 1 &&
        (strcmp(mark, owner_mark) == 0 || strcmp(mark, first_mark) == 0);
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

struct found_list {
    struct found_folder *all;
    size_t count;
};

/* Appends what the entry stands for, if that is an environment; false: errno. */
static bool append_entry(struct found_list *list, const char *folder, const char *own,
                         const char *name)
{
    struct found_folder one = {0};
    if (name[0] == '.' || strlen(name) >= sizeof(one.env.name) ||
        (own != NULL && strcmp(own, name) == 0)) {
        return true;
    }
    memcpy(one.env.name, name, strlen(name) + 1);
    errno = 0;
    if (!look_at_owner(folder, &one)) {
        return !disk_lacks_files(errno);
    }
    struct found_folder *more =
        realloc(list->all, (list->count + 1) * sizeof(*list->all));
    if (more == NULL) {
        return false;
    }
    list->all = more;
    list->all[list->count++] = one;
    return true;
}

static bool read_entries(struct found_list *list, const char *folder, const char *own)
{
    DIR *files = opendir(folder);
    const struct dirent *entry = NULL;
    bool good = files != NULL;
    while (good) {
        errno = 0;
        entry = readdir(files);
        if (entry == NULL) {
            good = errno == 0;
            break;
        }
        good = append_entry(list, folder, own, entry->d_name);
    }
    const int cause = errno;
    if (files != NULL) {
        closedir(files);
    }
    errno = cause;
    return good;
}

bool disk_env_list(const char *folder, const char *own, struct disk_env_name **all,
                   size_t *count)
{
    struct found_list list = {NULL, 0};
    bool good = read_entries(&list, folder, own);
    *all = NULL;
    *count = 0;
    if (good && list.count > 0) {
        qsort(list.all, list.count, sizeof(*list.all), compare_changed);
        *all = calloc(list.count, sizeof(**all));
        good = *all != NULL;
    }
    for (size_t i = 0; *all != NULL && i < list.count; i++) {
        (*all)[i] = list.all[i].env;
        *count = list.count;
    }
    free(list.all);
    return good;
}

static bool add_name(struct disk_names *names, const char *name)
{
    if (names->count == names->room) {
        const size_t room = 2 * names->room + 16;
        char(*more)[DISK_NAME_BYTES] = realloc(names->names, room * sizeof(*more));
        if (more == NULL) {
            return false;
        }
        names->names = more;
        names->room = room;
    }
    snprintf(names->names[names->count++], DISK_NAME_BYTES, "%s", name);
    return true;
}

bool disk_names_read(const char *folder, struct disk_names *names)
{
    DIR *files = opendir(folder);
    if (files == NULL) {
        return false;
    }
    bool good = true;
    errno = 0;
    for (const struct dirent *entry; good && (entry = readdir(files)) != NULL;) {
        good = entry->d_name[0] == '.' || strlen(entry->d_name) >= DISK_NAME_BYTES ||
               add_name(names, entry->d_name);
    }
    const int cause = errno;
    closedir(files);
    errno = cause;
    return good && cause == 0;
}

bool disk_names_has(const struct disk_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

void disk_names_release(struct disk_names *names)
{
    free(names->names);
    *names = (struct disk_names){0};
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
