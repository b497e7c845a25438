/* diagnosis_scenes.h - what diagnosis_test.c builds into a picture, one function for
 * each scene: ranks that hang, each on a reason of its own.
 */
#ifndef TESTS_UNIT_DIAGNOSIS_SCENES_H
#define TESTS_UNIT_DIAGNOSIS_SCENES_H

#include "consensus/core_view.h"
#include "tests/unit/pictures.h"

enum { NOBODY = -1, A = 0, B = 1, C = 2, D = 3 };

/* --- At the owner ----------------------------------------------------------------- */

/* Rank 0 waits for a task that rank 1 owns. */
static Moot__Account__Task *owned(struct kit *kit, enum core_own own,
                                  enum task_stage stage)
{
    kit_wait(kit, 0, A);
    return kit_own(kit, 1, A, own, stage);
}

static void running(struct kit *kit)
{
    owned(kit, CORE_OWN_RUNNING, TASK_RUNNING)->runs_ns = 3000000000;
    kit->ranks[1].account.running = 1;
}

/* Its kernel, or the one that it is behind, has run for so long. */
static void running_for(struct kit *kit, uint64_t runs_ns, uint64_t stall_ns)
{
    running(kit);
    kit_task(kit, 1, A)->runs_ns = runs_ns;
    kit->ranks[1].account.stall_ns = stall_ns;
}

static void running_for_a_second(struct kit *kit)
{
    running_for(kit, 1000000000, UINT64_MAX / 2); /* MOOT_STALL=never */
}

static void running_for_less(struct kit *kit)
{
    running_for(kit, 999999999, UINT64_MAX / 2);
}

static void running_for_a_tenth_of_a_stall(struct kit *kit)
{
    running_for(kit, 90000000, 900000000);
}

static void running_for_less_than_a_tenth(struct kit *kit)
{
    running_for(kit, 89999999, 900000000);
}

static void resting(struct kit *kit) { owned(kit, CORE_OWN_WAIT, TASK_RESTING); }

static void ready_behind_a_kernel(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_READY);
    kit_own(kit, 1, B, CORE_OWN_RUNNING, TASK_RUNNING);
    kit->ranks[1].account.running = 1;
}

static void ready_behind_a_short_kernel(struct kit *kit)
{
    ready_behind_a_kernel(kit);
    kit_task(kit, 1, B)->runs_ns = 2000000;
}

static void ready_and_nobody_runs_it(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_READY);
    kit->ranks[1].lane.state = CORE_LANE_RUNNING;
}

/* The only kernel there waits for a child, so that it runs nothing. */
static void ready_behind_a_kernel_that_waits(struct kit *kit)
{
    ready_and_nobody_runs_it(kit);
    kit->ranks[1].account.running = kit->ranks[1].account.stopped = 1;
}

static void once_without_a_lease(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_IDLE)->once = true;
    kit->ranks[1].account.lease = false;
}

static void once_with_a_lease(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_IDLE)->once = true;
}

static void pure_without_a_lease(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_IDLE);
    kit->ranks[1].account.lease = false;
}

/* A's owner lacks an input, whose owner's kernel waits for a child, which runs. */
static void chain_of_three(struct kit *kit)
{
    Moot__Account__Task *task = owned(kit, CORE_OWN_WAIT, TASK_IDLE);
    task->missing = 1;
    task->input = kit_hash(kit, B);
    kit_own(kit, 2, B, CORE_OWN_RUNNING, TASK_RUNNING);
    kit_wait(kit, 2, C)->waiter = kit_hash(kit, B);
    kit_own(kit, 2, C, CORE_OWN_RUNNING, TASK_RUNNING);
}

static void circle(struct kit *kit)
{
    Moot__Account__Task *task = owned(kit, CORE_OWN_WAIT, TASK_IDLE);
    task->input = kit_hash(kit, B);
    kit_own(kit, 2, B, CORE_OWN_WAIT, TASK_IDLE)->input = kit_hash(kit, A);
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
}

