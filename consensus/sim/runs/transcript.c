/* transcript.c - sights as sentences. */
#include "consensus/sim/runs/transcript.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

struct narrator {
    const struct program *program;
    FILE *to;
    enum narrator_detail detail;
    uint64_t *needs;  /* per task: the least demand bound that a motion has carried */
    uint32_t *chairs; /* per task */
};

struct narrator *narrator_new(const struct program *program, FILE *to,
                              enum narrator_detail detail)
{
    struct narrator *narrator = calloc(1, sizeof(*narrator));
    uint64_t *needs = calloc(program->task_count + 1, sizeof(*needs));
    uint32_t *chairs = calloc(program->task_count + 1, sizeof(*chairs));
    if (narrator == NULL || needs == NULL || chairs == NULL) {
        abort();
    }
    for (uint32_t i = 0; i <= program->task_count; i++) {
        needs[i] = NEED_NONE;
    }
    *narrator = (struct narrator){program, to, detail, needs, chairs};
    return narrator;
}

void narrator_free(struct narrator *narrator)
{
    if (narrator != NULL) {
        free(narrator->needs);
        free(narrator->chairs);
    }
    free(narrator);
}

static const char *name(const struct narrator *narrator, uint32_t task)
{
    return task < narrator->program->task_count ? narrator->program->tasks[task].name
                                                : "?";
}

static void say(const struct narrator *narrator, const struct sight *sight,
                const char *format, ...) __attribute__((format(printf, 3, 4)));

static void say(const struct narrator *narrator, const struct sight *sight,
                const char *format, ...)
{
    fprintf(narrator->to, "%9.3f ms  rank %" PRIu32 " ", (double)sight->time_ns / 1e6,
            sight->rank);
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(narrator->to, format, arguments);
    va_end(arguments);
    fputc('\n', narrator->to);
}

static const char *error_name(int32_t code)
{
    switch (code) {
#define X(error, number, text)                                                         \
    case number:                                                                       \
        return #error;
        MOOT_ERRORS(X)
#undef X
    default:
        return code == MOOT_OK ? "OK" : "?";
    }
}

/* --- Messages --------------------------------------------------------------------- */

/* "it holds it; the waiter stands at position 2" */
static void describe_motion(const struct message_motion *motion, char *text,
                            size_t size)
{
    const char *holds =
        motion->holds   ? motion->hint ? "it holds it, conditionally" : "it holds it"
        : motion->final ? "it never will hold it"
                        : "it does not hold it";
    if (motion->want == WANT_NOTHING) {
        (void)snprintf(text, size, "%s", holds);
    } else if (motion->need == 0) {
        (void)snprintf(text, size, "%s; the waiter lacks it", holds);
    } else if (motion->need == NEED_NONE) {
        (void)snprintf(text, size, "%s; nobody's lane waits", holds);
    } else {
        (void)snprintf(text, size, "%s; the waiter stands at position %" PRIu64, holds,
                       motion->need);
    }
}

static void say_motion(struct narrator *narrator, const struct sight *sight)
{
    const struct message_motion *motion = &sight->message->u.motion;
    char text[128];
    describe_motion(motion, text, sizeof(text));
    uint64_t *need = &narrator->needs[sight->task];
    if (motion->want != WANT_NOTHING && motion->need < *need) {
        *need = motion->need;
    }
    bool chair = sight->peer == narrator->chairs[sight->task];
    say(narrator, sight, "%s %s %" PRIu32 " %s \"%s\" (%s%s)",
        motion->want == WANT_NOTHING ? "tells" : "asks", chair ? "chair" : "rank",
        sight->peer, motion->want == WANT_NOTHING ? "about" : "for",
        name(narrator, sight->task), text,
        motion->spec != NULL ? "; the spec comes along" : "");
}

