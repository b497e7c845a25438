/* access.c - what it costs to let moot find the inputs, and what to keep data at a
 * rank.
 *
 *   mpirun -n 2 access [--tiles T] [--tile-rows R] [--pairs N] [--seconds N]
 *                      [--target RATIO]
 *
 * The tasks of a tiled Cholesky factorisation, T x T tiles of R x R numbers: once the
 * program keeps the newest version of each tile and names it as an input, once it gives
 * access modes on data handles (moot_data.h), and once these are handles whose versions
 * are made beside each other (MOOT_DATA_BESIDE).  The tasks of the first two are the
 * same, to their hashes, and so is the kernel, R^3 multiplications.  The ways take
 * turns, forwards and backwards by turns; each round gives ratios of times, and the
 * median of the rounds is the row: N, or as many as begin within so many seconds.  Of
 * `beside` the bytes that all ranks send are a row, too.
 */
#include "tests/bench/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES_MAX = 32, PAIRS_MAX = 101 };

enum way { BY_INPUTS, BY_ACCESS, BESIDE, WAYS };

struct options {
    long tiles, rows, pairs;
    double seconds, target;
};

struct place {
    int32_t i, j, k, rows;
};

struct factorisation {
    struct kit kit;
    moot_kernel_id make, change;
    int32_t tiles, rows;
    moot_task tile[TILES_MAX][TILES_MAX];
    moot_data data[TILES_MAX][TILES_MAX];
};

/* --- Kernels ---------------------------------------------------------------------- */

static int make(moot_call *call, void *user)
{
    (void)user;
    const struct place *place = moot_call_args(call, NULL);
    size_t count = (size_t)place->rows * (size_t)place->rows;
    double *tile = moot_call_output(call, count * sizeof(*tile));
    for (size_t e = 0; tile != NULL && e < count; e++) {
        tile[e] = (double)(place->i - place->j) + 1.0 / (double)(e + 1);
    }
    return tile != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* c -= a b^T, with a and b the last inputs: whatever the step is, it costs as much. */
static int change(moot_call *call, void *user)
{
    (void)user;
    const struct place *place = moot_call_args(call, NULL);
    size_t rows = (size_t)place->rows, last = moot_call_input_count(call) - 1;
    double *c = moot_call_update(call, 0);
    const double *a = moot_call_input(call, last > 1 ? last - 1 : last, NULL);
    const double *b = moot_call_input(call, last, NULL);
    if (c == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < rows; j++) {
            double sum = 0;
            for (size_t k = 0; k < rows; k++) {
                sum += a[i * rows + k] * b[j * rows + k];
            }
            c[i * rows + j] -= sum / (double)rows;
        }
    }
    return MOOT_OK;
}

/* --- By inputs -------------------------------------------------------------------- */

static moot_task spawn(struct factorisation *f, moot_kernel_id kernel,
                       const struct place *place, const moot_task *inputs, size_t count)
{
    return kit_spawn(&f->kit, &(moot_task_spec){.kernel = kernel,
                                                .args = place,
                                                .args_size = sizeof(*place),
                                                .inputs = inputs,
                                                .input_count = count});
}

static void step_by_inputs(struct factorisation *f, int32_t i, int32_t j, int32_t k)
{
    struct place place = {i, j, k, f->rows};
    moot_task inputs[3] = {f->tile[i][j], f->tile[i][k], f->tile[j][k]};
    size_t count = j > k && i != j ? 3 : i > k ? 2 : 1;
    inputs[1] = j > k ? inputs[1] : f->tile[k][k];
    moot_task next = spawn(f, f->change, &place, inputs, count);
    kit_release(&f->kit, f->tile[i][j]);
    f->tile[i][j] = next;
}

/* --- By access -------------------------------------------------------------------- */

static void step_by_access(struct factorisation *f, int32_t i, int32_t j, int32_t k)
{
    struct place place = {i, j, k, f->rows};
    bool gemm = j > k && i != j;
    moot_access accesses[3] = {{f->data[i][j], MOOT_READWRITE},
                               {f->data[j > k ? i : k][k], MOOT_READ},
                               {f->data[j][k], MOOT_READ}};
    size_t count = gemm ? 3 : i > k ? 2 : 1;
    moot_task_spec spec = {
        .kernel = f->change, .args = &place, .args_size = sizeof(place)};
    bench_check(f->kit.m, moot_data_spawn(f->kit.m, &spec, accesses, count, NULL),
                "moot_data_spawn");
}

/* --- Both ------------------------------------------------------------------------- */

static void spawn_all(struct factorisation *f,
                      void (*step)(struct factorisation *, int32_t, int32_t, int32_t))
{
    for (int32_t k = 0; k < f->tiles; k++) {
        step(f, k, k, k);
        for (int32_t i = k + 1; i < f->tiles; i++) {
            step(f, i, k, k);
        }
        for (int32_t i = k + 1; i < f->tiles; i++) {
            for (int32_t j = k + 1; j <= i; j++) {
                step(f, i, j, k);
            }
        }
    }
}

