/* identity_test.c - a spec has one hash, everywhere and for ever (hashing/identity.h).
 *
 * The table tests/golden/identity.txt was made by another implementation; it is found
 * below the current directory or below MOOT_TEST_ROOT.
 */
#include "hashing/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

enum { LINE_BYTES_MAX = 4096, INPUTS_MAX = 8, FIELDS_MAX = 16 };

/* --- The golden table ------------------------------------------------------------- */

struct row {
    char text[LINE_BYTES_MAX];
    char *field[FIELDS_MAX];
    int count; /* of fields; the hash is the last, behind "->" */
    int line;
};

static FILE *open_table(void)
{
    const char *root = getenv("MOOT_TEST_ROOT");
    char path[LINE_BYTES_MAX];
    snprintf(path, sizeof(path), "%s/tests/golden/identity.txt",
             root != NULL ? root : ".");
    FILE *table = fopen(path, "r");
    if (table == NULL) {
        fail_msg("cannot read %s", path);
    }
    return table;
}

static bool next_row(FILE *table, struct row *row)
{
    while (fgets(row->text, sizeof(row->text), table) != NULL) {
        char *rest = NULL;
        row->line++;
        row->count = 0;
        if (row->text[0] == '#') {
            continue;
        }
        for (char *word = strtok_r(row->text, " \n", &rest); word != NULL;
             word = strtok_r(NULL, " \n", &rest)) {
            assert_true(row->count < FIELDS_MAX);
            row->field[row->count++] = word;
        }
        if (row->count > 0) {
            return true;
        }
    }
    return false;
}

/* "-" and "ab*3" as in the table's head.  The caller frees. */
static unsigned char *parse_bytes(const char *text, size_t *size)
{
    size_t digits = strcspn(text, "*");
    size_t times = text[digits] == '*' ? strtoul(text + digits + 1, NULL, 10) : 1;
    if (strcmp(text, "-") == 0 || strcmp(text, "empty") == 0) {
        digits = 0;
    }
    unsigned char *bytes = malloc(digits / 2 * times + 1);
    assert_non_null(bytes);
    *size = 0;
    for (size_t i = 0; i < times; i++) {
        for (size_t j = 0; j + 1 < digits; j += 2) {
            unsigned value;
            assert_int_equal(sscanf(text + j, "%2x", &value), 1);
            bytes[(*size)++] = (unsigned char)value;
        }
    }
    return bytes;
}

static moot_hash parse_hash(const char *text)
{
    moot_hash hash = {{0}};
    if (strcmp(text, "-") != 0) {
        assert_true(hash_parse(text, &hash));
    }
    return hash;
}

static size_t parse_hashes(char *text, moot_hash *hashes)
{
    size_t count = 0;
    char *rest = NULL;
    if (strcmp(text, "-") == 0) {
        return 0;
    }
    for (char *word = strtok_r(text, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        assert_true(count < INPUTS_MAX);
        hashes[count++] = parse_hash(word);
    }
    return count;
}

static void parse_candidates(char *text, struct rankset *set)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        assert_true(rankset_add(set, (uint32_t)strtoul(word, NULL, 10)));
    }
}

/* "same:1:ab" for each input, "-" for that of a task; the caller frees the arguments.
 */
static size_t parse_maps(char *text, struct identity_map *maps)
{
    size_t count = 0;
    char *rest = NULL;
    if (strcmp(text, "none") == 0) {
        return 0;
    }
    for (char *word = strtok_r(text, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        assert_true(count < INPUTS_MAX);
        struct identity_map *map = &maps[count++];
        *map = (struct identity_map){0};
        if (strcmp(word, "-") != 0) {
            char *part = NULL;
            map->name = strtok_r(word, ":", &part);
            map->version = (uint32_t)strtoul(strtok_r(NULL, ":", &part), NULL, 10);
            map->args = parse_bytes(strtok_r(NULL, ":", &part), &map->args_size);
        }
    }
    return count;
}

static moot_hash hash_array(char **field, const struct identity *spec,
                            const struct rankset *homes, bool bound)
{
    struct identity_map maps[INPUTS_MAX];
    const struct identity_array array = {.count = strtoull(field[0], NULL, 10),
                                         .spread =
                                             (uint32_t)strtoul(field[1], NULL, 10),
                                         .block = strtoull(field[2], NULL, 10),
                                         .maps = maps,
                                         .homes = homes,
                                         .bound = bound};
    size_t count = parse_maps(field[3], maps);
    assert_int_equal(count, spec->input_count);
    moot_hash hash = identity_array_hash(spec, &array);
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)maps[i].args);
    }
    return hash;
}

