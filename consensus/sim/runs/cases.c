/* cases.c - the scenes, as written programs.
 *
 * A scene picks the chairs of its tasks by their arguments (seat()), and the order of
 * events by how long ranks compute.  Then it leaves everything to the cores.
 */
#include "consensus/sim/runs/cases.h"
#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/checker.h"
#include "consensus/sim/runs/cases_private.h"
#include "consensus/sim/runs/transcript.h"
#include <inttypes.h>
#include <stdlib.h>

enum { DISK_NS = 20000, GOES_BACK = 2 };

struct scene {
    const char *name, *story;
    uint32_t ranks;
    void (*write)(struct program *program);
    bool fails;               /* its waits may end in errors */
    uint64_t vote_timeout_ns; /* 0: never */
    uint64_t leave_ns;        /* when rank 1 leaves; 0: it does not */
    uint64_t kill_ns;         /* when it dies; 0: it does not */
    int disks;                /* 0: none; 1: ranks store; GOES_BACK: and go back */
};

/* --- Scenes ----------------------------------------------------------------------- */

static void write_claim(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add(p, "b", 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        spawn(p, rank, b);
    }
}

static void write_push(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add_consumer(p, "b", a, 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        spawn(p, rank, b);
        fetch(p, rank, b);
    }
}

static void write_offer(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add_consumer(p, "b", a, 1);
    p->tasks[a].result_bytes = LIMIT_PUSH_BYTES + 1;
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        spawn(p, rank, b);
    }
    fetch(p, 1, b);
}

static void write_ask(struct program *p)
{
    uint32_t a = add(p, "a", 0);
    spawn(p, 0, a);
    spawn(p, 1, a);
    fetch(p, 1, a);
    compute(p, 0, 1000);
}

static void write_skips(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add(p, "b", 1), c = add_consumer(p, "c", b, 0);
    spawn(p, 0, a);
    spawn(p, 1, a);
    spawn(p, 0, b);
    spawn(p, 0, c);
    spawn(p, 1, c);
    fetch(p, 0, c);
    fetch(p, 1, c);
}

static void write_closed(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    compute(p, 0, 100);
    spawn(p, 0, a);
    fetch(p, 0, a);
}

static void write_hint(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    p->tasks[a].hint = true;
    spawn(p, 0, a);
    compute(p, 0, 20);
    fetch(p, 0, a);
    compute(p, 1, 500);
}

static void write_decline(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    spawn(p, 0, a);
    fetch(p, 0, a);
    compute(p, 1, 50);
    program_add_step(p, 1, 0, PROGRAM_DECLINE, a);
    compute(p, 1, 500);
}

static void write_nested(struct program *p)
{
    uint32_t a = add(p, "a", 0);
    uint32_t child = program_add_task(p, "a.child", (int32_t)a);
    p->tasks[child].awaited = true;
    p->tasks[child].work_us = 10;
    seat(p, child, 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        fetch(p, rank, a);
    }
}

static void write_once(struct program *p)
{
    uint32_t a = program_add_task(p, "a", PROGRAM_NONE);
    p->tasks[a].once = true;
    p->tasks[a].work_us = 10;
    seat(p, a, 0);
    spawn(p, 0, a);
    for (uint32_t rank = 1; rank < 3; rank++) {
        spawn(p, rank, a);
        compute(p, rank, 100);
    }
    fetch(p, 1, a);
}

static void write_once_yielded(struct program *p)
{
    uint32_t a = program_add_task(p, "a", PROGRAM_NONE);
    p->tasks[a].once = true;
    p->tasks[a].work_us = 10;
    seat(p, a, 0);
    spawn(p, 1, a);
    compute(p, 1, 50);
    fetch(p, 1, a);
    compute(p, 2, 100);
}

static void write_seek(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    fetch(p, 0, a);
    compute(p, 2, 100);
    spawn(p, 2, a);
}

static void write_not_held(struct program *p)
{
    uint32_t a = add(p, "a", 1), b = add(p, "b", 0);
    fetch(p, 0, a);
    spawn(p, 0, b);
    spawn(p, 1, b);
    fetch(p, 1, b);
    fetch(p, 0, b);
}

static void write_nobody_will(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    compute(p, 0, 100);
    program_add_step(p, 0, 0, PROGRAM_DECLINE, a);
    fetch(p, 0, a);
}

static void write_cycle(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add(p, "b", 1);
    program_list_add(&p->tasks[a].after, b);
    program_list_add(&p->tasks[b].after, a);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        spawn(p, rank, b);
        fetch(p, rank, rank == 0 ? a : b);
    }
}

