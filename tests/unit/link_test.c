/* link_test.c - over any wire frames arrive once and in order, and then there is quiet.
 *
 * Carries its own copy of the link, so that the link's rules can be broken one by one
 * (consensus/mutant.h) and its allocations can fail.
 */
#ifndef MOOT_MUTANTS
#define MOOT_MUTANTS
#endif
#include <stdlib.h>

static void *failing_malloc(size_t size);
static void *failing_calloc(size_t count, size_t size);
#define malloc failing_malloc
#define calloc failing_calloc
#include "consensus/link/link.c"
#undef malloc
#undef calloc

#include "tests/unit/link_world.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum mutant mutant_on;
static bool no_memory;

static void *failing_malloc(size_t size) { return no_memory ? NULL : malloc(size); }

static void *failing_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : calloc(count, size);
}

/* --- On a hostile wire ------------------------------------------------------------ */

static const struct {
    const char *name;
    struct weather weather;
    uint64_t messages;
    int seeds;
} storms[] = {
    {"a good wire", {0, 0, 100 * US, 0}, 100000, 1},
    {"reordered", {0, 0, 100 * US, 20 * MS}, 100000, 1},
    {"repeated", {0, 500, 100 * US, 5 * MS}, 100000, 1},
    {"lossy", {100, 0, 500 * US, 100 * US}, 100000, 1},
    {"all of it", {300, 100, 500 * US, 3 * MS}, 100000, 1},
    {"hardly a wire", {600, 200, 500 * US, 10 * MS}, 100000, 1},
    {"slower than the first timeout", {50, 50, 90 * MS, 60 * MS}, 3000, 1},
    {"mixed", {200, 200, 1 * MS, 4 * MS}, 200, 200},
};
enum { STORMS = sizeof(storms) / sizeof(*storms) };

static void frames_arrive_once_and_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < STORMS; i++) {
        for (int seed = 1; seed <= storms[i].seeds; seed++) {
            struct world world;
            const char *why = world_run(&world, &storms[i].weather, (uint64_t)seed,
                                        storms[i].messages);
            if (why != NULL) {
                fail_msg("%s, seed %d: %s", storms[i].name, seed, why);
            }
            if (storms[i].seeds == 1) {
                print_message("%s: %" PRIu64 " s, %.2f transmissions a frame\n",
                              storms[i].name, world.now_ns / MS / 1000,
                              (double)world.transmissions /
                                  (double)(storms[i].messages * 9 / 8));
            }
        }
    }
}

static void a_seed_says_it_all(void **state)
{
    (void)state;
    struct world first, second;
    assert_null(world_run(&first, &storms[4].weather, 7, 1000));
    assert_null(world_run(&second, &storms[4].weather, 7, 1000));
    assert_int_equal(first.now_ns, second.now_ns);
    assert_int_equal(first.transmissions, second.transmissions);
}

static void broken_links_are_noticed(void **state)
{
    (void)state;
    static const struct {
        enum mutant mutant;
        const char *name;
    } mutants[] = {
#define X(name, text) {MUTANT_##name, #name},
        LINK_MUTANTS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        struct world world;
        mutant_on = mutants[i].mutant;
        const char *why = world_run(&world, &storms[4].weather, 1, 1000);
        mutant_on = MUTANT_NONE;
        if (why == NULL) {
            fail_msg("nothing notices %s", mutants[i].name);
        }
        print_message("%s: %s\n", mutants[i].name, why);
    }
}

/* --- By hand ---------------------------------------------------------------------- */

/* Frames are addresses in here; what is released is counted. */
static struct {
    char frame[4 * LINK_WINDOW];
    int released;
} hand;

static void hand_release(void *context, void *frame)
{
    assert_ptr_equal(context, &hand);
    assert_true((char *)frame >= hand.frame &&
                (char *)frame < hand.frame + sizeof(hand.frame));
    hand.released++;
}

static const struct link_options by_hand = {.rto_initial_ns = 100 * MS,
                                            .rto_min_ns = 10 * MS,
                                            .rto_max_ns = 1000 * MS,
                                            .ack_delay_ns = 5 * MS,
                                            .release = hand_release,
                                            .context = &hand};

static struct link *link_by_hand(void)
{
    struct link *link = link_new(&by_hand);
    assert_non_null(link);
    hand.released = 0;
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);
    return link;
}

/* How many transmissions there are now; the last of them in *out. */
static int drain(struct link *link, uint64_t now_ns, struct link_transmission *out)
{
    int count = 0;
    while (link_next(link, now_ns, out)) {
        count++;
    }
    assert_true(link_deadline_ns(link) > now_ns);
    return count;
}

