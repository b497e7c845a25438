/* transport_check.c - see transport_check.h. */
#include "node/cli/transport_check.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A slot that has not returned for so long has blocked; on a busy machine a process may
 * not be run for a second. */
#define BLOCKED_NS UINT64_C(2000000000)
/* Without MOOT_TRANSPORT_RELIABLE: nothing more will come. */
#define QUIET_NS UINT64_C(500000000)
/* ... between frames to a peer that lacks more than half of them, and these. */
#define PACE_NS UINT64_C(1000000)
enum { AHEAD_MAX = 4 };
#define STUCK_NS UINT64_C(6000000000)
#define FLUSH_NS UINT64_C(5000000000)
enum { HEAD_BYTES = 4, POLL_FRAMES = 32 };

uint64_t seat_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void rest_a_moment(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

bool seat_is_reliable(const struct check_seat *seat)
{
    return (seat->table->flags & MOOT_TRANSPORT_RELIABLE) != 0;
}

void seat_fail(struct check_seat *seat, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(seat->card->why, WHY_BYTES, format, values);
    va_end(values);
    _exit(1);
}

/* --- Slots, by the clock ---------------------------------------------------------- */

static void enter_slot(struct check_seat *seat, const char *slot)
{
    atomic_store(&seat->card->slot_since_ns, seat_now_ns());
    atomic_store(&seat->card->slot, slot);
}

static void leave_slot(struct check_seat *seat)
{
    const char *slot = atomic_load(&seat->card->slot);
    const uint64_t took_ns = seat_now_ns() - atomic_load(&seat->card->slot_since_ns);
    atomic_store(&seat->card->slot, NULL);
    if (took_ns > BLOCKED_NS && !atomic_load(&seat->card->halted)) {
        seat_fail(seat, "%s() took %.1f s, and may not block", slot,
                  (double)took_ns / 1e9);
    }
}

static const char *tell_wire(const struct check_seat *seat)
{
    const char *story = seat->table->story(seat->wire);
    return story != NULL && *story != '\0' ? story : "its story() is empty";
}

static void draw_bytes(void *bytes, size_t size)
{
    while (getrandom(bytes, size, 0) < 0) {
        rest_a_moment();
    }
}

void seat_open(struct check_seat *seat)
{
    char story[WHY_BYTES] = "";
    draw_bytes(&seat->card->uid, sizeof(seat->card->uid));
    const moot_transport_setup setup = {.size = sizeof(setup),
                                        .uid = seat->card->uid,
                                        .options = seat->options,
                                        .host = "",
                                        .job = seat->board->job,
                                        .secret = seat->board->secret};
    const int code = seat->table->open(&setup, &seat->wire, story, sizeof(story));
    if (code != MOOT_OK || seat->wire == NULL) {
        seat_fail(seat, "open(): %s: %s", moot_strerror(code), story);
    }
    enter_slot(seat, "address");
    const int told =
        seat->table->address(seat->wire, seat->card->address, &seat->card->length);
    leave_slot(seat);
    if (told != MOOT_OK || seat->card->length > MOOT_TRANSPORT_ADDRESS_MAX) {
        seat_fail(seat, "address(): %s, of %zu bytes: %s", moot_strerror(told),
                  seat->card->length, tell_wire(seat));
    }
}

void seat_introduce(struct check_seat *seat, int to)
{
    const struct check_card *card = &seat->board->cards[to];
    enter_slot(seat, "introduce");
    const int code =
        seat->table->introduce(seat->wire, card->uid, card->address, card->length);
    leave_slot(seat);
    if (code != MOOT_OK) {
        seat_fail(seat, "introduce() of seat %d: %s: %s", to, moot_strerror(code),
                  tell_wire(seat));
    }
}

void seat_forget(struct check_seat *seat, int to)
{
    enter_slot(seat, "forget");
    seat->table->forget(seat->wire, seat->board->cards[to].uid);
    leave_slot(seat);
}

void seat_close(struct check_seat *seat)
{
    enter_slot(seat, "close");
    seat->table->close(seat->wire);
    leave_slot(seat);
    seat->wire = NULL;
}

/* --- Frames ----------------------------------------------------------------------- */

static unsigned char mix_byte(int from, int to, uint64_t number, size_t size, size_t i)
{
    uint64_t x = number * 0x9e3779b97f4a7c15u + size * 0xc2b2ae3d27d4eb4fu +
                 (uint64_t)(from * 16 + to) * 0x165667b19e3779f9u + i / 8;
    x = (x ^ x >> 31) * 0xff51afd7ed558ccdu;
    return (unsigned char)(x >> (8 * (i % 8)) ^ x >> 29);
}

/* Frames of less than a head are alike at all numbers. */
static unsigned char frame_byte(int from, int to, uint64_t number, size_t size,
                                size_t i)
{
    if (size < HEAD_BYTES) {
        return mix_byte(from, to, 0, size, i);
    }
    if (i < HEAD_BYTES) {
        return (unsigned char)(number >> (8 * i));
    }
    return mix_byte(from, to, number, size, i);
}

bool seat_send(struct check_seat *seat, int to)
{
    static unsigned char bytes[MOOT_TRANSPORT_FRAME_MAX];
    const uint64_t number = atomic_load(&seat->card->sent[to]);
    const size_t size = seat->check->size_of(seat->table, number);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = frame_byte(seat->me, to, number, size, i);
    }
    enter_slot(seat, "send");
    const int code =
        seat->table->send(seat->wire, seat->board->cards[to].uid, bytes, size);
    leave_slot(seat);
    memset(bytes, 0, size); /* it was to be copied */
    if (code != MOOT_OK && code != MOOT_TRANSPORT_FULL) {
        seat_fail(seat, "send() of %zu bytes to seat %d: %s: %s", size, to,
                  moot_strerror(code), tell_wire(seat));
    }
    if (code == MOOT_OK) {
        seat->sent_ns[to] = seat_now_ns();
        atomic_store(&seat->card->sent[to], number + 1);
    }
    return code == MOOT_OK;
}

