/* tables.c - see tables.h. */
#include "node/transport/tables.h"
#include "node/transport/objects.h"
#include "node/wires/tcp/tcp.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where named transports are, from the folder of the library or, if the library is part
 * of it, of the program: as built (BUILD, BUILD/examples, BUILD/tests/KIND), and as
 * installed (lib, bin, libexec/moot/examples). */
static const char *const places[] = {
    "wires",       "../wires",       "../../wires",      "moot",
    "../lib/moot", "../../lib/moot", "../../../lib/moot"};
enum { PLACES = sizeof(places) / sizeof(*places) };

/* --- Where ------------------------------------------------------------------------ */

/* The folder of the object that this code is in; false: it is not to be known. */
static bool find_home(char *home)
{
    Dl_info info;
    void *entry = NULL;
    static const char here; /* an address in this object */
    const char *file = "/proc/self/exe";
    const int known = dladdr1(&here, &info, &entry, RTLD_DL_LINKMAP);
    const struct link_map *map = entry;
    if (known != 0 && map != NULL && map->l_name != NULL && *map->l_name != '\0') {
        file = map->l_name;
    }
    if (realpath(file, home) == NULL) {
        return false;
    }
    *strrchr(home, '/') = '\0';
    return true;
}

/* The i-th place, from `home`, if that is a folder; out has PATH_MAX bytes. */
static bool find_place(const char *home, size_t i, char *out)
{
    char path[PATH_MAX];
    struct stat found;
    const int length = snprintf(path, sizeof(path), "%s/%s", home, places[i]);
    return length > 0 && (size_t)length < sizeof(path) && realpath(path, out) != NULL &&
           stat(out, &found) == 0 && S_ISDIR(found.st_mode);
}

char *transport_tables_folders(char *text, size_t size)
{
    char home[PATH_MAX], place[PATH_MAX], before[PATH_MAX] = "";
    size_t used = 0;
    *text = '\0';
    if (!find_home(home)) {
        return text;
    }
    for (size_t i = 0; i < PLACES && used < size; i++) {
        /* From lib/, and from bin/ beside it, it is the same folder. */
        if (find_place(home, i, place) && strcmp(place, before) != 0) {
            memcpy(before, place, strlen(place) + 1);
            const int more =
                snprintf(text + used, size - used, "%s%s", used ? ", " : "", place);
            used += more > 0 ? (size_t)more : 0;
        }
    }
    return text;
}

/* The file of a transport that comes with moot; out has PATH_MAX bytes. */
static bool find_named(const char *name, char *out)
{
    char home[PATH_MAX], place[PATH_MAX];
    if (!find_home(home)) {
        return false;
    }
    for (size_t i = 0; i < PLACES; i++) {
        if (find_place(home, i, place)) {
            const int length = snprintf(out, PATH_MAX, "%s/%s.so", place, name);
            if (length > 0 && length < PATH_MAX && access(out, F_OK) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* --- Whether it is right ---------------------------------------------------------- */

static int check_found(const void *table, const char *origin, char *story,
                       size_t story_size)
{
    return transport_table_check(table, origin, story, story_size);
}

static const struct object_kind transports = {
    "transport",
    "moot_transport_table",
    "moot_transport",
    sizeof(moot_transport),
    offsetof(moot_transport, descriptor),
    check_found,
};

int transport_table_check(const moot_transport *table, const char *origin, char *story,
                          size_t story_size)
{
    const uint32_t flags = MOOT_TRANSPORT_RELIABLE | MOOT_TRANSPORT_PRIVATE;
    const struct object_head head = {table->version, table->size, table->name};
    const struct object_slot slots[] = {
        {"open", table->open != NULL},           {"address", table->address != NULL},
        {"introduce", table->introduce != NULL}, {"send", table->send != NULL},
        {"poll", table->poll != NULL},           {"flushed", table->flushed != NULL},
        {"forget", table->forget != NULL},       {"story", table->story != NULL},
        {"close", table->close != NULL},
    };
    int code = object_check_head(&transports, &head, MOOT_TRANSPORT_VERSION, origin,
                                 story, story_size);
    if (code == MOOT_OK) {
        code = object_check_flags(table->flags & ~flags, origin, story, story_size);
    }
    if (code == MOOT_OK && (table->frame_max < MOOT_TRANSPORT_FRAME_MIN ||
                            table->frame_max > MOOT_TRANSPORT_FRAME_MAX)) {
        code = object_refuse(story, story_size,
                             "%s: .frame_max of its table is %zu; it is to be %d to %d "
                             "bytes",
                             origin, table->frame_max, MOOT_TRANSPORT_FRAME_MIN,
                             MOOT_TRANSPORT_FRAME_MAX);
    }
    return code != MOOT_OK
               ? code
               : object_check_slots(&transports, slots, sizeof(slots) / sizeof(*slots),
                                    origin, story, story_size);
}

char *transport_table_about(const moot_transport *table, char *text, size_t size)
{
    Dl_info info;
    *text = '\0';
    if (table == &tcp_transport) {
        (void)snprintf(text, size, "part of moot");
        return text;
    }
    void *object = dladdr(table, &info) != 0
                       ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                       : NULL;
    if (object != NULL) {
        const char *(*about)(void) = NULL;
        void *found = dlsym(object, "moot_transport_about");
        memcpy(&about, &found, sizeof(about)); /* POSIX's way */
        if (about != NULL) {
            (void)snprintf(text, size, "%s", about());
        }
        (void)dlclose(object);
    }
    return text;
}

int transport_table_load(const char *word, const moot_transport **out,
                         const char **options, char *story, size_t story_size)
{
    char name[PATH_MAX], file[PATH_MAX];
    const char *rest = "";
    const void *table = &tcp_transport;
    int code = object_split_word(&transports, word, name, sizeof(name), &rest, story,
                                 story_size);
    const bool path = code == MOOT_OK && strchr(name, '/') != NULL;
    if (code == MOOT_OK && strcmp(name, tcp_transport.name) != 0) {
        if (!path && (!object_is_name(name) || !find_named(name, file))) {
            char folders[PATH_MAX];
            (void)transport_tables_folders(folders, sizeof(folders));
            return object_refuse(
                story, story_size,
                "there is no transport '%s'%s%s; a file of your own is given "
                "with a slash: ./mine.so",
                name, *folders ? " in " : "", folders);
        }
        code = object_load(&transports, path ? name : file, &table, story, story_size);
    }
    if (code == MOOT_OK) {
        *out = table;
        *options = rest;
    }
    return code;
}
