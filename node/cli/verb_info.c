/* verb_info.c - `moot info`: versions, features, limits, and knobs with their values
 * and origins, all of them or those that most users need. */
#include "node/api/moot.h"
#include "node/cli/cli.h"
#include "node/config/knobs.h"
#include "node/launchers/launchers.h"
#include "node/tools/json.h"
#include "node/transport/transport.h"
#include "proto/limits.h"
#include "proto/wire.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char compiler[] =
#ifdef __clang__
    "clang " __clang_version__;
#else
    "gcc " __VERSION__;
#endif

/* What this build has, beside what every one has. */
static const struct {
    const char *name, *value;
} features[] = {
    {"transports", "mpi, tcp, inproc, shared objects"},
    {"launchers", "mpirun, local, ssh, slurm"},
    {"progress", "helper thread, callers"},
    {"failure_detection", "heartbeats and leases; processes of the same host"},
    {"learnt_timers", "ask delay, suspicion, vote timeout"},
    {"exports", "chrome, dot, paje, csv, prometheus"},
    {"completion", "bash, zsh"},
    {"assertions",
#ifdef NDEBUG
     "off"
#else
     "on"
#endif
    },
    {"sanitizer",
#if defined __SANITIZE_ADDRESS__
     "address"
#elif defined __SANITIZE_THREAD__
     "thread"
#else
     "none"
#endif
    },
};
enum { FEATURES = sizeof(features) / sizeof(features[0]) };

static const struct {
    const char *name;
    uint64_t value;
} limits[] = {
    {"ranks", LIMIT_RANKS},
    {"kernels", LIMIT_KERNELS},
    {"args_bytes", LIMIT_ARGS_BYTES},
    {"inputs", LIMIT_INPUTS},
    {"key_bytes", LIMIT_KEY_BYTES},
    {"scope_depth", LIMIT_SCOPE_DEPTH},
    {"lanes", LIMIT_LANES},
    {"tasks", LIMIT_TASKS},
    {"result_bytes", LIMIT_RESULT_BYTES},
};
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

/* --- For people ------------------------------------------------------------------- */

static void knob_print(const struct knobs *knobs, enum knob knob)
{
    char value[KNOB_TEXT_BYTES], origin[1100], allowed[128];
    const struct knob_row *row = &knob_table[knob];
    knobs_format(knobs, knob, value, sizeof(value));
    printf("  %s = %s\n      from: %s; may be: %s\n      %s\n", row->name, value,
           knobs_origin(knobs, knob, origin, sizeof(origin)),
           knobs_allowed(knob, allowed, sizeof(allowed)), row->meaning);
}

static void knobs_print(const struct knobs *knobs, bool all)
{
    for (int advanced = 0; advanced < (all ? 2 : 1); advanced++) {
        printf("%s", advanced ? "\nknobs that most users never need:\n" : "\nknobs:\n");
        for (int i = 0; i < KNOB_COUNT; i++) {
            if (knob_table[i].advanced == (advanced != 0)) {
                knob_print(knobs, (enum knob)i);
            }
        }
    }
}

/* The transport `ucx`, or why it is not here. */
static char *ucx_tell(char *text, size_t size)
{
    const moot_transport *table = NULL;
    const char *options = NULL;
    char story[512] = "";
    if (transport_table_load("ucx", &table, &options, story, sizeof(story)) ==
        MOOT_OK) {
        return transport_table_about(table, text, size);
    }
    (void)snprintf(text, size, "not here: %s", story);
    return text;
}

/* A transport of the user's own that MOOT_TRANSPORT names by its path; NULL: it names
 * none. */
