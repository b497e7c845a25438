/* disk_pack.c - see disk_pack.h. */
#include "node/diskstore/disk_pack.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Data are written in pieces that begin and end at multiples of this.  The kernel's
 * cache takes such a piece as a few large folios, which costs half of what many small
 * ones do, the copy included. */
enum { PIECE_BYTES = 256 << 10 };
/* A pack that has so many bytes is full. The disk is told to begin when so many wait.
 */
enum { FULL_BYTES = 64 << 20, BEGIN_BYTES = 1 << 20 };
/* Writes around the cache have whole blocks of this.  Fewer bytes than the least are
 * cheaper to copy than to send. */
enum { BLOCK_BYTES = 4096, AROUND_LEAST = 32 << 10 };

static bool open_pack(struct disk_pack *pack, uint64_t *last)
{
    unsigned char *room =
        pack->room != NULL ? pack->room : aligned_alloc(BLOCK_BYTES, PIECE_BYTES);
    if (room == NULL) {
        errno = ENOMEM;
        return false;
    }
    pack->room = room;
    pack->number = ++*last;
    pack->fd = disk_large_create(pack->folder, pack->number);
    pack->open = pack->fd >= 0;
    return pack->open;
}

/* The piece, filled up with zeros, by a write around the cache.  EINVAL: the file
 * system refuses it. */
static bool write_around(struct disk_pack *pack, size_t held, size_t *written)
{
    const uint64_t begun_ns = disk_clock_ns();
    *written = (held + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    memset(pack->room + held, 0, *written - held);
    bool good = fcntl(pack->fd, F_SETFL, O_DIRECT) == 0;
    if (good) {
        good = disk_write_all(pack->fd, pack->room, *written);
        const int cause = errno;
        fcntl(pack->fd, F_SETFL, 0);
        errno = cause;
    }
    const uint64_t took_ns = disk_clock_ns() - begun_ns;
    pack->around_ns += took_ns;
    if (took_ns > pack->around_max_ns) {
        pack->around_max_ns = 0;
    }
    return good;
}

/* A write that was refused half-way is begun again; no record names its bytes yet. */
static bool write_piece(struct disk_pack *pack, size_t held, size_t *written)
{
    if (pack->around_max_ns > 0 && !pack->refused && held >= AROUND_LEAST &&
        pack->size % BLOCK_BYTES == 0) {
        if (write_around(pack, held, written)) {
            return true;
        }
        pack->refused = errno == EINVAL;
        if (!pack->refused || lseek(pack->fd, (off_t)pack->size, SEEK_SET) < 0) {
            return false;
        }
    }
    *written = held;
    return disk_write_all(pack->fd, pack->room, held);
}

static bool write_held(struct disk_pack *pack)
{
    size_t written;
    const size_t held = pack->held;
    pack->held = 0;
    if (!write_piece(pack, held, &written)) {
        return false;
    }
    pack->size += written;
    if (pack->sync && pack->size - pack->begun >= BEGIN_BYTES) {
        sync_file_range(pack->fd, (off64_t)pack->begun,
                        (off64_t)(pack->size - pack->begun), SYNC_FILE_RANGE_WRITE);
        pack->begun = pack->size;
    }
    return true;
}

bool disk_pack_add(struct disk_pack *pack, uint64_t *last, const void *data,
                   size_t size, struct disk_spot *out)
{
    const unsigned char *bytes = data;
    if (!pack->open && !open_pack(pack, last)) {
        return false;
    }
    *out = (struct disk_spot){
        .home = DISK_IN_PACK, .number = pack->number, .from = pack->size + pack->held};
    bool good = true;
    while (good && size > 0) {
        const size_t left = PIECE_BYTES - pack->size % PIECE_BYTES - pack->held;
        const size_t part = size < left ? size : left;
        memcpy(pack->room + pack->held, bytes, part);
        pack->held += part;
        bytes += part;
        size -= part;
        good = part < left || write_held(pack);
    }
    return good;
}

bool disk_pack_write(struct disk_pack *pack)
{
    if (!pack->open || pack->size + pack->held == pack->kept) {
        return true;
    }
    if (!write_held(pack)) {
        return false;
    }
    const bool good =
        !pack->sync || (fdatasync(pack->fd) == 0 &&
                        (pack->named || disk_large_sync_names(pack->folder)));
    pack->named = pack->named || (good && pack->sync);
    return good;
}

void disk_pack_keep(struct disk_pack *pack)
{
    pack->kept = pack->size;
    if (pack->kept >= FULL_BYTES) {
        disk_pack_close(pack);
    }
}

void disk_pack_drop(struct disk_pack *pack)
{
    if (pack->open && pack->kept == 0) {
        disk_large_remove_pack(pack->folder, pack->number);
    }
    disk_pack_close(pack);
}

bool disk_pack_is_there(const struct disk_pack *pack)
{
    return disk_large_has_pack(pack->folder, pack->number, pack->fd, pack->size);
}

void disk_pack_close(struct disk_pack *pack)
{
    if (pack->open) {
        close(pack->fd);
    }
    free(pack->room);
    *pack = (struct disk_pack){.folder = pack->folder,
                               .sync = pack->sync,
                               .around_max_ns = pack->around_max_ns,
                               .refused = pack->refused,
                               .around_ns = pack->around_ns};
}
