/* no_thread_test.c - where the system gives no thread, the open says so and leaves
 * nothing behind, and what a stand-in was to run runs when its rank is back.
 *
 * The program is linked with --wrap=pthread_create.
 */
#include "tests/conformance/kernels.h"
#include <errno.h>

static atomic_bool refuses; /* every thread but so many */
static atomic_int granted, refused;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument)
{
    if (refuses && granted-- <= 0) {
        refused++;
        return EAGAIN;
    }
    return __real_pthread_create(thread, attributes, run, argument);
}

static struct seat open_alone(struct inproc_hub *hub, const char *const *knobs,
                              int *code)
{
    struct seat seat = {.size = 1, .hub = hub};
    struct transport_inproc_options end = {.hub = hub};
    const moot_options options = {.knobs = knobs};
    *code = moot_open_transport(&options, transport_inproc_open, &end, &seat.m);
    return seat;
}

/* Those that run already end with the attempt, and the next one has them all. */
static void no_worker(int so_many)
{
    static const char *const knobs[] = {"MOOT_THREADS=3", NULL};
    int code;
    struct inproc_hub *hub = inproc_hub_new(1);
    granted = so_many;
    refuses = true;
    struct seat seat = open_alone(hub, knobs, &code);
    refuses = false;
    EXPECT(&seat, code, MOOT_ERR_NO_MEMORY);
    CHECK(&seat, seat.m == NULL);
    CHECK(&seat, strstr(moot_last_error(NULL), "no thread for a worker") != NULL);
    inproc_hub_free(hub);
    hub = inproc_hub_new(1);
    seat = open_alone(hub, knobs, &code);
    EXPECT(&seat, code, MOOT_OK);
    kernels(&seat);
    CHECK(&seat, fetch_u64(&seat, spawn_u64(&seat, SQUARE, 5)) == 25);
    EXPECT(&seat, moot_close(seat.m), MOOT_OK);
    inproc_hub_free(hub);
}

static moot_task spawn_here(struct seat *seat, uint64_t x)
{
    moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                           .args = &x,
                           .args_size = sizeof(x),
                           .owner = MOOT_ON(seat->rank)};
    moot_task task = {0};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

/* Parked, with a task that only this thread could run: another is to stand in, now or,
 * once there may be one, later. */
static void no_stand_in(struct seat *seat)
{
    meet(seat);
    if (seat->rank == 0) {
        refused = granted = square_runs = 0;
        moot_task task = spawn_here(seat, 6);
        refuses = true;
        EXPECT(seat, moot_park(seat->m), MOOT_OK);
        while (refused < 3) {
            nap_ms(1);
        }
        EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
        CHECK(seat, square_runs == 0 && fetch_u64(seat, task) == 36);
        task = spawn_here(seat, 7);
        EXPECT(seat, moot_park(seat->m), MOOT_OK);
        while (refused < 6) {
            nap_ms(1);
        }
        refuses = false;
        while (square_runs < 2) {
            nap_ms(1);
        }
        EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
        CHECK(seat, fetch_u64(seat, task) == 49);
    }
    meet(seat);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {SCENE(no_stand_in, .sizes = {2})};
    alarm(300);
    scene_name = "no_worker";
    for (int so_many = 0; so_many < 3; so_many++) {
        no_worker(so_many);
    }
    return play_all(scenes, 1, argc, argv);
}
