/* run_options.c - the command line of `moot run`; see run_job.h. */
#include "node/cli/cli.h"
#include "node/cli/run_job.h"
#include "proto/limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The value of --min or --max. */
static int number_read(const char *option, const char *value, int *out)
{
    char *end;
    const long number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || number < 1 || number > (long)LIMIT_RANKS) {
        return cli_usage(&verb_run, "%s is '%s', but may be 1 to %u", option, value,
                         LIMIT_RANKS);
    }
    *out = (int)number;
    return CLI_OK;
}

/* Takes the option at argv[*i], and its value, which may stand in the next word. */
static int option_parse(int argc, char **argv, int *i, struct job *job)
{
    static const char *const names[] = {
        "-n",         "--faults", "--trace",     "--deaths", "--transport",
        "--launcher", "--hosts",  "--hostfile",  "--agent",  "--min",
        "--max",      "--joins",  "--checkpoint"};
    enum {
        RANKS,
        FAULTS,
        TRACE,
        DEATHS,
        TRANSPORT,
        LAUNCHER,
        MIN = 9,
        MAX,
        JOINS,
        CHECKPOINT,
        NAMES
    };
    const char **const words[] = {
        &job->ranks_word,  &job->faults,         &job->trace,
        &job->deaths_word, &job->transport,      &job->words.launcher,
        &job->words.hosts, &job->words.hostfile, &job->words.agent,
        &job->min_word,    &job->max_word,       &job->joins,
        &job->checkpoint};
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
    if (strcmp(option, "--label") == 0) {
        job->labels = true;
        return CLI_OK;
    }
    while (name < NAMES && !(value = cli_option(argc, argv, i, names[name]))) {
        name++;
    }
    if (!value) {
        return cli_no_option(&verb_run, option);
    }
    if ((name == TRACE || name == CHECKPOINT) && *value == '\0') {
        return cli_usage(&verb_run, "%s names no folder", names[name]);
    }
    if (name == FAULTS && *value == '\0' && *i + 1 == argc) {
        return cli_usage(&verb_run, "--faults lacks its plan");
    }
    if (name >= TRANSPORT && name < MIN && *value == '\0') {
        return cli_usage(&verb_run, "%s names no %s", names[name], names[name] + 2);
    }
    if (name == RANKS) {
        status = cli_ranks_read(&verb_run, value, 1, &job->ranks);
    } else if (name == MIN || name == MAX) {
        status = number_read(names[name], value, name == MIN ? &job->min : &job->max);
    } else if (name == DEATHS) {
        status = deaths_read(value, &job->deaths);
    } else if (name == LAUNCHER) {
        job->local = strcmp(value, "local") == 0;
    }
    if (status == CLI_OK) {
        status = cli_once(&verb_run, names[name], *words[name], value);
    }
    *words[name] = value;
    return status;
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

int run_program_find(struct job *job)
{
    if (!program_find(job->program[0], job->path)) {
        return program_refuse(job->program[0]);
    }
    const char *flaw = program_flaw(job->path);
    if (flaw) {
        cli_complain(&verb_run, "%s cannot be started: it %s", job->path, flaw);
        return LAUNCH_NOT_FOUND;
    }
    return CLI_OK;
}

int run_options_read(int argc, char **argv, struct job *job)
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
    const bool fleet = run_fleet_is_meant(job->words.launcher);
    if (!fleet && run_fleet_refuse(&job->words) != CLI_OK) {
        return CLI_USAGE;
    }
    if (job->ranks == 0 && !fleet) {
        return cli_usage(&verb_run, "how many ranks?  -n N is missing%s%s",
                         i < argc ? " before " : "", i < argc ? argv[i] : "");
    }
    if (i == argc &&
        (argv[argc - 1] == job->trace || argv[argc - 1] == job->checkpoint)) {
        return cli_usage(&verb_run, "which program?  %s is the folder of %s",
                         argv[argc - 1],
                         argv[argc - 1] == job->trace ? "--trace" : "--checkpoint");
    }
    if (i == argc) {
        return cli_usage(&verb_run, "which program?");
    }
    job->program = argv + i;
    return CLI_OK;
}
