/* element_inputs.h - what the own elements of a task array take from other arrays, and
 * when they have it.
 *
 * An array that takes elements of another has a *link* to it for each of its inputs.  A
 * schedule (consensus/shape/array_schedule.h) says for each own element where each of
 * its sources is: an own element of the other array, or a place in what another rank
 * sends.  Each such source is a slot of the link.  An element that lacks something
 * waits at the slot of the last source that it lacks; when that comes it goes on to the
 * one before, and when it lacks nothing it is ready.  So an arrival touches who waits
 * for it, and nothing is looked up or allocated between it and the kernel.  Elements
 * mostly end by place, and so who waits for the last of some is woken once.
 *
 * Elements that were dealt to this rank are in no schedule (dealt_inputs.h).  Their
 * sources are slots behind the others, one for each place that is not among those.
 *
 * A link may be to a single task instead.  It has one slot, for the task's result, at
 * which all elements wait, and no schedule.
 *
 * A source may not come by itself: its home has named it only, or is not to be relied
 * on.  Then it is asked for as a task (node/compose/element_gate.h).
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_ELEMENT_INPUTS_H
#define NODE_TASKS_ELEMENT_INPUTS_H

#include "consensus/shape/schedule_cache.h"
#include "node/tasks/own_elements.h"
#include "node/tasks/place_table.h"

enum source_state {
    SOURCE_AWAITED,   /* its home sends it, or this rank makes it */
    SOURCE_HERE,      /* its bytes are */
    SOURCE_LARGE,     /* .rank has it, and does not send it */
    SOURCE_ELSEWHERE, /* its home does not have it */
    SOURCE_ASKED,     /* it was asked for as a task */
    SOURCE_SOUGHT,    /* all members were asked for it, */
    SOURCE_LOST,      /* and none has it; */
    SOURCE_AGAIN,     /* this rank makes it again */
    SOURCE_FAILED     /* there is none, or it is lost */
};

struct element_source {
    struct payload *payload; /* HERE: the result; FAILED: the story */
    uint32_t waiter;         /* 1 + the number of the first that waits; 0: none does */
    uint32_t last_waiter;    /* likewise the last one, if there is one */
    union {
        uint32_t rank;   /* LARGE */
        uint32_t denied; /* SOUGHT: so many do not have it */
    };
    uint8_t state; /* enum source_state */
};

struct element_link {
    struct elements *by;   /* the array that takes */
    struct elements *from; /* and the one that is taken from; NULL: forgotten, or */
    bool single;           /* each element takes the result of this task instead, */
    struct task *task;     /* as long as it is kept: then there is one source alone */
    uint32_t number;       /* among the inputs of `by` */
    uint64_t by_first,
        own_first; /* places where this rank's stretches of the two begin */
    struct array_mapping mapping; /* its arguments are the link's */
    const struct array_schedule *schedule;
    struct element_link *next_taker; /* in from->takers */
    struct element_source *sources;  /* own ones, then what is sent, then others */
    uint32_t source_count, source_room;
    uint32_t held_first,
        held_end;              /* the slots among which all are that have a payload */
    struct place_table others; /* the places of those */
    uint32_t misses;           /* so many were asked for at a rank, and not had of it */
    bool kept;       /* that task, or the end of `from`, is (task_ticket_begin()) */
    bool gated;      /* a gate waits for the end of `from` */
    bool dealt;      /* elements that take it were dealt here, and that is not told */
    uint64_t seek;   /* the last one's number; 0: there was none */
    uint32_t sought; /* and so many were asked in it */
    uint32_t *fresh; /* own elements of `from` that have ended, and were not sent: */
    uint32_t fresh_count;
    bool *is_fresh; /* of each own element: it is among these */
    bool listed;    /* in m->tasks.unsent, by: */
    struct element_link *next_unsent;
    bool to_look; /* in m->tasks.to_look, by: */
    struct element_link *next_to_look;
    size_t bytes;                          /* of all this: untouched_new() */
    struct element_source first_sources[]; /* and what else a link begins with */
};

/* Elements of a block that wait for inputs. */
struct element_waits {
    uint32_t number;       /* of its first element among all of the array's here */
    uint32_t begun, ready; /* so many of `order` were given to threads, and may be */
    uint32_t *order;       /* offsets in the block, as they became ready */
    uint32_t *next;        /* of each element: 1 + the next that waits at its slot */
    uint32_t *at;       /* of each: so many of its sources, the last ones, are here */
    bool own_slots;     /* they are the block's, and no schedule's: */
    struct slot_table { /* for each link; of one to a task NULL: */
        const uint32_t *first; /* where the slots of each element begin */
        const uint32_t *slots; /* among these */
    } tables[];
};

/* The arrays that take others, of which this becomes the last; or does again. */
void links_list(struct moot *m, struct elements *elements);
/* The array will take so many.  False without memory. */
bool links_open(struct moot *m, struct elements *elements, uint32_t count);
/* The array takes this, with a copy of the arguments; in the order of its inputs.  It
 * is not registered yet.  LIMIT, INVALID: as array_schedule_new(); NO_MEMORY. */
