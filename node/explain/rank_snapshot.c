/* rank_snapshot.c - see rank_snapshot.h.
 *
 * The protobuf structs borrow what they can from the context, which does not change
 * meanwhile; what has to be made for them lives in a draft's blocks until it is packed.
 */
#include "node/explain/rank_snapshot.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "node/config/ending.h"
#include "node/explain/array_snapshot.h"
#include "node/explain/exit_report.h"
#include "node/explain/report.h"
#include "node/explain/session_snapshot.h"
#include "node/explain/timing.h"
#include "node/faults/faulty_wire.h"
#include "node/members/members.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"
#include "node/schedule/ready.h"
#include "node/schedule/wait.h"
#include "node/session/session.h"
#include "node/tasks/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LANES_MAX = LIMIT_ACCOUNT_LANES,
    WAITS_MAX = LIMIT_ACCOUNT_WAITS,
    TASKS_MAX = LIMIT_ACCOUNT_TASKS,
    PEERS_MAX = LIMIT_ACCOUNT_PEERS,
    OPEN_MAX = 96, /* of the tasks: owned and unfinished, or undecided, unasked for */
    HOST_BYTES = 256
};

static_assert(SUMMARY_FIGURES <= LIMIT_ACCOUNT_NUMBERS &&
                  TIMINGS_MAX <= LIMIT_ACCOUNT_NUMBERS,
              "an account has room for all figures and timers");

struct snapshot_block {
    struct snapshot_block *next;
    max_align_t bytes[];
};

struct snapshot_draft {
    struct moot *m;
    Moot__Account account;
    struct snapshot_block *blocks;
    moot_hash tasks[TASKS_MAX];
    uint32_t task_count;
    struct figure figures[SUMMARY_FIGURES];
    struct timing timings[TIMINGS_MAX];
    char host[HOST_BYTES];
    bool no_memory;
};

static void *take(struct snapshot_draft *draft, size_t size)
{
    struct snapshot_block *block = calloc(1, sizeof(*block) + size);
    if (block == NULL) {
        draft->no_memory = true;
        return NULL;
    }
    block->next = draft->blocks;
    draft->blocks = block;
    return block->bytes;
}

/* A list of `count` pointers to structs of `size` bytes; the structs' array. */
static void *take_list(struct snapshot_draft *draft, size_t count, size_t size,
                       void *list)
{
    void **pointers = take(draft, count * sizeof(void *));
    unsigned char *items = take(draft, count * size);
    for (size_t i = 0; pointers != NULL && items != NULL && i < count; i++) {
        pointers[i] = items + i * size;
    }
    memcpy(list, &pointers, sizeof(pointers));
    return pointers != NULL ? items : NULL;
}

static ProtobufCBinaryData borrow(const void *bytes, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = (uint8_t *)(uintptr_t)bytes};
}

static ProtobufCBinaryData borrow_text(const char *text)
{
    return borrow(text, text != NULL ? strlen(text) : 0);
}

static ProtobufCBinaryData borrow_hash(const moot_hash *hash)
{
    bool none = hash == NULL || hash_is_zero(hash);
    return borrow(hash, none ? 0 : sizeof(*hash));
}

static ProtobufCBinaryData put_set(struct snapshot_draft *draft,
                                   const struct rankset *set)
{
    uint32_t words = rankset_words(set);
    uint64_t *bytes = words > 0 ? take(draft, words * sizeof(*bytes)) : NULL;
    for (uint32_t i = 0; bytes != NULL && i < words; i++) {
        bytes[i] = rankset_word(set, i);
    }
    return borrow(bytes, bytes != NULL ? words * sizeof(*bytes) : 0);
}

static uint64_t age(const struct snapshot_draft *draft, uint64_t then_ns)
{
    uint64_t now_ns = draft->m->now_ns;
    return then_ns != 0 && then_ns < now_ns ? now_ns - then_ns : 1;
}

/* --- Lanes and waits ------------------------------------------------------------ */

static void put_lanes(struct snapshot_draft *draft)
{
    const struct moot *m = draft->m;
    Moot__Account__Lane *to =
        take_list(draft, LANES_MAX, sizeof(*to), &draft->account.lanes);
    for (const struct lane *lane = m->engine.lanes; to != NULL && lane != NULL;
         lane = lane->next) {
        if (lane->number == LANE_NO_NUMBER || draft->account.n_lanes == LANES_MAX) {
            continue;
        }
        moot__account__lane__init(to);
        to->number = lane->number;
        to->state = lane->state;
        to->since_ns = age(draft, lane->seen_ns);
        to->site = borrow_text(lane->spawn_site);
        to->kernel = lane->call != NULL;
        draft->account.n_lanes++;
        to++;
    }
}

