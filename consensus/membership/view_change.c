/* view_change.c - entering a view, and learning what its members have.
 *
 * PROTOCOL.md, *Entering*.  A view moves keys: some have a new chair, some an owner
 * that is no member any more.  The chair of such a key is *frozen* on it until every
 * member has REPORTed what it owns, what it has consumed and what it has accepted of
 * the keys that moved; then it decides from the reports, and from nothing else:
 *
 *   a result that somebody has          its owner stays; who has the bytes serves
 *   a task that somebody runs           that rank is the owner
 *   once, accepted for a member         nobody started it: it is decided anew
 *   once, accepted for one who left     it may have run: MAYBE
 *   once, nothing found                 presume.c says what that proves
 *
 * Where members are many, only chairs that there is something to tell are told
 * (view_barrier.c).
 *
 * Keys that did not move go on without a pause.  Everything that was asked is asked
 * again in the new view: askers re-send their motions, so a chair keeps nothing of the
 * old one.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/meeting/meeting.h"
#include "consensus/ownership/ownership.h"
#include "consensus/reclaim/reclaim.h"
#include "consensus/signature/signature.h"
#include "consensus/snapshot/snapshot.h"
#include "consensus/state/state.h"
#include "consensus/termination/termination.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- Which keys are concerned ----------------------------------------------------- */

static bool left(const struct core *core, uint32_t rank)
{
    return rank < core->size && !rankset_has(&core->members, rank);
}

/* --- What the members are told ---------------------------------------------------- */

struct mail_item {
    uint32_t to;
    struct message_entry entry;
};

static void mail_add(struct core *core, struct mail *mail, uint32_t to,
                     struct message_entry entry)
{
    assert(to < core->size);
    if (to == core->rank) {
        recovery_note(core, core->rank, &entry);
    } else if (core_grow(core, &mail->items, &mail->room, mail->count + 1,
                         sizeof(*mail->items))) {
        mail->items[mail->count++] = (struct mail_item){to, entry};
    }
}

/* Who does not know the candidates does not know the chair: everyone is told. */
static void mail_to_chair(struct core *core, struct mail *mail,
                          const struct task_record *task, struct message_entry entry)
{
    if (!task->finder) {
        mail_add(core, mail, task->chair, entry);
        return;
    }
    FOR_MEMBERS(core, rank) { mail_add(core, mail, rank, entry); }
}

/* The chair may not hold the task, and so not know that another run may give another
 * result: who does says that the bytes are gone. */
static bool has_lost(const struct core *core, const struct task_record *task)
{
    return task->have == CORE_HAVE_BARE && left(core, task->owner) &&
           (task->flags & CORE_TASK_NONDETERMINISTIC) != 0;
}

/* In each view, whether the key has moved or not: its chair may not have seen them. */
static void report_crashes(struct core *core, struct mail *mail,
                           const struct task_record *task, bool moved)
{
    const struct rankset *crashes = &task_ext(task)->crashes;
    for (uint32_t rank = rankset_next(crashes, 0);
         rank < core->size && !MUTANT(CRASHMUTE) && (moved || !MUTANT(CRASHMOVED));
         rank = rankset_next(crashes, rank + 1)) {
        mail_to_chair(core, mail, task,
                      (struct message_entry){
                          .hash = task->hash, .what = REPORT_CRASH, .owner = rank});
    }
    if (task->suspect && !MUTANT(SUSPECTMUTE)) {
        mail_to_chair(
            core, mail, task,
            (struct message_entry){.hash = task->hash, .what = REPORT_SUSPECT});
    }
}

/* The end that is reported.  An array's counts as a good one, whatever it is: its
 * elements have ends of their own. */
static int32_t reported_end(const struct task_record *task)
{
    return task_ext(task)->array != NULL || MUTANT(SEENILL) ? MOOT_OK : task->status;
}

