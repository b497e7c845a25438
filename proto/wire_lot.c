/* wire_lot.c - LOT on the wire (wire_write.c, wire_read.c and wire_check.c say how
 * these are called).
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

void wire_put_lot(struct encoder *encoder, const struct message *message)
{
    const struct message_lot *lot = &message->u.lot;
    Moot__Lot *to = encoder->message.lot = &encoder->body.lot;
    moot__lot__init(to);
    to->what = lot->what;
    to->number = lot->number;
    to->hashes = wire_borrow(lot->hashes, lot->count * sizeof(*lot->hashes));
    to->marks = lot->marks;
}

bool wire_get_lot(struct reader *reader, const Moot__Message *message,
                  struct message *out)
{
    const Moot__Lot *from = message->lot;
    struct message_lot *to = &out->u.lot;
    size_t count;
    if (!wire_get_hashes(reader, &from->hashes, &to->hashes, &count)) {
        return false;
    }
    if (count > LIMIT_LOT_HASHES) {
        return wire_refuse(reader, "LOT: too many tasks");
    }
    to->count = (uint32_t)count;
    to->what = (enum lot_what)from->what;
    to->number = from->number;
    to->marks = from->marks;
    return true;
}

const char *wire_check_lot(const struct message *message)
{
    const struct message_lot *lot = &message->u.lot;
    if (lot->what >= LOT_END) {
        return "LOT: no such thing";
    }
    if (lot->count > LIMIT_LOT_HASHES || lot->marks > lot->count) {
        return "LOT: too many tasks";
    }
    for (uint32_t i = 0; i < lot->count; i++) {
        if (hash_is_zero(&lot->hashes[i])) {
            return "LOT: a task's hash is zero";
        }
    }
    return NULL;
}
