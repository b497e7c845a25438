/* host.c - a rank: events to its core, and the core's outputs carried out.
 *
 * The host is what node/ is under mpirun, made as small as it can be: a record per
 * task, an inbox, and the bytes of results.  It keeps the contract of core.h and holds
 * the core to it: an output that breaks the contract fails the run under the check
 * "contract".
 */
#include "hashing/identity.h"
#include "world.h"
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

static void set_detection(const struct sim *sim, uint32_t rank,
                          struct core_options *options)
{
    const struct storm *storm = sim->options.storm;
    const struct sim_weather *weather = &sim->weather;
    options->hosts = storm->hosts;
    options->heartbeat_ns = weather->heartbeat_ns;
    options->suspect_ns = weather->suspect_ns;
    options->lease_ns = weather->lease_ns;
    options->stagger_ns = weather->stagger_ns;
    options->batch_ns = weather->batch_ns;
    options->quorum_wait_ns = weather->quorum_wait_ns;
    options->notes = true;
    options->joinable = storm->joinable;
    options->size = storm->first;
    if (rank >= storm->first) {
        options->size = rank;
        options->join_uid = sim->uids[rank];
        options->join_host = storm->hosts[rank];
    }
}

void host_open(struct sim *sim, uint32_t rank)
{
    struct host *host = &sim->hosts[rank];
    const struct sim_weather *weather = &sim->weather;
    struct core_options options = {
        .rank = rank,
        .size = sim->program->rank_count,
        .uids = sim->uids,
        .epoch = 1,
        .mode = CORE_REPAIR,
        .voters = weather->voters,
        .vote_timeout_ns = weather->vote_timeout_ns,
        .ask_delay_ns = weather->ask_delay_ns,
        .gossip_period_ns = weather->gossip_period_ns,
        .notes = sim->options.notes,
    };
    if (sim->options.storm != NULL)
        set_detection(sim, rank, &options);
    host->sim = sim;
    host->rank = rank;
    host->tick_ns = CORE_NEVER;
    if (options.join_uid == 0) {
        host->epoch = 1;
        host->members = UINT64_MAX >> (PROGRAM_RANKS_MAX - options.size);
    }
    host->records = sim_alloc(sim->program->task_count, sizeof *host->records);
    host->ready = sim_alloc(sim->program->task_count, sizeof *host->ready);
    for (uint32_t i = 0; i < sim->program->task_count; i++)
        host->records[i].task = i;
    host->core = core_new(&options);
    if (host->core == NULL)
        abort();
}

void host_release(struct host *host)
{
    core_free(host->core);
    for (uint32_t i = 0; host->records != NULL && i < host->sim->program->task_count;
         i++)
        free(host->records[i].bytes);
    for (size_t i = 0; i < host->inbox_count; i++)
        parcel_free(host->inbox[i]);
    free(host->inbox);
    free(host->ready);
    free(host->records);
}

/* --- Outputs ---------------------------------------------------------------------- */

static void contract(struct host *host, const struct core_output *output,
                     const char *what)
{
    char text[MOOT_HASH_TEXT_BYTES];
    uint32_t task = sim_task(host->sim, &output->hash);
    sim_fail(
        host->sim, "contract", "rank %u, output %d %s, task %s: %s",
        (unsigned)host->rank, (int)output->type,
        output->type == CORE_OUT_SEND ? message_type_name(output->u.send.message.type)
                                      : "",
        task < host->sim->program->task_count ? host->sim->program->tasks[task].name
                                              : hash_format(&output->hash, text),
        what);
}

/* The record that an output is about; NULL, and the run has failed, if there is none.
 * What this rank holds must come back with the pointer that it was given. */
static struct record *record_of(struct host *host, const struct core_output *output)
{
    uint32_t task = sim_task(host->sim, &output->hash);
    if (task == host->sim->program->task_count) {
        contract(host, output, "not a task of the program");
        return NULL;
    }
    struct record *record = &host->records[task];
    bool ours = record->registered || record->adopted;
    if (output->user != record && (ours || output->user != NULL)) {
        contract(host, output, "comes with a foreign user pointer");
        return NULL;
    }
    return record;
}

static struct sight host_sight(const struct host *host, enum sight_type type,
                               uint32_t task)
{
    return (struct sight){.type = type,
                          .time_ns = host->sim->now_ns,
                          .rank = host->rank,
                          .peer = UINT32_MAX,
                          .task = task};
}

