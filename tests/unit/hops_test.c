/* hops_test.c - a rank that passes on what is for others
 * (node/transport/carrier/hops.c): rank 0 of six, two on each of three hosts, whose
 * first is the middle of a star.  Its wire is a list of who was sent what; datagrams
 * are not sealed.
 */
#include "consensus/route/route.h"
#include "node/transport/carrier/carrier_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { RANKS = 6, SENT_MAX = 2000, DATAGRAM = sizeof(struct route_head) + 100 };

struct sent {
    uint64_t uid;
    size_t size;
    struct route_head head;
};

struct moot_wire {
    struct sent sent[SENT_MAX];
    size_t count;
    bool full;
};

static int wire_send(moot_wire *wire, uint64_t uid, const void *bytes, size_t size)
{
    if (wire->full) {
        return MOOT_TRANSPORT_FULL;
    }
    assert_in_range(wire->count, 0, SENT_MAX - 1);
    struct sent *sent = &wire->sent[wire->count++];
    sent->uid = uid;
    sent->size = size;
    memcpy(&sent->head, bytes, sizeof(sent->head));
    return MOOT_OK;
}

static const moot_transport table = {.send = wire_send, .frame_max = 1 << 16};

struct scene {
    struct carrier c;
    moot_wire wire;
    unsigned char datagram[DATAGRAM];
};

static uint64_t uid_of(uint32_t rank) { return 1000 + rank; }

static void scene_begin(struct scene *s, uint32_t rank, const char *route)
{
    static const uint32_t hosts[RANKS] = {0, 0, 1, 1, 2, 2};
    static const char *const names[] = {"a", "b", "c"};
    uint64_t uids[RANKS];
    char story[200];
    memset(s, 0, sizeof(*s));
    s->c.table = &table;
    s->c.wire = &s->wire;
    s->c.opened = malloc(table.frame_max);
    s->c.peers = calloc(RANKS, sizeof(*s->c.peers));
    for (uint32_t r = 0; r < RANKS; r++) {
        uids[r] = uid_of(r);
        s->c.peers[r] = (struct carrier_peer){.rank = r, .introduced = true};
    }
    assert_true(exchange_init(&s->c.exchange, rank, RANKS, uids));
    assert_int_equal(hops_open(&s->c, route, hosts, names, NULL, 3, RANKS, rank, story,
                               sizeof(story)),
                     MOOT_OK);
}

static void scene_end(struct scene *s)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        hops_drop(&s->c.peers[r]);
        free(s->c.peers[r].held);
    }
    hops_release(&s->c);
    exchange_release(&s->c.exchange);
    free(s->c.peers);
    free(s->c.opened);
}

static struct carrier_peer *come(struct scene *s, uint32_t hop, struct route_head head)
{
    memcpy(s->datagram, &head, sizeof(head));
    return hops_take(&s->c, &s->c.peers[hop], s->datagram, DATAGRAM, true);
}

static struct route_head frame(uint32_t origin, uint32_t destination)
{
    return (struct route_head){.origin = origin,
                               .destination = destination,
                               .hops = ROUTE_HOPS_MAX,
                               .word = HOP_FRAME};
}

static void sleep_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void what_is_for_others_is_passed_on_whole_and_once(void **unused)
{
    struct scene s;
    (void)unused;
    scene_begin(&s, 0, "star:a");
    assert_null(come(&s, 2, frame(2, 5)));
    assert_int_equal(s.wire.count, 1);
    assert_int_equal(s.wire.sent[0].uid, uid_of(5));
    assert_int_equal(s.wire.sent[0].size, DATAGRAM);
    assert_int_equal(s.wire.sent[0].head.origin, 2);
    assert_int_equal(s.wire.sent[0].head.hops, ROUTE_HOPS_MAX - 1);
    scene_end(&s);
}

static void what_is_for_this_rank_is_its_origins(void **unused)
{
    struct scene s;
    (void)unused;
    scene_begin(&s, 0, "star:a");
    assert_ptr_equal(come(&s, 2, frame(2, 0)), &s.c.peers[2]);
    assert_ptr_equal(come(&s, 1, frame(4, 0)), &s.c.peers[4]);
    assert_int_equal(s.wire.count, 0);
    s.c.exchange.peers[4].forgotten = true;
    assert_null(come(&s, 1, frame(4, 0)));
    scene_end(&s);
}

