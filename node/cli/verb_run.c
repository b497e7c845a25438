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
#include "node/agent/agent_folder.h"
#include "node/channel/channel.h"
#include "node/checkpoint/checkpoint.h"
#include "node/cli/cli.h"
#include "node/cli/run_job.h"
#include "node/cli/run_line.h"
#include "node/cli/run_transport.h"
#include "node/cli/run_words.h"
#include "node/faults/faults.h"
#include "node/launch/launch.h"
#include "node/launch/outcome.h"
#include "node/launch/relay.h"
#include "node/tools/sheet.h"
#include "node/tools/state_sockets.h"
#include "proto/limits.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_LOOKS = 25, STALL_LOOKS = 50 };

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

/* Ranks that have not ended are ended here: for the summary. */
static void rest_let_go(struct job *job, const struct outcome *outcome)
{
    job->let_go = calloc(run_growth_room(job), sizeof(*job->let_go));
    for (size_t r = 0; job->let_go && r < outcome->count; r++) {
        job->let_go[r] = !outcome->ends[r].known;
    }
}

/* Whether the others have waited in MPI_Finalize long enough for one that is gone. */
static bool hangs_at_end(struct job *job, const struct outcome *outcome)
{
    if (!outcome_hangs_at_end(outcome) || ++job->hanging_looks < PATIENCE_LOOKS) {
        return false;
    }
    rest_let_go(job, outcome);
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

/* Whether the last ranks are such as the others voted out, and have had their time. */
static bool is_outlived(struct job *job, const struct outcome *outcome)
{
    const struct run_late_job of = {.ends = job->directory,
                                    .sheets = job->sheets,
                                    .stall_ns = job->knobs.stall_ns,
                                    .lost = job->lost,
                                    .line = job->line};
    const bool outlived = run_late_look(&job->late, &of, outcome);
    if (outlived) {
        rest_let_go(job, outcome);
    }
    return outlived;
}

static bool outcome_of(const struct job *job, struct outcome *out)
{
    return outcome_read(job->directory, job->sheets, (size_t)job->ranks,
                        (size_t)job->started, out);
}

/* A rank ended the job, or failed where no moot misses it, and the others had time to
 * end as well. */
static bool is_hopeless(void *context)
{
    struct job *job = context;
    struct outcome outcome;
    size_t culprit = OUTCOME_NOBODY;
    run_growth_look(job);
    if (outcome_of(job, &outcome)) {
        culprit = outcome_culprit(&outcome);
        stragglers_tell(job, &outcome);
    }
    bool hopeless =
        culprit != OUTCOME_NOBODY &&
        (++job->hopeless_looks >= PATIENCE_LOOKS || outcome.ends[culprit].aborted);
    if (!hopeless) {
        hopeless = hangs_at_end(job, &outcome) || goes_on_stalled(job, &outcome) ||
                   is_outlived(job, &outcome);
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

static void job_say(void *context, int rank, bool error, const char *bytes, size_t size)
{
    const struct job *job = context;
    char label[16];
    const int length = snprintf(label, sizeof(label), "%d: ", rank);
    while (job->labels && size > 0) {
        const char *end = memchr(bytes, '\n', size);
        const size_t line = end ? (size_t)(end - bytes) + 1 : size;
        run_line_say(job->line, error, label, (size_t)length);
        run_line_say(job->line, error, bytes, line);
        bytes += line;
        size -= line;
    }
    if (size > 0) {
        run_line_say(job->line, error, bytes, size);
    }
}

/* Its `moot rank` was killed, which would have left how the program ended. */
static void rank_lost(void *context, int rank, int signal)
{
    const struct job *job = context;
    outcome_leave(job->directory, rank, -1, LAUNCH_SIGNAL + signal, signal);
}

static void ranks_joined(void *context, int first, int count)
{
    struct job *job = context;
    job->started = first + count;
    run_line_join(job->line, job->started);
}

/* "ranks 4 to 5", or "rank 4". */
static void host_lost(void *context, const char *host, int first, int count,
                      const char *why)
{
    struct job *job = context;
    job->lost =
        job->lost ? job->lost : calloc(run_growth_room(job), sizeof(*job->lost));
    for (int rank = first; job->lost && rank < first + count; rank++) {
        job->lost[rank] = true;
    }
    run_line_erase(job->line);
    fprintf(stderr, "moot: host %s is lost, with rank%s %d", host, count > 1 ? "s" : "",
            first);
    if (count > 1) {
        fprintf(stderr, " to %d", first + count - 1);
    }
    fprintf(stderr, "%s%s\n", *why ? ": " : "", why);
}

static void host_silent(void *context, const char *host, bool silent)
{
    const struct job *job = context;
    run_line_erase(job->line);
    fprintf(stderr, "moot: host %s %s\n", host,
            silent ? "has not been heard of for 10 s" : "is heard of again");
}

static void host_answered(void *context, const unsigned char *bytes, size_t size,
                          bool over)
{
    const struct job *job = context;
    run_line_answer(job->line, bytes, size, over);
}

static bool rank_ask(void *context, uint32_t rank, const char *path,
                     const char *question)
{
    const struct job *job = context;
    return fleet_ask(job->fleet, rank, path, question);
}

/* Runs it where it is to be run; -1 with the story why it could not be started. */
static int job_start(struct job *job, char **argv, char *story, size_t story_size)
{
    static const struct launch_watch watch = {is_hopeless, job_become,  job_pause,
                                              job_say,     rank_lost,   ranks_joined,
                                              host_lost,   host_silent, host_answered};
    const struct fleet_job on_hosts = {
        .max = (uint32_t)job->max,
        .agent = job->words.agent ? job->words.agent : job->self,
        .program = job->path,
        .arguments = job->program + 1,
        .folders = {job->directory, job->sheets, *job->traces ? job->traces : NULL}};
    if (job->fleet) {
        return launch_fleet(job->fleet, &on_hosts, &watch, job, story, story_size);
    }
    const int status = job->local
                           ? launch_local(argv, job->ranks, job->max, &watch, job)
                           : launch(argv, &watch, job);
    if (status < 0) {
        snprintf(story, story_size, "cannot start %d rank%s here: %s%s", job->ranks,
                 job->ranks == 1 ? "" : "s", strerror(errno), launch_remedy(errno));
    }
    return status;
}

/* A job that a signal has ended does not wait for one who reads no more, as with
 * `moot run ... 2>&1 | less`. */
static void words_drop(void)
{
    if (launch_signal() == 0 || relay_room(NULL, true, true)) {
        return;
    }
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
}

static int job_watch(struct job *job, char **argv)
{
    char story[1024] = "";
    const bool shows = !job->no_progress && run_line_fits();
    const bool holds = !job->verbose && !job->local && !job->fleet;
    if (shows || holds) {
        job->line = run_line_new(job->sheets, job->ranks, shows, holds);
    }
    if (job->fleet) {
        run_line_call_by(job->line, rank_ask, job);
    }
    const int status = job_start(job, argv, story, sizeof(story));
    words_drop();
    /* Where the launcher itself fails, and nobody made it, its words are evidence. */
    run_line_free(job->line, status != CLI_OK && launch_signal() == 0 &&
                                 job->culprit == OUTCOME_NOBODY && !job->let_go);
    job->line = NULL;
    job->launched = status >= 0;
    if (status < 0) {
        cli_complain(&verb_run, "%s", story);
        return launch_signal() != 0 ? LAUNCH_SIGNAL + launch_signal() : CLI_FAILED;
    }
    return status;
}

/* The words before `moot rank`: none where that is started from here. */
static int launcher_choose(const struct job *job, struct launcher *launcher,
                           struct run_words *words)
{
    static char ranks[16];
    if (job->local || job->fleet) {
        return CLI_OK;
    }
    unsetenv(CHANNEL_RANK_VARIABLE); /* of a job that this one is started in */
    unsetenv(CHANNEL_VARIABLE);
    unsetenv(CHANNEL_FIRST_VARIABLE);
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
        run_words_open_mpi(words, launcher, job->ranks, run_growth_most(job),
                           job->knobs.threads > 0);
    }
    if (job->labels) {
        run_words_label(words, launcher);
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
    const char *place = agent_folder_place();
    agent_folder_clear(RUN_FOLDER, place);
    if (!agent_folder_make(RUN_FOLDER, place, job->directory, sizeof(job->directory))) {
        cli_complain(&verb_run,
                     "no folder for the summary in %s: %s; TMPDIR names another place",
                     place, strerror(errno));
        return false;
    }
    snprintf(job->sheets, sizeof(job->sheets), "%s",
             *job->knobs.summary ? job->knobs.summary : job->directory);
    return setenv("MOOT_SUMMARY", job->sheets, 1) == 0;
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
        job->plan == NULL || outcome_tell_faults(outcome, sheets, job->plan, stderr);
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

static int job_judge(struct job *job, int status)
{
    struct sheets sheets = {0};
    struct outcome outcome;
    run_growth_look(job);
    if (outcome_of(job, &outcome) && sheets_read(job->sheets, &sheets) &&
        sheets_reach(&sheets, (size_t)job->ranks, outcome_joined(&outcome, &sheets))) {
        for (size_t r = 0; job->let_go && r < outcome.count; r++) {
            outcome.ends[r].let_go = job->let_go[r];
        }
        for (size_t r = 0; job->lost && r < outcome.count; r++) {
            outcome.ends[r].lost = job->lost[r] && !outcome.ends[r].known;
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
        const size_t room = run_growth_room(job);
        job->places = job->fleet   ? fleet_places(job->fleet)
                      : job->local ? calloc(room, sizeof(*job->places))
                                   : NULL;
        plan_place(job->plan, job->places, job->places ? (uint32_t)job->ranks : 0);
        code = plan_check_ranks(job->plan, (uint32_t)room, &error);
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
    if (knobs_agree(&job->knobs, true, story, sizeof(story)) != MOOT_OK ||
        checkpoint_check(&job->knobs, story, sizeof(story)) != MOOT_OK) {
        cli_complain(&verb_run, "%s", story);
        return CLI_USAGE;
    }
    if (!given_once(job, "--trace", job->trace, KNOB_TRACE) ||
        !given_once(job, "--checkpoint", job->checkpoint, KNOB_CHECKPOINT) ||
        !given_once(job, "--faults", job->faults, KNOB_FAULTS) ||
        !given_once(job, "--transport", job->transport, KNOB_TRANSPORT) ||
        !given_once(job, "--joins", job->joins, KNOB_JOINS)) {
        return CLI_USAGE;
    }
    const bool fleet = run_fleet_is_meant(job->words.launcher);
    const char *launcher = job->local || fleet ? job->words.launcher : NULL;
    status = run_transport_choose(job->transport, &job->knobs, launcher);
    if (status == CLI_OK) {
        status = fleet ? run_fleet_open(&job->words, &job->ranks, &job->fleet) : CLI_OK;
    }
    if (status == CLI_OK) {
        status = run_route_check(&job->knobs, launcher, job->fleet);
    }
    if (status == CLI_OK) {
        status = run_growth_check(job);
    }
    if (status != CLI_OK) {
        return status;
    }
    status = length > 0 ? run_program_find(job) : LAUNCH_NOT_FOUND;
    if (status != CLI_OK) {
        return status;
    }
    if (!run_folders_export(job) || !directory_make(job)) {
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
    int status = run_options_read(argc, argv, &job);
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
    agent_folder_remove(job.directory);
    fleet_free(job.fleet);
    free(job.let_go);
    free(job.lost);
    plan_free(job.plan);
    free(job.places);
    return status;
}

const struct verb verb_run = {
    .name = "run",
    .line = "starts an SPMD program on N ranks and sums up its run",
    .usage =
        "run [-n N] [--min N] [--max N] [--joins WHEN] [--launcher NAME] "
        "[--hosts LIST | --hostfile FILE] [--agent PATH] [--transport NAME] "
        "[--faults PLAN] [--checkpoint DIR] [--trace DIR] [--deaths WHICH] [--label] "
        "[--no-progress] "
        "[--verbose] [--] [MOOT_NAME=VALUE ...] PROGRAM [ARGUMENTS]\n"
        "\n"
        "Starts PROGRAM on N ranks with mpirun (or mpiexec) and the options that\n"
        "mpirun needs on this machine, and prints a summary on standard error at the\n"
        "end.  A PROGRAM without a slash is looked for in PATH, beside this command,\n"
        "and among the examples.\n"
        "\n"
        "  MOOT_NAME=VALUE  sets a knob for this run; `moot info` lists them\n"
        "  --launcher NAME  mpirun (the default); or, over a transport that is not\n"
        "                   MPI's: local (ranks on this host), ssh or slurm (on\n"
        "                   several), or the path of a shared object\n"
        "  --hosts LIST     where ssh starts them, as a:2,b:2; then -n may be left "
        "out;\n"
        "                   --hostfile FILE has one a line\n"
        "  --agent PATH     the moot command on the hosts, if it is not where it is "
        "here\n"
        "  --max N          ranks may join while it runs (`moot grow`), N at a time,\n"
        "  --joins WHEN     at once (live, the default), or between sessions "
        "(session)\n"
        "  --min N          and may be told to leave it down to N (`moot shrink`); 1\n"
        "                   without it\n"
        "  --transport NAME how messages go from rank to rank: mpi, or, with another\n"
        "                   launcher than mpirun, tcp, ucx or the path of a shared\n"
        "                   object\n"
        "  --label          puts its number before each line that a rank says\n"
        "  --faults PLAN    ranks kill, stop and cut off themselves as the plan says:\n"
        "                   moot-fault-plan(7)\n"
        "  --checkpoint DIR results are stored there, and those that a run before has\n"
        "                   stored are found: what was killed is started again, on "
        "any\n"
        "                   number of ranks, and does what is missing\n"
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
