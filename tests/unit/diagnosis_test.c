/* diagnosis_test.c - the cause of a stall is the one that was built into the picture.
 *
 * A row is a picture (diagnosis_scenes.h, standing_scenes.h), and what is found in it:
 * the causes, the worst first, who is to act on the first one, and words of the report
 * that nobody should have to miss.  tests/cli/stalls_test.sh shows the same on real
 * ranks, where some of these are hard to bring about; diagnosis_mutants.sh breaks the
 * rules one by one, and a row here must see each.
 */
#include "tests/unit/array_scenes.h"
#include "tests/unit/standing_scenes.h"

#include "node/explain/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* --- The rows --------------------------------------------------------------------- */

static const struct row {
    const char *name;
    void (*build)(struct kit *kit);
    const char *causes; /* "" for none */
    int culprit;        /* of the first */
    const char *words[4];
} rows[] = {
    {"running", running, "slow", 1, {"runs on rank 1, for 3.000 s", "keeps rank 0"}},
    {"a second", running_for_a_second, "slow", 1, {"runs on rank 1, for 1.000 s"}},
    {"less", running_for_less, "moving", 1, {NULL}},
    {"a tenth", running_for_a_tenth_of_a_stall, "slow", 1, {"for 90 ms"}},
    {"less than a tenth", running_for_less_than_a_tenth, "moving", 1, {NULL}},
    {"never",
     kernels_that_may_never_return,
     "slow slow",
     1,
     {"runs on rank 1, for 60.000 s; no run of its kernel has ended there yet\n"
      "      next: it may never return: look at its kernel (gdb -p",
      "keeps nobody waiting yet",
      "runs on rank 2, for 70.000 s; the longest run of its kernel that has ended "
      "there "
      "took 7.000 s\n"}},
    {"yet", kernels_that_may_yet_return, "", NOBODY, {"no wait is open"}},
    {"never, awaited",
     awaited_kernel_that_may_never_return,
     "slow",
     1,
     {"it may never return", "keeps rank 0 waiting"}},
    {"waits for long", kernel_that_waits_for_long, "slow", 2, {"runs on rank 2"}},
    {"short", ready_behind_a_short_kernel, "moving", 1, {"where it is ready to run"}},
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
    {"demand", demand, "undecided", 1, {"the rank that asks is further along"}},
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
    {"nobody",
     nobody_holds_it,
     "nobody",
     NOBODY,
     {"no rank holds", "rank 3 may yet",
      "once all ranks rest; rank 3 does not (lane 0 in the program's own code for"}},
    {"parked",
     nobody_holds_it_beside_a_parked_rank,
     "nobody",
     NOBODY,
     {"once all ranks rest; rank 3 does not (lane 0 parked for",
      "since a parked program may go on and act", "moot_barrier() in the place"}},
    {"parked, at work",
     nobody_holds_it_beside_a_parked_rank_at_work,
     "nobody",
     NOBODY,
     {"); a program that waits in the moot rests"}},
    {"parked, and not",
     nobody_holds_it_beside_two,
     "nobody",
     NOBODY,
     {"ranks 2-3 do not (rank 2: lane 0 in the program's own code for",
      "); a program that waits in the moot rests, so moot_barrier() does"}},
    {"demand, parked",
     demand_of_a_parked_chair,
     "undecided",
     1,
     {"the chair is parked, with",
      "next: if it takes another branch, moot_decline() before it parks"}},
    {"away, parked",
     ready_at_a_parked_rank,
     "away",
     1,
     {"a wait there would run it, too, and so does moot_mpi_wait()\n"}},
    {"two may",
     two_may_yet_spawn_it,
     "nobody",
     NOBODY,
     {"ranks 2-3 may yet spawn it",
      "ranks 2-3 do not (rank 2: lane 0 in the program's own code for"}},
    {"of the dead",
     nobody_holds_what_the_dead_held,
     "nobody",
     NOBODY,
     {"from happening, or ranks 2-3, which died or were voted out, held it",
      "will find this and end a wait with MOOT_ERR_NOT_HELD",
      "rank 2: has died; last heard of 2.000 s ago\n"}},
    {"forgotten",
     nobody_may_have_forgotten_it,
     "nobody",
     NOBODY,
     {"no rank holds", "one of 512 tasks that had ended"}},
    {"hearsay", holder_known_to_another, "undecided", 1, {"held by: rank 3"}},
    {"holder unheard", word_of_the_holder_lost, "lost", 1, {"from rank 2 to rank 1"}},
    {"no candidate",
     holder_is_no_candidate,
     "nobody",
     1,
     {"no candidate of task 01010101 of kernel 'work' has spawned it: rank 2, which "
      "holds it, is none, and its chair, rank 1, lacks it\n",
      "next: spawn it on a candidate",
      "with MOOT_ERR_NOT_HELD once all ranks rest; rank 3 does not"}},
    {"candidates",
     candidates_are_known,
     "nobody",
     1,
     {"and its chair, rank 1, lacks it; only ranks 1,3 may own it\n",
      "held by: rank 2, which is no candidate; candidates: ranks 1,3\n"}},
    {"other candidates",
     two_with_other_candidates,
     "nobody",
     1,
     {"lacks them; only ranks 0-1,3 may own them\n", " and 1 other like it, for",
      "held by: rank 2, which is no candidate; candidates: ranks 0-1,3\n"}},
    {"all, or a candidate",
     one_of_two_has_a_candidate,
     "nobody",
     NOBODY,
     {"rank 3 may yet spawn them\n", "held by: nobody\n",
      "held by: nobody; candidate: rank 1\n"}},
    {"a candidate holds it",
     one_of_the_holders_may_own_it,
     "undecided",
     1,
     {"held by: ranks 2-3; candidates: ranks 1,3\n"}},
    {"another candidate",
     another_holder_may_be_a_candidate,
     "undecided",
     1,
     {"the answer is under way"}},
    {"refused", holder_has_refused, "undecided", 1, {"the answer is under way"}},
    {"one of two",
     one_has_no_candidate,
     "nobody nobody",
     1,
     {"no candidate of task 01", "no rank holds task 02"}},
    {"two others",
     two_without_a_candidate,
     "nobody nobody",
     1,
     {"rank 3, which holds"}},
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
    {"removed",
     owner_removed,
     "silent",
     1,
     {"was voted out\n",
      "rank 1: was removed; last heard of 2.000 s ago: 12 tasks on the roll"}},
    {"unasked", owner_not_asked, "moving", 1, {"rank, on which nothing here hangs"}},
    {"chair silent", chair_silent, "silent", 1, {"keeps ranks 0,2 waiting"}},
    {"no majority", dead_without_a_majority, "dead", 1, {"rank 2 gives no answer"}},
    {"dead and removed", dead_after_another_was_removed, "dead", 1, {"they agree by"}},
    {"closing", closing, "", NOBODY, {"no wait is open"}},
    {"open", one_has_not_closed, "open", 2, {"rank 2 has not closed", "ranks 0-1,3"}},
    {"close silent", one_does_not_answer_a_close, "silent", 2, {"keeps ranks 0-1,3"}},
    {"meeting",
     meeting,
     "absent",
     2,
     {"rank 2 has not come to moot_barrier(), moot_scope_tasks(), "
      "moot_session_next() or moot_checkpoint_reload() number 3",
      "keeps ranks 0-1,3"}},
    {"not at a reload",
     one_has_not_come_to_a_reload,
     "absent",
     2,
     {"rank 2 has not come to moot_checkpoint_reload() number 3", "every rank calls it",
      "keeps ranks 0-1,3"}},
    {"kernel in a reload",
     a_kernel_runs_in_a_reload,
     "slow",
     2,
     {" runs on rank 2, for ", ", and moot_checkpoint_reload() waits for it",
      "keeps ranks 0-3"}},
    {"meeting silent", one_does_not_answer_a_meeting, "silent", 2, {"ranks 0-1,3"}},
    {"meeting closed",
     one_closes_before_a_meeting,
     "",
     NOBODY,
     {"where all ranks meet (number 3)"}},
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
     {"task 03030303 of kernel 'work' runs on rank 1, for 2.000 s, and 1 other is "
      "ready"}},
    {"two rest", two_that_rest, "slow", 1, {"and 1 other have failed on rank 1"}},
    {"one chair",
     two_that_one_chair_may_spawn,
     "undecided",
     1,
     {"and at least 1 other, and the vote lacks evidence that their chair, rank 1, "
      "will not "
      "spawn them",
      "ranks 0,2 wait for task 01010101 of kernel 'work' and 1 other like it, for "
      "1.000 s, in 4 waits",
      "... and 436 more waits of ranks 0,2, not looked into: a rank tells of 64"}},
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
    {"two chairs",
     two_of_two_chairs,
     "nobody",
     NOBODY,
     {"ranks 0,2 wait for task 01010101 of kernel 'work' and 1 other like it, for "
      "1.000 s, in 4 waits\n        chairs: ranks 1,3, which are not known to hold "
      "theirs; owner: none is known; held by: nobody\n  what each"}},
    {"chairs differ",
     two_of_chairs_that_differ,
     "undecided undecided",
     1,
     {"chair: rank 1, which holds it; owner: none is known; held by: rank 1",
      "chair: rank 3, which is not known to hold it; owner: none is known; held by: "
      "rank 1"}},
    {"a chair and none",
     two_of_one_chair_and_none,
     "nobody",
     NOBODY,
     {"chair: rank 1, which is not known to hold it;", "chair: not known;"}},
    {"two leases",
     two_without_a_lease,
     "lease",
     1,
     {"are once tasks, and their owner, rank 1, has no lease"}},
    {"cut", long_chain, "moving", NOBODY, {"... 18 tasks more", "... and so on"}},
    {"untold", told_by_nobody, "moving", NOBODY, {"is on its way"}},
    {"two move", two_that_move, "moving", 1, {"what 2 waits are for is on its way"}},
    {"nothing", nothing, "", NOBODY, {"no wait is open"}},
    {"unspawned",
     elements_of_nobody,
     "nobody",
     NOBODY,
     {"no rank has spawned elements 40-59,70 and 14 more of array 20202020 of kernel "
      "'work': each rank has spawned a part of it, or nothing, and rank 3 may yet "
      "spawn "
      "more\n",
      "with MOOT_ERR_NOT_HELD once all ranks rest; rank 3 does not",
      "elements: 20 of 100 are known to have ended; no rank has spawned elements 40"}},
    {"unspawned, trust",
     elements_of_nobody_in_trust,
     "nobody",
     NOBODY,
     {"or do not wait for the array; in trust mode the moot ends no such wait\n"}},
    {"unclaimed",
     elements_unclaimed,
     "undecided",
     2,
     {"elements 50-74 of array 20202020 of kernel 'work' are for rank 2 to run, which "
      "is not known to have spawned them; rank 2 has neither spawned its share nor "
      "given it up (lane 0 in the program's own code",
      "next: spawn them there;", "are for rank 2 to run, or to give up\n"}},
    {"given up soon", elements_about_to_be_given_up, "moving", 1, {NULL}},
    {"busy chair",
     elements_whose_chair_is_busy,
     "undecided",
     1,
     {"the array's chair, rank 1, asks for them when its program waits (lane 0"}},
    {"unheard", elements_spawned_unheard, "moving", 1, {NULL}},
    {"a part", elements_of_a_part, "undecided", 2, {"rank 2 has neither spawned"}},
    {"elements, mode",
     elements_outside_repair,
     "undecided",
     2,
     {"outside of repair mode nobody runs them", "MOOT_DIVERGENCE=repair would"}},
    {"home silent", home_silent, "silent", 2, {"rank 2 does not drive progress"}},
    {"home lost", word_of_a_home_lost, "lost", 1, {"from rank 2 to rank 1"}},
    {"element",
     element_slow,
     "slow",
     3,
     {"element 70 of array 20202020 of kernel 'work' runs on rank 3, for 3.000 s, and "
      "29 more of it are to run there\n",
      "rank 3 is to run elements 70-99; element 70 has run for 3.000 s\n",
      "rank 2 is to run elements 70-99; element 70 has run for 1 ms\n"}},
    {"element, fast", element_fast, "moving", 2, {NULL}},
    {"elements, away",
     elements_away,
     "away",
     2,
     {"elements 50-74 of array 20202020 of kernel 'work' wait on rank 2, where no "
      "thread runs tasks"}},
    {"elements, chain",
     elements_lack_others,
     "slow",
     3,
     {"element 70 of array 20202020",
      "chain: array 22222222 of kernel 'work' on rank 0",
      "waits for array 20202020 of kernel 'work' on rank 1",
      "rank 0 is to run elements 0-24; 25 lack what they take"}},
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
    for (uint32_t i = 0; i < diagnosis->finding_count; i++) {
        length += (size_t)snprintf(out + length, room - length, "%s%s", i ? " " : "",
                                   cause_name(diagnosis->findings[i].cause));
    }
}

