/* refusal_test.c - a core refuses from its host what cannot be. */
#include "proto/limits.h"
#include "tests/unit/bench.h"

/* Each event names something that is not there, or comes at the wrong time. */
static void an_event_that_cannot_be_is_refused(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    const moot_hash hash = chaired_by(1, 0, 0);
    struct core_event rows[] = {
        {.type = CORE_EV_DEAD, .u.dead.rank = 0},
        {.type = CORE_EV_DEAD, .u.dead.rank = 2},
        {.type = CORE_EV_CRASH, .hash = hash, .u.crash.rank = 0},
        {.type = CORE_EV_CRASH, .hash = hash, .u.crash.rank = 2},
        {.type = CORE_EV_NEED, .hash = hash, .u.need.want = WANT_NOTHING},
        {.type = CORE_EV_NEED, .hash = hash, .u.need.want = WANT_DATA + 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(step(0, &rows[i]), MOOT_ERR_INVALID);
        assert_int_equal(core_stats(bench.core[0])->tasks, 0); /* and leaves nothing */
    }
    struct core_event done = {.type = CORE_EV_DONE, .hash = hash};
    assert_int_equal(step(0, &done), MOOT_ERR_STATE);
    bench_close();
}

static void a_core_refuses_options_out_of_range(void **state)
{
    (void)state;
    const uint64_t uids[] = {7, 8};
    const struct core_options good = {.size = 2,
                                      .uids = uids,
                                      .epoch = 1,
                                      .voters = 1,
                                      .entry_bytes = CORE_ENTRY_BYTES};
    struct core_options rows[11];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rows[i] = good;
    }
    rows[0].size = 0;
    rows[1].size = LIMIT_RANKS + 1;
    rows[2].rank = 2;
    rows[3].uids = NULL;
    rows[4].epoch = 0;
    rows[5].voters = 0;
    rows[6].voters = LIMIT_VOTERS + 1;
    rows[7].mode = CORE_TRUST + 1;
    rows[8].join_uid = 9; /* into a moot that lets nobody in */
    rows[9].entry_bytes = CORE_ENTRY_BYTES - 1;
    rows[10].entry_bytes = CORE_ENTRY_BYTES_MAX + 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_null(core_new(&rows[i]));
    }
    struct core *core = core_new(&good);
    assert_non_null(core);
    core_free(core);
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_cannot_be_is_refused),
        cmocka_unit_test(a_core_refuses_options_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
