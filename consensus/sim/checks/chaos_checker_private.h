/* chaos_checker_private.h - what chaos_checker.h's checks have seen; for its own files.
 *
 *     chaos_checker.c         shows every sight to who checks it; the end of a run
 *     chaos_checker_tasks.c   owners, results, waits
 *     chaos_checker_maybe.c   what may have run unseen
 *     chaos_checker_crash.c   tasks of which ranks die
 *     chaos_checker_memory.c  what is kept for others, and forgotten
 *     chaos_checker_views.c   views, leases, quorums
 */
#ifndef CONSENSUS_SIM_CHECKS_CHAOS_CHECKER_PRIVATE_H
#define CONSENSUS_SIM_CHECKS_CHAOS_CHECKER_PRIVATE_H

#include "consensus/sim/checks/chaos_checker.h"
#include "consensus/sim/checks/generations.h"
#include "consensus/sim/checks/strict_checker.h"
#include "consensus/sim/programs/ranks.h"

enum { STORM_VIEWS_MAX = 64 };

/* What has been seen of one task. */
struct chaos_seen {
    struct rankset spawned_by, started_by, ended_by;
    struct rankset adopted_by; /* of spawned_by, who was only brought it */
    struct rankset kept_by;    /* with its bytes, */
    struct rankset bound_by;   /* and who had them, and knows that no run may follow */
    struct rankset forgot;     /* who was told to forget it since */
    struct rankset let_go_by;  /* whose programs use it no more */
    struct rankset heirs; /* who said that it has them in place of one who leaves */
    struct kept {
        uint32_t owner; /* whose result it is */
        int32_t status;
        uint64_t epoch;               /* of the view in which the rank first had it */
    } *kept;                          /* by rank; NULL: nobody has it */
    struct rankset saw_well, saw_ill; /* who knows that it ended so */
    struct rankset said_unheld;       /* who counted, and said that nobody holds it, */
    struct rankset repeats_unheld;    /* or said so, whether it counted or not, */
    struct rankset saw_unheld;        /* and whose waits ended with that */
    struct rankset forgone; /* who said that it never will, though it may spawn it */
    bool disputed;          /* not all that is kept is the same */
    struct ballot {
        struct rankset acked;    /* who accepted, */
        uint32_t winner;         /* 1 + whom; 0: nobody was proposed */
    } *ballots;                  /* once: by view; NULL: there was none */
    bool decided;                /* some rank was told that it is the owner */
    struct rankset died;         /* who died of it by a fault of their own, and */
    struct rankset perished;     /* where nobody could tell it from what ran beside */
    struct rankset suspected_by; /* who was told that a rank may have died of it, */
    struct rankset brought_by;   /* and was when it entered its view; */
    struct rankset owed_to;  /* whom all these have told in its view, if it chairs it */
    struct rankset alone_at; /* who is to run it while no other kernel runs there */
    struct rankset running_at;  /* where its kernel runs now */
    struct rankset saw_crashed; /* whose waits ended with CRASHED */
    struct rankset *told;       /* by rank: of whose deaths it knows; NULL: of none */
    bool excused; /* it may fail, though the oracle says that it does not */
};

/* What has been seen of one rank. */
struct party {
    bool voted, lacked_quorum;
    bool ready;        /* it has said, in this view, that it is ready to leave */
    uint64_t ready_in; /* the latest view in which it has; 0: none */
    uint64_t epoch;
    struct rankset unreachable; /* whom it was ever cut off from, in either direction */
    struct rankset unheard_by;  /* whom its words did not reach, and none has since */
    uint32_t kernels;           /* that run there now; */
    uint32_t alone;             /* 1 + the suspect among them; 0: none */
    struct rankset proposed;    /* members of the next view, by the latest proposal */
    struct rankset voted_for;   /* the same, of the one that it voted for, if `voted` */
    struct grant {
        uint32_t from;
        uint64_t token_ns;
    } *grants; /* that it got in this epoch; the latest of each */
    uint32_t grant_count, grant_room;
};

struct view_seen {
    uint64_t epoch;      /* 0: not seen */
    uint32_t generation; /* of who has entered it */
    struct rankset members;
    struct rankset electors; /* those of them who decide about the next view */
};

struct storm_checker {
    const struct program *program;
    struct strict_checker *strict;
    uint32_t first; /* ranks of the first view; who comes later is a newcomer */
    uint32_t limit; /* ranks that there may be */
    bool boundary;  /* newcomers are let in at meetings alone */
    struct generations generations;
    bool closed_back; /* a rank that had closed went back with the others */
    /* Tasks as they were seen in each, or NULL; and in that of the rank which the
     * present sight is of. */
    struct chaos_seen *seen[GENERATIONS_MAX], *tasks;
    /* Views up to this one were of an earlier generation, as far as those knew who
     * began this one. */
    uint64_t behind[GENERATIONS_MAX];
    struct party *parties;
    struct view_seen views[STORM_VIEWS_MAX]; /* by epoch */
    uint64_t newest;
    bool faulty; /* some fault has begun */
    struct rankset gone, adjourned, fenced, disturbed;
    bool unclear;            /* something befell somebody that is no death, or a death
                                was not seen by all */
    struct rankset leaving;  /* their programs ended early */
    struct rankset crashed;  /* who died */
    struct rankset counting; /* members of the newest view who live, or adjourned */
};

/* --- chaos_checker.c ------------------------------------------------------------- */

const char *storm_task_name(const struct storm_checker *checker, uint32_t task);
/* Empty sets for a view that nobody has entered. */
const struct view_seen *storm_view(const struct storm_checker *checker, uint64_t epoch);
/* The view that the rank is in. */
const struct view_seen *storm_view_at(const struct storm_checker *checker,
                                      uint32_t rank);
