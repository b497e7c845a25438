/* host.c - a rank: events to its core.
 *
 * The host is what node/ is under mpirun, made as small as it can be: a record per
 * task, which it shares with its core as node/ does (host_entry.c), an inbox, and the
 * bytes of results (perform.c).  It keeps the contract of core.h.
 */
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include "hashing/identity.h"
#include <stdlib.h>
#include <string.h>

/* --- Opening ---------------------------------------------------------------------- */

bool host_is_over(const struct host *host)
{
    return host->adjourned || host->dead || host->fenced || host->left;
}

bool host_is_there(const struct host *host)
{
    return host->core != NULL && !host_is_over(host);
}

bool host_goes_on(const struct host *host)
{
    return !host_is_over(host) && !host->undone;
}

enum { SPARE_BYTES = 256 << 10 };

static void set_detection(struct host *host, struct core_options *options)
{
    struct sim *sim = host->sim;
    const struct storm *storm = sim->options.storm;
    const struct sim_weather *weather = &sim->weather;
    sim->machines[host->rank] = sim->cluster != NULL
                                    ? sim_cluster_host(sim->options.cluster, host->role)
                                : storm->hosts != NULL ? storm->hosts[host->role]
                                                       : 0;
    options->hosts = sim->machines;
    options->heartbeat_ns = weather->heartbeat_ns;
    options->suspect_ns = weather->suspect_ns;
    options->lease_ns = weather->lease_ns;
    options->stagger_ns = weather->stagger_ns;
    options->batch_ns = weather->batch_ns;
    options->quorum_wait_ns = weather->quorum_wait_ns;
    options->notes = CORE_NOTES_ALL;
    options->joinable = storm->joinable;
    options->boundary = storm->boundary;
    options->boundary_purpose = sim_purpose(sim_boundary_purpose(sim->program));
    options->solo = storm->solo;
    options->spare_bytes = sim->options.starves ? SPARE_BYTES : 0;
    options->size = storm->first;
    if (host->rank >= storm->first) {
        options->join_uid = sim->uids[host->rank];
        options->join_host = sim->machines[host->rank];
        options->join_rank = host->rank;
        return;
    }
    for (uint32_t rank = storm->first; rank-- > 0;) {
        if (!rankset_add(&host->members, rank)) {
            abort();
        }
    }
}

void host_open(struct sim *sim, uint32_t rank, uint32_t role)
{
    struct host *host = &sim->hosts[rank];
    const struct sim_weather *weather = &sim->weather;
    struct core_options options = {
        .rank = rank,
        .size = sim->program->rank_count,
        .uids = sim->uids,
        .epoch = 1,
        .mode = weather->mode,
        .voters = weather->voters,
        .crashes = sim_crashes(sim),
        .vote_timeout_ns = weather->vote_timeout_ns,
        .ask_delay_ns = weather->ask_delay_ns,
        .gossip_period_ns = weather->gossip_period_ns,
        .adapt = weather->adapt,
        .direct_max = weather->direct_max,
        .tree_fanout = weather->tree_fanout,
        .part_bytes = weather->part_bytes,
        .drop_above = weather->drop_above,
        .lot_after = weather->lot_after,
        .pass_after = weather->pass_after,
        .chunk_mask = weather->drop_above > 0 ? 7 : 0,
        .entry_bytes = sizeof(struct sim_entry),
        .expand = host_expand,
        .expand_context = host,
        .notes = sim->options.notes || sim->options.plan != NULL ? CORE_NOTES_ALL : 0,
    };
    host->sim = sim;
    host->rank = rank;
    host->role = role;
    host->tick_ns = CORE_NEVER;
    options.hosts = sim->cluster != NULL ? sim->machines : NULL;
    if (sim->options.storm != NULL) {
        set_detection(host, &options);
    }
    host->epoch = options.join_uid == 0 ? 1 : 0;
    host->session.number = host->epoch;
    if (sim->cluster != NULL) {
        cluster_begin(sim, rank);
    }
    sim->player[role] = rank;
    sim->host_count = rank + 1;
    host->records = sim_alloc(sim->program->task_count, sizeof(*host->records));
    host->ready = sim_alloc(sim->program->task_count, sizeof(*host->ready));
    for (uint32_t i = 0; i < sim->program->task_count; i++) {
        host->records[i].task = i;
    }
    host->core = core_new(&options);
    if (host->core == NULL) {
        abort();
    }
}

