/* array_map_test.c - what elements take, and the inverse of it
 * (consensus/shape/array_map.h). */
#include "consensus/shape/array_map.h"

#include "hashing/base/byte_order.h"
#include "proto/limits.h"
#include "proto/moot_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MAX = 12, TAKEN_MAX = 64 };

static struct array_answer answer_room; /* grows with what is asked */

/* Arguments of a map: words. */
struct args {
    unsigned char bytes[ARRAY_WINDOW_BYTES];
    size_t size;
};

static struct args make_args(size_t count, int64_t a, int64_t b, int64_t c)
{
    struct args args = {.size = 8 * count};
    const int64_t words[] = {a, b, c};
    for (size_t i = 0; i < count; i++) {
        put_word(args.bytes + 8 * i, (uint64_t)words[i]);
    }
    return args;
}

static struct array_mapping with(const struct array_map *map, const struct args *args)
{
    return (struct array_mapping){map, args->bytes, args->size};
}

/* The elements that one takes, in order. */
static size_t list_sources(const struct array_mapping *mapping, uint64_t element,
                           const struct array_counts *counts, uint64_t *taken)
{
    size_t size = 0;
    int count = array_sources(mapping, element, counts, &answer_room);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        for (uint64_t at = answer_room.ranges[i].first; at < answer_room.ranges[i].end;
             at++) {
            assert_true(size < TAKEN_MAX);
            taken[size++] = at;
        }
    }
    return size;
}

static void expect_sources(const struct array_mapping *mapping, uint64_t takes,
                           uint64_t from, uint64_t element, const char *expected)
{
    const struct array_counts counts = {takes, from};
    uint64_t taken[TAKEN_MAX];
    char text[TAKEN_MAX + 1] = "";
    size_t count = list_sources(mapping, element, &counts, taken);
    for (size_t i = 0; i < count; i++) {
        text[i] = (char)('0' + taken[i]);
    }
    assert_string_equal(text, expected);
}

static void expect_error(const struct array_mapping *mapping, uint64_t takes,
                         uint64_t from, uint64_t element, int error)
{
    const struct array_counts counts = {takes, from};
    assert_int_equal(array_sources(mapping, element, &counts, &answer_room), error);
}

static void elements_take_what_their_map_says(void **state)
{
    (void)state;
    const struct args none = {.size = 0};
    const struct args narrow = make_args(3, -1, 1, ARRAY_EDGE_CUT);
    const struct args around = make_args(3, -1, 1, ARRAY_EDGE_WRAP);
    const struct args wide = make_args(3, -4, 7, ARRAY_EDGE_WRAP);
    const struct args ahead = make_args(2, 3, ARRAY_EDGE_CUT, 0);
    const struct args back = make_args(2, -1, ARRAY_EDGE_WRAP, 0);
    const struct args table = make_args(2, 2, 3, 0);
    struct array_mapping same = with(&array_map_same, &none);
    struct array_mapping all = with(&array_map_all, &none);
    struct array_mapping window = with(&array_map_window, &narrow);
    struct array_mapping ring = with(&array_map_window, &around);
    struct array_mapping whole = with(&array_map_window, &wide);
    struct array_mapping shift = with(&array_map_shift, &ahead);
    struct array_mapping turn = with(&array_map_shift, &back);
    struct array_mapping transpose = with(&array_map_transpose, &table);
    expect_sources(&same, 4, 4, 3, "3");
    expect_sources(&same, 4, 9, 3, "3");
    expect_sources(&all, 1, 4, 0, "0123");
    expect_sources(&window, 5, 5, 0, "01");
    expect_sources(&window, 5, 5, 2, "123");
    expect_sources(&window, 5, 5, 4, "34");
    expect_sources(&window, 5, 3, 4, "");
    expect_sources(&ring, 5, 5, 0, "401");
    expect_sources(&ring, 5, 5, 4, "340");
    expect_sources(&ring, 1, 1, 0, "0");
    expect_sources(&whole, 5, 5, 1, "23401");
    expect_sources(&shift, 8, 8, 4, "7");
    expect_sources(&shift, 8, 8, 5, "");
    expect_sources(&turn, 8, 8, 0, "7");
    expect_sources(&transpose, 6, 6, 1, "2"); /* (0, 1) takes (1, 0) of 3 x 2 */
    expect_sources(&transpose, 6, 6, 5, "5");
    const struct args threes = make_args(1, 3, 0, 0);
    struct array_mapping blocks = with(&array_map_blocks, &threes);
    expect_sources(&blocks, 3, 8, 0, "012");
    expect_sources(&blocks, 3, 8, 2, "67");
    expect_sources(&blocks, 2, 8, 1, "345");
}

