/* verb_tune.c - `moot tune`: timers for a program, from what it does here.
 *
 * Runs the program a few times as `moot run --trace` does, with frequent heartbeats and
 * no vote timeout, so that round trips can be counted and nothing cuts a wait short;
 * measures; replays what was recorded with other timers; and writes down the choice.
 */
#include "consensus/sim/runs/trial.h"
#include "node/agent/agent_folder.h"
#include "node/cli/cli.h"
#include "node/config/knobs.h"
#include "node/tools/tune.h"
#include "proto/limits.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RUNS_LEAST = 3,
    PATH_BYTES = 4096,
    BACKUP_BYTES = PATH_BYTES + 16,
    SECONDS_MOST = 15,
    SEEDS = 2,
    SETTINGS_OWN = 4,
    SETTINGS_MAX = 32 - SETTINGS_OWN /* `moot run` takes 32 */
};

struct tuning {
    const char *ranks;     /* as it was written */
    const char *runs_word; /* likewise */
    long runs;             /* 0: until it is enough */
    const char *path;      /* of the file */
    const char *bandwidth_word, *link_bandwidth_word;
    struct tune_wire wire; /* these, read */
    int first;             /* of the program's words in argv, */
    int setting_count;     /* so many of which are knobs */
    int argc;
    char **argv;
    char directory[PATH_BYTES];
    struct tune_measures measures;
    struct program *programs[TUNE_RUNS_MAX];
    size_t program_count;
    bool whole;
};

/* --- The command line ------------------------------------------------------------- */

static bool number_read(const char *text, long least, long most, long *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtol(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *out >= least && *out <= most;
}

/* As `moot sim` reads it. */
static int rate_read(const char *option, const char *word, uint64_t *out)
{
    struct plan_error error;
    if (trial_rate_parse(word, out, &error)) {
        return CLI_OK;
    }
    return cli_usage(&verb_tune, "%s %s: %s%s%s", option, word, error.wrong,
                     error.allowed[0] != '\0' ? "; allowed: " : "", error.allowed);
}

/* Takes the option at argv[*i], and its value, which may stand in the next word. */
static int option_take(struct tuning *tuning, int *i)
{
    static const char *const names[] = {"-n", "-o", "--runs", "--bandwidth",
                                        "--link-bandwidth"};
    enum { RANKS, PATH, RUNS, BANDWIDTH, LINK_BANDWIDTH, NAMES };
    const char **const words[] = {&tuning->ranks, &tuning->path, &tuning->runs_word,
                                  &tuning->bandwidth_word,
                                  &tuning->link_bandwidth_word};
    const char *option = tuning->argv[*i], *value = NULL;
    int name = 0, ranks = 0, status = CLI_OK;
    while (name < NAMES &&
           !(value = cli_option(tuning->argc, tuning->argv, i, names[name]))) {
        name++;
    }
    if (!value) {
        return cli_no_option(&verb_tune, option);
    }
    if (name != RANKS && *value == '\0') {
        return cli_usage(&verb_tune, "%s lacks its value", names[name]);
    }
    if (name == RANKS) {
        status = cli_ranks_read(&verb_tune, value, 2, &ranks);
    } else if (name == RUNS && !number_read(value, 1, TUNE_RUNS_MAX, &tuning->runs)) {
        return cli_usage(&verb_tune, "--runs '%s' is no number of runs, 1 to %d", value,
                         TUNE_RUNS_MAX);
    } else if (name == BANDWIDTH) {
        status = rate_read(names[name], value, &tuning->wire.bandwidth);
    } else if (name == LINK_BANDWIDTH) {
        status = rate_read(names[name], value, &tuning->wire.link_bandwidth);
    }
    if (status == CLI_OK) {
        status = cli_once(&verb_tune, names[name], *words[name], value);
    }
    *words[name] = value;
    return status;
}

static int arguments_read(int argc, char **argv, struct tuning *tuning)
{
    bool ended = false; /* by --: what follows may begin with a dash */
    int i = 1, status = CLI_OK;
    *tuning = (struct tuning){.argc = argc, .argv = argv, .whole = true};
    for (; i < argc && argv[i][0] == '-' && !ended && status == CLI_OK; i++) {
        ended = strcmp(argv[i], "--") == 0;
        status = ended ? CLI_OK : option_take(tuning, &i);
    }
    tuning->first = i;
    if (status == CLI_OK) {
        status = cli_settings_count(&verb_tune, argc, argv, i, ended, SETTINGS_MAX,
                                    &tuning->setting_count);
    }
    if (status != CLI_OK) {
        return status;
    }
    if (tuning->path == NULL) {
        tuning->path = "moot.conf";
    }
    if (tuning->ranks == NULL) {
        return cli_usage(&verb_tune, "how many ranks?  -n N is missing%s%s",
                         i < argc ? " before " : "", i < argc ? argv[i] : "");
    }
    if (i + tuning->setting_count >= argc) {
        return cli_usage(&verb_tune, "which program?");
    }
    return CLI_OK;
}

/* --- Runs ------------------------------------------------------------------------- */

static bool directory_make(struct tuning *tuning)
{
    const char *place = agent_folder_place();
    agent_folder_clear(TUNE_FOLDER, place);
    return agent_folder_make(TUNE_FOLDER, place, tuning->directory,
                             sizeof(tuning->directory));
}

static void directory_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
}

