/* ucx_links.c - endpoints of UCX: made when first needed, closed when they break, never
 * from within a callback of UCX, which it does not bear.
 */
#include "node/wires/ucx/ucx.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A frame on its way. */
struct ucx_send {
    struct ucx_link *link;
    struct ucx_send *next, **back; /* in link->sending */
    size_t size;
    unsigned char bytes[];
};

uint64_t ucx_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void set_dirty(struct ucx_link *link, bool dirty)
{
    if (link->dirty != dirty) {
        link->dirty = dirty;
        link->wire->dirty += dirty ? 1 : (size_t)-1;
    }
}

void ucx_link_doom(struct ucx_link *link)
{
    if (!link->doomed) {
        link->doomed = true;
        link->wire->doomed++;
        set_dirty(link, false);
    }
}

/* UCX tells that a link is broken. */
static void note_break(void *context, ucp_ep_h endpoint, ucs_status_t status)
{
    struct ucx_link *link = context;
    (void)endpoint;
    (void)status;
    link->broken = true;
    ucx_link_doom(link);
}

struct ucx_link *ucx_link_of(moot_wire *wire, struct ucx_peer *peer)
{
    if (peer->link != NULL || ucx_now_ns() < peer->retry_ns) {
        return peer->link;
    }
    peer->retry_ns = ucx_now_ns() + UCX_RETRY_NS;
    struct ucx_link *link = calloc(1, sizeof(*link));
    if (link == NULL) {
        return NULL;
    }
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)peer->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = note_break, .arg = link},
    };
    link->wire = wire;
    if (ucp_ep_create(wire->worker, &params, &link->endpoint) != UCS_OK) {
        free(link);
        return NULL;
    }
    link->peer = peer;
    link->next = wire->links;
    wire->links = link;
    peer->link = link;
    return link;
}

static struct ucx_send *keep_send(struct ucx_link *link, const void *bytes, size_t size)
{
    struct ucx_send *out = malloc(sizeof(*out) + size);
    if (out == NULL) {
        return NULL;
    }
    *out = (struct ucx_send){
        .link = link, .next = link->sending, .back = &link->sending, .size = size};
    memcpy(out->bytes, bytes, size);
    if (out->next != NULL) {
        out->next->back = &out->next;
    }
    link->sending = out;
    link->sends++;
    link->bytes += size;
    return out;
}

static void drop_send(struct ucx_send *out)
{
    *out->back = out->next;
    if (out->next != NULL) {
        out->next->back = out->back;
    }
    out->link->sends--;
    out->link->bytes -= out->size;
    free(out);
}

static void end_send(void *request, ucs_status_t status, void *context)
{
    struct ucx_send *out = context;
    out->link->proven |= status == UCS_OK; /* else note_break() tells */
    assert(out->link->sends > 0 && out->link->bytes >= out->size);
    drop_send(out);
    ucp_request_free(request);
}

/* Has UCX send an active message, eagerly, and call `sent` unless it has sent it when
 * this returns: NULL then. */
static void *post(const struct ucx_link *link, const void *bytes, size_t size,
                  ucp_send_nbx_callback_t sent, void *context)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = sent,
        .user_data = context,
    };
    const uint64_t *from = &link->wire->uid;
    return ucp_am_send_nbx(link->endpoint, 0, from, sizeof(*from), bytes, size, &param);
}

/* UCX has not taken it: for want of room, or since the link is broken. */
static bool wants_room(const void *request)
{
    const ucs_status_t status = UCS_PTR_STATUS(request);
    return status == UCS_ERR_NO_MEMORY || status == UCS_ERR_NO_RESOURCE;
}

int ucx_link_send(struct ucx_link *link, const void *bytes, size_t size)
{
    if (link->doomed) {
        return MOOT_OK;
    }
    if (link->sends >= UCX_LINK_SENDS_MAX || link->bytes + size > UCX_LINK_BYTES_MAX) {
        return MOOT_TRANSPORT_FULL;
    }
    link->wire->quiet_ns = 0;
    struct ucx_send *out = keep_send(link, bytes, size);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    void *request = post(link, out->bytes, size, end_send, out);
    if (request != NULL && !UCS_PTR_IS_ERR(request)) {
        set_dirty(link, true);
        return MOOT_OK;
    }
    drop_send(out);
    if (request == NULL) {
        link->proven = true;
        set_dirty(link, true);
        return MOOT_OK;
    }
    if (wants_room(request)) {
        return MOOT_TRANSPORT_FULL;
    }
    ucx_link_doom(link);
    return MOOT_OK;
}

