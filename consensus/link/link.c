/* link.c - one end of a link (link.h).
 *
 * The timeout follows RFC 6298, which is Jacobson's estimator ("Congestion Avoidance
 * and Control", SIGCOMM'88) with Karn's rule (Karn and Partridge, SIGCOMM'87): the
 * answer to a frame that was sent twice measures nothing, since nobody knows which of
 * the two it answers; the timeout doubles each time it passes, and stays doubled until
 * there is a measurement again.  Nor does a frame measure anything that waited at the
 * peer for one that was sent again later.
 *
 * On a busy link that goes on losing frames nearly every answer was held up like that,
 * and the timeout would stay at its bound.  So an answer that covers frames which were
 * sent once halves it again, down to what was measured.  (One that covers nothing else
 * than a frame sent twice must not: the round trip may have become longer.)
 *
 * There is one timer, for the oldest frame, and when it passes only that is sent again:
 * acknowledgements are cumulative, and those behind it are probably held at the peer.
 * If the answer shows another gap among frames that were already on their way by then,
 * the frame that is missing is sent again at once (the partial acknowledgement of RFC
 * 6582), so several losses cost a round trip each and not a timeout each.
 *
 * A frame that was lost costs one timeout, also on a busy link: nothing is read into
 * repeated acknowledgements, which a wire that repeats frames makes up by itself.
 */
#include "consensus/link/link.h"

#include "consensus/mutant.h"

#include <assert.h>
#include <stdlib.h>

enum {
    OUTGOING_ROOM_MIN = 8,
    OUTGOING_ROOM_KEPT_MAX = 4 * LINK_WINDOW, /* more is not kept while at rest */
    ACK_AT_ONCE_FRAMES = LINK_WINDOW / 4 /* so that the peer's window never closes */
};

struct outgoing {
    void *frame;
    uint64_t sent_ns;
    bool again;
};

struct link {
    const struct link_options *options;
    bool forgotten;

    /* Frames acked + 1 to queued, those up to sent on their way; a power of two of
     * room, a frame's place is its sequence number modulo that. */
    struct outgoing *outgoing;
    uint64_t outgoing_room;
    uint64_t acked, sent, queued;
    uint64_t resend_ns; /* when the oldest is sent again; LINK_NEVER: none on its way */
    uint64_t recover;   /* the last on its way when the timeout passed */
    bool gap;           /* the oldest is missing at the peer */

    /* Frames taken + 1 to taken + LINK_WINDOW, as far as they are here; those up to
     * received all are. */
    void **incoming;
    uint64_t taken, received;
    uint32_t early;      /* held beyond received */
    uint64_t told;       /* the last acknowledgement that went out */
    uint64_t ack_due_ns; /* LINK_NEVER: nothing to say */

    struct link_stats stats;
};

static struct outgoing *outgoing_at(const struct link *link, uint64_t sequence)
{
    return &link->outgoing[sequence & (link->outgoing_room - 1)];
}

static void **incoming_at(const struct link *link, uint64_t sequence)
{
    return &link->incoming[sequence % LINK_WINDOW];
}

static void release(const struct link *link, void *frame)
{
    link->options->release(link->options->context, frame);
}

/* --- Making and forgetting -------------------------------------------------------- */

struct link *link_new(const struct link_options *options)
{
    assert(options->rto_min_ns > options->ack_delay_ns);
    assert(options->rto_initial_ns >= options->rto_min_ns);
    assert(options->rto_max_ns >= options->rto_initial_ns);
    assert(options->rto_max_ns >> 60 == 0);
    struct link *link = calloc(1, sizeof(*link));
    if (link == NULL) {
        return NULL;
    }
    link->options = options;
    link->resend_ns = link->ack_due_ns = LINK_NEVER;
    link->stats.rto_ns = options->rto_initial_ns;
    return link;
}

void link_forget(struct link *link)
{
    for (uint64_t s = link->acked + 1; s <= link->queued; s++) {
        release(link, outgoing_at(link, s)->frame);
    }
    for (uint32_t i = 0; link->incoming != NULL && i < LINK_WINDOW; i++) {
        if (link->incoming[i] != NULL) {
            release(link, link->incoming[i]);
        }
    }
    free(link->outgoing);
    free(link->incoming);
    link->outgoing = NULL;
    link->incoming = NULL;
    link->outgoing_room = 0;
    link->acked = link->sent = link->queued;
    link->taken = link->received;
    link->early = 0;
    link->gap = false;
    link->resend_ns = link->ack_due_ns = LINK_NEVER;
    link->forgotten = true;
}

