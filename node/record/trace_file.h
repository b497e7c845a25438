/* trace_file.h - the file of one rank's records, and the bytes of a record.
 *
 * A record is a protobuf message (moot.proto, Record) behind its length.  It is put
 * together field by field where it will stand in a buffer, by functions that are inline
 * so that the place stays in a register: a record costs some hundredths of a
 * microsecond that way, and packing through structs many times that.  The buffer goes
 * to the file whole records at a time, by one write: what was written before a crash
 * can be read, and of the last write at most the end is torn.
 *
 * If the file cannot be written to, what comes is dropped, and the failure is kept for
 * whoever asks.
 */
#ifndef NODE_RECORD_TRACE_FILE_H
#define NODE_RECORD_TRACE_FILE_H

#include "hashing/moot_hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Protocol Buffers, "Encoding": a field's key is its number and its wire type. */
enum { TRACE_VARINT = 0, TRACE_FIXED64 = 1, TRACE_BYTES = 2, TRACE_VARINT_BYTES = 10 };
enum { TRACE_FIELD_KIND = 1, TRACE_FIELD_AFTER = 2 }; /* each record begins with them */

enum {
    TRACE_BUFFER_BYTES = 256 << 10,
    TRACE_FLUSH_BYTES = 96 << 10,  /* so much is worth a write */
    TRACE_RECORD_BYTES = 64 << 10, /* at most; the numbers of 4096 inputs are in it */
    TRACE_FORMAT = 1
};

struct trace_file {
    int fd;
    int error; /* errno of the first failure; 0: none */
    uint64_t last_ns;
    size_t used; /* of the buffer */
    uint8_t *buffer;
};

/* False, and errno says why, if there is no such folder or no memory.  An older trace
 * of this rank is replaced. */
bool trace_file_open(struct trace_file *file, const char *path);
void trace_file_close(struct trace_file *file); /* writes what is left */
void trace_file_flush(struct trace_file *file);

/* A record from its beginning to its end, fields between; one at a time. */
struct trace_record {
    uint8_t *begun, *at; /* in the buffer */
};

static inline void trace_put_varint(struct trace_record *record, uint64_t value)
{
    uint8_t *at = record->at;
    for (; value >= 0x80; value >>= 7) {
        *at++ = (uint8_t)(value | 0x80);
    }
    *at++ = (uint8_t)value;
    record->at = at;
}

/* What is zero or empty is left out. */
static inline void trace_put(struct trace_record *record, unsigned field,
                             uint64_t value)
{
    if (value != 0) {
        trace_put_varint(record, field << 3 | TRACE_VARINT);
        trace_put_varint(record, value);
    }
}

static inline void trace_put_signed(struct trace_record *record, unsigned field,
                                    int32_t value)
{
    uint32_t bits = (uint32_t)value;
    trace_put(record, field, bits << 1 ^ (value < 0 ? UINT32_MAX : 0));
}

static inline void trace_put_fixed(struct trace_record *record, unsigned field,
                                   const uint8_t bytes[8])
{
    trace_put_varint(record, field << 3 | TRACE_FIXED64);
    memcpy(record->at, bytes, 8);
    record->at += 8;
}

/* Cut where a record of TRACE_RECORD_BYTES ends. */
static inline void trace_put_bytes(struct trace_record *record, unsigned field,
                                   const void *bytes, size_t size)
{
    size_t used = (size_t)(record->at - record->begun);
    size_t room = TRACE_RECORD_BYTES - used - 4 * TRACE_VARINT_BYTES;
    size = size < room ? size : room;
    if (size != 0) {
        trace_put_varint(record, field << 3 | TRACE_BYTES);
        trace_put_varint(record, size);
        memcpy(record->at, bytes, size);
        record->at += size;
    }
}

/* `now_ns` is not before that of the record before, or is taken for that.  One byte is
 * left for the length, which is what nearly all records take. */
static inline struct trace_record trace_record_begin(struct trace_file *file,
                                                     unsigned kind, uint64_t now_ns)
{
    if (file->used > TRACE_FLUSH_BYTES) {
        trace_file_flush(file);
    }
    uint64_t after_ns = now_ns > file->last_ns ? now_ns - file->last_ns : 0;
    file->last_ns += after_ns;
    uint8_t *begun = file->buffer + file->used;
    struct trace_record record = {begun, begun + 1};
    trace_put(&record, TRACE_FIELD_KIND, kind);
    trace_put(&record, TRACE_FIELD_AFTER, after_ns);
    return record;
}

void trace_record_end_long(struct trace_file *file, uint8_t *begun, size_t size);

static inline void trace_record_end(struct trace_file *file,
                                    const struct trace_record *record)
{
    size_t size = (size_t)(record->at - record->begun) - 1;
    if (size < 0x80) {
        record->begun[0] = (uint8_t)size;
        file->used += size + 1;
    } else {
        trace_record_end_long(file, record->begun, size);
    }
}

/* A record that is packed already.  Of a time of its own, which becomes the last. */
void trace_file_append(struct trace_file *file, const void *record, size_t size,
                       uint64_t now_ns);

#endif
