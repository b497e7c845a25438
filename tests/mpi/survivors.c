/* survivors.c - a random diverging program whose survivors must end right.
 *
 *     survivors FILE SEED            a rank of the job; ranks share FILE, on one host
 *     survivors --check FILE SEED    afterwards: whether what it holds may be
 *
 * Each rank spawns the tasks of which it is a holder, and waits for others' as well,
 * and compares every result with the one that it computes itself.  Each task has
 * holders enough to outlive the deaths that tests ask for.  A kernel counts its starts
 * in the file, per task and rank, which outlives whoever is killed.  Then:
 *
 *   - every rank that says that it finished had every result right;
 *   - a once task was started at most once by all ranks together, the dead included;
 *   - a task was started at most once by all ranks that finished.
 *
 * A group around all spawns ends well if every wait has.
 * Each rank is told of all tasks that it takes over from ranks that are gone, and of
 * each other rank that it died, was removed, or left in the end.
 *
 * A wait for a once task may end with MAYBE_RAN, and what needs it fails or is lost,
 * only if a rank did not finish.  A rank that was removed while it stood still ends
 * with 9.
 *
 * Without arguments it runs seed 1 over a file of its own.
 */
#include "node/api/moot.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    TASKS = 48,
    RANKS_MAX = 16,
    INPUTS_MAX = 2,
    HOLDERS_MIN = 4,
    KERNEL_US_MAX = 6000,
    EXIT_REMOVED = 9
};

struct ledger {
    atomic_uint starts[TASKS][RANKS_MAX];
    atomic_uint finished[RANKS_MAX], maybe[RANKS_MAX];
    atomic_uint size;
};

struct recipe {
    uint32_t inputs[INPUTS_MAX], input_count;
    uint64_t holders; /* a set of ranks */
    bool once, hint;
    uint32_t kernel_us;
    uint64_t value;
};

static struct recipe recipes[TASKS];
static struct ledger *ledger;
static int self;

static uint64_t mix(uint64_t word) /* Vigna's splitmix64 */
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static uint64_t combine(uint32_t task, const uint64_t *inputs, size_t count)
{
    uint64_t value = mix(task);
    for (size_t i = 0; i < count; i++) {
        value = mix(value ^ inputs[i]);
    }
    return value;
}

static uint64_t count_bits(uint64_t set)
{
    uint64_t count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return count;
}

static void draw_recipe(uint32_t task, uint64_t seed, uint32_t size)
{
    struct recipe *recipe = &recipes[task];
    uint64_t word = mix(seed * TASKS + task), inputs[INPUTS_MAX];
    uint32_t least = size < HOLDERS_MIN ? size : HOLDERS_MIN;
    recipe->input_count = task > 0 ? (uint32_t)(word % (INPUTS_MAX + 1)) : 0;
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        recipe->inputs[i] = (uint32_t)(mix(word + i) % task);
        inputs[i] = recipes[recipe->inputs[i]].value;
    }
    recipe->holders = mix(word ^ 1) & ((UINT64_C(1) << size) - 1);
    for (uint64_t more = word; count_bits(recipe->holders) < least;) {
        recipe->holders |= UINT64_C(1) << ((more = mix(more)) % size);
    }
    recipe->once = mix(word ^ 2) % 6 == 0;
    recipe->hint = mix(word ^ 3) % 6 == 0;
    recipe->kernel_us = (uint32_t)(mix(word ^ 4) % KERNEL_US_MAX);
    recipe->value = combine(task, inputs, recipe->input_count);
}

/* --- The ledger ------------------------------------------------------------------- */

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

static int wrong(const char *what, uint32_t task)
{
    fprintf(stderr, "survivors: WRONG: task %u %s\n", task, what);
    return 1;
}

static int ledger_check(uint64_t seed)
{
    uint32_t size = ledger->size, finished = 0, maybe = 0;
    int bad = 0;
    for (uint32_t task = 0; task < TASKS; task++) {
        draw_recipe(task, seed, size);
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        finished += ledger->finished[rank];
        maybe += ledger->maybe[rank];
    }
    for (uint32_t task = 0; task < TASKS; task++) {
        uint32_t all = 0, living = 0;
        for (uint32_t rank = 0; rank < size; rank++) {
            all += ledger->starts[task][rank];
            living += ledger->finished[rank] ? ledger->starts[task][rank] : 0;
        }
        if (recipes[task].once && all > 1) {
            bad = wrong("may start once, and was started twice", task);
        }
        if (living > 1) {
            bad = wrong("was started twice by ranks that finished", task);
        }
        if (finished == size && maybe == 0 && all != 1) {
            bad = wrong("was not started once, though no rank was lost", task);
        }
    }
    if (finished == 0) {
        bad = wrong("or other: no rank finished", 0);
    }
    if (finished == size && maybe > 0) {
        bad = wrong("or other ended with MAYBE_RAN, though no rank was lost", 0);
    }
    return bad;
}

