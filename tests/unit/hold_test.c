/* hold_test.c - whatever is broken of a core's state, the room that it belongs to says
 * so.
 *
 * Each row breaks one thing in a core in the middle of its work, in a process of its
 * own, in which the room's x_hold() must then abort.  Before that the state is whole.
 */
#include "tests/unit/drop_bench.h"

#include "consensus/gossip/gossip.h"
#include "consensus/meeting/meeting.h"
#include "consensus/membership/membership.h"
#include "consensus/ownership/ownership.h"
#include "consensus/reclaim/reclaim.h"
#include "consensus/state/state.h"
#include "consensus/termination/termination.h"
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- The scene -------------------------------------------------------------------- */

/* Rank 0 has a chunk that all hold and one that is open, and tasks ... */
enum {
    FILLERS = 8,  /* of the chunk; the first of them */
    RUNNING = 0,  /* runs, and is let go */
    WAITING = 20, /* waits for TAKEN */
    TAKEN,        /* another's, which this rank lacks */
    ASKED,        /* asked for by rank 1, and lacked */
    BALLOT,       /* a once task, of which its voters are asked */
    SCOPED,       /* in a scope that goes on */
    STUB
};

static moot_hash hashes[32];

static struct task_record *record(struct core *core, int number)
{
    struct task_record *task = table_find(core, &hashes[number]);
    assert(task != NULL);
    return task;
}

static moot_hash scope_hash(void)
{
    moot_hash top = {{0}};
    return identity_scope(&top, "phase");
}

static void spawn_scoped(void)
{
    const moot_hash scope = scope_hash();
    for (int n = 0;; n++) {
        moot_hash hash = chaired_by(0, n, MOOT_HASH_SCOPED);
        hash_set_scope(&hash, hash_scope(&scope));
        struct rankset members = {.low = (1u << bench.size) - 1};
        if (placement_chair(&hash, &members, NULL) == 0) {
            hashes[SCOPED] = hash;
            break;
        }
    }
    struct core_register reg = {.scope = scope};
    assert_int_equal(spawn_with(0, SCOPED, hashes[SCOPED], reg), MOOT_OK);
}

static void spawn_stub(void)
{
    const struct core_register reg = {.host_size = sizeof(int), .site = "test.c:1"};
    const int number = STUB;
    hashes[STUB] = chaired_by(1, 5, 0);
    void *stub = core_prune(bench.core[0], &hashes[STUB], &reg);
    assert_non_null(stub);
    memcpy(core_stub_host(stub), &number, sizeof(number));
    bench.stub[0][STUB] = true;
    struct core_event event = {.type = CORE_EV_PRUNED};
    event.u.pruned.stubs = &stub;
    event.u.pruned.count = 1;
    assert_int_equal(step(0, &event), MOOT_OK);
}

/* Nothing that rank 0 says arrives from when on its voters are asked. */
static void set_scene(uint32_t size, uint32_t direct_max)
{
    bench.direct_max = direct_max;
    bench.drops = direct_max == 0;
    bench_open_with(size, CORE_REPAIR, 10 * MS);
    bench.hold_runs = true;
    for (int i = 0; i < FILLERS; i++) {
        hashes[i] = hash_of(i, 0, 0);
        for (uint32_t rank = 0; rank < size; rank++) {
            spawn(rank, i, hashes[i]);
        }
    }
    pass(20 * MS);
    core_let_go(bench.core[0], &hashes[RUNNING], NULL);
    hashes[TAKEN] = chaired_by(1, 0, 0);
    hashes[WAITING] = chaired_by(0, 1, 0);
    struct core_register reg = {.inputs = &hashes[TAKEN], .input_count = 1};
    assert_int_equal(spawn_with(0, WAITING, hashes[WAITING], reg), MOOT_OK);
    hashes[ASKED] = chaired_by(0, 2, 0);
    spawn(1, ASKED, hashes[ASKED]);
    begin_wait(1, hashes[ASKED]);
    pass(5 * MS);
    spawn_scoped();
    hashes[BALLOT] = chaired_by(0, 0, MOOT_HASH_ONCE);
    spawn(0, BALLOT, hashes[BALLOT]);
    if (direct_max == 0) {
        spawn_stub();
    }
    core_hold(bench.core[0]);
}

static struct lane_record *lane(struct core *core) { return &core->gossip.lanes[0]; }

