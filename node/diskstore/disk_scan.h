/* disk_scan.h - all that a folder of checkpoints holds, for a command that looks at it.
 *
 * Environments whose writers live are shown as far as they can be read at that moment;
 * what cannot be is then no damage.  Nothing in the folder is changed.
 */
#ifndef NODE_DISKSTORE_DISK_SCAN_H
#define NODE_DISKSTORE_DISK_SCAN_H

#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_record.h"

struct disk_scan_env {
    const char *name;
    const char *path;
    const char *why; /* its records are not shown; NULL: they are */
    bool readable;   /* by this version */
    bool alive;      /* it is being written */
    pid_t writer;    /* of one alive; 0: not known */
    uint64_t bytes;  /* on disk */
};

struct disk_scan_visitor {
    void *context;
    bool data; /* large data are read and verified, too */
    /* Each environment, before its records. */
    void (*env)(void *context, const struct disk_scan_env *env);
    /* A good record.  found->data are valid during the call; NULL if they are large and
     * `data` is not set. */
    void (*record)(void *context, const struct disk_scan_env *env,
                   const struct diskstore_found *found);
    /* A damaged one; a NULL key: some records cannot be reached. */
    void (*damaged)(void *context, const struct disk_scan_env *env,
                    const struct disk_key *key);
};

/* Errors: FILE, NO_MEMORY, and a story: it is no folder of checkpoints, or is pruned.
 */
int disk_scan(const char *folder, const struct disk_scan_visitor *visitor,
              struct text *why);
/* Its part for one environment that is there. */
void disk_scan_one(const struct disk_scan_env *env,
                   const struct disk_scan_visitor *visitor);

/* The word for a kind: "result". */
const char *disk_kind_name(enum diskstore_kind kind);

#endif
