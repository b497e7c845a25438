/* perform.c - what a rank's core puts out, carried out.
 *
 * The host holds the core to core.h: an output that breaks the contract fails the run
 * under the check "contract".
 */
#include "consensus/core_entry.h"
#include "consensus/sim/engine/sim_internal.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/identity.h"
#include <stdlib.h>
#include <string.h>

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
 * What this rank holds must come back with its entry. */
static struct record *record_of(struct host *host, const struct core_output *output)
{
    uint32_t task = sim_task(host->sim, &output->hash);
    if (task == host->sim->program->task_count) {
        contract(host, output, "not a task of the program");
        return NULL;
    }
    struct record *record = &host->records[task];
    bool ours = record->registered || record->adopted;
    struct sim_entry *entry = output->user;
    bool good = entry != NULL
                    ? hash_equal(&entry->core.hash, &output->hash) &&
                          (entry->record == NULL || entry->record == record) &&
                          (record->entry == NULL || record->entry == entry)
                    : !ours;
    if (!good) {
        contract(host, output, "comes with a foreign entry");
        return NULL;
    }
    if (entry != NULL) {
        entry->record = record;
        record->entry = entry;
    }
    return record;
}

static bool attach_bytes(struct host *host, const struct core_output *output,
                         struct message_result *result)
{
    const struct record *record = record_of(host, output);
    if (record == NULL || result->away) {
        return record != NULL;
    }
    if (!record->kept || result->size != record->size ||
        result->status != record->status) {
        contract(host, output, "sends a result that is not the one we have");
    }
    result->payload = NULL;
    if (result->data == RESULT_BARE) {
        return true;
    }
    bool part = !record->kept_data && result->part > 0 && record->partial != NULL;
    if (!record->kept_data && !part) {
        contract(host, output, "sends bytes that are not here");
    }
    result->payload = part ? record->partial : record->bytes;
    return record->kept_data || part;
}

static bool is_dropped(struct sim *sim, const struct message *message)
{
    return (message->type == MESSAGE_DECISION &&
            sim_canary(sim, SIM_CANARY_DROP_DECISION)) ||
           (message->type == MESSAGE_RESULT && sim_canary(sim, SIM_CANARY_DROP_RESULT));
}

static void show_send(struct host *host, uint32_t to, const struct message *message,
                      uint64_t size)
{
    struct sim *sim = host->sim;
    struct sight sight = host_sight(host, SIGHT_SEND, sim_task(sim, &message->hash));
    sight.peer = to;
    sight.message = message;
    sight.size = size;
    if (message->type != MESSAGE_ACK || !sim_canary(sim, SIM_CANARY_LOSE_ACK)) {
        sim_see(sim, &sight);
    }
    if (message->type == MESSAGE_RESULT && sim_canary(sim, SIM_CANARY_SECOND_RESULT)) {
        sim_see(sim, &sight);
    }
    sim->report->counts.sent[message->type]++;
}

static void carry_send(struct host *host, const struct core_output *output)
{
    struct sim *sim = host->sim;
    struct message message = output->u.send.message;
    uint32_t to = output->u.send.to;
    if (to >= sim->host_count || to == host->rank) {
        contract(host, output, "sends to nobody");
        return;
    }
    if (message.type == MESSAGE_RESULT &&
        !attach_bytes(host, output, &message.u.result)) {
        return;
    }
    const char *why = NULL;
    struct parcel *parcel = parcel_new(sim->writer, host->rank, sim->uids[host->rank],
                                       to, sim->uids[to], &message, &why);
    if (parcel == NULL) {
        contract(host, output, why);
        return;
    }
    show_send(host, to, &message, parcel_bytes(parcel));
    if (is_dropped(sim, &message)) {
        parcel_free(parcel);
    } else if (message.type == MESSAGE_RESULT &&
               sim_canary(sim, SIM_CANARY_LATE_RESULT)) {
        network_launch(sim, network_pair(sim, host->rank, to),
                       flight_new(sim, host->rank, to, parcel),
                       3 * liveness_bound_ns(sim), true);
    } else {
        carrier_send(host, parcel);
    }
}

