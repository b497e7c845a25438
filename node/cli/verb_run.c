/* verb_run.c - `moot run`: starts an SPMD program, and says how it went.
 *
 * The verdict comes from the ranks.  A launcher's exit status does not tell whether
 * every rank ended well (Open MPI 4.1 with recovery returns 0 whatever died), so each
 * rank leaves a sheet of figures when it closes its moot, and the process that waits
 * for it (verb_rank.c) leaves how it ended; outcome.c reads what that means.
 *
 * The launcher is told to let the others go on when a rank dies.  That must not keep a
 * job alive that cannot end: who fails before it opened a moot is not missed by any,
 * but may well be waited for.  Then the job is ended, as the launcher would; likewise
 * for a rank that calls MPI_Abort.  After a rank that failed when it had closed its
 * moot the others go on, unless they open another.
 */
#include "node/channel/channel.h"
#include "node/cli/cli.h"
#include "node/cli/run_line.h"
#include "node/cli/run_transport.h"
#include "node/cli/run_words.h"
#include "node/config/knobs.h"
#include "node/faults/faults.h"
#include "node/launch/launch.h"
#include "node/launch/outcome.h"
#include "node/tools/sheet.h"
#include "node/tools/state_sockets.h"
#include "proto/limits.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_MAX = 32, PATIENCE_LOOKS = 25, STALL_LOOKS = 50 };

struct job {
    int ranks;
    const char *ranks_word;                 /* as it was written */
    const char *settings[SETTINGS_MAX + 1]; /* "MOOT_NAME=value", NULL-terminated */
    int setting_count;
    char **program; /* and its arguments, NULL-terminated */
    struct knobs knobs;
    char path[LAUNCH_PATH_BYTES];
    const char *faults; /* the plan's text; NULL: none was given here */
    const char *trace;  /* the folder for records; likewise */
    struct plan *plan;  /* NULL: none */
    char self[LAUNCH_PATH_BYTES];
    char directory[KNOB_TEXT_BYTES]; /* our own: where the ends go */
    char sheets[KNOB_TEXT_BYTES];    /* where the sheets go */
    int hopeless_looks, straggler_looks, hanging_looks, stalled_looks;
    bool *let_go;   /* by rank: ended here in MPI_Finalize; NULL: none was */
    size_t culprit; /* because of whom it was ended; OUTCOME_NOBODY: it was not, */
    bool stalled;   /* and that goes on after a stall that was to end it */
    size_t told;    /* of ranks below this number that failed after their moot */
    const char *deaths_word; /* as it was written */
    enum deaths deaths;
    const char *launcher, *transport; /* as they were written; NULL: not */
    bool local;                       /* the ranks are started from here, without MPI */
    bool no_progress, verbose, launched;
    struct run_line *line; /* NULL: the job's output goes its own way */
};

/* --- The command line ------------------------------------------------------------- */

static int deaths_read(const char *value, enum deaths *out)
{
    static const char *const words[] = {
        [DEATHS_TOLERATE] = "tolerate", [DEATHS_FAIL] = "fail", [DEATHS_ANY] = "any"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(value, words[i]) == 0) {
            *out = (enum deaths)i;
            return CLI_OK;
        }
    }
    return cli_usage(&verb_run, "--deaths is '%s', but may be fail, tolerate or any",
                     value);
}

static int launcher_read(const char *value, bool *local)
{
    *local = strcmp(value, "local") == 0;
    if (*local || strcmp(value, "mpirun") == 0) {
        return CLI_OK;
    }
    return cli_usage(&verb_run, "--launcher is '%s', but may be mpirun or local",
                     value);
}

