/* large.c - results of any size arrive whole, by every way that a result can take.
 *
 *   mpirun -n 3 large          1 byte, 8 KiB, 8 KiB + 1, 1 MiB, 64 MiB
 *   mpirun -n 2 large --huge   and 2.5 GiB, more than any 32-bit count
 *
 * Each size goes to a consumer on another rank (pushed as an input), to a rank that
 * fetches by hash alone (asked for), and to the rank that made it.  What comes is
 * compared by fingerprint.  A second fetch must give the same pointer: a borrow, no
 * copy.
 */
#include "tests/mpi/support/scene.h"

#include "hashing/identity.h"
#include "proto/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_S = 120, HUGE_DEADLINE_S = 600 };

struct blob_args {
    uint64_t size, id;
};

/* Bytes that depend on the size and on their place, 8 at a time. */
static void fill(unsigned char *bytes, uint64_t size)
{
    uint64_t state = size;
    for (uint64_t at = 0; at < size; at += 8) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(bytes + at, &state, size - at < 8 ? (size_t)(size - at) : 8);
    }
}

static int make_blob(moot_call *call, void *user)
{
    size_t args_size = 0;
    struct blob_args args;
    memcpy(&args, moot_call_args(call, &args_size), sizeof(args));
    scene_count_run(user, (uint32_t)args.id);
    unsigned char *bytes = moot_call_output(call, (size_t)args.size);
    if (bytes == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no memory for the blob");
    }
    CHECK((uintptr_t)bytes % 64 == 0, "the output is not aligned to 64");
    fill(bytes, args.size);
    return MOOT_OK;
}

static int fingerprint(moot_call *call, void *user)
{
    size_t size = 0;
    struct blob_args args;
    memcpy(&args, moot_call_args(call, &size), sizeof(args));
    scene_count_run(user, (uint32_t)args.id);
    const void *input = moot_call_input(call, 0, &size);
    moot_hash *digest = moot_call_output(call, sizeof(*digest));
    if (digest == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *digest = digest_bytes(input, size);
    return MOOT_OK;
}

static moot_hash expected_digest(uint64_t size)
{
    unsigned char *bytes = harness_alloc((size_t)size, 1);
    fill(bytes, size);
    moot_hash digest = digest_bytes(bytes, (size_t)size);
    free(bytes);
    return digest;
}

static void check_fetch(struct scene *scene, moot_task task, uint64_t size,
                        const moot_hash *wanted)
{
    const void *data = NULL, *again = NULL;
    size_t got = 0, got_again = 0;
    if (!CHECK_OK(moot_task_fetch(scene->m, task, MOOT_FOREVER, &data, &got))) {
        return;
    }
    CHECK_OK(moot_task_fetch(scene->m, task, 0, &again, &got_again));
    CHECK(data == again && got == got_again, "a second fetch gave another copy");
    moot_hash digest = digest_bytes(data, got);
    CHECK(got == size && hash_equal(&digest, wanted), "%zu of %llu bytes, or others",
          got, (unsigned long long)size);
}

/* The last rank makes it; rank 0 consumes it; the others fetch it by hash. */
static void send_size(uint64_t size, bool everyone_fetches)
{
    struct scene *scene = scene_open(NULL);
    moot_kernel_id make, take;
    CHECK_OK(moot_kernel_register(
        scene->m, &(moot_kernel){.name = "make-blob", .fn = make_blob, .user = scene},
        &make));
    CHECK_OK(moot_kernel_register(
        scene->m,
        &(moot_kernel){.name = "fingerprint", .fn = fingerprint, .user = scene},
        &take));
    uint32_t ids = scene_ids(scene, 2);
    int last = scene->size - 1;
    struct blob_args blob = {size, ids}, print = {0, ids + 1};
    moot_task_spec blob_spec = {.kernel = make,
                                .args = &blob,
                                .args_size = sizeof(blob),
                                .owner = MOOT_ON(last)};
    moot_hash blob_hash, wanted = expected_digest(size);
    CHECK_OK(moot_spec_hash(scene->m, &blob_spec, &blob_hash));
    moot_task_spec print_spec = {.kernel = take,
                                 .args = &print,
                                 .args_size = sizeof(print),
                                 .input_hashes = &blob_hash,
                                 .input_hash_count = 1,
                                 .owner = MOOT_ON(0)};
    moot_task blob_task = {0}, print_task = {0};
    if (scene->rank == last) {
        CHECK_OK(moot_task_spawn(scene->m, &blob_spec, &blob_task));
    } else {
        CHECK_OK(moot_task_find(scene->m, &blob_hash, &blob_task));
    }
    CHECK_OK(moot_task_spawn(scene->m, &print_spec, &print_task));
    const void *data = NULL;
    size_t digest_size = 0;
    if (CHECK_OK(
            moot_task_fetch(scene->m, print_task, MOOT_FOREVER, &data, &digest_size))) {
        CHECK(digest_size == sizeof(wanted) && hash_equal(data, &wanted),
              "the consumer saw other bytes");
    }
    if (everyone_fetches || scene->rank == last) {
        check_fetch(scene, blob_task, size, &wanted);
    }
    moot_task_info info;
    CHECK_OK(moot_task_info(scene->m, blob_task, &info));
    CHECK(info.size == size || (!everyone_fetches && info.size == 0),
          "info says %llu bytes", (unsigned long long)info.size);
    scene_close(scene);
}

static void run(uint64_t size, unsigned deadline_s, bool everyone_fetches)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "a result of %llu bytes",
                   (unsigned long long)size);
    harness_case_begin(name, deadline_s);
    send_size(size, everyone_fetches);
    harness_case_end();
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {1, LIMIT_EAGER_BYTES, LIMIT_EAGER_BYTES + 1,
                                     1u << 20, 64u << 20};
    harness_open(&argc, &argv, "large");
    (void)hashing_init();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        run(sizes[i], DEADLINE_S, true);
    }
    if (argc == 2 && strcmp(argv[1], "--huge") == 0) {
        run(UINT64_C(5) << 29, HUGE_DEADLINE_S, false);
    }
    return harness_close();
}