bool seat_send_paced(struct check_seat *seat, int to)
{
    const uint64_t got = atomic_load(&seat->board->cards[to].got[seat->me]);
    const bool ahead = atomic_load(&seat->card->sent[to]) > 2 * got + AHEAD_MAX;
    if (!seat_is_reliable(seat) && ahead &&
        seat_now_ns() - seat->sent_ns[to] < PACE_NS) {
        return false;
    }
    return seat_send(seat, to);
}

int seat_try(struct check_seat *seat, uint64_t uid)
{
    enter_slot(seat, "send");
    const int code = seat->table->send(seat->wire, uid, "to nobody", 9);
    leave_slot(seat);
    return code;
}

static int find_seat(const struct check_seat *seat, uint64_t uid)
{
    for (int i = 0; i < seat->count; i++) {
        if (seat->board->cards[i].uid == uid) {
            return i;
        }
    }
    return -1;
}

/* The number that the frame says it has; a short one says none, and gets the next. */
static uint64_t read_number(const unsigned char *bytes, size_t size, uint64_t next)
{
    return size < HEAD_BYTES ? next
                             : (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 |
                                   (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24;
}

static void take_frame(void *context, uint64_t from_uid, const void *data, size_t size)
{
    struct check_seat *seat = context;
    const unsigned char *bytes = data;
    const int from = find_seat(seat, from_uid);
    if (from < 0) {
        seat_fail(seat, "a frame came from the uid %016llx, which nobody has",
                  (unsigned long long)from_uid);
    }
    const uint64_t next = seat->next[from], number = read_number(bytes, size, next);
    if (seat_is_reliable(seat) && number != next) {
        seat_fail(seat,
                  "frame %llu of seat %d came where %llu was due: RELIABLE is not kept",
                  (unsigned long long)number, from, (unsigned long long)next);
    }
    const bool tiny = size < HEAD_BYTES && !seat_is_reliable(seat);
    const size_t due = seat->check->size_of(seat->table, number);
    if (!tiny && size != due) {
        seat_fail(seat, "frame %llu of seat %d came with %zu bytes, and left with %zu",
                  (unsigned long long)number, from, size, due);
    }
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != frame_byte(from, seat->me, number, size, i)) {
            seat_fail(seat,
                      "byte %zu of the %zu of frame %llu of seat %d was changed on the "
                      "way",
                      i, size, (unsigned long long)number, from);
        }
    }
    seat->next[from] = number + 1;
    seat->longest = size > seat->longest ? size : seat->longest;
    atomic_fetch_add(&seat->card->got[from], 1);
}

static void take_unreachable(void *context, uint64_t uid)
{
    (void)context;
    (void)uid; /* a suspicion, which nothing here is made of */
}

