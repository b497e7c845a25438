/* agent_orders.c - see agent_orders.h. */
#include "node/agent/agent_orders.h"
#include "node/channel/channel.h"
#include "node/launch/launch.h"
#include "proto/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *text_of(const ProtobufCBinaryData *data)
{
    char *text = malloc(data->len + 1);
    if (text) {
        memcpy(text, data->data, data->len);
        text[data->len] = '\0';
    }
    return text;
}

__attribute__((format(printf, 3, 4))) static bool refuse(char *story, size_t size,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(story, size, format, args);
    va_end(args);
    return false;
}

static bool environment_take(const Moot__HostJob *job)
{
    bool taken = true;
    for (size_t i = 0; taken && i < job->n_environment; i++) {
        char *text = text_of(&job->environment[i]);
        char *value = text ? strchr(text, '=') : NULL;
        taken = text != NULL;
        if (value && value != text) {
            *value++ = '\0';
            taken = setenv(text, value, 1) == 0;
        }
        free(text);
    }
    return taken;
}

static bool folder_enter(const Moot__HostJob *job, char *story, size_t story_size)
{
    char *folder = text_of(&job->directory);
    const bool entered = folder && chdir(folder) == 0;
    if (!entered) {
        refuse(story, story_size,
               "cannot work in the folder %s there: %s; start the job in one that all "
               "hosts have",
               folder ? folder : "", strerror(errno));
    }
    free(folder);
    return entered;
}

static bool program_check(const char *program, char *story, size_t story_size)
{
    struct stat about;
    if (stat(program, &about) != 0) {
        return refuse(story, story_size, "there is no program %s there: %s", program,
                      strerror(errno));
    }
    if (!S_ISREG(about.st_mode) || access(program, X_OK) != 0) {
        return refuse(story, story_size, "%s is no executable file there", program);
    }
    const char *flaw = program_flaw(program);
    return !flaw || refuse(story, story_size, "%s cannot be started there: it %s",
                           program, flaw);
}

bool agent_orders_take(struct agent_orders *orders, const unsigned char *bytes,
                       size_t size, char *story, size_t story_size)
{
    Moot__HostJob *job = moot__host_job__unpack(NULL, size, bytes);
    *orders = (struct agent_orders){.job = job};
    if (!job || job->count == 0 || job->ranks > INT32_MAX || job->first > job->ranks ||
        job->count > job->ranks - job->first || job->room < job->ranks ||
        job->room - job->ranks > LIMIT_NEWCOMERS || job->key.len != CHANNEL_KEY_BYTES) {
        return refuse(story, story_size, "the agent does not understand its orders");
    }
    orders->host = text_of(&job->host);
    orders->name = text_of(&job->name);
    orders->program = text_of(&job->program);
    if (!orders->host || !orders->name || !orders->program || !environment_take(job)) {
        return refuse(story, story_size, "out of memory");
    }
    return folder_enter(job, story, story_size) &&
           program_check(orders->program, story, story_size);
}

bool agent_orders_arm(struct agent_orders *orders, const char *ends)
{
    enum { OWN = 4 }; /* moot rank FOLDER PROGRAM */
    const Moot__HostJob *job = orders->job;
    char self[LAUNCH_PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    orders->argv = calloc(OWN + job->n_arguments + 1, sizeof(*orders->argv));
    if (!orders->argv || length <= 0) {
        return false;
    }
    self[length] = '\0';
    orders->argv[0] = strdup(self);
    orders->argv[1] = strdup("rank");
    orders->argv[2] = strdup(ends);
    orders->argv[3] = strdup(orders->program);
    bool armed =
        orders->argv[0] && orders->argv[1] && orders->argv[2] && orders->argv[3];
    for (size_t i = 0; armed && i < job->n_arguments; i++) {
        orders->argv[OWN + i] = text_of(&job->arguments[i]);
        armed = orders->argv[OWN + i] != NULL;
    }
    return armed;
}

void agent_orders_release(struct agent_orders *orders)
{
    for (char **word = orders->argv; word && *word; word++) {
        free(*word);
    }
    free(orders->argv);
    free(orders->host);
    free(orders->name);
    free(orders->program);
    if (orders->job) {
        moot__host_job__free_unpacked(orders->job, NULL);
    }
    *orders = (struct agent_orders){0};
}
