/* element_hashes.c - the hashes of an array and of some of its elements, as kernels see
 * them.
 *
 * Rank 0 prints a line for the array and one for each element: 32 digits, and the
 * index. tests/cli/hash_test.sh holds them against `moot hash --element`, at several
 * numbers of ranks.
 */
#include "node/api/moot_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 50 };

static moot *m;

static void must(int code, const char *what)
{
    if (code != MOOT_OK) {
        (void)fprintf(stderr, "%s: %s\n", what, moot_last_error(m));
        exit(1);
    }
}
#define MUST(call) must((call), #call)

static int give_hash(moot_call *call, void *user)
{
    (void)user;
    void *output = moot_call_output(call, sizeof(moot_hash));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, moot_call_hash(call), sizeof(moot_hash));
    return MOOT_OK;
}

static void print_hash(const moot_hash *hash, const char *what, int index)
{
    for (size_t i = 0; i < sizeof(hash->bytes); i++) {
        printf("%02x", hash->bytes[i]);
    }
    printf("  %s %d\n", what, index);
}

static void print_element(moot_array array, int index)
{
    moot_task task;
    const void *data = NULL;
    moot_hash hash;
    MUST(moot_array_at(m, array, (uint64_t)index, &task));
    MUST(moot_task_fetch(m, task, MOOT_FOREVER, &data, NULL));
    memcpy(&hash, data, sizeof(hash));
    if (moot_rank(m) == 0) {
        print_hash(&hash, "element", index);
    }
    MUST(moot_task_release(m, task));
}

int main(void)
{
    const moot_kernel kernel = {.name = "hashes", .fn = give_hash};
    moot_kernel_id id;
    moot_array array;
    moot_hash hash;
    MUST(moot_open(NULL, &m));
    MUST(moot_kernel_register(m, &kernel, &id));
    MUST(moot_array_spawn(m, &(moot_array_spec){.kernel = id, .count = COUNT}, &array));
    MUST(moot_array_hash(m, array, &hash));
    if (moot_rank(m) == 0) {
        print_hash(&hash, "array", COUNT);
    }
    for (int index = 0; index < COUNT; index += 7) {
        print_element(array, index);
    }
    MUST(moot_close(m));
    return 0;
}