static void what_cannot_be_taken_is_an_error(void **state)
{
    (void)state;
    const struct args none = {.size = 0}, one = make_args(1, 0, 0, 0);
    const struct args crossed = make_args(3, 1, 0, ARRAY_EDGE_CUT);
    const struct args around = make_args(3, -1, 1, ARRAY_EDGE_WRAP);
    const struct args strange = make_args(3, 0, 0, 2);
    const struct args far = make_args(3, INT64_MIN, INT64_MAX, ARRAY_EDGE_CUT);
    const struct args table = make_args(2, 2, 4, 0), flat = make_args(2, 0, 6, 0);
    struct array_mapping same = with(&array_map_same, &none);
    struct array_mapping window = with(&array_map_window, &none);
    expect_error(&same, 4, 3, 3, MOOT_ERR_INVALID);
    same.args_size = one.size;
    expect_error(&same, 4, 4, 0, MOOT_ERR_INVALID);
    expect_error(&window, 4, 4, 0, MOOT_ERR_INVALID);
    const struct args *wrong[] = {&crossed, &strange, &far};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        window = with(&array_map_window, wrong[i]);
        expect_error(&window, 4, 4, 0, MOOT_ERR_INVALID);
    }
    window = with(&array_map_window, &around);
    expect_error(&window, 4, 5, 0, MOOT_ERR_INVALID);
    struct array_mapping transpose = with(&array_map_transpose, &table);
    expect_error(&transpose, 6, 6, 0, MOOT_ERR_INVALID);
    expect_error(&transpose, 8, 6, 0, MOOT_ERR_INVALID);
    transpose = with(&array_map_transpose, &flat);
    expect_error(&transpose, 6, 6, 0, MOOT_ERR_INVALID);
}

/* The most that any element takes, found by asking each; -1: some cannot be. */
static int64_t ask_all(const struct array_mapping *mapping,
                       const struct array_counts *counts)
{
    int64_t most = 0;
    for (uint64_t element = 0; element < counts->takes; element++) {
        int64_t taken = 0;
        const int count = array_sources(mapping, element, counts, &answer_room);
        for (int i = 0; i < count; i++) {
            taken += (int64_t)(answer_room.ranges[i].end - answer_room.ranges[i].first);
        }
        if (count < 0) {
            return -1;
        }
        most = taken > most ? taken : most;
    }
    return most;
}

/* A map that is refused is one that cannot be for some element, and no element takes
 * more than is said. */
static void expect_most(const struct array_map *map, const struct args *args)
{
    const struct array_mapping mapping = with(map, args);
    for (uint64_t takes = 1; takes <= COUNT_MAX; takes++) {
        for (uint64_t from = 1; from <= COUNT_MAX; from++) {
            const struct array_counts counts = {takes, from};
            uint64_t most = 0;
            const int error =
                map->most(map->user, args->bytes, args->size, &counts, &most);
            const int64_t asked = ask_all(&mapping, &counts);
            assert_int_equal(error, asked < 0 ? MOOT_ERR_INVALID : MOOT_OK);
            assert_true(asked <= (int64_t)most);
            assert_true(most <= from);
        }
    }
}

static void a_map_says_how_many_are_taken_at_most(void **state)
{
    (void)state;
    const struct args none = {.size = 0}, one = make_args(1, 0, 0, 0);
    expect_most(&array_map_same, &none);
    expect_most(&array_map_same, &one);
    expect_most(&array_map_all, &none);
    expect_most(&array_map_all, &one);
    for (int64_t low = -3; low <= 3; low++) {
        for (int64_t high = low - 1; high <= 14; high++) {
            for (int64_t edges = 0; edges <= 2; edges++) {
                const struct args window = make_args(3, low, high, edges);
                const struct args shift = make_args(2, high, edges, 0);
                expect_most(&array_map_window, &window);
                expect_most(&array_map_shift, &shift);
            }
        }
    }
    for (int64_t size = 0; size <= 13; size++) {
        const struct args blocks = make_args(1, size, 0, 0);
        expect_most(&array_map_blocks, &blocks);
    }
    expect_most(&array_map_blocks, &none);
    for (int64_t rows = 0; rows <= 4; rows++) {
        for (int64_t columns = 0; columns <= 4; columns++) {
            const struct args table = make_args(2, rows, columns, 0);
            expect_most(&array_map_transpose, &table);
        }
    }
}

