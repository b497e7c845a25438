/* references.c - data by reference on real ranks (moot_reference.h).
 *
 *     references            the cases; on any number of ranks
 *     references reader     the only rank that can read a file dies
 *     references giver      one of the two ranks that have an array dies
 *
 * An array is one task on all ranks that put it, whatever order it lies in; a rank that
 * lacks it has it by its hash.  Kernels that have run are counted over all ranks: data
 * are given out once.
 */
#include "hashing/identity.h"
#include "node/api/moot_fingerprint.h"
#include "node/api/moot_reference.h"
#include "tests/mpi/support/harness.h"
#include "tests/mpi/support/must.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 40, COLUMNS = 50, CELLS = ROWS * COLUMNS, PATIENCE_S = 60 };

static int64_t plate[ROWS][COLUMNS], turned[COLUMNS][ROWS];
static moot_hash told; /* by rank 0's kernel */

static void fill_plates(int64_t first)
{
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            plate[row][column] = first + row * COLUMNS + column;
            turned[column][row] = plate[row][column];
        }
    }
}

/* The same array, in C order on even ranks and in Fortran order on odd ones. */
static int put_plate(moot *m, moot_task *out)
{
    static const uint64_t shape[] = {ROWS, COLUMNS};
    static const int64_t strides[] = {sizeof(int64_t), ROWS * sizeof(int64_t)};
    const moot_ndarray straight = {MOOT_TYPE_INT64, 2, shape, NULL, plate};
    const moot_ndarray across = {MOOT_TYPE_INT64, 2, shape, strides, turned};
    return moot_data_put(m, harness_rank() % 2 == 0 ? &straight : &across, out);
}

static uint64_t runs_of(const moot *m)
{
    moot_stats stats;
    return moot_stats_get(m, &stats) == MOOT_OK ? stats.tasks_run : 0;
}

static moot_hash hash_of(moot *m, moot_task task)
{
    moot_task_info info = {.size = 0};
    CHECK_OK(moot_task_info(m, task, &info));
    return info.hash;
}

static void check_bytes(moot *m, moot_task task, const void *wanted, size_t wanted_size)
{
    const void *data = NULL;
    size_t size = 0;
    CHECK_OK(moot_task_fetch(m, task, MOOT_SECONDS(PATIENCE_S), &data, &size));
    CHECK(size == wanted_size && (size == 0 || memcmp(data, wanted, size) == 0),
          "the result has %zu bytes of %zu, or others", size, wanted_size);
}

static moot_kernel_id add_kernel(moot *m, const char *name, moot_kernel_fn fn)
{
    moot_kernel_id id = {0};
    CHECK_OK(moot_kernel_register(m, &(moot_kernel){.name = name, .fn = fn}, &id));
    return id;
}

/* --- Kernels ---------------------------------------------------------------------- */

static int tell_hash(moot_call *call, void *user)
{
    (void)user;
    moot_hash *out = moot_call_output(call, sizeof(*out));
    *out = told;
    return MOOT_OK;
}

static int add_up(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    const int64_t *cells = moot_call_input(call, 0, &size);
    int64_t *sum = moot_call_output(call, sizeof(*sum));
    *sum = 0;
    for (size_t i = 0; i < size / sizeof(*cells); i++) {
        *sum += cells[i];
    }
    return MOOT_OK;
}

static int overwrite(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    (void)moot_call_input(call, 0, &size);
    memset(moot_call_update(call, 0), 0x55, size);
    return MOOT_OK;
}

/* All ranks have what rank 0 has told. */
static moot_hash hash_from_0(moot *m, moot_kernel_id kernel)
{
    moot_task task = {0};
    moot_hash hash = {{0}};
    const moot_task_spec spec = {.kernel = kernel, .owner = MOOT_ON(0)};
    CHECK_OK(moot_task_spawn(m, &spec, &task));
    CHECK_OK(moot_task_fetch_into(m, task, MOOT_SECONDS(PATIENCE_S), &hash,
                                  sizeof(hash), NULL));
    CHECK_OK(moot_task_release(m, task));
    return hash;
}

