/* program_test.c - random programs are what program.h says, for many seeds. */
#include "consensus/sim/programs/program.h"
#include "hashing/identity.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 300 };

static struct program *make(uint64_t seed, bool agree)
{
    struct program *program =
        program_new(&(struct program_options){.seed = seed,
                                              .ranks = 1 + (uint32_t)(seed % 8),
                                              .tasks = 10 + (uint32_t)(seed % 90),
                                              .agree = agree});
    assert_non_null(program);
    return program;
}

static void for_each_program(void (*check)(const struct program *program))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct program *program = make(seed, seed % 4 == 0);
        check(program);
        program_free(program);
    }
}

static bool list_has(const struct program_list *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == item) {
            return true;
        }
    }
    return false;
}

static bool holds(const struct program *program, uint32_t rank, uint32_t task)
{
    return rankset_has(&program->tasks[task].holders, rank);
}

/* --- The same everywhere ---------------------------------------------------------- */

static char *print(const struct program *program, size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    assert_non_null(to);
    program_print(program, to);
    for (uint32_t i = 0; i < program->task_count; i++) {
        size_t bytes;
        const uint8_t *result = program_result(program, i, &bytes);
        fprintf(to, "%zu", bytes);
        for (size_t k = 0; k < bytes; k++) {
            fprintf(to, " %02x", result[k]);
        }
    }
    fclose(to);
    return text;
}

static void a_seed_is_one_program(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        size_t sizes[3];
        struct program *programs[3] = {make(seed, false), make(seed, false),
                                       make(seed + 8 * 90, false)};
        char *texts[3];
        for (int i = 0; i < 3; i++) {
            texts[i] = print(programs[i], &sizes[i]);
        }
        assert_string_equal(texts[0], texts[1]);
        assert_string_not_equal(texts[0], texts[2]);
        for (int i = 0; i < 3; i++) {
            program_free(programs[i]);
            free(texts[i]);
        }
    }
}

/* Fixed on purpose: change the generator, and seeds in old reports mean nothing. */
static void seeds_keep_their_programs(void **state)
{
    (void)state;
    struct program *program =
        program_new(&(struct program_options){.seed = 17, .ranks = 4});
    size_t size;
    char *text = print(program, &size);
    moot_hash digest = digest_bytes(text, size);
    char hex[MOOT_HASH_TEXT_BYTES];
    assert_string_equal(hash_format(&digest, hex), "3b6527a8e2bae94c0c6d682b327af2fd");
    free(text);
    program_free(program);
}

/* --- Legal ------------------------------------------------------------------------ */

static void check_graph(const struct program *program)
{
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            assert_true(task->inputs.items[k] < i);
        }
        for (uint32_t k = 0; k < task->after.count; k++) {
            assert_true(task->after.items[k] < i);
        }
        if (task->parent == PROGRAM_NONE) {
            for (uint32_t k = 0; k < task->inputs.count; k++) {
                assert_int_equal(program->tasks[task->inputs.items[k]].parent,
                                 PROGRAM_NONE);
            }
            continue;
        }
        const struct program_task *parent = &program->tasks[task->parent];
        assert_true((uint32_t)task->parent < i && task->depth == parent->depth + 1);
        assert_true(task->depth <= PROGRAM_NEST_MAX && rankset_empty(&task->holders));
        assert_true(list_has(&parent->children, i) && !parent->fails);
        uint32_t top = (uint32_t)task->parent;
        while (program->tasks[top].parent != PROGRAM_NONE) {
            top = (uint32_t)program->tasks[top].parent;
        }
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            uint32_t input = task->inputs.items[k];
            assert_true(list_has(&parent->inputs, input) ||
                        list_has(&parent->children, input) ||
                        (input < top && program->tasks[input].parent == PROGRAM_NONE));
        }
    }
}

static void the_graph_has_no_circle(void **state)
{
    (void)state;
    for_each_program(check_graph);
}

