/* wire_view_check.c - what the messages of the view layer must keep to (wire_check.c).
 *
 * A view that one rank believes and another does not is what these messages exist to
 * prevent, so they leave least to interpretation: lists are in order, a value stands
 * where its type has one and nowhere else.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"
#include "proto/error.h"
#include "proto/meet_words.h"
#include "proto/moot_error.h"

static_assert(LIMIT_RANKS <= 1u << BALLOT_RANK_BITS, "a ballot has room for its rank");

static const char *check_places(const struct message_newcomer *newcomer)
{
    if (newcomer->lanes > LIMIT_LANES) {
        return "a newcomer has too many lanes";
    }
    for (uint32_t lane = 0; lane < newcomer->lanes; lane++) {
        if (newcomer->places[lane] > LIMIT_ROLL_BEGINS) {
            return "a newcomer's roll begins beyond the limit";
        }
    }
    return NULL;
}

static const char *check_newcomers(const struct message_view *view)
{
    if (view->newcomers > LIMIT_NEWCOMERS) {
        return "a view has too many newcomers";
    }
    for (uint32_t i = 0; i < view->newcomers; i++) {
        const struct message_newcomer *newcomer = &view->newcomer[i];
        if (newcomer->rank >= LIMIT_RANKS) {
            return "a newcomer is beyond the limit";
        }
        if (newcomer->uid == 0) {
            return "a newcomer has no uid";
        }
        const char *why = check_places(newcomer);
        if (why != NULL) {
            return why;
        }
        if (i > 0 && newcomer->rank <= newcomer[-1].rank) {
            return "newcomers are not in order";
        }
    }
    return NULL;
}

/* Epochs count from 1 and go up to the view's own. */
static const char *check_past(const struct message_view *view)
{
    uint64_t before = 0;
    if (view->history == 0) {
        return "a view has no history";
    }
    if (view->history > LIMIT_PAST_VIEWS) {
        return "a view has too long a history";
    }
    for (uint32_t i = 0; i < view->history; i++) {
        const struct message_past *past = &view->past[i];
        if (past->members == NULL) {
            return "a past view has no members";
        }
        const char *why = wire_check_set(past->members);
        if (why != NULL) {
            return why;
        }
        if (past->epoch <= before || past->epoch >= view->epoch) {
            return "a view's epochs are not in order";
        }
        before = past->epoch;
    }
    return NULL;
}

static const char *check_losses(const struct message_view *view)
{
    const char *why = NULL;
    if (view->losses > (view->losses_cut ? 0 : LIMIT_LOSSES)) {
        return "a view tells of too many losses";
    }
    for (uint32_t i = 0; i < view->losses && why == NULL; i++) {
        const struct message_loss *loss = &view->loss[i];
        if (loss->epoch == 0 || loss->epoch >= view->epoch) {
            return "a loss is of no view before";
        }
        why = wire_check_set(loss->before);
        if (why == NULL) {
            why = wire_check_set(loss->after);
        }
    }
    return why;
}

static const char *check_left(const struct message_view *view)
{
    const char *why = wire_check_set_or_null(view->left);
    for (uint32_t rank = view->left != NULL ? rankset_next(view->left, 0) : UINT32_MAX;
         why == NULL && rank != UINT32_MAX; rank = rankset_next(view->left, rank + 1)) {
        if (rankset_has(view->members, rank)) {
            why = "a member of a view has left it";
        }
    }
    return why;
}

static const char *check_view_value(const struct message_view *view)
{
    if (view->members == NULL) {
        return "a view has no members";
    }
    const char *why = wire_check_set(view->members);
    if (why == NULL) {
        why = check_left(view);
    }
    if (why == NULL) {
        why = check_newcomers(view);
    }
    if (why == NULL) {
        why = check_past(view);
    }
    if (why == NULL) {
        why = check_losses(view);
    }
    const bool reloaded = view->reload.generation != 0;
    if (why == NULL && (reloaded != (view->reload.met != 0) ||
                        reloaded == hash_is_zero(&view->reload.snapshot) ||
                        view->reload.met > LIMIT_MEETINGS)) {
        why = "a view is of no such reload";
    }
    return why;
}

const char *wire_check_view(const struct message *message)
{
    return check_view_value(&message->u.view);
}

