/* ssh.c - the launcher `ssh`: a connection of ssh(1) to each host, whose standard input
 * and output are the command's.
 *
 * The user's own settings of ssh count: ports, users, keys, jump hosts, which host keys
 * are known.  Set here is what a launcher needs.  Nothing is asked on a terminal
 * (BatchMode).  A host that does not answer is given up before ten seconds are over.  A
 * connection that was made is given up after two minutes of silence, so that a link may
 * be cut for a while.  A shared connection (ControlMaster) is not used: it would live
 * on behind this process.
 *
 * That an ssh ended with the status 255 says that the connection did, and nothing of
 * the command.  When an ssh is killed its command there sees the end of its input.
 */
#include "node/launchers/commands_fleet.h"
#include "node/launchers/launchers.h"
#include "node/transport/transport.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 512, WORDS_MAX = FLEET_WORDS_MAX + 24, SSH_FAILED = 255 };

/* --- Opening ---------------------------------------------------------------------- */

static int take_option(moot_fleet *fleet, char *word, char *story, size_t story_size)
{
    const bool file = strncmp(word, "config=", 7) == 0;
    if (!file && strncmp(word, "o=", 2) != 0) {
        return object_refuse(story, story_size,
                             "ssh: '%s' is no option of this launcher; there are "
                             "config=FILE and o=KEY=VALUE",
                             word);
    }
    char *value = strchr(word, '=') + 1;
    if (*value == '\0' || (!file && strchr(value, '=') == NULL)) {
        return object_refuse(story, story_size, "ssh: '%s' lacks its value", word);
    }
    if (fleet->word_count + 2 > FLEET_WORDS_MAX) {
        return object_refuse(story, story_size, "ssh: more than %d options",
                             FLEET_WORDS_MAX / 2);
    }
    static char of_file[] = "-F", of_setting[] = "-o";
    fleet->words[fleet->word_count++] = file ? of_file : of_setting;
    fleet->words[fleet->word_count++] = value;
    return MOOT_OK;
}

static int take_options(moot_fleet *fleet, const char *options, char *story,
                        size_t story_size)
{
    int code = MOOT_OK;
    fleet->options = strdup(options);
    if (fleet->options == NULL) {
        return object_refuse(story, story_size, "ssh: no memory for its options");
    }
    for (char *word = fleet->options, *next; word != NULL && code == MOOT_OK;
         word = next) {
        next = strchr(word, ':');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (*word != '\0') {
            code = take_option(fleet, word, story, story_size);
        }
    }
    return code;
}

/* ssh takes an address of IPv6 without brackets. */
static void strip_brackets(const moot_launcher_host *host, char *target)
{
    size_t used = 0;
    for (const char *at = host->name; *at != '\0'; at++) {
        if (*at != '[' && *at != ']') {
            target[used++] = *at;
        }
    }
    target[used] = '\0';
}

/* Puts the address that ssh would connect to in the place of the name, which may be one
 * that only ssh's settings know.  An ssh that refuses its settings says so here. */
static int ask_address(const moot_fleet *fleet, moot_launcher_host *host, char *story,
                       size_t story_size)
{
    static char ssh[] = "ssh", only_say[] = "-G", dashes[] = "--";
    char *argv[FLEET_WORDS_MAX + 5] = {ssh, only_say};
    char told[16384], error[STORY_BYTES], target[MOOT_LAUNCHER_NAME_BYTES];
    int count = 2;
    strip_brackets(host, target);
    for (int i = 0; i < fleet->word_count; i++) {
        argv[count++] = fleet->words[i];
    }
    argv[count++] = dashes;
    argv[count++] = target;
    const int status = commands_ask(argv, told, sizeof(told), error, sizeof(error));
    if (status != 0) {
        return object_refuse(story, story_size, "ssh: %s: %s", host->name,
                             *error ? error : "ssh -G failed");
    }
    const char *at =
        strncmp(told, "hostname ", 9) == 0 ? told : strstr(told, "\nhostname ");
    if (at != NULL) {
        at = strchr(at, ' ') + 1;
        const size_t length = strcspn(at, "\n");
        if (length > 0 && length < sizeof(host->address)) {
            memcpy(host->address, at, length);
            host->address[length] = '\0';
        }
    }
    return MOOT_OK;
}

/* ssh's complaints when it does not get there, and what to do about each. */
static const char *find_advice(const char *line)
{
    static const struct {
        const char *said, *advice;
    } known[] = {
        {"Host key verification failed", "log in there once by ssh, and take its key"},
        {"Permission denied", "it must let you in by a key, without a passphrase or "
                              "with ssh-agent: try ssh -oBatchMode=yes"},
        {"Could not resolve hostname", "name it as ssh knows it, or by its address"},
        {"Connection refused", "is there an sshd, and at that port?"},
        {"No route to host", "is it up, and is the address right?"},
        {"timed out", "is it up, and does a firewall let ssh pass?"},
        {"Network is unreachable", "is this host on the network?"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strstr(line, known[i].said) != NULL) {
            return known[i].advice;
        }
    }
    return NULL;
}

