/* range.h - a stretch of numbers. */
#ifndef HASHING_BASE_RANGE_H
#define HASHING_BASE_RANGE_H

#include <stdint.h>

struct range {
    uint64_t first, end; /* of numbers first .. end - 1 */
};

#endif
