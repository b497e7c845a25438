/* session_arrays.h - the task arrays of a random program of sessions (sessions.h).
 *
 * In each session all ranks spawn two arrays.  One takes nothing, and is kept until the
 * next session.  The other takes from that of the session before, and in some sessions
 * has candidates.  Ranks wait for them, and read elements of the present ones and of
 * the one before.
 *
 * These must be true: an element is what it was drawn to be, no rank runs one of whose
 * array it is no candidate, and where nobody died each wait ends well.
 */
#ifndef TESTS_VIRTUAL_SESSION_ARRAYS_H
#define TESTS_VIRTUAL_SESSION_ARRAYS_H

#include "node/api/moot_array.h"
#include "node/api/moot_session.h"

struct session_arrays {
    moot *m;
    uint64_t seed;
    const moot_session_info *session; /* the present one */
    moot_kernel_id first, second;
    moot_array before; /* zero: it has none */
    int code;          /* of the call that went wrong */
    bool strays;       /* this rank has run what it is no candidate for */
};

/* Each returns what is wrong, or NULL.  `session` is kept up to date. */
const char *session_arrays_begin(struct session_arrays *arrays, moot *m, uint64_t seed,
                                 const moot_session_info *session);
const char *session_arrays_run(struct session_arrays *arrays);
/* Whether a call may end so, if a rank has died. */
bool session_arrays_may_end(int code);

#endif
