/* agent_stream.h - what `moot run` and the agent of a host say to each other.
 *
 * The stream is the agent's standard input and output, which a launcher has connected
 * (moot_launcher.h).  What comes from the agent begins with a line that names the
 * protocol and moot's release; whatever a login shell has said before that is skipped.
 * Then both send frames: a header of four words in the byte order of the job's hosts,
 * and its bytes.
 *
 * Words that either end passes on come at the pace of who takes it: no more than
 * AGENT_CREDIT bytes of output, or of input, are under way that were not said to be
 * taken.
 */
#ifndef NODE_LAUNCH_AGENT_STREAM_H
#define NODE_LAUNCH_AGENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AGENT_PROTOCOL = 2, AGENT_CREDIT = 256 * 1024, AGENT_PIECE = 32 * 1024 };
enum { AGENT_FRAME_MAX = 8 << 20 }; /* bytes behind a header */

enum agent_kind {
    /* To the agent. */
    AGENT_JOB = 1, /* the first: HostJob of moot.proto */
    AGENT_SIGNAL,  /* number `value` for all ranks */
    AGENT_INPUT,   /* for its first rank's standard input; none: that has ended */

    /* From the agent. */
    AGENT_UP,      /* its ranks have been started */
    AGENT_REFUSED, /* they have not; a line that says why */
    AGENT_SAID,    /* by rank `value`, on its error if `flag` */
    AGENT_FILE, /* a piece: a file's name, 0, bytes.  `flag`: the last of it; `value`:
                   the folder, as enum agent_folder */
    AGENT_GONE, /* a file of that name is not there any more; likewise */
    AGENT_LOST, /* the `moot rank` of rank `value` was killed, by signal `flag` */
    AGENT_DONE, /* all that there was to be said has been; `flag`: a rank has failed */

    /* Either way. */
    AGENT_CHANNEL, /* bytes between the hubs (channel.h) */
    AGENT_TAKEN,   /* `value` bytes of what was said, or of input, are taken */
    AGENT_BEAT,    /* the sender is there; every AGENT_BEAT_MS */

    /* To the agent: question `value`, the path of a rank's socket there, 0, and what to
     * say at it.  One at a time: it ends the one before. */
    AGENT_ASK,
    AGENT_ANSWER, /* from the agent: more of the answer; `flag`: no more comes */

    /* To the agent: start rank `value`, of wave `flag`; the bytes are struct
     * agent_wave. */
    AGENT_JOIN,
    AGENT_JOINED /* from the agent: it is started, or, if `flag`, is not; why */
};
enum { AGENT_BEAT_MS = 2000 };
enum agent_folder { AGENT_ENDS, AGENT_SHEETS, AGENT_TRACE, AGENT_FOLDERS };

struct agent_header {
    uint32_t kind, value, flag, size;
};

struct agent_wave { /* all ranks of it, on all hosts */
    uint32_t first, count;
};

struct agent_stream;

/* Takes neither descriptor; both are made not to block.  NULL without memory. */
struct agent_stream *agent_stream_new(int from, int to);
void agent_stream_free(struct agent_stream *stream); /* accepts NULL */

/* The agent's first words. */
void agent_stream_greet(struct agent_stream *stream);

/* Says something, when there is room.  What cannot be kept without memory ends the
 * stream. */
void agent_stream_say(struct agent_stream *stream, enum agent_kind kind, uint32_t value,
                      uint32_t flag, const void *bytes, size_t size);

/* Sends what there is room for. */
void agent_stream_flush(struct agent_stream *stream);
size_t agent_stream_waiting(const struct agent_stream *stream); /* bytes to be sent */

/* Reads what there is, and calls for each frame, until it `is_over`.  With `greeted`
 * the other end begins with its first words, which have to be of this protocol and
 * release. */
typedef void (*agent_take)(void *context, const struct agent_header *header,
                           const unsigned char *bytes);
void agent_stream_read(struct agent_stream *stream, bool greeted, agent_take take,
                       void *context);
bool agent_stream_was_greeted(const struct agent_stream *stream);

/* Nothing more comes, or goes; story: why, for people, "" if it was just closed. */
bool agent_stream_is_over(const struct agent_stream *stream);
const char *agent_stream_story(const struct agent_stream *stream);

#endif
