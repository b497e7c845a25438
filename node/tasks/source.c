/* source.c - see source.h. */
#include "node/tasks/source.h"

#include "node/store/payload.h"
#include "node/tasks/task.h"

#include <stdlib.h>
#include <string.h>

static bool has_source(const struct task *task, const char *path)
{
    const struct task_source *source = task_seldom(task)->sources;
    while (source != NULL &&
           (path == NULL ? source->bytes == NULL : strcmp(source->path, path) != 0)) {
        source = source->next;
    }
    return source != NULL;
}

/* Bytes come first: they cannot have changed. */
static bool add_source(struct moot *m, struct task *task, struct payload *bytes,
                       const char *path)
{
    struct task_seldom *seldom = task_seldom_of(m, task);
    const size_t size = strlen(path) + 1;
    struct task_source *source = seldom != NULL ? malloc(sizeof(*source) + size) : NULL;
    if (source == NULL) {
        return false;
    }
    struct task_source **link = &seldom->sources;
    while (bytes == NULL && *link != NULL) {
        link = &(*link)->next;
    }
    source->next = *link;
    source->bytes = bytes;
    memcpy(source->path, path, size);
    *link = source;
    return true;
}

bool source_add_bytes(struct moot *m, struct task *task, struct payload *bytes)
{
    const bool known = has_source(task, NULL);
    const bool added = known || add_source(m, task, bytes, "");
    if (known || !added) {
        payload_drop(bytes);
    }
    return added;
}

bool source_add_file(struct moot *m, struct task *task, const char *path)
{
    return has_source(task, path) || add_source(m, task, NULL, path);
}

void source_free_all(struct task *task)
{
    while (task_seldom(task)->sources != NULL) {
        struct task_source *source = task->seldom->sources;
        task->seldom->sources = source->next;
        payload_drop(source->bytes);
        free(source);
    }
}
