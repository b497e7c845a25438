/* termination.c - finding out together that nothing moves any more.
 *
 * PROTOCOL.md, *QUIET*.  The lowest rank polls everyone, itself or along the tree, in
 * which each adds up what those below it say; when two rounds in a row find every rank
 * passive and the same counts of messages sent and received, with equal sums, no
 * message was in flight between them (Mattern's four counters, 1987) and nothing will
 * happen by itself.  Then, in this order:
 *
 *   - if every rank has closed and nothing is left, the moot adjourns;
 *   - every undecided key with a holder is yielded, and homes of arrays that are waited
 *     for give up what they have not spawned;
 *   - a key that is asked for and that no rank holds fails (NOT_HELD), with all that
 *     the same wait needs; which one first, orphans.c says: others may become held as
 *     ranks go on;
 *   - otherwise owned tasks wait for each other in a circle: a CHASE follows the waits
 *     from owner to owner until a task comes up twice, and that wait fails with CYCLE.
 *
 * A rank rests when nothing runs and nothing is pending, not even what a rank without a
 * quorum does not claim; it is passive when, besides, no lane may wake by a timeout or
 * out of parked code.  If all rest, keys may be yielded, which is always safe, and
 * circles cut, which no spawn can open; only if all are passive may a wait fail for
 * want of a holder, or the moot adjourn.  The coordinator polls only when the last
 * STATE of every peer said that it rests, after a gossip period of rest of its own, and
 * ever more seldom while polls find nothing.  The first waits are shorter where it has
 * been asked, as a chair, for what it cannot decide: ranks that agree and all rest
 * leave nothing of that kind.
 */
#include "consensus/termination/termination_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/signature/signature.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <string.h>

/* The longest pause behind a round that was not quiet, in gossip periods. */
enum { SOON_PERIODS = 8 };

bool termination_resting(const struct core *core)
{
    return core->step.blocked && elements_let_rest(core) &&
           core->elements.look_ns == CORE_NEVER && ask_queue_none(core) &&
           await_none_held_back(core) && roll_is_told(core) &&
           (!core->step.closed || ask_swept(core)) && strict_settled(core) &&
           core->membership.settled && !core->ownership.deferred &&
           !core->membership.leave.ready &&
           (!core->membership.no_quorum || MUTANT(QUORUMREST)) &&
           (core->options.mode != CORE_STRICT || disseminate_is_done(core));
}

static bool is_passive(const struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count && !MUTANT(RESTISPEACE); i++) {
        enum core_lane_state state = core->gossip.lanes[i].state;
        if (state != CORE_LANE_BLOCKED && state != CORE_LANE_ENDED) {
            return false;
        }
    }
    return termination_resting(core);
}

/* --- What a polled rank says --------------------------------------------------- */

/* Elements that nobody has spawned are the last orphans of all: when a wait for a task
 * fails its rank may go on, and spawn them. */
static void find_unheld_elements(const struct core *core, struct message_pollr *answer,
                                 moot_hash *orphan)
{
    const struct message_orphan last = {.standing = ORPHAN_UNKNOWN,
                                        .len = UINT64_MAX,
                                        .asker = core->rank,
                                        .wait = WAITS_ALONE};
    moot_hash which;
    if (!answer->undecided && !answer->orphan && elements_unheld(core, &which)) {
        answer->orphan = true;
        answer->least = last;
        *orphan = which;
    }
}

/* As long as there is anything to yield, an orphan stays (`act`). */
static void find_undecided(const struct core *core, struct message_pollr *answer,
                           moot_hash *orphan)
{
    assert(answer->resting);
    answer->undecided = elements_undecided(core, &answer->undecided_hash);
    for (const struct task_record *task =
             core->ownership.undecided_requests.undecided_next;
         task != &core->ownership.undecided && (!answer->undecided || MUTANT(NOTFOUND));
         task = task->requests->undecided_next) {
        struct message_orphan found;
        if (chair_has_holder(core, task)) {
            answer->undecided = true;
            answer->undecided_hash = task->hash;
        } else if (orphan_of(core, task, &found) &&
                   (!answer->orphan ||
                    orphan_is_less(&found, &task->hash, &answer->least, orphan))) {
            answer->orphan = true;
            answer->least = found;
            *orphan = task->hash;
        }
    }
    find_unheld_elements(core, answer, orphan);
}

