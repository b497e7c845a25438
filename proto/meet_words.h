/* meet_words.h - what ranks say at a meeting, as it stands in messages and memory: each
 * one's bytes behind their length, one behind the other.  Nobody says nothing: a length
 * is at least 1. */
#ifndef PROTO_MEET_WORDS_H
#define PROTO_MEET_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORDS_HEAD_BYTES = 4 };

struct words_frame {
    const unsigned char *bytes;
    size_t size;
};

/* The frame that begins at *at, and moves that behind it.  False: there is none, or it
 * is not whole (words_are_whole()). */
static inline bool words_next(const void *words, size_t size, size_t *at,
                              struct words_frame *out)
{
    const unsigned char *from = words;
    if (size - *at < WORDS_HEAD_BYTES) {
        return false;
    }
    from += *at;
    const size_t length =
        from[0] | (size_t)from[1] << 8 | (size_t)from[2] << 16 | (size_t)from[3] << 24;
    if (length == 0 || length > size - *at - WORDS_HEAD_BYTES) {
        return false;
    }
    *out = (struct words_frame){.bytes = from + WORDS_HEAD_BYTES, .size = length};
    *at += WORDS_HEAD_BYTES + length;
    return true;
}

static inline bool words_are_whole(const void *words, size_t size)
{
    struct words_frame frame;
    size_t at = 0;
    while (words_next(words, size, &at, &frame)) {
        ;
    }
    return at == size;
}

/* Writes WORDS_HEAD_BYTES and what is in the frame. */
static inline void words_put(unsigned char *to, const struct words_frame *frame)
{
    for (int i = 0; i < WORDS_HEAD_BYTES; i++) {
        to[i] = (unsigned char)(frame->size >> (8 * i));
    }
    memcpy(to + WORDS_HEAD_BYTES, frame->bytes, frame->size);
}

#endif
