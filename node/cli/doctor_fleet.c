/* doctor_fleet.c - asks the doctors of several hosts; see doctor.h. */
#include "node/cli/doctor.h"
#include "node/launchers/launchers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, BUFFER_BYTES = 16384, BEGIN_MS = 15000, ANSWER_MS = 10000 };
enum { CLOCK_ASKS = 5, HOSTS_TRIED = 64 };
#define CLOCKS_APART_NS UINT64_C(1000000000)

struct patient {
    moot_launcher_host about;
    moot_launcher_link link;
    char bytes[BUFFER_BYTES]; /* that have come and are not read */
    size_t count;
    bool launched, ended, ready;
    char why[LINE_BYTES]; /* it ended, */
    int port;
};

struct visit {
    const moot_launcher *table;
    moot_fleet *hold;
    struct patient *hosts;
    uint32_t count;
    doctor_tell tell;
    void *context;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void tell_of(const struct visit *visit, const struct patient *host,
                    enum doctor_state state, const char *name, const char *text)
{
    char whole[MOOT_LAUNCHER_NAME_BYTES + 64];
    snprintf(whole, sizeof(whole), "%s: %.60s", host->about.name, name);
    visit->tell(visit->context, state, whole, text);
}

/* --- Lines ------------------------------------------------------------------------ */

static void host_ended(void *context, uint32_t index, enum moot_launcher_end how,
                       int status, const char *why)
{
    struct visit *visit = context;
    (void)how;
    if (index < visit->count) {
        struct patient *host = &visit->hosts[index];
        host->ended = true;
        if (*why) {
            snprintf(host->why, sizeof(host->why), "%s", why);
        } else {
            snprintf(host->why, sizeof(host->why), "it ended with status %d", status);
        }
    }
}

static void host_up(void *context, uint32_t index) { (void)context, (void)index; }

/* The next line of a host, in so much time; false: there is none. */
static bool line_read(struct visit *visit, struct patient *host, char line[LINE_BYTES],
                      int wait_ms)
{
    const moot_launcher_receiver receiver = {
        .size = sizeof(receiver), .context = visit, .up = host_up, .ended = host_ended};
    const int64_t until_ms = now_ms() + wait_ms;
    for (;;) {
        char *end = memchr(host->bytes, '\n', host->count);
        if (end) {
            const size_t length = (size_t)(end - host->bytes);
            snprintf(line, LINE_BYTES, "%.*s", (int)length, host->bytes);
            host->count -= length + 1;
            memmove(host->bytes, end + 1, host->count);
            return true;
        }
        if (host->count == sizeof(host->bytes)) {
            host->count = 0; /* that is no line of ours */
        }
        struct pollfd from = {.fd = host->link.from, .events = POLLIN};
        (void)poll(&from, 1, 20);
        (void)visit->table->poll(visit->hold, &receiver);
        const ssize_t got = read(host->link.from, host->bytes + host->count,
                                 sizeof(host->bytes) - host->count);
        host->count += got > 0 ? (size_t)got : 0;
        if (now_ms() >= until_ms || (got == 0 && host->ended)) {
            return false;
        }
    }
}

/* Asks, and has the answer behind that word. */
static bool host_ask(struct visit *visit, struct patient *host, const char *question,
                     const char *word, char answer[LINE_BYTES])
{
    const size_t length = strlen(word);
    char line[LINE_BYTES];
    if (write(host->link.to, question, strlen(question)) < 0) {
        return false;
    }
    while (line_read(visit, host, line, ANSWER_MS)) {
        if (strncmp(line, word, length) == 0 && line[length] == ' ') {
            snprintf(answer, LINE_BYTES, "%s", line + length + 1);
            return true;
        }
    }
    return false;
}

/* --- A host ----------------------------------------------------------------------- */

static bool host_start(struct visit *visit, uint32_t index, const char *agent)
{
    struct patient *host = &visit->hosts[index];
    char path[4096], verb[] = "doctor", option[] = "--answer";
    char *argv[] = {path, verb, option, NULL};
    host->about.size = sizeof(host->about);
    host->link.size = sizeof(host->link);
    snprintf(path, sizeof(path), "%s", agent);
    host->launched = visit->table->host(visit->hold, index, &host->about) == MOOT_OK &&
                     visit->table->launch(visit->hold, index, argv) == MOOT_OK &&
                     visit->table->connect(visit->hold, index, &host->link) == MOOT_OK;
    if (!host->launched) {
        tell_of(visit, host, DOCTOR_ILL, "begins", visit->table->story(visit->hold));
        return false;
    }
    (void)fcntl(host->link.from, F_SETFL, fcntl(host->link.from, F_GETFL) | O_NONBLOCK);
    return true;
}

/* Reads what it sees of itself, and tells what is not well. */
static void host_hear(struct visit *visit, struct patient *host)
{
    char line[LINE_BYTES], own[64], release[64] = "";
    const int64_t until_ms = now_ms() + BEGIN_MS;
    doctor_release(own);
    while (!host->ready && now_ms() < until_ms &&
           line_read(visit, host, line, (int)(until_ms - now_ms()))) {
        char *text = strchr(line, '\t');
        if (strncmp(line, "moot-doctor ", 12) == 0) {
            snprintf(release, sizeof(release), "%.60s", line + 12);
        } else if (strncmp(line, "row ", 4) == 0 && text && line[4] != '0') {
            *text++ = '\0';
            tell_of(visit, host, line[4] == '1' ? DOCTOR_NOTE : DOCTOR_ILL, line + 6,
                    text);
        } else if (strncmp(line, "port ", 5) == 0) {
            host->port = (int)strtol(line + 5, NULL, 10);
        }
        host->ready = strcmp(line, "ready") == 0;
    }
    if (!*release) {
        tell_of(visit, host, DOCTOR_ILL, "begins",
                host->ended ? host->why : "no moot answers there");
    } else if (strcmp(release, own) != 0) {
        char text[256];
        snprintf(text, sizeof(text), "%s there, and %s here: install the same", release,
                 own);
        tell_of(visit, host, DOCTOR_ILL, "release", text);
    } else if (!host->ready) {
        tell_of(visit, host, DOCTOR_ILL, "begins", "it did not say all in time");
    } else {
        tell_of(visit, host, DOCTOR_WELL, "release", release);
    }
}

/* How far its clock is from this one, by the quickest of some answers. */
static void clock_look(struct visit *visit, struct patient *host)
{
    char answer[LINE_BYTES], text[128];
    uint64_t best_ns = UINT64_MAX, apart_ns = 0;
    bool ahead = false;
    for (int i = 0; i < CLOCK_ASKS; i++) {
        const uint64_t asked = real_ns();
        if (!host_ask(visit, host, "time\n", "time", answer)) {
            return;
        }
        const uint64_t took = real_ns() - asked, here = asked + took / 2;
        const uint64_t there = strtoull(answer, NULL, 10);
        if (took < best_ns) {
            best_ns = took;
            ahead = there > here;
            apart_ns = ahead ? there - here : here - there;
        }
    }
    const bool near = apart_ns < CLOCKS_APART_NS + best_ns;
    snprintf(text, sizeof(text), "%.3f ms %s, to within %.3f ms%s",
             (double)apart_ns / 1e6, ahead ? "ahead" : "behind", (double)best_ns / 2e6,
             near ? "" : ": have it set by NTP, or logs will not fit together");
    tell_of(visit, host, near ? DOCTOR_WELL : DOCTOR_NOTE, "clock", text);
}

/* Whether it reaches another host's ports. */
static void way_look(struct visit *visit, struct patient *host,
                     const struct patient *to)
{
    char question[LINE_BYTES], answer[LINE_BYTES] = "", name[512],
                               text[LINE_BYTES + 256];
    snprintf(question, sizeof(question), "try %s %d\n", to->about.address, to->port);
    snprintf(name, sizeof(name), "to %.50s", to->about.name);
    if (!host_ask(visit, host, question, "tried", answer)) {
        tell_of(visit, host, DOCTOR_ILL, name, "no answer");
    } else if (answer[0] == '0') {
        snprintf(text, sizeof(text), "%.3f ms", strtod(answer + 2, NULL) / 1e6);
        tell_of(visit, host, DOCTOR_WELL, name, text);
    } else {
        snprintf(
            text, sizeof(text),
            "%.600s at %.250s, port %d: open a range of ports and name it (--transport "
            "tcp:ports=A-B), or name who reaches whom (MOOT_ROUTE)",
            answer[0] ? answer + 2 : "", to->about.address, to->port);
        tell_of(visit, host, DOCTOR_NOTE, name, text);
    }
}

/* --- All -------------------------------------------------------------------------- */

static void all_look(struct visit *visit, const char *agent)
{
    for (uint32_t i = 0; i < visit->count; i++) {
        (void)host_start(visit, i, agent);
    }
    for (uint32_t i = 0; i < visit->count; i++) {
        if (visit->hosts[i].launched) {
            host_hear(visit, &visit->hosts[i]);
        }
    }
    for (uint32_t i = 0; i < visit->count; i++) {
        for (uint32_t other = 0; visit->hosts[i].ready && other < visit->count;
             other++) {
            if (other == i) {
                clock_look(visit, &visit->hosts[i]);
            } else if (visit->hosts[other].ready) {
                way_look(visit, &visit->hosts[i], &visit->hosts[other]);
            }
        }
    }
}

bool doctor_ask(const struct doctor_fleet *fleet, doctor_tell tell, void *context,
                char *story, size_t story_size)
{
    struct visit visit = {.tell = tell, .context = context};
    const char *options = "";
    if (launcher_table_load(fleet->launcher, &visit.table, &options, story,
                            story_size) != MOOT_OK) {
        return false;
    }
    const moot_launcher_setup setup = {
        .size = sizeof(setup), .options = options, .hosts = fleet->hosts};
    if (visit.table->open(&setup, &visit.hold, story, story_size) != MOOT_OK) {
        return false;
    }
    visit.count = visit.table->hosts(visit.hold);
    visit.count = visit.count < HOSTS_TRIED ? visit.count : HOSTS_TRIED;
    visit.hosts = calloc(visit.count, sizeof(*visit.hosts));
    if (visit.hosts) {
        all_look(&visit, fleet->agent);
    } else {
        snprintf(story, story_size, "out of memory");
    }
    visit.table->finalise(visit.hold);
    const bool asked = visit.hosts != NULL;
    free(visit.hosts);
    return asked;
}
