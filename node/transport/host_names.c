/* host_names.c - the table behind host_names.h: few names, of many ranks. */
#include "node/transport/host_names.h"

#include <stdlib.h>
#include <string.h>

struct host_names *host_names_new(uint32_t size)
{
    struct host_names *names = calloc(1, sizeof(*names));
    if (names == NULL) {
        return NULL;
    }
    names->size = size;
    names->of_rank = malloc(size * sizeof(*names->of_rank));
    if (names->of_rank == NULL) {
        free(names);
        return NULL;
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        names->of_rank[rank] = UINT32_MAX;
    }
    return names;
}

void host_names_free(struct host_names *names)
{
    for (uint32_t i = 0; names != NULL && i < names->count; i++) {
        free(names->names[i]);
    }
    if (names != NULL) {
        free(names->names);
        free(names->of_rank);
    }
    free(names);
}

/* Ranks of a host mostly follow each other, so the last name is looked at first. */
static uint32_t find_name(const struct host_names *names, const char *name)
{
    uint32_t at = names->count;
    while (at > 0 && strcmp(names->names[at - 1], name) != 0) {
        at--;
    }
    return at > 0 ? at - 1 : UINT32_MAX;
}

static uint32_t add_name(struct host_names *names, const char *name)
{
    char **list = realloc(names->names, (names->count + 1) * sizeof(*list));
    names->names = list != NULL ? list : names->names;
    char *copy = list != NULL ? strdup(name) : NULL;
    if (copy == NULL) {
        return UINT32_MAX;
    }
    list[names->count] = copy;
    return names->count++;
}

bool host_names_put(struct host_names *names, uint32_t rank, const char *name)
{
    uint32_t at = find_name(names, name);
    at = at == UINT32_MAX ? add_name(names, name) : at;
    names->of_rank[rank] = at;
    return at != UINT32_MAX;
}

const char *host_names_get(const struct host_names *names, uint32_t rank)
{
    const uint32_t at = names->of_rank[rank];
    return at < names->count ? names->names[at] : NULL;
}
