/* stream.c - the slots of a transport over byte streams (moot_stream.h); its lines are
 * in stream_line.c.
 */
#include "node/wires/stream/stream.h"
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { READY_AT_ONCE = 64, READY_ROUNDS = 4 };

static struct stream_wire *wire_of(moot_wire *wire)
{
    return (struct stream_wire *)wire;
}

static const struct stream_wire *look_at(const moot_wire *wire)
{
    return (const struct stream_wire *)wire;
}

__attribute__((format(printf, 3, 4))) static int
refuse_call(struct stream_wire *wire, int code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(wire->story, sizeof(wire->story), format, values);
    va_end(values);
    return code;
}

/* --- Peers -------------------------------------------------------------------------
 */

struct stream_peer *stream_peer_of(struct stream_wire *wire, uint64_t uid)
{
    struct stream_peer *peer = stream_map_find(&wire->peers, uid);
    if (peer == NULL) {
        peer = calloc(1, sizeof(*peer));
        if (peer != NULL) {
            peer->entry.key = uid;
            peer->pause_ns = STREAM_PAUSE_MIN_NS;
            stream_map_add(&wire->peers, &peer->entry);
        }
    }
    return peer;
}

void stream_peer_drop(struct stream_wire *wire, struct stream_peer *peer)
{
    if (!peer->introduced && peer->made == NULL && peer->accepted == NULL) {
        stream_map_remove(&wire->peers, peer->entry.key);
        free(peer->address);
        free(peer);
    }
}

void stream_peer_put_off(struct stream_peer *peer, const struct stream_line *line)
{
    const uint64_t now = stream_now_ns();
    const bool stood = line != NULL && line->state == STREAM_OPEN;
    if (stood && now - line->open_ns > STREAM_GOOD_NS) {
        peer->pause_ns = STREAM_PAUSE_MIN_NS;
    }
    peer->attempt += stood ? 0 : 1;
    peer->retry_ns = now + peer->pause_ns;
    peer->pause_ns *= peer->pause_ns < STREAM_PAUSE_MAX_NS ? 2 : 1;
}

int moot_stream_introduce(moot_wire *self, uint64_t uid, const void *address,
                          size_t length)
{
    struct stream_wire *wire = wire_of(self);
    if (length > MOOT_TRANSPORT_ADDRESS_MAX) {
        return refuse_call(wire, MOOT_ERR_INVALID, "an address of %zu bytes", length);
    }
    struct stream_peer *peer = stream_peer_of(wire, uid);
    unsigned char *copy = malloc(length > 0 ? length : 1);
    if (peer == NULL || copy == NULL) {
        free(copy);
        if (peer != NULL) {
            stream_peer_drop(wire, peer);
        }
        return refuse_call(wire, MOOT_ERR_NO_MEMORY, "no memory for a peer");
    }
    if (peer->introduced) {
        free(copy);
        return refuse_call(wire, MOOT_ERR_INVALID,
                           "the uid %016llx was introduced before",
                           (unsigned long long)uid);
    }
    if (length > 0) {
        memcpy(copy, address, length);
    }
    peer->address = copy;
    peer->length = length;
    peer->introduced = true;
    return MOOT_OK;
}

void moot_stream_forget(moot_wire *self, uint64_t uid)
{
    struct stream_wire *wire = wire_of(self);
    struct stream_peer *peer = stream_map_find(&wire->peers, uid);
    if (peer == NULL) {
        return;
    }
    peer->introduced = true; /* so that it is there until its lines are gone */
    if (peer->made != NULL) {
        stream_line_doom(wire, peer->made, false);
    }
    if (peer->accepted != NULL) {
        stream_line_doom(wire, peer->accepted, false);
    }
    peer->introduced = false;
    stream_peer_drop(wire, peer);
    if (wire->receiver == NULL) {
        stream_lines_tend(wire);
    }
}

/* --- Frames ------------------------------------------------------------------------
 */

