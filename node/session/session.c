/* session.c - see session.h. */
#include "node/session/psets_private.h"

#include "hashing/placement.h"

#include <stdlib.h>

/* --- Sessions --------------------------------------------------------------------- */

void session_open(struct moot *m)
{
    m->session = (struct moot_session){
        .number = 1, .rank = m->group.rank, .size = m->group.size, .why = "opened"};
}

void session_release(struct moot *m)
{
    psets_release(m);
    free(m->session.members);
    rankset_release(&m->session.ended);
    m->session.members = NULL;
}

bool session_end(struct moot *m)
{
    const struct meetings *meetings = &m->schedule.meetings;
    rankset_release(&m->session.ended);
    return rankset_copy(&m->session.ended, &meetings->came) &&
           psets_hear(m, meetings->words, meetings->words_size);
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
    if (list == NULL || !psets_make(m)) {
        free(list);
        return false;
    }
    session_look(m, m->now_ns); /* who is gone is told before what there is now */
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
    if (!psets_renew(m, size != before.size)) {
        free(list);
        m->session.members = before.members;
        m->session.number = before.number;
        m->session.why = before.why;
        m->session.rank = before.rank;
        m->session.size = before.size;
        return false;
    }
    free(before.members);
    psets_take(m);
    return true;
}

bool session_show(struct moot *m, moot_session_info *out)
{
    if (!psets_make(m)) {
        return false;
    }
    const struct moot_session *session = &m->session;
    *out = (moot_session_info){.number = session->number,
                               .rank = session->gone ? -1 : (int)session->rank,
                               .size = (int)session->size,
                               .why = session->why,
                               .process = psets_process(m, m->group.rank)};
    return true;
}
