/* api_announce.c - data that are announced as text (moot_reference.h). */
#include "node/api/moot_reference.h"

#include "node/engine/engine.h"

#include <jansson.h>
#include <string.h>

enum { STORY_BYTES = 512 };

static int refuse_announced(struct moot *m, int code, const char *why)
{
    return lane_refuse(m, code, "moot_data_announce", why);
}

/* The object's member of that name, if it is a text; NULL: it is not there, or none. */
static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* A member that announcements do not have; NULL: there is none. */
static const char *find_unknown(json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (strcmp(name, "uid") != 0 && strcmp(name, "operation") != 0 &&
            strcmp(name, "input") != 0) {
            return name;
        }
    }
    return NULL;
}

/* The path in an announcement, which the object owns. */
static int read_announcement(struct moot *m, json_t *object, const char **path)
{
    char story[STORY_BYTES];
    const json_t *uid = json_object_get(object, "uid");
    const char *operation = text_of(object, "operation");
    const char *unknown = find_unknown(object);
    *path = text_of(object, "input");
    if (unknown != NULL) {
        snprintf(story, sizeof(story), "\"%.128s\" is no member of an announcement",
                 unknown);
        return refuse_announced(m, MOOT_ERR_INVALID, story);
    }
    if (!json_is_string(uid) && !json_is_integer(uid)) {
        return refuse_announced(m, MOOT_ERR_INVALID,
                                "\"uid\" is no text and no integer");
    }
    if (operation == NULL || *path == NULL) {
        return refuse_announced(m, MOOT_ERR_INVALID,
                                "\"operation\" or \"input\" is no text");
    }
    if (strcmp(operation, "read") != 0) {
        snprintf(story, sizeof(story),
                 "the operation is \"%.128s\"; only \"read\" needs no kernel",
                 operation);
        return refuse_announced(m, MOOT_ERR_UNSUPPORTED, story);
    }
    return MOOT_OK;
}

int moot_data_announce_at(moot *m, const char *text, const moot_data_options *options,
                          moot_task *out, const char *site)
{
    char story[STORY_BYTES];
    const char *path = NULL;
    json_error_t wrong;
    if (m == NULL || text == NULL || out == NULL) {
        return refuse_announced(m, MOOT_ERR_INVALID,
                                m == NULL      ? "the moot is NULL"
                                : text == NULL ? "the text is NULL"
                                               : "the output is NULL");
    }
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    if (object == NULL || !json_is_object(object)) {
        snprintf(story, sizeof(story), "line %d: %.160s", object ? 1 : wrong.line,
                 object ? "this is no object" : wrong.text);
        json_decref(object);
        return refuse_announced(m, MOOT_ERR_INVALID, story);
    }
    int error = read_announcement(m, object, &path);
    if (error == MOOT_OK) {
        error = moot_data_file_at(m, path, options, out, site);
    }
    json_decref(object);
    return error;
}
