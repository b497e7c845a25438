/* hello.h - what ranks tell each other of themselves when a transport opens, where it
 * is gathered by a library that moves words. */
#ifndef NODE_TRANSPORT_HELLO_H
#define NODE_TRANSPORT_HELLO_H

#include "node/transport/host/processors.h"
#include "node/transport/transport.h"

struct hello {
    uint64_t uid, host, threads;
    struct process_name process;
    struct processors processors;
    char host_name[TRANSPORT_HOST_BYTES]; /* transport_group_host() */
};
enum { HELLO_WORDS = sizeof(struct hello) / sizeof(uint64_t) };

/* This rank's, with a uid drawn at random and no host yet; and room in the group, of
 * which size, threads and what the host is called are known, for those of all.  False
 * without memory, or without randomness. */
bool hello_make(struct transport_group *group, struct hello *out);

/* Enters what the ranks have told, in their order: with it is known, too, whether this
 * one shares its processors with others.  Who has not come yet has no uid. */
void hello_take(struct transport_group *group, const struct hello *all);
void hello_take_one(struct transport_group *group, uint32_t rank,
                    const struct hello *hello);

#endif
