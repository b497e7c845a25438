/* diskstore_snapshot.h - snapshots of a store's folder, and going back to one.
 *
 * A snapshot is made in two steps by all ranks of a job: each has its *part* written,
 * by diskstore_cut(); then one of them the *commit*, which names all parts.  The core
 * sees to the order (consensus/PROTOCOL.md, *Snapshots*).  Each step is a job for the
 * thread that writes, in the line of what was put, and what it says is durable is so
 * under a loss of power, whatever the store's `sync` says.
 *
 * Going back is three steps: all freeze what they have written, one writes the mark,
 * and then all turn to the new generation (disk_snapshot.h says what is void then).
 */
#ifndef NODE_DISKSTORE_DISKSTORE_SNAPSHOT_H
#define NODE_DISKSTORE_DISKSTORE_SNAPSHOT_H

#include "node/diskstore/diskstore.h"

enum { DISKSTORE_SNAPSHOT_NAME_BYTES = 65 };

/* A part, by what names it. */
struct diskstore_part {
    uint32_t rank;
    unsigned char digest[DISKSTORE_DIGEST_BYTES];
    uint64_t records, bytes;
    uint64_t left_out; /* results that could not be named: damaged, or without data */
};

/* How a job ended. */
struct diskstore_end {
    bool good;
    struct diskstore_part part; /* of a cut; of a commit what it has left out */
    const char *why;            /* it failed; valid during the call */
};
/* By the thread that writes. */
typedef void diskstore_done(void *context, const struct diskstore_end *end);

/* Each queues a job, and does not block.  False without memory: `done` is not called.
 *
 * Records put until now, and no more, are the part of the rank.  The names in the
 * folder are read at once: who begins to write later is in no commit. */
bool diskstore_cut(struct diskstore *store, const moot_hash *id, uint32_t rank,
                   diskstore_done *done, void *context);

struct diskstore_commit {
    moot_hash id;
    const char *name;
    const struct diskstore_part *parts; /* of all ranks; copied, as is the name */
    size_t part_count;
};
/* The snapshot exists, of these parts and one of all others who had written when this
 * store's part was cut, and write no more.  Fails where a part is not in this folder,
 * somebody else goes on writing there for some seconds, or another cut has followed. */
bool diskstore_commit(struct diskstore *store, const struct diskstore_commit *commit,
                      diskstore_done *done, void *context);

/* All went back to the snapshot; this generation begins. */
bool diskstore_mark(struct diskstore *store, uint32_t generation, const moot_hash *id,
                    diskstore_done *done, void *context);

/* --- Going back ------------------------------------------------------------------- */

/* Whether this process may open the files that a reload of so many ranks takes, some of
 * which stay open.  False, and why. */
bool diskstore_may_go_back(struct diskstore *store, size_t ranks, struct text *why);
/* Writes what was put, and finishes the environment: others can read it.  What is put
 * from now on goes into another.  Blocks. */
void diskstore_freeze(struct diskstore *store);
/* The folder has such a mark: results that it makes void are no longer found or taken,
 * and those that its snapshot names are read, whoever wrote them.  Blocks.  False, and
 * why: nothing has changed. */
bool diskstore_go_back(struct diskstore *store, uint32_t generation,
                       const moot_hash *id, struct text *why);
uint32_t diskstore_generation(struct diskstore *store);

/* --- What there is ---------------------------------------------------------------- */

struct diskstore_snapshot {
    moot_hash id;
    char name[DISKSTORE_SNAPSHOT_NAME_BYTES];
    uint64_t made_ns, records, bytes;
};
/* The newest whole one of the name, or the one with the id; the other is NULL.  Blocks.
 * False, and why. */
bool diskstore_snapshot_find(struct diskstore *store, const char *name,
                             const moot_hash *id, struct diskstore_snapshot *out,
                             struct text *why);

#endif
