/* agent.c - see agent.h. */
#include "node/agent/agent.h"
#include "node/agent/agent_door.h"
#include "node/agent/agent_mirror.h"
#include "node/agent/agent_orders.h"
#include "node/agent/rank_process.h"
#include "node/config/ending.h"
#include "node/launch/agent_stream.h"
#include "node/launch/crew.h"
#include "node/launch/launch.h"
#include "node/launch/signals.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE_MS = 10,
    SAME_MS = 1000,
    GRACE_MS = 5000,
    FLUSH_MS = 10000,
    CERTAIN_MS = 2000,
    FALL_MS = 500
};
enum { TRUNK_BYTES = 32 * 1024, WAITING_MAX = 1 << 20 };

struct agent {
    struct agent_stream *stream;
    struct agent_orders orders;
    struct agent_mirror *mirror;
    struct agent_door *door;
    struct channel_hub *hub;
    int trunk; /* this end of the branch's stream to the hub above */
    struct crew *crew;
    bool joined[LIMIT_NEWCOMERS]; /* by number, behind the founders: told to start it */
    enum rank_does *does;         /* each rank's process; NULL without memory */
    sigset_t mask;
    bool refused; /* the job, */
    bool running; /* or its ranks have been started */
    bool failed;  /* a rank has */
    bool closes;  /* all have ended, and none is started any more */
    size_t said;  /* bytes that were said and not taken */
    int64_t heard_ms, beat_ms;
    unsigned signals;  /* that were seen to */
    int64_t asked_ms;  /* when the ranks were asked to leave; 0: they were not */
    int64_t killed_ms; /* when they will be; 0: not yet to be */

