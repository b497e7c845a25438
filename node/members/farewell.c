/* farewell.c - see farewell.h. */
#include "node/members/farewell.h"

#include "consensus/core_view.h"
#include "hashing/placement.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/members/members.h"

/* How long the word to go may take before this rank says farewell to everyone: at all,
 * and when somebody has ended. */
#define TREE_NS UINT64_C(5000000000)
#define ENDED_NS UINT64_C(200000000)

static void tell(struct moot *m, uint32_t to, enum adjourn_what what)
{
    if (members_is_here(m, to)) {
        struct message message = {.type = MESSAGE_ADJOURN};
        message.u.adjourn.what = what;
        outbox_add_own(m, to, &message);
    }
}

static void tell_everyone(struct moot *m)
{
    m->members.farewell.by_tree = false;
    outbox_tell_end(m, MOOT_OK);
    outbox_flush(m);
}

/* The word to go, for this rank and all below it. */
static void go(struct moot *m)
{
    struct core_tree_view tree;
    if (m->members.farewell.over) {
        return;
    }
    m->members.farewell.over = true;
    for (uint32_t i = 0; core_tree_look(m->core, &tree) && i < tree.child_count; i++) {
        tell(m, tree.children[i], ADJOURN_OVER);
    }
    outbox_flush(m);
    progress_wake(m);
}

/* All below have said it, and so has this rank. */
static void look_below(struct moot *m)
{
    struct farewell *farewell = &m->members.farewell;
    struct core_tree_view tree;
    if (!farewell->said || !farewell->by_tree || farewell->above ||
        !core_tree_look(m->core, &tree) ||
        farewell->below != (1u << tree.child_count) - 1) {
        return;
    }
    farewell->above = true;
    if (tree.parent == PLACEMENT_NOBODY) {
        go(m);
        return;
    }
    tell(m, tree.parent, ADJOURN_BELOW);
    outbox_flush(m);
}

void members_say_goodbye(struct moot *m)
{
    struct farewell *farewell = &m->members.farewell;
    struct core_tree_view tree;
    if (farewell->said) {
        return;
    }
    farewell->said = true;
    farewell->by_tree = core_tree_look(m->core, &tree);
    const uint64_t until_ns = clock_ns() + TREE_NS;
    if (!farewell->by_tree) {
        tell_everyone(m);
    } else if (farewell->direct_ns == 0 || until_ns < farewell->direct_ns) {
        farewell->direct_ns = until_ns;
    }
    look_below(m);
}

/* The sender has said it to everyone: something is amiss with the tree. */
static void answer_everyones(struct moot *m, uint32_t from)
{
    struct farewell *farewell = &m->members.farewell;
    if (farewell->over) {
        tell(m, from, ADJOURN_OVER);
    } else if (farewell->said && farewell->by_tree) {
        tell_everyone(m);
    } else if (!farewell->said) {
        farewell->direct_ns = 1; /* as soon as it has nothing more to say */
    }
}

void farewell_take(struct moot *m, uint32_t from, const struct message *message)
{
    struct core_tree_view tree;
    const enum adjourn_what what = message->u.adjourn.what;
    m->members.all[from].left |= what != ADJOURN_CLOSED;
    if (what == ADJOURN_ALL) {
        answer_everyones(m, from);
    } else if (what == ADJOURN_OVER) {
        go(m);
    } else if (what == ADJOURN_BELOW && core_tree_look(m->core, &tree)) {
        for (uint32_t i = 0; i < tree.child_count; i++) {
            m->members.farewell.below |= tree.children[i] == from ? 1u << i : 0;
        }
        look_below(m);
    }
}

bool farewell_passes_on(const struct moot *m)
{
    struct core_tree_view tree;
    return core_tree_look(m->core, &tree);
}

bool farewell_saw_end(struct moot *m, uint32_t rank)
{
    struct farewell *farewell = &m->members.farewell;
    struct core_tree_view tree;
    if (!farewell->said || !core_tree_look(m->core, &tree)) {
        return false;
    }
    m->members.all[rank].left = true;
    const uint64_t until_ns = clock_ns() + ENDED_NS;
    if (until_ns < farewell->direct_ns) {
        farewell->direct_ns = until_ns;
    }
    return true;
}

void farewell_look(struct moot *m, uint64_t now_ns)
{
    const struct farewell *farewell = &m->members.farewell;
    if (farewell->said && farewell->by_tree && !farewell->over &&
        now_ns >= farewell->direct_ns) {
        tell_everyone(m);
    }
}

bool members_all_left(struct moot *m)
{
    for (uint32_t rank = 0; rank < m->group.size && !m->members.farewell.over; rank++) {
        if (rank != m->group.rank && members_is_here(m, rank) &&
            !m->members.all[rank].left) {
            return false;
        }
    }
    return true;
}
