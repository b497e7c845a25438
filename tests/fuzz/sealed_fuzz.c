/* sealed_fuzz.c - no bytes harm who reads them as a file of a snapshot or a reload, and
 * what is written there is read as it was, or not at all.
 *
 * The first byte says what the others are: a whole file, whose digest is then wrong; a
 * body, which is sealed with a right digest, so that all behind the seal is reached; or
 * the fields of a snapshot and a mark, which are written and read, then with one bit of
 * one file flipped.  The second byte says which file: a commit, a part, a mark, or one
 * of an earlier release.
 */
#include "node/diskstore/disk_sealed.h"
#include "node/diskstore/disk_snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS_MAX = 5, NAMED_MAX = 6, GENERATION = 1 };
enum kind { COMMIT, PART, MARK, FIRST_MARK, KINDS };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The file of each kind, by its folder below the store's, its name and its mark. */
static const struct file {
    const char *folder, *name, *mark;
} files[KINDS] = {
    [COMMIT] = {"snapshots/00000000000000000000000000000000", "commit", "mootsnap"},
    [PART] = {"snapshots/00000000000000000000000000000000", "rank-0", "mootpart"},
    [MARK] = {"reloads", "00000001-00000000000000000000000000000000", "mootback"},
    [FIRST_MARK] = {"reloads", "00000001", "mootback"},
};
static const moot_hash id = {{0}};
static char folder[64];

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

static void file_path(enum kind kind, char path[256])
{
    snprintf(path, 256, "%s/%s/%s", folder, files[kind].folder, files[kind].name);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    require(mkdir(path, 0755) == 0);
}

static void remove_marks(void)
{
    char path[256];
    file_path(MARK, path);
    unlink(path);
    file_path(FIRST_MARK, path);
    unlink(path);
}

static void remove_all(void)
{
    char path[256];
    disk_snapshot_remove(folder, &id);
    remove_marks();
    snprintf(path, sizeof(path), "%s/snapshots", folder);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/reloads", folder);
    rmdir(path);
    rmdir(folder);
}

/* Files lie in memory where that can be: each input writes some. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    snprintf(folder, sizeof(folder), "%s/moot-sealed-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(folder) != NULL);
    make_folder("snapshots");
    make_folder(files[COMMIT].folder);
    make_folder("reloads");
    return atexit(remove_all);
}

/* --- Reading ---------------------------------------------------------------------- */

/* Reads all that there is; whether the snapshot is whole, and the mark good. */
static bool read_all(bool *good_mark)
{
    struct disk_snapshot one;
    struct disk_set set = {0};
    struct disk_mark mark;
    char text[128];
    size_t count, bytes = 0;
    const bool there = disk_snapshot_read(folder, &id, &one, &set);
    const bool whole = there && disk_snapshot_is_whole(&one);
    require(strlen(disk_snapshot_state(&one, text, sizeof(text))) < sizeof(text));
    require(strnlen(one.name, sizeof(one.name)) < sizeof(one.name));
    for (size_t i = 0; i < one.part_count; i++) {
        bytes += one.parts[i].digest[DISK_DIGEST_BYTES - 1];
    }
    for (size_t i = 0; i < set.count; i++) {
        bytes += set.entries[i].digest[DISK_DIGEST_BYTES - 1];
    }
    require(bytes <= 255 * (one.part_count + set.count));
    disk_set_release(&set);
    disk_snapshot_release(&one);
    struct disk_snapshot *all = disk_snapshot_list(folder, true, &count);
    disk_snapshot_list_free(all, count);
    *good_mark = disk_mark_read(folder, &mark) && mark.generation == GENERATION;
    return whole;
}

/* The part that was sealed, by the digest that it has. */
static void read_part(void)
{
    char path[256], process[DISK_NAME_BYTES];
    struct diskstore_part part = {0};
    struct disk_set set = {0};
    size_t size;
    snprintf(path, sizeof(path), "%s/%s", folder, files[PART].folder);
    void *body =
        disk_sealed_read(path, files[PART].name, files[PART].mark, &size, part.digest);
    require(body != NULL);
    free(body);
    while (part.records < NAMED_MAX &&
           !disk_part_read(folder, &id, &part, &set, process)) {
        part.records++;
    }
    require(part.records == NAMED_MAX ||
            (set.count == part.records && strlen(process) < sizeof(process)));
    disk_set_release(&set);
}