void host_release(struct host *host)
{
    core_free(host->core);
    for (uint32_t i = 0; host->records != NULL && i < host->sim->program->task_count;
         i++) {
        free(host->records[i].bytes);
        free(host->records[i].partial);
        free(host->records[i].taken);
    }
    for (size_t i = 0; i < host->inbox_count; i++) {
        flight_free(host->inbox[i]);
    }
    disk_close(host);
    free(host->task_uses_left);
    rankset_release(&host->members);
    rankset_release(&host->came);
    rankset_release(&host->session.ended);
    rankset_release(&host->session.unknowing);
    cluster_forget(host);
    free(host->inbox);
    free(host->ready);
    free(host->pieces);
    free(host->records);
}

struct sight host_sight(const struct host *host, enum sight_type type, uint32_t task)
{
    return (struct sight){.type = type,
                          .time_ns = host->sim->now_ns,
                          .rank = host->rank,
                          .peer = UINT32_MAX,
                          .task = task};
}

/* --- Events ----------------------------------------------------------------------- */

/* Has the core called when it wants to be, or as late as is allowed after a step that
 * has not hurried; an earlier call that is armed stays, and arms again. */
static void arm_tick(struct host *host, bool hurried)
{
    uint64_t due_ns = core_deadline(host->core);
    if (due_ns == CORE_NEVER || host_is_over(host)) {
        return;
    }
    due_ns = strike_when_ns(host, due_ns);
    if (!hurried && due_ns < host->sim->now_ns + CORE_USUAL_NS) {
        due_ns = host->sim->now_ns + CORE_USUAL_NS;
    }
    if (due_ns < host->deaf_until_ns) {
        due_ns = host->deaf_until_ns;
    }
    if (due_ns < host->sim->now_ns) {
        due_ns = host->sim->now_ns;
    }
    if (due_ns >= host->tick_ns) {
        return;
    }
    host->tick_ns = due_ns;
    heap_push(host->sim, &(struct event){.time_ns = due_ns,
                                         .kind = EVENT_TICK,
                                         .rank = host->rank,
                                         .ticket = due_ns});
}

static bool is_newcomer(const struct host *host)
{
    const struct storm *storm = host->sim->options.storm;
    return storm != NULL && host->rank >= storm->first;
}

/* Invariants of a core are asserted after every step of one run in sixteen, and after
 * every 32nd step of the others: a third of the time on top, over all runs.  All tasks
 * and peers are looked at, so where there are many it is done so much more seldom. */
enum { HOLD_RUNS = 16, HOLD_STEPS = 32, HOLD_RECORDS = 64 };

static bool hold_is_due(struct host *host)
{
    const struct sim *sim = host->sim;
    uint64_t steps = sim->options.seed % HOLD_RUNS == 0 ? 1 : HOLD_STEPS;
    steps *= 1 + (sim->program->task_count + sim->host_count) / HOLD_RECORDS;
    return ++host->steps % steps == 0;
}

/* Whether the program does it, or a kernel: it does not come from elsewhere. */
static bool is_of_program(enum core_event_type type)
{
    return type != CORE_EV_RECV && type != CORE_EV_TICK && type != CORE_EV_DEAD &&
           type != CORE_EV_CRASH && type != CORE_EV_PREPARED &&
           type != CORE_EV_COMMITTED && type != CORE_EV_MARKED && type != CORE_EV_LEAVE;
}

/* A program whose tasks are undone does nothing more before it begins anew.  That is
 * not done within its own calls. */
static bool hears(struct host *host, enum core_event_type type)
{
    if (host->undone && !is_of_program(type) && !host_is_over(host)) {
        go_back_restart(host);
    }
    return host_goes_on(host);
}

