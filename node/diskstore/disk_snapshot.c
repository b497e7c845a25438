/* disk_snapshot.c - see disk_snapshot.h. */
#include "node/diskstore/disk_snapshot.h"
#include "hashing/base/byte_order.h"
#include "hashing/identity.h"
#include "node/config/text.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_sealed.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD = 8, FILE_NAME_BYTES = 32 };
enum { NAMED_BYTES = MOOT_HASH_BYTES + DISK_DIGEST_BYTES };
enum { PART_HEAD_BYTES = MOOT_HASH_BYTES + 3 * WORD + DISK_NAME_BYTES };
enum { COMMIT_HEAD_BYTES = MOOT_HASH_BYTES + 2 * WORD + DISKSTORE_SNAPSHOT_NAME_BYTES };
enum { COMMIT_PART_BYTES = DISK_DIGEST_BYTES + 3 * WORD };
/* A set is a plain array of what a part's body has. */
_Static_assert(sizeof(struct disk_named) == NAMED_BYTES, "no padding");

static const char snapshots[] = "snapshots", commit[] = "commit";
static const char part_mark[] = "mootpart", commit_mark[] = "mootsnap";

static void snapshot_path(char path[DISK_PATH_BYTES], const char *folder,
                          const moot_hash *id)
{
    char text[MOOT_HASH_TEXT_BYTES];
    snprintf(path, DISK_PATH_BYTES, "%s/%s/%s", folder, snapshots,
             hash_format(id, text));
}

static void part_name(char name[FILE_NAME_BYTES], uint32_t rank)
{
    if (rank == DISK_PART_REST) {
        snprintf(name, FILE_NAME_BYTES, "rest");
    } else {
        snprintf(name, FILE_NAME_BYTES, "rank-%u", rank);
    }
}

/* --- Sets ------------------------------------------------------------------------- */

static bool make_room(struct disk_set *set, size_t more)
{
    if (more <= set->room - set->count) {
        return true;
    }
    const size_t room = 2 * set->room + more + 64;
    struct disk_named *entries = realloc(set->entries, room * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    set->entries = entries;
    set->room = room;
    return true;
}

bool disk_set_add(struct disk_set *set, const struct diskstore_found *found)
{
    if (!make_room(set, 1)) {
        return false;
    }
    struct disk_named *entry = &set->entries[set->count++];
    memcpy(entry->hash, found->hash.bytes, sizeof(entry->hash));
    memcpy(entry->digest, found->digest, sizeof(entry->digest));
    set->bytes += found->size;
    return true;
}

static int compare_named(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct disk_named));
}

void disk_set_sort(struct disk_set *set)
{
    if (set->count > 0) {
        qsort(set->entries, set->count, sizeof(*set->entries), compare_named);
    }
}

bool disk_set_has(const struct disk_set *set, const moot_hash *hash,
                  const unsigned char digest[DISK_DIGEST_BYTES])
{
    struct disk_named key;
    memcpy(key.hash, hash->bytes, sizeof(key.hash));
    memcpy(key.digest, digest, sizeof(key.digest));
    return set->count > 0 &&
           bsearch(&key, set->entries, set->count, sizeof(key), compare_named) != NULL;
}

void disk_set_release(struct disk_set *set)
{
    free(set->entries);
    *set = (struct disk_set){0};
}

/* --- Parts ------------------------------------------------------------------------ */