/* From a rank that has the key and follows no rule. */
static void hostile_words_go_nowhere(void **unused)
{
    struct scene s;
    struct route_head head;
    static const uint32_t wrong[] = {0, 2, RANKS, 12345, UINT32_MAX};
    size_t forged = 0;
    (void)unused;
    scene_begin(&s, 0, "star:a");
    for (int i = 0; i < 5; i++) {
        head = frame(wrong[i], 2); /* of myself, to itself, of nobody */
        assert_null(come(&s, 2, head));
        assert_int_equal(s.c.exchange.stats.forged, ++forged);
    }
    for (int i = 2; i < 5; i++) {
        assert_null(come(&s, 2, frame(2, wrong[i])));
        assert_int_equal(s.c.exchange.stats.forged, ++forged);
    }
    head = frame(2, 5);
    head.hops = ROUTE_HOPS_MAX + 1;
    assert_null(come(&s, 2, head));
    assert_int_equal(s.c.exchange.stats.forged, ++forged);
    head.hops = 0; /* honest, and at its end */
    assert_null(come(&s, 2, head));
    head = frame(2, 5);
    for (uint32_t word = 0; word <= UINT16_MAX; word += 7) {
        head.word = (uint16_t)word;
        assert_true(word == HOP_FRAME || come(&s, 2, head) == NULL);
    }
    for (size_t size = 0; size < sizeof(head); size++) {
        assert_null(hops_take(&s.c, &s.c.peers[2], s.datagram, size, true));
        assert_int_equal(s.c.exchange.stats.forged, ++forged);
    }
    s.c.exchange.peers[5].forgotten = true;
    assert_null(come(&s, 2, frame(2, 5)));
    assert_int_equal(s.wire.count, 0);
    assert_int_equal(s.c.exchange.failed, 0);
    scene_end(&s);
}

/* Rank 2, on a leaf, is sent what is for the other leaf by one that errs, or would have
 * it go in a circle. */
static void nothing_goes_back_where_it_came_from(void **unused)
{
    struct scene s;
    (void)unused;
    scene_begin(&s, 2, "star:a");
    assert_null(come(&s, 0, frame(1, 4)));
    assert_null(come(&s, 1, frame(3, 0)));
    assert_int_equal(s.wire.count, 0);
    assert_null(come(&s, 0, frame(0, 3))); /* to its neighbour it goes */
    assert_int_equal(s.wire.count, 1);
    scene_end(&s);
}

static void a_wire_without_room_keeps_no_more_than_its_bound(void **unused)
{
    enum { COME = 1500, KEPT = 256 };
    struct scene s;
    (void)unused;
    scene_begin(&s, 0, "star:a");
    s.wire.full = true;
    for (int i = 0; i < COME; i++) {
        assert_null(come(&s, 2, frame(2, 5)));
    }
    assert_int_equal(s.c.peers[5].passed_count, KEPT);
    assert_false(hops_drive(&s.c, &s.c.peers[5]));
    s.wire.full = false;
    assert_true(hops_drive(&s.c, &s.c.peers[5]));
    assert_int_equal(s.wire.count, KEPT + 1); /* and the one that the wire was given */
    assert_int_equal(s.c.peers[5].passed_bytes, 0);
    scene_end(&s);
}

static bool was_told(const struct scene *s, uint32_t rank, enum hop_word word)
{
    for (size_t i = 0; i < s->wire.count; i++) {
        if (s->wire.sent[i].uid == uid_of(rank) && s->wire.sent[i].head.word == word) {
            return true;
        }
    }
    return false;
}

/* A peer that sends through it, or asks, is answered; once, and soon, however often. */
static void who_sends_through_it_hears_of_it(void **unused)
{
    struct scene s;
    (void)unused;
    scene_begin(&s, 0, "star:a");
    hops_look(&s.c);
    for (int i = 0; i < 100; i++) {
        come(&s, 2, frame(2, 5));
        come(&s, 4, (struct route_head){.origin = 4, .word = HOP_ASK});
        come(&s, 5, (struct route_head){.origin = 5, .word = HOP_HERE});
        hops_look(&s.c);
    }
    sleep_ms(110);
    const size_t before = s.wire.count;
    hops_look(&s.c);
    assert_true(was_told(&s, 2, HOP_HERE) && was_told(&s, 4, HOP_HERE));
    assert_false(was_told(&s, 5, HOP_HERE));
    assert_in_range(s.wire.count - before, 0, 2);
    const size_t told = s.wire.count;
    sleep_ms(110);
    hops_look(&s.c);
    assert_int_equal(s.wire.count, told);
    scene_end(&s);
}

