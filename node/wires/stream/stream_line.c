/* stream_line.c - lines: what is read from a stream and written to it, and how one ends
 * (stream.h).
 */
#include "node/wires/stream/stream.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t stream_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- Lists -------------------------------------------------------------------------
 */

static void append_line(struct stream_list *list, struct stream_line *line)
{
    line->next = NULL;
    line->previous = list->last;
    *(list->last != NULL ? &list->last->next : &list->first) = line;
    list->last = line;
}

static void remove_line(struct stream_list *list, struct stream_line *line)
{
    *(line->previous != NULL ? &line->previous->next : &list->first) = line->next;
    *(line->next != NULL ? &line->next->previous : &list->last) = line->previous;
}

static size_t *count_of_fresh(struct stream_wire *wire, const struct stream_line *line)
{
    return line->made ? &wire->connects : &wire->strangers;
}

/* Its greeting is over. */
static void leave_fresh(struct stream_wire *wire, struct stream_line *line)
{
    remove_line(&wire->fresh, line);
    *count_of_fresh(wire, line) -= 1;
}

void stream_line_heat(struct stream_wire *wire, struct stream_line *line)
{
    if (!line->hot && !line->doomed) {
        line->hot = true;
        line->next_hot = NULL;
        *wire->hot_end = line;
        wire->hot_end = &line->next_hot;
    }
}

static void set_waits(struct stream_wire *wire, struct stream_line *line)
{
    const bool waits = !line->doomed && stream_buffer_size(&line->out) > 0;
    if (waits != line->waits) {
        line->waits = waits;
        wire->waiting += waits ? 1 : (size_t)-1;
    }
}

struct stream_line *stream_line_new(struct stream_wire *wire, moot_stream *stream,
                                    struct stream_peer *peer, uint64_t uid)
{
    unsigned char first[STREAM_GREETING_BYTES + STREAM_PROOF_BYTES] = {0};
    struct stream_line *line = calloc(1, sizeof(*line));
    if (line == NULL) {
        wire->table->hang_up(stream);
        return NULL;
    }
    line->entry.key = (uintptr_t)stream;
    line->stream = stream;
    line->peer = peer;
    line->made = peer != NULL;
    line->to = uid;
    line->due_ns = stream_now_ns() + STREAM_GREETING_NS;
    line->state = line->made ? STREAM_GREETS : STREAM_STRANGER;
    line->may_write = line->made ? STREAM_GREETING_BYTES : SIZE_MAX;
    if (line->made) {
        stream_greeting_write(wire, line, first);
    }
    if (line->made && !stream_buffer_put(wire, &line->out, first, sizeof(first))) {
        wire->table->hang_up(stream);
        free(line);
        return NULL;
    }
    append_line(&wire->fresh, line);
    if (line->due_ns < wire->none_late_ns) {
        wire->none_late_ns = line->due_ns;
    }
    *count_of_fresh(wire, line) += 1;
    stream_map_add(&wire->by_stream, &line->entry);
    set_waits(wire, line);
    stream_line_heat(wire, line);
    return line;
}

/* --- Writing ------------------------------------------------------------------------
 */

static void count_greeting(struct stream_line *line, size_t done)
{
    if (line->may_write != SIZE_MAX) {
        line->may_write -= done;
        line->due_ns += line->may_write == 0 ? STREAM_ANSWER_NS : 0;
    }
}

void stream_line_flush(struct stream_wire *wire, struct stream_line *line)
{
    while (!line->doomed && line->may_write > 0 && line->waits) {
        const size_t all = stream_buffer_size(&line->out);
        const size_t most = all < line->may_write ? all : line->may_write;
        const ptrdiff_t done = wire->table->write(
            line->stream, line->out.bytes + line->out.head, most, false);
        if (done < 0 || (size_t)done > most) {
            stream_line_doom(wire, line, true);
        } else if (done == 0) {
            break;
        } else {
            count_greeting(line, (size_t)done);
            stream_buffer_drop(wire, &line->out, (size_t)done);
            set_waits(wire, line);
        }
    }
    if (line->parting && !line->made && !line->waits) {
        stream_line_doom(wire, line, false);
    }
}