static int fill_fleet(moot_fleet *fleet, const moot_launcher_setup *setup, char *story,
                      size_t story_size)
{
    char path[1024], why[STORY_BYTES];
    int code = take_options(fleet, setup->options, story, story_size);
    if (code == MOOT_OK && !commands_find("ssh", path, sizeof(path))) {
        return object_refuse(story, story_size,
                             "ssh: there is no ssh in PATH (Debian: openssh-client)");
    }
    if (code == MOOT_OK) {
        code = hosts_parse(setup->hosts, &fleet->hosts, why, sizeof(why));
        if (code != MOOT_OK) {
            return object_refuse(story, story_size, "--hosts: %s", why);
        }
    }
    if (code == MOOT_OK && fleet->hosts.count == 0) {
        return object_refuse(story, story_size,
                             "ssh: on which hosts?  --hosts a:2,b:2 names them, with "
                             "the ranks of each");
    }
    for (uint32_t i = 0; i < fleet->hosts.count && code == MOOT_OK; i++) {
        code = ask_address(fleet, &fleet->hosts.items[i], story, story_size);
    }
    if (code != MOOT_OK) {
        return code;
    }
    return fleet_begin(fleet,
                       (struct commands_plan){.death_signal = SIGKILL,
                                              .lost_status = SSH_FAILED,
                                              .advise = find_advice},
                       story, story_size);
}

static int ssh_open(const moot_launcher_setup *setup, moot_fleet **out, char *story,
                    size_t story_size)
{
    moot_fleet *fleet = calloc(1, sizeof(*fleet));
    if (fleet == NULL) {
        return object_refuse(story, story_size, "ssh: no memory");
    }
    fleet->launcher = launcher_ssh.name;
    const int code = fill_fleet(fleet, setup, story, story_size);
    if (code != MOOT_OK) {
        fleet_finalise(fleet);
        return code;
    }
    *out = fleet;
    return MOOT_OK;
}

/* --- The other slots -------------------------------------------------------------- */

/* One word for the shell there that runs the command: quoted for any shell that a user
 * may have.  sshd tells no status of a command that a signal ended, so a shell stays.
 */
static char *quote_command(char *const argv[])
{
    size_t size = sizeof("exec sh -c ") + 4 * sizeof(COMMANDS_RUN) + 2, used = 0;
    for (int i = 0; argv[i] != NULL; i++) {
        size += 4 * strlen(argv[i]) + 3;
    }
    char *text = malloc(size);
    if (text == NULL) {
        return NULL;
    }
    used = (size_t)snprintf(text, size, "exec sh -c");
    for (int i = -1; i < 0 || argv[i] != NULL; i++) {
        text[used++] = ' ';
        text[used++] = '\'';
        for (const char *at = i < 0 ? COMMANDS_RUN : argv[i]; *at != '\0'; at++) {
            if (*at == '\'') {
                memcpy(text + used, "'\\'", 3);
                used += 3;
            }
            text[used++] = *at;
        }
        text[used++] = '\'';
    }
    text[used] = '\0';
    return text;
}

static int ssh_launch(moot_fleet *fleet, uint32_t host, char *const argv[])
{
    static char fixed[][32] = {"ssh",
                               "-T",
                               "-oBatchMode=yes",
                               "-oConnectTimeout=8",
                               "-oConnectionAttempts=1",
                               "-oServerAliveInterval=20",
                               "-oServerAliveCountMax=6",
                               "-oControlMaster=no",
                               "-oControlPath=none",
                               "-oPermitLocalCommand=no",
                               "-oRequestTTY=no",
                               "-oRemoteCommand=none",
                               "-oEscapeChar=none"};
    enum { FIXED = sizeof(fixed) / sizeof(*fixed) };
    static char dashes[] = "--";
    char target[MOOT_LAUNCHER_NAME_BYTES];
    char *words[WORDS_MAX];
    int count = 0;
    if (host >= fleet->hosts.count) {
        return fleet_start(fleet, host, argv); /* refuses it */
    }
    words[count++] = fixed[0];
    /* ssh takes the first word of a setting: the user's. */
    for (int i = 0; i < fleet->word_count; i++) {
        words[count++] = fleet->words[i];
    }
    for (int i = 1; i < FIXED; i++) {
        words[count++] = fixed[i];
    }
    strip_brackets(&fleet->hosts.items[host], target);
    char *command = quote_command(argv);
    if (command == NULL) {
        (void)snprintf(fleet->story, STORY_BYTES, "ssh: no memory for the command");
        return MOOT_ERR_NO_MEMORY;
    }
    words[count++] = dashes;
    words[count++] = target;
    words[count++] = command;
    words[count] = NULL;
    const int code = fleet_start(fleet, host, words);
    free(command);
    return code;
}

static void ssh_kill(moot_fleet *fleet, uint32_t host)
{
    fleet_interrupt(fleet, host, SIGKILL);
}

const moot_launcher launcher_ssh = {
    .version = MOOT_LAUNCHER_VERSION,
    .size = sizeof(moot_launcher),
    .name = "ssh",
    .open = ssh_open,
    .hosts = fleet_hosts,
    .host = fleet_host,
    .launch = ssh_launch,
    .connect = fleet_connect,
    .poll = fleet_poll,
    .interrupt = fleet_interrupt,
    .kill = ssh_kill,
    .story = fleet_story,
    .finalise = fleet_finalise,
    .descriptor = fleet_descriptor,
};
