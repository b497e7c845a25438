/* register.c - T1: this rank now holds a task.
 *
 * The one entrance of tasks into a core, whether the program spawned them at top level,
 * a running task spawned them, or a portable spec came with a motion.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

/* Of two hashes, whether they belong to one scope, or both to none. */
static bool same_scope(const moot_hash *a, const moot_hash *b)
{
    unsigned scoped = a->bytes[MOOT_HASH_BYTES - 1] | b->bytes[MOOT_HASH_BYTES - 1];
    return (scoped & MOOT_HASH_SCOPED) == 0 || hash_scope(a) == hash_scope(b);
}

/* IDEMPOTENT is a fact of once tasks alone, and STRETCHES, the same bit, of arrays. */
static bool facts_match(const moot_hash *hash, const struct core_register *reg)
{
    unsigned facts = hash->bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_FACTS;
    const uint32_t again =
        CORE_TASK_IDEMPOTENT | (reg->array == NULL ? (uint32_t)CORE_TASK_ONCE : 0u);
    unsigned said =
        ((reg->flags & CORE_TASK_ONCE) ? MOOT_HASH_ONCE : 0u) |
        ((reg->flags & again) == again ? MOOT_HASH_IDEMPOTENT : 0u) |
        ((reg->flags & CORE_TASK_NESTED) ? MOOT_HASH_NESTED : 0u) |
        (reg->candidates != NULL ? MOOT_HASH_CANDIDATES : 0u) |
        (reg->array != NULL ? MOOT_HASH_ARRAY : 0u) |
        (reg->scope.bytes[MOOT_HASH_BYTES - 1] & (unsigned)MOOT_HASH_SCOPED);
    return facts == said && same_scope(hash, &reg->scope);
}

static bool on_this_roll(const struct core_register *reg)
{
    return (reg->flags & (CORE_TASK_NESTED | CORE_TASK_ADOPTED)) == 0;
}

/* Of its inputs that are stubs. */
enum stubs { STUBS_NONE, STUBS_STAY, STUBS_EXPAND };

/* They stay so if they stand on the same lane, and the task is another rank's to run.
 */
static enum stubs judge_stubs(const struct core *core, const struct task_record *task,
                              const struct core_register *reg)
{
    bool others = task->chair != core->rank && on_this_roll(reg);
    enum stubs stubs = STUBS_NONE;
    for (size_t i = 0; i < reg->input_count && core->state.stub_count > 0; i++) {
        const void *known = reg->input_entries != NULL
                                ? reg->input_entries[i]
                                : table_look(core, &reg->inputs[i]);
        if (is_stub(known)) {
            bool stays = others && stub_lane(known) == reg->lane;
            stubs = stays && stubs != STUBS_EXPAND ? STUBS_STAY : STUBS_EXPAND;
        }
    }
    return stubs;
}

/* What was given as a stub is gone once its record is made: then all are looked up. */
static void *input_of(struct core *core, const struct core_register *reg, size_t i,
                      enum stubs stubs)
{
    if (reg->input_entries != NULL && stubs != STUBS_EXPAND) {
        return reg->input_entries[i];
    }
    void *known = stubs == STUBS_STAY ? table_look(core, &reg->inputs[i]) : NULL;
    return is_stub(known) ? known : table_enter(core, &reg->inputs[i]);
}

static bool link_inputs(struct core *core, struct task_record *task,
                        const struct core_register *reg)
{
    if (reg->input_count == 0) {
        return true;
    }
    assert(!task->held);
    if (!table_add_inputs(core, task, reg->input_count)) {
        return false;
    }
    size_t data_count = reg->input_count - reg->after_count;
    struct edge *inputs = task_inputs(task);
    enum stubs stubs = judge_stubs(core, task, reg);
    task->after_count = (uint16_t)reg->after_count;
    for (size_t i = 0; i < reg->input_count; i++) {
        void *from = input_of(core, reg, i, stubs);
        if (from == NULL) {
            return false;
        }
        if (stubs != STUBS_NONE && is_stub(from)) {
            inputs[i].order_only = i >= data_count;
            stub_put_away(core, task, &inputs[i], ((const struct stub *)from)->place);
        } else {
            graph_link_edge(&inputs[i], from, i >= data_count);
        }
        task->input_count++;
    }
    return true;
}

