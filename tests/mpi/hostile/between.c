/* between.c - what a lane does between its tasks (player.h): it waits in one way or
 * another, parks, comes to a barrier, opens and closes queues and groups.
 *
 * No queue is open at a wait: a lane that waits for what it still collects waits for
 * itself.
 */
#include "tests/mpi/hostile/player.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sleep_ms(uint32_t ms)
{
    const struct timespec span = {.tv_nsec = (long)ms * 1000000};
    nanosleep(&span, NULL);
}

/* --- Queues ----------------------------------------------------------------------- */

struct pairs {
    moot_ticket *kept[2];
    size_t count;
};

static int pairs_open(moot_queue *queue, void *user, void **state)
{
    (void)queue;
    (void)user;
    *state = calloc(1, sizeof(struct pairs));
    return *state != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int pairs_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                        void *state)
{
    struct pairs *pairs = state;
    int code = MOOT_OK;
    for (size_t i = 0; i < count && code == MOOT_OK; i++) {
        pairs->kept[pairs->count++] = tickets[i];
        if (pairs->count == 2) {
            pairs->count = 0;
            code = moot_queue_up(queue, pairs->kept, 2);
        }
    }
    return code;
}

static int pairs_close(moot_queue *queue, void *state)
{
    (void)queue; /* the one that is left goes up by itself */
    free(state);
    return MOOT_OK;
}

static void open_queue(struct strand *strand, uint32_t drawn)
{
    static const moot_queue_custom in_pairs = {.name = "pairs",
                                               .open = pairs_open,
                                               .submit = pairs_submit,
                                               .close = pairs_close};
    int code = drawn == 0   ? moot_queue_open(player.m, MOOT_QUEUE_SEQUENTIAL)
               : drawn == 1 ? moot_queue_open_custom(player.m, &in_pairs)
                            : moot_queue_open(player.m, MOOT_QUEUE_BULK);
    if (code == MOOT_OK) {
        strand->sequential |= drawn == 0 ? 1u << strand->queues : 0u;
        strand->queues++;
    }
}

static void close_queue(struct strand *strand)
{
    /* An error here is told by the waits for the tasks. */
    player.over |= player_is_out(moot_queue_close(player.m));
    strand->queues--;
    strand->sequential &= (1u << strand->queues) - 1;
    if (strand->sequential == 0) {
        strand->chain = 0;
    }
}

void strand_close_queues(struct strand *strand)
{
    while (strand->queues > 0) {
        close_queue(strand);
    }
}

/* Tasks that a chain may put before this one. */
static void note_chain(struct strand *strand, uint32_t task)
{
    if (strand->sequential != 0) {
        player.ledger->chained[task] |= strand->chain;
        strand->chain |= UINT64_C(1) << task;
    }
}

/* --- Groups ----------------------------------------------------------------------- */

static void note_group(uint64_t members, int code)
{
    uint32_t number = player.ledger->group_count[player.rank]++;
    if (number >= CHAOS_GROUPS_MAX) {
        return;
    }
    struct chaos_group *group = &player.ledger->groups[number][player.rank];
    group->members = members;
    group->code = code;
    if (code != MOOT_OK) {
        (void)snprintf(group->story, sizeof(group->story), "%s",
                       moot_last_error(player.m));
    }
    group->seen = 1;
}

static void close_group(struct strand *strand)
{
    strand_close_queues(strand);
    if (player.over) {
        strand->groups = 0;
        return;
    }
    int code = moot_group_close(player.m, MOOT_FOREVER);
    uint64_t members = strand->members[--strand->groups];
    note_group(members, code);
    player.over |= player_is_out(code);
}

void strand_close_groups(struct strand *strand)
{
    while (strand->groups > 0) {
        close_group(strand);
    }
}

/* --- Waits ------------------------------------------------------------------------ */

/* In the ways that there are; a poll may find that time runs out. */
static int fetch_somehow(const struct strand *strand, uint32_t task, struct dice *dice,
                         const void **data, size_t *size)
{
    static _Thread_local unsigned char copy[4 << 20];
    moot_task handle = strand->handles[task];
    uint32_t polls = dice_draw(dice, 4), ms = dice_draw(dice, 3);
    int code = MOOT_ERR_TIMEOUT;
    bool polled = chaos_flip(strand->chaos, dice, CHAOS_HAS_POLLS, 30);
    for (uint32_t i = 0; polled && i < polls && code == MOOT_ERR_TIMEOUT; i++) {
        code = moot_task_fetch(player.m, handle, MOOT_MILLISECONDS(ms), data, size);
    }
    if (code != MOOT_ERR_TIMEOUT) {
        return code;
    }
    if (dice_chance(dice, 15)) {
        *data = copy;
        return moot_task_fetch_into(player.m, handle, MOOT_FOREVER, copy, sizeof(copy),
                                    size);
    }
    if (dice_chance(dice, 15)) {
        code = moot_task_wait(player.m, handle, MOOT_FOREVER);
        return code != MOOT_OK
                   ? code
                   : moot_task_fetch(player.m, handle, MOOT_FOREVER, data, size);
    }
    return moot_task_fetch(player.m, handle, MOOT_FOREVER, data, size);
}

