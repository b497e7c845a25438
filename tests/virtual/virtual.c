/* virtual.c - random programs on virtual ranks (world.h), seed by seed.
 *
 *     virtual [--seed S | --seeds A..B] [--ranks N] [--faults PLAN] [--features WORDS]
 *             [--kill RANK@NS] [--canary NAME] [--digest] [--show] [--no-shrink]
 *             [--watch RANK:BLOCK] [--arrays | --steady | --sessions | --stores]
 *
 * A seed gives the program (tests/medley/medley.h), the fault plan, the knobs, the
 * wire and the world.  What is named by an option is not drawn: `--faults none`,
 * `--features data,queues` or `none`, `--kill none`.
 *
 * Each run is checked for:
 *
 *   ends     every thread comes to its end, by a virtual deadline
 *   judge    results are the oracle's, errors are legitimate, once is once, all ranks
 *            say the same, kernels run in order
 *   memory   ranks that have closed hold no memory, and have named no transfer that its
 *            other side did not
 *   digest   with --digest: a second run is the same run
 *   arrays   with --arrays, which plays task arrays beside: their elements' bytes
 *   sessions with --sessions, which plays a program of sessions (sessions.h): its rules
 *   stores   with --stores, which plays one in several lives of a job: its rules
 * (stores.h) level    with --steady, which plays a long program instead (steady.h):
 * memory does not grow
 *
 * A failure prints what is wrong and the line that repeats it, with as few features and
 * faults as it still fails with; then the exit status is 1.  `--canary NAME` breaks
 * something on purpose, for which the exit status must be 1, and ends with the first
 * seed that sees it:
 *
 *   bytes order    the wire loses a transfer's last byte; lets frames overtake
 *   leak           a rank keeps a block of memory
 *   hoard          rank 0 of a long program releases nothing
 *   hang           a rank never closes
 *   unsynced deaf  a disk syncs nothing; does not find records that it has (--stores)
 *   forgetful      a walk through a disk's keys leaves some out (--stores)
 *   time           the second run has another clock: what digests are for
 *
 * --watch says who takes the block that a leak names.  --show passes on what ranks
 * report, with their own time.
 */
#include "tests/virtual/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int usage(void)
{
    fprintf(stderr,
            "usage: virtual [--seed S | --seeds A..B] [--ranks N] [--faults PLAN] "
            "[--features WORDS]\n               [--kill RANK@NS] [--canary NAME] "
            "[--digest] [--show] [--no-shrink] [--watch RANK:BLOCK]\n               "
            "[--arrays | --steady | --sessions | --stores]\n");
    return 2;
}

