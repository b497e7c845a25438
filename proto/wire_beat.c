/* wire_beat.c - HEARTBEAT, GRANT and SIGNATURE on the wire (wire_write.c, wire_read.c
 * and wire_check.c say how these are called).
 *
 * A list of signatures stands in a message of its own type, by itself and in a
 * heartbeat.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

#include <string.h>

/* --- Writing ---------------------------------------------------------------------- */

static size_t signatures_bytes(const struct message_signatures *list)
{
    return list != NULL ? list->count * (sizeof(uint64_t) + sizeof(moot_hash)) : 0;
}

size_t wire_beat_scratch_bytes(const struct message *message)
{
    const struct message_heartbeat *heartbeat = &message->u.heartbeat;
    return message->type == MESSAGE_SIGNATURE
               ? signatures_bytes(&message->u.signatures)
               : signatures_bytes(heartbeat->signatures) +
                     wire_set_scratch_bytes(heartbeat->suspects) +
                     wire_set_scratch_bytes(heartbeat->dead);
}

static void put_signatures(struct encoder *encoder,
                           const struct message_signatures *list, Moot__Signatures *to)
{
    const size_t count = list->count;
    moot__signatures__init(to);
    to->n_steps = count;
    to->steps = wire_scratch_take(encoder, count * sizeof(*to->steps));
    moot_hash *hashes = wire_scratch_take(encoder, count * sizeof(*hashes));
    for (size_t i = 0; i < count; i++) {
        to->steps[i] = list->items[i].step << 1 | (list->items[i].asks ? 1 : 0);
        hashes[i] = list->items[i].hash;
    }
    to->hashes = wire_borrow(hashes, count * sizeof(*hashes));
}

void wire_put_heartbeat(struct encoder *encoder, const struct message *message)
{
    const struct message_heartbeat *heartbeat = &message->u.heartbeat;
    Moot__Heartbeat *to = encoder->message.heartbeat = &encoder->body.heartbeat;
    moot__heartbeat__init(to);
    to->token = heartbeat->token;
    to->load = heartbeat->load;
    to->rolls = heartbeat->rolls;
    to->rolls_sum = heartbeat->rolls_sum;
    if (heartbeat->signatures != NULL) {
        to->signatures = &encoder->signatures;
        put_signatures(encoder, heartbeat->signatures, to->signatures);
    }
    to->suspects = wire_put_set(encoder, heartbeat->suspects);
    to->dead = wire_put_set(encoder, heartbeat->dead);
}

void wire_put_grant(struct encoder *encoder, const struct message *message)
{
    const struct message_grant *grant = &message->u.grant;
    Moot__Grant *to = encoder->message.grant = &encoder->body.grant;
    moot__grant__init(to);
    to->token = grant->token;
    to->contradicted = grant->contradicted;
    if (!hash_is_zero(&grant->others)) {
        to->others = wire_borrow(&grant->others, sizeof(grant->others));
    }
}

void wire_put_signature(struct encoder *encoder, const struct message *message)
{
    Moot__Signatures *to = encoder->message.signatures = &encoder->body.signatures;
    put_signatures(encoder, &message->u.signatures, to);
}

/* --- Reading ---------------------------------------------------------------------- */

static bool get_signatures(struct reader *reader, const Moot__Signatures *from,
                           struct message_signatures *to)
{
    const moot_hash *hashes;
    size_t count;
    if (!wire_get_hashes(reader, &from->hashes, &hashes, &count)) {
        return false;
    }
    if (from->n_steps != count) {
        return wire_refuse(reader, "SIGNATURE: the lists differ in length");
    }
    if (count > LIMIT_SIGNATURES) {
        return wire_refuse(reader, "SIGNATURE: too many steps");
    }
    struct message_signature *items =
        arena_take(&reader->arena, count * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct message_signature){.step = from->steps[i] >> 1,
                                              .hash = hashes[i],
                                              .asks = (from->steps[i] & 1) != 0};
    }
    *to = (struct message_signatures){(uint32_t)count, items};
    return true;
}

bool wire_get_heartbeat(struct reader *reader, const Moot__Message *message,
                        struct message *out)
{
    const Moot__Heartbeat *from = message->heartbeat;
    struct message_heartbeat *to = &out->u.heartbeat;
    to->token = from->token;
    to->load = from->load;
    to->rolls = from->rolls;
    to->rolls_sum = from->rolls_sum;
    if (from->signatures != NULL) {
        struct message_signatures *list = arena_take(&reader->arena, sizeof(*list));
        if (list == NULL || !get_signatures(reader, from->signatures, list)) {
            return false;
        }
        to->signatures = list;
    }
    return wire_get_set(reader, &from->suspects, &to->suspects) &&
           wire_get_set(reader, &from->dead, &to->dead);
}

bool wire_get_grant(struct reader *reader, const Moot__Message *message,
                    struct message *out)
{
    const Moot__Grant *from = message->grant;
    const moot_hash *others;
    size_t count;
    if (!wire_get_hashes(reader, &from->others, &others, &count)) {
        return false;
    }
    if (count > 1) {
        return wire_refuse(reader, "GRANT: more than one signature");
    }
    out->u.grant.token = from->token;
    out->u.grant.contradicted = from->contradicted;
    if (count > 0) {
        out->u.grant.others = others[0];
    }
    return true;
}

bool wire_get_signature(struct reader *reader, const Moot__Message *message,
                        struct message *out)
{
    return get_signatures(reader, message->signatures, &out->u.signatures);
}

/* --- Checking --------------------------------------------------------------------- */

static const char *check_signatures(const struct message_signatures *list)
{
    if (list->count == 0 || list->count > LIMIT_SIGNATURES) {
        return "SIGNATURE: no steps, or too many";
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].step > UINT64_MAX >> 1) {
            return "SIGNATURE: a step is beyond the limit";
        }
    }
    return NULL;
}

const char *wire_check_heartbeat(const struct message *message)
{
    const struct message_heartbeat *heartbeat = &message->u.heartbeat;
    const char *why = wire_check_set_or_null(heartbeat->suspects);
    if (why == NULL) {
        why = wire_check_set_or_null(heartbeat->dead);
    }
    return why == NULL && heartbeat->signatures != NULL
               ? check_signatures(heartbeat->signatures)
               : why;
}

const char *wire_check_grant(const struct message *message)
{
    const struct message_grant *grant = &message->u.grant;
    return grant->contradicted == 0 && !hash_is_zero(&grant->others)
               ? "GRANT: a signature of no step"
               : NULL;
}

const char *wire_check_signature(const struct message *message)
{
    return check_signatures(&message->u.signatures);
}