/* Two ranks come into it at different places. */
static void circle_of_two_waits(struct kit *kit)
{
    circle(kit);
    kit_wait(kit, 1, B);
}

/* --- On the way ------------------------------------------------------------------- */

static void done(struct kit *kit) { owned(kit, CORE_OWN_DONE, TASK_ENDED); }

static void result_lost(struct kit *kit)
{
    done(kit);
    kit_lose(kit, 1, 0);
}

static void motion_to_the_owner_lost(struct kit *kit)
{
    done(kit);
    kit_lose(kit, 0, 1);
}

/* Even the chair has it that rank 3 does. */
static void owner_by_its_own_word(struct kit *kit)
{
    kit_wait(kit, 0, A);
    kit_own(kit, 2, A, CORE_OWN_RUNNING, TASK_RUNNING);
    kit_task(kit, 0, A)->owner = kit_task(kit, 1, A)->owner = 3;
}

/* Sent again, but not often enough to be lost. */
static void result_late(struct kit *kit)
{
    result_lost(kit);
    kit_peer(kit, 1, 0)->resent = 2;
}

static void all_got_through(struct kit *kit)
{
    result_lost(kit);
    kit_peer(kit, 1, 0)->backlog = 0;
}

/* Rank 1, the chair, has given it to rank 2, which has not heard of that. */
static void decision_under_way(struct kit *kit)
{
    kit_wait(kit, 0, A);
    kit_task(kit, 0, A);
    kit_task(kit, 1, A)->owner = 2;
}

static void decision_lost(struct kit *kit)
{
    decision_under_way(kit);
    kit_lose(kit, 1, 2);
}

/* --- At the chair ----------------------------------------------------------------- */

/* Ranks 0 and 2 wait for a task of which rank 1 is the chair, which lacks that. */
static Moot__Account__Task *open_vote(struct kit *kit, enum core_lack lack)
{
    kit_wait(kit, 0, A);
    kit_wait(kit, 2, A);
    kit_task(kit, 0, A)->asked = true;
    kit_task(kit, 2, A)->held = true;
    kit_task(kit, 1, A)->lack = lack;
    return kit_task(kit, 1, A);
}

static void evidence(struct kit *kit)
{
    open_vote(kit, CORE_LACK_EVIDENCE);
    kit->ranks[1].lane.state = CORE_LANE_RUNNING;
}
static void demand(struct kit *kit) { open_vote(kit, CORE_LACK_DEMAND); }
static void quorum(struct kit *kit) { open_vote(kit, CORE_LACK_QUORUM); }
static void outside_repair(struct kit *kit) { open_vote(kit, CORE_LACK_MODE); }
static void decided_meanwhile(struct kit *kit) { open_vote(kit, CORE_LACK_NOTHING); }
static void motion_under_way(struct kit *kit) { open_vote(kit, CORE_LACK_MOTION); }

static void motion_lost(struct kit *kit)
{
    motion_under_way(kit);
    kit_lose(kit, 0, 1);
    kit_lose(kit, 2, 1);
    kit_task(kit, 2, A)->asked = true;
}

/* What it sends is lost, but it has not asked. */
static void not_asked_yet(struct kit *kit)
{
    motion_lost(kit);
    kit_task(kit, 0, A)->asked = kit_task(kit, 2, A)->asked = false;
}

static void voters_late(struct kit *kit)
{
    open_vote(kit, CORE_LACK_VOTERS)->awaited = kit_ranks(kit, 0x8);
}

static void voter_silent(struct kit *kit)
{
    voters_late(kit);
    kit_silence(kit, 3);
}

static void reports_late(struct kit *kit)
{
    open_vote(kit, CORE_LACK_REPORTS)->awaited = kit_ranks(kit, 0x8);
}

static void accept_lost(struct kit *kit)
{
    voters_late(kit);
    kit_lose(kit, 1, 3);
}

