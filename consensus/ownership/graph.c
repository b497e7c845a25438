/* graph.c - from registered to done: inputs, ownership, results, pushes.
 *
 * The graph is what this rank has registered: each held task knows its inputs, each
 * task its consumers.  An owner counts the inputs that are not there yet and hands the
 * task to its host when none is missing.  When a task of ours is done we push its
 * result, once, to every rank that our own graph says will run a consumer (T3a); ranks
 * that agree therefore never ask.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>

bool task_satisfied(const struct task_record *task)
{
    return task->needs_data > 0 ? task->have == CORE_HAVE_DATA
                                : task->have != CORE_HAVE_NOTHING;
}

static bool edge_satisfied(const struct edge *edge)
{
    return edge->order_only ? edge->from->have != CORE_HAVE_NOTHING
                            : edge->from->have == CORE_HAVE_DATA;
}

static enum want edge_want(const struct edge *edge)
{
    return edge->order_only ? WANT_DONE : WANT_DATA;
}

/* Where this rank expects the task to run; NOBODY if it cannot know. */
static uint32_t runner_of(const struct core *core, const struct task_record *task)
{
    if (task->owner != NOBODY) {
        return task->owner;
    }
    if (task->rec != NOBODY) {
        return task->rec < core->size ? task->rec : NOBODY;
    }
    const uint32_t runner = MUTANT(PUSHMOVED) ? NOBODY : task_ext(task)->runner;
    if (runner != NOBODY) {
        return runner; /* T3a: the new chair finds that it has an owner */
    }
    return task->finder ? NOBODY : task->chair;
}

/* --- Results on their way -------------------------------------------------------- */

/* How a result goes out; if it is large, its bytes do up to so many. */
static enum result_data result_form(const struct task_record *task, enum want want,
                                    uint64_t bulk_max)
{
    if (task->status != MOOT_OK) {
        return RESULT_EAGER; /* a story is short */
    }
    if (want == WANT_DONE) {
        return RESULT_BARE;
    }
    if (task->size <= LIMIT_EAGER_BYTES) {
        return RESULT_EAGER;
    }
    return task->size <= bulk_max ? RESULT_BULK : RESULT_BARE;
}

static struct message_result result_of(const struct core *core,
                                       const struct task_record *task,
                                       enum result_data data)
{
    assert(task->have == CORE_HAVE_DATA && task->owner < core->size);
    return (struct message_result){
        .owner_uid = core->state.uids[task->owner],
        .evidence = (enum evidence)task->evidence,
        .status = task->status,
        .data = data,
        .size = task->size,
    };
}

HOT static void send_result(struct core *core, struct task_record *task, uint32_t to,
                            enum result_data form)
{
    assert(to != core->rank && task->have == CORE_HAVE_DATA);
    uint32_t at = form == RESULT_BULK ? spread_place(core, task, to) : core->rank;
    bool here = at == core->rank;
    uint32_t parts = here && form == RESULT_BULK ? spread_parts(core, task) : 0;
    for (uint32_t part = parts > 0; part <= parts; part++) {
        struct message *message = out_send(core, to, MESSAGE_RESULT, task);
        if (message != NULL) {
            message->u.result = result_of(core, task, here ? form : RESULT_BARE);
            message->u.result.at = here ? 0 : at + 1;
            message->u.result.part = part;
            message->u.result.parts = parts;
        }
    }
    out_note(core, CORE_POINT_RESULT_SENT, task, to, EVIDENCE_NONE);
}

void graph_pass_on(struct core *core, struct task_record *task, uint32_t to)
{
    assert(task->own == CORE_OWN_NONE && task->status == MOOT_OK);
    core->stats.results_relayed++;
    send_result(core, task, to, result_form(task, WANT_DATA, UINT64_MAX));
}

static bool was_sent(const struct task_record *task, uint32_t to)
{
    return to < PUSHED_NEAR ? (task->pushed >> to & 1) != 0
                            : rankset_has(&task_ext(task)->pushed, to);
}

static bool note_sent(struct core *core, struct task_record *task, uint32_t to)
{
    if (to < PUSHED_NEAR) {
        task->pushed |= 1u << to;
        return true;
    }
    return rankset_add(&task_ext_get(core, task)->pushed, to);
}

void graph_send_result(struct core *core, struct task_record *task, uint32_t to,
                       enum want want)
{
    assert(to != core->rank && want != WANT_NOTHING);
    if (task->own == CORE_OWN_DONE && !note_sent(core, task, to)) {
        core->broken = true; /* a word may have told it that it may ask (T12) */
    }
    core->stats.results_answered++;
    send_result(core, task, to, result_form(task, want, UINT64_MAX));
}