/* The hash of a row of a task, or of an array. */
static moot_hash hash_spec_row(struct row *row)
{
    const bool is_array = strcmp(row->field[0], "array") == 0;
    struct identity spec = {.kernel_name = row->field[1],
                            .kernel_version =
                                (uint32_t)strtoul(row->field[2], NULL, 10),
                            .once = row->field[6][0] != '0',
                            .idempotent = row->field[6][0] == 'i',
                            .nested = row->field[7][0] == '1',
                            .scope = parse_hash(row->field[9])};
    moot_hash inputs[INPUTS_MAX];
    struct rankset candidates = {0};
    bool at = false;
    unsigned char *args = parse_bytes(row->field[3], &spec.args_size);
    unsigned char *key = NULL;
    spec.args = args;
    spec.input_count = parse_hashes(row->field[4], inputs);
    spec.inputs = inputs;
    if (strcmp(row->field[5], "none") != 0) {
        spec.key = key = parse_bytes(row->field[5], &spec.key_size);
    }
    if (strcmp(row->field[8], "all") != 0) {
        at = row->field[8][0] == '@';
        parse_candidates(row->field[8] + at, &candidates);
        spec.candidates = &candidates;
    }
    struct identity_kernel kernel;
    identity_kernel_init(&kernel, spec.kernel_name, spec.kernel_version);
    moot_hash hash = identity_hash(&spec);
    spec.kernel = &kernel;
    moot_hash again = identity_hash(&spec);
    assert_true(hash_equal(&hash, &again));
    if (is_array) {
        const struct rankset *homes = spec.candidates;
        spec.candidates = NULL;
        hash = hash_array(row->field + 10, &spec, homes, !at);
        assert_true(hash_has(&hash, MOOT_HASH_ARRAY));
    }
    rankset_release(&candidates);
    free(key);
    free(args);
    return hash;
}

static moot_hash hash_row(struct row *row)
{
    if (strcmp(row->field[0], "task") == 0) {
        assert_int_equal(row->count, 12);
        return hash_spec_row(row);
    }
    if (strcmp(row->field[0], "array") == 0) {
        assert_int_equal(row->count, 16);
        return hash_spec_row(row);
    }
    if (strcmp(row->field[0], "element") == 0) {
        assert_int_equal(row->count, 5);
        moot_hash array = parse_hash(row->field[1]);
        return identity_element(&array, strtoull(row->field[2], NULL, 10));
    }
    if (strcmp(row->field[0], "scope") == 0) {
        assert_int_equal(row->count, 5);
        moot_hash parent = parse_hash(row->field[1]);
        return identity_scope(&parent, row->field[2]);
    }
    assert_string_equal(row->field[0], "digest");
    size_t size;
    unsigned char *data = parse_bytes(row->field[1], &size);
    moot_hash hash = digest_bytes(data, size);
    free(data);
    return hash;
}

static void hashes_are_the_golden_ones(void **state)
{
    (void)state;
    FILE *table = open_table();
    struct row row = {.line = 0};
    int rows = 0;
    while (next_row(table, &row)) {
        char text[MOOT_HASH_TEXT_BYTES];
        const char *golden = row.field[row.count - 1];
        moot_hash hash = hash_row(&row);
        rows++;
        if (strcmp(hash_format(&hash, text), golden) != 0) {
            fail_msg("identity.txt:%d: %s is %s, not %s", row.line, row.field[0], text,
                     golden);
        }
    }
    assert_true(rows >= 30);
    fclose(table);
}

/* --- The encoding ----------------------------------------------------------------- */

struct encoding {
    unsigned char bytes[8192];
    size_t size;
};

