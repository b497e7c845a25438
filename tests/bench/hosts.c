/* hosts.c - a broadcast among hosts: how long it takes, and what goes over their links.
 *
 *     hosts moot|mpi DEVICE MIB ROUNDS
 *
 * In each round rank 0 makes so many MiB and all ranks get them: with moot by a task of
 * rank 0 that all spawn and fetch, with MPI by MPI_Bcast.  Each rank prints, for each
 * round, when it began and when it had them, by the clock that processes of one machine
 * share; and at the end what its host sent and received over DEVICE in a round:
 *
 *     time ROUND RANK BEGAN_US ENDED_US
 *     link RANK SENT_BYTES RECEIVED_BYTES
 *     rank RANK SENT_BYTES                  by moot's own count
 *
 * A round before the first warms up.  tests/bench/hosts.sh makes hosts of namespaces.
 */
#include "tests/bench/ways.h"

#include "node/api/moot.h"
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 63 };

struct job {
    size_t bytes;
    int rounds, rank;
    const char *device;
    double began_us[ROUNDS_MAX + 1], ended_us[ROUNDS_MAX + 1];
};

static void fail(const char *what)
{
    fprintf(stderr, "hosts: %s\n", what);
    exit(1);
}

static uint64_t word_of(uint64_t round, size_t at)
{
    return (at + round) * 0x9e3779b97f4a7c15u;
}

static void make_words(uint64_t *words, size_t bytes, uint64_t round)
{
    for (size_t i = 0; i < bytes / sizeof(*words); i++) {
        words[i] = word_of(round, i);
    }
}

static void check_words(const uint64_t *words, size_t bytes, uint64_t round)
{
    for (size_t i = 0; i < bytes / sizeof(*words); i++) {
        if (words[i] != word_of(round, i)) {
            fail("a result has other bytes");
        }
    }
}

/* Bytes that the device has `sent` or received so far. */
static uint64_t device_bytes(const char *device, bool sent)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s_bytes", device,
                   sent ? "tx" : "rx");
    char text[32];
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof(text), file) == NULL) {
        fail("the device has no figures");
    }
    (void)fclose(file);
    return strtoull(text, NULL, 10);
}

struct counts {
    uint64_t sent, received;
};

static struct counts count_device(const struct job *job)
{
    return (struct counts){device_bytes(job->device, true),
                           device_bytes(job->device, false)};
}

static void print_job(const struct job *job, struct counts before)
{
    const struct counts after = count_device(job);
    for (int i = 1; i <= job->rounds; i++) {
        printf("time %d %d %.0f %.0f\n", i, job->rank, job->began_us[i],
               job->ended_us[i]);
    }
    printf("link %d %.0f %.0f\n", job->rank,
           (double)(after.sent - before.sent) / job->rounds,
           (double)(after.received - before.received) / job->rounds);
    (void)fflush(stdout);
}

/* --- With moot -------------------------------------------------------------------- */

static int make_result(moot_call *call, void *user)
{
    const struct job *job = user;
    size_t args_size = 0;
    uint64_t round = 0;
    memcpy(&round, moot_call_args(call, &args_size), sizeof(round));
    void *out = moot_call_output(call, job->bytes);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    make_words(out, job->bytes, round);
    return MOOT_OK;
}

static void check_call(moot *m, int code)
{
    if (code != MOOT_OK) {
        fail(moot_last_error(m));
    }
}

static void fetch_result(moot *m, struct job *job, moot_kernel_id kernel,
                         uint64_t round)
{
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = kernel,
                                 .args = &round,
                                 .args_size = sizeof(round),
                                 .owner = MOOT_ON(0)};
    moot_task task;
    const void *data = NULL;
    size_t size = 0;
    job->began_us[round] = ways_now_us();
    check_call(m, moot_task_spawn(m, &spec, &task));
    check_call(m, moot_task_fetch(m, task, MOOT_FOREVER, &data, &size));
    job->ended_us[round] = ways_now_us();
    check_words(data, size, round);
    check_call(m, moot_barrier(m));
    check_call(m, moot_task_release(m, task));
}

static void run_moot(struct job *job)
{
    moot *m = NULL;
    moot_kernel_id kernel;
    check_call(NULL, moot_open(NULL, &m));
    const moot_kernel made = {
        .size = sizeof(made), .name = "make", .fn = make_result, .user = job};
    check_call(m, moot_kernel_register(m, &made, &kernel));
    job->rank = moot_rank(m);
    fetch_result(m, job, kernel, 0);
    moot_stats before, after;
    check_call(m, moot_stats_get(m, &before));
    const struct counts counts = count_device(job);
    check_call(m, moot_barrier(m));
    for (int round = 1; round <= job->rounds; round++) {
        fetch_result(m, job, kernel, (uint64_t)round);
    }
    print_job(job, counts);
    check_call(m, moot_stats_get(m, &after));
    printf("rank %d %.0f\n", job->rank,
           (double)(after.bytes_sent - before.bytes_sent) / job->rounds);
    check_call(NULL, moot_close(m));
}

/* --- With MPI --------------------------------------------------------------------- */

static void run_mpi(struct job *job)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    uint64_t *words = malloc(job->bytes);
    if (words == NULL) {
        fail("no memory");
    }
    struct counts counts = {0, 0};
    for (int round = 0; round <= job->rounds; round++) {
        if (round == 1) {
            counts = count_device(job);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        job->began_us[round] = ways_now_us();
        if (job->rank == 0) {
            make_words(words, job->bytes, (uint64_t)round);
        }
        MPI_Bcast(words, (int)job->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        job->ended_us[round] = ways_now_us();
        check_words(words, job->bytes, (uint64_t)round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    print_job(job, counts);
    free(words);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    static struct job job;
    if (argc != 5) {
        fail("usage: hosts moot|mpi DEVICE MIB ROUNDS");
    }
    job.device = argv[2];
    job.bytes = (size_t)strtoul(argv[3], NULL, 10) << 20;
    job.rounds = (int)strtol(argv[4], NULL, 10);
    if (job.bytes == 0 || job.bytes >> 30 != 0 || job.rounds < 1 ||
        job.rounds > ROUNDS_MAX) {
        fail("MIB and ROUNDS are numbers, of at most 1023 and 63");
    }
    if (strcmp(argv[1], "mpi") == 0) {
        run_mpi(&job);
    } else {
        run_moot(&job);
    }
    return 0;
}
