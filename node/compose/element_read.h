/* element_read.h - the tasks that read elements of arrays.
 *
 * To read an element is an ordinary task of the library's kernel "moot.element", whose
 * arguments are the array's hash and the index, and whose place is one of which the
 * home of the element is the chair.  It comes after the array, and whoever owns it
 * gives what it has.  So it travels, is an input, and is forgotten as any task.  A home
 * whose program reads nothing takes the task from a peer's motion (the kernel is
 * portable), if it runs the element.
 *
 * An owner that has not run the element makes it again, if the array takes nothing: the
 * home had not spawned the array, or is a member no more.  Of an array that takes
 * others it asks all members first (a *seek*), since somebody has run it; only if none
 * has the result it makes that again (node/schedule/element_again.h).  An owner that is
 * no candidate of the array makes none of it: it asks the home, then all, and then
 * candidates to make the element again.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ELEMENT_READ_H
#define NODE_COMPOSE_ELEMENT_READ_H

#include "node/context/context.h"

struct element_homes;
struct named_array;

/* Arguments: the array's hash, and the index. */
enum { READ_ARGS_BYTES = MOOT_HASH_BYTES + 8 };

bool reads_begin(struct moot *m); /* false without memory */
void reads_release(struct moot *m);

void read_pack(const moot_hash *array, uint64_t index, unsigned char *args);
/* The index that the task's arguments name; false: they are none. */
bool read_unpack(const struct task *task, uint64_t *index);
/* The task's place: the next behind its own whose chair is that home of the array's, as
 * long as that is a member, among the founders and the homes.  So the readings of one
 * home have different chairs after it.  False without memory. */
bool read_aim(const struct moot *m, struct task_facts *facts,
              const struct element_homes *homes, uint32_t home);

/* Takes the task in that reads an element, without the program's spawn, for `rank`,
 * which has it or is to make it again, to run, or, of UINT32_MAX, for whoever has it
 * made again after the end of its array; its hash.  A rank that did not take it in has
 * said so for good: whoever has seen so many refuse it has another task for each.
 * False without memory.
 */
bool read_take_in(struct moot *m, const struct named_array *array, uint64_t index,
                  uint32_t rank, uint32_t refusals, moot_hash *hash);
/* A kernel with such arguments: makes the element again. */
int read_make_again(moot_call *call, void *user);
/* The task, which is not to run, is to end with the element at that place, which is not
 * here: all members are asked for it.  `found`: its home is asked first, and if nobody
 * has it one that has spawned the array makes it again. */
void read_seek(struct moot *m, struct task *task, const struct named_array *array,
               uint64_t place, bool found);
/* Takes motions for reads of elements that have ended since they came. */
void reads_take_early(struct moot *m);

/* A peer's PARTS. */
bool reads_take_parts(struct moot *m, uint32_t from, const struct message *message);
/* A gate has opened that waited for the result that a read had found to be large. */
void reads_hear_large(struct moot *m, uint64_t number, const struct task *result);
/* A result that this rank makes again may be there. */
void reads_look(struct moot *m);
/* How many reads wait for an element that is made again, here or, as a task, elsewhere.
 */
uint32_t reads_waiting(const struct moot *m);
/* A new view: who was asked may be gone. */
void reads_seek_again(struct moot *m);

#endif
