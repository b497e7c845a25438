/* cholesky.c - A = L L^T by tiles, on ranks that agree.
 *
 *     mpirun -n 4 cholesky [--data|--arrays] [TILES [TILE_ROWS]]
 *
 * The right-looking tiled factorisation (Buttari et al., Parallel Computing 35, 2009)
 * with A cut into TILES x TILES tiles, of which the lower half is kept.  A tile is
 * never overwritten: a task's inputs are the tiles that it reads and its result is the
 * new version of one tile, so the data flow alone orders the tasks and nobody names a
 * rank, a message or a barrier.  Every rank spawns the same tasks, so nobody votes
 * about them; the program fails if this rank had to (make it diverge, and see).  Votes
 * that pass on the tasks of a rank that leaves (`moot shrink`) are no such votes; that
 * rank closes, and the others end its work.
 *
 * With --data the same tasks are spawned through data handles: each tile has one, and a
 * task says which tiles it reads and which it changes.  Compare spawn_factorisation()
 * with spawn_by_access().  Hashes and results are the same, to the bit: "L" in the
 * output is a digest of the factor.
 *
 * With --arrays the tiles of a step are spawned together, as three task arrays: the one
 * on the diagonal, the column below it, and the triangle that is left.  The triangle
 * shrinks from step to step, so three maps of the program's own say which tiles a tile
 * takes.  A step is three spawns however many tiles it has, and the factor is the same
 * to the bit; compare spawn_by_arrays().
 *
 * The matrix is made by tasks too: entries from a hash of (row, column) in [0, 1), and
 * n more on the diagonal, which makes it positive definite.
 *
 * The oracle is the residual |A - L L^T| / |A| in the Frobenius norm, at most 1e-12 n.
 * It is computed by tasks over fresh copies of A's tiles and summed in one fixed order,
 * so it is the same number at every rank count.  The tile kernels are written out
 * below, plainly, so that the example needs no BLAS; a real program calls one there.
 * Exit status: 0 right, 1 wrong, 2 bad arguments.
 */
#include <math.h>
#include <moot.h>
#include <moot_array.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES_MAX = 64, TILE_ROWS_MAX = 1024, EXIT_WRONG = 1, EXIT_INPUT = 2 };

/* Arguments of every kernel: a tile's place, and the matrix's shape.  No padding. */
struct place {
    int32_t i, j; /* tile row and column; of an array's elements their index says it */
    int32_t tiles, rows;
};

/* What the check of one tile finds, and of all: squares of Frobenius norms. */
struct norms {
    double residual, matrix;
    uint64_t digest; /* of the tiles of L */
};

/* --- Triangles of tiles: row by row, to the diagonal ------------------------------ */

static uint64_t triangle(uint64_t rows) { return rows * (rows + 1) / 2; }

/* (i, j) of the tile that stands there. */
static void split(uint64_t index, uint64_t *i, uint64_t *j)
{
    for (*i = 0; triangle(*i + 1) <= index; ++*i) {
    }
    *j = index - triangle(*i);
}

/* --- Tiles: row-major, rows x rows ------------------------------------------------ */

/* Entry (row, column) of A. */
static double entry(uint64_t row, uint64_t column, uint64_t n)
{
    uint64_t low = row < column ? row : column, high = row < column ? column : row;
    uint64_t z = (low << 32 | high) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(z >> 11) * 0x1p-53 + (row == column ? (double)n : 0.0);
}

static void make_tile(const struct place *p, double *tile)
{
    uint64_t rows = (uint64_t)p->rows, n = rows * (uint64_t)p->tiles;

    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < rows; c++) {
            tile[r * rows + c] =
                entry((uint64_t)p->i * rows + r, (uint64_t)p->j * rows + c, n);
        }
    }
}

/* c -= a b^T */
static void tile_gemm(size_t rows, double *c, const double *a, const double *b)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < rows; j++) {
            double sum = 0.0;

            for (size_t k = 0; k < rows; k++) {
                sum += a[i * rows + k] * b[j * rows + k];
            }
            c[i * rows + j] -= sum;
        }
    }
}