int host_step(struct host *host, const struct core_event *event)
{
    if (host_goes_on(host)) {
        host_flush(host);
    }
    if (!hears(host, event->type)) {
        return MOOT_OK;
    }
    struct core_outputs outputs = {0};
    int code = core_step(host->core, event, strike_clock_ns(host), &outputs);
    uint64_t known = core_stats(host->core)->tasks;
    struct sim_counts *counts = &host->sim->report->counts;
    if (known > counts->remembered_most) {
        counts->remembered_most = known;
    }
    if (code == MOOT_ERR_NO_CANDIDATE && host->sim->options.storm != NULL) {
        return code;
    }
    if (code == MOOT_ERR_STATE && event->type == CORE_EV_DEAD) {
        return code; /* it had lost touch: no certificate */
    }
    if (code == MOOT_ERR_STATE && event->type == CORE_EV_AWAIT &&
        event->u.await.count > 0) {
        return code; /* others stand between them: each is needed */
    }
    if (code == MOOT_ERR_SCOPE_CLOSED && is_newcomer(host)) {
        return code; /* that phase was over when it came */
    }
    if (code == MOOT_ERR_RESULT_LOST && is_newcomer(host) &&
        host->sim->options.storm->boundary) {
        return code; /* a once task that was dropped before its time */
    }
    if (code == MOOT_ERR_NO_MEMORY && host->sim->options.starves) {
        strike_starve(host);
        return code;
    }
    if (code != MOOT_OK) {
        sim_fail(host->sim, "contract", "rank %u: the core refuses event %d with %d",
                 (unsigned)host->rank, (int)event->type, code);
        return code;
    }
    for (size_t i = 0; i < outputs.count && !host->dead; i++) {
        carry(host, &outputs.items[i], event);
    }
    if (hold_is_due(host)) {
        core_hold(host->core);
    }
    if (host->start_due) {
        host->start_due = false;
        if (host->sim->program->sessions > 0) {
            boundary_ask(host);
        } else {
            boundary_come_in(host);
            lane_start(host);
        }
    }
    if (host->woken && !host->dead && !host->undone) {
        host->woken = false;
        worker_settle(host);
        lane_settle(host);
    }
    if (host->closed && host->no_quorum && !host_is_over(host)) {
        host->left = true;
        host->over_ns = host->sim->now_ns;
        struct sight sight =
            host_sight(host, SIGHT_LEFT, host->sim->program->task_count);
        sim_see(host->sim, &sight);
    }
    arm_tick(host, outputs.hurried);
    (void)hears(host, event->type);
    return MOOT_OK;
}

/* Sights of what did not happen. */
static void show_canaries(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    struct rankset members = {0};
    struct sight sight = host_sight(host, SIGHT_VERDICT, task);
    sight.code = MOOT_ERR_NOT_HELD;
    if (sim->program->tasks[task].candidates == 0 &&
        sim_canary(sim, SIM_CANARY_FALSE_VERDICT)) {
        sim_see(sim, &sight);
    }
    sight.code = MOOT_ERR_MAYBE_RAN;
    if (sim_canary(sim, SIM_CANARY_FALSE_MAYBE)) {
        sim_see(sim, &sight);
    }
    sight = host_sight(host, SIGHT_QUORUM, sim->program->task_count);
    if (sim_canary(sim, SIM_CANARY_FALSE_ALARM)) {
        sim_see(sim, &sight);
    }
    sight = host_sight(host, SIGHT_VIEW, sim->program->task_count);
    sight.members = &host->members;
    sight.epoch = host->epoch + 1;
    if (sim_canary(sim, SIM_CANARY_NEEDLESS_VIEW)) {
        sim_see(sim, &sight);
    }
    sight.epoch = host->epoch;
    sight.members = &members;
    if (!rankset_add(&members, host->rank)) {
        abort();
    }
    if (sim_canary(sim, SIM_CANARY_OTHER_VIEW)) {
        sim_see(sim, &sight);
    }
    rankset_release(&members);
}

/* The array is portable, and there is room in a spec for what it names. */
static bool travels(const struct sim *sim, uint32_t index)
{
    const struct program_task *task = &sim->program->tasks[index];
    return task->portable &&
           (task->elements == 0 || task->after.count <= LIMIT_ARRAY_INPUTS);
}