static void check_holders(const struct program *program)
{
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        assert_true((task->holders.low & task->decliners.low) == 0);
        assert_true((task->holders.low >> (program->rank_count - 1)) <= 1);
        if (task->parent == PROGRAM_NONE && !program_ghost(program, i) &&
            task->candidates != 0) {
            assert_true((task->holders.low & task->candidates) != 0);
        }
    }
}

static void check_cancelled(const struct program *program)
{
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        assert_true((task->cancellers & ~task->holders.low) == 0);
        assert_true(task->cancellers == 0 || task->children.count == 0);
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            assert_true(program->tasks[task->inputs.items[k]].cancellers == 0);
        }
        for (uint32_t k = 0; k < task->after.count; k++) {
            assert_true(program->tasks[task->after.items[k]].cancellers == 0);
        }
    }
}

static void nothing_needs_what_may_be_cancelled(void **state)
{
    (void)state;
    for_each_program(check_cancelled);
}

static void some_candidate_holds_every_task(void **state)
{
    (void)state;
    for_each_program(check_holders);
}

/* What a rank has spawned so far, lane by lane. */
struct reader {
    const struct program *program;
    uint32_t rank, lane;
    bool *spawned;
};

/* Rule (W): everything of this lane up to the task is spawned. */
static void check_wait(const struct reader *reader, uint32_t task)
{
    const struct program *program = reader->program;
    bool ghostly = program->outcomes[task].ghostly;
    for (uint32_t i = 0; i < program->task_count; i++) {
        if (holds(program, reader->rank, i) && program->tasks[i].lane == reader->lane &&
            (i <= task || ghostly)) {
            assert_true(reader->spawned[i]);
        }
    }
}

static void check_spawn(const struct reader *reader, uint32_t index)
{
    const struct program_task *task = &reader->program->tasks[index];
    assert_true(holds(reader->program, reader->rank, index));
    assert_int_equal(task->lane, reader->lane);
    assert_false(reader->spawned[index]);
    for (uint32_t i = 0; i < task->inputs.count; i++) {
        uint32_t input = task->inputs.items[i];
        if (holds(reader->program, reader->rank, input) &&
            reader->program->tasks[input].lane == reader->lane) {
            assert_true(reader->spawned[input]);
        }
    }
    reader->spawned[index] = true;
}

static void check_step(const struct reader *reader, const struct program_step *step)
{
    if (step->op == PROGRAM_SPAWN) {
        check_spawn(reader, step->tasks.items[0]);
    } else if (step->op == PROGRAM_DECLINE) {
        assert_false(holds(reader->program, reader->rank, step->tasks.items[0]));
    } else if (step->op == PROGRAM_WAIT_ALL || step->op == PROGRAM_WAIT_ANY ||
               step->op == PROGRAM_FETCH) {
        assert_true(step->tasks.count > 0);
        for (uint32_t i = 0; i < step->tasks.count; i++) {
            check_wait(reader, step->tasks.items[i]);
        }
    }
}

static void check_scripts(const struct program *program)
{
    bool *spawned = calloc(program->task_count, sizeof(*spawned));
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        memset(spawned, 0, program->task_count * sizeof(*spawned));
        for (uint32_t lane = 0; lane < program->lane_count; lane++) {
            const struct reader reader = {program, rank, lane, spawned};
            const struct program_script *script = program_script(program, rank, lane);
            for (uint32_t i = 0; i < script->count; i++) {
                check_step(&reader, &script->steps[i]);
            }
        }
        for (uint32_t i = 0; i < program->task_count; i++) {
            assert_int_equal(spawned[i], holds(program, rank, i));
        }
    }
    free(spawned);
}

static void waits_come_after_what_they_need(void **state)
{
    (void)state;
    for_each_program(check_scripts);
}

/* --- Meetings --------------------------------------------------------------------- */

/* A lane has come to a meeting, or has ended. */
struct place {
    bool comes;
    uint32_t purpose;
    uint32_t spawned; /* everything of its own below that */
    int64_t awaited;  /* nothing above that, so far */
};

