/* fleet_host.c - one host of a fleet, and what its agent says. */
#include "node/config/text.h"
#include "node/launch/fleet_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRUNK_BYTES = 32 * 1024, WAITING_MAX = 1 << 20 };
enum { SILENT_MS = 10000, END_MS = 1500 };

/* --- Its beginning ---------------------------------------------------------------- */

static bool trunk_open(struct fleet_host *host)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    if (!channel_hub_add_branch(host->fleet->hub, host->first, host->count, ends[1])) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    host->trunk = ends[0];
    return true;
}

bool fleet_host_call(struct fleet_host *host, const char *agent)
{
    struct fleet *fleet = host->fleet;
    char path[PATH_MAX], verb[] = "agent";
    char *argv[] = {path, verb, NULL};
    moot_launcher_link link = {.size = sizeof(link)};
    struct epoll_event event = {.events = EPOLLIN};
    snprintf(path, sizeof(path), "%s", agent);
    if (fleet->table->launch(fleet->hold, host->index, argv) != MOOT_OK ||
        fleet->table->connect(fleet->hold, host->index, &link) != MOOT_OK) {
        snprintf(fleet->story, sizeof(fleet->story), "host %s: %s", host->about.name,
                 fleet->table->story(fleet->hold));
        return false;
    }
    host->stream = agent_stream_new(link.from, link.to);
    if (!host->stream || !trunk_open(host)) {
        snprintf(fleet->story, sizeof(fleet->story), "host %s: %s", host->about.name,
                 strerror(errno));
        return false;
    }
    host->from = link.from;
    (void)epoll_ctl(fleet->wakes, EPOLL_CTL_ADD, host->from, &event);
    host->state = HOST_CALLED;
    host->since_ms = host->heard_ms = fleet_now_ms();
    return true;
}

/* An ended stream would be readable for ever. */
static void host_unwatch(struct fleet_host *host)
{
    if (host->from >= 0) {
        (void)epoll_ctl(host->fleet->wakes, EPOLL_CTL_DEL, host->from, NULL);
        host->from = -1;
    }
}

/* --- The channel ------------------------------------------------------------------ */

/* To the hub, which always takes it. */
static void channel_take(struct fleet_host *host, const unsigned char *bytes,
                         size_t size)
{
    while (host->trunk >= 0 && size > 0) {
        const ssize_t put = send(host->trunk, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        } else if (errno != EAGAIN && errno != EINTR) {
            return;
        }
        channel_hub_poll(host->fleet->hub, 0);
    }
}

static void channel_pass(struct fleet_host *host)
{
    unsigned char bytes[TRUNK_BYTES];
    ssize_t got = 1;
    while (host->trunk >= 0 && host->state >= HOST_ORDERED && got > 0 &&
           agent_stream_waiting(host->stream) < WAITING_MAX) {
        got = recv(host->trunk, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got > 0) {
            agent_stream_say(host->stream, AGENT_CHANNEL, 0, 0, bytes, (size_t)got);
            channel_hub_poll(host->fleet->hub, 0);
        }
    }
}

static void trunk_close(struct fleet_host *host)
{
    if (host->trunk >= 0) {
        close(host->trunk);
        host->trunk = -1;
        channel_hub_poll(host->fleet->hub, 0);
    }
}

/* --- What comes ------------------------------------------------------------------- */

/* An agent holds to AGENT_CREDIT, but for the ends of lines when all is over. */
static bool is_too_much(const struct fleet_host *host, size_t size)
{
    return host->said + size >
           AGENT_CREDIT + ((size_t)host->count + host->later) * AGENT_PIECE;
}

static void words_take(struct fleet_host *host, const struct agent_header *header,
                       const unsigned char *bytes)
{
    struct fleet *fleet = host->fleet;
    if (header->size == 0 || !fleet_host_has(host, header->value) ||
        host->state >= HOST_DONE) {
        return;
    }
    if (is_too_much(host, header->size)) {
        fleet_host_lose(host, "it says more than was asked for");
        return;
    }
    struct fleet_words *words = malloc(sizeof(*words) + header->size);
    if (!words) {
        return;
    }
    host->said += header->size;
    *words = (struct fleet_words){.host = host,
                                  .rank = header->value,
                                  .error = header->flag != 0,
                                  .size = header->size};
    memcpy(words->bytes, bytes, header->size);
    *fleet->last = words;
    fleet->last = &words->next;
}

static void refused(struct fleet_host *host, const unsigned char *bytes, size_t size)
{
    char why[sizeof(host->why)];
    snprintf(why, sizeof(why), "%.*s", (int)size, (const char *)bytes);
    fleet_host_lose(host, why);
}

