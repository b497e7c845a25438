/* fleet_orders.c - a host's part of a job, as its agent is told. */
#include "moot.pb-c.h"
#include "node/launch/fleet_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Bytes that are packed, and not changed. */
static ProtobufCBinaryData bytes_of(const void *bytes, size_t size)
{
    const union {
        const void *given;
        uint8_t *taken;
    } at = {.given = bytes};
    return (ProtobufCBinaryData){.len = size, .data = at.taken};
}

static ProtobufCBinaryData data_of(const char *text)
{
    return bytes_of(text, strlen(text));
}

static size_t words_count(char *const *words)
{
    size_t count = 0;
    while (words[count]) {
        count++;
    }
    return count;
}

/* Variables that say where a process is, and who runs it: each host has its own. */
static bool is_of_host(const char *variable)
{
    static const char *const names[] = {
        "HOME=",     "USER=",   "LOGNAME=", "SHELL=",   "HOSTNAME=",     "PWD=",
        "OLDPWD=",   "TMPDIR=", "MAIL=",    "TERM=",    "DISPLAY=",      "SHLVL=",
        "_=",        "XDG_",    "SSH_",     "DBUS_",    "SLURM",         "PMI",
        "OMPI_MCA_", "TMUX",    "MOOTRUN_", "WAYLAND_", "INVOCATION_ID="};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static size_t environment_take(ProtobufCBinaryData *out)
{
    size_t count = 0;
    for (char **variable = environ; *variable; variable++) {
        if (!is_of_host(*variable)) {
            out[count++] = data_of(*variable);
        }
    }
    return count;
}

static void orders_send(struct fleet_host *host, const Moot__HostJob *orders)
{
    const size_t size = moot__host_job__get_packed_size(orders);
    unsigned char *bytes = size <= AGENT_FRAME_MAX ? malloc(size + 1) : NULL;
    if (!bytes) {
        fleet_host_lose(host,
                        "the environment and the arguments are too much to be told");
        return;
    }
    moot__host_job__pack(orders, bytes);
    agent_stream_say(host->stream, AGENT_JOB, 0, 0, bytes, size);
    memset(bytes, 0, size); /* the key */
    free(bytes);
}

void fleet_orders_give(struct fleet_host *host)
{
    const struct fleet *fleet = host->fleet;
    Moot__HostJob orders = MOOT__HOST_JOB__INIT;
    char directory[PATH_MAX];
    const size_t arguments = words_count(fleet->job->arguments);
    orders.arguments = calloc(arguments + 1, sizeof(*orders.arguments));
    orders.environment = calloc(words_count(environ) + 1, sizeof(*orders.environment));
    if (!orders.arguments || !orders.environment ||
        !getcwd(directory, sizeof(directory))) {
        fleet_host_lose(host, "there is no memory, or no working folder, here");
    } else {
        orders.ranks = fleet->ranks;
        orders.room = fleet->growth.room;
        orders.first = host->first;
        orders.count = host->count;
        orders.key = bytes_of(channel_hub_key(fleet->hub), CHANNEL_KEY_BYTES);
        orders.host = data_of(host->about.address);
        orders.name = data_of(host->about.name);
        orders.directory = data_of(directory);
        orders.program = data_of(fleet->job->program);
        orders.n_arguments = arguments;
        for (size_t i = 0; i < arguments; i++) {
            orders.arguments[i] = data_of(fleet->job->arguments[i]);
        }
        orders.n_environment = environment_take(orders.environment);
        orders.input = fleet->input_open && host->first == 0;
        orders.clock_ns = (uint64_t)fleet_now_ms() * 1000000u;
        orders.trace = fleet->job->folders[AGENT_TRACE] != NULL;
        orders_send(host, &orders);
    }
    free(orders.arguments);
    free(orders.environment);
}