static void say_decision(const struct narrator *narrator, const struct sight *sight)
{
    const struct message_decision *decision = &sight->message->u.decision;
    char text[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < decision->asker_count; i++) {
        if (decision->askers[i].want != WANT_NOTHING && length + 16 < sizeof(text)) {
            length += (size_t)snprintf(text + length, sizeof(text) - length,
                                       "%s rank %" PRIu32, length > 0 ? "," : "",
                                       decision->askers[i].rank);
        }
    }
    say(narrator, sight,
        "tells rank %" PRIu32 " that it owns \"%s\"%s%s (others who wait:%s)",
        sight->peer, name(narrator, sight->task),
        decision->cancelled_by != 0 ? ", which is cancelled" : "",
        decision->seen ? ", which has ended well before" : "",
        length > 0 ? text : " none");
}

static void say_result(const struct narrator *narrator, const struct sight *sight)
{
    const struct message_result *result = &sight->message->u.result;
    if (result->handover && result->status == MOOT_OK) {
        say(narrator, sight, "hands the result of \"%s\" over to rank %" PRIu32,
            name(narrator, sight->task), sight->peer);
        return;
    }
    static const char *const ways[] = {"without its bytes", "with its bytes",
                                       "with its bytes to follow in bulk"};
    if (result->status != MOOT_OK) {
        say(narrator, sight, "sends rank %" PRIu32 " the failure of \"%s\" (%s)",
            sight->peer, name(narrator, sight->task), error_name(result->status));
    } else {
        say(narrator, sight, "sends rank %" PRIu32 " the result of \"%s\" %s",
            sight->peer, name(narrator, sight->task), ways[result->data]);
    }
}

static void say_resolve(const struct narrator *narrator, const struct sight *sight)
{
    say(narrator, sight, "tells chair %" PRIu32 " that all is quiet: %s \"%s\"",
        sight->peer,
        sight->message->u.resolve.what == RESOLVE_YIELD ? "yield" : "nobody holds",
        name(narrator, sight->task));
}

/* Messages that a story leaves out.  It tells of meetings, and of ends, anyway. */
static bool is_chatter(enum message_type type)
{
    return type == MESSAGE_ROLL || type == MESSAGE_WANT || type == MESSAGE_HASHES ||
           type == MESSAGE_STATE || type == MESSAGE_POLL || type == MESSAGE_POLLR ||
           type == MESSAGE_ADJOURN || type == MESSAGE_HEARTBEAT ||
           type == MESSAGE_GRANT || type == MESSAGE_MEET;
}

static void say_ballot(const struct narrator *narrator, const struct sight *sight)
{
    const struct message_paxos *paxos = &sight->message->u.paxos;
    char heard[64] = "none", members[64] = "none";
    if (paxos->heard != NULL) {
        rankset_format(paxos->heard, heard, sizeof(heard));
    }
    if (paxos->value != NULL) {
        rankset_format(paxos->value->members, members, sizeof(members));
    }
    say(narrator, sight,
        "sends %s to rank %" PRIu32 ": ballot %" PRIu64 ".%" PRIu64
        ", value %s, hears %s",
        message_type_name(sight->message->type), sight->peer,
        paxos->ballot >> BALLOT_RANK_BITS,
        paxos->ballot & ((UINT64_C(1) << BALLOT_RANK_BITS) - 1), members, heard);
}

static void say_leave(const struct narrator *narrator, const struct sight *sight)
{
    static const char *const words[LEAVE_END] = {
        [LEAVE_GOING] = "it is about to leave",
        [LEAVE_RETURN] = "it returns",
        [LEAVE_REFUSE] = "it will not run",
        [LEAVE_TAKEN] = "it has taken",
        [LEAVE_AGAIN] = "no bytes have come of",
        [LEAVE_READY] = "it is ready to leave, and starts nothing more",
        [LEAVE_KEEP] = "it is to keep"};
    enum leave_what what = sight->message->u.leave.what;
    bool of_task = sight->task < narrator->program->task_count;
    say(narrator, sight, "tells rank %" PRIu32 " that %s%s%s%s", sight->peer,
        words[what],
        of_task               ? " \""
        : what == LEAVE_TAKEN ? " what was accepted"
                              : "",
        of_task ? name(narrator, sight->task) : "", of_task ? "\"" : "");
}

