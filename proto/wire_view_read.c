/* wire_view_read.c - messages of the view layer, as protobuf-c has them, to structs.
 *
 * The counterpart of wire_view_write.c; wire_read.c says how readers work.
 */
#include "proto/wire_private.h"

#include <string.h>

/* As many places as the lanes of all newcomers together. */
static bool get_places(struct reader *reader, const Moot__View *from,
                       struct message_newcomer *newcomers, size_t count)
{
    size_t used = 0;
    if (from->n_newcomer_lanes != 0 && from->n_newcomer_lanes != count) {
        return wire_refuse(reader, "a view's lists of newcomers differ in length");
    }
    uint64_t *places =
        arena_take(&reader->arena, (from->n_newcomer_places + 1) * sizeof(*places));
    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i < from->n_newcomer_places; i++) {
        places[i] = from->newcomer_places[i];
    }
    for (size_t i = 0; i < from->n_newcomer_lanes; i++) {
        const uint32_t lanes = from->newcomer_lanes[i];
        if (lanes > from->n_newcomer_places - used) {
            return wire_refuse(reader, "a newcomer's roll begins at no place");
        }
        newcomers[i].lanes = lanes;
        newcomers[i].places = places + used;
        used += lanes;
    }
    return used == from->n_newcomer_places ||
           wire_refuse(reader, "a place is no newcomer's");
}

static bool get_newcomers(struct reader *reader, const Moot__View *from,
                          struct message_view *to)
{
    size_t count = from->n_newcomer_ranks;
    if (from->n_newcomer_hosts != count || from->n_newcomer_uids != count) {
        return wire_refuse(reader, "a view's lists of newcomers differ in length");
    }
    struct message_newcomer *newcomers =
        arena_take(&reader->arena, count * sizeof(*newcomers));
    if (newcomers == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        newcomers[i].rank = from->newcomer_ranks[i];
        newcomers[i].host = from->newcomer_hosts[i];
        newcomers[i].uid = from->newcomer_uids[i];
        newcomers[i].lanes = 0;
        newcomers[i].places = NULL;
    }
    to->newcomers = (uint32_t)count;
    to->newcomer = newcomers;
    return get_places(reader, from, newcomers, count);
}

/* `count` sets of `words` words each, which stand in `from` one after the other; *used
 * is how many words the largest of them needs. */
static struct rankset *get_sets(struct reader *reader, const ProtobufCBinaryData *from,
                                size_t count, uint32_t words, uint32_t *used)
{
    uint32_t high_words = words > 0 ? words - 1 : 0;
    struct rankset *sets = arena_take(
        &reader->arena, count * (sizeof(*sets) + high_words * sizeof(uint64_t)));
    if (sets == NULL) {
        return NULL;
    }
    uint64_t *high = (uint64_t *)(sets + count);
    const uint8_t *at = from->data;
    *used = 0;
    for (size_t i = 0; i < count; i++) {
        sets[i] = (struct rankset){.low = wire_get_u64(at),
                                   .high = high_words > 0 ? high : NULL,
                                   .high_words = high_words};
        at += sizeof(uint64_t);
        for (uint32_t word = 0; word < high_words; word++) {
            *high++ = wire_get_u64(at);
            at += sizeof(uint64_t);
        }
        uint32_t needed = rankset_words(&sets[i]);
        *used = needed > *used ? needed : *used;
    }
    return sets;
}

static bool get_past(struct reader *reader, const Moot__View *from,
                     struct message_view *to)
{
    size_t count = from->n_past_epochs, bytes = from->past_members.len;
    uint32_t words = 0, used;
    if (count > LIMIT_PAST_VIEWS) {
        return wire_refuse(reader, "a view has too long a history");
    }
    if (count > 0 && bytes <= count * LIMIT_RANKS / 8) {
        words = (uint32_t)(bytes / count / sizeof(uint64_t));
    }
    if (bytes != count * words * sizeof(uint64_t) || (count > 0 && words == 0)) {
        return wire_refuse(reader, "a view's past members have a wrong size");
    }
    struct message_past *past = arena_take(&reader->arena, count * sizeof(*past));
    const struct rankset *sets =
        get_sets(reader, &from->past_members, count, words, &used);
    if (past == NULL || sets == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        past[i] = (struct message_past){from->past_epochs[i], &sets[i]};
    }
    to->history = (uint32_t)count;
    to->past = past;
    return used == words ||
           wire_refuse(reader, "a view's past members all end with zeros");
}

