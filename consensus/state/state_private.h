/* state_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_STATE_STATE_PRIVATE_H
#define CONSENSUS_STATE_STATE_PRIVATE_H

#include "consensus/state/state.h"

/* --- roll_pages.c ----------------------------------------------------------------- */

enum { PAGE_TASKS = 512 };

struct page {
    void **known; /* records, and stubs; NULL: nothing is left of it */
    uint32_t live;
};

/* --- release_count.c -------------------------------------------------------------- */

/* The task is released here as far as it goes itself, which is what is counted. */
bool release_is_quiet(const struct core *core, const struct task_record *task);

/* --- release_hold.c --------------------------------------------------------------- */

/* Asserts that the facts of each chunk are what a look at its tasks finds. */
void release_hold(const struct core *core);

#endif
