/* step_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_STEP_STEP_PRIVATE_H
#define CONSENSUS_STEP_STEP_PRIVATE_H

#include "consensus/step/step.h"

/* --- step_hold.c ------------------------------------------------------------------ */

/* A part of core_hold(), another for each number. */
void step_hold_some(const struct core *core, uint64_t look);

/* --- receive.c -------------------------------------------------------------------- */

int receive_event(struct core *core, const struct core_event *event);
/* A message of this rank to itself. */
void receive_own(struct core *core, const struct message *message);
/* Takes the messages that came before this rank entered their epoch. */
void receive_held(struct core *core);

/* --- work_off.c ------------------------------------------------------------------- */

/* Does what stands on the agenda, and what comes onto it meanwhile. */
void agenda_do(struct core *core);
static inline void agenda_work_off(struct core *core)
{
    if (!agenda_is_empty(core)) {
        agenda_do(core);
    }
}

#endif
