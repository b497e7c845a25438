/* tools.h - the room of what reads what ranks have left.
 *
 * Traces (trace_data.h, trace_model.h), sheets of figures (sheet.h), sockets of running
 * ranks (state_sockets.h), and what is written of them (report_data.h, trace_export.h,
 * json.h); and what timers would suit a program (tune.h). Linked to the command and to
 * tests, not to the library.
 *
 * No threads, no locks.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_TOOLS_TOOLS_H
#define NODE_TOOLS_TOOLS_H

#include "node/tools/json.h"
#include "node/tools/report_data.h"
#include "node/tools/sheet.h"
#include "node/tools/state_sockets.h"
#include "node/tools/trace_data.h"
#include "node/tools/trace_export.h"
#include "node/tools/trace_model.h"
#include "node/tools/tune.h"

#endif
