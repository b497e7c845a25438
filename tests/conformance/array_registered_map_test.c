/* array_registered_map_test.c - arrays that take by maps of the program's own
 * (moot_map_register): each element gets what .sources says, in order, whatever
 * .targets says, and a map that is wrong is refused, told of or reported.
 */
#include "node/api/moot_array.h"
#include "tests/conformance/kernels.h"

enum { FIRST = RELAY + 1, NEXT, LARGE };
enum {
    COUNT = 37,
    MANY = 700,
    STEPS = 6,
    LARGE_BYTES = 20000,
    STRIDE = 11,
    PIECES = 3
};

/* --- Kernels ---------------------------------------------------------------------- */

static uint64_t first_of(uint64_t index) { return index * index + 3; }

static int make_first(moot_call *call, size_t size)
{
    uint64_t *out = moot_call_output(call, size);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, size);
    *out = first_of(moot_call_index(call));
    return MOOT_OK;
}

static int first(moot_call *call, void *user)
{
    (void)user;
    return make_first(call, sizeof(uint64_t));
}

static int large(moot_call *call, void *user)
{
    (void)user;
    return make_first(call, LARGE_BYTES);
}

static uint64_t mix(uint64_t sum, uint64_t next) { return sum * 31 + next; }

/* An order of its inputs that is not theirs gives another sum. */
static int next(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out)), sum = 0;
    (void)user;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        sum = mix(sum, *(const uint64_t *)moot_call_input(call, i, NULL));
    }
    if (out != NULL) {
        *out = mix(sum, moot_call_index(call));
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void add(struct seat *seat, int at, const char *name, moot_kernel_fn fn)
{
    const moot_kernel kernel = {.name = name, .fn = fn};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[at]), MOOT_OK);
}

static void array_kernels(struct seat *seat)
{
    kernels(seat);
    add(seat, FIRST, "first", first);
    add(seat, NEXT, "next", next);
    add(seat, LARGE, "large", large);
}

/* --- Maps ------------------------------------------------------------------------- */

/* The inverse, and what it does. */
enum inverse {
    RIGHT,
    NONE,
    LEAVES_ALL_OUT,
    LEAVES_SOME_OUT,
    NAMES_ALL,
    FAILS,
    INVERSES
};

/* Element i takes `pieces` elements (args, a word; else PIECES), STRIDE behind each
 * other, round and round. */
static uint64_t pieces_of(const void *args, size_t size)
{
    uint64_t pieces = PIECES;
    memcpy(&pieces, args, size < sizeof(pieces) ? size : sizeof(pieces));
    return pieces;
}

static uint64_t source_of(uint64_t element, uint64_t piece, uint64_t source_count)
{
    return (element * 5 + piece * STRIDE) % source_count;
}

static int sources(void *user, const void *args, size_t args_size, uint64_t element,
                   uint64_t count, uint64_t source_count, moot_range *out, size_t room)
{
    const uint64_t pieces = pieces_of(args, args_size);
    (void)user, (void)count;
    for (uint64_t i = 0; i < pieces && i < room; i++) {
        out[i] = (moot_range){source_of(element, i, source_count), 1};
    }
    return (int)pieces;
}

static int put(moot_range *out, size_t room, int count, uint64_t element)
{
    if ((size_t)count < room) {
        out[count] = (moot_range){element, 1};
    }
    return count + 1;
}

static int targets(void *user, const void *args, size_t args_size, uint64_t element,
                   uint64_t count, uint64_t source_count, moot_range *out, size_t room)
{
    const enum inverse *inverse = user;
    const uint64_t pieces = pieces_of(args, args_size);
    int found = 0;
    if (*inverse == LEAVES_ALL_OUT ||
        (*inverse == LEAVES_SOME_OUT && element % 3 == 0)) {
        return 0;
    }
    if (*inverse == FAILS) {
        return -1;
    }
    if (*inverse == NAMES_ALL) {
        out[0] = (moot_range){0, UINT64_MAX};
        return 1;
    }
    for (uint64_t taker = 0; taker < count; taker++) {
        for (uint64_t i = 0; i < pieces; i++) {
            if (source_of(taker, i, source_count) == element) {
                found = put(out, room, found, taker);
            }
        }
    }
    return found;
}

