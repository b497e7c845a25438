/* run.c - `moot run`: starts an SPMD program, and says how it went.
 *
 * The verdict comes from the ranks.  A launcher's exit status does not tell whether
 * every rank ended well (Open MPI 4.1 with recovery returns 0 whatever died), so each
 * rank leaves a sheet of figures when it closes its moot, and a rank without one has
 * failed.
 */
#include "cli.h"
#include "launch.h"
#include "node/knobs.h"
#include "proto/limits.h"
#include "sheet.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { SETTINGS_MAX = 32, WORDS_MAX = 96 };

struct job {
    int ranks;
    const char *settings[SETTINGS_MAX + 1]; /* "MOOT_NAME=value", NULL-terminated */
    int setting_count;
    char **program; /* and its arguments, NULL-terminated */
    struct knobs knobs;
    char path[LAUNCH_PATH_BYTES];
    char directory[KNOB_TEXT_BYTES]; /* where the sheets go */
    bool own_directory;
};

/* --- The command line ------------------------------------------------------------- */

static bool ranks_parse(const char *text, int *out)
{
    char *end = NULL;
    errno = 0;
    const long ranks = strtol(text, &end, 10);
    if (end == text || *end || errno || ranks < 1 || ranks > (long)LIMIT_RANKS)
        return false;
    *out = (int)ranks;
    return true;
}

/* Takes options and settings off the front; the rest is the program. */
static int arguments_parse(int argc, char **argv, struct job *job)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        const char *count = argv[i] + 2;
        if (strncmp(argv[i], "-n", 2) != 0)
            return cli_usage(&verb_run, "unknown option %s", argv[i]);
        if (*count == '\0')
            count = ++i < argc ? argv[i] : "";
        if (!ranks_parse(count, &job->ranks))
            return cli_usage(&verb_run, "-n '%s' is no number of ranks, 1 to %u", count,
                             LIMIT_RANKS);
    }
    for (; i < argc && strncmp(argv[i], "MOOT_", 5) == 0 && strchr(argv[i], '='); i++) {
        if (job->setting_count == SETTINGS_MAX)
            return cli_usage(&verb_run, "more than %d settings", SETTINGS_MAX);
        job->settings[job->setting_count++] = argv[i];
    }
    if (job->ranks == 0)
        return cli_usage(&verb_run, "how many ranks?  -n N is missing");
    if (i == argc)
        return cli_usage(&verb_run, "which program?");
    job->program = argv + i;
    return CLI_OK;
}

/* --- The launcher's command line -------------------------------------------------- */

struct words {
    char *items[WORDS_MAX + 1];
    int count;
    bool full;
};

static void word_add(struct words *words, const char *word)
{
    if (words->count == WORDS_MAX)
        words->full = true;
    else /* execv's argv is not written to: the cast drops const for its prototype */
        words->items[words->count++] = (char *)(uintptr_t)word;
}

/* A batch system has said how many ranks go where. */
static bool is_allocated(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                        "PE_HOSTFILE", "COBALT_JOBID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return true;
    return false;
}

/* Names of the MOOT_* variables, for -x; they stay valid until the environment changes.
 */
static void variables_add(struct words *words)
{
    static char names[WORDS_MAX][48];
    int count = 0;
    for (char **v = environ; *v && count < WORDS_MAX / 4; v++) {
        const size_t length = strcspn(*v, "=");
        if (strncmp(*v, "MOOT_", 5) != 0 || length >= sizeof names[0])
            continue;
        snprintf(names[count], sizeof names[count], "%.*s", (int)length, *v);
        word_add(words, "-x"); /* Open MPI hands only its own to other hosts */
        word_add(words, names[count++]);
    }
}

static void open_mpi_add(struct words *words, const struct launcher *launcher,
                         const struct job *job)
{
    const int cores = cores_count();
    if (geteuid() == 0)
        word_add(words, "--allow-run-as-root");
    if (job->ranks > cores && !is_allocated()) {
        fprintf(stderr, "moot: %d ranks share %d core%s\n", job->ranks, cores,
                cores == 1 ? "" : "s");
        if (launcher->open_mpi < 5) {
            word_add(words, "--oversubscribe");
        } else {
            word_add(words, "--map-by");
            word_add(words, ":OVERSUBSCRIBE");
        }
    }
    if (job->knobs.threads > 0) { /* or all threads of a rank get one core */
        word_add(words, "--bind-to");
        word_add(words, "none");
    }
    variables_add(words);
}

