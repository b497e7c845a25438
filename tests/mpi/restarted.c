/* restarted.c - a diverging program that is killed and started again with a checkpoint.
 *
 *     restarted [SEED [LEDGER [lasting|FILE]]]
 *                                    a rank of the job; ranks share LEDGER; a lasting
 *                                    one is killed, at its end at the latest; with FILE
 *                                    it closes once there is one
 *     restarted --stored FOLDER <HASHES     prints those that FOLDER has results of
 *
 * A graph of tasks is drawn from SEED: they take some milliseconds, and no, one or
 * three inputs; some have results of no bytes or of many, some spawn a child, some give
 * other bytes with each run.  Each rank wants the ends of some of them, and spawns
 * these and what they need, in an order of its own.  Beside them are once tasks, and a
 * kernel that takes long and stores its state under way.
 *
 * A kernel writes the hash of its task into LEDGER when it starts ("run HASH"), a once
 * task its number ("once N"), the long one its first step ("step N"); a task that
 * spawns adds "parent HASH", as its result is not stored.  With RESTARTED_BEHIND=N in
 * its environment it does not start while more than N results of its rank are on their
 * way to the disk, so that a kill costs each rank N results at most, and what runs.
 * Must be true here: all ends are right, whichever job made them; what was made of
 * bytes that vary is of those that the task has now.  Whether a task ran that was
 * stored, and a once task twice, tests/cli/restart_test.sh sees in the ledger.
 *
 * Without arguments: no ledger.  Exit status: 0 right, 1 wrong.
 */
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/diskstore.h"
#include "tests/mpi/support/must.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TASKS = 160,
    ONCES = 12,
    INPUTS_MAX = 3,
    LARGE_WORDS = 48 << 10, /* more than the store keeps beside small ones */
    STEPS = 60,
    STORE_EVERY = 5
};

enum kind { PLAIN, EMPTY, LARGE, PARENT, VARIES, KINDS };

struct node {
    enum kind kind;
    uint32_t input_count, inputs[INPUTS_MAX];
    uint64_t value; /* what it gives, unless it varies, or is made of what does */
    bool varies;
    bool wanted, spawned;
    moot_task task;
};

struct args {
    uint64_t number, salt;
    uint64_t kind;
    uint64_t nap_us;
};

static struct node nodes[TASKS];
static moot_task onces[ONCES], stepped;
static moot_kernel_id kernels[KINDS], child_kernel, once_kernel, step_kernel;
static int ledger = -1;
static uint64_t seed = 1;
static atomic_uint ended; /* kernels of this rank whose results are to be stored */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t draw(uint64_t *state) { return mix(*state += 0x9e3779b97f4a7c15u); }

/* One line, whole: the file is opened to append. */
static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    char line[64];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (ledger >= 0 && write(ledger, line, (size_t)length) != length) {
        abort();
    }
}

static void nap(uint64_t us)
{
    const struct timespec span = {.tv_nsec = (long)us * 1000};
    nanosleep(&span, NULL);
}

static void note_parent(const moot_call *call)
{
    char text[MOOT_HASH_TEXT_BYTES];
    note("parent %s\n", hash_format(moot_call_hash(call), text));
}

/* Until no more results than it may be are on their way; twenty seconds are never. */
static void wait_for_store(moot *m)
{
    const char *most = getenv("RESTARTED_BEHIND");
    for (int i = 0; most != NULL; i++) {
        moot_stats stats;
        must(m, moot_stats_get(m, &stats), "stats");
        if (ended <= stats.results_stored + strtoull(most, NULL, 10)) {
            return;
        }
        if (i == 40000) {
            fprintf(stderr, "restarted: WRONG: results wait for ever to be stored\n");
            abort();
        }
        nap(500);
    }
}

static void note_run(const moot_call *call, moot *m)
{
    wait_for_store(m);
    char text[MOOT_HASH_TEXT_BYTES];
    note("run %s\n", hash_format(moot_call_hash(call), text));
}

/* --- Kernels ---------------------------------------------------------------------- */