static char *own_tell(const char *word, char *text, size_t size)
{
    const moot_transport *table = NULL;
    const char *options = NULL;
    char story[512] = "";
    if (memchr(word, '/', strcspn(word, ":")) == NULL) {
        return NULL;
    }
    if (transport_table_load(word, &table, &options, story, sizeof(story)) == MOOT_OK) {
        (void)snprintf(text, size, "'%s', version %u, frames of up to %zu bytes",
                       table->name, table->version, table->frame_max);
    } else {
        (void)snprintf(text, size, "refused: %s", story);
    }
    return text;
}

static const char tcp_tells[] = "part of moot";

/* `knobs` may be NULL: they are wrong. */
static void versions_print(const char *mpi, const struct knobs *knobs)
{
    char ucx[640];
    printf("moot %d.%d.%d\n", MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR,
           MOOT_VERSION_PATCH);
    printf("wire version %d\ntransport mpi: %s\ntransport tcp: %s\ntransport ucx: %s\n",
           WIRE_VERSION, mpi, tcp_tells, ucx_tell(ucx, sizeof(ucx)));
    if (knobs != NULL && own_tell(knobs->transport, ucx, sizeof(ucx)) != NULL) {
        printf("transport %s: %s\n", knobs->transport, ucx);
    }
    printf("built by %s\n", compiler);
    printf("launcher ssh: %s\n", launcher_table_about(&launcher_ssh, ucx, sizeof(ucx)));
    printf("launcher slurm: %s\n",
           launcher_table_about(&launcher_slurm, ucx, sizeof(ucx)));
    printf("\nfeatures:\n");
    for (int i = 0; i < FEATURES; i++) {
        printf("  %-17s %s\n", features[i].name, features[i].value);
    }
    printf("\nlimits:\n");
    for (int i = 0; i < LIMITS; i++) {
        printf("  %-13s %llu\n", limits[i].name, (unsigned long long)limits[i].value);
    }
}

static void stranger_print(void *context, const char *name)
{
    char story[256];
    (void)context;
    (void)knobs_refuse_name(name, story, sizeof(story));
    cli_complain(&verb_info, "warning: in the environment: %s", story);
}

/* --- For programs ----------------------------------------------------------------- */

static void json_member(const char *name, const char *text, const char *end)
{
    json_text(stdout, name);
    printf(": ");
    json_text(stdout, text);
    printf("%s", end);
}

static void stranger_json(void *context, const char *name)
{
    int *count = context;
    printf("%s", (*count)++ > 0 ? ", " : "");
    json_text(stdout, name);
}

static void knobs_json(const struct knobs *knobs, bool all)
{
    const char *separator = "";
    for (int i = 0; i < KNOB_COUNT; i++) {
        char value[KNOB_TEXT_BYTES], origin[1100], allowed[128];
        const enum knob knob = (enum knob)i;
        if (knob_table[i].advanced && !all) {
            continue;
        }
        printf("%s    {", separator);
        separator = ",\n";
        json_member("name", knob_table[i].name, ", ");
        json_member("value", knobs_format(knobs, knob, value, sizeof(value)), ", ");
        json_member("origin", knobs_origin(knobs, knob, origin, sizeof(origin)), ", ");
        json_member("default", knob_table[i].fallback, ",\n     ");
        json_member("allowed", knobs_allowed(knob, allowed, sizeof(allowed)), ", ");
        json_member("level", knob_table[i].advanced ? "advanced" : "basic", ",\n     ");
        json_member("meaning", knob_table[i].meaning, "}");
    }
    putchar('\n');
}

/* The same lines as for people, by name. */
static void parts_json(const struct knobs *knobs, const char *mpi)
{
    char text[640];
    printf("\"transports\": {");
    json_member("mpi", mpi, ", ");
    json_member("tcp", tcp_tells, ", ");
    json_member("ucx", ucx_tell(text, sizeof(text)), "");
    if (own_tell(knobs->transport, text, sizeof(text)) != NULL) {
        printf(", ");
        json_member(knobs->transport, text, "");
    }
    printf("},\n  \"launchers\": {");
    json_member("ssh", launcher_table_about(&launcher_ssh, text, sizeof(text)), ", ");
    json_member("slurm", launcher_table_about(&launcher_slurm, text, sizeof(text)),
                "},\n  ");
}

