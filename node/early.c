/* early.c - see early.h. */
#include "early.h"

#include "node/context.h"
#include "node/spawn.h"
#include "proto/copy.h"

#include <stdlib.h>
#include <string.h>

enum { EARLY_MOTIONS_MAX = 256 };

struct early_motion {
    struct early_motion *next;
    uint32_t from;
    uint64_t uid;
    struct message *motion;
};

void early_keep(struct moot *m, uint32_t from, const struct message *motion)
{
    struct early_motion **last = &m->early;
    uint32_t count = 0;
    for (; *last != NULL; count++) {
        last = &(*last)->next;
    }
    struct early_motion *early =
        count < EARLY_MOTIONS_MAX ? calloc(1, sizeof(*early)) : NULL;
    if (early == NULL) {
        return;
    }
    early->from = from;
    early->uid = m->group.uids[from];
    early->motion = message_copy(motion);
    if (early->motion == NULL) {
        free(early);
        return;
    }
    *last = early;
}

static struct early_motion *take_off(struct early_motion **link)
{
    struct early_motion *early = *link;
    *link = early->next;
    return early;
}

static void early_free(struct early_motion *early)
{
    message_copy_free(early->motion);
    free(early);
}

void early_take(struct moot *m, const struct kernel *kernel)
{
    struct early_motion **link = &m->early;
    while (*link != NULL) {
        const struct message *motion = (*link)->motion;
        if (strcmp(motion->u.motion.spec->kernel_name, kernel->name) != 0) {
            link = &(*link)->next;
            continue;
        }
        struct early_motion *early = take_off(link);
        if (core_would_adopt(m->core, early->from, early->uid, motion)) {
            spawn_adopt(m, motion);
        }
        early_free(early);
    }
}

void early_release(struct moot *m)
{
    while (m->early != NULL) {
        early_free(take_off(&m->early));
    }
}
