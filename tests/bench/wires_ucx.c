/* wires_ucx.c - half round trips by UCX's active messages alone (ways.h).
 *
 *   moot run -n 2 --launcher local wires_ucx
 *
 * The two processes find each other by the launcher's channel, and have one endpoint
 * each way.  UCX is set as node/wires/ucx/ucx_settings.c sets it: TCP and what else
 * there is but shared memory, no rendezvous.  Long messages go whole, in one call.
 */
#include "node/channel/channel.h"
#include "tests/bench/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

struct raw {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h endpoint;
    unsigned char *place;
    int came;
};

static ucs_status_t take(void *arg, const void *header, size_t header_size, void *data,
                         size_t size, const ucp_am_recv_param_t *param)
{
    struct raw *raw = arg;
    (void)header, (void)header_size, (void)param;
    if (size > 64 << 10) {
        memcpy(raw->place, data, size); /* into the buffer that is meant for it */
    }
    raw->came++;
    return UCS_OK;
}

static void raw_expect(void *context, size_t size) { (void)context, (void)size; }

static void raw_send(void *context, const void *bytes, size_t size)
{
    struct raw *raw = context;
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                       .flags = UCP_AM_SEND_FLAG_EAGER};
    void *request =
        ucp_am_send_nbx(raw->endpoint, 0, &size, sizeof(size), bytes, size, &param);
    while (UCS_PTR_IS_PTR(request) &&
           ucp_request_check_status(request) == UCS_INPROGRESS) {
        ucp_worker_progress(raw->worker);
    }
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    } else if (UCS_PTR_IS_ERR(request)) {
        fprintf(stderr, "wires_ucx: %s\n", ucs_status_string(UCS_PTR_STATUS(request)));
        exit(1);
    }
}

static void raw_wait(void *context, size_t size)
{
    struct raw *raw = context;
    (void)size;
    while (raw->came == 0) {
        ucp_worker_progress(raw->worker);
    }
    raw->came--;
}

static bool start(struct raw *raw)
{
    static const char *const settings[][2] = {{"TLS", "^sm"},
                                              {"CONN_NB", "y"},
                                              {"TX_SEG_SIZE", "64k"},
                                              {"RX_SEG_SIZE", "256k"},
                                              {"RNDV_THRESH", "inf"}};
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_AM};
    const ucp_worker_params_t worker = {.field_mask =
                                            UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = take,
        .arg = raw};
    ucp_config_t *config;
    if (ucp_config_read(NULL, NULL, &config) != UCS_OK) {
        return false;
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        (void)ucp_config_modify(config, settings[i][0], settings[i][1]);
    }
    const bool good =
        ucp_init(&params, config, &raw->context) == UCS_OK &&
        ucp_worker_create(raw->context, &worker, &raw->worker) == UCS_OK &&
        ucp_worker_set_am_recv_handler(raw->worker, &handler) == UCS_OK;
    ucp_config_release(config);
    return good;
}

static bool meet(struct raw *raw, struct channel *channel, char *story, size_t size)
{
    struct channel_card *all = NULL;
    ucp_address_t *address;
    size_t length;
    if (ucp_worker_get_address(raw->worker, &address, &length) != UCS_OK ||
        channel_gather(channel, address, length, &all, story, size) != 0) {
        return false;
    }
    ucp_worker_release_address(raw->worker, address);
    const ucp_ep_params_t params = {
        .field_mask =
            UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .address = all[1 - channel_rank(channel)].bytes,
    };
    const bool good = ucp_ep_create(raw->worker, &params, &raw->endpoint) == UCS_OK;
    free(all);
    return good;
}

int main(void)
{
    char story[256] = "";
    struct channel_card *all = NULL;
    struct channel *channel = channel_of_process(story, sizeof(story));
    struct raw raw = {.place = malloc(WAYS_BYTES_MAX)};
    if (channel == NULL || channel_size(channel) != 2 || !start(&raw) ||
        !meet(&raw, channel, story, sizeof(story))) {
        fprintf(stderr, "wires_ucx: cannot begin: %s\n", story);
        return 1;
    }
    const struct way way = {&raw, raw_expect, raw_send, raw_wait};
    ways_measure(&way, channel_rank(channel) == 0);
    (void)channel_gather(channel, "", 0, &all, story, sizeof(story));
    free(all);
    free(raw.place);
    return 0;
}
