/* micro_core.c - the core: its registry, and two cores that talk.
 *
 * Two cores stand on a bench without time or wire.  What one says is written as a frame
 * and read by the other at once, so that a way from core to core is all that a message
 * costs but the transport; tasks run the moment they may, and have 64 bytes of result.
 */
#include "tests/bench/micro.h"

#include "consensus/core.h"
#include "consensus/core_entry.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

enum { PAIR = 2, RESULT_BYTES = 64, DONES_MAX = 64, NOW_NS = 1000000 };

struct entry {
    struct core_entry core;
    long number;
};

struct pair {
    struct core *core[PAIR];
    struct wire_writer *writer[PAIR]; /* to the other */
    struct wire_frame frame[PAIR];    /* the last from the other, for its memory */
    moot_hash done[PAIR][DONES_MAX];  /* that have run, and are to be told so */
    size_t done_count[PAIR];
    long ended;              /* waits that have ended */
    moot_hash *hashes[PAIR]; /* by chair */
};

static const uint64_t UIDS[PAIR] = {1000, 1001};
static uint8_t payload[RESULT_BYTES];

/* --- Carrying out ----------------------------------------------------------------- */

static void carry_out(struct pair *pair, uint32_t rank, const struct core_output *out)
{
    if (out->type == CORE_OUT_RUN) {
        micro_check(pair->done_count[rank] < DONES_MAX, "too many tasks at once");
        pair->done[rank][pair->done_count[rank]++] = out->hash;
    } else if (out->type == CORE_OUT_DONE) {
        pair->ended++;
    } else if (out->type == CORE_OUT_SEND) {
        struct message message = out->u.send.message;
        if (message.type == MESSAGE_RESULT && message.u.result.data == RESULT_EAGER) {
            message.u.result.payload = payload;
        }
        micro_check(wire_writer_add(pair->writer[rank], &message) == MOOT_OK,
                    "a message cannot be written");
    }
}

static void step(struct pair *pair, uint32_t rank, const struct core_event *event)
{
    struct core_outputs out;
    micro_check(core_step(pair->core[rank], event, NOW_NS, &out) == MOOT_OK,
                "the core refuses an event");
    for (size_t i = 0; i < out.count; i++) {
        carry_out(pair, rank, &out.items[i]);
    }
}

static bool run_ready(struct pair *pair, uint32_t rank)
{
    if (pair->done_count[rank] == 0) {
        return false;
    }
    struct core_event event = {.type = CORE_EV_DONE,
                               .hash = pair->done[rank][--pair->done_count[rank]]};
    event.u.done.size = RESULT_BYTES;
    step(pair, rank, &event);
    return true;
}

static bool deliver(struct pair *pair, uint32_t from)
{
    if (wire_writer_count(pair->writer[from]) == 0) {
        return false;
    }
    uint32_t to = 1 - from;
    struct wire_envelope envelope = {.src_uid = UIDS[from], .dst_uid = UIDS[to]};
    core_view(pair->core[from], &envelope.epoch, &envelope.view_id);
    struct wire_frame *frame = &pair->frame[to];
    void *bytes;
    size_t size;
    const char *why;
    micro_check(wire_writer_finish(pair->writer[from], &envelope, &bytes, &size) ==
                        MOOT_OK &&
                    wire_frame_decode_again(bytes, size, frame, &why) == MOOT_OK,
                "a frame is lost");
    for (size_t i = 0; i < frame->count; i++) {
        struct core_event event = {.type = CORE_EV_RECV};
        event.u.recv.from = from;
        event.u.recv.uid = UIDS[from];
        event.u.recv.message = &frame->messages[i];
        step(pair, to, &event);
    }
    free(bytes);
    return true;
}

static bool tick(struct pair *pair, uint32_t rank)
{
    if (core_deadline(pair->core[rank]) > NOW_NS) {
        return false;
    }
    step(pair, rank, &(struct core_event){.type = CORE_EV_TICK});
    return true;
}

static void settle(struct pair *pair)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t rank = 0; rank < PAIR; rank++) {
            moved |= run_ready(pair, rank) || tick(pair, rank) || deliver(pair, rank);
        }
    }
}

/* --- Opening ---------------------------------------------------------------------- */

static void end_pair(void *argument)
{
    struct pair *pair = argument;
    for (uint32_t rank = 0; rank < PAIR; rank++) {
        core_free(pair->core[rank]);
        wire_writer_free(pair->writer[rank]);
        wire_frame_release(&pair->frame[rank]);
        free(pair->hashes[rank]);
    }
    free(pair);
}

static void step_lane(struct pair *pair, uint32_t rank, enum core_lane_state state)
{
    struct core_event event = {.type = CORE_EV_LANE};
    event.u.lane.state = state;
    step(pair, rank, &event);
}

static void find_hashes(struct pair *pair, uint32_t chair, long count)
{
    const struct rankset both = {.low = 3};
    long number = 0;
    pair->hashes[chair] = micro_alloc(count, sizeof(**pair->hashes));
    for (long i = 0; i < count; i++) {
        do {
            pair->hashes[chair][i] = micro_hash(number++);
        } while (placement_chair(&pair->hashes[chair][i], &both, NULL) != chair);
    }
}