static void send_one(struct link *link, uint64_t now_ns)
{
    struct link_transmission out;
    assert_true(link_send(link, hand.frame) > 0);
    assert_int_equal(drain(link, now_ns, &out), 1);
    assert_ptr_equal(out.frame, hand.frame);
    assert_false(out.again);
}

static void the_timeout_follows_the_round_trip(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    const struct link_stats *stats = link_stats(link);
    send_one(link, 0);
    assert_int_equal(link_deadline_ns(link), 100 * MS);
    link_receive(link, 20 * MS, 0, 1, NULL);
    assert_int_equal(stats->rtt_ns, 20 * MS);
    assert_int_equal(stats->rto_ns, 60 * MS); /* 20 + 4 * 10 */
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);
    send_one(link, 1000 * MS);
    link_receive(link, 1028 * MS, 0, 2, NULL);
    assert_int_equal(stats->rtt_ns, 21 * MS);
    assert_int_equal(stats->rtt_deviation_ns, 9500 * US);
    assert_int_equal(stats->rto_ns, 59 * MS);
    for (uint64_t i = 3; i < 50; i++) {
        send_one(link, i * 1000 * MS);
        link_receive(link, i * 1000 * MS + 1, 0, i, NULL);
    }
    assert_int_equal(stats->rto_ns, by_hand.rto_min_ns);
    link_free(link);
}

static void every_answer_starts_the_timer_anew(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    for (int i = 0; i < 3; i++) {
        send_one(link, 0);
    }
    link_receive(link, 50 * MS, 0, 1, NULL);
    assert_int_equal(link_deadline_ns(link), 50 * MS + link_stats(link)->rto_ns);
    link_receive(link, 60 * MS, 0, 1, NULL); /* the same once more is none */
    assert_int_equal(link_deadline_ns(link), 50 * MS + link_stats(link)->rto_ns);
    link_free(link);
}

static void each_timeout_doubles_up_to_a_bound(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    uint64_t now_ns = 0;
    static const uint64_t waits_ms[] = {100, 200, 400, 800, 1000, 1000, 1000};
    send_one(link, now_ns);
    for (size_t i = 0; i < sizeof(waits_ms) / sizeof(*waits_ms); i++) {
        assert_int_equal(link_deadline_ns(link), now_ns + waits_ms[i] * MS);
        now_ns = link_deadline_ns(link);
        assert_int_equal(drain(link, now_ns - 1, &out), 0);
        assert_int_equal(drain(link, now_ns, &out), 1);
        assert_true(out.again && out.sequence == 1);
    }
    link_free(link);
    assert_int_equal(hand.released, 1);
}

/* Karn's rule, both halves. */
static void the_answer_to_a_frame_sent_twice_measures_nothing(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    send_one(link, 0);
    assert_int_equal(drain(link, 100 * MS, &out), 1);
    link_receive(link, 101 * MS, 0, 1, NULL); /* which of the two it may be that came */
    assert_int_equal(link_stats(link)->rtt_ns, 0);
    assert_int_equal(link_stats(link)->rto_ns, 200 * MS);
    send_one(link, 102 * MS);
    send_one(link, 103 * MS);
    assert_int_equal(drain(link, 302 * MS, &out), 1);
    link_receive(link, 303 * MS, 0, 3, NULL); /* 3 went once, but has waited for 2 */
    assert_int_equal(link_stats(link)->rtt_ns, 0);
    assert_int_equal(link_stats(link)->rto_ns, 200 * MS); /* no longer 400 */
    send_one(link, 400 * MS);
    link_receive(link, 440 * MS, 0, 4, NULL);
    assert_int_equal(link_stats(link)->rtt_ns, 40 * MS);
    assert_int_equal(link_stats(link)->rto_ns, 120 * MS);
    link_free(link);
}

/* The round trip becomes fifty times as long, on a link with one frame at a time: at
 * first each goes several times, but not for ever. */
static void a_timeout_that_is_too_short_grows(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    uint64_t now_ns = 0, resent = 0;
    for (uint64_t i = 1; i <= 40; i++) {
        uint64_t answer_ns = now_ns + (i < 20 ? 4 * MS : 200 * MS);
        send_one(link, now_ns);
        while ((now_ns = link_deadline_ns(link)) < answer_ns) {
            assert_int_equal(drain(link, now_ns, &out), 1);
        }
        now_ns = answer_ns;
        link_receive(link, now_ns, 0, i, NULL);
        resent = i <= 21 ? link_stats(link)->resent : resent;
    }
    assert_int_equal(link_stats(link)->resent, resent);
    assert_in_range(link_stats(link)->rtt_ns, 150 * MS, 200 * MS);
    link_free(link);
}

