/* sigpipe.h - a peer that died must not take this process with it.
 *
 * Who writes to a connection whose other end is gone gets SIGPIPE, and dies of it
 * unless the program says otherwise; Open MPI's TCP wire does not see to that.  While a
 * moot is open over such a wire the signal is ignored, if the program has left it at
 * its default: the write then fails, which the wire does see.
 */
#ifndef NODE_TRANSPORT_MPI_SIGPIPE_H
#define NODE_TRANSPORT_MPI_SIGPIPE_H

#include <stdbool.h>

/* Calls pair up.  `restore`: nothing writes to such connections any more. */
void sigpipe_ignore(void);
void sigpipe_end(bool restore);

#endif
