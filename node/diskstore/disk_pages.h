/* disk_pages.h - reads an LMDB file that nobody writes, and takes no byte of it on
 * trust.
 *
 * LMDB itself maps its file and follows what stands there.  A flipped bit then leads
 * out of the map, or to its own abort().  This reader asks for pages by pread() and
 * checks each field before it is used, so a damaged file costs records and never the
 * process, and a disk that cannot be read is an error and no signal.
 *
 * Format: LMDB's data version 1, as in 0.9.x (struct MDB_meta, MDB_page and MDB_node in
 * its source), of a machine with 64 bits and the lowest byte first.  Only the main
 * database is read, without duplicates.
 */
#ifndef NODE_DISKSTORE_DISK_PAGES_H
#define NODE_DISKSTORE_DISK_PAGES_H

#include "node/diskstore/disk_table.h"

struct disk_pages;

/* NULL: errno, or text in `why`.  An empty file is a damaged one. */
struct disk_pages *disk_pages_open(const char *path, const char **why);
void disk_pages_close(struct disk_pages *pages);
/* The file outlives a loss of power.  False: errno. */
bool disk_pages_sync(struct disk_pages *pages);
uint64_t disk_pages_entries(const struct disk_pages *pages);
enum disk_end disk_pages_get(struct disk_pages *pages, const struct disk_key *key,
                             struct disk_value *value);
enum disk_end disk_pages_each(struct disk_pages *pages,
                              bool (*visit)(void *context, const struct disk_key *key,
                                            const struct disk_value *value),
                              void *context);
/* Every key.  Pages are read in the order of the file, many at once, which a disk does
 * faster than to follow the order of keys.  DAMAGED: not all could be reached. */
enum disk_end disk_pages_keys(struct disk_pages *pages,
                              bool (*visit)(void *context, const struct disk_key *key),
                              void *context);

#endif