/* With hashes 0 .. count - 1 of each chair. */
static void *begin_pair(long count)
{
    struct pair *pair = micro_alloc(1, sizeof(*pair));
    for (uint32_t rank = 0; rank < PAIR; rank++) {
        pair->core[rank] =
            core_new(&(struct core_options){.rank = rank,
                                            .size = PAIR,
                                            .uids = UIDS,
                                            .epoch = 1,
                                            .voters = 2,
                                            .vote_timeout_ns = CORE_NEVER,
                                            .ask_delay_ns = 1000000,
                                            .gossip_period_ns = 1000000,
                                            .entry_bytes = sizeof(struct entry)});
        pair->writer[rank] = wire_writer_new();
        micro_check(pair->core[rank] != NULL && pair->writer[rank] != NULL,
                    "no memory");
    }
    for (uint32_t rank = 0; rank < PAIR; rank++) {
        step_lane(pair, rank, CORE_LANE_RUNNING);
        find_hashes(pair, rank, count);
    }
    return pair;
}

/* --- The registry ----------------------------------------------------------------- */

static void insert(void *argument, long i)
{
    struct pair *pair = argument;
    struct entry *entry = core_enter(pair->core[0], &pair->hashes[0][i]);
    micro_check(entry != NULL, "no memory");
    entry->number = i;
}

static void *begin_find(long count)
{
    struct pair *pair = begin_pair(count);
    for (long i = 0; i < count; i++) {
        insert(pair, i);
    }
    return pair;
}

static void find(void *argument, long i)
{
    const struct pair *pair = argument;
    const struct entry *entry = core_user(pair->core[0], &pair->hashes[0][i]);
    micro_check(entry != NULL && entry->number == i, "not found");
}

static void register_task(struct pair *pair, uint32_t rank, const moot_hash *hash,
                          const moot_hash *inputs, size_t input_count, uint32_t flags)
{
    const long number = 0;
    struct core_register reg = {.flags = flags,
                                .inputs = inputs,
                                .input_count = input_count,
                                .host_size = sizeof(number)};
    struct core_event event = {.type = CORE_EV_REGISTER, .hash = *hash, .u.reg = &reg};
    void *stub = core_prune(pair->core[rank], hash, &reg);
    if (stub != NULL) {
        memcpy(core_stub_host(stub), &number, sizeof(number));
        event.type = CORE_EV_PRUNED;
        event.u.pruned.stubs = &stub;
        event.u.pruned.count = 1;
    }
    step(pair, rank, &event);
}

/* Rank 0's task at rank 1, taking the two before: what a spawn of a task that runs
 * elsewhere is to the core.  What it announces is said and heard. */
static void register_remote(void *argument, long i)
{
    struct pair *pair = argument;
    const moot_hash *hashes = pair->hashes[0];
    register_task(pair, 1, &hashes[i], i < 2 ? NULL : &hashes[i - 2], i < 2 ? 0 : 2, 0);
    settle(pair);
}

/* --- From core to core ------------------------------------------------------------ */

/* Rank 1 has tasks that each take one of rank 0's, which are running. */
static void *begin_push(long count)
{
    struct pair *pair = begin_pair(count);
    for (long i = 0; i < count; i++) {
        for (uint32_t rank = 0; rank < PAIR; rank++) {
            register_task(pair, rank, &pair->hashes[0][i], NULL, 0, 0);
            register_task(pair, rank, &pair->hashes[1][i], &pair->hashes[0][i], 1, 0);
            pair->done_count[rank] = 0;
            settle(pair);
        }
    }
    return pair;
}

/* The end of the producer, the result's way to rank 1, and the consumer's run. */
static void push(void *argument, long i)
{
    struct pair *pair = argument;
    pair->done[0][pair->done_count[0]++] = pair->hashes[0][i];
    (void)run_ready(pair, 0);
    (void)deliver(pair, 0);
    micro_check(run_ready(pair, 1), "a result did not come");
    settle(pair);
}

static void step_need(struct pair *pair, const moot_hash *hash,
                      enum core_event_type type)
{
    struct core_event event = {.type = type, .hash = *hash};
    event.u.need.want = WANT_DATA;
    step(pair, 1, &event);
}

/* Rank 1 alone spawns rank 0's task, with a hint, and waits for it: motion, decision,
 * and the run. */
static void vote(void *argument, long i)
{
    struct pair *pair = argument;
    const moot_hash *hash = &pair->hashes[0][i];
    long ended = pair->ended;
    register_task(pair, 1, hash, NULL, 0, CORE_TASK_HINT);
    step_need(pair, hash, CORE_EV_NEED);
    step_lane(pair, 1, CORE_LANE_BLOCKED);
    settle(pair);
    step_lane(pair, 1, CORE_LANE_RUNNING);
    step_need(pair, hash, CORE_EV_UNNEED);
    micro_check(pair->ended > ended, "a vote did not end");
}

const struct micro micro_core[] = {
    {"registry-insert", begin_pair, insert, end_pair},
    {"registry-find", begin_find, find, end_pair},
    {"register-remote", begin_pair, register_remote, end_pair},
    {"push", begin_push, push, end_pair},
    {"vote", begin_pair, vote, end_pair},
    {0}};
