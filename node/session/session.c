/* session.c - see session.h. */
#include "node/session/session.h"

#include "hashing/placement.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 32 };

struct pset {
    char name[NAME_BYTES];
    uint32_t count;
    uint32_t *members;      /* ascending */
    const char **processes; /* their names */
    int *ranks;
};

struct psets {
    char (*names)[NAME_BYTES]; /* of processes, per member */
    struct pset *sets;
    size_t count;
    uint32_t worlds; /* moot://all_N, so far */
};

enum { WORLD, SELF, FIRST_ALL };

/* --- Sets ------------------------------------------------------------------------- */

static void pset_release(struct pset *set)
{
    free(set->members);
    free(set->processes);
    free(set->ranks);
    *set = (struct pset){0};
}

static void psets_free(struct psets *psets)
{
    for (size_t i = 0; psets != NULL && psets->sets != NULL && i < psets->count; i++) {
        pset_release(&psets->sets[i]);
    }
    if (psets != NULL) {
        free(psets->sets);
        free(psets->names);
    }
    free(psets);
}

/* The set of `count` members of the present session, from this rank on. */
static bool pset_make(const struct moot *m, const struct psets *psets, uint32_t first,
                      uint32_t count, struct pset *out)
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
    for (uint32_t i = 0; i < count; i++) {
        out->members[i] = session_member(m, first + i);
        out->processes[i] = psets->names[out->members[i]];
        out->ranks[i] = (int)(first + i);
    }
    return true;
}

/* WORLD and SELF are those of the present session; a further moot://all_N is defined if
 * the processes are others than of the last.  Without memory nothing changes. */
static bool psets_renew(const struct moot *m, struct psets *psets, bool changed)
{
    const size_t count = changed ? psets->count + 1 : psets->count;
    struct pset world, self, all = {0};
    struct pset *sets = realloc(psets->sets, count * sizeof(*sets));
    psets->sets = sets != NULL ? sets : psets->sets;
    if (sets == NULL || !pset_make(m, psets, 0, m->session.size, &world)) {
        return false;
    }
    if (!pset_make(m, psets, m->session.rank, 1, &self)) {
        pset_release(&world);
        return false;
    }
    if (changed && !pset_make(m, psets, 0, m->session.size, &all)) {
        pset_release(&world);
        pset_release(&self);
        return false;
    }
    snprintf(world.name, sizeof(world.name), "mpi://WORLD");
    snprintf(self.name, sizeof(self.name), "mpi://SELF");
    pset_release(&sets[WORLD]);
    pset_release(&sets[SELF]);
    sets[WORLD] = world;
    sets[SELF] = self;
    if (changed) {
        snprintf(all.name, sizeof(all.name), "moot://all_%u", ++psets->worlds);
        sets[psets->count++] = all;
    }
    return true;
}

/* Those of the first session. */
static struct psets *psets_first(const struct moot *m)
{
    struct psets *psets = calloc(1, sizeof(*psets));
    if (psets == NULL) {
        return NULL;
    }
    psets->names = calloc(m->group.size, sizeof(*psets->names));
    psets->sets = calloc(FIRST_ALL, sizeof(*psets->sets));
    psets->count = FIRST_ALL;
    if (psets->names == NULL || psets->sets == NULL) {
        psets_free(psets);
        return NULL;
    }
    for (uint32_t member = 0; member < m->group.size; member++) {
        snprintf(psets->names[member], NAME_BYTES, "a_%u", member);
    }
    if (!psets_renew(m, psets, true)) {
        psets_free(psets);
        return NULL;
    }
    return psets;
}

/* Made when they are first asked for: most programs never do. */
static bool psets_are_there(struct moot *m)
{
    if (m->session.psets == NULL) {
        m->session.psets = psets_first(m);
    }
    return m->session.psets != NULL;
}

bool session_pset_count(struct moot *m, size_t *count)
{
    if (!psets_are_there(m)) {
        return false;
    }
    *count = m->session.psets->count;
    return true;
}

void session_pset_show(const struct moot *m, size_t index, moot_pset_info *out)
{
    const struct pset *set = &m->session.psets->sets[index];
    *out = (moot_pset_info){.name = set->name,
                            .valid = true,
                            .processes = set->processes,
                            .ranks = set->ranks,
                            .size = set->count};
    for (uint32_t i = 0; i < set->count; i++) {
        out->valid = out->valid && members_is_here(m, set->members[i]);
    }
}

/* --- Sessions --------------------------------------------------------------------- */

void session_open(struct moot *m)
{
    m->session = (struct moot_session){
        .number = 1, .rank = m->group.rank, .size = m->group.size, .why = "opened"};
}

void session_release(struct moot *m)
{
    psets_free(m->session.psets);
    free(m->session.members);
    rankset_release(&m->session.ended);
    m->session.psets = NULL;
    m->session.members = NULL;
}

bool session_end(struct moot *m, const struct rankset *members)
{
    rankset_release(&m->session.ended);
    return rankset_copy(&m->session.ended, members);
}

bool session_others_are_gone(const struct moot *m, const struct rankset *next)
{
    const struct rankset *ended = &m->session.ended;
    for (uint32_t member = rankset_next(ended, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(ended, member + 1)) {
        if (members_is_here(m, member) && !rankset_has(next, member)) {
            return false;
        }
    }
    return true;
}

void session_leave(struct moot *m)
{
    m->session.gone = true;
    m->session.why = "left";
}

/* Why some of the last session are not in this one. */
static const char *why_changed(const struct moot *m, const struct rankset *members)
{
    bool left = false, lost = false;
    for (uint32_t rank = 0; rank < m->session.size; rank++) {
        const uint32_t member = session_member(m, rank);
        const enum member_state state = m->members.all[member].state;
        const bool is_lost = state == MEMBER_DEAD || state == MEMBER_REMOVED;
        if (!rankset_has(members, member)) {
            lost |= is_lost;
            left |= !is_lost; /* or has closed */
        }
    }
    if (left && lost) {
        return "left and lost";
    }
    return left ? "left" : lost ? "lost" : "unchanged";
}

bool session_begin(struct moot *m, const struct rankset *members)
{
    const uint32_t size = rankset_count(members);
    uint32_t *list = calloc((size_t)size + 1, sizeof(*list));
    if (list == NULL || !psets_are_there(m)) {
        free(list);
        return false;
    }
    const struct moot_session before = m->session;
    m->session.number++;
    m->session.why = why_changed(m, members);
    m->session.size = 0;
    for (uint32_t member = rankset_next(members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(members, member + 1)) {
        m->session.rank = member == m->group.rank ? m->session.size : m->session.rank;
        list[m->session.size++] = member;
    }
    m->session.members = list;
    if (!psets_renew(m, m->session.psets, size != before.size)) {
        free(list);
        m->session = before;
        return false;
    }
    free(before.members);
    return true;
}

bool session_show(struct moot *m, moot_session_info *out)
{
    if (!psets_are_there(m)) {
        return false;
    }
    const struct moot_session *session = &m->session;
    *out = (moot_session_info){.number = session->number,
                               .rank = session->gone ? -1 : (int)session->rank,
                               .size = (int)session->size,
                               .why = session->why,
                               .process = session->psets->names[m->group.rank]};
    return true;
}
