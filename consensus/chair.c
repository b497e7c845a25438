/* chair.c - deciding who owns a task.
 *
 * In one view nobody but the chair proposes an owner, so proposals never duel.  A chair
 * that holds a task claims it without a message (T2).  One that does not yields it to a
 * holder when there is evidence that it will not register it itself (T5), and tells the
 * winner who asked (T6).  The record `owner` is written once (I4): whoever registers
 * the task later finds it written and is one more holder, never a second owner.
 *
 * A task with candidates has its chair among them, and its hash says that there are
 * some but not which.  Who is asked for such a task by someone who does not hold it is
 * a *finder*: it seeks a holder, learns the candidates, and refers the askers to the
 * chair.
 */
#include "consensus/internal.h"

#include <stdlib.h>

/* --- Dockets ------------------------------------------------------------------- */

struct docket *docket_of(struct core *core, struct task *task)
{
    if (task->docket == NULL) {
        task->docket = core_alloc(core, sizeof(*task->docket));
        if (task->docket != NULL) {
            task->docket->winner = NOBODY;
            task->docket->first_ask_ns = core->now_ns;
        }
    }
    return task->docket;
}

void docket_release(struct docket *docket)
{
    if (docket != NULL) {
        free(docket->askers);
        rankset_release(&docket->never);
        rankset_release(&docket->acks);
    }
}

struct asker *docket_asker(struct core *core, struct docket *docket, uint32_t rank)
{
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        if (docket->askers[i].rank == rank) {
            return &docket->askers[i];
        }
    }
    if (!core_grow(core, &docket->askers, &docket->asker_room, docket->asker_count + 1,
                   sizeof(*docket->askers))) {
        return NULL;
    }
    struct asker *asker = &docket->askers[docket->asker_count++];
    *asker = (struct asker){.rank = rank, .need = NEED_NONE};
    return asker;
}

static void undecided_add(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    if (docket->undecided) {
        return;
    }
    docket->undecided = true;
    docket->first_ask_ns = core->now_ns;
    docket->undecided_next = &core->undecided;
    docket->undecided_prev = core->undecided_docket.undecided_prev;
    docket->undecided_prev->docket->undecided_next = task;
    core->undecided_docket.undecided_prev = task;
}

static void undecided_remove(struct task *task)
{
    struct docket *docket = task->docket;
    if (docket != NULL && docket->undecided) {
        docket->undecided = false;
        docket->undecided_prev->docket->undecided_next = docket->undecided_next;
        docket->undecided_next->docket->undecided_prev = docket->undecided_prev;
    }
}

static bool wanted(const struct docket *docket)
{
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        if (docket->askers[i].want != WANT_NOTHING) {
            return true;
        }
    }
    return false;
}

/* --- Evidence (T5) ------------------------------------------------------------- */

bool scope_is_closed(const struct core *core, const struct task *task)
{
    for (size_t i = 0; i < core->closed_scope_count; i++) {
        if (hash_equal(&core->closed_scopes[i], &task->scope)) {
            return true;
        }
    }
    return false;
}

static bool is_nested(const struct task *task)
{
    return (task->hash.bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_NESTED) != 0;
}

static bool is_once(const struct task *task)
{
    return (task->hash.bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_ONCE) != 0;
}

static bool hinted(const struct docket *docket)
{
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        if (docket->askers[i].holds && docket->askers[i].hint) {
            return true;
        }
    }
    return false;
}

/* The demand bound: the shortest roll among those who wait (section 3, "need"). */
static uint64_t demand_bound(const struct docket *docket)
{
    uint64_t bound = NEED_NONE;
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        const struct asker *asker = &docket->askers[i];
        if (asker->want != WANT_NOTHING && asker->need < bound) {
            bound = asker->need;
        }
    }
    return bound;
}

static uint64_t vote_due_ns(const struct core *core, const struct docket *docket)
{
    uint64_t timeout_ns = core->options.vote_timeout_ns;
    return timeout_ns > CORE_NEVER - docket->first_ask_ns
               ? CORE_NEVER
               : docket->first_ask_ns + timeout_ns;
}

