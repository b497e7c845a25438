/* wire.h - frames: many messages to one peer, as bytes.
 *
 * A frame is a fixed little-endian envelope and one protobuf body (moot.proto),
 * followed by the payloads of its eager results back to back.  Payloads stand outside
 * the body so that a decoded RESULT points into the received frame instead of a copy.
 *
 *   offset size  field
 *        0    4  magic "MOOT"
 *        4    1  version (WIRE_VERSION)
 *        5    1  flags, 0
 *        6    2  reserved, 0
 *        8    4  body bytes
 *       12    4  payload bytes
 *       16    8  source uid
 *       24    8  destination uid
 *       32    8  epoch
 *       40    8  view id
 *       48    8  link sequence number   (0 on a reliable wire)
 *       56    8  link acknowledgement   (0 on a reliable wire)
 *
 * Nothing that comes in is trusted: the envelope's lengths are checked against what was
 * received and against limits.h, the body is walked with bounded depth and counts
 * before protobuf-c unpacks it through an allocator that has a cap, and every field is
 * checked before it becomes a message.  A frame is good as a whole or dropped as a
 * whole.
 */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include "proto/message.h"

enum { WIRE_VERSION = 17, WIRE_ENVELOPE_BYTES = 64 };

struct wire_envelope {
    uint64_t src_uid, dst_uid;
    uint64_t epoch, view_id;
    uint64_t link_sequence, link_ack;
};

/* --- Writing ---------------------------------------------------------------------- */

/* Collects messages for one peer. */
struct wire_writer;
struct wire_writer *wire_writer_new(void);         /* NULL without memory */
void wire_writer_free(struct wire_writer *writer); /* accepts NULL */

/* Adds a message; what it borrows is copied.  On failure the writer is as it was:
 *   MOOT_ERR_LIMIT      the frame would exceed a limit: send what there is, add again
 *   MOOT_ERR_INVALID    never: the message breaks a limit of limits.h, lacks what its
 *                       type needs (a hash that is not zero, if it is about a task), or
 *                       has another epoch or view than those before it in the frame
 *   MOOT_ERR_NO_MEMORY
 * A label or site that is too long is cut; an empty one comes back as NULL. */
int wire_writer_add(struct wire_writer *writer, const struct message *message);
size_t wire_writer_count(const struct wire_writer *writer);
size_t
wire_writer_size(const struct wire_writer *writer); /* of the frame so far, bytes */

/* Writes the frame to a fresh malloc'd buffer that the caller frees, and empties the
 * writer, which keeps its memory for the next frame.  Equal messages give equal bytes;
 * a frame may be empty.  MOOT_ERR_INVALID if the messages' epoch or view is not the
 * envelope's, MOOT_ERR_NO_MEMORY: then the writer is as it was. */
int wire_writer_finish(struct wire_writer *writer, const struct wire_envelope *envelope,
                       void **frame, size_t *size);
/* The same, to a place of wire_writer_size() bytes that the caller has; no memory is
 * needed. */
int wire_writer_put(struct wire_writer *writer, const struct wire_envelope *envelope,
                    void *frame);

/* --- Reading ---------------------------------------------------------------------- */

/* A decoded frame; messages and all they borrow live until wire_frame_release, and
 * eager payloads as long as the bytes that were decoded. */
struct wire_frame {
    struct wire_envelope envelope;
    struct message *messages;
    size_t count;
    void *arena; /* private */
};

/* MOOT_OK, MOOT_ERR_PROTOCOL (another version), MOOT_ERR_LIMIT, MOOT_ERR_NO_MEMORY, or
 * MOOT_ERR_INVALID.  On failure *why says what is wrong, in static text, and nothing is
 * held. */
int wire_frame_decode(const void *bytes, size_t size, struct wire_frame *out,
                      const char **why);
/* The same, into the memory of a frame that was decoded before, or is zero: what that
 * one lent is gone, whatever this returns.  Release it in the end. */
int wire_frame_decode_again(const void *bytes, size_t size, struct wire_frame *frame,
                            const char **why);
/* Accepts a zero-initialised and a released frame. */
void wire_frame_release(struct wire_frame *frame);

#endif
