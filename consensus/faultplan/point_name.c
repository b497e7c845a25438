/* point_name.c - the points of a core at which faults may strike, by name. */
#include "consensus/core.h"

const char *core_point_name(enum core_point point)
{
    static const char *const names[] = {
#define X(name, text) [CORE_POINT_##name] = text,
        CORE_POINTS(X)
#undef X
    };
    return (unsigned)point < CORE_POINT_END ? names[point] : "?";
}
