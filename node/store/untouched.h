/* untouched.h - zeroed memory that costs what of it is used.
 *
 * A table may have room for all that could be named while little of it ever is: the
 * inputs of an array of which a rank runs ten elements of half a million.  Once the C
 * library has had a piece of such a size back it gives it out again, and clears it
 * whole.  A large piece of these is the system's instead, whose pages come one by one
 * as they are touched, and go when it is freed.  A small one is the C library's.
 */
#ifndef NODE_STORE_UNTOUCHED_H
#define NODE_STORE_UNTOUCHED_H

#include <stddef.h>

/* From this size on, in bytes, it is the system's. */
enum { UNTOUCHED_LARGE_BYTES = 128 << 10 };

/* Aligned for any type; NULL without memory. */
void *untouched_new(size_t size);
/* With the size that it was made with.  NULL is accepted. */
void untouched_free(void *memory, size_t size);

#endif
