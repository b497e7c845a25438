/* slurm.c - the launcher `slurm`: a step of srun(1) of one task on each host of the
 * allocation that this process is in.
 *
 * A step for each host, and not one for all: srun's standard input goes to all tasks of
 * a step alike, and what ends one host's step leaves the others alone.  The step shares
 * what the allocation has on its host with other steps (--overlap), goes on when other
 * hosts fail (--no-kill), and is bound to no cores.  Slots are the tasks that Slurm was
 * asked for.  srun passes signals on, and ends its step when it is told to end.
 */
#include "node/launchers/commands_fleet.h"
#include "node/launchers/launchers.h"
#include "node/transport/transport.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORY_BYTES = 512, WORDS_MAX = 24, SAID_BYTES = 1 << 20 };

/* --- The allocation --------------------------------------------------------------- */

/* scontrol's answer, of SAID_BYTES. */
static int ask_slurm(char *const argv[], char *said, char *story, size_t story_size)
{
    char error[STORY_BYTES];
    const int status = commands_ask(argv, said, SAID_BYTES, error, sizeof(error));
    return status == 0 ? MOOT_OK
                       : object_refuse(story, story_size, "slurm: scontrol: %s",
                                       *error ? error : "it failed");
}

/* The hosts of the allocation, in its order: a list with commas, which takes the place
 * of lines. */
static int list_nodes(char *nodes, char *said, char *story, size_t story_size)
{
    static char scontrol[] = "scontrol", show[] = "show", names[] = "hostnames";
    char *argv[] = {scontrol, show, names, nodes, NULL};
    const int code = ask_slurm(argv, said, story, story_size);
    for (char *at = said; code == MOOT_OK && *at != '\0'; at++) {
        *at = *at == '\n' ? ',' : *at;
    }
    return code;
}