    int input; /* to the first rank; -1: none, or not any more */
    unsigned char *pending;
    size_t pending_count;
    bool input_ended;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Input ------------------------------------------------------------------------ */

static void input_close(struct agent *agent)
{
    if (agent->input >= 0) {
        close(agent->input);
        agent->input = -1;
    }
}

static void input_taken(struct agent *agent, size_t size)
{
    agent_stream_say(agent->stream, AGENT_TAKEN, (uint32_t)size, 0, NULL, 0);
}

/* Hands on what there is room for. */
static void input_pass(struct agent *agent)
{
    while (agent->input >= 0 && agent->pending_count > 0) {
        const ssize_t put = write(agent->input, agent->pending, agent->pending_count);
        if (put < 0 && errno == EAGAIN) {
            return;
        }
        if (put < 0 && errno != EINTR) { /* nobody reads it any more */
            input_close(agent);
        } else if (put > 0) {
            agent->pending_count -= (size_t)put;
            memmove(agent->pending, agent->pending + put, agent->pending_count);
            input_taken(agent, (size_t)put);
        }
    }
    if (agent->input < 0 && agent->pending_count > 0) {
        input_taken(agent, agent->pending_count);
        agent->pending_count = 0;
    }
    if (agent->input_ended && agent->pending_count == 0) {
        input_close(agent);
    }
}

static void input_take(struct agent *agent, const unsigned char *bytes, size_t size)
{
    if (!agent->pending || size > AGENT_CREDIT - agent->pending_count) {
        return; /* more than was agreed on */
    }
    memcpy(agent->pending + agent->pending_count, bytes, size);
    agent->pending_count += size;
    agent->input_ended |= size == 0;
    input_pass(agent);
}

/* The read end for the first rank; -1: it has none. */
static int input_open(struct agent *agent)
{
    int ends[2];
    agent->pending = agent->orders.job->input ? malloc(AGENT_CREDIT) : NULL;
    if (!agent->pending || pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    agent->input = ends[1];
    return ends[0];
}

/* --- The channel ------------------------------------------------------------------ */

/* From the hub above: this one's always takes it. */
static void channel_take(struct agent *agent, const unsigned char *bytes, size_t size)
{
    while (agent->trunk >= 0 && size > 0) {
        const ssize_t put =
            send(agent->trunk, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        } else if (errno != EAGAIN && errno != EINTR) {
            return;
        }
        channel_hub_poll(agent->hub, 0);
    }
}

static void channel_pass(struct agent *agent)
{
    unsigned char bytes[TRUNK_BYTES];
    ssize_t got = 1;
    channel_hub_poll(agent->hub, 0);
    while (got > 0 && agent_stream_waiting(agent->stream) < WAITING_MAX) {
        got = recv(agent->trunk, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got > 0) {
            agent_stream_say(agent->stream, AGENT_CHANNEL, 0, 0, bytes, (size_t)got);
            channel_hub_poll(agent->hub, 0);
        }
    }
}

/* --- The ranks -------------------------------------------------------------------- */

static void job_refuse(struct agent *agent, const char *story)
{
    agent->refused = true;
    agent_stream_say(agent->stream, AGENT_REFUSED, 0, 0, story, strlen(story));
}

/* False with errno. */
static bool hub_open(struct agent *agent)
{
    const Moot__HostJob *job = agent->orders.job;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    agent->trunk = ends[0];
    const struct channel_branch branch = {.size = job->ranks,
                                          .room = job->room,
                                          .first = job->first,
                                          .count = job->count};
    agent->hub = channel_hub_new_branch(&branch, job->key.data, ends[1]);
    if (!agent->hub) {
        close(ends[1]);
        errno = ENOMEM;
    }
    return agent->hub != NULL;
}

/* False with errno. */
static bool crew_open(struct agent *agent)
{
    const Moot__HostJob *job = agent->orders.job;
    const int input = input_open(agent);
    const struct crew_setup setup = {.first = job->first,
                                     .count = job->count,
                                     .later = job->room - job->ranks,
                                     .hub = agent->hub,
                                     .host = agent->orders.host,
                                     .name = agent->orders.name,
                                     .input = input,
                                     .mask = &agent->mask};
    agent->crew = crew_new(&setup);
    const bool started = agent->crew && crew_start(agent->crew, agent->orders.argv);
    const int why = errno;
    if (input >= 0) {
        close(input);
    }
    errno = why;
    return started;
}

/* The ranks that may ever be here. */
static uint32_t ranks_most(const struct agent *agent)
{
    const Moot__HostJob *job = agent->orders.job;
    return job->count + (job->room - job->ranks);
}

static void job_take(struct agent *agent, const unsigned char *bytes, size_t size)
{
    char story[1024] = "";
    if (agent->orders.job) {
        return;
    }
    if (!agent_orders_take(&agent->orders, bytes, size, story, sizeof(story))) {
        job_refuse(agent, story);
        return;
    }
    agent->mirror = agent_mirror_new(agent->orders.job->trace, story, sizeof(story));
    if (!agent->mirror) {
        job_refuse(agent, story);
        return;
    }
    char clock[24], self[24];
    snprintf(self, sizeof(self), "%ld", (long)getpid());
    snprintf(clock, sizeof(clock), "%lld",
             (long long)agent->orders.job->clock_ns - (long long)now_ms() * 1000000);
    const char *ends = agent_mirror_ends(agent->mirror);
    const char *trace = agent_mirror_trace(agent->mirror);
    if (!agent_orders_arm(&agent->orders, ends) ||
        setenv("MOOT_SUMMARY", ends, 1) != 0 || setenv(ENDING_SHEETS, ends, 1) != 0 ||
        setenv(ENDING_TRACES, trace, 1) != 0 || setenv(ENDING_CLOCK, clock, 1) != 0 ||
        setenv(ENDING_AGENT, self, 1) != 0 ||
        (*trace && setenv("MOOT_TRACE", trace, 1) != 0)) {
        job_refuse(agent, "out of memory");
    } else if (!hub_open(agent) || !crew_open(agent)) {
        snprintf(story, sizeof(story), "cannot start %u ranks there: %s%s",
                 agent->orders.job->count, strerror(errno), launch_remedy(errno));
        job_refuse(agent, story);
    } else {
        agent->running = true;
        agent->does = calloc(ranks_most(agent), sizeof(*agent->does));
        agent_stream_say(agent->stream, AGENT_UP, 0, 0, NULL, 0);
    }
}

/* A number that a newcomer may have, and has not had here. */
static bool join_is_sound(const struct agent *agent, uint32_t rank,
                          const struct agent_wave *wave)
{
    const Moot__HostJob *job = agent->orders.job;
    return wave->first >= job->ranks && wave->first < job->room &&
           wave->count <= job->room - wave->first && rank - wave->first < wave->count &&
           !channel_hub_has_gone(agent->hub, rank) &&
           agent->joined[rank - job->ranks] == false;
}

/* An order to start a rank beside the others. */
static void join_take(struct agent *agent, const struct agent_header *header,
                      const unsigned char *bytes)
{
    struct agent_wave wave;
    const uint32_t rank = header->value;
    const char *why = "its other ranks have ended, or are being ended";
    if (!agent->running || header->size != sizeof(wave)) {
        return;
    }
    memcpy(&wave, bytes, sizeof(wave));
    if (!join_is_sound(agent, rank, &wave)) {
        return;
    }
    agent->joined[rank - agent->orders.job->ranks] = true;
    channel_hub_name(agent->hub, header->flag, wave.first, wave.count);
    bool started = !agent->closes && agent->killed_ms == 0;
    if (!started) {
        channel_hub_dead(agent->hub, rank);
    } else {
        started = crew_add(agent->crew, rank, 1, agent->orders.argv);
        why = started ? "" : strerror(errno);
    }
    agent_stream_say(agent->stream, AGENT_JOINED, rank, !started, why, strlen(why));
}

static void ranks_signal(struct agent *agent, int number)
{
    if (agent->running && number > 0 && number < NSIG) {
        crew_signal(agent->crew, number);
        agent->killed_ms = agent->killed_ms ? agent->killed_ms : now_ms() + GRACE_MS;
    }
}

static void reaped(void *context, uint32_t rank, int status)
{
    struct agent *agent = context;
    agent->failed |= status != 0;
    if (!WIFEXITED(status)) {
        agent_stream_say(agent->stream, AGENT_LOST, rank, (uint32_t)WTERMSIG(status),
                         NULL, 0);
    }
}

/* --- Faults ----------------------------------------------------------------------- */

static volatile sig_atomic_t falls;

static void fall_ask(int number)
{
    (void)number;
    falls = 1;
}

static void fall_await(void)
{
    struct sigaction action = {.sa_handler = fall_ask};
    sigemptyset(&action.sa_mask);
    sigaction(ENDING_FALL, &action, NULL);
}

/* All stand still at once.  What the job's summary and its trace tell of the plan goes
 * out before the end. */
static void host_fall(struct agent *agent)
{
    const int64_t until_ms = now_ms() + FALL_MS;
    crew_signal(agent->crew, SIGSTOP);
    agent_mirror_end(agent->mirror, agent->stream, NULL, NULL);
    agent_stream_flush(agent->stream);
    while (agent_stream_waiting(agent->stream) > 0 && now_ms() < until_ms) {
        struct pollfd end = {.fd = STDOUT_FILENO, .events = POLLOUT};
        (void)poll(&end, 1, PAUSE_MS);
        agent_stream_flush(agent->stream);
    }
    crew_signal(agent->crew, SIGKILL);
    kill(getpid(), SIGKILL);
}

/* --- The stream ------------------------------------------------------------------- */

static void frame_take(void *context, const struct agent_header *header,
                       const unsigned char *bytes)
{
    struct agent *agent = context;
    agent->heard_ms = now_ms();
    switch (header->kind) {
    case AGENT_JOB:
        job_take(agent, bytes, header->size);
        break;
    case AGENT_JOIN:
        join_take(agent, header, bytes);
        break;
    case AGENT_SIGNAL:
        ranks_signal(agent, (int)header->value);
        break;
    case AGENT_INPUT:
        input_take(agent, bytes, header->size);
        break;
    case AGENT_CHANNEL:
        channel_take(agent, bytes, header->size);
        break;
    case AGENT_ASK:
        agent_door_ask(agent->door, agent->stream, header, bytes);
        break;
    case AGENT_TAKEN:
        agent->said -= header->value < agent->said ? header->value : agent->said;
        break;
    default:
        break;
    }
}

/* Which ranks stand still is for the mirror to tell. */
static void processes_look(const struct agent *agent)
{
    const Moot__HostJob *job = agent->orders.job;
    if (!agent->running || !agent->does) {
        return;
    }
    const char *ends = agent_mirror_ends(agent->mirror);
    rank_process_look(ends, job->first, job->count, agent->does);
    for (uint32_t later = 0; later < job->room - job->ranks; later++) {
        if (agent->joined[later]) {
            rank_process_look(ends, job->ranks + later, 1,
                              &agent->does[job->count + later]);
        }
    }
}

/* Sends and reads what can be. */
static void stream_serve(struct agent *agent, int wait_ms)
{
    struct pollfd ends[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = agent_stream_waiting(agent->stream) > 0 ? STDOUT_FILENO : -1,
         .events = POLLOUT}};
    (void)poll(ends, 2, wait_ms);
    agent_stream_flush(agent->stream);
    agent_stream_read(agent->stream, false, frame_take, agent);
    const int64_t at_ms = now_ms();
    if (at_ms - agent->beat_ms >= AGENT_BEAT_MS) {
        agent->beat_ms = at_ms;
        agent_stream_say(agent->stream, AGENT_BEAT, 0, 0, NULL, 0);
        processes_look(agent);
    }
}

static void stream_wait(void *context) { stream_serve(context, PAUSE_MS); }

static bool said_room(void *context, bool error, bool waits)
{
    struct agent *agent = context;
    (void)error;
    while (waits && agent->said >= AGENT_CREDIT &&
           !agent_stream_is_over(agent->stream)) {
        stream_serve(agent, PAUSE_MS);
    }
    return agent->said < AGENT_CREDIT || agent_stream_is_over(agent->stream);
}

static void said_put(void *context, int rank, bool error, const char *bytes,
                     size_t size)
{
    struct agent *agent = context;
    agent->said += size;
    agent_stream_say(agent->stream, AGENT_SAID, crew_rank_of(agent->crew, rank), error,
                     bytes, size);
}

/* --- The job ---------------------------------------------------------------------- */

/* Waits until something of all this may have something to do. */
static void job_pause(const struct agent *agent)
{
    struct pollfd ends[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = agent_stream_waiting(agent->stream) > 0 ? STDOUT_FILENO : -1,
         .events = POLLOUT},
        {.fd = channel_hub_descriptor(agent->hub), .events = POLLIN},
        {.fd = agent->said < AGENT_CREDIT ? relay_descriptor(crew_relay(agent->crew))
                                          : -1,
         .events = POLLIN},
        {.fd = agent_mirror_descriptor(agent->mirror), .events = POLLIN},
        {.fd = agent_stream_waiting(agent->stream) < AGENT_CREDIT
                   ? agent_door_descriptor(agent->door)
                   : -1,
         .events = POLLIN}};
    (void)poll(ends, sizeof(ends) / sizeof(ends[0]), PAUSE_MS);
}

