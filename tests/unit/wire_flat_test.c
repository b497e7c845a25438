/* wire_flat_test.c - the short cut of proto/wire_flat.c makes no difference.
 *
 * Messages are drawn along the descriptors that protoc-c made from moot.proto, so that
 * a field which the short cut forgets, or writes in another way, is found whoever adds
 * it.  Each is packed by protobuf-c and read the general way; then the short cut must
 * write the same bytes, and read the same message from them.  What is drawn with a
 * text, a set or a spec in it must be left to the general way, and of bytes that were
 * bent the short cut may take only what means the same the general way.
 */
#include "tests/unit/wire_frames.h"
#include "tests/unit/wire_same.h"

#include "proto/wire_private.h"

enum { ROUNDS = 2000, BENDS = 40, PIECE_BYTES_MAX = 1024, PAYLOAD_BYTES = 64 };

/* The types that wire_flat.c knows: a type more must be listed here. */
static const enum message_type flat_types[] = {
    MESSAGE_MOTION,   MESSAGE_RESULT,   MESSAGE_ACCEPT,  MESSAGE_VERDICT,
    MESSAGE_ROLL,     MESSAGE_STATE,    MESSAGE_POLL,    MESSAGE_HEARTBEAT,
    MESSAGE_GRANT,    MESSAGE_RELEASED, MESSAGE_PULL,    MESSAGE_SEEK,
    MESSAGE_ACK,      MESSAGE_CANCEL,   MESSAGE_SETTLED, MESSAGE_DECISION,
    MESSAGE_ELEMENTS,
};
enum { FLAT_TYPES = sizeof(flat_types) / sizeof(*flat_types) };

static uint64_t drawn = 88172645463325252u;

static uint64_t draw(void)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return drawn;
}

/* --- Drawing along a descriptor --------------------------------------------------- */

/* Zero, small, of any width, all ones. */
static uint64_t draw_number(void)
{
    switch (draw() % 8) {
    case 0:
        return draw() % 8 == 0 ? UINT64_MAX : draw() % 70000;
    case 1:
        return draw() >> draw() % 64;
    case 2:
    case 3:
    case 4:
        return draw() % 4;
    default:
        return 0;
    }
}

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);
    return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

/* A hash, or what no flat message has; that only if it is asked for. */
static ProtobufCBinaryData draw_bytes(const char *name, uint8_t *bytes, bool others)
{
    bool hash = ends_with(name, "hash") || ends_with(name, "scope");
    ProtobufCBinaryData none = {0, NULL};
    if ((!hash && !others) || draw() % 4 == 0) {
        return none;
    }
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        bytes[i] = (uint8_t)(draw() % 255 + 1);
    }
    return (ProtobufCBinaryData){hash ? MOOT_HASH_BYTES : 8, bytes};
}

static bool is_of(const ProtobufCFieldDescriptor *field, ProtobufCType a,
                  ProtobufCType b)
{
    return field->type == a || field->type == b;
}

enum { LIST_MAX = 6, FLAT_LIST_MAX = 4 };

/* So many of them, of which now and then one list has one less.  Returns whether the
 * lists are too long to be flat. */
static bool draw_list(const ProtobufCFieldDescriptor *field, ProtobufCMessage *message,
                      size_t count)
{
    static uint64_t numbers[8][LIST_MAX];
    uint64_t *to = numbers[field->id % 8];
    if (count > 0 && draw() % 16 == 0) {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t number = ends_with(field->name, "wants") ? draw() % 3 : draw_number();
        if (is_of(field, PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_UINT64)) {
            to[i] = number;
        } else if (field->type == PROTOBUF_C_TYPE_UINT32) {
            ((uint32_t *)to)[i] = (uint32_t)number;
        } else {
            fail_msg("%s is a list that this test cannot draw", field->name);
        }
    }
    *(size_t *)(void *)((uint8_t *)message + field->quantifier_offset) = count;
    *(void **)(void *)((uint8_t *)message + field->offset) = count > 0 ? to : NULL;
    return count > FLAT_LIST_MAX;
}

