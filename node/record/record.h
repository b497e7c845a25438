/* record.h - the room that writes down what happens.
 *
 * Each rank appends to a file of its own, which is made anew (fresh_file.h, trace.h;
 * trace_file.h is for this room and for readers), and tells the program what becomes of
 * tasks (task_watch.h), and which ranks differ (differing.h), by one clock for all
 * ranks (job_clock.h).
 *
 * Writes m->record. Under the engine lock; the program's functions are called without
 * it.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_RECORD_RECORD_H
#define NODE_RECORD_RECORD_H

#include "node/record/differing.h"
#include "node/record/figures.h"
#include "node/record/fresh_file.h"
#include "node/record/job_clock.h"
#include "node/record/moot_name.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/record/trace_file.h"

#endif
