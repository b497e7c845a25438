/* wire_snapshot.c - SNAPSHOT on the wire (wire_write.c, wire_read.c and wire_check.c
 * say how these are called).
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

#include <string.h>

static bool is_zero(const unsigned char *digest)
{
    static const unsigned char zero[LIMIT_SNAPSHOT_DIGEST_BYTES];
    return memcmp(digest, zero, sizeof(zero)) == 0;
}

void wire_put_snapshot(struct encoder *encoder, const struct message *message)
{
    const struct message_snapshot *snapshot = &message->u.snapshot;
    Moot__Snapshot *to = encoder->message.snapshot = &encoder->body.snapshot;
    moot__snapshot__init(to);
    to->what = snapshot->what;
    to->number = snapshot->number;
    to->name = wire_borrow(snapshot->name, snapshot->name_size);
    to->status = snapshot->status;
    to->rank = snapshot->rank;
    to->digest = wire_borrow(snapshot->digest,
                             is_zero(snapshot->digest) ? 0 : sizeof(snapshot->digest));
    to->records = snapshot->records;
    to->bytes = snapshot->bytes;
}

bool wire_get_snapshot(struct reader *reader, const Moot__Message *message,
                       struct message *out)
{
    const Moot__Snapshot *from = message->snapshot;
    struct message_snapshot *to = &out->u.snapshot;
    if (from->name.len > LIMIT_SNAPSHOT_NAME_BYTES) {
        return wire_refuse(reader, "SNAPSHOT: its name is too long");
    }
    if (from->digest.len != 0 && from->digest.len != sizeof(to->digest)) {
        return wire_refuse(reader, "SNAPSHOT: a digest of another length");
    }
    to->what = (enum snapshot_what)from->what;
    to->number = from->number;
    to->name = from->name.len > 0 ? (const char *)from->name.data : NULL;
    to->name_size = (uint32_t)from->name.len;
    to->status = from->status;
    to->rank = from->rank;
    if (from->digest.len != 0) {
        memcpy(to->digest, from->digest.data, sizeof(to->digest));
    }
    to->records = from->records;
    to->bytes = from->bytes;
    return true;
}

const char *wire_check_snapshot(const struct message *message)
{
    const struct message_snapshot *snapshot = &message->u.snapshot;
    if ((unsigned)snapshot->what >= SNAPSHOT_END) {
        return "SNAPSHOT: no such thing";
    }
    const bool named =
        snapshot->what == SNAPSHOT_ASK || snapshot->what == SNAPSHOT_DONE;
    if (named != (snapshot->name_size > 0) ||
        snapshot->name_size > LIMIT_SNAPSHOT_NAME_BYTES) {
        return "SNAPSHOT: no such name";
    }
    if (snapshot->number == 0 && snapshot->what != SNAPSHOT_ASK) {
        return "SNAPSHOT: no such number";
    }
    if (snapshot->status > 0 || snapshot->rank >= LIMIT_RANKS) {
        return "SNAPSHOT: no such outcome";
    }
    return NULL;
}
