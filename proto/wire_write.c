/* wire_write.c - messages to protobuf-c's structs, one type after the other.
 *
 * The counterpart of wire_read.c.  What is bytes already is borrowed; rank sets, askers
 * and lists of sites are laid out in the scratch first.  Nothing here can fail:
 * wire_check.c has passed the message, and the scratch is large enough.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

#include <string.h>

#define X(name, ...)                                                                   \
    static_assert((int)MOOT__MESSAGE__TYPE__##name == (int)MESSAGE_##name,             \
                  "moot.proto numbers messages as message.h does");
MESSAGE_TYPES(X)
#undef X

/* protobuf-c only reads what it packs. */
ProtobufCBinaryData wire_borrow(const void *bytes, size_t size)
{
    return (ProtobufCBinaryData){.len = size, .data = (uint8_t *)(uintptr_t)bytes};
}

ProtobufCBinaryData wire_borrow_hash(const moot_hash *hash)
{
    return wire_borrow(hash->bytes, hash_is_zero(hash) ? 0 : sizeof(hash->bytes));
}

/* NULL is absent; text for people is cut. */
ProtobufCBinaryData wire_borrow_text(const char *text, size_t bytes_max)
{
    return wire_borrow(text, text != NULL ? strnlen(text, bytes_max) : 0);
}

/* A rank, a want and a need; the needs come first, which keeps all of them aligned. */
enum { ENCODER_ASKER_BYTES = sizeof(uint64_t) + 2 * sizeof(uint32_t) };

void *wire_scratch_take(struct encoder *encoder, size_t size)
{
    void *bytes = encoder->scratch;
    if (size == 0) {
        return bytes; /* NULL, if there is no scratch */
    }
    encoder->scratch += size;
    return bytes;
}

void wire_put_words(uint8_t *bytes, const struct rankset *set, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        for (unsigned j = 0; j < 8; j++) {
            bytes[8 * i + j] = (uint8_t)(rankset_word(set, i) >> (8 * j));
        }
    }
}

ProtobufCBinaryData wire_put_set(struct encoder *encoder, const struct rankset *set)
{
    if (set == NULL) {
        return wire_borrow(NULL, 0);
    }
    uint32_t words = rankset_words(set);
    uint8_t *bytes = wire_scratch_take(encoder, words * sizeof(uint64_t));
    wire_put_words(bytes, set, words);
    return wire_borrow(bytes, words * sizeof(uint64_t));
}

static void put_motion(struct encoder *encoder, const struct message *message)
{
    const struct message_motion *motion = &message->u.motion;
    Moot__Motion *to = encoder->message.motion = &encoder->body.motion;
    moot__motion__init(to);
    to->holds = motion->holds;
    to->hint = motion->hint;
    to->final = motion->final;
    to->want = motion->want;
    to->need = motion->need;
    to->len = motion->len;
    to->scope = wire_borrow_hash(&motion->scope);
    to->candidates = wire_put_set(encoder, motion->candidates);
    to->spec = motion->spec != NULL ? wire_put_spec(encoder, motion->spec) : NULL;
    to->priority = motion->priority;
    to->wait = motion->wait;
}

static void put_decision(struct encoder *encoder, const struct message *message)
{
    const struct message_decision *decision = &message->u.decision;
    size_t count = decision->asker_count;
    Moot__Decision *to = encoder->message.decision = &encoder->body.decision;
    moot__decision__init(to);
    to->evidence = decision->evidence;
    to->cancelled_by = decision->cancelled_by;
    to->priority = decision->priority;
    to->seen = decision->seen;
    to->alone = decision->alone;
    to->n_asker_ranks = to->n_asker_wants = to->n_asker_needs = count;
    to->asker_needs = wire_scratch_take(encoder, count * sizeof(*to->asker_needs));
    to->asker_ranks = wire_scratch_take(encoder, count * sizeof(*to->asker_ranks));
    to->asker_wants = wire_scratch_take(encoder, count * sizeof(*to->asker_wants));
    for (size_t i = 0; i < count; i++) {
        to->asker_ranks[i] = decision->askers[i].rank;
        to->asker_wants[i] = decision->askers[i].want;
        to->asker_needs[i] = decision->askers[i].need;
    }
}

