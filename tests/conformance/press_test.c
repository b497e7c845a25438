/* press_test.c - which large results a rank presses the others to drop (window.h):
 * those that its program has let go of, and not for long those that stay all the same.
 *
 * Every rank spawns large tasks for each rank.  Their owner lets go of its own while
 * the others hold them, so that nothing can go; then all let go.
 */
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/spawn/window.h"
#include "tests/conformance/kernels.h"

enum { HALF = 3, EACH = 2 * HALF, RANKS_MAX = 3 };
#define BYTES (WINDOW_RESULT_BYTES / HALF + 1) /* half of them are too much */

static moot_task spawn_big(struct seat *seat, int owner, int number)
{
    const uint64_t bytes = BYTES;
    moot_task_spec spec = {.kernel = seat->kernels[BIG],
                           .args = &bytes,
                           .args_size = sizeof(bytes),
                           .key = &number,
                           .key_size = sizeof(number),
                           .owner = MOOT_ON(owner)};
    moot_task task = {0};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

static size_t let_go_bytes(struct seat *seat)
{
    engine_lock(seat->m);
    size_t bytes = seat->m->store.payloads.let_go_bytes;
    engine_unlock(seat->m);
    return bytes;
}

/* Whether it is pressed, and still is later. */
struct pressed {
    bool now, later;
};

static void begin_anew(struct moot *m, uint64_t in_vain_bytes)
{
    m->spawn.press = (struct press){.freed = m->store.payloads.let_go_freed,
                                    .in_vain_bytes = in_vain_bytes};
}

static struct pressed look(struct seat *seat, uint64_t in_vain_bytes)
{
    struct moot *m = seat->m;
    struct pressed pressed;
    engine_lock(m);
    begin_anew(m, in_vain_bytes);
    pressed.now = window_press(m) > 0;
    m->now_ns += WINDOW_PRESS_NS;
    pressed.later = window_press(m) > 0;
    engine_unlock(m);
    return pressed;
}

static void release_some(struct seat *seat, const moot_task *tasks, int count)
{
    for (int i = 0; i < count; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
}

static void wait_until_it_goes(struct seat *seat)
{
    while (let_go_bytes(seat) > WINDOW_RESULT_BYTES) {
        engine_lock(seat->m);
        begin_anew(seat->m, 0); /* however long it takes */
        progress_drive_free(seat->m);
        engine_unlock(seat->m);
        sched_yield();
    }
}

static bool forgets_what_was_in_vain(struct seat *seat)
{
    engine_lock(seat->m);
    seat->m->spawn.press = (struct press){.in_vain_bytes = WINDOW_RESULT_BYTES};
    (void)window_press(seat->m);
    bool forgotten = seat->m->spawn.press.in_vain_bytes == 0;
    engine_unlock(seat->m);
    return forgotten;
}

static void only_what_may_go_is_pressed_for(struct seat *seat)
{
    moot_task tasks[RANKS_MAX][EACH], *own = tasks[seat->rank];
    for (int rank = 0; rank < seat->size; rank++) {
        for (int i = 0; i < EACH; i++) {
            tasks[rank][i] = spawn_big(seat, rank, i);
        }
    }
    for (int i = 0; i < EACH; i++) {
        EXPECT(seat, moot_task_wait(seat->m, own[i], MOOT_FOREVER), MOOT_OK);
    }
    CHECK(seat, let_go_bytes(seat) == 0); /* of what is held */
    release_some(seat, own, HALF);
    const size_t half = let_go_bytes(seat), one = half / HALF;
    CHECK(seat, one >= BYTES);
    moot_task again = spawn_big(seat, seat->rank, 0);
    CHECK(seat, let_go_bytes(seat) == half - one);
    CHECK(seat, !look(seat, 0).now);
    EXPECT(seat, moot_task_release(seat->m, again), MOOT_OK);
    CHECK(seat, let_go_bytes(seat) == half);
    struct pressed pressed = look(seat, 0);
    CHECK(seat, pressed.now && !pressed.later); /* in vain: the others hold it */
    CHECK(seat, !look(seat, half).now);
    release_some(seat, own + HALF, HALF);
    CHECK(seat, look(seat, half).now); /* as much has come to it */
    meet(seat);
    for (int rank = 0; rank < seat->size; rank++) {
        if (rank != seat->rank) {
            release_some(seat, tasks[rank], EACH);
        }
    }
    wait_until_it_goes(seat);
    CHECK(seat, forgets_what_was_in_vain(seat)); /* some has gone */
    const size_t rest = let_go_bytes(seat);
    release_some(seat, (moot_task[]){spawn_big(seat, seat->rank, EACH)}, 1);
    moot_task behind = spawn_big(seat, seat->rank, EACH + 1);
    EXPECT(seat, moot_task_wait(seat->m, behind, MOOT_FOREVER), MOOT_OK);
    CHECK(seat,
          let_go_bytes(seat) == rest + one); /* though it ran when it was let go */
    EXPECT(seat, moot_task_release(seat->m, behind), MOOT_OK);
    meet(seat);
}

int main(int argc, char **argv)
{
    const struct scene scenes[] = {
        {"only_what_may_go_is_pressed_for",
         only_what_may_go_is_pressed_for,
         kernels,
         NULL,
         closes_well,
         {2, RANKS_MAX}},
    };
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