static struct scope_record *scope(struct core *core)
{
    return record(core, SCOPED)->scope;
}

static struct stub *stub(struct core *core) { return table_look(core, &hashes[STUB]); }

static struct requests *asked(struct core *core)
{
    return record(core, ASKED)->requests;
}

static struct requests *ballot(struct core *core)
{
    return record(core, BALLOT)->requests;
}

static struct edge *input(struct core *core)
{
    return task_inputs(record(core, WAITING));
}

static struct close_reduce *census(struct core *core)
{
    return &core->termination.close_reduce;
}

static struct held *nothing_held, empty_held;

static void add_rank(struct rankset *set, uint32_t rank)
{
    assert(rankset_add(set, rank));
}

/* --- What is broken --------------------------------------------------------------- */

#define STATE_ROWS(X)                                                                  \
    X(a_task_too_many, core->stats.tasks++)                                            \
    X(a_stub_too_many, core->state.stub_count++)                                       \
    X(away_miscounted, core->state.away_count++)                                       \
    X(let_go_miscounted, core->stats.let_go--)                                         \
    X(untaken_miscounted, core->state.untaken++)                                       \
    X(a_table_of_odd_size, core->state.slot_count--)                                   \
    X(a_hash_in_no_slot, record(core, WAITING)->hash.bytes[3] ^= 1)                    \
    X(a_tag_lost, core->state.tags[0] = core->state.tags[0] == 0)                      \
    X(a_chair_that_is_none, record(core, WAITING)->chair = 77)                         \
    X(a_finder_for_nothing, record(core, WAITING)->finder = true)                      \
    X(once_tasks_without_room, core->state.once_room = 3)                              \
    X(once_unknown_to_the_hash, record(core, WAITING)->flags |= CORE_TASK_ONCE)        \
    X(another_position, record(core, WAITING)->lane_position--)                        \
    X(a_position_beyond, record(core, WAITING)->position = 99)                         \
    X(not_held_on_the_roll, record(core, WAITING)->held = false)                       \
    X(an_edge_of_another, input(core)->behind += 8)                                    \
    X(an_edge_unlinked, input(core)->link = &input(core)->next)                        \
    X(away_and_linked, input(core)->away = true)                                       \
    X(a_consumer_lost, record(core, TAKEN)->consumers = NULL)                          \
    X(out_of_its_scope, record(core, SCOPED)->scope = NULL)                            \
    X(another_scope, scope(core)->mark++)                                              \
    X(a_scope_unwatched, scope(core)->watched = !scope(core)->watched)                 \
    X(a_scope_dropping, scope(core)->dropping = true)                                  \
    X(a_mark_too_many, core->state.mark_count++)                                       \
    X(a_stub_of_ours, stub(core)->chair = 0)                                           \
    X(a_stub_elsewhere, stub(core)->place--)                                           \
    X(counted_while_it_runs, record(core, RUNNING)->counted = true)                    \
    X(a_quiet_task_too_many, lane(core)->open_facts.quiet++)                           \
    X(what_feeds_unnoted, lane(core)->chunks[1].facts.takes_last = 0)                  \
    X(a_page_live_too_long, lane(core)->len--)                                         \
    X(a_peer_of_another_rank, core->state.known[0]->rank++)                            \
    X(a_peer_unknown, core->state.known_count--)                                       \
    X(heard_in_the_future, core->state.known[1]->heard_ns = core->now_ns + 1)          \
    X(granted_in_the_future, core->state.known[1]->granted_epoch = 9)                  \
    X(more_open_than_announced, core->state.known[1]->open_count = 99)                 \
    X(more_unwell_than_can_be, core->state.unwell = UNWELL_MAX + 1)                    \
    X(an_agenda_left, core->state.agenda.due = AGENDA_SETTLE)                          \
    X(on_the_agenda, record(core, WAITING)->agenda = AGENDA_ASK)                       \
    X(held_messages_lost, core->state.held_last = &nothing_held)                       \
    X(outputs_without_room, core->state.out.count = core->state.out.room + 1)

