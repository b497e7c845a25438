/* leave.c - going in good order.
 *
 * PROTOCOL.md, "Leaving".  A rank that is to go *drains*: it ends its lanes, claims
 * nothing that another can run, returns to their chairs the tasks that it owns and has
 * not started, and finishes those that it has.  Then it hands over what would be lost
 * with it: the bytes of its results, to the chairs that their keys will have without
 * it, and what it has accepted as a voter.  When its heirs have said that they have all
 * that, it is *ready*: it promises those who decide about views that it starts nothing
 * more, and they decide a view without it.  That view says who left so; a rank that
 * dies on the way is removed as any that dies.  If all others die while it waits for
 * that view, or so many that those who are left, all ready, were not needed for it, it
 * is gone, too.
 *
 *   going  --nothing unfinished-->  handing over  --all is taken-->  ready  --view-->
 *     ^                                  |                             |
 *     +-------- another view, of which it is still a member -----------+
 *
 * A leaver is the holder of last resort: what nobody else is known to hold comes back
 * to it from the chair, and it runs that first.  What running tasks here have spawned,
 * or wait for, is never returned.
 *
 * Why a return is safe although a record is written once (I4): the leaver has not
 * started the task, and starts it only if the chair decides for it again.  Its return
 * and the decision travel between the same two ranks, in order, within one epoch.  A
 * once task stays what its voters accepted in this epoch: if the leaver does not get it
 * back, the next view decides it anew, where the promise makes an acceptance for the
 * leaver as good as one for a member that reports nothing (presume.c).
 */
#include "consensus/membership/membership_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>

static bool is_nested(const struct task_record *task)
{
    return hash_has(&task->hash, MOOT_HASH_NESTED);
}

static bool is_needed_here(const struct task_record *task)
{
    return task->needs_done + task->needs_data > 0;
}

void leave_say(struct core *core, uint32_t to, enum leave_what what,
               struct task_record *task)
{
    struct message *message = out_send(core, to, MESSAGE_LEAVE, task);
    if (message != NULL) {
        message->u.leave.what = what;
    }
}

/* To those who decide about views; in a small view these are all members. */
static void say_to_committee(struct core *core, enum leave_what what)
{
    FOR_COMMITTEE(core, rank)
    {
        if (rank != core->rank) {
            leave_say(core, rank, what, NULL);
        }
    }
}

/* --- Returning ------------------------------------------------------------------- */

/* The chair's record is empty again, and all askers are to hear of the next owner.
 * False without memory. */
static bool reopen(struct core *core, struct task_record *task, uint32_t from)
{
    assert(task->chair == core->rank && task->rec == from);
    struct requests *requests = requests_of(core, task);
    if (requests == NULL) {
        return false;
    }
    release_touch(core, task);
    task->rec = NOBODY;
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        struct asker *asker = &requests->askers[i];
        asker->told = false;
        if (asker->rank == from) {
            asker->want = WANT_NOTHING; /* it asks again if it needs it */
            asker->need = NEED_NONE;
        }
    }
    if (requests->asker_count > 0) {
        undecided_add(core, task);
    }
    return true;
}

/* The chair answers, with TAKEN or KEEP. */
static void send_back(struct core *core, struct task_record *task, uint32_t chair)
{
    assert(core->membership.leave.going && chair != core->rank);
    task->returned = true;
    task->asked = false; /* the chair counts it among those who wait no more (reopen) */
    giving_return(core, task);
    core->stats.returned++;
    leave_say(core, chair, LEAVE_RETURN, task);
}

static void give_back(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_WAIT && !is_needed_here(task));
    if (task->chair == core->rank) {
        if (leave_another_may_run(core, task)) {
            graph_disown(core, task);
            core->stats.returned += reopen(core, task, core->rank);
            agenda_add(core, task, AGENDA_TEST);
        }
    } else {
        graph_disown(core, task);
        send_back(core, task, task->chair);
    }
}

/* If another may run it. */
static void offer_back(struct core *core, struct task_record *task)
{
    if (task->own == CORE_OWN_WAIT && !is_nested(task) && !is_needed_here(task) &&
        !MUTANT(LEAVECLAIM)) {
        give_back(core, task);
    }
}

/* Not before the view has settled: chairs are yet to decide by the reports, which say
 * that this rank owns them, and none would know that it has given them back. */
static bool give_all_back(struct core *core)
{
    bool early = !recovery_all_settled(core) && !MUTANT(RETURNEARLY);
    if (core->membership.leave.returned || early || MUTANT(LEAVECLAIM)) {
        return false;
    }
    core->membership.leave.returned = true;
    struct task_record *task = core->ownership.unfinished.at.next;
    while (task != &core->ownership.unfinished) {
        struct task_record *following = task->at.next;
        offer_back(core, task);
        graph_start(core, task); /* what the host has not started, and keeps */
        task = following;
    }
    return true;
}

