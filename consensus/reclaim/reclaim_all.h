/* reclaim_all.h - what the files that drop tasks offer the other rooms, and each other.
 *
 * Included by rooms.h, behind the state that all rooms share.
 */
#ifndef CONSENSUS_RECLAIM_RECLAIM_ALL_H
#define CONSENSUS_RECLAIM_RECLAIM_ALL_H

#include "consensus/core.h"

/* --- reclaim.c, reclaim_round.c
 * -------------------------------------------------------- */

bool reclaim_is_on(const struct core *core);
void reclaim_news(struct core *core); /* something may have become droppable */
void reclaim_turn(struct core *core);
uint64_t reclaim_deadline(const struct core *core);
void reclaim_take(struct core *core, uint32_t from,
                  const struct message_released *said);
void reclaim_say(struct core *core, uint32_t to, enum released_what what,
                 const struct chunk_name *name, struct message_released said);
bool reclaim_was_recent(const struct core *core, const struct chunk_name *name);
/* A once task that was dropped; what comes about it is late. */
bool reclaim_once_is_gone(const struct core *core, const moot_hash *hash);
void reclaim_note_once(struct core *core, const moot_hash *hash); /* and now it is */
void reclaim_late(struct core *core, uint32_t from, const struct message *message);
/* Until the outcome; takes it. */
void reclaim_hold(struct core *core, struct held *held);
void reclaim_left(struct core *core, struct chunk *chunk);
void reclaim_enter_view(struct core *core);
void reclaim_doubt(struct core *core); /* behind the rest of entering a view */
void reclaim_release(struct core *core);
/* It is decided whether all drop it. */
bool reclaim_is_leaving(const struct core *core, const struct task *task);
bool reclaim_place_is_leaving(const struct core *core, roll_place place);
/* Of the lowest member. */
void reclaim_begin_round(struct core *core); /* if none is open, and there is reason */
void reclaim_take_account(struct core *core, uint32_t from,
                          const struct message_released *said);
void reclaim_forget_offers(struct core *core);
/* There is no such chunk any more. */
void reclaim_void_offer(struct core *core, const struct chunk_name *name);

/* --- split.c -----------------------------------------------------------------------
 */

/* Cuts what all members hold, if memory is short here. */
void split_own(struct core *core);
/* A peer has cut its lane so, which is equal here: cuts likewise.  False: not yet. */
bool split_take(struct core *core, uint32_t from, const struct announced *what);
/* A peer has cut a chunk that is one here, too. */
void split_hear(struct core *core, uint32_t from, struct chunk *chunk);
void split_tell(struct core *core);

/* --- release_count.c ----------------------------------------------------------------
 */

bool release_is_released(const struct core *core, const struct task *task);
void release_count_one(struct core *core, struct task *task);
void release_take_back(struct core *core, struct task *task);
/* Something has happened that may let it be dropped. */
static inline void release_count(struct core *core, struct task *task)
{
    bool in_use = task->users > 0 || task->counted;
    if (task->let_go && !in_use && core->drop.counts) {
        release_count_one(core, task);
    }
}
/* Something is about to happen that may keep it. */
static inline void release_touch(struct core *core, struct task *task)
{
    if (task->counted) {
        release_take_back(core, task);
    }
}
/* All of it is counted, and all members hold what takes its results: it is released. */
bool release_is_all_quiet(const struct core *core, uint32_t lane,
                          const struct chunk *chunk);
/* What takes its results is offered by all, as far as is counted. */
enum feeds { FEEDS_NO, FEEDS_YES, FEEDS_MAYBE };
enum feeds release_feeds_offered(const struct core *core, uint32_t lane,
                                 const struct chunk *chunk);
void release_note_place(struct core *core,
                        const struct task *task); /* on the roll: new */
void release_note_stub(struct core *core, const struct stub *stub); /* likewise */
/* Those of the chunk around it. */
struct chunk_facts *release_facts_at(struct core *core, roll_place place);
/* All members hold what takes the chunk's results. */
bool release_takers_are_held(const struct core *core, uint32_t lane,
                             const struct chunk *chunk);
/* Those of a stretch of a lane of which nothing is forgotten, counted anew. */
struct chunk_facts release_facts_of(struct core *core, uint32_t lane, uint64_t first,
                                    uint32_t count);
void release_note_none(struct core *core,
                       const struct task *task); /* it has none there */
void release_forget_counts(struct core *core);   /* in a new view all begins anew */

#endif
