/* rows.h - what a program may do wrong, and what it is told.
 *
 * A row opens a scene, does something wrong in it, and checks the error and its story.
 * refusals_go_on() then checks that nothing was lost: the same moot still runs tasks.
 */
#ifndef TESTS_MPI_REFUSALS_ROWS_H
#define TESTS_MPI_REFUSALS_ROWS_H

#include "tests/mpi/support/scene.h"

struct refusal_row {
    const char *name;
    void (*run)(void);
    int ranks_min;
};

/* Each ends with an empty row. */
extern const struct refusal_row refusals_of_calls[];   /* wrong arguments */
extern const struct refusal_row refusals_of_kernels[]; /* kernels that misbehave */
extern const struct refusal_row refusals_of_states[];  /* the wrong time or place */

/* The call gives this code, and moot_last_error() has a story. */
#define REFUSED(scene, call, code)                                                     \
    refusals_check((scene), (call), (code), #call, MOOT_SITE)
void refusals_check(const struct scene *scene, int got, int wanted, const char *call,
                    const char *site);
/* The last story of this thread contains the text. */
#define STORY_HAS(scene, text) refusals_story((scene), (text), MOOT_SITE)
void refusals_story(const struct scene *scene, const char *text, const char *site);

/* A job on each rank is spawned by all and fetched by all; then the scene closes. */
void refusals_go_on(struct scene *scene);

#endif
