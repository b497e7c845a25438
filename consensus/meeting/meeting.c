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

#include "proto/limits.h"
#include "proto/meet_words.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t lowest(const struct core *core)
{
    return rankset_next(&core->members, 0);
}

/* A newcomer that has yet to hear that the last meeting before its time has met. */
bool meeting_is_passing(const struct core *core)
{
    return core->meeting.from > core->meeting.met;
}

/* A rank whose program has ended waits no more. */
static bool is_waiting(const struct core *core)
{
    return core->meeting.number > core->meeting.met &&
           core->meeting.number > core->meeting.from && !core->step.closed;
}

bool meeting_is_boundary(const struct core *core, const moot_hash *purpose)
{
    return core->options.boundary &&
           hash_equal(purpose, &core->options.boundary_purpose);
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
        message->u.meet.generation = core->meeting.generation;
        words_tell(core, &core->meeting.own, &message->u.meet);
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
    if (number == core->meeting.met && core->meeting.told_generation != 0) {
        message->u.meet.code = core->meeting.code;
        message->u.meet.generation = core->meeting.told_generation;
        message->u.meet.snapshot = core->meeting.told_snapshot;
    }
    if (number == core->meeting.met && !rankset_empty(&core->meeting.came)) {
        message->u.meet.code = core->meeting.code;
        message->u.meet.came = out_copy_set(core, &core->meeting.came);
        if (!MUTANT(WORDSONCE)) {
            words_tell(core, &core->meeting.told, &message->u.meet);
        }
    }
}

/* Tells the program that has come to reload.  If all is MOOT_OK it is told when the
 * view is there. */
static void put_out_reload(struct core *core, const struct message_meet *meet)
{
    struct core_meeting *meeting = &core->meeting;
    const int32_t code = meet->number == meeting->number ? meet->code : MOOT_ERR_STATE;
    meeting->generation = 0;
    meeting->reloads = code == MOOT_OK;
    struct core_output *output =
        code != MOOT_OK ? out_add(core, CORE_OUT_RELOADED, NULL) : NULL;
    if (output != NULL) {
        output->hash = meeting->purpose;
        output->u.reloaded.status = code;
        output->u.reloaded.generation = meet->generation;
    }
}

/* The outcome of the meeting at which this rank is; of one long past that it is over.
 */
static void put_out(struct core *core, const struct message_meet *meet)
{
    if (core->meeting.generation != 0) {
        put_out_reload(core, meet);
        return;
    }
    struct core_output *output = out_add(core, CORE_OUT_MET, NULL);
    if (output == NULL) {
        return;
    }
    output->u.met.number = core->meeting.number;
    if (meet->number == core->meeting.number) {
        bool known = meet->came != NULL && !rankset_empty(meet->came);
        output->u.met.code = meet->code;
        output->u.met.came = known ? out_copy_set(core, meet->came) : NULL;
        output->u.met.words = out_copy_bytes(core, meet->words, meet->words_size);
        output->u.met.words_size = output->u.met.words != NULL ? meet->words_size : 0;
    }
}

static void forget_arrivals(struct core *core)
{
    rankset_release(&core->meeting.here);
    if (!MUTANT(WORDSKEPT)) {
        words_release(&core->meeting.said_here);
    }
    rankset_release(&core->meeting.passed);
    core->meeting.mixed = false;
    core->meeting.wanted_generation = 0;
    core->meeting.marks = core->meeting.marked = false;
}

/* --- The lowest member ------------------------------------------------------------ */

static bool all_are_here(const struct core *core)
{
    const struct core_meeting *meeting = &core->meeting;
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&meeting->here, rank) &&
            !rankset_has(&meeting->passed, rank) &&
            (!rankset_has(&meeting->closed, rank) || MUTANT(MEETCLOSED)) &&
            !MUTANT(MEETEARLY)) {
            return false;
        }
    }
    return !rankset_empty(&meeting->here) || !rankset_empty(&meeting->passed);
}

bool meeting_stands(const struct core *core)
{
    return core->step.closed || (is_waiting(core) && !meeting_is_passing(core) &&
                                 meeting_is_boundary(core, &core->meeting.purpose));
}

bool meeting_admits(const struct core *core)
{
    const struct core_meeting *meeting = &core->meeting;
    if (meeting_goes_by_tree(core)) {
        return meeting_stands(core) && !core->step.closed;
    }
    return lowest(core) == core->rank && !rankset_empty(&meeting->here) &&
           !meeting->mixed && meeting_is_boundary(core, &meeting->wanted) &&
           all_are_here(core);
}