static void set_bytes(struct record *record, const void *data, uint64_t size)
{
    free(record->bytes);
    record->bytes = sim_alloc(1, size);
    if (size > 0) {
        memcpy(record->bytes, data, size);
    }
}

/* All of what the parts before have left room for; the first makes that. */
static void keep_part(struct record *record, const struct message_result *result)
{
    if (result->part == 1) {
        free(record->partial);
        record->partial = sim_alloc(1, result->size);
        record->size = result->size; /* a word (T12) has told none */
    }
    memcpy((char *)record->partial + result_first(result), result->payload,
           result_brings(result));
}

static void carry_part(struct host *host, const struct core_output *output,
                       const struct core_event *event)
{
    struct record *record = record_of(host, output);
    const struct message_result *result = &output->u.result;
    if (record == NULL) {
        return;
    }
    if (event->type != CORE_EV_RECV || !hash_equal(&event->hash, &output->hash) ||
        result->part == 0 || (result->part > 1 && record->partial == NULL)) {
        contract(host, output, "keeps a part that did not come");
        return;
    }
    keep_part(record, result);
}

/* Keeps the result in the message just received. */
static void carry_result(struct host *host, const struct core_output *output,
                         const struct core_event *event)
{
    struct record *record = record_of(host, output);
    if (record == NULL) {
        return;
    }
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
    lane_wake(host, record->task); /* a wait by words needs no CORE_OUT_DONE */
    record->status = result->status;
    record->size = result->size;
    if (result->data != RESULT_BARE) {
        record->kept_data = true;
        if (result->part > 0) {
            keep_part(record, result);
            result->payload = record->partial;
        }
        set_bytes(record, result->payload, result->size);
        free(record->partial);
        record->partial = NULL;
        if (result->size > 0 && sim_canary(host->sim, SIM_CANARY_CORRUPT_RESULT)) {
            ((uint8_t *)record->bytes)[0] ^= 1;
        }
    }
    if (sim_canary(host->sim, SIM_CANARY_CORRUPT_OWNER)) {
        result->owner_uid++;
    }
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
    if (record == NULL) {
        return;
    }
    if (!record->kept || (output->u.done.data && !record->kept_data)) {
        contract(host, output, "is done, but the result is not here");
    }
    record->done = true;
    record->done_data |= output->u.done.data;
    lane_wake(host, record->task);
    worker_wake(host, record->task);
}

static void carry_verdict(struct host *host, const struct core_output *output)
{
    struct record *record = record_of(host, output);
    if (record == NULL) {
        return;
    }
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
    if (record == NULL) {
        return;
    }
    if (record->run) {
        contract(host, output, "is to run a second time");
        return;
    }
    record->run = true;
    record->cancelled |= output->u.run.code == MOOT_ERR_CANCELLED;
    record->lost = output->u.run.code == MOOT_ERR_RESULT_LOST;
    record->array_code = output->u.run.code;
    record->seen = output->u.run.seen;
    record->alone = output->u.run.alone && !sim_canary(host->sim, SIM_CANARY_BESIDE);
    struct sight sight = host_sight(host, SIGHT_RUN, record->task);
    sight.code = output->u.run.alone;
    sim_see(host->sim, &sight);
    worker_offer(host, record->task);
}

static void carry_elements(struct host *host, const struct core_output *output)
{
    struct record *record = record_of(host, output);
    if (record == NULL) {
        return;
    }
    const bool held = record->registered || record->adopted;
    if (!held || output->u.elements.places.end >
                     host->sim->program->tasks[record->task].elements) {
        contract(host, output, "runs elements that there are not");
        return;
    }
    array_offer(host, record->task, output->u.elements.places);
}

static void carry_note(struct host *host, const struct core_output *output)
{
    struct sight sight =
        host_sight(host, SIGHT_NOTE, sim_task(host->sim, &output->hash));
    sight.point = output->u.note.point;
    sight.peer = output->u.note.peer;
    sight.evidence = output->u.note.evidence;
    sim_see(host->sim, &sight);
    strike_at_point(host, sight.point);
}