static void put_result(struct encoder *encoder, const struct message *message)
{
    const struct message_result *result = &message->u.result;
    Moot__Result *to = encoder->message.result = &encoder->body.result;
    moot__result__init(to);
    to->owner_uid = result->owner_uid;
    to->evidence = result->evidence;
    to->status = result->status;
    to->data = result->data;
    to->size = result->size;
    to->handover = result->handover;
    to->digest = result->digest;
    to->at = result->at;
    to->away = result->away;
    to->part = result->part;
    to->parts = result->parts;
}

static void put_refer(struct encoder *encoder, const struct message *message)
{
    Moot__Refer *to = encoder->message.refer = &encoder->body.refer;
    moot__refer__init(to);
    to->candidates = wire_put_set(encoder, message->u.refer.candidates);
}

static void put_accept(struct encoder *encoder, const struct message *message)
{
    Moot__Accept *to = encoder->message.accept = &encoder->body.accept;
    moot__accept__init(to);
    to->maybe = message->u.accept.maybe;
    to->winner = message->u.accept.winner;
    to->winner_uid = message->u.accept.winner_uid;
}

static void put_cancel(struct encoder *encoder, const struct message *message)
{
    Moot__Cancel *to = encoder->message.cancel = &encoder->body.cancel;
    moot__cancel__init(to);
    to->by = message->u.cancel.by;
}

static void put_verdict(struct encoder *encoder, const struct message *message)
{
    Moot__Verdict *to = encoder->message.verdict = &encoder->body.verdict;
    moot__verdict__init(to);
    to->code = message->u.verdict.code;
    to->what = message->u.verdict.what;
    to->by = message->u.verdict.by;
    to->epoch = message->u.verdict.epoch;
    to->age_ns = message->u.verdict.age_ns;
}

static void put_roll(struct encoder *encoder, const struct message *message)
{
    const struct message_roll *roll = &message->u.roll;
    Moot__Roll *to = encoder->message.roll = &encoder->body.roll;
    moot__roll__init(to);
    to->lane = roll->lane;
    to->first = roll->first;
    to->count = roll->count;
    to->partial = roll->partial;
    to->sum_low = roll->sum.low;
    to->sum_high = roll->sum.high;
    to->before = roll->before;
    to->scope = roll->scope;
    to->cut = roll->cut;
}

static void put_want(struct encoder *encoder, const struct message *message)
{
    const struct message_want *want = &message->u.want;
    Moot__Want *to = encoder->message.want = &encoder->body.want;
    moot__want__init(to);
    to->lane = want->lane;
    to->first = want->first;
    to->count = want->count;
}

static void put_ended(struct encoder *encoder, const struct message *message)
{
    const struct message_ended *ended = &message->u.ended;
    Moot__Ended *to = encoder->message.ended = &encoder->body.ended;
    moot__ended__init(to);
    to->lane = ended->lane;
    to->first = ended->first;
    to->count = ended->count;
    to->sum_low = ended->sum.low;
    to->sum_high = ended->sum.high;
}

/* One after the other, each with its zero byte. */
static ProtobufCBinaryData put_sites(struct encoder *encoder, const char *const *sites,
                                     uint32_t count)
{
    uint8_t *bytes = encoder->scratch;
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t size = strnlen(sites[i], LIMIT_SITE_BYTES) + 1;
        uint8_t *site = wire_scratch_take(encoder, size);
        memcpy(site, sites[i], size);
        site[size - 1] = 0;
        total += size;
    }
    return wire_borrow(bytes, total);
}

static void put_hashes(struct encoder *encoder, const struct message *message)
{
    const struct message_hashes *list = &message->u.hashes;
    Moot__Hashes *to = encoder->message.hashes = &encoder->body.hashes;
    moot__hashes__init(to);
    to->lane = list->lane;
    to->first = list->first;
    to->hashes = wire_borrow(list->hashes, list->count * sizeof(*list->hashes));
    if (list->sites != NULL) {
        to->sites = put_sites(encoder, list->sites, list->count);
    }
}

