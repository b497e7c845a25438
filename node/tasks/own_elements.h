/* own_elements.h - what this rank keeps of the elements of a task array that are its
 * own: which of them it has yet to run, and the results of the others.
 *
 * The array itself is a task, its *end* (PROTOCOL.md, "Arrays"), and `struct elements`
 * hangs on that task's record.  An element has no record: it is a place in a block,
 * which is what the core gave out at once.  Arrays of which elements can be run
 * stand in a list, m->schedule.elements: the highest priority first, which is that of
 * the end, and then the oldest.  Results stay until the record of the end goes.  Those
 * of an array that takes others wait for their inputs first (element_inputs.h).
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_OWN_ELEMENTS_H
#define NODE_TASKS_OWN_ELEMENTS_H

#include "consensus/shape/range_set.h"
#include "node/tasks/task.h"

#include <stdalign.h>
#include <stddef.h>

struct element_waits;
struct element_link;

/* For each element of a block, once one of them is to be tried again.  Those whose rest
 * is over are a queue, by offsets and one more. */
struct element_tries {
    uint64_t first, last;
    struct element_try {
        uint64_t next;
        uint16_t failures;
        bool waits; /* it rests, or is in the queue */
    } of[];
};

struct element_block {
    struct element_block *next;
    struct range places;
    uint64_t begun; /* the first place that has not been given to a thread, or: */
    struct element_waits *waits; /* they have inputs; NULL: none */
    struct element_tries *tries; /* NULL: none has failed that is tried again */
    uint64_t open;               /* so many have not ended */
    bool failed;                 /* one has, and not well */
    bool closed;                 /* none of them begins any more: they are cancelled */
    bool dealt;                  /* another rank is the home of these */
    bool held;                   /* none begins yet: this rank has no leave to */
    bool again; /* it was lost, and is made again: the core sees none of it */
    struct payload *results[]; /* NULL: it has not ended; or one of these: not well */
};

extern struct payload element_failed, element_cancelled, element_maybe_ran;

/* An array's homes, ascending: as many as its spread's. */
struct element_homes {
    const struct rankset *ranks; /* NULL: the founders */
    bool bound;                  /* no other rank runs any of it: they are candidates */
};

struct elements {
    struct task *task; /* the array's end */
    struct array_spread spread;
    struct element_homes homes; /* .ranks: the context's or its own, never NULL */
    struct rankset own_homes;
    size_t args_size;
    struct element_block *blocks, **last_block;
    struct element_link **links; /* what it takes; */
    uint32_t link_count;
    uint32_t here_count;         /* elements in its blocks */
    struct element_link *takers; /* arrays that take from it, by next_taker */
    moot_hash scope;             /* it was spawned in it; zero: in none */
    bool once;                   /* no element begins twice (node/compose/stretch.h); */
    struct rankset leaves;       /* the stretches of these homes may begin here */
    bool lacks;                  /* a source of what it takes is FAILED */
    bool whole;                  /* this rank has spawned all of it, or else: */
    struct range_set part;       /* these places */
    struct element_wishes *wishes; /* not NULL: others are sent these as they come */
    bool wished; /* some may have come, and it is in m->tasks.wished, by: */
    struct elements *next_wished;
    struct elements *next;                  /* in m->schedule.elements, if it is */
    struct elements *next_taking, **taking; /* in m->tasks.taking, if it has links */
    bool listed;
    uint32_t again; /* so many are being made again, for which it is kept: */
    bool again_kept, any_again; /* any_again: one has been */
    bool
        has_ended; /* what takes from it has ended well, so it has, if nobody says so */
    uint64_t failed;       /* 1 + the least index of those that failed here; 0: none */
    struct payload *story; /* of that one */
    struct element_link *few_links[2];         /* if there are no more */
    alignas(max_align_t) unsigned char args[]; /* the end's own go when it ends */
};

/* An array, as a rank may know it that has not spawned it. */
struct named_array {
    moot_hash hash, scope; /* scope: as above */
    struct array_spread spread;
    struct element_homes homes; /* .ranks is borrowed, and not NULL */
};
static inline struct named_array elements_name(const struct elements *elements)
{
    return (struct named_array){elements->task->hash, elements->scope, elements->spread,
                                elements->homes};
}

/* NULL: the task is no array that this rank has spawned. */
static inline struct elements *elements_of(const struct task *task)
{
    return task_seldom(task)->elements;
}

