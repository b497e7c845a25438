/* inbox.c - see inbox.h. */
#include "node/engine/inbox.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/engine/dispatch.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/tasks/kernel.h"
#include "proto/wire.h"

#include <stdlib.h>

enum { INBOX_FRAMES_PER_POLL = 64, RECORDS_AHEAD = 2, PLACES_AHEAD = 8 };

enum arrival_type { ARRIVAL_FRAME, ARRIVAL_LENT, ARRIVAL_BULK, ARRIVAL_BULK_SENT };

struct arrival {
    enum arrival_type type;
    uint64_t uid;
    union {
        void *data; /* the frame's bytes, or the cookie */
        const void *lent;
    };
    size_t size;
};

/* A BULK result whose bytes are on their way. */
struct bulk_in {
    struct bulk_in *prev, *next;
    struct message message;
    uint32_t from;
    struct payload *payload; /* or, without memory for it: */
    void *scratch;
};

struct uid_rank {
    uint64_t uid;
    uint32_t rank;
};

struct inbox {
    struct arrival *arrivals;
    size_t count, room;
    struct bulk_in *flying; /* list */
    struct uid_rank *ranks; /* sorted by uid */
    bool *reported;         /* per rank: a malformed frame was */
    uint32_t size;          /* of `ranks`: those that have come */
    bool out_of_memory;
    struct wire_frame frame; /* the last that was taken, for its memory */
};

static int compare_uids(const void *a, const void *b)
{
    uint64_t left = ((const struct uid_rank *)a)->uid;
    uint64_t right = ((const struct uid_rank *)b)->uid;
    return (left > right) - (left < right);
}

struct inbox *inbox_new(const struct transport_group *group)
{
    struct inbox *inbox = calloc(1, sizeof(*inbox));
    if (inbox == NULL) {
        return NULL;
    }
    inbox->ranks = calloc(group->size, sizeof(*inbox->ranks));
    inbox->reported = calloc(group->size, sizeof(*inbox->reported));
    if (inbox->ranks == NULL || inbox->reported == NULL) {
        inbox_free(inbox, true);
        return NULL;
    }
    for (uint32_t rank = 0; rank < group->size; rank++) {
        if (group->uids[rank] != 0) {
            inbox->ranks[inbox->size++] = (struct uid_rank){group->uids[rank], rank};
        }
    }
    qsort(inbox->ranks, inbox->size, sizeof(*inbox->ranks), compare_uids);
    return inbox;
}

void inbox_name(struct inbox *inbox, uint64_t uid, uint32_t rank)
{
    inbox->ranks[inbox->size++] = (struct uid_rank){uid, rank};
    qsort(inbox->ranks, inbox->size, sizeof(*inbox->ranks), compare_uids);
}

static void bulk_in_free(struct bulk_in *bulk)
{
    payload_drop(bulk->payload);
    scratch_free(bulk->scratch, result_brings(&bulk->message.u.result));
    free(bulk);
}

void inbox_free(struct inbox *inbox, bool quiet)
{
    if (inbox == NULL) {
        return;
    }
    for (size_t i = 0; i < inbox->count; i++) {
        if (inbox->arrivals[i].type == ARRIVAL_FRAME) {
            free(inbox->arrivals[i].data);
        }
    }
    while (inbox->flying != NULL) {
        struct bulk_in *next = inbox->flying->next;
        if (!quiet) {
            payload_keep(inbox->flying->payload);
            inbox->flying->scratch = NULL;
        }
        bulk_in_free(inbox->flying);
        inbox->flying = next;
    }
    wire_frame_release(&inbox->frame);
    free(inbox->arrivals);
    free(inbox->ranks);
    free(inbox->reported);
    free(inbox);
}

/* UINT32_MAX: nobody's. */
static uint32_t rank_of(const struct inbox *inbox, uint64_t uid)
{
    struct uid_rank key = {.uid = uid};
    const struct uid_rank *found =
        bsearch(&key, inbox->ranks, inbox->size, sizeof(*inbox->ranks), compare_uids);
    return found != NULL ? found->rank : UINT32_MAX;
}

/* --- Messages ------------------------------------------------------------------- */

