/* channel_test.c - the channel between ranks and their launcher
 * (node/channel/channel.h): what is gathered comes whole and in order, ranks that end,
 * break the rules or do not read keep nobody, and what is not the rank's own to use is
 * refused.
 *
 * All is done twice: with one hub, and with branches of two ranks below it.
 */
#include "tests/unit/channel_job.h"

/* --- Well ------------------------------------------------------------------------- */

static int run_introduction(uint32_t rank, int fd)
{
    char story[256] = "none";
    struct channel_card *all = NULL;
    struct channel *channel = channel_mine();
    HOLDS(channel && channel_of_process(story, sizeof(story)) == channel && !*story);
    HOLDS(channel_rank(channel) == rank && channel_size(channel) == 4);
    HOLDS(strcmp(channel_host(channel), "10.0.0.1") == 0);
    HOLDS(strcmp(channel_host_name(channel), "alpha") == 0);
    HOLDS(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    HOLDS(channel_gather(channel, channel_key(channel), CHANNEL_KEY_BYTES, &all, story,
                         sizeof(story)) == MOOT_OK);
    for (uint32_t other = 0; other < 4; other++) {
        HOLDS(all[other].size == CHANNEL_KEY_BYTES &&
              memcmp(all[other].bytes, channel_key(channel), CHANNEL_KEY_BYTES) == 0);
    }
    free(all);
    HOLDS(channel_next_death(channel, &(uint32_t){0}) == UINT32_MAX);
    return 0;
}

static void each_rank_is_told_who_it_is_and_the_key(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 4, run_introduction);
    job_serve(&job, false);
    assert_all_well(&job);
}

/* A card says whose it is, of which gathering, in each of its bytes; lengths differ. */
static size_t card_length(uint32_t rank, uint32_t round)
{
    return (rank * 7 + round * 13) % 64;
}

static int run_many(uint32_t rank, int fd)
{
    char story[256];
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel);
    for (uint32_t round = 0; round < 200; round++) {
        unsigned char card[64];
        struct channel_card *all = NULL;
        memset(card, (int)(rank ^ round), sizeof(card));
        HOLDS(channel_gather(channel, card, card_length(rank, round), &all, story,
                             sizeof(story)) == MOOT_OK);
        for (uint32_t other = 0; other < channel_size(channel); other++) {
            const unsigned char *bytes = all[other].bytes;
            HOLDS(all[other].size == card_length(other, round));
            for (size_t i = 0; i < all[other].size; i++) {
                HOLDS(bytes[i] == (unsigned char)(other ^ round));
            }
        }
        free(all);
    }
    return 0;
}

static void gatherings_in_a_row_keep_their_cards_apart(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 24, run_many);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_large(uint32_t rank, int fd)
{
    char story[256];
    struct channel_card *all = NULL;
    struct channel *channel = channel_mine();
    unsigned char *card = malloc(CHANNEL_CARD_MAX + 1);
    (void)fd;
    HOLDS(channel && card);
    memset(card, (int)rank + 1, CHANNEL_CARD_MAX);
    HOLDS(channel_gather(channel, card, CHANNEL_CARD_MAX + 1, &all, story,
                         sizeof(story)) == MOOT_ERR_LIMIT);
    HOLDS(!all && strstr(story, "1 MiB"));
    HOLDS(channel_gather(channel, card, CHANNEL_CARD_MAX, &all, story, sizeof(story)) ==
          MOOT_OK);
    for (uint32_t other = 0; other < channel_size(channel); other++) {
        const unsigned char *bytes = all[other].bytes;
        HOLDS(all[other].size == CHANNEL_CARD_MAX && bytes[0] == other + 1 &&
              memcmp(bytes, bytes + 1, CHANNEL_CARD_MAX - 1) == 0);
    }
    free(all);
    free(card);
    return 0;
}

static void large_cards_come_whole_and_larger_ones_are_refused(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 6, run_large);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* --- Deaths ----------------------------------------------------------------------- */

static uint32_t told; /* to this process, of deaths */

static uint32_t death_wait(struct channel *channel)
{
    uint32_t rank = UINT32_MAX;
    for (int i = 0; rank == UINT32_MAX && i < 5000; i++) {
        rank = channel_next_death(channel, &told);
        sleep_ms(1);
    }
    return rank;
}

