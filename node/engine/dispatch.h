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

enum { ENGINE_CHORES_MAX = 6 };

struct engine_hooks {
    engine_output_fn outputs[ENGINE_OUTPUTS];     /* NULL: nothing is to be done */
    engine_message_fn messages[MESSAGE_TYPE_END]; /* NULL: it is for the core alone */

    /* A turn of the loop begins; the one before began at `before_ns`.  False: it is
     * left at that. */
    bool (*turn_begins)(struct moot *m, uint64_t now_ns, uint64_t before_ns);
    void (*turn_ends)(struct moot *m, uint64_t now_ns);
    /* For core_press(), before the core is asked when it wants a turn. */
    uint32_t (*press)(struct moot *m);
    engine_chore_fn chores[ENGINE_CHORES_MAX]; /* in this order; NULL: no more */
    void (*helped)(struct moot *m);            /* the helper has driven the loop */

    /* There is something to tell watches of; tells it, and lets the lock go for that.
     * Asked only if anybody has ever watched. */
    bool (*watch_is_due)(const struct moot *m);
    void (*tell_watches)(struct moot *m);
    /* Every wait and spawn of this rank ends with m->engine.fatal. */
    void (*fails)(struct moot *m);
};

#endif