/* --- Cases ------------------------------------------------------------------------ */

static moot *begin_case_with(const char *name, const moot_options *options)
{
    moot *m = NULL;
    harness_case_begin(name, 2 * PATIENCE_S);
    CHECK_OK(harness_moot_open(options, &m));
    harness_explain_with(m);
    return m;
}

static moot *begin_case(const char *name) { return begin_case_with(name, NULL); }

static void end_case(moot *m)
{
    harness_explain_with(NULL);
    CHECK_OK(moot_close(m));
    harness_case_end();
}

/* One kernel has run in all, and all ranks have this hash. */
static void check_one_run(moot *m, const moot_hash *hash)
{
    uint64_t words[] = {runs_of(m), hash->bytes[0]};
    harness_sum(words, 2);
    CHECK(words[0] == 1, "%llu kernels ran, not 1", (unsigned long long)words[0]);
    CHECK(words[1] == (uint64_t)hash->bytes[0] * (uint64_t)harness_size(),
          "ranks have other hashes");
}

static void put_on_all_ranks(void)
{
    moot *m = begin_case("equal arrays are one task, given out once");
    moot_task task = {0}, again = {0}, inside = {0};
    fill_plates(7);
    CHECK_OK(put_plate(m, &task));
    CHECK_OK(put_plate(m, &again));
    CHECK_OK(moot_scope_open(m, "phase"));
    CHECK_OK(put_plate(m, &inside));
    CHECK_OK(moot_scope_close(m));
    fill_plates(-1); /* a copy was made */
    const moot_hash hash = hash_of(m, task);
    const moot_hash other = hash_of(m, again), scoped = hash_of(m, inside);
    CHECK(memcmp(&hash, &other, sizeof(hash)) == 0, "two spawns are two tasks");
    CHECK(memcmp(&hash, &scoped, sizeof(hash)) == 0, "an open scope counts");
    fill_plates(7);
    check_bytes(m, task, plate, sizeof(plate));
    check_bytes(m, inside, plate, sizeof(plate));
    CHECK_OK(moot_barrier(m));
    check_one_run(m, &hash);
    end_case(m);
}

static void put_on_one_rank(void)
{
    moot *m = begin_case("a rank that lacks the array names it by its hash");
    const moot_kernel_id tell = add_kernel(m, "tell", tell_hash);
    const moot_kernel_id add = add_kernel(m, "add up", add_up);
    moot_task task = {0}, sum = {0};
    int64_t got = 0;
    fill_plates(1);
    if (harness_rank() == 0) {
        CHECK_OK(put_plate(m, &task));
        told = hash_of(m, task);
    }
    const moot_hash hash = hash_from_0(m, tell);
    if (harness_rank() != 0) {
        CHECK_OK(moot_task_find(m, &hash, &task));
    }
    const moot_task_spec spec = {
        .kernel = add, .input_hashes = &hash, .input_hash_count = 1};
    CHECK_OK(moot_task_spawn(m, &spec, &sum));
    CHECK_OK(moot_task_fetch_into(m, sum, MOOT_SECONDS(PATIENCE_S), &got, sizeof(got),
                                  NULL));
    CHECK(got == (int64_t)CELLS * (CELLS + 1) / 2, "the sum is %lld", (long long)got);
    check_bytes(m, task, plate, sizeof(plate));
    end_case(m);
}

