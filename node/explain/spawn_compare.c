/* spawn_compare.c - what ranks say of their spawns, put side by side (spawn_table.h).
 */
#include "node/explain/spawn_table.h"

#include "hashing/rankset.h"
#include "node/explain/stall.h"

#include <stdlib.h>
#include <string.h>

enum { SIDES_MAX = 8, LINES_MAX = 20, NO_BYTE = LIMIT_ACCOUNT_SAMPLE_BYTES };

/* A rank's word on a line and a kernel. */
struct entry {
    const Moot__Account__Spawns *spawns;
    uint32_t rank;
};

/* Ranks that say the same. */
struct spawn_side {
    const Moot__Account__Spawns *spawns; /* of the first of them; NULL: nothing */
    struct rankset ranks;
};

/* A line where ranks differ. */
struct line_difference {
    const struct entry *begin; /* the entries of its line and kernel, or of its line */
    size_t count;
    uint64_t weight; /* by so many spawns, as far as is known */
    bool kernels;    /* ranks have other kernels there */
};

static int compare_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    size_t common = a->len < b->len ? a->len : b->len;
    int order = common > 0 ? memcmp(a->data, b->data, common) : 0;
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_bytes(&x->spawns->site, &y->spawns->site);
    order = order != 0 ? order : compare_bytes(&x->spawns->kernel, &y->spawns->kernel);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool same_site(const struct entry *a, const struct entry *b)
{
    return compare_bytes(&a->spawns->site, &b->spawns->site) == 0;
}

static bool same_kernel(const struct entry *a, const struct entry *b)
{
    return compare_bytes(&a->spawns->kernel, &b->spawns->kernel) == 0;
}

static bool same_spawns(const Moot__Account__Spawns *a, const Moot__Account__Spawns *b)
{
    return a->count == b->count && a->sum == b->sum;
}

/* --- What differs ----------------------------------------------------------------- */

/* How many entries from `at` on are of the same line, and of the same kernel if
 * `kernel`.
 */
static size_t run_of(const struct entry *at, size_t left, bool kernel)
{
    size_t count = 1;
    while (count < left && same_site(at, at + count) &&
           (!kernel || same_kernel(at, at + count))) {
        count++;
    }
    return count;
}

/* Whether ranks have other kernels at a line: some kernel there is not that of all. */
static bool kernels_differ(const struct entry *line, size_t count)
{
    size_t first = run_of(line, count, true);
    bool differ = false;
    for (size_t at = first; at < count;) {
        size_t here = run_of(line + at, count - at, true);
        bool same = here == first;
        for (size_t i = 0; same && i < here; i++) {
            same = line[i].rank == line[at + i].rank;
        }
        differ |= !same;
        at += here;
    }
    return differ;
}

/* Those of these ranks that say nothing of the line. */
static bool find_missing(const struct entry *begin, size_t count,
                         const struct rankset *complete, struct rankset *out)
{
    bool good = rankset_copy(out, complete);
    for (size_t i = 0; i < count; i++) {
        rankset_remove(out, begin[i].rank);
    }
    return good;
}

static struct line_difference look(const struct entry *begin, size_t count,
                                   const struct rankset *complete)
{
    struct line_difference found = {.begin = begin, .count = count};
    struct rankset missing = {0};
    bool same =
        find_missing(begin, count, complete, &missing) && rankset_empty(&missing);
    uint64_t least = same ? UINT64_MAX : 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        const Moot__Account__Spawns *spawns = begin[i].spawns;
        least = spawns->count < least ? spawns->count : least;
        most = spawns->count > most ? spawns->count : most;
        same &= same_spawns(spawns, begin[0].spawns);
    }
    rankset_release(&missing);
    found.weight = same ? 0 : most > least ? most - least : most;
    return found;
}

static int compare_differences(const void *a, const void *b)
{
    const struct line_difference *x = a, *y = b;
    if (x->kernels != y->kernels) {
        return x->kernels ? -1 : 1;
    }
    return (x->weight < y->weight) - (x->weight > y->weight);
}

/* --- Arguments -------------------------------------------------------------------- */

struct bytes_range {
    size_t first, last, size; /* first NO_BYTE: none differ */
};

/* Widens the range by the bytes in which the samples of two ranks differ, taken in
 * turn; false: their tasks differ in more than some bytes. */
