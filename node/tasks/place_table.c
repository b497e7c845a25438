/* place_table.c - see place_table.h. */
#include "node/tasks/place_table.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_ROOM = 16 };

/* The cell that a place is looked for at first.  Places that are dealt are often a
 * progression, and so each bit of one counts (the finaliser of splitmix64, as in
 * hashing/placement.c). */
static uint32_t cell_of(const struct place_table *table, uint64_t place)
{
    uint64_t mixed = place;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(mixed ^ mixed >> 31) & (2 * table->room - 1);
}

/* The cell that has the place, or the empty one where it belongs: half are empty. */
static uint32_t *find_cell(const struct place_table *table, uint64_t place)
{
    uint32_t cell = cell_of(table, place);
    while (table->cells[cell] != 0 && table->places[table->cells[cell] - 1] != place) {
        cell = (cell + 1) & (2 * table->room - 1);
    }
    return &table->cells[cell];
}

static bool grow(struct place_table *table)
{
    const uint32_t room = table->room == 0 ? FIRST_ROOM : 2 * table->room;
    if (room > UINT32_MAX / 4) {
        return false;
    }
    uint64_t *places = realloc(table->places, room * sizeof(*places));
    if (places == NULL) {
        return false;
    }
    table->places = places;
    uint32_t *cells = calloc(2 * (size_t)room, sizeof(*cells));
    if (cells == NULL) {
        return false;
    }
    free(table->cells);
    table->cells = cells;
    table->room = room;
    for (uint32_t i = 0; i < table->count; i++) {
        if (places[i] != PLACE_NOWHERE) {
            *find_cell(table, places[i]) = i + 1;
        }
    }
    return true;
}

uint32_t place_table_find(const struct place_table *table, uint64_t place)
{
    return table->count == 0 ? UINT32_MAX : *find_cell(table, place) - 1; /* wraps */
}

uint32_t place_table_add(struct place_table *table, uint64_t place)
{
    if (table->count == table->room && !grow(table)) {
        return UINT32_MAX;
    }
    const uint32_t number = table->count++;
    table->places[number] = place;
    if (place != PLACE_NOWHERE) {
        *find_cell(table, place) = number + 1;
    }
    return number;
}

void place_table_release(struct place_table *table)
{
    free(table->places);
    free(table->cells);
    *table = (struct place_table){0};
}
