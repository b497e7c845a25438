/* fleet_files.c - what ranks leave on their hosts, put into folders of this one. */
#include "node/config/ending.h"
#include "node/launch/fleet_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mark bears a number of a process, which may be that of one of another host, too. */
static bool is_mark(const char *name)
{
    return strncmp(name, ENDING_OPENS "-", sizeof(ENDING_OPENS)) == 0 ||
           strncmp(name, ENDING_FINALIZES "-", sizeof(ENDING_FINALIZES)) == 0 ||
           strncmp(name, ENDING_STALLED "-", sizeof(ENDING_STALLED)) == 0;
}

static bool is_name(const char *name)
{
    const size_t length = strnlen(name, NAME_MAX + 1);
    bool sound = length > 0 && length < NAME_MAX - 64 && name[0] != '.';
    for (size_t i = 0; sound && i < length; i++) {
        const unsigned char c = (unsigned char)name[i];
        sound = isalnum(c) || c == '.' || c == '-' || c == '_';
    }
    return sound;
}

/* The path of a file of that name; behind `suffix` if it is not whole yet.  False:
 * there is no folder for it, or it is no name. */
static bool path_make(const struct fleet_host *host, uint32_t folder, const char *name,
                      const char *suffix, char path[PATH_MAX])
{
    const char *where =
        folder < AGENT_FOLDERS ? host->fleet->job->folders[folder] : NULL;
    char of_host[32] = "";
    if (!where || !is_name(name)) {
        return false;
    }
    if (folder == AGENT_ENDS && is_mark(name)) {
        snprintf(of_host, sizeof(of_host), "-of-%u", host->index);
    }
    const int used =
        snprintf(path, PATH_MAX, "%s/%s%s%s", where, name, of_host, suffix);
    return used > 0 && used < PATH_MAX;
}

void fleet_file_drop(struct fleet_host *host)
{
    char path[PATH_MAX];
    if (host->file) {
        fclose(host->file);
        host->file = NULL;
        if (path_make(host, host->folder, host->name, ".part", path)) {
            unlink(path);
        }
    }
}

void fleet_file_take(struct fleet_host *host, const struct agent_header *header,
                     const unsigned char *bytes)
{
    const char *name = (const char *)bytes;
    const size_t length = strnlen(name, header->size);
    char part[PATH_MAX], path[PATH_MAX];
    if (length == header->size ||
        !path_make(host, header->value, name, ".part", part) ||
        !path_make(host, header->value, name, "", path)) {
        return;
    }
    if (host->file &&
        (strcmp(host->name, name) != 0 || host->folder != header->value)) {
        fleet_file_drop(host);
    }
    if (!host->file) {
        host->file = fopen(part, "we");
        host->folder = header->value;
        snprintf(host->name, sizeof(host->name), "%s", name);
    }
    if (host->file) {
        const size_t size = header->size - length - 1;
        (void)fwrite(bytes + length + 1, 1, size, host->file);
        if (header->flag != 0) {
            const bool written = !ferror(host->file); /* of any of its pieces */
            const bool closed = fclose(host->file) == 0;
            host->file = NULL;
            if (!written || !closed || rename(part, path) != 0) {
                unlink(part);
            }
        }
    }
}

void fleet_file_gone(struct fleet_host *host, const struct agent_header *header,
                     const unsigned char *bytes)
{
    char path[PATH_MAX];
    if (strnlen((const char *)bytes, header->size) < header->size &&
        path_make(host, header->value, (const char *)bytes, "", path)) {
        unlink(path);
    }
}