void leave_on_unstarted(struct core *core, struct task_record *task)
{
    assert(core->membership.leave.going);
    graph_unstart(core, task);
    if (core->membership.leave.returned ||
        MUTANT(LEAVECLAIM)) { /* else all are, later */
        offer_back(core, task);
        graph_start(core, task);
    }
}

/* While the chair has not answered a return, a decision may be of the time before it:
 * KEEP says whether the chair means it. */
bool leave_declines(struct core *core, uint32_t from, struct task_record *task,
                    enum evidence evidence)
{
    const struct leave *leave = &core->membership.leave;
    if (!leave->going || task->own != CORE_OWN_NONE || MUTANT(LEAVECLAIM)) {
        return false;
    }
    if (leave->ready) {
        leave_say(core, from, LEAVE_REFUSE, task);
        return true;
    }
    if (!task->returning &&
        (task->returned || is_nested(task) || is_needed_here(task))) {
        return false;
    }
    task->evidence = (uint8_t)evidence;
    if (!task->returning) {
        send_back(core, task, from);
    }
    return true;
}

static void keep(struct core *core, struct task_record *task)
{
    assert(core->membership.leave.going);
    if (task->returning) {
        giving_end(core, task);
        if (task->own == CORE_OWN_NONE && task->have == CORE_HAVE_NOTHING) {
            graph_own(core, task, (enum evidence)task->evidence);
            elements_owned(core, task);
        }
    }
}

/* At the chair: a rank that stays, and that may be told to run it. */
static bool knows_another(const struct core *core, const struct task_record *task,
                          uint32_t leaver)
{
    FOR_MEMBERS(core, rank)
    {
        const bool goes = rank == core->rank
                              ? core->membership.leave.going
                              : rankset_has(&core->membership.leavers, rank);
        if (rank != leaver && !goes && chair_may_choose(core, task, rank)) {
            return true;
        }
    }
    return MUTANT(RETURNGONE);
}

/* At the chair.  Who returns it holds it, which a report may be all that has said. */
static void take_back(struct core *core, uint32_t from, struct task_record *task,
                      bool final)
{
    if (task->chair != core->rank || task->rec != from || MUTANT(RETURNDROP)) {
        return; /* another view has begun, which decides it anew */
    }
    if (!final && !knows_another(core, task, from)) {
        return; /* it keeps it, whether anybody asks or not */
    }
    if (!reopen(core, task, from)) {
        return;
    }
    if ((!MUTANT(RETURNLACKS) &&
         !rankset_add(&task_ext_get(core, task)->holders, from)) ||
        (final && !rankset_add(&task->requests->never, from))) {
        core->broken = true;
    }
    chair_claim(core, task);
    chair_retest(core, task);
}

/* The task of a spec whose sender may not run it might wait for this rank to be gone,
 * while this rank waits for what takes that task. */
bool leave_forbids_adopting(const struct core *core, uint32_t from,
                            const struct message *message)
{
    const struct leave *leave = &core->membership.leave;
    if (!leave->going) {
        return false;
    }
    const struct message_spec *spec =
        message->type == MESSAGE_MOTION && !hash_has(&message->hash, MOOT_HASH_ARRAY)
            ? message->u.motion.spec
            : NULL;
    const bool alone = spec != NULL && spec->candidates != NULL &&
                       !rankset_has(spec->candidates, from);
    return leave->ready || !alone;
}

/* --- Beginning ------------------------------------------------------------------- */

int leave_begin(struct core *core)
{
    if (core->options.mode == CORE_STRICT) {
        return MOOT_ERR_UNSUPPORTED; /* a roll that ends early is a difference */
    }
    if (core->epoch == 0) {
        return MOOT_ERR_STATE;
    }
    if (core->membership.leave.going) {
        return MOOT_OK;
    }
    core->membership.leave.going = true;
    stub_expand_all(core);
    (void)give_all_back(core); /* and looks at what it chairs, as it has closed */
    return MOOT_OK;
}

void leave_enter_view(struct core *core)
{
    assert(!core->membership.settled);
    struct leave *leave = &core->membership.leave;
    rankset_release(&core->membership.leavers_ready);
    for (uint32_t rank = rankset_next(&core->membership.leavers, 0); rank != NOBODY;
         rank = rankset_next(&core->membership.leavers, rank + 1)) {
        if (!rankset_has(&core->members, rank)) {
            rankset_remove(&core->membership.leavers, rank);
        }
    }
    if (!leave->going) {
        return;
    }
    *leave = (struct leave){.going = true, .returned = leave->returned};
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            if (task->handing) { /* nobody answers from one view into the next */
                task_ext_get(core, task)->heir = NOBODY;
            }
            giving_end(core, task);
            task->returned = false;
        }
    }
}