static void feed(struct moot *m, uint32_t from, const struct message *message)
{
    struct core_event event = {.type = CORE_EV_RECV, .hash = message->hash};
    event.u.recv.from = from;
    event.u.recv.uid = m->group.uids[from];
    event.u.recv.message = message;
    engine_step(m, &event);
}

/* Takes over the payload; NULL with bytes to hold means that there was no memory. */
HOT static void feed_result(struct moot *m, uint32_t from,
                            const struct message *message, struct payload *payload)
{
    struct message told = *message;
    if (message->u.result.part == 1 && payload != NULL) {
        m->engine.whole = payloads_new(&m->store.payloads, message->u.result.size);
    }
    if (message->u.result.part == 1 && m->engine.whole == NULL) {
        payload_drop(payload);
        payload = NULL;
    }
    if (payload == NULL && told.u.result.size > 0) {
        told.u.result.status = MOOT_ERR_NO_MEMORY;
        told.u.result.size = told.u.result.part = told.u.result.parts = 0;
    }
    told.u.result.payload = payload != NULL ? payload->data : NULL;
    m->engine.incoming = payload;
    feed(m, from, &told);
    payload_drop(m->engine.incoming); /* not accepted */
    payload_drop(m->engine.whole);
    m->engine.incoming = m->engine.whole = NULL;
}

static void expect_bulk(struct moot *m, uint32_t from, const struct message *message)
{
    uint64_t size = result_brings(&message->u.result);
    if (m->members.all[from].state == MEMBER_DEAD) {
        return; /* its bytes will not come */
    }
    struct bulk_in *bulk = calloc(1, sizeof(*bulk));
    if (bulk == NULL) {
        engine_starve(m, "no memory to receive from rank %u", from);
        return;
    }
    bulk->message = *message;
    bulk->from = from;
    bulk->payload = payloads_new(&m->store.payloads, size);
    if (bulk->payload == NULL) {
        bulk->scratch = scratch_new(size);
    }
    void *place = bulk->payload != NULL ? bulk->payload->data : bulk->scratch;
    if (place == NULL) {
        free(bulk);
        engine_starve(m, "no memory, and no addresses, for a result of %llu bytes",
                      (unsigned long long)size);
        return;
    }
    bulk->next = m->engine.inbox->flying;
    if (bulk->next != NULL) {
        bulk->next->prev = bulk;
    }
    m->engine.inbox->flying = bulk;
    int error = m->transport->ops->bulk_receive(m->transport, m->group.uids[from],
                                                place, (size_t)size, bulk);
    if (error != MOOT_OK) {
        engine_fail_all(m, error, "rank %u cannot receive from rank %u: %s",
                        m->group.rank, from, m->transport->ops->story(m->transport));
    }
}

static void take_bulk(struct moot *m, struct bulk_in *bulk)
{
    if (bulk->prev != NULL) {
        bulk->prev->next = bulk->next;
    } else {
        m->engine.inbox->flying = bulk->next;
    }
    if (bulk->next != NULL) {
        bulk->next->prev = bulk->prev;
    }
    struct payload *payload = bulk->payload;
    bulk->payload = NULL;
    feed_result(m, bulk->from, &bulk->message, payload);
    bulk_in_free(bulk);
}

/* Two programs that differ usually differ in all of their kernels. */
enum { REBUILT_SAID_MAX = 8 };

/* The first eight digits, which are enough to tell builds apart. */
static void add_build(struct text *to, const unsigned char *build, size_t size)
{
    for (size_t i = 0; i < size && i < 4; i++) {
        text_add(to, "%02x", build[i]);
    }
}

void inbox_say_rebuilt(struct moot *m, struct kernel *kernel)
{
    char here[TRANSPORT_HOST_BYTES], there[TRANSPORT_HOST_BYTES];
    struct text own = {0}, other = {0};
    if (!kernel->rebuilt || kernel->rebuilt_said ||
        m->tasks.kernels.rebuilt > REBUILT_SAID_MAX) {
        return;
    }
    kernel->rebuilt_said = true;
    add_build(&own, kernel->build, kernel->build_size);
    add_build(&other, kernel->peer_build, kernel->peer_build_size);
    report_add(
        m,
        "moot: rank %u (%s): kernel '%s' here is of build %s..., and on rank %u (%s) "
        "of build %s...: %s\n",
        m->group.rank, transport_group_host(&m->group, here, sizeof(here)),
        kernel->name, text_get(&own), kernel->rebuilt_rank,
        transport_group_host_of(&m->group, kernel->rebuilt_rank, there, sizeof(there)),
        text_get(&other),
        kernel->conflict ? "its tasks are refused"
                         : "they may compute different things; with "
                           "MOOT_KERNEL_BY_BUILD=1 its tasks are refused");
    text_release(&own);
    text_release(&other);
}

