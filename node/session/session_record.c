/* session_record.c - a newcomer is told which session it is; see session.h.
 *
 * It asks the lowest member, and another if that one does not answer, which may be a
 * newcomer itself.  The record has what a rank knows that has been there all the time:
 * the session's members and those of all before it, the process sets, and how many
 * meetings had been when it began, since the newcomer's program comes to those behind.
 *
 * A rank that has come to the end of its session answers, too: the others may wait for
 * the newcomer there.  If it comes too late for the end, it asks again for the next.
 *
 * One that asks itself says so, and one whose program is over says that.  If all who
 * are left ask, or have closed in no later session than this rank's own, over and over,
 * those who knew more have died, and the moot ends for this rank.
 */
#include "node/session/psets_private.h"

#include "consensus/core_view.h"
#include "hashing/placement.h"
#include "moot.pb-c.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/record/trace.h"

#include <stdlib.h>
#include <string.h>

#define ASK_NS UINT64_C(200000000)
enum { ROUNDS_IN_VAIN = 3 };

/* --- Asking ----------------------------------------------------------------------- */

bool session_is_known(const struct moot *m) { return m->session.ask_due_ns == 0; }

void session_ask(struct moot *m)
{
    m->session.ask_due_ns = 1;
    m->session.rounds_in_vain = 0;
    rankset_release(&m->session.unknowing);
    session_look_around(m, m->now_ns);
}

/* Whom it asks: one after the other. */
static uint32_t next_to_ask(const struct moot *m)
{
    uint32_t rank = m->session.asked;
    for (uint32_t i = 0; i < m->group.size; i++, rank++) {
        rank %= m->group.size;
        if (rank != m->group.rank && members_is_here(m, rank)) {
            return rank;
        }
    }
    return PLACEMENT_NOBODY;
}

/* All who are left have said that they do not know it either. */
static bool nobody_knows(const struct moot *m)
{
    for (uint32_t rank = 0; rank < m->group.size; rank++) {
        if (rank != m->group.rank && members_is_here(m, rank) &&
            !rankset_has(&m->session.unknowing, rank)) {
            return false;
        }
    }
    return true;
}

static bool has_asked_in_vain(struct moot *m)
{
    if (nobody_knows(m)) {
        rankset_release(&m->session.unknowing);
        m->session.rounds_in_vain++;
    }
    return m->session.rounds_in_vain > ROUNDS_IN_VAIN;
}

void session_look_around(struct moot *m, uint64_t now_ns)
{
    if (m->session.ask_due_ns == 0 || now_ns < m->session.ask_due_ns) {
        return;
    }
    if (has_asked_in_vain(m)) {
        m->session.ask_due_ns = 0;
        engine_fail(m, MOOT_ERR_CLOSED,
                    "all ranks that knew in which session the moot is have gone before "
                    "they could tell rank %u",
                    m->group.rank);
        return;
    }
    const uint32_t rank = next_to_ask(m);
    struct message message = {.type = MESSAGE_INQUIRY};
    message.u.inquiry.number = INQUIRY_OF_SESSION;
    m->session.ask_due_ns = now_ns + ASK_NS;
    if (rank != PLACEMENT_NOBODY) {
        m->session.asked = rank + 1;
        outbox_add_own(m, rank, &message);
    }
}

/* --- The record ------------------------------------------------------------------- */

/* Numbers of a list that is packed. */
static uint32_t *list_of(const struct rankset *members, size_t *count)
{
    uint32_t *list = calloc((size_t)rankset_count(members) + 1, sizeof(*list));
    *count = 0;
    for (uint32_t member = rankset_next(members, 0);
         list != NULL && member != PLACEMENT_NOBODY;
         member = rankset_next(members, member + 1)) {
        list[(*count)++] = member;
    }
    return list;
}

struct session_draft {
    Moot__SessionRecord message;
    Moot__SessionRecord__Set *sets, **set_list;
    Moot__SessionRecord__Joining *joinings, **joining_list;
};

