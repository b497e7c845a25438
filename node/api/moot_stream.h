/* moot_stream.h - a transport out of byte streams: fill in connect, accept, read,
 * write.
 *
 * Many things carry bytes in order between two processes: sockets, pipes, a message
 * broker.  A table of a few functions that make such streams and move bytes over them
 * becomes a whole transport (moot_transport.h) by one macro:
 *
 *     static const moot_stream_transport mine = {
 *         .size = sizeof(moot_stream_transport),
 *         .open = my_open, .address = my_address, .connect = my_connect,
 *         .accept = my_accept, .read = my_read, .write = my_write,
 *         .hang_up = my_hang_up, .close = my_close};
 *     MOOT_STREAM_TRANSPORT("mine", 0, mine)
 *
 *     cc -shared -fPIC MINE.c -o mine.so $(pkg-config --cflags --libs moot)
 *     moot check-transport ./mine.so
 *
 * Over the streams the library does the rest:
 *
 *   - Each frame goes behind its length.  A length is held against its limit before
 *     memory is taken, and memory grows with what has come, not with what is announced.
 *   - A greeting: who connects says its uid, whose end it means, and a version; then
 *     both prove that they have the job's secret (moot_transport_setup), by an answer
 *     to a number that the other has just drawn.  A stranger's stream never gets
 *     further, whatever uid it claims, and cuts and replaces none.
 *   - Limits: at most MOOT_STREAM_STRANGERS_MAX streams are without a proof; the oldest
 *     goes when another comes, and each after three seconds.  Frames wait in a queue of
 *     limited size for each peer (MOOT_TRANSPORT_FULL).
 *   - A stream is made when the first frame goes to a peer, and both ends send over it.
 *     If both connect at the same moment, one of the two streams stays: the end with
 *     the higher uid says that its own is over, the other hangs that up when it has
 *     read all of it, and no frame is lost or overtaken.  If a stream ends, its frames
 *     are lost, and the next frame makes another, after a pause that grows.
 *
 * One thread at a time is in the table's functions.  None may block, and none calls the
 * library.
 */
#ifndef NODE_API_MOOT_STREAM_H
#define NODE_API_MOOT_STREAM_H

#include "node/api/moot_transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This process's end, and a stream: both are the user's own, defined as it likes. */
typedef struct moot_stream_end moot_stream_end;
typedef struct moot_stream moot_stream;

enum {
    MOOT_STREAM_FRAME_MAX = 256 << 10, /* bytes: frame_max of the transport */
    MOOT_STREAM_STRANGERS_MAX = 256    /* streams */
};

typedef struct moot_stream_transport {
    size_t size; /* sizeof(moot_stream_transport) */

    /* Makes this process's end, as moot_transport.open does. */
    int (*open)(const moot_transport_setup *setup, moot_stream_end **out, char *story,
                size_t story_size);

    /* Writes the bytes by which peers connect to this end, at most
     * MOOT_TRANSPORT_ADDRESS_MAX, and their number.  MOOT_OK, or an error. */
    int (*address)(moot_stream_end *end, void *bytes, size_t *length);

    /* Begins a stream to the end with that address.  It need not stand yet: until then
     * read and write do nothing.  `attempt` counts the streams to that peer that have
     * not come to stand, for an address that has several ways.  NULL: it cannot be
     * made, and is tried again later. */
    moot_stream *(*connect)(moot_stream_end *end, const void *address, size_t length,
                            unsigned attempt);

    /* The next stream that another end has begun; NULL: no more now.  In each poll it
     * is called first, or after ready(), until it says NULL or enough have come. */
    moot_stream *(*accept)(moot_stream_end *end);

    /* Reads up to `size` bytes, as many as there are.  Returns how many; 0: none now;
     * less than 0: the stream is over. */
    ptrdiff_t (*read)(moot_stream *stream, void *bytes, size_t size);

    /* Takes up to `size` bytes, as many as it can.  Returns how many; 0: none now; less
     * than 0: the stream is over.  `more`: the rest of a frame is written at once
     * behind it, so it may wait for that. */
    ptrdiff_t (*write)(moot_stream *stream, const void *bytes, size_t size, bool more);

    /* Ends a stream, which is gone when this returns.  What was written before still
     * gets there, if it can. */
    void (*hang_up)(moot_stream *stream);

    /* Ends this end; all its streams were hung up.  A process that is killed does not
     * come here, so what has a name in a file system stays. */
    void (*close)(moot_stream_end *end);

    /* --- May be NULL ---------------------------------------------------------------
     */

    /* Writes which streams can be read or written, at most `max` of them, and returns
     * how many.  A stream is to be told at least once after its read or write said 0
     * and there is more.  Without this slot all streams are tried in each poll. */
    int (*ready)(moot_stream_end *end, moot_stream **out, int max);

    /* A descriptor that polls readable when accept() or ready() has something. */
    int (*descriptor)(const moot_stream_end *end);
} moot_stream_transport;

