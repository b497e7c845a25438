/* element_wishes_test.c - ranks are sent what they wish for once it has ended
 * (node/tasks/element_wishes.h). */
#include "node/tasks/element_wishes.h"

#include "node/context/context.h"
#include "node/tasks/place_table.h"

#include "tests/unit/failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Looked through after each end, so many would take minutes. */
enum { MANY = 1 << 17, FEW = 600, EACH = 512 };

static struct moot bench;
static struct elements *array;
static struct payload result;

static void open_bench(uint64_t size)
{
    array = calloc(1, sizeof(*array));
    struct element_block *block =
        calloc(1, sizeof(*block) + size * sizeof(struct payload *));
    assert_non_null(array);
    assert_non_null(block);
    block->places.end = size;
    array->blocks = block;
}

static void close_bench(void)
{
    wishes_free(&bench, array);
    assert_null(array->wishes);
    assert_null(bench.tasks.wished);
    free(array->blocks);
    free(array);
}

static void end_at(uint64_t place)
{
    array->blocks->results[place] = &result;
    wishes_note(&bench, array, place);
}

/* As many places, one in each `stride`. */
static void wish_for(uint64_t first, uint32_t count, uint64_t stride)
{
    struct element_wish *wish = calloc(1, sizeof(*wish) + count * sizeof(uint64_t));
    assert_non_null(wish);
    wish->count = count;
    for (uint32_t i = 0; i < count; i++) {
        wish->places[i] = first + i * stride;
    }
    wishes_add(&bench, array, wish);
}

/* Sends all that there is: how often each place was is counted. */
static uint32_t look_through(uint8_t *sent)
{
    uint32_t count = 0;
    if (wishes_next(&bench) == NULL) {
        return 0;
    }
    for (struct element_wish **next = &array->wishes->first; *next != NULL;) {
        struct element_wish *wish = *next;
        uint32_t at = 0;
        uint64_t place;
        while ((place = wish_take(array, wish, &at)) != PLACE_NOWHERE) {
            assert_true(elements_has_ended(array->blocks, place));
            sent[place]++;
            count++;
        }
        if (wish->count == 0) {
            *next = wish->next;
            free(wish);
        } else {
            next = &wish->next;
        }
    }
    wishes_seen(array);
    return count;
}

static void each_is_sent_once_to_all_who_wish_for_it(void **state)
{
    (void)state;
    uint8_t sent[FEW] = {0};
    open_bench(FEW);
    for (uint64_t place = 0; place < FEW; place += 7) {
        end_at(place); /* before they are wished for */
    }
    wish_for(0, FEW / 2, 2);
    wish_for(0, FEW / 3, 3);
    for (uint64_t i = 0; i < FEW; i++) {
        const uint64_t place = i * 77 % FEW;
        if (place % 7 != 0) {
            end_at(place);
        }
        if (i % 5 == 0) {
            (void)look_through(sent);
        }
    }
    (void)look_through(sent);
    for (uint32_t i = 0; i < FEW; i++) {
        assert_int_equal(sent[i], (i % 2 == 0) + (i % 3 == 0));
    }
    assert_null(array->wishes);
    close_bench();
}

static void an_element_whose_result_is_gone_is_sent_when_it_ends_again(void **state)
{
    (void)state;
    uint8_t sent[FEW] = {0};
    open_bench(FEW);
    wish_for(0, 3, 1);
    assert_int_equal(look_through(sent), 0);
    end_at(1);
    array->blocks->results[1] = NULL;
    assert_int_equal(look_through(sent), 0);
    end_at(1);
    end_at(5); /* nobody wishes for it */
    assert_int_equal(look_through(sent), 1);
    assert_int_equal(sent[1], 1);
    close_bench();
}

static void without_memory_for_an_end_all_is_looked_through(void **state)
{
    (void)state;
    uint8_t sent[FEW] = {0};
    open_bench(FEW);
    wish_for(0, FEW, 1);
    assert_int_equal(look_through(sent), 0);
    alloc_watch(1);
    end_at(FEW / 2);
    alloc_watch(0);
    end_at(FEW / 3);
    assert_int_equal(look_through(sent), 2);
    assert_int_equal(sent[FEW / 2] + sent[FEW / 3], 2);
    close_bench();
}

static void many_are_sent_one_by_one(void **state)
{
    (void)state;
    static uint8_t sent[MANY];
    open_bench(MANY);
    for (uint64_t first = 0; first < MANY; first += EACH) {
        wish_for(first, EACH, 1);
    }
    assert_int_equal(look_through(sent), 0);
    for (uint64_t i = 0; i < MANY; i++) {
        end_at(i * 77773 % MANY);
        assert_int_equal(look_through(sent), 1);
    }
    assert_null(array->wishes);
    close_bench();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_sent_once_to_all_who_wish_for_it),
        cmocka_unit_test(an_element_whose_result_is_gone_is_sent_when_it_ends_again),
        cmocka_unit_test(without_memory_for_an_end_all_is_looked_through),
        cmocka_unit_test(many_are_sent_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
