/* launchers.h - the launchers that come with moot, and those in shared objects.
 *
 * A launcher is a table of functions (moot_launcher.h) that a word names: `ssh` and
 * `slurm` are built in; `./mine.so`, or any other word with a slash, is a file.  Behind
 * the word's first colon stand options, which are the launcher's own affair:
 * `ssh:config=FILE`.  `mpirun` and `local` are no tables: they start ranks, not agents.
 */
#ifndef NODE_LAUNCHERS_LAUNCHERS_H
#define NODE_LAUNCHERS_LAUNCHERS_H

#include "node/api/moot_launcher.h"
#include <stddef.h>

/* `ssh`: hosts by name, a connection of ssh(1) for each.  Options, with a colon
 * between: `config=FILE` is a file for ssh instead of the user's, `o=KEY=VALUE` one of
 * its settings. */
extern const moot_launcher launcher_ssh;

/* `slurm`: the hosts of the allocation that this process is in, a step for each. */
extern const moot_launcher launcher_slurm;

/* The table that `word` names; *options points behind its first colon, or to "".
 * CONFIG, with a line in story: there is no such launcher, or its file or its table is
 * wrong.  Any thread. */
int launcher_table_load(const char *word, const moot_launcher **out,
                        const char **options, char *story, size_t story_size);

/* The same checks of a table that is there already; `origin` is for the story. */
int launcher_table_check(const moot_launcher *table, const char *origin, char *story,
                         size_t story_size);

/* Which program a launcher that is built in uses here, or that there is none; for
 * people.  Returns text. */
char *launcher_table_about(const moot_launcher *table, char *text, size_t size);

/* Headers of this room that other rooms use, too: */
#include "node/launchers/hosts.h"

#endif
