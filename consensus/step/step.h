/* step.h - the room of the step itself: one event in, outputs out (consensus/core.h).
 *
 * step.c takes an event to its room and does what is due by the clock; work_off.c works
 * the agenda off; receive.c applies Rule E and hands messages out; entry.c makes and
 * gives back the entries that hosts share (core_entry.h); inspect.c looks at the state
 * for reports (core_view.h). step_hold.c asserts what must be true of a core.  No room
 * of the core calls this one.
 *
 * Writes core->step.
 */
#ifndef CONSENSUS_STEP_STEP_H
#define CONSENSUS_STEP_STEP_H

#include "consensus/state/state.h"

#endif
