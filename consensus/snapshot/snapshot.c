/* snapshot.c - a set of results on disks that all members agree on.
 *
 * PROTOCOL.md, *Snapshots*.  Any rank may ask for a snapshot, by a name.  The lowest
 * member of the view coordinates, one snapshot after the other:
 *
 *     ask        any -> lowest     S1
 *     cut        lowest -> all     S2: what was stored until now is in
 *     prepared   all -> lowest     S3: and that is durable
 *     (commit)   lowest's disk     S4: all parts are: the snapshot exists
 *     done       lowest -> all     S5
 *
 * A message of a rank that has made the cut says so (message.cut), and who has not made
 * it does so before it takes the message in.  Hence no result in the set was made from
 * one that is not (I44), though nobody stops.
 *
 * A view ends all that goes on.  Each rank asks the new lowest member for what it still
 * waits for (S6).
 */
#include "consensus/snapshot/snapshot.h"

#include "hashing/identity.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint32_t lowest(const struct core *core)
{
    return rankset_next(&core->members, 0);
}

/* One attempt, and no other anywhere: the view's id has its members' incarnations. */
static moot_hash snapshot_id(const struct core *core, uint32_t number)
{
    const uint64_t words[3] = {core->view_id, core->epoch, number};
    return digest_bytes(words, sizeof(words));
}

static struct snapshot_name name_of(const char *bytes, size_t size)
{
    assert(size > 0 && size <= LIMIT_SNAPSHOT_NAME_BYTES);
    struct snapshot_name name = {.size = (uint32_t)size};
    memcpy(name.bytes, bytes, size);
    return name;
}

static bool is_same(const struct snapshot_name *a, const struct snapshot_name *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* The place of the name in the list; `count` if it is not there. */
static uint32_t find_name(const struct snapshot_name *names, uint32_t count,
                          const struct snapshot_name *name)
{
    uint32_t i = 0;
    while (i < count && !is_same(&names[i], name)) {
        i++;
    }
    return i;
}

/* --- What is said ----------------------------------------------------------------- */

static void put_name(struct core *core, const struct snapshot_name *name,
                     struct message_snapshot *to)
{
    to->name = out_copy_bytes(core, name->bytes, name->size);
    to->name_size = to->name != NULL ? name->size : 0;
}

static void tell_ask(struct core *core, const struct snapshot_name *name)
{
    struct message *message = agenda_send(core, lowest(core), MESSAGE_SNAPSHOT);
    if (message != NULL) {
        message->u.snapshot = (struct message_snapshot){.what = SNAPSHOT_ASK,
                                                        .number = core->snapshot.over};
        put_name(core, name, &message->u.snapshot);
    }
}

/* From the lowest member to all, itself included. */
static void tell_all(struct core *core, const struct message_snapshot *snapshot)
{
    assert(lowest(core) == core->rank);
    FOR_MEMBERS(core, rank)
    {
        struct message *message = agenda_send(core, rank, MESSAGE_SNAPSHOT);
        if (message != NULL) {
            message->hash = snapshot_id(core, snapshot->number);
            message->u.snapshot = *snapshot;
        }
    }
}

/* --- All members ------------------------------------------------------------------ */

int snapshot_ask(struct core *core, const char *name, size_t name_size)
{
    struct core_snapshot *snapshot = &core->snapshot;
    if (name_size == 0) {
        return MOOT_ERR_INVALID;
    }
    if (core->step.closed) {
        return MOOT_ERR_STATE;
    }
    if (name_size > LIMIT_SNAPSHOT_NAME_BYTES) {
        return MOOT_ERR_LIMIT;
    }
    const struct snapshot_name asked = name_of(name, name_size);
    if (find_name(snapshot->asks, snapshot->ask_count, &asked) < snapshot->ask_count) {
        return MOOT_OK;
    }
    if (snapshot->ask_count == SNAPSHOT_ASKS_MAX) {
        return MOOT_ERR_LIMIT;
    }
    snapshot->asks[snapshot->ask_count++] = asked;
    if (core->epoch > 0) {
        tell_ask(core, &asked);
    }
    return MOOT_OK;
}

static void tell_prepared(struct core *core, uint32_t number, int32_t status,
                          const struct core_part *part)
{
    struct message *message = agenda_send(core, lowest(core), MESSAGE_SNAPSHOT);
    if (message == NULL) {
        return;
    }
    message->u.snapshot = (struct message_snapshot){.what = SNAPSHOT_PREPARED,
                                                    .number = number,
                                                    .status = status,
                                                    .records = part->records,
                                                    .bytes = part->bytes};
    memcpy(message->u.snapshot.digest, part->digest, sizeof(part->digest));
}

void snapshot_cut(struct core *core, uint32_t number)
{
    assert(number > core->snapshot.cut);
    core->snapshot.cut = core->snapshot.colour = number;
    struct core_output *output = out_add(core, CORE_OUT_CUT, NULL);
    if (output != NULL) {
        output->hash = snapshot_id(core, number);
        output->u.cut.epoch = core->epoch;
        output->u.cut.number = number;
    }
    if (MUTANT(CUTPREPARED)) {
        const struct core_part nothing = {0};
        tell_prepared(core, number, MOOT_OK, &nothing);
    }
}

int snapshot_prepared(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_PREPARED);
    if (event->u.prepared.status > MOOT_OK) {
        return MOOT_ERR_INVALID;
    }
    if (event->u.prepared.epoch == core->epoch &&
        event->u.prepared.number == core->snapshot.colour && core->epoch > 0) {
        tell_prepared(core, event->u.prepared.number, event->u.prepared.status,
                      &event->u.prepared.part);
    }
    return MOOT_OK;
}