static void report_lost(struct kit *kit)
{
    reports_late(kit);
    kit_lose(kit, 3, 1);
}

static void nobody_holds_it(struct kit *kit)
{
    open_vote(kit, CORE_LACK_HOLDER);
    kit_task(kit, 2, A)->held = false;
    kit->ranks[3].lane.state = CORE_LANE_RUNNING;
}

static void two_may_yet_spawn_it(struct kit *kit)
{
    nobody_holds_it(kit);
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
}

/* Rank 2 has died, and a view has cleared what it said; rank 3 was voted out. */
static void nobody_holds_what_the_dead_held(struct kit *kit)
{
    nobody_holds_it(kit);
    kit_silence(kit, 2);
    Moot__Account__Peer *dead = kit_peer(kit, 0, 2);
    dead->state = MEMBER_DEAD;
    dead->spoke = dead->closed = true;
    dead->silent_ns = 2000000000;
    kit_silence(kit, 3);
    kit_peer(kit, 0, 3)->state = MEMBER_REMOVED;
}

static void nobody_may_have_forgotten_it(struct kit *kit)
{
    nobody_holds_it(kit);
    kit->ranks[1].figure.value = 300;
    kit->ranks[2].figure.value = 512;
}

static void holder_known_to_another(struct kit *kit)
{
    nobody_holds_it(kit);
    kit_task(kit, 0, A)->holders = kit_ranks(kit, 0x8);
}

static void word_of_the_holder_lost(struct kit *kit)
{
    open_vote(kit, CORE_LACK_HOLDER);
    kit_lose(kit, 2, 1);
}

/* Rank 2 holds it, which its chair knows and which it has not refused. */
static void holder_is_no_candidate(struct kit *kit)
{
    open_vote(kit, CORE_LACK_HOLDER)->holders = kit_ranks(kit, 0x4);
    kit_task(kit, 1, A)->awaited = kit_ranks(kit, 0xd);
    kit->ranks[3].lane.state = CORE_LANE_RUNNING;
}

/* Ranks 1 and 3 are, as rank 2 knows. */
static void candidates_are_known(struct kit *kit)
{
    holder_is_no_candidate(kit);
    kit_task(kit, 2, A)->candidates = kit_ranks(kit, 0xa);
}

/* Another task has another candidate beside its chair, and the same holder. */
static void two_with_other_candidates(struct kit *kit)
{
    candidates_are_known(kit);
    kit_wait(kit, 2, B);
    kit_wait(kit, 0, B);
    kit_task(kit, 2, B)->held = true;
    kit_task(kit, 2, B)->candidates = kit_ranks(kit, 0x3);
    kit_task(kit, 1, B)->lack = CORE_LACK_HOLDER;
    kit_task(kit, 1, B)->holders = kit_ranks(kit, 0x4);
    kit_task(kit, 1, B)->awaited = kit_ranks(kit, 0xd);
}

/* A candidate holds it, and another rank. */
static void one_of_the_holders_may_own_it(struct kit *kit)
{
    candidates_are_known(kit);
    kit_task(kit, 3, A)->held = true;
}

/* Rank 0 holds it, too, and the chair has not heard of that. */
static void another_holder_may_be_a_candidate(struct kit *kit)
{
    holder_is_no_candidate(kit);
    kit_task(kit, 0, A)->held = true;
}

/* It is among those who have said that they never will. */
static void holder_has_refused(struct kit *kit)
{
    holder_is_no_candidate(kit);
    kit_task(kit, 1, A)->awaited = kit_ranks(kit, 0x9);
}

/* Of one task all candidates lack it, and of the other all ranks. */
static void one_has_no_candidate(struct kit *kit)
{
    holder_is_no_candidate(kit);
    kit_wait(kit, 0, B);
    kit_task(kit, 1, B)->lack = CORE_LACK_HOLDER;
}

