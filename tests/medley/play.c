/* play.c - a rank plays a medley (medley.h).
 */
#include "tests/medley/player.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_BEHIND = 2 * MEDLEY_REACH, POLLS_MAX = 4 };

static uint64_t word_of(const struct medley_player *player, uint32_t task, uint64_t use)
{
    return medley_mix(player->medley->base.seed ^
                      medley_mix(use << 32 ^ task * 64u ^ (uint64_t)player->rank));
}

static void note_end(struct medley_player *player, uint32_t task, int code,
                     uint64_t nonce)
{
    struct medley_end *end = &player->ledger->ledger.ends[task][player->rank];
    if (end->seen || (player->gone && code == MOOT_ERR_CLOSED)) {
        return; /* the first word is the one that counts; a leaver's waits end */
    }
    end->code = code;
    end->nonce = nonce;
    if (code != MOOT_OK) {
        (void)snprintf(end->story, sizeof(end->story), "%s",
                       moot_last_error(player->m));
    }
    end->seen = 1;
}

static bool is_out(int code)
{
    return code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM;
}

/* --- A lane ----------------------------------------------------------------------- */

static void cancel(struct medley_player *player, uint32_t task)
{
    const struct medley *medley = player->medley;
    if (player_recipe(player, task)->canceller != player->rank || player->over) {
        return;
    }
    if (!medley->tasks[task].cancels_label) {
        (void)moot_task_cancel(player->m, player->handles[task]);
    } else if (strcmp(medley->tasks[task].label, "a/last") == 0) {
        (void)moot_task_cancel_label(player->m, "a");
    }
}

/* Its holders spawn it; the others have a handle of it. */
static void meet(struct medley_player *player, uint32_t task)
{
    int code = MOOT_OK;
    moot_task handle = {0};
    if (player_is_of(player, player_recipe(player, task)->holders)) {
        code = player_spawn(player, task, &handle);
        player->held[task] = code == MOOT_OK;
        if (code == MOOT_ERR_NO_CANDIDATE || is_out(code)) {
            note_end(player, task, code, 0);
            player->over |= is_out(code);
        } else if (code != MOOT_OK) {
            player_wrong(player, task, moot_err_name(code));
        }
    }
    if (handle.id == 0 && !player->over) {
        code = player_find(player, task, &handle);
    }
    if (code != MOOT_OK && !player->over) {
        note_end(player, task, code, 0);
    }
    player->handles[task] = handle;
    player->spawned = task + 1;
    cancel(player, task);
}

static void judge_bytes(struct medley_player *player, uint32_t task, const void *data,
                        size_t size)
{
    uint64_t words[2] = {0, 0};
    if (!player_is_intact(player_recipe(player, task), data, size)) {
        player_wrong(player, task, "a result has other bytes");
    } else {
        memcpy(words, data, sizeof(words));
    }
    note_end(player, task, MOOT_OK, words[1]);
}

/* Nobody is drawn to die: else a result that is lost may be made again, and its task
 * has not ended any more.  Nor to leave: a result whose bytes were with a leaver is
 * here again only once its heir has been asked. */
static bool all_stay(const struct medley_player *player)
{
    const struct medley_base *base = &player->medley->base;
    return (base->killed | base->paused | base->early) == 0;
}

/* Whatever had ended before is among those that a wait for some of them names. */
static int wait_for_some(struct medley_player *player, uint32_t task,
                         const moot_task *some, moot_duration timeout)
{
    size_t indices[2] = {0, 0}, done = 0;
    bool ended[2], named[2] = {false, false};
    for (size_t i = 0; i < 2; i++) {
        ended[i] = moot_task_wait(player->m, some[i], 0) != MOOT_ERR_TIMEOUT;
    }
    int code = moot_task_wait_some(player->m, some, 2, timeout, indices, &done);
    for (size_t i = 0; i < done && i < 2; i++) {
        named[indices[i]] = true;
    }
    if (all_stay(player) && !is_out(code) &&
        ((ended[0] && !named[0]) || (ended[1] && !named[1]))) {
        player_wrong(player, task, "has ended, and a wait for some does not say so");
    }
    return code;
}

