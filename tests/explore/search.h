/* search.h - every order of a scene's moves.
 *
 * Depth first.  A state that was seen is not entered again.  Of moves that are
 * independent one order is enough: a move *sleeps* in a state when another order, which
 * the search has taken, leads from there to the same states (sleep sets; Godefroid
 * 1996, chapter 5).  With states that are matched, what slept when a state was seen
 * first is kept with it.  If the state is come to again, and some of that does not
 * sleep there, that is taken then.  In a scene with holds nothing sleeps: there the
 * order of independent moves counts.
 *
 * Which moves are independent is the world's to say: those of two ranks are, since a
 * move changes one rank and puts messages behind others.  Deaths and losses, of which
 * there are so many in all, are not independent of each other, nor is the passing of
 * time in a world that has one clock.  So sleep sets leave out orders, and no state.
 *
 * A path of SEARCH_DEPTH moves is taken for one that never ends (I16).
 */
#ifndef TESTS_EXPLORE_SEARCH_H
#define TESTS_EXPLORE_SEARCH_H

#include "tests/explore/world.h"

enum { SEARCH_DEPTH = 400 };

struct search_bounds {
    uint64_t states; /* no more than so many; 0: all */
    uint32_t holds;  /* of the scene's */
    uint32_t depth;  /* moves; a path that is longer is one that does not end */
};

struct search_result {
    uint64_t states, moves, ends;  /* seen; played; states with no moves */
    uint32_t longest;              /* path, in moves */
    bool whole;                    /* nothing was left out */
    const char *wrong;             /* NULL: nothing; then */
    world_move path[SEARCH_DEPTH]; /* leads there */
    uint32_t path_length;
};

void search_scene(const struct scene *scene, const struct search_bounds *bounds,
                  struct search_result *result);

/* The path that is being played, for whoever is told that an assertion has failed. */
const world_move *search_path(uint32_t *length);

#endif
