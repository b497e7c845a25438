/* sim_options.c - the command line of `moot sim`. */
#include "consensus/faultplan/plan_words.h"
#include "node/cli/sim_verb.h"
#include "node/config/text.h"
#include "proto/limits.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRIPT_BYTES_MAX = 1 << 24, TASKS_MAX = 1000000 };

/* --- Numbers ---------------------------------------------------------------------- */

static bool read_number(const char *word, uint64_t *out, const char **end)
{
    char *after;
    errno = 0;
    *out = strtoull(word, &after, 10);
    *end = after;
    return word[0] >= '0' && word[0] <= '9' && errno == 0;
}

/* A whole word in least..most. */
static bool read_count(const char *word, uint64_t least, uint64_t most, uint32_t *out)
{
    uint64_t number;
    const char *end;
    if (!read_number(word, &number, &end) || *end != '\0' || number < least ||
        number > most) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

/* --- Options with a value -------------------------------------------------------- */

static int bad_count(const char *option, const char *what, uint64_t least,
                     uint64_t most, const char *word)
{
    return cli_usage(&verb_sim,
                     "%s takes a number of %s, %" PRIu64 " to %" PRIu64 ", not \"%s\"",
                     option, what, least, most, word);
}

static int take_ranks(struct sim_command *command, const char *word)
{
    if (read_count(word, 1, LIMIT_RANKS, &command->trial.ranks)) {
        return CLI_OK;
    }
    return bad_count("--ranks", "ranks", 1, LIMIT_RANKS, word);
}

static int take_hosts(struct sim_command *command, const char *word)
{
    struct plan_error error;
    if (layout_hosts_parse(word, &command->trial.layout, &error)) {
        return CLI_OK;
    }
    return cli_usage(&verb_sim,
                     "--hosts takes hosts and ranks on each, as in 8x4, or drawn, not "
                     "\"%s\": %s",
                     word, error.wrong);
}

static int take_route(struct sim_command *command, const char *word)
{
    struct layout *layout = &command->trial.layout;
    const size_t length = strlen(word);
    if (length == 0 || length >= sizeof(layout->route)) {
        return cli_usage(&verb_sim, "--route takes a word of 1 to %zu bytes, not %zu",
                         sizeof(layout->route) - 1, length);
    }
    memcpy(layout->route, word, length + 1);
    return CLI_OK;
}

static int take_tasks(struct sim_command *command, const char *word)
{
    if (read_count(word, 1, TASKS_MAX, &command->trial.tasks)) {
        return CLI_OK;
    }
    return bad_count("--tasks", "tasks", 1, TASKS_MAX, word);
}

static int take_jobs(struct sim_command *command, const char *word)
{
    if (read_count(word, 1, SIM_JOBS_MAX, &command->jobs)) {
        return CLI_OK;
    }
    return bad_count("--jobs", "processes", 1, SIM_JOBS_MAX, word);
}

static int two_kinds_of_seeds(void)
{
    return cli_usage(&verb_sim, "--seed is one run and --seeds are many: give one of "
                                "them");
}

static int take_seed(struct sim_command *command, const char *word)
{
    const char *end;
    if (!read_number(word, &command->seed_first, &end) || *end != '\0') {
        return cli_usage(&verb_sim, "--seed takes a whole number, not \"%s\"", word);
    }
    if (command->many) {
        return two_kinds_of_seeds();
    }
    command->seed_last = command->seed_first;
    command->one = true;
    return CLI_OK;
}

static int take_seeds(struct sim_command *command, const char *word)
{
    const char *end;
    if (command->one) {
        return two_kinds_of_seeds();
    }
    command->many = true;
    bool first = read_number(word, &command->seed_first, &end);
    bool range = strncmp(end, "..", 2) == 0;
    bool last = range && read_number(end + 2, &command->seed_last, &end);
    if (errno == ERANGE || (last && command->seed_last == UINT64_MAX)) {
        return cli_usage(&verb_sim, "--seeds takes numbers up to %" PRIu64,
                         UINT64_MAX - 1);
    }
    if (first && last && *end == '\0' && command->seed_last >= command->seed_first) {
        return CLI_OK;
    }
    return cli_usage(&verb_sim, "--seeds takes a range such as 1..1000, not \"%s\"",
                     word);
}

static int take_faults(struct sim_command *command, const char *word)
{
    struct plan_error error;
    char text[2048];
    if (strcmp(word, "none") == 0) {
        command->trial.faults = TRIAL_NONE;
        return CLI_OK;
    }
    if (*word == '\0') {
        return cli_usage(&verb_sim, "--faults takes none, or a plan, not nothing");
    }
    plan_free(command->plan);
    command->plan = NULL;
    if (plan_parse(word, &command->plan, &error) != MOOT_OK) {
        plan_error_format(word, &error, text, sizeof(text));
        cli_complain(&verb_sim, "--faults takes none, or a plan, moot-fault-plan(7):");
        fputs(text, stderr);
        return CLI_USAGE;
    }
    command->trial.plan = command->plan;
    if (command->trial.faults != TRIAL_STORM) {
        command->trial.faults = TRIAL_PLAN;
    }
    return CLI_OK;
}

bool sim_lateness_read(const char *word, struct plan_spread *out,
                       struct plan_error *error)
{
    struct lexer lexer = {.text = word, .end = strlen(word), .error = error};
    *out = (struct plan_spread){0};
    if (strcmp(word, "none") == 0) {
        return true;
    }
    return lex_spread(&lexer, out) &&
           (lexer.at == lexer.end || lex_expected(&lexer, "the end", ""));
}

static int take_lateness(struct sim_command *command, const char *word)
{
    struct plan_error error;
    command->lateness_word = word;
    if (sim_lateness_read(word, &command->trial.workload.lateness, &error)) {
        return CLI_OK;
    }
    return cli_usage(&verb_sim,
                     "--lateness takes none, 1ms, 2ms+-1ms, exp:1ms or "
                     "pareto:1ms:1.5, not \"%s\": %s",
                     word, error.wrong);
}

static int take_canary(struct sim_command *command, const char *word)
{
    for (int i = 1; i < SIM_CANARY_END; i++) {
        if (strcmp(word, sim_canary_name((enum sim_canary)i)) == 0) {
            command->trial.canary = (enum sim_canary)i;
            return CLI_OK;
        }
    }
    struct text canaries = {0};
    for (int i = 1; i < SIM_CANARY_END; i++) {
        text_add(&canaries, "\n  %-16s seen by the check \"%s\"",
                 sim_canary_name((enum sim_canary)i),
                 sim_canary_check((enum sim_canary)i));
    }
    int status = cli_usage(&verb_sim, "there is no canary \"%s\"; there are:%s", word,
                           text_get(&canaries));
    text_release(&canaries);
    return status;
}

/* --- Workloads -------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *text = malloc(SCRIPT_BYTES_MAX + 1);
    if (file == NULL || text == NULL) {
        free(text);
        if (file != NULL && file != stdin) {
            fclose(file);
        }
        return NULL;
    }
    *size = fread(text, 1, SCRIPT_BYTES_MAX + 1, file);
    const int code = ferror(file) != 0          ? errno
                     : *size > SCRIPT_BYTES_MAX ? EFBIG /* it would run cut short */
                                                : 0;
    if (file != stdin) {
        fclose(file);
    }
    if (code != 0) {
        free(text);
        errno = code;
        return NULL;
    }
    return text;
}

