/* wire_view_write.c - messages of the view layer to protobuf-c's structs.
 *
 * The counterpart of wire_view_read.c; wire_write.c says how writers work.  What comes
 * in lists of structs goes out as one list a field, laid out in the scratch.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

enum {
    /* An uid, a rank and a host. */
    ENCODER_NEWCOMER_BYTES = sizeof(uint64_t) + 3 * sizeof(uint32_t),
    /* An epoch and an age, a what, an owner, evidence and a code, whether there is a
     * payload, and a hash. */
    ENCODER_ENTRY_BYTES = 2 * sizeof(uint64_t) + 4 * sizeof(uint32_t) +
                          sizeof(protobuf_c_boolean) + sizeof(moot_hash)
};
static_assert(sizeof(protobuf_c_boolean) == sizeof(uint32_t), "entries stay aligned");

/* --- Views ------------------------------------------------------------------------ */

/* Words of the largest set. */
static uint32_t past_words(const struct message_view *view)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < view->history; i++) {
        uint32_t words = rankset_words(view->past[i].members);
        most = words > most ? words : most;
    }
    return most;
}

static void put_past(struct encoder *encoder, const struct message_view *view,
                     Moot__View *to)
{
    uint32_t words = past_words(view);
    size_t set_bytes = words * sizeof(uint64_t);
    to->n_past_epochs = view->history;
    to->past_epochs =
        wire_scratch_take(encoder, view->history * sizeof(*to->past_epochs));
    uint8_t *sets = wire_scratch_take(encoder, view->history * set_bytes);
    for (uint32_t i = 0; i < view->history; i++) {
        to->past_epochs[i] = view->past[i].epoch;
        wire_put_words(sets + i * set_bytes, view->past[i].members, words);
    }
    to->past_members = wire_borrow(sets, view->history * set_bytes);
}

static uint32_t loss_words(const struct message_view *view)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < view->losses; i++) {
        uint32_t before = rankset_words(view->loss[i].before);
        uint32_t after = rankset_words(view->loss[i].after);
        most = before > most ? before : most;
        most = after > most ? after : most;
    }
    return most;
}

static ProtobufCBinaryData borrow_hash(const moot_hash *hash)
{
    return wire_borrow(hash, hash_is_zero(hash) ? 0 : sizeof(*hash));
}

static void put_losses(struct encoder *encoder, const struct message_view *view,
                       Moot__View *to)
{
    uint32_t words = loss_words(view);
    size_t set_bytes = words * sizeof(uint64_t);
    to->losses_cut = view->losses_cut;
    to->generation = view->reload.generation;
    to->reload_met = view->reload.met;
    to->reload_snapshot = borrow_hash(&view->reload.snapshot);
    to->n_loss_epochs = view->losses;
    to->loss_epochs =
        wire_scratch_take(encoder, view->losses * sizeof(*to->loss_epochs));
    uint8_t *sets = wire_scratch_take(encoder, 2 * view->losses * set_bytes);
    for (uint32_t i = 0; i < view->losses; i++) {
        to->loss_epochs[i] = view->loss[i].epoch;
        wire_put_words(sets + 2 * i * set_bytes, view->loss[i].before, words);
        wire_put_words(sets + (2 * i + 1) * set_bytes, view->loss[i].after, words);
    }
    to->loss_members = wire_borrow(sets, 2 * view->losses * set_bytes);
}

static size_t places_of(const struct message_view *view)
{
    size_t places = 0;
    for (uint32_t i = 0; i < view->newcomers; i++) {
        places += view->newcomer[i].lanes;
    }
    return places;
}

/* Nothing, unless some newcomer's roll begins behind a place. */
static void put_places(struct encoder *encoder, const struct message_view *view,
                       Moot__View *to)
{
    const size_t places = places_of(view);
    if (places == 0) {
        return;
    }
    to->newcomer_places =
        wire_scratch_take(encoder, places * sizeof(*to->newcomer_places));
    to->newcomer_lanes =
        wire_scratch_take(encoder, view->newcomers * sizeof(*to->newcomer_lanes));
    to->n_newcomer_lanes = view->newcomers;
    for (uint32_t i = 0; i < view->newcomers; i++) {
        const struct message_newcomer *newcomer = &view->newcomer[i];
        to->newcomer_lanes[i] = newcomer->lanes;
        for (uint32_t lane = 0; lane < newcomer->lanes; lane++) {
            to->newcomer_places[to->n_newcomer_places++] = newcomer->places[lane];
        }
    }
}

static void put_newcomers(struct encoder *encoder, const struct message_view *view,
                          Moot__View *to)
{
    uint32_t count = view->newcomers;
    to->n_newcomer_ranks = to->n_newcomer_hosts = to->n_newcomer_uids = count;
    to->newcomer_uids = wire_scratch_take(encoder, count * sizeof(*to->newcomer_uids));
    to->newcomer_ranks =
        wire_scratch_take(encoder, count * sizeof(*to->newcomer_ranks));
    to->newcomer_hosts =
        wire_scratch_take(encoder, count * sizeof(*to->newcomer_hosts));
    for (uint32_t i = 0; i < count; i++) {
        to->newcomer_uids[i] = view->newcomer[i].uid;
        to->newcomer_ranks[i] = view->newcomer[i].rank;
        to->newcomer_hosts[i] = view->newcomer[i].host;
    }
    put_places(encoder, view, to);
}

static Moot__View *put_view_value(struct encoder *encoder,
                                  const struct message_view *view)
{
    Moot__View *to = &encoder->view;
    moot__view__init(to);
    to->epoch = view->epoch;
    to->members = wire_put_set(encoder, view->members);
    to->left = wire_put_set(encoder, view->left);
    put_past(encoder, view, to);
    put_losses(encoder, view, to);
    put_newcomers(encoder, view, to);
    return to;
}