static void answer(struct core *core, const struct message *message, uint32_t place)
{
    struct core_snapshot *snapshot = &core->snapshot;
    const struct message_snapshot *done = &message->u.snapshot;
    struct core_output *output = out_add(core, CORE_OUT_SNAPSHOT_DONE, NULL);
    if (output != NULL) {
        output->hash = message->hash;
        output->u.snapshot_done.status = done->status;
        output->u.snapshot_done.rank = done->rank;
        output->u.snapshot_done.name =
            out_copy_bytes(core, done->name, done->name_size);
        output->u.snapshot_done.name_size = done->name_size;
    }
    snapshot->ask_count--;
    for (uint32_t i = place; i < snapshot->ask_count; i++) {
        snapshot->asks[i] = snapshot->asks[i + 1];
    }
}

/* Messages need not carry the cut any more: all members have made it, or it counts for
 * nothing. */
static void on_done(struct core *core, const struct message *message)
{
    struct core_snapshot *snapshot = &core->snapshot;
    const struct message_snapshot *done = &message->u.snapshot;
    if (done->number <= snapshot->over || done->number > snapshot->cut) {
        core->stats.refused++; /* the cut comes before, on the same way */
        return;
    }
    snapshot->over = done->number;
    if (snapshot->colour == done->number) {
        snapshot->colour = 0;
    }
    const struct snapshot_name name = name_of(done->name, done->name_size);
    const uint32_t place = find_name(snapshot->asks, snapshot->ask_count, &name);
    if (place < snapshot->ask_count) {
        answer(core, message, place);
    }
}

/* --- The lowest member ------------------------------------------------------------ */

/* Begins the next one that is asked for, if none goes on. */
static void begin_next(struct core *core)
{
    struct core_snapshot *snapshot = &core->snapshot;
    if (snapshot->on || snapshot->queue_count == 0) {
        return;
    }
    snapshot->name = snapshot->queue[0];
    snapshot->queue_count--;
    memmove(snapshot->queue, snapshot->queue + 1,
            snapshot->queue_count * sizeof(*snapshot->queue));
    snapshot->on = true;
    snapshot->commits = false;
    snapshot->number++;
    snapshot->part_count = 0;
    rankset_release(&snapshot->prepared);
    tell_all(core, &(struct message_snapshot){.what = SNAPSHOT_CUT,
                                              .number = snapshot->number});
}