static const char *check_ballot(uint64_t ballot)
{
    if (ballot >> BALLOT_RANK_BITS == 0) {
        return "a ballot has no round";
    }
    if ((ballot & ((UINT64_C(1) << BALLOT_RANK_BITS) - 1)) >= LIMIT_RANKS) {
        return "a ballot's proposer is beyond the limit";
    }
    return NULL;
}

const char *wire_check_paxos(const struct message *message)
{
    const struct message_paxos *paxos = &message->u.paxos;
    bool promise = message->type == MESSAGE_PROMISE || message->type == MESSAGE_PROPOSE;
    const char *why = check_ballot(paxos->ballot);
    if (why == NULL && paxos->accepted != 0) {
        why = promise ? check_ballot(paxos->accepted)
                      : "only PROMISE and PROPOSE tell what was accepted";
    }
    if (why == NULL) {
        why = wire_check_set_or_null(paxos->dead);
    }
    if (why == NULL) {
        why = wire_check_set_or_null(paxos->heard);
    }
    if (why != NULL) {
        return why;
    }
    if (paxos->accepted > paxos->ballot) {
        return "a ballot below what was accepted";
    }
    if (paxos->heard != NULL && message->type != MESSAGE_REJECT) {
        return "only a REJECT tells who is heard";
    }
    bool valued = message->type == MESSAGE_PROPOSE || paxos->accepted != 0;
    if (valued != (paxos->value != NULL)) {
        return valued ? "a ballot's value is missing" : "a value that belongs nowhere";
    }
    return valued ? check_view_value(paxos->value) : NULL;
}

/* A result ends well or badly, a verdict badly, and nothing else of what is reported
 * ends. */
static bool is_end(const struct message_entry *entry)
{
    const bool may_end = entry->what == REPORT_RESULT || entry->what == REPORT_VERDICT;
    return entry->code == 0 ? entry->what != REPORT_VERDICT
                            : may_end && error_known(entry->code);
}

const char *wire_check_report(const struct message *message)
{
    const struct message_report *report = &message->u.report;
    if (report->count > LIMIT_REPORT_ENTRIES) {
        return "REPORT: too many entries";
    }
    for (uint32_t i = 0; i < report->count; i++) {
        const struct message_entry *entry = &report->entry[i];
        if (hash_is_zero(&entry->hash)) {
            return "a hash in a list is zero";
        }
        if (entry->what > REPORT_SUSPECT) {
            return "REPORT: no such thing to report";
        }
        if (entry->owner >= LIMIT_RANKS) {
            return "REPORT: an owner is beyond the limit";
        }
        if (entry->evidence >= EVIDENCE_END) {
            return "REPORT: no such evidence";
        }
        if (!is_end(entry)) {
            return "REPORT: no such end of a task";
        }
    }
    return NULL;
}

const char *wire_check_fenced(const struct message *message)
{
    return message->u.fenced.epoch != 0 ? NULL : "FENCED: from no view";
}

const char *wire_check_join(const struct message *message)
{
    if (message->u.join.uid == 0) {
        return "JOIN: a newcomer without a uid";
    }
    return message->u.join.rank < LIMIT_RANKS ? NULL
                                              : "JOIN: a number beyond the limit";
}

const char *wire_check_tally(const struct message *message)
{
    return (unsigned)message->u.tally.what < TALLY_END ? NULL : "no such tally";
}

const char *wire_check_leave(const struct message *message)
{
    return (unsigned)message->u.leave.what < LEAVE_END ? NULL : "no such leave";
}

const char *wire_check_meet(const struct message *message)
{
    const struct message_meet *meet = &message->u.meet;
    if ((unsigned)meet->what >= MEET_END) {
        return "no such meeting";
    }
    if ((meet->number == 0 && meet->what != MEET_CLOSED) ||
        meet->number > LIMIT_MEETINGS) {
        return "MEET: no such number";
    }
    const bool reloads = meet->generation != 0;
    if (meet->code > MOOT_OK ||
        (meet->code != MOOT_OK && meet->code != MOOT_ERR_STATE &&
         meet->code != MOOT_ERR_LIMIT && !reloads)) {
        return "MEET: no such outcome";
    }
    if (meet->words_size > LIMIT_WORDS_BYTES) {
        return "MEET: its words are too long";
    }
    if (!words_are_whole(meet->words, meet->words_size)) {
        return "MEET: its words are not whole";
    }
    return wire_check_set_or_null(meet->came);
}
