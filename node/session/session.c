/* session.c - see session.h. */
#include "node/session/psets_private.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "node/record/trace.h"

#include <stdlib.h>

/* --- Sessions --------------------------------------------------------------------- */

bool session_open(struct moot *m)
{
    m->session = (struct moot_session){
        .number = 1, .rank = m->group.rank, .size = m->group.founders, .why = "opened"};
    bool good = true;
    for (uint32_t rank = 0; good && rank < m->group.founders; rank++) {
        good = rankset_add(&m->session.been, rank);
    }
    if (m->group.rank >= m->group.founders) {
        m->session.number = 0; /* until another rank says which it is */
        m->session.why = "joined";
    }
    return good;
}

/* All who are at a boundary bring newcomers in, and so none come anywhere else. */
static bool comes_together(const struct moot *m)
{
    const struct transport_ops *wire = session_wire(m)->ops;
    return wire->grow == NULL && wire->grow_together != NULL;
}

bool session_admits(const struct moot *m)
{
    return m->group.size > m->group.founders &&
           (m->knobs.joins == KNOB_JOINS_SESSION || comes_together(m));
}

moot_hash session_stay_purpose(void)
{
    static const char purpose[] = "session of those who stay";
    return digest_bytes(purpose, sizeof(purpose) - 1);
}

void session_release(struct moot *m)
{
    psets_release(m);
    free(m->session.members);
    free(m->session.growth);
    m->session.growth = NULL;
    rankset_release(&m->session.ended);
    rankset_release(&m->session.been);
    rankset_release(&m->session.unknowing);
    joinings_release(m);
    m->session.members = NULL;
}

bool session_ending(struct moot *m, bool leaves, uint64_t grow, void **words,
                    size_t *size)
{
    m->session.ending = true;
    m->session.goes |= leaves; /* it stays said if the call comes to nothing */
    return session_words_pack(m, leaves, grow, words, size);
}

void session_await(struct moot *m, uint32_t first, uint32_t count, uint64_t until_ns)
{
    m->session.await_until_ns = until_ns;
    m->session.awaited = first;
    m->session.awaited_count = count;
}

bool session_has_grown(const struct moot *m)
{
    const uint32_t end = m->session.awaited + m->session.awaited_count;
    if (m->now_ns >= m->session.await_until_ns) {
        return true;
    }
    for (uint32_t rank = m->session.awaited; rank < end && rank < m->group.size;
         rank++) {
        const struct member *member = &m->members.all[rank];
        const bool waits = session_admits(m) && core_is_asked_by(m->core, rank);
        if (member->state == MEMBER_YET_TO_COME && member->ended_ns == 0 && !waits) {
            return false;
        }
    }
    return true;
}

void session_goes_on(struct moot *m) { m->session.ending = false; }

bool session_end(struct moot *m)
{
    const struct meetings *meetings = &m->schedule.meetings;
    rankset_release(&m->session.ended);
    return rankset_copy(&m->session.ended, &meetings->came) &&
           psets_hear(m, meetings->words, meetings->words_size);
}

bool session_others_are_gone(const struct moot *m, const struct rankset *next)
{
    const struct rankset *leaving = psets_leaving(m);
    uint32_t member = leaving != NULL ? rankset_next(leaving, 0) : PLACEMENT_NOBODY;
    while (member != PLACEMENT_NOBODY &&
           (!members_is_here(m, member) || rankset_has(next, member))) {
        member = rankset_next(leaving, member + 1);
    }
    return member == PLACEMENT_NOBODY;
}

void session_leave(struct moot *m)
{
    m->session.gone = true;
    m->session.why = "left";
}

/* How this session's processes differ from those of the last one. */
static const char *why_changed(const struct moot *m, const struct rankset *members)
{
    static const char *const words[] = {"unchanged",
                                        "left",
                                        "lost",
                                        "left and lost",
                                        "joined",
                                        "left and joined",
                                        "lost and joined",
                                        "left, lost and joined"};
    unsigned what = 0;
    uint32_t stayed = 0;
    for (uint32_t rank = 0; rank < m->session.size; rank++) {
        const uint32_t member = session_member(m, rank);
        const enum member_state state = m->members.all[member].state;
        const bool is_lost = state == MEMBER_DEAD || state == MEMBER_REMOVED;
        const bool stays = rankset_has(members, member);
        stayed += stays;
        what |= stays ? 0u : is_lost ? 2u : 1u; /* or has closed */
    }
    return words[what | (rankset_count(members) > stayed ? 4u : 0u)];
}

/* This rank's among them; behind them, if it is none. */
static uint32_t rank_among(const struct moot *m, const struct rankset *members)
{
    const uint32_t before = rankset_below(members, m->group.rank);
    return rankset_has(members, m->group.rank)
               ? before
               : rankset_count(members) + m->group.rank -
                     rankset_below(&m->session.been, m->group.rank);
}

bool session_set(struct moot *m, uint64_t number, const struct rankset *members)
{
    const uint32_t size = rankset_count(members);
    uint32_t *list = calloc((size_t)size + 1, sizeof(*list));
    if (list == NULL || !rankset_merge(&m->session.been, members)) {
        free(list);
        return false;
    }
    uint32_t rank = 0;
    for (uint32_t member = rankset_next(members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(members, member + 1)) {
        list[rank++] = member;
    }
    free(m->session.members);
    m->session.members = list;
    m->session.number = number;
    m->session.goes = false;
    m->session.began_ns = m->now_ns;
    m->session.size = size;
    m->session.rank = rank_among(m, members);
    return true;
}

bool session_begin(struct moot *m, const struct rankset *members)
{
    if (!psets_make(m)) {
        return false;
    }
    session_look(m, m->now_ns); /* who is gone is told before what there is now */
    psets_take_joinings(m);
    const char *why = why_changed(m, members);
    if (!session_set(m, m->session.number + 1, members) || !psets_renew(m)) {
        return false;
    }
    m->session.why = why;
    trace_session(m);
    m->session.met = m->schedule.meetings.number;
    psets_take(m);
    m->session.ending = false;
    joinings_make(m, UINT64_MAX);
    joinings_forget(m);
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
