/* packet.c - messages through the real encoder and decoder. */
#include "consensus/sim/engine/packet.h"
#include "proto/moot_error.h"
#include <stdlib.h>
#include <string.h>

static void *copy_bytes(const void *data, size_t size)
{
    void *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

static bool encode(struct parcel *parcel, struct wire_writer *writer,
                   const struct wire_envelope *envelope, const struct message *message,
                   const char **why)
{
    if (wire_writer_add(writer, message) != MOOT_OK ||
        wire_writer_finish(writer, envelope, &parcel->bytes, &parcel->size) !=
            MOOT_OK) {
        *why = "the wire refuses to carry it";
        return false;
    }
    if (wire_frame_decode(parcel->bytes, parcel->size, &parcel->frame, why) !=
        MOOT_OK) {
        return false;
    }
    if (parcel->frame.count != 1) {
        *why = "one message became several";
        return false;
    }
    return true;
}

struct parcel *parcel_new(struct wire_writer *writer, uint32_t from, uint64_t from_uid,
                          uint32_t to, uint64_t to_uid, const struct message *message,
                          const char **why)
{
    const struct wire_envelope envelope = {.src_uid = from_uid,
                                           .dst_uid = to_uid,
                                           .epoch = message->epoch,
                                           .view_id = message->view_id};
    struct parcel *parcel = calloc(1, sizeof(*parcel));
    if (parcel == NULL) {
        abort();
    }
    parcel->shares = 1;
    parcel->from = from;
    parcel->to = to;
    if (!encode(parcel, writer, &envelope, message, why)) {
        parcel_free(parcel);
        return NULL;
    }
    struct message *decoded = &parcel->frame.messages[0];
    if (message->type == MESSAGE_RESULT && message->u.result.data == RESULT_BULK) {
        const struct message_result *result = &message->u.result;
        parcel->bulk_size = result_brings(result);
        parcel->bulk = copy_bytes((const char *)result->payload + result_first(result),
                                  parcel->bulk_size);
        decoded->u.result.payload = parcel->bulk;
    }
    parcel->message = decoded;
    return parcel;
}

uint64_t parcel_bytes(const struct parcel *parcel)
{
    return parcel->size + parcel->bulk_size;
}

struct parcel *parcel_share(struct parcel *parcel)
{
    if (parcel != NULL) {
        parcel->shares++;
    }
    return parcel;
}

void parcel_free(struct parcel *parcel)
{
    if (parcel == NULL || --parcel->shares > 0) {
        return;
    }
    wire_frame_release(&parcel->frame);
    free(parcel->bulk);
    free(parcel->bytes);
    free(parcel);
}