static bool attach_bytes(struct host *host, const struct core_output *output,
                         struct message_result *result)
{
    const struct record *record = record_of(host, output);
    if (record == NULL)
        return false;
    if (!record->kept || result->size != record->size ||
        result->status != record->status)
        contract(host, output, "sends a result that is not the one we have");
    result->payload = NULL;
    if (result->data == RESULT_BARE)
        return true;
    if (!record->kept_data)
        contract(host, output, "sends bytes that are not here");
    result->payload = record->bytes;
    return record->kept_data;
}

static bool is_dropped(struct sim *sim, const struct message *message)
{
    return (message->type == MESSAGE_DECISION &&
            sim_canary(sim, SIM_CANARY_DROP_DECISION)) ||
           (message->type == MESSAGE_RESULT && sim_canary(sim, SIM_CANARY_DROP_RESULT));
}

static void carry_send(struct host *host, const struct core_output *output)
{
    struct sim *sim = host->sim;
    struct message message = output->u.send.message;
    uint32_t to = output->u.send.to;
    if (to >= sim->program->rank_count || to == host->rank) {
        contract(host, output, "sends to nobody");
        return;
    }
    if (message.type == MESSAGE_RESULT &&
        !attach_bytes(host, output, &message.u.result))
        return;
    struct sight sight = host_sight(host, SIGHT_SEND, sim_task(sim, &message.hash));
    sight.peer = to;
    sight.message = &message;
    if (message.type != MESSAGE_ACK || !sim_canary(sim, SIM_CANARY_LOSE_ACK))
        sim_see(sim, &sight);
    if (message.type == MESSAGE_RESULT && sim_canary(sim, SIM_CANARY_SECOND_RESULT))
        sim_see(sim, &sight);
    sim->report->counts.sent[message.type]++;
    if (is_dropped(sim, &message))
        return;
    const char *why = NULL;
    struct parcel *parcel = parcel_new(sim->writer, host->rank, sim->uids[host->rank],
                                       to, sim->uids[to], &message, &why);
    if (parcel == NULL)
        contract(host, output, why);
    else
        network_send(sim, parcel);
}

static void set_bytes(struct record *record, const void *data, uint64_t size)
{
    free(record->bytes);
    record->bytes = sim_alloc(1, size);
    if (size > 0)
        memcpy(record->bytes, data, size);
}

/* Keeps the result in the message just received. */
static void carry_result(struct host *host, const struct core_output *output,
                         const struct core_event *event)
{
    struct record *record = record_of(host, output);
    if (record == NULL)
        return;
    struct message message = {
        .type = MESSAGE_RESULT, .hash = output->hash, .u.result = output->u.result};
    struct message_result *result = &message.u.result;
    bool came = event->type == CORE_EV_RECV &&
                event->u.recv.message->type == MESSAGE_RESULT &&
                hash_equal(&event->hash, &output->hash);
    if (!came && result->data != RESULT_BARE) {
        contract(host, output, "keeps a result that did not come");
        return;
    }
    record->kept = true;
    record->status = result->status;
    record->size = result->size;
    if (result->data != RESULT_BARE) {
        record->kept_data = true;
        set_bytes(record, result->payload, result->size);
        if (result->size > 0 && sim_canary(host->sim, SIM_CANARY_CORRUPT_RESULT))
            ((uint8_t *)record->bytes)[0] ^= 1;
    }
    if (output->user == NULL && !core_set_user(host->core, &output->hash, record))
        abort();
    if (sim_canary(host->sim, SIM_CANARY_CORRUPT_OWNER))
        result->owner_uid++;
    struct sight sight = host_sight(host, SIGHT_KEEP, record->task);
    sight.peer = came ? event->u.recv.from : UINT32_MAX;
    sight.message = &message;
    sight.code = record->status;
    sight.data = record->kept_data ? record->bytes : NULL;
    sight.size = record->size;
    sim_see(host->sim, &sight);
}

static void carry_done(struct host *host, const struct core_output *output)
{
    struct record *record = record_of(host, output);
    if (record == NULL)
        return;
    if (!record->kept || (output->u.done.data && !record->kept_data))
        contract(host, output, "is done, but the result is not here");
    record->done = true;
    record->done_data |= output->u.done.data;
    lane_wake(host, record->task);
    worker_wake(host, record->task);
}