static void write_late(struct program *p)
{
    uint32_t a = add(p, "a", 1), b = add(p, "b", 2);
    p->tasks[b].work_us = 400;
    spawn(p, 0, a);
    fetch(p, 0, a);
    spawn(p, 1, b);
    fetch(p, 1, b);
    spawn(p, 1, a);
    fetch(p, 1, a);
    spawn(p, 2, b);
}

static void write_nobody_waits(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    spawn(p, 0, a);
}

static void write_portable(struct program *p)
{
    uint32_t a = program_add_task(p, "a", PROGRAM_NONE);
    p->tasks[a].portable = true;
    p->tasks[a].work_us = 10;
    seat(p, a, 1);
    spawn(p, 0, a);
    fetch(p, 0, a);
    compute(p, 1, 300);
}

static void write_candidates(struct program *p)
{
    uint32_t a = program_add_task(p, "a", PROGRAM_NONE);
    p->tasks[a].candidates = 1u << 1 | 1u << 2;
    p->tasks[a].work_us = 10;
    while (sim_chair_of(p, a) != 1 || sim_finder_of(p, a) != 3) {
        p->tasks[a].salt++;
    }
    fetch(p, 0, a);
    spawn(p, 2, a);
    compute(p, 3, 100);
}

static void write_two_waiters(struct program *p)
{
    uint32_t a = add(p, "a", 2);
    p->tasks[a].work_us = 400;
    spawn(p, 0, a);
    fetch(p, 0, a);
    compute(p, 1, 100);
    spawn(p, 1, a);
    fetch(p, 1, a);
}

static void write_failure(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add_consumer(p, "b", a, 1);
    p->tasks[a].fails = true;
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        spawn(p, rank, b);
        fetch(p, rank, b);
    }
}

static void write_timeout(struct program *p)
{
    uint32_t a = add(p, "a", 1);
    spawn(p, 0, a);
    fetch(p, 0, a);
    compute(p, 1, 1000);
}

static void write_cancel(struct program *p)
{
    uint32_t d = add(p, "d", 0), a = add(p, "a", 0), b = add_consumer(p, "b", a, 1);
    program_list_add(&p->tasks[a].inputs, d);
    seat(p, a, 0);
    seat(p, b, 1);
    p->tasks[d].work_us = 200;
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, d);
        spawn(p, rank, a);
        spawn(p, rank, b);
    }
    compute(p, 1, 20);
    cancel(p, 1, a);
    for (uint32_t rank = 0; rank < 2; rank++) {
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, b);
    }
}

static void write_cancel_voted(struct program *p)
{
    uint32_t a = add(p, "a", 0);
    cancel(p, 2, a);
    spawn(p, 1, a);
    program_add_step(p, 1, 0, PROGRAM_WAIT_ALL, a);
    compute(p, 0, 100);
    program_add_step(p, 2, 0, PROGRAM_WAIT_ALL, a);
}

static void write_leave(struct program *program)
{
    uint32_t a = add(program, "a", 1), b = add(program, "b", 1);
    uint32_t d = add(program, "d", 2), c = add_consumer(program, "c", d, 1);
    for (int i = 0; i < 2; i++) { /* by then its heir is rank 2 */
        program->tasks[a].salt++;
        seat(program, a, 1);
    }
    program->tasks[b].work_us = 120;
    program->tasks[d].work_us = 200;
    const uint32_t tasks[] = {a, b, d, c};
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 4; i++) {
            spawn(program, rank, tasks[i]);
        }
    }
    fetch(program, 1, c);
    fetch(program, 2, c);
    compute(program, 0, 400);
    fetch(program, 0, c);
    fetch(program, 0, a);
    fetch(program, 0, b);
}

static void write_snapshot(struct program *p)
{
    uint32_t n = add(p, "n", 0), t = add_consumer(p, "t", n, 1);
    p->tasks[n].varies = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(p, rank, n);
        spawn(p, rank, t);
    }
    fetch(p, 2, t);
    program_add_step(p, 2, 0, PROGRAM_SNAPSHOT, PROGRAM_NONE);
    compute(p, 0, 1000);
    compute(p, 1, 1000);
}

static void write_reload(struct program *p)
{
    uint32_t a = add(p, "a", 0), b = add(p, "b", 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(p, rank, a);
        fetch(p, rank, a);
        if (rank == 0) {
            program_add_step(p, rank, 0, PROGRAM_SNAPSHOT, PROGRAM_NONE);
        }
        spawn(p, rank, b);
        fetch(p, rank, b);
        compute(p, rank, 200);
        program_add_step(p, rank, 0, PROGRAM_RELOAD, PROGRAM_NONE);
    }
}

