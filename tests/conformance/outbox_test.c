/* outbox_test.c - frames that do not leave at once: to a peer that reads nothing, and
 * over a wire that fails.
 */
#include "kernels.h"
#include "node/context.h"
#include "node/engine.h"
#include "node/outbox.h"

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
    bool any = seat->m->program_waits > 0;
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
        while (!anybody_waits(seat))
            nap_ms(1);
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
    for (int i = 0; seat->rank == 1 && i < 1000 && !went_on; i++)
        nap_ms(10);
    CHECK(seat, went_on);
    if (seat->rank == 0)
        pthread_join(thread, NULL);
    else
        (void)spawn_u64(seat, SQUARE, 90); /* and serves it when it closes */
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

static const char *const callers_alone[] = {"MOOT_PROGRESS=caller", NULL};

static const struct scene scenes[] = {
    SCENE(who_cannot_send_is_not_in_the_way, .sizes = {2}, .knobs = callers_alone),
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