static int run_early_death(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    HOLDS(channel);
    if (rank == 2) {
        sleep_ms(100);
        return 7;
    }
    sleep_ms(rank == 3 ? 300 : 0); /* it comes when that has failed */
    HOLDS(gather_fails(channel, "rank 2 has "));
    HOLDS(gather_fails(channel, "rank 2 has "));
    HOLDS(death_wait(channel) == 2);
    return 0;
}

static void a_death_before_the_card_fails_the_gathering_in_all_others(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 5, run_early_death);
    job_serve(&job, true);
    for (uint32_t rank = 0; rank < job.size; rank++) {
        assert_status(&job, rank, rank == 2 ? 7 : 0);
    }
}

static int run_late_death(uint32_t rank, int fd)
{
    char story[256];
    struct channel_card *all = NULL;
    struct channel *channel = channel_mine();
    HOLDS(channel);
    if (rank == 1) {
        sleep_ms(300);
        const struct {
            struct channel_header header;
            char card[4];
        } message = {channel_header_make(CHANNEL_HAND_IN, 4), {'l', 'a', 's', 't'}};
        HOLDS(write(fd, &message, 36) == 36);
        return 7;
    }
    sleep_ms(200);
    HOLDS(channel_gather(channel, "card", 4, &all, story, sizeof(story)) == MOOT_OK);
    HOLDS(all[1].size == 4 && memcmp(all[1].bytes, "last", 4) == 0);
    HOLDS(all[2].size == 4 && memcmp(all[2].bytes, "card", 4) == 0);
    free(all);
    HOLDS(death_wait(channel) == 1);
    HOLDS(gather_fails(channel, "rank 1 has ended"));
    return 0;
}

static void a_card_counts_though_its_rank_has_died_since(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_late_death);
    for (int i = 0; i < 5; i++) { /* so that all have their welcome, but no more */
        job_poll(&job, 20);
    }
    assert_int_equal(waitpid(job.pids[1], &job.statuses[1], 0), job.pids[1]);
    job.pids[1] = 0;
    channel_hub_dead(hub_of(&job, 1), 1);
    job_serve(&job, true);
    assert_status(&job, 0, 0);
    assert_status(&job, 1, 7);
    assert_status(&job, 2, 0);
}

static int run_told_of_one(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && gather_fails(channel, "rank 2 has ended"));
    return 0;
}

static void a_rank_that_was_never_started_can_be_told_dead(void **unused)
{
    struct job job;
    (void)unused;
    job_make(&job, 3);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const int fd = rank_start(&job, rank, run_told_of_one);
        assert_true(channel_hub_add(hub_of(&job, rank), rank, fd, "", ""));
    }
    channel_hub_dead(hub_of(&job, 2), 2);
    channel_hub_dead(hub_of(&job, 2), 2);
    job_serve(&job, false);
    assert_status(&job, 0, 0);
    assert_status(&job, 1, 0);
}

static int run_without_launcher(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && gather_fails(channel, "launcher has gone"));
    HOLDS(gather_fails(channel, "launcher has gone"));
    HOLDS(channel_next_death(channel, &(uint32_t){0}) == UINT32_MAX);
    return 0;
}

static void a_launcher_that_goes_fails_what_waits_for_it(void **unused)
{
    struct job job;
    const time_t until = time(NULL) + PATIENCE_S;
    (void)unused;
    job_start(&job, 2, run_without_launcher);
    kill(job.pids[1], SIGSTOP); /* or the gathering could end well */
    for (int i = 0; i < 10; i++) {
        job_poll(&job, 20);
    }
    job_free(&job);
    kill(job.pids[1], SIGCONT);
    job.hub = NULL;
    while (job_reap(&job, false) > 0 && time(NULL) < until) {
        sleep_ms(5);
    }
    assert_all_well(&job);
}

/* --- Rules ------------------------------------------------------------------------ */

static struct channel_header hand_in(uint64_t size)
{
    return channel_header_make(CHANNEL_HAND_IN, size);
}

/* Breaks the rules in the way of that number; false: there is none. */
static bool rules_break(int fd, int way)
{
    struct channel_header message = hand_in(0);
    switch (way) {
    case 0:
        memset(&message, 'x', sizeof(message));
        break;
    case 1:
        message.size = CHANNEL_CARD_MAX + 1;
        break;
    case 2:
        message.size = UINT64_C(1) << 60;
        break;
    case 3:
        message.kind = CHANNEL_WELCOME;
        break;
    case 4:
        message.version++;
        break;
    case 5:
        message.count = 1;
        break;
    default:
        return false;
    }
    return write(fd, &message, sizeof(message)) > 0;
}

static int broken_way;

