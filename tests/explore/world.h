/* world.h - a few real cores, their programs, and everything that may happen to them
 * next.
 *
 * A *scene* says how many ranks there are, what each one's program does, and which
 * faults may come and how often.  A *world* is a scene that is under way.  Its *moves*
 * are all that may happen next:
 *
 *   deliver  the oldest message of one rank to another arrives
 *   program  a rank's program takes its next line
 *   end      the kernel that a rank has run longest ends; or, if none runs, its disk
 * has written what it was told to die      a rank dies (so often as the scene allows)
 *   certify  a rank hears for certain that another is dead
 *   time     nobody does anything until the next timer of any rank is due
 *   hold     what would come next waits until nothing else may come
 *   wait     a scene of ballots: a rank's clock goes on to its next turn or vote
 *   certify  likewise, with `solo`: a rank takes those for dead whom it does not hear
 *   lose     likewise: the oldest message of one rank to another does not arrive
 *
 * A scene without a bound has every order of these.  That is too many for all but the
 * smallest.  A scene with *holds* has an order in which they come by themselves:
 * programs and kernels first, then messages.  So often as the scene allows, what is
 * first in that order is put last, from then on.  One hold is a message, or a rank's
 * program, that is late by as much as may be; what takes n of these to come about is
 * found with n holds.  Faults come at any moment in either.
 *
 * A scene of *ballots* is about views alone (world_ballots.c): the cores are real, but
 * what they say about anything else goes nowhere, and each rank has a clock of its own,
 * since no rank compares clocks.  So these worlds are small enough for every order.
 *
 * Time passes freely where nothing else may happen, and otherwise as often as the scene
 * allows: then messages are late, beyond timers.  Between any two ranks messages arrive
 * in the order in which they were sent, once.  Those of a rank that has died still
 * arrive, unless its death is certified first.
 *
 * The host keeps the contract of core.h, as tests/fuzz/events_world.h does.  After each
 * move what PROTOCOL.md demands is looked at; the invariants' numbers are its own:
 *
 *   I1   the ranks that count have taken a result of one owner
 *   I2   at most one rank that counts has run a pure task
 *   I3   a once task has started on one rank, ever
 *   I10  no message of another view of the same number is taken (Rule E)
 *   I12  ranks that live are in one view of each number
 *   I15  no rank that counts has NOT_HELD of a task that another, or itself, has had
 * the end of
 *   I20  who came to a meeting is among those who came, as it is told
 *   I23  CRASHED is said of what so many ranks died of, and does not start then
 *   I36  ranks that live, in one view, know one list of who came to a meeting
 *   I37  nobody is let in while a member that lives is at no boundary
 *   I45  who is told of a snapshot is told of one whose commit is durable, as are the
 *        parts of all members that it names
 *   I47  a reload begins when its mark is durable
 *   V3   a rank without a quorum claims and yields nothing
 *   --   no core has counted a violation, refused its host, or failed core_hold()
 *   I16  when nothing may happen any more each program has ended (world_unfinished)
 *
 * A rank counts while it is live and a member of the newest view that any rank has
 * entered.
 */
#ifndef TESTS_EXPLORE_WORLD_H
#define TESTS_EXPLORE_WORLD_H

#include "consensus/core.h"
#include "tests/explore/arena.h"

#include <stdio.h>

enum {
    WORLD_RANKS = 5,
    WORLD_TASKS = 5,
    WORLD_LINES = 14,
    WORLD_DRAWN = 3,
    WORLD_OPENING = 6,
    WORLD_MOVES = 64,
    WORLD_BALLOT_RANKS = 4, /* of a scene of ballots */
    WORLD_VIEWS = 4,        /* so many are agreed on in one */
    WORLD_HOLDS = 100
};

/* A line of a program. */
enum line_what {
    LINE_END, /* closes, and ends */
    LINE_SPAWN,
    LINE_HINT, /* spawns what its peers may not */
    LINE_WAIT, /* for the bytes */
    LINE_FREE, /* the program uses it no more */
    LINE_DECLINE,
    LINE_CANCEL,
    LINE_MEET,     /* for a purpose, a number; 0: a boundary */
    LINE_SNAPSHOT, /* of that name, a number */
    LINE_RELOAD,   /* of that snapshot, a number */
    LINE_PASS,     /* a newcomer's, told by its host: so many meetings were before */
    LINE_LEAVE     /* and ends */
};
struct line {
    enum line_what what;
    uint32_t task;
};

