/* disk_prune_private.h - a prune: what is read and chosen (disk_prune.c), and what is
 * written (disk_prune_write.c).
 */
#ifndef NODE_DISKSTORE_DISK_PRUNE_PRIVATE_H
#define NODE_DISKSTORE_DISK_PRUNE_PRIVATE_H

#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_prune.h"
#include "node/diskstore/disk_record.h"
#include "node/diskstore/disk_snapshot.h"

/* A good record of the folder. */
struct prune_entry {
    struct disk_key key;
    bool kept, named, counts; /* by a snapshot; after the last reload */
    bool stays; /* whatever its age: it is named, or says that a once task began, or how
                   it ended */
    uint32_t env, generation;
    uint32_t layer;      /* of those with its key that are kept */
    enum disk_home home; /* of its data */
    uint64_t made_ns, bytes;
    unsigned char digest[DISK_DIGEST_BYTES];
};

struct prune {
    const char *folder;
    const struct disk_prune_options *options;
    struct disk_prune_counts *counts;
    struct disk_env_name *envs;
    size_t env_count;
    struct prune_entry *entries;
    size_t count, room;
    uint32_t env;    /* that is read */
    uint32_t layers; /* environments to be made */
    struct disk_snapshot *snapshots;
    size_t snapshot_count;
    struct disk_mark mark;
    struct disk_set named, back; /* by snapshots; by that of the mark */
    bool no_memory;
    int unread;          /* why data could not be read that may be good; 0: all could */
    enum disk_home home; /* of the record that is read next */
    bool is_mostly_rubbish; /* more than half of the bytes outside of values are of no
                               record */
    const char *why;        /* it cannot be done, */
    char where[DISK_PATH_BYTES]; /* and what is in the way; "": the folder */
};

/* The path of the environment with that number. */
void prune_env_path(const struct prune *prune, size_t env, char path[DISK_PATH_BYTES]);

/* Whether the folder and its environments may be changed.  False, and why. */
bool prune_may_change(struct prune *prune);
/* Whether there is room for what prune_write() writes at least, and it may open its
 * files, as far as that can be told without writing.  False, and why. */
bool prune_has_room(struct prune *prune);
/* Makes the new environments of what is kept, as safe as a sync makes them.  False, and
 * why, or without memory: nothing is lost. */
bool prune_write(struct prune *prune);

#endif
