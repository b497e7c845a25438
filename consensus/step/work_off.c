/* work_off.c - works off what the rooms have put on the agenda (state/agenda.c).
 *
 * Here stands what each reason means.  What a task's chair does comes last: by then its
 * own wait has been noted as an asker's.  When nothing is left, a view whose reports
 * are decided may go on, which fills the agenda again.
 */
#include "consensus/step/step_private.h"

#include "consensus/membership/membership.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

HOT static void do_one(struct core *core, struct task_record *task, unsigned why)
{
    if ((why & AGENDA_DEMAND) != 0) {
        demand_inputs(core, task);
    }
    if ((why & AGENDA_ASK) != 0) {
        ask_consider(core, task);
    }
    if ((why & AGENDA_CANCEL) != 0) {
        cancel_pass_on(core, task);
    }
    if ((why & AGENDA_TEST) != 0) {
        chair_retest(core, task);
    }
}

HOT void agenda_do(struct core *core)
{
    do {
        unsigned why;
        struct task_record *task;
        while (!core->broken && (task = agenda_take(core, &why)) != NULL) {
            do_one(core, task, why);
        }
    } while (!core->broken && recovery_go_on(core));
}
