/* hops.c - from hop to hop, where ranks do not all speak with all (carrier.h).
 *
 *     | route_head | link_head | piece_head | bytes ...     in a datagram of a hop's
 *
 * The route (route.h) says which host a datagram goes to next.  On the last host that
 * is the rank it is for; on one between it is any that answers, by a hash of the two
 * ranks at the ends, so that the ranks of a host share the work and answers come back
 * the way that questions went.  A relay seals anew, and looks at nothing behind the
 * route's words.
 *
 * A peer that was sent something that calls for an answer, and is not heard for a
 * while, is silent: then the next rank of that host is taken, and if all are silent the
 * way goes by another host if there is one.  For frames that it passes on a relay owes
 * a word. The silent are asked now and then, and with each datagram that goes to them
 * they are told that they are not heard: a line may be cut one way.
 *
 * A datagram that is lost on its way is sent again by the link from end to end.  So a
 * relay may drop what it has no room for, and what would go back where it came from.
 * Each datagram is passed on at most ROUTE_HOPS_MAX times, once by each that gets it.
 */
#include "consensus/route/route.h"
#include "node/transport/carrier/carrier_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS(n) ((n)*UINT64_C(1000000))
#define SILENT_NS MILLISECONDS(1000)
#define DEAF_NS (2 * SILENT_NS) /* it is said again before that is over */
#define LOOK_NS MILLISECONDS(100)
#define ASK_AGAIN_NS MILLISECONDS(1000)

enum { PASSED_MAX = 256, PASSED_BYTES_MAX = 8 << 20 }; /* for one hop, that wait */

struct hops {
    struct route *route;
    uint32_t size, hosts, own; /* this rank's host */
    uint32_t *host_of;         /* by rank */
    uint32_t *first, *ranks;   /* by host: where its ranks begin, in order */
    uint32_t *living;          /* by host: its ranks that are not gone */
    struct hearing *hearings;  /* by host: of any of its ranks */
    uint32_t *deaf;            /* by host: the rank that last said so of itself */
    enum route_host *states;   /* by host, as the ways were found with */
    uint32_t *next;            /* by host */
    uint64_t looked_ns, passed_ns;
};

/* --- Opening ---------------------------------------------------------------------- */

static bool make_tables(struct hops *r, const uint32_t *hosts)
{
    r->host_of = calloc(r->size, sizeof(*r->host_of));
    r->ranks = calloc(r->size, sizeof(*r->ranks));
    r->first = calloc((size_t)r->hosts + 2, sizeof(*r->first));
    r->living = calloc(r->hosts, sizeof(*r->living));
    r->hearings = calloc(r->hosts, sizeof(*r->hearings));
    r->deaf = calloc(r->hosts, sizeof(*r->deaf));
    r->states = calloc(r->hosts, sizeof(*r->states));
    r->next = calloc(r->hosts, sizeof(*r->next));
    if (!r->host_of || !r->ranks || !r->first || !r->living || !r->hearings ||
        !r->deaf || !r->states || !r->next) {
        return false;
    }
    for (uint32_t rank = 0; rank < r->size; rank++) {
        r->host_of[rank] = hosts[rank];
        r->living[hosts[rank]]++;
        r->first[hosts[rank] + 2]++;
    }
    for (uint32_t host = 0; host < r->hosts; host++) {
        r->first[host + 2] += r->first[host + 1];
    }
    for (uint32_t rank = 0; rank < r->size; rank++) {
        r->ranks[r->first[hosts[rank] + 1]++] = rank;
    }
    return true;
}

