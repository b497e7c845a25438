/* transport_check.h - what the checks of `moot check-transport` are made of: processes
 * that hold an end of a transport each, and a board in memory that they share.
 *
 * A check forks some *seats*.  Each opens the transport, writes its uid and address on
 * the board, introduces whom it finds there, and exchanges frames whose bytes are a
 * function of who sends them, to whom, and as the how-manieth.  So a receiver knows
 * each frame, and sees what is lost, changed, or out of order.  The parent watches,
 * kills and stops seats, and reads on the board why one failed, or in which slot it is
 * stuck.
 */
#ifndef NODE_CLI_TRANSPORT_CHECK_H
#define NODE_CLI_TRANSPORT_CHECK_H

#include "node/api/moot_transport.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SEATS_MAX = 4, WHY_BYTES = 256 };

/* A seat's word to all. */
struct check_card {
    uint64_t uid;
    size_t length;
    unsigned char address[MOOT_TRANSPORT_ADDRESS_MAX];
    _Atomic int stage;               /* how far it is */
    _Atomic(const char *) slot;      /* that it is in; NULL: none */
    _Atomic uint64_t slot_since_ns;  /* since when */
    _Atomic bool gone;               /* killed by the parent */
    _Atomic uint64_t halted_ns;      /* when it was stopped, as tend() counts */
    _Atomic bool halted;             /* was, or is, stopped by it */
    _Atomic uint64_t got[SEATS_MAX]; /* frames from each */
    _Atomic uint64_t sent[SEATS_MAX];
    char why[WHY_BYTES]; /* it failed; "" */
};

struct check_board {
    uint64_t job;
    unsigned char secret[MOOT_TRANSPORT_SECRET_BYTES];
    struct check_card cards[SEATS_MAX];
};

struct transport_check;

/* A seat's own. */
struct check_seat {
    const struct transport_check *check;
    const moot_transport *table;
    const char *options;
    struct check_board *board;
    struct check_card *card; /* this one's */
    int me, count;
    moot_wire *wire;
    uint64_t next[SEATS_MAX];    /* number of the next frame from each, if reliable */
    uint64_t sent_ns[SEATS_MAX]; /* when the last frame went to each */
    size_t longest;              /* frame that came */
};

struct transport_check {
    const char *name;
    int seats;
    int rounds;                           /* it is run so often */
    int seconds;                          /* a round is to be done in */
    void (*run)(struct check_seat *seat); /* in each seat's process */
    /* In the parent, again and again.  May be NULL. */
    void (*tend)(struct check_board *board, const int *pids, uint64_t elapsed_ns);
    size_t (*size_of)(const moot_transport *table, uint64_t number); /* of frames */
};

/* Runs one; true: it is well.  why has WHY_BYTES. */
bool transport_check_run(const struct transport_check *check,
                         const moot_transport *table, const char *options, char *why);

/* --- For a seat.  What goes wrong is written on the board, and ends the process. ----
 */

uint64_t seat_now_ns(void);

__attribute__((format(printf, 2, 3), noreturn)) void seat_fail(struct check_seat *seat,
                                                               const char *format, ...);

void seat_open(struct check_seat *seat);              /* and writes the card */
void seat_introduce(struct check_seat *seat, int to); /* whose card is written */
void seat_forget(struct check_seat *seat, int to);
void seat_close(struct check_seat *seat);

/* Sends the next frame to that seat; false: the wire is full. */
bool seat_send(struct check_seat *seat, int to);
/* Likewise; and false where a wire that may lose frames has not brought most of them,
 * and the last went just now: it need not hold them for a peer that gets no turn. */
bool seat_send_paced(struct check_seat *seat, int to);
/* Sends a few bytes to that uid, and returns what send() does. */
int seat_try(struct check_seat *seat, uint64_t uid);
int seat_poll(struct check_seat *seat);
/* Polls until the wire is flushed, which it is to be soon. */
void seat_flush(struct check_seat *seat);

/* Says that it is at this stage. */
void seat_reach(struct check_seat *seat, int stage);
/* Polls, if it is open, until that seat is at the stage, or is gone; or all are. */
void seat_await(struct check_seat *seat, int who, int stage);
void seat_await_all(struct check_seat *seat, int stage);
/* Polls for so long. */
void seat_linger(struct check_seat *seat, uint64_t ns);

/* Sends `count` frames to each of the seats in the set `to`, and waits for what they
 * send here. */
void seat_exchange(struct check_seat *seat, unsigned to, uint64_t count);

bool seat_is_reliable(const struct check_seat *seat);

/* The checks, in transport_check_rows.c. */
extern const struct transport_check transport_checks[];
extern const size_t transport_check_count;

#endif
