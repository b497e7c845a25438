/* disk_snapshot.h - the files of snapshots in a folder of checkpoints; those of reloads
 * are disk_mark.h's.
 *
 *     FOLDER/snapshots/ID/rank-N   a *part*: the records of one rank at its cut
 *     FOLDER/snapshots/ID/rest     a part: the records of all who write no more
 *     FOLDER/snapshots/ID/commit   the *commit*: the name, and all parts with digests
 *
 * A part lists results by task and by the digest that names the record
 * (disk_record.h), wherever that stands; so a prune need not touch it.  A record that
 * is damaged at the cut, or has lost its data, is in no part; the part says how many
 * there were, as its last word, which parts of before lack.  A snapshot is
 * there when its commit is, which is written last.  It is *whole* if its commit and all
 * parts that this names have their digests.
 *
 * All files are disk_sealed.h's, of words of 8 bytes, the lowest byte first.
 */
#ifndef NODE_DISKSTORE_DISK_SNAPSHOT_H
#define NODE_DISKSTORE_DISK_SNAPSHOT_H

#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_mark.h"
#include "node/diskstore/disk_record.h"
#include "node/diskstore/diskstore_snapshot.h"

struct text;

#define DISK_PART_REST UINT32_MAX /* the rank of a part of those who write no more */

/* A result that a snapshot names. */
struct disk_named {
    unsigned char hash[MOOT_HASH_BYTES];
    unsigned char digest[DISK_DIGEST_BYTES];
};

/* A list of them; zero: empty.  Sorted by disk_set_sort(). */
struct disk_set {
    struct disk_named *entries;
    size_t count, room;
    uint64_t bytes;    /* of the results */
    uint64_t left_out; /* records that should be there, and cannot be named */
};

/* False without memory. */
bool disk_set_add(struct disk_set *set, const struct diskstore_found *found);
void disk_set_sort(struct disk_set *set);
bool disk_set_has(const struct disk_set *set, const moot_hash *hash,
                  const unsigned char digest[DISK_DIGEST_BYTES]);
void disk_set_release(struct disk_set *set);

/* --- Parts and commits ------------------------------------------------------------ */

/* Writes the part of `out->rank`, and fills in the others of `out`.  `process` begins
 * the names of the environments that it is of; "" for the rest.  False: errno. */
bool disk_part_write(const char *folder, const moot_hash *id, const char *process,
                     const struct disk_set *set, struct diskstore_part *out);
/* Fills in part->left_out, and adds the part's results to the set, if `set` is there.
 * False, and errno: it is not as its names say; EBADMSG: damaged. */
bool disk_part_read(const char *folder, const moot_hash *id,
                    struct diskstore_part *part, struct disk_set *set,
                    char process[DISK_NAME_BYTES]);

struct disk_snapshot {
    moot_hash id;
    char name[DISKSTORE_SNAPSHOT_NAME_BYTES];
    uint64_t made_ns, records, bytes, left_out;
    struct diskstore_part *parts;
    size_t part_count;
    bool committed;   /* the commit is there, and good, */
    bool damaged;     /* or is not good */
    size_t bad_part;  /* the first that is damaged or missing; part_count: none is */
    bool reloaded_to; /* the mark that counts names it */
};
static inline bool disk_snapshot_is_whole(const struct disk_snapshot *snapshot)
{
    return snapshot->committed && snapshot->bad_part == snapshot->part_count;
}

/* Takes .id, .name, .made_ns, .parts and .part_count of `snapshot`.  False: errno. */
bool disk_commit_write(const char *folder, const struct disk_snapshot *snapshot);
/* The snapshot of that id, and its results into `set`, if that is there.  False, and
 * errno: there is none; EBADMSG: its commit is damaged.  Else the caller releases it,
 * and looks whether it is whole. */
bool disk_snapshot_read(const char *folder, const moot_hash *id,
                        struct disk_snapshot *out, struct disk_set *set);
void disk_snapshot_release(struct disk_snapshot *snapshot);
/* All snapshots of the folder, the newest first; `all`: also those that are being made,
 * or were not finished.  NULL and *count 0: none, or no memory. */
struct disk_snapshot *disk_snapshot_list(const char *folder, bool all, size_t *count);
void disk_snapshot_list_free(struct disk_snapshot *list, size_t count);
/* The word for what it lacks: "whole", "not finished", "its part rank-3 is missing
 * ...".
 */
const char *disk_snapshot_state(const struct disk_snapshot *snapshot, char *text,
                                size_t size);

/* Adds which names the folder's whole snapshots have: "; the whole ones are 'a', 'b'",
 * and where to see more. */
void disk_snapshot_tell_names(const char *folder, struct text *out);

/* Removes it, or those that were not finished.  Under the lock to write. */
void disk_snapshot_remove(const char *folder, const moot_hash *id);
void disk_snapshot_sweep(const char *folder);

#endif
