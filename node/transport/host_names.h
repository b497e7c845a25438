/* host_names.h - the names of all ranks' hosts, as far as they are known.
 *
 * A rank calls its host as its launcher does, or else by the system's name, and says so
 * when the transport opens: in its card, or to MPI.  So all ranks have the same word
 * for it.  Names are for people and for process sets (node/session/host_sets.c); who
 * shares memory with whom is another matter (transport_group.hosts).
 */
#ifndef NODE_TRANSPORT_HOST_NAMES_H
#define NODE_TRANSPORT_HOST_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct host_names {
    uint32_t *of_rank; /* an index of names, behind the last: not known */
    uint32_t size;
    char **names; /* each once */
    uint32_t count;
};

/* For so many ranks; NULL without memory. */
struct host_names *host_names_new(uint32_t size);
void host_names_free(struct host_names *names);
/* False without memory. */
bool host_names_put(struct host_names *names, uint32_t rank, const char *name);
/* NULL: it is not known. */
const char *host_names_get(const struct host_names *names, uint32_t rank);

#endif
