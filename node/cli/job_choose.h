/* job_choose.h - which running job a verb is about. */
#ifndef NODE_CLI_JOB_CHOOSE_H
#define NODE_CLI_JOB_CHOOSE_H

#include "node/cli/cli.h"
#include "node/tools/state_sockets.h"

/* Whether a word is a job's number, and not so many ranks. */
bool job_is_named(const char *word);

/* Reads a number of ranks.  It has six digits at most, so that no job's number is one.
 */
bool job_number_read(const char *word, uint32_t *out);

/* Leaves *job if it is set; else it becomes `name`, of the only one of this user's on
 * this host.  CLI_FAILED, which is said, with a list, if there is another number of
 * these.  `setting` is MOOT_STATE. */
int job_choose(const struct verb *verb, const char *setting, const char **job,
               char name[STATE_JOB_BYTES]);

#endif
