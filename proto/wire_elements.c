/* wire_elements.c - ELEMENTS on the wire (wire_write.c, wire_read.c and wire_check.c
 * say how these are called).
 *
 * A set of places goes as numbers by turns: so many places that are not in it, so many
 * that are.  Whatever such numbers are, they are ranges in order; that none is empty,
 * none touches the next and none is too long is what is checked.
 */
#include "proto/wire_private.h"

#include "hashing/array_spread.h"
#include "hashing/identity.h"

size_t wire_elements_scratch_bytes(const struct message_elements *elements)
{
    return 2 * (size_t)elements->range_count * sizeof(uint64_t) +
           wire_spec_scratch_bytes(elements->spec) +
           wire_set_scratch_bytes(elements->ranks);
}

void wire_put_elements(struct encoder *encoder, const struct message *message)
{
    const struct message_elements *elements = &message->u.elements;
    Moot__Elements *to = encoder->message.elements = &encoder->body.elements;
    uint64_t at = 0;
    moot__elements__init(to);
    to->what = elements->what;
    to->count = elements->count;
    to->block = elements->block;
    to->kind = elements->kind;
    to->homes = elements->homes;
    to->need = elements->need;
    to->quiet = elements->quiet;
    to->tell = elements->tell;
    to->ranks = wire_put_set(encoder, elements->ranks);
    to->bound = elements->bound;
    to->failed = elements->failed;
    to->status = elements->status;
    to->n_places = 2 * (size_t)elements->range_count;
    to->places = wire_scratch_take(encoder, to->n_places * sizeof(*to->places));
    for (uint32_t i = 0; i < elements->range_count; i++) {
        const struct range *range = &elements->ranges[i];
        to->places[2 * i] = range->first - at;
        to->places[2 * i + 1] = range->end - range->first;
        at = range->end;
    }
    to->spec = elements->spec != NULL ? wire_put_spec(encoder, elements->spec) : NULL;
}

bool wire_get_elements(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    const Moot__Elements *from = message->elements;
    struct message_elements *to = &out->u.elements;
    if (from->n_places > 2 * LIMIT_ELEMENT_RANGES || from->n_places % 2 != 0) {
        return wire_refuse(reader, "ELEMENTS: no such number of ranges");
    }
    struct range *ranges =
        arena_take(&reader->arena, from->n_places / 2 * sizeof(*ranges));
    if (ranges == NULL) {
        return false;
    }
    uint64_t at = 0;
    for (size_t i = 0; i < from->n_places / 2; i++) {
        const uint64_t gap = from->places[2 * i], length = from->places[2 * i + 1];
        if (gap > ARRAY_COUNT_MAX || length > ARRAY_COUNT_MAX) {
            return wire_refuse(reader, "ELEMENTS: a place beyond the limit");
        }
        ranges[i] = (struct range){at + gap, at + gap + length};
        at = ranges[i].end;
    }
    *to = (struct message_elements){
        .what = (enum elements_what)from->what,
        .count = from->count,
        .block = from->block,
        .kind = from->kind,
        .homes = from->homes,
        .need = from->need,
        .quiet = from->quiet,
        .tell = from->tell,
        .bound = from->bound,
        .range_count = (uint32_t)(from->n_places / 2),
        .ranges = ranges,
        .failed = from->failed,
        .status = from->status,
    };
    return wire_get_set(reader, &from->ranks, &to->ranks) &&
           (from->spec == NULL || wire_get_spec(reader, from->spec, &to->spec));
}

/* Its homes, if they are named, are as many as its places are counted with. */
static const char *check_ranks(const struct message_elements *elements)
{
    if (elements->ranks == NULL) {
        return elements->bound ? "ELEMENTS: candidates that are not named" : NULL;
    }
    const char *why = wire_check_set(elements->ranks);
    return why == NULL && rankset_count(elements->ranks) != elements->homes
               ? "ELEMENTS: other homes than it counts"
               : why;
}

const char *wire_check_elements(const struct message *message)
{
    const struct message_elements *elements = &message->u.elements;
    if (!hash_has(&message->hash, MOOT_HASH_ARRAY)) {
        return "ELEMENTS: of no array";
    }
    const struct array_spread spread = {elements->count, elements->block,
                                        elements->homes,
                                        (enum array_spread_kind)elements->kind};
    if ((unsigned)elements->what >= ELEMENTS_END) {
        return "ELEMENTS: no such thing";
    }
    if (!array_spread_valid(&spread) || elements->homes > LIMIT_RANKS) {
        return "ELEMENTS: no such array";
    }
    if (elements->range_count > LIMIT_ELEMENT_RANGES ||
        (elements->range_count == 0 && elements->what != ELEMENTS_OWNED)) {
        return "ELEMENTS: no such number of ranges";
    }
    for (uint32_t i = 0; i < elements->range_count; i++) {
        const struct range *range = &elements->ranges[i];
        if (range->first >= range->end || range->end > elements->count ||
            (i > 0 && range->first <= range[-1].end)) {
            return "ELEMENTS: ranges that are no set";
        }
    }
    if (elements->failed > elements->count || elements->status > 0 ||
        (elements->failed != 0) != (elements->status != 0)) {
        return "ELEMENTS: no such failure";
    }
    const char *why = check_ranks(elements);
    if (elements->spec == NULL || why != NULL) {
        return why;
    }
    if (elements->what > ELEMENTS_WANTED || elements->spec->count != elements->count) {
        return "ELEMENTS: a spec of another array";
    }
    return wire_check_spec(&message->hash, elements->spec);
}
