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

/* --- arrays.c --------------------------------------------------------------------- */

int player_register_arrays(struct medley_player *player);
/* Spawns arrays that come before the task, and, if this rank may wait now, looks at
 * some. */
void player_meet_arrays(struct medley_player *player, uint32_t task, bool waits);
/* Looks at all that it has, unless it has left, and lets them go. */
void player_end_arrays(struct medley_player *player);

#endif
