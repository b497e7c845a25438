/* region.h - nestings of task queues as text, and the order that each declares.
 *
 *     S(a B(b c) d)      S: sequential; B: bulk; P: a queue that passes pairs up
 *
 * Letters are tasks, named a to z and A to R without the queues' own; a text has each
 * at most once.  The order is worked out here from the text alone, by what moot_queue.h
 * says of batches, for the tasks that a rank holds.  It shares nothing with the
 * library.
 */
#ifndef TESTS_MPI_REGION_H
#define TESTS_MPI_REGION_H

#include <stdbool.h>
#include <stdint.h>

enum { REGION_TASKS_MAX = 48, REGION_TEXT_BYTES = 256 };

struct region_order {
    uint64_t tasks;                    /* that the text has, and the rank holds */
    uint64_t before[REGION_TASKS_MAX]; /* of each task: the batches just before it */
};

/* The number of a task's letter; -1 if it is none. */
int region_task(char letter);
char region_letter(int task);

/* `holds`: bits of tasks.  False if the text is not one. */
bool region_order_of(const char *text, uint64_t holds, struct region_order *out);

/* Adds what is before what is before a task. */
void region_order_close(struct region_order *order);

/* Writes the nesting of these kinds, the outermost first: at each level a task, the
 * next level twice, and a task. */
void region_write(const char *kinds, char text[REGION_TEXT_BYTES]);

#endif
