/* group.c - see group.h. */
#include "node/compose/group.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/compose/task_wait.h"
#include "node/engine/engine.h"
#include "node/schedule/descendants.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/wait.h"
#include "node/tasks/handle.h"
#include "node/tasks/task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PRUNE_COUNT_MIN = 1024 };

struct group_member {
    uint64_t id;  /* of the handle's slot; once claimed, its number */
    bool claimed; /* the handle is the group's alone */
    bool ended;
    int code; /* once ended */
};

struct member_list {
    struct group_member *items;
    size_t count, room;
};

struct group {
    struct group *up;
    struct member_list spawned; /* by its thread, in order */
    struct member_list found;   /* their families, as they were learnt */
    size_t prune_at;
    uint64_t behind; /* its tasks are spawned behind this place of the lane */
    bool closing;
    bool incomplete; /* there was no handle for one of them */
};

/* --- Members -------------------------------------------------------------------- */

static bool list_room(struct member_list *list, size_t more)
{
    if (list->count + more <= list->room) {
        return true;
    }
    size_t room = list->room ? list->room * 2 : 16;
    room = room < list->count + more ? list->count + more : room;
    struct group_member *grown = realloc(list->items, room * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    list->items = grown;
    list->room = room;
    return true;
}

static struct handle *handle_of(struct moot *m, const struct group_member *member)
{
    return handle_at(&m->tasks.handles, member->id);
}

/* Nothing that the program releases meanwhile changes it.  False without memory. */
static bool claim(struct moot *m, struct group_member *member)
{
    struct handle *handle = handle_of(m, member);
    const uint64_t number = handle_number(&m->tasks.handles, handle);
    if (member->claimed) {
        return true;
    }
    if (task_handle_find(m, number, &handle) != MOOT_OK) {
        return false;
    }
    if (handle->let_go) {
        member->id = number;
    } else {
        const uint64_t own = task_handle_new(m, handle->task, NULL);
        if (own == 0) {
            return false;
        }
        handle_of(m, member)->grouped = false;
        member->id = own;
    }
    return member->claimed = true;
}

/* A handle that the program has not released stays the program's. */
static void let_go(struct moot *m, const struct group_member *member)
{
    struct handle *handle = handle_of(m, member);
    const bool ends = member->claimed || handle->let_go;
    handle->grouped = false;
    if (ends) {
        task_handle_end(m, handle);
    }
}

static bool ended_well(const struct task *task)
{
    return !core_is_stub(task) && task->known && task->status == MOOT_OK &&
           task_seldom(task)->family == NULL;
}

/* Lets go of what ended well and left nothing. */
static void prune(struct moot *m, struct group *group)
{
    struct member_list *list = &group->spawned;
    size_t kept = 0;
    engine_settle(m); /* it may be an input of theirs */
    for (size_t i = 0; i < list->count; i++) {
        if (ended_well(handle_of(m, &list->items[i])->task)) {
            let_go(m, &list->items[i]);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    group->prune_at = kept * 2 > PRUNE_COUNT_MIN ? kept * 2 : PRUNE_COUNT_MIN;
}

HOT int group_reserve(struct moot *m, struct lane *lane)
{
    struct group *group = lane->group;
    if (group->spawned.count >= group->prune_at && !group->closing) {
        prune(m, group);
    }
    return list_room(&group->spawned, 1)
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the open group");
}

HOT void group_add(struct moot *m, struct lane *lane, moot_task task)
{
    struct group *group = lane->group;
    struct handle *handle;
    if (handle_find(&m->tasks.handles, task.id, &handle) != MOOT_OK) {
        return;
    }
    assert(!handle->grouped);
    if (!list_room(&group->spawned, 1)) {
        group->incomplete = true;
        return;
    }
    handle->grouped = true;
    group->spawned.items[group->spawned.count++] = (struct group_member){.id = task.id};
}

/* --- Open ----------------------------------------------------------------------- */

int group_open(struct moot *m, struct lane *lane)
{
    uint32_t depth = 0;
    for (const struct group *at = lane->group; at != NULL; at = at->up) {
        depth++;
    }
    if (depth == LIMIT_GROUP_DEPTH) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "moot_group_open: more than %u deep",
                         LIMIT_GROUP_DEPTH);
    }
    struct group *group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_group_open: no memory");
    }
    group->prune_at = PRUNE_COUNT_MIN;
    group->behind = core_roll_len(m->core, lane->number);
    group->up = lane->group;
    lane->group = group;
    return MOOT_OK;
}

/* --- Close ---------------------------------------------------------------------- */

/* One round: what has not ended yet, by its place, for the lists may grow meanwhile: a
 * custom queue that is asked to let go may spawn. */
struct round {
    size_t *places; /* in `spawned`, and from FOUND on in `found` */
    moot_task *tasks;
    struct wait_item *items;
    size_t count;
};

#define FOUND (SIZE_MAX / 2)

static void round_release(struct round *round)
{
    free(round->places);
    free(round->tasks);
    free(round->items);
}

static bool round_add(struct moot *m, struct round *round, struct member_list *list,
                      size_t base)
{
    for (size_t i = 0; i < list->count; i++) {
        struct group_member *member = &list->items[i];
        if (member->ended) {
            continue;
        }
        if (!claim(m, member)) {
            return false;
        }
        round->places[round->count] = base + i;
        round->tasks[round->count++].id = member->id;
    }
    return true;
}

