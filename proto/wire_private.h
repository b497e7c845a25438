/* wire_private.h - what the wire_*.c files share.
 *
 * A frame comes in through these, in this order, and each may rely on those before it:
 *
 *   wire_decode.c  the envelope: magic, version, lengths against what was received
 *   wire_usual.c   a good result with its bytes at once; with any other goes on
 *   wire_flat.c    a message of plain numbers at once; likewise
 *   wire_parts.c   results of elements at once; likewise
 *   wire_walk.c    the body's shape: depth, counts, lengths, no field twice
 *   protobuf-c     unpacks message by message into an arena with a cap (wire_arena.c)
 *   wire_read.c    widths: 16-byte hashes, whole words, texts without a zero in them
 *   wire_check.c   meaning: enum ranges, counts against limits.h, what must be there
 *
 * A frame goes out through wire_usual.c, or wire_check.c and wire_flat.c or
 * wire_write.c, and wire_encode.c: what one rank may send is what another accepts.
 *
 * The messages by which ranks agree on views have files of their own beside those of
 * the rest: wire_view_read.c, wire_view_check.c and wire_view_write.c.  So has the
 * census, wire_census.c, the elements of arrays, wire_elements.c, their results,
 * wire_parts.c, and what ranks tell each other of themselves, wire_account.c.
 */
#ifndef PROTO_WIRE_PRIVATE_H
#define PROTO_WIRE_PRIVATE_H

#include "proto/limits.h"
#include "proto/wire.h"

#include "moot.pb-c.h"

#include <endian.h>
#include <string.h>

/* Where the envelope's fields stand (wire.h). */
enum {
    ENVELOPE_MAGIC = 0,
    ENVELOPE_VERSION = 4,
    ENVELOPE_FLAGS = 5,
    ENVELOPE_RESERVED = 6,
    ENVELOPE_BODY_BYTES = 8,
    ENVELOPE_PAYLOAD_BYTES = 12,
    ENVELOPE_SRC_UID = 16,
    ENVELOPE_DST_UID = 24,
    ENVELOPE_EPOCH = 32,
    ENVELOPE_VIEW_ID = 40,
    ENVELOPE_LINK_SEQUENCE = 48,
    ENVELOPE_LINK_ACK = 56
};
#define WIRE_MAGIC "MOOT"

/* In front of each message of the body: field 1, length-delimited. */
#define WIRE_MESSAGE_KEY 0x0a

/* Numbers of a fixed size stand on the wire with their lowest byte first. */
static inline void wire_put_u32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof(value));
}

static inline void wire_put_u64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
}

static inline uint32_t wire_get_u32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

static inline uint64_t wire_get_u64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

#define LIMIT_SIDES 4u /* of a DIVERGED: message_diverged.side */

/* NULL if the message keeps every limit and has what its type needs; otherwise what is
 * wrong, in static text.  Looks at everything but the lengths of label and site, which
 * are cut on the way out and checked on the way in. */
const char *message_check(const struct message *message);

/* NULL, or what is wrong with the name of a kernel or a map, or with hashes. */
const char *wire_check_name(const char *name);
const char *wire_check_hashes(const moot_hash *hashes, size_t count);

/* NULL, or what is wrong with a set that must be there and not be empty. */
const char *wire_check_set(const struct rankset *set);
/* Likewise, of one that may be NULL. */
const char *wire_check_set_or_null(const struct rankset *set);

/* --- wire_view_check.c ------------------------------------------------------------ */

typedef const char *check_fn(const struct message *message);
check_fn wire_check_heartbeat, wire_check_paxos, wire_check_view, wire_check_report,
    wire_check_fenced, wire_check_join, wire_check_tally, wire_check_census,
    wire_check_leave, wire_check_meet, wire_check_lot, wire_check_snapshot,
    wire_check_inquiry, wire_check_account, wire_check_grant, wire_check_signature,
    wire_check_elements, wire_check_parts;

/* --- wire_walk.c ------------------------------------------------------------------ */

/* One message of the body. */
struct wire_piece {
    const uint8_t *bytes;
    size_t size;
};

/* Splits the next message off the front of a body, looking at its length only.  False
 * at the end of the body, or when there is something else: then *why says what. */
bool wire_piece_next(const uint8_t **body, size_t *size, struct wire_piece *piece,
                     const char **why);

/* NULL if the piece is a well-formed Message; otherwise what is wrong. */
const char *wire_piece_walk(const struct wire_piece *piece);

/* --- wire_arena.c ----------------------------------------------------------------- */

struct arena_block;

/* Memory that is given piece by piece and freed as a whole.  Zero-initialise. */
struct arena {
    struct arena_block *blocks; /* newest first */
    size_t held_bytes;          /* of all blocks */
    size_t held_max;
    int error; /* MOOT_ERR_NO_MEMORY or _LIMIT, once an allocation has failed */
};

/* An empty one over blocks that have served, of which the first stays if it is of usual
 * size. */
