/* snapshot_query.h - asking peers what they do, and putting the answers side by side.
 *
 * A stall report and `moot state` show every rank by its own words, not by what it let
 * drop earlier.  An inquiry asks all peers that are there (of many, those that the
 * waits hang on), waits a little for answers, and asks on: an answer may name a task of
 * which another rank has to be asked.  A rank that does not drive progress does not
 * answer, and that is an answer, too.
 *
 * One inquiry is open at a time; who wants a picture while one is says so and gets its
 * result.  Answering costs the one who is asked an account; nothing else changes.
 *
 * Under the engine lock.
 */
#ifndef NODE_EXPLAIN_SNAPSHOT_QUERY_H
#define NODE_EXPLAIN_SNAPSHOT_QUERY_H

#include "node/explain/job_snapshot.h"

struct inquiry;

/* Who wants a picture: bits. */
enum {
    INQUIRY_FOR_STALL = 1,
    INQUIRY_FOR_SIGNAL = 2,
    INQUIRY_FOR_DOOR = 4,
    INQUIRY_FOR_HOLDUP = 8
};

bool inquiry_open(struct moot *m); /* false without memory */
void inquiry_release(struct moot *m);

/* Begins one, or joins the one that is open.  Never from within a step. */
void inquiry_want(struct moot *m, unsigned purpose);

/* In each turn of the loop: asks on, and returns for whom a picture is complete now, 0
 * for nobody; then inquiry_picture() is it, until the next inquiry_want(). */
unsigned inquiry_look(struct moot *m, uint64_t now_ns);
/* `picture` borrows; release what it has itself with free(picture->seats).  False
 * without memory. */
bool inquiry_picture(const struct moot *m, uint64_t now_ns, struct picture *picture);

/* The number of one that is no part of this, and asks whether the program goes on: it
 * is answered in few words, which are window.c's. */
enum { INQUIRY_OF_REST = 0 };
/* And that of what is told unasked at a close (spawn_table.h). */
#define INQUIRY_OF_SPAWNS UINT64_MAX
/* And that of one which asks a rank to leave (node/service/dismissal.h). */
#define INQUIRY_TO_LEAVE (UINT64_MAX - 1)

/* INQUIRY (dispatch.h). */
bool inquiry_take(struct moot *m, uint32_t from, const struct message *message);
/* An ACCOUNT came from a member, not of that number. */
void inquiry_on_account(struct moot *m, uint32_t from,
                        const struct message_account *said);

#endif
