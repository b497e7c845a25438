/* wire_account.c - INQUIRY and ACCOUNT on the wire (wire_write.c, wire_read.c and
 * wire_check.c say how these are called).
 *
 * What an ACCOUNT says is a message of its own, packed; here it is bytes, and who reads
 * it (node/explain/rank_snapshot.h) checks it.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"

void wire_put_inquiry(struct encoder *encoder, const struct message *message)
{
    const struct message_inquiry *inquiry = &message->u.inquiry;
    Moot__Inquiry *to = encoder->message.inquiry = &encoder->body.inquiry;
    moot__inquiry__init(to);
    to->number = inquiry->number;
    to->hashes = wire_borrow(inquiry->hashes, inquiry->count * sizeof(moot_hash));
}

bool wire_get_inquiry(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    size_t count;
    out->u.inquiry.number = message->inquiry->number;
    if (!wire_get_hashes(reader, &message->inquiry->hashes, &out->u.inquiry.hashes,
                         &count)) {
        return false;
    }
    if (count > LIMIT_INQUIRY_HASHES) {
        return wire_refuse(reader, "INQUIRY: too many tasks");
    }
    out->u.inquiry.count = (uint32_t)count;
    return true;
}

const char *wire_check_inquiry(const struct message *message)
{
    const struct message_inquiry *inquiry = &message->u.inquiry;
    if (inquiry->count > LIMIT_INQUIRY_HASHES) {
        return "INQUIRY: too many tasks";
    }
    for (uint32_t i = 0; i < inquiry->count; i++) {
        if (hash_is_zero(&inquiry->hashes[i])) {
            return "INQUIRY: a task's hash is zero";
        }
    }
    return NULL;
}

void wire_put_account(struct encoder *encoder, const struct message *message)
{
    const struct message_account *account = &message->u.account;
    Moot__Told *to = encoder->message.account = &encoder->body.account;
    moot__told__init(to);
    to->number = account->number;
    to->account = wire_borrow(account->bytes, account->size);
}

bool wire_get_account(struct reader *reader, const Moot__Message *message,
                      struct message *out)
{
    (void)reader;
    const Moot__Told *from = message->account;
    out->u.account = (struct message_account){
        .number = from->number, .bytes = from->account.data, .size = from->account.len};
    return true;
}

const char *wire_check_account(const struct message *message)
{
    const struct message_account *account = &message->u.account;
    if (account->bytes == NULL || account->size == 0) {
        return "ACCOUNT: it says nothing";
    }
    return account->size <= LIMIT_ACCOUNT_BYTES ? NULL : "ACCOUNT: it is too long";
}
