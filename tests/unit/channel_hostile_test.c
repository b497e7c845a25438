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
    const size_t welcome = sizeof(header) + CHANNEL_KEY_BYTES + 1; /* the end of "" */
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
        struct channel_hub *hub = channel_hub_new(3);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_a_rank_sends_the_others_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
