/* diskstore.h - the room of the store of checkpoints: records by task hash, on disk.
 *
 * A folder holds *environments*, one for each process that ever wrote there.  A process
 * writes to its own environment alone, which is made at its first record.  It reads the
 * environments that it finds finished, which means that their writer has closed them or
 * is dead.  So no process ever waits for another, be that stopped or killed.
 *
 * A process has one store for each folder, whatever its moots: opening the folder again
 * gives the same store, and the last close ends it.
 *
 * Each record carries a digest over all of it.  A record that does not have its digest
 * is dropped, counted, and never given out.  A full disk ends no job: what cannot be
 * written is counted, and its cause told once (diskstore_told).
 *
 * Safe at any moment under SIGKILL of any process, or all.  Safe under loss of power
 * with `sync`; without it such a loss may cost records, and never gives a wrong one.
 *
 * All functions may be called by any thread.  Only those that say so block, and then
 * without any lock of the caller's being needed by them.  A child of fork() must not
 * use a store.
 *
 * Files: diskstore.c (open, put), disk_find.c (find), disk_learn.c and disk_filter.c
 * (which environments need not be asked), disk_writer.c (the thread that writes
 * behind) and disk_gone.c (which looks after what it wrote), disk_record.c (the
 * format), disk_folder.c (environments and locks), disk_large.c and disk_pack.c (data
 * that are not small), disk_table.h (the table of functions below), disk_lmdb.c (which
 * LMDB fills), disk_pages.c (reads its files and survives damage), disk_reserve.c (a
 * descriptor for reading), disk_jobs.c (snapshots and reloads; diskstore_snapshot.h),
 * disk_snapshot.c, disk_mark.c and disk_sealed.c (their files), disk_bytes.c (whole
 * reads and writes), disk_scan.c and disk_prune.c (for the command).
 */
#ifndef NODE_DISKSTORE_DISKSTORE_H
#define NODE_DISKSTORE_DISKSTORE_H

#include "hashing/moot_hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diskstore;
struct text; /* node/config/text.h */

enum diskstore_kind {
    DISKSTORE_RESULT = 1,   /* the task ended: status and bytes; ends its PROGRESS */
    DISKSTORE_ACCEPTED = 2, /* a once task is about to start */
    DISKSTORE_PROGRESS = 3  /* a kernel's own half-done state; the newest counts */
};

enum {
    DISKSTORE_BUILD_BYTES = 32,
    DISKSTORE_NAME_BYTES = 256,
    DISKSTORE_DIGEST_BYTES = 32
};

struct diskstore_record {
    moot_hash hash;
    enum diskstore_kind kind;
    int32_t status;     /* MOOT_OK, or the task's error */
    const char *kernel; /* its name; NULL: "".  Cut at DISKSTORE_NAME_BYTES - 1 */
    const char *label;  /* likewise */
    const void *build;  /* build id of the object that has the kernel; NULL: unknown; */
    size_t build_size;  /* at most DISKSTORE_BUILD_BYTES count */
    uint32_t version;   /* the kernel's */
    uint64_t made_ns;   /* since 1970; 0: now */
    uint64_t took_ns;   /* the run */
    uint32_t generation; /* of the store when the task began: after a reload a record of
                            before is refused */
    uint64_t inputs;     /* a sum of the inputs that it was made of; 0: not known */
    const void *data;
    uint64_t size; /* bytes of data */
};

/* Zero is the default of each. */
struct diskstore_options {
    uint64_t job; /* a number that all processes of the job have; 0: of none, and jobs
                     that use the folder do not matter */
    bool sync;    /* commits outlive a loss of power */
    uint64_t large_bytes; /* results above have files of their own; 0: 256 KiB */
    uint64_t
        queue_bytes;     /* may wait to be written; 0: 64 MiB.  One record always may */
    uint64_t bytes_max;  /* the folder as it was, and what this process adds; 0: any */
    uint64_t age_max_ns; /* older records are not found; 0: any.  Those of once tasks
                            whose acceptance is there are, however old */
};

/* Opens the folder, which is made if it is not there (its parent must be).  Blocks for
 * the time that the environments take to be opened; and some seconds where processes of
 * another job have the folder open, in which they may end.  A folder that may not be
 * written gives what it has, and takes nothing.
 * Errors: FILE (and a story in `why`): it cannot be made or read, it is being pruned,
 * a process of another job has it open, whose results this one would not find; or it
 * lies on a file system whose memory maps and locks are not to be trusted; NO_MEMORY.
 */
int diskstore_open(const char *folder, const struct diskstore_options *options,
                   struct text *why, struct diskstore **out);
/* Writes what waits, and ends the store if no other opener has it.  Blocks.  NULL is
 * nothing. */
void diskstore_close(struct diskstore *store);