/* Takes out of the set who is over; the adjourned, too. */
void storm_keep_running(const struct storm_checker *checker, struct rankset *ranks);
/* `counting`, after who is gone, or the newest view, has changed. */
void storm_count_anew(struct storm_checker *checker);
/* The task has started on a rank before this rank went back. */
bool storm_started_before(const struct storm_checker *checker, uint32_t rank,
                          uint32_t task);
/* An owner was proposed for the once task, or told so, before this rank went back, and
 * a rank that had closed then may remember it (R5). */
bool storm_owned_before(const struct storm_checker *checker, uint32_t rank,
                        uint32_t task);

/* --- chaos_checker_tasks.c ------------------------------------------------------- */

void storm_see_task(struct storm_checker *checker, struct sim *sim,
                    const struct sight *sight);
/* A chair tells an asker how the task ends, for all. */
void storm_see_decided(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight);
/* What of a task goes by messages: the ballots of once tasks. */
void storm_see_ballot(struct storm_checker *checker, const struct sight *sight);
/* Something that it depends on ended in a verdict, or failed because of one. */
bool storm_may_fail(const struct storm_checker *checker, uint32_t task);
/* Frees what it owns. */
void storm_forget_task(const struct storm_checker *checker, struct chaos_seen *seen);

/* --- chaos_checker_memory.c ------------------------------------------------------ */

/* The rank leaves in good order: others have what it had. */
void storm_see_departure(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight);
/* Keepers of the task's bytes in the view in which it is said; others may have left
 * that for one in which it is made again. */
void storm_find_keepers(const struct storm_checker *checker, const struct sight *sight,
                        struct rankset *here);
/* The rank gives a copy's bytes up; it is told to forget the task. */
void storm_see_give_up(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight);
void storm_see_forget(const struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight);
/* An input of the task was dropped there, with all of its chunk. */
bool storm_takes_dropped(const struct storm_checker *checker, uint32_t rank,
                         uint32_t index);
/* A newcomer names a once task that was dropped before it was let in. */
bool storm_was_dropped(const struct storm_checker *checker, const struct sight *sight);
/* The rank names the task, which others may have dropped before it was let in. */
void storm_begin_anew(struct storm_checker *checker, const struct sight *sight);

/* --- chaos_checker_maybe.c ------------------------------------------------------- */

/* The task of a MAYBE_RAN may have run: an owner was proposed, or told so, or those who
 * are gone could have started it in a view that the rank has been told of. */
bool storm_may_have_run(const struct storm_checker *checker, const struct sim *sim,
                        const struct sight *sight);

/* --- chaos_checker_crash.c ------------------------------------------------------- */

/* A rank has died of a fault of its own in the task's kernel; another learns of it, by
 * itself or from a report. */
void storm_see_own_fault(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight);
void storm_see_blame(struct storm_checker *checker, const struct sight *sight);
void storm_see_suspect(struct storm_checker *checker, const struct sight *sight);
/* A rank enters a view, or has settled in it: whom members of it suspect is said by
 * then. */
void storm_bring_suspects(struct storm_checker *checker, uint32_t rank);
void storm_owe_suspects(struct storm_checker *checker, const struct sight *sight);
void storm_see_reported(struct storm_checker *checker, const struct sim *sim,
                        const struct sight *sight);
/* A chair decides who owns the task; it starts. */
void storm_check_owner(const struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight);
void storm_check_started(const struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight);
/* A chair that knows enough deals elements of an array. */
void storm_check_dealt(const struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight);
/* I24: the rank is told to run a task, a chair tells its owner, its kernel starts, and
 * ends, or waits for a child. */
void storm_check_alone(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight);
/* The rank's waits for the task end so; a chair says so. */
void storm_check_crashed(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight);
/* One of those who count and remember was told CRASHED, and one NOT_HELD. */
void storm_check_told_alike(const struct storm_checker *checker, struct sim *sim,
                            const struct sight *sight);
/* Enough ranks have died of it. */
bool storm_is_deadly(const struct storm_checker *checker, const struct sim *sim,
                     uint32_t task);
/* The code with which a wait for a task that is poison may end. */
bool storm_fits_poison(const struct storm_checker *checker, const struct sim *sim,
                       uint32_t task, int32_t code);
void storm_forget_crashes(const struct storm_checker *checker, struct chaos_seen *seen);

/* --- chaos_checker_views.c ------------------------------------------------------- */

void storm_set_view(struct storm_checker *checker, const struct sim *sim,
                    uint64_t epoch, const struct rankset *members);
void storm_enter_view(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight);
void storm_see_message(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight);
void storm_see_quorum(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight);
void storm_see_fault(struct storm_checker *checker, const struct sim *sim,
                     const struct sight *sight);
/* A frame is lost on its way between hosts. */
void storm_see_lost(struct storm_checker *checker, const struct sight *sight);
/* An agent says that a rank of its host is dead: it is. */
void storm_see_told(const struct storm_checker *checker, struct sim *sim,
                    const struct sight *sight);
/* By what the rank has heard, as its own clock counts. */
bool storm_holds_lease(const struct storm_checker *checker, const struct sim *sim,
                       uint32_t rank);
/* By half of who decides in the last view, the one who counts the votes included, who
 * sends none. */
bool storm_was_voted_out(const struct storm_checker *checker, uint32_t rank);
void storm_forget_party(struct party *party);

#endif