static void say_snapshot(const struct narrator *narrator, const struct sight *sight)
{
    const struct message_snapshot *it = &sight->message->u.snapshot;
    const bool good = it->status == MOOT_OK;
    if (it->what == SNAPSHOT_ASK) {
        say(narrator, sight, "asks rank %" PRIu32 " for the snapshot \"%.*s\"",
            sight->peer, (int)it->name_size, it->name);
    } else if (it->what == SNAPSHOT_CUT) {
        say(narrator, sight, "tells rank %" PRIu32 " to make cut %" PRIu32, sight->peer,
            it->number);
    } else if (it->what == SNAPSHOT_PREPARED) {
        say(narrator, sight,
            "tells rank %" PRIu32 " that its part of cut %" PRIu32 " %s", sight->peer,
            it->number, good ? "is durable" : "cannot be");
    } else {
        say(narrator, sight, "tells rank %" PRIu32 " that the snapshot \"%.*s\" %s",
            sight->peer, (int)it->name_size, it->name, good ? "exists" : "cannot be");
    }
}

/* "0-3,8" of elements, by place; whoever reads it has room for a few. */
static void describe_places(const struct range *ranges, uint32_t count, char *text,
                            size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count && used < size; i++) {
        const uint64_t last = ranges[i].end - 1;
        const int n = ranges[i].first == last
                          ? snprintf(text + used, size - used, "%s%" PRIu64,
                                     i > 0 ? "," : "", last)
                          : snprintf(text + used, size - used, "%s%" PRIu64 "-%" PRIu64,
                                     i > 0 ? "," : "", ranges[i].first, last);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void say_elements(const struct narrator *narrator, const struct sight *sight)
{
    static const char *const words[ELEMENTS_END] = {
        [ELEMENTS_ENDED] = "that they have ended",
        [ELEMENTS_OWNED] = "that they are its own",
        [ELEMENTS_WANTED] = "that they are waited for",
        [ELEMENTS_LEFT] = "that it runs none of them",
        [ELEMENTS_YOURS] = "to run them",
        [ELEMENTS_PART] = "that it has spawned these alone",
        [ELEMENTS_HELD] = "that nobody is known to have spawned them",
        [ELEMENTS_BACK] = "that it has not spawned them",
    };
    const struct message_elements *it = &sight->message->u.elements;
    char places[128] = "";
    describe_places(it->ranges, it->range_count, places, sizeof(places));
    say(narrator, sight, "tells rank %" PRIu32 " of the elements at %s of \"%s\" %s%s",
        sight->peer, places, name(narrator, sight->task), words[it->what],
        it->spec != NULL ? " (the spec comes along)" : "");
}

static void say_other_send(const struct narrator *narrator, const struct sight *sight)
{
    const char *task = name(narrator, sight->task);
    enum message_type type = sight->message->type;
    uint32_t peer = sight->peer;
    if (type == MESSAGE_PULL) {
        say(narrator, sight, "asks owner %" PRIu32 " for the bytes of \"%s\"", peer,
            task);
    } else if (type == MESSAGE_SEEK) {
        say(narrator, sight, "asks rank %" PRIu32 " whether it holds \"%s\"", peer,
            task);
    } else if (type == MESSAGE_REFER) {
        say(narrator, sight, "tells rank %" PRIu32 " the candidates of \"%s\"", peer,
            task);
    } else if (type == MESSAGE_ACCEPT) {
        say(narrator, sight,
            "asks voter %" PRIu32 " to accept rank %" PRIu32 " for \"%s\"", peer,
            sight->message->u.accept.winner, task);
    } else if (type == MESSAGE_ACK) {
        say(narrator, sight, "accepts and tells chair %" PRIu32 " so", peer);
    } else if (type == MESSAGE_VERDICT) {
        say(narrator, sight, "tells rank %" PRIu32 " that its wait for \"%s\" ends: %s",
            peer, task, error_name(sight->message->u.verdict.code));
    } else if (type == MESSAGE_CHASE) {
        say(narrator, sight, "asks rank %" PRIu32 " what \"%s\" waits for", peer, task);
    } else if (type == MESSAGE_CANCEL) {
        say(narrator, sight, "asks rank %" PRIu32 " to cancel \"%s\"", peer, task);
    } else if (type == MESSAGE_LEAVE) {
        say_leave(narrator, sight);
    } else if (type == MESSAGE_ELEMENTS) {
        say_elements(narrator, sight);
    } else if (type == MESSAGE_SNAPSHOT) {
        say_snapshot(narrator, sight);
    } else if (message_is(type, MESSAGE_IS_PAXOS)) {
        say_ballot(narrator, sight);
    } else if (type == MESSAGE_POLLR) {
        say(narrator, sight,
            "answers rank %" PRIu32 "'s poll: %s%s%s; sent %" PRIu64
            ", received %" PRIu64,
            peer, sight->message->u.pollr.resting ? "rests" : "is busy",
            sight->message->u.pollr.passive ? ", passive" : "",
            sight->message->u.pollr.closed ? ", closed" : "",
            sight->message->u.pollr.sent, sight->message->u.pollr.received);
    } else {
        say(narrator, sight, "sends %s to rank %" PRIu32, message_type_name(type),
            peer);
    }
}

static void say_send(struct narrator *narrator, const struct sight *sight)
{
    enum message_type type = sight->message->type;
    if (is_chatter(type) && narrator->detail == NARRATOR_STORY) {
        return;
    }
    if (type == MESSAGE_MOTION) {
        say_motion(narrator, sight);
    } else if (type == MESSAGE_DECISION) {
        say_decision(narrator, sight);
    } else if (type == MESSAGE_RESULT) {
        say_result(narrator, sight);
    } else if (type == MESSAGE_RESOLVE) {
        say_resolve(narrator, sight);
    } else {
        say_other_send(narrator, sight);
    }
}

/* --- Everything else -------------------------------------------------------------- */

/* Why the chair gives the task away; follows "rank 1 ". */
static void describe_evidence(const struct narrator *narrator,
                              const struct sight *sight, char *text, size_t size)
{
    uint64_t need = narrator->needs[sight->task];
    switch (sight->evidence) {
    case EVIDENCE_CLOSED:
        (void)snprintf(text, size, "has come to its end without it");
        break;
    case EVIDENCE_DECLINED:
        (void)snprintf(text, size, "has declined it");
        break;
    case EVIDENCE_HINT:
        (void)snprintf(text, size, "heard that it is conditional");
        break;
    case EVIDENCE_NESTED:
        (void)snprintf(text, size, "sees that a running task spawned it");
        break;
    case EVIDENCE_BLOCKED:
        if (need == 0 || need == NEED_NONE) {
            (void)snprintf(text, size, "is blocked, and the waiter lacks it");
        } else {
            (void)snprintf(text, size, "is blocked at or past position %" PRIu64, need);
        }
        break;
    case EVIDENCE_TIMEOUT:
        (void)snprintf(text, size, "has kept the asker waiting for the vote timeout");
        break;
    case EVIDENCE_QUIET:
        (void)snprintf(text, size, "hears that nothing moves any more");
        break;
    case EVIDENCE_NONE:
    case EVIDENCE_CLAIM:
    case EVIDENCE_END:
    default:
        (void)snprintf(text, size, "has evidence %s", evidence_name(sight->evidence));
        break;
    }
}

static void say_note(const struct narrator *narrator, const struct sight *sight)
{
    char text[128];
    if (sight->point == CORE_POINT_CLAIM) {
        say(narrator, sight, "chairs \"%s\" and claims it",
            name(narrator, sight->task));
    } else if (sight->point == CORE_POINT_VOTE_CAST) {
        describe_evidence(narrator, sight, text, sizeof(text));
        say(narrator, sight, "%s: it yields \"%s\" to rank %" PRIu32, text,
            name(narrator, sight->task), sight->peer);
    }
}

static void say_verdict(const struct narrator *narrator, struct sim *sim,
                        const struct sight *sight)
{
    char text[256] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < sight->chain_count && length + 32 < sizeof(text); i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s\"%s\"",
                                   i == 0 ? ", the circle being " : " before ",
                                   name(narrator, sim_task(sim, &sight->chain[i])));
    }
    say(narrator, sight, "learns of \"%s\": %s%s", name(narrator, sight->task),
        error_name(sight->code), text);
}

