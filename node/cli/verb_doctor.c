/* verb_doctor.c - `moot doctor`: whether hosts have what a job needs, and what to mend.
 */
#include "node/cli/cli.h"
#include "node/cli/doctor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct findings {
    int counts[DOCTOR_ILL + 1];
    bool all; /* what is well is told, too */
};

static void row_tell(void *context, enum doctor_state state, const char *name,
                     const char *text)
{
    static const char *const words[] = {"ok", "note", "MEND"};
    struct findings *found = context;
    found->counts[state]++;
    if (found->all || state != DOCTOR_WELL) {
        printf("%-5s %-22s %s\n", words[state], name, text);
        (void)fflush(stdout);
    }
}

static int doctor_tally(const struct findings *found)
{
    printf("%d well, %d to be known, %d to be mended\n", found->counts[DOCTOR_WELL],
           found->counts[DOCTOR_NOTE], found->counts[DOCTOR_ILL]);
    return found->counts[DOCTOR_ILL] > 0 ? CLI_FAILED : CLI_OK;
}

static int doctor_run(int argc, char **argv)
{
    struct doctor_fleet fleet = {0};
    struct findings found = {.all = true};
    char self[LAUNCH_PATH_BYTES] = "", story[512] = "";
    bool answers = false;
    for (int i = 1; i < argc; i++) {
        static const char *const names[] = {"--hosts", "--launcher", "--agent"};
        const char **const words[] = {&fleet.hosts, &fleet.launcher, &fleet.agent};
        const char *value = NULL;
        int name = 0;
        while (name < 3 && !(value = cli_option(argc, argv, &i, names[name]))) {
            name++;
        }
        if (value) {
            if (cli_once(&verb_doctor, names[name], *words[name], value) != CLI_OK) {
                return CLI_USAGE;
            }
            *words[name] = value;
        } else if (strcmp(argv[i], "--answer") == 0) {
            answers = true;
        } else if (strcmp(argv[i], "--brief") == 0) {
            found.all = false;
        } else {
            return cli_no_option(&verb_doctor, argv[i]);
        }
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (answers) {
        return doctor_answer();
    }
    doctor_look(row_tell, &found);
    if (fleet.hosts || fleet.launcher) {
        fleet.hosts = fleet.hosts ? fleet.hosts : "";
        fleet.launcher = fleet.launcher ? fleet.launcher : "ssh";
        if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 && !fleet.agent) {
            fleet.agent = self;
        }
        if (!doctor_ask(&fleet, row_tell, &found, story, sizeof(story))) {
            cli_complain(&verb_doctor, "%s", story);
            return CLI_USAGE;
        }
    }
    return doctor_tally(&found);
}

const struct verb verb_doctor = {
    .name = "doctor",
    .line = "says whether hosts have what a job needs, and what to mend",
    .usage =
        "doctor [--hosts LIST] [--launcher NAME] [--agent PATH] [--brief]\n"
        "\n"
        "Looks at this host: limits, folders, interfaces, transports, launchers.\n"
        "With hosts it asks moot on each of them as well, by ssh or by the launcher\n"
        "named: whether it begins, its release, its clock, and which hosts it "
        "reaches.\n"
        "\n"
        "  --hosts LIST     as for `moot run`: a,b,c\n"
        "  --launcher NAME  ssh (the default), slurm, or the path of a shared "
        "object\n"
        "  --agent PATH     the moot command on the hosts, if it is not where it is "
        "here\n"
        "  --brief          only what is not well\n"
        "\n"
        "Exit status: 0, 1 if a job would fail, 2 if the command line is wrong.",
    .run = doctor_run,
};