/* The code is that of the one that it names. */
static int wait_for_any(struct medley_player *player, uint32_t task,
                        const moot_task *some, moot_duration timeout)
{
    size_t which = 0;
    int code = moot_task_wait_any(player->m, some, 2, timeout, &which);
    if (code == MOOT_ERR_TIMEOUT || is_out(code)) {
        return code;
    }
    int own = moot_task_wait(player->m, some[which], 0);
    if (all_stay(player) && own != code && !is_out(own)) {
        player_wrong(player, task, "a wait for any has another task's code");
    }
    return code;
}

/* A lane that polls for ever may keep the moot from saying that nobody will ever have
 * it.
 */
static void poll_a_while(struct medley_player *player, uint32_t task, uint64_t word)
{
    moot_task some[2] = {player->handles[task], player->handles[task]};
    int code = MOOT_ERR_TIMEOUT;
    if (task > 0 && !player->released[task - 1] && player->handles[task - 1].id != 0) {
        some[1] = player->handles[task - 1];
    }
    for (uint32_t i = 0; i < POLLS_MAX && code == MOOT_ERR_TIMEOUT; i++) {
        moot_duration timeout = (moot_duration)(word >> 8 * i & 255) * 4000;
        switch (word >> (32 + 2 * i) & 3) {
        case 0:
            code = wait_for_any(player, task, some, timeout);
            break;
        case 1:
            code = wait_for_some(player, task, some, timeout);
            break;
        case 2:
            code = moot_task_wait_all(player->m, some, 2, timeout);
            break;
        default:
            code = moot_task_wait(player->m, some[0], timeout);
        }
    }
    player->over |= is_out(code);
}

static void look(struct medley_player *player, moot_task handle, uint32_t task)
{
    const void *data = NULL;
    size_t size = 0;
    int code = moot_task_fetch(player->m, handle, MOOT_FOREVER, &data, &size);
    if (code == MOOT_OK) {
        judge_bytes(player, task, data, size);
    } else {
        note_end(player, task, code, 0);
    }
    player->over |= is_out(code);
}

/* Likewise, into memory of its own. */
static void look_into(struct medley_player *player, moot_task handle, uint32_t task)
{
    size_t room = player_recipe(player, task)->bytes, size = 0;
    void *copy = malloc(room);
    int code = moot_task_fetch_into(player->m, handle, MOOT_FOREVER, copy, room, &size);
    if (code == MOOT_OK) {
        judge_bytes(player, task, copy, size);
    } else {
        note_end(player, task, code, 0);
    }
    player->over |= is_out(code);
    free(copy);
}

static void look_back(struct medley_player *player, uint32_t task)
{
    uint64_t word = word_of(player, task, 2);
    if (player->over || player->released[task] || player->handles[task].id == 0) {
        return;
    }
    if (MEDLEY_HAS(player->medley, POLLS) && word % 3 == 0) {
        poll_a_while(player, task, word >> 8);
    }
    if (player->over) {
        return;
    }
    if (MEDLEY_HAS(player->medley, POLLS) && word % 5 == 0) {
        look_into(player, player->handles[task], task);
    } else {
        look(player, player->handles[task], task);
    }
}

static void let_go(struct medley_player *player, uint32_t task)
{
    if (!player->over && !player->released[task] && player->handles[task].id != 0) {
        (void)moot_task_release(player->m, player->handles[task]);
        player->released[task] = true;
        int code = moot_task_wait(player->m, player->handles[task], 0);
        if (code != MOOT_ERR_STALE && code != MOOT_ERR_CLOSED) {
            player_wrong(player, task, "a released handle is not stale");
        }
    }
}

