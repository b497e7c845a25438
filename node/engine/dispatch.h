/* dispatch.h - what rooms above the engine do when something comes up in it.
 *
 * The engine stands below the rooms that it sets to work, and knows none of them by
 * name: a table of functions, filled in above (node/api/wiring.c), is given to
 * engine_open().  The core's outputs and the messages of peers are looked up by
 * their type.
 *
 * All are called under the engine lock.
 */
#ifndef NODE_ENGINE_DISPATCH_H
#define NODE_ENGINE_DISPATCH_H

#include "node/context/context.h"

enum { ENGINE_OUTPUTS = CORE_OUT_NOTE + 1 };

/* Carries an output out, in the order of a step's outputs.  Within it nothing steps the
 * core: events that arise are for engine_later(). */
typedef void (*engine_output_fn)(struct moot *m, const struct core_output *output);

/* Takes a message in.  Whether the core is to hear it, too. */
typedef bool (*engine_message_fn)(struct moot *m, uint32_t from,
                                  const struct message *message);

/* Looks whether anything is due that nobody waits for to the microsecond. */
typedef void (*engine_chore_fn)(struct moot *m, uint64_t now_ns);

/* Ends what the room keeps of a thread. */
typedef void (*engine_lane_fn)(struct moot *m, struct lane *lane);

enum { ENGINE_CHORES_MAX = 11, ENGINE_LANES_MAX = 4 };

struct engine_hooks {
    engine_output_fn outputs[ENGINE_OUTPUTS];     /* none is NULL */
    engine_message_fn messages[MESSAGE_TYPE_END]; /* NULL: it is for the core alone */

    /* With a fault plan, or a trace: a turn of the loop begins; the one before began at
     * `before_ns`.  False: it is left at that. */
    bool (*turn_begins)(struct moot *m, uint64_t now_ns, uint64_t before_ns);
    void (*turn_ends)(struct moot *m, uint64_t now_ns);
    /* For core_press(), before the core is asked when it wants a turn. */
    uint32_t (*press)(struct moot *m);
    engine_chore_fn chores[ENGINE_CHORES_MAX]; /* in this order; NULL: no more */
    void (*helped)(struct moot *m);            /* the helper has driven the loop */

    /* Before frames are taken in: the transport may know of ranks that come later. */
    void (*newcomers)(struct moot *m);

    /* There is something to tell watches of; tells it, and lets the lock go for that.
     * Asked only if anybody has ever watched. */
    bool (*watch_is_due)(const struct moot *m);
    void (*tell_watches)(struct moot *m);
    /* Every wait and spawn of this rank ends with m->engine.fatal. */
    void (*fails)(struct moot *m);

    /* Tasks that wait to be hashed together (node/spawn/spawn_batch.h): registers them
     * before anything else happens; and before handles are looked at makes records of
     * those that bulk queues collect, once what is about to be forgotten is if the
     * program has called. */
    void (*settle)(struct moot *m);
    void (*end_batches)(struct moot *m);
    void (*end_batches_patiently)(struct moot *m);

    /* This rank is to leave (m->service.goes), and a call of the program can do it: at
     * its beginning, or when its wait is over. */
    void (*leaves)(struct moot *m, struct lane *lane);

    /* A wait of the program or of a kernel begins. */
    void (*wait_begins)(struct moot *m, uint64_t now_ns);
    /* A kernel has returned: what it spawned through queues and left in them is
     * submitted.  The first error, with the lane's error text. */
    int (*close_queues)(struct moot *m, struct lane *lane);

    /* A thread ends.  In their order, NULL: no more: while its scopes are open; when it
     * is no lane of the protocol any more; and, instead, when the context closes. */
    engine_lane_fn lane_ends[ENGINE_LANES_MAX];
    engine_lane_fn lane_ended[ENGINE_LANES_MAX];
    engine_lane_fn lane_left[ENGINE_LANES_MAX];
};

/* Called often with nothing to do. */
static inline void engine_settle(struct moot *m)
{
    if (m->spawn.unnamed.count > 0) {
        m->engine.hooks->settle(m);
    }
}

static inline void engine_end_batches(struct moot *m)
{
    if (m->spawn.unnamed.count + m->compose.in_regions > 0) {
        m->engine.hooks->end_batches(m);
    }
}

/* For a call of the program, which may have to wait for what others decide. */
static inline void engine_end_batches_for_call(struct moot *m)
{
    if (m->compose.in_regions > 0) {
        m->engine.hooks->end_batches_patiently(m);
    } else {
        engine_settle(m);
    }
}

#endif
