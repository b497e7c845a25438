/* copy.h - a message that owns what it points to.
 *
 * Messages borrow (message.h): from a frame that is about to be released, or from a
 * core whose outputs live until its next step.  Who must keep one for longer, such as
 * a core that holds a message of a view which it has not entered yet (Rule E), keeps a
 * copy.
 */
#ifndef PROTO_COPY_H
#define PROTO_COPY_H

#include "proto/message.h"

/* A deep copy in one block; NULL without memory.  What it borrows lives in the block:
 * release no rank set in it.
 *
 * The bytes of a result are not copied.  They are the host's, may be larger than all
 * messages together, and may be had again: a RESULT comes out BARE, an offer, and who
 * still wants the bytes when the copy is read asks the owner for them with a PULL. */
struct message *message_copy(const struct message *message);
void message_copy_free(struct message *copy); /* accepts NULL */

#endif