#define GOSSIP_ROWS(X)                                                                 \
    X(no_lane, core->gossip.lane_count = 0)                                            \
    X(another_length, core->gossip.roll_len++)                                         \
    X(children_without_room, core->gossip.child_room = 0)                              \
    X(a_root_with_a_parent, core->gossip.parent = 1)                                   \
    X(a_child_that_is_no_member, core->gossip.children[0] = 9)                         \
    X(a_chunk_that_overlaps, lane(core)->chunks[0].count++)                            \
    X(a_chunk_of_another_sum, lane(core)->chunks[0].sum.low++)                         \
    X(a_live_task_too_few, lane(core)->chunks[0].live--)                               \
    X(a_dead_chunk, lane(core)->chunks_dead++)                                         \
    X(itself_a_holder, add_rank(&lane(core)->chunks[0].holders, core->rank))           \
    X(told_of_no_cut, lane(core)->chunks[0].cut_told = true)                           \
    X(looked_at_too_much, lane(core)->chunks[0].looked = 99)                           \
    X(an_index_too_short, core->gossip.by_sum_count--)                                 \
    X(another_open_sum, lane(core)->open_sum.low++)                                    \
    X(forgotten_in_the_open, lane(core)->open_forgotten++)                             \
    X(another_open_scope, lane(core)->open_scope ^= 1)                                 \
    X(announced_too_much, lane(core)->announced = lane(core)->len + 1)                 \
    X(announced_too_little, lane(core)->announced = 0)                                 \
    X(agreed_beyond_the_end, lane(core)->agreed[1] = lane(core)->len + 1)              \
    X(parts_without_room, lane(core)->part_count = PARTS_MAX + 1)                      \
    X(a_difference_in_repair, core->gossip.difference.found = true)                    \
    X(known_of_nobody, core->gossip.knowledge_of = NOBODY)

#define OWNERSHIP_ROWS(X)                                                              \
    X(a_need_too_many, core->ownership.open_needs++)                                   \
    X(a_runner_too_many, core->ownership.running += 99)                                \
    X(an_unfinished_too_few, core->ownership.unfinished_count--)                       \
    X(a_wait_without_needs, core->ownership.last_wait = record(core, RUNNING))         \
    X(owned_and_not_held, record(core, RUNNING)->held = false)                         \
    X(done_without_a_result, record(core, RUNNING)->own = CORE_OWN_DONE)               \
    X(another_owner, record(core, RUNNING)->owner = 1)                                 \
    X(owner_of_another_s, record(core, TAKEN)->owner = core->rank)                     \
    X(a_result_of_nobody, record(core, TAKEN)->have = CORE_HAVE_DATA)                  \
    X(pulled_for_nothing, record(core, TAKEN)->pulled = true)                          \
    X(sent_to_itself, record(core, RUNNING)->pushed |= 1)                              \
    X(off_the_unfinished, record(core, RUNNING)->on_unfinished_list = false)           \
    X(missing_miscounted, record(core, WAITING)->missing++)                            \
    X(ready_and_not_run,                                                               \
      (record(core, WAITING)->missing = 0, input(core)->waiting = 0))                  \
    X(a_lane_need_lost, record(core, TAKEN)->lane_needs++)                             \
    X(a_user_lost, record(core, TAKEN)->users--)                                       \
    X(pending_and_owned, record(core, RUNNING)->pending = true)                        \
    X(owed_and_not_pending, record(core, RUNNING)->owed = true)                        \
    X(claimed_and_not_owned, record(core, ASKED)->rec = core->rank)                    \
    X(yielded_and_owned, record(core, RUNNING)->rec = 1)                               \
    X(owned_without_a_record, record(core, RUNNING)->rec = NOBODY)                     \
    X(a_record_of_no_rank, record(core, RUNNING)->rec = 77)                            \
    X(undecided_and_decided, record(core, ASKED)->rec = 1)                             \
    X(undecided_elsewhere, record(core, ASKED)->chair = 1)                             \
    X(off_the_undecided, asked(core)->undecided = false)                               \
    X(an_asker_of_no_rank, asked(core)->askers[0].rank = 77)                           \
    X(an_asker_too_many, asked(core)->asker_count = 99)                                \
    X(a_bound_elsewhere, asked(core)->bound_at++)                                      \
    X(a_bound_too_late, core->ownership.bounds.items[0].need++)                        \
    X(a_bound_lost, core->ownership.bounds.count--)                                    \
    X(needed_too_late, record(core, TAKEN)->need = NEED_NONE)                          \
    X(demanded_here_alone, record(core, WAITING)->demanded = true)                     \
    X(a_ballot_about_nobody, ballot(core)->winner = NOBODY)                            \
    X(a_ballot_that_is_over, ballot(core)->quorum = 1)                                 \
    X(a_ballot_of_an_older_view, record(core, BALLOT)->task_ext->accepted_epoch = 0)   \
    X(a_voice_of_its_own_lost, rankset_remove(&ballot(core)->acks, core->rank))        \
    X(reaccepted_by_nobody, core->ownership.reaccepting++)                             \
    X(a_push_list_cut, record(core, TAKEN)->on_push_list = true)