static void put_all_types(void)
{
    moot *m = begin_case("results are canonical bytes");
    static const uint64_t shape[] = {2}, none[] = {0, 3};
    const unsigned char bools[] = {0, 9}, settled[] = {0, 1};
    const moot_bytes texts[] = {{"no", 2}, {NULL, 0}};
    const unsigned char text_bytes[] = {2,   0, 0, 0, 0, 0, 0, 0, 'n',
                                        'o', 0, 0, 0, 0, 0, 0, 0, 0};
    const double nan = -__builtin_nan("5"), quiet = __builtin_nan("");
    moot_task task = {0};
    CHECK_OK(moot_data_put(m, &(moot_ndarray){MOOT_TYPE_BOOL, 1, shape, NULL, bools},
                           &task));
    check_bytes(m, task, settled, sizeof(settled));
    CHECK_OK(moot_data_put(m, &(moot_ndarray){MOOT_TYPE_TEXT, 1, shape, NULL, texts},
                           &task));
    check_bytes(m, task, text_bytes, sizeof(text_bytes));
    CHECK_OK(moot_data_put(m, &(moot_ndarray){MOOT_TYPE_FLOAT64, 0, NULL, NULL, &nan},
                           &task));
    check_bytes(m, task, &quiet, sizeof(quiet));
    CHECK_OK(
        moot_data_put(m, &(moot_ndarray){MOOT_TYPE_INT8, 2, none, NULL, NULL}, &task));
    check_bytes(m, task, NULL, 0);
    end_case(m);
}

static void put_wrongly(void)
{
    moot *m = begin_case("what is no array is refused");
    static const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40}, two[] = {2};
    const moot_bytes texts[] = {{"\xff", 1}, {"", 0}};
    moot_task task = {77};
    CHECK_CODE(moot_data_put(m, NULL, &task), MOOT_ERR_INVALID);
    CHECK_CODE(moot_data_put(m, &(moot_ndarray){0}, &task), MOOT_ERR_INVALID);
    CHECK_CODE(
        moot_data_put(m, &(moot_ndarray){MOOT_TYPE_INT8, 1, two, NULL, NULL}, &task),
        MOOT_ERR_INVALID);
    CHECK_CODE(
        moot_data_put(m, &(moot_ndarray){MOOT_TYPE_INT8, 2, huge, NULL, two}, &task),
        MOOT_ERR_LIMIT);
    CHECK_CODE(
        moot_data_put(m, &(moot_ndarray){MOOT_TYPE_TEXT, 1, two, NULL, texts}, &task),
        MOOT_ERR_INVALID);
    CHECK(task.id == 77, "a handle was given");
    end_case(m);
}

static void keep_the_copy(void)
{
    moot *m = begin_case("a kernel that changes its input leaves the data as they are");
    const moot_kernel_id kernel = add_kernel(m, "overwrite", overwrite);
    moot_task task = {0}, changed = {0};
    fill_plates(3);
    CHECK_OK(put_plate(m, &task));
    const moot_task_spec spec = {.kernel = kernel, .inputs = &task, .input_count = 1};
    CHECK_OK(moot_task_spawn(m, &spec, &changed));
    CHECK_OK(moot_task_wait(m, changed, MOOT_SECONDS(PATIENCE_S)));
    check_bytes(m, task, plate, sizeof(plate));
    end_case(m);
}

/* --- Files ------------------------------------------------------------------------ */

static char folder[] = "/tmp/moot-references-XXXXXX"; /* this rank's alone */

static FILE *create(const char *name)
{
    FILE *file = fopen(name, "wb");
    if (file == NULL) {
        perror(name);
        harness_abort(1);
    }
    return file;
}

/* `count` numbers, the first and those behind it; as the name says. */
static void write_numbers(const char *name, int64_t first, int64_t count)
{
    char head[128];
    FILE *file = create(name);
    if (strstr(name, ".json") != NULL) {
        for (int64_t i = 0; i < count; i++) {
            const long long number = first + i;
            fprintf(file, "%c%lld", i == 0 ? '[' : ',', number);
        }
        fputs("]\n", file);
    } else {
        const int length =
            snprintf(head, sizeof(head),
                     "{'descr': '<i8', 'fortran_order': False, 'shape': (%lld,), }",
                     (long long)count);
        fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file);
        fprintf(file, "%s%*s\n", head, 117 - length, "");
        for (int64_t i = 0; i < count; i++) {
            const int64_t number = first + i;
            fwrite(&number, sizeof(number), 1, file);
        }
    }
    fclose(file);
}

