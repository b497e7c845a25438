/* channel_branch_test.c - hubs of hosts, and the one above them
 * (node/channel/channel.h): a host that is lost, and one that says what it may not, and
 * how often all ranks wait for each other to open a moot.  All that ranks see of
 * branches is in channel_test.c.
 */
#include "node/api/moot.h"
#include "node/channel/hub_private.h"
#include "tests/unit/channel_job.h"

static int run_beside_lost(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel);
    if (rank >= 2) {
        sleep_ms(500); /* until that has gone */
        HOLDS(gather_fails(channel, "launcher has gone"));
        return 0;
    }
    HOLDS(gather_fails(channel, "rank 2 is on a host that is not reached"));
    HOLDS(gather_fails(channel, "rank 2 is on a host that is not reached"));
    HOLDS(channel_next_death(channel, &(uint32_t){0}) ==
          UINT32_MAX); /* they may well live */
    return 0;
}

static void a_host_that_is_lost_fails_what_waits_for_its_ranks(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 4, run_beside_lost);
    job_poll(&job, 50);
    channel_hub_free(job.branches[1]);
    job.branch_count = 1;
    job_serve(&job, false);
    assert_all_well(&job);
}

static int run_in_short(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)rank;
    (void)fd;
    HOLDS(channel && gather_fails(channel, "rank 1 was cut off by the launcher"));
    HOLDS(channel_next_death(channel, &(uint32_t){0}) == UINT32_MAX);
    return 0;
}

/* Whether the other end is closed, which a rank's process may hold for a moment, too.
 */
static bool is_cut(int fd)
{
    char bytes[64];
    bool cut = false;
    for (int turn = 0; !cut && turn < PATIENCE_S * 1000; turn++) {
        const ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        cut = got == 0 || (got < 0 && errno == ECONNRESET);
        sleep_ms(got > 0 ? 0 : 1);
    }
    return cut;
}

/* A branch of ranks 1 and 2 is written by hand. */
static void what_no_branch_may_say_loses_its_host(void **unused)
{
    const uint32_t more = CHANNEL_CARD_MAX + 1;
    const struct {
        enum channel_kind kind;
        uint32_t rank, count;
        uint64_t size;
        uint32_t lengths[2];
    } wrong[] = {
        {CHANNEL_HAND_IN, 1, 0, 4, {0, 0}},              /* too short for two */
        {CHANNEL_HAND_IN, 1, 0, 8, {1, 0}},              /* longer than it is */
        {CHANNEL_HAND_IN, 1, 0, 12, {1, 1}},             /* and shorter */
        {CHANNEL_HAND_IN, 1, 0, UINT64_C(1) << 60, {0}}, /* nothing is allocated */
        {CHANNEL_HAND_IN, 1, 0, 8 + more, {more, 0}},    /* one of them is too long */
        {CHANNEL_HAND_IN, 1, 1, 8, {0, 0}},              /* another gathering */
        {CHANNEL_DEATH, 0, 0, 0, {0, 0}},                /* of another's rank */
        {CHANNEL_DEATH, 3, 0, 0, {0, 0}},                /* of nobody */
        {CHANNEL_GONE, 0, 0, 0, {0, 0}},                 /* of another's rank */
        {CHANNEL_GONE, UINT32_MAX, 0, 0, {0, 0}},        /* of nobody */
        {CHANNEL_CARDS, 1, 0, 12, {0, 0}},               /* what only the trunk says */
    };
    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct job job = {.size = 3, .hub = channel_hub_new(3, 3)};
        int ends[2];
        struct channel_header header =
            channel_header_make(wrong[i].kind, wrong[i].size);
        header.rank = wrong[i].rank;
        header.count = wrong[i].count;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_true(
            channel_hub_add(job.hub, 0, rank_start(&job, 0, run_in_short), "", ""));
        assert_true(channel_hub_add_branch(job.hub, 1, 2, ends[0]));
        assert_int_equal(write(ends[1], &header, sizeof(header)), sizeof(header));
        const bool more_comes = wrong[i].size > 0; /* what came is wrong by itself */
        if (more_comes) {
            (void)!send(ends[1], wrong[i].lengths, sizeof(wrong[i].lengths),
                        MSG_NOSIGNAL);
        }
        unsigned char *rest = calloc(1, more);
        assert_non_null(rest);
        for (int turn = 0; turn < 100; turn++) {
            if (more_comes) {
                (void)!send(ends[1], rest, more, MSG_NOSIGNAL | MSG_DONTWAIT);
            }
            channel_hub_poll(job.hub, 1);
        }
        free(rest);
        assert_true(is_cut(ends[1]));
        job_serve(&job, false);
        assert_all_well(&job);
        close(ends[1]);
    }
}

static int run_beside_twice(uint32_t rank, int fd)
{
    char story[256];
    struct channel_card *all = NULL;
    struct channel *channel = channel_mine();
    (void)rank, (void)fd;
    HOLDS(channel);
    sleep_ms(200);
    HOLDS(channel_gather(channel, "", 0, &all, story, sizeof(story)) == MOOT_OK);
    free(all);
    HOLDS(gather_fails(channel, "rank 1 was cut off"));
    return 0;
}