/* Takes the option at argv[*i], and its value, which may stand in the next word. */
static int option_parse(int argc, char **argv, int *i, struct job *job)
{
    static const char *const names[] = {"-n",       "--faults",   "--trace",
                                        "--deaths", "--launcher", "--transport"};
    enum { RANKS, FAULTS, TRACE, DEATHS, LAUNCHER, TRANSPORT, NAMES };
    const char **const words[] = {&job->ranks_word,  &job->faults,   &job->trace,
                                  &job->deaths_word, &job->launcher, &job->transport};
    const char *option = argv[*i], *value = NULL;
    int name = 0, status = CLI_OK;
    if (strcmp(option, "--no-progress") == 0) {
        job->no_progress = true;
        return CLI_OK;
    }
    if (strcmp(option, "--verbose") == 0) {
        job->verbose = true;
        return CLI_OK;
    }
    while (name < NAMES && !(value = cli_option(argc, argv, i, names[name]))) {
        name++;
    }
    if (!value) {
        return cli_no_option(&verb_run, option);
    }
    if (name == TRACE && *value == '\0') {
        return cli_usage(&verb_run, "--trace names no folder");
    }
    if (name == FAULTS && *value == '\0' && *i + 1 == argc) {
        return cli_usage(&verb_run, "--faults lacks its plan");
    }
    if (name == TRANSPORT && *value == '\0') {
        return cli_usage(&verb_run, "--transport names no transport");
    }
    if (name == RANKS) {
        status = cli_ranks_read(&verb_run, value, 1, &job->ranks);
    } else if (name == DEATHS) {
        status = deaths_read(value, &job->deaths);
    } else if (name == LAUNCHER) {
        status = launcher_read(value, &job->local);
    }
    if (status == CLI_OK) {
        status = cli_once(&verb_run, names[name], *words[name], value);
    }
    *words[name] = value;
    return status;
}

/* Takes options and settings off the front; the rest is the program. */
static int arguments_parse(int argc, char **argv, struct job *job)
{
    bool ended = false; /* by --: what follows may begin with a dash */
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && !ended; i++) {
        ended = strcmp(argv[i], "--") == 0;
        if (ended) {
            continue;
        }
        const int status = option_parse(argc, argv, &i, job);
        if (status != CLI_OK) {
            return status;
        }
    }
    const int status = cli_settings_count(&verb_run, argc, argv, i, ended, SETTINGS_MAX,
                                          &job->setting_count);
    if (status != CLI_OK) {
        return status;
    }
    for (int setting = 0; setting < job->setting_count; setting++) {
        job->settings[setting] = argv[i++];
    }
    if (job->ranks == 0) {
        return cli_usage(&verb_run, "how many ranks?  -n N is missing%s%s",
                         i < argc ? " before " : "", i < argc ? argv[i] : "");
    }
    if (i == argc && argv[argc - 1] == job->trace) {
        return cli_usage(&verb_run, "which program?  %s is the folder of --trace",
                         job->trace);
    }
    if (i == argc) {
        return cli_usage(&verb_run, "which program?");
    }
    job->program = argv + i;
    return CLI_OK;
}

/* --- The launcher ----------------------------------------------------------------- */

/* Ranks that failed after their moots: when the others have had time to end, too. */
static void stragglers_tell(struct job *job, const struct outcome *outcome)
{
    size_t rank = outcome_straggler(outcome, job->told);
    if (rank == OUTCOME_NOBODY || ++job->straggler_looks < PATIENCE_LOOKS) {
        return;
    }
    run_line_erase(job->line);
    for (; rank != OUTCOME_NOBODY; rank = outcome_straggler(outcome, job->told)) {
        outcome_tell_straggler(outcome, rank, stderr);
        job->told = rank + 1;
    }
}

/* Whether the others have waited in MPI_Finalize long enough for one that is gone. */
static bool hangs_at_end(struct job *job, const struct outcome *outcome)
{
    if (!outcome_hangs_at_end(outcome) || ++job->hanging_looks < PATIENCE_LOOKS) {
        return false;
    }
    job->let_go = calloc(outcome->count, sizeof(*job->let_go));
    for (size_t r = 0; job->let_go && r < outcome->count; r++) {
        job->let_go[r] = !outcome->ends[r].known;
    }
    run_line_erase(job->line);
    fputs(
        "moot: all others have closed their moots and wait in MPI_Finalize for a rank "
        "that is gone: ending them\n",
        stderr);
    return true;
}

/* Whether ranks go on long after a stall that was to end the job. */
static bool goes_on_stalled(struct job *job, const struct outcome *outcome)
{
    if (outcome->stalled == 0 || ++job->stalled_looks < STALL_LOOKS) {
        return false;
    }
    size_t first = 0;
    while (first + 1 < outcome->count && outcome->ends[first].known) {
        first++;
    }
    job->culprit = first;
    job->stalled = true;
    run_line_erase(job->line);
    fputs("moot: a stall was to end the job (MOOT_STALL_ABORT), and ranks have not "
          "ended: ending them\n",
          stderr);
    return true;
}

/* A rank ended the job, or failed where no moot misses it, and the others had time to
 * end as well. */