int seat_poll(struct check_seat *seat)
{
    const moot_transport_receiver receiver = {.size = sizeof(receiver),
                                              .context = seat,
                                              .frame = take_frame,
                                              .unreachable = take_unreachable};
    enter_slot(seat, "poll");
    const int handed = seat->table->poll(seat->wire, &receiver, POLL_FRAMES);
    leave_slot(seat);
    if (handed < 0) {
        seat_fail(seat, "poll(): %s: %s", moot_strerror(handed), tell_wire(seat));
    }
    return handed;
}

void seat_flush(struct check_seat *seat)
{
    const uint64_t end_ns = seat_now_ns() + FLUSH_NS;
    while (!seat->table->flushed(seat->wire)) {
        if (seat_now_ns() > end_ns) {
            seat_fail(seat, "flushed() is not true, %.0f s after all frames came",
                      (double)FLUSH_NS / 1e9);
        }
        (void)seat_poll(seat);
    }
}

/* --- Together --------------------------------------------------------------------- */

void seat_reach(struct check_seat *seat, int stage)
{
    atomic_store(&seat->card->stage, stage);
}

static void go_on(struct check_seat *seat)
{
    if (seat->wire == NULL || seat_poll(seat) == 0) {
        rest_a_moment();
    }
}

void seat_await(struct check_seat *seat, int who, int stage)
{
    const struct check_card *card = &seat->board->cards[who];
    while (atomic_load(&card->stage) < stage && !atomic_load(&card->gone)) {
        go_on(seat);
    }
}

void seat_await_all(struct check_seat *seat, int stage)
{
    for (int i = 0; i < seat->count; i++) {
        seat_await(seat, i, stage);
    }
}

void seat_linger(struct check_seat *seat, uint64_t ns)
{
    const uint64_t end_ns = seat_now_ns() + ns;
    while (seat_now_ns() < end_ns) {
        go_on(seat);
    }
}

/* Whether all of the set that are alive have sent so many here, and they came. */
static bool has_all(const struct check_seat *seat, unsigned from, uint64_t count)
{
    for (int i = 0; i < seat->count; i++) {
        if ((from >> i & 1) != 0 && !atomic_load(&seat->board->cards[i].gone) &&
            atomic_load(&seat->card->got[i]) < count) {
            return false;
        }
    }
    return true;
}

/* Where frames may be lost they are waited for only as long as some come. */
static void receive_rest(struct check_seat *seat, unsigned from, uint64_t count)
{
    uint64_t quiet_ns = seat_now_ns();
    while (!has_all(seat, from, count)) {
        if (seat_poll(seat) > 0) {
            quiet_ns = seat_now_ns();
        } else {
            rest_a_moment();
        }
        bool all_sent = true;
        for (int i = 0; i < seat->count; i++) {
            const struct check_card *card = &seat->board->cards[i];
            all_sent &= (from >> i & 1) == 0 || atomic_load(&card->gone) ||
                        atomic_load(&card->sent[seat->me]) >= count;
        }
        if (!all_sent) {
            quiet_ns = seat_now_ns();
        }
        if (!seat_is_reliable(seat) && seat_now_ns() - quiet_ns > QUIET_NS) {
            break;
        }
    }
    for (int i = 0; i < seat->count; i++) {
        if ((from >> i & 1) != 0 && !atomic_load(&seat->board->cards[i].gone) &&
            atomic_load(&seat->card->got[i]) * 10 < count) {
            seat_fail(seat, "of %llu frames of seat %d came %llu",
                      (unsigned long long)count, i,
                      (unsigned long long)atomic_load(&seat->card->got[i]));
        }
    }
}

void seat_exchange(struct check_seat *seat, unsigned to, uint64_t count)
{
    bool more = true;
    while (more) {
        more = false;
        bool moved = false;
        for (int i = 0; i < seat->count; i++) {
            if ((to >> i & 1) != 0 && !atomic_load(&seat->board->cards[i].gone) &&
                atomic_load(&seat->card->sent[i]) < count) {
                more = true;
                moved |= seat_send_paced(seat, i);
            }
        }
        if (seat_poll(seat) == 0 && !moved) {
            rest_a_moment();
        }
    }
    receive_rest(seat, to, count);
}

/* --- The parent ------------------------------------------------------------------- */

static void run_seat(const struct transport_check *check, const moot_transport *table,
                     const char *options, struct check_board *board, int me,
                     pid_t parent)
{
    struct check_seat seat = {.check = check,
                              .table = table,
                              .options = options,
                              .board = board,
                              .card = &board->cards[me],
                              .me = me,
                              .count = check->seats};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    check->run(&seat);
    _exit(0);
}

