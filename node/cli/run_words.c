/* run_words.c - see run_words.h. */
#include "node/cli/run_words.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

void run_words_add(struct run_words *words, const char *word)
{
    if (words->count == RUN_WORDS_MAX) {
        words->full = true;
    } else { /* execv's argv is not written to: the cast drops const for its prototype
              */
        words->items[words->count++] = (char *)(uintptr_t)word;
    }
}

/* A batch system has said how many ranks go where. */
static bool is_allocated(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                        "PE_HOSTFILE", "COBALT_JOBID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i])) {
            return true;
        }
    }
    return false;
}

/* Names of the MOOT_* variables, for -x; they stay valid until the environment changes.
 */
static void variables_add(struct run_words *words)
{
    static char names[RUN_WORDS_MAX][48];
    int count = 0;
    for (char **v = environ; *v && count < RUN_WORDS_MAX / 4; v++) {
        const size_t length = strcspn(*v, "=");
        if (strncmp(*v, "MOOT_", 5) != 0 || length >= sizeof(names[0])) {
            continue;
        }
        snprintf(names[count], sizeof(names[count]), "%.*s", (int)length, *v);
        run_words_add(words, "-x"); /* Open MPI hands only its own to other hosts */
        run_words_add(words, names[count++]);
    }
}

void run_words_open_mpi(struct run_words *words, const struct launcher *launcher,
                        int ranks, int most, bool threads)
{
    const int cores = cores_count();
    const bool joined = ranks <= cores && most > cores;
    if (geteuid() == 0) {
        run_words_add(words, "--allow-run-as-root");
    }
    if ((ranks > cores || joined) && !is_allocated()) {
        fprintf(stderr, "moot: %s%d ranks share %d core%s\n", joined ? "up to " : "",
                joined ? most : ranks, cores, cores == 1 ? "" : "s");
        if (launcher->open_mpi < 5) {
            run_words_add(words, "--oversubscribe");
        } else {
            run_words_add(words, "--map-by");
            run_words_add(words, ":OVERSUBSCRIBE");
        }
    }
    if (launcher->open_mpi < 5) {
        run_words_add(words, "--enable-recovery");
    }
    if (threads) { /* or all threads of a rank get one core */
        run_words_add(words, "--bind-to");
        run_words_add(words, "none");
    }
    variables_add(words);
}

void run_words_label(struct run_words *words, const struct launcher *launcher)
{
    if (launcher->open_mpi >= 5) {
        run_words_add(words, "--output");
        run_words_add(words, "tag");
    } else {
        run_words_add(words, launcher->open_mpi > 0 ? "--tag-output" : "-prepend-rank");
    }
}
