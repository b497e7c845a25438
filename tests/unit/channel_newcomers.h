/* channel_newcomers.h - what tests of ranks that are started later share: cards that
 * say whose they are, and a board by which the processes of a test know of each other.
 */
#ifndef TESTS_UNIT_CHANNEL_NEWCOMERS_H
#define TESTS_UNIT_CHANNEL_NEWCOMERS_H

#include "tests/unit/channel_job.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { CARD = 8, STORY = 256 };

/* Words that the processes of a test tell each other beside the channel. */
static struct board {
    atomic_uint opened;   /* founders, of all their openings */
    atomic_uint asked;    /* newcomers, about to open */
    atomic_uint answered; /* likewise, and they have had the answer */
    atomic_uint ends;     /* ranks that wait for that may end */
} *board;

static inline int board_make(void **unused)
{
    (void)unused;
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return board == MAP_FAILED ? -1 : 0;
}

static inline int board_drop(void **unused)
{
    (void)unused;
    return munmap(board, sizeof(*board));
}

static inline void job_until(struct job *job, atomic_uint *count, unsigned least)
{
    const time_t until = time(NULL) + PATIENCE_S;
    while (atomic_load(count) < least) {
        job_poll(job, 5);
        (void)job_reap(job, true);
        assert_true(time(NULL) < until);
    }
}

static inline void job_idle(struct job *job)
{
    for (int turn = 0; turn < 20; turn++) {
        job_poll(job, 5);
        (void)job_reap(job, true);
    }
}

static inline void card_write(char card[CARD], uint32_t rank, uint32_t opening)
{
    snprintf(card, CARD, "%u/%u", rank % 1000, opening % 1000);
}

static inline bool card_is(const struct channel_card *card, uint32_t rank,
                           uint32_t opening)
{
    char expected[CARD] = "";
    card_write(expected, rank, opening);
    return card->bytes && card->size == CARD &&
           memcmp(card->bytes, expected, CARD) == 0;
}

/* Opens; the cards of these ranks, and no others, have come. */
static inline bool opens_with(struct channel *channel, uint32_t opening, uint64_t ranks)
{
    char card[CARD] = "", story[STORY] = "";
    struct channel_card *all = NULL;
    uint32_t number = UINT32_MAX;
    card_write(card, channel_rank(channel), opening);
    const int code =
        channel_open(channel, card, CARD, &all, &number, story, sizeof(story));
    if (code != MOOT_OK) {
        fprintf(stderr, "rank %u: %s: %s\n", channel_rank(channel), error_name(code),
                story);
        return false;
    }
    bool right = number == opening;
    for (uint32_t rank = 0; rank < channel_room(channel); rank++) {
        const bool has = (ranks >> rank & 1) != 0;
        const bool as_told = has ? card_is(&all[rank], rank, opening)
                                 : !all[rank].bytes && all[rank].size == 0;
        if (!as_told) {
            fprintf(stderr, "rank %u: the card of rank %u is %s\n",
                    channel_rank(channel), rank, has ? "missing" : "too many");
        }
        right = right && as_told;
    }
    free(all);
    return right;
}

static inline bool open_fails(struct channel *channel, const char *says)
{
    char story[STORY] = "";
    struct channel_card *all = NULL;
    uint32_t opening;
    const int code =
        channel_open(channel, "card", 4, &all, &opening, story, sizeof(story));
    if (code != MOOT_ERR_TRANSPORT || all || !strstr(story, says)) {
        fprintf(stderr, "rank: %s: '%s'\n", error_name(code), story);
        return false;
    }
    return true;
}

/* Waits until it has been told of these, in any order, each once. */
static inline bool is_told_of(struct channel *channel, uint32_t opening, uint64_t ranks)
{
    uint32_t told = 0, rank;
    struct channel_card card;
    while (ranks != 0) {
        if (!channel_next_newcomer(channel, opening, &told, &rank, &card)) {
            sleep_ms(1);
            continue;
        }
        if ((ranks >> rank & 1) == 0 || !card_is(&card, rank, opening)) {
            fprintf(stderr, "rank %u: told of rank %u\n", channel_rank(channel), rank);
            return false;
        }
        ranks &= ~(UINT64_C(1) << rank);
    }
    return true;
}

/* Whether it has been told that a rank is dead, without another look. */
static inline bool knows_death(struct channel *channel, uint32_t dead)
{
    uint32_t told = 0, rank;
    do {
        rank = channel_next_death(channel, &told);
    } while (rank != dead && rank != UINT32_MAX);
    return rank == dead;
}

static inline void death_wait(struct channel *channel, uint32_t dead)
{
    while (!knows_death(channel, dead)) {
        sleep_ms(1);
    }
}

/* Reads, so that newcomers are answered, until the test lets it go. */
static inline void serve_until_ends(struct channel *channel)
{
    while (!atomic_load(&board->ends)) {
        (void)channel_next_death(channel, &(uint32_t){0});
        sleep_ms(1);
    }
}

/* A founder of three that is there until the test lets it go. */
static inline int run_founder(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0x7));
    atomic_fetch_add(&board->opened, 1);
    serve_until_ends(channel);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, board_make, board_drop)

#endif