static bool row_holds(const struct row *row)
{
    struct kit *kit = kit_new(KIT_RANKS);
    struct text text = {0};
    char causes[400];
    row->build(kit);
    struct diagnosis *diagnosis = diagnosis_new(&kit->picture);
    stall_compose(&text, &kit->picture, diagnosis);
    name_causes(diagnosis, causes, sizeof(causes));
    uint32_t culprit = diagnosis->finding_count > 0 ? diagnosis->findings[0].culprit
                                                    : PLACEMENT_NOBODY;
    bool good = strcmp(causes, row->causes) == 0 && culprit == (uint32_t)row->culprit;
    for (int i = 0; i < 4 && row->words[i] != NULL; i++) {
        good &= strstr(text_get(&text), row->words[i]) != NULL;
    }
    if (!good) {
        (void)fprintf(stderr, "%s: '%s', culprit %d\n%s", row->name, causes,
                      (int)culprit, text_get(&text));
    }
    diagnosis_free(diagnosis);
    text_release(&text);
    free(kit);
    return good;
}

static void the_cause_is_the_one_built_in(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        wrong += !row_holds(&rows[i]);
    }
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

static void a_long_list_of_ranks_is_counted(void **state)
{
    (void)state;
    static const struct {
        uint32_t ranks, apart; /* so many, one in so many */
        const char *text;
    } lists[] = {
        {1, 1, "rank 0"},
        {64, 1, "ranks 0-63"},
        {12, 20, "ranks 0,20,40,60,80,100,120,140,160,180,200,220"},
        {33, 2,
         "ranks 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40 and 12 more"},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct rankset ranks = {0};
        struct text text = {0};
        for (uint32_t rank = 0; rank < lists[i].ranks; rank++) {
            assert_true(rankset_add(&ranks, rank * lists[i].apart));
        }
        stall_add_few_ranks(&text, &ranks);
        assert_string_equal(text_get(&text), lists[i].text);
        text_release(&text);
        rankset_release(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cause_is_the_one_built_in),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(a_long_list_of_ranks_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
