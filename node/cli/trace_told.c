/* trace_told.c - see trace_told.h. */
#include "node/cli/trace_told.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace_told {
    struct trace_job trace;
    struct model model;
};

static void lacks_tell(const struct verb *verb, const struct trace_job *trace)
{
    struct rankset absent = {0};
    char ranks[256];
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *rank = &trace->ranks[r];
        if (!rank->present && *rank->unread != '\0') {
            cli_complain(verb, "the trace of rank %u is not read: %s", r, rank->unread);
        } else if (!rank->present) {
            (void)rankset_add(&absent, r);
        } else if (rank->torn_bytes > 0) {
            cli_complain(verb,
                         "the trace of rank %u is torn: its last %" PRIu64
                         " bytes of %" PRIu64 " are no whole record, and are not read",
                         r, rank->torn_bytes, rank->bytes);
        } else if (!rank->whole) {
            cli_complain(verb, "the trace of rank %u breaks off at %.3f s", r,
                         (double)rank->last_ns / 1e9);
        }
    }
    rankset_format(&absent, ranks, sizeof(ranks));
    if (!rankset_empty(&absent)) {
        cli_complain(verb, "rank%s %s left no trace here",
                     rankset_count(&absent) == 1 ? "" : "s", ranks);
    }
    rankset_format(&trace->strangers, ranks, sizeof(ranks));
    if (!rankset_empty(&trace->strangers)) {
        cli_complain(verb,
                     "the trace of rank%s %s is not of this run, which has fewer "
                     "ranks, and is left out",
                     rankset_count(&trace->strangers) == 1 ? "" : "s", ranks);
    }
    rankset_release(&absent);
    if (trace->backward > 0) {
        cli_complain(verb,
                     "the clocks of the hosts drifted: %" PRIu64
                     " message%s came before "
                     "being sent, by up to %.3f ms",
                     trace->backward, trace->backward == 1 ? "" : "s",
                     (double)trace->backward_most_ns / 1e6);
    }
}

static void told_release(struct trace_told *told)
{
    model_release(&told->model);
    trace_release(&told->trace);
}

static bool told_read(const struct verb *verb, const char *directory,
                      struct trace_told *out)
{
    char story[4300];
    if (!trace_read(directory, &out->trace, story, sizeof(story))) {
        cli_complain(verb, "%s", story);
        return false;
    }
    lacks_tell(verb, &out->trace);
    if (!model_make(&out->trace, &out->model)) {
        cli_complain(verb, "out of memory");
        told_release(out);
        return false;
    }
    return true;
}

static void written_tell(const char *path, long size)
{
    if (size < 0) { /* no file that has a size */
        printf("%s is written\n", path);
    } else if (size < 1000) {
        printf("%s is written, %ld B\n", path, size);
    } else if (size < 1000000) {
        printf("%s is written, %.1f kB\n", path, (double)size / 1e3);
    } else {
        printf("%s is written, %.1f MB\n", path, (double)size / 1e6);
    }
}

/* Half of a page, or of what another tool reads, looks like all of it. */
static void half_remove(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        (void)unlink(path);
    }
}

static int model_write(const struct verb *verb, const struct model *model,
                       told_write *write, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdout : fopen(path, "w");
    if (file == NULL) {
        cli_complain(verb, "%s: %s", path, strerror(errno));
        return CLI_FAILED;
    }
    const bool made = write(model, file);
    bool written = fflush(file) == 0 && ferror(file) == 0;
    int error = errno;
    const long size = ftell(file);
    if (!standard && fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (!made) {
        cli_complain(verb, "out of memory");
    } else if (!written) {
        cli_complain(verb, "%s: %s", standard ? "standard output" : path,
                     strerror(error));
    } else if (!standard) {
        written_tell(path, size);
    }
    if (!standard && !(made && written)) {
        half_remove(path);
    }
    return made && written ? CLI_OK : CLI_FAILED;
}

int told_export(const struct verb *verb, const char *directory, told_write *write,
                const char *path)
{
    struct trace_told told;
    if (!told_read(verb, directory, &told)) {
        return CLI_FAILED;
    }
    const int status = model_write(verb, &told.model, write, path);
    told_release(&told);
    return status;
}