static void all_json(const struct knobs *knobs, const char *mpi, bool all)
{
    int strangers = 0;
    char ucx[640];
    printf("{\n  \"version\": \"%d.%d.%d\",\n  \"wire_version\": %d,\n  ",
           MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR, MOOT_VERSION_PATCH, WIRE_VERSION);
    json_member("transport", knobs->transport, ",\n  ");
    parts_json(knobs, mpi);
    json_member("mpi", mpi, ",\n  ");
    json_member("ucx", ucx_tell(ucx, sizeof(ucx)), ",\n  ");
    json_member("compiler", compiler, ",\n  \"features\": {");
    for (int i = 0; i < FEATURES; i++) {
        json_member(features[i].name, features[i].value, i + 1 < FEATURES ? ", " : "");
    }
    printf("},\n  \"limits\": {");
    for (int i = 0; i < LIMITS; i++) {
        printf("%s\"%s\": %llu", i ? ", " : "", limits[i].name,
               (unsigned long long)limits[i].value);
    }
    printf("},\n  \"strangers\": [");
    knobs_each_stranger(stranger_json, &strangers);
    printf("],\n  \"knobs\": [\n");
    knobs_json(knobs, all);
    printf("  ]\n}\n");
}

static int info_print(bool json, bool all)
{
    struct knobs knobs;
    char story[1500] = "", mpi[512];
    transport_mpi_version(mpi, sizeof(mpi));
    const int code = knobs_load(&knobs, NULL, story, sizeof(story));
    if (code != MOOT_OK) {
        if (!json) {
            versions_print(mpi, NULL);
        }
        fflush(stdout);
        cli_complain(&verb_info, "%s", story);
        return CLI_USAGE;
    }
    if (json) {
        all_json(&knobs, mpi, all);
    } else {
        versions_print(mpi, &knobs);
        knobs_print(&knobs, all);
    }
    fflush(stdout);
    if (!json) {
        knobs_each_stranger(stranger_print, NULL);
    }
    if (knobs_agree(&knobs, true, story, sizeof(story)) == MOOT_OK) {
        return CLI_OK;
    }
    cli_complain(&verb_info, "%s", story);
    return CLI_USAGE;
}

static int info_run(int argc, char **argv)
{
    bool json = false, all = true;
    const char *before = NULL;
    for (int i = 1; i < argc; i++) {
        const char *level = cli_option(argc, argv, &i, "--level");
        if (level == NULL && strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (level == NULL) {
            return argv[i][0] == '-'
                       ? cli_no_option(&verb_info, argv[i])
                       : cli_usage(&verb_info, "unknown argument %s", argv[i]);
        } else if (strcmp(level, "basic") == 0 || strcmp(level, "all") == 0) {
            all = *level == 'a';
        } else {
            return cli_usage(&verb_info, "--level is basic or all, not '%s'", level);
        }
        if (level != NULL && cli_once(&verb_info, "--level", before, level) != CLI_OK) {
            return CLI_USAGE;
        }
        before = level != NULL ? level : before;
    }
    return info_print(json, all);
}

const struct verb verb_info = {
    .name = "info",
    .line = "prints versions, features, limits, and knobs with value and origin",
    .usage =
        "info [--json] [--level basic|all]\n"
        "\n"
        "Prints the versions of the library, of MPI and of the wire, the features of\n"
        "this build, the limits, and each knob: its value, the origin of that, and\n"
        "the values that it may have.\n"
        "\n"
        "  --json         for programs\n"
        "  --level basic  without the knobs that most users never need\n"
        "\n"
        "Exit status: 0; 2 if the command line or a knob is wrong, or if knobs\n"
        "contradict each other; standard error then says where they stand.",
    .run = info_run,
};
