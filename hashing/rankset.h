/* rankset.h - a set of ranks.
 *
 * Sets of up to 64 ranks live in one word and never allocate; a larger set owns an
 * array of words.  Every function accepts the zero-initialised set, which is empty.
 * Sets of different capacity may be mixed: a rank beyond a set's words is not in it.
 *
 * rankset_add, _copy and _merge may allocate and then return false, leaving the set as
 * it was, when there is no memory; nothing else fails.  UINT32_MAX means "no rank" and
 * cannot be added.
 */
#ifndef HASHING_RANKSET_H
#define HASHING_RANKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rankset {
    uint64_t low;   /* ranks 0..63 */
    uint64_t *high; /* ranks 64.., word i holds ranks 64(i+1)..64(i+1)+63; owned */
    uint32_t high_words;
};

/* Ranks 64 word .. 64 word + 63 as bits; 0 beyond the set's words. */
static inline uint64_t rankset_word(const struct rankset *set, uint32_t word)
{
    if (word == 0) {
        return set->low;
    }
    return word <= set->high_words ? set->high[word - 1] : 0;
}

/* How many words there are up to the last that is not zero. */
uint32_t rankset_words(const struct rankset *set);

static inline bool rankset_has(const struct rankset *set, uint32_t rank)
{
    return (rankset_word(set, rank / 64) >> (rank % 64) & 1) != 0;
}

static inline bool rankset_empty(const struct rankset *set)
{
    return set->low == 0 && (set->high_words == 0 || rankset_words(set) <= 1);
}

uint32_t rankset_next_high(const struct rankset *set, uint32_t from); /* rankset_next */

/* The lowest member that is >= from; UINT32_MAX if there is none. */
static inline uint32_t rankset_next(const struct rankset *set, uint32_t from)
{
    uint64_t rest = from < 64 ? set->low >> from : 0;
    if (rest != 0) {
        return from + (uint32_t)__builtin_ctzll(rest);
    }
    return set->high_words == 0 ? UINT32_MAX : rankset_next_high(set, from);
}

/* Frees what the set owns and makes it empty. */
void rankset_release(struct rankset *set);
bool rankset_add(struct rankset *set, uint32_t rank);
void rankset_remove(struct rankset *set, uint32_t rank);
uint32_t rankset_count_all(const struct rankset *set); /* rankset_count */
static inline uint32_t rankset_count(const struct rankset *set)
{
    bool few = set->high_words == 0 && (set->low & (set->low - 1)) == 0;
    return few ? set->low != 0 : rankset_count_all(set);
}
/* How many are in both. */
uint32_t rankset_count_both(const struct rankset *a, const struct rankset *b);
bool rankset_equal(const struct rankset *a, const struct rankset *b);
bool rankset_copy(struct rankset *to, const struct rankset *from);
/* Adds all of from. */
bool rankset_merge(struct rankset *to, const struct rankset *from);
/* How many members are lower than `rank`, and the member that has so many lower ones
 * (UINT32_MAX if there is none): each undoes the other. */
uint32_t rankset_below(const struct rankset *set, uint32_t rank);
uint32_t rankset_at(const struct rankset *set, uint32_t below);
/* Writes "0-2,5,7-9" (or "none") and a NUL; cuts with "..." if size is too small.
 * Returns the length written, without the NUL. */
size_t rankset_format(const struct rankset *set, char *text, size_t size);

#endif
