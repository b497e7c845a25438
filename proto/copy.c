/* copy.c - deep copies of messages in one block (copy.h).
 *
 * The copier goes over a message twice.  The first time there is no block yet: it only
 * adds up what everything will take.  The second time it puts everything there, piece
 * by piece, and redirects the pointers.  Both are the same code, so they cannot
 * disagree about the size.
 */
#include "proto/copy.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct copier {
    uint8_t *block; /* NULL while it measures */
    size_t used;
};

/* Puts `size` bytes into the block and returns where; NULL while it measures, and for
 * what is not there. */
static void *put(struct copier *copier, const void *bytes, size_t size, size_t align)
{
    if (bytes == NULL) {
        return NULL;
    }
    copier->used = (copier->used + align - 1) / align * align;
    void *at = copier->block != NULL ? copier->block + copier->used : NULL;
    copier->used += size;
    if (at != NULL && size > 0) {
        memcpy(at, bytes, size);
    }
    return at;
}

#define PUT_LIST(copier, list, count)                                                  \
    put((copier), (list), (count) * sizeof(*(list)), alignof(max_align_t))

static const char *put_text(struct copier *copier, const char *text)
{
    return text != NULL ? put(copier, text, strlen(text) + 1, 1) : NULL;
}

/* As many words as the set needs. */
static const struct rankset *put_set(struct copier *copier, const struct rankset *set)
{
    struct rankset *to = put(copier, set, sizeof(*set), alignof(struct rankset));
    uint32_t words = set != NULL ? rankset_words(set) : 0;
    uint32_t high_words = words > 0 ? words - 1 : 0;
    uint64_t *high = NULL;
    if (high_words > 0) {
        high = put(copier, set->high, high_words * sizeof(*high), alignof(uint64_t));
    }
    if (to == NULL) {
        return NULL;
    }
    to->high = high;
    to->high_words = high_words;
    return to;
}

static const struct message_map *put_maps(struct copier *copier,
                                          const struct message_spec *spec)
{
    const size_t count = spec->maps != NULL ? spec->input_count : 0;
    struct message_map *maps = PUT_LIST(copier, spec->maps, count);
    for (size_t i = 0; i < count; i++) {
        const struct message_map *map = &spec->maps[i];
        const char *name = put_text(copier, map->name);
        const void *args = put(copier, map->args, map->args_size, 1);
        if (maps != NULL) {
            maps[i].name = name;
            maps[i].args = args;
        }
    }
    return maps;
}

static const struct message_spec *put_spec(struct copier *copier,
                                           const struct message_spec *spec)
{
    if (spec == NULL) {
        return NULL;
    }
    struct message_spec to = *spec;
    to.kernel_name = put_text(copier, spec->kernel_name);
    to.args = put(copier, spec->args, spec->args_size, alignof(max_align_t));
    to.inputs = PUT_LIST(copier, spec->inputs, spec->input_count);
    to.key = put(copier, spec->key, spec->key_size, 1);
    to.candidates = put_set(copier, spec->candidates);
    to.label = put_text(copier, spec->label);
    to.site = put_text(copier, spec->site);
    to.maps = put_maps(copier, spec);
    return put(copier, &to, sizeof(to), alignof(struct message_spec));
}

static void put_sites(struct copier *copier, struct message_hashes *to)
{
    const char *const *sites = to->sites;
    const char **copies = PUT_LIST(copier, sites, to->count);
    for (uint32_t i = 0; sites != NULL && i < to->count; i++) {
        const char *site = put_text(copier, sites[i]);
        if (copies != NULL) {
            copies[i] = site;
        }
    }
    to->sites = copies;
}

