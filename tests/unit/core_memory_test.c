/* core_memory_test.c - a core that finds no memory within a step says so, and no more.
 *
 * Whatever allocation fails: the step, and all behind it, return MOOT_ERR_NO_MEMORY,
 * and the core can be freed.  But where memory was put aside, one failure is survived,
 * and the rank takes on nothing that it may refuse until as much is put aside anew.
 */
#include "tests/unit/bench.h"
#include "tests/unit/failing_alloc.h"

/* The n-th allocation of the step fails, and perhaps all behind it; 0: none. */
static int step_short(uint32_t rank, const struct core_event *event, long fail_at,
                      bool *enough)
{
    struct core_outputs out;
    alloc_watch(fail_at);
    int error = core_step(bench.core[rank], event, bench.now, &out);
    *enough = fail_at == 0 || alloc_count.made < fail_at;
    alloc_watch(0);
    return error;
}

static void expect_broken(uint32_t rank)
{
    const struct core_event tick = {.type = CORE_EV_TICK};
    bool enough;
    assert_int_equal(step_short(rank, &tick, 0, &enough), MOOT_ERR_NO_MEMORY);
}

/* Tasks that only rank 1 runs: stubs on rank 0. */
static void spawn_stubs(int count)
{
    for (int i = 0, made = 0; made < count; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[15] = 0;
        const int number = 1;
        const struct core_register reg = {.site = "test.c:1",
                                          .host_size = sizeof(number)};
        void *stub = core_prune(bench.core[0], &hash, &reg);
        if (stub == NULL) {
            continue; /* rank 0 is its chair */
        }
        memcpy(core_stub_host(stub), &number, sizeof(number));
        struct core_event event = {.type = CORE_EV_PRUNED};
        event.u.pruned.stubs = &stub;
        event.u.pruned.count = 1;
        bool enough;
        assert_int_equal(step_short(0, &event, 0, &enough), MOOT_OK);
        made++;
    }
}

/* Rank 1 is certified dead, and rank 0 goes on alone; true: there was enough. */
static bool enter_view_short(long fail_at)
{
    bench_open(2, CORE_REPAIR);
    spawn_stubs(1000);
    certify_at(0, 1);
    const struct core_event tick = {.type = CORE_EV_TICK};
    uint64_t epoch = 1, id;
    int error = MOOT_OK;
    bool enough = true;
    for (int i = 0; i < 100 && epoch == 1 && error == MOOT_OK && enough; i++) {
        bench.now += MS;
        error = step_short(0, &tick, fail_at, &enough);
        core_view(bench.core[0], &epoch, &id);
    }
    assert_true(error == MOOT_OK || error == MOOT_ERR_NO_MEMORY);
    if (error == MOOT_OK) {
        assert_int_equal(epoch, 2);
        assert_true(enough);
    } else {
        expect_broken(0);
    }
    bench_close();
    return error == MOOT_OK;
}

static void entering_a_view_short_of_memory_breaks(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        long fail_at = 1;
        alloc_count.alone = alone != 0;
        while (!enter_view_short(fail_at)) {
            fail_at++;
        }
        assert_true(fail_at > 10);
    }
}

/* Rank 0 has made so many results, and goes. */
static void make_and_leave(int count)
{
    struct rankset members = {.low = 3};
    for (int i = 0, made = 0; made < count; i++) {
        moot_hash hash = digest_bytes(&i, sizeof(i));
        hash.bytes[15] = 0;
        if (placement_chair(&hash, &members, NULL) == 0) {
            spawn(0, 1, hash);
            made++;
        }
    }
    const struct core_event leave = {.type = CORE_EV_LEAVE};
    bool enough;
    assert_int_equal(step_short(0, &leave, 0, &enough), MOOT_OK);
}

static void handing_over_short_of_memory_breaks(void **state)
{
    (void)state;
    const struct core_event tick = {.type = CORE_EV_TICK};
    bool enough = false;
    alloc_count.alone = true;
    for (long fail_at = 1; !enough; fail_at++) {
        bench_open(2, CORE_REPAIR);
        make_and_leave(1000);
        int error = step_short(0, &tick, fail_at, &enough);
        assert_int_equal(error, enough ? MOOT_OK : MOOT_ERR_NO_MEMORY);
        assert_true(!enough || core_stats(bench.core[0])->handed_over == 1000);
        bench_close();
    }
}

static bool would_adopt(const moot_hash *hash)
{
    const struct message_spec spec = {.kernel_name = "k"};
    struct message motion = {.type = MESSAGE_MOTION, .hash = *hash};
    core_view(bench.core[0], &motion.epoch, &motion.view_id);
    motion.u.motion.spec = &spec;
    return core_would_adopt(bench.core[0], 1, bench.uids[1], &motion);
}

static void spawn_short(const moot_hash *hash, long fail_at, int expected)
{
    const struct core_register reg = {.site = "test.c:1"};
    struct core_event event = {.type = CORE_EV_REGISTER, .hash = *hash, .u.reg = &reg};
    bool enough;
    event.entry = core_enter(bench.core[0], hash);
    assert_int_equal(step_short(0, &event, fail_at, &enough), expected);
}

static void what_was_put_aside_is_used_once(void **state)
{
    (void)state;
    const struct core_event tick = {.type = CORE_EV_TICK};
    moot_hash hash;
    bool enough;
    int number = 0;
    bench.spare_bytes = 64 << 10;
    bench_open(2, CORE_REPAIR);
    const moot_hash adoptable = chaired_by(0, 0, 0);
    alloc_count.alone = true;
    assert_true(core_takes_any(bench.core[0], 0) && would_adopt(&adoptable));
    while (!core_is_short(bench.core[0])) {
        hash = digest_bytes(&number, sizeof(number));
        hash.bytes[15] = 0;
        number++;
        spawn_short(&hash, 1, MOOT_OK);
    }
    assert_false(core_takes_any(bench.core[0], 0));
    assert_false(would_adopt(&adoptable));
    assert_int_equal(step_short(0, &tick, 1, &enough), MOOT_OK);
    assert_true(core_is_short(bench.core[0]));
    assert_int_equal(step_short(0, &tick, 0, &enough), MOOT_OK);
    assert_false(core_is_short(bench.core[0]));
    assert_true(core_takes_any(bench.core[0], 0) && would_adopt(&adoptable));
    alloc_count.alone = false; /* then nothing is left, and the spare is given back */
    int error = MOOT_OK;
    while (error == MOOT_OK) {
        hash = digest_bytes(&number, sizeof(number));
        hash.bytes[15] = 0;
        number++;
        const struct core_register reg = {.site = "test.c:1"};
        struct core_event event = {
            .type = CORE_EV_REGISTER, .hash = hash, .u.reg = &reg};
        error = step_short(0, &event, 1, &enough);
    }
    assert_int_equal(error, MOOT_ERR_NO_MEMORY);
    expect_broken(0);
    bench_close();
    bench.spare_bytes = 0;
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entering_a_view_short_of_memory_breaks),
        cmocka_unit_test(handing_over_short_of_memory_breaks),
        cmocka_unit_test(what_was_put_aside_is_used_once),
    };
    return cmocka_run_group_tests_name("core memory", tests, NULL, NULL);
}
