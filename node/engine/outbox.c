/* outbox.c - see outbox.h. */
#include "node/engine/outbox.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "hashing/placement.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/tasks/family.h"
#include "node/tasks/kernel.h"
#include "node/tasks/task.h"
#include "proto/wire.h"

#include <assert.h>
#include <stdlib.h>

enum {
    OUTBOX_WINDOW_FRAMES = 32,
    OUTBOX_PART_BYTES = 16 << 10, /* a long turn's frame: the peer may begin */
    OUTBOX_HURRY_BYTES = 1 << 20
};

struct bulk_out {
    struct bulk_out *prev, *next; /* in the peer's queue, then in flight */
    struct payload *payload;
    uint64_t first, size; /* of its bytes */
};

struct bulk_list {
    struct bulk_out *first, *last;
};

struct outbox_peer {
    struct wire_writer *writer; /* made with the first message */
    uint64_t epoch, view_id;    /* of what is in it */
    struct bulk_list bulk;      /* announced in it */
    bool listed;                /* in `dirty` */
};

struct outbox {
    uint32_t size;
    struct outbox_peer *peers;
    uint32_t *dirty; /* ranks with something to send, */
    uint32_t dirty_count;
    uint32_t kept_count; /* of them: the last flush kept back */
    uint32_t *flushed;   /* and the memory of that list before the last flush */
    struct bulk_list flying;
};

static void bulk_append(struct bulk_list *list, struct bulk_out *bulk)
{
    bulk->prev = list->last;
    bulk->next = NULL;
    if (list->last != NULL) {
        list->last->next = bulk;
    } else {
        list->first = bulk;
    }
    list->last = bulk;
}

static void bulk_remove(struct bulk_list *list, struct bulk_out *bulk)
{
    if (bulk->prev != NULL) {
        bulk->prev->next = bulk->next;
    } else {
        list->first = bulk->next;
    }
    if (bulk->next != NULL) {
        bulk->next->prev = bulk->prev;
    } else {
        list->last = bulk->prev;
    }
}

static void bulk_free_all(struct bulk_list *list)
{
    while (list->first != NULL) {
        struct bulk_out *next = list->first->next;
        payload_drop(list->first->payload);
        free(list->first);
        list->first = next;
    }
    list->last = NULL;
}

struct outbox *outbox_new(uint32_t size)
{
    struct outbox *outbox = calloc(1, sizeof(*outbox));
    if (outbox == NULL) {
        return NULL;
    }
    outbox->size = size;
    outbox->peers = calloc(size, sizeof(*outbox->peers));
    outbox->dirty = calloc(size, sizeof(*outbox->dirty));
    outbox->flushed = calloc(size, sizeof(*outbox->flushed));
    if (outbox->peers == NULL || outbox->dirty == NULL || outbox->flushed == NULL) {
        outbox_free(outbox, true);
        return NULL;
    }
    return outbox;
}

void outbox_free(struct outbox *outbox, bool quiet)
{
    if (outbox == NULL) {
        return;
    }
    for (uint32_t rank = 0; outbox->peers != NULL && rank < outbox->size; rank++) {
        wire_writer_free(outbox->peers[rank].writer);
        bulk_free_all(&outbox->peers[rank].bulk);
    }
    for (struct bulk_out *bulk = outbox->flying.first; bulk != NULL && !quiet;
         bulk = bulk->next) {
        payload_keep(bulk->payload);
    }
    bulk_free_all(&outbox->flying);
    free(outbox->peers);
    free(outbox->dirty);
    free(outbox->flushed);
    free(outbox);
}

/* --- Sending -------------------------------------------------------------------- */

static void fail_transport(struct moot *m, int code, uint32_t to)
{
    engine_fail_all(m, code, "rank %u cannot send to rank %u: %s", m->group.rank, to,
                    m->transport->ops->story(m->transport));
}

