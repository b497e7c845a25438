/* disk_reserve.c - see disk_reserve.h. */
#include "node/diskstore/disk_reserve.h"
#include "node/diskstore/disk_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

enum { FD_LOST = -1, FD_TAKEN = -2 };

void disk_reserve_init(struct disk_reserve *reserve, const char *folder)
{
    pthread_mutex_init(&reserve->lock, NULL);
    atomic_init(&reserve->fd, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void disk_reserve_release(struct disk_reserve *reserve)
{
    const int fd = atomic_load(&reserve->fd);
    if (fd >= 0) {
        close(fd);
    }
    pthread_mutex_destroy(&reserve->lock);
}

/* Opens the file in place of what is kept; with the lock. */
static int open_in_place(struct disk_reserve *reserve, const char *path, int flags)
{
    const int kept = atomic_exchange(&reserve->fd, FD_TAKEN);
    if (kept >= 0) {
        close(kept);
    }
    const int fd = open(path, flags);
    atomic_store(&reserve->fd, fd >= 0 ? fd : FD_LOST);
    return fd;
}

/* Readers open under the lock, so that none takes the place that another has just given
 * up to open its own file there.  The lock is kept with what is opened in that place.
 */
int disk_reserve_open(struct disk_reserve *reserve, const char *path, int flags)
{
    if (reserve == NULL) {
        return open(path, flags);
    }
    pthread_mutex_lock(&reserve->lock);
    int fd = open(path, flags);
    const bool in_place = fd < 0 && disk_lacks_files(errno);
    fd = in_place ? open_in_place(reserve, path, flags) : fd;
    const int cause = errno;
    if (!in_place || fd < 0) {
        pthread_mutex_unlock(&reserve->lock);
    }
    errno = cause;
    return fd;
}

/* The descriptor that is kept is no other that is open, so it tells who has the lock.
 */
void disk_reserve_close(struct disk_reserve *reserve, int fd)
{
    int lost = FD_LOST;
    if (reserve != NULL && fd == atomic_load(&reserve->fd)) {
        pthread_mutex_unlock(&reserve->lock);
    } else if (reserve == NULL ||
               !atomic_compare_exchange_strong(&reserve->fd, &lost, fd)) {
        close(fd);
    }
}
