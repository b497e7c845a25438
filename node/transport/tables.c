/* tables.c - see tables.h. */
#include "node/transport/tables.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMBOL "moot_transport_table"

enum { NAME_MAX_BYTES = 32 };

/* Where named transports are, from the folder of the library or, if the library is part
 * of it, of the program: as built (BUILD, BUILD/examples, BUILD/tests/KIND), and as
 * installed (lib, bin, libexec/moot/examples). */
static const char *const places[] = {
    "wires",       "../wires",       "../../wires",      "moot",
    "../lib/moot", "../../lib/moot", "../../../lib/moot"};
enum { PLACES = sizeof(places) / sizeof(*places) };

__attribute__((format(printf, 3, 4))) static int
refuse_table(char *story, size_t story_size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(story, story_size, format, values);
    va_end(values);
    return MOOT_ERR_CONFIG;
}

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
    char home[PATH_MAX], place[PATH_MAX];
    size_t used = 0;
    *text = '\0';
    if (!find_home(home)) {
        return text;
    }
    for (size_t i = 0; i < PLACES && used < size; i++) {
        if (find_place(home, i, place)) {
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

static bool is_name(const char *name)
{
    const size_t length = name != NULL ? strnlen(name, NAME_MAX_BYTES + 1) : 0;
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '_' || c == '-')) {
            return false;
        }
    }
    return length > 0 && length <= NAME_MAX_BYTES;
}

/* The first slot that must be there and is not; NULL: all are. */
static const char *find_hole(const moot_transport *table)
{
    const struct {
        const char *name;
        bool there;
    } slots[] = {
        {"open", table->open != NULL},           {"address", table->address != NULL},
        {"introduce", table->introduce != NULL}, {"send", table->send != NULL},
        {"poll", table->poll != NULL},           {"flushed", table->flushed != NULL},
        {"forget", table->forget != NULL},       {"story", table->story != NULL},
        {"close", table->close != NULL},
    };
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        if (!slots[i].there) {
            return slots[i].name;
        }
    }
    return NULL;
}

int transport_table_check(const moot_transport *table, const char *origin, char *story,
                          size_t story_size)
{
    const uint32_t flags = MOOT_TRANSPORT_RELIABLE | MOOT_TRANSPORT_PRIVATE;
    if (table->version != MOOT_TRANSPORT_VERSION) {
        return refuse_table(story, story_size,
                            "%s: its table is of version %u, and this moot speaks %d; "
                            "compile it with this moot's moot_transport.h",
                            origin, table->version, MOOT_TRANSPORT_VERSION);
    }
    if (table->size < sizeof(*table)) {
        return refuse_table(story, story_size,
                            "%s: .size of its table is %zu, not the %zu of "
                            "sizeof(moot_transport)",
                            origin, table->size, sizeof(*table));
    }
    if (!is_name(table->name)) {
        return refuse_table(
            story, story_size,
            "%s: .name of its table is to be a word of letters, digits, "
            "_ and -, of at most %d",
            origin, NAME_MAX_BYTES);
    }
    if ((table->flags & ~flags) != 0) {
        return refuse_table(story, story_size,
                            "%s: .flags of its table has bits that this moot does not "
                            "know: 0x%x",
                            origin, table->flags & ~flags);
    }
    if (table->frame_max < MOOT_TRANSPORT_FRAME_MIN ||
        table->frame_max > MOOT_TRANSPORT_FRAME_MAX) {
        return refuse_table(story, story_size,
                            "%s: .frame_max of its table is %zu; it is to be %d to %d "
                            "bytes",
                            origin, table->frame_max, MOOT_TRANSPORT_FRAME_MIN,
                            MOOT_TRANSPORT_FRAME_MAX);
    }
    const char *hole = find_hole(table);
    if (hole != NULL) {
        return refuse_table(story, story_size,
                            "%s: its table has no .%s, which each transport has",
                            origin, hole);
    }
    return MOOT_OK;
}

/* The table in an open object, which is held to be one only if it is as large. */
static int take_table(void *object, const char *file, const moot_transport **out,
                      char *story, size_t story_size)
{
    const moot_transport *table = dlsym(object, SYMBOL);
    if (table == NULL) {
        return refuse_table(story, story_size,
                            "%s is no transport: it has no symbol " SYMBOL, file);
    }
    Dl_info info;
    void *entry = NULL;
    const int known = dladdr1(table, &info, &entry, RTLD_DL_SYMENT);
    const ElfW(Sym) *symbol = entry;
    if (known != 0 && symbol != NULL &&
        symbol->st_size < offsetof(moot_transport, descriptor)) {
        return refuse_table(story, story_size,
                            "%s: its symbol " SYMBOL " has %zu bytes; it is to be a "
                            "moot_transport, which has %zu",
                            file, (size_t)symbol->st_size, sizeof(*table));
    }
    const int code = transport_table_check(table, file, story, story_size);
    if (code == MOOT_OK) {
        *out = table;
    }
    return code;
}

char *transport_table_about(const moot_transport *table, char *text, size_t size)
{
    Dl_info info;
    *text = '\0';
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

static int load_file(const char *file, const moot_transport **out, char *story,
                     size_t story_size)
{
    struct stat found;
    if (stat(file, &found) != 0) {
        return refuse_table(story, story_size, "the transport %s: %s", file,
                            strerror(errno));
    }
    if (!S_ISREG(found.st_mode)) {
        return refuse_table(story, story_size, "the transport %s is no file", file);
    }
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        return refuse_table(story, story_size, "the transport cannot be loaded: %s",
                            dlerror());
    }
    const int code = take_table(object, file, out, story, story_size);
    if (code != MOOT_OK) {
        (void)dlclose(object);
    }
    return code;
}

int transport_table_load(const char *word, const moot_transport **out,
                         const char **options, char *story, size_t story_size)
{
    char name[PATH_MAX], file[PATH_MAX];
    const size_t length = strcspn(word, ":");
    if (length == 0 || length >= sizeof(name)) {
        return refuse_table(story, story_size,
                            length == 0 ? "a transport is a name or the path of a .so "
                                          "file, and here is none"
                                        : "the path of a transport is too long");
    }
    memcpy(name, word, length);
    name[length] = '\0';
    const bool path = strchr(name, '/') != NULL;
    if (!path && (!is_name(name) || !find_named(name, file))) {
        char folders[PATH_MAX];
        (void)transport_tables_folders(folders, sizeof(folders));
        return refuse_table(
            story, story_size,
            "there is no transport '%s'%s%s; a file of your own is given "
            "with a slash: ./mine.so",
            name, *folders ? " in " : "", folders);
    }
    const int code = load_file(path ? name : file, out, story, story_size);
    if (code == MOOT_OK) {
        *options = word[length] == ':' ? word + length + 1 : word + length;
    }
    return code;
}
