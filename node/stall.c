/* stall.c - see stall.h. */
#include "stall.h"

#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/limits.h"

#include <stdio.h>
#include <string.h>

enum { STALL_WAITS_MAX = 16, STALL_CHAIN_MAX = 12, STALL_PEERS_MAX = 16 };

/* What the report found, for its last line. */
struct findings {
    bool chair_lacks;   /* a chair is not known to hold what is waited for */
    bool nobody;        /* nobody is known to hold it */
    bool chair_spoke;   /* such a chair has told its state, */
    bool chair_blocked; /* and was blocked when it last did */
    bool owner_known;
};

static void add_set(struct text *text, const struct rankset *set)
{
    char ranks[256];
    rankset_format(set, ranks, sizeof(ranks));
    text_add(text, "%s", ranks);
}

static void add_task(struct text *text, const struct moot *m, const moot_hash *hash)
{
    const struct task *task = core_user(m->core, hash);
    if (task != NULL) {
        task_describe(text, task);
    } else {
        task_describe_hash(text, hash);
    }
}

/* --- One thing that is waited for ----------------------------------------------- */

static void add_owner(struct text *text, const struct moot *m,
                      const struct core_task_view *view)
{
    static const char *const stages[] = {
        [TASK_IDLE] = "waits for inputs",
        [TASK_READY] = "is ready to run",
        [TASK_RUNNING] = "runs",
        [TASK_RESTING] = "has failed, and will be tried again",
        [TASK_ENDED] = "has ended",
    };
    if (view->owner == PLACEMENT_NOBODY) {
        text_add(text, "      owner: not known here\n");
    } else if (view->owner == m->group.rank) {
        const struct task *task = view->user;
        text_add(text, "      owner: this rank, where it %s",
                 task != NULL ? stages[task->stage] : "is known by its hash");
        if (view->missing > 0) {
            text_add(text, " (%u missing)", view->missing);
        }
        text_add(text, "\n");
    } else {
        text_add(text, "      owner: rank %u (decided by %s)%s\n", view->owner,
                 evidence_name(view->evidence),
                 view->have == CORE_HAVE_NOTHING ? ", its result has not come"
                                                 : ", done, its bytes have not come");
    }
}

static void add_chair(struct text *text, const struct moot *m,
                      const struct core_task_view *view, struct findings *found)
{
    bool here = view->chair == m->group.rank;
    bool holds = here ? view->held : rankset_has(&view->holders, view->chair);
    if (view->chair == PLACEMENT_NOBODY) {
        text_add(text, "      chair: not known\n");
        return;
    }
    found->chair_lacks |= !holds;
    struct core_peer_view peer;
    if (!holds && !here && core_peer_look(m->core, view->chair, &peer)) {
        found->chair_blocked |= peer.heard_ns != 0 && peer.state.blocked;
        found->chair_spoke |= peer.heard_ns != 0;
    }
    text_add(text, "      chair: %s %u, which %s\n", here ? "this rank," : "rank",
             view->chair,
             holds  ? "holds it"
             : here ? "never spawned it"
                    : "is not known to hold it");
}

static void add_holders(struct text *text, const struct moot *m,
                        struct core_task_view *view, struct findings *found)
{
    if (view->held) {
        rankset_add(&view->holders, m->group.rank);
    }
    found->nobody |= rankset_empty(&view->holders);
    text_add(text, "      known to hold it: ");
    add_set(text, &view->holders);
    if (view->chair == m->group.rank) {
        text_add(text, "; asked for by: ");
        add_set(text, &view->asked_by);
    } else {
        text_add(text, "; %s",
                 view->asked ? "a motion was sent to the chair" : "no motion was sent");
    }
    text_add(text, "\n");
}

/* waits -> a task that this rank owns -> its first missing input -> ... */
static void add_chain(struct text *text, const struct moot *m, const moot_hash *first)
{
    moot_hash hash = *first;
    for (int i = 0; i < STALL_CHAIN_MAX; i++) {
        struct core_task_view view;
        if (!core_task_look(m->core, &hash, &view)) {
            return;
        }
        bool more = view.own == CORE_OWN_WAIT && view.first_missing != NULL;
        if (more) {
            hash = *view.first_missing;
        }
        rankset_release(&view.asked_by);
        rankset_release(&view.holders);
        if (!more) {
            return;
        }
        text_add(text, "      which waits for ");
        add_task(text, m, &hash);
        text_add(text, "\n");
    }
    text_add(text, "      ... and so on\n");
}

