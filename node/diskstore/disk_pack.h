/* disk_pack.h - the data of middling results, many in one file.
 *
 * LARGE/NUMBER.pack stands in the environment's folder.  Data are appended to it as
 * they come, and the records that name them, by the file's number and their place in
 * it, are written after that.  So the data of a record are whole, or damage took them,
 * and bytes that no record names are rubbish.  LMDB would write such a value on pages
 * of its own, from a copy of it, up to twice as many bytes as it has; and a file for
 * each costs as much as some 100 kB.
 *
 * Pieces go around the kernel's cache (O_DIRECT) where the caller lets them: the copy
 * into the cache takes most of the processor's time of a write, which the job's kernels
 * need.  But then the write takes as long as the disk does.  So it is for a disk that
 * keeps up; one that is slow for a moment gets the rest of the batch through the cache,
 * and where a file system refuses such writes all goes through it.  The last piece of
 * a batch is filled up with zeros, as such a write has whole blocks; a short one goes
 * through the cache as it is.  A block is never written both ways.
 *
 * Bytes of a pack are never written again: those of a record that another has replaced
 * stay until a prune.  A pack that is full, or could not be written, is appended to no
 * more.
 */
#ifndef NODE_DISKSTORE_DISK_PACK_H
#define NODE_DISKSTORE_DISK_PACK_H

#include "node/diskstore/disk_record.h"

/* A pack that is written to, batch by batch.  Zero: none is yet. */
struct disk_pack {
    const char *folder;     /* the environment's */
    bool open, sync;        /* batches outlive a loss of power */
    uint64_t around_max_ns; /* pieces may go around the cache while each takes at most
                               so long: the caller's, for a batch; 0: none may */
    bool refused;           /* the file system takes no such writes */
    uint64_t around_ns;     /* such writes took, in all */
    int fd;
    uint64_t number;
    uint64_t size, begun, kept; /* bytes: all; that the disk was told to write; that
                                   committed batches have */
    bool named;                 /* its name outlives a loss of power */
    size_t held;
    unsigned char *room; /* aligned_alloc'ed: data gather here */
};

/* Appends the data to the batch; they are the caller's again.  Where there is no pack
 * yet, one is made, with the next number of `last`.  False: errno, and the batch is to
 * be dropped. */
bool disk_pack_add(struct disk_pack *pack, uint64_t *last, const void *data,
                   size_t size, struct disk_spot *out);
/* Writes the batch, as safe as `sync` makes it: its records may be committed.  False:
 * errno, and the batch is to be dropped. */
bool disk_pack_write(struct disk_pack *pack);
/* The batch was committed. */
void disk_pack_keep(struct disk_pack *pack);
/* The batch was not, and no record names its data. */
void disk_pack_drop(struct disk_pack *pack);
/* Between batches: whether the file has its name and all its bytes. */
bool disk_pack_is_there(const struct disk_pack *pack);
/* Between batches; the pack is zero again, but for its folder, `sync`,
 * `refused` and `around_ns`. */
void disk_pack_close(struct disk_pack *pack);

#endif
