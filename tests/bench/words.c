/* words.c - a large datum that is updated many times: at one rank, or wherever.
 *
 *   mpirun -n 2 words [--words N] [--updates U] [--rounds R]
 *
 * U tasks in a row add one to each of N words of eight bytes (moot_data.h).  Once the
 * handle is plain, so that each version's chair is drawn anew, and once its versions
 * are beside each other (MOOT_DATA_BESIDE).  The two take turns.  Rows are the ratios
 * of times, from the first spawn until all ranks have waited for the last update, and
 * of the bytes that all ranks sent; the medians of R rounds.
 */
#include "tests/bench/kit.h"

#include "node/api/moot_data.h"
#include <string.h>

enum { ROUNDS_MAX = 101 };

struct words {
    const struct bench *bench;
    long words, updates;
};

struct turn {
    double took_s, bytes;
};

static int make_words(moot_call *call, void *user)
{
    const struct words *words = user;
    const size_t size = (size_t)words->words * sizeof(uint64_t);
    uint64_t *out = moot_call_output(call, size);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 0, size);
    return MOOT_OK;
}

static int add_one(moot_call *call, void *user)
{
    const struct words *words = user;
    uint64_t *each = moot_call_update(call, 0);
    for (long i = 0; each != NULL && i < words->words; i++) {
        each[i]++;
    }
    return each != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Returns the newest version. */
static moot_task update_all(struct kit *kit, struct words *words, uint32_t flags,
                            moot_kernel_id make, moot_kernel_id add)
{
    const moot_task first = kit_spawn(kit, &(moot_task_spec){.kernel = make});
    moot_data data;
    moot_task last;
    bench_check(kit->m, moot_data_new_with(kit->m, first, flags, &data),
                "moot_data_new_with");
    kit_release(kit, first);
    for (int64_t i = 0; i < words->updates; i++) {
        const moot_task_spec spec = {.kernel = add, .args = &i, .args_size = sizeof(i)};
        const moot_access access = {data, MOOT_READWRITE};
        bench_check(kit->m, moot_data_spawn(kit->m, &spec, &access, 1, NULL),
                    "moot_data_spawn");
    }
    bench_check(kit->m, moot_data_version(kit->m, data, &last), "moot_data_version");
    bench_check(kit->m, moot_data_release(kit->m, data), "moot_data_release");
    return last;
}

static struct turn take_turn(struct words *words, uint32_t flags)
{
    struct kit kit = kit_open(words->bench, NULL);
    const moot_kernel_id make = kit_kernel(&kit, "make", make_words, words);
    const moot_kernel_id add = kit_kernel(&kit, "add", add_one, words);
    struct turn turn;
    kit_meet(&kit, 1);
    const double begun_s = bench_now_s();
    const moot_task last = update_all(&kit, words, flags, make, add);
    kit_wait(&kit, last);
    const double took_s = bench_now_s() - begun_s, sent = kit_sent_bytes(&kit);
    kit_release(&kit, last);
    kit_close(&kit);
    MPI_Allreduce(&took_s, &turn.took_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&sent, &turn.bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return turn;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct bench bench;
    bench_open(&bench, "words");
    struct words words = {.bench = &bench,
                          .words = bench_number(argv, "--words", 1 << 17, 1, 1 << 27),
                          .updates = bench_number(argv, "--updates", 20, 1, 100000)};
    const long rounds = bench_number(argv, "--rounds", 15, 1, ROUNDS_MAX);
    double times[ROUNDS_MAX], bytes[ROUNDS_MAX], not_s[ROUNDS_MAX];
    for (long i = 0; i < rounds; i++) {
        const struct turn not = take_turn(&words, 0);
        const struct turn beside = take_turn(&words, MOOT_DATA_BESIDE);
        times[i] = beside.took_s / not .took_s;
        bytes[i] = beside.bytes / not .bytes;
        not_s[i] = not .took_s;
    }
    const struct figure time = figure_of(times, (size_t)rounds);
    const struct figure sent = figure_of(bytes, (size_t)rounds);
    bench_row(&bench, "words-beside-to-not-time", time.median, 0,
              "%.3g-%.3g; %ld updates of %ld words take %.2f ms", time.least, time.most,
              words.updates, words.words,
              1e3 * figure_of(not_s, (size_t)rounds).median);
    bench_row(&bench, "words-beside-to-not-bytes", sent.median, 0, "%.3g-%.3g",
              sent.least, sent.most);
    bench_close(&bench);
    return 0;
}
