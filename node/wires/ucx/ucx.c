/* ucx.c - the table of the transport `ucx`: peers by uid, frames in and out.  Its
 * design stands in ucx.h.
 */
#include "node/wires/ucx/ucx.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_FIRST = 64, ROUNDS_MAX = 16 };

__attribute__((format(printf, 3, 4))) static int refuse_call(moot_wire *wire, int code,
                                                             const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(wire->story, sizeof(wire->story), format, values);
    va_end(values);
    return code;
}

/* --- Peers ------------------------------------------------------------------------ */

static struct ucx_peer **find_place(const moot_wire *wire, uint64_t uid)
{
    struct ucx_peer **at = &wire->buckets[(uid ^ uid >> 32) & (wire->bucket_count - 1)];
    while (*at != NULL && (*at)->uid != uid) {
        at = &(*at)->next;
    }
    return at;
}

static void grow_buckets(moot_wire *wire)
{
    struct ucx_peer **old = wire->buckets;
    const size_t count = wire->bucket_count;
    struct ucx_peer **more = calloc(2 * count, sizeof(*more));
    if (more == NULL) {
        return; /* the chains grow instead */
    }
    wire->buckets = more;
    wire->bucket_count = 2 * count;
    for (size_t i = 0; i < count; i++) {
        for (struct ucx_peer *peer = old[i], *next; peer != NULL; peer = next) {
            next = peer->next;
            peer->next = NULL;
            *find_place(wire, peer->uid) = peer;
        }
    }
    free(old);
}

/* An address is UCX's behind a head that tells a whole one from other bytes: UCX reads
 * past the end of an address that was cut. */
struct address_head {
    char mark[8];
    uint64_t length, digest;
};
static const char mark[8] = "mootucx";

static uint64_t digest_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t digest = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        digest = (digest ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return digest;
}

static int give_address(moot_wire *wire, void *bytes, size_t *length)
{
    ucp_address_t *address = NULL;
    struct address_head head;
    size_t size = 0;
    const ucs_status_t status = ucp_worker_get_address(wire->worker, &address, &size);
    if (status != UCS_OK) {
        return refuse_call(wire, MOOT_ERR_TRANSPORT, "ucp_worker_get_address: %s",
                           ucs_status_string(status));
    }
    if (sizeof(head) + size > MOOT_TRANSPORT_ADDRESS_MAX) {
        ucp_worker_release_address(wire->worker, address);
        return refuse_call(wire, MOOT_ERR_LIMIT,
                           "the address over all devices has %zu bytes; name some by "
                           "--transport ucx:NET_DEVICES=...",
                           size);
    }
    memcpy(head.mark, mark, sizeof(mark));
    head.length = size;
    head.digest = digest_bytes((const unsigned char *)address, size);
    memcpy(bytes, &head, sizeof(head));
    memcpy((unsigned char *)bytes + sizeof(head), address, size);
    *length = sizeof(head) + size;
    ucp_worker_release_address(wire->worker, address);
    return MOOT_OK;
}

static int introduce_peer(moot_wire *wire, uint64_t uid, const void *address,
                          size_t length)
{
    const unsigned char *bytes = address;
    struct address_head head;
    if (length < sizeof(head) || length > MOOT_TRANSPORT_ADDRESS_MAX) {
        return refuse_call(wire, MOOT_ERR_INVALID, "%zu bytes are no address", length);
    }
    memcpy(&head, bytes, sizeof(head));
    bytes += sizeof(head);
    length -= sizeof(head);
    if (memcmp(head.mark, mark, sizeof(mark)) != 0 || head.length != length ||
        head.digest != digest_bytes(bytes, length)) {
        return refuse_call(wire, MOOT_ERR_INVALID, "these bytes are no address of ucx");
    }
    if (*find_place(wire, uid) != NULL) {
        return refuse_call(wire, MOOT_ERR_INVALID,
                           "the uid %016llx was introduced before",
                           (unsigned long long)uid);
    }
    struct ucx_peer *peer = malloc(sizeof(*peer) + length);
    if (peer == NULL) {
        return refuse_call(wire, MOOT_ERR_NO_MEMORY, "no memory for a peer");
    }
    *peer = (struct ucx_peer){.uid = uid, .length = length};
    memcpy(peer->address, bytes, length);
    if (wire->peer_count++ >= wire->bucket_count) {
        grow_buckets(wire);
    }
    *find_place(wire, uid) = peer;
    return MOOT_OK;
}