static enum inverse inverses[INVERSES] = {RIGHT,           NONE,      LEAVES_ALL_OUT,
                                          LEAVES_SOME_OUT, NAMES_ALL, FAILS};

static moot_map_id add_map(struct seat *seat, enum inverse inverse)
{
    static const char *const names[] = {"right",    "none", "all out",
                                        "some out", "all",  "fails"};
    moot_map_id id = {0};
    const moot_map map = {.name = names[inverse],
                          .version = 3,
                          .sources = sources,
                          .targets = inverse != NONE ? targets : NULL,
                          .user = &inverses[inverse]};
    EXPECT(seat, moot_map_register(seat->m, &map, &id), MOOT_OK);
    return id;
}

/* --- Arrays ----------------------------------------------------------------------- */

static const moot_spread spreads[] = {{MOOT_SPREAD_BLOCK, 0},
                                      {MOOT_SPREAD_CYCLIC, 0},
                                      {MOOT_SPREAD_CYCLIC, 7},
                                      {MOOT_SPREAD_HASHED, 0}};

/* One of a row of arrays: they differ by `key`. */
static moot_array spawn_first(struct seat *seat, int kernel, uint64_t count, int key)
{
    moot_array array = {0};
    const moot_array_spec spec = {.kernel = seat->kernels[kernel],
                                  .count = count,
                                  .key = &key,
                                  .key_size = sizeof(key),
                                  .spread = spreads[key % 4]};
    EXPECT(seat, moot_array_spawn(seat->m, &spec, &array), MOOT_OK);
    return array;
}

static int try_next(struct seat *seat, moot_array from, uint64_t count, moot_map_id map,
                    const uint64_t *pieces, moot_array *out)
{
    const moot_array_input input = {.array = from,
                                    .map = map,
                                    .map_args = pieces,
                                    .map_args_size = sizeof(*pieces)};
    const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                  .count = count,
                                  .spread = spreads[(count + map.id) % 4],
                                  .inputs = &input,
                                  .input_count = 1};
    return moot_array_spawn(seat->m, &spec, out);
}

static moot_array spawn_next(struct seat *seat, moot_array from, uint64_t count,
                             moot_map_id map, uint64_t pieces)
{
    moot_array array = {0};
    EXPECT(seat, try_next(seat, from, count, map, &pieces, &array), MOOT_OK);
    return array;
}

/* One step by hand. */
static void take(uint64_t count, uint64_t pieces, const uint64_t *from, uint64_t *to)
{
    for (uint64_t index = 0; index < count; index++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < pieces; i++) {
            sum = mix(sum, from[source_of(index, i, count)]);
        }
        to[index] = mix(sum, index);
    }
}

static void fill_first(uint64_t *row, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        row[i] = first_of(i);
    }
}

static void check_all(struct seat *seat, moot_array array, uint64_t count,
                      const uint64_t *wanted)
{
    for (uint64_t i = 0; i < count; i++) {
        moot_task task;
        const void *data = NULL;
        EXPECT(seat, moot_array_at(seat->m, array, i, &task), MOOT_OK);
        EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, NULL),
               MOOT_OK);
        CHECK(seat, data != NULL && *(const uint64_t *)data == wanted[i]);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
}

/* `steps`, each by the next map, of which the rank `skipper` spawns half. */
static void run_steps(struct seat *seat, int kernel, int key, int steps, int skipper)
{
    uint64_t rows[2][COUNT];
    fill_first(rows[0], COUNT);
    moot_array array = spawn_first(seat, kernel, COUNT, key);
    for (int step = 0; step < steps; step++) {
        const enum inverse inverse = (enum inverse)((step + key) % INVERSES);
        const uint64_t pieces = 1 + (uint64_t)step % 4;
        if (seat->rank == skipper && step >= steps / 2) {
            EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
            return;
        }
        take(COUNT, pieces, rows[step % 2], rows[(step + 1) % 2]);
        moot_array next_one =
            spawn_next(seat, array, COUNT, add_map(seat, inverse), pieces);
        EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
        array = next_one;
    }
    check_all(seat, array, COUNT, rows[steps % 2]);
    EXPECT(seat, moot_array_release(seat->m, array), MOOT_OK);
}