static bool read_features(const char *text, uint32_t *out)
{
    static const char *const names[] = {
#define X(name, text) text,
        MEDLEY_FEATURES(X)
#undef X
    };
    *out = 0;
    while (*text != '\0' && strcmp(text, "none") != 0) {
        size_t length = strcspn(text, ",");
        uint32_t i = 0;
        while (i < MEDLEY_FEATURE_COUNT &&
               (strlen(names[i]) != length || strncmp(names[i], text, length) != 0)) {
            i++;
        }
        if (i == MEDLEY_FEATURE_COUNT) {
            return false;
        }
        *out |= 1u << i;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool read_watch(const char *text)
{
    char *rest = NULL;
    uint32_t rank = (uint32_t)strtoul(text, &rest, 10);
    if (*rest == ':') {
        account_watch(rank, strtoull(rest + 1, &rest, 10));
    }
    return *rest == '\0';
}

static bool read_kill(const char *text, struct run_options *options)
{
    char *rest = NULL;
    options->kill_named = true;
    options->kill_rank = WORLD_NO_RANK;
    if (strcmp(text, "none") == 0) {
        return true;
    }
    options->kill_rank = (uint32_t)strtoul(text, &rest, 10);
    if (*rest != '@') {
        return false;
    }
    options->kill_ns = strtoull(rest + 1, &rest, 10);
    return *rest == '\0' && options->kill_rank < WORLD_RANKS_MAX;
}

struct command {
    struct run_options run;
    uint64_t first, last;
    bool digest, no_shrink;
};

static bool read_option(struct command *command, const char *name, const char *value)
{
    char *rest = NULL;
    struct run_options *run = &command->run;
    if (strcmp(name, "--seed") == 0) {
        command->first = command->last = strtoull(value, &rest, 10);
    } else if (strcmp(name, "--seeds") == 0) {
        command->first = strtoull(value, &rest, 10);
        command->last = strncmp(rest, "..", 2) == 0 ? strtoull(rest + 2, &rest, 10) : 0;
    } else if (strcmp(name, "--ranks") == 0) {
        run->ranks = (uint32_t)strtoul(value, &rest, 10);
    } else if (strcmp(name, "--faults") == 0) {
        run->faults = value;
    } else if (strcmp(name, "--canary") == 0) {
        run->canary = value;
    } else if (strcmp(name, "--features") == 0) {
        run->features_named = true;
        return read_features(value, &run->features);
    } else if (strcmp(name, "--kill") == 0) {
        return read_kill(value, run);
    } else if (strcmp(name, "--watch") == 0) {
        return read_watch(value);
    } else {
        return false;
    }
    return rest == NULL || *rest == '\0';
}

static bool read_command(struct command *command, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--digest") == 0) {
            command->digest = true;
        } else if (strcmp(argv[i], "--steady") == 0) {
            command->run.steady = true;
        } else if (strcmp(argv[i], "--arrays") == 0) {
            command->run.arrays = true;
        } else if (strcmp(argv[i], "--sessions") == 0) {
            command->run.sessions = true;
        } else if (strcmp(argv[i], "--stores") == 0) {
            command->run.stores = true;
        } else if (strcmp(argv[i], "--show") == 0) {
            command->run.shows = true;
        } else if (strcmp(argv[i], "--no-shrink") == 0) {
            command->no_shrink = true;
        } else if (i + 1 == argc || !read_option(command, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    const struct run_options *run = &command->run;
    return command->first <= command->last && run->ranks <= WORLD_RANKS_MAX &&
           run->arrays + run->steady + run->sessions + run->stores <= 1;
}

static void print_repeat(const struct run_options *options, const struct run_result *is)
{
    static const char *const names[] = {
#define X(name, text) text,
        MEDLEY_FEATURES(X)
#undef X
    };
    printf("repeat: virtual%s --seed %llu --ranks %u --faults %s --features ",
           options->arrays     ? " --arrays"
           : options->steady   ? " --steady"
           : options->sessions ? " --sessions"
           : options->stores   ? " --stores"
                               : "",
           (unsigned long long)options->seed, (unsigned)is->ranks,
           is->faults[0] != '\0' ? is->faults : "none");
    const char *comma = "";
    for (uint32_t i = 0; i < MEDLEY_FEATURE_COUNT; i++) {
        if (is->features >> i & 1) {
            printf("%s%s", comma, names[i]);
            comma = ",";
        }
    }
    printf("%s --kill ", *comma == '\0' ? "none" : "");
    if (is->kill_rank == WORLD_NO_RANK) {
        printf("none");
    } else {
        printf("%u@%llu", (unsigned)is->kill_rank, (unsigned long long)is->kill_ns);
    }
    printf("%s%s\n", options->canary != NULL ? " --canary " : "",
           options->canary != NULL ? options->canary : "");
}

/* With less in it, as long as it still fails: faults, the kill, features one by one. */
static void shrink(struct run_options *options, struct run_result *result)
{
    static char faults[sizeof(result->faults)];
    struct run_result less;
    struct run_options tried = *options;
    tried.quiet = true;
    tried.features_named = tried.kill_named = true;
    tried.ranks = result->ranks;
    tried.features = result->features;
    (void)snprintf(faults, sizeof(faults), "%s", result->faults);
    tried.faults = faults[0] != '\0' ? faults : "none";
    tried.kill_rank = result->kill_rank;
    tried.kill_ns = result->kill_ns;
    for (uint32_t step = 0; step < 2 + MEDLEY_FEATURE_COUNT; step++) {
        struct run_options before = tried;
        if (step == 0) {
            tried.faults = "none";
        } else if (step == 1) {
            tried.kill_rank = WORLD_NO_RANK;
        } else {
            tried.features &= ~(1u << (step - 2));
        }
        if (run(&tried, &less)) {
            tried = before;
        }
    }
    tried.quiet = false;
    *options = tried;
    (void)run(options, result);
}

static bool run_seed(const struct command *command, uint64_t seed,
                     struct run_totals *totals)
{
    struct run_options options = command->run;
    struct run_result result, again;
    options.seed = seed;
    bool good = run(&options, &result);
    if (good && command->digest) {
        (void)run(&options, &again);
        good = again.digest == result.digest;
        if (!good) {
            printf("WRONG: seed %llu: a second run differs: %016llx, %016llx\n",
                   (unsigned long long)seed, (unsigned long long)result.digest,
                   (unsigned long long)again.digest);
        }
    } else if (!good && !command->no_shrink && !options.stores) {
        shrink(&options, &result);
    }
    if (!good) {
        print_repeat(&options, &result);
    }
    run_total(totals, &result);
    return good;
}

int main(int argc, char **argv)
{
    struct command command = {.first = 1, .last = 1};
    struct run_totals totals = {0};
    uint64_t failed = 0;
    if (!read_command(&command, argc, argv) || !run_setup()) {
        return usage();
    }
#ifdef __SANITIZE_THREAD__
    printf("all ranks are on one thread: there is nothing for this sanitizer\n");
    return 77;
#endif
    for (uint64_t seed = command.first;
         seed <= command.last && (failed == 0 || command.run.canary == NULL); seed++) {
        failed += !run_seed(&command, seed, &totals);
        fflush(stdout);
    }
    run_print_totals(&totals);
    printf("%llu seeds, %llu failed\n", (unsigned long long)totals.runs,
           (unsigned long long)failed);
    return failed > 0 ? 1 : 0;
}
