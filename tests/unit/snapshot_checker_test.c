/* snapshot_checker_test.c - the snapshot checker sees every history that breaks one of
 * its rules, and passes the one beside it that does not.
 *
 * Histories are told by hand.  Rank 0 makes n, which varies; rank 1 makes t from n;
 * rank 2 makes u from t, and keeps c, a child that it awaits and that varies.
 */
#include "consensus/sim/checks/snapshot_checker.h"
#include "consensus/sim/engine/sim_internal.h"
#include "consensus/sim/programs/ranks.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, ALL = 7 };
enum { TASK_N, TASK_T, TASK_U, TASK_P, TASK_C };

struct told {
    struct program *program;
    struct sim sim;
    struct sim_report report;
    struct storm storm;
    struct snapshot_checker *checker;
};

static int begin(void **state)
{
    struct told *told = calloc(1, sizeof(*told));
    told->program = program_blank(1, RANKS, 1);
    struct program *program = told->program;
    program_add_task(program, "n", PROGRAM_NONE);
    program_add_task(program, "t", PROGRAM_NONE);
    program_add_task(program, "u", PROGRAM_NONE);
    program_add_task(program, "p", PROGRAM_NONE);
    program_add_task(program, "c", TASK_P);
    program_list_add(&program->tasks[TASK_T].inputs, TASK_N);
    program_list_add(&program->tasks[TASK_U].inputs, TASK_T);
    program->tasks[TASK_N].varies = true;
    program->tasks[TASK_C].varies = program->tasks[TASK_C].awaited = true;
    told->storm = (struct storm){.first = RANKS};
    told->sim = (struct sim){.program = program, .report = &told->report};
    told->checker = snapshot_checker_new(program, &told->storm);
    *state = told;
    return 0;
}

static int end(void **state)
{
    struct told *told = *state;
    snapshot_checker_free(told->checker);
    program_free(told->program);
    free(told);
    return 0;
}

static void show(struct told *told, const struct sight *sight)
{
    struct sim_watcher watcher = snapshot_checker_watcher(told->checker);
    watcher.see(watcher.context, &told->sim, sight);
}

static moot_hash id_of(unsigned char number) { return (moot_hash){{number}}; }

static void store(struct told *told, uint32_t rank, uint32_t task)
{
    show(told, &(struct sight){.type = SIGHT_STORE, .rank = rank, .task = task});
}

static void lose(struct told *told, uint32_t rank, uint32_t task)
{
    show(told,
         &(struct sight){
             .type = SIGHT_STORE, .rank = rank, .task = task, .code = MOOT_ERR_FILE});
}

static void cut(struct told *told, uint32_t rank, unsigned char number)
{
    const moot_hash id = id_of(number);
    show(told, &(struct sight){.type = SIGHT_CUT, .rank = rank, .id = &id});
}

static struct core_part part_of(uint32_t rank, unsigned char number)
{
    return (struct core_part){.rank = rank, .records = 1, .digest = {number}};
}

static void prepare(struct told *told, uint32_t rank, unsigned char number)
{
    const moot_hash id = id_of(number);
    const struct core_part part = part_of(rank, number);
    show(told, &(struct sight){.type = SIGHT_PART,
                               .rank = rank,
                               .id = &id,
                               .parts = &part,
                               .part_count = 1});
}

/* All members of that view, a set, make their cut and have their parts. */
static void prepare_all(struct told *told, uint32_t members, unsigned char number)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (members >> rank & 1) {
            cut(told, rank, number);
            prepare(told, rank, number);
        }
    }
}

/* The parts of these ranks, a set, made one by the lowest. */
static void commit(struct told *told, uint64_t epoch, uint32_t named,
                   unsigned char number)
{
    const moot_hash id = id_of(number);
    struct core_part parts[RANKS] = {{0}};
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (named >> rank & 1) {
            parts[count++] = part_of(rank, number);
        }
    }
    show(told, &(struct sight){.type = SIGHT_COMMIT,
                               .rank = parts[0].rank,
                               .epoch = epoch,
                               .id = &id,
                               .parts = parts,
                               .part_count = count});
}

