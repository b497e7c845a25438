/* objects.h - takes a table of functions from a shared object of a user's: a
 * transport's or a launcher's.
 *
 * A shared object may be anything, so each thing that can be wrong with it is refused
 * with a line that says which.  Its constructors have run by then, and its functions
 * are trusted from then on: who may choose the file may run code.  An object whose
 * table was taken stays loaded until the process ends.
 */
#ifndef NODE_TRANSPORT_OBJECTS_H
#define NODE_TRANSPORT_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_kind {
    const char *noun;   /* "transport" */
    const char *symbol; /* that the table has */
    const char *type;   /* of the table, for people */
    size_t size;        /* of that type */
    size_t least;       /* a symbol of fewer bytes is none */
    /* MOOT_OK if the table is right; else CONFIG, with a line in story. */
    int (*check)(const void *table, const char *origin, char *story, size_t story_size);
};

/* The beginning of both kinds of tables. */
struct object_head {
    uint32_t version;
    size_t size;
    const char *name;
};

enum { OBJECT_NAME_BYTES = 32 }; /* at most, of a table's name */

/* Puts the line into story; returns CONFIG. */
int object_refuse(char *story, size_t story_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A word of letters, digits, _ and -, of OBJECT_NAME_BYTES at most; NULL is none. */
bool object_is_name(const char *name);

/* Version, size and name of a table; `version` is this moot's. */
int object_check_head(const struct object_kind *kind, const struct object_head *head,
                      uint32_t version, const char *origin, char *story,
                      size_t story_size);

/* Flags of a table that this moot does not know. */
int object_check_flags(uint32_t unknown, const char *origin, char *story,
                       size_t story_size);

/* Slots of a table that each has to have; the first that is missing is told. */
struct object_slot {
    const char *name;
    bool there;
};
int object_check_slots(const struct object_kind *kind, const struct object_slot *slots,
                       size_t count, const char *origin, char *story,
                       size_t story_size);

/* The part before a word's first colon: the name or path of an object, of size bytes
 * at most; *options points behind the colon, or to "". */
int object_split_word(const struct object_kind *kind, const char *word, char *name,
                      size_t size, const char **options, char *story,
                      size_t story_size);

/* The table in that file.  CONFIG, with a line in story: there is no such file, it
 * cannot be loaded, or its table is wrong.  Any thread. */
int object_load(const struct object_kind *kind, const char *file, const void **out,
                char *story, size_t story_size);

#endif
