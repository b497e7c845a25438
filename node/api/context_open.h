/* context_open.h - opening a context over any transport.
 *
 * moot_open (context.c) and moot_open_comm (transport/mpi.c) differ only in the
 * communicator; tests open contexts over the ranks of one process.  All meet here.
 */
#ifndef NODE_API_CONTEXT_OPEN_H
#define NODE_API_CONTEXT_OPEN_H

#include "node/api/moot.h"
#include "node/transport/transport.h"

/* As moot_open, over the group that `open(arg, ...)` joins: the blob is this rank's
 * knobs, encoded (knobs.h).  `arg` is used only during the call.  NULL for `open`: the
 * transport that MOOT_TRANSPORT names.
 *
 * A rank whose knobs are malformed still has to join, because open is collective; if it
 * turns out to be rank 0, its error is everyone's. */
int moot_open_transport(const moot_options *options, transport_open_fn open, void *arg,
                        moot **out);

/* A newcomer that was let in between two sessions comes to the one that begins.  On
 * failure the story says why. */
int moot_session_come_in(moot *m, char *story, size_t story_size);

/* A public call of the processes of a set, of this name, where a transport of this kind
 * carries the moot. */
struct pset_call {
    const char *call;
    const struct transport_ops *ops;
    /* Found by moot_pset_members(): */
    moot *m;
    struct transport *transport; /* of that kind, within what may stand around it */
    uint32_t *members;           /* of the moot, ascending; free() */
    uint32_t count, self, index; /* this process's place in it; the set's in the list */
};
/* INVALID (a NULL, no such set, not valid, without this process), UNSUPPORTED,
 * NO_MEMORY, told. */
int moot_pset_members(moot *m, const char *name, struct pset_call *set);
/* Under the engine lock: all of them are present still. */
bool moot_pset_is_whole(const struct pset_call *set);

#endif
