/* heat.c - heat spreads over a plate: each time step is a task array.
 *
 *     mpirun -n 4 heat [BLOCKS [STEPS]]
 *
 * The plate is a square of 16 * BLOCKS rows, its upper border hot, the others cold.  A
 * step replaces each point by the mean of its four neighbours (Jacobi's method for the
 * heat equation).  An element of the array is a block of 16 rows.  It takes its own
 * block of the step before and those above and below: the map is a window from -1 to
 * +1, which the ends of the plate cut.
 *
 * The program spawns all steps, and waits for the last alone: a block goes on as soon
 * as its neighbours have, and only blocks at the seams go from rank to rank.  The
 * handle of a step ends when the next step has been spawned, so old steps are
 * forgotten while new ones run.
 *
 * In the end each rank fetches the plate and compares it, to the last bit, with one
 * that it computes alone.  Exit status: 0 right, 1 an error or a wrong plate, 2 bad
 * arguments.
 */
#include <moot.h>
#include <moot_array.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, BLOCKS_MAX = 64, STEPS_MAX = 2000, EXIT_ERROR = 1, EXIT_INPUT };
enum { COLUMNS_MAX = ROWS * BLOCKS_MAX };

static const double HOT = 1, COLD = 0;

/* One row's next values, from the rows above and below and itself. */
static void relax(const double *above, const double *row, const double *below,
                  size_t columns, double *out)
{
    for (size_t c = 0; c < columns; c++) {
        const double left = c > 0 ? row[c - 1] : COLD;
        const double right = c + 1 < columns ? row[c + 1] : COLD;
        out[c] = 0.25 * ((above[c] + below[c]) + (left + right));
    }
}

static void fill(double *row, size_t columns, double value)
{
    for (size_t c = 0; c < columns; c++) {
        row[c] = value;
    }
}

/* --- Kernels ---------------------------------------------------------------------- */

/* The plate is as many columns wide as it has rows. */
static size_t plate_columns(const moot_call *call)
{
    return ROWS * (size_t)moot_call_count(call);
}

static int begin_block(moot_call *call, void *user)
{
    const size_t points = ROWS * plate_columns(call);
    double *block = moot_call_output(call, points * sizeof(*block));
    (void)user;
    if (block == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    fill(block, points, COLD);
    return MOOT_OK;
}

static int step_block(moot_call *call, void *user)
{
    static const size_t last = ROWS - 1;
    const size_t columns = plate_columns(call), inputs = moot_call_input_count(call);
    const size_t own = moot_call_index(call) > 0 ? 1 : 0; /* none is above the first */
    const double *block = moot_call_input(call, own, NULL);
    double hot[COLUMNS_MAX], cold[COLUMNS_MAX];
    double *out = moot_call_output(call, ROWS * columns * sizeof(*out));
    (void)user;
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    fill(hot, columns, HOT);
    fill(cold, columns, COLD);
    const double *above = hot, *below = cold;
    if (own > 0) {
        above = (const double *)moot_call_input(call, 0, NULL) + last * columns;
    }
    if (own + 1 < inputs) {
        below = moot_call_input(call, own + 1, NULL);
    }
    for (size_t r = 0; r < ROWS; r++) {
        relax(r > 0 ? &block[(r - 1) * columns] : above, &block[r * columns],
              r < last ? &block[(r + 1) * columns] : below, columns, &out[r * columns]);
    }
    return MOOT_OK;
}

/* --- The program ------------------------------------------------------------------ */

static void must(moot *m, int code)
{
    if (code != MOOT_OK) {
        fprintf(stderr, "heat: %s\n", moot_last_error(m));
        exit(EXIT_ERROR);
    }
}

/* Spawns all steps; the last one's handle is the caller's to release. */
static moot_array spawn_steps(moot *m, uint64_t blocks, unsigned long steps)
{
    moot_kernel_id begin, step;
    moot_array now, next;
    must(m, moot_kernel_register(m, &(moot_kernel){.name = "begin", .fn = begin_block},
                                 &begin));
    must(m, moot_kernel_register(m, &(moot_kernel){.name = "step", .fn = step_block},
                                 &step));
    must(m, moot_array_spawn(m, &(moot_array_spec){.kernel = begin, .count = blocks},
                             &now));
    for (unsigned long t = 0; t < steps; t++) {
        const moot_map_window window = {.low = -1, .high = 1, .edges = MOOT_EDGE_CUT};
        const moot_array_input before = {.array = now,
                                         .map = MOOT_MAP_WINDOW,
                                         .map_args = &window,
                                         .map_args_size = sizeof(window)};
        const moot_array_spec spec = {
            .kernel = step, .count = blocks, .inputs = &before, .input_count = 1};
        must(m, moot_array_spawn(m, &spec, &next));
        must(m, moot_array_release(m, now));
        now = next;
    }
    return now;
}

/* The same plate, row by row, without tasks; NULL if there is no memory. */
static double *compute_alone(size_t side, unsigned long steps)
{
    double *now = calloc(side * side, sizeof(*now));
    double *next = calloc(side * side, sizeof(*next));
    double hot[COLUMNS_MAX], cold[COLUMNS_MAX];
    fill(hot, side, HOT);
    fill(cold, side, COLD);
    for (unsigned long t = 0; now != NULL && next != NULL && t < steps; t++) {
        for (size_t r = 0; r < side; r++) {
            relax(r > 0 ? &now[(r - 1) * side] : hot, &now[r * side],
                  r + 1 < side ? &now[(r + 1) * side] : cold, side, &next[r * side]);
        }
        double *done = next;
        next = now;
        now = done;
    }
    if (next == NULL) {
        free(now);
        return NULL;
    }
    free(next);
    return now;
}

/* Whether the array's blocks have the bits of the plate; what the plate holds. */
static int compare(moot *m, moot_array array, uint64_t blocks, const double *plate,
                   double *heat)
{
    const size_t points = ROWS * ROWS * (size_t)blocks;
    int same = 1;
    *heat = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        moot_task block;
        const void *data;
        size_t size;
        must(m, moot_array_at(m, array, i, &block));
        must(m, moot_task_fetch(m, block, MOOT_FOREVER, &data, &size));
        same = same && size == points * sizeof(*plate) &&
               memcmp(data, &plate[i * points], size) == 0;
        for (size_t at = 0; same && at < points; at++) {
            *heat += ((const double *)data)[at];
        }
        must(m, moot_task_release(m, block));
    }
    return same;
}

int main(int argc, char **argv)
{
    const unsigned long blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
    const unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    moot *m;
    double heat;
    if (blocks < 1 || blocks > BLOCKS_MAX || steps < 1 || steps > STEPS_MAX) {
        fprintf(stderr, "usage: heat [BLOCKS [STEPS]]   (1 to %d, 1 to %d)\n",
                BLOCKS_MAX, STEPS_MAX);
        return EXIT_INPUT;
    }
    must(NULL, moot_open(NULL, &m));
    const moot_array last = spawn_steps(m, blocks, steps);
    must(m, moot_array_wait(m, last, MOOT_FOREVER));

    double *plate = compute_alone(ROWS * blocks, steps);
    if (plate == NULL) {
        fprintf(stderr, "heat: no memory for a plate of %lu blocks\n", blocks);
        return EXIT_ERROR;
    }
    const int same = compare(m, last, blocks, plate, &heat);
    printf("rank %d: heat %.6f after %lu steps, %s\n", moot_rank(m), heat, steps,
           same ? "as computed alone" : "WRONG");
    free(plate);
    must(m, moot_array_release(m, last));
    must(NULL, moot_close(m));
    return same ? 0 : EXIT_ERROR;
}
