/* player.h - the parts of a rank that plays a medley.
 */
#ifndef TESTS_MEDLEY_PLAYER_H
#define TESTS_MEDLEY_PLAYER_H

#include "tests/medley/medley.h"

#include <stddef.h>

/* Counts it, and says it to standard error. */
void player_wrong(struct medley_player *player, uint32_t task, const char *what);
const struct medley_recipe *player_recipe(const struct medley_player *player,
                                          uint32_t task);
bool player_is_of(const struct medley_player *player, uint64_t ranks);
void player_nap(uint64_t ns);
uint64_t player_now_ns(void);

/* The bytes are the task's result, and all of them. */
bool player_is_intact(const struct medley_recipe *recipe, const void *data,
                      size_t size);
int player_register(struct medley_player *player);

/* As this rank does it: by data handles, as a continuation, or plainly. */
int player_spawn(struct medley_player *player, uint32_t task, moot_task *out);
/* The same task once more, plainly. */
int player_spawn_again(struct medley_player *player, uint32_t task, moot_task *out);
/* A handle on a task that this rank does not spawn, and has perhaps declined. */
int player_find(struct medley_player *player, uint32_t task, moot_task *out);

/* --- array_maps.c ------------------------------------------------------------------
 */

/* The array as this rank spawns it: an array of another count, or with such an input,
 * is another. */
uint64_t player_array_count(const struct medley_player *player, uint32_t array);
/* An input's map and its arguments, in `words`; the spec is of moot_array.h. */
moot_array_input player_array_input(const struct medley_player *player, uint32_t array,
                                    uint32_t input, uint64_t words[3]);
/* Notes what each element is to be; its inputs' are noted.  False without memory. */
bool player_reckon_array(struct medley_player *player, uint32_t array);
/* An element's digest: of its size and words.  0: it fails. */
uint64_t player_element_digest(const uint64_t *words, size_t count);
/* An element's own share in its result, which its inputs' digests are mixed into. */
uint64_t player_element_seed(const struct medley *medley, uint32_t array,
                             uint64_t index);
uint64_t player_element_mix(uint64_t value, uint64_t digest);
/* The words of its result: how many, and each. */
size_t player_element_words(const struct medley *medley, uint32_t array,
                            uint64_t index);
uint64_t player_element_word(uint64_t value, uint64_t at);
/* One of its elements fails. */
bool player_array_fails(const struct medley_player *player, uint32_t array);

/* The digest of one element; 0: it fails. */
uint64_t player_reckon_element(const struct medley_player *player, uint32_t array,
                               uint64_t index);

/* --- array_own_maps.c ---------------------------------------------------------------
 */

int player_register_maps(struct medley_player *player);
void medley_draw_own_maps(struct medley *medley);
/* The map of an input that goes by one of these, and its arguments. */
moot_map_id player_own_map(const struct medley_player *player,
                           const struct medley_array_input *input,
                           struct medley_own_map *args);
/* The elements that one takes by it, in order: how many. */
uint32_t player_own_sources(const struct medley_array_input *input, uint64_t index,
                            uint64_t source_count, uint64_t *out);

/* --- array_children.c ---------------------------------------------------------------
 */

int player_register_child_arrays(struct medley_player *player);
/* The parent spawns its children as an array. */
bool player_has_child_array(const struct medley_player *player, uint32_t task);
int player_run_child_array(struct medley_player *player, moot_call *call,
                           uint32_t task);

/* --- array_singles.c ---------------------------------------------------------------
 */

int player_register_singles(struct medley_player *player);
void medley_draw_singles(struct medley *medley);
/* The task that the array takes. */
int player_spawn_single(struct medley_player *player, uint32_t array, moot_task *out);
uint64_t player_single_digest(const struct medley_player *player, uint32_t array);

/* --- array_finds.c ---------------------------------------------------------------- */

/* This rank has spawned the array: its hash is known to all. */
void player_name_array(struct medley_player *player, uint32_t array);
/* Finds an element by that hash, at times. */
void player_find_element(struct medley_player *player, uint32_t array);

/* --- arrays.c --------------------------------------------------------------------- */

int player_register_arrays(struct medley_player *player);
/* Spawns arrays that come before the task, and, if this rank may wait now, looks at
 * some. */
void player_meet_arrays(struct medley_player *player, uint32_t task, bool waits);
/* Looks at all that it has, unless it has left, and lets them go. */
void player_end_arrays(struct medley_player *player);

/* A rank dies, leaves or is out in this program. */
bool player_loses_ranks(const struct medley_player *player);
/* The kernel of elements. */
int player_run_element(moot_call *call, struct medley_player *player);

/* --- array_onces.c ---------------------------------------------------------------- */

void medley_draw_array_onces(struct medley *medley);
int player_register_onces(struct medley_player *player);
/* Its kernel has started. */
void player_begin_once(struct medley_player *player, uint32_t array,
                       const moot_hash *element);
/* The array, or a task that takes of it, may end so, as a rank was lost. */
bool player_may_have_run(const struct medley_player *player, uint32_t array, int code);

/* --- array_cancels.c -------------------------------------------------------------- */

void medley_draw_array_cancels(struct medley *medley);
/* If this rank is one that does: with the spawn, or before it looks at the array. */
void player_cancel_array(struct medley_player *player, uint32_t array, bool spawned);
/* The task may end so, since somebody cancels it, or an array that it takes from. */
bool player_takes_cancel(const struct medley_player *player, uint32_t array, int code);

/* --- array_candidates.c ----------------------------------------------------------- */

void medley_draw_array_candidates(struct medley *medley);
/* How many it has, and which; 0: none. */
size_t player_array_candidates(const struct medley_player *player, uint32_t array,
                               int ranks[MEDLEY_RANKS_MAX]);

#endif
