/* fleet.c - see fleet.h. */
#include "node/launch/fleet_private.h"
#include "node/launch/relay.h"
#include "node/launch/signals.h"
#include "node/launchers/launchers.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, HURRY_MS = 1, LOOK_MS = 200, GRACE_MS = 5000 };
enum { OPENING_MS = 30000 };
enum { HOST_FILES = 8, SPARE_FILES = 64 };

int64_t fleet_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Opening ---------------------------------------------------------------------- */

static bool hosts_describe_all(struct fleet *fleet, moot_launcher_host *about,
                               char *story, size_t story_size)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        about[i] = (moot_launcher_host){.size = sizeof(about[i])};
        if (fleet->table->host(fleet->hold, i, &about[i]) != MOOT_OK) {
            snprintf(story, story_size, "%s", fleet->table->story(fleet->hold));
            return false;
        }
        fleet->hosts[i] = (struct fleet_host){
            .fleet = fleet, .about = about[i], .index = i, .from = -1, .trunk = -1};
    }
    return true;
}

/* Which ranks go where. */
static bool ranks_place(struct fleet *fleet, uint32_t ranks, char *story,
                        size_t story_size)
{
    moot_launcher_host *about = calloc(fleet->count, sizeof(*about));
    uint32_t *counts = calloc(fleet->count, sizeof(*counts));
    bool placed = about && counts;
    if (!placed) {
        snprintf(story, story_size, "out of memory");
    }
    placed = placed && hosts_describe_all(fleet, about, story, story_size);
    const int64_t all =
        placed ? hosts_place(about, fleet->count, ranks, counts, story, story_size)
               : -1;
    uint32_t first = 0;
    for (uint32_t i = 0; all > 0 && i < fleet->count; i++) {
        fleet->hosts[i].first = first;
        fleet->hosts[i].count = counts[i];
        first += counts[i];
    }
    fleet->ranks = first;
    free(about);
    free(counts);
    return all > 0;
}

struct fleet *fleet_open(const struct fleet_setup *setup, char *story,
                         size_t story_size)
{
    const moot_launcher_setup words = {.size = sizeof(words),
                                       .options = setup->options,
                                       .hosts = setup->hosts,
                                       .ranks = setup->ranks};
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    if (!fleet) {
        snprintf(story, story_size, "out of memory");
        return NULL;
    }
    *fleet = (struct fleet){.table = setup->table, .wakes = -1, .last = &fleet->first};
    if (fleet->table->open(&words, &fleet->hold, story, story_size) != MOOT_OK) {
        free(fleet);
        return NULL;
    }
    fleet->count = fleet->table->hosts(fleet->hold);
    if (fleet->count == 0 || fleet->count > MOOT_LAUNCHER_HOSTS_MAX) {
        snprintf(story, story_size, "the launcher '%s' has %u hosts",
                 setup->table->name, fleet->count);
        fleet->count = 0;
        fleet_free(fleet);
        return NULL;
    }
    fleet->hosts = calloc(fleet->count, sizeof(*fleet->hosts));
    if (!fleet->hosts || !ranks_place(fleet, setup->ranks, story, story_size)) {
        fleet_free(fleet);
        return NULL;
    }
    return fleet;
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet) {
        return;
    }
    for (uint32_t i = 0; fleet->hosts && i < fleet->count; i++) {
        fleet_host_release(&fleet->hosts[i]);
    }
    fleet->table->finalise(fleet->hold);
    while (fleet->first) {
        struct fleet_words *words = fleet->first;
        fleet->first = words->next;
        free(words);
    }
    if (fleet->wakes >= 0) {
        close(fleet->wakes);
    }
    channel_hub_free(fleet->hub);
    free(fleet->hosts);
    free(fleet);
}

uint32_t fleet_ranks(const struct fleet *fleet) { return fleet->ranks; }

moot_launcher_host *fleet_hosts_used(const struct fleet *fleet, uint32_t *count)
{
    moot_launcher_host *used = calloc(fleet->count, sizeof(*used));
    *count = 0;
    for (uint32_t i = 0; used && i < fleet->count; i++) {
        if (fleet->hosts[i].count > 0) {
            used[(*count)++] = fleet->hosts[i].about;
        }
    }
    return used;
}

