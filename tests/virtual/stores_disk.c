/* stores_disk.c - what the disk has at the beginning of a life, in each snapshot, and
 * behind a reload (stores.h).
 */
#include "hashing/identity.h"
#include "node/diskstore/disk_snapshot.h"
#include "tests/virtual/disk_private.h"
#include "tests/virtual/stores_private.h"

#include <string.h>

#define FOLDER DISK_FOLDER "/" DISK_STORE

bool stores_outlives_reload(const struct stores_ledger *ledger,
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

/* The value that the disk has of the task, if all of its records have the same. */
static void note_value(struct stores_ledger *ledger, struct stores_task *task,
                       const struct disk_value *value, const struct disk_place *place,
                       size_t size)
{
    struct stores_value made;
    const bool read = place->spot.home == DISK_IN_VALUE &&
                      stores_read_value(ledger, (uint32_t)(task - ledger->tasks),
                                        value->bytes + place->at, size, &made);
    const bool same = !task->stored || (task->stored_known && read &&
                                        task->stored_value.value == made.value);
    task->stored_known = read && same;
    task->stored_value = read ? made : (struct stores_value){0};
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
               (place.spot.home == DISK_IN_VALUE ||
                !(ledger->flipped || ledger->lost))) {
        note_value(ledger, task, value, &place, (size_t)found.size);
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
    const uint64_t word = stores_word(ledger, 80, ledger->life);
    ledger->back_count = word % 2 == 0 ? 0 : 1 + (uint32_t)(word / 2 % STORES_BACKS);
    disk_each(note_stored, ledger);
    for (uint32_t i = 0; i < STORES_TASKS; i++) {
        ledger->found += ledger->tasks[i].stored;
    }
}

/* --- Snapshots -------------------------------------------------------------------- */

/* Results that a snapshot names, by task; and their values, but for large ones. */
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
    if (place.spot.home == DISK_IN_VALUE &&
        stores_read_value(named->ledger, number, value->bytes + place.at,
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
    if (stores_outlives_reload(ledger, task)) {
        return;
    }
    const uint32_t lack = find_lack(named, number);
    if (lack < STORES_TASKS) {
        stores_say_wrong(ledger,
                         "task %u is in a snapshot without task %u, which varies",
                         (unsigned)number, (unsigned)lack);
    }
    bool known = named->has_value[number];
    for (uint32_t i = 0; i < task->input_count; i++) {
        known = known && named->has_value[task->inputs[i]];
        inputs[i] = named->values[task->inputs[i]];
    }
    if (known && stores_combine(number, inputs, task->input_count,
                                named->nonces[number]) != named->values[number]) {
        stores_say_wrong(ledger,
                         "task %u is in a snapshot with other inputs than it had",
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
        stores_say_wrong(ledger, "a snapshot that somebody was told of is not whole");
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
            stores_say_wrong(ledger,
                             "of a snapshot %u results are there, and it names %u",
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
        stores_say_wrong(ledger, "the snapshot of the last reload is not whole");
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

void stores_stand_on(struct stores_ledger *ledger, const moot_hash *id)
{
    struct disk_mark mark = {0};
    if (!disk_mark_read(FOLDER, &mark) || !hash_equal(&mark.id, id)) {
        if (!ledger->flipped) {
            stores_say_wrong(ledger, "a reload is over, and its mark is not there");
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