int link_make(struct moot *m, struct elements *by, struct elements *from,
              const struct array_mapping *mapping);
/* The shape that a link's schedule is of. */
struct array_shape link_shape(const struct moot *m, const struct elements *by,
                              const struct elements *from,
                              const struct array_mapping *mapping);
/* Likewise the result of that task. */
int link_make_single(struct elements *by, struct task *task);
/* The task that is kept for the link. */
static inline struct task *link_kept_task(const struct element_link *link)
{
    return link->single ? link->task : link->from != NULL ? link->from->task : NULL;
}
/* Bytes that a block of so many needs behind its results, for the next: */
size_t links_waits_bytes(const struct elements *elements, size_t count);
/* A block that is about to be run: each element waits, or is ready.  LIMIT,
 * NO_MEMORY. */
int links_wait(struct moot *m, struct elements *elements, struct element_block *block);
/* A block of an array that ended long ago: nothing is about to come for it, so what it
 * lacks is looked for. */
void links_look_for(struct moot *m, struct elements *elements,
                    const struct element_block *block);
/* An own element has ended: whoever takes it here has it, or, of NULL, is to ask, or if
 * it was made again has none. */
void links_give(struct moot *m, struct elements *from, uint64_t place,
                struct payload *result);
/* A source has come from elsewhere (HERE or FAILED: one reference of the payload is
 * taken over) or is known not to.  Of one that is here, or that nobody here takes,
 * nothing happens. */
void link_hear(struct moot *m, struct element_link *link, uint64_t place,
               enum source_state state, struct payload *payload);
/* A source was asked for, and is not to be had there. */
void link_miss(struct moot *m, struct element_link *link, uint64_t place);
/* There may be something to be asked for (node/compose/element_gate.h). */
void link_look(struct moot *m, struct element_link *link);
/* The next one of these, which is looked at now; NULL: there is none. */
struct element_link *link_to_look(struct moot *m);
void link_look_no_more(struct moot *m, struct element_link *link);
/* That rank has it, which is large. */
void link_hear_large(struct moot *m, struct element_link *link, uint64_t place,
                     uint32_t rank);
/* The slot of a place in the array that is taken from; UINT32_MAX: it has none. */
uint32_t link_slot(const struct element_link *link, uint64_t place);
/* The schedule has the home of that place send it here. */
bool link_is_sent(const struct element_link *link, uint32_t slot);
uint64_t link_place(const struct element_link *link, uint32_t slot);
/* The slot, which has none, has this payload: one reference is taken over. */
static inline void link_hold(struct element_link *link, uint32_t slot,
                             struct payload *payload)
{
    const bool none = link->held_end == 0;
    link->sources[slot].payload = payload;
    link->held_first = none || slot < link->held_first ? slot : link->held_first;
    link->held_end = slot >= link->held_end ? slot + 1 : link->held_end;
}
/* One behind the others, for a place that has none; UINT32_MAX without memory. */
uint32_t link_add_other(struct element_link *link, uint64_t place);
/* The place of what an element lacks for good, since its map names no sources for it:
 * the slot's story says why. */
#define LINK_NOWHERE PLACE_NOWHERE
/* The inputs of an element: how many, and the first of them, as far as there is room.
 */
size_t links_fill(const struct elements *elements, uint64_t place, size_t room,
                  const struct payload **out);
/* The hash that people are shown of its input `i`; zero if the array of that is
 * forgotten. */
moot_hash links_hash(const struct elements *elements, uint64_t place, uint32_t i);
/* NULL: no input of it has failed; else its link, and the slot of one that has. */
const struct element_link *links_failed(const struct elements *elements, uint64_t place,
                                        uint32_t *slot);
/* All that `from` has to send by this link has been sent, or is given up. */
void link_unlist(struct moot *m, struct element_link *link);
/* Lists what has ended here of it to be sent: this, or, in a new view, all of it.  What
 * this rank has given up, and so has no block of, is named as elsewhere; if it is given
 * some of it back that is sent when it has ended. */
void link_list(struct moot *m, struct element_link *link);
void link_list_all(struct moot *m, struct element_link *link);
/* The elements that it has to run and that lack something; with those that have ended,
 * of which the core has not heard. */
uint64_t links_waiting(const struct elements *elements);
uint64_t links_idle(const struct elements *elements);
void links_waits_free(struct element_waits *waits, uint32_t links);
/* All elements of the array have ended, wherever: nothing of it is asked for. */
void links_close(struct moot *m, struct elements *elements);
/* One array that takes others, and then the next, and so on; NULL behind the last, and
 * then from the first on.  Each use has a place of its own. */
struct elements *links_next(struct moot *m, enum links_cursor cursor);
void links_first(struct moot *m, enum links_cursor cursor); /* it is the next */
/* Some element that waits may have gone on, or is gone. */
void links_news(struct moot *m);
/* The array goes: it takes nothing any more, and nobody takes from it. */
void links_free(struct moot *m, struct elements *elements);
/* The context closes. */
void links_end(struct moot *m);

#endif