uint32_t *fleet_places(const struct fleet *fleet)
{
    uint32_t *places = calloc(fleet->ranks, sizeof(*places));
    uint32_t rank = 0, place = 0;
    for (uint32_t i = 0; places && i < fleet->count; i++) {
        for (uint32_t n = 0; n < fleet->hosts[i].count; n++) {
            places[rank++] = place;
        }
        place += fleet->hosts[i].count > 0;
    }
    return places;
}

static struct fleet_host *host_find(const struct fleet *fleet, uint32_t rank)
{
    uint32_t i = 0;
    struct fleet_host *later = fleet_later_host(fleet, rank);
    if (later) {
        return later;
    }
    while (i + 1 < fleet->count &&
           rank >= fleet->hosts[i].first + fleet->hosts[i].count) {
        i++;
    }
    return &fleet->hosts[i];
}

const char *fleet_host_of(const struct fleet *fleet, uint32_t rank)
{
    return host_find(fleet, rank)->about.name;
}

bool fleet_ask(struct fleet *fleet, uint32_t rank, const char *path,
               const char *question)
{
    char bytes[512];
    struct fleet_host *host = host_find(fleet, rank);
    const size_t head = strlen(path) + 1, rest = strlen(question);
    if (host->state != HOST_RUNS || head + rest > sizeof(bytes)) {
        return false;
    }
    memcpy(bytes, path, head);
    memcpy(bytes + head, question, rest);
    fleet->asked = host;
    agent_stream_say(host->stream, AGENT_ASK, ++fleet->question, 0, bytes, head + rest);
    return true;
}

/* --- The launcher's news ---------------------------------------------------------- */

static void host_is_up(void *context, uint32_t index) { (void)context, (void)index; }

static void host_has_ended(void *context, uint32_t index, enum moot_launcher_end how,
                           int status, const char *why)
{
    struct fleet *fleet = context;
    (void)how;
    if (index < fleet->count) {
        struct fleet_host *host = &fleet->hosts[index];
        host->ended = true;
        if (status == LAUNCH_NOT_FOUND && host->state < HOST_RUNS) {
            snprintf(host->why, sizeof(host->why),
                     "%.200s%s%.200s: install this release there, or name its place "
                     "by --agent",
                     *why ? why : "there is no ", *why ? "" : fleet->job->agent,
                     *why ? "" : " there");
        } else {
            snprintf(host->why, sizeof(host->why), "%s", why);
        }
    }
}

static void launcher_serve(struct fleet *fleet)
{
    const moot_launcher_receiver receiver = {.size = sizeof(receiver),
                                             .context = fleet,
                                             .up = host_is_up,
                                             .ended = host_has_ended};
    if (fleet->table->poll(fleet->hold, &receiver) < 0) {
        const char *why = fleet->table->story(fleet->hold);
        for (uint32_t i = 0; i < fleet->count; i++) {
            if (fleet->hosts[i].count > 0) {
                fleet_host_lose(&fleet->hosts[i], why);
            }
        }
    }
}

/* --- Output and input ------------------------------------------------------------- */

/* Passes on what there is room for; in the `last` call it waits for that. */
static void words_pass(struct fleet *fleet, bool last)
{
    while (fleet->first && relay_room(NULL, fleet->first->error, last)) {
        struct fleet_words *words = fleet->first;
        fleet->watch->say(fleet->context, (int)words->rank, words->error, words->bytes,
                          words->size);
        words->host->said -= words->size;
        if (words->host->state < HOST_DONE) {
            agent_stream_say(words->host->stream, AGENT_TAKEN, (uint32_t)words->size, 0,
                             NULL, 0);
        }
        fleet->first = words->next;
        fleet->last = fleet->first ? fleet->last : &fleet->first;
        free(words);
    }
}

/* The host of rank 0, if it can be given input; NULL: not, or not yet. */
static struct fleet_host *input_host(const struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct fleet_host *host = &fleet->hosts[i];
        if (host->count > 0) {
            return host->state == HOST_RUNS ? host : NULL;
        }
    }
    return NULL;
}

