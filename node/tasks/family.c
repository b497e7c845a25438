/* family.c - see family.h. */
#include "node/tasks/family.h"

#include "node/tasks/task.h"
#include "proto/limits.h"

#include <stdlib.h>
#include <string.h>

void family_free(struct task *task)
{
    struct task_seldom *seldom = task->seldom;
    if (seldom != NULL && seldom->family != NULL) {
        free(seldom->family->hashes);
        free(seldom->family);
        seldom->family = NULL;
    }
}

static struct family *family_of(struct moot *m, struct task *task)
{
    struct task_seldom *seldom = task_seldom_of(m, task);
    if (seldom != NULL && seldom->family == NULL) {
        seldom->family = calloc(1, sizeof(*seldom->family));
    }
    return seldom != NULL ? seldom->family : NULL;
}

bool family_add(struct moot *m, struct task *task, const moot_hash *hashes,
                uint32_t count)
{
    if (count == 0) {
        return true;
    }
    struct family *family = family_of(m, task);
    if (family == NULL) {
        return false;
    }
    if (family->hashes == NULL || count > family->room - family->count) {
        uint32_t room = family->room * 2 > family->count + count
                            ? family->room * 2
                            : family->count + count;
        moot_hash *grown = realloc(family->hashes, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        family->hashes = grown;
        family->room = room;
    }
    memcpy(family->hashes + family->count, hashes, count * sizeof(*hashes));
    family->count += count;
    return true;
}

bool family_part(const struct task *task, uint32_t i, struct message_family *out)
{
    const struct family *family = task != NULL ? task_seldom(task)->family : NULL;
    if (family == NULL ||
        i >= (family->count + LIMIT_FAMILY_HASHES - 1) / LIMIT_FAMILY_HASHES) {
        return false;
    }
    uint32_t first = i * LIMIT_FAMILY_HASHES;
    uint32_t left = family->count - first;
    *out = (struct message_family){
        .first = first,
        .children = family->hashes + first,
        .count = left < LIMIT_FAMILY_HASHES ? left : LIMIT_FAMILY_HASHES};
    return true;
}
