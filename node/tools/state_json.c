/* state_json.c - protobuf messages as JSON, by their descriptors: what an account gains
 * is in `moot state --json` without another line here.
 *
 * Bytes are text, but for fields that hold a hash (hexadecimal) or a set of ranks (a
 * list).  A state is a word, so that who reads it need not know the enums.  What is
 * absent is null: a message, a time that never comes, a rank that nobody knows.
 */
#include "consensus/core_view.h"
#include "node/context/context.h"
#include "node/explain/rank_snapshot.h"
#include "node/tools/json.h"
#include "node/tools/state_sockets.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

static void ranks_print(const ProtobufCBinaryData *bytes)
{
    struct rankset ranks = {0};
    const char *separator = "";
    (void)account_ranks(bytes, &ranks);
    putchar('[');
    for (uint32_t rank = rankset_next(&ranks, 0); rank < LIMIT_RANKS;
         rank = rankset_next(&ranks, rank + 1)) {
        printf("%s%" PRIu32, separator, rank);
        separator = ", ";
    }
    putchar(']');
    rankset_release(&ranks);
}

static void bytes_print(const char *name, const ProtobufCBinaryData *bytes)
{
    static const char *const hashes[] = {"hash", "waiter", "input", "waits_for", NULL};
    static const char *const sets[] = {"members",    "holders",   "asked_by", "awaited",
                                       "candidates", "differing", "lacking",  "homes",
                                       "partial",    NULL};
    if (is_one_of(name, sets)) {
        ranks_print(bytes);
    } else if (is_one_of(name, hashes)) {
        putchar('"');
        for (size_t i = 0; i < bytes->len; i++) {
            printf("%02x", bytes->data[i]);
        }
        putchar('"');
    } else {
        char *text = bytes->len > 0 ? strndup((char *)bytes->data, bytes->len) : NULL;
        json_text(stdout, text ? text : "");
        free(text);
    }
}

/* --- Numbers that stand for something --------------------------------------------- */

#define X(name, text) " " text
/* The words of a field, by their numbers, separated by blanks. */
static const struct {
    const char *message, *field, *words;
} states[] = {
    {"Account", "mode", "repair strict trust"},
    {"Lane", "state", "running blocked timed parked ended"},
    {"Task", "evidence", "none" EVIDENCE(X)},
    {"Task", "own", "none wait running done"},
    {"Task", "have", "nothing bare data"},
    {"Task", "stage", "idle ready running resting ended"},
    {"Task", "lack", &CORE_LACKS(X)[1] /* behind its blank */},
    {"Peer", "state", "here removed dead left"},
    {"Change", "what", "joined left died removed"},
};
#undef X
/* A word for each. */
static_assert(CORE_TRUST == 2 && CORE_LANE_ENDED == 4 && CORE_OWN_DONE == 3 &&
                  CORE_HAVE_DATA == 2 && TASK_ENDED == 4 && MEMBER_LEFT == 3,
              "states have words of their own");

/* NULL for a number that is no state. */
static const char *words_of(const char *message, const char *field)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        if (strcmp(states[i].message, message) == 0 &&
            strcmp(states[i].field, field) == 0) {
            return states[i].words;
        }
    }
    return NULL;
}

static void number_print(const char *message, const char *field, uint32_t number)
{
    const char *words = words_of(message, field);
    for (uint32_t i = 0; words && i < number; i++) {
        words += strcspn(words, " ");
        words += *words == ' ';
    }
    if (words && *words) {
        printf("\"%.*s\"", (int)strcspn(words, " "), words);
    } else if (number == UINT32_MAX) {
        printf("null");
    } else {
        printf("%" PRIu32, number);
    }
}

static void long_print(uint64_t number)
{
    if (number == CORE_NEVER || number == KNOB_NEVER) {
        printf("null");
    } else {
        printf("%" PRIu64, number);
    }
}

/* --- Values ----------------------------------------------------------------------- */

static void value_print(const char *message_name, const ProtobufCFieldDescriptor *field,
                        const void *value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
        number_print(message_name, field->name, *(const uint32_t *)value);
        break;
    case PROTOBUF_C_TYPE_SINT32:
        printf("%" PRId32, *(const int32_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT64:
        long_print(*(const uint64_t *)value);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        printf("%s", *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_BYTES:
        bytes_print(field->name, value);
        break;
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *const *message = value;
        if (*message) {
            state_json(*message);
        } else {
            printf("null");
        }
        break;
    }
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_STRING:
    default: /* accounts have none of these */
        printf("null");
    }
}

/* The size of a value of a repeated field's. */
static size_t item_size(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_UINT64  ? sizeof(uint64_t)
           : field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                                                  : sizeof(void *);
}

void state_json(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *kind = message->descriptor;
    putchar('{');
    for (unsigned i = 0; i < kind->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &kind->fields[i];
        const char *at = (const char *)message + field->offset;
        printf("%s\"%s\": ", i > 0 ? ", " : "", field->name);
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            value_print(kind->short_name, field, at);
            continue;
        }
        size_t count;
        const char *items;
        memcpy(&count, (const char *)message + field->quantifier_offset, sizeof(count));
        memcpy(&items, at, sizeof(items));
        putchar('[');
        for (size_t j = 0; j < count; j++) {
            printf("%s", j > 0 ? ", " : "");
            value_print(kind->short_name, field, items + j * item_size(field));
        }
        putchar(']');
    }
    putchar('}');
}
