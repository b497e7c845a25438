/* meeting.c - all members come to a point of their programs, and learn who came.
 *
 * PROTOCOL.md, *Meetings*.  Each rank counts the meetings that it comes to, so the n-th
 * of one rank is the n-th of all.  A rank that arrives tells the lowest member; when
 * all members have arrived, or closed, that one tells all who came.  Nobody can be more
 * than one meeting behind another: so the last outcome is all that a rank must keep for
 * others, and with each view the lowest member is told of it before anything else.
 * Among many all of this goes along the tree (meeting_tree.c).
 */
#include "consensus/meeting/meeting_private.h"

#include <assert.h>

static uint32_t lowest(const struct core *core)
{
    return rankset_next(&core->members, 0);
}

/* A rank whose program has ended waits no more. */
static bool is_waiting(const struct core *core)
{
    return core->meeting.number > core->meeting.met && !core->step.closed;
}

static void say(struct core *core, uint32_t to, enum meet_what what, uint64_t number)
{
    assert(rankset_has(&core->members, to));
    struct message *message = agenda_send(core, to, MESSAGE_MEET);
    if (message != NULL) {
        message->u.meet = (struct message_meet){.what = what, .number = number};
    }
    if (message != NULL && what == MEET_ARRIVED) {
        message->hash = core->meeting.purpose;
    }
}

void meeting_say_outcome(struct core *core, uint32_t to, uint64_t number)
{
    assert(number > 0 && number <= core->meeting.met);
    struct message *message = agenda_send(core, to, MESSAGE_MEET);
    if (message == NULL) {
        return;
    }
    message->u.meet = (struct message_meet){.what = MEET_MET, .number = number};
    if (number == core->meeting.met && !rankset_empty(&core->meeting.came)) {
        message->u.meet.code = core->meeting.code;
        message->u.meet.came = out_copy_set(core, &core->meeting.came);
    }
}

static void put_out(struct core *core, uint64_t number, int32_t code,
                    const struct rankset *came)
{
    struct core_output *output = out_add(core, CORE_OUT_MET, NULL);
    if (output != NULL) {
        output->u.met.number = number;
        output->u.met.code = code;
        bool known = came != NULL && !rankset_empty(came);
        output->u.met.came = known ? out_copy_set(core, came) : NULL;
    }
}

static void forget_arrivals(struct core *core)
{
    rankset_release(&core->meeting.here);
    core->meeting.mixed = false;
}

/* --- The lowest member ------------------------------------------------------------ */

static bool all_are_here(const struct core *core)
{
    const struct core_meeting *meeting = &core->meeting;
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&meeting->here, rank) &&
            (!rankset_has(&meeting->closed, rank) || MUTANT(MEETCLOSED)) &&
            !MUTANT(MEETEARLY)) {
            return false;
        }
    }
    return !rankset_empty(&meeting->here);
}

/* Tells those who came, and itself even if it has closed: there the outcome is taken as
 * anybody's. */
static void conclude(struct core *core)
{
    assert(lowest(core) == core->rank && !rankset_empty(&core->meeting.here));
    const int32_t code = core->meeting.mixed ? MOOT_ERR_STATE : MOOT_OK;
    const struct rankset *came = out_copy_set(core, &core->meeting.here);
    FOR_MEMBERS(core, rank)
    {
        bool hears = came != NULL && (rankset_has(came, rank) || rank == core->rank);
        struct message *message = hears ? agenda_send(core, rank, MESSAGE_MEET) : NULL;
        if (message != NULL) {
            message->u.meet = (struct message_meet){.what = MEET_MET,
                                                    .number = core->meeting.met + 1,
                                                    .code = code,
                                                    .came = came};
        }
    }
    forget_arrivals(core);
}

static void note_arrival(struct core *core, uint32_t from, const moot_hash *purpose)
{
    struct core_meeting *meeting = &core->meeting;
    if (rankset_empty(&meeting->here)) {
        meeting->wanted = *purpose;
    }
    meeting->mixed |= !hash_equal(&meeting->wanted, purpose) && !MUTANT(MEETMIXED);
    if (!rankset_add(&meeting->here, from)) {
        core->broken = true;
    }
}

static void on_arrived(struct core *core, uint32_t from, const struct message *message)
{
    const uint64_t number = message->u.meet.number;
    if (number <= core->meeting.met) {
        if (!MUTANT(MEETLATE)) {
            meeting_say_outcome(core, from, number);
        }
    } else if (number == core->meeting.met + 1 &&
               !rankset_has(&core->meeting.closed, from)) {
        note_arrival(core, from, &message->hash);
    } else { /* the outcome of the one before would have come first, or it lies */
        core->stats.refused++;
    }
}

/* --- All members ------------------------------------------------------------------ */

static const struct rankset *came_to(const struct core *core,
                                     const struct message_meet *meet)
{
    return meet->what == MEET_ALL ? &core->members : meet->came;
}