/* This rank leaves: its heir keeps the bytes. */
void graph_hand_over(struct core *core, struct task_record *task, uint32_t heir)
{
    assert(heir != core->rank && core->membership.leave.going);
    struct message *message = out_send(core, heir, MESSAGE_RESULT, task);
    if (message == NULL) {
        return;
    }
    message->u.result = result_of(core, task, result_form(task, WANT_DATA, UINT64_MAX));
    message->u.result.handover = true;
    core->stats.handed_over++;
    out_note(core, CORE_POINT_RESULT_SENT, task, heir, EVIDENCE_NONE);
}

HOT static void push(struct core *core, struct task_record *task, uint32_t to,
                     enum want want, uint64_t bulk_max)
{
    const bool told =
        was_sent(task, to) || (await_has_told(core, task, to) && !MUTANT(WORDSAGAIN));
    if (to == core->rank || !rankset_has(&core->members, to) ||
        (told && !MUTANT(PUSHAGAIN))) {
        return;
    }
    if (!note_sent(core, task, to)) {
        core->broken = true;
        return;
    }
    core->stats.results_pushed++;
    send_result(core, task, to, result_form(task, want, bulk_max));
}

/* Who runs it takes the bytes: to be offered them costs it a round trip. */
HOT void graph_push_for(struct core *core, const struct edge *edge)
{
    assert(edge->from->own == CORE_OWN_DONE);
    push(core, edge->from, runner_of(core, edge_to(edge)), edge_want(edge),
         LIMIT_PUSH_BYTES);
}

void graph_push_end(struct core *core, struct task_record *task, uint32_t to)
{
    assert(task->own == CORE_OWN_DONE);
    push(core, task, to, WANT_DATA, 0);
}

/* Who takes the bytes is not sent the bare end first. */
static void push_to_consumers(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_DONE);
    bool ordered = false;
    for (struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        ordered |= edge->order_only;
        if (edge_to(edge)->held && !edge->order_only) {
            graph_push_for(core, edge);
        }
    }
    for (struct edge *edge = ordered ? task->consumers : NULL; edge != NULL;
         edge = edge->next) {
        if (edge_to(edge)->held && edge->order_only) {
            graph_push_for(core, edge);
        }
    }
}

/* True when every member has it. */
static bool push_to_known_holders(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_DONE);
    bool all = true;
    FOR_MEMBERS(core, rank)
    {
        if (rank == core->rank || !rankset_has(&core->members, rank)) {
            continue;
        }
        if (roll_knows_holder(core, task, rank) ||
            roll_agrees_so_far(core, task, rank)) {
            push(core, task, rank, WANT_DATA, 0); /* it may never wait for them */
        } else {
            all = false;
        }
    }
    return all;
}

static bool may_be_new(const struct core *core, const struct task_record *task,
                       uint32_t rank)
{
    return rank == NOBODY ||
           (!was_sent(task, rank) && (roll_knows_holder(core, task, rank) ||
                                      roll_agrees_so_far(core, task, rank)));
}

/* A result whose task some member never spawns would be looked at, and kept, for ever:
 * the latest stay. */
void graph_push_to_holders(struct core *core, uint32_t rank)
{
    uint32_t kept = 0;
    for (struct task_record **link = &core->ownership.push_list; *link != NULL;) {
        struct task_record *task = *link;
        bool all = may_be_new(core, task, rank) && push_to_known_holders(core, task);
        if (all || kept == WATCHED_MAX) {
            *link = task->at.next;
            task->on_push_list = false;
        } else {
            link = &task->at.next;
            kept++;
        }
    }
    core->ownership.push_count = kept;
}

static void watch_for_holders(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_DONE && !task->pending);
    if (core->member_count > 1 && !task->on_push_list &&
        !push_to_known_holders(core, task)) {
        release_touch(core, task);
        task->at.next = core->ownership.push_list;
        core->ownership.push_list = task;
        task->on_push_list = true;
        core->ownership.push_count++;
    }
    if (core->ownership.push_count == WATCHED_ROOM && !MUTANT(WATCHALL)) {
        graph_push_to_holders(core, NOBODY);
        reclaim_news(core);
    }
}