static bool is_open(const struct wait *wait, const struct wait_item *item)
{
    return !wait->over && !item->ended && !task_is_here(item->task, wait->want);
}

static const moot_hash *waiter_of(const struct wait *wait)
{
    return wait->waiter != NULL ? &wait->waiter->task->hash : NULL;
}

static bool same_wait(const Moot__Account__Wait *told, const struct wait *wait,
                      const struct task *task)
{
    const moot_hash *waiter = waiter_of(wait);
    return memcmp(told->hash.data, &task->hash, sizeof(moot_hash)) == 0 &&
           (waiter != NULL) == (told->waiter.len > 0) &&
           (waiter == NULL || memcmp(told->waiter.data, waiter, sizeof(*waiter)) == 0);
}

static void put_wait(struct snapshot_draft *draft, Moot__Account__Wait *room,
                     const struct wait *wait, const struct task *task)
{
    Moot__Account *account = &draft->account;
    size_t at = 0;
    while (at < account->n_waits && !same_wait(account->waits[at], wait, task)) {
        at++;
    }
    if (at == WAITS_MAX) {
        account->waits_untold++;
        return;
    }
    Moot__Account__Wait *to = room + at;
    if (at == account->n_waits) {
        moot__account__wait__init(to);
        to->hash = borrow_hash(&task->hash);
        to->waiter = borrow_hash(waiter_of(wait));
        account->n_waits++;
    }
    uint64_t since_ns = age(draft, wait->since_ns);
    to->since_ns = since_ns > to->since_ns ? since_ns : to->since_ns;
    to->timed |= wait->deadline_ns != CORE_NEVER;
    to->count++;
}

static void put_waits(struct snapshot_draft *draft)
{
    Moot__Account__Wait *room =
        take_list(draft, WAITS_MAX, sizeof(*room), &draft->account.waits);
    for (const struct wait *wait = draft->m->schedule.waits;
         room != NULL && wait != NULL; wait = wait->next) {
        for (size_t i = wait->next_open; i < wait->count; i++) {
            if (is_open(wait, &wait->items[i])) {
                put_wait(draft, room, wait, wait->items[i].task);
            }
        }
    }
}

/* --- Tasks ---------------------------------------------------------------------- */

static bool name_task(struct snapshot_draft *draft, const moot_hash *hash,
                      uint32_t most)
{
    for (uint32_t i = 0; i < draft->task_count; i++) {
        if (hash_equal(&draft->tasks[i], hash)) {
            return true;
        }
    }
    if (draft->task_count >= most) {
        return false;
    }
    draft->tasks[draft->task_count++] = *hash;
    return true;
}

static bool name_open(void *context, const moot_hash *hash)
{
    struct snapshot_draft *draft = context;
    return name_task(draft, hash, TASKS_MAX - OPEN_MAX / 2);
}

static void name_call(void *context, const struct moot_call *call)
{
    (void)name_task(context, &call->task->hash, TASKS_MAX);
}

static void name_array(void *context, const moot_hash *hash)
{
    (void)name_task(context, hash, TASKS_MAX - OPEN_MAX / 2);
}

static void name_tasks(struct snapshot_draft *draft, const moot_hash *asked,
                       uint32_t count)
{
    for (size_t i = 0; i < draft->account.n_waits; i++) {
        moot_hash hash = account_hash(&draft->account.waits[i]->hash);
        (void)name_task(draft, &hash, TASKS_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)name_task(draft, &asked[i], TASKS_MAX);
    }
    exec_each_call(draft->m, name_call, draft);
    array_snapshot_each(draft->m, name_array, draft);
    if (draft->task_count < OPEN_MAX) {
        core_each_open(draft->m->core, name_open, draft);
    }
}

struct running {
    const struct task *task;
    uint64_t ran_ns, now_ns;
};

static void find_call(void *context, const struct moot_call *call)
{
    struct running *running = context;
    if (call->task == running->task) {
        running->ran_ns = call_ran_ns(call, running->now_ns);
    }
}

static void put_names(struct snapshot_draft *draft, Moot__Account__Task *to,
                      const struct task *task)
{
    struct running running = {.task = task, .now_ns = draft->m->now_ns};
    to->kernel = borrow_text(task_kernel_name(task));
    to->label = borrow_text(task_label(task));
    to->site = borrow_text(task_site(task));
    to->stage = task->stage;
    if (task->stage == TASK_RUNNING) {
        exec_each_call(draft->m, find_call, &running);
        to->runs_ns = running.ran_ns;
        to->longest_ns = task->kernel->longest_ns;
    }
}