/* --- A rank ----------------------------------------------------------------------- */

static int kernel(moot_call *call, void *user)
{
    const uint32_t *task = moot_call_args(call, &(size_t){0});
    uint64_t inputs[INPUTS_MAX];
    size_t count = moot_call_input_count(call);
    (void)user;
    ledger->starts[*task][self]++;
    for (size_t i = 0; i < count; i++) {
        memcpy(&inputs[i], moot_call_input(call, i, &(size_t){0}), sizeof(inputs[i]));
    }
    const struct timespec work = {.tv_nsec = recipes[*task].kernel_us * 1000L};
    nanosleep(&work, NULL);
    uint64_t *value = moot_call_output(call, sizeof(*value));
    if (value == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *value = combine(*task, inputs, count);
    return MOOT_OK;
}

/* What this rank was told that it takes over, and of it, what from a rank that is here.
 */
static atomic_uint told_reruns, told_wrong;

static void on_rerun(void *user, const moot_event *event)
{
    moot *m = *(moot **)user;
    told_reruns++;
    told_wrong += moot_present(m, event->rank) != 0;
}

/* Sets of ranks, as a watch was told. */
static atomic_ullong told_gone, told_left; /* gone: died or was removed */

static void on_rank(void *user, const moot_event *event)
{
    unsigned long long bit = 1ull << event->rank;
    (void)user;
    atomic_fetch_or(event->kind == MOOT_EVENT_RANK_LEFT ? &told_left : &told_gone, bit);
}

/* `gone` are those that were so before the close.  A rank that is busy may hear of a
 * death from the others, as a removal, and see it itself later or never. */
static bool ranks_are_told(unsigned long long gone)
{
    unsigned long long others = ((1ull << ledger->size) - 1) & ~(1ull << self);
    if ((gone & ~told_gone) == 0 && (told_gone | told_left) == others) {
        return true;
    }
    fprintf(stderr, "survivors: WRONG: rank %d: gone %llx, told gone %llx, left %llx\n",
            self, gone, (unsigned long long)told_gone, (unsigned long long)told_left);
    return false;
}

struct play {
    moot *m;
    moot_kernel_id pure, once;
    moot_task handles[TASKS];
};

static void give_up(const struct play *play, const char *what, uint32_t task, int code)
{
    fprintf(stderr, "survivors: rank %d: %s task %u: %s: %s\n", self, what, task,
            moot_err_name(code), moot_last_error(play->m));
    if (code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM) {
        moot_close(play->m);
    }
    if (code == MOOT_ERR_FENCED && (told_gone >> self & 1) == 0) {
        fprintf(stderr, "survivors: WRONG: rank %d was not told that it was removed\n",
                self);
        exit(1);
    }
    exit(code == MOOT_ERR_FENCED ? EXIT_REMOVED : 1);
}

/* Every rank has a handle to every task; its holders spawn it. */
static void meet(struct play *play, uint32_t task)
{
    const struct recipe *recipe = &recipes[task];
    moot_task inputs[INPUTS_MAX];
    moot_hash hash;
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        inputs[i] = play->handles[recipe->inputs[i]];
    }
    const moot_task_spec spec = {.kernel = recipe->once ? play->once : play->pure,
                                 .args = &task,
                                 .args_size = sizeof(task),
                                 .inputs = inputs,
                                 .input_count = recipe->input_count,
                                 .key = &task,
                                 .key_size = sizeof(task),
                                 .flags = recipe->hint ? MOOT_TASK_CONDITIONAL : 0u};
    int code = recipe->holders >> self & 1
                   ? moot_task_spawn(play->m, &spec, &play->handles[task])
                   : moot_spec_hash(play->m, &spec, &hash);
    if (code == MOOT_OK && !(recipe->holders >> self & 1)) {
        code = moot_task_find(play->m, &hash, &play->handles[task]);
    }
    if (code != MOOT_OK) {
        give_up(play, "spawning", task, code);
    }
}

static bool may_fail(const struct play *play, uint32_t task)
{
    const struct recipe *recipe = &recipes[task];
    bool may = recipe->once;
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        may = may || may_fail(play, recipe->inputs[i]);
    }
    return may;
}

