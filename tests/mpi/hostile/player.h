/* player.h - a rank that plays a random program (chaos.h).
 *
 * Each lane of the program is a thread.  It spawns the tasks that are its own and that
 * its rank holds, in order; has a handle of every other; and between them waits, polls,
 * parks, opens and closes queues and groups, as dice of (seed, rank, task) say.  A rank
 * that is told that it is out ends with that.
 */
#ifndef TESTS_MPI_HOSTILE_PLAYER_H
#define TESTS_MPI_HOSTILE_PLAYER_H

#include "node/api/moot.h"
#include "tests/mpi/hostile/chaos.h"

enum {
    PLAYER_ROUNDS_KEPT = 4, /* whose kernels may run at a time */
    PLAYER_QUEUES_MAX = 3,
    PLAYER_GROUPS_DEEP = 2
};

struct player {
    moot *m;
    int rank;
    moot_kernel_id kernels[CHAOS_KIND_END], child;
    struct chaos chaos; /* of the round */
    _Atomic uint32_t round;
    struct ledger *ledger; /* of the round */
    atomic_bool over;      /* it is out */
    /* Runs of RETRIED since it last ended. */
    atomic_uint attempts[PLAYER_ROUNDS_KEPT][CHAOS_TASKS];
    uint64_t seed;   /* with rounds */
    bool has_scopes; /* a round is one */
    bool has_rounds; /* one program after another: soak.c */
};

/* One for each process: kernels have no other way to it. */
extern struct player player;

struct strand {
    uint32_t number;
    const struct chaos *chaos;
    moot_task handles[CHAOS_TASKS];
    bool released[CHAOS_TASKS];
    int scope;       /* open, or -1 */
    uint32_t scopes; /* open, with that of the round */
    struct {
        bool is_open;
        moot_data data;
        uint32_t task; /* whose result is the version */
    } datum;
    uint32_t queues, sequential; /* open; bits: which of them chain */
    uint64_t chain;              /* tasks that went through the chain that is open */
    uint32_t groups;
    uint64_t members[PLAYER_GROUPS_DEEP];
};

static inline bool player_is_out(int code)
{
    return code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM;
}

/* Tells what is wrong by itself, whatever went wrong before. */
void player_wrong(uint32_t task, const char *what);
void player_note(uint32_t task, int code, uint64_t nonce);

/* The file of a ledger, made if it is not there; NULL if that fails. */
struct ledger *ledger_open(const char *path);

/* kernels.c */
int player_register(void);
/* A program among others, drawn from the seed of its round, of one lane: between
 * threads that end and threads that begin a rank would seem to rest. */
void player_draw_round(struct chaos *chaos, uint32_t round);
/* Plays the program to its end, and waits for all of it. */
void player_play(const struct chaos *chaos);

/* meeting.c: the lane comes to this task: it spawns it, or gets a handle of it. */
void strand_meet(struct strand *strand, uint32_t task);
/* Dice of this rank for the task. */
struct dice strand_dice(const struct strand *strand, uint32_t task, uint32_t what);

/* between.c: what a lane does between tasks. */
void strand_before(struct strand *strand, uint32_t task);
void strand_after(struct strand *strand, uint32_t task);
void strand_close_queues(struct strand *strand);
void strand_close_groups(struct strand *strand);
void strand_look(struct strand *strand, uint32_t task);
void strand_release(struct strand *strand, uint32_t task);

/* strike.c: what strikes a rank from beside the plan. */
/* Before MPI starts: the process that will send the signals. */
void strike_prepare(void);
/* The moot is open. */
void strike_begin(const struct chaos *chaos, int rank);
/* Lane 0 comes to this task. */
void strike_at(const struct chaos *chaos, int rank, uint32_t task);

#endif