static void say_crash(const struct narrator *narrator, const struct sim *sim,
                      const struct sight *sight)
{
    if (sight->task < sim_program(sim)->task_count) {
        say(narrator, sight, "dies of \"%s\"", name(narrator, sight->task));
    } else {
        say(narrator, sight, "dies");
    }
}

static void say_lane(const struct narrator *narrator, const struct sight *sight)
{
    static const char *const states[] = {"runs", "blocks", "waits for a while",
                                         "is parked", "ends"};
    if (narrator->detail == NARRATOR_EVERYTHING) {
        say(narrator, sight, "lane %" PRIu32 " %s", sight->lane, states[sight->code]);
    }
}

static void say_view(const struct narrator *narrator, const struct sight *sight)
{
    char members[128];
    rankset_format(sight->members, members, sizeof(members));
    say(narrator, sight, "enters view %" PRIu64 " of ranks %s", sight->epoch, members);
}

static void say_fault(const struct narrator *narrator, const struct sim *sim,
                      const struct sight *sight)
{
    char rule[256];
    plan_rule_format(&sim_plan(sim)->rules[sight->code], rule, sizeof(rule));
    if (sight->peer == UINT32_MAX) {
        say(narrator, sight, "is struck by %s", rule);
    } else {
        say(narrator, sight, "is struck by %s on its way to rank %" PRIu32, rule,
            sight->peer);
    }
}