static void end_this(struct core *core, int32_t status, uint32_t rank)
{
    struct core_snapshot *snapshot = &core->snapshot;
    assert(snapshot->on && status <= MOOT_OK);
    snapshot->on = false;
    memmove(snapshot->recent + 1, snapshot->recent,
            (SNAPSHOT_RECENT - 1) * sizeof(*snapshot->recent));
    snapshot->recent[0].name = snapshot->name;
    snapshot->recent[0].number = snapshot->number;
    struct message_snapshot done = {.what = SNAPSHOT_DONE,
                                    .number = snapshot->number,
                                    .status = status,
                                    .rank = rank};
    put_name(core, &snapshot->name, &done);
    if (!core->broken) {
        tell_all(core, &done);
        begin_next(core);
    }
}

/* The asker had not heard of the end of this one when it asked, so it has been answered
 * by it. */
static bool was_answered(const struct core_snapshot *snapshot,
                         const struct snapshot_name *name, uint32_t heard)
{
    for (uint32_t i = 0; i < SNAPSHOT_RECENT; i++) {
        if (snapshot->recent[i].number > heard &&
            is_same(&snapshot->recent[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void on_ask(struct core *core, const struct message_snapshot *ask)
{
    struct core_snapshot *snapshot = &core->snapshot;
    const struct snapshot_name name = name_of(ask->name, ask->name_size);
    if ((snapshot->on && is_same(&snapshot->name, &name)) ||
        was_answered(snapshot, &name, ask->number) ||
        find_name(snapshot->queue, snapshot->queue_count, &name) <
            snapshot->queue_count) {
        return;
    }
    if (core_grow(core, &snapshot->queue, &snapshot->queue_room,
                  snapshot->queue_count + 1, sizeof(*snapshot->queue))) {
        snapshot->queue[snapshot->queue_count++] = name;
        begin_next(core);
    }
}

static bool all_have_prepared(const struct core *core)
{
    const uint32_t count = rankset_count(&core->snapshot.prepared);
    return count + MUTANT(COMMITPART) >= core->member_count;
}

static int by_rank(const void *a, const void *b)
{
    const struct core_part *left = a, *right = b;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static void commit(struct core *core)
{
    struct core_snapshot *snapshot = &core->snapshot;
    snapshot->commits = true;
    qsort(snapshot->parts, snapshot->part_count, sizeof(*snapshot->parts), by_rank);
    struct core_output *output = out_add(core, CORE_OUT_COMMIT, NULL);
    if (output == NULL) {
        return;
    }
    const size_t bytes = snapshot->part_count * sizeof(*snapshot->parts);
    output->hash = snapshot_id(core, snapshot->number);
    output->u.commit.epoch = core->epoch;
    output->u.commit.number = snapshot->number;
    output->u.commit.name =
        out_copy_bytes(core, snapshot->name.bytes, snapshot->name.size);
    output->u.commit.name_size = snapshot->name.size;
    output->u.commit.parts = out_copy_bytes(core, snapshot->parts, bytes);
    output->u.commit.part_count =
        output->u.commit.parts != NULL ? snapshot->part_count : 0;
    if (MUTANT(SNAPTOLD)) {
        end_this(core, MOOT_OK, 0);
    }
}

static void on_prepared(struct core *core, uint32_t from,
                        const struct message_snapshot *prepared)
{
    struct core_snapshot *snapshot = &core->snapshot;
    const bool present = prepared->number == snapshot->number || MUTANT(SNAPSTALE);
    if (!snapshot->on || snapshot->commits || !present ||
        rankset_has(&snapshot->prepared, from)) {
        return; /* of one that has failed, or it says so twice */
    }
    if (prepared->status != MOOT_OK && !MUTANT(COMMITFAILED)) {
        end_this(core, prepared->status, from);
        return;
    }
    if (!core_grow(core, &snapshot->parts, &snapshot->part_room,
                   snapshot->part_count + 1, sizeof(*snapshot->parts)) ||
        !rankset_add(&snapshot->prepared, from)) {
        core->broken = true;
        return;
    }
    struct core_part *part = &snapshot->parts[snapshot->part_count++];
    *part = (struct core_part){
        .rank = from, .records = prepared->records, .bytes = prepared->bytes};
    memcpy(part->digest, prepared->digest, sizeof(part->digest));
    if (all_have_prepared(core)) {
        commit(core);
    }
}

int snapshot_committed(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_COMMITTED);
    const struct core_snapshot *snapshot = &core->snapshot;
    if (event->u.committed.status > MOOT_OK) {
        return MOOT_ERR_INVALID;
    }
    if (snapshot->on && snapshot->commits && event->u.committed.epoch == core->epoch &&
        event->u.committed.number == snapshot->number) {
        end_this(core, event->u.committed.status, core->rank);
    }
    return MOOT_OK;
}

/* --- Messages and views ----------------------------------------------------------- */

void snapshot_on_snapshot(struct core *core, uint32_t from,
                          const struct message *message)
{
    assert(rankset_has(&core->members, from));
    const struct message_snapshot *snapshot = &message->u.snapshot;
    const bool down = snapshot->what == SNAPSHOT_CUT || snapshot->what == SNAPSHOT_DONE;
    if (lowest(core) != (down ? from : core->rank)) {
        core->stats.refused++;
    } else if (snapshot->what == SNAPSHOT_ASK) {
        on_ask(core, snapshot);
    } else if (snapshot->what == SNAPSHOT_PREPARED) {
        on_prepared(core, from, snapshot);
    } else if (snapshot->what == SNAPSHOT_DONE) {
        on_done(core, message);
    } else if (snapshot->number > core->snapshot.cut) {
        snapshot_cut(core, snapshot->number);
    }
}

void snapshot_leave_view(struct core *core)
{
    struct core_snapshot *snapshot = &core->snapshot;
    snapshot->cut = snapshot->over = 0;
    snapshot->colour = MUTANT(CUTKEPT) ? snapshot->colour : 0;
    snapshot->number = snapshot->queue_count = 0;
    snapshot->on = snapshot->commits = false;
    memset(snapshot->recent, 0, sizeof(snapshot->recent));
}

void snapshot_enter_view(struct core *core)
{
    const struct core_snapshot *snapshot = &core->snapshot;
    for (uint32_t i = 0; i < snapshot->ask_count && !MUTANT(SNAPVIEW); i++) {
        tell_ask(core, &snapshot->asks[i]);
    }
}

void snapshot_end(struct core *core)
{
    rankset_release(&core->snapshot.prepared);
    free(core->snapshot.parts);
    free(core->snapshot.queue);
}

void snapshot_hold(const struct core *core)
{
    const struct core_snapshot *snapshot = &core->snapshot;
    assert(snapshot->ask_count <= SNAPSHOT_ASKS_MAX);
    assert(snapshot->colour == 0 || snapshot->colour == snapshot->cut);
    assert(snapshot->over <= snapshot->cut);
    assert(!snapshot->commits || snapshot->number > 0);
    assert(!snapshot->on || lowest(core) == core->rank);
    assert(!snapshot->on || snapshot->number > snapshot->over);
    assert(snapshot->on || snapshot->queue_count == 0);
    for (uint32_t i = 0; i < snapshot->ask_count; i++) {
        assert(snapshot->asks[i].size > 0);
        assert(find_name(snapshot->asks, i, &snapshot->asks[i]) == i);
    }
}