static void tell(struct told *told, uint32_t rank, unsigned char number, int32_t code)
{
    const moot_hash id = id_of(number);
    show(told, &(struct sight){
                   .type = SIGHT_SNAPSHOT, .rank = rank, .id = &id, .code = code});
}

static void enter(struct told *told, uint64_t epoch, uint64_t members)
{
    const struct rankset set = {.low = members};
    show(told, &(struct sight){.type = SIGHT_VIEW, .epoch = epoch, .members = &set});
}

static void expect_good(struct told *told) { assert_false(told->report.failed); }

static void expect(struct told *told, const char *check)
{
    assert_true(told->report.failed);
    assert_string_equal(told->report.check, check);
}

/* --- Whole ------------------------------------------------------------------------ */

static void a_whole_snapshot_is_good(void **state)
{
    struct told *told = *state;
    store(told, 0, TASK_N);
    store(told, 1, TASK_T);
    prepare_all(told, ALL, 1);
    commit(told, 1, ALL, 1);
    tell(told, 2, 1, MOOT_OK);
    expect_good(told);
}

static void a_commit_names_every_member(void **state)
{
    struct told *told = *state;
    prepare_all(told, ALL, 1);
    commit(told, 1, 3, 1);
    expect(told, "whole");
}

static void a_part_is_durable_before_the_commit(void **state)
{
    struct told *told = *state;
    prepare_all(told, 3, 1);
    cut(told, 2, 1);
    commit(told, 1, ALL, 1);
    expect(told, "whole");
}

static void a_commit_names_the_part_that_is_there(void **state)
{
    struct told *told = *state;
    const moot_hash id = id_of(1);
    struct core_part parts[RANKS] = {part_of(0, 1), part_of(1, 1), part_of(2, 9)};
    prepare_all(told, ALL, 1);
    show(told, &(struct sight){.type = SIGHT_COMMIT,
                               .epoch = 1,
                               .id = &id,
                               .parts = parts,
                               .part_count = RANKS});
    expect(told, "whole");
}

static void a_part_is_of_a_cut(void **state)
{
    struct told *told = *state;
    prepare(told, 1, 1);
    expect(told, "contract");
}

static void nobody_is_told_before_the_commit(void **state)
{
    struct told *told = *state;
    prepare_all(told, ALL, 1);
    tell(told, 2, 1, MOOT_OK);
    expect(told, "whole");
}

static void nobody_is_told_of_another_commit(void **state)
{
    struct told *told = *state;
    prepare_all(told, ALL, 1);
    commit(told, 1, ALL, 1);
    tell(told, 2, 2, MOOT_OK);
    expect(told, "whole");
}

static void a_failure_needs_no_commit(void **state)
{
    struct told *told = *state;
    tell(told, 2, 1, MOOT_ERR_FILE);
    expect_good(told);
}

/* --- Cut -------------------------------------------------------------------------- */

static void what_was_made_from_what_varies_has_that(void **state)
{
    struct told *told = *state;
    cut(told, 0, 1);
    prepare(told, 0, 1);
    store(told, 0, TASK_N);
    store(told, 1, TASK_T);
    prepare_all(told, 6, 1);
    commit(told, 1, ALL, 1);
    expect(told, "cut");
}

static void so_has_what_was_made_from_that(void **state)
{
    struct told *told = *state;
    prepare_all(told, 3, 1);
    store(told, 0, TASK_N);
    store(told, 1, TASK_T);
    store(told, 2, TASK_U);
    prepare_all(told, 4, 1);
    commit(told, 1, ALL, 1);
    expect(told, "cut");
}

static void what_does_not_vary_may_lack(void **state)
{
    struct told *told = *state;
    store(told, 0, TASK_N);
    prepare_all(told, 3, 1);
    store(told, 1, TASK_T);
    store(told, 2, TASK_U);
    prepare_all(told, 4, 1);
    commit(told, 1, ALL, 1);
    expect_good(told);
}

