/* chaos.c - a random program of every kind of task, under a random fault plan.
 *
 *     chaos FILE SEED                  a rank of the job; ranks share FILE, on one host
 *     chaos --command SEED RANKS       the words of `moot run` that bring the faults
 *     chaos --check FILE SEED RANKS [TABLE]    afterwards: whether what FILE holds may
 * be chaos --table TABLE              the legitimate errors, as FAILURES.md has them
 *
 * tests/mpi/hostile/chaos.h says what is drawn and how it is judged; chaos_test.sh runs
 * it.  Each rank spawns the tasks that it holds, in the same order, has a handle of
 * every other, waits now and then for one, and at last for all.  A rank that is told
 * that it is out ends with that.
 *
 * Without arguments it runs seed 1, without faults, over a file of its own.
 */
#include "tests/mpi/hostile/chaos.h"
#include "node/api/moot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FAR_BEHIND = 2 * CHAOS_REACH, EXIT_WRONG = 7 };

static const char table_path[] = "tests/mpi/hostile/errors.txt";

static struct chaos chaos;
static struct ledger *ledger;

struct play {
    moot *m;
    int rank;
    moot_kernel_id kernels[CHAOS_KIND_END], child;
    moot_task handles[CHAOS_TASKS];
    bool released[CHAOS_TASKS];
    bool over; /* it is out */
};

static struct play play;

static bool ledger_open(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(*ledger)) != 0) {
        return false;
    }
    void *place =
        mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    ledger = place;
    return place != MAP_FAILED;
}

static void wrong(uint32_t task, const char *what)
{
    fprintf(stderr, "chaos: WRONG: rank %d, task %u: %s\n", play.rank, (unsigned)task,
            what);
    ledger->wrong[play.rank]++;
}

static void note_end(uint32_t task, int code, uint64_t nonce)
{
    struct chaos_end *end = &ledger->ends[task][play.rank];
    if (end->seen) {
        return; /* the first word is the one that counts */
    }
    end->code = code;
    end->nonce = nonce;
    if (code != MOOT_OK) {
        (void)snprintf(end->story, sizeof(end->story), "%s", moot_last_error(play.m));
    }
    end->seen = 1;
}

/* --- Kernels ---------------------------------------------------------------------- */