static void note_outcome(struct core *core, const struct message_meet *meet)
{
    struct core_meeting *meeting = &core->meeting;
    const struct rankset *came = came_to(core, meet);
    meeting->met = meet->number;
    meeting->code = meet->code;
    rankset_release(&meeting->came);
    if (came != NULL && !rankset_copy(&meeting->came, came)) {
        core->broken = true;
    }
}

/* Those who have arrived since this view began came to the next meeting as far as this
 * rank knew: it is over. */
static void take_outcome(struct core *core, const struct message_meet *meet)
{
    const struct core_meeting *meeting = &core->meeting;
    const uint64_t next = meeting->met + 1;
    assert(meet->number >= next);
    note_outcome(core, meet);
    FOR_MEMBERS(core, rank)
    {
        if (rankset_has(&meeting->here, rank) && rank != core->rank &&
            !MUTANT(MEETKEPT)) {
            meeting_say_outcome(core, rank, next);
        }
    }
    forget_arrivals(core);
}

static void on_met(struct core *core, uint32_t from, const struct message_meet *meet)
{
    const uint64_t number = core->meeting.number;
    if (is_waiting(core) && meet->number >= number) {
        bool same = meet->number == number; /* or a newcomer's, which was long ago */
        put_out(core, number, same ? meet->code : MOOT_OK,
                same ? came_to(core, meet) : NULL);
    }
    if (meet->number > core->meeting.met && meeting_goes_by_tree(core)) {
        note_outcome(core, meet);
        meeting_tree_pass_on(core, from, meet);
    } else if (meet->number > core->meeting.met) {
        take_outcome(core, meet);
    }
}

static void on_meet_of_many(struct core *core, uint32_t from,
                            const struct message *message)
{
    const bool met =
        message->u.meet.what == MEET_MET || message->u.meet.what == MEET_ALL;
    if (!met) {
        meeting_tree_on_below(core, from, message);
    } else if (meeting_tree_is_neighbour(core, from)) {
        on_met(core, from, &message->u.meet);
    } else {
        core->stats.refused++;
    }
}

void meeting_on_meet(struct core *core, uint32_t from, const struct message *message)
{
    assert(rankset_has(&core->members, from));
    const struct message_meet *meet = &message->u.meet;
    if (meeting_goes_by_tree(core)) {
        on_meet_of_many(core, from, message);
        return;
    }
    if (meet->what == MEET_MET) {
        on_met(core, from, meet);
    } else if (lowest(core) != core->rank || meet->what == MEET_ALL) {
        core->stats.refused++;
    } else if (meet->what == MEET_ARRIVED) {
        on_arrived(core, from, message);
    } else if (!rankset_add(&core->meeting.closed, from)) {
        core->broken = true;
    }
    if (lowest(core) == core->rank && all_are_here(core)) {
        conclude(core);
    }
}

int meeting_arrive(struct core *core, const moot_hash *purpose)
{
    struct core_meeting *meeting = &core->meeting;
    if (is_waiting(core) || core->step.closed) {
        return MOOT_ERR_STATE;
    }
    meeting->number++;
    meeting->purpose = *purpose;
    if (is_waiting(core)) {
        if (meeting_goes_by_tree(core)) {
            meeting_tree_look(core);
        } else if (core->epoch > 0) {
            say(core, lowest(core), MEET_ARRIVED, meeting->number);
        }
        return MOOT_OK;
    }
    bool last = meeting->number == meeting->met;
    put_out(core, meeting->number, last ? meeting->code : MOOT_OK,
            last ? &meeting->came : NULL);
    return MOOT_OK;
}

void meeting_close(struct core *core)
{
    assert(core->step.closed);
    if (meeting_goes_by_tree(core)) {
        meeting_tree_look(core);
    } else if (core->epoch > 0) {
        say(core, lowest(core), MEET_CLOSED, core->meeting.met);
    }
}

void meeting_enter_view(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    if (!MUTANT(MEETSTALE)) {
        forget_arrivals(core);
    }
    rankset_release(&meeting->closed);
    meeting_tree_enter_view(core);
    if (meeting_goes_by_tree(core)) {
        return;
    }
    if (meeting->met > 0 && !MUTANT(MEETFORGOT)) {
        meeting_say_outcome(core, lowest(core), meeting->met);
    }
    if (is_waiting(core) && !MUTANT(MEETUNTOLD)) {
        say(core, lowest(core), MEET_ARRIVED, meeting->number);
    }
    if (core->step.closed && !MUTANT(MEETOPEN)) {
        say(core, lowest(core), MEET_CLOSED, meeting->met);
    }
}

void meeting_end(struct core *core)
{
    rankset_release(&core->meeting.here);
    rankset_release(&core->meeting.closed);
    rankset_release(&core->meeting.came);
    meeting_tree_end(core);
}
