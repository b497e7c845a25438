/* build_id.h - which build of a program or library a function is of.
 *
 * Linkers put a digest of what they made into the object (NT_GNU_BUILD_ID, as gcc on
 * most systems has them do; ld --build-id).  Two kernels of one name and version, and
 * of two builds, are perhaps not the same function.
 */
#ifndef NODE_TASKS_BUILD_ID_H
#define NODE_TASKS_BUILD_ID_H

#include "proto/limits.h"

#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_BYTES = LIMIT_BUILD_BYTES };

/* Writes the build id of the object that has this address; returns how many bytes it
 * has, which is 0 where it is not known. */
size_t build_id_at(uintptr_t address, unsigned char out[BUILD_ID_BYTES]);

#endif
