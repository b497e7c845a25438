/* disk_private.h - a store: what the files of this room share.
 *
 * `lock` guards the queue and the counts; no call to the disk is made under it.  The
 * thread that writes owns the pack and the number of the last file, and makes `own` and
 * `own_path`, which others read under `opening`.  `finished` is a list that only grows,
 * under `opening` as well; so is `back`.
 */
#ifndef NODE_DISKSTORE_DISK_PRIVATE_H
#define NODE_DISKSTORE_DISK_PRIVATE_H

#include "node/config/text.h"
#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_pack.h"
#include "node/diskstore/disk_reserve.h"
#include "node/diskstore/disk_snapshot.h"
#include "node/diskstore/disk_table.h"

#include <pthread.h>
#include <stdatomic.h>

/* How the writing of a record ended; OVER: `bytes_max` leaves no room for it; DONE: it
 * was a job. */
enum disk_waiting_end { DISK_LOST, DISK_STORED, DISK_OVER, DISK_DONE, DISK_ENDS };

/* A record that waits to be written. */
struct disk_waiting {
    struct disk_waiting *next;
    struct diskstore_record record; /* its names, and perhaps data, stand behind */
    void (*done)(void *context, bool stored);
    void *context;
    bool *stored;         /* of one whose maker waits; NULL: nobody does */
    struct disk_job *job; /* what is to be done instead of writing it; NULL: nothing */
    enum disk_waiting_end end;
};

struct disk_filter;

/* A finished environment, or the own. */
struct disk_finished {
    struct disk_finished *next;
    struct disk_env *env;
    _Atomic(struct disk_filter *) filter; /* of all its keys; NULL: it is asked */
    _Atomic uint64_t vain; /* asks for what it has not, until it is to be learned */
    bool learned;          /* under `lock`: or it cannot be */
    unsigned users;        /* likewise, of the own: calls that read it now; */
    bool retired;          /* others read the same files, and its last user closes it */
    char name[DISK_NAME_BYTES];
    char path[]; /* its folder's */
};

/* A mark that counts, or did, and what its snapshot names. */
struct disk_back {
    struct disk_back *next;
    struct disk_mark mark;
    struct disk_set set;
};

/* Kinds of trouble, each told once. */
enum disk_trouble {
    DISK_TROUBLE_WRITE = 1,
    DISK_TROUBLE_FULL = 2,
    DISK_TROUBLE_DAMAGE = 4,
    DISK_TROUBLE_OPEN = 8,
    DISK_TROUBLE_OTHER = 16,
    DISK_TROUBLE_FILES = 32, /* descriptors have run out */
    DISK_TROUBLE_READ = 64,
    DISK_TROUBLE_LARGE = 128, /* a result that is larger than `bytes_max` */
    DISK_TROUBLE_GONE = 256   /* data that vanish under the writer */
};

struct diskstore {
    struct diskstore *next; /* in the process */
    unsigned openers;
    char *folder; /* real path */
    int folder_lock;
    struct disk_reserve reserve;
    const struct disk_table *table;
    struct diskstore_options options;

    pthread_mutex_t lock;
    pthread_cond_t work, room, written;
    struct disk_waiting *first, **last;
    uint64_t put_number, done_number; /* records put, and finished with */
    unsigned hurried;                 /* callers wait for what they put; */
    unsigned jobs;                    /* that stand in the line: ranks wait for them */
    bool ending;
    pthread_t thread;
    struct disk_batch *batch; /* the thread's */
    struct diskstore_counts counts;
    double record_ns, byte_ns; /* measured cost */
    unsigned told;             /* enum disk_trouble */
    struct text lines;         /* about them */
    struct text why;           /* records were last not written */