static const struct scene scenes[] = {
    {"array",
     "All ranks spawn an array of six tasks and wait for it: each runs its two, and "
     "says\n"
     "once that they have ended (A6, A11).",
     3, scene_write_array, false, 0, 0, 0, 0},
    {"array-after",
     "Array b is to follow array a: its elements run as soon as a rank has them, and\n"
     "its end, at its chair, comes after that of a, which is pushed there (A0).",
     2, scene_write_array_after, false, 0, 0, 0, 0},
    {"array-skipped",
     "Rank 2 does not spawn the array before it is blocked behind it: asked for its\n"
     "elements it gives them up, and the others run them.  When it spawns the array "
     "after\n"
     "all it runs none (A8).",
     3, scene_write_array_skipped, false, 0, 0, 0, 0},
    {"array-adopted",
     "Rank 0 alone spawns a portable array, and chairs it.  With the question for "
     "their\n"
     "stretches the spec goes to the other homes: they adopt the array and run these\n"
     "(A8).",
     3, scene_write_array_adopted, false, 0, 0, 0, 0},
    {"array-parts",
     "Each rank spawns a part of an array.  What its home has not spawned the home "
     "gives\n"
     "up when it is asked, and who has spawned it runs it; an element that nobody has\n"
     "spawned waits until rank 1 spawns it, too (A5, A8).",
     3, scene_write_array_parts, false, 0, 0, 0, 0},
    {"array-unheld",
     "No rank spawns the last element of an array before it waits.  When nothing "
     "moves\n"
     "any more the array ends without it; rank 1, which spawns it after all, runs\n"
     "nothing (A8).",
     3, scene_write_array_unheld, true, 0, 0, 0, 0},
    {"array-death",
     "Rank 1 dies before its elements have ended.  In the view without it the array's\n"
     "chair has those run that nobody has (A12).",
     3, scene_write_array_death, false, 0, 0, 20000, 0},
    {"array-stretch",
     "The same array, of a once kernel: what rank 1 leaves goes to one rank, all of\n"
     "it (A17).",
     3, scene_write_array_stretch, false, 0, 0, 20000, 0},
    {"array-candidates",
     "An array with candidates, ranks 1 and 3: these are its homes.  Rank 1 dies "
     "before\n"
     "its elements have ended; they are given to rank 3, though all have spawned the\n"
     "array (A3, A12).",
     4, scene_write_array_candidates, false, 0, 0, 20000, 0},
    {"array-cancel",
     "Rank 1 cancels an array: its chair tells all, and no element begins any more.\n"
     "The end comes when those that had begun have ended.  Rank 2, which spawns the\n"
     "array later, has given its elements up (A14).",
     3, scene_write_array_cancel, false, 0, 0, 0, 0},
    {"claim", "Both ranks spawn both tasks, and each runs the one that it chairs (T2).",
     2, write_claim, false, 0, 0, 0, 0},
    {"push", "Task b needs a, on another rank: a's owner sends it unasked (T3a).", 2,
     write_push, false, 0, 0, 0, 0},
    {"offer",
     "As push, but the result is very large: the push is an offer, and the bytes\n"
     "follow when the consumer has asked for them (T3a).",
     2, write_offer, false, 0, 0, 0, 0},
    {"ask",
     "Rank 1 waits for a task of rank 0, and rank 0's program does not show it:\n"
     "after the ask delay rank 1 sends a motion (T3).",
     2, write_ask, false, 0, 0, 0, 0},
    {"chair-skips",
     "Rank 1 chairs b and skips it.  Rank 0, which runs c, needs b; rank 1 waits\n"
     "for c.  Blocked at or past the place of whoever waits, rank 1 will not\n"
     "spawn b in time: it yields b to a rank that holds it (T5).",
     2, write_skips, false, 0, 0, 0, 0},
    {"chair-closed", "The chair's program is over when somebody asks (T5).", 2,
     write_closed, false, 0, 0, 0, 0},
    {"hint",
     "Rank 0 says that its spawn is conditional: the chair, busy with something\n"
     "else, need not be blocked (T5).",
     2, write_hint, false, 0, 0, 0, 0},
    {"decline", "The chair takes the other branch and says so (T5).", 2, write_decline,
     false, 0, 0, 0, 0},
    {"vote-timeout",
     "The chair is busy in its own code for a long time, and a vote timeout of\n"
     "0.1 ms is set (T5).",
     2, write_timeout, false, 100000, 0, 0, 0},
    {"nested",
     "A running task spawns a child that another rank chairs: only the spawner\n"
     "holds it, so the chair yields at once (T5).",
     2, write_nested, false, 0, 0, 0, 0},
    {"once", "A once task starts after a majority of its three voters accepts (T8).", 3,
     write_once, false, 0, 0, 0, 0},
    {"once-yielded",
     "As once, but the chair skips it: the winner starts after the vote and the\n"
     "decision (T5, T8).",
     3, write_once_yielded, false, 0, 0, 0, 0},
    {"two-waiters",
     "The chair has yielded; another rank asks later, and the owner hears of it\n"
     "(T6).",
     3, write_two_waiters, false, 0, 0, 0, 0},
    {"late-registration",
     "Rank 1 is blocked and yields a; then it spawns a after all, and is one more\n"
     "holder that does not run it (T2).",
     3, write_late, false, 0, 0, 0, 0},
    {"seek",
     "Rank 0 waits for the hash of a task that it never spawned; the chair does\n"
     "not hold it either, and asks around.",
     3, write_seek, false, 0, 0, 0, 0},
    {"candidates",
     "Rank 0 waits for a task whose owner must be rank 1 or 2, which its hash\n"
     "does not tell: rank 3, the finder, learns the candidates from a holder and\n"
     "refers rank 0 to the chair.",
     4, write_candidates, false, 0, 0, 0, 0},
    {"portable",
     "The spec of a portable task travels with the motion: the chair adopts the\n"
     "task, and is a holder like any other.",
     2, write_portable, false, 0, 0, 0, 0},
    {"nobody-waits", "A task that nobody waits for runs too (T1a).", 2,
     write_nobody_waits, false, 0, 0, 0, 0},
    {"failure", "A failed task has a result too: its error, which fails its consumer.",
     2, write_failure, false, 0, 0, 0, 0},
    {"not-held",
     "Rank 0 waits for what no rank holds, and rank 1 for what rank 0 would spawn\n"
     "next.  When nothing moves any more, first what is held is yielded; when\n"
     "nothing moves again, rank 0's wait ends, and the program goes on (QUIET).",
     2, write_not_held, true, 0, 0, 0, 0},
    {"nobody-will",
     "As not-held, but every rank has said that it never will hold it: no need to\n"
     "wait until all is quiet.",
     2, write_nobody_will, true, 0, 0, 0, 0},
    {"cycle",
     "Two tasks are declared to come after each other.  (Ranks may differ in what\n"
     "they declare, so no rank alone can see it.)  A chase from owner to owner\n"
     "finds the circle.",
     2, write_cycle, true, 0, 0, 0, 0},
    {"cancel",
     "Rank 1 cancels a, which waits for d on rank 0: its owner ends it, and what\n"
     "takes its result fails.",
     2, write_cancel, false, 0, 0, 0, 0},
    {"cancel-voted",
     "Rank 2 cancels what its chair has not spawned: the chair keeps it in mind,\n"
     "and tells the rank to which it yields the task (T5).",
     3, write_cancel_voted, false, 0, 0, 0, 0},
    {.name = "snapshot",
     .story =
         "n varies, and t is made from it.  Rank 2 asks for a snapshot.  Each rank "
         "makes\n"
         "its cut when it hears of it, and writes its part; when all parts are "
         "durable\n"
         "rank 0's disk writes that the snapshot exists, and only then rank 2 is told.",
     .ranks = 3,
     .write = write_snapshot,
     .disks = 1},
    {.name = "snapshot-death",
     .story =
         "As snapshot, but rank 1 dies before its part is durable.  The view ends the\n"
         "attempt, and rank 2 asks anew in the next; what rank 1 had stored is in.",
     .ranks = 3,
     .write = write_snapshot,
     .kill_ns = 62000,
     .disks = 1},
    {.name = "reload",
     .story = "All ranks go back to a snapshot.  They meet twice: for the snapshot, "
              "and then to\n"
              "reload it, when no kernel starts any more.  When all have come rank 0's "
              "disk\n"
              "writes the mark, and only then all are told; the next view begins, in "
              "which no\n"
              "task is known.  Here the programs begin anew, and do not go back again.",
     .ranks = 3,
     .write = write_reload,
     .disks = GOES_BACK},
    {"leave",
     "Rank 1 leaves: it has run a, runs b, and has not started c.  It gives c\n"
     "to rank 2, which runs it; finishes b; hands a and b over; and goes.",
     3, write_leave, false, 0, 60000, 0, 0},
};
enum { SCENE_COUNT = sizeof(scenes) / sizeof(scenes[0]) };

