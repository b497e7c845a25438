/* moot_mpi.h - moot on a communicator of the program's own, and waits for its requests.
 */
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

/* As MPI_Wait, for a request of the program's own: blocks until it is complete, and
 * meanwhile serves peers and runs tasks on this thread, at every level of threads that
 * MPI offers.  To the other ranks this thread is parked (moot_park): it will spawn
 * nothing before the call returns, so tasks that it chairs and does not hold may be
 * yielded.  A rank that waits for a request and needs no tasks meanwhile may do so by
 * MPI_Wait between moot_park and moot_unpark as well, where a helper thread serves.
 *
 * `status` may be NULL or MPI_STATUS_IGNORE.  A request of MPI_REQUEST_NULL is
 * complete.  The call has no timeout: the request's completion ends it, an error of
 * MPI, or the end of the moot.  Nothing ends it when a rank dies from which the message
 * was to come.
 *
 * Errors: TRANSPORT with MPI's own words, where the communicator's error handler is
 * MPI_ERRORS_RETURN, or if MPI is finalised; INVALID; STATE in a kernel, in a watch,
 * and while parked; CLOSED when another thread closes the moot, and what ends the moot
 * for every rank: the request is still the program's then.  LIMIT, NO_MEMORY. */
MOOT_API int moot_mpi_wait(moot *m, MPI_Request *request, MPI_Status *status);

/* A communicator of the processes of this set (moot_session.h), in their order, for the
 * program's own use; free it by MPI_Comm_free() before moot_close().  Collective over
 * these processes alone.  Serves peers and runs tasks, at every level of threads that
 * MPI offers, until all of them have come, and is then in MPI for a moment; to the
 * others this thread is parked meanwhile, as in moot_mpi_wait().  Errors of calls with
 * the communicator abort, as is MPI's default, until MPI_Comm_set_errhandler() says
 * otherwise.
 *
 * Errors: INVALID (there is no such set, it is not valid, or this process is not in
 * it); UNSUPPORTED where MPI does not carry the moot; TRANSPORT where a process of it
 * has gone before all had come, or with MPI's own words; the rest as moot_mpi_wait().
 */
MOOT_API int moot_pset_comm(moot *m, const char *name, MPI_Comm *out);

#ifdef __cplusplus
}
#endif
#endif
