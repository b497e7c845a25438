/* wire_read.c - protobuf-c's structs to messages, one type after the other.
 *
 * The counterpart of wire_write.c.  Here every field gets the width that message.h
 * gives it: bytes become hashes, rank sets and texts, or the frame is refused.  Bytes
 * are borrowed from where protobuf-c has put them; what needs another shape is laid out
 * in the arena.  Whether the values make sense is wire_check.c's question.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

#include <string.h>

bool wire_refuse(struct reader *reader, const char *why)
{
    reader->why = why;
    return false;
}

/* Absent is the zero hash, which is not written otherwise. */
bool wire_get_hash(struct reader *reader, const ProtobufCBinaryData *from,
                   moot_hash *to)
{
    *to = (moot_hash){{0}};
    if (from->len == 0) {
        return true;
    }
    if (from->len != sizeof(to->bytes)) {
        return wire_refuse(reader, "a hash has not 16 bytes");
    }
    memcpy(to->bytes, from->data, sizeof(to->bytes));
    return !hash_is_zero(to) || wire_refuse(reader, "a hash is zero");
}

bool wire_get_hashes(struct reader *reader, const ProtobufCBinaryData *from,
                     const moot_hash **to, size_t *count)
{
    if (from->len % sizeof(**to) != 0) {
        return wire_refuse(reader, "a list of hashes is cut off");
    }
    *to = (const moot_hash *)from->data; /* bytes, so nothing to align */
    *count = from->len / sizeof(**to);
    return true;
}

bool wire_get_set(struct reader *reader, const ProtobufCBinaryData *from,
                  const struct rankset **to)
{
    size_t words = from->len / sizeof(uint64_t);
    *to = NULL;
    if (from->len == 0) {
        return true;
    }
    if (from->len % sizeof(uint64_t) != 0 || words > LIMIT_RANKS / 64) {
        return wire_refuse(reader, "a rank set has a wrong size");
    }
    struct rankset *set =
        arena_take(&reader->arena, sizeof(*set) + (words - 1) * sizeof(uint64_t));
    if (set == NULL) {
        return false;
    }
    set->low = wire_get_u64(from->data);
    set->high = words > 1 ? (uint64_t *)(set + 1) : NULL;
    set->high_words = (uint32_t)(words - 1);
    for (size_t i = 1; i < words; i++) {
        set->high[i - 1] = wire_get_u64(from->data + i * sizeof(uint64_t));
    }
    *to = set;
    return rankset_words(set) == words ||
           wire_refuse(reader, "a rank set ends with zeros");
}

/* Absent is NULL.  The arena has put the NUL behind the bytes. */
bool wire_get_text(struct reader *reader, const ProtobufCBinaryData *from,
                   size_t bytes_max, const char **to)
{
    *to = NULL;
    if (from->len == 0) {
        return true;
    }
    if (from->len > bytes_max) {
        return wire_refuse(reader, "a text is too long");
    }
    if (memchr(from->data, 0, from->len) != NULL) {
        return wire_refuse(reader, "a text has a zero in it");
    }
    *to = (const char *)from->data;
    return true;
}

static bool get_motion(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    const Moot__Motion *from = message->motion;
    struct message_motion *to = &out->u.motion;
    to->holds = from->holds;
    to->hint = from->hint;
    to->final = from->final;
    to->want = (enum want)from->want;
    to->need = from->need;
    to->len = from->len;
    to->priority = from->priority;
    to->wait = from->wait;
    to->spec = NULL;
    return wire_get_hash(reader, &from->scope, &to->scope) &&
           wire_get_set(reader, &from->candidates, &to->candidates) &&
           (from->spec == NULL || wire_get_spec(reader, from->spec, &to->spec));
}

static bool get_decision(struct reader *reader, const Moot__Message *message,
                         struct message *out)
{
    const Moot__Decision *from = message->decision;
    struct message_decision *to = &out->u.decision;
    size_t count = from->n_asker_ranks;
    if (from->n_asker_wants != count || from->n_asker_needs != count) {
        return wire_refuse(reader, "DECISION: the lists of askers differ in length");
    }
    struct message_asker *askers = arena_take(&reader->arena, count * sizeof(*askers));
    if (askers == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        askers[i].rank = from->asker_ranks[i];
        askers[i].want = (enum want)from->asker_wants[i];
        askers[i].need = from->asker_needs[i];
    }
    to->evidence = (enum evidence)from->evidence;
    to->cancelled_by = from->cancelled_by;
    to->priority = from->priority;
    to->seen = from->seen;
    to->alone = from->alone;
    to->askers = askers;
    to->asker_count = count;
    return true;
}

