/* moot_launcher.h - a launcher of your own: how a job gets onto its hosts.
 *
 * A launcher is a table of functions by which `moot run` starts one command on each
 * host of a job, with a stream of bytes to and from it.  The command is moot's host
 * agent, `moot agent`: it starts the ranks there, waits for them, passes on what they
 * say, and brings the ranks' addresses and the job's key, all by that stream.  So a
 * launcher knows no ranks, no keys and no addresses of transports.  It knows hosts, and
 * how to run a command on one: by ssh, by a batch system, in a container.
 *
 * A shared object offers one by a symbol called moot_launcher_table:
 *
 *     const moot_launcher moot_launcher_table = {
 *         .version = MOOT_LAUNCHER_VERSION, .size = sizeof(moot_launcher),
 *         .name = "mine", .open = mine_open, ...};
 *
 *     moot check-launcher ./mine.so
 *     moot run --launcher ./mine.so --hosts a:2,b:2 PROGRAM
 *
 * The stream is the command's standard input and output, unchanged in both directions.
 * The job's key goes by it: whoever can read it can read the job.  That the agent
 * ended, or that its stream did, says nothing of the ranks; the agent itself tells
 * which of them it has reaped, and that alone makes a death certain.
 *
 * Threads: one thread is in a launcher.  No slot but `open` and `finalise` may block.
 * A slot calls nobody back but the receiver that poll() was given, from within poll().
 * Errors are MOOT_ERR_* (moot_error.h), with a line for people in story().
 */
#ifndef NODE_API_MOOT_LAUNCHER_H
#define NODE_API_MOOT_LAUNCHER_H

#include "node/api/moot.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOOT_LAUNCHER_VERSION 1

enum {
    MOOT_LAUNCHER_NAME_BYTES = 256, /* of a host's name, and of its address */
    MOOT_LAUNCHER_HOSTS_MAX = 65536
};

/* The launcher's own state, which it defines as it likes. */
typedef struct moot_fleet moot_fleet;

/* The setup that open() is told.  `size` is that of the struct: what stands behind is
 * younger than this header. */
typedef struct moot_launcher_setup {
    size_t size;
    const char *options; /* behind the first colon of --launcher NAME:OPTIONS, or "" */
    const char *hosts; /* of --hosts, or the text of --hostfile with commas for ends of
                          lines: NAME[:SLOTS][,...]; "": none were named.  A list
                          with a mistake is refused: no name (":2"), slots that are no
                          number of 1 or more ("a:x", "a:0", "a:2:3"). */
    uint32_t ranks;    /* that the job is to have; 0: as many as there are slots */
} moot_launcher_setup;

typedef struct moot_launcher_host {
    size_t size;
    char name[MOOT_LAUNCHER_NAME_BYTES]; /* for people, and in MOOT_ROUTE */
    /* By which the other hosts reach it; MOOT_ROUTE may name it by that, too. */
    char address[MOOT_LAUNCHER_NAME_BYTES];
    uint32_t slots; /* ranks that it is to have; 0: not told */
} moot_launcher_host;

/* A started command's stream: descriptors of this process, which are the fleet's. */
typedef struct moot_launcher_link {
    size_t size;
    int to;   /* what is written there the command reads; */
    int from; /* and the other way.  They may be the same. */
} moot_launcher_link;

/* How a command's end is known. */
enum moot_launcher_end {
    /* Ended, with a status of its own.  What it left running may go on. */
    MOOT_LAUNCHER_REAPED = 1,
    /* Not reached any more.  Whether it runs is not known. */
    MOOT_LAUNCHER_UNREACHABLE = 2
};

/* Whom poll() calls. */
typedef struct moot_launcher_receiver {
    size_t size;
    void *context;
    /* The command of that host was started, as far as can be known.  Once. */
    void (*up)(void *context, uint32_t host);
    /* The command has ended, or its host is lost; once for each that launch() took.
     * `status` is what a shell would give: its exit status, 128 plus a signal's number,
     * 127 if there is no such command.  `why` is a line for people, such as the last
     * that it, or what was to bring it there, had to complain of; "": there is none. */
    void (*ended)(void *context, uint32_t host, enum moot_launcher_end how, int status,
                  const char *why);
} moot_launcher_receiver;

typedef struct moot_launcher {
    uint32_t version; /* MOOT_LAUNCHER_VERSION */
    uint32_t flags;   /* 0 */
    size_t size;      /* sizeof(moot_launcher) */
    const char *name; /* a word, for people */

    /* Finds the hosts, and starts nothing.  On failure *out stays, nothing is held, and
     * the story, of story_size bytes, says why. */
    int (*open)(const moot_launcher_setup *setup, moot_fleet **out, char *story,
                size_t story_size);

    /* How many hosts there are, 1 to MOOT_LAUNCHER_HOSTS_MAX; it stays that. */
    uint32_t (*hosts)(const moot_fleet *fleet);

    /* Describes host 0 <= index < hosts().  `out->size` is set by the caller. */
    int (*host)(const moot_fleet *fleet, uint32_t index, moot_launcher_host *out);

    /* Begins to start a command on that host, at most one in the fleet's life.  argv[0]
     * is a path there, or a name in PATH; no word of it is for a shell.  What it writes
     * on standard error comes out on this process's, or in `why`.  An error, with a
     * story, if it cannot even begin; then there is no ended() for it.
     *
     * Processes that are started here for it belong into a process group of their own,
     * or a ^C at the terminal ends them before moot has passed it on to the ranks; and
     * they must not inherit the streams of other hosts (FD_CLOEXEC), which would
     * otherwise not end with this process. */
    int (*launch)(moot_fleet *fleet, uint32_t host, char *const argv[]);

    /* The stream of a command that launch() took, at once: what is written before the
     * command is up waits for it. */
    int (*connect)(moot_fleet *fleet, uint32_t host, moot_launcher_link *out);

    /* Moves things along, and tells what has come.  Returns how many handlers it
     * called, or an error, after which the fleet is only finalised. */
    int (*poll)(moot_fleet *fleet, const moot_launcher_receiver *receiver);

    /* Sends SIGINT or SIGTERM to a command that was started, or to what brings it
     * there.  Not needed: the stream's end ends an agent. */
    void (*interrupt)(moot_fleet *fleet, uint32_t host, int signal);

    /* Ends a command by force, with what it has started there, or what brings it there;
     * ended() follows. */
    void (*kill)(moot_fleet *fleet, uint32_t host);

    /* The story of the last call that returned an error; "" if none did. */
    const char *(*story)(const moot_fleet *fleet);

    /* Closes all streams, ends what still runs, and gives all back.  May wait for five
     * seconds at most. */
    void (*finalise)(moot_fleet *fleet);

    /* --- May be NULL ---------------------------------------------------------------
     */

    /* A descriptor that polls readable when poll() has something to do; -1: none.  Then
     * it is polled a hundred times a second. */
    int (*descriptor)(const moot_fleet *fleet);
} moot_launcher;

#ifdef __cplusplus
}
#endif
#endif
