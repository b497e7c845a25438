/* disk_sealed.h - small files that are whole or not there: a mark, a size, a digest
 * over all, and a body.
 *
 * A file is written under another name, synced, renamed, and the folder is synced; so
 * it outlives a loss of power, whatever the store's `sync` says.  Lists and words of
 * snapshots are such files (disk_snapshot.h).
 */
#ifndef NODE_DISKSTORE_DISK_SEALED_H
#define NODE_DISKSTORE_DISK_SEALED_H

#include "node/diskstore/disk_record.h"

enum { DISK_SEAL_MARK_BYTES = 8 };

/* Writes folder/name, in the place of one that may be there; `digest` names it.  False:
 * errno. */
bool disk_sealed_write(const char *folder, const char *name,
                       const char mark[DISK_SEAL_MARK_BYTES], const void *body,
                       size_t size, unsigned char digest[DISK_DIGEST_BYTES]);
/* The body, malloc'ed, if all of it has its digest.  NULL: errno; EBADMSG: it is
 * damaged, or no such file. */
void *disk_sealed_read(const char *folder, const char *name,
                       const char mark[DISK_SEAL_MARK_BYTES], size_t *size,
                       unsigned char digest[DISK_DIGEST_BYTES]);

/* Makes a folder that outlives a loss of power; it may be there.  False: errno. */
bool disk_sealed_folder(const char *parent, const char *name);

#endif
