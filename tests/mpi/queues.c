/* queues.c - nestings of task queues on real ranks: what runs, runs in the order that
 * its owner's program declared.
 *
 *     mpirun -n 4 queues [PART OF A CASE'S NAME]
 *
 * A table of nestings with their orders written out, and then every nesting of
 * sequential, bulk and custom queues up to four deep, the order of which is worked out
 * from its text (regions/region.h).  Ranks agree; or each lacks some tasks; or each has
 * other queues around the same tasks.  Every task tells where it ran and when (of one
 * host, so clocks compare), and every rank checks all of them: a task that ran on rank
 * r starts after what r's own program, which may lack tasks, put just before it.
 */
#include "tests/mpi/support/harness.h"

#include "tests/mpi/regions/region.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_S = 240, DEPTH_MAX = 4 };
enum difference { AGREEING, LACKING, OTHER_QUEUES };

struct span {
    uint64_t rank, begun_ns, ended_ns;
};

struct world {
    moot *m;
    moot_kernel_id kernel;
    int rank, size;
    uint64_t row; /* distinguishes the tasks of rows */
};

static int work(moot_call *call, void *user)
{
    (void)user;
    struct span *span = moot_call_output(call, sizeof(*span));
    if (span == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    span->rank = (uint64_t)moot_rank(moot_call_context(call));
    span->begun_ns = harness_now_ns();
    span->ended_ns = harness_now_ns();
    return MOOT_OK;
}

static struct world open_world(void)
{
    struct world world = {.rank = harness_rank(), .size = harness_size()};
    if (moot_open_comm(NULL, MPI_COMM_WORLD, &world.m) != MOOT_OK) {
        (void)fprintf(stderr, "%s\n", moot_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    harness_explain_with(world.m);
    CHECK_OK(moot_kernel_register(world.m, &(moot_kernel){.name = "work", .fn = work},
                                  &world.kernel));
    return world;
}

/* --- The queue that passes pairs ------------------------------------------------- */

struct pairs {
    moot_ticket *kept[2];
    size_t count;
};

static int pairs_open(moot_queue *queue, void *user, void **state)
{
    (void)queue;
    (void)user;
    *state = harness_alloc(1, sizeof(struct pairs));
    return MOOT_OK;
}

static int pairs_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                        void *state)
{
    struct pairs *pairs = state;
    int error = MOOT_OK;
    for (size_t i = 0; i < count && error == MOOT_OK; i++) {
        pairs->kept[pairs->count++] = tickets[i];
        if (pairs->count == 2) {
            pairs->count = 0;
            error = moot_queue_up(queue, pairs->kept, 2);
        }
    }
    return error;
}

static int pairs_close(moot_queue *queue, void *state)
{
    (void)queue; /* the one that is left goes up by itself */
    free(state);
    return MOOT_OK;
}

static void open_queue(struct world *world, char kind)
{
    static const moot_queue_custom in_pairs = {.name = "pairs",
                                               .open = pairs_open,
                                               .submit = pairs_submit,
                                               .close = pairs_close};
    if (kind == 'P') {
        CHECK_OK(moot_queue_open_custom(world->m, &in_pairs));
    } else {
        CHECK_OK(moot_queue_open(world->m, kind == 'S' ? MOOT_QUEUE_SEQUENTIAL
                                                       : MOOT_QUEUE_BULK));
    }
}

/* --- One nesting ----------------------------------------------------------------- */

/* The rank's own queues: those of the text, or turned by its number. */
static char kind_of(char kind, int rank, enum difference difference)
{
    static const char kinds[] = "SBP";
    const char *at = strchr(kinds, kind);
    int turn = difference == OTHER_QUEUES ? rank : 0;
    return kinds[(at - kinds + turn) % 3];
}

/* Every task is held by some rank. */
static uint64_t held_by(const struct world *world, int rank, enum difference difference)
{
    uint64_t holds = UINT64_MAX;
    for (int task = 0; difference == LACKING && task < REGION_TASKS_MAX; task++) {
        uint64_t draw = (world->row * 31 + (uint64_t)task * 7) * 0x9e3779b97f4a7c15u;
        bool lacks = world->size > 1 && (draw >> 40) % 3 == 0 &&
                     (draw >> 32) % (uint64_t)world->size == (uint64_t)rank;
        holds &= ~((uint64_t)lacks << task);
    }
    return holds;
}

static moot_task_spec spec_of(const struct world *world, const uint64_t args[2])
{
    return (moot_task_spec){
        .kernel = world->kernel, .args = args, .args_size = 2 * sizeof(*args)};
}

static void spawn_text(struct world *world, const char *text, uint64_t holds,
                       enum difference difference)
{
    moot_task task;
    for (const char *at = text; *at != '\0'; at++) {
        const uint64_t args[2] = {world->row, (uint64_t)region_task(*at)};
        moot_task_spec spec = spec_of(world, args);
        if (*at == ')') {
            CHECK_OK(moot_queue_close(world->m));
        } else if (at[1] == '(') {
            open_queue(world, kind_of(*at, world->rank, difference));
        } else if (region_task(*at) >= 0 && (holds >> args[1] & 1) != 0) {
            CHECK_OK(moot_task_spawn(world->m, &spec, &task));
            CHECK_OK(moot_task_release(world->m, task));
        }
    }
}

static void gather(struct world *world, uint64_t tasks,
                   struct span spans[REGION_TASKS_MAX])
{
    for (uint64_t i = 0; i < REGION_TASKS_MAX; i++) {
        if ((tasks >> i & 1) == 0) {
            continue;
        }
        const uint64_t args[2] = {world->row, i};
        moot_task_spec spec = spec_of(world, args);
        moot_hash hash;
        moot_task task;
        const void *data = NULL;
        CHECK_OK(moot_spec_hash(world->m, &spec, &hash));
        CHECK_OK(moot_task_find(world->m, &hash, &task));
        CHECK_OK(moot_task_fetch(world->m, task, MOOT_FOREVER, &data, NULL));
        if (data != NULL) {
            memcpy(&spans[i], data, sizeof(spans[i]));
        }
        CHECK_OK(moot_task_release(world->m, task));
    }
}

/* What must be before what: for each task, the batches that its owner's program put
 * just before it, and what is before these in the same way. */
static struct region_order declared_order(const struct world *world, const char *text,
                                          enum difference difference,
                                          const struct span spans[REGION_TASKS_MAX])
{
    struct region_order all = {0}, own;
    char turned[REGION_TEXT_BYTES];
    size_t length = strlen(text);
    for (int rank = 0; rank < world->size; rank++) {
        for (size_t i = 0; i <= length; i++) {
            turned[i] = text[i] != '\0' && text[i + 1] == '('
                            ? kind_of(text[i], rank, difference)
                            : text[i];
        }
        CHECK(region_order_of(turned, held_by(world, rank, difference), &own),
              "'%s' is no nesting", turned);
        for (int task = 0; task < REGION_TASKS_MAX; task++) {
            if (spans[task].rank == (uint64_t)rank) {
                all.before[task] = own.before[task];
            }
        }
    }
    region_order_close(&all);
    return all;
}

static void check_order(const struct world *world, const char *text,
                        enum difference difference,
                        const struct span spans[REGION_TASKS_MAX])
{
    struct region_order order = declared_order(world, text, difference, spans);
    for (int b = 0; b < REGION_TASKS_MAX; b++) {
        for (int a = 0; a < REGION_TASKS_MAX; a++) {
            CHECK((order.before[b] >> a & 1) == 0 ||
                      spans[a].ended_ns <= spans[b].begun_ns,
                  "%s: %c, on rank %d, began before %c, on rank %d, had ended", text,
                  region_letter(b), (int)spans[b].rank, region_letter(a),
                  (int)spans[a].rank);
        }
    }
}

static void run_text(struct world *world, const char *text, enum difference difference)
{
    struct span spans[REGION_TASKS_MAX] = {{0}};
    struct region_order all;
    char scope[32];
    world->row++;
    (void)snprintf(scope, sizeof(scope), "row %llu", (unsigned long long)world->row);
    CHECK(region_order_of(text, UINT64_MAX, &all), "'%s' is no nesting", text);
    CHECK_OK(moot_scope_open(world->m, scope));
    spawn_text(world, text, held_by(world, world->rank, difference), difference);
    gather(world, all.tasks, spans);
    CHECK_OK(moot_scope_close(world->m));
    check_order(world, text, difference, spans);
}

static void close_world(struct world *world, bool votes_allowed)
{
    CHECK_OK(moot_park(world->m));
    harness_barrier();
    CHECK_OK(moot_unpark(world->m));
    moot_stats stats;
    CHECK_OK(moot_stats_get(world->m, &stats));
    CHECK(votes_allowed || stats.votes == 0, "%llu votes",
          (unsigned long long)stats.votes);
    CHECK(stats.violations == 0 && stats.stalls == 0, "violations or stalls");
    CHECK_OK(moot_close(world->m));
    harness_explain_with(NULL);
}

/* --- Written out ----------------------------------------------------------------- */

/* A text, and its order: what stands before what.  Pairs that are not there, and do not
 * follow, are not ordered. */
static const struct {
    const char *text, *order;
} written[] = {
    {"S(abc)", "a<b b<c"},
    {"B(abc)", ""},
    {"P(abc)", ""},
    {"S(aS(bc)d)", "a<b b<c c<d"},
    {"S(aB(bc)d)", "a<b a<c b<d c<d"},
    {"B(aS(bc)d)", "b<c"},
    {"B(S(ab)S(cd)e)", "a<b c<d"},
    {"S(B(ab)B(cd))", "a<c a<d b<c b<d"},
    {"S(aB(S(bc)S(de))f)", "a<b b<c a<d d<e c<f e<f"},
    {"S(aB(bB(cd)e)f)", "a<b a<c a<d a<e b<f c<f d<f e<f"},
    {"B(S(aB(bc)d)e)", "a<b a<c b<d c<d"},
    {"S(B(S(B(ab)c)d)e)", "a<c b<c c<e d<e"},
    {"S(P(abcde))", "a<c a<d b<c b<d c<e d<e"},
    {"P(S(abc)d)", "a<b b<c"},
    {"S(aP(bcd)e)", "a<b a<c b<d c<d d<e"},
    {"S(B(abcdefghij)B(klmnopqrst)u)", "BATCHES"},
};

/* Adds "a<b a<c" to the pairs. */
static void read_pairs(const char *text, struct region_order *order)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '<') {
            order->before[region_task(at[1])] |= UINT64_C(1) << region_task(at[-1]);
        }
    }
    region_order_close(order);
}

