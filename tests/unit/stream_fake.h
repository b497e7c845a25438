/* stream_fake.h - byte streams in memory, with and without the slot ready(), and wires
 * over them, for stream_test.c and stream_hostile_test.c.
 */
#ifndef TESTS_UNIT_STREAM_FAKE_H
#define TESTS_UNIT_STREAM_FAKE_H

#include "node/wires/stream/stream.h"
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* --- The fake ------------------------------------------------------------------------
 */

enum { ENDS = 4, PIPE_BYTES = 64 << 10 };

struct moot_stream {
    moot_stream_end *end; /* NULL: a stranger's */
    moot_stream *other;   /* NULL: hung up */
    moot_stream *next;    /* to be accepted */
    moot_stream *next_of_end;
    bool ready;
    size_t head, size; /* of what is to be read */
    unsigned char bytes[PIPE_BYTES];
};

struct moot_stream_end {
    moot_stream *waiting, **waiting_end, *streams;
    size_t step;      /* bytes at a time, at most */
    int made;         /* by connect() */
    bool unreachable; /* nobody connects to it, */
    bool deaf;        /* or it never answers */
};

static moot_stream_end *ends[ENDS];
static moot_stream_end nowhere = {.waiting_end = &nowhere.waiting};
static const unsigned char secret[MOOT_TRANSPORT_SECRET_BYTES] = "of the job";

static int fake_open(const moot_transport_setup *setup, moot_stream_end **out,
                     char *story, size_t story_size)
{
    (void)story;
    (void)story_size;
    *out = calloc(1, sizeof(**out));
    (*out)->waiting_end = &(*out)->waiting;
    (*out)->step = PIPE_BYTES;
    ends[setup->uid % ENDS] = *out;
    return MOOT_OK;
}

static int fake_address(moot_stream_end *end, void *bytes, size_t *length)
{
    (void)end;
    (void)bytes;
    *length = 0;
    return MOOT_OK;
}

static moot_stream *add_stream(moot_stream_end *end)
{
    moot_stream *stream = calloc(1, sizeof(*stream));
    stream->end = end;
    if (end != NULL) {
        stream->next_of_end = end->streams;
        end->streams = stream;
    }
    return stream;
}

static moot_stream *reach_end(moot_stream_end *from, moot_stream_end *to)
{
    moot_stream *near = add_stream(from), *far = add_stream(to);
    near->other = far;
    far->other = near;
    *to->waiting_end = far;
    to->waiting_end = &far->next;
    return near;
}

static moot_stream *fake_connect(moot_stream_end *end, const void *address,
                                 size_t length, unsigned attempt)
{
    (void)attempt;
    end->made++;
    assert_int_equal(length, 1);
    moot_stream_end *to = ends[*(const unsigned char *)address];
    if (to == NULL || to->unreachable) {
        return NULL;
    }
    return reach_end(end, to->deaf ? &nowhere : to);
}

static moot_stream *fake_accept(moot_stream_end *end)
{
    moot_stream *stream = end->waiting;
    if (stream != NULL) {
        end->waiting = stream->next;
        if (end->waiting == NULL) {
            end->waiting_end = &end->waiting;
        }
    }
    return stream;
}

static ptrdiff_t fake_read(moot_stream *stream, void *bytes, size_t size)
{
    const size_t step = stream->end != NULL ? stream->end->step : PIPE_BYTES;
    size = size < stream->size ? size : stream->size;
    size = size < step ? size : step;
    if (size == 0) {
        return stream->other == NULL ? -1 : 0;
    }
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)bytes)[i] = stream->bytes[(stream->head + i) % PIPE_BYTES];
    }
    stream->head = (stream->head + size) % PIPE_BYTES;
    stream->size -= size;
    if (stream->other != NULL) {
        stream->other->ready = true;
    }
    return (ptrdiff_t)size;
}

static ptrdiff_t fake_write(moot_stream *stream, const void *bytes, size_t size,
                            bool more)
{
    moot_stream *to = stream->other;
    const size_t step = stream->end != NULL ? stream->end->step : PIPE_BYTES;
    (void)more;
    if (to == NULL) {
        return -1;
    }
    size = size < step ? size : step;
    size = size < PIPE_BYTES - to->size ? size : PIPE_BYTES - to->size;
    for (size_t i = 0; i < size; i++) {
        to->bytes[(to->head + to->size + i) % PIPE_BYTES] =
            ((const unsigned char *)bytes)[i];
    }
    to->size += size;
    to->ready = true;
    return (ptrdiff_t)size;
}

static void fake_hang_up(moot_stream *stream)
{
    if (stream->other != NULL) {
        stream->other->other = NULL;
        stream->other->ready = true;
    }
    if (stream->end != NULL) {
        moot_stream **at = &stream->end->streams;
        while (*at != stream) {
            at = &(*at)->next_of_end;
        }
        *at = stream->next_of_end;
    }
    free(stream);
}

static int fake_ready(moot_stream_end *end, moot_stream **out, int max)
{
    int count = 0;
    for (moot_stream *stream = end->streams; stream != NULL && count < max;
         stream = stream->next_of_end) {
        if (stream->ready) {
            stream->ready = false;
            out[count++] = stream;
        }
    }
    return count;
}

