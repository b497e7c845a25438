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

struct engine_hooks {
    engine_output_fn outputs[ENGINE_OUTPUTS];     /* NULL: nothing is to be done */
    engine_message_fn messages[MESSAGE_TYPE_END]; /* NULL: it is for the core alone */
};

#endif
