/* rankset.c - a set of ranks (rankset.h).
 *
 * Word 0 lives in the struct, the others in one array that grows to the highest rank
 * ever added and never shrinks: sets are short-lived or belong to tasks with few
 * holders.  A word that is not there reads as zero, which is what lets sets of
 * different capacity be compared and merged.
 */
#include "hashing/rankset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t WORD_BITS = 64;

static uint64_t bit_of(uint32_t rank) { return UINT64_C(1) << (rank % WORD_BITS); }

/* Makes room for words 0..word; false, and nothing has changed, without memory. */
static bool reserve(struct rankset *set, uint32_t word)
{
    if (word <= set->high_words) {
        return true;
    }
    uint64_t *high = realloc(set->high, word * sizeof(*high));
    if (high == NULL) {
        return false;
    }
    memset(high + set->high_words, 0, (word - set->high_words) * sizeof(*high));
    set->high = high;
    set->high_words = word;
    return true;
}

/* How many words of `high` are in use. */
static uint32_t high_used(const struct rankset *set)
{
    uint32_t used = set->high_words;
    while (used > 0 && set->high[used - 1] == 0) {
        used--;
    }
    return used;
}

uint32_t rankset_words(const struct rankset *set)
{
    uint32_t used = high_used(set);
    return used > 0 ? used + 1 : set->low != 0;
}

void rankset_release(struct rankset *set)
{
    free(set->high);
    *set = (struct rankset){0};
}

bool rankset_add(struct rankset *set, uint32_t rank)
{
    uint32_t word = rank / WORD_BITS;
    if (rank == UINT32_MAX || !reserve(set, word)) {
        return false;
    }
    if (word == 0) {
        set->low |= bit_of(rank);
    } else {
        set->high[word - 1] |= bit_of(rank);
    }
    return true;
}

void rankset_remove(struct rankset *set, uint32_t rank)
{
    uint32_t word = rank / WORD_BITS;
    if (word == 0) {
        set->low &= ~bit_of(rank);
    } else if (word <= set->high_words) {
        set->high[word - 1] &= ~bit_of(rank);
    }
}

static inline bool is_gapless(uint64_t bits) { return (bits & (bits + 1)) == 0; }

/* Most sets are of all ranks up to one, which takes no call of the compiler's library.
 */
static inline uint32_t count_bits(uint64_t bits)
{
    if (!is_gapless(bits)) {
        return (uint32_t)__builtin_popcountll(bits);
    }
    return bits != UINT64_MAX ? (uint32_t)__builtin_ctzll(~bits) : WORD_BITS;
}

uint32_t rankset_count_all(const struct rankset *set)
{
    uint32_t count = count_bits(set->low);
    for (uint32_t i = 0; i < set->high_words; i++) {
        count += count_bits(set->high[i]);
    }
    return count;
}

uint32_t rankset_below(const struct rankset *set, uint32_t rank)
{
    uint32_t below = 0;
    for (uint32_t word = 0; word < rank / WORD_BITS && word <= set->high_words;
         word++) {
        below += count_bits(rankset_word(set, word));
    }
    uint64_t last = rankset_word(set, rank / WORD_BITS) & (bit_of(rank) - 1);
    return below + count_bits(last);
}

uint32_t rankset_at(const struct rankset *set, uint32_t below)
{
    for (uint32_t word = 0; word <= set->high_words; word++) {
        uint64_t bits = rankset_word(set, word);
        uint32_t here = count_bits(bits);
        if (below >= here) {
            below -= here;
            continue;
        }
        if (is_gapless(bits)) {
            return word * WORD_BITS + below;
        }
        while (below-- > 0) {
            bits &= bits - 1;
        }
        return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
    }
    return UINT32_MAX;
}

uint32_t rankset_count_both(const struct rankset *a, const struct rankset *b)
{
    uint32_t words = rankset_words(a), count = 0;
    for (uint32_t word = 0; word < words; word++) {
        count += count_bits(rankset_word(a, word) & rankset_word(b, word));
    }
    return count;
}

bool rankset_equal(const struct rankset *a, const struct rankset *b)
{
    uint32_t used = high_used(a);
    if (a->low != b->low || used != high_used(b)) {
        return false;
    }
    return used == 0 || memcmp(a->high, b->high, used * sizeof(*a->high)) == 0;
}

bool rankset_copy(struct rankset *to, const struct rankset *from)
{
    uint32_t used = high_used(from);
    if (to == from) {
        return true;
    }
    if (!reserve(to, used)) {
        return false;
    }
    to->low = from->low;
    if (to->high_words > 0) {
        memset(to->high, 0, to->high_words * sizeof(*to->high));
    }
    if (used > 0) {
        memcpy(to->high, from->high, used * sizeof(*to->high));
    }
    return true;
}

bool rankset_merge(struct rankset *to, const struct rankset *from)
{
    uint32_t used = high_used(from);
    if (!reserve(to, used)) {
        return false;
    }
    to->low |= from->low;
    for (uint32_t i = 0; i < used; i++) {
        to->high[i] |= from->high[i];
    }
    return true;
}

uint32_t rankset_next_high(const struct rankset *set, uint32_t from)
{
    uint32_t word = from / WORD_BITS;
    uint64_t rest = rankset_word(set, word) & (UINT64_MAX << (from % WORD_BITS));
    while (rest == 0 && word < set->high_words) {
        rest = rankset_word(set, ++word);
    }
    if (rest == 0) {
        return UINT32_MAX;
    }
    return word * WORD_BITS + (uint32_t)__builtin_ctzll(rest);
}

/* The last of the run of members that starts at `first`. */
static uint32_t run_end(const struct rankset *set, uint32_t first)
{
    while (rankset_has(set, first + 1)) {
        first++;
    }
    return first;
}

/* Cuts text to its first `whole` bytes, which end with an item, and says so. */
static size_t cut(char *text, size_t size, size_t whole)
{
    static const char mark[] = ",...";
    const char *tail = whole == 0 ? mark + 1 : mark;
    size_t room = size - 1 - whole;
    size_t length = strlen(tail) < room ? strlen(tail) : room;
    memcpy(text + whole, tail, length);
    text[whole + length] = '\0';
    return whole + length;
}

size_t rankset_format(const struct rankset *set, char *text, size_t size)
{
    static const size_t mark_bytes = 4; /* ",..." */
    size_t length = 0;
    size_t whole = 0; /* the last end of an item behind which the mark still fits */

    if (size == 0) {
        return 0;
    }
    uint32_t first = rankset_next(set, 0);
    if (first == UINT32_MAX) {
        int written = snprintf(text, size, "none");
        return (size_t)written < size ? (size_t)written : size - 1;
    }
    while (first != UINT32_MAX) {
        uint32_t last = run_end(set, first);
        char item[32];
        const char *comma = length == 0 ? "" : ",";
        int written = last == first
                          ? snprintf(item, sizeof(item), "%s%u", comma, first)
                          : snprintf(item, sizeof(item), "%s%u-%u", comma, first, last);
        if (length + (size_t)written >= size) {
            return cut(text, size, whole);
        }
        memcpy(text + length, item, (size_t)written + 1);
        length += (size_t)written;
        if (length + mark_bytes < size) {
            whole = length;
        }
        first = rankset_next(set, last + 1);
    }
    return length;
}