/* A result's first word; of one without bytes, 7. */
static uint64_t word_of(const void *data, size_t size)
{
    uint64_t word = 7;
    if (size >= sizeof(word)) {
        memcpy(&word, data, sizeof(word));
    }
    return word;
}

static uint64_t arg_of(const moot_call *call)
{
    size_t size = 0;
    const void *args = moot_call_args(call, &size);
    return word_of(args, size);
}

static uint64_t value_of(uint64_t number, uint64_t salt, const uint64_t *inputs,
                         size_t count)
{
    uint64_t value = mix(number ^ salt << 32);
    for (size_t i = 0; i < count; i++) {
        value = mix(value ^ inputs[i]) + i;
    }
    return value;
}

static int put_out(moot_call *call, uint64_t value, size_t words)
{
    uint64_t *out = moot_call_output(call, words * sizeof(value));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < words; i++) {
        out[i] = value + i;
    }
    return MOOT_OK;
}

static int spawn_child(moot_call *call, uint64_t value, uint64_t *out)
{
    moot_task child = {0};
    const void *data = NULL;
    size_t size = 0;
    int error = moot_call_spawn(call,
                                &(moot_task_spec){.kernel = child_kernel,
                                                  .args = &value,
                                                  .args_size = sizeof(value)},
                                &child);
    if (error == MOOT_OK) {
        error = moot_call_wait(call, child, &data, &size);
    }
    *out = error == MOOT_OK ? word_of(data, size) : 0;
    return error;
}

static int work(moot_call *call, void *user)
{
    struct args args;
    size_t size = 0;
    uint64_t inputs[INPUTS_MAX];
    memcpy(&args, moot_call_args(call, &size), sizeof(args));
    note_run(call, user);
    const size_t count = moot_call_input_count(call);
    for (size_t i = 0; i < count; i++) {
        const void *data = moot_call_input(call, i, &size);
        inputs[i] = word_of(data, size);
    }
    uint64_t value = value_of(args.number, args.salt, inputs, count);
    nap(args.nap_us);
    if (args.kind == PARENT) {
        note_parent(call);
        const int error = spawn_child(call, value, &value);
        if (error != MOOT_OK) {
            return error;
        }
    }
    if (args.kind == VARIES) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        value = mix((uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32);
    }
    ended += args.kind != PARENT;
    return put_out(call, value,
                   args.kind == EMPTY   ? 0
                   : args.kind == LARGE ? LARGE_WORDS
                                        : 1);
}

static int work_child(moot_call *call, void *user)
{
    note_run(call, user);
    nap(2000);
    ended++;
    return put_out(call, mix(arg_of(call)), 1);
}

static int work_once(moot_call *call, void *user)
{
    (void)user;
    const uint64_t number = arg_of(call);
    note("once %llu\n", (unsigned long long)number);
    nap(6000);
    ended++;
    return put_out(call, number + 1000, 1);
}

static int work_in_steps(moot_call *call, void *user)
{
    (void)user;
    struct {
        uint64_t step, value;
    } state = {0, 1};
    size_t size = 0;
    const void *before = moot_call_resume(call, &size);
    if (before != NULL && size == sizeof(state)) {
        memcpy(&state, before, sizeof(state));
    }
    note("step %llu\n", (unsigned long long)state.step);
    while (state.step < STEPS) {
        nap(3000);
        state.value = mix(state.value ^ state.step++);
        if (state.step % STORE_EVERY == 0 &&
            moot_call_checkpoint(call, &state, sizeof(state)) != MOOT_OK) {
            return MOOT_ERR_NO_MEMORY;
        }
    }
    ended++;
    return put_out(call, state.value, 1);
}

static void register_kernels(moot *m)
{
    static const char *const names[KINDS] = {"plain", "empty", "large", "parent",
                                             "varies"};
    for (int i = 0; i < KINDS; i++) {
        const uint32_t flags = i == VARIES ? MOOT_KERNEL_NONDETERMINISTIC : 0;
        must(
            m,
            moot_kernel_register(
                m,
                &(moot_kernel){.name = names[i], .fn = work, .user = m, .flags = flags},
                &kernels[i]),
            "kernel");
    }
    must(m,
         moot_kernel_register(
             m, &(moot_kernel){.name = "child", .fn = work_child, .user = m},
             &child_kernel),
         "kernel");
    must(m,
         moot_kernel_register(
             m,
             &(moot_kernel){.name = "once", .fn = work_once, .flags = MOOT_KERNEL_ONCE},
             &once_kernel),
         "kernel");
    must(m,
         moot_kernel_register(m, &(moot_kernel){.name = "steps", .fn = work_in_steps},
                              &step_kernel),
         "kernel");
}

