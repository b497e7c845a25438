/* agent_folder.h - a folder of a process's own, beside those of others.
 *
 * Its name is of its process, "moot-KIND-SPACE-PID-START-XXXXXX".  So one whose
 * process was killed is known as such to the next, which removes it.
 */
#ifndef NODE_AGENT_AGENT_FOLDER_H
#define NODE_AGENT_AGENT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define AGENT_FOLDER "agent" /* a KIND: what ranks of an agent leave, */
#define RUN_FOLDER "run"     /* and what `moot run` knows of them; */
#define TUNE_FOLDER "tune"   /* records of the runs of `moot tune` */

/* Where such folders stand: TMPDIR, or /tmp. */
const char *agent_folder_place(void);

/* Removes those there of this kind and of this user whose process has ended. */
void agent_folder_clear(const char *kind, const char *place);

/* Makes one that this user alone can read; false with errno, and "". */
bool agent_folder_make(const char *kind, const char *place, char *path, size_t size);

/* Removes one, with the files in it and in its folder "trace", if it has one; "": none.
 */
void agent_folder_remove(const char *path);

#endif
