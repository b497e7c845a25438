/* commands.c - see commands.h. */
#include "node/launchers/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES = 1024,
    FILES_EACH = 4,
    FILES_SPARE = 64,
    SHELL_SIGNAL = 128,
    LOST_STATUS = 255,
    READS_MAX = 64,
    EVENTS = 64,
    EASY_MS = 1500, /* to end by itself, */
    TERM_MS = 3000, /* until SIGKILL */
    LAST_MS = 4000
};

struct command {
    pid_t pid; /* and its group; 0: none was started, */
    bool reaped;
    int to, from, error, process; /* -1: none */
    bool up, up_told, ended_told, struck;
    int status;
    char line[LINE_BYTES]; /* of standard error, until its end comes */
    size_t line_bytes;
    bool signalled;       /* from here */
    char why[LINE_BYTES]; /* the last line that was one */
};

struct commands {
    struct commands_plan plan;
    struct command *items;
    int wakes;      /* the descriptor */
    bool sees_ends; /* each end makes it readable */
    pid_t self;
    struct rlimit files; /* as it was */
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* --- Starting --------------------------------------------------------------------- */

/* Each command's pipes are open files here. */
static void raise_files(struct commands *c)
{
    const rlim_t want = (rlim_t)c->plan.count * FILES_EACH + FILES_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &c->files) == 0 && c->files.rlim_cur < want) {
        struct rlimit more = c->files;
        more.rlim_cur = want < more.rlim_max ? want : more.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &more);
    }
}

struct commands *commands_new(const struct commands_plan *plan)
{
    struct commands *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->plan = *plan;
    c->self = getpid();
    c->sees_ends = true;
    c->wakes = epoll_create1(EPOLL_CLOEXEC);
    c->items = calloc(plan->count, sizeof(*c->items));
    if (c->items == NULL || c->wakes < 0) {
        close_end(&c->wakes);
        free(c->items);
        free(c);
        return NULL;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        struct command *item = &c->items[i];
        item->to = item->from = item->error = item->process = -1;
    }
    raise_files(c);
    return c;
}

/* In the child, which becomes the command or says why not.  Handlers and the mask of
 * signals are what a program expects. */
static void become_command(const struct commands *c, char *const argv[], int input,
                           int output, int error)
{
    sigset_t none;
    (void)setpgid(0, 0);
    (void)setrlimit(RLIMIT_NOFILE, &c->files);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(error, STDERR_FILENO) < 0) {
        _exit(SHELL_SIGNAL - 1);
    }
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGKILL && number != SIGSTOP) {
            (void)signal(number, SIG_DFL);
        }
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (c->plan.death_signal != 0) {
        (void)prctl(PR_SET_PDEATHSIG, c->plan.death_signal);
        if (getppid() != c->self) {
            _exit(SHELL_SIGNAL - 1);
        }
    }
    (void)execvp(argv[0], argv);
    (void)dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(SHELL_SIGNAL - 1);
}

/* Where this process has no standard streams, a pipe may come to stand in their place.
 */
static bool lift_end(int *end)
{
    if (*end > STDERR_FILENO) {
        return true;
    }
    const int low = *end;
    *end = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)close(low);
    return *end >= 0;
}

/* Six ends: what the process reads and we write, and so on, for its three streams. */
static bool make_pipes(int ends[6])
{
    for (int i = 0; i < 6; i += 2) {
        if (pipe2(ends + i, O_CLOEXEC) != 0 || !lift_end(&ends[i]) ||
            !lift_end(&ends[i + 1])) {
            const int why = errno;
            while (--i >= 0) {
                (void)close(ends[i]);
            }
            errno = why;
            return false;
        }
    }
    return true;
}