/* Of one rank 2 is no candidate, and of the other rank 3. */
static void two_without_a_candidate(struct kit *kit)
{
    holder_is_no_candidate(kit);
    kit_wait(kit, 0, B);
    kit_task(kit, 3, B)->held = true;
    kit_task(kit, 1, B)->lack = CORE_LACK_HOLDER;
    kit_task(kit, 1, B)->holders = kit_ranks(kit, 0x8);
    kit_task(kit, 1, B)->awaited = kit_ranks(kit, 0xd);
}

static void finder_knows_nobody(struct kit *kit)
{
    open_vote(kit, CORE_LACK_CANDIDATES);
    kit_task(kit, 2, A)->held = false;
}

static void nobody_knows_the_chair(struct kit *kit)
{
    kit_wait(kit, 0, A);
    kit_task(kit, 0, A)->chair = PLACEMENT_NOBODY;
}

/* --- Ranks that say nothing ------------------------------------------------------- */

static void owner_silent(struct kit *kit)
{
    running(kit);
    kit_silence(kit, 1);
}

static void owner_stopped(struct kit *kit)
{
    owner_silent(kit);
    kit_lose(kit, 0, 1); /* it takes nothing in, but that is not the wire's fault */
    kit_peer(kit, 0, 1)->process = 'T';
    kit_peer(kit, 0, 1)->pid = 4711;
}

static void owner_cut_off(struct kit *kit)
{
    owner_silent(kit);
    kit_lose(kit, 0, 1);
}

static void owner_dead(struct kit *kit)
{
    owner_silent(kit);
    kit_peer(kit, 0, 1)->ended_ns = 2000000000;
}

static void owner_dead_by_proc(struct kit *kit)
{
    owner_silent(kit);
    kit_peer(kit, 0, 1)->process = 'Z';
}

static void owner_removed(struct kit *kit)
{
    owner_silent(kit);
    Moot__Account__Peer *peer = kit_peer(kit, 0, 1);
    kit->seats[1].asked_ns = 0; /* nobody asks whom a view has removed */
    peer->state = MEMBER_REMOVED;
    peer->spoke = peer->closed = true; /* who is gone counts as closed */
    peer->silent_ns = 2000000000;
    peer->len = 12;
}

static void owner_not_asked(struct kit *kit)
{
    owner_silent(kit);
    kit->seats[1].asked_ns = 0;
}

static void chair_silent(struct kit *kit)
{
    open_vote(kit, CORE_LACK_EVIDENCE);
    kit_silence(kit, 1);
}

/* Rank 1 has died, and rank 2 is stopped: they are not enough for a new view. */
static void dead_without_a_majority(struct kit *kit)
{
    owner_dead(kit);
    kit_silence(kit, 2);
    kit_peer(kit, 0, 2)->process = 'T';
}

/* A view has removed rank 3 long ago: the next does without its word. */
static void dead_after_another_was_removed(struct kit *kit)
{
    owner_dead(kit);
    kit_silence(kit, 3);
    kit->seats[3].asked_ns = 0;
    kit_peer(kit, 0, 3)->state = MEMBER_REMOVED;
}

/* --- Closes ----------------------------------------------------------------------- */

static void closing(struct kit *kit)
{
    for (uint32_t rank = 0; rank < kit->picture.size; rank++) {
        kit->ranks[rank].account.closing_ns = 1000000000;
    }
}

static void one_has_not_closed(struct kit *kit)
{
    closing(kit);
    kit->ranks[2].account.closing_ns = 0;
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
}

/* All but rank 2 wait at the third meeting, for as long as another rank has yet to come
 * to it. */
static void meeting(struct kit *kit)
{
    closing(kit);
    for (uint32_t rank = 0; rank < kit->picture.size; rank++) {
        Moot__Account *account = &kit->ranks[rank].account;
        account->closing_ns = 0;
        account->meetings = rank == 2 ? 2 : 3;
        account->meeting_ns = rank == 2 ? 0 : 5000000000u;
    }
}

