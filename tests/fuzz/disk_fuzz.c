/* disk_fuzz.c - no bytes harm who reads them as a record or as a file of records, and a
 * record that is written is read as it was.
 *
 * The first byte says what the others are: a record's value under some key; the fields
 * of a record, which is written and read, then with one bit flipped; or LMDB's file.
 */
#include "node/diskstore/disk_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

static void read_value(const unsigned char *data, size_t size)
{
    struct diskstore_found found;
    struct disk_place place;
    const moot_hash hash = {{1}};
    const struct disk_key key = disk_key(&hash, DISKSTORE_RESULT);
    /* The digest of nothing that a fuzzer finds is right. */
    require(!disk_record_read(&key, data, size, &found, &place));
    require(disk_record_large(&key, data, size) == 0);
}

static void write_and_read(const unsigned char *data, size_t size)
{
    char kernel[64] = "", label[64] = "";
    struct disk_image image;
    struct diskstore_found found;
    struct disk_place place;
    if (size < 64) {
        return;
    }
    memcpy(kernel, data, data[40] % 40);
    memcpy(label, data + 8, data[41] % 40);
    const struct diskstore_record record = {.hash = {{data[1], data[2]}},
                                            .kind = (enum diskstore_kind)(data[3] % 4),
                                            .status = -(int32_t)data[4],
                                            .kernel = kernel,
                                            .label = label,
                                            .build = data + 16,
                                            .build_size = data[5] % 33,
                                            .version = data[6],
                                            .made_ns = data[7],
                                            .took_ns = data[8],
                                            .inputs = data[14],
                                            .data = data + 64,
                                            .size = size - 64};
    const enum disk_home home = (enum disk_home)(data[9] % 3);
    const bool here = home == DISK_IN_VALUE;
    const struct disk_spot spot = {home, here ? 0 : UINT64_C(1) + data[9],
                                   home == DISK_IN_PACK ? data[13] : 0};
    const struct disk_key key = disk_key(&record.hash, record.kind);
    disk_record_write(&record, &spot, &image);
    const size_t all = image.head_size + image.tail_size;
    unsigned char *value = malloc(all);
    require(value != NULL);
    memcpy(value, image.head, image.head_size);
    memcpy(value + image.head_size, image.tail, image.tail_size);
    require(disk_record_read(&key, value, all, &found, &place));
    require(strcmp(found.kernel, kernel) == 0 && strcmp(found.label, label) == 0);
    require(found.size == record.size && place.spot.home == home);
    require(place.spot.number == spot.number && place.spot.from == spot.from);
    require(found.inputs == record.inputs);
    require(found.status == record.status && found.build_size == record.build_size);
    require(!here || memcmp(value + place.at, record.data, record.size) == 0);
    const size_t bit =
        ((size_t)data[10] << 16 | (size_t)data[11] << 8 | data[12]) % (8 * all);
    value[bit / 8] ^= (unsigned char)(1 << bit % 8);
    /* The place of data in a file is another one after a prune: they have a digest. */
    require(
        !disk_record_read(&key, value, all, &found, &place) ||
        (!here && (place.spot.number != spot.number || place.spot.from != spot.from)));
    free(value);
}

static bool see_record(void *context, const struct disk_key *key,
                       const struct disk_value *value)
{
    struct diskstore_found found;
    struct disk_place place;
    size_t *seen = context;
    disk_record_read(key, value->bytes, value->size, &found, &place);
    return ++*seen < 10000;
}

enum { KEYS = 8 };

/* Keys that are looked for; whether a walk has shown them, and how many others. */
struct sought {
    struct disk_key keys[KEYS];
    bool shown[KEYS];
    size_t seen;
};

static bool see_key(void *context, const struct disk_key *key)
{
    struct sought *sought = context;
    for (int i = 0; i < KEYS; i++) {
        sought->shown[i] |= memcmp(&sought->keys[i], key, sizeof(*key)) == 0;
    }
    return ++sought->seen < 10000;
}

/* A walk that has shown all keys has left out none that may be there. */
static void walk_keys(struct disk_pages *pages, struct sought *sought)
{
    if (disk_pages_keys(pages, see_key, sought) == DISK_OK && sought->seen < 10000) {
        for (int i = 0; i < KEYS; i++) {
            require(sought->shown[i] ||
                    disk_pages_get(pages, &sought->keys[i], NULL) == DISK_NONE);
        }
    }
}

static void read_pages(const unsigned char *data, size_t size)
{
    char path[64];
    const char *why;
    size_t seen = 0;
    struct sought sought = {.seen = 0};
    const int file = memfd_create("pages", MFD_CLOEXEC);
    require(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    struct disk_pages *pages = disk_pages_open(path, &why);
    if (pages != NULL) {
        for (int i = 0; i < KEYS; i++) {
            struct disk_value value;
            moot_hash hash = {{0}};
            memset(hash.bytes, i * 36, sizeof(hash.bytes));
            const struct disk_key key = disk_key(&hash, DISKSTORE_RESULT);
            sought.keys[i] = key;
            if (disk_pages_get(pages, &key, &value) == DISK_OK) {
                free(value.bytes);
            }
        }
        disk_pages_each(pages, see_record, &seen);
        walk_keys(pages, &sought);
        disk_pages_close(pages);
    }
    close(file);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    switch (data[0] % 3) {
    case 0:
        read_value(data + 1, size - 1);
        break;
    case 1:
        write_and_read(data + 1, size - 1);
        break;
    default:
        read_pages(data + 1, size - 1);
    }
    return 0;
}