static bool get_losses(struct reader *reader, const Moot__View *from,
                       struct message_view *to)
{
    size_t count = from->n_loss_epochs, bytes = from->loss_members.len;
    uint32_t words = 0, used;
    if (count > LIMIT_LOSSES) {
        return wire_refuse(reader, "a view tells of too many losses");
    }
    if (count > 0 && bytes <= 2 * count * LIMIT_RANKS / 8) {
        words = (uint32_t)(bytes / (2 * count) / sizeof(uint64_t));
    }
    if (bytes != 2 * count * words * sizeof(uint64_t) || (count > 0 && words == 0)) {
        return wire_refuse(reader, "a view's losses have a wrong size");
    }
    struct message_loss *losses = arena_take(&reader->arena, count * sizeof(*losses));
    const struct rankset *sets =
        get_sets(reader, &from->loss_members, 2 * count, words, &used);
    if (losses == NULL || sets == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        losses[i] =
            (struct message_loss){from->loss_epochs[i], &sets[2 * i], &sets[2 * i + 1]};
    }
    to->losses = (uint32_t)count;
    to->loss = losses;
    to->losses_cut = from->losses_cut;
    return used == words || wire_refuse(reader, "a view's losses all end with zeros");
}

static bool get_hash(struct reader *reader, const ProtobufCBinaryData *from,
                     moot_hash *to)
{
    if (from->len != 0 && from->len != sizeof(*to)) {
        return wire_refuse(reader, "a snapshot's id has a wrong size");
    }
    *to = (moot_hash){{0}};
    if (from->len != 0) {
        memcpy(to, from->data, sizeof(*to));
    }
    return true;
}

static bool get_view_value(struct reader *reader, const Moot__View *from,
                           struct message_view *to)
{
    to->epoch = from->epoch;
    to->reload.generation = from->generation;
    to->reload.met = from->reload_met;
    return get_hash(reader, &from->reload_snapshot, &to->reload.snapshot) &&
           wire_get_set(reader, &from->members, &to->members) &&
           wire_get_set(reader, &from->left, &to->left) &&
           get_newcomers(reader, from, to) && get_past(reader, from, to) &&
           get_losses(reader, from, to);
}

bool wire_get_view(struct reader *reader, const Moot__Message *message,
                   struct message *out)
{
    return get_view_value(reader, message->view, &out->u.view);
}

bool wire_get_paxos(struct reader *reader, const Moot__Message *message,
                    struct message *out)
{
    const Moot__Paxos *from = message->paxos;
    struct message_paxos *to = &out->u.paxos;
    struct message_view *value = NULL;
    if (from->value != NULL) {
        value = arena_take(&reader->arena, sizeof(*value));
        if (value == NULL || !get_view_value(reader, from->value, value)) {
            return false;
        }
    }
    to->ballot = from->ballot;
    to->accepted = from->accepted;
    to->value = value;
    return wire_get_set(reader, &from->dead, &to->dead) &&
           wire_get_set(reader, &from->heard, &to->heard);
}

bool wire_get_report(struct reader *reader, const Moot__Message *message,
                     struct message *out)
{
    const Moot__Report *from = message->report;
    struct message_report *to = &out->u.report;
    const moot_hash *hashes;
    size_t count;
    if (!wire_get_hashes(reader, &from->hashes, &hashes, &count)) {
        return false;
    }
    if (from->n_whats != count || from->n_owners != count || from->n_epochs != count ||
        from->n_payloads != count || from->n_evidences != count ||
        from->n_codes != count || from->n_ages_ns != count) {
        return wire_refuse(reader, "REPORT: the lists of entries differ in length");
    }
    struct message_entry *entries =
        arena_take(&reader->arena, count * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct message_entry){
            .hash = hashes[i],
            .what = (enum report_what)from->whats[i],
            .owner = from->owners[i],
            .epoch = from->epochs[i],
            .has_payload = from->payloads[i],
            .evidence = (enum evidence)from->evidences[i],
            .code = from->codes[i],
            .age_ns = from->ages_ns[i],
        };
    }
    to->last = from->last;
    to->count = (uint32_t)count;
    to->entry = entries;
    return true;
}

bool wire_get_fenced(struct reader *reader, const Moot__Message *message,
                     struct message *out)
{
    (void)reader;
    out->u.fenced.epoch = message->fenced->epoch;
    out->u.fenced.refused = message->fenced->refused;
    return true;
}

bool wire_get_join(struct reader *reader, const Moot__Message *message,
                   struct message *out)
{
    (void)reader;
    out->u.join.uid = message->join->uid;
    out->u.join.host = message->join->host;
    out->u.join.rank = message->join->rank;
    return true;
}

bool wire_get_tally(struct reader *reader, const Moot__Message *message,
                    struct message *out)
{
    (void)reader;
    out->u.tally.what = (enum tally_what)message->tally->what;
    return true;
}

bool wire_get_leave(struct reader *reader, const Moot__Message *message,
                    struct message *out)
{
    (void)reader;
    out->u.leave.what = (enum leave_what)message->leave->what;
    return true;
}

bool wire_get_meet(struct reader *reader, const Moot__Message *message,
                   struct message *out)
{
    const Moot__Meet *from = message->meet;
    out->u.meet.what = (enum meet_what)from->what;
    out->u.meet.number = from->number;
    out->u.meet.code = from->code;
    out->u.meet.words = from->words.len > 0 ? from->words.data : NULL;
    out->u.meet.words_size = from->words.len;
    out->u.meet.generation = from->generation;
    return get_hash(reader, &from->snapshot, &out->u.meet.snapshot) &&
           wire_get_set(reader, &from->came, &out->u.meet.came);
}
