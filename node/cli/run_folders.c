/* run_folders.c - folders that a job of `moot run` leaves things in; see run_job.h. */
#include "node/cli/cli.h"
#include "node/cli/run_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The ranks may work elsewhere: the folder is made here, and they get its whole name by
 * the knob, which `path` is, too. */
static bool folder_export(const char *folder, const char *knob,
                          char path[KNOB_TEXT_BYTES])
{
    char whole[LAUNCH_PATH_BYTES];
    struct stat about;
    if ((mkdir(folder, 0777) == 0 || errno == EEXIST) && stat(folder, &about) == 0 &&
        realpath(folder, whole)) {
        const size_t length = strlen(whole);
        if (S_ISDIR(about.st_mode) && length < KNOB_TEXT_BYTES) {
            memcpy(path, whole, length + 1);
            return setenv(knob, path, 1) == 0;
        }
        errno = S_ISDIR(about.st_mode) ? ENAMETOOLONG : ENOTDIR;
    }
    const char *help = errno == ENOENT ? "; make the folder above it"
                       : errno == ENOTDIR || errno == ENAMETOOLONG
                           ? "; name another folder"
                           : "; name a folder that this user may make, or write to";
    cli_complain(&verb_run, "%s=%s: %s%s", knob, folder, strerror(errno), help);
    return false;
}

bool run_folders_export(struct job *job)
{
    char checkpoint[KNOB_TEXT_BYTES];
    return (!job->checkpoint ||
            folder_export(job->checkpoint, "MOOT_CHECKPOINT", checkpoint)) &&
           (!job->trace || folder_export(job->trace, "MOOT_TRACE", job->traces));
}
