/* mpi.h - the transport over MPI.
 *
 * Its header needs no MPI header, so that only mpi.c does.
 */
#ifndef NODE_TRANSPORT_MPI_MPI_H
#define NODE_TRANSPORT_MPI_MPI_H

#include "node/transport/transport.h"

struct transport_mpi_options {
    const void *comm; /* a const MPI_Comm *; NULL: MPI_COMM_WORLD, initialising MPI with
                         MPI_THREAD_MULTIPLE if nobody did */
    uint32_t most; /* without it: so many ranks the moot may have at a time, as rank 0
                      has it; 0: none join */
};

/* A transport_open_fn; `arg` is a const struct transport_mpi_options *, or NULL for the
 * world.  Errors: INVALID (an intercommunicator, MPI_COMM_NULL, a communicator before
 * MPI_Init), TRANSPORT (MPI failed, or is finalised), PROTOCOL (ranks run different
 * versions of libmoot), LIMIT (too many ranks), NO_MEMORY.
 *
 * A process that the members of a moot have started (the slot grow_together) joins that
 * one by its first call without a communicator.
 *
 * free() is collective as well: it waits for the other ranks, but not for ever. */
int transport_mpi_open(void *arg, const void *blob, size_t blob_size,
                       struct transport_group *group, struct transport **out,
                       char *story, size_t story_size);

/* For a process that only starts a newcomer and waits for it: it does not end itself if
 * the newcomer cannot come, which does that. */
void transport_mpi_waits_only(void);

/* Names the MPI library, in one line; before MPI_Init too.  Returns `text`. */
char *transport_mpi_version(char *text, size_t size);

#endif
