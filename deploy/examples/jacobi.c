/* jacobi.c - heat on a plate, by as many processes as there are at the moment.
 *
 *     moot run --launcher local -n 2 --max 6 jacobi [ITERATIONS [SESSION [PLAN...]]]
 *
 * Jacobi's iteration on a plate of ROWS x COLUMNS points, cut into strips.  A task
 * makes a strip of one iteration from three of the one before, and every rank spawns
 * every task.  So a process that comes later runs the program from its beginning, finds
 * what is done, and takes its share of the rest: `moot grow` and `moot shrink` from
 * another terminal change how many there are at any moment.
 *
 * With SESSION, so many iterations are a session (0, the default: all are one), and a
 * PLAN says how the next one differs: `+2@3` has two more processes after session 3,
 * `-a_1@2` lets a_1 go after session 2.  A process that comes in session s begins
 * as all did, and comes to the boundaries behind it.
 *
 * Each rank compares its plate with one made by a plain loop, bit for bit.  Exit
 * status: 0 right, 1 wrong, 2 bad arguments. */
#include <err.h>
#include <moot.h>
#include <moot_session.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(call) ((call) == MOOT_OK ? (void)0 : errx(1, "%s", moot_last_error(m)))

enum { STRIPS = 12, STRIP_ROWS = 16, ROWS = STRIPS * STRIP_ROWS, COLUMNS = 96 };

struct where { /* of a strip; all of it travels */
    uint64_t iteration, strip;
};
struct strip {
    double point[STRIP_ROWS][COLUMNS];
};

/* --- The plate -------------------------------------------------------------------- */

/* Hot at the top, cold elsewhere. */
static void begin(struct strip *out, uint64_t strip)
{
    memset(out, 0, sizeof(*out));
    for (int x = 0; strip == 0 && x < COLUMNS; x++) {
        out->point[0][x] = 100;
    }
}

/* One strip of the next iteration; NULL: there is none above, or below. */
static void step(const struct strip *above, const struct strip *here,
                 const struct strip *below, struct strip *out)
{
    *out = *here;
    for (int y = 0; y < STRIP_ROWS; y++) {
        if ((y == 0 && above == NULL) || (y == STRIP_ROWS - 1 && below == NULL)) {
            continue; /* the plate's edge stays as it is */
        }
        const double *up = y > 0 ? here->point[y - 1] : above->point[STRIP_ROWS - 1];
        const double *down = y < STRIP_ROWS - 1 ? here->point[y + 1] : below->point[0];
        for (int x = 1; x < COLUMNS - 1; x++) {
            out->point[y][x] = 0.25 * (up[x] + down[x] + here->point[y][x - 1] +
                                       here->point[y][x + 1]);
        }
    }
}

static int relax(moot_call *call, void *user)
{
    size_t size;
    const struct where *where = moot_call_args(call, &size);
    struct strip *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (where->iteration == 0) {
        begin(out, where->strip);
        return MOOT_OK;
    }
    const size_t first = where->strip > 0; /* of the inputs: that above, if any */
    const bool last = where->strip == STRIPS - 1;
    step(first ? moot_call_input(call, 0, &size) : NULL,
         moot_call_input(call, first, &size),
         last ? NULL : moot_call_input(call, first + 1, &size), out);
    return MOOT_OK;
}

/* The whole plate by a plain loop. */
static struct strip *compute(uint64_t iterations)
{
    struct strip *plate = calloc(STRIPS, sizeof(*plate));
    struct strip *next = calloc(STRIPS, sizeof(*next));
    if (plate == NULL || next == NULL) {
        err(1, "no memory for a plate");
    }
    for (uint64_t s = 0; s < STRIPS; s++) {
        begin(&plate[s], s);
    }
    for (uint64_t i = 0; i < iterations; i++) {
        for (uint64_t s = 0; s < STRIPS; s++) {
            step(s > 0 ? &plate[s - 1] : NULL, &plate[s],
                 s < STRIPS - 1 ? &plate[s + 1] : NULL, &next[s]);
        }
        struct strip *before = plate;
        plate = next;
        next = before;
    }
    free(next);
    return plate;
}