/* --- The program ------------------------------------------------------------------ */

static void draw_graph(void)
{
    uint64_t state = seed;
    for (uint32_t i = 0; i < TASKS; i++) {
        struct node *node = &nodes[i];
        uint64_t inputs[INPUTS_MAX];
        node->kind = draw(&state) % 3 == 0 ? (enum kind)(draw(&state) % KINDS) : PLAIN;
        node->input_count = i < INPUTS_MAX ? 0 : (uint32_t)(draw(&state) % 4);
        node->input_count = node->input_count == 2 ? 1 : node->input_count;
        node->varies = node->kind == VARIES;
        for (uint32_t k = 0; k < node->input_count; k++) {
            node->inputs[k] = (uint32_t)(draw(&state) % i);
            inputs[k] = nodes[node->inputs[k]].value;
            node->varies |= nodes[node->inputs[k]].varies;
        }
        node->value = value_of(i, seed, inputs, node->input_count);
        node->value = node->kind == PARENT  ? mix(node->value)
                      : node->kind == EMPTY ? 7
                                            : node->value;
        node->varies &= node->kind != EMPTY;
    }
}

static void spawn(moot *m, uint32_t number)
{
    struct node *node = &nodes[number];
    moot_task inputs[INPUTS_MAX];
    if (node->spawned) {
        return;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        spawn(m, node->inputs[i]);
        inputs[i] = nodes[node->inputs[i]].task;
    }
    uint64_t state = seed ^ (uint64_t)number << 20;
    const struct args args = {number, seed, node->kind, draw(&state) % 5000};
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernels[node->kind],
                                           .args = &args,
                                           .args_size = sizeof(args),
                                           .inputs = inputs,
                                           .input_count = node->input_count,
                                           .label = number % 2 ? "odd" : "even"},
                         &node->task),
         "spawn");
    node->spawned = true;
}

static void spawn_beside(moot *m)
{
    for (uint64_t i = 0; i < ONCES; i++) {
        char key[32];
        const int length = snprintf(key, sizeof(key), "%llu-%llu",
                                    (unsigned long long)seed, (unsigned long long)i);
        must(m,
             moot_task_spawn(m,
                             &(moot_task_spec){.kernel = once_kernel,
                                               .args = &i,
                                               .args_size = sizeof(i),
                                               .key = key,
                                               .key_size = (size_t)length},
                             &onces[i]),
             "spawn");
    }
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = step_kernel,
                                           .args = &seed,
                                           .args_size = sizeof(seed)},
                         &stepped),
         "spawn");
}

/* Each rank wants some, and those that all want last. */
static void spawn_all(moot *m)
{
    uint64_t state = seed ^ (uint64_t)(moot_rank(m) + 1) << 40;
    spawn_beside(m);
    for (int i = 0; i < TASKS; i++) {
        const uint32_t number = (uint32_t)(draw(&state) % TASKS);
        if (draw(&state) % 2 == 0) {
            nodes[number].wanted = true;
            spawn(m, number);
        }
    }
    for (uint32_t i = TASKS - 20; i < TASKS; i++) {
        nodes[i].wanted = true;
        spawn(m, i);
    }
}

/* --- The ends --------------------------------------------------------------------- */

static int complain(moot *m, const char *what, uint64_t number, int code)
{
    fprintf(stderr, "restarted: WRONG: rank %d, seed %llu: %s %llu: %s\n", moot_rank(m),
            (unsigned long long)seed, what, (unsigned long long)number,
            moot_err_name(code));
    return 1;
}