/* I34. */
static void check_numbers(struct host *host, const struct core_output *output)
{
    const struct rankset *members = output->u.view.members;
    for (uint32_t rank = rankset_next(members, 0); rank != UINT32_MAX;
         rank = rankset_next(members, rank + 1)) {
        if (core_incarnation(host->core, rank) != host->sim->uids[rank]) {
            contract(host, output, "takes one incarnation for another");
        }
    }
    if (!rankset_has(members, host->rank)) {
        contract(host, output, "has another's number");
    }
}

static void carry_view(struct host *host, const struct core_output *output)
{
    struct sim *sim = host->sim;
    check_numbers(host, output);
    if (host->undone) {
        go_back_forget(host);
    }
    host->start_due = host->epoch == 0;
    host->epoch = output->u.view.epoch;
    strike_enter_view(host, output->u.view.members);
    if (host->epoch > sim->newest_epoch) {
        sim->newest_epoch = host->epoch;
        sim->report->counts.views++;
    }
    if (host->start_due && sim->going_back != NULL) {
        go_back_join(host);
    }
    struct sight sight = host_sight(host, SIGHT_VIEW, sim->program->task_count);
    sight.epoch = host->epoch;
    sight.step = host->generation;
    sight.members = output->u.view.members;
    sim_see(sim, &sight);
    sim->report->counts.joined += host->start_due;
    sim->report->counts.boundary_joined +=
        host->start_due && boundary_is_somewhere(sim);
    host->woken |= host->session.phase == SESSION_ALONE;
}

static void carry_quorum(struct host *host, const struct core_output *output)
{
    bool have = output->u.quorum.have;
    if (host->no_quorum != have) {
        contract(host, output, "tells of a quorum again");
    }
    host->no_quorum = !have;
    host->sim->report->counts.no_quorum += !have;
    struct sight sight = host_sight(host, SIGHT_QUORUM, host->sim->program->task_count);
    sight.code = have;
    sim_see(host->sim, &sight);
    if (!have) {
        lane_cut(host, MOOT_ERR_NO_QUORUM);
    }
}

static void carry_fenced(struct host *host)
{
    struct sight sight = host_sight(host, SIGHT_FENCED, host->sim->program->task_count);
    sim_see(host->sim, &sight);
    host->sim->report->counts.fenced++;
    lane_cut(host, MOOT_ERR_FENCED);
    host->fenced = true;
    host->over_ns = host->sim->now_ns;
    sim_moved(host->sim);
}

/* All that it had is with others. */
static void carry_departed(struct host *host)
{
    struct sight sight =
        host_sight(host, SIGHT_DEPARTED, host->sim->program->task_count);
    sim_see(host->sim, &sight);
    host->sim->report->counts.departed++;
    host->left = true;
    host->over_ns = host->sim->now_ns;
    sim_moved(host->sim);
}

/* Its bytes go, and with them what a lane could still read. */
static void carry_forget_one(struct host *host, struct sim_entry *entry)
{
    const struct core_output output = {
        .type = CORE_OUT_FORGET, .hash = entry->core.hash, .user = entry};
    bool stub = core_is_stub(entry);
    uint32_t task = sim_task(host->sim, &output.hash);
    struct record *record = stub ? &host->records[task] : record_of(host, &output);
    if (record == NULL) {
        return;
    }
    if (record->entry != NULL && record->entry != entry) {
        contract(host, &output, "was known by another entry");
    }
    record->entry = NULL;
    if (stub) {
        core_entry_give(host->core, entry);
    } else if (!host_keep_forgotten(host, entry)) {
        contract(host, &output, "comes with its room written to");
        return;
    }
    struct sight sight = host_sight(host, SIGHT_FORGET, record->task);
    if (!host->undone) { /* else it is not told one by one */
        sim_see(host->sim, &sight);
    }
    free(record->bytes);
    free(record->partial);
    record->bytes = record->partial = NULL;
    record->forgotten = true;
}

static void carry_forget(struct host *host, const struct core_output *output)
{
    for (uint32_t i = 0; i < output->u.forget.count && !host->dead; i++) {
        carry_forget_one(host, output->u.forget.users[i]);
    }
}