static void carry_verdict(struct host *host, const struct core_output *output)
{
    struct record *record = record_of(host, output);
    if (record == NULL)
        return;
    record->verdict = record->last_verdict = output->u.verdict.code;
    struct sight sight = host_sight(host, SIGHT_VERDICT, record->task);
    sight.code = output->u.verdict.code;
    sight.chain = output->u.verdict.chain;
    sight.chain_count = output->u.verdict.chain_count;
    sim_see(host->sim, &sight);
    lane_wake(host, record->task);
    worker_wake(host, record->task);
}

static void carry_run(struct host *host, const struct core_output *output)
{
    struct record *record = record_of(host, output);
    if (record == NULL)
        return;
    if (record->run) {
        contract(host, output, "is to run a second time");
        return;
    }
    record->run = true;
    record->cancelled |= output->u.run.cancelled;
    struct sight sight = host_sight(host, SIGHT_RUN, record->task);
    sim_see(host->sim, &sight);
    worker_offer(host, record->task);
}

static void carry_note(struct host *host, const struct core_output *output)
{
    struct sight sight =
        host_sight(host, SIGHT_NOTE, sim_task(host->sim, &output->hash));
    sight.point = output->u.note.point;
    sight.peer = output->u.note.peer;
    sight.evidence = output->u.note.evidence;
    sim_see(host->sim, &sight);
    (void)trouble_at_point(host, sight.point);
}

static void carry_view(struct host *host, const struct core_output *output)
{
    struct sim *sim = host->sim;
    host->start_due = host->epoch == 0;
    host->epoch = output->u.view.epoch;
    trouble_enter_view(host, output->u.view.members->low);
    if (host->epoch > sim->newest_epoch) {
        sim->newest_epoch = host->epoch;
        sim->report->counts.views++;
    }
    struct sight sight = host_sight(host, SIGHT_VIEW, sim->program->task_count);
    sight.epoch = host->epoch;
    sight.members = output->u.view.members;
    sim_see(sim, &sight);
    sim->report->counts.joined += host->start_due;
}

static void carry_quorum(struct host *host, const struct core_output *output)
{
    bool have = output->u.quorum.have;
    if (host->no_quorum != have)
        contract(host, output, "tells of a quorum again");
    host->no_quorum = !have;
    host->sim->report->counts.no_quorum += !have;
    struct sight sight = host_sight(host, SIGHT_QUORUM, host->sim->program->task_count);
    sight.code = have;
    sim_see(host->sim, &sight);
    if (!have)
        lane_cut(host, MOOT_ERR_NO_QUORUM);
}

static void carry_fenced(struct host *host)
{
    struct sight sight = host_sight(host, SIGHT_FENCED, host->sim->program->task_count);
    sim_see(host->sim, &sight);
    host->sim->report->counts.fenced++;
    lane_cut(host, MOOT_ERR_FENCED);
    host->fenced = true;
    sim_moved(host->sim);
}

static void carry_adjourn(struct host *host, const struct core_output *output)
{
    host->adjourned = true;
    struct sight sight =
        host_sight(host, SIGHT_ADJOURN, host->sim->program->task_count);
    sight.code = output->u.adjourn.exit_code;
    sim_see(host->sim, &sight);
}

static void carry(struct host *host, const struct core_output *output,
                  const struct core_event *event)
{
    switch (output->type) {
    case CORE_OUT_SEND:
        carry_send(host, output);
        break;
    case CORE_OUT_RUN:
        carry_run(host, output);
        break;
    case CORE_OUT_CANCEL: {
        struct record *record = record_of(host, output);
        if (record != NULL)
            worker_cancel(host, record->task);
        break;
    }
    case CORE_OUT_RESULT:
        carry_result(host, output, event);
        break;
    case CORE_OUT_DONE:
        carry_done(host, output);
        break;
    case CORE_OUT_VERDICT:
        carry_verdict(host, output);
        break;
    case CORE_OUT_ADJOURN:
        carry_adjourn(host, output);
        break;
    case CORE_OUT_NOTE:
        carry_note(host, output);
        break;
    case CORE_OUT_VIEW:
        carry_view(host, output);
        break;
    case CORE_OUT_QUORUM:
        carry_quorum(host, output);
        break;
    case CORE_OUT_FENCED:
        carry_fenced(host);
        break;
    case CORE_OUT_REFUSE:
    case CORE_OUT_DIVERGED:
    default:
        contract(host, output, "was not expected in this mode");
        break;
    }
}

/* --- Events ----------------------------------------------------------------------- */

/* Has the core called when it wants to be; an earlier call that is armed stays, and
 * arms again. */
