/* element_card.c - what the result of an array's end says (own_elements.h).
 *
 * Four words: count, size of a block, homes, kind of the spread.  Of an array whose
 * homes are not the founders more follow: whether they are its candidates, and the set
 * of them, 64 ranks to a word.
 */
#include "hashing/base/byte_order.h"
#include "node/context/context.h"
#include "node/tasks/own_elements.h"

enum { WORD = 8, SPREAD_BYTES = 4 * WORD, HOMES_AT = SPREAD_BYTES + WORD };

struct payload *elements_card(const struct array_spread *spread,
                              const struct element_homes *homes)
{
    const uint32_t words = homes->ranks != NULL ? rankset_words(homes->ranks) : 0;
    struct payload *card =
        payload_new(words > 0 ? HOMES_AT + WORD * words : SPREAD_BYTES);
    if (card == NULL) {
        return NULL;
    }
    unsigned char *bytes = card->data;
    put_word(bytes, spread->count);
    put_word(bytes + 8, spread->block);
    put_word(bytes + 16, spread->homes);
    put_word(bytes + 24, spread->kind);
    if (words > 0) {
        put_word(bytes + SPREAD_BYTES, homes->bound);
    }
    for (uint32_t i = 0; i < words; i++) {
        put_word(bytes + HOMES_AT + WORD * i, rankset_word(homes->ranks, i));
    }
    return card;
}

static bool read_spread(const unsigned char *bytes, struct array_spread *out)
{
    const uint64_t homes = get_word(bytes + 16), kind = get_word(bytes + 24);
    *out = (struct array_spread){.count = get_word(bytes),
                                 .block = get_word(bytes + 8),
                                 .homes = (uint32_t)homes,
                                 .kind = (enum array_spread_kind)kind};
    return homes <= ARRAY_HOMES_MAX && kind <= ARRAY_SPREAD_HASHED &&
           array_spread_valid(out);
}

/* The highest rank first, so that the set grows once. */
static bool read_ranks(const unsigned char *bytes, size_t words, struct rankset *out)
{
    bool good = true;
    for (size_t i = words; good && i-- > 0;) {
        const uint64_t word = get_word(bytes + WORD * i);
        for (uint32_t bit = 64; good && bit-- > 0;) {
            good = (word >> bit & 1) == 0 || rankset_add(out, (uint32_t)i * 64 + bit);
        }
    }
    return good;
}

bool elements_card_read(const struct payload *card, struct array_spread *spread,
                        struct element_homes *homes, struct rankset *ranks)
{
    struct array_spread read;
    struct rankset set = {0};
    if (card == NULL || card->size < SPREAD_BYTES || !read_spread(card->data, &read)) {
        return false;
    }
    const unsigned char *bytes = card->data;
    const bool own = card->size > SPREAD_BYTES;
    if (own && (card->size <= HOMES_AT || card->size % WORD != 0 ||
                card->size > HOMES_AT + LIMIT_RANKS / 8 ||
                get_word(bytes + SPREAD_BYTES) > 1)) {
        return false;
    }
    const size_t words = own ? (card->size - HOMES_AT) / WORD : 0;
    if (own && (!read_ranks(bytes + HOMES_AT, words, &set) ||
                rankset_count(&set) != read.homes)) {
        rankset_release(&set);
        return false;
    }
    *spread = read;
    *ranks = set;
    *homes = (struct element_homes){own ? ranks : NULL,
                                    own && get_word(bytes + SPREAD_BYTES) != 0};
    return true;
}
