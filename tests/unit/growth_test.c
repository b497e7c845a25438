/* growth_test.c - what a launcher answers to ranks that wish for more
 * (node/launch/growth.h): a job has so many at a time, takes in so many over its life,
 * and gives each number once.
 */
#include "node/launch/growth.h"
#include "tests/unit/channel_job.h"

enum { FOUNDERS = 2 };

/* One wish, as the launcher has it and as the rank hears of the answer. */
struct wish {
    uint32_t living, count;
    bool starts; /* the ranks can be started */
    int code;
    uint32_t first;
    const char *says;
};

static const struct wish *wishes;
static uint32_t wish_count, wishes_asked;

/* Is asked first for each wish. */
static uint32_t living_now(void *context)
{
    (void)context;
    assert_true(wishes_asked < wish_count);
    return wishes[wishes_asked++].living;
}

static bool start_now(void *context, uint32_t first, uint32_t count, char *story,
                      size_t story_size)
{
    const struct wish *wish = &wishes[wishes_asked - 1];
    (void)context;
    assert_int_equal(first, wish->first);
    assert_int_equal(count, wish->count);
    if (!wish->starts) {
        snprintf(story, story_size, "no room on this host");
    }
    return wish->starts;
}

static int run_wishes(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel);
    for (uint32_t i = 0; i < wish_count; i++) {
        char story[256] = "";
        uint32_t first = UINT32_MAX;
        const int code =
            channel_grow(channel, wishes[i].count, &first, story, sizeof(story));
        if (code != wishes[i].code || strcmp(story, wishes[i].says) != 0) {
            fprintf(stderr, "wish %u: %s, '%s'\n", i, error_name(code), story);
            return 98;
        }
        HOLDS(first == (code == MOOT_OK ? wishes[i].first : UINT32_MAX));
    }
    return 0;
}

static void answer_by(const struct growth_starter *starter, struct growth growth,
                      const struct wish *all, uint32_t count)
{
    const time_t until = time(NULL) + PATIENCE_S;
    struct job job;
    wishes = all;
    wish_count = count;
    wishes_asked = 0;
    later_ranks = growth.room - FOUNDERS;
    job_make(&job, FOUNDERS);
    job.size = 1;
    assert_true(channel_hub_add(job.hub, 0, rank_start(&job, 0, run_wishes), "", ""));
    while (job_reap(&job, false) > 0) {
        job_poll(&job, 5);
        growth_serve(&growth, job.hub, starter);
        assert_true(time(NULL) < until);
    }
    job_free(&job);
    assert_all_well(&job);
    assert_int_equal(wishes_asked, count);
}

static void answer_all(uint32_t max, const struct wish *all, uint32_t count)
{
    const struct growth_starter starter = {NULL, living_now, start_now};
    struct growth growth = growth_make(FOUNDERS, max);
    growth.patience_ms = 0;
    answer_by(&starter, growth, all, count);
}

/* One of four ends when it has been looked at three times. */
static uint32_t looks;
static uint32_t living_falls(void *context)
{
    (void)context;
    wishes_asked = 1;
    return looks++ < 3 ? 4 : 3;
}

static void a_wish_waits_for_who_is_about_to_end(void **unused)
{
    static const struct wish all[] = {{4, 1, true, MOOT_OK, 2, "b_0 as rank 2"}};
    const struct growth_starter starter = {NULL, living_falls, start_now};
    (void)unused;
    looks = 0;
    answer_by(&starter, growth_make(FOUNDERS, 4), all, 1);
    assert_int_equal(looks, 4);
}

static void a_job_has_so_many_at_a_time(void **unused)
{
    static const struct wish all[] = {
        {2, 2, true, MOOT_OK, 2, "b_0, b_1 as ranks 2, 3"},
        {4, 1, true, MOOT_ERR_LIMIT, 0,
         "4 ranks and 1 more are over the 4 that the job may have (--max)"},
        {1, 4, true, MOOT_ERR_LIMIT, 0,
         "1 rank and 4 more are over the 4 that the job may have (--max)"},
        {1, 3, true, MOOT_OK, 4, "c_0, c_1, c_2 as ranks 4, 5, 6"}};
    (void)unused;
    answer_all(4, all, sizeof(all) / sizeof(all[0]));
}

static void numbers_of_ranks_that_could_not_be_started_are_gone(void **unused)
{
    static const struct wish all[] = {
        {2, 1, false, MOOT_ERR_TRANSPORT, 2, "no room on this host"},
        {2, 5, true, MOOT_OK, 3, "c_0 to c_4 as ranks 3 to 7"}};
    (void)unused;
    answer_all(7, all, sizeof(all) / sizeof(all[0]));
}

static void a_job_takes_in_so_many_over_its_life(void **unused)
{
    static const struct wish all[] = {
        {2, 40, true, MOOT_OK, 2, "b_0 to b_39 as ranks 2 to 41"},
        {2, 25, true, MOOT_ERR_LIMIT, 0,
         "a job takes in 64 ranks in all, and 40 have come: there is no room for 25 "
         "more"},
        {2, 24, true, MOOT_OK, 42, "c_0 to c_23 as ranks 42 to 65"},
        {2, 1, true, MOOT_ERR_LIMIT, 0,
         "a job takes in 64 ranks in all, and 64 have come: there is no room for 1 "
         "more"}};
    (void)unused;
    answer_all(66, all, sizeof(all) / sizeof(all[0]));
}

static void waves_have_letters(void **unused)
{
    struct wish all[28];
    char says[28][32];
    (void)unused;
    for (uint32_t i = 0; i < 28; i++) {
        char name[CHANNEL_PROCESS_BYTES];
        channel_process_name(i + 1, 0, name);
        snprintf(says[i], sizeof(says[i]), "%s as rank %u", name, i + 2);
        all[i] = (struct wish){2, 1, true, MOOT_OK, i + 2, says[i]};
    }
    assert_string_equal(says[24], "z_0 as rank 26");
    assert_string_equal(says[25], "aa_0 as rank 27");
    assert_string_equal(says[26], "ab_0 as rank 28");
    answer_all(3, all, 28);
}

static void the_last_name_has_room(void **unused)
{
    char name[CHANNEL_PROCESS_BYTES];
    (void)unused;
    channel_process_name(UINT32_MAX, UINT32_MAX, name);
    assert_string_equal(name, "mwlqkwv_4294967295");
}

static void where_none_join_that_is_said(void **unused)
{
    static const struct wish all[] = {{2, 1, true, MOOT_ERR_UNSUPPORTED, 0,
                                       "no ranks join this job: it was started without "
                                       "--max"}};
    (void)unused;
    answer_all(0, all, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_has_so_many_at_a_time),
        cmocka_unit_test(a_wish_waits_for_who_is_about_to_end),
        cmocka_unit_test(numbers_of_ranks_that_could_not_be_started_are_gone),
        cmocka_unit_test(a_job_takes_in_so_many_over_its_life),
        cmocka_unit_test(waves_have_letters),
        cmocka_unit_test(the_last_name_has_room),
        cmocka_unit_test(where_none_join_that_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