static void arm_tick(struct host *host)
{
    uint64_t due_ns = core_deadline(host->core);
    if (due_ns == CORE_NEVER || host_is_over(host))
        return;
    due_ns = trouble_when_ns(host, due_ns);
    if (due_ns < host->deaf_until_ns)
        due_ns = host->deaf_until_ns;
    if (due_ns < host->sim->now_ns)
        due_ns = host->sim->now_ns;
    if (due_ns >= host->tick_ns)
        return;
    host->tick_ns = due_ns;
    heap_push(host->sim, &(struct event){.time_ns = due_ns,
                                         .kind = EVENT_TICK,
                                         .rank = host->rank,
                                         .ticket = due_ns});
}

int host_step(struct host *host, const struct core_event *event)
{
    if (host_is_over(host))
        return MOOT_OK;
    struct core_outputs outputs = {0};
    int code = core_step(host->core, event, trouble_clock_ns(host), &outputs);
    if (code == MOOT_ERR_NO_CANDIDATE && host->sim->options.storm != NULL)
        return code;
    if (code != MOOT_OK) {
        sim_fail(host->sim, "contract", "rank %u: the core refuses event %d with %d",
                 (unsigned)host->rank, (int)event->type, code);
        return code;
    }
    for (size_t i = 0; i < outputs.count && !host->dead; i++)
        carry(host, &outputs.items[i], event);
    if (host->start_due) {
        host->start_due = false;
        lane_start(host);
    }
    if (host->woken && !host->dead) {
        host->woken = false;
        worker_settle(host);
        lane_settle(host);
    }
    if (host->closed && host->no_quorum && !host_is_over(host)) {
        host->left = true;
        struct sight sight =
            host_sight(host, SIGHT_LEFT, host->sim->program->task_count);
        sim_see(host->sim, &sight);
    }
    arm_tick(host);
    return MOOT_OK;
}

/* Sights of what did not happen. */
static void show_canaries(struct host *host, uint32_t task)
{
    struct sim *sim = host->sim;
    uint64_t all = host->members;
    struct rankset members = {.low = all};
    struct sight sight = host_sight(host, SIGHT_VERDICT, task);
    sight.code = MOOT_ERR_NOT_HELD;
    if (sim->program->tasks[task].candidates == 0 &&
        sim_canary(sim, SIM_CANARY_FALSE_VERDICT))
        sim_see(sim, &sight);
    sight.code = MOOT_ERR_MAYBE_RAN;
    if (sim_canary(sim, SIM_CANARY_FALSE_MAYBE))
        sim_see(sim, &sight);
    sight = host_sight(host, SIGHT_QUORUM, sim->program->task_count);
    if (sim_canary(sim, SIM_CANARY_FALSE_ALARM))
        sim_see(sim, &sight);
    sight = host_sight(host, SIGHT_VIEW, sim->program->task_count);
    sight.members = &members;
    sight.epoch = host->epoch + 1;
    if (sim_canary(sim, SIM_CANARY_NEEDLESS_VIEW))
        sim_see(sim, &sight);
    sight.epoch = host->epoch;
    members.low = UINT64_C(1) << host->rank;
    if (sim_canary(sim, SIM_CANARY_OTHER_VIEW))
        sim_see(sim, &sight);
}

void host_register(struct host *host, uint32_t index, uint32_t lane, bool adopted)
{
    struct sim *sim = host->sim;
    const struct program_task *task = &sim->program->tasks[index];
    struct record *record = &host->records[index];
    const struct message_spec *spec = &sim->specs[index];
    bool nested = task->parent != PROGRAM_NONE;
    struct core_event event = {.type = CORE_EV_REGISTER, .hash = sim->hashes[index]};
    event.u.reg = (struct core_register){
        .scope = spec->scope,
        .parent = spec->parent,
        .lane = lane,
        .flags = (task->once ? (uint32_t)CORE_TASK_ONCE : 0u) |
                 (nested ? (uint32_t)CORE_TASK_NESTED : 0u) |
                 (task->hint ? (uint32_t)CORE_TASK_HINT : 0u) |
                 (task->portable ? (uint32_t)CORE_TASK_PORTABLE : 0u) |
                 (adopted ? (uint32_t)CORE_TASK_ADOPTED : 0u),
        .inputs = spec->inputs,
        .input_count = spec->input_count,
        .after_count = spec->after_count,
        .candidates = spec->candidates,
        .spec = task->portable ? spec : NULL,
        .site = task->name,
        .user = record,
    };
    if (adopted)
        record->adopted = true;
    else
        record->registered = true;
    struct sight sight = host_sight(host, adopted ? SIGHT_ADOPT : SIGHT_SPAWN, index);
    sight.lane = lane;
    sim_see(sim, &sight);
    if (sim->options.storm != NULL)
        show_canaries(host, index);
    if (host_step(host, &event) == MOOT_OK)
        return;
    record->registered = record->adopted = false;
    sight.type = SIGHT_REFUSED;
    sim_see(sim, &sight);
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
                      own->input_count * sizeof *own->inputs) &&
           spec->key_size == own->key_size &&
           same_bytes(spec->key, own->key, own->key_size) &&
           hash_equal(&spec->scope, &own->scope) &&
           hash_equal(&spec->parent, &own->parent) &&
           (spec->candidates == NULL) == (own->candidates == NULL) &&
           (own->candidates == NULL ||
            rankset_equal(spec->candidates, own->candidates));
}