static bool waits_for(const struct program *program, const struct program_step *step,
                      uint32_t task)
{
    return (step->op == PROGRAM_WAIT_ALL || step->op == PROGRAM_WAIT_ANY ||
            step->op == PROGRAM_FETCH) &&
           !program->outcomes[task].ghostly;
}

static struct place find_place(const struct program *program, uint32_t rank,
                               uint32_t lane, uint32_t meeting)
{
    const struct program_script *script = program_script(program, rank, lane);
    struct place place = {.spawned = program->task_count, .awaited = -1};
    uint32_t at = 0, met = 0;
    for (; at < script->count && !place.comes; at++) {
        const struct program_step *step = &script->steps[at];
        for (uint32_t i = 0; i < step->tasks.count; i++) {
            uint32_t task = step->tasks.items[i];
            if (waits_for(program, step, task) && task > place.awaited) {
                place.awaited = task;
            }
        }
        place.comes = step->op == PROGRAM_MEET && met++ == meeting;
        place.purpose = step->purpose;
    }
    for (; at < script->count; at++) {
        const struct program_step *step = &script->steps[at];
        if (step->op == PROGRAM_SPAWN && step->tasks.items[0] < place.spawned) {
            place.spawned = step->tasks.items[0];
        }
    }
    return place;
}

struct tally {
    uint32_t programs, without, odd; /* that meet; some without a rank, or for another
                                        purpose */
};

/* Nobody waits, before a meeting, for what others may spawn behind it. */
static void check_meeting(const struct program *program, uint32_t meeting,
                          struct tally *tally)
{
    uint32_t spawned = program->task_count, came = 0, odd = 0;
    int64_t awaited = -1;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        struct place main = find_place(program, rank, 0, meeting);
        came += main.comes;
        odd += main.comes && main.purpose != 0;
        spawned = main.comes && main.spawned < spawned ? main.spawned : spawned;
        awaited = main.awaited > awaited ? main.awaited : awaited;
        for (uint32_t lane = 1; lane < program->lane_count && !main.comes; lane++) {
            struct place other = find_place(program, rank, lane, meeting);
            awaited = other.awaited > awaited ? other.awaited : awaited;
        }
        for (uint32_t lane = 1; lane < program->lane_count; lane++) {
            assert_false(find_place(program, rank, lane, 0).comes);
        }
    }
    assert_true(came == 0 || awaited < spawned);
    assert_true(!program->agree || (odd == 0 && came % program->rank_count == 0));
    tally->programs += meeting == 0 && came > 0;
    tally->without += came > 0 && came < program->rank_count;
    tally->odd += odd > 0;
}

/* Ends of sessions stand at the same places of all scripts that come so far. */
static void some_programs_have_sessions(void **state)
{
    (void)state;
    uint32_t with = 0, leave = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct program *program = program_new(&(struct program_options){
            .seed = seed,
            .ranks = 4,
            .tasks = 30,
            .features = PROGRAM_ALL | (uint32_t)PROGRAM_SESSIONS});
        uint32_t most = 0;
        for (uint32_t rank = 0; rank < 4; rank++) {
            const struct program_script *script = program_script(program, rank, 0);
            uint32_t ends = 0;
            for (uint32_t i = 0; i < script->count; i++) {
                ends += script->steps[i].op == PROGRAM_SESSION;
                leave += script->steps[i].leaves;
            }
            most = ends > most ? ends : most;
        }
        assert_true(most <= program->sessions);
        with += most > 0;
        program_free(program);
    }
    assert_in_range(with, SEEDS / 4, SEEDS / 2);
    assert_true(leave > 0);
}

static void some_programs_meet(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct program *program = make(seed, seed % 4 == 0);
        for (uint32_t meeting = 0; meeting < PROGRAM_MEETS_MAX; meeting++) {
            check_meeting(program, meeting, &tally);
        }
        program_free(program);
    }
    assert_in_range(tally.programs, SEEDS / 6, SEEDS / 3);
    assert_true(tally.without > 0 && tally.odd > 0);
}