static void so_has_a_kernel_what_its_children_made(void **state)
{
    struct told *told = *state;
    prepare_all(told, 3, 1);
    store(told, 0, TASK_C);
    store(told, 2, TASK_P);
    prepare_all(told, 4, 1);
    commit(told, 1, ALL, 1);
    expect(told, "cut");
}

/* Rank 0 has died, and its disk is as it is. */
static void what_the_dead_have_stored_is_in(void **state)
{
    struct told *told = *state;
    cut(told, 0, 1);
    store(told, 0, TASK_N);
    enter(told, 2, 6);
    store(told, 1, TASK_T);
    prepare_all(told, 6, 2);
    commit(told, 2, 6, 2);
    tell(told, 2, 2, MOOT_OK);
    expect_good(told);
}

/* Rank 2 is of the next view alone: its u was made from t, and that from n, which rank
 * 0 stored after the cut. */
static void who_began_to_store_after_the_cut_is_not_in(void **state)
{
    struct told *told = *state;
    enter(told, 2, 3);
    prepare_all(told, 3, 1);
    store(told, 0, TASK_N);
    store(told, 2, TASK_U);
    commit(told, 2, 3, 1);
    expect_good(told);
}

static void who_began_before_it_is_in(void **state)
{
    struct told *told = *state;
    enter(told, 2, 3);
    store(told, 2, TASK_P);
    prepare_all(told, 3, 1);
    store(told, 0, TASK_N);
    store(told, 2, TASK_U);
    commit(told, 2, 3, 1);
    expect(told, "cut");
}

static void what_the_dead_have_not_stored_is_not_in(void **state)
{
    struct told *told = *state;
    enter(told, 2, 6);
    store(told, 1, TASK_T);
    prepare_all(told, 6, 2);
    commit(told, 2, 6, 2);
    expect(told, "cut");
}

static void what_a_disk_lost_is_lacked(void **state)
{
    struct told *told = *state;
    lose(told, 0, TASK_N);
    store(told, 1, TASK_T);
    prepare_all(told, ALL, 1);
    commit(told, 1, ALL, 1);
    expect_good(told);
}

static void what_a_disk_lost_is_not_in(void **state)
{
    struct told *told = *state;
    lose(told, 1, TASK_T);
    prepare_all(told, ALL, 1);
    commit(told, 1, ALL, 1);
    expect_good(told);
}

static void what_a_disk_lost_excuses_nothing_else(void **state)
{
    struct told *told = *state;
    lose(told, 1, TASK_T);
    store(told, 2, TASK_U);
    prepare_all(told, ALL, 1);
    commit(told, 1, ALL, 1);
    expect(told, "cut");
}

#define CHECKER_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKER_TEST(a_whole_snapshot_is_good),
        CHECKER_TEST(a_commit_names_every_member),
        CHECKER_TEST(a_part_is_durable_before_the_commit),
        CHECKER_TEST(a_commit_names_the_part_that_is_there),
        CHECKER_TEST(a_part_is_of_a_cut),
        CHECKER_TEST(nobody_is_told_before_the_commit),
        CHECKER_TEST(nobody_is_told_of_another_commit),
        CHECKER_TEST(a_failure_needs_no_commit),
        CHECKER_TEST(what_was_made_from_what_varies_has_that),
        CHECKER_TEST(so_has_what_was_made_from_that),
        CHECKER_TEST(what_does_not_vary_may_lack),
        CHECKER_TEST(so_has_a_kernel_what_its_children_made),
        CHECKER_TEST(what_the_dead_have_stored_is_in),
        CHECKER_TEST(who_began_to_store_after_the_cut_is_not_in),
        CHECKER_TEST(who_began_before_it_is_in),
        CHECKER_TEST(what_the_dead_have_not_stored_is_not_in),
        CHECKER_TEST(what_a_disk_lost_is_lacked),
        CHECKER_TEST(what_a_disk_lost_is_not_in),
        CHECKER_TEST(what_a_disk_lost_excuses_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