static void what_sources_says_is_taken_whatever_targets_says(struct seat *seat)
{
    for (int key = 0; key < INVERSES; key++) {
        run_steps(seat, FIRST, key, 1, -1);
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
    run_steps(seat, FIRST, 20, STEPS, -1);
}

static void large_results_are_taken_whatever_targets_says(struct seat *seat)
{
    for (int key = 0; key < INVERSES; key++) {
        run_steps(seat, LARGE, key, 1, -1);
    }
}

static void who_skips_leaves_it_to_the_others(struct seat *seat)
{
    run_steps(seat, FIRST, 30, STEPS, 0);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    run_steps(seat, LARGE, 31, STEPS, seat->size - 1);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

/* More ranges than any room that the library has ready; and none. */
static void an_element_takes_many_or_nothing(struct seat *seat)
{
    static const uint64_t sizes[] = {300, 0};
    for (int i = 0; i < 2; i++) {
        uint64_t *from = calloc(MANY, sizeof(*from)), *to = calloc(MANY, sizeof(*to));
        moot_array one = spawn_first(seat, FIRST, MANY, 40 + i);
        moot_array two = spawn_next(seat, one, MANY, add_map(seat, NONE), sizes[i]);
        fill_first(from, MANY);
        take(MANY, sizes[i], from, to);
        EXPECT(seat, moot_array_wait(seat->m, two, MOOT_FOREVER), MOOT_OK);
        check_all(seat, two, 20, to);
        EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
        free(from);
        free(to);
    }
}

/* --- Registering ------------------------------------------------------------------ */

static void expect_refused(struct seat *seat, moot_map map, int code, const char *why)
{
    moot_map_id id = {77};
    EXPECT(seat, moot_map_register(seat->m, &map, &id), code);
    CHECK(seat, told(seat, why) && id.id == 77);
}

static void equal_maps_are_one_and_contrary_ones_are_refused(struct seat *seat)
{
    static const char longest[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.";
    moot_map map = {.name = "m", .version = 1, .sources = sources, .targets = targets};
    const moot_map first_one = map;
    moot_map_id one = {0}, two = {0}, other = {0};
    EXPECT(seat, moot_map_register(seat->m, &map, &one), MOOT_OK);
    EXPECT(seat, moot_map_register(seat->m, &map, &two), MOOT_OK);
    map.name = "n";
    EXPECT(seat, moot_map_register(seat->m, &map, &other), MOOT_OK);
    CHECK(seat, one.id == two.id && one.id != other.id && one.id > 100);
    map = first_one;
    map.version = 2;
    expect_refused(seat, map, MOOT_ERR_INVALID, "another one of this name");
    map = first_one;
    map.targets = NULL;
    expect_refused(seat, map, MOOT_ERR_INVALID, "another one of this name");
    map = first_one;
    map.user = &one;
    expect_refused(seat, map, MOOT_ERR_INVALID, "another one of this name");
    map = first_one;
    map.name = NULL;
    expect_refused(seat, map, MOOT_ERR_INVALID, "a .name");
    map.name = longest;
    expect_refused(seat, map, MOOT_ERR_LIMIT, "128 bytes");
    map.name = "moot.same";
    expect_refused(seat, map, MOOT_ERR_INVALID, "the library's own");
    map.name = "no sources";
    map.sources = NULL;
    expect_refused(seat, map, MOOT_ERR_INVALID, "no .sources");
    EXPECT(seat, moot_map_register(seat->m, NULL, &one), MOOT_ERR_INVALID);
}

/* An id of a kernel, and one of another context. */
static void what_is_no_map_is_refused(struct seat *seat)
{
    const uint64_t pieces = 1;
    moot_array array, one = spawn_first(seat, FIRST, COUNT, 50);
    const moot_map_id kernel = {seat->kernels[FIRST].id};
    const moot_map_id own = add_map(seat, RIGHT);
    const moot_map_id foreign = {own.id ^ UINT64_C(1) << 60}, none = {own.id + 1};
    EXPECT(seat, try_next(seat, one, COUNT, kernel, &pieces, &array), MOOT_ERR_INVALID);
    EXPECT(seat, try_next(seat, one, COUNT, foreign, &pieces, &array),
           MOOT_ERR_INVALID);
    EXPECT(seat, try_next(seat, one, COUNT, none, &pieces, &array), MOOT_ERR_INVALID);
    CHECK(seat, told(seat, "moot_map_register()"));
    EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
}

/* --- Maps that are wrong ---------------------------------------------------------- */

enum { BAD = 3 }; /* the element, in the share of rank 0 */
enum fault { BEYOND, EMPTY_RANGE, REFUSES, TOO_MUCH, FAULTS };

static int bad_sources(void *user, const void *args, size_t args_size, uint64_t element,
                       uint64_t count, uint64_t source_count, moot_range *out,
                       size_t room)
{
    const enum fault *fault = user;
    (void)args, (void)args_size, (void)count, (void)room;
    out[0] = (moot_range){element % source_count, 1};
    if (element == BAD && *fault != REFUSES) {
        out[0] = *fault == BEYOND        ? (moot_range){source_count - 1, 2}
                 : *fault == EMPTY_RANGE ? (moot_range){4, 0}
                                         : (moot_range){0, 4097};
    }
    return element == BAD && *fault == REFUSES ? -5 : 1;
}

static int same_targets(void *user, const void *args, size_t args_size,
                        uint64_t element, uint64_t count, uint64_t source_count,
                        moot_range *out, size_t room)
{
    (void)user, (void)args, (void)args_size, (void)count, (void)source_count;
    (void)room;
    out[0] = (moot_range){element, 1};
    return 1;
}

static enum fault faults[] = {BEYOND, EMPTY_RANGE, REFUSES, TOO_MUCH};

static moot_map_id add_bad(struct seat *seat, enum fault fault, bool inverse)
{
    static const char *const names[] = {"beyond", "empty", "refuses", "much"};
    char name[32];
    moot_map_id id = {0};
    (void)snprintf(name, sizeof(name), "%s%d", names[fault], inverse);
    const moot_map map = {.name = name,
                          .sources = bad_sources,
                          .targets = inverse ? same_targets : NULL,
                          .user = &faults[fault]};
    EXPECT(seat, moot_map_register(seat->m, &map, &id), MOOT_OK);
    return id;
}

static const struct {
    int code;
    const char *why;
} refusals[] = {
    {MOOT_ERR_INVALID, "element 3 take 36 to 37, and the input has 37 elements"},
    {MOOT_ERR_INVALID, "gives element 3 an empty range, at 4"},
    {MOOT_ERR_INVALID,
     "no sources for element 3: .sources returned -5, of a count of 37 "
     "and a source_count of 37"},
    {MOOT_ERR_LIMIT, "element 3 take more than 4096"},
};

/* The home of the element is refused the array.  Whoever else has it fails that
 * element. */
static void who_has_the_wrong_element_is_told_which(struct seat *seat)
{
    for (int i = 0; i < FAULTS; i++) {
        moot_array one = spawn_first(seat, FIRST, i == TOO_MUCH ? 5000 : COUNT, 60);
        moot_array two = {0};
        const moot_array_input input = {.array = one,
                                        .map = add_bad(seat, (enum fault)i, true)};
        const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                      .count = COUNT,
                                      .inputs = &input,
                                      .input_count = 1};
        const int code = moot_array_spawn(seat->m, &spec, &two);
        CHECK(seat, code == (seat->rank == 0 ? refusals[i].code : MOOT_OK));
        if (code == MOOT_OK) {
            EXPECT(seat, moot_array_wait(seat->m, two, MOOT_FOREVER),
                   MOOT_ERR_TASK_FAILED);
            CHECK(seat, seat->size > 2 || told(seat, refusals[i].why));
            CHECK(seat, seat->size > 2 ||
                            told(seat, ": it did not run: input 0 has none for it: "));
            CHECK(seat, !told(seat, "kernel 'next' failed"));
            EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
        } else {
            CHECK(seat, told(seat, refusals[i].why));
        }
        EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
}

/* Without an inverse all look at all. */
static void without_an_inverse_all_are_refused_alike(struct seat *seat)
{
    for (int i = 0; i < FAULTS; i++) {
        moot_array two,
            one = spawn_first(seat, FIRST, i == TOO_MUCH ? 5000 : COUNT, 70);
        const moot_array_input input = {.array = one,
                                        .map = add_bad(seat, (enum fault)i, false)};
        const moot_array_spec spec = {.kernel = seat->kernels[NEXT],
                                      .count = COUNT,
                                      .inputs = &input,
                                      .input_count = 1};
        EXPECT(seat, moot_array_spawn(seat->m, &spec, &two), refusals[i].code);
        CHECK(seat, told(seat, refusals[i].why));
        EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
    }
}

/* --- Verifying -------------------------------------------------------------------- */

static void wrong_inverses_are_reported(struct seat *seat)
{
    for (int i = 0; i < INVERSES; i++) {
        moot_array one = spawn_first(seat, FIRST, COUNT, 80);
        moot_array two =
            spawn_next(seat, one, COUNT, add_map(seat, (enum inverse)i), 2);
        EXPECT(seat, moot_array_wait(seat->m, two, MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, one), MOOT_OK);
        EXPECT(seat, moot_array_release(seat->m, two), MOOT_OK);
    }
    meet(seat);
    CHECK(seat, !reported(seat, "'right'") && !reported(seat, "'none'"));
    CHECK(seat, reported(seat, "the map 'all out' (version 3) has a wrong inverse, "
                               "where 37 elements take from 37: "));
    CHECK(seat, reported(seat, "'some out'"));
    CHECK(seat, reported(seat, "the map 'all' (version 3) has a wrong inverse"));
    CHECK(seat, reported(seat, "names nothing; it leaves out "));
    CHECK(seat, reported(seat, "names 0-36; it is not to name "));
}

static void nothing_is_reported_unasked(struct seat *seat)
{
    run_steps(seat, FIRST, 90, STEPS, -1);
    meet(seat);
    CHECK(seat, !reported(seat, "inverse"));
}

#define MAP_SCENE(fn, ...)                                                             \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = array_kernels, __VA_ARGS__     \
    }

static const char *const workers[] = {"MOOT_THREADS=3", NULL};
static const char *const verify[] = {"MOOT_VERIFY=0.000001", NULL};

static const struct scene scenes[] = {
    MAP_SCENE(what_sources_says_is_taken_whatever_targets_says, .after = closes_well),
    MAP_SCENE(what_sources_says_is_taken_whatever_targets_says, .after = closes_well,
              .knobs = workers),
    MAP_SCENE(large_results_are_taken_whatever_targets_says, .after = closes_well),
    MAP_SCENE(who_skips_leaves_it_to_the_others, .after = closes_well),
    MAP_SCENE(an_element_takes_many_or_nothing, .after = closes_well),
    MAP_SCENE(equal_maps_are_one_and_contrary_ones_are_refused, .after = closes_well),
    MAP_SCENE(what_is_no_map_is_refused, .after = closes_well),
    MAP_SCENE(who_has_the_wrong_element_is_told_which, .after = closes_well),
    MAP_SCENE(without_an_inverse_all_are_refused_alike, .after = closes_well),
    MAP_SCENE(wrong_inverses_are_reported, .after = closes_well, .knobs = verify),
    MAP_SCENE(nothing_is_reported_unasked, .after = closes_well),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