/* --- Regions ---------------------------------------------------------------------- */

struct pairing {
    moot_ticket *held;
};

/* One that cannot be submitted is told by its wait, and is nothing to the spawn of
 * another. */
static int pass_up(moot_queue *queue, moot_ticket *const *tickets, size_t count)
{
    int code = moot_queue_up(queue, tickets, count);
    return code == MOOT_ERR_NO_CANDIDATE ? MOOT_OK : code;
}

static int pair_up(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                   void *state)
{
    struct pairing *pairing = state;
    int code = MOOT_OK;
    for (size_t i = 0; i < count && code == MOOT_OK; i++) {
        if (pairing->held == NULL) {
            pairing->held = tickets[i];
        } else {
            moot_ticket *two[] = {tickets[i], pairing->held};
            pairing->held = NULL;
            code = pass_up(queue, two, 2);
        }
    }
    return code;
}

static int let_up(moot_queue *queue, void *state)
{
    struct pairing *pairing = state;
    moot_ticket *held = pairing->held;
    pairing->held = NULL;
    return held != NULL ? pass_up(queue, &held, 1) : MOOT_OK;
}

static int open_queue(struct medley_player *player, enum medley_queue kind,
                      struct pairing *pairing)
{
    const moot_queue_custom custom = {.name = "pairs",
                                      .submit = pair_up,
                                      .flush = let_up,
                                      .close = let_up,
                                      .user = pairing};
    switch (kind) {
    case MEDLEY_SEQUENTIAL:
        return moot_queue_open(player->m, MOOT_QUEUE_SEQUENTIAL);
    case MEDLEY_BULK:
        return moot_queue_open(player->m, MOOT_QUEUE_BULK);
    case MEDLEY_CUSTOM:
        return moot_queue_open_custom(player->m, &custom);
    case MEDLEY_NO_QUEUE:
    case MEDLEY_QUEUE_KINDS:
        break;
    }
    return MOOT_OK;
}

static void must(struct medley_player *player, uint32_t task, int code,
                 const char *what)
{
    player->over |= is_out(code);
    if (code != MOOT_OK && !player->over) {
        player_wrong(player, task, what);
    }
}

static void open_region(struct medley_player *player,
                        const struct medley_region *region, struct pairing *pairing)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "scope%u", (unsigned)region->from);
    if (region->scope) {
        must(player, region->from, moot_scope_open(player->m, name), "opens no scope");
    }
    if (player_is_of(player, region->groups)) {
        must(player, region->from, moot_group_open(player->m), "opens no group");
    }
    must(player, region->from,
         open_queue(player, region->queues[player->rank], pairing), "opens no queue");
    player->queues = region->queues[player->rank] != MEDLEY_NO_QUEUE;
}

static bool all_are_here(const struct medley_player *player)
{
    int rank = 0;
    while (rank < (int)player->medley->base.ranks &&
           moot_present(player->m, rank) == 1) {
        rank++;
    }
    return rank == (int)player->medley->base.ranks;
}

/* Whatever the group's first error was, each of its tasks has ended by then.  After a
 * death one whose result is lost may run again. */
static void close_group(struct medley_player *player,
                        const struct medley_region *region)
{
    atomic_uint *ill = &player->ledger->ledger.group_ended_ill[player->rank];
    int code = moot_group_close(player->m, MOOT_FOREVER);
    player->over |= is_out(code);
    if (code != MOOT_OK && *ill == 0) {
        *ill = region->to + 1;
    }
    bool settled = all_are_here(player);
    for (uint32_t task = region->from; task < region->to && !player->over; task++) {
        if (settled && player->held[task] && !player->released[task] &&
            moot_task_wait(player->m, player->handles[task], 0) == MOOT_ERR_TIMEOUT) {
            player_wrong(player, task, "has not ended with its group");
        }
        if (settled && code == MOOT_OK && player->held[task] &&
            player->ledger->children[task] < player_recipe(player, task)->children) {
            player_wrong(player, task, "has children that outlive its group");
        }
    }
}

