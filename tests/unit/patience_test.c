/* patience_test.c - a spawn waits for room as long as the others go on, and no longer
 * (node/spawn/backpressure.h).
 *
 * A rank that lacks room looks every LOOK_NS; its peers are scripts: when they get a
 * turn, what they answer then, and whether something moves here in it.
 */
#include "node/spawn/backpressure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define LOOK_NS (MS / 10)
#define NEVER_NS UINT64_MAX
#define MINUTE_NS (60000 * MS)
enum { PEERS_MAX = 4 };

struct peer {
    uint64_t turn_every_ns; /* 0: it always has one; NEVER_NS: it never has */
    enum patience_answer answer;
    bool moves; /* in each of its turns something is dropped here */
};

struct world {
    struct patience patience;
    uint64_t now_ns, moved, questions;
    uint64_t computes_ns; /* until then a kernel runs here */
    uint32_t count;
    struct peer peers[PEERS_MAX];
};

static bool has_turn(const struct peer *peer, uint64_t now_ns)
{
    return peer->turn_every_ns == 0 ||
           (peer->turn_every_ns != NEVER_NS && now_ns % peer->turn_every_ns < LOOK_NS);
}

static void peers_go_on(struct world *world)
{
    for (uint32_t rank = 0; rank < world->count; rank++) {
        if (!has_turn(&world->peers[rank], world->now_ns)) {
            continue;
        }
        world->moved += world->peers[rank].moves;
        if (world->patience.asked >> rank & 1) {
            patience_hear(&world->patience, rank, world->peers[rank].answer);
        }
    }
}

/* Until the wait is over, or so much time has passed. */
static enum patience_verdict wait(struct world *world, uint64_t at_most_ns)
{
    uint64_t end_ns = world->now_ns + at_most_ns;
    uint64_t peers = (UINT64_C(1) << world->count) - 1;
    enum patience_verdict verdict = PATIENCE_WAIT;
    patience_begin(&world->patience, world->now_ns, world->moved, world->moved);
    while (world->now_ns < end_ns && verdict < PATIENCE_USELESS) {
        world->now_ns += LOOK_NS;
        verdict = patience_look(&world->patience, world->now_ns, world->moved, peers,
                                world->now_ns < world->computes_ns);
        world->questions += verdict == PATIENCE_ASK;
        peers_go_on(world);
    }
    return verdict;
}

