/* stores.c - see stores.h. */
#include "tests/virtual/stores.h"

#include "hashing/identity.h"
#include "node/api/moot_checkpoint.h"
#include "node/diskstore/disk_snapshot.h"
#include "tests/medley/medley.h"
#include "tests/virtual/disk_private.h"
#include "tests/virtual/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FOLDER DISK_FOLDER "/" DISK_STORE
enum { LARGE_BYTES = 300 << 10, NAMES = 3 };

__attribute__((format(printf, 2, 3))) static void
say_wrong(struct stores_ledger *ledger, const char *format, ...)
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

static uint64_t word_of(const struct stores_ledger *ledger, uint64_t a, uint64_t b)
{
    return medley_mix(ledger->seed * 131 + medley_mix(a * 977 + b)) >> 8;
}

void stores_draw(struct stores_ledger *ledger, uint64_t seed)
{
    static const enum stores_kind kinds[] = {STORES_PURE,   STORES_PURE, STORES_PURE,
                                             STORES_VARIES, STORES_ONCE, STORES_AGAIN};
    *ledger = (struct stores_ledger){.seed = seed};
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        struct stores_task *task = &ledger->tasks[i];
        const uint64_t word = word_of(ledger, 1, i);
        task->kind = kinds[word % 6];
        task->input_count = i == 0 ? 0 : (uint32_t)(word / 6 % (STORES_INPUTS + 1));
        for (uint32_t k = 0; k < task->input_count; k++) {
            const uint32_t reach = i < 6 ? i : 6;
            task->inputs[k] = i - 1 - (uint32_t)(word_of(ledger, 2 + k, i) % reach);
        }
        task->bytes = (uint32_t)(word / 18 % 20 == 0 ? LARGE_BYTES : 24 + word % 400);
    }
}