static void complain_of_script(const struct sim_command *command,
                               const struct script_error *error)
{
    char text[1024];
    script_error_format(command->workload_word, command->script_text,
                        command->script_bytes, error, text, sizeof(text));
    fputs(text, stderr);
}

static int take_script(struct sim_command *command, const char *path,
                       const struct plan_error *mistake)
{
    struct script_error error;
    size_t size;
    command->script_text = read_file(path, &size);
    if (command->script_text == NULL) {
        int code = errno;
        if (strpbrk(path, "/.") != NULL) {
            return cli_usage(&verb_sim, "--workload %s: %s", path, strerror(code));
        }
        return cli_usage(&verb_sim,
                         "--workload takes a name (%s) or a script: %s (as a file: %s)",
                         mistake->allowed, mistake->wrong, strerror(code));
    }
    command->script_bytes = size;
    command->script = script_parse(command->script_text, size, &error);
    if (command->script == NULL) {
        complain_of_script(command, &error);
        return CLI_USAGE;
    }
    command->trial.workload.kind = WORKLOAD_SCRIPT;
    command->trial.workload.script = command->script;
    return CLI_OK;
}

static int take_workload(struct sim_command *command, const char *word)
{
    struct plan_error error;
    command->workload_word = word;
    if (workload_parse(word, &command->trial.workload, &error)) {
        return CLI_OK;
    }
    if (strchr(word, ':') != NULL && access(word, R_OK) != 0) {
        return cli_usage(&verb_sim, "--workload %s: %s%s%s", word, error.wrong,
                         *error.allowed ? "; allowed: " : "", error.allowed);
    }
    return take_script(command, word, &error);
}

/* --- Settings and sweeps --------------------------------------------------------- */