static bool is_hopeless(void *context)
{
    struct job *job = context;
    struct outcome outcome;
    size_t culprit = OUTCOME_NOBODY;
    if (outcome_read(job->directory, job->sheets, (size_t)job->ranks, &outcome)) {
        culprit = outcome_culprit(&outcome);
        stragglers_tell(job, &outcome);
    }
    bool hopeless =
        culprit != OUTCOME_NOBODY &&
        (++job->hopeless_looks >= PATIENCE_LOOKS || outcome.ends[culprit].aborted);
    if (!hopeless) {
        hopeless = hangs_at_end(job, &outcome) || goes_on_stalled(job, &outcome);
    } else {
        job->culprit = culprit;
        run_line_erase(job->line);
        outcome_tell_culprit(&outcome, culprit, stderr);
    }
    outcome_release(&outcome);
    return hopeless;
}

static void job_become(void *context)
{
    const struct job *job = context;
    run_line_redirect(job->line);
}

static void job_pause(void *context, int pause_ms, int wakes)
{
    struct job *job = context;
    run_line_pause(job->line, pause_ms, wakes);
}

static void job_say(void *context, bool error, const char *bytes, size_t size)
{
    const struct job *job = context;
    run_line_say(job->line, error, bytes, size);
}

/* Its `moot rank` was killed, which would have left how the program ended. */
static void rank_lost(void *context, int rank, int signal)
{
    const struct job *job = context;
    outcome_leave(job->directory, rank, -1, LAUNCH_SIGNAL + signal, signal);
}

static int job_watch(struct job *job, char **argv)
{
    static const struct launch_watch watch = {is_hopeless, job_become, job_pause,
                                              job_say, rank_lost};
    const bool shows = !job->no_progress && run_line_fits();
    const bool holds = !job->verbose && !job->local;
    if (shows || holds) {
        job->line = run_line_new(job->sheets, job->ranks, shows, holds);
    }
    const int status = job->local ? launch_local(argv, job->ranks, &watch, job)
                                  : launch(argv, &watch, job);
    const int why = errno;
    /* Where the launcher itself fails, and nobody made it, its words are evidence. */
    run_line_free(job->line, status != CLI_OK && launch_signal() == 0 &&
                                 job->culprit == OUTCOME_NOBODY);
    job->line = NULL;
    job->launched = status >= 0;
    if (status < 0) {
        cli_complain(&verb_run, "cannot start %d rank%s here: %s", job->ranks,
                     job->ranks == 1 ? "" : "s", strerror(why));
        return CLI_FAILED;
    }
    return status;
}

/* The words before `moot rank`: none where that is started from here. */
static int launcher_choose(const struct job *job, struct launcher *launcher,
                           struct run_words *words)
{
    static char ranks[16];
    if (job->local) {
        return CLI_OK;
    }
    unsetenv(CHANNEL_RANK_VARIABLE); /* of a job that this one is started in */
    unsetenv(CHANNEL_VARIABLE);
    if (!launcher_find(launcher)) {
        cli_complain(&verb_run,
                     "there is no mpirun and no mpiexec in PATH; without MPI ranks of "
                     "this host are started by: moot run --launcher local -n %d ...",
                     job->ranks);
        return LAUNCH_NOT_FOUND;
    }
    run_words_add(words, launcher->path);
    run_words_add(words, "-n");
    snprintf(ranks, sizeof(ranks), "%d", job->ranks);
    run_words_add(words, ranks);
    if (launcher->open_mpi > 0) {
        run_words_open_mpi(words, launcher, job->ranks, job->knobs.threads > 0);
    }
    return CLI_OK;
}

static int job_launch(struct job *job)
{
    struct launcher launcher;
    struct run_words words = {.count = 0};
    const int chosen = launcher_choose(job, &launcher, &words);
    if (chosen != CLI_OK) {
        return chosen;
    }
    run_words_add(&words, job->self);
    run_words_add(&words, verb_rank.name);
    run_words_add(&words, job->directory);
    run_words_add(&words, job->path);
    const int own = words.count;
    int count = 0;
    while (job->program[1 + count]) {
        count++;
    }
    char **argv = calloc((size_t)(own + count) + 1, sizeof(*argv));
    if (!argv || words.full) {
        free(argv);
        cli_complain(&verb_run, "out of room for the launcher's command line");
        return CLI_FAILED;
    }
    memcpy(argv, words.items, (size_t)own * sizeof(*argv));
    memcpy(argv + own, job->program + 1, (size_t)count * sizeof(*argv));
    const int status = job_watch(job, argv);
    free(argv);
    return status;
}

/* --- The job ---------------------------------------------------------------------- */

