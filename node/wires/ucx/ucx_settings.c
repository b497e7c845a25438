/* ucx_settings.c - how UCX is set: in code, so that it needs no variables in the
 * environment, and does nothing to a process beside what the wire is for.
 */
#include "node/wires/ucx/ucx.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>

static const struct {
    const char *name, *value;
} settings[] = {
    /* Not safe when a process is killed (ucx.h). */
    {"TLS", "^posix,sysv,cma,xpmem,knem"},
    {"TCP_CONN_NB", "y"},
    {"TCP_TX_SEG_SIZE", "64k"},
    {"TCP_RX_SEG_SIZE", "256k"},
    /* A link that was cut for a while and is idle is to stay: moot's own heartbeats say
     * who is gone. */
    {"TCP_KEEPIDLE", "inf"},
    {"KEEPALIVE_INTERVAL", "inf"},
    /* A rendezvous would wait for the peer, and what a peer announces would be
     * allocated. */
    {"RNDV_THRESH", "inf"},
    {"WARN_UNUSED_ENV_VARS", "n"},
};

/* As soon as it is loaded UCX takes the signals of faults for itself.  They are the
 * program's, and moot's, so this gives them back at once; and UCX says nothing on
 * standard error unless somebody asks it to. */
__attribute__((constructor)) static void quieten_ucx(void)
{
    static const int faults[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTRAP};
    if (getenv("UCX_LOG_LEVEL") == NULL) {
        (void)ucs_global_opts_set_value("LOG_LEVEL", "fatal");
    }
    if (getenv("UCX_HANDLE_ERRORS") != NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        ucs_debug_disable_signal(faults[i]);
    }
    (void)ucs_global_opts_set_value("HANDLE_ERRORS", "none");
}

/* One option, NAME=VALUE, which is cut in two. */
static int set_option(ucp_config_t *config, char *option, char *story, size_t size)
{
    char *value = strchr(option, '=');
    if (value == NULL || value == option) {
        (void)snprintf(story, size,
                       "ucx: '%s' is no option; they are NAME=VALUE with a colon "
                       "between, named as UCX's variables without UCX_",
                       option);
        return MOOT_ERR_CONFIG;
    }
    *value++ = '\0';
    const char *name = strncmp(option, "UCX_", 4) == 0 ? option + 4 : option;
    const ucs_status_t status = ucp_config_modify(config, name, value);
    if (status != UCS_OK) {
        (void)snprintf(story, size, "ucx: %s=%s: %s", option, value,
                       ucs_status_string(status));
        return MOOT_ERR_CONFIG;
    }
    return MOOT_OK;
}

static int set_all(ucp_config_t *config, const char *options, char *story, size_t size)
{
    char text[1024], *rest = text;
    if (strlen(options) >= sizeof(text)) {
        (void)snprintf(story, size, "ucx: options have %zu bytes at most",
                       sizeof(text) - 1);
        return MOOT_ERR_CONFIG;
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        (void)ucp_config_modify(config, settings[i].name, settings[i].value);
    }
    memcpy(text, options, strlen(options) + 1);
    for (char *option; (option = strtok_r(rest, ":", &rest)) != NULL;) {
        const int code = set_option(config, option, story, size);
        if (code != MOOT_OK) {
            return code;
        }
    }
    return MOOT_OK;
}

static int tell_status(const char *call, ucs_status_t status, char *story, size_t size)
{
    (void)snprintf(story, size, "ucx: %s: %s", call, ucs_status_string(status));
    return status == UCS_ERR_NO_MEMORY ? MOOT_ERR_NO_MEMORY : MOOT_ERR_TRANSPORT;
}

static int start_worker(moot_wire *wire, const ucp_config_t *config, char *story,
                        size_t size)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM,
        .name = "moot",
    };
    const ucp_worker_params_t worker = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_NAME,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
        .name = "moot",
    };
    ucs_status_t status = ucp_init(&params, config, &wire->context);
    if (status != UCS_OK) {
        return tell_status("ucp_init", status, story, size);
    }
    status = ucp_worker_create(wire->context, &worker, &wire->worker);
    if (status != UCS_OK) {
        ucp_cleanup(wire->context);
        return tell_status("ucp_worker_create", status, story, size);
    }
    return MOOT_OK;
}

int ucx_settings_start(moot_wire *wire, const char *options, char *story, size_t size)
{
    ucp_config_t *config = NULL;
    const ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        return tell_status("ucp_config_read", status, story, size);
    }
    int code = set_all(config, options, story, size);
    if (code == MOOT_OK) {
        /* The thread that UCX has for connections takes none of the program's
         * signals. */
        sigset_t all, before;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        code = start_worker(wire, config, story, size);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    ucp_config_release(config);
    return code;
}