/* --- Inverses -----------------------------------------------------------------------
 */

static bool takes(const struct array_mapping *mapping, uint64_t element,
                  const struct array_counts *counts, uint64_t source)
{
    uint64_t taken[TAKEN_MAX];
    size_t count = list_sources(mapping, element, counts, taken);
    for (size_t i = 0; i < count; i++) {
        if (taken[i] == source) {
            return true;
        }
    }
    return false;
}

static bool feeds(const struct array_mapping *mapping, uint64_t source,
                  const struct array_counts *counts, uint64_t element)
{
    int count = array_targets(mapping, source, counts, &answer_room);
    bool found = false;
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        found = found || (answer_room.ranges[i].first <= element &&
                          element < answer_room.ranges[i].end);
    }
    return found;
}

static void check_inverse(const struct array_mapping *mapping, uint64_t takes_count,
                          uint64_t from_count)
{
    const struct array_counts counts = {takes_count, from_count};
    for (uint64_t i = 0; i < takes_count; i++) {
        for (uint64_t j = 0; j < from_count; j++) {
            assert_int_equal(takes(mapping, i, &counts, j),
                             feeds(mapping, j, &counts, i));
        }
    }
}

static void inverses_of_what_is_built_in_are_right(void **state)
{
    (void)state;
    const struct args none = {.size = 0};
    for (uint64_t count = 1; count <= COUNT_MAX; count++) {
        struct array_mapping same = with(&array_map_same, &none);
        struct array_mapping all = with(&array_map_all, &none);
        check_inverse(&same, count, count);
        check_inverse(&same, count, count + 2);
        check_inverse(&all, count, 5);
        for (int64_t size = 1; size <= 4; size++) {
            struct args each = make_args(1, size, 0, 0);
            struct array_mapping blocks = with(&array_map_blocks, &each);
            check_inverse(&blocks, (count - 1) / (uint64_t)size + 1, count);
            check_inverse(&blocks, 1, count);
        }
        for (int64_t low = -4; low <= 4; low++) {
            for (int64_t high = low; high <= 4; high++) {
                struct args cut = make_args(3, low, high, ARRAY_EDGE_CUT);
                struct args wrap = make_args(3, low, high, ARRAY_EDGE_WRAP);
                struct array_mapping window = with(&array_map_window, &cut);
                struct array_mapping ring = with(&array_map_window, &wrap);
                check_inverse(&window, count, 7);
                check_inverse(&ring, count, count);
            }
            struct args by = make_args(2, low, ARRAY_EDGE_WRAP, 0);
            struct array_mapping shift = with(&array_map_shift, &by);
            check_inverse(&shift, count, count);
        }
        struct args table = make_args(2, (int64_t)count, 3, 0);
        struct array_mapping transpose = with(&array_map_transpose, &table);
        check_inverse(&transpose, count * 3, count * 3);
    }
}

/* --- Maps of users ------------------------------------------------------------------
 */

/* The answer that a test would have of a map. */
struct answer {
    struct range ranges[3];
    int count;
};

static int give_answer(const void *user, const void *args, size_t args_size,
                       uint64_t element, const struct array_counts *counts,
                       struct range *out, size_t room)
{
    const struct answer *answer = user;
    (void)args, (void)args_size, (void)element, (void)counts, (void)room;
    memcpy(out, answer->ranges, sizeof(answer->ranges));
    return answer->count;
}

