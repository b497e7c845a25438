/* meeting_tree.c - meetings of many go along the tree (PROTOCOL.md, M4).
 *
 * A rank tells its parent where it and all below it stand, once all of them have come
 * to the next meeting or are over; so the root hears of each meeting from its children
 * alone.  The outcome goes down the same way.  In a new view whoever knows a newer one
 * tells its neighbours, and these theirs: nobody says where it stands before.
 */
#include "consensus/meeting/meeting_private.h"

#include "consensus/state/state.h"

#include <assert.h>

bool meeting_goes_by_tree(const struct core *core)
{
    return disseminate_is_on(core) && !MUTANT(MEETSTAR);
}

/* UINT32_MAX: it is no child. */
static uint32_t child_of(const struct core *core, uint32_t rank)
{
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        if (core->gossip.children[i] == rank) {
            return i;
        }
    }
    return UINT32_MAX;
}

bool meeting_tree_is_neighbour(const struct core *core, uint32_t rank)
{
    return rank == core->rank || rank == core->gossip.parent ||
           child_of(core, rank) != UINT32_MAX;
}

/* --- Up -----------------------------------------------------------------------------
 */

/* Where this rank and all below it stand. */
struct muster {
    bool here;   /* all have come to the next meeting, or are over; */
    bool any;    /* some have come, */
    bool passed; /* some do not come to this one (M6), */
    bool all;    /* and indeed all; */
    bool mixed;
    moot_hash wanted;
    uint32_t generation; /* that they have come for; 0: to no reload */
};

static void count_in(struct muster *sum, const moot_hash *wanted, bool mixed,
                     uint32_t generation)
{
    sum->mixed |= mixed || (sum->any && (!hash_equal(&sum->wanted, wanted) ||
                                         (sum->generation != 0) != (generation != 0)));
    sum->generation = generation > sum->generation ? generation : sum->generation;
    sum->wanted = sum->any ? sum->wanted : *wanted;
    sum->any = true;
}

static bool has_come(const struct core *core)
{
    return core->meeting.number == core->meeting.met + 1 && !meeting_is_passing(core);
}

static struct muster look_below(const struct core *core)
{
    const struct core_meeting *meeting = &core->meeting;
    const uint64_t next = meeting->met + 1;
    const bool came = has_come(core);
    struct muster sum = {.all = came};
    sum.passed = meeting_is_passing(core) && !core->step.closed && !MUTANT(PASSWAIT);
    sum.here = came || core->step.closed || sum.passed;
    if (came) {
        count_in(&sum, &meeting->purpose, false, meeting->generation);
    }
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        const struct meeting_below *below = &meeting->below[i];
        const bool below_came = below->number == next;
        const bool below_passed = below->passed == next;
        sum.here = sum.here &&
                   (below_came || below_passed || below->closed || MUTANT(MEETBELOW));
        sum.passed = sum.passed || below_passed;
        sum.all = sum.all && ((below_came && below->all) || MUTANT(MEETEVERYONE));
        if (below_came) {
            count_in(&sum, &below->wanted, below->mixed, below->generation);
        }
    }
    sum.mixed = sum.mixed && !MUTANT(MEETMIXED);
    return sum;
}

static const struct rankset *who_came(struct core *core)
{
    const uint64_t next = core->meeting.met + 1;
    const uint32_t root = rankset_next(&core->members, 0);
    struct rankset came = {0};
    bool good = !has_come(core) || rankset_add(&came, core->rank);
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        const struct meeting_below *below = &core->meeting.below[i];
        if (below->number == next && below->all) {
            good = good && tree_add_below(&core->members, root,
                                          core->gossip.children[i], &came);
        } else if (below->number == next) {
            good = good && rankset_merge(&came, &below->came);
        }
    }
    core->broken |= !good;
    const struct rankset *copy = good ? out_copy_set(core, &came) : NULL;
    rankset_release(&came);
    return copy;
}

/* Into what this rank says of itself and all below it. */
static void tell_words(struct core *core, struct message_meet *meet)
{
    struct meeting_words words = {0};
    if (has_come(core)) {
        words_add(core, &words, core->meeting.own.bytes, core->meeting.own.size);
    }
    for (uint32_t i = 0; i < core->gossip.child_count && !MUTANT(WORDSLOST); i++) {
        const struct meeting_below *below = &core->meeting.below[i];
        if (below->number == meet->number && below->words.too_long) {
            words_overflow(&words);
        } else if (below->number == meet->number) {
            words_add(core, &words, below->words.bytes, below->words.size);
        }
    }
    meet->code = words_code(&words);
    words_tell(core, &words, meet);
    words_release(&words);
}

static void say_standing(struct core *core, const struct muster *sum)
{
    const bool root = core->gossip.parent == NOBODY;
    const uint32_t to = root ? core->rank : core->gossip.parent;
    struct message *message = agenda_send(core, to, MESSAGE_MEET);
    if (message == NULL) {
        return;
    }
    struct message_meet *meet = &message->u.meet;
    const uint64_t next = core->meeting.met + 1;
    *meet = (struct message_meet){.what = MEET_CLOSED, .number = core->meeting.met};
    if (sum->any) {
        meet->what = !root ? MEET_ARRIVED : sum->all ? MEET_ALL : MEET_MET;
        meet->number = next;
        meet->code = sum->mixed ? MOOT_ERR_STATE : MOOT_OK;
        meet->came = sum->all ? NULL : who_came(core);
        meet->generation = sum->generation;
        if (root && sum->generation != 0) {
            meet->snapshot = sum->wanted;
        }
        if (!sum->mixed) {
            tell_words(core, meet);
        }
        if (root && core->meeting.marked && !sum->mixed) {
            meet->code = core->meeting.mark_code;
        }
    } else if (sum->passed) { /* at the root: nobody is left who came to it */
        meet->what = root ? MEET_MET : MEET_PASSED;
        meet->number = next;
    }
    if (meet->what == MEET_ARRIVED) {
        message->hash = sum->wanted;
    }
}