bool wire_take_payload(struct reader *reader, struct message_result *result)
{
    if (result->data != RESULT_EAGER) {
        return true;
    }
    if (result->size > reader->payload_bytes) {
        return false;
    }
    result->payload = reader->payload;
    reader->payload += result->size;
    reader->payload_bytes -= result->size;
    return true;
}

static bool get_result(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    const Moot__Result *from = message->result;
    struct message_result *to = &out->u.result;
    to->owner_uid = from->owner_uid;
    to->evidence = (enum evidence)from->evidence;
    to->status = from->status;
    to->data = (enum result_data)from->data;
    to->size = from->size;
    to->handover = from->handover;
    to->digest = from->digest;
    to->at = from->at;
    to->away = from->away;
    to->part = from->part;
    to->parts = from->parts;
    to->payload = NULL;
    return wire_take_payload(reader, to) ||
           wire_refuse(reader, "RESULT: the payload is cut off");
}

static bool get_refer(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    return wire_get_set(reader, &message->refer->candidates, &out->u.refer.candidates);
}

static bool get_accept(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    (void)reader;
    out->u.accept.maybe = message->accept->maybe;
    out->u.accept.winner = message->accept->winner;
    out->u.accept.winner_uid = message->accept->winner_uid;
    return true;
}

static bool get_cancel(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    (void)reader;
    out->u.cancel.by = message->cancel->by;
    return true;
}

static bool get_verdict(struct reader *reader, const Moot__Message *message,
                        struct message *out)
{
    (void)reader;
    out->u.verdict.code = message->verdict->code;
    out->u.verdict.what = (enum verdict_what)message->verdict->what;
    out->u.verdict.by = message->verdict->by;
    out->u.verdict.epoch = message->verdict->epoch;
    out->u.verdict.age_ns = message->verdict->age_ns;
    return true;
}

static bool get_roll(struct reader *reader, const Moot__Message *message,
                     struct message *out)
{
    const Moot__Roll *from = message->roll;
    (void)reader;
    out->u.roll = (struct message_roll){
        .lane = from->lane,
        .first = from->first,
        .count = from->count,
        .partial = from->partial,
        .scope = from->scope,
        .sum = {.low = from->sum_low, .high = from->sum_high},
        .before = from->before,
        .cut = from->cut,
    };
    return true;
}

static bool get_want(struct reader *reader, const Moot__Message *message,
                     struct message *out)
{
    const Moot__Want *from = message->want;
    (void)reader;
    out->u.want = (struct message_want){
        .lane = from->lane, .first = from->first, .count = from->count};
    return true;
}

static bool get_ended(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    const Moot__Ended *from = message->ended;
    (void)reader;
    out->u.ended = (struct message_ended){.lane = from->lane,
                                          .first = from->first,
                                          .count = from->count,
                                          .sum = {from->sum_low, from->sum_high}};
    return true;
}

/* Points to each of `count` texts that stand in `from` one after the other. */
static bool get_sites(struct reader *reader, const ProtobufCBinaryData *from,
                      size_t count, const char *const **to)
{
    const char *at = (const char *)from->data;
    const char *end = at + from->len;
    const char **sites = arena_take(&reader->arena, count * sizeof(*sites));
    if (sites == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        size_t left = (size_t)(end - at);
        size_t size = strnlen(at, left);
        if (size == left) {
            return wire_refuse(reader, "HASHES: a site is cut off");
        }
        if (size > LIMIT_SITE_BYTES) {
            return wire_refuse(reader, "HASHES: a site is too long");
        }
        sites[i] = at;
        at += size + 1;
    }
    *to = sites;
    return at == end || wire_refuse(reader, "HASHES: more sites than hashes");
}

static bool get_hash_list(struct reader *reader, const Moot__Message *message,
                          struct message *out)
{
    const Moot__Hashes *from = message->hashes;
    struct message_hashes *to = &out->u.hashes;
    size_t count;
    if (!wire_get_hashes(reader, &from->hashes, &to->hashes, &count)) {
        return false;
    }
    to->lane = from->lane;
    to->first = from->first;
    to->count = (uint32_t)count;
    to->sites = NULL;
    return from->sites.len == 0 || get_sites(reader, &from->sites, count, &to->sites);
}

static bool get_state(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    const Moot__State *from = message->state;
    struct message_state *to = &out->u.state;
    to->blocked = from->blocked;
    to->closed = from->closed;
    to->passive = from->passive;
    to->waiting = from->waiting;
    to->lanes = from->lanes;
    to->len = from->len;
    to->need = from->need;
    to->load = from->load;
    return wire_get_text(reader, &from->site, LIMIT_SITE_BYTES, &to->site);
}

static bool get_poll(struct reader *reader, const Moot__Message *message,
                     struct message *out)
{
    (void)reader;
    out->u.poll.round = message->poll->round;
    return true;
}