static size_t view_bytes(const struct message_view *view)
{
    return wire_set_scratch_bytes(view->members) + wire_set_scratch_bytes(view->left) +
           view->history * (1 + (size_t)past_words(view)) * sizeof(uint64_t) +
           view->losses * (1 + 2 * (size_t)loss_words(view)) * sizeof(uint64_t) +
           view->newcomers * (size_t)ENCODER_NEWCOMER_BYTES +
           places_of(view) * sizeof(uint64_t);
}

void wire_put_view(struct encoder *encoder, const struct message *message)
{
    encoder->message.view = put_view_value(encoder, &message->u.view);
}

void wire_put_paxos(struct encoder *encoder, const struct message *message)
{
    const struct message_paxos *paxos = &message->u.paxos;
    Moot__Paxos *to = encoder->message.paxos = &encoder->body.paxos;
    moot__paxos__init(to);
    to->ballot = paxos->ballot;
    to->accepted = paxos->accepted;
    to->dead = wire_put_set(encoder, paxos->dead);
    to->heard = wire_put_set(encoder, paxos->heard);
    to->value = paxos->value != NULL ? put_view_value(encoder, paxos->value) : NULL;
}

/* --- Reports ---------------------------------------------------------------------- */

void wire_put_report(struct encoder *encoder, const struct message *message)
{
    const struct message_report *report = &message->u.report;
    size_t count = report->count;
    Moot__Report *to = encoder->message.report = &encoder->body.report;
    moot__report__init(to);
    to->last = report->last;
    to->n_whats = to->n_owners = to->n_epochs = count;
    to->n_payloads = to->n_evidences = to->n_codes = to->n_ages_ns = count;
    to->epochs = wire_scratch_take(encoder, count * sizeof(*to->epochs));
    to->ages_ns = wire_scratch_take(encoder, count * sizeof(*to->ages_ns));
    to->codes = wire_scratch_take(encoder, count * sizeof(*to->codes));
    to->whats = wire_scratch_take(encoder, count * sizeof(*to->whats));
    to->owners = wire_scratch_take(encoder, count * sizeof(*to->owners));
    to->payloads = wire_scratch_take(encoder, count * sizeof(*to->payloads));
    to->evidences = wire_scratch_take(encoder, count * sizeof(*to->evidences));
    moot_hash *hashes = wire_scratch_take(encoder, count * sizeof(*hashes));
    for (size_t i = 0; i < count; i++) {
        const struct message_entry *entry = &report->entry[i];
        to->epochs[i] = entry->epoch;
        to->whats[i] = entry->what;
        to->owners[i] = entry->owner;
        to->payloads[i] = entry->has_payload;
        to->evidences[i] = entry->evidence;
        to->codes[i] = entry->code;
        to->ages_ns[i] = entry->age_ns;
        hashes[i] = entry->hash;
    }
    to->hashes = wire_borrow(hashes, count * sizeof(*hashes));
}

void wire_put_fenced(struct encoder *encoder, const struct message *message)
{
    Moot__Fenced *to = encoder->message.fenced = &encoder->body.fenced;
    moot__fenced__init(to);
    to->epoch = message->u.fenced.epoch;
    to->refused = message->u.fenced.refused;
}

void wire_put_join(struct encoder *encoder, const struct message *message)
{
    Moot__Join *to = encoder->message.join = &encoder->body.join;
    moot__join__init(to);
    to->uid = message->u.join.uid;
    to->host = message->u.join.host;
    to->rank = message->u.join.rank;
}

void wire_put_tally(struct encoder *encoder, const struct message *message)
{
    Moot__Tally *to = encoder->message.tally = &encoder->body.tally;
    moot__tally__init(to);
    to->what = message->u.tally.what;
}

void wire_put_leave(struct encoder *encoder, const struct message *message)
{
    Moot__Leave *to = encoder->message.leave = &encoder->body.leave;
    moot__leave__init(to);
    to->what = message->u.leave.what;
}

void wire_put_meet(struct encoder *encoder, const struct message *message)
{
    const struct message_meet *meet = &message->u.meet;
    Moot__Meet *to = encoder->message.meet = &encoder->body.meet;
    moot__meet__init(to);
    to->what = meet->what;
    to->number = meet->number;
    to->code = meet->code;
    to->came = wire_put_set(encoder, meet->came);
    to->words = wire_borrow(meet->words, meet->words_size);
    to->generation = meet->generation;
    to->snapshot = borrow_hash(&meet->snapshot);
}

size_t wire_view_scratch_bytes(const struct message *message)
{
    const struct message_paxos *paxos = &message->u.paxos;
    switch ((int)message->type) {
    case MESSAGE_HEARTBEAT:
    case MESSAGE_SIGNATURE:
        return wire_beat_scratch_bytes(message);
    case MESSAGE_PREPARE:
    case MESSAGE_PROMISE:
    case MESSAGE_PROPOSE:
    case MESSAGE_VOTED:
    case MESSAGE_REJECT:
        return wire_set_scratch_bytes(paxos->dead) +
               wire_set_scratch_bytes(paxos->heard) +
               (paxos->value != NULL ? view_bytes(paxos->value) : 0);
    case MESSAGE_VIEW:
        return view_bytes(&message->u.view);
    case MESSAGE_REPORT:
    case MESSAGE_HANDOVER:
        return message->u.report.count * (size_t)ENCODER_ENTRY_BYTES;
    case MESSAGE_MEET:
        return wire_set_scratch_bytes(message->u.meet.came);
    default:
        return 0;
    }
}