/* a := l with a = l l^T, zero above the diagonal; false if a is not positive definite.
 */
static bool tile_potrf(size_t rows, double *a)
{
    for (size_t j = 0; j < rows; j++) {
        for (size_t k = 0; k < j; k++) {
            a[j * rows + j] -= a[j * rows + k] * a[j * rows + k];
        }
        if (!(a[j * rows + j] > 0.0)) {
            return false;
        }
        a[j * rows + j] = sqrt(a[j * rows + j]);
        for (size_t i = j + 1; i < rows; i++) {
            for (size_t k = 0; k < j; k++) {
                a[i * rows + j] -= a[i * rows + k] * a[j * rows + k];
            }
            a[i * rows + j] /= a[j * rows + j];
            a[j * rows + i] = 0.0;
        }
    }
    return true;
}

/* a := a l^-T */
static void tile_trsm(size_t rows, double *a, const double *l)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < rows; j++) {
            for (size_t k = 0; k < j; k++) {
                a[i * rows + j] -= a[i * rows + k] * l[j * rows + k];
            }
            a[i * rows + j] /= l[j * rows + j];
        }
    }
}

/* --- The kernels ------------------------------------------------------------------ */

/* The result: a new version of input 0, which starts as what it was.  Whether it is a
 * copy or the same memory is moot's affair. */
static double *new_version(moot_call *call)
{
    double *tile = moot_call_update(call, 0);

    if (tile == NULL) {
        moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for a tile");
    }
    return tile;
}

static const struct place *place_of(const moot_call *call)
{
    size_t size;

    return moot_call_args(call, &size);
}

static const double *input(const moot_call *call, size_t i)
{
    size_t size;

    return moot_call_input(call, i, &size);
}

/* -> tile (i, j) of A */
static int kernel_make(moot_call *call, void *user)
{
    struct place p = *place_of(call);
    size_t rows = (size_t)p.rows;
    double *tile = moot_call_output(call, rows * rows * sizeof(*tile));

    (void)user;
    if (moot_call_count(call) > 1) {
        uint64_t i, j;

        split(moot_call_index(call), &i, &j);
        p.i = (int32_t)i;
        p.j = (int32_t)j;
    }
    if (tile == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for a tile");
    }
    make_tile(&p, tile);
    return MOOT_OK;
}

