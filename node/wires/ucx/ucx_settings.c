/* ucx_settings.c - how UCX is set: in code, so that it needs no variables in the
 * environment, and does nothing to a process beside what the wire is for.
 */
#include "node/wires/ucx/ucx.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

/* Names of UCX 1.13's variables without UCX_, and for those of a kind of device without
 * that, too: UCX_TCP_CONN_NB. */
static const struct {
    const char *name, *value;
} settings[] = {
    /* No shared memory: it is not safe when a process is killed (ucx.h). */
    {"TLS", "^sm"},
    {"CONN_NB", "y"},
    {"TX_SEG_SIZE", "64k"},
    {"RX_SEG_SIZE", "256k"},
    /* A link that was cut for a while and is idle is to stay: moot's own heartbeats say
     * who is gone. */
    {"KEEPIDLE", "inf"},
    {"KEEPALIVE_INTERVAL", "inf"},
    /* A rendezvous would wait for the peer, and what a peer announces would be
     * allocated. */
    {"RNDV_THRESH", "inf"},
    {"WARN_UNUSED_ENV_VARS", "n"},
    /* UCX's first choice is shared memory of the system, which outlives who is killed.
     */
    {"ALLOC_PRIO", "mmap,heap"},
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

/* UCX takes any name for a setting, and only says in its log, when all devices are
 * open, which nobody wanted.  So that is read, by the thread that opens. */
static _Thread_local char log_text[512];

static ucs_log_func_rc_t read_log(const char *file, unsigned line, const char *function,
                                  ucs_log_level_t level,
                                  const ucs_log_component_config_t *component,
                                  const char *message, va_list values)
{
    char text[sizeof(log_text)];
    (void)file;
    (void)line;
    (void)function;
    (void)level;
    (void)component;
    (void)vsnprintf(text, sizeof(text), message, values);
    if (*log_text == '\0' && (strstr(text, "invalid configuration") != NULL ||
                              strstr(text, "not available") != NULL)) {
        memcpy(log_text, text, sizeof(text));
    }
    return getenv("UCX_LOG_LEVEL") == NULL ? UCS_LOG_FUNC_RC_STOP
                                           : UCS_LOG_FUNC_RC_CONTINUE;
}

/* A device that is not there, or the first option that UCX said nobody wanted. */
static int find_unwanted(const char *options, char *story, size_t size)
{
    char text[1024], *rest = text;
    if (strstr(log_text, "not available") != NULL) {
        (void)snprintf(story, size, "ucx: %s", log_text);
        return MOOT_ERR_CONFIG;
    }
    memcpy(text, options, strlen(options) + 1);
    for (char *option; (option = strtok_r(rest, ":", &rest)) != NULL;) {
        const char *name = strncmp(option, "UCX_", 4) == 0 ? option + 4 : option;
        if (strstr(log_text, name) != NULL) {
            (void)snprintf(story, size, "ucx: UCX %s knows no setting %s",
                           ucp_get_version_string(), option);
            return MOOT_ERR_CONFIG;
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

static void *end_at_once(void *unused) { return unused; }

/* UCX ends the process where it gets no thread for connections: better not to begin. */
static int check_threads(char *story, size_t size)
{
    pthread_t thread;
    const int why = pthread_create(&thread, NULL, end_at_once, NULL);
    if (why != 0) {
        (void)snprintf(story, size,
                       "ucx: the system gives no thread: %s; raise the limit of "
                       "processes (ulimit -u)",
                       strerror(why));
        return MOOT_ERR_TRANSPORT;
    }
    (void)pthread_join(thread, NULL);
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
        const bool quiet = getenv("UCX_LOG_LEVEL") == NULL;
        *log_text = '\0';
        if (quiet) {
            (void)ucs_global_opts_set_value("LOG_LEVEL", "warn");
        }
        ucs_log_push_handler(read_log);
        code = check_threads(story, size);
        code = code == MOOT_OK ? start_worker(wire, config, story, size) : code;
        ucs_log_pop_handler();
        if (quiet) {
            (void)ucs_global_opts_set_value("LOG_LEVEL", "fatal");
        }
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (code == MOOT_OK && find_unwanted(options, story, size) != MOOT_OK) {
            ucp_worker_destroy(wire->worker);
            ucp_cleanup(wire->context);
            code = MOOT_ERR_CONFIG;
        }
    }
    ucp_config_release(config);
    return code;
}