/* A folder of our own for the ends; the sheets go where MOOT_SUMMARY says, or there. */
static bool directory_make(struct job *job)
{
    const char *temporary = getenv("TMPDIR");
    const int used =
        snprintf(job->directory, sizeof(job->directory), "%s/moot-run-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp");
    if (used >= (int)sizeof(job->directory)) {
        errno = ENAMETOOLONG;
    } else if (mkdtemp(job->directory)) {
        snprintf(job->sheets, sizeof(job->sheets), "%s",
                 *job->knobs.summary ? job->knobs.summary : job->directory);
        return setenv("MOOT_SUMMARY", job->sheets, 1) == 0;
    }
    *job->directory = '\0'; /* what is cut may name another folder: not to be emptied */
    return false;
}

static void directory_remove(const struct job *job)
{
    DIR *dir = opendir(job->directory);
    if (!dir) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
    rmdir(job->directory);
}

/* The ranks may work elsewhere: the folder is made here, and they get its whole name.
 */
static bool trace_export(const struct job *job)
{
    char path[LAUNCH_PATH_BYTES];
    struct stat about;
    if ((mkdir(job->trace, 0777) == 0 || errno == EEXIST) &&
        stat(job->trace, &about) == 0 && realpath(job->trace, path)) {
        if (S_ISDIR(about.st_mode) && strlen(path) < KNOB_TEXT_BYTES) {
            return setenv("MOOT_TRACE", path, 1) == 0;
        }
        errno = S_ISDIR(about.st_mode) ? ENAMETOOLONG : ENOTDIR;
    }
    cli_complain(&verb_run, "%s: %s", job->trace, strerror(errno));
    return false;
}

/* "; the launcher's status is 137 (signal 9, Killed)": with recovery, 0 says nothing.
 */
static void launcher_tell(const char *before, int status)
{
    const int number = status > LAUNCH_SIGNAL ? status - LAUNCH_SIGNAL : 0;
    fprintf(stderr, "moot: %s", before);
    if (status != CLI_OK) {
        fprintf(stderr, "; the launcher's status is %d", status);
    }
    if (number > 0 && number < NSIG) {
        fprintf(stderr, " (signal %d, %s)", number, strsignal(number));
    }
    fputc('\n', stderr);
}

/* The status of the whole: what the ranks say, else the launcher's. */
static int outcome_judge(const struct job *job, const struct outcome *outcome,
                         const struct sheets *sheets, int status)
{
    if (status != CLI_OK && launch_signal() != 0) {
        fprintf(stderr, "moot: ended by signal %d (%s)\n", launch_signal(),
                strsignal(launch_signal()));
    } else if (sheets->count == 0) {
        launcher_tell("no rank closed a moot", status);
    }
    if (sheets->count > 0) {
        sheets_print(sheets, stderr);
    }
    outcome_tell_losses(outcome, sheets, job->culprit, stderr);
    const bool struck =
        job->plan == NULL || outcome_tell_faults(outcome, job->plan, stderr);
    const int told =
        outcome_tell_failures(outcome, sheets, job->culprit, job->deaths, stderr);
    const bool ended_well = told == CLI_OK && status == CLI_OK;
    if (told == CLI_OK && status != CLI_OK && launch_signal() == 0) {
        launcher_tell("no rank complains", status);
    }
    if (!ended_well && launch_signal() != 0) {
        return LAUNCH_SIGNAL +
               launch_signal(); /* the ranks had another from the launcher */
    }
    if (told != CLI_OK) { /* of a launcher that was not started nobody tells */
        return status == LAUNCH_NOT_FOUND && sheets->count == 0 ? status : told;
    }
    return status == CLI_OK && !struck ? CLI_UNTESTED : status;
}

static int job_judge(const struct job *job, int status)
{
    struct sheets sheets = {0};
    struct outcome outcome;
    if (outcome_read(job->directory, job->sheets, (size_t)job->ranks, &outcome) &&
        sheets_read(job->sheets, &sheets)) {
        for (size_t r = 0; job->let_go && r < outcome.count; r++) {
            outcome.ends[r].let_go = job->let_go[r];
        }
        if (job->stalled) {
            outcome.ends[job->culprit].status = EXIT_FAILURE;
        }
        /* The launcher's own status is then that it was told to end. */
        status = outcome_judge(job, &outcome, &sheets, job->let_go ? CLI_OK : status);
    } else {
        cli_complain(&verb_run, "out of memory for the summary");
        status = status ? status : CLI_FAILED;
    }
    sheets_release(&sheets);
    outcome_release(&outcome);
    return status;
}

