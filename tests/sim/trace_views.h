/* trace_views.h - the models' transitions between views: *Entering*, and a view's past.
 *
 * Entering, reporting, reading the reports, settling, and MAYBE_RAN, as pure.pml and
 * once.pml have them.  trace_rules.h says what a rule is.
 */
#ifndef TESTS_SIM_TRACE_VIEWS_H
#define TESTS_SIM_TRACE_VIEWS_H

#include "tests/sim/trace_rules.h"

/* What the REPORTs of the view just entered must say of the key. */
static inline void owe_report(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    bool moved = is_moved(trace, rank, task);
    bool runs = place->own == OWN_WAIT || place->own == OWN_RUN;
    place->owes_own = runs && moved;
    place->owes_result =
        !runs && place->res != REC_NONE && (moved || has_left(trace, rank, place->res));
    place->owes_acceptance =
        place->acc != REC_NONE &&
        (place->acc == REC_MAYBE || moved || has_left(trace, rank, place->acc));
    place->owed_res = place->res;
    place->owed_payload = place->have == HAVE_DATA;
    place->owed_acc = place->acc;
    place->owed_acc_epoch = place->acc_epoch;
}

/* Takes an entry for an answer; `from` may be the chair itself. */
static inline void gather(struct trace *trace, uint32_t rank, uint32_t from,
                          uint32_t task, const struct message_entry *entry)
{
    struct place *place = place_of(trace, rank, task);
    switch (entry->what) {
    case REPORT_OWN:
        GUARD(place->rep_own == REC_NONE || place->rep_own == (int)from, "Entering",
              "two ranks report that they run it (I7)");
        place->rep_own = (int)from;
        break;
    case REPORT_RESULT:
        GUARD(place->rep_res == REC_NONE || place->rep_res == (int)entry->owner,
              "Entering", "results of two owners are reported (I7)");
        place->rep_res = (int)entry->owner;
        if (entry->has_payload) {
            place->rep_at |= BIT(from);
        }
        break;
    case REPORT_ACCEPTED:
    case REPORT_MAYBE:
        place->rep_maybe |= entry->what == REPORT_MAYBE;
        if (entry->epoch > place->rep_acc_epoch) {
            place->rep_acc_epoch = entry->epoch;
            place->rep_acc =
                entry->what == REPORT_MAYBE ? REC_MAYBE : (int)entry->owner;
        }
        break;
    case REPORT_LOST:    /* not in the models: it keeps a chair from running it again */
    case REPORT_SEEN:    /* nor this: from cancelling it */
    case REPORT_VERDICT: /* nor verdicts: nobody runs what one is about */
    case REPORT_CRASH:   /* nor deaths of its own fault, which lead to one, */
    case REPORT_SUSPECT: /* and those that may be: any host may run anything alone */
        break;
    }
}

/* The chair's own REPORT to itself is no message. */
static inline void gather_own(struct trace *trace, uint32_t rank, uint32_t task)
{
    const struct place *place = place_of(trace, rank, task);
    struct message_entry entry = {.owner = rank, .what = REPORT_OWN};
    if (place->owes_own) {
        gather(trace, rank, rank, task, &entry);
    }
    if (place->owes_result) {
        entry.what = REPORT_RESULT;
        entry.owner = (uint32_t)place->owed_res;
        entry.has_payload = place->owed_payload;
        gather(trace, rank, rank, task, &entry);
    }
    if (place->owes_acceptance) {
        entry.what = place->owed_acc == REC_MAYBE ? REPORT_MAYBE : REPORT_ACCEPTED;
        entry.owner = (uint32_t)place->owed_acc;
        entry.epoch = place->owed_acc_epoch;
        gather(trace, rank, rank, task, &entry);
    }
}

/* Silence about the ballots of every view of the past after the acceptance found. */
static inline bool is_conclusive(const struct trace *trace, uint32_t rank,
                                 uint32_t task)
{
    const struct party *party = &trace->parties[rank];
    uint64_t members = members_at(trace, rank);
    for (uint32_t i = 0; i < party->past.count; i++) {
        uint64_t epoch = party->past.epochs[i];
        uint32_t quorum;
        uint64_t voters = voters_in(trace, task, epoch, &quorum);
        if (epoch > party->places[task].rep_acc_epoch &&
            !HAS(members, chair_in(trace, task, epoch)) &&
            count_of(voters & ~members) >= quorum) {
            return false;
        }
    }
    return true;
}