bool disk_part_write(const char *folder, const moot_hash *id, const char *process,
                     const struct disk_set *set, struct diskstore_part *out)
{
    char path[DISK_PATH_BYTES], name[FILE_NAME_BYTES], text[MOOT_HASH_TEXT_BYTES];
    const size_t size = PART_HEAD_BYTES + set->count * NAMED_BYTES + WORD;
    unsigned char *body = calloc(1, size);
    if (body == NULL) {
        errno = ENOMEM;
        return false;
    }
    out->records = set->count;
    out->bytes = set->bytes;
    out->left_out = set->left_out;
    put_word(body + size - WORD, out->left_out);
    unsigned char *at = body + MOOT_HASH_BYTES;
    memcpy(body, id->bytes, MOOT_HASH_BYTES);
    put_word(at, out->rank);
    put_word(at + WORD, out->records);
    put_word(at + 2 * WORD, out->bytes);
    memcpy(at + 3 * WORD, process, strnlen(process, DISK_NAME_BYTES - 1));
    if (set->count > 0) {
        memcpy(body + PART_HEAD_BYTES, set->entries, set->count * NAMED_BYTES);
    }
    part_name(name, out->rank);
    snapshot_path(path, folder, id);
    bool good = disk_sealed_folder(folder, snapshots);
    if (good) {
        char parent[DISK_PATH_BYTES];
        snprintf(parent, sizeof(parent), "%s/%s", folder, snapshots);
        good = disk_sealed_folder(parent, hash_format(id, text)) &&
               disk_sealed_write(path, name, part_mark, body, size, out->digest);
    }
    const int cause = errno;
    free(body);
    errno = cause;
    return good;
}

/* Whether the body is that of the part; fills in what it has left out. */
static bool is_part(const unsigned char *body, size_t size, const moot_hash *id,
                    struct diskstore_part *part)
{
    const bool says = size >= PART_HEAD_BYTES + WORD &&
                      (size - PART_HEAD_BYTES) % NAMED_BYTES == WORD;
    size -= says ? WORD : 0;
    part->left_out = says ? get_word(body + size) : 0;
    return size >= PART_HEAD_BYTES && memcmp(body, id->bytes, MOOT_HASH_BYTES) == 0 &&
           get_word(body + MOOT_HASH_BYTES) == part->rank &&
           get_word(body + MOOT_HASH_BYTES + WORD) == part->records &&
           (size - PART_HEAD_BYTES) / NAMED_BYTES == part->records &&
           (size - PART_HEAD_BYTES) % NAMED_BYTES == 0;
}

static bool add_entries(struct disk_set *set, const unsigned char *body,
                        const struct diskstore_part *part)
{
    if (!make_room(set, (size_t)part->records)) {
        errno = ENOMEM;
        return false;
    }
    if (part->records > 0) {
        memcpy(set->entries + set->count, body + PART_HEAD_BYTES,
               (size_t)part->records * NAMED_BYTES);
    }
    set->count += (size_t)part->records;
    set->bytes += part->bytes;
    return true;
}

bool disk_part_read(const char *folder, const moot_hash *id,
                    struct diskstore_part *part, struct disk_set *set,
                    char process[DISK_NAME_BYTES])
{
    char path[DISK_PATH_BYTES], name[FILE_NAME_BYTES];
    unsigned char digest[DISK_DIGEST_BYTES];
    size_t size;
    part_name(name, part->rank);
    snapshot_path(path, folder, id);
    unsigned char *body = disk_sealed_read(path, name, part_mark, &size, digest);
    if (body == NULL) {
        return false;
    }
    bool good = memcmp(digest, part->digest, sizeof(digest)) == 0 &&
                is_part(body, size, id, part);
    errno = good ? 0 : EBADMSG;
    if (good && process != NULL) {
        memcpy(process, body + MOOT_HASH_BYTES + 3 * WORD, DISK_NAME_BYTES);
        process[DISK_NAME_BYTES - 1] = '\0';
    }
    if (good && set != NULL) {
        good = add_entries(set, body, part);
    }
    const int cause = errno;
    free(body);
    errno = cause;
    return good;
}

/* --- Commits ---------------------------------------------------------------------- */

