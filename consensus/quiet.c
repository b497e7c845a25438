/* quiet.c - finding out together that nothing moves any more.
 *
 * PROTOCOL.md section 4, QUIET.  The lowest rank polls everyone; when two rounds in a
 * row find every rank passive and the same counts of messages sent and received, with
 * equal sums, no message was in flight between them (Mattern's four counters, 1987) and
 * nothing will happen by itself.  Then, in this order:
 *
 *   - if every rank has closed and nothing is left, the moot adjourns;
 *   - every undecided key with a holder is yielded;
 *   - a key that is asked for and that no rank holds fails (NOT_HELD), the one first
 *     whose asker has the shortest roll: others may become held as ranks go on;
 *   - otherwise owned tasks wait for each other in a circle: a CHASE follows the waits
 *     from owner to owner until a task comes up twice, and that wait fails with CYCLE.
 *
 * A rank rests when nothing runs and nothing is pending; it is passive when, besides,
 * no lane may wake by a timeout or out of parked code.  If all rest, keys may be
 * yielded, which is always safe, and circles cut, which no spawn can open; only if all
 * are passive may a wait fail for want of a holder, or the moot adjourn.  The
 * coordinator polls only when the last STATE of every peer said that it rests, after a
 * gossip period of rest of its own, and ever more seldom while polls find nothing.
 */
#include "consensus/internal.h"

#include <string.h>

#define POLL_PAUSE_MAX_NS 1000000000ull

bool quiet_resting(const struct core *core)
{
    return core->blocked && core->running == 0 &&
           core->pending.pending_next == &core->pending && roll_is_told(core) &&
           (!core->closed || asker_swept(core)) && strict_settled(core) &&
           core->settled && !core->deferred;
}

static bool is_passive(const struct core *core)
{
    for (uint32_t i = 0; i < core->lane_count && !MUTANT(RESTISPEACE); i++) {
        enum core_lane_state state = core->lanes[i].state;
        if (state != CORE_LANE_BLOCKED && state != CORE_LANE_ENDED) {
            return false;
        }
    }
    return quiet_resting(core);
}

/* --- What a polled rank says --------------------------------------------------- */

static void find_orphan(const struct core *core, struct message_pollr *answer,
                        moot_hash *orphan)
{
    for (const struct task *task = core->undecided_docket.undecided_next;
         task != &core->undecided; task = task->docket->undecided_next) {
        uint64_t len = chair_least_len(task);
        if (chair_has_holder(core, task)) {
            answer->undecided = true;
            answer->undecided_hash = task->hash;
        } else if (len != UINT64_MAX && (!answer->orphan || len < answer->orphan_len ||
                                         (len == answer->orphan_len &&
                                          hash_compare(&task->hash, orphan) < 0))) {
            answer->orphan = true;
            answer->orphan_len = len;
            *orphan = task->hash;
        }
    }
}

static void find_stuck(const struct core *core, struct message_pollr *answer)
{
    for (const struct task *task = core->unfinished.unfinished_next;
         task != &core->unfinished; task = task->unfinished_next) {
        if (task->own == CORE_OWN_WAIT &&
            (!answer->stuck || hash_compare(&task->hash, &answer->stuck_hash) < 0)) {
            answer->stuck = true;
            answer->stuck_hash = task->hash;
        }
    }
}

/* Polls are not what they count; heartbeats and votes on views never cease, and what
 * they lead to is a new epoch, which begins to count anew. */
static bool counts(enum message_type type)
{
    bool polls =
        type == MESSAGE_POLL || type == MESSAGE_POLLR || type == MESSAGE_ADJOURN;
    bool views = type >= MESSAGE_HEARTBEAT && type <= MESSAGE_VIEW;
    return !polls && !views && type != MESSAGE_FENCED && type != MESSAGE_JOIN;
}