static void say_signature(const struct narrator *narrator, const struct sight *sight)
{
    static const char *const how[] = {"has another signature than it",
                                      "has another signature than most",
                                      "has announced otherwise than it says"};
    say(narrator, sight, "is told that rank %" PRIu32 " %s, at %" PRIu64, sight->peer,
        how[sight->code], sight->step);
}

static void say_met(const struct narrator *narrator, const struct sight *sight)
{
    char members[128] = "others";
    if (sight->members != NULL) {
        rankset_format(sight->members, members, sizeof(members));
    }
    say(narrator, sight, "has met at meeting %" PRIu64 " with %s%s%s", sight->meeting,
        members, sight->code == MOOT_OK ? "" : ": ",
        sight->code == MOOT_OK ? "" : error_name(sight->code));
}

static void say_reloaded(const struct narrator *narrator, const struct sight *sight)
{
    if (sight->code == MOOT_OK) {
        say(narrator, sight, "forgets all tasks, and begins generation %" PRIu64,
            sight->step);
    } else {
        say(narrator, sight, "is told that nobody reloads: %s",
            error_name(sight->code));
    }
}

/* Disks and snapshots. */
static void see_disk(struct narrator *narrator, const struct sight *sight)
{
    switch ((int)sight->type) {
    case SIGHT_STORE:
        say(narrator, sight, "stores \"%s\"%s", name(narrator, sight->task),
            sight->code == MOOT_OK         ? ""
            : sight->code == MOOT_ERR_FILE ? ", but the disk is full"
                                           : ", but a bit flips on the way");
        break;
    case SIGHT_ASK:
        say(narrator, sight, "asks for the snapshot \"%.*s\"", (int)sight->size,
            (const char *)sight->data);
        break;
    case SIGHT_CUT:
        say(narrator, sight, "makes cut %" PRIu64 " of view %" PRIu64, sight->meeting,
            sight->epoch);
        break;
    case SIGHT_PART:
        say(narrator, sight, "has its part of %" PRIu64 " results on the disk",
            sight->parts->records);
        break;
    case SIGHT_COMMIT:
        say(narrator, sight, "has the commit with %" PRIu32 " parts on the disk",
            sight->part_count);
        break;
    case SIGHT_SNAPSHOT:
        say(narrator, sight, "is told of the snapshot \"%.*s\": %s", (int)sight->size,
            (const char *)sight->data,
            sight->code == MOOT_OK ? "it exists" : error_name(sight->code));
        break;
    case SIGHT_RELOAD:
        say(narrator, sight, "comes to meeting %" PRIu64 ", to reload", sight->meeting);
        break;
    case SIGHT_MARK:
        say(narrator, sight, "%s the mark of generation %" PRIu64 " on the disk",
            sight->code == MOOT_OK ? "has" : "may have", sight->step);
        break;
    case SIGHT_RELOADED:
        say_reloaded(narrator, sight);
        break;
    default:
        break;
    }
}

