/* channel.h - what a rank and its launcher say to each other.
 *
 * A launcher that is moot's own (launcher `local`, `ssh`, `slurm`) gives each rank one
 * end of a stream socket, as an open descriptor whose number stands in the environment
 * (CHANNEL_VARIABLE), with that of its inode: the number alone may have come to mean
 * another file.  By it the rank learns its number, how many there are, the key of
 * the job, which therefore stands in no argument and no variable, and what the others
 * say of themselves: their addresses.  So ranks need no MPI and no shared files to find
 * each other.
 *
 * Two things pass.  A *gathering* is collective: each rank hands in some bytes, and
 * gets everybody's once all have come; they are counted, and the n-th of one rank meets
 * the n-th of all.  *News* come unasked: a rank's process was reaped by who had started
 * it, which is a certificate of its death (PROTOCOL.md, V2).
 *
 * A job may have *room* for more ranks than it begins with, its founders.  Those that
 * are started later, the newcomers, have numbers from the job's size on, each given
 * once.  Some gatherings of the founders are *openings*: the n-th opening of a newcomer
 * joins the n-th of the founders, which has been.  All who are in that opening are told
 * of the newcomer's card and say that they know it; then the newcomer gets theirs.  So
 * each of two ranks of an opening has the card of the other before it can hear from
 * it.
 *
 * A job on several hosts has a hub on each, a *branch*, whose ranks are a run of
 * numbers, and one above them.  A branch hands in for all of its ranks at once, and
 * passes on what comes from above, so that each card crosses to a host once.  Newcomers
 * may be behind any branch; what these say is passed on as it is.
 *
 * On the wire a message is a header of struct channel_header, in the byte order of the
 * job's hosts, and `size` bytes.  Nothing on a channel is trusted by its launcher:
 * sizes are held against limits before anything is allocated, and who breaks them is
 * cut off.
 */
#ifndef NODE_CHANNEL_CHANNEL_H
#define NODE_CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_VARIABLE "MOOTRUN_CHANNEL"
/* The rank's number, for those that do not open the channel.  It goes before what an
 * MPI says: a rank that initialises that, too, is number 0 there. */
#define CHANNEL_RANK_VARIABLE "MOOTRUN_RANK"
/* The number of the first of the processes that MPI_Comm_spawn started together, among
 * those of the job: an MPI counts each such group from 0. */
#define CHANNEL_FIRST_VARIABLE "MOOTRUN_FIRST"

enum { CHANNEL_VERSION = 4, CHANNEL_KEY_BYTES = 32, CHANNEL_CARD_MAX = 1 << 20 };

/* The name of a process of a job: its wave as letters, and its number in that: "a_3" of
 * the founders, "b_0" of those that came first after them. */
enum { CHANNEL_PROCESS_BYTES = 20 };
void channel_process_name(uint32_t wave, uint32_t index,
                          char text[CHANNEL_PROCESS_BYTES]);

/* --- A rank's end ----------------------------------------------------------------- */

struct channel;

struct channel_card { /* what one rank handed in */
    const void *bytes;
    size_t size;
};

/* The process's channel, opened by the first call and shared by all moots of the
 * process; NULL: its launcher has given none (story is ""), or it cannot be used (story
 * says why).  Waits for the launcher's first message, a minute at most.  From then on
 * programs that this process executes do not hold it, and processes that it forks
 * cannot use it.  Any thread. */
struct channel *channel_of_process(char *story, size_t story_size);

/* The number that the process's launcher tells it in a variable, whether or not that is
 * moot's own; false: none does. */
bool channel_told_rank(uint32_t *out);

uint32_t channel_rank(const struct channel *channel);
/* How many ranks the job began with, */
uint32_t channel_size(const struct channel *channel);
/* and how many numbers it has for ranks at most: channel_size() if none join. */
uint32_t channel_room(const struct channel *channel);
/* Whether this process was started when the job ran. */
bool channel_is_newcomer(const struct channel *channel);
/* The wave in which this process was started, 0 for the founders, and its number in
 * that: they make its name, as a_3 or b_0. */
void channel_process(const struct channel *channel, uint32_t *wave, uint32_t *index);
/* CHANNEL_KEY_BYTES of the job's key. */
const unsigned char *channel_key(const struct channel *channel);
/* The name or address by which other hosts reach this one, and the name that it was
 * given for people; "": the launcher knows none. */
const char *channel_host(const struct channel *channel);
const char *channel_host_name(const struct channel *channel);

/* Collective.  Hands in `size` bytes, at most CHANNEL_CARD_MAX, waits until all ranks
 * have, and gives *all, channel_size() cards by rank, in one allocation: free().
 * TRANSPORT, with a story, if a rank has ended that did not come, or the launcher has;
 * LIMIT if this card is too large or all are together, NO_MEMORY; TRANSPORT of a
 * newcomer, which belongs to no gathering.  On failure *all stays.  Any thread, one
 * after the other. */
int channel_gather(struct channel *channel, const void *bytes, size_t size,
                   struct channel_card **all, char *story, size_t story_size);

/* The opening of that number, *opening, which counts the calls of this process that
 * came to the launcher, from 0.  Of a founder: channel_gather(), but that newcomers may
 * join.  Of a newcomer: waits for the founders' opening of that number, and until all
 * that are in it, and live, have been told of its card; then *all has the cards of all
 * that have come to that opening, also of the dead, who were told to be that before.
 * *all has channel_room() cards, with NULL bytes where nobody has come.  TRANSPORT,
 * with a story, also if there will be no such opening, or all of its ranks have gone.
 * Any thread, one after the other. */
int channel_open(struct channel *channel, const void *bytes, size_t size,
                 struct channel_card **all, uint32_t *opening, char *story,
                 size_t story_size);