/* --- Seeing out what was spawned here -------------------------------------------- */

/* A top-level task that perhaps no other rank holds, and whose chair decides on no
 * evidence but that: what is asked for here is a hint (ask.c). */
static bool may_be_alone_with(const struct core *core, const struct task_record *task)
{
    bool may_run = task->candidates == NULL ||
                   rankset_has(task->candidates, core->rank) ||
                   task_ext(task)->spec != NULL;
    return core->options.mode == CORE_REPAIR && !is_nested(task) && may_run &&
           task->own == CORE_OWN_NONE && task->chair != core->rank && !task->returned &&
           !task->owner_asked && !roll_knows_holder(core, task, task->chair) &&
           !MUTANT(LEAVEBEHIND);
}

/* A task that perhaps only this rank holds: its end is waited for, whoever runs it.
 * True while that has not come. */
static bool sees_out(struct core *core, struct task_record *task)
{
    assert(core->membership.leave.going);
    bool ended = task->have != CORE_HAVE_NOTHING || task->verdict;
    if (task->sees_out && ended) {
        task->sees_out = false;
        ask_drop_need(core, task, WANT_DONE);
    }
    bool mine = task->held && (task->flags & CORE_TASK_ADOPTED) == 0 &&
                (is_nested(task) || task->sees_out || may_be_alone_with(core, task));
    if (ended || !mine) {
        return false;
    }
    if (!task->sees_out) {
        task->sees_out = true;
        ask_add_need(core, task, WANT_DONE);
        ask_consider(core, task);
    }
    return true;
}

static bool sees_any_out(struct core *core)
{
    bool any = false;
    for (size_t i = 0; i < core->state.slot_count && !core->broken; i++) {
        struct task_record *task = table_pass(core, i);
        any = (task != NULL && sees_out(core, task)) || any;
    }
    return any;
}

/* --- Handing over ---------------------------------------------------------------- */

/* Who stays, as far as this rank knows.  Where nobody does, the lowest that is not
 * ready keeps everything until it is alone. */
static bool choose_staying(const struct core *core, struct rankset *out)
{
    assert(core->membership.leave.going);
    bool good = rankset_copy(out, &core->members);
    rankset_remove(out, core->rank);
    for (uint32_t rank = rankset_next(&core->membership.leavers, 0); rank != NOBODY;
         rank = rankset_next(&core->membership.leavers, rank + 1)) {
        rankset_remove(out, rank);
    }
    if (!good || !rankset_empty(out)) {
        return good;
    }
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&core->membership.leavers_ready, rank)) {
            return rankset_add(out, rank);
        }
    }
    return true;
}

static void become_ready(struct core *core)
{
    assert(core->ownership.unfinished_count == 0 && core->state.untaken == 0);
    assert(!core->membership.leave.ready && core->membership.leave.untaken == 0);
    core->membership.leave.ready = true;
    if (!rankset_add(&core->membership.leavers_ready, core->rank)) {
        core->broken = true;
    }
    say_to_committee(core, LEAVE_READY);
    if (core->member_count == 1) {
        leave_done(core);
    }
}

/* Results and returns by tasks, acceptances by messages. */
static bool is_all_taken(const struct core *core)
{
    return core->state.untaken + core->membership.leave.untaken == 0;
}

void leave_turn(struct core *core)
{
    struct leave *leave = &core->membership.leave;
    assert(!leave->going || core->epoch > 0);
    if (!leave->going || leave->ready || core->membership.fenced) {
        return;
    }
    if (!leave->told) {
        leave->told = true;
        say_to_committee(core, LEAVE_GOING);
    }
    if (give_all_back(core)) {
        chair_retest_all(core);
    }
    if (core->ownership.unfinished_count > 0 || core->elements.running > 0 ||
        !is_all_taken(core) || core->reclaim.drop.leaving > 0 || sees_any_out(core)) {
        return;
    }
    struct rankset staying = {0};
    if (!choose_staying(core, &staying)) {
        core->broken = true;
    }
    bool keeper = rankset_has(&staying, core->rank);
    if (!keeper && !rankset_empty(&staying)) {
        handover_give_results(core, &staying);
        handover_give_known(core, &staying);
    }
    rankset_release(&staying);
    if (is_all_taken(core) && (!keeper || core->member_count == 1) && !core->broken) {
        become_ready(core);
    }
}

