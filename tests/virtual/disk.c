/* disk.c - see disk.h: the file system. */
#include "tests/virtual/disk.h"
#include "tests/virtual/disk_private.h"
#include "tests/virtual/world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128, FILES_MAX = 512, LOCKS_MAX = 512, FOLDERS_MAX = 64 };
enum { FD_FIRST = 1 << 20, ROOT = 0, NONE = -1 };
#define LOCK_END INT64_MAX
#define WALL_NS UINT64_C(1700000000000000000)

struct content {
    unsigned char *bytes;
    size_t size;
};

struct node {
    bool folder, dirty;
    struct content now, safe;
    uint64_t changed_ns;
};

/* A name in a folder: the node that it has, and the one that it has after a loss of
 * power.  `change`: the number of the last change that is not safe. */
struct entry {
    int parent, now, safe;
    uint64_t change;
    char name[NAME_BYTES];
};

static struct {
    struct disk_options options;
    uint64_t random, changes, temporary;
    struct node *nodes;
    int node_count;
    struct entry *entries;
    int entry_count;
    struct file {
        bool open;
        int node;
        uint32_t rank;
        size_t at;
    } files[FILES_MAX];
    struct lock {
        bool held, writes;
        int node;
        uint32_t rank;
        int64_t first, end;
    } locks[LOCKS_MAX];
    struct listing {
        bool open;
        int node, at, fd;
        struct dirent entry;
    } folders[FOLDERS_MAX];
} disk;

/* --- Drawing, and memory ---------------------------------------------------------- */

