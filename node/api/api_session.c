/* api_session.c - the public calls about sessions and process sets.
 *
 * A session ends with two meetings.  To the first all ranks come when they have run
 * what they own, those that are to go among them.  To the second those come that stay;
 * who goes leaves instead, as by moot_leave(), and leaving counts as closing.  So the
 * outcome of the second names the processes of the next session, alike for all of them,
 * and survives the death of any rank, as that of every meeting does.  What is left is
 * to wait until those who said at the first that they go are no members any more.  (A
 * rank that has closed stays a member until all have, is in no session after that, and
 * nobody waits for it.)
 *
 * A newcomer is a member from the view on that lets it in, and comes to these meetings
 * like all others.  If they, or the first of them, had been before it was a member, it
 * asks the others for the session that has begun.
 */
#include "node/api/moot_session.h"

#include "consensus/core_view.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "node/api/close.h"
#include "node/api/context_open.h"
#include "node/compose/meet_wait.h"
#include "node/compose/task_wait.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/schedule/wait.h"
#include "node/session/session.h"
#include "proto/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 512 };
#define NEWCOMERS_NS                                                                   \
    UINT64_C(60000000000) /* so long may newcomers take to be let in                   \
                           */

static const char NEXT[] = "moot_session_next";

static int no_memory(struct lane *lane, const char *call)
{
    return lane_fail(lane, MOOT_ERR_NO_MEMORY, "%s: no memory", call);
}

/* --- More processes ----------------------------------------------------------------
 */

/* Without the engine lock: this rank serves its peers meanwhile. */
static int ask_launcher(struct moot *m, uint32_t count, uint32_t *first, char *story)
{
    struct transport *wire = session_wire(m);
    if (wire->ops->grow == NULL) {
        snprintf(story, STORY_BYTES,
                 "no ranks join by the transport %s%s: start the job with `moot run "
                 "--launcher local --max N`",
                 wire->ops->name,
                 wire->ops->grow_together != NULL
                     ? " but with the next session (moot_session_next with .grow)"
                     : "");
        return MOOT_ERR_UNSUPPORTED;
    }
    return wire->ops->grow(wire, count, first, story, STORY_BYTES);
}