static int job_launch(const struct job *job)
{
    struct launcher launcher;
    struct words words = {.count = 0};
    char ranks[16];
    if (!launcher_find(&launcher)) {
        cli_complain(&verb_run, "there is no mpirun and no mpiexec in PATH");
        return CLI_NOT_FOUND;
    }
    snprintf(ranks, sizeof ranks, "%d", job->ranks);
    word_add(&words, launcher.path);
    word_add(&words, "-n");
    word_add(&words, ranks);
    if (launcher.open_mpi > 0)
        open_mpi_add(&words, &launcher, job);
    word_add(&words, job->path);
    const int own = words.count;
    int count = 0;
    while (job->program[1 + count])
        count++;
    char **argv = calloc((size_t)(own + count) + 1, sizeof *argv);
    if (!argv || words.full) {
        free(argv);
        cli_complain(&verb_run, "out of room for the launcher's command line");
        return CLI_FAILED;
    }
    memcpy(argv, words.items, (size_t)own * sizeof *argv);
    memcpy(argv + own, job->program + 1, (size_t)count * sizeof *argv);
    const int status = launch(argv);
    free(argv);
    return status;
}

/* --- The job ---------------------------------------------------------------------- */

/* Where the ranks leave their sheets: what MOOT_SUMMARY says, or a folder of our own.
 */
static bool directory_make(struct job *job)
{
    const char *temporary = getenv("TMPDIR");
    if (*job->knobs.summary) {
        snprintf(job->directory, sizeof job->directory, "%s", job->knobs.summary);
        return true;
    }
    const int used =
        snprintf(job->directory, sizeof job->directory, "%s/moot-run-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp");
    if (used >= (int)sizeof job->directory || !mkdtemp(job->directory))
        return false;
    job->own_directory = true;
    return setenv("MOOT_SUMMARY", job->directory, 1) == 0;
}

static void directory_remove(const struct job *job)
{
    DIR *dir = job->own_directory ? opendir(job->directory) : NULL;
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(job->directory);
}

static bool settings_export(const struct job *job)
{
    for (int i = 0; i < job->setting_count; i++) {
        char name[64];
        const char *equals = strchr(job->settings[i], '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - job->settings[i]),
                 job->settings[i]);
        if (setenv(name, equals + 1, 1) != 0)
            return false;
    }
    return true;
}

/* The status of the whole: the launcher's if it failed, else what the ranks say. */
static int job_judge(const struct job *job, int status)
{
    struct sheets sheets;
    if (!sheets_read(job->directory, &sheets)) {
        cli_complain(&verb_run, "out of memory for the summary");
        status = status ? status : CLI_FAILED;
    } else if (sheets.count == 0) {
        fprintf(stderr, "moot: no rank closed a moot; the launcher's status is %d\n",
                status);
        status = status ? status : CLI_FAILED;
    } else {
        sheets_print(&sheets, stderr);
        if (sheets_failures(&sheets, stderr) > 0 && status == 0)
            status = CLI_FAILED;
    }
    sheets_release(&sheets);
    return status;
}

static int run_run(int argc, char **argv)
{
    static struct job job;
    char story[1500];
    int status = arguments_parse(argc, argv, &job);
    if (status != CLI_OK)
        return status;
    if (knobs_load(&job.knobs, job.settings, story, sizeof story) != MOOT_OK) {
        cli_complain(&verb_run, "%s", story);
        return CLI_USAGE;
    }
    if (!program_find(job.program[0], job.path)) {
        if (access(job.program[0], F_OK) == 0)
            cli_complain(&verb_run, "%s is there, but is no executable file",
                         job.program[0]);
        else
            cli_complain(&verb_run, "there is no program %s", job.program[0]);
        return CLI_NOT_FOUND;
    }
    if (!settings_export(&job) || !directory_make(&job)) {
        cli_complain(&verb_run, "no folder for the summary: %s", strerror(errno));
        return CLI_FAILED;
    }
    status = job_launch(&job);
    if (status != CLI_NOT_FOUND)
        status = job_judge(&job, status);
    directory_remove(&job);
    return status;
}

const struct verb verb_run = {
    .name = "run",
    .line = "starts an SPMD program on N ranks and sums up its run",
    .usage =
        "run -n N [--] [MOOT_NAME=VALUE ...] PROGRAM [ARGUMENTS]\n"
        "\n"
        "Starts PROGRAM on N ranks with mpirun (or mpiexec) and the options that this\n"
        "takes here.  A PROGRAM without a slash is looked for in PATH, beside this\n"
        "command, and among the examples.  Then prints a summary on standard error.\n"
        "MOOT_NAME=VALUE sets a knob for this run; `moot info` lists them.\n"
        "\n"
        "Exit status: 0 if every rank ended well; the launcher's if that is not 0;\n"
        "1 if a rank failed or never closed its moot; 127 if there is no such "
        "program;\n"
        "2 if the command line or a knob is wrong.",
    .run = run_run,
};
