/* ranks.c - see ranks.h. */
#include "consensus/sim/programs/ranks.h"
#include <stdlib.h>

void ranks_add(struct rankset *set, uint32_t rank)
{
    if (!rankset_add(set, rank)) {
        abort();
    }
}

void ranks_fill(struct rankset *set, uint32_t end)
{
    rankset_release(set);
    for (uint32_t rank = end; rank-- > 0;) {
        ranks_add(set, rank);
    }
}

void ranks_copy(struct rankset *to, const struct rankset *from)
{
    if (!rankset_copy(to, from)) {
        abort();
    }
}

void ranks_merge(struct rankset *to, const struct rankset *from)
{
    if (!rankset_merge(to, from)) {
        abort();
    }
}

void ranks_keep(struct rankset *set, const struct rankset *other)
{
    set->low &= other->low;
    for (uint32_t i = 0; i < set->high_words; i++) {
        set->high[i] &= rankset_word(other, i + 1);
    }
}

void ranks_drop(struct rankset *set, const struct rankset *other)
{
    set->low &= ~other->low;
    for (uint32_t i = 0; i < set->high_words; i++) {
        set->high[i] &= ~rankset_word(other, i + 1);
    }
}

bool ranks_meet(const struct rankset *a, const struct rankset *b)
{
    for (uint32_t word = 0; word <= a->high_words; word++) {
        if ((rankset_word(a, word) & rankset_word(b, word)) != 0) {
            return true;
        }
    }
    return false;
}

bool ranks_within(const struct rankset *part, const struct rankset *whole)
{
    for (uint32_t word = 0; word <= part->high_words; word++) {
        if ((rankset_word(part, word) & ~rankset_word(whole, word)) != 0) {
            return false;
        }
    }
    return true;
}

struct ranks_text ranks_text(const struct rankset *set)
{
    struct ranks_text out;
    (void)rankset_format(set, out.text, sizeof(out.text));
    return out;
}
