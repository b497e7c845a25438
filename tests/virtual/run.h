/* run.h - one run of a random program on virtual ranks: drawn, run and checked.
 */
#ifndef TESTS_VIRTUAL_RUN_H
#define TESTS_VIRTUAL_RUN_H

#include "tests/medley/medley.h"
#include "tests/virtual/world.h"

#include <stdbool.h>
#include <stdint.h>

struct run_options {
    uint64_t seed;
    uint32_t ranks;      /* 0: drawn */
    const char *faults;  /* NULL: drawn; "none" */
    const char *canary;  /* NULL: none */
    bool features_named; /* else drawn */
    uint32_t features;
    bool kill_named; /* else drawn */
    uint32_t kill_rank;
    uint64_t kill_ns;
    bool steady;   /* the long program, without faults (steady.h) */
    bool arrays;   /* with task arrays beside (tests/medley/arrays.c) */
    bool sessions; /* a program of sessions (sessions.h) */
    bool stores;   /* a program with a checkpoint, in several lives (stores.h) */
    bool shows;    /* what ranks report */
    bool quiet;    /* nothing is said of what is wrong */
};

/* The run, drawn or named, and its outcome. */
struct run_result {
    uint32_t ranks, features, kill_rank;
    char faults[256];
    uint64_t kill_ns, digest, switches, virtual_ns;
    uint32_t deaths, well, ill; /* ranks that died; ends with a result, with an error */
    uint64_t votes, retried, messages, taken_over, forgotten;
};

struct run_totals {
    uint64_t runs, deaths, well, ill, votes, retried, messages, taken_over, switches,
        virtual_ns, digest;
};

bool run_setup(void);
/* False if something is wrong, which has been said unless `quiet`. */
bool run(const struct run_options *options, struct run_result *result);
void run_total(struct run_totals *totals, const struct run_result *result);
void run_print_totals(const struct run_totals *totals);

#endif
