/* disk_scan.h - all that a folder of checkpoints holds, for a command that looks at it.
 *
 * Environments whose writers live are shown as far as they can be read at that moment;
 * what cannot be is then no damage.  Nothing in the folder is changed.
 */
#ifndef NODE_DISKSTORE_DISK_SCAN_H
#define NODE_DISKSTORE_DISK_SCAN_H

#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_record.h"
#include "node/diskstore/disk_snapshot.h"

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
    /* Where the data stand of the good record that is shown next; NULL: nobody asks. */
    void (*spot)(void *context, const struct disk_spot *spot);
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

/* Records that the folder's last reload has made void (disk_snapshot.h); zero: nothing.
 */
struct disk_undone {
    struct disk_mark mark;
    struct disk_set named, accepted; /* by its snapshot; once tasks that began */
};

/* Reads all records for that, if there was a reload; of one whose mark or snapshot is
 * not to be read nothing is said.  Without memory some may be taken for void. */
void disk_undone_read(const char *folder, struct disk_undone *out);
bool disk_undone_has(const struct disk_undone *undone,
                     const struct diskstore_found *found);
void disk_undone_release(struct disk_undone *undone);

/* The word for a kind: "result". */
const char *disk_kind_name(enum diskstore_kind kind);

#endif