/* Where the plan stands that is wrong, if not right here. */
static void faults_tell_origin(const struct job *job)
{
    char origin[LAUNCH_PATH_BYTES];
    if (!job->faults) {
        cli_complain(&verb_run, "the plan is MOOT_FAULTS (%s):",
                     knobs_origin(&job->knobs, KNOB_FAULTS, origin, sizeof(origin)));
    }
}

/* Reads the plan and hands it to the ranks; CLI_USAGE, with the caret, if it is wrong.
 */
static int faults_take(struct job *job)
{
    struct plan_error error;
    char shown[2048];
    const char *text = job->faults ? job->faults : job->knobs.faults;
    if (*text == '\0') {
        return CLI_OK;
    }
    int code = plan_parse(text, &job->plan, &error);
    if (code == MOOT_OK) {
        code = plan_check_ranks(job->plan, (uint32_t)job->ranks, &error);
    }
    const bool sound = code == MOOT_OK; /* so that its means can be wrong alone */
    if (sound && strlen(text) >= KNOB_TEXT_BYTES) {
        cli_complain(&verb_run, "the plan has %zu bytes, and ranks take up to %d",
                     strlen(text), KNOB_TEXT_BYTES - 1);
        return CLI_USAGE;
    }
    if (sound && faults_check(text, shown, sizeof(shown)) == MOOT_OK) {
        return setenv("MOOT_FAULTS", text, 1) == 0 ? CLI_OK : CLI_FAILED;
    }
    faults_tell_origin(job);
    if (sound) {
        cli_complain(&verb_run, "%s", shown);
        return CLI_USAGE;
    }
    plan_error_format(text, &error, shown, sizeof(shown));
    fputs(shown, stderr);
    return CLI_USAGE;
}

/* Why there is no such program to be started. */
static int program_refuse(const char *name)
{
    struct stat about;
    const bool is_here = stat(name, &about) == 0;
    if (is_here && S_ISDIR(about.st_mode)) {
        cli_complain(&verb_run, "%s is a folder, and no program", name);
    } else if (is_here && !strchr(name, '/') && access(name, X_OK) == 0) {
        cli_complain(&verb_run,
                     "there is no program %s in PATH or among the examples; the one "
                     "in this folder is ./%s",
                     name, name);
    } else if (is_here) {
        cli_complain(&verb_run, "%s is there, but is no executable file", name);
    } else {
        cli_complain(&verb_run, "there is no program %s%s", name,
                     strchr(name, '=') ? "; settings begin with MOOT_" : "");
    }
    return LAUNCH_NOT_FOUND;
}

/* An option is stronger than the same knob in the environment or in a file, and says
 * so.  As a setting of this command it is another word of the same speaker: false. */
static bool given_once(const struct job *job, const char *option, const char *value,
                       enum knob knob)
{
    char told[KNOB_TEXT_BYTES], origin[LAUNCH_PATH_BYTES];
    knobs_format(&job->knobs, knob, told, sizeof(told));
    if (!value || *told == '\0' || strcmp(value, told) == 0 ||
        job->knobs.origins[knob].source == KNOB_FROM_DEFAULT) {
        return true;
    }
    if (job->knobs.origins[knob].source == KNOB_FROM_OPTIONS) {
        cli_usage(&verb_run, "%s %s and %s=%s are not the same: give one of them",
                  option, value, knob_table[knob].name, told);
        return false;
    }
    fprintf(stderr, "moot: %s %s is used, not %s=%s (%s)\n", option, value,
            knob_table[knob].name, told,
            knobs_origin(&job->knobs, knob, origin, sizeof(origin)));
    return true;
}

/* A variable that no knob has: a run that seems to obey it, and does not, misleads. */
static void stranger_refuse(void *context, const char *name)
{
    char story[256];
    (void)knobs_refuse_name(name, story, sizeof(story));
    cli_complain(&verb_run, "environment: %s; names with MOOT_ are moot's: unset it",
                 story);
    *(int *)context = CLI_USAGE;
}

