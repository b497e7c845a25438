/* seal.h - datagrams that nobody but their receiver can read, and nobody but their
 * sender can have written.
 *
 *     | number, 8 | encrypted bytes | tag, 16 |
 *
 * The cipher is ChaCha20-Poly1305 (RFC 8439, libsodium).  The key is a keyed BLAKE2b,
 * under the job's key, of the sender's and the receiver's uid; so it belongs to one
 * job, one pair, one direction, and, since a uid is drawn anew by each incarnation, to
 * one life of both.  The number is the nonce: it counts the datagrams of that key, and
 * is never used twice.
 *
 * A datagram that comes again is refused: the receiver knows which of the last
 * SEAL_WINDOW numbers it has opened, as RFC 6479 does it, and takes none that is older.
 */
#ifndef NODE_TRANSPORT_CARRIER_SEAL_H
#define NODE_TRANSPORT_CARRIER_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_KEY_BYTES = 32, SEAL_NUMBER_BYTES = 8, SEAL_TAG_BYTES = 16 };
enum { SEAL_BYTES = SEAL_NUMBER_BYTES + SEAL_TAG_BYTES }; /* more than what is sealed */

enum {
    SEAL_WORDS = 16, /* a power of two */
    SEAL_WINDOW = (SEAL_WORDS - 1) * 64
};

struct seal {
    unsigned char ours[SEAL_KEY_BYTES], theirs[SEAL_KEY_BYTES];
    uint64_t sent;             /* the number of the last */
    uint64_t opened;           /* the highest that was opened */
    uint64_t seen[SEAL_WORDS]; /* a bit for each number of the window */
};

/* For this end's uid and the peer's.  libsodium is initialised. */
void seal_begin(struct seal *seal, const unsigned char job_key[SEAL_KEY_BYTES],
                uint64_t own_uid, uint64_t peer_uid);

/* The secret and the number by which the job's wires know their own; neither tells of
 * the key. */
void seal_share(const unsigned char job_key[SEAL_KEY_BYTES],
                unsigned char secret[SEAL_KEY_BYTES], uint64_t *job);

/* Seals `size` bytes into `out`, which has SEAL_BYTES more and does not overlap. */
void seal_close(struct seal *seal, const void *bytes, size_t size, unsigned char *out);

enum seal_found {
    SEAL_OPENED,
    SEAL_FORGED,  /* it is not the peer's, or was changed */
    SEAL_REPEATED /* its number was opened before, or is older than the window */
};

/* Opens a datagram into `out`, which has SEAL_BYTES less than `size`.  With `rising`
 * whatever is not above all that were opened is taken for repeated.  `out` may have
 * been written whatever this returns. */
enum seal_found seal_open(struct seal *seal, const unsigned char *bytes, size_t size,
                          bool rising, unsigned char *out);

#endif