#define RECLAIM_ROWS(X)                                                                \
    X(a_chunk_that_leaves_uncounted, lane(core)->chunks[0].stage = CHUNK_LEAVING)      \
    X(a_chunk_that_stays_counted, core->reclaim.drop.leaving = 1)                      \
    X(a_cut_uncounted, lane(core)->chunks[0].cut = true)                               \
    X(news_of_the_future, core->reclaim.drop.news_seen = UINT64_MAX)                   \
    X(a_look_in_the_future, core->reclaim.drop.looked_ns = core->now_ns + 1)           \
    X(looks_beyond_the_lanes, core->reclaim.drop.lane = 99)                            \
    X(answers_to_nothing, core->reclaim.drop.answers_open = 1)                         \
    X(offers_without_room, core->reclaim.drop.offer_count = 1)                         \
    X(ended_without_room, core->reclaim.ended_count = 1)                               \
    X(kept_back_for_nothing, core->reclaim.drop.held_first = &empty_held)              \
    X(forgets_nothing, core->reclaim.forget_due = true)                                \
    X(a_scope_on_no_list, scope(core)->dropping = true)                                \
    X(a_scope_on_a_list, core->reclaim.scopes_dropping = scope(core))                  \
    X(released_and_open, scope(core)->released = true)                                 \
    X(a_report_too_many, scope(core)->known++)                                         \
    X(a_round_of_no_number, scope(core)->round_open = 1)

#define TERMINATION_ROWS(X)                                                            \
    X(a_poll_that_is_open, core->termination.poll.open = true)                         \
    X(a_pause_too_long, core->termination.poll.pause_ns = UINT64_MAX)                  \
    X(told_in_the_future, core->termination.state_sent_ns = core->now_ns + 1)          \
    X(gossip_in_the_future, core->termination.gossip_ns = core->now_ns + 1)            \
    X(closed_only_in_words, core->termination.state_sent.closed = true)                \
    X(a_roll_only_in_words, core->termination.state_sent.len = 99)                     \
    X(a_site_borrowed, core->termination.state_sent.site = "test.c:1")                 \
    X(adjourned_and_open, core->termination.adjourned = true)                          \
    X(a_census_told_early, census(core)->told = true)                                  \
    X(a_census_without_room, census(core)->count = 1)                                  \
    X(a_child_alike_unheard, census(core)->child[0].alike = true)                      \
    X(an_answer_unasked, census(core)->child[0].answered = true)                       \
    X(an_index_of_odd_size, census(core)->index_size = 3)

#define MEMBERSHIP_ROWS(X)                                                             \
    X(a_member_miscounted, core->member_count++)                                       \
    X(no_member_itself, rankset_remove(&core->members, core->rank))                    \
    X(another_incarnation, core->uid++)                                                \
    X(large_for_nothing, core->membership.large = true)                                \
    X(a_seat_miscounted, core->membership.committee_count++)                           \
    X(a_seat_of_a_stranger, add_rank(&core->membership.committee, 9))                  \
    X(a_report_of_a_stranger, add_rank(&core->membership.reported, 9))                 \
    X(a_stranger_settled, add_rank(&core->membership.settled_peers, 9))                \
    X(itself_suspected, add_rank(&core->membership.suspects, core->rank))              \
    X(itself_dead, add_rank(&core->membership.dead, core->rank))                       \
    X(a_member_retired, add_rank(&core->membership.retired, 1))                        \
    X(too_many_past_views, core->membership.past_count = LIMIT_PAST_VIEWS + 1)         \
    X(entered_in_the_future, core->membership.entered_ns = core->now_ns + 1)           \
    X(without_a_lease_for_long, core->membership.lacked_ns = CORE_NEVER)               \
    X(sent_before_it_was, core->membership.sent_before[MESSAGE_ROLL] = UINT64_MAX)     \
    X(accepted_unpromised, core->membership.paxos.accepted = 9)                        \
    X(pending_unpromised, core->membership.paxos.pending_ballot = 9)                   \
    X(voted_for_nothing, core->membership.voted_next = true)                           \
    X(a_ballot_of_no_number, core->membership.paxos.phase = PAXOS_PREPARING)           \
    X(joiners_without_room, core->membership.paxos.joiner_count = 1)                   \
    X(a_voice_of_a_stranger, add_rank(&core->membership.paxos.voices, 9))              \
    X(ready_and_not_going, core->membership.leave.ready = true)                        \
    X(going_and_open, core->membership.leave.going = true)                             \
    X(a_stranger_leaves, add_rank(&core->membership.leavers, 9))                       \
    X(mail_that_waits_for_nothing, core->membership.mail_waits = true)                 \
    X(deciding_and_settled, core->membership.deciding = true)                          \
    X(frozen_and_decided,                                                              \
      (core->membership.settled = false, record(core, RUNNING)->frozen = true))        \
    X(frozen_and_settled, record(core, RUNNING)->frozen = true)                        \
    X(accepted_in_the_future, record(core, BALLOT)->task_ext->accepted_epoch = 9)      \
    X(accepted_for_no_rank, record(core, BALLOT)->task_ext->accepted = 77)             \
    X(handed_to_nobody, record(core, RUNNING)->handing = true)                         \
    X(returned_and_staying, record(core, RUNNING)->returned = true)                    \
    X(another_chair, record(core, RUNNING)->chair = 1)