static void put_view(struct snapshot_draft *draft, Moot__Account__Task *to,
                     const struct core_task_view *view)
{
    to->held = view->held;
    to->declined = view->declined;
    to->asked = view->asked;
    to->chair = view->chair;
    to->owner = view->owner;
    to->evidence = view->evidence;
    to->own = view->own;
    to->have = view->have;
    to->status = view->status;
    to->missing = view->missing;
    to->need = view->need;
    to->lack = view->lack;
    to->holders = put_set(draft, &view->holders);
    to->asked_by = put_set(draft, &view->asked_by);
    to->awaited = put_set(draft, &view->awaited);
    if (view->candidates != NULL) {
        to->candidates = put_set(draft, view->candidates);
    }
    if (view->first_missing != NULL && view->own == CORE_OWN_WAIT) {
        to->input = borrow_hash(view->first_missing);
        (void)name_task(draft, view->first_missing, TASKS_MAX);
    }
}

/* An array runs while elements of it do. */
static void put_elements(struct snapshot_draft *draft, Moot__Account__Task *to,
                         const moot_hash *hash, const struct task *task)
{
    struct core_array_view view;
    struct array_told *told =
        hash_has(hash, MOOT_HASH_ARRAY) ? take(draft, sizeof(*told)) : NULL;
    if (told == NULL || !core_array_look(draft->m->core, hash, &view)) {
        return;
    }
    array_snapshot_fill(draft->m, task, &view, told);
    told->message.partial = put_set(draft, &view.partial);
    told->message.lacking = put_set(draft, &view.lacking);
    told->message.homes = put_set(draft, &view.homes);
    core_array_view_release(&view);
    to->elements = &told->message;
    if (told->message.running != 0) {
        to->stage = TASK_RUNNING;
        to->runs_ns = told->runs_ns;
        to->longest_ns = task->kernel->longest_ns;
    }
    if (told->message.input.len > 0) {
        (void)name_task(draft, &told->input, TASKS_MAX);
    }
}

/* Tells of the tasks named so far, and of the inputs that they name in turn. */
static void put_tasks(struct snapshot_draft *draft)
{
    struct core *core = draft->m->core;
    Moot__Account__Task *to =
        take_list(draft, TASKS_MAX, sizeof(*to), &draft->account.tasks);
    for (uint32_t i = 0; to != NULL && i < draft->task_count; i++) {
        struct core_task_view view;
        moot_hash *hash = &draft->tasks[i];
        if (!core_task_look(core, hash, &view)) {
            continue;
        }
        const struct task *task = view.user;
        moot__account__task__init(to);
        to->hash = borrow_hash(hash);
        to->once = hash_has(hash, MOOT_HASH_ONCE);
        put_view(draft, to, &view);
        if (task != NULL) {
            put_names(draft, to, task);
        }
        put_elements(draft, to, hash, task);
        core_task_view_release(&view);
        draft->account.n_tasks++;
        to++;
    }
}

/* --- Peers ---------------------------------------------------------------------- */

static void put_peer(struct snapshot_draft *draft, Moot__Account__Peer *to,
                     uint32_t rank, const struct core_peer_view *view)
{
    const struct moot *m = draft->m;
    const struct member *member = &m->members.all[rank];
    struct faulty_view wire = {0};
    faulty_wire_look(m, rank, &wire);
    moot__account__peer__init(to);
    to->rank = rank;
    to->state = member->state;
    to->left = member->left;
    to->ended_ns = member->ended_ns != 0 ? age(draft, member->ended_ns) : 0;
    to->death = borrow_text(member->story);
    to->spoke = view->heard_ns != 0;
    to->silent_ns = age(draft, to->spoke ? view->heard_ns : m->opened_ns);
    to->blocked = view->state.blocked;
    to->closed = view->state.closed;
    to->len = view->state.len;
    to->load = view->state.load;
    struct core_timers timers;
    if (core_timers_look(m->core, rank, &timers)) {
        to->ask_delay_ns = timers.ask_delay_ns;
        to->suspect_ns = timers.suspect_ns;
        to->round_trip_ns = timers.round_trip_ns;
        to->round_trip_deviation_ns = timers.round_trip_deviation_ns;
        to->longest_gap_ns = timers.longest_gap_ns;
    }
    to->backlog = wire.backlog;
    to->resent = wire.resent;
    const struct process_name *process =
        m->group.processes != NULL ? &m->group.processes[rank] : NULL;
    if (process != NULL && process_is_near(process)) {
        char letter = process_state(process);
        to->process = (uint32_t)(letter != '\0' ? letter : 'X');
        to->pid = process->pid;
    }
    if (view->state.waiting) {
        moot_hash *hash = take(draft, sizeof(*hash));
        if (hash != NULL) {
            *hash = view->waits_for;
        }
        to->waits_for = borrow_hash(hash);
        to->site = borrow_text(view->state.site);
    }
}