static void record_release(struct session_draft *record)
{
    for (size_t i = 0; i < record->message.n_joinings; i++) {
        free(record->joinings[i].members);
    }
    free(record->message.been);
    free(record->sets);
    free(record->set_list);
    free(record->joinings);
    free(record->joining_list);
}

static bool put_sets(const struct moot *m, struct session_draft *record)
{
    const struct psets *psets = m->session.psets;
    const size_t count = psets->count - FIRST_DEFINED;
    record->sets = calloc(count + 1, sizeof(*record->sets));
    record->set_list = calloc(count + 1, sizeof(*record->set_list));
    if (record->sets == NULL || record->set_list == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct pset *set = &psets->sets[FIRST_DEFINED + i];
        Moot__SessionRecord__Set *to = record->set_list[i] = &record->sets[i];
        moot__session_record__set__init(to);
        to->name.data = (uint8_t *)set->name;
        to->name.len = strlen(set->name);
        to->members = set->members;
        to->ranks = set->ranks;
        to->n_members = to->n_ranks = set->count;
        to->own = set->own;
        to->deleted = set->deleted;
    }
    record->message.sets = record->set_list;
    record->message.n_sets = count;
    record->message.worlds = psets->worlds;
    return true;
}

static bool put_joinings(const struct moot *m, struct session_draft *record)
{
    size_t at = 0, count = 0;
    uint64_t epoch;
    const struct rankset *members;
    while (joinings_next(m, &at, false, &epoch, &members)) {
        count++;
    }
    record->joinings = calloc(count + 1, sizeof(*record->joinings));
    record->joining_list = calloc(count + 1, sizeof(*record->joining_list));
    bool good = record->joinings != NULL && record->joining_list != NULL;
    for (at = 0; good && joinings_next(m, &at, false, &epoch, &members);) {
        const size_t i = record->message.n_joinings++;
        Moot__SessionRecord__Joining *to = record->joining_list[i] =
            &record->joinings[i];
        moot__session_record__joining__init(to);
        to->epoch = epoch;
        to->members = list_of(members, &to->n_members);
        good = to->members != NULL;
    }
    record->message.joinings = record->joining_list;
    return good;
}

/* The program of who is let in at a boundary comes to the meetings behind that at the
 * end of the session: the first is the one that has this rank, too. */
static uint64_t counts_from(const struct moot *m)
{
    return m->session.ending && session_admits(m) ? core_meetings(m->core) - 1
                                                  : m->session.met;
}

static uint8_t *record_pack(struct moot *m, size_t *size)
{
    struct session_draft record = {.sets = NULL};
    uint8_t *bytes = NULL;
    moot__session_record__init(&record.message);
    record.message.number = m->session.number;
    record.message.met = counts_from(m);
    record.message.ending = m->session.ending;
    record.message.closing = m->engine.closing;
    record.message.joined_epoch = joinings_made(m);
    record.message.been = list_of(&m->session.been, &record.message.n_been);
    bool good = record.message.been != NULL && psets_make(m) && put_sets(m, &record) &&
                put_joinings(m, &record);
    if (good) {
        const struct pset *world = &m->session.psets->sets[WORLD];
        record.message.members = world->members;
        record.message.n_members = world->count;
        *size = moot__session_record__get_packed_size(&record.message);
        bytes = malloc(*size + 1);
    }
    if (bytes != NULL) {
        moot__session_record__pack(&record.message, bytes);
    }
    record_release(&record);
    return bytes;
}

/* This rank asks itself. */
static uint8_t *doubt_pack(size_t *size)
{
    Moot__SessionRecord message;
    moot__session_record__init(&message);
    message.asks = true;
    *size = moot__session_record__get_packed_size(&message);
    uint8_t *bytes = malloc(*size + 1);
    if (bytes != NULL) {
        moot__session_record__pack(&message, bytes);
    }
    return bytes;
}

