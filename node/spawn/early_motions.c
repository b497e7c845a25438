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

enum { SWEEP_AT_LEAST = 256 };

struct early_motion {
    struct early_motion *next;
    uint32_t from;
    uint64_t uid;
    struct message *motion;
};

static void append(struct moot *m, struct early_motion *early)
{
    early->next = NULL;
    if (m->spawn.early == NULL) {
        m->spawn.early = early;
    } else {
        m->spawn.last_early->next = early;
    }
    m->spawn.last_early = early;
    m->spawn.early_count++;
}

static struct early_motion *take_first(struct moot *m)
{
    struct early_motion *early = m->spawn.early;
    m->spawn.early = early->next;
    m->spawn.early_count--;
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

static void sweep(struct moot *m)
{
    for (uint32_t i = m->spawn.early_count; i > 0; i--) {
        struct early_motion *early = take_first(m);
        if (would_adopt(m, early)) {
            append(m, early);
        } else {
            early_free(early);
        }
    }
    const uint32_t twice = 2 * m->spawn.early_count;
    m->spawn.early_sweep = twice < SWEEP_AT_LEAST      ? SWEEP_AT_LEAST
                           : twice > EARLY_MOTIONS_MAX ? EARLY_MOTIONS_MAX
                                                       : twice;
}

void early_keep(struct moot *m, uint32_t from, const struct message *motion)
{
    if (m->spawn.early_count >= m->spawn.early_sweep) {
        sweep(m);
    }
    struct early_motion *early =
        m->spawn.early_count < EARLY_MOTIONS_MAX ? calloc(1, sizeof(*early)) : NULL;
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
    append(m, early);
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

void early_take(struct moot *m, const struct kernel *kernel, uint32_t most)
{
    uint32_t looks = most < m->spawn.early_count ? most : m->spawn.early_count;
    for (; looks > 0 && m->spawn.early != NULL; looks--) {
        struct early_motion *early = take_first(m);
        const struct message_spec *spec = early->motion->u.motion.spec;
        if (strcmp(spec->kernel_name, kernel->name) != 0 || !takes(m, kernel, spec)) {
            append(m, early);
            continue;
        }
        if (would_adopt(m, early)) {
            spawn_adopt(m, early->motion);
        }
        early_free(early);
    }
}

void early_release(struct moot *m)
{
    while (m->spawn.early != NULL) {
        early_free(take_first(m));
    }
}