void leave_note_going(struct core *core, uint32_t from)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    if (!rankset_add(&core->membership.leavers, from)) {
        core->broken = true;
    }
}

/* --- What the others say --------------------------------------------------------- */

/* Who is ready takes nothing more; what it has taken before it has handed on. */
static void on_ready(struct core *core, uint32_t from)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    if (rankset_has(&core->membership.leavers_ready, from)) {
        return;
    }
    leave_note_going(core, from);
    if (!rankset_add(&core->membership.leavers_ready, from)) {
        core->broken = true;
    }
    for (size_t i = 0; core->membership.leave.going && i < core->state.slot_count;
         i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL && task_ext(task)->heir == from && task->handing) {
            giving_end(core, task);
            task_ext_get(core, task)->heir = NOBODY;
        }
    }
    core->membership.leave.accepts_told = false;
}

static void on_taken(struct core *core, uint32_t from, struct task_record *task)
{
    if (task == NULL) {
        core->membership.leave.untaken -= core->membership.leave.untaken > 0;
    } else if (task->returning || (task->handing && task_ext(task)->heir == from)) {
        giving_end(core, task);
    }
}

static void on_return(struct core *core, uint32_t from, const struct message *message)
{
    assert(message->u.leave.what == LEAVE_RETURN ||
           message->u.leave.what == LEAVE_REFUSE);
    struct task_record *task = table_find(core, &message->hash);
    if (!rankset_add(&core->membership.leavers, from)) {
        core->broken = true;
    }
    if (task != NULL) {
        take_back(core, from, task, message->u.leave.what == LEAVE_REFUSE);
    }
    bool again = task != NULL && task->chair == core->rank && task->rec == from;
    struct message *answer = message->u.leave.what == LEAVE_RETURN
                                 ? out_send(core, from, MESSAGE_LEAVE, task)
                                 : NULL;
    if (answer != NULL) {
        answer->hash = message->hash;
        answer->u.leave.what = again ? LEAVE_KEEP : LEAVE_TAKEN;
    }
}

void leave_on_leave(struct core *core, uint32_t from, const struct message *message)
{
    assert(message->type == MESSAGE_LEAVE && from != core->rank);
    bool names = !hash_is_zero(&message->hash);
    struct task_record *task = names ? table_find(core, &message->hash) : NULL;
    if (task != NULL) {
        scope_received(core, task, message);
    }
    switch (message->u.leave.what) {
    case LEAVE_READY:
        on_ready(core, from);
        break;
    case LEAVE_GOING:
        leave_note_going(core, from);
        break;
    case LEAVE_RETURN:
    case LEAVE_REFUSE:
        on_return(core, from, message);
        break;
    case LEAVE_TAKEN:
        if (task != NULL || !names) {
            on_taken(core, from, task);
        }
        break;
    case LEAVE_KEEP:
        if (task != NULL) {
            keep(core, task);
        }
        break;
    case LEAVE_AGAIN:
        if (task != NULL && task->handing && task_ext(task)->heir == from) {
            graph_hand_over(core, task, from);
        }
        break;
    case LEAVE_END:
        break;
    }
}

/* --- Going ----------------------------------------------------------------------- */

/* Ready, and all others are certified dead, or as ready as this rank while the dead
 * were a quorum.  They may have decided a view without those who are ready, since for
 * that nobody waits for grants, and gone on in it: so these decide no other of that
 * number among themselves, and for whom they were to stay is gone.  (All votes that
 * they would need come behind the word that their senders are ready, as what two ranks
 * say comes in order.) */
bool leave_is_deserted(const struct core *core)
{
    bool alone = true;
    if (!core->membership.leave.ready || MUTANT(LEAVEALONE)) {
        return false;
    }
    FOR_MEMBERS(core, rank)
    {
        if (rank == core->rank || rankset_has(&core->membership.dead, rank)) {
            continue;
        }
        if (!rankset_has(&core->membership.leavers_ready, rank) ||
            MUTANT(LEAVETOGETHER)) {
            return false;
        }
        alone = false;
    }
    return alone || view_is_quorum(core, &core->membership.dead);
}

void leave_if_deserted(struct core *core)
{
    if (!core->membership.fenced && leave_is_deserted(core)) {
        leave_done(core);
    }
}

void leave_done(struct core *core)
{
    assert(core->membership.leave.ready && !core->membership.fenced);
    core->membership.fenced =
        true; /* nothing that happens here matters to anyone any more */
    out_add(core, CORE_OUT_LEFT, NULL);
}

void leave_on_accept(struct core *core) { core->membership.leave.accepts_told = false; }
