/* session_growth.c - newcomers that all who are at a boundary bring in together, as
 * over MPI; see session.h.
 *
 * Each rank that stays begins its part and goes on to the next meeting.  Only the first
 * of them waits for the newcomers, and so all others wait for it there.  A rank that
 * has died, or dies meanwhile, would be missing in what they do together: then none
 * come.
 */
#include "node/session/session.h"

#include "hashing/placement.h"
#include "node/members/members.h"

#include <stdio.h>
#include <stdlib.h>

enum { STORY_BYTES = 512 };

struct growth_wait {
    int code;
    uint32_t first;
    char story[STORY_BYTES];
};

struct transport *session_wire(const struct moot *m)
{
    struct transport *wire = m->transport;
    while (wire->ops->beneath != NULL) {
        wire = wire->ops->beneath(wire);
    }
    return wire;
}

static const char *say_why(struct growth_wait *wait, const char *why)
{
    (void)snprintf(wait->story, sizeof(wait->story), "%s", why);
    return wait->story;
}

static const char *begin_together(struct moot *m, struct growth_wait *wait,
                                  const struct rankset *stay, uint32_t count)
{
    struct transport *wire = session_wire(m);
    uint32_t *members = calloc((size_t)rankset_count(stay) + 1, sizeof(*members));
    struct transport_growth wish = {.members = members, .newcomers = count};
    if (members == NULL) {
        return say_why(wait, "no memory");
    }
    for (uint32_t member = rankset_next(stay, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(stay, member + 1)) {
        members[wish.count++] = member;
    }
    const int code = wire->ops->grow_together(wire, &wish, wait->story, STORY_BYTES);
    free(members);
    wait->code = TRANSPORT_GROWS;
    return code == MOOT_OK ? NULL : wait->story;
}

const char *session_grow_together(struct moot *m, const struct rankset *stay,
                                  uint32_t count)
{
    if (m->session.growth == NULL) {
        m->session.growth = calloc(1, sizeof(*m->session.growth));
    }
    struct growth_wait *wait = m->session.growth;
    if (wait == NULL) {
        return "no memory";
    }
    return m->members.lost > 0
               ? say_why(wait, "a rank has died, and MPI brings in none after that")
               : begin_together(m, wait, stay, count);
}

bool session_is_answered(const struct moot *m)
{
    struct growth_wait *wait = m->session.growth;
    struct transport *wire = session_wire(m);
    if (wait->code == TRANSPORT_GROWS) {
        wait->code =
            wire->ops->grown(wire, &wait->first, wait->story, sizeof(wait->story));
    }
    if (wait->code == TRANSPORT_GROWS && m->members.lost > 0) {
        wait->code = MOOT_ERR_TRANSPORT;
        (void)say_why(wait, "a rank has died as newcomers came");
    }
    return wait->code != TRANSPORT_GROWS;
}

const char *session_growth_answer(struct moot *m, uint32_t *first)
{
    struct growth_wait *wait = m->session.growth;
    *first = wait->first;
    return wait->code == MOOT_OK ? NULL : wait->story;
}
