/* board.c - see board.h. */
#include "node/tasks/board.h"

#include "hashing/base/hot.h"
#include "node/tasks/task.h"

#include <stdlib.h>
#include <string.h>

/* A seat's word: these bits, and where the names of the kernel and of the call site
 * stand on the board (0: not there). */
enum { WORD_BUSY = 1, WORD_ALONE = 2, WORD_LABELLED = 4, WORD_BLAMED = 8 };
enum { KERNEL_SHIFT = 8 };
enum { SITE_SHIFT = 32, OFFSET_MASK = 0xffffff };

struct run_board {
    struct board_seat seats[BOARD_SEATS];
    uint32_t used;               /* of the texts */
    atomic_int_fast32_t outside; /* threads of the program in its own code */
    bool full;                   /* some thread found no seat */
    atomic_bool reloads;         /* a thread is in moot_checkpoint_reload() */
    char texts[TRANSPORT_BOARD_BYTES - BOARD_SEATS * sizeof(struct board_seat) - 128];
};
static_assert(sizeof(struct run_board) <= TRANSPORT_BOARD_BYTES,
              "a board has its place");

/* The process has one, and not each context: what one of its moots can say of a rank
 * depends on whether there are others. */
static atomic_uint moots_open;

uint32_t board_moots(void) { return atomic_load(&moots_open); }

/* --- Opening ---------------------------------------------------------------------- */

bool board_open(struct moot *m)
{
    void **boards = m->group.boards;
    m->tasks.board = boards != NULL ? boards[m->group.rank] : NULL;
    m->tasks.board_own = m->tasks.board == NULL;
    if (m->tasks.board_own) {
        m->tasks.board = aligned_alloc(128, TRANSPORT_BOARD_BYTES);
        if (m->tasks.board != NULL) {
            memset(m->tasks.board, 0, TRANSPORT_BOARD_BYTES);
        }
    }
    atomic_fetch_add(&moots_open, m->tasks.board != NULL);
    return m->tasks.board != NULL;
}

void board_release(struct moot *m)
{
    atomic_fetch_sub(&moots_open, m->tasks.board != NULL);
    if (m->tasks.board_own) {
        free(m->tasks.board);
    }
    m->tasks.board = NULL;
}

const char *board_text(struct moot *m, const char *text, size_t length_max)
{
    struct run_board *board = m->tasks.board;
    const size_t length = strnlen(text, length_max);
    if (board == NULL || length >= sizeof(board->texts) - board->used) {
        return NULL;
    }
    char *copy = board->texts + board->used;
    memcpy(copy, text, length); /* the NUL is there */
    board->used += (uint32_t)length + 1;
    return copy;
}

/* --- Seats ------------------------------------------------------------------------ */

struct board_seat *board_seat(struct moot *m)
{
    for (uint32_t i = 0; i < BOARD_SEATS; i++) {
        struct board_seat *seat = &m->tasks.board->seats[i];
        if (!seat->taken) {
            seat->taken = true;
            return seat;
        }
    }
    m->tasks.board->full = true;
    return NULL;
}

void board_seat_give(struct board_seat *seat)
{
    if (seat != NULL) {
        board_leave(seat);
        seat->taken = false;
    }
}

/* Where a text stands on the board; 0: not there. */
static uint64_t offset_of(const struct moot *m, const char *text)
{
    const uintptr_t offset = (uintptr_t)text - (uintptr_t)m->tasks.board;
    return offset < TRANSPORT_BOARD_BYTES ? offset : 0;
}

COLD static void kernel_place(struct moot *m, struct kernel *kernel)
{
    kernel->on_board = board_text(m, kernel->name, LIMIT_KERNEL_NAME_BYTES);
    if (kernel->on_board == NULL) {
        kernel->on_board = kernel->name; /* which is not there, and tried no more */
    }
}

HOT void board_enter(struct moot *m, struct board_seat *seat, const struct task *task,
                     uint64_t element, bool alone)
{
    const char *label = task->seldom != NULL ? task->seldom->label : NULL;
    uint64_t word = WORD_BUSY | (alone ? WORD_ALONE : 0u);
    if (seat == NULL) {
        return;
    }
    if (task->kernel->on_board == NULL) {
        kernel_place(m, task->kernel);
    }
    if (label != NULL) {
        strncpy(seat->label, label, LIMIT_LABEL_BYTES);
        word |= WORD_LABELLED;
    }
    seat->hash = task->hash;
    board_go_on(seat, element);
    word |= offset_of(m, task->kernel->on_board) << KERNEL_SHIFT |
            offset_of(m, task_site(task)) << SITE_SHIFT;
    atomic_store_explicit(&seat->word, word, memory_order_release);
}

void board_blame(struct board_seat *seat)
{
    if (seat != NULL) {
        atomic_fetch_or(&seat->word, WORD_BLAMED);
    }
}

void board_add_outside(struct moot *m, int32_t count)
{
    if (m->tasks.board != NULL) {
        atomic_fetch_add(&m->tasks.board->outside, count);
    }
}

void board_reload(struct moot *m, bool begins)
{
    struct run_board *board = m->tasks.board;
    if (board != NULL) {
        atomic_store(&board->reloads, begins);
    }
}

/* --- Reading ---------------------------------------------------------------------- */

static void text_read(const char *board, uint64_t word, int shift, char *out,
                      size_t size)
{
    const size_t offset = word >> shift & OFFSET_MASK;
    const size_t room =
        offset < TRANSPORT_BOARD_BYTES ? TRANSPORT_BOARD_BYTES - offset : 0;
    const size_t length = offset > 0 ? strnlen(board + offset, room) : 0;
    const size_t kept = length < size ? length : size - 1;
    memcpy(out, board + offset, kept);
    out[kept] = '\0';
}

uint32_t board_read(const void *from, struct board_run *out, uint32_t most)
{
    const struct run_board *board = from;
    uint32_t count = 0;
    for (uint32_t i = 0; i < BOARD_SEATS && count < most; i++) {
        const struct board_seat *seat = &board->seats[i];
        const uint64_t word = atomic_load_explicit(&seat->word, memory_order_acquire);
        if (!(word & WORD_BUSY)) {
            continue;
        }
        struct board_run *run = &out[count++];
        *run = (struct board_run){.hash = seat->hash,
                                  .element = atomic_load(&seat->element),
                                  .alone = word & WORD_ALONE,
                                  .blamed = word & WORD_BLAMED};
        text_read(from, word, KERNEL_SHIFT, run->kernel, sizeof(run->kernel));
        text_read(from, word, SITE_SHIFT, run->site, sizeof(run->site));
        if (word & WORD_LABELLED) {
            memcpy(run->label, seat->label, LIMIT_LABEL_BYTES);
        }
    }
    return count;
}

bool board_is_crowded(const void *from)
{
    const struct run_board *board = from;
    return board->full || atomic_load(&board->outside) != 0;
}

bool board_is_reloading(const void *from)
{
    const struct run_board *board = from;
    return atomic_load(&board->reloads);
}