/* once.pml read() and pure.pml settle(): the record that the reports give. */
static inline int read_key(const struct trace *trace, uint32_t rank, uint32_t task)
{
    const struct place *place = &trace->parties[rank].places[task];
    if (place->rep_res != REC_NONE &&
        (place->rep_at != 0 || !has_left(trace, rank, place->rep_res))) {
        return place->rep_res;
    }
    if (place->rep_res == REC_NONE && place->rep_own != REC_NONE) {
        return place->rep_own;
    }
    if (!is_once(trace, task) || trace->program->tasks[task].idempotent) {
        return REC_NONE; /* with all payloads lost it is run again */
    }
    if (place->rep_res != REC_NONE || place->rep_maybe ||
        has_left(trace, rank, place->rep_acc) || !is_conclusive(trace, rank, task)) {
        return REC_MAYBE;
    }
    return REC_NONE;
}

static inline void rule_read(struct trace *trace, uint32_t rank)
{
    struct party *party = &trace->parties[rank];
    party->read = true;
    trace->counts[RULE_READ]++;
    for (uint32_t task = 0; task < trace->tasks; task++) {
        struct place *place = &party->places[task];
        if (is_modelled(trace, task) && place->frozen &&
            chair_at(trace, task, rank) == rank) {
            place->rec = read_key(trace, rank, task);
            place->final = place->rec != REC_NONE;
        }
    }
}

/* MAYBE because nobody reports anything.  The model accepts that again, too; the code
 * keeps the loss that it follows from, for good, and draws the conclusion when it first
 * hears of the task (silence.c). */
static inline bool is_mere_silence(const struct place *place)
{
    return place->rec == REC_MAYBE && place->prop == REC_NONE &&
           place->rep_own == REC_NONE && place->rep_res == REC_NONE &&
           place->rep_acc == REC_NONE && !place->rep_maybe;
}

static inline void rule_settle(struct trace *trace, uint32_t rank)
{
    struct party *party = &trace->parties[rank];
    uint32_t task = trace->tasks;
    trace->counts[RULE_SETTLE]++;
    GUARD(party->read, "Entering", "settles, and a REPORT is missing");
    for (task = 0; task < trace->tasks; task++) {
        struct place *place = &party->places[task];
        if (!is_modelled(trace, task) || chair_at(trace, task, rank) != rank) {
            continue;
        }
        place->frozen = false;
        if (!is_once(trace, task) || place->rec == REC_NONE || is_mere_silence(place)) {
            continue;
        }
        GUARD(is_accepted(trace, rank, task), "Entering",
              "settles, and the record is not accepted again");
        place->prop = place->acc =
            place->rec; /* said by no message if it votes alone */
        place->acc_epoch = party->epoch;
    }
    party->settled = true;
    trace->views[party->epoch].settled |= BIT(rank);
    party->told_settled |= BIT(rank);
}

/* The chair of a key in the view that it enters. */
static inline void enter_key(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    bool unfinished = place->prop != REC_NONE && !place->final;
    bool undecided = place->frozen && place->rec == REC_NONE;
    place_new_view(place);
    if (chair_at(trace, task, rank) != rank) {
        place->rec = REC_NONE;
        place->frozen = place->final = false;
    } else if (is_moved(trace, rank, task) || has_left(trace, rank, place->rec) ||
               unfinished || undecided) {
        place->rec = REC_NONE;
        place->final = false;
        place->frozen = true;
    } else {
        place->frozen = false;
    }
}

static inline void enter_place(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    const struct party *party = &trace->parties[rank];
    enter_key(trace, rank, task);
    owe_report(trace, rank, task);
    if (is_modelled(trace, task) && chair_at(trace, task, rank) == rank) {
        gather_own(trace, rank, task);
    }
    if (place->have == HAVE_BARE && has_left(trace, rank, place->res)) {
        place->have = HAVE_NOTHING; /* the bytes went with it */
        place->res = REC_NONE;
    }
    place->local_ask = place->waits > 0;
    for (uint32_t i = task + 1; i < trace->tasks; i++) {
        if (party->places[i].own == OWN_WAIT && is_missing(trace, rank, i, task)) {
            place->local_ask = true;
        }
    }
}

