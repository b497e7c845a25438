/* ready_test.c - what is ready comes up in the order that ready.h says.
 *
 * Draws of pushes, raises, cancels and pops, beside a list of all that is ready in
 * which each pop looks for the one that goes first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node/schedule/ready.h"

enum { TASKS = 4000, DRAWS = 20000 };

/* One that is ready, as the test sees it. */
struct standing {
    struct task *task;
    int32_t priority;
    uint64_t came; /* when it was pushed, or raised */
};

struct model {
    struct ready ready;
    struct task *tasks;
    size_t made;
    struct standing list[TASKS];
    size_t count;
    uint64_t clock;
    uint64_t random;
};

/* xorshift64 (Marsaglia, 2003). */
static uint64_t draw(struct model *model, uint64_t below)
{
    uint64_t x = model->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    model->random = x;
    return (x >> 16) % below;
}

static bool goes_before(const struct standing *a, const struct standing *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    if (a->task->nested != b->task->nested) {
        return a->task->nested;
    }
    return a->task->nested ? a->came > b->came : a->came < b->came;
}

static void push(struct model *model, uint64_t share_nested, uint64_t share_urgent)
{
    struct task *task = &model->tasks[model->made++];
    task->stage = TASK_READY;
    task->nested = draw(model, 100) < share_nested;
    if (draw(model, 100) < share_urgent) {
        task->priority = (int32_t)draw(model, 5) - 2;
    }
    assert_true(ready_push(&model->ready, task));
    model->list[model->count++] =
        (struct standing){task, task->priority, ++model->clock};
}

static void raise(struct model *model)
{
    struct standing *standing = &model->list[draw(model, model->count)];
    if (standing->priority >= 3) {
        return;
    }
    standing->task->priority = standing->priority = 3;
    standing->came = ++model->clock;
    ready_raise(&model->ready, standing->task);
}

static void cancel(struct model *model)
{
    size_t at = draw(model, model->count);
    model->list[at].task->stage = TASK_ENDED;
    model->ready.live--;
    model->list[at] = model->list[--model->count];
}

static void pop(struct model *model)
{
    size_t first = 0;
    for (size_t i = 1; i < model->count; i++) {
        if (goes_before(&model->list[i], &model->list[first])) {
            first = i;
        }
    }
    struct task *task = ready_pop(&model->ready);
    assert_ptr_equal(task, model->count > 0 ? model->list[first].task : NULL);
    if (task != NULL) {
        task->stage = TASK_RUNNING;
        model->list[first] = model->list[--model->count];
    }
}

static void run_draws(uint64_t seed, uint64_t share_nested, uint64_t share_urgent)
{
    struct model *model = calloc(1, sizeof(*model));
    model->tasks = calloc(TASKS, sizeof(*model->tasks));
    model->random = seed;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t what = draw(model, 100);
        bool filling = i % 3000 < 1000; /* now and then the line grows */
        if (what < (filling ? 70u : 40u) && model->made < TASKS) {
            push(model, share_nested, share_urgent);
        } else if (what < 75 && share_urgent > 0 && model->count > 0) {
            raise(model);
        } else if (what < 80 && model->count > 0) {
            cancel(model);
        } else {
            pop(model);
        }
        assert_int_equal(model->ready.live, model->count);
    }
    while (model->count > 0) {
        pop(model);
    }
    pop(model);
    for (size_t i = 0; i < model->made; i++) {
        assert_int_equal(model->tasks[i].queued, 0);
    }
    ready_release(&model->ready);
    free(model->tasks);
    free(model);
}

static void comes_up_in_order(void **state)
{
    (void)state;
    const struct {
        uint64_t nested, urgent;
    } SHARES[] = {{0, 0}, {30, 0}, {0, 30}, {30, 30}, {100, 100}};
    for (size_t i = 0; i < sizeof(SHARES) / sizeof(*SHARES); i++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            run_draws(seed, SHARES[i].nested, SHARES[i].urgent);
        }
    }
}

/* The first is what ready_pop() gives next. */
static void can_be_looked_at(void **state)
{
    (void)state;
    struct task plain = {.stage = TASK_READY};
    struct task nested = {.stage = TASK_READY, .nested = true};
    struct ready ready = {0};
    assert_true(ready_push(&ready, &plain));
    assert_ptr_equal(ready_first(&ready), &plain);
    assert_true(ready_push(&ready, &nested));
    assert_ptr_equal(ready_first(&ready), &nested);
    ready_release(&ready);
}

/* The record of a task that was cancelled and forgotten in the queue goes once its last
 * item has come up. */
static void spent_once_its_items_are_gone(void **state)
{
    (void)state;
    struct task gone = {.stage = TASK_READY}, next = {.stage = TASK_READY};
    struct ready ready = {0};
    assert_true(ready_push(&ready, &gone));
    gone.priority = 1;
    ready_raise(&ready, &gone);
    assert_true(ready_push(&ready, &next));
    gone.stage = TASK_ENDED;
    gone.gone = true;
    ready.live--;
    assert_ptr_equal(ready_pop(&ready), &next);
    assert_ptr_equal(ready_take_spent(&ready), &gone);
    assert_null(ready_take_spent(&ready));
    ready_release(&ready);
}

/* More often than items of a task are counted: each raise counts, and all of its items
 * come up, and none that is another's. */
static void can_be_raised_for_ever(void **state)
{
    (void)state;
    enum { RAISES = UINT16_MAX + 10 };
    struct task raised = {.stage = TASK_READY};
    struct task other = {.stage = TASK_READY, .priority = RAISES - 3};
    struct ready ready = {0};
    assert_true(ready_push(&ready, &raised));
    assert_true(ready_push(&ready, &other));
    for (int32_t priority = 1; priority <= RAISES; priority++) {
        raised.priority = priority;
        ready_raise(&ready, &raised);
    }
    assert_ptr_equal(ready_pop(&ready), &raised);
    raised.stage = TASK_ENDED;
    raised.gone = true;
    assert_ptr_equal(ready_pop(&ready), &other);
    assert_null(ready_take_spent(&ready));
    assert_null(ready_pop(&ready));
    assert_int_equal(raised.queued, 0);
    assert_ptr_equal(ready_take_spent(&ready), &raised);
    ready_release(&ready);
}

/* Tasks that are not ready any more do not count, and go. */
static void is_compared_with_elements(void **state)
{
    (void)state;
    struct task gone = {.stage = TASK_READY, .priority = 9};
    struct task plain = {.stage = TASK_READY};
    struct task below = {.stage = TASK_READY, .priority = -2};
    struct ready ready = {0};
    assert_false(ready_is_before(&ready, -9));
    assert_true(ready_push(&ready, &gone));
    assert_true(ready_push(&ready, &below));
    assert_true(ready_is_before(&ready, 9));
    assert_false(ready_is_before(&ready, 10));
    gone.stage = TASK_ENDED;
    gone.gone = true;
    ready.live--;
    assert_true(ready_is_before(&ready, -2));
    assert_false(ready_is_before(&ready, -1));
    assert_ptr_equal(ready_take_spent(&ready), &gone);
    assert_true(ready_push(&ready, &plain));
    assert_true(ready_is_before(&ready, 0));
    assert_false(ready_is_before(&ready, 1));
    assert_ptr_equal(ready_pop(&ready), &plain);
    ready_release(&ready);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_up_in_order),
        cmocka_unit_test(can_be_looked_at),
        cmocka_unit_test(is_compared_with_elements),
        cmocka_unit_test(spent_once_its_items_are_gone),
        cmocka_unit_test(can_be_raised_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