static void add_wait(struct text *text, const struct moot *m, const struct task *task,
                     uint32_t waiters, uint64_t age_ns, struct findings *found)
{
    text_add(text, "  waits for ");
    task_describe(text, task);
    text_add(text, "\n      for ");
    text_add_duration(text, age_ns);
    if (waiters > 1) {
        text_add(text, ", in %u waits", waiters);
    }
    text_add(text, "\n");
    struct core_task_view view;
    if (!core_task_look(m->core, &task->hash, &view)) {
        return;
    }
    add_chair(text, m, &view, found);
    add_owner(text, m, &view);
    found->owner_known |= view.owner != PLACEMENT_NOBODY;
    add_holders(text, m, &view, found);
    rankset_release(&view.asked_by);
    rankset_release(&view.holders);
    add_chain(text, m, &task->hash);
}

/* --- All of them ---------------------------------------------------------------- */

static bool is_open(const struct wait *wait, const struct wait_item *item)
{
    const struct task *task = item->task;
    return !item->ended &&
           !(task->known && (wait->want == WANT_DONE || task->payload != NULL));
}

/* How many waits are for this task, and since when the first. */
static uint32_t merge(const struct moot *m, const struct task *task, uint64_t *since_ns)
{
    uint32_t count = 0;
    for (const struct wait *wait = m->waits; wait != NULL; wait = wait->next) {
        for (size_t i = 0; i < wait->count; i++) {
            if (wait->items[i].task == task && is_open(wait, &wait->items[i])) {
                count++;
                *since_ns = wait->since_ns < *since_ns ? wait->since_ns : *since_ns;
            }
        }
    }
    return count;
}

static void add_waits(struct text *text, const struct moot *m, uint64_t now_ns,
                      struct findings *found)
{
    const struct task *told[STALL_WAITS_MAX];
    uint32_t told_count = 0;
    size_t untold = 0;
    for (const struct wait *wait = m->waits; wait != NULL; wait = wait->next) {
        for (size_t i = 0; i < wait->count; i++) {
            const struct task *task = wait->items[i].task;
            bool again = !is_open(wait, &wait->items[i]);
            for (uint32_t k = 0; k < told_count; k++) {
                again |= told[k] == task;
            }
            if (again) {
                continue;
            }
            if (told_count == STALL_WAITS_MAX) {
                untold++;
                continue;
            }
            told[told_count++] = task;
            uint64_t since_ns = wait->since_ns;
            uint32_t waiters = merge(m, task, &since_ns);
            add_wait(text, m, task, waiters, now_ns - since_ns, found);
        }
    }
    if (untold > 0) {
        text_add(text, "  ... and %zu more\n", untold);
    }
    if (m->closing) {
        text_add(text, "  is in moot_close() for ");
        text_add_duration(text, now_ns - m->closing_ns);
        text_add(text, ", until every rank has closed\n");
    } else if (m->waits == NULL) {
        text_add(text, "  no wait is open\n");
    }
}

static const char *lane_state_name(const struct lane *lane)
{
    switch (lane->state) {
    case CORE_LANE_RUNNING:
        return "in a kernel";
    case CORE_LANE_BLOCKED:
        return "in a wait";
    case CORE_LANE_TIMED:
        return "in a wait with a timeout, or polling";
    case CORE_LANE_PARKED:
        return "parked";
    case CORE_LANE_ENDED:
        return "ended";
    }
    return "?";
}

static void add_lane(struct text *text, const struct lane *lane, uint64_t now_ns)
{
    if (lane->state != CORE_LANE_RUNNING || lane->call != NULL) {
        text_add(text, "  lane %u is %s\n", lane->number, lane_state_name(lane));
        return;
    }
    text_add(text, "  lane %u has been in the program's own code for ", lane->number);
    text_add_duration(text, now_ns > lane->seen_ns ? now_ns - lane->seen_ns : 0);
    if (lane->spawn_site != NULL) {
        text_add(text, ", last spawn at %s", lane->spawn_site);
    }
    text_add(text, "\n");
}

static void add_lanes(struct text *text, const struct moot *m, uint64_t now_ns)
{
    for (const struct lane *lane = m->lanes; lane != NULL; lane = lane->next) {
        if (lane->number != LANE_NO_NUMBER) {
            add_lane(text, lane, now_ns);
        }
    }
    text_add(text, "  %zu tasks ready, %u running, %u of them waiting for children\n",
             m->ready.live, m->running, m->kernel_waits);
}

/* --- Peers ---------------------------------------------------------------------- */