static int find_setting(const char *name, size_t length)
{
    for (int i = 0; i < TRIAL_SETTING_END; i++) {
        const char *known = trial_setting_name((enum trial_setting)i);
        bool same = strlen(known) == length;
        for (size_t k = 0; same && k < length; k++) {
            same = known[k] == name[k] || (known[k] == '-' && name[k] == '_');
        }
        if (same) {
            return i;
        }
    }
    return -1;
}

/* What the mistake says is allowed; of a time that may be a word, too, which one. */
static void setting_allowed(enum trial_setting setting, const struct plan_error *error,
                            struct text *text)
{
    struct plan_error unused;
    uint64_t value;
    const bool automatic = trial_setting_parse(setting, "auto", &value, &unused);
    const bool never = trial_setting_parse(setting, "never", &value, &unused);
    const bool is_told = error->allowed[0] != '\0';
    if (is_told || automatic || never) {
        text_add(text, "; allowed: %s%s%s",
                 is_told ? error->allowed : "a time such as 5ms",
                 automatic ? ", or auto" : "", never ? ", or never" : "");
    }
}

static int setting_refuse(enum trial_setting setting, const char *option,
                          const char *word, const struct plan_error *error)
{
    struct text allowed = {0};
    setting_allowed(setting, error, &allowed);
    const int status = cli_usage(&verb_sim, "--%s %s: %s%s", option, word, error->wrong,
                                 text_get(&allowed));
    text_release(&allowed);
    return status;
}

static int take_setting(struct sim_command *command, int setting, const char *word)
{
    struct plan_error error;
    struct trial *trial = &command->trial;
    trial->set[setting] = true;
    if (trial_setting_parse((enum trial_setting)setting, word,
                            &trial->settings[setting], &error)) {
        return CLI_OK;
    }
    return setting_refuse((enum trial_setting)setting,
                          trial_setting_name((enum trial_setting)setting), word,
                          &error);
}

static void settings_list(struct text *text)
{
    for (int i = 0; i < TRIAL_SETTING_END; i++) {
        text_add(text, "%s%s", i > 0 ? ", " : "",
                 trial_setting_name((enum trial_setting)i));
    }
}

static int take_sweep(struct sim_command *command, const char *word)
{
    const char *equals = strchr(word, '=');
    int setting = equals != NULL ? find_setting(word, (size_t)(equals - word)) : -1;
    if (setting < 0) {
        struct text settings = {0};
        settings_list(&settings);
        int status =
            cli_usage(&verb_sim,
                      "--sweep takes SETTING=VALUE,VALUE,... such as "
                      "vote-timeout=never,1ms,5ms, not \"%s\"; settings:\n  %s",
                      word, text_get(&settings));
        text_release(&settings);
        return status;
    }
    command->sweeps = true;
    command->sweep = (enum trial_setting)setting;
    for (const char *at = equals + 1; command->sweep_count < SIM_SWEEP_MAX; at++) {
        char value[64];
        struct plan_error error = {.wrong = "too long", .allowed = ""};
        size_t length = strcspn(at, ",");
        if (length == 0) {
            return cli_usage(&verb_sim, "--sweep %s: a value is missing", word);
        }
        (void)snprintf(value, sizeof(value), "%.*s", (int)(length < 63 ? length : 63),
                       at);
        if (length > 62 || !trial_setting_parse(
                               command->sweep, value,
                               &command->sweep_values[command->sweep_count], &error)) {
            return setting_refuse(command->sweep, "sweep", value, &error);
        }
        command->sweep_count++;
        at += length;
        if (*at == '\0') {
            return CLI_OK;
        }
    }
    return cli_usage(&verb_sim, "--sweep takes at most %d values", SIM_SWEEP_MAX);
}

/* --- All of it -------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*take)(struct sim_command *command, const char *word);
} options[] = {
    {"--ranks", take_ranks},       {"--canary", take_canary},
    {"--tasks", take_tasks},       {"--jobs", take_jobs},
    {"--seed", take_seed},         {"--seeds", take_seeds},
    {"--faults", take_faults},     {"--lateness", take_lateness},
    {"--workload", take_workload}, {"--sweep", take_sweep},
    {"--hosts", take_hosts},       {"--route", take_route},
};
enum { OPTIONS = sizeof(options) / sizeof(*options) };

static bool take_flag(struct sim_command *command, const char *word)
{
    if (strcmp(word, "--trace") == 0) {
        return command->trace = true;
    }
    if (strcmp(word, "--shrink") == 0) {
        return command->shrink = true;
    }
    if (strcmp(word, "--coverage") == 0) {
        return command->coverage = true;
    }
    if (strcmp(word, "--steady") == 0) {
        return command->trial.steady = true;
    }
    if (strcmp(word, "--drawn-storm") != 0) {
        return false;
    }
    command->trial.faults = TRIAL_STORM;
    return true;
}

/* Where it stands among the options, and the settings behind them; -1: there is none.
 */
