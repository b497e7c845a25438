/* disk_large.c - see disk_large.h. */
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, FILE_DIGITS = 16 };
static const char sub_folder[] = "large", part_end[] = ".part", pack_end[] = ".pack";

static void large_path(char path[PATH_BYTES], const char *folder, uint64_t number,
                       const char *ending)
{
    snprintf(path, PATH_BYTES, "%s/%s/%0*" PRIx64 "%s", folder, sub_folder, FILE_DIGITS,
             number, ending);
}

static void spot_path(char path[PATH_BYTES], const char *folder,
                      const struct disk_spot *spot)
{
    large_path(path, folder, spot->number, spot->home == DISK_IN_PACK ? pack_end : "");
}

/* The folder of large files is made with the first, and then outlives a loss of power.
 */
static bool make_sub_folder(const char *folder)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, sub_folder);
    return mkdir(path, 0755) == 0 ? disk_sync_folder(folder) : errno == EEXIST;
}

static int create_file(const char *folder, const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    int fd = open(path, flags, 0644);
    if (fd < 0 && errno == ENOENT && make_sub_folder(folder)) {
        fd = open(path, flags, 0644);
    }
    return fd;
}

int disk_large_create(const char *folder, uint64_t number)
{
    char path[PATH_BYTES];
    large_path(path, folder, number, pack_end);
    return create_file(folder, path);
}

void disk_large_remove_pack(const char *folder, uint64_t number)
{
    char path[PATH_BYTES];
    large_path(path, folder, number, pack_end);
    unlink(path);
}

bool disk_large_has_pack(const char *folder, uint64_t number, int fd, uint64_t size)
{
    char path[PATH_BYTES];
    struct stat named, open;
    large_path(path, folder, number, pack_end);
    if (lstat(path, &named) != 0 || fstat(fd, &open) != 0) {
        return errno != ENOENT;
    }
    return named.st_ino == open.st_ino && (uint64_t)open.st_size >= size;
}

uint64_t disk_large_node(const char *folder)
{
    char path[PATH_BYTES];
    struct stat stat;
    snprintf(path, sizeof(path), "%s/%s", folder, sub_folder);
    return lstat(path, &stat) == 0 ? (uint64_t)stat.st_ino : 0;
}

bool disk_large_write(const char *folder, uint64_t number, const void *data,
                      size_t size, bool soon)
{
    char part[PATH_BYTES], path[PATH_BYTES];
    large_path(part, folder, number, part_end);
    large_path(path, folder, number, "");
    const int fd = create_file(folder, part);
    if (fd < 0) {
        return false;
    }
    bool good = disk_write_all(fd, data, size);
    if (good && soon) {
        sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    good = close(fd) == 0 && good && rename(part, path) == 0;
    if (!good) {
        const int cause = errno;
        unlink(part);
        errno = cause;
    }
    return good;
}

bool disk_large_sync_names(const char *folder)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, sub_folder);
    return disk_sync_folder(path);
}

bool disk_large_sync(const char *folder, const struct disk_spot *spots, size_t count)
{
    char path[PATH_BYTES];
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        spot_path(path, folder, &spots[i]);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        good = fd >= 0 && fdatasync(fd) == 0;
        if (fd >= 0) {
            close(fd);
        }
    }
    return good && (count == 0 || disk_large_sync_names(folder));
}

/* Whether a file of that size can have the data. */
static bool may_have(const struct disk_spot *spot, const struct stat *stat,
                     uint64_t size)
{
    const uint64_t bytes = (uint64_t)stat->st_size;
    return S_ISREG(stat->st_mode) &&
           (spot->home == DISK_IN_PACK
                ? spot->from <= bytes && size <= bytes - spot->from
                : size == bytes);
}

bool disk_large_is_damage(int cause) { return cause == EBADMSG || cause == ENOENT; }

void *disk_large_read(struct disk_reserve *reserve, const char *folder,
                      const struct disk_place *place, size_t size)
{
    char path[PATH_BYTES];
    unsigned char *data = NULL;
    struct stat stat;
    spot_path(path, folder, &place->spot);
    const int fd = disk_reserve_open(reserve, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    errno = EBADMSG;
    if (fstat(fd, &stat) == 0 && may_have(&place->spot, &stat, size) &&
        lseek(fd, (off_t)place->spot.from, SEEK_SET) >= 0) {
        data = malloc(size + 1);
    }
    bool good = data != NULL && disk_read_all(fd, data, size);
    if (good && !disk_place_holds(place, data, size)) {
        errno = EBADMSG;
        good = false;
    }
    const int cause = errno;
    disk_reserve_close(reserve, fd);
    if (!good) {
        free(data);
        errno = cause;
        return NULL;
    }
    data[size] = 0;
    return data;
}

bool disk_large_link(const char *from, uint64_t number, const char *to,
                     uint64_t to_number)
{
    char old[PATH_BYTES], new[PATH_BYTES];
    large_path(old, from, number, "");
    large_path(new, to, to_number, "");
    return make_sub_folder(to) && link(old, new) == 0;
}

bool disk_large_is_there(const char *folder, const struct disk_spot *spot,
                         uint64_t size)
{
    char path[PATH_BYTES];
    struct stat stat;
    spot_path(path, folder, spot);
    return lstat(path, &stat) == 0 && may_have(spot, &stat, size);
}

void disk_large_remove(const char *folder, uint64_t number)
{
    char path[PATH_BYTES];
    large_path(path, folder, number, "");
    unlink(path);
}

/* --- Folders ---------------------------------------------------------------------- */

/* Calls `visit` for each file of the folder itself.  A link to a folder is none. */
static void visit_files(const char *folder,
                        void (*visit)(void *context, const char *path), void *context)
{
    char path[PATH_BYTES];
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = fd >= 0 ? fdopendir(fd) : NULL;
    if (files == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, sub_folder) != 0) {
            int size = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            if (size > 0 && (size_t)size < sizeof(path)) {
                visit(context, path);
            }
        }
    }
    closedir(files);
}

static void add_bytes(void *context, const char *path)
{
    uint64_t *bytes = context;
    struct stat stat;
    if (lstat(path, &stat) == 0 && S_ISREG(stat.st_mode)) {
        *bytes += (uint64_t)stat.st_blocks * 512;
    }
}

/* Whether it is what large_path() names. */
static bool is_large(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    const size_t digits = strspn(name, "0123456789abcdef");
    return digits == FILE_DIGITS &&
           (name[digits] == '\0' || strcmp(name + digits, part_end) == 0 ||
            strcmp(name + digits, pack_end) == 0);
}

static void add_size(void *context, const char *path)
{
    uint64_t *bytes = context;
    struct stat stat;
    if (is_large(path) && lstat(path, &stat) == 0 && S_ISREG(stat.st_mode)) {
        *bytes += (uint64_t)stat.st_size;
    }
}

static void remove_file(void *context, const char *path)
{
    (void)context;
    if (is_large(path)) {
        unlink(path);
    }
}

uint64_t disk_folder_bytes(const char *folder)
{
    char path[PATH_BYTES];
    uint64_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, sub_folder);
    visit_files(folder, add_bytes, &bytes);
    visit_files(path, add_bytes, &bytes);
    return bytes;
}

uint64_t disk_large_bytes(const char *folder)
{
    char path[PATH_BYTES];
    uint64_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, sub_folder);
    visit_files(path, add_size, &bytes);
    return bytes;
}

/* The owner's file goes last: until then the folder tells whose it is. */
void disk_folder_remove(const char *folder)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "owner"};
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, sub_folder);
    visit_files(path, remove_file, NULL);
    rmdir(path);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}