static void find_stuck(const struct core *core, struct message_pollr *answer)
{
    assert(answer->resting);
    for (const struct task_record *task = core->ownership.unfinished.at.next;
         task != &core->ownership.unfinished; task = task->at.next) {
        if (task->own == CORE_OWN_WAIT &&
            (!answer->stuck || hash_compare(&task->hash, &answer->stuck_hash) < 0)) {
            answer->stuck = true;
            answer->stuck_hash = task->hash;
        }
    }
}

static struct message_pollr answer_now(const struct core *core, uint64_t round,
                                       moot_hash *orphan)
{
    struct message_pollr answer = {.round = round,
                                   .resting = termination_resting(core),
                                   .passive = is_passive(core),
                                   .closed = core->step.closed,
                                   .exit_code = core->step.exit_code};
    memset(orphan, 0, sizeof(*orphan));
    in_flight_count(core, &answer);
    if (core->gossip.difference.declared) {
        return answer; /* strict mode has ended every wait: only closing is left */
    }
    answer.waits = core->ownership.open_needs > 0;
    if (answer.resting) { /* else nothing comes of this round */
        find_undecided(core, &answer, orphan);
        find_stuck(core, &answer);
    }
    return answer;
}

/* Takes in what a child says of itself and of all below it. */
static void add_answer(struct message_pollr *sum, moot_hash *orphan,
                       const struct peer *child)
{
    assert(child->rank != NOBODY);
    const struct message_pollr *answer = &child->pollr;
    sum->resting = sum->resting && answer->resting;
    sum->passive = sum->passive && answer->passive;
    sum->closed = sum->closed && answer->closed;
    sum->waits = sum->waits || answer->waits;
    sum->sent += answer->sent;
    sum->received += answer->received;
    sum->exit_code = sum->exit_code == 0 ? answer->exit_code : sum->exit_code;
    if (answer->orphan &&
        (!sum->orphan ||
         orphan_is_less(&answer->least, &child->orphan, &sum->least, orphan))) {
        sum->orphan = true;
        sum->least = answer->least;
        *orphan = child->orphan;
    }
    if (answer->undecided && !sum->undecided) {
        sum->undecided = true;
        sum->undecided_hash = answer->undecided_hash;
    }
    if (answer->stuck && !sum->stuck) {
        sum->stuck = true;
        sum->stuck_hash = answer->stuck_hash;
    }
}

static struct message_pollr sum_of_answers(const struct core *core, moot_hash *orphan)
{
    assert(!core->termination.poll.open && core->termination.poll.visited);
    struct message_pollr sum = core->termination.poll.own;
    *orphan = core->termination.poll.own_orphan;
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        add_answer(&sum, orphan, peer_seen(core, core->gossip.children[i]));
    }
    return sum;
}

/* --- What the coordinator does when all is quiet ------------------------------- */

static void carry_out(struct core *core, const moot_hash *hash,
                      const struct message_resolve *resolve)
{
    struct task_record *task = table_find(core, hash);
    if (resolve->what == RESOLVE_YIELD) {
        chair_yield_all(core);
        elements_yield_all(core);
    } else if (resolve->what == RESOLVE_NOT_HELD) {
        orphans_fail(core, &resolve->orphan, hash);
        elements_fail_unheld(core, hash);
    } else if (task == NULL) {
        return;
    } else if (resolve->what == RESOLVE_TELL) {
        ask_tell(core, task);
    } else {
        const struct message_chase start = {0};
        termination_on_chase(core, task, &start);
    }
}