static void several_losses_cost_one_timeout(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    for (int i = 0; i < 10; i++) {
        send_one(link, 0);
    }
    assert_int_equal(drain(link, 100 * MS, &out), 1); /* 1, 4 and 9 were lost */
    assert_int_equal(out.sequence, 1);
    link_receive(link, 110 * MS, 0, 3, NULL);
    assert_int_equal(link_deadline_ns(link), 0);
    assert_int_equal(drain(link, 110 * MS, &out), 1);
    assert_int_equal(out.sequence, 4);
    link_receive(link, 120 * MS, 0, 8, NULL);
    assert_int_equal(drain(link, 120 * MS, &out), 1);
    assert_int_equal(out.sequence, 9);
    send_one(link, 121 * MS);
    link_receive(link, 130 * MS, 0, 10, NULL); /* 11 went after the timeout: it waits */
    assert_int_equal(drain(link, 130 * MS, &out), 0);
    assert_int_equal(link_stats(link)->resent, 3);
    link_free(link);
}

static void answers_wait_for_company(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    link_receive(link, 0, 1, 0, hand.frame);
    assert_ptr_equal(link_take(link), hand.frame);
    assert_null(link_take(link));
    assert_int_equal(link_deadline_ns(link), 5 * MS);
    link_receive(link, 2 * MS, 2, 0, hand.frame);
    assert_int_equal(link_deadline_ns(link), 5 * MS);
    assert_int_equal(drain(link, 5 * MS, &out), 1); /* alone */
    assert_true(out.sequence == 0 && out.frame == NULL && out.ack == 2);
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);

    link_receive(link, 6 * MS, 3, 0, hand.frame);
    assert_int_equal(link_send(link, hand.frame), 1);
    assert_int_equal(drain(link, 6 * MS, &out), 1); /* with a frame */
    assert_true(out.sequence == 1 && out.ack == 3);
    link_receive(link, 7 * MS, 4, 1, hand.frame);
    assert_int_equal(link_ack(link), 4); /* with a frame that goes past the link */
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);
    assert_int_equal(link_stats(link)->acks_sent, 1);
    link_free(link);
}

static void an_answer_that_is_missed_is_given_at_once(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    link_receive(link, 0, 1, 0, hand.frame);
    assert_int_equal(drain(link, 5 * MS, &out), 1);
    link_receive(link, 50 * MS, 1, 0, hand.frame); /* it has not heard that */
    assert_int_equal(drain(link, 50 * MS, &out), 1);
    assert_int_equal(out.ack, 1);
    assert_int_equal(link_stats(link)->repeated, 1);
    link_receive(link, 60 * MS, 3, 0, hand.frame); /* early: nothing new to say */
    link_receive(link, 60 * MS, 3, 0, hand.frame);
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);
    link_receive(link, 61 * MS, 2, 0, hand.frame); /* the peer waits for this one */
    assert_int_equal(drain(link, 61 * MS, &out), 1);
    assert_int_equal(out.ack, 3);
    link_free(link);
    assert_int_equal(hand.released, 5);
}

static void a_window_that_fills_is_answered_before_it_closes(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    for (uint64_t i = 1; i <= 3 * LINK_WINDOW; i++) {
        link_receive(link, 0, i, 0, hand.frame);
        assert_ptr_equal(link_take(link), hand.frame);
        assert_int_equal(drain(link, 0, &out), i % (LINK_WINDOW / 4) == 0);
    }
    assert_int_equal(out.ack, 3 * LINK_WINDOW);
    link_free(link);
}

static void no_more_than_a_window_is_on_its_way(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    for (uint64_t i = 1; i <= 3 * LINK_WINDOW; i++) {
        assert_int_equal(link_send(link, &hand.frame[i]), i);
    }
    assert_int_equal(drain(link, 0, &out), LINK_WINDOW);
    assert_int_equal(out.sequence, LINK_WINDOW);
    assert_int_equal(link_backlog(link), 3 * LINK_WINDOW);
    link_receive(link, 1 * MS, 0, 5, NULL);
    assert_int_equal(hand.released, 5);
    assert_int_equal(drain(link, 1 * MS, &out), 5);
    assert_ptr_equal(out.frame, &hand.frame[LINK_WINDOW + 5]);
    link_free(link);
    assert_int_equal(hand.released, 3 * LINK_WINDOW);
}