HOT static int put_on_roll(struct core *core, struct task_record *task,
                           const struct core_register *reg)
{
    struct lane_record *lane = reg->lane < core->gossip.lane_count
                                   ? &core->gossip.lanes[reg->lane]
                                   : lane_enter(core, reg->lane);
    if (lane == NULL) {
        return core->broken ? MOOT_ERR_NO_MEMORY : MOOT_ERR_LIMIT;
    }
    return roll_append(core, lane, reg->lane, task) ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* In strict mode rolls of programs that agree are alike, whoever has died: what nobody
 * may own any more stands on them too, and its waits end with NO_CANDIDATE. */
static bool keeps_its_place(const struct core *core, const struct core_register *reg)
{
    return core->options.mode == CORE_STRICT && on_this_roll(reg);
}

/* The program spawns what this rank had adopted. */
COLD static int register_again(struct core *core, struct task_record *task,
                               const struct core_register *reg)
{
    assert(task->held && !task->declined);
    task->flags |= reg->flags & CORE_TASK_HINT ? (uint8_t)CORE_TASK_HINT : 0;
    release_touch(core, task);
    core->stats.let_go -= task->let_go;
    task->let_go = false;
    if (!on_this_roll(reg) || task->position != 0) {
        return MOOT_OK;
    }
    task->flags &= (uint8_t)~CORE_TASK_ADOPTED;
    task->site = reg->site;
    return put_on_roll(core, task, reg);
}

static void push_done_inputs(struct core *core, struct task_record *task)
{
    assert(task->held && task->chair != core->rank);
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct edge *edge = &task_inputs(task)[i];
        if (edge->from != NULL && edge->from->own == CORE_OWN_DONE) {
            graph_push_for(core, edge);
        }
    }
}

/* What was given away on other evidence than time says nothing about the timeout. */
COLD static void note_late_claim(struct core *core, const struct task_record *task)
{
    assert(task->chair == core->rank && task->requests != NULL);
    if (task->requests->asker_count > 0 &&
        (task->rec == NOBODY || task->evidence == EVIDENCE_TIMEOUT)) {
        if (timers_late_claim(core, core->now_ns - task->requests->first_ask_ns)) {
            /* some that were not due may be now */
            core->ownership.votes_tested = &core->ownership.undecided;
        }
    }
}

static void settle(struct core *core, struct task_record *task)
{
    const bool wanted = task->needs_done + task->needs_data > 0;
    if (task_ends_with(task) != 0) { /* so it will not run; its program may look */
        verdict_end_wait(core, task);
    }
    if (task->task_ext != NULL) { /* a finder may have been told until now, */
        agenda_add(core, task, AGENDA_CANCEL);
    }
    if (wanted) { /* and asked */
        agenda_add(core, task, AGENDA_ASK);
    }
    if (task->requests != NULL && task->requests->failing) {
        agenda_add(core, task, AGENDA_TEST);
    }
    if (task->chair == core->rank) {
        if (task->requests != NULL) {
            note_late_claim(core, task);
            agenda_add(core, task, AGENDA_TEST);
        }
        chair_claim(core, task);
        return;
    }
    push_done_inputs(core, task);
    /* If it asked it did so without holding it. */
    task->asked = task->asked && MUTANT(LATEMUTE);
    if (!wanted && task->have == CORE_HAVE_NOTHING &&
        (task->flags & (CORE_TASK_ONCE | CORE_TASK_NESTED | CORE_TASK_HINT))) {
        ask_queue_owe(core, task);
    }
}

static bool scope_has_ended(const struct core *core, const moot_hash *hash,
                            const struct core_register *reg)
{
    bool ended = scope_is_dropped(core, hash);
    for (size_t i = 0; i < reg->input_count && !ended; i++) {
        ended = scope_is_dropped(core, &reg->inputs[i]);
    }
    return ended;
}

/* A once task that has run and been dropped, or what takes its result. */
static bool once_is_gone(const struct core *core, const moot_hash *hash,
                         const struct core_register *reg)
{
    bool gone = reclaim_once_is_gone(core, hash);
    for (size_t i = 0; i < reg->input_count && !gone; i++) {
        gone = reclaim_once_is_gone(core, &reg->inputs[i]);
    }
    return gone;
}

