/* launcher_check.c - see launcher_check.h. */
#include "node/cli/launcher_check.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A slot that has not returned for so long has blocked; on a busy machine a process may
 * not be run for a second.  open() asks hosts, and finalise() may wait. */
#define BLOCKED_NS UINT64_C(2000000000)
#define FINALISED_NS UINT64_C(6000000000)
#define STUCK_NS UINT64_C(30000000000)

uint64_t trial_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void trial_fail(struct fleet_trial *trial, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(trial->card->reason, REASON_BYTES, format, values);
    va_end(values);
    _exit(1);
}

/* --- Slots, by the clock ---------------------------------------------------------- */

static void enter_slot(struct fleet_trial *trial, const char *slot)
{
    atomic_store(&trial->card->slot_since_ns, trial_now_ns());
    atomic_store(&trial->card->slot, slot);
}

static void leave_slot(struct fleet_trial *trial, uint64_t limit_ns)
{
    const char *slot = atomic_load(&trial->card->slot);
    const uint64_t took_ns = trial_now_ns() - atomic_load(&trial->card->slot_since_ns);
    atomic_store(&trial->card->slot, NULL);
    if (took_ns > limit_ns) {
        trial_fail(trial, "%s() took %.1f s, and may not block%s", slot,
                   (double)took_ns / 1e9, limit_ns > BLOCKED_NS ? " so long" : "");
    }
}

static const char *tell_fleet(const struct fleet_trial *trial)
{
    const char *story = trial->table->story(trial->fleet);
    return story != NULL && *story != '\0' ? story : "its story() is empty";
}

int trial_try_open(struct fleet_trial *trial, const char *hosts, moot_fleet **out,
                   char *story)
{
    const moot_launcher_setup setup = {
        .size = sizeof(setup), .options = trial->options, .hosts = hosts, .ranks = 0};
    *story = '\0';
    enter_slot(trial, "open");
    const int code = trial->table->open(&setup, out, story, REASON_BYTES);
    leave_slot(trial, STUCK_NS);
    return code;
}

void trial_open(struct fleet_trial *trial)
{
    char story[REASON_BYTES];
    moot_fleet *fleet = NULL;
    const int code = trial_try_open(trial, trial->hosts, &fleet, story);
    if (code != MOOT_OK || fleet == NULL) {
        trial_fail(trial, "open(): %s: %.400s", moot_strerror(code), story);
    }
    trial->fleet = fleet;
    const uint32_t count = trial->table->hosts(fleet);
    if (count == 0 || count > MOOT_LAUNCHER_HOSTS_MAX) {
        trial_fail(trial, "hosts() is %u, and may be 1 to %d", count,
                   MOOT_LAUNCHER_HOSTS_MAX);
    }
    trial->count = count < TRIED_HOSTS ? count : TRIED_HOSTS;
    memset(trial->tried, 0, sizeof(trial->tried));
}

void trial_finalise(struct fleet_trial *trial)
{
    enter_slot(trial, "finalise");
    trial->table->finalise(trial->fleet);
    leave_slot(trial, FINALISED_NS);
    trial->fleet = NULL;
}

int trial_try_connect(struct fleet_trial *trial, uint32_t host)
{
    moot_launcher_link link = {.size = sizeof(link), .to = -1, .from = -1};
    enter_slot(trial, "connect");
    const int code = trial->table->connect(trial->fleet, host, &link);
    leave_slot(trial, BLOCKED_NS);
    if (code == MOOT_OK && host < TRIED_HOSTS) {
        trial->tried[host].link = link;
    }
    return code;
}

int trial_try_launch(struct fleet_trial *trial, uint32_t host, char *const argv[])
{
    enter_slot(trial, "launch");
    const int code = trial->table->launch(trial->fleet, host, argv);
    leave_slot(trial, BLOCKED_NS);
    return code;
}

