/* transport_check_rows.c - the checks of `moot check-transport`, one function for the
 * seats of each, and one for the parent that kills and stops some.
 *
 * A slot's contract stands in moot_transport.h; each check holds a table against a part
 * of it.
 */
#include "node/cli/transport_check.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Stages that seats reach. */
enum { OPENED = 1, READY, BUSY, CALM, COUNTED, DONE };

enum { ABSENT = 1000, SOME = 200 };
#define MS UINT64_C(1000000)
#define HELD_BYTES ((uint64_t)64 << 20)

static unsigned set_others(const struct check_seat *seat)
{
    return ((1u << seat->count) - 1) & ~(1u << seat->me);
}

/* Opens, and introduces those of the set. */
static void begin(struct check_seat *seat, unsigned known)
{
    seat_open(seat);
    seat_reach(seat, OPENED);
    for (int i = 0; i < seat->count; i++) {
        if ((known >> i & 1) != 0) {
            while (atomic_load(&seat->board->cards[i].stage) < OPENED) {
                (void)usleep(100);
            }
            seat_introduce(seat, i);
        }
    }
    seat_reach(seat, READY);
}

/* Ends when all do. */
static void end(struct check_seat *seat)
{
    seat_reach(seat, DONE);
    seat_await_all(seat, DONE);
    seat_close(seat);
}

/* --- Sizes of frames -------------------------------------------------------------- */

/* Each power of two, and one byte less and more, and the longest. */
static size_t size_powers(const moot_transport *table, uint64_t number)
{
    enum { ALL = 3 * 23 };
    const uint64_t n = number % ALL;
    const size_t size = ((size_t)1 << n / 3) + n % 3 - 1;
    return size == 0 ? 1 : size > table->frame_max ? table->frame_max : size;
}

/* Mostly short, some long. */
static size_t size_mixed(const moot_transport *table, uint64_t number)
{
    const size_t size = number % 50 == 49 ? table->frame_max / 2
                                          : 16 + (size_t)(number * 2654435761u % 2000);
    return size > table->frame_max ? table->frame_max : size;
}

static size_t size_long(const moot_transport *table, uint64_t number)
{
    (void)number;
    return table->frame_max > 16384 ? 16384 : table->frame_max;
}

/* --- Checks ----------------------------------------------------------------------- */

static void run_opening(struct check_seat *seat)
{
    for (int i = 0; i < 4; i++) {
        seat_open(seat);
        seat_flush(seat);
        seat_linger(seat, 5 * MS);
        seat_close(seat);
    }
}

static void run_sizes(struct check_seat *seat)
{
    begin(seat, set_others(seat));
    seat_exchange(seat, set_others(seat), seat_is_reliable(seat) ? 69 : 690);
    if (seat->longest < seat->table->frame_max) {
        seat_fail(seat,
                  "frame_max is %zu, and the longest frame that came has %zu bytes",
                  seat->table->frame_max, seat->longest);
    }
    seat_flush(seat);
    end(seat);
}

static void run_flood(struct check_seat *seat)
{
    begin(seat, set_others(seat));
    seat_exchange(seat, set_others(seat), 2000);
    end(seat);
}

/* Sends until that seat's frames are not taken for 300 ms, or make HELD_BYTES. */
static void fill_wire(struct check_seat *seat, int to)
{
    const uint64_t most = HELD_BYTES / seat->check->size_of(seat->table, 0) + SOME;
    uint64_t full_ns = 0;
    while (atomic_load(&seat->card->sent[to]) < most) {
        if (seat_send(seat, to)) {
            full_ns = 0;
        } else if (full_ns == 0) {
            full_ns = seat_now_ns();
        } else if (seat_now_ns() - full_ns > 300 * MS) {
            return;
        }
        (void)seat_poll(seat);
    }
}

