/* kit.c - see kit.h. */
#include "tests/bench/kit.h"

#include "hashing/placement.h"

#include "node/api/moot_mpi.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int run_empty(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static moot_kernel_id register_kernel(struct kit *kit, const moot_kernel *kernel)
{
    moot_kernel_id id;
    bench_check(kit->m, moot_kernel_register(kit->m, kernel, &id), kernel->name);
    return id;
}

moot_kernel_id kit_kernel(struct kit *kit, const char *name, moot_kernel_fn fn,
                          void *user)
{
    return register_kernel(kit, &(moot_kernel){.name = name, .fn = fn, .user = user});
}

struct kit kit_open(const struct bench *bench, const char *const *knobs)
{
    struct kit kit = {.rank = bench->rank, .ranks = bench->ranks};
    bench_check(NULL,
                moot_open_comm(&(moot_options){.knobs = knobs}, MPI_COMM_WORLD, &kit.m),
                "moot_open_comm");
    kit.empty = kit_kernel(&kit, "empty", run_empty, NULL);
    kit.once = register_kernel(&kit, &(moot_kernel){.name = "empty-once",
                                                    .fn = run_empty,
                                                    .flags = MOOT_KERNEL_ONCE});
    return kit;
}

void kit_close(struct kit *kit) { bench_check(NULL, moot_close(kit->m), "moot_close"); }

moot_task kit_spawn(struct kit *kit, const moot_task_spec *spec)
{
    moot_task task;
    bench_check(kit->m, moot_task_spawn(kit->m, spec, &task), "moot_task_spawn");
    return task;
}

void kit_wait(struct kit *kit, moot_task task)
{
    bench_check(kit->m, moot_task_wait(kit->m, task, MOOT_FOREVER), "moot_task_wait");
}

void kit_release(struct kit *kit, moot_task task)
{
    bench_check(kit->m, moot_task_release(kit->m, task), "moot_task_release");
}

void kit_run_empty(struct kit *kit, int64_t count)
{
    moot_task batch[KIT_BATCH];
    for (int64_t number = 0; number < count; number += KIT_BATCH) {
        for (int64_t i = 0; i < KIT_BATCH; i++) {
            const int64_t args = number + i;
            batch[i] = kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                                        .args = &args,
                                                        .args_size = sizeof(args)});
        }
        bench_check(kit->m, moot_task_wait_all(kit->m, batch, KIT_BATCH, MOOT_FOREVER),
                    "moot_task_wait_all");
        for (int64_t i = 0; i < KIT_BATCH; i++) {
            kit_release(kit, batch[i]);
        }
    }
}

int kit_chair(struct kit *kit, const moot_task_spec *spec)
{
    moot_hash hash;
    struct rankset members = {0};
    bench_check(kit->m, moot_spec_hash(kit->m, spec, &hash), "moot_spec_hash");
    for (int rank = 0; rank < kit->ranks; rank++) {
        if (!rankset_add(&members, (uint32_t)rank)) {
            bench_die("no memory for the members");
        }
    }
    uint32_t chair = placement_chair(&hash, &members, NULL);
    rankset_release(&members);
    return (int)chair;
}

/* A task of each rank, after which all are there. */
void kit_meet(struct kit *kit, int64_t end)
{
    for (int rank = 0; rank < kit->ranks; rank++) {
        const int64_t args[2] = {end, rank};
        moot_task task = kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                                          .args = args,
                                                          .args_size = sizeof(args),
                                                          .key = "meet",
                                                          .key_size = 4,
                                                          .owner = MOOT_ON(rank)});
        kit_wait(kit, task);
        kit_release(kit, task);
    }
}

/* --- The raw wire ----------------------------------------------------------------- */

static double ping_pong_s(int rank, void *bytes, size_t size)
{
    double begun_s = bench_now_s();
    if (rank == 0) {
        MPI_Send(bytes, (int)size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(bytes, (int)size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(bytes, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(bytes, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return (bench_now_s() - begun_s) / 2;
}

double kit_half_round_trip_s(const struct bench *bench, size_t size, int rounds)
{
    enum { TRIES = 3 };
    double *took_s = bench_alloc((size_t)rounds, sizeof(*took_s)), least_s = INFINITY;
    unsigned char *bytes = bench_alloc(size, 1);
    for (size_t i = 0; i < size; i += 512) {
        bytes[i] = 1;
    }
    for (int i = 0; i < TRIES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int round = 0; round < rounds; round++) {
            took_s[round] = ping_pong_s(bench->rank, bytes, size);
        }
        least_s = fmin(least_s, figure_of(took_s, (size_t)rounds).median);
    }
    MPI_Bcast(&least_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(bytes);
    free(took_s);
    return least_s;
}

double kit_sent_bytes(const struct kit *kit)
{
    moot_stats stats = {0};
    bench_check(kit->m, moot_stats_get(kit->m, &stats), "moot_stats_get");
    return (double)stats.bytes_sent;
}

double kit_resident_bytes(void)
{
    double whole, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%lf %lf", &whole, &resident) != 2) {
        bench_die("/proc/self/statm cannot be read");
    }
    (void)fclose(file);
    return resident * (double)sysconf(_SC_PAGESIZE);
}