/* A lane here waits for a task: those who spawned it too will wait as well. */
void graph_lane_waits(struct core *core, struct task_record *task)
{
    bool first = !task->push_holders;
    task->push_holders = true;
    if (first && task->own == CORE_OWN_DONE) {
        watch_for_holders(core, task);
    }
}

/* A motion that crossed the push it asks for gets no second answer: receivers keep what
 * they are pushed, and a bare offer is followed by a PULL. */
static void answer_askers(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_DONE);
    struct requests *requests = task->requests;
    for (uint32_t i = 0; i < requests->asker_count; i++) {
        struct asker *asker = &requests->askers[i];
        if (asker->told || asker->want == WANT_NOTHING || asker->rank == core->rank) {
            continue;
        }
        asker->told = true;
        if (was_sent(task, asker->rank)) {
            continue;
        }
        graph_send_result(core, task, asker->rank, asker->want);
    }
}

void graph_answer(struct core *core, struct task_record *task)
{
    if (task->own == CORE_OWN_DONE && task->requests != NULL) {
        answer_askers(core, task);
    }
}

/* --- Owning and running ---------------------------------------------------------- */

static void unfinished_add(struct core *core, struct task_record *task)
{
    assert(!task->on_unfinished_list);
    task->at.prev = core->ownership.unfinished.at.prev;
    task->at.next = &core->ownership.unfinished;
    task->at.prev->at.next = task;
    core->ownership.unfinished.at.prev = task;
    task->on_unfinished_list = true;
    core->ownership.unfinished_count++;
}

static void unfinished_remove(struct core *core, struct task_record *task)
{
    assert(task->on_unfinished_list);
    task->at.prev->at.next = task->at.next;
    task->at.next->at.prev = task->at.prev;
    task->on_unfinished_list = false;
    core->ownership.unfinished_count--;
}

/* It ran before, and what it took then has been forgotten with its scope. */
static bool lacks_input(const struct task_record *task)
{
    bool lacks = false;
    for (uint32_t i = 0; i < task->input_count; i++) {
        lacks |= task_inputs(task)[i].lost;
    }
    return lacks;
}

/* I71: somebody may have read its result, and another run would give another.  The
 * chair that gave it to this rank may lack it, and so not know that it varies. */
static bool was_read(const struct task_record *task)
{
    return task->seen && (task->flags & CORE_TASK_NONDETERMINISTIC) != 0 &&
           !MUTANT(VARIESAGAIN);
}

/* `by`: who has cancelled it, or NOBODY. */
HOT static void run(struct core *core, struct task_record *task, uint32_t by)
{
    bool cancelled = by != NOBODY || array_is_cancelled(task);
    assert(task->own == CORE_OWN_WAIT && task->missing == 0);
    if ((task->flags & CORE_TASK_ONCE) && !cancelled && !detector_lease(core) &&
        !MUTANT(LEASELESS)) {
        core->ownership.deferred = true; /* V3: graph_start_leased runs it */
        return;
    }
    task->own = CORE_OWN_RUNNING;
    core->ownership.running++;
    struct core_output *output = out_add(core, CORE_OUT_RUN, task);
    if (output != NULL) {
        const bool lost = was_read(task) || lacks_input(task);
        output->u.run.code = cancelled ? MOOT_ERR_CANCELLED
                             : lost    ? MOOT_ERR_RESULT_LOST
                                       : array_status(task);
        output->u.run.by = cancelled ? task_ext(task)->canceller : NOBODY;
        output->u.run.seen = task->seen;
        output->u.run.alone = task->suspect && !MUTANT(SUSPECTFREE);
    }
}

void graph_start(struct core *core, struct task_record *task)
{
    if (task->own == CORE_OWN_WAIT && task->missing == 0) {
        run(core, task, NOBODY);
    }
}

void graph_unstart(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_RUNNING && core->ownership.running > 0);
    core->ownership.running--;
    task->own = CORE_OWN_WAIT;
}

void graph_start_leased(struct core *core)
{
    if (!core->ownership.deferred) {
        return;
    }
    core->ownership.deferred = false;
    struct task_record *task = core->ownership.unfinished.at.next;
    while (task != &core->ownership.unfinished) {
        struct task_record *following = task->at.next;
        graph_start(core, task);
        task = following;
    }
}

/* What an owned task will read may not be released before it is done, though nobody
 * needs it any more once it is here. */
HOT static void begin_use(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_WAIT);
    const struct edge *inputs = task_inputs(task);
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct task_record *from = inputs[i].from;
        if (!inputs[i].order_only && from != NULL) {
            release_touch(core, from);
            from->users++;
        }
    }
}