void session_answer(struct moot *m, uint32_t from)
{
    size_t size = 0;
    uint8_t *bytes = m->session.gone || m->engine.ended ? NULL
                     : !session_is_known(m) || m->session.number == 0
                         ? doubt_pack(&size)
                         : record_pack(m, &size);
    if (bytes == NULL) {
        return; /* it asks another one */
    }
    struct message message = {.type = MESSAGE_ACCOUNT};
    message.u.account = (struct message_account){
        .number = INQUIRY_OF_SESSION, .bytes = bytes, .size = size};
    outbox_add_own(m, from, &message);
    free(bytes);
}

/* --- Taking it -------------------------------------------------------------------- */

static bool take_list(const struct moot *m, const uint32_t *members, size_t count,
                      struct rankset *out)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = members[i] < m->group.size && rankset_add(out, members[i]);
    }
    return good;
}

static bool take_set(struct moot *m, const Moot__SessionRecord__Set *from)
{
    char name[LIMIT_PSET_NAME_BYTES + 1];
    struct rankset members = {0};
    if (from->name.len > LIMIT_PSET_NAME_BYTES || from->n_members != from->n_ranks) {
        return false;
    }
    memcpy(name, from->name.data, from->name.len);
    name[from->name.len] = '\0';
    bool good = take_list(m, from->members, from->n_members, &members) &&
                psets_put(m, name, &members, from->own, from->deleted, from->ranks);
    rankset_release(&members);
    return good;
}

/* The present session and its sets are those; what this rank knew of others is gone. */
static bool record_take(struct moot *m, const Moot__SessionRecord *record)
{
    struct rankset members = {0};
    psets_release_list(m);
    bool good = psets_begin(m) &&
                take_list(m, record->been, record->n_been, &m->session.been) &&
                take_list(m, record->members, record->n_members, &members) &&
                session_set(m, record->number, &members);
    rankset_release(&members);
    for (size_t i = 0; good && i < record->n_sets; i++) {
        good = take_set(m, record->sets[i]);
    }
    if (!good) {
        return false;
    }
    m->session.psets->worlds = record->worlds;
    joinings_begin(m, record->joined_epoch);
    for (size_t i = 0; good && i < record->n_joinings; i++) {
        const Moot__SessionRecord__Joining *from = record->joinings[i];
        good = take_list(m, from->members, from->n_members, &members);
        if (good) {
            joinings_add(m, from->epoch, &members);
        }
        rankset_release(&members);
    }
    return good && psets_take_session(m);
}

/* The others let this rank in as they end a session, in which that one has closed. */
static bool is_beside(const struct moot *m, const Moot__SessionRecord *record)
{
    return session_admits(m) && m->session.number == 0 && record->closing &&
           !record->ending;
}

/* That rank knows no later session, and will not, as far as it has not asked itself. */
static bool cannot_tell(const struct moot *m, const Moot__SessionRecord *record)
{
    return record->asks || is_beside(m, record) ||
           (record->closing && record->number <= m->session.number);
}

void session_take_record(struct moot *m, uint32_t from,
                         const struct message_account *said)
{
    if (session_is_known(m)) {
        return;
    }
    Moot__SessionRecord *record =
        moot__session_record__unpack(NULL, said->size, said->bytes);
    const bool none = record != NULL && cannot_tell(m, record);
    if (none) {
        (void)rankset_add(&m->session.unknowing, from);
    } else {
        rankset_release(&m->session.unknowing);
    }
    if (record != NULL && !none && record->number > m->session.number &&
        record->n_members > 0) {
        m->session.ask_due_ns = 0;
        if (record->met > core_meetings(m->core)) { /* it comes to none of these */
            core_meet_from(m->core, record->met);
        }
        m->session.ending = record->ending;
        if (!record_take(m, record)) {
            engine_starve(m, "no memory to take in which session it is");
        }
        trace_session(m);
        m->session.met = record->met;
        if (!m->session.ending) {
            joinings_make(m, UINT64_MAX);
        }
        progress_ended(m);
        progress_wake(m);
    }
    if (record != NULL) {
        moot__session_record__free_unpacked(record, NULL);
    }
}
