/* moot_mpi.h - moot on a communicator of the program's own. */
#ifndef NODE_API_MOOT_MPI_H
#define NODE_API_MOOT_MPI_H

#include "node/api/moot.h"
#if defined(__cplusplus) && defined(__GNUC__) && __GNUC__ >= 8
#pragma GCC diagnostic push /* of MPI's bindings for C++ */
#pragma GCC diagnostic ignored "-Wcast-function-type"
#include <mpi.h>
#pragma GCC diagnostic pop
#else
#include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* As moot_open, over the ranks of an intracommunicator; moot's ranks are its ranks.
 * Collective over `comm`, which is duplicated and may be freed at once.  MPI must be
 * initialised, and moot_close then leaves it so.  After a rank has died do not call
 * MPI_Finalize: it could wait for it for ever.  With less than MPI_THREAD_MULTIPLE no
 * helper thread drives progress (MOOT_PROGRESS=caller), which is said once, and calls
 * of the library are calls of MPI: from the main thread alone, or, with
 * MPI_THREAD_SERIALIZED, not while another thread is in MPI.  Adds INVALID for an
 * intercommunicator or MPI_COMM_NULL. */
MOOT_API int moot_open_comm(const moot_options *options, MPI_Comm comm, moot **out);

#ifdef __cplusplus
}
#endif
#endif