static void input_pass(struct fleet *fleet)
{
    unsigned char bytes[AGENT_PIECE];
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
    struct fleet_host *host = fleet->input_open ? input_host(fleet) : NULL;
    while (host && fleet->input_open &&
           fleet->input_out + sizeof(bytes) <= AGENT_CREDIT && poll(&more, 1, 0) > 0) {
        const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            return;
        }
        const size_t size = got > 0 ? (size_t)got : 0;
        fleet->input_open = size > 0;
        fleet->input_out += size;
        agent_stream_say(host->stream, AGENT_INPUT, 0, 0, bytes, size);
    }
}

/* --- The job ---------------------------------------------------------------------- */

static void all_signal(struct fleet *fleet, int number)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct fleet_host *host = &fleet->hosts[i];
        if (host->state == HOST_RUNS && host->count > 0) {
            agent_stream_say(host->stream, AGENT_SIGNAL, (uint32_t)number, 0, NULL, 0);
        }
    }
}

/* Hosts that do not end when they are told to are let go. */
static void all_let_go(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct fleet_host *host = &fleet->hosts[i];
        if (host->count > 0 && host->state < HOST_DONE) {
            fleet_host_lose(host, "it did not end when it was told to");
        }
    }
}

/* Hands on what has come, and ends what has had its time. */
static void signals_pass(struct fleet *fleet, int64_t at_ms)
{
    const unsigned count = signals_count();
    if (count != fleet->signals) {
        const bool again = fleet->killed_ms != 0 && signals_last() != SIGHUP;
        fleet->signals = count;
        all_signal(fleet, again ? SIGKILL : signals_last());
        fleet->killed_ms = fleet->killed_ms ? fleet->killed_ms : at_ms + GRACE_MS;
    }
    if (fleet->killed_ms == 0 && at_ms - fleet->looked_ms >= LOOK_MS) {
        fleet->looked_ms = at_ms;
        if (fleet->watch->is_hopeless(fleet->context)) {
            all_signal(fleet, SIGTERM);
            fleet->killed_ms = at_ms + GRACE_MS;
        }
    }
    if (fleet->killed_ms != 0 && at_ms >= fleet->killed_ms + GRACE_MS) {
        all_let_go(fleet);
    }
}

/* The number of hosts in a state below that one. */
static uint32_t hosts_below(const struct fleet *fleet, enum host_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fleet->count; i++) {
        count += fleet->hosts[i].count > 0 && fleet->hosts[i].state < state;
    }
    return count;
}

/* Where all others have ended, and nothing has come for long from those that are left,
 * the job is over.  As long as none has ended the silence may be this host's own. */
static void silence_end(struct fleet *fleet)
{
    bool heard = false, ended = false;
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct fleet_host *host = &fleet->hosts[i];
        heard |= host->count > 0 && host->state < HOST_DONE && !host->silent;
        ended |= host->count > 0 && host->state == HOST_DONE;
    }
    for (uint32_t i = 0; ended && !heard && i < fleet->count; i++) {
        if (fleet->hosts[i].count > 0) {
            fleet_host_lose(&fleet->hosts[i], "all others have ended meanwhile");
        }
    }
}

/* Whether all others wait for that host's ranks to open a moot.  No vote ends that. */
static bool holds_up_opening(const struct fleet_host *host, int64_t at_ms)
{
    return host->count > 0 && host->state == HOST_RUNS && host->silent &&
           at_ms - host->heard_ms > OPENING_MS &&
           channel_hub_waits_for(host->fleet->hub, host->first);
}

/* As long as nothing comes from any host the silence may be this host's own. */
static void opening_end(struct fleet *fleet, int64_t at_ms)
{
    bool heard = false;
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct fleet_host *host = &fleet->hosts[i];
        heard |= host->count > 0 && host->state == HOST_RUNS && !host->silent;
    }
    for (uint32_t i = 0; heard && i < fleet->count; i++) {
        if (holds_up_opening(&fleet->hosts[i], at_ms)) {
            fleet_host_lose(&fleet->hosts[i],
                            "nothing has come from there for 30 s, and the others "
                            "wait for its ranks to open the moot");
        }
    }
}

