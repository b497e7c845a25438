/* relay.h - the output of ranks that this process has started, passed on line by line.
 *
 * A rank's standard output is a terminal of its own, raw and not controlling, so that
 * C's library writes line by line as it would for a person, and what a rank has printed
 * when it is killed is not lost; standard error is a pipe.  MPI launchers do the same.
 */
#ifndef NODE_LAUNCH_RELAY_H
#define NODE_LAUNCH_RELAY_H

#include <stdbool.h>
#include <stddef.h>

struct relay;

/* Where the words go. */
struct relay_sink {
    void *context;
    /* Whether put() has room for a line now; if it `waits`, when it has. */
    bool (*room)(void *context, bool error, bool waits);
    /* Passes on a rank's words: whole lines, but for one that is longer than 4 KiB or
     * stays without an end for long. */
    void (*put)(void *context, int rank, bool error, const char *bytes, size_t size);
};

/* A room() for this process's own output and error.  When a signal has come that is to
 * end the job, it waits two seconds at most for a reader that reads no more. */
bool relay_room(void *context, bool error, bool waits);

struct relay *relay_new(int ranks); /* NULL with errno */
void relay_free(struct relay *relay);

enum { RELAY_OUTPUT, RELAY_ERROR, RELAY_STREAMS };

/* The ends for a rank's process, to be closed here when it has been started; false with
 * errno. */
bool relay_open(struct relay *relay, int rank, int ends[RELAY_STREAMS]);

/* Polls readable when a rank has said something. */
int relay_descriptor(const struct relay *relay);

/* Passes on what there is, as far as the sink has room; false if it has not.  In the
 * `last` call it waits for room, and nothing is held back, until there is none. */
bool relay_pass(struct relay *relay, bool last, const struct relay_sink *sink);

#endif