static enum evidence evidence_for(const struct core *core, const struct task *task)
{
    const struct docket *docket = task->docket;
    if (is_nested(task)) {
        return EVIDENCE_NESTED;
    }
    if (core->options.mode != CORE_REPAIR) {
        return EVIDENCE_NONE;
    }
    if (task->declined) {
        return EVIDENCE_DECLINED;
    }
    if (core->closed || scope_is_closed(core, task)) {
        return EVIDENCE_CLOSED;
    }
    if (hinted(docket)) {
        return EVIDENCE_HINT;
    }
    if (core->blocked &&
        (MUTANT(BLOCKEDONLY) || demand_bound(docket) <= core->roll_len)) {
        return EVIDENCE_BLOCKED;
    }
    return vote_due_ns(core, docket) <= core->now_ns ? EVIDENCE_TIMEOUT : EVIDENCE_NONE;
}

/* --- Holders (G4) -------------------------------------------------------------- */

static bool may_own(const struct core *core, const struct task *task, uint32_t rank)
{
    return rankset_has(&core->members, rank) &&
           (task->candidates == NULL || rankset_has(task->candidates, rank)) &&
           roll_knows_holder(core, task, rank);
}

/* The least loaded holder; ties: fewest wins, lowest rank. */
static uint32_t preferred_holder(const struct core *core, const struct task *task)
{
    uint32_t best = NOBODY;
    FOR_MEMBERS(core, rank)
    {
        if (!may_own(core, task, rank)) {
            continue;
        }
        const struct peer *peer = peer_seen(core, rank);
        const struct peer *champion = best != NOBODY ? peer_seen(core, best) : NULL;
        if (champion == NULL || peer->state.load < champion->state.load ||
            (peer->state.load == champion->state.load && peer->wins < champion->wins)) {
            best = rank;
        }
    }
    return best;
}

bool chair_has_holder(const struct core *core, const struct task *task)
{
    return !task->finder &&
           (task->docket->balloting || preferred_holder(core, task) != NOBODY);
}

/* --- Deciding (T2, T5, T8) ----------------------------------------------------- */

static void serve(struct core *core, struct task *task, bool fresh);

void chair_decided(struct core *core, struct task *task, uint32_t owner,
                   enum evidence evidence)
{
    assert((task->rec == NOBODY || MUTANT(AMNESIA)) && task->chair == core->rank);
    task->rec = owner;
    task->evidence = (uint8_t)evidence;
    undecided_remove(task);
    if (evidence == EVIDENCE_CLAIM) {
        core->stats.claimed++;
        out_note(core, CORE_POINT_CLAIM, task, NOBODY, evidence);
    } else {
        core->stats.yields[evidence]++;
        peer_of(core, owner)->wins++;
        out_note(core, CORE_POINT_VOTE_CAST, task, owner, evidence);
    }
    if (owner == core->rank) {
        graph_own(core, task, evidence);
        graph_answer(core, task);
    } else {
        serve(core, task, true);
    }
}

static void propose(struct core *core, struct task *task, uint32_t owner,
                    enum evidence evidence)
{
    if (is_once(task) && !MUTANT(NOBALLOT)) {
        ballot_open(core, task, owner, evidence);
    } else {
        chair_decided(core, task, owner, evidence);
    }
}

void chair_claim(struct core *core, struct task *task)
{
    bool balloting = task->docket != NULL && task->docket->balloting;
    if (task->chair == core->rank && task->held && !task->finder &&
        (task->rec == NOBODY || MUTANT(AMNESIA)) && !balloting && !task->frozen &&
        !core->no_quorum) {
        propose(core, task, core->rank, EVIDENCE_CLAIM);
    }
}

static void yield_to(struct core *core, struct task *task, enum evidence evidence)
{
    uint32_t winner = preferred_holder(core, task);
    if (winner != NOBODY && evidence != EVIDENCE_NONE) {
        propose(core, task, winner, evidence);
    }
}

/* --- Seeking, finding, failing ------------------------------------------------- */

