/* npz.c - NumPy's .npz: a zip archive with an .npy file for each array (arrays.h).
 *
 * libzip reads the archive and checks each member's CRC.
 */
#include "node/arrays/arrays.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

static int64_t read_member(void *context, void *bytes, size_t size,
                           const struct array_story *story)
{
    zip_file_t *file = context;
    const int64_t got = zip_fread(file, bytes, size);
    if (got < 0) {
        array_refuse(story, "%s", zip_file_strerror(file));
    }
    return got;
}

/* The index of an array's member, -1 and a story if there is none. */
static int64_t find_member(zip_t *archive, const char *member,
                           const struct array_story *story)
{
    char name[1024];
    if (snprintf(name, sizeof(name), "%s.npy", member) >= (int)sizeof(name)) {
        array_refuse(story, "a member's name of over %zu bytes", sizeof(name) - 5);
        return -1;
    }
    const int64_t found = zip_name_locate(archive, name, 0);
    if (found < 0) {
        const char *first = zip_get_name(archive, 0, 0);
        array_refuse(story, "no array '%s' in it; its %lld members begin with '%s'",
                     member, (long long)zip_get_num_entries(archive, 0),
                     first != NULL ? first : "");
    }
    return found;
}

/* The bytes of a member's name without its .npy. */
static int array_name_size(const char *member)
{
    const size_t size = strlen(member), end = strlen(".npy");
    const bool array = size > end && strcmp(member + size - end, ".npy") == 0;
    return (int)(array ? size - end : size);
}

static int64_t only_member(zip_t *archive, const struct array_story *story)
{
    const int64_t count = zip_get_num_entries(archive, 0);
    if (count == 0) {
        array_refuse(story, "no array is in it");
        return -1;
    }
    if (count != 1) {
        const char *first = zip_get_name(archive, 0, 0);
        array_refuse(story, "%lld arrays are in it: name one behind a #%s%.*s",
                     (long long)count, first != NULL ? ", as in #" : "",
                     first != NULL ? array_name_size(first) : 0,
                     first != NULL ? first : "");
        return -1;
    }
    return 0;
}

static bool read_index(zip_t *archive, uint64_t index, const struct array_sink *sink,
                       const struct array_story *story)
{
    zip_stat_t facts;
    if (zip_stat_index(archive, index, 0, &facts) != 0) {
        return array_refuse(story, "%s", zip_strerror(archive));
    }
    zip_file_t *file = zip_fopen_index(archive, index, 0);
    if (file == NULL) {
        return array_refuse(story, "%s", zip_strerror(archive));
    }
    const struct array_bytes bytes = {file, read_member,
                                      (facts.valid & ZIP_STAT_SIZE) != 0 ? facts.size
                                                                         : UINT64_MAX};
    const bool good = npy_read(&bytes, sink, story);
    zip_fclose(file);
    return good;
}

bool npz_read(const char *path, const char *member, const struct array_sink *sink,
              const struct array_story *story)
{
    int code;
    zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
    if (archive == NULL) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        array_refuse(story, "%s", zip_error_strerror(&error));
        zip_error_fini(&error);
        return false;
    }
    const int64_t index = member != NULL ? find_member(archive, member, story)
                                         : only_member(archive, story);
    const bool good = index >= 0 && read_index(archive, (uint64_t)index, sink, story);
    zip_discard(archive);
    return good;
}
