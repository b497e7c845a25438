/* stores.c - see stores.h. */
#include "tests/virtual/stores_private.h"

#include "hashing/identity.h"
#include "node/api/moot_checkpoint.h"
#include "tests/medley/medley.h"
#include "tests/virtual/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LARGE_BYTES = 300 << 10, PACKED_BYTES = 600, NAMES = 3 };

void stores_say_wrong(struct stores_ledger *ledger, const char *format, ...)
{
    va_list args;
    if (ledger->wrong++ < 5 && !ledger->quiet) {
        va_start(args, format);
        printf("WRONG: in life %u: ", (unsigned)ledger->life);
        vprintf(format, args);
        printf("\n");
        va_end(args);
    }
}

/* --- The program ------------------------------------------------------------------ */

uint64_t stores_word(const struct stores_ledger *ledger, uint64_t a, uint64_t b)
{
    return medley_mix(ledger->seed * 131 + medley_mix(a * 977 + b)) >> 8;
}

/* Most stand in the record; some in a pack (node/diskstore/disk_pack.h), or in a file
 * of their own. */
static uint32_t drawn_bytes(uint64_t word)
{
    return word % 20 == 0  ? LARGE_BYTES
           : word % 20 < 5 ? PACKED_BYTES + (uint32_t)(word / 20 % 3000)
                           : 24 + (uint32_t)(word / 20 % 400);
}

void stores_draw(struct stores_ledger *ledger, uint64_t seed)
{
    static const enum stores_kind kinds[] = {STORES_PURE,   STORES_PURE, STORES_PURE,
                                             STORES_VARIES, STORES_ONCE, STORES_AGAIN};
    *ledger = (struct stores_ledger){.seed = seed};
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        struct stores_task *task = &ledger->tasks[i];
        const uint64_t word = stores_word(ledger, 1, i);
        task->kind = kinds[word % 6];
        task->input_count = i == 0 ? 0 : (uint32_t)(word / 6 % (STORES_INPUTS + 1));
        for (uint32_t k = 0; k < task->input_count; k++) {
            const uint32_t reach = i < 6 ? i : 6;
            task->inputs[k] = i - 1 - (uint32_t)(stores_word(ledger, 2 + k, i) % reach);
        }
        task->bytes = drawn_bytes(word / 18);
    }
}

uint64_t stores_combine(uint32_t task, const uint64_t *inputs, uint32_t count,
                        uint64_t nonce)
{
    uint64_t value = medley_mix(task + UINT64_C(991));
    for (uint32_t i = 0; i < count; i++) {
        value = medley_mix(value * 31 + inputs[i]);
    }
    return medley_mix(value ^ medley_mix(nonce));
}

static void fill(unsigned char *out, size_t size, const struct stores_value *value)
{
    memset(out, (int)(value->value & 255), size);
    memcpy(out, value, sizeof(*value));
}

/* Whether the bytes are a result of the task; its value. */
bool stores_read_value(const struct stores_ledger *ledger, uint32_t task,
                       const unsigned char *bytes, size_t size,
                       struct stores_value *out)
{
    if (size != ledger->tasks[task].bytes) {
        return false;
    }
    memcpy(out, bytes, sizeof(*out));
    bool good = out->task == task;
    for (size_t i = sizeof(*out); good && i < size; i++) {
        good = bytes[i] == (unsigned char)(out->value & 255);
    }
    return good;
}

static bool is_once(const struct stores_task *task)
{
    return task->kind == STORES_ONCE || task->kind == STORES_AGAIN;
}

/* Whether somebody has died where descriptors are few: the others look into the folder
 * anew for what it has left, and say so if they find none to do it with. */
static bool is_unread(const struct stores_ledger *ledger)
{
    bool dead = false;
    for (uint32_t rank = 0; ledger->unstored && rank < ledger->ranks; rank++) {
        dead = dead || world_is_dead(rank, NULL);
    }
    return dead;
}

/* Whether what the disk has of the task is its result, with these inputs.  Where a disk
 * has lost some, what was made of it is not, and of large ones it is not known. */
static bool is_found(const struct stores_ledger *ledger, uint32_t number,
                     const uint64_t *inputs)
{
    const struct stores_task *task = &ledger->tasks[number];
    return task->stored && (is_once(task) || !is_unread(ledger)) &&
           (is_once(task) || !(ledger->lost || ledger->flipped) ||
            (task->stored_known &&
             stores_combine(number, inputs, task->input_count,
                            task->stored_value.nonce) == task->stored_value.value));
}

