/* mpi.c - frames and bulk transfers over MPI 3.1, moot_open_comm, moot_pset_comm
 * and moot_mpi_wait.
 *
 * The one source file that sees MPI.  Private duplicates of the program's communicator
 * carry everything, with MPI_ERRORS_RETURN and few tags: what a message is about
 * stands inside it, because tags are few (23 bits on some fabrics) and a hash folded
 * into one collides.
 *
 * Between ranks of one host short frames go through rings in memory that these share
 * (host_rings.h), and MPI is not called where nothing else is under way: to look for a
 * frame is then one load instead of 300 instructions of Open MPI's, and to send one 100
 * instead of 600.
 *
 * From other hosts short frames are taken by one persistent receive from
 * anybody, the standing receive: MPI then matches a frame as it comes and writes it
 * where it belongs.  (To find it by MPI_Improbe, and then to receive it, took half
 * again as long: 0.48 us against 0.31 for a way of 168 bytes between two cores.)  It
 * has a communicator of its own, and takes whatever comes there: a short frame, or the
 * notice that a longer one of so many bytes comes on the other, to which that frame is
 * received as what was announced.  So nothing is posted that somebody must match: the
 * standing receive is for all, and taken back in the end.
 *
 * Bulk receives, too, are posted only for transfers that a frame has announced; MPI's
 * own rule that messages of one (source, tag, communicator) do not overtake (MPI 3.1,
 * section 3.5) pairs them with their sends.  exchange.h keeps order, windows and peers;
 * here is only what MPI does.
 *
 * Other requests that do not end at once live in one table, the flights, which one
 * MPI_Testsome looks over per poll.  Nothing blocks after open but free().  An MPI
 * error is final: the transport then answers every call with it.
 */
#include "node/transport/mpi/mpi.h"
#include "hashing/base/hot.h"
#include "node/api/context_open.h"
#include "node/api/moot_mpi.h"
#include "node/channel/channel.h"
#include "node/config/ending.h"
#include "node/schedule/foreign_wait.h"
#include "node/transport/exchange.h"
#include "node/transport/hello.h"
#include "node/transport/mpi/sigpipe.h"
#include "proto/limits.h"
#include "proto/wire.h"
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "node/transport/mpi/mpi_end.h"
#include "node/transport/mpi/mpi_flights.h"
#include "node/transport/mpi/mpi_guard.h"
#include "node/transport/mpi/mpi_wait.h"

enum { TAG_FRAME = 1, TAG_NOTICE, TAG_LONG_FRAME, TAG_BULK, TAG_GROWTH, TAG_SET };
/* What MPI sends without asking the receiver first, over shared memory. */
enum { SHORT_FRAME_BYTES = 4000 };
enum { LEAVE_SECONDS = 15 }; /* how long free() waits for the other ranks */
/* Where MPI has nothing under way that is known here, every so many polls are one of
 * MPI, too: it may have taken what it has not delivered. */
enum { SELDOM_POLLS = 64 };

#include "node/transport/mpi/mpi_lines.h"
#include "node/transport/mpi/mpi_roster.h"

/* --- The transport --------------------------------------------------------------- */

struct mpi_transport {
    struct exchange exchange;
    struct line *lines;   /* the newest first */
    struct mpi_way *ways; /* by number */
    bool owns_mpi;
    bool far;        /* some line is */
    bool goes_alone; /* a peer that is forgotten from then on is lost, not gone */
    struct host_memory boards;
    struct mpi_end end;
    struct flights flights;
    struct mpi_roster roster;
    struct mpi_growth *growth; /* newcomers that are on their way in */
    uint32_t polls;
    struct mpi_transport *next_left;
};

/* The bracket around MPI calls; false, with the transport failed, if MPI is gone. */
static bool enter(struct mpi_transport *t)
{
    if (mpi_end_enter(&t->end)) {
        return true;
    }
    exchange_fail(&t->exchange, MOOT_ERR_TRANSPORT,
                  "MPI_Finalize was called with a moot open; call moot_close first");
    return false;
}

static void describe(int mpi_code, const char *what, char *story, size_t story_size)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(mpi_code, text, &length);
    snprintf(story, story_size, "%s failed: %s", what, text);
}

/* Ends the transport unless MPI succeeded; true if it did. */
static bool succeeded(struct mpi_transport *t, int mpi_code, const char *what)
{
    if (mpi_code == MPI_SUCCESS) {
        return true;
    }
    char story[sizeof(t->exchange.story)];
    describe(mpi_code, what, story, sizeof(story));
    exchange_fail(&t->exchange, MOOT_ERR_TRANSPORT, story);
    return false;
}

