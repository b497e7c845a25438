/* error.c - names and texts of the error codes (error.h), from the one list. */
#include "proto/error.h"

#include <stddef.h>

struct error {
    const char *name;
    const char *text;
};

/* NULL if there is no such error. */
static const struct error *error_find(int code)
{
    static const struct error errors[] = {[0] = {"MOOT_OK", "no error"},
#define X(name, number, text) [-(number)] = {"MOOT_ERR_" #name, text},
                                          MOOT_ERRORS(X)
#undef X
    };
    static const int count = (int)(sizeof(errors) / sizeof(*errors));
    if (code > 0 || code <= -count || errors[-code].name == NULL) {
        return NULL;
    }
    return &errors[-code];
}

const char *error_text(int code)
{
    const struct error *error = error_find(code);
    return error != NULL ? error->text : "unknown error";
}

const char *error_name(int code)
{
    const struct error *error = error_find(code);
    return error != NULL ? error->name : "MOOT_ERR_?";
}

bool error_known(int code) { return code != MOOT_OK && error_find(code) != NULL; }