static void count_messages(const struct core *core, struct message_pollr *answer)
{
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        if (counts((enum message_type)type)) {
            answer->sent += core->stats.sent[type] - core->sent_before[type];
            answer->received +=
                core->stats.received[type] - core->received_before[type];
        }
    }
}

static struct message_pollr answer_now(const struct core *core, uint64_t round,
                                       moot_hash *orphan)
{
    struct message_pollr answer = {.round = round,
                                   .resting = quiet_resting(core),
                                   .passive = is_passive(core),
                                   .closed = core->closed,
                                   .exit_code = core->exit_code};
    memset(orphan, 0, sizeof(*orphan));
    count_messages(core, &answer);
    if (core->difference.declared) {
        return answer; /* strict mode has ended every wait: only closing is left */
    }
    answer.waits = core->open_needs > 0;
    find_orphan(core, &answer, orphan);
    find_stuck(core, &answer);
    return answer;
}

void quiet_on_poll(struct core *core, uint32_t from, const struct message_poll *poll)
{
    struct message *message = out_send(core, from, MESSAGE_POLLR, NULL);
    if (message != NULL) {
        message->u.pollr = answer_now(core, poll->round, &message->hash);
    }
}

/* --- What the coordinator does when all is quiet ------------------------------- */

static void resolve_at(struct core *core, uint32_t rank, const moot_hash *hash,
                       enum resolve_what what)
{
    const struct message_resolve resolve = {what};
    if (rank == core->rank) {
        struct task *task = table_find(core, hash);
        if (task != NULL) {
            quiet_on_resolve(core, task, &resolve);
        }
        return;
    }
    struct message *message = out_send(core, rank, MESSAGE_RESOLVE, NULL);
    if (message != NULL) {
        message->hash = *hash;
        message->u.resolve = resolve;
    }
}

static bool fail_smallest_orphan(struct core *core)
{
    uint32_t best = NOBODY;
    FOR_MEMBERS(core, rank)
    {
        const struct peer *peer = peer_seen(core, rank);
        const struct peer *least = best != NOBODY ? peer_seen(core, best) : NULL;
        if (peer->pollr.orphan &&
            (least == NULL || peer->pollr.orphan_len < least->pollr.orphan_len ||
             (peer->pollr.orphan_len == least->pollr.orphan_len &&
              hash_compare(&peer->orphan, &least->orphan) < 0))) {
            best = rank;
        }
    }
    if (best != NOBODY) {
        resolve_at(core, best, &peer_seen(core, best)->orphan, RESOLVE_NOT_HELD);
    }
    return best != NOBODY;
}

/* A rank that waits for what it lacks may block before it has got as far as those who
 * wait for tasks that it chairs; what they wait for may stand in the way of the spawn
 * that it waits for.  So nothing fails while anything that is held can still be run. */
static bool yield_undecided(struct core *core)
{
    bool any = false;
    FOR_MEMBERS(core, rank)
    {
        const struct message_pollr *answer = &peer_seen(core, rank)->pollr;
        if (answer->undecided) {
            resolve_at(core, rank, &answer->undecided_hash, RESOLVE_YIELD);
            any = true;
        }
    }
    return any;
}

static bool adjourn_if_all_closed(struct core *core)
{
    int32_t worst = 0;
    FOR_MEMBERS(core, rank)
    {
        const struct message_pollr *answer = &peer_seen(core, rank)->pollr;
        if (!answer->closed || answer->waits || answer->stuck) {
            return false;
        }
        worst = worst == 0 ? answer->exit_code : worst;
    }
    const struct message_adjourn adjourn = {worst};
    FOR_MEMBERS(core, rank)
    {
        struct message *message =
            rank != core->rank ? out_send(core, rank, MESSAGE_ADJOURN, NULL) : NULL;
        if (message != NULL) {
            message->u.adjourn = adjourn;
        }
    }
    quiet_on_adjourn(core, &adjourn);
    return true;
}