size_t scene_count(void) { return SCENE_COUNT; }

const char *scene_name(size_t index)
{
    return index < SCENE_COUNT ? scenes[index].name : NULL;
}

static bool is_stormy(const struct scene *scene)
{
    return scene->leave_ns != 0 || scene->kill_ns != 0 || scene->disks == GOES_BACK;
}

/* A scene that somebody leaves is under a storm without faults; one in which somebody
 * dies, under one with that alone; so is one in which all go back. */
static bool run_stormy(const struct scene *scene, struct sim_options *options,
                       struct sim_weather *weather, struct sim_report *report)
{
    struct storm storm;
    struct plan plan = {.rule_count = scene->disks == GOES_BACK ? 0 : 1};
    const bool leaves = scene->leave_ns != 0;
    plan.rules[0] =
        (struct plan_rule){.fault = leaves ? PLAN_LEAVE : PLAN_KILL,
                           .chance_ppb = PLAN_CERTAIN_PPB,
                           .when = PLAN_AT_TIME,
                           .at_ns = leaves ? scene->leave_ns : scene->kill_ns,
                           .lasts_ns = PLAN_FOREVER};
    (void)plan_ranks_add(&plan.rules[0].ranks, 1, 1);
    const struct storm_request request = {.ranks = scene->ranks, .given = &plan};
    storm_default(&request, weather, &storm);
    options->storm = &storm;
    options->plan = &plan;
    bool good = storm_checker_run(options, report);
    storm_release(&storm);
    options->storm = NULL; /* these are on this stack */
    options->plan = NULL;
    return good;
}