/* --- Flights ---------------------------------------------------------------------- */

static void piece_land(struct mpi_transport *t, const struct piece *piece,
                       const MPI_Status *status)
{
    int size = 0; /* a send's status has no count */
    if (is_receive(piece)) {
        MPI_Get_count(status, MPI_BYTE, &size);
    }
    exchange_land(&t->exchange, piece, size > 0 ? (size_t)size : 0);
}

/* Puts a request that was made in the table's next free place on its way. */
static void flights_track(struct mpi_transport *t, const struct piece *piece)
{
    struct flights *f = &t->flights;
    /* Small messages end at once and need no place. */
    int ended = 0;
    MPI_Status status;
    const int code = MPI_Test(&f->requests[f->count], &ended, &status);
    if (!succeeded(t, code, "a transfer")) {
        return;
    }
    if (ended) {
        piece_land(t, piece, &status);
    } else {
        f->pieces[f->count++] = *piece;
    }
}

/* The table's next free place; NULL, with the transport failed, without memory. */
static MPI_Request *flights_place(struct mpi_transport *t)
{
    struct flights *f = &t->flights;
    if (f->count == f->room && !flights_grow(f)) {
        exchange_fail(&t->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a transfer");
        return NULL;
    }
    return &f->requests[f->count];
}

static bool send_notice(struct mpi_transport *t, const struct piece *frame)
{
    MPI_Request *request = flights_place(t);
    if (!request) {
        return false;
    }
    const struct piece notice = exchange_split(&t->exchange, frame);
    const struct mpi_way *way = &t->ways[frame->transfer->rank];
    const int code = MPI_Isend(notice.bytes, (int)notice.size, MPI_BYTE, way->rank,
                               TAG_NOTICE, way->line->comm, request);
    if (!succeeded(t, code, "announcing a frame")) {
        return false;
    }
    flights_track(t, &notice);
    return true;
}

static int piece_call(const struct mpi_transport *t, const struct piece *piece,
                      MPI_Request *request)
{
    const enum transfer_kind kind = piece->transfer->kind;
    const struct mpi_way *way = &t->ways[piece->transfer->rank];
    const int bytes = (int)piece->size;
    const bool frame = kind == TRANSFER_FRAME_OUT || kind == TRANSFER_FRAME_IN;
    if (kind == TRANSFER_FRAME_OUT && piece->size <= SHORT_FRAME_BYTES &&
        !host_rings_near(&t->exchange.rings, piece->transfer->rank)) {
        return MPI_Isend(piece->bytes, bytes, MPI_BYTE, way->rank, TAG_FRAME,
                         way->line->comm, request);
    }
    const int tag = frame ? TAG_LONG_FRAME : TAG_BULK;
    if (kind == TRANSFER_FRAME_OUT || kind == TRANSFER_BULK_OUT) {
        return MPI_Isend(piece->bytes, bytes, MPI_BYTE, way->rank, tag,
                         way->line->aside, request);
    }
    return MPI_Irecv(piece->bytes, bytes, MPI_BYTE, way->rank, tag, way->line->aside,
                     request);
}

static void piece_start(struct mpi_transport *t, const struct piece *piece)
{
    /* By a ring there was a notice, and the piece is long for a ring at least. */
    const bool near =
        host_rings_near(&t->exchange.rings, piece->transfer->rank) != NULL;
    const bool long_frame =
        piece->transfer->kind == TRANSFER_FRAME_OUT && piece->size > SHORT_FRAME_BYTES;
    if (!near && long_frame && !send_notice(t, piece)) {
        return;
    }
    MPI_Request *request = flights_place(t);
    if (request && succeeded(t, piece_call(t, piece, request), "starting a transfer")) {
        flights_track(t, piece);
    }
}

static void piece_post(struct exchange *x, const struct piece *piece)
{
    struct mpi_transport *t = (struct mpi_transport *)x;
    if (t->ways[piece->transfer->rank].line == NULL) {
        if (!is_receive(piece)) {
            exchange_land(x, piece, 0); /* it had gone before this rank came */
        }
        return;
    }
    if (!enter(t)) {
        return;
    }
    piece_start(t, piece);
    mpi_end_leave(&t->end);
}

static void flights_test(struct mpi_transport *t)
{
    struct flights *f = &t->flights;
    if (f->count == 0) {
        return;
    }
    int landed = 0;
    const int code =
        MPI_Testsome(f->count, f->requests, &landed, f->landed, f->statuses);
    if (code == MPI_ERR_IN_STATUS) {
        for (int i = 0; i < landed; i++) {
            succeeded(t, f->statuses[i].MPI_ERROR, "a transfer");
        }
    } else if (!succeeded(t, code, "MPI_Testsome")) {
        return;
    }
    for (int i = 0; i < landed; i++) { /* MPI_UNDEFINED is negative */
        /* Pumping may append to the table and move it: keep copies. */
        const struct piece piece = f->pieces[f->landed[i]];
        const MPI_Status status = f->statuses[i];
        const enum transfer_kind kind = piece.transfer->kind;
        const uint32_t rank = piece.transfer->rank;
        piece_land(t, &piece, &status);
        if (kind != TRANSFER_FRAME_IN) {
            exchange_pump(&t->exchange, rank, kind);
        }
    }
    if (landed > 0) {
        flights_compact(f);
    }
}

#include "node/transport/mpi/mpi_standing.h"

/* --- The slots that are MPI's own ------------------------------------------------- */

static void line_poll(struct mpi_transport *t, struct line *line, size_t frames_max,
                      bool lends)
{
    int all = 0;
    if (line->entered != MPI_REQUEST_NULL) {
        succeeded(t, MPI_Test(&line->entered, &all, MPI_STATUS_IGNORE), "a barrier");
    }
    if (line->far) {
        frames_take(t, line, frames_max, lends);
    }
}

/* What MPI has to do with it. */
static void poll_mpi(struct mpi_transport *t, size_t frames_max, bool lends)
{
    int came = 0;
    if (!enter(t)) {
        return;
    }
    for (struct line *line = t->lines; line != NULL; line = line->older) {
        if (line->far && line->came) {
            standing_post(t, line);
        }
    }
    flights_test(t);
    if (t->far) {
        for (struct line *line = t->lines; line != NULL; line = line->older) {
            line_poll(t, line, frames_max, lends);
        }
    } else if (t->flights.count == 0 && t->lines != NULL) {
        succeeded(t,
                  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, t->lines->comm, &came,
                             MPI_STATUS_IGNORE),
                  "looking at the wire");
    }
    mpi_end_leave(&t->end);
}

