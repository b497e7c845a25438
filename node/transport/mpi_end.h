/* mpi_end.h - learning that the program calls MPI_Finalize under an open moot.
 *
 * MPI runs the delete callbacks of MPI_COMM_SELF's attributes before it finalises
 * anything else (MPI 3.1, section 8.7.1).  A watch is such an attribute: its callback
 * waits until no thread of the library is between mpi_end_enter and mpi_end_leave, and
 * from then on none gets in.
 *
 * The callback runs in the program's thread and takes only the watch's own lock, which
 * is taken under the engine lock and never the other way round.
 */
#ifndef NODE_TRANSPORT_MPI_END_H
#define NODE_TRANSPORT_MPI_END_H

#include <pthread.h>
#include <stdbool.h>

struct mpi_end {
    pthread_mutex_t lock; /* recursive */
    int keyval;
    bool has_lock, has_keyval, has_attribute;
    bool came; /* under the lock */
};

/* Starts the watch, which must stay where it is.  `end` is zero; MPI is initialised.
 * False if it cannot be (call mpi_end_unwatch anyway). */
bool mpi_end_watch(struct mpi_end *end);

/* Ends the watch.  Makes MPI calls only if MPI still takes them; returns whether it
 * did when asked. */
bool mpi_end_unwatch(struct mpi_end *end);

/* The bracket around MPI calls; pairs nest.  False, with nothing to leave, once
 * MPI_Finalize has been called.  Without a watch it is always true. */
bool mpi_end_enter(struct mpi_end *end);
void mpi_end_leave(struct mpi_end *end);

#endif
