/* disk_table.h - what stands below the store: a table of functions for an environment.
 *
 * An environment is a folder with the records of one process, and with large files.  It
 * is open either to its writer, who may also read, or to readers when its writer is
 * gone. disk_lmdb.c fills the table with LMDB; a test fills it with a disk that tears,
 * forgets and flips bits.
 *
 * Records are put in batches: begin, put and erase, then commit or abort.  These five
 * are called by one thread at a time; the others by any.
 */
#ifndef NODE_DISKSTORE_DISK_TABLE_H
#define NODE_DISKSTORE_DISK_TABLE_H

#include "node/diskstore/disk_record.h"

struct disk_env;

enum disk_end {
    DISK_OK = 0,
    DISK_NONE,    /* there is no such record */
    DISK_DAMAGED, /* it cannot be read, or its way to it cannot */
    DISK_FAILED   /* errno, or disk_table.error, says why */
};

/* A value as it was read; malloc'ed, with room for a byte behind. */
struct disk_value {
    unsigned char *bytes;
    size_t size;
};

struct disk_table {
    /* `folder` is there.  `sync`: of a writer, commits and large files outlive a loss
     * of power.  NULL: errno, or text in `why`. */
    struct disk_env *(*open_writer)(const char *folder, bool sync, const char **why);
    struct disk_env *(*open_reader)(const char *folder, const char **why);
    void (*close)(struct disk_env *env);

    /* How many records there are, as it says itself. */
    uint64_t (*entries)(struct disk_env *env);
    /* OK, NONE or DAMAGED; or FAILED, and errno: it cannot be read now.  `value` may be
     * NULL: then NONE is said only where it is sure. */
    enum disk_end (*get)(struct disk_env *env, const struct disk_key *key,
                         struct disk_value *value);
    /* Shows every record, in order, until `visit` says false: of a writer's environment
     * those that are committed.  DAMAGED: some could not be reached, and others may
     * have come twice. */
    enum disk_end (*each)(struct disk_env *env,
                          bool (*visit)(void *context, const struct disk_key *key,
                                        const struct disk_value *value),
                          void *context);

    /* Shows each key of a reader's environment, in any order, until `visit` says false.
     * OK: all were shown, or the visit ended; and `get` says of no other key that it is
     * there, or may be. */
    enum disk_end (*keys)(struct disk_env *env,
                          bool (*visit)(void *context, const struct disk_key *key),
                          void *context);

    /* OK or FAILED, and then `*why`.  After a failure the batch is to be aborted. */
    enum disk_end (*begin)(struct disk_env *env, const char **why);
    enum disk_end (*put)(struct disk_env *env, const struct disk_key *key,
                         const struct disk_image *image, const char **why);
    enum disk_end (*erase)(struct disk_env *env, const struct disk_key *key);
    /* The large file that the record has within the batch; 0: none. */
    uint64_t (*large)(struct disk_env *env, const struct disk_key *key);
    enum disk_end (*commit)(struct disk_env *env, const char **why);
    void (*abort)(struct disk_env *env);
    /* Makes what was committed outlive a loss of power, but for large files.  OK or
     * FAILED. */
    enum disk_end (*sync)(struct disk_env *env, const char **why);
};

extern const struct disk_table disk_lmdb;

#endif
