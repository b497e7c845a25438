/* stretch.h - elements that start at most once, ever.
 *
 * The elements of an array whose kernel is once (MOOT_KERNEL_ONCE) go by *stretches*:
 * the elements of one home, which the core gives to one rank, all of them (PROTOCOL.md,
 * A17).  Before that rank begins any of these it needs the *leave* of the stretch: a
 * task of the kernel `moot.stretch`, which is once, and of which the array's hash and
 * the home are the arguments.  Its chair is the home, while that is a member, so mostly
 * it is claimed there, and costs a word of each of its voters.  The rank that runs it
 * has the leave, and begins the stretch.  It is a once task under all rules: a quorum
 * accepts who has it, a lease is needed, it is noted on the disk, a reload and what is
 * forgotten do not give it again.
 *
 * So whoever is given a stretch later, after deaths, and finds that the leave was given
 * to another rank, or may have been, begins nothing of it: its elements end MAYBE_RAN.
 *
 * Each rank with a stretch waits for the leave by a gate (element_gate.h).  Until then
 * the stretch's blocks are *held*.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_STRETCH_H
#define NODE_COMPOSE_STRETCH_H

#include "node/context/context.h"

struct core_output;

bool stretches_begin(struct moot *m); /* false without memory */
void stretches_release(struct moot *m);
/* CORE_OUT_ELEMENTS. */
void stretch_carry(struct moot *m, const struct core_output *output);
/* Part of a chore: asks for the leaves of stretches that are new here. */
void stretches_look(struct moot *m);
/* The elements that wait for a leave and are counted nowhere else. */
uint64_t stretches_waiting(const struct moot *m);
/* The leave has ended, well or not: `gate` has it for an input. */
void stretch_hear(struct moot *m, const moot_hash *array, uint32_t home);

#endif