static void put_peers(struct snapshot_draft *draft)
{
    const struct moot *m = draft->m;
    Moot__Account__Peer *to =
        take_list(draft, PEERS_MAX, sizeof(*to), &draft->account.peers);
    const uint32_t ever = transport_group_ever(&m->group);
    for (uint32_t rank = 0; to != NULL && rank < ever; rank++) {
        struct core_peer_view view;
        bool few = ever <= PEERS_MAX;
        if (rank == m->group.rank || m->members.all[rank].state == MEMBER_YET_TO_COME ||
            draft->account.n_peers == PEERS_MAX ||
            !core_peer_look(m->core, rank, &view) ||
            (!few && view.heard_ns == 0 && members_is_here(m, rank))) {
            continue;
        }
        put_peer(draft, to, rank, &view);
        draft->account.n_peers++;
        to++;
    }
}

/* --- The rank ------------------------------------------------------------------- */

static void put_numbers(struct snapshot_draft *draft)
{
    Moot__Account *account = &draft->account;
    size_t figures = summary_figures(draft->m, draft->figures);
    size_t timings = timing_fill(draft->m, draft->timings);
    Moot__Account__Number *to =
        take_list(draft, figures, sizeof(*to), &account->figures);
    for (size_t i = 0; to != NULL && i < figures; i++, to++) {
        moot__account__number__init(to);
        to->name = borrow_text(draft->figures[i].key);
        to->value = draft->figures[i].value;
        account->n_figures++;
    }
    to = take_list(draft, timings, sizeof(*to), &account->timers);
    for (size_t i = 0; to != NULL && i < timings; i++, to++) {
        moot__account__number__init(to);
        to->name = borrow_text(draft->timings[i].name);
        to->value = draft->timings[i].ns;
        account->n_timers++;
    }
}

/* Without memory an account is none. */
static void put_session(struct snapshot_draft *draft)
{
    draft->account.session = session_snapshot(draft->m);
    draft->no_memory |= draft->account.session == NULL;
}

static void count_begun(void *context, const struct moot_call *call)
{
    uint64_t *begun = context;
    *begun += !call->check;
}

/* How far this rank has come.  Each try of a task was counted when it began. */
static void put_progress(struct snapshot_draft *draft)
{
    const struct moot *m = draft->m;
    uint64_t begun = 0;
    exec_each_call(m, count_begun, &begun);
    begun += m->counts.retried;
    draft->account.done = m->counts.run > begun ? m->counts.run - begun : 0;
    draft->account.unfinished = core_unfinished(m->core);
    draft->account.undecided = core_undecided(m->core);
}

static bool lane_goes_on(const struct lane *lane)
{
    return (lane->state == CORE_LANE_RUNNING && !lane->lacks_room) ||
           (lane->state == CORE_LANE_TIMED && !lane->here);
}

/* Nothing of this rank's program goes on by itself: no kernel runs or is ready, and the
 * threads are in waits or stay in a spawn that lacks room. */
static bool is_at_rest(const struct moot *m)
{
    bool rests = !ready_any(m) && m->schedule.running <= m->schedule.kernel_waits &&
                 m->schedule.going_on == NULL && m->schedule.resting.count == 0;
    bool any = false; /* who has not spawned or waited yet has yet to begin */
    for (const struct lane *lane = m->engine.lanes; rests && lane != NULL;
         lane = lane->next) {
        bool counts = lane->number != LANE_NO_NUMBER;
        any |= counts;
        rests = !counts || !lane_goes_on(lane);
    }
    return rests && any;
}

/* How long its program has waited for all ranks; 0: it does not. */
static uint64_t meeting_age(const struct snapshot_draft *draft)
{
    const struct wait *wait = draft->m->schedule.waits;
    while (wait != NULL && (wait->meeting == 0 || wait->over)) {
        wait = wait->next;
    }
    return wait != NULL ? age(draft, wait->since_ns) + 1 : 0;
}