bool disk_commit_write(const char *folder, const struct disk_snapshot *snapshot)
{
    char path[DISK_PATH_BYTES];
    unsigned char digest[DISK_DIGEST_BYTES];
    const size_t size = COMMIT_HEAD_BYTES + snapshot->part_count * COMMIT_PART_BYTES;
    unsigned char *body = calloc(1, size);
    if (body == NULL) {
        errno = ENOMEM;
        return false;
    }
    unsigned char *at = body + MOOT_HASH_BYTES;
    memcpy(body, snapshot->id.bytes, MOOT_HASH_BYTES);
    put_word(at, snapshot->made_ns);
    put_word(at + WORD, snapshot->part_count);
    memcpy(at + 2 * WORD, snapshot->name,
           strnlen(snapshot->name, DISKSTORE_SNAPSHOT_NAME_BYTES - 1));
    for (size_t i = 0; i < snapshot->part_count; i++) {
        const struct diskstore_part *part = &snapshot->parts[i];
        at = body + COMMIT_HEAD_BYTES + i * COMMIT_PART_BYTES;
        put_word(at, part->rank);
        put_word(at + WORD, part->records);
        put_word(at + 2 * WORD, part->bytes);
        memcpy(at + 3 * WORD, part->digest, DISK_DIGEST_BYTES);
    }
    snapshot_path(path, folder, &snapshot->id);
    const bool good = disk_sealed_write(path, commit, commit_mark, body, size, digest);
    const int cause = errno;
    free(body);
    errno = cause;
    return good;
}

static bool take_commit(const unsigned char *body, size_t size,
                        struct disk_snapshot *out)
{
    const unsigned char *at = body + MOOT_HASH_BYTES;
    if (size < COMMIT_HEAD_BYTES || memcmp(body, out->id.bytes, MOOT_HASH_BYTES) != 0 ||
        (size - COMMIT_HEAD_BYTES) / COMMIT_PART_BYTES != get_word(at + WORD) ||
        (size - COMMIT_HEAD_BYTES) % COMMIT_PART_BYTES != 0) {
        return false;
    }
    out->made_ns = get_word(at);
    out->part_count = (size_t)get_word(at + WORD);
    memcpy(out->name, at + 2 * WORD, sizeof(out->name) - 1);
    out->parts = calloc(out->part_count + 1, sizeof(*out->parts));
    for (size_t i = 0; out->parts != NULL && i < out->part_count; i++) {
        struct diskstore_part *part = &out->parts[i];
        at = body + COMMIT_HEAD_BYTES + i * COMMIT_PART_BYTES;
        part->rank = (uint32_t)get_word(at);
        part->records = get_word(at + WORD);
        part->bytes = get_word(at + 2 * WORD);
        memcpy(part->digest, at + 3 * WORD, DISK_DIGEST_BYTES);
        out->records += part->records;
        out->bytes += part->bytes;
    }
    return out->parts != NULL;
}

bool disk_snapshot_read(const char *folder, const moot_hash *id,
                        struct disk_snapshot *out, struct disk_set *set)
{
    char path[DISK_PATH_BYTES];
    unsigned char digest[DISK_DIGEST_BYTES];
    size_t size;
    *out = (struct disk_snapshot){.id = *id};
    snapshot_path(path, folder, id);
    unsigned char *body = disk_sealed_read(path, commit, commit_mark, &size, digest);
    out->committed = body != NULL && take_commit(body, size, out);
    out->damaged = !out->committed && (body != NULL || errno != ENOENT);
    free(body);
    if (!out->committed) {
        errno = out->damaged ? EBADMSG : ENOENT;
        return false;
    }
    while (out->bad_part < out->part_count &&
           disk_part_read(folder, id, &out->parts[out->bad_part], set, NULL)) {
        out->left_out += out->parts[out->bad_part].left_out;
        out->bad_part++;
    }
    if (set != NULL) {
        disk_set_sort(set);
    }
    return true;
}

void disk_snapshot_release(struct disk_snapshot *snapshot)
{
    free(snapshot->parts);
    snapshot->parts = NULL;
}

static int compare_made(const void *left, const void *right)
{
    const struct disk_snapshot *a = left, *b = right;
    const int order = (a->made_ns < b->made_ns) - (a->made_ns > b->made_ns);
    return order != 0 ? order : memcmp(a->id.bytes, b->id.bytes, MOOT_HASH_BYTES);
}

