/* info.c - `moot info`: versions, limits, and every knob with its value and origin. */
#include "cli.h"
#include "moot.h"
#include "node/knobs.h"
#include "node/transport/mpi.h"
#include "proto/limits.h"
#include "wire.h"
#include <stdio.h>
#include <string.h>

static const char compiler[] =
#ifdef __clang__
    "clang " __clang_version__;
#else
    "gcc " __VERSION__;
#endif

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
enum { LIMITS = sizeof limits / sizeof limits[0] };

/* --- For people ------------------------------------------------------------------- */

static void knob_print(const struct knobs *knobs, enum knob knob)
{
    char value[KNOB_TEXT_BYTES], origin[1100], allowed[128];
    const struct knob_row *row = &knob_table[knob];
    knobs_format(knobs, knob, value, sizeof value);
    printf("  %s = %s\n      from: %s; may be: %s\n      %s\n", row->name, value,
           knobs_origin(knobs, knob, origin, sizeof origin),
           knobs_allowed(knob, allowed, sizeof allowed), row->meaning);
}

static void knobs_print(const struct knobs *knobs)
{
    for (int advanced = 0; advanced < 2; advanced++) {
        printf("%s", advanced ? "\nknobs that most users never need:\n" : "\nknobs:\n");
        for (int i = 0; i < KNOB_COUNT; i++)
            if (knob_table[i].advanced == (advanced != 0))
                knob_print(knobs, (enum knob)i);
    }
}

static void versions_print(const char *mpi)
{
    printf("moot %d.%d.%d\n", MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR,
           MOOT_VERSION_PATCH);
    printf("wire version %d\ntransport mpi: %s\nbuilt by %s\n", WIRE_VERSION, mpi,
           compiler);
    printf("\nlimits:\n");
    for (int i = 0; i < LIMITS; i++)
        printf("  %-13s %llu\n", limits[i].name, (unsigned long long)limits[i].value);
}

static void stranger_print(void *context, const char *name)
{
    (void)context;
    cli_complain(&verb_info, "warning: %s in the environment is no knob", name);
}

/* --- For programs ----------------------------------------------------------------- */

/* A JSON string (RFC 8259, section 7).  Bytes above 127 are taken for UTF-8. */
static void json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void json_member(const char *name, const char *text, const char *end)
{
    json_string(name);
    printf(": ");
    json_string(text);
    printf("%s", end);
}

static void stranger_json(void *context, const char *name)
{
    int *count = context;
    printf("%s", (*count)++ > 0 ? ", " : "");
    json_string(name);
}

static void knobs_json(const struct knobs *knobs)
{
    for (int i = 0; i < KNOB_COUNT; i++) {
        char value[KNOB_TEXT_BYTES], origin[1100], allowed[128];
        const enum knob knob = (enum knob)i;
        printf("    {");
        json_member("name", knob_table[i].name, ", ");
        json_member("value", knobs_format(knobs, knob, value, sizeof value), ", ");
        json_member("origin", knobs_origin(knobs, knob, origin, sizeof origin), ", ");
        json_member("default", knob_table[i].fallback, ",\n     ");
        json_member("allowed", knobs_allowed(knob, allowed, sizeof allowed), ", ");
        json_member("level", knob_table[i].advanced ? "advanced" : "basic", ",\n     ");
        json_member("meaning", knob_table[i].meaning, "}");
        printf("%s\n", i + 1 < KNOB_COUNT ? "," : "");
    }
}

static void all_json(const struct knobs *knobs, const char *mpi)
{
    int strangers = 0;
    printf("{\n  \"version\": \"%d.%d.%d\",\n  \"wire_version\": %d,\n  ",
           MOOT_VERSION_MAJOR, MOOT_VERSION_MINOR, MOOT_VERSION_PATCH, WIRE_VERSION);
    json_member("transport", "mpi", ",\n  ");
    json_member("mpi", mpi, ",\n  ");
    json_member("compiler", compiler, ",\n  \"limits\": {");
    for (int i = 0; i < LIMITS; i++)
        printf("%s\"%s\": %llu", i ? ", " : "", limits[i].name,
               (unsigned long long)limits[i].value);
    printf("},\n  \"strangers\": [");
    knobs_each_stranger(stranger_json, &strangers);
    printf("],\n  \"knobs\": [\n");
    knobs_json(knobs);
    printf("  ]\n}\n");
}

static int info_run(int argc, char **argv)
{
    struct knobs knobs;
    char story[1500] = "", mpi[512];
    const bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 + json)
        return cli_usage(&verb_info, "unknown argument %s", argv[1 + json]);
    transport_mpi_version(mpi, sizeof mpi);
    const int code = knobs_load(&knobs, NULL, story, sizeof story);
    if (code != MOOT_OK) {
        if (!json)
            versions_print(mpi);
        fflush(stdout);
        cli_complain(&verb_info, "%s", story);
        return CLI_FAILED;
    }
    if (json) {
        all_json(&knobs, mpi);
        return CLI_OK;
    }
    versions_print(mpi);
    knobs_print(&knobs);
    fflush(stdout);
    knobs_each_stranger(stranger_print, NULL);
    return CLI_OK;
}

const struct verb verb_info = {
    .name = "info",
    .line = "prints versions, limits, and every knob with its value and origin",
    .usage =
        "info [--json]\n"
        "\n"
        "Prints the versions of the library, of MPI and of the wire, the limits, and\n"
        "each knob with its value, where that comes from, and what it may be.\n"
        "\n"
        "Exit status: 0, or 1 if a value is malformed, and then standard error says\n"
        "where it stands.",
    .run = info_run,
};