static void frame_take(void *context, const struct agent_header *header,
                       const unsigned char *bytes)
{
    struct fleet_host *host = context;
    struct fleet *fleet = host->fleet;
    const uint32_t value = header->value;
    host->heard_ms = fleet_now_ms();
    switch (header->kind) {
    case AGENT_UP:
        host->state = host->state == HOST_ORDERED ? HOST_RUNS : host->state;
        break;
    case AGENT_REFUSED:
        refused(host, bytes, header->size);
        break;
    case AGENT_SAID:
        words_take(host, header, bytes);
        break;
    case AGENT_FILE:
        fleet_file_take(host, header, bytes);
        break;
    case AGENT_GONE:
        fleet_file_gone(host, header, bytes);
        break;
    case AGENT_LOST:
        if (fleet_host_has(host, value) && fleet->watch->lost) {
            fleet->watch->lost(fleet->context, (int)value, (int)header->flag);
        }
        break;
    case AGENT_DONE:
        host->state = host->state == HOST_RUNS ? HOST_DONE : host->state;
        fleet->failed |= header->flag != 0;
        fleet_later_end(host);
        break;
    case AGENT_JOINED:
        fleet_later_joined(host, header, bytes);
        break;
    case AGENT_CHANNEL:
        channel_take(host, bytes, header->size);
        break;
    case AGENT_ANSWER:
        if (host == fleet->asked && value == fleet->question && fleet->watch->answer) {
            fleet->watch->answer(fleet->context, bytes, header->size,
                                 header->flag != 0);
        }
        break;
    case AGENT_TAKEN:
        fleet->input_out -= value < fleet->input_out ? value : fleet->input_out;
        break;
    default:
        break;
    }
}

/* --- Its end ---------------------------------------------------------------------- */

/* The words of another host, as a terminal may have them. */
static void plain_write(char *to, size_t size, const char *told)
{
    struct text text = {0};
    text_add_told(&text, told, strlen(told));
    snprintf(to, size, "%s", text_get(&text));
    text_release(&text);
}

void fleet_host_lose(struct fleet_host *host, const char *told)
{
    struct fleet *fleet = host->fleet;
    char why[sizeof(host->why)];
    const bool began = host->state == HOST_RUNS;
    if (host->state >= HOST_DONE) {
        return;
    }
    plain_write(why, sizeof(why), told);
    host->state = HOST_LOST;
    host_unwatch(host);
    fleet_file_drop(host);
    if (!began && !*fleet->story) {
        snprintf(fleet->story, sizeof(fleet->story), "host %s: %s", host->about.name,
                 *why ? why
                      : "the agent there ended before it had begun; is what --agent "
                        "names a moot?");
    }
    trunk_close(host);
    if (began) {
        fleet_host_tell_lost(host, why);
    }
}

/* Why an agent said no more. */
static const char *end_tell(const struct fleet_host *host)
{
    if (*agent_stream_story(host->stream)) {
        return agent_stream_story(host->stream);
    }
    return host->ended ? host->why : "";
}

static void silence_look(struct fleet_host *host, int64_t at_ms)
{
    const struct fleet *fleet = host->fleet;
    const bool silent = at_ms - host->heard_ms > SILENT_MS;
    if (host->state < HOST_RUNS && at_ms - host->since_ms > SILENT_MS) {
        fleet_host_lose(host, host->state == HOST_CALLED
                                  ? "no agent answers there after 10 s"
                                  : "the agent there has not begun after 10 s");
    } else if (host->state == HOST_RUNS && silent != host->silent &&
               fleet->watch->silent) {
        host->silent = silent;
        fleet->watch->silent(fleet->context, host->about.name, silent);
    }
}

/* The stream has ended; the launcher may say why in a moment. */
static void end_look(struct fleet_host *host, int64_t at_ms)
{
    if (host->over_ms == 0) {
        host->over_ms = at_ms;
        host_unwatch(host);
    }
    if (host->ended || *agent_stream_story(host->stream) ||
        at_ms - host->over_ms > END_MS) {
        fleet_host_lose(host, end_tell(host));
    }
}

void fleet_host_serve(struct fleet_host *host)
{
    const int64_t at_ms = fleet_now_ms();
    if (host->state >= HOST_DONE) {
        return;
    }
    agent_stream_flush(host->stream);
    agent_stream_read(host->stream, true, frame_take, host);
    if (host->state == HOST_CALLED && agent_stream_was_greeted(host->stream) &&
        !agent_stream_is_over(host->stream)) {
        host->state = HOST_ORDERED;
        host->since_ms = at_ms;
        fleet_orders_give(host);
    }
    channel_pass(host);
    if (host->state >= HOST_DONE) {
        host_unwatch(host);
        trunk_close(host);
    } else if (agent_stream_is_over(host->stream)) {
        end_look(host, at_ms);
    } else {
        silence_look(host, at_ms);
    }
}

void fleet_host_beat(struct fleet_host *host)
{
    if (host->state == HOST_ORDERED || host->state == HOST_RUNS) {
        agent_stream_say(host->stream, AGENT_BEAT, 0, 0, NULL, 0);
    }
}

void fleet_host_release(struct fleet_host *host)
{
    fleet_file_drop(host);
    trunk_close(host);
    agent_stream_free(host->stream);
}
