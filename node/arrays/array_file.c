/* array_file.c - which reader a name asks for, and its bytes (arrays.h). */
#include "node/arrays/arrays.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A story quotes files, and terminals obey control characters. */
bool array_refuse(const struct array_story *story, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(story->text, story->size, format, values);
    va_end(values);
    for (char *at = story->text; length > 0 && *at != '\0'; at++) {
        if (iscntrl((unsigned char)*at)) {
            *at = '?';
        }
    }
    return false;
}

static int64_t read_file(void *context, void *bytes, size_t size,
                         const struct array_story *story)
{
    FILE *file = context;
    errno = 0;
    const size_t got = fread(bytes, 1, size, file);
    if (got == 0 && ferror(file) != 0) {
        array_refuse(story, "%s", strerror(errno));
        return -1;
    }
    return (int64_t)got;
}

static bool read_npy(FILE *file, const struct array_sink *sink,
                     const struct array_story *story)
{
    struct stat facts;
    struct array_bytes bytes = {file, read_file, UINT64_MAX};
    if (fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode)) {
        bytes.size = (uint64_t)facts.st_size;
    }
    return npy_read(&bytes, sink, story);
}

static bool ends_with(const char *text, size_t size, const char *end)
{
    return size > strlen(end) &&
           memcmp(text + size - strlen(end), end, strlen(end)) == 0;
}

static bool read_opened(const char *name,
                        bool (*reader)(FILE *, const struct array_sink *,
                                       const struct array_story *),
                        const struct array_sink *sink, const struct array_story *story)
{
    FILE *file = fopen(name, "rbe");
    if (file == NULL) {
        return array_refuse(story, "%s", strerror(errno));
    }
    const bool good = reader(file, sink, story);
    fclose(file);
    return good;
}

static bool read_archive(const char *name, size_t path_size, const char *member,
                         const struct array_sink *sink, const struct array_story *story)
{
    struct stat facts;
    char *path = strndup(name, path_size);
    if (path == NULL) {
        return array_refuse(story, "no memory");
    }
    const bool good =
        stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)
            ? array_refuse(story, "an archive has to be a regular file; this is none")
            : npz_read(path, member, sink, story);
    free(path);
    return good;
}

/* The last # that stands behind an archive's name, NULL: there is none.  A member's
 * name may have more. */
static const char *find_mark(const char *name)
{
    const char *found = NULL;
    for (const char *at = strchr(name, '#'); at != NULL; at = strchr(at + 1, '#')) {
        if (ends_with(name, (size_t)(at - name), ".npz")) {
            found = at;
        }
    }
    return found;
}

enum array_end array_file_read(const char *name, const struct array_sink *sink,
                               const struct array_story *story)
{
    const size_t size = strlen(name);
    const char *mark = find_mark(name);
    bool good;
    if (ends_with(name, size, ".npz")) {
        good = read_archive(name, size, NULL, sink, story);
    } else if (mark != NULL) {
        good = read_archive(name, (size_t)(mark - name), mark + 1, sink, story);
    } else if (ends_with(name, size, ".npy")) {
        good = read_opened(name, read_npy, sink, story);
    } else if (ends_with(name, size, ".json")) {
        good = read_opened(name, json_array_read, sink, story);
    } else {
        return ARRAY_NONE;
    }
    return good ? ARRAY_READ : ARRAY_REFUSED;
}

bool array_file_opens(const char *name)
{
    const char *mark = find_mark(name);
    char *path = mark != NULL ? strndup(name, (size_t)(mark - name)) : strdup(name);
    const int fd = path != NULL ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    const int why = errno;
    free(path);
    if (fd >= 0) {
        close(fd);
    }
    errno = why;
    return fd >= 0;
}

bool file_digest(int fd, moot_hash *out)
{
    unsigned char piece[1 << 16];
    crypto_generichash_blake2b_state state;
    ssize_t got = 1;
    crypto_generichash_blake2b_init(&state, NULL, 0, sizeof(out->bytes));
    while (got > 0) {
        got = read(fd, piece, sizeof(piece));
        if (got > 0) {
            crypto_generichash_blake2b_update(&state, piece, (size_t)got);
        } else if (got < 0 && errno == EINTR) {
            got = 1; /* nothing read: once more */
        }
    }
    crypto_generichash_blake2b_final(&state, out->bytes, sizeof(out->bytes));
    return got == 0;
}
