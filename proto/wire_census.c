/* wire_census.c - CENSUS on the wire: its writer, its reader, and what it must keep to
 * (wire_write.c, wire_read.c, wire_check.c say how these are called).
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

enum {
    /* A witness, a number of holders and a hash. */
    ENCODER_COUNTED_BYTES = 2 * sizeof(uint32_t) + sizeof(moot_hash)
};

size_t wire_census_scratch_bytes(const struct message_census *census)
{
    return census->count * (size_t)ENCODER_COUNTED_BYTES;
}

void wire_put_census(struct encoder *encoder, const struct message *message)
{
    const struct message_census *census = &message->u.census;
    size_t count = census->count;
    Moot__Census *to = encoder->message.census = &encoder->body.census;
    moot__census__init(to);
    to->ask = census->ask;
    to->last = census->last;
    to->alike = census->alike;
    to->ranks = census->ranks;
    to->tasks = census->tasks;
    to->sum_low = census->sum.low;
    to->sum_high = census->sum.high;
    to->n_witnesses = to->n_holders = count;
    to->witnesses = wire_scratch_take(encoder, count * sizeof(*to->witnesses));
    to->holders = wire_scratch_take(encoder, count * sizeof(*to->holders));
    moot_hash *hashes = wire_scratch_take(encoder, count * sizeof(*hashes));
    for (size_t i = 0; i < count; i++) {
        const struct message_counted *entry = &census->entry[i];
        to->witnesses[i] = entry->witness;
        to->holders[i] = entry->holders << 1 | (entry->claimed ? 1 : 0);
        hashes[i] = entry->hash;
    }
    to->hashes = wire_borrow(hashes, count * sizeof(*hashes));
}

bool wire_get_census(struct reader *reader, const Moot__Message *message,
                     struct message *out)
{
    const Moot__Census *from = message->census;
    const moot_hash *hashes;
    size_t count;
    if (!wire_get_hashes(reader, &from->hashes, &hashes, &count)) {
        return false;
    }
    if (from->n_witnesses != count || from->n_holders != count) {
        return wire_refuse(reader, "CENSUS: the lists of entries differ in length");
    }
    struct message_counted *entries =
        arena_take(&reader->arena, count * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct message_counted){
            .hash = hashes[i],
            .witness = from->witnesses[i],
            .holders = from->holders[i] >> 1,
            .claimed = (from->holders[i] & 1) != 0,
        };
    }
    out->u.census = (struct message_census){
        .ask = from->ask,
        .last = from->last,
        .alike = from->alike,
        .ranks = from->ranks,
        .tasks = from->tasks,
        .sum = {.low = from->sum_low, .high = from->sum_high},
        .count = (uint32_t)count,
        .entry = entries,
    };
    return true;
}

const char *wire_check_census(const struct message *message)
{
    const struct message_census *census = &message->u.census;
    if (census->count > LIMIT_CENSUS_ENTRIES) {
        return "CENSUS: too many entries";
    }
    if (census->ranks > LIMIT_RANKS) {
        return "CENSUS: of more ranks than there are";
    }
    for (uint32_t i = 0; i < census->count; i++) {
        const struct message_counted *entry = &census->entry[i];
        if (hash_is_zero(&entry->hash)) {
            return "a hash in a list is zero";
        }
        if (entry->witness >= LIMIT_RANKS || entry->holders > LIMIT_RANKS) {
            return "CENSUS: an entry is beyond the limit";
        }
    }
    return NULL;
}
