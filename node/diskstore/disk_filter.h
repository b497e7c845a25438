/* disk_filter.h - a set of keys that may take a key for one of its own, and never
 * misses one.
 *
 * A folder has an environment for each process that ever wrote there, and a look into
 * one takes microseconds.  The filter of an environment tells in the time of one cache
 * line that a key is not there.
 *
 * A blocked Bloom filter: a key has one bit in each of the eight words of a block, and
 * blocks are a cache line (F. Putze, P. Sanders, J. Singler, "Cache-, hash- and
 * space-efficient Bloom filters", 2007).  With 16 bits for each key one foreign key in
 * a thousand is taken for its own.
 *
 * No locks are taken: one thread adds, and others ask when it has ended.
 */
#ifndef NODE_DISKSTORE_DISK_FILTER_H
#define NODE_DISKSTORE_DISK_FILTER_H

#include "node/diskstore/disk_record.h"

struct disk_filter;

/* A key as filters see it, which is made once for all of them. */
uint64_t disk_filter_mark(const struct disk_key *key);

/* Bytes that a filter of so many keys takes. */
uint64_t disk_filter_bytes(uint64_t keys);
/* An empty one.  NULL without memory; free(). */
struct disk_filter *disk_filter_new(uint64_t keys);
void disk_filter_add(struct disk_filter *filter, uint64_t mark);
/* The key will be asked for soon: begins to fetch what is to be looked at, so that
 * filters that are asked one behind the other wait for memory together. */
void disk_filter_expect(const struct disk_filter *filter, uint64_t mark);
/* False: the key was not added. */
bool disk_filter_may_have(const struct disk_filter *filter, uint64_t mark);

#endif