/* A newcomer's registration counts for nothing with ranks that were there before it:
 * where theirs is another one it is told theirs, and is the one that errs. */
static bool refuse_kernel(struct moot *m, uint32_t of,
                          const struct message_kernel *said)
{
    struct kernel *own = kernel_find(&m->tasks.kernels, said->name);
    if (of < m->group.founders || of < m->group.rank ||
        (own != NULL && !kernel_conflicts(&m->tasks.kernels, own, said))) {
        return false;
    }
    if (own != NULL) {
        outbox_add_kernel(m, of, own);
    }
    return true;
}

bool inbox_take_kernel(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_kernel *said = &message->u.kernel;
    struct core_tree_view tree;
    bool news = false;
    const uint32_t named = said->rank_plus_one - 1; /* 0: UINT32_MAX */
    const uint32_t of = named < m->group.size ? named : from;
    if (refuse_kernel(m, of, said)) {
        return false;
    }
    struct kernel *kernel = kernel_hear(&m->tasks.kernels, of, said, &news);
    if (news && core_tree_look(m->core, &tree)) {
        outbox_pass_kernel(m, from, of, said);
        kernel_passed(&m->tasks.kernels, said);
    }
    if (kernel != NULL) {
        if (kernel->told) {
            outbox_add_kernel(m, from, kernel);
        } else {
            outbox_tell_kernel(m, kernel); /* a third rank may know neither of us */
        }
        inbox_say_rebuilt(m, kernel);
        progress_ended(m);
        progress_wake(m);
    }
    return false;
}

bool inbox_take_result(struct moot *m, uint32_t from, const struct message *message)
{
    const struct message_result *result = &message->u.result;
    if (result->data == RESULT_BULK) {
        expect_bulk(m, from, message);
    } else if (result->data == RESULT_EAGER) {
        feed_result(m, from, message,
                    payloads_copy(&m->store.payloads, result->payload, result->size));
    }
    return result->data != RESULT_BULK && result->data != RESULT_EAGER;
}

static void take_message(struct moot *m, uint32_t from, const struct message *message)
{
    m->engine.stirs += message_is(message->type, MESSAGE_IS_STIRS);
    engine_message_fn take = m->engine.hooks->messages[message->type];
    if (take == NULL || take(m, from, message)) {
        feed(m, from, message);
    }
}

/* --- Frames --------------------------------------------------------------------- */

static void refuse(struct moot *m, uint32_t from, const char *why)
{
    m->counts.frames_refused++;
    bool known = from < m->group.size;
    if (known && m->engine.inbox->reported[from]) {
        return;
    }
    if (known) {
        m->engine.inbox->reported[from] = true;
    }
    report_add(m,
               "moot: rank %u dropped a malformed frame from rank %lld: %s (counted in "
               "frames_refused; said once per peer)\n",
               m->group.rank, known ? (long long)from : -1LL, why);
}

/* What the messages are about has mostly not been touched for long: neither the record
 * nor, where there are many, the place in the table that says where it is. */
HOT static void expect(const struct moot *m, const struct wire_frame *frame, size_t i)
{
    if (i + PLACES_AHEAD < frame->count) {
        core_expect(m->core, &frame->messages[i + PLACES_AHEAD].hash);
    }
    if (i < frame->count) {
        core_expect_known(m->core, &frame->messages[i].hash);
    }
}

/* The wire has delivered it, and will not again: without memory to read it this rank
 * cannot go on. */
HOT static bool read_frame(struct moot *m, uint32_t from, const void *bytes,
                           size_t size)
{
    struct wire_frame *frame = &m->engine.inbox->frame;
    const char *why = "";
    int error = wire_frame_decode_again(bytes, size, frame, &why);
    if (error == MOOT_ERR_NO_MEMORY && core_give_spare(m->core)) {
        error = wire_frame_decode_again(bytes, size, frame, &why);
    }
    if (error == MOOT_ERR_NO_MEMORY) {
        engine_starve(m, "no memory to read what rank %u says", from);
    } else if (error != MOOT_OK) {
        refuse(m, from, why);
    }
    return error == MOOT_OK;
}