/* --- Agreeing --------------------------------------------------------------------- */

static uint32_t next_spawn(const struct program_script *script, uint32_t at)
{
    while (at < script->count && script->steps[at].op != PROGRAM_SPAWN) {
        at++;
    }
    return at;
}

static void agreeing_ranks_spawn_alike(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct program *program = make(seed, true);
        assert_int_equal(program->features & ~(uint32_t)PROGRAM_AGREEING, 0);
        const struct program_script *first = program_script(program, 0, 0);
        for (uint32_t rank = 1; rank < program->rank_count; rank++) {
            const struct program_script *other = program_script(program, rank, 0);
            uint32_t a = next_spawn(first, 0), b = next_spawn(other, 0);
            while (a < first->count && b < other->count) {
                assert_int_equal(first->steps[a].tasks.items[0],
                                 other->steps[b].tasks.items[0]);
                a = next_spawn(first, a + 1);
                b = next_spawn(other, b + 1);
            }
            assert_true(a == first->count && b == other->count);
        }
        program_free(program);
    }
}

/* --- Kernels ---------------------------------------------------------------------- */

static void arguments_name_their_task(void **state)
{
    (void)state;
    struct program *program = make(5, false);
    uint8_t args[PROGRAM_ARGS_BYTES];
    for (uint32_t i = 0; i < program->task_count; i++) {
        program_args(program, i, args);
        assert_int_equal(program_args_task(program, args, sizeof(args)), i);
    }
    assert_int_equal(program_args_task(program, args, sizeof(args) - 1),
                     program->task_count);
    args[0] ^= 1;
    assert_int_equal(program_args_task(program, args, sizeof(args)),
                     program->task_count);
    program_free(program);
}

/* Every input counts, and so does the order of inputs. */
static void results_depend_on_every_input(void **state)
{
    (void)state;
    struct program *program = program_blank(1, 1, 1);
    uint32_t task = program_add_task(program, "a", PROGRAM_NONE);
    const struct program_bytes parts[][2] = {
        {{"x", 1}, {"y", 1}}, {{"y", 1}, {"x", 1}}, {{"xy", 2}, {"", 0}}};
    uint8_t results[4][8];
    for (int i = 0; i < 3; i++) {
        program_compute(program, task, parts[i], 2, results[i]);
    }
    program_compute(program, task, parts[0], 1, results[3]);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(results[i], results[k], 8);
        }
    }
    program_free(program);
}

static void failures_spread_to_dependents(void **state)
{
    (void)state;
    struct program *program = program_blank(1, 1, 1);
    uint32_t a = program_add_task(program, "a", PROGRAM_NONE);
    program->tasks[a].fails = true;
    uint32_t b = program_add_task(program, "b", PROGRAM_NONE);
    program_list_add(&program->tasks[b].after, a);
    uint32_t c = program_add_task(program, "c", PROGRAM_NONE);
    uint32_t ghost = program_add_task(program, "ghost", PROGRAM_NONE);
    uint32_t child = program_add_task(program, "b.child", (int32_t)b);
    for (uint32_t task = a; task <= c; task++) {
        program_add_step(program, 0, 0, PROGRAM_SPAWN, task);
    }
    program_finish(program);
    assert_true(program_runs(program, a) && program_fails(program, a));
    assert_true(!program_runs(program, b) && program_fails(program, b));
    assert_true(program_runs(program, c) && !program_fails(program, c));
    assert_true(program_ghost(program, ghost) && program_fails(program, ghost));
    assert_false(program_runs(program, child));
    program_free(program);
}

static void a_rank_count_out_of_range_is_refused(void **state)
{
    (void)state;
    assert_null(program_new(&(struct program_options){.seed = 1, .ranks = 0}));
    assert_null(program_new(
        &(struct program_options){.seed = 1, .ranks = PROGRAM_RANKS_MAX + 1}));
}