/* Returns whether anything was drawn that no flat message has. */
static bool draw_field(const ProtobufCFieldDescriptor *field, void *at, uint8_t *bytes,
                       bool others)
{
    assert_int_equal(field->label, PROTOBUF_C_LABEL_NONE);
    if (field->type == PROTOBUF_C_TYPE_BOOL) {
        *(protobuf_c_boolean *)at = (protobuf_c_boolean)(draw() % 2);
    } else if (field->type == PROTOBUF_C_TYPE_SINT32) { /* an error, mostly */
        uint32_t number = (uint32_t)draw_number();
        *(uint32_t *)at = draw() % 2 ? number : 0 - number % 64;
    } else if (field->type == PROTOBUF_C_TYPE_UINT32) {
        *(uint32_t *)at = (uint32_t)draw_number();
    } else if (is_of(field, PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_FIXED64)) {
        *(uint64_t *)at = draw_number();
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *data = at;
        *data = draw_bytes(field->name, bytes, others);
        return data->len != 0 && data->len != MOOT_HASH_BYTES;
    } else if (field->type != PROTOBUF_C_TYPE_MESSAGE) { /* a spec: never */
        fail_msg("%s is of a type that this test cannot draw", field->name);
    }
    return false;
}

static bool draw_fields(ProtobufCMessage *message, bool others)
{
    static uint8_t bytes[16][MOOT_HASH_BYTES];
    bool any = false;
    size_t list_count = draw() % (others ? LIST_MAX + 1 : FLAT_LIST_MAX + 1);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            any |= draw_list(field, message, list_count);
            continue;
        }
        any |= draw_field(field, (uint8_t *)message + field->offset, bytes[i % 16],
                          others);
    }
    return any;
}

/* Where the types that have a body of their own name have it. */
static const ProtobufCFieldDescriptor *body_of(enum message_type type)
{
    char name[32];
    size_t i = 0;
    for (const char *from = message_type_name(type); from[i] != '\0'; i++) {
        name[i] = (char)(from[i] - 'A' + 'a');
    }
    name[i] = '\0';
    return protobuf_c_message_descriptor_get_field_by_name(&moot__message__descriptor,
                                                           name);
}

/* Numbers drawn alone are next to never what can be said of an array. */
static void make_likely(Moot__Elements *elements, uint8_t *hash)
{
    hash[MOOT_HASH_BYTES - 1] |= MOOT_HASH_ARRAY;
    elements->what %= ELEMENTS_END;
    elements->count = 1000 + draw() % 1000;
    elements->block = 0;
    elements->kind = draw() % 2 == 0 ? ARRAY_SPREAD_BLOCK : ARRAY_SPREAD_HASHED;
    elements->homes = 1 + (uint32_t)(draw() % 4);
    elements->status = draw() % 2 == 0 ? 0 : -1;
    elements->failed = elements->status == 0 ? 0 : 1 + draw() % 1000;
    for (size_t i = 0; i < elements->n_places; i++) {
        elements->places[i] = 1 + draw() % 200;
    }
}

/* Packs a message of this type; returns how many bytes, and whether it is flat. */
static size_t draw_piece(enum message_type type, bool others, uint8_t *bytes,
                         bool *flat)
{
    static uint8_t hash[MOOT_HASH_BYTES];
    union {
        ProtobufCMessage base;
        Moot__Pollr most_fields;
        uint64_t room[64];
    } body;
    Moot__Message message;
    moot__message__init(&message);
    message.type = (Moot__Message__Type)type;
    message.hash = draw_bytes("hash", hash, false);
    *flat = true;
    const ProtobufCFieldDescriptor *field = body_of(type);
    if (field != NULL) {
        protobuf_c_message_init(field->descriptor, &body);
        *flat = !draw_fields(&body.base, others);
        if (type == MESSAGE_ELEMENTS && draw() % 4 != 0) {
            make_likely((Moot__Elements *)(void *)&body, hash);
        }
        message.body_case = (Moot__Message__BodyCase)field->id;
        message.motion = (Moot__Motion *)(void *)&body;
    }
    size_t size = moot__message__pack(&message, bytes);
    assert_true(size <= PIECE_BYTES_MAX);
    return size;
}

/* --- The two ways ----------------------------------------------------------------- */

struct way {
    struct reader reader;
    struct message message;
    bool taken;
};

