/* reference.h - the room of data by reference: what a program has, as a task.
 *
 * A task of data (moot_reference.h) is an ordinary one of the kernel 'moot.data', whose
 * arguments say what the data are (data_facts.h) and whose run gives the bytes out.
 * Who registers it has them, and so can run it: the protocol knows of no data.  Where
 * they are had from stands with the task's record (node/tasks/source.h).
 *
 * Such tasks are of no scope, whatever is open when they are named, and are
 * conditional: a chair that lacks the data does not wait for its own program.
 *
 * A rank that cannot read a file asks others by tasks of the kernel 'moot.data.find',
 * one for each rank that is asked (file_answer.h).  Who can read it holds the task of
 * the content from then on, though its program has not spawned it (spawn_take_in()),
 * and answers with what the data are.
 *
 * Writes m->reference.  This is its contract.
 */
#ifndef NODE_REFERENCE_REFERENCE_H
#define NODE_REFERENCE_REFERENCE_H

#include "node/context/context.h"
#include "node/reference/data_task.h"
#include "node/reference/file_answer.h"

/* Registers the kernels, before anybody can ask.  False without memory. */
bool reference_begin(struct moot *m);

/* The number of this rank's next question.  Under the engine lock. */
uint64_t reference_asks(struct moot *m);

#endif