static inline void rule_enter(struct trace *trace, uint32_t rank, uint64_t epoch,
                              uint64_t members)
{
    struct party *party = &trace->parties[rank];
    uint32_t task = trace->tasks;
    trace->counts[RULE_ENTER]++;
    GUARD(epoch > party->epoch && HAS(members, rank), "Entering",
          "enters a view that is not its next");
    GUARD(!trace->views[epoch].known || trace->views[epoch].members == members, "V1",
          "a second view of one number (I12)");
    trace->views[epoch].known = true;
    trace->views[epoch].members = members;
    if (party->offer_epoch == epoch) {
        party->past = party->offer;
    } else { /* decided without anybody to tell: its own value */
        if ((members_at(trace, rank) & ~party->told_settled) == 0) {
            party->past.count = 0;
        }
        party->past.epochs[party->past.count++] = party->epoch;
    }
    party->epoch = epoch;
    party->reported = BIT(rank);
    party->told_settled = 0;
    party->read = party->settled = false;
    for (task = 0; task < trace->tasks; task++) {
        enter_place(trace, rank, task);
    }
    if (members == BIT(rank)) {
        rule_read(trace, rank);
        rule_settle(trace, rank);
    }
}

/* A view's past: the one before it, longer by one view, or, if that was settled by all
 * of its members, that view alone (pure.pml HIST_FROM). */
static inline void rule_hist(struct trace *trace, uint32_t rank,
                             const struct message_view *value)
{
    const struct party *party = &trace->parties[rank];
    uint32_t task = trace->tasks, kept = 0;
    trace->counts[RULE_HIST]++;
    GUARD(value->epoch == party->epoch + 1, "V1", "proposes a view that is not next");
    GUARD(value->history > 0 && value->past[value->history - 1].epoch == party->epoch,
          "V1", "a past that does not end with the present view");
    while (kept < value->history - 1 && kept < party->past.count &&
           value->past[kept].epoch == party->past.epochs[kept]) {
        kept++;
    }
    bool whole = kept == value->history - 1 && kept == party->past.count;
    bool all = (members_at(trace, rank) & ~trace->views[party->epoch].settled) == 0;
    GUARD(whole || (value->history == 1 && all), "V1",
          "a past that begins where not everyone had settled");
}

static inline void rule_report(struct trace *trace, uint32_t rank, uint32_t to,
                               const struct message_report *report)
{
    uint32_t task = trace->tasks;
    trace->counts[RULE_REPORT]++;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct message_entry *entry = &report->entry[i];
        task = sim_task(trace->sim, &entry->hash);
        if (!is_modelled(trace, task)) {
            continue;
        }
        const struct place *place = place_of(trace, rank, task);
        GUARD(chair_at(trace, task, rank) == to, "Entering",
              "reports to one that is not the chair");
        GUARD(entry->what != REPORT_OWN || place->owes_own, "Entering",
              "reports that it owns what it does not");
        GUARD(entry->what != REPORT_RESULT ||
                  (entry->owner == (uint32_t)place->owed_res && place->owes_result),
              "Entering", "reports a result that it has not got");
        GUARD(entry->what != REPORT_ACCEPTED ||
                  (entry->owner == (uint32_t)place->owed_acc &&
                   entry->epoch == place->owed_acc_epoch),
              "Entering", "reports what it has not accepted");
    }
}

/* Nothing that the chair must know is left out of one whole REPORT. */
static inline void rule_report_whole(struct trace *trace, uint32_t rank, uint32_t to,
                                     const struct message_report *report)
{
    uint32_t task;
    for (task = 0; task < trace->tasks; task++) {
        const struct place *place = place_of(trace, rank, task);
        if (!is_modelled(trace, task) || chair_at(trace, task, rank) != to) {
            continue;
        }
        bool own = false, result = false, acceptance = false;
        for (uint32_t i = 0; i < report->count; i++) {
            const struct message_entry *entry = &report->entry[i];
            if (sim_task(trace->sim, &entry->hash) != task) {
                continue;
            }
            own |= entry->what == REPORT_OWN;
            result |= entry->what == REPORT_RESULT;
            acceptance |= entry->what == REPORT_ACCEPTED || entry->what == REPORT_MAYBE;
        }
        GUARD(own || !place->owes_own, "Entering", "does not report what it owns");
        GUARD(result || !place->owes_result, "Entering",
              "does not report a result that it has");
        GUARD(acceptance || !place->owes_acceptance, "Entering",
              "does not report what it has accepted");
    }
}

static inline void rule_maybe(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_MAYBE]++;
    GUARD(is_once(trace, task) && chair_at(trace, task, rank) == rank, "MAYBE",
          "says so, and is not the chair of a once task");
    GUARD(!place->frozen, "MAYBE", "the key is frozen (I8)");
    GUARD(place->rec == REC_MAYBE ||
              (place->rec == REC_NONE && place->prop == REC_NONE),
          "MAYBE", "the record has an owner");
    place->rec = REC_MAYBE; /* of an older loss than the model remembers: safe */
    place->acc = REC_MAYBE;
}

#endif