static int make(moot_call *call, void *user)
{
    struct stores_ledger *ledger = user;
    uint64_t inputs[STORES_INPUTS] = {0};
    uint32_t number;
    memcpy(&number, moot_call_args(call, NULL), sizeof(number));
    struct stores_task *task = &ledger->tasks[number];
    struct stores_value value = {.task = number};
    task->starts++;
    if (task->kind == STORES_ONCE && task->accepted) {
        stores_say_wrong(ledger,
                         "once task %u starts, and the disk has that it may have run",
                         (unsigned)number);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct stores_value input;
        size_t size = 0;
        const unsigned char *bytes = moot_call_input(call, i, &size);
        if (!stores_read_value(ledger, task->inputs[i], bytes, size, &input)) {
            stores_say_wrong(ledger, "task %u gets other bytes than task %u made",
                             (unsigned)number, (unsigned)task->inputs[i]);
            return MOOT_ERR_KERNEL_CODE;
        }
        inputs[i] = input.value;
    }
    if (is_found(ledger, number, inputs)) {
        stores_say_wrong(ledger, "task %u runs, and its result is on the disk",
                         (unsigned)number);
    }
    value.nonce = task->kind == STORES_PURE ? 0 : ++ledger->nonces;
    value.value = stores_combine(number, inputs, task->input_count, value.nonce);
    nanosleep(&(struct timespec){.tv_nsec = (long)(20000 + value.value % 400000)},
              NULL);
    unsigned char *out = moot_call_output(call, task->bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    fill(out, task->bytes, &value);
    if (task->run_count < STORES_RUNS) {
        task->runs[task->run_count++] = value;
    }
    return MOOT_OK;
}

struct player {
    struct stores_ledger *ledger;
    moot *m;
    uint32_t rank;
    uint64_t random;
    moot_kernel_id kernels[STORES_KINDS];
    moot_task handles[STORES_TASKS];
    bool held[STORES_TASKS];
};

static bool chance(struct player *player, uint32_t per_cent)
{
    player->random = medley_mix(player->random);
    return (player->random >> 8) % 100 < per_cent;
}

static bool register_kernels(struct player *player)
{
    static const uint32_t flags[STORES_KINDS] = {
        [STORES_VARIES] = MOOT_KERNEL_NONDETERMINISTIC,
        [STORES_ONCE] = MOOT_KERNEL_ONCE,
        [STORES_AGAIN] = MOOT_KERNEL_ONCE | MOOT_KERNEL_IDEMPOTENT};
    static const char *const names[STORES_KINDS] = {"pure", "varies", "once", "again"};
    bool good = true;
    for (int kind = 0; kind < STORES_KINDS; kind++) {
        const moot_kernel kernel = {.name = names[kind],
                                    .fn = make,
                                    .user = player->ledger,
                                    .flags = flags[kind]};
        good = good && moot_kernel_register(player->m, &kernel,
                                            &player->kernels[kind]) == MOOT_OK;
    }
    return good;
}

static void spawn_one(struct player *player, uint32_t number)
{
    struct stores_task *task = &player->ledger->tasks[number];
    moot_task inputs[STORES_INPUTS];
    moot_task_info info;
    for (uint32_t i = 0; i < task->input_count; i++) {
        if (!player->held[task->inputs[i]]) {
            return;
        }
        inputs[i] = player->handles[task->inputs[i]];
    }
    moot_task_spec spec = {.kernel = player->kernels[task->kind],
                           .args = &number,
                           .args_size = sizeof(number),
                           .inputs = inputs,
                           .input_count = task->input_count};
    if (is_once(task)) {
        spec.key = &number;
        spec.key_size = sizeof(number);
    }
    const int code = moot_task_spawn(player->m, &spec, &player->handles[number]);
    player->held[number] = code == MOOT_OK;
    if (code != MOOT_OK && player->ledger->calm) {
        stores_say_wrong(player->ledger, "rank %u does not spawn task %u: %s",
                         (unsigned)player->rank, (unsigned)number,
                         moot_last_error(player->m));
    }
    if (player->held[number] &&
        moot_task_info(player->m, player->handles[number], &info) == MOOT_OK) {
        task->hash = info.hash;
        task->named = true;
    }
}

/* A result that varies is the one of the snapshot that all went back to, or made since.
 */
static void check_generation(struct stores_ledger *ledger, uint32_t number,
                             const struct stores_value *value)
{
    const struct stores_task *task = &ledger->tasks[number];
    if (ledger->lost || ledger->flipped || ledger->forgot) {
        return;
    }
    if (task->kept && task->kept_known && value->value != task->kept_value) {
        stores_say_wrong(
            ledger, "task %u has another result than in the snapshot of the reload",
            (unsigned)number);
    }
    if (!task->kept && value->nonce <= task->void_before) {
        stores_say_wrong(ledger, "task %u has a result that a reload made void",
                         (unsigned)number);
    }
}

static void fetch_one(struct player *player, uint32_t number)
{
    struct stores_task *task = &player->ledger->tasks[number];
    const void *bytes = NULL;
    size_t size = 0;
    if (!player->held[number]) {
        return;
    }
    const int code = moot_task_fetch(player->m, player->handles[number], MOOT_FOREVER,
                                     &bytes, &size);
    task->seen[player->rank] = true;
    task->codes[player->rank] = code;
    if (code != MOOT_OK) {
        return;
    }
    if (!stores_read_value(player->ledger, number, bytes, size,
                           &task->values[player->rank])) {
        stores_say_wrong(player->ledger, "rank %u finds other bytes of task %u",
                         (unsigned)player->rank, (unsigned)number);
    } else if (task->kind == STORES_VARIES) {
        check_generation(player->ledger, number, &task->values[player->rank]);
    }
}

static void ask_snapshot(struct player *player)
{
    struct stores_ledger *ledger = player->ledger;
    char name[16];
    moot_hash id;
    snprintf(name, sizeof(name), "s%u", (unsigned)(player->random >> 20) % NAMES);
    const moot_checkpoint_options options = {.size = sizeof(options), .name = name};
    const int code = moot_checkpoint(player->m, &options, &id);
    if (code == MOOT_OK && ledger->snapshot_count < STORES_SNAPSHOTS) {
        ledger->snapshots[ledger->snapshot_count].id = id;
        ledger->snapshots[ledger->snapshot_count++].life = ledger->life;
    }
    if (code != MOOT_OK && ledger->calm) {
        stores_say_wrong(ledger, "rank %u gets no snapshot: %s", (unsigned)player->rank,
                         moot_last_error(player->m));
    }
}

static void spawn_all(struct player *player)
{
    for (uint32_t task = 0; task < STORES_TASKS; task++) {
        spawn_one(player, task);
        if (task > 0 && chance(player, 12)) {
            fetch_one(player, (uint32_t)(player->random >> 30) % task);
        }
        if (chance(player, 4)) {
            ask_snapshot(player);
        }
        if (chance(player, 4)) {
            (void)moot_checkpoint_flush(player->m);
        }
    }
}

static void fetch_all(struct player *player)
{
    for (uint32_t task = 0; task < STORES_TASKS; task++) {
        fetch_one(player, task);
    }
}

static void forget_all(struct player *player)
{
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        if (player->held[i] &&
            moot_task_release(player->m, player->handles[i]) != MOOT_OK) {
            stores_say_wrong(player->ledger,
                             "rank %u does not release task %u of before",
                             (unsigned)player->rank, (unsigned)i);
        }
        player->held[i] = false;
        player->ledger->tasks[i].seen[player->rank] = false;
    }
}