/* --- Running a scene -------------------------------------------------------------- */

static void print_sum(const struct sim_report *report, FILE *to)
{
    static const enum message_type told[] = {
        MESSAGE_MOTION,  MESSAGE_DECISION, MESSAGE_RESULT, MESSAGE_PULL,
        MESSAGE_SEEK,    MESSAGE_REFER,    MESSAGE_ACCEPT, MESSAGE_ACK,
        MESSAGE_VERDICT, MESSAGE_CANCEL};
    const char *separator = "\nIn all:";
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        if (report->counts.sent[told[i]] != 0) {
            fprintf(to, "%s %" PRIu64 " %s", separator, report->counts.sent[told[i]],
                    message_type_name(told[i]));
            separator = ",";
        }
    }
    fputs(*separator == '\n' ? "\nIn all: nothing but gossip\n" : "\n", to);
}

/* Waits end as they end: the transcript says how. */
static void expect_any(struct checker *checker, const struct program *program)
{
    for (uint32_t task = 0; task < program->task_count; task++) {
        if (!program_ghost(program, task) && program->tasks[task].after.count > 0) {
            checker_expect(checker, task, CHECKER_ANY_ERROR);
        }
    }
}

bool scene_tell(size_t index, FILE *to, struct sim_report *report)
{
    const struct scene *scene = &scenes[index];
    struct sim_weather weather = {
        .latency_ns = 2000,
        .bulk_ns = 0,
        .step_ns = 1000,
        .workers = 1,
        .ask_delay_ns = 50000,
        .gossip_period_ns = 100000,
        .vote_timeout_ns =
            scene->vote_timeout_ns != 0 ? scene->vote_timeout_ns : CORE_NEVER,
        .voters = 3,
        .disks = scene->disks > 0,
        .disk_ns = scene->disks > 0 ? DISK_NS : 0,
    };
    struct program *program = program_blank(1, scene->ranks, 1);
    scene->write(program);
    program_finish(program);
    fprintf(to, "%s\n\n", scene->story);
    struct checker *checker = checker_new(program);
    if (scene->fails) {
        expect_any(checker, program);
    }
    struct narrator *narrator = narrator_new(program, to, NARRATOR_STORY);
    const struct sim_watcher watchers[] = {narrator_watcher(narrator),
                                           checker_watcher(checker)};
    struct sim_options options = {.program = program,
                                  .seed = 1,
                                  .weather = &weather,
                                  .notes = true,
                                  .watchers = watchers,
                                  .watcher_count = is_stormy(scene) ? 1 : 2};
    bool good = is_stormy(scene)
                    ? run_stormy(scene, &options, &weather, report)
                    : sim_run(&options, report) && checker_finish(checker, report);
    print_sum(report, to);
    narrator_free(narrator);
    checker_free(checker);
    program_free(program);
    return good;
}