static bool say_alike(const struct core_peer_view *a, const struct core_peer_view *b)
{
    return (a->heard_ns == 0) == (b->heard_ns == 0) &&
           a->state.blocked == b->state.blocked && a->state.closed == b->state.closed &&
           a->state.len == b->state.len && a->state.waiting == b->state.waiting &&
           (!a->state.waiting || hash_equal(&a->waits_for, &b->waits_for));
}

static void add_peer(struct text *text, const struct moot *m,
                     const struct rankset *ranks, const struct core_peer_view *peer,
                     uint64_t now_ns)
{
    text_add(text, "  rank%s ", rankset_count(ranks) == 1 ? "" : "s");
    add_set(text, ranks);
    if (peer->heard_ns == 0) {
        text_add(text, " said nothing yet\n");
        return;
    }
    uint64_t age_ns = now_ns > peer->heard_ns ? now_ns - peer->heard_ns : 0;
    bool stale =
        m->knobs.stall_ns != KNOB_NEVER && age_ns > (uint64_t)m->knobs.stall_ns;
    text_add(text, stale ? ", as of " : " said ");
    text_add_duration(text, age_ns);
    text_add(text, " ago: %s%s, %llu tasks on the roll, %u to run", stale ? "was " : "",
             peer->state.closed    ? "closed"
             : peer->state.blocked ? "blocked"
                                   : "running",
             (unsigned long long)peer->state.len, peer->state.load);
    if (peer->state.waiting) {
        text_add(text, ", waits for ");
        add_task(text, m, &peer->waits_for);
        if (peer->state.site != NULL) {
            text_add(text, " spawned at %s", peer->state.site);
        }
    }
    text_add(text, "\n");
}

static void add_peers(struct text *text, const struct moot *m, uint64_t now_ns)
{
    struct rankset told = {0};
    uint32_t groups = 0;
    for (uint32_t rank = 0; rank < m->group.size && groups < STALL_PEERS_MAX; rank++) {
        struct core_peer_view peer, other;
        if (rank == m->group.rank || rankset_has(&told, rank) ||
            !core_peer_look(m->core, rank, &peer)) {
            continue;
        }
        struct rankset alike = {0};
        for (uint32_t r = rank; r < m->group.size; r++) {
            if (r != m->group.rank && core_peer_look(m->core, r, &other) &&
                say_alike(&peer, &other)) {
                rankset_add(&alike, r);
            }
        }
        add_peer(text, m, &alike, &peer, now_ns);
        rankset_merge(&told, &alike);
        rankset_release(&alike);
        groups++;
    }
    rankset_release(&told);
}

/* --- What next ------------------------------------------------------------------ */

static const char *advice(const struct moot *m, const struct findings *found)
{
    if (m->knobs.divergence == KNOB_DIVERGENCE_TRUST && found->chair_lacks) {
        return "the ranks diverged: the chair is not known to hold what is waited for; "
               "MOOT_DIVERGENCE=repair would vote for another owner";
    }
    if (found->nobody) {
        return "no rank is known to hold what is waited for: look for a condition that "
               "kept its spawn from happening everywhere";
    }
    if (found->chair_lacks && found->chair_blocked) {
        return "when last heard of, the chair was blocked and not known to hold it: "
               "SIGUSR1 at its rank tells where it is now; if that is code that moot "
               "cannot see (MPI, a lock, pthread_join), put moot_park() around it";
    }
    if (found->chair_lacks) {
        return found->chair_spoke
                   ? "as last heard of, the chair had neither spawned it nor blocked: "
                     "if it sits in code that moot cannot see (MPI, a lock, "
                     "pthread_join), put moot_park() around that code or set "
                     "MOOT_VOTE_TIMEOUT"
                   : "nothing was heard of the chair yet: if it sits in code that moot "
                     "cannot see (MPI, a lock, pthread_join), put moot_park() around "
                     "that code or set MOOT_VOTE_TIMEOUT";
    }
    if (found->owner_known) {
        return "the owner is known and has not finished: look at its kernel, and at "
               "what "
               "that rank waits for";
    }
    return "send SIGUSR1 to the other ranks and compare their reports";
}

void stall_compose(struct text *text, struct moot *m, uint64_t now_ns)
{
    struct findings found = {0};
    text_add(text, "moot: rank %u of %u, report after ", m->group.rank, m->group.size);
    text_add_duration(text, now_ns - m->opened_ns);
    text_add(text, ":\n");
    add_lanes(text, m, now_ns);
    add_waits(text, m, now_ns, &found);
    add_peers(text, m, now_ns);
    if (m->waits != NULL) {
        text_add(text, "  next: %s\n", advice(m, &found));
    }
}
