/* diagnosis_test.c - the cause of a stall is the one that was built into the picture.
 *
 * A row is a picture (pictures.h), and what is found in it: the causes, the worst
 * first, who is to act on the first one, and words of the report that nobody should
 * have to miss.  tests/cli/stalls_test.sh shows the same on real ranks, where some of
 * these are hard to bring about; diagnosis_mutants.sh breaks the rules one by one, and
 * a row here must see each.
 */
#include "pictures.h"

#include "node/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

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

static void resting(struct kit *kit) { owned(kit, CORE_OWN_WAIT, TASK_RESTING); }

static void ready_behind_a_kernel(struct kit *kit)
{
    owned(kit, CORE_OWN_WAIT, TASK_READY);
    kit_own(kit, 1, B, CORE_OWN_RUNNING, TASK_RUNNING);
    kit->ranks[1].account.running = 1;
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
    kit->seats[1].asked_ns = 0; /* nobody asks whom a view has removed */
    kit_peer(kit, 0, 1)->state = MEMBER_REMOVED;
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

/* --- Closes ----------------------------------------------------------------------- */

static void closing(struct kit *kit)
{
    for (uint32_t rank = 0; rank < kit->picture.size; rank++)
        kit->ranks[rank].account.closing_ns = 1000000000;
}

static void one_has_not_closed(struct kit *kit)
{
    closing(kit);
    kit->ranks[2].account.closing_ns = 0;
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
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

static void two_without_a_lease(struct kit *kit)
{
    once_without_a_lease(kit);
    kit_wait(kit, 2, B);
    kit_own(kit, 1, B, CORE_OWN_WAIT, TASK_IDLE)->once = true;
}

static void long_chain(struct kit *kit)
{
    kit_wait(kit, 0, 0);
    for (int task = 0; task <= CHAIN_MAX; task++)
        kit_own(kit, 1, task, CORE_OWN_WAIT, TASK_IDLE)->input =
            kit_hash(kit, task + 1);
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

/* --- The rows --------------------------------------------------------------------- */

static const struct row {
    const char *name;
    void (*build)(struct kit *kit);
    const char *causes; /* "" for none */
    int culprit;        /* of the first */
    const char *words[4];
} rows[] = {
    {"running", running, "slow", 1, {"runs on rank 1, for 3.000 s", "keeps rank 0"}},
    {"own word", owner_by_its_own_word, "slow", 2, {"rank 0 says that rank 3 owns it"}},
    {"resting", resting, "slow", 1, {"failed on rank 1, and will be tried again"}},
    {"behind", ready_behind_a_kernel, "slow", 1, {"behind a kernel that runs there"}},
    {"away", ready_and_nobody_runs_it, "away", 1, {"no thread runs tasks"}},
    {"away, nested", ready_behind_a_kernel_that_waits, "away", 1, {NULL}},
    {"lease", once_without_a_lease, "lease", 1, {"rank 1, has no lease"}},
    {"with a lease", once_with_a_lease, "moving", 1, {NULL}},
    {"pure", pure_without_a_lease, "moving", 1, {NULL}},
    {"chain", chain_of_three, "slow", 2, {"chain: task 01010101", "waits for task 03"}},
    {"circle", circle, "cycle", NOBODY, {"2 tasks wait for each", "rank 2 does not"}},
    {"circle, twice", circle_of_two_waits, "cycle", NOBODY, {"keeps ranks 0-1"}},
    {"done", done, "moving", 1, {"on its way", "rank 1, where it is done"}},
    {"result lost", result_lost, "lost", 0, {"from rank 1 to rank 0", "2 frames"}},
    {"asking lost", motion_to_the_owner_lost, "lost", 1, {"from rank 0 to rank 1"}},
    {"result late", result_late, "moving", 1, {NULL}},
    {"all through", all_got_through, "moving", 1, {NULL}},
    {"decision", decision_under_way, "moving", 2, {"which does not know of it"}},
    {"decision lost", decision_lost, "lost", 2, {"from rank 1 to rank 2"}},
    {"evidence", evidence, "undecided", 1, {"neither spawned it nor blocked"}},
    {"demand", demand, "undecided", 1, {"who asks is further along"}},
    {"quorum", quorum, "undecided", 1, {"a majority: rank 1 is cut off"}},
    {"mode", outside_repair, "undecided", 1, {"MOOT_DIVERGENCE=repair"}},
    {"meanwhile", decided_meanwhile, "moving", 1, {NULL}},
    {"motion", motion_under_way, "moving", 1, {NULL}},
    {"motion lost", motion_lost, "lost lost", 1, {"from rank 0 to rank 1"}},
    {"not asked", not_asked_yet, "moving", 1, {NULL}},
    {"voters",
     voters_late,
     "undecided",
     1,
     {"the acceptance of rank 3, which answers"}},
    {"voter silent", voter_silent, "silent", 3, {"the vote lacks the acceptance of"}},
    {"accept lost", accept_lost, "lost", 3, {"from rank 1 to rank 3"}},
    {"reports",
     reports_late,
     "undecided",
     1,
     {"reports about the last view of rank 3"}},
    {"report lost", report_lost, "lost", 1, {"from rank 3 to rank 1"}},
    {"nobody", nobody_holds_it, "nobody", NOBODY, {"no rank holds", "rank 3 may yet"}},
    {"forgotten",
     nobody_may_have_forgotten_it,
     "nobody",
     NOBODY,
     {"no rank holds", "one of 512 tasks that had ended"}},
    {"hearsay", holder_known_to_another, "undecided", 1, {"held by: rank 3"}},
    {"holder unheard", word_of_the_holder_lost, "lost", 1, {"from rank 2 to rank 1"}},
    {"finder",
     finder_knows_nobody,
     "nobody",
     NOBODY,
     {"will find this and end a wait"}},
    {"no chair", nobody_knows_the_chair, "nobody", NOBODY, {"chair: not known"}},
    {"silent", owner_silent, "silent", 1, {"rank 1 does not drive progress"}},
    {"stopped", owner_stopped, "silent", 1, {"kill -CONT 4711"}},
    {"cut off", owner_cut_off, "lost", 1, {"from rank 0 to rank 1"}},
    {"dead", owner_dead, "dead", 1, {"its end was seen 2.000 s ago", "they agree by"}},
    {"dead by proc", owner_dead_by_proc, "dead", 1, {"rank 1: has died"}},
    {"removed", owner_removed, "silent", 1, {"rank 1: was removed"}},
    {"unasked", owner_not_asked, "moving", 1, {"rank, on which nothing here hangs"}},
    {"chair silent", chair_silent, "silent", 1, {"keeps ranks 0,2 waiting"}},
    {"no majority", dead_without_a_majority, "dead", 1, {"rank 2 gives no answer"}},
    {"closing", closing, "", NOBODY, {"no wait is open"}},
    {"open", one_has_not_closed, "open", 2, {"rank 2 has not closed", "ranks 0-1,3"}},
    {"close silent", one_does_not_answer_a_close, "silent", 2, {"keeps ranks 0-1,3"}},
    {"left", one_has_left, "", NOBODY, {"rank 2: has left"}},
    {"alike", alike, "slow", 1, {"keeps ranks 0,2-3 waiting, for 9.000 s, in 3 waits"}},
    {"worst first", slow_and_dead, "dead slow", 3, {"cause 2 of 2 [slow]"}},
    {"one silent", two_tasks_of_one_silent_rank, "silent", 1, {"keeps ranks 0,2"}},
    {"two slow", two_slow_tasks_of_one_rank, "slow slow", 1, {NULL}},
    {"behind, and it",
     two_behind_what_is_waited_for,
     "slow",
     1,
     {"task 01010101 of kernel 'work' runs on rank 1, for 3.000 s, and 2 others are "
      "ready behind it",
      "keeps ranks 0,2 waiting, for 1.000 s, in 3 waits"}},
    {"three behind",
     three_behind_a_kernel,
     "slow",
     1,
     {"of kernel 'work' and 2 others are ready on rank 1, behind a kernel that runs "
      "there: task 02020202"}},
    {"behind another",
     behind_another_than_waits,
     "slow",
     1,
     {"task 03030303 of kernel 'work' runs on rank 1, for 0 us, and 1 other is ready"}},
    {"two rest", two_that_rest, "slow", 1, {"and 1 other have failed on rank 1"}},
    {"one chair",
     two_that_one_chair_may_spawn,
     "undecided",
     1,
     {"and 1 other, and the vote lacks evidence that their chair, rank 1, will not "
      "spawn them",
      "ranks 0,2 wait for task 01010101 of kernel 'work' and 1 other like it, for "
      "1.000 s, in 4 waits",
      "... and 436 waits more of ranks 0,2, not looked into: a rank tells of 64"}},
    {"two lacks", two_lacks_of_one_chair, "undecided undecided", 1, {NULL}},
    {"two votes",
     two_votes_of_one_chair,
     "undecided",
     1,
     {"the acceptance of ranks 2-3, which answer,"}},
    {"two of nobody",
     two_that_nobody_holds,
     "nobody",
     NOBODY,
     {"no rank holds task 01010101 of kernel 'work' and 1 other: a condition may have "
      "kept their spawns from"}},
    {"two leases",
     two_without_a_lease,
     "lease",
     1,
     {"are once tasks, and their owner, rank 1, has no lease"}},
    {"cut", long_chain, "moving", NOBODY, {"... 18 tasks more", "... and so on"}},
    {"untold", told_by_nobody, "moving", NOBODY, {"is on its way"}},
    {"two move", two_that_move, "moving", 1, {"what 2 waits are for is on its way"}},
    {"nothing", nothing, "", NOBODY, {"no wait is open"}},
    {"dispute",
     two_say_who_owns_it,
     "moving",
     1,
     {"rank 0 says that rank 1 owns it; rank 2 says that rank 3 does"}},
};

static void name_causes(const struct diagnosis *diagnosis, char *out, size_t room)
{
    size_t length = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < diagnosis->finding_count; i++)
        length += (size_t)snprintf(out + length, room - length, "%s%s", i ? " " : "",
                                   cause_name(diagnosis->findings[i].cause));
}

static bool row_holds(const struct row *row)
{
    struct kit *kit = kit_new(KIT_RANKS);
    struct text text = {0};
    char causes[400];
    row->build(kit);
    struct diagnosis *diagnosis = diagnosis_new(&kit->picture);
    stall_compose(&text, &kit->picture, diagnosis);
    name_causes(diagnosis, causes, sizeof causes);
    uint32_t culprit = diagnosis->finding_count > 0 ? diagnosis->findings[0].culprit
                                                    : PLACEMENT_NOBODY;
    bool good = strcmp(causes, row->causes) == 0 && culprit == (uint32_t)row->culprit;
    for (int i = 0; i < 4 && row->words[i] != NULL; i++)
        good &= strstr(text_get(&text), row->words[i]) != NULL;
    if (!good)
        (void)fprintf(stderr, "%s: '%s', culprit %d\n%s", row->name, causes,
                      (int)culprit, text_get(&text));
    diagnosis_free(diagnosis);
    text_release(&text);
    free(kit);
    return good;
}

static void the_cause_is_the_one_built_in(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        wrong += !row_holds(&rows[i]);
    assert_int_equal(wrong, 0);
}

static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct kit *kit = kit_new(KIT_RANKS);
    more_than_there_is_room_for(kit);
    struct diagnosis *diagnosis = diagnosis_new(&kit->picture);
    assert_int_equal(diagnosis->finding_count, FINDINGS_MAX);
    assert_int_equal(diagnosis->more, 1);
    diagnosis_free(diagnosis);
    free(kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cause_is_the_one_built_in),
        cmocka_unit_test(what_finds_no_room_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