static void close_region(struct medley_player *player,
                         const struct medley_region *region)
{
    if (region->queues[player->rank] != MEDLEY_NO_QUEUE) {
        size_t number = (size_t)(region - player->medley->regions);
        player->ledger->closes_ns[number][player->rank] = player_now_ns();
        int code = moot_queue_close(player->m);
        player->queues = false;
        player->over |= is_out(code);
        if (code != MOOT_OK && code != MOOT_ERR_NO_CANDIDATE && !player->over) {
            player_wrong(player, region->from, "a queue does not close well");
        }
    }
    if (player_is_of(player, region->groups) && !player->over) {
        close_group(player, region);
    }
    if (region->scope && !player->over) {
        must(player, region->from, moot_scope_close(player->m), "closes no scope");
    }
    if (region->barrier && !player->over) {
        must(player, region->to, moot_barrier(player->m), "a barrier does not end");
    }
}

static const struct medley_region *region_of(const struct medley_player *player,
                                             uint32_t task)
{
    const struct medley *medley = player->medley;
    for (uint32_t i = 0; i < medley->region_count; i++) {
        if (medley->regions[i].from <= task && task < medley->regions[i].to) {
            return &medley->regions[i];
        }
    }
    return NULL;
}

/* A player that collects must not wait for what it collects, nor for others, who may
 * wait for that.  A custom queue is asked to let go of what is waited for itself: of
 * the task that it was given last, after which it has none. */
static bool collects(const struct medley_player *player, uint32_t task,
                     enum medley_queue how)
{
    const struct medley_region *region = region_of(player, task);
    return region != NULL && region->queues[player->rank] == how;
}

/* --- Other lanes ------------------------------------------------------------------ */

enum { LANE_REACH = 12, LANES_MAX = 3 };

struct lanes {
    pthread_t threads[LANES_MAX];
    uint32_t count;
};

/* Spawns some of what the first has spawned lately once more, waits for some of that,
 * and ends. */
static void *other_lane(void *argument)
{
    struct medley_player *player = argument;
    uint32_t end = player->spawned;
    for (uint32_t task = end - LANE_REACH; task < end && !player->over; task++) {
        uint64_t word = word_of(player, task, 3);
        moot_task again = {0};
        if (!player->held[task] || player->medley->tasks[task].access_count > 0 ||
            region_of(player, task) != NULL || word % 3 == 0) {
            continue;
        }
        int code = player_spawn_again(player, task, &again);
        player->over |= is_out(code);
        if (code == MOOT_OK && word % 3 == 1) {
            look(player, again, task);
        }
        if (code == MOOT_OK) {
            (void)moot_task_release(player->m, again);
        }
    }
    return NULL;
}

/* Handles of inputs must live meanwhile. */
static void begin_lane(struct medley_player *player, struct lanes *lanes)
{
    if (player_is_of(player, player->medley->lanes) && !player->medley->base.lets_go &&
        player->spawned % LANE_REACH == 0 && lanes->count < LANES_MAX &&
        pthread_create(&lanes->threads[lanes->count], NULL, other_lane, player) == 0) {
        lanes->count++;
    }
}

/* Once this lane has seen every task end. */
static void join_lanes(struct medley_player *player, const struct lanes *lanes)
{
    (void)moot_park(player->m);
    for (uint32_t i = 0; i < lanes->count; i++) {
        pthread_join(lanes->threads[i], NULL);
    }
    (void)moot_unpark(player->m);
}

/* --- A rank ----------------------------------------------------------------------- */

static void pause_in_park(struct medley_player *player, uint32_t task)
{
    if (moot_park(player->m) == MOOT_OK) {
        player_nap(word_of(player, task, 4) % 3000000);
        must(player, task, moot_unpark(player->m), "is not back from its park");
    }
}

