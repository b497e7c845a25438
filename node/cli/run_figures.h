/* run_figures.h - how far the ranks of a running job have come: asked at their sockets
 * (node/service/status_socket.h), without ever waiting for an answer.
 *
 * A rank says where it can be asked in the file that it leaves in the sheets' folder
 * while its moot is open (node/explain/exit_report.h).  Each rank on this host is asked
 * for itself, in brief, which costs it some tens of microseconds.  Where the moot has
 * more ranks than are here, one of those asks all others now and then; and if none is
 * here one that is elsewhere does, by its host's agent.  Who does not answer counts
 * with what it said last, and is silent.
 */
#ifndef NODE_CLI_RUN_FIGURES_H
#define NODE_CLI_RUN_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Added up over the job. */
struct run_totals {
    uint64_t done;    /* tasks whose kernel has ended */
    uint64_t running; /* kernels that compute */
    uint64_t waiting; /* tasks that have an owner and do not compute, or that are waited
                         for and have none yet */
    uint64_t voted;
    uint32_t ranks, alive;
    uint32_t silent; /* of those alive */
};

struct run_figures;

/* Of so many ranks, whose sheets go to that folder, which stays.  NULL without memory.
 */
struct run_figures *run_figures_new(const char *sheets, int ranks);
/* There are so many with those that joined; without memory the last are left out. */
void run_figures_join(struct run_figures *figures, int ranks);
void run_figures_free(struct run_figures *figures); /* accepts NULL */

/* Where ranks are on hosts that have agents: asks a rank at that path of its host, as
 * fleet_ask() does, and false if it cannot be asked. */
typedef bool (*run_figures_call)(void *context, uint32_t rank, const char *path,
                                 const char *question);
void run_figures_call_by(struct run_figures *figures, run_figures_call call,
                         void *context);
/* More of the answer; `over`: no more comes. */
void run_figures_answer(struct run_figures *figures, const unsigned char *bytes,
                        size_t size, bool over, uint64_t now_ns);

/* Asks who is known and owes no answer. */
void run_figures_ask(struct run_figures *figures, uint64_t now_ns);
/* Takes in what has come since. */
void run_figures_hear(struct run_figures *figures, uint64_t now_ns);
/* False as long as no rank has said anything. */
bool run_figures_sum(const struct run_figures *figures, uint64_t now_ns,
                     struct run_totals *out);

#endif