static int find_option(const char *word)
{
    for (int i = 0; i < OPTIONS; i++) {
        if (strcmp(word, options[i].name) == 0) {
            return i;
        }
    }
    int setting =
        strncmp(word, "--", 2) == 0 ? find_setting(word + 2, strlen(word + 2)) : -1;
    return setting < 0 ? -1 : OPTIONS + setting;
}

/* Takes the option at argv[*i], and its value, which may stand in the next word, at
 * which *i is then.  `given`: what each has been given before; NULL: nothing. */
static int take_value(struct sim_command *command, const char **given, int argc,
                      char **argv, int *i)
{
    char name[64];
    const char *word = argv[*i], *equals = strchr(word, '='), *value;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    const int at = find_option(name);
    if (at < 0 && word[0] != '-') {
        return cli_usage(&verb_sim,
                         "unknown argument %s: a workload stands behind --workload, "
                         "a plan behind --faults, ranks behind --ranks",
                         word);
    }
    if (at < 0) {
        return cli_no_option(&verb_sim, word);
    }
    if (equals != NULL) {
        value = equals + 1;
    } else if (*i + 1 < argc) {
        value = argv[++*i];
    } else {
        return cli_usage(&verb_sim, "%s takes a value", name);
    }
    if (given[at] != NULL) {
        return cli_once(&verb_sim, name, given[at], value);
    }
    given[at] = value;
    return at < OPTIONS ? options[at].take(command, value)
                        : take_setting(command, at - OPTIONS, value);
}

static int check(struct sim_command *command)
{
    const struct trial *trial = &command->trial;
    const struct layout *layout = &trial->layout;
    struct script_error error;
    if (layout->route[0] != '\0' && layout->hosts == 0) {
        return cli_usage(&verb_sim, "--route goes with --hosts such as 8x4: %s",
                         layout->drawn ? "drawn hosts have a drawn route"
                                       : "it is between hosts");
    }
    const uint64_t placed = (uint64_t)layout->hosts * layout->host_ranks;
    if (trial->ranks == 0 && placed > LIMIT_RANKS) {
        return bad_count("--hosts", "ranks in all", 1, LIMIT_RANKS, "more");
    }
    if (trial->ranks == 0) {
        command->trial.ranks = (uint32_t)placed;
    }
    if (trial->ranks == 0) {
        return cli_usage(&verb_sim, "say how many ranks: --ranks N, or --hosts 8x4");
    }
    if (command->sweeps && trial->faults == TRIAL_DRAWN) {
        command->trial.faults = TRIAL_NONE;
    }
    if (trial->faults == TRIAL_STORM && trial->plan == NULL) {
        return cli_usage(&verb_sim, "--drawn-storm belongs to --faults PLAN");
    }
    if (command->trace && command->many) {
        return cli_usage(&verb_sim, "--trace tells one run: give --seed, not --seeds");
    }
    if (command->lateness_word != NULL && !workload_has_phases(trial->workload.kind)) {
        return cli_usage(&verb_sim, "--lateness goes with workloads that have phases, "
                                    "not with random and scripts");
    }
    if (trial->tasks > 0 && trial->workload.kind == WORKLOAD_SCRIPT) {
        return cli_usage(&verb_sim, "--tasks has no effect with a script, which says "
                                    "itself which tasks there are: leave --tasks out");
    }
    if (command->sweeps && (command->trace || command->shrink || command->coverage)) {
        return cli_usage(&verb_sim,
                         "--sweep goes with neither --trace, --shrink nor --coverage");
    }
    if (trial_check(trial, command->seed_first, &error)) {
        return CLI_OK;
    }
    if (error.line > 0) {
        complain_of_script(command, &error);
    } else {
        cli_complain(&verb_sim, "%s", error.wrong);
    }
    return CLI_USAGE;
}

int sim_options_read(int argc, char **argv, struct sim_command *out)
{
    const char *given[OPTIONS + TRIAL_SETTING_END] = {NULL};
    *out = (struct sim_command){.seed_first = 1, .seed_last = 1, .jobs = 1};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > 1) {
        out->jobs = cores < SIM_JOBS_MAX ? (uint32_t)cores : SIM_JOBS_MAX;
    }
    for (int i = 1; i < argc; i++) {
        if (take_flag(out, argv[i])) {
            continue;
        }
        int status = take_value(out, given, argc, argv, &i);
        if (status != CLI_OK) {
            return status;
        }
    }
    return check(out);
}

void sim_options_release(struct sim_command *command)
{
    plan_free(command->plan);
    script_free(command->script);
    free(command->script_text);
}