HOT static int mpi_poll(struct transport *base,
                        const struct transport_receiver *receiver, int frames_max)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    const size_t frames = frames_max > 0 ? (size_t)frames_max : 0;
    const bool lends = receiver->lent != NULL;
    if (t->exchange.failed) {
        return t->exchange.failed;
    }
    const bool ended = atomic_load_explicit(&t->end.came, memory_order_relaxed);
    if (t->far || t->flights.count > 0 || ++t->polls % SELDOM_POLLS == 0 || ended) {
        poll_mpi(t, frames, lends);
    }
    exchange_rings_poll(&t->exchange, frames, lends);
    if (t->exchange.failed) {
        return t->exchange.failed;
    }
    return exchange_report(&t->exchange, receiver, frames);
}

/* A word in a ring, instead of a notice. */
static void mpi_notice(struct exchange *x, uint32_t rank, const void *bytes,
                       size_t size)
{
    struct piece piece;
    if (exchange_expect(x, rank, exchange_noticed(bytes, size), &piece)) {
        piece_post(x, &piece);
    }
}

static void mpi_go_plain(struct transport *base)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    host_rings_close(&t->exchange.rings);
    t->lines->far = t->far = t->lines->count > 1; /* the only one */
    if (t->far && enter(t)) {
        standing_post(t, t->lines);
        mpi_end_leave(&t->end);
    }
}

/* A moot of this process has lost a rank.  What opens one of all ranks is collective,
 * and would wait for that rank for ever. */
static atomic_bool without_all;

static void mpi_go_alone(struct transport *base)
{
    ((struct mpi_transport *)base)->goes_alone = true;
    exchange_go_alone(base);
}

/* Receives under way are cancelled; MPI has no such thing for sends, which go on until
 * they end or the process does. */
static void mpi_forget(struct transport *base, uint64_t uid)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    const bool reached = enter(t);
    if (t->goes_alone) {
        atomic_store(&without_all, true);
    }
    for (int i = 0; reached && i < t->flights.count; i++) {
        const struct piece *piece = &t->flights.pieces[i];
        if (is_receive(piece) && t->exchange.peers[piece->transfer->rank].uid == uid) {
            MPI_Cancel(&t->flights.requests[i]);
        }
    }
    if (reached) {
        mpi_end_leave(&t->end);
    }
    exchange_forget(base, uid);
}

