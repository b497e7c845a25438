/* disk_mark.h - the files of reloads in a folder of checkpoints.
 *
 *     FOLDER/reloads/GENERATION-ID   a *mark*: all went back to the snapshot ID
 *     FOLDER/reloads/GENERATION      one of an earlier release
 *
 * One mark counts: that of the highest generation.  Folders that were put together can
 * have several of that generation; then the one that was written last counts, and of
 * those of one moment the one with the highest ID.  Marks of earlier releases have no
 * time, and are the oldest.
 *
 * Under the mark results of earlier generations are void unless its snapshot names
 * them, or they are once tasks' that were noted to have started: once is once, also
 * after a reload.  So a result that a reload has made void stays so, whatever its
 * folder is put together with: its generation is below that of its folder's mark, and
 * thereby below the highest.
 *
 * The body of the file, which is disk_sealed.h's: the ID, the generation and the time
 * since 1970 in nanoseconds, which one of an earlier release does not have; in words of
 * 8 bytes, the lowest byte first.
 */
#ifndef NODE_DISKSTORE_DISK_MARK_H
#define NODE_DISKSTORE_DISK_MARK_H

#include "hashing/moot_hash.h"

#include <stdbool.h>
#include <stdint.h>

struct disk_mark {
    uint32_t generation; /* 0: there is none */
    moot_hash id;
};

/* Its time is now.  False: errno. */
bool disk_mark_write(const char *folder, const struct disk_mark *mark);
/* The one that counts.  False: it is damaged, or it cannot be told which one is; errno.
 */
bool disk_mark_read(const char *folder, struct disk_mark *out);
/* Removes those that do not count.  Under the lock to write. */
void disk_mark_sweep(const char *folder);

#endif