/* SIGTERM that is this process's own asks the ranks to leave; batch systems may send it
 * twice at nearly the same time.  Any other ends them. */
static void signals_pass(struct agent *agent)
{
    const unsigned count = signals_count();
    const bool same = agent->asked_ms != 0 && now_ms() - agent->asked_ms < SAME_MS;
    const bool asks = agent->asked_ms == 0 && agent->killed_ms == 0;
    if (count != agent->signals) {
        agent->signals = count;
        if (signals_last() == SIGTERM && asks) {
            agent->asked_ms = now_ms();
            crew_ask(agent->crew);
        } else if (signals_last() != SIGTERM || !same) {
            ranks_signal(agent, agent->killed_ms ? SIGKILL : signals_last());
        }
    }
    if (agent->killed_ms != 0 && now_ms() >= agent->killed_ms) {
        crew_signal(agent->crew, SIGKILL);
    }
}

static bool is_forsaken(const struct agent *agent)
{
    return agent_stream_is_over(agent->stream) ||
           now_ms() - agent->heard_ms > AGENT_PATIENCE_MS;
}

/* Until all ranks have ended, or the job has gone. */
static void ranks_serve(struct agent *agent, const struct crew_watch *watch)
{
    const struct relay_sink sink = {agent, said_room, said_put};
    while (crew_left(agent->crew) > 0 && !is_forsaken(agent)) {
        job_pause(agent);
        if (falls) {
            host_fall(agent);
        }
        stream_serve(agent, 0);
        channel_pass(agent);
        input_pass(agent);
        relay_pass(crew_relay(agent->crew), false, &sink);
        agent_mirror_pass(agent->mirror, agent->stream);
        agent_door_pass(agent->door, agent->stream);
        signals_pass(agent);
        crew_reap(agent->crew, watch);
    }
    agent->closes = true;
    if (!is_forsaken(agent)) {
        relay_pass(crew_relay(agent->crew), true, &sink);
    }
}