int moot_grow(moot *m, int count, const moot_grow_options *options)
{
    const char *call = "moot_grow";
    char story[STORY_BYTES] = "";
    uint32_t first;
    if (m == NULL || count <= 0 || options != NULL) {
        return lane_invalid(m, call,
                            count <= 0 ? "the count is less than 1"
                                       : "there are no options yet: they are NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = task_wait_check(m, lane, call, MOOT_FOREVER);
    if (error == MOOT_OK) {
        engine_unlock(m);
        const int code = ask_launcher(m, (uint32_t)count, &first, story);
        engine_lock(m);
        error = code == MOOT_OK ? code : lane_fail(lane, code, "%s: %s", call, story);
    }
    engine_leave(m);
    return error;
}

/* --- The next session ------------------------------------------------------------- */

static bool has_run_all(const struct moot *m) { return core_unfinished(m->core) == 0; }

static bool is_among_its_own(const struct moot *m)
{
    return session_others_are_gone(m, &m->schedule.meetings.came);
}

static int wait_until(struct moot *m, struct lane *lane,
                      bool (*until)(const struct moot *m), bool goes_on)
{
    struct wait wait = {.want = WANT_DONE,
                        .lane = lane,
                        .deadline_ns = CORE_NEVER,
                        .until = until,
                        .goes_on = goes_on};
    int error = task_wait_check(m, lane, NEXT, MOOT_FOREVER);
    error = error == MOOT_OK ? wait_run(m, &wait) : error;
    if (error == MOOT_OK && m->engine.fatal != 0) {
        error = lane_fail(lane, m->engine.fatal, "%s: %s", NEXT,
                          text_get(&m->engine.fatal_story));
    }
    return error;
}

static int meet(struct moot *m, struct lane *lane, const moot_hash *purpose,
                const void *words, size_t words_size)
{
    uint64_t number;
    const struct meet_wait wait = {
        .purpose = purpose, .words = words, .words_size = words_size};
    return meet_wait_run(m, lane, NEXT, &wait, &number);
}

static int meet_to_stay(struct moot *m, struct lane *lane)
{
    const moot_hash purpose = session_stay_purpose();
    return meet(m, lane, &purpose, NULL, 0);
}

/* All come, and tell what they wish of process sets. */
static int meet_at_end(struct moot *m, struct lane *lane,
                       const moot_session_options *options)
{
    void *wishes = NULL;
    size_t size = 0;
    if (!session_ending(m, options->leave != 0, options->grow, &wishes, &size)) {
        return no_memory(lane, NEXT);
    }
    static const char end[] = "end of a session";
    const moot_hash purpose = digest_bytes(end, sizeof(end) - 1);
    const int error = meet(m, lane, &purpose, wishes, size);
    free(wishes);
    return error;
}

static bool has_met(const struct moot *m)
{
    return rankset_has(&m->schedule.meetings.came, m->group.rank);
}

/* The others' next session began, or was settled, without this rank. */
static int catch_up(struct moot *m, struct lane *lane)
{
    session_ask(m);
    return wait_until(m, lane, session_is_known, true);
}

static int tell_not_grown(struct moot *m, uint32_t count, const char *story)
{
    report_add(m, "moot: rank %u: the next session does not grow by %u: %s\n",
               m->group.rank, count, story);
    return MOOT_OK;
}

static int await_newcomers(struct moot *m, struct lane *lane, uint32_t first,
                           uint32_t count, uint64_t until_ns)
{
    session_await(m, first, count, until_ns);
    return wait_until(m, lane, session_has_grown, true);
}

/* The launcher starts more, and those who stay wait for this rank, and so for them: it
 * comes to the second meeting when they are members, or have ended. */
static int grow_by_launcher(struct moot *m, struct lane *lane, uint32_t count)
{
    char story[STORY_BYTES] = "";
    uint32_t first = 0;
    engine_unlock(m);
    const int code = ask_launcher(m, count, &first, story);
    engine_lock(m);
    return code == MOOT_OK ? await_newcomers(m, lane, first, count, CORE_NEVER)
                           : tell_not_grown(m, count, story);
}

/* All who stay bring newcomers in.  The first of them waits for these, as for those of
 * a launcher, but not for ever: nobody tells it of a death on another host. */
static int grow_together(struct moot *m, struct lane *lane, uint32_t count,
                         const struct rankset *stay)
{
    const bool asks = rankset_next(stay, 0) == m->group.rank;
    const char *story = session_grow_together(m, stay, count);
    uint32_t first = 0;
    int error = MOOT_OK;
    if (!asks) {
        return MOOT_OK;
    }
    if (story == NULL) {
        error = wait_until(m, lane, session_is_answered, true);
        story = session_growth_answer(m, &first);
    }
    if (error != MOOT_OK || story != NULL) {
        return error != MOOT_OK ? error : tell_not_grown(m, count, story);
    }
    return await_newcomers(m, lane, first, count, clock_ns() + NEWCOMERS_NS);
}

/* More processes, if anybody wishes some. */
static int let_grow(struct moot *m, struct lane *lane)
{
    struct rankset stay = {0};
    const uint32_t count = session_growth(m, &stay);
    uint32_t asker = rankset_next(&stay, 0);
    int error = MOOT_OK;
    while (asker != PLACEMENT_NOBODY && !members_is_here(m, asker)) {
        asker = rankset_next(&stay, asker + 1);
    }
    if (count > 0 && session_wire(m)->ops->grow_together != NULL) {
        error = rankset_has(&stay, m->group.rank) ? grow_together(m, lane, count, &stay)
                                                  : MOOT_OK;
    } else if (count > 0 && asker == m->group.rank) {
        error = grow_by_launcher(m, lane, count);
    }
    rankset_release(&stay);
    return error;
}

static int stay(struct moot *m, struct lane *lane)
{
    const bool was_there = has_met(m);
    int error = session_end(m) ? let_grow(m, lane) : no_memory(lane, NEXT);
    if (error == MOOT_OK) {
        error = meet_to_stay(m, lane);
    }
    if (error == MOOT_OK && (!was_there || !has_met(m))) {
        return catch_up(m, lane);
    }
    /* Others may be in the next session already, and wait for what this rank is yet to
     * spawn in it: nobody is to take that for what no rank holds. */
    error = error == MOOT_OK ? wait_until(m, lane, is_among_its_own, true) : error;
    if (error == MOOT_OK && !session_begin(m, &m->schedule.meetings.came)) {
        error = no_memory(lane, NEXT);
    }
    return error;
}

/* Its roll begins where the others stood when they let it in (PROTOCOL.md, V5). */
static bool comes_too_late(const struct moot *m)
{
    return m->knobs.divergence == KNOB_DIVERGENCE_STRICT && !has_met(m);
}

int moot_session_come_in(moot *m, char *story, size_t story_size)
{
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        snprintf(story, story_size, "no memory to come to the next session");
        return MOOT_ERR_NO_MEMORY;
    }
    int error = meet_to_stay(m, lane);
    const bool late = error == MOOT_OK && comes_too_late(m);
    if (late) {
        error = MOOT_ERR_CLOSED;
        snprintf(story, story_size,
                 "the session began without this rank, and with MOOT_DIVERGENCE=strict "
                 "it can begin no later one");
    } else if (error == MOOT_OK) {
        error = catch_up(m, lane);
    }
    if (error != MOOT_OK && !late) {
        snprintf(story, story_size, "%s",
                 m->engine.fatal != 0 ? text_get(&m->engine.fatal_story)
                                      : error_text(error));
    }
    engine_leave(m);
    return error;
}

static int next(struct moot *m, struct lane *lane, const moot_session_options *options)
{
    const bool leaves = options->leave != 0;
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s inside a kernel", NEXT);
    }
    int error = leaves ? leave_check(m, lane, NEXT) : MOOT_OK;
    if (error == MOOT_OK && leaves) {
        error = close_check(m, lane, NEXT); /* its queues pass on what they hold */
    }
    error = error == MOOT_OK ? wait_until(m, lane, has_run_all, false) : error;
    error = error == MOOT_OK ? meet_at_end(m, lane, options) : error;
    /* Those who have just come may have made this rank the owner of more. */
    error = error == MOOT_OK ? wait_until(m, lane, has_run_all, false) : error;
    if (error == MOOT_OK) {
        error = leaves ? leave_context(m, lane) : stay(m, lane);
    }
    if (error != MOOT_OK) {
        session_goes_on(m);
    }
    return error;
}