static void way_begin(struct way *way)
{
    static const uint8_t payload[PAYLOAD_BYTES];
    *way = (struct way){.reader = {.arena = {.held_max = LIMIT_FRAME_BYTES},
                                   .payload = payload,
                                   .payload_bytes = PAYLOAD_BYTES}};
}

static void way_release(struct way *way) { arena_free(way->reader.arena.blocks); }

static void take_general(struct way *way, const struct wire_piece *piece)
{
    way_begin(way);
    way->taken = wire_piece_read(&way->reader, piece, &way->message) &&
                 message_check(&way->message) == NULL;
}

static void take_flat(struct way *way, const struct wire_piece *piece)
{
    static const struct message untouched;
    way_begin(way);
    way->taken = wire_flat_get(&way->reader, piece, &way->message);
    if (!way->taken) {
        assert_memory_equal(&way->message, &untouched, sizeof(untouched));
        assert_int_equal(way->reader.payload_bytes, PAYLOAD_BYTES);
    }
    way->taken = way->taken && message_check(&way->message) == NULL;
}

static void expect_same(const struct way *general, const struct way *flat)
{
    if (!message_same(&general->message, &flat->message)) {
        fail_msg("%s: not the same", message_type_name(general->message.type));
    }
    assert_int_equal(general->reader.payload_bytes, flat->reader.payload_bytes);
}

static void expect_bytes(const struct message *message, const uint8_t *bytes,
                         size_t size)
{
    uint8_t again[WIRE_FLAT_BYTES_MAX];
    assert_int_equal(wire_flat_put(message, again), size);
    assert_memory_equal(again, bytes, size);
}

/* Returns whether it is a message at all: a number may have been drawn too large. */
static bool try_drawn(enum message_type type, bool others)
{
    uint8_t bytes[PIECE_BYTES_MAX], put[WIRE_FLAT_BYTES_MAX];
    bool is_flat;
    struct way general, flat;
    size_t size = draw_piece(type, others, bytes, &is_flat);
    const struct wire_piece piece = {bytes, size};
    take_general(&general, &piece);
    take_flat(&flat, &piece);
    bool taken = general.taken;
    if (is_flat) {
        assert_int_equal(general.taken, flat.taken);
        if (taken) {
            expect_same(&general, &flat);
            expect_bytes(&general.message, bytes, size);
        }
    } else {
        assert_false(flat.taken);
        if (taken) {
            assert_int_equal(wire_flat_put(&general.message, put), 0);
        }
    }
    way_release(&general);
    way_release(&flat);
    return taken;
}

static void the_short_cut_writes_and_reads_protobufs_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < FLAT_TYPES; i++) {
        int taken = 0;
        for (int round = 0; round < ROUNDS; round++) {
            taken += try_drawn(flat_types[i], false);
        }
        if (taken < ROUNDS / 50) {
            fail_msg("%s: only %d of %d were messages",
                     message_type_name(flat_types[i]), taken, ROUNDS);
        }
    }
}

static void what_has_more_than_numbers_takes_the_general_way(void **state)
{
    (void)state;
    for (int i = 0; i < FLAT_TYPES; i++) {
        for (int round = 0; round < ROUNDS; round++) {
            try_drawn(flat_types[i], true);
        }
    }
}

static void other_types_take_the_general_way(void **state)
{
    (void)state;
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        uint8_t put[WIRE_FLAT_BYTES_MAX];
        struct message message;
        bool listed = false;
        for (int i = 0; i < FLAT_TYPES; i++) {
            listed = listed || flat_types[i] == (enum message_type)type;
        }
        sample_message((enum message_type)type, LEAST, &message);
        if ((wire_flat_put(&message, put) > 0) != listed) {
            fail_msg("%s", message_type_name(message.type));
        }
    }
}

/* --- Bent bytes ------------------------------------------------------------------- */

/* One byte changed, left out or put in. */
static size_t bend(uint8_t *bytes, size_t size)
{
    size_t at = draw() % size;
    switch (draw() % 4) {
    case 0:
        bytes[at] = (uint8_t)draw();
        return size;
    case 1:
        memmove(bytes + at, bytes + at + 1, size - at - 1);
        return size - 1;
    case 2:
        memmove(bytes + at + 1, bytes + at, size - at);
        bytes[at] = (uint8_t)draw_number();
        return size + 1;
    default:
        bytes[at] ^= (uint8_t)(1u << draw() % 8);
        return size;
    }
}