/* Writes a part of a frame, or keeps what does not go. */
static void put_part(struct stream_wire *wire, struct stream_line *line,
                     const unsigned char *bytes, size_t size, bool more)
{
    size_t done = 0;
    while (!line->doomed && !line->waits && line->may_write > 0 && done < size) {
        const ptrdiff_t went =
            wire->table->write(line->stream, bytes + done, size - done, more);
        if (went < 0 || (size_t)went > size - done) {
            stream_line_doom(wire, line, true);
        }
        if (went <= 0) {
            break;
        }
        done += (size_t)went;
    }
    if (line->doomed || done == size) {
        return;
    }
    if (!stream_buffer_put(wire, &line->out, bytes + done, size - done)) {
        stream_line_doom(wire, line, true); /* as half a frame is there */
    }
    set_waits(wire, line);
}

int stream_line_send(struct stream_wire *wire, struct stream_line *line,
                     const void *bytes, size_t size)
{
    const size_t waiting = stream_buffer_size(&line->out);
    unsigned char *head = wire->written;
    if (waiting > 0 && waiting + STREAM_HEAD_BYTES + size > STREAM_QUEUE_BYTES) {
        return MOOT_TRANSPORT_FULL;
    }
    for (int i = 0; i < STREAM_HEAD_BYTES; i++) {
        head[i] = (unsigned char)(size >> 8 * i);
    }
    if (size <= STREAM_SHORT_BYTES) {
        memcpy(head + STREAM_HEAD_BYTES, bytes, size);
        put_part(wire, line, head, STREAM_HEAD_BYTES + size, false);
    } else {
        put_part(wire, line, head, STREAM_HEAD_BYTES, true);
        put_part(wire, line, bytes, size, false);
    }
    return MOOT_OK;
}

/* --- Greeting -----------------------------------------------------------------------
 */

/* Frames that wait for a challenge go over the peer's own line instead. */
static void take_over(struct stream_wire *wire, struct stream_peer *peer,
                      struct stream_line *line)
{
    struct stream_line *made = peer->made;
    const size_t first = made->out.head + made->may_write + STREAM_PROOF_BYTES;
    const size_t size = made->out.end - first;
    peer->out = line;
    if (size > 0 &&
        !stream_buffer_put(wire, &line->out, made->out.bytes + first, size)) {
        peer->lost = wire->reliable;
    }
    set_waits(wire, line);
    stream_line_doom(wire, made, false);
    stream_line_flush(wire, line);
}

/* --- One of two lines ---------------------------------------------------------------
 */

/* Says that nothing comes behind it (stream.h). */
static void say_last_word(struct stream_wire *wire, struct stream_line *line)
{
    static const unsigned char nothing[STREAM_HEAD_BYTES] = {0};
    line->parting = true;
    put_part(wire, line, nothing, sizeof(nothing), false);
}

/* Both ends have made a line.  That of the lower uid, which was accepted here, stays.
 */
static void keep_one(struct stream_wire *wire, struct stream_peer *peer)
{
    struct stream_line *made = peer->made;
    peer->out = peer->accepted;
    peer->out->may_write = 0;
    if (!made->parting) {
        say_last_word(wire, made);
    }
}

/* Lets go what waited before the line that stays. */
static void go_on_with(struct stream_wire *wire, struct stream_line *line)
{
    if (line != NULL && !line->made && line->may_write == 0) {
        line->may_write = SIZE_MAX;
        stream_line_flush(wire, line);
    }
}

/* The peer's last word over this line; false: it may not be said here. */
static bool hear_last_word(struct stream_wire *wire, struct stream_line *line)
{
    struct stream_peer *peer = line->peer;
    const bool two = peer != NULL && peer->made != NULL && peer->accepted != NULL;
    if (!two || line->made != line->parting ||
        (!line->made && (wire->uid > line->from || line != peer->accepted))) {
        return false;
    }
    if (line->made) {
        struct stream_line *stays = peer->out;
        stream_line_doom(wire, line, false);
        go_on_with(wire, stays);
        return true;
    }
    peer->accepted = NULL;
    peer->out = peer->out == line ? NULL : peer->out;
    line->peer = NULL;
    say_last_word(wire, line);
    stream_line_flush(wire, line);
    return true;
}

/* --- Greeting, the end --------------------------------------------------------------
 */