static void put_state(struct encoder *encoder, const struct message *message)
{
    const struct message_state *state = &message->u.state;
    Moot__State *to = encoder->message.state = &encoder->body.state;
    moot__state__init(to);
    to->blocked = state->blocked;
    to->closed = state->closed;
    to->passive = state->passive;
    to->waiting = state->waiting;
    to->lanes = state->lanes;
    to->len = state->len;
    to->need = state->need;
    to->load = state->load;
    to->site = wire_borrow_text(state->site, LIMIT_SITE_BYTES);
}

static void put_poll(struct encoder *encoder, const struct message *message)
{
    Moot__Poll *to = encoder->message.poll = &encoder->body.poll;
    moot__poll__init(to);
    to->round = message->u.poll.round;
}

static void put_pollr(struct encoder *encoder, const struct message *message)
{
    const struct message_pollr *pollr = &message->u.pollr;
    Moot__Pollr *to = encoder->message.pollr = &encoder->body.pollr;
    moot__pollr__init(to);
    to->round = pollr->round;
    to->passive = pollr->passive;
    to->resting = pollr->resting;
    to->closed = pollr->closed;
    to->waits = pollr->waits;
    to->orphan = pollr->orphan;
    to->undecided = pollr->undecided;
    to->stuck = pollr->stuck;
    to->sent = pollr->sent;
    to->received = pollr->received;
    to->least_standing = pollr->least.standing;
    to->least_len = pollr->least.len;
    to->least_asker = pollr->least.asker;
    to->least_wait = pollr->least.wait;
    to->undecided_hash = wire_borrow_hash(&pollr->undecided_hash);
    to->stuck_hash = wire_borrow_hash(&pollr->stuck_hash);
    to->exit_code = pollr->exit_code;
}

static void put_resolve(struct encoder *encoder, const struct message *message)
{
    Moot__Resolve *to = encoder->message.resolve = &encoder->body.resolve;
    moot__resolve__init(to);
    const struct message_orphan *orphan = &message->u.resolve.orphan;
    to->what = message->u.resolve.what;
    to->standing = orphan->standing;
    to->len = orphan->len;
    to->asker = orphan->asker;
    to->wait = orphan->wait;
}

static void put_chase(struct encoder *encoder, const struct message *message)
{
    const struct message_chase *chase = &message->u.chase;
    Moot__Chase *to = encoder->message.chase = &encoder->body.chase;
    moot__chase__init(to);
    to->path = wire_borrow(chase->path, chase->path_count * sizeof(*chase->path));
    to->hops = chase->hops;
    to->mark = wire_borrow_hash(&chase->mark);
}

static void put_family(struct encoder *encoder, const struct message *message)
{
    const struct message_family *family = &message->u.family;
    Moot__Family *to = encoder->message.family = &encoder->body.family;
    moot__family__init(to);
    to->first = family->first;
    to->children =
        wire_borrow(family->children, family->count * sizeof(*family->children));
}

static void put_diverged(struct encoder *encoder, const struct message *message)
{
    const struct message_diverged *diverged = &message->u.diverged;
    Moot__Diverged *to = encoder->message.diverged = &encoder->body.diverged;
    moot__diverged__init(to);
    to->lane = diverged->lane;
    to->position = diverged->position;
    to->n_sides = diverged->sides;
    to->sides = encoder->sides;
    for (uint32_t i = 0; i < diverged->sides; i++) {
        Moot__Diverged__Side *side = encoder->sides[i] = &encoder->side[i];
        moot__diverged__side__init(side);
        side->hash = wire_borrow_hash(&diverged->side[i].hash);
        side->site = wire_borrow_text(diverged->side[i].site, LIMIT_SITE_BYTES);
        side->ranks = wire_put_set(encoder, diverged->side[i].ranks);
    }
}

static void put_adjourn(struct encoder *encoder, const struct message *message)
{
    Moot__Adjourn *to = encoder->message.adjourn = &encoder->body.adjourn;
    moot__adjourn__init(to);
    to->exit_code = message->u.adjourn.exit_code;
    to->what = message->u.adjourn.what;
}