static void what_a_map_says_is_looked_at(void **state)
{
    (void)state;
    static const struct {
        struct answer answer;
        int sources; /* of 10; an error */
        int targets; /* of 4: so many ranges are left */
    } rows[] = {
        /* an inverse without an answer names nobody */
        {{{{0, 1}}, 0}, 0, 0},
        {{{{0, 1}, {9, 10}}, 2}, 2, 1},
        {{{{9, 11}}, 1}, MOOT_ERR_INVALID, 0},
        {{{{3, 11}}, 1}, MOOT_ERR_INVALID, 1},
        {{{{3, 3}, {1, 2}}, 2}, MOOT_ERR_INVALID, 1},
        {{{{5, 2}}, 1}, MOOT_ERR_INVALID, 0},
        {{{{0, 1}}, (1 << 20) + 1}, MOOT_ERR_LIMIT, 0},
        {{{{0, 1}}, MOOT_ERR_STATE}, MOOT_ERR_STATE, 0},
    };
    const struct array_counts counts = {4, 10};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct array_map map = {"m", 1, give_answer, give_answer, &rows[i].answer,
                                      NULL};
        const struct array_mapping mapping = {&map, NULL, 0};
        assert_int_equal(array_sources(&mapping, 0, &counts, &answer_room),
                         rows[i].sources);
        assert_int_equal(array_targets(&mapping, 0, &counts, &answer_room),
                         rows[i].targets);
        for (int j = 0; j < rows[i].targets; j++) {
            assert_true(answer_room.ranges[j].first < answer_room.ranges[j].end &&
                        answer_room.ranges[j].end <= 4);
        }
    }
}

/* Every other element, one by one. */
static int give_many(const void *user, const void *args, size_t args_size,
                     uint64_t element, const struct array_counts *counts,
                     struct range *out, size_t room)
{
    const int *many = user;
    (void)args, (void)args_size, (void)element, (void)counts;
    for (size_t i = 0; i < room && i < (size_t)*many; i++) {
        out[i] = (struct range){2 * i, 2 * i + 1};
    }
    return *many;
}

static void a_map_that_says_more_has_room_for_it(void **state)
{
    (void)state;
    const struct array_counts counts = {100000, 100000};
    const int sizes[] = {1, ARRAY_ANSWER_FEW, ARRAY_ANSWER_FEW + 1, 300, LIMIT_INPUTS};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const struct array_map map = {"m", 1, give_many, give_many, &sizes[i], NULL};
        const struct array_mapping mapping = {&map, NULL, 0};
        array_answer_release(&answer_room);
        assert_int_equal(array_sources(&mapping, 0, &counts, &answer_room), sizes[i]);
        assert_int_equal(array_targets(&mapping, 0, &counts, &answer_room), sizes[i]);
        for (int j = 0; j < sizes[i]; j++) {
            assert_int_equal(answer_room.ranges[j].first, 2 * j);
        }
    }
}

/* The map says that there are more each time. */
static int give_more(const void *user, const void *args, size_t args_size,
                     uint64_t element, const struct array_counts *counts,
                     struct range *out, size_t room)
{
    (void)user, (void)args, (void)args_size, (void)element, (void)counts, (void)out;
    return (int)room + 1;
}

static void a_map_that_is_no_function_is_refused(void **state)
{
    (void)state;
    const struct array_counts counts = {100000, 100000};
    const struct array_map map = {"m", 1, give_more, give_more, NULL, NULL};
    const struct array_mapping mapping = {&map, NULL, 0};
    array_answer_release(&answer_room);
    assert_int_equal(array_sources(&mapping, 0, &counts, &answer_room),
                     MOOT_ERR_INVALID);
    assert_int_equal(array_targets(&mapping, 0, &counts, &answer_room), 0);
}

static void nobody_relies_on_the_inverse_of_a_program(void **state)
{
    (void)state;
    const struct array_map map = {"m", 1, give_answer, give_answer, NULL, NULL};
    assert_false(array_map_is_sure(&map));
    assert_true(array_map_is_sure(&array_map_same));
    assert_true(array_map_is_sure(&array_map_blocks));
}

int main(void)
{
    array_answer_init(&answer_room);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_take_what_their_map_says),
        cmocka_unit_test(what_cannot_be_taken_is_an_error),
        cmocka_unit_test(a_map_says_how_many_are_taken_at_most),
        cmocka_unit_test(inverses_of_what_is_built_in_are_right),
        cmocka_unit_test(what_a_map_says_is_looked_at),
        cmocka_unit_test(a_map_that_says_more_has_room_for_it),
        cmocka_unit_test(a_map_that_is_no_function_is_refused),
        cmocka_unit_test(nobody_relies_on_the_inverse_of_a_program),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    array_answer_release(&answer_room);
    return failed;
}