static void send_bulk(struct moot *m, uint32_t to)
{
    struct outbox_peer *peer = &m->engine.outbox->peers[to];
    while (peer->bulk.first != NULL) {
        struct bulk_out *bulk = peer->bulk.first;
        bulk_remove(&peer->bulk, bulk);
        bulk_append(&m->engine.outbox->flying, bulk);
        int error = m->transport->ops->bulk_send(
            m->transport, m->group.uids[to], (char *)bulk->payload->data + bulk->first,
            (size_t)bulk->size, bulk);
        if (error != MOOT_OK) {
            fail_transport(m, error, to);
        }
    }
}

/* Writes the frame where its bytes leave from, if there is such a place. */
static bool place_frame(struct moot *m, struct wire_writer *writer,
                        const struct wire_envelope *envelope)
{
    const struct transport_ops *ops = m->transport->ops;
    size_t size = wire_writer_size(writer);
    void *place =
        ops->place != NULL ? ops->place(m->transport, envelope->dst_uid, size) : NULL;
    if (place == NULL) {
        return false;
    }
    int error = wire_writer_put(writer, envelope, place);
    assert(error == MOOT_OK); /* outbox_add keeps a writer to one view */
    (void)error;
    ops->placed(m->transport, envelope->dst_uid, size);
    return true;
}

static bool hand_frame(struct moot *m, uint32_t to, struct wire_writer *writer,
                       const struct wire_envelope *envelope)
{
    void *frame;
    size_t size;
    int error = wire_writer_finish(writer, envelope, &frame, &size);
    if (error == MOOT_ERR_NO_MEMORY && core_give_spare(m->core)) {
        error = wire_writer_finish(writer, envelope, &frame, &size);
    }
    if (error != MOOT_OK) {
        engine_starve(m, "no memory for a frame to rank %u", to);
        return false;
    }
    error = m->transport->ops->send(m->transport, envelope->dst_uid, frame, size);
    if (error != MOOT_OK) {
        fail_transport(m, error, to);
    }
    return error == MOOT_OK;
}

HOT static void send_frame(struct moot *m, uint32_t to)
{
    struct outbox_peer *peer = &m->engine.outbox->peers[to];
    if (peer->writer == NULL || wire_writer_count(peer->writer) == 0) {
        return;
    }
    struct wire_envelope envelope = {.src_uid = m->group.uids[m->group.rank],
                                     .dst_uid = m->group.uids[to],
                                     .epoch = peer->epoch,
                                     .view_id = peer->view_id};
    if (place_frame(m, peer->writer, &envelope) ||
        hand_frame(m, to, peer->writer, &envelope)) {
        send_bulk(m, to);
    }
}

static bool is_full(struct moot *m, uint32_t to)
{
    return m->transport->ops->backlog(m->transport, m->group.uids[to]) >=
           OUTBOX_WINDOW_FRAMES;
}

void outbox_hurry(struct moot *m, uint32_t to)
{
    if (!is_full(m, to)) {
        send_frame(m, to);
    }
}

void outbox_void(struct moot *m, uint32_t to)
{
    struct outbox_peer *peer = &m->engine.outbox->peers[to];
    wire_writer_free(peer->writer);
    peer->writer = NULL;
    bulk_free_all(&peer->bulk);
}

static void list(struct outbox *outbox, uint32_t to)
{
    assert(outbox->dirty_count < outbox->size);
    outbox->dirty[outbox->dirty_count++] = to;
}

/* A frame that fails is told to all peers: their list is then a new one already. */
HOT void outbox_flush(struct moot *m)
{
    struct outbox *outbox = m->engine.outbox;
    uint32_t *dirty = outbox->dirty, count = outbox->dirty_count;
    outbox->dirty = outbox->flushed;
    outbox->dirty_count = outbox->kept_count = 0;
    outbox->flushed = dirty;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = dirty[i];
        struct outbox_peer *peer = &outbox->peers[to];
        if (peer->writer != NULL && is_full(m, to) &&
            wire_writer_size(peer->writer) < OUTBOX_HURRY_BYTES) {
            list(outbox, to);
            outbox->kept_count++;
            continue;
        }
        peer->listed = false;
        send_frame(m, to);
    }
}

