/* verb_report.c - `moot report`: a folder of records as one page.
 *
 * The page is one file that needs nothing but a browser: report.html with report.css,
 * report.js and the data (report_data.c) put in.  These are files beside this one,
 * built in as bytes.
 */
#include "node/cli/report_page.h"
#include "node/cli/trace_told.h"
#include "node/tools/report_data.h"
#include <string.h>

/* Replaces `@NAME@` in the page by what belongs there. */
static const char *page_until(FILE *file, const char *page, const char *mark)
{
    const char *at = strstr(page, mark);
    if (at == NULL) {
        return page;
    }
    fwrite(page, 1, (size_t)(at - page), file);
    return at + strlen(mark);
}

static bool report_write(const struct model *model, FILE *file)
{
    const char *page = (const char *)report_html;
    page = page_until(file, page, "@STYLE@");
    fwrite(report_css, 1, report_css_size, file);
    page = page_until(file, page, "@DATA@");
    const bool good = report_data_write(model, file);
    page = page_until(file, page, "@SCRIPT@");
    fwrite(report_js, 1, report_js_size, file);
    fputs(page, file);
    return good;
}

static int report_run(int argc, char **argv)
{
    const char *directory = NULL, *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0) {
            if (++i == argc) {
                return cli_usage(&verb_report, "-o lacks its file");
            }
            if (cli_once(&verb_report, "-o", path, argv[i]) != CLI_OK) {
                return CLI_USAGE;
            }
            path = argv[i];
        } else if (argv[i][0] == '-') {
            return cli_no_option(&verb_report, argv[i]);
        } else if (directory != NULL) {
            return cli_usage(&verb_report, "unknown argument %s; did you mean -o %s?",
                             argv[i], argv[i]);
        } else {
            directory = argv[i];
        }
    }
    if (directory == NULL) {
        return cli_usage(&verb_report, "which folder?");
    }
    return told_export(&verb_report, directory, report_write,
                       path ? path : "report.html");
}

const struct verb verb_report = {
    .name = "report",
    .line = "makes one page of a run's records: timeline, waits, votes, graph",
    .usage =
        "report DIR [-o FILE]\n"
        "\n"
        "DIR is a folder of records, by `moot run --trace DIR` or MOOT_TRACE; FILE is\n"
        "report.html if none is given, and - is standard output.  The page is one "
        "file\n"
        "that loads nothing: it can be opened anywhere, and mailed.\n"
        "\n"
        "Exit status: 0; 1 if there is no trace or FILE cannot be written; 2 if the\n"
        "command line is wrong.  A warning tells of torn files and missing ranks.",
    .run = report_run,
};