void strand_look(struct strand *strand, uint32_t task)
{
    const struct recipe *recipe = &strand->chaos->tasks_of[task];
    struct dice dice = strand_dice(strand, task, 4);
    const void *data = NULL;
    size_t size = 0;
    uint64_t words[2] = {0, 0};
    if (player.over || strand->released[task] || strand->handles[task].id == 0) {
        return;
    }
    strand_close_queues(strand);
    int code = fetch_somehow(strand, task, &dice, &data, &size);
    if (code == MOOT_OK && size == recipe->bytes) {
        const unsigned char *bytes = data;
        memcpy(words, bytes, sizeof(words));
        bool tail = size == 16 || (bytes[16] == (recipe->value & 255) &&
                                   bytes[size - 1] == (recipe->value & 255));
        if (words[0] != recipe->value || !tail) {
            player_wrong(task, "a result has other bytes");
        }
    } else if (code == MOOT_OK) {
        player_wrong(task, "a result has another size");
    }
    player_note(task, code, words[1]);
    player.over |= player_is_out(code);
}

/* For several at once; how each of them ends is seen by the look that follows. */
static void wait_for_some(struct strand *strand, uint32_t task, struct dice *dice)
{
    moot_task some[4];
    const void *data[4];
    size_t count = 0, which;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t back = dice_draw(dice, CHAOS_REACH);
        if (back <= task && !strand->released[task - back] &&
            strand->handles[task - back].id != 0) {
            some[count++] = strand->handles[task - back];
        }
    }
    uint32_t how = dice_draw(dice, 3);
    if (count == 0) {
        return;
    }
    strand_close_queues(strand);
    (void)(how == 0 ? moot_task_wait_any(player.m, some, count, MOOT_FOREVER, &which)
           : how == 1
               ? moot_task_wait_all(player.m, some, count, MOOT_FOREVER)
               : moot_task_fetch_all(player.m, some, count, MOOT_FOREVER, data, NULL));
}

void strand_release(struct strand *strand, uint32_t task)
{
    if (!player.over && !strand->released[task] && strand->handles[task].id != 0) {
        (void)moot_task_release(player.m, strand->handles[task]);
        strand->released[task] = true;
    }
}

/* --- Before and after a task ------------------------------------------------------ */

void strand_before(struct strand *strand, uint32_t task)
{
    struct dice dice = strand_dice(strand, task, 5);
    const struct chaos *chaos = strand->chaos;
    bool opens_group = dice_chance(&dice, 12), opens_queue = dice_chance(&dice, 20);
    uint32_t kind = dice_draw(&dice, 4);
    if (chaos->groups && opens_group && strand->groups < PLAYER_GROUPS_DEEP &&
        moot_group_open(player.m) == MOOT_OK) {
        strand->members[strand->groups++] = 0;
    }
    if (chaos->queues && opens_queue && strand->queues < PLAYER_QUEUES_MAX) {
        open_queue(strand, kind);
    }
    const struct recipe *recipe = &chaos->tasks_of[task];
    if (recipe->lane == strand->number && (recipe->holders >> player.rank & 1)) {
        note_chain(strand, task);
        for (uint32_t i = 0; i < strand->groups; i++) {
            strand->members[i] |= UINT64_C(1) << task;
        }
    }
}

static void park(const struct dice *from)
{
    struct dice dice = *from;
    int code = moot_park(player.m);
    if (code == MOOT_OK) {
        sleep_ms(1 + dice_draw(&dice, 20));
        code = moot_unpark(player.m);
    }
    player.over |= player_is_out(code);
}

void strand_after(struct strand *strand, uint32_t task)
{
    struct dice dice = strand_dice(strand, task, 6);
    const struct chaos *chaos = strand->chaos;
    bool closes_queue = dice_chance(&dice, 25), closes_group = dice_chance(&dice, 15);
    bool looks = dice_chance(&dice, 25), waits = dice_chance(&dice, 8);
    bool parks = chaos_flip(chaos, &dice, CHAOS_HAS_PARKS, 4);
    uint32_t back = dice_draw(&dice, CHAOS_REACH);
    if (strand->queues > 0 && closes_queue) {
        close_queue(strand);
    }
    if (parks) {
        park(&dice);
    }
    if (strand->groups > 0 && closes_group) {
        close_group(strand);
    }
    if (chaos->tasks_of[task].barrier && strand->number == 0 && !player.over) {
        strand_close_queues(strand);
        int code = moot_barrier(player.m);
        player.over |= player_is_out(code);
        bool starved = code == MOOT_ERR_NO_MEMORY && chaos->memory.rank == player.rank;
        if (code != MOOT_OK && !starved && !player.over) {
            player_wrong(task, "a barrier fails");
        }
    }
    if (waits && !player.over) {
        wait_for_some(strand, task, &dice);
    }
    if (looks) {
        strand_look(strand, task > back ? task - back : task);
    }
}