int hops_open(struct carrier *c, const char *text, const uint32_t *hosts,
              const char *const *names, const char *const *addresses,
              uint32_t host_count, uint32_t size, uint32_t rank, char *story,
              size_t story_size)
{
    struct route *route = NULL;
    const int code =
        route_new(text, names, addresses, host_count, &route, story, story_size);
    if (code != MOOT_OK || route == NULL) {
        return code;
    }
    struct hops *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        route_free(route);
    } else {
        *r = (struct hops){
            .route = route, .size = size, .hosts = host_count, .own = hosts[rank]};
        c->hops = r;
    }
    if (r == NULL || !make_tables(r, hosts)) {
        snprintf(story, story_size, "out of memory for MOOT_ROUTE");
        return MOOT_ERR_NO_MEMORY;
    }
    route_find(route, r->own, r->states, r->next);
    c->way_bytes = sizeof(struct route_head);
    return MOOT_OK;
}

void hops_release(struct carrier *c)
{
    struct hops *r = c->hops;
    if (r == NULL) {
        return;
    }
    route_free(r->route);
    free(r->host_of);
    free(r->ranks);
    free(r->first);
    free(r->living);
    free(r->hearings);
    free(r->deaf);
    free(r->states);
    free(r->next);
    free(r);
    c->hops = NULL;
}

/* --- Who answers ------------------------------------------------------------------ */

/* A hearing may be younger than the clock that was read before it. */
static bool is_silent(const struct hearing *hearing, uint64_t now_ns)
{
    return hearing->asked_ns != 0 && now_ns > hearing->asked_ns + SILENT_NS;
}

/* A peer that answers, and hears this one, as far as is known. */
static bool is_well(const struct hearing *hearing, uint64_t now_ns)
{
    return !is_silent(hearing, now_ns) &&
           (hearing->deaf_ns == 0 || now_ns > hearing->deaf_ns + DEAF_NS);
}

static bool was_heard(const struct hearing *hearing, uint64_t now_ns)
{
    return is_well(hearing, now_ns) && hearing->heard_ns != 0 &&
           now_ns <= hearing->heard_ns + SILENT_NS;
}

void hops_sent(struct carrier *c, struct carrier_peer *hop, bool wants_answer)
{
    struct hearing *host = &c->hops->hearings[c->hops->host_of[hop->rank]];
    hop->owed = false;
    if (wants_answer && (hop->hearing.asked_ns == 0 || host->asked_ns == 0)) {
        const uint64_t now_ns = carrier_now_ns();
        hop->hearing.asked_ns = hop->hearing.asked_ns ? hop->hearing.asked_ns : now_ns;
        host->asked_ns = host->asked_ns ? host->asked_ns : now_ns;
    }
}

static void see(struct hops *r, struct carrier_peer *hop, bool deaf)
{
    const uint32_t host = r->host_of[hop->rank];
    const uint64_t now_ns = carrier_now_ns();
    hop->hearing = (struct hearing){.heard_ns = now_ns, .deaf_ns = deaf ? now_ns : 0};
    r->hearings[host].heard_ns = now_ns;
    r->hearings[host].asked_ns = 0;
    if (deaf || r->deaf[host] == hop->rank) {
        r->hearings[host].deaf_ns = hop->hearing.deaf_ns;
        r->deaf[host] = hop->rank;
    }
    if (deaf != (r->states[host] == ROUTE_SILENT)) {
        r->looked_ns = 0;
    }
}

/* Long ago it was asked. */
void hops_suspect(struct carrier *c, struct carrier_peer *hop)
{
    hop->hearing.asked_ns = hop->hearing.asked_ns != 0 ? 1 : 0;
    c->hops->looked_ns = 0;
}

/* Finds the ways anew if what is known of a host has changed. */
static void look_at_hosts(struct hops *r, uint64_t now_ns)
{
    bool changed = false;
    for (uint32_t host = 0; host < r->hosts; host++) {
        const bool well = is_well(&r->hearings[host], now_ns);
        const enum route_host now = r->living[host] == 0 ? ROUTE_GONE
                                    : well               ? ROUTE_UP
                                                         : ROUTE_SILENT;
        changed = changed || now != r->states[host];
        r->states[host] = now;
    }
    if (changed) {
        route_find(r->route, r->own, r->states, r->next);
    }
}

/* Whether this rank is, towards that one. */
static uint32_t is_deaf(const struct carrier_peer *hop)
{
    return hop->hearing.asked_ns != 0 && is_silent(&hop->hearing, carrier_now_ns());
}