static void encode(struct encoding *to, const void *bytes, size_t size)
{
    assert_true(size <= sizeof(to->bytes) - to->size);
    if (size > 0) {
        memcpy(to->bytes + to->size, bytes, size);
    }
    to->size += size;
}

static void encode_number(struct encoding *to, size_t value)
{
    while (value >= 128) {
        encode(to, &(unsigned char){(unsigned char)(value % 128 + 128)}, 1);
        value /= 128;
    }
    encode(to, &(unsigned char){(unsigned char)value}, 1);
}

static void blake2b(const struct encoding *of, const unsigned char *salt,
                    const char *personal, unsigned char out[MOOT_HASH_BYTES])
{
    unsigned char padded[16] = {0};
    memcpy(padded, personal, strlen(personal));
    assert_int_equal(crypto_generichash_blake2b_salt_personal(out, MOOT_HASH_BYTES,
                                                              of->bytes, of->size, NULL,
                                                              0, salt, padded),
                     0);
}

static moot_hash hash_of_encoding(const struct identity *spec)
{
    struct encoding kernel = {.size = 0}, all = {.size = 0};
    unsigned char salt[16];
    assert_true(spec->kernel_version < 128 && !spec->once);
    encode(&kernel, (unsigned char[4]){(unsigned char)spec->kernel_version}, 4);
    encode(&kernel, spec->kernel_name, strlen(spec->kernel_name));
    blake2b(&kernel, NULL, "moot kernel 4", salt);
    unsigned facts = (spec->key != NULL ? 1u : 0u) | (spec->candidates ? 4u : 0u) |
                     (hash_is_zero(&spec->scope) ? 0u : 8u);
    encode(&all, &(unsigned char){(unsigned char)facts}, 1);
    encode_number(&all, spec->args_size);
    encode_number(&all, spec->input_count);
    if (spec->key != NULL) {
        encode_number(&all, spec->key_size);
    }
    if (spec->candidates != NULL) {
        encode_number(&all, rankset_count(spec->candidates));
    }
    encode(&all, spec->args, spec->args_size);
    encode(&all, spec->inputs, spec->input_count * MOOT_HASH_BYTES);
    encode(&all, spec->key, spec->key_size);
    for (uint32_t rank = 0; spec->candidates != NULL && rank < 1024; rank++) {
        if (rankset_has(spec->candidates, rank)) {
            encode_number(&all, rank);
        }
    }
    if (!hash_is_zero(&spec->scope)) {
        encode(&all, spec->scope.bytes, MOOT_HASH_BYTES);
    }
    moot_hash hash;
    blake2b(&all, salt, "moot task 4", hash.bytes);
    hash.bytes[MOOT_HASH_BYTES - 1] &= (uint8_t)~MOOT_HASH_FACTS;
    if (spec->candidates != NULL) {
        hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_CANDIDATES;
    }
    return hash;
}

/* Pieces are gathered before they are hashed: any size of each must end up whole. */
static void every_size_is_encoded_whole(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 3, 31, 32, 33, 100};
    static unsigned char bytes[1600];
    struct rankset candidates = {0};
    struct identity_kernel kernel;
    identity_kernel_init(&kernel, "k", 3);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    }
    for (size_t size = 0; size <= 1100; size++) {
        struct identity spec = {.kernel_name = "k",
                                .kernel_version = 3,
                                .args = bytes,
                                .args_size = size,
                                .inputs = (const moot_hash *)bytes,
                                .input_count = counts[size % 7],
                                .key = size % 3 != 0 ? bytes + size / 2 : NULL,
                                .key_size = size % 3 != 0 ? size / 3 : 0};
        if (size % 5 == 0 && size < 1000) {
            assert_true(rankset_add(&candidates, (uint32_t)size));
        }
        spec.candidates = size % 2 == 0 ? &candidates : NULL;
        moot_hash expected = hash_of_encoding(&spec), hash = identity_hash(&spec);
        assert_true(hash_equal(&hash, &expected));
        spec.kernel = &kernel;
        hash = identity_hash(&spec);
        assert_true(hash_equal(&hash, &expected));
    }
    rankset_release(&candidates);
}