static void all_serve(struct fleet *fleet)
{
    const int64_t at_ms = fleet_now_ms();
    const bool beats = at_ms - fleet->beat_ms >= AGENT_BEAT_MS;
    fleet->beat_ms = beats ? at_ms : fleet->beat_ms;
    channel_hub_poll(fleet->hub, 0);
    launcher_serve(fleet);
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct fleet_host *host = &fleet->hosts[i];
        if (host->count > 0) {
            fleet_host_serve(host);
            if (beats) {
                fleet_host_beat(host);
            }
        }
    }
    words_pass(fleet, false);
    input_pass(fleet);
}

static void all_pause(struct fleet *fleet)
{
    bool hurries = false;
    for (uint32_t i = 0; i < fleet->count; i++) {
        const struct fleet_host *host = &fleet->hosts[i];
        hurries |= host->count > 0 && host->state < HOST_DONE &&
                   agent_stream_waiting(host->stream) > 0;
    }
    fleet->watch->pause(fleet->context, hurries ? HURRY_MS : PAUSE_MS, fleet->wakes);
}

/* All agents have started their ranks; false, with the fleet's story. */
static bool all_begin(struct fleet *fleet)
{
    bool called = true;
    for (uint32_t i = 0; called && i < fleet->count; i++) {
        called = fleet->hosts[i].count == 0 ||
                 fleet_host_call(&fleet->hosts[i], fleet->job->agent);
    }
    while (called && hosts_below(fleet, HOST_RUNS) > 0 && !*fleet->story &&
           signals_count() == 0) {
        all_serve(fleet);
        all_pause(fleet);
    }
    if (called && signals_count() > 0 && !*fleet->story) {
        snprintf(fleet->story, sizeof(fleet->story),
                 "ended by signal %d before all hosts had begun", signals_last());
    }
    return !*fleet->story;
}

static bool job_make(struct fleet *fleet)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct rlimit files;
    const rlim_t want = (rlim_t)fleet->count * HOST_FILES + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < want) {
        files.rlim_cur = want < files.rlim_max ? want : files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    fleet->growth = growth_make(fleet->ranks, fleet->job->max);
    fleet->hub = channel_hub_new(fleet->ranks, fleet->growth.room);
    fleet->wakes = epoll_create1(EPOLL_CLOEXEC);
    if (!fleet->hub || fleet->wakes < 0 ||
        epoll_ctl(fleet->wakes, EPOLL_CTL_ADD, channel_hub_descriptor(fleet->hub),
                  &event) != 0) {
        snprintf(fleet->story, sizeof(fleet->story), "%s", strerror(errno));
        return false;
    }
    const int news =
        fleet->table->descriptor ? fleet->table->descriptor(fleet->hold) : -1;
    if (news >= 0) {
        (void)epoll_ctl(fleet->wakes, EPOLL_CTL_ADD, news, &event);
    }
    fleet->input_open = !isatty(STDIN_FILENO);
    return true;
}

int launch_fleet(struct fleet *fleet, const struct fleet_job *job,
                 const struct launch_watch *watch, void *context, char *story,
                 size_t story_size)
{
    sigset_t before;
    fleet->job = job;
    fleet->watch = watch;
    fleet->context = context;
    signals_hold(&before);
    signals_take(0, &before);
    if (!job_make(fleet) || !all_begin(fleet)) {
        words_pass(fleet, false);
        snprintf(story, story_size, "%s", fleet->story);
        return -1;
    }
    while (hosts_below(fleet, HOST_DONE) > 0) {
        const int64_t at_ms = fleet_now_ms();
        all_serve(fleet);
        fleet_grow(fleet);
        signals_pass(fleet, at_ms);
        silence_end(fleet);
        opening_end(fleet, at_ms);
        all_pause(fleet);
    }
    words_pass(fleet, true);
    return fleet->failed && launch_signal() != 0 ? LAUNCH_SIGNAL + launch_signal() : 0;
}
