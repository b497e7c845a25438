/* psets.c - the process sets of a rank; see psets_private.h. */
#include "node/session/psets_private.h"

#include "hashing/placement.h"
#include "node/members/members.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Making them ------------------------------------------------------------------ */

static void pset_release(struct pset *set)
{
    free(set->members);
    free(set->processes);
    free(set->ranks);
    *set = (struct pset){0};
}

void psets_release_list(struct moot *m)
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
}

void psets_release(struct moot *m)
{
    psets_release_list(m);
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

const char *psets_process(const struct moot *m, uint32_t member)
{
    char *name = m->session.psets->names[member];
    return *name != '\0' ? name : members_process(m, member, name);
}

static void pset_put(const struct moot *m, struct pset *set, uint32_t at,
                     uint32_t member, int rank)
{
    set->members[at] = member;
    set->processes[at] = psets_process(m, member);
    set->ranks[at] = rank;
}

/* A set of these members, who have the ranks that they have now; or that they have
 * among `world`, if that is not NULL. */
static bool pset_of(const struct moot *m, const char *name,
                    const struct rankset *members, const struct rankset *world,
                    struct pset *out)
{
    if (!pset_make(name, rankset_count(members), out)) {
        return false;
    }
    uint32_t at = 0;
    for (uint32_t member = rankset_next(members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(members, member + 1)) {
        pset_put(m, out, at, member,
                 world != NULL ? (int)rankset_below(world, member)
                               : session_rank(m, member));
        at++;
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

static bool put_set(struct moot *m, const char *name, const struct rankset *members,
                    bool own, const struct rankset *world)
{
    struct psets *psets = m->session.psets;
    struct pset set;
    if (!has_room(psets, 1) || !pset_of(m, name, members, world, &set)) {
        return false;
    }
    set.own = own;
    trace_set(m, psets->count, name, members);
    psets->sets[psets->count++] = set;
    return true;
}

bool psets_put(struct moot *m, const char *name, const struct rankset *members,
               bool own, bool deleted, const int *ranks)
{
    if (!put_set(m, name, members, own, members)) {
        return false;
    }
    struct pset *set = &m->session.psets->sets[m->session.psets->count - 1];
    set->deleted = deleted;
    memcpy(set->ranks, ranks, set->count * sizeof(*ranks));
    return true;
}

bool psets_add(struct moot *m, const char *name, const struct rankset *members)
{
    const bool good = put_set(m, name, members, true, NULL);
    if (good) {
        observe_pset(m, MOOT_EVENT_PSET_DEFINED, name, "");
    }
    return good;
}

/* The last set that this room has defined: the processes that it has told of last. */
static const struct pset *last_world(const struct psets *psets)
{
    char name[LIMIT_PSET_NAME_BYTES + 1];
    snprintf(name, sizeof(name), "moot://all_%u", psets->worlds);
    size_t at = psets->count;
    while (at-- > 0) {
        if (strcmp(psets->sets[at].name, name) == 0) {
            return &psets->sets[at];
        }
    }
    return NULL;
}

bool psets_add_of_world(struct moot *m, const char *name, const struct rankset *members,
                        const struct rankset *world)
{
    return put_set(m, name, members, false, world);
}

bool psets_add_world(struct moot *m, const struct rankset *members)
{
    char name[LIMIT_PSET_NAME_BYTES + 1];
    struct psets *psets = m->session.psets;
    const struct pset *last = last_world(psets);
    const bool first = last == NULL;
    if (!first && psets_has(last, members)) {
        return true;
    }
    const size_t before = psets->count;
    snprintf(name, sizeof(name), "moot://all_%u", psets->worlds + 1);
    if (!put_set(m, name, members, false, members) || !host_sets_add(m, members)) {
        while (psets->count > before) {
            pset_release(&psets->sets[--psets->count]);
        }
        return false;
    }
    psets->worlds++;
    for (size_t i = before; !first && i < psets->count; i++) {
        observe_pset(m, MOOT_EVENT_PSET_DEFINED, psets->sets[i].name, "");
    }
    return true;
}

bool psets_has(const struct pset *set, const struct rankset *members)
{
    bool same = set->count == rankset_count(members);
    for (uint32_t i = 0; same && i < set->count; i++) {
        same = rankset_has(members, set->members[i]);
    }
    return same;
}

/* The members of the present session. */
static bool members_of_session(const struct moot *m, struct rankset *out)
{
    bool good = true;
    for (uint32_t rank = 0; good && rank < m->session.size; rank++) {
        good = rankset_add(out, session_member(m, rank));
    }
    return good;
}

/* WORLD and SELF; `defines`: another moot://all_N, if these are others than the last.
 */
static bool renew(struct moot *m, bool defines)
{
    struct psets *psets = m->session.psets;
    struct rankset here = {0}, own = {0};
    struct pset world = {0}, self = {0};
    bool good = members_of_session(m, &here) && rankset_add(&own, m->group.rank) &&
                pset_of(m, "mpi://WORLD", &here, &here, &world) &&
                pset_of(m, "mpi://SELF", &own, NULL, &self) &&
                (!defines || psets_add_world(m, &here));
    if (good) {
        pset_release(&psets->sets[WORLD]);
        pset_release(&psets->sets[SELF]);
        psets->sets[WORLD] = world;
        psets->sets[SELF] = self;
    } else {
        pset_release(&world);
        pset_release(&self);
    }
    rankset_release(&here);
    rankset_release(&own);
    return good;
}

bool psets_renew(struct moot *m) { return renew(m, true); }

bool psets_take_session(struct moot *m) { return renew(m, false); }

bool psets_begin(struct moot *m)
{
    struct psets *psets = calloc(1, sizeof(*psets));
    if (psets == NULL) {
        return false;
    }
    psets->names = calloc(m->group.size, sizeof(*psets->names));
    psets->sets = calloc(FIRST_DEFINED, sizeof(*psets->sets));
    if (psets->names == NULL || psets->sets == NULL) {
        free(psets->names);
        free(psets->sets);
        free(psets);
        return false;
    }
    psets->count = FIRST_DEFINED;
    m->session.psets = psets;
    return true;
}

/* Those of the first session. */
bool psets_make(struct moot *m)
{
    if (m->session.psets != NULL) {
        return true;
    }
    if (!psets_begin(m)) {
        return false;
    }
    if (psets_renew(m)) {
        return true;
    }
    psets_release_list(m);
    return false;
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

size_t session_set_count(const struct moot *m)
{
    return m->session.psets != NULL ? m->session.psets->count : 0;
}

void session_set_look(const struct moot *m, size_t index, struct session_set_view *out)
{
    const struct pset *set = &m->session.psets->sets[index];
    const uint32_t gone = first_gone(m, set);
    *out = (struct session_set_view){.name = set->name,
                                     .members = set->members,
                                     .count = set->count,
                                     .gone = gone < set->count ? set->members[gone]
                                                               : PLACEMENT_NOBODY,
                                     .deleted = set->deleted};
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
    session_look_around(m, now_ns);
    if (m->members.gone == m->session.gone_seen || m->engine.closing ||
        !observed(m, MOOT_EVENT_PSET_INVALID) || !psets_make(m)) {
        return;
    }
    m->session.gone_seen = m->members.gone;
    for (size_t i = FIRST_DEFINED; i < m->session.psets->count; i++) {
        struct pset *set = &m->session.psets->sets[i];
        const uint32_t gone = set->ill ? set->count : first_gone(m, set);
        if (gone < set->count) {
            char why[MEMBERS_NAME_BYTES + 16];
            snprintf(why, sizeof(why), "%s is gone", set->processes[gone]);
            set->ill = true;
            observe_pset(m, MOOT_EVENT_PSET_INVALID, set->name, why);
        }
    }
}