static void expect_numbers(moot *m, moot_task task, int64_t first, int64_t count)
{
    int64_t wanted[CELLS];
    for (int64_t i = 0; i < count; i++) {
        wanted[i] = first + i;
    }
    check_bytes(m, task, wanted, (size_t)count * sizeof(*wanted));
}

/* Each rank has the content otherwise: in memory, or in a file of one format. */
static void name_equal_content(void)
{
    moot *m = begin_case("equal content in memory and in files is one task");
    static const uint64_t shape[] = {9};
    const int64_t numbers[] = {5, 6, 7, 8, 9, 10, 11, 12, 13};
    const char *const names[] = {"same.npy", "same.json"};
    moot_task task = {0};
    if (harness_rank() % 3 == 2) {
        CHECK_OK(moot_data_put(
            m, &(moot_ndarray){MOOT_TYPE_INT64, 1, shape, NULL, numbers}, &task));
    } else {
        write_numbers(names[harness_rank() % 3], 5, 9);
        CHECK_OK(moot_data_file(m, names[harness_rank() % 3], &task));
    }
    expect_numbers(m, task, 5, 9);
    const moot_hash hash = hash_of(m, task);
    CHECK_OK(moot_barrier(m));
    check_one_run(m, &hash);
    end_case(m);
}

/* The highest rank has the file, and does not name it itself. */
static void ask_for_file(void)
{
    moot *m = begin_case("a file that one rank can read comes from there");
    const int reader = harness_size() - 1;
    moot_task task = {0}, plain = {0};
    if (harness_rank() == reader) {
        write_numbers("alone.npy", 100, 1500);
        FILE *file = create("alone.txt");
        fputs("any bytes", file);
        fclose(file);
    }
    CHECK_OK(moot_barrier(m));
    if (harness_rank() != reader || harness_size() == 1) {
        CHECK_OK(moot_data_file(m, "alone.npy", &task));
        expect_numbers(m, task, 100, 1500);
        CHECK_OK(moot_data_file(m, "./alone.txt", &plain));
        check_bytes(m, plain, "any bytes", strlen("any bytes"));
    }
    CHECK_OK(moot_barrier(m));
    end_case(m);
}

