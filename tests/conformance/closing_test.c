/* closing_test.c - the story of a close that failed, and of waits that it ended, is
 * there when the context is not.
 */
#include "tests/conformance/kernels.h"

static moot_task name_u64(struct seat *seat, uint64_t x)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_name(seat->m,
                          &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                            .args = &x,
                                            .args_size = sizeof(x)},
                          &task),
           MOOT_OK);
    return task;
}

/* Closes it, and keeps the handle that is void then. */
static moot *close_now(struct seat *seat)
{
    moot *gone = seat->m;
    seat->close_code = moot_close(gone);
    seat->m = NULL;
    return gone;
}

/* CHECK(moot_close(m)) of a program that prints moot_last_error(m). */
static void a_close_that_failed_has_its_story(struct seat *seat)
{
    moot_task task = spawn_u64(seat, SQUARE, (uint64_t)seat->rank);
    int code = moot_task_wait(seat->m, task, MOOT_SECONDS(60));
    CHECK(seat, code == MOOT_ERR_DIVERGED || code == MOOT_OK);
    moot *gone = close_now(seat);
    CHECK(seat, seat->close_code == MOOT_ERR_DIVERGED);
    CHECK(seat, strstr(moot_last_error(gone), "diverged") != NULL);
    CHECK(seat, strcmp(moot_last_error(gone), moot_last_error(NULL)) == 0);
}

struct waiter {
    struct seat *seat;
    moot *m;
    moot_task task;
    pthread_barrier_t closed;
    int code;
    bool told;
};

static void *wait_and_look_back(void *argument)
{
    struct waiter *waiter = argument;
    waiter->code = moot_task_wait(waiter->m, waiter->task, MOOT_FOREVER);
    pthread_barrier_wait(&waiter->closed);
    waiter->told = strstr(moot_last_error(waiter->m), "closes") != NULL;
    return NULL;
}

/* Another thread's wait ends with the close, and it asks why when that is over. */
static void a_wait_that_a_close_ended_has_its_story(struct seat *seat)
{
    struct waiter waiter = {.seat = seat, .m = seat->m, .task = name_u64(seat, 9999)};
    pthread_t thread;
    pthread_barrier_init(&waiter.closed, NULL, 2);
    pthread_create(&thread, NULL, wait_and_look_back, &waiter);
    moot_stats stats;
    do {
        nap_ms(5);
        stats = stats_of(seat);
    } while (stats.motions == 0 && seat->size > 1 && seat->rank != 0);
    nap_ms(20);
    moot *gone = close_now(seat);
    CHECK(seat, seat->close_code == MOOT_OK);
    CHECK(seat, strcmp(moot_last_error(gone), "") == 0);
    pthread_barrier_wait(&waiter.closed);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&waiter.closed);
    CHECK(seat, waiter.code == MOOT_ERR_NOT_HELD || waiter.told);
    CHECK(seat, waiter.code == MOOT_ERR_CLOSED || waiter.code == MOOT_ERR_NOT_HELD);
}

/* A context that is opened later, perhaps at the same place, has stories of its own. */
static void the_next_context_begins_without_a_story(struct seat *seat)
{
    EXPECT(seat, moot_scope_close(seat->m), MOOT_ERR_STATE);
    CHECK(seat, *moot_last_error(seat->m) != '\0');
    moot *gone = close_now(seat);
    CHECK(seat, strstr(moot_last_error(gone), "scope") != NULL);
    struct inproc_hub *hub = inproc_hub_new(1);
    struct transport_inproc_options end = {.hub = hub, .rank = 0};
    moot *next = NULL;
    EXPECT(seat, moot_open_transport(NULL, transport_inproc_open, &end, &next),
           MOOT_OK);
    CHECK(seat, strcmp(moot_last_error(next), "") == 0);
    EXPECT(seat, moot_close(next), MOOT_OK);
    inproc_hub_free(hub);
}

static const char *const strict[] = {"MOOT_DIVERGENCE=strict", NULL};

static const struct scene scenes[] = {
    {.name = "a_close_that_failed_has_its_story",
     .program = a_close_that_failed_has_its_story,
     .register_kernels = kernels,
     .knobs = strict,
     .sizes = {2, 3}},
    SCENE(a_wait_that_a_close_ended_has_its_story, .sizes = {1, 2}),
    SCENE(the_next_context_begins_without_a_story, .sizes = {1, 2}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
