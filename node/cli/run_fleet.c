/* run_fleet.c - see run_fleet.h. */
#include "node/cli/run_fleet.h"
#include "node/cli/cli.h"
#include "node/launchers/hosts.h"
#include "node/launchers/launchers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_BYTES = 1 << 20, STORY_BYTES = 1024 };

bool run_fleet_is_meant(const char *launcher)
{
    return launcher && strcmp(launcher, "mpirun") != 0 &&
           strcmp(launcher, "local") != 0;
}

int run_fleet_refuse(const struct run_hosts *words)
{
    const char *option = words->hosts      ? "--hosts"
                         : words->hostfile ? "--hostfile"
                         : words->agent    ? "--agent"
                                           : NULL;
    if (!option) {
        return CLI_OK;
    }
    return cli_usage(
        &verb_run, "%s wants a launcher that starts ranks on hosts: add --launcher ssh",
        option);
}

/* The text of a file without comments, which begin with #.  NULL with errno. */
static char *hostfile_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(HOSTS_BYTES) : NULL;
    bool comment = false;
    if (!file) {
        return NULL;
    }
    if (!text) {
        fclose(file);
        return NULL;
    }
    const size_t size = fread(text, 1, HOSTS_BYTES, file);
    const int why = size == HOSTS_BYTES ? EFBIG : ferror(file) ? errno : 0;
    fclose(file);
    if (why != 0) {
        free(text);
        errno = why;
        return NULL;
    }
    text[size] = '\0';
    for (size_t i = 0; i < size; i++) {
        comment = text[i] != '\n' && (comment || text[i] == '#');
        text[i] = comment || text[i] == '\0' ? ' ' : text[i];
    }
    return text;
}

/* Why hosts were refused; of a file, with the line that is wrong by itself, if one is.
 * The text loses its ends of lines. */
static void hosts_complain(const struct run_hosts *words, char *text, const char *story)
{
    static const char option[] = "--hosts: ";
    if (!words->hostfile ||
        memchr(words->launcher, '/', strcspn(words->launcher, ":")) ||
        strncmp(story, option, sizeof(option) - 1) != 0) {
        cli_complain(&verb_run, "%s", story);
        return;
    }
    char why[STORY_BYTES], *rest = text;
    int number = 1;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"), number++) {
        struct host_list hosts = {0};
        const int code = hosts_parse(line, &hosts, why, sizeof(why));
        hosts_release(&hosts);
        if (code != MOOT_OK) {
            cli_complain(&verb_run, "--hostfile %s, line %d: %s", words->hostfile,
                         number, why);
            return;
        }
    }
    cli_complain(&verb_run, "--hostfile %s: %s", words->hostfile,
                 story + sizeof(option) - 1);
}

/* `file` is the text of a hosts file, or NULL. */
static int fleet_find(const struct run_hosts *words, const char *hosts, char *file,
                      int *ranks, struct fleet **out)
{
    char story[STORY_BYTES] = "";
    struct fleet_setup setup = {.hosts = hosts, .ranks = (uint32_t)*ranks};
    if (launcher_table_load(words->launcher, &setup.table, &setup.options, story,
                            sizeof(story)) != MOOT_OK) {
        return cli_usage(&verb_run, "--launcher %s: %s", words->launcher, story);
    }
    *out = fleet_open(&setup, story, sizeof(story));
    if (!*out) {
        hosts_complain(words, file, story);
        return CLI_USAGE;
    }
    *ranks = (int)fleet_ranks(*out);
    return CLI_OK;
}

int run_fleet_open(const struct run_hosts *words, int *ranks, struct fleet **out)
{
    if (words->hosts && words->hostfile) {
        return cli_usage(&verb_run, "--hosts and --hostfile: give one of them");
    }
    char *text = words->hostfile ? hostfile_read(words->hostfile) : NULL;
    if (words->hostfile && !text) {
        return cli_usage(&verb_run, "--hostfile %s: %s", words->hostfile,
                         strerror(errno));
    }
    char *joined = text ? strdup(text) : NULL;
    if (text && !joined) {
        free(text);
        return cli_usage(&verb_run, "--hostfile %s: %s", words->hostfile,
                         strerror(ENOMEM));
    }
    for (char *end = joined; end && (end = strchr(end, '\n'));) {
        *end = ',';
    }
    int status = CLI_USAGE;
    if (joined && joined[strspn(joined, ", \t\r")] == '\0') {
        (void)cli_usage(&verb_run, "--hostfile %s names no hosts", words->hostfile);
    } else {
        status = fleet_find(words,
                            joined         ? joined
                            : words->hosts ? words->hosts
                                           : "",
                            text, ranks, out);
    }
    free(joined);
    free(text);
    return status;
}