/* This process is in that opening no more: newcomers do not wait for it, nor for the
 * others when all have closed.  Does not block; any thread, once an opening. */
void channel_close(struct channel *channel, uint32_t opening);

/* For a newcomer: whether all that had come to that opening before it have closed it,
 * or gone.  Reads nothing from the launcher, as channel_newcomers().  Any thread. */
bool channel_is_emptied(struct channel *channel, uint32_t opening);

/* The next newcomer of an opening that this process is in and that was told of since:
 * its number, and its card, whose bytes live as long as the channel.  Each comes once
 * to each who asks: *told, from 0, is how far that one has come.  False: there is none
 * (more).  Does not block; any thread, under a lock of its own. */
bool channel_next_newcomer(struct channel *channel, uint32_t opening, uint32_t *told,
                           uint32_t *rank, struct channel_card *card);

/* How many newcomers were told of, in all openings.  Reads nothing from the launcher,
 * which the two calls for the next death and the next newcomer do; any thread. */
uint64_t channel_newcomers(const struct channel *channel);

/* Asks the launcher to start so many ranks more, and waits for its answer, 10 s at
 * most.  *first is the number of the first of them, and the story names them, as "b_0,
 * b_1 as ranks 4, 5".  They join when they come.  LIMIT: the job may not have so many;
 * UNSUPPORTED: this job or launcher takes in none; TRANSPORT: they could not be
 * started, or the launcher has gone or does not answer; all with a story.  Any thread,
 * one after the other. */
int channel_grow(struct channel *channel, uint32_t count, uint32_t *first, char *story,
                 size_t story_size);

/* The next rank that was told to be dead, each once to each who asks; UINT32_MAX: none
 * (more).  *told counts those that the caller has had, from 0: moots of one process
 * hear of all.  Does not block; any thread, under a lock of its own. */
uint32_t channel_next_death(struct channel *channel, uint32_t *told);

/* Closes the process's end without a use of it: for one that waits for the rank's
 * process and has started it. */
void channel_decline(void);

/* --- The launcher's end ----------------------------------------------------------- */

struct channel_hub;

/* The value of CHANNEL_VARIABLE of a rank's end; false if that is no socket. */
enum { CHANNEL_TEXT_BYTES = 48 };
bool channel_describe(int fd, char text[CHANNEL_TEXT_BYTES]);

/* For ranks 0..size-1 of one job, with a key drawn here, and newcomers below `room`,
 * LIMIT_NEWCOMERS at most; NULL without memory. */
struct channel_hub *channel_hub_new(uint32_t size, uint32_t room);

/* CHANNEL_KEY_BYTES of the job's key. */
const unsigned char *channel_hub_key(const struct channel_hub *hub);

/* The ranks of a branch, of a job of that size and room: first..first+count-1. */
struct channel_branch {
    uint32_t size, room, first, count;
};

/* For these ranks of a job with that key; `trunk`, which is the hub's from now on, is a
 * stream to the hub above.  NULL without memory: then it is still the caller's. */
struct channel_hub *channel_hub_new_branch(const struct channel_branch *branch,
                                           const unsigned char *key, int trunk);

/* A stream, the hub's from now on, to the branch of those ranks; they are added by
 * nothing else.  False without memory: then it is still the caller's. */
bool channel_hub_add_branch(struct channel_hub *hub, uint32_t first, uint32_t count,
                            int fd);

void channel_hub_free(struct channel_hub *hub); /* closes all; accepts NULL */

/* This launcher's end of that rank's socket, which is the hub's from now on, the name
 * or address by which other hosts reach the rank's, and the name that people have for
 * it ("": none is known).  False without memory: then it is still the caller's. */
bool channel_hub_add(struct channel_hub *hub, uint32_t rank, int fd, const char *host,
                     const char *name);

/* Names newcomers first..first+count-1, of that wave, before they are added: numbers
 * below the job's room that no other wave has. */
void channel_hub_name(struct channel_hub *hub, uint32_t wave, uint32_t first,
                      uint32_t count);

/* That newcomer, which was named, is behind the branch that has rank `beside`, where it
 * is added. */
void channel_hub_place(struct channel_hub *hub, uint32_t rank, uint32_t beside);

/* That rank comes no more: a gathering that waits for it fails.  What it had handed in
 * counts.  It may have left processes that live, so nobody is told of a death. */
void channel_hub_ended(struct channel_hub *hub, uint32_t rank);

/* Likewise, and it is certain that nothing of the rank runs any more: the others are
 * told, for whom that is a certificate.  Also for one that was not added. */
void channel_hub_dead(struct channel_hub *hub, uint32_t rank);

/* True once that rank comes no more, whatever is known of its processes. */
bool channel_hub_has_gone(const struct channel_hub *hub, uint32_t rank);

/* True if ranks have come to a gathering, and it cannot end before that one has, too;
 * likewise if a newcomer waits until that one knows of it. */
bool channel_hub_waits_for(const struct channel_hub *hub, uint32_t rank);

/* A rank's wish that the job have so many ranks more, each once; false: there is none.
 * The launcher answers each. */
bool channel_hub_next_wish(struct channel_hub *hub, uint32_t *rank, uint32_t *count);

/* The answer: MOOT_OK, `first` and a story that names them, or what channel_grow()
 * fails with, and why. */
void channel_hub_answer(struct channel_hub *hub, uint32_t rank, int code,
                        uint32_t first, const char *story);

/* Waits for so long at most until something can be read or written, and does all that
 * can be done without blocking.  A rank that does not read, or breaks the rules, keeps
 * nobody. */
void channel_hub_poll(struct channel_hub *hub, int timeout_ms);

/* Polls readable when channel_hub_poll() has something to do; it stays the hub's. */
int channel_hub_descriptor(const struct channel_hub *hub);

#endif