/* Queues the record; never blocks.  Names and build id are copied.  With `done` the
 * data are not: they must stay until done(context, stored) is called, which the thread
 * that writes does (or this call, if it refuses after all).  Without it they are
 * copied. False: the queue is full, or memory is; nothing happened, and `done` is not
 * called. */
bool diskstore_put(struct diskstore *store, const struct diskstore_record *record,
                   void (*done)(void *context, bool stored), void *context);
/* Waits until the queue has room for `size` bytes: back-pressure.  Blocks. */
void diskstore_wait_room(struct diskstore *store, uint64_t size);
/* The record is written when it returns, as safe as `sync` makes it.  What was put
 * before is, too.  Blocks.  False: it could not be. */
bool diskstore_put_now(struct diskstore *store, const struct diskstore_record *record);
/* All that was put before is written, or has failed.  Blocks. */
void diskstore_flush(struct diskstore *store);

/* A record that was found and has its digest. */
struct diskstore_found {
    moot_hash hash;
    enum diskstore_kind kind;
    int32_t status;
    uint32_t version,
        library; /* the kernel's; moot's: major << 16 | minor << 8 | patch */
    uint32_t generation;
    uint64_t inputs;                              /* as its record had it */
    unsigned char digest[DISKSTORE_DIGEST_BYTES]; /* names the record, for good */
    uint64_t made_ns, took_ns, size;
    char kernel[DISKSTORE_NAME_BYTES], label[DISKSTORE_NAME_BYTES];
    unsigned char build[DISKSTORE_BUILD_BYTES];
    size_t build_size;
    void *data; /* malloc'ed, aligned as malloc does, and one zero byte behind; the
                   caller's: free() */
    const char *unread; /* of one that is not found: why it cannot be read now, though
                           it is there, */
    char environment[DISKSTORE_NAME_BYTES]; /* in this environment */
};

/* Whether the store has such a record.  It reads the disk's cache, or the disk.  A
 * record that was put is found as soon as it has been written.  False: found->unread
 * says why one that is there cannot be read now (for lack of memory or of a descriptor,
 * or for its mode); NULL: there is none.  All else of `found` is unsaid.  It may be
 * NULL for
 * the question whether there may be one: a record that is damaged counts, and so does
 * damage that may hide it, or an environment that cannot be read.  So a once task that
 * was accepted is not started again because a disk has lost a page. */
bool diskstore_find(struct diskstore *store, const moot_hash *hash,
                    enum diskstore_kind kind, struct diskstore_found *found);

/* Opens what has been finished since the open, or since this was called last: the
 * environments of processes that have died.  Blocks as the open does.  How many. */
size_t diskstore_look_again(struct diskstore *store);

/* The harm that a fault plan does to the store; called by the thread that writes,
 * without a lock of the store's that others need. */
struct diskstore_harm {
    void *context;
    /* A batch is about to be written; may sleep.  True: the disk is full for it. */
    bool (*batch)(void *context);
    /* A record of it.  True: a bit of it flips, as *word is drawn. */
    bool (*record)(void *context, uint64_t *word);
};
/* Harms the store from now on; unless another harms it, and then nothing changes. */
void diskstore_harm(struct diskstore *store, const struct diskstore_harm *harm);
/* Ends the harm that has this context.  None of its functions runs any more when this
 * returns; blocks for that, so the caller holds no lock that they take. */
void diskstore_unharm(struct diskstore *store, const void *context);

/* The time that storing so many bytes takes the thread that writes, as measured lately;
 * without the disk's time of writes that go around the kernel's cache. */
uint64_t diskstore_cost_ns(struct diskstore *store, uint64_t size);

struct diskstore_counts {
    uint64_t environments;           /* finished ones, that are read */
    uint64_t records;                /* in them, as they say */
    uint64_t learned;                /* likewise, that are asked only for what they may
                                        have (disk_learn.h) */
    uint64_t asked, found;           /* of diskstore_find() */
    uint64_t stored, stored_bytes;   /* records; their data */
    uint64_t waiting, waiting_bytes; /* in the queue now */
    uint64_t damaged;  /* records, or whole environments, that were dropped */
    uint64_t old;      /* not given, for `age_max_ns` */
    uint64_t failed;   /* not written: the disk is full, or fails */
    uint64_t over;     /* not written, for `bytes_max` */
    uint64_t bytes;    /* of the folder: as it was, and what was added */
    uint64_t write_ns; /* the thread's time of writing */
};
void diskstore_counts(struct diskstore *store, struct diskstore_counts *out);

/* Appends the lines about trouble that were told behind the first `from` bytes of all;
 * the bytes of all.  Each kind of trouble is told once in the store's life. */
size_t diskstore_told(struct diskstore *store, size_t from, struct text *out);
/* Appends why records were last not written: "No space left on device".  Nothing: all
 * were. */
void diskstore_why(struct diskstore *store, struct text *out);

#endif