/* Whether the user sets the same knob. */
static bool is_overridden(const struct tuning *tuning, const char *setting)
{
    const size_t length = strcspn(setting, "=") + 1;
    const int count = tuning->setting_count;
    int i = 0;
    while (i < count &&
           strncmp(tuning->argv[tuning->first + i], setting, length) != 0) {
        i++;
    }
    return i < count;
}

/* What a run is told, so that round trips can be counted, and nothing cuts a wait
 * short.  What the user sets is stronger. */
static char **run_settings(void)
{
    static char timeout[] = "MOOT_VOTE_TIMEOUT=never", lease[] = "MOOT_LEASE=5s",
                suspect[] = "MOOT_SUSPECT=30s", heartbeat[64];
    static char *settings[SETTINGS_OWN + 1] = {heartbeat, lease, suspect, timeout,
                                               NULL};
    snprintf(heartbeat, sizeof(heartbeat), "MOOT_HEARTBEAT=%" PRId64 "ms",
             TUNE_HEARTBEAT_NS / 1000000);
    return settings;
}

/* Another trace than tune's is refused where it was asked for right here; what stands
 * elsewhere is for other runs. */
static int trace_check(const struct knobs *knobs)
{
    char origin[PATH_BYTES];
    if (knobs->origins[KNOB_TRACE].source == KNOB_FROM_OPTIONS) {
        return cli_usage(&verb_tune, "MOOT_TRACE=%s: tune keeps traces of its own",
                         knobs->trace);
    }
    if (*knobs->trace != '\0') {
        cli_complain(
            &verb_tune, "MOOT_TRACE=%s (%s) is not used: tune keeps traces of its own",
            knobs->trace, knobs_origin(knobs, KNOB_TRACE, origin, sizeof(origin)));
    }
    return CLI_OK;
}

/* Whether the ranks can take all knobs, as `moot run` would see. */
static int settings_check(const struct tuning *tuning)
{
    const char *all[SETTINGS_OWN + SETTINGS_MAX + 1];
    char story[1500];
    struct knobs knobs;
    int count = 0;
    for (char **own = run_settings(); *own != NULL; own++) {
        all[count++] = *own;
    }
    for (int i = 0; i < tuning->setting_count; i++) {
        all[count++] = tuning->argv[tuning->first + i];
    }
    all[count] = NULL;
    const int status = cli_knobs_load(&verb_tune, all, &knobs);
    if (status != CLI_OK) {
        return status;
    }
    if (knobs_agree(&knobs, true, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_tune,
                     "%s; unless it is told otherwise here, tune sets %s, %s and %s",
                     story, all[0], all[1], all[2]);
        return CLI_USAGE;
    }
    return trace_check(&knobs);
}