void arena_reuse(struct arena *arena, struct arena_block *blocks);
/* Makes sure that the next `size` bytes come from one block. */
bool arena_reserve(struct arena *arena, size_t size);
/* Aligned for any type, not zeroed, followed by one zero byte, so that bytes that were
 * copied into it can be read as text.  NULL: arena->error says why. */
void *arena_take(struct arena *arena, size_t size);
/* Frees a chain of blocks; NULL is none. */
void arena_free(struct arena_block *blocks);

/* --- wire_flat.c ------------------------------------------------------------------ */

enum { WIRE_FLAT_BYTES_MAX = 288 };

/* Writes a message that passed message_check(), as protobuf-c would; returns how many
 * bytes that took, at most WIRE_FLAT_BYTES_MAX, or 0: it has more than plain numbers.
 */
size_t wire_flat_put(const struct message *message, uint8_t *bytes);

/* --- wire_usual.c ----------------------------------------------------------------- */

/* As wire_flat_put(), of a message that has not passed message_check(), which it then
 * would; 0: it is none of the usual ones. */
size_t wire_usual_put(const struct message *message, uint8_t *bytes);

/* --- wire_write.c ----------------------------------------------------------------- */

/* One message on its way.  What it borrows is the caller's or stands in the scratch. */
struct encoder {
    uint8_t *scratch; /* the free rest; its size was reserved by the caller */
    Moot__Message message;
    union {
        Moot__Motion motion;
        Moot__Decision decision;
        Moot__Result result;
        Moot__Refer refer;
        Moot__Accept accept;
        Moot__Verdict verdict;
        Moot__Cancel cancel;
        Moot__Roll roll;
        Moot__Want want;
        Moot__Hashes hashes;
        Moot__State state;
        Moot__Poll poll;
        Moot__Pollr pollr;
        Moot__Released released;
        Moot__Resolve resolve;
        Moot__Chase chase;
        Moot__Family family;
        Moot__Diverged diverged;
        Moot__Adjourn adjourn;
        Moot__Kernel kernel;
        Moot__Heartbeat heartbeat;
        Moot__Grant grant;
        Moot__Paxos paxos;
        Moot__Report report;
        Moot__Fenced fenced;
        Moot__Join join;
        Moot__Tally tally;
        Moot__Leave leave;
        Moot__Census census;
        Moot__Inquiry inquiry;
        Moot__Told account;
        Moot__Meet meet;
        Moot__Lot lot;
        Moot__Ended ended;
        Moot__Snapshot snapshot;
        Moot__Signatures signatures;
        Moot__Elements elements;
        Moot__Parts parts;
    } body;
    Moot__Spec spec;
    Moot__View view;             /* of a VIEW, or of a Paxos message */
    Moot__Signatures signatures; /* of a heartbeat */
    Moot__Diverged__Side side[LIMIT_SIDES];
    Moot__Diverged__Side *sides[LIMIT_SIDES];
};

/* How much scratch the message will take. */
size_t wire_write_scratch_bytes(const struct message *message);
/* Fills encoder->message from a message that passed message_check(); encoder->scratch
 * is the caller's, aligned for any type. */
void wire_write_message(struct encoder *encoder, const struct message *message);

/* What each type's writer is made of.  Scratch is taken in multiples of what it holds:
 * who takes 64-bit numbers first and 32-bit ones after keeps all of them aligned. */
ProtobufCBinaryData wire_borrow(const void *bytes, size_t size);
/* Absent, if it is zero. */
ProtobufCBinaryData wire_borrow_hash(const moot_hash *hash);
/* NULL is absent; text for people is cut. */
ProtobufCBinaryData wire_borrow_text(const char *text, size_t bytes_max);
void *wire_scratch_take(struct encoder *encoder, size_t size);
size_t wire_set_scratch_bytes(const struct rankset *set);
/* NULL is absent. */
ProtobufCBinaryData wire_put_set(struct encoder *encoder, const struct rankset *set);
/* Writes the set's first `words` words, lowest first. */
void wire_put_words(uint8_t *bytes, const struct rankset *set, uint32_t words);

/* --- wire_census.c ---------------------------------------------------------------- */

typedef void put_fn(struct encoder *encoder, const struct message *message);
put_fn wire_put_census;
size_t wire_census_scratch_bytes(const struct message_census *census);

/* --- wire_beat.c ------------------------------------------------------------------ */

put_fn wire_put_heartbeat, wire_put_grant, wire_put_signature;
size_t wire_beat_scratch_bytes(const struct message *message);

/* --- wire_spec.c ------------------------------------------------------------------ */

/* Stands in encoder->spec. */
Moot__Spec *wire_put_spec(struct encoder *encoder, const struct message_spec *spec);
size_t wire_spec_scratch_bytes(const struct message_spec *spec); /* accepts NULL */
/* The spec of the task, or array, that has that hash. */
const char *wire_check_spec(const moot_hash *hash, const struct message_spec *spec);