#define MEETING_ROWS(X)                                                                \
    X(two_meetings_at_once, core->meeting.number = core->meeting.met + 2)              \
    X(an_outcome_of_none, rankset_add(&core->meeting.came, 1))                         \
    X(one_of_two_purposes, core->meeting.mixed = rankset_add(&core->meeting.here, 1))  \
    X(a_stranger_came, rankset_add(&core->meeting.here, 63))                           \
    X(a_word_about_the_next_but_one, core->meeting.said = core->meeting.met + 2)       \
    X(a_child_that_is_ahead, core->meeting.below[0].number = core->meeting.met + 2)    \
    X(a_child_among_few, core->meeting.below[0].closed = true)                         \
    X(all_came_and_some,                                                               \
      core->meeting.below[3].all = rankset_add(&core->meeting.below[3].came, 1))

/* The step's own are seen by core_hold() alone. */
#define STEP_ROWS(X)                                                                   \
    X(closed_and_running, core->step.closed = true)                                    \
    X(blocked_and_running, core->step.blocked = true)                                  \
    X(idle_and_not_blocked, core->step.idle = true)                                    \
    X(idle_in_the_future, core->step.idle_since_ns = core->now_ns + 1)                 \
    X(an_exit_code_while_open, core->step.exit_code = 1)

#define LARGE_MEMBERSHIP_ROWS(X)                                                       \
    X(a_child_below_nobody, core->membership.barrier.counts[0].below = 1u << 31)       \
    X(passed_and_not_done, core->membership.barrier.counts[0].passed = true)

#define LARGE_GOSSIP_ROWS(X)                                                           \
    X(a_partner_that_is_no_member, core->gossip.partners[0] = 9)                       \
    X(told_more_than_known, lane(core)->chunks[0].told = 99)                           \
    X(told_more_chunks_than_there_are, lane(core)->chunks_told = 99)

#define DEFINE(name, what)                                                             \
    static void name(struct core *core)                                                \
    {                                                                                  \
        (void)(what);                                                                  \
    }
STATE_ROWS(DEFINE)
GOSSIP_ROWS(DEFINE)
OWNERSHIP_ROWS(DEFINE)
RECLAIM_ROWS(DEFINE)
TERMINATION_ROWS(DEFINE)
MEMBERSHIP_ROWS(DEFINE)
MEETING_ROWS(DEFINE)
STEP_ROWS(DEFINE)
LARGE_GOSSIP_ROWS(DEFINE)
LARGE_MEMBERSHIP_ROWS(DEFINE)
#undef DEFINE

struct row {
    const char *name;
    void (*breaks)(struct core *core);
};

