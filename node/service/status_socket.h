/* status_socket.h - a socket at which a running rank tells what it does.
 *
 * Each rank that is a process of its own listens at a Unix socket, in a folder that
 * only its user may enter: $XDG_RUNTIME_DIR/moot, else moot-UID in $TMPDIR or /tmp, or
 * what MOOT_STATE names ("off": no socket).  The name is JOB-RANK-PID; JOB is the same
 * for all ranks of a moot, 8 hexadecimal digits.  Who connects sends a line and gets 8
 * bytes of DOOR_MAGIC, the size as 8 bytes, lowest first, and a Picture of moot.proto:
 *
 *     self    this rank's account alone, at once
 *     brief   the same, without lanes, waits, tasks and peers: how far it has come
 *     all     every rank's: this one asks them (snapshot_query.h)
 *     leave N the same as brief, and rank N is asked to leave (dismissal.h)
 *
 * So `moot state` needs one rank on its host, whichever, to see the whole job.
 *
 * There is no thread for it: the progress loop looks at the sockets every DOOR_LOOK_NS.
 * A socket is removed at close; one whose rank was killed refuses connections, and who
 * finds it so removes it (node/tools/state_find.c).
 *
 * Under the engine lock.
 */
#ifndef NODE_SERVICE_STATUS_SOCKET_H
#define NODE_SERVICE_STATUS_SOCKET_H

#include "node/context/context.h"

#define DOOR_MAGIC "MOOTDOOR"
#define DOOR_LOOK_NS UINT64_C(10000000)
enum { DOOR_PATH_BYTES = 108 }; /* of a Unix socket's address */

struct door;

/* Where this rank's socket is, "" if it has none. */
const char *door_path(const struct moot *m);

/* Best effort: without a socket the rank runs all the same. */
void door_open(struct moot *m);
void door_close(struct moot *m); /* accepts none */

/* A chore of the loop, after report_look(). */
void door_look(struct moot *m, uint64_t now_ns);

/* The places for such folders, from this process's environment and MOOT_STATE as set:
 * writes the n-th, from 0, to `path`; false if there are no more, or it does not fit.
 */
bool door_place(const char *setting, unsigned n, char path[DOOR_PATH_BYTES]);
/* The folder is there, is a folder, and only this user may enter it. */
bool door_is_safe(const char *path);

#endif