/* Waits until every rank is here, or for LEAVE_SECONDS; what still arrives is taken in
 * and dropped, so that a peer that is still flushing gets done.  A wire may need its
 * sender's progress to deliver what it has taken: without this a rank's last words
 * could stay with it while its program goes on outside MPI. */
static bool leave_together(struct mpi_transport *t)
{
    const struct timespec pause = {.tv_nsec = 20000};
    const double start = MPI_Wtime();
    MPI_Request barrier;
    if (!enter(t)) {
        return false;
    }
    mpi_end_leave(&t->end);
    if (t->exchange.failed || t->exchange.alone || t->growth != NULL ||
        MPI_Ibarrier(t->lines->comm, &barrier) != MPI_SUCCESS) {
        return false;
    }
    do {
        int all_here = 0;
        if (mpi_poll(&t->exchange.base, &exchange_drop, 64) < 0 ||
            MPI_Test(&barrier, &all_here, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return false;
        }
        if (all_here) {
            return true;
        }
        nanosleep(&pause, NULL);
    } while (MPI_Wtime() - start < LEAVE_SECONDS);
    return false;
}

/* Transports whose flights MPI may still touch, for as long as the process lives. */
static struct mpi_transport *left_behind;
static pthread_mutex_t left_behind_lock = PTHREAD_MUTEX_INITIALIZER;

static void leave_behind(struct mpi_transport *t)
{
    pthread_mutex_lock(&left_behind_lock);
    t->next_left = left_behind;
    left_behind = t;
    pthread_mutex_unlock(&left_behind_lock);
}

/* After a failure, or without the others, neither the communicator nor MPI is freed:
 * both calls may wait for ranks that are gone.  What MPI is still at is left to it as
 * well, with its memory, and the process ends without MPI_Finalize. */
static bool mpi_free(struct transport *base)
{
    struct mpi_transport *t = (struct mpi_transport *)base;
    const bool together = t->lines != NULL && t->lines->comm != MPI_COMM_NULL &&
                          t->lines->aside != MPI_COMM_NULL && leave_together(t);
    const bool open = mpi_end_unwatch(&t->end);
    bool ended = open ? flights_end(&t->flights, &t->exchange) : t->flights.count == 0;
    if (open && together) {
        for (int i = 0; i < t->flights.count; i++) {
            MPI_Request_free(&t->flights.requests[i]);
        }
        lines_free_comms(t->lines);
        if (t->owns_mpi) {
            ended = MPI_Finalize() == MPI_SUCCESS || ended;
        }
    }
    sigpipe_end(together && !t->roster.grown);
    host_memory_close(&t->boards);
    exchange_release(&t->exchange);
    if (!ended || t->growth != NULL) {
        leave_behind(t);
        return ended;
    }
    lines_release(t->lines);
    roster_release(&t->roster);
    flights_release(&t->flights);
    free(t->ways);
    free(t);
    return true;
}

#include "node/transport/mpi/mpi_growth.h"

static const struct transport_ops mpi_ops = {
    .name = "mpi",
    .send = exchange_send,
    .place = exchange_place,
    .placed = exchange_placed,
    .backlog = exchange_backlog,
    .bulk_send = exchange_bulk_send,
    .bulk_receive = exchange_bulk_receive,
    .poll = mpi_poll,
    .flushed = exchange_flushed,
    .forget = mpi_forget,
    .go_alone = mpi_go_alone,
    .go_plain = mpi_go_plain,
    .next_newcomer = mpi_next_newcomer,
    .grow_together = mpi_grow_together,
    .grown = mpi_grown,
    .stats = exchange_stats,
    .story = exchange_story,
    .free = mpi_free,
};

#include "node/transport/mpi/mpi_open.h"

char *transport_mpi_version(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\r\n")] = '\0'; /* MPICH tells its whole build */
    snprintf(text, size, "%s", version);
    return text;
}

/* Here, since it needs the table and all of the above. */
#include "node/transport/mpi/mpi_comm.h"

int moot_open_comm(const moot_options *options, MPI_Comm comm, moot **out)
{
    struct transport_mpi_options mpi = {.comm = &comm};
    return moot_open_transport(options, transport_mpi_open, &mpi, out);
}