HOT static void end_use(struct core *core, struct task_record *task)
{
    const struct edge *inputs = task_inputs(task);
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct task_record *from = inputs[i].from;
        if (!inputs[i].order_only && from != NULL && --from->users == 0) {
            release_count(core, from);
        }
    }
}

HOT void graph_own(struct core *core, struct task_record *task, enum evidence evidence)
{
    if (task->own != CORE_OWN_NONE) {
        return;
    }
    assert(task->held);
    if (!MUTANT(STUBAWAY)) {
        stub_bring_inputs(core, task);
    }
    release_touch(core, task);
    task->own = CORE_OWN_WAIT;
    task->late_input = false;
    task->owner = core->rank;
    task->evidence = (uint8_t)evidence;
    ask_queue_forget(task);
    unfinished_add(core, task);
    begin_use(core, task);
    const bool is_array = hash_has(&task->hash, MOOT_HASH_ARRAY);
    if (is_array ? array_is_cancelled(task) : cancel_is_agreed(core, task)) {
        run(core, task, task_ext(task)->canceller);
        return;
    }
    if (was_read(task)) {
        run(core, task, NOBODY); /* without its inputs */
        return;
    }
    struct edge *inputs = task_inputs(task);
    task->missing += array_is_open(task);
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct edge *edge = &inputs[i];
        edge->waiting = edge->from != NULL && !edge_satisfied(edge);
        if (edge->waiting) {
            edge->from->verdict = false; /* of an earlier wait */
            task->late_input |= edge->from->position > task->position;
            task->missing++;
            ask_note_wait(core, edge->from, hash_word(&task->hash));
            ask_add_need(core, edge->from, edge_want(edge));
        }
    }
    if (task->missing == 0) {
        run(core, task, NOBODY);
        return;
    }
    demand_inputs(core, task);
    for (uint32_t i = 0; i < task->input_count; i++) {
        if (inputs[i].waiting) {
            ask_consider(core, inputs[i].from);
        }
    }
}

HOT static void end_edge(struct core *core, struct edge *edge)
{
    assert(edge->waiting && edge->from != NULL);
    struct task_record *to = edge_to(edge);
    edge->waiting = false;
    ask_drop_need(core, edge->from, edge_want(edge));
    assert(to->missing > 0);
    to->missing--;
    if (to->missing == 0 && to->own == CORE_OWN_WAIT) {
        run(core, to, NOBODY);
    }
}

static void stop_waiting(struct core *core, struct task_record *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct edge *edge = &task_inputs(task)[i];
        if (edge->waiting) {
            edge->waiting = false;
            ask_drop_need(core, edge->from, edge_want(edge));
        }
    }
    task->missing = 0;
}

/* It has not started here, and another is to run it. */
void graph_disown(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_WAIT);
    stop_waiting(core, task);
    task->own = CORE_OWN_NONE;
    task->owner = NOBODY;
    task->asked = false;
    unfinished_remove(core, task);
    end_use(core, task);
}

void graph_end_cancelled(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_WAIT && array_is_cancelled(task));
    stop_waiting(core, task);
    run(core, task, NOBODY);
}

void graph_cancel_own(struct core *core, struct task_record *task, uint32_t by)
{
    assert(by != NOBODY);
    if (task->own == CORE_OWN_RUNNING) {
        struct core_output *output = out_add(core, CORE_OUT_CANCEL, task);
        if (output != NULL) {
            output->u.cancel.by = by;
        }
    } else if (task->own == CORE_OWN_WAIT) {
        stop_waiting(core, task);
        run(core, task, by);
    }
}

HOT bool graph_spread(struct core *core, struct task_record *task)
{
    bool all = true;
    for (struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        if (edge->waiting && edge_satisfied(edge)) {
            end_edge(core, edge);
        } else {
            all = false;
        }
    }
    if (task->lane_needs > 0) {
        struct core_output *output = out_add(core, CORE_OUT_DONE, task);
        if (output != NULL) {
            output->u.done.data = task->have == CORE_HAVE_DATA;
        }
    }
    if (task_satisfied(task)) {
        ask_queue_forget(task);
    }
    return all;
}