static bool get_pollr(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    const Moot__Pollr *from = message->pollr;
    struct message_pollr *to = &out->u.pollr;
    to->round = from->round;
    to->passive = from->passive;
    to->resting = from->resting;
    to->closed = from->closed;
    to->waits = from->waits;
    to->orphan = from->orphan;
    to->undecided = from->undecided;
    to->stuck = from->stuck;
    to->sent = from->sent;
    to->received = from->received;
    to->least =
        (struct message_orphan){(enum orphan_standing)from->least_standing,
                                from->least_len, from->least_asker, from->least_wait};
    to->exit_code = from->exit_code;
    return wire_get_hash(reader, &from->undecided_hash, &to->undecided_hash) &&
           wire_get_hash(reader, &from->stuck_hash, &to->stuck_hash);
}

static bool get_resolve(struct reader *reader, const Moot__Message *message,
                        struct message *out)
{
    (void)reader;
    const Moot__Resolve *from = message->resolve;
    out->u.resolve.what = (enum resolve_what)from->what;
    out->u.resolve.orphan = (struct message_orphan){
        (enum orphan_standing)from->standing, from->len, from->asker, from->wait};
    return true;
}

static bool get_chase(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    struct message_chase *to = &out->u.chase;
    size_t count;
    if (!wire_get_hashes(reader, &message->chase->path, &to->path, &count)) {
        return false;
    }
    to->path_count = (uint32_t)count;
    to->hops = message->chase->hops;
    return wire_get_hash(reader, &message->chase->mark, &to->mark);
}

static bool get_family(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    struct message_family *to = &out->u.family;
    size_t count;
    if (!wire_get_hashes(reader, &message->family->children, &to->children, &count)) {
        return false;
    }
    to->first = message->family->first;
    to->count = (uint32_t)count;
    return true;
}

static bool get_diverged(struct reader *reader, const Moot__Message *message,
                         struct message *out)
{
    const Moot__Diverged *from = message->diverged;
    struct message_diverged *to = &out->u.diverged;
    if (from->n_sides > LIMIT_SIDES) {
        return wire_refuse(reader, "DIVERGED: too many sides");
    }
    to->lane = from->lane;
    to->position = from->position;
    to->sides = (uint32_t)from->n_sides;
    for (uint32_t i = 0; i < to->sides; i++) {
        const Moot__Diverged__Side *side = from->sides[i];
        if (!wire_get_hash(reader, &side->hash, &to->side[i].hash) ||
            !wire_get_text(reader, &side->site, LIMIT_SITE_BYTES, &to->side[i].site) ||
            !wire_get_set(reader, &side->ranks, &to->side[i].ranks)) {
            return false;
        }
    }
    return true;
}

static bool get_adjourn(struct reader *reader, const Moot__Message *message,
                        struct message *out)
{
    (void)reader;
    out->u.adjourn.exit_code = message->adjourn->exit_code;
    out->u.adjourn.what = (enum adjourn_what)message->adjourn->what;
    return true;
}

static bool get_kernel(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    const Moot__Kernel *from = message->kernel;
    out->u.kernel.version = from->version;
    out->u.kernel.flags = from->flags;
    out->u.kernel.rank_plus_one = from->rank_plus_one;
    out->u.kernel.build = from->build.data;
    out->u.kernel.build_size = from->build.len;
    return wire_get_text(reader, &from->name, LIMIT_KERNEL_NAME_BYTES,
                         &out->u.kernel.name);
}

static bool get_released(struct reader *reader, const Moot__Message *message,
                         struct message *out)
{
    (void)reader;
    const Moot__Released *from = message->released;
    out->u.released = (struct message_released){
        .what = (enum released_what)from->what,
        .rests = from->rests,
        .ready = from->ready,
        .swept = from->swept,
        .alike = from->alike,
        .round = from->round,
        .count = from->count,
        .sum = {from->sum_low, from->sum_high},
        .sent = from->sent,
        .received = from->received,
    };
    return true;
}