int moot_session_next_sized(moot *m, const moot_session_options *options,
                            moot_session_info *out, size_t size)
{
    static const moot_session_options none;
    moot_session_options room;
    options = sized_session(options != NULL ? options : &none, &room);
    if (m == NULL || options == NULL ||
        (out != NULL && !SIZED_ADMITS(size, moot_session_info, process))) {
        return lane_invalid(m, NEXT,
                            options == NULL ? SIZED_REFUSAL(moot_session_options)
                                            : SIZED_REFUSAL_OUT(moot_session_info));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_session_info info;
    int error = next(m, lane, options);
    if (error == MOOT_OK && !session_show(m, &info)) {
        error = no_memory(lane, NEXT);
    }
    if (error == MOOT_OK && out != NULL) {
        sized_give(out, size, &info, sizeof(info));
    }
    engine_leave(m);
    return error;
}

/* --- Looks ------------------------------------------------------------------------ */

int moot_session_info_get_sized(moot *m, moot_session_info *out, size_t size)
{
    const char *call = "moot_session_info_get";
    if (m == NULL || out == NULL || !SIZED_ADMITS(size, moot_session_info, process)) {
        return lane_invalid(m, call,
                            out == NULL ? "the output is NULL"
                                        : SIZED_REFUSAL_OUT(moot_session_info));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    moot_session_info info;
    const int error = session_show(m, &info) ? MOOT_OK : no_memory(lane, call);
    if (error == MOOT_OK) {
        sized_give(out, size, &info, sizeof(info));
    }
    engine_leave(m);
    return error;
}

size_t moot_pset_count(moot *m)
{
    size_t count = 0;
    if (m == NULL) {
        (void)lane_invalid(m, "moot_pset_count", "");
        return 0;
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return 0;
    }
    if (!session_pset_count(m, &count)) {
        (void)no_memory(lane, "moot_pset_count");
    }
    engine_leave(m);
    return count;
}

int moot_pset_info_sized(moot *m, size_t index, moot_pset_info *out, size_t size)
{
    const char *call = "moot_pset_info";
    if (m == NULL || out == NULL || !SIZED_ADMITS(size, moot_pset_info, size)) {
        return lane_invalid(m, call,
                            out == NULL ? "the output is NULL"
                                        : SIZED_REFUSAL_OUT(moot_pset_info));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    size_t count = 0;
    int error = session_pset_count(m, &count) ? MOOT_OK : no_memory(lane, call);
    if (error == MOOT_OK && index >= count) {
        error = lane_fail(lane, MOOT_ERR_INVALID, "%s: there is no set %zu of %zu",
                          call, index, count);
    }
    if (error == MOOT_OK) {
        moot_pset_info info;
        session_pset_show(m, index, &info);
        sized_give(out, size, &info, sizeof(info));
    }
    engine_leave(m);
    return error;
}

/* --- Sets of the program's own ---------------------------------------------------- */

/* NULL: it may be a set's name. */
static const char *name_flaw(const char *name)
{
    const size_t length = name != NULL ? strnlen(name, LIMIT_PSET_BYTES + 1) : 0;
    if (length == 0 || length > LIMIT_PSET_BYTES) {
        return "a set's name has 1 to 64 bytes";
    }
    if (strncmp(name, "mpi://", 6) == 0 || strncmp(name, "moot://", 7) == 0) {
        return "names that begin with mpi:// or moot:// are not the program's to give";
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f) {
            return "a set's name has no spaces or control characters";
        }
    }
    return NULL;
}

static int pset_error(struct lane *lane, const char *call, const char *name, int error)
{
    switch (error) {
    case MOOT_OK:
        return MOOT_OK;
    case MOOT_ERR_STATE:
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "%s: there is a process set \"%s\" already, or there was",
                         call, name);
    case MOOT_ERR_INVALID:
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "%s: the program has no process set \"%s\"", call, name);
    case MOOT_ERR_LIMIT:
        return lane_fail(lane, MOOT_ERR_LIMIT,
                         "%s: this rank has more sets to define than it can tell the "
                         "others at one boundary; define the rest in the next session",
                         call);
    default:
        return no_memory(lane, call);
    }
}

