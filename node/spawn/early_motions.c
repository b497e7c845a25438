/* early_motions.c - see early_motions.h. */
#include "node/spawn/early_motions.h"

#include "consensus/core_view.h"
#include "node/context/context.h"
#include "node/schedule/priority.h"
#include "node/spawn/spawn.h"
#include "node/tasks/kernel.h"
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

static bool would_adopt(const struct moot *m, const struct early_motion *early)
{
    return core_would_adopt(m->core, early->from, early->uid, early->motion);
}

/* The same rank's, about the same task. */
static bool is_repeated(const struct early_motion *early, uint32_t from,
                        const struct message *motion)
{
    return early->from == from && hash_equal(&early->motion->hash, &motion->hash);
}

void early_keep(struct moot *m, uint32_t from, const struct message *motion)
{
    struct early_motion **last = &m->spawn.early;
    uint32_t count = 0;
    while (*last != NULL) {
        if (is_repeated(*last, from, motion) || !would_adopt(m, *last)) {
            early_free(take_off(last));
        } else {
            last = &(*last)->next;
            count++;
        }
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

/* This rank takes a task of such a spec now. */
static bool takes(struct moot *m, const struct kernel *kernel,
                  const struct message_spec *spec)
{
    return kernel != NULL && (kernel->adopts == NULL || kernel->adopts(m, spec));
}

static void adopt(struct moot *m, uint32_t from, const struct message *motion)
{
    const struct message_spec *spec = motion->u.motion.spec;
    if (takes(m, kernel_find(&m->tasks.kernels, spec->kernel_name), spec)) {
        spawn_adopt(m, motion);
    } else {
        early_keep(m, from, motion);
    }
}

bool early_take_motion(struct moot *m, uint32_t from, const struct message *motion)
{
    priority_hear(m, &motion->hash, motion->u.motion.priority);
    if (!hash_has(&motion->hash, MOOT_HASH_ARRAY) &&
        core_would_adopt(m->core, from, m->group.uids[from], motion)) {
        adopt(m, from, motion);
    }
    return true;
}

void early_take(struct moot *m, const struct kernel *kernel)
{
    struct early_motion **link = &m->spawn.early;
    while (*link != NULL) {
        const struct message *motion = (*link)->motion;
        if (strcmp(motion->u.motion.spec->kernel_name, kernel->name) != 0 ||
            !takes(m, kernel, motion->u.motion.spec)) {
            link = &(*link)->next;
            continue;
        }
        struct early_motion *early = take_off(link);
        if (would_adopt(m, early)) {
            spawn_adopt(m, motion);
        }
        early_free(early);
    }
}

void early_release(struct moot *m)
{
    while (m->spawn.early != NULL) {
        early_free(take_off(&m->spawn.early));
    }
}