static const struct row {
    const char *truth;
    struct peer peers[PEERS_MAX];
    uint32_t count;
    uint64_t computes_ns;          /* until then a kernel runs here */
    enum patience_verdict verdict; /* PATIENCE_WAIT: not within MINUTE_NS */
    uint64_t least_ns, most_ns;
} rows[] = {
    {.truth = "alone, nobody can free room",
     .verdict = PATIENCE_USELESS,
     .least_ns = PATIENCE_NS,
     .most_ns = PATIENCE_NS},
    {.truth = "where all rest, waiting is useless",
     .peers = {{0, PATIENCE_RESTS, false}, {0, PATIENCE_RESTS, false}},
     .count = 2,
     .verdict = PATIENCE_USELESS,
     .least_ns = PATIENCE_NS,
     .most_ns = PATIENCE_NS + MS},
    {.truth = "who has no turn for long is waited for, and then rests",
     .peers = {{0, PATIENCE_RESTS, false}, {300 * MS, PATIENCE_RESTS, false}},
     .count = 2,
     .verdict = PATIENCE_USELESS,
     .least_ns = 300 * MS,
     .most_ns = 610 * MS},
    {.truth = "who frees some in each of its turns is waited for however rare they are",
     .peers = {{40 * MS, PATIENCE_RESTS, true}},
     .count = 1,
     .verdict = PATIENCE_WAIT},
    {.truth = "likewise where all others rest",
     .peers = {{0, PATIENCE_RESTS, false}, {900 * MS, PATIENCE_GOES_ON, true}},
     .count = 2,
     .verdict = PATIENCE_WAIT},
    {.truth = "one that goes on is enough",
     .peers = {{0, PATIENCE_RESTS, false}, {0, PATIENCE_GOES_ON, false}},
     .count = 2,
     .verdict = PATIENCE_LONG,
     .least_ns = PATIENCE_SILENT_NS,
     .most_ns = PATIENCE_SILENT_NS + MS},
    {.truth = "who never says anything is not waited for without end",
     .peers = {{0, PATIENCE_RESTS, false}, {NEVER_NS, PATIENCE_RESTS, false}},
     .count = 2,
     .verdict = PATIENCE_LONG,
     .least_ns = PATIENCE_SILENT_NS,
     .most_ns = PATIENCE_SILENT_NS + MS},
    {.truth = "a kernel that runs is waited for longer",
     .peers = {{50 * MS, PATIENCE_COMPUTES, false}, {0, PATIENCE_RESTS, false}},
     .count = 2,
     .verdict = PATIENCE_LONG,
     .least_ns = PATIENCE_COMPUTES_NS,
     .most_ns = PATIENCE_COMPUTES_NS + MS},
    {.truth = "so is one of this rank, alone",
     .computes_ns = NEVER_NS,
     .verdict = PATIENCE_LONG,
     .least_ns = PATIENCE_COMPUTES_NS,
     .most_ns = PATIENCE_COMPUTES_NS + MS},
    {.truth = "or beside others that rest",
     .peers = {{0, PATIENCE_RESTS, false}},
     .count = 1,
     .computes_ns = NEVER_NS,
     .verdict = PATIENCE_LONG,
     .least_ns = PATIENCE_COMPUTES_NS,
     .most_ns = PATIENCE_COMPUTES_NS + MS},
    {.truth = "when it has ended, the others say whether they rest",
     .peers = {{0, PATIENCE_RESTS, false}},
     .count = 1,
     .computes_ns = 5000 * MS,
     .verdict = PATIENCE_USELESS,
     .least_ns = 5000 * MS,
     .most_ns = 5001 * MS},
    {.truth = "where one has closed nothing is dropped any more",
     .peers = {{0, PATIENCE_GOES_ON, false}, {0, PATIENCE_CLOSED, false}},
     .count = 2,
     .verdict = PATIENCE_USELESS,
     .least_ns = PATIENCE_NS,
     .most_ns = PATIENCE_NS + MS},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct world world = {.count = row->count, .computes_ns = row->computes_ns};
        memcpy(world.peers, row->peers, sizeof(world.peers));
        print_message("  %s\n", row->truth);
        enum patience_verdict verdict = wait(&world, MINUTE_NS);
        if (row->verdict == PATIENCE_WAIT) {
            assert_true(verdict < PATIENCE_USELESS);
            continue;
        }
        assert_int_equal(verdict, row->verdict);
        assert_in_range(world.now_ns, row->least_ns, row->most_ns);
    }
}

/* Ten looks a second, between which the system gave the core to others. */
static void test_what_this_rank_has_not_seen_is_no_wait(void **state)
{
    (void)state;
    struct patience patience = {0};
    uint64_t now_ns = 0;
    patience_begin(&patience, now_ns, 0, 0);
    for (uint64_t looks = 1; looks < PATIENCE_NS / PATIENCE_TURN_NS; looks++) {
        now_ns += 100 * MS;
        assert_int_equal(patience_look(&patience, now_ns, 0, 1, false), PATIENCE_WAIT);
    }
    assert_int_equal(patience_look(&patience, now_ns + 100 * MS, 0, 1, false),
                     PATIENCE_ASK);
}

static void test_who_goes_on_is_asked_now_and_then(void **state)
{
    (void)state;
    struct world world = {
        .count = 2,
        .peers = {{0, PATIENCE_RESTS, false}, {0, PATIENCE_GOES_ON, false}}};
    wait(&world, 1000 * MS);
    assert_in_range(world.questions, 25, 1000 * MS / PATIENCE_NS);
}

static void test_who_has_no_turn_is_asked_once(void **state)
{
    (void)state;
    struct world world = {.count = 1, .peers = {{NEVER_NS, PATIENCE_RESTS, false}}};
    wait(&world, 1000 * MS);
    assert_int_equal(world.questions, 1);
    wait(&world, 1000 * MS);
    assert_int_equal(world.questions, 1);
}

static enum patience_verdict look_after(struct patience *patience, uint64_t *now_ns,
                                        uint64_t time_ns, uint64_t moved,
                                        uint64_t peers)
{
    enum patience_verdict verdict = PATIENCE_WAIT;
    for (uint64_t spent_ns = 0; spent_ns < time_ns; spent_ns += MS) {
        *now_ns += MS;
        verdict = patience_look(patience, *now_ns, moved, peers, false);
    }
    return verdict;
}

