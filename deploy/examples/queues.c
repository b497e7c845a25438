/* queues.c - regions of tasks, the order that they declare, and the order observed.
 *
 *     mpirun -n 4 queues [BATCH [WIDTH]]
 *
 * A program in three phases, each in a queue of its own (moot_queue.h):
 *
 *   step      as on an accelerator's stream: a load, then BATCH rows side by side, then
 *             a sum, and all that a second time: a bulk region in a sequential one;
 *   throttle  BATCH tasks of which no more than WIDTH run at a time, though no rank
 *             waits: a queue of our own orders each task after the one WIDTH before it;
 *   tag       a queue of our own that gives what passes the name of its phase, and lets
 *             no task's hash depend on that.
 *
 * Every task tells on which rank it ran, and from when to when.  The ranks gather that,
 * the first one prints it, and each compares it with what was declared: here, written
 * out as pairs, and not as the library works it out.  Exit status: 0 as declared, 1
 * not, 2 bad arguments.  Times are compared among ranks: of one host, that is.  If a
 * rank dies, results that are lost with it are made again, perhaps after what came
 * after them, and the times are those of the second run.
 */
#include <moot.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEPS = 2,
    BATCH_MAX = 64,
    TASKS_MAX = STEPS * (BATCH_MAX + 2) + 2 * BATCH_MAX,
    EXIT_WRONG = 1,
    EXIT_INPUT = 2
};

/* What a task gives; all fields 64 bits, no padding. */
struct span {
    int64_t rank, begun_ns, ended_ns;
};

struct program {
    moot *m;
    moot_kernel_id kernel;
    moot_task tasks[TASKS_MAX];
    struct span spans[TASKS_MAX];
    int count;
};