static int child_kernel(moot_call *call, void *user)
{
    size_t size;
    const uint32_t *which = moot_call_args(call, &size);
    uint64_t *value = moot_call_output(call, sizeof(*value));
    (void)user;
    if (value == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *value = chaos_child(which[0], which[1]);
    return MOOT_OK;
}

static int run_children(moot_call *call, uint32_t task, uint32_t count)
{
    moot_task children[4] = {{0}};
    int code = MOOT_OK;
    for (uint32_t i = 0; i < count && code == MOOT_OK; i++) {
        const uint32_t args[2] = {task, i};
        const moot_task_spec spec = {
            .kernel = play.child, .args = args, .args_size = sizeof(args)};
        code = moot_call_spawn(call, &spec, &children[i]);
    }
    for (uint32_t i = 0; i < count && code == MOOT_OK; i++) {
        const void *data = NULL;
        size_t size = 0;
        uint64_t value = 0;
        code = moot_call_wait(call, children[i], &data, &size);
        if (code == MOOT_OK && size == sizeof(value)) {
            memcpy(&value, data, sizeof(value));
        }
        if (code == MOOT_OK && value != chaos_child(task, i)) {
            wrong(task, "a child has another result");
        }
    }
    return code;
}

/* The value, which run it is of, and bytes that follow from the value. */
static void fill(unsigned char *out, const struct recipe *recipe, uint64_t value)
{
    uint64_t nonce = 1;
    if (recipe->kind == CHAOS_VARIES) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        nonce = chaos_mix((uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32) | 1;
    }
    memcpy(out, &value, sizeof(value));
    memcpy(out + 8, &nonce, sizeof(nonce));
    memset(out + 16, (int)(value & 255), recipe->bytes - 16);
}

static int kernel(moot_call *call, void *user)
{
    size_t size;
    const uint32_t *task = moot_call_args(call, &size);
    const struct recipe *recipe = &chaos.tasks[*task];
    uint64_t inputs[CHAOS_INPUTS_MAX];
    (void)user;
    ledger->starts[*task][play.rank]++;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        const void *data = moot_call_input(call, i, &size);
        memcpy(&inputs[i], data, sizeof(inputs[i]));
        if (inputs[i] != chaos.tasks[recipe->inputs[i]].value) {
            wrong(*task, "an input has other bytes");
        }
    }
    const struct timespec work = {.tv_nsec = (long)recipe->kernel_us * 1000};
    nanosleep(&work, NULL);
    if (recipe->fails) {
        return moot_call_fail(call, 7, "it is drawn to fail");
    }
    int code = run_children(call, *task, recipe->children);
    if (code != MOOT_OK) {
        return moot_call_fail(call, code, "a child failed");
    }
    unsigned char *out = moot_call_output(call, recipe->bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    fill(out, recipe, chaos_combine(recipe, *task, inputs));
    return MOOT_OK;
}

static int register_kernels(void)
{
    static const struct {
        const char *name;
        uint32_t flags;
    } kinds[] = {[CHAOS_PURE] = {"pure", 0},
                 [CHAOS_ONCE] = {"once", MOOT_KERNEL_ONCE},
                 [CHAOS_AGAIN] = {"again", MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT},
                 [CHAOS_VARIES] = {"varies", MOOT_KERNEL_NONDETERMINISTIC},
                 [CHAOS_PORTABLE] = {"portable", MOOT_KERNEL_PORTABLE},
                 [CHAOS_PARENT] = {"parent", 0}};
    int code = moot_kernel_register(
        play.m, &(moot_kernel){.name = "child", .fn = child_kernel}, &play.child);
    for (int kind = 0; kind < CHAOS_KIND_END && code == MOOT_OK; kind++) {
        code = moot_kernel_register(play.m,
                                    &(moot_kernel){.name = kinds[kind].name,
                                                   .fn = kernel,
                                                   .flags = kinds[kind].flags},
                                    &play.kernels[kind]);
    }
    return code;
}

/* --- A rank ----------------------------------------------------------------------- */

static bool is_out(int code)
{
    return code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM;
}

/* Its holders spawn it; the others have a handle of it. */
static void meet(uint32_t task)
{
    const struct recipe *recipe = &chaos.tasks[task];
    moot_task inputs[CHAOS_INPUTS_MAX];
    int candidates[CHAOS_RANKS_MAX];
    uint32_t data = recipe->input_count - recipe->after_count;
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        inputs[i] = play.handles[recipe->inputs[i]];
    }
    bool once = recipe->kind == CHAOS_ONCE || recipe->kind == CHAOS_AGAIN;
    moot_task_spec spec = {.kernel = play.kernels[recipe->kind],
                           .args = &task,
                           .args_size = sizeof(task),
                           .inputs = inputs,
                           .input_count = data,
                           .after = inputs + data,
                           .after_count = recipe->after_count,
                           .key = once ? &task : NULL,
                           .key_size = once ? sizeof(task) : 0,
                           .flags = recipe->hint ? MOOT_TASK_CONDITIONAL : 0u};
    for (uint32_t rank = 0; rank < chaos.ranks; rank++) {
        if (recipe->candidates >> rank & 1) {
            candidates[spec.candidates.count++] = (int)rank;
        }
    }
    spec.candidates.ranks = spec.candidates.count > 0 ? candidates : NULL;
    int code = MOOT_OK;
    if (recipe->holders >> play.rank & 1) {
        code = moot_task_spawn(play.m, &spec, &play.handles[task]);
    }
    if (code == MOOT_ERR_NO_CANDIDATE || is_out(code)) {
        note_end(task, code, 0);
        play.over |= is_out(code);
    }
    if (play.handles[task].id == 0 && !play.over) {
        code = moot_task_name(play.m, &spec, &play.handles[task]);
    }
    if (code != MOOT_OK && !play.over) {
        note_end(task, code, 0);
    }
    if (recipe->canceller == play.rank && !play.over) {
        (void)moot_task_cancel(play.m, play.handles[task]);
    }
}