/* The words of `moot run` for this program; the caller frees the array. */
static char **run_words(const struct tuning *tuning, char *self, char *settings[])
{
    static char run[] = "run", option_n[] = "-n", option_trace[] = "--trace",
                dashes[] = "--";
    char **words = calloc((size_t)tuning->argc + 16, sizeof(*words));
    size_t count = 0;
    if (words == NULL) {
        return NULL;
    }
    words[count++] = self;
    words[count++] = run;
    words[count++] = option_n;
    words[count++] = (char *)(uintptr_t)tuning->ranks;
    words[count++] = option_trace;
    words[count++] = (char *)(uintptr_t)tuning->directory;
    words[count++] = dashes;
    for (size_t i = 0; settings[i] != NULL; i++) {
        if (!is_overridden(tuning, settings[i])) {
            words[count++] = settings[i];
        }
    }
    for (int i = tuning->first; i < tuning->argc; i++) {
        words[count++] = tuning->argv[i];
    }
    return words;
}

/* The choice goes to standard output, and nothing else does. */
static bool is_standard(const struct tuning *tuning)
{
    return strcmp(tuning->path, "-") == 0;
}

static volatile sig_atomic_t running; /* the run's process id; 0: none */
static volatile sig_atomic_t told;    /* the signal that says to end; 0: none came */

/* A terminal sends its signals to the run as well; what was meant for this process
 * alone is handed on, so that the run ends and nothing is left behind. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    told = number;
    if (running > 0 && info->si_code <= 0) {
        kill((pid_t)running, number);
    }
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };
static struct sigaction signals_before[SIGNALS];

/* While there are runs, and a folder to remove.  What is ignored stays so: nohup(1). */
static void signals_take(void)
{
    struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &signals_before[i]);
        if (signals_before[i].sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

static void signals_give_back(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], &signals_before[i], NULL);
    }
}

/* The end of the run, as a shell tells it. */
static int run_await(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        ;
    }
    running = 0;
    return WIFSIGNALED(status) ? LAUNCH_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The exit status of one run; what it prints is for the first to show. */
static int run_once(const struct tuning *tuning, bool shown)
{
    static char self[] = "/proc/self/exe";
    char **words = run_words(tuning, self, run_settings());
    if (words == NULL) {
        return CLI_FAILED;
    }
    fflush(NULL);
    const pid_t child = told ? -1 : fork();
    if (child == 0) {
        signals_give_back();
        prctl(PR_SET_PDEATHSIG,
              SIGTERM); /* a tune that is killed takes its run along */
        /* Or the run tells that ours is stronger. */
        if (setenv("MOOT_TRACE", tuning->directory, 1) != 0) {
            _exit(CLI_FAILED);
        }
        const int nowhere = shown ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere >= 0) {
            dup2(nowhere, STDOUT_FILENO);
            dup2(nowhere, STDERR_FILENO);
        } else if (is_standard(tuning)) {
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        execv(self, words);
        _exit(LAUNCH_NOT_FOUND);
    }
    free(words);
    running = child > 0 ? child : 0;
    return child > 0 ? run_await(child) : CLI_FAILED;
}

static bool trace_take_in(struct tuning *tuning)
{
    struct trace_job trace;
    char story[4300];
    bool whole = true;
    if (!trace_read(tuning->directory, &trace, story, sizeof(story))) {
        cli_complain(&verb_tune, "%s: the program has opened no moot", story);
        return false;
    }
    const bool measured = tune_measure(&trace, &tuning->measures);
    struct program *program =
        measured ? tune_program(&trace, tune_wire_is_bound(&tuning->wire), &whole)
                 : NULL;
    if (program != NULL) {
        tuning->programs[tuning->program_count++] = program;
    }
    tuning->whole &= whole;
    trace_release(&trace);
    directory_empty(tuning->directory);
    if (!measured) {
        cli_complain(&verb_tune, "out of memory");
    }
    return measured;
}

/* Unless told how many: three, and more while there are too few late chairs and time.
 */