static bool is_meant(const struct message_pollr *answer, const moot_hash *orphan,
                     const moot_hash *hash, const struct message_resolve *resolve)
{
    if (resolve->what == RESOLVE_YIELD) {
        return answer->undecided;
    }
    return resolve->what == RESOLVE_NOT_HELD
               ? answer->orphan &&
                     orphan_is_meant(&answer->least, orphan, &resolve->orphan, hash)
               : answer->stuck && hash_equal(&answer->stuck_hash, hash);
}

static void pass_down(struct core *core, const struct peer *child,
                      const moot_hash *hash, const struct message_resolve *resolve)
{
    assert(child->rank != core->rank);
    bool yields = resolve->what == RESOLVE_YIELD;
    bool chase = resolve->what == RESOLVE_CHASE && !disseminate_is_on(core);
    struct message *message =
        out_send(core, child->rank, chase ? MESSAGE_CHASE : MESSAGE_RESOLVE, NULL);
    if (message == NULL) {
        return;
    }
    message->hash = yields ? child->pollr.undecided_hash : *hash;
    if (!chase) {
        message->u.resolve = *resolve;
    }
}

/* To those who said so in the last round, the way their answers came up: here, and
 * further down.  Yields are for all who have something undecided, failures for all who
 * chair a part of the wait; else it is one. */
void termination_on_resolve(struct core *core, const moot_hash *hash,
                            const struct message_resolve *resolve)
{
    assert(resolve->what <= RESOLVE_TELL);
    const struct poll *poll = &core->termination.poll;
    bool one = resolve->what == RESOLVE_CHASE || resolve->what == RESOLVE_TELL;
    if (resolve->what == RESOLVE_TELL || !core->termination.poll.visited ||
        is_meant(&poll->own, &poll->own_orphan, hash, resolve)) {
        carry_out(core, hash, resolve);
        if (one) {
            return;
        }
    }
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        const struct peer *child = peer_seen(core, core->gossip.children[i]);
        if (is_meant(&child->pollr, &child->orphan, hash, resolve)) {
            pass_down(core, child, hash, resolve);
            if (one) {
                return;
            }
        }
    }
}

/* A rank that waits for what it lacks may block before it has got as far as those who
 * wait for tasks that it chairs; what they wait for may stand in the way of the spawn
 * that it waits for.  So nothing fails while anything that is held can still be run. */
static bool yield_undecided(struct core *core, const struct message_pollr *sum)
{
    if (sum->undecided) {
        termination_on_resolve(core, &sum->undecided_hash,
                               &(struct message_resolve){.what = RESOLVE_YIELD});
    }
    return sum->undecided;
}

static bool fail_least_orphans(struct core *core, const struct message_pollr *sum,
                               const moot_hash *orphan)
{
    assert(sum->passive && core->options.mode != CORE_TRUST);
    if (sum->orphan) {
        termination_on_resolve(
            core, orphan,
            &(struct message_resolve){.what = RESOLVE_NOT_HELD, .orphan = sum->least});
    }
    return sum->orphan;
}

static bool chase_cycle(struct core *core, const struct message_pollr *sum)
{
    if (!sum->stuck || MUTANT(NOCHASE)) {
        return false;
    }
    termination_on_resolve(core, &sum->stuck_hash,
                           &(struct message_resolve){.what = RESOLVE_CHASE});
    return true;
}

static bool adjourn_if_all_closed(struct core *core, const struct message_pollr *sum)
{
    assert(sum->passive && sum->resting);
    if (!sum->closed || sum->waits) { /* what is stuck waits, too */
        return false;
    }
    const struct message_adjourn adjourn = {.exit_code = sum->exit_code};
    termination_on_adjourn(core, &adjourn);
    return true;
}

static void act(struct core *core, const struct message_pollr *sum,
                const moot_hash *orphan)
{
    assert(core->termination.poll.asker == NOBODY && sum->resting);
    bool trust = core->options.mode == CORE_TRUST, passive = sum->passive;
    /* In strict mode that ends waits: not while a lane may go on by itself. */
    bool yields = core->options.mode == CORE_REPAIR ||
                  (!trust && (passive || MUTANT(STRICTPOLLS)));
    bool acted =
        (passive && adjourn_if_all_closed(core, sum)) ||
        (MUTANT(NOTFOUND) && passive && fail_least_orphans(core, sum, orphan)) ||
        (yields && yield_undecided(core, sum)) ||
        (!trust && passive && fail_least_orphans(core, sum, orphan));
    bool chased = !acted && !trust && chase_cycle(core, sum);
    core->termination.poll.matched = false;
    if (acted || (chased && passive)) {
        core->termination.poll.pause_ns = 0;
    }
}