static void add_entries(struct core *core, struct mail *mail,
                        const struct task_record *task, bool moved)
{
    struct message_entry entry = {.hash = task->hash,
                                  .evidence = (enum evidence)task->evidence};
    bool runs = task->own == CORE_OWN_WAIT || task->own == CORE_OWN_RUNNING;
    if (runs && moved && !MUTANT(NOOWNREP)) {
        entry.what = REPORT_OWN;
        entry.owner = core->rank;
        mail_to_chair(core, mail, task, entry);
    } else if (task->have != CORE_HAVE_NOTHING && (moved || left(core, task->owner))) {
        entry.what = REPORT_RESULT;
        entry.owner = task->owner;
        entry.has_payload = task->have == CORE_HAVE_DATA;
        entry.code = reported_end(task);
        mail_to_chair(core, mail, task, entry);
        entry.code = MOOT_OK;
        if (has_lost(core, task)) {
            mail_to_chair(
                core, mail, task,
                (struct message_entry){.what = REPORT_LOST, .hash = task->hash});
        }
    } else if (task->lost) {
        entry.what = REPORT_LOST;
        mail_to_chair(core, mail, task, entry);
    } else if (task->seen && !MUTANT(UNSEEN)) {
        entry.what = REPORT_SEEN;
        mail_to_chair(core, mail, task, entry);
    }
    if (task_ends_with(task) != 0 && moved && !MUTANT(VERDICTMUTE)) {
        mail_to_chair(core, mail, task, verdict_entry(core, task));
    }
    report_crashes(core, mail, task, moved);
    if (task->maybe) {
        entry.what = REPORT_MAYBE;
        entry.epoch = task_ext(task)->accepted_epoch;
        mail_to_chair(core, mail, task, entry);
    } else if (task_ext(task)->accepted != NOBODY &&
               (moved || left(core, task_ext(task)->accepted))) {
        entry.what = REPORT_ACCEPTED;
        entry.owner = task_ext(task)->accepted;
        entry.epoch = task_ext(task)->accepted_epoch;
        mail_to_chair(core, mail, task, entry);
    }
}

/* The mail goes when all tasks have added to it: a chair learns the candidates before.
 */
static void report_task(struct core *core, struct mail *mail, struct task_record *task,
                        bool moved)
{
    assert(core->membership.mail_waits && !task->returning);
    size_t before = mail->count;
    add_entries(core, mail, task, moved);
    if (mail->count > before) {
        chair_tell_ahead(core, task, task->chair);
    }
}

static int by_addressee(const void *a, const void *b)
{
    const struct mail_item *left_item = a, *right_item = b;
    if (left_item->to != right_item->to) {
        return left_item->to < right_item->to ? -1 : 1;
    }
    return hash_compare(&left_item->entry.hash, &right_item->entry.hash);
}

static void send_report(struct core *core, uint32_t to, const struct mail_item *items,
                        uint32_t count)
{
    assert(to != core->rank && rankset_has(&core->members, to));
    do {
        uint32_t part = count < LIMIT_REPORT_ENTRIES ? count : LIMIT_REPORT_ENTRIES;
        struct message_entry *entries = out_borrow(core, (part + 1) * sizeof(*entries));
        struct message *message = out_send(core, to, MESSAGE_REPORT, NULL);
        if (entries == NULL || message == NULL) {
            return;
        }
        for (uint32_t i = 0; i < part; i++) {
            entries[i] = items[i].entry;
        }
        items = count > 0 ? items + part : NULL;
        count -= part;
        message->u.report = (struct message_report){
            .last = count == 0, .count = part, .entry = entries};
        out_note(core, CORE_POINT_REPORT_SENT, NULL, to, EVIDENCE_NONE);
    } while (count > 0);
    out_note(core, CORE_POINT_REPORT_SENT, NULL, to, EVIDENCE_NONE);
}

/* Large views: only chairs that there is something to tell hear of it directly.  Those
 * of arrays, who were told ahead, get a report without entries if need be: that they
 * have taken it says that they have all (A12). */
static void send_some(struct core *core, struct mail *mail)
{
    assert(core->membership.large);
    uint32_t chairs = 0;
    for (uint32_t first = 0, end; first < mail->count; first = end) {
        for (end = first + 1; end < mail->count; end++) {
            if (mail->items[end].to != mail->items[first].to) {
                break;
            }
        }
        send_report(core, mail->items[first].to, mail->items + first, end - first);
        rankset_remove(&mail->also, mail->items[first].to);
        chairs++;
    }
    for (uint32_t rank = rankset_next(&mail->also, 0); rank != NOBODY;
         rank = rankset_next(&mail->also, rank + 1)) {
        send_report(core, rank, NULL, 0);
        chairs++;
    }
    barrier_reports_sent(core, chairs);
}