/* The snapshot is drawn when all have come: who draws first does so for all. */
static const moot_hash *draw_back(struct stores_ledger *ledger,
                                  struct stores_back *back)
{
    if (!back->drawn && ledger->snapshot_count > 0) {
        const uint64_t word = stores_word(ledger, 90 + ledger->life, ledger->reloads);
        back->id = ledger->snapshots[word % ledger->snapshot_count].id;
    }
    back->drawn = true;
    return hash_is_zero(&back->id) ? NULL : &back->id;
}

/* False: this rank ends here. */
static bool go_back(struct player *player, struct stores_back *back)
{
    struct stores_ledger *ledger = player->ledger;
    int code = moot_barrier(player->m);
    const moot_hash *id = code == MOOT_OK ? draw_back(ledger, back) : NULL;
    if (id != NULL) {
        ledger->reloads++;
        code = moot_checkpoint_reload(player->m, id);
    }
    if (code != MOOT_OK && ledger->calm && !ledger->flipped) {
        stores_say_wrong(ledger, "rank %u does not go back: %s", (unsigned)player->rank,
                         moot_last_error(player->m));
    }
    if (id == NULL || code != MOOT_OK) {
        return false;
    }
    if (!back->done) {
        back->done = true;
        stores_stand_on(ledger, id);
    }
    forget_all(player);
    return true;
}

