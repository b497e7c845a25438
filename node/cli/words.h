/* words.h - the words that a verb takes, as its own help has them. */
#ifndef NODE_CLI_WORDS_H
#define NODE_CLI_WORDS_H

#include "node/cli/cli.h"

enum { OPTION_BYTES = 32, OPTIONS_MAX = 64 };

struct options {
    char items[OPTIONS_MAX][OPTION_BYTES]; /* "-n", "--faults" */
    int count;
};

void options_find(const struct verb *verb, struct options *out);

#endif
