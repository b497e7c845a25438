/* array_homes.c - see array_homes.h. */
#include "node/compose/array_homes.h"

#include "node/engine/lane.h"
#include "node/spawn/spawn_check.h"

static bool names_candidates(const moot_array_spec *spec)
{
    return spec->candidates.ranks != NULL || spec->candidates.count > 0 ||
           spec->pset != NULL;
}

static bool copy_homes(const struct elements *of, bool bound, struct homes_said *out)
{
    const bool own = of->homes.ranks == &of->own_homes;
    out->homes = (struct element_homes){own ? &out->ranks : NULL, bound};
    out->count = of->spread.homes;
    return rankset_copy(&out->ranks, &of->own_homes);
}

/* The ranks of the session; NULL, if these are the founders. */
static bool take_session(const struct moot *m, struct homes_said *out)
{
    bool good = true;
    for (uint32_t rank = m->session.size; good && rank-- > 0;) {
        good = rankset_add(&out->ranks, session_member(m, rank));
    }
    const bool founders = good && rankset_equal(&out->ranks, &m->tasks.founders);
    out->homes.ranks = founders ? NULL : &out->ranks;
    out->count = m->session.size;
    return good;
}

static int find_candidates(struct moot *m, struct lane *lane,
                           const moot_array_spec *spec, struct homes_said *out)
{
    const moot_task_spec said = {
        .size = sizeof(said), .candidates = spec->candidates, .pset = spec->pset};
    const int error = spawn_check_candidates(m, lane, &said, &out->ranks);
    out->homes = (struct element_homes){&out->ranks, true};
    out->count = rankset_count(&out->ranks);
    return error;
}

int array_homes_find(struct moot *m, struct lane *lane, const moot_array_spec *spec,
                     const struct elements *beside, const struct elements *near,
                     struct homes_said *out)
{
    bool good = true;
    *out = (struct homes_said){.count = m->group.founders};
    if (names_candidates(spec)) {
        return beside == NULL
                   ? find_candidates(m, lane, spec, out)
                   : lane_fail(lane, MOOT_ERR_INVALID,
                               ".beside is given together with "
                               ".candidates or .pset: the homes of that array are this "
                               "one's, too; leave one of them out");
    }
    if (beside != NULL) {
        good = copy_homes(beside, beside->homes.bound, out);
    } else if (near != NULL) {
        good = copy_homes(near, false, out);
    } else if (m->session.members != NULL) {
        good = take_session(m, out);
    }
    return good ? MOOT_OK : lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
}
