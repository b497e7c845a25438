/* mutant_names.h - the mutants of consensus/mutant.h by name, for the tests that break
 * rules.
 *
 * Only where MOOT_MUTANTS is defined; the program defines mutant_on.
 */
#ifndef TESTS_MUTANT_NAMES_H
#define TESTS_MUTANT_NAMES_H

#include "consensus/mutant.h"

#include <stdlib.h>
#include <string.h>

static inline const char *mutant_name(enum mutant mutant)
{
    static const char *const names[] = {"NONE",
#define X(name, text) #name,
                                        MUTANTS(X)
#undef X
    };
    return names[mutant];
}

/* That which $MOOT_MUTANT names; MUTANT_NONE: it names none. */
static inline enum mutant mutant_wanted(void)
{
    const char *wanted = getenv("MOOT_MUTANT");
    for (int i = 0; wanted != NULL && i < MUTANT_END; i++) {
        if (strcmp(mutant_name((enum mutant)i), wanted) == 0) {
            return (enum mutant)i;
        }
    }
    return MUTANT_NONE;
}

#endif