/* Once this rank holds it; `before`: its record so far, or NULL. */
static uint32_t chair_of(const struct core *core, const struct task_record *before,
                         const moot_hash *hash, const struct core_register *reg)
{
    return before != NULL && !before->finder && before->candidates == NULL
               ? before->chair
               : placement_chair(hash, &core->members, reg->candidates);
}

static bool is_sane(const moot_hash *hash, const struct core_register *reg)
{
    return reg->after_count <= reg->input_count && reg->input_count <= LIMIT_INPUTS &&
           facts_match(hash, reg) && (reg->lane < LIMIT_LANES || !on_this_roll(reg));
}

/* Something has been forgotten here: is this, or an input, of that?  `before`: as
 * above. */
static int judge_forgotten(const struct core *core, const struct task_record *before,
                           const moot_hash *hash, const struct core_register *reg)
{
    if (scope_has_ended(core, hash, reg)) {
        return MOOT_ERR_SCOPE_CLOSED;
    }
    bool held = before != NULL && before->held;
    return !held && once_is_gone(core, hash, reg) ? MOOT_ERR_RESULT_LOST : MOOT_OK;
}

/* It is held from now on. */
static void take_in(struct core *core, struct task_record *task,
                    const struct core_register *reg)
{
    assert(!task->finder);
    core->stats.let_go -= task->let_go;
    task->let_go = task->named = false;
    task->held = true;
    task->flags = (uint8_t)reg->flags;
    task->site = reg->site;
    if (reg->spec != NULL) {
        task_ext_get(core, task)->spec = reg->spec;
    }
    core->stats.registered++;
    core->stats.adopted += (reg->flags & CORE_TASK_ADOPTED) != 0;
    if (core->options.notes != 0) {
        out_note(core, CORE_POINT_SPAWN, task, NOBODY, EVIDENCE_NONE);
    }
}

int graph_register(struct core *core, const struct core_event *event)
{
    const moot_hash *hash = &event->hash;
    const struct core_register *reg = event->u.reg;
    if (!is_sane(hash, reg)) {
        return MOOT_ERR_INVALID;
    }
    if (core->step.closed && on_this_roll(reg)) {
        return MOOT_ERR_CLOSED;
    }
    /* Before anything is learned of the task: a wait that has gone to its finder is
     * told by the finder. */
    const struct task_record *before = event_find(core, event);
    bool held = before != NULL && before->held; /* then it is so, whoever is lost */
    if (!held && chair_of(core, before, hash, reg) == NOBODY &&
        !keeps_its_place(core, reg)) {
        return MOOT_ERR_NO_CANDIDATE;
    }
    int error =
        forget_ever_has(core) ? judge_forgotten(core, before, hash, reg) : MOOT_OK;
    if (error != MOOT_OK) {
        return error;
    }
    struct task_record *task = event_enter(core, event);
    if (task == NULL ||
        (task->finder && !task_learn_candidates(core, task, reg->candidates))) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (task->declined) {
        return MOOT_ERR_DECLINED;
    }
    if (task->held) {
        return register_again(core, task, reg);
    }
    if (!link_inputs(core, task, reg)) {
        return MOOT_ERR_NO_MEMORY;
    }
    take_in(core, task, reg);
    if (!on_this_roll(reg)) {
        release_note_none(core, task);
    } else if ((error = put_on_roll(core, task, reg)) != MOOT_OK) {
        return error;
    }
    if (task->task_ext != NULL) {
        ask_answer_seeks(core, task);
    }
    settle(core, task);
    return MOOT_OK;
}

HOT int stub_register(struct core *core, void *const *stubs, size_t count)
{
    assert(count > 0 && !core->step.closed);
    bool noted = (core->options.notes & CORE_NOTE(CORE_POINT_SPAWN)) != 0;
    core->stats.registered += count;
    core->stats.pruned += count;
    for (size_t i = 0; i < count; i++) {
        struct stub *stub = stubs[i]; /* a record, perhaps, once it is on the roll */
        assert(stub->position == 0);
        if (noted) {
            out_note_stub(core, CORE_POINT_SPAWN, &stub->hash);
        }
        if (!roll_append_stub(core, stub)) {
            return MOOT_ERR_NO_MEMORY;
        }
    }
    return MOOT_OK;
}
