/* explain.h - the room that says what hangs on what.
 *
 * A rank says what it does (rank_snapshot.h); answers of several are put side by side
 * (snapshot_query.h, job_snapshot.h) and read (diagnosis.h); stalls and divergence are
 * told to people (stall.h, report.h), and figures at the end (exit_report.h,
 * metrics.h). SIGUSR1 asks for a report (usr1.h).
 *
 * Writes m->explain. Under the engine lock; reports are handed out after it is
 * released.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_EXPLAIN_EXPLAIN_H
#define NODE_EXPLAIN_EXPLAIN_H

#include "node/explain/diagnosis.h"
#include "node/explain/exit_report.h"
#include "node/explain/holdup.h"
#include "node/explain/job_snapshot.h"
#include "node/explain/leaks.h"
#include "node/explain/metrics.h"
#include "node/explain/overrun.h"
#include "node/explain/rank_snapshot.h"
#include "node/explain/report.h"
#include "node/explain/snapshot_query.h"
#include "node/explain/spawn_table.h"
#include "node/explain/stall.h"
#include "node/explain/usr1.h"

#endif
