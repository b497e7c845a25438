/* stream_buffer.c - queues of bytes, and maps from numbers to records (stream.h). */
#include "node/wires/stream/stream.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 256, BUCKETS_FIRST = 64, SPARE_MIN = 64 << 10 };

size_t stream_buffer_size(const struct stream_buffer *buffer)
{
    return buffer->end - buffer->head;
}

static void move_to_front(struct stream_buffer *buffer)
{
    if (buffer->bytes != NULL && buffer->head > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->head,
                stream_buffer_size(buffer));
        buffer->end -= buffer->head;
        buffer->head = 0;
    }
}

bool stream_buffer_reserve(struct stream_wire *wire, struct stream_buffer *buffer,
                           size_t more)
{
    assert(buffer->bytes != NULL || (buffer->room == 0 && buffer->end == 0));
    assert(buffer->head <= buffer->end && buffer->end <= buffer->room);
    if (buffer->bytes == NULL && wire->spare.room >= more) {
        *buffer = wire->spare;
        wire->spare = (struct stream_buffer){0};
    }
    if (buffer->room - buffer->end >= more) {
        return true;
    }
    const size_t size = stream_buffer_size(buffer);
    if (buffer->room >= size + more && buffer->head >= size) {
        move_to_front(buffer);
        return true;
    }
    size_t room = buffer->room > ROOM_MIN ? buffer->room : ROOM_MIN;
    while (room < size + more) {
        room *= 2;
    }
    unsigned char *bytes = malloc(room);
    if (bytes == NULL) {
        return false;
    }
    if (buffer->bytes != NULL) {
        memcpy(bytes, buffer->bytes + buffer->head, size);
    }
    free(buffer->bytes);
    *buffer = (struct stream_buffer){bytes, 0, size, room};
    return true;
}

bool stream_buffer_put(struct stream_wire *wire, struct stream_buffer *buffer,
                       const void *bytes, size_t size)
{
    if (!stream_buffer_reserve(wire, buffer, size)) {
        return false;
    }
    memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
    return true;
}

void stream_buffer_drop(struct stream_wire *wire, struct stream_buffer *buffer,
                        size_t size)
{
    assert(size <= stream_buffer_size(buffer));
    buffer->head += size;
    if (buffer->head < buffer->end || buffer->bytes == NULL) {
        return;
    }
    buffer->head = buffer->end = 0;
    if (wire->spare.bytes == NULL && buffer->room >= SPARE_MIN) {
        wire->spare = *buffer;
        *buffer = (struct stream_buffer){0};
    } else {
        stream_buffer_free(buffer);
    }
}

void stream_buffer_free(struct stream_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct stream_buffer){0};
}

/* --- Maps ---------------------------------------------------------------------------
 */

static struct stream_entry **find_place(const struct stream_map *map, uint64_t key)
{
    const uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    struct stream_entry **at = &map->buckets[(mixed >> 32) & (map->bucket_count - 1)];
    while (*at != NULL && (*at)->key != key) {
        at = &(*at)->next;
    }
    return at;
}

bool stream_map_init(struct stream_map *map)
{
    map->buckets = calloc(BUCKETS_FIRST, sizeof(struct stream_entry *));
    map->bucket_count = BUCKETS_FIRST;
    return map->buckets != NULL;
}

void *stream_map_find(const struct stream_map *map, uint64_t key)
{
    return *find_place(map, key);
}

static void grow_map(struct stream_map *map)
{
    const struct stream_map old = *map;
    struct stream_entry **more = calloc(2 * old.bucket_count, sizeof(*more));
    if (more == NULL) {
        return; /* the chains grow instead */
    }
    map->buckets = more;
    map->bucket_count = 2 * old.bucket_count;
    for (size_t i = 0; i < old.bucket_count; i++) {
        for (struct stream_entry *entry = old.buckets[i], *next; entry != NULL;
             entry = next) {
            next = entry->next;
            entry->next = NULL;
            *find_place(map, entry->key) = entry;
        }
    }
    free(old.buckets);
}

void stream_map_add(struct stream_map *map, struct stream_entry *entry)
{
    if (map->count++ >= map->bucket_count) {
        grow_map(map);
    }
    struct stream_entry **at = find_place(map, entry->key);
    assert(*at == NULL);
    entry->next = NULL;
    *at = entry;
}

void stream_map_remove(struct stream_map *map, uint64_t key)
{
    struct stream_entry **at = find_place(map, key);
    assert(*at != NULL);
    *at = (*at)->next;
    map->count--;
}