static void run_full(struct check_seat *seat)
{
    struct check_board *board = seat->board;
    const int other = 1 - seat->me;
    begin(seat, set_others(seat));
    if (seat->me == 1) {
        (void)nanosleep(&(struct timespec){.tv_sec = 3}, NULL); /* polls not */
        seat_reach(seat, BUSY);
        seat_await(seat, 0, CALM);
        const uint64_t sent = atomic_load(&board->cards[0].sent[1]);
        const uint64_t end_ns = seat_now_ns() + 500 * MS;
        while (seat_is_reliable(seat) ? atomic_load(&seat->card->got[0]) < sent
                                      : seat_now_ns() < end_ns) {
            (void)seat_poll(seat);
        }
        if (atomic_load(&seat->card->got[0]) == 0) {
            seat_fail(seat, "of %llu frames none came", (unsigned long long)sent);
        }
        end(seat);
        return;
    }
    seat_await(seat, other, READY);
    fill_wire(seat, other);
    seat_await(seat, other, BUSY);
    const uint64_t before = atomic_load(&seat->card->sent[other]);
    while (atomic_load(&seat->card->sent[other]) < before + SOME) {
        (void)seat_send(seat, other);
        (void)seat_poll(seat);
    }
    seat_reach(seat, CALM);
    end(seat);
}

static void expect_unknown(struct check_seat *seat, uint64_t uid, const char *who)
{
    const int code = seat_try(seat, uid);
    if (code != MOOT_ERR_INVALID) {
        seat_fail(seat, "send() to a uid that %s gave %d, not MOOT_ERR_INVALID (%d)",
                  who, code, MOOT_ERR_INVALID);
    }
    const char *story = seat->table->story(seat->wire);
    if (story == NULL || *story == '\0') {
        seat_fail(seat, "send() to a uid that %s left story() empty", who);
    }
}

static void run_unknown(struct check_seat *seat)
{
    const int other = 1 - seat->me;
    begin(seat, 0);
    seat_await(seat, other, READY);
    expect_unknown(seat, seat->board->cards[other].uid, "was not introduced");
    seat_forget(seat, other); /* of nobody */
    seat_introduce(seat, other);
    seat_reach(seat, BUSY);
    seat_await(seat, other, BUSY);
    seat_exchange(seat, 1u << other, SOME);
    seat_reach(seat, CALM);
    seat_await(seat, other, CALM);
    seat_forget(seat, other);
    expect_unknown(seat, seat->board->cards[other].uid, "was forgotten");
    seat_linger(seat, 50 * MS);
    end(seat);
}

static void run_stranger(struct check_seat *seat)
{
    begin(seat, seat->me == 0 ? 2u : 0u);
    if (seat->me == 0) {
        while (atomic_load(&seat->card->sent[1]) < SOME) {
            (void)seat_send(seat, 1);
            (void)seat_poll(seat);
        }
        seat_await(seat, 1, BUSY);
    } else {
        const uint64_t due = seat_is_reliable(seat) ? SOME : 1;
        while (atomic_load(&seat->card->got[0]) < due) {
            (void)seat_poll(seat);
        }
        seat_introduce(seat, 0);
        seat_reach(seat, BUSY);
    }
    seat_exchange(seat, set_others(seat), 2 * (uint64_t)SOME);
    end(seat);
}

/* All of the first three send to each other until seat 2 is gone. */
static void lose_third(struct check_seat *seat)
{
    seat_reach(seat, BUSY);
    for (int i = 0; i < 3; i++) {
        seat_await(seat, i, BUSY);
    }
    while (seat->me == 2 || !atomic_load(&seat->board->cards[2].gone)) {
        for (int i = 0; i < 3; i++) {
            if (i != seat->me) {
                (void)seat_send_paced(seat, i);
            }
        }
        (void)seat_poll(seat);
    }
}

/* The larger of what this seat and the other have sent each other. */
static uint64_t count_sent(struct check_seat *seat, int other)
{
    seat_reach(seat, CALM);
    seat_await(seat, other, CALM);
    const uint64_t theirs = atomic_load(&seat->board->cards[other].sent[seat->me]);
    const uint64_t mine = atomic_load(&seat->card->sent[other]);
    seat_reach(seat, COUNTED);
    seat_await(seat, other, COUNTED);
    return theirs > mine ? theirs : mine;
}

static void run_killed(struct check_seat *seat)
{
    begin(seat, set_others(seat));
    lose_third(seat);
    const int other = 1 - seat->me;
    const uint64_t count = count_sent(seat, other) + SOME;
    for (int i = 0; i < SOME; i++) {
        (void)seat_send(seat, 2); /* goes nowhere, which is no error */
        (void)seat_poll(seat);
    }
    seat_exchange(seat, 1u << other, count);
    seat_forget(seat, 2);
    expect_unknown(seat, seat->board->cards[2].uid, "was forgotten after its death");
    seat_exchange(seat, 1u << other, count + SOME);
    end(seat);
}

