/* disk.h - the disk below the stores of virtual ranks (world.h).
 *
 * The disk has two halves.  A file system in memory, under the path DISK_FOLDER, holds
 * what a store keeps in files of its own: folders of environments with their owners'
 * locks, large data, and the parts, commits and marks of snapshots.  The linker puts it
 * in the place of the system's calls for paths there, and leaves all others alone.
 * Records stand behind the same table of functions as LMDB
 * (tests/unit/disk_simulated.h).  So all of node/diskstore runs as in programs, but for
 * LMDB and the reader of its files.
 *
 * LMDB itself in a scratch folder was weighed against that.  It would be no less code:
 * its environments, locks and names are a process's, and all ranks are one process
 * here.  And it would say less: what the kernel has been given survives the death of
 * everybody, so nothing would be lost, torn or out of order, and no seed could be run
 * again, as times of files are the machine's.  tests/unit/ and tests/cli/ have LMDB.
 *
 * Locks are a process's, which is a rank's: they end with it, and with the close of any
 * descriptor of the file.  A loss of power between two lives of a job takes what was
 * not synced: of a file's bytes all that came since, or the end of them, or zeros stand
 * there in their place; of names each change that its folder was not synced for, a
 * rename as a whole.  Bits flip in files and in records.  Somebody removes packs while
 * they are written, and a rank may run out of descriptors.
 */
#ifndef TESTS_VIRTUAL_DISK_H
#define TESTS_VIRTUAL_DISK_H

#include "node/diskstore/disk_table.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define DISK_FOLDER "/virtual-disk"

struct disk_options {
    uint64_t seed;
    uint64_t slow_ns;          /* what a sync takes, at most */
    uint32_t full_per_mille;   /* of writes, that find no room */
    uint32_t unread_per_mille; /* of walks through keys, that do not reach all */
    uint32_t vanish_per_mille; /* of writes, before which somebody removes a pack */
    uint32_t files_max;        /* that a rank may have open; 0: any */
    bool lies;                 /* a canary: a sync does nothing */
    bool deaf;                 /* a canary: one in four records is not found */
    bool forgetful;            /* a canary: a walk leaves out one in four keys */
};

/* One run, with all lives of its job; outside of the world. */
void disk_begin(const struct disk_options *options);
void disk_end(void);
/* Everybody is dead: descriptors and locks end.  Between two lives. */
void disk_life_ends(void);
void disk_life_faults(const struct disk_options *options); /* but for the seed */
void disk_lose_power(void);
/* One bit in each of so many files and records, on average. */
void disk_flip_bits(uint64_t one_in);

/* Shows each record of an environment that a store reads: whose folder and owner's file
 * are there, and whole. */
void disk_each(void (*visit)(void *context, const struct disk_key *key,
                             const struct disk_value *value),
               void *context);

extern const struct disk_table disk_virtual;

/* --- The file system, for disk_calls.c -------------------------------------------- */

/* As the system's of these names: -1, and errno. */
bool disk_has(const char *path); /* it is below DISK_FOLDER */
bool disk_is_open(int fd);       /* it is one of these */
int disk_open_file(const char *path, int flags);
int disk_close_file(int fd);
int disk_make_temporary(char *path);
long disk_read_file(int fd, void *bytes, size_t size);
long disk_write_file(int fd, const void *bytes, size_t size);
long disk_seek_file(int fd, long at); /* from the beginning */
int disk_sync_file(int fd);
int disk_stat_file(int fd, struct stat *out);
int disk_stat_path(const char *path, struct stat *out);
int disk_make_folder(const char *path);
int disk_remove(const char *path, bool folder);
int disk_rename(const char *from, const char *to);
int disk_link(const char *from, const char *to);
struct flock;
int disk_lock_file(int fd, bool looks, struct flock *lock);
DIR *disk_open_folder(const char *path, int fd); /* of `fd`, if there is no path */
bool disk_is_folder(const DIR *folder);
struct dirent *disk_read_folder(DIR *folder);
int disk_close_folder(DIR *folder);
void disk_touch(const char *folder, const char *name);

#endif
