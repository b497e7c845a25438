/* channel_newcomers_test.c - ranks that are started later (node/channel/channel.h):
 * each of two ranks of an opening has the card of the other before it can hear from it,
 * and neither those that go nor those that break the rules keep anybody.
 *
 * All is done twice: with one hub, and with branches of two ranks below it.
 */
#include "tests/unit/channel_newcomers.h"

/* --- Well ------------------------------------------------------------------------- */

static int run_founder_of_one(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    uint32_t wave, index;
    (void)fd;
    HOLDS(channel && !channel_is_newcomer(channel));
    HOLDS(channel_size(channel) == 4 && channel_room(channel) == 8);
    channel_process(channel, &wave, &index);
    HOLDS(wave == 0 && index == rank);
    HOLDS(opens_with(channel, 0, 0xf) && channel_newcomers(channel) == 0);
    atomic_fetch_add(&board->opened, 1);
    HOLDS(is_told_of(channel, 0, 0x10) && channel_newcomers(channel) == 1);
    return 0;
}

static int run_newcomer_alone(uint32_t rank, int fd)
{
    char story[STORY] = "";
    struct channel *channel = channel_mine();
    struct channel_card *all = NULL, card;
    uint32_t wave, index, told = 0, other;
    (void)fd;
    HOLDS(channel && channel_is_newcomer(channel) && channel_rank(channel) == rank);
    HOLDS(channel_size(channel) == 4 && channel_room(channel) == 8);
    channel_process(channel, &wave, &index);
    HOLDS(wave == 3 && index == 0);
    HOLDS(channel_gather(channel, "", 0, &all, story, sizeof(story)) ==
              MOOT_ERR_TRANSPORT &&
          strstr(story, "joins no gathering"));
    HOLDS(opens_with(channel, 0, 0x1f));
    HOLDS(!channel_next_newcomer(channel, 0, &told, &other, &card));
    return 0;
}

static void a_newcomer_has_all_cards_and_all_have_its(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 4, run_founder_of_one);
    job_until(&job, &board->opened, 4);
    job_grow(&job, 3, 1, run_newcomer_alone);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_founder_of_three(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0xf));
    HOLDS(is_told_of(channel, 0, 0x70));
    return 0;
}

/* Cards that it is not told of later came with the cards. */
static int run_newcomer_of_three(uint32_t rank, int fd)
{
    char mine[CARD] = "", story[STORY] = "";
    struct channel *channel = channel_mine();
    struct channel_card *all = NULL;
    uint32_t opening;
    uint64_t later = 0;
    (void)fd;
    HOLDS(channel);
    card_write(mine, rank, 0);
    HOLDS(channel_open(channel, mine, CARD, &all, &opening, story, sizeof(story)) ==
          MOOT_OK);
    for (uint32_t other = 4; other < 7; other++) {
        HOLDS(!all[other].bytes || card_is(&all[other], other, 0));
        later |= (uint64_t)!all[other].bytes << other;
    }
    free(all);
    HOLDS(is_told_of(channel, 0, later));
    return 0;
}

static void of_two_that_join_at_once_each_has_the_others_card(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 4, run_founder_of_three);
    job_grow(&job, 1, 3, run_newcomer_of_three); /* before there is an opening */
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_founder_of_two_openings(uint32_t rank, int fd)
{
    char story[STORY];
    struct channel_card *all = NULL;
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0x7));
    HOLDS(channel_gather(channel, "x", 1, &all, story, sizeof(story)) == MOOT_OK);
    free(all); /* a gathering between them that is no opening */
    atomic_fetch_add(&board->opened, 1);
    HOLDS(is_told_of(channel, 0, 0x8));
    HOLDS(opens_with(channel, 1, 0x7));
    HOLDS(is_told_of(channel, 1, 0x18));
    HOLDS(is_told_of(channel, 0, 0x18) && channel_newcomers(channel) == 4);
    return 0;
}

static int run_newcomer_of_two_openings(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel);
    HOLDS(opens_with(channel, 0, rank == 3 ? 0xf : 0x1f));
    HOLDS(opens_with(channel, 1, rank == 3 ? 0xf : 0x1f));
    HOLDS(rank == 4 || is_told_of(channel, 0, 0x10));
    HOLDS(rank == 4 || is_told_of(channel, 1, 0x10));
    atomic_fetch_add(&board->answered, 1);
    serve_until_ends(channel);
    return 0;
}

static int run_first_of_two_openings(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0xf));
    HOLDS(opens_with(channel, 1, 0xf));
    atomic_fetch_add(&board->answered, 1);
    HOLDS(is_told_of(channel, 0, 0x10) && is_told_of(channel, 1, 0x10));
    return 0;
}