bool meeting_waits_for_newcomers(const struct core *core, const moot_hash *purpose)
{
    return core->membership.paxos.joiner_count > 0 &&
           meeting_is_boundary(core, purpose) && !MUTANT(BOUNDARYOVER);
}

/* Tells those who came, and itself even if it has closed: there the outcome is taken as
 * anybody's. */
static void conclude(struct core *core)
{
    const uint32_t generation = core->meeting.wanted_generation;
    assert(lowest(core) == core->rank);
    const struct rankset *passed = &core->meeting.passed;
    const struct meeting_words *words = &core->meeting.said_here;
    const int32_t code = core->meeting.mixed    ? MOOT_ERR_STATE
                         : core->meeting.marked ? core->meeting.mark_code
                                                : words_code(words);
    const struct rankset *here = &core->meeting.here;
    const struct rankset *came = rankset_empty(here) ? NULL : out_copy_set(core, here);
    FOR_MEMBERS(core, rank)
    {
        bool hears =
            rankset_has(here, rank) || rankset_has(passed, rank) || rank == core->rank;
        struct message *message = hears ? agenda_send(core, rank, MESSAGE_MEET) : NULL;
        if (message != NULL) {
            message->u.meet = (struct message_meet){.what = MEET_MET,
                                                    .number = core->meeting.met + 1,
                                                    .code = code,
                                                    .came = came,
                                                    .generation = generation};
            if (generation != 0) {
                message->u.meet.snapshot = core->meeting.wanted;
            }
            if (code == MOOT_OK) {
                words_tell(core, words, &message->u.meet);
            }
        }
    }
    forget_arrivals(core);
}

/* The next view is about to, and all come to this meeting in that one. */
static bool lets_somebody_in(const struct core *core)
{
    const struct core_meeting *meeting = &core->meeting;
    return !rankset_empty(&meeting->here) && !meeting->mixed &&
           meeting_waits_for_newcomers(core, &meeting->wanted);
}

static void note_arrival(struct core *core, uint32_t from, const moot_hash *purpose,
                         const struct message_meet *meet)
{
    struct core_meeting *meeting = &core->meeting;
    if (rankset_has(&meeting->here, from) || rankset_has(&meeting->passed, from)) {
        core->stats.refused++; /* it says so once in a view, or it lies */
        return;
    }
    if (rankset_empty(&meeting->here)) {
        meeting->wanted = *purpose;
        meeting->wanted_generation = meet->generation;
    }
    meeting->mixed |= (!hash_equal(&meeting->wanted, purpose) && !MUTANT(MEETMIXED)) ||
                      (meeting->wanted_generation != 0) != (meet->generation != 0);
    if (meet->generation > meeting->wanted_generation) {
        meeting->wanted_generation = meet->generation;
    }
    const bool unnamed =
        MUTANT(MEETLAST) && rankset_count(&meeting->here) + 1 == core->member_count;
    if (!rankset_add(unnamed ? &meeting->passed : &meeting->here, from)) {
        core->broken = true;
    }
    if (!unnamed && !MUTANT(WORDSLOST)) {
        words_add(core, &meeting->said_here, meet->words, meet->words_size);
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
        note_arrival(core, from, &message->hash, &message->u.meet);
    } else { /* the outcome of the one before would have come first, or it lies */
        core->stats.refused++;
    }
}

/* A newcomer comes to no meeting up to this one, which has met, as some member knew
 * (M6).  Where that one has gone before it could say so, the others meet without. */