/* Rank 0 announces what all of them name by the path. */
static void announce_file(void)
{
    moot *m = begin_case("an announcement names a file");
    moot_task task = {77}, named = {0};
    if (harness_rank() == 0) {
        write_numbers("told.npy", 3, 20);
    }
    CHECK_OK(moot_barrier(m));
    CHECK_OK(moot_data_announce(
        m, "{\"uid\": 5, \"operation\": \"read\", \"input\": \"told.npy\"}", NULL,
        &task));
    CHECK_OK(moot_data_file(m, "told.npy", &named));
    const moot_hash hash = hash_of(m, task), other = hash_of(m, named);
    CHECK(memcmp(&hash, &other, sizeof(hash)) == 0, "these are two tasks");
    expect_numbers(m, task, 3, 20);
    static const struct {
        int code;
        const char *text, *story;
    } wrong[] = {
        {MOOT_ERR_INVALID, "{\"uid\": 5,\n}", "line 2"},
        {MOOT_ERR_INVALID, "[]", "no object"},
        {MOOT_ERR_INVALID, "{\"operation\": \"read\", \"input\": \"told.npy\"}", "uid"},
        {MOOT_ERR_INVALID, "{\"uid\": \"a\", \"operation\": \"read\"}", "input"},
        {MOOT_ERR_INVALID,
         "{\"uid\": 1, \"operation\": \"read\", \"input\": \"a\", \"of\": 1}",
         "\"of\""},
        {MOOT_ERR_UNSUPPORTED,
         "{\"uid\": 1, \"operation\": \"add\", \"input\": \"told.npy\"}", "\"add\""},
        {MOOT_ERR_FILE, "{\"uid\": 1, \"operation\": \"read\", \"input\": \"no.npy\"}",
         "no.npy"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_CODE(moot_data_announce(m, wrong[i].text, NULL, &task), wrong[i].code);
        CHECK(strstr(moot_last_error(m), wrong[i].story) != NULL, "the story is: %s",
              moot_last_error(m));
    }
    CHECK_OK(moot_barrier(m));
    end_case(m);
}

static int make_file(void *user, const char *path)
{
    int *calls = user;
    CHECK(strcmp(path, "late.npy") == 0, "the path is %s", path);
    if (++*calls == 2) {
        write_numbers(path, 1, 2);
    }
    return MOOT_OK;
}

static int give_up(void *user, const char *path)
{
    (void)user;
    (void)path;
    return MOOT_ERR_CANCELLED;
}

static void miss_file(void)
{
    moot *m = begin_case("a file that nobody can read fails, is waited for, or made");
    int calls = 0;
    moot_task task = {77};
    moot_data_options options = {.patience = MOOT_MILLISECONDS(30)};
    CHECK_CODE(moot_data_file(m, "nowhere.npy", &task), MOOT_ERR_FILE);
    CHECK(strstr(moot_last_error(m), "nowhere.npy: No such file") != NULL,
          "the story is: %s", moot_last_error(m));
    CHECK(moot_size(m) == 1 ||
              strstr(moot_last_error(m), "nor can another rank") != NULL,
          "the story is: %s", moot_last_error(m));
    CHECK_CODE(moot_data_file_with(m, "nowhere.npy", &options, &task), MOOT_ERR_FILE);
    options.missing = give_up;
    CHECK_CODE(moot_data_file_with(m, "nowhere.npy", &options, &task),
               MOOT_ERR_CANCELLED);
    CHECK(task.id == 77, "a handle was given");
    CHECK_OK(moot_barrier(m));
    if (harness_rank() == 0) {
        options = (moot_data_options){.missing = make_file, .user = &calls};
        CHECK_OK(moot_data_file_with(m, "late.npy", &options, &task));
        CHECK(calls == 2, "the program was asked %d times", calls);
        expect_numbers(m, task, 1, 2);
    }
    CHECK_OK(moot_barrier(m));
    if (harness_rank() != 0) { /* rank 0 has it by now */
        options = (moot_data_options){.patience = MOOT_FOREVER};
        CHECK_OK(moot_data_file_with(m, "late.npy", &options, &task));
        expect_numbers(m, task, 1, 2);
    }
    CHECK_OK(moot_barrier(m));
    end_case(m);
}

static void refuse_file(void)
{
    moot *m = begin_case("a file that is not what its name says is refused at once");
    moot_task task = {77};
    FILE *file = create("broken.json");
    fputs("[[1, 2], [3]]", file);
    fclose(file);
    CHECK_CODE(moot_data_file(m, "broken.json", &task), MOOT_ERR_FILE);
    CHECK(strstr(moot_last_error(m), "broken.json: ") != NULL, "the story is: %s",
          moot_last_error(m));
    CHECK_CODE(moot_data_file(m, "", &task), MOOT_ERR_INVALID);
    CHECK_CODE(moot_data_file_with(m, "broken.json",
                                   &(moot_data_options){.patience = -1}, &task),
               MOOT_ERR_INVALID);
    CHECK(task.id == 77, "a handle was given");
    end_case(m);
}

/* Rank 0 names it; then it is another, or gone.  A worker would not wait for that. */
static void change_file(const char *name, int64_t count, int wanted)
{
    const char *const knobs[] = {"MOOT_THREADS=0", NULL};
    moot *m = begin_case_with(name, &(moot_options){.knobs = knobs});
    const moot_kernel_id tell = add_kernel(m, "tell", tell_hash);
    moot_hash now = {{0}};
    char was_text[MOOT_HASH_TEXT_BYTES], now_text[MOOT_HASH_TEXT_BYTES];
    char story[256];
    moot_task task = {0};
    if (harness_rank() == 0) {
        write_numbers("changing.npy", 1, 4);
        CHECK_OK(moot_fingerprint_file("changing.npy", &now, story, sizeof(story)));
        (void)hash_format(&now, was_text);
        CHECK_OK(moot_data_file(m, "changing.npy", &task));
        told = hash_of(m, task);
        if (count > 0) {
            write_numbers("changing.npy", 2, count);
            CHECK_OK(moot_fingerprint_file("changing.npy", &now, story, sizeof(story)));
            (void)hash_format(&now, now_text);
        } else {
            remove("changing.npy");
        }
    }
    const moot_hash hash = hash_from_0(m, tell);
    if (harness_rank() != 0) {
        CHECK_OK(moot_task_find(m, &hash, &task));
    }
    CHECK_CODE(moot_task_wait(m, task, MOOT_SECONDS(PATIENCE_S)), wanted);
    CHECK(strstr(moot_last_error(m), "changing.npy") != NULL, "the story is: %s",
          moot_last_error(m));
    CHECK(harness_rank() != 0 || count == 0 ||
              (strstr(moot_last_error(m), was_text) != NULL &&
               strstr(moot_last_error(m), now_text) != NULL),
          "the story is: %s", moot_last_error(m));
    CHECK_OK(moot_barrier(m));
    end_case(m);
}

/* Relative paths lead each rank into its own folder. */
static void enter_folder(void)
{
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror(folder);
        harness_abort(1);
    }
}

