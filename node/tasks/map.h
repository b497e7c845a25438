/* map.h - the maps that a program has registered (moot_map_register), and what is said
 * of one that is wrong.
 *
 * To all else a registered map is one like those that are built in
 * (consensus/shape/array_map.h): its functions are called by way of two that turn the
 * program's ranges into the library's, and look whether they are such.  Maps are never
 * unregistered; pointers stay good.  Under the engine lock, under which the program's
 * functions are called, too.
 */
#ifndef NODE_TASKS_MAP_H
#define NODE_TASKS_MAP_H

#include "consensus/shape/map_check.h"
#include "node/api/moot_array.h"
#include "node/context/context.h"
#include "node/tasks/error_chain.h"

enum { MAPS_MAX = 1024 };

/* The map of an id, built in or registered; NULL: it is of neither. */
const struct array_map *map_find(const struct moot *m, moot_map_id id);

/* The map of that name and version, likewise; NULL: there is none here. */
const struct array_map *map_find_named(const struct moot *m, const char *name,
                                       uint32_t version);

/* Registers a checked map, or finds the equal one: its id.  INVALID: there is another
 * one of the name; LIMIT, NO_MEMORY. */
int map_add(struct moot *m, const moot_map *map, moot_map_id *out);
void maps_release(struct moot *m);

/* Why the element cannot have what the map names, or the two functions differ. */
void map_tell_fault(struct text *text, const struct array_mapping *mapping,
                    const struct array_counts *counts, const struct map_fault *fault);
void map_tell_inverse(struct text *text, const struct array_map *map,
                      const struct array_counts *counts,
                      const struct inverse_fault *fault);

#endif
