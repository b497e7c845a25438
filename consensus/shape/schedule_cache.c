/* schedule_cache.c - see schedule_cache.h.
 *
 * Shapes are few: those that are kept stand in a row, the latest used first, and are
 * looked through.  A hit is mostly the first or the second.
 */
#include "consensus/shape/schedule_cache.h"

#include "hashing/base/hot.h"
#include "proto/moot_error.h"

#include <stdlib.h>
#include <string.h>

struct shape_entry {
    struct array_spread takes, from;
    struct rankset takes_homes, from_homes;
    const struct array_map *map;
    size_t args_size;
    unsigned char args[SCHEDULE_ARGS_BYTES_MAX];
    int error;                       /* if there can be no schedule */
    struct array_schedule *schedule; /* the cache is one of its users */
};

struct schedule_cache {
    struct shape_entry *entries[SCHEDULES_MAX]; /* the latest used first */
    uint32_t count;
    uint64_t made;
};

struct schedule_cache *schedule_cache_new(void)
{
    return calloc(1, sizeof(struct schedule_cache));
}

static void entry_free(struct shape_entry *entry)
{
    schedule_let_go(entry->schedule);
    rankset_release(&entry->takes_homes);
    rankset_release(&entry->from_homes);
    free(entry);
}

void schedule_cache_clear(struct schedule_cache *cache)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        entry_free(cache->entries[i]);
    }
    cache->count = 0;
}

void schedule_cache_free(struct schedule_cache *cache)
{
    if (cache != NULL) {
        schedule_cache_clear(cache);
        free(cache);
    }
}

uint32_t schedule_cache_count(const struct schedule_cache *cache, uint64_t *made)
{
    *made = cache->made;
    return cache->count;
}

static bool same_spread(const struct array_spread *a, const struct array_spread *b)
{
    return a->count == b->count && a->block == b->block && a->homes == b->homes &&
           a->kind == b->kind;
}

static bool is_of(const struct shape_entry *entry, const struct array_shape *shape)
{
    return entry->map == shape->mapping.map &&
           same_spread(&entry->takes, &shape->takes.spread) &&
           same_spread(&entry->from, &shape->from.spread) &&
           entry->args_size == shape->mapping.args_size &&
           (entry->args_size == 0 ||
            memcmp(entry->args, shape->mapping.args, entry->args_size) == 0) &&
           rankset_equal(&entry->takes_homes, shape->takes.homes) &&
           rankset_equal(&entry->from_homes, shape->from.homes);
}

/* The entry at `at` becomes the first. */
static struct shape_entry *move_up(struct schedule_cache *cache, uint32_t at)
{
    struct shape_entry *entry = cache->entries[at];
    memmove(cache->entries + 1, cache->entries, at * sizeof(*cache->entries));
    cache->entries[0] = entry;
    return entry;
}

static struct shape_entry *find_shape(struct schedule_cache *cache,
                                      const struct array_shape *shape)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        if (is_of(cache->entries[i], shape)) {
            return move_up(cache, i);
        }
    }
    return NULL;
}

/* An entry without a schedule; NULL without memory. */
static struct shape_entry *entry_new(const struct array_shape *shape)
{
    struct shape_entry *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    entry->takes = shape->takes.spread;
    entry->from = shape->from.spread;
    entry->map = shape->mapping.map;
    entry->args_size = shape->mapping.args_size;
    if (entry->args_size > 0) {
        memcpy(entry->args, shape->mapping.args, entry->args_size);
    }
    if (!rankset_copy(&entry->takes_homes, shape->takes.homes) ||
        !rankset_copy(&entry->from_homes, shape->from.homes)) {
        entry_free(entry);
        return NULL;
    }
    return entry;
}

static void put_first(struct schedule_cache *cache, struct shape_entry *entry)
{
    if (cache->count == SCHEDULES_MAX) {
        entry_free(cache->entries[--cache->count]);
    }
    cache->entries[cache->count] = entry;
    move_up(cache, cache->count++);
}

/* Whether a shape ends so whenever it is tried. */
static bool is_for_good(int error) { return error != MOOT_ERR_NO_MEMORY; }

static int make_entry(struct schedule_cache *cache, const struct array_shape *shape,
                      struct shape_entry **out)
{
    struct shape_entry *entry = entry_new(shape);
    if (entry == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    cache->made++;
    entry->error = array_schedule_new(shape, &entry->schedule);
    if (!is_for_good(entry->error)) {
        entry_free(entry);
        return MOOT_ERR_NO_MEMORY;
    }
    put_first(cache, entry);
    *out = entry;
    return MOOT_OK;
}

HOT int schedule_cache_take(struct schedule_cache *cache,
                            const struct array_shape *shape,
                            const struct array_schedule **out)
{
    if (shape->mapping.args_size > SCHEDULE_ARGS_BYTES_MAX) {
        struct array_schedule *made = NULL;
        cache->made++;
        int error = array_schedule_new(shape, &made);
        *out = error == MOOT_OK ? made : *out;
        return error;
    }
    struct shape_entry *entry = find_shape(cache, shape);
    int error = entry == NULL ? make_entry(cache, shape, &entry) : MOOT_OK;
    error = error == MOOT_OK ? entry->error : error;
    if (error == MOOT_OK) {
        entry->schedule->users++;
        *out = entry->schedule;
    }
    return error;
}

void schedule_let_go(const struct array_schedule *schedule)
{
    /* Const to those who read it; array_schedule_new() made it, which is not. */
    struct array_schedule *own = (struct array_schedule *)(uintptr_t)schedule;
    if (own != NULL && --own->users == 0) {
        array_schedule_free(own);
    }
}