static bool compare_samples(const Moot__Account__Spawns *a,
                            const Moot__Account__Spawns *b, struct bytes_range *range)
{
    size_t differing = 0, all = 0;
    if (a->count != b->count || a->n_args != b->n_args || a->n_args == 0) {
        return false;
    }
    for (size_t i = 0; i < a->n_args; i++) {
        if (a->args[i].len != b->args[i].len) {
            return false;
        }
        for (size_t k = 0; k < a->args[i].len; k++) {
            if (a->args[i].data[k] != b->args[i].data[k]) {
                range->first = k < range->first ? k : range->first;
                range->last = k > range->last ? k : range->last;
                differing++;
            }
        }
        range->size = a->args[i].len;
        all += a->args[i].len;
    }
    return differing > 0 && differing * 2 <= all;
}

/* All that spawned at the line did so with the first one's arguments but for some
 * bytes.
 */
static bool find_bytes(const struct line_difference *difference,
                       struct bytes_range *range)
{
    const Moot__Account__Spawns *first = difference->begin[0].spawns;
    bool good = true;
    *range = (struct bytes_range){.first = NO_BYTE};
    for (size_t i = 1; good && i < difference->count; i++) {
        const Moot__Account__Spawns *spawns = difference->begin[i].spawns;
        good = same_spawns(first, spawns) || compare_samples(first, spawns, range);
    }
    return good && range->first != NO_BYTE;
}

/* --- Words ------------------------------------------------------------------------ */

static void add_told(struct text *text, const ProtobufCBinaryData *bytes)
{
    text_add_told(text, bytes->data, bytes->len);
}

/* The ranks that say the same; those that say nothing last.  False: they are too many.
 */
static bool make_sides(const struct line_difference *difference,
                       const struct rankset *complete,
                       struct spawn_side sides[SIDES_MAX], uint32_t *count)
{
    struct rankset missing = {0};
    bool good = find_missing(difference->begin, difference->count, complete, &missing);
    *count = 0;
    for (size_t i = 0; good && i < difference->count; i++) {
        const struct entry *entry = &difference->begin[i];
        uint32_t at = 0;
        while (at < *count && !same_spawns(sides[at].spawns, entry->spawns)) {
            at++;
        }
        good = at < SIDES_MAX - 1;
        if (good && at == *count) {
            sides[(*count)++] = (struct spawn_side){.spawns = entry->spawns};
        }
        good = good && rankset_add(&sides[at].ranks, entry->rank);
    }
    if (good && !rankset_empty(&missing)) {
        sides[(*count)++] = (struct spawn_side){.ranks = missing};
    } else {
        rankset_release(&missing);
    }
    return good;
}

static void add_sides(struct text *text, const struct spawn_side *sides, uint32_t count)
{
    const Moot__Account__Spawns *first = NULL;
    bool same_count = true;
    for (uint32_t i = 0; i < count; i++) {
        first = i == 0 ? sides[i].spawns : first;
        same_count &= first != NULL && sides[i].spawns != NULL &&
                      sides[i].spawns->count == first->count;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t tasks = sides[i].spawns != NULL ? sides[i].spawns->count : 0;
        text_add(text, "%s%llu by ", i > 0 ? "; " : ": ", (unsigned long long)tasks);
        stall_add_few_ranks(text, &sides[i].ranks);
    }
    text_add(text, "%s", same_count ? "; as many, but not the same tasks" : "");
}

static void add_bytes(struct text *text, const struct line_difference *difference)
{
    struct bytes_range range;
    if (find_bytes(difference, &range)) {
        text_add(
            text,
            "      the same arguments but for bytes %zu to %zu of %zu: probably "
            "padding that is not zero (memset the struct), or a value that differs\n",
            range.first, range.last, range.size);
    }
}

static void add_kernels(struct text *text, const struct line_difference *difference)
{
    text_add(text, ":");
    for (size_t at = 0; at < difference->count;) {
        const struct entry *first = difference->begin + at;
        size_t here = run_of(first, difference->count - at, true);
        struct rankset ranks = {0};
        for (size_t i = 0; i < here; i++) {
            (void)rankset_add(&ranks, first[i].rank);
        }
        text_add(text, "%s kernel '", at > 0 ? ";" : "");
        add_told(text, &first->spawns->kernel);
        text_add(text, "' by ");
        stall_add_few_ranks(text, &ranks);
        rankset_release(&ranks);
        at += here;
    }
    text_add(text, "\n      another kernel at the same line: probably a mistake\n");
}

