/* spawn_table_test.c - with MOOT_DIVERGENCE_TABLE=1 the lowest rank tells at the close
 * at which lines the ranks spawned different tasks, and nothing of lines where they did
 * not.
 */
#include "tests/conformance/ranks.h"

enum { ALPHA, BETA };

struct padded {
    char kind;
    double x;
};

static int work(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void table_kernels(struct seat *seat)
{
    add_kernel(seat, ALPHA, "alpha", work, 0);
    add_kernel(seat, BETA, "beta", work, 0);
}

/* At a line that it names itself. */
static void spawn(struct seat *seat, const char *line, int kernel, const void *args,
                  size_t size)
{
    moot_task task;
    moot_task_spec spec = {
        .kernel = seat->kernels[kernel], .args = args, .args_size = size};
    EXPECT(seat, moot_task_spawn_at(seat->m, &spec, &task, line), MOOT_OK);
}

static void spawn_ints(struct seat *seat, const char *line, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        spawn(seat, line, ALPHA, &i, sizeof(i));
    }
}

/* In another order on each rank, and once more than once. */
static void spawn_shuffled(struct seat *seat, const char *line)
{
    for (int i = 0; i < 20; i++) {
        int number = 1000 + (i + 7 * seat->rank) % 20;
        spawn(seat, line, ALPHA, &number, sizeof(number));
        if (i == seat->rank) {
            spawn(seat, line, ALPHA, &number, sizeof(number));
        }
    }
}

static void spawn_padded(struct seat *seat, const char *line, int garbage)
{
    for (int i = 0; i < 10; i++) {
        struct padded args;
        memset(&args, garbage, sizeof(args));
        args.kind = 1;
        args.x = i;
        spawn(seat, line, BETA, &args, sizeof(args));
    }
}

static void spawns_alike(struct seat *seat)
{
    spawn_ints(seat, "app.c:1", 0, 100);
    spawn_shuffled(seat, "app.c:2");
    spawn_padded(seat, "app.c:3", 0);
}

static void spawns_otherwise(struct seat *seat)
{
    bool last = seat->rank == seat->size - 1;
    int number = 5000;
    spawns_alike(seat);
    spawn_ints(seat, "app.c:4", 2000, last ? 7 : 10);
    spawn_padded(seat, "app.c:5", last ? 0x55 : 0xaa);
    spawn(seat, "app.c:6", last ? BETA : ALPHA, &number, sizeof(number));
    spawn_ints(seat, "app.c:7", last ? 3000 : 4000, 3);
    if (last) {
        spawn_ints(seat, "app.c:8", 6000, 1);
    }
}

static void are_told_alike(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
    if (seat->rank == 0) {
        CHECK(seat, reported(seat, "the ranks spawned the same tasks"));
    } else {
        CHECK(seat, seat->report[0] == '\0');
    }
}

/* A probable mistake first, and then the lines with most. */
static void check_order(struct seat *seat)
{
    static const char *const order[] = {"app.c:6", "app.c:5", "app.c:4", "app.c:8"};
    const char *at = seat->report;
    for (size_t i = 0; at != NULL && i < sizeof(order) / sizeof(order[0]); i++) {
        at = strstr(at, order[i]);
    }
    CHECK(seat, at != NULL);
}

static void are_told_otherwise(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
    if (seat->rank != 0) {
        CHECK(seat, seat->report[0] == '\0');
        return;
    }
    bool two = seat->size == 2;
    CHECK(seat, reported(seat, "the ranks spawned different tasks at 5 lines"));
    CHECK(seat, !reported(seat, "app.c:1") && !reported(seat, "app.c:2") &&
                    !reported(seat, "app.c:3"));
    CHECK(seat,
          reported(seat, two ? "app.c:4, kernel 'alpha': 10 by rank 0; 7 by rank 1"
                             : "app.c:4, kernel 'alpha': 10 by ranks 0-1; 7 by "
                               "rank 2"));
    CHECK(seat,
          reported(seat, two ? "app.c:5, kernel 'beta': 10 by rank 0; 10 by rank 1; "
                               "as many, but not the same tasks\n"
                               "      the same arguments but for bytes 1 to 7 of 16"
                             : "app.c:5, kernel 'beta': 10 by ranks 0-1; 10 by "
                               "rank 2; as many, but not the same tasks\n"
                               "      the same arguments but for bytes 1 to 7 of "
                               "16"));
    CHECK(seat,
          reported(seat, two ? "app.c:6: kernel 'alpha' by rank 0; kernel 'beta' by "
                               "rank 1\n      another kernel at the same line"
                             : "app.c:6: kernel 'alpha' by ranks 0-1; kernel 'beta' "
                               "by rank 2\n"));
    CHECK(seat, reported(seat, "app.c:7, kernel 'alpha': 3 by "));
    check_order(seat);
    CHECK(seat, reported(seat, two ? "app.c:8, kernel 'alpha': 1 by rank 1; 0 by rank 0"
                                   : "app.c:8, kernel 'alpha': 1 by rank 2; 0 by ranks "
                                     "0-1"));
}

/* Each rank has its own garbage in the padding: as many kinds as there are ranks. */
static void spawns_with_garbage(struct seat *seat)
{
    spawn_padded(seat, "app.c:9", 0x11 * (seat->rank + 1));
}

static void garbage_is_found(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
    if (seat->rank == 0) {
        CHECK(seat, reported(seat, seat->size == 3 ? "10 by rank 2; as many, but not "
                                                   : "differ in more than 7 ways\n"));
        CHECK(seat, reported(seat, "\n      the same arguments but for bytes 1 to 7 "
                                   "of 16: probably padding"));
    }
}

/* More lines than there is room for, and none of another rank than the last. */
static void spawns_at_many_lines(struct seat *seat)
{
    for (int i = 0; i < 300; i++) {
        char line[32];
        snprintf(line, sizeof(line), "many.c:%d", i);
        if (i >= 256 || seat->rank == seat->size - 1) {
            spawn_ints(seat, line, 10000 + i, 1);
        }
    }
}

static void many_are_counted(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
    if (seat->rank == 0) {
        CHECK(seat, reported(seat, "different tasks at 256 lines"));
        CHECK(seat, reported(seat, "  ... and at 236 more"));
        CHECK(seat, reported(seat, "  44 spawns of more than 256 lines"));
    }
}

int main(int argc, char **argv)
{
    static const char *const table[] = {"MOOT_DIVERGENCE_TABLE=1", NULL};
    const struct scene scenes[] = {
        {"alike", spawns_alike, table_kernels, table, are_told_alike, {0}},
        {"otherwise",
         spawns_otherwise,
         table_kernels,
         table,
         are_told_otherwise,
         {2, 3}},
        {"garbage",
         spawns_with_garbage,
         table_kernels,
         table,
         garbage_is_found,
         {3, 8}},
        {"many", spawns_at_many_lines, table_kernels, table, many_are_counted, {2}},
    };
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