static bool chase_cycle(struct core *core)
{
    FOR_MEMBERS(core, rank)
    {
        const struct message_pollr *answer = &peer_seen(core, rank)->pollr;
        if (!answer->stuck || MUTANT(NOCHASE)) {
            continue;
        }
        const struct message_chase start = {NULL, 0};
        if (rank == core->rank) {
            quiet_on_chase(core, table_find(core, &answer->stuck_hash), &start);
            return true;
        }
        struct message *message = out_send(core, rank, MESSAGE_CHASE, NULL);
        if (message != NULL) {
            message->hash = answer->stuck_hash;
        }
        return true;
    }
    return false;
}

static void act(struct core *core, bool passive)
{
    bool trust = core->options.mode == CORE_TRUST;
    bool acted = (passive && adjourn_if_all_closed(core)) ||
                 (MUTANT(NOTFOUND) && passive && fail_smallest_orphan(core)) ||
                 (!trust && yield_undecided(core)) ||
                 (!trust && passive && fail_smallest_orphan(core));
    bool chased = !acted && !trust && chase_cycle(core);
    core->poll.matched = false;
    if (acted || (chased && passive)) {
        core->poll.pause_ns = 0;
    }
}

/* --- Polling ------------------------------------------------------------------- */

static bool is_coordinator(const struct core *core)
{
    return rankset_next(&core->members, 0) == core->rank;
}

static bool peers_seem_to_rest(const struct core *core)
{
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && !peer_seen(core, rank)->state.passive) {
            return false;
        }
    }
    return true;
}

static void pause(struct core *core)
{
    struct poll *poll = &core->poll;
    uint64_t least_ns = core->options.gossip_period_ns;
    poll->pause_ns = poll->pause_ns < least_ns ? least_ns : poll->pause_ns * 2;
    if (poll->pause_ns > POLL_PAUSE_MAX_NS) {
        poll->pause_ns = POLL_PAUSE_MAX_NS;
    }
    poll->next_ns = core->now_ns + poll->pause_ns;
}

void quiet_look_again(struct core *core)
{
    core->poll.pause_ns = 0;
    uint64_t soon_ns = core->now_ns + core->options.gossip_period_ns;
    if (soon_ns < core->poll.next_ns) {
        core->poll.next_ns = soon_ns;
    }
}

static void finish_round(struct core *core)
{
    struct poll *poll = &core->poll;
    poll->open = false;
    bool resting = quiet_resting(core), passive = is_passive(core);
    uint64_t sent = 0, received = 0;
    FOR_MEMBERS(core, rank)
    {
        const struct message_pollr *answer = &peer_seen(core, rank)->pollr;
        resting = resting && answer->resting;
        passive = passive && answer->passive;
        sent += answer->sent;
        received += answer->received;
    }
    if (!resting || (sent != received && !MUTANT(NOCOUNT))) {
        poll->matched = false;
        pause(core);
    } else if (!MUTANT(ONEROUND) &&
               (!poll->matched || poll->sent != sent || poll->passive != passive)) {
        poll->matched = true;
        poll->sent = sent;
        poll->passive = passive;
        poll->next_ns = core->now_ns;
    } else {
        act(core, passive);
        pause(core);
    }
}

static void start_round(struct core *core)
{
    struct poll *poll = &core->poll;
    poll->round++;
    poll->open = true;
    poll->answers = 0;
    struct peer *self = peer_of(core, core->rank);
    self->pollr = answer_now(core, poll->round, &self->orphan);
    FOR_MEMBERS(core, rank)
    {
        struct message *message =
            rank != core->rank ? out_send(core, rank, MESSAGE_POLL, NULL) : NULL;
        if (message != NULL) {
            message->u.poll.round = poll->round;
            core->stats.polls_sent++;
        }
    }
    if (core->member_count == 1) {
        finish_round(core);
    }
}

static bool poll_is_possible(const struct core *core)
{
    return is_coordinator(core) && !core->poll.open && !core->adjourned &&
           (core->open_needs > 0 || core->closed || core->member_count > 1) &&
           quiet_resting(core) && peers_seem_to_rest(core);
}

