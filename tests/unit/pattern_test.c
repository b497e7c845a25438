/* pattern_test.c - the benchmark's graphs are Task Bench's.
 *
 * Task Bench's core gives a point's inputs as intervals; they are written down here
 * once more, as there (core.cc, TaskGraph::dependencies), and compared with tests/bench
 * for every step, point and width.  random_nearest draws its connections from another
 * hash, so of it only the bounds, and that a point has itself, are known.
 */
#include "tests/bench/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STEPS = 40, WIDTH_MAX = 20 };

static long least(long a, long b) { return a < b ? a : b; }
static long most(long a, long b) { return a > b ? a : b; }

static long task_bench_sets(enum pattern pattern, long width)
{
    static const long LOG2_CEILING[] = {0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4,
                                        4, 4, 4, 4, 4, 4, 5, 5, 5, 5};
    if (pattern == PATTERN_fft) {
        return LOG2_CEILING[width];
    }
    return pattern == PATTERN_spread || pattern == PATTERN_random_nearest ? 3 : 1;
}

static long task_bench_set(enum pattern pattern, long width, long step)
{
    long sets = task_bench_sets(pattern, width);
    if (sets <= 1) {
        return 0;
    }
    return pattern == PATTERN_fft ? (step + sets - 1) % sets : step % sets;
}

/* Adds first .. last, of those that are points. */
static void add(bool *takes, long width, long first, long last)
{
    for (long i = most(0, first); i <= least(last, width - 1); i++) {
        takes[i] = true;
    }
}

static void task_bench_inputs(enum pattern pattern, long width, long set, long point,
                              bool *takes)
{
    switch (pattern) {
    case PATTERN_no_comm:
        add(takes, width, point, point);
        break;
    case PATTERN_stencil_1d_periodic:
        if (point - 1 < 0) {
            add(takes, width, width - 1, width - 1);
        }
        if (point + 1 >= width) {
            add(takes, width, 0, 0);
        }
        add(takes, width, point - 1, point + 1);
        break;
    case PATTERN_stencil_1d:
    case PATTERN_nearest: /* at radix 3 */
        add(takes, width, point - 1, point + 1);
        break;
    case PATTERN_dom:
        add(takes, width, point - 1, point);
        break;
    case PATTERN_tree:
        add(takes, width, point / 2, point / 2);
        break;
    case PATTERN_fft:
        add(takes, width, point - (1L << set), point - (1L << set));
        add(takes, width, point, point);
        add(takes, width, point + (1L << set), point + (1L << set));
        break;
    case PATTERN_all_to_all:
        add(takes, width, 0, width - 1);
        break;
    case PATTERN_spread:
        for (long i = 0; i < 3; i++) {
            long input = (point + i * width / 3 + (i > 0 ? set : 0)) % width;
            add(takes, width, input, input);
        }
        break;
    case PATTERN_random_nearest:
    case PATTERN_trivial:
    case PATTERN_END:
    default:
        break;
    }
}

static struct row task_bench_row(enum pattern pattern, long width, long step)
{
    if (pattern == PATTERN_dom) {
        return (struct row){most(0, step + width - STEPS),
                            least(width, least(step + 1, STEPS - step))};
    }
    if (pattern == PATTERN_tree) {
        return (struct row){0, least(width, 1L << step)};
    }
    return (struct row){0, width};
}

/* --- Tests ------------------------------------------------------------------------ */

static void compare_step(enum pattern pattern, long width, long step)
{
    struct row row = pattern_row(pattern, STEPS, width, step);
    struct row theirs = task_bench_row(pattern, width, step);
    assert_int_equal(row.first, theirs.first);
    assert_int_equal(row.count, theirs.count);
    long set = pattern_set(pattern, pattern_sets(pattern, width), step);
    assert_int_equal(set, task_bench_set(pattern, width, step));
    for (long point = row.first; point < row.first + row.count; point++) {
        bool takes[WIDTH_MAX] = {false};
        task_bench_inputs(pattern, width, set, point, takes);
        for (long input = 0; input < width; input++) {
            if (pattern_connects(pattern, width, set, point, input) != takes[input]) {
                fail_msg("%s, width %ld, step %ld: (%ld, %ld)", pattern_name(pattern),
                         width, step, point, input);
            }
        }
    }
}

static void inputs_are_those_of_task_bench(void **state)
{
    (void)state;
    for (int pattern = 0; pattern < PATTERN_END; pattern++) {
        for (long width = 1; width <= WIDTH_MAX; width++) {
            for (long step = 0; step < STEPS && pattern != PATTERN_random_nearest;
                 step++) {
                compare_step((enum pattern)pattern, width, step);
            }
        }
    }
}

static void random_nearest_takes_itself_and_some_neighbours(void **state)
{
    enum { WIDTH = 256 };
    long neighbours = 0;
    (void)state;
    for (long set = 0; set < 3; set++) {
        for (long point = 0; point < WIDTH; point++) {
            for (long input = 0; input < WIDTH; input++) {
                bool takes =
                    pattern_connects(PATTERN_random_nearest, WIDTH, set, point, input);
                long apart = input - point;
                if (apart == 0) {
                    assert_true(takes);
                } else if (apart < -1 || apart > 1) {
                    assert_false(takes);
                } else {
                    neighbours += takes;
                }
            }
        }
    }
    /* A quarter of 1530: 382, and four deviations of 17. */
    assert_in_range(neighbours, 382 - 68, 382 + 68);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_those_of_task_bench),
        cmocka_unit_test(random_nearest_takes_itself_and_some_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
