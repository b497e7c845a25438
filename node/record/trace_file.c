/* trace_file.c - see trace_file.h. */
#include "node/record/trace_file.h"

#include "node/record/fresh_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool trace_file_open(struct trace_file *file, const char *path)
{
    *file = (struct trace_file){.fd = -1};
    file->buffer = malloc(TRACE_BUFFER_BYTES);
    if (file->buffer == NULL) {
        errno = ENOMEM;
        return false;
    }
    file->fd = fresh_file_open(path);
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

/* --- Records -------------------------------------------------------------------- */

static void length_put(struct trace_file *file, uint64_t size)
{
    struct trace_record record = {.at = file->buffer + file->used};
    trace_put_varint(&record, size);
    file->used = (size_t)(record.at - file->buffer);
}

/* The length takes more than the byte that was left for it. */
void trace_record_end_long(struct trace_file *file, uint8_t *begun, size_t size)
{
    assert(size <= TRACE_RECORD_BYTES);
    size_t more = size < 0x4000 ? 1 : 2;
    memmove(begun + 1 + more, begun + 1, size);
    length_put(file, size);
    file->used += size;
}

void trace_file_append(struct trace_file *file, const void *record, size_t size,
                       uint64_t now_ns)
{
    if (size > TRACE_RECORD_BYTES) {
        return;
    }
    file->last_ns = now_ns;
    length_put(file, size);
    memcpy(file->buffer + file->used, record, size);
    file->used += size;
}