/* The deeds of a storm and their results; meetings, and what is let go. */
static void see_storm(struct narrator *narrator, struct sim *sim,
                      const struct sight *sight)
{
    switch ((int)sight->type) {
    case SIGHT_VIEW:
        say_view(narrator, sight);
        break;
    case SIGHT_SIGNATURE:
        say_signature(narrator, sight);
        break;
    case SIGHT_QUORUM:
        say(narrator, sight, "%s",
            sight->code ? "has a quorum again" : "has no quorum");
        break;
    case SIGHT_FENCED:
        say(narrator, sight, "learns that it was removed");
        break;
    case SIGHT_LEFT:
        say(narrator, sight, "gives up without a quorum");
        break;
    case SIGHT_LEAVE:
        say(narrator, sight, "ends its program early, to leave");
        break;
    case SIGHT_DEPARTED:
        say(narrator, sight, "has left in good order");
        break;
    case SIGHT_CRASH:
        say_crash(narrator, sim, sight);
        break;
    case SIGHT_BLAME:
        say(narrator, sight, "sees that rank %" PRIu32 " died of \"%s\"", sight->peer,
            name(narrator, sight->task));
        break;
    case SIGHT_SUSPECT:
        say(narrator, sight, "sees that rank %" PRIu32 " may have died of \"%s\"",
            sight->peer, name(narrator, sight->task));
        break;
    case SIGHT_BEGIN:
        say(narrator, sight, "asks to be let in, to play part %" PRId32, sight->code);
        break;
    case SIGHT_FAULT:
        say_fault(narrator, sim, sight);
        break;
    case SIGHT_LOST:
        say(narrator, sight, "says something to rank %" PRIu32 ", and %s", sight->peer,
            sight->code != 0 ? "a relay that stands still has it"
                             : "no way leads there");
        break;
    case SIGHT_TOLD:
        say(narrator, sight, "is told that rank %" PRIu32 " is dead", sight->peer);
        break;
    case SIGHT_MEET:
        say(narrator, sight, "comes to meeting %" PRIu64, sight->meeting);
        break;
    case SIGHT_MET:
        say_met(narrator, sight);
        break;
    case SIGHT_SESSION:
        say(narrator, sight, "%s session %" PRIu64,
            sight->code != 0 ? "is told that this is" : "begins", sight->meeting);
        break;
    case SIGHT_LET_GO:
        say(narrator, sight, "lets \"%s\" go", name(narrator, sight->task));
        break;
    case SIGHT_GIVE_UP:
        say(narrator, sight, "gives the bytes of \"%s\" up",
            name(narrator, sight->task));
        break;
    default:
        see_disk(narrator, sight);
        break;
    }
}

