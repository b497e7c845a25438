/* error.h - names and texts of the error codes, for the layers below the public call.
 *
 * node/ publishes them as moot_strerror() and moot_err_name().
 */
#ifndef PROTO_ERROR_H
#define PROTO_ERROR_H

#include "proto/moot_error.h"
#include <stdbool.h>

/* "the wait's timeout passed"; static, never NULL, "unknown error" for other codes. */
const char *error_text(int code);
/* "MOOT_ERR_TIMEOUT" ("MOOT_OK" for 0); static, never NULL, "MOOT_ERR_?" likewise. */
const char *error_name(int code);
/* Whether code is one of MOOT_ERRORS; MOOT_OK is none. */
bool error_known(int code);

#endif