/* A datagram of route's words alone. */
static void say_word(struct carrier *c, struct carrier_peer *hop, enum hop_word word)
{
    const struct route_head head = {.origin = c->exchange.rank,
                                    .destination = hop->rank,
                                    .word = (uint16_t)word,
                                    .deaf = is_deaf(hop)};
    if (far_introduce(c, hop) && far_give_held(c, hop) && !c->exchange.failed) {
        hops_sent(c, hop, word == HOP_ASK);
        far_emit(c, hop, (const unsigned char *)&head, sizeof(head));
    }
}

void hops_look(struct carrier *c)
{
    struct hops *r = c->hops;
    const uint64_t now_ns = carrier_now_ns();
    if (now_ns - r->looked_ns < LOOK_NS) {
        return;
    }
    r->looked_ns = now_ns;
    for (uint32_t rank = 0; rank < r->size; rank++) {
        struct carrier_peer *p = &c->peers[rank];
        if (c->exchange.peers[rank].forgotten || p->gone) {
            continue;
        }
        if (is_silent(&p->hearing, now_ns) &&
            now_ns - p->asked_again_ns >= ASK_AGAIN_NS) {
            p->asked_again_ns = now_ns;
            say_word(c, p, HOP_ASK);
        } else if (p->owed) {
            say_word(c, p, HOP_HERE);
        }
    }
    look_at_hosts(r, now_ns);
}

void hops_lose(struct carrier *c, struct carrier_peer *p)
{
    if (!p->gone) {
        p->gone = true;
        c->hops->living[c->hops->host_of[p->rank]]--;
        c->hops->looked_ns = 0;
    }
}

bool hops_are_idle(const struct carrier *c, uint64_t for_ns)
{
    return c->hops == NULL || carrier_now_ns() - c->hops->passed_ns >= for_ns;
}

/* --- Ways ------------------------------------------------------------------------- */

/* The same from both ends. */
static uint32_t mix_pair(uint32_t a, uint32_t b)
{
    const uint64_t pair = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    return (uint32_t)((pair * UINT64_C(0x9e3779b97f4a7c15)) >> 33);
}

/* One of a host's ranks: of those that answer if there are such; NULL: all are gone. */
static struct carrier_peer *choose_relay(struct carrier *c, uint32_t host,
                                         uint32_t mixed)
{
    const struct hops *r = c->hops;
    const uint32_t *ranks = &r->ranks[r->first[host]];
    const uint32_t count = r->first[host + 1] - r->first[host];
    const uint64_t now_ns = carrier_now_ns();
    struct carrier_peer *silent = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct carrier_peer *p = &c->peers[ranks[(mixed + i) % count]];
        if (p->gone || c->exchange.peers[p->rank].forgotten) {
            continue;
        }
        if (is_well(&p->hearing, now_ns)) {
            return p;
        }
        silent = silent != NULL ? silent : p;
    }
    return silent;
}

struct carrier_peer *hops_way(struct carrier *c, uint32_t origin,
                              struct carrier_peer *p)
{
    const struct hops *r = c->hops;
    const uint32_t host = r->host_of[p->rank], next = r->next[host];
    /* A peer that speaks to this host directly, since it knows of no other way, is
     * answered likewise. */
    if (host == r->own || next == host ||
        was_heard(&r->hearings[host], carrier_now_ns())) {
        return p;
    }
    struct carrier_peer *relay = choose_relay(c, next, mix_pair(origin, p->rank));
    return relay != NULL ? relay : p;
}

void hops_address(const struct carrier *c, const struct carrier_peer *hop,
                  const struct carrier_peer *p, unsigned char *bytes)
{
    const struct route_head head = {.origin = c->exchange.rank,
                                    .destination = p->rank,
                                    .hops = ROUTE_HOPS_MAX,
                                    .word = HOP_FRAME,
                                    .deaf = is_deaf(hop)};
    memcpy(bytes, &head, sizeof(head));
}