static void say_places(const struct narrator *narrator, const struct sight *sight,
                       const char *task)
{
    char places[64] = "";
    const bool grows = sight->type == SIGHT_GROW, good = sight->code == MOOT_OK;
    describe_places(&sight->places, sight->places.end > 0, places, sizeof(places));
    if (sight->places.end == 0) {
        say(narrator, sight, "spawns %s\"%s\"", grows ? "the rest of " : "", task);
    } else if (sight->type == SIGHT_GIVEN) {
        say(narrator, sight, "is to run the elements at %s of \"%s\"", places, task);
    } else if (sight->type != SIGHT_ENDED) {
        say(narrator, sight, "spawns the elements at %s of \"%s\"%s", places, task,
            grows ? ", too" : "");
    } else {
        say(narrator, sight, "ends those at %s of \"%s\"%s%s", places, task,
            good ? "" : ": ", good ? "" : error_name(sight->code));
    }
}

static void say_waited(struct narrator *narrator, const struct sight *sight,
                       const char *task)
{
    if (sight->code == MOOT_OK) {
        say(narrator, sight, "has \"%s\"", task);
    } else {
        say(narrator, sight, "waits for \"%s\" no more: %s", task,
            error_name(sight->code));
    }
}

static void say_end(struct narrator *narrator, const struct sight *sight,
                    const char *task)
{
    const bool good = sight->code == MOOT_OK;
    say(narrator, sight, "ends \"%s\"%s%s", task, good ? "" : ": ",
        good ? "" : error_name(sight->code));
}

static const char *const verbs[] = {[SIGHT_DECLINE] = "declines",
                                    [SIGHT_CANCEL] = "cancels",
                                    [SIGHT_WAIT] = "waits for",
                                    [SIGHT_LAPSED] = "stops waiting for",
                                    [SIGHT_START] = "starts"};

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct narrator *narrator = context;
    const char *task = name(narrator, sight->task);
    if (sight->task < narrator->program->task_count) {
        narrator->chairs[sight->task] = sim_chair(sim, sight->task);
    }
    switch ((int)sight->type) {
    case SIGHT_SPAWN:
    case SIGHT_GROW:
    case SIGHT_GIVEN:
    case SIGHT_ENDED:
        say_places(narrator, sight, task);
        break;
    case SIGHT_ADOPT:
        say(narrator, sight, "adopts \"%s\" from its spec", task);
        break;
    case SIGHT_DECLINE:
    case SIGHT_CANCEL:
    case SIGHT_WAIT:
    case SIGHT_LAPSED:
    case SIGHT_START:
        say(narrator, sight, "%s \"%s\"", verbs[sight->type], task);
        break;
    case SIGHT_REFUSED:
        say(narrator, sight, "may not: no candidate is left");
        break;
    case SIGHT_WAITED:
        say_waited(narrator, sight, task);
        break;
    case SIGHT_END:
        say_end(narrator, sight, task);
        break;
    case SIGHT_SEND:
        say_send(narrator, sight);
        break;
    case SIGHT_RECEIVE:
        if (narrator->detail == NARRATOR_EVERYTHING) {
            say(narrator, sight, "receives %s \"%s\" from rank %" PRIu32,
                message_type_name(sight->message->type), task, sight->peer);
        }
        break;
    case SIGHT_NOTE:
        say_note(narrator, sight);
        break;
    case SIGHT_VERDICT:
        say_verdict(narrator, sim, sight);
        break;
    case SIGHT_LANE:
        say_lane(narrator, sight);
        break;
    case SIGHT_CLOSE:
        say(narrator, sight, "has come to its end");
        break;
    case SIGHT_ADJOURN:
        say(narrator, sight, "leaves");
        break;
    default:
        see_storm(narrator, sim, sight);
    }
}

struct sim_watcher narrator_watcher(struct narrator *narrator)
{
    return (struct sim_watcher){see, narrator};
}