/* The line over which frames go to a peer; NULL: none now.  *full: soon. */
static struct stream_line *find_line(struct stream_wire *wire, struct stream_peer *peer,
                                     bool *full)
{
    *full = false;
    if (peer->out == NULL && peer->accepted != NULL) {
        peer->out = peer->accepted;
    }
    if (peer->out != NULL) {
        return peer->out;
    }
    if (peer->lost || (peer->retry_ns > 0 && stream_now_ns() < peer->retry_ns)) {
        return NULL;
    }
    if (wire->connects >= STREAM_CONNECTS_MAX) {
        *full = true;
        return NULL;
    }
    if (peer->made != NULL) { /* it is parting, and the line that was to stay is gone */
        stream_line_doom(wire, peer->made, false);
    }
    moot_stream *stream =
        wire->table->connect(wire->end, peer->address, peer->length, peer->attempt);
    struct stream_line *line =
        stream != NULL ? stream_line_new(wire, stream, peer, peer->entry.key) : NULL;
    if (line == NULL) {
        stream_peer_put_off(peer, NULL);
        peer->lost = wire->reliable;
        return NULL;
    }
    peer->made = peer->out = line;
    return line;
}

int moot_stream_send(moot_wire *self, uint64_t uid, const void *bytes, size_t size)
{
    struct stream_wire *wire = wire_of(self);
    struct stream_peer *peer = stream_map_find(&wire->peers, uid);
    bool full;
    if (peer == NULL || !peer->introduced) {
        return refuse_call(wire, MOOT_ERR_INVALID, "nobody of uid %016llx is known",
                           (unsigned long long)uid);
    }
    if (size == 0 || size > MOOT_STREAM_FRAME_MAX) {
        return refuse_call(wire, MOOT_ERR_INVALID, "a frame has 1 to %d bytes, not %zu",
                           MOOT_STREAM_FRAME_MAX, size);
    }
    struct stream_line *line = find_line(wire, peer, &full);
    if (line == NULL) {
        return full ? MOOT_TRANSPORT_FULL : MOOT_OK;
    }
    const int code = stream_line_send(wire, line, bytes, size);
    if (line->made && line->state == STREAM_GREETS) {
        stream_line_flush(wire, line);
    }
    return code;
}

/* --- Moving along -------------------------------------------------------------------
 */

static void find_ready(struct stream_wire *wire)
{
    moot_stream *ready[READY_AT_ONCE];
    if (wire->table->ready == NULL) {
        for (struct stream_line *line = wire->fresh.first; line != NULL;
             line = line->next) {
            stream_line_heat(wire, line);
        }
        for (struct stream_line *line = wire->open.first; line != NULL;
             line = line->next) {
            stream_line_heat(wire, line);
        }
        return;
    }
    for (int round = 0, count = READY_AT_ONCE;
         round < READY_ROUNDS && count == READY_AT_ONCE; round++) {
        count = wire->table->ready(wire->end, ready, READY_AT_ONCE);
        for (int i = 0; i < count; i++) {
            struct stream_line *line =
                stream_map_find(&wire->by_stream, (uintptr_t)ready[i]);
            if (line != NULL) {
                stream_line_heat(wire, line);
            }
        }
    }
}

/* Whether there is room for a stranger, perhaps in the place of the oldest. */
static bool make_room(struct stream_wire *wire)
{
    if (wire->strangers < MOOT_STREAM_STRANGERS_MAX) {
        return true;
    }
    struct stream_line *line = wire->fresh.first;
    while (line->made) {
        line = line->next;
    }
    if (stream_now_ns() + STREAM_GREETING_NS - line->due_ns < STREAM_CROWD_NS) {
        return false;
    }
    wire->counts.crowded_out++;
    stream_line_doom(wire, line, true);
    return true;
}

static void accept_streams(struct stream_wire *wire)
{
    wire->more = true;
    for (int i = 0; i < STREAM_ACCEPTS && make_room(wire); i++) {
        moot_stream *stream = wire->table->accept(wire->end);
        if (stream == NULL) {
            wire->more = false;
            return;
        }
        wire->counts.accepted++;
        (void)stream_line_new(wire, stream, NULL, 0);
    }
}

