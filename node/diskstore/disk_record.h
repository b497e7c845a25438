/* disk_record.h - the format of a record: key and value, and the digest over both.
 *
 * A key is a task's hash and the kind.  A value is a head of fixed fields, the names,
 * and the data; or the sum of data that stand in a file of their own, or in a pack
 * (disk_pack.h).  All numbers have their lowest byte first:
 *
 *      0  4  "moot"            44  8  where data are that are not here; or 0
 *      4  1  version, 3        52  2  bytes of the kernel's name
 *      5  1  kind              54  2  bytes of the label
 *      6  1  data are 0: here  56  1  bytes of the build id
 *         1: in a file of      57  1  bytes of the sum of inputs: 8, or 0
 *         their own, 2: in a   60  4  generation
 *         pack                 64 32  the digest
 *      7  1  0                 96     name, label, build id, sum of inputs
 *      8  4  status                   data, or the sum of those elsewhere
 *     12  4  kernel's version
 *     16  4  moot's version
 *     20  8  made
 *     28  8  took
 *     36  8  bytes of data
 *
 * The low 36 bits of the place are the number of the file, the others the first byte
 * in it.
 *
 * The sum of data is their XXH3-128, in 16 bytes with the highest first.  It finds what
 * a disk tears and flips, and is ten times as fast as BLAKE2b; nobody is kept from
 * forging a record that he may write anyway.  The digest is BLAKE2b-256 of the key, the
 * fields before the digest, the names, and the sum of the data, wherever they are.
 *
 * The digest covers the key too, so that a record under another's key is damaged.  It
 * does not cover the place in a file: that is another one after a prune.  So the digest
 * names the record for good, which snapshots rely on (disk_snapshot.h).
 *
 * In version 2 the sum of a large file is its BLAKE2b-256, and the digest has data that
 * are in the value as they are.  None has a sum of inputs.  In version 1, which
 * knew no reloads, generation and the byte at 6 are 0 besides, and the digest covers
 * the number.  Such records are read. One of version 1 has as its name the digest that
 * it would have in version 2, and a prune makes it one; no other record changes its
 * version, for that changes its name.
 */
#ifndef NODE_DISKSTORE_DISK_RECORD_H
#define NODE_DISKSTORE_DISK_RECORD_H

#include "node/diskstore/diskstore.h"

enum {
    DISK_KEY_BYTES = MOOT_HASH_BYTES + 1,
    DISK_DIGEST_BYTES = 32,
    DISK_HEAD_BYTES = 96,
    DISK_INPUTS_BYTES = 8,
    DISK_HEAD_MAX = DISK_HEAD_BYTES + 2 * DISKSTORE_NAME_BYTES + DISKSTORE_BUILD_BYTES +
                    DISK_INPUTS_BYTES
};

struct disk_key {
    unsigned char bytes[DISK_KEY_BYTES];
};

/* The home of a record's data. */
enum disk_home { DISK_IN_VALUE, DISK_IN_FILE, DISK_IN_PACK };

/* Where data are.  Zero: in the value. */
struct disk_spot {
    enum disk_home home;
    uint64_t number; /* of the file */
    uint64_t from;   /* their first byte in a pack */
};

/* A value in two parts, one behind the other. */
struct disk_image {
    unsigned char head[DISK_HEAD_MAX];
    size_t head_size;
    const void *tail; /* the record's data, or `sum` */
    size_t tail_size;
    unsigned char sum[DISK_DIGEST_BYTES]; /* of data elsewhere */
};

struct disk_key disk_key(const moot_hash *hash, enum diskstore_kind kind);

/* Makes the record's value.  `spot`: where its data are.  The record's `made_ns` counts
 * as it is.  The image points into itself and the record. */
void disk_record_write(const struct diskstore_record *record,
                       const struct disk_spot *spot, struct disk_image *out);

/* Likewise, as another version of moot made it, in that version of the format. */
void disk_record_write_as(const struct diskstore_record *record,
                          const struct disk_spot *spot, uint32_t library,
                          unsigned format, struct disk_image *out);

/* Where a record's data are, and what tells that they are these. */
struct disk_place {
    struct disk_spot spot;
    size_t at;                            /* in the value, if they are there */
    unsigned char format;                 /* the record's version, which a copy has */
    unsigned char sum[DISK_DIGEST_BYTES]; /* of data elsewhere */
};

/* Whether these are the record's data, which stand elsewhere. */
bool disk_place_holds(const struct disk_place *place, const void *data, size_t size);

/* Reads any bytes as a value under the key.  False: it is damaged; `found` and `place`
 * are then unsaid.  Does not touch found->data. */
bool disk_record_read(const struct disk_key *key, const unsigned char *bytes,
                      size_t size, struct diskstore_found *found,
                      struct disk_place *place);

/* The number of its own file; 0: none, or it is damaged, and then the number might be
 * another record's. */
uint64_t disk_record_large(const struct disk_key *key, const unsigned char *bytes,
                           size_t size);

#endif
