/* placement.c - chairs and voters by highest random weight (placement.h).
 *
 * Drawing one weight per member costs N mixes a task: 64 are cheap, 10,000 are not.
 * What follows gives each rank a fixed weight all the same, but draws only those that
 * can win.
 *
 * Let a rank's weight be an arrival time, exponential with rate 1, the earliest being
 * the highest weight.  Ranks are the leaves of a binary tree of aligned blocks.  The
 * earliest time in a block of 2^l ranks is itself exponential, with rate 2^l; it lies
 * in either half with the same chance; and, as the exponential has no memory, the
 * earliest of the other half comes an exponential of rate 2^(l-1) later, whatever went
 * before.  So times can be drawn from the root down, a coin and a delay per block, each
 * a function of (hash, block) alone:
 *
 *   block      t                  the half that the coin names inherits t,
 *   halves     t    t + delay     the other starts later.
 *
 * The search goes first into the half that inherits, and into the other only if that
 * may still hold something earlier; blocks without members are skipped.  With all ranks
 * present it draws log2 N times, 14 for 10,000 ranks: groups first, then the rank in
 * its group.
 *
 * Why it is still rendezvous hashing: the weights of all leaves, drawn or not, are
 * fixed by the hash, and independent and alike.  So each member wins as often as any
 * other (balance), and one that leaves or joins changes who is earliest only where it
 * was or is earliest itself (minimal movement).  There is no threshold in N at which
 * the rule changes, and the block at which the search starts does not matter, since a
 * common delay of all members decides nothing.
 *
 * Times are integers, so that every machine finds the same chair: libm's log() may
 * differ in its last bit.  Equal times go to the half that is visited first: that
 * order, too, depends on the hash alone.
 */
#include "hashing/placement.h"

#include "hashing/base/hot.h"
#include "hashing/identity.h"

#include <stddef.h>

enum {
    WORD_LEVEL = 6,         /* 2^6 ranks are one word of a rank set */
    TIME_FRACTION_BITS = 48 /* a rank comes at 2^48 / ln 2 on average */
};

struct search {
    uint64_t seed;
    const struct rankset *members;
    const struct rankset *candidates; /* NULL: all */
    const uint32_t *hosts;            /* not NULL: only ranks on other hosts... */
    uint32_t host;                    /* ...than this one */
    const uint32_t *taken;            /* ranks that do not count any more */
    uint32_t taken_count;
    uint32_t words; /* up to the last that has a candidate */
    uint32_t best;
    uint64_t best_time;
};

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA'14; constants of
 * Stafford's variant 13): every input bit flips every output bit with probability 1/2.
 */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The place alone: tasks beside each other have chairs and voters in common. */
static uint64_t seed_of(const moot_hash *hash) { return mix(hash_place(hash)); }

/* -log2(draw / 2^64) in units of 2^-48: exponential if draw is uniform.  The logarithm
 * of a mantissa 1+x is x + x(1-x)(a - x(b - cx)) within 2^-11, far less than what
 * balance could show. */
static uint64_t exponential(uint64_t draw)
{
    static const uint64_t a = 1893139103, b = 1042257386, c = 350536951; /* 2^-32 */
    uint64_t sure = draw | 1; /* has a logarithm */
    unsigned zeros = (unsigned)__builtin_clzll(sure);
    uint64_t x = sure << zeros << 1 >> 32;
    uint64_t hump = x * ((UINT64_C(1) << 32) - x) >> 32;
    uint64_t bend = a - (x * (b - (x * c >> 32)) >> 32);
    uint64_t log2_mantissa = x + (hump * bend >> 32);
    uint64_t whole = (uint64_t)(zeros + 1) << TIME_FRACTION_BITS;
    return whole - (log2_mantissa << (TIME_FRACTION_BITS - 32));
}

/* The candidates among the members, as a word of a rank set. */
static uint64_t eligible_word(const struct search *search, uint32_t word)
{
    uint64_t members = rankset_word(search->members, word);
    if (search->candidates == NULL) {
        return members;
    }
    return members & rankset_word(search->candidates, word);
}