/* --- The end of a link ------------------------------------------------------------ */

static void end_close(void *request, ucs_status_t status, void *context)
{
    struct ucx_link *link = context;
    (void)status;
    link->closed = true;
    ucp_request_free(request);
}

static void close_link(struct ucx_link *link)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE,
        .cb.send = end_close,
        .user_data = link,
    };
    link->closing = true;
    void *request = ucp_ep_close_nbx(link->endpoint, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request)) {
        link->closed = true;
    }
}

/* See ucx.h: nothing may wait for a connection. */
static bool can_close(const struct ucx_link *link)
{
    return link->broken || link->proven || (link->sends == 0 && !link->marking);
}

/* Takes a link from its peer, who is told of as unreachable. */
static void part_from_peer(struct ucx_link *link)
{
    struct ucx_peer *peer = link->peer;
    moot_wire *wire = link->wire;
    if (peer == NULL) {
        return;
    }
    link->peer = NULL;
    peer->link = NULL;
    peer->retry_ns = ucx_now_ns() + UCX_RETRY_NS;
    if (wire->receiver != NULL && wire->receiver->unreachable != NULL) {
        wire->handed++;
        wire->receiver->unreachable(wire->receiver->context, peer->uid);
    }
}

void ucx_link_free(struct ucx_link *link)
{
    for (struct ucx_send *out = link->sending, *next; out != NULL; out = next) {
        next = out->next;
        free(out);
    }
    free(link);
}

void ucx_links_tend(moot_wire *wire)
{
    for (struct ucx_link *link = wire->links; wire->doomed > 0 && link != NULL;
         link = link->next) {
        if (link->doomed) {
            part_from_peer(link);
        }
        if (link->doomed && !link->closing && can_close(link)) {
            close_link(link);
        }
    }
    for (struct ucx_link **at = &wire->links; wire->doomed > 0 && *at != NULL;) {
        struct ucx_link *link = *at;
        if (link->closed && link->sends == 0 && !link->marking) {
            *at = link->next;
            ucx_link_free(link);
            wire->doomed--;
        } else {
            at = &link->next;
        }
    }
}

static void end_mark(void *request, ucs_status_t status, void *context)
{
    struct ucx_link *link = context;
    link->proven |= status == UCS_OK;
    link->marking = false;
    ucp_request_free(request);
}

/* Marks the end of what was sent, by an active message without bytes, which no peer
 * hands on.  UCX takes a message to a socket only when the kernel has all before it.
 * A flush of UCX 1.13 is not safe: it waits for the peer's acknowledgement, and aborts
 * the process where one comes behind a send that has failed, as from a host that was
 * cut off. */
static void mark_link(struct ucx_link *link)
{
    void *request = post(link, NULL, 0, end_mark, link);
    link->marking = request != NULL && !UCS_PTR_IS_ERR(request);
    if (request == NULL || link->marking) {
        set_dirty(link, false);
    } else if (!wants_room(request)) {
        ucx_link_doom(link);
    }
}

void ucx_links_mark(moot_wire *wire)
{
    for (struct ucx_link *link = wire->links; wire->dirty > 0 && link != NULL;
         link = link->next) {
        if (link->dirty && link->sends == 0 && !link->marking && !link->doomed) {
            mark_link(link);
        }
    }
}

bool ucx_links_end(moot_wire *wire)
{
    const uint64_t end_ns = ucx_now_ns() + UCX_CLOSE_NS;
    for (struct ucx_link *link = wire->links; link != NULL; link = link->next) {
        ucx_link_doom(link);
    }
    for (;;) {
        ucx_links_tend(wire);
        if (wire->links == NULL) {
            return true;
        }
        if (ucx_now_ns() >= end_ns) {
            break;
        }
        (void)ucp_worker_progress(wire->worker);
    }
    for (const struct ucx_link *link = wire->links; link != NULL; link = link->next) {
        if (!link->closing) {
            return false;
        }
    }
    return true;
}
