/* api.h - the room of the public calls.
 *
 * The headers that users see (moot.h and moot_*.h) are the rooms' common language: any
 * room of node/ may include them. The calls check, lock, call a room, and unlock; a
 * context opens and closes here (context_open.h, close.h).
 *
 * Writes no room's state but through the room, except while a context is made. Public
 * calls may come from any thread.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_API_API_H
#define NODE_API_API_H

#include "node/api/context_open.h"

#endif
