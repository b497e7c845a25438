/* config.h - the room of knobs, and of text.
 *
 * Knobs come from the command line, the environment and files, by one table (knobs.h);
 * words that nobody knows are answered with those that may have been meant
 * (spelling.h); text grows in text.h; structs of the public interface may grow by
 * sized.h.
 *
 * Keeps no state of its own: struct knobs is the context's. Any thread; no lock.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_CONFIG_CONFIG_H
#define NODE_CONFIG_CONFIG_H

#include "node/config/ending.h"
#include "node/config/knobs.h"
#include "node/config/sized.h"
#include "node/config/spelling.h"
#include "node/config/text.h"

#endif
