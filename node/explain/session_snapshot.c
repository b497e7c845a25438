/* session_snapshot.c - what a rank tells of its session: who is in it, who has come and
 * gone, and the process sets that it has.
 *
 * If sets are many, mpi://WORLD, mpi://SELF and the last ones are told; if comings and
 * goings are, the last ones; and how many more there are.  A program that has never
 * asked for a set has none to tell of: making an account makes none.
 *
 * Messages that are made here are freed by protobuf-c.
 */
#include "node/explain/session_snapshot.h"

#include "node/members/members.h"
#include "node/session/session.h"

#include <stdlib.h>
#include <string.h>

enum { SETS_MAX = LIMIT_ACCOUNT_SETS, CHANGES_MAX = LIMIT_ACCOUNT_CHANGES };

static bool put_text(ProtobufCBinaryData *out, const char *text)
{
    out->data = (uint8_t *)strdup(text);
    out->len = out->data != NULL ? strlen(text) : 0;
    return out->data != NULL;
}

static bool put_ranks(ProtobufCBinaryData *out, const struct rankset *set)
{
    const uint32_t words = rankset_words(set);
    uint64_t *bytes = calloc((size_t)words + 1, sizeof(*bytes));
    for (uint32_t i = 0; bytes != NULL && i < words; i++) {
        bytes[i] = rankset_word(set, i);
    }
    out->data = (uint8_t *)bytes;
    out->len = bytes != NULL ? words * sizeof(*bytes) : 0;
    return bytes != NULL;
}

static uint64_t age(const struct moot *m, uint64_t then_ns)
{
    return then_ns != 0 && then_ns < m->now_ns ? m->now_ns - then_ns : 1;
}

/* --- Sets ------------------------------------------------------------------------- */

static bool put_set(struct moot *m, size_t index, Moot__Account__Set *to)
{
    struct session_set_view set;
    struct rankset members = {0};
    session_set_look(m, index, &set);
    to->index = (uint32_t)index;
    to->deleted = set.deleted;
    to->gone = set.gone;
    bool good = put_text(&to->name, set.name);
    for (uint32_t i = 0; good && i < set.count; i++) {
        good = rankset_add(&members, set.members[i]);
    }
    good = good && put_ranks(&to->members, &members);
    rankset_release(&members);
    return good;
}

static bool put_sets(struct moot *m, Moot__Account__Session *to)
{
    enum { FIRST = 2 }; /* mpi://WORLD and mpi://SELF */
    const size_t count = session_set_count(m);
    const size_t told = count < SETS_MAX ? count : SETS_MAX;
    to->sets = calloc(told + 1, sizeof(Moot__Account__Set *));
    to->sets_untold = count - told;
    bool good = to->sets != NULL;
    for (size_t i = 0; good && i < told; i++) {
        Moot__Account__Set *set = malloc(sizeof(*set));
        good = set != NULL;
        if (good) {
            moot__account__set__init(set);
            to->sets[to->n_sets++] = set;
            good = put_set(m, i < FIRST ? i : i + (count - told), set);
        }
    }
    return good;
}

/* --- Comings and goings ----------------------------------------------------------- */

struct member_change {
    uint64_t at_ns;
    uint32_t rank, what;
};

static int changes_compare(const void *a, const void *b)
{
    const struct member_change *x = a, *y = b;
    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns)
                                : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The rank's changes, in out[0] and out[1]; how many they are. */
static size_t changes_of(const struct moot *m, uint32_t rank, struct member_change *out)
{
    const struct member *member = &m->members.all[rank];
    size_t count = 0;
    if (member->joined_ns != 0) {
        out[count++] =
            (struct member_change){member->joined_ns, rank, ACCOUNT_CHANGE_JOINED};
    }
    const uint32_t what = member->state == MEMBER_LEFT      ? ACCOUNT_CHANGE_LEFT
                          : member->state == MEMBER_DEAD    ? ACCOUNT_CHANGE_DIED
                          : member->state == MEMBER_REMOVED ? ACCOUNT_CHANGE_REMOVED
                                                            : ACCOUNT_CHANGE_END;
    if (what != ACCOUNT_CHANGE_END) {
        const bool seen = member->ended_ns != 0 && what == ACCOUNT_CHANGE_DIED;
        out[count++] = (struct member_change){
            seen ? member->ended_ns : member->removed_ns, rank, what};
    }
    return count;
}

static bool put_change(const struct moot *m, const struct member_change *change,
                       Moot__Account__Session *session)
{
    char process[MEMBERS_NAME_BYTES];
    Moot__Account__Change *to = malloc(sizeof(*to));
    if (to == NULL) {
        return false;
    }
    moot__account__change__init(to);
    session->changes[session->n_changes++] = to;
    to->rank = change->rank;
    to->what = change->what;
    to->ago_ns = age(m, change->at_ns);
    return put_text(&to->process, members_process(m, change->rank, process));
}

static bool put_changes(const struct moot *m, Moot__Account__Session *to)
{
    struct member_change *all = calloc(2 * (size_t)m->group.size, sizeof(*all));
    size_t count = 0;
    to->changes = calloc(CHANGES_MAX, sizeof(Moot__Account__Change *));
    bool good = all != NULL && to->changes != NULL;
    for (uint32_t rank = 0; good && rank < m->group.size; rank++) {
        count += changes_of(m, rank, all + count);
    }
    if (good) {
        qsort(all, count, sizeof(*all), changes_compare);
    }
    to->changes_untold = count > CHANGES_MAX ? count - CHANGES_MAX : 0;
    for (size_t i = to->changes_untold; good && i < count; i++) {
        good = put_change(m, &all[i], to);
    }
    free(all);
    return good;
}

/* --- All of it -------------------------------------------------------------------- */

static bool put_members(const struct moot *m, Moot__Account__Session *to)
{
    struct rankset members = {0};
    bool good = true;
    for (uint32_t rank = 0; good && rank < m->session.size; rank++) {
        good = rankset_add(&members, session_member(m, rank));
    }
    good = good && put_ranks(&to->members, &members);
    rankset_release(&members);
    return good;
}

Moot__Account__Session *session_snapshot(struct moot *m)
{
    char process[MEMBERS_NAME_BYTES];
    Moot__Account__Session *made = malloc(sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    moot__account__session__init(made);
    made->number = m->session.number;
    made->ending = m->session.ending;
    made->age_ns =
        age(m, m->session.began_ns != 0 ? m->session.began_ns : m->opened_ns);
    if (put_text(&made->why, m->session.why) &&
        put_text(&made->process, members_process(m, m->group.rank, process)) &&
        (made->number == 0 || put_members(m, made)) && put_sets(m, made) &&
        put_changes(m, made)) {
        return made;
    }
    session_snapshot_free(made);
    return NULL;
}

static void *take(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void give_back(void *context, void *block)
{
    (void)context;
    free(block);
}

/* Its parts were taken here, and not by protobuf-c. */
void session_snapshot_free(Moot__Account__Session *session)
{
    ProtobufCAllocator allocator = {.alloc = take, .free = give_back};
    if (session != NULL) {
        protobuf_c_message_free_unpacked(&session->base, &allocator);
    }
}