static bool is_enough(const struct tuning *tuning, uint32_t done, time_t began)
{
    const time_t took = time(NULL) - began;
    if (tuning->runs > 0) {
        return done >= (uint32_t)tuning->runs;
    }
    return done >= TUNE_RUNS_MAX || took >= SECONDS_MOST ||
           (done >= RUNS_LEAST &&
            tune_early_asks(&tuning->measures) >= TUNE_ASKS_LEAST);
}

static int runs_make(struct tuning *tuning)
{
    const time_t began = time(NULL);
    for (uint32_t done = 0; !is_enough(tuning, done, began); done++) {
        const int status = run_once(tuning, done == 0);
        if (told) {
            return LAUNCH_SIGNAL + told;
        }
        if (status != CLI_OK) {
            cli_complain(&verb_tune,
                         "run %" PRIu32 " of the program failed with status %d: a run "
                         "that fails is not measured%s",
                         done + 1, status,
                         done > 0 ? "; `moot run` shows what it says" : "");
            return CLI_FAILED;
        }
        if (!trace_take_in(tuning)) {
            return CLI_FAILED;
        }
    }
    tune_measures_sort(&tuning->measures);
    return CLI_OK;
}

/* --- The answer ------------------------------------------------------------------- */

static void command_join(const struct tuning *tuning, char *text, size_t size)
{
    size_t used = 0;
    for (int i = tuning->first; i < tuning->argc && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i > tuning->first ? " " : "", tuning->argv[i]);
    }
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ') {
            *c = ' ';
        }
    }
}

/* Where what is in the file is to be kept: beside it, under the first number that is
 * free.  "" if there is nothing to keep: no file, an empty one, a device. */