static void fake_close(moot_stream_end *end)
{
    while (end->waiting != NULL) {
        fake_hang_up(fake_accept(end));
    }
    assert_null(end->streams); /* all were hung up */
    for (int i = 0; i < ENDS; i++) {
        ends[i] = ends[i] == end ? NULL : ends[i];
    }
    free(end);
}

static const moot_stream_transport tables[] = {
    {sizeof(moot_stream_transport), fake_open, fake_address, fake_connect, fake_accept,
     fake_read, fake_write, fake_hang_up, fake_close, fake_ready, NULL},
    {sizeof(moot_stream_transport), fake_open, fake_address, fake_connect, fake_accept,
     fake_read, fake_write, fake_hang_up, fake_close, NULL, NULL},
};

/* --- Wires ---------------------------------------------------------------------------
 */

struct seat {
    uint64_t uid;
    moot_wire *wire;
    uint64_t next[2 * ENDS]; /* number of the frame that is due from each */
    int frames, unreachable, strange;
};

static size_t size_of(uint64_t number)
{
    const uint64_t mixed = number * 2654435761u;
    return number % 40 == 39 ? 100000 + mixed % 100000 : 8 + mixed % 3000;
}

static void take_frame(void *context, uint64_t from, const void *bytes, size_t size)
{
    struct seat *seat = context;
    uint64_t number;
    seat->frames++;
    if (from >= 2 * ENDS || size < sizeof(number)) {
        seat->strange++;
        return;
    }
    memcpy(&number, bytes, sizeof(number));
    assert_true(number >= seat->next[from]); /* each once, in order; some may lack */
    assert_int_equal(size, size_of(number));
    assert_int_equal(((const unsigned char *)bytes)[size - 1],
                     size > 8 ? number % 251 : ((unsigned char *)&number)[7]);
    seat->next[from] = number + 1;
}

static void take_unreachable(void *context, uint64_t uid)
{
    struct seat *seat = context;
    (void)uid;
    seat->unreachable++;
}

static void open_seat(struct seat *seat, const moot_stream_transport *table,
                      uint64_t uid)
{
    char story[128] = "";
    const moot_transport_setup setup = {
        .size = sizeof(setup), .uid = uid, .options = "", .host = "", .secret = secret};
    *seat = (struct seat){.uid = uid};
    assert_int_equal(
        moot_stream_open(table, "fake", 0, &setup, &seat->wire, story, sizeof(story)),
        MOOT_OK);
}

static void introduce(struct seat *seat, uint64_t uid)
{
    const unsigned char place = uid % ENDS;
    assert_int_equal(moot_stream_introduce(seat->wire, uid, &place, 1), MOOT_OK);
}

static int try_send(struct seat *seat, uint64_t to, uint64_t number)
{
    static unsigned char bytes[MOOT_STREAM_FRAME_MAX];
    const size_t size = size_of(number);
    memset(bytes, (int)(number % 251), size);
    memcpy(bytes, &number, sizeof(number));
    return moot_stream_send(seat->wire, to, bytes, size);
}

static int poll_seat(struct seat *seat)
{
    const moot_transport_receiver receiver = {.size = sizeof(receiver),
                                              .context = seat,
                                              .frame = take_frame,
                                              .unreachable = take_unreachable};
    const int frames = seat->frames;
    const int handed = moot_stream_poll(seat->wire, &receiver, 3);
    assert_in_range(handed, 0, 1000);
    assert_in_range(seat->frames - frames, 0, 3);
    return handed;
}

static moot_stream_counts count_of(const struct seat *seat)
{
    moot_stream_counts counts;
    moot_stream_count(seat->wire, &counts);
    return counts;
}

static void rest(long ms)
{
    (void)nanosleep(
        &(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Sends frames `first` to `last` to each other, and all come. */
static void exchange(struct seat *a, struct seat *b, uint64_t first, uint64_t last)
{
    uint64_t from_a = first, from_b = first;
    for (int turns = 0; a->next[b->uid] < last || b->next[a->uid] < last; turns++) {
        assert_true(turns < 1000000);
        from_a += from_a < last && try_send(a, b->uid, from_a) == MOOT_OK;
        from_b += from_b < last && try_send(b, a->uid, from_b) == MOOT_OK;
        (void)poll_seat(a);
        (void)poll_seat(b);
    }
    for (int i = 0; i < 100; i++) {
        (void)poll_seat(a);
        (void)poll_seat(b);
    }
    assert_true(moot_stream_flushed(a->wire) && moot_stream_flushed(b->wire));
}

static void open_two(struct seat *a, struct seat *b, const moot_stream_transport *table)
{
    open_seat(a, table, 1);
    open_seat(b, table, 2);
    introduce(a, 2);
    introduce(b, 1);
}

static void close_two(struct seat *a, struct seat *b)
{
    moot_stream_close(a->wire);
    moot_stream_close(b->wire);
}

/* --- Tests ---------------------------------------------------------------------------
 */

#define BOTH(test)                                                                     \
    {#test, test, NULL, NULL, (void *)(uintptr_t)&tables[0]},                          \
    {                                                                                  \
#test " without ready()", test, NULL, NULL, (void *)(uintptr_t)&tables[1]      \
    }

#endif