/* The first steps of a scene are always the same; the search begins behind them. */
enum opening_what {
    OPENING_END,
    OPENING_STARTS,  /* goes on, in the order of a scene with holds, until the rank has
                        started the task, */
    OPENING_TAKES,   /* or taken the message */
    OPENING_STOPS,   /* nothing of the rank arrives at the other, until it has died */
    OPENING_LACKS,   /* or has lost its quorum */
    OPENING_PARTS,   /* nothing arrives any more, of anybody at anybody, */
    OPENING_HEALS,   /* or all does again, that was sent meanwhile, too */
    OPENING_SETTLES, /* all that was sent arrives, in one order */
    OPENING_RESTS,   /* the rank's program and kernels stand still for the rest of it */
    OPENING_DIES     /* the rank dies */
};
struct opening {
    enum opening_what what;
    uint32_t rank;
    uint32_t which; /* the task, the message's type, the other rank */
};

struct scene {
    const char *name;
    const char *says; /* what it is there for */
    uint32_t ranks;
    struct {
        uint32_t chair; /* in the first view */
        bool once;
        uint32_t candidates; /* a bit for each; 0: all */
        struct {             /* bits: of these members, if any, */
            uint32_t members;
            uint32_t chair;  /* this rank is the chair, */
            uint32_t voters; /* and these the voters; 0: any */
        } drawn[WORLD_DRAWN];
    } tasks[WORLD_TASKS];
    uint32_t task_count;
    struct line programs[WORLD_RANKS][WORLD_LINES];
    uint32_t started;    /* so many lines of each program are behind it when the search
                            begins */
    uint32_t may_die;    /* a bit for each rank that may */
    uint32_t deaths;     /* at most so many do */
    uint32_t may_die_in; /* the view; 0: any */
    struct opening opening[WORLD_OPENING]; /* behind the lines that are `started` */
    uint32_t asleep;         /* a bit for each rank that does nothing while others do */
    uint32_t uncertain;      /* and for each whose death nobody certifies */
    uint32_t crashes;        /* so many deaths end a task that ran there; 0: none do */
    uint32_t kernels_end_in; /* with holds: this view, when nothing else comes; 0: as
                                soon as may be */
    bool never_maybe;        /* nothing here may end a wait with MAYBE_RAN */
    uint32_t dead_first; /* a bit for each rank that is dead when the search begins */
    uint32_t times;      /* so often time passes while messages are under way */
    bool detection; /* heartbeats and leases, without which nobody is ever removed */
    bool solo, joinable;
    uint32_t newcomers; /* so many of the ranks, the last, ask to be let in at a
                           boundary; their programs begin when they are */
    bool in_time;       /* none of them that lives is left out */
    uint32_t voters;
    uint64_t drop_above;
    uint64_t lot_after, pass_after; /* core_options; with the first of these a chunk of
                                       the roll ends at each task but the first */
    uint32_t ballots;      /* so many views are agreed on, and nothing else happens */
    uint32_t losses;       /* of ballots: so many messages at most do not arrive */
    struct {               /* with ballots, and a bit for each rank: */
        uint32_t silent;   /* this rank has not heard these for the suspect time */
        uint32_t suspects; /* likewise, and it has noticed */
        uint32_t gives_up; /* with `solo`: these, all others, it takes for dead at some
                              moment after its first vote */
        uint32_t told;     /* these have told it whom they suspect */
        uint32_t granted;  /* these have a lease from it that has yet to run out */
        uint32_t ready;    /* these leave, and it knows that they are ready */
        uint32_t waits;    /* a number: so often its clock goes on */
    } knows[WORLD_BALLOT_RANKS];
    uint32_t slow;        /* with holds: a bit for each rank whose messages come last */
    uint32_t holds;       /* 0: every order */
    uint32_t holds_quick; /* in a quick run; 0: the scene is left out of it */
    uint64_t states; /* not 0: there are more than can be seen: so many, and none in a
                        quick run */
};

/* The scenes that there are; the last has no name. */
extern const struct scene scenes[];

/* A move, and its bit in a set of them. */
typedef uint32_t world_move;
static inline uint64_t move_bit(world_move move) { return UINT64_C(1) << move; }

static inline world_move move_first(uint64_t moves) /* some */
{
    world_move move = 0;
    while ((moves & move_bit(move)) == 0) {
        move++;
    }
    return move;
}

struct world;

/* The world at its beginning, in a fresh arena; of the scene's holds so many. */
struct world *world_open(const struct scene *scene, uint32_t holds);
uint64_t world_moves(const struct world *world);
void world_play(struct world *world, world_move move);
/* Neither order of the two makes a difference, and neither keeps the other from
 * happening. */
bool world_independent(const struct scene *scene, world_move a, world_move b);
struct digest128 world_digest(struct world *world);

/* The fault that it has; NULL: nothing.  The text lives until the next call. */
const char *world_wrong(const struct world *world);
/* The fault of a world in which there are no moves any more. */
const char *world_unfinished(const struct world *world);

/* In words, before it is played. */
void world_tell(const struct world *world, world_move move, FILE *out);

#endif