void trial_launch(struct fleet_trial *trial, uint32_t host, char *const argv[])
{
    const int code = trial_try_launch(trial, host, argv);
    if (code != MOOT_OK) {
        trial_fail(trial, "launch() on host %u: %s: %s", host, moot_strerror(code),
                   tell_fleet(trial));
    }
    const int linked = trial_try_connect(trial, host);
    const moot_launcher_link *link = &trial->tried[host].link;
    if (linked != MOOT_OK) {
        trial_fail(trial, "connect() of host %u, right after launch(): %s: %s", host,
                   moot_strerror(linked), tell_fleet(trial));
    }
    if (fcntl(link->to, F_GETFL) < 0 || fcntl(link->from, F_GETFL) < 0) {
        trial_fail(trial, "connect() gave %d and %d, which are no open descriptors",
                   link->to, link->from);
    }
    (void)fcntl(link->to, F_SETFL, fcntl(link->to, F_GETFL) | O_NONBLOCK);
    (void)fcntl(link->from, F_SETFL, fcntl(link->from, F_GETFL) | O_NONBLOCK);
    trial->tried[host].launched = true;
}

void trial_script(struct fleet_trial *trial, uint32_t host, const char *script)
{
    char shell[] = "sh", option[] = "-c", text[2048];
    char *argv[] = {shell, option, text, NULL};
    (void)snprintf(text, sizeof(text), "%s", script);
    trial_launch(trial, host, argv);
    memset(text, 'X', sizeof(text) - 1); /* launch() was to copy what it needs */
}

void trial_interrupt(struct fleet_trial *trial, uint32_t host, int number)
{
    enter_slot(trial, "interrupt");
    trial->table->interrupt(trial->fleet, host, number);
    leave_slot(trial, BLOCKED_NS);
}

void trial_kill(struct fleet_trial *trial, uint32_t host)
{
    enter_slot(trial, "kill");
    trial->table->kill(trial->fleet, host);
    leave_slot(trial, BLOCKED_NS);
}

/* --- What is told ----------------------------------------------------------------- */

static struct tried *find_told(struct fleet_trial *trial, uint32_t host,
                               const char *slot)
{
    if (!trial->polling) {
        trial_fail(trial, "%s() was called outside poll()", slot);
    }
    if (host >= trial->count || !trial->tried[host].launched) {
        trial_fail(trial, "%s() of host %u, where nothing was launched", slot, host);
    }
    if (trial->tried[host].ended) {
        trial_fail(trial, "%s() of host %u after its ended()", slot, host);
    }
    return &trial->tried[host];
}

static void take_up(void *context, uint32_t host)
{
    struct tried *tried = find_told(context, host, "up");
    if (tried->up) {
        trial_fail(context, "up() of host %u came twice", host);
    }
    tried->up = true;
}

static void take_ended(void *context, uint32_t host, enum moot_launcher_end how,
                       int status, const char *why)
{
    struct tried *tried = find_told(context, host, "ended");
    if (how != MOOT_LAUNCHER_REAPED && how != MOOT_LAUNCHER_UNREACHABLE) {
        trial_fail(context, "ended() of host %u is told as %d", host, (int)how);
    }
    if (why == NULL || strchr(why, '\n') != NULL) {
        trial_fail(context, "why of ended() of host %u is %s", host,
                   why == NULL ? "NULL" : "more than a line");
    }
    tried->ended = true;
    tried->how = how;
    tried->status = status;
    (void)snprintf(tried->why, sizeof(tried->why), "%s", why);
}

int trial_poll(struct fleet_trial *trial)
{
    const moot_launcher_receiver receiver = {
        .size = sizeof(receiver), .context = trial, .up = take_up, .ended = take_ended};
    enter_slot(trial, "poll");
    trial->polling = true;
    const int called = trial->table->poll(trial->fleet, &receiver);
    trial->polling = false;
    leave_slot(trial, BLOCKED_NS);
    if (called < 0) {
        trial_fail(trial, "poll(): %s: %s", moot_strerror(called), tell_fleet(trial));
    }
    return called;
}