/* Offers `table`, a static const moot_stream_transport, as the transport of this shared
 * object. `word` is its name, `promises` are of enum moot_transport_flags: RELIABLE is
 * for streams that end only when a process does.  In C. */
#define MOOT_STREAM_TRANSPORT(word, promises, table)                                   \
    MOOT_STREAM_TABLE(MOOT_API, moot_transport_table, word, promises, table)

/* The same, as a table of another name. */
#define MOOT_STREAM_TABLE(scope, symbol, word, promises, table)                        \
    static int symbol##_open(const moot_transport_setup *setup, moot_wire **out,       \
                             char *story, size_t story_size)                           \
    {                                                                                  \
        return moot_stream_open(&(table), (word), (promises), setup, out, story,       \
                                story_size);                                           \
    }                                                                                  \
    scope extern const moot_transport symbol;                                          \
    const moot_transport symbol = {.version = MOOT_TRANSPORT_VERSION,                  \
                                   .flags = (promises),                                \
                                   .size = sizeof(moot_transport),                     \
                                   .name = (word),                                     \
                                   .frame_max = MOOT_STREAM_FRAME_MAX,                 \
                                   .open = symbol##_open,                              \
                                   .address = moot_stream_address,                     \
                                   .introduce = moot_stream_introduce,                 \
                                   .send = moot_stream_send,                           \
                                   .poll = moot_stream_poll,                           \
                                   .flushed = moot_stream_flushed,                     \
                                   .forget = moot_stream_forget,                       \
                                   .story = moot_stream_story,                         \
                                   .close = moot_stream_close,                         \
                                   .descriptor = moot_stream_descriptor};

/* --- The slots of such a transport; moot_transport.h says what each does. ------------
 */

/* CONFIG, too, for a table with a hole or a setup without a secret. */
MOOT_API int moot_stream_open(const moot_stream_transport *streams, const char *name,
                              uint32_t promises, const moot_transport_setup *setup,
                              moot_wire **out, char *story, size_t story_size);
MOOT_API int moot_stream_address(moot_wire *wire, void *bytes, size_t *length);
MOOT_API int moot_stream_introduce(moot_wire *wire, uint64_t uid, const void *address,
                                   size_t length);
MOOT_API int moot_stream_send(moot_wire *wire, uint64_t uid, const void *bytes,
                              size_t size);
MOOT_API int moot_stream_poll(moot_wire *wire, const moot_transport_receiver *receiver,
                              int frames_max);
MOOT_API bool moot_stream_flushed(const moot_wire *wire);
MOOT_API void moot_stream_forget(moot_wire *wire, uint64_t uid);
MOOT_API const char *moot_stream_story(const moot_wire *wire);
MOOT_API void moot_stream_close(moot_wire *wire);
MOOT_API int moot_stream_descriptor(const moot_wire *wire);

/* Counts of what strangers and faults have done to a wire. */
typedef struct moot_stream_counts {
    uint64_t accepted;    /* streams that others have begun */
    uint64_t refused;     /* ... whose greeting was wrong */
    uint64_t crowded_out; /* ... that made place for younger ones */
    uint64_t late;        /* ... that greeted not in time */
    uint64_t broken;      /* streams that announced a frame of a wrong length */
    uint64_t ended;       /* streams that had stood, and ended by themselves */
} moot_stream_counts;
MOOT_API void moot_stream_count(const moot_wire *wire, moot_stream_counts *out);

#ifdef __cplusplus
}
#endif
#endif