static void put_kernel(struct encoder *encoder, const struct message *message)
{
    const struct message_kernel *kernel = &message->u.kernel;
    Moot__Kernel *to = encoder->message.kernel = &encoder->body.kernel;
    moot__kernel__init(to);
    to->name = wire_borrow_text(kernel->name, LIMIT_KERNEL_NAME_BYTES);
    to->version = kernel->version;
    to->flags = kernel->flags;
    to->rank_plus_one = kernel->rank_plus_one;
    to->build = wire_borrow(kernel->build, kernel->build_size);
}

static void put_released(struct encoder *encoder, const struct message *message)
{
    const struct message_released *released = &message->u.released;
    Moot__Released *to = encoder->message.released = &encoder->body.released;
    moot__released__init(to);
    to->what = released->what;
    to->rests = released->rests;
    to->ready = released->ready;
    to->swept = released->swept;
    to->alike = released->alike;
    to->round = released->round;
    to->count = released->count;
    to->sum_low = released->sum.low;
    to->sum_high = released->sum.high;
    to->sent = released->sent;
    to->received = released->received;
}

/* The types that have a body. */
static const struct {
    put_fn *put;
    Moot__Message__BodyCase body_case;
} bodies[MESSAGE_TYPE_END] = {
    [MESSAGE_MOTION] = {put_motion, MOOT__MESSAGE__BODY_MOTION},
    [MESSAGE_DECISION] = {put_decision, MOOT__MESSAGE__BODY_DECISION},
    [MESSAGE_RESULT] = {put_result, MOOT__MESSAGE__BODY_RESULT},
    [MESSAGE_REFER] = {put_refer, MOOT__MESSAGE__BODY_REFER},
    [MESSAGE_ACCEPT] = {put_accept, MOOT__MESSAGE__BODY_ACCEPT},
    [MESSAGE_VERDICT] = {put_verdict, MOOT__MESSAGE__BODY_VERDICT},
    [MESSAGE_ROLL] = {put_roll, MOOT__MESSAGE__BODY_ROLL},
    [MESSAGE_WANT] = {put_want, MOOT__MESSAGE__BODY_WANT},
    [MESSAGE_HASHES] = {put_hashes, MOOT__MESSAGE__BODY_HASHES},
    [MESSAGE_STATE] = {put_state, MOOT__MESSAGE__BODY_STATE},
    [MESSAGE_POLL] = {put_poll, MOOT__MESSAGE__BODY_POLL},
    [MESSAGE_POLLR] = {put_pollr, MOOT__MESSAGE__BODY_POLLR},
    [MESSAGE_RESOLVE] = {put_resolve, MOOT__MESSAGE__BODY_RESOLVE},
    [MESSAGE_CHASE] = {put_chase, MOOT__MESSAGE__BODY_CHASE},
    [MESSAGE_CANCEL] = {put_cancel, MOOT__MESSAGE__BODY_CANCEL},
    [MESSAGE_FAMILY] = {put_family, MOOT__MESSAGE__BODY_FAMILY},
    [MESSAGE_DIVERGED] = {put_diverged, MOOT__MESSAGE__BODY_DIVERGED},
    [MESSAGE_ADJOURN] = {put_adjourn, MOOT__MESSAGE__BODY_ADJOURN},
    [MESSAGE_KERNEL] = {put_kernel, MOOT__MESSAGE__BODY_KERNEL},
    [MESSAGE_HEARTBEAT] = {wire_put_heartbeat, MOOT__MESSAGE__BODY_HEARTBEAT},
    [MESSAGE_GRANT] = {wire_put_grant, MOOT__MESSAGE__BODY_GRANT},
    [MESSAGE_PREPARE] = {wire_put_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_PROMISE] = {wire_put_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_PROPOSE] = {wire_put_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_VOTED] = {wire_put_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_REJECT] = {wire_put_paxos, MOOT__MESSAGE__BODY_PAXOS},
    [MESSAGE_VIEW] = {wire_put_view, MOOT__MESSAGE__BODY_VIEW},
    [MESSAGE_REPORT] = {wire_put_report, MOOT__MESSAGE__BODY_REPORT},
    [MESSAGE_FENCED] = {wire_put_fenced, MOOT__MESSAGE__BODY_FENCED},
    [MESSAGE_JOIN] = {wire_put_join, MOOT__MESSAGE__BODY_JOIN},
    [MESSAGE_TALLY] = {wire_put_tally, MOOT__MESSAGE__BODY_TALLY},
    [MESSAGE_CENSUS] = {wire_put_census, MOOT__MESSAGE__BODY_CENSUS},
    [MESSAGE_LEAVE] = {wire_put_leave, MOOT__MESSAGE__BODY_LEAVE},
    [MESSAGE_HANDOVER] = {wire_put_report, MOOT__MESSAGE__BODY_REPORT},
    [MESSAGE_RELEASED] = {put_released, MOOT__MESSAGE__BODY_RELEASED},
    [MESSAGE_INQUIRY] = {wire_put_inquiry, MOOT__MESSAGE__BODY_INQUIRY},
    [MESSAGE_ACCOUNT] = {wire_put_account, MOOT__MESSAGE__BODY_ACCOUNT},
    [MESSAGE_MEET] = {wire_put_meet, MOOT__MESSAGE__BODY_MEET},
    [MESSAGE_LOT] = {wire_put_lot, MOOT__MESSAGE__BODY_LOT},
    [MESSAGE_SNAPSHOT] = {wire_put_snapshot, MOOT__MESSAGE__BODY_SNAPSHOT},
    [MESSAGE_SIGNATURE] = {wire_put_signature, MOOT__MESSAGE__BODY_SIGNATURES},
    [MESSAGE_ENDED] = {put_ended, MOOT__MESSAGE__BODY_ENDED},
    [MESSAGE_ELEMENTS] = {wire_put_elements, MOOT__MESSAGE__BODY_ELEMENTS},
    [MESSAGE_PARTS] = {wire_put_parts, MOOT__MESSAGE__BODY_PARTS},
};

