/* psets.c - the process sets of a rank; see psets_private.h. */
#include "node/session/psets_private.h"

#include "hashing/placement.h"
#include "node/record/task_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESS_BYTES = 16 };

struct psets {
    char (*names)[PROCESS_BYTES]; /* of processes, per member */
    struct pset *sets;
    size_t count;
    uint32_t worlds; /* moot://all_N, so far */
};

enum { WORLD, SELF, FIRST_DEFINED };

/* --- Making them ------------------------------------------------------------------ */

static void pset_release(struct pset *set)
{
    free(set->members);
    free(set->processes);
    free(set->ranks);
    *set = (struct pset){0};
}

void psets_release(struct moot *m)
{
    struct psets *psets = m->session.psets;
    for (size_t i = 0; psets != NULL && psets->sets != NULL && i < psets->count; i++) {
        pset_release(&psets->sets[i]);
    }
    if (psets != NULL) {
        free(psets->sets);
        free(psets->names);
    }
    free(psets);
    m->session.psets = NULL;
    psets_forget_wishes(m);
}

/* Room for so many processes. */
static bool pset_make(const char *name, uint32_t count, struct pset *out)
{
    const size_t room = (size_t)count + 1;
    *out = (struct pset){.count = count,
                         .members = calloc(room, sizeof(*out->members)),
                         .processes = calloc(room, sizeof(*out->processes)),
                         .ranks = calloc(room, sizeof(*out->ranks))};
    if (out->members == NULL || out->processes == NULL || out->ranks == NULL) {
        pset_release(out);
        return false;
    }
    snprintf(out->name, sizeof(out->name), "%s", name);
    return true;
}

static void pset_put(const struct psets *psets, struct pset *set, uint32_t at,
                     uint32_t member, int rank)
{
    set->members[at] = member;
    set->processes[at] = psets->names[member];
    set->ranks[at] = rank;
}

/* The set of `count` ranks of the present session, from the first on. */
static bool pset_of_ranks(const struct moot *m, const struct psets *psets,
                          const char *name, uint32_t first, uint32_t count,
                          struct pset *out)
{
    if (!pset_make(name, count, out)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        pset_put(psets, out, i, session_member(m, first + i), (int)(first + i));
    }
    return true;
}

static bool has_room(struct psets *psets, size_t more)
{
    struct pset *sets =
        realloc(psets->sets, (psets->count + more) * sizeof(*psets->sets));
    psets->sets = sets != NULL ? sets : psets->sets;
    return sets != NULL;
}

static bool renew(struct moot *m, struct psets *psets, bool changed)
{
    char name[LIMIT_PSET_BYTES + 1];
    struct pset world, self, all = {0};
    snprintf(name, sizeof(name), "moot://all_%u", psets->worlds + 1);
    if (!has_room(psets, 1) ||
        !pset_of_ranks(m, psets, "mpi://WORLD", 0, m->session.size, &world)) {
        return false;
    }
    if (!pset_of_ranks(m, psets, "mpi://SELF", m->session.rank, 1, &self)) {
        pset_release(&world);
        return false;
    }
    if (changed && !pset_of_ranks(m, psets, name, 0, m->session.size, &all)) {
        pset_release(&world);
        pset_release(&self);
        return false;
    }
    pset_release(&psets->sets[WORLD]);
    pset_release(&psets->sets[SELF]);
    psets->sets[WORLD] = world;
    psets->sets[SELF] = self;
    if (changed) {
        psets->worlds++;
        psets->sets[psets->count++] = all;
    }
    return true;
}

bool psets_renew(struct moot *m, bool changed)
{
    struct psets *psets = m->session.psets;
    if (!renew(m, psets, changed)) {
        return false;
    }
    if (changed) {
        const struct pset *all = &psets->sets[psets->count - 1];
        observe_pset(m, MOOT_EVENT_PSET_DEFINED, all->name, "");
    }
    return true;
}