static void kill_third(struct check_board *board, const int *pids, uint64_t elapsed_ns)
{
    const uint64_t when_ns = (20 + (uint64_t)pids[0] * 7919 % 300) * MS;
    if (pids[2] != 0 && elapsed_ns > when_ns &&
        atomic_load(&board->cards[0].stage) >= BUSY &&
        atomic_load(&board->cards[1].stage) >= BUSY &&
        atomic_load(&board->cards[2].stage) >= BUSY &&
        !atomic_load(&board->cards[2].gone)) {
        (void)kill(pids[2], SIGKILL);
        atomic_store(&board->cards[2].gone, true);
    }
}

static void run_returning(struct check_seat *seat)
{
    if (seat->me == 3) {
        while (atomic_load(&seat->board->cards[0].stage) < CALM ||
               atomic_load(&seat->board->cards[1].stage) < CALM) {
            (void)usleep(100);
        }
        begin(seat, 3u);
        seat_exchange(seat, 3u, SOME);
        end(seat);
        return;
    }
    begin(seat, set_others(seat) & 7u);
    lose_third(seat);
    seat_forget(seat, 2);
    seat_reach(seat, CALM);
    seat_await(seat, 3, OPENED);
    seat_introduce(seat, 3);
    seat_exchange(seat, 8u, SOME);
    end(seat);
}

static void run_stopped(struct check_seat *seat)
{
    struct check_card *third = &seat->board->cards[2];
    begin(seat, set_others(seat));
    seat_exchange(seat, set_others(seat), SOME);
    seat_reach(seat, BUSY);
    if (seat->me == 2) {
        seat_await(seat, 0, CALM);
        seat_await(seat, 1, CALM);
    } else {
        while (!atomic_load(&third->halted)) {
            (void)seat_poll(seat);
        }
        seat_exchange(seat, 1u << (1 - seat->me), 2 * (uint64_t)SOME);
        for (int i = 0; i < SOME; i++) {
            (void)seat_send(seat, 2); /* it takes none now */
            (void)seat_poll(seat);
        }
        seat_reach(seat, CALM);
    }
    seat_await_all(seat, CALM - (seat->me == 2));
    seat_reach(seat, CALM);
    seat_await_all(seat, CALM);
    seat_exchange(seat, set_others(seat), 3 * (uint64_t)SOME);
    end(seat);
}

/* Seat 2 stands still until the two others are CALM, and for 2 s at least. */
static void halt_third(struct check_board *board, const int *pids, uint64_t elapsed_ns)
{
    struct check_card *third = &board->cards[2];
    if (pids[2] == 0 || atomic_load(&third->stage) < BUSY) {
        return;
    }
    if (!atomic_load(&third->halted)) {
        (void)kill(pids[2], SIGSTOP);
        atomic_store(&third->halted, true);
        atomic_store(&third->halted_ns, elapsed_ns);
    } else if (atomic_load(&board->cards[0].stage) >= CALM &&
               atomic_load(&board->cards[1].stage) >= CALM &&
               elapsed_ns - atomic_load(&third->halted_ns) > 2000 * MS) {
        (void)kill(pids[2], SIGCONT);
    }
}

static void run_closing(struct check_seat *seat)
{
    begin(seat, set_others(seat));
    if (seat->me == 1) {
        seat_reach(seat, BUSY);
        seat_linger(seat, UINT64_MAX / 2); /* stopped, then killed */
    }
    seat_await(seat, 1, BUSY);
    while (!atomic_load(&seat->board->cards[1].halted)) {
        (void)seat_poll(seat);
    }
    fill_wire(seat, 1);
    seat_close(seat);
    seat_reach(seat, DONE);
}

static void halt_second(struct check_board *board, const int *pids, uint64_t elapsed_ns)
{
    struct check_card *second = &board->cards[1];
    (void)elapsed_ns;
    if (pids[1] != 0 && atomic_load(&second->stage) >= BUSY &&
        !atomic_load(&second->halted)) {
        (void)kill(pids[1], SIGSTOP);
        atomic_store(&second->halted, true);
    }
    if (pids[1] != 0 && atomic_load(&board->cards[0].stage) >= DONE) {
        atomic_store(&second->gone, true);
        (void)kill(pids[1], SIGKILL);
    }
}