#define CHECK(call) check((call), #call, m)
static void check(int code, const char *call, const moot *m)
{
    if (code != MOOT_OK) {
        (void)fprintf(stderr, "queues: %s: %s\n", call, moot_last_error(m));
        exit(EXIT_WRONG);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Works for half a millisecond. */
static int work(moot_call *call, void *user)
{
    (void)user;
    struct span *span = moot_call_output(call, sizeof(*span));
    if (span == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *span =
        (struct span){.rank = moot_rank(moot_call_context(call)), .begun_ns = now_ns()};
    (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    span->ended_ns = now_ns();
    return MOOT_OK;
}

static void spawn(struct program *program, const char *label)
{
    moot *m = program->m;
    const int64_t number = program->count;
    CHECK(moot_task_spawn(m,
                          &(moot_task_spec){.kernel = program->kernel,
                                            .args = &number,
                                            .args_size = sizeof(number),
                                            .label = label},
                          &program->tasks[program->count]));
    program->count++;
}

/* --- A queue that throttles ------------------------------------------------------- */

struct throttle {
    size_t width, count;
    moot_task last[BATCH_MAX]; /* handles to the last `width` tasks, in a ring */
};

static int throttle_open(moot_queue *queue, void *user, void **state)
{
    (void)queue;
    struct throttle *throttle = calloc(1, sizeof(*throttle));
    if (throttle == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    throttle->width = *(const size_t *)user;
    *state = throttle;
    return MOOT_OK;
}

static int throttle_one(moot_queue *queue, moot_ticket *ticket,
                        struct throttle *throttle)
{
    moot_task *slot = &throttle->last[throttle->count % throttle->width];
    int error = MOOT_OK;
    if (throttle->count >= throttle->width) {
        error = moot_ticket_after(ticket, slot, 1);
        if (error == MOOT_OK) {
            error = moot_task_release(moot_queue_context(queue), *slot);
        }
    }
    if (error == MOOT_OK) {
        error = moot_ticket_task(ticket, slot);
    }
    throttle->count++;
    return error == MOOT_OK ? moot_queue_up(queue, &ticket, 1) : error;
}

static int throttle_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                           void *state)
{
    int error = MOOT_OK;
    for (size_t i = 0; i < count && error == MOOT_OK; i++) {
        error = throttle_one(queue, tickets[i], state);
    }
    return error;
}

static int throttle_close(moot_queue *queue, void *state)
{
    struct throttle *throttle = state;
    size_t held = throttle->count < throttle->width ? throttle->count : throttle->width;
    (void)moot_task_release_all(moot_queue_context(queue), throttle->last, held);
    free(throttle);
    return MOOT_OK;
}

/* --- A queue that tags ------------------------------------------------------------ */

static int tag_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                      void *state)
{
    int error = MOOT_OK;
    for (size_t i = 0; i < count && error == MOOT_OK; i++) {
        moot_ticket_view view;
        char label[64];
        (void)moot_ticket_look(tickets[i], &view);
        (void)snprintf(label, sizeof(label), "%s: %s", (const char *)state, view.label);
        error = moot_ticket_label(tickets[i], label);
    }
    return error == MOOT_OK ? moot_queue_up(queue, tickets, count) : error;
}

/* --- The program ------------------------------------------------------------------ */

static void spawn_all(struct program *program, int batch, size_t width)
{
    moot *m = program->m;
    moot_queue_custom throttle = {.name = "throttle",
                                  .open = throttle_open,
                                  .submit = throttle_submit,
                                  .close = throttle_close,
                                  .user = &width};
    char phase[] = "report";
    moot_queue_custom tag = {.name = "tag", .submit = tag_submit, .user = phase};

    CHECK(moot_queue_open(m, MOOT_QUEUE_SEQUENTIAL));
    for (int step = 0; step < STEPS; step++) {
        spawn(program, "load");
        CHECK(moot_queue_open(m, MOOT_QUEUE_BULK));
        for (int i = 0; i < batch; i++) {
            spawn(program, "row");
        }
        CHECK(moot_queue_close(m));
        spawn(program, "sum");
    }
    CHECK(moot_queue_close(m));

    CHECK(moot_queue_open_custom(m, &throttle));
    for (int i = 0; i < batch; i++) {
        spawn(program, "throttled");
    }
    CHECK(moot_queue_close(m));

    CHECK(moot_queue_open_custom(m, &tag));
    CHECK(moot_queue_open(m, MOOT_QUEUE_BULK));
    for (int i = 0; i < batch; i++) {
        spawn(program, "line");
    }
    CHECK(moot_queue_close(m));
    CHECK(moot_queue_close(m));
}

static void gather(struct program *program)
{
    moot *m = program->m;
    for (int i = 0; i < program->count; i++) {
        CHECK(moot_task_fetch_into(m, program->tasks[i], MOOT_FOREVER,
                                   &program->spans[i], sizeof(program->spans[i]),
                                   NULL));
    }
}

static bool all_before(const struct program *program, int first, int end, int other,
                       int other_end)
{
    bool good = true;
    for (int i = first; i < end; i++) {
        for (int k = other; k < other_end; k++) {
            good &= program->spans[i].ended_ns <= program->spans[k].begun_ns;
        }
    }
    return good;
}

/* load < all rows < sum < the next step's load */
static bool steps_are_right(const struct program *program, int batch)
{
    bool good = true;
    for (int step = 0; step < STEPS; step++) {
        int load = step * (batch + 2), sum = load + batch + 1;
        good &= all_before(program, load, load + 1, load + 1, sum);
        good &= all_before(program, load + 1, sum, sum, sum + 1);
        good &=
            step == STEPS - 1 || all_before(program, sum, sum + 1, sum + 1, sum + 2);
    }
    return good;
}

/* How many of these ran at the same time, at most. */
static size_t peak(const struct program *program, int first, int end)
{
    size_t most = 0;
    for (int i = first; i < end; i++) {
        int64_t at_ns = program->spans[i].begun_ns;
        size_t running = 0;
        for (int k = first; k < end; k++) {
            running += program->spans[k].begun_ns <= at_ns &&
                       at_ns < program->spans[k].ended_ns;
        }
        most = running > most ? running : most;
    }
    return most;
}

static const struct program *sorted; /* what compare() looks into */

static int compare(const void *a, const void *b)
{
    int64_t x = sorted->spans[*(const int *)a].begun_ns;
    int64_t y = sorted->spans[*(const int *)b].begun_ns;
    return (x > y) - (x < y);
}

static void print_order(const struct program *program)
{
    int order[TASKS_MAX];
    for (int i = 0; i < program->count; i++) {
        order[i] = i;
    }
    sorted = program;
    qsort(order, (size_t)program->count, sizeof(*order), compare);
    int64_t first_ns = program->spans[order[0]].begun_ns;
    for (int i = 0; i < program->count; i++) {
        const struct span *span = &program->spans[order[i]];
        moot_task_info info;
        check(moot_task_info(program->m, program->tasks[order[i]], &info),
              "moot_task_info", program->m);
        printf("%7.2f ms  rank %d  task %3d  %s\n",
               (double)(span->begun_ns - first_ns) * 1e-6, (int)span->rank, order[i],
               info.label);
    }
}

static int number(const char *text, int most)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end == '\0' && value >= 1 && value <= most) {
        return (int)value;
    }
    (void)fprintf(stderr, "usage: queues [BATCH [WIDTH]], each 1 to %d\n", BATCH_MAX);
    exit(EXIT_INPUT);
}

int main(int argc, char **argv)
{
    int batch = argc > 1 ? number(argv[1], BATCH_MAX) : 6;
    size_t width = (size_t)(argc > 2 ? number(argv[2], BATCH_MAX) : 2);
    struct program *program = calloc(1, sizeof(*program));
    moot *m = NULL;
    if (program == NULL) {
        return EXIT_WRONG;
    }
    CHECK(moot_open(NULL, &m));
    program->m = m;
    CHECK(moot_kernel_register(m, &(moot_kernel){.name = "work", .fn = work},
                               &program->kernel));
    spawn_all(program, batch, width);
    gather(program);
    int throttled = STEPS * (batch + 2);
    size_t most = peak(program, throttled, throttled + batch);
    bool good = steps_are_right(program, batch) && most <= width;
    moot_task_info info;
    CHECK(moot_task_info(m, program->tasks[program->count - 1], &info));
    good &= strcmp(info.label, "report: line") == 0;
    moot_stats stats;
    CHECK(moot_stats_get(m, &stats));
    bool lost = !good && stats.ranks_lost > 0;
    const char *verdict = good   ? "as declared"
                          : lost ? "not as declared, for a rank died and what it ran "
                                   "has run again"
                                 : "NOT AS DECLARED";
    if (moot_rank(m) == 0) {
        print_order(program);
        printf("%s: %d tasks, at most %zu of the throttled at a time\n", verdict,
               program->count, most);
    } else if (!good) {
        printf("rank %d: %s\n", moot_rank(m), verdict);
    }
    good |= lost;
    CHECK(moot_close(m));
    free(program);
    return good ? 0 : EXIT_WRONG;
}
