/* place_table.h - places of an array, numbered as they were added.
 *
 * Elements that were dealt to a rank may take hundreds of thousands of places,
 * scattered over the array and in no order, and each is asked for when it is added,
 * when a result of it comes and when one is denied.  So a place is found by its hash.
 */
#ifndef NODE_TASKS_PLACE_TABLE_H
#define NODE_TASKS_PLACE_TABLE_H

#include <stdint.h>

/* No place: it is numbered like one, however often it is added, and is not found. */
#define PLACE_NOWHERE UINT64_MAX

struct place_table {      /* zeroed: it has none */
    uint64_t *places;     /* by number */
    uint32_t *cells;      /* 2 * room, by hash: 1 + a number; 0: empty */
    uint32_t count, room; /* the room is zero, or a power of two */
};

/* The number of a place; UINT32_MAX: it was not added. */
uint32_t place_table_find(const struct place_table *table, uint64_t place);
/* Numbers a place that it does not have with the next number; UINT32_MAX without
 * memory: it has those that it had. */
uint32_t place_table_add(struct place_table *table, uint64_t place);
void place_table_release(struct place_table *table);

/* How many of so many ascending places are below that one. */
static inline uint32_t places_below(const uint64_t *places, uint32_t count,
                                    uint64_t place)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (places[middle] < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

#endif
