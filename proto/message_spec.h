/* message_spec.h - the spec of a portable task, or task array, which a MOTION or an
 * ELEMENTS brings.
 *
 * A part of message.h, which says what a message borrows.
 */
#ifndef PROTO_MESSAGE_SPEC_H
#define PROTO_MESSAGE_SPEC_H

#include "hashing/moot_hash.h"
#include "hashing/rankset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By which map an array takes the elements of an input. */
struct message_map {
    const char *name; /* NULL: the input is a single task's result, and the rest is 0 */
    uint32_t version;
    const void *args;
    size_t args_size;
};

/* The spec of a portable task, or task array: what a rank needs to run one that it has
 * not spawned. */
struct message_spec {
    const char *kernel_name;
    uint32_t kernel_version;
    uint32_t flags; /* CORE_TASK_* that identity covers or that bind */
    const void *args;
    size_t args_size;
    const moot_hash *inputs; /* data inputs, then `after` */
    size_t input_count;
    size_t after_count; /* how many at the end of inputs are order only */
    const void *key;
    size_t key_size;
    const struct rankset *candidates; /* NULL: all; of an array: its homes, or NULL:
                                         those of the first view */
    moot_hash scope;
    moot_hash parent; /* the spawning task; zero if top level */
    int32_t priority;
    const char *label;
    const char *site;
    bool bound;            /* the homes are the array's candidates */
    uint64_t count, block; /* of a task array: its card, but for the homes; else 0 */
    uint32_t spread;       /* likewise, enum array_spread_kind */
    const struct message_map *maps; /* of an array: one for each input; NULL: none */
};

#endif