/* --- Together --------------------------------------------------------------------- */

static void digests_in_lanes_are_the_librarys(void **state)
{
    (void)state;
    static const unsigned char salt[16] = "salt of a kernel";
    if (blake2b_best_way() == BLAKE2B_ALONE) {
        skip(); /* this processor has no lanes */
    }
    for (enum blake2b_way way = BLAKE2B_FOUR_AVX2; way <= blake2b_best_way(); way++) {
        const size_t lanes = blake2b_lanes(way);
        for (size_t size = 0; size <= BLAKE2B_BLOCK_BYTES; size++) {
            struct blake2b_message messages[BLAKE2B_LANES_MAX];
            struct blake2b_start starts[BLAKE2B_LANES_MAX];
            struct encoding texts[BLAKE2B_LANES_MAX];
            unsigned char out[BLAKE2B_LANES_MAX][16], *digests[BLAKE2B_LANES_MAX];
            for (size_t i = 0; i < lanes; i++) {
                unsigned char personal[16] = {(unsigned char)('a' + i)};
                memset(texts[i].bytes, 0, BLAKE2B_BLOCK_BYTES);
                texts[i].size = (size + 37 * i) % (BLAKE2B_BLOCK_BYTES + 1);
                for (size_t k = 0; k < texts[i].size; k++) {
                    texts[i].bytes[k] = (unsigned char)(31 * k + 7 * i + size);
                }
                starts[i] = blake2b_start(salt, personal);
                messages[i] =
                    (struct blake2b_message){&starts[i], texts[i].bytes, texts[i].size};
                digests[i] = out[i];
            }
            blake2b_together(way, messages, digests);
            for (size_t i = 0; i < lanes; i++) {
                unsigned char library[16];
                blake2b(&texts[i], salt, (const char[2]){(char)('a' + i)}, library);
                assert_memory_equal(out[i], library, sizeof(library));
            }
        }
    }
}

/* A plain spec, and a block of it if it fits. */
struct plain {
    struct identity spec;
    struct rankset owner;
    struct identity_block block;
};

static bool fill_plain(struct plain *plain, const struct identity_kernel *kernel,
                       const unsigned char *bytes, size_t args, size_t inputs,
                       unsigned owner_plus_one)
{
    plain->owner = (struct rankset){
        .low = owner_plus_one > 0 ? UINT64_C(1) << (owner_plus_one - 1) : 0};
    plain->spec =
        (struct identity){.kernel = kernel,
                          .args = args > 0 ? bytes : NULL,
                          .args_size = args,
                          .inputs = (const moot_hash *)(bytes + args),
                          .input_count = inputs,
                          .candidates = owner_plus_one > 0 ? &plain->owner : NULL};
    memset(&plain->block, 0xaa, sizeof(plain->block));
    unsigned char *to = identity_block_fill(&plain->block, kernel, plain->spec.args,
                                            args, inputs, owner_plus_one);
    if (to != NULL) {
        assert_ptr_equal(to, plain->block.bytes + plain->block.inputs_at);
        assert_memory_equal(plain->block.bytes + plain->block.args_at, bytes, args);
        memcpy(to, plain->spec.inputs, inputs * MOOT_HASH_BYTES);
    }
    return to != NULL;
}