/* The types that have a body, and which. */
static const struct {
    get_fn *get;
    Moot__Message__BodyCase body_case;
} bodies[MESSAGE_TYPE_END] = {
    [MESSAGE_MOTION] = {get_motion, MOOT__MESSAGE__BODY_MOTION},
    [MESSAGE_DECISION] = {get_decision, MOOT__MESSAGE__BODY_DECISION},
    [MESSAGE_RESULT] = {get_result, MOOT__MESSAGE__BODY_RESULT},
    [MESSAGE_REFER] = {get_refer, MOOT__MESSAGE__BODY_REFER},
    [MESSAGE_ACCEPT] = {get_accept, MOOT__MESSAGE__BODY_ACCEPT},
    [MESSAGE_VERDICT] = {get_verdict, MOOT__MESSAGE__BODY_VERDICT},
    [MESSAGE_ROLL] = {get_roll, MOOT__MESSAGE__BODY_ROLL},
    [MESSAGE_WANT] = {get_want, MOOT__MESSAGE__BODY_WANT},
    [MESSAGE_HASHES] = {get_hash_list, MOOT__MESSAGE__BODY_HASHES},
    [MESSAGE_STATE] = {get_state, MOOT__MESSAGE__BODY_STATE},
    [MESSAGE_POLL] = {get_poll, MOOT__MESSAGE__BODY_POLL},
    [MESSAGE_POLLR] = {get_pollr, MOOT__MESSAGE__BODY_POLLR},
    [MESSAGE_RESOLVE] = {get_resolve, MOOT__MESSAGE__BODY_RESOLVE},
    [MESSAGE_CHASE] = {get_chase, MOOT__MESSAGE__BODY_CHASE},
    [MESSAGE_CANCEL] = {get_cancel, MOOT__MESSAGE__BODY_CANCEL},
    [MESSAGE_FAMILY] = {get_family, MOOT__MESSAGE__BODY_FAMILY},
    [MESSAGE_DIVERGED] = {get_diverged, MOOT__MESSAGE__BODY_DIVERGED},
    [MESSAGE_ADJOURN] = {get_adjourn, MOOT__MESSAGE__BODY_ADJOURN},
    [MESSAGE_KERNEL] = {get_kernel, MOOT__MESSAGE__BODY_KERNEL},
    [MESSAGE_HEARTBEAT] = {wire_get_heartbeat, MOOT__MESSAGE__BODY_HEARTBEAT},
    [MESSAGE_GRANT] = {wire_get_grant, MOOT__MESSAGE__BODY_GRANT},
    [MESSAGE_PREPARE] = {wire_get_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_PROMISE] = {wire_get_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_PROPOSE] = {wire_get_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_VOTED] = {wire_get_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_REJECT] = {wire_get_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_VIEW] = {wire_get_view, MOOT__MESSAGE__BODY_VIEW},
    [MESSAGE_REPORT] = {wire_get_report, MOOT__MESSAGE__BODY_REPORT},
    [MESSAGE_FENCED] = {wire_get_fenced, MOOT__MESSAGE__BODY_FENCED},
    [MESSAGE_JOIN] = {wire_get_join, MOOT__MESSAGE__BODY_JOIN},
    [MESSAGE_TALLY] = {wire_get_tally, MOOT__MESSAGE__BODY_TALLY},
    [MESSAGE_CENSUS] = {wire_get_census, MOOT__MESSAGE__BODY_CENSUS},
    [MESSAGE_LEAVE] = {wire_get_leave, MOOT__MESSAGE__BODY_LEAVE},
    [MESSAGE_HANDOVER] = {wire_get_report, MOOT__MESSAGE__BODY_REPORT},
    [MESSAGE_RELEASED] = {get_released, MOOT__MESSAGE__BODY_RELEASED},
    [MESSAGE_INQUIRY] = {wire_get_inquiry, MOOT__MESSAGE__BODY_INQUIRY},
    [MESSAGE_ACCOUNT] = {wire_get_account, MOOT__MESSAGE__BODY_ACCOUNT},
    [MESSAGE_MEET] = {wire_get_meet, MOOT__MESSAGE__BODY_MEET},
    [MESSAGE_LOT] = {wire_get_lot, MOOT__MESSAGE__BODY_LOT},
    [MESSAGE_SNAPSHOT] = {wire_get_snapshot, MOOT__MESSAGE__BODY_SNAPSHOT},
    [MESSAGE_SIGNATURE] = {wire_get_signature, MOOT__MESSAGE__BODY_SIGNATURES},
    [MESSAGE_ENDED] = {get_ended, MOOT__MESSAGE__BODY_ENDED},
    [MESSAGE_ELEMENTS] = {wire_get_elements, MOOT__MESSAGE__BODY_ELEMENTS},
    [MESSAGE_PARTS] = {wire_get_parts, MOOT__MESSAGE__BODY_PARTS},
};

bool wire_read_message(struct reader *reader, const Moot__Message *from,
                       struct message *to)
{
    unsigned type = (unsigned)from->type;
    if (type == MESSAGE_NONE || type >= MESSAGE_TYPE_END) {
        return wire_refuse(reader, "no such message type");
    }
    if (from->body_case != bodies[type].body_case) {
        return wire_refuse(reader, "a message has not the body of its type");
    }
    to->type = (enum message_type)type;
    to->cut = from->cut;
    if (!wire_get_hash(reader, &from->hash, &to->hash)) {
        return false;
    }
    return bodies[type].get == NULL || bodies[type].get(reader, from, to);
}