static void look(uint32_t task)
{
    const struct recipe *recipe = &chaos.tasks[task];
    const void *data = NULL;
    size_t size = 0;
    uint64_t words[2] = {0, 0};
    if (play.over || play.released[task] || play.handles[task].id == 0) {
        return;
    }
    int code = moot_task_fetch(play.m, play.handles[task], MOOT_FOREVER, &data, &size);
    if (code == MOOT_OK && size == recipe->bytes) {
        const unsigned char *bytes = data;
        memcpy(words, bytes, sizeof(words));
        bool tail = size == 16 || (bytes[16] == (recipe->value & 255) &&
                                   bytes[size - 1] == (recipe->value & 255));
        if (words[0] != recipe->value || !tail) {
            wrong(task, "a result has other bytes");
        }
    } else if (code == MOOT_OK) {
        wrong(task, "a result has another size");
    }
    note_end(task, code, words[1]);
    play.over |= is_out(code);
}

static void let_go(uint32_t task)
{
    if (!play.over && !play.released[task] && play.handles[task].id != 0) {
        (void)moot_task_release(play.m, play.handles[task]);
        play.released[task] = true;
    }
}

static int run(uint64_t seed)
{
    int code = moot_open(NULL, &play.m);
    if (code != MOOT_OK) {
        return EXIT_WRONG;
    }
    play.rank = moot_rank(play.m);
    chaos_draw(&chaos, seed, (uint32_t)moot_size(play.m));
    code = register_kernels();
    for (uint32_t task = 0; task < CHAOS_TASKS && code == MOOT_OK && !play.over;
         task++) {
        uint64_t word = chaos_mix(seed ^ chaos_mix(task * 64 + (uint32_t)play.rank));
        meet(task);
        if (word % 4 == 0) {
            uint32_t back = (uint32_t)(chaos_mix(word) % CHAOS_REACH);
            look(task > back ? task - back : task);
        }
        if (chaos.lets_go && task >= FAR_BEHIND) {
            look(task - FAR_BEHIND);
            let_go(task - FAR_BEHIND);
        }
    }
    for (uint32_t task = 0; task < CHAOS_TASKS; task++) {
        look(task);
    }
    code = moot_close(play.m);
    ledger->close_code[play.rank] = code;
    ledger->finished[play.rank] = code == MOOT_OK && !play.over;
    return ledger->wrong[play.rank] > 0 ? EXIT_WRONG : 0;
}

int main(int argc, char **argv)
{
    char own[64];
    if (argc == 3 && strcmp(argv[1], "--table") == 0) {
        return chaos_print_table(argv[2], stdout);
    }
    if (argc == 4 && strcmp(argv[1], "--command") == 0) {
        chaos_draw(&chaos, strtoull(argv[2], NULL, 10),
                   (uint32_t)strtoul(argv[3], NULL, 10));
        printf("-n %s --faults %s %s\n", argv[3], chaos.plan, chaos.settings);
        return 0;
    }
    bool check = (argc == 5 || argc == 6) && strcmp(argv[1], "--check") == 0;
    /* Without arguments: the launcher's process, which all ranks have in common. */
    (void)snprintf(own, sizeof(own), "/tmp/chaos-%d", (int)getppid());
    const char *path = check ? argv[2] : argc == 3 ? argv[1] : own;
    if ((argc != 1 && argc != 3 && !check) || !ledger_open(path)) {
        fprintf(stderr, "usage: chaos [--check] FILE SEED [RANKS [TABLE]]\n");
        return 2;
    }
    if (check) {
        chaos_draw(&chaos, strtoull(argv[3], NULL, 10),
                   (uint32_t)strtoul(argv[4], NULL, 10));
        return chaos_judge(&chaos, ledger, argc == 6 ? argv[5] : table_path);
    }
    int status = run(argc == 3 ? strtoull(argv[2], NULL, 10) : 1);
    if (argc == 1) {
        unlink(path);
    }
    return status;
}