void stores_play(struct stores_ledger *ledger, uint32_t rank, moot *m)
{
    struct player player = {.ledger = ledger,
                            .m = m,
                            .rank = rank,
                            .random = stores_word(ledger, 50 + ledger->life, rank)};
    if (!register_kernels(&player)) {
        stores_say_wrong(ledger, "rank %u registers no kernel", (unsigned)rank);
    }
    spawn_all(&player);
    for (uint32_t i = 0; i < ledger->back_count; i++) {
        if (chance(&player, 50)) {
            fetch_all(&player);
        }
        if (!go_back(&player, &ledger->backs[i])) {
            break;
        }
        spawn_all(&player);
    }
    fetch_all(&player);
    if (chance(&player, 30)) {
        ask_snapshot(&player);
    }
    const int code = moot_close(m);
    ledger->closed[rank] = code == MOOT_OK;
    if (code != MOOT_OK && ledger->calm) {
        stores_say_wrong(ledger, "rank %u does not close: %s", (unsigned)rank,
                         moot_err_name(code));
    }
}

/* --- What ranks saw --------------------------------------------------------------- */

static bool was_made(const struct stores_task *task, const struct stores_value *value)
{
    for (uint32_t i = 0; i < task->run_count; i++) {
        if (memcmp(&task->runs[i], value, sizeof(*value)) == 0) {
            return true;
        }
    }
    return task->run_count == STORES_RUNS;
}

/* A result is one that was made; and from what the rank has of its inputs.  Where a
 * disk has lost results, and ranks die, one may be made anew while others have the old
 * one; in the calm life that is no excuse, but for once tasks, which have run. */
static void judge_value(struct stores_ledger *ledger, uint32_t number, uint32_t rank)
{
    const struct stores_task *task = &ledger->tasks[number];
    uint64_t inputs[STORES_INPUTS] = {0};
    bool known = true;
    if (!was_made(task, &task->values[rank])) {
        stores_say_wrong(ledger, "rank %u has a result of task %u that nobody made",
                         (unsigned)rank, (unsigned)number);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct stores_task *input = &ledger->tasks[task->inputs[i]];
        known = known && input->seen[rank] && input->codes[rank] == MOOT_OK;
        inputs[i] = input->values[rank].value;
    }
    known = known && !stores_outlives_reload(ledger, task) &&
            (!(ledger->lost || ledger->flipped || ledger->unstored) ||
             (ledger->calm && !is_once(task)));
    if (known && stores_combine(number, inputs, task->input_count,
                                task->values[rank].nonce) != task->values[rank].value) {
        stores_say_wrong(ledger, "rank %u has task %u, made from others than it has",
                         (unsigned)rank, (unsigned)number);
    }
}

static bool has_failed_input(const struct stores_ledger *ledger, uint32_t number,
                             uint32_t rank)
{
    const struct stores_task *task = &ledger->tasks[number];
    bool failed = false;
    for (uint32_t i = 0; i < task->input_count; i++) {
        failed = failed || ledger->tasks[task->inputs[i]].codes[rank] != MOOT_OK;
    }
    return failed;
}

/* In the calm life: a once task may have started in an earlier one. */
static void judge_code(struct stores_ledger *ledger, uint32_t number, uint32_t rank)
{
    const struct stores_task *task = &ledger->tasks[number];
    const int32_t code = task->codes[rank];
    const bool may_have = task->kind == STORES_ONCE && code == MOOT_ERR_MAYBE_RAN &&
                          (task->accepted || ledger->lost || ledger->flipped);
    if (!may_have && !has_failed_input(ledger, number, rank)) {
        stores_say_wrong(ledger, "on rank %u task %u ends with %s", (unsigned)rank,
                         (unsigned)number, moot_err_name(code));
    }
}

uint32_t stores_judge(struct stores_ledger *ledger, const bool *died)
{
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        const struct stores_task *task = &ledger->tasks[i];
        for (uint32_t rank = 0; rank < ledger->ranks; rank++) {
            if (died[rank] || !ledger->closed[rank] || !task->seen[rank]) {
                continue;
            }
            if (task->codes[rank] == MOOT_OK) {
                judge_value(ledger, i, rank);
            } else if (ledger->calm) {
                judge_code(ledger, i, rank);
            }
        }
        if (task->kind == STORES_ONCE && task->starts > 1 && !ledger->forgot) {
            stores_say_wrong(ledger, "once task %u has started %u times", (unsigned)i,
                             (unsigned)task->starts);
        }
    }
    return ledger->wrong;
}