static void specs_hashed_together_are_hashed_alone(void **state)
{
    (void)state;
    static unsigned char bytes[1024];
    struct identity_kernel kernels[2];
    struct plain plain[IDENTITY_TOGETHER_MAX];
    size_t waiting = 0, blocks = 0, too_long = 0;
    identity_together_init();
    identity_kernel_init(&kernels[0], "k", 3);
    identity_kernel_init(&kernels[1], "another", 70000);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(i * 11 + i / 256);
    }
    for (unsigned i = 0; i < 130 * 10 * 66; i++) {
        size_t args = i % 130, inputs = i / 130 % 10;
        unsigned owner_plus_one = i / 1300 % 66 < IDENTITY_OWNERS ? i / 1300 % 66 : 0;
        size_t size = (owner_plus_one > 0 ? 5 : 3) + args + 16 * inputs;
        bool fits = fill_plain(&plain[waiting], &kernels[i / 7 % 2], bytes + i % 64,
                               args, inputs, owner_plus_one);
        assert_int_equal(fits, size <= BLAKE2B_BLOCK_BYTES);
        too_long += !fits;
        waiting += fits;
        if (waiting < 1 + i % IDENTITY_TOGETHER_MAX) {
            continue;
        }
        const struct identity_block *all[IDENTITY_TOGETHER_MAX];
        moot_hash hashes[IDENTITY_TOGETHER_MAX];
        for (size_t k = 0; k < waiting; k++) {
            all[k] = &plain[k].block;
        }
        identity_hash_together(all, waiting, hashes);
        for (size_t k = 0; k < waiting; k++) {
            plain[k].spec.candidates = plain[k].owner.low != 0 ? &plain[k].owner : NULL;
            moot_hash alone = identity_hash(&plain[k].spec);
            assert_true(hash_equal(&alone, &hashes[k]));
        }
        blocks += waiting;
        waiting = 0;
    }
    assert_true(blocks > 1000 && too_long > 1000);
}

/* --- What counts and what does not ------------------------------------------------ */

static moot_hash base_hash(void)
{
    return identity_hash(
        &(struct identity){.kernel_name = "kernel", .args = "args", .args_size = 4});
}

static void every_field_counts(void **state)
{
    (void)state;
    static const moot_hash input = {{1}}, other = {{2}};
    const moot_hash ab[] = {input, other}, ba[] = {other, input};
    struct rankset zero = {.low = 1}, one = {.low = 2}, none = {.low = 0};
#define BASE .kernel_name = "kernel", .args = "args"
    const struct identity specs[] = {
        {BASE, .args_size = 4},
        {.kernel_name = "kernek", .args = "args", .args_size = 4},
        {BASE, .args_size = 4, .kernel_version = 1},
        {BASE, .args_size = 3},
        {.kernel_name = "kernela", .args = "rgs", .args_size = 3},
        {BASE, .args_size = 4, .inputs = ab, .input_count = 1},
        {BASE, .args_size = 4, .inputs = ab, .input_count = 2},
        {BASE, .args_size = 4, .inputs = ba, .input_count = 2},
        {BASE, .args_size = 4, .key = "", .key_size = 0},
        {BASE, .args_size = 4, .key = "k", .key_size = 1},
        {BASE, .args_size = 4, .once = true},
        {BASE, .args_size = 4, .once = true, .idempotent = true},
        {BASE, .args_size = 4, .nested = true},
        {BASE, .args_size = 4, .candidates = &zero},
        {BASE, .args_size = 4, .candidates = &one},
        {BASE, .args_size = 4, .candidates = &none},
        {BASE, .args_size = 4, .scope = {{1}}},
    };
#undef BASE
    enum { COUNT = sizeof(specs) / sizeof(*specs) };
    moot_hash hashes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        hashes[i] = identity_hash(&specs[i]);
        for (size_t j = 0; j < i; j++) {
            if (hash_equal(&hashes[i], &hashes[j])) {
                fail_msg("specs %zu and %zu have the same hash", i, j);
            }
        }
    }
}

static void equal_specs_are_one_task(void **state)
{
    (void)state;
    struct rankset up = {0}, down = {0};
    for (uint32_t rank = 0; rank < 200; rank += 7) {
        rankset_add(&up, rank);
        rankset_add(&down, 196 - rank);
        rankset_add(&down, 196 - rank);
    }
    rankset_add(&down, 5000); /* more room, the same members */
    rankset_remove(&down, 5000);
    char args[] = "args", name[] = "kernel";
    moot_hash a = identity_hash(&(struct identity){
        .kernel_name = "kernel", .args = "args", .args_size = 4, .candidates = &up});
    moot_hash b = identity_hash(&(struct identity){
        .kernel_name = name, .args = args, .args_size = 4, .candidates = &down});
    assert_true(hash_equal(&a, &b));
    rankset_release(&up);
    rankset_release(&down);
}