void link_free(struct link *link)
{
    if (link == NULL) {
        return;
    }
    link_forget(link);
    free(link);
}

/* --- Sending ---------------------------------------------------------------------- */

static bool reserve_outgoing(struct link *link)
{
    uint64_t room = link->outgoing_room * 2;
    if (link->queued - link->acked < link->outgoing_room) {
        return true;
    }
    if (room < OUTGOING_ROOM_MIN) {
        room = OUTGOING_ROOM_MIN;
    }
    struct outgoing *wider = malloc(room * sizeof(*wider));
    if (wider == NULL) {
        return false;
    }
    for (uint64_t s = link->acked + 1; s <= link->queued; s++) {
        wider[s & (room - 1)] = *outgoing_at(link, s);
    }
    free(link->outgoing);
    link->outgoing = wider;
    link->outgoing_room = room;
    return true;
}

uint64_t link_send(struct link *link, void *frame)
{
    assert(frame != NULL);
    if (link->forgotten) {
        release(link, frame);
        link->acked = link->sent = ++link->queued;
        return link->queued;
    }
    if (!reserve_outgoing(link)) {
        return 0;
    }
    *outgoing_at(link, ++link->queued) = (struct outgoing){.frame = frame};
    return link->queued;
}

uint64_t link_backlog(const struct link *link) { return link->queued - link->acked; }

uint64_t link_ack(struct link *link)
{
    link->told = link->received;
    link->ack_due_ns = LINK_NEVER;
    return link->received + (MUTANT(LINKACKNEXT) ? 1 : 0);
}

static void transmit(struct link *link, uint64_t sequence, uint64_t now_ns,
                     struct link_transmission *out)
{
    struct outgoing *outgoing = outgoing_at(link, sequence);
    outgoing->again = sequence <= link->sent;
    outgoing->sent_ns = now_ns;
    link->stats.sent += !outgoing->again;
    link->stats.resent += outgoing->again;
    *out = (struct link_transmission){.sequence = sequence,
                                      .ack = link_ack(link),
                                      .frame = outgoing->frame,
                                      .again = outgoing->again};
}

static uint64_t later(uint64_t now_ns, uint64_t delay_ns)
{
    return now_ns < LINK_NEVER - delay_ns ? now_ns + delay_ns : LINK_NEVER - 1;
}

static bool window_is_open(const struct link *link)
{
    return link->sent < link->queued && link->sent - link->acked < LINK_WINDOW;
}

static void back_off(struct link *link)
{
    uint64_t rto_ns = 2 * link->stats.rto_ns, max_ns = link->options->rto_max_ns;
    link->stats.rto_ns = rto_ns < max_ns ? rto_ns : max_ns;
    link->recover = link->sent;
}

bool link_next(struct link *link, uint64_t now_ns, struct link_transmission *out)
{
    bool timed_out = link->resend_ns <= now_ns && !MUTANT(LINKSENDONCE);
    if (timed_out) {
        back_off(link);
    }
    if (timed_out || link->gap) {
        link->gap = false;
        link->resend_ns = later(now_ns, link->stats.rto_ns);
        transmit(link, link->acked + 1, now_ns, out);
        return true;
    }
    if (window_is_open(link)) {
        if (link->resend_ns == LINK_NEVER) {
            link->resend_ns = later(now_ns, link->stats.rto_ns);
        }
        transmit(link, link->sent + 1, now_ns, out);
        link->sent++;
        return true;
    }
    if (link->ack_due_ns <= now_ns) {
        *out = (struct link_transmission){.ack = link_ack(link)};
        link->stats.acks_sent++;
        return true;
    }
    return false;
}

uint64_t link_deadline_ns(const struct link *link)
{
    if (link->gap || window_is_open(link)) {
        return 0;
    }
    return link->resend_ns < link->ack_due_ns ? link->resend_ns : link->ack_due_ns;
}

/* --- What the peer acknowledges -------------------------------------------------- */

/* The timeout that the measurements ask for. */
static uint64_t estimate_ns(const struct link *link)
{
    const struct link_options *options = link->options;
    uint64_t rto_ns = link->stats.rtt_ns + 4 * link->stats.rtt_deviation_ns;
    if (rto_ns == 0) {
        return options->rto_initial_ns;
    }
    if (rto_ns < options->rto_min_ns) {
        return options->rto_min_ns;
    }
    return rto_ns < options->rto_max_ns ? rto_ns : options->rto_max_ns;
}

