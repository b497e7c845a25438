/* disk_bytes.h - bytes of files, all of them or an error: for what is not LMDB's; and
 * descriptors that have run out. */
#ifndef NODE_DISKSTORE_DISK_BYTES_H
#define NODE_DISKSTORE_DISK_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* False: errno. */
bool disk_write_all(int fd, const void *bytes, size_t size);
/* False: the file ends before, or errno. */
bool disk_read_all(int fd, void *bytes, size_t size);
/* Makes what the folder says of its files outlive a loss of power.  False: errno. */
bool disk_sync_folder(const char *path);
/* Likewise of the folder that the path, which is absolute, lies in. */
bool disk_sync_parent(const char *path);

/* Whether errno's value says that descriptors have run out. */
bool disk_lacks_files(int cause);
/* The text of errno's value; where descriptors have run out, with what helps. */
const char *disk_error(int cause);
/* Whether the text is one of those. */
bool disk_tells_lack(const char *text);
/* The thing to do about a text of disk_error()'s; NULL: it says that itself, or a lack
 * of room is the cause, or something else. */
const char *disk_remedy(const char *text);
/* Whether so many more files can be opened.  False: errno. */
bool disk_can_open(size_t count);

#endif