/* --- Polling ------------------------------------------------------------------- */

static bool is_coordinator(const struct core *core)
{
    return rankset_next(&core->members, 0) == core->rank;
}

static bool peers_seem_to_rest(const struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        if (!peer_seen(core, core->gossip.children[i])->state.passive) {
            return false;
        }
    }
    return true;
}

/* How long it waits for more to come to rest. */
static uint64_t calm_ns(const struct core *core)
{
    bool asked =
        core->ownership.undecided_requests.undecided_next != &core->ownership.undecided;
    return core->options.gossip_period_ns / (asked ? QUIET_HURRY : 1);
}

static void pause(struct core *core, uint64_t max_ns)
{
    assert(is_coordinator(core) && max_ns <= POLL_PAUSE_MAX_NS);
    struct poll *poll = &core->termination.poll;
    uint64_t least_ns = calm_ns(core);
    poll->pause_ns = poll->pause_ns < least_ns ? least_ns : poll->pause_ns * 2;
    if (poll->pause_ns > max_ns) {
        poll->pause_ns = max_ns;
    }
    poll->next_ns = core->now_ns + poll->pause_ns;
}

/* A message on its way will be there soon; on a wire that loses much something often
 * is.
 */
static uint64_t soon_ns(const struct core *core)
{
    uint64_t soon_ns = SOON_PERIODS * core->options.gossip_period_ns;
    return soon_ns < POLL_PAUSE_MAX_NS ? soon_ns : POLL_PAUSE_MAX_NS;
}

void termination_look_again(struct core *core)
{
    core->termination.poll.pause_ns = 0;
    uint64_t soon_ns = core->now_ns + calm_ns(core);
    if (soon_ns < core->termination.poll.next_ns) {
        core->termination.poll.next_ns = soon_ns;
    }
}

/* The coordinator has heard everyone. */
/* A meeting that waits for a newcomer goes on by itself, and so do those who came. */
static bool goes_on(const struct core *core, const struct message_pollr *sum)
{
    return core->meeting.held_up && !sum->closed && !MUTANT(HELDUPQUIET);
}

static void finish_round(struct core *core)
{
    assert(is_coordinator(core) && !core->termination.poll.open);
    struct poll *poll = &core->termination.poll;
    moot_hash orphan;
    struct message_pollr sum = sum_of_answers(core, &orphan);
    sum.resting = sum.resting && termination_resting(core);
    sum.passive = sum.passive && is_passive(core) && !goes_on(core, &sum);
    if (!sum.resting || (sum.sent != sum.received && !MUTANT(NOCOUNT))) {
        poll->matched = false;
        pause(core, soon_ns(core));
    } else if (!MUTANT(ONEROUND) && (!poll->matched || poll->sent != sum.sent ||
                                     poll->passive != sum.passive)) {
        poll->matched = true;
        poll->sent = sum.sent;
        poll->passive = sum.passive;
        poll->next_ns = core->now_ns;
    } else {
        act(core, &sum, &orphan);
        bool going = core->options.mode == CORE_STRICT && !sum.passive; /* by itself */
        pause(core, going ? soon_ns(core) : POLL_PAUSE_MAX_NS);
    }
}

static void finish_visit(struct core *core)
{
    assert(core->termination.poll.answers == core->gossip.child_count);
    struct poll *poll = &core->termination.poll;
    poll->open = false;
    if (poll->asker == NOBODY) {
        finish_round(core);
        return;
    }
    struct message *message = out_send(core, poll->asker, MESSAGE_POLLR, NULL);
    if (message != NULL) {
        message->u.pollr = sum_of_answers(core, &message->hash);
    }
}

