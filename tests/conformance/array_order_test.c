/* array_order_test.c - elements run by the priority of their array, which is handed
 * down to the arrays that they take from.
 *
 * Every rank writes down what its kernels ran for, in their order.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { NOTED = RELAY + 1, EACH = 4, NOTES = 64 };

static int notes[SEATS_MAX][NOTES];
static atomic_int note_count[SEATS_MAX];

/* args: a letter. */
static int note(moot_call *call, void *user)
{
    const struct seat *seat = user;
    const int *letter = moot_call_args(call, NULL);
    notes[seat->rank][note_count[seat->rank]++ % NOTES] = *letter;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void order_kernels(struct seat *seat)
{
    const moot_kernel kernel = {.name = "note", .fn = note, .user = seat};
    kernels(seat);
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[NOTED]),
           MOOT_OK);
}

static moot_array spawn_taking(struct seat *seat, int letter, int32_t priority,
                               const moot_array *from)
{
    moot_array array = {0};
    const moot_array_input input = {.array = from != NULL ? *from : array};
    const moot_array_spec spec = {.size = sizeof(spec),
                                  .kernel = seat->kernels[NOTED],
                                  .count = (uint64_t)seat->size * EACH,
                                  .args = &letter,
                                  .args_size = sizeof(letter),
                                  .inputs = &input,
                                  .input_count = from != NULL,
                                  .priority = priority};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static moot_array spawn_array(struct seat *seat, int letter, int32_t priority)
{
    return spawn_taking(seat, letter, priority, NULL);
}

static moot_task spawn_task_of(struct seat *seat, int letter, int32_t priority)
{
    moot_task task = {0};
    const moot_task_spec spec = {.kernel = seat->kernels[NOTED],
                                 .args = &letter,
                                 .args_size = sizeof(letter),
                                 .owner = MOOT_ON(seat->rank),
                                 .priority = priority};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

static void end(struct seat *seat, moot_array array)
{
    EXPECT(seat, moot_array_wait(seat->m, array, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

/* The letters in the order in which they came, each run of one of them once. */
static void expect_order(struct seat *seat, const char *expected)
{
    char order[NOTES + 1] = "";
    int length = 0;
    for (int i = 0; i < note_count[seat->rank]; i++) {
        const char letter = (char)notes[seat->rank][i];
        if (length == 0 || order[length - 1] != letter) {
            order[length++] = letter;
        }
    }
    order[length] = '\0';
    if (strcmp(order, expected) != 0) {
        fprintf(stderr, "rank %d of %d: %s in place of %s\n", seat->rank, seat->size,
                order, expected);
    }
    CHECK(seat, strcmp(order, expected) == 0);
    note_count[seat->rank] = 0;
}

static void urgent_elements_run_first(struct seat *seat)
{
    moot_array slow = spawn_array(seat, 'n', -1), plain = spawn_array(seat, 'p', 0);
    moot_array urgent = spawn_array(seat, 'u', 5);
    moot_task task = spawn_task_of(seat, 't', 0), middle = spawn_task_of(seat, 'm', 3);
    moot_task last = spawn_task_of(seat, 'l', -2);
    EXPECT(seat, moot_task_wait(seat->m, last, MOOT_FOREVER), MOOT_OK);
    expect_order(seat, "umtpnl");
    EXPECT(seat, moot_task_release(seat->m, last), MOOT_OK);
    end(seat, slow);
    end(seat, plain);
    end(seat, urgent);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, middle), MOOT_OK);
}

/* A later spawn raises it, and one with less does not lower it. */
static void the_highest_priority_counts(struct seat *seat)
{
    moot_array first = spawn_array(seat, 'f', 1), raised = spawn_array(seat, 'r', 0);
    moot_array again = spawn_array(seat, 'r', 2), lower = spawn_array(seat, 'r', -3);
    end(seat, first);
    expect_order(seat, "rf");
    end(seat, raised);
    end(seat, again);
    end(seat, lower);
}

static void what_is_taken_is_as_urgent(struct seat *seat)
{
    moot_array other = spawn_array(seat, 'o', 0), taken = spawn_array(seat, 't', 0);
    moot_array between = spawn_taking(seat, 'b', 0, &taken);
    moot_array urgent = spawn_taking(seat, 'u', 7, &between);
    end(seat, other);
    expect_order(seat, "tbuo");
    end(seat, taken);
    end(seat, between);
    end(seat, urgent);
}

static void an_array_that_is_read_is_as_urgent_as_the_reader(struct seat *seat)
{
    moot_array other = spawn_array(seat, 'o', 0), read = spawn_array(seat, 'r', 0);
    moot_task element, task;
    EXPECT(seat, moot_array_at(seat->m, read, 0, &element), MOOT_OK);
    const moot_task_spec spec = {.kernel = seat->kernels[EMPTY],
                                 .inputs = &element,
                                 .input_count = 1,
                                 .priority = 4};
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    end(seat, other);
    expect_order(seat, "ro");
    end(seat, read);
    EXPECT(seat, moot_task_release(seat->m, element), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

static void an_array_is_as_urgent_as_the_tree_that_combines_it(struct seat *seat)
{
    moot_array other = spawn_array(seat, 'o', 0), combined = spawn_array(seat, 'c', 0);
    moot_task task;
    const moot_task_spec tree = {.kernel = seat->kernels[EMPTY], .priority = 4};
    EXPECT(seat, moot_array_reduce(seat->m, combined, &tree, &task), MOOT_OK);
    end(seat, other);
    expect_order(seat, "co");
    end(seat, combined);
    EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
}

#define ORDER_SCENE(fn)                                                                \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = order_kernels,                 \
        .after = closes_well                                                           \
    }

static const struct scene scenes[] = {
    ORDER_SCENE(urgent_elements_run_first),
    ORDER_SCENE(the_highest_priority_counts),
    ORDER_SCENE(what_is_taken_is_as_urgent),
    ORDER_SCENE(an_array_that_is_read_is_as_urgent_as_the_reader),
    ORDER_SCENE(an_array_is_as_urgent_as_the_tree_that_combines_it),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