static int run_broken(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    HOLDS(channel);
    if (rank == 1) {
        char byte;
        HOLDS(rules_break(fd, broken_way));
        HOLDS(recv(fd, &byte, 1, 0) <= 0); /* cut off */
        return 0;
    }
    HOLDS(gather_fails(channel, "rank 1 was cut off"));
    HOLDS(channel_next_death(channel, &(uint32_t){0}) == UINT32_MAX);
    return 0;
}

static void ranks_that_break_the_rules_are_cut_off(void **unused)
{
    (void)unused;
    for (broken_way = 0; broken_way < 6; broken_way++) {
        struct job job;
        job_start(&job, 3, run_broken);
        job_serve(&job, false);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_status(&job, rank, 0);
        }
    }
}

/* Rank 1 hands in another card before it has had the answer to its first, which counts:
 * also where a rank of another host comes before the last of its own. */
static int run_twice(uint32_t rank, int fd)
{
    struct channel *channel = channel_mine();
    struct channel_card *all = NULL;
    char story[256];
    HOLDS(channel);
    for (uint32_t round = 0; rank == 1 && round < 2; round++) {
        struct channel_header header = hand_in(0);
        header.count = round;
        HOLDS(send(fd, &header, sizeof(header), MSG_NOSIGNAL) == sizeof(header));
        sleep_ms(50);
    }
    if (rank == 1) {
        char byte;
        HOLDS(recv(fd, &byte, 1, 0) <= 0); /* cut off */
        return 0;
    }
    sleep_ms(rank == 2 ? 300 : 600);
    HOLDS(channel_gather(channel, "card", 4, &all, story, sizeof(story)) == MOOT_OK);
    HOLDS(all[1].size == 0 && all[0].size == 4);
    free(all);
    HOLDS(gather_fails(channel, "rank 1 was cut off"));
    return 0;
}

static void a_rank_that_comes_twice_is_cut_off_and_its_first_card_counts(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 3, run_twice);
    job_serve(&job, false);
    assert_all_well(&job);
}

/* Rank 1 has come when it ends, rank 2 has not. */
static int run_came_and_went(uint32_t rank, int fd)
{
    const struct channel_header header = hand_in(0);
    struct channel *channel = channel_mine();
    HOLDS(channel);
    if (rank == 1) {
        HOLDS(write(fd, &header, sizeof(header)) == sizeof(header));
        return 0;
    }
    sleep_ms(rank == 2 ? 300 : 100);
    HOLDS(rank == 2 || gather_fails(channel, "rank 2 has"));
    return 0;
}

static void who_went_after_it_had_come_is_not_missed(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 4, run_came_and_went);
    job_serve(&job, true);
    assert_all_well(&job);
}

/* Rank 1 hands in and hands in, and reads nothing; the others go on with it until that
 * is too much. */
static int run_deaf(uint32_t rank, int fd)
{
    static unsigned char card[1 << 18];
    struct channel *channel = channel_mine();
    struct channel_card *all = NULL;
    char story[256];
    HOLDS(channel);
    for (uint32_t round = 0; rank == 1 && round < 3; round++) {
        struct channel_header header = hand_in(0);
        header.count = round;
        const ssize_t sent = send(fd, &header, sizeof(header), MSG_NOSIGNAL);
        HOLDS(sent == sizeof(header) || round == 2);
        sleep_ms(200);
    }
    if (rank == 1) {
        return 0;
    }
    HOLDS(channel_gather(channel, card, sizeof(card), &all, story, sizeof(story)) ==
          MOOT_OK);
    free(all);
    HOLDS(gather_fails(channel, "rank 1 was cut off"));
    return 0;
}

static void a_rank_that_does_not_read_keeps_nobody(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 4, run_deaf);
    job_serve(&job, false);
    assert_all_well(&job);
}

/* Deaths that wait behind an answer must not make the next card look as if it came
 * before that answer: there are more than the socket has room for. */
enum { MANY = 2000 };

static int run_answered_late(uint32_t rank, int fd)
{
    uint32_t deaths = 0;
    struct channel *channel = channel_mine();
    (void)fd;
    (void)rank;
    HOLDS(channel && channel_size(channel) == MANY);
    for (int i = 0; i < 3; i++) {
        HOLDS(gather_fails(channel, "rank 1 has ended"));
    }
    while (deaths + 1 < MANY && death_wait(channel) == deaths + 1) {
        deaths++;
    }
    HOLDS(deaths + 1 == MANY);
    return 0;
}