/* The task is to stand for such an array; false without memory. */
bool elements_make(struct moot *m, struct task *task, const struct array_spread *spread,
                   const struct element_homes *homes, const void *args,
                   size_t args_size);
/* Before any: the founders are all that begin the moot.  False without memory. */
bool founders_begin(struct moot *m);
void founders_end(struct moot *m);
/* An element whose result is gone may be made of nothing but its arguments. */
static inline bool elements_can_repeat(const struct elements *elements)
{
    return elements->link_count == 0 && !elements->once;
}

/* CORE_OUT_ELEMENTS: these are to be run here; held: not before they are unheld.
 * NO_MEMORY, LIMIT. */
int elements_add(struct moot *m, struct elements *elements, struct range places,
                 bool held);
/* This rank has leave to begin those of that home, now and later.  NO_MEMORY. */
int elements_unhold(struct moot *m, struct elements *elements, uint32_t home);
/* How many are in blocks of that home that are held, and have not ended. */
uint64_t elements_held(const struct elements *elements, uint32_t home);
/* The next one to be run, which is given to a thread; NULL: there is none. */
struct elements *elements_take(struct moot *m, uint64_t *place);
/* Likewise the next one of that array, if it is the first in the list. */
bool elements_take_of(struct moot *m, struct elements *elements, uint64_t *place);
/* An element that was given to a thread goes back, not begun: false without memory. */
bool elements_put_back(struct moot *m, struct elements *elements, uint64_t place);
/* Elements that can be run now: so many at least. */
uint64_t elements_ready(const struct elements *elements);
/* Some of it can be run: it stands in the list of such. */
void elements_list(struct moot *m, struct elements *elements);
/* The array's priority has risen. */
void elements_raise(struct moot *m, struct elements *elements);
/* How often it has failed so far and was to be tried again; it has failed once more,
 * and is to be: it rests (false without memory); and it is to be run now. */
uint32_t elements_failures(const struct elements *elements, uint64_t place);
bool elements_rest(struct elements *elements, uint64_t place);
void elements_try(struct moot *m, struct elements *elements, uint64_t place);
/* The element has ended; takes over the payload, or one of those that stand for none.
 * An element that takes it here has it, or is to ask.  Returns its block. */
const struct element_block *elements_keep(struct moot *m, struct elements *elements,
                                          uint64_t place, struct payload *result);
/* Those of the block that have not begun end, cancelled.  False: there were none. */
bool elements_close(struct moot *m, struct elements *elements,
                    struct element_block *block);
/* All of a block that is held end, as they may have run elsewhere. */
void elements_deny(struct moot *m, struct elements *elements,
                   struct element_block *block);
/* How it ended, for the core. */
int elements_status(const struct payload *result);
/* NULL: this rank does not run it. */
struct element_block *elements_block(const struct elements *elements, uint64_t place);
static inline bool elements_has_ended(const struct element_block *block, uint64_t place)
{
    return block->results[place - block->places.first] != NULL;
}
/* The element is run here, or has been. */
bool elements_has(const struct elements *elements, uint64_t place);
/* NULL: there is none here, or not yet. */
struct payload *elements_result(const struct elements *elements, uint64_t place);
/* In whose stretch that place is, by the home's number among the homes. */
static inline uint32_t elements_stretch(const struct array_spread *spread,
                                        uint64_t place)
{
    return array_slot(spread, place) / ARRAY_SLOTS;
}
/* The home of the element at that place, and of that index. */
static inline uint32_t elements_home_of(const struct array_spread *spread,
                                        const struct element_homes *homes,
                                        uint64_t place)
{
    return rankset_at(homes->ranks, elements_stretch(spread, place));
}
static inline uint32_t elements_home(const struct array_spread *spread,
                                     const struct element_homes *homes, uint64_t index)
{
    return elements_home_of(spread, homes, array_place(spread, index));
}
/* This rank may run its elements. */
bool elements_may_run(const struct moot *m, const struct element_homes *homes);
void elements_free(struct moot *m, struct task *task); /* that has some, or none */

/* The result of an array's end says what its spread and its homes are, for those who
 * know its hash alone (element_card.c).  NULL without memory. */
struct payload *elements_card(const struct array_spread *spread,
                              const struct element_homes *homes);
/* Into `ranks` go those that are not the founders; release it if true is returned.
 * False: it is none, or there is no memory. */
bool elements_card_read(const struct payload *card, struct array_spread *spread,
                        struct element_homes *homes, struct rankset *ranks);

#endif