size_t wire_set_scratch_bytes(const struct rankset *set)
{
    return set != NULL ? rankset_words(set) * sizeof(uint64_t) : 0;
}

static size_t sites_bytes(const struct message_hashes *list)
{
    size_t bytes = 0;
    for (uint32_t i = 0; list->sites != NULL && i < list->count; i++) {
        bytes += strnlen(list->sites[i], LIMIT_SITE_BYTES) + 1;
    }
    return bytes;
}

size_t wire_write_scratch_bytes(const struct message *message)
{
    const struct message_motion *motion = &message->u.motion;
    const struct message_diverged *diverged = &message->u.diverged;
    size_t bytes = 0;

    if (message->type == MESSAGE_MOTION) {
        bytes = wire_set_scratch_bytes(motion->candidates);
        bytes += wire_spec_scratch_bytes(motion->spec);
    } else if (message->type == MESSAGE_DECISION) {
        bytes = message->u.decision.asker_count * ENCODER_ASKER_BYTES;
    } else if (message->type == MESSAGE_REFER) {
        bytes = wire_set_scratch_bytes(message->u.refer.candidates);
    } else if (message->type == MESSAGE_HASHES) {
        bytes = sites_bytes(&message->u.hashes);
    } else if (message->type == MESSAGE_DIVERGED) {
        for (uint32_t i = 0; i < diverged->sides; i++) {
            bytes += wire_set_scratch_bytes(diverged->side[i].ranks);
        }
    } else if (message->type == MESSAGE_CENSUS) {
        bytes = wire_census_scratch_bytes(&message->u.census);
    } else if (message->type == MESSAGE_ELEMENTS) {
        bytes = wire_elements_scratch_bytes(&message->u.elements);
    } else if (message->type == MESSAGE_PARTS) {
        bytes = wire_parts_scratch_bytes(&message->u.parts);
    } else {
        bytes = wire_view_scratch_bytes(message);
    }
    return bytes;
}

void wire_write_message(struct encoder *encoder, const struct message *message)
{
    moot__message__init(&encoder->message);
    encoder->message.type = (Moot__Message__Type)message->type;
    encoder->message.hash = wire_borrow_hash(&message->hash);
    encoder->message.cut = message->cut;
    encoder->message.body_case = bodies[message->type].body_case;
    if (bodies[message->type].put != NULL) {
        bodies[message->type].put(encoder, message);
    }
}