/* It rested before a kernel of this rank went on, or did not say so in time. */
static void test_an_answer_of_before_a_kernel_is_void(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct patience patience = {0};
        uint64_t now_ns = 0;
        patience_begin(&patience, now_ns, 0, 0);
        assert_int_equal(look_after(&patience, &now_ns, PATIENCE_NS, 0, 1),
                         PATIENCE_ASK);
        patience_hear(&patience, 0, PATIENCE_RESTS);
        assert_int_equal(look_after(&patience, &now_ns, MS, 0, 1), PATIENCE_ASK);
        if (late == 0) {
            patience_hear(&patience, 0, PATIENCE_RESTS);
        }
        now_ns += MS;
        assert_int_equal(patience_look(&patience, now_ns, 0, 1, true), PATIENCE_WAIT);
        if (late == 1) {
            patience_hear(&patience, 0, PATIENCE_RESTS);
        }
        for (int round = 0; round < PATIENCE_ROUNDS; round++) {
            assert_int_equal(look_after(&patience, &now_ns, MS, 0, 1), PATIENCE_ASK);
            patience_hear(&patience, 0, PATIENCE_RESTS);
        }
        assert_int_equal(look_after(&patience, &now_ns, MS, 0, 1), PATIENCE_USELESS);
    }
}

/* It rested before something moved: whether it does now it has yet to say. */
static void test_an_answer_of_before_is_void(void **state)
{
    (void)state;
    struct patience patience = {0};
    uint64_t now_ns = 0;
    patience_begin(&patience, now_ns, 0, 0);
    assert_int_equal(look_after(&patience, &now_ns, PATIENCE_NS, 0, 1), PATIENCE_ASK);
    look_after(&patience, &now_ns, PATIENCE_NS, 1, 1);
    patience_hear(&patience, 0, PATIENCE_RESTS);
    for (int round = 0; round < PATIENCE_ROUNDS; round++) {
        assert_int_equal(look_after(&patience, &now_ns, MS, 1, 1), PATIENCE_ASK);
        patience_hear(&patience, 0, PATIENCE_RESTS);
    }
    assert_int_equal(look_after(&patience, &now_ns, MS, 1, 1), PATIENCE_USELESS);
}

static void test_who_is_gone_is_not_waited_for(void **state)
{
    (void)state;
    struct patience patience = {0};
    uint64_t now_ns = 0;
    patience_begin(&patience, now_ns, 0, 0);
    assert_int_equal(look_after(&patience, &now_ns, PATIENCE_NS, 0, 3), PATIENCE_ASK);
    patience_hear(&patience, 1, PATIENCE_GOES_ON);
    patience_hear(&patience, 0, PATIENCE_RESTS);
    assert_int_equal(look_after(&patience, &now_ns, MS, 0, 3), PATIENCE_WAIT);
    for (int round = 0; round < PATIENCE_ROUNDS; round++) {
        look_after(&patience, &now_ns, 2 * PATIENCE_NS, 0, 1);
        patience_hear(&patience, 0, PATIENCE_RESTS);
    }
    assert_int_equal(look_after(&patience, &now_ns, MS, 0, 1), PATIENCE_USELESS);
}

/* Until something has been dropped; that a kernel ran here is not enough. */
static void test_who_was_outlasted_is_not_waited_for_again(void **state)
{
    (void)state;
    struct patience patience = {0};
    uint64_t now_ns = 0;
    patience_begin(&patience, now_ns, 0, 0);
    assert_int_equal(look_after(&patience, &now_ns, PATIENCE_SILENT_NS - MS, 0, 1),
                     PATIENCE_WAIT);
    assert_int_equal(look_after(&patience, &now_ns, MS, 0, 1), PATIENCE_LONG);
    patience_begin(&patience, now_ns, 5, 0);
    assert_int_equal(look_after(&patience, &now_ns, PATIENCE_NS - MS, 5, 1),
                     PATIENCE_WAIT);
    assert_int_equal(look_after(&patience, &now_ns, MS, 5, 1), PATIENCE_LONG);
    patience_begin(&patience, now_ns, 6, 1);
    assert_int_equal(look_after(&patience, &now_ns, PATIENCE_SILENT_NS - MS, 6, 1),
                     PATIENCE_WAIT);
    assert_int_equal(look_after(&patience, &now_ns, MS, 6, 1), PATIENCE_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_what_this_rank_has_not_seen_is_no_wait),
        cmocka_unit_test(test_who_goes_on_is_asked_now_and_then),
        cmocka_unit_test(test_who_has_no_turn_is_asked_once),
        cmocka_unit_test(test_an_answer_of_before_is_void),
        cmocka_unit_test(test_an_answer_of_before_a_kernel_is_void),
        cmocka_unit_test(test_who_is_gone_is_not_waited_for),
        cmocka_unit_test(test_who_was_outlasted_is_not_waited_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