/* --- Passing on ------------------------------------------------------------------- */

static void keep(struct carrier *c, struct carrier_peer *hop,
                 const struct route_head *head, const unsigned char *bytes, size_t size)
{
    const bool room =
        hop->passed_count < PASSED_MAX && hop->passed_bytes + size <= PASSED_BYTES_MAX;
    struct bundle *packet = room ? malloc(sizeof(*packet) + size) : NULL;
    if (packet == NULL) {
        return; /* it comes again */
    }
    packet->next = NULL;
    packet->size = size;
    memcpy(packet->bytes, head, sizeof(*head));
    memcpy(packet->bytes + sizeof(*head), bytes + sizeof(*head), size - sizeof(*head));
    *(hop->passed != NULL ? hop->passed_last : &hop->passed) = packet;
    hop->passed_last = &packet->next;
    hop->passed_count++;
    hop->passed_bytes += size;
    pieces_wake(c, hop);
}

static struct bundle *unkeep(struct carrier_peer *hop)
{
    struct bundle *packet = hop->passed;
    if (packet != NULL) {
        hop->passed = packet->next;
        hop->passed_count--;
        hop->passed_bytes -= packet->size;
    }
    return packet;
}

bool hops_drive(struct carrier *c, struct carrier_peer *hop)
{
    while (hop->passed != NULL && far_give_held(c, hop) && !c->exchange.failed) {
        struct bundle *packet = unkeep(hop);
        hops_sent(c, hop, true);
        far_emit(c, hop, packet->bytes, packet->size);
        free(packet);
    }
    return hop->passed == NULL;
}

void hops_drop(struct carrier_peer *p)
{
    for (struct bundle *packet; (packet = unkeep(p)) != NULL;) {
        free(packet);
    }
}

/* Its words are sound, and it is for another rank. */
static void pass_on(struct carrier *c, struct carrier_peer *hop,
                    const struct route_head *head, const unsigned char *bytes,
                    size_t size)
{
    struct hops *r = c->hops;
    struct carrier_peer *way = hops_way(c, head->origin, &c->peers[head->destination]);
    const uint32_t back = r->host_of[hop->rank];
    struct route_head onward = *head;
    r->passed_ns = carrier_now_ns();
    hop->owed = true;
    if (head->hops == 0 || c->exchange.peers[head->destination].forgotten ||
        (r->host_of[way->rank] == back && back != r->own) || !far_introduce(c, way)) {
        return;
    }
    onward.hops--;
    onward.deaf = is_deaf(way);
    if (way->passed != NULL || !far_give_held(c, way)) {
        keep(c, way, &onward, bytes, size);
        return;
    }
    if (bytes != c->opened) {
        memcpy(c->opened, bytes, size);
    }
    memcpy(c->opened, &onward, sizeof(onward));
    hops_sent(c, way, true);
    far_emit(c, way, c->opened, size);
}

struct carrier_peer *hops_take(struct carrier *c, struct carrier_peer *hop,
                               const unsigned char *bytes, size_t size, bool fresh)
{
    const uint32_t self = c->exchange.rank;
    struct route_head head;
    if (size < sizeof(head)) {
        c->exchange.stats.forged++;
        return NULL;
    }
    memcpy(&head, bytes, sizeof(head));
    if (head.origin >= c->hops->size || head.destination >= c->hops->size ||
        head.origin == self || head.origin == head.destination ||
        head.hops > ROUTE_HOPS_MAX) {
        c->exchange.stats.forged++;
        return NULL;
    }
    if (fresh) {
        see(c->hops, hop, head.deaf != 0);
    }
    if (head.word != HOP_FRAME) {
        hop->owed = hop->owed || head.word == HOP_ASK;
        return NULL;
    }
    if (head.destination != self) {
        pass_on(c, hop, &head, bytes, size);
        return NULL;
    }
    return c->exchange.peers[head.origin].forgotten ? NULL : &c->peers[head.origin];
}
