/* disk_prune.h - makes one environment of all that a folder has, without what is old,
 * damaged, or done with.
 *
 * Acceptances stay, however old, and so do the results of their tasks: without the
 * former a once task would start a second time, and without the latter nobody would
 * know how it ended.  Damage can hide one; then nothing is pruned unless that is
 * asked for.
 *
 * What a snapshot names stays, however old or much; of a task that ran again after a
 * reload there may be several results then, each in an environment of its own.  What
 * the last reload made void goes, if no snapshot names it.
 *
 * One environment stays as it is if all its records do, and at least half of the bytes
 * of its files and packs are theirs (disk_pack.h).  Else it is made anew.
 *
 * The new environment is complete and on the disk before the old ones go, so a kill at
 * any moment loses nothing: at worst some records are there twice.
 */
#ifndef NODE_DISKSTORE_DISK_PRUNE_H
#define NODE_DISKSTORE_DISK_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

struct text;

struct disk_prune_options {
    uint64_t age_max_ns;  /* older records go; 0: none does */
    uint64_t bytes_max;   /* the oldest go until the rest has so many; 0: any */
    bool dry;             /* counts, and changes nothing; fails where a prune would, as
                             far as that can be told */
    bool damaged;         /* also where damage may hide acceptances */
    const char *snapshot; /* goes, too: its name, or its id; NULL: none does */
};

struct disk_prune_counts {
    uint64_t environments; /* there were, that this version reads */
    uint64_t foreign;      /* left alone: another version's */
    uint64_t kept, kept_bytes;
    uint64_t damaged, old, over;
    uint64_t doubtful;      /* damage that may hide acceptances */
    uint64_t twice;         /* others of the same task and kind are newer */
    uint64_t ended;         /* half-done states of tasks with a result */
    uint64_t undone;        /* made void by a reload */
    uint64_t snapshots;     /* that stay */
    uint64_t unnamed_bytes; /* of files and packs, that belong to no good record, and
                               go */
};

/* Errors: FILE, and a story: it is no folder of checkpoints, is used by a process, or
 * cannot be written; NO_MEMORY. */
int disk_prune(const char *folder, const struct disk_prune_options *options,
               struct disk_prune_counts *counts, struct text *why);

#endif