/* Hundreds of strangers who say nothing are not to be looked at in each poll. */
static void drop_late(struct stream_wire *wire)
{
    const uint64_t now = wire->fresh.first != NULL ? stream_now_ns() : 0;
    if (now <= wire->none_late_ns) {
        return;
    }
    wire->none_late_ns = UINT64_MAX;
    for (struct stream_line *line = wire->fresh.first, *next; line != NULL;
         line = next) {
        next = line->next;
        if (line->due_ns < now) {
            wire->counts.late += line->made ? 0 : 1;
            stream_line_doom(wire, line, true);
        } else if (line->due_ns < wire->none_late_ns) {
            wire->none_late_ns = line->due_ns;
        }
    }
}

/* Each line that is hot now has a turn. */
static void serve_hot(struct stream_wire *wire)
{
    struct stream_line *hot = wire->hot;
    wire->hot = NULL;
    wire->hot_end = &wire->hot;
    while (hot != NULL) {
        struct stream_line *line = hot;
        hot = line->next_hot;
        line->hot = false;
        if (!line->doomed) {
            stream_line_flush(wire, line);
        }
        if (!line->doomed && stream_line_read(wire, line)) {
            stream_line_heat(wire, line);
        }
    }
}

/* The descriptor is readable as long as there is something to do that the end does not
 * know of. */
static void set_alarm(struct stream_wire *wire)
{
    const bool due = wire->hot != NULL || wire->more;
    uint64_t one = 1;
    if (wire->alarm < 0 || due == wire->alarmed) {
        return;
    }
    const ssize_t done = due ? write(wire->alarm, &one, sizeof(one))
                             : read(wire->alarm, &one, sizeof(one));
    wire->alarmed = done > 0 ? due : wire->alarmed;
}

int moot_stream_poll(moot_wire *self, const moot_transport_receiver *receiver,
                     int frames_max)
{
    struct stream_wire *wire = wire_of(self);
    wire->receiver = receiver;
    wire->handed = 0;
    wire->handed_max = frames_max;
    find_ready(wire);
    accept_streams(wire);
    serve_hot(wire);
    drop_late(wire);
    stream_lines_tend(wire);
    set_alarm(wire);
    wire->receiver = NULL;
    return wire->handed;
}

bool moot_stream_flushed(const moot_wire *self) { return look_at(self)->waiting == 0; }

/* --- Beginning and end --------------------------------------------------------------
 */

int moot_stream_address(moot_wire *self, void *bytes, size_t *length)
{
    struct stream_wire *wire = wire_of(self);
    const int code = wire->table->address(wire->end, bytes, length);
    return code == MOOT_OK
               ? code
               : refuse_call(wire, code, "%s: it has no address", wire->name);
}

const char *moot_stream_story(const moot_wire *self) { return look_at(self)->story; }

int moot_stream_descriptor(const moot_wire *self) { return look_at(self)->watch; }

void moot_stream_count(const moot_wire *self, moot_stream_counts *out)
{
    *out = look_at(self)->counts;
}

/* The first slot that must be there and is not; NULL: all are. */
static const char *find_hole(const moot_stream_transport *table)
{
    const struct {
        const char *name;
        bool there;
    } slots[] = {
        {"open", table->open != NULL},       {"address", table->address != NULL},
        {"connect", table->connect != NULL}, {"accept", table->accept != NULL},
        {"read", table->read != NULL},       {"write", table->write != NULL},
        {"hang_up", table->hang_up != NULL}, {"close", table->close != NULL},
    };
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        if (!slots[i].there) {
            return slots[i].name;
        }
    }
    return NULL;
}

