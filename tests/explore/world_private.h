/* world_private.h - what the files of a world know of each other.
 *
 *     world.c         moves, their order, playing them, opening, digests
 *     world_host.c    a host and the lines of its program
 *     world_disk.c    a host's disk, and snapshots
 *     world_ballots.c scenes that are about views alone
 *     world_told.c    what is wrong, and a move in words
 *
 * All of it stands in the arena, the world first.
 */
#ifndef TESTS_EXPLORE_WORLD_PRIVATE_H
#define TESTS_EXPLORE_WORLD_PRIVATE_H

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "consensus/state/core_state.h"
#include "consensus/state/state.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/copy.h"
#include "tests/explore/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BALLOTS_BEGIN_NS UINT64_C(1000000000000) /* by every rank's clock */

enum {
    OPENING_MOVES = 1000,
    US = 1000,
    MS = 1000000,
    RESULT_BYTES = 8,
    NO_TASK = WORLD_TASKS,
    WORLD_MEETINGS = 4, /* that are looked at */
    WORLD_COMMITS = 8   /* that may become durable */
};

/* Numbers: messages by sender and receiver, then what concerns a rank, then time. */
enum {
    MOVE_DELIVER = 0,
    MOVE_CERTIFY = WORLD_RANKS * WORLD_RANKS,
    MOVE_PROGRAM = MOVE_CERTIFY + WORLD_RANKS,
    MOVE_END = MOVE_PROGRAM + WORLD_RANKS,
    MOVE_DIE = MOVE_END + WORLD_RANKS,
    MOVE_TIME = MOVE_DIE + WORLD_RANKS,
    MOVE_HOLD,
    MOVE_LOSE, /* with ballots; by sender and receiver */
    MOVE_COUNT = MOVE_LOSE + WORLD_BALLOT_RANKS * WORLD_BALLOT_RANKS,
    MOVE_WAIT = MOVE_PROGRAM /* with ballots, in its place */
};
static_assert((int)MOVE_COUNT <= (int)WORLD_MOVES, "moves stand in sets of 64");

struct entry {
    struct core_entry core;
    uint32_t task;
};

struct parcel {
    struct message *message;
    uint64_t members; /* of its sender's view */
};

struct link {
    struct parcel *items;
    uint32_t count, room;
};

struct host {
    struct core *core;
    struct digest128 digest; /* of all that the core holds, as of its last step; zero:
                                not taken since */
    bool dead, over;         /* over: adjourned, fenced or gone */
    bool at_end;             /* its program has */
    uint64_t now_ns;         /* its clock; with ballots each has its own */
    uint32_t waits;          /* that may still come, with ballots */
    uint32_t line;
    uint32_t waits_for; /* the task; NO_TASK: for none */
    bool meets, woken, no_quorum;
    bool snaps; /* it waits for a snapshot */
    struct disk {
        bool parts, commits, marks; /* it is to write such a thing: */
        uint64_t epoch, commit_epoch;
        uint32_t number, commit_number, generation;
        moot_hash id, commit_id;
        uint64_t named, members; /* by the commit: whose parts; of its view */
        moot_hash durable;       /* the last part that it has */
    } disk;
    uint64_t decided;   /* claims and yields, when it had a quorum last */
    uint32_t certified; /* deaths that it has been told */
    uint64_t epoch, members;
    uint64_t came[WORLD_MEETINGS]; /* to each; 0: it does not know */
    uint32_t running[WORLD_TASKS]; /* oldest first */
    uint32_t running_count;
    struct {
        bool held, ran, kept, well;
        int32_t verdict;
        uint32_t owner; /* of what is kept */
        int32_t status;
    } tasks[WORLD_TASKS];
};

struct world {
    const struct scene *scene;
    uint64_t now_ns;
    uint32_t deaths, times, holds, losses; /* that may still come */
    bool opening;                          /* a scene of ballots is being set up */
    uint64_t decided[WORLD_VIEWS + 2];     /* with ballots: members, by the view's
                                              number; 0: nobody has said */
    uint8_t order[MOVE_DIE];               /* of moves that are no faults, with holds */
    uint64_t uids[WORLD_RANKS];
    moot_hash hashes[WORLD_TASKS];
    struct host hosts[WORLD_RANKS];
    struct link links[WORLD_RANKS][WORLD_RANKS];
    uint32_t stopped[WORLD_RANKS];    /* by sender: a bit for whom nothing arrives at */
    uint32_t started[WORLD_TASKS];    /* a bit for each rank that ever did */
    uint32_t died_of[WORLD_TASKS];    /* and for each that died of it */
    moot_hash commits[WORLD_COMMITS]; /* that are durable, on any disk; */
    uint32_t commit_count;
    uint32_t marked; /* and the latest mark's generation */
    char wrong[160]; /* the first thing that was */
};

#define require(world, condition)                                                      \
    do {                                                                               \
        if (!(condition)) {                                                            \
            world_fault(world, "the host's contract: " #condition);                    \
        }                                                                              \
    } while (0)

/* world_disk.c: what goes to a host's disk, and comes back. */
bool disk_is_busy(const struct host *host);
void disk_write(struct world *world, uint32_t rank); /* the first that it is told to */
void disk_carry(struct world *world, uint32_t rank, const struct core_output *output);
/* world_ballots.c: what is other in a scene of ballots. */
void ballots_options(const struct scene *scene, struct core_options *options);
void ballots_open(struct world *world);
uint64_t ballots_moves(const struct world *world);
void ballots_play(struct world *world, world_move move);
bool ballots_independent(world_move a, world_move b);
/* Notes what the message decides; false: it goes nowhere. */
bool ballots_carry(struct world *world, uint32_t from, uint32_t to,
                   const struct message *message);
void ballots_check(struct world *world);
void ballots_tell(const struct world *world, world_move move, FILE *out);

uint64_t world_decided(const struct core *core);       /* its claims and yields */
uint32_t world_first_ranks(const struct world *world); /* of the first view */
/* The oldest message of a link, taken out of it. */
struct message *world_take_first(struct world *world, uint32_t from, uint32_t to);
void world_deliver(struct world *world, uint32_t from, uint32_t to);
void world_settle(struct world *world); /* all messages arrive, in one order */
void world_end_host(struct world *world, uint32_t rank);
void world_fault(struct world *world, const char *what); /* the first counts */
bool world_sleeps(const struct world *world, uint32_t rank);
bool host_may_go_on(const struct host *host);
world_move world_first(const struct world *world, uint64_t moves);
uint64_t world_plain_moves(const struct world *world);
uint32_t world_uncertified(const struct world *world, uint32_t rank);
uint32_t world_rank_of(world_move move);
uint64_t world_next_deadline(const struct world *world);
void world_check(struct world *world);
uint32_t world_task_of(const struct world *world, const moot_hash *hash);
void host_deafen(struct world *world, uint32_t rank);
int host_step(struct world *world, uint32_t rank, const struct core_event *event);
void host_set_lane(struct world *world, uint32_t rank, enum core_lane_state state);
void host_play_line(struct world *world, uint32_t rank);
void host_tick(struct world *world, uint32_t rank); /* what is due at once */

static inline bool host_is_live(const struct host *host)
{
    return !host->dead && !host->over;
}

static inline bool world_is_death(world_move move)
{
    return move >= MOVE_DIE && move < MOVE_TIME;
}

#endif
