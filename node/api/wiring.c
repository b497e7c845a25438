/* wiring.c - see wiring.h.  The one file that knows both ends of these calls. */
#include "node/api/wiring.h"

#include "node/api/close.h"
#include "node/checkpoint/checkpoint.h"
#include "node/checkpoint/snapshots.h"
#include "node/compose/array_adopt.h"
#include "node/compose/bulk_region.h"
#include "node/compose/element_gate.h"
#include "node/compose/element_read.h"
#include "node/compose/group.h"
#include "node/compose/queue.h"
#include "node/compose/stretch.h"
#include "node/engine/engine.h"
#include "node/explain/leaks.h"
#include "node/explain/report.h"
#include "node/explain/snapshot_query.h"
#include "node/faults/faults.h"
#include "node/members/members.h"
#include "node/record/differing.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/carry_run.h"
#include "node/schedule/descendants.h"
#include "node/schedule/element_end.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/exec.h"
#include "node/schedule/many.h"
#include "node/schedule/priority.h"
#include "node/schedule/self_end.h"
#include "node/schedule/task_end.h"
#include "node/schedule/undo.h"
#include "node/schedule/wait.h"
#include "node/schedule/workers.h"
#include "node/service/dismissal.h"
#include "node/service/status_socket.h"
#include "node/session/session.h"
#include "node/spawn/early_motions.h"
#include "node/spawn/spawn_batch.h"
#include "node/spawn/window.h"
#include "node/tasks/task.h"

const struct engine_hooks wiring = {
    .outputs =
        {
            [CORE_OUT_SEND] = members_carry_send,
            [CORE_OUT_RUN] = carry_run,
            [CORE_OUT_ELEMENTS] = stretch_carry,
            [CORE_OUT_CANCEL] = carry_cancel,
            [CORE_OUT_PART] = task_end_carry_part,
            [CORE_OUT_RESULT] = task_end_carry_result,
            [CORE_OUT_DONE] = wait_carry_done,
            [CORE_OUT_AWAITED] = many_carry_awaited,
            [CORE_OUT_VERDICT] = wait_carry_verdict,
            [CORE_OUT_DIVERGED] = report_carry_divergence,
            [CORE_OUT_MET] = wait_carry_met,
            [CORE_OUT_CUT] = snapshots_carry_cut,
            [CORE_OUT_COMMIT] = snapshots_carry_commit,
            [CORE_OUT_SNAPSHOT_DONE] = snapshots_carry_done,
            [CORE_OUT_MARK] = snapshots_carry_mark,
            [CORE_OUT_RELOADED] = undo_carry_reloaded,
            [CORE_OUT_VIEW] = session_carry_view,
            [CORE_OUT_QUORUM] = members_carry_quorum,
            [CORE_OUT_FENCED] = members_carry_fenced,
            [CORE_OUT_LEFT] = members_carry_left,
            [CORE_OUT_REFUSE] = members_carry_refuse,
            [CORE_OUT_FORGET] = task_carry_forget,
            [CORE_OUT_ADJOURN] = engine_carry_end,
            [CORE_OUT_NOTE] = faults_carry_note,
            [CORE_OUT_SIGNATURE] = differing_carry,
        },
    .messages =
        {
            [MESSAGE_MOTION] = array_take_motion,
            [MESSAGE_DECISION] = priority_take_decision,
            [MESSAGE_RESULT] = inbox_take_result,
            [MESSAGE_ADJOURN] = members_take_adjourn,
            [MESSAGE_KERNEL] = inbox_take_kernel,
            [MESSAGE_HEARTBEAT] = trace_take_heartbeat,
            [MESSAGE_GRANT] = trace_take_grant,
            [MESSAGE_FAMILY] = family_take,
            [MESSAGE_INQUIRY] = dismissal_take_inquiry,
            [MESSAGE_ACCOUNT] = window_take_account,
            [MESSAGE_PARTS] = reads_take_parts,
            [MESSAGE_ELEMENTS] = array_take_elements,
        },
    .turn_begins = faults_begin_turn,
    .turn_ends = faults_end_turn,
    .press = window_press,
    .chores = {members_look, session_look, report_look, leaks_look, door_look,
               dismissal_look, trace_look, self_end_look, checkpoint_look, parts_look,
               gates_look},
    .newcomers = members_take_newcomers,
    .helped = workers_stand_in,
    .watch_is_due = observe_is_due,
    .tell_watches = observe_tell,
    .fails = trace_fails,
    .settle = unnamed_settle_all,
    .end_batches = region_end_all,
    .end_batches_patiently = region_end_patiently,
    .leaves = leave_as_asked,
    .wait_begins = report_wait_begins,
    .close_queues = queue_close_all,
    .lane_ends = {queue_abandon, groups_abandon},
    .lane_ended = {exec_forget_lane},
    .lane_left = {queue_free_all, groups_free},
};
