/* board.h - what this rank is running, where it outlives the rank.
 *
 * A rank has a board: memory that the ranks of its host share (struct transport_group),
 * or its own where there is none.  Each thread that runs kernels has a seat on it, with
 * the task of the innermost kernel there: one that is suspended in a wait does not run.
 * Names of kernels and call sites stand on the board once; a seat points to them.  To
 * take a seat for a task is three stores, and one to leave it (and a copy of the label,
 * if there is one).  Of an array its element stands there.
 *
 * Which thread a process died in is not told by the system.  Where the rank knows it,
 * because it ends itself or a kernel calls exit(), the seat says so; and how many
 * threads of the program are in its own code stands there, as they might have been it.
 *
 * Who outlives the rank reads its board, and learns what it died of.  A board is
 * another process's to write: what is read there may be anything.
 *
 * Written under the engine lock, but for which element it is, and read after the
 * writer's death.
 */
#ifndef NODE_TASKS_BOARD_H
#define NODE_TASKS_BOARD_H

#include "node/context/context.h"

#include <stdatomic.h>

/* False without memory.  A board that is shared goes with the transport. */
bool board_open(struct moot *m);
void board_release(struct moot *m);

/* The number of moots that are open in this process. */
uint32_t board_moots(void);

/* A copy of the text on the board; NULL if there is no room. */
const char *board_text(struct moot *m, const char *text, size_t length_max);

/* A seat for a thread; NULL if all are taken: what runs there is not told then. */
struct board_seat *board_seat(struct moot *m);
void board_seat_give(struct board_seat *seat); /* NULL is accepted */

enum { BOARD_SEATS = 64 };

struct board_seat {
    _Alignas(128) atomic_uint_fast64_t word; /* 0: no kernel runs there */
    moot_hash hash;
    atomic_uint_fast64_t element; /* 1 + its index in that array; 0: none */
    char label[LIMIT_LABEL_BYTES + 1];
    bool taken; /* by a thread */
};

/* Publishes the kernel that the thread is about to enter, and that it has left it.  The
 * seat may be NULL; `element` as there. */
void board_enter(struct moot *m, struct board_seat *seat, const struct task *task,
                 uint64_t element, bool alone);
/* The kernel goes on with another element of that array; outside the engine lock. */
static inline void board_go_on(struct board_seat *seat, uint64_t element)
{
    if (seat != NULL) {
        atomic_store_explicit(&seat->element, element, memory_order_relaxed);
    }
}

/* The thread that has the seat ends the process. */
void board_blame(struct board_seat *seat);

/* Adds threads of the program that are in its own code: neither in a kernel nor
 * in a wait. */
void board_add_outside(struct moot *m, int32_t count);

/* Publishes that a thread is in moot_checkpoint_reload(), and that it is no more. */
void board_reload(struct moot *m, bool begins);

static inline void board_leave(struct board_seat *seat)
{
    if (seat != NULL) {
        atomic_store_explicit(&seat->word, 0, memory_order_release);
    }
}

/* One kernel that a rank was in when it died. */
struct board_run {
    moot_hash hash;
    uint64_t element; /* 1 + its index in that array; 0: none */
    bool alone;       /* no other kernel was to run beside it */
    bool blamed;      /* its thread ended the process */
    char kernel[LIMIT_KERNEL_NAME_BYTES + 1], site[LIMIT_SITE_BYTES + 1],
        label[LIMIT_LABEL_BYTES + 1]; /* "": not known, or none */
};

/* The board of a dead rank: so many of its kernels, `most` at most, are
 * written to `out`. */
uint32_t board_read(const void *board, struct board_run *out, uint32_t most);
/* Other threads than those of its seats may have been in code of the program. */
bool board_is_crowded(const void *board);
bool board_is_reloading(const void *board);

#endif
