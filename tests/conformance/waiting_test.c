/* waiting_test.c - what is kept of a wait while nobody waits, and what the others see
 * of a rank whose wait is over.
 */
#include "hashing/identity.h"
#include "kernels.h"

/* A task that nobody spawns, by its hash. */
static moot_task find_u64(struct seat *seat, uint64_t x)
{
    moot_hash hash = hash_u64(seat, SQUARE, x);
    moot_task task = {0};
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    return task;
}

/* Of two that nobody holds the smaller hash fails first: while the other is waited for.
 */
static void a_verdict_between_two_polls_is_kept(struct seat *seat)
{
    const moot_hash one = hash_u64(seat, SQUARE, 71), two = hash_u64(seat, SQUARE, 72);
    const bool in_order = hash_compare(&one, &two) < 0;
    moot_task first = find_u64(seat, in_order ? 71 : 72);
    moot_task second = find_u64(seat, in_order ? 72 : 71);
    EXPECT(seat, moot_task_wait(seat->m, first, 0), MOOT_ERR_TIMEOUT);
    EXPECT(seat, moot_task_wait(seat->m, second, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    EXPECT(seat, moot_task_wait(seat->m, first, 0), MOOT_ERR_NOT_HELD);
    EXPECT(seat, moot_task_wait(seat->m, first, 0), MOOT_ERR_TIMEOUT); /* once */
}

/* Rank 0 has waited, and computes for long before it spawns what rank 1 waits for. */
static void who_goes_on_is_not_at_rest(struct seat *seat)
{
    if (seat->rank == 0) {
        moot_task slow = spawn_u64(seat, SLOW, 50);
        EXPECT(seat, moot_task_wait(seat->m, slow, MOOT_FOREVER), MOOT_OK);
        nap_ms(500);
        CHECK(seat, fetch_u64(seat, spawn_u64(seat, SQUARE, 73)) == 73 * 73);
    } else {
        CHECK(seat, fetch_u64(seat, find_u64(seat, 73)) == 73 * 73);
    }
    meet(seat);
}

static const struct scene scenes[] = {
    SCENE(a_verdict_between_two_polls_is_kept, .sizes = {1}),
    SCENE(who_goes_on_is_not_at_rest, .sizes = {2}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