/* Small views: everyone hears from everyone, if only that there is nothing. */
static void send_all(struct core *core, const struct mail *mail)
{
    assert(!core->membership.large);
    FOR_MEMBERS(core, rank)
    {
        uint32_t first = 0;
        while (first < mail->count && mail->items[first].to < rank) {
            first++;
        }
        uint32_t end = first;
        while (end < mail->count && mail->items[end].to == rank) {
            end++;
        }
        if (rank != core->rank) {
            const struct mail_item *items =
                mail->items != NULL ? mail->items + first : NULL;
            send_report(core, rank, items, end - first);
        }
    }
}

static void send_mail(struct core *core, struct mail *mail)
{
    assert(core->reclaim.drop.leaving == 0);
    if (mail->count > 0) {
        qsort(mail->items, mail->count, sizeof(*mail->items), by_addressee);
    }
    if (core->membership.large) {
        send_some(core, mail);
    } else {
        send_all(core, mail);
    }
    free(mail->items);
    rankset_release(&mail->also);
    *mail = (struct mail){0};
}

/* --- Entering --------------------------------------------------------------------- */

static void reset_docket(struct requests *requests, bool *unfinished_ballot)
{
    *unfinished_ballot =
        requests->balloting && (!requests->reaccepting || MUTANT(DROPREACC));
    requests->asker_count = 0;
    rankset_release(&requests->never);
    rankset_release(&requests->acks);
    requests->seek_sent = false;
    requests->failing = false;
    requests->balloting = false;
    requests->reaccepting = false;
    requests->winner = NOBODY;
    requests->evidence = EVIDENCE_NONE;
    requests->undecided = false;
    requests->bound_at = 0;
}

static void enter_as_chair(struct core *core, struct task_record *task, bool moved,
                           bool unfinished_ballot)
{
    assert(!core->membership.settled);
    bool mine = task->chair == core->rank || task->finder;
    bool undecided = task->frozen && task->rec == NOBODY; /* by the view before */
    release_touch(core, task);
    if (!mine || moved) {
        task->rec = NOBODY;
        task->frozen = mine;
    } else if (left(core, task->rec) || unfinished_ballot || undecided) {
        task->rec = NOBODY;
        task->frozen = !MUTANT(NOFREEZEDEAD);
    } else {
        task->frozen = false;
    }
}

/* The bytes went with their owner. */
static void lose_bare(const struct core *core, struct task_record *task)
{
    assert(task->have != CORE_HAVE_BARE || task->owner < core->size);
    if (task->have == CORE_HAVE_BARE && left(core, task->owner)) {
        task->have = CORE_HAVE_NOTHING;
        task->owner = NOBODY;
        task->seen = true;
        task->lost = (task->flags & CORE_TASK_NONDETERMINISTIC) != 0;
    }
}

/* A chair's record and who told it that they hold the task are of the view before. */
static void note_bereft(struct core *core, struct task_record *task)
{
    bool bereft = left(core, task->rec) || left(core, task->owner);
    for (uint32_t rank = rankset_next(&task_ext(task)->holders, 0);
         rank != NOBODY && !bereft;
         rank = rankset_next(&task_ext(task)->holders, rank + 1)) {
        bereft = left(core, rank);
    }
    if (bereft) {
        task_ext_get(core, task)->bereft = true;
    }
}

/* The task takes a result that this rank has yet to make. */
static bool takes_of_ours(const struct task_record *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task_record *from = task_inputs(task)[i].from;
        if (from != NULL &&
            (from->own == CORE_OWN_WAIT || from->own == CORE_OWN_RUNNING)) {
            return true;
        }
    }
    return false;
}

/* T3a: `before` was its chair, and has it by gossip, so it has claimed it.  It stays
 * the owner, and what it takes is pushed to it. */
static void note_runner(struct core *core, struct task_record *task, uint32_t before)
{
    uint32_t runner = task_ext(task)->runner;
    const bool undecided = task->held && task->own == CORE_OWN_NONE &&
                           task->have == CORE_HAVE_NOTHING && before != NOBODY &&
                           before != core->rank && before != task->chair;
    if (runner == NOBODY && undecided && roll_knows_holder(core, task, before) &&
        takes_of_ours(task)) {
        runner = before;
    }
    runner = runner == NOBODY || left(core, runner) ? NOBODY : runner;
    if (runner != task_ext(task)->runner) {
        task_ext_get(core, task)->runner = runner;
    }
}