static void leave_folder(void)
{
    static const char *const names[] = {"same.npy",     "same.json", "alone.npy",
                                        "alone.txt",    "late.npy",  "broken.json",
                                        "changing.npy", "told.npy"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)remove(names[i]);
    }
    (void)(chdir("/") == 0 && rmdir(folder) == 0);
}

/* The highest rank is sent what rank 0 has, and asks for nothing. */
static void place_ahead(void)
{
    moot *m = begin_case("bytes go ahead to a named rank");
    const moot_kernel_id tell = add_kernel(m, "tell", tell_hash);
    int last = harness_size() - 1;
    moot_task task = {0};
    uint64_t came = last == 0; /* alone it has them */
    fill_plates(11);
    if (harness_rank() == 0) {
        CHECK_OK(put_plate(m, &task));
        told = hash_of(m, task);
    }
    const moot_hash hash = hash_from_0(m, tell);
    if (harness_rank() != 0) {
        CHECK_OK(moot_task_find(m, &hash, &task));
    }
    moot_stats before = {0}, now = {0};
    CHECK_OK(moot_stats_get(m, &before));
    CHECK_OK(moot_data_place(m, task, (moot_ranks){&last, 1}));
    while (came == 0) {
        CHECK_OK(moot_stats_get(m, &now));
        came = harness_rank() == last && now.results_received > before.results_received;
        harness_maximum(&came, 1);
        CHECK_OK(moot_barrier(m));
    }
    CHECK(harness_rank() == 0 || harness_rank() == last ||
              now.results_received == before.results_received,
          "bytes have come to a rank that was not named");
    if (harness_rank() == last) {
        const void *data = NULL;
        CHECK_OK(moot_task_fetch(m, task, 0, &data, NULL));
    }
    last++;
    CHECK_CODE(moot_data_place(m, task, (moot_ranks){&last, 1}), MOOT_ERR_INVALID);
    CHECK_CODE(moot_data_place(m, (moot_task){0}, (moot_ranks){0}), MOOT_ERR_STALE);
    CHECK_OK(moot_barrier(m));
    end_case(m);
}