static void add_difference(struct text *text, const struct line_difference *difference,
                           const struct rankset *complete)
{
    text_add(text, "  ");
    add_told(text, &difference->begin->spawns->site);
    if (difference->kernels) {
        add_kernels(text, difference);
        return;
    }
    struct spawn_side sides[SIDES_MAX] = {{0}};
    uint32_t count = 0;
    text_add(text, ", kernel '");
    add_told(text, &difference->begin->spawns->kernel);
    text_add(text, "'");
    if (make_sides(difference, complete, sides, &count)) {
        add_sides(text, sides, count);
    } else {
        text_add(text, ": the ranks differ in more than %d ways", SIDES_MAX - 1);
    }
    text_add(text, "\n");
    add_bytes(text, difference);
    for (uint32_t i = 0; i < count; i++) {
        rankset_release(&sides[i].ranks);
    }
}

/* --- All of it -------------------------------------------------------------------- */

static size_t gather(Moot__Account *const *accounts, uint32_t ranks,
                     struct entry *entries)
{
    size_t count = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const Moot__Account *account = accounts[rank];
        for (size_t i = 0; account != NULL && i < account->n_spawns; i++) {
            entries[count++] = (struct entry){account->spawns[i], rank};
        }
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    return count;
}

/* Line by line, and kernel by kernel where the ranks have the same ones. */
static size_t find_differences(const struct entry *entries, size_t count,
                               const struct rankset *complete,
                               struct line_difference *out)
{
    size_t found = 0;
    for (size_t at = 0; at < count;) {
        size_t line = run_of(entries + at, count - at, false);
        bool kernels = kernels_differ(entries + at, line);
        for (size_t i = 0; i < line;) {
            size_t here = kernels ? line : run_of(entries + at + i, line - i, true);
            out[found] = look(entries + at + i, here, complete);
            out[found].kernels = kernels;
            found += kernels || out[found].weight > 0;
            i += here;
        }
        at += line;
    }
    qsort(out, found, sizeof(*out), compare_differences);
    return found;
}

static void add_all(struct text *text, const struct line_difference *differences,
                    size_t count, const struct rankset *complete)
{
    if (count == 0) {
        text_add(text,
                 "moot: the ranks spawned the same tasks (MOOT_DIVERGENCE_TABLE)\n");
        return;
    }
    text_add(text,
             "moot: the ranks spawned different tasks at %zu line%s "
             "(MOOT_DIVERGENCE_TABLE):\n",
             count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < LINES_MAX; i++) {
        add_difference(text, &differences[i], complete);
    }
    if (count > LINES_MAX) {
        text_add(text, "  ... and at %zu more\n", count - LINES_MAX);
    }
}

/* Ranks that have told all lines are missing where they say nothing. */
static uint32_t find_complete(Moot__Account *const *accounts, uint32_t ranks,
                              struct rankset *complete, uint64_t *untold, size_t *rows)
{
    uint32_t told = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const Moot__Account *account = accounts[rank];
        if (account == NULL) {
            continue;
        }
        told++;
        *rows += account->n_spawns;
        *untold += account->spawns_untold;
        if (account->spawns_untold == 0) {
            (void)rankset_add(complete, rank);
        }
    }
    return told;
}

void spawn_table_compose(struct text *text, Moot__Account *const *accounts,
                         uint32_t ranks)
{
    struct rankset complete = {0};
    size_t rows = 1;
    uint64_t untold = 0;
    uint32_t told = find_complete(accounts, ranks, &complete, &untold, &rows);
    struct entry *entries = calloc(rows, sizeof(*entries));
    struct line_difference *differences = calloc(rows, sizeof(*differences));
    if (entries != NULL && differences != NULL) {
        size_t count = gather(accounts, ranks, entries);
        count = find_differences(entries, count, &complete, differences);
        add_all(text, differences, count, &complete);
    }
    if (told < ranks) {
        text_add(text, "  %u rank%s told nothing: gone, or closed in an error\n",
                 ranks - told, ranks - told == 1 ? "" : "s");
    }
    if (untold > 0) {
        text_add(text,
                 "  %llu spawns of more than %u lines and kernels were not looked at\n",
                 (unsigned long long)untold, LIMIT_ACCOUNT_SPAWNS);
    }
    free(entries);
    free(differences);
    rankset_release(&complete);
}
