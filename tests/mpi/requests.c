/* requests.c - a rank that waits for a request of MPI by moot_mpi_wait serves its peers
 * meanwhile, at every level of threads, and is no reason to give up a wait.
 *
 *   mpirun -n 3 requests single | funneled | serialized | multiple
 */
#include "node/api/moot_mpi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SOON MOOT_SECONDS(60)

static moot *m;
static moot_kernel_id square_kernel;
static int rank, size, failed;

#define CHECK(condition)                                                               \
    do {                                                                               \
        if (!(condition)) {                                                            \
            (void)fprintf(stderr, "rank %d: line %d: %s\n", rank, __LINE__,            \
                          #condition);                                                 \
            failed++;                                                                  \
        }                                                                              \
    } while (0)
#define EXPECT(call, wanted)                                                           \
    do {                                                                               \
        int code_ = (call);                                                            \
        if (code_ != (wanted)) {                                                       \
            (void)fprintf(stderr, "rank %d: line %d: %s gave %s, not %s: %s\n", rank,  \
                          __LINE__, #call, moot_err_name(code_),                       \
                          moot_err_name(wanted), moot_last_error(m));                  \
            failed++;                                                                  \
        }                                                                              \
    } while (0)

static void nap_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static int square(moot_call *call, void *user)
{
    (void)user;
    const long *x = moot_call_args(call, NULL);
    long *y = moot_call_output(call, sizeof(*y));
    if (y == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *y = *x * *x;
    return MOOT_OK;
}

static moot_task_spec spec_of(const long *x)
{
    return (moot_task_spec){
        .kernel = square_kernel, .args = x, .args_size = sizeof(*x)};
}

static void expect_square(moot_task task, long x)
{
    long y = 0;
    EXPECT(moot_task_fetch_into(m, task, SOON, &y, sizeof(y), NULL), MOOT_OK);
    CHECK(y == x * x);
    EXPECT(moot_task_release(m, task), MOOT_OK);
}

/* All send to the right and wait for the left; then for what is complete already. */
static void a_request_is_waited_for(void)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];
    MPI_Status status;
    int mine = 100 + rank, theirs = 0;
    MPI_Irecv(&theirs, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&mine, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]);
    EXPECT(moot_mpi_wait(m, &requests[0], &status), MOOT_OK);
    EXPECT(moot_mpi_wait(m, &requests[1], NULL), MOOT_OK);
    CHECK(theirs == 100 + left && status.MPI_SOURCE == left && status.MPI_TAG == 3);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    EXPECT(moot_mpi_wait(m, &requests[0], MPI_STATUS_IGNORE), MOOT_OK);
}

static void meet(void)
{
    MPI_Request barrier;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    EXPECT(moot_mpi_wait(m, &barrier, NULL), MOOT_OK);
}

/* The last rank owns them, and waits for a word that rank 0 sends when it has their
 * results. */