static void put_view(struct copier *copier, struct message_view *to)
{
    const struct message_past *past = to->past;
    struct message_past *copies = PUT_LIST(copier, past, to->history);
    for (uint32_t i = 0; i < to->history; i++) {
        const struct rankset *members = put_set(copier, past[i].members);
        if (copies != NULL) {
            copies[i].members = members;
        }
    }
    to->past = copies;
    const struct message_loss *loss = to->loss;
    struct message_loss *losses = PUT_LIST(copier, loss, to->losses);
    for (uint32_t i = 0; i < to->losses; i++) {
        const struct rankset *before = put_set(copier, loss[i].before);
        const struct rankset *after = put_set(copier, loss[i].after);
        if (losses != NULL) {
            losses[i].before = before;
            losses[i].after = after;
        }
    }
    to->loss = losses;
    to->members = put_set(copier, to->members);
    to->left = put_set(copier, to->left);
    const struct message_newcomer *newcomer = to->newcomer;
    struct message_newcomer *newcomers = PUT_LIST(copier, newcomer, to->newcomers);
    for (uint32_t i = 0; i < to->newcomers; i++) {
        uint64_t *places = PUT_LIST(copier, newcomer[i].places, newcomer[i].lanes);
        if (newcomers != NULL) {
            newcomers[i].places = places;
        }
    }
    to->newcomer = newcomers;
}

static void put_paxos(struct copier *copier, struct message_paxos *to)
{
    to->dead = put_set(copier, to->dead);
    to->heard = put_set(copier, to->heard);
    if (to->value != NULL) {
        struct message_view value = *to->value;
        put_view(copier, &value);
        to->value = put(copier, &value, sizeof(value), alignof(struct message_view));
    }
}

static void put_diverged(struct copier *copier, struct message_diverged *to)
{
    for (uint32_t i = 0; i < to->sides; i++) {
        to->side[i].site = put_text(copier, to->side[i].site);
        to->side[i].ranks = put_set(copier, to->side[i].ranks);
    }
}

static const struct message_signatures *
put_signatures(struct copier *copier, const struct message_signatures *list)
{
    if (list == NULL) {
        return NULL;
    }
    struct message_signatures to = *list;
    to.items = PUT_LIST(copier, list->items, list->count);
    return put(copier, &to, sizeof(to), alignof(struct message_signatures));
}

/* As put_borrowed(), of messages between members about their view. */
static void put_of_view(struct copier *copier, struct message *to)
{
    switch ((int)to->type) {
    case MESSAGE_HEARTBEAT:
        to->u.heartbeat.suspects = put_set(copier, to->u.heartbeat.suspects);
        to->u.heartbeat.dead = put_set(copier, to->u.heartbeat.dead);
        to->u.heartbeat.signatures = put_signatures(copier, to->u.heartbeat.signatures);
        break;
    case MESSAGE_PREPARE:
    case MESSAGE_PROMISE:
    case MESSAGE_PROPOSE:
    case MESSAGE_VOTED:
    case MESSAGE_REJECT:
        put_paxos(copier, &to->u.paxos);
        break;
    case MESSAGE_VIEW:
        put_view(copier, &to->u.view);
        break;
    case MESSAGE_REPORT:
    case MESSAGE_HANDOVER:
        to->u.report.entry = PUT_LIST(copier, to->u.report.entry, to->u.report.count);
        break;
    case MESSAGE_MEET:
        to->u.meet.came = put_set(copier, to->u.meet.came);
        to->u.meet.words = put(copier, to->u.meet.words, to->u.meet.words_size, 1);
        break;
    default:
        break; /* borrows nothing */
    }
}

/* As put_borrowed(), of messages about elements of arrays. */
static void put_of_elements(struct copier *copier, struct message *to)
{
    if (to->type == MESSAGE_ELEMENTS) {
        struct message_elements *elements = &to->u.elements;
        elements->ranges = PUT_LIST(copier, elements->ranges, elements->range_count);
        elements->spec = put_spec(copier, elements->spec);
        elements->ranks = put_set(copier, elements->ranks);
    } else {
        struct message_parts *parts = &to->u.parts;
        parts->parts = PUT_LIST(copier, parts->parts, parts->part_count);
        parts->bytes = put(copier, parts->bytes, parts->byte_count, 1);
    }
}