static void what_is_too_far_ahead_is_dropped(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    static const uint64_t far[] = {LINK_WINDOW + 1, LINK_WINDOW + 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
        link_receive(link, 0, far[i], 0, hand.frame);
    }
    assert_int_equal(link_stats(link)->beyond, 3);
    assert_int_equal(hand.released, 3);
    for (uint64_t i = LINK_WINDOW; i > 0; i--) {
        link_receive(link, 0, i, 0, &hand.frame[i]);
    }
    link_receive(link, 0, LINK_WINDOW + 1, 0, hand.frame); /* before any is taken */
    assert_int_equal(link_stats(link)->beyond, 4);
    for (uint64_t i = 1; i <= LINK_WINDOW; i++) {
        assert_ptr_equal(link_take(link), &hand.frame[i]);
    }
    assert_null(link_take(link));
    assert_int_equal(link_stats(link)->delivered, LINK_WINDOW);
    link_free(link);
}

static void what_was_never_sent_cannot_be_acknowledged(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    assert_int_equal(link_send(link, hand.frame), 1);
    link_receive(link, 0, 0, 1, NULL); /* queued, not sent */
    link_receive(link, 0, 0, UINT64_MAX, NULL);
    assert_int_equal(link_stats(link)->refused, 2);
    assert_int_equal(hand.released, 0);
    assert_int_equal(drain(link, 0, &out), 1);
    link_free(link);
}

static void a_forgotten_peer_is_neither_heard_nor_told(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    for (int i = 0; i < 3; i++) {
        assert_true(link_send(link, hand.frame) > 0);
    }
    assert_int_equal(drain(link, 0, &out), 3);
    link_receive(link, 1 * MS, 1, 1, hand.frame);
    link_receive(link, 1 * MS, 3, 0, hand.frame);
    link_forget(link);
    assert_int_equal(hand.released, 5);
    assert_true(link_send(link, hand.frame) > 0);
    link_receive(link, 2 * MS, 2, 3, hand.frame);
    assert_int_equal(hand.released, 7);
    assert_int_equal(link_backlog(link), 0);
    assert_null(link_take(link));
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);
    assert_false(link_next(link, UINT64_MAX - 1, &out));
    link_free(link);
    assert_int_equal(hand.released, 7);
    link_free(NULL);
}

static void without_memory_a_frame_is_refused_or_lost(void **state)
{
    (void)state;
    no_memory = true;
    assert_null(link_new(&by_hand));
    no_memory = false;
    struct link *link = link_by_hand();
    no_memory = true;
    assert_int_equal(link_send(link, hand.frame), 0);
    link_receive(link, 0, 1, 0, hand.frame);
    assert_int_equal(hand.released, 1); /* the one that came; the other is ours */
    assert_int_equal(link_deadline_ns(link), LINK_NEVER);
    no_memory = false;
    link_receive(link, 0, 1, 0, hand.frame);
    assert_ptr_equal(link_take(link), hand.frame);
    assert_int_equal(link_send(link, hand.frame), 1);
    link_free(link);
}

static void a_long_queue_is_not_kept_at_rest(void **state)
{
    (void)state;
    struct link *link = link_by_hand();
    struct link_transmission out;
    uint64_t sent = 0;
    for (int i = 0; i < 100 * LINK_WINDOW; i++) {
        assert_true(link_send(link, hand.frame) > 0);
    }
    for (int count; (count = drain(link, 0, &out)) > 0;) {
        sent += (uint64_t)count;
        link_receive(link, 0, 0, sent, NULL);
    }
    assert_int_equal(hand.released, 100 * LINK_WINDOW);
    assert_int_equal(link->outgoing_room, 0);
    link_free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_once_and_in_order),
        cmocka_unit_test(a_seed_says_it_all),
        cmocka_unit_test(broken_links_are_noticed),
        cmocka_unit_test(the_timeout_follows_the_round_trip),
        cmocka_unit_test(every_answer_starts_the_timer_anew),
        cmocka_unit_test(each_timeout_doubles_up_to_a_bound),
        cmocka_unit_test(the_answer_to_a_frame_sent_twice_measures_nothing),
        cmocka_unit_test(a_timeout_that_is_too_short_grows),
        cmocka_unit_test(several_losses_cost_one_timeout),
        cmocka_unit_test(answers_wait_for_company),
        cmocka_unit_test(an_answer_that_is_missed_is_given_at_once),
        cmocka_unit_test(a_window_that_fills_is_answered_before_it_closes),
        cmocka_unit_test(no_more_than_a_window_is_on_its_way),
        cmocka_unit_test(what_is_too_far_ahead_is_dropped),
        cmocka_unit_test(what_was_never_sent_cannot_be_acknowledged),
        cmocka_unit_test(a_forgotten_peer_is_neither_heard_nor_told),
        cmocka_unit_test(without_memory_a_frame_is_refused_or_lost),
        cmocka_unit_test(a_long_queue_is_not_kept_at_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