static void watch_command(struct commands *c, struct command *item, uint32_t host)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = host};
    item->process = pidfd_open(item->pid, 0);
    if (item->process < 0 ||
        epoll_ctl(c->wakes, EPOLL_CTL_ADD, item->process, &event) != 0 ||
        epoll_ctl(c->wakes, EPOLL_CTL_ADD, item->error, &event) != 0) {
        c->sees_ends = false; /* a system without these descriptors */
    }
}

int commands_start(struct commands *c, uint32_t host, char *const argv[], char *story,
                   size_t story_size)
{
    int ends[6];
    struct command *item = &c->items[host];
    if (item->pid != 0) {
        (void)snprintf(story, story_size, "%s: a command was started there already",
                       c->plan.hosts[host].name);
        return MOOT_ERR_INVALID;
    }
    if (!make_pipes(ends)) {
        (void)snprintf(story, story_size, "%s: no pipes for %s: %s",
                       c->plan.hosts[host].name, argv[0], strerror(errno));
        return MOOT_ERR_TRANSPORT;
    }
    const pid_t child = fork();
    if (child == 0) {
        become_command(c, argv, ends[0], ends[3], ends[5]);
    }
    (void)close(ends[0]);
    (void)close(ends[3]);
    (void)close(ends[5]);
    if (child < 0) {
        (void)snprintf(story, story_size, "%s: no process for %s: %s",
                       c->plan.hosts[host].name, argv[0], strerror(errno));
        (void)close(ends[1]);
        (void)close(ends[2]);
        (void)close(ends[4]);
        return MOOT_ERR_TRANSPORT;
    }
    (void)setpgid(child, child); /* whoever comes first */
    item->pid = child;
    item->to = ends[1];
    item->from = ends[2];
    item->error = ends[4];
    (void)fcntl(item->error, F_SETFL, O_NONBLOCK);
    watch_command(c, item, host);
    return MOOT_OK;
}

int commands_connect(const struct commands *c, uint32_t host, moot_launcher_link *out)
{
    const struct command *item = &c->items[host];
    if (item->pid == 0) {
        return MOOT_ERR_INVALID;
    }
    out->to = item->to;
    out->from = item->from;
    return MOOT_OK;
}

/* --- What it says ----------------------------------------------------------------- */

static bool has_room(void)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) != 0;
}

/* A line, without its end, is an event, a word to be passed on, or a reason. */
static void take_line(const struct commands *c, struct command *item, uint32_t host)
{
    while (item->line_bytes > 0 && item->line[item->line_bytes - 1] == '\r') {
        item->line_bytes--; /* ssh's own words have one */
    }
    item->line[item->line_bytes] = '\0';
    if (c->plan.is_idle != NULL && c->plan.is_idle(item->line, item->signalled)) {
        item->line_bytes = 0;
        return;
    }
    if (!item->up && strcmp(item->line, COMMANDS_UP) == 0) {
        item->up = true;
        *item->why = '\0';
    } else if (item->line_bytes > 0) {
        memcpy(item->why, item->line, item->line_bytes + 1);
    }
    if (item->up && strcmp(item->line, COMMANDS_UP) != 0) {
        char told[MOOT_LAUNCHER_NAME_BYTES + LINE_BYTES + 4];
        const int bytes = snprintf(told, sizeof(told), "%s: %s\n",
                                   c->plan.hosts[host].name, item->line);
        if (write(STDERR_FILENO, told, (size_t)bytes) < 0) {
            /* Nobody reads it any more. */
        }
    }
    item->line_bytes = 0;
}

/* Takes what has come on standard error; `last`: no more will, and none is kept. */
static void read_error(struct commands *c, struct command *item, uint32_t host,
                       bool last)
{
    char bytes[LINE_BYTES];
    for (int i = 0; i < READS_MAX && item->error >= 0 && (last || has_room()); i++) {
        const ssize_t got = read(item->error, bytes, sizeof(bytes));
        if (got == 0) {
            close_end(&item->error);
        }
        if (got <= 0) {
            break;
        }
        for (ssize_t at = 0; at < got; at++) {
            if (bytes[at] == '\n' || item->line_bytes == LINE_BYTES - 1) {
                take_line(c, item, host);
            }
            if (bytes[at] != '\n') {
                item->line[item->line_bytes++] = bytes[at];
            }
        }
    }
    if (last && item->line_bytes > 0) {
        take_line(c, item, host);
    }
    if (last) {
        close_end(&item->error);
    }
}

