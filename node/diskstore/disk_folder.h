/* disk_folder.h - the folder of a store: whose environments it has, and who is alive.
 *
 *     FOLDER/lock      its first byte is read-locked by each process that has the store
 *                      open, and so is another byte, which the number of the process'
 *                      job names; all of it is write-locked while it is pruned
 *     FOLDER/HOST-NUMBER-PID-RANDOM/    an environment
 *         owner        write-locked by its writer for as long as that lives
 *         data.mdb, lock.mdb            LMDB's
 *         large/NUMBER                  disk_large.h
 *     FOLDER/.HOST-NUMBER-PID-RANDOM/   one that is being made, or rubbish
 *
 * Locks are fcntl()'s: the kernel ends them with their process, and no child inherits
 * them.  They are a process's, not a descriptor's, and closing any descriptor of a file
 * ends them; so a process opens these files once, and lists environments without its
 * own.  They are the kernel's: they hold between containers of one host, and no process
 * id says who is alive.  A name that begins with a dot belongs to nobody until its
 * maker renames it, by then with the lock.
 */
#ifndef NODE_DISKSTORE_DISK_FOLDER_H
#define NODE_DISKSTORE_DISK_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct text;

enum { DISK_PATH_BYTES = 4096, DISK_NAME_BYTES = 128 };

/* The name of a file system whose locks or memory maps are not to be trusted, by the
 * f_type of statfs(); NULL: it is trusted. */
const char *disk_file_system_refused(long type);
/* Likewise, the one that the folder lies on. */
const char *disk_folder_refused(const char *folder);

/* READ is a store's, which makes the file, where it may; LOOK reads without making it,
 * so that looking at a folder leaves no trace; WRITE is prune's. */
enum disk_lock { DISK_LOCK_READ, DISK_LOCK_LOOK, DISK_LOCK_WRITE };
/* Takes FOLDER/lock; the descriptor holds it.  -1: errno, which is ENOENT where no
 * store was ever open, and with EAGAIN *holder is a process that has it (0: one of
 * another container). */
int disk_folder_lock(const char *folder, enum disk_lock way, pid_t *holder);
/* Says why the folder has no such file: it is not there, is a file, or no store was
 * ever open there. */
void disk_folder_tell_none(const char *folder, struct text *out);
/* Says by that descriptor that the process is of this job, whose number is not 0.
 * False: errno; EAGAIN: a process of another job has the store open, *holder as above.
 * Of two jobs that come at once at least one is told so. */
bool disk_folder_join(int lock, uint64_t job, pid_t *holder);

/* "HOST-NUMBER-PID-": what the names of this process' environments begin with, and
 * those of no other process. */
void disk_env_process(char process[DISK_NAME_BYTES]);

/* Makes an environment's folder, with the owner's lock.  `path` is then its path; a
 * name that begins with a dot until disk_env_show().  The descriptor holds the lock;
 * -1: errno. */
int disk_env_make(const char *folder, char path[DISK_PATH_BYTES]);
/* Whether the environment whose owner's lock this is has been removed. */
bool disk_env_is_gone(int owner_lock);
/* Gives it its own name.  False: errno. */
bool disk_env_show(const char *folder, bool sync, char path[DISK_PATH_BYTES]);

/* An environment of the folder. */
struct disk_env_name {
    char name[DISK_NAME_BYTES];
    bool readable; /* its owner's file says this version */
    bool alive;    /* its writer is */
    pid_t writer;  /* of one alive; 0: not known */
};
/* The environment, by its path, is there after a loss of power, whatever its writer's
 * `sync`; its records and large files are not this function's.  False: errno. */
bool disk_env_sync(const char *path);

/* All of the folder but `own` (NULL: none is), whose lock it would end, in order of
 * their last change, the newest first; free(*all), which is NULL where there are none.
 * False, and none are given: errno. */
bool disk_env_list(const char *folder, const char *own, struct disk_env_name **all,
                   size_t *count);

/* Names, each DISK_NAME_BYTES; zero: none. */
struct disk_names {
    char (*names)[DISK_NAME_BYTES];
    size_t count, room;
};
/* Adds all that the folder has, environments or not, but for what is hidden.  False:
 * errno. */
bool disk_names_read(const char *folder, struct disk_names *names);
bool disk_names_has(const struct disk_names *names, const char *name);
void disk_names_release(struct disk_names *names);

/* Removes an environment.  It is hidden first, so that half of one is never seen. Under
 * the lock to write. */
void disk_env_remove(const char *folder, const char *name);
/* Removes hidden environments: those whose making, or removal, was cut short.  Under
 * the lock to write. */
void disk_folder_sweep(const char *folder);

#endif