/* Not before this rank has sat idle for a gossip period: agreeing ranks never poll. */
uint64_t quiet_deadline(const struct core *core)
{
    if (!poll_is_possible(core)) {
        return CORE_NEVER;
    }
    uint64_t rested_ns = core->idle_since_ns + core->options.gossip_period_ns;
    return core->poll.next_ns > rested_ns ? core->poll.next_ns : rested_ns;
}

void quiet_turn(struct core *core)
{
    while (quiet_deadline(core) <= core->now_ns) {
        start_round(core); /* alone, a round ends at once and the next may begin */
    }
}

void quiet_on_pollr(struct core *core, uint32_t from, const struct message *message)
{
    struct poll *poll = &core->poll;
    if (!poll->open || message->u.pollr.round != poll->round) {
        core->stats.refused++;
        return;
    }
    struct peer *peer = peer_of(core, from);
    peer->pollr = message->u.pollr;
    peer->orphan = message->hash;
    if (++poll->answers == rankset_count(&core->members) - 1) {
        finish_round(core);
    }
}

/* --- Carried out at the ranks -------------------------------------------------- */

void quiet_on_resolve(struct core *core, struct task *task,
                      const struct message_resolve *resolve)
{
    if (resolve->what == RESOLVE_YIELD) {
        chair_yield_all(core);
    } else if (task->docket != NULL && task->docket->undecided &&
               !chair_has_holder(core, task)) {
        chair_fail(core, task, MOOT_ERR_NOT_HELD, chair_least_len(task));
    }
}

/* What an owned task in WAIT waits for: there is something, or it would run. */
static struct task *first_missing(const struct task *task)
{
    uint32_t i = 0;
    while (!task->inputs[i].waiting) {
        i++;
        assert(i < task->input_count);
    }
    return task->inputs[i].from;
}

static void pass_chase_on(struct core *core, struct task *task, const moot_hash *path,
                          uint32_t count)
{
    uint32_t to = task->chair == core->rank ? task->rec : task->chair;
    if (to == core->rank || !rankset_has(&core->members, to)) {
        return;
    }
    struct message *message = out_send(core, to, MESSAGE_CHASE, task);
    if (message != NULL) {
        message->u.chase = (struct message_chase){path, count};
    }
}

void quiet_on_chase(struct core *core, struct task *task,
                    const struct message_chase *chase)
{
    uint32_t count = chase->path_count;
    moot_hash *path = out_borrow(core, (LIMIT_CHASE_HOPS + 1) * sizeof(*path));
    if (path == NULL || task == NULL || count > LIMIT_CHASE_HOPS) {
        return;
    }
    if (count > 0) {
        memcpy(path, chase->path, count * sizeof(*path));
    }
    while (task->own == CORE_OWN_WAIT) {
        for (uint32_t i = 0; i < count; i++) {
            if (hash_equal(&path[i], &task->hash)) {
                graph_verdict(core, first_missing(task), MOOT_ERR_CYCLE, path + i,
                              count - i);
                return;
            }
        }
        if (count == LIMIT_CHASE_HOPS) { /* a long way in: forget where it began */
            count /= 2;
            memmove(path, path + count, count * sizeof(*path));
        }
        path[count++] = task->hash;
        task = first_missing(task);
    }
    if (task->own == CORE_OWN_NONE && task->have == CORE_HAVE_NOTHING) {
        pass_chase_on(core, task, path, count); /* else the circle has come open */
    }
}

void quiet_on_adjourn(struct core *core, const struct message_adjourn *adjourn)
{
    core->adjourned = true;
    roll_count_common(core);
    out_note(core, CORE_POINT_CLOSE, NULL, NOBODY, EVIDENCE_NONE);
    struct core_output *output = out_add(core, CORE_OUT_ADJOURN, NULL);
    if (output != NULL) {
        output->u.adjourn.exit_code = adjourn->exit_code;
    }
}