/* Processes that it has started in its group go with it, while its number is not
 * anybody's. */
static void reap_command(struct command *item)
{
    siginfo_t info = {0};
    int status = 0;
    if (item->pid == 0 || item->reaped) {
        return;
    }
    if (waitid(P_PID, (id_t)item->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        item->reaped = errno == ECHILD; /* somebody else took it: SIGCHLD is ignored */
        item->status = LOST_STATUS;
    } else if (info.si_pid == item->pid) {
        (void)kill(-item->pid, SIGKILL);
        item->reaped = waitpid(item->pid, &status, WNOHANG) == item->pid;
        item->status =
            WIFEXITED(status) ? WEXITSTATUS(status) : SHELL_SIGNAL + WTERMSIG(status);
    }
    if (item->reaped) {
        close_end(&item->process);
    }
}

static void tell_end(const struct commands *c, struct command *item, uint32_t host,
                     const moot_launcher_receiver *receiver)
{
    /* A process that a signal ended here cannot tell how its command did.  One that
     * failed by itself has a low status; a command that was killed right at its start
     * may not have come to say that it is up. */
    const bool own = !item->struck && item->status != c->plan.lost_status &&
                     (item->up || item->status >= SHELL_SIGNAL - 1);
    const char *advice =
        !item->up && c->plan.advise != NULL ? c->plan.advise(item->why) : NULL;
    size_t length = strlen(item->why);
    length -= advice != NULL && length > 0 && item->why[length - 1] == '.';
    char why[2 * LINE_BYTES];
    (void)snprintf(why, sizeof(why), "%.*s%s%s", (int)length, item->why,
                   advice != NULL ? ": " : "", advice != NULL ? advice : "");
    item->ended_told = true;
    receiver->ended(receiver->context, host,
                    own ? MOOT_LAUNCHER_REAPED : MOOT_LAUNCHER_UNREACHABLE,
                    item->status, item->status == 0 ? "" : why);
}

/* Moves one along; how many handlers it called. */
static int poll_command(struct commands *c, uint32_t host,
                        const moot_launcher_receiver *receiver)
{
    struct command *item = &c->items[host];
    int called = 0;
    if (item->pid == 0 || item->ended_told) {
        return 0;
    }
    reap_command(item);
    read_error(c, item, host, item->reaped);
    if (item->up && !item->up_told) {
        item->up_told = true;
        called++;
        receiver->up(receiver->context, host);
    }
    if (item->reaped) {
        called++;
        tell_end(c, item, host, receiver);
    }
    return called;
}

int commands_poll(struct commands *c, const moot_launcher_receiver *receiver)
{
    struct epoll_event events[EVENTS];
    int called = 0;
    if (c->sees_ends) {
        const int count = epoll_wait(c->wakes, events, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            called += poll_command(c, events[i].data.u32, receiver);
        }
        return called;
    }
    for (uint32_t i = 0; i < c->plan.count; i++) {
        called += poll_command(c, i, receiver);
    }
    return called;
}

int commands_descriptor(const struct commands *c)
{
    return c->sees_ends ? c->wakes : -1;
}

/* --- Ending ----------------------------------------------------------------------- */

void commands_signal(struct commands *c, uint32_t host, int number)
{
    struct command *item = &c->items[host];
    if (item->pid != 0 && !item->reaped) {
        item->signalled = true;
        (void)kill(number == SIGKILL ? -item->pid : item->pid, number);
    }
}

/* True: none runs any more. */
static bool reap_all(struct commands *c, int number)
{
    bool gone = true;
    for (uint32_t i = 0; i < c->plan.count; i++) {
        struct command *item = &c->items[i];
        reap_command(item);
        if (item->pid == 0) {
            continue;
        }
        /* A full pipe must not keep it; its words come out as before. */
        read_error(c, item, i, item->reaped);
        gone &= item->reaped;
        if (number != 0) {
            commands_signal(c, i, number);
        }
    }
    return gone;
}

void commands_free(struct commands *c)
{
    if (c == NULL) {
        return;
    }
    for (uint32_t i = 0; i < c->plan.count; i++) {
        close_end(&c->items[i].to);
        close_end(&c->items[i].from);
    }
    const int64_t began_ms = now_ms();
    bool terminated = false;
    while (!reap_all(c, 0)) {
        const int64_t passed_ms = now_ms() - began_ms;
        if (passed_ms > LAST_MS) {
            break; /* in a call of the kernel's that does not end */
        }
        if (passed_ms > TERM_MS) {
            (void)reap_all(c, SIGKILL);
        } else if (passed_ms > EASY_MS && !terminated) {
            terminated = true;
            (void)reap_all(c, SIGTERM);
        }
        (void)poll(NULL, 0, 5);
    }
    for (uint32_t i = 0; i < c->plan.count; i++) {
        close_end(&c->items[i].error);
        close_end(&c->items[i].process);
    }
    close_end(&c->wakes);
    free(c->items);
    free(c);
}

/* --- Questions -------------------------------------------------------------------- */

/* Keeps what has room. */
static bool read_some(int fd, char *text, size_t size)
{
    char bytes[LINE_BYTES];
    const size_t used = strlen(text);
    const ssize_t got = read(fd, bytes, sizeof(bytes));
    const size_t take = got <= 0                        ? 0
                        : (size_t)got < size - 1 - used ? (size_t)got
                                                        : size - 1 - used;
    memcpy(text + used, bytes, take);
    text[used + take] = '\0';
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Leaves its last line that is not empty. */
static void keep_last_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr("\r\n ", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    const char *end = strrchr(text, '\n');
    if (end != NULL) {
        memmove(text, end + 1, strlen(end + 1) + 1);
    }
}

int commands_ask(char *const argv[], char *output, size_t size, char *error,
                 size_t error_size)
{
    struct commands own = {.self = getpid(), .plan.death_signal = SIGKILL};
    int ends[6], status = 0;
    *output = *error = '\0';
    (void)getrlimit(RLIMIT_NOFILE, &own.files);
    const pid_t child = make_pipes(ends) ? fork() : -1;
    if (child == 0) {
        become_command(&own, argv, ends[0], ends[3], ends[5]);
    }
    if (child < 0) {
        (void)snprintf(error, error_size, "%s: %s", argv[0], strerror(errno));
        return SHELL_SIGNAL - 1;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(ends[3]);
    (void)close(ends[5]);
    struct pollfd streams[] = {{.fd = ends[2], .events = POLLIN},
                               {.fd = ends[4], .events = POLLIN}};
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        if (poll(streams, 2, -1) <= 0) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            if (streams[i].revents != 0 &&
                !read_some(streams[i].fd, i == 0 ? output : error,
                           i == 0 ? size : error_size)) {
                streams[i].fd = -1;
            }
        }
    }
    (void)close(ends[2]);
    (void)close(ends[4]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        ;
    }
    keep_last_line(error);
    return WIFEXITED(status) ? WEXITSTATUS(status) : SHELL_SIGNAL + WTERMSIG(status);
}

bool commands_find(const char *name, char *out, size_t size)
{
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : ""; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        const int bytes = snprintf(out, size, "%.*s/%s", (int)length, at, name);
        if (length > 0 && bytes > 0 && (size_t)bytes < size && access(out, X_OK) == 0) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}
