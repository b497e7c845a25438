/* wiring.h - which room does what comes up in the engine (node/engine/dispatch.h). */
#ifndef NODE_API_WIRING_H
#define NODE_API_WIRING_H

#include "node/engine/dispatch.h"

extern const struct engine_hooks wiring;

#endif
