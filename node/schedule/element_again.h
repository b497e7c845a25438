/* element_again.h - elements whose results are lost are made again.
 *
 * A rank dies, and with it results of elements that no other rank had.  Who needs one
 * has asked all members for it in vain.  It makes the element again, if it has spawned
 * the array and that has ended well: it is pure.  The core sees none of this, as the
 * array's end stands.  Who is no candidate of the array has a candidate do so, by a
 * task that reads the element (node/compose/element_read.h).  If the element takes
 * others it waits for these as elements that were dealt to this rank do.  What it takes
 * may be lost, too, and is then made again first, and so on, back to what is still
 * there.  Whether those arrays have ended is not asked: what took from them has ended
 * well.  An array that has been forgotten on all ranks is not: what was made of its
 * elements is lost with their ranks.
 *
 * An array of which an element is made again is kept, and so are those that it takes
 * from, until no element of it is (element_again_let_go()).
 *
 * Under the engine lock.
 */
#ifndef NODE_SCHEDULE_ELEMENT_AGAIN_H
#define NODE_SCHEDULE_ELEMENT_AGAIN_H

#include "node/tasks/own_elements.h"

/* Elements of the array can be made again here, if what they take can. */
bool element_can_again(const struct moot *m, const struct elements *elements);
/* The element runs when it has what it takes; it may do so already.  False: it cannot
 * be, or has failed. */
bool element_again(struct moot *m, struct elements *elements, uint64_t place);
/* None is being made again. */
void element_again_let_go(struct moot *m, struct elements *elements);

#endif
