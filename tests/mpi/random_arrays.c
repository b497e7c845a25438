/* random_arrays.c - random programs of task arrays, on real ranks.
 *
 *     random_arrays [A..B]           these seeds, one after another; 1..4 without
 *     random_arrays --death SEED     one, in which a rank kills itself
 *
 * The seed draws some arrays.  An array is spawned by all ranks, by some, or with two
 * counts, in an order that differs from rank to rank; then it is waited for, read,
 * summed up by tasks, or released at once.  Some have candidates.  An element may fail,
 * and so its array does.  Some are of a once kernel: with a death such an array may end
 * MAYBE_RAN.
 * Each rank compares what it reads with what it computes itself.  A wrong value, an
 * error that the program does not explain, or a wait of a minute ends the rank, and it
 * prints the line that repeats the program.
 */
#include "node/api/moot_array.h"
#include "tests/mpi/support/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARRAYS_MAX = 5, COUNT_MAX = 600, READS = 6, WAIT_S = 60 };
enum point { AT_SPAWN, IN_KERNEL, AT_WAIT, AT_READ, POINTS };

struct args {
    uint64_t seed, array, fails_at; /* fails_at: an element, or none */
};

struct drawn {
    moot_array_spec spec;
    struct args args;
    uint64_t holders; /* a set of ranks */
    int candidates[8];
    bool held, waits, sums, early, once;
    moot_array handle;
};

static struct drawn arrays[ARRAYS_MAX];
static uint64_t seed;
static int self, size;
static bool deadly;
static enum point death_at;
static unsigned death_after; /* so many passings of that point */

static uint64_t mix(uint64_t word) /* Vigna's splitmix64 */
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static uint64_t value_of(const struct args *args, uint64_t index)
{
    return mix(mix(args->seed ^ mix(args->array)) ^ index);
}

_Noreturn static void fail(const moot *m, const char *what, uint64_t array, int code)
{
    fprintf(stderr, "random_arrays: rank %d: WRONG: %s array %d: %s: %s\n", self, what,
            (int)array, moot_err_name(code), m != NULL ? moot_last_error(m) : "");
    fprintf(stderr, "repeat with: -n %d random_arrays %s%llu\n", size,
            deadly ? "--death " : "", (unsigned long long)seed);
    _exit(1);
}

static void expect(const moot *m, const char *what, uint64_t array, int got, int wanted)
{
    if (got != wanted) {
        fail(m, what, array, got);
    }
}

/* The rank that dies. */
static int victim(void) { return (int)(mix(seed ^ 1) % (unsigned)size); }

static void pass(enum point point)
{
    if (deadly && self == victim() && point == death_at && death_after-- == 0) {
        (void)raise(SIGKILL);
    }
}

/* --- Kernels ---------------------------------------------------------------------- */

static int make(moot_call *call, void *user)
{
    struct args args;
    (void)user;
    memcpy(&args, moot_call_args(call, &(size_t){0}), sizeof(args));
    pass(IN_KERNEL);
    if (moot_call_index(call) == args.fails_at) {
        return moot_call_fail(call, 1, "as drawn");
    }
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = value_of(&args, moot_call_index(call));
    return MOOT_OK;
}