static uint64_t combine(uint32_t task, const uint64_t *inputs, uint32_t count,
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
static bool read_value(const struct stores_ledger *ledger, uint32_t task,
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

static int make(moot_call *call, void *user)
{
    struct stores_ledger *ledger = user;
    uint64_t inputs[STORES_INPUTS] = {0};
    uint32_t number;
    memcpy(&number, moot_call_args(call, NULL), sizeof(number));
    struct stores_task *task = &ledger->tasks[number];
    struct stores_value value = {.task = number};
    task->starts++;
    if (task->stored) {
        say_wrong(ledger, "task %u runs, and its result is on the disk",
                  (unsigned)number);
    }
    if (task->kind == STORES_ONCE && task->accepted) {
        say_wrong(ledger, "once task %u starts, and the disk has that it may have run",
                  (unsigned)number);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct stores_value input;
        size_t size = 0;
        const unsigned char *bytes = moot_call_input(call, i, &size);
        if (!read_value(ledger, task->inputs[i], bytes, size, &input)) {
            say_wrong(ledger, "task %u gets other bytes than task %u made",
                      (unsigned)number, (unsigned)task->inputs[i]);
            return MOOT_ERR_KERNEL_CODE;
        }
        inputs[i] = input.value;
    }
    value.nonce = task->kind == STORES_PURE ? 0 : ++ledger->nonces;
    value.value = combine(number, inputs, task->input_count, value.nonce);
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
    if (task->kind == STORES_ONCE || task->kind == STORES_AGAIN) {
        spec.key = &number;
        spec.key_size = sizeof(number);
    }
    const int code = moot_task_spawn(player->m, &spec, &player->handles[number]);
    player->held[number] = code == MOOT_OK;
    if (code != MOOT_OK && player->ledger->calm) {
        say_wrong(player->ledger, "rank %u does not spawn task %u: %s",
                  (unsigned)player->rank, (unsigned)number, moot_last_error(player->m));
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
        say_wrong(ledger,
                  "task %u has another result than in the snapshot of the reload",
                  (unsigned)number);
    }
    if (!task->kept && value->nonce <= task->void_before) {
        say_wrong(ledger, "task %u has a result that a reload made void",
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
    if (!read_value(player->ledger, number, bytes, size, &task->values[player->rank])) {
        say_wrong(player->ledger, "rank %u finds other bytes of task %u",
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
        say_wrong(ledger, "rank %u gets no snapshot: %s", (unsigned)player->rank,
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

static void stand_on(struct stores_ledger *ledger, const moot_hash *id);

static void forget_all(struct player *player)
{
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        if (player->held[i] &&
            moot_task_release(player->m, player->handles[i]) != MOOT_OK) {
            say_wrong(player->ledger, "rank %u does not release task %u of before",
                      (unsigned)player->rank, (unsigned)i);
        }
        player->held[i] = false;
        player->ledger->tasks[i].seen[player->rank] = false;
    }
}

/* Which snapshot is drawn when all have come: who draws first does so for all. */
static const moot_hash *draw_back(struct stores_ledger *ledger,
                                  struct stores_back *back)
{
    if (!back->drawn && ledger->snapshot_count > 0) {
        const uint64_t word = word_of(ledger, 90 + ledger->life, ledger->reloads);
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
        say_wrong(ledger, "rank %u does not go back: %s", (unsigned)player->rank,
                  moot_last_error(player->m));
    }
    if (id == NULL || code != MOOT_OK) {
        return false;
    }
    if (!back->done) {
        back->done = true;
        stand_on(ledger, id);
    }
    forget_all(player);
    return true;
}

void stores_play(struct stores_ledger *ledger, uint32_t rank, moot *m)
{
    struct player player = {.ledger = ledger,
                            .m = m,
                            .rank = rank,
                            .random = word_of(ledger, 50 + ledger->life, rank)};
    if (!register_kernels(&player)) {
        say_wrong(ledger, "rank %u registers no kernel", (unsigned)rank);
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
        say_wrong(ledger, "rank %u does not close: %s", (unsigned)rank,
                  moot_err_name(code));
    }
}

/* Once is once, also after a reload: its result may be made from what is void now. */
static bool outlives_reload(const struct stores_ledger *ledger,
                            const struct stores_task *task)
{
    return ledger->reloads > 0 &&
           (task->kind == STORES_ONCE || task->kind == STORES_AGAIN);
}

/* --- What the disk has ------------------------------------------------------------ */

static struct stores_task *find_task(struct stores_ledger *ledger,
                                     const moot_hash *hash)
{
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        struct stores_task *task = &ledger->tasks[i];
        if (task->named && hash_equal(&task->hash, hash)) {
            return task;
        }
    }
    return NULL;
}

/* A good record of a result that ended well.  Of large data only what was synced, or
 * was not harmed since, is there for sure. */
static void note_stored(void *context, const struct disk_key *key,
                        const struct disk_value *value)
{
    struct stores_ledger *ledger = context;
    struct diskstore_found found;
    struct disk_place place;
    if (!disk_record_read(key, value->bytes, value->size, &found, &place)) {
        return;
    }
    struct stores_task *task = find_task(ledger, &found.hash);
    if (task != NULL && found.kind == DISKSTORE_ACCEPTED) {
        task->accepted = true;
    } else if (task != NULL && found.kind == DISKSTORE_RESULT &&
               found.status == MOOT_OK &&
               (place.large == 0 || !(ledger->flipped || ledger->lost))) {
        task->stored = true;
    }
}

void stores_begin_life(struct stores_ledger *ledger, uint32_t ranks, bool calm)
{
    ledger->ranks = ranks;
    ledger->calm = calm;
    memset(ledger->closed, 0, sizeof(ledger->closed));
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        ledger->tasks[i].stored = ledger->tasks[i].accepted = false;
        memset(ledger->tasks[i].seen, 0, sizeof(ledger->tasks[i].seen));
    }
    memset(ledger->backs, 0, sizeof(ledger->backs));
    const uint64_t word = word_of(ledger, 80, ledger->life);
    ledger->back_count = word % 2 == 0 ? 0 : 1 + (uint32_t)(word / 2 % STORES_BACKS);
    disk_each(note_stored, ledger);
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        ledger->found += ledger->tasks[i].stored;
    }
}

/* --- Snapshots -------------------------------------------------------------------- */

/* What a snapshot names, by task; and their values, but for large ones. */
struct named {
    struct stores_ledger *ledger;
    const struct disk_set *set;
    uint32_t read; /* records that it names */
    bool in[STORES_TASKS], has_value[STORES_TASKS], passed[STORES_TASKS];
    uint64_t values[STORES_TASKS], nonces[STORES_TASKS];
};

static void note_named(void *context, const struct disk_key *key,
                       const struct disk_value *value)
{
    struct named *named = context;
    struct diskstore_found found;
    struct disk_place place;
    struct stores_value made;
    if (key->bytes[MOOT_HASH_BYTES] != DISKSTORE_RESULT ||
        !disk_record_read(key, value->bytes, value->size, &found, &place) ||
        !disk_set_has(named->set, &found.hash, found.digest)) {
        return;
    }
    const struct stores_task *task = find_task(named->ledger, &found.hash);
    const uint32_t number =
        task != NULL ? (uint32_t)(task - named->ledger->tasks) : STORES_TASKS;
    if (task == NULL || named->in[number]) {
        return;
    }
    named->read++;
    named->in[number] = true;
    if (place.large == 0 && read_value(named->ledger, number, value->bytes + place.at,
                                       (size_t)found.size, &made)) {
        named->has_value[number] = true;
        named->values[number] = made.value;
        named->nonces[number] = made.nonce;
    }
}

/* A result that varies, is not named, and from which the task was made, directly or by
 * others that are not named; STORES_TASKS: none. */
static uint32_t find_lack(struct named *named, uint32_t number)
{
    const struct stores_task *task = &named->ledger->tasks[number];
    uint32_t lack = STORES_TASKS;
    for (uint32_t i = 0; lack == STORES_TASKS && i < task->input_count; i++) {
        const uint32_t input = task->inputs[i];
        if (named->in[input] || named->passed[input]) {
            continue;
        }
        named->passed[input] = true;
        lack = named->ledger->tasks[input].kind != STORES_PURE
                   ? input
                   : find_lack(named, input);
    }
    return lack;
}

static void check_made_from(struct named *named, uint32_t number)
{
    struct stores_ledger *ledger = named->ledger;
    const struct stores_task *task = &ledger->tasks[number];
    uint64_t inputs[STORES_INPUTS] = {0};
    memset(named->passed, 0, sizeof(named->passed));
    if (outlives_reload(ledger, task)) {
        return;
    }
    const uint32_t lack = find_lack(named, number);
    if (lack < STORES_TASKS) {
        say_wrong(ledger, "task %u is in a snapshot without task %u, which varies",
                  (unsigned)number, (unsigned)lack);
    }
    bool known = named->has_value[number];
    for (uint32_t i = 0; i < task->input_count; i++) {
        known = known && named->has_value[task->inputs[i]];
        inputs[i] = named->values[task->inputs[i]];
    }
    if (known && combine(number, inputs, task->input_count, named->nonces[number]) !=
                     named->values[number]) {
        say_wrong(ledger, "task %u is in a snapshot with other inputs than it had",
                  (unsigned)number);
    }
}

static void check_snapshot(struct stores_ledger *ledger, const moot_hash *id)
{
    struct disk_snapshot snapshot;
    struct disk_set set = {0};
    struct named named = {.ledger = ledger, .set = &set};
    const bool whole = disk_snapshot_read(FOLDER, id, &snapshot, &set) &&
                       disk_snapshot_is_whole(&snapshot);
    if (!whole && !ledger->flipped) {
        say_wrong(ledger, "a snapshot that somebody was told of is not whole");
    }
    if (whole) {
        ledger->checked++;
        disk_each(note_named, &named);
        uint32_t tasks = 0;
        for (uint32_t i = 0; i < STORES_TASKS; i++) {
            const moot_hash *hash = &ledger->tasks[i].hash;
            for (size_t k = 0; k < set.count; k++) {
                if (memcmp(set.entries[k].hash, hash->bytes, MOOT_HASH_BYTES) == 0) {
                    tasks++;
                    break;
                }
            }
        }
        if (named.read < tasks && !ledger->flipped) {
            say_wrong(ledger, "of a snapshot %u results are there, and it names %u",
                      (unsigned)named.read, (unsigned)tasks);
        }
        for (uint32_t i = 0; i < STORES_TASKS; i++) {
            if (named.in[i] && !ledger->lost && !ledger->flipped) {
                check_made_from(&named, i);
            }
        }
    }
    disk_set_release(&set);
    disk_snapshot_release(&snapshot);
}

/* --- Where a reload leaves all -----------------------------------------------------
 */

struct standing {
    struct stores_ledger *ledger;
    const struct disk_set *set;
    uint32_t generation;
};

/* Results that count: those that the snapshot names, and those made since. */
static void note_standing(void *context, const struct disk_key *key,
                          const struct disk_value *value)
{
    const struct standing *standing = context;
    struct diskstore_found found;
    struct disk_place place;
    if (disk_record_read(key, value->bytes, value->size, &found, &place) &&
        (found.kind == DISKSTORE_ACCEPTED || found.generation >= standing->generation ||
         disk_set_has(standing->set, &found.hash, found.digest))) {
        note_stored(standing->ledger, key, value);
    }
}

static void stand_on_mark(struct stores_ledger *ledger, const struct disk_mark *mark)
{
    struct disk_snapshot snapshot;
    struct disk_set set = {0};
    struct named named = {.ledger = ledger, .set = &set};
    struct standing standing = {ledger, &set, mark->generation};
    if (disk_snapshot_read(FOLDER, &mark->id, &snapshot, &set) &&
        disk_snapshot_is_whole(&snapshot)) {
        disk_each(note_named, &named);
    } else if (!ledger->flipped) {
        say_wrong(ledger, "the snapshot of the last reload is not whole");
    }
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        struct stores_task *task = &ledger->tasks[i];
        task->stored = task->accepted = false;
        task->kept = named.in[i];
        task->kept_known = named.has_value[i];
        task->kept_value = named.values[i];
    }
    disk_each(note_standing, &standing);
    disk_set_release(&set);
    disk_snapshot_release(&snapshot);
}

/* All have gone back to the snapshot, and nobody has spawned since. */
static void stand_on(struct stores_ledger *ledger, const moot_hash *id)
{
    struct disk_mark mark = {0};
    if (!disk_mark_read(FOLDER, &mark) || !hash_equal(&mark.id, id)) {
        if (!ledger->flipped) {
            say_wrong(ledger, "a reload is over, and its mark is not there");
        }
        return;
    }
    stand_on_mark(ledger, &mark);
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        if (!ledger->tasks[i].kept) {
            ledger->tasks[i].void_before = ledger->nonces;
        }
    }
}

void stores_check_snapshots(struct stores_ledger *ledger)
{
    struct disk_mark mark = {0};
    if (disk_mark_read(FOLDER, &mark) && mark.generation > 0) {
        stand_on_mark(ledger, &mark);
    }
    for (uint32_t i = 0; i < ledger->snapshot_count; i++) {
        if (ledger->snapshots[i].life < ledger->life) {
            check_snapshot(ledger, &ledger->snapshots[i].id);
        }
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

/* A result is one that was made; and from what the rank has of its inputs. */
static void judge_value(struct stores_ledger *ledger, uint32_t number, uint32_t rank)
{
    const struct stores_task *task = &ledger->tasks[number];
    uint64_t inputs[STORES_INPUTS] = {0};
    bool known = true;
    if (!was_made(task, &task->values[rank])) {
        say_wrong(ledger, "rank %u has a result of task %u that nobody made",
                  (unsigned)rank, (unsigned)number);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct stores_task *input = &ledger->tasks[task->inputs[i]];
        known = known && input->seen[rank] && input->codes[rank] == MOOT_OK;
        inputs[i] = input->values[rank].value;
    }
    known = known && !outlives_reload(ledger, task);
    if (known && !ledger->lost && !ledger->flipped &&
        combine(number, inputs, task->input_count, task->values[rank].nonce) !=
            task->values[rank].value) {
        say_wrong(ledger, "rank %u has task %u, made from others than it has",
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
        say_wrong(ledger, "on rank %u task %u ends with %s", (unsigned)rank,
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
            say_wrong(ledger, "once task %u has started %u times", (unsigned)i,
                      (unsigned)task->starts);
        }
    }
    return ledger->wrong;
}
