/* launcher_exec.c - a launcher of one's own: runs a command line of yours for each
 * host.
 *
 *     cc -shared -fPIC launcher_exec.c -o launcher_exec.so $(pkg-config --cflags moot)
 *     moot check-launcher "./launcher_exec.so:ip netns exec %h" --hosts a,b
 *     moot run --launcher "./launcher_exec.so:ip netns exec %h" --hosts a:2,b:2 PROGRAM
 *
 * The options are words with blanks between, in which %h stands for the host's name;
 * the command that moot wants there follows them.  `docker exec -i %h` would do, too.
 * Without options the command runs on this host, under each name.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <moot_launcher.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOSTS = 256, WORDS = 64 };

struct host {
    char name[MOOT_LAUNCHER_NAME_BYTES];
    uint32_t slots;
    pid_t pid; /* and its process group; 0: nothing was started */
    int stream;
    int told_up, ended;
};

struct moot_fleet {
    struct host hosts[HOSTS];
    uint32_t count;
    char options[1024];
    char story[256];
};

static int refuse(char *story, size_t size, const char *word, const char *why)
{
    snprintf(story, size, "exec: '%s': %s", word, why);
    return MOOT_ERR_CONFIG;
}

/* NAME[:SLOTS] */
static int take_host(moot_fleet *fleet, char *word, char *story, size_t size)
{
    char *colon = strchr(word, ':'), *end = word + strlen(word);
    const unsigned long slots = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (colon == word || strlen(word) >= MOOT_LAUNCHER_NAME_BYTES) {
        return refuse(story, size, word, "it has no name of a host");
    }
    if (colon && (slots == 0 || slots > 65536 || *end != '\0')) {
        return refuse(story, size, word, "slots are a number, as in a:2");
    }
    if (fleet->count == HOSTS) {
        return refuse(story, size, word, "this is one host too many");
    }
    struct host *host = &fleet->hosts[fleet->count++];
    snprintf(host->name, sizeof(host->name), "%.*s",
             (int)(colon ? colon - word : (long)strlen(word)), word);
    host->slots = (uint32_t)slots;
    host->stream = -1;
    return MOOT_OK;
}

static int exec_open(const moot_launcher_setup *setup, moot_fleet **out, char *story,
                     size_t size)
{
    moot_fleet *fleet = calloc(1, sizeof(*fleet));
    char *list = strdup(setup->hosts), *rest = list;
    int code = fleet && list ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    if (code == MOOT_OK && strlen(setup->options) >= sizeof(fleet->options)) {
        code = refuse(story, size, setup->options, "these options are too long");
    }
    while (code == MOOT_OK && rest) {
        char *word = strsep(&rest, ",");
        if (*word) {
            code = take_host(fleet, word, story, size);
        }
    }
    if (code == MOOT_OK && fleet->count == 0) {
        code = refuse(story, size, setup->hosts, "no hosts: --hosts a,b names some");
    }
    free(list);
    if (code != MOOT_OK) {
        free(fleet);
        return code;
    }
    memcpy(fleet->options, setup->options, strlen(setup->options) + 1);
    *out = fleet;
    return MOOT_OK;
}

static uint32_t exec_hosts(const moot_fleet *fleet) { return fleet->count; }

static int exec_host(const moot_fleet *fleet, uint32_t index, moot_launcher_host *out)
{
    if (index >= fleet->count) {
        return MOOT_ERR_INVALID;
    }
    memcpy(out->name, fleet->hosts[index].name, sizeof(out->name));
    memcpy(out->address, fleet->hosts[index].name, sizeof(out->address));
    out->slots = fleet->hosts[index].slots;
    return MOOT_OK;
}

/* In the child: the options' words, with the host in the place of %h, and the command.
 * The process dies with moot, and takes no descriptor of moot's along. */
static void become(moot_fleet *fleet, const struct host *host, int stream,
                   char *const argv[], pid_t parent)
{
    char text[4096] = "", *words[WORDS + 1], *rest = text, *word;
    size_t used = 0;
    int count = 0;
    for (const char *at = fleet->options; *at && used < sizeof(text) - 300; at++) {
        if (at[0] == '%' && at[1] == 'h') {
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s", host->name);
            at++;
        } else {
            text[used++] = *at;
        }
    }
    while ((word = strsep(&rest, " ")) && count < WORDS) {
        if (*word) {
            words[count++] = word;
        }
    }
    for (int i = 0; argv[i] && count < WORDS; i++) {
        words[count++] = argv[i];
    }
    words[count] = NULL;
    setpgid(0, 0);
    dup2(stream, STDIN_FILENO);
    dup2(stream, STDOUT_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (count == 0 || getppid() != parent) {
        _exit(127);
    }
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "%s: %s: %s\n", host->name, words[0], strerror(errno));
    _exit(127);
}

