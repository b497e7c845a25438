/* launcher_check_rows.c - the checks of `moot check-launcher`.
 *
 * A slot's contract stands in moot_launcher.h; each check holds a table against a part
 * of it.  Their commands are small scripts for sh, so hosts need no moot.
 */
#include "node/cli/launcher_check.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { END_S = 15 };
#define MS UINT64_C(1000000)

static uint32_t last_host(const struct fleet_trial *trial) { return trial->count - 1; }

/* --- Hosts ------------------------------------------------------------------------ */

static void describe_host(struct fleet_trial *trial, uint32_t host)
{
    moot_launcher_host out;
    memset(&out, 'x', sizeof(out));
    out.size = sizeof(out);
    const int code = trial->table->host(trial->fleet, host, &out);
    if (code != MOOT_OK) {
        trial_fail(trial, "host(%u): %s", host, moot_strerror(code));
    }
    if (memchr(out.name, '\0', sizeof(out.name)) == NULL || *out.name == '\0' ||
        memchr(out.address, '\0', sizeof(out.address)) == NULL ||
        *out.address == '\0') {
        trial_fail(trial, "host(%u) has no name, or no address", host);
    }
    for (const char *at = out.name; *at != '\0'; at++) {
        if (!isprint((unsigned char)*at)) {
            trial_fail(trial, "the name of host(%u) is not to be printed", host);
        }
    }
}

static int count_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count;
}

static void run_opening(struct fleet_trial *trial)
{
    const int files = count_files();
    for (int i = 0; i < 3; i++) {
        trial_open(trial);
        const uint32_t count = trial->table->hosts(trial->fleet);
        for (uint32_t host = 0; host < count; host++) {
            describe_host(trial, host);
        }
        moot_launcher_host none = {.size = sizeof(none)};
        if (trial->table->host(trial->fleet, count, &none) == MOOT_OK) {
            trial_fail(trial, "host(%u) is one more than there are, and is described",
                       count);
        }
        if (trial_poll(trial) != 0) {
            trial_fail(trial, "poll() called somebody, and nothing was launched");
        }
        if (trial->table->hosts(trial->fleet) != count) {
            trial_fail(trial, "hosts() was %u, and has changed", count);
        }
        trial_finalise(trial);
    }
    if (count_files() > files) {
        trial_fail(trial, "finalise() left %d descriptors open", count_files() - files);
    }
}

static void run_bad_hosts(struct fleet_trial *trial)
{
    static const char *const lists[] = {"a:x", "a:0", ":2", "a:2:3"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        char story[REASON_BYTES];
        moot_fleet *const before = (moot_fleet *)(void *)story;
        moot_fleet *fleet = before;
        const int code = trial_try_open(trial, lists[i], &fleet, story);
        if (code == MOOT_OK) {
            trial_fail(trial, "open() took the hosts '%s'", lists[i]);
        }
        if (code > 0 || fleet != before) {
            trial_fail(trial, "open() refused the hosts '%s' by %d, and %s", lists[i],
                       code, fleet != before ? "set *out" : "an error is negative");
        }
        if (*story == '\0' || strchr(story, '\n') != NULL) {
            trial_fail(trial, "open() refused the hosts '%s' without a line of why",
                       lists[i]);
        }
    }
}

/* --- Streams ---------------------------------------------------------------------- */

static unsigned char echo_byte(size_t at)
{
    const uint32_t mixed = (uint32_t)(at / 256) * 2654435761u;
    return (unsigned char)((at % 256) ^ (mixed >> 24) ^ (at / 256 % 7 == 0 ? 0 : at));
}

