/* kept_signatures.c - the signatures of one rank that are kept, in the order of their
 * steps.
 *
 * The latest are, and of those before them the latest of each power of two by which a
 * step is divisible.  So a rank that is behind by a thousand steps has some in common
 * with one that is ahead, whatever steps there are: those of which a higher power of
 * two is a divisor.
 */
#include "consensus/signature/signature.h"

#include <assert.h>
#include <string.h>

/* By how many twos a step is divisible. */
static unsigned class_of(uint64_t step)
{
    unsigned twos = 0;
    while (twos < SIGNATURE_CLASSES - 1 && (step >> twos & 1) == 0) {
        twos++;
    }
    return twos;
}

/* The place of the first whose step is not less. */
static uint32_t find_place(const struct signatures *kept, uint64_t step)
{
    uint32_t first = 0, end = kept->count;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (kept->items[middle].step < step) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

const struct kept_signature *kept_find(const struct signatures *kept, uint64_t step)
{
    if (kept == NULL) {
        return NULL;
    }
    const uint32_t at = find_place(kept, step);
    return at < kept->count && kept->items[at].step == step ? &kept->items[at] : NULL;
}

/* With the one that comes there are more old ones than classes, so one of them is not
 * the latest of its class. */
static uint32_t choose_dropped(const struct signatures *kept)
{
    uint64_t seen = 0;
    assert(kept->count == SIGNATURES_KEPT);
    for (uint32_t i = SIGNATURES_KEPT - SIGNATURES_LATEST + 1; i-- > 0;) {
        const uint64_t bit = UINT64_C(1) << class_of(kept->items[i].step);
        if ((seen & bit) != 0) {
            return i;
        }
        seen |= bit;
    }
    return 0;
}

struct kept_signature *kept_add(struct core *core, struct signatures **kept,
                                uint64_t step, const moot_hash *hash)
{
    assert(kept_find(*kept, step) == NULL);
    if (*kept == NULL && (*kept = core_alloc(core, sizeof(**kept))) == NULL) {
        return NULL;
    }
    struct signatures *all = *kept;
    if (all->count == SIGNATURES_KEPT) {
        const uint32_t gone = choose_dropped(all);
        memmove(&all->items[gone], &all->items[gone + 1],
                (all->count - gone - 1) * sizeof(*all->items));
        all->count--;
    }
    const uint32_t at = find_place(all, step);
    memmove(&all->items[at + 1], &all->items[at],
            (all->count - at) * sizeof(*all->items));
    all->count++;
    all->items[at] = (struct kept_signature){.step = step, .hash = *hash};
    return &all->items[at];
}