static void of_bent_bytes_it_takes_only_what_the_general_way_does(void **state)
{
    (void)state;
    int taken = 0, left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t bytes[PIECE_BYTES_MAX + 1], drawn_bytes[PIECE_BYTES_MAX];
        bool is_flat;
        size_t drawn_size = draw_piece(flat_types[round % FLAT_TYPES], draw() % 4 == 0,
                                       drawn_bytes, &is_flat);
        for (int i = 0; i < BENDS; i++) {
            struct way general, flat;
            memcpy(bytes, drawn_bytes, drawn_size);
            size_t size = bend(bytes, drawn_size);
            /* Of exactly its size, so that AddressSanitizer sees what reads beyond. */
            uint8_t *exact = malloc(size);
            memcpy(exact, bytes, size);
            const struct wire_piece piece = {exact, size};
            take_general(&general, &piece);
            take_flat(&flat, &piece);
            if (flat.taken) {
                assert_true(general.taken);
                expect_same(&general, &flat);
                expect_bytes(&flat.message, exact, size);
            }
            taken += flat.taken;
            left += general.taken && !flat.taken;
            way_release(&general);
            way_release(&flat);
            free(exact);
        }
    }
    assert_true(taken > ROUNDS && left > ROUNDS / 4);
}

/* What protobuf reads and does not write: each is the same RESULT, PULL or GRANT. */
static void odd_spellings_are_left_to_the_general_way(void **state)
{
    (void)state;
#define H "12100102030405060708090a0b0c0d0e0f10"
    static const struct {
        const char *hex;
        bool plain;
    } rows[] = {
        {"0803" H "2a022802", true},    /* a size of 2 */
        {"0803" H "2a03288200", false}, /* with a byte more than it takes */
        {"088300" H "2a022802", false}, /* likewise the type */
        {"0803" H "2a8200"
         "2802",
         false},                          /* and the body's size */
        {"0803" H "2a0410002802", false}, /* an explicit zero */
        {"0803" H "2a0428021001", false}, /* fields in another order */
        {"0803"
         "2a022802" H,
         false}, /* the hash behind the body */
        {H "0803"
           "2a022802",
         false}, /* and before the type */
        {"0804" H, true},
        {"0804" H "2a00", false}, /* a body that belongs to none */
        {"0802" H "220e"
         "12010a"
         "1a0102"
         "2208"
         "0000000000000000",
         false},
        {"0802" H "2210"
         "12010a"
         "1a0102"
         "2208"
         "0000000000000000",
         true},
        {"0802" H "220f"
         "12010a"
         "1a0102"
         "2208"
         "00000000000000",
         false},
        {"0802" H "2206"
         "12010a"
         "1a0302",
         false},
        {"081f", true},
        {"081f1210"
         "00000000000000000000000000000000",
         false},
        {"0817aa0100", true},
        {"0817aa0109090100000000000000", true},
        {"0817aa0109090000000000000000", false},
    };
#undef H
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t size = strlen(rows[i].hex) / 2;
        uint8_t *bytes = malloc(size); /* so that AddressSanitizer sees its end */
        for (size_t j = 0; j < size; j++) {
            char digits[3] = {rows[i].hex[2 * j], rows[i].hex[2 * j + 1], '\0'};
            bytes[j] = (uint8_t)strtoul(digits, NULL, 16);
        }
        struct way flat;
        const struct wire_piece piece = {bytes, size};
        take_flat(&flat, &piece);
        if (flat.taken != rows[i].plain) {
            fail_msg("row %zu", i);
        }
        way_release(&flat);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_cut_writes_and_reads_protobufs_bytes),
        cmocka_unit_test(what_has_more_than_numbers_takes_the_general_way),
        cmocka_unit_test(other_types_take_the_general_way),
        cmocka_unit_test(of_bent_bytes_it_takes_only_what_the_general_way_does),
        cmocka_unit_test(odd_spellings_are_left_to_the_general_way),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