static void make_tile(struct factorisation *f, int32_t i, int32_t j, enum way way)
{
    struct place place = {i, j, -1, f->rows};
    f->tile[i][j] = spawn(f, f->make, &place, NULL, 0);
    if (way != BY_INPUTS) {
        bench_check(f->kit.m,
                    moot_data_new_with(f->kit.m, f->tile[i][j],
                                       way == BESIDE ? MOOT_DATA_BESIDE : 0,
                                       &f->data[i][j]),
                    "moot_data_new_with");
        kit_release(&f->kit, f->tile[i][j]);
    }
}

/* All ranks wait for the whole factor. */
static void finish(struct factorisation *f, bool by_access)
{
    moot_task all[TILES_MAX * (TILES_MAX + 1) / 2];
    size_t count = 0;
    for (int32_t i = 0; i < f->tiles; i++) {
        for (int32_t j = 0; j <= i; j++) {
            if (by_access) {
                bench_check(f->kit.m,
                            moot_data_version(f->kit.m, f->data[i][j], &f->tile[i][j]),
                            "moot_data_version");
            }
            all[count++] = f->tile[i][j];
        }
    }
    bench_check(f->kit.m, moot_task_wait_all(f->kit.m, all, count, MOOT_FOREVER),
                "moot_task_wait_all");
}

struct turn {
    double took_s, bytes; /* of the slowest rank, and that all sent */
};

static struct turn take_turn(const struct bench *bench, const struct options *options,
                             enum way way)
{
    struct factorisation *f = bench_alloc(1, sizeof(*f));
    f->kit = kit_open(bench, NULL);
    f->make = kit_kernel(&f->kit, "make", make, NULL);
    f->change = kit_kernel(&f->kit, "change", change, NULL);
    f->tiles = (int32_t)options->tiles;
    f->rows = (int32_t)options->rows;
    kit_meet(&f->kit, 1);
    double begun_s = bench_now_s();
    for (int32_t i = 0; i < f->tiles; i++) {
        for (int32_t j = 0; j <= i; j++) {
            make_tile(f, i, j, way);
        }
    }
    spawn_all(f, way != BY_INPUTS ? step_by_access : step_by_inputs);
    finish(f, way != BY_INPUTS);
    const double took_s = bench_now_s() - begun_s;
    const double sent = kit_sent_bytes(&f->kit);
    struct turn turn;
    kit_close(&f->kit);
    free(f);
    MPI_Allreduce(&took_s, &turn.took_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&sent, &turn.bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return turn;
}

static void measure(const struct bench *bench, const struct options *options)
{
    double access[PAIRS_MAX], beside[PAIRS_MAX], bytes[PAIRS_MAX],
        by_inputs_s[PAIRS_MAX], begun_s = bench_now_s();
    size_t rounds = 0;
    while (rounds < (size_t)options->pairs &&
           (rounds == 0 || bench_took_s(begun_s) < options->seconds)) {
        struct turn turns[WAYS];
        for (int i = 0; i < WAYS; i++) {
            const int way = rounds % 2 == 0 ? i : WAYS - 1 - i;
            turns[way] = take_turn(bench, options, (enum way)way);
        }
        by_inputs_s[rounds] = turns[BY_INPUTS].took_s;
        access[rounds] = turns[BY_ACCESS].took_s / turns[BY_INPUTS].took_s;
        beside[rounds] = turns[BESIDE].took_s / turns[BY_ACCESS].took_s;
        bytes[rounds] = turns[BESIDE].bytes / turns[BY_ACCESS].bytes;
        rounds++;
    }
    const struct figure ratio = figure_of(access, rounds);
    bench_row(bench, "cholesky-access-modes-to-inputs", ratio.median, options->target,
              "%.3f-%.3f in %zu rounds; %ld x %ld tiles of %ld rows take %.1f ms",
              ratio.least, ratio.most, rounds, options->tiles, options->tiles,
              options->rows, 1e3 * figure_of(by_inputs_s, rounds).median);
    const struct figure time = figure_of(beside, rounds);
    bench_row(bench, "cholesky-beside-to-not-time", time.median, 0, "%.3f-%.3f",
              time.least, time.most);
    const struct figure sent = figure_of(bytes, rounds);
    bench_row(bench, "cholesky-beside-to-not-bytes", sent.median, 0, "%.3f-%.3f",
              sent.least, sent.most);
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "access");
    struct options options = {
        .tiles = bench_number(argv, "--tiles", 16, 2, TILES_MAX),
        .rows = bench_number(argv, "--tile-rows", 32, 1, 1024),
        .pairs = bench_number(argv, "--pairs", 31, 1, PAIRS_MAX),
        .seconds = bench_real(argv, "--seconds", 20, 0, BENCH_SECONDS_MAX),
        .target = bench_real(argv, "--target", 0, 0, BENCH_TARGET_MAX),
    };
    measure(&bench, &options);
    bench_close(&bench);
    return 0;
}