static void forget_peer(moot_wire *wire, uint64_t uid)
{
    struct ucx_peer **at = find_place(wire, uid), *peer = *at;
    if (peer == NULL) {
        return;
    }
    *at = peer->next;
    wire->peer_count--;
    if (peer->link != NULL) {
        peer->link->peer = NULL;
        ucx_link_doom(peer->link);
    }
    free(peer);
    if (wire->receiver == NULL) {
        ucx_links_tend(wire);
    }
}

/* --- Frames ----------------------------------------------------------------------- */

static int send_frame(moot_wire *wire, uint64_t uid, const void *bytes, size_t size)
{
    struct ucx_peer *peer = *find_place(wire, uid);
    if (peer == NULL) {
        return refuse_call(wire, MOOT_ERR_INVALID, "nobody of uid %016llx is known",
                           (unsigned long long)uid);
    }
    if (size == 0 || size > UCX_FRAME_BYTES_MAX) {
        return refuse_call(wire, MOOT_ERR_INVALID, "a frame has 1 to %d bytes, not %zu",
                           UCX_FRAME_BYTES_MAX, size);
    }
    struct ucx_link *link = ucx_link_of(wire, peer);
    const int code = link != NULL ? ucx_link_send(link, bytes, size) : MOOT_OK;
    return code >= 0 ? code : refuse_call(wire, code, "no memory for a frame");
}

/* Keeps a frame that came above what this poll may hand over.  Without memory it is
 * lost, as on any wire that does not promise. */
static void keep_frame(moot_wire *wire, uint64_t from, const void *bytes, size_t size)
{
    struct ucx_frame *frame = malloc(sizeof(*frame) + size);
    if (frame != NULL) {
        *frame = (struct ucx_frame){.from = from, .size = size};
        memcpy(frame->bytes, bytes, size);
        *wire->waiting_end = frame;
        wire->waiting_end = &frame->next;
    }
}

static void hand_kept(moot_wire *wire)
{
    while (wire->waiting != NULL && wire->handed < wire->handed_max) {
        struct ucx_frame *frame = wire->waiting;
        wire->waiting = frame->next;
        if (wire->waiting == NULL) {
            wire->waiting_end = &wire->waiting;
        }
        wire->handed++;
        wire->receiver->frame(wire->receiver->context, frame->from, frame->bytes,
                              frame->size);
        free(frame);
    }
}

/* UCX has an active message, whose header is the sender's uid.  Anybody may have sent
 * it.  One without bytes marks an end (ucx_links.c). */
static ucs_status_t take_message(void *context, const void *header,
                                 size_t header_length, void *data, size_t length,
                                 const ucp_am_recv_param_t *param)
{
    moot_wire *wire = context;
    uint64_t from;
    if (header_length != sizeof(from) || length == 0 || length > UCX_FRAME_BYTES_MAX ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 ||
        wire->receiver == NULL) {
        return UCS_OK;
    }
    memcpy(&from, header, sizeof(from));
    if (wire->waiting != NULL || wire->handed >= wire->handed_max) {
        keep_frame(wire, from, data, length);
    } else {
        wire->handed++;
        wire->receiver->frame(wire->receiver->context, from, data, length);
    }
    return UCS_OK;
}

static void mark_quiet(moot_wire *wire)
{
    const uint64_t now_ns = ucx_now_ns();
    if (wire->quiet_ns == 0) {
        wire->quiet_ns = now_ns;
    } else if (now_ns - wire->quiet_ns >= UCX_QUIET_NS) {
        ucx_links_mark(wire);
    }
}