/* All is said; what can be certain is. */
static void job_close(struct agent *agent, const struct crew_watch *watch)
{
    int64_t until_ms = now_ms() + CERTAIN_MS;
    while (!crew_is_certain(agent->crew) && now_ms() < until_ms) {
        stream_serve(agent, PAUSE_MS);
        crew_reap(agent->crew, watch);
        channel_pass(agent);
    }
    channel_pass(agent); /* others wait for deaths, and files may take long */
    agent_mirror_end(agent->mirror, agent->stream, stream_wait, agent);
    channel_pass(agent);
    agent_stream_say(agent->stream, AGENT_DONE, 0, agent->failed, NULL, 0);
    until_ms = now_ms() + FLUSH_MS;
    while (agent_stream_waiting(agent->stream) > 0 && !is_forsaken(agent) &&
           now_ms() < until_ms) {
        stream_serve(agent, PAUSE_MS);
    }
}

/* The job has gone: so do its ranks. */
static void ranks_end(struct agent *agent, const struct crew_watch *watch)
{
    const int64_t until_ms = now_ms() + GRACE_MS;
    crew_signal(agent->crew, SIGKILL);
    while (crew_left(agent->crew) > 0 && now_ms() < until_ms) {
        const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
        crew_reap(agent->crew, watch);
        nanosleep(&pause, NULL);
    }
}