/* Says how this rank is, for itself or for `asker`, and asks those below. */
static void visit(struct core *core, uint64_t round, uint32_t asker)
{
    assert(asker != core->rank);
    struct poll *poll = &core->termination.poll;
    poll->round = round;
    poll->asker = asker;
    poll->open = poll->visited = true;
    poll->answers = 0;
    poll->own = answer_now(core, round, &poll->own_orphan);
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        struct message *message =
            out_send(core, core->gossip.children[i], MESSAGE_POLL, NULL);
        if (message != NULL) {
            message->u.poll.round = round;
            core->stats.polls_sent++;
        }
    }
    if (core->gossip.child_count == 0) {
        finish_visit(core);
    }
}

void termination_on_poll(struct core *core, uint32_t from,
                         const struct message_poll *poll)
{
    assert(from != core->rank && from < core->size);
    visit(core, poll->round, from);
}

static bool poll_is_possible(const struct core *core)
{
    return is_coordinator(core) && !core->termination.poll.open &&
           !core->termination.adjourned &&
           (core->ownership.open_needs > 0 || core->step.closed ||
            core->member_count > 1) &&
           termination_resting(core) && peers_seem_to_rest(core);
}

/* Not before this rank has sat idle for a gossip period: agreeing ranks never poll. */
uint64_t termination_deadline(const struct core *core)
{
    if (!poll_is_possible(core)) {
        return CORE_NEVER;
    }
    uint64_t rested_ns = core->step.idle_since_ns + calm_ns(core);
    return core->termination.poll.next_ns > rested_ns ? core->termination.poll.next_ns
                                                      : rested_ns;
}

void termination_turn(struct core *core)
{
    while (termination_deadline(core) <= core->now_ns) {
        /* Alone, a round ends at once and the next may begin. */
        visit(core, core->termination.poll.round + 1, NOBODY);
    }
}

void termination_on_pollr(struct core *core, uint32_t from,
                          const struct message *message)
{
    assert(message->type == MESSAGE_POLLR && from != core->rank);
    struct poll *poll = &core->termination.poll;
    if (!poll->open || message->u.pollr.round != poll->round) {
        core->stats.refused++;
        return;
    }
    struct peer *peer = peer_of(core, from);
    peer->pollr = message->u.pollr;
    peer->orphan = message->hash;
    if (++poll->answers == core->gossip.child_count) {
        finish_visit(core);
    }
}

/* --- Carried out at the ranks -------------------------------------------------- */

/* A once task without inputs left to wait for may wait for a lease, and an array for
 * its elements. */
static bool waits_for_input(const struct task_record *task)
{
    return task->own == CORE_OWN_WAIT && task->missing > array_is_open(task);
}

static struct task_record *first_missing(const struct task_record *task)
{
    assert(task->own == CORE_OWN_WAIT && task->missing > 0);
    uint32_t i = 0;
    while (!task_inputs(task)[i].waiting) {
        i++;
        assert(i < task->input_count);
    }
    return task_inputs(task)[i].from;
}

static void send_chase(struct core *core, struct task_record *task, uint32_t to,
                       const struct message_chase *chase)
{
    struct message *message = out_send(core, to, MESSAGE_CHASE, task);
    if (message != NULL) {
        message->u.chase = *chase;
    }
}

static void pass_chase_on(struct core *core, struct task_record *task,
                          const struct message_chase *chase)
{
    assert(task->own == CORE_OWN_NONE && chase->path_count <= LIMIT_CHASE_HOPS);
    uint32_t to = task->chair == core->rank ? task->rec : task->chair;
    if (to == core->rank || !rankset_has(&core->members, to)) {
        return;
    }
    send_chase(core, task, to, chase);
}

/* The way ends at an array that waits for its elements: its chair sees to them. */
static bool pass_to_elements(struct core *core, struct task_record *task,
                             const struct message_chase *chase)
{
    if (elements_quiet(core, task)) {
        return true;
    }
    const bool owns = task->own == CORE_OWN_WAIT && array_is_open(task);
    if (owns && rankset_has(&core->members, task->chair)) {
        send_chase(core, task, task->chair, chase);
    }
    return owns;
}