static void the_nth_opening_of_a_newcomer_joins_the_nth_of_the_founders(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_founder_of_two_openings);
    job_until(&job, &board->opened, 3);
    job_grow(&job, 1, 1, run_first_of_two_openings);
    job_until(&job, &board->answered, 1);
    job_grow(&job, 2, 1, run_newcomer_of_two_openings);
    job_until(&job, &board->answered, 2);
    atomic_store(&board->ends, 1);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* Cards that no socket has room for, while newcomers are told of. */
static int run_large(uint32_t rank, int fd)
{
    char story[STORY];
    struct channel *channel = channel_mine();
    unsigned char *card = malloc(CHANNEL_CARD_MAX);
    (void)fd;
    HOLDS(channel && card && opens_with(channel, 0, 0x7));
    for (uint32_t round = 0; round < 8; round++) {
        struct channel_card *all = NULL;
        memset(card, (int)(rank ^ round), CHANNEL_CARD_MAX);
        HOLDS(channel_gather(channel, card, CHANNEL_CARD_MAX, &all, story,
                             sizeof(story)) == MOOT_OK);
        for (uint32_t other = 0; other < 3; other++) {
            const unsigned char *bytes = all[other].bytes;
            HOLDS(all[other].size == CHANNEL_CARD_MAX && bytes[0] == (other ^ round) &&
                  memcmp(bytes, bytes + 1, CHANNEL_CARD_MAX - 1) == 0);
        }
        free(all);
    }
    free(card);
    HOLDS(is_told_of(channel, 0, 0x3ff8));
    return 0;
}

static int run_newcomer(uint32_t rank, int fd)
{
    char mine[CARD] = "", story[STORY] = "";
    struct channel *channel = channel_mine();
    struct channel_card *all = NULL;
    uint32_t opening;
    (void)fd;
    HOLDS(channel);
    card_write(mine, rank, 0);
    atomic_fetch_add(&board->asked, 1);
    HOLDS(channel_open(channel, mine, CARD, &all, &opening, story, sizeof(story)) ==
          MOOT_OK);
    for (uint32_t other = 0; other < channel_size(channel); other++) {
        HOLDS(card_is(&all[other], other, 0));
    }
    free(all);
    atomic_fetch_add(&board->answered, 1);
    return 0;
}

static void words_of_newcomers_pass_by_large_cards(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_large);
    job_grow(&job, 1, 11, run_newcomer);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* --- Ranks that go ---------------------------------------------------------------- */

static int run_ends_at_once(uint32_t rank, int fd)
{
    (void)fd;
    (void)rank;
    return channel_mine() ? 7 : 1;
}

static int run_after_another(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0x17) && knows_death(channel, 3));
    atomic_fetch_add(&board->answered, 1);
    return 0;
}

static void a_newcomer_that_ends_before_its_card_keeps_nobody(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_founder);
    job_until(&job, &board->opened, 3);
    job_grow(&job, 1, 1, run_ends_at_once);
    while (job.pids[3] != 0) {
        job_poll(&job, 1);
        (void)job_reap(&job, true);
    }
    job_grow(&job, 2, 1, run_after_another);
    job_until(&job, &board->answered, 1);
    atomic_store(&board->ends, 1);
    job_serve(&job, true);
    assert_status(&job, 3, 7);
    assert_status(&job, 4, 0);
}

/* Founder 1 does not read until the others' deaths are over. */
static int run_founder_but_one_reads(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel && opens_with(channel, 0, 0x7));
    atomic_fetch_add(&board->opened, 1);
    while (rank == 1 && atomic_load(&board->ends) == 0) {
        sleep_ms(1);
    }
    while (atomic_load(&board->ends) < 2) {
        (void)channel_next_death(channel, &(uint32_t){0});
        sleep_ms(1);
    }
    HOLDS(is_told_of(channel, 0, 0x18) && knows_death(channel, 3));
    return 0;
}

static int run_late_second(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel);
    atomic_fetch_add(&board->asked, 1);
    HOLDS(opens_with(channel, 0, 0x1f) && knows_death(channel, 3));
    atomic_fetch_add(&board->answered, 1);
    return 0;
}

static void a_newcomer_that_dies_as_others_are_told_leaves_its_card(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_founder_but_one_reads);
    job_until(&job, &board->opened, 3);
    job_grow(&job, 1, 1, run_newcomer);
    job_until(&job, &board->asked, 1);
    job_idle(&job);
    assert_int_equal(atomic_load(&board->answered), 0);
    kill(job.pids[3], SIGKILL);
    job_grow(&job, 2, 1, run_late_second);
    job_until(&job, &board->asked, 2);
    job_idle(&job);
    assert_int_equal(atomic_load(&board->answered), 0); /* founder 1 knows of nobody */
    atomic_store(&board->ends, 1);
    job_until(&job, &board->answered, 1);
    atomic_store(&board->ends, 2);
    job_serve(&job, true);
    for (uint32_t rank = 0; rank < job.size; rank++) {
        if (rank != 3) {
            assert_status(&job, rank, 0);
        }
    }
}