static void agent_release(struct agent *agent)
{
    input_close(agent);
    free(agent->pending);
    free(agent->does);
    crew_free(agent->crew);
    channel_hub_free(agent->hub);
    if (agent->trunk >= 0) {
        close(agent->trunk);
    }
    agent_mirror_free(agent->mirror);
    agent_door_free(agent->door);
    agent_orders_release(&agent->orders);
    agent_stream_free(agent->stream);
}

int agent_run(void)
{
    struct agent agent = {.trunk = -1, .input = -1, .heard_ms = now_ms()};
    const struct crew_watch watch = {&agent, reaped};
    const int64_t until_ms = now_ms() + AGENT_ORDERS_MS;
    agent.stream = agent_stream_new(STDIN_FILENO, STDOUT_FILENO);
    agent.door = agent_door_new();
    if (!agent.stream || !agent.door) {
        agent_stream_free(agent.stream);
        agent_door_free(agent.door);
        return EXIT_FAILURE;
    }
    signals_hold(&agent.mask);
    signals_take(0, &agent.mask);
    fall_await();
    agent_stream_greet(agent.stream);
    while (!agent.orders.job && !agent_stream_is_over(agent.stream) &&
           signals_count() == 0 && now_ms() < until_ms) {
        stream_serve(&agent, PAUSE_MS);
    }
    bool well = agent.running;
    if (agent.running) {
        ranks_serve(&agent, &watch);
        well = !is_forsaken(&agent);
        if (well) {
            job_close(&agent, &watch);
        } else {
            ranks_end(&agent, &watch);
        }
    }
    for (int i = 0; agent.refused && agent_stream_waiting(agent.stream) > 0 &&
                    !agent_stream_is_over(agent.stream) && i < FLUSH_MS / PAUSE_MS;
         i++) {
        stream_serve(&agent, PAUSE_MS);
    }
    agent_release(&agent);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
