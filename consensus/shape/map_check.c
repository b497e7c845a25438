/* map_check.c - see map_check.h. */
#include "consensus/shape/map_check.h"

#include "proto/moot_error.h"

int map_fault_of(const struct array_mapping *mapping, uint64_t element,
                 const struct array_counts *counts, struct map_fault *out)
{
    struct array_answer answer;
    array_answer_init(&answer);
    const int count = array_sources(mapping, element, counts, &answer);
    *out = (struct map_fault){.element = element, .error = count < 0 ? count : MOOT_OK};
    if (count == MOOT_ERR_INVALID && answer.wrong != UINT32_MAX) {
        out->beyond = true;
        out->range = answer.ranges[answer.wrong];
    }
    array_answer_release(&answer);
    return out->error;
}

static struct array_counts counts_of(const struct array_shape *shape)
{
    return (struct array_counts){shape->takes.spread.count, shape->from.spread.count};
}

/* The elements whose sources a schedule asks for: those of the rank, or all. */
static bool add_asked(const struct array_shape *shape, struct range_set *out)
{
    return shape->mapping.map->targets != NULL
               ? array_share(&shape->takes, shape->members, shape->rank, out)
               : range_set_add(out, (struct range){0, shape->takes.spread.count});
}

bool map_fault_find(const struct array_shape *shape, struct map_fault *out)
{
    const struct array_counts counts = counts_of(shape);
    struct range_set asked = {0};
    bool found = false;
    if (add_asked(shape, &asked)) {
        const uint64_t size = range_set_size(&asked);
        for (uint64_t i = 0; !found && i < size; i++) {
            const uint64_t place = range_set_at(&asked, i);
            const uint64_t index = array_index(&shape->takes.spread, place);
            const int error = map_fault_of(&shape->mapping, index, &counts, out);
            found = error == MOOT_ERR_INVALID || error == MOOT_ERR_LIMIT;
        }
    }
    range_set_release(&asked);
    return found;
}

/* --- Inverses -----------------------------------------------------------------------
 */

/* Both functions of a map, and what each has said last. */
struct map_look {
    const struct array_mapping *mapping;
    struct array_counts counts;
    struct array_answer sources, targets;
    int source_count, target_count;
    uint32_t left; /* so many pairs more are looked at */
};

static bool names(const struct array_answer *answer, int count, uint64_t element)
{
    for (int i = 0; i < count; i++) {
        if (answer->ranges[i].first <= element && element < answer->ranges[i].end) {
            return true;
        }
    }
    return false;
}

static uint32_t copy_first(const struct array_answer *answer, int count,
                           struct range to[INVERSE_FAULT_RANGES])
{
    for (int i = 0; i < count && i < INVERSE_FAULT_RANGES; i++) {
        to[i] = answer->ranges[i];
    }
    return (uint32_t)count;
}

static void note_fault(const struct map_look *look, uint64_t element, uint64_t source,
                       bool left_out, struct inverse_fault *out)
{
    *out = (struct inverse_fault){
        .element = element, .source = source, .left_out = left_out};
    out->source_ranges = copy_first(&look->sources, look->source_count, out->sources);
    out->target_ranges = copy_first(&look->targets, look->target_count, out->targets);
}

static void ask_sources(struct map_look *look, uint64_t element)
{
    const int count =
        array_sources(look->mapping, element, &look->counts, &look->sources);
    look->source_count = count > 0 ? count : 0;
}

static void ask_targets(struct map_look *look, uint64_t source)
{
    const int count =
        array_targets(look->mapping, source, &look->counts, &look->targets);
    look->target_count = count > 0 ? count : 0;
}

/* Whether `targets` leaves the element out, of one that it takes. */
static bool is_left_out(struct map_look *look, uint64_t element,
                        struct inverse_fault *out)
{
    ask_sources(look, element);
    for (int i = 0; i < look->source_count; i++) {
        const struct range range = look->sources.ranges[i];
        for (uint64_t at = range.first; at < range.end && look->left > 0; at++) {
            look->left--;
            ask_targets(look, at);
            if (!names(&look->targets, look->target_count, element)) {
                note_fault(look, element, at, true, out);
                return true;
            }
        }
    }
    return false;
}

/* Whether `targets` of the source names one that does not take it. */
static bool is_too_much(struct map_look *look, uint64_t source,
                        struct inverse_fault *out)
{
    ask_targets(look, source);
    for (int i = 0; i < look->target_count; i++) {
        const struct range range = look->targets.ranges[i];
        for (uint64_t at = range.first; at < range.end && look->left > 0; at++) {
            look->left--;
            ask_sources(look, at);
            if (!names(&look->sources, look->source_count, source)) {
                note_fault(look, at, source, false, out);
                return true;
            }
        }
    }
    return false;
}

/* By the rank's elements of one of the two arrays. */
static bool look_at_share(struct map_look *look, const struct array_shape *shape,
                          const struct array_card *card, struct inverse_fault *out)
{
    struct range_set own = {0};
    bool found = false;
    look->left = INVERSE_LOOKS_MAX;
    if (array_share(card, shape->members, shape->rank, &own)) {
        const uint64_t size = range_set_size(&own);
        for (uint64_t i = 0; !found && i < size && look->left > 0; i++) {
            const uint64_t index = array_index(&card->spread, range_set_at(&own, i));
            found = card == &shape->takes ? is_left_out(look, index, out)
                                          : is_too_much(look, index, out);
        }
    }
    range_set_release(&own);
    return found;
}

bool inverse_fault_find(const struct array_shape *shape, struct inverse_fault *out)
{
    struct map_look look = {.mapping = &shape->mapping, .counts = counts_of(shape)};
    if (shape->mapping.map->targets == NULL) {
        return false;
    }
    array_answer_init(&look.sources);
    array_answer_init(&look.targets);
    const bool found = look_at_share(&look, shape, &shape->takes, out) ||
                       look_at_share(&look, shape, &shape->from, out);
    array_answer_release(&look.sources);
    array_answer_release(&look.targets);
    return found;
}