static int run_founder_deaf(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel && opens_with(channel, 0, 0x7));
    atomic_fetch_add(&board->opened, 1);
    while (rank == 1) {
        sleep_ms(100); /* until it is killed */
    }
    serve_until_ends(channel);
    return 0;
}

static int run_joins_and_hears(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel);
    atomic_fetch_add(&board->asked, 1);
    HOLDS(opens_with(channel, 0, 0xf));
    atomic_fetch_add(&board->answered, 1);
    death_wait(channel, 1);
    return 0;
}

static void a_founder_that_never_answers_keeps_newcomers_until_it_dies(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_founder_deaf);
    job_until(&job, &board->opened, 3);
    job_grow(&job, 1, 1, run_joins_and_hears);
    job_until(&job, &board->asked, 1);
    job_idle(&job);
    assert_int_equal(atomic_load(&board->answered), 0);
    assert_true(channel_hub_waits_for(hub_of(&job, 1), 1));
    assert_false(channel_hub_waits_for(hub_of(&job, 2), 2));
    kill(job.pids[1], SIGKILL);
    job_until(&job, &board->answered, 1);
    atomic_store(&board->ends, 1);
    job_serve(&job, true);
    assert_status(&job, 0, 0);
    assert_status(&job, 2, 0);
    assert_status(&job, 3, 0);
}

static int run_founder_one_goes(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel && opens_with(channel, 0, 0x7));
    if (rank != 1) {
        death_wait(channel, 1);
        atomic_fetch_add(&board->opened, 1);
        serve_until_ends(channel);
    }
    return 0;
}

static int run_joins_without_one(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0xf) && knows_death(channel, 1));
    atomic_fetch_add(&board->answered, 1);
    HOLDS(open_fails(channel, "rank 1 has ended, and all ranks have to come"));
    atomic_store(&board->ends, 1);
    return 0;
}

static void of_a_founder_that_has_gone_the_card_and_the_death_are_told(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_founder_one_goes);
    job_until(&job, &board->opened, 2);
    job_grow(&job, 1, 1, run_joins_without_one);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_founder_short(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0x3));
    return 0;
}

static int run_too_late(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && open_fails(channel, "has come too late"));
    return 0;
}

static void a_newcomer_after_all_others_is_told_so(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 2, run_founder_short);
    while (job_reap(&job, true) > 0) {
        job_poll(&job, 5);
    }
    job_idle(&job);
    job_grow(&job, 1, 2, run_too_late);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* Has closed its opening, and computes on without a look at its channel. */
static int run_founder_closes(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0x3));
    channel_close(channel, 0);
    atomic_fetch_add(&board->opened, 1);
    while (!atomic_load(&board->ends)) {
        sleep_ms(1);
    }
    return 0;
}

static int run_late_by_word(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && open_fails(channel, "has come too late"));
    HOLDS(!knows_death(channel, 0) && !knows_death(channel, 1));
    atomic_store(&board->ends, 1);
    return 0;
}

static void a_newcomer_of_what_all_have_closed_is_told_so(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 2, run_founder_closes);
    job_until(&job, &board->opened, 2);
    job_grow(&job, 1, 1, run_late_by_word);
    job_serve(&job, true);
    assert_all_well(&job);
}

static void look(struct channel *channel)
{
    (void)knows_death(channel, UINT32_MAX - 1);
}

/* Looks until there have been so many answers. */
static void answers_wait(struct channel *channel, unsigned count)
{
    while (atomic_load(&board->answered) < count) {
        look(channel);
        sleep_ms(1);
    }
}

/* Knows both newcomers, and closes when they have had their answers; lives on. */
static int run_founder_leaves_them(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel && opens_with(channel, 0, 0x3));
    atomic_fetch_add(&board->opened, 1);
    HOLDS(is_told_of(channel, 0, 0xc));
    answers_wait(channel, 2 + rank);
    channel_close(channel, 0);
    while (!atomic_load(&board->ends)) {
        sleep_ms(1);
    }
    return 0;
}

static void emptied_wait(struct channel *channel)
{
    while (!channel_is_emptied(channel, 0)) {
        look(channel);
        sleep_ms(1);
    }
}

/* The first to come is left alone when both founders have closed, one after the other;
 * the second when the first has closed, too. */