static const char *backup_path(const struct tuning *tuning, char *real, char *backup)
{
    struct stat status;
    *backup = '\0';
    if (is_standard(tuning) || stat(tuning->path, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size == 0 ||
        !realpath(tuning->path, real)) {
        return backup;
    }
    for (unsigned n = 1; *backup == '\0' || access(backup, F_OK) == 0; n++) {
        snprintf(backup, BACKUP_BYTES, "%s.~%u~", real, n);
    }
    return backup;
}

static bool folder_takes(const char *path)
{
    char folder[BACKUP_BYTES];
    snprintf(folder, sizeof(folder), "%s", path);
    folder[strrchr(folder, '/') - folder + 1] = '\0';
    return access(folder, W_OK) == 0;
}

/* A minute of runs should not be for nothing: whether the file can be written, and what
 * is in it kept, is seen before. */
static bool file_try(const struct tuning *tuning)
{
    char real[PATH_BYTES], backup[BACKUP_BYTES];
    struct stat status;
    const bool new = lstat(tuning->path, &status) != 0;
    const int fd =
        is_standard(tuning)
            ? STDOUT_FILENO
            : open(tuning->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) {
        cli_complain(&verb_tune, "%s: %s", tuning->path, strerror(errno));
        return false;
    }
    if (!is_standard(tuning)) {
        close(fd);
        if (new) {
            unlink(tuning->path);
        }
    }
    if (*backup_path(tuning, real, backup) != '\0' && !folder_takes(backup)) {
        cli_complain(&verb_tune, "%s: its content cannot be kept beside it: %s",
                     tuning->path, strerror(errno));
        return false;
    }
    return true;
}

static int config_write(const struct tuning *tuning, const struct tune_advice *advice)
{
    char command[512] = "", real[PATH_BYTES], backup[BACKUP_BYTES];
    const bool standard = is_standard(tuning);
    if (*backup_path(tuning, real, backup) != '\0' && rename(real, backup) != 0) {
        cli_complain(&verb_tune, "%s: %s", backup, strerror(errno));
        return CLI_FAILED;
    }
    FILE *file = standard ? stdout : fopen(tuning->path, "w");
    command_join(tuning, command, sizeof(command));
    if (file == NULL) {
        cli_complain(&verb_tune, "%s: %s", tuning->path, strerror(errno));
        if (*backup != '\0') {
            (void)rename(backup, real);
        }
        return CLI_FAILED;
    }
    tune_write_config(&tuning->measures, advice, command, file);
    if (standard) {
        return CLI_OK; /* main sees whether it could be written */
    }
    const bool flushed = fflush(file) == 0 && ferror(file) == 0;
    const int why = errno;
    const bool written = fclose(file) == 0 && flushed;
    if (!written) {
        cli_complain(&verb_tune, "%s: %s", tuning->path,
                     strerror(flushed ? errno : why));
        if (*backup != '\0') { /* half of a file may say other than was meant */
            (void)rename(backup, real);
        }
        return CLI_FAILED;
    }
    printf("\n%s: MOOT_CONFIG=%s has it used\n", tuning->path, tuning->path);
    if (*backup != '\0') {
        printf("%s: the older content of %s\n", backup, tuning->path);
    }
    return CLI_OK;
}

static int answer(struct tuning *tuning)
{
    static struct tune_advice advice;
    FILE *to = is_standard(tuning) ? stderr : stdout;
    const struct tune_input input = {.programs = tuning->programs,
                                     .program_count = tuning->program_count,
                                     .measures = &tuning->measures,
                                     .wire = tuning->wire,
                                     .seeds = SEEDS};
    fputc('\n', to);
    tune_print_measures(&tuning->measures, to);
    advice.whole = tuning->whole;
    tune_advise(&input, &advice);
    tune_print_advice(&tuning->measures, &advice, to);
    return config_write(tuning, &advice);
}

static int tune_run(int argc, char **argv)
{
    static struct tuning tuning;
    int status = arguments_read(argc, argv, &tuning);
    if (status == CLI_OK) {
        status = settings_check(&tuning);
    }
    if (status != CLI_OK) {
        return status;
    }
    if (!file_try(&tuning)) {
        return CLI_FAILED;
    }
    if (!directory_make(&tuning)) {
        cli_complain(&verb_tune, "no folder for the traces: %s", strerror(errno));
        return CLI_FAILED;
    }
    signals_take();
    status = runs_make(&tuning);
    agent_folder_remove(tuning.directory);
    signals_give_back();
    if (told) {
        raise(told); /* as if it had not been held up */
    }
    if (status == CLI_OK) {
        status = answer(&tuning);
    }
    for (size_t i = 0; i < tuning.program_count; i++) {
        program_free(tuning.programs[i]);
    }
    tune_measures_release(&tuning.measures);
    return status;
}

const struct verb verb_tune = {
    .name = "tune",
    .line = "measures a program's runs, and finds timers for it",
    .usage =
        "tune -n N [-o FILE] [--runs R] [--bandwidth RATE] [--link-bandwidth RATE]\n"
        "                 [--] [MOOT_NAME=VALUE ...] PROGRAM [ARGUMENTS]\n"
        "\n"
        "Runs PROGRAM on N ranks a few times, as `moot run` does, and measures round\n"
        "trips, gaps in progress, and how late ranks spawn tasks that others ask for.\n"
        "Replays these runs in the simulator with other vote timeouts, and with late\n"
        "messages and a death.  Prints how each would do, and advises one.\n"
        "\n"
        "  -n N       the number of ranks\n"
        "  -o FILE    where the advice goes, for MOOT_CONFIG (default: moot.conf); an\n"
        "             older FILE is kept as FILE.~1~, FILE.~2~, ...; - is standard\n"
        "             output, and the tables then go to standard error\n"
        "  --runs R   the number of runs (default: three, and more for up to 15 s if\n"
        "             they tell too little)\n"
        "  --bandwidth RATE, --link-bandwidth RATE\n"
        "             bytes a second that each rank, and each pair of ranks, carries "
        "in\n"
        "             replays, such as 1GB or 10Gbit (default: none, any number)\n"
        "\n"
        "Exit status: 0; 1 if the program failed or FILE cannot be written; 2 if the\n"
        "command line or a knob is wrong; 128 + N if signal N ended it.",
    .run = tune_run,
};
