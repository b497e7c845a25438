/* disk_reserve.h - a descriptor that a store keeps, to read where there are no others.
 *
 * A result that is stored must not be taken for one that is not because the program has
 * as many files open as it may.  So the store opens its folder once more than it needs
 * to; where descriptors have run out a reader gives that one up and opens its file in
 * its place, and what it has read is then the descriptor that is kept.  Readers of the
 * store do so one after another.  Another thread of the program may take the place in
 * that moment: then the read fails as it would have, and the next one that does not is
 * kept.
 */
#ifndef NODE_DISKSTORE_DISK_RESERVE_H
#define NODE_DISKSTORE_DISK_RESERVE_H

#include <pthread.h>
#include <stdatomic.h>

struct disk_reserve {
    pthread_mutex_t lock; /* held by a reader that has it */
    atomic_int fd;        /* negative: it is in the hands of a reader, or was lost */
};

/* `folder` is what is open meanwhile. */
void disk_reserve_init(struct disk_reserve *reserve, const char *folder);
void disk_reserve_release(struct disk_reserve *reserve);

/* Opens the file to read it; -1: errno.  Waits for another reader where there is but
 * the descriptor that is kept.  `reserve` may be NULL. */
int disk_reserve_open(struct disk_reserve *reserve, const char *path, int flags);
void disk_reserve_close(struct disk_reserve *reserve, int fd);

#endif