static int poll_wire(moot_wire *wire, const moot_transport_receiver *receiver,
                     int frames_max)
{
    wire->receiver = receiver;
    wire->handed = 0;
    wire->handed_max = frames_max;
    hand_kept(wire);
    for (int i = 0; i < ROUNDS_MAX && wire->handed < frames_max; i++) {
        if (ucp_worker_progress(wire->worker) == 0) {
            break;
        }
    }
    ucx_links_tend(wire);
    if (wire->handed > 0) {
        wire->quiet_ns = 0;
    } else if (wire->dirty > 0) {
        mark_quiet(wire);
    }
    wire->receiver = NULL;
    return wire->handed;
}

static bool is_flushed(const moot_wire *wire)
{
    for (const struct ucx_link *link = wire->links; link != NULL; link = link->next) {
        if (!link->doomed && (link->sends > 0 || link->dirty || link->marking)) {
            return false;
        }
    }
    return true;
}

/* --- Beginning and end ------------------------------------------------------------ */

static const char *tell_story(const moot_wire *wire) { return wire->story; }

static void close_wire(moot_wire *wire)
{
    const bool ended = ucx_links_end(wire);
    if (ended) {
        ucp_worker_destroy(wire->worker);
        ucp_cleanup(wire->context);
    }
    while (ended && wire->links != NULL) {
        struct ucx_link *link = wire->links;
        wire->links = link->next;
        ucx_link_free(link);
    }
    for (size_t i = 0; i < wire->bucket_count; i++) {
        for (struct ucx_peer *peer = wire->buckets[i], *next; peer != NULL;
             peer = next) {
            next = peer->next;
            free(peer);
        }
    }
    for (struct ucx_frame *frame = wire->waiting, *next; frame != NULL; frame = next) {
        next = frame->next;
        free(frame);
    }
    free(wire->buckets);
    free(wire);
}

static int open_wire(const moot_transport_setup *setup, moot_wire **out, char *story,
                     size_t story_size)
{
    moot_wire *wire = calloc(1, sizeof(*wire));
    struct ucx_peer **buckets = calloc(BUCKETS_FIRST, sizeof(struct ucx_peer *));
    if (wire == NULL || buckets == NULL) {
        (void)snprintf(story, story_size, "ucx: no memory");
        free(wire);
        free(buckets);
        return MOOT_ERR_NO_MEMORY;
    }
    wire->uid = setup->uid;
    wire->buckets = buckets;
    wire->bucket_count = BUCKETS_FIRST;
    wire->waiting_end = &wire->waiting;
    const int code = ucx_settings_start(wire, setup->options, story, story_size);
    if (code != MOOT_OK) {
        free(wire);
        free(buckets);
        return code;
    }
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = 0,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = take_message,
        .arg = wire,
    };
    const ucs_status_t status = ucp_worker_set_am_recv_handler(wire->worker, &handler);
    if (status != UCS_OK) {
        (void)snprintf(story, story_size, "ucx: ucp_worker_set_am_recv_handler: %s",
                       ucs_status_string(status));
        close_wire(wire);
        return MOOT_ERR_TRANSPORT;
    }
    *out = wire;
    return MOOT_OK;
}

/* Told by `moot info`. */
__attribute__((visibility("default"))) const char *moot_transport_about(void);
const char *moot_transport_about(void)
{
    static char text[64];
    (void)snprintf(text, sizeof(text), "UCX %s", ucp_get_version_string());
    return text;
}

__attribute__((visibility("default"))) extern const moot_transport moot_transport_table;
const moot_transport moot_transport_table = {
    .version = MOOT_TRANSPORT_VERSION,
    .flags = 0, /* ucx.h says why not RELIABLE */
    .size = sizeof(moot_transport),
    .name = "ucx",
    .frame_max = UCX_FRAME_BYTES_MAX,
    .open = open_wire,
    .address = give_address,
    .introduce = introduce_peer,
    .send = send_frame,
    .poll = poll_wire,
    .flushed = is_flushed,
    .forget = forget_peer,
    .story = tell_story,
    .close = close_wire,
};
