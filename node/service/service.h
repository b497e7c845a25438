/* service.h - the room at which a running rank can be asked.
 *
 * A socket answers whoever may open it with what the rank does (status_socket.h), and
 * takes the word that a rank is to leave (dismissal.h); so does SIGTERM (sigterm.h).
 *
 * Writes m->service. Under the engine lock.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_SERVICE_SERVICE_H
#define NODE_SERVICE_SERVICE_H

#include "node/service/dismissal.h"
#include "node/service/sigterm.h"
#include "node/service/status_socket.h"

#endif