/* Whether the table and the setup have what they need. */
static bool has_all(const moot_stream_transport *streams, const char *name,
                    const moot_transport_setup *setup, char *story, size_t story_size)
{
    if (streams->size < sizeof(*streams)) {
        (void)snprintf(story, story_size,
                       "%s: .size of its table of streams is %zu, not the %zu of "
                       "sizeof(moot_stream_transport)",
                       name, streams->size, sizeof(*streams));
        return false;
    }
    const char *hole = find_hole(streams);
    if (hole != NULL) {
        (void)snprintf(story, story_size,
                       "%s: its table of streams has no .%s, which each has", name,
                       hole);
        return false;
    }
    if (setup->size < sizeof(*setup) || setup->secret == NULL) {
        (void)snprintf(story, story_size, "%s: streams need the job's secret (setup)",
                       name);
        return false;
    }
    return true;
}

static bool watch_end(struct stream_wire *wire, int end)
{
    struct epoll_event event = {.events = EPOLLIN};
    wire->watch = epoll_create1(EPOLL_CLOEXEC);
    wire->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wire->watch >= 0 && wire->alarm >= 0 &&
           epoll_ctl(wire->watch, EPOLL_CTL_ADD, end, &event) == 0 &&
           epoll_ctl(wire->watch, EPOLL_CTL_ADD, wire->alarm, &event) == 0;
}

static void free_wire(struct stream_wire *wire)
{
    if (wire->watch >= 0) {
        (void)close(wire->watch);
    }
    if (wire->alarm >= 0) {
        (void)close(wire->alarm);
    }
    for (size_t i = 0; wire->peers.buckets != NULL && i < wire->peers.bucket_count;
         i++) {
        for (struct stream_entry *at = wire->peers.buckets[i], *next; at != NULL;
             at = next) {
            next = at->next;
            struct stream_peer *peer = (struct stream_peer *)at;
            free(peer->address);
            free(peer);
        }
    }
    free(wire->peers.buckets);
    free(wire->by_stream.buckets);
    stream_buffer_free(&wire->spare);
    sodium_memzero(wire->secret, sizeof(wire->secret));
    free(wire);
}

void moot_stream_close(moot_wire *self)
{
    struct stream_wire *wire = wire_of(self);
    const moot_transport_receiver nobody = {.size = sizeof(nobody)};
    struct stream_line *line;
    while ((line = wire->fresh.first) != NULL || (line = wire->open.first) != NULL) {
        stream_line_doom(wire, line, false);
    }
    wire->receiver = &nobody;
    stream_lines_tend(wire);
    wire->table->close(wire->end);
    free_wire(wire);
}

int moot_stream_open(const moot_stream_transport *streams, const char *name,
                     uint32_t promises, const moot_transport_setup *setup,
                     moot_wire **out, char *story, size_t story_size)
{
    if (!has_all(streams, name, setup, story, story_size)) {
        return MOOT_ERR_CONFIG;
    }
    struct stream_wire *wire = calloc(1, sizeof(*wire));
    if (wire == NULL || sodium_init() < 0) {
        (void)snprintf(story, story_size, "%s: no memory or randomness", name);
        free(wire);
        return MOOT_ERR_NO_MEMORY;
    }
    wire->table = streams;
    wire->name = name;
    wire->uid = setup->uid;
    wire->reliable = (promises & MOOT_TRANSPORT_RELIABLE) != 0;
    wire->hot_end = &wire->hot;
    wire->watch = wire->alarm = -1;
    memcpy(wire->secret, setup->secret, sizeof(wire->secret));
    if (!stream_map_init(&wire->peers) || !stream_map_init(&wire->by_stream)) {
        (void)snprintf(story, story_size, "%s: no memory", name);
        free_wire(wire);
        return MOOT_ERR_NO_MEMORY;
    }
    const int code = streams->open(setup, &wire->end, story, story_size);
    if (code != MOOT_OK) {
        free_wire(wire);
        return code;
    }
    const int end = streams->descriptor != NULL ? streams->descriptor(wire->end) : -1;
    if (end >= 0 && !watch_end(wire, end)) {
        (void)snprintf(story, story_size, "%s: no descriptor is free", name);
        streams->close(wire->end);
        free_wire(wire);
        return MOOT_ERR_LIMIT;
    }
    *out = (moot_wire *)wire;
    return MOOT_OK;
}