/* --- The tasks -------------------------------------------------------------------- */

/* The strips of one iteration, from those of the one before, which are released. */
static void spawn_all(moot *m, moot_kernel_id kernel, uint64_t iteration,
                      moot_task strips[STRIPS])
{
    moot_task before[STRIPS];
    memcpy(before, strips, sizeof(before));
    for (uint64_t s = 0; s < STRIPS; s++) {
        const struct where where = {iteration, s};
        const uint64_t first = s > 0 ? s - 1 : 0, last = s < STRIPS - 1 ? s + 1 : s;
        const moot_task_spec spec = {.kernel = kernel,
                                     .args = &where,
                                     .args_size = sizeof(where),
                                     .inputs = before + first,
                                     .input_count =
                                         iteration > 0 ? last - first + 1 : 0};
        CHECK(moot_task_spawn(m, &spec, &strips[s]));
    }
    for (uint64_t s = 0; iteration > 0 && s < STRIPS; s++) {
        CHECK(moot_task_release(m, before[s]));
    }
}

/* --- Sessions --------------------------------------------------------------------- */

/* The plan for the end of this session. */
static moot_session_options read_plan(char **plan, const moot_session_info *session)
{
    moot_session_options options = {.size = sizeof(options)};
    for (; *plan != NULL; plan++) {
        const char *at = strchr(*plan, '@');
        const size_t length = at != NULL ? (size_t)(at - *plan) : 0;
        if (at == NULL || strtoull(at + 1, NULL, 10) != session->number) {
            continue;
        }
        if (**plan == '+') {
            options.grow += strtoull(*plan + 1, NULL, 10);
        } else if (strncmp(*plan + 1, session->process, length - 1) == 0 &&
                   strlen(session->process) == length - 1) {
            options.leave = 1;
        }
    }
    return options;
}

/* True: this rank goes. */
static bool end_session(moot *m, char **plan, moot_session_info *session)
{
    const moot_session_options options = read_plan(plan, session);
    CHECK(moot_session_next(m, &options, session));
    if (session->rank == 0) {
        printf("session %llu: %d ranks (%s)\n", (unsigned long long)session->number,
               session->size, session->why);
        fflush(stdout);
    }
    return options.leave != 0;
}

static bool is_right(moot *m, const moot_task strips[STRIPS], uint64_t iterations)
{
    struct strip *plate = compute(iterations);
    bool right = true;
    for (int s = 0; s < STRIPS; s++) {
        const void *data;
        size_t size;
        CHECK(moot_task_fetch(m, strips[s], MOOT_FOREVER, &data, &size));
        right = right && size == sizeof(plate[s]) && memcmp(data, &plate[s], size) == 0;
    }
    free(plate);
    return right;
}

int main(int argc, char **argv)
{
    moot *m = NULL;
    moot_kernel_id kernel;
    moot_session_info session;
    moot_task strips[STRIPS];
    char none[] = "", *end = none;
    const uint64_t iterations = argc > 1 ? strtoull(argv[1], &end, 10) : 2000;
    const uint64_t length = argc > 2 && *end == '\0' ? strtoull(argv[2], &end, 10) : 0;
    if (*end != '\0') {
        errx(2, "usage: jacobi [ITERATIONS [SESSION [PLAN...]]]");
    }
    CHECK(moot_open(NULL, &m));
    CHECK(
        moot_kernel_register(m, &(moot_kernel){.name = "relax", .fn = relax}, &kernel));
    CHECK(moot_session_info_get(m, &session));
    spawn_all(m, kernel, 0, strips);
    for (uint64_t i = 1; i <= iterations; i++) {
        spawn_all(m, kernel, i, strips);
        const bool ends = length > 0 && i % length == 0 && i < iterations;
        if (ends && i / length == session.number &&
            end_session(m, argv + 3, &session)) {
            return moot_close(m) == MOOT_OK ? 0 : 1;
        }
    }
    const bool right = is_right(m, strips, iterations);
    printf("%s: %s\n", session.process, right ? "right" : "WRONG");
    return moot_close(m) == MOOT_OK && right ? 0 : 1;
}