static void measure(struct link *link, uint64_t rtt_ns)
{
    struct link_stats *stats = &link->stats;
    if (rtt_ns > link->options->rto_max_ns) {
        rtt_ns = link->options->rto_max_ns;
    }
    if (stats->rtt_ns == 0) {
        stats->rtt_ns = rtt_ns;
        stats->rtt_deviation_ns = rtt_ns / 2;
    } else {
        uint64_t off_ns =
            stats->rtt_ns > rtt_ns ? stats->rtt_ns - rtt_ns : rtt_ns - stats->rtt_ns;
        stats->rtt_deviation_ns = (3 * stats->rtt_deviation_ns + off_ns) / 4;
        stats->rtt_ns = (7 * stats->rtt_ns + rtt_ns) / 8;
    }
    stats->rto_ns = estimate_ns(link);
}

/* Takes half of the last doublings back. */
static void relax(struct link *link)
{
    uint64_t half_ns = link->stats.rto_ns / 2, least_ns = estimate_ns(link);
    link->stats.rto_ns = half_ns > least_ns ? half_ns : least_ns;
}

static void trim_outgoing(struct link *link)
{
    if (link->acked < link->queued || link->outgoing_room <= OUTGOING_ROOM_KEPT_MAX) {
        return;
    }
    free(link->outgoing);
    link->outgoing = NULL;
    link->outgoing_room = 0;
}

static void acknowledged(struct link *link, uint64_t now_ns, uint64_t ack)
{
    if (ack > link->sent) {
        link->stats.refused++;
    }
    if (ack > link->sent || ack <= link->acked) {
        return;
    }
    const struct outgoing newest = *outgoing_at(link, ack);
    bool tells = !newest.again; /* how long a round trip takes */
    bool moves = false;         /* the link, whatever was lost */
    for (uint64_t s = link->acked + 1; s <= ack; s++) {
        const struct outgoing *outgoing = outgoing_at(link, s);
        tells = tells && (!outgoing->again || outgoing->sent_ns <= newest.sent_ns);
        moves = moves || !outgoing->again;
        release(link, outgoing->frame);
    }
    link->acked = ack;
    if (tells) {
        measure(link, now_ns - newest.sent_ns);
    } else if (moves) {
        relax(link);
    }
    bool more = ack < link->sent;
    link->gap = more && ack < link->recover;
    link->resend_ns = more ? later(now_ns, link->stats.rto_ns) : LINK_NEVER;
    trim_outgoing(link);
}

/* --- Receiving -------------------------------------------------------------------- */

static void ack_by(struct link *link, uint64_t due_ns)
{
    if (due_ns < link->ack_due_ns) {
        link->ack_due_ns = due_ns;
    }
}

/* Places a frame that is neither old nor beyond the window. */
static void place(struct link *link, uint64_t now_ns, uint64_t sequence, void *frame)
{
    *incoming_at(link, sequence) = frame;
    if (sequence != link->received + 1) {
        link->early++;
        return;
    }
    bool closes_gap = link->early > 0;
    link->received++;
    while (link->early > 0 && *incoming_at(link, link->received + 1) != NULL) {
        link->received++;
        link->early--;
    }
    bool at_once = closes_gap || link->received - link->told >= ACK_AT_ONCE_FRAMES;
    ack_by(link, at_once ? now_ns : later(now_ns, link->options->ack_delay_ns));
}

void link_receive(struct link *link, uint64_t now_ns, uint64_t sequence, uint64_t ack,
                  void *frame)
{
    assert((sequence == 0) == (frame == NULL));
    if (!link->forgotten) {
        acknowledged(link, now_ns, ack);
    }
    if (frame == NULL) {
        return;
    }
    if (link->incoming == NULL && !link->forgotten) {
        link->incoming = calloc(LINK_WINDOW, sizeof(*link->incoming));
    }
    if (link->incoming == NULL) {
        release(link, frame); /* lost, and sent again */
        return;
    }
    if (sequence <= link->received && !MUTANT(LINKTWICE)) {
        link->stats.repeated++;
        ack_by(link, now_ns); /* the peer has missed the last one */
        release(link, frame);
    } else if (sequence > link->taken + LINK_WINDOW) {
        link->stats.beyond++;
        release(link, frame);
    } else if (*incoming_at(link, sequence) != NULL) {
        link->stats.repeated++;
        release(link, frame);
    } else {
        place(link, now_ns, sequence, frame);
    }
}

void *link_take(struct link *link)
{
    if (link->taken == link->received) {
        return NULL;
    }
    void **place_of = incoming_at(link, ++link->taken);
    void *frame = *place_of;
    *place_of = NULL;
    link->stats.delivered++;
    return frame;
}

const struct link_stats *link_stats(const struct link *link) { return &link->stats; }