/* The last words of a seat that has ended; true: it ended well. */
static bool judge_seat(const struct check_card *card, int seat, int status, char *why)
{
    if (*card->why != '\0') {
        (void)snprintf(why, WHY_BYTES, "seat %d: %.230s", seat, card->why);
        return false;
    }
    if (atomic_load(&card->gone) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        return true;
    }
    const char *slot = atomic_load(&card->slot);
    if (WIFSIGNALED(status)) {
        (void)snprintf(why, WHY_BYTES, "seat %d died of signal %d (%s) in %s()", seat,
                       WTERMSIG(status), strsignal(WTERMSIG(status)),
                       slot != NULL ? slot : "no slot");
    } else {
        (void)snprintf(why, WHY_BYTES, "seat %d ended with status %d in %s()", seat,
                       WEXITSTATUS(status), slot != NULL ? slot : "no slot");
    }
    return false;
}

/* Whether a seat is in a slot for too long, which is told. */
static bool find_stuck(const struct transport_check *check,
                       const struct check_board *board, const int *pids, char *why)
{
    for (int i = 0; i < check->seats; i++) {
        const char *slot = atomic_load(&board->cards[i].slot);
        const uint64_t since_ns = atomic_load(&board->cards[i].slot_since_ns);
        if (pids[i] != 0 && slot != NULL && !atomic_load(&board->cards[i].halted) &&
            seat_now_ns() > since_ns + STUCK_NS) {
            (void)snprintf(why, WHY_BYTES, "seat %d is in %s() for over %d s", i, slot,
                           (int)(STUCK_NS / 1000000000u));
            return true;
        }
    }
    return false;
}

static void tell_unfinished(const struct transport_check *check,
                            const struct check_board *board, char *why)
{
    int used =
        snprintf(why, WHY_BYTES, "not done in %d s; frames that came:", check->seconds);
    for (int i = 0; i < check->seats; i++) {
        for (int j = 0; j < check->seats && used < WHY_BYTES; j++) {
            const unsigned long long sent = atomic_load(&board->cards[i].sent[j]);
            const unsigned long long got = atomic_load(&board->cards[j].got[i]);
            if (sent > 0) {
                used += snprintf(why + used, WHY_BYTES - (size_t)used,
                                 " %llu of %llu from %d to %d;", got, sent, i, j);
            }
        }
    }
}

static void end_seats(const struct transport_check *check, int *pids)
{
    for (int i = 0; i < check->seats; i++) {
        if (pids[i] > 0) {
            (void)kill(pids[i], SIGKILL);
            (void)waitpid(pids[i], NULL, 0);
            pids[i] = 0;
        }
    }
}

static bool watch_seats(const struct transport_check *check, struct check_board *board,
                        int *pids, char *why)
{
    const uint64_t began_ns = seat_now_ns();
    for (;;) {
        bool left = false;
        for (int i = 0; i < check->seats; i++) {
            int status;
            if (pids[i] != 0 && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
                pids[i] = 0;
                if (!judge_seat(&board->cards[i], i, status, why)) {
                    return false;
                }
            }
            left |= pids[i] != 0;
        }
        const uint64_t elapsed_ns = seat_now_ns() - began_ns;
        if (!left) {
            return true;
        }
        if (find_stuck(check, board, pids, why)) {
            return false;
        }
        if (elapsed_ns > (uint64_t)check->seconds * 1000000000u) {
            tell_unfinished(check, board, why);
            return false;
        }
        if (check->tend != NULL) {
            check->tend(board, pids, elapsed_ns);
        }
        rest_a_moment();
    }
}

bool transport_check_run(const struct transport_check *check,
                         const moot_transport *table, const char *options, char *why)
{
    int pids[SEATS_MAX] = {0};
    const pid_t parent = getpid();
    struct check_board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        (void)snprintf(why, WHY_BYTES, "no memory for the check");
        return false;
    }
    bool well = true;
    draw_bytes(&board->job, sizeof(board->job));
    draw_bytes(board->secret, sizeof(board->secret));
    (void)fflush(NULL);
    for (int i = 0; i < check->seats && well; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            run_seat(check, table, options, board, i, parent);
        }
        if (pids[i] < 0) {
            pids[i] = 0;
            (void)snprintf(why, WHY_BYTES, "no process for the check");
            well = false;
        }
    }
    well = well && watch_seats(check, board, pids, why);
    end_seats(check, pids);
    (void)munmap(board, sizeof(*board));
    return well;
}
