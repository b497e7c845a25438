/* outbox_test.c - frames that do not leave: over a wire that fails. */
#include "kernels.h"
#include "node/context.h"
#include "node/engine.h"
#include "node/outbox.h"

static void add_one(struct seat *seat, uint32_t to)
{
    struct message message = {.type = MESSAGE_INQUIRY};
    message.u.inquiry.number = 1;
    outbox_add_own(seat->m, to, &message);
}

/* --- A wire that fails ------------------------------------------------------------ */

static uint64_t unreachable; /* once */
static const struct transport_ops *real_ops;

static int send_but_not_there(struct transport *t, uint64_t to_uid, void *bytes,
                              size_t size)
{
    if (to_uid != unreachable)
        return real_ops->send(t, to_uid, bytes, size);
    unreachable = 0;
    free(bytes);
    return MOOT_ERR_TRANSPORT;
}

/* The last of many frames fails, which all the others are told, whose own have left. */
static void a_failure_is_told_to_all(struct seat *seat)
{
    static struct transport_ops ops;
    meet(seat);
    if (seat->rank == 0) {
        engine_lock(seat->m);
        real_ops = seat->m->transport->ops;
        ops = *real_ops;
        ops.send = send_but_not_there;
        seat->m->transport->ops = &ops;
        unreachable = seat->m->group.uids[seat->size - 1];
        outbox_flush(seat->m);
        for (int to = 1; to < seat->size; to++)
            add_one(seat, (uint32_t)to);
        outbox_flush(seat->m);
        CHECK(seat, seat->m->fatal == MOOT_ERR_TRANSPORT);
        engine_unlock(seat->m);
    }
}

static void closes_with_the_failure(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_ERR_TRANSPORT);
}

static const struct scene scenes[] = {
    {.name = "a_failure_is_told_to_all",
     .program = a_failure_is_told_to_all,
     .register_kernels = kernels,
     .after = closes_with_the_failure,
     .sizes = {8}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