static void deaths_behind_an_answer_break_no_rule(void **unused)
{
    struct job job = {.size = 1, .hub = channel_hub_new(MANY, MANY)};
    (void)unused;
    assert_true(
        channel_hub_add(job.hub, 0, rank_start(&job, 0, run_answered_late), "", ""));
    for (int i = 0; i < 10; i++) {
        job_poll(&job, 20);
    }
    for (uint32_t rank = 1; rank < MANY; rank++) {
        channel_hub_dead(job.hub, rank);
    }
    job_serve(&job, false);
    assert_all_well(&job);
}

/* --- Not its own ------------------------------------------------------------------ */

static int run_forked(uint32_t rank, int fd)
{
    char story[256];
    int status = 0;
    struct channel *channel = channel_mine();
    HOLDS(channel);
    (void)fd;
    const pid_t child = fork();
    if (child == 0) {
        HOLDS(channel_of_process(story, sizeof(story)) == NULL &&
              strstr(story, "forked"));
        HOLDS(gather_fails(channel, "forked"));
        HOLDS(channel_next_death(channel, &(uint32_t){0}) == UINT32_MAX);
        _exit(0);
    }
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    return run_many(rank, fd);
}

static void a_forked_child_does_not_use_its_parents_channel(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 2, run_forked);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_other_file(uint32_t rank, int fd)
{
    char story[256] = "";
    int ends[2];
    (void)rank;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && dup2(ends[0], fd) == fd);
    HOLDS(channel_of_process(story, sizeof(story)) == NULL &&
          strstr(story, "another process has it"));
    unsetenv(CHANNEL_VARIABLE);
    return 0;
}

static int run_none(uint32_t rank, int fd)
{
    char story[256] = "none";
    (void)rank;
    (void)fd;
    unsetenv(CHANNEL_VARIABLE);
    HOLDS(channel_of_process(story, sizeof(story)) == NULL && !*story);
    return 0;
}

static void what_is_not_the_channel_is_not_taken_for_it(void **unused)
{
    struct job job;
    (void)unused;
    job_start(&job, 2, run_other_file);
    job_serve(&job, true);
    assert_all_well(&job);
    job_start(&job, 2, run_none);
    job_serve(&job, true);
    assert_all_well(&job);
}

static int run_other_release(uint32_t rank, int fd)
{
    char story[256] = "";
    (void)rank;
    (void)fd;
    HOLDS(channel_of_process(story, sizeof(story)) == NULL &&
          strstr(story, "of another release"));
    return 0;
}

static void a_launcher_of_another_release_is_named(void **unused)
{
    struct job job = {.size = 1};
    (void)unused;
    struct channel_header welcome = channel_header_make(CHANNEL_WELCOME, 32);
    welcome.version = CHANNEL_VERSION + 1;
    welcome.count = 1;
    const int fd = rank_start(&job, 0, run_other_release);
    assert_int_equal(write(fd, &welcome, sizeof(welcome)), sizeof(welcome));
    assert_int_equal(waitpid(job.pids[0], &job.statuses[0], 0), job.pids[0]);
    assert_all_well(&job);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_is_told_who_it_is_and_the_key),
        cmocka_unit_test(gatherings_in_a_row_keep_their_cards_apart),
        cmocka_unit_test(large_cards_come_whole_and_larger_ones_are_refused),
        cmocka_unit_test(a_death_before_the_card_fails_the_gathering_in_all_others),
        cmocka_unit_test(a_card_counts_though_its_rank_has_died_since),
        cmocka_unit_test(a_rank_that_was_never_started_can_be_told_dead),
        cmocka_unit_test(a_launcher_that_goes_fails_what_waits_for_it),
        cmocka_unit_test(ranks_that_break_the_rules_are_cut_off),
        cmocka_unit_test(a_rank_that_comes_twice_is_cut_off_and_its_first_card_counts),
        cmocka_unit_test(who_went_after_it_had_come_is_not_missed),
        cmocka_unit_test(a_rank_that_does_not_read_keeps_nobody),
        cmocka_unit_test(deaths_behind_an_answer_break_no_rule),
        cmocka_unit_test(a_forked_child_does_not_use_its_parents_channel),
        cmocka_unit_test(what_is_not_the_channel_is_not_taken_for_it),
        cmocka_unit_test(a_launcher_of_another_release_is_named),
    };
    const int flat = cmocka_run_group_tests_name("one hub", tests, NULL, NULL);
    branch_ranks = 2;
    return flat + cmocka_run_group_tests_name("branches", tests, NULL, NULL);
}