static uint64_t mix(uint64_t word) /* Vigna's splitmix64 */
{
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

uint64_t disk_draw(uint64_t below)
{
    disk.random += UINT64_C(0x9e3779b97f4a7c15);
    return below > 0 ? (mix(disk.random) >> 8) % below : 0;
}

const struct disk_options *disk_has_options(void) { return &disk.options; }

/* Bytes on the disk are nobody's memory. */
static void *resize(void *block, size_t size)
{
    account_own_begin();
    void *more = realloc(block, size > 0 ? size : 1);
    account_own_end();
    if (more == NULL) {
        fprintf(stderr, "virtual: no memory for a disk\n");
        exit(2);
    }
    return more;
}

static void release(struct content *content)
{
    account_own_begin();
    free(content->bytes);
    account_own_end();
    *content = (struct content){NULL, 0};
}

static void copy(struct content *to, const struct content *from)
{
    to->bytes = resize(to->bytes, from->size);
    to->size = from->size;
    if (from->size > 0) {
        memcpy(to->bytes, from->bytes, from->size);
    }
}

static int fail(int cause)
{
    errno = cause;
    return -1;
}

static uint64_t now_ns(void) { return WALL_NS + world_now_ns(); }

/* --- Names ------------------------------------------------------------------------ */

static int new_node(bool folder)
{
    disk.nodes =
        resize(disk.nodes, (size_t)(disk.node_count + 1) * sizeof(*disk.nodes));
    disk.nodes[disk.node_count] = (struct node){.folder = folder, .dirty = true};
    disk.nodes[disk.node_count].changed_ns = now_ns();
    return disk.node_count++;
}

static struct entry *find_entry(int parent, const char *name)
{
    for (int i = 0; i < disk.entry_count; i++) {
        struct entry *entry = &disk.entries[i];
        if (entry->parent == parent && strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* The name has this node from now on, NONE: it is gone. */
static void set_entry(int parent, const char *name, int node, uint64_t change)
{
    struct entry *entry = find_entry(parent, name);
    if (entry == NULL) {
        disk.entries = resize(disk.entries,
                              (size_t)(disk.entry_count + 1) * sizeof(*disk.entries));
        entry = &disk.entries[disk.entry_count++];
        *entry = (struct entry){.parent = parent, .safe = NONE};
        snprintf(entry->name, sizeof(entry->name), "%s", name);
    }
    entry->now = node;
    entry->change = change;
}

/* The path's folder, and its last name; the folder's node or NONE. */
static int find_parent(const char *path, char name[NAME_BYTES])
{
    int node = ROOT;
    const char *at = path + strlen(DISK_FOLDER);
    name[0] = '\0';
    while (*at == '/') {
        const size_t length = strcspn(++at, "/");
        if (length == 0 || length >= NAME_BYTES) {
            break;
        }
        memcpy(name, at, length);
        name[length] = '\0';
        at += length;
        if (*at == '/') {
            const struct entry *entry = find_entry(node, name);
            node = entry != NULL ? entry->now : NONE;
            if (node == NONE || !disk.nodes[node].folder) {
                return NONE;
            }
        }
    }
    return node;
}

/* The path's node, or NONE. */
static int find_node(const char *path)
{
    char name[NAME_BYTES];
    const int parent = find_parent(path, name);
    const struct entry *entry =
        parent != NONE && name[0] != '\0' ? find_entry(parent, name) : NULL;
    return name[0] == '\0' ? parent : entry != NULL ? entry->now : NONE;
}

bool disk_has(const char *path)
{
    const size_t length = strlen(DISK_FOLDER);
    return world_is_on() && strncmp(path, DISK_FOLDER, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

int disk_make_folder(const char *path)
{
    char name[NAME_BYTES];
    const int parent = find_parent(path, name);
    if (parent == NONE || find_node(path) != NONE) {
        return fail(parent == NONE ? ENOENT : EEXIST);
    }
    set_entry(parent, name, new_node(true), ++disk.changes);
    return 0;
}

static bool is_empty(int folder)
{
    for (int i = 0; i < disk.entry_count; i++) {
        if (disk.entries[i].parent == folder && disk.entries[i].now != NONE) {
            return false;
        }
    }
    return true;
}

int disk_remove(const char *path, bool folder)
{
    char name[NAME_BYTES];
    const int parent = find_parent(path, name), node = find_node(path);
    if (node == NONE || disk.nodes[node].folder != folder) {
        return fail(node == NONE ? ENOENT : folder ? ENOTDIR : EISDIR);
    }
    if (folder && !is_empty(node)) {
        return fail(ENOTEMPTY);
    }
    set_entry(parent, name, NONE, ++disk.changes);
    return 0;
}

int disk_rename(const char *from, const char *to)
{
    char old[NAME_BYTES], new[NAME_BYTES];
    const int parent = find_parent(from, old), node = find_node(from);
    const int other = find_parent(to, new);
    if (node == NONE || other == NONE) {
        return fail(ENOENT);
    }
    const uint64_t change = ++disk.changes;
    set_entry(parent, old, NONE, change);
    set_entry(other, new, node, change);
    return 0;
}

int disk_link(const char *from, const char *to)
{
    char name[NAME_BYTES];
    const int node = find_node(from), parent = find_parent(to, name);
    if (node == NONE || parent == NONE || find_node(to) != NONE) {
        return fail(node == NONE || parent == NONE ? ENOENT : EEXIST);
    }
    set_entry(parent, name, node, ++disk.changes);
    return 0;
}

/* --- Files ------------------------------------------------------------------------ */

static struct file *file_of(int fd) { return &disk.files[fd - FD_FIRST]; }

bool disk_is_open(int fd)
{
    return world_is_on() && fd >= FD_FIRST && fd < FD_FIRST + FILES_MAX &&
           file_of(fd)->open;
}

/* Whether the rank has as many files open as it may.  To read data it may have one less
 * than for all else: a store that could not even be opened would show nothing. */
static bool has_all_files(const char *path)
{
    uint32_t open = strstr(path, "/large/") != NULL;
    for (int i = 0; i < FILES_MAX; i++) {
        open += disk.files[i].open && disk.files[i].rank == world_rank();
    }
    return disk.options.files_max > 0 && open >= disk.options.files_max;
}

static int open_node(const char *path, int node)
{
    for (int i = 0; i < FILES_MAX && !has_all_files(path); i++) {
        if (!disk.files[i].open) {
            disk.files[i] =
                (struct file){.open = true, .node = node, .rank = world_rank()};
            return FD_FIRST + i;
        }
    }
    return fail(EMFILE);
}

int disk_open_file(const char *path, int flags)
{
    char name[NAME_BYTES];
    int node = find_node(path);
    const int parent = find_parent(path, name);
    if (node == NONE && parent != NONE && (flags & O_CREAT) != 0) {
        node = new_node(false);
        set_entry(parent, name, node, ++disk.changes);
    } else if (node == NONE) {
        return fail(ENOENT);
    } else if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
        return fail(EEXIST);
    } else if ((flags & O_DIRECTORY) != 0 && !disk.nodes[node].folder) {
        return fail(ENOTDIR);
    }
    if ((flags & O_TRUNC) != 0) {
        disk.nodes[node].now.size = 0;
        disk.nodes[node].dirty = true;
    }
    return open_node(path, node);
}

int disk_make_temporary(char *path)
{
    snprintf(path + strlen(path) - 6, 7, "%06llx",
             (unsigned long long)(++disk.temporary & 0xffffff));
    return disk_open_file(path, O_RDWR | O_CREAT | O_EXCL);
}

/* Locks of the rank on the file end, whichever descriptor is closed. */
int disk_close_file(int fd)
{
    struct file *file = file_of(fd);
    file->open = false;
    for (int i = 0; i < LOCKS_MAX; i++) {
        struct lock *lock = &disk.locks[i];
        lock->held =
            lock->held && (lock->node != file->node || lock->rank != file->rank);
    }
    return 0;
}

long disk_read_file(int fd, void *bytes, size_t size)
{
    struct file *file = file_of(fd);
    const struct content *now = &disk.nodes[file->node].now;
    const size_t left = now->size > file->at ? now->size - file->at : 0;
    const size_t count = size < left ? size : left;
    if (count > 0) {
        memcpy(bytes, now->bytes + file->at, count);
    }
    file->at += count;
    return (long)count;
}

/* Somebody removes a pack, who knows nothing of stores. */
static void remove_pack(void)
{
    const uint32_t first = (uint32_t)disk_draw((uint64_t)disk.entry_count);
    for (int i = 0; i < disk.entry_count; i++) {
        struct entry *entry =
            &disk.entries[(first + (uint32_t)i) % (uint32_t)disk.entry_count];
        if (entry->now != NONE && strstr(entry->name, ".pack") != NULL) {
            set_entry(entry->parent, entry->name, NONE, ++disk.changes);
            return;
        }
    }
}

long disk_write_file(int fd, const void *bytes, size_t size)
{
    struct file *file = file_of(fd);
    struct node *node = &disk.nodes[file->node];
    if (disk.options.vanish_per_mille > 0 &&
        disk_draw(1000) < disk.options.vanish_per_mille) {
        remove_pack();
    }
    if (disk_draw(1000) < disk.options.full_per_mille) {
        return fail(ENOSPC);
    }
    if (file->at + size > node->now.size) {
        node->now.bytes = resize(node->now.bytes, file->at + size);
        node->now.size = file->at + size;
    }
    if (size > 0) {
        memcpy(node->now.bytes + file->at, bytes, size);
    }
    file->at += size;
    node->dirty = true;
    node->changed_ns = now_ns();
    return (long)size;
}

long disk_seek_file(int fd, long at)
{
    file_of(fd)->at = (size_t)at;
    return at;
}

/* A folder's names are safe then, and a file's bytes. */
int disk_sync_file(int fd)
{
    const int folder = file_of(fd)->node;
    struct node *node = &disk.nodes[folder];
    if (disk.options.lies) {
        return 0;
    }
    if (!node->folder) {
        copy(&node->safe, &node->now);
        node->dirty = false;
    }
    for (int i = 0; node->folder && i < disk.entry_count; i++) {
        if (disk.entries[i].parent == folder) {
            disk.entries[i].safe = disk.entries[i].now;
        }
    }
    return 0;
}

static int stat_node(int number, struct stat *out)
{
    const struct node *node = &disk.nodes[number];
    nlink_t names = 0;
    for (int i = 0; i < disk.entry_count; i++) {
        names += disk.entries[i].now == number;
    }
    *out = (struct stat){.st_mode = node->folder ? S_IFDIR | 0755 : S_IFREG | 0644,
                         .st_ino = (ino_t)number + 1,
                         .st_nlink = names,
                         .st_size = (off_t)node->now.size,
                         .st_blocks = (blkcnt_t)(node->now.size + 511) / 512};
    out->st_mtim = (struct timespec){(time_t)(node->changed_ns / 1000000000),
                                     (long)(node->changed_ns % 1000000000)};
    return 0;
}

int disk_stat_file(int fd, struct stat *out)
{
    return stat_node(file_of(fd)->node, out);
}

int disk_stat_path(const char *path, struct stat *out)
{
    const int node = find_node(path);
    return node == NONE ? fail(ENOENT) : stat_node(node, out);
}

void disk_touch(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = disk_open_file(path, O_RDWR | O_CREAT);
    if (fd >= 0) {
        disk.nodes[file_of(fd)->node].changed_ns = now_ns();
        file_of(fd)->open = false;
    }
}

/* --- Locks ------------------------------------------------------------------------ */

static const struct lock *find_other(const struct lock *asked)
{
    for (int i = 0; i < LOCKS_MAX; i++) {
        const struct lock *lock = &disk.locks[i];
        if (lock->held && lock->node == asked->node && lock->rank != asked->rank &&
            (lock->writes || asked->writes) && lock->first < asked->end &&
            asked->first < lock->end && !world_is_dead(lock->rank, NULL)) {
            return lock;
        }
    }
    return NULL;
}

int disk_lock_file(int fd, bool looks, struct flock *lock)
{
    const struct lock asked = {.held = true,
                               .writes = lock->l_type == F_WRLCK,
                               .node = file_of(fd)->node,
                               .rank = world_rank(),
                               .first = lock->l_start,
                               .end = lock->l_len == 0 ? LOCK_END
                                                       : lock->l_start + lock->l_len};
    const struct lock *other = find_other(&asked);
    if (looks) {
        lock->l_type = other == NULL   ? (short)F_UNLCK
                       : other->writes ? (short)F_WRLCK
                                       : (short)F_RDLCK;
        lock->l_pid = other != NULL ? (pid_t)(1000 + other->rank) : 0;
        return 0;
    }
    if (other != NULL) {
        return fail(EAGAIN);
    }
    for (int i = 0; i < LOCKS_MAX; i++) {
        if (!disk.locks[i].held) {
            disk.locks[i] = asked;
            return 0;
        }
    }
    return fail(ENOLCK);
}

/* --- Folders ---------------------------------------------------------------------- */

DIR *disk_open_folder(const char *path, int fd)
{
    const int node = path != NULL ? find_node(path) : file_of(fd)->node;
    const bool may = path == NULL || !has_all_files(path);
    for (int i = 0; node != NONE && may && i < FOLDERS_MAX; i++) {
        if (!disk.folders[i].open) {
            disk.folders[i] = (struct listing){.open = true, .node = node, .fd = fd};
            return (DIR *)(void *)&disk.folders[i];
        }
    }
    errno = node == NONE ? ENOENT : EMFILE;
    return NULL;
}

bool disk_is_folder(const DIR *folder)
{
    const void *at = folder;
    return (const char *)at >= (const char *)disk.folders &&
           (const char *)at < (const char *)(disk.folders + FOLDERS_MAX);
}

struct dirent *disk_read_folder(DIR *folder)
{
    struct listing *listing = (void *)folder;
    while (listing->at < disk.entry_count) {
        const struct entry *entry = &disk.entries[listing->at++];
        if (entry->parent == listing->node && entry->now != NONE) {
            snprintf(listing->entry.d_name, sizeof(listing->entry.d_name), "%s",
                     entry->name);
            return &listing->entry;
        }
    }
    return NULL;
}

int disk_close_folder(DIR *folder)
{
    struct listing *listing = (void *)folder;
    listing->open = false;
    return listing->fd >= FD_FIRST ? disk_close_file(listing->fd) : 0;
}

/* --- A run ------------------------------------------------------------------------ */

void disk_begin(const struct disk_options *options)
{
    memset(&disk, 0, sizeof(disk));
    disk.options = *options;
    disk.random = mix(options->seed + 77);
    disk_records_begin();
    (void)new_node(true);
}

void disk_life_faults(const struct disk_options *options) { disk.options = *options; }

void disk_life_ends(void)
{
    memset(disk.files, 0, sizeof(disk.files));
    memset(disk.locks, 0, sizeof(disk.locks));
    memset(disk.folders, 0, sizeof(disk.folders));
}

void disk_end(void)
{
    for (int i = 0; i < disk.node_count; i++) {
        release(&disk.nodes[i].now);
        release(&disk.nodes[i].safe);
    }
    free(disk.nodes);
    free(disk.entries);
    memset(&disk, 0, sizeof(disk));
    disk_records_end();
}

/* Bytes that came since the last sync are there, or are not, or are half there. */
static void tear_file(struct node *node)
{
    const uint64_t drawn = disk_draw(4);
    if (drawn == 0) {
        copy(&node->now, &node->safe);
    } else if (drawn == 1) {
        node->now.size = (size_t)disk_draw(node->now.size + 1);
    } else if (drawn == 2 && node->now.size > 0) {
        const size_t from = (size_t)disk_draw(node->now.size);
        memset(node->now.bytes + from, 0, node->now.size - from);
    }
}

void disk_lose_power(void)
{
    const uint64_t word = disk_draw(UINT64_MAX);
    for (int i = 0; i < disk.node_count; i++) {
        struct node *node = &disk.nodes[i];
        if (!node->folder && node->dirty) {
            tear_file(node);
            copy(&node->safe, &node->now);
            node->dirty = false;
        }
    }
    for (int i = 0; i < disk.entry_count; i++) {
        struct entry *entry = &disk.entries[i];
        if (entry->now != entry->safe && mix(word ^ entry->change) % 2 == 0) {
            entry->now = entry->safe;
        }
        entry->safe = entry->now;
    }
    disk_records_lose(disk_draw(UINT64_MAX));
}

void disk_flip_bits(uint64_t one_in)
{
    for (int i = 0; i < disk.node_count; i++) {
        struct content *now = &disk.nodes[i].now;
        if (now->size > 0 && disk_draw(one_in) == 0) {
            const uint64_t bit = disk_draw(8 * (uint64_t)now->size);
            now->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
    disk_records_flip(disk_draw(UINT64_MAX), one_in);
}

bool disk_reads_owner(const char *env)
{
    static const char mark[] = "moot checkpoint 2\n";
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/%s/owner", DISK_FOLDER, DISK_STORE, env);
    const int node = find_node(path);
    return node != NONE && disk.nodes[node].now.size == sizeof(mark) - 1 &&
           memcmp(disk.nodes[node].now.bytes, mark, sizeof(mark) - 1) == 0;
}