static bool round_make(struct moot *m, struct group *group, struct round *round)
{
    size_t most = group->spawned.count + group->found.count + 1;
    *round = (struct round){.places = calloc(most, sizeof(*round->places)),
                            .tasks = calloc(most, sizeof(*round->tasks)),
                            .items = calloc(most, sizeof(*round->items))};
    if (round->places == NULL || round->tasks == NULL || round->items == NULL ||
        !round_add(m, round, &group->spawned, 0) ||
        !round_add(m, round, &group->found, FOUND)) {
        round_release(round);
        return false;
    }
    return true;
}

/* A child whose scope is over on all ranks has run. */
static bool find_family(struct moot *m, struct group *group, const struct task *task)
{
    const struct family *family = task_seldom(task)->family;
    if (family == NULL) {
        return true;
    }
    if (!list_room(&group->found, family->count)) {
        return false;
    }
    for (uint32_t i = 0; i < family->count; i++) {
        const moot_hash *hash = &family->hashes[i];
        if (core_forgotten(m->core, hash)) {
            continue;
        }
        struct task *child = task_enter(m, hash);
        uint64_t id = child != NULL ? task_handle_new(m, child, NULL) : 0;
        if (id == 0) {
            return false;
        }
        group->found.items[group->found.count++] =
            (struct group_member){.id = id, .claimed = true};
    }
    return true;
}

/* A task whose scope is over on all ranks has run; how it ended nobody knows. */
static void take_ends(struct moot *m, struct group *group, const struct round *round)
{
    for (size_t i = 0; i < round->count; i++) {
        size_t place = round->places[i];
        struct group_member *member = place < FOUND
                                          ? &group->spawned.items[place]
                                          : &group->found.items[place - FOUND];
        const struct wait_item *item = &round->items[i];
        bool over = item->code == MOOT_ERR_SCOPE_CLOSED && item->task->gone;
        member->ended = true;
        member->code = over ? MOOT_OK : item->code;
        group->incomplete |= !find_family(m, group, item->task);
    }
}

/* Whatever has begun in the group has ended, or the wait itself failed. */
static int wait_for_all(struct moot *m, struct lane *lane, struct group *group,
                        moot_duration timeout)
{
    uint64_t begun_ns = m->now_ns;
    for (;;) {
        struct round round;
        if (!round_make(m, group, &round)) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_group_close: no memory");
        }
        struct wait wait = {.want = WANT_DONE,
                            .items = round.items,
                            .count = round.count,
                            .stretch = true,
                            .behind = group->behind};
        moot_duration passed = (moot_duration)(m->now_ns - begun_ns);
        bool fixed = timeout == MOOT_FOREVER || timeout < 0; /* which is refused */
        moot_duration left = fixed ? timeout : timeout > passed ? timeout - passed : 0;
        int code = task_wait_locked(m, lane, "moot_group_close", round.tasks, left,
                                    &wait, NULL);
        if (wait.over) {
            take_ends(m, group, &round);
        }
        round_release(&round);
        if (!wait.over || round.count == 0) {
            return wait.over ? MOOT_OK : code;
        }
    }
}

/* The first that did not end well; NULL: all did. */
static const struct group_member *first_failed(const struct member_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].code != MOOT_OK) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* What failed is the outer group's affair, too; the rest is let go. */
static void hand_on(struct moot *m, struct group *to, struct member_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct group_member *member = &list->items[i];
        if (to != NULL && member->code != MOOT_OK && list_room(&to->spawned, 1)) {
            to->spawned.items[to->spawned.count++] =
                (struct group_member){.id = member->id, .claimed = true};
        } else {
            let_go(m, member);
        }
    }
    free(list->items);
}

static void end_group(struct moot *m, struct lane *lane)
{
    struct group *group = lane->group;
    lane->group = group->up;
    if (group->up != NULL) {
        group->up->incomplete |= group->incomplete;
    }
    hand_on(m, group->up, &group->spawned);
    hand_on(m, group->up, &group->found);
    free(group);
}

int group_close(struct moot *m, struct lane *lane, moot_duration timeout)
{
    struct group *group = lane->group;
    if (group == NULL) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "moot_group_close: this thread has no group open");
    }
    if (group->closing) { /* a custom queue's function, which the close asked */
        return lane_fail(lane, MOOT_ERR_STATE,
                         "moot_group_close: this thread closes that group already");
    }
    group->closing = true;
    int code = wait_for_all(m, lane, group, timeout);
    group->closing = false;
    if (code != MOOT_OK) {
        return code; /* it stays open */
    }
    const struct group_member *failed = first_failed(&group->spawned);
    failed = failed != NULL ? failed : first_failed(&group->found);
    if (failed != NULL) {
        code = wait_tell(m, lane, handle_of(m, failed)->task, failed->code);
    } else if (group->incomplete) {
        code = lane_fail(lane, MOOT_ERR_NO_MEMORY,
                         "moot_group_close: there was no memory to keep all tasks in "
                         "mind; those that were kept have ended well");
    }
    end_group(m, lane);
    return code;
}

/* --- The end of a thread -------------------------------------------------------- */

void groups_abandon(struct moot *m, struct lane *lane)
{
    while (lane->group != NULL) {
        struct group *group = lane->group;
        lane->group = group->up;
        hand_on(m, NULL, &group->spawned);
        hand_on(m, NULL, &group->found);
        free(group);
    }
}

void groups_free(struct moot *m, struct lane *lane)
{
    (void)m;
    while (lane->group != NULL) {
        struct group *group = lane->group;
        lane->group = group->up;
        free(group->spawned.items);
        free(group->found.items);
        free(group);
    }
}