static void carry_adjourn(struct host *host, const struct core_output *output)
{
    host->adjourned = true;
    struct sight sight =
        host_sight(host, SIGHT_ADJOURN, host->sim->program->task_count);
    sight.code = output->u.adjourn.exit_code;
    sim_see(host->sim, &sight);
}

static void carry_met(struct host *host, const struct core_output *output)
{
    if (!host->meets || host->met || output->u.met.number != host->meetings) {
        contract(host, output, "is of a meeting that it is not at");
    }
    host->met = true;
    host->met_code = output->u.met.code;
    host->woken = true;
    rankset_release(&host->came);
    if (output->u.met.came != NULL) {
        ranks_copy(&host->came, output->u.met.came);
    }
    struct sight sight = host_sight(host, SIGHT_MET, host->sim->program->task_count);
    sight.meeting = output->u.met.number;
    sight.code = output->u.met.code;
    sight.members = output->u.met.came;
    sight.data = output->u.met.words;
    sight.size = output->u.met.words_size;
    sim_see(host->sim, &sight);
}

static void carry_signature(struct host *host, const struct core_output *output)
{
    struct sight sight =
        host_sight(host, SIGHT_SIGNATURE, host->sim->program->task_count);
    sight.peer = output->u.signature.rank;
    sight.code = (int32_t)output->u.signature.what;
    sight.step = output->u.signature.step;
    sight.hash = &output->u.signature.theirs;
    sight.others = &output->u.signature.others;
    sim_see(host->sim, &sight);
}

static void carry_diverged(struct host *host, const struct core_output *output)
{
    if (host->diverged || host->sim->weather.mode != CORE_STRICT) {
        contract(host, output, "tells of a difference again, or of one to be repaired");
    }
    host->diverged = true;
    struct sight sight =
        host_sight(host, SIGHT_DIVERGED, host->sim->program->task_count);
    sight.diverged = &output->u.diverged;
    sight.lane = output->u.diverged.lane;
    sight.code = (int32_t)output->u.diverged.position;
    sim_see(host->sim, &sight);
    lane_cut(host, MOOT_ERR_DIVERGED);
}

static void carry_cancel(struct host *host, const struct core_output *output)
{
    const struct record *record = record_of(host, output);
    if (record != NULL && host->sim->program->tasks[record->task].elements > 0) {
        array_cancel(host, record->task);
    } else if (record != NULL) {
        worker_cancel(host, record->task);
    }
}

/* The rank is out: against its will, or as it asked. */
static void carry_end_here(struct host *host, const struct core_output *output)
{
    if (output->type == CORE_OUT_FENCED) {
        carry_fenced(host);
    } else {
        carry_departed(host);
    }
}

void carry(struct host *host, const struct core_output *output,
           const struct core_event *event)
{
    switch (output->type) {
    case CORE_OUT_SEND:
        carry_send(host, output);
        break;
    case CORE_OUT_RUN:
        carry_run(host, output);
        break;
    case CORE_OUT_ELEMENTS:
        carry_elements(host, output);
        break;
    case CORE_OUT_CANCEL:
        carry_cancel(host, output);
        break;
    case CORE_OUT_RESULT:
        carry_result(host, output, event);
        break;
    case CORE_OUT_PART:
        carry_part(host, output, event);
        break;
    case CORE_OUT_DONE:
        carry_done(host, output);
        break;
    case CORE_OUT_AWAITED:
        lane_words_in(host, output->u.awaited.lane);
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
    case CORE_OUT_LEFT:
        carry_end_here(host, output);
        break;
    case CORE_OUT_FORGET:
        carry_forget(host, output);
        break;
    case CORE_OUT_MET:
        carry_met(host, output);
        break;
    case CORE_OUT_DIVERGED:
        carry_diverged(host, output);
        break;
    case CORE_OUT_SIGNATURE:
        carry_signature(host, output);
        break;
    case CORE_OUT_CUT:
    case CORE_OUT_COMMIT:
    case CORE_OUT_SNAPSHOT_DONE:
    case CORE_OUT_MARK:
    case CORE_OUT_RELOADED:
        disk_carry(host, output);
        break;
    case CORE_OUT_REFUSE:
    default:
        contract(host, output, "was not expected in this mode");
        break;
    }
}
