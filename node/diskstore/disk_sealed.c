/* disk_sealed.c - see disk_sealed.h.
 *
 *      0  8  the mark of its kind
 *      8  8  bytes of the body
 *     16 32  BLAKE2b-256 of both, and of the body
 *     48     the body
 */
#include "node/diskstore/disk_sealed.h"
#include "hashing/base/byte_order.h"
#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_AT = 8, DIGEST_AT = 16, HEAD_BYTES = DIGEST_AT + DISK_DIGEST_BYTES };

static void digest_sealed(const unsigned char *head, const void *body, size_t size,
                          unsigned char out[DISK_DIGEST_BYTES])
{
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, NULL, 0, DISK_DIGEST_BYTES);
    crypto_generichash_blake2b_update(&state, head, DIGEST_AT);
    crypto_generichash_blake2b_update(&state, body, size);
    crypto_generichash_blake2b_final(&state, out, DISK_DIGEST_BYTES);
}

bool disk_sealed_folder(const char *parent, const char *name)
{
    char path[DISK_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", parent, name);
    return (mkdir(path, 0755) == 0 || errno == EEXIST) && disk_sync_folder(parent);
}

bool disk_sealed_write(const char *folder, const char *name,
                       const char mark[DISK_SEAL_MARK_BYTES], const void *body,
                       size_t size, unsigned char digest[DISK_DIGEST_BYTES])
{
    unsigned char head[HEAD_BYTES];
    char part[DISK_PATH_BYTES], path[DISK_PATH_BYTES];
    memcpy(head, mark, DISK_SEAL_MARK_BYTES);
    put_word(head + SIZE_AT, size);
    digest_sealed(head, body, size, head + DIGEST_AT);
    memcpy(digest, head + DIGEST_AT, DISK_DIGEST_BYTES);
    snprintf(part, sizeof(part), "%s/.%s.XXXXXX", folder, name);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int names = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fd = names >= 0 ? mkostemp(part, O_CLOEXEC) : -1;
    bool good = fd >= 0 && fchmod(fd, 0644) == 0 &&
                disk_write_all(fd, head, sizeof(head)) &&
                disk_write_all(fd, body, size) && fsync(fd) == 0;
    good = good && rename(part, path) == 0 && fsync(names) == 0;
    const int cause = errno;
    if (fd >= 0) {
        close(fd);
        if (!good) {
            unlink(part);
        }
    }
    if (names >= 0) {
        close(names);
    }
    errno = cause;
    return good;
}

/* The body behind the head, in a file of that many bytes; NULL: damaged, or no memory.
 */
static unsigned char *read_body(int fd, const char *mark, size_t file_size,
                                size_t *size, unsigned char digest[DISK_DIGEST_BYTES])
{
    unsigned char head[HEAD_BYTES], seen[DISK_DIGEST_BYTES];
    errno = EBADMSG;
    if (file_size < sizeof(head) || !disk_read_all(fd, head, sizeof(head)) ||
        memcmp(head, mark, DISK_SEAL_MARK_BYTES) != 0 ||
        get_word(head + SIZE_AT) != file_size - sizeof(head)) {
        return NULL;
    }
    *size = file_size - sizeof(head);
    unsigned char *body = malloc(*size + 1);
    if (body == NULL) {
        return NULL;
    }
    if (disk_read_all(fd, body, *size)) {
        digest_sealed(head, body, *size, seen);
        if (memcmp(seen, head + DIGEST_AT, sizeof(seen)) == 0) {
            memcpy(digest, seen, sizeof(seen));
            return body;
        }
    }
    free(body);
    errno = EBADMSG;
    return NULL;
}

void *disk_sealed_read(const char *folder, const char *name,
                       const char mark[DISK_SEAL_MARK_BYTES], size_t *size,
                       unsigned char digest[DISK_DIGEST_BYTES])
{
    char path[DISK_PATH_BYTES];
    struct stat stat;
    void *body = NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        body = read_body(fd, mark, (size_t)stat.st_size, size, digest);
    } else {
        errno = EBADMSG;
    }
    const int cause = errno;
    close(fd);
    errno = cause;
    return body;
}