bool trial_read(struct fleet_trial *trial, uint32_t host)
{
    struct tried *tried = &trial->tried[host];
    const size_t room = sizeof(tried->said) - 1 - tried->said_bytes;
    const ssize_t got = read(tried->link.from, tried->said + tried->said_bytes, room);
    if (got > 0) {
        tried->said_bytes += (size_t)got;
        tried->said[tried->said_bytes] = '\0';
    }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void rest_a_moment(void) { (void)poll(NULL, 0, 2); }

void trial_await_end(struct fleet_trial *trial, uint32_t host, int seconds)
{
    const struct tried *tried = &trial->tried[host];
    const uint64_t end_ns = trial_now_ns() + (uint64_t)seconds * 1000000000u;
    bool open = true;
    while (!tried->ended || open) {
        if (trial_poll(trial) == 0) {
            rest_a_moment();
        }
        open = open && trial_read(trial, host);
        if (trial_now_ns() > end_ns) {
            trial_fail(trial, "host %u: %s did not come in %d s; it said '%.100s'",
                       host, tried->ended ? "its stream's end" : "ended()", seconds,
                       tried->said);
        }
    }
}

void trial_await_word(struct fleet_trial *trial, uint32_t host, const char *word)
{
    const struct tried *tried = &trial->tried[host];
    const uint64_t end_ns = trial_now_ns() + UINT64_C(15000000000);
    while (strstr(tried->said, word) == NULL) {
        if (trial_poll(trial) == 0) {
            rest_a_moment();
        }
        (void)trial_read(trial, host);
        if (tried->ended || trial_now_ns() > end_ns) {
            trial_fail(trial, "host %u: its command did not say '%s'; %s%s%.200s", host,
                       word, tried->ended ? "it ended: " : "it said: ",
                       tried->ended ? tried->why : "", tried->said);
        }
    }
}

void trial_expect(struct fleet_trial *trial, uint32_t host, int status)
{
    const struct tried *tried = &trial->tried[host];
    if (tried->how != MOOT_LAUNCHER_REAPED || tried->status != status) {
        trial_fail(trial, "host %u: %s with status %d, not REAPED with %d: '%.300s'",
                   host, tried->how == MOOT_LAUNCHER_REAPED ? "REAPED" : "UNREACHABLE",
                   tried->status, status, tried->why);
    }
}

/* --- The parent ------------------------------------------------------------------- */

static void run_trial(const struct launcher_check *check, struct fleet_trial *trial,
                      pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    check->run(trial);
    _exit(0);
}

/* True: it ended well. */
static bool judge_trial(const struct launcher_card *card, int status, char *reason)
{
    const char *slot = atomic_load(&card->slot);
    if (*card->reason != '\0') {
        (void)snprintf(reason, REASON_BYTES, "%s", card->reason);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(reason, REASON_BYTES, "died of signal %d (%s) in %s()",
                       WTERMSIG(status), strsignal(WTERMSIG(status)),
                       slot != NULL ? slot : "no slot");
    } else if (WEXITSTATUS(status) != 0) {
        (void)snprintf(reason, REASON_BYTES, "ended with status %d in %s()",
                       WEXITSTATUS(status), slot != NULL ? slot : "no slot");
    }
    return *reason == '\0';
}

bool launcher_check_run(const struct launcher_check *check, const moot_launcher *table,
                        const char *options, const char *hosts, char *reason)
{
    const pid_t parent = getpid();
    const uint64_t began_ns = trial_now_ns();
    int status = 0;
    struct launcher_card *card = mmap(NULL, sizeof(*card), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct fleet_trial *trial = calloc(1, sizeof(*trial));
    *reason = '\0';
    if (card == MAP_FAILED || trial == NULL) {
        (void)snprintf(reason, REASON_BYTES, "no memory for the check");
        free(trial);
        return false;
    }
    *trial = (struct fleet_trial){
        .table = table, .options = options, .hosts = hosts, .card = card};
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        run_trial(check, trial, parent);
    }
    while (child > 0 && waitpid(child, &status, WNOHANG) != child) {
        const uint64_t passed_ns = trial_now_ns() - began_ns;
        if (passed_ns > (uint64_t)check->seconds * 1000000000u) {
            const char *slot = atomic_load(&card->slot);
            (void)snprintf(reason, REASON_BYTES, "not done in %d s%s%s%s",
                           check->seconds, slot != NULL ? ": it is in " : "",
                           slot != NULL ? slot : "", slot != NULL ? "()" : "");
            (void)kill(child, SIGKILL);
            (void)waitpid(child, &status, 0);
            break;
        }
        rest_a_moment();
    }
    if (child < 0) {
        (void)snprintf(reason, REASON_BYTES, "no process for the check");
    }
    const bool well = *reason == '\0' && judge_trial(card, status, reason);
    free(trial);
    (void)munmap(card, sizeof(*card));
    return well;
}
