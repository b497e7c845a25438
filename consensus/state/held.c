/* held.c - messages that are taken later: of an epoch that this rank has yet to enter,
 * or about a chunk that was leaving.
 */
#include "consensus/state/state.h"

#include "proto/copy.h"

#include <assert.h>
#include <stdlib.h>

void held_add(struct core *core, struct held *first, struct held **last)
{
    assert(first != NULL && *last == NULL);
    assert(*core->state.held_last == NULL);
    *core->state.held_last = first;
    core->state.held_last = last;
}

struct held *held_take(struct core *core)
{
    struct held **link = &core->state.held_first;
    while (*link != NULL && (*link)->message->epoch > core->epoch) {
        link = &(*link)->next;
    }
    struct held *held = *link;
    if (held != NULL) {
        *link = held->next;
        if (core->state.held_last == &held->next) {
            core->state.held_last = link;
        }
    }
    return held;
}

void held_free(struct held *list)
{
    while (list != NULL) {
        struct held *held = list;
        list = held->next;
        message_copy_free(held->message);
        free(held);
    }
}