#define ROW(name, what) {#name, name},
#define TABLE(rows, X)                                                                 \
    static const struct row rows[] = {X(ROW)};                                         \
    enum { rows##_count = sizeof(rows) / sizeof((rows)[0]) }
TABLE(state_rows, STATE_ROWS);
TABLE(gossip_rows, GOSSIP_ROWS);
TABLE(ownership_rows, OWNERSHIP_ROWS);
TABLE(reclaim_rows, RECLAIM_ROWS);
TABLE(termination_rows, TERMINATION_ROWS);
TABLE(membership_rows, MEMBERSHIP_ROWS);
TABLE(meeting_rows, MEETING_ROWS);
TABLE(step_rows, STEP_ROWS);
TABLE(large_gossip_rows, LARGE_GOSSIP_ROWS);
TABLE(large_membership_rows, LARGE_MEMBERSHIP_ROWS);

/* --- Seeing it -------------------------------------------------------------------- */

/* In a process of its own: whether it ends by an assertion when this is broken. */
static bool is_seen(void (*breaks)(struct core *core),
                    void (*hold)(const struct core *core))
{
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)signal(SIGSEGV, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL) {
            _exit(2);
        }
        hold(bench.core[0]);
        breaks(bench.core[0]);
        hold(bench.core[0]);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void see_all(const struct row *rows, size_t count,
                    void (*hold)(const struct core *core))
{
    size_t unseen = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_seen(rows[i].breaks, hold)) {
            print_error("%s is not seen\n", rows[i].name);
            unseen++;
        }
    }
    assert_int_equal(unseen, 0);
}

#define SEES(name, rows, hold)                                                         \
    static void name(void **state)                                                     \
    {                                                                                  \
        (void)state;                                                                   \
        see_all(rows, rows##_count, hold);                                             \
    }
SEES(state_sees_what_is_broken, state_rows, state_hold)
SEES(gossip_sees_what_is_broken, gossip_rows, gossip_hold)
SEES(ownership_sees_what_is_broken, ownership_rows, ownership_hold)
SEES(reclaim_sees_what_is_broken, reclaim_rows, reclaim_hold)
SEES(termination_sees_what_is_broken, termination_rows, termination_hold)
SEES(membership_sees_what_is_broken, membership_rows, membership_hold)
SEES(meeting_sees_what_is_broken, meeting_rows, meeting_hold)
SEES(the_step_sees_what_is_broken, step_rows, core_hold)
SEES(gossip_sees_it_among_many, large_gossip_rows, gossip_hold)
SEES(membership_sees_it_among_many, large_membership_rows, membership_hold)

/* --- A core that is in use -------------------------------------------------------- */

/* Ticks until all of a table of this size has been looked at. */
static void step_long(const struct core *core)
{
    for (int i = 0; i < 5 * 32768; i++) {
        struct core_event tick = {.type = CORE_EV_TICK};
        struct core_outputs out;
        (void)core_step(bench.core[core->rank], &tick, bench.now, &out);
    }
}

static void a_core_looks_at_itself_now_and_then(void **state)
{
    (void)state;
    assert_true(is_seen(a_member_miscounted, step_long));
    assert_true(is_seen(a_record_of_no_rank, step_long));
    assert_true(is_seen(heard_in_the_future, step_long));
}

static void a_core_that_is_over_is_not_looked_at(void **state)
{
    (void)state;
    bench.core[0]->broken = true;
    assert_false(is_seen(a_member_miscounted, core_hold));
    bench.core[0]->broken = false;
    bench.core[0]->membership.fenced = true;
    assert_false(is_seen(a_member_miscounted, core_hold));
    bench.core[0]->membership.fenced = false;
}

static int open_small(void **state)
{
    (void)state;
    set_scene(3, 0);
    return 0;
}

static int open_large(void **state)
{
    (void)state;
    set_scene(5, 1);
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    bench_close();
    return 0;
}

#define SMALL(test) cmocka_unit_test_setup_teardown(test, open_small, close_scene)
#define LARGE(test) cmocka_unit_test_setup_teardown(test, open_large, close_scene)

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        SMALL(state_sees_what_is_broken),
        SMALL(gossip_sees_what_is_broken),
        SMALL(ownership_sees_what_is_broken),
        SMALL(reclaim_sees_what_is_broken),
        SMALL(termination_sees_what_is_broken),
        SMALL(membership_sees_what_is_broken),
        SMALL(meeting_sees_what_is_broken),
        SMALL(the_step_sees_what_is_broken),
        SMALL(a_core_looks_at_itself_now_and_then),
        SMALL(a_core_that_is_over_is_not_looked_at),
        LARGE(gossip_sees_it_among_many),
        LARGE(membership_sees_it_among_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