static void seek(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    if (docket->seek_sent || !wanted(docket) || core->options.mode == CORE_TRUST ||
        MUTANT(NOSEEK)) {
        return;
    }
    docket->seek_sent = true;
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && rankset_has(&core->members, rank)) {
            out_send(core, rank, MESSAGE_SEEK, task);
            core->stats.seeks_sent++;
        }
    }
}

/* NOT_HELD, the direct way: every member has said that it never will. */
static void fail_if_nobody_will(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    bool mine = asker_never_will_hold(core, task);
    if (mine && docket->seek_sent &&
        rankset_count(&docket->never) + 1 >= rankset_count(&core->members)) {
        chair_fail(core, task, MOOT_ERR_NOT_HELD, UINT64_MAX);
    }
}

void chair_fail(struct core *core, struct task *task, int32_t code, uint64_t len_max)
{
    struct docket *docket = task->docket;
    bool self = false;
    for (uint32_t i = docket->asker_count; i-- > 0;) {
        struct asker asker = docket->askers[i];
        if (asker.want == WANT_NOTHING || asker.len > len_max) {
            continue;
        }
        docket->askers[i] = docket->askers[--docket->asker_count];
        if (asker.rank == core->rank) {
            self = true;
            continue;
        }
        struct message *message = out_send(core, asker.rank, MESSAGE_VERDICT, task);
        if (message != NULL) {
            message->u.verdict.code = code;
        }
    }
    if (!wanted(docket)) {
        undecided_remove(task);
    }
    if (self) {
        graph_verdict(core, task, code, NULL, 0);
    }
}

uint64_t chair_least_len(const struct task *task)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < task->docket->asker_count; i++) {
        const struct asker *asker = &task->docket->askers[i];
        if (asker->want != WANT_NOTHING && asker->len < least) {
            least = asker->len;
        }
    }
    return least;
}

/* The candidates are known and the chair is another: send the askers there. */
static void refer_askers(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    bool self = false;
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        const struct asker *asker = &docket->askers[i];
        if (asker->rank == core->rank) {
            self = true;
        } else if (asker->want != WANT_NOTHING && !asker->holds && !MUTANT(NOREFER)) {
            struct message *message = out_send(core, asker->rank, MESSAGE_REFER, task);
            if (message != NULL) {
                message->u.refer.candidates = task->candidates;
            }
        }
    }
    docket->asker_count = 0;
    undecided_remove(task);
    if (self) {
        task->asked = false;
        asker_consider(core, task);
    }
}

/* --- The chair's one question: what now? --------------------------------------- */

void chair_retest(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    if (docket == NULL || docket->balloting || (task->frozen && !MUTANT(JOINNOWAIT))) {
        return;
    }
    if (task->finder) {
        seek(core, task);
        fail_if_nobody_will(core, task);
        return;
    }
    if (task->chair != core->rank) {
        if (task->own == CORE_OWN_NONE && task->candidates != NULL) {
            refer_askers(core, task);
        }
        return;
    }
    chair_claim(core, task);
    if (task->rec == REC_MAYBE) {
        chair_fail(core, task, MOOT_ERR_MAYBE_RAN, UINT64_MAX);
        return;
    }
    if (task->rec == NOBODY && !docket->balloting && docket->asker_count > 0 &&
        !core->no_quorum) {
        yield_to(core, task, evidence_for(core, task));
    }
    if (task->rec != NOBODY) {
        undecided_remove(task); /* the reports may have decided it */
        serve(core, task, false);
    } else if (!docket->balloting && !chair_has_holder(core, task)) {
        seek(core, task);
        fail_if_nobody_will(core, task);
    }
}

/* Over a copy of the list: deciding one task may decide its inputs. */
static void for_each_undecided(struct core *core,
                               void (*decide)(struct core *core, struct task *task))
{
    size_t count = 0;
    for (struct task *task = core->undecided_docket.undecided_next;
         task != &core->undecided; task = task->docket->undecided_next) {
        count++;
    }
    struct task **list =
        count > 0 ? out_borrow(core, count * sizeof(struct task *)) : NULL;
    if (list == NULL) {
        return;
    }
    size_t i = 0;
    for (struct task *task = core->undecided_docket.undecided_next;
         task != &core->undecided; task = task->docket->undecided_next) {
        list[i++] = task;
    }
    for (i = 0; i < count; i++) {
        if (list[i]->docket->undecided) {
            decide(core, list[i]);
        }
    }
}

