/* objects.c - see objects.h. */
#include "node/transport/objects.h"
#include "proto/moot_error.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int object_refuse(char *story, size_t story_size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(story, story_size, format, values);
    va_end(values);
    return MOOT_ERR_CONFIG;
}

bool object_is_name(const char *name)
{
    const size_t length = name != NULL ? strnlen(name, OBJECT_NAME_BYTES + 1) : 0;
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '_' || c == '-')) {
            return false;
        }
    }
    return length > 0 && length <= OBJECT_NAME_BYTES;
}

int object_check_head(const struct object_kind *kind, const struct object_head *head,
                      uint32_t version, const char *origin, char *story,
                      size_t story_size)
{
    if (head->version != version) {
        return object_refuse(story, story_size,
                             "%s: its table is of version %u, and this moot speaks %u; "
                             "compile it with this moot's %s.h",
                             origin, head->version, version, kind->type);
    }
    if (head->size < kind->size) {
        return object_refuse(story, story_size,
                             "%s: .size of its table is %zu, not the %zu of sizeof(%s)",
                             origin, head->size, kind->size, kind->type);
    }
    if (!object_is_name(head->name)) {
        return object_refuse(story, story_size,
                             "%s: .name of its table is to be a word of letters, "
                             "digits, _ and -, of at most %d",
                             origin, OBJECT_NAME_BYTES);
    }
    return MOOT_OK;
}

int object_check_flags(uint32_t unknown, const char *origin, char *story,
                       size_t story_size)
{
    return unknown == 0 ? MOOT_OK
                        : object_refuse(story, story_size,
                                        "%s: .flags of its table has bits that this "
                                        "moot does not know: 0x%x",
                                        origin, unknown);
}

int object_check_slots(const struct object_kind *kind, const struct object_slot *slots,
                       size_t count, const char *origin, char *story, size_t story_size)
{
    for (size_t i = 0; i < count; i++) {
        if (!slots[i].there) {
            return object_refuse(story, story_size,
                                 "%s: its table has no .%s, which each %s has", origin,
                                 slots[i].name, kind->noun);
        }
    }
    return MOOT_OK;
}

int object_split_word(const struct object_kind *kind, const char *word, char *name,
                      size_t size, const char **options, char *story, size_t story_size)
{
    const size_t length = strcspn(word, ":");
    if (length == 0) {
        return object_refuse(story, story_size,
                             "a %s is a name or the path of a .so file, and here is "
                             "none",
                             kind->noun);
    }
    if (length >= size) {
        return object_refuse(story, story_size, "the path of a %s is too long",
                             kind->noun);
    }
    memcpy(name, word, length);
    name[length] = '\0';
    *options = word[length] == ':' ? word + length + 1 : word + length;
    return MOOT_OK;
}

/* The table in an open object, which is held to be one only if it is as large. */
static int take_table(const struct object_kind *kind, void *object, const char *file,
                      const void **out, char *story, size_t story_size)
{
    const void *table = dlsym(object, kind->symbol);
    if (table == NULL) {
        return object_refuse(story, story_size, "%s is no %s: it has no symbol %s",
                             file, kind->noun, kind->symbol);
    }
    Dl_info info;
    void *entry = NULL;
    const int known = dladdr1(table, &info, &entry, RTLD_DL_SYMENT);
    const ElfW(Sym) *symbol = entry;
    if (known != 0 && symbol != NULL && symbol->st_size < kind->least) {
        return object_refuse(story, story_size,
                             "%s: its symbol %s has %zu bytes; it is to be a %s, which "
                             "has %zu",
                             file, kind->symbol, (size_t)symbol->st_size, kind->type,
                             kind->size);
    }
    const int code = kind->check(table, file, story, story_size);
    if (code == MOOT_OK) {
        *out = table;
    }
    return code;
}

int object_load(const struct object_kind *kind, const char *file, const void **out,
                char *story, size_t story_size)
{
    struct stat found;
    if (stat(file, &found) != 0) {
        return object_refuse(story, story_size, "the %s %s: %s", kind->noun, file,
                             strerror(errno));
    }
    if (!S_ISREG(found.st_mode)) {
        return object_refuse(story, story_size, "the %s %s is no file", kind->noun,
                             file);
    }
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        const char *why = dlerror();
        const bool unlinked = strstr(why, "undefined symbol: moot_") != NULL;
        return object_refuse(
            story, story_size, "the %s cannot be loaded: %s%s", kind->noun, why,
            unlinked ? "; link it with $(pkg-config --libs moot)" : "");
    }
    const int code = take_table(kind, object, file, out, story, story_size);
    if (code != MOOT_OK) {
        (void)dlclose(object);
    }
    return code;
}