/* A(k,k) -> L(k,k) */
static int kernel_potrf(moot_call *call, void *user)
{
    size_t rows = (size_t)place_of(call)->rows;
    double *tile = new_version(call);

    (void)user;
    if (tile == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (!tile_potrf(rows, tile)) {
        return moot_call_fail(call, MOOT_ERR_INVALID, "A is not positive definite");
    }
    return MOOT_OK;
}

/* A(i,k), L(k,k) -> L(i,k) */
static int kernel_trsm(moot_call *call, void *user)
{
    size_t rows = (size_t)place_of(call)->rows;
    double *tile = new_version(call);

    (void)user;
    if (tile == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    tile_trsm(rows, tile, input(call, 1));
    return MOOT_OK;
}

/* A(i,j), L(i,k), L(j,k) -> A(i,j) - L(i,k) L(j,k)^T.  With i = j this is BLAS's syrk;
 * the upper half that it could leave out is not worth a second routine here. */
static int kernel_gemm(moot_call *call, void *user)
{
    size_t rows = (size_t)place_of(call)->rows;
    double *tile = new_version(call);

    (void)user;
    if (tile == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    tile_gemm(rows, tile, input(call, 1), input(call, moot_call_input_count(call) - 1));
    return MOOT_OK;
}

/* FNV-1a, by words. */
static uint64_t digest(uint64_t so_far, const double *tile, size_t count)
{
    for (size_t e = 0; e < count; e++) {
        uint64_t word;

        memcpy(&word, &tile[e], sizeof(word));
        so_far = (so_far ^ word) * 0x100000001b3u;
    }
    return so_far;
}

/* L(i,0..j), L(j,0..j) -> the norms of tile (i, j) of A - L L^T and of A.  A tile below
 * the diagonal stands for its mirror image too. */
static int kernel_residual(moot_call *call, void *user)
{
    const struct place *p = place_of(call);
    size_t rows = (size_t)p->rows, terms = moot_call_input_count(call) / 2;
    double weight = p->i == p->j ? 1.0 : 2.0;
    double *tile = calloc(rows * rows, sizeof(*tile));
    struct norms *norms = moot_call_output(call, sizeof(*norms));

    (void)user;
    if (tile == NULL || norms == NULL) {
        free(tile);
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for a tile");
    }
    *norms = (struct norms){0};
    make_tile(p, tile);
    for (size_t e = 0; e < rows * rows; e++) {
        norms->matrix += weight * tile[e] * tile[e];
    }
    for (size_t k = 0; k < terms; k++) {
        tile_gemm(rows, tile, input(call, k), input(call, terms + k));
    }
    for (size_t e = 0; e < rows * rows; e++) {
        norms->residual += weight * tile[e] * tile[e];
    }
    free(tile);
    norms->digest = digest(0xcbf29ce484222325u, input(call, terms - 1), rows * rows);
    return MOOT_OK;
}

/* norms... -> their sum */
static int kernel_sum(moot_call *call, void *user)
{
    struct norms *sum = moot_call_output(call, sizeof(*sum));

    (void)user;
    if (sum == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for two numbers");
    }
    *sum = (struct norms){0};
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t size;
        const struct norms *part = moot_call_input(call, i, &size);

        sum->residual += part->residual;
        sum->matrix += part->matrix;
        sum->digest = (sum->digest ^ part->digest) * 0x100000001b3u;
    }
    return MOOT_OK;
}

/* --- Maps: of arrays, by the triangle of the step before -------------------------- */

/* L(r+1,k) takes tile (r+1, 0). */
static int map_column(void *user, const void *args, size_t args_size, uint64_t element,
                      uint64_t count, uint64_t source_count, moot_range *out,
                      size_t room)
{
    (void)user, (void)args, (void)args_size, (void)count, (void)source_count,
        (void)room;
    *out = (moot_range){triangle(element + 1), 1};
    return 1;
}

/* Tile (i, j) takes tile (i+1, j+1) of a triangle of one more row. */
static int map_shrink(void *user, const void *args, size_t args_size, uint64_t element,
                      uint64_t count, uint64_t source_count, moot_range *out,
                      size_t room)
{
    uint64_t i, j;

    (void)user, (void)args, (void)args_size, (void)count, (void)source_count,
        (void)room;
    split(element, &i, &j);
    *out = (moot_range){triangle(i + 1) + j + 1, 1};
    return 1;
}

/* Tile (i, j) takes i and j of a column, or one of them where they are the same. */
static int map_pair(void *user, const void *args, size_t args_size, uint64_t element,
                    uint64_t count, uint64_t source_count, moot_range *out, size_t room)
{
    uint64_t i, j;

    (void)user, (void)args, (void)args_size, (void)count, (void)source_count;
    split(element, &i, &j);
    if (room > 0) {
        out[0] = (moot_range){i, 1};
    }
    if (room > 1 && i != j) {
        out[1] = (moot_range){j, 1};
    }
    return i == j ? 1 : 2;
}

/* --- The program ------------------------------------------------------------------ */

struct factorisation {
    moot *m;
    int32_t tiles, rows;
    moot_kernel_id make, potrf, trsm, gemm, residual, sum;
    moot_map_id column, shrink, pair;
    enum way { BY_INPUTS, BY_ACCESS, BY_ARRAYS } way;
    moot_data data[TILES_MAX][TILES_MAX]; /* BY_ACCESS: a handle of each tile */
    moot_task tile[TILES_MAX][TILES_MAX]; /* the newest version of each */
    moot_task part[TILES_MAX * (TILES_MAX + 1) / 2];
    size_t parts;
};

static void check(moot *m, const char *what, int code)
{
    if (code == MOOT_OK) {
        return;
    }
    if (code == MOOT_ERR_CLOSED) { /* this rank was asked to leave */
        exit(moot_close(m) == MOOT_OK ? EXIT_SUCCESS : EXIT_WRONG);
    }
    fprintf(stderr, "cholesky: rank %d: %s: %s\n", m == NULL ? -1 : moot_rank(m), what,
            moot_last_error(m));
    exit(EXIT_WRONG);
}

static moot_task spawn(const struct factorisation *f, moot_kernel_id kernel, int32_t i,
                       int32_t j, const moot_task *inputs, size_t input_count,
                       const char *label)
{
    struct place place = {i, j, f->tiles, f->rows};
    moot_task task;

    check(f->m, label,
          moot_task_spawn(f->m,
                          &(moot_task_spec){.kernel = kernel,
                                            .args = &place,
                                            .args_size = sizeof(place),
                                            .inputs = inputs,
                                            .input_count = input_count,
                                            .label = label},
                          &task));
    return task;
}

/* The tile has a newer version: gives up the handle of the one before, which lives on
 * until the tasks that read it have run. */
static void replace(const struct factorisation *f, moot_task *tile, moot_task newer)
{
    check(f->m, "release", moot_task_release(f->m, *tile));
    *tile = newer;
}

static void spawn_factorisation(struct factorisation *f)
{
    moot_task(*t)[TILES_MAX] = f->tile;

    for (int32_t i = 0; i < f->tiles; i++) {
        for (int32_t j = 0; j <= i; j++) {
            t[i][j] = spawn(f, f->make, i, j, NULL, 0, "make");
        }
    }
    for (int32_t k = 0; k < f->tiles; k++) {
        replace(f, &t[k][k], spawn(f, f->potrf, k, k, &t[k][k], 1, "potrf"));
        for (int32_t i = k + 1; i < f->tiles; i++) {
            moot_task in[] = {t[i][k], t[k][k]};

            replace(f, &t[i][k], spawn(f, f->trsm, i, k, in, 2, "trsm"));
        }
        for (int32_t i = k + 1; i < f->tiles; i++) {
            for (int32_t j = k + 1; j <= i; j++) {
                moot_task in[] = {t[i][j], t[i][k], t[j][k]};

                replace(f, &t[i][j],
                        i == j ? spawn(f, f->gemm, i, i, in, 2, "syrk")
                               : spawn(f, f->gemm, i, j, in, 3, "gemm"));
            }
        }
    }
}

/* Spawns a task that changes tile (i, j) and reads the others. */
static void access_tiles(struct factorisation *f, moot_kernel_id kernel, int32_t i,
                         int32_t j, const moot_data *read, size_t read_count,
                         const char *label)
{
    struct place place = {i, j, f->tiles, f->rows};
    moot_access accesses[3] = {{f->data[i][j], MOOT_READWRITE}};

    for (size_t k = 0; k < read_count; k++) {
        accesses[k + 1] = (moot_access){read[k], MOOT_READ};
    }
    check(f->m, label,
          moot_data_spawn(f->m,
                          &(moot_task_spec){.kernel = kernel,
                                            .args = &place,
                                            .args_size = sizeof(place),
                                            .label = label},
                          accesses, read_count + 1, NULL));
}

static void make_data(struct factorisation *f, int32_t i, int32_t j)
{
    moot_task made = spawn(f, f->make, i, j, NULL, 0, "make");

    check(f->m, "data", moot_data_new(f->m, made, &f->data[i][j]));
    check(f->m, "release", moot_task_release(f->m, made));
}

/* The same tasks, with the versions left to moot. */
static void spawn_by_access(struct factorisation *f)
{
    moot_data(*a)[TILES_MAX] = f->data;

    for (int32_t i = 0; i < f->tiles; i++) {
        for (int32_t j = 0; j <= i; j++) {
            make_data(f, i, j);
        }
    }
    for (int32_t k = 0; k < f->tiles; k++) {
        access_tiles(f, f->potrf, k, k, NULL, 0, "potrf");
        for (int32_t i = k + 1; i < f->tiles; i++) {
            access_tiles(f, f->trsm, i, k, &a[k][k], 1, "trsm");
        }
        for (int32_t i = k + 1; i < f->tiles; i++) {
            for (int32_t j = k + 1; j <= i; j++) {
                moot_data read[] = {a[i][k], a[j][k]};

                access_tiles(f, f->gemm, i, j, read, i == j ? 1 : 2,
                             i == j ? "syrk" : "gemm");
            }
        }
    }
    for (int32_t i = 0; i < f->tiles; i++) {
        for (int32_t j = 0; j <= i; j++) {
            check(f->m, "version", moot_data_version(f->m, a[i][j], &f->tile[i][j]));
        }
    }
}

static moot_array spawn_array(const struct factorisation *f, moot_kernel_id kernel,
                              uint64_t count, const moot_array_input *inputs,
                              size_t input_count, const char *label)
{
    struct place place = {0, 0, f->tiles, f->rows};
    moot_array array;

    check(f->m, label,
          moot_array_spawn(f->m,
                           &(moot_array_spec){.kernel = kernel,
                                              .count = count,
                                              .args = &place,
                                              .args_size = sizeof(place),
                                              .inputs = inputs,
                                              .input_count = input_count,
                                              .label = label},
                           &array));
    return array;
}

/* L(i,k) is element `index` of the array. */
static void read_tile(struct factorisation *f, moot_array array, uint64_t index,
                      int32_t i, int32_t k)
{
    check(f->m, "element", moot_array_at(f->m, array, index, &f->tile[i][k]));
}

/* The same kernels on the same tiles, as arrays.  The triangle has tiles k and more of
 * each side, by then; its last row and column are A's. */
static void spawn_by_arrays(struct factorisation *f)
{
    moot_array left =
        spawn_array(f, f->make, triangle((uint64_t)f->tiles), NULL, 0, "make");

    for (int32_t k = 0; k < f->tiles; k++) {
        uint64_t below = (uint64_t)(f->tiles - k - 1);
        moot_array_input first = {.array = left};
        moot_array corner = spawn_array(f, f->potrf, 1, &first, 1, "potrf");

        read_tile(f, corner, 0, k, k);
        if (below > 0) {
            moot_array_input column[] = {{.array = left, .map = f->column},
                                         {.array = corner, .map = MOOT_MAP_ALL}};
            moot_array solved = spawn_array(f, f->trsm, below, column, 2, "trsm");
            moot_array_input rest[] = {{.array = left, .map = f->shrink},
                                       {.array = solved, .map = f->pair}};
            moot_array next = spawn_array(f, f->gemm, triangle(below), rest, 2, "gemm");

            for (uint64_t r = 0; r < below; r++) {
                read_tile(f, solved, r, k + 1 + (int32_t)r, k);
            }
            check(f->m, "release", moot_array_release(f->m, solved));
            check(f->m, "release", moot_array_release(f->m, left));
            left = next;
        }
        check(f->m, "release", moot_array_release(f->m, corner));
    }
    check(f->m, "release", moot_array_release(f->m, left));
}

/* Spawns the check of every tile and their sum, and returns the sum's task. */
static moot_task spawn_check(struct factorisation *f)
{
    for (int32_t i = 0; i < f->tiles; i++) {
        for (int32_t j = 0; j <= i; j++) {
            moot_task inputs[2 * TILES_MAX];
            size_t terms = (size_t)j + 1;

            memcpy(inputs, f->tile[i], terms * sizeof(inputs[0]));
            memcpy(inputs + terms, f->tile[j], terms * sizeof(inputs[0]));
            f->part[f->parts++] =
                spawn(f, f->residual, i, j, inputs, 2 * terms, "residual");
        }
    }
    return spawn(f, f->sum, 0, 0, f->part, f->parts, "sum");
}

static void register_kernels(struct factorisation *f)
{
    const struct {
        const char *name;
        moot_kernel_fn fn;
        moot_kernel_id *id;
    } rows[] = {
        {"cholesky.make", kernel_make, &f->make},
        {"cholesky.potrf", kernel_potrf, &f->potrf},
        {"cholesky.trsm", kernel_trsm, &f->trsm},
        {"cholesky.gemm", kernel_gemm, &f->gemm},
        {"cholesky.residual", kernel_residual, &f->residual},
        {"cholesky.sum", kernel_sum, &f->sum},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(f->m, rows[i].name,
              moot_kernel_register(
                  f->m, &(moot_kernel){.name = rows[i].name, .fn = rows[i].fn},
                  rows[i].id));
    }
}

static void register_map(struct factorisation *f, const char *name, moot_map_fn sources,
                         moot_map_id *id)
{
    check(f->m, name,
          moot_map_register(f->m, &(moot_map){.name = name, .sources = sources}, id));
}

/* Votes but those about the tasks of a rank that leaves: it counts as closed, and
 * hints. */
static uint64_t votes_of_divergence(const moot_stats *stats)
{
    enum { CLOSED = 0, HINT = 2 }; /* in votes_by */

    return stats->votes - stats->votes_by[CLOSED] - stats->votes_by[HINT];
}

/* Everything between open and close; returns the exit status. */
static int run(struct factorisation *f)
{
    double n = (double)f->tiles * f->rows, residual;
    moot_task sum;
    moot_stats stats;
    const struct norms *norms;
    const void *data;
    size_t size;

    register_kernels(f);
    register_map(f, "cholesky.column", map_column, &f->column);
    register_map(f, "cholesky.shrink", map_shrink, &f->shrink);
    register_map(f, "cholesky.pair", map_pair, &f->pair);
    if (f->way == BY_ACCESS) {
        spawn_by_access(f);
    } else if (f->way == BY_ARRAYS) {
        spawn_by_arrays(f);
    } else {
        spawn_factorisation(f);
    }
    sum = spawn_check(f);
    check(f->m, "fetch", moot_task_fetch(f->m, sum, MOOT_FOREVER, &data, &size));
    norms = data;
    residual = sqrt(norms->residual / norms->matrix);
    check(f->m, "stats", moot_stats_get(f->m, &stats));
    if (moot_rank(f->m) == 0) {
        printf(
            "n %.0f, residual %.2e (allowed %.2e), L %016llx, %llu tasks, %llu votes\n",
            n, residual, 1e-12 * n, (unsigned long long)norms->digest,
            (unsigned long long)stats.tasks_spawned, (unsigned long long)stats.votes);
    }
    if (!(residual <= 1e-12 * n)) {
        fprintf(stderr, "cholesky: rank %d: WRONG: the residual is %g\n",
                moot_rank(f->m), residual);
        return EXIT_WRONG;
    }
    if (votes_of_divergence(&stats) != 0) {
        fprintf(stderr, "cholesky: rank %d: WRONG: %llu votes among ranks that agree\n",
                moot_rank(f->m), (unsigned long long)votes_of_divergence(&stats));
        return EXIT_WRONG;
    }
    return EXIT_SUCCESS;
}

static bool parse_number(const char *text, long high, int32_t *out)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < 1 || value > high) {
        return false;
    }
    *out = (int32_t)value;
    return true;
}