/* Introduces ABSENT uids with the address of seat 2, which is there no more. */
static void run_absent(struct check_seat *seat)
{
    if (seat->me == 2) {
        seat_open(seat);
        seat_close(seat);
        seat_reach(seat, DONE);
        return;
    }
    begin(seat, 1u << (1 - seat->me));
    seat_await(seat, 2, DONE);
    struct check_card *gone = &seat->board->cards[2];
    const uint64_t first = gone->uid + 1 + (uint64_t)seat->me * ABSENT;
    for (uint64_t i = 0; seat->me == 0 && i < ABSENT; i++) {
        const int code =
            seat->table->introduce(seat->wire, first + i, gone->address, gone->length);
        if (code != MOOT_OK) {
            seat_fail(seat, "introduce() of peer %llu of %d: %s", (unsigned long long)i,
                      ABSENT, moot_strerror(code));
        }
    }
    for (uint64_t i = 0; seat->me == 0 && i < ABSENT; i++) {
        const int code = seat_try(seat, first + i);
        if (code != MOOT_OK && code != MOOT_TRANSPORT_FULL) {
            seat_fail(seat, "send() to a peer that does not answer: %s",
                      moot_strerror(code));
        }
        (void)seat_poll(seat);
    }
    seat_exchange(seat, 1u << (1 - seat->me), SOME);
    for (uint64_t i = 0; seat->me == 0 && i < ABSENT / 2; i++) {
        seat->table->forget(seat->wire, first + i);
    }
    seat_exchange(seat, 1u << (1 - seat->me), 2 * (uint64_t)SOME);
    end(seat);
}

static void run_descriptor(struct check_seat *seat)
{
    begin(seat, set_others(seat));
    const int fd =
        seat->table->descriptor != NULL ? seat->table->descriptor(seat->wire) : -1;
    if (fd >= 0 && seat->me == 0) {
        seat_linger(seat, 50 * MS);
        seat_reach(seat, BUSY);
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        while (atomic_load(&seat->card->got[1]) == 0) {
            if (poll(&ready, 1, 2000) != 1) {
                seat_fail(seat, "descriptor() was not readable, and a frame was there");
            }
            (void)seat_poll(seat);
        }
    } else if (fd >= 0) {
        seat_await(seat, 0, BUSY);
        seat_linger(seat, 100 * MS);
        do { /* one may be lost */
            while (!seat_send(seat, 0)) {
                (void)seat_poll(seat);
            }
            seat_linger(seat, seat_is_reliable(seat) ? 0 : 20 * MS);
        } while (!seat_is_reliable(seat) &&
                 atomic_load(&seat->board->cards[0].got[1]) == 0);
    }
    end(seat);
}

const struct transport_check transport_checks[] = {
    {"opens and closes", 1, 1, 10, run_opening, NULL, size_long},
    {"frames of all sizes", 2, 1, 30, run_sizes, NULL, size_powers},
    {"many frames among 4", 4, 1, 60, run_flood, NULL, size_mixed},
    {"a peer that does not poll", 2, 1, 40, run_full, NULL, size_long},
    {"an unknown uid", 2, 1, 20, run_unknown, NULL, size_mixed},
    {"frames of who was not introduced", 2, 1, 20, run_stranger, NULL, size_mixed},
    {"a peer is killed", 3, 6, 30, run_killed, kill_third, size_mixed},
    {"a peer is stopped and goes on", 3, 1, 30, run_stopped, halt_third, size_mixed},
    {"close while a peer stands still", 2, 1, 20, run_closing, halt_second, size_long},
    {"a peer comes back by a new uid", 4, 2, 30, run_returning, kill_third, size_mixed},
    {"1000 peers that never answer", 3, 1, 40, run_absent, NULL, size_mixed},
    {"the descriptor, if there is one", 2, 1, 20, run_descriptor, NULL, size_mixed},
};
const size_t transport_check_count =
    sizeof(transport_checks) / sizeof(*transport_checks);