int graph_done(struct core *core, struct task_record *task, int32_t status,
               uint64_t size)
{
    assert(task->missing == 0);
    task->own = CORE_OWN_DONE;
    task->have = CORE_HAVE_DATA;
    task->suspect = false;
    task->status = status;
    task->size = size;
    assert(core->ownership.running > 0);
    core->ownership.running--;
    unfinished_remove(core, task);
    end_use(core, task);
    out_note(core, CORE_POINT_TASK_END, task, NOBODY, EVIDENCE_NONE);
    bool all_here = graph_spread(core, task); /* who waited for it runs here */
    graph_answer(core, task);
    if (!all_here) {
        push_to_consumers(core, task);
    }
    reclaim_news(core);
    if (task->push_holders) {
        watch_for_holders(core, task);
    }
    release_count(core, task);
    return MOOT_OK;
}

/* If it ends so for good: who says so, since when. */
static void note_end(const struct task_record *task, struct core_output *output)
{
    const struct task_end *ends = &task_ext(task)->ends;
    if (ends->code != 0 && ends->code == output->u.verdict.code) {
        output->u.verdict.for_good = true;
        output->u.verdict.by = ends->by;
        output->u.verdict.epoch = ends->epoch;
        output->u.verdict.since_ns = ends->since_ns;
    }
}

void graph_verdict(struct core *core, struct task_record *task, int32_t code,
                   const moot_hash *chain, uint32_t chain_count)
{
    assert(code < 0);
    task->verdict = true;
    task->status = code;
    task->asked = false;
    ask_queue_forget(task);
    core->stats.verdicts++;
    struct core_output *output = out_add(core, CORE_OUT_VERDICT, task);
    if (output != NULL) {
        output->u.verdict.code = code;
        output->u.verdict.chain = chain;
        output->u.verdict.chain_count = chain_count;
        note_end(task, output);
    }
    for (struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        if (edge->waiting) {
            end_edge(core, edge);
        }
    }
}

/* --- Messages ------------------------------------------------------------------ */

/* Whose result it is: the sender's, or, served by who has a copy, another's. */
static uint32_t rank_of(const struct core *core, uint32_t from, uint64_t uid)
{
    return core->state.uids[from] == uid ? from : peer_of_uid(core, uid);
}

enum graph_taken graph_on_result(struct core *core, uint32_t from,
                                 struct task_record *task,
                                 const struct message *message)
{
    assert(message->type == MESSAGE_RESULT && from < core->size && from != core->rank);
    const struct message_result *result = &message->u.result;
    if (result->away) {
        spread_on_away(core, from, task);
        return GRAPH_HAD;
    }
    uint32_t owner = rank_of(core, from, result->owner_uid);
    if (owner == NOBODY || owner == core->rank) { /* ours comes from nobody else */
        core->stats.refused++;
        return GRAPH_REFUSED;
    }
    bool contradicts = task->own != CORE_OWN_NONE ||                    /* I6 */
                       (task->owner != NOBODY && task->owner != owner); /* I1 */
    if (contradicts) {
        core->stats.violations++;
        return GRAPH_REFUSED;
    }
    bool bare = result->data == RESULT_BARE || spread_is_more(result);
    if (task->have == CORE_HAVE_DATA || !spread_is_next(task, result)) {
        core->stats.results_dropped++;
        return GRAPH_HAD;
    }
    if (bare && task->have == CORE_HAVE_BARE) {
        core->stats.results_dropped += result->data == RESULT_BARE;
        spread_on_referral(core, from, task, message);
        return GRAPH_HAD;
    }
    task->owner = owner;
    task->lost = false;
    task->evidence = (uint8_t)result->evidence;
    task->status = result->status;
    task->size = result->size;
    task->have = bare ? CORE_HAVE_BARE : CORE_HAVE_DATA;
    task->suspect = false;
    task->verdict = false;
    task->pulled = false;
    spread_note_source(core, from, task, message);
    struct core_output *output = out_add(core, CORE_OUT_RESULT, task);
    if (output != NULL) {
        output->u.result = *result;
        output->u.result.data = bare ? RESULT_BARE : result->data;
    }
    spread_keep_part(core, task, result);
    out_note(core, CORE_POINT_RESULT_RECV, task, from, EVIDENCE_NONE);
    return GRAPH_TAKEN;
}

void graph_result_taken(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_NONE && task->have != CORE_HAVE_NOTHING);
    graph_spread(core, task);
    ask_consider(core, task);
    spread_result_taken(core, task);
    release_count(core, task);
    reclaim_news(core);
}

void graph_task_waits(struct core *core, bool waiting)
{
    assert(!waiting || core->ownership.running > 0);
    core->ownership.running += waiting ? UINT32_MAX : 1; /* one less, or more */
}