int main(int argc, char **argv)
{
    struct factorisation *f = calloc(1, sizeof(*f));
    int status = EXIT_INPUT;
    bool good;

    if (f == NULL) {
        return EXIT_WRONG;
    }
    if (argc > 1 && strncmp(argv[1], "--", 2) == 0) {
        f->way = strcmp(argv[1], "--data") == 0     ? BY_ACCESS
                 : strcmp(argv[1], "--arrays") == 0 ? BY_ARRAYS
                                                    : BY_INPUTS;
        argc -= f->way != BY_INPUTS;
        argv += f->way != BY_INPUTS;
    }
    good = argc <= 3;
    f->tiles = 8;
    f->rows = 64;
    if (good && argc > 1) {
        good = parse_number(argv[1], TILES_MAX, &f->tiles);
    }
    if (good && argc > 2) {
        good = parse_number(argv[2], TILE_ROWS_MAX, &f->rows);
    }
    check(NULL, "open", moot_open(NULL, &f->m));
    if (good) {
        status = run(f);
    } else if (moot_rank(f->m) == 0) {
        fprintf(stderr,
                "usage: cholesky [--data|--arrays] [TILES [ROWS]], up to %d and %d\n",
                TILES_MAX, TILE_ROWS_MAX);
    }
    if (moot_close(f->m) != MOOT_OK) {
        status = EXIT_WRONG;
    }
    free(f);
    return status;
}
