/* message_elements.h - what ranks say of elements of task arrays (PROTOCOL.md,
 * *Arrays*).
 *
 * A part of message.h, which says what a message borrows.
 */
#ifndef PROTO_MESSAGE_ELEMENTS_H
#define PROTO_MESSAGE_ELEMENTS_H

#include "hashing/base/range.h"
#include "hashing/moot_hash.h"
#include "hashing/rankset.h"

#include <stdbool.h>
#include <stdint.h>

struct message_spec;

/* ELEMENTS: about some elements of an array, whose hash is the message's.  With them
 * goes its card, what their chairs follow from; places are as so many homes count them
 * (PROTOCOL.md, A2 and A4). */
enum elements_what {
    ELEMENTS_ENDED,  /* holder -> chair: these have ended here; chair -> owner: all have
                      */
    ELEMENTS_OWNED,  /* holder -> chair: these are the sender's, and have not ended; or,
                        of none, it holds the array */
    ELEMENTS_WANTED, /* chair -> home: have you spawned these, or will you? */
    ELEMENTS_LEFT,   /* home -> chair, the answer: it runs none of these */
    ELEMENTS_YOURS,  /* chair -> holder: run these */
    ELEMENTS_PART,   /* holder -> chair: it has spawned these, and, beside those that it
                        has named so before, no others */
    ELEMENTS_BACK, /* holder -> chair: it was to run these, and has not spawned them */
    ELEMENTS_HELD, /* chair -> member: have you spawned any of these? */
    ELEMENTS_END
};
struct message_elements {
    enum elements_what what;
    uint64_t count, block; /* of the array's spread; */
    uint32_t kind;         /* likewise, enum array_spread_kind */
    uint32_t homes;
    const struct rankset
        *ranks; /* these are its homes; NULL: those of the first view */
    bool bound; /* no other rank runs any of it: it has candidates */
    uint32_t range_count;
    const struct range *ranges; /* ascending, neither empty nor touching */
    uint64_t failed;            /* 1 + the first index of those that failed; 0: none */
    int32_t status;             /* of that one */
    uint64_t need; /* WANTED: roll position of the one who waits, as a motion has it */
    bool quiet;    /* WANTED: nothing moves any more */
    const struct message_spec *spec; /* ENDED, OWNED, WANTED: of it, if it is portable,
                                        its sender has it and the receiver may lack it;
                                        else NULL */
    bool tell; /* ENDED, OWNED, PART: the sender wants to know when all have ended */
};

/* PARTS home -> home: results of elements, for the elements of another array that take
 * them (PROTOCOL.md, A9).  The message's hash is the taking array's. */
enum part_state {
    PART_BYTES,     /* its bytes are in the message */
    PART_LARGE,     /* it has ended well, and is too large to be sent so */
    PART_ELSEWHERE, /* the sender will not have it */
    PART_WANTED,    /* the sender asks for it: no home of it sent it */
    PART_END
};
struct message_part {
    uint64_t place;
    uint64_t size; /* of the result, bytes; 0 of one that the sender has not */
    enum part_state state;
};
struct message_parts {
    uint32_t input; /* which input of the taking array's; in an answer to a task that
                       reads: 1, if its sender has spawned the array, which takes none,
                       and so can make the element again */
    uint64_t count; /* of the input's array: its elements, */
    uint32_t homes; /* and how places are counted */
    uint32_t part_count;
    const struct message_part *parts; /* places ascending, all below count */
    const void *bytes;                /* of those with PART_BYTES, one behind the */
    size_t byte_count;                /* other */
    uint64_t seek; /* of WANTED, and in the answers: which asking it is; 0: a push, or
                      a wish to be sent it as soon as it has ended */
    moot_hash of;  /* of WANTED: the input's array; else zero */
};

#endif
