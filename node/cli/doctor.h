/* doctor.h - what a job needs of its hosts, and whether it is there: `moot doctor`.
 *
 * Each host looks at itself (doctor_host.c).  Where there are several, a doctor is
 * started on each by a launcher's table, as an agent is for a job, and answers one here
 * (doctor_fleet.c), by lines of words:
 *
 *     from it   moot-doctor RELEASE
 *               row STATE NAME TEXT     what it sees of its host
 *               port NUMBER             where it listens
 *               ready
 *     to it     time                    and back: time NANOSECONDS (CLOCK_REALTIME)
 *               try ADDRESS PORT        and back: tried 0 NANOSECONDS, or tried 1 WHY
 */
#ifndef NODE_CLI_DOCTOR_H
#define NODE_CLI_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

/* How it is. */
enum doctor_state {
    DOCTOR_WELL, /* as it should be, */
    DOCTOR_NOTE, /* not for all that there is, */
    DOCTOR_ILL   /* or a job would fail */
};

/* Tells of one thing, with what to do about it. */
typedef void (*doctor_tell)(void *context, enum doctor_state state, const char *name,
                            const char *text);

/* moot's release and that of its wire, which all hosts of a job share. */
void doctor_release(char text[64]);

/* Looks at this host. */
void doctor_look(doctor_tell tell, void *context);

/* `moot doctor --answer`: looks at this host, and answers on standard output what is
 * asked on standard input, until that ends. */
int doctor_answer(void);

/* Asks the hosts that a launcher reaches, and tells of each, and of what is between
 * them.  False, with a line in story: it cannot be asked. */
struct doctor_fleet {
    const char *launcher, *hosts, *agent; /* of `moot run` */
};
bool doctor_ask(const struct doctor_fleet *fleet, doctor_tell tell, void *context,
                char *story, size_t story_size);

#endif