/* A branch hands in for ranks 1 and 2, and again before rank 0 has come. */
static void a_branch_that_comes_twice_is_cut_off(void **unused)
{
    struct job job = {.size = 3, .hub = channel_hub_new(3, 3)};
    struct channel_header header = channel_header_make(CHANNEL_HAND_IN, 8);
    const uint32_t lengths[2] = {0, 0};
    int ends[2];
    (void)unused;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_true(
        channel_hub_add(job.hub, 0, rank_start(&job, 0, run_beside_twice), "", ""));
    assert_true(channel_hub_add_branch(job.hub, 1, 2, ends[0]));
    header.rank = 1;
    for (header.count = 0; header.count < 2; header.count++) {
        assert_int_equal(write(ends[1], &header, sizeof(header)), sizeof(header));
        assert_int_equal(write(ends[1], lengths, sizeof(lengths)), sizeof(lengths));
        job_poll(&job, 20);
    }
    job_serve(&job, false);
    assert_all_well(&job);
    close(ends[1]);
}

static int run_too_much(uint32_t rank, int fd)
{
    char story[256];
    struct channel_card *all = NULL;
    struct channel *channel = channel_mine();
    (void)rank, (void)fd;
    HOLDS(channel);
    HOLDS(channel_gather(channel, "", 0, &all, story, sizeof(story)) == MOOT_ERR_LIMIT);
    HOLDS(channel_gather(channel, "", 0, &all, story, sizeof(story)) == MOOT_OK);
    free(all);
    HOLDS(gather_fails(channel, "rank 1 has ended"));
    HOLDS(gather_fails(channel, "rank 1 has ended"));
    return 0;
}

/* The hub above is written by hand: too much is so once, an end for good. */
static void what_was_too_much_is_not_for_good(void **unused)
{
    struct job job = {.size = 1};
    unsigned char key[CHANNEL_KEY_BYTES] = {0}, bytes[256];
    const uint32_t lengths[2] = {0, 0};
    const enum channel_why why[] = {CHANNEL_TOO_MUCH, 0, CHANNEL_ENDED};
    int ends[2], left = 3;
    (void)unused;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    job.hub = channel_hub_new_branch(
        &(struct channel_branch){.size = 2, .room = 2, .count = 1}, key, ends[0]);
    assert_non_null(job.hub);
    assert_true(channel_hub_add(job.hub, 0, rank_start(&job, 0, run_too_much), "", ""));
    for (int turn = 0; turn < PATIENCE_S * 100 && left > 0; turn++) {
        job_poll(&job, 10);
        if (recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) {
            continue;
        }
        const bool well = why[3 - left] == 0;
        struct channel_header header = channel_header_make(
            well ? CHANNEL_CARDS : CHANNEL_FAILED, well ? sizeof(lengths) : 0);
        header.rank = 1;
        header.why = why[3 - left--];
        assert_int_equal(write(ends[1], &header, sizeof(header)), sizeof(header));
        assert_true(!well ||
                    write(ends[1], lengths, sizeof(lengths)) == sizeof(lengths));
    }
    job_serve(&job, false);
    assert_all_well(&job);
    close(ends[1]);
}

static int run_opening(uint32_t rank, int fd)
{
    moot *m = NULL;
    (void)rank, (void)fd;
    HOLDS(setenv("MOOT_TRANSPORT", "tcp", 1) == 0 &&
          setenv("MOOT_RINGS", "off", 1) == 0);
    HOLDS(moot_open(NULL, &m) == MOOT_OK);
    HOLDS(moot_close(m) == MOOT_OK);
    return 0;
}

/* A gathering takes a message from each rank to its hub, from there to the one above,
 * and back.  So that is what an opening waits for, however many ranks there are. */
static void a_moot_opens_by_as_many_gatherings_whatever_its_size(void **unused)
{
    enum { GATHERINGS = 4 }; /* of cards, and for what ranks of a host share */
    static const uint32_t sizes[] = {2, 7, 24};
    (void)unused;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct job job;
        const time_t until = time(NULL) + PATIENCE_S;
        job_make(&job, sizes[i]);
        for (uint32_t rank = 0; rank < sizes[i]; rank++) {
            const int fd = rank_start(&job, rank, run_opening);
            assert_true(channel_hub_add(hub_of(&job, rank), rank, fd, "", ""));
        }
        while (job_reap(&job, false) > 0) {
            job_poll(&job, 5);
            assert_true(time(NULL) < until);
        }
        assert_int_equal(job.hub->gatherings, GATHERINGS);
        for (uint32_t at = 0; at < job.branch_count; at++) {
            assert_int_equal(job.branches[at]->gatherings, GATHERINGS);
        }
        job_free(&job);
        assert_all_well(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_is_lost_fails_what_waits_for_its_ranks),
        cmocka_unit_test(what_no_branch_may_say_loses_its_host),
        cmocka_unit_test(a_branch_that_comes_twice_is_cut_off),
        cmocka_unit_test(what_was_too_much_is_not_for_good),
        cmocka_unit_test(a_moot_opens_by_as_many_gatherings_whatever_its_size),
    };
    branch_ranks = 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