bool outbox_empty(const struct moot *m) { return m->engine.outbox->dirty_count == 0; }

bool outbox_is_due(const struct moot *m)
{
    return m->engine.outbox->dirty_count > m->engine.outbox->kept_count;
}

void outbox_bulk_sent(struct moot *m, void *cookie)
{
    struct bulk_out *bulk = cookie;
    bulk_remove(&m->engine.outbox->flying, bulk);
    payload_drop(bulk->payload);
    free(bulk);
}

/* --- Adding --------------------------------------------------------------------- */

HOT static void add_encoded(struct moot *m, uint32_t to, const struct message *message)
{
    struct outbox *outbox = m->engine.outbox;
    struct outbox_peer *peer = &outbox->peers[to];
    m->engine.stirs += message_is(message->type, MESSAGE_IS_STIRS);
    if (peer->writer == NULL) {
        peer->writer = wire_writer_new();
    }
    if (peer->writer == NULL && core_give_spare(m->core)) {
        peer->writer = wire_writer_new();
    }
    if (peer->writer == NULL) {
        engine_starve(m, "no memory for messages to rank %u", to);
        return;
    }
    bool other_view =
        wire_writer_count(peer->writer) > 0 &&
        (peer->epoch != message->epoch || peer->view_id != message->view_id);
    bool long_enough = wire_writer_size(peer->writer) >= OUTBOX_PART_BYTES;
    if (other_view || (long_enough && !is_full(m, to))) {
        send_frame(m, to); /* with the bulk results that it announces */
    }
    int error = wire_writer_add(peer->writer, message);
    if (error == MOOT_ERR_LIMIT) {
        send_frame(m, to);
        error = wire_writer_add(peer->writer, message);
    }
    if (error == MOOT_ERR_NO_MEMORY && core_give_spare(m->core)) {
        error = wire_writer_add(peer->writer, message);
    }
    if (error == MOOT_ERR_NO_MEMORY) {
        engine_starve(m, "no memory for a %s to rank %u",
                      message_type_name(message->type), to);
        return;
    }
    if (error != MOOT_OK) {
        engine_fail_all(m, error, "rank %u cannot encode a %s for rank %u",
                        m->group.rank, message_type_name(message->type), to);
        return;
    }
    peer->epoch = message->epoch;
    peer->view_id = message->view_id;
    if (!peer->listed) {
        peer->listed = true;
        list(outbox, to);
    }
}

static void add_bulk(struct moot *m, uint32_t to, const struct message_result *result,
                     struct payload *payload)
{
    struct bulk_out *bulk = calloc(1, sizeof(*bulk));
    if (bulk == NULL) {
        engine_starve(m, "no memory for a transfer to rank %u", to);
        return;
    }
    bulk->payload = payload_hold(payload);
    bulk->first = result_first(result);
    bulk->size = result_brings(result);
    bulk_append(&m->engine.outbox->peers[to].bulk, bulk);
}

/* On a faulty wire some types have frames of their own. */
static bool goes_alone(const struct moot *m, enum message_type type)
{
    return (PLAN_TYPE(type) & m->faults.alone) != 0;
}

/* What the task left running is known wherever its result is. */
static void add_family(struct moot *m, uint32_t to, const struct message *result,
                       const struct task *task)
{
    struct message message = {.type = MESSAGE_FAMILY,
                              .hash = result->hash,
                              .epoch = result->epoch,
                              .view_id = result->view_id};
    for (uint32_t i = 0; family_part(task, i, &message.u.family); i++) {
        add_encoded(m, to, &message);
    }
}

/* Where ranks differ, this is how an owner learns how urgent its task is (priority.h).
 */
static void add_urgent(struct moot *m, uint32_t to, const struct message *message,
                       int32_t priority)
{
    struct message told = *message;
    if (message->type == MESSAGE_MOTION) {
        told.u.motion.priority = priority;
    } else {
        told.u.decision.priority = priority;
    }
    add_encoded(m, to, &told);
}