void host_register(struct host *host, uint32_t index, uint32_t lane, bool adopted,
                   const struct program_step *step)
{
    struct sim *sim = host->sim;
    const struct program_task *task = &sim->program->tasks[index];
    struct record *record = &host->records[index];
    const struct message_spec *spec = &sim->specs[index];
    bool nested = task->parent != PROGRAM_NONE;
    if (host->undone) {
        return;
    }
    const struct array_spread spread = sim_spread(sim, index);
    const struct rankset homes = {
        .low = sim_homes(sim->program, sim->options.storm, index)};
    const struct range part = step != NULL ? step->places : (struct range){0, 0};
    struct core_register reg = {
        .scope = spec->scope,
        .parent = spec->parent,
        .lane = lane,
        .flags = (task->once ? (uint32_t)CORE_TASK_ONCE : 0u) |
                 (task->idempotent ? (uint32_t)CORE_TASK_IDEMPOTENT : 0u) |
                 (task->stretches ? (uint32_t)CORE_TASK_STRETCHES : 0u) |
                 (nested ? (uint32_t)CORE_TASK_NESTED : 0u) |
                 (task->hint ? (uint32_t)CORE_TASK_HINT : 0u) |
                 (travels(sim, index) ? (uint32_t)CORE_TASK_PORTABLE : 0u) |
                 (task->varies ? (uint32_t)CORE_TASK_NONDETERMINISTIC : 0u) |
                 (adopted ? (uint32_t)CORE_TASK_ADOPTED : 0u),
        .inputs = spec->inputs,
        .input_count = spec->input_count,
        .after_count = spec->after_count,
        .candidates = spec->candidates,
        .spec = travels(sim, index) ? spec : NULL,
        .array = task->elements > 0 ? &spread : NULL,
        .homes = homes.low != 0 ? &homes : NULL,
        .bound = homes.low != 0,
        .part = part.end > 0 ? &part : NULL,
        .part_count = part.end > 0,
        .site = task->name,
        .host_size = sizeof(index),
    };
    if (adopted && record->forgotten) { /* a newcomer brings what all had dropped */
        *record = (struct record){.task = index, .entry = record->entry};
    }
    if (adopted) {
        record->adopted = true;
    }
    const bool grows = record->registered && step != NULL && step->op == PROGRAM_GROW;
    record->registered |= !adopted;
    struct sight sight = host_sight(host,
                                    adopted ? SIGHT_ADOPT
                                    : grows ? SIGHT_GROW
                                            : SIGHT_SPAWN,
                                    index);
    sight.lane = lane;
    sight.places = part;
    sim_see(sim, &sight);
    if (sim->options.storm != NULL) {
        show_canaries(host, index);
    }
    sight.code = host_register_entry(host, index, &reg);
    if (sight.code == MOOT_OK || !host_goes_on(host)) {
        return;
    }
    record->adopted = false;
    record->registered = grows;
    if (!grows) {
        sight.type = SIGHT_REFUSED;
        sim_see(sim, &sight);
    }
}