/* A whole file: its digest is not what a fuzzer finds. */
static void read_file(enum kind kind, const unsigned char *data, size_t size)
{
    char path[256];
    bool good_mark;
    file_path(kind, path);
    FILE *file = fopen(path, "w");
    require(file != NULL && fwrite(data, 1, size, file) == size);
    require(fclose(file) == 0);
    const bool whole = read_all(&good_mark);
    require(kind >= MARK ? !good_mark : !whole);
}

static void read_body(enum kind kind, const unsigned char *data, size_t size)
{
    char path[256];
    bool good_mark;
    unsigned char digest[DISK_DIGEST_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, files[kind].folder);
    require(disk_sealed_write(path, files[kind].name, files[kind].mark, data, size,
                              digest));
    read_all(&good_mark);
    if (kind == PART) {
        read_part();
    }
}

/* --- Written and read ------------------------------------------------------------- */

struct bytes {
    const unsigned char *at;
    size_t left;
};

static unsigned char take(struct bytes *bytes)
{
    if (bytes->left == 0) {
        return 0;
    }
    bytes->left--;
    return *bytes->at++;
}

static void write_part(struct bytes *bytes, struct diskstore_part *part)
{
    struct disk_set set = {0};
    const uint32_t count = take(bytes) % NAMED_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct diskstore_found found = {
            .hash = {{take(bytes)}}, .digest = {take(bytes)}, .size = take(bytes)};
        require(disk_set_add(&set, &found));
    }
    require(disk_part_write(folder, &id, "host-1-", &set, part));
    require(part->records == count && part->bytes == set.bytes);
    disk_set_release(&set);
}

/* One bit of the file flips. */
static void flip_bit(enum kind kind, uint32_t word)
{
    char path[256];
    struct stat stat;
    unsigned char byte;
    file_path(kind, path);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    require(file >= 0 && fstat(file, &stat) == 0);
    const off_t at = (off_t)(word / 8 % (uint32_t)stat.st_size);
    require(pread(file, &byte, 1, at) == 1);
    byte ^= (unsigned char)(1 << word % 8);
    require(pwrite(file, &byte, 1, at) == 1 && close(file) == 0);
}

static void write_and_read(enum kind kind, struct bytes bytes)
{
    struct diskstore_part parts[PARTS_MAX] = {{0}};
    struct disk_snapshot snapshot = {.id = id, .parts = parts};
    struct disk_snapshot read;
    struct disk_set set = {0};
    const struct disk_mark mark = {GENERATION, id};
    bool good_mark;
    size_t records = 0;
    snapshot.part_count = 1 + take(&bytes) % PARTS_MAX;
    snapshot.made_ns = take(&bytes);
    snprintf(snapshot.name, sizeof(snapshot.name), "%.*s", (int)(take(&bytes) % 60),
             "a name of sixty bytes, and a little more, for a snapshot of us");
    const uint32_t word = (uint32_t)take(&bytes) << 8 | take(&bytes);
    for (uint32_t i = 0; i < snapshot.part_count; i++) {
        parts[i].rank = i;
        write_part(&bytes, &parts[i]);
        records += parts[i].records;
    }
    require(disk_commit_write(folder, &snapshot) && disk_mark_write(folder, &mark));
    require(disk_snapshot_read(folder, &id, &read, &set));
    require(strcmp(read.name, snapshot.name) == 0 && read.records == records);
    require(set.count == records && read.part_count == snapshot.part_count);
    require(read.made_ns == snapshot.made_ns);
    disk_set_release(&set);
    disk_snapshot_release(&read);
    require(read_all(&good_mark) && good_mark);
    flip_bit(kind, word);
    const bool whole = read_all(&good_mark);
    require(whole == (kind == MARK) && good_mark == (kind != MARK));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const enum kind kind = (enum kind)(data[1] % KINDS);
    remove_marks();
    switch (data[0] % 3) {
    case 0:
        read_file(kind, data + 2, size - 2);
        break;
    case 1:
        read_body(kind, data + 2, size - 2);
        break;
    default:
        write_and_read((enum kind)(kind % FIRST_MARK),
                       (struct bytes){data + 2, size - 2});
    }
    return 0;
}