/* All have come to a reload but rank 2; `came`: that one, too, and its kernel runs. */
static void reload_waits(struct kit *kit, bool came)
{
    meeting(kit);
    for (uint32_t rank = 0; rank < kit->picture.size; rank++) {
        Moot__Account *account = &kit->ranks[rank].account;
        account->reload_ns = rank != 2 || came ? 6000000000u : 0;
        account->meeting_ns = came ? 0 : account->meeting_ns;
    }
}

static void one_has_not_come_to_a_reload(struct kit *kit) { reload_waits(kit, false); }

static void a_kernel_runs_in_a_reload(struct kit *kit)
{
    reload_waits(kit, true);
    (void)kit_own(kit, 2, A, CORE_OWN_RUNNING, TASK_RUNNING);
    kit->ranks[2].account.drains = true;
}

static void one_does_not_answer_a_meeting(struct kit *kit)
{
    meeting(kit);
    kit_silence(kit, 2);
}

static void one_closes_before_a_meeting(struct kit *kit)
{
    meeting(kit);
    kit->ranks[2].account.closing_ns = 1000000000;
}

static void one_does_not_answer_a_close(struct kit *kit)
{
    closing(kit);
    kit_silence(kit, 2);
}

static void one_has_left(struct kit *kit)
{
    one_does_not_answer_a_close(kit);
    kit_peer(kit, 0, 2)->left = kit_peer(kit, 1, 2)->left = kit_peer(kit, 3, 2)->left =
        true;
}

/* --- Several ---------------------------------------------------------------------- */

static void alike(struct kit *kit)
{
    running(kit);
    kit_wait(kit, 2, A);
    kit_wait(kit, 3, A)->since_ns = 9000000000;
}

static void slow_and_dead(struct kit *kit)
{
    running(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 3, B, CORE_OWN_RUNNING, TASK_RUNNING);
    kit_silence(kit, 3);
    kit_peer(kit, 0, 3)->ended_ns = 1;
}

static void two_tasks_of_one_silent_rank(struct kit *kit)
{
    owner_silent(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 1, B, CORE_OWN_RUNNING, TASK_RUNNING);
}

static void two_slow_tasks_of_one_rank(struct kit *kit)
{
    running(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 1, B, CORE_OWN_RUNNING, TASK_RUNNING);
}

/* Rank 1 runs A, and B and C are ready behind it. */
static void two_behind_what_is_waited_for(struct kit *kit)
{
    kit_wait(kit, 0, B);
    kit_own(kit, 1, A, CORE_OWN_RUNNING, TASK_RUNNING)->runs_ns = 3000000000;
    kit_own(kit, 1, B, CORE_OWN_WAIT, TASK_READY);
    kit_wait(kit, 2, A);
    kit_wait(kit, 2, C);
    kit_own(kit, 1, C, CORE_OWN_WAIT, TASK_READY);
    kit->ranks[1].account.running = 1;
}

static void three_behind_a_kernel(struct kit *kit)
{
    ready_behind_a_kernel(kit);
    kit_own(kit, 1, C, CORE_OWN_WAIT, TASK_READY);
    kit_own(kit, 1, D, CORE_OWN_WAIT, TASK_READY);
    kit_wait(kit, 0, C);
    kit_wait(kit, 2, C);
    kit_wait(kit, 2, D);
}

/* The first kernel on rank 1 waits for a child there, and works on nothing. */
static void behind_another_than_waits(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_READY);
    kit_own(kit, 1, B, CORE_OWN_RUNNING, TASK_RUNNING);
    kit_wait(kit, 1, C)->waiter = kit_hash(kit, B);
    kit_own(kit, 1, C, CORE_OWN_RUNNING, TASK_RUNNING);
    kit->ranks[1].account.running = 2;
    kit->ranks[1].account.stopped = 1;
}

static void two_that_rest(struct kit *kit)
{
    resting(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 1, B, CORE_OWN_WAIT, TASK_RESTING);
}

