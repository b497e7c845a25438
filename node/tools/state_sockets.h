/* state_sockets.h - finding and asking the sockets of running ranks
 * (node/service/status_socket.h). */
#ifndef NODE_TOOLS_STATE_SOCKETS_H
#define NODE_TOOLS_STATE_SOCKETS_H

#include "moot.pb-c.h"
#include "node/config/text.h"
#include "node/service/status_socket.h"
#include "proto/limits.h"
#include <stdbool.h>

enum { STATE_JOBS_MAX = 64, STATE_JOB_BYTES = 16, STATE_HEAD_BYTES = 16 };

struct state_jobs {
    char names[STATE_JOBS_MAX][STATE_JOB_BYTES];
    int count;
};

/* Jobs that have a live socket here; sockets that nobody listens at are removed. */
void state_jobs_find(const char *setting, struct state_jobs *out);

/* Removes the sockets of ranks whose processes are no more, of all jobs of this user on
 * this host, and folders of the library's own that are empty then. */
void state_sweep(const char *setting);

/* Asks the job's ranks on this host in turn until one answers for all; NULL if none
 * does, and then `refused` says which socket answered with what could not be taken, if
 * one did.  Free with moot__picture__free_unpacked().  Every account in it is sound,
 * and there is one of the rank that answered. */
Moot__Picture *state_ask(const char *setting, const char *job, struct text *refused);

/* The same of the first that answers for itself, in brief: who runs, and how long. */
Moot__Picture *state_ask_one(const char *setting, const char *job);

/* Has the first rank that answers pass it on to this one that it is to leave; false if
 * none does. */
bool state_ask_to_leave(const char *setting, const char *job, uint32_t rank);

/* Has the first rank that answers wish for so many ranks more, and waits for what the
 * launcher says to that: *code, as of channel_grow(), and the story.  False if none
 * answers, or none any more. */
bool state_ask_to_grow(const char *setting, const char *job, uint32_t count, int *code,
                       struct text *story);

/* Anything may listen at a socket of this user's, and say that much is to come: no more
 * is taken of one rank, and of all of them. */
enum {
    STATE_SELF_BYTES = LIMIT_ACCOUNT_BYTES + 1024,
    STATE_ALL_BYTES = 1 << 26,
    STATE_UNPACKED_BYTES = 1 << 28 /* what an answer may take once it is read */
};

/* Reads the head of an answer (STATE_HEAD_BYTES): how many bytes are said to follow; 0
 * if it is none. */
uint64_t state_head_read(const uint8_t *head);
/* Reads what follows; NULL without memory, if reading it would take more than
 * STATE_UNPACKED_BYTES or much more than its size, or if it is not sound: an account of
 * who answered, seats in the order of ranks, accounts that account_check() accepts.
 * Free likewise. */
Moot__Picture *state_picture_read(const uint8_t *bytes, size_t size);
/* The stall report of it, and all timers; nothing without memory. */
void state_text(struct text *text, const Moot__Picture *picture);
/* Its part of the session. */
void state_session_add(struct text *text, const Moot__Picture *picture);

/* Any message of protobuf-c as a JSON object. */
void state_json(const ProtobufCMessage *message);

#endif