/* --- Deaths ----------------------------------------------------------------------- */

static moot *open_moot(void)
{
    moot *m = NULL;
    must(NULL, moot_open(NULL, &m), "open");
    return m;
}

static int close_moot(moot *m, int rank, const char *said)
{
    must(m, moot_close(m), "close");
    printf("rank %d: %s\n", rank, said);
    return 0;
}

/* The last rank alone can read the file.  It dies when the others have named it. */
static int lose_reader(void)
{
    moot *m = open_moot();
    const int rank = moot_rank(m), reader = moot_size(m) - 1;
    const bool reads = rank == reader;
    moot_task task = {0};
    enter_folder();
    if (reads) {
        write_numbers("alone.npy", 1, CELLS);
    }
    must(m, moot_barrier(m), "barrier");
    if (!reads) {
        must(m, moot_data_file(m, "alone.npy", &task), "name the file");
    }
    must(m, moot_barrier(m), "barrier");
    leave_folder();
    if (reads) {
        kill(getpid(), SIGKILL);
    }
    must(m, moot_barrier(m), "barrier"); /* it is dead */
    const void *data = NULL;
    const int code = moot_task_fetch(m, task, MOOT_FOREVER, &data, NULL);
    return close_moot(m, rank, moot_err_name(code));
}

/* Ranks 1 and 2 have the same.  Who has given it out dies, and the other does it. */
static int lose_giver(void)
{
    moot *m = open_moot();
    const int rank = moot_rank(m);
    const moot_kernel tells = {.name = "tell", .fn = tell_hash};
    const void *data = NULL;
    size_t size = 0;
    moot_kernel_id tell;
    moot_task task = {0}, says = {0};
    moot_task_info info = {.owner = -1};
    must(m, moot_kernel_register(m, &tells, &tell), "register");
    fill_plates(5);
    if (rank == 1 || rank == 2) {
        must(m, put_plate(m, &task), "put");
        must(m, moot_task_info(m, task, &info), "look");
        told = info.hash;
        must(m, moot_task_wait(m, task, MOOT_SECONDS(PATIENCE_S)), "wait");
        must(m, moot_task_info(m, task, &info), "look");
    }
    const moot_task_spec spec = {.kernel = tell, .owner = MOOT_ON(1)};
    must(m, moot_task_spawn(m, &spec, &says), "spawn");
    must(m, moot_task_fetch(m, says, MOOT_SECONDS(PATIENCE_S), &data, &size), "hear");
    if (task.id == 0) {
        must(m, moot_task_find(m, data, &task), "find");
    }
    must(m, moot_barrier(m), "barrier");
    if (info.owner == rank) {
        kill(getpid(), SIGKILL);
    }
    must(m, moot_barrier(m), "barrier"); /* it is dead */
    must(m, moot_task_fetch(m, task, MOOT_SECONDS(PATIENCE_S), &data, &size), "fetch");
    const bool whole = size == sizeof(plate) && memcmp(data, plate, size) == 0;
    return close_moot(m, rank, whole ? "whole" : "other bytes");
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        return strcmp(argv[1], "reader") == 0 ? lose_reader() : lose_giver();
    }
    harness_open(&argc, &argv, "references");
    put_on_all_ranks();
    put_on_one_rank();
    put_all_types();
    put_wrongly();
    keep_the_copy();
    enter_folder();
    name_equal_content();
    ask_for_file();
    announce_file();
    miss_file();
    refuse_file();
    change_file("a longer file is another", 5, MOOT_ERR_FINGERPRINT);
    change_file("a shorter file is another", 3, MOOT_ERR_FINGERPRINT);
    change_file("a file of equal length is another", 4, MOOT_ERR_FINGERPRINT);
    change_file("a file is gone", 0, MOOT_ERR_FILE);
    leave_folder();
    place_ahead();
    return harness_close();
}