static void on_passed(struct core *core, uint32_t from, uint64_t number)
{
    if (number <= core->meeting.met) {
        meeting_say_outcome(core, from, core->meeting.met);
    } else if (number > core->meeting.met + 1) {
        core->stats.refused++; /* nobody can have heard of that, or it lies */
    } else if (!MUTANT(PASSWAIT) && !rankset_add(&core->meeting.passed, from)) {
        core->broken = true;
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
    words_release(&meeting->told);
    words_add(core, &meeting->told, meet->words, meet->words_size);
    meeting->marks = meeting->marked = false;
    meeting->told_generation = meet->generation;
    meeting->told_snapshot = meet->snapshot;
    if (meet->generation > meeting->tried) {
        meeting->tried = meet->generation;
    }
    if (meet->code == MOOT_OK && meet->generation > meeting->reload.generation) {
        meeting->reload = (struct message_reload){.generation = meet->generation,
                                                  .met = meet->number,
                                                  .snapshot = meet->snapshot};
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
        if (rankset_has(&meeting->passed, rank) && rank != core->rank) {
            meeting_say_outcome(core, rank, meeting->met);
        }
    }
    forget_arrivals(core);
}

static void on_met(struct core *core, uint32_t from, const struct message_meet *meet)
{
    const bool passing = meeting_is_passing(core);
    if (is_waiting(core) && meet->number >= core->meeting.number) {
        struct message_meet outcome = *meet;
        outcome.came = came_to(core, meet);
        put_out(core, &outcome);
    }
    if (meet->number > core->meeting.met && meeting_goes_by_tree(core)) {
        note_outcome(core, meet);
        meeting_tree_pass_on(core, from, meet);
    } else if (meet->number > core->meeting.met) {
        take_outcome(core, meet);
        if (passing && !meeting_is_passing(core) && is_waiting(core)) {
            say(core, lowest(core), MEET_ARRIVED, core->meeting.number);
        }
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
    } else if (meet->what == MEET_PASSED) {
        on_passed(core, from, meet->number);
    } else if (!rankset_add(&core->meeting.closed, from)) {
        core->broken = true;
    }
    if (lowest(core) == core->rank && all_are_here(core)) {
        core->meeting.held_up = lets_somebody_in(core) || meeting_marks(core);
        if (!core->meeting.held_up) {
            conclude(core);
        }
    }
}

/* A rank that a lack of a quorum has sent on from a boundary is still at that one. */
static void note_places(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    const uint32_t lanes = core->gossip.lane_count;
    if (!core->options.boundary || core->options.mode != CORE_STRICT) {
        return;
    }
    uint64_t *stood = core_resize(core, meeting->stood, lanes * sizeof(*stood));
    if (stood == NULL) {
        return;
    }
    for (uint32_t i = 0; i < lanes; i++) {
        stood[i] = core->gossip.lanes[i].len;
    }
    meeting->stood = stood;
    meeting->stood_lanes = lanes;
}

void meeting_name_places(const struct core *core, struct message_newcomer *newcomer)
{
    if (!MUTANT(BEGINSFIRST)) {
        newcomer->lanes = core->meeting.stood_lanes;
        newcomer->places = core->meeting.stood;
    }
}

int meeting_arrive(struct core *core, const moot_hash *purpose, const void *words,
                   size_t words_size)
{
    struct core_meeting *meeting = &core->meeting;
    if (is_waiting(core) || core->step.closed || meeting->reloads) {
        return MOOT_ERR_STATE;
    }
    if (words_size > LIMIT_WORDS_BYTES - WORDS_HEAD_BYTES) {
        return MOOT_ERR_LIMIT;
    }
    words_release(&meeting->own);
    words_say(core, &meeting->own, words, words_size);
    meeting->number++;
    meeting->purpose = *purpose;
    if (meeting_is_boundary(core, purpose)) {
        note_places(core);
    }
    if (is_waiting(core)) {
        if (meeting_goes_by_tree(core)) {
            meeting_tree_look(core);
        } else if (core->epoch > 0 && !meeting_is_passing(core)) {
            say(core, lowest(core), MEET_ARRIVED, meeting->number);
        }
        return MOOT_OK;
    }
    put_out(core, &(struct message_meet){.number = meeting->met,
                                         .code = meeting->code,
                                         .came = &meeting->came,
                                         .words = meeting->told.bytes,
                                         .words_size = meeting->told.size});
    return MOOT_OK;
}

int meeting_come_to_reload(struct core *core, const moot_hash *snapshot,
                           uint32_t generation)
{
    struct core_meeting *meeting = &core->meeting;
    if (core->options.joinable && !core->options.boundary) {
        return MOOT_ERR_UNSUPPORTED;
    }
    if (hash_is_zero(snapshot) || generation == UINT32_MAX) {
        return MOOT_ERR_INVALID;
    }
    if (is_waiting(core) || core->step.closed || meeting->reloads) {
        return MOOT_ERR_STATE;
    }
    const uint32_t known = generation > meeting->tried ? generation : meeting->tried;
    meeting->generation = MUTANT(RELOADSAME) ? 1 : known + 1;
    return meeting_arrive(core, snapshot, NULL, 0);
}

int meeting_marked(struct core *core, uint32_t generation, int32_t status)
{
    struct core_meeting *meeting = &core->meeting;
    if (status > MOOT_OK) {
        return MOOT_ERR_INVALID;
    }
    if (!meeting->marks || generation != meeting->wanted_generation) {
        return MOOT_OK; /* of a view that is over */
    }
    meeting->marks = meeting->held_up = false;
    meeting->marked = true;
    meeting->mark_code = status;
    if (meeting_goes_by_tree(core)) {
        meeting_tree_look(core);
    } else {
        conclude(core);
    }
    return MOOT_OK;
}

bool meeting_marks(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    if (meeting->wanted_generation == 0 || meeting->mixed || meeting->marked ||
        MUTANT(RELOADUNMARKED)) {
        return false;
    }
    struct core_output *output =
        !meeting->marks ? out_add(core, CORE_OUT_MARK, NULL) : NULL;
    if (output != NULL) {
        output->hash = meeting->wanted;
        output->u.mark.generation = meeting->wanted_generation;
    }
    return meeting->marks = true;
}

bool meeting_reload_is_due(const struct core *core)
{
    return core->meeting.reload.generation > core->reload.generation;
}

/* Views that this rank proposes say it, too. */
static void learn_reload(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    const struct message_reload *reload = &core->reload;
    meeting->reload = *reload;
    meeting->tried =
        reload->generation > meeting->tried ? reload->generation : meeting->tried;
}

void meeting_reload_before(struct core *core)
{
    if (!MUTANT(RELOADUNLEARNT)) {
        learn_reload(core);
    }
}

void meeting_reload(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    const struct message_reload *reload = &core->reload;
    if (meeting->met < reload->met) {
        const struct message_meet met = {.what = MEET_MET,
                                         .number = reload->met,
                                         .generation = reload->generation,
                                         .snapshot = reload->snapshot};
        note_outcome(core, &met);
    }
    learn_reload(core);
    meeting->reloads = false;
    meeting->generation = 0;
    free(meeting->stood);
    meeting->stood = NULL;
    meeting->stood_lanes = 0;
    struct core_output *output = out_add(core, CORE_OUT_RELOADED, NULL);
    if (output != NULL) {
        output->hash = reload->snapshot;
        output->u.reloaded.status = MOOT_OK;
        output->u.reloaded.generation = reload->generation;
    }
}

void meeting_close(struct core *core)
{
    assert(core->step.closed);
    if (core->meeting.number <= core->meeting.met ||
        !meeting_is_boundary(core, &core->meeting.purpose)) {
        note_places(core);
    }
    if (meeting_goes_by_tree(core)) {
        meeting_tree_look(core);
    } else if (core->epoch > 0) {
        say(core, lowest(core), MEET_CLOSED, core->meeting.met);
    }
}

void meeting_enter_view(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    meeting->from_due = meeting->held_up = false;
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
    if (meeting_is_passing(core)) {
        say(core, lowest(core), MEET_PASSED, meeting->from);
    } else if (is_waiting(core) && !MUTANT(MEETUNTOLD)) {
        say(core, lowest(core), MEET_ARRIVED, meeting->number);
    }
    if (core->step.closed && !MUTANT(MEETOPEN)) {
        say(core, lowest(core), MEET_CLOSED, meeting->met);
    }
}

void core_meet_from(struct core *core, uint64_t met)
{
    struct core_meeting *meeting = &core->meeting;
    assert(!is_waiting(core) && meeting->number <= met && met <= LIMIT_MEETINGS);
    meeting->number = meeting->from = met;
    if (core->epoch > 0 && met > 0) {
        meeting->from_due = true;
    } else if (met > 0 && meeting->met < met - 1) {
        meeting->met = met - 1; /* else nobody could have come to the last */
    }
}

uint64_t core_meetings(const struct core *core) { return core->meeting.number; }

void meeting_turn(struct core *core)
{
    struct core_meeting *meeting = &core->meeting;
    if (!meeting->from_due) {
        return;
    }
    meeting->from_due = false;
    if (meeting->met + 1 < meeting->from) {
        const struct message_meet before = {.what = MEET_MET,
                                            .number = meeting->from - 1};
        on_met(core, core->rank, &before);
    }
    if (meeting_goes_by_tree(core)) {
        meeting_tree_look(core);
        return;
    }
    if (meeting->met > 0 && lowest(core) != core->rank) {
        meeting_say_outcome(core, lowest(core), meeting->met);
    }
    if (meeting_is_passing(core)) {
        say(core, lowest(core), MEET_PASSED, meeting->from);
    }
}

void meeting_end(struct core *core)
{
    rankset_release(&core->meeting.here);
    rankset_release(&core->meeting.closed);
    rankset_release(&core->meeting.passed);
    rankset_release(&core->meeting.came);
    free(core->meeting.stood);
    words_release(&core->meeting.own);
    words_release(&core->meeting.told);
    words_release(&core->meeting.said_here);
    meeting_tree_end(core);
}
