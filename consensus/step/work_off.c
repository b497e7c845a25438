/* work_off.c - works off what the rooms have put on the agenda (state/agenda.c).
 *
 * Here stands what each reason means.  What a task's chair does comes last: by then its
 * own wait has been noted as an asker's.  When no task is left, and nothing that
 * this rank has said to itself, the rooms have their turn; all of it may fill the
 * agenda again.
 */
#include "consensus/step/step_private.h"

#include "consensus/elements/elements.h"
#include "consensus/membership/membership.h"
#include "consensus/ownership/ownership.h"
#include "consensus/reclaim/reclaim.h"
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
        if (!MUTANT(CANCELLATE)) {
            elements_cancel(core, task); /* the program has spawned it now */
        }
    }
    if ((why & AGENDA_TEST) != 0) {
        chair_retest(core, task);
    }
}

static void do_due(struct core *core, unsigned due)
{
    if ((due & AGENDA_REPORTS) != 0) {
        view_change_report_stayed(core); /* before what stays is cut */
    }
    if ((due & AGENDA_SPLITS) != 0) {
        split_take_heard(core);
    }
    if ((due & AGENDA_SETTLE) != 0) {
        recovery_go_on(core);
    }
    if ((due & AGENDA_ROUND) != 0) {
        reclaim_begin_round(core);
    }
}

HOT void agenda_do(struct core *core)
{
    while (!core->broken && !agenda_is_empty(core)) {
        unsigned why;
        struct task_record *task = agenda_take(core, &why);
        const struct message *own = task == NULL ? agenda_take_mail(core) : NULL;
        if (task != NULL) {
            do_one(core, task, why);
        } else if (own != NULL) {
            receive_own(core, own);
        } else {
            do_due(core, agenda_take_due(core));
        }
    }
}