/* What region_order_of() says is what is written; so the one checks the other. */
static void check_written(const char *text, const char *pairs)
{
    struct region_order worked_out, wanted = {0};
    CHECK(region_order_of(text, UINT64_MAX, &worked_out), "'%s'", text);
    region_order_close(&worked_out);
    if (strcmp(pairs, "BATCHES") == 0) { /* ten, ten and one */
        for (int task = 10; task < 21; task++) {
            wanted.before[task] = task < 20 ? 0x3ff : 0xfffff;
        }
    } else {
        read_pairs(pairs, &wanted);
    }
    for (int task = 0; task < REGION_TASKS_MAX; task++) {
        CHECK(worked_out.before[task] == wanted.before[task], "'%s': what is before %c",
              text, region_letter(task));
    }
}

static void run_written(enum difference difference)
{
    struct world world = open_world();
    for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
        check_written(written[i].text, written[i].order);
        run_text(&world, written[i].text, difference);
    }
    close_world(&world, difference != AGREEING);
}

/* --- All of them ----------------------------------------------------------------- */

static void run_all(enum difference difference)
{
    struct world world = open_world();
    for (int depth = 1; depth <= DEPTH_MAX; depth++) {
        int count = 1;
        for (int i = 0; i < depth; i++) {
            count *= 3;
        }
        for (int number = 0; number < count; number++) {
            char kinds[DEPTH_MAX + 1] = "", text[REGION_TEXT_BYTES];
            for (int i = 0, rest = number; i < depth; i++, rest /= 3) {
                kinds[i] = "SBP"[rest % 3];
            }
            region_write(kinds, text);
            run_text(&world, text, difference);
        }
    }
    close_world(&world, difference != AGREEING);
}

static const struct {
    const char *name;
    void (*run)(enum difference difference);
    enum difference difference;
} cases[] = {
    {"written out, ranks agree", run_written, AGREEING},
    {"written out, each rank lacks some tasks", run_written, LACKING},
    {"written out, each rank has other queues", run_written, OTHER_QUEUES},
    {"120 nestings to depth 4, ranks agree", run_all, AGREEING},
    {"120 nestings to depth 4, each rank lacks some tasks", run_all, LACKING},
    {"120 nestings to depth 4, each rank has other queues", run_all, OTHER_QUEUES},
};

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "queues");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc == 2 && strstr(cases[i].name, argv[1]) == NULL) {
            continue;
        }
        harness_case_begin(cases[i].name, DEADLINE_S);
        cases[i].run(cases[i].difference);
        harness_case_end();
    }
    return harness_close();
}