/* Sends what `head -c` gives back, with pauses of the reader, and compares. */
static void echo_bytes(struct fleet_trial *trial, uint32_t host, size_t size)
{
    unsigned char *bytes = malloc(size), *back = malloc(size + 1);
    size_t sent = 0, got = 0;
    const struct tried *tried = &trial->tried[host];
    uint64_t moved_ns = trial_now_ns();
    for (size_t i = 0; bytes != NULL && i < size; i++) {
        bytes[i] = echo_byte(i);
    }
    while (bytes != NULL && back != NULL && got <= size) {
        const ssize_t out =
            sent < size ? write(tried->link.to, bytes + sent, size - sent) : 0;
        const ssize_t in = read(tried->link.from, back + got, size + 1 - got);
        sent += out > 0 ? (size_t)out : 0;
        got += in > 0 ? (size_t)in : 0;
        moved_ns = out > 0 || in > 0 ? trial_now_ns() : moved_ns;
        if (in == 0 || trial_now_ns() - moved_ns > 10000 * MS) {
            break;
        }
        if (trial_poll(trial) == 0 && in < 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    for (int i = 0; got < size && !tried->ended && i < 1000; i++) {
        (void)trial_poll(trial);
        (void)poll(NULL, 0, 2);
    }
    if (got < size && tried->ended) { /* then that is why */
        trial_expect(trial, host, 0);
    }
    if (got != size) {
        trial_fail(trial, "host %u: of %zu bytes, %zu were taken and %zu came back",
                   host, size, sent, got);
    }
    for (size_t i = 0; i < size; i++) {
        if (back[i] != bytes[i]) {
            trial_fail(trial,
                       "host %u: byte %zu was 0x%02x and came back as 0x%02x: the "
                       "stream is to be unchanged",
                       host, i, bytes[i], back[i]);
        }
    }
    free(bytes);
    free(back);
}

static void run_echo(struct fleet_trial *trial)
{
    char script[64];
    (void)snprintf(script, sizeof(script), "head -c %d", ECHO_BYTES);
    trial_open(trial);
    trial_script(trial, last_host(trial), script);
    echo_bytes(trial, last_host(trial), ECHO_BYTES);
    trial_await_end(trial, last_host(trial), END_S);
    trial_expect(trial, last_host(trial), 0);
    if (!trial->tried[last_host(trial)].up) {
        trial_fail(trial, "up() did not come before ended(), of a command that ran");
    }
    trial_finalise(trial);
}

/* Reads nothing for a while, then counts. */
static void run_slow_reader(struct fleet_trial *trial)
{
    static char bytes[65536];
    const struct tried *tried = &trial->tried[0];
    size_t got = 0;
    trial_open(trial);
    trial_script(trial, 0, "head -c 3000000 /dev/zero; printf end");
    for (const uint64_t end_ns = trial_now_ns() + 1500 * MS; trial_now_ns() < end_ns;) {
        (void)trial_poll(trial);
        (void)poll(NULL, 0, 5);
    }
    for (const uint64_t end_ns = trial_now_ns() + 20000 * MS;;) {
        const ssize_t in = read(tried->link.from, bytes, sizeof(bytes));
        got += in > 0 ? (size_t)in : 0;
        if (in == 0 || trial_now_ns() > end_ns) {
            break;
        }
        if (in < 0) {
            (void)poll(NULL, 0, 1);
        }
        (void)trial_poll(trial);
    }
    if (got != 3000003) {
        trial_fail(trial, "of 3000003 bytes %zu came to a slow reader", got);
    }
    trial_await_end(trial, 0, END_S);
    trial_expect(trial, 0, 0);
    trial_finalise(trial);
}

/* The last bytes of a command that has ended long ago still come. */
static void run_late_reader(struct fleet_trial *trial)
{
    trial_open(trial);
    trial_script(trial, 0, "printf 'the last words'; exit 5");
    for (const uint64_t end_ns = trial_now_ns() + END_S * 1000 * MS;
         !trial->tried[0].ended && trial_now_ns() < end_ns;) {
        (void)trial_poll(trial);
        (void)poll(NULL, 0, 2);
    }
    (void)poll(NULL, 0, 100);
    trial_await_end(trial, 0, END_S);
    if (strcmp(trial->tried[0].said, "the last words") != 0) {
        trial_fail(trial, "after ended(), '%.60s' was read and not the last words",
                   trial->tried[0].said);
    }
    trial_expect(trial, 0, 5);
    trial_finalise(trial);
}

static void run_words(struct fleet_trial *trial)
{
    static char words[][40] = {"sh",
                               "-c",
                               "for w; do printf '<%s>' \"$w\"; done",
                               "-",
                               "two words",
                               "it's \"quoted\"",
                               "$HOME `x` $(x) * ~ ;",
                               "",
                               "back\\slash",
                               "line\nline",
                               "%h %%",
                               "-n"};
    enum { WORDS = sizeof(words) / sizeof(*words) };
    char *argv[WORDS + 1] = {NULL}, due[512] = "";
    for (int i = 0; i < WORDS; i++) {
        argv[i] = words[i];
        if (i > 3) {
            const size_t used = strlen(due);
            (void)snprintf(due + used, sizeof(due) - used, "<%s>", words[i]);
        }
    }
    trial_open(trial);
    trial_launch(trial, 0, argv);
    trial_await_end(trial, 0, END_S);
    if (strcmp(trial->tried[0].said, due) != 0) {
        trial_fail(trial, "the command got %.200s, not %s", trial->tried[0].said, due);
    }
    trial_expect(trial, 0, 0);
    trial_finalise(trial);
}

/* --- Ends ------------------------------------------------------------------------- */

static void run_statuses(struct fleet_trial *trial)
{
    static const struct {
        const char *script;
        int status;
    } rows[] = {
        {"exit 0", 0}, {"exit 7", 7}, {"kill -9 $$", 137}, {"kill -15 $$", 143}};
    enum { ROWS = sizeof(rows) / sizeof(*rows) };
    for (uint32_t done = 0; done < ROWS;) {
        trial_open(trial);
        uint32_t now = 0;
        for (; now < trial->count && done + now < ROWS; now++) {
            trial_script(trial, now, rows[done + now].script);
        }
        for (uint32_t host = 0; host < now; host++) {
            trial_await_end(trial, host, END_S);
            trial_expect(trial, host, rows[done + host].status);
        }
        done += now;
        trial_finalise(trial);
    }
}

/* Standard error of this process is a file meanwhile. */
static void run_error(struct fleet_trial *trial)
{
    char told[4096] = "";
    FILE *file = tmpfile();
    trial_open(trial);
    if (file == NULL || dup2(fileno(file), STDERR_FILENO) < 0) {
        trial_fail(trial, "no file for standard error: %s", strerror(errno));
    }
    trial_script(trial, 0, "echo a complaint of the command >&2; exit 3");
    trial_await_end(trial, 0, END_S);
    trial_expect(trial, 0, 3);
    trial_finalise(trial);
    rewind(file);
    told[fread(told, 1, sizeof(told) - 1, file)] = '\0';
    if (strstr(told, "a complaint of the command") == NULL &&
        strstr(trial->tried[0].why, "a complaint of the command") == NULL) {
        trial_fail(trial,
                   "what a command writes on standard error comes out neither on "
                   "this process's, nor in why");
    }
    if (strstr(trial->tried[0].said, "complaint") != NULL) {
        trial_fail(trial, "standard error of the command is in its stream");
    }
}

static void run_missing(struct fleet_trial *trial)
{
    static char none[] = "moot-no-such-command", word[] = "agent";
    char *argv[] = {none, word, NULL}, told[4096] = "";
    FILE *file = tmpfile();
    trial_open(trial);
    if (file == NULL || dup2(fileno(file), STDERR_FILENO) < 0) {
        trial_fail(trial, "no file for standard error: %s", strerror(errno));
    }
    trial_launch(trial, 0, argv);
    trial_await_end(trial, 0, END_S);
    trial_expect(trial, 0, 127);
    trial_finalise(trial);
    rewind(file);
    told[fread(told, 1, sizeof(told) - 1, file)] = '\0';
    if (strstr(told, none) == NULL && strstr(trial->tried[0].why, none) == NULL) {
        trial_fail(trial,
                   "neither why nor standard error names a command that is not "
                   "there: '%.200s'",
                   trial->tried[0].why);
    }
}

static void run_interrupt(struct fleet_trial *trial)
{
    trial_open(trial);
    trial_interrupt(trial, 0, SIGTERM); /* nothing was started: nothing happens */
    trial_script(trial, last_host(trial),
                 "trap 'exit 9' INT TERM; echo ready; while :; do sleep 0.1; done");
    trial_await_word(trial, last_host(trial), "ready");
    trial_interrupt(trial, last_host(trial), SIGTERM);
    trial_await_end(trial, last_host(trial), END_S);
    trial_interrupt(trial, last_host(trial), SIGINT);
    trial_finalise(trial);
}

/* --- Nothing stays ---------------------------------------------------------------- */

/* The process number that a host's command has said. */
static long read_number(struct fleet_trial *trial, uint32_t host, const char *key)
{
    trial_await_word(trial, host, ".");
    const char *at = strstr(trial->tried[host].said, key);
    const long number = at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
    if (number <= 0) {
        trial_fail(trial, "host %u: its command said '%.60s'", host,
                   trial->tried[host].said);
    }
    return number;
}

/* Asks by another fleet whether they are gone from that host; zombies count as gone. */
static void expect_gone(struct fleet_trial *trial, uint32_t host, long one, long other,
                        const char *after)
{
    char script[512];
    (void)snprintf(script, sizeof(script),
                   "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                   "left=; for p in %ld %ld; do case $(ps -o stat= -p $p) in Z*|'') ;; "
                   "*) left=$p ;; esac; done; [ \"$left\" ] || exit 0; sleep 0.25; "
                   "done; exit 1",
                   one, other);
    trial_open(trial);
    trial_script(trial, host, script);
    trial_await_end(trial, host, END_S);
    if (trial->tried[host].status == 1) {
        trial_fail(trial, "host %u: five seconds after %s its command still runs there",
                   host, after);
    }
    trial_finalise(trial);
}

/* The child does not read; it is to go with its parent, which ends at the end of its
 * input, if it is not killed before. */
static const char stubborn[] =
    "trap '' INT TERM HUP; sleep 1000 >/dev/null 2>&1 & echo \"child=$! self=$$ .\"; "
    "cat >/dev/null; kill -9 $!";

static void run_kill(struct fleet_trial *trial)
{
    const uint32_t host = last_host(trial);
    trial_open(trial);
    trial_kill(trial, trial->count > 1 ? 0 : host); /* nothing was started there */
    trial_script(trial, last_host(trial), stubborn);
    const long child = read_number(trial, last_host(trial), "child=");
    const long self = read_number(trial, last_host(trial), "self=");
    trial_kill(trial, last_host(trial));
    trial_await_end(trial, last_host(trial), END_S);
    trial_kill(trial, last_host(trial));
    trial_finalise(trial);
    trial_open(trial);
    const uint32_t where = last_host(trial);
    trial_finalise(trial);
    expect_gone(trial, where, self, child, "kill()");
}

static void run_finalise(struct fleet_trial *trial)
{
    long selves[TRIED_HOSTS], children[TRIED_HOSTS];
    const int files = count_files();
    trial_open(trial);
    const uint32_t count = trial->count;
    for (uint32_t host = 0; host < count; host++) {
        trial_script(trial, host, stubborn);
    }
    for (uint32_t host = 0; host < count; host++) {
        children[host] = read_number(trial, host, "child=");
        selves[host] = read_number(trial, host, "self=");
    }
    trial_finalise(trial);
    if (count_files() > files) {
        trial_fail(trial, "finalise() left %d descriptors open", count_files() - files);
    }
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) {
        trial_fail(trial,
                   "finalise() left a process of this host that nobody waits for");
    }
    for (uint32_t host = 0; host < count && host < 4; host++) {
        expect_gone(trial, host, selves[host], children[host], "finalise()");
    }
}

