/* meeting_words.c - what ranks have to say at a meeting (PROTOCOL.md, M5).
 *
 * A rank's words stand in a frame, their length before them, one frame behind the
 * other; what several say alike is there once.  Their order is that in which the lowest
 * member, or each in the tree, heard of them, and is alike for all, since the outcome
 * carries them.
 */
#include "consensus/meeting/meeting_private.h"
#include "proto/limits.h"
#include "proto/meet_words.h"

#include <stdlib.h>
#include <string.h>

void words_release(struct meeting_words *words)
{
    free(words->bytes);
    *words = (struct meeting_words){0};
}

void words_overflow(struct meeting_words *words)
{
    words_release(words);
    words->too_long = true;
}

static bool has_said(const struct meeting_words *words, const struct words_frame *frame)
{
    struct words_frame other;
    size_t at = 0;
    while (words_next(words->bytes, words->size, &at, &other)) {
        if (other.size == frame->size &&
            memcmp(other.bytes, frame->bytes, frame->size) == 0 &&
            !MUTANT(WORDSTWICE)) {
            return true;
        }
    }
    return false;
}

static void add_frame(struct core *core, struct meeting_words *to,
                      const struct words_frame *frame)
{
    const size_t size = WORDS_HEAD_BYTES + frame->size;
    if (to->too_long || has_said(to, frame)) {
        return;
    }
    if (size > LIMIT_WORDS_BYTES - to->size) {
        words_overflow(to);
        return;
    }
    unsigned char *more = realloc(to->bytes, to->size + size);
    if (more == NULL) {
        core->broken = true;
        return;
    }
    words_put(more + to->size, frame);
    to->bytes = more;
    to->size += size;
}

void words_say(struct core *core, struct meeting_words *to, const void *bytes,
               size_t size)
{
    if (size > 0) {
        add_frame(core, to, &(struct words_frame){.bytes = bytes, .size = size});
    }
}

void words_add(struct core *core, struct meeting_words *to, const void *bytes,
               size_t size)
{
    struct words_frame frame;
    size_t at = 0;
    while (words_next(bytes, size, &at, &frame)) {
        add_frame(core, to, &frame);
    }
}

int32_t words_code(const struct meeting_words *words)
{
    return words->too_long ? MOOT_ERR_LIMIT : MOOT_OK;
}

void words_tell(struct core *core, const struct meeting_words *words,
                struct message_meet *meet)
{
    meet->words = out_copy_bytes(core, words->bytes, words->size);
    meet->words_size = meet->words != NULL ? words->size : 0;
}
