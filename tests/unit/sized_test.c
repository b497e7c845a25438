/* sized_test.c - structs of another release: what of them is taken and given. */
#include "node/config/sized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One struct in three releases; the library is the second's. */
struct first {
    size_t size;
    uint64_t a;
};
struct second {
    size_t size;
    uint64_t a, b;
};
struct third {
    size_t size;
    uint64_t a, b, c;
};

SIZED_TAKE(second, struct second, a, b)

/* Exactly so many bytes, so that a sanitizer sees one more read or written. */
static void *bytes_of(const void *from, size_t size)
{
    void *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, from, size);
    return bytes;
}

static const struct {
    const char *name;
    struct third given;
    size_t room; /* what the program has of it */
    bool taken;
    uint64_t b;
} rows[] = {
    {"this release's", {.size = sizeof(struct second), .a = 1, .b = 2}, 24, true, 2},
    {"the first's", {.size = sizeof(struct first), .a = 1, .b = 9}, 16, true, 0},
    {"no size is the first's", {.size = 0, .a = 1, .b = 9}, 16, true, 0},
    {"a later one's", {.size = sizeof(struct third), .a = 1, .b = 2}, 32, true, 2},
    {"a later one's, used", {sizeof(struct third), 1, 2, 3}, 32, false, 0},
    {"a part of the first's", {.size = sizeof(size_t), .a = 1}, 16, false, 0},
    {"none", {.size = SIZE_MAX, .a = 1}, 32, false, 0},
};

static void a_struct_of_another_release_is_taken_for_what_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct second room;
        memset(&room, 0xee, sizeof(room));
        void *given = bytes_of(&rows[i].given, rows[i].room);
        const struct second *taken = sized_second(given, &room);
        if ((taken != NULL) != rows[i].taken) {
            fail_msg("%s: %s", rows[i].name, rows[i].taken ? "refused" : "taken");
        }
        if (taken != NULL) {
            assert_int_equal(taken->a, 1);
            assert_int_equal(taken->b, rows[i].b);
        }
        free(given);
    }
}

static void an_equal_one_is_not_copied(void **state)
{
    (void)state;
    const struct second given = {.size = sizeof(given)};
    struct second room;
    assert_ptr_equal(sized_second(&given, &room), &given);
}

static void a_program_gets_what_it_has_room_for(void **state)
{
    (void)state;
    const struct second full = {.size = 1, .a = 2, .b = 3};
    struct third more = {.c = 9};
    void *less = bytes_of(&more, sizeof(struct first));
    sized_give(less, sizeof(struct first), &full, sizeof(full));
    assert_memory_equal(less, &full, sizeof(struct first));
    free(less);
    sized_give(&more, sizeof(more), &full, sizeof(full));
    assert_memory_equal(&more, &full, sizeof(full));
    assert_int_equal(more.c, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_of_another_release_is_taken_for_what_it_says),
        cmocka_unit_test(an_equal_one_is_not_copied),
        cmocka_unit_test(a_program_gets_what_it_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
