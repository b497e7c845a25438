/* heavy.c - a chain of large results, of which a program holds two, stays small.
 *
 *     heavy [TASKS [MEGABYTES [ahead]]]    a rank of the job; 96 of 8 MB if not given
 *
 * Each task takes the result of the one before, and every rank fetches each and lets go
 * of it when the next has been spawned.  With `ahead` all are spawned and let go before
 * the last is fetched.  There is one scope, fewer tasks than a chunk of the roll has,
 * and a window of the default size.
 *
 * What must be true: every result is right.  If nobody dies no rank ever holds more
 * than HELD_BYTES_MAX and HELD_MAX results more; kept, the ranks would hold all of
 * them.  Who survives a death may be told that a result is lost with what it was made
 * from, which all had let go; then, and only then, it is spawned anew, from nothing,
 * and the chain goes on.  There is no call of MPI's here: after a death none is relied
 * on.
 */
#include "node/api/moot.h"
#include "tests/mpi/support/memory.h"
#include "tests/mpi/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results up to the first are held wherever they are (node/spawn/window.h), and those
 * of a piece or two. */
#define HELD_BYTES_MAX ((uint64_t)64 << 20)
enum { HELD_MAX = 8, PIECES_BYTES = 32 << 20 };

struct place {
    uint64_t number, bytes, anew;
};

static int kernel(moot_call *call, void *user)
{
    struct place place;
    size_t size = 0;
    (void)user;
    memcpy(&place, moot_call_args(call, &size), sizeof(place));
    if (moot_call_input_count(call) > 0) {
        uint64_t before;
        const char *input = moot_call_input(call, 0, &size);
        memcpy(&before, input + size - sizeof(before), sizeof(before));
        if (before + 1 != place.number) {
            return moot_call_fail(call, MOOT_ERR_INVALID, "an input is WRONG");
        }
    }
    char *output = moot_call_output(call, place.bytes);
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(output, (int)place.number, place.bytes);
    memcpy(output + place.bytes - sizeof(place.number), &place.number,
           sizeof(place.number));
    return MOOT_OK;
}

static moot_task spawn(moot *m, moot_kernel_id id, struct place place,
                       const moot_task *before)
{
    moot_task task = {0};
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = id,
                                           .args = &place,
                                           .args_size = sizeof(place),
                                           .inputs = before,
                                           .input_count = before != NULL},
                         &task),
         "spawn");
    return task;
}

static bool is_right(const struct place *place, const char *data, size_t size)
{
    return size == place->bytes &&
           memcmp(data + size - sizeof(place->number), &place->number,
                  sizeof(place->number)) == 0 &&
           data[0] == (char)place->number && data[size / 2] == (char)place->number;
}

static bool somebody_died(moot *m)
{
    for (int rank = 0; rank < moot_size(m); rank++) {
        if (!moot_present(m, rank)) {
            return true;
        }
    }
    return false;
}

/* Fetches *task, if need be a new one in its place. */
static void look(moot *m, moot_kernel_id id, struct place place, moot_task *task)
{
    const void *data = NULL;
    size_t size = 0;
    int code = moot_task_fetch(m, *task, MOOT_FOREVER, &data, &size);
    if ((code == MOOT_ERR_RESULT_LOST || code == MOOT_ERR_TASK_FAILED) &&
        somebody_died(m)) {
        must(m, moot_task_release(m, *task), "release");
        place.anew = 1;
        *task = spawn(m, id, place, NULL);
        code = moot_task_fetch(m, *task, MOOT_FOREVER, &data, &size);
    }
    must(m, code, "fetch");
    if (!is_right(&place, data, size)) {
        fprintf(stderr, "heavy: rank %d: result %llu is WRONG\n", moot_rank(m),
                (unsigned long long)place.number);
        exit(1);
    }
}

static uint64_t run(moot *m, uint64_t count, uint64_t bytes, bool ahead)
{
    uint64_t base = resident_bytes(), most = base;
    moot_kernel_id id = {0};
    moot_task before = {0}, task = {0};
    must(m, moot_kernel_register(m, &(moot_kernel){.name = "heavy", .fn = kernel}, &id),
         "register");
    for (uint64_t i = 0; i < count; i++) {
        struct place place = {i, bytes, 0};
        task = spawn(m, id, place, i > 0 ? &before : NULL);
        if (i > 0) {
            must(m, moot_task_release(m, before), "release");
        }
        if (!ahead || i + 1 == count) {
            look(m, id, place, &task);
        }
        uint64_t now = resident_bytes();
        most = now > most ? now : most;
        before = task;
    }
    must(m, moot_task_release(m, task), "release");
    return most - base;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 96;
    uint64_t bytes = (argc > 2 ? strtoull(argv[2], NULL, 10) : 8) << 20;
    moot *m = NULL;
    if (moot_open(NULL, &m) != MOOT_OK) {
        return 1;
    }
    int rank = moot_rank(m), size = moot_size(m);
    uint64_t grew = run(m, count, bytes, argc > 3);
    uint64_t bound = HELD_BYTES_MAX + PIECES_BYTES + HELD_MAX * bytes;
    bool small = grew <= bound || somebody_died(m);
    if (rank == 0 || !small) {
        printf("heavy: rank %d of %d: at most %.0f MB more, of %.0f in all%s\n", rank,
               size, (double)grew / 1e6, (double)(count * bytes) / 1e6,
               small ? "" : ": TOO MUCH");
    }
    int code = moot_close(m);
    if (code != MOOT_OK) {
        fprintf(stderr, "heavy: rank %d: close: %s\n", rank, moot_err_name(code));
    }
    return code == MOOT_OK && small ? 0 : 1;
}
