/* random_programs.c - random diverging programs on real ranks.
 *
 *   mpirun -n 4 random_programs --seeds 1..150
 *   mpirun -n 4 random_programs --seed 17 [--tasks N] [--features MASK] [--agree]
 *                               [--knob NAME=VALUE]... [--print] [--regions]
 *   moot run --launcher local -n 4 random_programs --seeds 1..20     without MPI
 *
 * Each seed is a program of 50 to 500 tasks (consensus/sim/programs/program.h), played
 * in a moot of its own (support/play.h).  A seed that fails, or does not end, prints
 * the line that runs it again.  With --regions the player draws queues and groups, too
 * (support/play_regions.h), and every third program is one in which queues may be
 * sequential.  --features takes a mask of enum program_feature: leaving bits
 * out makes a failing program smaller.
 */
#include "tests/mpi/support/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_DEADLINE_S = 45, KNOBS_MAX = 8 };

struct job {
    uint64_t first, last;
    uint32_t tasks, features;
    bool agree, print, regions;
    const char *knobs[KNOBS_MAX + 1];
    int knob_count;
};

static bool parse_number(const char *text, uint64_t *out, char **end)
{
    *out = strtoull(text, end, 0);
    return *end != text;
}

static bool parse_seeds(const char *text, struct job *job)
{
    char *end = NULL;
    if (!parse_number(text, &job->first, &end)) {
        return false;
    }
    job->last = job->first;
    if (strncmp(end, "..", 2) == 0 && !parse_number(end + 2, &job->last, &end)) {
        return false;
    }
    return *end == '\0' && job->last >= job->first;
}

static bool parse_u32(const char *text, uint32_t *out)
{
    char *end = NULL;
    uint64_t number = 0;
    bool good = parse_number(text, &number, &end) && *end == '\0';
    *out = (uint32_t)number;
    return good && number <= UINT32_MAX;
}

static bool parse_option(struct job *job, const char *option, const char *value)
{
    if (strcmp(option, "--seed") == 0 || strcmp(option, "--seeds") == 0) {
        return parse_seeds(value, job);
    }
    if (strcmp(option, "--tasks") == 0) {
        return parse_u32(value, &job->tasks);
    }
    if (strcmp(option, "--features") == 0) {
        return parse_u32(value, &job->features);
    }
    if (strcmp(option, "--knob") == 0 && job->knob_count < KNOBS_MAX) {
        job->knobs[job->knob_count++] = value;
        return true;
    }
    return false;
}

static bool parse(struct job *job, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--agree") == 0) {
            job->agree = true;
        } else if (strcmp(argv[i], "--print") == 0) {
            job->print = true;
        } else if (strcmp(argv[i], "--regions") == 0) {
            job->regions = true;
        } else if (i + 1 >= argc || !parse_option(job, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    return job->first > 0;
}

static void describe(const struct job *job, uint64_t seed, char *text, size_t size)
{
    int at = snprintf(
        text, size, "replay: mpirun --oversubscribe -n %d random_programs --seed %llu",
        harness_size(), (unsigned long long)seed);
    if (job->tasks != 0) {
        at += snprintf(text + at, size - (size_t)at, " --tasks %u", job->tasks);
    }
    if (job->features != 0) {
        at += snprintf(text + at, size - (size_t)at, " --features %u", job->features);
    }
    if (job->agree) {
        at += snprintf(text + at, size - (size_t)at, " --agree");
    }
    if (job->regions) {
        at += snprintf(text + at, size - (size_t)at, " --regions");
    }
    for (int i = 0; i < job->knob_count && (size_t)at + 1 < size; i++) {
        at += snprintf(text + at, size - (size_t)at, " --knob %.20s", job->knobs[i]);
    }
}

/* Every third seed with regions draws from fewer, unless told what from. */
static uint32_t features_of(const struct job *job, uint64_t seed)
{
    const uint32_t ordered = PROGRAM_ALL & ~(PROGRAM_FAILURES | PROGRAM_GHOSTS |
                                             PROGRAM_CANCELS | PROGRAM_DISORDER);
    return job->features == 0 && job->regions && seed % 3 == 0 ? ordered
                                                               : job->features;
}

static void run_seed(const struct job *job, uint64_t seed)
{
    char name[160];
    describe(job, seed, name, sizeof(name));
    struct program *program =
        program_new(&(struct program_options){.seed = seed,
                                              .ranks = (uint32_t)harness_size(),
                                              .tasks = job->tasks,
                                              .features = features_of(job, seed),
                                              .agree = job->agree});
    if (program == NULL) {
        harness_abort(2);
    }
    if (job->print && harness_rank() == 0) {
        program_print(program, stdout);
    }
    harness_case_begin(name, SEED_DEADLINE_S);
    const char *const *knobs = job->knob_count > 0 ? job->knobs : NULL;
    if (job->regions) {
        play_program_in_regions(program, knobs);
    } else {
        play_program(program, knobs, false, NULL);
    }
    harness_case_end();
    program_free(program);
}

int main(int argc, char **argv)
{
    struct job job = {0};
    harness_open(&argc, &argv, "random_programs");
    if (!parse(&job, argc, argv)) {
        if (harness_rank() == 0) {
            (void)fprintf(stderr, "usage: random_programs --seeds A..B | --seed S "
                                  "[--tasks N] [--features MASK] [--agree] "
                                  "[--knob NAME=VALUE]... [--print] [--regions]\n");
        }
        (void)harness_close();
        return 2;
    }
    if (job.last > job.first) {
        harness_quiet();
    }
    for (uint64_t seed = job.first; seed <= job.last; seed++) {
        run_seed(&job, seed);
    }
    return harness_close();
}