    _Atomic(struct disk_finished *) own; /* is none while it is written to */
    char own_path[DISK_PATH_BYTES];
    int own_lock;
    uint64_t last_large;
    struct disk_pack pack; /* the thread's: of `own` */
    uint64_t
        large_node; /* likewise: what disk_large_node() said; 0: no data in files */
    uint64_t gone;  /* likewise: results of it whose data have gone */
    bool has_files, has_progress; /* likewise: it has, or had, data in files of their
                                     own, and half-done states */
    _Atomic(struct disk_finished *) finished;
    _Atomic(struct disk_back *) back; /* the first counts; NULL: none does */
    bool has_cut;                /* the thread's: a snapshot names records of `own` */
    moot_hash cut_id;            /* likewise: its last cut's, */
    struct disk_names cut_names; /* and what the folder had when that was made */
    atomic_bool blind;           /* there is an environment that cannot be read, */
    bool lacks_files;            /* under `opening`: for lack of descriptors */
    pthread_mutex_t opening;

    pthread_t learner;       /* disk_learn.h */
    bool learns;             /* under `lock`: it runs */
    pthread_cond_t to_learn; /* an environment is */
    atomic_bool learn_ends;
    uint64_t learned_bytes; /* the learner's: of filters */

    pthread_mutex_t harming; /* held while a function of the harm runs */
    struct diskstore_harm harm;
};

/* The stores of the process, by the real path of their folder. */
extern struct disk_stores {
    pthread_mutex_t lock;
    struct diskstore *first;
} disk_stores;

/* Tells, if this kind was not told before. */
void disk_tell(struct diskstore *store, enum disk_trouble trouble, const char *format,
               ...) __attribute__((format(printf, 3, 4)));

/* Likewise, and keeps the cause for diskstore_why(). */
void disk_tell_unwritten(struct diskstore *store, enum disk_trouble trouble,
                         const char *cause, const char *advice);

struct disk_batch *disk_batch_new(void); /* NULL without memory; free() */
/* Whether enough waits for a batch, or a job does.  Less is let gather for a moment,
 * for which nobody need wake the thread that writes.  Under the lock. */
bool disk_has_gathered(const struct diskstore *store);
/* The thread that writes: until `ending`, and the queue is empty. */
void *disk_writer_run(void *store);

/* An environment of that name in the folder, not opened yet; NULL without memory. */
struct disk_finished *disk_finished_new(const struct diskstore *store,
                                        const char *name);
/* Reads the mark that counts.  False, and why: the folder cannot be used. */
bool disk_read_back(struct diskstore *store, struct text *why);
/* Whether the record may be found, by the mark that counts. */
bool disk_counts_by_mark(struct diskstore *store, const struct diskstore_found *found);
/* Whether the snapshot that the mark names has it. */
bool disk_is_named(struct diskstore *store, const struct diskstore_found *found);
/* Whether there is a record of the key, or it cannot be told. */
bool disk_has_key(struct diskstore *store, const struct disk_key *key);
/* The own environment, which stays open until it is given back; NULL: there is none. */
struct disk_finished *disk_own_take(struct diskstore *store);
void disk_own_give(struct diskstore *store, struct disk_finished *own);
/* Others read the files of the own environment, which is no longer `own`. */
void disk_own_retire(struct diskstore *store, struct disk_finished *own);
/* Looks whether files with data of the own environment are still there.  By the thread
 * that writes, between batches. */
void disk_gone_look(struct diskstore *store, struct disk_env *own);
/* Does the job, by the thread that writes, and frees it. */
void disk_job_run(struct diskstore *store, struct disk_job *job);
/* Puts the job into the line; false without memory. */
bool disk_job_queue(struct diskstore *store, struct disk_job *job);
/* Writes what was put before, and finishes the own environment.  By the thread that
 * writes. */
void disk_finish_own(struct diskstore *store);

/* As diskstore_open(), on another table. */
int disk_open_on(const struct disk_table *table, const char *folder,
                 const struct diskstore_options *options, struct text *why,
                 struct diskstore **out);

/* The data of a record that was read from an environment in the folder: reads large
 * ones, and makes the value's block the data's for the others.  Takes the value. False:
 * errno; it is damaged (disk_large_is_damage), or cannot be read now. */
bool disk_take_data(struct disk_reserve *reserve, const char *folder,
                    struct disk_value *value, const struct disk_place *place,
                    struct diskstore_found *found);

uint64_t disk_now_ns(void);   /* since 1970 */
uint64_t disk_clock_ns(void); /* since some moment, and never back */

#endif
