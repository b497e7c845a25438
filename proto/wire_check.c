/* wire_check.c - what a message must keep to, whichever way it goes (wire_private.h).
 *
 * One rule a type, applied before a message is encoded and after one was decoded.  A
 * rule looks at one message alone: whether it makes sense now, from this sender, is
 * the core's to judge (Rule E).
 */
#include "proto/wire_private.h"

#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "proto/error.h"

#include <string.h>

const char *wire_check_set(const struct rankset *set)
{
    if (rankset_empty(set)) {
        return "a rank set is empty";
    }
    if (rankset_words(set) > LIMIT_RANKS / 64) {
        return "a rank is beyond the limit";
    }
    return NULL;
}

const char *wire_check_set_or_null(const struct rankset *set)
{
    return set != NULL ? wire_check_set(set) : NULL;
}

const char *wire_check_name(const char *name)
{
    if (name == NULL || name[0] == '\0') {
        return "a kernel has no name";
    }
    if (strnlen(name, LIMIT_KERNEL_NAME_BYTES + 1) > LIMIT_KERNEL_NAME_BYTES) {
        return "a kernel's name is too long";
    }
    return NULL;
}

const char *wire_check_hashes(const moot_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hash_is_zero(&hashes[i])) {
            return "a hash in a list is zero";
        }
    }
    return NULL;
}

/* A stretch of a lane's roll. */
static const char *check_stretch(uint32_t lane, uint64_t first, uint32_t count)
{
    if (lane >= LIMIT_LANES) {
        return "a lane is beyond the limit";
    }
    if (first == 0 || first > UINT64_MAX - count) {
        return "a roll position is out of range";
    }
    if (count > LIMIT_ROLL_HASHES) {
        return "a stretch of a roll is too long";
    }
    return NULL;
}
static_assert(ROLL_CHUNK_TASKS_MAX == LIMIT_ROLL_HASHES, "a chunk is one stretch");

static const char *check_motion(const struct message *message)
{
    const struct message_motion *motion = &message->u.motion;
    if (motion->want > WANT_DATA) {
        return "MOTION: no such want";
    }
    const char *why = wire_check_set_or_null(motion->candidates);
    if (why == NULL && motion->spec != NULL) {
        why = wire_check_spec(&message->hash, motion->spec);
    }
    return why;
}

static const char *check_decision(const struct message *message)
{
    const struct message_decision *decision = &message->u.decision;
    if (decision->evidence >= EVIDENCE_END) {
        return "DECISION: no such evidence";
    }
    if (decision->asker_count > LIMIT_ASKERS) {
        return "DECISION: too many askers";
    }
    if (decision->cancelled_by > LIMIT_RANKS) {
        return "DECISION: who cancelled it is beyond the limit";
    }
    for (size_t i = 0; i < decision->asker_count; i++) {
        if (decision->askers[i].rank >= LIMIT_RANKS) {
            return "DECISION: an asker is beyond the limit";
        }
        if (decision->askers[i].want > WANT_DATA) {
            return "DECISION: no such want";
        }
    }
    return NULL;
}

HOT static const char *check_result(const struct message *message)
{
    const struct message_result *result = &message->u.result;
    if (result->evidence >= EVIDENCE_END) {
        return "RESULT: no such evidence";
    }
    if (result->data > RESULT_BULK) {
        return "RESULT: no such way for its data";
    }
    if (result->status != MOOT_OK && !error_known(result->status)) {
        return "RESULT: no such error";
    }
    if (result->status != MOOT_OK && result->size > LIMIT_ERROR_STORY_BYTES) {
        return "RESULT: the error's story is too long";
    }
    if (result->data == RESULT_EAGER && result->size > LIMIT_EAGER_BYTES) {
        return "RESULT: too large to be eager";
    }
    if (result->data == RESULT_EAGER && result->size > 0 && result->payload == NULL) {
        return "RESULT: eager, but without a payload";
    }
    if (result->size > LIMIT_RESULT_BYTES) {
        return "RESULT: too large";
    }
    if (result->at > LIMIT_RANKS) {
        return "RESULT: whom it refers to is beyond the limit";
    }
    if ((result->at != 0 || result->away) && result->data != RESULT_BARE) {
        return "RESULT: with its bytes, and elsewhere";
    }
    if (result->part > result->parts || result->parts > LIMIT_PARTS ||
        (result->part == 0) != (result->parts == 0) ||
        (result->part != 0 &&
         (result->data != RESULT_BULK || result->status != MOOT_OK))) {
        return "RESULT: no such part of it";
    }
    return NULL;
}

static const char *check_refer(const struct message *message)
{
    const struct rankset *candidates = message->u.refer.candidates;
    return candidates != NULL ? wire_check_set(candidates) : "REFER: no candidates";
}