static void facts_stand_in_the_last_bits(void **state)
{
    (void)state;
    struct rankset zero = {.low = 1};
    moot_hash top = {{0}}, scope = identity_scope(&top, "phase");
    for (int facts = 0; facts < MOOT_HASH_ARRAY; facts++) {
        bool once = (facts & MOOT_HASH_ONCE) != 0;
        moot_hash hash = identity_hash(&(struct identity){
            .kernel_name = "kernel",
            .once = once,
            .idempotent = (facts & MOOT_HASH_IDEMPOTENT) != 0,
            .nested = (facts & MOOT_HASH_NESTED) != 0,
            .candidates = (facts & MOOT_HASH_CANDIDATES) != 0 ? &zero : NULL,
            .scope = (facts & MOOT_HASH_SCOPED) != 0 ? scope : top,
        });
        assert_int_equal(hash.bytes[15] & MOOT_HASH_FACTS,
                         once ? facts : facts & ~MOOT_HASH_IDEMPOTENT);
        bool scoped = (facts & MOOT_HASH_SCOPED) != 0;
        assert_true(hash_scope(&hash) == (scoped ? hash_scope(&scope) : 0));
        moot_hash child = identity_hash(
            &(struct identity){.kernel_name = "child", .nested = true, .scope = hash});
        assert_true(hash_scope(&child) == hash_scope(&hash));
    }
}

static void a_scope_is_scoped_and_in_no_other(void **state)
{
    (void)state;
    moot_hash top = {{0}};
    for (int i = 0; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof(name), "phase %d", i);
        moot_hash scope = identity_scope(&top, name);
        assert_int_equal(scope.bytes[15] & MOOT_HASH_FACTS, MOOT_HASH_SCOPED);
        moot_hash inner = identity_scope(&scope, name);
        assert_false(hash_equal(&scope, &inner));
        assert_true(hash_scope(&scope) != hash_scope(&inner));
    }
}

/* --- Hashes as values ------------------------------------------------------------- */

static void text_goes_there_and_back(void **state)
{
    (void)state;
    char text[MOOT_HASH_TEXT_BYTES];
    moot_hash hash = base_hash(), back;
    assert_int_equal(strlen(hash_format(&hash, text)), 32);
    assert_true(hash_parse(text, &back));
    assert_true(hash_equal(&hash, &back));
    assert_true(hash_parse("00112233445566778899AABBCCDDEEFF", &back));
    assert_string_equal(hash_format(&back, text), "00112233445566778899aabbccddeeff");

    static const char *const wrong[] = {"",
                                        "0",
                                        "00112233445566778899aabbccddeef",
                                        "00112233445566778899aabbccddeeff0",
                                        "00112233445566778899aabbccddeefg",
                                        "0x112233445566778899aabbccddeeff",
                                        " 0112233445566778899aabbccddeeff"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_false(hash_parse(wrong[i], &back));
        assert_string_equal(hash_format(&back, text),
                            "00112233445566778899aabbccddeeff");
    }
}

static void hashes_have_an_order_and_a_word(void **state)
{
    (void)state;
    moot_hash zero = {{0}}, first = {{1}}, last = {{[15] = 1}};
    assert_true(hash_is_zero(&zero));
    assert_false(hash_is_zero(&last));
    assert_int_equal(hash_compare(&zero, &zero), 0);
    assert_true(hash_compare(&zero, &last) < 0);
    assert_true(hash_compare(&first, &last) > 0);
    moot_hash counted;
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        counted.bytes[i] = (uint8_t)i;
    }
    assert_true(hash_word(&counted) == UINT64_C(0x0706050403020100));
}

static int setup(void **state)
{
    (void)state;
    return hashing_init() && hashing_init() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_the_golden_ones),
        cmocka_unit_test(every_size_is_encoded_whole),
        cmocka_unit_test(digests_in_lanes_are_the_librarys),
        cmocka_unit_test(specs_hashed_together_are_hashed_alone),
        cmocka_unit_test(every_field_counts),
        cmocka_unit_test(equal_specs_are_one_task),
        cmocka_unit_test(facts_stand_in_the_last_bits),
        cmocka_unit_test(a_scope_is_scoped_and_in_no_other),
        cmocka_unit_test(text_goes_there_and_back),
        cmocka_unit_test(hashes_have_an_order_and_a_word),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
