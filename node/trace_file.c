/* trace_file.c - see trace_file.h. */
#include "trace_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Protocol Buffers, "Encoding": a field's key is its number and its wire type. */
enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    VARINT_BYTES = 10,
    FIELD_KIND = 1,
    FIELD_AFTER
};

bool trace_file_open(struct trace_file *file, const char *path)
{
    *file = (struct trace_file){.fd = -1};
    file->buffer = malloc(TRACE_BUFFER_BYTES);
    if (file->buffer == NULL) {
        errno = ENOMEM;
        return false;
    }
    file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file->fd < 0) {
        free(file->buffer);
        file->buffer = NULL;
        return false;
    }
    return true;
}

void trace_file_flush(struct trace_file *file)
{
    size_t written = 0;
    while (file->error == 0 && written < file->used) {
        ssize_t now = write(file->fd, file->buffer + written, file->used - written);
        if (now >= 0) {
            written += (size_t)now;
        } else if (errno != EINTR) {
            file->error = errno;
        }
    }
    file->used = 0;
}

void trace_file_close(struct trace_file *file)
{
    if (file->buffer == NULL) {
        return;
    }
    trace_file_flush(file);
    if (close(file->fd) != 0 && file->error == 0) {
        file->error = errno;
    }
    free(file->buffer);
    file->buffer = NULL;
}

/* --- Fields --------------------------------------------------------------------- */

static inline void put_varint(struct trace_file *file, uint64_t value)
{
    uint8_t *at = file->buffer + file->used;
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    file->used = (size_t)(at - file->buffer);
}

void trace_put_fixed(struct trace_file *file, unsigned field, const uint8_t bytes[8])
{
    put_varint(file, field << 3 | WIRE_FIXED64);
    memcpy(file->buffer + file->used, bytes, 8);
    file->used += 8;
}

void trace_put(struct trace_file *file, unsigned field, uint64_t value)
{
    if (value != 0) {
        put_varint(file, field << 3 | WIRE_VARINT);
        put_varint(file, value);
    }
}

void trace_put_signed(struct trace_file *file, unsigned field, int32_t value)
{
    uint32_t bits = (uint32_t)value;
    trace_put(file, field, bits << 1 ^ (value < 0 ? UINT32_MAX : 0));
}

void trace_put_bytes(struct trace_file *file, unsigned field, const void *bytes,
                     size_t size)
{
    size_t room = TRACE_RECORD_BYTES - (file->used - file->begun) - 4 * VARINT_BYTES;
    size = size < room ? size : room;
    if (size != 0) {
        put_varint(file, field << 3 | WIRE_BYTES);
        put_varint(file, size);
        memcpy(file->buffer + file->used, bytes, size);
        file->used += size;
    }
}

/* --- Records -------------------------------------------------------------------- */

/* One byte is left for the length, which is what nearly all records take. */
void trace_record_begin(struct trace_file *file, unsigned kind, uint64_t now_ns)
{
    if (file->used > TRACE_FLUSH_BYTES) {
        trace_file_flush(file);
    }
    uint64_t after_ns = now_ns > file->last_ns ? now_ns - file->last_ns : 0;
    file->last_ns += after_ns;
    file->begun = file->used++;
    trace_put(file, FIELD_KIND, kind);
    trace_put(file, FIELD_AFTER, after_ns);
}

void trace_record_end(struct trace_file *file)
{
    size_t size = file->used - file->begun - 1;
    uint8_t *record = file->buffer + file->begun;
    assert(size <= TRACE_RECORD_BYTES);
    if (size < 0x80) {
        record[0] = (uint8_t)size;
        return;
    }
    size_t more = size < 0x4000 ? 1 : 2;
    memmove(record + 1 + more, record + 1, size);
    file->used = file->begun;
    put_varint(file, size);
    file->used += size;
}

void trace_file_append(struct trace_file *file, const void *record, size_t size,
                       uint64_t now_ns)
{
    if (size > TRACE_RECORD_BYTES) {
        return;
    }
    file->last_ns = now_ns;
    put_varint(file, size);
    memcpy(file->buffer + file->used, record, size);
    file->used += size;
}
