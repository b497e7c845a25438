/* run_words.h - the command line by which `moot run` starts an MPI launcher. */
#ifndef NODE_CLI_RUN_WORDS_H
#define NODE_CLI_RUN_WORDS_H

#include "node/launch/launch.h"

enum { RUN_WORDS_MAX = 256 };

struct run_words {
    char *items[RUN_WORDS_MAX + 1];
    int count;
    bool full; /* there was no room for one */
};

/* The word itself is not copied. */
void run_words_add(struct run_words *words, const char *word);

/* The options that Open MPI needs on this machine for so many ranks, or `most` when
 * others have joined (0: none do), with threads of their own or without; says so if
 * they share cores. */
void run_words_open_mpi(struct run_words *words, const struct launcher *launcher,
                        int ranks, int most, bool threads);

/* The option by which it puts a rank's number before what that says. */
void run_words_label(struct run_words *words, const struct launcher *launcher);

#endif
