/* verb_trace.c - `moot trace export`: a folder of records as other tools read them. */
#include "node/cli/cli.h"
#include "node/cli/trace_told.h"
#include "node/tools/trace_export.h"
#include <string.h>

static const struct format {
    const char *name;
    told_write *write;
} formats[] = {{"chrome", export_chrome},
               {"dot", export_dot},
               {"paje", export_paje},
               {"csv", export_csv},
               {"prometheus", export_prometheus}};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static const struct format *format_find(const char *name)
{
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

/* Behind the folder; a format may have been meant, or the file. */
static int refuse_second(const char *directory, const char *word)
{
    const char *format = format_find(word) ? word : directory;
    if (format_find(format) != NULL) {
        return cli_usage(&verb_trace, "unknown argument %s; did you mean --format %s?",
                         word, format);
    }
    return cli_usage(&verb_trace, "unknown argument %s; did you mean -o %s?", word,
                     word);
}

static int trace_run(int argc, char **argv)
{
    const char *directory = NULL, *path = NULL, *name = NULL;
    if (argc < 2 || strcmp(argv[1], "export") != 0) {
        return cli_usage(&verb_trace, "`moot trace export DIR` is the only form");
    }
    for (int i = 2; i < argc; i++) {
        const char *format = cli_option(argc, argv, &i, "--format");
        const char *value = format ? format : cli_option(argc, argv, &i, "-o");
        if (value != NULL) {
            const char *option = format ? "--format" : "-o";
            const char **before = format ? &name : &path;
            if (*value == '\0') {
                return cli_usage(&verb_trace, "%s lacks its value", option);
            }
            if (cli_once(&verb_trace, option, *before, value) != CLI_OK) {
                return CLI_USAGE;
            }
            *before = value;
        } else if (argv[i][0] == '-') {
            return cli_no_option(&verb_trace, argv[i]);
        } else if (directory != NULL) {
            return refuse_second(directory, argv[i]);
        } else {
            directory = argv[i];
        }
    }
    const struct format *format = name ? format_find(name) : &formats[0];
    if (directory == NULL) {
        return cli_usage(&verb_trace, "which folder?");
    }
    if (format == NULL) {
        return cli_usage(&verb_trace,
                         "no format '%s': chrome, dot, paje, csv or prometheus", name);
    }
    return told_export(&verb_trace, directory, format->write, path ? path : "-");
}

const struct verb verb_trace = {
    .name = "trace",
    .line = "converts the records of a run for other tools",
    .usage =
        "trace export DIR [--format chrome|dot|paje|csv|prometheus] [-o FILE]\n"
        "\n"
        "DIR is a folder of records, by `moot run --trace DIR` or MOOT_TRACE.\n"
        "\n"
        "chrome      for Perfetto and chrome://tracing: kernels and waits as slices,\n"
        "            votes as spans, messages as flows, faults, deaths and\n"
        "            sessions as instants; the default\n"
        "dot         the task graph, for graphviz\n"
        "paje        the ranks' states over time, for ViTE and pj_dump\n"
        "csv         a line for each task; times in ns since the first moot_open\n"
        "prometheus  the ranks' figures\n"
        "\n"
        "Exit status: 0; 1 if there is no trace or FILE cannot be written; 2 if the\n"
        "command line is wrong.  A warning tells of torn files and missing ranks.",
    .run = trace_run,
};