static void put_self(struct snapshot_draft *draft)
{
    struct moot *m = draft->m;
    Moot__Account *account = &draft->account;
    struct core_self_view self;
    core_self_look(m->core, &self);
    uint64_t stalled_ns = report_stalled_since(m, m->now_ns);
    moot__account__init(account);
    account->rank = m->group.rank;
    account->size = transport_group_ever(&m->group);
    account->pid = (uint64_t)getpid();
    account->host_name =
        borrow_text(transport_group_host(&m->group, draft->host, sizeof(draft->host)));
    account->program = borrow_text(program_invocation_short_name);
    account->open_ns = age(draft, m->opened_ns);
    account->closing_ns = m->engine.closing ? age(draft, m->engine.closing_ns) : 0;
    account->asked_ns = m->service.asked_ns != 0 ? age(draft, m->service.asked_ns) : 0;
    account->stays = borrow_text(members_stays(m));
    const char *least = getenv(ENDING_LEAST);
    account->least = least != NULL ? (uint32_t)strtoul(least, NULL, 10) : 0;
    account->meetings = m->schedule.meetings.number;
    account->meeting_ns = meeting_age(draft);
    const uint64_t reload_ns = m->schedule.reload_since_ns;
    account->reload_ns = reload_ns != 0 ? age(draft, reload_ns) + 1 : 0;
    account->drains = reload_ns != 0 && m->schedule.draining && m->schedule.running > 0;
    account->stalled_ns =
        stalled_ns != CORE_NEVER && stalled_ns < m->now_ns ? m->now_ns - stalled_ns : 0;
    account->stall_ns = (uint64_t)m->knobs.stall_ns;
    account->epoch = m->members.epoch;
    account->members = put_set(draft, self.members);
    account->differing = put_set(draft, &m->record.differing);
    account->majorities = m->group.size > m->group.founders && !session_admits(m);
    account->mode = (uint32_t)m->knobs.divergence;
    account->len = self.len;
    account->blocked = self.blocked;
    account->closed = self.closed;
    account->lease = self.lease;
    account->helper = m->engine.helping;
    account->ready = (uint32_t)m->schedule.ready.live;
    account->running = m->schedule.running;
    account->stopped = m->schedule.kernel_waits;
    account->workers = m->schedule.worker_count;
    account->plan = borrow_text(m->faults.plan != NULL ? m->knobs.faults : NULL);
    for (uint32_t i = 0; m->faults.plan != NULL && i < m->faults.plan->rule_count;
         i++) {
        account->faults_fired += m->faults.hits.fired[i];
    }
    account->fatal = m->engine.fatal;
    account->rests = is_at_rest(m);
    struct core_timers timers;
    if (core_timers_look(m->core, m->group.rank, &timers)) {
        account->unwell = timers.unwell;
    }
    put_progress(draft);
}

static struct snapshot_draft *draft_new(struct moot *m)
{
    struct snapshot_draft *draft = calloc(1, sizeof(*draft));
    if (draft != NULL) {
        draft->m = m;
        put_self(draft);
    }
    return draft;
}

/* Frees the draft, and returns its bytes. */
static uint8_t *draft_pack(struct snapshot_draft *draft, size_t *size)
{
    uint8_t *bytes = NULL;
    if (!draft->no_memory) {
        *size = moot__account__get_packed_size(&draft->account);
        if (*size > LIMIT_ACCOUNT_BYTES) { /* sets of very many ranks */
            draft->account.n_tasks = 0;
            *size = moot__account__get_packed_size(&draft->account);
        }
        bytes = malloc(*size);
    }
    if (bytes != NULL) {
        moot__account__pack(&draft->account, bytes);
    }
    session_snapshot_free(draft->account.session);
    while (draft->blocks != NULL) {
        struct snapshot_block *next = draft->blocks->next;
        free(draft->blocks);
        draft->blocks = next;
    }
    free(draft);
    return bytes;
}

uint8_t *account_pack(struct moot *m, const moot_hash *asked, uint32_t asked_count,
                      size_t *size)
{
    struct snapshot_draft *draft = draft_new(m);
    if (draft == NULL) {
        return NULL;
    }
    put_lanes(draft);
    put_waits(draft);
    name_tasks(draft, asked, asked_count);
    put_tasks(draft);
    put_peers(draft);
    put_session(draft);
    put_numbers(draft);
    return draft_pack(draft, size);
}

uint8_t *account_pack_brief(struct moot *m, size_t *size)
{
    struct snapshot_draft *draft = draft_new(m);
    if (draft == NULL) {
        return NULL;
    }
    put_numbers(draft);
    return draft_pack(draft, size);
}

uint8_t *account_pack_self(struct moot *m, size_t *size)
{
    struct snapshot_draft *draft = draft_new(m);
    return draft != NULL ? draft_pack(draft, size) : NULL;
}
