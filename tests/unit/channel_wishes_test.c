/* channel_wishes_test.c - wishes for more ranks by the channel, and newcomers that
 * break its rules (node/channel/channel.h).
 *
 * All is done twice: with one hub, and with branches of two ranks below it.
 */
#include "tests/unit/channel_newcomers.h"

#include <pthread.h>

/* --- Wishes ----------------------------------------------------------------------- */

static int run_wishes(uint32_t rank, int fd)
{
    static const struct {
        int code;
        const char *story;
    } answers[] = {{MOOT_OK, "b_0, b_1 as ranks 4, 5"},
                   {MOOT_ERR_LIMIT, "too many"},
                   {MOOT_ERR_UNSUPPORTED, ""},
                   {MOOT_ERR_TRANSPORT, "no processes"}};
    char story[STORY];
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t first = 77;
        HOLDS(channel_grow(channel, rank + 1, &first, story, sizeof(story)) ==
              answers[i].code);
        HOLDS(strcmp(story, answers[i].story) == 0);
        HOLDS(first == (i == 0 ? 100 + rank : 77));
    }
    HOLDS(channel_grow(channel, 0, &(uint32_t){0}, story, sizeof(story)) ==
          MOOT_ERR_LIMIT);
    HOLDS(channel_grow(channel, 65, &(uint32_t){0}, story, sizeof(story)) ==
          MOOT_ERR_LIMIT);
    return 0;
}

static void wishes_answer(struct job *job, uint32_t had[RANKS_MAX])
{
    static const int codes[] = {MOOT_OK, MOOT_ERR_LIMIT, MOOT_ERR_UNSUPPORTED,
                                MOOT_ERR_NO_MEMORY};
    static const char *const stories[] = {"b_0, b_1 as ranks 4, 5", "too many", "",
                                          "no processes"};
    uint32_t rank, count;
    while (channel_hub_next_wish(job->hub, &rank, &count)) {
        assert_true(rank < job->size && count == rank + 1 && had[rank] < 4);
        channel_hub_answer(job->hub, rank, codes[had[rank]], 100 + rank,
                           stories[had[rank]]);
        had[rank]++;
    }
}

static void each_wish_is_answered_to_the_rank_that_has_it(void **unused)
{
    struct job job;
    uint32_t had[RANKS_MAX] = {0};
    const time_t until = time(NULL) + PATIENCE_S;
    (void)unused;
    job_start(&job, 4, run_wishes);
    job_grow(&job, 1, 1, run_wishes);
    while (job_reap(&job, true) > 0) {
        job_poll(&job, 5);
        wishes_answer(&job, had);
        assert_true(time(NULL) < until);
    }
    job_free(&job);
    assert_all_well(&job);
}

static void *wish_beside(void *argument)
{
    char story[STORY];
    uint32_t first = 0;
    const int code = channel_grow(argument, 1, &first, story, sizeof(story));
    return code == MOOT_OK && first == 100 ? argument : NULL;
}

/* A thread gathers and reads, another wishes. */
static int run_wishes_beside_a_gathering(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    pthread_t thread;
    void *well = NULL;
    (void)fd;
    HOLDS(channel);
    if (rank == 1) {
        while (!atomic_load(&board->ends)) {
            sleep_ms(1);
        }
        return opens_with(channel, 0, 0x3) ? 0 : 98;
    }
    HOLDS(pthread_create(&thread, NULL, wish_beside, channel) == 0);
    HOLDS(opens_with(channel, 0, 0x3));
    HOLDS(pthread_join(thread, &well) == 0 && well);
    return 0;
}

static void a_wish_is_answered_while_another_thread_gathers(void **unused)
{
    struct job job;
    uint32_t rank, count;
    (void)unused;
    job_start(&job, 2, run_wishes_beside_a_gathering);
    while (!channel_hub_next_wish(job.hub, &rank, &count)) {
        job_poll(&job, 5);
    }
    job_idle(&job);
    channel_hub_answer(job.hub, rank, MOOT_OK, 100, "");
    job_idle(&job);
    atomic_store(&board->ends, 1);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* --- Rules ------------------------------------------------------------------------ */

/* Breaks the rules in the way of that number, as rank 3, a newcomer that is in opening
 * 0; false: there is none. */
static bool rules_break(int fd, int way)
{
    struct channel_header message = channel_header_make(CHANNEL_OPEN, 0);
    message.count = 1;
    switch (way) {
    case 0: /* a gathering of founders */
        message.kind = CHANNEL_HAND_IN;
        break;
    case 1: /* an opening that it has had */
        message.count = 0;
        break;
    case 2: /* the next one, twice */
        (void)send(fd, &message, sizeof(message), MSG_NOSIGNAL);
        break;
    case 3: /* what it was not told */
        message.kind = CHANNEL_KNOWN;
        break;
    case 4: /* a wish for nothing */
        message.kind = CHANNEL_GROW;
        message.count = 0;
        break;
    case 5: /* for more than there is */
        message.kind = CHANNEL_GROW;
        message.count = 65;
        break;
    case 6: /* two at once */
        message.kind = CHANNEL_GROW;
        (void)send(fd, &message, sizeof(message), MSG_NOSIGNAL);
        break;
    case 7: /* the launcher's word */
        message.kind = CHANNEL_NEWCOMER;
        message.rank = 3;
        break;
    case 8:
        message.kind = CHANNEL_OPENED;
        message.to = 4;
        break;
    case 9:
        message.kind = CHANNEL_FAILED;
        message.to = 4;
        break;
    case 10:
        message.kind = CHANNEL_GROWN;
        break;
    case 11:
        message.size = CHANNEL_CARD_MAX + 1;
        break;
    default:
        return false;
    }
    return send(fd, &message, sizeof(message), MSG_NOSIGNAL) > 0;
}

enum { WAYS = 12 };
static int broken_way;

static int run_broken(uint32_t rank, int fd)
{
    char byte;
    struct channel *channel = channel_mine();
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0xf));
    HOLDS(rules_break(fd, broken_way));
    HOLDS(recv(fd, &byte, 1, 0) <= 0); /* cut off */
    atomic_fetch_add(&board->answered, 1);
    return 0;
}

static int run_after_broken(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && opens_with(channel, 0, 0x1f));
    atomic_store(&board->ends, 1);
    return 0;
}

static void newcomers_that_break_the_rules_are_cut_off_alone(void **unused)
{
    (void)unused;
    for (broken_way = 0; broken_way < WAYS; broken_way++) {
        struct job job;
        *board = (struct board){0};
        job_start(&job, 3, run_founder);
        job_until(&job, &board->opened, 3);
        job_grow(&job, 1, 1, run_broken);
        job_until(&job, &board->answered, 1);
        job_grow(&job, 2, 1, run_after_broken);
        job_serve(&job, true);
        assert_all_well(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_wish_is_answered_to_the_rank_that_has_it),
        TEST(a_wish_is_answered_while_another_thread_gathers),
        TEST(newcomers_that_break_the_rules_are_cut_off_alone),
    };
    int failed = 0;
    later_ranks = 11;
    for (branch_ranks = 0; branch_ranks <= 2; branch_ranks += 2) {
        failed += cmocka_run_group_tests_name("room", tests, NULL, NULL);
    }
    return failed;
}