/* An accepted line whose peer is known. */
static void settle(struct stream_wire *wire, struct stream_line *line)
{
    struct stream_peer *peer = stream_peer_of(wire, line->from);
    if (peer == NULL) {
        stream_line_doom(wire, line, false);
        return;
    }
    struct stream_line *older = peer->accepted;
    peer->accepted = line;
    line->peer = peer;
    peer->retry_ns = 0;
    peer->pause_ns = STREAM_PAUSE_MIN_NS;
    if (older != NULL) {
        stream_line_doom(wire, older, false);
    }
    if (peer->made != NULL && peer->made->state == STREAM_GREETS) {
        take_over(wire, peer, line);
    } else if (peer->made != NULL && wire->uid > line->from) {
        keep_one(wire, peer);
    }
}

/* The words of a fresh line have come. */
static void answer_words(struct stream_wire *wire, struct stream_line *line)
{
    unsigned char answer[STREAM_CHALLENGE_BYTES];
    size_t size = 0;
    if (!stream_greeting_answer(wire, line, answer, &size) ||
        (line->made && line->may_write > 0)) {
        wire->counts.refused++;
        stream_line_doom(wire, line, true);
        return;
    }
    if (line->state == STREAM_OPEN) {
        leave_fresh(wire, line);
        append_line(&wire->open, line);
        line->open_ns = stream_now_ns();
    }
    if (line->made) {
        memcpy(line->out.bytes + line->out.head, answer, size);
        line->may_write = SIZE_MAX;
    } else if (line->state == STREAM_OPEN) {
        settle(wire, line);
    } else if (!stream_buffer_put(wire, &line->out, answer, size)) {
        stream_line_doom(wire, line, true);
    }
    set_waits(wire, line);
    stream_line_flush(wire, line);
}

/* Reads words of a fresh line; false: no more now. */
static bool read_words(struct stream_wire *wire, struct stream_line *line)
{
    const size_t due = stream_greeting_due(line) - line->words_size;
    const ptrdiff_t came =
        wire->table->read(line->stream, line->words + line->words_size, due);
    if (came < 0 || (size_t)came > due) {
        stream_line_doom(wire, line, true);
        return false;
    }
    line->words_size += (size_t)came;
    if ((size_t)came == due) {
        answer_words(wire, line);
    }
    return came > 0;
}

/* --- Reading ------------------------------------------------------------------------
 */

