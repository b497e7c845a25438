/* array_poison.c - an array of which one element ends whatever rank runs it.
 *
 *   moot run -n 5 array_poison         none does
 *   moot run -n 5 array_poison plain   of a plain kernel
 *   moot run -n 5 array_poison once    of a once kernel: the array may have run
 *   moot run -n 5 array_poison again   and it is spawned again when it has ended
 *   moot run -n 5 array_poison bound   and nobody but ranks 0 and 1 runs it
 *
 * Each rank that is left checks how the wait for the array ends, and closes, which runs
 * nothing more; it says "rank N is good".
 * tests/cli/poison_test.sh runs it.
 */
#include "node/api/moot.h"
#include "node/api/moot_array.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 40, POISON = 13 };

static void check(const moot *m, const char *what, int code, int expected)
{
    if (code != expected) {
        fprintf(stderr, "array_poison: rank %d: %s: %s: %s\n", moot_rank(m), what,
                moot_err_name(code), moot_last_error(m));
        exit(3);
    }
}

static int run_element(moot_call *call, void *user)
{
    const bool *deadly = user;
    uint64_t *output = moot_call_output(call, sizeof(*output));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *output = moot_call_index(call);
    if (*deadly && *output == POISON) {
        (void)raise(SIGSEGV);
    }
    return MOOT_OK;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const bool once = strcmp(how, "once") == 0, again = strcmp(how, "again") == 0,
               bound = strcmp(how, "bound") == 0;
    bool deadly = argc > 1;
    const moot_kernel kernel = {.name = "deadly",
                                .fn = run_element,
                                .user = &deadly,
                                .flags = once ? MOOT_KERNEL_ONCE : 0};
    const int candidates[] = {0, 1};
    const int expected = once     ? MOOT_ERR_MAYBE_RAN
                         : bound  ? MOOT_ERR_NO_CANDIDATE
                         : deadly ? MOOT_ERR_CRASHED
                                  : MOOT_OK;
    moot *m;
    moot_kernel_id id;
    moot_array array, second;
    check(NULL, "moot_open", moot_open(NULL, &m), MOOT_OK);
    check(m, "moot_kernel_register", moot_kernel_register(m, &kernel, &id), MOOT_OK);
    const moot_array_spec spec = {
        .kernel = id,
        .count = COUNT,
        .key = "k",
        .key_size = 1,
        .candidates = {bound ? candidates : NULL, bound ? 2 : 0},
        .label = "grid"};
    check(m, "moot_array_spawn", moot_array_spawn(m, &spec, &array), MOOT_OK);
    check(m, "moot_array_wait", moot_array_wait(m, array, MOOT_FOREVER), expected);
    fprintf(stderr, "story of rank %d: %s\n", moot_rank(m), moot_last_error(m));
    if (again) {
        check(m, "moot_array_spawn", moot_array_spawn(m, &spec, &second), MOOT_OK);
        check(m, "moot_array_wait", moot_array_wait(m, second, MOOT_FOREVER), expected);
        check(m, "moot_array_release", moot_array_release(m, second), MOOT_OK);
    }
    check(m, "moot_array_release", moot_array_release(m, array), MOOT_OK);
    const int rank = moot_rank(m);
    check(m, "moot_close", moot_close(m), MOOT_OK);
    printf("rank %d is good\n", rank);
    return 0;
}
