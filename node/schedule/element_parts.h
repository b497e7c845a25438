/* element_parts.h - results of elements on their way between the ranks of two arrays.
 *
 * When an own element has ended, the homes of the elements that take it are sent its
 * result (PARTS), with all others that are ready for the same rank: when no element
 * that is known to be short is left to run, after a kernel that took long, and with the
 * chores.  A result that is
 * too large is named only, and so is one that there is not: who takes it asks for it
 * (node/compose/element_gate.h).  Of a rank that leaves no large result can be asked
 * for, so it names that as elsewhere.  A rank that asks all members is answered at
 * once. Nobody is asked whether a PARTS has come.  In a new view all is sent again of
 * what may be missed.
 *
 * One that comes before its array is spawned is kept, as long as there is room.  What
 * there is no room for is asked for later, as from a home that is not to be relied on.
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_ELEMENT_PARTS_H
#define NODE_SCHEDULE_ELEMENT_PARTS_H

#include "node/context/context.h"

struct element_link;
struct elements;
struct named_array;

/* Elements of this rank have ended; `more`: others do at once. */
void parts_ended(struct moot *m, bool more);
/* Sends what there is to be sent. */
void parts_flush(struct moot *m);
void parts_look(struct moot *m, uint64_t now_ns);
/* An element that was dealt to this rank has ended: it is in nobody's schedule. */
void parts_send_dealt(struct moot *m, struct elements *from, uint64_t place);
/* A peer's PARTS. */
bool parts_take(struct moot *m, uint32_t from, const struct message *message);
/* The array is spawned: takes what was kept for it. */
void parts_take_early(struct moot *m, struct elements *elements);
/* Tells who may come to have what elements take that were dealt to this rank that it is
 * to be sent here (node/tasks/element_wishes.h). */
void parts_wish(struct moot *m, struct element_link *link);
/* Asks all members for what is SOUGHT of the link, if there is such. */
void parts_seek(struct moot *m, struct element_link *link);
/* Links and tasks that read ask; these have numbers from here on. */
#define PARTS_FOR_READS (UINT64_C(1) << 63)
/* Asks that rank for one element, or all members (UINT32_MAX), with that number; how
 * many they are. */
uint32_t parts_seek_one(struct moot *m, const struct named_array *array, uint64_t place,
                        uint32_t rank, uint64_t number);
/* The result of an element that this rank runs, or was sent; NULL: it has none. */
struct payload *parts_find(const struct elements *elements, uint64_t place);
/* A new view: what was under way may be lost, and what was sought is sought again. */
void parts_send_again(struct moot *m);
void parts_release(struct moot *m);

#endif