static void look(struct play *play, uint32_t task)
{
    const void *data;
    uint64_t value = 0;
    int code = moot_task_fetch(play->m, play->handles[task], MOOT_FOREVER, &data,
                               &(size_t){0});
    bool maybe = code == MOOT_ERR_MAYBE_RAN || code == MOOT_ERR_TASK_FAILED ||
                 code == MOOT_ERR_RESULT_LOST;
    if (maybe && may_fail(play, task)) {
        ledger->maybe[self]++;
        return;
    }
    if (code != MOOT_OK) {
        give_up(play, "waiting for", task, code);
    }
    memcpy(&value, data, sizeof(value));
    if (value != recipes[task].value) {
        give_up(play, "a WRONG result of", task, MOOT_ERR_INVALID);
    }
}

static int run(uint64_t seed)
{
    struct play play = {0};
    int code = moot_open(NULL, &play.m);
    if (code != MOOT_OK) {
        return 1;
    }
    self = moot_rank(play.m);
    ledger->size = (unsigned)moot_size(play.m);
    for (uint32_t task = 0; task < TASKS; task++) {
        draw_recipe(task, seed, ledger->size);
    }
    moot_kernel_register(play.m, &(moot_kernel){.name = "pure", .fn = kernel},
                         &play.pure);
    moot_kernel_register(
        play.m, &(moot_kernel){.name = "once", .fn = kernel, .flags = MOOT_KERNEL_ONCE},
        &play.once);
    moot_watch_id watch;
    moot_watch_add(
        play.m,
        &(moot_watch){.kinds = MOOT_EVENT_RERUN, .fn = on_rerun, .user = &play.m},
        &watch);
    moot_watch_add(play.m, &(moot_watch){.kinds = MOOT_EVENTS_OF_RANKS, .fn = on_rank},
                   &watch);
    moot_group_open(play.m);
    for (uint32_t task = 0; task < TASKS; task++) {
        uint64_t word = mix(seed ^ mix(task * RANKS_MAX + (uint32_t)self));
        meet(&play, task);
        if (word % 4 == 0) { /* in the middle, for any before */
            look(&play, (uint32_t)(mix(word) % (task + 1)));
        }
    }
    for (uint32_t task = 0; task < TASKS; task++) {
        look(&play, task);
    }
    code = moot_group_close(play.m, MOOT_FOREVER);
    if (code != MOOT_OK && ledger->maybe[self] == 0) {
        give_up(&play, "closing the group with", 0, code);
    }
    moot_stats stats = {0};
    moot_stats_get(play.m, &stats);
    unsigned long long gone = 0;
    for (int rank = 0; rank < (int)ledger->size; rank++) {
        gone |= moot_present(play.m, rank) == 0 ? 1ull << rank : 0;
    }
    code = moot_close(play.m);
    if (code == MOOT_OK && !ranks_are_told(gone)) {
        return 1;
    }
    if (code == MOOT_OK && (told_reruns < stats.tasks_taken_over || told_wrong > 0)) {
        fprintf(stderr,
                "survivors: WRONG: rank %d took over %llu tasks, was told of %u, "
                "%u of ranks that are here\n",
                self, (unsigned long long)stats.tasks_taken_over, told_reruns,
                told_wrong);
        return 1;
    }
    if (code == MOOT_OK) {
        ledger->finished[self] = 1;
    } else {
        fprintf(stderr, "survivors: rank %d: close: %s\n", self, moot_err_name(code));
    }
    return code == MOOT_OK ? 0 : code == MOOT_ERR_FENCED ? EXIT_REMOVED : 1;
}

int main(int argc, char **argv)
{
    bool check = argc == 4 && strcmp(argv[1], "--check") == 0;
    const char *path = check ? argv[2] : argc == 3 ? argv[1] : "/dev/shm";
    char own[64];
    if (argc == 1) { /* the launcher's process, which all ranks have in common */
        snprintf(own, sizeof(own), "/tmp/survivors-%d", (int)getppid());
        path = own;
    }
    if ((argc != 1 && argc != 3 && !check) || !ledger_open(path)) {
        fprintf(stderr, "usage: survivors [--check] FILE SEED\n");
        return 2;
    }
    if (check) {
        return ledger_check(strtoull(argv[3], NULL, 10));
    }
    int status = run(argc == 3 ? strtoull(argv[2], NULL, 10) : 1);
    if (argc == 1) {
        unlink(path);
    }
    return status;
}