static void play_task(struct medley_player *player, uint32_t task)
{
    uint64_t word = word_of(player, task, 1);
    meet(player, task);
    if (player->medley->tasks[task].let_go) {
        let_go(player, task);
    }
    bool bulk = collects(player, task, MEDLEY_BULK);
    bool custom = collects(player, task, MEDLEY_CUSTOM);
    if (word % 4 == 0 && !bulk && (!custom || player->held[task])) {
        uint32_t back = custom ? 0 : (uint32_t)(word >> 8) % MEDLEY_REACH;
        look_back(player, task > back ? task - back : task);
    }
    if (player->medley->base.lets_go && task >= FAR_BEHIND && !bulk && !custom) {
        look_back(player, task - FAR_BEHIND);
        let_go(player, task - FAR_BEHIND);
    }
    if (MEDLEY_HAS(player->medley, PARKS) && word >> 16 & 1 && word % 32 == 5 &&
        !player->over) {
        pause_in_park(player, task);
    }
}

/* Its other lanes may be in their waits. */
static void leave(struct medley_player *player, uint32_t task)
{
    for (uint32_t i = 0; i < player->medley->region_count; i++) {
        const struct medley_region *region = &player->medley->regions[i];
        if (region->from < task && task < region->to) {
            player->ledger->closes_ns[i][player->rank] = player_now_ns();
        }
    }
    player->gone = true;
    must(player, task, moot_leave(player->m), "a rank cannot leave");
}

static void play_tasks(struct medley_player *player, struct lanes *lanes,
                       struct pairing *pairing)
{
    for (uint32_t task = 0; task < MEDLEY_TASKS && !player->over; task++) {
        if (task == player->medley->base.leaves_at[player->rank]) {
            leave(player, task);
            return;
        }
        const struct medley_region *region = region_of(player, task);
        if (region != NULL && region->from == task) {
            open_region(player, region, pairing);
        }
        if (!player->over) {
            player_meet_arrays(player, task,
                               !collects(player, task, MEDLEY_BULK) &&
                                   !collects(player, task, MEDLEY_CUSTOM));
        }
        if (!player->over) {
            play_task(player, task);
            begin_lane(player, lanes);
        }
        if (region != NULL && region->to == task + 1 && !player->over) {
            close_region(player, region);
        }
    }
}

static void release_all(struct medley_player *player)
{
    for (uint32_t task = player->keeps_one ? 1 : 0; task < MEDLEY_TASKS; task++) {
        let_go(player, task);
    }
    for (uint32_t i = 0; i < MEDLEY_DATA_MAX; i++) {
        int code = moot_data_release(player->m, player->data[i]);
        must(player, 0, player->gone && code == MOOT_ERR_CLOSED ? MOOT_OK : code,
             "a data handle is not released");
    }
}

int medley_play(struct medley_player *player)
{
    struct medley_ends *ledger = &player->ledger->ledger;
    struct lanes lanes = {.count = 0};
    struct pairing pairing = {NULL}; /* of a queue that the close may find open */
    must(player, 0, player_register(player), "registers no kernel");
    must(player, 0, player_register_arrays(player), "registers no kernel of elements");
    for (uint32_t i = 0; i < MEDLEY_DATA_MAX; i++) {
        must(player, 0, moot_data_new(player->m, (moot_task){0}, &player->data[i]),
             "makes no data handle");
    }
    play_tasks(player, &lanes, &pairing);
    for (uint32_t task = 0; task < MEDLEY_TASKS && !player->gone; task++) {
        look_back(player, task);
    }
    player_end_arrays(player);
    join_lanes(player, &lanes);
    release_all(player);
    bool over = player->over;
    int code = moot_close(player->m);
    player->m = NULL;
    ledger->close_code[player->rank] = code;
    ledger->finished[player->rank] = code == MOOT_OK && !over;
    return code;
}