/* finalise() at each moment of a start. */
static void run_early_finalise(struct fleet_trial *trial)
{
    for (int i = 0; i < 6; i++) {
        trial_open(trial);
        trial_script(trial, 0, "cat >/dev/null");
        for (const uint64_t end_ns = trial_now_ns() + (uint64_t)(i * i * 8) * MS;
             trial_now_ns() < end_ns;) {
            (void)trial_poll(trial);
            (void)poll(NULL, 0, 1);
        }
        trial_finalise(trial);
        if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) {
            trial_fail(trial, "finalise(), %d ms after launch(), left a process",
                       i * i * 8);
        }
    }
}

/* --- Many, and none --------------------------------------------------------------- */

static void run_all_hosts(struct fleet_trial *trial)
{
    trial_open(trial);
    for (uint32_t host = 0; host < trial->count; host++) {
        char script[64];
        (void)snprintf(script, sizeof(script), "read word; echo \"$word of %u .\"",
                       host);
        trial_script(trial, host, script);
    }
    for (uint32_t host = 0; host < trial->count; host++) {
        if (write(trial->tried[host].link.to, "greetings\n", 10) != 10) {
            trial_fail(trial, "host %u takes no ten bytes: %s", host, strerror(errno));
        }
    }
    for (uint32_t host = 0; host < trial->count; host++) {
        char due[64];
        (void)snprintf(due, sizeof(due), "greetings of %u .\n", host);
        trial_await_end(trial, host, 30);
        if (strcmp(trial->tried[host].said, due) != 0) {
            trial_fail(trial, "host %u said '%.60s', not '%s'", host,
                       trial->tried[host].said, due);
        }
        trial_expect(trial, host, 0);
    }
    if (trial_poll(trial) != 0) {
        trial_fail(trial, "poll() told more when all had ended");
    }
    trial_finalise(trial);
}