static bool same_bytes(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

/* Whether a portable task's spec has come whole. */
static bool is_spec_of(const struct sim *sim, uint32_t task,
                       const struct message_spec *spec)
{
    const struct message_spec *own = &sim->specs[task];
    return strcmp(spec->kernel_name, own->kernel_name) == 0 &&
           spec->kernel_version == own->kernel_version && spec->flags == own->flags &&
           spec->args_size == own->args_size &&
           same_bytes(spec->args, own->args, own->args_size) &&
           spec->input_count == own->input_count &&
           spec->after_count == own->after_count &&
           same_bytes(spec->inputs, own->inputs,
                      own->input_count * sizeof(*own->inputs)) &&
           spec->key_size == own->key_size &&
           same_bytes(spec->key, own->key, own->key_size) &&
           hash_equal(&spec->scope, &own->scope) &&
           hash_equal(&spec->parent, &own->parent) && spec->count == own->count &&
           spec->block == own->block && spec->spread == own->spread &&
           (spec->maps == NULL) == (own->maps == NULL) &&
           (spec->candidates == NULL) == (own->candidates == NULL) &&
           (own->candidates == NULL ||
            rankset_equal(spec->candidates, own->candidates));
}

static void adopt_if_asked(struct host *host, const struct parcel *parcel)
{
    struct sim *sim = host->sim;
    const struct message *message = parcel->message;
    const struct message_spec *spec =
        message->type == MESSAGE_MOTION     ? message->u.motion.spec
        : message->type == MESSAGE_ELEMENTS ? message->u.elements.spec
                                            : NULL;
    if (spec == NULL ||
        !core_would_adopt(host->core, parcel->from, sim->uids[parcel->from], message)) {
        return;
    }
    uint32_t task = sim_task(sim, &message->hash);
    if (task == sim->program->task_count || !travels(sim, task) ||
        !is_spec_of(sim, task, spec)) {
        sim_fail(sim, "contract", "rank %u adopts what the program does not have",
                 (unsigned)host->rank);
        return;
    }
    host_register(host, task, 0, true, NULL);
}

void host_receive(struct host *host, const struct parcel *parcel)
{
    struct sim *sim = host->sim;
    host_flush(host);
    adopt_if_asked(host, parcel);
    struct sight sight =
        host_sight(host, SIGHT_RECEIVE, sim_task(sim, &parcel->message->hash));
    sight.peer = parcel->from;
    sight.message = parcel->message;
    sight.size = parcel_bytes(parcel);
    sim_see(sim, &sight);
    struct core_self_view self;
    core_self_look(host->core, &self);
    sim->report->counts.met[parcel->message->type][self.standing]++;
    struct core_event event = {.type = CORE_EV_RECV, .hash = parcel->message->hash};
    event.u.recv.from = parcel->from;
    event.u.recv.uid = sim->uids[parcel->from];
    event.u.recv.message = parcel->message;
    host_step(host, &event);
}

void host_arrive(struct host *host, struct sim_flight *flight)
{
    struct sim *sim = host->sim;
    if (sim->harmed && harm_loses_arriving(sim, flight)) {
        flight_free(flight);
        return;
    }
    if (host->inbox_count == host->inbox_capacity) {
        host->inbox_capacity =
            host->inbox_capacity == 0 ? 16 : host->inbox_capacity * 2;
        host->inbox = realloc(host->inbox, host->inbox_capacity * sizeof(*host->inbox));
        if (host->inbox == NULL) {
            abort();
        }
    }
    host->inbox[host->inbox_count++] = flight;
    if (host->poll_due) {
        return;
    }
    uint64_t poll_ns =
        sim->now_ns + random_below(&sim->delays, sim->weather.poll_ns + 1);
    if (poll_ns < host->deaf_until_ns) {
        poll_ns = host->deaf_until_ns;
    }
    host->poll_due = true;
    heap_push(sim, &(struct event){
                       .time_ns = poll_ns, .kind = EVENT_POLL, .rank = host->rank});
}

static void take_inbox(struct host *host)
{
    for (size_t i = 0; i < host->inbox_count; i++) {
        if (!host_is_over(host) || carrier_lingers(host)) {
            carrier_take(host, host->inbox[i]);
        } else {
            flight_free(host->inbox[i]);
        }
    }
    host->inbox_count = 0;
}

void host_poll(struct host *host)
{
    struct sim *sim = host->sim;
    host->poll_due = false;
    if (host->deaf_until_ns > sim->now_ns) { /* it went deaf in between */
        host->poll_due = true;
        heap_push(sim, &(struct event){.time_ns = host->deaf_until_ns,
                                       .kind = EVENT_POLL,
                                       .rank = host->rank});
        return;
    }
    take_inbox(host);
    if (random_chance(&sim->delays, sim->weather.gap_per_mille)) {
        host->deaf_until_ns =
            sim->now_ns + random_below(&sim->delays, sim->weather.gap_ns + 1);
    }
    strike_after_turn(host);
}

/* A rank that was deaf hears before it looks at the clock, as a progress loop does. */
void host_tick(struct host *host, uint64_t armed_ns)
{
    if (host->tick_ns != armed_ns) {
        return;
    }
    host->tick_ns = CORE_NEVER;
    if (host->inbox_count > 0 && host->deaf_until_ns <= host->sim->now_ns) {
        take_inbox(host);
    }
    if (host_is_over(host)) {
        return;
    }
    host_press(host);
    host_spare(host);
    if (core_deadline(host->core) <= strike_clock_ns(host) &&
        host->deaf_until_ns <= host->sim->now_ns) {
        host_step(host, &(struct core_event){.type = CORE_EV_TICK});
    } else {
        arm_tick(host, true);
    }
}