static void enter_task(struct core *core, struct task_record *task, struct mail *mail)
{
    assert(task->agenda == 0);
    bool unfinished_ballot = false;
    if (task->requests != NULL) {
        reset_docket(task->requests, &unfinished_ballot);
    }
    struct task_ext *of_task = task->task_ext;
    if (of_task != NULL) {
        rankset_release(&of_task->seekers);
        of_task->kept_for = NOBODY; /* a new view's finder asks anew */
    }
    if (of_task != NULL && of_task->recovery != NULL) {
        rankset_release(&of_task->recovery->at);
        free(of_task->recovery);
        of_task->recovery = NULL;
    }
    note_bereft(core, task);
    task->asked = false;
    task->pulled = false;
    spread_enter_view(task);
    task->owner_asked = false;
    task->cancel_told = task->cancel_agreed = false;
    task->said = task->heard = 0;
    const uint32_t before = task->rec < core->size ? task->rec : task->chair;
    task->chair = chair_or_keeper(&core->members, &task->hash, task->candidates);
    note_runner(core, task, task->finder ? NOBODY : before);
    bool moved = view_change_moved(core, task);
    bool leaving = reclaim_is_leaving(core, task);
    if (!leaving) {
        report_task(core, mail, task, moved);
    }
    enter_as_chair(core, task, moved, unfinished_ballot);
    if (!leaving) {
        lose_bare(core, task);
    }
}

static void ask_again(struct core *core, struct task_record *task)
{
    if (task->own != CORE_OWN_NONE || reclaim_is_leaving(core, task) ||
        MUTANT(NOREASK)) {
        return;
    }
    if (task->needs_done + task->needs_data > 0) {
        ask_consider(core, task);
    } else if (task->held && task->have == CORE_HAVE_NOTHING &&
               task->chair != core->rank &&
               (task->flags & (CORE_TASK_ONCE | CORE_TASK_NESTED | CORE_TASK_HINT))) {
        ask_queue_owe(core, task);
    }
}

static bool grow_peers(struct core *core, const struct view *view)
{
    for (uint32_t i = 0; i < view->newcomer_count; i++) {
        const struct message_newcomer *newcomer = &view->newcomers[i];
        peer_note_beginning(core, newcomer);
        if (peer_is_named(core, newcomer->rank) && core->rank != NOBODY) {
            continue;
        }
        if (!core_make_room(core, newcomer->rank + 1)) {
            return false;
        }
        peer_name(core, newcomer->rank, newcomer->uid, newcomer->host);
        if (newcomer->uid == core->uid) {
            core->rank = newcomer->rank;
        }
    }
    return true;
}

bool view_change_take_newcomers(struct core *core, const struct view *view)
{
    return grow_peers(core, view);
}

static void forget_removed(struct core *core)
{
    for (uint32_t rank = 0; rank < core->size; rank++) {
        if (!peer_is_named(core, rank)) {
            continue; /* it may be let in later, and is new then */
        }
        struct peer *peer =
            detector_watches(core) ? peer_of(core, rank) : core->state.peers[rank];
        if (peer == NULL) {
            continue;
        }
        peer->swept = false;
        peer->wins = 0;
        rankset_release(&peer->suspects);
        if (!rankset_has(&core->members, rank)) {
            peer->announced_count = peer->open_count = 0;
            peer->state.closed = true; /* it says nothing more */
        } else {
            peer->heard_ns =
                core->now_ns > peer->heard_ns ? core->now_ns : peer->heard_ns;
        }
        for (uint32_t i = 0; i < peer->announced_count; i++) {
            peer->announced[i].wanted = false; /* no answer crosses epochs */
        }
    }
}

static void reset_epoch(struct core *core)
{
    assert(core->member_count > 0);
    core->membership.settled = core->membership.deciding = false;
    core->membership.voted_next = false;
    core->membership.entered_ns = core->membership.watched_ns = core->now_ns;
    core->membership.lacked_ns = 0;
    rankset_release(&core->membership.reported);
    rankset_release(&core->membership.settled_peers);
    rankset_release(&core->membership.suspects);
    ownership_enter_view(core);
    signature_enter_view(core);
    gossip_enter_view(core);
    termination_enter_view(core);
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        core->membership.sent_before[type] = core->stats.sent[type];
        core->membership.received_before[type] = core->stats.received[type];
    }
}