static void expect_refused(struct fleet_trial *trial, int code, const char *slot)
{
    const char *story = trial->table->story(trial->fleet);
    if (code >= 0) {
        trial_fail(trial, "%s is not refused", slot);
    }
    if (story == NULL || *story == '\0') {
        trial_fail(trial, "%s is refused, and story() is empty", slot);
    }
}

static void run_refusals(struct fleet_trial *trial)
{
    static char shell[] = "true";
    char *argv[] = {shell, NULL};
    trial_open(trial);
    expect_refused(trial, trial_try_connect(trial, 0), "connect() before launch()");
    expect_refused(trial,
                   trial_try_launch(trial, trial->table->hosts(trial->fleet), argv),
                   "launch() on a host more than there are");
    trial_launch(trial, 0, argv);
    expect_refused(trial, trial_try_launch(trial, 0, argv), "a second launch()");
    trial_await_end(trial, 0, END_S);
    expect_refused(trial, trial_try_launch(trial, 0, argv), "launch() after ended()");
    trial_finalise(trial);
}

static void run_descriptor(struct fleet_trial *trial)
{
    trial_open(trial);
    const int fd =
        trial->table->descriptor != NULL ? trial->table->descriptor(trial->fleet) : -1;
    if (fd >= 0) {
        trial_script(trial, 0, "sleep 0.5; exit 4");
        while (!trial->tried[0].ended) {
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            if (poll(&ready, 1, END_S * 1000) != 1) {
                trial_fail(trial, "descriptor() was not readable, and the command %s",
                           trial->tried[0].up ? "had ended" : "was to come up");
            }
            (void)trial_poll(trial);
        }
        trial_expect(trial, 0, 4);
    }
    trial_finalise(trial);
}

const struct launcher_check launcher_checks[] = {
    {"opens and finalises", 60, run_opening},
    {"hosts with a mistake are refused", 60, run_bad_hosts},
    {"a stream of all bytes, both ways", 60, run_echo},
    {"a slow reader", 60, run_slow_reader},
    {"a reader after the end", 60, run_late_reader},
    {"words of the command", 60, run_words},
    {"how commands end", 90, run_statuses},
    {"standard error", 60, run_error},
    {"a command that is not there", 60, run_missing},
    {"interrupt", 60, run_interrupt},
    {"kill, with a child", 90, run_kill},
    {"finalise ends what still runs", 120, run_finalise},
    {"finalise while it starts", 60, run_early_finalise},
    {"all hosts at once", 90, run_all_hosts},
    {"what is refused", 60, run_refusals},
    {"the descriptor, if there is one", 60, run_descriptor},
};
const size_t launcher_check_count = sizeof(launcher_checks) / sizeof(*launcher_checks);
