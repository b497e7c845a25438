/* disk_mark.c - see disk_mark.h. */
#include "node/diskstore/disk_mark.h"
#include "hashing/base/byte_order.h"
#include "hashing/identity.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_private.h"
#include "node/diskstore/disk_sealed.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD = 8, GENERATION_DIGITS = 8 };
enum { MARK_NAME_BYTES = GENERATION_DIGITS + 1 + MOOT_HASH_TEXT_BYTES };
enum { FIRST_BYTES = MOOT_HASH_BYTES + WORD, MARK_BYTES = FIRST_BYTES + WORD };

static const char reloads[] = "reloads", mark_mark[] = "mootback";

/* A mark by its file. */
struct mark_file {
    char name[MARK_NAME_BYTES];
    struct disk_mark mark;
    uint64_t made_ns; /* 0: of an earlier release */
};

static void reloads_path(char path[DISK_PATH_BYTES], const char *folder)
{
    snprintf(path, DISK_PATH_BYTES, "%s/%s", folder, reloads);
}

/* The generation that a file's name says; 0: it is no mark's. */
static uint32_t named_generation(const char *name)
{
    moot_hash id;
    return strspn(name, "0123456789abcdef") == GENERATION_DIGITS &&
                   (name[GENERATION_DIGITS] == '\0' ||
                    (name[GENERATION_DIGITS] == '-' &&
                     hash_parse(name + GENERATION_DIGITS + 1, &id)))
               ? (uint32_t)strtoul(name, NULL, 16)
               : 0;
}

/* A disk that fails already is found out before the mark stands.  If it fails at the
 * last step, the mark stays where it is: another rank may have written the same
 * meanwhile, and all others stand on it. */
bool disk_mark_write(const char *folder, const struct disk_mark *mark)
{
    char path[DISK_PATH_BYTES], name[MARK_NAME_BYTES], id[MOOT_HASH_TEXT_BYTES];
    unsigned char body[MARK_BYTES], digest[DISK_DIGEST_BYTES];
    memcpy(body, mark->id.bytes, MOOT_HASH_BYTES);
    put_word(body + MOOT_HASH_BYTES, mark->generation);
    put_word(body + FIRST_BYTES, disk_now_ns());
    snprintf(name, sizeof(name), "%08x-%s", mark->generation,
             hash_format(&mark->id, id));
    reloads_path(path, folder);
    return disk_sealed_folder(folder, reloads) && disk_sync_folder(path) &&
           disk_sealed_write(path, name, mark_mark, body, sizeof(body), digest);
}

/* Reads the file of that name; false: it is not as its name says. */
static bool read_file(const char *folder, struct mark_file *file)
{
    char path[DISK_PATH_BYTES], id[MOOT_HASH_TEXT_BYTES];
    unsigned char digest[DISK_DIGEST_BYTES];
    size_t size;
    const bool first = file->name[GENERATION_DIGITS] == '\0';
    reloads_path(path, folder);
    unsigned char *body = disk_sealed_read(path, file->name, mark_mark, &size, digest);
    bool good = body != NULL && size == (first ? FIRST_BYTES : MARK_BYTES) &&
                get_word(body + MOOT_HASH_BYTES) == file->mark.generation;
    if (good) {
        memcpy(file->mark.id.bytes, body, MOOT_HASH_BYTES);
        file->made_ns = first ? 0 : get_word(body + FIRST_BYTES);
        good = first || strcmp(hash_format(&file->mark.id, id),
                               file->name + GENERATION_DIGITS + 1) == 0;
    }
    const int cause = body != NULL ? EBADMSG : errno;
    free(body);
    errno = cause;
    return good;
}

/* Whether `file` counts, and not `other`, which has its generation. */
static bool is_later(const struct mark_file *file, const struct mark_file *other)
{
    return file->made_ns != other->made_ns
               ? file->made_ns > other->made_ns
               : memcmp(file->mark.id.bytes, other->mark.id.bytes, MOOT_HASH_BYTES) > 0;
}

/* Shows the name of each mark, until `visit` says false.  False: errno. */
static bool each_name(const char *folder,
                      bool (*visit)(void *context, const char *name), void *context)
{
    char path[DISK_PATH_BYTES];
    reloads_path(path, folder);
    DIR *files = opendir(path);
    bool good = files != NULL;
    if (!good) {
        return errno == ENOENT;
    }
    while (good) {
        errno = 0;
        const struct dirent *entry = readdir(files);
        if (entry == NULL) {
            good = errno == 0;
            break;
        }
        good = named_generation(entry->d_name) == 0 || visit(context, entry->d_name);
    }
    const int cause = errno;
    closedir(files);
    errno = cause;
    return good;
}

/* A folder, and the mark that counts as far as its names were shown. */
struct mark_search {
    const char *folder;
    struct mark_file best;
};

static bool take_highest(void *context, const char *name)
{
    struct mark_search *search = context;
    const uint32_t generation = named_generation(name);
    if (generation > search->best.mark.generation) {
        search->best.mark.generation = generation;
    }
    return true;
}

/* Marks of a lower generation need not be good. */
static bool take_latest(void *context, const char *name)
{
    struct mark_search *search = context;
    struct mark_file file = {.mark = {.generation = named_generation(name)}};
    if (file.mark.generation < search->best.mark.generation) {
        return true;
    }
    snprintf(file.name, sizeof(file.name), "%s", name);
    if (!read_file(search->folder, &file)) {
        return false;
    }
    if (search->best.name[0] == '\0' || is_later(&file, &search->best)) {
        search->best = file;
    }
    return true;
}

/* Finds the mark that counts; false: errno. */
static bool find_latest(struct mark_search *search)
{
    return each_name(search->folder, take_highest, search) &&
           (search->best.mark.generation == 0 ||
            each_name(search->folder, take_latest, search));
}

bool disk_mark_read(const char *folder, struct disk_mark *out)
{
    struct mark_search search = {.folder = folder};
    const bool good = find_latest(&search);
    *out = search.best.mark;
    return good;
}

static bool remove_other(void *context, const char *name)
{
    const struct mark_search *search = context;
    char path[DISK_PATH_BYTES];
    if (strcmp(name, search->best.name) != 0) {
        const int size =
            snprintf(path, sizeof(path), "%s/%s/%s", search->folder, reloads, name);
        if (size > 0 && (size_t)size < sizeof(path)) {
            unlink(path);
        }
    }
    return true;
}

void disk_mark_sweep(const char *folder)
{
    struct mark_search search = {.folder = folder};
    if (find_latest(&search)) {
        (void)each_name(folder, remove_other, &search);
    }
}