/* --- wire_elements.c -------------------------------------------------------------- */

put_fn wire_put_elements;
size_t wire_elements_scratch_bytes(const struct message_elements *elements);

/* --- wire_parts.c ----------------------------------------------------------------- */

put_fn wire_put_parts;
size_t wire_parts_scratch_bytes(const struct message_parts *parts);

/* The lists of a PARTS, each without what stands before it, and its body. */
struct wire_parts_sizes {
    size_t places, sizes, body;
};
/* How many bytes a PARTS without a cut, which passed message_check(), takes; and, to a
 * place that has so many, writes it, as protobuf-c would. */
size_t wire_parts_size(const struct message *message, struct wire_parts_sizes *sizes);
void wire_parts_put(const struct message *message, const struct wire_parts_sizes *sizes,
                    uint8_t *bytes);

/* --- wire_view_write.c ------------------------------------------------------------ */

put_fn wire_put_paxos, wire_put_view, wire_put_report, wire_put_fenced, wire_put_join,
    wire_put_tally, wire_put_leave, wire_put_meet, wire_put_lot, wire_put_snapshot;

/* 0 for every other type. */
size_t wire_view_scratch_bytes(const struct message *message);

/* --- wire_read.c ------------------------------------------------------------------ */

struct reader {
    struct arena arena;
    const uint8_t *payload; /* what eager results have not taken yet */
    size_t payload_bytes;
    const char *why; /* what is wrong; NULL if the arena failed */
};

/* Turns one unpacked message into *to, which borrows from `from` and the arena. */
bool wire_read_message(struct reader *reader, const Moot__Message *from,
                       struct message *to);

/* Of bytes that wire_flat_put() may have written, into a message whose hash and union
 * are zero.  False, and nothing is changed: they are not, or the payload is cut off. */
bool wire_flat_get(struct reader *reader, const struct wire_piece *piece,
                   struct message *to);

/* Likewise, by wire_usual_put(); into a message that need not be zero, of which it sets
 * type, hash and body.  What it takes passes message_check(). */
bool wire_usual_get(struct reader *reader, const struct wire_piece *piece,
                    struct message *to);

/* Whether wire_flat_get() will probably take it. */
bool wire_flat_likely(const struct wire_piece *piece);

/* Points an eager result to its payload and passes over that.  False, and nothing is
 * changed: there is not so much. */
bool wire_take_payload(struct reader *reader, struct message_result *result);

/* What each type's reader is made of.  False: refused, and reader->why says why, or the
 * arena failed. */
bool wire_refuse(struct reader *reader, const char *why);
/* Absent is zero. */
bool wire_get_hash(struct reader *reader, const ProtobufCBinaryData *from,
                   moot_hash *to);
/* Absent is NULL. */
bool wire_get_text(struct reader *reader, const ProtobufCBinaryData *from,
                   size_t bytes_max, const char **to);
/* A list of hashes borrows its bytes. */
bool wire_get_hashes(struct reader *reader, const ProtobufCBinaryData *from,
                     const moot_hash **to, size_t *count);
/* Absent is NULL. */
bool wire_get_set(struct reader *reader, const ProtobufCBinaryData *from,
                  const struct rankset **to);

/* --- wire_decode.c ---------------------------------------------------------------- */

/* The general way of one message, which wire_flat_get() is a short cut of. */
bool wire_piece_read(struct reader *reader, const struct wire_piece *piece,
                     struct message *to);

/* --- wire_view_read.c ------------------------------------------------------------- */

typedef bool get_fn(struct reader *reader, const Moot__Message *from,
                    struct message *to);
get_fn wire_get_paxos, wire_get_view, wire_get_report, wire_get_fenced, wire_get_join,
    wire_get_tally, wire_get_leave, wire_get_meet, wire_get_lot, wire_get_snapshot;

/* --- wire_beat.c ------------------------------------------------------------------ */

get_fn wire_get_heartbeat, wire_get_grant, wire_get_signature;

/* --- wire_census.c ---------------------------------------------------------------- */

get_fn wire_get_census;

/* --- wire_spec.c ------------------------------------------------------------------ */

bool wire_get_spec(struct reader *reader, const Moot__Spec *from,
                   const struct message_spec **out);

/* --- wire_elements.c -------------------------------------------------------------- */

get_fn wire_get_elements;

/* --- wire_parts.c ----------------------------------------------------------------- */

get_fn wire_get_parts;
/* Reads bytes that wire_parts_put() may have written.  False: they are not, or there is
 * no memory; type and hash are as they were.  Borrows from the piece. */
bool wire_parts_get(struct reader *reader, const struct wire_piece *piece,
                    struct message *to);

/* --- wire_account.c --------------------------------------------------------------- */

put_fn wire_put_inquiry, wire_put_account;
get_fn wire_get_inquiry, wire_get_account;

#endif