/* Rank 2 speaks with rank 4 through one of 0 and 1, and if that does not answer through
 * the other; if neither does, host b and c speak directly. */
static void the_silent_are_passed_by(void **unused)
{
    struct scene s;
    (void)unused;
    scene_begin(&s, 2, "star:a");
    struct carrier_peer *to = &s.c.peers[4], *first = hops_way(&s.c, 2, to);
    assert_in_range(first->rank, 0, 1);
    struct carrier_peer *second = &s.c.peers[1 - first->rank];
    hops_sent(&s.c, first, true);
    assert_ptr_equal(hops_way(&s.c, 2, to), first);
    sleep_ms(1100);
    come(&s, second->rank, frame(second->rank, 2));
    hops_look(&s.c);
    assert_ptr_equal(hops_way(&s.c, 2, to), second);
    assert_true(was_told(&s, first->rank, HOP_ASK)); /* whether it is back */
    hops_sent(&s.c, second, true);
    hops_sent(&s.c, first, true);
    sleep_ms(1100);
    hops_look(&s.c);
    assert_ptr_equal(hops_way(&s.c, 2, to), to);
    come(
        &s, first->rank,
        (struct route_head){.origin = first->rank, .destination = 2, .word = HOP_HERE});
    hops_look(&s.c);
    assert_ptr_equal(hops_way(&s.c, 2, to), first);
    hops_lose(&s.c, first);
    assert_ptr_not_equal(hops_way(&s.c, 2, to), first);
    scene_end(&s);
}

/* Cut one way: it is heard, and says that it does not hear. */
static void who_does_not_hear_is_passed_by(void **unused)
{
    struct scene s;
    (void)unused;
    scene_begin(&s, 0, "links:a-b,b-c,c-a");
    struct carrier_peer *to = &s.c.peers[2];
    assert_ptr_equal(hops_way(&s.c, 0, to), to);
    come(&s, 2, (struct route_head){.origin = 2, .word = HOP_ASK, .deaf = 1});
    come(&s, 3, (struct route_head){.origin = 3, .word = HOP_HERE}); /* knows nothing */
    hops_look(&s.c);
    assert_in_range(hops_way(&s.c, 0, to)->rank, 4, 5);
    come(&s, 2, (struct route_head){.origin = 2, .word = HOP_HERE});
    hops_look(&s.c);
    assert_ptr_equal(hops_way(&s.c, 0, to), to);
    /* Words that may have come before say nothing. */
    const struct route_head old = {.origin = 2, .word = HOP_ASK, .deaf = 1};
    memcpy(s.datagram, &old, sizeof(old));
    assert_null(hops_take(&s.c, to, s.datagram, DATAGRAM, false));
    hops_look(&s.c);
    assert_ptr_equal(hops_way(&s.c, 0, to), to);
    scene_end(&s);
}

static void ranks_of_a_host_share_the_work(void **unused)
{
    unsigned through[RANKS] = {0};
    (void)unused;
    for (uint32_t from = 2; from < 4; from++) {
        for (uint32_t to = 4; to < 6; to++) {
            struct scene there, back;
            scene_begin(&there, from, "star:a");
            scene_begin(&back, to, "star:a");
            const uint32_t rank = hops_way(&there.c, from, &there.c.peers[to])->rank;
            through[rank]++;
            assert_int_equal(hops_way(&back.c, to, &back.c.peers[from])->rank, rank);
            scene_end(&there);
            scene_end(&back);
        }
    }
    assert_true(through[0] > 0 && through[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_for_others_is_passed_on_whole_and_once),
        cmocka_unit_test(what_is_for_this_rank_is_its_origins),
        cmocka_unit_test(hostile_words_go_nowhere),
        cmocka_unit_test(nothing_goes_back_where_it_came_from),
        cmocka_unit_test(a_wire_without_room_keeps_no_more_than_its_bound),
        cmocka_unit_test(who_sends_through_it_hears_of_it),
        cmocka_unit_test(the_silent_are_passed_by),
        cmocka_unit_test(who_does_not_hear_is_passed_by),
        cmocka_unit_test(ranks_of_a_host_share_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