/* Members of the committee that have closed let nobody in any more. */
static bool committee_lets_in(struct core *core, const struct muster *sum)
{
    const struct rankset *came = sum->all ? &core->members : who_came(core);
    bool any = MUTANT(BOUNDARYCLOSED);
    FOR_COMMITTEE(core, rank)
    {
        any = any || (came != NULL && rankset_has(came, rank));
    }
    return any;
}

void meeting_tree_look(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    const struct muster sum = look_below(core);
    if (core->epoch == 0 || !sum.here || meeting->said == meeting->met + 1 ||
        meeting->said_closed) {
        return;
    }
    if (sum.any && !sum.mixed && core->gossip.parent == NOBODY &&
        meeting_waits_for_newcomers(core, &sum.wanted) &&
        committee_lets_in(core, &sum)) {
        meeting->held_up = true;
        return; /* the next view is about to let somebody in */
    }
    if (sum.any && !sum.mixed && core->gossip.parent == NOBODY) {
        meeting->wanted = sum.wanted;
        meeting->wanted_generation = sum.generation;
        meeting->held_up = meeting_marks(core);
        if (meeting->held_up) {
            return;
        }
    }
    if (sum.any || sum.passed) {
        meeting->said = meeting->met + 1;
    } else {
        meeting->said_closed = true;
    }
    if (sum.any || sum.passed || core->gossip.parent != NOBODY) {
        say_standing(core, &sum);
    }
}

void meeting_tree_on_below(struct core *core, uint32_t from,
                           const struct message *message)
{
    const struct message_meet *meet = &message->u.meet;
    const uint32_t child = child_of(core, from);
    if (child == UINT32_MAX || meet->number > core->meeting.met + 1) {
        core->stats
            .refused++; /* the outcome before would have come first, or it lies */
        return;
    }
    struct meeting_below *below = &core->meeting.below[child];
    if (meet->what == MEET_CLOSED) {
        below->closed = true;
    } else if (meet->what == MEET_PASSED) {
        below->passed = meet->number;
    } else { /* of a meeting that is over: the outcome is on its way there */
        below->number = meet->number;
        below->wanted = message->hash;
        below->mixed = meet->code == MOOT_ERR_STATE;
        below->generation = meet->generation;
        words_release(&below->words);
        words_add(core, &below->words, meet->words, meet->words_size);
        if (meet->code == MOOT_ERR_LIMIT) {
            words_overflow(&below->words);
        }
        below->all = meet->came == NULL;
        rankset_release(&below->came);
        if (meet->came != NULL && !rankset_copy(&below->came, meet->came)) {
            core->broken = true;
        }
    }
    meeting_tree_look(core);
}

/* --- Down, and around in a new view -------------------------------------------------
 */

static void say_met(struct core *core, uint32_t to, const struct message_meet *meet)
{
    if (meet->what != MEET_ALL) {
        meeting_say_outcome(core, to, core->meeting.met);
        return;
    }
    struct message *message = agenda_send(core, to, MESSAGE_MEET);
    if (message != NULL) {
        message->u.meet = *meet;
        message->u.meet.came = NULL;
        words_tell(core, &core->meeting.told, &message->u.meet);
    }
}

void meeting_tree_pass_on(struct core *core, uint32_t from,
                          const struct message_meet *meet)
{
    assert(meet->number == core->meeting.met);
    for (uint32_t i = 0; i < core->gossip.child_count && !MUTANT(MEETDOWN); i++) {
        if (core->gossip.children[i] != from) {
            say_met(core, core->gossip.children[i], meet);
        }
    }
    const uint32_t parent = core->gossip.parent;
    if (parent != NOBODY && parent != from) {
        say_met(core, parent, meet);
    }
    meeting_tree_look(core);
}

static void forget_below(struct core *core)
{
    for (uint32_t i = 0; i < TREE_ARITY; i++) {
        rankset_release(&core->meeting.below[i].came);
        words_release(&core->meeting.below[i].words);
        core->meeting.below[i] = (struct meeting_below){0};
    }
    core->meeting.said = 0;
    core->meeting.said_closed = false;
}

void meeting_tree_enter_view(struct core *core)
{
    forget_below(core);
    if (!meeting_goes_by_tree(core)) {
        return;
    }
    const uint64_t met = core->meeting.met;
    if (met > 0 && core->gossip.parent != NOBODY && !MUTANT(MEETFORGOT)) {
        meeting_say_outcome(core, core->gossip.parent, met);
    }
    for (uint32_t i = 0; i < core->gossip.child_count && met > 0; i++) {
        if (!MUTANT(MEETUPONLY)) {
            meeting_say_outcome(core, core->gossip.children[i], met);
        }
    }
    meeting_tree_look(core);
}

void meeting_tree_end(struct core *core) { forget_below(core); }