static const char *check_accept(const struct message *message)
{
    const struct message_accept *accept = &message->u.accept;
    if (accept->winner >= LIMIT_RANKS) {
        return "ACCEPT: the winner is beyond the limit";
    }
    if (accept->maybe && (accept->winner != 0 || accept->winner_uid != 0)) {
        return "ACCEPT: a winner of what may have run";
    }
    return NULL;
}

static const char *check_cancel(const struct message *message)
{
    return message->u.cancel.by < LIMIT_RANKS ? NULL
                                              : "CANCEL: by who is beyond the limit";
}

static const char *check_verdict(const struct message *message)
{
    const struct message_verdict *verdict = &message->u.verdict;
    if (!error_known(verdict->code)) {
        return "VERDICT: no such error";
    }
    if (verdict->what > VERDICT_VOID) {
        return "VERDICT: no such way";
    }
    return verdict->by < LIMIT_RANKS ? NULL : "VERDICT: a rank is beyond the limit";
}

static const char *check_roll(const struct message *message)
{
    const struct message_roll *roll = &message->u.roll;
    return roll->before < LIMIT_RANKS
               ? check_stretch(roll->lane, roll->first, roll->count)
               : "ROLL: of more ranks than there are";
}

static const char *check_want(const struct message *message)
{
    const struct message_want *want = &message->u.want;
    return check_stretch(want->lane, want->first, want->count);
}

static const char *check_ended(const struct message *message)
{
    const struct message_ended *ended = &message->u.ended;
    if (ended->lane >= LIMIT_LANES) {
        return "a lane is beyond the limit";
    }
    return ended->first == 0 || ended->count == 0 || ended->count > LIMIT_TASKS ||
                   ended->first > UINT64_MAX - ended->count
               ? "ENDED: no such tasks"
               : NULL;
}

static const char *check_hash_list(const struct message *message)
{
    const struct message_hashes *list = &message->u.hashes;
    const char *why = check_stretch(list->lane, list->first, list->count);
    if (why == NULL) {
        why = wire_check_hashes(list->hashes, list->count);
    }
    for (uint32_t i = 0; why == NULL && list->sites != NULL && i < list->count; i++) {
        if (list->sites[i] == NULL) {
            why = "HASHES: a site is missing";
        }
    }
    return why;
}

static const char *check_state(const struct message *message)
{
    const struct message_state *state = &message->u.state;
    if (state->lanes > LIMIT_LANES) {
        return "STATE: too many lanes";
    }
    if (state->waiting && hash_is_zero(&message->hash)) {
        return "STATE: waits for no task";
    }
    return NULL;
}

static const char *check_orphan(const struct message_orphan *orphan)
{
    if (orphan->standing > ORPHAN_UNKNOWN) {
        return "an orphan stands as none does";
    }
    return orphan->asker < LIMIT_RANKS ? NULL : "an orphan's asker is beyond the limit";
}

static const char *check_pollr(const struct message *message)
{
    const struct message_pollr *pollr = &message->u.pollr;
    if ((pollr->orphan && hash_is_zero(&message->hash)) ||
        (pollr->undecided && hash_is_zero(&pollr->undecided_hash)) ||
        (pollr->stuck && hash_is_zero(&pollr->stuck_hash))) {
        return "POLLR: a key without its hash";
    }
    return check_orphan(&pollr->least);
}

static const char *check_resolve(const struct message *message)
{
    if (message->u.resolve.what > RESOLVE_TELL) {
        return "RESOLVE: no such way";
    }
    return check_orphan(&message->u.resolve.orphan);
}

static const char *check_chase(const struct message *message)
{
    const struct message_chase *chase = &message->u.chase;
    if (chase->path_count > LIMIT_CHASE_HOPS) {
        return "CHASE: the path is too long";
    }
    return wire_check_hashes(chase->path, chase->path_count);
}

static const char *check_diverged(const struct message *message)
{
    const struct message_diverged *diverged = &message->u.diverged;
    const char *why = check_stretch(diverged->lane, diverged->position, 0);
    if (why != NULL) {
        return why;
    }
    if (diverged->sides == 0 || diverged->sides > LIMIT_SIDES) {
        return "DIVERGED: no or too many sides";
    }
    for (uint32_t i = 0; why == NULL && i < diverged->sides; i++) {
        why = diverged->side[i].ranks != NULL ? wire_check_set(diverged->side[i].ranks)
                                              : "DIVERGED: a side without ranks";
    }
    return why;
}

static const char *check_adjourn(const struct message *message)
{
    return (unsigned)message->u.adjourn.what < ADJOURN_END ? NULL : "no such farewell";
}

static const char *check_kernel(const struct message *message)
{
    if (message->u.kernel.build_size > LIMIT_BUILD_BYTES) {
        return "a build id is too long";
    }
    return wire_check_name(message->u.kernel.name);
}

