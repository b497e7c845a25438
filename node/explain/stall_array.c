/* stall_array.c - the elements of task arrays, in a stall report: how far they are, and
 * what it is that they wait for (stall.h, array_cause.c).
 */
#include "node/explain/stall.h"

#include "hashing/identity.h"

#include <inttypes.h>

static const Moot__Account *account_by(const struct picture *picture, uint32_t rank)
{
    return rank < picture->size ? picture->seats[rank].account : NULL;
}

/* "40-59" */
static void add_range(struct text *text, uint64_t first, uint64_t count)
{
    text_add(text, "%" PRIu64, first);
    if (count > 1) {
        text_add(text, "-%" PRIu64, first + count - 1);
    }
}

void stall_add_some(struct text *text, uint64_t count, const uint64_t *at, size_t n)
{
    uint64_t said = 0;
    text_add(text, "element%s ", count == 1 ? "" : "s");
    for (size_t i = 0; i + 1 < n; i += 2) {
        text_add(text, i > 0 ? "," : "");
        add_range(text, at[i], at[i + 1]);
        said += at[i + 1];
    }
    if (said < count) {
        text_add(text, " and %" PRIu64 " more", count - said);
    }
}

/* --- How far an array is -----------------------------------------------------------
 */

/* Those of one rank. */
static void add_own(struct text *text, uint32_t rank,
                    const Moot__Account__Elements *elements, uint64_t runs_ns)
{
    text_add(text, "        rank %" PRIu32 " is to run ", rank);
    stall_add_some(text, elements->own, elements->own_at, elements->n_own_at);
    if (elements->running != 0) {
        text_add(text, "; element %" PRIu64 " has run for ", elements->running - 1);
        text_add_duration(text, runs_ns);
    }
    if (elements->waiting > 0) {
        text_add(text, "; %" PRIu64 " lack what they take", elements->waiting);
    }
    text_add(text, "\n");
}

static void add_nobodys(struct text *text, const Moot__Account__Elements *elements)
{
    text_add(text,
             "        elements: %" PRIu64 " of %" PRIu64 " are known to have ended",
             elements->ended, elements->count);
    if (elements->unspawned > 0) {
        text_add(text, "; no rank has spawned ");
        stall_add_some(text, elements->unspawned, elements->unspawned_at,
                       elements->n_unspawned_at);
    }
    if (elements->unclaimed > 0) {
        struct rankset lacking = {0};
        (void)account_ranks(&elements->lacking, &lacking);
        text_add(text, "; ");
        stall_add_some(text, elements->unclaimed, elements->unclaimed_at,
                       elements->n_unclaimed_at);
        text_add(text, " are for ");
        stall_add_few_ranks(text, &lacking);
        text_add(text, " to run, or to give up");
        rankset_release(&lacking);
    }
    text_add(text, "\n");
}

static const Moot__Account__Elements *elements_of_chair(const struct picture *picture,
                                                        const moot_hash *hash)
{
    const uint32_t chair = picture_chair(picture, hash);
    const Moot__Account__Task *task =
        chair < picture->size ? picture_task(picture, chair, hash) : NULL;
    return task != NULL ? task->elements : NULL;
}

enum { RANKS_SHOWN = 8 };

void stall_add_progress(struct text *text, const struct picture *picture,
                        const moot_hash *hash)
{
    uint32_t shown = 0, more = 0;
    struct said said = picture_said(picture, hash);
    const Moot__Account__Elements *chair = elements_of_chair(picture, hash);
    if (chair != NULL && chair->keeps) {
        add_nobodys(text, chair);
    }
    while (picture_next(&said)) {
        const Moot__Account__Elements *elements = said.task->elements;
        if (elements != NULL && elements->own > 0 && shown < RANKS_SHOWN) {
            add_own(text, said.rank, elements, said.task->runs_ns);
            shown++;
        } else if (elements != NULL && elements->own > 0) {
            more++;
        }
    }
    if (more > 0) {
        text_add(text, "        and so are %" PRIu32 " more ranks\n", more);
    }
}

/* --- A finding ---------------------------------------------------------------------
 */

/* "array 1a2b3c4d (file:line)", "... and of 2 other arrays" */
static void add_arrays(struct text *text, const struct picture *picture,
                       const struct finding *finding)
{
    stall_add_task(text, picture, &finding->chain[finding->chain_count - 1].hash);
    if (finding->tasks > 1) {
        text_add(text, ", and such of %" PRIu32 " other array%s", finding->tasks - 1,
                 finding->tasks == 2 ? "" : "s");
    }
}

static void say_unspawned(struct text *text, const struct picture *picture,
                          const struct finding *finding,
                          const Moot__Account__Elements *elements)
{
    text_add(text, "no rank has spawned ");
    stall_add_some(text, elements->unspawned, elements->unspawned_at,
                   elements->n_unspawned_at);
    text_add(text, " of ");
    add_arrays(text, picture, finding);
    text_add(text, ": each rank has spawned a part of it, or nothing");
    if (!rankset_empty(&finding->busy)) {
        text_add(text, ", and ");
        stall_add_ranks(text, &finding->busy);
        text_add(text, " may yet spawn more");
    }
    stall_say_busy(text, picture, finding,
                   "let a rank spawn them (moot_array_spawn_some), or do not wait for "
                   "the array",
                   "MOOT_ERR_NOT_HELD");
}