static int run_newcomer_left(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel && opens_with(channel, 0, rank == 2 ? 0x7 : 0xf));
    atomic_fetch_add(&board->answered, 1);
    if (rank == 2) {
        answers_wait(channel, 2);
        sleep_ms(50);
        look(channel);
        HOLDS(!channel_is_emptied(channel, 0));
        atomic_fetch_add(&board->answered, 1);
        emptied_wait(channel);
        sleep_ms(50);
        HOLDS(!atomic_load(&board->ends));
        channel_close(channel, 0);
        return 0;
    }
    emptied_wait(channel);
    atomic_store(&board->ends, 1);
    return 0;
}

static void newcomers_whom_all_have_left_are_told_so(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 2, run_founder_leaves_them);
    job_until(&job, &board->opened, 2);
    job_grow(&job, 1, 1, run_newcomer_left);
    job_until(&job, &board->answered, 1);
    job_grow(&job, 1, 1, run_newcomer_left);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* The first has two openings, and closes one as the newcomer waits for its answer,
 * which it never gives; in the other it answers. */
static int run_founder_closes_one(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel && opens_with(channel, 0, 0x3) && opens_with(channel, 1, 0x3));
    atomic_fetch_add(&board->opened, 1);
    if (rank == 0) {
        while (!atomic_load(&board->asked)) {
            sleep_ms(1);
        }
        sleep_ms(50);
        HOLDS(atomic_load(&board->answered) == 0);
        channel_close(channel, 0);
    }
    HOLDS(is_told_of(channel, 1, 0x4));
    serve_until_ends(channel);
    return 0;
}

static int run_newcomer_of_two(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel);
    atomic_store(&board->asked, 1);
    HOLDS(opens_with(channel, 0, 0x7));
    atomic_store(&board->answered, 1);
    HOLDS(opens_with(channel, 1, 0x7));
    atomic_store(&board->ends, 1);
    return 0;
}

static void who_closes_keeps_no_newcomer(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 2, run_founder_closes_one);
    job_until(&job, &board->opened, 2);
    job_grow(&job, 1, 1, run_newcomer_of_two);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_newcomer_of_none(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    if (rank == 0) {
        while (!atomic_load(&board->asked)) {
            sleep_ms(1);
        }
        sleep_ms(50);
        return 0;
    }
    HOLDS(channel);
    atomic_store(&board->asked, 1);
    HOLDS(open_fails(channel, "rank 0 has "));
    return 0;
}

static void where_there_is_no_opening_any_more_newcomers_are_told(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 1, run_newcomer_of_none);
    job_grow(&job, 1, 2, run_newcomer_of_none);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_without_launcher(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    char story[STORY] = "";
    uint32_t first = 9;
    (void)fd;
    (void)rank;
    HOLDS(channel);
    atomic_store(&board->asked, 1);
    HOLDS(open_fails(channel, "launcher has gone"));
    HOLDS(channel_grow(channel, 1, &first, story, sizeof(story)) == MOOT_ERR_TRANSPORT);
    HOLDS(strstr(story, "launcher has gone") && first == 9);
    return 0;
}

static void a_launcher_that_goes_fails_newcomers(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 1, run_newcomer_of_none);
    job_grow(&job, 1, 1, run_without_launcher);
    kill(job.pids[0], SIGSTOP);
    job_until(&job, &board->asked, 1);
    job_free(&job);
    job.hub = NULL;
    kill(job.pids[0], SIGCONT);
    while (job_reap(&job, false) > 0) {
        sleep_ms(1);
    }
    assert_all_well(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_two_that_join_at_once_each_has_the_others_card),
        TEST(the_nth_opening_of_a_newcomer_joins_the_nth_of_the_founders),
        TEST(words_of_newcomers_pass_by_large_cards),
        TEST(a_newcomer_that_ends_before_its_card_keeps_nobody),
        TEST(a_newcomer_that_dies_as_others_are_told_leaves_its_card),
        TEST(a_founder_that_never_answers_keeps_newcomers_until_it_dies),
        TEST(of_a_founder_that_has_gone_the_card_and_the_death_are_told),
        TEST(a_newcomer_after_all_others_is_told_so),
        TEST(a_newcomer_of_what_all_have_closed_is_told_so),
        TEST(newcomers_whom_all_have_left_are_told_so),
        TEST(who_closes_keeps_no_newcomer),
        TEST(where_there_is_no_opening_any_more_newcomers_are_told),
        TEST(a_launcher_that_goes_fails_newcomers),
    };
    const struct CMUnitTest roomy[] = {
        TEST(a_newcomer_has_all_cards_and_all_have_its),
    };
    int failed = 0;
    for (branch_ranks = 0; branch_ranks <= 2; branch_ranks += 2) {
        later_ranks = 4;
        failed += cmocka_run_group_tests_name("room for four", roomy, NULL, NULL);
        later_ranks = 11;
        failed += cmocka_run_group_tests_name("room", tests, NULL, NULL);
    }
    return failed;
}
