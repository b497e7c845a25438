/* rank_snapshot.h - what a rank says of itself when it is asked.
 *
 * An account (Account of moot.proto) is a snapshot: lanes, open waits, the tasks that
 * these hang on as this rank knows them, peers as it sees them, figures and timers.  It
 * is packed to bytes, which go to a peer that asked (snapshot_query.h); diagnosis.h
 * makes sense of several.
 *
 * Making one changes nothing and takes time in proportion to what hangs, with bounds:
 * of many waits, tasks and peers only the first are told, and how many waits are not.
 * A brief one tells of none of these: it can be asked for several times a second
 * without being felt.
 */
#ifndef NODE_EXPLAIN_RANK_SNAPSHOT_H
#define NODE_EXPLAIN_RANK_SNAPSHOT_H

#include "hashing/placement.h"
#include "node/context/context.h"

#include "moot.pb-c.h"

/* A member's fate: Change.what of moot.proto. */
enum account_change {
    ACCOUNT_CHANGE_JOINED,
    ACCOUNT_CHANGE_LEFT,
    ACCOUNT_CHANGE_DIED,
    ACCOUNT_CHANGE_REMOVED,
    ACCOUNT_CHANGE_END
};

/* This rank's account, with what it knows of the tasks that are asked about; malloc'd,
 * at most LIMIT_ACCOUNT_BYTES.  NULL without memory.  Under the engine lock. */
uint8_t *account_pack(struct moot *m, const moot_hash *asked, uint32_t asked_count,
                      size_t *size);

/* The same without lanes, waits, tasks and peers. */
uint8_t *account_pack_brief(struct moot *m, size_t *size);

/* The same without figures and timers: some hundred bytes. */
uint8_t *account_pack_self(struct moot *m, size_t *size);

/* Reads one that came from elsewhere: NULL without memory, or if counts, ranks, hashes
 * or states in it are not what they should be.  Texts in it may be any bytes.  Free
 * with account_free. */
Moot__Account *account_read(const uint8_t *bytes, size_t size);
/* The same of an account that was read as a part of something else. */
bool account_check(const Moot__Account *account);
void account_free(Moot__Account *account); /* accepts NULL */

/* What stands in an account, for whom it is read. */
moot_hash account_hash(const ProtobufCBinaryData *bytes); /* absent: zero */
/* Adds the ranks; false without memory. */
bool account_ranks(const ProtobufCBinaryData *bytes, struct rankset *out);
const Moot__Account__Task *account_task(const Moot__Account *account,
                                        const moot_hash *hash); /* NULL: not told */
/* The child that the running kernel of a task waits for; false: it waits for none. */
bool account_child(const Moot__Account *account, const moot_hash *task,
                   moot_hash *child);
const Moot__Account__Peer *account_peer(const Moot__Account *account, uint32_t rank);
/* A figure of figures.h by its key; 0 if there is none. */
uint64_t account_figure(const Moot__Account *account, const char *key);

#endif