static void who_waits_runs_what_it_owns(void)
{
    enum { TASKS = 8 };
    moot_task tasks[TASKS];
    int word = 1;
    for (long i = 0; i < TASKS; i++) {
        moot_task_spec spec = spec_of(&i);
        spec.owner = MOOT_ON(size - 1);
        EXPECT(moot_task_spawn(m, &spec, &tasks[i]), MOOT_OK);
    }
    if (rank == size - 1 && size > 1) {
        MPI_Request request;
        MPI_Irecv(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
        EXPECT(moot_mpi_wait(m, &request, NULL), MOOT_OK);
    }
    for (long i = 0; i < TASKS; i++) {
        expect_square(tasks[i], i);
    }
    if (rank == 0 && size > 1) {
        MPI_Request request;
        MPI_Isend(&word, 1, MPI_INT, size - 1, 4, MPI_COMM_WORLD, &request);
        EXPECT(moot_mpi_wait(m, &request, NULL), MOOT_OK);
    }
    meet();
}

/* Rank 0 never spawns them, chairs some of them, and waits for what the others send
 * when they have the results. */
static void who_waits_yields_what_it_chairs(void)
{
    enum { TASKS = 16 };
    int word = 1;
    for (long i = 0; rank != 0 && i < TASKS; i++) {
        long x = 1000 + i;
        moot_task task;
        moot_task_spec spec = spec_of(&x);
        EXPECT(moot_task_spawn(m, &spec, &task), MOOT_OK);
        expect_square(task, x);
    }
    for (int peer = 1; peer < size; peer++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) {
            MPI_Irecv(&word, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &request);
        } else if (rank == peer) {
            MPI_Isend(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        }
        EXPECT(moot_mpi_wait(m, &request, NULL), MOOT_OK);
    }
    meet();
}

static int waiter(moot_call *call, void *user)
{
    (void)user;
    MPI_Request request = MPI_REQUEST_NULL;
    int *code = moot_call_output(call, sizeof(*code));
    if (code == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *code = moot_mpi_wait(moot_call_context(call), &request, NULL);
    return MOOT_OK;
}

/* A generalized request's, which MPI_Test calls. */
static int give_error(void *extra, MPI_Status *status)
{
    (void)extra, (void)status;
    return MPI_ERR_TRUNCATE;
}
static int free_nothing(void *extra) { return (void)extra, MPI_SUCCESS; }
static int cancel_nothing(void *extra, int complete)
{
    return (void)extra, (void)complete, MPI_SUCCESS;
}

static void what_is_wrong_is_refused(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code = 0;
    EXPECT(moot_mpi_wait(NULL, &request, NULL), MOOT_ERR_INVALID);
    EXPECT(moot_mpi_wait(m, NULL, NULL), MOOT_ERR_INVALID);
    CHECK(strstr(moot_last_error(m), "moot_mpi_wait") != NULL);
    EXPECT(moot_park(m), MOOT_OK);
    EXPECT(moot_mpi_wait(m, &request, NULL), MOOT_ERR_STATE);
    EXPECT(moot_unpark(m), MOOT_OK);
    const moot_kernel kernel = {.name = "waiter", .fn = waiter};
    moot_task_spec spec = {.flags = 0};
    moot_task task;
    EXPECT(moot_kernel_register(m, &kernel, &spec.kernel), MOOT_OK);
    EXPECT(moot_task_spawn(m, &spec, &task), MOOT_OK);
    EXPECT(moot_task_fetch_into(m, task, SOON, &code, sizeof(code), NULL), MOOT_OK);
    CHECK(code == MOOT_ERR_STATE);
    /* MPI's own words, where its error handler lets the call return. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Grequest_start(give_error, free_nothing, cancel_nothing, NULL, &request);
    MPI_Grequest_complete(request);
    EXPECT(moot_mpi_wait(m, &request, NULL), MOOT_ERR_TRANSPORT);
    CHECK(strstr(moot_last_error(m), "moot_mpi_wait: MPI_ERR_TRUNCATE") != NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    meet(); /* the moot goes on */
}

/* Sends a word to its own rank after a while, and is no thread that moot knows. */
static void *send_late(void *argument)
{
    int word = 7;
    nap_ms(400);
    MPI_Send(&word, 1, MPI_INT, rank, 8, *(MPI_Comm *)argument);
    return NULL;
}

/* All ranks are in a wait for long, and rank 0 spawns what they wait for behind its
 * own. */
static void who_waits_may_spawn_afterwards(void)
{
    const long x = 5000;
    moot_task_spec spec = spec_of(&x);
    moot_task task;
    if (rank == 0) {
        pthread_t thread;
        MPI_Request request;
        MPI_Comm self;
        int word = 0;
        MPI_Comm_dup(MPI_COMM_SELF, &self);
        MPI_Irecv(&word, 1, MPI_INT, 0, 8, self, &request);
        pthread_create(&thread, NULL, send_late, &self);
        EXPECT(moot_mpi_wait(m, &request, NULL), MOOT_OK);
        CHECK(word == 7);
        pthread_join(thread, NULL);
        MPI_Comm_free(&self);
        EXPECT(moot_task_spawn(m, &spec, &task), MOOT_OK);
    } else {
        EXPECT(moot_task_name(m, &spec, &task), MOOT_OK);
    }
    long y = 0;
    EXPECT(moot_task_fetch_into(m, task, MOOT_FOREVER, &y, sizeof(y), NULL), MOOT_OK);
    CHECK(y == x * x);
    meet();
}

static void *wait_for_nothing(void *argument)
{
    static int word;
    MPI_Request *request = argument;
    MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, request);
    EXPECT(moot_mpi_wait(m, request, NULL), MOOT_ERR_CLOSED);
    return NULL;
}

/* A close ends another thread's wait, and leaves it its request. */
static void a_close_ends_it(void)
{
    pthread_t thread;
    MPI_Request request = MPI_REQUEST_NULL;
    pthread_create(&thread, NULL, wait_for_nothing, &request);
    nap_ms(100);
    EXPECT(moot_close(m), MOOT_OK);
    pthread_join(thread, NULL);
    CHECK(request != MPI_REQUEST_NULL);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int level_of(const char *word)
{
    static const char *const words[] = {"single", "funneled", "serialized", "multiple"};
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                 MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 4; i++) {
        if (strcmp(words[i], word) == 0) {
            return levels[i];
        }
    }
    return -1;
}

static void drop_report(void *user, const char *text) { (void)user, (void)text; }

int main(int argc, char **argv)
{
    int level = level_of(argc > 1 ? argv[1] : "multiple"), got;
    const moot_options options = {.report = drop_report};
    const moot_kernel kernel = {.name = "square", .fn = square};
    (void)alarm(100); /* instead of a hang */
    MPI_Init_thread(&argc, &argv, level, &got);
    EXPECT(moot_open_comm(&options, MPI_COMM_WORLD, &m), MOOT_OK);
    if (failed != 0) {
        return 1;
    }
    rank = moot_rank(m);
    size = moot_size(m);
    EXPECT(moot_kernel_register(m, &kernel, &square_kernel), MOOT_OK);
    a_request_is_waited_for();
    who_waits_runs_what_it_owns();
    who_waits_yields_what_it_chairs();
    what_is_wrong_is_refused();
    if (got == MPI_THREAD_MULTIPLE) {
        who_waits_may_spawn_afterwards();
        a_close_ends_it();
    } else {
        EXPECT(moot_close(m), MOOT_OK);
    }
    MPI_Finalize();
    return failed != 0;
}