/* Whether any of the 2^level ranks from first is a candidate. */
static bool block_used(const struct search *search, uint32_t first, unsigned level)
{
    uint32_t word = first >> WORD_LEVEL;
    if (level < WORD_LEVEL) {
        uint64_t block = (UINT64_C(1) << (1u << level)) - 1;
        return (eligible_word(search, word) >> (first & 63) & block) != 0;
    }
    uint32_t end = word + (1u << (level - WORD_LEVEL));
    if (end > search->words) {
        end = search->words;
    }
    while (word < end && eligible_word(search, word) == 0) {
        word++;
    }
    return word < end;
}

static bool rank_counts(const struct search *search, uint32_t rank)
{
    if (search->hosts != NULL && search->hosts[rank] == search->host) {
        return false;
    }
    for (uint32_t i = 0; i < search->taken_count; i++) {
        if (search->taken[i] == rank) {
            return false;
        }
    }
    return true;
}

/* Looks for a rank that comes before search->best in the block of 2^level ranks from
 * first, which is used and whose earliest rank comes at `time`.  Recurses once a level.
 */
static void search_block(struct search *search, uint32_t first, unsigned level,
                         uint64_t time)
{
    if (level == 0) {
        if (rank_counts(search, first)) {
            search->best = first;
            search->best_time = time;
        }
        return;
    }
    level--;
    uint64_t block = (UINT64_C(1) << (31 - level)) + (first >> level >> 1);
    uint64_t draw = mix(search->seed + block * UINT64_C(0x9e3779b97f4a7c15));
    uint32_t half = 1u << level;
    uint32_t sooner = first + (draw & 1 ? half : 0);
    uint32_t later = first + (draw & 1 ? 0 : half);

    if (block_used(search, sooner, level)) {
        search_block(search, sooner, level, time);
    }
    if (search->best_time <= time) {
        return;
    }
    time += exponential(draw) >> level;
    if (time < search->best_time && block_used(search, later, level)) {
        search_block(search, later, level, time);
    }
}

/* The member that counts with the highest weight; PLACEMENT_NOBODY if there is none. */
static uint32_t search_run(struct search *search)
{
    uint32_t words = rankset_words(search->members);
    while (words > 0 && eligible_word(search, words - 1) == 0) {
        words--;
    }
    search->words = words;
    search->best = PLACEMENT_NOBODY;
    search->best_time = UINT64_MAX;
    if (words == 0) {
        return PLACEMENT_NOBODY;
    }
    unsigned level = 0; /* of the smallest block from rank 0 that holds them all */
    uint32_t last =
        words * 64 - 1 - (uint32_t)__builtin_clzll(eligible_word(search, words - 1));
    while (level < 32 && last >> level != 0) {
        level++;
    }
    search_block(search, 0, level, 0);
    return search->best;
}

HOT uint32_t placement_chair(const moot_hash *hash, const struct rankset *members,
                             const struct rankset *candidates)
{
    const struct rankset *fewer = candidates != NULL ? candidates : members;
    if (fewer->high_words == 0 && fewer->low != 0 &&
        (fewer->low & (fewer->low - 1)) == 0) {
        uint32_t only = rankset_next(fewer, 0); /* the search would find it, too */
        return rankset_has(members, only) ? only : PLACEMENT_NOBODY;
    }
    struct search search = {
        .seed = seed_of(hash), .members = members, .candidates = candidates};
    return search_run(&search);
}

uint32_t placement_voters(const moot_hash *hash, uint32_t chair,
                          const struct rankset *members, const uint32_t *hosts,
                          uint32_t voters_max, uint32_t *voters)
{
    if (chair == PLACEMENT_NOBODY || voters_max == 0) {
        return 0;
    }
    struct search search = {.seed = seed_of(hash),
                            .members = members,
                            .hosts = hosts,
                            .host = hosts != NULL ? hosts[chair] : 0,
                            .taken = voters,
                            .taken_count = 1};
    voters[0] = chair;
    while (search.taken_count < voters_max) {
        uint32_t next = search_run(&search);
        if (next != PLACEMENT_NOBODY) {
            voters[search.taken_count++] = next;
        } else if (search.hosts != NULL) {
            search.hosts = NULL; /* no more on other hosts: the chair's own */
        } else {
            break;
        }
    }
    return search.taken_count;
}
