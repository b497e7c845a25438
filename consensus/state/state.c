/* state.c - how a core's records and memory begin and end. */
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

void state_begin(struct core *core)
{
    assert(core->state.slot_count == 0 && core->state.held_first == NULL);
    const struct core_options *options = &core->options;
    core->state.record_bytes = options->entry_bytes;
    core->state.held_last = &core->state.held_first;
    core->state.vote_timeout_ns =
        options->adapt & CORE_ADAPT_VOTE ? CORE_NEVER : options->vote_timeout_ns;
}

void state_end(struct core *core)
{
    free(core->state.agenda.items);
    free(core->state.once);
    once_drop_kept(core);
    held_free(core->state.held_first);
    free(core->state.claims);
    peers_release(core);
    free(core->state.out.items);
    block_free(core->state.out.arena);
    free(core->state.memory.spare);
}