static int exec_launch(moot_fleet *fleet, uint32_t index, char *const argv[])
{
    struct host *host = &fleet->hosts[index];
    const pid_t parent = getpid();
    int ends[2];
    if (index >= fleet->count || host->pid != 0) {
        snprintf(fleet->story, sizeof(fleet->story), "exec: no host, or started");
        return MOOT_ERR_INVALID;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        snprintf(fleet->story, sizeof(fleet->story), "exec: %s", strerror(errno));
        return MOOT_ERR_TRANSPORT;
    }
    host->pid = fork();
    if (host->pid == 0) {
        become(fleet, host, ends[1], argv, parent);
    }
    close(ends[1]);
    if (host->pid < 0) {
        snprintf(fleet->story, sizeof(fleet->story), "exec: %s", strerror(errno));
        host->pid = 0;
        close(ends[0]);
        return MOOT_ERR_TRANSPORT;
    }
    setpgid(host->pid, host->pid);
    host->stream = ends[0];
    return MOOT_OK;
}

static int exec_connect(moot_fleet *fleet, uint32_t index, moot_launcher_link *out)
{
    if (index >= fleet->count || fleet->hosts[index].pid == 0) {
        snprintf(fleet->story, sizeof(fleet->story), "exec: nothing is started there");
        return MOOT_ERR_INVALID;
    }
    out->to = out->from = fleet->hosts[index].stream;
    return MOOT_OK;
}

/* Whether it has ended; what it left in its group ends with it. */
static int reap(struct host *host, int *status)
{
    siginfo_t info = {0};
    if (host->pid == 0 || host->ended ||
        waitid(P_PID, (id_t)host->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
        return 0;
    }
    kill(-host->pid, SIGKILL);
    waitpid(host->pid, status, 0);
    host->ended = 1;
    return 1;
}

static int exec_poll(moot_fleet *fleet, const moot_launcher_receiver *receiver)
{
    int called = 0, status;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct host *host = &fleet->hosts[i];
        if (host->pid != 0 && !host->told_up) {
            host->told_up = 1;
            called++;
            receiver->up(receiver->context, i);
        }
        if (reap(host, &status)) {
            called++;
            receiver->ended(
                receiver->context, i, MOOT_LAUNCHER_REAPED,
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "");
        }
    }
    return called;
}

static void exec_interrupt(moot_fleet *fleet, uint32_t index, int signal)
{
    if (index < fleet->count && fleet->hosts[index].pid != 0 &&
        !fleet->hosts[index].ended) {
        kill(fleet->hosts[index].pid, signal);
    }
}

static void exec_kill(moot_fleet *fleet, uint32_t index)
{
    if (index < fleet->count && fleet->hosts[index].pid != 0 &&
        !fleet->hosts[index].ended) {
        kill(-fleet->hosts[index].pid, SIGKILL);
    }
}

static const char *exec_story(const moot_fleet *fleet) { return fleet->story; }

/* Commands that read to the end of their input have a second to end by themselves. */
static void exec_finalise(moot_fleet *fleet)
{
    int status, left = 1;
    for (uint32_t i = 0; i < fleet->count; i++) {
        if (fleet->hosts[i].pid != 0) {
            close(fleet->hosts[i].stream);
        }
    }
    for (int tries = 0; left && tries < 400; tries++) {
        left = 0;
        for (uint32_t i = 0; i < fleet->count; i++) {
            left |= fleet->hosts[i].pid != 0 && !fleet->hosts[i].ended &&
                    !reap(&fleet->hosts[i], &status);
            if (tries > 100) {
                exec_kill(fleet, i);
            }
        }
        poll(NULL, 0, left ? 10 : 0);
    }
    free(fleet);
}

const moot_launcher moot_launcher_table = {
    .version = MOOT_LAUNCHER_VERSION,
    .size = sizeof(moot_launcher),
    .name = "exec",
    .open = exec_open,
    .hosts = exec_hosts,
    .host = exec_host,
    .launch = exec_launch,
    .connect = exec_connect,
    .poll = exec_poll,
    .interrupt = exec_interrupt,
    .kill = exec_kill,
    .story = exec_story,
    .finalise = exec_finalise,
};