static const char *check_family(const struct message *message)
{
    const struct message_family *family = &message->u.family;
    if (family->count == 0 || family->count > LIMIT_FAMILY_HASHES ||
        family->first > LIMIT_TASKS) {
        return "FAMILY: no or too many children";
    }
    return wire_check_hashes(family->children, family->count);
}

static const char *check_released(const struct message *message)
{
    const struct message_released *released = &message->u.released;
    if (released->what > RELEASED_CHUNK_KEEP) {
        return "RELEASED: no such thing";
    }
    bool of_chunk = released->what >= RELEASED_CHUNK_READY;
    if (of_chunk && (released->count == 0 || released->count > ROLL_CHUNK_TASKS_MAX)) {
        return "RELEASED: no chunk has so many tasks";
    }
    return of_chunk || !hash_is_zero(&message->hash)
               ? NULL
               : "a message about a task has no hash";
}

static const char *check_nothing(const struct message *message)
{
    (void)message;
    return NULL;
}

/* What there is to check in a type, and whether it is about a task. */
static const struct rule {
    check_fn *check;
    bool needs_hash;
} rules[MESSAGE_TYPE_END] = {
    [MESSAGE_MOTION] = {check_motion, true},
    [MESSAGE_DECISION] = {check_decision, true},
    [MESSAGE_RESULT] = {check_result, true},
    [MESSAGE_PULL] = {check_nothing, true},
    [MESSAGE_SEEK] = {check_nothing, true},
    [MESSAGE_REFER] = {check_refer, true},
    [MESSAGE_ACCEPT] = {check_accept, true},
    [MESSAGE_ACK] = {check_nothing, true},
    [MESSAGE_VERDICT] = {check_verdict, true},
    [MESSAGE_ROLL] = {check_roll, false},
    [MESSAGE_WANT] = {check_want, false},
    [MESSAGE_HASHES] = {check_hash_list, false},
    [MESSAGE_STATE] = {check_state, false},
    [MESSAGE_POLL] = {check_nothing, false},
    [MESSAGE_POLLR] = {check_pollr, false},
    [MESSAGE_RESOLVE] = {check_resolve, true},
    [MESSAGE_CHASE] = {check_chase, true},
    [MESSAGE_CANCEL] = {check_cancel, true},
    [MESSAGE_DIVERGED] = {check_diverged, false},
    [MESSAGE_ADJOURN] = {check_adjourn, false},
    [MESSAGE_KERNEL] = {check_kernel, false},
    [MESSAGE_HEARTBEAT] = {wire_check_heartbeat, false},
    [MESSAGE_GRANT] = {wire_check_grant, false},
    [MESSAGE_PREPARE] = {wire_check_paxos, false},
    [MESSAGE_PROMISE] = {wire_check_paxos, false},
    [MESSAGE_PROPOSE] = {wire_check_paxos, false},
    [MESSAGE_VOTED] = {wire_check_paxos, false},
    [MESSAGE_REJECT] = {wire_check_paxos, false},
    [MESSAGE_VIEW] = {wire_check_view, false},
    [MESSAGE_REPORT] = {wire_check_report, false},
    [MESSAGE_SETTLED] = {check_nothing, false},
    [MESSAGE_FENCED] = {wire_check_fenced, false},
    [MESSAGE_JOIN] = {wire_check_join, false},
    [MESSAGE_LEAVE] = {wire_check_leave, false},
    [MESSAGE_RELEASED] = {check_released, false},
    [MESSAGE_TALLY] = {wire_check_tally, false},
    [MESSAGE_CENSUS] = {wire_check_census, false},
    [MESSAGE_HANDOVER] = {wire_check_report, false},
    [MESSAGE_FAMILY] = {check_family, true},
    [MESSAGE_INQUIRY] = {wire_check_inquiry, false},
    [MESSAGE_ACCOUNT] = {wire_check_account, false},
    [MESSAGE_MEET] = {wire_check_meet, false},
    [MESSAGE_LOT] = {wire_check_lot, false},
    [MESSAGE_SNAPSHOT] = {wire_check_snapshot, false},
    [MESSAGE_SIGNATURE] = {wire_check_signature, false},
    [MESSAGE_ENDED] = {check_ended, false},
    [MESSAGE_ELEMENTS] = {wire_check_elements, true},
    [MESSAGE_PARTS] = {wire_check_parts, true},
};

const char *message_check(const struct message *message)
{
    if (message->type <= MESSAGE_NONE || message->type >= MESSAGE_TYPE_END) {
        return "no such message type";
    }
    const struct rule *rule = &rules[message->type];
    if (rule->needs_hash && hash_is_zero(&message->hash)) {
        return "a message about a task has no hash";
    }
    return rule->check(message);
}