static bool take_view(struct core *core, const struct view *view)
{
    assert(view->epoch > core->epoch && rankset_has(&view->members, core->rank));
    core->epoch = view->epoch;
    if (!rankset_copy(&core->members, &view->members) ||
        !rankset_merge(&core->membership.retired, &view->left) ||
        !view_take_past(core, view)) {
        core->broken = true;
        return false;
    }
    core->member_count = rankset_count(&core->members);
    if (!committee_take(core)) {
        return false;
    }
    core_name_view(core);
    disseminate_enter(core);
    close_reduce_reset(core);
    return true;
}

void view_change_enter(struct core *core, const struct view *view)
{
    assert(view->epoch > core->epoch);
    bool newcomer = core->epoch == 0;
    out_note(core, CORE_POINT_VIEW_ENTER, NULL, NOBODY, EVIDENCE_NONE);
    if (reload_begins(core, view)) {
        reload_begin(core, view);
    }
    stub_expand_all(core);
    struct rankset before = {0};
    if (core->broken || !rankset_copy(&before, &core->members) ||
        !grow_peers(core, view) || !take_view(core, view)) {
        rankset_release(&before);
        core->broken = true;
        return;
    }
    reset_epoch(core);
    snapshot_leave_view(core);
    leave_enter_view(core);
    forget_removed(core);
    if (newcomer) {
        losses_take(core, view);
        roll_begin(core);
    }
    losses_note(core);
    struct core_output *output = out_add(core, CORE_OUT_VIEW, NULL);
    if (output != NULL) {
        output->u.view.epoch = core->epoch;
        output->u.view.members = &core->members;
        output->u.view.left = &core->membership.retired;
    }
    scope_enter_view(core, view);
    if (core->membership.large) {
        barrier_enter(core);
    }
    free(core->membership.mail.items);
    rankset_release(&core->membership.mail.also);
    core->membership.mail = (struct mail){0};
    core->membership.mail_waits = true;
    reclaim_enter_view(core);
    roll_cut_for_newcomers(core, &before);
    roll_tell_newcomers(core, &before);
    rankset_release(&before);
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            enter_task(core, task, &core->membership.mail);
        }
    }
    elements_enter_view(core, &core->membership.mail.also); /* ahead of the reports */
    core->membership.mail_waits = core->reclaim.drop.leaving > 0;
    if (!core->membership.mail_waits) {
        send_mail(core, &core->membership.mail);
    }
    for (size_t i = 0; i < core->state.slot_count && !core->broken; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            ask_again(core, task);
            notify_decide_again(core, task);
            cancel_enter_view(core, task);
            elements_cancel(core, task);
        }
    }
    boundary_pass_on(core, 0); /* before it is told of arrivals */
    meeting_enter_view(core);
    snapshot_enter_view(core);
    if (core->membership.mail_waits) {
        reclaim_doubt(core);
    } else if (!core->membership.large) {
        recovery_reported(core, core->rank);
    }
}

/* --- What was leaving ------------------------------------------------------------ */

static void report_late(struct core *core, struct task_record *task)
{
    release_touch(core, task);
    report_task(core, &core->membership.mail, task, view_change_moved(core, task));
    lose_bare(core, task);
    ask_again(core, task);
}

static void report_chunk(struct core *core, const struct lane_record *lane,
                         const struct chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct task_record *task = lane_task(core, lane, chunk->first + i);
        if (task != NULL) {
            report_late(core, task);
        }
    }
}

void view_change_report_stayed(struct core *core)
{
    if (!core->membership.mail_waits) {
        return;
    }
    uint32_t lane;
    for (const struct chunk *chunk;
         (chunk = reclaim_next_stayed(core, &lane)) != NULL;) {
        report_chunk(core, &core->gossip.lanes[lane], chunk);
    }
    for (struct task_record *task; (task = lot_next_stayed(core)) != NULL;) {
        report_late(core, task);
    }
    if (core->reclaim.drop.leaving > 0) {
        return;
    }
    core->membership.mail_waits = false;
    send_mail(core, &core->membership.mail);
    if (!core->membership.large) {
        recovery_reported(core, core->rank);
    }
}