static size_t read_length(const unsigned char *head)
{
    return (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 |
           (size_t)head[3] << 24;
}

/* Hands over the frames among the bytes, and returns how many bytes these were;
 * *stopped: another is there, and no more may be handed over now. */
static size_t take_frames(struct stream_wire *wire, struct stream_line *line,
                          const unsigned char *bytes, size_t size, bool *stopped)
{
    const uint64_t uid = line->made ? line->to : line->from;
    size_t used = 0;
    while (!line->doomed && size - used >= STREAM_HEAD_BYTES) {
        const size_t length = read_length(bytes + used);
        if (length == 0 && hear_last_word(wire, line)) {
            used += STREAM_HEAD_BYTES;
            continue;
        }
        if (length == 0 || length > MOOT_STREAM_FRAME_MAX) {
            wire->counts.broken++;
            stream_line_doom(wire, line, true);
            break;
        }
        if (size - used - STREAM_HEAD_BYTES < length) {
            break;
        }
        if (wire->handed >= wire->handed_max) {
            *stopped = true;
            break;
        }
        wire->handed++;
        wire->receiver->frame(wire->receiver->context, uid,
                              bytes + used + STREAM_HEAD_BYTES, length);
        used += STREAM_HEAD_BYTES + length;
    }
    return used;
}

/* How many bytes the frame in the buffer still lacks, but no more than have come. */
static size_t find_lack(const struct stream_buffer *in)
{
    const size_t size = stream_buffer_size(in);
    const size_t most = size > STREAM_READ_BYTES / 2 ? size : STREAM_READ_BYTES / 2;
    const size_t whole = size < STREAM_HEAD_BYTES
                             ? STREAM_HEAD_BYTES
                             : STREAM_HEAD_BYTES + read_length(in->bytes + in->head);
    return whole - size < most ? whole - size : most;
}

/* Reads once, and hands over what is whole; false: no more now. */
static bool read_once(struct stream_wire *wire, struct stream_line *line, bool *stopped)
{
    struct stream_buffer *in = &line->in;
    const bool begun = stream_buffer_size(in) > 0;
    if (begun && !stream_buffer_reserve(wire, in, find_lack(in))) {
        stream_line_doom(wire, line, true);
        return false;
    }
    unsigned char *at = begun ? in->bytes + in->end : wire->scratch;
    const size_t room = begun ? in->room - in->end : sizeof(wire->scratch);
    const ptrdiff_t came = wire->table->read(line->stream, at, room);
    if (came < 0 || (size_t)came > room) {
        wire->counts.ended++;
        stream_line_doom(wire, line, true);
        return false;
    }
    if (begun) {
        in->end += (size_t)came;
        const size_t used = take_frames(wire, line, in->bytes + in->head,
                                        stream_buffer_size(in), stopped);
        stream_buffer_drop(wire, in, used);
    } else {
        const size_t used = take_frames(wire, line, at, (size_t)came, stopped);
        if (used < (size_t)came && !line->doomed &&
            !stream_buffer_put(wire, in, at + used, (size_t)came - used)) {
            stream_line_doom(wire, line, true);
        }
    }
    return came > 0;
}

bool stream_line_read(struct stream_wire *wire, struct stream_line *line)
{
    bool stopped = false;
    if (line->state == STREAM_OPEN && stream_buffer_size(&line->in) > 0) {
        const size_t used = take_frames(wire, line, line->in.bytes + line->in.head,
                                        stream_buffer_size(&line->in), &stopped);
        stream_buffer_drop(wire, &line->in, used);
    }
    for (int i = 0; i < STREAM_READS && !line->doomed && !stopped; i++) {
        if (!(line->state == STREAM_OPEN ? read_once(wire, line, &stopped)
                                         : read_words(wire, line))) {
            return false;
        }
    }
    return !line->doomed;
}

/* --- The end ------------------------------------------------------------------------
 */

static void part_from_peer(struct stream_wire *wire, struct stream_line *line,
                           bool failed)
{
    struct stream_peer *peer = line->peer;
    line->peer = NULL;
    if (failed && line->made) {
        stream_peer_put_off(peer, line);
    }
    if (failed && (line == peer->out || line->state == STREAM_OPEN)) {
        peer->lost = wire->reliable;
        line->tell = peer->introduced ? peer->entry.key : 0;
    }
    peer->made = peer->made == line ? NULL : peer->made;
    peer->accepted = peer->accepted == line ? NULL : peer->accepted;
    peer->out = peer->out == line ? NULL : peer->out;
    struct stream_line *stays = failed && line->parting ? peer->out : NULL;
    stream_peer_drop(wire, peer);
    go_on_with(wire, stays); /* no answer comes any more */
}

void stream_line_doom(struct stream_wire *wire, struct stream_line *line, bool failed)
{
    if (line->doomed) {
        return;
    }
    line->doomed = true;
    set_waits(wire, line);
    if (line->state != STREAM_OPEN) {
        leave_fresh(wire, line);
    } else {
        remove_line(&wire->open, line);
    }
    line->next_doomed = wire->doomed;
    wire->doomed = line;
    if (line->peer != NULL) {
        part_from_peer(wire, line, failed);
    }
}

static void cool_doomed(struct stream_wire *wire)
{
    struct stream_line **at = &wire->hot;
    while (*at != NULL) {
        if ((*at)->doomed) {
            *at = (*at)->next_hot;
        } else {
            at = &(*at)->next_hot;
        }
    }
    wire->hot_end = at;
}

void stream_lines_tend(struct stream_wire *wire)
{
    const moot_transport_receiver *receiver = wire->receiver;
    if (wire->doomed != NULL) {
        cool_doomed(wire);
    }
    struct stream_line **at = &wire->doomed;
    while (*at != NULL) {
        struct stream_line *line = *at;
        if (line->tell != 0 && receiver == NULL) {
            at = &line->next_doomed; /* poll() tells */
            continue;
        }
        *at = line->next_doomed;
        stream_map_remove(&wire->by_stream, line->entry.key);
        wire->table->hang_up(line->stream);
        const uint64_t uid = line->tell;
        stream_buffer_free(&line->in);
        stream_buffer_free(&line->out);
        free(line);
        if (uid != 0 && receiver->unreachable != NULL) {
            wire->handed++;
            receiver->unreachable(receiver->context, uid);
        }
        at = &wire->doomed; /* who was told may have doomed others */
    }
}