struct disk_snapshot *disk_snapshot_list(const char *folder, bool all, size_t *count)
{
    struct disk_snapshot *list = NULL, one;
    struct disk_mark mark = {0};
    moot_hash id;
    char path[DISK_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, snapshots);
    DIR *files = opendir(path);
    *count = 0;
    if (files == NULL) {
        return NULL;
    }
    disk_mark_read(folder, &mark);
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (!hash_parse(entry->d_name, &id) ||
            (!disk_snapshot_read(folder, &id, &one, NULL) && !all)) {
            continue;
        }
        struct disk_snapshot *more = realloc(list, (*count + 1) * sizeof(*list));
        if (more == NULL) {
            disk_snapshot_release(&one);
            break;
        }
        list = more;
        one.reloaded_to = mark.generation != 0 && hash_equal(&mark.id, &id);
        list[(*count)++] = one;
    }
    closedir(files);
    if (*count > 0) {
        qsort(list, *count, sizeof(*list), compare_made);
    }
    return list;
}

void disk_snapshot_list_free(struct disk_snapshot *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        disk_snapshot_release(&list[i]);
    }
    free(list);
}

const char *disk_snapshot_state(const struct disk_snapshot *snapshot, char *text,
                                size_t size)
{
    char name[FILE_NAME_BYTES];
    if (!snapshot->committed) {
        return snapshot->damaged ? "its commit is damaged" : "not finished";
    }
    if (disk_snapshot_is_whole(snapshot) && snapshot->left_out == 0) {
        return "whole";
    }
    if (disk_snapshot_is_whole(snapshot)) {
        snprintf(text, size, "whole, without %" PRIu64 " that could not be read",
                 snapshot->left_out);
        return text;
    }
    part_name(name, snapshot->parts[snapshot->bad_part].rank);
    snprintf(text, size, "its part %s is missing or damaged", name);
    return text;
}

/* Whether an earlier one of the list, which is whole too, has its name. */
static bool is_name_told(const struct disk_snapshot *list, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (disk_snapshot_is_whole(&list[i]) &&
            strcmp(list[i].name, list[at].name) == 0) {
            return true;
        }
    }
    return false;
}

void disk_snapshot_tell_names(const char *folder, struct text *out)
{
    enum { TOLD_MAX = 8 };
    size_t count, told = 0;
    struct disk_snapshot *list = disk_snapshot_list(folder, true, &count);
    for (size_t i = 0; i < count; i++) {
        if (!disk_snapshot_is_whole(&list[i]) || is_name_told(list, i)) {
            continue;
        }
        told++;
        if (told <= TOLD_MAX) {
            text_add(out, "%s'", told == 1 ? "; the whole ones are " : ", ");
            text_add_told(out, list[i].name, strlen(list[i].name));
            text_add(out, "'");
        }
    }
    if (told > TOLD_MAX) {
        text_add(out, " and %zu more", told - TOLD_MAX);
    }
    text_add(out, told == 0 ? "; it has no whole snapshot" : "");
    text_add(out, "; `moot checkpoint ls` shows all");
    disk_snapshot_list_free(list, count);
}

/* --- Removal ---------------------------------------------------------------------- */

/* Whether a file of that name, hidden or not, is one that a snapshot has. */
static bool is_own_file(const char *name)
{
    name += name[0] == '.';
    return strncmp(name, "rank-", 5) == 0 || strncmp(name, "rest", 4) == 0 ||
           strncmp(name, commit, sizeof(commit) - 1) == 0;
}

/* The commit goes first: from then on the snapshot is none. */
void disk_snapshot_remove(const char *folder, const moot_hash *id)
{
    char path[DISK_PATH_BYTES], file[DISK_PATH_BYTES];
    snapshot_path(path, folder, id);
    if (snprintf(file, sizeof(file), "%s/%s", path, commit) < (int)sizeof(file)) {
        unlink(file);
    }
    DIR *files = opendir(path);
    if (files == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (is_own_file(entry->d_name) && snprintf(file, sizeof(file), "%s/%s", path,
                                                   entry->d_name) < (int)sizeof(file)) {
            unlink(file);
        }
    }
    closedir(files);
    rmdir(path);
}

void disk_snapshot_sweep(const char *folder)
{
    size_t count;
    struct disk_snapshot *all = disk_snapshot_list(folder, true, &count);
    for (size_t i = 0; i < count; i++) {
        if (!all[i].committed && !all[i].damaged && !all[i].reloaded_to) {
            disk_snapshot_remove(folder, &all[i].id);
        }
    }
    disk_snapshot_list_free(all, count);
}