/* Redirects the pointers of `to`, which starts as the original. */
static void put_borrowed(struct copier *copier, struct message *to)
{
    switch ((int)to->type) {
    case MESSAGE_MOTION:
        to->u.motion.candidates = put_set(copier, to->u.motion.candidates);
        to->u.motion.spec = put_spec(copier, to->u.motion.spec);
        break;
    case MESSAGE_DECISION:
        to->u.decision.askers =
            PUT_LIST(copier, to->u.decision.askers, to->u.decision.asker_count);
        break;
    case MESSAGE_RESULT:
        to->u.result.data = RESULT_BARE;
        to->u.result.part = to->u.result.parts = 0;
        to->u.result.payload = NULL;
        break;
    case MESSAGE_REFER:
        to->u.refer.candidates = put_set(copier, to->u.refer.candidates);
        break;
    case MESSAGE_HASHES:
        to->u.hashes.hashes = PUT_LIST(copier, to->u.hashes.hashes, to->u.hashes.count);
        put_sites(copier, &to->u.hashes);
        break;
    case MESSAGE_STATE:
        to->u.state.site = put_text(copier, to->u.state.site);
        break;
    case MESSAGE_CHASE:
        to->u.chase.path = PUT_LIST(copier, to->u.chase.path, to->u.chase.path_count);
        break;
    case MESSAGE_FAMILY:
        to->u.family.children =
            PUT_LIST(copier, to->u.family.children, to->u.family.count);
        break;
    case MESSAGE_DIVERGED:
        put_diverged(copier, &to->u.diverged);
        break;
    case MESSAGE_KERNEL:
        to->u.kernel.name = put_text(copier, to->u.kernel.name);
        to->u.kernel.build =
            put(copier, to->u.kernel.build, to->u.kernel.build_size, 1);
        break;
    case MESSAGE_CENSUS:
        to->u.census.entry = PUT_LIST(copier, to->u.census.entry, to->u.census.count);
        break;
    case MESSAGE_SIGNATURE:
        to->u.signatures.items =
            PUT_LIST(copier, to->u.signatures.items, to->u.signatures.count);
        break;
    case MESSAGE_LOT:
        to->u.lot.hashes = PUT_LIST(copier, to->u.lot.hashes, to->u.lot.count);
        break;
    case MESSAGE_ELEMENTS:
    case MESSAGE_PARTS:
        put_of_elements(copier, to);
        break;
    case MESSAGE_SNAPSHOT:
        to->u.snapshot.name =
            put(copier, to->u.snapshot.name, to->u.snapshot.name_size, 1);
        break;
    case MESSAGE_INQUIRY:
        to->u.inquiry.hashes =
            PUT_LIST(copier, to->u.inquiry.hashes, to->u.inquiry.count);
        break;
    case MESSAGE_ACCOUNT:
        to->u.account.bytes = put(copier, to->u.account.bytes, to->u.account.size, 1);
        break;
    default:
        put_of_view(copier, to);
    }
}

static void put_message(struct copier *copier, const struct message *message)
{
    struct message *to = put(copier, message, sizeof(*message), alignof(max_align_t));
    struct message copy = *message;
    put_borrowed(copier, &copy);
    if (to != NULL) {
        *to = copy;
    }
}

struct message *message_copy(const struct message *message)
{
    struct copier copier = {.block = NULL};
    put_message(&copier, message);
    copier.block = malloc(copier.used);
    if (copier.block == NULL) {
        return NULL;
    }
    size_t size = copier.used;
    copier.used = 0;
    put_message(&copier, message);
    assert(copier.used == size);
    return (struct message *)copier.block;
}

void message_copy_free(struct message *copy) { free(copy); }