static int add(moot_call *call, void *user)
{
    uint64_t *sum = moot_call_output(call, sizeof(*sum));
    (void)user;
    if (sum == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *sum = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        *sum += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    return MOOT_OK;
}

/* --- A program -------------------------------------------------------------------- */

static void draw_array(uint64_t at, moot_kernel_id pure, moot_kernel_id once)
{
    struct drawn *drawn = &arrays[at];
    const uint64_t word = mix(seed * ARRAYS_MAX + at), all = (UINT64_C(1) << size) - 1;
    const uint64_t mine = mix(word ^ (uint64_t)self << 32);
    uint64_t count = 1 + mix(word ^ 1) % (mix(word ^ 2) % 2 ? COUNT_MAX : 8);
    count += mix(word ^ 3) % 6 == 0 && self % 2 == 1; /* another array, then */
    drawn->args = (struct args){
        seed, at, mix(word ^ 4) % 6 == 0 ? mix(word ^ 5) % count : UINT64_MAX};
    drawn->holders = word % 2 ? all : mix(word ^ 6) & all;
    drawn->held = drawn->holders >> self & 1;
    drawn->waits = mine % 2, drawn->sums = mine >> 1 & 1, drawn->early = mine % 5 == 0;
    drawn->once = mix(word ^ 10) % 4 == 0;
    drawn->spec =
        (moot_array_spec){.size = sizeof(drawn->spec),
                          .kernel = drawn->once ? once : pure,
                          .count = count,
                          .args = &drawn->args,
                          .args_size = sizeof(drawn->args),
                          .key = &at,
                          .key_size = drawn->once || word % 3 == 0 ? sizeof(at) : 0,
                          .spread = {(enum moot_spread_kind)(mix(word ^ 7) % 3), 0},
                          .priority = (int32_t)(mix(word ^ 9) % 5) - 2,
                          .label = "drawn"};
    if (drawn->spec.spread.kind == MOOT_SPREAD_CYCLIC) {
        drawn->spec.spread.block = mix(word ^ 8) % 9;
    }
}

/* A death explains it, of a once array. */
static bool is_lost(const struct drawn *drawn, int code)
{
    return deadly && drawn->once &&
           (code == MOOT_ERR_MAYBE_RAN || code == MOOT_ERR_TASK_FAILED ||
            code == MOOT_ERR_RESULT_LOST);
}

/* Some ranks, and of those who spawn it, with an even number and with an odd one, one
 * each that lives. */
static void draw_candidates(uint64_t at)
{
    struct drawn *drawn = &arrays[at];
    const uint64_t word = mix(seed * ARRAYS_MAX + at), some = mix(word ^ 10);
    size_t count = 0, firsts[2] = {0};
    if (mix(word ^ 11) % 3 != 0 || size > 8) {
        return;
    }
    for (int rank = 0; rank < size; rank++) {
        const bool holds = drawn->holders >> rank & 1 && !(deadly && rank == victim());
        if ((some >> rank & 1) != 0 || (holds && firsts[rank % 2]++ == 0)) {
            drawn->candidates[count++] = rank;
        }
    }
    drawn->spec.candidates = (moot_ranks){count > 0 ? drawn->candidates : NULL, count};
}

static void fetch(moot *m, uint64_t at, moot_task task, uint64_t value, bool good)
{
    const void *data;
    uint64_t got = 0;
    const int code =
        moot_task_fetch(m, task, MOOT_SECONDS(WAIT_S), &data, &(size_t){0});
    if (!is_lost(&arrays[at], code)) {
        expect(m, "fetching from", at, code, good ? MOOT_OK : MOOT_ERR_TASK_FAILED);
    }
    if (code == MOOT_OK) {
        memcpy(&got, data, sizeof(got));
    }
    if (code == MOOT_OK && got != value) {
        fail(m, "a value of", at, MOOT_ERR_INVALID);
    }
    expect(m, "releasing a task of", at, moot_task_release(m, task), MOOT_OK);
}

/* Some elements, each by itself, or their sum by a task. */
static void read_some(moot *m, uint64_t at, moot_kernel_id adding)
{
    const struct drawn *drawn = &arrays[at];
    const bool good = drawn->args.fails_at == UINT64_MAX;
    moot_task tasks[READS], sum;
    uint64_t values[READS], total = 0;
    for (uint64_t i = 0; i < READS; i++) {
        const uint64_t index = mix(seed ^ at << 8 ^ i) % drawn->spec.count;
        pass(AT_READ);
        expect(m, "moot_array_at of", at,
               moot_array_at(m, drawn->handle, index, &tasks[i]), MOOT_OK);
        values[i] = value_of(&drawn->args, index);
        total += values[i];
    }
    if (drawn->sums) {
        const moot_task_spec spec = {
            .kernel = adding, .inputs = tasks, .input_count = READS};
        expect(m, "summing up", at, moot_task_spawn(m, &spec, &sum), MOOT_OK);
        fetch(m, at, sum, total, good);
    }
    for (int i = 0; i < READS; i++) {
        fetch(m, at, tasks[i], values[i], good);
    }
}

static void use(moot *m, uint64_t at, moot_kernel_id adding)
{
    const struct drawn *drawn = &arrays[at];
    if (drawn->waits && !drawn->early) {
        pass(AT_WAIT);
        const int code = moot_array_wait(m, drawn->handle, MOOT_SECONDS(WAIT_S));
        if (!is_lost(drawn, code)) {
            expect(m, "waiting for", at, code,
                   drawn->args.fails_at == UINT64_MAX ? MOOT_OK : MOOT_ERR_TASK_FAILED);
        }
    }
    if (!drawn->early) {
        read_some(m, at, adding);
    }
    expect(m, "releasing", at, moot_array_release(m, drawn->handle), MOOT_OK);
}

static void play(void)
{
    moot *m;
    moot_kernel_id making, adding, once;
    const int opened = deadly ? moot_open(NULL, &m) : harness_moot_open(NULL, &m);
    expect(NULL, "opening for", 0, opened, MOOT_OK);
    self = moot_rank(m), size = moot_size(m);
    moot_kernel_register(m, &(moot_kernel){.name = "make", .fn = make}, &making);
    moot_kernel_register(m, &(moot_kernel){.name = "add", .fn = add}, &adding);
    moot_kernel_register(
        m, &(moot_kernel){.name = "make-once", .fn = make, .flags = MOOT_KERNEL_ONCE},
        &once);
    death_at = (enum point)(mix(seed ^ 2) % POINTS), death_after = mix(seed ^ 3) % 4;
    const uint64_t count = 1 + mix(seed) % ARRAYS_MAX;
    for (uint64_t at = 0; at < count; at++) {
        draw_array(at, making, once);
        draw_candidates(at);
    }
    const uint64_t turn = mix(seed ^ 4) % 2 ? (uint64_t)self : 0;
    for (uint64_t i = 0; i < count; i++) {
        struct drawn *drawn = &arrays[(i + turn) % count];
        if (drawn->held) {
            pass(AT_SPAWN);
            expect(m, "spawning", (i + turn) % count,
                   moot_array_spawn(m, &drawn->spec, &drawn->handle), MOOT_OK);
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        if (arrays[(i + turn) % count].held) {
            use(m, (i + turn) % count, adding);
        }
    }
    expect(NULL, "closing after", 0, moot_close(m), MOOT_OK);
}

int main(int argc, char **argv)
{
    uint64_t first = 1, last = 4;
    deadly = argc == 3 && strcmp(argv[1], "--death") == 0;
    if (argc > 2 && !deadly) {
        fprintf(stderr, "usage: random_arrays [--death SEED | A..B]\n");
        return 2;
    }
    if (argc > 1) {
        char *end;
        first = last = strtoull(argv[argc - 1], &end, 10);
        last = strncmp(end, "..", 2) == 0 ? strtoull(end + 2, NULL, 10) : last;
    }
    if (deadly) { /* the harness, with its barriers, is for ranks that live */
        seed = first;
        play();
        return 0;
    }
    harness_open(&argc, &argv, "random_arrays");
    harness_case_begin("programs of arrays", WAIT_S * 2);
    for (seed = first; seed <= last; seed++) {
        play();
    }
    harness_case_end();
    return harness_close();
}