HOT void outbox_add(struct moot *m, uint32_t to, const struct message *message,
                    const struct task *task)
{
    if (goes_alone(m, message->type)) {
        send_frame(m, to);
        add_encoded(m, to, message);
        send_frame(m, to);
        return;
    }
    if (message->type == MESSAGE_RESULT && !message->u.result.away) {
        add_family(m, to, message, task);
    }
    if (task != NULL && task->priority > 0 &&
        (message->type == MESSAGE_MOTION || message->type == MESSAGE_DECISION)) {
        add_urgent(m, to, message, task->priority);
        return;
    }
    struct message with_bytes = *message;
    if (message->type == MESSAGE_RESULT && task != NULL) {
        with_bytes.u.result.digest =
            message->u.result.status == MOOT_OK ? task_seldom(task)->digest : 0;
    }
    if (message->type != MESSAGE_RESULT || message->u.result.data == RESULT_BARE) {
        add_encoded(m, to, &with_bytes);
        return;
    }
    assert(task != NULL); /* the core sends bytes of tasks that it has */
    struct payload *payload =
        task->payload != NULL ? task->payload : task_seldom(task)->partial;
    assert(payload != NULL || message->u.result.size == 0);
    if (message->u.result.data == RESULT_EAGER) {
        with_bytes.u.result.payload =
            task->payload != NULL ? task->payload->data : NULL;
        add_encoded(m, to, &with_bytes);
        return;
    }
    add_encoded(m, to, &with_bytes);
    add_bulk(m, to, &message->u.result, payload);
}

void outbox_add_own(struct moot *m, uint32_t to, struct message *message)
{
    core_view(m->core, &message->epoch, &message->view_id);
    if (message->type == MESSAGE_PARTS) {
        core_sent_own(m->core);
    }
    outbox_add(m, to, message, NULL);
}

void outbox_add_kernel(struct moot *m, uint32_t to, const struct kernel *kernel)
{
    struct message message = {.type = MESSAGE_KERNEL};
    core_view(m->core, &message.epoch, &message.view_id);
    message.u.kernel = kernel_said(kernel);
    add_encoded(m, to, &message);
}

void outbox_pass_kernel(struct moot *m, uint32_t from, uint32_t of,
                        const struct message_kernel *said)
{
    struct core_tree_view tree;
    struct message message = {.type = MESSAGE_KERNEL};
    core_view(m->core, &message.epoch, &message.view_id);
    message.u.kernel = *said;
    message.u.kernel.rank_plus_one = of + 1;
    if (!core_tree_look(m->core, &tree)) {
        return;
    }
    for (uint32_t i = 0; i <= tree.child_count; i++) {
        const uint32_t to = i < tree.child_count ? tree.children[i] : tree.parent;
        if (to != PLACEMENT_NOBODY && to != from && members_is_here(m, to)) {
            add_encoded(m, to, &message);
        }
    }
}

void outbox_tell_kernels_again(struct moot *m)
{
    struct core_tree_view tree;
    for (uint32_t i = 0; i < m->tasks.kernels.count; i++) {
        struct kernel *kernel = m->tasks.kernels.items[i];
        if (kernel->told && core_tree_look(m->core, &tree)) {
            outbox_tell_kernel(m, kernel);
        }
    }
}

void outbox_tell_kernel(struct moot *m, struct kernel *kernel)
{
    struct core_tree_view tree;
    kernel->told = true;
    if (core_tree_look(m->core, &tree)) {
        const struct message_kernel said = kernel_said(kernel);
        outbox_pass_kernel(m, m->group.rank, m->group.rank, &said);
        return;
    }
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        if (rank != m->group.rank && members_is_here(m, rank)) {
            outbox_add_kernel(m, rank, kernel);
        }
    }
}

void outbox_tell_end(struct moot *m, int code)
{
    struct message message = {.type = MESSAGE_ADJOURN};
    core_view(m->core, &message.epoch, &message.view_id);
    message.u.adjourn.exit_code = code;
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        if (rank != m->group.rank && members_is_here(m, rank)) {
            add_encoded(m, rank, &message);
        }
    }
}