static void add_lacking(struct text *text, const struct picture *picture,
                        const struct finding *finding, bool homes_rest)
{
    const Moot__Account *account = account_by(picture, finding->culprit);
    text_add(text,
             homes_rest ? "the array's chair, rank %" PRIu32 ", asks for them "
                          "when its program waits"
                        : "rank %" PRIu32 " has neither spawned its share nor "
                          "given it up",
             finding->culprit);
    if (account != NULL) {
        text_add(text, " (");
        stall_add_program(text, account);
        text_add(text, ")");
    }
}

static void say_unclaimed(struct text *text, const struct picture *picture,
                          const struct finding *finding,
                          const Moot__Account__Elements *elements)
{
    struct rankset lacking = {0};
    (void)account_ranks(&elements->lacking, &lacking);
    stall_add_some(text, elements->unclaimed, elements->unclaimed_at,
                   elements->n_unclaimed_at);
    text_add(text, " of ");
    add_arrays(text, picture, finding);
    text_add(text, " are for ");
    stall_add_few_ranks(text, &lacking);
    text_add(text, " to run, which %s not known to have spawned them; ",
             rankset_count(&lacking) == 1 ? "is" : "are");
    if (finding->lack == CORE_LACK_MODE) {
        text_add(text, "outside of repair mode nobody runs them instead\n"
                       "      next: MOOT_DIVERGENCE=repair would have others run them; "
                       "MOOT_DIVERGENCE=strict would name the first difference\n");
    } else {
        add_lacking(text, picture, finding, !rankset_has(&lacking, finding->culprit));
        text_add(
            text,
            "\n      next: spawn them there; if it takes another branch, "
            "moot_decline() there with the array's hash; if it sits in code that "
            "moot cannot see (MPI, a lock), put moot_park() around that code: then "
            "others that have spawned them run them\n");
    }
    rankset_release(&lacking);
}

static void say_away_elements(struct text *text, const struct picture *picture,
                              const struct finding *finding,
                              const Moot__Account__Elements *elements)
{
    const Moot__Account *account = account_by(picture, finding->culprit);
    stall_add_some(text, elements->own, elements->own_at, elements->n_own_at);
    text_add(text, " of ");
    add_arrays(text, picture, finding);
    text_add(text, " wait on rank %" PRIu32 ", where no thread runs tasks (%u workers",
             finding->culprit, account != NULL ? account->workers : 0);
    if (account != NULL) {
        text_add(text, "; ");
        stall_add_program(text, account);
    }
    text_add(text,
             ")\n      next: MOOT_THREADS=1 gives the rank a worker; a wait there "
             "would run them, too, and so does moot_mpi_wait()\n");
}

static void say_slow_element(struct text *text, const struct picture *picture,
                             const struct finding *finding,
                             const Moot__Account__Elements *elements)
{
    const Moot__Account *account = account_by(picture, finding->culprit);
    const moot_hash *hash = &finding->chain[finding->chain_count - 1].hash;
    text_add(text, "element %" PRIu64 " of ", elements->running - 1);
    stall_add_task(text, picture, hash);
    text_add(text, " runs on rank %" PRIu32 ", for ", finding->culprit);
    text_add_duration(text, picture_task(picture, finding->culprit, hash)->runs_ns);
    if (elements->own > 1) {
        text_add(text, ", and %" PRIu64 " more of it are to run there",
                 elements->own - 1);
    }
    text_add(text,
             "\n      next: the holder is slow, not stuck in moot: look at its kernel "
             "(gdb -p %llu there)\n",
             account != NULL ? (unsigned long long)account->pid : 0ull);
}

bool stall_say_elements(struct text *text, const struct picture *picture,
                        const struct finding *finding)
{
    const moot_hash *hash = finding->chain_count > 0
                                ? &finding->chain[finding->chain_count - 1].hash
                                : NULL;
    if (hash == NULL || !finding->elements) {
        return false;
    }
    const Moot__Account__Task *there =
        finding->culprit < picture->size ? picture_task(picture, finding->culprit, hash)
                                         : NULL;
    const Moot__Account__Elements *own = there != NULL ? there->elements : NULL;
    const Moot__Account__Elements *chair = elements_of_chair(picture, hash);
    if (chair != NULL && finding->cause == CAUSE_NOBODY) {
        say_unspawned(text, picture, finding, chair);
    } else if (chair != NULL && finding->cause == CAUSE_UNDECIDED) {
        say_unclaimed(text, picture, finding, chair);
    } else if (own != NULL && finding->cause == CAUSE_AWAY) {
        say_away_elements(text, picture, finding, own);
    } else if (own != NULL && own->running != 0 && finding->cause == CAUSE_SLOW &&
               hash_equal(&finding->root, hash)) {
        say_slow_element(text, picture, finding, own);
    } else {
        return false;
    }
    return true;
}
