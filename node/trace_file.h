/* trace_file.h - the file of one rank's records, and the bytes of a record.
 *
 * A record is a protobuf message (moot.proto, Record) behind its length.  It is put
 * together field by field where it will stand in a buffer, because a record costs less
 * than a tenth of a microsecond that way, and packing through structs several times
 * that.  The buffer goes to the file whole records at a time, by one write: what was
 * written before a crash can be read, and of the last write at most the end is torn.
 *
 * If the file cannot be written to, what comes is dropped, and the failure is kept for
 * whoever asks.
 */
#ifndef NODE_TRACE_FILE_H
#define NODE_TRACE_FILE_H

#include "moot_hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRACE_BUFFER_BYTES = 256 << 10,
    TRACE_FLUSH_BYTES = 48 << 10,  /* so much is worth a write */
    TRACE_RECORD_BYTES = 64 << 10, /* at most; the numbers of 4096 inputs are in it */
    TRACE_FORMAT = 1
};

struct trace_file {
    int fd;
    int error; /* errno of the first failure; 0: none */
    uint64_t last_ns;
    size_t used, begun; /* of the buffer; where the record at hand begins */
    uint8_t *buffer;
};

/* False, and errno says why, if there is no such folder or no memory.  An older trace
 * of this rank is replaced. */
bool trace_file_open(struct trace_file *file, const char *path);
void trace_file_close(struct trace_file *file); /* writes what is left */
void trace_file_flush(struct trace_file *file);

/* A record from its beginning to its end, fields between.  `now_ns` is not before that
 * of the record before, or is taken for that. */
void trace_record_begin(struct trace_file *file, unsigned kind, uint64_t now_ns);
void trace_record_end(struct trace_file *file);

/* What is zero or empty is left out. */
void trace_put(struct trace_file *file, unsigned field, uint64_t value);
void trace_put_signed(struct trace_file *file, unsigned field, int32_t value);
void trace_put_bytes(struct trace_file *file, unsigned field, const void *bytes,
                     size_t size);
void trace_put_fixed(struct trace_file *file, unsigned field, const uint8_t bytes[8]);

/* A record that is packed already.  Of a time of its own, which becomes the last. */
void trace_file_append(struct trace_file *file, const void *record, size_t size,
                       uint64_t now_ns);

#endif
