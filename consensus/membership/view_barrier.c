/* view_barrier.c - large views: telling all members of a view, and counting what they
 * have done.
 *
 * In a small view everyone tells everyone that it has reported, and that it is settled.
 * In a large one these facts go along the tree over the view's members (tree.h), whose
 * root is the lowest rank: who has done its part, and has heard from
 * all its children that everyone below them has, tells its parent; the root tells its
 * children that all have, and they theirs.  2(N - 1) messages, and as many steps as the
 * tree is deep, twice.
 *
 * What is counted as *reported* is stronger than having sent a report.  The news that
 * all have reported takes another way than the reports themselves and could overtake
 * them, so every chair says that it has taken a report (TALLY_TAKEN), and a member
 * counts itself only when all of its reports are taken.  When the root has counted
 * everyone, every report is with its chair: no chair can hear it and still lack one.
 *
 * The view itself is spread along the same tree: who enters it tells its children.  A
 * member that has died in between leaves those below it in the old view, and the tally
 * waits: as in a small view, where its report would be missing, it takes the next view
 * to go on.  That one has a tree without it.  Meanwhile a member that is behind has its
 * heartbeats answered with the view by whoever of the old committee has entered it.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/reclaim/reclaim.h"
#include "consensus/state/state.h"

#include <assert.h>

static void say(struct core *core, uint32_t to, enum tally_what what)
{
    assert(core->membership.large && to != core->rank);
    struct message *message = out_send(core, to, MESSAGE_TALLY, NULL);
    if (message != NULL) {
        message->u.tally.what = what;
    }
}

/* Along the tree.  Who hears that all have reported has heard before which scopes have
 * ended (scope.c). */
static void pass_on(struct core *core, uint32_t to, enum tally_what what)
{
    if (what == TALLY_REPORTED) {
        scope_tell_ended(core, to);
    }
    say(core, to, what);
}

static void say_to_children(struct core *core, enum tally_what what)
{
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        pass_on(core, core->gossip.children[i], what);
    }
}

/* Everyone has. */
static void conclude(struct core *core, enum tally_what what)
{
    assert(core->membership.barrier.counts[what].passed);
    say_to_children(core, what);
    if (what == TALLY_REPORTED) {
        recovery_decide(core);
    } else {
        core->membership.barrier.all_settled = true;
    }
}

/* Passes the word up once everybody below has done it, and this rank itself. */
static void pass_up(struct core *core, enum tally_what what)
{
    assert(what == TALLY_REPORTED || what == TALLY_SETTLED);
    struct barrier_count *count = &core->membership.barrier.counts[what];
    if (!count->mine || count->below != (1u << core->gossip.child_count) - 1 ||
        count->passed) {
        return;
    }
    count->passed = true;
    if (core->gossip.parent == NOBODY) {
        conclude(core, what);
    } else {
        pass_on(core, core->gossip.parent, what);
    }
}

static void count_mine(struct core *core, enum tally_what what)
{
    core->membership.barrier.counts[what].mine = true;
    pass_up(core, what);
}

/* --- Entering -------------------------------------------------------------------- */

void barrier_enter(struct core *core)
{
    assert(core->membership.large && !core->membership.settled);
    core->membership.barrier = (struct view_barrier){0};
    const struct message_view *value = view_present(core);
    for (uint32_t i = 0; value != NULL && i < core->gossip.child_count; i++) {
        struct message *message =
            out_send(core, core->gossip.children[i], MESSAGE_VIEW, NULL);
        if (message != NULL) {
            message->u.view = *value;
        }
    }
}

void barrier_reports_sent(struct core *core, uint32_t chairs)
{
    assert(core->membership.large && chairs < core->member_count);
    core->membership.barrier.untaken = MUTANT(HASTYREPORT) ? 0 : chairs;
    if (core->membership.barrier.untaken == 0) {
        count_mine(core, TALLY_REPORTED);
    }
}

void barrier_take_report(struct core *core, uint32_t from)
{
    assert(rankset_has(&core->members, from) && from != core->rank);
    say(core, from, TALLY_TAKEN);
}

void barrier_settled(struct core *core) { count_mine(core, TALLY_SETTLED); }

/* --- What peers say -------------------------------------------------------------- */

static void on_taken(struct core *core)
{
    struct view_barrier *tally = &core->membership.barrier;
    if (tally->untaken == 0) {
        core->stats.refused += !MUTANT(HASTYREPORT);
        return;
    }
    if (--tally->untaken == 0) {
        count_mine(core, TALLY_REPORTED);
    }
}

void barrier_on_tally(struct core *core, uint32_t from,
                      const struct message_tally *tally)
{
    assert(from < core->size && from != core->rank);
    if (!core->membership.large) {
        core->stats.refused++;
    } else if (tally->what == TALLY_TAKEN) {
        on_taken(core);
    } else if (from == core->gossip.parent) {
        if (core->membership.barrier.counts[tally->what].passed) {
            conclude(core, tally->what);
        } else {
            core->stats.refused++;
        }
    } else {
        uint32_t child = 0;
        while (child < core->gossip.child_count &&
               core->gossip.children[child] != from) {
            child++;
        }
        if (child == core->gossip.child_count) {
            core->stats.refused++;
            return;
        }
        core->membership.barrier.counts[tally->what].below |= 1u << child;
        pass_up(core, tally->what);
    }
}