/* Slots as SLURM_TASKS_PER_NODE has them: "2(x3),1". */
static void read_slots(const char *text, struct host_list *hosts)
{
    uint32_t host = 0;
    while (*text >= '1' && *text <= '9' && host < hosts->count) {
        char *end = NULL;
        const unsigned long slots = strtoul(text, &end, 10);
        unsigned long times = 1;
        if (strncmp(end, "(x", 2) == 0) {
            times = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        for (; times > 0 && host < hosts->count; times--) {
            hosts->items[host++].slots = (uint32_t)slots;
        }
        text = *end == ',' ? end + 1 : end;
    }
}

/* The value behind KEY= in a line; its length, 0: it is not there. */
static size_t find_value(const char *line, const char *key, const char **value)
{
    const size_t length = strcspn(line, "\n");
    for (const char *at = line; at != NULL && at < line + length;
         at = strchr(at, ' '), at = at != NULL ? at + 1 : NULL) {
        if (strncmp(at, key, strlen(key)) == 0) {
            *value = at + strlen(key);
            return strcspn(*value, " \n");
        }
    }
    return 0;
}

/* Addresses stand in Slurm's settings of the nodes.  Where they are not to be had the
 * names stay. */
static void find_addresses(char *nodes, struct host_list *hosts, char *said)
{
    static char scontrol[] = "scontrol", one[] = "-o", show[] = "show", node[] = "node";
    char *argv[] = {scontrol, one, show, node, nodes, NULL};
    char story[STORY_BYTES];
    const char *line =
        ask_slurm(argv, said, story, sizeof(story)) == MOOT_OK ? said : "";
    for (const char *next; *line != '\0'; line = next) {
        const char *name = "", *address = "";
        const size_t name_bytes = find_value(line, "NodeName=", &name);
        const size_t bytes = find_value(line, "NodeAddr=", &address);
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        for (uint32_t i = 0; i < hosts->count && name_bytes > 0; i++) {
            moot_launcher_host *host = &hosts->items[i];
            if (strlen(host->name) == name_bytes && bytes > 0 &&
                memcmp(host->name, name, name_bytes) == 0 &&
                bytes < sizeof(host->address)) {
                memcpy(host->address, address, bytes);
                host->address[bytes] = '\0';
            }
        }
    }
}

/* Leaves those of `all` that the list names, in its order and with its slots. */
static int choose_hosts(const char *list, struct host_list *all, char *story,
                        size_t story_size)
{
    struct host_list some;
    char why[STORY_BYTES];
    int code = hosts_parse(list, &some, why, sizeof(why));
    if (code != MOOT_OK) {
        return object_refuse(story, story_size, "--hosts: %s", why);
    }
    for (uint32_t i = 0; i < some.count && code == MOOT_OK; i++) {
        moot_launcher_host *host = &some.items[i];
        uint32_t at = 0;
        while (at < all->count && strcmp(all->items[at].name, host->name) != 0) {
            at++;
        }
        if (at == all->count) {
            code = object_refuse(story, story_size,
                                 "--hosts: '%s' is no host of this allocation, which "
                                 "has %s",
                                 host->name, getenv("SLURM_JOB_NODELIST"));
            break;
        }
        const uint32_t slots = host->slots > 0 ? host->slots : all->items[at].slots;
        *host = all->items[at];
        host->slots = slots;
    }
    if (code == MOOT_OK && some.count > 0) {
        hosts_release(all);
        *all = some;
    } else {
        hosts_release(&some);
    }
    return code;
}

/* --- Opening ---------------------------------------------------------------------- */

static bool begins_with(const char *line, const char *words)
{
    return strncmp(line, words, strlen(words)) == 0;
}

/* "srun: error: a: task 0: Exited with exit code 7"; and of a step that is ended from
 * here "srun: forcing job termination", "slurmstepd: error: *** STEP 7.0 ON a CANCELLED
 * AT ...". */
static bool is_status_line(const char *line, bool signalled)
{
    return (begins_with(line, "srun: error: ") && strstr(line, ": task 0: ") != NULL) ||
           (signalled && (begins_with(line, "srun: ") ||
                          begins_with(line, "slurmstepd: error: *** STEP ")));
}

static int fill_fleet(moot_fleet *fleet, const moot_launcher_setup *setup, char *said,
                      char *story, size_t story_size)
{
    char path[1024], why[STORY_BYTES], nodes[65536];
    const char *job = getenv("SLURM_JOB_ID"), *list = getenv("SLURM_JOB_NODELIST");
    const char *tasks = getenv("SLURM_TASKS_PER_NODE");
    if (*setup->options != '\0') {
        return object_refuse(story, story_size,
                             "slurm: '%s': this launcher has no options",
                             setup->options);
    }
    if (job == NULL || list == NULL || strlen(list) >= sizeof(nodes)) {
        return object_refuse(
            story, story_size,
            "slurm: this is no allocation of Slurm's (SLURM_JOB_ID is not set): start "
            "it in one, by salloc -N 2 moot run ..., or in a script for sbatch");
    }
    if (!commands_find("srun", path, sizeof(path)) ||
        !commands_find("scontrol", path, sizeof(path))) {
        return object_refuse(story, story_size,
                             "slurm: there is no srun and scontrol in PATH (Debian: "
                             "slurm-client)");
    }
    memcpy(nodes, list, strlen(list) + 1);
    int code = list_nodes(nodes, said, story, story_size);
    if (code == MOOT_OK) {
        code = hosts_parse(said, &fleet->hosts, why, sizeof(why));
        if (code != MOOT_OK || fleet->hosts.count == 0) {
            return object_refuse(story, story_size, "slurm: SLURM_JOB_NODELIST=%s: %s",
                                 list, code != MOOT_OK ? why : "no hosts");
        }
        read_slots(tasks != NULL ? tasks : "", &fleet->hosts);
        find_addresses(nodes, &fleet->hosts, said);
        code = choose_hosts(setup->hosts, &fleet->hosts, story, story_size);
    }
    if (code != MOOT_OK) {
        return code;
    }
    return fleet_begin(fleet,
                       (struct commands_plan){.death_signal = SIGTERM,
                                              .lost_status = -1,
                                              .is_idle = is_status_line},
                       story, story_size);
}

static int slurm_open(const moot_launcher_setup *setup, moot_fleet **out, char *story,
                      size_t story_size)
{
    moot_fleet *fleet = calloc(1, sizeof(*fleet));
    char *said = malloc(SAID_BYTES);
    if (fleet != NULL) {
        fleet->launcher = launcher_slurm.name;
    }
    const int code = fleet != NULL && said != NULL
                         ? fill_fleet(fleet, setup, said, story, story_size)
                         : object_refuse(story, story_size, "slurm: no memory");
    free(said);
    if (code != MOOT_OK) {
        fleet_finalise(fleet);
        return code;
    }
    *out = fleet;
    return MOOT_OK;
}

/* --- The other slots -------------------------------------------------------------- */

static int slurm_launch(moot_fleet *fleet, uint32_t host, char *const argv[])
{
    static char fixed[][32] = {"srun",          "--nodes=1",    "--ntasks=1",
                               "--overlap",     "--no-kill",    "--kill-on-bad-exit=0",
                               "--quiet",       "--unbuffered", "--mpi=none",
                               "--immediate=8", "--wait=0",     "--input=all",
                               "--output=all",  "--error=all"};
    enum { FIXED = sizeof(fixed) / sizeof(*fixed) };
    static char shell[] = "sh", option[] = "-c", become[] = COMMANDS_BECOME;
    char node[MOOT_LAUNCHER_NAME_BYTES + 16];
    size_t count = 0, words = 0;
    while (argv[words] != NULL) {
        words++;
    }
    char **all = calloc(words + WORDS_MAX, sizeof(*all));
    if (host >= fleet->hosts.count || all == NULL) {
        free(all);
        return fleet_start(fleet, fleet->hosts.count, argv); /* refuses it */
    }
    for (int i = 0; i < FIXED; i++) {
        all[count++] = fixed[i];
    }
    (void)snprintf(node, sizeof(node), "--nodelist=%s", fleet->hosts.items[host].name);
    all[count++] = node;
    all[count++] = shell;
    all[count++] = option;
    all[count++] = become;
    memcpy(all + count, argv, words * sizeof(*all));
    const int code = fleet_start(fleet, host, all);
    free(all);
    return code;
}

/* An srun that is killed leaves its step to Slurm; one that is told to end takes it
 * along. */
static void slurm_kill(moot_fleet *fleet, uint32_t host)
{
    fleet_interrupt(fleet, host, SIGTERM);
}

const moot_launcher launcher_slurm = {
    .version = MOOT_LAUNCHER_VERSION,
    .size = sizeof(moot_launcher),
    .name = "slurm",
    .open = slurm_open,
    .hosts = fleet_hosts,
    .host = fleet_host,
    .launch = slurm_launch,
    .connect = fleet_connect,
    .poll = fleet_poll,
    .interrupt = fleet_interrupt,
    .kill = slurm_kill,
    .story = fleet_story,
    .finalise = fleet_finalise,
    .descriptor = fleet_descriptor,
};