/* What must be known before anything is started. */
static int job_prepare(struct job *job)
{
    const ssize_t length = readlink("/proc/self/exe", job->self, sizeof(job->self) - 1);
    char story[1500];
    int status = cli_knobs_load(&verb_run, job->settings, &job->knobs);
    if (status == CLI_OK) {
        knobs_each_stranger(stranger_refuse, &status);
    }
    if (status != CLI_OK) {
        return status;
    }
    if (knobs_agree(&job->knobs, true, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_run, "%s", story);
        return CLI_USAGE;
    }
    if (!given_once(job, "--trace", job->trace, KNOB_TRACE) ||
        !given_once(job, "--faults", job->faults, KNOB_FAULTS) ||
        !given_once(job, "--transport", job->transport, KNOB_TRANSPORT)) {
        return CLI_USAGE;
    }
    status = run_transport_choose(job->transport, &job->knobs, job->local);
    if (status != CLI_OK) {
        return status;
    }
    if (length <= 0 || !program_find(job->program[0], job->path)) {
        return program_refuse(job->program[0]);
    }
    const char *flaw = program_flaw(job->path);
    if (flaw) {
        cli_complain(&verb_run, "%s cannot be started: it %s", job->path, flaw);
        return LAUNCH_NOT_FOUND;
    }
    if (job->trace && !trace_export(job)) {
        return CLI_FAILED;
    }
    if (!directory_make(job)) {
        cli_complain(&verb_run, "no folder for the summary: %s", strerror(errno));
        return CLI_FAILED;
    }
    const int taken = faults_take(job);
    if (taken == CLI_OK && !sheets_clear(job->sheets)) {
        cli_complain(&verb_run, "MOOT_SUMMARY=%s: %s", job->sheets, strerror(errno));
        return CLI_FAILED;
    }
    return taken;
}

static int run_run(int argc, char **argv)
{
    static struct job job = {.culprit = OUTCOME_NOBODY};
    int status = arguments_parse(argc, argv, &job);
    if (status != CLI_OK) {
        return status;
    }
    status = job_prepare(&job);
    if (status == CLI_OK) {
        status = job_launch(&job);
        if (job.launched) {
            status = job_judge(&job, status);
        }
        if (strcmp(job.knobs.state, "off") != 0) {
            state_sweep(job.knobs.state); /* a rank that was killed could not */
        }
    }
    if (*job.directory) {
        directory_remove(&job);
    }
    free(job.let_go);
    plan_free(job.plan);
    return status;
}

const struct verb verb_run = {
    .name = "run",
    .line = "starts an SPMD program on N ranks and sums up its run",
    .usage =
        "run -n N [--launcher mpirun|local] [--transport NAME] [--faults PLAN] "
        "[--trace DIR] "
        "[--deaths WHICH] [--no-progress] [--verbose] [--] "
        "[MOOT_NAME=VALUE ...] PROGRAM [ARGUMENTS]\n"
        "\n"
        "Starts PROGRAM on N ranks with mpirun (or mpiexec) and the options that\n"
        "mpirun needs on this machine, and prints a summary on standard error at the\n"
        "end.  A PROGRAM without a slash is looked for in PATH, beside this command,\n"
        "and among the examples.\n"
        "\n"
        "  MOOT_NAME=VALUE  sets a knob for this run; `moot info` lists them\n"
        "  --launcher NAME  mpirun (the default) or local: ranks on this host, "
        "without\n"
        "                   MPI, over a transport that is not MPI's\n"
        "  --transport NAME how messages go from rank to rank: mpi, or, with\n"
        "                   --launcher local, ucx or the path of a shared object\n"
        "  --faults PLAN    ranks kill, stop and cut off themselves as the plan says:\n"
        "                   moot-fault-plan(7)\n"
        "  --trace DIR      each rank records what happens, for `moot report` and\n"
        "                   `moot trace export`\n"
        "  --deaths WHICH   whether a rank's death fails a job that others end well:\n"
        "                   fail (always), tolerate (by its own fault; the default),\n"
        "                   any (never)\n"
        "  --no-progress    without the line that tells on a terminal how far the\n"
        "                   tasks have come; so does the variable NO_PROGRESS\n"
        "  --verbose        with the launcher's own rows about ranks that are gone,\n"
        "                   such as PMIX ERROR\n"
        "\n"
        "Exit status: 0 if every rank ended well, was killed from outside or voted\n"
        "out, and at least one ended well; otherwise the status of the first rank "
        "that\n"
        "failed or died by its own fault (128 plus the signal), or 1.\n"
        "2 if the command line, a knob or the plan is wrong; 3 if all went well and a\n"
        "rule of the plan never struck; 127 if there is no such program, or it cannot\n"
        "be started; 128 plus its number if a signal ended the job.",
    .run = run_run,
};
