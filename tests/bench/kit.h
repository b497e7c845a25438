/* kit.h - a moot with a few kernels, and the raw wire beside it: what the rows about
 * one cost each are made from.
 */
#ifndef TESTS_BENCH_KIT_H
#define TESTS_BENCH_KIT_H

#include "tests/bench/bench.h"

struct kit {
    moot *m;
    int rank, ranks;
    moot_kernel_id empty; /* gives no bytes */
    moot_kernel_id once;  /* likewise; may not run twice, so its tasks need a key */
};

/* `knobs` as in moot_options, or NULL.  Collective. */
struct kit kit_open(const struct bench *bench, const char *const *knobs);
void kit_close(struct kit *kit);

/* Each ends the job if the call fails. */
moot_kernel_id kit_kernel(struct kit *kit, const char *name, moot_kernel_fn fn,
                          void *user);
moot_task kit_spawn(struct kit *kit, const moot_task_spec *spec);
void kit_wait(struct kit *kit, moot_task task);
void kit_release(struct kit *kit, moot_task task);

/* Spawns `count` empty tasks, which any rank may run, waits for them and releases them:
 * KIT_BATCH at a time, of which `count` is a multiple.
 */
enum { KIT_BATCH = 1000 };
void kit_run_empty(struct kit *kit, int64_t count);

/* The rank that chairs the task of this spec. */
int kit_chair(struct kit *kit, const moot_task_spec *spec);

/* All ranks have come here; `end` differs from call to call.  Peers are served, and
 * this rank counts as blocked, as it would in a program that waits for a result.
 * Collective.
 */
void kit_meet(struct kit *kit, int64_t end);

/* Half a round trip of `size` bytes between ranks 0 and 1 in MPI alone, in seconds: the
 * least of three medians.  No moot should be open.  Collective; there must be two
 * ranks.
 */
double kit_half_round_trip_s(const struct bench *bench, size_t size, int rounds);

/* That this rank has sent so far. */
double kit_sent_bytes(const struct kit *kit);

/* Bytes that this process has in memory. */
double kit_resident_bytes(void);

#endif
