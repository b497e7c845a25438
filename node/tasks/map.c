/* map.c - see map.h. */
#include "node/tasks/map.h"

#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "proto/moot_error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Maps have numbers that kernels have not, so that an id of the one is none of the
 * other. */
#define MAPS_FROM (UINT32_C(1) << 20)
static_assert(MAPS_FROM > LIMIT_KERNELS + KERNELS_OWN, "numbers of kernels are lower");

enum { RANGES_FEW = 32 };

struct program_map {
    struct array_map map; /* its user is this */
    moot_map_fn sources, targets;
    void *user;
    char name[];
};

/* --- Calling the program's functions -----------------------------------------------
 */

/* One that ends behind all numbers ends at the last. */
static struct range range_of(const moot_range *said)
{
    const uint64_t left = UINT64_MAX - said->first;
    return (struct range){said->first,
                          said->first + (said->count < left ? said->count : left)};
}

static int call_map(const struct program_map *map, moot_map_fn fn, const void *args,
                    size_t args_size, uint64_t element,
                    const struct array_counts *counts, struct range *out, size_t room)
{
    moot_range few[RANGES_FEW], *said = few;
    if (room > RANGES_FEW && (said = malloc(room * sizeof(*said))) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int count = fn(map->user, args, args_size, element, counts->takes,
                         counts->from, said, room);
    for (size_t i = 0; count > 0 && i < (size_t)count && i < room; i++) {
        out[i] = range_of(&said[i]);
    }
    if (said != few) {
        free(said);
    }
    return count >= 0 || count == MOOT_ERR_NO_MEMORY ? count : MOOT_ERR_INVALID;
}

static int call_sources(const void *user, const void *args, size_t args_size,
                        uint64_t element, const struct array_counts *counts,
                        struct range *out, size_t room)
{
    const struct program_map *map = user;
    return call_map(map, map->sources, args, args_size, element, counts, out, room);
}

static int call_targets(const void *user, const void *args, size_t args_size,
                        uint64_t element, const struct array_counts *counts,
                        struct range *out, size_t room)
{
    const struct program_map *map = user;
    return call_map(map, map->targets, args, args_size, element, counts, out, room);
}

/* --- Registering -------------------------------------------------------------------
 */

static const struct array_map *const built_in[] = {
    &array_map_same,  &array_map_all,       &array_map_window,
    &array_map_shift, &array_map_transpose, &array_map_blocks};
enum { BUILT_IN = sizeof(built_in) / sizeof(built_in[0]) };

const struct array_map *map_find(const struct moot *m, moot_map_id id)
{
    uint32_t number = 0;
    if (id.id < BUILT_IN) {
        return built_in[id.id];
    }
    if (handle_find_kernel(&m->tasks.handles, id.id, &number) != MOOT_OK ||
        number - MAPS_FROM >= m->tasks.map_count) {
        return NULL;
    }
    return &m->tasks.maps[number - MAPS_FROM]->map;
}

static uint32_t find_name(const struct moot *m, const char *name)
{
    uint32_t i = 0;
    while (i < m->tasks.map_count && strcmp(m->tasks.maps[i]->name, name) != 0) {
        i++;
    }
    return i;
}

const struct array_map *map_find_named(const struct moot *m, const char *name,
                                       uint32_t version)
{
    const struct array_map *map = NULL;
    for (uint32_t i = 0; i < BUILT_IN && map == NULL; i++) {
        map = strcmp(built_in[i]->name, name) == 0 ? built_in[i] : NULL;
    }
    const uint32_t at = map == NULL ? find_name(m, name) : m->tasks.map_count;
    if (at < m->tasks.map_count) {
        map = &m->tasks.maps[at]->map;
    }
    return map != NULL && map->version == version ? map : NULL;
}

static bool is_equal(const struct program_map *map, const moot_map *said)
{
    return map->map.version == said->version && map->sources == said->sources &&
           map->targets == said->targets && map->user == said->user;
}

static struct program_map *map_new(const moot_map *said)
{
    const size_t size = strlen(said->name) + 1;
    struct program_map *map = malloc(sizeof(*map) + size);
    if (map == NULL) {
        return NULL;
    }
    memcpy(map->name, said->name, size);
    map->map =
        (struct array_map){.name = map->name,
                           .version = said->version,
                           .sources = call_sources,
                           .targets = said->targets != NULL ? call_targets : NULL,
                           .user = map};
    map->sources = said->sources;
    map->targets = said->targets;
    map->user = said->user;
    return map;
}

int map_add(struct moot *m, const moot_map *map, moot_map_id *out)
{
    const uint32_t at = find_name(m, map->name);
    if (at < m->tasks.map_count) {
        out->id = handle_of_kernel(&m->tasks.handles, MAPS_FROM + at);
        return is_equal(m->tasks.maps[at], map) ? MOOT_OK : MOOT_ERR_INVALID;
    }
    if (at == MAPS_MAX) {
        return MOOT_ERR_LIMIT;
    }
    struct program_map **maps =
        realloc(m->tasks.maps, (at + 1) * sizeof(struct program_map *));
    struct program_map *added = maps != NULL ? map_new(map) : NULL;
    m->tasks.maps = maps != NULL ? maps : m->tasks.maps;
    if (added == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    maps[at] = added;
    m->tasks.map_count++;
    out->id = handle_of_kernel(&m->tasks.handles, MAPS_FROM + at);
    return MOOT_OK;
}

void maps_release(struct moot *m)
{
    for (uint32_t i = 0; i < m->tasks.map_count; i++) {
        free(m->tasks.maps[i]);
    }
    free(m->tasks.maps);
    m->tasks.maps = NULL;
    m->tasks.map_count = 0;
}

/* --- Telling -----------------------------------------------------------------------
 */

/* The program's function is asked once more: it says the same. */
static void tell_refusal(struct text *text, const struct array_mapping *mapping,
                         const struct array_counts *counts, uint64_t element)
{
    moot_range few[RANGES_FEW];
    text_add(text, "has no sources for element %" PRIu64 ": .sources ", element);
    if (mapping->map->sources == call_sources) {
        const struct program_map *map = mapping->map->user;
        text_add(text, "returned %d, ",
                 map->sources(map->user, mapping->args, mapping->args_size, element,
                              counts->takes, counts->from, few, RANGES_FEW));
    }
    text_add(text, "of a count of %" PRIu64 " and a source_count of %" PRIu64,
             counts->takes, counts->from);
}

void map_tell_fault(struct text *text, const struct array_mapping *mapping,
                    const struct array_counts *counts, const struct map_fault *fault)
{
    text_add(text, "the map '%s' ", mapping->map->name);
    if (fault->error == MOOT_ERR_LIMIT) {
        text_add(text, "has element %" PRIu64 " take more than %u: take fewer",
                 fault->element, LIMIT_INPUTS);
    } else if (!fault->beyond) {
        tell_refusal(text, mapping, counts, fault->element);
    } else if (fault->range.end <= fault->range.first) {
        text_add(text, "gives element %" PRIu64 " an empty range, at %" PRIu64,
                 fault->element, fault->range.first);
    } else {
        text_add(text,
                 "has element %" PRIu64 " take %" PRIu64 " to %" PRIu64
                 ", and the input has %" PRIu64 " elements, from 0 on",
                 fault->element, fault->range.first, fault->range.end - 1,
                 counts->from);
    }
}

static void tell_ranges(struct text *text, const struct range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < INVERSE_FAULT_RANGES; i++) {
        text_add(text, i == 0 ? "%" PRIu64 : ", %" PRIu64, ranges[i].first);
        if (ranges[i].end - ranges[i].first > 1) {
            text_add(text, "-%" PRIu64, ranges[i].end - 1);
        }
    }
    text_add(text, count == 0                     ? "nothing"
                   : count > INVERSE_FAULT_RANGES ? ", ..."
                                                  : "");
}

void map_tell_inverse(struct text *text, const struct array_map *map,
                      const struct array_counts *counts,
                      const struct inverse_fault *fault)
{
    text_add(text,
             "the map '%s' (version %u) has a wrong inverse, where %" PRIu64
             " elements take from %" PRIu64 ": .sources of element %" PRIu64 " names ",
             map->name, map->version, counts->takes, counts->from, fault->element);
    tell_ranges(text, fault->sources, fault->source_ranges);
    text_add(text, ", and .targets of element %" PRIu64 " names ", fault->source);
    tell_ranges(text, fault->targets, fault->target_ranges);
    text_add(text, "; it %s %" PRIu64,
             fault->left_out ? "leaves out" : "is not to name", fault->element);
}
