/* host_memory.h - a piece of memory that the ranks of one host share, and that has no
 * place in any folder.
 *
 * The lowest rank of a host makes it, as a file without a name; the others open what
 * that process has open, and map it.  So whenever and however processes end, the memory
 * goes with the last that has it.  Every page is there before anything is written
 * (where memory for it is short, as in a container, there is none instead of a signal
 * later).  Processes that may not look at each other, being of different users or in
 * different pid namespaces, have none either.  It is zero at first.
 */
#ifndef NODE_TRANSPORT_SHM_HOST_MEMORY_H
#define NODE_TRANSPORT_SHM_HOST_MEMORY_H

#include "node/transport/transport.h"

struct host_memory {
    void *bytes; /* NULL: this rank has none */
    size_t size; /* 0: there is to be none */
    char name[32];
    int fd;     /* if shown: of the file that this rank has made */
    bool shown; /* the others can open it */
};

/* How many ranks there are on this rank's host, and the place of one among them. */
uint32_t host_ranks(const struct transport_group *group);
uint32_t host_place(const struct transport_group *group, uint32_t rank);

/* Three steps, each a rank's own, in this order on all ranks with a meeting between
 * them; `memory` is zero before.  `kind` is a word of its name.  False: this rank has
 * none. */
bool host_memory_make(struct host_memory *memory, const struct transport_group *group,
                      const char *kind, size_t size);
bool host_memory_map(struct host_memory *memory, const struct transport_group *group);
void host_memory_hide(struct host_memory *memory);

/* Enters in the group the boards of the ranks of this host, one behind the other in the
 * memory that was mapped.  Without memory there are none. */
void host_boards_find(const struct host_memory *memory, struct transport_group *group);

/* Accepts zero, and what got half-way. */
void host_memory_close(struct host_memory *memory);

#endif
