/* program_draft.h - a program while it is drawn; program_random.c's,
 * program_arrays.c's and program_script.c's.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_PROGRAM_DRAFT_H
#define CONSENSUS_SIM_PROGRAMS_PROGRAM_DRAFT_H

#include "consensus/sim/programs/program.h"
#include "consensus/sim/programs/random.h"

/* What the streams of a seed are for. */
enum {
    STREAM_CANCELS,
    STREAM_STYLE,
    STREAM_TASKS,
    STREAM_HOLDERS,
    STREAM_SCRIPTS,
    STREAM_CHILDREN
};
#define STREAM_SCOPES (UINT64_MAX / 2) /* beyond those of all scripts */
#define STREAM_VARIES (STREAM_SCOPES + 1)
#define STREAM_IDEMPOTENT (STREAM_SCOPES - 2)
#define STREAM_LATE_CANCELS (STREAM_SCOPES + 2)
#define STREAM_MEETS (STREAM_SCOPES - 1)
#define STREAM_SESSIONS (STREAM_SCOPES - 4)
#define STREAM_LATE_PLACES (STREAM_SCOPES + 3) /* and of each rank */
#define STREAM_BESIDE (STREAM_SCOPES - 5)
#define STREAM_POISON (STREAM_SCOPES - 3)
#define STREAM_HARVESTS (STREAM_SCOPES - 5)
#define STREAM_ARRAYS (STREAM_SCOPES - 6)
#define STREAM_ARRAY_PARTS (STREAM_SCOPES - 7)
#define STREAM_ARRAY_STRETCHES (STREAM_SCOPES - 8)
#define STREAM_ARRAY_PORTABLES (STREAM_SCOPES - 9)
#define STREAM_ARRAY_HOMES (STREAM_SCOPES - 10)
#define STREAM_PARKS (UINT64_MAX / 4) /* and of each script */

struct style {
    uint32_t tasks;
    uint32_t reach;      /* how far back an input lies, at most */
    uint32_t inputs_max; /* per task */
    uint32_t diverge_per_mille;
    uint32_t branch_max; /* tasks in a row with the same holders */
    uint32_t window;     /* a rank spawns any of the next `window` that are ready */
    uint32_t wait_per_mille;
    uint32_t final_per_mille; /* of all tasks, fetched at the end of each script */
    uint32_t work_us_max;
    bool waits_alike; /* agreeing: even the waits are the same on all ranks */
};

/* Where lanes 0 meet.  A rank comes to the first few of them; one may come to one of
 * these for another purpose. */
struct meets {
    uint32_t count;
    uint32_t place[PROGRAM_MEETS_MAX]; /* ascending; each after what is up to there */
    uint32_t comes_to[PROGRAM_RANKS_MAX];
    uint32_t odd_rank, odd_meet;           /* PROGRAM_RANKS_MAX: none */
    bool ends[PROGRAM_MEETS_MAX];          /* a session, which is no meeting then */
    uint32_t leaves_at[PROGRAM_RANKS_MAX]; /* there; PROGRAM_MEETS_MAX: nowhere */
};

struct program_draft {
    struct program *program;
    struct style style;
    struct meets meets;
};

static inline bool has(const struct program_draft *draft, enum program_feature feature)
{
    return (draft->program->features & (uint32_t)feature) != 0;
}

static inline bool list_has(const struct program_list *list, uint32_t item)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == item) {
            return true;
        }
    }
    return false;
}

/* Each of so many ranks with that chance, which is of a thousand. */
uint64_t random_ranks(struct random *random, uint32_t count, uint32_t per_mille);
/* An array's candidates, of which one is there from the beginning. */
uint64_t draft_homes(const struct program *program, struct random *random);
/* Makes some of the tasks arrays (program_arrays.c). */
void draft_arrays(const struct program_draft *draft, const struct program_list *top);

/* Writes the rank's script for a lane.  `top` lists the top-level tasks by index. */
void draft_write_script(const struct program_draft *draft,
                        const struct program_list *top, uint32_t rank, uint32_t lane);

#endif
