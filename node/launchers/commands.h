/* commands.h - a process of this host for each host of a job, such as an ssh, that
 * starts a command there: the part that the launchers ssh and slurm share.
 *
 * Each process has a process group of its own, pipes for its standard input and output,
 * and one for its standard error.  What comes by that is read line by line.  Up to a
 * line COMMANDS_UP, which the far side prints just before it becomes the command, it is
 * kept for people, as why the command did not come to be; from then on each line is
 * passed on to this process's standard error behind the host's name.
 *
 * Only processes that were started here are waited for, each by its number.  They get a
 * signal when this process dies, so that none stays behind.
 */
#ifndef NODE_LAUNCHERS_COMMANDS_H
#define NODE_LAUNCHERS_COMMANDS_H

#include "node/api/moot_launcher.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMANDS_UP "moot-launcher: up"

/* For sh -c, with the command and its words behind: says COMMANDS_UP, and becomes it or
 * runs it.  A shell that stays says how it ended, also by a signal. */
#define COMMANDS_BEGIN                                                                 \
    "command -v \"$0\" >/dev/null || { "                                               \
    "echo \"there is no command $0 on this host\" >&2; exit 127; }; "                  \
    "echo '" COMMANDS_UP "' >&2; "
#define COMMANDS_BECOME COMMANDS_BEGIN "exec \"$0\" \"$@\""
#define COMMANDS_RUN COMMANDS_BEGIN "\"$0\" \"$@\"; exit $?"

struct commands;

struct commands_plan {
    uint32_t count;
    const moot_launcher_host *hosts; /* of that many; they outlive the commands */
    /* A line on standard error that says no more than the status does; or, of a command
     * that was signalled from here, than that.  NULL: none. */
    bool (*is_idle)(const char *line, bool signalled);
    /* Advice about such a line, if a command did not come to be; NULL: not known.
     */
    const char *(*advise)(const char *line);
    int death_signal; /* that the processes get when this one dies */
    int lost_status;  /* of a process whose far side it lost; -1: there is none such */
};

struct commands *commands_new(const struct commands_plan *plan); /* NULL with errno */

/* Starts argv for that host; argv[0] is looked for in PATH.  MOOT_ERR_*, with a line in
 * story, if it cannot begin. */
int commands_start(struct commands *commands, uint32_t host, char *const argv[],
                   char *story, size_t story_size);
int commands_connect(const struct commands *commands, uint32_t host,
                     moot_launcher_link *out);

/* As moot_launcher's slots of these names. */
int commands_poll(struct commands *commands, const moot_launcher_receiver *receiver);
int commands_descriptor(const struct commands *commands);

/* To the process, or to its whole group if the signal is SIGKILL. */
void commands_signal(struct commands *commands, uint32_t host, int number);

/* Closes all streams, and ends what still runs: by itself at first, by SIGTERM, by
 * SIGKILL; takes four seconds at most. */
void commands_free(struct commands *commands);

/* Runs argv to its end and takes what it says on standard output, and the last line on
 * standard error, of `size` bytes each; its status, as a shell would give it. */
int commands_ask(char *const argv[], char *output, size_t size, char *error,
                 size_t error_size);

/* Where a program is, as PATH says; false: nowhere.  out has `size` bytes. */
bool commands_find(const char *name, char *out, size_t size);

#endif