void chair_retest_all(struct core *core) { for_each_undecided(core, chair_retest); }

static void yield_when_quiet(struct core *core, struct task *task)
{
    if (task->docket->balloting || task->chair != core->rank || task->finder ||
        core->no_quorum || !chair_has_holder(core, task)) {
        return;
    }
    if (core->options.mode == CORE_STRICT) {
        chair_fail(core, task, MOOT_ERR_DIVERGED, UINT64_MAX);
    } else {
        yield_to(core, task, EVIDENCE_QUIET);
    }
}

void chair_yield_all(struct core *core) { for_each_undecided(core, yield_when_quiet); }

uint64_t chair_deadline(const struct core *core)
{
    if (core->options.mode != CORE_REPAIR ||
        core->options.vote_timeout_ns == CORE_NEVER) {
        return CORE_NEVER;
    }
    for (const struct task *task = core->undecided_docket.undecided_next;
         task != &core->undecided; task = task->docket->undecided_next) {
        uint64_t due_ns = vote_due_ns(core, task->docket);
        if (due_ns > core->votes_tested_ns) {
            return due_ns; /* an earlier one was tested, and had no holder */
        }
    }
    return CORE_NEVER;
}

/* --- Motions (T4) -------------------------------------------------------------- */

static void note_asker(struct core *core, struct task *task, uint32_t from,
                       const struct message_motion *motion)
{
    struct docket *docket = docket_of(core, task);
    struct asker *asker = docket != NULL ? docket_asker(core, docket, from) : NULL;
    if (asker == NULL) {
        return;
    }
    asker->holds |= motion->holds;
    asker->hint |= motion->hint;
    asker->want = motion->want > asker->want ? motion->want : asker->want;
    asker->need = motion->need < asker->need ? motion->need : asker->need;
    asker->len = motion->len;
    asker->told = false;
    if (motion->want != WANT_NOTHING) {
        graph_demand(core, task, motion->need, from != core->rank);
    }
    if (task->rec == NOBODY || task->finder) { /* a finder's record is hearsay */
        undecided_add(core, task);
    }
}

static bool concerns_me(struct core *core, uint32_t from, struct task *task)
{
    if (task->chair == core->rank || task->finder) {
        return true;
    }
    struct message *message = NULL;
    if (task->candidates != NULL) {
        message = out_send(core, from, MESSAGE_REFER, task);
    }
    if (message != NULL) {
        message->u.refer.candidates = task->candidates;
    } else {
        core->stats.refused++;
    }
    return false;
}

void chair_on_motion(struct core *core, uint32_t from, struct task *task,
                     const struct message_motion *motion)
{
    out_note(core, CORE_POINT_MOTION_RECV, task, from, EVIDENCE_NONE);
    if (motion->holds) {
        if (!task->held) {
            task->scope = motion->scope;
        }
        if (!rankset_add(&task->holders, from)) {
            core->broken = true;
            return;
        }
    }
    bool found = task->finder;
    if (!task_learn_candidates(core, task, motion->candidates)) {
        return;
    }
    if (found && !task->finder) {
        asker_consider(core, task); /* a wait of our own has gone to the finder */
    }
    if (motion->final) {
        struct docket *docket = docket_of(core, task);
        if (docket != NULL && !rankset_add(&docket->never, from)) {
            core->broken = true;
        }
    } else if (motion->holds && motion->want == WANT_NOTHING &&
               task->chair != core->rank) {
        /* An answer to a finder's seek: its askers are referred below. */
    } else if (!concerns_me(core, from, task)) {
        return;
    } else {
        note_asker(core, task, from, motion);
    }
    chair_retest(core, task);
}

void chair_local_ask(struct core *core, struct task *task)
{
    const struct message_motion motion = {
        .holds = task->held,
        .hint = (task->flags & CORE_TASK_HINT) != 0,
        .want = task->needs_data > 0   ? WANT_DATA
                : task->needs_done > 0 ? WANT_DONE
                                       : WANT_NOTHING,
        .need = task->need,
        .len = core->roll_len,
    };
    note_asker(core, task, core->rank, &motion);
    chair_retest(core, task);
}

