/* outbox_test.c - what does not leave at once: to a peer that reads nothing, over a
 * wire that fails, and over one that goes on when all has ended.
 */
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "tests/conformance/kernels.h"

enum { FRAMES = 40 }; /* more than the outbox gives a wire that takes none */

static void add_one(struct seat *seat, uint32_t to)
{
    struct message message = {.type = MESSAGE_INQUIRY};
    message.u.inquiry.number = 1;
    outbox_add_own(seat->m, to, &message);
}

/* --- A peer that reads nothing ---------------------------------------------------- */

static atomic_bool went_on;

/* Ends when rank 1 has spawned it. */
static void *wait_for_it(void *argument)
{
    struct seat *seat = argument;
    const moot_hash hash = hash_u64(seat, SQUARE, 90);
    moot_task task = {0};
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    return NULL;
}

static bool anybody_waits(struct seat *seat)
{
    engine_lock(seat->m);
    bool any = seat->m->schedule.program_waits > 0;
    engine_unlock(seat->m);
    return any;
}

/* Rank 1 is in code of its own, and nobody there moves messages.  One thread of rank 0
 * waits: what another one calls finds the lock free all the same. */
static void who_cannot_send_is_not_in_the_way(struct seat *seat)
{
    pthread_t thread;
    went_on = false;
    meet(seat);
    if (seat->rank == 0) {
        pthread_create(&thread, NULL, wait_for_it, seat);
        while (!anybody_waits(seat)) {
            nap_ms(1);
        }
        engine_lock(seat->m);
        for (int i = 0; i < FRAMES; i++) {
            add_one(seat, 1);
            outbox_flush(seat->m);
        }
        CHECK(seat, !outbox_empty(seat->m));
        engine_unlock(seat->m);
        for (int i = 0; i < 20; i++) {
            nap_ms(1);
            (void)stats_of(seat);
        }
        went_on = true;
    }
    for (int i = 0; seat->rank == 1 && i < 1000 && !went_on; i++) {
        nap_ms(10);
    }
    CHECK(seat, went_on);
    if (seat->rank == 0) {
        pthread_join(thread, NULL);
    } else {
        (void)spawn_u64(seat, SQUARE, 90); /* and serves it when it closes */
    }
}

/* --- A wire that fails ------------------------------------------------------------ */

static uint64_t unreachable; /* once */
static const struct transport_ops *real_ops;

static int send_but_not_there(struct transport *t, uint64_t to_uid, void *bytes,
                              size_t size)
{
    if (to_uid != unreachable) {
        return real_ops->send(t, to_uid, bytes, size);
    }
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
        for (int to = 1; to < seat->size; to++) {
            add_one(seat, (uint32_t)to);
        }
        outbox_flush(seat->m);
        CHECK(seat, seat->m->engine.fatal == MOOT_ERR_TRANSPORT);
        engine_unlock(seat->m);
    }
}

static void closes_with_the_failure(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_ERR_TRANSPORT);
}

/* --- A wire that goes on ---------------------------------------------------------- */

enum { LARGE_BYTES = 4 << 20 };

/* The bytes of a transfer that is under way at the end, on either side. */
static unsigned char *under_way[2];
static struct transport_ops endless_ops[2];

static int send_for_ever(struct transport *t, uint64_t to_uid, const void *data,
                         size_t size, void *cookie)
{
    (void)t, (void)to_uid, (void)size, (void)cookie;
    under_way[0] = (unsigned char *)(uintptr_t)data;
    return MOOT_OK;
}

static int receive_for_ever(struct transport *t, uint64_t from_uid, void *data,
                            size_t size, void *cookie)
{
    (void)t, (void)from_uid, (void)size, (void)cookie;
    under_way[1] = data;
    return MOOT_OK;
}

static bool free_and_go_on(struct transport *t)
{
    (void)real_ops->free(t);
    return false;
}

static void go_on_for_ever(struct seat *seat)
{
    struct transport_ops *ops = &endless_ops[seat->rank];
    engine_lock(seat->m);
    *ops = *seat->m->transport->ops;
    ops->bulk_send = send_for_ever;
    ops->bulk_receive = receive_for_ever;
    ops->free = free_and_go_on;
    seat->m->transport->ops = ops;
    engine_unlock(seat->m);
}

static void what_is_under_way_stays_in_memory(struct seat *seat)
{
    const uint64_t bytes = LARGE_BYTES;
    const moot_task_spec spec = {.kernel = seat->kernels[BIG],
                                 .args = &bytes,
                                 .args_size = sizeof(bytes),
                                 .owner = MOOT_ON(0)};
    moot_task task;
    const void *data;
    int code = MOOT_ERR_TIMEOUT;
    under_way[seat->rank] = NULL;
    if (seat->rank == 0) {
        real_ops = seat->m->transport->ops;
    }
    meet(seat);
    go_on_for_ever(seat);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    while (seat->rank == 1 && under_way[1] == NULL && code == MOOT_ERR_TIMEOUT) {
        code =
            moot_task_fetch(seat->m, task, MOOT_MILLISECONDS(10), &data, &(size_t){0});
    }
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
        while (under_way[0] == NULL) {
            nap_ms(1);
        }
    }
    meet(seat);
    engine_lock(seat->m);
    engine_fail(seat->m, MOOT_ERR_TRANSPORT, "the wire goes on without this rank");
    engine_unlock(seat->m);
}

/* As the wire would. */
static void can_be_touched(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_ERR_TRANSPORT);
    volatile unsigned char *bytes = under_way[seat->rank];
    for (size_t i = 0; bytes != NULL && i < LARGE_BYTES; i++) {
        bytes[i] = (unsigned char)(bytes[i] + 1);
    }
    CHECK(seat, bytes != NULL);
}

static const char *const callers_alone[] = {"MOOT_PROGRESS=caller", NULL};

static const struct scene scenes[] = {
    SCENE(who_cannot_send_is_not_in_the_way, .sizes = {2}, .knobs = callers_alone),
    {.name = "a_failure_is_told_to_all",
     .program = a_failure_is_told_to_all,
     .register_kernels = kernels,
     .after = closes_with_the_failure,
     .sizes = {8}},
    {.name = "what_is_under_way_stays_in_memory",
     .program = what_is_under_way_stays_in_memory,
     .register_kernels = kernels,
     .after = can_be_touched,
     .sizes = {2}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