enum named { BY_WAIT, BY_POLL, BY_INPUT, BYS };
enum found { ONCE, IDEMPOTENT, CANCELLED, CANDIDATES, HINTED, PORTABLE, GHOST, FOUNDS };

static int named_by(enum program_op op)
{
    switch (op) {
    case PROGRAM_SPAWN:
    case PROGRAM_GROW:
        return BY_INPUT;
    case PROGRAM_POLL:
        return BY_POLL;
    case PROGRAM_WAIT_ALL:
    case PROGRAM_WAIT_ANY:
    case PROGRAM_FETCH:
        return BY_WAIT;
    case PROGRAM_DECLINE:
    case PROGRAM_COMPUTE:
    case PROGRAM_BARRIER:
    case PROGRAM_CANCEL:
    case PROGRAM_MEET:
    case PROGRAM_SESSION:
    case PROGRAM_PARK:
    case PROGRAM_SNAPSHOT:
    case PROGRAM_RELOAD:
        break;
    }
    return BYS;
}

/* Counts the tasks that a step names and its rank never spawns, and so finds by their
 * hashes; by the kind of step and of task. */
static void count_step(const struct program *program, uint32_t rank,
                       const struct program_step *step, uint32_t counts[BYS][FOUNDS])
{
    const int by = named_by(step->op);
    const struct program_list *named =
        by == BY_INPUT ? &program->tasks[step->tasks.items[0]].inputs : &step->tasks;
    for (uint32_t i = 0; by != BYS && i < named->count; i++) {
        const struct program_task *task = &program->tasks[named->items[i]];
        if (rankset_has(&task->holders, rank)) {
            continue;
        }
        counts[by][ONCE] += task->once;
        counts[by][IDEMPOTENT] += task->idempotent;
        counts[by][CANCELLED] += task->cancellers != 0 || task->late_cancellers != 0;
        counts[by][CANDIDATES] += task->candidates != 0;
        counts[by][HINTED] += task->hint;
        counts[by][PORTABLE] += task->portable;
        counts[by][GHOST] += program_ghost(program, named->items[i]);
    }
}

static void tasks_of_all_kinds_are_found_by_hash(void **state)
{
    (void)state;
    uint32_t counts[BYS][FOUNDS] = {{0}};
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct program *program = program_new(
            &(struct program_options){.seed = seed,
                                      .ranks = 4,
                                      .tasks = 60,
                                      .features = PROGRAM_ALL | PROGRAM_LATE_CANCELS});
        for (uint32_t i = 0; i < program->rank_count * program->lane_count; i++) {
            const struct program_script *script = &program->scripts[i];
            for (uint32_t k = 0; k < script->count; k++) {
                count_step(program, i / program->lane_count, &script->steps[k], counts);
            }
        }
        program_free(program);
    }
    for (int by = 0; by < BYS; by++) {
        for (int found = 0; found < FOUNDS; found++) {
            assert_true(counts[by][found] > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_one_program),
        cmocka_unit_test(seeds_keep_their_programs),
        cmocka_unit_test(the_graph_has_no_circle),
        cmocka_unit_test(nothing_needs_what_may_be_cancelled),
        cmocka_unit_test(some_candidate_holds_every_task),
        cmocka_unit_test(waits_come_after_what_they_need),
        cmocka_unit_test(some_programs_meet),
        cmocka_unit_test(some_programs_have_sessions),
        cmocka_unit_test(agreeing_ranks_spawn_alike),
        cmocka_unit_test(arguments_name_their_task),
        cmocka_unit_test(results_depend_on_every_input),
        cmocka_unit_test(failures_spread_to_dependents),
        cmocka_unit_test(a_rank_count_out_of_range_is_refused),
        cmocka_unit_test(tasks_of_all_kinds_are_found_by_hash),
    };
    return hashing_init() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