static void two_that_one_chair_may_spawn(struct kit *kit)
{
    evidence(kit);
    kit_wait(kit, 0, B);
    kit_task(kit, 2, B)->held = true;
    kit_wait(kit, 2, B);
    kit_task(kit, 1, B)->lack = CORE_LACK_EVIDENCE;
    kit->ranks[0].account.waits_untold = 400;
    kit->ranks[2].account.waits_untold = 36;
}

static void two_lacks_of_one_chair(struct kit *kit)
{
    two_that_one_chair_may_spawn(kit);
    kit_task(kit, 1, B)->lack = CORE_LACK_DEMAND;
}

/* Of one, rank 2 lacks the acceptance, of the other rank 3. */
static void two_votes_of_one_chair(struct kit *kit)
{
    voters_late(kit);
    kit_wait(kit, 0, B);
    kit_task(kit, 0, B)->held = kit_task(kit, 0, B)->asked = true;
    kit_task(kit, 1, B)->lack = CORE_LACK_VOTERS;
    kit_task(kit, 1, B)->awaited = kit_ranks(kit, 0x4);
}

static void two_that_nobody_holds(struct kit *kit)
{
    nobody_holds_it(kit);
    kit_wait(kit, 3, B);
    kit_task(kit, 1, B)->lack = CORE_LACK_HOLDER;
    kit->ranks[3].lane.state = CORE_LANE_BLOCKED;
}

/* Ranks 0 and 2 wait for both, whose chairs are ranks 1 and 3. */
static void two_of_two_chairs(struct kit *kit)
{
    nobody_holds_it(kit);
    kit_wait(kit, 0, B);
    kit_wait(kit, 2, B);
    kit_task(kit, 3, B)->lack = CORE_LACK_HOLDER;
    kit_task(kit, 3, B)->chair = 3;
}

/* Of one only rank 1 may own it. */
static void one_of_two_has_a_candidate(struct kit *kit)
{
    two_of_two_chairs(kit);
    kit_task(kit, 0, A)->candidates = kit_ranks(kit, 0x2);
}

/* Rank 1 holds both, of one of which it is the chair. */
static void two_of_chairs_that_differ(struct kit *kit)
{
    two_of_two_chairs(kit);
    kit_task(kit, 1, A)->held = kit_task(kit, 1, B)->held = true;
    kit_task(kit, 1, B)->chair = 3;
}

/* Of one nobody knows the chair. */
static void two_of_one_chair_and_none(struct kit *kit)
{
    two_of_two_chairs(kit);
    kit_task(kit, 3, B)->chair = PLACEMENT_NOBODY;
}

static void two_without_a_lease(struct kit *kit)
{
    once_without_a_lease(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 1, B, CORE_OWN_WAIT, TASK_IDLE)->once = true;
}

static void long_chain(struct kit *kit)
{
    kit_wait(kit, 0, 0);
    for (int task = 0; task <= CHAIN_MAX; task++) {
        kit_own(kit, 1, task, CORE_OWN_WAIT, TASK_IDLE)->input =
            kit_hash(kit, task + 1);
    }
}

/* It has ended since the asker spoke. */
static void told_by_nobody(struct kit *kit) { kit_wait(kit, 0, A); }

static void two_that_move(struct kit *kit)
{
    done(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 3, B, CORE_OWN_DONE, TASK_ENDED);
}

static void more_than_there_is_room_for(struct kit *kit)
{
    for (int task = 0; task <= FINDINGS_MAX; task++) {
        kit_wait(kit, 0, task);
        kit_own(kit, 1, task, CORE_OWN_RUNNING, TASK_RUNNING);
    }
}

static void nothing(struct kit *kit) { (void)kit; }

static void two_say_who_owns_it(struct kit *kit)
{
    done(kit);
    kit_task(kit, 2, A)->owner = 3;
    kit_task(kit, 3, A)->owner = PLACEMENT_NOBODY;
}

#endif