/* Those of the first session. */
bool psets_make(struct moot *m)
{
    if (m->session.psets != NULL) {
        return true;
    }
    struct psets *psets = m->session.psets = calloc(1, sizeof(*psets));
    if (psets == NULL) {
        return false;
    }
    psets->names = calloc(m->group.size, sizeof(*psets->names));
    psets->sets = calloc(FIRST_DEFINED, sizeof(*psets->sets));
    if (psets->names != NULL && psets->sets != NULL) {
        psets->count = FIRST_DEFINED;
        for (uint32_t member = 0; member < m->group.size; member++) {
            snprintf(psets->names[member], PROCESS_BYTES, "a_%u", member);
        }
        if (renew(m, psets, true)) {
            return true;
        }
    }
    for (size_t i = 0; i < psets->count; i++) {
        pset_release(&psets->sets[i]);
    }
    free(psets->sets);
    free(psets->names);
    free(psets);
    m->session.psets = NULL;
    return false;
}

bool psets_add(struct moot *m, const char *name, const struct rankset *members)
{
    struct psets *psets = m->session.psets;
    struct pset set;
    if (!has_room(psets, 1) || !pset_make(name, rankset_count(members), &set)) {
        return false;
    }
    uint32_t at = 0;
    for (uint32_t member = rankset_next(members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(members, member + 1)) {
        pset_put(psets, &set, at++, member, session_rank(m, member));
    }
    set.own = true;
    psets->sets[psets->count++] = set;
    observe_pset(m, MOOT_EVENT_PSET_DEFINED, name, "");
    return true;
}

/* --- Looking at them -------------------------------------------------------------- */

struct pset *psets_find(const struct moot *m, const char *name)
{
    struct psets *psets = m->session.psets;
    for (size_t i = 0; i < psets->count; i++) {
        if (strcmp(psets->sets[i].name, name) == 0) {
            return &psets->sets[i];
        }
    }
    return NULL;
}

const char *psets_process(const struct moot *m, uint32_t member)
{
    return m->session.psets->names[member];
}

/* The first process of it that is not present; count: all are. */
static uint32_t first_gone(const struct moot *m, const struct pset *set)
{
    uint32_t at = 0;
    while (at < set->count && members_is_here(m, set->members[at])) {
        at++;
    }
    return at;
}

bool session_pset_count(struct moot *m, size_t *count)
{
    if (!psets_make(m)) {
        return false;
    }
    *count = m->session.psets->count;
    return true;
}

void session_pset_show(const struct moot *m, size_t index, moot_pset_info *out)
{
    const struct pset *set = &m->session.psets->sets[index];
    *out = (moot_pset_info){.name = set->name,
                            .valid = !set->deleted && first_gone(m, set) == set->count,
                            .processes = set->processes,
                            .ranks = set->ranks,
                            .size = set->count};
}

int session_pset_take(struct moot *m, const char *name, struct rankset *out,
                      uint32_t *index)
{
    if (!psets_make(m)) {
        return MOOT_ERR_NO_MEMORY;
    }
    const struct pset *set = psets_find(m, name);
    if (set == NULL || set->deleted) {
        return MOOT_ERR_INVALID;
    }
    *index = (uint32_t)(set - m->session.psets->sets);
    for (uint32_t i = 0; i < set->count; i++) {
        if (!rankset_add(out, set->members[i])) {
            return MOOT_ERR_NO_MEMORY;
        }
    }
    return MOOT_OK;
}

/* WORLD and SELF are never told of: they are of the session, whoever is gone. */
void session_look(struct moot *m, uint64_t now_ns)
{
    (void)now_ns;
    if (m->members.gone == m->session.gone_seen || m->engine.closing ||
        !observed(m, MOOT_EVENT_PSET_INVALID) || !psets_make(m)) {
        return;
    }
    m->session.gone_seen = m->members.gone;
    for (size_t i = FIRST_DEFINED; i < m->session.psets->count; i++) {
        struct pset *set = &m->session.psets->sets[i];
        const uint32_t gone = set->ill ? set->count : first_gone(m, set);
        if (gone < set->count) {
            char why[PROCESS_BYTES + 16];
            snprintf(why, sizeof(why), "%s is gone", set->processes[gone]);
            set->ill = true;
            observe_pset(m, MOOT_EVENT_PSET_INVALID, set->name, why);
        }
    }
}
