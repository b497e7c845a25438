/* stores_run.h - one seed of a program with a checkpoint (stores.h): all its lives. */
#ifndef TESTS_VIRTUAL_STORES_RUN_H
#define TESTS_VIRTUAL_STORES_RUN_H

#include "tests/virtual/run.h"

/* False if something is wrong, which has been said unless `quiet`. */
bool stores_run(const struct run_options *options, struct run_result *result);

#endif
