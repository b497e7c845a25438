/* joinings.c - views that let newcomers in, and the sets of processes that they make.
 *
 * Each such view makes a moot://all_N of its members, in the order of the views, which
 * is the same on all ranks.  A session that begins may make one, too, and definitions
 * of the program's; and one rank may enter a view before a session ends, another one
 * behind that.  So that the list is the same everywhere, a rank that has come to the
 * end of its session makes no set of a view any more before the next one has begun.
 * When it came it said which sets of this session's views it has made; what one of all
 * ranks has made so they all make before anything of the next session.  What is left is
 * of views that all of them entered behind the end.  If the session that begins has all
 * of such a view its own set is the first that they are in, and the view makes none.
 */
#include "node/session/psets_private.h"
#include "node/tasks/task.h"

#include "consensus/core_view.h"
#include "hashing/placement.h"
#include "node/engine/engine.h"

#include <stdlib.h>

struct view_joined {
    uint64_t epoch;
    struct rankset members;
    bool made; /* there is a set of it, or will be none */
};

struct joinings {
    struct view_joined *items; /* of this session, in their order */
    size_t count;
    uint64_t made_epoch; /* of the last that there is a set of, ever */
    uint64_t seen_epoch; /* of the last view that was looked at, */
    struct rankset seen; /* and those who were in one */
};

static struct joinings *joinings_of(struct moot *m)
{
    if (m->session.joinings == NULL) {
        m->session.joinings = calloc(1, sizeof(*m->session.joinings));
    }
    return m->session.joinings;
}

void joinings_release(struct moot *m)
{
    struct joinings *joinings = m->session.joinings;
    if (joinings != NULL) {
        joinings_forget(m);
        rankset_release(&joinings->seen);
    }
    free(joinings);
    m->session.joinings = NULL;
}

void joinings_forget(struct moot *m)
{
    struct joinings *joinings = m->session.joinings;
    for (size_t i = 0; joinings != NULL && i < joinings->count; i++) {
        rankset_release(&joinings->items[i].members);
    }
    if (joinings != NULL) {
        free(joinings->items);
        joinings->items = NULL;
        joinings->count = 0;
    }
}

/* Without memory a set is missing here that others have. */
static void starve(struct moot *m) { engine_starve(m, "no memory for a process set"); }

void joinings_add(struct moot *m, uint64_t epoch, const struct rankset *members)
{
    struct joinings *joinings = joinings_of(m);
    size_t at = joinings != NULL ? joinings->count : 0;
    if (joinings == NULL) {
        starve(m);
        return;
    }
    if (epoch <= joinings->made_epoch) {
        return;
    }
    while (at > 0 && joinings->items[at - 1].epoch >= epoch) {
        at--;
    }
    if (at < joinings->count && joinings->items[at].epoch == epoch) {
        return;
    }
    struct view_joined made = {.epoch = epoch};
    struct view_joined *items =
        realloc(joinings->items, (joinings->count + 1) * sizeof(*items));
    joinings->items = items != NULL ? items : joinings->items;
    if (items == NULL || !rankset_copy(&made.members, members)) {
        starve(m);
        return;
    }
    for (size_t i = joinings->count++; i > at; i--) {
        items[i] = items[i - 1];
    }
    items[at] = made;
}

/* All of them have been in a session. */
static bool are_known(const struct moot *m, const struct rankset *members)
{
    uint32_t member = rankset_next(members, 0);
    while (member != PLACEMENT_NOBODY && rankset_has(&m->session.been, member)) {
        member = rankset_next(members, member + 1);
    }
    return member == PLACEMENT_NOBODY;
}

void joinings_make(struct moot *m, uint64_t up_to_epoch)
{
    struct joinings *joinings = m->session.joinings;
    for (size_t i = 0; joinings != NULL && i < joinings->count; i++) {
        struct view_joined *item = &joinings->items[i];
        if (item->made || item->epoch > up_to_epoch) {
            continue;
        }
        if (!psets_make(m) ||
            (!are_known(m, &item->members) && !psets_add_world(m, &item->members))) {
            starve(m);
            return;
        }
        item->made = true;
        joinings->made_epoch = item->epoch;
    }
}

bool joinings_next(const struct moot *m, size_t *at, bool made, uint64_t *epoch,
                   const struct rankset **members)
{
    const struct joinings *joinings = m->session.joinings;
    while (joinings != NULL && *at < joinings->count) {
        const struct view_joined *item = &joinings->items[(*at)++];
        if (item->made == made) {
            *epoch = item->epoch;
            *members = &item->members;
            return true;
        }
    }
    return false;
}

uint64_t joinings_made(const struct moot *m)
{
    return m->session.joinings != NULL ? m->session.joinings->made_epoch : 0;
}

void joinings_begin(struct moot *m, uint64_t made_epoch)
{
    struct joinings *joinings = joinings_of(m);
    if (joinings == NULL) {
        starve(m);
        return;
    }
    joinings->made_epoch = made_epoch;
    size_t kept = 0;
    for (size_t i = 0; i < joinings->count; i++) {
        if (joinings->items[i].epoch > made_epoch) {
            joinings->items[kept++] = joinings->items[i];
        } else {
            rankset_release(&joinings->items[i].members);
        }
    }
    joinings->count = kept;
}

/* --- Views ------------------------------------------------------------------------ */

/* Some of them are in no view before. */
static bool are_new(struct moot *m, struct joinings *joinings,
                    const struct rankset *members)
{
    const uint32_t before = rankset_count(&joinings->seen);
    if (!rankset_merge(&joinings->seen, members)) {
        starve(m);
    }
    return rankset_count(&joinings->seen) > before;
}

/* A view that this rank has entered, or one before it that it has not. */
static void look_at(struct moot *m, uint64_t epoch, const struct rankset *members)
{
    struct joinings *joinings = m->session.joinings;
    const bool first = joinings->seen_epoch == 0;
    if (epoch <= joinings->seen_epoch) {
        return;
    }
    joinings->seen_epoch = epoch;
    if (are_new(m, joinings, members) && !first) {
        joinings_add(m, epoch, members);
    }
}

void session_carry_view(struct moot *m, const struct core_output *output)
{
    uint64_t epoch;
    const struct rankset *members;
    task_undoing(m, false); /* what a reload has undone was told before */
    members_carry_view(m, output);
    if (m->group.size == m->group.founders || joinings_of(m) == NULL) {
        return; /* nobody ever comes */
    }
    for (uint32_t i = 0; core_past(m->core, i, &epoch, &members); i++) {
        look_at(m, epoch, members);
    }
    look_at(m, output->u.view.epoch, output->u.view.members);
    if (m->session.number > 0 && !m->session.ending) {
        joinings_make(m, UINT64_MAX);
    }
}