/* --- Serving (T6) -------------------------------------------------------------- */

/* Who is to answer for the record: its owner, or one that has a copy. */
static uint32_t server_of(const struct core *core, const struct task *task)
{
    if (rankset_has(&core->members, task->rec) || task->recovery == NULL) {
        return task->rec;
    }
    FOR_MEMBERS(core, rank)
    {
        if (rankset_has(&task->recovery->at, rank)) {
            return rank;
        }
    }
    return task->rec;
}

static void send_decision(struct core *core, struct task *task,
                          const struct message_asker *askers, size_t count)
{
    struct message *message =
        out_send(core, server_of(core, task), MESSAGE_DECISION, task);
    if (message == NULL) {
        return;
    }
    message->u.decision =
        (struct message_decision){.evidence = (enum evidence)task->evidence,
                                  .askers = askers,
                                  .asker_count = count};
    out_note(core, CORE_POINT_DECISION_SENT, task, task->rec,
             (enum evidence)task->evidence);
}

/* A decision that was under way when its addressee entered this view is lost, and who
 * waits for nothing asks for none (T6). */
void chair_decide_again(struct core *core, struct task *task)
{
    if (task->chair == core->rank && !task->finder && !task->frozen &&
        task->rec != core->rank && rankset_has(&core->members, task->rec) &&
        task->have == CORE_HAVE_NOTHING && !MUTANT(FWDNOTDEC)) {
        send_decision(core, task, NULL, 0);
    }
}

/* The owner has left, and this rank has the bytes. */
static void answer_with_copy(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    for (uint32_t i = 0; docket != NULL && i < docket->asker_count; i++) {
        struct asker *asker = &docket->askers[i];
        if (!asker->told && asker->want != WANT_NOTHING && asker->rank != core->rank) {
            graph_send_result(core, task, asker->rank, asker->want, false);
        }
        asker->told = true;
    }
}

/* If it has left, there is nothing to cancel: it has a result, or never will. */
static void cancel_at_owner(struct core *core, struct task *task)
{
    if (rankset_has(&core->members, task->rec)) {
        out_send(core, task->rec, MESSAGE_CANCEL, task);
    }
}

static void serve(struct core *core, struct task *task, bool fresh)
{
    struct docket *docket = task->docket;
    if (task->rec == core->rank) {
        graph_answer(core, task);
        return;
    }
    if (!rankset_has(&core->members, task->rec) && task->have == CORE_HAVE_DATA) {
        answer_with_copy(core, task);
        return;
    }
    assert(docket != NULL);
    struct message_asker *told =
        out_borrow(core, (docket->asker_count + 1) * sizeof(*told));
    if (told == NULL) {
        return;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < docket->asker_count; i++) {
        struct asker *asker = &docket->askers[i];
        if (asker->told) {
            continue;
        }
        asker->told = true;
        if (asker->rank == task->rec) {
            fresh = true; /* the winner asks: it must hear that it is the winner */
        } else if (asker->want != WANT_NOTHING && !MUTANT(FORGETASKERS)) {
            told[count++] =
                (struct message_asker){asker->rank, asker->want, asker->need};
        }
    }
    if (fresh || (count > 0 && !MUTANT(DECIDEONCE))) {
        send_decision(core, task, told, count);
    }
    if (docket->cancel) {
        docket->cancel = false;
        cancel_at_owner(core, task);
    }
}

/* A cancel is decided by the owner; where there is none yet, it waits for one. */
void chair_on_cancel(struct core *core, struct task *task)
{
    if (task->own != CORE_OWN_NONE) {
        graph_cancel_own(core, task);
        return;
    }
    if (task->chair != core->rank || task->finder) {
        return;
    }
    if (task->rec != NOBODY) {
        cancel_at_owner(core, task);
        return;
    }
    struct docket *docket = docket_of(core, task);
    if (docket != NULL) {
        docket->cancel = true;
    }
}