static uint64_t fetch_word(moot *m, moot_task task, int *code)
{
    const void *data = NULL;
    size_t size = 0;
    *code = moot_task_fetch(m, task, MOOT_FOREVER, &data, &size);
    return *code == MOOT_OK ? word_of(data, size) : 0;
}

/* A value that is made of what varies is right if it is made of what its inputs are
 * now. */
static int judge_node(moot *m, uint32_t number)
{
    const struct node *node = &nodes[number];
    uint64_t inputs[INPUTS_MAX], wanted = node->value;
    int code;
    const uint64_t value = fetch_word(m, node->task, &code);
    if (code != MOOT_OK || node->kind == VARIES) {
        return code == MOOT_OK ? 0 : complain(m, "the end of task", number, code);
    }
    for (uint32_t i = 0; node->varies && i < node->input_count && code == MOOT_OK;
         i++) {
        inputs[i] = fetch_word(m, nodes[node->inputs[i]].task, &code);
    }
    if (node->varies && code == MOOT_OK) {
        wanted = value_of(number, seed, inputs, node->input_count);
        wanted = node->kind == PARENT ? mix(wanted) : wanted;
    }
    return code == MOOT_OK && value == wanted
               ? 0
               : complain(m, "the value of task", number, code);
}

static int judge(moot *m, unsigned *maybe)
{
    int code, bad = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        bad |= nodes[i].wanted ? judge_node(m, i) : 0;
    }
    for (uint64_t i = 0; i < ONCES; i++) {
        const uint64_t value = fetch_word(m, onces[i], &code);
        *maybe += code == MOOT_ERR_MAYBE_RAN;
        if (code != MOOT_ERR_MAYBE_RAN && (code != MOOT_OK || value != i + 1000)) {
            bad = complain(m, "once task", i, code);
        }
    }
    uint64_t wanted = 1;
    for (uint64_t step = 0; step < STEPS; step++) {
        wanted = mix(wanted ^ step);
    }
    return fetch_word(m, stepped, &code) == wanted
               ? bad
               : complain(m, "the kernel of steps", 0, code);
}

/* --- Storing -----------------------------------------------------------------------
 */

static bool read_hash(const char *line, moot_hash *out)
{
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        const char digits[] = {line[2 * i], line[2 * i + 1], '\0'};
        char *end;
        out->bytes[i] = (unsigned char)strtoul(digits, &end, 16);
        if (*end != '\0' || digits[0] == '\0') {
            return false;
        }
    }
    return true;
}

static int print_stored(const char *folder)
{
    struct diskstore *store = NULL;
    const struct diskstore_options options = {0};
    struct text why = {0};
    char line[256];
    if (diskstore_open(folder, &options, &why, &store) != MOOT_OK) {
        fprintf(stderr, "restarted: %s: %s\n", folder, text_get(&why));
        return 1;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
        moot_hash hash;
        struct diskstore_found found;
        if (strlen(line) > 2 * (size_t)MOOT_HASH_BYTES && read_hash(line, &hash) &&
            diskstore_find(store, &hash, DISKSTORE_RESULT, &found)) {
            free(found.data);
            fputs(line, stdout);
        }
    }
    diskstore_close(store);
    text_release(&why);
    return 0;
}

static void last_until(const char *what)
{
    const struct timespec span = {.tv_nsec = 10000000};
    if (strcmp(what, "lasting") == 0) {
        (void)pause();
    }
    while (access(what, F_OK) != 0) {
        (void)nanosleep(&span, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--stored") == 0) {
        return print_stored(argv[2]);
    }
    moot *m = NULL;
    unsigned maybe = 0;
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    if (argc > 2) {
        ledger = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    if ((argc > 2 && ledger < 0) || moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "restarted: %s\n", moot_last_error(NULL));
        return 1;
    }
    register_kernels(m);
    draw_graph();
    spawn_all(m);
    int bad = judge(m, &maybe);
    must(m, moot_checkpoint_flush(m), "flush");
    printf("restarted: rank %d: %u once tasks may have run\n", moot_rank(m), maybe);
    if (argc > 3) {
        last_until(argv[3]);
    }
    return moot_close(m) == MOOT_OK ? bad : 1;
}
