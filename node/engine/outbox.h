/* outbox.h - what goes out: one frame per peer and turn, and large results.
 *
 * Messages are encoded as they are added and sent by outbox_flush at the end of a turn,
 * so that all messages of a turn to one peer share a frame; of thousands, what fills a
 * part of a frame goes at once, and the peer works while this rank still writes.  A
 * peer whose wire is slow (its backlog is above a window) gets no new frame; its
 * messages gather in the next.
 *
 * A BULK result's bytes follow the frame that announces them, in the order of the
 * announcements: the receiver matches them by order (transport.h).  They are pinned
 * until the transport is done with them.
 *
 * Under the engine lock.
 */
#ifndef NODE_ENGINE_OUTBOX_H
#define NODE_ENGINE_OUTBOX_H

#include "node/context/context.h"

struct outbox *outbox_new(uint32_t size); /* NULL without memory */
/* After the transport is freed, which has said whether the wire is `quiet`: if not,
 * large results that were on their way stay in memory. */
void outbox_free(struct outbox *outbox, bool quiet);

/* Takes a copy; attaches the bytes of `task` to a RESULT that carries them. */
void outbox_add(struct moot *m, uint32_t to, const struct message *message,
                const struct task *task);
/* Tells one peer, or all, how this rank registered a kernel: among many its neighbours
 * in the tree, who pass it on. */
void outbox_add_kernel(struct moot *m, uint32_t to, const struct kernel *kernel);
void outbox_tell_kernel(struct moot *m, struct kernel *kernel);
/* Among many: to the neighbours that have not said it, as that rank's. */
void outbox_pass_kernel(struct moot *m, uint32_t from, uint32_t of,
                        const struct message_kernel *said);
/* In a new view the neighbours are others. */
void outbox_tell_kernels_again(struct moot *m);

/* A message of the host's own (INQUIRY, ACCOUNT), of which type and body are filled in.
 * It goes out whatever view the peer is in. */
void outbox_add_own(struct moot *m, uint32_t to, struct message *message);

/* Tells all peers that the moot is over: with an error this rank ends it for everyone.
 */
void outbox_tell_end(struct moot *m, int code);

/* What is queued for this rank is void. */
void outbox_void(struct moot *m, uint32_t to);
/* Hands what is queued for this rank to the wire, if that takes more. */
void outbox_hurry(struct moot *m, uint32_t to);

void outbox_flush(struct moot *m);
bool outbox_empty(const struct moot *m);
/* There is something for a peer that the last flush did not pass over because its wire
 * is slow. */
bool outbox_is_due(const struct moot *m);
/* A transfer is complete. */
void outbox_bulk_sent(struct moot *m, void *cookie);

#endif