/* How many of the latest tasks on its way are the circle that this one closes; 0: none.
 * As long as the whole way is at hand this is the first task that comes up twice.  Of
 * one that is longer only the mark is looked for: its place is the greatest power of
 * two that is behind, so that in the end it stands on the circle, with all of that
 * still ahead (Brent 1980). */
static uint64_t circle_closed(const struct message_chase *chase, const moot_hash *hash)
{
    uint64_t at = LIMIT_CHASE_HOPS;
    for (uint32_t i = 0; i < chase->path_count && chase->hops <= at; i++) {
        if (hash_equal(&chase->path[i], hash)) {
            return chase->path_count - i;
        }
    }
    if (chase->hops <= at || !hash_equal(&chase->mark, hash)) {
        return 0;
    }
    while (at < chase->hops - at) {
        at *= 2;
    }
    return chase->hops - at;
}

static void add_hop(struct message_chase *chase, moot_hash *path, const moot_hash *hash)
{
    assert(chase->path_count <= LIMIT_CHASE_HOPS);
    uint64_t hops = chase->hops++;
    if (hops >= LIMIT_CHASE_HOPS && (hops & (hops - 1)) == 0) {
        chase->mark = *hash;
    }
    if (chase->path_count == LIMIT_CHASE_HOPS) {
        chase->path_count /= 2;
        memmove(path, path + chase->path_count, chase->path_count * sizeof(*path));
    }
    path[chase->path_count++] = *hash;
}

void termination_on_chase(struct core *core, struct task_record *task,
                          const struct message_chase *chase)
{
    struct message_chase way = *chase;
    moot_hash *path = out_borrow(core, LIMIT_CHASE_HOPS * sizeof(*path));
    if (path == NULL || task == NULL || way.path_count > LIMIT_CHASE_HOPS) {
        return;
    }
    if (way.path_count > 0) {
        memcpy(path, way.path, way.path_count * sizeof(*path));
    }
    way.path = path;
    while (waits_for_input(task)) {
        uint64_t length = circle_closed(&way, &task->hash);
        if (length > 0) {
            uint32_t told = length < way.path_count ? (uint32_t)length : way.path_count;
            graph_verdict(core, first_missing(task), MOOT_ERR_CYCLE,
                          path + way.path_count - told, told);
            return;
        }
        add_hop(&way, path, &task->hash);
        task = first_missing(task);
    }
    if (pass_to_elements(core, task, &way)) {
        return;
    }
    if (task->own == CORE_OWN_NONE && task->have == CORE_HAVE_NOTHING) {
        pass_chase_on(core, task, &way); /* else the circle has come open */
    }
}

void termination_on_adjourn(struct core *core, const struct message_adjourn *adjourn)
{
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        struct message *message =
            out_send(core, core->gossip.children[i], MESSAGE_ADJOURN, NULL);
        if (message != NULL) {
            message->u.adjourn = *adjourn;
        }
    }
    core->termination.adjourned = true;
    signature_settle(core);
    roll_count_common(core);
    close_reduce_count(core);
    out_note(core, CORE_POINT_CLOSE, NULL, NOBODY, EVIDENCE_NONE);
    struct core_output *output = out_add(core, CORE_OUT_ADJOURN, NULL);
    if (output != NULL) {
        output->u.adjourn.exit_code = adjourn->exit_code;
    }
}

void termination_forget_all(struct core *core)
{
    assert(!core->termination.adjourned);
    close_reduce_reset(core);
    core->termination = (struct core_termination){0};
}

void termination_enter_view(struct core *core)
{
    assert(!core->membership.settled);
    struct poll *poll = &core->termination.poll;
    poll->open = poll->visited = poll->matched = false;
    core->termination.state_ever = false; /* the newcomers have heard nothing */
    in_flight_enter_view(core);
}
