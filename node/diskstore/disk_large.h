/* disk_large.h - the data of large records, each in a file of its own.
 *
 * LARGE/NUMBER stands in the environment's folder.  A file is written under another
 * name and renamed; the record that names it is written after that.  So a record's file
 * is whole, or damage took it, and a file that no record names is rubbish.
 */
#ifndef NODE_DISKSTORE_DISK_LARGE_H
#define NODE_DISKSTORE_DISK_LARGE_H

#include "node/diskstore/disk_record.h"
#include "node/diskstore/disk_reserve.h"

/* False: errno, and there is no such file.  `soon`: it is to be synced soon, so the
 * disk begins to write it. */
bool disk_large_write(const char *folder, uint64_t number, const void *data,
                      size_t size, bool soon);
/* Makes these files outlive a loss of power.  False: errno. */
bool disk_large_sync(const char *folder, const struct disk_spot *spots, size_t count);
/* The record's data, malloc'ed with one zero behind, if they are `size` and its own;
 * NULL: errno; EBADMSG and ENOENT: they are damaged or gone, others: they cannot be
 * read now.  `reserve`: of the store; NULL: there is none. */
void *disk_large_read(struct disk_reserve *reserve, const char *folder,
                      const struct disk_place *place, size_t size);
/* Whether that cause is damage. */
bool disk_large_is_damage(int cause);
/* Gives a file a second name in another environment; false: errno. */
bool disk_large_link(const char *from, uint64_t number, const char *to,
                     uint64_t to_number);
/* Whether there is such a file, of that size; or a pack that has so many bytes there.
 */
bool disk_large_is_there(const char *folder, const struct disk_spot *spot,
                         uint64_t size);
void disk_large_remove(const char *folder, uint64_t number);
/* A number that tells the folder of the environment's large files from another of that
 * name; 0: there is none. */
uint64_t disk_large_node(const char *folder);

/* For packs: opens a new one to write; -1: errno. */
int disk_large_create(const char *folder, uint64_t number);
void disk_large_remove_pack(const char *folder, uint64_t number);
/* Whether the pack that `fd` writes has its name, and so many bytes. */
bool disk_large_has_pack(const char *folder, uint64_t number, int fd, uint64_t size);
/* Makes the names of files and packs outlive a loss of power.  False: errno. */
bool disk_large_sync_names(const char *folder);

/* Bytes on disk of the folder's large files and packs together, and of the folder's
 * own. */
uint64_t disk_folder_bytes(const char *folder);
/* Bytes that large files and packs have. */
uint64_t disk_large_bytes(const char *folder);
/* Removes an environment's folder with all that a store puts there, and nothing else.
 */
void disk_folder_remove(const char *folder);

#endif