static void adopt_if_asked(struct host *host, const struct parcel *parcel)
{
    struct sim *sim = host->sim;
    const struct message *message = parcel->message;
    if (message->type != MESSAGE_MOTION || message->u.motion.spec == NULL ||
        !core_would_adopt(host->core, parcel->from, sim->uids[parcel->from], message))
        return;
    uint32_t task = sim_task(sim, &message->hash);
    if (task == sim->program->task_count || !sim->program->tasks[task].portable ||
        !is_spec_of(sim, task, message->u.motion.spec)) {
        sim_fail(sim, "contract", "rank %u adopts what the program does not have",
                 (unsigned)host->rank);
        return;
    }
    host_register(host, task, 0, true);
}

static void receive(struct host *host, const struct parcel *parcel)
{
    struct sim *sim = host->sim;
    adopt_if_asked(host, parcel);
    struct sight sight =
        host_sight(host, SIGHT_RECEIVE, sim_task(sim, &parcel->message->hash));
    sight.peer = parcel->from;
    sight.message = parcel->message;
    sim_see(sim, &sight);
    struct core_event event = {.type = CORE_EV_RECV, .hash = parcel->message->hash};
    event.u.recv.from = parcel->from;
    event.u.recv.uid = sim->uids[parcel->from];
    event.u.recv.message = parcel->message;
    host_step(host, &event);
}

void host_arrive(struct host *host, struct parcel *parcel)
{
    if (host_is_over(host)) {
        parcel_free(parcel);
        return;
    }
    if (host->inbox_count == host->inbox_capacity) {
        host->inbox_capacity =
            host->inbox_capacity == 0 ? 16 : host->inbox_capacity * 2;
        host->inbox = realloc(host->inbox, host->inbox_capacity * sizeof *host->inbox);
        if (host->inbox == NULL)
            abort();
    }
    host->inbox[host->inbox_count++] = parcel;
    if (host->poll_due)
        return;
    struct sim *sim = host->sim;
    uint64_t poll_ns =
        sim->now_ns + random_below(&sim->delays, sim->weather.poll_ns + 1);
    if (poll_ns < host->deaf_until_ns)
        poll_ns = host->deaf_until_ns;
    host->poll_due = true;
    heap_push(sim, &(struct event){
                       .time_ns = poll_ns, .kind = EVENT_POLL, .rank = host->rank});
}

static void take_inbox(struct host *host)
{
    for (size_t i = 0; i < host->inbox_count; i++) {
        if (!host_is_over(host))
            receive(host, host->inbox[i]);
        parcel_free(host->inbox[i]);
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
    if (random_chance(&sim->delays, sim->weather.gap_per_mille))
        host->deaf_until_ns =
            sim->now_ns + random_below(&sim->delays, sim->weather.gap_ns + 1);
}

/* A rank that was deaf hears before it looks at the clock, as a progress loop does. */
void host_tick(struct host *host, uint64_t armed_ns)
{
    if (host->tick_ns != armed_ns)
        return;
    host->tick_ns = CORE_NEVER;
    if (host->inbox_count > 0 && host->deaf_until_ns <= host->sim->now_ns)
        take_inbox(host);
    if (host_is_over(host))
        return;
    if (core_deadline(host->core) <= trouble_clock_ns(host) &&
        host->deaf_until_ns <= host->sim->now_ns)
        host_step(host, &(struct core_event){.type = CORE_EV_TICK});
    else
        arm_tick(host);
}
