/* channel_hostile_test.c - whatever a rank sends to its launcher's hub, the others are
 * answered (node/channel/channel.h); without processes, 2,000 seeds.
 */
#include "node/channel/channel_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct channel_header hand_in(uint64_t size)
{
    return channel_header_make(CHANNEL_HAND_IN, size);
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

/* Cards, and what is nearly one, in pieces. */
static void anything_send(int fd, uint64_t *seed)
{
    for (uint32_t i = draw(seed, 4); i > 0; i--) {
        unsigned char bytes[64] = {0};
        struct channel_header header = hand_in(draw(seed, 32));
        header.count = draw(seed, 2);
        memcpy(bytes, &header, sizeof(header));
        for (uint32_t flips = draw(seed, 3); flips > 0; flips--) {
            bytes[draw(seed, sizeof(header))] ^= (unsigned char)(1u << draw(seed, 8));
        }
        const size_t size = draw(seed, 2) ? sizeof(header) + (size_t)header.size
                                          : draw(seed, sizeof(bytes));
        (void)send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* Another rank's answer to its first card, if there is one yet. */
static void assert_answer(int fd, bool is_due)
{
    unsigned char bytes[4096];
    struct channel_header header;
    const ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    const size_t welcome =
        sizeof(header) + sizeof(struct channel_welcome) + 1; /* the end of "" */
    assert_true(got >= (ssize_t)welcome);
    if ((size_t)got >= welcome + sizeof(header)) {
        memcpy(&header, bytes + welcome, sizeof(header));
        assert_int_equal(header.magic, CHANNEL_MAGIC);
        assert_true(header.kind == CHANNEL_CARDS ||
                    (header.kind == CHANNEL_FAILED && header.rank == 1));
    } else {
        assert_false(is_due);
    }
}

static void whatever_a_rank_sends_the_others_are_answered(void **unused)
{
    (void)unused;
    for (uint64_t first = 1; first <= 2000; first++) {
        struct channel_hub *hub = channel_hub_new(3, 3);
        const struct channel_header card = hand_in(0);
        uint64_t seed = first;
        int ends[3];
        for (uint32_t rank = 0; rank < 3; rank++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            assert_true(channel_hub_add(hub, rank, pair[0], "", ""));
            ends[rank] = pair[1];
        }
        for (uint32_t rank = 0; rank < 3; rank += 2) {
            assert_int_equal(send(ends[rank], &card, sizeof(card), 0), sizeof(card));
        }
        anything_send(ends[1], &seed);
        channel_hub_poll(hub, 0);
        anything_send(ends[1], &seed);
        channel_hub_poll(hub, 0);
        const bool ends_now = draw(&seed, 2);
        if (ends_now) {
            close(ends[1]);
        }
        channel_hub_poll(hub, 0);
        assert_answer(ends[0], ends_now);
        assert_answer(ends[2], ends_now);
        channel_hub_free(hub);
        close(ends[0]);
        close(ends[2]);
        if (!ends_now) {
            close(ends[1]);
        }
    }
}

/* --- Beside newcomers ------------------------------------------------------------- */

enum { FOUNDERS = 3, NEWCOMERS = 2, ALL = FOUNDERS + NEWCOMERS };

/* Openings, answers and wishes, and what is nearly one, in pieces. */
static void any_word_send(int fd, uint64_t *seed)
{
    static const enum channel_kind kinds[] = {CHANNEL_OPEN,   CHANNEL_KNOWN,
                                              CHANNEL_GROW,   CHANNEL_CLOSES,
                                              CHANNEL_OPENED, CHANNEL_HAND_IN};
    for (uint32_t i = draw(seed, 4); i > 0; i--) {
        unsigned char bytes[64] = {0};
        struct channel_header header =
            channel_header_make(kinds[draw(seed, 6)], draw(seed, 4) * draw(seed, 8));
        header.rank = draw(seed, ALL + 1);
        header.count = draw(seed, 3);
        header.to = draw(seed, 2) * draw(seed, ALL + 1);
        memcpy(bytes, &header, sizeof(header));
        for (uint32_t flips = draw(seed, 8) / 6; flips > 0; flips--) {
            bytes[draw(seed, sizeof(header))] ^= (unsigned char)(1u << draw(seed, 8));
        }
        const size_t size = draw(seed, 8) ? sizeof(header) + (size_t)header.size
                                          : draw(seed, sizeof(bytes));
        (void)send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* Reads all that one who keeps the rules was told, and answers for newcomers; whether
 * an answer of that kind was among it. */
static bool words_take(int fd, enum channel_kind awaited)
{
    static unsigned char bytes[1 << 16];
    const ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    bool came = false;
    for (size_t at = 0; got > 0 && at < (size_t)got;) {
        struct channel_header header;
        assert_true((size_t)got - at >= sizeof(header));
        memcpy(&header, bytes + at, sizeof(header));
        assert_int_equal(header.magic, CHANNEL_MAGIC);
        at += sizeof(header) + (size_t)header.size;
        came |= header.kind == awaited;
        if (header.kind == CHANNEL_NEWCOMER) {
            struct channel_header known = channel_header_make(CHANNEL_KNOWN, 0);
            known.count = header.why;
            assert_int_equal(send(fd, &known, sizeof(known), 0), sizeof(known));
        }
    }
    return came;
}

static void wishes_answer(struct channel_hub *hub)
{
    uint32_t rank, count;
    while (channel_hub_next_wish(hub, &rank, &count)) {
        assert_true(rank < ALL && count > 0);
        channel_hub_answer(hub, rank, 0, FOUNDERS, "a story");
    }
}

static void rank_add(struct channel_hub *hub, uint32_t rank, int ends[ALL])
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(channel_hub_add(hub, rank, pair[0], "", ""));
    ends[rank] = pair[1];
}

/* Ranks 1, a founder, and 3, which comes later, say anything, and end; rank 4 joins. */
static void hostile_job(uint64_t seed)
{
    struct channel_hub *hub = channel_hub_new(FOUNDERS, ALL);
    const struct channel_header card = channel_header_make(CHANNEL_OPEN, 0);
    int ends[ALL];
    bool joined = false;
    for (uint32_t rank = 0; rank < FOUNDERS; rank++) {
        rank_add(hub, rank, ends);
        assert_int_equal(send(ends[rank], &card, sizeof(card), 0), sizeof(card));
    }
    channel_hub_poll(hub, 0);
    channel_hub_name(hub, 1, FOUNDERS, NEWCOMERS);
    rank_add(hub, 3, ends);
    rank_add(hub, 4, ends);
    for (int round = 0; round < 8; round++) {
        if (round == 2) {
            assert_int_equal(send(ends[4], &card, sizeof(card), 0), sizeof(card));
        }
        if (round < 4) {
            any_word_send(ends[1], &seed);
            any_word_send(ends[3], &seed);
        } else if (round == 4) {
            close(ends[1]);
            close(ends[3]);
        }
        channel_hub_poll(hub, 0);
        wishes_answer(hub);
        (void)words_take(ends[0], CHANNEL_CARDS);
        (void)words_take(ends[2], CHANNEL_CARDS);
        joined |= words_take(ends[4], CHANNEL_OPENED);
    }
    assert_true(joined);
    channel_hub_free(hub);
    close(ends[0]);
    close(ends[2]);
    close(ends[4]);
}

static void whatever_ranks_send_a_newcomer_is_answered(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        hostile_job(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_ranks_send_a_newcomer_is_answered),
        cmocka_unit_test(whatever_a_rank_sends_the_others_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