static int take_ranks(struct moot *m, struct lane *lane, const char *call,
                      const moot_ranks *ranks, struct rankset *out)
{
    for (size_t i = 0; i < ranks->count; i++) {
        const int rank = ranks->ranks[i];
        if (rank < 0 || (uint32_t)rank >= m->session.size) {
            return lane_fail(lane, MOOT_ERR_INVALID, "%s: rank %d is not one of 0..%u",
                             call, rank, m->session.size - 1);
        }
        if (!rankset_add(out, session_member(m, (uint32_t)rank))) {
            return no_memory(lane, call);
        }
    }
    return MOOT_OK;
}

int moot_pset_define(moot *m, const char *name, const moot_ranks *ranks)
{
    const char *call = "moot_pset_define";
    const char *flaw = name_flaw(name);
    if (flaw == NULL && (ranks == NULL || ranks->ranks == NULL || ranks->count == 0)) {
        flaw = "a set has at least one rank";
    }
    if (m == NULL || flaw != NULL) {
        return lane_invalid(m, call, flaw);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct rankset members = {0};
    int error = task_wait_check(m, lane, call, 0);
    error = error == MOOT_OK ? take_ranks(m, lane, call, ranks, &members) : error;
    if (error == MOOT_OK) {
        error = pset_error(lane, call, name, session_pset_define(m, name, &members));
    }
    rankset_release(&members);
    engine_leave(m);
    return error;
}

int moot_pset_delete(moot *m, const char *name)
{
    const char *call = "moot_pset_delete";
    const char *flaw = name_flaw(name);
    if (m == NULL || flaw != NULL) {
        return lane_invalid(m, call, flaw);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = task_wait_check(m, lane, call, 0);
    if (error == MOOT_OK) {
        error = pset_error(lane, call, name, session_pset_delete(m, name));
    }
    engine_leave(m);
    return error;
}

/* --- The processes of a set, for a transport's own calls ----------------------------
 */

static int take_members(struct moot *m, const struct rankset *members,
                        struct pset_call *set)
{
    set->members = calloc((size_t)rankset_count(members) + 1, sizeof(*set->members));
    if (set->members == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (uint32_t member = rankset_next(members, 0); member != PLACEMENT_NOBODY;
         member = rankset_next(members, member + 1)) {
        set->self = member == m->group.rank ? set->count : set->self;
        set->members[set->count++] = member;
    }
    return rankset_has(members, m->group.rank) && moot_pset_is_whole(set)
               ? MOOT_OK
               : MOOT_ERR_INVALID;
}

bool moot_pset_is_whole(const struct pset_call *set)
{
    uint32_t at = 0;
    while (at < set->count && members_is_here(set->m, set->members[at])) {
        at++;
    }
    return at == set->count;
}

/* As users name it: MOOT_TRANSPORT, if that is not the one that is used without it. */
static const char *transport_word(const struct pset_call *set)
{
    const char *word = set->m->knobs.transport;
    return strcmp(word, set->ops->name) != 0 ? word : set->transport->ops->name;
}

static int find_set(struct moot *m, struct lane *lane, const char *name,
                    struct pset_call *set)
{
    struct rankset members = {0};
    set->m = m;
    set->transport = m->transport;
    while (set->transport->ops->beneath != NULL) {
        set->transport = set->transport->ops->beneath(set->transport);
    }
    if (set->transport->ops != set->ops) {
        return lane_fail(lane, MOOT_ERR_UNSUPPORTED,
                         "%s: the transport %s carries this moot, not %s "
                         "(MOOT_TRANSPORT)",
                         set->call, transport_word(set), set->ops->name);
    }
    int error = session_pset_take(m, name, &members, &set->index);
    error = error == MOOT_OK ? take_members(m, &members, set) : error;
    rankset_release(&members);
    switch (error) {
    case MOOT_OK:
        return MOOT_OK;
    case MOOT_ERR_NO_MEMORY:
        return no_memory(lane, set->call);
    default:
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "%s: there is no valid process set \"%.64s\" that has this "
                         "process",
                         set->call, name);
    }
}

int moot_pset_members(moot *m, const char *name, struct pset_call *set)
{
    if (m == NULL || name == NULL) {
        return lane_invalid(m, set->call, "the name is NULL");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = task_wait_check(m, lane, set->call, MOOT_FOREVER);
    error = error == MOOT_OK ? find_set(m, lane, name, set) : error;
    engine_leave(m);
    return error;
}
