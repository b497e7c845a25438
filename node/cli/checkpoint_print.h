/* checkpoint_print.h - what `moot checkpoint` prints of a folder. */
#ifndef NODE_CLI_CHECKPOINT_PRINT_H
#define NODE_CLI_CHECKPOINT_PRINT_H

#include "node/cli/cli.h"

struct checkpoint_query {
    const char *folder;
    const char *hash; /* or its beginning; NULL: of all */
    bool data;
};

/* Exit statuses. */
int checkpoint_list(const struct checkpoint_query *query);
int checkpoint_show(const struct checkpoint_query *query);
int checkpoint_verify(const struct checkpoint_query *query);
int checkpoint_export(const struct checkpoint_query *query);

#endif