HOT static void take_frame(struct moot *m, uint64_t uid, const void *bytes, size_t size)
{
    uint32_t from = rank_of(m->engine.inbox, uid);
    const struct wire_frame *frame = &m->engine.inbox->frame;
    if (!read_frame(m, from, bytes, size)) {
        return;
    }
    if (frame->envelope.dst_uid != m->group.uids[m->group.rank]) {
        refuse(m, from, "it is addressed to another incarnation");
    } else if (from == UINT32_MAX || frame->envelope.src_uid != uid) {
        refuse(m, from, "its sender is unknown");
    } else {
        for (size_t i = 0; i < RECORDS_AHEAD; i++) {
            expect(m, frame, i);
        }
        for (size_t i = 0; i < frame->count; i++) {
            expect(m, frame, i + RECORDS_AHEAD);
            take_message(m, from, &frame->messages[i]);
        }
    }
}

static void arrive(struct inbox *inbox, struct arrival arrival)
{
    if (inbox->count == inbox->room) {
        size_t room = inbox->room ? inbox->room * 2 : 64;
        struct arrival *grown = realloc(inbox->arrivals, room * sizeof(*grown));
        if (grown == NULL) {
            inbox->out_of_memory = true;
            if (arrival.type == ARRIVAL_FRAME) {
                free(arrival.data);
            }
            return;
        }
        inbox->arrivals = grown;
        inbox->room = room;
    }
    inbox->arrivals[inbox->count++] = arrival;
}

static void on_frame(void *context, uint64_t from_uid, void *bytes, size_t size)
{
    arrive(context, (struct arrival){ARRIVAL_FRAME, from_uid, {bytes}, size});
}

HOT static void on_lent(void *context, uint64_t from_uid, const void *bytes,
                        size_t size)
{
    arrive(context,
           (struct arrival){
               .type = ARRIVAL_LENT, .uid = from_uid, .lent = bytes, .size = size});
}

static void on_bulk(void *context, uint64_t from_uid, void *cookie)
{
    arrive(context, (struct arrival){ARRIVAL_BULK, from_uid, {cookie}, 0});
}

static void on_bulk_sent(void *context, uint64_t to_uid, void *cookie)
{
    arrive(context, (struct arrival){ARRIVAL_BULK_SENT, to_uid, {cookie}, 0});
}

static void take_arrival(struct moot *m, const struct arrival *arrival)
{
    switch (arrival->type) {
    case ARRIVAL_FRAME:
        take_frame(m, arrival->uid, arrival->data, arrival->size);
        free(arrival->data);
        break;
    case ARRIVAL_LENT:
        take_frame(m, arrival->uid, arrival->lent, arrival->size);
        break;
    case ARRIVAL_BULK:
        m->engine.stirs++;
        take_bulk(m, arrival->data);
        break;
    case ARRIVAL_BULK_SENT:
        m->engine.stirs++;
        outbox_bulk_sent(m, arrival->data);
        break;
    }
}

bool inbox_poll(struct moot *m)
{
    struct inbox *inbox = m->engine.inbox;
    const struct transport_receiver receiver = {inbox, on_frame, on_bulk, on_bulk_sent,
                                                on_lent};
    int error = m->transport->ops->poll(m->transport, &receiver, INBOX_FRAMES_PER_POLL);
    if (error < 0 && m->engine.fatal == 0) {
        report_add(m, "moot: rank %u: the transport failed: %s\n", m->group.rank,
                   m->transport->ops->story(m->transport));
        engine_fail_all(m, error, "rank %u: the transport failed: %s", m->group.rank,
                        m->transport->ops->story(m->transport));
    }
    if (inbox->out_of_memory) {
        engine_starve(m, "no memory for what came in");
    }
    bool any = inbox->count > 0;
    if (any) {
        m->engine.hooks->newcomers(m);
        engine_settle(m); /* while no result is being taken in */
    }
    for (size_t i = 0; i < inbox->count; i++) {
        take_arrival(m, &inbox->arrivals[i]);
    }
    inbox->count = 0;
    return any;
}
