/* moot_transport.h - a wire of your own: how frames get from one rank to another.
 *
 * A transport is a table of functions that carries frames (short runs of bytes) between
 * processes that know each other by a uid, a random number of 64 bits that is never
 * used twice.  It knows no ranks, no size of the job, and no collective: peers are
 * introduced one by one, each with an address that its own end gave out, and are
 * forgotten one by one.  How addresses get from rank to rank is the launcher's affair;
 * what the frames hold is moot's, which seals them first unless the
 * transport is PRIVATE.
 *
 * A shared object offers one by a symbol called moot_transport_table:
 *
 *     const moot_transport moot_transport_table = {
 *         .version = MOOT_TRANSPORT_VERSION, .size = sizeof(moot_transport),
 *         .name = "mine", .open = mine_open, ...};
 *
 *     moot check-transport ./mine.so
 *     moot run -n 4 --launcher local --transport ./mine.so PROGRAM
 *
 * Threads: one thread at a time is in a wire; which one may change from call to call.
 * No slot but `close` may block.  A slot calls nobody back but the receiver that poll()
 * was given, from within poll().  Errors are MOOT_ERR_* (moot_error.h), with a line for
 * people in story().
 */
#ifndef NODE_API_MOOT_TRANSPORT_H
#define NODE_API_MOOT_TRANSPORT_H

#include "node/api/moot.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOOT_TRANSPORT_VERSION 1

/* Promises that a transport may make (moot_transport.flags). */
enum moot_transport_flags {
    /* Frames from one peer arrive in the order sent, each once, none changed; and all
     * of them, until one side closes, dies or forgets the other.  Without it moot
     * numbers frames and sends again what was not acknowledged.  That is made for wires
     * that lose a frame in ten at most; where more are lost, jobs slow down and ranks
     * fall silent. */
    MOOT_TRANSPORT_RELIABLE = 1,
    /* Nobody but processes of this user on this host can read, change or add what
     * passes: shared memory, Unix sockets.  Without it frames are sealed, and so they
     * are in a job on several hosts. */
    MOOT_TRANSPORT_PRIVATE = 2
};

enum {
    MOOT_TRANSPORT_FRAME_MIN = 1024,    /* bytes: frame_max is at least that, */
    MOOT_TRANSPORT_FRAME_MAX = 1 << 22, /* and more than that is not used */
    MOOT_TRANSPORT_ADDRESS_MAX = 4096,  /* bytes of an address */
    MOOT_TRANSPORT_SECRET_BYTES = 32
};

/* send() has no room now; try again after a poll. */
#define MOOT_TRANSPORT_FULL 1

/* The transport's own state, which it defines as it likes. */
typedef struct moot_wire moot_wire;

/* The setup that open() is told.  `size` is that of the struct: what stands behind is
 * younger than this header. */
typedef struct moot_transport_setup {
    size_t size;
    uint64_t uid;        /* this end's */
    const char *options; /* behind the first colon of --transport NAME:OPTIONS, or "" */
    const char *host;    /* the name or address by which other hosts reach this one, as
                            the launcher knows it; "": none is known */
    uint64_t job;        /* a number that all ends of the job have; no secret */
    const unsigned char *secret; /* MOOT_TRANSPORT_SECRET_BYTES that all ends of the job
                                    have and nobody else, for the transport's own use:
                                    connections that prove where they belong.  Good
                                    until open() returns. */
} moot_transport_setup;

/* Whom poll() calls. */
typedef struct moot_transport_receiver {
    size_t size;
    void *context;
    /* A frame came.  The bytes are the transport's again when this returns.  `from` is
     * what the frame or its connection says; moot checks it. */
    void (*frame)(void *context, uint64_t from_uid, const void *bytes, size_t size);
    /* The wire has given up on a peer: it is suspected, no more.  May be left out by a
     * transport that does not know. */
    void (*unreachable)(void *context, uint64_t uid);
} moot_transport_receiver;

typedef struct moot_transport {
    uint32_t version; /* MOOT_TRANSPORT_VERSION */
    uint32_t flags;   /* enum moot_transport_flags */
    size_t size;      /* sizeof(moot_transport) */
    const char *name; /* a word, for people */
    size_t frame_max; /* bytes of the longest frame that send() takes */

    /* Makes this process's end.  Reaches nobody yet.  On failure *out stays, nothing is
     * held, and the story, of story_size bytes, says why. */
    int (*open)(const moot_transport_setup *setup, moot_wire **out, char *story,
                size_t story_size);

    /* Writes the address by which peers reach this end, at most
     * MOOT_TRANSPORT_ADDRESS_MAX bytes, and its length.  Any bytes will do. */
    int (*address)(moot_wire *wire, void *bytes, size_t *length);

    /* A peer with that address may be sent to from now on.  Connects at the first
     * frame, not here.  Frames of a peer that was not introduced here yet are handed
     * over as well. */
    int (*introduce)(moot_wire *wire, uint64_t uid, const void *address, size_t length);

    /* Takes a copy of a frame of 1 to frame_max bytes; MOOT_TRANSPORT_FULL if it cannot
     * now.  INVALID for a uid that was not introduced, or forgotten.  To a peer that
     * does not answer it goes nowhere, and that is no error. */
    int (*send)(moot_wire *wire, uint64_t uid, const void *bytes, size_t size);

    /* Moves things along, and hands over frames, at most frames_max.  Returns how many
     * handlers it called, or an error, after which the wire is only closed. */
    int (*poll)(moot_wire *wire, const moot_transport_receiver *receiver,
                int frames_max);

    /* Nothing that send() took is still here. */
    bool (*flushed)(const moot_wire *wire);

    /* That peer is gone: what waits for it is dropped, its connection closed, and its
     * uid unknown from now on. */
    void (*forget)(moot_wire *wire, uint64_t uid);

    /* The story of the last call that returned an error; "" if none did. */
    const char *(*story)(const moot_wire *wire);

    /* Ends it, and loses what is not flushed.  May wait for a second at most. */
    void (*close)(moot_wire *wire);

    /* --- May be NULL ---------------------------------------------------------------
     */

    /* A descriptor that polls readable when poll() has something to do; -1: none. */
    int (*descriptor)(const moot_wire *wire);
} moot_transport;

#ifdef __cplusplus
}
#endif
#endif
